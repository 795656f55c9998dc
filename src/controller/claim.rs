//! The identity claim: which Installation holds an identity's state, which item that state is of, and the random id by
//! which issuers outside know the installation. Created atomically; a second live holder is refused.

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::PostParams;
use rand::TryRng;
use serde::{Deserialize, Serialize};

use super::failure::{Asked, Failure};
use super::precious;
use super::shelf::Shelf;
use super::shell::{Created, Shell};
use crate::api::Installation;
use crate::api::names::{self, FIELD_MANAGER, Precious};

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
    /// [`Failure::IdentityInUse`], [`Failure::ForeignState`], and what reading and writing ends in.
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

    /// Makes sure that the claim counts version `number`.
    ///
    /// # Errors
    /// [`Failure::Conflict`] when the claim changed since it was read, and what writing ends in.
    pub async fn count_version(
        &self,
        namespace: &str,
        identity: &str,
        held: &mut Held,
        number: u64,
    ) -> Result<(), Failure> {
        if held.claim.versions < number {
            held.claim.versions = number;
            let secret = held.secret.clone();
            held.secret = self
                .swap_claim(namespace, identity, &held.claim, secret)
                .await?;
        }
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
