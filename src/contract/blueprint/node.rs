//! Nodes: a component's place in a blueprint (blueprint §4).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::binding::{Binding, ConnectionBinding};
use super::compute::{Compute, VolumeAllocation};
use super::exposure::Exposure;

/// One node of the component graph.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The component, as authored: a path inside the item, or a UUID.
    pub component_ref: String,
    /// Only for a published reference: the revision of it.
    #[serde(default)]
    pub revision: Option<u64>,
    /// What supplies each input.
    #[serde(default)]
    pub bindings: BTreeMap<String, Binding>,
    /// What it runs on: present unless its component is EXTERNAL.
    #[serde(default)]
    pub compute: Option<Compute>,
    /// The size of each volume.
    #[serde(default)]
    pub volumes: BTreeMap<String, VolumeAllocation>,
    /// Which endpoints are public; one left out is private.
    #[serde(default)]
    pub exposure: BTreeMap<String, Exposure>,
    /// Which connection parameter satisfies each connection requirement.
    #[serde(default)]
    pub connection_bindings: BTreeMap<String, ConnectionBinding>,
}

impl Node {
    /// Whether the component is a file of the item rather than a published revision.
    pub fn is_local(&self) -> bool {
        self.component_ref.starts_with('.')
    }

    /// The exposure of `endpoint`; PRIVATE when left out (BP-NODE-005).
    pub fn exposure(&self, endpoint: &str) -> Exposure {
        self.exposure.get(endpoint).copied().unwrap_or_default()
    }
}
