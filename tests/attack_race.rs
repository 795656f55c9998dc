//! Two operators at once, and two Installations at once: whoever comes second finds what the first has made.

mod support;

use std::collections::BTreeSet;

use futures::StreamExt as _;
use installation_operator::api::Installation;
use installation_operator::api::condition::ConditionType;
use installation_operator::api::names::VERSION_LABEL;
use kube::ResourceExt as _;
use serde_json::json;
use support::item::PASSWORD;
use support::wait::{condition, eventually};
use support::{Counts, ONE_INSTALL, TestNamespace};

#[tokio::test]
async fn two_operators_make_one_of_everything() {
    let rounds = futures::stream::iter((1..=5).map(race));
    rounds.buffer_unordered(5).collect::<()>().await;
}

async fn race(round: u32) {
    let test = TestNamespace::new("race").await;
    let (one, other) = (test.operator().await, test.operator().await);
    // In turn they find the Installation when they start, and are there before it.
    let running = if round.is_multiple_of(2) {
        let running = [one.start(), other.start()];
        test.wait_until_quiet().await;
        test.install_wiki().await;
        running
    } else {
        let wiki = test.item().await.installation("wiki").build();
        test.create(&wiki).await;
        let running = [one.start(), other.start()];
        test.wait_until_materialized("wiki").await;
        running
    };
    test.wait_until_quiet().await;
    assert_eq!(test.stock().await.counts(), ONE_INSTALL, "round {round}");

    for title in ["Second", "Third"] {
        let change = json!({"spec": {"parameters": {"siteTitle": {"value": title}}}});
        test.merge("wiki", change).await;
        test.wait_until_materialized("wiki").await;
    }
    test.wait_until_quiet().await;
    let stock = test.stock().await;
    let expected = Counts {
        snapshots: 3,
        records: 3,
        ..ONE_INSTALL
    };
    assert_eq!(stock.counts(), expected, "round {round}");
    let versions: BTreeSet<_> = stock
        .records
        .iter()
        .map(|record| record.labels()[VERSION_LABEL].clone())
        .collect();
    assert_eq!(Vec::from_iter(versions), ["1", "2", "3"], "round {round}");
    test.wait_until_materialized("wiki").await;
    for operator in &running {
        assert!(
            operator.exit_status().is_none(),
            "round {round}: an operator ended"
        );
        assert!(
            !operator.log().contains("panicked"),
            "round {round}: {}",
            operator.log()
        );
    }
}

#[tokio::test]
async fn of_two_installations_of_one_identity_one_wins_and_the_other_follows_it() {
    let test = TestNamespace::new("rivals").await;
    let _operators = [test.operator().await.start(), test.operator().await.start()];
    let item = test.item().await;
    let rival = |name: &str| item.installation(name).identity("shared").build();
    let (left, right) = (rival("left"), rival("right"));
    tokio::join!(test.create(&left), test.create(&right));

    let (winner, loser) = eventually("one to win and the other to lose", async || {
        let left = test.api::<Installation>().get("left").await.ok()?;
        let right = test.api::<Installation>().get("right").await.ok()?;
        let wins = |one: &Installation| condition(one, ConditionType::Materialized).0 == "True";
        match (wins(&left), wins(&right)) {
            (true, true) => panic!("both hold the identity"),
            (true, false) => Some(("left", "right")),
            (false, true) => Some(("right", "left")),
            (false, false) => None,
        }
    })
    .await;
    let stalled = test.wait_until_stalled(loser, "IdentityInUse").await;
    let ready = &stalled.status.expect("a status").conditions[0];
    assert!(ready.message.contains(winner), "{}", ready.message);
    test.wait_until_quiet().await;
    let before = test.stock().await;
    assert_eq!(before.counts(), ONE_INSTALL);

    test.delete(winner).await;
    test.wait_until_gone(winner).await;
    test.wait_until_materialized(loser).await;
    test.wait_for_event(loser, "TakenOver").await;
    let after = test.stock().await;
    // Its workloads have other names and addresses, so it is another version; the credential is the same.
    let expected = Counts {
        snapshots: 2,
        records: 2,
        ..ONE_INSTALL
    };
    assert_eq!(after.counts(), expected);
    assert!(after.password(PASSWORD, 0) == before.password(PASSWORD, 0));
}
