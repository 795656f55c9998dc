//! `kubectl installation`: what people ask of an Installation and do to it, with their own rights. A file a verb; what is
//! shown is derived in `view` and what is written in `edit`, both pure. The plugin changes fields of a spec and deletes
//! retained state: what the operator does is never done here.

mod ask;
mod change;
mod complete;
mod completion;
mod credential;
mod diff;
mod edit;
mod events;
mod gitops;
mod history;
pub mod man;
mod outlook;
mod output;
mod purge;
mod session;
mod status;
mod verbs;
mod view;
mod waiting;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::ask::Refused;
use self::session::Connection;
use crate::cli::{self, Ended};

/// The name of the program, by which kubectl finds it.
pub const NAME: &str = "kubectl-installation";

/// The field manager of what the plugin writes, and its user agent.
const MANAGER: &str = NAME;

/// Show and change what installation-operator runs.
///
/// Everything is read and written with your own rights. Exit status: 0 done, 1 refused (for `diff`: they differ), 2 it could
/// not be carried out, 3 not yet what it is waited for.
#[derive(Debug, Parser)]
#[command(
    name = NAME, bin_name = "kubectl installation", version = cli::VERSION, propagate_version = true,
    arg_required_else_help = true
)]
pub struct Plugin {
    #[command(flatten)]
    connection: Connection,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Status(status::Status),
    History(history::History),
    Diff(diff::Diff),
    Events(events::Events),
    Rotate(verbs::Rotate),
    Update(verbs::Update),
    Redeploy(verbs::Redeploy),
    Rollback(verbs::Rollback),
    Suspend(verbs::Suspend),
    Resume(verbs::Resume),
    Credential(credential::Credential),
    Purge(purge::Purge),
    Completion(completion::Completion),
    Man(man::Man),
    #[command(name = complete::VERB)]
    Complete(complete::Complete),
}

impl Plugin {
    /// Does what was asked and says how it ended.
    pub fn run(self) -> ExitCode {
        let outcome = tokio::runtime::Runtime::new()
            .map_err(anyhow::Error::from)
            .and_then(|runtime| runtime.block_on(self.carry_out()));
        match outcome {
            Err(error) if error.is::<Refused>() => {
                anstream::eprintln!("error: {error:#}");
                ExitCode::from(1)
            }
            outcome => cli::exit(outcome),
        }
    }

    async fn carry_out(self) -> anyhow::Result<Ended> {
        let verb = match self.verb {
            Verb::Completion(args) => return args.run().map(Ended::from),
            Verb::Man(args) => return args.run().map(Ended::from),
            Verb::Complete(args) => return args.run().await.map(Ended::from),
            verb => verb,
        };
        let session = self.connection.open().await?;
        match verb {
            Verb::Status(args) => args.run(&session).await.map(Ended::from),
            Verb::History(args) => args.run(&session).await.map(Ended::from),
            Verb::Diff(args) => args.run(&session).await,
            Verb::Events(args) => args.run(&session).await.map(Ended::from),
            Verb::Rotate(args) => args.run(&session).await,
            Verb::Update(args) => args.run(&session).await,
            Verb::Redeploy(args) => args.run(&session).await,
            Verb::Rollback(args) => args.run(&session).await,
            Verb::Suspend(args) => args.run(&session).await,
            Verb::Resume(args) => args.run(&session).await,
            Verb::Credential(args) => args.run(&session).await.map(Ended::from),
            Verb::Purge(args) => args.run(&session).await,
            Verb::Completion(_) | Verb::Man(_) | Verb::Complete(_) => {
                unreachable!("they need no cluster and ended above")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Plugin::command().debug_assert();
    }
}
