//! The chart, installed by Helm on a real cluster: its operator is let in by the `restricted` pod security level, has enough
//! permissions to bring an Installation to Ready, and leaves behind what is not its own to delete.

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::{ComputeProfile, Installation};
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use support::helm::{CHART, RELEASE};
use support::image::{self, Image};
use support::wait::{condition, eventually};
use support::{Cluster, TestNamespace};

impl TestNamespace {
    /// How many replicas of the operator there are and how many are ready.
    async fn replicas(&self) -> (usize, i32) {
        let pods = self.list::<Pod>().await;
        let alive = pods
            .iter()
            .filter(|pod| pod.metadata.deletion_timestamp.is_none());
        let deployment = self.api::<Deployment>().get(RELEASE).await;
        let status = deployment.expect("the Deployment").status;
        let ready = status.and_then(|status| status.ready_replicas);
        (alive.count(), ready.unwrap_or_default())
    }
}

/// What the chart ships stands in the cluster of these tests already, made by other ones: the definitions stay, roles and
/// policy are taken over, and profiles, whose versions never change, make room.
async fn make_room(cluster: &Cluster) {
    let profiles: Api<ComputeProfile> = Api::all(cluster.client.clone());
    let found = profiles.list(&ListParams::default()).await;
    for profile in found.expect("profiles") {
        let name = profile.name_any();
        let gone = profiles.delete(&name, &DeleteParams::default()).await;
        gone.expect("the profile goes");
    }
}

fn values(image: &Image) -> Vec<String> {
    let Image {
        repository,
        tag,
        digest,
        ..
    } = image;
    vec![
        format!("--set=image.repository={repository},image.tag={tag},image.digest={digest}"),
        "--set=log.level=debug".to_owned(),
    ]
}

#[tokio::test]
async fn helm_installs_upgrades_and_uninstalls_an_operator_that_works() {
    let test = TestNamespace::new("chart").await;
    if test.lacks_node() {
        return;
    }
    let home = TestNamespace::new("operators").await;
    home.enforce_restricted().await;
    let image = image::operator().await;
    make_room(&test.cluster).await;
    let release = home.release().await;

    let values = values(&image);
    let lint = ["--strict", CHART].map(str::to_owned);
    release
        .run("lint", lint.into_iter().chain(values.clone()))
        .await;
    let taking_over = ["--take-ownership", "--force-conflicts"];
    let install = [RELEASE, CHART, "--wait"].into_iter().chain(taking_over);
    release
        .run("install", install.map(str::to_owned).chain(values))
        .await;
    assert_eq!(home.replicas().await, (2, 2));

    // Its profile is the chart's: the item's own gives way to one that is there.
    let wiki = test.item().await.installation("wiki").build();
    test.create(&wiki).await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;

    let upgrade = [RELEASE, CHART, "--reuse-values", "--wait", "--set"].map(str::to_owned);
    let change = format!("replicas=1,watchNamespace={}", test.name);
    release
        .run("upgrade", upgrade.into_iter().chain([change]))
        .await;
    eventually("one replica", async || {
        (home.replicas().await == (1, 1)).then_some(())
    })
    .await;
    let title = json!({"spec": {"parameters": {"siteTitle": {"value": "Another title"}}}});
    test.merge("wiki", title).await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;

    let workloads = test.deployments().await.len();
    release.run("uninstall", [RELEASE, "--wait"]).await;
    let gone = home.api::<Deployment>().get_opt(RELEASE).await;
    assert_eq!(gone.expect("an answer"), None);
    let definitions: Api<CustomResourceDefinition> = Api::all(test.client());
    for definition in installation_operator::api::crd::all() {
        let name = definition.name_any();
        definitions.get(&name).await.expect("the definition stays");
    }
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(test.client());
    let policy = policies.get("precious-secrets.install.musher.dev").await;
    policy.expect("what outlives the operator stays protected");
    let wiki = test.api::<Installation>().get("wiki").await;
    let wiki = wiki.expect("the Installation stays");
    assert_eq!(condition(&wiki, ConditionType::Ready).0, "True");
    assert_eq!(test.deployments().await.len(), workloads);
}
