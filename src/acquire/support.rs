//! What the contract has and this version does not run yet. Each use is a missing fact that names it; none is ignored.

use super::findings::{Document, Findings};
use crate::api::InstallationSpec;
use crate::contract::blueprint::compute::Placement;
use crate::contract::contracts::Contracts;
use crate::document::pointer::Pointer;

/// Adds what `spec` asks for and this version does not do.
pub fn spec(spec: &InstallationSpec, findings: &mut Findings) {
    let asked = [
        ("connections", !spec.connections.is_empty()),
        ("hostnames", !spec.hostnames.is_empty()),
    ];
    for (field, _) in asked.into_iter().filter(|(_, asked)| *asked) {
        findings.wait(
            Document::Installation,
            "BP-RESOLVE-001",
            Pointer::of(["spec", field]),
            format!("support:{field}"),
            format!("this version does not act on spec.{field} yet: remove it"),
        );
    }
}

/// Adds what the nodes of `contracts` need and this version does not run.
pub fn nodes(contracts: &Contracts, findings: &mut Findings) {
    for (name, node) in &contracts.blueprint.spec.components {
        if node
            .compute
            .as_ref()
            .is_some_and(|compute| compute.placement != Placement::default())
        {
            findings.wait(
                Document::Blueprint,
                "BP-NODE-003",
                Pointer::of(["spec", "components", name, "compute", "placement"]),
                format!("support:placement:{name}"),
                format!(
                    "this version does not place by pins yet: node {name} waits for a version that does"
                ),
            );
        }
    }
}
