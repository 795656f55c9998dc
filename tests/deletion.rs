//! Deletion against everything that stands in its way: somebody else's finalizers, objects that only look like the
//! operator's, sources that are gone, an operator that was away.

mod support;

use installation_operator::api::Installation;
use installation_operator::api::condition::ConditionType;
use installation_operator::api::names::{self, IDENTITY_LABEL, Precious};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use support::install::object;
use support::item::{PASSWORD, SLUG, TITLE};
use support::wait::{condition, eventually};
use support::{Item, NOTHING, TestNamespace, installation};

const GUARD: &str = "backup.example.org/guard";

fn guarded(finalizers: serde_json::Value) -> Patch<serde_json::Value> {
    Patch::Merge(json!({"metadata": {"finalizers": finalizers}}))
}

#[tokio::test]
async fn what_somebody_else_guards_is_waited_for_and_named() {
    let test = TestNamespace::new("guarded").await;
    let _operator = test.operator().await.start();
    test.create(&test.item().await.installation("wiki").deleting().build())
        .await;
    test.wait_until_materialized("wiki").await;
    let credential = names::credential("wiki", PASSWORD, 0);
    let secrets = test.api::<Secret>();
    let params = PatchParams::default();
    secrets
        .patch(&credential, &params, &guarded(json!([GUARD])))
        .await
        .expect("guarded");
    test.delete("wiki").await;
    let waiting = test
        .wait_for_reason("wiki", ConditionType::Ready, "HeldByFinalizer")
        .await;
    let message = &waiting.status.expect("a status").conditions[0].message;
    assert!(
        message.contains(&credential) && message.contains(GUARD),
        "{message}"
    );
    secrets
        .patch(&credential, &params, &guarded(json!(null)))
        .await
        .expect("let go");
    test.wait_until_gone("wiki").await;
    assert_eq!(test.stock().await.counts(), NOTHING);
}

#[tokio::test]
async fn a_workload_that_somebody_guards_holds_up_neither_the_deletion_nor_the_next_installation() {
    let test = TestNamespace::new("guarded-child").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.installation("wiki").build()).await;
    test.wait_until_materialized("wiki").await;
    let web = names::workload("wiki", "web");
    let deployments = test.api::<Deployment>();
    let params = PatchParams::default();
    deployments
        .patch(&web, &params, &guarded(json!([GUARD])))
        .await
        .expect("guarded");
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    eventually("the Deployment to be on its way out", async || {
        let found = deployments.get(&web).await.ok()?;
        found.metadata.deletion_timestamp.map(|_| ())
    })
    .await;

    test.create(&item.installation("wiki").build()).await;
    test.wait_for("wiki", "the guard to be named", |wiki| {
        let nodes = &wiki.status.as_ref()?.nodes;
        let web = nodes.iter().find(|node| node.name == "web")?;
        web.message.as_ref()?.contains(GUARD).then_some(())
    })
    .await;
    deployments
        .patch(&web, &params, &guarded(json!(null)))
        .await
        .expect("let go");
    let wiki = test.api::<Installation>().get("wiki").await.expect("it");
    eventually("the next one's Deployment", async || {
        let found = deployments.get_opt(&web).await.ok()??;
        let mut owners = found.owner_references().iter();
        owners
            .any(|owner| Some(&owner.uid) == wiki.metadata.uid.as_ref())
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_only_looks_like_the_operators_is_left_alone() {
    let test = TestNamespace::new("look-alike").await;
    let _operator = test.operator().await.start();
    test.create(&test.item().await.installation("wiki").deleting().build())
        .await;
    test.wait_until_materialized("wiki").await;
    test.wait_until_quiet().await;
    let labels = json!({IDENTITY_LABEL: "wiki"});
    let secret: Secret = object(json!({
        "metadata": {"name": "of-somebody", "labels": labels},
        "type": Precious::Source.secret_type(),
    }));
    let volume: PersistentVolumeClaim = object(json!({
        "metadata": {"name": "of-somebody", "labels": labels},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }));
    let plain: Secret = object(json!({"metadata": {"name": "plain", "labels": labels}}));
    test.create(&secret).await;
    test.create(&volume).await;
    test.create(&plain).await;
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    let told = test.wait_for_event("wiki", "LeftAlone").await;
    assert!(
        told.contains("Secret of-somebody") && told.contains("PersistentVolumeClaim of-somebody"),
        "{told}"
    );
    let left = test.list::<PersistentVolumeClaim>().await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].metadata.deletion_timestamp, None);
    let left: Vec<String> = test
        .list::<Secret>()
        .await
        .iter()
        .filter(|secret| secret.labels().contains_key(IDENTITY_LABEL))
        .map(|secret| secret.name_any())
        .collect();
    assert_eq!(left, ["of-somebody", "plain"]);
}

#[tokio::test]
async fn without_its_source_and_its_inputs_an_installation_still_goes() {
    let test = TestNamespace::new("sourceless").await;
    let mut operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.config_map("wiki-files")).await;
    let title: Secret =
        object(json!({"metadata": {"name": "inputs"}, "stringData": {"title": TITLE}}));
    test.create(&title).await;
    let wiki = installation("wiki").config_map(SLUG, "wiki-files");
    let wiki = wiki.parameter_from_secret("siteTitle", "inputs", "title");
    test.create(&wiki.deleting().build()).await;
    test.wait_until_materialized("wiki").await;
    operator.kill();
    let gone = DeleteParams::default();
    test.api::<ConfigMap>()
        .delete("wiki-files", &gone)
        .await
        .expect("it goes");
    test.api::<Secret>()
        .delete("inputs", &gone)
        .await
        .expect("it goes");
    test.delete("wiki").await;
    operator.restart();
    test.wait_until_gone("wiki").await;
    assert_eq!(test.stock().await.counts(), NOTHING);
}

#[tokio::test]
async fn an_installation_whose_claim_is_lost_still_goes() {
    let test = TestNamespace::new("claimless").await;
    let _operator = test.operator().await.start();
    test.create(&test.item().await.installation("wiki").deleting().build())
        .await;
    test.wait_until_materialized("wiki").await;
    test.api::<Secret>()
        .delete(&names::claim("wiki"), &DeleteParams::default())
        .await
        .expect("it goes");
    let stalled = test.wait_until_stalled("wiki", "StateLost").await;
    let message = &stalled.status.expect("a status").conditions[0].message;
    assert!(message.contains(names::CLAIM_ANNOTATION), "{message}");
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    assert_eq!(test.stock().await.counts(), NOTHING);
}

#[tokio::test]
async fn who_begins_anew_waits_for_the_volume_of_its_former_life_and_misses_nothing() {
    let test = TestNamespace::new("anew").await;
    let _operator = test.operator().await.start();
    let item = Item::one_of_each(&test.cluster).await;
    let town = installation("town")
        .inline(SLUG, item.files)
        .with("deletionPolicy", json!("Delete"))
        .build();
    test.create(&town).await;
    test.wait_until_materialized("town").await;
    // A pod that uses the volume, on a cluster node that never lets it end.
    let volume = names::volume("town", "store", "data");
    test.create(&object::<Pod>(json!({
        "metadata": {"name": "user"},
        "spec": {
            "nodeName": "nowhere",
            "containers": [{"name": "user", "image": "none"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": volume}}],
        },
    })))
    .await;
    test.delete("town").await;
    test.wait_until_gone("town").await;
    let claims = test.api::<PersistentVolumeClaim>();
    let former = claims.get(&volume).await.expect("it is on its way");
    assert!(former.metadata.deletion_timestamp.is_some());

    test.create(&town).await;
    test.wait_until_materialized("town").await;
    let now = DeleteParams::default().grace_period(0);
    test.api::<Pod>()
        .delete("user", &now)
        .await
        .expect("it goes");
    eventually("a volume of its own", async || {
        let found = claims.get_opt(&volume).await.ok()??;
        (found.uid() != former.uid()).then_some(())
    })
    .await;
    let told = test.wait_until_materialized("town").await;
    assert_ne!(condition(&told, ConditionType::Ready).1, "StateLost");
}
