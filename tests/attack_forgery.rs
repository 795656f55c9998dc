//! What stands where the operator's own would stand, and is not its own, is never overwritten and never used; what is
//! gone and cannot be made anew is said to be gone.

mod support;

use std::time::Duration;

use data_encoding::BASE64;
use installation_operator::api::names::{
    self, FORMAT_ANNOTATION, GENERATION_LABEL, GENERATOR_ANNOTATION, IDENTITY_LABEL,
    PARAMETER_ANNOTATION, Precious, VERSION_LABEL,
};
use installation_operator::api::{Installation, ResolutionRecord};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Secret, Service};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use support::install::object;
use support::item::{PASSWORD, SLUG};
use support::stock::version;
use support::wait::{condition, eventually};
use support::{Counts, Item, NOTHING, ONE_INSTALL, TestNamespace};

#[tokio::test]
async fn a_lost_credential_is_never_made_anew_and_a_restored_one_heals() {
    let test = TestNamespace::new("lost").await;
    let mut operator = test.operator().await.start();
    test.install_wiki().await;
    test.wait_until_quiet().await;
    let before = test.stock().await;
    let [lost] = before.of(Precious::Credential) else {
        panic!("one credential")
    };
    let deployments = test.deployments().await;

    let secrets = test.api::<Secret>();
    secrets
        .delete(&lost.name_any(), &DeleteParams::default())
        .await
        .expect("it goes");
    let stalled = test.wait_until_stalled("wiki", "CredentialLost").await;
    let status = stalled.status.expect("a status");
    assert!(
        status.conditions[0].message.contains(&lost.name_any()),
        "{:?}",
        status.conditions[0]
    );
    assert_eq!(status.record.expect("the record stays told").version, 1);
    // Neither a restart nor a new spec makes another.
    operator.restart();
    let change = json!({"spec": {"parameters": {"siteTitle": {"value": "Another title"}}, "update": {"token": "1"}}});
    test.merge("wiki", change).await;
    test.wait_until_stalled("wiki", "CredentialLost").await;
    test.wait_until_quiet().await;
    assert_eq!(
        test.stock().await.counts(),
        Counts {
            credentials: 0,
            ..ONE_INSTALL
        }
    );
    let unchanged = |now: &Deployment| version(now) == version(&deployments[&now.name_any()]);
    assert!(
        test.deployments().await.values().all(unchanged),
        "what runs is touched"
    );

    let mut restored = lost.clone();
    (restored.metadata.uid, restored.metadata.resource_version) = (None, None);
    test.create(&restored).await;
    test.wait_until_materialized("wiki").await;
    let after = test.stock().await;
    assert_eq!(
        after.counts(),
        Counts {
            snapshots: 2,
            records: 2,
            ..ONE_INSTALL
        }
    );
    assert!(after.password(PASSWORD, 0) == before.password(PASSWORD, 0));
}

/// Makes an object one that the operator would not have made.
type Forge<'a> = &'a dyn Fn(&mut Value);

#[tokio::test]
async fn a_lost_snapshot_or_document_is_named_and_never_made_up_for() {
    let test = TestNamespace::new("state-lost").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    let before = test.stock().await;
    for kind in [Precious::Snapshot, Precious::Source] {
        let lost = before.of(kind)[0].clone();
        test.api::<Secret>()
            .delete(&lost.name_any(), &DeleteParams::default())
            .await
            .expect("it goes");
        test.wait_until_stalled("wiki", "StateLost").await;
        assert!(test.describe("wiki").await.contains(&lost.name_any()));

        let mut restored = lost.clone();
        (restored.metadata.uid, restored.metadata.resource_version) = (None, None);
        test.create(&restored).await;
        test.wait_until_materialized("wiki").await;
    }
    assert_eq!(test.stock().await.counts(), ONE_INSTALL);
}

#[tokio::test]
async fn a_planted_credential_is_neither_used_nor_overwritten() {
    let test = TestNamespace::new("planted").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    let labels =
        |secret: &mut Value, key: &str, value: Value| secret["metadata"]["labels"][key] = value;
    let cases: [(&str, Forge); 9] = [
        ("of-another-type", &|secret| {
            secret["type"] = json!("Opaque")
        }),
        ("of-another-identity", &|secret| {
            labels(secret, IDENTITY_LABEL, json!("other"))
        }),
        ("of-another-parameter", &|secret| {
            secret["metadata"]["annotations"][PARAMETER_ANNOTATION] = json!("other")
        }),
        ("of-another-generation", &|secret| {
            labels(secret, GENERATION_LABEL, json!("1"))
        }),
        ("without-labels", &|secret| {
            secret["metadata"]["labels"] = json!({})
        }),
        ("not-immutable", &|secret| {
            secret["immutable"] = json!(false)
        }),
        ("too-short", &|secret| {
            secret["metadata"]["annotations"][GENERATOR_ANNOTATION] = json!("HEX/16");
            secret["data"]["value"] = json!(BASE64.encode("a1".repeat(16).as_bytes()));
        }),
        ("guessable", &|secret| {
            secret["data"]["value"] = json!(BASE64.encode(b"guess"))
        }),
        ("without-format", &|secret| {
            secret["metadata"]["annotations"]
                .as_object_mut()
                .expect("annotations")
                .remove(FORMAT_ANNOTATION);
        }),
    ];
    for (name, forge) in cases {
        let mut planted = credential(name);
        forge(&mut planted);
        let planted: Secret = test.create(&object::<Secret>(planted)).await;
        test.create(&item.installation(name).build()).await;
        test.wait_until_stalled(name, "ForeignObject").await;
        let standing = test
            .api::<Secret>()
            .get(&planted.name_any())
            .await
            .expect("it stands");
        assert_eq!(version(&standing), version(&planted), "{name}");
        test.wait_for_event(name, "ForeignObject").await;
        let web = names::workload(name, "web");
        assert!(!test.deployments().await.contains_key(&web), "{name}");
        // Removed, it no longer stands in the way, whatever its labels said.
        test.api::<Secret>()
            .delete(&planted.name_any(), &DeleteParams::default())
            .await
            .expect("it goes");
        test.wait_until_materialized(name).await;
    }
}

/// What cannot be told from a backup is one: only the admission policy keeps tenants from planting it.
#[tokio::test]
async fn a_restored_credential_is_used_by_a_first_install() {
    let test = TestNamespace::new("restored").await;
    let _operator = test.operator().await.start();
    test.create(&object::<Secret>(credential("wiki"))).await;
    test.install_wiki().await;
    let stock = test.stock().await;
    assert_eq!(stock.counts(), ONE_INSTALL);
    assert_eq!(stock.password(PASSWORD, 0), Some("a1".repeat(32)));
}

#[tokio::test]
async fn a_tenant_can_plant_nothing_precious() {
    let test = TestNamespace::new("tenant").await;
    let tenant = test.principal("tenant", &["edit"]).await;
    let secrets = Api::<Secret>::namespaced(tenant.client.clone(), &test.name);
    let refused = secrets
        .create(&Default::default(), &object(credential("wiki")))
        .await;
    let error = refused.expect_err("refused").to_string();
    assert!(
        error.contains("only the operator creates or changes them"),
        "{error}"
    );
    assert_eq!(test.stock().await.counts(), NOTHING);
}

#[tokio::test]
async fn a_forged_record_is_never_materialized() {
    let test = TestNamespace::new("forged-record").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.installation("donor").build()).await;
    test.wait_until_materialized("donor").await;
    let real = test.stock().await.records.pop().expect("a record");
    let forge = |identity: &str, number: u64, labelled: bool| {
        let mut forged = ResolutionRecord::new(&names::record(identity, number), real.spec.clone());
        let mut labels = real.labels().clone();
        labels.insert(IDENTITY_LABEL.to_owned(), identity.to_owned());
        labels.insert(VERSION_LABEL.to_owned(), number.to_string());
        forged.metadata.labels = labelled.then_some(labels);
        forged.metadata.annotations = Some(real.annotations().clone());
        forged
    };

    for (name, labelled) in [("before-labelled", true), ("before-hidden", false)] {
        let forged = test.create(&forge(name, 1, labelled)).await;
        test.create(&item.installation(name).build()).await;
        test.wait_until_stalled(name, "ForeignObject").await;
        let standing = test
            .api::<ResolutionRecord>()
            .get(&forged.name_any())
            .await
            .expect("it stands");
        assert_eq!(version(&standing), version(&forged), "{name}");
        assert!(
            !test
                .deployments()
                .await
                .contains_key(&names::workload(name, "web")),
            "{name}"
        );
    }

    for (name, labelled) in [("after-labelled", true), ("after-hidden", false)] {
        test.create(&item.installation(name).build()).await;
        test.wait_until_materialized(name).await;
        test.wait_until_quiet().await;
        let running = test.deployments().await;
        let forged = test.create(&forge(name, 2, labelled)).await;
        let change = json!({"spec": {"parameters": {"siteTitle": {"value": "Another title"}}}});
        test.merge(name, change).await;
        let stalled = test.wait_until_stalled(name, "ForeignObject").await;
        let told = stalled.status.expect("a status").record.expect("a record");
        assert_eq!(told.version, 1, "{name}");
        let standing = test
            .api::<ResolutionRecord>()
            .get(&forged.name_any())
            .await
            .expect("it stands");
        assert_eq!(version(&standing), version(&forged), "{name}");
        let web = names::workload(name, "web");
        assert_eq!(
            version(&test.deployments().await[&web]),
            version(&running[&web]),
            "{name}"
        );
        // Out of the way, the update goes on.
        test.api::<ResolutionRecord>()
            .delete(&forged.name_any(), &DeleteParams::default())
            .await
            .expect("it goes");
        test.merge(name, json!({"spec": {"update": {"token": "again"}}}))
            .await;
        test.wait_until_materialized(name).await;
    }
}

#[tokio::test]
async fn a_forged_snapshot_is_neither_used_nor_overwritten() {
    let test = TestNamespace::new("forged-snapshot").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    let forge = |identity: &str, number: u64, labelled: bool, content: &str| -> Secret {
        let mut labels = json!({VERSION_LABEL: number.to_string()});
        if labelled {
            labels[IDENTITY_LABEL] = json!(identity);
        }
        object(json!({
            "metadata": {
                "name": names::snapshot(identity, number), "labels": labels,
                "annotations": {FORMAT_ANNOTATION: "1"}
            },
            "type": Precious::Snapshot.secret_type(),
            "immutable": true,
            "stringData": {"snapshot.json": content, "record.json": "{}", "pins.json": "{}", "intent.json": "{}"}
        }))
    };
    for (name, labelled) in [("labelled", true), ("hidden", false)] {
        let planted = test.create(&forge(name, 1, labelled, "{}")).await;
        test.create(&item.installation(name).build()).await;
        test.wait_until_stalled(name, "ForeignObject").await;
        let standing = test
            .api::<Secret>()
            .get(&planted.name_any())
            .await
            .expect("it stands");
        assert_eq!(version(&standing), version(&planted), "{name}");
        assert_eq!(test.stock().await.records.len(), 0, "{name}");
    }
    assert_eq!(test.deployments().await.len(), 0);

    // A true snapshot under a later number.
    test.create(&item.installation("copied").build()).await;
    test.wait_until_materialized("copied").await;
    test.wait_until_quiet().await;
    let running = test.deployments().await;
    let real = test
        .api::<Secret>()
        .get(&names::snapshot("copied", 1))
        .await
        .expect("a snapshot");
    let mut copy = forge("copied", 2, true, "");
    (copy.string_data, copy.data) = (None, real.data);
    let copy = test.create(&copy).await;
    test.wait_until_stalled("copied", "ForeignObject").await;
    test.api::<Secret>()
        .delete(&copy.name_any(), &DeleteParams::default())
        .await
        .expect("it goes");
    test.wait_until_materialized("copied").await;
    let now = test.deployments().await;
    let web = names::workload("copied", "web");
    assert_eq!(version(&now[&web]), version(&running[&web]));
}

#[tokio::test]
async fn objects_planted_under_the_names_of_workloads_stay_untouched() {
    let test = TestNamespace::new("planted-work").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    let pod = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "x"}]}});
    let spec = json!({"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": pod});
    for labelled in [false, true] {
        let name = if labelled { "labelled" } else { "plain" };
        let labels = if labelled {
            json!({"install.musher.dev/installation": name, "app.kubernetes.io/managed-by": "installation-operator"})
        } else {
            json!({})
        };
        let metadata = |name: String| json!({"name": name, "labels": labels});

        let who = format!("{name}-deployment");
        let planted = json!({"metadata": metadata(names::workload(&who, "web")), "spec": spec});
        let planted: Deployment = test.create(&object::<Deployment>(planted)).await;
        let planted = settled(&test, &planted.name_any()).await;
        test.create(&item.installation(&who).build()).await;
        test.wait_until_stalled(&who, "ForeignObject").await;
        let standing = test
            .api::<Deployment>()
            .get(&planted.name_any())
            .await
            .expect("it stands");
        assert_eq!(version(&standing), version(&planted), "{who}");

        let who = format!("{name}-service");
        let planted = json!({"metadata": metadata(names::workload(&who, "db")), "spec": {"ports": [{"port": 1}]}});
        let planted: Service = test.create(&object::<Service>(planted)).await;
        test.create(&item.installation(&who).build()).await;
        test.wait_until_stalled(&who, "ForeignObject").await;
        let standing = test
            .api::<Service>()
            .get(&planted.name_any())
            .await
            .expect("it stands");
        assert_eq!(version(&standing), version(&planted), "{who}");

        let who = format!("{name}-environment");
        let planted = json!({"metadata": metadata(names::environment(&who, "web", 1)), "stringData": {"TITLE": "mine"}});
        let planted: Secret = test.create(&object::<Secret>(planted)).await;
        test.create(&item.installation(&who).build()).await;
        test.wait_until_stalled(&who, "ForeignObject").await;
        let standing = test
            .api::<Secret>()
            .get(&planted.name_any())
            .await
            .expect("it stands");
        assert_eq!(version(&standing), version(&planted), "{who}");
    }
}

#[tokio::test]
async fn retained_state_of_another_item_stays_as_it_is() {
    let test = TestNamespace::new("foreign-state").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    let before = test.stock().await;
    assert_eq!(before.counts(), ONE_INSTALL);

    let other = other_item(&test).await;
    let spec = other
        .untitled("wiki")
        .parameter("siteTitle", "Other")
        .deleting();
    let spec = spec.inline("other-item", other.files.clone()).build();
    test.create(&spec).await;
    let stalled = test.wait_until_stalled("wiki", "ForeignState").await;
    let message = &stalled.status.expect("a status").conditions[0].message;
    assert!(
        message.contains(SLUG) && message.contains("spec.identity"),
        "{message}"
    );
    assert_eq!(test.stock().await.versions(), before.versions());
    assert_eq!(
        test.deployments()
            .await
            .keys()
            .filter(|name| name.starts_with("other"))
            .count(),
        0
    );

    // Its own deletion policy is not the retained state's.
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    assert_eq!(test.stock().await.versions(), before.versions());

    // Without the claim the state still says what it is of.
    test.api::<Secret>()
        .delete(&names::claim("wiki"), &DeleteParams::default())
        .await
        .expect("it goes");
    let before = test.stock().await;
    test.create(&spec).await;
    test.wait_until_stalled("wiki", "ForeignState").await;
    assert_eq!(test.stock().await.versions(), before.versions());
}

#[tokio::test]
async fn beside_state_of_a_newer_format_nothing_is_written() {
    let test = TestNamespace::new("newer").await;
    let item = test.item().await;
    let kinds = ["claim", "credential", "source", "snapshot", "record"];
    let mut operator = test.operator().await.start();
    for kind in kinds {
        test.create(&item.installation(kind).build()).await;
    }
    for kind in kinds {
        test.wait_until_materialized(kind).await;
        test.delete(kind).await;
        test.wait_until_gone(kind).await;
    }
    operator.kill();
    let newer = json!({"metadata": {"annotations": {FORMAT_ANNOTATION: "2"}}});
    let (newer, params) = (Patch::Merge(newer), PatchParams::default());
    for secret in test.list::<Secret>().await {
        let kind = secret
            .type_
            .as_deref()
            .and_then(|kind| kind.strip_prefix("install.musher.dev/"));
        // Each identity is named after the one kind of its objects that is newer.
        if kind.is_some() && secret.labels().get(IDENTITY_LABEL).map(String::as_str) == kind {
            test.api::<Secret>()
                .patch(&secret.name_any(), &params, &newer)
                .await
                .expect("patched");
        }
    }
    let record = names::record("record", 1);
    test.api::<ResolutionRecord>()
        .patch(&record, &params, &newer)
        .await
        .expect("patched");

    let before = test.stock().await;
    let mark = test.cluster.audit_mark();
    operator.restart();
    for kind in kinds {
        test.create(&item.installation(kind).deleting().build())
            .await;
    }
    for kind in kinds {
        test.wait_until_stalled(kind, "NewerState").await;
    }
    // Nor does its deletion, which its policy would extend to the state.
    test.delete("snapshot").await;
    test.wait_until_gone("snapshot").await;
    test.wait_until_quiet().await;
    for write in test.operator_writes_since(mark) {
        let object = &write.object_ref;
        assert_eq!(
            (&*object.resource, &*object.subresource),
            ("installations", "status"),
            "{write:?}"
        );
    }
    assert_eq!(test.stock().await.versions(), before.versions());
}

#[tokio::test]
async fn the_deletion_of_newer_state_waits_for_a_newer_operator() {
    let test = TestNamespace::new("newer-deleted").await;
    let _operator = test.operator().await.start();
    test.create(&test.item().await.installation("wiki").deleting().build())
        .await;
    test.wait_until_materialized("wiki").await;
    let newer = |format: &str| {
        Patch::Merge(json!({"metadata": {"annotations": {FORMAT_ANNOTATION: format}}}))
    };
    let (secrets, params) = (test.api::<Secret>(), PatchParams::default());
    let snapshot = names::snapshot("wiki", 1);
    secrets
        .patch(&snapshot, &params, &newer("2"))
        .await
        .expect("patched");
    test.wait_until_stalled("wiki", "NewerState").await;
    let before = test.stock().await;

    test.delete("wiki").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let found = test
        .api::<Installation>()
        .get("wiki")
        .await
        .expect("it waits");
    assert_eq!(
        condition(
            &found,
            installation_operator::api::condition::ConditionType::Stalled
        )
        .1,
        "NewerState"
    );
    assert_eq!(test.stock().await.versions(), before.versions());

    secrets
        .patch(&snapshot, &params, &newer("1"))
        .await
        .expect("patched");
    test.wait_until_gone("wiki").await;
    assert_eq!(test.stock().await.counts(), NOTHING);
}

/// A credential of `identity` as the operator would make it, but for its value.
fn credential(identity: &str) -> Value {
    json!({
        "metadata": {
            "name": names::credential(identity, PASSWORD, 0),
            "labels": {IDENTITY_LABEL: identity, GENERATION_LABEL: "0"},
            "annotations": {
                FORMAT_ANNOTATION: "1",
                PARAMETER_ANNOTATION: PASSWORD,
                GENERATOR_ANNOTATION: "HEX/32"
            }
        },
        "type": Precious::Credential.secret_type(),
        "immutable": true,
        "data": {"value": BASE64.encode("a1".repeat(32).as_bytes())}
    })
}

/// The same item under another slug.
async fn other_item(test: &TestNamespace) -> Item {
    test.item()
        .await
        .edited("blueprint.yaml", "slug: acme-wiki", "slug: other-item")
}

/// A Deployment once its controller has nothing more to say of it.
async fn settled(test: &TestNamespace, name: &str) -> Deployment {
    eventually("the Deployment's controller to look", async || {
        let found = test.api::<Deployment>().get(name).await.ok()?;
        let observed = found.status.as_ref()?.observed_generation == found.metadata.generation;
        let told = found
            .status
            .as_ref()?
            .conditions
            .as_ref()?
            .iter()
            .any(|of| {
                of.type_ == "Progressing" && of.reason.as_deref() == Some("NewReplicaSetAvailable")
            });
        (observed && told).then_some(found)
    })
    .await
}
