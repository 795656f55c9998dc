//! What of the Platform an installation is made with, selected once and pinned: the edge, what serves each volume,
//! and where nodes may run. Pure.

use std::collections::BTreeMap;

use super::findings::{Document, Findings};
use super::placement;
use crate::api::platform::{AccessMode, Edge, PlatformSpec, StorageOffer};
use crate::contract::blueprint::compute::VolumeAllocation;
use crate::contract::blueprint::exposure::Exposure;
use crate::contract::contracts::Contracts;
use crate::document::pointer::Pointer;
use crate::materialize::pins::{PlatformPins, VolumePins};

/// Selects for `contracts` what `platform` offers; what `pinned` holds is kept.
pub fn select(
    contracts: &Contracts,
    platform: &PlatformSpec,
    pinned: Option<&PlatformPins>,
    findings: &mut Findings,
) -> PlatformPins {
    let nodes = &contracts.blueprint.spec.components;
    let is_public = nodes
        .values()
        .flat_map(|node| node.exposure.values())
        .any(|exposure| *exposure == Exposure::Public);
    let pinned_edge = pinned.and_then(|pinned| pinned.edge.as_ref());
    let edge = edge(pinned_edge, platform.edge.as_ref()).filter(|_| is_public);
    let mut volumes = BTreeMap::<String, BTreeMap<String, VolumePins>>::new();
    for (name, node) in nodes {
        let Some(running) = &contracts.component(name).spec.workload else {
            continue;
        };
        for (volume, allocation) in &node.volumes {
            let Some(declared) = running.volumes.get(volume) else {
                continue;
            };
            let before = pinned.and_then(|pinned| pinned.volumes.get(name)?.get(volume).cloned());
            let path = Pointer::of(["spec", "components", name, "volumes", volume]);
            let chosen = match before {
                Some(before) => Some(before),
                None => serve(declared.shared, allocation, platform, &path, findings),
            };
            if let Some(chosen) = chosen {
                volumes
                    .entry(name.clone())
                    .or_default()
                    .insert(volume.clone(), chosen);
            }
        }
    }
    PlatformPins {
        edge,
        network_policy: pinned.map_or(platform.network_policy, |pinned| pinned.network_policy),
        volumes,
        placement: placement::select(
            contracts,
            &platform.placement,
            pinned.map(|pinned| &pinned.placement),
            findings,
        ),
        pods: pinned.map_or(&platform.pods, |pinned| &pinned.pods).clone(),
    }
}

/// The pinned edge, with what it does not have and `offered` has: that was never selected.
fn edge(pinned: Option<&Edge>, offered: Option<&Edge>) -> Option<Edge> {
    let (Some(pinned), Some(offered)) = (pinned, offered) else {
        return pinned.or(offered).cloned();
    };
    let balancer = pinned.load_balancer.as_ref();
    let routes = if pinned.gateway.is_some() || pinned.ingress.is_some() {
        pinned
    } else {
        offered
    };
    Some(Edge {
        load_balancer: balancer.or(offered.load_balancer.as_ref()).cloned(),
        ..routes.clone()
    })
}

/// What serves a volume, or what stands in the way (BP-NODE-004): neither a term nor a floor is ever ignored.
fn serve(
    shared: bool,
    allocation: &VolumeAllocation,
    platform: &PlatformSpec,
    path: &Pointer,
    findings: &mut Findings,
) -> Option<VolumePins> {
    let storage = &platform.storage;
    let (offer, named) = match &allocation.storage_class {
        None => (&storage.default, "the default storage".to_owned()),
        Some(term) => match storage.terms.get(term) {
            Some(offer) => (offer, format!("storage class {term}")),
            None => {
                findings.wait(
                    Document::Blueprint,
                    "BP-NODE-004",
                    path.child("storageClass"),
                    format!("storageClass:{term}"),
                    format!(
                        "the Platform has no storage class {term}: add it under storage.terms, or name one of {}",
                        list(storage.terms.keys())
                    ),
                );
                return None;
            }
        },
    };
    if let Some(floor) = allocation.min_iops
        && offer.iops.is_none_or(|iops| iops < floor)
    {
        findings.wait(
            Document::Blueprint,
            "BP-NODE-004",
            path.child("minIOPS"),
            format!("storageIOPS:{floor}"),
            format!(
                "{named} has {}: lower minIOPS, or name a storage class that has {floor} IOPS",
                offer
                    .iops
                    .map_or("no known IOPS".to_owned(), |iops| format!("{iops} IOPS"))
            ),
        );
        return None;
    }
    match access_mode(shared, offer) {
        Some(access_mode) => Some(VolumePins {
            storage_class_name: offer.storage_class_name.clone(),
            access_mode,
        }),
        None => {
            let wanted = if shared {
                "ReadWriteMany, which a shared volume needs"
            } else {
                "ReadWriteOncePod or ReadWriteOnce, one of which a volume that is not shared needs"
            };
            findings.wait(
                Document::Blueprint,
                "BP-NODE-004",
                path.clone(),
                format!(
                    "storageAccess:{}",
                    if shared { "shared" } else { "exclusive" }
                ),
                format!("{named} does not serve {wanted}: name a storage class that does"),
            );
            None
        }
    }
}

/// The strictest mode on offer that the volume can live with.
fn access_mode(shared: bool, offer: &StorageOffer) -> Option<AccessMode> {
    let fitting: &[AccessMode] = if shared {
        &[AccessMode::ReadWriteMany]
    } else {
        &[AccessMode::ReadWriteOncePod, AccessMode::ReadWriteOnce]
    };
    fitting
        .iter()
        .copied()
        .find(|mode| offer.access_modes.contains(mode))
}

pub(super) fn list<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() {
        "none, as it has none yet".to_owned()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn platform() -> PlatformSpec {
        serde_json::from_value(json!({"storage": {
            "default": {"accessModes": ["ReadWriteOnce"]},
            "terms": {
                "fast": {"storageClassName": "nvme", "iops": 5000},
                "files": {"storageClassName": "nfs", "accessModes": ["ReadWriteMany"]},
            },
        }}))
        .expect("a platform")
    }

    #[test]
    fn a_pinned_edge_is_kept_and_gains_what_was_never_selected() {
        let read =
            |edge: serde_json::Value| -> Edge { serde_json::from_value(edge).expect("an edge") };
        let gateway = |name: &str| json!({"name": name, "namespace": "edge"});
        let routed = read(json!({"gateway": gateway("old"), "scheme": "http"}));
        let balanced = read(json!({"loadBalancer": {"className": "old"}}));
        let offered =
            read(json!({"gateway": gateway("new"), "loadBalancer": {"className": "new"}}));
        for (pinned, expected) in [
            (None, offered.clone()),
            (
                Some(&routed),
                read(
                    json!({"gateway": gateway("old"), "scheme": "http", "loadBalancer": {"className": "new"}}),
                ),
            ),
            (
                Some(&balanced),
                read(json!({"gateway": gateway("new"), "loadBalancer": {"className": "old"}})),
            ),
        ] {
            assert_eq!(edge(pinned, Some(&offered)), Some(expected));
        }
        assert_eq!(edge(Some(&routed), None), Some(routed));
    }

    #[test]
    fn a_volume_is_served_by_the_strictest_mode_on_offer_or_not_at_all() {
        for (shared, allocation, expected) in [
            (false, json!({"sizeGiB": 1}), "- ReadWriteOnce"),
            (
                false,
                json!({"sizeGiB": 1, "storageClass": "fast"}),
                "nvme ReadWriteOncePod",
            ),
            (
                true,
                json!({"sizeGiB": 1, "storageClass": "fast"}),
                "nvme ReadWriteMany",
            ),
            (
                false,
                json!({"sizeGiB": 1, "storageClass": "fast", "minIOPS": 5000}),
                "nvme ReadWriteOncePod",
            ),
            (
                false,
                json!({"sizeGiB": 1, "storageClass": "fast", "minIOPS": 5001}),
                "waits for storageIOPS:5001",
            ),
            (
                false,
                json!({"sizeGiB": 1, "minIOPS": 1}),
                "waits for storageIOPS:1",
            ),
            (
                false,
                json!({"sizeGiB": 1, "storageClass": "files"}),
                "waits for storageAccess:exclusive",
            ),
            (
                true,
                json!({"sizeGiB": 1}),
                "waits for storageAccess:shared",
            ),
            (
                false,
                json!({"sizeGiB": 1, "storageClass": "tape"}),
                "waits for storageClass:tape",
            ),
        ] {
            let mut findings = Findings::default();
            let authored: VolumeAllocation =
                serde_json::from_value(allocation.clone()).expect("an allocation");
            let served = serve(
                shared,
                &authored,
                &platform(),
                &Pointer::root(),
                &mut findings,
            );
            let found = match served {
                Some(pins) => format!(
                    "{} {}",
                    pins.storage_class_name.as_deref().unwrap_or("-"),
                    pins.access_mode
                ),
                None => format!("waits for {}", findings.missing[0].deferred.missing),
            };
            assert_eq!(found, expected, "{allocation} shared: {shared}");
        }
    }
}
