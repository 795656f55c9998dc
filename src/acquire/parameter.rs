//! Submitted values: written in the Installation, or read from a Secret that it names. A value from a Secret is always
//! sensitive, and a sensitive parameter takes no value that is written in the Installation.

use std::collections::BTreeMap;

use serde_json::Value;

use super::findings::{Document, Findings};
use super::secret::Key;
use super::{Reader, Unavailable};
use crate::api::installation::{SecretKeyReference, SubmittedValue};
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::pointer::Pointer;
use crate::resolution::secret::Held;

impl Reader {
    /// Reads every submitted value that `pinned` does not already hold.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn acquire_parameters(
        &self,
        submitted: &BTreeMap<String, SubmittedValue>,
        contracts: &Contracts,
        pinned: impl Fn(&str, &SubmittedValue) -> Option<Held>,
        findings: &mut Findings,
    ) -> Result<BTreeMap<String, Held>, Unavailable> {
        let mut values = BTreeMap::new();
        for (name, submitted) in submitted {
            let held = match (
                pinned(name, submitted),
                &submitted.value,
                &submitted.secret_key_ref,
            ) {
                (Some(held), _, _) => Some(held),
                (None, _, Some(reference)) => self.read_secret(name, reference, findings).await?,
                (None, Some(_), None) if contracts.is_sensitive(name) => {
                    findings.wrong(Document::Installation, written_secret(name));
                    None
                }
                (None, value, None) => Some(Held::plain(value.clone().unwrap_or(Value::Null))),
            };
            values.extend(held.map(|held| (name.clone(), held)));
        }
        Ok(values)
    }

    /// Reads one value from the Secret that `parameter` names.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn read_secret(
        &self,
        parameter: &str,
        reference: &SecretKeyReference,
        findings: &mut Findings,
    ) -> Result<Option<Held>, Unavailable> {
        let path = || Pointer::of(["spec", "parameters", parameter, "secretKeyRef"]);
        match self.read_key(&self.namespace, reference).await? {
            Key::Value { value, .. } => return Ok(Some(value)),
            Key::Absent(remedy) => findings.wait(
                Document::Installation,
                "BP-PARAM-005",
                path(),
                format!("secret:{}/{}", reference.name, reference.key),
                remedy,
            ),
            Key::Malformed(message) => {
                let diagnostic = Diagnostic::resolution(
                    Stage::Parameters,
                    Code::InvalidResolutionContext,
                    path(),
                    message,
                );
                findings.wrong(Document::Installation, diagnostic);
            }
        }
        Ok(None)
    }
}

/// The refusal of a value that is written in an Installation although its parameter is sensitive (BP-PARAM-002).
pub fn written_secret(parameter: &str) -> Diagnostic {
    Diagnostic::resolution(
        Stage::Parameters,
        Code::SecretLiteral,
        Pointer::of(["spec", "parameters", parameter, "value"]),
        format!(
            "parameter {parameter} is sensitive, and this value is written where many can read it: put it into a Secret, name that in spec.parameters.{parameter}.secretKeyRef, and consider the written value disclosed"
        ),
    )
}
