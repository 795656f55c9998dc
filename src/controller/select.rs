//! Selects everything that a spec resolves with, but credentials: what the last version pinned where the spec asks for no
//! other, what is current where it does. Reads only.

use std::sync::Arc;

use kube::ResourceExt;

use super::failure::Failure;
use super::history::Version;
use super::intent::Intent;
use super::plan::{Plan, refuse_shrinking};
use super::shell::Shell;
use super::start::Start;
use crate::acquire::allocation::{Allocations, Allocator};
use crate::acquire::selection::ImageFacts;
use crate::acquire::{Findings, Reader, offer, selection, support};
use crate::api::Installation;
use crate::api::installation::{BlueprintSource, SubmittedValue};
use crate::contract::contracts::Contracts;
use crate::contract::published::Published;
use crate::contract::validate::validate_item;
use crate::document::result::Profile;
use crate::resolution::accept::AcceptedRecord;
use crate::resolution::context::Context;

impl Shell {
    /// Selects everything for `intent` but credentials: what the version that it starts from pinned where the spec asks
    /// for no other, what is current where it does.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn plan(
        &self,
        installation: &Installation,
        intent: Intent,
        reader: &Reader,
        start: &Start,
        current: Option<&(Version, AcceptedRecord)>,
        findings: &mut Findings,
    ) -> Result<Option<Plan>, Failure> {
        let namespace = installation.namespace().unwrap_or_default();
        let target = start.target();
        // An explicit update selects everything current again: nothing is pinned for it but addresses and credentials.
        let pinned = start
            .version(current)
            .filter(|(version, _)| target.is_some() || version.intent.update == intent.update);
        let same = pinned.filter(|(version, _)| {
            target.is_some() || version.intent.blueprint == intent.blueprint
        });
        let contracts = match same {
            Some((_, accepted)) => Some(accepted.contracts().clone()),
            None => accepted_item(reader, &installation.spec.blueprint, findings).await?,
        };
        let Some(contracts) = contracts else {
            return Ok(None);
        };
        support::nodes(&contracts, findings);
        if let Some((_, accepted)) = current {
            let target = target.map(|(version, _)| version.number);
            refuse_shrinking(accepted.record(), &contracts, target, findings);
        }
        let held = pinned
            .map(|(version, _)| version.snapshot.context().parameters)
            .unwrap_or_default();
        // A rollback takes the old values and no others. What stays of it later are those that it took: an entry that has
        // not changed and is none of them belongs to a blueprint that was left.
        let is_old = |name: &str, submitted: &SubmittedValue| {
            same.is_some_and(|(version, _)| version.intent.parameters.get(name) == Some(submitted))
        };
        let mut asked = intent.parameters.clone();
        asked.retain(|name, submitted| {
            target.is_none() && (held.contains_key(name) || !is_old(name, submitted))
        });
        let mut parameters = reader
            .acquire_parameters(
                &asked,
                &contracts,
                |name, submitted| {
                    let unchanged = pinned?.0.intent.parameters.get(name) == Some(submitted);
                    unchanged.then(|| held.get(name).cloned()).flatten()
                },
                findings,
            )
            .await?;
        if target.is_some() {
            parameters = held;
        }
        let profile =
            |slug: &str| pinned.and_then(|(version, _)| version.pins.profiles.get(slug).cloned());
        let profiles = reader
            .acquire_profiles(&contracts, profile, findings)
            .await?;
        let platform = reader.platform(&self.settings.platform).await?;
        let named: Vec<String> = intent
            .image_pull_secrets
            .iter()
            .map(|reference| reference.name.clone())
            .collect();
        let (keyring, pull_secrets) = reader.acquire_keyring(&named, findings).await?;
        let images = reader
            .acquire_images(
                &contracts,
                |node| pinned_image(pinned?, &contracts, node),
                &platform.registries,
                &keyring,
                findings,
            )
            .await;
        let selections = selection::select(&contracts, &profiles, &images, findings);
        let before = target
            .or(current)
            .map(|(version, _)| version.snapshot.allocations().clone())
            .unwrap_or_default();
        let offered = offer::select(
            &contracts,
            &platform,
            pinned.map(|(version, _)| &version.pins.platform),
            findings,
        );
        let allocator = Allocator {
            installation: &intent.installation,
            namespace: &namespace,
            cluster_domain: &platform.cluster_domain,
            edge: offered.edge.as_ref(),
            before: &before,
            keep: pinned.is_some(),
            given: &Allocations::new(),
        };
        let allocations = allocator.allocate(&contracts, findings);
        let withheld = asked.keys().filter(|name| !parameters.contains_key(*name));
        let context = Context {
            withheld: withheld.cloned().collect(),
            parameters,
            allocations,
            ..Context::default()
        };
        Ok(Some(Plan {
            intent,
            contracts,
            context,
            profiles,
            selections,
            platform: offered,
            // Without names of its own a pod gets those of its ServiceAccount.
            image_pull_secrets: match target {
                Some((version, _)) => version.pins.image_pull_secrets.clone(),
                None if named.is_empty() => Vec::new(),
                None => pull_secrets,
            },
        }))
    }
}

/// The contracts of the item that `source` names, if it is there and valid.
async fn accepted_item(
    reader: &Reader,
    source: &BlueprintSource,
    findings: &mut Findings,
) -> Result<Option<Arc<Contracts>>, Failure> {
    let Some(item) = reader.acquire_item(source, findings).await? else {
        return Ok(None);
    };
    let validation = validate_item(&item, &Published::default(), Profile::Document);
    findings.absorb(validation.result);
    Ok(validation.contracts)
}

/// What a version pinned of the image of `node`, if it still is the image that the node names.
fn pinned_image(
    (version, accepted): &(Version, AcceptedRecord),
    contracts: &Contracts,
    node: &str,
) -> Option<ImageFacts> {
    let source = |contracts: &Contracts| {
        let contract = contracts.components.get(node)?;
        let workload = contract.component.spec.workload.as_ref()?;
        Some(workload.source.clone())
    };
    let recorded = accepted.record().components.get(node)?;
    (source(accepted.contracts()) == source(contracts)).then(|| ImageFacts {
        digest: recorded.image_digest.clone(),
        pins: version.pins.images.get(node).cloned().unwrap_or_default(),
    })
}
