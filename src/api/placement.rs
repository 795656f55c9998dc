//! Placement terms of the catalog: which labels of cluster nodes a term of a pin means, and which terms a compute profile
//! supports.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contract::blueprint::compute::Pin;

/// Labels of a cluster node, all of which it has. None at all is what every node has.
pub type NodeLabels = BTreeMap<String, String>;

/// What the terms of each placement pin mean here. A term that is not listed is not supported: a node that asks for it
/// waits.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacementTerms {
    /// Processor architectures, by term. When left out, `amd64` and `arm64` by the label `kubernetes.io/arch`.
    #[serde(default = "well_known_architectures")]
    #[schemars(schema_with = "terms")]
    pub cpu_architectures: BTreeMap<String, NodeLabels>,
    /// What `dedicated` means; `shared` asks for nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "terms")]
    pub cpu_dedication: BTreeMap<String, NodeLabels>,
    /// Where a node says how much memory each of its accelerators has.
    #[serde(
        rename = "minAcceleratorMemoryGiB",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub min_accelerator_memory: Option<MemoryLabel>,
    /// Accelerator runtimes, by term.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "terms")]
    pub accelerator_runtimes: BTreeMap<String, NodeLabels>,
    /// Accelerator interconnects, by term.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "terms")]
    pub accelerator_interconnect: BTreeMap<String, NodeLabels>,
    /// Classes of accelerators, by term.
    #[serde(
        rename = "acceleratorSKUClass",
        default,
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(schema_with = "terms")]
    pub accelerator_sku_class: BTreeMap<String, NodeLabels>,
    /// Network classes, by term.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "terms")]
    pub network_class: BTreeMap<String, NodeLabels>,
}

impl Default for PlacementTerms {
    fn default() -> Self {
        Self {
            cpu_architectures: well_known_architectures(),
            cpu_dedication: BTreeMap::new(),
            min_accelerator_memory: None,
            accelerator_runtimes: BTreeMap::new(),
            accelerator_interconnect: BTreeMap::new(),
            accelerator_sku_class: BTreeMap::new(),
            network_class: BTreeMap::new(),
        }
    }
}

impl PlacementTerms {
    /// What each term of `pin` means.
    pub fn of(&self, pin: Pin) -> &BTreeMap<String, NodeLabels> {
        match pin {
            Pin::CpuArchitectures => &self.cpu_architectures,
            Pin::CpuDedication => &self.cpu_dedication,
            Pin::AcceleratorRuntimes => &self.accelerator_runtimes,
            Pin::AcceleratorInterconnect => &self.accelerator_interconnect,
            Pin::AcceleratorSkuClass => &self.accelerator_sku_class,
            Pin::NetworkClass => &self.network_class,
        }
    }
}

/// Kubernetes's own label for what every cluster has.
fn well_known_architectures() -> BTreeMap<String, NodeLabels> {
    let term = |arch: &str| {
        let label = ("kubernetes.io/arch".to_owned(), arch.to_owned());
        (arch.to_owned(), [label].into())
    };
    ["amd64", "arm64"].map(term).into()
}

/// A label of cluster nodes whose value is an amount of memory, as a whole number.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryLabel {
    /// Its key, for example `nvidia.com/gpu.memory`.
    #[schemars(length(min = 1, max = 317))]
    pub label: String,
    /// What it counts.
    pub unit: MemoryUnit,
}

/// A unit of memory.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryUnit {
    /// 2^20 bytes.
    MiB,
    /// 2^30 bytes.
    GiB,
}

impl MemoryUnit {
    /// How many of it `gib` GiB are.
    pub fn count(self, gib: u64) -> u64 {
        match self {
            Self::MiB => gib.saturating_mul(1024),
            Self::GiB => gib,
        }
    }
}

/// The placement terms that the hosts of a compute profile have. A pin that is left out is not restricted by the profile.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SupportedTerms {
    /// Processor architectures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "term_list")]
    pub cpu_architectures: Option<Vec<String>>,
    /// `dedicated`, or nothing at all; `shared` is always supported.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "term_list")]
    pub cpu_dedication: Option<Vec<String>>,
    /// The most memory, in GiB, that an accelerator of it has.
    #[serde(
        rename = "minAcceleratorMemoryGiB",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub min_accelerator_memory_gib: Option<u64>,
    /// Accelerator runtimes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "term_list")]
    pub accelerator_runtimes: Option<Vec<String>>,
    /// Accelerator interconnects.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "term_list")]
    pub accelerator_interconnect: Option<Vec<String>>,
    /// Classes of accelerators.
    #[serde(
        rename = "acceleratorSKUClass",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "term_list")]
    pub accelerator_sku_class: Option<Vec<String>>,
    /// Network classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "term_list")]
    pub network_class: Option<Vec<String>>,
}

impl SupportedTerms {
    /// The terms of `pin` that the profile supports; `None` where it does not restrict them.
    pub fn of(&self, pin: Pin) -> Option<&[String]> {
        match pin {
            Pin::CpuArchitectures => self.cpu_architectures.as_deref(),
            Pin::CpuDedication => self.cpu_dedication.as_deref(),
            Pin::AcceleratorRuntimes => self.accelerator_runtimes.as_deref(),
            Pin::AcceleratorInterconnect => self.accelerator_interconnect.as_deref(),
            Pin::AcceleratorSkuClass => self.accelerator_sku_class.as_deref(),
            Pin::NetworkClass => self.network_class.as_deref(),
        }
    }
}

/// Labels by term, bounded as everything else.
fn terms(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": labels(),
        "x-kubernetes-validations": [{
            "rule": "self.all(term, term.matches('^[a-z0-9][a-z0-9_-]*$') && term.size() <= 64)",
            "message": "a placement term has lower-case letters, digits, _ and -, at most 64, as blueprints write it"
        }]
    })
}

/// Labels of cluster nodes.
pub(super) fn node_labels(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    labels()
}

fn labels() -> schemars::Schema {
    schemars::json_schema!({
        "description": "Labels of a cluster node, all of which it has. None at all is what every node has.",
        "type": "object",
        "maxProperties": 8,
        "additionalProperties": {
            "type": "string",
            "maxLength": 63,
            "pattern": "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"
        },
        "x-kubernetes-validations": [{
            "rule": "self.all(key, key.size() <= 317)",
            "message": "a key is a name of at most 63 characters, after a DNS name and a slash where it has a prefix"
        }]
    })
}

fn term_list(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "maxItems": 64,
        "items": {"type": "string", "maxLength": 64, "pattern": "^[a-z0-9][a-z0-9_-]*$"}
    })
}
