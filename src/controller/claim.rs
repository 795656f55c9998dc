//! The identity claim: which Installation holds an identity's state, which item that state is of, and the random id by
//! which issuers outside know the installation. Created atomically; a second live holder is refused.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use rand::TryRng;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::failure::{Asked, Failure};
use super::precious::{self, annotation};
use super::shelf::Shelf;
use super::shell::{Created, Shell};
use crate::api::Installation;
use crate::api::names::{self, CLAIM_ANNOTATION, FIELD_MANAGER, Precious};

const KEY: &str = "claim.json";

/// Who holds an identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// A random id: issuers outside know the installation by it, and it outlives the holder.
    pub id: String,
    /// The slug of the item that the state is of.
    pub item: String,
    /// The Installation that holds it.
    pub holder: Holder,
    /// The number of the newest version ever persisted: no number is used twice, and the loss of the newest snapshot is
    /// noticed rather than made up for.
    pub versions: u64,
    /// The names of the volume claims that were ever seen: one that is gone is noticed, too.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub volumes: BTreeSet<String>,
}

/// The Installation that holds an identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

impl Holder {
    fn of(installation: &Installation) -> Self {
        Self {
            name: installation.name_any(),
            uid: installation.uid().unwrap_or_default(),
        }
    }
}

/// A claim that is this Installation's, and how it came to be.
pub struct Held {
    /// The claim.
    pub claim: Claim,
    /// The Secret that holds it, as last seen.
    secret: Secret,
    /// The names of the volume claims that there are.
    volumes: BTreeSet<String>,
    /// Whether retained state of a former holder was taken over just now.
    pub taken_over: bool,
}

impl Claim {
    /// Reads a claim that is dressed as one.
    ///
    /// # Errors
    /// As [`precious::check`] says, and [`Failure::ForeignObject`] for content that is no claim.
    pub fn read(secret: &Secret, identity: &str) -> Result<Self, Failure> {
        precious::check(secret, Precious::Claim, identity, &names::claim(identity))?;
        serde_json::from_slice(precious::bytes(secret, KEY)?).map_err(|_| {
            precious::foreign(precious::describe(secret), "its content is not a claim")
        })
    }

    fn secret(&self, namespace: &str, identity: &str) -> Secret {
        let metadata = precious::metadata(namespace, identity, names::claim(identity));
        let content = serde_json::to_vec(self).expect("a claim is plain data");
        precious::secret(
            Precious::Claim,
            metadata,
            [(KEY.to_owned(), content)].into(),
            false,
        )
    }
}

impl Shell {
    /// Makes sure that this Installation holds its identity for `item`. A claim whose holder is gone is taken over.
    ///
    /// # Errors
    /// [`Failure::IdentityInUse`], [`Failure::ForeignState`], [`Failure::StateLost`] for a claim that this very
    /// Installation held and that is gone, and what reading and writing ends in.
    pub async fn claim_identity(
        &self,
        installation: &Installation,
        item: &str,
        shelf: &Shelf,
    ) -> Result<Held, Failure> {
        let (namespace, identity) = (
            installation.namespace().unwrap_or_default(),
            installation.identity(),
        );
        let wanted = Holder::of(installation);
        let (stands, secret) = match &shelf.claim {
            Some(secret) => (true, secret.clone()),
            None => {
                refuse_lost(installation)?;
                // State whose claim alone was lost still says what it is of.
                let retained = shelf
                    .snapshots
                    .iter()
                    .find_map(super::history::snapshot_item);
                if let Some(retained) = retained.filter(|retained| retained != item) {
                    return Err(foreign_state(identity, retained, item, shelf));
                }
                let claim = Claim {
                    id: self.claim_id(shelf)?,
                    item: item.to_owned(),
                    holder: wanted.clone(),
                    versions: 0,
                    volumes: BTreeSet::new(),
                };
                match self
                    .create_or_read(
                        &self.secrets(&namespace),
                        &claim.secret(&namespace, identity),
                    )
                    .await?
                {
                    Created::New(secret) => (false, secret),
                    Created::Found(secret) => (true, secret),
                }
            }
        };
        // One that is being deleted and that no claim names yet is of a former life of the identity, and takes no data of
        // this one along.
        let standing = shelf.volumes.iter();
        let standing = standing.filter(|volume| volume.metadata.deletion_timestamp.is_none());
        let volumes = standing.map(ResourceExt::name_any).collect();
        let claim = Claim::read(&secret, identity)?;
        let same_holder = claim.holder == wanted;
        self.refuse_rival(installation, &claim).await?;
        if claim.item != item && shelf.state() > 0 {
            return Err(foreign_state(identity, claim.item, item, shelf));
        }
        if same_holder && claim.item == item {
            return Ok(Held {
                claim,
                secret,
                volumes,
                taken_over: false,
            });
        }
        let claim = Claim {
            item: item.to_owned(),
            holder: wanted,
            ..claim
        };
        let secret = self
            .swap_claim(&namespace, identity, &claim, secret)
            .await?;
        Ok(Held {
            claim,
            secret,
            volumes,
            taken_over: stands && !same_holder && shelf.state() > 0,
        })
    }

    /// Refuses an identity whose `claim` another live Installation holds.
    ///
    /// # Errors
    /// [`Failure::IdentityInUse`], and what reading ends in.
    pub async fn refuse_rival(
        &self,
        installation: &Installation,
        claim: &Claim,
    ) -> Result<(), Failure> {
        let namespace = installation.namespace().unwrap_or_default();
        let is_own = claim.holder == Holder::of(installation);
        if !is_own && self.is_live(&namespace, &claim.holder).await? {
            return Err(Failure::IdentityInUse {
                identity: installation.identity().to_owned(),
                holder: claim.holder.name.clone(),
            });
        }
        Ok(())
    }

    /// Makes sure that the claim counts version `number` and the volume claims that there are.
    ///
    /// # Errors
    /// [`Failure::Conflict`] when the claim changed since it was read, and what writing ends in.
    pub async fn count(
        &self,
        namespace: &str,
        identity: &str,
        held: &mut Held,
        number: u64,
    ) -> Result<(), Failure> {
        if held.claim.versions < number || !held.claim.volumes.is_superset(&held.volumes) {
            held.claim.versions = held.claim.versions.max(number);
            held.claim.volumes.extend(held.volumes.iter().cloned());
            let secret = held.secret.clone();
            held.secret = self
                .swap_claim(namespace, identity, &held.claim, secret)
                .await?;
        }
        Ok(())
    }

    /// Makes sure that the Installation says that it held its claim, so that neither its own loss nor a restore in which
    /// the claim comes last is taken for a first install.
    ///
    /// # Errors
    /// What writing ends in.
    pub async fn mark_claimed(&self, installation: &Installation) -> Result<(), Failure> {
        let marker = marker(installation);
        if annotation(&installation.metadata, CLAIM_ANNOTATION) == Some(&marker) {
            return Ok(());
        }
        let name = installation.name_any();
        let patch = json!({"metadata": {
            "uid": installation.uid(),
            "annotations": {CLAIM_ANNOTATION: marker},
        }});
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.api::<Installation>(&installation.namespace().unwrap_or_default())
            .patch(&name, &params, &Patch::Merge(&patch))
            .await
            .asked(|| format!("annotate Installation {name}"))?;
        Ok(())
    }

    /// Writes `claim` over the one in `secret`. The resource version makes this a compare-and-swap: of two that take
    /// over, one gets a conflict.
    async fn swap_claim(
        &self,
        namespace: &str,
        identity: &str,
        claim: &Claim,
        mut secret: Secret,
    ) -> Result<Secret, Failure> {
        secret.data = claim.secret(namespace, identity).data;
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let name = names::claim(identity);
        self.secrets(namespace)
            .replace(&name, &params, &secret)
            .await
            .asked(|| format!("update Secret {name}"))
    }

    /// Whether `holder` still exists; being deleted counts as existing.
    async fn is_live(&self, namespace: &str, holder: &Holder) -> Result<bool, Failure> {
        let found = self
            .api::<Installation>(namespace)
            .get_opt(&holder.name)
            .await
            .asked(|| format!("read Installation {}", holder.name))?;
        Ok(found.and_then(|found| found.uid()).as_deref() == Some(&holder.uid))
    }

    /// The id of a new claim: that of surviving snapshots where the claim alone was lost, else a random one.
    fn claim_id(&self, shelf: &Shelf) -> Result<String, Failure> {
        let surviving = shelf
            .snapshots
            .iter()
            .find_map(super::history::snapshot_identity);
        match surviving {
            Some(id) => Ok(id),
            None => {
                let mut bytes = [0; 16];
                random(&mut bytes)?;
                Ok(data_encoding::HEXLOWER.encode(&bytes))
            }
        }
    }
}

/// Which claim an Installation says that it held: not one of another namespace or identity, which its text may have been
/// copied from.
fn marker(installation: &Installation) -> String {
    let namespace = installation.namespace().unwrap_or_default();
    format!("{namespace}/{}", installation.identity())
}

/// Refuses to make a claim anew for an Installation that held one: whatever the claim guarded is to be restored first.
fn refuse_lost(installation: &Installation) -> Result<(), Failure> {
    let told = annotation(&installation.metadata, CLAIM_ANNOTATION);
    if told != Some(&marker(installation)) {
        return Ok(());
    }
    Err(Failure::StateLost {
        object: format!("Secret {}", names::claim(installation.identity())),
        needed_by: format!(
            "everything that Installation {} has (to give that up and begin anew, take its annotation {CLAIM_ANNOTATION} off)",
            installation.name_any()
        ),
    })
}

fn foreign_state(identity: &str, retained: String, asked: &str, shelf: &Shelf) -> Failure {
    Failure::ForeignState {
        identity: identity.to_owned(),
        retained,
        asked: asked.to_owned(),
        objects: shelf.state(),
    }
}

/// Fills `bytes` from the operating system's randomness.
///
/// # Errors
/// [`Failure::Api`] when the operating system has none to give.
pub fn random(bytes: &mut [u8]) -> Result<(), Failure> {
    rand::rngs::SysRng
        .try_fill_bytes(bytes)
        .map_err(|error| kube::Error::Service(error.to_string().into()))
        .asked(|| "give randomness".to_owned())
}
