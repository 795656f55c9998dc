//! Endpoint allocation: private names from the Service that a node will have and the cluster's domain, public ones from
//! the domains of the edge, chosen ones, or addresses that load balancers have given. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::address::{self, Addresses};
use super::findings::{Document, Findings};
use super::hostname::{self, Chosen, Domains};
use crate::api::names;
use crate::api::platform::{Domain, Edge, Scheme};
use crate::contract::blueprint::exposure::Exposure;
use crate::contract::component::endpoint::{Endpoint, Protocol};
use crate::contract::contracts::Contracts;
use crate::document::pointer::Pointer;
use crate::resolution::context::{Allocation, PublicFacts};

/// Allocations as a resolution context takes them: node → endpoint → evidence.
pub type Allocations = BTreeMap<String, BTreeMap<String, Value>>;

/// Whose endpoints get an address, and from what.
pub struct Allocator<'a> {
    /// The Installation's name.
    pub installation: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The DNS domain of the cluster's Services.
    pub cluster_domain: &'a str,
    /// The edge that PUBLIC endpoints are reached through.
    pub edge: Option<&'a Edge>,
    /// The domains that host names are given under now: who may use which is never pinned.
    pub domains: &'a [Domain],
    /// The host names that the spec chooses.
    pub chosen: &'a Chosen,
    /// What load balancers have given.
    pub addresses: &'a Addresses,
    /// The allocations before.
    pub before: &'a Allocations,
    /// The host names that were chosen for those. They are kept as they are; but for a choice that is another now.
    /// `None` where everything is selected anew.
    pub kept: Option<&'a Chosen>,
    /// Evidence from outside, which stands as it is.
    pub given: &'a Allocations,
}

/// An endpoint on its way to an address.
#[derive(Clone, Copy)]
struct Place<'a> {
    node: &'a str,
    name: &'a str,
    endpoint: &'a Endpoint,
}

impl Allocator<'_> {
    /// Allocates an address to every endpoint of every node of `contracts`. What was allocated before under the same
    /// identity is kept; what may change and does gets the next version, so that no version ever means two things. A
    /// public address that cannot be given is missing.
    pub fn allocate(&self, contracts: &Contracts, findings: &mut Findings) -> Allocations {
        hostname::check(self.chosen, contracts, findings);
        let mut allocations = self.given.clone();
        for (node, contract) in &contracts.components {
            let Some(running) = &contract.component.spec.workload else {
                continue;
            };
            let authored = &contracts.blueprint.spec.components[node];
            let given = self.given.get(node);
            let is_given = |name: &String| given.is_some_and(|given| given.contains_key(name));
            for (name, endpoint) in running.endpoints.iter().filter(|(name, _)| !is_given(name)) {
                let place = Place {
                    node,
                    name,
                    endpoint,
                };
                let before = self.before_of(node, name);
                let public = (authored.exposure(name) == Exposure::Public)
                    .then(|| {
                        let before = before.as_ref().and_then(|before| before.public.as_ref());
                        self.public(place, before, findings)
                    })
                    .flatten();
                let evidence = choose(self.fresh(node, name, public), before, self.kept.is_some());
                allocations.entry(node.clone()).or_default().insert(
                    name.clone(),
                    serde_json::to_value(evidence).expect("an allocation is plain data"),
                );
            }
        }
        allocations
    }

    fn before_of(&self, node: &str, endpoint: &str) -> Option<Allocation> {
        let evidence = self.before.get(node)?.get(endpoint)?;
        serde_json::from_value(evidence.clone()).ok()
    }

    fn fresh(&self, node: &str, endpoint: &str, public: Option<PublicFacts>) -> Allocation {
        let service = names::workload(self.installation, node);
        let namespace = self.namespace;
        Allocation {
            identity: format!("{namespace}/{service}/{endpoint}"),
            version: "1".to_owned(),
            private_hostname: Some(format!("{service}.{namespace}.svc.{}", self.cluster_domain)),
            public,
        }
    }

    /// The public facts of an endpoint, as far as the edge has any for this namespace.
    fn public(
        &self,
        place: Place,
        before: Option<&PublicFacts>,
        findings: &mut Findings,
    ) -> Option<PublicFacts> {
        let is_http = place.endpoint.protocol.is_http_family();
        // An endpoint whose protocol is of another family now has no address yet.
        let before = before.filter(|before| before.scheme.is_some() == is_http);
        if is_http {
            self.hostname(place, before, findings)
        } else {
            self.address(place, before, findings)
        }
    }

    /// A host name under a domain, for the HTTP family.
    fn hostname(
        &self,
        place: Place,
        before: Option<&PublicFacts>,
        findings: &mut Findings,
    ) -> Option<PublicFacts> {
        let Place {
            node,
            name,
            endpoint,
        } = place;
        let choice = hostname::choice(self.chosen, node, name);
        if let (Some(before), Some(kept)) = (before, self.kept)
            && choice == hostname::choice(kept, node, name)
        {
            let spoken = match before.scheme.as_deref() {
                Some("http" | "ws") => Scheme::Http,
                _ => Scheme::Https,
            };
            return Some(PublicFacts {
                scheme: Some(scheme(spoken, endpoint.protocol).to_owned()),
                ..before.clone()
            });
        }
        let routes = |edge: &&Edge| edge.gateway.is_some() || edge.ingress.is_some();
        let Some(edge) = self.edge.filter(routes) else {
            let remedy = format!(
                "endpoint {name} of node {node} is PUBLIC and the cluster has no edge for it: give the Platform an edge with a gateway or an ingress, or expose the endpoint as PRIVATE"
            );
            place.wait("edge", remedy, findings);
            return None;
        };
        Some(PublicFacts {
            hostname: Some(self.name(place, choice, before, findings)?),
            port: edge.port,
            scheme: Some(scheme(edge.scheme, endpoint.protocol).to_owned()),
            path: None,
        })
    }

    /// The chosen host name, or one that is told apart by a hash, where the namespace may use its domain: that which the
    /// endpoint has, or else the first.
    fn name(
        &self,
        place: Place,
        choice: Option<&str>,
        before: Option<&PublicFacts>,
        findings: &mut Findings,
    ) -> Option<String> {
        let Place { node, name, .. } = place;
        let domains = Domains {
            all: self.domains,
            namespace: self.namespace,
        };
        match (choice, domains.allowed().next()) {
            (Some(choice), _) if domains.allow(choice) => Some(choice.to_owned()),
            (None, Some(domain)) => {
                let label = names::hostname(self.namespace, self.installation, node, name);
                let below = |domain: &str| format!("{label}.{domain}");
                let before = before.and_then(|before| before.hostname.as_ref());
                let mut all = domains.allowed().map(below);
                all.find(|name| Some(name) == before)
                    .or_else(|| Some(below(domain)))
            }
            (Some(choice), Some(_)) => {
                let allowed: Vec<&str> = domains.allowed().collect();
                findings.wait(
                    Document::Installation,
                    "BP-NODE-005",
                    hostname::path(node, name),
                    format!("domain:{choice}"),
                    format!(
                        "namespace {} may not use host name {choice}: choose one that is or is below {}, or add its domain under edge.domains of the Platform",
                        self.namespace,
                        allowed.join(" or ")
                    ),
                );
                None
            }
            (_, None) => {
                let remedy = format!(
                    "endpoint {name} of node {node} is PUBLIC and namespace {} may use no domain of the edge: add it to one under edge.domains of the Platform",
                    self.namespace
                );
                place.wait("domain", remedy, findings);
                None
            }
        }
    }

    /// An address of its own, for TCP and UDP: a load balancer gives it to the Service of the endpoint.
    fn address(
        &self,
        place: Place,
        before: Option<&PublicFacts>,
        findings: &mut Findings,
    ) -> Option<PublicFacts> {
        let Place {
            node,
            name,
            endpoint,
        } = place;
        let known = self.addresses.get(node).and_then(|node| node.get(name));
        let known = known.map(Vec::as_slice).unwrap_or_default();
        let before = before.and_then(|before| before.hostname.as_ref());
        let before = before.filter(|before| self.kept.is_some() || known.contains(before));
        let facts = |hostname: &String| PublicFacts {
            hostname: Some(hostname.clone()),
            port: Some(endpoint.target_port),
            ..PublicFacts::default()
        };
        let is_offered = self.edge.is_some_and(|edge| edge.load_balancer.is_some());
        if let Some(address) = before.or(known.first()).filter(|_| is_offered) {
            return Some(facts(address));
        }
        if !is_offered {
            let remedy = format!(
                "endpoint {name} of node {node} is PUBLIC and nothing gives it an address: give the Platform an edge with a loadBalancer, or expose the endpoint as PRIVATE"
            );
            place.wait("edge", remedy, findings);
        } else {
            let service = names::route(self.installation, node, name);
            let remedy = format!(
                "endpoint {name} of node {node} waits until the load balancer has given Service {service} an address: see its events, and whether the cluster has a controller of load balancers"
            );
            place.wait(ADDRESS, remedy, findings);
        }
        None
    }
}

/// What is missing where a load balancer has given no address yet: this, the node and the endpoint.
const ADDRESS: &str = "address";

/// Whether all that `findings` have is addresses that are awaited, and what follows from them.
pub fn awaits_addresses_alone(findings: &Findings) -> bool {
    let kinds = findings.missing.iter().map(|missing| {
        let missing = missing.deferred.missing.as_str();
        missing.split_once(':').map_or(missing, |(kind, _)| kind)
    });
    let kinds: Vec<&str> = kinds.collect();
    findings.diagnostics.is_empty()
        && kinds.contains(&ADDRESS)
        && kinds
            .iter()
            .all(|kind| [ADDRESS, "allocation"].contains(kind))
}

/// `allocations` as they may be once every address is there that `contracts` lack.
pub fn supposed(contracts: &Contracts, allocations: &Allocations) -> Allocations {
    let mut supposed = allocations.clone();
    for (node, name, endpoint) in address::public(contracts) {
        let evidence = supposed
            .get_mut(node)
            .and_then(|endpoints| endpoints.get_mut(name))
            .and_then(Value::as_object_mut);
        if let Some(evidence) = evidence {
            let facts = json!({"hostname": "supposed.invalid", "port": endpoint.target_port});
            evidence.entry("public").or_insert(facts);
        }
    }
    supposed
}

impl Place<'_> {
    fn wait(self, what: &str, remedy: String, findings: &mut Findings) {
        let Self { node, name, .. } = self;
        let path = Pointer::of(["spec", "components", node, "exposure", name]);
        let missing = format!("{what}:{node}:{name}");
        findings.wait(Document::Blueprint, "BP-NODE-005", path, missing, remedy);
    }
}

/// What a URL of the endpoint begins with: a web socket has schemes of its own.
fn scheme(edge: Scheme, protocol: Protocol) -> &'static str {
    match (edge, protocol) {
        (Scheme::Http, Protocol::Ws) => "ws",
        (Scheme::Https, Protocol::Ws) => "wss",
        (Scheme::Http, _) => "http",
        (Scheme::Https, _) => "https",
    }
}

fn choose(fresh: Allocation, before: Option<Allocation>, keep: bool) -> Allocation {
    match before.filter(|before| before.identity == fresh.identity) {
        Some(before) if keep && before.public == fresh.public => before,
        Some(before)
            if before.private_hostname == fresh.private_hostname
                && before.public == fresh.public =>
        {
            before
        }
        Some(before) => {
            let next = before
                .version
                .parse::<u64>()
                .map_or(1, |version| version + 1);
            Allocation {
                version: next.to_string(),
                ..fresh
            }
        }
        None => fresh,
    }
}

#[cfg(test)]
mod tests;
