//! Status as a pure function of what a pass learned. There is one way to it, on every exit; a transition time moves only
//! when the condition's status does.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::apply::is_settled;
use super::failure::{Failure, Retry};
use super::reconcile::Pass;
use crate::acquire::{Document, Findings, Missing};
use crate::api::condition::ConditionType;
use crate::api::names;
use crate::api::reason::Reason;
use crate::api::status::{
    BlueprintStatus, CredentialStatus, EndpointStatus, InstallationStatus, LIST_LIMIT, NodeStatus,
    RecordStatus, SnapshotStatus, StatusDeferred, StatusDiagnostic, StatusRelated, Totals,
};
use crate::document::diagnostic::Diagnostic;
use crate::document::result::Status;
use crate::resolution::accept::AcceptedRecord;
use crate::resolution::context::Allocation;

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

/// One condition before it has times.
struct Verdict {
    status: &'static str,
    reason: Reason,
    message: String,
}

fn verdict(status: &'static str, reason: Reason, message: impl Into<String>) -> Verdict {
    Verdict {
        status,
        reason,
        message: message.into(),
    }
}

const TRUE: &str = "True";
const FALSE: &str = "False";
const UNKNOWN: &str = "Unknown";

/// The status of an Installation after `pass`, which `failure` may have stopped.
pub fn derive(subject: &Subject, pass: &Pass, failure: Option<&Failure>) -> InstallationStatus {
    let nodes = nodes(subject.name, pass);
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
        status.endpoints = endpoints(accepted);
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
            endpoints: previous.endpoints,
            credentials: previous.credentials,
            inventory: previous.inventory,
            ..status
        };
    }
    if let Some(applied) = &pass.applied {
        status.inventory = applied.inventory.clone();
    } else if pass.current.is_some() {
        // Not applied in this pass, which says nothing about what was applied before.
        status.inventory = subject
            .previous
            .map(|previous| previous.inventory.clone())
            .unwrap_or_default();
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

/// Every condition, in a fixed order.
fn conditions(
    pass: &Pass,
    failure: Option<&Failure>,
    nodes: &[NodeStatus],
) -> Vec<(ConditionType, Verdict)> {
    let resolved = resolved(pass);
    let available = if pass.looked_back {
        available(pass, nodes)
    } else {
        unseen(failure)
    };
    let (ready, reconciling, stalled) = match failure {
        Some(failure) => failed(failure),
        None => progress(pass, nodes, &resolved),
    };
    let materialized = match (&pass.applied, &pass.current) {
        (Some(_), _) => verdict(
            TRUE,
            Reason::Applied,
            "every object of the record is applied",
        ),
        (None, Some(_)) => verdict(
            UNKNOWN,
            Reason::Progressing,
            "the record is not applied yet",
        ),
        (None, None) if !pass.looked_back => unseen(failure),
        (None, None) => verdict(
            FALSE,
            Reason::NoRecord,
            "there is no record, so nothing is applied",
        ),
    };
    let update = if pass.updates.is_empty() {
        verdict(FALSE, Reason::UpToDate, "nothing pinned has changed")
    } else {
        let message = format!(
            "changed outside: {}. Change spec.update.token to select it",
            pass.updates.join(", ")
        );
        verdict(TRUE, Reason::PinnedChanged, message)
    };
    vec![
        (ConditionType::Ready, ready),
        (ConditionType::Reconciling, reconciling),
        (ConditionType::Stalled, stalled),
        (ConditionType::Resolved, resolved),
        (ConditionType::Materialized, materialized),
        (ConditionType::Available, available),
        (ConditionType::UpdateAvailable, update),
    ]
}

/// What can be said of the record by a pass that ended before it knew it.
fn unseen(failure: Option<&Failure>) -> Verdict {
    verdict(
        UNKNOWN,
        failure.map_or(Reason::Progressing, Failure::reason),
        "what runs has not been touched and not been looked at: see the condition Ready",
    )
}

fn resolved(pass: &Pass) -> Verdict {
    match pass
        .findings
        .as_ref()
        .map(|findings| (findings.status(), findings))
    {
        Some((Status::Invalid, findings)) => verdict(FALSE, Reason::Invalid, first(findings)),
        Some((Status::Incomplete, findings)) => {
            verdict(UNKNOWN, Reason::Incomplete, first(findings))
        }
        Some((Status::Valid, _)) if pass.is_current => verdict(
            TRUE,
            Reason::Accepted,
            "the spec is resolved and its record accepted",
        ),
        _ => verdict(
            UNKNOWN,
            Reason::Progressing,
            "the spec has not been resolved yet",
        ),
    }
}

/// Ready, Reconciling and Stalled of a pass that a failure stopped.
fn failed(failure: &Failure) -> (Verdict, Verdict, Verdict) {
    let (reason, message) = (failure.reason(), failure.to_string());
    match failure.retry() {
        Retry::OnChange => (
            verdict(FALSE, reason, &message),
            verdict(FALSE, reason, &message),
            verdict(TRUE, reason, &message),
        ),
        Retry::Backoff => (
            verdict(UNKNOWN, reason, &message),
            verdict(TRUE, reason, &message),
            verdict(
                FALSE,
                Reason::Progressing,
                "the operator tries again by itself",
            ),
        ),
    }
}

/// Ready, Reconciling and Stalled of a pass that went through.
fn progress(pass: &Pass, nodes: &[NodeStatus], resolved: &Verdict) -> (Verdict, Verdict, Verdict) {
    let idle = || verdict(FALSE, Reason::Idle, "nothing is under way");
    let moving = |message: &str| verdict(FALSE, Reason::Progressing, message);
    match resolved.reason {
        Reason::Invalid => (
            verdict(FALSE, Reason::Invalid, &resolved.message),
            verdict(
                FALSE,
                Reason::Invalid,
                "nothing happens until the input is mended",
            ),
            verdict(TRUE, Reason::Invalid, &resolved.message),
        ),
        Reason::Incomplete => (
            verdict(UNKNOWN, Reason::Incomplete, &resolved.message),
            verdict(TRUE, Reason::Incomplete, &resolved.message),
            moving("waiting for what status.deferred names"),
        ),
        Reason::Accepted if pass.applied.is_some() => match unready(nodes) {
            None => (
                verdict(TRUE, Reason::Ready, "every node is ready"),
                idle(),
                idle(),
            ),
            Some((failing, message)) => {
                let status = if failing { FALSE } else { UNKNOWN };
                let reason = if failing {
                    Reason::NodesNotReady
                } else {
                    Reason::Progressing
                };
                (
                    verdict(status, reason, &message),
                    verdict(TRUE, reason, &message),
                    moving("the nodes are still coming up"),
                )
            }
        },
        _ => {
            let message = "the record is being resolved and applied";
            (
                verdict(UNKNOWN, Reason::Progressing, message),
                verdict(TRUE, Reason::Progressing, message),
                moving("work is under way"),
            )
        }
    }
}

fn available(pass: &Pass, nodes: &[NodeStatus]) -> Verdict {
    match (&pass.applied, &pass.current) {
        (_, None) => verdict(
            FALSE,
            Reason::NoRecord,
            "there is no record, so nothing serves",
        ),
        (None, Some(_)) => verdict(
            UNKNOWN,
            Reason::Progressing,
            "the workloads have not been looked at yet",
        ),
        (Some(applied), Some(_)) => {
            let serves = |node: &&NodeStatus| {
                node.state == READY || is_available(&applied.deployments, node.workload.as_deref())
            };
            let down: Vec<&str> = nodes
                .iter()
                .filter(|node| !serves(node))
                .map(|node| node.name.as_str())
                .collect();
            if down.is_empty() {
                verdict(TRUE, Reason::Serving, "every node serves")
            } else {
                let message = format!("not serving: {}", down.join(", "));
                verdict(FALSE, Reason::NodesNotReady, message)
            }
        }
    }
}

/// Whether the Deployment `workload` has the pods that it needs, of whichever template.
fn is_available(deployments: &BTreeMap<String, Deployment>, workload: Option<&str>) -> bool {
    workload
        .and_then(|workload| deployments.get(workload.strip_prefix("Deployment/")?))
        .and_then(|deployment| deployment.status.as_ref())
        .into_iter()
        .flat_map(|status| status.conditions.iter().flatten())
        .any(|condition| condition.type_ == "Available" && condition.status == TRUE)
}

/// The nodes that are not ready, in words, and whether one of them is failing.
fn unready(nodes: &[NodeStatus]) -> Option<(bool, String)> {
    let unready: Vec<&NodeStatus> = nodes.iter().filter(|node| node.state != READY).collect();
    let describe = |node: &&NodeStatus| match &node.message {
        Some(message) => format!("{}: {message}", node.name),
        None => node.name.clone(),
    };
    let names: Vec<String> = unready.iter().take(5).map(describe).collect();
    let failing = unready.iter().any(|node| node.state == FAILING);
    (!unready.is_empty()).then(|| {
        (
            failing,
            format!(
                "{} of {} nodes not ready: {}",
                unready.len(),
                nodes.len(),
                names.join("; ")
            ),
        )
    })
}

const READY: &str = "Ready";
const PROGRESSING: &str = "Progressing";
const FAILING: &str = "Failing";

fn nodes(installation: &str, pass: &Pass) -> Vec<NodeStatus> {
    let (Some((_, accepted)), Some(applied)) = (&pass.current, &pass.applied) else {
        return Vec::new();
    };
    let contracts = accepted.contracts();
    let of_node = |name: &String| {
        let component = contracts.component(name);
        let r#type = component.spec.r#type.to_string();
        if component.spec.workload.is_none() {
            return NodeStatus {
                name: name.clone(),
                r#type,
                workload: None,
                state: READY.to_owned(),
                message: None,
            };
        }
        let workload = names::workload(installation, name);
        let (state, message) = observe(&applied.deployments, &workload);
        NodeStatus {
            name: name.clone(),
            r#type,
            workload: Some(format!("Deployment/{workload}")),
            state: state.to_owned(),
            message,
        }
    };
    contracts.components.keys().map(of_node).collect()
}

/// How a Deployment stands, in one word, and why it is not ready.
fn observe(
    deployments: &BTreeMap<String, Deployment>,
    name: &str,
) -> (&'static str, Option<String>) {
    let Some(deployment) = deployments.get(name) else {
        return (
            PROGRESSING,
            Some(format!("Deployment {name} is not there yet")),
        );
    };
    if is_settled(deployment) {
        return (READY, None);
    }
    let conditions = deployment
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    let trouble = conditions.iter().find(|condition| {
        (condition.type_ == "Progressing" && condition.status == FALSE)
            || (condition.type_ == "ReplicaFailure" && condition.status == TRUE)
    });
    match trouble.and_then(|condition| condition.message.clone()) {
        Some(message) => (FAILING, Some(message)),
        None => (
            PROGRESSING,
            Some(format!("waiting for Deployment {name} to become available")),
        ),
    }
}

fn endpoints(accepted: &AcceptedRecord) -> Vec<EndpointStatus> {
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
            let host = evidence
                .and_then(|evidence| serde_json::from_value::<Allocation>(evidence.clone()).ok())
                .and_then(|allocation| allocation.private_hostname);
            endpoints.push(EndpointStatus {
                node: node.clone(),
                endpoint: name.clone(),
                protocol: endpoint.protocol.to_string(),
                private_address: host.map(|host| format!("{host}:{}", endpoint.target_port)),
            });
        }
    }
    endpoints
}

/// The first finding, and how many more there are.
fn first(findings: &Findings) -> String {
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

fn diagnostic((place, found): &(Document, Diagnostic)) -> StatusDiagnostic {
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

fn deferred(missing: &Missing) -> StatusDeferred {
    StatusDeferred {
        rule: missing.deferred.rule.to_string(),
        path: missing.deferred.path.to_string(),
        missing: missing.deferred.missing.clone(),
        message: Some(missing.remedy.clone()),
        document: document(missing.document),
    }
}

/// Cuts every list to its limit, and says how long they were if any was cut.
fn cut(status: &mut InstallationStatus) {
    let totals = Totals {
        diagnostics: length(&status.diagnostics),
        deferred: length(&status.deferred),
        nodes: length(&status.nodes),
        endpoints: length(&status.endpoints),
        credentials: length(&status.credentials),
        inventory: length(&status.inventory),
    };
    let longest = [
        totals.diagnostics,
        totals.deferred,
        totals.nodes,
        totals.endpoints,
        totals.credentials,
        totals.inventory,
    ];
    if longest.into_iter().any(|length| length > LIST_LIMIT as i64) {
        status.diagnostics.truncate(LIST_LIMIT);
        status.deferred.truncate(LIST_LIMIT);
        status.nodes.truncate(LIST_LIMIT);
        status.endpoints.truncate(LIST_LIMIT);
        status.credentials.truncate(LIST_LIMIT);
        status.inventory.truncate(LIST_LIMIT);
        status.totals = Some(totals);
    }
}

fn length<T>(list: &[T]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Gives each condition its generation and its transition time, which is the old one where the status did not change.
fn dress(subject: &Subject, conditions: Vec<(ConditionType, Verdict)>) -> Vec<Condition> {
    let before = |of: &str| {
        let old = subject
            .previous
            .and_then(|previous| previous.conditions.iter().find(|old| old.type_ == of));
        old.cloned()
    };
    conditions
        .into_iter()
        .map(
            |(
                of,
                Verdict {
                    status,
                    reason,
                    message,
                },
            )| Condition {
                type_: of.to_string(),
                status: status.to_owned(),
                reason: reason.to_string(),
                message: limit(message),
                observed_generation: Some(subject.generation),
                last_transition_time: match before(of.as_ref()) {
                    Some(old) if old.status == status => old.last_transition_time,
                    _ => subject.now.clone(),
                },
            },
        )
        .collect()
}

/// A condition's message holds 32 KiB at most; a person reads far less.
fn limit(message: String) -> String {
    if message.chars().count() <= 2000 {
        message
    } else {
        message.chars().take(2000).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::document::pointer::Pointer;

    fn at(seconds: i64) -> Time {
        Time(Timestamp::from_second(seconds).expect("a time"))
    }

    fn of(
        pass: &Pass,
        failure: Option<&Failure>,
        previous: Option<&InstallationStatus>,
        now: i64,
    ) -> InstallationStatus {
        let subject = Subject {
            name: "wiki",
            generation: 7,
            identity: "wiki",
            previous,
            now: at(now),
        };
        derive(&subject, pass, failure)
    }

    /// `Ready/Reconciling/Stalled`, each as status and reason.
    fn triple(status: &InstallationStatus) -> String {
        let shown: Vec<String> = ["Ready", "Reconciling", "Stalled"]
            .iter()
            .filter_map(|name| {
                status
                    .conditions
                    .iter()
                    .find(|condition| condition.type_ == *name)
            })
            .map(|condition| {
                format!(
                    "{}={}({})",
                    condition.type_, condition.status, condition.reason
                )
            })
            .collect();
        shown.join(" ")
    }

    fn missing() -> Findings {
        let mut findings = Findings::default();
        findings.wait(
            Document::Blueprint,
            "BP-NODE-003",
            Pointer::root(),
            "computeProfile:x",
            "create it",
        );
        findings
    }

    fn wrong() -> Findings {
        let mut findings = missing();
        let diagnostic = Diagnostic::semantic(
            crate::document::diagnostic::Code::UnknownNode,
            Pointer::root(),
            "name another",
        );
        findings.wrong(Document::Blueprint, diagnostic);
        findings
    }

    #[test]
    fn what_is_missing_is_progress_and_what_is_wrong_is_stalled() {
        let foreign = Failure::ForeignObject {
            object: "Secret x".into(),
            why: "its type differs".into(),
        };
        let conflict = Failure::Conflict {
            object: "Secret x".into(),
        };
        let with = |findings: Option<Findings>| Pass {
            findings,
            ..Pass::default()
        };
        for (name, pass, failure, expected) in [
            (
                "first install",
                with(Some(Findings::default())),
                None,
                "Ready=Unknown(Progressing) Reconciling=True(Progressing) Stalled=False(Progressing)",
            ),
            (
                "something missing",
                with(Some(missing())),
                None,
                "Ready=Unknown(Incomplete) Reconciling=True(Incomplete) Stalled=False(Progressing)",
            ),
            (
                "something wrong",
                with(Some(wrong())),
                None,
                "Ready=False(Invalid) Reconciling=False(Invalid) Stalled=True(Invalid)",
            ),
            (
                "a stranger's object",
                with(None),
                Some(&foreign),
                "Ready=False(ForeignObject) Reconciling=False(ForeignObject) Stalled=True(ForeignObject)",
            ),
            (
                "a lost race",
                with(None),
                Some(&conflict),
                "Ready=Unknown(Progressing) Reconciling=True(Progressing) Stalled=False(Progressing)",
            ),
        ] {
            assert_eq!(triple(&of(&pass, failure, None, 1)), expected, "{name}");
        }
    }

    #[test]
    fn a_transition_time_moves_only_with_the_status() {
        let first = of(
            &Pass {
                findings: Some(missing()),
                looked_back: true,
                ..Pass::default()
            },
            None,
            None,
            1,
        );
        let later = of(
            &Pass {
                findings: Some(wrong()),
                looked_back: true,
                ..Pass::default()
            },
            None,
            Some(&first),
            2,
        );
        let time = |status: &InstallationStatus, name: &str| {
            let found = status
                .conditions
                .iter()
                .find(|condition| condition.type_ == name);
            found.map(|condition| condition.last_transition_time.clone())
        };
        assert_eq!(time(&later, "Ready"), Some(at(2)), "Unknown became False");
        assert_eq!(
            time(&later, "Materialized"),
            Some(at(1)),
            "False stayed False"
        );
    }

    #[test]
    fn a_pass_that_could_not_look_leaves_what_was_told_of_the_record() {
        let record = RecordStatus {
            name: "record-wiki-1".into(),
            version: 1,
        };
        let before = InstallationStatus {
            record: Some(record.clone()),
            ..InstallationStatus::default()
        };
        let lost = Failure::CredentialLost {
            secret: "credential-wiki".into(),
            parameter: "dbPassword".into(),
            generation: 0,
            named_by: "snapshot version 1".into(),
        };
        let status = of(&Pass::default(), Some(&lost), Some(&before), 1);
        let of = |name: &str| {
            let found = status
                .conditions
                .iter()
                .find(|condition| condition.type_ == name);
            found.map(|condition| (condition.status.as_str(), condition.reason.as_str()))
        };
        assert_eq!(status.record, Some(record));
        for name in ["Materialized", "Available"] {
            assert_eq!(of(name), Some(("Unknown", "CredentialLost")), "{name}");
        }
    }

    #[test]
    fn a_list_too_long_is_cut_and_its_length_told() {
        let mut findings = Findings::default();
        for index in 0..=LIST_LIMIT {
            findings.wait(
                Document::Blueprint,
                "BP-NODE-003",
                Pointer::root().index(index),
                "x:y",
                "z",
            );
        }
        let status = of(
            &Pass {
                findings: Some(findings),
                ..Pass::default()
            },
            None,
            None,
            1,
        );
        assert_eq!(status.deferred.len(), LIST_LIMIT);
        assert_eq!(
            status.totals.map(|totals| totals.deferred),
            Some(LIST_LIMIT as i64 + 1)
        );
    }
}
