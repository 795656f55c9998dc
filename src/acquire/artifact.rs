//! OCI artifacts: the item that one holds, from its registry, with the pull secret that the Installation names for it.

use super::findings::{Document, Findings};
use super::registry::keyring::Keyring;
use super::registry::{Artifact, Refusal, RegistryClient};
use super::{Reader, Unavailable};
use crate::api::installation::OciSource;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::pointer::Pointer;

/// The kind of the missing fact that a registry has not given an artifact.
pub const ARTIFACT: &str = "artifact:";

impl Reader {
    /// The pull secret of `source`; none where it names none. A secret that cannot be used is told in `findings`.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn acquire_artifact_keyring(
        &self,
        source: &OciSource,
        findings: &mut Findings,
    ) -> Result<Keyring, Unavailable> {
        let mut keyring = Keyring::default();
        if let Some(secret) = &source.pull_secret
            && let Some(what) = self.read_pull_secret(&secret.name, &mut keyring).await?
        {
            findings.wait(
                Document::Installation,
                "BP-RESOLVE-001",
                Pointer::of(["spec", "blueprint", "oci", "pullSecret", "name"]),
                format!("secret:{}", secret.name),
                format!(
                    "Secret {} in namespace {} {what}",
                    secret.name, self.namespace
                ),
            );
        }
        Ok(keyring)
    }
}

/// Fetches the item that `source` names. `None` when it is not to be had, which `findings` then says.
pub async fn fetch(
    source: &OciSource,
    registries: &RegistryClient<'_>,
    findings: &mut Findings,
) -> Option<Artifact> {
    match registries.fetch(&source.reference).await {
        Ok(artifact) => Some(artifact),
        Err(refusal) => {
            report(&source.reference, &refusal, findings);
            None
        }
    }
}

/// Tells what is authoritative from what may change by itself.
fn report(reference: &str, refusal: &Refusal, findings: &mut Findings) {
    let path = Pointer::of(["spec", "blueprint", "oci", "reference"]);
    let remedy = refusal.remedy("spec.blueprint.oci.pullSecret");
    if refusal.is_authoritative() {
        let diagnostic = Diagnostic::resolution(
            Stage::Parameters,
            Code::InvalidResolutionContext,
            path,
            remedy,
        );
        findings.wrong(Document::Installation, diagnostic);
        return;
    }
    findings.wait(
        Document::Installation,
        "BP-RESOLVE-001",
        path,
        format!("{ARTIFACT}{reference}"),
        remedy,
    );
}
