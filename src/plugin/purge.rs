//! `purge`: gives the retained state of an identity up, for good. It tells what is the identity's own as the operator does,
//! deletes in the operator's order, and every deletion is of the very object that was listed, while nobody holds the identity.

use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use k8s_openapi::jiff::SignedDuration;
use kube::api::{Api, ListParams};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::ask::{Ask, failed, refused};
use super::change::DryRunOption;
use super::output::print;
use super::session::{Session, now};
use super::view::purge::list;
use crate::api::ResolutionRecord;
use crate::api::names;
use crate::cli::Ended;
use crate::controller::claim::Claim;
use crate::controller::dispose::{Sorted, describe};
use crate::controller::failure::Failure;
use crate::controller::removal::{Removal, finalizers_of_others, remove_unchanged};
use crate::controller::shelf::Shelf;

/// Delete the retained state of an identity that no Installation holds any more.
///
/// Its claim, credentials, snapshots, records, sources and volume claims go, with the data in the volumes, and nothing else.
/// Without a terminal it takes --yes. Refused while a live Installation has the identity.
#[derive(Debug, Args)]
pub struct Purge {
    /// The identity: by default the name that the Installation had.
    identity: String,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    /// How long to wait for volume claims to go, for example 90s or 10m.
    #[arg(long, value_name = "DURATION", default_value = "1m")]
    timeout: SignedDuration,
    #[command(flatten)]
    dry_run: DryRunOption,
}

impl Purge {
    /// Runs the verb.
    ///
    /// # Errors
    /// [`super::ask::Refused`] while the identity is held, where there is nothing of it, where some of it is of a newer
    /// format or has changed since it was listed, and without a yes; and when the cluster cannot be asked.
    pub async fn run(self, session: &Session) -> anyhow::Result<Ended> {
        let identity = self.identity.as_str();
        let shelf = Shelf::read(&session.client, &session.namespace, identity).await;
        let shelf = shelf.map_err(failed)?;
        let purging = Purging {
            session,
            identity,
            claim: shelf.claim.as_ref(),
        };
        purging.refuse_held().await?;
        shelf.refuse_newer().map_err(failed)?;
        let sorted = shelf.sort(identity);
        print(&list(&sorted, now()))?;
        for left in &sorted.left_alone {
            anstream::eprintln!("note: {left} is not as the operator makes them, and stays");
        }
        if count(&sorted) == 0 {
            return Err(refused(format!(
                "there is no retained state of identity {identity} in namespace {}",
                session.namespace
            )));
        }
        // What may not be deleted is known before anything is.
        purging.sweep(&sorted, true).await?;
        if self.dry_run.is_set() {
            print(&format!(
                "{} objects would be deleted{}\n",
                count(&sorted),
                self.dry_run.suffix()
            ))?;
            return Ok(Ended::Well);
        }
        self.confirm(session, count(&sorted))?;
        let held = purging.sweep(&sorted, false).await?;
        let patience = self.timeout.unsigned_abs();
        if let Some(waiting) = purging.await_gone(held, patience).await? {
            anstream::eprintln!(
                "error: these are being deleted and wait: {waiting}. The claim stays until they are gone: run this again then"
            );
            return Ok(Ended::Incomplete);
        }
        purging.finish(&sorted).await?;
        print(&format!(
            "the state of identity {identity} is gone: {} objects deleted\n",
            count(&sorted)
        ))?;
        Ok(Ended::Well)
    }

    /// Asks the person at the terminal.
    fn confirm(&self, session: &Session, objects: usize) -> anyhow::Result<()> {
        if self.yes {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            return Err(refused(
                "there is no terminal to ask at, and nothing was deleted: give --yes to delete these objects",
            ));
        }
        let identity = &self.identity;
        eprint!(
            "These {objects} objects of namespace {} go for good, and the data in the volumes with them.\nType the identity, {identity}, to delete them: ",
            session.namespace
        );
        io::stderr().flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        match answer.trim() == identity {
            true => Ok(()),
            false => Err(refused("nothing was deleted")),
        }
    }
}

/// Everything that would be deleted.
fn count(sorted: &Sorted<'_>) -> usize {
    sorted.records.len()
        + sorted.volumes.len()
        + sorted.secrets.len()
        + usize::from(sorted.claim.is_some())
}

/// An identity whose state is on its way out.
struct Purging<'a> {
    session: &'a Session,
    identity: &'a str,
    /// Its claim when it was looked at.
    claim: Option<&'a Secret>,
}

/// An object that waits for a finalizer.
struct Held {
    object: String,
    /// Finalizers of somebody else.
    others: Option<String>,
}

impl Purging<'_> {
    /// Refuses an identity that a live Installation has, or whose claim names one.
    async fn refuse_held(&self) -> anyhow::Result<()> {
        let identity = self.identity;
        let live = self.session.api::<crate::api::Installation>();
        let live = live.list(&ListParams::default()).await;
        let live = live.asking(|| "list Installations".to_owned())?.items;
        let claim = self
            .claim
            .and_then(|claim| Claim::read(claim, identity).ok());
        let holder = claim.map(|claim| claim.holder.uid);
        let held = live
            .iter()
            .find(|it| it.identity() == identity || (holder.is_some() && it.uid() == holder));
        match held {
            None => Ok(()),
            Some(held) => Err(refused(format!(
                "identity {identity} is held by Installation {name}, which lives, and nothing is deleted while it does. Delete it first; with spec.deletionPolicy Delete its state goes with it",
                name = held.name_any()
            ))),
        }
    }

    /// Refuses to go on when somebody took the identity since its claim was looked at: an operator writes the claim before
    /// it relies on anything else.
    async fn refuse_taken(&self) -> anyhow::Result<()> {
        let Some(claim) = self.claim else {
            return self.refuse_held().await;
        };
        let name = claim.name_any();
        let found = self.session.api::<Secret>().get_metadata_opt(&name).await;
        let found = found.asking(|| format!("read Secret {name}"))?;
        let same = found.is_some_and(|found| {
            found.uid() == claim.uid() && found.resource_version() == claim.resource_version()
        });
        match same {
            true => Ok(()),
            false => Err(refused(format!(
                "the claim of identity {} changed in the meantime: some Installation may have taken its state over, and no more of it is deleted. Look at it before you run this again",
                self.identity
            ))),
        }
    }

    /// Deletes everything but the claim, or only asks whether it may be. Names what waits for finalizers.
    async fn sweep(&self, sorted: &Sorted<'_>, only_ask: bool) -> anyhow::Result<Vec<Held>> {
        let mut held = Vec::new();
        self.look_again(only_ask).await?;
        let records = self.session.api::<ResolutionRecord>();
        for record in &sorted.records {
            held.extend(self.take(&records, *record, only_ask).await?);
        }
        self.look_again(only_ask).await?;
        let volumes = self.session.api::<PersistentVolumeClaim>();
        for volume in &sorted.volumes {
            held.extend(self.take(&volumes, *volume, only_ask).await?);
        }
        self.look_again(only_ask).await?;
        let secrets = self.session.api::<Secret>();
        for secret in &sorted.secrets {
            held.extend(self.take(&secrets, *secret, only_ask).await?);
        }
        if let (Some(claim), true) = (sorted.claim, only_ask) {
            self.take(&secrets, claim, true).await?;
        }
        Ok(held)
    }

    /// Before a group of deletions: an Installation that no operator has looked at yet has not written the claim.
    async fn look_again(&self, only_ask: bool) -> anyhow::Result<()> {
        match only_ask {
            true => Ok(()),
            false => self.refuse_held().await,
        }
    }

    async fn take<K>(
        &self,
        api: &Api<K>,
        object: &K,
        only_ask: bool,
    ) -> anyhow::Result<Option<Held>>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        if !only_ask {
            self.refuse_taken().await?;
        }
        match remove_unchanged(api, object, only_ask).await {
            Ok(Removal::Gone) => Ok(None),
            Ok(Removal::Held(others)) => Ok(Some(Held {
                object: describe(object),
                others,
            })),
            Err(Failure::Conflict { .. }) => Err(refused(format!(
                "{} changed since it was listed, and no more is deleted: run this again",
                describe(object)
            ))),
            Err(failure) => Err(failed(failure)),
        }
    }

    /// Waits for what is `held`, and says what still is when `patience` is over.
    async fn await_gone(
        &self,
        held: Vec<Held>,
        patience: Duration,
    ) -> anyhow::Result<Option<String>> {
        let mut waiting = held;
        let deadline = Instant::now() + patience;
        while !waiting.is_empty() {
            let left = self.leaving().await?;
            waiting.retain(|held| left.contains(&held.object));
            let somebody_elses = waiting.iter().any(|held| held.others.is_some());
            if waiting.is_empty() || somebody_elses || Instant::now() > deadline {
                break;
            }
            sleep(Duration::from_millis(300)).await;
        }
        let told = waiting.iter().map(|held| match &held.others {
            Some(finalizers) => format!(
                "{} (for whoever set its finalizer {finalizers})",
                held.object
            ),
            None => format!("{} (for the pods that use it)", held.object),
        });
        let told: Vec<String> = told.collect();
        Ok((!told.is_empty()).then(|| told.join(", ")))
    }

    /// What of the identity is still there, as kind and name.
    async fn leaving(&self) -> anyhow::Result<BTreeSet<String>> {
        let shelf = Shelf::read(&self.session.client, &self.session.namespace, self.identity).await;
        let shelf = shelf.map_err(failed)?;
        let secrets = [&shelf.credentials, &shelf.sources, &shelf.snapshots];
        let secrets = secrets.into_iter().flatten().map(describe);
        let records = shelf.records.iter().map(describe);
        Ok(secrets
            .chain(records)
            .chain(shelf.volumes.iter().map(describe))
            .collect())
    }

    /// Deletes the claim, when all else is gone.
    async fn finish(&self, sorted: &Sorted<'_>) -> anyhow::Result<()> {
        let Some(claim) = sorted.claim else {
            return Ok(());
        };
        self.refuse_held().await?;
        let held = self
            .take(&self.session.api::<Secret>(), claim, false)
            .await?;
        if let Some(held) = held {
            let finalizers = held.others.or_else(|| finalizers_of_others(claim));
            bail!(
                "{} is being deleted and waits for whoever set its finalizer {}",
                names::claim(self.identity),
                finalizers.unwrap_or_default()
            );
        }
        Ok(())
    }
}
