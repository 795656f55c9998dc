//! Old versions beyond `spec.historyLimit` go: record, then snapshot, then the credentials and documents that nothing in
//! use names. What a crash leaves in between is a snapshot without a record, or a Secret that nothing names, and never
//! state that looks lost.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::{Api, ResourceExt};

use super::failure::Failure;
use super::history::{History, Version, read_credential, snapshot_number};
use super::precious::{annotation, label};
use super::removal::{Removal, remove};
use super::shelf::Shelf;
use super::shell::Shell;
use super::sources::source_place;
use crate::api::Installation;
use crate::api::ResolutionRecord;
use crate::api::names::{NODE_LABEL, VOLUME_ANNOTATION};
use crate::api::reason::Reason;

impl History {
    /// The versions that stay: the current one, `limit` behind it, what `targets` names, and for each volume claim that
    /// is kept the newest version that had it, because its credentials unlock what is in it.
    fn in_use(
        &self,
        limit: u32,
        targets: impl IntoIterator<Item = u64>,
        volumes: &[PersistentVolumeClaim],
    ) -> BTreeSet<u64> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let newest = self.versions.iter().rev().take(limit.saturating_add(1));
        let newest = newest.map(|version| version.number);
        let volumes = volumes.iter().filter_map(|claim| {
            let had = |version: &&Version| has(version, claim);
            self.versions.iter().rev().find(had)
        });
        newest
            .chain(targets)
            .chain(volumes.map(|version| version.number))
            .collect()
    }

    /// Whether generation `at` of a credential may go: no version names it, and a newer one exists, so that a generation
    /// that is gone is never asked for again.
    fn is_outlived(&self, at: &(String, u64)) -> bool {
        !self.names(at) && self.newest(&at.0).is_some_and(|newest| at.1 < newest)
    }

    /// Whether anything here may have to go although no version does.
    fn has_unnamed(&self) -> bool {
        let mut documents = self.sources.iter();
        self.credentials.keys().any(|at| self.is_outlived(at))
            || documents.any(|(digest, _)| !self.names_document(digest.as_str()))
    }

    fn names_document(&self, digest: &str) -> bool {
        self.versions.iter().any(|version| {
            let components = version.record.components.values();
            let mut digests = components.map(|component| &component.digest);
            version.record.blueprint_digest.as_str() == digest
                || digests.any(|named| named.as_str() == digest)
        })
    }
}

/// Whether `version` has the volume that `claim` is of.
fn has(version: &Version, claim: &PersistentVolumeClaim) -> bool {
    let (Some(node), Some(volume)) = (
        label(&claim.metadata, NODE_LABEL),
        annotation(&claim.metadata, VOLUME_ANNOTATION),
    ) else {
        return false;
    };
    let component = version.record.components.get(node);
    component.is_some_and(|component| component.volumes.contains_key(volume))
}

impl Shell {
    /// Removes the versions beyond the limit of `installation`. Assumes that everything that runs is of the newest
    /// version, and that `history` was read from `shelf` with `counted` versions.
    ///
    /// # Errors
    /// What reading and deleting ends in.
    pub async fn prune_history(
        &self,
        installation: &Installation,
        counted: u64,
        shelf: &Shelf,
        history: &History,
    ) -> Result<(), Failure> {
        let namespace = installation.namespace().unwrap_or_default();
        let identity = installation.identity();
        let pruned = self.prune_versions(installation, shelf, history).await?;
        if pruned.is_empty() && !history.has_unnamed() {
            return Ok(());
        }
        // What nothing names is decided on what stands now: another version may have come that names it.
        let shelf = self.read_shelf(&namespace, identity).await?;
        let history = History::read(identity, counted, &shelf)?;
        let secrets = self.secrets(&namespace);
        for credential in &shelf.credentials {
            let (at, _) = read_credential(credential, identity)?;
            if history.is_outlived(&at) {
                remove(&secrets, credential).await?;
            }
        }
        for source in &shelf.sources {
            let (digest, _) = source_place(source, identity)?;
            if !history.names_document(&digest) {
                remove(&secrets, source).await?;
            }
        }
        if !pruned.is_empty() {
            let note = format!(
                "removed versions beyond spec.historyLimit: {}",
                pruned.join(", ")
            );
            self.event(installation, Reason::HistoryPruned, note).await;
        }
        Ok(())
    }

    /// Removes records and snapshots beyond the limit, and says the versions of those that are gone.
    async fn prune_versions(
        &self,
        installation: &Installation,
        shelf: &Shelf,
        history: &History,
    ) -> Result<Vec<String>, Failure> {
        let namespace = installation.namespace().unwrap_or_default();
        let target = installation.spec.rollback.as_ref();
        let target = target.map(|rollback| u64::from(rollback.record));
        let kept = history.in_use(installation.spec.history_limit, target, &shelf.volumes);
        let records: Api<ResolutionRecord> = self.api(&namespace);
        let secrets = self.secrets(&namespace);
        let mut pruned = Vec::new();
        for snapshot in &shelf.snapshots {
            let number = snapshot_number(snapshot, installation.identity())?;
            if kept.contains(&number) {
                continue;
            }
            // A record whose snapshot is gone would look like a loss: one that somebody else holds keeps its snapshot.
            if let Some(record) = history.recorded.get(&number)
                && let Removal::Held(_) = remove(&records, record).await?
            {
                continue;
            }
            if let Removal::Gone = remove(&secrets, snapshot).await? {
                pruned.push(number);
            }
        }
        pruned.sort_unstable();
        Ok(pruned.iter().map(u64::to_string).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::history::Generation;
    use crate::controller::testing::{changed, version};
    use crate::resolution::secret::Secret;

    fn history(versions: Vec<Version>) -> History {
        History {
            versions,
            ..History::default()
        }
    }

    fn claim(node: &str, volume: &str) -> PersistentVolumeClaim {
        let metadata =
            json!({"labels": {NODE_LABEL: node}, "annotations": {VOLUME_ANNOTATION: volume}});
        serde_json::from_value(json!({"metadata": metadata})).expect("a claim")
    }

    #[test]
    fn what_is_in_use_stays_whatever_the_limit() {
        let bare = |number| {
            changed(number, |all| {
                all["record"]["components"]["web"]["volumes"] = json!({});
            })
        };
        let history = history(vec![version(1), version(2), bare(3), bare(5), bare(6)]);
        for (limit, targets, volumes, kept) in [
            (0, vec![], vec![], vec![6]),
            (2, vec![], vec![], vec![3, 5, 6]),
            (100, vec![], vec![], vec![1, 2, 3, 5, 6]),
            (0, vec![1], vec![], vec![1, 6]),
            (1, vec![], vec![claim("web", "data")], vec![2, 5, 6]),
            (
                0,
                vec![],
                vec![claim("web", "other"), claim("db", "data")],
                vec![6],
            ),
        ] {
            let found = history.in_use(limit, targets.clone(), &volumes);
            assert_eq!(found, BTreeSet::from_iter(kept), "{limit} {targets:?}");
        }
    }

    #[test]
    fn a_generation_goes_only_when_none_names_it_and_a_newer_one_exists() {
        let mut history = history(vec![version(1)]);
        for at in [("key", 1), ("key", 2), ("key", 3), ("other", 0)] {
            let generation = Generation {
                value: Secret::new("s3cret".to_owned()),
                generator: String::new(),
                credential_of: None,
            };
            history
                .credentials
                .insert((at.0.to_owned(), at.1), generation);
        }
        let outlived: Vec<_> = history
            .credentials
            .keys()
            .filter(|at| history.is_outlived(at))
            .collect();
        assert_eq!(outlived, [&("key".to_owned(), 1)]);
    }
}
