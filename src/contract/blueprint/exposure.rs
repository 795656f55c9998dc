//! Exposure of endpoints (blueprint §4.3, BP-NODE-005).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use super::Node;
use super::assess::{self, Graph};
use crate::contract::component::endpoint::{Endpoint, Property};
use crate::contract::component::{Component, ComponentType, output};
use crate::contract::findings::Findings;
use crate::document::diagnostic::{Code, Diagnostic};

/// Whether an endpoint is reachable from outside the installation.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
    IntoStaticStr,
)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Exposure {
    /// Routed from the public edge.
    Public,
    /// For the platform and sibling nodes only.
    #[default]
    Private,
}

/// Exposure names endpoints that may be exposed, and exposes what outputs read (BP-NODE-005).
pub(super) fn check(graph: &Graph<'_>, findings: &mut Findings<'_>) {
    // Of each component once, however many nodes deploy it.
    let mut read = BTreeMap::new();
    for (name, node, component) in graph.nodes() {
        if findings.is_full() {
            return;
        }
        check_choices(name, node, component, findings);
        let public = read
            .entry(std::ptr::from_ref(component))
            .or_insert_with(|| public_reads(component));
        check_outputs(name, node, public, findings);
    }
}

fn check_choices(name: &str, node: &Node, component: &Component, findings: &mut Findings<'_>) {
    let endpoints = component
        .spec
        .workload
        .as_ref()
        .map(|workload| &workload.endpoints);
    for (endpoint, exposure) in &node.exposure {
        let problem = match endpoints.and_then(|endpoints| endpoints.get(endpoint)) {
            None => Some((
                Code::UnknownEndpoint,
                format!(
                    "the component has no endpoint `{endpoint}`; correct the name or remove the choice"
                ),
            )),
            Some(declared) if *exposure == Exposure::Public => {
                unexposable(component, endpoint, declared)
            }
            Some(_) => None,
        };
        if let Some((code, message)) = problem {
            findings.push(
                code,
                assess::pointer(name).child("exposure").child(endpoint),
                message,
            );
        }
    }
}

fn unexposable(component: &Component, name: &str, endpoint: &Endpoint) -> Option<(Code, String)> {
    match component.spec.r#type {
        ComponentType::Worker => Some((
            Code::EndpointNotExposable,
            format!(
                "`{name}` belongs to a WORKER, whose endpoints are never public; make it PRIVATE"
            ),
        )),
        ComponentType::Service if endpoint.protocol.is_http_family() && !is_probed(component) => {
            Some((
                Code::ReadinessRequired,
                format!(
                    "`{name}` cannot be PUBLIC while the component declares no readiness probe; add `workload.health.readiness` \
                 to the component, or make it PRIVATE"
                ),
            ))
        }
        _ => None,
    }
}

fn is_probed(component: &Component) -> bool {
    component
        .spec
        .workload
        .as_ref()
        .is_some_and(|workload| workload.health.readiness.is_some())
}

/// A public property of an endpoint that an output reads.
struct PublicRead<'a> {
    output: &'a str,
    endpoint: String,
    property: Property,
}

fn public_reads(component: &Component) -> Vec<PublicRead<'_>> {
    let outputs = component.spec.contract.outputs.iter();
    let reads = outputs.flat_map(|(output, declared)| {
        output::addresses(declared)
            .into_iter()
            .map(move |(endpoint, property)| PublicRead {
                output,
                endpoint,
                property,
            })
    });
    reads.filter(|read| read.property.is_public()).collect()
}

fn check_outputs(name: &str, node: &Node, public: &[PublicRead<'_>], findings: &mut Findings<'_>) {
    for PublicRead {
        output,
        endpoint,
        property,
    } in public
    {
        if node.exposure(endpoint) == Exposure::Public {
            continue;
        }
        let path = assess::pointer(name);
        let path = if node.exposure.contains_key(endpoint) {
            path.child("exposure").child(endpoint)
        } else {
            path.child("componentRef")
        };
        let message = format!(
            "output `{output}` reads `{property}` of endpoint `{endpoint}`, which is not public; set \
             `exposure: {{ {endpoint}: PUBLIC }}`"
        );
        findings.add(
            Diagnostic::semantic(Code::EndpointNotPublic, path, message)
                .related(&node.component_ref, output::pointer(output)),
        );
    }
}
