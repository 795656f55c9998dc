//! Deletion by policy. Everything owned is garbage collected by Kubernetes; what is precious goes or stays as
//! `spec.deletionPolicy` says, and only ever with the holder of its claim.

use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use super::claim::Claim;
use super::failure::{Asked, Failure};
use super::shelf::Shelf;
use super::shell::Shell;
use crate::acquire::allocation::Allocations;
use crate::api::Installation;
use crate::api::installation::DeletionPolicy;
use crate::api::names::{FIELD_MANAGER, FINALIZER};
use crate::api::reason::Reason;

impl Shell {
    /// Makes sure that the Installation cannot vanish before its policy is carried out.
    ///
    /// # Errors
    /// [`Failure::Conflict`] when it changed since it was read, and what writing ends in.
    pub async fn ensure_finalizer(&self, installation: &Installation) -> Result<(), Failure> {
        if installation
            .finalizers()
            .iter()
            .any(|finalizer| finalizer == FINALIZER)
        {
            return Ok(());
        }
        let finalizers: Vec<&str> = installation
            .finalizers()
            .iter()
            .map(String::as_str)
            .chain([FINALIZER])
            .collect();
        self.write_finalizers(installation, &finalizers).await
    }

    /// Carries out the deletion policy and lets the Installation go. Repeatable after a crash at any point.
    ///
    /// # Errors
    /// [`Failure::NewerState`] where state of a newer format is to be deleted, [`Failure::HeldByFinalizer`] while some of
    /// it waits for somebody else, and what reading and writing ends in.
    pub async fn finalize(&self, installation: &Installation) -> Result<(), Failure> {
        if !installation
            .finalizers()
            .iter()
            .any(|finalizer| finalizer == FINALIZER)
        {
            return Ok(());
        }
        let (namespace, identity) = (
            installation.namespace().unwrap_or_default(),
            installation.identity(),
        );
        let shelf = self.read_shelf(&namespace, identity).await?;
        if self.may_dispose(installation, &shelf).await? {
            self.release_hostnames(installation, &Allocations::new())
                .await?;
            match installation.spec.deletion_policy {
                // A claim that guards nothing would only be in somebody's way.
                policy if policy == DeletionPolicy::Delete || shelf.state() == 0 => {
                    shelf.refuse_newer()?;
                    let disposal = self.dispose(&namespace, identity, &shelf).await?;
                    if !disposal.left_alone.is_empty() {
                        let note = format!(
                            "not as the operator makes them, and left where they are: {}",
                            disposal.left_alone.join(", ")
                        );
                        self.event(installation, Reason::LeftAlone, note).await;
                    }
                }
                _ => tracing::info!(
                    objects = shelf.state(),
                    "retaining the state of the identity"
                ),
            }
        }
        let finalizers = installation.finalizers().iter().map(String::as_str);
        let rest: Vec<&str> = finalizers
            .filter(|finalizer| *finalizer != FINALIZER)
            .collect();
        self.write_finalizers(installation, &rest).await
    }

    /// Whether the identity's state is this Installation's to dispose of: it holds the claim, or nobody can.
    async fn may_dispose(
        &self,
        installation: &Installation,
        shelf: &Shelf,
    ) -> Result<bool, Failure> {
        let (namespace, identity) = (
            installation.namespace().unwrap_or_default(),
            installation.identity(),
        );
        if let Some(secret) = &shelf.claim {
            let claim = Claim::read(secret, identity);
            return Ok(claim.is_ok_and(|claim| Some(claim.holder.uid) == installation.uid()));
        }
        let others = self
            .api::<Installation>(&namespace)
            .list(&ListParams::default())
            .await
            .asked(|| "list Installations".to_owned())?;
        Ok(!others
            .iter()
            .any(|other| other.identity() == identity && other.uid() != installation.uid()))
    }

    /// The resource version makes this a compare-and-swap on the whole list.
    async fn write_finalizers(
        &self,
        installation: &Installation,
        finalizers: &[&str],
    ) -> Result<(), Failure> {
        let patch = json!({"metadata": {
            "resourceVersion": installation.resource_version(),
            "finalizers": finalizers,
        }});
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let name = installation.name_any();
        match self
            .api::<Installation>(&installation.namespace().unwrap_or_default())
            .patch(&name, &params, &Patch::Merge(&patch))
            .await
        {
            Err(error) if super::failure::is_absent(&error) => Ok(()),
            outcome => outcome
                .map(|_| ())
                .asked(|| format!("patch the finalizers of Installation {name}")),
        }
    }
}
