//! What a record becomes, on a real control plane and, where behaviour matters, in real pods: volumes that outlive what
//! mounts them, jobs that run once, schedules, policies, and nodes that say why they are not ready.

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::names;
use installation_operator::api::status::{JobOutcome, JobStatus, NodeStatus};
use installation_operator::api::{Installation, Platform};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, ResourceQuota};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use support::install::{create, object};
use support::item::SLUG;
use support::wait::{condition, eventually};
use support::{Item, TestNamespace, installation};

impl TestNamespace {
    async fn one_of_each(&self) -> Item {
        Item::one_of_each(&self.cluster).await
    }

    /// Creates the Installation `town`, and waits until it is ready.
    async fn install_town(&self, item: &Item) -> Installation {
        let town = installation("town").inline(SLUG, item.files.clone());
        self.create(&town.build()).await;
        self.wait_for_condition("town", ConditionType::Ready, "True")
            .await
    }

    /// Writes `item` into the Installation `town`.
    async fn update_town(&self, item: &Item) {
        self.merge(
            "town",
            json!({"spec": {"blueprint": {"inline": {"files": item.files}}}}),
        )
        .await;
    }

    /// Waits until the run of a JOB node stands like this.
    async fn wait_for_job(&self, node: &str, job: &str, outcome: JobOutcome) -> JobStatus {
        let what = format!("{job} to be {outcome}");
        let found = self
            .wait_for("town", &what, |seen| {
                let found = seen.status.as_ref()?.jobs.get(node)?;
                (found.job == job && found.outcome == outcome).then_some(())
            })
            .await;
        found.status.expect("a status").jobs[node].clone()
    }
}

fn node(seen: &Installation, name: &str) -> NodeStatus {
    let nodes = seen.status.iter().flat_map(|status| &status.nodes);
    let found = nodes.into_iter().find(|node| node.name == name);
    found.expect("the node").clone()
}

fn claim() -> String {
    names::volume("town", "store", "data")
}

#[tokio::test]
async fn each_kind_of_node_becomes_its_kind_of_workload() {
    let test = TestNamespace::new("kinds").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    let town = test.install_town(&test.one_of_each().await).await;
    let workloads: Vec<String> = town
        .status
        .iter()
        .flat_map(|status| &status.nodes)
        .filter_map(|node| node.workload.clone())
        .collect();
    let name = |node: &str| names::workload("town", node);
    assert_eq!(
        workloads,
        [
            format!("Deployment/{}", name("clerk")),
            format!("Job/{}", names::job("town", "migrate", "1")),
            format!("CronJob/{}", name("nightly")),
            format!("StatefulSet/{}", name("store")),
        ]
    );
    let nightly = test.api::<CronJob>().get(&name("nightly")).await;
    let nightly = nightly.expect("the CronJob").spec;
    assert_eq!(nightly.schedule, "*/15 0-23/2 1,15 * 1-5");
    assert_eq!(nightly.time_zone.as_deref(), Some("Etc/UTC"));
    assert_eq!(nightly.concurrency_policy.as_deref(), Some("Forbid"));
    assert_eq!(test.list::<NetworkPolicy>().await.len(), 4);
}

#[tokio::test]
async fn a_volume_stays_under_retain_and_goes_under_delete() {
    let test = TestNamespace::new("volume").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    let item = test.one_of_each().await;
    test.install_town(&item).await;
    let claims = test.api::<PersistentVolumeClaim>();
    let before = claims.get(&claim()).await.expect("the claim");
    assert_eq!(before.owner_references(), []);
    assert_eq!(
        before
            .spec
            .as_ref()
            .and_then(|spec| spec.access_modes.clone()),
        Some(vec!["ReadWriteOncePod".to_owned()])
    );
    test.delete("town").await;
    test.wait_until_gone("town").await;
    assert_eq!(
        claims.get(&claim()).await.expect("the claim").uid(),
        before.uid()
    );

    test.install_town(&item).await;
    assert_eq!(
        claims.get(&claim()).await.expect("the claim").uid(),
        before.uid()
    );
    test.merge("town", json!({"spec": {"deletionPolicy": "Delete"}}))
        .await;
    test.delete("town").await;
    test.wait_until_gone("town").await;
    eventually("the claim to be gone", async || {
        claims.get_opt(&claim()).await.ok()?.is_none().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_volume_grows_where_its_class_allows_and_never_shrinks() {
    let test = TestNamespace::new("grow").await;
    let _rollout = test.pods_become_ready();
    let class: StorageClass = object(json!({
        "metadata": {"name": test.name},
        "provisioner": "kubernetes.io/host-path",
        "allowVolumeExpansion": true,
    }));
    create(&Api::all(test.client()), &class).await;
    test.platform(json!({"storage": {"terms": {"growing": {"storageClassName": test.name}}}}))
        .await;
    let _operator = test.operator().await.platform(&test.name).start();
    let sized = async |size: &str| {
        test.one_of_each()
            .await
            .edited("blueprint.yaml", "{ sizeGiB: 1 }", size)
    };
    test.install_town(&sized("{ sizeGiB: 1, storageClass: growing }").await)
        .await;
    let size = async || {
        let claim = test
            .api::<PersistentVolumeClaim>()
            .get(&claim())
            .await
            .ok()?;
        let requests = claim.spec?.resources?.requests?;
        requests.get("storage").map(|size| size.0.clone())
    };
    assert_eq!(size().await.as_deref(), Some("1Gi"));

    test.update_town(&sized("{ sizeGiB: 3, storageClass: growing }").await)
        .await;
    eventually("the claim to ask for more", async || {
        (size().await.as_deref() == Some("3Gi")).then_some(())
    })
    .await;

    test.update_town(&sized("{ sizeGiB: 2, storageClass: growing }").await)
        .await;
    let refused = test.wait_until_stalled("town", "Invalid").await;
    let diagnostic = &refused.status.expect("a status").diagnostics[0];
    assert_eq!(
        (diagnostic.code.as_str(), diagnostic.path.as_str()),
        (
            "ERR_INVALID_VOLUME_ALLOCATION",
            "/spec/components/store/volumes/data/sizeGiB"
        )
    );
    assert_eq!(size().await.as_deref(), Some("3Gi"));
}

#[tokio::test]
async fn a_volume_that_cannot_grow_is_said_of_its_node() {
    let test = TestNamespace::new("rigid").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    let item = test.one_of_each().await;
    test.install_town(&item).await;
    test.update_town(&item.edited("blueprint.yaml", "{ sizeGiB: 1 }", "{ sizeGiB: 2 }"))
        .await;
    test.wait_for("town", "a node that cannot grow", |seen| {
        let found = seen
            .status
            .as_ref()?
            .nodes
            .iter()
            .find(|node| node.name == "store")?;
        (found.reason.as_deref() == Some("VolumeCannotGrow")).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_node_that_gets_a_volume_leaves_its_deployment_before_its_stateful_set_starts() {
    let test = TestNamespace::new("change").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    let item = test.one_of_each().await;
    let without = item
        .clone()
        .edited(
            "blueprint.yaml",
            "      volumes: { data: { sizeGiB: 1 } }\n",
            "",
        )
        .edited(
            "store.yaml",
            "    volumes:\n      data: { mountPath: /data, minSizeGiB: 1 }\n",
            "",
        );
    test.install_town(&without).await;
    let name = names::workload("town", "store");
    test.api::<Deployment>()
        .get(&name)
        .await
        .expect("a Deployment");
    test.update_town(&item).await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    eventually("the StatefulSet alone", async || {
        let set = test.api::<StatefulSet>().get_opt(&name).await.ok()??;
        let former = test.api::<Deployment>().get_opt(&name).await.ok()?;
        (former.is_none() && set.metadata.creation_timestamp.is_some()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_job_runs_once_for_a_record_whatever_becomes_of_it() {
    let test = TestNamespace::new("job").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.start();
    let item = test.one_of_each().await;
    test.install_town(&item).await;
    let first = names::job("town", "migrate", "1");
    test.wait_for_job("migrate", &first, JobOutcome::Succeeded)
        .await;
    test.wait_for_event("town", "JobSucceeded").await;
    let jobs = test.api::<Job>();
    jobs.delete(&first, &DeleteParams::background())
        .await
        .expect("the Job goes");
    test.merge("town", json!({"metadata": {"labels": {"touched": "yes"}}}))
        .await;
    test.wait_until_quiet().await;
    assert_eq!(jobs.get_opt(&first).await.expect("an answer"), None);

    let failing = item.edited("migrate.yaml", "exit, '0'", "exit, '3'");
    test.update_town(&failing).await;
    let second = names::job("town", "migrate", "2");
    let failed = test
        .wait_for_job("migrate", &second, JobOutcome::Failed)
        .await;
    let message = failed.message.expect("a failed job says why");
    assert!(message.contains("kubectl logs"), "{message}");
    test.wait_for_event("town", "JobFailed").await;
    let town = test
        .wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    assert_eq!(node(&town, "migrate").state, "Ready");
    let pods = test.list::<Pod>().await;
    let tries = pods
        .iter()
        .filter(|pod| pod.name_any().starts_with(&second));
    assert_eq!(tries.count(), 1, "a job is never tried again");
}

#[tokio::test]
async fn files_survive_the_replacement_of_the_pod_that_wrote_them() {
    let test = TestNamespace::new("files").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.start();
    let item = test.one_of_each().await;
    test.install_town(&item).await;
    let pod = format!("{}-0", names::workload("town", "store"));
    let before = test.api::<Pod>().get(&pod).await.expect("the pod").uid();
    test.request(&pod, "PUT", "/files/note", "kept").await;
    let replaced = item.edited(
        "store.yaml",
        "    command: [serve]\n",
        "    command: [serve]\n    envVars: { EDITION: '2' }\n",
    );
    test.update_town(&replaced).await;
    eventually("another pod with the same file", async || {
        let now = test.api::<Pod>().get_opt(&pod).await.ok()??;
        let is_another = now.uid() != before;
        let file = test.try_request(&pod, "GET", "/files/note", "").await?;
        (is_another && file == "kept").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_quota_that_refuses_pods_is_the_reason_of_each_kind_of_node() {
    let test = TestNamespace::new("quota").await;
    let _operator = test.operator().await.start();
    let quota: ResourceQuota =
        object(json!({"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}));
    test.create(&quota).await;
    let quotas = test.api::<ResourceQuota>();
    eventually("the quota to be in force", async || {
        let status = quotas.get("none").await.ok()?.status?;
        status.hard.map(|_| ())
    })
    .await;
    let town = installation("town").inline(SLUG, test.one_of_each().await.files);
    test.create(&town.build()).await;
    let refused = test
        .wait_for("town", "nodes that are refused", |seen| {
            let nodes = &seen.status.as_ref()?.nodes;
            let refused = |name: &str| {
                nodes
                    .iter()
                    .any(|node| node.name == name && node.reason.as_deref() == Some("Refused"))
            };
            (refused("clerk") && refused("store")).then_some(())
        })
        .await;
    for name in ["clerk", "store"] {
        let message = node(&refused, name).message.expect("a message");
        assert!(message.contains("quota"), "{name}: {message}");
    }
    // A JOB holds nothing up: its run is told beside the nodes.
    test.wait_for("town", "a run that is refused", |seen| {
        let job = seen.status.as_ref()?.jobs.get("migrate")?;
        let is_told = job.message.as_ref()?.contains("quota");
        (job.outcome == JobOutcome::Running && is_told).then_some(())
    })
    .await;
}

#[tokio::test]
async fn where_restricted_is_enforced_pods_fit_or_their_node_says_what_image_would() {
    let test = TestNamespace::new("restricted").await;
    if test.lacks_node() {
        return;
    }
    test.enforce_restricted().await;
    let _operator = test.operator().await.start();
    let item = test.one_of_each().await;
    test.install_town(&item).await;

    let named = &test.cluster.state.images["probe-named-user"];
    let image = item.image.clone();
    test.update_town(&item.edited("clerk.yaml", &image, named))
        .await;
    let refused = test
        .wait_for("town", "a node whose user is refused", |seen| {
            let nodes = &seen.status.as_ref()?.nodes;
            let clerk = nodes.iter().find(|node| node.name == "clerk")?;
            (clerk.reason.as_deref() == Some("ContainerConfig")).then_some(())
        })
        .await;
    let message = node(&refused, "clerk").message.expect("a message");
    assert!(message.contains("runAsNonRoot"), "{message}");
}

#[tokio::test]
async fn what_a_platform_says_of_pods_is_on_every_workload() {
    let test = TestNamespace::new("marked").await;
    let _rollout = test.pods_become_ready();
    test.platform(json!({"pods": {
        "securityLevel": "Restricted",
        "tolerations": [{"key": "dedicated", "value": "apps", "effect": "NoSchedule"}],
        "labels": {"example.org/team": "apps", "app.kubernetes.io/name": "another"},
        "annotations": {"example.org/note": "yes"},
    }}))
    .await;
    let _operator = test.operator().await.platform(&test.name).start();
    test.install_town(&test.one_of_each().await).await;
    let clerk = names::workload("town", "clerk");
    let clerk = test.api::<Deployment>().get(&clerk).await;
    let clerk = clerk.expect("the Deployment");
    let template = clerk.spec.clone().expect("a spec").template;
    for metadata in [
        &clerk.metadata,
        template.metadata.as_ref().expect("metadata"),
    ] {
        let labels = metadata.labels.as_ref().expect("labels");
        assert_eq!(labels["example.org/team"], "apps");
        assert_eq!(labels["app.kubernetes.io/name"], SLUG);
        let annotations = metadata.annotations.as_ref().expect("annotations");
        assert_eq!(annotations["example.org/note"], "yes");
    }
    let pod = template.spec.expect("a spec");
    let tolerated = pod.tolerations.expect("tolerations");
    assert_eq!(tolerated[0].operator.as_deref(), Some("Equal"));
    let hardened = pod.containers[0].security_context.as_ref();
    assert_eq!(
        hardened.and_then(|context| context.allow_privilege_escalation),
        Some(false)
    );
}

#[tokio::test]
async fn a_change_of_the_platform_waits_for_an_explicit_update() {
    let test = TestNamespace::new("platform").await;
    let _rollout = test.pods_become_ready();
    test.platform(json!({})).await;
    let _operator = test.operator().await.platform(&test.name).start();
    test.install_town(&test.one_of_each().await).await;
    let change = json!({"spec": {"networkPolicy": "Disabled"}});
    Api::<Platform>::all(test.client())
        .patch(&test.name, &PatchParams::default(), &Patch::Merge(change))
        .await
        .expect("the Platform changes");
    let told = test
        .wait_for_condition("town", ConditionType::UpdateAvailable, "True")
        .await;
    assert_eq!(
        condition(&told, ConditionType::UpdateAvailable).1,
        "PinnedChanged"
    );
    assert_eq!(test.list::<NetworkPolicy>().await.len(), 4);

    test.merge("town", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    eventually("the policies to go", async || {
        test.list::<NetworkPolicy>().await.is_empty().then_some(())
    })
    .await;
}
