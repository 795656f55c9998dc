//! Stage `allocation`: the routing facts of endpoints, checked before anything is derived from them. An allocation is
//! evidence: what is malformed, contradicts the documents or says more than it may is refused, never trimmed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::address;
use super::findings::{self, Findings};
use crate::contract::blueprint::exposure::Exposure;
use crate::contract::component::endpoint::{Endpoint, Property};
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Stage};
use crate::resolution::context::{Allocation, Context, PublicFacts};

/// The checked allocations; what was refused is known to be so.
pub(in crate::resolution) struct Addresses<'a> {
    contracts: &'a Contracts,
    allocations: BTreeMap<(&'a str, &'a str), Result<Allocation, Refused>>,
}

/// Evidence that has been reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::resolution) struct Refused;

impl Addresses<'_> {
    /// The value of a property; nothing when a fact that it needs has not been allocated.
    ///
    /// # Errors
    /// [`Refused`] when the allocation has been reported as wrong, so that nothing about it is missing.
    pub(in crate::resolution) fn read(
        &self,
        node: &str,
        endpoint: &str,
        property: Property,
    ) -> Result<Option<Value>, Refused> {
        let Some(declared) = endpoint_of(self.contracts, node, endpoint) else {
            return Ok(None);
        };
        let allocation = match self.allocations.get(&(node, endpoint)) {
            // The private port is the component's own, whatever the evidence says.
            Some(Err(refused)) if property != Property::PrivatePort => return Err(*refused),
            Some(Ok(allocation)) => Some(allocation),
            _ => None,
        };
        Ok(address::derive(property, declared, allocation))
    }
}

/// Checks every allocation of the context (component §5.2).
///
/// Reports ERR_INVALID_RESOLUTION_CONTEXT, once for each allocation that is wrong.
pub(in crate::resolution) fn check<'a>(
    contracts: &'a Contracts,
    context: &'a Context,
    findings: &mut Findings,
) -> Addresses<'a> {
    let mut allocations = BTreeMap::new();
    let mut refuse = |path, message| {
        findings.wrong(
            Stage::Allocation,
            Code::InvalidResolutionContext,
            path,
            message,
        );
        Refused
    };
    for (node, endpoints) in &context.allocations {
        if !contracts.components.contains_key(node) {
            refuse(
                findings::components(),
                format!(
                    "endpoints are allocated to `{node}`, which is no node of the blueprint; drop the allocation"
                ),
            );
            continue;
        }
        for (endpoint, evidence) in endpoints {
            let checked = allocation(contracts, node, endpoint, evidence).map_err(|fault| {
                refuse(
                    findings::component_ref(node),
                    format!("the allocation of endpoint `{endpoint}` {fault}; allocate it anew"),
                )
            });
            allocations.insert((node.as_str(), endpoint.as_str()), checked);
        }
    }
    Addresses {
        contracts,
        allocations,
    }
}

/// The allocation that `evidence` is, or what is wrong with it.
fn allocation(
    contracts: &Contracts,
    node: &str,
    endpoint: &str,
    evidence: &Value,
) -> Result<Allocation, &'static str> {
    let declared = endpoint_of(contracts, node, endpoint)
        .ok_or("is for an endpoint that the component does not declare")?;
    let allocation = Allocation::deserialize(evidence).map_err(|_| {
        "lacks identity or version, has a member of the wrong type, or has one beyond identity, version, privateHostname and public (hostname, port, scheme, path)"
    })?;
    let exposure = findings::authored(contracts, node).exposure(endpoint);
    let named = !allocation.identity.is_empty() && !allocation.version.is_empty();
    let host_is_valid =
        |hostname: &Option<String>| hostname.as_deref().is_none_or(address::is_host);
    match &allocation.public {
        _ if !named => Err("has an empty identity or version"),
        _ if !host_is_valid(&allocation.private_hostname) => {
            Err("has a privateHostname that is more or less than a host")
        }
        None => Ok(allocation),
        Some(_) if exposure != Exposure::Public => {
            Err("has public facts although the endpoint is not exposed as PUBLIC")
        }
        Some(facts) if !host_is_valid(&facts.hostname) => {
            Err("has a public hostname that is more or less than a host")
        }
        Some(facts) => public_fault(facts, declared).map_or(Ok(allocation.clone()), Err),
    }
}

/// What is wrong with facts of the public edge, apart from their host.
fn public_fault(facts: &PublicFacts, endpoint: &Endpoint) -> Option<&'static str> {
    const SCHEMES: [&str; 4] = ["http", "https", "ws", "wss"];
    let path_is_valid = |path: &str| {
        let foreign = |c: char| matches!(c, '?' | '#' | '\\') || c.is_whitespace();
        path.starts_with('/') && !path.contains(foreign)
    };
    if facts.port == Some(0) {
        Some("has public port 0")
    } else if facts.port.is_none() && !endpoint.protocol.is_http_family() {
        Some("has public facts without a port, which TCP and UDP need")
    } else if facts
        .scheme
        .as_deref()
        .is_some_and(|scheme| !SCHEMES.contains(&scheme))
    {
        Some("has a scheme other than http, https, ws and wss")
    } else if facts
        .path
        .as_deref()
        .is_some_and(|path| !path_is_valid(path))
    {
        Some(
            "has a path that does not begin with `/`, or holds a query, fragment, white space or backslash",
        )
    } else {
        None
    }
}

fn endpoint_of<'a>(contracts: &'a Contracts, node: &str, endpoint: &str) -> Option<&'a Endpoint> {
    let workload = contracts.component(node).spec.workload.as_ref()?;
    workload.endpoints.get(endpoint)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::resolution::testing::{found, resolved};

    /// A public HTTP endpoint, a private one, and a public TCP one.
    const APP: &str = "
        nodes:
          web:
            endpoints:
              web: { targetPort: 8080, protocol: HTTP }
              admin: { targetPort: 9090, protocol: HTTP }
              db: { targetPort: 5432, protocol: TCP }
            exposure: { web: PUBLIC, db: PUBLIC }
            outputs:
              url: { schema: { type: string }, from: { endpoint: web, property: publicURL } }
        ";

    /// The allocation of `web.web` that the output needs, and another one beside it.
    fn allocated(endpoint: &str, facts: Value) -> Value {
        let url = json!({"hostname": "e.org", "scheme": "https"});
        let mut web = json!({"web": {"identity": "a", "version": "1", "public": url}});
        web[endpoint] = facts;
        json!({"allocations": {"web": web}})
    }

    #[test]
    fn facts_within_the_rules_are_taken() {
        for (name, endpoint, facts) in [
            (
                "nothing but its name",
                "admin",
                json!({"identity": "b", "version": "1"}),
            ),
            (
                "a private host name",
                "admin",
                json!({"identity": "b", "version": "1", "privateHostname": "admin.internal"}),
            ),
            (
                "every public fact",
                "web",
                json!({"identity": "b", "version": "1", "public": {"hostname": "e.org", "port": 65535, "scheme": "wss", "path": "/a/b"}}),
            ),
            (
                "a TCP port before its host is known",
                "db",
                json!({"identity": "b", "version": "1", "public": {"port": 1}}),
            ),
        ] {
            let context = allocated(endpoint, facts);
            assert_eq!(found(APP, &context), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn facts_that_are_malformed_or_contradict_are_refused_once() {
        let public = |facts: Value| json!({"identity": "b", "version": "1", "public": facts});
        for (name, endpoint, facts) in [
            ("no object", "admin", json!("admin.internal")),
            ("without identity", "admin", json!({"version": "1"})),
            (
                "empty identity",
                "admin",
                json!({"identity": "", "version": "1"}),
            ),
            (
                "empty version",
                "admin",
                json!({"identity": "b", "version": ""}),
            ),
            (
                "a member too many",
                "admin",
                json!({"identity": "b", "version": "1", "privatePort": 9090}),
            ),
            (
                "a null member",
                "admin",
                json!({"identity": "b", "version": "1", "privateHostname": null}),
            ),
            (
                "a private host with a port",
                "admin",
                json!({"identity": "b", "version": "1", "privateHostname": "a:1"}),
            ),
            (
                "public facts of a private endpoint",
                "admin",
                public(json!({"hostname": "e.org"})),
            ),
            (
                "an endpoint that is not declared",
                "other",
                json!({"identity": "b", "version": "1"}),
            ),
            (
                "a competing URL",
                "db",
                public(json!({"port": 1, "publicURL": "https://e.org"})),
            ),
            (
                "a null fact",
                "db",
                public(json!({"port": 1, "hostname": null})),
            ),
            (
                "a host with a path",
                "db",
                public(json!({"port": 1, "hostname": "e.org/x"})),
            ),
            (
                "TCP without a port",
                "db",
                public(json!({"hostname": "e.org"})),
            ),
            ("port zero", "db", public(json!({"port": 0}))),
            ("a port too high", "db", public(json!({"port": 65536}))),
            (
                "a port that is no integer",
                "db",
                public(json!({"port": 1.5})),
            ),
            (
                "a scheme of no web",
                "db",
                public(json!({"port": 1, "scheme": "ftp"})),
            ),
            (
                "a relative path",
                "db",
                public(json!({"port": 1, "path": "a"})),
            ),
            (
                "a path with a query",
                "db",
                public(json!({"port": 1, "path": "/a?b"})),
            ),
            (
                "a path with a fragment",
                "db",
                public(json!({"port": 1, "path": "/a#b"})),
            ),
            (
                "a path with white space",
                "db",
                public(json!({"port": 1, "path": "/a b"})),
            ),
            (
                "a path with a backslash",
                "db",
                public(json!({"port": 1, "path": "/a\\b"})),
            ),
        ] {
            let context = allocated(endpoint, facts);
            assert_eq!(
                found(APP, &context),
                ["allocation ERR_INVALID_RESOLUTION_CONTEXT /spec/components/web/componentRef"],
                "{name}"
            );
        }
    }

    #[test]
    fn endpoints_of_an_unknown_node_are_refused_at_the_nodes() {
        let mut context = allocated(
            "web",
            json!({"identity": "a", "version": "1", "public": {"hostname": "e.org", "scheme": "http"}}),
        );
        context["allocations"]["other"] = json!({"web": {}, "admin": {}});
        assert_eq!(
            found(APP, &context),
            ["allocation ERR_INVALID_RESOLUTION_CONTEXT /spec/components"],
        );
    }

    #[test]
    fn what_an_output_reads_of_refused_facts_is_not_missing_as_well() {
        let context = allocated("web", json!({"identity": "", "version": "1"}));
        assert_eq!(
            found(APP, &context),
            ["allocation ERR_INVALID_RESOLUTION_CONTEXT /spec/components/web/componentRef"],
        );
    }

    #[test]
    fn the_private_port_is_known_whatever_the_facts_say() {
        let app = "
            nodes:
              web:
                endpoints: { web: { targetPort: 8080, protocol: HTTP } }
                outputs:
                  port: { schema: { type: integer, maximum: 1024 }, from: { endpoint: web, property: privatePort } }
            ";
        let context = json!({"allocations": {"web": {"web": {"identity": "", "version": "1"}}}});
        assert_eq!(
            found(app, &context),
            [
                "allocation ERR_INVALID_RESOLUTION_CONTEXT /spec/components/web/componentRef",
                "values ERR_VALUE_CONSTRAINT /spec/components/web/componentRef (./web.yaml#/spec/contract/outputs/port)",
            ],
        );
    }

    #[test]
    fn a_fact_that_nothing_reads_is_not_needed() {
        let private_port = "
            nodes:
              web:
                endpoints: { web: { targetPort: 8080, protocol: HTTP } }
                outputs:
                  port: { schema: { type: integer }, from: { endpoint: web, property: privatePort } }
            ";
        let resolved = resolved(private_port, &json!({}));
        assert_eq!(resolved.outputs["web"]["port"].public(), Some(&json!(8080)));
    }

    #[test]
    fn each_fact_that_an_output_reads_is_deferred_once() {
        let app = "
            nodes:
              web:
                endpoints: { web: { targetPort: 8080, protocol: HTTP } }
                exposure: { web: PUBLIC }
                inputs: { own: { schema: { type: string } } }
                bindings: { own: { node: web, output: url } }
                outputs:
                  url: { schema: { type: string }, from: { endpoint: web, property: publicURL } }
                  again: { schema: { type: string }, from: { endpoint: web, property: publicURL } }
                  both: { schema: { type: string }, from: { template: '${{ self.endpoints.web.privateAddress }}|${{ self.endpoints.web.publicHostname }}' } }
            ";
        let deferred = |property: &str| {
            format!(
                "deferred BP-RESOLVE-001 /spec/components/web/componentRef allocation:web:web:{property}"
            )
        };
        assert_eq!(
            found(app, &json!({})),
            ["privateAddress", "publicHostname", "publicURL"].map(deferred),
        );
    }
}
