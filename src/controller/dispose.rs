//! What `deletionPolicy: Delete` removes: everything of the identity that checks as the operator's own, in an order after
//! which whatever a crash leaves is still accounted for. What only looks like it stays.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use kube::{Api, Resource, ResourceExt};

use super::claim::Claim;
use super::failure::Failure;
use super::history::{read_credential, snapshot_number};
use super::precious::{annotation, check_format, label};
use super::removal::{Removal, remove};
use super::shelf::Shelf;
use super::shell::Shell;
use super::sources::source_place;
use crate::api::ResolutionRecord;
use crate::api::names::{self, IDENTITY_LABEL, NODE_LABEL, VERSION_LABEL, VOLUME_ANNOTATION};

/// What of a shelf checks as the identity's own, each group in the order in which it may go: whatever an end in between
/// leaves is still accounted for.
pub struct Sorted<'a> {
    /// Records, first: without the rest none of them means anything.
    pub records: Vec<&'a ResolutionRecord>,
    /// Volume claims, before the credentials that unlock what is in them.
    pub volumes: Vec<&'a PersistentVolumeClaim>,
    /// Snapshots, sources and credentials.
    pub secrets: Vec<&'a Secret>,
    /// The claim, which goes when all else is gone.
    pub claim: Option<&'a Secret>,
    /// What is not as the operator makes it, as kind and name.
    pub left_alone: Vec<String>,
}

impl Shelf {
    /// Tells what is the operator's own work for `identity` from what only looks like it.
    pub fn sort(&self, identity: &str) -> Sorted<'_> {
        let mut left_alone = Vec::new();
        let records = own(&self.records, &mut left_alone, |it| is_record(it, identity));
        let volumes = own(&self.volumes, &mut left_alone, |it| is_volume(it, identity));
        let mut secrets = own(&self.snapshots, &mut left_alone, |it| {
            snapshot_number(it, identity).is_ok()
        });
        secrets.extend(own(&self.sources, &mut left_alone, |it| {
            source_place(it, identity).is_ok()
        }));
        secrets.extend(own(&self.credentials, &mut left_alone, |it| {
            read_credential(it, identity).is_ok()
        }));
        let claim = own(&self.claim, &mut left_alone, |it| {
            Claim::read(it, identity).is_ok()
        });
        Sorted {
            records,
            volumes,
            secrets,
            claim: claim.into_iter().next(),
            left_alone,
        }
    }
}

/// Those of `found` that are `ours`; the others are named in `left_alone`.
fn own<'a, K>(
    found: impl IntoIterator<Item = &'a K>,
    left_alone: &mut Vec<String>,
    ours: impl Fn(&K) -> bool,
) -> Vec<&'a K>
where
    K: Resource<DynamicType = ()>,
{
    let (ours, others): (Vec<&K>, Vec<&K>) = found.into_iter().partition(|it| ours(it));
    left_alone.extend(others.into_iter().map(describe));
    ours
}

/// What was not removed.
#[derive(Default)]
pub struct Disposal {
    /// What is not as the operator makes it, as kind and name.
    pub left_alone: Vec<String>,
    /// What waits for somebody else's finalizer.
    held: Option<Failure>,
}

impl Shell {
    /// Deletes a shelf: records first, then volumes, then what they stand on, and the claim last.
    ///
    /// # Errors
    /// [`Failure::HeldByFinalizer`] while something of it waits for somebody else, and what deleting ends in. A volume
    /// claim is not waited for: its pods go after the Installation.
    pub async fn dispose(
        &self,
        namespace: &str,
        identity: &str,
        shelf: &Shelf,
    ) -> Result<Disposal, Failure> {
        let sorted = shelf.sort(identity);
        let mut disposal = Disposal {
            left_alone: sorted.left_alone,
            held: None,
        };
        let records: Api<ResolutionRecord> = self.api(namespace);
        for record in sorted.records {
            disposal.take(&records, record).await?;
        }
        let volumes: Api<PersistentVolumeClaim> = self.api(namespace);
        for volume in sorted.volumes {
            remove(&volumes, volume).await?;
        }
        let secrets = self.secrets(namespace);
        for secret in sorted.secrets {
            disposal.take(&secrets, secret).await?;
        }
        if let Some(held) = disposal.held {
            return Err(held);
        }
        if let Some(claim) = sorted.claim {
            disposal.take(&secrets, claim).await?;
        }
        match disposal.held {
            Some(held) => Err(held),
            None => Ok(disposal),
        }
    }
}

impl Disposal {
    async fn take<K>(&mut self, api: &Api<K>, object: &K) -> Result<(), Failure>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        if let Removal::Held(Some(finalizers)) = remove(api, object).await? {
            self.held = Some(Failure::HeldByFinalizer {
                object: describe(object),
                finalizers,
            });
        }
        Ok(())
    }
}

/// `Kind NAME`.
pub fn describe<K: Resource<DynamicType = ()>>(object: &K) -> String {
    format!("{} {}", K::kind(&()), object.name_any())
}

fn is_record(record: &ResolutionRecord, identity: &str) -> bool {
    let metadata = &record.metadata;
    let number = super::history::number(label(metadata, VERSION_LABEL));
    check_format(metadata, || describe(record)).is_ok()
        && number.is_some_and(|number| record.name_any() == names::record(identity, number))
}

fn is_volume(volume: &PersistentVolumeClaim, identity: &str) -> bool {
    let metadata = &volume.metadata;
    let (node, name) = (
        label(metadata, NODE_LABEL).unwrap_or_default(),
        annotation(metadata, VOLUME_ANNOTATION).unwrap_or_default(),
    );
    check_format(metadata, || describe(volume)).is_ok()
        && label(metadata, IDENTITY_LABEL) == Some(identity)
        && volume.name_any() == names::volume(identity, node, name)
        && metadata.owner_references.is_none()
}

/// The checks of Secrets are those that reading the history makes; none of them is made here twice.
#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_volume_claim_is_the_identitys_by_its_name_and_all_that_it_is_made_of() {
        let claim = |change: fn(&mut serde_json::Value)| {
            let mut claim = json!({"metadata": {
                "name": names::volume("wiki", "db", "data"),
                "labels": {IDENTITY_LABEL: "wiki", NODE_LABEL: "db"},
                "annotations": {VOLUME_ANNOTATION: "data", names::FORMAT_ANNOTATION: "1"},
            }});
            change(&mut claim["metadata"]);
            serde_json::from_value(claim).expect("a claim")
        };
        assert!(is_volume(&claim(|_| ()), "wiki"));
        for change in [
            (|metadata| metadata["name"] = json!("mine")) as fn(&mut serde_json::Value),
            |metadata| metadata["labels"][NODE_LABEL] = json!("web"),
            |metadata| metadata["labels"][IDENTITY_LABEL] = json!("other"),
            |metadata| metadata["annotations"] = json!({}),
            |metadata| {
                metadata["ownerReferences"] =
                    json!([{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x"}]);
            },
        ] {
            assert!(!is_volume(&claim(change), "wiki"));
        }
    }
}
