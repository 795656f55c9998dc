//! Placement pins: what they mean on a cluster, who says so, and what is told where no host is left.

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::{Platform, ResolutionRecord};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use support::wait::condition;
use support::{Item, TestNamespace};

const PLACEMENT: &str = "{ cpuArchitectures: [arm64, riscv64], networkClass: fast }";

fn pinned(item: Item) -> Item {
    let placed = format!(
        "      componentRef: ./db.yaml\n      compute: {{ profile: general.standard.small, placement: {PLACEMENT} }}\n"
    );
    item.edited(
        "blueprint.yaml",
        "      componentRef: ./db.yaml\n      compute: { profile: general.standard.small }\n",
        &placed,
    )
}

fn terms(network: &str) -> Value {
    json!({"placement": {
        "cpuArchitectures": {
            "arm64": {"kubernetes.io/arch": "arm64"},
            "riscv64": {"kubernetes.io/arch": "riscv64"},
        },
        "networkClass": {"fast": {"example.org/network": network}},
    }})
}

/// The node affinity of every Deployment, as labels; nothing where there is none.
async fn affinities(test: &TestNamespace) -> Vec<Value> {
    let pods = test.list::<Deployment>().await.into_iter();
    let affinities = pods.map(|deployment| {
        let pod = deployment.spec.and_then(|spec| spec.template.spec);
        json!(pod.and_then(|pod| pod.affinity))
    });
    affinities.collect()
}

fn affinity(network: &str) -> Value {
    let term = |arch: &str| {
        json!({"matchExpressions": [
            {"key": "example.org/network", "operator": "In", "values": [network]},
            {"key": "kubernetes.io/arch", "operator": "In", "values": [arch]},
        ]})
    };
    let terms = [term("arm64"), term("riscv64")];
    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
}

#[tokio::test]
async fn a_pin_waits_for_its_term_and_then_narrows_the_hosts_of_its_node_alone() {
    let test = TestNamespace::new("placement").await;
    let _operator = test.operator().await.platform(&test.name).start();
    let item = pinned(test.item().await);
    test.create(&item.installation("wiki").build()).await;
    let waiting = test
        .wait_for_reason("wiki", ConditionType::Reconciling, "Incomplete")
        .await;
    let deferred = waiting.status.expect("a status").deferred;
    let missing: Vec<&str> = deferred
        .iter()
        .map(|found| found.missing.as_str())
        .collect();
    assert_eq!(
        missing,
        [
            "placement:cpuArchitectures:riscv64",
            "placement:networkClass:fast"
        ]
    );

    test.platform(terms("25g")).await;
    test.wait_until_materialized("wiki").await;
    assert_eq!(affinities(&test).await, [affinity("25g"), Value::Null]);
    let told = test
        .wait_for("wiki", "the pins in its status", |seen| {
            let nodes = &seen.status.as_ref()?.nodes;
            let message = nodes.iter().find_map(|node| node.message.as_ref().filter(|_| node.name == "db"))?;
            message
                .contains("pinned to cpuArchitectures arm64, riscv64; networkClass fast (labels kubernetes.io/arch=arm64 or kubernetes.io/arch=riscv64; example.org/network=25g)")
                .then_some(())
        })
        .await;
    let db = told.status.expect("a status").nodes;
    let db = db.iter().find(|node| node.name == "db").expect("db");
    assert_eq!(db.reason.as_deref(), Some("Unschedulable"));

    // The record says what the contract says, and nothing of this cluster.
    let records = test.list::<ResolutionRecord>().await;
    assert_eq!(
        json!(records[0].spec)["components"]["db"]["compute"],
        json!({"identity": "general.standard.small", "version": "1"})
    );
}

#[tokio::test]
async fn another_meaning_of_a_term_is_an_update_and_not_applied() {
    let test = TestNamespace::new("placement-update").await;
    let _operator = test.operator().await.platform(&test.name).start();
    test.platform(terms("25g")).await;
    let item = pinned(test.item().await);
    test.create(&item.installation("wiki").build()).await;
    test.wait_until_materialized("wiki").await;

    let change = Patch::Merge(json!({"spec": terms("100g")}));
    Api::<Platform>::all(test.client())
        .patch(&test.name, &PatchParams::default(), &change)
        .await
        .expect("patched");
    let told = test
        .wait_for_condition("wiki", ConditionType::UpdateAvailable, "True")
        .await;
    assert_eq!(
        condition(&told, ConditionType::Materialized).0,
        "True",
        "what runs stays"
    );
    assert_eq!(affinities(&test).await[0], affinity("25g"));

    test.merge("wiki", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    test.wait_until_materialized("wiki").await;
    assert_eq!(affinities(&test).await[0], affinity("100g"));
}
