//! `ClusterConnection`: a connection of the organization, by its exact dotted path; `Connection`: a complete replacement
//! that an Installation of its namespace names.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::cel::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalog::{AllowedNamespaces, immutable_path, path};

/// A connection of the organization: an endpoint, a credential and a model that are selected together. It serves
/// `${{ connections.<path> }}` in the namespaces that may use it.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::duplicated_attributes, reason = "each column has a type")]
#[kube(
    group = "install.musher.dev",
    version = "v1alpha1",
    kind = "ClusterConnection",
    shortname = "cconn",
    category = "musher",
    derive = "PartialEq",
    selectable = ".spec.path",
    printcolumn(name = "Path", type_ = "string", json_path = ".spec.path"),
    printcolumn(name = "Cost owner", type_ = "string", json_path = ".spec.costOwner"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[x_kube(validation = permitted_views())]
pub struct ClusterConnectionSpec {
    /// The dotted path that a blueprint names behind `connections.`, an exact key. Immutable.
    #[x_kube(validation = immutable_path())]
    #[schemars(schema_with = "path")]
    pub path: String,
    /// Which namespaces may use it. None when left out.
    #[serde(default)]
    pub allowed_namespaces: AllowedNamespaces,
    /// Who pays for its use; shown in the status of every Installation that uses it.
    #[schemars(length(min = 1, max = 253))]
    pub cost_owner: String,
    /// What authenticates its use; its Secret is one of the operator's own namespace.
    pub credential: ConnectionCredential,
    /// How it is reached, by protocol: OPENAI_CHAT_COMPLETIONS or ANTHROPIC_MESSAGES.
    #[x_kube(validation = protocols())]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 2))]
    pub views: BTreeMap<String, ConnectionView>,
}

/// A user's own connection: it takes the whole place of the organization's where `spec.connections` of an Installation
/// names it.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::duplicated_attributes, reason = "each column has a type")]
#[kube(
    group = "install.musher.dev",
    version = "v1alpha1",
    kind = "Connection",
    namespaced,
    shortname = "conn",
    category = "musher",
    derive = "PartialEq",
    printcolumn(name = "Cost owner", type_ = "string", json_path = ".spec.costOwner"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[x_kube(validation = permitted_views())]
pub struct ConnectionSpec {
    /// Who pays for its use; shown in the status of every Installation that uses it.
    #[schemars(length(min = 1, max = 253))]
    pub cost_owner: String,
    /// What authenticates its use; its Secret is one of the same namespace.
    pub credential: ConnectionCredential,
    /// How it is reached, by protocol: OPENAI_CHAT_COMPLETIONS or ANTHROPIC_MESSAGES.
    #[x_kube(validation = protocols())]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 2))]
    pub views: BTreeMap<String, ConnectionView>,
}

/// The credential of a connection.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionCredential {
    /// The key of a Secret that holds the API key, as UTF-8 text.
    pub secret_key_ref: ApiKeyReference,
    /// The base URLs that the API key may be sent to.
    #[serde(rename = "permittedBaseURLs")]
    #[schemars(schema_with = "base_urls")]
    pub permitted_base_urls: BTreeSet<String>,
}

/// A key of a Secret that holds text.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeyReference {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// One protocol's view of a connection.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionView {
    /// An absolute HTTPS URL without user information, query or fragment; one of the credential's permitted ones.
    #[serde(rename = "baseURL")]
    #[schemars(schema_with = "base_url")]
    pub base_url: String,
    /// The model's name.
    #[schemars(length(min = 1, max = 253))]
    pub model: String,
    /// What the view is able to do: STREAMING, TOOL_CALLS.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(schema_with = "capabilities")]
    pub capabilities: BTreeSet<String>,
}

fn permitted_views() -> Rule {
    Rule::new("self.views.all(protocol, self.views[protocol].baseURL in self.credential.permittedBaseURLs)").message(
        "the baseURL of every view is one of credential.permittedBaseURLs: add it there, or correct the view",
    )
}

fn protocols() -> Rule {
    Rule::new("self.all(protocol, protocol in ['OPENAI_CHAT_COMPLETIONS', 'ANTHROPIC_MESSAGES'])")
        .message("the keys are connection protocols: OPENAI_CHAT_COMPLETIONS or ANTHROPIC_MESSAGES")
}

fn base_url(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "minLength": 9,
        "maxLength": 512,
        "pattern": "^https://[^/?#@\\s]+(/[^?#\\s]*)?$"
    })
}

fn base_urls(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "minItems": 1,
        "maxItems": 16,
        "x-kubernetes-list-type": "set",
        "items": base_url(generator)
    })
}

fn capabilities(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "set",
        "items": {"type": "string", "enum": ["STREAMING", "TOOL_CALLS"]}
    })
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator as _;

    use super::*;
    use crate::contract::component::requirement::{Capability, ConnectionProtocol};

    #[test]
    fn protocols_and_capabilities_are_those_of_the_contract() {
        let rule = format!("{:?}", protocols());
        for protocol in ConnectionProtocol::iter() {
            assert!(rule.contains(&format!("'{protocol}'")), "{protocol}");
        }
        let schema = capabilities(&mut schemars::SchemaGenerator::default());
        let known: Vec<String> = Capability::iter().map(|known| known.to_string()).collect();
        assert_eq!(
            schema.pointer("/items/enum"),
            Some(&serde_json::json!(known))
        );
    }
}
