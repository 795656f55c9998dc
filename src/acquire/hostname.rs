//! Host names of PUBLIC endpoints: those that `spec.hostnames` chooses, which domains a namespace may use, and what is to
//! be claimed. Pure.

use std::collections::BTreeMap;

use super::allocation::Allocations;
use super::findings::{Document, Findings};
use crate::api::installation::Hostnames;
use crate::api::platform::Domain;
use crate::contract::blueprint::exposure::Exposure;
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic};
use crate::document::pointer::Pointer;
use crate::resolution::context::Allocation;

/// The chosen host names: node → endpoint → host name.
pub type Chosen = BTreeMap<String, Hostnames>;

/// The host name that `chosen` has for an endpoint.
pub fn choice<'a>(chosen: &'a Chosen, node: &str, endpoint: &str) -> Option<&'a str> {
    let hostname = chosen.get(node)?.0.get(endpoint)?;
    Some(&hostname.0)
}

/// Where a host name is chosen.
pub(super) fn path(node: &str, endpoint: &str) -> Pointer {
    Pointer::of(["spec", "hostnames", node, endpoint])
}

/// Adds every choice that can come to nothing: it names no PUBLIC endpoint of the HTTP family, or a host name that was
/// chosen before.
pub fn check(chosen: &Chosen, contracts: &Contracts, findings: &mut Findings) {
    let mut before = BTreeMap::new();
    for (node, hostnames) in chosen {
        for (endpoint, hostname) in &hostnames.0 {
            let place = (node.as_str(), endpoint.as_str());
            let fault = fault(node, endpoint, contracts).or_else(|| {
                let (node, endpoint) = before.insert(hostname.0.as_str(), place)?;
                let message = format!(
                    "{} is chosen for endpoint {endpoint} of node {node} already; choose another for this one",
                    hostname.0
                );
                Some((Code::InvalidValue, message))
            });
            if let Some((code, message)) = fault {
                let diagnostic = Diagnostic::semantic(code, path(node, endpoint), message);
                findings.wrong(Document::Installation, diagnostic);
            }
        }
    }
}

fn fault(node: &str, name: &str, contracts: &Contracts) -> Option<(Code, String)> {
    let Some(authored) = contracts.blueprint.spec.components.get(node) else {
        let message = format!("the blueprint has no node {node}; correct its name");
        return Some((Code::UnknownNode, message));
    };
    let workload = contracts.component(node).spec.workload.as_ref();
    let Some(endpoint) = workload.and_then(|workload| workload.endpoints.get(name)) else {
        let message = format!("node {node} has no endpoint {name}; correct its name");
        return Some((Code::UnknownEndpoint, message));
    };
    if authored.exposure(name) != Exposure::Public {
        let message = format!(
            "endpoint {name} of node {node} is not PUBLIC, so that no host name leads to it; leave it out"
        );
        return Some((Code::EndpointNotPublic, message));
    }
    (!endpoint.protocol.is_http_family()).then(|| {
        let message = format!(
            "endpoint {name} of node {node} speaks {}, which has an address of its own instead of a host name; leave it out",
            endpoint.protocol
        );
        (Code::EndpointNotHttp, message)
    })
}

/// The domains of an edge, as one namespace sees them.
#[derive(Clone, Copy, Debug)]
pub struct Domains<'a> {
    /// All of them.
    pub all: &'a [Domain],
    /// The namespace.
    pub namespace: &'a str,
}

impl<'a> Domains<'a> {
    /// Those that the namespace may use.
    pub fn allowed(self) -> impl Iterator<Item = &'a str> {
        let allowed = self.all.iter().filter(move |domain| self.may_use(domain));
        allowed.map(|domain| domain.domain.as_str())
    }

    /// Whether the namespace may use `hostname`: it is the domain or below it. Of several such domains the longest
    /// decides, so that one that is kept for some stays theirs below another that is for all.
    pub fn allow(self, hostname: &str) -> bool {
        let around = self.all.iter().filter(|domain| {
            hostname
                .strip_suffix(domain.domain.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        });
        // One domain may be listed more than once.
        let longest = around.clone().map(|domain| domain.domain.len()).max();
        around
            .filter(|domain| Some(domain.domain.len()) == longest)
            .any(|domain| self.may_use(domain))
    }

    fn may_use(self, domain: &Domain) -> bool {
        let named = |namespaces: &Vec<String>| namespaces.iter().any(|name| name == self.namespace);
        domain.namespaces.as_ref().is_none_or(named)
    }
}

/// What `namespace` sees of `domains`: those that it may use, and nothing of who else may.
pub fn own(domains: &[Domain], namespace: &str) -> Vec<Domain> {
    let seen = Domains {
        all: domains,
        namespace,
    };
    let own = seen.allowed().map(|domain| Domain {
        domain: domain.to_owned(),
        namespaces: None,
    });
    own.collect()
}

/// A host name that an endpoint is reached by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Public {
    /// The host name.
    pub hostname: String,
    node: String,
    endpoint: String,
}

/// The host names of `allocations` that are to be claimed, in an order in which any two Installations claim them. An
/// address that a load balancer gives is nobody's choice.
pub fn of(allocations: &Allocations) -> impl Iterator<Item = Public> {
    let mut found: Vec<Public> = Vec::new();
    for (node, endpoints) in allocations {
        for (endpoint, evidence) in endpoints {
            let allocation = serde_json::from_value::<Allocation>(evidence.clone()).ok();
            let facts = allocation.and_then(|allocation| allocation.public);
            let facts = facts.filter(|facts| facts.scheme.is_some());
            found.extend(
                facts
                    .and_then(|facts| facts.hostname)
                    .map(|hostname| Public {
                        hostname,
                        node: node.clone(),
                        endpoint: endpoint.clone(),
                    }),
            );
        }
    }
    found.sort();
    found.into_iter()
}

impl Public {
    /// Adds that somebody else has it: `holder` says who, as far as that may be told.
    pub fn taken(&self, chosen: &Chosen, holder: &str, findings: &mut Findings) {
        let Self {
            hostname,
            node,
            endpoint,
        } = self;
        let (document, path) = if choice(chosen, node, endpoint) == Some(hostname) {
            (Document::Installation, path(node, endpoint))
        } else {
            let exposure = Pointer::of(["spec", "components", node, "exposure", endpoint]);
            (Document::Blueprint, exposure)
        };
        findings.wait(
            document,
            "BP-NODE-005",
            path,
            missing(hostname),
            format!(
                "host name {hostname} of endpoint {endpoint} of node {node} is taken: {holder}. Choose another under spec.hostnames, or wait until it is let go"
            ),
        );
    }
}

/// What is missing where `hostname` is somebody else's.
pub fn missing(hostname: &str) -> String {
    format!("hostname:{hostname}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_domains_of_others_are_not_seen() {
        let domains =
            |domains| -> Vec<Domain> { serde_json::from_value(domains).expect("domains") };
        let before = domains(json!([
            {"domain": "example.org"},
            {"domain": "ops.example.org", "namespaces": ["ops"]},
            {"domain": "demo.example.org", "namespaces": ["demo", "ops"]},
        ]));
        let after = domains(json!([
            {"domain": "example.org", "namespaces": ["demo"]},
            {"domain": "demo.example.org", "namespaces": ["demo"]},
        ]));
        assert_eq!(own(&before, "demo"), own(&after, "demo"));
        assert_ne!(own(&before, "ops"), own(&after, "ops"));
    }

    #[test]
    fn the_longest_domain_around_a_host_name_says_who_may_use_it() {
        let all: Vec<Domain> = serde_json::from_value(json!([
            {"domain": "example.org"},
            {"domain": "ops.example.org", "namespaces": ["ops"]},
            {"domain": "secret.test", "namespaces": ["ops"]},
        ]))
        .expect("domains");
        for (hostname, demo, ops) in [
            ("example.org", true, true),
            ("wiki.example.org", true, true),
            ("a.wiki.example.org", true, true),
            ("ops.example.org", false, true),
            ("wiki.ops.example.org", false, true),
            ("devops.example.org", true, true),
            ("myexample.org", false, false),
            ("wiki.secret.test", false, true),
            ("elsewhere.test", false, false),
        ] {
            let allow = |namespace| {
                let all = &all;
                Domains { all, namespace }.allow(hostname)
            };
            assert_eq!((allow("demo"), allow("ops")), (demo, ops), "{hostname}");
        }
    }

    #[test]
    fn host_names_are_claimed_in_one_order_and_addresses_not_at_all() {
        let evidence = |hostname: &str, scheme: Option<&str>| json!({"identity": "a", "version": "1", "public": {"hostname": hostname, "scheme": scheme}});
        let mut allocations = Allocations::new();
        for (node, hostname, scheme) in [
            ("a", "z.example.org", Some("https")),
            ("b", "a.example.org", Some("wss")),
            ("c", "192.0.2.1", None),
        ] {
            let mut evidence = evidence(hostname, scheme);
            if scheme.is_none() {
                evidence["public"]
                    .as_object_mut()
                    .expect("facts")
                    .remove("scheme");
            }
            allocations.insert(node.into(), [("http".to_owned(), evidence)].into());
        }
        let found: Vec<String> = of(&allocations).map(|public| public.hostname).collect();
        assert_eq!(found, ["a.example.org", "z.example.org"]);
    }
}
