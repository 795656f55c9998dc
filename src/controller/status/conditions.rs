//! The conditions: each a verdict over what a pass learned, given its times last.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::Subject;
use super::lists::first;
use super::nodes::{FAILING, READY};
use crate::api::condition::ConditionType;
use crate::api::reason::Reason;
use crate::api::status::NodeStatus;
use crate::controller::apply::Running;
use crate::controller::failure::{Failure, Retry};
use crate::controller::reconcile::Pass;
use crate::document::result::Status;

/// One condition before it has times.
pub(super) struct Verdict {
    status: &'static str,
    reason: Reason,
    message: String,
}

pub(super) fn verdict(status: &'static str, reason: Reason, message: impl Into<String>) -> Verdict {
    Verdict {
        status,
        reason,
        message: message.into(),
    }
}

const TRUE: &str = "True";
pub(super) const FALSE: &str = "False";
pub(super) const UNKNOWN: &str = "Unknown";

/// Every condition, in a fixed order.
pub(super) fn conditions(
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
            match &*pass.remarks {
                [] => "the spec is resolved and its record accepted".to_owned(),
                remarks => format!(
                    "the spec is resolved and its record accepted; {}",
                    remarks.join("; ")
                ),
            },
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
                node.state == READY
                    || applied
                        .running
                        .get(&node.name)
                        .is_some_and(Running::is_available)
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

/// Gives each condition its generation and its transition time, which is the old one where the status did not change.
pub(super) fn dress(
    subject: &Subject,
    conditions: Vec<(ConditionType, Verdict)>,
) -> Vec<Condition> {
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
