//! Published components: absent, of another digest, claimed twice; each heals by itself, and what was accepted needs no
//! ComponentRevision any more.

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::{ComponentRevision, ResolutionRecord};
use installation_operator::document::digest::Digest;
use serde_json::{Value, json};
use support::{Item, TestNamespace};

/// An identity of this test alone.
fn identity(test: &TestNamespace) -> String {
    let digest = Digest::of(test.name.as_bytes()).to_string();
    let parts = [
        &digest[..8],
        &digest[8..12],
        &digest[12..16],
        &digest[16..20],
        &digest[20..32],
    ];
    parts.join("-")
}

/// The item whose web service is published, and the document of it.
async fn published(test: &TestNamespace) -> (Item, String) {
    let item = test.item().await;
    let document = item.files["web.yaml"].clone();
    let reference = format!("componentRef: {}\n      revision: 1", identity(test));
    let item =
        item.without("web.yaml")
            .edited("blueprint.yaml", "componentRef: ./web.yaml", &reference);
    (item, document)
}

fn revision(test: &TestNamespace, document: &str) -> Value {
    json!({
        "identity": identity(test), "revision": 1, "document": document,
        "digest": Digest::of(document.as_bytes()).to_string()
    })
}

#[tokio::test]
async fn a_published_component_is_waited_for_and_not_needed_once_it_was_accepted() {
    let test = TestNamespace::new("published").await;
    let mut operator = test.operator().await.start();
    let (item, document) = published(&test).await;
    test.create(&item.installation("wiki").build()).await;
    let missing = format!("contract:{}@1", identity(&test));
    let remedy = test.waits_for("wiki", &missing).await;
    assert!(remedy.contains("create it"), "{remedy}");

    test.offer::<ComponentRevision>("web", revision(&test, &document))
        .await;
    test.heals("wiki").await;
    let records = test.list::<ResolutionRecord>().await;
    let web = &records[0].spec.0.components["web"];
    assert_eq!(web.identity, identity(&test));
    assert_eq!(web.digest, Digest::of(document.as_bytes()));

    // Replayed from what is persisted alone, by an operator that never saw it.
    test.withdraw::<ComponentRevision>("web").await;
    operator.restart();
    let titled = json!({"spec": {"parameters": {"siteTitle": {"value": "Another title"}}}});
    test.merge("wiki", titled).await;
    test.wait_until_materialized("wiki").await;
    let reworded = item
        .edited(
            "blueprint.yaml",
            "A web service and its database.",
            "Reworded.",
        )
        .installation("wiki")
        .json();
    test.merge("wiki", json!({"spec": reworded["spec"]})).await;
    test.wait_until_materialized("wiki").await;
    assert_eq!(test.list::<ResolutionRecord>().await.len(), 3);

    // The same revision with another document is told, and changes nothing by itself.
    let other = document.replace("The web service.", "Another web service.");
    test.offer::<ComponentRevision>("web", revision(&test, &other))
        .await;
    let told = test
        .wait_for_condition("wiki", ConditionType::UpdateAvailable, "True")
        .await;
    let told = serde_json::to_string(&told.status).expect("JSON");
    assert!(
        told.contains(&format!("ComponentRevision {}@1", identity(&test))),
        "{told}"
    );
}

#[tokio::test]
async fn a_component_of_another_digest_is_refused() {
    let test = TestNamespace::new("digest").await;
    let _operator = test.operator().await.start();
    let (item, document) = published(&test).await;
    let mut wrong = revision(&test, &document);
    wrong["digest"] = json!("0".repeat(64));
    test.offer::<ComponentRevision>("wrong", wrong).await;
    test.create(&item.installation("wiki").build()).await;
    let message = test.is_refused("wiki", "ERR_INVALID_DEPENDENCY").await;
    assert!(message.contains("digest"), "{message}");

    test.offer::<ComponentRevision>("right", revision(&test, &document))
        .await;
    let named = format!("ComponentRevision {} and", test.own("right"));
    test.wait_for("wiki", "both to be named", |seen| {
        let text = serde_json::to_string(&seen.status).ok()?;
        text.contains(&named).then_some(())
    })
    .await;
    test.withdraw::<ComponentRevision>("wrong").await;
    test.heals("wiki").await;
}

#[tokio::test]
async fn a_component_revision_that_breaks_a_rule_is_refused_and_none_ever_changes() {
    let test = TestNamespace::new("crev").await;
    let with = |field: &str, value: Value| {
        let mut spec = revision(&test, "kind: COMPONENT");
        spec[field] = value;
        test.of_cluster("ComponentRevision", "web", spec)
    };
    test.try_create(&with("revision", json!(2)))
        .await
        .expect("it is taken");
    for (field, value) in [
        ("identity", json!("web")),
        ("identity", json!(identity(&test).to_uppercase())),
        ("revision", json!(0)),
        ("digest", json!("sha256:00")),
        ("document", json!("")),
    ] {
        let place = format!("spec.{field}");
        test.assert_refused(field, with(field, value), &place).await;
    }
    test.offer::<ComponentRevision>("web", revision(&test, "kind: COMPONENT"))
        .await;
    for change in [
        json!({"document": "kind: BLUEPRINT"}),
        json!({"revision": 2}),
    ] {
        test.assert_change_refused(
            "a change",
            &with("revision", json!(1)),
            json!({"spec": change}),
            "a ComponentRevision is immutable: publish another revision",
        )
        .await;
    }
}
