//! Secrets stay in Secrets: after a run with a success, two failures and a crash, nothing that anybody but a reader of
//! Secrets can see holds a secret value, the beginning of one, or its digest.

mod support;

use k8s_openapi::api::core::v1::Secret;
use serde_json::json;
use support::install::object;
use support::item::PASSWORD;
use support::secrecy::assert_hidden;
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
    let visible = test.visible().await;
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
        assert_hidden(secret, &visible);
    }
}

#[tokio::test]
async fn of_secrets_config_maps_and_pods_nothing_but_metadata_is_watched() {
    let test = TestNamespace::new("metadata").await;
    let operator = test.operator().await.through_proxy(&test).await.start();
    test.install_wiki().await;
    let watched = operator.proxy().watched();
    for resource in ["secrets", "configmaps", "pods", "persistentvolumeclaims"] {
        let mut accepted = watched[resource].iter();
        let alone = accepted.all(|types| types.contains("PartialObjectMetadata"));
        assert!(alone, "{resource}: {:?}", watched[resource]);
    }
}
