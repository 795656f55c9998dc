//! What is pinned of each running node: the image's digest and the version of its compute profile. Pure.

use std::collections::BTreeMap;

use super::findings::{Document, Findings};
use crate::api::profile::ProfileVersion;
use crate::contract::component::source::{ImageReference, Source};
use crate::contract::contracts::Contracts;
use crate::document::pointer::Pointer;
use crate::resolution::record::Selection;

/// Selects for every running node. An image named by digest is taken as it is; a tag is what `resolved` says of the whole
/// reference, and waits where it says nothing, as a build does.
pub fn select(
    contracts: &Contracts,
    profiles: &BTreeMap<String, ProfileVersion>,
    resolved: &BTreeMap<String, String>,
    findings: &mut Findings,
) -> BTreeMap<String, Selection> {
    let mut selections = BTreeMap::new();
    for (name, node) in &contracts.blueprint.spec.components {
        let Some(running) = &contracts.component(name).spec.workload else {
            continue;
        };
        let profile = node
            .compute
            .as_ref()
            .and_then(|compute| profiles.get(&compute.profile));
        let mut wait = |missing: String, remedy: String| {
            let path = Pointer::of(["spec", "components", name, "componentRef"]);
            findings.wait(Document::Blueprint, "BP-RESOLVE-001", path, missing, remedy);
        };
        let image_digest = match &running.source {
            Source::Image(reference) => {
                let digest = ImageReference::parse(reference)
                    .digest
                    .or_else(|| resolved.get(reference).map(String::as_str));
                if digest.is_none() {
                    wait(
                        format!("imageDigest:{name}:{reference}"),
                        format!(
                            "registries are not asked by this version: name the image of node {name} by digest, as in {reference}@sha256:…"
                        ),
                    );
                }
                digest.map(str::to_owned)
            }
            Source::Git(_) => {
                wait(
                    format!("build:{name}"),
                    format!("there is no builder for node {name}: name an image by digest"),
                );
                None
            }
        };
        let compute_version = profile.map(|profile| profile.version.clone());
        selections.insert(
            name.clone(),
            Selection {
                image_digest,
                git_commit: None,
                compute_version,
            },
        );
    }
    selections
}
