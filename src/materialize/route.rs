//! How PUBLIC endpoints of the HTTP family are reached: an HTTPRoute or GRPCRoute on the edge's Gateway, or an Ingress.
//! Host name and path are those that the snapshot's allocation fixed, never the Platform's of today.

use gateway_api::grpcroutes::{
    GrpcRoute, GrpcRouteParentRefs, GrpcRouteRules, GrpcRouteRulesBackendRefs, GrpcRouteSpec,
};
use gateway_api::httproutes::{
    HttpRoute, HttpRouteParentRefs, HttpRouteRules, HttpRouteRulesBackendRefs,
    HttpRouteRulesMatches, HttpRouteRulesMatchesPath, HttpRouteRulesMatchesPathType, HttpRouteSpec,
};
use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule,
    IngressServiceBackend, IngressSpec, IngressTLS, ServiceBackendPort,
};
use kube::api::DynamicObject;
use serde_json::Value;

use super::dynamic;
use super::metadata::Owner;
use super::node::Node;
use super::service::load_balancer;
use crate::api::names;
use crate::api::platform::{Certificates, Edge, GatewayReference, IngressEdge, Scheme};
use crate::contract::blueprint::exposure::Exposure;
use crate::contract::component::endpoint::{Endpoint, Protocol};
use crate::resolution::context::{Allocation, PublicFacts};
use crate::resolution::snapshot::Snapshot;

/// What routes the PUBLIC endpoints of `node` through `edge`.
pub(super) fn routes(
    node: &Node,
    snapshot: &Snapshot,
    edge: &Edge,
    owner: &Owner,
) -> Vec<DynamicObject> {
    let public = node
        .recorded
        .exposure
        .iter()
        .filter(|(_, exposure)| **exposure == Exposure::Public);
    public
        .filter_map(|(name, _)| {
            let endpoint = &node.running.endpoints[name];
            let facts = facts(snapshot, node.name, name)?;
            let route = Route {
                node,
                endpoint,
                facts,
                name: names::route(&owner.name, node.name, name),
                owner,
            };
            match (&edge.gateway, &edge.ingress, &edge.load_balancer) {
                (_, _, Some(balancer)) if !endpoint.protocol.is_http_family() => Some(dynamic(
                    &load_balancer(node.name, node.slug, (name, endpoint), balancer, owner),
                )),
                (Some(gateway), _, _) if endpoint.protocol == Protocol::Grpc => {
                    Some(dynamic(&route.grpc(gateway)))
                }
                (Some(gateway), _, _) if endpoint.protocol.is_http_family() => {
                    Some(dynamic(&route.http(gateway)))
                }
                (_, Some(ingress), _) if endpoint.protocol.is_http_family() => {
                    Some(dynamic(&route.ingress(ingress, edge.scheme)))
                }
                _ => None,
            }
        })
        .collect()
}

/// The host names that `object` leads somewhere.
pub(super) fn hostnames(object: &DynamicObject) -> impl Iterator<Item = &str> {
    let routes = object.data.pointer("/spec/hostnames");
    let routes = routes.and_then(Value::as_array).into_iter().flatten();
    let rules = object.data.pointer("/spec/rules");
    let rules = rules.and_then(Value::as_array).into_iter().flatten();
    routes
        .chain(rules.filter_map(|rule| rule.get("host")))
        .filter_map(Value::as_str)
}

fn facts(snapshot: &Snapshot, node: &str, endpoint: &str) -> Option<PublicFacts> {
    let evidence = snapshot.allocations().get(node)?.get(endpoint)?;
    let allocation: Allocation = serde_json::from_value(evidence.clone()).ok()?;
    allocation.public
}

/// One PUBLIC endpoint on its way to the edge.
struct Route<'a> {
    node: &'a Node<'a>,
    endpoint: &'a Endpoint,
    facts: PublicFacts,
    name: String,
    owner: &'a Owner,
}

impl Route<'_> {
    fn metadata(&self) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
        self.owner
            .metadata(self.name.clone(), self.node.name, self.node.slug)
    }

    fn hostnames(&self) -> Option<Vec<String>> {
        self.facts.hostname.clone().map(|hostname| vec![hostname])
    }

    fn service(&self) -> String {
        names::workload(&self.owner.name, self.node.name)
    }

    fn port(&self) -> i32 {
        i32::from(self.endpoint.target_port)
    }

    fn http(&self, gateway: &GatewayReference) -> HttpRoute {
        let path = self.facts.path.clone().map(|path| HttpRouteRulesMatches {
            path: Some(HttpRouteRulesMatchesPath {
                r#type: Some(HttpRouteRulesMatchesPathType::PathPrefix),
                value: Some(path),
            }),
            ..HttpRouteRulesMatches::default()
        });
        HttpRoute {
            metadata: self.metadata(),
            spec: HttpRouteSpec {
                hostnames: self.hostnames(),
                parent_refs: Some(vec![HttpRouteParentRefs {
                    name: gateway.name.clone(),
                    namespace: Some(gateway.namespace.clone()),
                    section_name: gateway.section_name.clone(),
                    ..HttpRouteParentRefs::default()
                }]),
                rules: Some(vec![HttpRouteRules {
                    matches: path.map(|path| vec![path]),
                    backend_refs: Some(vec![HttpRouteRulesBackendRefs {
                        name: self.service(),
                        port: Some(self.port()),
                        ..HttpRouteRulesBackendRefs::default()
                    }]),
                    ..HttpRouteRules::default()
                }]),
            },
            status: None,
        }
    }

    fn grpc(&self, gateway: &GatewayReference) -> GrpcRoute {
        GrpcRoute {
            metadata: self.metadata(),
            spec: GrpcRouteSpec {
                hostnames: self.hostnames(),
                parent_refs: Some(vec![GrpcRouteParentRefs {
                    name: gateway.name.clone(),
                    namespace: Some(gateway.namespace.clone()),
                    section_name: gateway.section_name.clone(),
                    ..GrpcRouteParentRefs::default()
                }]),
                rules: Some(vec![GrpcRouteRules {
                    backend_refs: Some(vec![GrpcRouteRulesBackendRefs {
                        name: self.service(),
                        port: Some(self.port()),
                        ..GrpcRouteRulesBackendRefs::default()
                    }]),
                    ..GrpcRouteRules::default()
                }]),
            },
            status: None,
        }
    }

    fn ingress(&self, ingress: &IngressEdge, scheme: Scheme) -> Ingress {
        let mut metadata = self.metadata();
        metadata.annotations =
            (!ingress.annotations.is_empty()).then(|| ingress.annotations.clone());
        let tls = IngressTLS {
            hosts: self.hostnames(),
            secret_name: (ingress.certificates == Certificates::PerHost)
                .then(|| format!("{}-tls", self.name)),
        };
        Ingress {
            metadata,
            spec: Some(IngressSpec {
                ingress_class_name: Some(ingress.class_name.clone()),
                rules: Some(vec![IngressRule {
                    host: self.facts.hostname.clone(),
                    http: Some(HTTPIngressRuleValue {
                        paths: vec![HTTPIngressPath {
                            path: Some(self.facts.path.clone().unwrap_or_else(|| "/".to_owned())),
                            path_type: "Prefix".to_owned(),
                            backend: IngressBackend {
                                service: Some(IngressServiceBackend {
                                    name: self.service(),
                                    port: Some(ServiceBackendPort {
                                        number: Some(self.port()),
                                        name: None,
                                    }),
                                }),
                                resource: None,
                            },
                        }],
                    }),
                }]),
                tls: (scheme == Scheme::Https).then(|| vec![tls]),
                ..IngressSpec::default()
            }),
            status: None,
        }
    }
}
