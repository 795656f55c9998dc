//! Submitted values: written in the Installation, or read from a Secret that it names. A value from a Secret is always
//! sensitive, and a sensitive parameter takes no value that is written in the Installation.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret as SecretObject;
use serde_json::Value;

use super::findings::{Document, Findings};
use super::{Reader, Unavailable};
use crate::api::installation::{SecretFormat, SecretKeyReference, SubmittedValue};
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
        let SecretKeyReference { name, key, format } = reference;
        let found = self.read::<SecretObject>(name).await?;
        let path = || Pointer::of(["spec", "parameters", parameter, "secretKeyRef"]);
        let bytes = found
            .as_ref()
            .and_then(|secret| secret.data.as_ref()?.get(key));
        let Some(bytes) = bytes else {
            let what = if found.is_some() {
                format!("has no key {key}")
            } else {
                "does not exist".to_owned()
            };
            findings.wait(
                Document::Installation,
                "BP-PARAM-005",
                path(),
                format!("secret:{name}/{key}"),
                format!(
                    "Secret {name} in namespace {} {what}: create it with the key {key}",
                    self.namespace
                ),
            );
            return Ok(None);
        };
        let value = match format {
            SecretFormat::Text => std::str::from_utf8(&bytes.0).ok().map(Value::from),
            SecretFormat::Json => serde_json::from_slice(&bytes.0).ok(),
        };
        if value.is_none() {
            let wanted = if *format == SecretFormat::Json {
                "one JSON value"
            } else {
                "UTF-8 text"
            };
            let message = format!(
                "key {key} of Secret {name} is not {wanted}: write it so, or change the format"
            );
            let diagnostic = Diagnostic::resolution(
                Stage::Parameters,
                Code::InvalidResolutionContext,
                path(),
                message,
            );
            findings.wrong(Document::Installation, diagnostic);
        }
        Ok(value.map(Held::sensitive))
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
