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

static NOTHING: Allocations = Allocations::new();
static NO_CHOICE: Chosen = Chosen::new();
static NO_ADDRESS: Addresses = Addresses::new();

fn allocator<'a>(platform: &'a PlatformSpec, namespace: &'a str) -> Allocator<'a> {
    let edge = platform.edge.as_ref();
    Allocator {
        installation: "wiki",
        namespace,
        cluster_domain: &platform.cluster_domain,
        edge,
        domains: edge.map(|edge| &*edge.domains).unwrap_or_default(),
        chosen: &NO_CHOICE,
        addresses: &NO_ADDRESS,
        before: &NOTHING,
        kept: None,
        given: &NOTHING,
    }
}

/// What a PUBLIC endpoint `web` of node `web` is reached by, or what it waits for.
fn reached(allocator: &Allocator, protocol: &str, before: Option<&PublicFacts>) -> String {
    let endpoint = serde_json::from_value(json!({"targetPort": 80, "protocol": protocol}));
    let place = Place {
        node: "web",
        name: "web",
        endpoint: &endpoint.expect("an endpoint"),
    };
    let mut findings = Findings::default();
    match allocator.public(place, before, &mut findings) {
        Some(facts) => format!(
            "{}{}{}",
            facts
                .scheme
                .map(|scheme| scheme + "://")
                .unwrap_or_default(),
            facts.hostname.expect("a host name"),
            facts
                .port
                .map(|port| format!(":{port}"))
                .unwrap_or_default()
        ),
        None => findings.missing[0].deferred.missing.clone(),
    }
}

fn chosen(hostname: &str) -> Chosen {
    serde_json::from_value(json!({"web": {"web": hostname}})).expect("a choice")
}

#[test]
fn a_choice_is_followed_where_the_namespace_may_use_its_domain_and_kept_until_it_is_another() {
    let platform: PlatformSpec = serde_json::from_value(json!({"edge": {
        "domains": [{"domain": "apps.example.org"}, {"domain": "ops.example.org", "namespaces": ["ops"]}],
        "gateway": {"name": "edge", "namespace": "gateway-system"},
    }}))
    .expect("a platform");
    let before = PublicFacts {
        hostname: Some("old.apps.example.org".into()),
        scheme: Some("https".into()),
        ..PublicFacts::default()
    };
    let derived = "https://wiki-web-web-revtbcbj.apps.example.org";
    for (choice, former, expected) in [
        (
            Some("wiki.apps.example.org"),
            None,
            "https://wiki.apps.example.org",
        ),
        (
            Some("wiki.ops.example.org"),
            None,
            "domain:wiki.ops.example.org",
        ),
        // Kept, whatever the Platform says of it now.
        (
            Some("old.elsewhere.test"),
            Some(Some("old.elsewhere.test")),
            "https://old.apps.example.org",
        ),
        (None, Some(None), "https://old.apps.example.org"),
        // Another choice is an update of this host name alone.
        (
            Some("wiki.apps.example.org"),
            Some(None),
            "https://wiki.apps.example.org",
        ),
        (None, Some(Some("old.apps.example.org")), derived),
        (None, None, derived),
    ] {
        let now = choice.map(chosen).unwrap_or_default();
        let kept = former.map(|former| former.map(chosen).unwrap_or_default());
        let allocator = Allocator {
            chosen: &now,
            kept: kept.as_ref(),
            ..allocator(&platform, "demo")
        };
        let found = reached(&allocator, "HTTP", Some(&before));
        assert_eq!(found, expected, "{choice:?} after {former:?}");
    }
}

#[test]
fn an_update_of_everything_leaves_a_host_name_below_a_domain_that_the_namespace_may_still_use() {
    let platform = |domains: serde_json::Value| -> PlatformSpec {
        serde_json::from_value(json!({"edge": {
            "domains": domains, "gateway": {"name": "edge", "namespace": "gateway-system"},
        }}))
        .expect("a platform")
    };
    let label = "wiki-web-web-revtbcbj";
    let before = PublicFacts {
        hostname: Some(format!("{label}.old.example.org")),
        scheme: Some("https".into()),
        ..PublicFacts::default()
    };
    let (old, new) = ("old.example.org", "new.example.org");
    for (domains, expected) in [
        (json!([{"domain": new}, {"domain": old}]), old),
        (json!([{"domain": new}]), new),
        (
            json!([{"domain": new}, {"domain": old, "namespaces": ["ops"]}]),
            new,
        ),
    ] {
        let platform = platform(domains);
        let found = reached(&allocator(&platform, "demo"), "HTTP", Some(&before));
        assert_eq!(found, format!("https://{label}.{expected}"));
    }
}

#[test]
fn an_endpoint_of_tcp_has_the_address_that_a_load_balancer_gave_and_keeps_it() {
    let balanced: PlatformSpec =
        serde_json::from_value(json!({"edge": {"loadBalancer": {}}})).expect("a platform");
    let bare = PlatformSpec::default();
    let before = PublicFacts {
        hostname: Some("192.0.2.1".into()),
        port: Some(5432),
        ..PublicFacts::default()
    };
    let none: &[&str] = &[];
    for (platform, given, before, keep, expected) in [
        (&bare, none, None, false, "edge:web:web"),
        (&balanced, none, None, false, "address:web:web"),
        (
            &balanced,
            &["192.0.2.7", "192.0.2.8"],
            None,
            false,
            "192.0.2.7:80",
        ),
        (&balanced, none, Some(&before), true, "192.0.2.1:80"),
        (
            &balanced,
            &["192.0.2.7"],
            Some(&before),
            true,
            "192.0.2.1:80",
        ),
        (
            &balanced,
            &["192.0.2.7"],
            Some(&before),
            false,
            "192.0.2.7:80",
        ),
        (
            &balanced,
            &["192.0.2.7", "192.0.2.1"],
            Some(&before),
            false,
            "192.0.2.1:80",
        ),
        (&balanced, none, Some(&before), false, "address:web:web"),
        // Nothing serves the address any more, so that it is none.
        (&bare, &["192.0.2.1"], Some(&before), false, "edge:web:web"),
    ] {
        let given: Vec<String> = given.iter().map(|&address| address.to_owned()).collect();
        let addresses: Addresses = [("web".into(), [("web".into(), given)].into())].into();
        let allocator = Allocator {
            addresses: &addresses,
            kept: keep.then_some(&NO_CHOICE),
            ..allocator(platform, "demo")
        };
        assert_eq!(reached(&allocator, "TCP", before), expected);
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
        let allocator = allocator(&platform, namespace);
        let found = reached(&allocator, protocol, None);
        assert_eq!(found, expected);
    }
}
