//! Endpoint allocation: private names from the Service that a node will have and the cluster's domain, public ones from
//! the domains of the edge. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use super::findings::{Document, Findings};
use crate::api::names;
use crate::api::platform::{Edge, Scheme};
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
    /// The allocations before.
    pub before: &'a Allocations,
    /// Whether those are kept as they are.
    pub keep: bool,
    /// Evidence from outside, which stands as it is.
    pub given: &'a Allocations,
}

impl Allocator<'_> {
    /// Allocates an address to every endpoint of every node of `contracts`. What was allocated before under the same
    /// identity is kept; what may change and does gets the next version, so that no version ever means two things. A
    /// public address that cannot be given is missing.
    pub fn allocate(&self, contracts: &Contracts, findings: &mut Findings) -> Allocations {
        let mut allocations = self.given.clone();
        for (node, contract) in &contracts.components {
            let Some(running) = &contract.component.spec.workload else {
                continue;
            };
            let authored = &contracts.blueprint.spec.components[node];
            let given = self.given.get(node);
            let is_given = |name: &String| given.is_some_and(|given| given.contains_key(name));
            for (name, endpoint) in running.endpoints.iter().filter(|(name, _)| !is_given(name)) {
                let before = self.before_of(node, name);
                let is_public = authored.exposure(name) == Exposure::Public;
                let public = match before.as_ref().and_then(|before| before.public.clone()) {
                    _ if !is_public => None,
                    Some(facts) if self.keep => Some(facts),
                    _ => self.public(node, name, endpoint, findings),
                };
                let evidence = choose(self.fresh(node, name, public), before, self.keep);
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
        node: &str,
        name: &str,
        endpoint: &Endpoint,
        findings: &mut Findings,
    ) -> Option<PublicFacts> {
        let mut wait = |missing: String, remedy: String| {
            let path = Pointer::of(["spec", "components", node, "exposure", name]);
            findings.wait(Document::Blueprint, "BP-NODE-005", path, missing, remedy);
            None
        };
        if !endpoint.protocol.is_http_family() {
            return wait(
                format!("support:exposure:{node}:{name}"),
                format!(
                    "this version gives no address to PUBLIC endpoints of TCP and UDP yet: endpoint {name} of node {node} waits for a version that does"
                ),
            );
        }
        let routes = |edge: &&Edge| edge.gateway.is_some() || edge.ingress.is_some();
        let Some(edge) = self.edge.filter(routes) else {
            return wait(
                format!("edge:{node}:{name}"),
                format!(
                    "endpoint {name} of node {node} is PUBLIC and the cluster has no edge for it: give the Platform an edge with a gateway or an ingress, or expose the endpoint as PRIVATE"
                ),
            );
        };
        match self.domain(edge) {
            Some(domain) => Some(PublicFacts {
                hostname: Some(format!(
                    "{}.{domain}",
                    names::hostname(self.namespace, self.installation, node, name)
                )),
                port: edge.port,
                scheme: Some(scheme(edge.scheme, endpoint.protocol).to_owned()),
                path: None,
            }),
            None => wait(
                format!("domain:{node}:{name}"),
                format!(
                    "endpoint {name} of node {node} is PUBLIC and namespace {} may use no domain of the edge: add it to one under edge.domains of the Platform",
                    self.namespace
                ),
            ),
        }
    }

    /// The first domain that the namespace may use.
    fn domain<'e>(&self, edge: &'e Edge) -> Option<&'e str> {
        let may_use =
            |namespaces: &Vec<String>| namespaces.iter().any(|name| name == self.namespace);
        edge.domains
            .iter()
            .find(|domain| domain.namespaces.as_ref().is_none_or(may_use))
            .map(|domain| domain.domain.as_str())
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
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::platform::PlatformSpec;

    fn allocation(identity: &str, version: &str, host: &str) -> Allocation {
        Allocation {
            identity: identity.into(),
            version: version.into(),
            private_hostname: Some(host.into()),
            public: None,
        }
    }

    #[test]
    fn an_allocation_is_kept_until_its_facts_may_change_and_then_gets_another_version() {
        let fresh = || allocation("web", "1", "new");
        let before = || Some(allocation("web", "3", "old"));
        for (name, before, keep, version, host) in [
            ("first", None, true, "1", "new"),
            ("kept", before(), true, "3", "old"),
            ("changed by an update", before(), false, "4", "new"),
            (
                "unchanged by an update",
                Some(allocation("web", "3", "new")),
                false,
                "3",
                "new",
            ),
            (
                "of another workload",
                Some(allocation("other", "3", "old")),
                true,
                "1",
                "new",
            ),
        ] {
            let chosen = choose(fresh(), before, keep);
            assert_eq!(
                (chosen.version.as_str(), chosen.private_hostname.as_deref()),
                (version, Some(host)),
                "{name}"
            );
        }
    }

    #[test]
    fn an_endpoint_that_becomes_public_gets_another_version_even_where_addresses_are_kept() {
        let public = Some(PublicFacts {
            hostname: Some("wiki.example.org".into()),
            ..PublicFacts::default()
        });
        let fresh = Allocation {
            public: public.clone(),
            ..allocation("web", "1", "same")
        };
        let chosen = choose(fresh, Some(allocation("web", "3", "same")), true);
        assert_eq!((chosen.version.as_str(), chosen.public), ("4", public));
    }

    #[test]
    fn a_public_endpoint_gets_a_host_name_under_the_first_domain_that_its_namespace_may_use() {
        let domains = json!([
            {"domain": "internal.example.org", "namespaces": ["ops"]},
            {"domain": "apps.example.org"},
        ]);
        let gateway = json!({"name": "edge", "namespace": "gateway-system"});
        for (platform, namespace, protocol, expected) in [
            (json!({}), "demo", "HTTP", "edge:web:web"),
            (
                json!({"edge": {"domains": domains}}),
                "demo",
                "HTTP",
                "edge:web:web",
            ),
            (
                json!({"edge": {"domains": [domains[0]], "gateway": gateway}}),
                "demo",
                "HTTP",
                "domain:web:web",
            ),
            (
                json!({"edge": {"domains": domains, "gateway": gateway}}),
                "demo",
                "HTTP",
                "https://wiki-web-web-revtbcbj.apps.example.org",
            ),
            (
                json!({"edge": {"domains": domains, "gateway": gateway}}),
                "ops",
                "WS",
                "wss://wiki-web-web-4bq3gld4.internal.example.org",
            ),
            (
                json!({"edge": {"domains": domains, "gateway": gateway, "scheme": "http", "port": 8080}}),
                "demo",
                "GRPC",
                "http://wiki-web-web-revtbcbj.apps.example.org:8080",
            ),
        ] {
            let platform: PlatformSpec = serde_json::from_value(platform).expect("a platform");
            let allocator = Allocator {
                installation: "wiki",
                namespace,
                cluster_domain: &platform.cluster_domain,
                edge: platform.edge.as_ref(),
                before: &Allocations::new(),
                keep: false,
                given: &Allocations::new(),
            };
            let endpoint = serde_json::from_value(json!({"targetPort": 80, "protocol": protocol}));
            let mut findings = Findings::default();
            let facts =
                allocator.public("web", "web", &endpoint.expect("an endpoint"), &mut findings);
            let found = match facts {
                Some(PublicFacts {
                    hostname,
                    port,
                    scheme,
                    ..
                }) => format!(
                    "{}://{}{}",
                    scheme.expect("a scheme"),
                    hostname.expect("a host name"),
                    port.map(|port| format!(":{port}")).unwrap_or_default()
                ),
                None => findings.missing[0].deferred.missing.clone(),
            };
            assert_eq!(found, expected);
        }
    }
}
