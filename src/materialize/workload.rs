//! The workload of a node: a Deployment, with its pod, container, ports and probes.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Container, ContainerPort, HTTPGetAction, PodSecurityContext, PodSpec, PodTemplateSpec,
    Probe as PodProbe, ResourceRequirements, SeccompProfile,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::environment::{self, EnvironmentSecret};
use super::metadata::Owner;
use super::pins::Pins;
use super::{image, service};
use crate::api::names;
use crate::contract::component::Workload;
use crate::contract::component::endpoint::{Endpoint, Protocol};
use crate::contract::component::health::Probe;
use crate::resolution::record::RecordedComponent;

/// A node that runs, and what was recorded of it.
pub(super) struct Node<'a> {
    /// The node's name.
    pub name: &'a str,
    /// The item's slug.
    pub slug: &'a str,
    /// What the component says runs.
    pub running: &'a Workload,
    /// What the record pinned.
    pub recorded: &'a RecordedComponent,
}

/// The Deployment of `node`. It leaves `replicas` to whoever scales it.
pub(super) fn deployment(
    node: &Node,
    secret: Option<&EnvironmentSecret>,
    pins: &Pins,
    owner: &Owner,
) -> Deployment {
    let labels = owner.labels(node.name, node.slug);
    Deployment {
        metadata: owner.metadata(
            names::workload(&owner.name, node.name),
            node.name,
            node.slug,
        ),
        spec: Some(DeploymentSpec {
            selector: LabelSelector {
                match_labels: Some(owner.selector(node.name)),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod(node, secret, pins)),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn pod(node: &Node, secret: Option<&EnvironmentSecret>, pins: &Pins) -> PodSpec {
    PodSpec {
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        security_context: Some(PodSecurityContext {
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![container(node, secret, pins)],
        ..PodSpec::default()
    }
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
    let probe = |probe: &Option<Probe>, stage| {
        probe
            .as_ref()
            .map(|probe| pod_probe(probe, endpoints, stage))
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
        ports: some(container_ports(endpoints)),
        env: some(environment::variables(env_vars, secret)),
        resources: node
            .recorded
            .compute
            .as_ref()
            .and_then(|compute| resources(&compute.identity, pins)),
        startup_probe: probe(&health.startup, Stage::Startup),
        readiness_probe: probe(&health.readiness, Stage::Readiness),
        liveness_probe: probe(&health.liveness, Stage::Liveness),
        ..Container::default()
    }
}

fn container_ports(endpoints: &BTreeMap<String, Endpoint>) -> Vec<ContainerPort> {
    service::ports(endpoints)
        .into_iter()
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Startup,
    Readiness,
    Liveness,
}

/// The contract's numbers map one to one, with one exception that Kubernetes forces: it admits no success threshold but
/// 1 for startup and liveness probes.
fn pod_probe(probe: &Probe, endpoints: &BTreeMap<String, Endpoint>, stage: Stage) -> PodProbe {
    let endpoint = &endpoints[&probe.http.endpoint];
    let number = |number: u32| Some(i32::try_from(number).unwrap_or(i32::MAX));
    PodProbe {
        http_get: Some(HTTPGetAction {
            path: Some(probe.http.path.clone()),
            port: IntOrString::Int(i32::from(endpoint.target_port)),
            scheme: Some(
                if endpoint.protocol == Protocol::Https {
                    "HTTPS"
                } else {
                    "HTTP"
                }
                .to_owned(),
            ),
            ..HTTPGetAction::default()
        }),
        initial_delay_seconds: number(probe.initial_delay_seconds),
        period_seconds: number(probe.period_seconds),
        timeout_seconds: number(probe.timeout_seconds),
        success_threshold: number(if stage == Stage::Readiness {
            probe.success_threshold
        } else {
            1
        }),
        failure_threshold: number(probe.failure_threshold),
        ..PodProbe::default()
    }
}

/// An empty list is a field left out.
fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints(protocol: &str) -> BTreeMap<String, Endpoint> {
        serde_json::from_value(
            serde_json::json!({"web": {"targetPort": 8443, "protocol": protocol}}),
        )
        .expect("an endpoint")
    }

    #[test]
    fn a_probe_has_the_contracts_numbers_and_not_kubernetes_defaults() {
        let authored =
            serde_json::json!({"http": {"endpoint": "web", "path": "/up"}, "successThreshold": 2});
        let probe: Probe = serde_json::from_value(authored).expect("a probe");
        for (stage, successes) in [
            (Stage::Startup, 1),
            (Stage::Readiness, 2),
            (Stage::Liveness, 1),
        ] {
            let rendered = pod_probe(&probe, &endpoints("HTTPS"), stage);
            let numbers = [
                rendered.initial_delay_seconds,
                rendered.period_seconds,
                rendered.timeout_seconds,
                rendered.success_threshold,
                rendered.failure_threshold,
            ];
            assert_eq!(numbers, [10, 10, 5, successes, 3].map(Some));
            let request = rendered.http_get.expect("an HTTP probe");
            assert_eq!(request.scheme.as_deref(), Some("HTTPS"));
            assert_eq!(request.port, IntOrString::Int(8443));
        }
    }

    #[test]
    fn endpoints_that_share_a_port_share_a_container_port() {
        let shared = serde_json::json!({
            "web": {"targetPort": 80, "protocol": "HTTP"},
            "live": {"targetPort": 80, "protocol": "WS"},
            "dns": {"targetPort": 80, "protocol": "UDP"},
        });
        let ports = container_ports(&serde_json::from_value(shared).expect("endpoints"));
        let shown: Vec<_> = ports
            .into_iter()
            .map(|port| (port.container_port, port.protocol))
            .collect();
        assert_eq!(
            shown,
            [(80, Some("TCP".to_owned())), (80, Some("UDP".to_owned()))]
        );
    }
}
