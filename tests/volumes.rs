//! A volume that is not shared never has two users: not while its node is replaced, not while a Job of an earlier record still
//! runs, not when the cluster node that it is used on is lost, and not if somebody else asks for it.

mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::names;
use installation_operator::api::{Installation, ResolutionRecord};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use support::install::{create, object};
use support::item::SLUG;
use support::wait::eventually;
use support::{Item, TestNamespace, installation};
use tokio::task::JoinHandle;

/// What is common to the cluster nodes that nobody runs.
const LOST: &str = "test.musher.dev/lost";

impl TestNamespace {
    async fn create_town(&self, item: &Item) {
        let town = installation("town").inline(SLUG, item.files.clone());
        self.create(&town.build()).await;
    }

    async fn update_town(&self, item: &Item) {
        let files = json!({"spec": {"blueprint": {"inline": {"files": item.files}}}});
        self.merge("town", files).await;
    }

    /// The pods that mount the claim, but those that have ended.
    async fn users(&self, claim: &str) -> Option<Vec<Pod>> {
        let pods = self.api::<Pod>().list(&Default::default()).await.ok()?;
        let mut users = pods.items;
        users.retain(|pod| mounts(pod, claim) && !has_ended(pod));
        Some(users)
    }

    /// Counts the users of a claim again and again until it is asked.
    fn count_users(&self, claim: &str) -> Counting {
        let most = Arc::new(Mutex::new((0, BTreeSet::new())));
        let (found, pods, claim) = (most.clone(), self.api::<Pod>(), claim.to_owned());
        let counting = tokio::spawn(async move {
            loop {
                let list = pods.list(&Default::default()).await;
                let users: Vec<String> = list
                    .into_iter()
                    .flatten()
                    .filter(|pod| mounts(pod, &claim) && !has_ended(pod))
                    .filter_map(|pod| pod.uid())
                    .collect();
                {
                    let mut found = found.lock().expect("a count");
                    found.0 = found.0.max(users.len());
                    found.1.extend(users);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        Counting { most, counting }
    }
}

struct Counting {
    most: Arc<Mutex<(usize, BTreeSet<String>)>>,
    counting: JoinHandle<()>,
}

impl Counting {
    /// How many users there were at once, and how many in all.
    fn told(&self) -> (usize, usize) {
        let most = self.most.lock().expect("a count");
        (most.0, most.1.len())
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.counting.abort();
    }
}

fn mounts(pod: &Pod, claim: &str) -> bool {
    let volumes = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten());
    volumes
        .filter_map(|volume| volume.persistent_volume_claim.as_ref())
        .any(|mounted| mounted.claim_name == claim)
}

fn has_ended(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// One node with a volume: `store` of the item with one of each.
async fn one_store(test: &TestNamespace) -> Item {
    Item::one_of_each(&test.cluster).await.only("store")
}

fn edition(item: &Item, number: u32) -> Item {
    let variables = format!("    envVars: {{ EDITION: '{number}' }}\n    volumes:\n");
    item.clone()
        .edited("store.yaml", "    volumes:\n", &variables)
}

#[tokio::test]
async fn no_two_pods_use_a_volume_while_one_is_replaced_that_takes_its_time() {
    let test = TestNamespace::new("replaced").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.start();
    // It does not end when it is asked to, but half a minute later, when it is killed.
    let item = one_store(&test)
        .await
        .edited(
            "store.yaml",
            "command: [serve]",
            "command: [exit, '0', '600']",
        )
        .edited("store.yaml", "type: SERVICE", "type: WORKER");
    let (text, _) = item.files["store.yaml"]
        .split_once("    endpoints:")
        .expect("endpoints");
    let text = format!("{text}    volumes:\n      data: {{ mountPath: /data, minSizeGiB: 1 }}\n");
    let item = item.with("store.yaml", &text);
    let counting = test.count_users(&names::volume("town", "store", "data"));
    test.create_town(&item).await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    test.update_town(&edition(&item, 2)).await;
    test.wait_for("town", "a node that waits for its former pod", |seen| {
        let node = seen.status.as_ref()?.nodes.first()?;
        (node.reason.as_deref() == Some("Replacing")).then_some(())
    })
    .await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    eventually("another pod", async || {
        (counting.told().1 == 2).then_some(())
    })
    .await;
    assert_eq!(counting.told(), (1, 2));
}

#[tokio::test]
async fn a_job_waits_for_the_one_of_an_earlier_record_that_still_uses_its_volume() {
    let test = TestNamespace::new("jobs").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.start();
    let job = |item: Item| {
        let text = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: Works on files. }
spec:
  type: JOB
  workload:
    source: { image: IMAGE }
    command: [exit, '0', '8']
    volumes:
      data: { mountPath: /data, minSizeGiB: 1 }
";
        let text = text.replace("IMAGE", &item.image);
        item.with("store.yaml", &text)
    };
    let item = job(one_store(&test).await);
    let counting = test.count_users(&names::volume("town", "store", "data"));
    test.create_town(&item).await;
    eventually("the first run", async || {
        (counting.told().1 == 1).then_some(())
    })
    .await;
    test.update_town(&edition(&item, 2)).await;
    test.wait_for("town", "a run that waits", |seen| {
        let job = seen.status.as_ref()?.jobs.get("store")?;
        (job.outcome.to_string() == "Waiting").then_some(())
    })
    .await;
    test.wait_for("town", "the second run to end", |seen| {
        let job = seen.status.as_ref()?.jobs.get("store")?;
        let second = job.job == names::job("town", "store", "2");
        (second && job.outcome.to_string() == "Succeeded").then_some(())
    })
    .await;
    assert_eq!(counting.told(), (1, 2));
    assert_eq!(test.list::<ResolutionRecord>().await.len(), 2);
}

#[tokio::test]
async fn a_volume_in_use_is_given_to_nobody_else() {
    let test = TestNamespace::new("guest").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.start();
    let item = one_store(&test).await;
    test.create_town(&item).await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    let claim = names::volume("town", "store", "data");
    let guest: Pod = object(json!({
        "metadata": {"name": "guest"},
        "spec": {
            "containers": [{
                "name": "guest", "image": item.image,
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        },
    }));
    test.create(&guest).await;
    let refused = eventually("a guest that is not let in", async || {
        let pod = json!(test.api::<Pod>().get("guest").await.ok()?);
        let message = pod.pointer("/status/conditions/0/message")?;
        message.as_str().map(str::to_owned)
    })
    .await;
    assert!(refused.contains("ReadWriteOncePod"), "{refused}");
}

/// A cluster node that nobody runs: what is bound to it stays there, as on one that is lost.
struct LostNode<'a> {
    test: &'a TestNamespace,
    name: String,
}

impl<'a> LostNode<'a> {
    async fn new(test: &'a TestNamespace) -> Self {
        let name = format!("lost-{}", test.name);
        let node: Node = object(json!({
            "metadata": {
                "name": name,
                "labels": {LOST: test.name},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": test.name, "uid": test.uid}],
            },
            "spec": {"taints": [{"key": LOST, "value": "true", "effect": "NoSchedule"}]},
        }));
        create(&Api::all(test.client()), &node).await;
        let lost = Self { test, name };
        lost.tell("True").await;
        lost
    }

    /// Says whether it is ready.
    async fn tell(&self, ready: &str) {
        let room = json!({"cpu": "4", "memory": "4Gi", "pods": "10"});
        let condition = json!({"type": "Ready", "status": ready, "reason": "Test"});
        let status = json!({"status": {
            "capacity": room, "allocatable": room, "conditions": [condition]
        }});
        let patch = Patch::Strategic(status);
        let (nodes, params) = (self.api(), PatchParams::default());
        let told = nodes.patch_status(&self.name, &params, &patch).await;
        told.expect("a status");
    }

    /// Says of it what an administrator says of a cluster node that does not come back.
    async fn give_up(&self) {
        self.tell("Unknown").await;
        let taint = json!({"key": "node.kubernetes.io/out-of-service", "value": "lost", "effect": "NoExecute"});
        let patch = Patch::Strategic(json!({"spec": {"taints": [taint]}}));
        let (nodes, params) = (self.api(), PatchParams::default());
        let given_up = nodes.patch(&self.name, &params, &patch).await;
        given_up.expect("a taint");
    }

    fn api(&self) -> Api<Node> {
        Api::all(self.test.client())
    }
}

#[tokio::test]
async fn a_volume_of_a_lost_cluster_node_is_used_again_only_when_that_node_is_given_up() {
    let test = TestNamespace::new("lost").await;
    let lost = LostNode::new(&test).await;
    test.platform(json!({
        "pods": {"tolerations": [{"key": LOST}]},
        "placement": {"networkClass": {"lost": {LOST: test.name}}},
    }))
    .await;
    let _operator = test.operator().await.platform(&test.name).start();
    let item = one_store(&test).await.edited(
        "blueprint.yaml",
        "profile: general.standard.small }",
        "profile: general.standard.small, placement: { networkClass: lost } }",
    );
    test.create_town(&item).await;
    let claim = names::volume("town", "store", "data");
    let bound = eventually("a pod on the cluster node", async || {
        let users = test.users(&claim).await?;
        let first = users.into_iter().next()?;
        let on = first.spec.as_ref()?.node_name.clone()?;
        (on == lost.name).then_some(first)
    })
    .await;
    test.wait_for("town", "a node whose pod is on its way", |seen| {
        let node = seen.status.as_ref()?.nodes.first()?;
        (node.reason.as_deref() == Some("Starting")).then_some(())
    })
    .await;
    lost.tell("Unknown").await;
    let pods = test.api::<Pod>();
    let deleted = pods
        .delete(&bound.name_any(), &DeleteParams::default())
        .await;
    deleted.expect("the deletion of an eviction");
    test.update_town(&edition(&item, 2)).await;
    let told = test
        .wait_for("town", "a node that waits for its former pod", |seen| {
            let node = seen.status.as_ref()?.nodes.first()?;
            (node.reason.as_deref() == Some("Replacing")).then_some(())
        })
        .await;
    let message = message(&told);
    for said in [&bound.name_any(), &lost.name] {
        assert!(message.contains(said.as_str()), "{message}");
    }
    // Long enough for whoever would make another.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let uids = async || -> Vec<Option<String>> {
        let users = test.users(&claim).await.expect("pods");
        users.iter().map(|pod| pod.uid()).collect()
    };
    assert_eq!(uids().await, [bound.uid()]);

    lost.give_up().await;
    eventually("another pod in its place", async || {
        let now = uids().await;
        (now.len() == 1 && now[0] != bound.uid()).then_some(())
    })
    .await;
}

fn message(seen: &Installation) -> String {
    let status: Value = json!(seen.status);
    let message = status.pointer("/nodes/0/message").and_then(Value::as_str);
    message.unwrap_or_default().to_owned()
}
