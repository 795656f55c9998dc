//! The same record once more, an old one again, and a credential under another name: redeploy, rollback and migrate.

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::names::{self, ROLLOUT_ANNOTATION};
use installation_operator::api::{Installation, ResolutionRecord};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use support::install::object;
use support::item::{PASSWORD, SLUG, TITLE};
use support::wait::{condition, eventually, message};
use support::{Counts, Item, ONE_INSTALL, TestNamespace, installation};

impl TestNamespace {
    /// Changes the spec of an Installation, and waits until that is materialized.
    async fn change(&self, name: &str, spec: Value) -> Installation {
        self.merge(name, json!({"spec": spec})).await;
        self.wait_until_materialized(name).await
    }

    /// What the web node of the wiki has in its environment.
    async fn web(&self, version: u64, variable: &str) -> Option<String> {
        let environment = names::environment("wiki", "web", version);
        let found = self.environments().await.remove(&environment)?;
        let value = found.data?.remove(variable)?;
        String::from_utf8(value.0).ok()
    }

    /// What a condition of the Installation says.
    async fn says(&self, name: &str, of: ConditionType) -> String {
        let found = self.api::<Installation>().get(name).await.expect("it");
        message(&found, of).to_owned()
    }
}

fn rollouts(deployment: &Deployment) -> Option<String> {
    let template = &deployment.spec.as_ref()?.template;
    let annotations = template.metadata.as_ref()?.annotations.as_ref()?;
    annotations.get(ROLLOUT_ANNOTATION).cloned()
}

#[tokio::test]
async fn another_redeploy_token_rolls_out_the_record_that_is_there() {
    let test = TestNamespace::new("redeploy").await;
    let mut operator = test.operator().await.start();
    let item = test.item().await;
    let wiki = item
        .installation("wiki")
        .with("redeploy", json!({"token": "1"}));
    test.create(&wiki.build()).await;
    test.wait_until_materialized("wiki").await;
    let all = async |expected: Option<&str>| {
        let deployments = test.deployments().await;
        deployments
            .values()
            .all(|deployment| rollouts(deployment).as_deref() == expected)
    };
    assert!(all(None).await, "a first install redeploys nothing");

    test.merge("wiki", json!({"spec": {"redeploy": {"token": "2"}}}))
        .await;
    eventually("all nodes to be rolled out again", async || {
        all(Some("1")).await.then_some(())
    })
    .await;
    test.wait_for_event("wiki", "Redeployed").await;
    assert_eq!(test.stock().await.counts(), ONE_INSTALL, "no other record");

    // Once for each token, whatever becomes of status and operator; taking it away asks for nothing.
    operator.kill();
    test.merge("wiki", json!({"spec": {"redeploy": null}}))
        .await;
    operator.restart();
    test.wait_until_materialized("wiki").await;
    test.merge("wiki", json!({"spec": {"redeploy": {"token": "2"}}}))
        .await;
    test.wait_until_materialized("wiki").await;
    test.wait_until_quiet().await;
    assert!(all(Some("1")).await);

    // The count goes on with the next record, which alone restarts nothing but what it changes.
    let titled = json!({"parameters": {"siteTitle": {"value": "Another title"}}});
    test.change("wiki", titled).await;
    assert!(all(Some("1")).await);
}

#[tokio::test]
async fn a_redeploy_runs_jobs_again_and_no_other_update_of_the_same_record_does() {
    let test = TestNamespace::new("jobs-again").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    let item = Item::one_of_each(&test.cluster).await;
    let town = installation("town").inline(SLUG, item.files.clone());
    test.create(&town.build()).await;
    test.wait_until_materialized("town").await;
    let jobs = async || -> Vec<String> {
        let jobs = test.list::<Job>().await;
        jobs.iter().map(|job| job.name_any()).collect()
    };
    let (first, second) = (
        names::job("town", "migrate", "1"),
        names::job("town", "migrate", "1-1"),
    );
    assert_eq!(jobs().await, [first.as_str()]);
    test.api::<Job>()
        .delete(&first, &DeleteParams::background())
        .await
        .expect("it goes");
    test.wait_for("town", "the first run to be over", |town| {
        let told = town.status.as_ref()?.jobs.get("migrate")?;
        told.outcome.is_final().then_some(())
    })
    .await;
    test.merge("town", json!({"spec": {"redeploy": {"token": "2"}}}))
        .await;
    eventually("the second run", async || {
        jobs().await.contains(&second).then_some(())
    })
    .await;
    let store = names::workload("town", "store");
    let set = test.api::<StatefulSet>().get(&store).await.expect("it");
    let template = set
        .spec
        .expect("a spec")
        .template
        .metadata
        .expect("metadata");
    assert_eq!(template.annotations.expect("some")[ROLLOUT_ANNOTATION], "1");
}

#[tokio::test]
async fn a_redeploy_without_what_the_record_pins_says_so_and_leaves_what_runs() {
    let test = TestNamespace::new("unpinned").await;
    let _operator = test.operator().await.start();
    let mirror: Secret = object(json!({
        "metadata": {"name": "mirror"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": "{\"auths\": {}}"},
    }));
    test.create(&mirror).await;
    let wiki = test.item().await.installation("wiki");
    let wiki = wiki.with("imagePullSecrets", json!([{"name": "mirror"}]));
    test.create(&wiki.build()).await;
    test.wait_until_materialized("wiki").await;
    test.api::<Secret>()
        .delete("mirror", &DeleteParams::default())
        .await
        .expect("it goes");
    test.merge("wiki", json!({"spec": {"redeploy": {"token": "1"}}}))
        .await;
    test.wait_for_reason("wiki", ConditionType::Resolved, "Incomplete")
        .await;
    let said = test.says("wiki", ConditionType::Resolved).await;
    assert!(said.contains("Secret mirror"), "{said}");
    let untouched = test.deployments().await;
    assert!(untouched.values().all(|found| rollouts(found).is_none()));

    test.create(&mirror).await;
    eventually("the redeploy to be carried out", async || {
        let deployments = test.deployments().await;
        let mut all = deployments.values();
        all.all(|found| rollouts(found).is_some()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_rollback_takes_the_old_selections_and_stays_until_the_spec_says_otherwise() {
    let test = TestNamespace::new("rollback").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.installation("wiki").build()).await;
    test.wait_until_materialized("wiki").await;
    let newer = item
        .edited("web.yaml", "envVarKey: TITLE", "envVarKey: SITE_TITLE")
        .edited(
            "blueprint.yaml",
            "    dbPassword:\n      generator",
            "    motto:\n      default: none\n      ui: { label: Motto }\n    dbPassword:\n      generator",
        )
        .edited(
            "blueprint.yaml",
            "        title: { parameter: siteTitle }\n",
            "        title: { parameter: siteTitle }\n        motto: { parameter: motto }\n",
        )
        .edited(
            "web.yaml",
            "      dbAddress:\n",
            "      motto:\n        schema: { type: string }\n        required: true\n        target: { envVarKey: MOTTO }\n        description: A motto.\n      dbAddress:\n",
        );
    let second = json!({
        "blueprint": {"inline": {"files": newer.files}},
        "parameters": {"siteTitle": {"value": "Another title"}, "motto": {"value": "Onward"}},
        "credentials": {PASSWORD: {"generation": 1}},
    });
    test.change("wiki", second).await;
    assert_eq!(
        test.web(2, "SITE_TITLE").await.as_deref(),
        Some("Another title")
    );

    test.change("wiki", json!({"rollback": {"record": 1, "token": "1"}}))
        .await;
    assert_eq!(test.web(3, "TITLE").await.as_deref(), Some(TITLE));
    let rotated = test.stock().await.password(PASSWORD, 1);
    assert!(
        test.web(3, "DB_PASSWORD").await == rotated,
        "it is not the rotated one"
    );

    // A change beside it is that change and no other; the entry that only the newer blueprint has is none of its own.
    test.change(
        "wiki",
        json!({"credentials": {PASSWORD: {"generation": 2}}}),
    )
    .await;
    assert_eq!(test.web(4, "TITLE").await.as_deref(), Some(TITLE));

    test.change("wiki", json!({"rollback": null})).await;
    assert_eq!(
        test.web(5, "SITE_TITLE").await.as_deref(),
        Some("Another title")
    );
    assert_eq!(test.web(5, "MOTTO").await.as_deref(), Some("Onward"));
    let generation = test.stock().await.password(PASSWORD, 2);
    assert!(test.web(5, "DB_PASSWORD").await == generation);
}

#[tokio::test]
async fn a_rollback_that_cannot_be_says_why_and_what_runs_stays() {
    let test = TestNamespace::new("no-rollback").await;
    let _operator = test.operator().await.start();
    let item = Item::one_of_each(&test.cluster).await;
    let town = installation("town").inline(SLUG, item.files.clone());
    test.create(&town.build()).await;
    test.wait_until_materialized("town").await;
    let grown = item.edited("blueprint.yaml", "sizeGiB: 1", "sizeGiB: 2");
    let grown = json!({"blueprint": {"inline": {"files": grown.files}}});
    test.change("town", grown).await;
    for (record, expected) in [
        (7, "version 7 has never been; name one of 1, 2"),
        (
            1,
            "has 2 GiB and cannot be made smaller; version 1 has 1 GiB",
        ),
    ] {
        let rollback = json!({"spec": {"rollback": {"record": record, "token": "1"}}});
        test.merge("town", rollback).await;
        let refused = test
            .wait_for_reason("town", ConditionType::Resolved, "Invalid")
            .await;
        let said = test.says("town", ConditionType::Resolved).await;
        assert!(said.contains(expected), "{said}");
        let record = refused.status.and_then(|status| status.record);
        assert_eq!(record.map(|record| record.version), Some(2));
    }
}

/// The item with its generated parameter under another name.
fn renamed(item: Item) -> Item {
    let mut item = item;
    let text = item.files.get_mut("blueprint.yaml").expect("a file");
    *text = text
        .replace("    dbPassword:\n", "    secretWord:\n")
        .replace("{ parameter: dbPassword }", "{ parameter: secretWord }");
    item
}

#[tokio::test]
async fn a_renamed_parameter_keeps_its_credential_if_migrate_says_so() {
    let test = TestNamespace::new("migrate").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.installation("wiki").generation(PASSWORD, 1).build())
        .await;
    test.wait_until_materialized("wiki").await;
    let carried = json!({
        "blueprint": {"inline": {"files": renamed(item).files}},
        "migrate": {"secretWord": {"credentialOf": PASSWORD}},
    });
    test.change("wiki", carried).await;
    let stock = test.stock().await;
    let (former, now) = (stock.password(PASSWORD, 1), stock.password("secretWord", 0));
    assert!(former.is_some() && former == now, "another credential");
    let told = test.wait_for_event("wiki", "CredentialCarriedOver").await;
    assert!(told.ends_with("secretWord from dbPassword"), "{told}");
    // The same value means the same environment: nothing restarts.
    assert!(test.web(1, "DB_PASSWORD").await == now);
    // The entry of the old name can never be taken away, and is said to have no effect.
    let said = test.says("wiki", ConditionType::Resolved).await;
    assert!(
        said.contains("spec.credentials.dbPassword has no effect"),
        "{said}"
    );

    // From then on it is a credential like any other.
    let rotated = json!({"credentials": {"secretWord": {"generation": 1}}});
    test.change("wiki", rotated).await;
    let next = test.stock().await.password("secretWord", 1);
    assert!(next.is_some() && next != now, "it was not rotated");
}

#[tokio::test]
async fn a_renamed_parameter_gets_a_new_credential_visibly_if_nothing_says_otherwise() {
    let test = TestNamespace::new("renamed").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.installation("wiki").build()).await;
    test.wait_until_materialized("wiki").await;
    let renamed = json!({"blueprint": {"inline": {"files": renamed(item).files}}});
    test.change("wiki", renamed).await;
    let stock = test.stock().await;
    let (former, now) = (stock.password(PASSWORD, 0), stock.password("secretWord", 0));
    assert!(now.is_some() && former.is_some() && former != now);
    eventually("the new credential to be told", async || {
        let events = test.events("wiki").await;
        let mut told = events.iter();
        let told = told.any(|(reason, message)| {
            reason == "CredentialCreated" && message.ends_with("secretWord")
        });
        told.then_some(())
    })
    .await;
    let name = names::record("wiki", 2);
    let record = test.api::<ResolutionRecord>().get(&name).await.expect("it");
    let changes = &record.annotations()[names::CHANGES_ANNOTATION];
    assert!(changes.contains("credential secretWord added"), "{changes}");
    assert!(
        changes.contains("credential dbPassword removed"),
        "{changes}"
    );

    let late = json!({"migrate": {"secretWord": {"credentialOf": PASSWORD}}});
    test.change("wiki", late).await;
    assert!(
        test.stock().await.password("secretWord", 0) == now,
        "it was replaced"
    );
    let said = test.says("wiki", ConditionType::Resolved).await;
    assert!(
        said.contains("has a credential of its own already"),
        "{said}"
    );
}

#[tokio::test]
async fn a_credential_of_another_format_is_not_carried_over() {
    let test = TestNamespace::new("format").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.installation("wiki").build()).await;
    test.wait_until_materialized("wiki").await;
    let other = renamed(item).edited("blueprint.yaml", "byteLength: 32", "byteLength: 16");
    let carried = json!({"spec": {
        "blueprint": {"inline": {"files": other.files}},
        "migrate": {"secretWord": {"credentialOf": PASSWORD}},
    }});
    test.merge("wiki", carried).await;
    test.wait_for_reason("wiki", ConditionType::Resolved, "Invalid")
        .await;
    let said = test.says("wiki", ConditionType::Resolved).await;
    assert!(said.contains("take spec.migrate.secretWord away"), "{said}");
    assert_eq!(test.stock().await.counts(), ONE_INSTALL);
}

#[tokio::test]
async fn an_entry_for_a_parameter_that_is_not_generated_is_told() {
    let test = TestNamespace::new("typo").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.installation("wiki").build()).await;
    test.wait_until_materialized("wiki").await;
    let typo = json!({"credentials": {"dbPasword": {"generation": 1}}});
    let changed = test.change("wiki", typo).await;
    assert_eq!(condition(&changed, ConditionType::Resolved).0, "True");
    let said = test.says("wiki", ConditionType::Resolved).await;
    assert!(
        said.contains("spec.credentials.dbPasword has no effect"),
        "{said}"
    );
    let rotated = Counts {
        snapshots: 2,
        records: 2,
        ..ONE_INSTALL
    };
    assert_eq!(test.stock().await.counts(), rotated);
}
