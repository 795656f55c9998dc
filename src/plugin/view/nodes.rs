//! The nodes of an Installation as branches: what each is, why it is not ready, where it is reached, how its job ended.

use std::collections::BTreeSet;

use super::branch::Branch;
use super::plain;
use super::style::{BAD, FAINT, GOOD, OPEN, paint};
use crate::api::status::{EndpointStatus, InstallationStatus, JobOutcome, JobStatus, NodeStatus};

/// A branch for each node that anything is said of, its endpoints and its job below.
pub fn nodes(status: &InstallationStatus) -> Vec<Branch> {
    let named = status.nodes.iter().map(|node| node.name.as_str());
    let named = named.chain(
        status
            .endpoints
            .iter()
            .map(|endpoint| endpoint.node.as_str()),
    );
    let named: BTreeSet<&str> = named
        .chain(status.jobs.keys().map(String::as_str))
        .collect();
    let branches = named.into_iter().map(|name| {
        let told = status.nodes.iter().find(|node| node.name == name);
        let mut branch = Branch::new(told.map_or_else(|| plain(name), node));
        let endpoints = status.endpoints.iter();
        branch.grow(
            endpoints
                .filter(|endpoint| endpoint.node == name)
                .map(endpoint),
        );
        branch.grow(status.jobs.get(name).map(job));
        branch
    });
    branches.collect()
}

fn node(node: &NodeStatus) -> String {
    let style = match node.state.as_str() {
        "Ready" => GOOD,
        "Failing" => BAD,
        _ => OPEN,
    };
    let why = match (&node.reason, &node.message) {
        (None, None) => String::new(),
        (reason, message) => {
            let reason = reason.as_deref().map(plain).unwrap_or_default();
            let message = message.as_deref().map(plain).unwrap_or_default();
            let colon = if reason.is_empty() || message.is_empty() {
                ""
            } else {
                ": "
            };
            format!(" {reason}{colon}{message}")
        }
    };
    let workload = node.workload.as_deref().map_or(String::new(), |workload| {
        format!(" {}", paint(FAINT, &plain(workload)))
    });
    format!(
        "{} {} {}{workload}{why}",
        plain(&node.name),
        plain(&node.r#type),
        paint(style, &plain(&node.state)),
    )
}

fn endpoint(endpoint: &EndpointStatus) -> Branch {
    let private = endpoint.private_address.as_deref().map(plain);
    let told = match (endpoint.public_address.as_deref().map(plain), private) {
        (Some(public), Some(private)) => {
            format!("{public} {}", paint(FAINT, &format!("(inside: {private})")))
        }
        (Some(address), None) | (None, Some(address)) => address,
        (None, None) => "no address yet".to_owned(),
    };
    let (name, protocol) = (plain(&endpoint.endpoint), plain(&endpoint.protocol));
    Branch::new(format!("{name} {protocol} {told}"))
}

fn job(job: &JobStatus) -> Branch {
    let style = match job.outcome {
        JobOutcome::Succeeded => GOOD,
        JobOutcome::Failed | JobOutcome::Lost => BAD,
        JobOutcome::Waiting | JobOutcome::Running => OPEN,
    };
    let why = job.message.as_deref().map(plain);
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    Branch::new(format!(
        "job {} {}{why}",
        plain(&job.job),
        paint(style, &job.outcome.to_string())
    ))
}
