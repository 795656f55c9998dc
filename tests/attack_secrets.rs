//! Secrets stay in Secrets: after a run with a success, two failures and a crash, nothing that anybody but a reader of
//! Secrets can see holds a secret value, the beginning of one, or its digest.

mod support;

use data_encoding::{BASE64, BASE64_NOPAD, HEXLOWER};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, ListParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use support::install::object;
use support::item::PASSWORD;
use support::{Moment, TestNamespace};

const TITLE: &str = "c0nf1d3nt1al-title-of-the-wiki";
const TOO_LONG: &str = "t00-l0ng-f0r-its-schema-which-admits-forty-characters-at-most";
const NO_JSON: &str = "n0-js0n-at-all: {";

#[tokio::test]
async fn no_secret_leaves_the_secrets() {
    let test = TestNamespace::new("secrets").await;
    test.create(&object::<Secret>(json!({
        "metadata": {"name": "inputs"},
        "stringData": {"title": TITLE, "long": TOO_LONG, "json": NO_JSON}
    })))
    .await;
    let mut operator = {
        let launch = test.operator().await.through_proxy(&test).await;
        // The credential has just been written.
        launch.kill_at(Moment::After(3));
        launch.start()
    };
    let item = test.item().await;
    let from = |name: &str, key: &str| {
        item.untitled(name)
            .parameter_from_secret("siteTitle", "inputs", key)
    };
    test.create(&from("wiki", "title").build()).await;
    operator.ended().await;
    operator.restart();
    test.wait_until_materialized("wiki").await;
    test.create(&from("too-long", "long").build()).await;
    let as_json = json!({"secretKeyRef": {"name": "inputs", "key": "json", "format": "JSON"}});
    test.create(
        &item
            .untitled("no-json")
            .entry("parameters", "siteTitle", as_json)
            .build(),
    )
    .await;
    test.create(
        &item
            .untitled("written")
            .parameter("dbPassword", "wr1tten-0ut")
            .build(),
    )
    .await;
    for name in ["too-long", "no-json", "written"] {
        test.wait_until_stalled(name, "Invalid").await;
        test.wait_for_event(name, "Invalid").await;
    }
    // An update that fails, and a rotation.
    let failing = json!({"spec": {"parameters": {"siteTitle": {"secretKeyRef": {"key": "long"}}}}});
    test.merge("wiki", failing).await;
    test.wait_until_stalled("wiki", "Invalid").await;
    let mended = json!({"spec": {
        "parameters": {"siteTitle": {"secretKeyRef": {"key": "title"}}},
        "credentials": {PASSWORD: {"generation": 1}}
    }});
    test.merge("wiki", mended).await;
    test.wait_until_materialized("wiki").await;
    test.wait_until_quiet().await;

    let stock = test.stock().await;
    let generated =
        [0, 1].map(|generation| stock.password(PASSWORD, generation).expect("a password"));
    let submitted = [TITLE, TOO_LONG, NO_JSON].map(str::to_owned);
    let visible = visible(&test).await;
    assert!(
        visible.iter().any(|(what, _)| what.starts_with("Event/")),
        "no event was looked at"
    );
    assert!(
        visible
            .iter()
            .any(|(what, _)| what.starts_with("ResolutionRecord/")),
        "no record was looked at"
    );
    assert!(
        visible
            .iter()
            .any(|(what, text)| what == "log" && text.len() > 1000),
        "no log was looked at"
    );
    for secret in generated.iter().chain(&submitted) {
        for needle in traces(secret) {
            for (what, text) in &visible {
                // Not the secret itself: this text is a log, too.
                assert!(
                    !text.contains(&needle),
                    "{what} shows a secret of {} characters",
                    secret.len()
                );
            }
        }
    }
}

/// The value, its beginning, its base64 and its digest.
fn traces(secret: &str) -> Vec<String> {
    let digest = Sha256::digest(secret);
    vec![
        secret[..10].to_owned(),
        BASE64_NOPAD.encode(&secret.as_bytes()[..9]),
        HEXLOWER.encode(&digest)[..16].to_owned(),
        HEXLOWER.encode(&digest)[..16].to_uppercase(),
        BASE64.encode(&digest)[..16].to_owned(),
    ]
}

/// Every object of the namespace and of the operator's own cluster-wide kinds, and the logs; all but Secrets.
async fn visible(test: &TestNamespace) -> Vec<(String, String)> {
    let discovery = Discovery::new(test.client())
        .run()
        .await
        .expect("what is served");
    let mut seen = Vec::new();
    for group in discovery.groups() {
        for version in group.versions() {
            for (kind, capabilities) in group.versioned_resources(version) {
                let ours = kind.group == "install.musher.dev";
                if kind.kind == "Secret" || !capabilities.supports_operation(verbs::LIST) {
                    continue;
                }
                let api: Api<DynamicObject> = match capabilities.scope {
                    Scope::Namespaced => Api::namespaced_with(test.client(), &test.name, &kind),
                    Scope::Cluster if ours => Api::all_with(test.client(), &kind),
                    Scope::Cluster => continue,
                };
                for found in api.list(&ListParams::default()).await.into_iter().flatten() {
                    let text = serde_json::to_string(&found).expect("JSON");
                    seen.push((
                        format!("{}/{}/{}", kind.kind, kind.api_version, found.name_any()),
                        text,
                    ));
                }
            }
        }
    }
    seen.extend(
        test.operator_logs()
            .into_iter()
            .map(|log| ("log".to_owned(), log)),
    );
    seen
}
