//! The item that a spec names, as far as it has to be known before the claim is written: a source that names its item says
//! so itself, an artifact has to be fetched. Reads only; what is pinned is not fetched again.

use k8s_openapi::api::core::v1::Secret;

use super::claim::Claim;
use super::failure::Failure;
use super::history::{self, Version, key};
use super::intent::{BlueprintIntent, Intent};
use super::precious::label;
use super::shelf::Shelf;
use super::shell::Shell;
use super::start::Choice;
use crate::acquire::registry::Artifact;
use crate::acquire::{Findings, Reader, artifact};
use crate::api::Installation;
use crate::api::installation::OciSource;
use crate::api::names::VERSION_LABEL;
use crate::contract::component::source::ImageReference;
use crate::contract::item::{BLUEPRINT, Item, Lookup, slug};

/// What is known of the item before the claim.
pub struct Delivery {
    /// Its slug.
    pub item: String,
    /// The artifact, where the spec asks for one that is not pinned.
    pub artifact: Option<Artifact>,
}

impl Version {
    /// The OCI artifact that its item came from, by digest.
    pub fn artifact(&self) -> Option<String> {
        let BlueprintIntent::Oci(source) = &self.intent.blueprint else {
            return None;
        };
        let name = ImageReference::parse(&source.reference).name;
        let digest = &self.pins.artifact.as_ref()?.digest;
        Some(format!("{name}@{digest}"))
    }
}

impl Shell {
    /// The item of `intent`: by its own word, from the artifact, or from `shelf` where the artifact is pinned or not to be
    /// had. `None` when nobody can say which item it is; `findings` then says why.
    ///
    /// # Errors
    /// [`Failure::IdentityInUse`] before anything is fetched, and when the cluster cannot be asked.
    pub async fn deliver(
        &self,
        installation: &Installation,
        intent: &Intent,
        reader: &Reader,
        shelf: &Shelf,
        findings: &mut Findings,
    ) -> Result<Option<Delivery>, Failure> {
        if let Some(item) = intent.blueprint.item() {
            return Ok(Some(Delivery {
                item: item.to_owned(),
                artifact: None,
            }));
        }
        let claim = shelf.claim.as_ref();
        let claim = claim.and_then(|claim| Claim::read(claim, installation.identity()).ok());
        if let Some(claim) = &claim {
            // Nothing is fetched for an identity that is not to be had.
            self.refuse_rival(installation, claim).await?;
        }
        let artifact = match &installation.spec.blueprint.oci {
            Some(source) if !is_pinned(intent, shelf) => {
                self.fetch(source, reader, findings).await?
            }
            _ => None,
        };
        let named = artifact
            .as_ref()
            .and_then(|artifact| slug_of(&artifact.item));
        let item = named
            .or_else(|| known_item(claim, shelf))
            .or_else(|| Some(artifact.as_ref()?.item.name().to_owned()));
        Ok(item.map(|item| Delivery { item, artifact }))
    }

    async fn fetch(
        &self,
        source: &OciSource,
        reader: &Reader,
        findings: &mut Findings,
    ) -> Result<Option<Artifact>, Failure> {
        let platform = reader.platform(&self.settings.platform).await?;
        let keyring = reader.acquire_artifact_keyring(source, findings).await?;
        let registries = self.registries.client(&platform.registries, keyring);
        Ok(artifact::fetch(source, &registries, findings).await)
    }
}

/// Whether the version that a plan for `intent` starts from has the artifact already, so that none is fetched.
fn is_pinned(intent: &Intent, shelf: &Shelf) -> bool {
    let read = |secret: &Secret| {
        let number = label(&secret.metadata, VERSION_LABEL)?.parse().ok()?;
        let before = history::json::<Intent>(secret, key::INTENT).ok()?;
        Some((number, before))
    };
    let mut versions: Vec<(u64, Intent)> = shelf.snapshots.iter().filter_map(read).collect();
    versions.sort_by_key(|(number, _)| *number);
    let versions: Vec<(u64, &Intent)> = versions
        .iter()
        .map(|(number, intent)| (*number, intent))
        .collect();
    let before = match Choice::of(intent, &versions) {
        // All of its selections count, whatever else the spec says.
        Choice::Rollback(_) => return true,
        Choice::Current => versions.last(),
        Choice::BeforeRollback(before) => {
            versions.iter().find(|(number, _)| Some(*number) == before)
        }
        Choice::Unknown(_) => None,
    };
    before.is_some_and(|(_, before)| {
        before.blueprint == intent.blueprint && before.update == intent.update
    })
}

/// The item that the state of the identity is of.
fn known_item(claim: Option<Claim>, shelf: &Shelf) -> Option<String> {
    let retained = || shelf.snapshots.iter().find_map(history::snapshot_item);
    claim.map(|claim| claim.item).or_else(retained)
}

fn slug_of(item: &Item) -> Option<String> {
    match item.file(BLUEPRINT) {
        Lookup::File { bytes, .. } => slug(bytes),
        Lookup::Escape | Lookup::Missing => None,
    }
}
