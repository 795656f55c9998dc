//! The support module itself, as far as it needs no controller.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what the pure rooms do without"
)]

mod support;

use installation_operator::api::Installation;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{PostParams, WatchEvent, WatchParams};
use serde_json::json;

use futures::TryStreamExt as _;
use support::install::object;
use support::{ApiProxy, Moment, TestNamespace, installation};

#[tokio::test]
async fn a_test_gets_a_namespace_of_its_own() {
    let (one, other) = (
        TestNamespace::new("smoke").await,
        TestNamespace::new("smoke").await,
    );
    assert_ne!(one.name, other.name);
    one.create(
        &installation("wiki")
            .inline("acme-wiki", [("blueprint.yaml", "")])
            .build(),
    )
    .await;
    assert!(
        other
            .api::<Installation>()
            .get_opt("wiki")
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn the_proxy_forwards_watches_as_they_come_and_notes_writes() {
    let test = TestNamespace::new("proxy").await;
    let launch = test.principal("writer", &["edit"]).await;
    let proxy = ApiProxy::start(launch.client.clone()).await;
    let client =
        support::cluster::client_of(test.cluster.kubeconfig("unused", Some(&proxy.url))).await;
    let maps: Api<ConfigMap> = Api::namespaced(client, &test.name);

    let watch = maps
        .watch(&WatchParams::default().fields("metadata.name=seen"), "0")
        .await
        .unwrap();
    let mut watch = std::pin::pin!(watch);
    let map: ConfigMap = object(json!({"metadata": {"name": "seen"}}));
    maps.create(&PostParams::default(), &map).await.unwrap();
    let added = loop {
        match watch.try_next().await.unwrap().expect("an event") {
            WatchEvent::Added(added) => break added,
            other => assert!(matches!(other, WatchEvent::Bookmark(_)), "{other:?}"),
        }
    };
    assert_eq!(added.metadata.name.as_deref(), Some("seen"));

    let writes = proxy.writes();
    assert_eq!(writes.len(), 1);
    assert_eq!(
        writes[0].path,
        format!("/api/v1/namespaces/{}/configmaps", test.name)
    );
    assert!(writes[0].delivered);
}

#[tokio::test]
async fn an_operator_is_killed_before_or_after_its_first_write() {
    for (moment, delivered) in [(Moment::Before(1), false), (Moment::After(1), true)] {
        let test = TestNamespace::new("killed").await;
        let mark = test.cluster.audit_mark();
        test.create(
            &installation("wiki")
                .inline("acme-wiki", [("blueprint.yaml", "")])
                .build(),
        )
        .await;
        let mut operator = {
            let launch = test.operator().await.through_proxy(&test).await;
            launch.kill_at(moment);
            launch.start()
        };
        assert!(!operator.ended().await.success());
        let written = operator.proxy().writes();
        assert_eq!(
            written
                .iter()
                .map(|write| write.delivered)
                .collect::<Vec<_>>(),
            [delivered]
        );
        assert_eq!(
            test.operator_writes_since(mark).len(),
            usize::from(delivered)
        );

        operator.restart();
        test.wait_for("wiki", "a status", |seen| {
            (seen.status.as_ref()?.observed_generation > 0).then_some(())
        })
        .await;
        assert!(operator.stop().await.success());
    }
}

#[tokio::test]
async fn the_audit_log_tells_who_wrote_what() {
    let test = TestNamespace::new("audit").await;
    let tenant = test.principal("tenant", &["edit"]).await;
    let mark = test.cluster.audit_mark();
    let secrets: Api<Secret> = Api::namespaced(tenant.client.clone(), &test.name);
    let secret: Secret = object(json!({"metadata": {"name": "mine"}}));
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    secrets.get("mine").await.unwrap();
    test.create(&object::<Secret>(json!({"metadata": {"name": "another"}})))
        .await;

    let writes = test.writes_since(mark, &tenant.username());
    assert_eq!(writes.len(), 1, "{writes:?}");
    assert_eq!(
        (
            writes[0].verb.as_str(),
            writes[0].object_ref.resource.as_str()
        ),
        ("create", "secrets")
    );
    assert_eq!(writes[0].response_status.code, 201);
}
