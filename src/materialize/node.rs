//! A node that runs, as every renderer takes it.

use crate::contract::component::volume::Volume;
use crate::contract::component::{ComponentType, Workload};
use crate::resolution::record::RecordedComponent;

/// A node that runs, and what was recorded of it.
pub(super) struct Node<'a> {
    /// The node's name.
    pub name: &'a str,
    /// The item's slug.
    pub slug: &'a str,
    /// The component's category.
    pub category: ComponentType,
    /// What the component says runs.
    pub running: &'a Workload,
    /// What the record pinned.
    pub recorded: &'a RecordedComponent,
    /// How often the record's pods were rolled out again.
    pub rollout: u64,
}

impl Node<'_> {
    /// Whether one of its volumes may be mounted by one instance only.
    pub fn has_exclusive_volume(&self) -> bool {
        self.running.volumes.values().any(|volume| !volume.shared)
    }

    /// Its volumes, in name order.
    pub fn volumes(&self) -> impl Iterator<Item = (&String, &Volume)> {
        self.running.volumes.iter()
    }
}
