//! Whatever is wrong with an input or missing ends in status, with what to do about it; nothing is generated, nothing
//! runs, and nobody loops. What is missing heals when it is provided, without a touch of the Installation.

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::names::Precious;
use installation_operator::api::{ComputeProfile, Installation};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use support::install::{create, object};
use support::installation::Builder;
use support::item::{SLUG, TITLE};
use support::wait::{condition, conditions};
use support::{TestNamespace, installation};

/// A diagnostic as `phase CODE path`, or with `Installation:` before a path into the Installation.
struct Invalid(&'static str);
/// A missing fact as `rule missing path`, likewise.
struct Incomplete(&'static str);

#[tokio::test]
async fn what_is_wrong_is_said_and_stalls() {
    let test = TestNamespace::new("invalid").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    let blueprint = |old: &str, new: &str| item.clone().edited("blueprint.yaml", old, new);
    test.create(&object::<Secret>(json!({
        "metadata": {"name": "inputs"}, "stringData": {"title": "not JSON", "long": "x".repeat(41)}
    })))
    .await;
    let cases: Vec<(&str, Builder, Invalid)> = vec![
        (
            "malformed-yaml",
            blueprint("  components:", "  components: [").installation("malformed-yaml"),
            Invalid("parser ERR_INVALID_YAML "),
        ),
        (
            "unknown-field",
            blueprint("spec:\n", "colour: red\nspec:\n").installation("unknown-field"),
            Invalid("structural ERR_UNKNOWN_FIELD "),
        ),
        (
            "missing-file",
            item.clone().without("db.yaml").installation("missing-file"),
            Invalid("semantic ERR_COMPONENT_NOT_FOUND /spec/components/db/componentRef"),
        ),
        (
            "no-blueprint",
            item.clone()
                .without("blueprint.yaml")
                .installation("no-blueprint"),
            Invalid("parser ERR_INVALID_YAML "),
        ),
        (
            "missing-parameter",
            item.untitled("missing-parameter"),
            Invalid("resolution ERR_MISSING_PARAMETER_VALUE /spec/components/web/bindings/title"),
        ),
        (
            "wrong-type",
            item.untitled("wrong-type").parameter("siteTitle", 7),
            Invalid("resolution ERR_VALUE_CONSTRAINT /spec/components/web/bindings/title"),
        ),
        (
            "too-long",
            item.untitled("too-long")
                .parameter_from_secret("siteTitle", "inputs", "long"),
            Invalid("resolution ERR_VALUE_CONSTRAINT /spec/components/web/bindings/title"),
        ),
        (
            "unknown-parameter",
            item.installation("unknown-parameter")
                .parameter("siteTilte", TITLE),
            Invalid("resolution ERR_UNKNOWN_PARAMETER /spec/parameters"),
        ),
        (
            "written-secret",
            item.installation("written-secret")
                .parameter("dbPassword", "secret"),
            Invalid("resolution ERR_SECRET_LITERAL Installation:/spec/parameters/dbPassword/value"),
        ),
        (
            "not-json",
            item.untitled("not-json").entry(
                "parameters",
                "siteTitle",
                json!({"secretKeyRef": {"name": "inputs", "key": "title", "format": "JSON"}}),
            ),
            Invalid(
                "resolution ERR_INVALID_RESOLUTION_CONTEXT Installation:/spec/parameters/siteTitle/secretKeyRef",
            ),
        ),
        (
            "no-node",
            item.installation("no-node")
                .with("hostnames", json!({"wbe": {"http": "wiki.example.org"}})),
            Invalid("semantic ERR_UNKNOWN_NODE Installation:/spec/hostnames/wbe/http"),
        ),
        (
            "no-endpoint",
            item.installation("no-endpoint")
                .with("hostnames", json!({"web": {"grpc": "wiki.example.org"}})),
            Invalid("semantic ERR_UNKNOWN_ENDPOINT Installation:/spec/hostnames/web/grpc"),
        ),
        (
            "private-endpoint",
            item.installation("private-endpoint")
                .with("hostnames", json!({"web": {"http": "wiki.example.org"}})),
            Invalid("semantic ERR_ENDPOINT_NOT_PUBLIC Installation:/spec/hostnames/web/http"),
        ),
    ];
    for (_, builder, _) in &cases {
        test.create(&builder.build()).await;
    }
    let mut unexpected = Vec::new();
    for (name, _, Invalid(expected)) in &cases {
        let found = test.wait_until_stalled(name, "Invalid").await;
        let status = found.status.as_ref().expect("a status");
        assert_eq!(status.resolution.as_deref(), Some("INVALID"), "{name}");
        let lines: Vec<String> = status
            .diagnostics
            .iter()
            .map(|found| {
                format!(
                    "{} {} {}",
                    found.phase,
                    found.code,
                    path(&found.document, &found.path)
                )
            })
            .collect();
        if !lines.iter().any(|line| line == expected) {
            unexpected.push(format!("{name}: {lines:#?}"));
        }
        let longest = status
            .diagnostics
            .iter()
            .map(|found| found.message.len())
            .max();
        assert!(longest > Some(20), "{name}: {:?}", status.diagnostics);
        nothing_came_of_it(&found);
        test.wait_for_event(name, "Invalid").await;
    }
    assert_eq!(unexpected, Vec::<String>::new());
    nothing_was_made(&test).await;
}

#[tokio::test]
async fn what_is_missing_is_said_and_awaited() {
    let test = TestNamespace::new("incomplete").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&object::<Secret>(
        json!({"metadata": {"name": "keyless"}, "stringData": {"other": "x"}}),
    ))
    .await;
    let node = |node: &str, field: &str| {
        let authored = format!("componentRef: ./{node}.yaml");
        item.clone().edited(
            "blueprint.yaml",
            &authored,
            &format!("{authored}\n      {field}"),
        )
    };
    let image = item.files["web.yaml"]
        .split("image: ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let image = image.expect("an image");
    let cases: Vec<(&str, Builder, Incomplete)> = vec![
        (
            "no-config-map",
            installation("no-config-map").config_map(SLUG, "absent").parameter("siteTitle", TITLE),
            Incomplete("BP-RESOLVE-001 configMap:absent Installation:/spec/blueprint/configMap/name"),
        ),
        (
            "no-secret",
            item.untitled("no-secret").parameter_from_secret("siteTitle", "absent", "title"),
            Incomplete("BP-PARAM-005 secret:absent/title Installation:/spec/parameters/siteTitle/secretKeyRef"),
        ),
        (
            "no-key",
            item.untitled("no-key").parameter_from_secret("siteTitle", "keyless", "title"),
            Incomplete("BP-PARAM-005 secret:keyless/title Installation:/spec/parameters/siteTitle/secretKeyRef"),
        ),
        (
            "tag",
            item.clone().edited("web.yaml", image, "registry.test/web:1").installation("tag"),
            Incomplete("BP-RESOLVE-001 imageDigest:web:registry.test/web:1 /spec/components/web/componentRef"),
        ),
        (
            "no-profile",
            item.clone()
                .edited("blueprint.yaml", "profile: general.standard.small", "profile: gpu.premium.xlarge")
                .installation("no-profile"),
            Incomplete("BP-NODE-003 computeProfile:gpu.premium.xlarge /spec/components/db/compute/profile"),
        ),
        (
            "volume",
            node("db", "volumes: { data: { sizeGiB: 1, storageClass: tape } }")
                .edited(
                    "db.yaml",
                    "    command: [serve]\n",
                    "    command: [serve]\n    volumes: { data: { mountPath: /data, minSizeGiB: 1 } }\n",
                )
                .installation("volume"),
            Incomplete("BP-NODE-004 storageClass:tape /spec/components/db/volumes/data/storageClass"),
        ),
        (
            "public",
            node("web", "exposure: { http: PUBLIC }")
                .edited(
                    "web.yaml",
                    "  contract:\n",
                    "    health: { readiness: { http: { endpoint: http, path: /healthz } } }\n  contract:\n",
                )
                .installation("public"),
            Incomplete("BP-NODE-005 edge:web:http /spec/components/web/exposure/http"),
        ),
        (
            "oci",
            installation("oci").with("blueprint", json!({"oci": {"reference": "registry.test/items/wiki:1"}})),
            Incomplete("BP-RESOLVE-001 artifact:registry.test/items/wiki:1 Installation:/spec/blueprint/oci/reference"),
        ),
    ];
    for (_, builder, _) in &cases {
        test.create(&builder.build()).await;
    }
    let mut unexpected = Vec::new();
    for (name, _, Incomplete(expected)) in &cases {
        let found = test
            .wait_for_reason(name, ConditionType::Reconciling, "Incomplete")
            .await;
        assert_eq!(
            conditions(&found),
            ["Ready=Unknown", "Reconciling=True", "Stalled=False"],
            "{name}"
        );
        let status = found.status.as_ref().expect("a status");
        assert_eq!(status.resolution.as_deref(), Some("INCOMPLETE"), "{name}");
        let lines: Vec<String> = status
            .deferred
            .iter()
            .map(|found| {
                format!(
                    "{} {} {}",
                    found.rule,
                    found.missing,
                    path(&found.document, &found.path)
                )
            })
            .collect();
        if !lines.iter().any(|line| line == expected) {
            unexpected.push(format!("{name}: {lines:#?}"));
        }
        assert!(
            status.deferred.iter().all(|found| found.message.is_some()),
            "{name}: {status:#?}"
        );
        nothing_came_of_it(&found);
        test.wait_for_event(name, "Incomplete").await;
    }
    assert_eq!(unexpected, Vec::<String>::new());
    nothing_was_made(&test).await;
}

#[tokio::test]
async fn what_was_missing_heals_without_a_touch_of_the_installation() {
    let test = TestNamespace::new("heals").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    let profiles = Api::<ComputeProfile>::all(test.client());
    let slug = "accelerator.premium.nano";
    let _ = profiles.delete(slug, &DeleteParams::default()).await;
    let in_map = installation("by-map")
        .config_map(SLUG, "wiki-files")
        .parameter("siteTitle", TITLE);
    let by_profile = item
        .clone()
        .edited("blueprint.yaml", "general.standard.small", slug);
    let waiting = [
        ("by-map", in_map),
        (
            "by-secret",
            item.untitled("by-secret")
                .parameter_from_secret("siteTitle", "inputs", "title"),
        ),
        ("by-profile", by_profile.installation("by-profile")),
    ];
    let mut generations = Vec::new();
    for (name, builder) in &waiting {
        test.create(&builder.build()).await;
        let found = test
            .wait_for_reason(name, ConditionType::Reconciling, "Incomplete")
            .await;
        generations.push(found.metadata.generation);
    }

    test.create(&item.config_map("wiki-files")).await;
    // First the Secret, then its key.
    let inputs: Secret =
        object(json!({"metadata": {"name": "inputs"}, "stringData": {"other": "x"}}));
    test.create(&inputs).await;
    test.wait_for("by-secret", "another message", |found| {
        let message = found.status.as_ref()?.deferred.first()?.message.clone()?;
        message.contains("has no key").then_some(())
    })
    .await;
    let title = Patch::Merge(json!({"stringData": {"title": TITLE}}));
    test.api::<Secret>()
        .patch("inputs", &PatchParams::default(), &title)
        .await
        .expect("patched");
    let profile: ComputeProfile = object(json!({
        "metadata": {"name": slug}, "spec": {"currentVersion": "1", "versions": [{"version": "1", "resources": {}}]}
    }));
    create(&profiles, &profile).await;

    for ((name, _), generation) in waiting.iter().zip(generations) {
        let healed = test.wait_until_materialized(name).await;
        assert_eq!(healed.metadata.generation, generation, "{name}");
    }
    let _ = profiles.delete(slug, &DeleteParams::default()).await;
}

fn path(document: &Option<String>, path: &str) -> String {
    match document {
        Some(document) => format!("{document}:{path}"),
        None => path.to_owned(),
    }
}

#[track_caller]
fn nothing_came_of_it(found: &Installation) {
    let status = found.status.as_ref().expect("a status");
    assert_ne!(condition(found, ConditionType::Materialized).0, "True");
    assert_ne!(condition(found, ConditionType::Available).0, "True");
    assert_ne!(condition(found, ConditionType::Resolved).0, "True");
    assert!(
        status.record.is_none() && status.inventory.is_empty(),
        "{status:#?}"
    );
}

/// Nothing but claims, and the operator has nothing more to do.
async fn nothing_was_made(test: &TestNamespace) {
    test.wait_until_quiet().await;
    let stock = test.stock().await;
    let claims = stock.of(Precious::Claim).len();
    assert_eq!(
        stock.counts(),
        support::Counts {
            claims,
            ..support::NOTHING
        }
    );
    assert_eq!(
        (
            test.deployments().await.len(),
            test.environments().await.len()
        ),
        (0, 0)
    );
    for log in test.operator_logs() {
        assert!(!log.contains("panicked"), "{log}");
    }
    // Not only for a moment: nothing for as long again.
    let mark = test.cluster.audit_mark();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let requests = test.operator_requests_since(mark);
    assert!(
        requests.is_empty(),
        "the operator goes on asking: {requests:#?}"
    );
}
