//! A JOB on a schedule, in real time: it runs at its minute, in UTC, and no rollout starts it. What each expression of the
//! contract's grammar means to Kubernetes is tried in tests/cluster/schedules_test.go, with the parser that its controller has.

mod support;

use std::time::Duration;

use installation_operator::api::condition::ConditionType;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use serde_json::json;
use support::item::SLUG;
use support::wait::attempt;
use support::{Item, TestNamespace, installation};

/// When a Job was due, as the controller of CronJobs says it.
fn due(job: &Job) -> Option<Timestamp> {
    let text = job
        .annotations()
        .get("batch.kubernetes.io/cronjob-scheduled-timestamp")?;
    text.parse().ok()
}

#[tokio::test]
async fn a_scheduled_job_runs_at_its_minute_and_no_rollout_starts_it() {
    let test = TestNamespace::new("schedule").await;
    let _operator = test.operator().await.start();
    let item = Item::one_of_each(&test.cluster)
        .await
        .only("nightly")
        .edited("nightly.yaml", "*/15\\t0-23/2 1,15 * 1-5", "*/1 * 1-31 * *");
    let town = installation("town").inline(SLUG, item.files.clone());
    test.create(&town.build()).await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    let first = attempt(Duration::from_secs(90), async || {
        test.list::<Job>().await.into_iter().next()
    });
    let first = first.await.expect("a run within a minute and a half");

    let another = "command: [exit, '0']\n    envVars: { EDITION: '2' }";
    let item = item.edited("nightly.yaml", "command: [exit, '0']", another);
    let files = json!({"spec": {
        "blueprint": {"inline": {"files": item.files}}, "redeploy": {"token": "1"},
    }});
    test.merge("town", files).await;
    test.wait_until_materialized("town").await;
    test.wait_until_quiet().await;
    for job in test.list::<Job>().await {
        let due = due(&job).expect("a run of the schedule, and of nothing else");
        assert_eq!(due.as_second() % 60, 0, "{}", job.name_any());
        let made = job.creation_timestamp().expect("a time").0;
        let late = made.as_second() - due.as_second();
        assert!((0..=15).contains(&late), "{late} s late");
        let is_first = job.uid() == first.uid();
        assert!(
            is_first || Some(due) > self::due(&first),
            "{}",
            job.name_any()
        );
    }
}
