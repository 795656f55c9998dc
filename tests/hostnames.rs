//! Public host names: chosen ones, who may use which domain, and that of two Installations one has a host name.

mod support;

use gateway_api::httproutes::HttpRoute;
use installation_operator::api::Installation;
use installation_operator::api::condition::ConditionType;
use installation_operator::api::names::{self, HOSTNAME_ANNOTATION, Precious, hostname_claim};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use support::install::object;
use support::wait::eventually;
use support::{Moment, TestNamespace};

/// A host name that no other test claims: a cluster has each once.
fn hostname(test: &TestNamespace, label: &str) -> String {
    format!("{label}.{}.example.org", test.name)
}

/// A Platform for `test` whose domain is the one of `home`.
async fn offer(test: &TestNamespace, home: &TestNamespace) {
    test.platform(json!({"edge": {
        "domains": [
            {"domain": format!("{}.example.org", home.name)},
            {"domain": "kept.example.org", "namespaces": ["somebody-else"]},
        ],
        "gateway": {"name": "edge", "namespace": "gateway-system"},
    }}))
    .await;
}

async fn wiki(test: &TestNamespace, hostname: &str) -> Installation {
    let item = test.item().await.public();
    let chosen = json!({"web": {"http": hostname}});
    item.installation("wiki").with("hostnames", chosen).build()
}

/// The host names of the routes of `test`.
async fn routed(test: &TestNamespace) -> Vec<String> {
    let routes = test.list::<HttpRoute>().await.into_iter();
    routes
        .flat_map(|route| route.spec.hostnames.unwrap_or_default())
        .collect()
}

/// The host names that are claimed in the operator's namespace `home`.
async fn claimed(home: &TestNamespace) -> Vec<String> {
    let secrets = home.list::<Secret>().await.into_iter();
    let claims = secrets.filter(|secret| secret.type_ == Some(Precious::Hostname.secret_type()));
    let mut claimed: Vec<String> = claims
        .map(|claim| claim.annotations()[HOSTNAME_ANNOTATION].clone())
        .collect();
    claimed.sort();
    claimed
}

/// What the Installation waits for, and its messages.
fn deferred(installation: &Installation) -> (Vec<&str>, String) {
    let deferred = installation
        .status
        .iter()
        .flat_map(|status| &status.deferred);
    let missing = deferred.clone().map(|found| found.missing.as_str());
    let messages: Vec<&str> = deferred
        .filter_map(|found| found.message.as_deref())
        .collect();
    (missing.collect(), messages.join("\n"))
}

#[tokio::test]
async fn a_chosen_host_name_is_used_where_the_namespace_may_use_its_domain() {
    let test = TestNamespace::new("chosen").await;
    let _operator = test.operator().await.platform(&test.name).start();
    offer(&test, &test).await;
    test.create(&wiki(&test, "wiki.kept.example.org").await)
        .await;
    let refused = test
        .wait_for_reason("wiki", ConditionType::Reconciling, "Incomplete")
        .await;
    let (missing, message) = deferred(&refused);
    assert_eq!(missing, ["domain:wiki.kept.example.org"]);
    let allowed = format!("is or is below {}.example.org", test.name);
    assert!(message.contains(&allowed), "{message}");
    assert_eq!(claimed(&test).await, [""; 0]);

    let first = hostname(&test, "wiki");
    test.merge(
        "wiki",
        json!({"spec": {"hostnames": {"web": {"http": first}}}}),
    )
    .await;
    test.wait_until_materialized("wiki").await;
    assert_eq!(routed(&test).await, [&*first]);
    assert_eq!(claimed(&test).await, [first]);

    let second = hostname(&test, "another");
    test.merge(
        "wiki",
        json!({"spec": {"hostnames": {"web": {"http": second}}}}),
    )
    .await;
    eventually("the second host name alone", async || {
        let only = [second.clone()];
        (routed(&test).await == only && claimed(&test).await == only).then_some(())
    })
    .await;

    // Without a choice it has a name of its own again.
    test.merge("wiki", json!({"spec": {"hostnames": Value::Null}}))
        .await;
    eventually("a host name of its own", async || {
        let claimed = claimed(&test).await;
        (claimed.len() == 1 && claimed[0].starts_with("wiki-web-http-")).then_some(())
    })
    .await;
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    assert_eq!(claimed(&test).await, [""; 0]);
}

#[tokio::test]
async fn of_two_installations_in_two_namespaces_one_has_a_host_name() {
    let home = TestNamespace::new("host-race").await;
    let (left, right) = (
        TestNamespace::new("host-race-l").await,
        TestNamespace::new("host-race-r").await,
    );
    let wanted = hostname(&home, "wiki");
    for test in [&left, &right] {
        offer(test, &home).await;
        test.create(&wiki(test, &wanted).await).await;
    }
    let launches = (
        left.operator_living_in(&home).await.platform(&left.name),
        right.operator_living_in(&home).await.platform(&right.name),
    );
    let _operators = (launches.0.start(), launches.1.start());
    let settled = async |test: &TestNamespace| {
        let found = test
            .wait_for("wiki", "an end of the race", |seen| {
                let status = seen.status.as_ref()?;
                status.resolution.as_ref().map(|_| ())
            })
            .await;
        found.status.and_then(|status| status.resolution)
    };
    let ends = (settled(&left).await, settled(&right).await);
    let (winner, loser) = match (ends.0.as_deref(), ends.1.as_deref()) {
        (Some("VALID"), Some("INCOMPLETE")) => (&left, &right),
        (Some("INCOMPLETE"), Some("VALID")) => (&right, &left),
        other => panic!("no one winner: {other:?}"),
    };
    let told = loser
        .wait_for_reason("wiki", ConditionType::Reconciling, "Incomplete")
        .await;
    let (missing, message) = deferred(&told);
    assert_eq!(missing, [format!("hostname:{wanted}")]);
    assert!(
        message.contains(&hostname_claim(&wanted)) && !message.contains(&winner.name),
        "{message}"
    );
    assert_eq!(loser.list::<HttpRoute>().await.len(), 0);
    assert_eq!(claimed(&home).await, [&*wanted]);

    winner.delete("wiki").await;
    winner.wait_until_gone("wiki").await;
    loser.wait_until_materialized("wiki").await;
    assert_eq!(routed(loser).await, [wanted]);
}

#[tokio::test]
async fn who_comes_back_to_a_host_name_that_somebody_else_has_by_then_waits_and_keeps_the_others() {
    let home = TestNamespace::new("host-back").await;
    let other = TestNamespace::new("host-back-o").await;
    let wanted = hostname(&home, "wiki");
    for test in [&home, &other] {
        offer(test, &home).await;
    }
    let launches = (
        home.operator_living_in(&home).await.platform(&home.name),
        other.operator_living_in(&home).await.platform(&other.name),
    );
    let _operators = (launches.0.start(), launches.1.start());
    let own = hostname(&home, "admin");
    let item = home.item().await.public();
    let item = item
        .edited(
            "blueprint.yaml",
            "http: PUBLIC",
            "http: PUBLIC, admin: PUBLIC",
        )
        .edited(
            "web.yaml",
            "    endpoints:\n",
            "    endpoints:\n      admin: { targetPort: 8081, protocol: HTTP }\n",
        );
    let chosen = json!({"web": {"http": wanted, "admin": own}});
    let text = item.installation("wiki").with("hostnames", chosen).build();
    home.create(&text).await;
    home.wait_until_materialized("wiki").await;
    home.delete("wiki").await;
    home.wait_until_gone("wiki").await;
    other.create(&wiki(&other, &wanted).await).await;
    other.wait_until_materialized("wiki").await;

    home.create(&text).await;
    let waiting = home
        .wait_for("wiki", "the host name to be waited for", |seen| {
            let status = seen.status.as_ref()?;
            (status.record.is_some() && !status.deferred.is_empty()).then_some(())
        })
        .await;
    assert_eq!(deferred(&waiting).0, [format!("hostname:{wanted}")]);
    home.wait_until_quiet().await;
    assert_eq!(routed(&home).await, [&*own]);
    assert_eq!(claimed(&home).await, [&*own, &*wanted]);
    let found = home.api::<Installation>().get("wiki").await.expect("it");
    let endpoints = found.status.expect("a status").endpoints;
    let public = endpoints
        .iter()
        .filter_map(|endpoint| endpoint.public_address.as_ref());
    let public: Vec<&String> = public.collect();
    assert_eq!(public, [&format!("https://{own}")]);

    other.delete("wiki").await;
    other.wait_until_gone("wiki").await;
    eventually("the route to be back", async || {
        let mut routed = routed(&home).await;
        routed.sort();
        (routed == [&*own, &*wanted]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_host_name_is_kept_over_restarts_and_found_again_after_a_restore() {
    let test = TestNamespace::new("host-kept").await;
    let mut operator = test.operator().await.platform(&test.name).start();
    offer(&test, &test).await;
    let wanted = hostname(&test, "wiki");
    let installation = wiki(&test, &wanted).await;
    test.create(&installation).await;
    test.wait_until_materialized("wiki").await;

    let claims = test.api::<Secret>();
    let uid = async || claims.get(&hostname_claim(&wanted)).await.ok()?.uid();
    let before = uid().await.expect("a claim");
    operator.restart();
    test.merge(
        "wiki",
        json!({"spec": {"parameters": {"siteTitle": {"value": "Another"}}}}),
    )
    .await;
    test.wait_until_materialized("wiki").await;
    assert_eq!(uid().await.as_ref(), Some(&before));

    // A claim that is lost is made again while its holder runs.
    claims
        .delete(&hostname_claim(&wanted), &DeleteParams::default())
        .await
        .expect("deleted");
    let again = eventually("the claim again", async || {
        uid().await.filter(|uid| *uid != before)
    })
    .await;

    // As after a restore of the operator's namespace: the claim is there, and its holder comes back as another object.
    operator.kill();
    let free: Patch<Value> = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    test.api::<Installation>()
        .patch("wiki", &PatchParams::default(), &free)
        .await
        .expect("patched");
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    test.create(&installation).await;
    operator.restart();
    test.wait_until_materialized("wiki").await;
    assert_eq!(uid().await, Some(again));
}

#[tokio::test]
async fn a_claim_that_a_crash_left_is_let_go_with_the_spec_that_wanted_it() {
    let test = TestNamespace::new("host-crash").await;
    offer(&test, &test).await;
    let launch = test.operator().await.platform(&test.name);
    let launch = launch.through_proxy(&test).await;
    // After the finalizer, the identity's claim and the word of it, and the credential.
    launch.kill_at(Moment::After(5));
    let mut operator = launch.start();
    let (first, second) = (hostname(&test, "first"), hostname(&test, "second"));
    test.create(&wiki(&test, &first).await).await;
    operator.ended().await;
    assert_eq!(claimed(&test).await, [first]);
    assert_eq!(test.stock().await.of(Precious::Source).len(), 0);

    test.merge(
        "wiki",
        json!({"spec": {"hostnames": {"web": {"http": second}}}}),
    )
    .await;
    operator.restart();
    test.wait_until_materialized("wiki").await;
    assert_eq!(claimed(&test).await, [second]);
}

#[tokio::test]
async fn a_host_name_is_held_for_as_long_as_a_route_has_it() {
    let test = TestNamespace::new("host-routed").await;
    offer(&test, &test).await;
    let mut operator = test.operator().await.platform(&test.name).start();
    let (first, second) = (hostname(&test, "first"), hostname(&test, "second"));
    test.create(&wiki(&test, &first).await).await;
    test.wait_until_materialized("wiki").await;

    // A stranger's Deployment stops the next record before its routes are made.
    operator.kill();
    let web = names::workload("wiki", "web");
    let deployments = test.api::<Deployment>();
    let mut stranger = deployments.get(&web).await.expect("it");
    deployments
        .delete(&web, &DeleteParams::background())
        .await
        .expect("it goes");
    stranger.metadata = ObjectMeta {
        name: Some(web.clone()),
        ..ObjectMeta::default()
    };
    test.create(&stranger).await;
    let moved = json!({"spec": {"hostnames": {"web": {"http": second}}}});
    test.merge("wiki", moved).await;
    operator.restart();
    test.wait_until_stalled("wiki", "ForeignObject").await;
    assert_eq!(routed(&test).await, [&*first]);
    assert_eq!(claimed(&test).await, [&*first, &*second]);

    deployments
        .delete(&web, &DeleteParams::background())
        .await
        .expect("it goes");
    test.merge("wiki", json!({"spec": {"historyLimit": 9}}))
        .await;
    test.wait_until_materialized("wiki").await;
    eventually("the old host name to be let go", async || {
        (claimed(&test).await == [&*second]).then_some(())
    })
    .await;
    assert_eq!(routed(&test).await, [second]);
}

#[tokio::test]
async fn what_stands_under_the_name_of_a_claim_and_is_none_is_left_alone() {
    let test = TestNamespace::new("host-foreign").await;
    let _operator = test.operator().await.platform(&test.name).start();
    offer(&test, &test).await;
    let wanted = hostname(&test, "wiki");
    let strange: Secret = object(json!({"metadata": {"name": hostname_claim(&wanted)}}));
    test.create(&strange).await;
    test.create(&wiki(&test, &wanted).await).await;
    test.wait_until_stalled("wiki", "ForeignObject").await;
}
