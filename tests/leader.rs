//! Replicas take turns: one acts, the others wait; a leader that stops hands over at once, one that dies is followed when
//! its Lease has run out, and one that loses its Lease ends.

mod support;

use std::time::Duration;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::names;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use support::wait::eventually;
use support::{Operator, TestNamespace};
use tokio::time::Instant;

/// How long a Lease holds that nobody renews, and a try more.
const RUN_OUT: Duration = Duration::from_secs(15 + 4);
/// A few tries.
const AT_ONCE: Duration = Duration::from_secs(6);

impl TestNamespace {
    /// One more replica of this namespace's operator.
    async fn replica(&self) -> Operator {
        // The same ServiceAccount for all of them, as in production.
        self.principal("operator", &["installation-operator-home"])
            .await;
        let options = ["--leader-elect"];
        self.operator().await.options(options).start()
    }

    /// A leader and a replica that waits.
    async fn two_replicas(&self) -> (Operator, Operator) {
        let leader = self.replica().await;
        eventually("a replica to lead", async || leads(&leader)).await;
        let other = self.replica().await;
        eventually("the other one to wait", async || {
            other.log().contains("waiting").then_some(())
        })
        .await;
        (leader, other)
    }

    fn lease(&self) -> String {
        names::lease(Some(&self.name))
    }

    async fn holder(&self) -> String {
        let lease = self.api::<Lease>().get(&self.lease()).await;
        let spec = lease.expect("the Lease").spec.expect("a spec");
        spec.holder_identity.expect("a holder")
    }

    async fn update_title(&self, title: &str) {
        let change = json!({"spec": {"parameters": {"siteTitle": {"value": title}}}});
        self.merge("wiki", change).await;
        self.wait_for_condition("wiki", ConditionType::Resolved, "True")
            .await;
    }
}

fn leads(operator: &Operator) -> Option<()> {
    operator.log().contains("leading").then_some(())
}

/// Reconciles are logged by the object that they are about.
fn has_acted(operator: &Operator) -> bool {
    operator.log().contains("reconciling object")
}

#[tokio::test]
async fn one_replica_acts_and_a_leader_that_is_stopped_hands_over_at_once() {
    let test = TestNamespace::new("turns").await;
    let (leader, other) = test.two_replicas().await;
    test.install_wiki().await;
    assert!(has_acted(&leader));
    assert!(!has_acted(&other), "{}", other.log());

    let stopped = Instant::now();
    assert!(leader.stop().await.success());
    eventually("the other one to lead", async || leads(&other)).await;
    assert!(stopped.elapsed() < AT_ONCE, "{:?}", stopped.elapsed());
    test.update_title("Another title").await;
    assert!(has_acted(&other));
}

#[tokio::test]
async fn a_leader_that_dies_is_followed_when_its_lease_has_run_out() {
    let test = TestNamespace::new("dies").await;
    let (leader, other) = test.two_replicas().await;
    let former = test.holder().await;
    leader.kill();
    let killed = Instant::now();
    eventually("the other one to lead", async || leads(&other)).await;
    assert!(killed.elapsed() < RUN_OUT, "{:?}", killed.elapsed());
    assert_ne!(test.holder().await, former);
    test.install_wiki().await;
}

#[tokio::test]
async fn a_leader_whose_lease_another_one_has_taken_ends() {
    let test = TestNamespace::new("taken").await;
    let leader = test.replica().await;
    eventually("a replica to lead", async || leads(&leader)).await;
    let taken = json!({"spec": {"holderIdentity": "somebody-else"}});
    let leases = test.api::<Lease>();
    leases
        .patch(&test.lease(), &PatchParams::default(), &Patch::Merge(taken))
        .await
        .expect("the Lease changes hands");
    assert_eq!(leader.ended().await.code(), Some(2));
    let log = leader.log();
    assert!(log.contains("somebody-else has taken Lease"), "{log}");
    assert_eq!(test.holder().await, "somebody-else");
}

#[tokio::test]
async fn a_leader_that_cannot_renew_ends_before_its_lease_has_run_out() {
    let test = TestNamespace::new("cut-off").await;
    let leader = test.replica().await;
    eventually("a replica to lead", async || leads(&leader)).await;
    let bindings = test.api::<RoleBinding>();
    bindings
        .delete(
            "installation-operator-home-operator",
            &DeleteParams::default(),
        )
        .await
        .expect("the binding goes");
    let cut = Instant::now();
    assert_eq!(leader.ended().await.code(), Some(2));
    assert!(cut.elapsed() < Duration::from_secs(15));
    let log = leader.log();
    assert!(log.contains("could not be renewed for 10 s"), "{log}");
}

#[tokio::test]
async fn whoever_leads_or_waits_is_ready_and_without_an_api_server_alive_at_least() {
    let test = TestNamespace::new("health").await;
    let options = ["--leader-elect"];
    test.principal("operator", &["installation-operator-home"])
        .await;
    let mut replicas = Vec::new();
    for role in ["leading", "waiting"] {
        let port = free_port();
        let launch = test.operator().await.options(options);
        let replica = launch.options(["--health-port", &port.to_string()]).start();
        let what = format!("the {role} replica to be ready");
        eventually(&what, async || {
            (get(port, "/readyz").await? == 200).then_some(())
        })
        .await;
        assert!(replica.log().contains(role), "{}", replica.log());
        replicas.push(replica);
    }

    let port = free_port();
    let nowhere = "https://127.0.0.1:1";
    let launch = test.operator().await.options(options).at(&test, nowhere);
    let _cut_off = launch.options(["--health-port", &port.to_string()]).start();
    eventually("the replica to be alive", async || {
        (get(port, "/healthz").await? == 200).then_some(())
    })
    .await;
    assert_eq!(get(port, "/readyz").await, Some(503));
}

/// A port that nobody listens at now.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// The status of `GET path`, if there is an answer.
async fn get(port: u16, path: &str) -> Option<u16> {
    support::edge::fetch(&format!("127.0.0.1:{port}"), "operator", path)
        .await
        .map(|(status, _)| status)
}
