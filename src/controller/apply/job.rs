//! Jobs that run once for a record. What became of each stands in an annotation of the record, so that a Job that is gone
//! is not run again: not after a restore, not after its deletion, whatever became of status.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::api::PropagationPolicy;
use serde_json::json;

use super::ownership::{delete_one, is_owned, refuse_strangers};
use super::{Applied, entry, node};
use crate::api::ResolutionRecord;
use crate::api::names::JOBS_ANNOTATION;
use crate::api::status::{JobOutcome, JobStatus};
use crate::controller::failure::Failure;
use crate::controller::precious::{annotation, foreign};
use crate::controller::shell::Shell;
use crate::materialize::metadata::Owner;

impl Shell {
    /// Runs each of `wanted` once for this rollout of `record`, and removes what ended of earlier records. `live` are the Jobs there are.
    ///
    /// A run of the same node for an earlier record is left to end before the next one starts: two at once would be two
    /// instances of its volumes.
    ///
    /// # Errors
    /// [`Failure::ForeignObject`] for a Job of somebody else under one of the names; what writing ends in.
    pub(super) async fn run_jobs(
        &self,
        owner: &Owner,
        record: &ResolutionRecord,
        wanted: &[Job],
        live: &BTreeMap<String, Job>,
        applied: &mut Applied,
    ) -> Result<(), Failure> {
        let api = self.api::<Job>(&owner.namespace);
        if !wanted.is_empty() {
            let told = told(record)?;
            for job in wanted {
                let (node, name) = (node(job), job.name_any());
                // What is told of an earlier rollout of the same record is no news of this one.
                let status = match told.get(&node).filter(|told| told.job == name) {
                    Some(told) if told.outcome.is_final() => told.clone(),
                    Some(told) => live.get(&name).map_or_else(|| lost(told), observe),
                    None => match unfinished(&node, &name, live) {
                        Some(former) => waiting(&name, former),
                        None => {
                            let job = self.create_or_read(&api, job).await?.into_inner();
                            refuse_strangers(&job, owner, &format!("Job {name}"))?;
                            observe(&job)
                        }
                    },
                };
                applied.inventory.push(entry("batch/v1", "Job", &name));
                applied.jobs.insert(node, status);
            }
            self.tell(record, &told, &applied.jobs).await?;
        }
        let is_wanted = |name: &str| wanted.iter().any(|job| job.name_any() == name);
        for (name, job) in live
            .iter()
            .filter(|(name, job)| !is_wanted(name) && is_owned(*job, owner) && has_ended(job))
        {
            tracing::info!(name, "pruning a Job of an earlier record");
            delete_one(&api, job, "Job", PropagationPolicy::Background).await?;
        }
        Ok(())
    }

    /// Writes what became of the Jobs that were started beside the record, where it is news.
    async fn tell(
        &self,
        record: &ResolutionRecord,
        told: &BTreeMap<String, JobStatus>,
        jobs: &BTreeMap<String, JobStatus>,
    ) -> Result<(), Failure> {
        let started: BTreeMap<&String, &JobStatus> = jobs
            .iter()
            .filter(|(_, status)| status.outcome != JobOutcome::Waiting)
            .collect();
        if started
            .iter()
            .map(|(node, status)| (*node, *status))
            .eq(told)
        {
            return Ok(());
        }
        let text = json!(started).to_string();
        self.annotate(record, json!({JOBS_ANNOTATION: text})).await
    }
}

/// What the record tells of its Jobs, by node.
fn told(record: &ResolutionRecord) -> Result<BTreeMap<String, JobStatus>, Failure> {
    let Some(text) = annotation(&record.metadata, JOBS_ANNOTATION) else {
        return Ok(BTreeMap::new());
    };
    serde_json::from_str(text).map_err(|_| {
        foreign(
            format!("ResolutionRecord {}", record.name_any()),
            format!("its annotation {JOBS_ANNOTATION} is malformed"),
        )
    })
}

/// A Job of `node` that has not ended, other than `name`.
fn unfinished<'a>(node: &str, name: &str, live: &'a BTreeMap<String, Job>) -> Option<&'a Job> {
    live.values()
        .find(|job| super::node(*job) == node && job.name_any() != name && !has_ended(job))
}

/// Whether a Job has succeeded or failed.
pub(super) fn has_ended(job: &Job) -> bool {
    observe(job).outcome.is_final()
}

fn waiting(name: &str, former: &Job) -> JobStatus {
    JobStatus {
        job: name.to_owned(),
        outcome: JobOutcome::Waiting,
        started_at: None,
        finished_at: None,
        message: Some(format!(
            "Job {} of an earlier record still runs",
            former.name_any()
        )),
    }
}

fn lost(told: &JobStatus) -> JobStatus {
    JobStatus {
        outcome: JobOutcome::Lost,
        message: Some(
            "it was started and is gone, so how it ended is not known; it is not run again for this record".to_owned(),
        ),
        ..told.clone()
    }
}

/// How a Job stands.
fn observe(job: &Job) -> JobStatus {
    let status = job.status.as_ref();
    let ended = status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten())
        .filter(|condition| condition.status == "True")
        .find_map(|condition| match condition.type_.as_str() {
            "Complete" => Some((JobOutcome::Succeeded, condition)),
            "Failed" => Some((JobOutcome::Failed, condition)),
            _ => None,
        });
    let time = |time: &Option<Time>| time.as_ref().map(|time| time.0.to_string());
    JobStatus {
        job: job.name_any(),
        outcome: ended
            .as_ref()
            .map_or(JobOutcome::Running, |(outcome, _)| *outcome),
        started_at: status.and_then(|status| time(&status.start_time)),
        finished_at: ended
            .as_ref()
            .and_then(|(_, condition)| time(&condition.last_transition_time)),
        message: ended
            .filter(|(outcome, _)| *outcome == JobOutcome::Failed)
            .map(|(_, condition)| {
                format!(
                    "{}; see kubectl logs job/{}",
                    condition.message.as_deref().unwrap_or("it failed"),
                    job.name_any()
                )
            }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(name: &str, conditions: serde_json::Value) -> Job {
        let labels = json!({"install.musher.dev/node": "migrate"});
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": labels},
            "status": {"conditions": conditions},
        }))
        .expect("a Job")
    }

    #[test]
    fn a_job_ends_by_its_conditions_alone() {
        for (conditions, expected) in [
            (json!([]), JobOutcome::Running),
            (
                json!([{"type": "Complete", "status": "True"}]),
                JobOutcome::Succeeded,
            ),
            (
                json!([{"type": "Complete", "status": "False"}]),
                JobOutcome::Running,
            ),
            (
                json!([{"type": "FailureTarget", "status": "True"}]),
                JobOutcome::Running,
            ),
            (
                json!([{"type": "Failed", "status": "True"}]),
                JobOutcome::Failed,
            ),
        ] {
            assert_eq!(
                observe(&job("a", conditions.clone())).outcome,
                expected,
                "{conditions}"
            );
        }
    }

    #[test]
    fn a_run_waits_only_for_an_unfinished_one_of_its_own_node() {
        let ended = json!([{"type": "Failed", "status": "True"}]);
        for (node, live, waits) in [
            ("migrate", job("old", json!([])), true),
            ("migrate", job("old", ended), false),
            ("migrate", job("new", json!([])), false),
            ("other", job("old", json!([])), false),
        ] {
            let live = [(live.name_any(), live)].into();
            assert_eq!(unfinished(node, "new", &live).is_some(), waits, "{node}");
        }
    }
}
