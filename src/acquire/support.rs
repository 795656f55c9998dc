//! What the contract has and this version does not run yet. Each use is a missing fact that names it; none is ignored.

use super::findings::{Document, Findings};
use crate::api::InstallationSpec;
use crate::document::pointer::Pointer;

/// Adds what `spec` asks for and this version does not do.
pub fn spec(spec: &InstallationSpec, findings: &mut Findings) {
    let asked = [
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
