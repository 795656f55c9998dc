//! What is pinned of each running node: the image's digest and the version of its compute profile. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::findings::{Document, Findings};
use crate::api::profile::ProfileVersion;
use crate::contract::component::source::{ImageReference, Source};
use crate::contract::contracts::Contracts;
use crate::document::pointer::Pointer;
use crate::materialize::pins::ImagePins;
use crate::resolution::record::Selection;

/// What a registry says of an image reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageFacts {
    /// `sha256:` and 64 hexadecimal digits. May be left out for a reference by digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What its configuration says.
    #[serde(flatten)]
    pub pins: ImagePins,
}

/// What is pinned of the running nodes, by name.
#[derive(Debug, Default)]
pub struct Selections {
    /// What the record says of each.
    pub recorded: BTreeMap<String, Selection>,
    /// What is pinned beside it of each image.
    pub images: BTreeMap<String, ImagePins>,
}

/// Selects for every running node. An image named by digest is taken as it is; a tag is what `images` says of the node.
/// What is not known is not selected: whoever could not acquire it has reported that.
pub fn select(
    contracts: &Contracts,
    profiles: &BTreeMap<String, ProfileVersion>,
    images: &BTreeMap<String, ImageFacts>,
    findings: &mut Findings,
) -> Selections {
    let mut selections = Selections::default();
    for (name, node) in &contracts.blueprint.spec.components {
        let Some(running) = &contracts.component(name).spec.workload else {
            continue;
        };
        let profile = node
            .compute
            .as_ref()
            .and_then(|compute| profiles.get(&compute.profile));
        let facts = images.get(name);
        let image_digest = match &running.source {
            Source::Image(reference) => ImageReference::parse(reference)
                .digest
                .or_else(|| facts?.digest.as_deref())
                .map(str::to_owned),
            Source::Git(_) => {
                findings.wait(
                    Document::Blueprint,
                    "BP-RESOLVE-001",
                    Pointer::of(["spec", "components", name, "componentRef"]),
                    format!("build:{name}"),
                    format!("there is no builder for node {name}: name an image by digest"),
                );
                None
            }
        };
        selections
            .images
            .extend(facts.map(|facts| (name.clone(), facts.pins.clone())));
        let compute_version = profile.map(|profile| profile.version.clone());
        selections.recorded.insert(
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
