//! Caches that lag: what an operator has been told by its watches is of yesterday, while another one, or a restore, has
//! gone on. Whatever is precious is decided on what the API server has now: nothing is made twice, nothing goes back.

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::names;
use installation_operator::api::{Installation, ResolutionRecord};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;
use support::item::PASSWORD;
use support::wait::{condition, eventually};
use support::{Counts, ONE_INSTALL, Operator, TestNamespace};

/// Everything precious, and what it belongs to.
const PRECIOUS: [&str; 4] = [
    "secrets",
    "resolutionrecords",
    "persistentvolumeclaims",
    "installations",
];

impl TestNamespace {
    /// An operator that has seen what there is, and is told nothing more.
    async fn lagging(&self) -> Operator {
        self.lagging_after(async || ()).await
    }

    /// An operator that has done `work`, and is told nothing more.
    async fn lagging_after(&self, work: impl AsyncFnOnce()) -> Operator {
        let operator = self.operator().await.through_proxy(self).await.start();
        work().await;
        self.wait_until_quiet().await;
        operator.proxy().watches.hold(PRECIOUS);
        operator
    }

    /// Lets another operator do `work`, and ends it.
    async fn meanwhile(&self, work: impl AsyncFnOnce()) {
        let other = self.operator().await.start();
        work().await;
        self.wait_until_quiet().await;
        other.kill();
    }

    async fn rotate(&self) {
        let rotated = json!({"spec": {"credentials": {PASSWORD: {"generation": 1}}}});
        self.merge("wiki", rotated).await;
        self.wait_until_materialized("wiki").await;
    }

    /// Has the lagging operator look at the wiki, whose Deployments it still hears of, and heal one.
    async fn heal_a_deployment(&self) {
        let web = names::workload("wiki", "web");
        let deployments = self.api::<Deployment>();
        deployments
            .delete(&web, &DeleteParams::default())
            .await
            .expect("it goes");
        eventually("the Deployment to be back", async || {
            let found = deployments.get_opt(&web).await.ok()??;
            found.metadata.deletion_timestamp.is_none().then_some(())
        })
        .await;
        self.wait_until_quiet().await;
    }
}

#[tokio::test]
async fn what_another_has_installed_is_found_whatever_the_caches_say() {
    let test = TestNamespace::new("stale-install").await;
    let lagging = test.lagging().await;
    test.meanwhile(async || {
        test.install_wiki().await;
        test.rotate().await;
    })
    .await;
    let before = test.stock().await;

    // It hears of the Installation as it was made, and of nothing that was made from it.
    let mark = test.cluster.audit_mark();
    lagging.proxy().watches.release(["installations"]);
    test.wait_until_looked_at(mark, "wiki").await;
    assert_eq!(test.stock().await.versions(), before.versions());
    let written = test.operator_writes_since(mark);
    assert!(written.is_empty(), "{written:?}");
}

#[tokio::test]
async fn a_spec_that_a_cache_still_holds_undoes_nothing() {
    let test = TestNamespace::new("stale-spec").await;
    let lagging = test
        .lagging_after(async || {
            test.install_wiki().await;
        })
        .await;
    test.meanwhile(async || test.rotate().await).await;
    let before = test.stock().await;
    test.heal_a_deployment().await;
    assert_eq!(test.stock().await.versions(), before.versions());
    let environment = names::environment("wiki", "web", 2);
    assert!(
        test.environments().await.contains_key(&environment),
        "it runs on the former password"
    );
    assert!(lagging.exit_status().is_none());
}

#[tokio::test]
async fn an_installation_that_a_cache_still_holds_is_not_the_one_of_today() {
    let test = TestNamespace::new("stale-name").await;
    let lagging = test
        .lagging_after(async || {
            test.install_wiki().await;
        })
        .await;
    let password = test.stock().await.password(PASSWORD, 0);
    test.meanwhile(async || {
        test.delete("wiki").await;
        test.wait_until_gone("wiki").await;
        let wiki = test.item().await.installation("wiki").deleting();
        test.create(&wiki.build()).await;
        test.wait_until_materialized("wiki").await;
    })
    .await;
    let before = test.stock().await;
    // A deletion, too, is of the one that was deleted.
    let mark = test.cluster.audit_mark();
    lagging.proxy().watches.release_all();
    test.wait_until_looked_at(mark, "wiki").await;
    let after = test.stock().await;
    assert_eq!(after.versions(), before.versions());
    assert!(after.password(PASSWORD, 0) == password);
    assert_eq!(test.deployments().await.len(), 2);
    let wiki = test.api::<Installation>().get("wiki").await.expect("it");
    assert_eq!(condition(&wiki, ConditionType::Materialized).0, "True");
}

#[tokio::test]
async fn a_credential_that_is_lost_is_missed_though_a_cache_still_has_it() {
    let test = TestNamespace::new("stale-loss").await;
    let lagging = {
        let operator = test.operator().await.through_proxy(&test).await.start();
        test.install_wiki().await;
        test.wait_until_quiet().await;
        operator
            .proxy()
            .watches
            .hold(["secrets", "resolutionrecords"]);
        operator
    };
    let name = names::credential("wiki", PASSWORD, 0);
    let secrets = test.api::<Secret>();
    let mut backup = secrets.get(&name).await.expect("the credential");
    secrets
        .delete(&name, &DeleteParams::default())
        .await
        .expect("it goes");
    test.merge("wiki", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    test.wait_until_stalled("wiki", "CredentialLost").await;
    assert_eq!(test.stock().await.password(PASSWORD, 0), None);

    // A restore is found as well, before any watch tells of it.
    backup.metadata.resource_version = None;
    backup.metadata.uid = None;
    let restored = secrets.create(&PostParams::default(), &backup).await;
    restored.expect("it is restored");
    test.merge("wiki", json!({"spec": {"update": {"token": "2"}}}))
        .await;
    test.wait_until_materialized("wiki").await;
    assert!(test.stock().await.password(PASSWORD, 0).is_some());
    assert!(lagging.exit_status().is_none());
}

#[tokio::test]
async fn an_identity_that_another_took_unseen_is_in_use() {
    let test = TestNamespace::new("stale-claim").await;
    let lagging = test.lagging().await;
    let item = test.item().await;
    let rival = |name: &str| item.installation(name).identity("shared").build();
    test.meanwhile(async || {
        test.create(&rival("left")).await;
        test.wait_until_materialized("left").await;
    })
    .await;
    let before = test.stock().await;
    test.create(&rival("right")).await;
    lagging.proxy().watches.release(["installations"]);
    test.wait_until_stalled("right", "IdentityInUse").await;
    test.wait_until_quiet().await;
    assert_eq!(test.stock().await.versions(), before.versions());
    assert_eq!(before.counts(), ONE_INSTALL);
}

#[tokio::test]
async fn versions_that_another_has_pruned_unseen_are_not_taken_for_lost() {
    let test = TestNamespace::new("stale-prune").await;
    let _rollout = test.pods_become_ready();
    let lagging = test
        .lagging_after(async || {
            test.install_wiki().await;
            test.rotate().await;
        })
        .await;
    test.meanwhile(async || {
        test.merge("wiki", json!({"spec": {"historyLimit": 0}}))
            .await;
        eventually("the former version to go", async || {
            let left = test.stock().await.counts();
            (left == ONE_INSTALL).then_some(())
        })
        .await;
    })
    .await;
    let before = test.stock().await;
    test.heal_a_deployment().await;
    let after = test.stock().await;
    assert_eq!(after.versions(), before.versions());
    let wiki = test.api::<Installation>().get("wiki").await.expect("it");
    assert_eq!(condition(&wiki, ConditionType::Stalled).0, "False");
    // And what comes next counts on from there.
    lagging.proxy().watches.release_all();
    let titled = json!({"spec": {"parameters": {"siteTitle": {"value": "Another title"}}}});
    test.merge("wiki", titled).await;
    test.wait_until_materialized("wiki").await;
    let records = test.list::<ResolutionRecord>().await;
    assert!(
        records
            .iter()
            .any(|record| record.name_any() == names::record("wiki", 3)),
        "{:?}",
        test.stock().await.counts()
    );
    let expected = Counts {
        credentials: 1,
        ..test.stock().await.counts()
    };
    assert_eq!(test.stock().await.counts(), expected);
}
