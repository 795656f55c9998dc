//! Status as a pure function of what a pass learned. There is one way to it, on every exit; a transition time moves only
//! when the condition's status does.

mod conditions;
mod lists;
mod nodes;
#[cfg(test)]
mod tests;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use self::conditions::{FALSE, UNKNOWN, conditions, dress, verdict};
use self::lists::{connections as selected, cut, deferred, diagnostic, endpoints, number};
use self::nodes::nodes;
use super::failure::Failure;
use super::reconcile::Pass;
use crate::api::condition::ConditionType;
use crate::api::names;
use crate::api::reason::Reason;
use crate::api::status::{
    BlueprintStatus, CredentialStatus, InstallationStatus, RecordStatus, SnapshotStatus,
};

/// What a status speaks of.
pub struct Subject<'a> {
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.generation`.
    pub generation: i64,
    /// The effective identity.
    pub identity: &'a str,
    /// The status before.
    pub previous: Option<&'a InstallationStatus>,
    /// Now, for conditions that change.
    pub now: Time,
}

/// The status of an Installation after `pass`, which `failure` may have stopped.
pub fn derive(subject: &Subject, pass: &Pass, failure: Option<&Failure>) -> InstallationStatus {
    let nodes = nodes(subject, pass);
    let conditions = conditions(pass, failure, &nodes);
    let mut status = InstallationStatus {
        observed_generation: subject.generation,
        identity: Some(subject.identity.to_owned()),
        conditions: dress(subject, conditions),
        nodes,
        ..InstallationStatus::default()
    };
    if let Some(findings) = &pass.findings {
        status.resolution = Some(findings.status().to_string());
        status.diagnostics = findings.diagnostics.iter().map(diagnostic).collect();
        status.deferred = findings.missing.iter().map(deferred).collect();
    }
    if let Some((version, accepted)) = &pass.current {
        let record = accepted.record();
        let blueprint = &accepted.contracts().blueprint.metadata;
        status.record = Some(RecordStatus {
            name: names::record(subject.identity, version.number),
            version: number(version.number),
        });
        status.snapshot = Some(SnapshotStatus {
            identity: record.installation_snapshot.identity.clone(),
            version: record.installation_snapshot.version.clone(),
        });
        status.blueprint = Some(BlueprintStatus {
            slug: blueprint.slug.clone(),
            revision: number(blueprint.revision),
            digest: record.blueprint_digest.to_string(),
            artifact: version.artifact(),
        });
        status.credentials = record
            .credentials
            .iter()
            .map(|(parameter, reference)| CredentialStatus {
                parameter: parameter.clone(),
                identity: reference.identity.clone(),
                generation: number(reference.rotation),
            })
            .collect();
        status.endpoints = endpoints(accepted, pass.hostnames.as_ref());
        status.connections = selected(accepted);
    }
    if !pass.looked_back
        && let Some(previous) = subject.previous.cloned()
    {
        // The pass ended before it could look at the history: what was told of it stands.
        status = InstallationStatus {
            record: previous.record,
            snapshot: previous.snapshot,
            blueprint: previous.blueprint,
            nodes: previous.nodes,
            jobs: previous.jobs,
            endpoints: previous.endpoints,
            credentials: previous.credentials,
            connections: previous.connections,
            inventory: previous.inventory,
            ..status
        };
    }
    if let Some(applied) = &pass.applied {
        status.inventory = applied.inventory.clone();
        status.jobs = applied.jobs.clone();
    } else if pass.current.is_some() {
        // Not applied in this pass, which says nothing about what was applied before.
        let previous = subject.previous.cloned().unwrap_or_default();
        status.inventory = previous.inventory;
        status.jobs = previous.jobs;
    }
    cut(&mut status);
    status
}

/// The status of a suspended Installation: as it was, except that nobody knows whether it still is.
pub fn derive_suspended(subject: &Subject) -> InstallationStatus {
    let mut status = subject.previous.cloned().unwrap_or_default();
    let message =
        "spec.suspend is true: the operator neither acts nor looks; set it to false to go on";
    let conditions = vec![
        (
            ConditionType::Ready,
            verdict(UNKNOWN, Reason::Suspended, message),
        ),
        (
            ConditionType::Reconciling,
            verdict(FALSE, Reason::Suspended, message),
        ),
        (
            ConditionType::Stalled,
            verdict(FALSE, Reason::Suspended, message),
        ),
        (
            ConditionType::Available,
            verdict(UNKNOWN, Reason::Suspended, message),
        ),
    ];
    let rest = status
        .conditions
        .iter()
        .filter(|old| conditions.iter().all(|(new, _)| new.as_ref() != old.type_));
    let rest: Vec<Condition> = rest.cloned().collect();
    status.conditions = dress(subject, conditions);
    status.conditions.extend(rest);
    status.observed_generation = subject.generation;
    status.identity = Some(subject.identity.to_owned());
    status
}
