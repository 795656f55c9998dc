//! One binary, one file a verb.

mod accepted;
mod catalog;
pub(crate) mod client;
pub mod conformance;
pub mod context;
pub mod controller;
pub mod crds;
mod excerpt;
pub mod form;
mod given_platform;
mod human;
pub mod normalize;
mod offline;
pub mod render;
pub mod resolve;
mod sarif;
mod stand_in;
mod target;
pub mod validate;

use std::process::ExitCode;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use strum::VariantNames;

use crate::document::result::Status;

/// Installs applications described by Musher blueprints on Kubernetes.
#[derive(Debug, Parser)]
#[command(name = "installation-operator", version = VERSION, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Validate(validate::Validate),
    Resolve(resolve::Resolve),
    Render(render::Render),
    Context(context::Context),
    Form(form::Form),
    Normalize(normalize::Normalize),
    Conformance(conformance::Conformance),
    /// Run the operator.
    Controller(controller::Controller),
    /// Print the custom resource definitions, the admission policy of precious objects and the cluster roles.
    Crds(crds::Crds),
}

impl Cli {
    /// Does what was asked and says how it ended.
    pub fn run(self) -> ExitCode {
        match self.verb {
            Verb::Validate(args) => exit(validate::run(&args)),
            Verb::Resolve(args) => exit(args.run()),
            Verb::Render(args) => exit(args.run()),
            Verb::Context(args) => exit(args.run()),
            Verb::Form(args) => exit(form::run(&args)),
            Verb::Normalize(args) => exit(normalize::run(&args)),
            Verb::Conformance(args) => exit(conformance::run(&args)),
            Verb::Controller(args) => exit(args.run()),
            Verb::Crds(args) => exit(args.run()),
        }
    }
}

/// Reads an option whose values are the names of a type, which help and errors list.
fn named<T>() -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: std::error::Error + Send + Sync> + VariantNames + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(T::VARIANTS).try_map(|name| name.parse())
}

/// How a verb that could be carried out ended.
pub(crate) enum Ended {
    Well,
    Refused,
    Incomplete,
}

impl From<()> for Ended {
    fn from((): ()) -> Self {
        Self::Well
    }
}

impl From<bool> for Ended {
    fn from(well: bool) -> Self {
        if well { Self::Well } else { Self::Refused }
    }
}

impl From<Status> for Ended {
    fn from(status: Status) -> Self {
        match status {
            Status::Valid => Self::Well,
            Status::Invalid => Self::Refused,
            Status::Incomplete => Self::Incomplete,
        }
    }
}

/// The exit status: 0 well, 1 refused, 3 incomplete, and 2 when the verb could not be carried out, as for wrong usage.
pub(crate) fn exit(outcome: anyhow::Result<impl Into<Ended>>) -> ExitCode {
    match outcome.map(Into::into) {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::Refused) => ExitCode::from(1),
        Ok(Ended::Incomplete) => ExitCode::from(3),
        // Whoever reads has seen enough, as `head` has.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let cause = cause.downcast_ref::<std::io::Error>();
        cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// The program's version and the specification editions that it holds.
pub(crate) const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (core 1.0.0, component 1.0.0, blueprint 1.0.0)"
);

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::resolution::record::EDITION;

    #[test]
    fn the_version_names_the_specification_editions_held() {
        for family in ["core", "component", "blueprint"] {
            assert!(
                VERSION.contains(&format!("{family} {EDITION}")),
                "{VERSION}"
            );
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
