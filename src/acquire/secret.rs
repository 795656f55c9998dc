//! Keys of Secrets: of the Installation's namespace, and of the operator's own for what the organization keeps there.

use k8s_openapi::api::core::v1::Secret as SecretObject;
use kube::ResourceExt;
use serde_json::Value;

use super::{Reader, Unavailable};
use crate::api::installation::{SecretFormat, SecretKeyReference};
use crate::resolution::secret::Held;

/// What a key of a Secret holds.
pub enum Key {
    /// A value.
    Value {
        /// The value; always sensitive.
        value: Held,
        /// Opaque: another whenever the Secret was written. It follows from no value.
        version: String,
    },
    /// There is no such Secret, or no such key in it; the text says which, and what to do.
    Absent(String),
    /// What is there is not of the format; the text says so without it, and what to do.
    Malformed(String),
}

impl Reader {
    /// Reads the key that `reference` names of a Secret of `namespace`.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn read_key(
        &self,
        namespace: &str,
        reference: &SecretKeyReference,
    ) -> Result<Key, Unavailable> {
        let SecretKeyReference { name, key, format } = reference;
        let found = self.read_in::<SecretObject>(namespace, name).await?;
        let bytes = found
            .as_ref()
            .and_then(|secret| secret.data.as_ref()?.get(key));
        let Some(bytes) = bytes else {
            let what = if found.is_some() {
                format!("has no key {key}")
            } else {
                "does not exist".to_owned()
            };
            return Ok(Key::Absent(format!(
                "Secret {name} in namespace {namespace} {what}: create it with the key {key}"
            )));
        };
        let value = match format {
            SecretFormat::Text => std::str::from_utf8(&bytes.0).ok().map(Value::from),
            SecretFormat::Json => serde_json::from_slice(&bytes.0).ok(),
        };
        let (uid, version) = found
            .as_ref()
            .map(|secret| (secret.uid(), secret.resource_version()))
            .unwrap_or_default();
        Ok(match value {
            Some(value) => Key::Value {
                value: Held::sensitive(value),
                version: format!(
                    "{}-{}",
                    uid.unwrap_or_default(),
                    version.unwrap_or_default()
                ),
            },
            None => {
                let wanted = match format {
                    SecretFormat::Json => "one JSON value",
                    SecretFormat::Text => "UTF-8 text",
                };
                Key::Malformed(format!(
                    "key {key} of Secret {name} is not {wanted}: write it so, or change the format"
                ))
            }
        })
    }
}
