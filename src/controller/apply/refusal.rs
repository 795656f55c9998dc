//! Why a controller has no pods at all: Kubernetes says it of StatefulSets and Jobs in events alone.

use k8s_openapi::api::core::v1::Event;
use kube::ResourceExt;
use kube::api::ListParams;

use super::{Applied, Running};
use crate::api::names::NODE_LABEL;
use crate::api::reason::NodeReason;
use crate::api::status::JobOutcome;
use crate::controller::failure::{Asked, Failure};
use crate::controller::shell::Shell;
use crate::materialize::metadata::Owner;

impl Shell {
    /// Notes the API server's refusal of pods that are wanted and not there.
    ///
    /// # Errors
    /// What reading ends in.
    pub(super) async fn note_refusals(
        &self,
        owner: &Owner,
        applied: &mut Applied,
    ) -> Result<(), Failure> {
        let has_pods = |node: &str| {
            applied
                .pods
                .iter()
                .any(|pod| pod.labels().get(NODE_LABEL).is_some_and(|of| of == node))
        };
        let sets = applied
            .running
            .iter()
            .filter(|(node, running)| !running.is_settled() && !has_pods(node))
            .filter_map(|(node, running)| match running {
                Running::StatefulSet(set) => Some((node.clone(), set.name_any())),
                Running::Deployment(_) | Running::CronJob(_) => None,
            });
        let jobs = applied
            .jobs
            .iter()
            .filter(|(node, job)| job.outcome == JobOutcome::Running && !has_pods(node))
            .map(|(node, job)| (node.clone(), job.job.clone()));
        let podless: Vec<(String, String)> = sets.chain(jobs).collect();
        for (node, name) in podless {
            let Some(message) = self.refusal(owner, &name).await? else {
                continue;
            };
            match applied.jobs.get_mut(&node) {
                Some(job) => job.message = Some(message),
                None => {
                    applied.notes.insert(node, (NodeReason::Refused, message));
                }
            }
        }
        Ok(())
    }

    /// The newest event that says why the controller `name` could not create a pod.
    async fn refusal(&self, owner: &Owner, name: &str) -> Result<Option<String>, Failure> {
        let selector = format!("involvedObject.name={name},reason=FailedCreate");
        let events = self
            .api::<Event>(&owner.namespace)
            .list(&ListParams::default().fields(&selector))
            .await
            .asked(|| format!("list events of {name}"))?;
        let newest = events.into_iter().max_by_key(|event| {
            let last = event.last_timestamp.as_ref().map(|time| time.0);
            last.or(event.event_time.as_ref().map(|time| time.0))
        });
        Ok(newest.and_then(|event| event.message))
    }
}
