//! The Service of a node that has endpoints: one port per port and protocol.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::metadata::Owner;
use super::workload::Node;
use crate::api::names;
use crate::contract::component::endpoint::{Endpoint, Protocol};

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
                    .map(|(port, protocol)| ServicePort {
                        name: Some(format!("{}-{port}", protocol.to_lowercase())),
                        port: i32::from(port),
                        protocol: Some(protocol.to_owned()),
                        target_port: Some(IntOrString::Int(i32::from(port))),
                        ..ServicePort::default()
                    })
                    .collect(),
            ),
            ..ServiceSpec::default()
        }),
        status: None,
    })
}

/// The distinct ports and transport protocols of `endpoints`: two endpoints may share one.
pub(super) fn ports(
    endpoints: &BTreeMap<String, Endpoint>,
) -> std::collections::BTreeSet<(u16, &'static str)> {
    endpoints
        .values()
        .map(|endpoint| {
            (
                endpoint.target_port,
                if endpoint.protocol == Protocol::Udp {
                    "UDP"
                } else {
                    "TCP"
                },
            )
        })
        .collect()
}
