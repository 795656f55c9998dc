//! What a node runs on: a compute profile, the placement pins that narrow it, and the sizes of volumes
//! (blueprint §4.3, §4.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use super::Node;
use super::assess::{self, Graph};
use crate::contract::component::Component;
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;
use crate::document::optional;

/// The compute of a node that runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Compute {
    /// The profile's slug, `family.tier.size`.
    pub profile: String,
    /// Pins that narrow where the profile is placed.
    #[serde(default)]
    pub placement: Placement,
}

/// Placement pins; each narrows the eligible hosts and never changes the profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "blueprint §4.4 defines each pin")]
pub struct Placement {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu_architectures: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_dedication: Option<CpuDedication>,
    #[serde(
        rename = "minAcceleratorMemoryGiB",
        skip_serializing_if = "Option::is_none"
    )]
    pub min_accelerator_memory_gib: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accelerator_runtimes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accelerator_interconnect: Option<String>,
    #[serde(
        rename = "acceleratorSKUClass",
        skip_serializing_if = "Option::is_none"
    )]
    pub accelerator_sku_class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_class: Option<String>,
}

/// A placement pin whose values are terms of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, IntoStaticStr)]
#[strum(serialize_all = "camelCase")]
#[allow(missing_docs, reason = "blueprint §4.4 defines each pin")]
pub enum Pin {
    CpuArchitectures,
    CpuDedication,
    AcceleratorRuntimes,
    AcceleratorInterconnect,
    #[strum(serialize = "acceleratorSKUClass")]
    AcceleratorSkuClass,
    NetworkClass,
}

impl Placement {
    /// Every term that it asks for, by pin: of the architectures a host has one, of everything else all. `shared` asks
    /// for nothing.
    pub fn terms<'a>(&'a self) -> Vec<(Pin, &'a str)> {
        let mut terms = Vec::new();
        let mut add = |pin, asked: &'a [String]| {
            terms.extend(asked.iter().map(|term| (pin, term.as_str())));
        };
        add(Pin::CpuArchitectures, &self.cpu_architectures);
        add(Pin::AcceleratorRuntimes, &self.accelerator_runtimes);
        add(
            Pin::AcceleratorInterconnect,
            self.accelerator_interconnect.as_slice(),
        );
        add(
            Pin::AcceleratorSkuClass,
            self.accelerator_sku_class.as_slice(),
        );
        add(Pin::NetworkClass, self.network_class.as_slice());
        if self.cpu_dedication == Some(CpuDedication::Dedicated) {
            terms.push((Pin::CpuDedication, "dedicated"));
        }
        terms
    }
}

/// Whether a host's processors are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum CpuDedication {
    /// No constraint.
    Shared,
    /// Dedicated vCPU.
    Dedicated,
}

/// The allocation of one declared volume, as authored and as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VolumeAllocation {
    /// Size in GiB, at or above the component's minimum.
    #[serde(rename = "sizeGiB")]
    #[schemars(range(min = 1))]
    pub size_gib: u64,
    /// A storage class term.
    #[serde(
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(length(max = 64), regex(pattern = "^[a-z0-9][a-z0-9_-]*$"))]
    pub storage_class: Option<String>,
    /// A floor on provisioned IOPS.
    #[serde(
        rename = "minIOPS",
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 1))]
    pub min_iops: Option<u64>,
}

pub(super) fn check(graph: &Graph<'_>, findings: &mut Findings<'_>) {
    for (name, node, component) in graph.nodes() {
        if findings.is_full() {
            return;
        }
        check_compute(name, node, component, findings);
        check_volumes(name, node, component, findings);
    }
}

/// What runs has compute, and what does not has none (BP-NODE-001, BP-NODE-002).
fn check_compute(name: &str, node: &Node, component: &Component, findings: &mut Findings<'_>) {
    let category = component.spec.r#type;
    let path = assess::pointer(name);
    match &node.compute {
        None if category.runs() => findings.push(
            Code::ConflictingNodeCompute,
            path,
            format!("node `{name}` deploys a {category}, which runs and needs compute; add `compute: {{ profile: … }}`"),
        ),
        Some(_) if !category.runs() => findings.push(
            Code::ConflictingNodeCompute,
            path.child("compute"),
            format!("node `{name}` deploys an {category} component, which runs nothing; remove `compute`"),
        ),
        _ => {}
    }
}

/// Every declared volume is allocated, at or above its minimum, and nothing else is (BP-NODE-004).
fn check_volumes(name: &str, node: &Node, component: &Component, findings: &mut Findings<'_>) {
    let path = assess::pointer(name);
    let declared = component
        .spec
        .workload
        .as_ref()
        .map(|workload| &workload.volumes);
    for (volume, allocation) in &node.volumes {
        let problem = match declared.and_then(|volumes| volumes.get(volume)) {
            None => format!(
                "the component declares no volume `{volume}`; remove the allocation, or correct its name"
            ),
            Some(declared) if allocation.size_gib < declared.min_size_gib => format!(
                "volume `{volume}` gets {} GiB and the component needs at least {}; raise `sizeGiB`",
                allocation.size_gib, declared.min_size_gib
            ),
            Some(_) => continue,
        };
        findings.push(
            Code::InvalidVolumeAllocation,
            path.child("volumes").child(volume),
            problem,
        );
    }
    for (volume, declared) in declared.into_iter().flatten() {
        if !node.volumes.contains_key(volume) {
            findings.push(
                Code::InvalidVolumeAllocation,
                path.child("componentRef"),
                format!(
                    "the component's volume `{volume}` has no allocation; add `volumes: {{ {volume}: {{ sizeGiB: {} }} }}`",
                    declared.min_size_gib
                ),
            );
        }
    }
}
