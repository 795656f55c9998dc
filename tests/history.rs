//! The history as people read it, and as it ends: what changed in words, which record counts, what goes beyond the limit
//! and what never does, and a crash at any moment of that.

mod support;

use std::collections::BTreeMap;

use futures::StreamExt as _;
use installation_operator::api::condition::ConditionType;
use installation_operator::api::names::{self, CHANGES_ANNOTATION, Precious, STATE_ANNOTATION};
use installation_operator::api::{Installation, ResolutionRecord};
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use support::install::object;
use support::item::PASSWORD;
use support::wait::eventually;
use support::{Counts, Moment, ONE_INSTALL, TestNamespace};

impl TestNamespace {
    /// Version, state and change of each record, in order.
    async fn log(&self) -> Vec<String> {
        let records = self.list::<ResolutionRecord>().await;
        let mut lines = BTreeMap::new();
        for record in records {
            let beside = record.annotations();
            let line = format!(
                "{} {}",
                beside[STATE_ANNOTATION], beside[CHANGES_ANNOTATION]
            );
            let version = record.spec.0.installation_snapshot.version.clone();
            lines.insert(version.parse::<u64>().expect("a number"), line);
        }
        lines
            .iter()
            .map(|(version, line)| format!("{version} {line}"))
            .collect()
    }

    /// Changes the spec of the wiki, and waits until that is materialized.
    async fn change(&self, spec: Value) -> Installation {
        self.merge("wiki", json!({"spec": spec})).await;
        self.wait_until_materialized("wiki").await
    }
}

fn titled(title: &str) -> Value {
    json!({"parameters": {"siteTitle": {"value": title}}})
}

fn rotated(generation: u32) -> Value {
    json!({"credentials": {PASSWORD: {"generation": generation}}})
}

#[tokio::test]
async fn the_history_reads_like_a_log_and_holds_no_value() {
    let test = TestNamespace::new("log").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.change(titled("hunter2")).await;
    test.change(rotated(1)).await;
    test.wait_until_quiet().await;
    assert_eq!(
        test.log().await,
        [
            "1 Superseded first record",
            "2 Superseded parameter siteTitle",
            "3 Current credential dbPassword generation 0 → 1",
        ]
    );
    let events = test.events("wiki").await;
    let told: Vec<&str> = events
        .iter()
        .filter(|(reason, _)| reason == "RecordAccepted")
        .map(|(_, message)| message.as_str())
        .collect();
    assert!(
        told.iter()
            .any(|told| told.ends_with("parameter siteTitle")),
        "{told:?}"
    );
    assert!(!told.join(" ").contains("hunter2"), "{told:?}");
}

#[tokio::test]
async fn versions_beyond_the_limit_go_with_what_only_they_name() {
    let test = TestNamespace::new("limit").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    let first = test.stock().await;
    test.change(json!({"historyLimit": 1})).await;
    test.change(rotated(1)).await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    test.wait_until_quiet().await;
    let within = Counts {
        credentials: 2,
        snapshots: 2,
        records: 2,
        ..ONE_INSTALL
    };
    assert_eq!(test.stock().await.counts(), within, "the former stays");

    test.change(titled("Another title")).await;
    let told = test.wait_for_event("wiki", "HistoryPruned").await;
    assert!(told.ends_with(": 1"), "{told}");
    eventually("the former credential to go", async || {
        let counts = test.stock().await.counts();
        let beyond = Counts {
            credentials: 1,
            ..within
        };
        (counts == beyond).then_some(())
    })
    .await;
    let stock = test.stock().await;
    assert_eq!(stock.password(PASSWORD, 0), None);
    assert!(stock.password(PASSWORD, 1).is_some());
    assert_ne!(first.password(PASSWORD, 0), stock.password(PASSWORD, 1));

    // What went is neither missed nor made anew, by the next holder of the identity either.
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    test.install_wiki().await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    let after = test.stock().await;
    assert_eq!(after.password(PASSWORD, 0), None, "a generation came back");
    assert!(after.password(PASSWORD, 1) == stock.password(PASSWORD, 1));
}

#[tokio::test]
async fn while_a_rollout_is_under_way_the_version_that_still_runs_stays() {
    let test = TestNamespace::new("under-way").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.change(json!({"historyLimit": 0})).await;
    // No new pod comes up, on a node or without one.
    let quota: ResourceQuota =
        object(json!({"metadata": {"name": "no-pods"}, "spec": {"hard": {"pods": "0"}}}));
    test.create(&quota).await;
    test.change(rotated(1)).await;
    test.wait_until_quiet().await;
    let all = Counts {
        credentials: 2,
        snapshots: 2,
        records: 2,
        ..ONE_INSTALL
    };
    assert_eq!(test.stock().await.counts(), all);
    test.api::<ResourceQuota>()
        .delete("no-pods", &DeleteParams::default())
        .await
        .expect("deleted");
    let _rollout = test.pods_become_ready();
    eventually("the former version to go", async || {
        (test.stock().await.counts() == ONE_INSTALL).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_version_stays_while_a_rollback_names_it() {
    let test = TestNamespace::new("target").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.change(titled("Another title")).await;
    let rolled_back = json!({"historyLimit": 0, "rollback": {"record": 1, "token": "1"}});
    test.change(rolled_back).await;
    test.wait_for_event("wiki", "HistoryPruned").await;
    test.wait_until_quiet().await;
    assert_eq!(
        test.log().await,
        [
            "1 Superseded first record",
            "3 Current rolled back to version 1: parameter siteTitle",
        ]
    );
    test.change(json!({"rollback": null})).await;
    eventually("version 1 to go", async || {
        let stock = test.stock().await;
        let gone = |kind: Precious, name: &str| {
            let mut all = stock.of(kind).iter();
            all.all(|secret| secret.name_any() != name)
        };
        gone(Precious::Snapshot, &names::snapshot("wiki", 1)).then_some(())
    })
    .await;
}

/// Removing two versions is two records, two snapshots, a credential.
const REMOVALS: usize = 5;

#[tokio::test]
async fn killed_around_any_removal_nothing_looks_lost_and_the_rest_goes() {
    let moments = (1..=REMOVALS).flat_map(|number| [Moment::Before(number), Moment::After(number)]);
    futures::stream::iter(moments.map(kill_while_pruning))
        .buffer_unordered(4)
        .collect::<()>()
        .await;
}

async fn kill_while_pruning(moment: Moment) {
    let test = TestNamespace::new("prune").await;
    let _rollout = test.pods_become_ready();
    let mut operator = test.operator().await.through_proxy(&test).await.start();
    test.install_wiki().await;
    test.change(rotated(1)).await;
    test.change(titled("Another title")).await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    test.wait_until_quiet().await;

    operator.proxy().kill_at(moment);
    test.merge("wiki", json!({"spec": {"historyLimit": 0}}))
        .await;
    operator.ended().await;
    operator.restart();
    eventually("what is beyond the limit to go", async || {
        (test.stock().await.counts() == ONE_INSTALL).then_some(())
    })
    .await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
}
