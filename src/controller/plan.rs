//! The plan: what a spec resolves to, before and after its credentials exist. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::DynamicObject;

use super::claim::Claim;
use super::credentials::Wanted;
use super::history::{History, Version};
use super::intent::Intent;
use crate::acquire::selection::Selections;
use crate::acquire::{Document, Findings, address, allocation};
use crate::api::profile::ProfileVersion;
use crate::contract::blueprint::parameter::Supply;
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic};
use crate::document::pointer::Pointer;
use crate::materialize::metadata::Owner;
use crate::materialize::pins::{ArtifactPins, Pins, PlatformPins};
use crate::materialize::{RENDERER_VERSION, awaited};
use crate::resolution::accept::AcceptedRecord;
use crate::resolution::context::{Context, Credential};
use crate::resolution::record::{Record, record};
use crate::resolution::resolve;
use crate::resolution::resolved::EnvironmentValue;
use crate::resolution::snapshot::Snapshot;

/// Everything selected for one spec but its credentials.
pub struct Plan {
    /// What was asked.
    pub intent: Intent,
    /// The blueprint and its components.
    pub contracts: Arc<Contracts>,
    /// Submitted values and allocations.
    pub context: Context,
    /// The selected version of each compute profile.
    pub profiles: BTreeMap<String, ProfileVersion>,
    /// What is pinned of each running node.
    pub selections: Selections,
    /// What of the platform it is made with.
    pub platform: PlatformPins,
    /// The pull secrets of its pods.
    pub image_pull_secrets: Vec<String>,
    /// The OCI artifact that the item came from.
    pub artifact: Option<ArtifactPins>,
}

impl Plan {
    /// The generated credentials that the blueprint binds.
    pub fn credentials(&self) -> Vec<Wanted> {
        let parameters = &self.contracts.blueprint.spec.parameters;
        parameters
            .iter()
            .filter_map(|(name, parameter)| match parameter.supply() {
                Supply::Generated(generator) => Some(Wanted {
                    parameter: name.clone(),
                    generation: self.intent.generation(name),
                    generator,
                }),
                _ => None,
            })
            .collect()
    }

    /// Adds to `findings` whatever stands in the way apart from credentials that do not exist yet. Nothing is generated
    /// for a plan that is INVALID or INCOMPLETE.
    pub fn check(&self, known: BTreeMap<String, Credential>, findings: &mut Findings) {
        let mut context = self.context.clone();
        context.credentials = known;
        let mut result = resolve(&self.contracts, &context).result;
        result
            .deferred
            .retain(|deferred| !deferred.missing.starts_with("credential:"));
        findings.absorb(result);
    }

    /// Whether nothing but addresses that load balancers give is missing, as `findings` and a resolution with such addresses
    /// say: only then are they asked for.
    pub fn awaits_addresses_alone(
        &self,
        known: BTreeMap<String, Credential>,
        findings: &Findings,
    ) -> bool {
        let mut context = self.context.clone();
        context.credentials = known;
        context.allocations = allocation::supposed(&self.contracts, &context.allocations);
        let result = resolve(&self.contracts, &context).result;
        let mut deferred = result.deferred.iter();
        allocation::awaits_addresses_alone(findings)
            && result.diagnostics.is_empty()
            && deferred.all(|deferred| deferred.missing.starts_with("credential:"))
    }

    /// The Services whose addresses are awaited, without anything behind them.
    pub fn awaited(&self, owner: &Owner) -> Vec<DynamicObject> {
        let balancer = self
            .platform
            .edge
            .as_ref()
            .and_then(|edge| edge.load_balancer.as_ref());
        let Some(balancer) = balancer else {
            return Vec::new();
        };
        let slug = &self.contracts.blueprint.metadata.slug;
        let lacks = |node: &str, name: &str| {
            let evidence = self
                .context
                .allocations
                .get(node)
                .and_then(|node| node.get(name));
            evidence.is_some_and(|evidence| evidence.get("public").is_none())
        };
        address::public(&self.contracts)
            .filter(|(node, name, _)| lacks(node, name))
            .map(|(node, name, endpoint)| awaited(node, slug, (name, endpoint), balancer, owner))
            .collect()
    }

    /// The next version of the installation, with `credentials` in place; or what stands in its way.
    pub fn resolve(
        self,
        credentials: BTreeMap<String, Credential>,
        claim: &Claim,
        history: &History,
        current: Option<&(Version, AcceptedRecord)>,
        findings: &mut Findings,
    ) -> Option<Version> {
        let Self {
            intent,
            contracts,
            mut context,
            profiles,
            selections,
            platform,
            image_pull_secrets,
            artifact,
        } = self;
        context.credentials = credentials;
        let resolution = resolve(&contracts, &context);
        findings.absorb(resolution.result);
        let resolved = resolution.resolved?;
        let number = history.next();
        let environments = resolved.environment.iter().map(|(node, environment)| {
            let before = current.and_then(|(version, accepted)| {
                let same = same_text(accepted.resolved().environment.get(node)?, environment);
                same.then(|| version.pins.environments.get(node).copied())
                    .flatten()
            });
            (node.clone(), before.unwrap_or(number))
        });
        let pins = Pins {
            renderer_version: RENDERER_VERSION,
            profiles,
            environments: environments.collect(),
            platform,
            images: selections.images,
            image_pull_secrets,
            artifact,
        };
        let snapshot = Snapshot::of(&claim.id, number.to_string(), &context);
        let record = record(&contracts, &selections.recorded, &snapshot);
        Some(Version {
            number,
            snapshot,
            pins,
            intent,
            record,
        })
    }
}

/// Adds to `findings` every volume that `contracts` would make smaller than `record` has it: data does not shrink.
pub fn refuse_shrinking(record: &Record, contracts: &Contracts, findings: &mut Findings) {
    for (name, node) in &contracts.blueprint.spec.components {
        let Some(recorded) = record.components.get(name) else {
            continue;
        };
        for (volume, allocation) in &node.volumes {
            let Some(before) = recorded.volumes.get(volume) else {
                continue;
            };
            if allocation.size_gib < before.size_gib {
                let path = Pointer::of(["spec", "components", name, "volumes", volume, "sizeGiB"]);
                let message = format!(
                    "volume `{volume}` has {} GiB and cannot be made smaller; set `sizeGiB` to {} or more",
                    before.size_gib, before.size_gib
                );
                findings.wrong(
                    Document::Blueprint,
                    Diagnostic::semantic(Code::InvalidVolumeAllocation, path, message),
                );
            }
        }
    }
}

/// Whether two environments hand the same texts to a Secret; constants stand in the pod itself.
fn same_text(
    left: &BTreeMap<String, EnvironmentValue>,
    right: &BTreeMap<String, EnvironmentValue>,
) -> bool {
    let texts =
        |environment: &BTreeMap<String, EnvironmentValue>| -> Vec<(String, EnvironmentValue)> {
            let inputs = environment.iter().filter(|(_, value)| !value.constant);
            inputs
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        };
    let (left, right) = (texts(left), texts(right));
    left.len() == right.len()
        && left
            .iter()
            .zip(&right)
            .all(|(left, right)| left.0 == right.0 && left.1.text == right.1.text)
}
