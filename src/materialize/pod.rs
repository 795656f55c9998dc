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
use super::pins::{ImagePins, Pins, RunsAs};
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
    let image = pins.images.get(node.name);
    let user = image.and_then(runs_as);
    let group = user.filter(|_| !node.running.volumes.is_empty());
    let group = group.map(|user| user.gid.into());
    // Where the image says a number itself, the kubelet reads it there.
    let looked_up = user.filter(|_| image.is_some_and(|image| image.runs_as.is_some()));
    let is_restricted = pins.platform.pods.is_restricted();
    PodSecurityContext {
        // Of the image's user too: the kubelet refuses root, and a name that may be root.
        run_as_non_root: is_restricted.then_some(true),
        run_as_user: looked_up
            .filter(|_| is_restricted)
            .map(|user| user.uid.into()),
        fs_group: group,
        fs_group_change_policy: group.map(|_| "OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            localhost_profile: None,
        }),
        ..PodSecurityContext::default()
    }
}

/// The numbers of the user that an image runs as; of a group that is not known by number, the user's. Root needs none,
/// and a name that nobody could look up says none.
fn runs_as(image: &ImagePins) -> Option<RunsAs> {
    let configured = || {
        let user = image.user.as_deref()?;
        let (user, group) = user.split_once(':').unwrap_or((user, ""));
        Some(RunsAs {
            uid: user.parse().ok()?,
            gid: group.parse().unwrap_or_default(),
        })
    };
    let known = image.runs_as.or_else(configured)?;
    let own = |gid: u32| if gid == 0 { known.uid } else { gid };
    (known.uid != 0).then(|| RunsAs {
        gid: own(known.gid),
        ..known
    })
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
    fn a_volume_is_writable_for_the_user_of_the_image_as_far_as_its_number_is_known() {
        let looked_up = |uid, gid| Some(RunsAs { uid, gid });
        for (user, accounts, expected) in [
            (None, None, None),
            (Some("1000"), None, Some(1000)),
            (Some("1000:2000"), None, Some(2000)),
            (Some("1000:users"), None, Some(1000)),
            (Some("1000:0"), None, Some(1000)),
            (Some("65534"), None, Some(65534)),
            (Some("0"), None, None),
            (Some("node"), None, None),
            (Some(""), None, None),
            (Some("node"), looked_up(1000, 2000), Some(2000)),
            (Some("node"), looked_up(1000, 0), Some(1000)),
            (Some("root"), looked_up(0, 0), None),
        ] {
            let image = ImagePins {
                user: user.map(str::to_owned),
                runs_as: accounts,
            };
            let group = runs_as(&image).map(|user| user.gid);
            assert_eq!(group, expected, "{user:?} {accounts:?}");
        }
    }
}
