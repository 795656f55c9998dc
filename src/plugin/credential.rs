//! `credential`: what is known of a generated credential, and with `--reveal` its value, read with the caller's own rights
//! and printed to nowhere but standard output.

use std::io::{self, IsTerminal, Write};

use anyhow::bail;
use clap::Args;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use super::ask::{Ask, failed};
use super::output::{Output, print};
use super::session::{Session, Subject, now};
use super::view::credential::{Told, lines};
use crate::api::names::{self, GENERATOR_ANNOTATION};
use crate::controller::credentials::reference;
use crate::controller::history::read_credential;

/// Show what is known of a generated credential; its value only with --reveal.
///
/// The value is read with your own rights: whoever may `get` the Secret may reveal it.
#[derive(Debug, Args)]
pub struct Credential {
    /// The Installation, or the identity of one that is gone.
    name: String,
    /// The generated parameter.
    parameter: String,
    /// The rotation generation; the one in use when left out.
    #[arg(long)]
    generation: Option<u64>,
    /// Print the value to standard output, and nothing else.
    #[arg(long, conflicts_with = "format")]
    reveal: bool,
    #[command(flatten)]
    output: Output,
}

impl Credential {
    /// Runs the verb.
    ///
    /// # Errors
    /// When the cluster cannot be asked, there is no such credential, or the caller may not read it.
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let subject = session.subject(&self.name).await?;
        let used = self.used(session, &subject).await?;
        let Some(generation) = self.generation.or(used) else {
            bail!("{}", self.unknown(&subject));
        };
        let secret = names::credential(&subject.identity, &self.parameter, generation);
        if self.reveal {
            return self.reveal(session, &subject, &secret).await;
        }
        let found = session.api::<Secret>().get_metadata_opt(&secret).await;
        let found = match found {
            Err(kube::Error::Api(status)) if status.code == 403 => None,
            found => match found.asking(|| format!("read Secret {secret}"))? {
                None => bail!(self.lost(session, &secret, generation)),
                found => found,
            },
        };
        let format = found
            .as_ref()
            .and_then(|found| found.annotations().get(GENERATOR_ANNOTATION));
        let told = Told {
            parameter: self.parameter.clone(),
            generation,
            identity: reference(&session.namespace, &subject.identity, &self.parameter),
            secret,
            in_use: used == Some(generation),
            created: found
                .as_ref()
                .and_then(ResourceExt::creation_timestamp)
                .map(|time| time.0),
            format: format.cloned(),
        };
        match self.output.format {
            Some(format) => format.print(&told),
            None => print(&lines(&told, now())),
        }
    }

    /// The generation in use: as status tells of an Installation, or the newest record of an identity.
    async fn used(&self, session: &Session, subject: &Subject) -> anyhow::Result<Option<u64>> {
        if let Some(installation) = &subject.installation {
            let told = installation
                .status
                .iter()
                .flat_map(|status| &status.credentials);
            let mut told = told.filter(|told| told.parameter == self.parameter);
            return Ok(told.next().and_then(|told| told.generation.try_into().ok()));
        }
        let records = session.records(&subject.identity).await?;
        if records.is_empty() {
            return Err(session.absent(&self.name));
        }
        let credentials = records.last().map(|record| &record.spec.0.credentials);
        let named = credentials.and_then(|credentials| credentials.get(&self.parameter));
        Ok(named.map(|reference| reference.rotation))
    }

    async fn reveal(&self, session: &Session, subject: &Subject, name: &str) -> anyhow::Result<()> {
        let namespace = &session.namespace;
        let found = match session.api::<Secret>().get(name).await {
            Err(kube::Error::Api(status)) if status.code == 403 => bail!(
                "you may not read Secret {name} in namespace {namespace}, which holds the credential {}: revealing it takes the right to get that Secret. The API server says: {}",
                self.parameter,
                status.message
            ),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                bail!(
                    "Secret {name} in namespace {namespace} is gone: restore it from a backup, see docs/operations.md under CredentialLost"
                )
            }
            found => found.asking(|| format!("read Secret {name}"))?,
        };
        // What somebody else put there under its name is not it.
        let (_, generation) = read_credential(&found, &subject.identity).map_err(failed)?;
        let mut out = io::stdout().lock();
        out.write_all(generation.value.expose().as_bytes())?;
        if out.is_terminal() {
            writeln!(out)?;
        }
        out.flush()?;
        Ok(())
    }

    fn unknown(&self, subject: &Subject) -> String {
        let status = subject
            .installation
            .as_ref()
            .and_then(|it| it.status.as_ref());
        let known = status.into_iter().flat_map(|status| &status.credentials);
        let known: Vec<&str> = known.map(|told| told.parameter.as_str()).collect();
        match known.is_empty() {
            true => format!("{} has no generated credential in use", self.name),
            false => format!(
                "{} has no generated credential {}: name one of {}",
                self.name,
                self.parameter,
                known.join(", ")
            ),
        }
    }

    fn lost(&self, session: &Session, secret: &str, generation: u64) -> String {
        format!(
            "there is no generation {generation} of the credential {} of {}: Secret {secret} does not exist in namespace {}",
            self.parameter, self.name, session.namespace
        )
    }
}
