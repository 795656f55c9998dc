//! The lists of status: findings, endpoints, and how long a list may be.

use std::collections::BTreeSet;

use crate::acquire::{Document, Findings, Missing};
use crate::api::status::{
    ConnectionStatus, EndpointStatus, InstallationStatus, LIST_LIMIT, StatusDeferred,
    StatusDiagnostic, StatusRelated, Totals,
};
use crate::contract::component::endpoint::Property;
use crate::document::diagnostic::Diagnostic;
use crate::resolution::accept::AcceptedRecord;
use crate::resolution::address;
use crate::resolution::context::{Allocation, PublicFacts};

/// The endpoints of the record. A host name that is not among `held` leads nowhere and is not told.
pub(super) fn endpoints(
    accepted: &AcceptedRecord,
    held: Option<&BTreeSet<String>>,
) -> Vec<EndpointStatus> {
    let contracts = accepted.contracts();
    let mut endpoints = Vec::new();
    for (node, contract) in &contracts.components {
        for (name, endpoint) in contract
            .component
            .spec
            .workload
            .iter()
            .flat_map(|running| &running.endpoints)
        {
            let evidence = accepted
                .snapshot()
                .allocations()
                .get(node)
                .and_then(|endpoints| endpoints.get(name));
            let mut allocation = evidence
                .and_then(|evidence| serde_json::from_value::<Allocation>(evidence.clone()).ok());
            if let (Some(allocation), Some(held)) = (&mut allocation, held) {
                let is_held = |facts: &PublicFacts| {
                    let hostname = facts.hostname.as_ref();
                    // What a load balancer gave is claimed by nobody.
                    facts.scheme.is_none() || hostname.is_some_and(|name| held.contains(name))
                };
                allocation.public = allocation.public.take().filter(is_held);
            }
            let read = |property| {
                let value = address(property, endpoint, allocation.as_ref())?;
                value.as_str().map(str::to_owned)
            };
            endpoints.push(EndpointStatus {
                node: node.clone(),
                endpoint: name.clone(),
                protocol: endpoint.protocol.to_string(),
                private_address: read(Property::PrivateAddress),
                public_address: read(Property::PublicUrl).or_else(|| read(Property::PublicAddress)),
            });
        }
    }
    endpoints
}

/// The connection of each parameter that has one; never its credential.
pub(super) fn connections(accepted: &AcceptedRecord) -> Vec<ConnectionStatus> {
    let selected = accepted.snapshot().connections().into_iter();
    selected
        .map(|(parameter, selection)| ConnectionStatus {
            parameter,
            identity: selection.identity,
            version: selection.version,
            kind: selection.kind.to_string(),
            cost_owner: selection.cost_owner,
        })
        .collect()
}

/// The first finding, and how many more there are.
pub(super) fn first(findings: &Findings) -> String {
    let all: Vec<String> = if findings.diagnostics.is_empty() {
        findings
            .missing
            .iter()
            .map(|missing| missing.remedy.clone())
            .collect()
    } else {
        let text = |(_, found): &(Document, Diagnostic)| {
            format!(
                "{} at {:?}: {}",
                found.code,
                found.path.as_str(),
                found.message
            )
        };
        findings.diagnostics.iter().map(text).collect()
    };
    match all.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}

fn document(document: Document) -> Option<String> {
    (document == Document::Installation).then(|| "Installation".to_owned())
}

pub(super) fn diagnostic((place, found): &(Document, Diagnostic)) -> StatusDiagnostic {
    StatusDiagnostic {
        code: found.code.to_string(),
        path: found.path.to_string(),
        phase: found.phase.to_string(),
        stage: found.stage.map(|stage| stage.to_string()),
        message: found.message.clone(),
        document: document(*place),
        related: found
            .related
            .iter()
            .map(|related| StatusRelated {
                artifact: related.artifact.clone(),
                path: related.path.to_string(),
            })
            .collect(),
    }
}

pub(super) fn deferred(missing: &Missing) -> StatusDeferred {
    StatusDeferred {
        rule: missing.deferred.rule.to_string(),
        path: missing.deferred.path.to_string(),
        missing: missing.deferred.missing.clone(),
        message: Some(missing.remedy.clone()),
        document: document(missing.document),
    }
}

/// Cuts every list to its limit, and says how long they were if any was cut.
pub(super) fn cut(status: &mut InstallationStatus) {
    let totals = Totals {
        diagnostics: length(&status.diagnostics),
        deferred: length(&status.deferred),
        nodes: length(&status.nodes),
        endpoints: length(&status.endpoints),
        credentials: length(&status.credentials),
        connections: length(&status.connections),
        inventory: length(&status.inventory),
    };
    let longest = [
        totals.diagnostics,
        totals.deferred,
        totals.nodes,
        totals.endpoints,
        totals.credentials,
        totals.connections,
        totals.inventory,
    ];
    if longest.into_iter().any(|length| length > LIST_LIMIT as i64) {
        status.diagnostics.truncate(LIST_LIMIT);
        status.deferred.truncate(LIST_LIMIT);
        status.nodes.truncate(LIST_LIMIT);
        status.endpoints.truncate(LIST_LIMIT);
        status.credentials.truncate(LIST_LIMIT);
        status.connections.truncate(LIST_LIMIT);
        status.inventory.truncate(LIST_LIMIT);
        status.totals = Some(totals);
    }
}

fn length<T>(list: &[T]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
