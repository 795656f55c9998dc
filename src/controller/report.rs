//! The one exit of status: derived, compared with what stands, and written only when it differs. A changed reason becomes
//! an event.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::PatchParams;
use serde_json::json;
use strum::IntoEnumIterator;

use super::failure::{Asked, Failure, is_absent};
use super::patch;
use super::reconcile::Pass;
use super::shell::Shell;
use super::status::{Subject, derive, derive_suspended};
use crate::api::condition::ConditionType;
use crate::api::names::FIELD_MANAGER;
use crate::api::reason::Reason;
use crate::api::status::{JobOutcome, JobStatus};
use crate::api::{Installation, InstallationStatus};

impl Shell {
    /// Says where `installation` stands after `pass`.
    ///
    /// # Errors
    /// What writing ends in.
    pub async fn report(
        &self,
        installation: &Installation,
        pass: &Pass,
        failure: Option<&Failure>,
    ) -> Result<(), Failure> {
        self.write_status(installation, |subject| derive(subject, pass, failure))
            .await
    }

    /// Says that `installation` is suspended.
    ///
    /// # Errors
    /// What writing ends in.
    pub async fn report_suspended(&self, installation: &Installation) -> Result<(), Failure> {
        self.write_status(installation, derive_suspended).await
    }

    async fn write_status(
        &self,
        installation: &Installation,
        derive: impl FnOnce(&Subject) -> InstallationStatus,
    ) -> Result<(), Failure> {
        let name = installation.name_any();
        let api = self.api::<Installation>(&installation.namespace().unwrap_or_default());
        // A pass reports more than once: what stands now, not when it began, is what a new status differs from.
        let Some(standing) = api
            .get_opt(&name)
            .await
            .asked(|| format!("read Installation {name}"))?
        else {
            return Ok(());
        };
        let subject = Subject {
            name: &name,
            generation: installation.metadata.generation.unwrap_or_default(),
            identity: installation.identity(),
            previous: standing.status.as_ref(),
            now: Time(Timestamp::now()),
        };
        let status = derive(&subject);
        if standing.status.as_ref() == Some(&status) {
            return Ok(());
        }
        let told = json!({
            "apiVersion": <Installation as kube::Resource>::api_version(&()),
            "kind": <Installation as kube::Resource>::kind(&()),
            "metadata": {"name": name, "uid": installation.uid()},
            "status": status,
        });
        match api
            .patch_status(
                &name,
                &PatchParams::apply(FIELD_MANAGER).force(),
                &patch::apply(&told),
            )
            .await
        {
            Err(error) if is_absent(&error) => return Ok(()),
            outcome => outcome.asked(|| format!("write the status of Installation {name}"))?,
        };
        let news = ended_jobs(standing.status.as_ref(), &status)
            .chain(announcement(standing.status.as_ref(), &status));
        for (reason, message) in news {
            self.event(installation, reason, message).await;
        }
        Ok(())
    }
}

/// The Jobs that have ended since `before`.
fn ended_jobs<'a>(
    before: Option<&'a InstallationStatus>,
    after: &'a InstallationStatus,
) -> impl Iterator<Item = (Reason, String)> + 'a {
    let is_news = move |node: &String, job: &JobStatus| {
        job.outcome.is_final() && before.and_then(|before| before.jobs.get(node)) != Some(job)
    };
    after
        .jobs
        .iter()
        .filter(move |(node, job)| is_news(node, job))
        .map(|(node, job)| match (job.outcome, &job.message) {
            (JobOutcome::Succeeded, _) => (
                Reason::JobSucceeded,
                format!("Job {} of node {node} succeeded", job.job),
            ),
            (_, message) => (
                Reason::JobFailed,
                format!(
                    "Job {} of node {node} failed: {}",
                    job.job,
                    message.as_deref().unwrap_or_default()
                ),
            ),
        })
}

/// What the condition Ready has to say, if it is something new.
fn announcement(
    before: Option<&InstallationStatus>,
    after: &InstallationStatus,
) -> Option<(Reason, String)> {
    let ready = |status: &InstallationStatus| {
        let found = status.condition(ConditionType::Ready);
        found.map(|condition| (condition.reason.clone(), condition.message.clone()))
    };
    let (reason, message) = ready(after)?;
    let known = before.and_then(ready);
    let news = match &known {
        Some((known_reason, known_message)) => {
            *known_reason != reason
                || (*known_message != message && reason != Reason::Progressing.as_ref())
        }
        None => true,
    };
    let reason = Reason::iter().find(|candidate| candidate.as_ref() == reason)?;
    news.then_some((reason, message))
}
