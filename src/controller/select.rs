//! Selects everything that a spec resolves with, but credentials: what the last version pinned where the spec asks for no
//! other, what is current where it does. Reads only.

use kube::ResourceExt;

use super::delivery::Delivery;
use super::failure::Failure;
use super::history::Version;
use super::intent::Intent;
use super::plan::{Plan, refuse_shrinking};
use super::shell::Shell;
use super::start::Start;
use crate::acquire::allocation::{Allocations, Allocator};
use crate::acquire::selection::ImageFacts;
use crate::acquire::{Findings, Reader, offer, placement, published, selection};
use crate::api::Installation;
use crate::api::installation::SubmittedValue;
use crate::contract::contracts::Contracts;
use crate::materialize::pins::ArtifactPins;
use crate::resolution::accept::AcceptedRecord;
use crate::resolution::context::Context;

/// What is selected for.
pub struct Request<'a> {
    /// The Installation.
    pub installation: &'a Installation,
    /// What it asks for.
    pub intent: Intent,
    /// How issuers outside know it.
    pub id: &'a str,
    /// The newest version and its accepted record.
    pub current: Option<&'a (Version, AcceptedRecord)>,
    /// The version whose selections hold where it names no other.
    pub start: &'a Start,
    /// Its blueprint, as far as it had to be fetched to know the item.
    pub delivery: Delivery,
}

impl Shell {
    /// Selects everything for `request` but credentials: what the version that it starts from pinned where the spec asks
    /// for no other, what is current where it does.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn plan(
        &self,
        request: Request<'_>,
        reader: &Reader,
        findings: &mut Findings,
    ) -> Result<Option<Plan>, Failure> {
        let Request {
            installation,
            intent,
            id,
            current,
            start,
            delivery,
        } = request;
        let namespace = installation.namespace().unwrap_or_default();
        let target = start.target();
        // An explicit update selects everything current again: nothing is pinned for it but addresses and credentials.
        let pinned = start
            .version(current)
            .filter(|(version, _)| target.is_some() || version.intent.update == intent.update);
        let same = pinned.filter(|(version, _)| {
            target.is_some() || version.intent.blueprint == intent.blueprint
        });
        let (contracts, artifact) = match same {
            Some((version, accepted)) => (
                Some(accepted.contracts().clone()),
                version.pins.artifact.clone(),
            ),
            None => {
                let (item, artifact) = match delivery.artifact {
                    Some(artifact) => {
                        let pins = ArtifactPins {
                            digest: artifact.digest,
                            item: delivery.item,
                        };
                        (Some(artifact.item), Some(pins))
                    }
                    None => {
                        let source = &installation.spec.blueprint;
                        (reader.acquire_item(source, findings).await?, None)
                    }
                };
                let published = pinned.map(|(_, accepted)| published::pinned(accepted.contracts()));
                let contracts = match item {
                    Some(item) => {
                        reader
                            .validate(&item, published.unwrap_or_default(), findings)
                            .await?
                    }
                    None => None,
                };
                (contracts, artifact)
            }
        };
        let Some(contracts) = contracts else {
            return Ok(None);
        };
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
        // Whatever a version chose of its own comes with its selections.
        let chosen = target.map_or(&intent, |(version, _)| &version.intent);
        let selected_before = current.map(|(version, _)| version.snapshot.variables().clone());
        let variables = reader
            .acquire_variables(
                &contracts,
                |path| pinned?.0.snapshot.variables().get(path).cloned(),
                &selected_before.unwrap_or_default(),
                findings,
            )
            .await?;
        let connections_of =
            |(version, _): &(Version, AcceptedRecord)| version.snapshot.connections();
        let connected = pinned.map(connections_of).unwrap_or_default();
        let connected_before = current.map(connections_of).unwrap_or_default();
        let connections = reader
            .acquire_connections(
                &contracts,
                id,
                &chosen.connections,
                |request| {
                    let choice = pinned?.0.intent.connections.get(request.parameter);
                    let selection = connected.get(request.parameter)?;
                    let is_same =
                        choice == request.choice && selection.source.reference == request.from;
                    is_same.then(|| selection.clone())
                },
                &connected_before,
                findings,
            )
            .await?;
        let profile =
            |slug: &str| pinned.and_then(|(version, _)| version.pins.profiles.get(slug).cloned());
        let profiles = reader
            .acquire_profiles(&contracts, profile, findings)
            .await?;
        placement::check(&contracts, &profiles, findings);
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
                &self.registries.client(&platform.registries, keyring),
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
        let addresses = reader.acquire_addresses(installation, &contracts).await?;
        let domains = platform.edge.as_ref().map(|edge| &*edge.domains);
        let allocator = Allocator {
            installation: &intent.installation,
            namespace: &namespace,
            cluster_domain: &platform.cluster_domain,
            edge: offered.edge.as_ref(),
            domains: domains.unwrap_or_default(),
            chosen: &chosen.hostnames,
            addresses: &addresses,
            before: &before,
            kept: pinned.map(|(version, _)| &version.intent.hostnames),
            given: &Allocations::new(),
        };
        let allocations = allocator.allocate(&contracts, findings);
        self.note_hostnames(reader, &allocations);
        self.check_hostnames(installation, &allocations, findings)
            .await?;
        let withheld = asked.keys().filter(|name| !parameters.contains_key(*name));
        let context = Context {
            installation: id.to_owned(),
            withheld: withheld
                .cloned()
                .chain(variables.withheld)
                .chain(connections.withheld)
                .collect(),
            parameters,
            variables: variables.variables,
            connections: connections.answers,
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
            artifact,
        }))
    }
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
