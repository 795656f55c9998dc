//! `ClusterVariable`: a variable of the organization, by its exact dotted path; `Variable`: what a namespace has in its
//! place.

use std::fmt;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::catalog::{AllowedNamespaces, immutable_path, path};
use super::installation::{SecretKeyReference, exactly_one_value};

/// A variable of the organization: what `${{ variables.<path> }}` stands for in the namespaces that may read it, unless a
/// Variable of the namespace has the same path.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = exactly_one_value)]
#[allow(clippy::duplicated_attributes, reason = "each column has a type")]
#[kube(
    group = "install.musher.dev",
    version = "v1alpha1",
    kind = "ClusterVariable",
    shortname = "cvar",
    category = "musher",
    derive = "PartialEq",
    selectable = ".spec.path",
    printcolumn(name = "Path", type_ = "string", json_path = ".spec.path"),
    printcolumn(
        name = "Secret",
        type_ = "string",
        json_path = ".spec.secretKeyRef.name"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct ClusterVariableSpec {
    /// The dotted path that a blueprint names behind `variables.`, an exact key. Immutable.
    #[x_kube(validation = immutable_path())]
    #[schemars(schema_with = "path")]
    pub path: String,
    /// The logical value. Whoever may read this object reads it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    #[schemars(schema_with = "any_json")]
    pub value: Option<WrittenValue>,
    /// A Secret of the operator's own namespace; the value is sensitive from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyReference>,
    /// Whether the value is treated as a secret wherever it goes; one from a Secret always is.
    #[serde(default)]
    pub sensitive: bool,
    /// Which namespaces may read it. None when left out.
    #[serde(default)]
    pub allowed_namespaces: AllowedNamespaces,
}

/// A variable of one namespace: it stands there in the place of the organization's variable of the same path.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = exactly_one_value)]
#[allow(clippy::duplicated_attributes, reason = "each column has a type")]
#[kube(
    group = "install.musher.dev",
    version = "v1alpha1",
    kind = "Variable",
    namespaced,
    shortname = "var",
    category = "musher",
    derive = "PartialEq",
    selectable = ".spec.path",
    printcolumn(name = "Path", type_ = "string", json_path = ".spec.path"),
    printcolumn(
        name = "Secret",
        type_ = "string",
        json_path = ".spec.secretKeyRef.name"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct VariableSpec {
    /// The dotted path that a blueprint names behind `variables.`, an exact key. Immutable.
    #[x_kube(validation = immutable_path())]
    #[schemars(schema_with = "path")]
    pub path: String,
    /// The logical value. Whoever may read this object reads it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    #[schemars(schema_with = "any_json")]
    pub value: Option<WrittenValue>,
    /// A Secret of the same namespace; the value is sensitive from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyReference>,
    /// Whether the value is treated as a secret wherever it goes; one from a Secret always is.
    #[serde(default)]
    pub sensitive: bool,
}

/// A value that is written in the object. It prints as `[redacted]`, because its owner may call it sensitive.
#[derive(JsonSchema, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WrittenValue(pub Value);

impl fmt::Debug for WrittenValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Tells a written null from an absent field.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<WrittenValue>, D::Error> {
    WrittenValue::deserialize(deserializer).map(Some)
}

fn any_json(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "x-kubernetes-preserve-unknown-fields": true,
        "nullable": true
    })
}
