//! What the API server itself refuses, by schema and CEL, and what it fills in.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what the pure rooms do without"
)]

mod support;

use std::path::Path;

use installation_operator::api::{
    ComputeProfile, Installation, InstallationSpec, ResolutionRecord, crd,
};
use installation_operator::contract::envelope::Family;
use installation_operator::contract::{Published, validate_document};
use installation_operator::document::digest::Digest;
use installation_operator::document::result::{Profile, Status};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use support::install::object;
use support::installation::Builder;
use support::{Cluster, TestNamespace, installation};

fn wiki() -> Builder {
    installation("wiki").inline("acme-wiki", [("blueprint.yaml", "kind: Blueprint")])
}

/// `entries` entries with keys that begin with `prefix`.
fn map(prefix: &str, entries: usize, value: &Value) -> Value {
    (0..entries)
        .map(|number| (format!("{prefix}{number}"), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test]
async fn definitions_are_taken_without_a_warning_and_within_the_cost_budget() {
    let cluster = Cluster::get().await;
    for definition in crd::all() {
        // Another group makes it new to this server, which so estimates every rule afresh.
        let text = serde_json::to_string(&definition).unwrap();
        let text = text
            .replace(r#""install.musher.dev""#, r#""fresh.musher.dev""#)
            .replace(".install.musher.dev\"", ".fresh.musher.dev\"");
        let request = axum::http::Request::post(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All&fieldValidation=Strict",
        )
        .header("content-type", "application/json")
        .body(kube::client::Body::from(text.into_bytes()))
        .unwrap();
        let answer = cluster.client.send(request).await.unwrap();
        let warnings: Vec<_> = answer.headers().get_all("warning").iter().collect();
        assert!(
            warnings.is_empty(),
            "{}: {warnings:?}",
            definition.spec.names.kind
        );
        let (status, body) = (
            answer.status(),
            answer.into_body().collect_bytes().await.unwrap(),
        );
        assert!(
            status.is_success(),
            "{}: {}",
            definition.spec.names.kind,
            String::from_utf8_lossy(&body)
        );
    }
}

#[tokio::test]
async fn a_new_installation_is_not_taken_for_a_ready_one() {
    let test = TestNamespace::new("fresh").await;
    let created = test.create(&wiki().build()).await;
    assert_eq!(
        serde_json::to_value(&created.status).unwrap(),
        json!({"observedGeneration": -1})
    );
    assert_eq!(
        serde_json::to_value(created.spec.deletion_policy).unwrap(),
        json!("Retain")
    );
    assert_eq!(
        (created.spec.suspend, created.spec.history_limit),
        (false, 10)
    );

    let erased = test
        .api::<Installation>()
        .patch_status(
            "wiki",
            &PatchParams::default(),
            &Patch::Merge(json!({"status": null})),
        )
        .await;
    assert_eq!(
        serde_json::to_value(erased.unwrap().status).unwrap(),
        json!({"observedGeneration": -1})
    );
}

#[tokio::test]
async fn an_explicit_null_is_a_value() {
    let test = TestNamespace::new("null").await;
    let created = test
        .create(
            &wiki()
                .parameter("banner", Value::Null)
                .parameter("links", json!([{"rel": null}]))
                .build(),
        )
        .await;
    assert_eq!(created.spec.parameters["banner"].value, Some(Value::Null));
    assert_eq!(
        created.spec.parameters["links"].value,
        Some(json!([{"rel": null}]))
    );

    // Server-side apply keeps it as well.
    let applied: Installation = test
        .api()
        .patch(
            "other",
            &PatchParams::apply("test").validation_strict(),
            &Patch::Apply(
                installation("other")
                    .with("blueprint", wiki().json()["spec"]["blueprint"].clone())
                    .parameter("banner", Value::Null)
                    .json(),
            ),
        )
        .await
        .unwrap();
    assert_eq!(applied.spec.parameters["banner"].value, Some(Value::Null));
}

#[tokio::test]
async fn what_fits_exactly_is_accepted() {
    let test = TestNamespace::new("fits").await;
    let name = "n".repeat(63);
    let half = "x".repeat(65_536);
    let cases = [
        (
            "a name of 63 characters",
            installation(&name).inline("acme-wiki", [("a", "b")]),
        ),
        (
            "128 KiB in all",
            installation("wiki").inline("acme-wiki", [("a", half.as_str()), ("b", half.as_str())]),
        ),
        (
            "64 files",
            wiki().with(
                "blueprint",
                json!({"inline": {"item": "acme-wiki", "files": map("file", 64, &json!(""))}}),
            ),
        ),
        (
            "128 parameters",
            wiki().with("parameters", map("p", 128, &json!({"value": 1}))),
        ),
        (
            "a parameter name of 64 characters",
            wiki().parameter(&"p".repeat(64), 1),
        ),
        (
            "a referenced JSON value",
            wiki().entry(
                "parameters",
                "a",
                json!({"secretKeyRef": {"name": "s", "key": "k", "format": "JSON"}}),
            ),
        ),
        (
            "hostnames",
            wiki().with("hostnames", json!({"web": {"http": "wiki.example.org"}})),
        ),
        (
            "a ConfigMap",
            installation("wiki").config_map("acme-wiki", "acme-wiki"),
        ),
        (
            "an OCI artifact",
            installation("wiki").with(
                "blueprint",
                json!({"oci": {"reference": "registry.example/items/acme-wiki@sha256:0"}}),
            ),
        ),
    ];
    for (case, built) in cases {
        if let Err(message) = test.try_create(&built.json()).await {
            panic!("{case}: refused with {message}");
        }
    }
}

#[tokio::test]
async fn an_installation_that_breaks_a_rule_is_refused_with_the_remedy() {
    let test = TestNamespace::new("refused").await;
    let inline = json!({"item": "acme-wiki", "files": {"blueprint.yaml": ""}});
    let text = |length: usize, of: &str| of.repeat(length);
    let source = "give exactly one blueprint source: inline, configMap or oci";
    let one_of = r#""spec.parameters.title" must validate one and only one schema (oneOf)"#;
    let label =
        "the name of an Installation is a DNS label of at most 63 characters: choose such a name";
    let size =
        "inline files hold at most 128 KiB in all: use a ConfigMap or an OCI artifact for more";
    let parameter_names = "the keys are parameter names";
    let named = |name: &str| installation(name).inline("acme-wiki", [("blueprint.yaml", "")]);
    let files = |files: Value| {
        wiki().with(
            "blueprint",
            json!({"inline": {"item": "acme-wiki", "files": files}}),
        )
    };
    let cases = [
        (
            "two sources",
            wiki().with(
                "blueprint",
                json!({"inline": inline, "configMap": {"item": "acme-wiki", "name": "m"}}),
            ),
            source,
        ),
        ("no source", wiki().with("blueprint", json!({})), source),
        (
            "no blueprint",
            installation("wiki"),
            "spec.blueprint: Required value",
        ),
        (
            "inline and referenced",
            wiki().entry(
                "parameters",
                "title",
                json!({"value": 1, "secretKeyRef": {"name": "s", "key": "k"}}),
            ),
            one_of,
        ),
        (
            "null and referenced",
            wiki().entry(
                "parameters",
                "title",
                json!({"value": null, "secretKeyRef": {"name": "s", "key": "k"}}),
            ),
            one_of,
        ),
        (
            "neither",
            wiki().entry("parameters", "title", json!({})),
            one_of,
        ),
        (
            "neither, what to add",
            wiki().entry("parameters", "title", json!({})),
            "spec.parameters.title.value: Required value",
        ),
        ("a name of 64 characters", named(&"n".repeat(64)), label),
        ("a name with a dot", named("wiki.example"), label),
        (
            "one file over 128 KiB",
            files(json!({"a": text(131_073, "x")})),
            "may not be more than 131072",
        ),
        (
            "two files over 128 KiB",
            files(json!({"a": text(65_536, "x"), "b": text(65_537, "x")})),
            size,
        ),
        (
            "bytes count, not characters",
            files(json!({"a": text(43_691, "€")})),
            size,
        ),
        (
            "no file",
            files(json!({})),
            "spec.blueprint.inline.files in body should have at least 1 properties",
        ),
        (
            "65 files",
            files(map("file", 65, &json!(""))),
            "must have at most 64 items",
        ),
        (
            "a long path",
            files(json!({text(254, "p"): ""})),
            "the keys are paths inside the item, of at most 253 characters",
        ),
        (
            "an item that is no slug",
            wiki().with(
                "blueprint",
                json!({"inline": {"item": "Acme", "files": {"a": ""}}}),
            ),
            "spec.blueprint.inline.item",
        ),
        (
            "129 parameters",
            wiki().with("parameters", map("p", 129, &json!({"value": 1}))),
            "must have at most 128 items",
        ),
        (
            "129 credentials",
            wiki().with("credentials", map("p", 129, &json!({"generation": 1}))),
            "must have at most 128 items",
        ),
        (
            "65 connections",
            wiki().with(
                "connections",
                map("p", 65, &json!({"connectionRef": {"name": "c"}})),
            ),
            "must have at most 64 items",
        ),
        (
            "65 hostnames",
            wiki().with("hostnames", map("no", 65, &json!({}))),
            "must have at most 64 items",
        ),
        (
            "65 hostnames of a node",
            wiki().with("hostnames", json!({"web": map("e", 65, &json!("h"))})),
            "must have at most 64 items",
        ),
        (
            "65 migrations",
            wiki().with("migrate", map("p", 65, &json!({"credentialOf": "a"}))),
            "must have at most 64 items",
        ),
        (
            "a parameter name with a dash",
            wiki().parameter("site-title", 1),
            parameter_names,
        ),
        (
            "a parameter name of 65 characters",
            wiki().parameter(&"p".repeat(65), 1),
            parameter_names,
        ),
        (
            "a credential of no parameter name",
            wiki().generation("Db", 1),
            parameter_names,
        ),
        (
            "a connection of no parameter name",
            wiki().with(
                "connections",
                json!({"0": {"connectionRef": {"name": "c"}}}),
            ),
            parameter_names,
        ),
        (
            "a migration of no parameter name",
            wiki().with("migrate", json!({"a b": {"credentialOf": "a"}})),
            parameter_names,
        ),
        (
            "a migration from no parameter name",
            wiki().with("migrate", json!({"a": {"credentialOf": "a b"}})),
            "spec.migrate.a.credentialOf",
        ),
        (
            "a hostname of no node name",
            wiki().with("hostnames", json!({"Web": {}})),
            "the keys are node names",
        ),
        (
            "a hostname in capitals",
            wiki().with("hostnames", json!({"web": {"http": "Wiki.example.org"}})),
            "spec.hostnames.web.http",
        ),
        (
            "a hostname with a label of 64 characters",
            wiki().with(
                "hostnames",
                json!({"web": {"http": format!("{}.example.org", "a".repeat(64))}}),
            ),
            "spec.hostnames.web.http",
        ),
        (
            "a hostname of no endpoint name",
            wiki().with("hostnames", json!({"web": {"a-b": "h"}})),
            "the keys are endpoint names",
        ),
        (
            "an unknown format",
            wiki().entry(
                "parameters",
                "a",
                json!({"secretKeyRef": {"name": "s", "key": "k", "format": "YAML"}}),
            ),
            r#"Unsupported value: "YAML": supported values: "Text", "JSON""#,
        ),
        (
            "an identity that is no label",
            wiki().identity("Wiki"),
            "spec.identity",
        ),
        (
            "a negative generation",
            wiki().with("credentials", json!({"db": {"generation": -1}})),
            "spec.credentials.db.generation",
        ),
        (
            "a huge generation",
            wiki().generation("db", 1_000_001),
            "spec.credentials.db.generation",
        ),
        (
            "a long history",
            wiki().with("historyLimit", json!(101)),
            "spec.historyLimit",
        ),
        (
            "an unknown policy",
            wiki().with("deletionPolicy", json!("Orphan")),
            r#"Unsupported value: "Orphan""#,
        ),
        (
            "an empty token",
            wiki().with("update", json!({"token": ""})),
            "spec.update.token",
        ),
        (
            "a rollback to record 0",
            wiki().with("rollback", json!({"record": 0, "token": "1"})),
            "spec.rollback.record",
        ),
        (
            "an unknown field",
            wiki().with("paramters", json!({})),
            r#"unknown field "spec.paramters""#,
        ),
    ];
    for (case, built, expected) in cases {
        test.assert_refused(case, built.json(), expected).await;
    }
}

#[tokio::test]
async fn a_credential_generation_never_falls_and_never_disappears() {
    let test = TestNamespace::new("generation").await;
    let built = wiki().generation("db", 2).generation("fresh", 0);
    test.create(&built.build()).await;
    let remedy = "a credential generation never falls and never disappears: raise spec.credentials.<parameter>.generation";
    for (case, credentials) in [
        ("it falls", json!({"db": {"generation": 1}})),
        ("it disappears", json!({"db": null})),
        ("all disappear", Value::Null),
    ] {
        test.assert_change_refused(
            case,
            &built.json(),
            json!({"spec": {"credentials": credentials}}),
            remedy,
        )
        .await;
    }
    for credentials in [
        json!({"db": {"generation": 3}}),
        json!({"fresh": null}),
        json!({"another": {"generation": 7}}),
    ] {
        test.try_merge(
            &built.json(),
            &json!({"spec": {"credentials": credentials}}),
        )
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn an_identity_never_changes() {
    let test = TestNamespace::new("identity").await;
    let (default, own) = (
        wiki(),
        installation("own")
            .inline("acme-wiki", [("a", "")])
            .identity("old-wiki"),
    );
    test.create(&default.build()).await;
    test.create(&own.build()).await;
    let remedy = "spec.identity is immutable: it names the retained state; create another Installation instead";
    for (case, built, identity) in [
        ("the default to another", &default, json!("other")),
        ("one to another", &own, json!("other")),
        ("one to the default, named", &own, json!("own")),
        ("one to the default, left out", &own, Value::Null),
    ] {
        test.assert_change_refused(
            case,
            &built.json(),
            json!({"spec": {"identity": identity}}),
            remedy,
        )
        .await;
    }
    // The same identity may be spelled out.
    test.merge("wiki", json!({"spec": {"identity": "wiki"}}))
        .await;
    test.merge("wiki", json!({"spec": {"identity": null}}))
        .await;
}

fn record() -> Value {
    let digest = "0123456789abcdef".repeat(4);
    let component = |source: &str| {
        json!({
            "identity": "./components/web.yaml", "revision": 1, "digest": digest, "source": source,
            "imageDigest": format!("sha256:{digest}"), "compute": {"identity": "general.standard.small", "version": "1"},
            "volumes": {"data": {"sizeGiB": 1, "storageClass": "fast", "minIOPS": 100}}, "exposure": {"http": "PUBLIC"}
        })
    };
    let mut git = component("GIT");
    git["gitCommit"] = json!("0123456789".repeat(4));
    json!({
        "apiVersion": "install.musher.dev/v1alpha1",
        "kind": "ResolutionRecord",
        "metadata": {"name": "record"},
        "spec": {
            "version": 1,
            "blueprintDigest": digest,
            "specifications": {"core": "1.0.0", "component": "1.0.0", "blueprint": "1.0.0"},
            "components": {
                "web": component("IMAGE"),
                "built": git,
                "outside": {
                    "identity": "./components/outside.yaml", "revision": 1, "digest": digest, "source": "EXTERNAL",
                    "volumes": {}, "exposure": {}
                }
            },
            "variables": {"smtp.host": {"identity": "v", "version": "1"}},
            "credentials": {"dbPassword": {"identity": "c", "rotation": 0}},
            "installationSnapshot": {"identity": "s", "version": "1"}
        }
    })
}

/// The record with `value` at `pointer` in its spec, or without what is there.
fn record_with(pointer: &str, value: Option<Value>) -> Value {
    let mut record = record();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let parent = record["spec"]
        .pointer_mut(parent)
        .unwrap()
        .as_object_mut()
        .unwrap();
    match value {
        Some(value) => parent.insert(field.to_owned(), value),
        None => parent.remove(field),
    };
    record
}

#[tokio::test]
async fn a_record_of_another_shape_is_refused() {
    let test = TestNamespace::new("record-shape").await;
    test.try_create(&record()).await.unwrap();
    test.try_create(&record_with(
        "/specifications/listing",
        Some(json!("1.0.0")),
    ))
    .await
    .unwrap();
    for field in [
        "version",
        "blueprintDigest",
        "specifications",
        "components",
        "variables",
        "credentials",
        "installationSnapshot",
    ] {
        test.assert_refused(
            field,
            record_with(&format!("/{field}"), None),
            &format!("spec.{field}: Required value"),
        )
        .await;
    }
    for field in [
        "identity", "revision", "digest", "source", "volumes", "exposure",
    ] {
        let expected = format!("spec.components.web.{field}: Required value");
        test.assert_refused(
            field,
            record_with(&format!("/components/web/{field}"), None),
            &expected,
        )
        .await;
    }
    let required = [
        "/specifications/core",
        "/specifications/component",
        "/specifications/blueprint",
        "/components/web/compute/identity",
        "/components/web/compute/version",
        "/components/web/volumes/data/sizeGiB",
        "/variables/smtp.host/identity",
        "/variables/smtp.host/version",
        "/credentials/dbPassword/identity",
        "/credentials/dbPassword/rotation",
        "/installationSnapshot/identity",
        "/installationSnapshot/version",
    ];
    for pointer in required {
        let field = pointer.rsplit('/').next().unwrap();
        test.assert_refused(
            pointer,
            record_with(pointer, None),
            &format!("{field}: Required value"),
        )
        .await;
    }
    let runs = "a component that runs needs imageDigest and compute";
    let external = "an EXTERNAL component runs nothing: leave";
    let git = "a GIT component needs gitCommit: leave it out of every other";
    let image = json!(format!("sha256:{}", "0".repeat(64)));
    let wrong = [
        ("/version", Some(json!(2)), "spec.version"),
        (
            "/blueprintDigest",
            Some(json!("ABC")),
            "spec.blueprintDigest",
        ),
        (
            "/specifications/core",
            Some(json!("1.0")),
            "spec.specifications.core",
        ),
        (
            "/components",
            Some(json!({})),
            "spec.components in body should have at least 1 properties",
        ),
        (
            "/components/web/identity",
            Some(json!("")),
            "spec.components.web.identity",
        ),
        (
            "/components/web/revision",
            Some(json!(0)),
            "spec.components.web.revision",
        ),
        (
            "/components/web/digest",
            Some(json!("0")),
            "spec.components.web.digest",
        ),
        (
            "/components/web/source",
            Some(json!("BUILD")),
            r#"Unsupported value: "BUILD""#,
        ),
        (
            "/components/web/imageDigest",
            Some(json!("sha512:0")),
            "spec.components.web.imageDigest",
        ),
        ("/components/web/imageDigest", None, runs),
        ("/components/web/compute", None, runs),
        ("/components/built/imageDigest", None, runs),
        ("/components/built/gitCommit", None, git),
        (
            "/components/built/gitCommit",
            Some(json!("main")),
            "spec.components.built.gitCommit",
        ),
        (
            "/components/web/gitCommit",
            Some(json!("0".repeat(64))),
            git,
        ),
        (
            "/components/outside/gitCommit",
            Some(json!("0".repeat(40))),
            git,
        ),
        ("/components/outside/imageDigest", Some(image), external),
        (
            "/components/outside/compute",
            Some(json!({"identity": "p", "version": "1"})),
            external,
        ),
        (
            "/components/outside/volumes",
            Some(json!({"data": {"sizeGiB": 1}})),
            external,
        ),
        (
            "/components/outside/exposure",
            Some(json!({"http": "PRIVATE"})),
            external,
        ),
        (
            "/components/web/volumes/data/sizeGiB",
            Some(json!(0)),
            "sizeGiB",
        ),
        (
            "/components/web/volumes/data/minIOPS",
            Some(json!(0)),
            "minIOPS",
        ),
        (
            "/components/web/volumes/data/storageClass",
            Some(json!("Fast!")),
            "storageClass",
        ),
        (
            "/components/web/exposure/http",
            Some(json!("OPEN")),
            r#"Unsupported value: "OPEN""#,
        ),
        (
            "/variables/smtp.host/identity",
            Some(json!("")),
            "spec.variables.smtp.host.identity",
        ),
        (
            "/credentials/dbPassword/rotation",
            Some(json!(-1)),
            "spec.credentials.dbPassword.rotation",
        ),
        (
            "/installationSnapshot/version",
            Some(json!("")),
            "spec.installationSnapshot.version",
        ),
        ("/values", Some(json!({})), r#"unknown field "spec.values""#),
        (
            "/specifications/core2",
            Some(json!("1.0.0")),
            r#"unknown field "spec.specifications.core2""#,
        ),
        (
            "/components/web/value",
            Some(json!("")),
            r#"unknown field "spec.components.web.value""#,
        ),
        (
            "/components/web/volumes/data/path",
            Some(json!("/")),
            r#"unknown field "spec.components.web.volumes.data.path""#,
        ),
        (
            "/credentials/dbPassword/value",
            Some(json!("")),
            r#"unknown field "spec.credentials.dbPassword.value""#,
        ),
        (
            "/installationSnapshot/digest",
            Some(json!("")),
            r#"unknown field "spec.installationSnapshot.digest""#,
        ),
    ];
    for (pointer, value, expected) in wrong {
        test.assert_refused(pointer, record_with(pointer, value), expected)
            .await;
    }
}

#[tokio::test]
async fn a_record_never_changes() {
    let test = TestNamespace::new("record").await;
    let created = test.create(&object::<ResolutionRecord>(record())).await;
    assert_eq!(
        serde_json::to_value(&created.spec).unwrap(),
        record()["spec"],
        "what reads back is what was written"
    );
    let remedy = "a ResolutionRecord is immutable: change its Installation instead";
    for change in [
        json!({"variables": {"smtp.host": {"version": "2"}}}),
        json!({"components": {"outside": null}}),
    ] {
        test.assert_change_refused("a change", &record(), json!({"spec": change}), remedy)
            .await;
    }
    test.try_merge(
        &record(),
        &json!({"metadata": {"annotations": {"rollout": "2"}}}),
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn placement_terms_are_terms_and_labels() {
    let test = TestNamespace::new("platform").await;
    let platform = |placement: Value| {
        json!({
            "apiVersion": "install.musher.dev/v1alpha1",
            "kind": "Platform",
            "metadata": {"name": test.name},
            "spec": {"placement": placement},
        })
    };
    let labels = json!({"nvidia.com/gpu.present": "true"});
    let every_pin = json!({
        "cpuArchitectures": {"riscv64": {"kubernetes.io/arch": "riscv64"}},
        "cpuDedication": {"dedicated": labels},
        "minAcceleratorMemoryGiB": {"label": "nvidia.com/gpu.memory", "unit": "MiB"},
        "acceleratorRuntimes": {"cuda": labels},
        "acceleratorInterconnect": {"nvlink": labels},
        "acceleratorSKUClass": {"h100": labels},
        "networkClass": {"standard": {}},
    });
    test.try_create(&platform(every_pin)).await.unwrap();
    for (name, placement, message) in [
        (
            "a term in capitals",
            json!({"networkClass": {"Fast": {}}}),
            "a placement term has lower-case letters",
        ),
        (
            "a value that no label has",
            json!({"networkClass": {"fast": {"net": "a b"}}}),
            "spec.placement.networkClass.fast.net",
        ),
        (
            "a unit of another world",
            json!({"minAcceleratorMemoryGiB": {"label": "memory", "unit": "GB"}}),
            "spec.placement.minAcceleratorMemoryGiB.unit",
        ),
    ] {
        test.assert_refused(name, platform(placement), message)
            .await;
    }
}

#[tokio::test]
async fn a_domain_of_the_edge_is_a_dns_name() {
    let test = TestNamespace::new("domain").await;
    let platform = |domain: &str| {
        json!({
            "apiVersion": "install.musher.dev/v1alpha1",
            "kind": "Platform",
            "metadata": {"name": test.name},
            "spec": {"edge": {
                "domains": [{"domain": domain}],
                "gateway": {"name": "edge", "namespace": "gateway-system"},
            }},
        })
    };
    test.try_create(&platform("apps.example.org"))
        .await
        .unwrap();
    let long = format!("{}.example.org", "a".repeat(64));
    for domain in ["apps..example.org", "a.-b.org", "Apps.example.org", &long] {
        test.assert_refused(domain, platform(domain), "spec.edge.domains[0].domain")
            .await;
    }
}

fn profile(name: &str) -> Value {
    json!({
        "apiVersion": "install.musher.dev/v1alpha1",
        "kind": "ComputeProfile",
        "metadata": {"name": name},
        "spec": {
            "currentVersion": "1",
            "versions": [{"version": "1", "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"nvidia.com/gpu": "1"}}}]
        }
    })
}

#[tokio::test]
async fn a_profile_that_breaks_a_rule_is_refused_with_the_remedy() {
    let test = TestNamespace::new("profile").await;
    test.try_create(&profile("accelerator.premium.small"))
        .await
        .unwrap();
    for name in [
        "small",
        "general.standard",
        "general.standard.huge",
        "special.standard.small",
        "general.cheap.small",
        "general.standard.small.x",
    ] {
        let mut named = profile("accelerator.premium.small");
        named["metadata"]["name"] = json!(name);
        test.assert_refused(
            name,
            named,
            "a ComputeProfile is named by its slug family.tier.size",
        )
        .await;
    }
    let mut unnamed = profile("accelerator.premium.small");
    unnamed["spec"]["currentVersion"] = json!("2");
    test.assert_refused(
        "no such version",
        unnamed,
        "currentVersion names none of the versions: add that version",
    )
    .await;
    let mut twice = profile("accelerator.premium.small");
    let version = twice["spec"]["versions"][0].clone();
    twice["spec"]["versions"]
        .as_array_mut()
        .unwrap()
        .push(version);
    test.assert_refused(
        "a version twice",
        twice,
        "spec.versions[1]: Duplicate value",
    )
    .await;
    let mut number = profile("accelerator.premium.small");
    number["spec"]["versions"][0]["resources"]["requests"]["cpu"] = json!(2);
    test.try_create(&number).await.unwrap();
    let mut quantity = profile("accelerator.premium.small");
    quantity["spec"]["versions"][0]["resources"]["requests"]["cpu"] = json!("much");
    test.assert_refused(
        "no quantity",
        quantity,
        "spec.versions[0].resources.requests.cpu",
    )
    .await;
}

#[tokio::test]
async fn the_examples_of_a_catalog_are_taken_and_valid() {
    let test = TestNamespace::new("examples").await;
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/catalog");
    let mut taken = Vec::new();
    for file in std::fs::read_dir(directory).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for mut object in serde_saphyr::from_multiple::<Value>(&text).unwrap() {
            object["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("namespace");
            let kind = object["kind"].as_str().unwrap().to_owned();
            let kept = test.try_create(&object).await;
            kept.unwrap_or_else(|refusal| panic!("{kind}: {refusal}"));
            if kind == "ComponentRevision" {
                let document = object["spec"]["document"].as_str().unwrap().as_bytes();
                let digest = Digest::of(document).to_string();
                assert_eq!(object["spec"]["digest"], digest);
                let family = Some(Family::Component);
                let none = Published::default();
                let found = validate_document(family, document, &none, Profile::Document);
                assert_eq!(found.result.status, Status::Valid, "{:?}", found.result);
            }
            taken.push(kind);
        }
    }
    taken.sort();
    taken.dedup();
    let kinds = [
        "ClusterConnection",
        "ClusterVariable",
        "ComponentRevision",
        "Connection",
        "Variable",
    ];
    assert_eq!(taken, kinds);
}

#[tokio::test]
async fn a_profile_version_never_changes() {
    let test = TestNamespace::new("profile").await;
    let name = "accelerator.premium.nano";
    let profiles: Api<ComputeProfile> = Api::all(test.client());
    let _ = profiles.delete(name, &DeleteParams::default()).await;
    profiles
        .create(&PostParams::default(), &object(profile(name)))
        .await
        .unwrap();
    let mut changed = profile(name)["spec"].clone();
    changed["versions"][0]["resources"]["requests"]["cpu"] = json!("200m");
    let remedy = "a profile version is immutable: add another version and make it current";
    test.assert_change_refused(
        "another content",
        &profile(name),
        json!({"spec": changed}),
        remedy,
    )
    .await;

    let mut added = changed;
    added["versions"] =
        json!([profile(name)["spec"]["versions"][0], {"version": "2", "resources": {}}]);
    added["currentVersion"] = json!("2");
    test.try_merge(&profile(name), &json!({"spec": added}))
        .await
        .unwrap();
    profiles
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
}

#[test]
fn an_installation_reads_back_as_it_was_written() {
    let written = wiki()
        .parameter("a", Value::Null)
        .parameter_from_secret("b", "s", "k")
        .generation("c", 1)
        .json();
    let spec: InstallationSpec = serde_json::from_value(written["spec"].clone()).unwrap();
    let again: InstallationSpec =
        serde_json::from_value(serde_json::to_value(&spec).unwrap()).unwrap();
    assert_eq!(spec, again);
}
