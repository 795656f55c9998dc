//! Wall clocks that are wrong, by libfaketime around the real program: who may take a Lease is for no clock but the
//! monotonic one to say, and nothing precious depends on what time it is.

mod support;

use std::time::Duration;

use installation_operator::api::names;
use k8s_openapi::api::coordination::v1::Lease;
use serde_json::json;
use support::item::PASSWORD;
use support::operator::Clock;
use support::wait::eventually;
use support::{Counts, ONE_INSTALL, Operator, TestNamespace};
use tokio::time::Instant;

/// How long a Lease holds that nobody renews, and a try more.
const RUN_OUT: Duration = Duration::from_secs(15 + 4);

impl TestNamespace {
    async fn replica(&self, clock: Clock) -> Operator {
        self.principal("operator", &["installation-operator-home"])
            .await;
        let launch = self.operator().await.options(["--leader-elect"]);
        launch.clock(clock).through_proxy(self).await.start()
    }

    async fn holder(&self) -> Option<String> {
        let name = names::lease(Some(&self.name));
        let lease = self.api::<Lease>().get(&name).await.ok()?;
        lease.spec?.holder_identity
    }
}

#[tokio::test]
async fn a_lease_changes_hands_by_nobodys_wall_clock() {
    let (Some(late), Some(early)) = (Clock::wrong_by("-400d"), Clock::wrong_by("+400d")) else {
        return;
    };
    let test = TestNamespace::new("clocks").await;
    // What it writes ran out long ago by the other one's clock.
    let leader = test.replica(late).await;
    eventually("a replica to lead", async || test.holder().await).await;
    let other = test.replica(early).await;
    eventually("the other one to wait", async || {
        other.log().contains("waiting").then_some(())
    })
    .await;
    let first = test.holder().await;
    tokio::time::sleep(RUN_OUT).await;
    assert_eq!(test.holder().await, first, "it was taken from who holds it");

    leader.kill();
    let killed = Instant::now();
    eventually("the other one to lead", async || {
        other.log().contains("leading").then_some(())
    })
    .await;
    assert!(killed.elapsed() < RUN_OUT, "{:?}", killed.elapsed());
    test.install_wiki().await;
    assert_eq!(test.stock().await.counts(), ONE_INSTALL);
}

#[tokio::test]
async fn an_operator_of_another_year_makes_nothing_anew() {
    let (Some(late), Some(early)) = (Clock::wrong_by("-400d"), Clock::wrong_by("+400d")) else {
        return;
    };
    let test = TestNamespace::new("years").await;
    let launch = test.operator().await.clock(early);
    let future = launch.through_proxy(&test).await.start();
    test.install_wiki().await;
    test.wait_until_quiet().await;
    future.kill();
    let before = test.stock().await;

    let mark = test.cluster.audit_mark();
    let launch = test.operator().await.clock(late);
    let _past = launch.through_proxy(&test).await.start();
    test.wait_until_looked_at(mark, "wiki").await;
    let written = test.operator_writes_since(mark);
    assert!(written.is_empty(), "{written:?}");
    assert_eq!(test.stock().await.versions(), before.versions());

    let rotated = json!({"spec": {"credentials": {PASSWORD: {"generation": 1}}}});
    test.merge("wiki", rotated).await;
    test.wait_until_materialized("wiki").await;
    let stock = test.stock().await;
    let expected = Counts {
        credentials: 2,
        snapshots: 2,
        records: 2,
        ..ONE_INSTALL
    };
    assert_eq!(stock.counts(), expected);
    assert!(stock.password(PASSWORD, 0) == before.password(PASSWORD, 0));
}
