//! Faults between operator and API server: answers that are lost after the write was done, writes that never arrive,
//! conflicts, errors, throttling, an expired token, watches that end or are out of date, a slow server. Whatever happens
//! on the way, an install ends with one of everything, and nothing is asked for in a storm.

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::Method;
use futures::StreamExt as _;
use installation_operator::api::Installation;
use installation_operator::api::condition::ConditionType;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::DeleteParams;
use serde_json::json;
use support::fault::Rule;
use support::item::{PASSWORD, SLUG};
use support::tap::Watches;
use support::wait::eventually;
use support::{Counts, Fault, Item, NOTHING, ONE_INSTALL, Operator, TestNamespace, installation};
use tokio::time::Instant;

/// How many namespaces are attacked at once.
const AT_ONCE: usize = 5;

/// As many watches as an operator has, or nearly.
const WATCHES: usize = 20;

/// Every kind of write that an install makes, as method and what tells it from others.
fn writes_of_an_install() -> [(Method, &'static str); 13] {
    [
        (Method::PATCH, "install.musher.dev/finalizer"),
        (Method::POST, "\"type\":\"install.musher.dev/claim\""),
        (
            Method::PATCH,
            "\"annotations\":{\"install.musher.dev/claim\"",
        ),
        (Method::POST, "\"type\":\"install.musher.dev/credential\""),
        (Method::POST, "\"type\":\"install.musher.dev/source\""),
        (Method::POST, "\"type\":\"install.musher.dev/snapshot\""),
        (Method::POST, "/resolutionrecords?"),
        (Method::PUT, "/secrets/claim-"),
        (Method::PATCH, "/status?"),
        (Method::POST, "\"name\":\"wiki-web-env-"),
        (Method::PATCH, "/networkpolicies/"),
        (Method::PATCH, "/services/"),
        (Method::PATCH, "/deployments/"),
    ]
}

impl TestNamespace {
    async fn faulty(&self) -> Operator {
        self.operator().await.through_proxy(self).await.start()
    }

    /// The wiki is installed once, and what runs has the one password that there is.
    async fn installed_once(&self, under: &str) {
        self.wait_until_materialized("wiki").await;
        self.wait_until_quiet().await;
        let stock = self.stock().await;
        assert_eq!(stock.counts(), ONE_INSTALL, "{under}");
        let password = stock.password(PASSWORD, 0).expect("a password");
        assert_eq!(self.deployments().await.len(), 2, "{under}");
        let environments = self.environments().await;
        assert_eq!(environments.len(), 2, "{under}");
        let values = environments.values().flat_map(|found| &found.data);
        let passwords = values
            .flatten()
            .filter(|(name, _)| name.ends_with("PASSWORD"));
        for (name, value) in passwords {
            let same = value.0 == password.as_bytes();
            assert!(same, "{under}: {name} is another");
        }
    }

    async fn titled(&self, title: &str) {
        let change = json!({"spec": {"parameters": {"siteTitle": {"value": title}}}});
        self.merge("wiki", change).await;
    }
}

/// Installs the wiki under `rules`, each of which has to strike once.
async fn install_under(rules: Vec<Rule>) {
    let test = TestNamespace::new("faults").await;
    let operator = test.faulty().await;
    let inject = |rule: &Rule| operator.proxy().inject(rule.clone().times(1));
    let struck: Vec<_> = rules.iter().map(inject).collect();
    let wiki = test.item().await.installation("wiki");
    test.create(&wiki.build()).await;
    test.installed_once(&format!("{rules:?}")).await;
    for (rule, struck) in rules.iter().zip(struck) {
        assert_eq!(struck.count(), 1, "{rule:?}: it never came");
    }
}

/// Installs the wiki under `fault` for each kind of write, `together` of them in each install.
async fn install_under_each(fault: Fault, together: usize) {
    let rules = writes_of_an_install().map(|(method, text)| fault.on(method, text));
    let all = rules.chunks(together).map(<[Rule]>::to_vec);
    futures::stream::iter(all.map(install_under))
        .buffer_unordered(AT_ONCE)
        .collect::<()>()
        .await;
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_found_and_never_made_twice() {
    install_under_each(Fault::AnswerLost, 1).await;
}

#[tokio::test]
async fn a_write_that_was_done_and_is_said_to_have_timed_out_is_found_and_never_made_twice() {
    install_under_each(Fault::Misanswered(504), usize::MAX).await;
}

#[tokio::test]
async fn a_write_that_never_arrives_is_made_later() {
    install_under_each(Fault::Unsent, 4).await;
}

#[tokio::test]
async fn a_write_that_is_in_conflict_is_decided_on_again() {
    install_under_each(Fault::Refused(409), 4).await;
}

#[tokio::test]
async fn a_job_whose_every_answer_is_lost_runs_once() {
    for rule in [
        Fault::AnswerLost.on(Method::POST, "/jobs?"),
        Fault::Misanswered(504).on(Method::POST, "/jobs?"),
        Fault::AnswerLost.on(Method::PATCH, "install.musher.dev/jobs"),
        Fault::Refused(500).on(Method::PATCH, "install.musher.dev/jobs"),
    ] {
        let test = TestNamespace::new("lost-job").await;
        let _rollout = test.pods_become_ready();
        let operator = test.faulty().await;
        let mark = test.cluster.audit_mark();
        let under = format!("{rule:?}");
        let struck = operator.proxy().inject(rule.times(2));
        let item = Item::one_of_each(&test.cluster).await;
        let town = installation("town").inline(SLUG, item.files);
        test.create(&town.build()).await;
        test.wait_until_materialized("town").await;
        test.wait_for("town", "the job to be told", |town| {
            town.status.as_ref()?.jobs.get("migrate").map(|_| ())
        })
        .await;
        test.wait_until_quiet().await;
        assert!(struck.count() > 0, "{under}: it never came");
        let made = test.operator_writes_since(mark).into_iter();
        let made = made.filter(|entry| {
            entry.object_ref.resource == "jobs"
                && entry.verb == "create"
                && entry.response_status.code == 201
        });
        assert_eq!(made.count(), 1, "{under}");
        assert_eq!(test.list::<Job>().await.len(), 1, "{under}");
    }
}

#[tokio::test]
async fn a_rotation_whose_answers_are_lost_makes_one_generation_more() {
    let test = TestNamespace::new("lost-rotation").await;
    let operator = test.faulty().await;
    test.install_wiki().await;
    let before = test.stock().await.password(PASSWORD, 0);
    let lost = operator
        .proxy()
        .inject(Fault::AnswerLost.on_writes().with_chance(0.5).times(20));
    let rotated = json!({"spec": {"credentials": {PASSWORD: {"generation": 1}}}});
    test.merge("wiki", rotated).await;
    eventually("the second record", async || {
        (test.stock().await.records.len() == 2).then_some(())
    })
    .await;
    operator.proxy().lift();
    test.wait_until_materialized("wiki").await;
    assert!(lost.count() > 0);
    let stock = test.stock().await;
    let expected = Counts {
        credentials: 2,
        snapshots: 2,
        records: 2,
        ..ONE_INSTALL
    };
    assert_eq!(stock.counts(), expected);
    assert!(stock.password(PASSWORD, 0) == before, "another password");
    assert_ne!(stock.password(PASSWORD, 1), before);
}

#[tokio::test]
async fn a_deletion_whose_answers_are_lost_is_carried_out_as_the_policy_says() {
    for (policy, left) in [("Delete", NOTHING), ("Retain", ONE_INSTALL)] {
        let test = TestNamespace::new("lost-deletion").await;
        let operator = test.faulty().await;
        let wiki = test.item().await.installation("wiki");
        let wiki = wiki.with("deletionPolicy", json!(policy));
        test.create(&wiki.build()).await;
        test.wait_until_materialized("wiki").await;
        test.wait_until_quiet().await;
        // Each of them is lost once, but what is deleted already is not asked for again.
        for text in ["/resolutionrecords/", "/secrets/"] {
            let lost = Fault::AnswerLost.on(Method::DELETE, text);
            operator.proxy().inject(lost.times(2));
        }
        let freed = Fault::AnswerLost.on(Method::PATCH, "finalizers");
        let freed = operator.proxy().inject(freed.times(1));
        test.delete("wiki").await;
        test.wait_until_gone("wiki").await;
        test.wait_until_quiet().await;
        assert_eq!(freed.count(), 1, "{policy}");
        assert_eq!(test.stock().await.counts(), left, "{policy}");
    }
}

#[tokio::test]
async fn an_api_server_that_fails_now_and_then_is_asked_until_it_answers() {
    for code in [500, 503] {
        let test = TestNamespace::new("failing").await;
        let operator = test.faulty().await;
        let failing = Fault::Refused(code).always().with_chance(0.2).times(20);
        let struck = operator.proxy().inject(failing);
        let wiki = test.item().await.installation("wiki");
        test.create(&wiki.build()).await;
        eventually("the faults to come", async || {
            (struck.count() >= 5).then_some(())
        })
        .await;
        test.installed_once(&format!("{code}")).await;
    }
}

#[tokio::test]
async fn a_busy_api_server_is_asked_again_when_it_said_and_not_before() {
    const PAUSE: Duration = Duration::from_secs(2);
    let test = TestNamespace::new("throttled").await;
    let operator = test.faulty().await;
    test.wait_until_quiet().await;
    let begun = Instant::now();
    let busy = operator.proxy().inject(Fault::Throttled(2).always());
    operator.proxy().watches.cut();
    let wiki = test.item().await.installation("wiki");
    test.create(&wiki.build()).await;
    tokio::time::sleep(5 * PAUSE).await;
    operator.proxy().lift();
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for (_, request) in busy.requests() {
        *asked.entry(request).or_default() += 1;
    }
    assert!(!asked.is_empty(), "it never came");
    let rounds = begun.elapsed().as_secs() / PAUSE.as_secs() + 1;
    for (request, times) in asked {
        // Installations are watched twice.
        let most = 2 * usize::try_from(rounds).expect("a few");
        assert!(times <= most, "{request}: {times} times");
    }
    test.installed_once("throttled").await;
}

#[tokio::test]
async fn an_expired_token_changes_nothing_and_its_renewal_is_enough() {
    let test = TestNamespace::new("expired").await;
    let operator = test.faulty().await;
    test.install_wiki().await;
    test.wait_until_quiet().await;
    let before = test.stock().await;
    let expired = operator.proxy().inject(Fault::Refused(401).always());
    operator.proxy().watches.cut();
    test.titled("Another title").await;
    eventually("the token to be refused a few times", async || {
        (expired.count() > 40).then_some(())
    })
    .await;
    assert_eq!(test.stock().await.versions(), before.versions());
    assert_eq!(test.deployments().await.len(), 2);

    operator.proxy().lift();
    test.wait_until_materialized("wiki").await;
    let expected = Counts {
        snapshots: 2,
        records: 2,
        ..ONE_INSTALL
    };
    assert_eq!(test.stock().await.counts(), expected);
    assert!(operator.exit_status().is_none(), "{}", operator.log());
}

#[tokio::test]
async fn after_an_outage_no_watch_waits_for_the_failures_of_the_others() {
    let test = TestNamespace::new("outage").await;
    let operator = test.faulty().await;
    test.install_wiki().await;
    test.wait_until_quiet().await;
    // Each watch ends, and its first try to go on fails.
    let lists = Fault::Refused(500).on(Method::GET, "limit=500");
    let lists = operator.proxy().inject(lists.times(WATCHES));
    operator.proxy().watches.expire();
    eventually("every watch to fail", async || {
        (lists.count() == WATCHES).then_some(())
    })
    .await;
    let over = Instant::now();
    test.titled("Another title").await;
    test.wait_until_materialized("wiki").await;
    assert!(over.elapsed() < Duration::from_secs(10), "{over:?}");
}

#[tokio::test]
async fn what_happens_between_two_watches_is_seen_when_the_next_begins() {
    let test = TestNamespace::new("watches").await;
    let operator = test.faulty().await;
    test.install_wiki().await;
    test.wait_until_quiet().await;
    let watches = &operator.proxy().watches;
    for (title, end) in [
        ("Cut", Watches::cut as fn(&_)),
        ("Expired", Watches::expire),
    ] {
        let unwatched = operator
            .proxy()
            .inject(Fault::Refused(500).on(Method::GET, "watch=true"));
        let unlisted = operator
            .proxy()
            .inject(Fault::Refused(500).on(Method::GET, "/installations?"));
        end(watches);
        test.titled(title).await;
        let web = installation_operator::api::names::workload("wiki", "web");
        test.api::<Deployment>()
            .delete(&web, &DeleteParams::default())
            .await
            .expect("it goes");
        eventually("the watches to be asked for", async || {
            (unwatched.count() + unlisted.count() > 2).then_some(())
        })
        .await;
        operator.proxy().lift();
        test.wait_until_materialized("wiki").await;
        eventually("the deployment to be back", async || {
            (test.deployments().await.len() == 2).then_some(())
        })
        .await;
    }
    assert_eq!(test.stock().await.counts().records, 3);
}

#[tokio::test]
async fn under_a_slow_api_server_everything_is_made_once() {
    let test = TestNamespace::new("slow").await;
    let operator = test.faulty().await;
    let slow = Fault::Slow(Duration::from_millis(400)).always();
    let slow = operator.proxy().inject(slow);
    let wiki = test.item().await.installation("wiki");
    test.create(&wiki.build()).await;
    test.wait_for_condition("wiki", ConditionType::Resolved, "True")
        .await;
    // A change in the middle of it.
    test.titled("Another title").await;
    test.wait_until_materialized("wiki").await;
    assert!(slow.count() > 20);
    operator.proxy().lift();
    test.wait_until_quiet().await;
    let expected = Counts {
        snapshots: 2,
        records: 2,
        ..ONE_INSTALL
    };
    assert_eq!(test.stock().await.counts(), expected);
}

#[tokio::test]
async fn a_volume_whose_answer_is_lost_is_one_volume() {
    let test = TestNamespace::new("lost-volume").await;
    let operator = test.faulty().await;
    let lost = Fault::AnswerLost.on(Method::POST, "/persistentvolumeclaims?");
    let lost = operator.proxy().inject(lost.times(1));
    let item = Item::one_of_each(&test.cluster).await;
    let town = installation("town").inline(SLUG, item.files);
    test.create(&town.build()).await;
    test.wait_until_materialized("town").await;
    assert_eq!(lost.count(), 1);
    assert_eq!(test.list::<PersistentVolumeClaim>().await.len(), 1);
    let town = test.api::<Installation>().get("town").await.expect("it");
    assert_eq!(
        town.status.expect("a status").record.map(|r| r.version),
        Some(1)
    );
}
