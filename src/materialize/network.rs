//! Who may reach a node: its siblings reach every endpoint, the edge the PUBLIC ones, and nothing else comes in.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::metadata::Owner;
use super::node::Node;
use super::service::transport;
use crate::api::names::{self, INSTALLATION_LABEL};
use crate::api::platform::{Edge, EdgeSource};
use crate::contract::blueprint::exposure::Exposure;
use crate::contract::component::endpoint::Endpoint;

/// The policy of `node`. A node without endpoints is reached by nobody.
pub(super) fn policy(node: &Node, edge: Option<&Edge>, owner: &Owner) -> NetworkPolicy {
    let endpoints = &node.running.endpoints;
    let is_public = |name: &String| node.recorded.exposure.get(name) == Some(&Exposure::Public);
    let siblings = NetworkPolicyPeer {
        pod_selector: Some(labels(
            &[(INSTALLATION_LABEL.to_owned(), owner.name.clone())].into(),
        )),
        ..NetworkPolicyPeer::default()
    };
    let mut rules = Vec::new();
    if !endpoints.is_empty() {
        rules.push(rule(Some(vec![siblings]), endpoints.values()));
    }
    let (http, layer_four): (Vec<&Endpoint>, Vec<&Endpoint>) = endpoints
        .iter()
        .filter(|(name, _)| is_public(name))
        .map(|(_, endpoint)| endpoint)
        .partition(|endpoint| endpoint.protocol.is_http_family());
    if !http.is_empty() {
        rules.push(rule(edge.and_then(sources), http));
    }
    // A load balancer hands clients' own addresses on.
    if !layer_four.is_empty() {
        rules.push(rule(None, layer_four));
    }
    NetworkPolicy {
        metadata: owner.metadata(
            names::workload(&owner.name, node.name),
            node.name,
            node.slug,
        ),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(labels(&owner.selector(node.name))),
            policy_types: Some(vec!["Ingress".to_owned()]),
            ingress: (!rules.is_empty()).then_some(rules),
            egress: None,
        }),
    }
}

/// Where connections of the edge come from; nothing where they may come from anywhere.
fn sources(edge: &Edge) -> Option<Vec<NetworkPolicyPeer>> {
    if !edge.sources.is_empty() {
        return Some(edge.sources.iter().map(peer).collect());
    }
    let gateway = edge.gateway.as_ref()?;
    let namespace = (
        "kubernetes.io/metadata.name".to_owned(),
        gateway.namespace.clone(),
    );
    Some(vec![NetworkPolicyPeer {
        namespace_selector: Some(labels(&[namespace].into())),
        ..NetworkPolicyPeer::default()
    }])
}

fn peer(source: &EdgeSource) -> NetworkPolicyPeer {
    NetworkPolicyPeer {
        namespace_selector: source.namespace_labels.as_ref().map(labels),
        pod_selector: (!source.pod_labels.is_empty()).then(|| labels(&source.pod_labels)),
        ip_block: source
            .cidr
            .clone()
            .map(|cidr| IPBlock { cidr, except: None }),
    }
}

fn rule<'a>(
    from: Option<Vec<NetworkPolicyPeer>>,
    endpoints: impl IntoIterator<Item = &'a Endpoint>,
) -> NetworkPolicyIngressRule {
    let ports: std::collections::BTreeSet<(u16, &str)> = endpoints
        .into_iter()
        .map(|endpoint| (endpoint.target_port, transport(endpoint.protocol)))
        .collect();
    let port = |(port, transport): (u16, &str)| NetworkPolicyPort {
        port: Some(IntOrString::Int(port.into())),
        protocol: Some(transport.to_owned()),
        end_port: None,
    };
    NetworkPolicyIngressRule {
        from,
        ports: Some(ports.into_iter().map(port).collect()),
    }
}

fn labels(labels: &BTreeMap<String, String>) -> LabelSelector {
    LabelSelector {
        match_labels: Some(labels.clone()),
        match_expressions: None,
    }
}
