//! Where nodes may run: their placement pins, in the catalog's terms, as labels of cluster nodes. Pure.
//!
//! A pin narrows the hosts of the profile beside it and changes nothing else. One that cannot be honoured makes its node
//! wait; none is ever ignored (blueprint §4.4).

use std::collections::BTreeMap;

use super::findings::{Document, Findings};
use super::offer::list;
use crate::api::placement::{PlacementTerms, SupportedTerms};
use crate::api::profile::ProfileVersion;
use crate::contract::blueprint::compute::{Pin, Placement};
use crate::contract::contracts::Contracts;
use crate::document::pointer::Pointer;
use crate::materialize::pins::{LabelFloor, PlacementPins};

const MEMORY: &str = "minAcceleratorMemoryGiB";

/// What the pins of each node mean in `terms`; what `pinned` holds of unchanged pins is kept.
pub(super) fn select(
    contracts: &Contracts,
    terms: &PlacementTerms,
    pinned: Option<&BTreeMap<String, PlacementPins>>,
    findings: &mut Findings,
) -> BTreeMap<String, PlacementPins> {
    let mut selected = BTreeMap::new();
    for (node, asked) in placements(contracts) {
        let before = pinned
            .and_then(|pinned| pinned.get(node))
            .filter(|before| before.asked == *asked);
        let pins = match before {
            Some(before) => before.clone(),
            None => place(node, asked, terms, findings),
        };
        selected.insert(node.clone(), pins);
    }
    selected
}

/// Adds every pin that the profile beside it does not support.
pub fn check(
    contracts: &Contracts,
    profiles: &BTreeMap<String, ProfileVersion>,
    findings: &mut Findings,
) {
    for (node, authored) in &contracts.blueprint.spec.components {
        let Some(compute) = &authored.compute else {
            continue;
        };
        let supported = profiles
            .get(&compute.profile)
            .and_then(|profile| profile.placement.as_ref());
        if let Some(supported) = supported {
            check_one(
                node,
                &compute.profile,
                &compute.placement,
                supported,
                findings,
            );
        }
    }
}

/// The nodes that have placement pins which constrain anything.
fn placements(contracts: &Contracts) -> impl Iterator<Item = (&String, &Placement)> {
    let nodes = contracts.blueprint.spec.components.iter();
    nodes.filter_map(|(name, node)| {
        let placement = &node.compute.as_ref()?.placement;
        let constrains =
            !placement.terms().is_empty() || placement.min_accelerator_memory_gib.is_some();
        constrains.then_some((name, placement))
    })
}

fn place(
    node: &str,
    asked: &Placement,
    terms: &PlacementTerms,
    findings: &mut Findings,
) -> PlacementPins {
    let mut pins = PlacementPins {
        asked: asked.clone(),
        ..PlacementPins::default()
    };
    for (pin, term) in asked.terms() {
        match terms.of(pin).get(term) {
            Some(labels) if pin == Pin::CpuArchitectures => pins.one_of.push(labels.clone()),
            Some(labels) => pins.all_of.push(labels.clone()),
            None => wait(
                node,
                pin.into(),
                term,
                format!(
                    "the Platform has no {term} for the pin {pin} of node {node}: add it under placement.{pin}, or name one of {}",
                    list(terms.of(pin).keys())
                ),
                findings,
            ),
        }
    }
    if let Some(gib) = asked.min_accelerator_memory_gib {
        match &terms.min_accelerator_memory {
            Some(memory) => {
                pins.at_least = Some(LabelFloor {
                    label: memory.label.clone(),
                    number: memory.unit.count(gib),
                });
            }
            None => wait(
                node,
                MEMORY,
                gib,
                format!(
                    "the Platform does not say how much memory accelerators have, and the pin {MEMORY} of node {node} asks for {gib}: name the label that says it under placement.{MEMORY}"
                ),
                findings,
            ),
        }
    }
    pins
}

fn check_one(
    node: &str,
    profile: &str,
    asked: &Placement,
    supported: &SupportedTerms,
    findings: &mut Findings,
) {
    for (pin, term) in asked.terms() {
        let Some(terms) = supported.of(pin) else {
            continue;
        };
        if !terms.iter().any(|known| known == term) {
            let remedy = format!(
                "ComputeProfile {profile} does not support {term} for the pin {pin} of node {node}: choose a profile that does, or one of its own terms: {}",
                list(terms.iter())
            );
            wait(node, pin.into(), term, remedy, findings);
        }
    }
    if let (Some(floor), Some(most)) = (
        asked.min_accelerator_memory_gib,
        supported.min_accelerator_memory_gib,
    ) && floor > most
    {
        let remedy = format!(
            "the accelerators of ComputeProfile {profile} have {most} GiB, and the pin {MEMORY} of node {node} asks for {floor}: choose a profile that has more, or lower the pin"
        );
        wait(node, MEMORY, floor, remedy, findings);
    }
}

fn wait(
    node: &str,
    pin: &'static str,
    term: impl std::fmt::Display,
    remedy: String,
    findings: &mut Findings,
) {
    findings.wait(
        Document::Blueprint,
        "BP-NODE-003",
        Pointer::of(["spec", "components", node, "compute", "placement", pin]),
        format!("placement:{pin}:{term}"),
        remedy,
    );
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn terms() -> PlacementTerms {
        serde_json::from_value(json!({
            "cpuDedication": {"dedicated": {"pool": "dedicated"}},
            "minAcceleratorMemoryGiB": {"label": "nvidia.com/gpu.memory", "unit": "MiB"},
            "acceleratorRuntimes": {"cuda": {"nvidia.com/gpu.present": "true"}},
            "acceleratorInterconnect": {"nvlink": {"fabric": "nvlink"}},
            "acceleratorSKUClass": {"h100": {"nvidia.com/gpu.product": "H100"}},
            "networkClass": {"standard": {}},
        }))
        .expect("terms")
    }

    fn asked(placement: Value) -> Placement {
        serde_json::from_value(placement).expect("a placement")
    }

    fn missing(findings: &Findings) -> Vec<&str> {
        let all = findings.missing.iter();
        all.map(|missing| missing.deferred.missing.as_str())
            .collect()
    }

    #[test]
    fn every_pin_becomes_the_labels_that_its_term_means() {
        let asked = asked(json!({
            "cpuArchitectures": ["arm64", "amd64"],
            "cpuDedication": "dedicated",
            "minAcceleratorMemoryGiB": 80,
            "acceleratorRuntimes": ["cuda"],
            "acceleratorInterconnect": "nvlink",
            "acceleratorSKUClass": "h100",
            "networkClass": "standard",
        }));
        let mut findings = Findings::default();
        let pins = place("web", &asked, &terms(), &mut findings);
        assert_eq!(missing(&findings), [""; 0]);
        assert_eq!(
            json!(pins),
            json!({
                "asked": asked,
                "oneOf": [{"kubernetes.io/arch": "arm64"}, {"kubernetes.io/arch": "amd64"}],
                "allOf": [
                    {"nvidia.com/gpu.present": "true"},
                    {"fabric": "nvlink"},
                    {"nvidia.com/gpu.product": "H100"},
                    {},
                    {"pool": "dedicated"},
                ],
                "atLeast": {"label": "nvidia.com/gpu.memory", "number": 81920},
            })
        );
    }

    #[test]
    fn a_term_that_the_platform_does_not_have_is_waited_for_by_its_pin() {
        for (placement, expected) in [
            (json!({"cpuDedication": "shared"}), None),
            (
                json!({"cpuArchitectures": ["amd64", "riscv64"]}),
                Some("placement:cpuArchitectures:riscv64"),
            ),
            (
                json!({"cpuDedication": "dedicated"}),
                Some("placement:cpuDedication:dedicated"),
            ),
            (
                json!({"minAcceleratorMemoryGiB": 1}),
                Some("placement:minAcceleratorMemoryGiB:1"),
            ),
            (
                json!({"acceleratorRuntimes": ["rocm"]}),
                Some("placement:acceleratorRuntimes:rocm"),
            ),
            (
                json!({"acceleratorInterconnect": "x"}),
                Some("placement:acceleratorInterconnect:x"),
            ),
            (
                json!({"acceleratorSKUClass": "x"}),
                Some("placement:acceleratorSKUClass:x"),
            ),
            (
                json!({"networkClass": "x"}),
                Some("placement:networkClass:x"),
            ),
        ] {
            let mut findings = Findings::default();
            let terms = PlacementTerms::default();
            place("web", &asked(placement), &terms, &mut findings);
            assert_eq!(missing(&findings), Vec::from_iter(expected));
            let paths = findings.missing.iter().map(|found| &found.deferred.path);
            for (path, missing) in paths.zip(missing(&findings)) {
                let pin = missing.split(':').nth(1).expect("a pin");
                assert!(path.as_str().ends_with(pin), "{path}");
            }
        }
    }

    #[test]
    fn a_profile_may_support_fewer_terms_than_the_platform_knows() {
        let supported: SupportedTerms = serde_json::from_value(json!({
            "cpuArchitectures": ["amd64"],
            "cpuDedication": [],
            "minAcceleratorMemoryGiB": 40,
        }))
        .expect("terms");
        for (placement, expected) in [
            (
                json!({"cpuArchitectures": ["amd64"], "networkClass": "any", "minAcceleratorMemoryGiB": 40}),
                None,
            ),
            (
                json!({"cpuArchitectures": ["amd64", "arm64"]}),
                Some("placement:cpuArchitectures:arm64"),
            ),
            (
                json!({"cpuDedication": "dedicated"}),
                Some("placement:cpuDedication:dedicated"),
            ),
            (
                json!({"minAcceleratorMemoryGiB": 41}),
                Some("placement:minAcceleratorMemoryGiB:41"),
            ),
        ] {
            let mut findings = Findings::default();
            check_one(
                "web",
                "gpu.standard.small",
                &asked(placement),
                &supported,
                &mut findings,
            );
            assert_eq!(missing(&findings), Vec::from_iter(expected));
        }
    }
}
