//! The claim of each volume: a precious object of the identity, so that data outlives the Installation that made it.

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::metadata::Owner;
use super::node::Node;
use super::pins::{Pins, VolumePins};
use crate::api::names::{self, NODE_LABEL, VOLUME_ANNOTATION};
use crate::api::platform::AccessMode;
use crate::api::precious;

/// The claims of `node`'s volumes, each of the recorded size.
pub(super) fn claims(node: &Node, pins: &Pins, owner: &Owner) -> Vec<PersistentVolumeClaim> {
    let pinned = pins.platform.volumes.get(node.name);
    node.volumes()
        .map(|(name, volume)| {
            let strict = VolumePins {
                storage_class_name: None,
                access_mode: if volume.shared {
                    AccessMode::ReadWriteMany
                } else {
                    AccessMode::ReadWriteOncePod
                },
            };
            let pinned = pinned
                .and_then(|volumes| volumes.get(name))
                .unwrap_or(&strict);
            claim(node, name, pinned, owner)
        })
        .collect()
}

fn claim(node: &Node, volume: &str, pinned: &VolumePins, owner: &Owner) -> PersistentVolumeClaim {
    let name = names::volume(&owner.identity, node.name, volume);
    let mut metadata = precious::metadata(&owner.namespace, &owner.identity, name);
    metadata
        .labels
        .get_or_insert_default()
        .insert(NODE_LABEL.to_owned(), node.name.to_owned());
    metadata
        .annotations
        .get_or_insert_default()
        .insert(VOLUME_ANNOTATION.to_owned(), volume.to_owned());
    let size = node.recorded.volumes[volume].size_gib;
    PersistentVolumeClaim {
        metadata,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec![pinned.access_mode.to_string()]),
            storage_class_name: pinned.storage_class_name.clone(),
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".to_owned(), Quantity(format!("{size}Gi")))].into()),
                limits: None,
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    }
}
