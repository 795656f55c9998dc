//! What the contract has and this version does not run yet. Each use is a missing fact that names it; none is ignored.

use super::findings::{Document, Findings};
use crate::api::InstallationSpec;
use crate::contract::blueprint::compute::Placement;
use crate::contract::blueprint::exposure::Exposure;
use crate::contract::component::ComponentType;
use crate::contract::contracts::Contracts;
use crate::document::pointer::Pointer;

/// Adds what `spec` asks for and this version does not do.
pub fn spec(spec: &InstallationSpec, findings: &mut Findings) {
    let asked = [
        ("connections", !spec.connections.is_empty()),
        ("hostnames", !spec.hostnames.is_empty()),
        ("redeploy", spec.redeploy.is_some()),
        ("migrate", !spec.migrate.is_empty()),
        ("rollback", spec.rollback.is_some()),
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
        let here = Pointer::of(["spec", "components", name]);
        let mut wait = |rule, path: Pointer, feature: String, what: &str| {
            let remedy = format!(
                "this version does not run {what} yet: node {name} waits for a version that does"
            );
            findings.wait(
                Document::Blueprint,
                rule,
                path,
                format!("support:{feature}"),
                remedy,
            );
        };
        if contracts.component(name).spec.r#type == ComponentType::Job {
            wait(
                "BP-RESOLVE-001",
                here.child("componentRef"),
                format!("job:{name}"),
                "JOB components",
            );
        }
        for volume in node.volumes.keys() {
            wait(
                "BP-NODE-004",
                here.child("volumes").child(volume),
                format!("volume:{name}:{volume}"),
                "volumes",
            );
        }
        for (endpoint, _) in node
            .exposure
            .iter()
            .filter(|(_, exposure)| **exposure == Exposure::Public)
        {
            let path = here.child("exposure").child(endpoint);
            wait(
                "BP-NODE-005",
                path,
                format!("exposure:{name}:{endpoint}"),
                "PUBLIC endpoints",
            );
        }
        if node
            .compute
            .as_ref()
            .is_some_and(|compute| compute.placement != Placement::default())
        {
            let path = here.child("compute").child("placement");
            wait(
                "BP-NODE-003",
                path,
                format!("placement:{name}"),
                "placement pins",
            );
        }
    }
}
