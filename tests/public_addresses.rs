//! PUBLIC endpoints of TCP: an address is awaited before anything runs, pinned, and never changed by itself.

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::names::route;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use support::wait::condition;
use support::{Item, TestNamespace};

/// The database is PUBLIC, and the web service is told its public address.
fn public(item: Item) -> Item {
    item.edited(
        "blueprint.yaml",
        "componentRef: ./db.yaml\n",
        "componentRef: ./db.yaml\n      exposure: { main: PUBLIC }\n",
    )
    .edited(
        "db.yaml",
        "property: privateAddress",
        "property: publicAddress",
    )
}

/// A Platform whose load balancer gives no address until the annotation that it puts on every Service goes.
async fn offer(test: &TestNamespace) {
    test.platform(json!({"edge": {"loadBalancer": {
        "annotations": {"test.musher.dev/pending": "true"}
    }}}))
    .await;
}

fn service() -> String {
    route("wiki", "db", "main")
}

impl TestNamespace {
    async fn patch_service(&self, change: Value) {
        let patched = self
            .api::<Service>()
            .patch(&service(), &PatchParams::default(), &Patch::Merge(change))
            .await;
        patched.expect("patched");
    }

    /// Lets the load balancer give its address.
    async fn give_address(&self) {
        let annotations = json!({"test.musher.dev/pending": null});
        self.patch_service(json!({"metadata": {"annotations": annotations}}))
            .await;
    }

    /// The address that the load balancer has given.
    async fn address(&self) -> Option<String> {
        let service = json!(self.api::<Service>().get(&service()).await.ok()?);
        let given = service.pointer("/status/loadBalancer/ingress/0/ip")?;
        given.as_str().map(str::to_owned)
    }

    /// The public address of the database that status tells of.
    async fn told(&self) -> Option<String> {
        let wiki = self.wait_until_materialized("wiki").await;
        let endpoints = wiki.status?.endpoints.into_iter();
        endpoints
            .filter(|endpoint| endpoint.node == "db")
            .find_map(|endpoint| endpoint.public_address)
    }

    async fn selector(&self) -> Value {
        let service = self.api::<Service>().get(&service()).await;
        json!(service.expect("a Service").spec.expect("a spec").selector)
    }
}

#[tokio::test]
async fn an_address_is_awaited_before_anything_runs_and_then_pinned() {
    let test = TestNamespace::new("address").await;
    let _operator = test.operator().await.platform(&test.name).start();
    let item = public(test.item().await);
    test.create(&item.installation("wiki").build()).await;
    let waiting = async |missing: &str| {
        let found = test
            .wait_for("wiki", missing, |seen| {
                let deferred = &seen.status.as_ref()?.deferred;
                let mut all = deferred.iter().map(|found| found.missing.as_str());
                all.any(|found| found == missing).then_some(())
            })
            .await;
        assert_eq!(condition(&found, ConditionType::Ready).0, "Unknown");
        found.status.expect("a status").deferred
    };
    waiting("edge:db:main").await;
    assert_eq!(test.list::<Service>().await.len(), 0);

    offer(&test).await;
    let deferred = waiting("address:db:main").await;
    let messages: Vec<_> = deferred
        .iter()
        .filter_map(|found| found.message.as_ref())
        .collect();
    assert!(messages[0].contains(&service()), "{messages:?}");
    assert_eq!(test.list::<Service>().await.len(), 1);
    assert_eq!(test.selector().await, Value::Null, "it leads nowhere yet");
    assert_eq!(test.list::<Deployment>().await.len(), 0);

    test.give_address().await;
    let told = test.told().await.expect("an address");
    let given = test.address().await.expect("an address");
    assert_eq!(told, format!("{given}:8080"));
    assert_ne!(
        test.selector().await,
        Value::Null,
        "it leads to the database"
    );
    let environments = test.list::<k8s_openapi::api::core::v1::Secret>().await;
    let handed = environments
        .iter()
        .find_map(|secret| secret.data.as_ref()?.get("DB_ADDRESS"));
    assert_eq!(handed.map(|bytes| &bytes.0[..]), Some(told.as_bytes()));
}

#[tokio::test]
async fn nothing_is_asked_of_a_load_balancer_while_anything_else_is_missing() {
    let test = TestNamespace::new("address-last").await;
    let _operator = test.operator().await.platform(&test.name).start();
    offer(&test).await;
    let item = public(test.item().await);
    test.create(&item.untitled("wiki").build()).await;
    test.wait_until_stalled("wiki", "Invalid").await;
    assert_eq!(test.list::<Service>().await.len(), 0);
}

#[tokio::test]
async fn another_address_is_an_update_and_not_applied() {
    let test = TestNamespace::new("address-update").await;
    let _operator = test.operator().await.platform(&test.name).start();
    test.platform(json!({"edge": {"loadBalancer": {}}})).await;
    let item = public(test.item().await);
    test.create(&item.installation("wiki").build()).await;
    let before = test.told().await.expect("an address");

    let moved = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}});
    test.api::<Service>()
        .patch_status(&service(), &PatchParams::default(), &Patch::Merge(moved))
        .await
        .expect("patched");
    let seen = test
        .wait_for_condition("wiki", ConditionType::UpdateAvailable, "True")
        .await;
    let told = json!(seen.status).to_string();
    assert!(
        told.contains("address of endpoint main of node db"),
        "{told}"
    );
    assert_eq!(test.told().await.as_ref(), Some(&before));

    test.merge("wiki", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    assert_eq!(test.told().await.as_deref(), Some("192.0.2.9:8080"));
}

#[tokio::test]
async fn an_endpoint_that_becomes_public_waits_beside_what_runs() {
    let test = TestNamespace::new("address-later").await;
    let _operator = test.operator().await.platform(&test.name).start();
    offer(&test).await;
    let item = test.item().await;
    test.create(&item.installation("wiki").build()).await;
    test.wait_until_materialized("wiki").await;
    let files = json!(public(item).files);
    test.merge(
        "wiki",
        json!({"spec": {"blueprint": {"inline": {"files": files}}}}),
    )
    .await;
    test.wait_for_reason("wiki", ConditionType::Reconciling, "Incomplete")
        .await;
    // The record that runs is applied again and again, and does not take the Service for a leftover of its own.
    let title = json!({"spec": {"parameters": {"siteTitle": {"value": "Another"}}}});
    test.merge("wiki", title).await;
    test.wait_for_reason("wiki", ConditionType::Reconciling, "Incomplete")
        .await;
    assert_eq!(test.selector().await, Value::Null);
    assert_eq!(test.list::<Deployment>().await.len(), 2);
    test.give_address().await;
    assert!(test.told().await.is_some());
}
