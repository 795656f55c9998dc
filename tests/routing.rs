//! PUBLIC endpoints, end to end: a host name, a route that the gateway accepts, and the page through it.

mod support;

use gateway_api::httproutes::HttpRoute;
use installation_operator::api::Installation;
use installation_operator::api::condition::ConditionType;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::{Value, json};
use support::TestNamespace;
use support::wait::eventually;

const DOMAIN: &str = "apps.example.org";

impl TestNamespace {
    async fn install_public_wiki(&self, edge: Value) -> Installation {
        self.platform(json!({"edge": edge})).await;
        let wiki = self.item().await.public().installation("wiki").build();
        self.create(&wiki).await;
        self.wait_for_condition("wiki", ConditionType::Ready, "True")
            .await
    }

    /// Waits until the gateway serves the wiki for `host`.
    async fn wait_for_page(&self, host: &str) {
        eventually("the page through the gateway", async || {
            let (status, body) = self.fetch(host, "/healthz").await?;
            (status == 200 && body.contains("ok")).then_some(())
        })
        .await;
    }
}

/// The host name that status tells of.
fn host(wiki: &Installation) -> String {
    let endpoints = wiki.status.iter().flat_map(|status| &status.endpoints);
    let address = endpoints
        .into_iter()
        .find_map(|endpoint| endpoint.public_address.clone());
    let address = address.expect("a public address");
    let host = address.strip_prefix("http://").expect("a URL");
    assert!(host.ends_with(DOMAIN), "{host}");
    host.to_owned()
}

#[tokio::test]
async fn a_page_is_served_through_the_gateway_by_its_host_name() {
    let test = TestNamespace::new("gateway").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.platform(&test.name).start();
    let wiki = test
        .install_public_wiki(json!({
            "domains": [{"domain": DOMAIN}],
            "scheme": "http",
            "gateway": {"name": "edge", "namespace": "gateway-system"},
        }))
        .await;
    test.wait_for_page(&host(&wiki)).await;
    let another = test.fetch(&format!("another.{DOMAIN}"), "/healthz").await;
    assert_eq!(another.map(|(status, _)| status), Some(404));

    let private = test.item().await;
    test.merge(
        "wiki",
        json!({"spec": {"blueprint": {"inline": {"files": private.files}}}}),
    )
    .await;
    eventually("the route to go with its exposure", async || {
        test.list::<HttpRoute>().await.is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_page_is_served_through_an_ingress_controller_by_its_host_name() {
    let test = TestNamespace::new("ingress").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.platform(&test.name).start();
    let wiki = test
        .install_public_wiki(json!({
            "domains": [{"domain": DOMAIN}],
            "scheme": "http",
            "ingress": {"className": "test"},
        }))
        .await;
    test.wait_for_page(&host(&wiki)).await;
    assert_eq!(test.list::<Ingress>().await.len(), 1);
}

#[tokio::test]
async fn a_public_endpoint_waits_for_an_edge_and_goes_on_when_there_is_one() {
    let test = TestNamespace::new("edge").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.platform(&test.name).start();
    let wiki = test.item().await.public().installation("wiki").build();
    test.create(&wiki).await;
    test.wait_for_reason("wiki", ConditionType::Reconciling, "Incomplete")
        .await;
    test.platform(json!({"edge": {
        "domains": [{"domain": DOMAIN}],
        "scheme": "http",
        "gateway": {"name": "edge", "namespace": "gateway-system"},
    }}))
    .await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
}
