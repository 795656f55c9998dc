//! Persist before use: the operator is killed right before and right after each of its writes. Whatever it had done, a
//! restart finishes the install with one of everything and the credential that was there.

mod support;

use futures::StreamExt as _;
use installation_operator::api::condition::ConditionType;
use installation_operator::api::names;
use support::item::PASSWORD;
use support::{Item, Moment, ONE_INSTALL, TestNamespace};

/// How many namespaces are attacked at once.
const AT_ONCE: usize = 5;

#[tokio::test]
async fn an_install_is_written_in_the_order_of_the_design() {
    let test = TestNamespace::new("order").await;
    let operator = test.operator().await.through_proxy(&test).await.start();
    test.install_wiki().await;
    let (web, db) = (
        names::workload("wiki", "web"),
        names::workload("wiki", "db"),
    );
    // Objects of one kind are applied together, in no order of their own.
    let applied = ["networkpolicies", "services", "deployments"].map(|kind| {
        let mut both = [&db, &web].map(|name| format!("PATCH {kind}/{name}"));
        both.sort();
        both
    });
    let count_version = format!("PUT secrets/{}", names::claim("wiki"));
    let mut written = written(&test, &operator.proxy().writes());
    written[13..19].chunks_mut(2).for_each(<[String]>::sort);
    let expected = [
        "PATCH installations/wiki",
        "POST secrets",             // the claim
        "PATCH installations/wiki", // which held it
        "POST secrets",             // the credential
        "POST secrets",             // three sources
        "POST secrets",
        "POST secrets",
        "POST secrets", // the snapshot
        "POST resolutionrecords",
        &count_version,
        "PATCH installations/wiki/status",
        "POST secrets", // two environments
        "POST secrets",
    ];
    let expected = expected
        .into_iter()
        .chain(applied.as_flattened().iter().map(String::as_str))
        .chain(["PATCH installations/wiki/status"]);
    assert_eq!(written[..20], expected.collect::<Vec<&str>>());
}

#[tokio::test]
async fn killed_right_before_any_write_an_install_resumes() {
    kill_at_each_write(Moment::Before).await;
}

#[tokio::test]
async fn killed_right_after_any_write_an_install_resumes() {
    kill_at_each_write(Moment::After).await;
}

#[tokio::test]
async fn killed_around_any_write_of_an_update_it_resumes() {
    let each = [2, 4, 6]
        .into_iter()
        .flat_map(|number| [Moment::Before(number), Moment::After(number)]);
    let attacks = each.map(kill_while_updating);
    futures::stream::iter(attacks)
        .buffer_unordered(AT_ONCE)
        .collect::<()>()
        .await;
}

async fn kill_at_each_write(moment: fn(usize) -> Moment) {
    let writes = writes_of_an_install().await;
    assert!(writes >= 16, "an install makes {writes} writes");
    let attacks = (1..=writes).map(|number| kill_while_installing(moment(number)));
    let struck: Vec<bool> = futures::stream::iter(attacks)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    // Status is told once or twice at the end, as the Deployments' own status comes in.
    let spared = struck.iter().filter(|struck| !**struck).count();
    assert!(spared <= 1, "{spared} of {writes} writes never came");
}

/// How many writes an install makes that nobody interrupts.
async fn writes_of_an_install() -> usize {
    let test = TestNamespace::new("crash-none").await;
    let operator = test.operator().await.through_proxy(&test).await.start();
    test.install_wiki().await;
    operator.proxy().writes().len()
}

/// Says whether the moment came.
async fn kill_while_installing(moment: Moment) -> bool {
    let test = TestNamespace::new("crash").await;
    let mut operator = {
        let launch = test.operator().await.through_proxy(&test).await;
        launch.kill_at(moment);
        launch.start()
    };
    test.create(&Item::new(&test.cluster).await.installation("wiki").build())
        .await;
    let struck = has_ended(&test, &operator).await;
    let before = test.stock().await.password(PASSWORD, 0);

    operator.restart();
    test.wait_until_materialized("wiki").await;
    test.wait_until_quiet().await;
    let after = test.stock().await;
    assert_eq!(after.counts(), ONE_INSTALL, "{moment:?}");
    let password = after.password(PASSWORD, 0).expect("a password");
    if let Some(before) = before {
        assert!(password == before, "{moment:?}: another password");
    }
    assert_eq!(test.deployments().await.len(), 2, "{moment:?}");
    let environments = test.environments().await;
    assert_eq!(environments.len(), 2, "{moment:?}");
    for environment in environments.values() {
        let values = environment.data.iter().flatten();
        let passwords = values.filter(|(name, _)| name.ends_with("PASSWORD"));
        for (name, value) in passwords {
            assert!(
                value.0 == password.as_bytes(),
                "{moment:?}: {name} is another"
            );
        }
    }
    struck
}

async fn kill_while_updating(moment: Moment) {
    let test = TestNamespace::new("crash-update").await;
    let mut operator = test.operator().await.through_proxy(&test).await.start();
    test.install_wiki().await;
    test.wait_until_quiet().await;
    let password = test.stock().await.password(PASSWORD, 0);

    operator.proxy().kill_at(moment);
    let titled =
        serde_json::json!({"spec": {"parameters": {"siteTitle": {"value": "Another title"}}}});
    test.merge("wiki", titled).await;
    operator.ended().await;
    operator.restart();
    test.wait_until_materialized("wiki").await;
    let stock = test.stock().await;
    let expected = support::Counts {
        snapshots: 2,
        records: 2,
        ..ONE_INSTALL
    };
    assert_eq!(stock.counts(), expected, "{moment:?}");
    assert!(
        stock.password(PASSWORD, 0) == password,
        "{moment:?}: another password"
    );
}

/// Waits until the operator has been killed, or has done everything and has not been.
async fn has_ended(test: &TestNamespace, operator: &support::Operator) -> bool {
    support::wait::eventually("the operator to be killed or done", async || {
        if operator.exit_status().is_some() {
            return Some(true);
        }
        let spec = test
            .api::<installation_operator::api::Installation>()
            .get("wiki")
            .await
            .ok()?;
        let (status, _) = support::wait::condition(&spec, ConditionType::Materialized);
        (status == "True").then_some(())?;
        test.wait_until_quiet().await;
        operator.exit_status().is_none().then_some(false)
    })
    .await
}

fn written(test: &TestNamespace, writes: &[support::proxy::Write]) -> Vec<String> {
    let inside = format!("/namespaces/{}/", test.name);
    let line = |write: &support::proxy::Write| {
        let (_, what) = write.path.split_once(&inside).unwrap_or(("", &write.path));
        format!("{} {what}", write.method)
    };
    writes.iter().map(line).collect()
}
