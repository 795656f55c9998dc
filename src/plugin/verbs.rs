//! The verbs that change fields of a spec, each as its arguments and the edit that it wishes.

use clap::Args;

use super::change::Options;
use super::edit;
use super::session::{Session, now};
use super::view::records;
use super::waiting::Goal;
use crate::cli::Ended;

/// Rotate generated credentials: the next generation of each.
///
/// Raises spec.credentials.PARAMETER.generation by one, from the larger of what the spec asks for and what is in use. The
/// nodes that take the credential roll; the former generation stays for as long as a kept version names it.
#[derive(Debug, Args)]
pub struct Rotate {
    /// The Installation.
    name: String,
    /// The generated parameters.
    #[arg(required = true, value_name = "PARAMETER")]
    parameters: Vec<String>,
    #[command(flatten)]
    options: Options,
}

impl Rotate {
    /// Runs the verb.
    ///
    /// # Errors
    /// As [`Options::carry_out`].
    pub async fn run(self, session: &Session) -> anyhow::Result<Ended> {
        let plan = |seen: &_| edit::rotate(seen, &self.parameters);
        self.options
            .carry_out(session, &self.name, Goal::Ready, plan)
            .await
    }
}

/// Select everything current again: what `diff` shows.
#[derive(Debug, Args)]
pub struct Update {
    /// The Installation.
    name: String,
    /// The token to write in the place of the time.
    #[arg(long)]
    token: Option<String>,
    #[command(flatten)]
    options: Options,
}

impl Update {
    /// Runs the verb.
    ///
    /// # Errors
    /// As [`Options::carry_out`].
    pub async fn run(self, session: &Session) -> anyhow::Result<Ended> {
        let token = self.token.unwrap_or_else(|| edit::token(now()));
        let plan = |seen: &_| Ok(edit::update(seen, &token));
        self.options
            .carry_out(session, &self.name, Goal::Ready, plan)
            .await
    }
}

/// Roll out the current record again, its Jobs included.
#[derive(Debug, Args)]
pub struct Redeploy {
    /// The Installation.
    name: String,
    /// The token to write in the place of the time.
    #[arg(long)]
    token: Option<String>,
    #[command(flatten)]
    options: Options,
}

impl Redeploy {
    /// Runs the verb.
    ///
    /// # Errors
    /// As [`Options::carry_out`].
    pub async fn run(self, session: &Session) -> anyhow::Result<Ended> {
        let token = self.token.unwrap_or_else(|| edit::token(now()));
        let plan = |seen: &_| Ok(edit::redeploy(seen, &token));
        self.options
            .carry_out(session, &self.name, Goal::Ready, plan)
            .await
    }
}

/// Go back to the selections of an earlier version, as a new version.
///
/// Credentials stay rotated. It holds until spec.rollback or the source of the blueprint is another.
#[derive(Debug, Args)]
pub struct Rollback {
    /// The Installation.
    name: String,
    /// The version, as `history` tells it.
    #[arg(value_name = "VERSION", value_parser = clap::value_parser!(u32).range(1..))]
    to: u32,
    /// The token to write in the place of the time.
    #[arg(long)]
    token: Option<String>,
    #[command(flatten)]
    options: Options,
}

impl Rollback {
    /// Runs the verb.
    ///
    /// # Errors
    /// As [`Options::carry_out`], and when the records cannot be read.
    pub async fn run(self, session: &Session) -> anyhow::Result<Ended> {
        let installation = session.installation(&self.name).await?;
        let kept = session.records(installation.identity()).await?;
        let kept: Vec<u64> = kept.iter().filter_map(records::version).collect();
        let token = self.token.unwrap_or_else(|| edit::token(now()));
        let plan = |seen: &_| edit::rollback(seen, self.to, &token, &kept);
        self.options
            .carry_out(session, &self.name, Goal::Ready, plan)
            .await
    }
}

/// Stop the operator from acting. Nothing is scaled or deleted.
#[derive(Debug, Args)]
pub struct Suspend {
    /// The Installation.
    name: String,
    #[command(flatten)]
    options: Options,
}

impl Suspend {
    /// Runs the verb.
    ///
    /// # Errors
    /// As [`Options::carry_out`].
    pub async fn run(self, session: &Session) -> anyhow::Result<Ended> {
        let plan = |seen: &_| Ok(edit::suspend(seen, true));
        self.options
            .carry_out(session, &self.name, Goal::Suspended, plan)
            .await
    }
}

/// Let the operator act again.
#[derive(Debug, Args)]
pub struct Resume {
    /// The Installation.
    name: String,
    #[command(flatten)]
    options: Options,
}

impl Resume {
    /// Runs the verb.
    ///
    /// # Errors
    /// As [`Options::carry_out`].
    pub async fn run(self, session: &Session) -> anyhow::Result<Ended> {
        let plan = |seen: &_| Ok(edit::suspend(seen, false));
        self.options
            .carry_out(session, &self.name, Goal::Ready, plan)
            .await
    }
}
