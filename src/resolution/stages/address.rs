//! The address properties of an endpoint, derived from its allocated routing facts (component §5.2): one authority for
//! each fact, so that no two properties can disagree.

use std::net::Ipv6Addr;

use serde_json::Value;

use crate::contract::component::endpoint::{Endpoint, Property};
use crate::resolution::context::{Allocation, PublicFacts};

/// The value of `property`, or nothing when a fact that it is derived from is not known. The private port is the
/// component's own and never missing.
pub fn derive(
    property: Property,
    endpoint: &Endpoint,
    allocation: Option<&Allocation>,
) -> Option<Value> {
    let private = || allocation?.private_hostname.as_deref();
    let public = || allocation?.public.as_ref();
    let text = match property {
        Property::PrivatePort => return Some(endpoint.target_port.into()),
        Property::PublicPort => return Some(public()?.port?.into()),
        Property::PrivateHostname => private()?.to_owned(),
        Property::PrivateAddress => address(private()?, endpoint.target_port),
        Property::PublicHostname => public()?.hostname.clone()?,
        Property::PublicAddress => address(public()?.hostname.as_deref()?, public()?.port?),
        Property::PublicUrl => url(public()?)?,
    };
    Some(text.into())
}

/// `scheme://host[:port][path]`; the port shows exactly when the allocation has one, and no slash trails.
fn url(facts: &PublicFacts) -> Option<String> {
    let scheme = facts.scheme.as_deref()?;
    let hostname = facts.hostname.as_deref()?;
    let authority = match facts.port {
        Some(port) => address(hostname, port),
        None => host(hostname),
    };
    let path = facts.path.as_deref().unwrap_or_default();
    Some(format!(
        "{scheme}://{authority}{}",
        path.trim_end_matches('/')
    ))
}

fn address(hostname: &str, port: u16) -> String {
    format!("{}:{port}", host(hostname))
}

/// A host as it stands before a port: an IPv6 address in brackets.
fn host(hostname: &str) -> String {
    if hostname.parse::<Ipv6Addr>().is_ok() {
        format!("[{hostname}]")
    } else {
        hostname.to_owned()
    }
}

/// Whether `text` is a host name or an address and nothing else: no credentials, port, path, query or fragment.
pub(in crate::resolution) fn is_host(text: &str) -> bool {
    let foreign = |c: char| matches!(c, ':' | '/' | '?' | '#' | '@' | '\\' | '[' | ']');
    text.parse::<Ipv6Addr>().is_ok() || is_graphic(text) && !text.contains(foreign)
}

/// Whether `text` is an absolute HTTPS URL without user information, query or fragment.
pub(in crate::resolution) fn is_https_url(text: &str) -> bool {
    const SCHEME: &str = "https://";
    let Some(rest) = text
        .get(..SCHEME.len())
        .filter(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
        .map(|_| &text[SCHEME.len()..])
    else {
        return false;
    };
    let authority = rest.split('/').next().unwrap_or_default();
    is_graphic(rest) && !rest.contains(['?', '#', '\\']) && is_authority(authority)
}

/// `host[:port]`, an IPv6 host in brackets.
fn is_authority(text: &str) -> bool {
    let (host_is_valid, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host.parse::<Ipv6Addr>().is_ok(), rest),
        None => {
            let colon = text.find(':').unwrap_or(text.len());
            (is_host(&text[..colon]), &text[colon..])
        }
    };
    host_is_valid && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Not empty, without white space and control characters.
fn is_graphic(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::contract::component::endpoint::Protocol;

    const ENDPOINT: Endpoint = Endpoint {
        target_port: 8080,
        protocol: Protocol::Http,
    };

    #[track_caller]
    fn derived(property: Property, facts: Value) -> Option<Value> {
        let mut allocation = json!({"identity": "a", "version": "1"});
        allocation
            .as_object_mut()
            .unwrap()
            .extend(facts.as_object().unwrap().clone());
        let allocation: Allocation = serde_json::from_value(allocation).unwrap();
        derive(property, &ENDPOINT, Some(&allocation))
    }

    #[test]
    fn properties_follow_from_the_facts() {
        for (name, property, facts, expected) in [
            (
                "a private address joins name and target port",
                Property::PrivateAddress,
                json!({"privateHostname": "web.internal"}),
                json!("web.internal:8080"),
            ),
            (
                "a private IPv6 address is bracketed",
                Property::PrivateAddress,
                json!({"privateHostname": "fd00::1"}),
                json!("[fd00::1]:8080"),
            ),
            (
                "a public address brackets IPv6",
                Property::PublicAddress,
                json!({"public": {"hostname": "2001:db8::1", "port": 5432}}),
                json!("[2001:db8::1]:5432"),
            ),
            (
                "a public host name is the fact itself",
                Property::PublicHostname,
                json!({"public": {"hostname": "2001:db8::1"}}),
                json!("2001:db8::1"),
            ),
            (
                "a public port is a number",
                Property::PublicPort,
                json!({"public": {"port": 5432}}),
                json!(5432),
            ),
            (
                "a URL shows no port that was not allocated",
                Property::PublicUrl,
                json!({"public": {"hostname": "example.org", "scheme": "https"}}),
                json!("https://example.org"),
            ),
            (
                "a URL shows an allocated default port",
                Property::PublicUrl,
                json!({"public": {"hostname": "example.org", "scheme": "https", "port": 443}}),
                json!("https://example.org:443"),
            ),
            (
                "a URL loses every trailing slash",
                Property::PublicUrl,
                json!({"public": {"hostname": "e.org", "scheme": "wss", "port": 8443, "path": "/a/b//"}}),
                json!("wss://e.org:8443/a/b"),
            ),
            (
                "a root path disappears",
                Property::PublicUrl,
                json!({"public": {"hostname": "fd00::1", "scheme": "http", "path": "/"}}),
                json!("http://[fd00::1]"),
            ),
        ] {
            assert_eq!(derived(property, facts), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_property_without_its_facts_is_missing() {
        for (property, facts) in [
            (Property::PrivateHostname, json!({})),
            (Property::PrivateAddress, json!({})),
            (Property::PublicHostname, json!({"public": {"port": 1}})),
            (
                Property::PublicPort,
                json!({"public": {"hostname": "e.org"}}),
            ),
            (
                Property::PublicAddress,
                json!({"public": {"hostname": "e.org"}}),
            ),
            (Property::PublicAddress, json!({"public": {"port": 1}})),
            (
                Property::PublicUrl,
                json!({"public": {"hostname": "e.org"}}),
            ),
            (Property::PublicUrl, json!({"public": {"scheme": "https"}})),
        ] {
            assert_eq!(derived(property, facts), None, "{property}");
        }
        assert_eq!(
            derive(Property::PrivatePort, &ENDPOINT, None),
            Some(json!(8080)),
            "the private port is the component's own"
        );
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_nothing_else() {
        for good in ["example.org", "web", "10.0.0.1", "fd00::1", "my_host"] {
            assert!(is_host(good), "{good}");
        }
        for bad in [
            "",
            "e.org:80",
            "e.org/",
            "u@e.org",
            "e.org?q",
            "e.org#f",
            "e org",
            "e\\org",
            "[fd00::1]",
            "http://e.org",
            "e.org\n",
            "::::",
        ] {
            assert!(!is_host(bad), "{bad:?}");
        }
    }

    #[test]
    fn an_https_url_has_no_user_query_or_fragment() {
        for good in [
            "https://gateway.example/openai/v1",
            "https://gateway.example",
            "HTTPS://gateway.example:8443/",
            "https://[fd00::1]:443/v1",
        ] {
            assert!(is_https_url(good), "{good}");
        }
        for bad in [
            "http://gateway.example",
            "https://",
            "https:///v1",
            "https://:443/",
            "https://user@gateway.example/",
            "https://gateway.example/?q=1",
            "https://gateway.example/#f",
            "https://gateway.example:0/",
            "https://gateway.example:+1/",
            "https://gateway.example:/",
            "https://gateway.example:65536/",
            "https://[fd00::1/",
            "https://[fd00::1]x/",
            "https://gateway.example/a b",
            "https://gateway.example\\a",
            "gateway.example/v1",
            "//gateway.example",
        ] {
            assert!(!is_https_url(bad), "{bad}");
        }
    }
}
