//! Deletion by policy and the way back, updates that succeed and that fail, rotation, suspension.

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::names::{self, FINALIZER, Precious};
use installation_operator::api::{Installation, ResolutionRecord};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use support::install::object;
use support::item::{PASSWORD, SLUG, TITLE};
use support::stock::version;
use support::wait::{condition, eventually};
use support::{Counts, NOTHING, ONE_INSTALL, TestNamespace, installation};

#[tokio::test]
async fn what_is_retained_is_taken_over_by_the_next_of_that_name() {
    let test = TestNamespace::new("retain").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    let before = test.stock().await;
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    assert_eq!(test.stock().await.versions(), before.versions());
    for secrets in before.secrets.values().flatten() {
        assert_eq!(secrets.owner_references(), [], "{}", secrets.name_any());
    }

    test.install_wiki().await;
    let ready = test
        .wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    assert_eq!(
        ready
            .status
            .and_then(|status| status.record)
            .map(|record| record.version),
        Some(1)
    );
    test.wait_for_event("wiki", "TakenOver").await;
    let events = test.events("wiki").await;
    let generated = events
        .iter()
        .filter(|(reason, _)| reason == "CredentialCreated")
        .count();
    assert_eq!(generated, 1, "{events:?}");
    let after = test.stock().await;
    let claim = names::claim("wiki");
    let but_claim = |stock: &support::Stock| {
        let mut versions = stock.versions();
        versions.remove(&claim);
        versions
    };
    assert_eq!(but_claim(&after), but_claim(&before));
    let owner = test
        .api::<Installation>()
        .get("wiki")
        .await
        .expect("it")
        .uid();
    eventually("every workload to be the new one's alone", async || {
        let deployments = test.deployments().await;
        let owned = |deployment: &Deployment| {
            deployment
                .owner_references()
                .iter()
                .map(|owner| Some(owner.uid.clone()))
                .eq([owner.clone()])
        };
        (deployments.len() == 2 && deployments.values().all(owned)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn with_the_policy_delete_nothing_precious_stays() {
    let test = TestNamespace::new("delete").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.installation("wiki").deleting().build())
        .await;
    test.create(&item.installation("neighbour").build()).await;
    test.wait_until_materialized("wiki").await;
    test.wait_until_materialized("neighbour").await;
    let change = json!({"spec": {"credentials": {PASSWORD: {"generation": 1}}}});
    let changed = test.merge("wiki", change).await;
    assert!(
        changed
            .finalizers()
            .iter()
            .any(|finalizer| finalizer == FINALIZER)
    );
    test.wait_until_materialized("wiki").await;

    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    let left = test.stock().await;
    assert_eq!(left.counts(), ONE_INSTALL, "the neighbour's");
    assert!(
        left.versions()
            .keys()
            .all(|name| name.contains("neighbour")),
        "{:?}",
        left.versions()
    );
    eventually("the workloads to be collected", async || {
        let names = test
            .deployments()
            .await
            .into_keys()
            .chain(test.environments().await.into_keys());
        names
            .into_iter()
            .all(|name| name.starts_with("neighbour"))
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn whatever_state_an_installation_is_in_its_deletion_goes_through() {
    let test = TestNamespace::new("goes").await;
    let operator = test.operator().await.start();
    let item = test.item().await;
    let forged: Secret = object(json!({
        "metadata": {"name": names::claim("foreign")}, "type": Precious::Claim.secret_type()
    }));
    test.create(&forged).await;
    let absent = |name: &str| {
        item.untitled(name)
            .parameter_from_secret("siteTitle", "absent", "title")
    };
    for (builder, reason) in [
        (
            item.untitled("invalid").parameter("siteTitle", 7),
            "Invalid",
        ),
        (
            item.untitled("invalid-deleting")
                .parameter("siteTitle", 7)
                .deleting(),
            "Invalid",
        ),
        (absent("incomplete"), "Incomplete"),
        (absent("incomplete-deleting").deleting(), "Incomplete"),
        (item.installation("foreign").deleting(), "ForeignObject"),
        (
            item.installation("suspended").suspended().deleting(),
            "Suspended",
        ),
        (
            installation("oci").with(
                "blueprint",
                json!({"oci": {"reference": "registry.test/wiki:1"}}),
            ),
            "Incomplete",
        ),
    ] {
        let name = builder.build().name_any();
        test.create(&builder.build()).await;
        test.wait_for_reason(&name, ConditionType::Ready, reason)
            .await;
        test.delete(&name).await;
        test.wait_until_gone(&name).await;
    }
    let left = test.stock().await;
    assert_eq!(
        left.counts(),
        Counts {
            claims: 1,
            ..NOTHING
        },
        "the forged one, which is not the operator's"
    );

    // Half made: the operator is away when the deletion comes.
    test.create(&item.installation("half").deleting().build())
        .await;
    test.wait_for("half", "its finalizer", |half| {
        (!half.finalizers().is_empty()).then_some(())
    })
    .await;
    operator.kill();
    test.delete("half").await;
    let _again = test.operator().await.start();
    test.wait_until_gone("half").await;
    assert_eq!(
        test.stock().await.counts(),
        Counts {
            claims: 1,
            ..NOTHING
        }
    );
}

#[tokio::test]
async fn the_deletion_of_a_namespace_goes_through() {
    let home = TestNamespace::new("home").await;
    let test = TestNamespace::new("vanishing").await;
    let _operator = test.operator_from(&home).await.start();
    let item = test.item().await;
    test.create(&item.installation("wiki").build()).await;
    test.create(&item.installation("deleting").deleting().build())
        .await;
    test.create(&item.untitled("invalid").parameter("siteTitle", 7).build())
        .await;
    test.wait_until_materialized("wiki").await;
    test.wait_until_materialized("deleting").await;
    test.wait_until_stalled("invalid", "Invalid").await;

    let namespaces: Api<Namespace> = Api::all(test.client());
    namespaces
        .delete(&test.name, &DeleteParams::default())
        .await
        .expect("it goes");
    eventually("the namespace to be gone", async || {
        namespaces
            .get_opt(&test.name)
            .await
            .ok()?
            .is_none()
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_update_is_another_version_and_changes_only_what_it_names() {
    let test = TestNamespace::new("update").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    let (before, deployments) = (test.stock().await, test.deployments().await);
    let environment = |node: &str, version| names::environment("wiki", node, version);
    let keys = |environments: &std::collections::BTreeMap<String, Secret>| -> Vec<String> {
        environments.keys().cloned().collect()
    };
    assert_eq!(
        keys(&test.environments().await),
        [environment("db", 1), environment("web", 1)]
    );

    test.merge(
        "wiki",
        json!({"spec": {"parameters": {"siteTitle": {"value": "Another title"}}}}),
    )
    .await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    let after = test.stock().await;
    assert_eq!(
        after.counts(),
        Counts {
            snapshots: 2,
            records: 2,
            ..ONE_INSTALL
        }
    );
    // The claim counts the versions, and the record says beside its spec that another one counts.
    let written = [names::claim("wiki"), names::record("wiki", 1)];
    let unchanged = before
        .versions()
        .into_iter()
        .filter(|(name, _)| !written.contains(name))
        .all(|(name, version)| after.versions()[&name] == version);
    assert!(unchanged, "history changed");
    let second = test
        .api::<ResolutionRecord>()
        .get(&names::record("wiki", 2))
        .await
        .expect("a record");
    assert_eq!(second.spec.0.installation_snapshot.version, "2");
    let template =
        |deployment: &Deployment| deployment.spec.as_ref().map(|spec| spec.template.clone());
    let now = test.deployments().await;
    let (web, db) = (
        names::workload("wiki", "web"),
        names::workload("wiki", "db"),
    );
    assert_ne!(template(&now[&web]), template(&deployments[&web]));
    assert_eq!(template(&now[&db]), template(&deployments[&db]));
    eventually(
        "the environment that no pod uses any more to go",
        async || {
            let left = keys(&test.environments().await);
            (left == [environment("db", 1), environment("web", 2)]).then_some(())
        },
    )
    .await;
    let title = &test.environments().await[&environment("web", 2)]
        .data
        .clone()
        .expect("data")["TITLE"];
    assert_eq!(title.0, b"Another title");
}

#[tokio::test]
async fn a_failed_update_is_harmless() {
    let test = TestNamespace::new("harmless").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    test.wait_until_quiet().await;
    let (before, running) = (test.stock().await, test.deployments().await);
    let titled = |value: serde_json::Value| json!({"spec": {"parameters": {"siteTitle": value}}});
    let absent = json!({"value": null, "secretKeyRef": {"name": "absent", "key": "title"}});
    for (change, reason, ready) in [
        (titled(json!({"value": 7})), "Invalid", "False"),
        (titled(absent), "Incomplete", "Unknown"),
    ] {
        test.merge("wiki", change).await;
        let failed = test
            .wait_for_reason("wiki", ConditionType::Ready, reason)
            .await;
        assert_eq!(condition(&failed, ConditionType::Ready).0, ready);
        assert_eq!(
            condition(&failed, ConditionType::Available),
            ("True", "Serving"),
            "{reason}"
        );
        assert_eq!(
            condition(&failed, ConditionType::Materialized).0,
            "True",
            "{reason}"
        );
        let status = failed.status.expect("a status");
        assert_eq!(
            status.record.map(|record| record.version),
            Some(1),
            "{reason}"
        );
        test.wait_until_quiet().await;
        assert_eq!(test.stock().await.versions(), before.versions(), "{reason}");
        for (name, deployment) in test.deployments().await {
            assert_eq!(version(&deployment), version(&running[&name]), "{reason}");
        }
    }
    // And what runs still heals.
    let web = names::workload("wiki", "web");
    test.api::<Deployment>()
        .delete(&web, &DeleteParams::background())
        .await
        .expect("it goes");
    eventually("the Deployment to come back", async || {
        let found = test.deployments().await;
        (found.get(&web)?.uid() != running[&web].uid()).then_some(())
    })
    .await;
    let back =
        json!({"spec": {"parameters": {"siteTitle": {"value": TITLE, "secretKeyRef": null}}}});
    test.merge("wiki", back).await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    assert_eq!(
        test.stock().await.versions(),
        before.versions(),
        "the spec is that of record 1 again"
    );
}

#[tokio::test]
async fn changed_content_is_told_and_selected_only_on_request() {
    let test = TestNamespace::new("pinned").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.config_map("wiki-files")).await;
    let title: Secret =
        object(json!({"metadata": {"name": "inputs"}, "stringData": {"title": TITLE}}));
    test.create(&title).await;
    let wiki = installation("wiki").config_map(SLUG, "wiki-files");
    test.create(
        &wiki
            .parameter_from_secret("siteTitle", "inputs", "title")
            .build(),
    )
    .await;
    test.wait_until_materialized("wiki").await;
    test.wait_until_quiet().await;
    let (before, running) = (test.stock().await, test.deployments().await);

    let changed = item.edited("web.yaml", "envVarKey: TITLE", "envVarKey: SITE_TITLE");
    let params = PatchParams::default();
    let content = Patch::Merge(json!({"data": changed.files}));
    test.api::<ConfigMap>()
        .patch("wiki-files", &params, &content)
        .await
        .expect("patched");
    let told = test
        .wait_for_condition("wiki", ConditionType::UpdateAvailable, "True")
        .await;
    let message = told
        .status
        .expect("a status")
        .conditions
        .pop()
        .expect("a condition")
        .message;
    assert!(
        message.contains("ConfigMap wiki-files") && message.contains("update.token"),
        "{message}"
    );
    let title = Patch::Merge(json!({"stringData": {"title": "Another title"}}));
    test.api::<Secret>()
        .patch("inputs", &params, &title)
        .await
        .expect("patched");
    test.wait_for("wiki", "both changes to be told", |wiki| {
        let conditions = &wiki.status.as_ref()?.conditions;
        conditions
            .iter()
            .any(|condition| condition.message.contains("siteTitle"))
            .then_some(())
    })
    .await;
    test.wait_until_quiet().await;
    assert_eq!(test.stock().await.versions(), before.versions());
    for (name, deployment) in test.deployments().await {
        assert_eq!(version(&deployment).0, version(&running[&name]).0);
        assert_eq!(
            deployment.metadata.generation, running[&name].metadata.generation,
            "{name}"
        );
    }

    test.merge("wiki", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    test.wait_until_materialized("wiki").await;
    let updated = test
        .wait_for_condition("wiki", ConditionType::UpdateAvailable, "False")
        .await;
    assert_eq!(
        updated
            .status
            .and_then(|status| status.record)
            .map(|record| record.version),
        Some(2)
    );
    let environment = names::environment("wiki", "web", 2);
    let data = test.environments().await[&environment]
        .data
        .clone()
        .expect("data");
    assert_eq!(data["SITE_TITLE"].0, b"Another title");
    let stock = test.stock().await;
    // The changed component and no other document is another source.
    assert_eq!(
        stock.counts(),
        Counts {
            sources: 4,
            snapshots: 2,
            records: 2,
            ..ONE_INSTALL
        }
    );
    assert!(stock.password(PASSWORD, 0) == before.password(PASSWORD, 0));
}

#[tokio::test]
async fn a_rotation_makes_the_next_credential_and_keeps_the_former() {
    let test = TestNamespace::new("rotation").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    let first = test.stock().await;
    test.merge(
        "wiki",
        json!({"spec": {"credentials": {PASSWORD: {"generation": 1}}}}),
    )
    .await;
    let rotated = test.wait_until_materialized("wiki").await;
    let credentials = rotated.status.expect("a status").credentials;
    assert_eq!(
        credentials
            .iter()
            .map(|used| used.generation)
            .collect::<Vec<_>>(),
        [1]
    );
    let stock = test.stock().await;
    assert_eq!(
        stock.counts(),
        Counts {
            credentials: 2,
            snapshots: 2,
            records: 2,
            ..ONE_INSTALL
        }
    );
    let (former, next) = (stock.password(PASSWORD, 0), stock.password(PASSWORD, 1));
    assert!(
        former.is_some() && former == first.password(PASSWORD, 0),
        "the former is another"
    );
    assert!(next.is_some() && next != former, "the next is the former");
    // Both nodes get it, by another environment each.
    for (node, variable) in [("web", "DB_PASSWORD"), ("db", "PASSWORD")] {
        let environment = names::environment("wiki", node, 2);
        let data = test.environments().await[&environment]
            .data
            .clone()
            .expect("data");
        assert!(
            Some(&data[variable].0) == next.as_ref().map(|next| next.clone().into_bytes()).as_ref()
        );
    }
}

#[tokio::test]
async fn a_suspended_installation_is_left_alone() {
    let test = TestNamespace::new("suspended").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.wait_until_quiet().await;
    test.merge("wiki", json!({"spec": {"suspend": true}})).await;
    test.wait_for_reason("wiki", ConditionType::Ready, "Suspended")
        .await;
    test.wait_until_quiet().await;

    let mark = test.cluster.audit_mark();
    let web = names::workload("wiki", "web");
    test.api::<Deployment>()
        .delete(&web, &DeleteParams::background())
        .await
        .expect("it goes");
    test.merge(
        "wiki",
        json!({"spec": {"parameters": {"siteTitle": {"value": "Another title"}}}}),
    )
    .await;
    test.wait_until_looked_at(mark, "wiki").await;
    for write in test.operator_writes_since(mark) {
        let object = &write.object_ref;
        assert_eq!(
            (&*object.resource, &*object.subresource),
            ("installations", "status"),
            "{write:?}"
        );
    }
    assert!(!test.deployments().await.contains_key(&web));
    assert_eq!(test.stock().await.counts(), ONE_INSTALL);

    test.merge("wiki", json!({"spec": {"suspend": false}}))
        .await;
    test.wait_until_materialized("wiki").await;
    assert!(test.deployments().await.contains_key(&web));
    assert_eq!(
        test.stock().await.counts(),
        Counts {
            snapshots: 2,
            records: 2,
            ..ONE_INSTALL
        }
    );
}
