//! `docs/troubleshooting.md` row by row: what a cluster, a namespace or an image can have against an installation ends in a
//! named reason. And what looks as if it could be trouble, and is none: the longest names, many nodes, many volumes.

#![allow(
    clippy::disallowed_methods,
    reason = "the page and the tests are files"
)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use installation_operator::api::Installation;
use installation_operator::api::condition::ConditionType;
use installation_operator::api::names;
use installation_operator::api::reason::NodeReason;
use installation_operator::api::status::NodeStatus;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{LimitRange, PersistentVolumeClaim, Pod, ResourceQuota};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use strum::IntoEnumIterator as _;
use support::install::object;
use support::item::SLUG;
use support::wait::{attempt, condition, eventually};
use support::{Item, TestNamespace, installation};

/// A row, and the test that tries it.
struct Case {
    /// The row's first cell.
    what: &'static str,
    place: &'static str,
    reason: &'static str,
    /// The file in `tests/`, and the test in it.
    tried: (&'static str, &'static str),
}

const fn case(
    what: &'static str,
    place: &'static str,
    reason: &'static str,
    tried: (&'static str, &'static str),
) -> Case {
    Case {
        what,
        place,
        reason,
        tried,
    }
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    case("the image cannot be pulled", "node", "ImagePull", ("troubles", "an_image_that_cannot_be_pulled")),
    case("a ResourceQuota has no room for pods", "node", "Refused", ("workloads", "a_quota_that_refuses_pods_is_the_reason_of_each_kind_of_node")),
    case("a ResourceQuota has no room for the run of a JOB", "job", "Running", ("workloads", "a_quota_that_refuses_pods_is_the_reason_of_each_kind_of_node")),
    case("a ResourceQuota has no room for what is not a pod", "condition", "Refused", ("troubles", "a_quota_of_what_is_not_a_pod")),
    case("a LimitRange does not admit the compute profile", "node", "Refused", ("troubles", "a_limit_range_that_does_not_admit_the_profile")),
    case("the namespace enforces `restricted`, and the image's user may be root", "node", "ContainerConfig", ("workloads", "where_restricted_is_enforced_pods_fit_or_their_node_says_what_image_would")),
    case("the namespace enforces `restricted` since the record was made", "condition", "PinnedChanged", ("troubles", "a_namespace_that_enforces_restricted_later_wakes_its_installations")),
    case("no cluster node has what the placement pins ask for", "node", "Unschedulable", ("placement", "a_pin_waits_for_its_term_and_then_narrows_the_hosts_of_its_node_alone")),
    case("the StorageClass does not give the volume", "node", "Unschedulable", ("troubles", "a_storage_class_that_does_not_give_the_volume")),
    case("the StorageClass does not let a volume grow", "node", "VolumeCannotGrow", ("workloads", "a_volume_that_cannot_grow_is_said_of_its_node")),
    case("the container ends again and again", "node", "Crashing", ("troubles", "a_container_that_ends_and_a_rollout_without_end")),
    case("the readiness probe does not succeed", "node", "ProbeFailing", ("pods", "readiness_gates_what_leads_to_a_pod_by_the_contracts_numbers")),
    case("a rollout comes to no end", "node", "DeadlineExceeded", ("troubles", "a_container_that_ends_and_a_rollout_without_end")),
    case("pods are on their way", "node", "Starting", ("volumes", "a_volume_of_a_lost_cluster_node_is_used_again_only_when_that_node_is_given_up")),
    case("a former pod takes its time to end", "node", "Replacing", ("volumes", "no_two_pods_use_a_volume_while_one_is_replaced_that_takes_its_time")),
    case("the cluster node of a pod with a volume is lost", "node", "Replacing", ("volumes", "a_volume_of_a_lost_cluster_node_is_used_again_only_when_that_node_is_given_up")),
    case("a Job fails", "job", "Failed", ("workloads", "a_job_runs_once_for_a_record_whatever_becomes_of_it")),
];

#[test]
fn every_row_of_the_page_has_a_case_and_every_reason_of_a_node_a_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/troubleshooting.md")).expect("the page");
    let (_, table) = page.split_once("| What happens |").expect("the table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let found: Vec<[&str; 3]> = rows
        .iter()
        .map(|row| [row[0], row[1], row[2].trim_matches('`')])
        .collect();
    let expected: Vec<[&str; 3]> = CASES
        .iter()
        .map(|case| [case.what, case.place, case.reason])
        .collect();
    assert_eq!(
        found, expected,
        "docs/troubleshooting.md and its cases differ"
    );
    for row in rows {
        assert!(row.len() == 4 && !row[3].is_empty(), "{row:?}");
    }
    for reason in NodeReason::iter().map(|reason| reason.to_string()) {
        let mut all = CASES.iter();
        let has_row = all.any(|case| case.place == "node" && case.reason == reason);
        assert!(has_row, "docs/troubleshooting.md has no row for {reason}");
    }
    for case in CASES {
        let (file, test) = case.tried;
        let text = std::fs::read_to_string(root.join(format!("tests/{file}.rs")));
        let text = text.unwrap_or_else(|error| panic!("tests/{file}.rs: {error}"));
        let (_, after) = text
            .split_once(&format!("async fn {test}()"))
            .unwrap_or_else(|| panic!("{}: tests/{file}.rs has no test {test}", case.what));
        let body = after.split("\n#[tokio::test]").next().unwrap_or_default();
        assert!(
            body.contains(case.reason),
            "{}: {test} sees no {}",
            case.what,
            case.reason
        );
    }
}

impl TestNamespace {
    async fn create_town(&self, item: &Item) {
        let town = installation("town").inline(SLUG, item.files.clone());
        self.create(&town.build()).await;
    }

    async fn wait_for_node(&self, name: &str, reason: &str) -> NodeStatus {
        let what = format!("node {name} because of {reason}");
        let seen = self
            .wait_for("town", &what, |seen| {
                let found = node(seen, name)?;
                (found.reason.as_deref() == Some(reason)).then_some(())
            })
            .await;
        node(&seen, name).expect("the node").clone()
    }

    /// A quota that is in force.
    async fn quota(&self, hard: Value) {
        let quota: ResourceQuota =
            object(json!({"metadata": {"name": "tight"}, "spec": {"hard": hard}}));
        self.create(&quota).await;
        let quotas = self.api::<ResourceQuota>();
        eventually("the quota to be in force", async || {
            quotas.get("tight").await.ok()?.status?.hard.map(|_| ())
        })
        .await;
    }
}

fn node<'a>(seen: &'a Installation, name: &str) -> Option<&'a NodeStatus> {
    let mut nodes = seen.status.as_ref()?.nodes.iter();
    nodes.find(|node| node.name == name)
}

#[track_caller]
fn assert_says(node: &NodeStatus, words: &[&str]) {
    let message = node.message.as_deref().unwrap_or_default();
    for word in words {
        assert!(message.contains(word), "{message:?} does not say {word:?}");
    }
}

/// The item whose only node is `clerk`, which works in silence.
async fn clerk(test: &TestNamespace) -> Item {
    Item::one_of_each(&test.cluster).await.only("clerk")
}

/// The item whose only node is `store`, which has a volume.
async fn store(test: &TestNamespace) -> Item {
    Item::one_of_each(&test.cluster).await.only("store")
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled() {
    let test = TestNamespace::new("pull").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.start();
    let item = clerk(&test).await;
    let nowhere = format!("registry.invalid/probe@sha256:{}", "a".repeat(64));
    let item = item.clone().edited("clerk.yaml", &item.image, &nowhere);
    test.create_town(&item).await;
    let node = test.wait_for_node("clerk", "ImagePull").await;
    assert_eq!(node.state, "Failing");
    assert_says(&node, &["cannot get its image"]);
    let town = test.api::<Installation>().get("town").await.expect("it");
    assert_eq!(condition(&town, ConditionType::Ready).1, "NodesNotReady");
}

#[tokio::test]
async fn a_quota_of_what_is_not_a_pod() {
    let test = TestNamespace::new("tight").await;
    let _operator = test.operator().await.start();
    test.quota(json!({"count/secrets": "1", "persistentvolumeclaims": "0"}))
        .await;
    test.create_town(&store(&test).await).await;
    let ready = async |words: &str| {
        let what = format!("a refusal of {words}");
        test.wait_for("town", &what, |seen| {
            let conditions = &seen.status.as_ref()?.conditions;
            let ready = conditions.iter().find(|found| found.type_ == "Ready")?;
            (ready.reason == "Refused" && ready.message.contains(words)).then_some(())
        })
        .await
    };
    ready("count/secrets=1").await;
    let more = |hard: Value| Patch::Merge(json!({"spec": {"hard": hard}}));
    let quotas = test.api::<ResourceQuota>();
    let params = PatchParams::default();
    let raised = more(json!({"count/secrets": "100"}));
    quotas
        .patch("tight", &params, &raised)
        .await
        .expect("more Secrets");
    ready("persistentvolumeclaims=0").await;
    let raised = more(json!({"persistentvolumeclaims": "1"}));
    quotas
        .patch("tight", &params, &raised)
        .await
        .expect("more claims");
    // It goes on by itself.
    test.wait_until_materialized("town").await;
}

#[tokio::test]
async fn a_limit_range_that_does_not_admit_the_profile() {
    let test = TestNamespace::new("limits").await;
    let _operator = test.operator().await.start();
    let limits: LimitRange = object(json!({
        "metadata": {"name": "coarse"},
        "spec": {"limits": [{"type": "Container", "min": {"cpu": "2"}}]},
    }));
    test.create(&limits).await;
    test.create_town(&clerk(&test).await).await;
    let refused = test.wait_for_node("clerk", "Refused").await;
    assert_says(&refused, &["minimum cpu usage per Container is 2"]);
}

#[tokio::test]
async fn a_namespace_that_enforces_restricted_later_wakes_its_installations() {
    let test = TestNamespace::new("later").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    test.create_town(&clerk(&test).await).await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    test.wait_until_quiet().await;
    test.enforce_restricted().await;
    let told = test
        .wait_for_condition("town", ConditionType::UpdateAvailable, "True")
        .await;
    assert_eq!(
        condition(&told, ConditionType::UpdateAvailable).1,
        "PinnedChanged"
    );
    let told = json!(told.status).to_string();
    assert!(told.contains("pod security level"), "{told}");

    test.merge("town", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    let pods = test.list::<Deployment>().await;
    let pod = json!(pods[0])["spec"]["template"]["spec"].clone();
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
}

#[tokio::test]
async fn a_storage_class_that_does_not_give_the_volume() {
    let test = TestNamespace::new("storage").await;
    if test.lacks_node() {
        return;
    }
    test.platform(json!({"storage": {"terms": {"none": {"storageClassName": "nowhere"}}}}))
        .await;
    let _operator = test.operator().await.platform(&test.name).start();
    let class = "{ sizeGiB: 1, storageClass: none }";
    let item = store(&test)
        .await
        .edited("blueprint.yaml", "{ sizeGiB: 1 }", class);
    test.create_town(&item).await;
    let node = test.wait_for_node("store", "Unschedulable").await;
    assert_says(&node, &["PersistentVolumeClaim"]);
}

#[tokio::test]
async fn a_container_that_ends_and_a_rollout_without_end() {
    let test = TestNamespace::new("crash").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.start();
    let item = clerk(&test)
        .await
        .edited("clerk.yaml", "command: [sleep]", "command: [exit, '3']");
    test.create_town(&item).await;
    let node = test.wait_for_node("clerk", "Crashing").await;
    assert_eq!(node.state, "Progressing", "it may be a first boot");
    assert_says(&node, &["exit code 3", "kubectl logs"]);

    // What the controller of Deployments says after the time that the probes allow, ten minutes at least.
    let over = json!({"status": {"conditions": [{
        "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
        "message": "ReplicaSet has timed out progressing.",
    }]}});
    let name = names::workload("town", "clerk");
    let told = test
        .api::<Deployment>()
        .patch_status(&name, &PatchParams::default(), &Patch::Strategic(over))
        .await;
    told.expect("a status");
    let node = test.wait_for_node("clerk", "DeadlineExceeded").await;
    assert_eq!(node.state, "Failing");
}

#[tokio::test]
async fn the_longest_names_fit_everything_that_is_made_of_them() {
    let test = TestNamespace::new("longest").await;
    let _rollout = test.pods_become_ready();
    let long = |letter: &str| letter.repeat(63);
    let (town, node, volume) = (long("i"), long("n"), long("v"));
    let (parameter, endpoint) = (format!("p{}", "P".repeat(63)), "e".repeat(20));
    test.platform(json!({"edge": {
        "domains": [{"domain": "apps.example.org"}],
        "scheme": "http",
        "gateway": {"name": "edge", "namespace": "gateway-system"},
    }}))
    .await;
    let _operator = test.operator().await.platform(&test.name).start();
    let binding = format!(
        "      exposure: {{ {endpoint}: PUBLIC }}\n      bindings: {{ {parameter}: {{ parameter: {parameter} }} }}\n"
    );
    let input = format!(
        "  contract:\n    inputs:\n      {parameter}: {{ schema: {{ type: string }}, sensitive: true, target: {{ envVarKey: PASSWORD }}, description: A password. }}\n"
    );
    let item = store(&test)
        .await
        .edited("blueprint.yaml", "    store:\n", &format!("    {node}:\n"))
        .edited("blueprint.yaml", "{ data:", &format!("{{ {volume}:"))
        .edited(
            "blueprint.yaml",
            "  components:\n",
            &format!("  parameters:\n    {parameter}: {{ generator: {{ byteLength: 16, encoding: HEX }}, ui: {{ label: Password }} }}\n  components:\n"),
        )
        .edited("store.yaml", "      data:", &format!("      {volume}:"))
        .edited("store.yaml", "      http: {", &format!("      {endpoint}: {{"))
        .edited("store.yaml", "endpoint: http,", &format!("endpoint: {endpoint},"));
    let blueprint = format!("{}{binding}", item.files["blueprint.yaml"]);
    let component = format!("{}{input}", item.files["store.yaml"]);
    let item = item
        .with("blueprint.yaml", &blueprint)
        .with("store.yaml", &component);
    let install = async |name: &str| {
        let builder = installation(name).inline(SLUG, item.files.clone());
        test.create(&builder.build()).await;
        test.wait_for_condition(name, ConditionType::Ready, "True")
            .await
    };
    install(&town).await;
    // Another that differs in its last letter only has objects of its own.
    install(&format!("{}x", &town[..62])).await;
    assert_eq!(test.list::<PersistentVolumeClaim>().await.len(), 2);
    test.delete(&town).await;
    test.wait_until_gone(&town).await;
}

#[tokio::test]
async fn two_hundred_nodes_are_one_installation() {
    let test = TestNamespace::new("many").await;
    // Nothing runs them: two hundred pods are more than one cluster node takes.
    test.platform(
        json!({"placement": {"networkClass": {"none": {"test.musher.dev/none": "none"}}}}),
    )
    .await;
    let _operator = test.operator().await.platform(&test.name).start();
    let mut item = clerk(&test).await;
    let blueprint = item.files.get_mut("blueprint.yaml").expect("a blueprint");
    let (head, _) = blueprint.split_once("    clerk:").expect("the node");
    let mut text = head.to_owned();
    for number in 0..200 {
        text += &format!(
            "    clerk-{number:03}: {{ componentRef: ./clerk.yaml, compute: {{ profile: general.standard.small, placement: {{ networkClass: none }} }} }}\n"
        );
    }
    *blueprint = text;
    test.create_town(&item).await;
    let patience = Duration::from_secs(180);
    let town = attempt(patience, async || {
        let town = test.api::<Installation>().get("town").await.ok()?;
        let all = town.status.as_ref()?.nodes.iter();
        let are_told = all
            .filter(|node| node.reason.as_deref() == Some("Unschedulable"))
            .count();
        (are_told == 100).then_some(town)
    })
    .await
    .expect("a hundred nodes whose pods no cluster node takes");
    let status = town.status.as_ref().expect("a status");
    assert_eq!(status.totals.as_ref().map(|totals| totals.nodes), Some(200));
    assert_eq!(condition(&town, ConditionType::Materialized).0, "True");
    assert_eq!(test.list::<Deployment>().await.len(), 200);

    test.delete("town").await;
    test.wait_until_gone("town").await;
}

#[tokio::test]
async fn thirty_volumes_of_one_node_are_all_mounted() {
    let test = TestNamespace::new("volumes").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    let numbers = || 0..30;
    let sizes: Vec<String> = numbers()
        .map(|number| format!("data-{number}: {{ sizeGiB: 1 }}"))
        .collect();
    let mounts: String = numbers()
        .map(|number| {
            format!("      data-{number}: {{ mountPath: /data/{number}, minSizeGiB: 1 }}\n")
        })
        .collect();
    let item = store(&test)
        .await
        .edited("blueprint.yaml", "data: { sizeGiB: 1 }", &sizes.join(", "))
        .edited(
            "store.yaml",
            "      data: { mountPath: /data, minSizeGiB: 1 }\n",
            &mounts,
        );
    test.create_town(&item).await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    assert_eq!(test.list::<PersistentVolumeClaim>().await.len(), 30);
    let pod = format!("{}-0", names::workload("town", "store"));
    if test.cluster.lacks_node().is_none() {
        for number in [0, 29] {
            let path = format!("/files/{number}/note");
            test.request(&pod, "PUT", &path, &number.to_string()).await;
        }
    }
    let pod = test.api::<Pod>().get(&pod).await.expect("the pod");
    let mounted = &pod.spec.as_ref().expect("a spec").containers[0].volume_mounts;
    assert_eq!(mounted.as_ref().map(Vec::len), Some(30));
    let distinct: BTreeSet<&String> = mounted.iter().flatten().map(|mount| &mount.name).collect();
    assert_eq!(distinct.len(), 30, "{}", pod.name_any());
}
