//! A plan carried out, in the write order: credentials, host names, sources, snapshot, record. A crash after any line
//! resumes.

use kube::ResourceExt;

use super::claim::Held;
use super::failure::Failure;
use super::history::{History, Version};
use super::journal::annotations;
use super::plan::Plan;
use super::shell::Shell;
use crate::acquire::Findings;
use crate::api::Installation;
use crate::api::names::CHANGES_ANNOTATION;
use crate::api::reason::Reason;
use crate::document::result::Status;
use crate::resolution::accept::AcceptedRecord;

impl Shell {
    /// Persists what `plan` needs and resolves to, in the write order, and accepts the record. `None` where credentials
    /// or host names brought something to light that stands in the way.
    ///
    /// # Errors
    /// What each of its steps ends in.
    pub async fn carry_out(
        &self,
        installation: &Installation,
        plan: Plan,
        held: &mut Held,
        history: &mut History,
        current: Option<&(Version, AcceptedRecord)>,
        findings: &mut Findings,
    ) -> Result<Option<(Version, AcceptedRecord)>, Failure> {
        let (namespace, identity) = (
            installation.namespace().unwrap_or_default(),
            installation.identity(),
        );
        let ensured = self
            .ensure_credentials(&namespace, identity, &plan.credentials(history), history)
            .await?;
        if !ensured.created.is_empty() {
            let note = format!(
                "generated the credentials of {}",
                ensured.created.join(", ")
            );
            self.event(installation, Reason::CredentialCreated, note)
                .await;
        }
        if !ensured.carried.is_empty() {
            let note = format!("carried credentials over: {}", ensured.carried.join(", "));
            self.event(installation, Reason::CredentialCarriedOver, note)
                .await;
        }
        let contracts = plan.contracts.clone();
        self.claim_hostnames(installation, &plan.context.allocations, findings)
            .await?;
        if findings.status() != Status::Valid {
            // Who waits for one host name has no other that somebody else could use.
            let kept = current.map(|(version, _)| version.snapshot.allocations().clone());
            self.release_hostnames(installation, &kept.unwrap_or_default())
                .await?;
            return Ok(None);
        }
        let Some(version) =
            plan.resolve(ensured.credentials, &held.claim, history, current, findings)
        else {
            return Ok(None);
        };
        let known = |digest: &_| history.sources.get(digest).is_some();
        self.persist_sources(&namespace, identity, &contracts, known)
            .await?;
        history.remember(&contracts);
        self.persist_snapshot(&namespace, identity, &version)
            .await?;
        let beside = annotations(&version, history, installation.spec.redeploy.as_ref())?;
        let told = beside[CHANGES_ANNOTATION].clone();
        let record = self
            .persist_record(&namespace, identity, &version, beside)
            .await?;
        history.recorded.insert(version.number, record);
        self.count(&namespace, identity, held, version.number)
            .await?;
        let accepted = history.accept(&version)?;
        let note = format!("accepted record version {}: {told}", version.number);
        self.event(installation, Reason::RecordAccepted, note).await;
        Ok(Some((version, accepted)))
    }
}
