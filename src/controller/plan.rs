//! The plan: what a spec resolves to, before and after its credentials exist. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::DynamicObject;

use super::claim::Claim;
use super::credentials::{Wanted, is_made_as};
use super::history::{History, Version};
use super::intent::Intent;
use crate::acquire::selection::Selections;
use crate::acquire::{Document, Findings, address, allocation};
use crate::api::profile::ProfileVersion;
use crate::contract::blueprint::parameter::Supply;
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
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
    /// The generated credentials that the blueprint binds. A generation never falls: what a new object of the same
    /// identity, or a rollback, does not ask for stays rotated. The first one of a renamed parameter takes over the
    /// credential of its former name, where there is one.
    pub fn credentials(&self, history: &History) -> Vec<Wanted> {
        let parameters = &self.contracts.blueprint.spec.parameters;
        parameters
            .iter()
            .filter_map(|(name, parameter)| match parameter.supply() {
                Supply::Generated(generator) => Some(Wanted {
                    parameter: name.clone(),
                    generation: history
                        .newest(name)
                        .unwrap_or_default()
                        .max(self.intent.generation(name)),
                    generator,
                    carried: self.carried(name, history),
                }),
                _ => None,
            })
            .collect()
    }

    /// The generation that the first credential of `parameter` takes over.
    fn carried(&self, parameter: &str, history: &History) -> Option<(String, u64)> {
        let former = &self.intent.migrate.get(parameter)?.credential_of;
        if history.newest(parameter).is_some() {
            return None;
        }
        let named = history.latest()?.snapshot.credentials().get(former);
        let generation = named.map(|reference| reference.rotation);
        Some((former.clone(), generation.or(history.newest(former))?))
    }

    /// Adds to `findings` every credential that is to be taken over and is not of the format that its new name asks for.
    fn check_carried(&self, history: &History, findings: &mut Findings) {
        for wanted in self.credentials(history) {
            let Some(from) = wanted.carried else { continue };
            let found = history.credentials.get(&from);
            if found.is_some_and(|found| !is_made_as(found, wanted.generator)) {
                let (parameter, former) = (&wanted.parameter, &from.0);
                let diagnostic = Diagnostic::resolution(
                    Stage::Parameters,
                    Code::InvalidResolutionContext,
                    Pointer::of(["spec", "migrate", parameter, "credentialOf"]),
                    format!(
                        "the credential of {former} is not of the format that {parameter} asks for: let its generator be that of {former}, or take spec.migrate.{parameter} away and a new credential is made"
                    ),
                );
                findings.wrong(Document::Installation, diagnostic);
            }
        }
    }

    /// Adds to `findings` whatever stands in the way apart from credentials that do not exist yet. Nothing is generated
    /// for a plan that is INVALID or INCOMPLETE.
    pub fn check(
        &self,
        known: BTreeMap<String, Credential>,
        history: &History,
        findings: &mut Findings,
    ) {
        self.check_carried(history, findings);
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
/// `target` is the version that is rolled back to, if they are its.
pub fn refuse_shrinking(
    record: &Record,
    contracts: &Contracts,
    target: Option<u64>,
    findings: &mut Findings,
) {
    for (name, node) in &contracts.blueprint.spec.components {
        let Some(recorded) = record.components.get(name) else {
            continue;
        };
        for (volume, allocation) in &node.volumes {
            let Some(before) = recorded.volumes.get(volume) else {
                continue;
            };
            if allocation.size_gib < before.size_gib {
                let now = before.size_gib;
                let (document, path, remedy) = match target {
                    None => (
                        Document::Blueprint,
                        Pointer::of(["spec", "components", name, "volumes", volume, "sizeGiB"]),
                        format!("set `sizeGiB` to {now} or more"),
                    ),
                    Some(number) => (
                        Document::Installation,
                        Pointer::of(["spec", "rollback", "record"]),
                        format!(
                            "version {number} has {} GiB for it: go back to a version from after it grew, or take spec.rollback away",
                            allocation.size_gib
                        ),
                    ),
                };
                let message = format!(
                    "volume `{volume}` of node {name} has {now} GiB and cannot be made smaller; {remedy}"
                );
                findings.wrong(
                    document,
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
