//! `history`: the records of an Installation as a log.

use clap::Args;

use super::output::{Output, print};
use super::session::{Session, now};
use super::view::records;

/// Show the versions of an Installation as a log: which one counts, and what each changed.
#[derive(Debug, Args)]
pub struct History {
    /// The Installation, or the identity of one that is gone.
    name: String,
    #[command(flatten)]
    output: Output,
}

impl History {
    /// Runs the verb.
    ///
    /// # Errors
    /// When the cluster cannot be asked, or nothing has this name.
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let subject = session.subject(&self.name).await?;
        let found = session.records(&subject.identity).await?;
        match (&subject.installation, found.is_empty()) {
            (None, true) => return Err(session.absent(&self.name)),
            (None, false) => anstream::eprintln!(
                "note: no Installation {} lives; this is the retained state of identity {}",
                self.name,
                subject.identity
            ),
            (Some(_), true) => anstream::eprintln!("{} has no record yet", self.name),
            (Some(_), false) => {}
        }
        match self.output.format {
            Some(format) => format.print_list(&found),
            None if found.is_empty() => Ok(()),
            None => print(&records::log(&found, now())),
        }
    }
}
