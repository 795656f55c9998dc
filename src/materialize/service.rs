//! The Service of a node that has endpoints: one port per port and protocol. And what a PUBLIC endpoint of TCP or UDP gets
//! beside it: a Service of its own that a load balancer serves.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::metadata::Owner;
use super::node::Node;
use crate::api::names;
use crate::api::platform::LoadBalancer;
use crate::contract::component::endpoint::{Endpoint, Protocol};

/// A port and its transport protocol.
type Port = (u16, &'static str);

/// The Service of `node`, if it has endpoints. Its name is the node's private host name's first label.
pub(super) fn service(node: &Node, owner: &Owner) -> Option<Service> {
    let ports = ports(&node.running.endpoints);
    (!ports.is_empty()).then(|| Service {
        metadata: owner.metadata(
            names::workload(&owner.name, node.name),
            node.name,
            node.slug,
        ),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".to_owned()),
            selector: Some(owner.selector(node.name)),
            ports: Some(
                ports
                    .into_iter()
                    .map(|(port, spoken)| ServicePort {
                        app_protocol: app_protocol(&spoken).map(str::to_owned),
                        ..service_port(port)
                    })
                    .collect(),
            ),
            ..ServiceSpec::default()
        }),
        status: None,
    })
}

/// The Service that gives a TCP or UDP endpoint an address of its own.
pub(super) fn load_balancer(
    node: &str,
    slug: &str,
    (name, endpoint): (&str, &Endpoint),
    edge: &LoadBalancer,
    owner: &Owner,
) -> Service {
    let mut metadata = owner.metadata(names::route(&owner.name, node, name), node, slug);
    metadata.annotations = (!edge.annotations.is_empty()).then(|| edge.annotations.clone());
    Service {
        metadata,
        spec: Some(ServiceSpec {
            type_: Some("LoadBalancer".to_owned()),
            load_balancer_class: edge.class_name.clone(),
            selector: Some(owner.selector(node)),
            ports: Some(vec![service_port((
                endpoint.target_port,
                transport(endpoint.protocol),
            ))]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// The distinct ports of `endpoints`, each with the protocols spoken on it: two endpoints may share one.
pub(super) fn ports(
    endpoints: &BTreeMap<String, Endpoint>,
) -> BTreeMap<Port, BTreeSet<&'static str>> {
    let mut ports = BTreeMap::<Port, BTreeSet<&'static str>>::new();
    for endpoint in endpoints.values() {
        ports
            .entry((endpoint.target_port, transport(endpoint.protocol)))
            .or_default()
            .insert(endpoint.protocol.into());
    }
    ports
}

/// The transport protocol under `protocol`.
pub(super) fn transport(protocol: Protocol) -> &'static str {
    if protocol == Protocol::Udp {
        "UDP"
    } else {
        "TCP"
    }
}

fn service_port((port, transport): Port) -> ServicePort {
    ServicePort {
        name: Some(format!("{}-{port}", transport.to_lowercase())),
        port: i32::from(port),
        protocol: Some(transport.to_owned()),
        target_port: Some(IntOrString::Int(i32::from(port))),
        ..ServicePort::default()
    }
}

/// What a gateway has to speak to the port, in the terms that Kubernetes and the Gateway API define. A port on which more
/// than one protocol is spoken promises nothing.
fn app_protocol(spoken: &BTreeSet<&'static str>) -> Option<&'static str> {
    match spoken.iter().copied().collect::<Vec<_>>()[..] {
        ["HTTP"] => Some("http"),
        ["HTTPS"] => Some("https"),
        ["WS"] => Some("kubernetes.io/ws"),
        ["GRPC"] => Some("kubernetes.io/h2c"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_says_what_is_spoken_on_it_where_it_is_one_protocol() {
        for (endpoints, expected) in [
            (&["HTTP"][..], Some("http")),
            (&["HTTPS"], Some("https")),
            (&["WS"], Some("kubernetes.io/ws")),
            (&["GRPC"], Some("kubernetes.io/h2c")),
            (&["TCP"], None),
            (&["HTTP", "WS"], None),
        ] {
            assert_eq!(
                app_protocol(&endpoints.iter().copied().collect()),
                expected,
                "{endpoints:?}"
            );
        }
    }
}
