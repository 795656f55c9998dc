//! The pod of a node: one container, its environment, probes, ports and mounts.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, LocalObjectReference,
    PersistentVolumeClaimVolumeSource, PodSecurityContext, PodSpec, PodTemplateSpec,
    ResourceRequirements, SeccompProfile, SecurityContext, Toleration, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::environment::{self, EnvironmentSecret};
use super::metadata::Owner;
use super::node::Node;
use super::pins::{ImagePins, Pins};
use super::probe::{Stage, probe};
use super::{image, placement, service};
use crate::api::{names, pods};
use crate::contract::component::Workload;
use crate::contract::component::endpoint::Endpoint;
use crate::contract::component::health::Probe;

/// The template of every pod of `node`. `restart_policy` is Kubernetes's own default where it is left out.
pub(super) fn template(
    node: &Node,
    secret: Option<&EnvironmentSecret>,
    pins: &Pins,
    owner: &Owner,
    restart_policy: Option<&str>,
) -> PodTemplateSpec {
    PodTemplateSpec {
        metadata: Some(Owner::marked(
            ObjectMeta {
                labels: Some(owner.labels(node.name, node.slug)),
                annotations: (node.rollout > 0).then(|| {
                    let count = node.rollout.to_string();
                    [(names::ROLLOUT_ANNOTATION.to_owned(), count)].into()
                }),
                ..ObjectMeta::default()
            },
            &pins.platform.pods,
        )),
        spec: Some(PodSpec {
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            security_context: Some(security(node, pins)),
            containers: vec![container(node, secret, pins)],
            node_selector: placement::selector(node, pins),
            affinity: placement::affinity(node, pins),
            volumes: some(volumes(node, owner)),
            tolerations: some(
                pins.platform
                    .pods
                    .tolerations
                    .iter()
                    .map(toleration)
                    .collect(),
            ),
            image_pull_secrets: some(
                pins.image_pull_secrets
                    .iter()
                    .map(|name| LocalObjectReference { name: name.clone() })
                    .collect(),
            ),
            restart_policy: restart_policy.map(str::to_owned),
            ..PodSpec::default()
        }),
    }
}

/// A volume belongs to root until somebody says otherwise: the image's own user gets it through the pod's group.
fn security(node: &Node, pins: &Pins) -> PodSecurityContext {
    let group = pins.images.get(node.name).and_then(group);
    let group = group.filter(|_| !node.running.volumes.is_empty());
    PodSecurityContext {
        // Of the image's user too: the kubelet refuses root, and a name that may be root.
        run_as_non_root: pins.platform.pods.is_restricted().then_some(true),
        fs_group: group,
        fs_group_change_policy: group.map(|_| "OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            localhost_profile: None,
        }),
        ..PodSecurityContext::default()
    }
}

/// The group that an image's user writes with: its own where the configuration names it by number, else one of the
/// user's number. Root needs none, and a name says no number.
fn group(image: &ImagePins) -> Option<i64> {
    let (user, group) = match image.user.as_deref()?.split_once(':') {
        Some((user, group)) => (user, Some(group)),
        None => (image.user.as_deref()?, None),
    };
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
    let user = number(user)?;
    Some(group.and_then(number).unwrap_or(user).into())
}

fn container(node: &Node, secret: Option<&EnvironmentSecret>, pins: &Pins) -> Container {
    let Workload {
        source,
        command,
        endpoints,
        env_vars,
        health,
        ..
    } = node.running;
    let digest = node.recorded.image_digest.as_deref().unwrap_or_default();
    let at = |authored: &Option<Probe>, stage| {
        authored
            .as_ref()
            .map(|authored| probe(authored, endpoints, stage))
    };
    Container {
        name: node.name.to_owned(),
        image: image::pinned(source, digest),
        // The contract's command replaces CMD and keeps ENTRYPOINT, which Kubernetes calls args.
        args: some(
            command
                .iter()
                .map(|argument| environment::verbatim(argument))
                .collect(),
        ),
        ports: some(ports(endpoints)),
        env: some(environment::variables(env_vars, secret)),
        volume_mounts: some(mounts(node)),
        resources: node
            .recorded
            .compute
            .as_ref()
            .and_then(|compute| resources(&compute.identity, pins)),
        startup_probe: at(&health.startup, Stage::Startup),
        readiness_probe: at(&health.readiness, Stage::Readiness),
        liveness_probe: at(&health.liveness, Stage::Liveness),
        security_context: pins.platform.pods.is_restricted().then(hardened),
        ..Container::default()
    }
}

/// What the pod security level Restricted asks of a container. Not of every one: a program that has capabilities of its own,
/// as some do that listen at low ports, would not start.
fn hardened() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            add: None,
        }),
        ..SecurityContext::default()
    }
}

fn toleration(term: &pods::Toleration) -> Toleration {
    let operator = if term.value.is_some() {
        "Equal"
    } else {
        "Exists"
    };
    Toleration {
        key: term.key.clone(),
        operator: Some(operator.to_owned()),
        value: term.value.clone(),
        effect: term.effect.map(|effect| effect.to_string()),
        toleration_seconds: None,
    }
}

fn volumes(node: &Node, owner: &Owner) -> Vec<Volume> {
    node.volumes()
        .map(|(name, _)| Volume {
            name: name.clone(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: names::volume(&owner.identity, node.name, name),
                read_only: None,
            }),
            ..Volume::default()
        })
        .collect()
}

fn mounts(node: &Node) -> Vec<VolumeMount> {
    node.volumes()
        .map(|(name, volume)| VolumeMount {
            name: name.clone(),
            mount_path: volume.mount_path.clone(),
            read_only: volume.read_only.then_some(true),
            ..VolumeMount::default()
        })
        .collect()
}

fn ports(endpoints: &BTreeMap<String, Endpoint>) -> Vec<ContainerPort> {
    service::ports(endpoints)
        .into_keys()
        .map(|(port, protocol)| ContainerPort {
            container_port: i32::from(port),
            protocol: Some(protocol.to_owned()),
            ..ContainerPort::default()
        })
        .collect()
}

fn resources(profile: &str, pins: &Pins) -> Option<ResourceRequirements> {
    let resources = &pins.profiles.get(profile)?.resources;
    let quantities = |quantities: &BTreeMap<String, Quantity>| {
        (!quantities.is_empty()).then(|| quantities.clone())
    };
    Some(ResourceRequirements {
        requests: quantities(&resources.requests),
        limits: quantities(&resources.limits),
        ..ResourceRequirements::default()
    })
}

/// An empty list is a field left out.
fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_that_share_a_port_share_a_container_port() {
        let shared = serde_json::json!({
            "web": {"targetPort": 80, "protocol": "HTTP"},
            "live": {"targetPort": 80, "protocol": "WS"},
            "dns": {"targetPort": 80, "protocol": "UDP"},
        });
        let ports = ports(&serde_json::from_value(shared).expect("endpoints"));
        let shown: Vec<_> = ports
            .into_iter()
            .map(|port| (port.container_port, port.protocol))
            .collect();
        assert_eq!(
            shown,
            [(80, Some("TCP".to_owned())), (80, Some("UDP".to_owned()))]
        );
    }

    #[test]
    fn a_volume_is_writable_for_the_user_that_the_image_names_by_number() {
        for (user, expected) in [
            (None, None),
            (Some("1000"), Some(1000)),
            (Some("1000:2000"), Some(2000)),
            (Some("1000:users"), Some(1000)),
            (Some("1000:0"), Some(1000)),
            (Some("65534"), Some(65534)),
            (Some("0"), None),
            (Some("node"), None),
            (Some(""), None),
        ] {
            let image = ImagePins {
                user: user.map(str::to_owned),
            };
            assert_eq!(group(&image), expected, "{user:?}");
        }
    }
}
