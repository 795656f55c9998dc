//! `Installation`: one installed application, as its owner asks for it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::core::cel::{Rule, validate};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::condition::ConditionType;
use super::names;
use super::status::InstallationStatus;

/// One installed application. The operator resolves the blueprint completely, persists what it generated and chose,
/// writes a record, and only then runs anything.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "install.musher.dev",
    version = "v1alpha1",
    kind = "Installation",
    namespaced,
    status = "InstallationStatus",
    shortname = "inst",
    category = "musher",
    derive = "PartialEq",
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].reason"),
    printcolumn(name = "Blueprint", type_ = "string", json_path = ".status.blueprint.slug"),
    printcolumn(name = "Revision", type_ = "integer", json_path = ".status.blueprint.revision"),
    printcolumn(name = "Record", type_ = "integer", json_path = ".status.record.version"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')")
        .message("the name of an Installation is a DNS label of at most 63 characters: choose such a name, those of its workloads are made from it"),
    validation = Rule::new("(has(self.spec.identity) ? self.spec.identity : self.metadata.name) == (has(oldSelf.spec.identity) ? oldSelf.spec.identity : oldSelf.metadata.name)")
        .message("spec.identity is immutable: it names the retained state; create another Installation instead")
)]
#[x_kube(
    validation = Rule::new("!has(oldSelf.credentials) || oldSelf.credentials.all(name, oldSelf.credentials[name].generation == 0 || (has(self.credentials) && name in self.credentials && self.credentials[name].generation >= oldSelf.credentials[name].generation))")
        .message("a credential generation never falls and never disappears: raise spec.credentials.<parameter>.generation to rotate")
)]
pub struct InstallationSpec {
    /// Where the blueprint comes from: exactly one source.
    pub blueprint: BlueprintSource,
    /// Submitted values, by parameter name. A parameter left out takes its default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = parameter_names())]
    #[schemars(extend("maxProperties" = 128))]
    pub parameters: BTreeMap<String, SubmittedValue>,
    /// Rotation generations of generated credentials, by parameter name; 0 when left out. A generation only grows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = parameter_names())]
    #[schemars(extend("maxProperties" = 128))]
    pub credentials: BTreeMap<String, CredentialRequest>,
    /// The connection that satisfies each connection parameter instead of the organization's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = parameter_names())]
    #[schemars(extend("maxProperties" = 64))]
    pub connections: BTreeMap<String, ConnectionChoice>,
    /// Public hostnames, by node and endpoint.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = node_names())]
    #[schemars(extend("maxProperties" = 64))]
    pub hostnames: BTreeMap<String, Hostnames>,
    /// Pull secrets of type `kubernetes.io/dockerconfigjson` for the item's images, before those of the namespace's default
    /// ServiceAccount. The operator reads digests with them, and pods pull with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub image_pull_secrets: Vec<LocalReference>,
    /// A changed token selects everything current again: blueprint content, image digests, referenced Secrets, profile
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Trigger>,
    /// A changed token rolls out the existing record again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeploy: Option<Trigger>,
    /// Stops the operator from acting on this Installation. It never scales or deletes anything.
    #[serde(default)]
    pub suspend: bool,
    /// What becomes of credentials, snapshots, records and volumes when the Installation is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// How many records behind the current one are kept.
    #[serde(default = "ten")]
    #[schemars(range(min = 0, max = 100))]
    pub history_limit: u32,
    /// Names the state that outlives this object; the object's name when left out. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    )]
    pub identity: Option<String>,
    /// Generated parameters that a blueprint renamed: each takes over the credential of the parameter named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = parameter_names())]
    #[schemars(extend("maxProperties" = 64))]
    pub migrate: BTreeMap<String, Migration>,
    /// Makes a new record from an old record's selections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Rollback>,
}

/// Where a blueprint comes from: exactly one of the three.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("[has(self.inline), has(self.configMap), has(self.oci)].filter(given, given).size() == 1")
        .message("give exactly one blueprint source: inline, configMap or oci")
)]
pub struct BlueprintSource {
    /// The item's files, written out here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<InlineSource>,
    /// The item's files in a ConfigMap of the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapSource>,
    /// The item as an OCI artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oci: Option<OciSource>,
}

/// An item written out in the Installation.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(
    validation = Rule::new("self.files.map(path, bytes(self.files[path]).size()).sum() <= 131072")
        .message("inline files hold at most 128 KiB in all: use a ConfigMap or an OCI artifact for more")
)]
pub struct InlineSource {
    /// The name of the item directory; equals the blueprint's `metadata.slug`.
    #[schemars(
        length(min = 2, max = 63),
        regex(pattern = "^[a-z][a-z0-9-]{0,61}[a-z0-9]$")
    )]
    pub item: String,
    /// Path inside the item → text, `blueprint.yaml` among them.
    #[x_kube(validation = file_paths())]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 64))]
    pub files: BTreeMap<String, InlineFile>,
}

/// The text of one file.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InlineFile(#[schemars(length(max = 131_072))] pub String);

/// An item in a ConfigMap.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigMapSource {
    /// The ConfigMap's name, in the Installation's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The name of the item directory; equals the blueprint's `metadata.slug`.
    #[schemars(
        length(min = 2, max = 63),
        regex(pattern = "^[a-z][a-z0-9-]{0,61}[a-z0-9]$")
    )]
    pub item: String,
    /// Path inside the item → key of the ConfigMap, for paths that are not keys themselves. A key that no path names
    /// is a file of the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = file_paths())]
    #[schemars(extend("maxProperties" = 64))]
    pub paths: BTreeMap<String, ConfigMapKey>,
}

/// A key of a ConfigMap.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConfigMapKey(#[schemars(length(min = 1, max = 253))] pub String);

/// An item as an OCI artifact.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OciSource {
    /// The artifact's reference, with a tag or a digest.
    #[schemars(length(min = 1, max = 512))]
    pub reference: String,
    /// A `kubernetes.io/dockerconfigjson` Secret of the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret: Option<LocalReference>,
}

/// The name of an object in the same namespace.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalReference {
    /// The object's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// A submitted value: written here, or in a Secret.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = exactly_one_value)]
pub struct SubmittedValue {
    /// The logical value. Not for a secret: a value for a sensitive parameter is refused here.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::contract::component::present"
    )]
    #[schemars(schema_with = "any_json")]
    pub value: Option<Value>,
    /// A Secret of the same namespace; the value is sensitive from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyReference>,
}

/// A key of a Secret in the same namespace, and how its bytes are read.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretKeyReference {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// Whether the bytes are the string itself, or JSON.
    #[serde(default)]
    pub format: SecretFormat,
}

/// How the bytes of a Secret's key become a logical value.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SecretFormat {
    /// UTF-8 text: a string.
    #[default]
    Text,
    /// One JSON value.
    #[serde(rename = "JSON")]
    Json,
}

/// Which generation of a generated credential is wanted.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialRequest {
    /// The rotation generation.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub generation: u32,
}

/// The connection that satisfies a connection parameter.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionChoice {
    /// A Connection of the same namespace.
    pub connection_ref: LocalReference,
}

/// The hostnames of one node, by endpoint.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[schemars(transform = endpoint_names)]
pub struct Hostnames(#[schemars(extend("maxProperties" = 64))] pub BTreeMap<String, Hostname>);

/// A DNS name, in small letters.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hostname(
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = names::DNS_NAME)
    )]
    pub String,
);

/// A token whose change, not its value, means something.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// Any text; a date reads well.
    #[schemars(length(min = 1, max = 253))]
    pub token: String,
}

/// What becomes of an identity's precious state when its Installation is deleted.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeletionPolicy {
    /// Credentials, snapshots, sources, records and volumes stay, for an Installation of the same identity to take over.
    #[default]
    Retain,
    /// They go with the Installation.
    Delete,
}

/// A renamed generated parameter.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Migration {
    /// The parameter's former name.
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[a-z][a-zA-Z0-9]*$"))]
    pub credential_of: String,
}

/// A return to an old record's selections.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// The version of the old record.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub record: u32,
    /// A changed token rolls back again.
    #[schemars(length(min = 1, max = 253))]
    pub token: String,
}

impl Installation {
    /// The effective identity: what names everything that outlives this object.
    pub fn identity(&self) -> &str {
        self.spec
            .identity
            .as_deref()
            .or(self.metadata.name.as_deref())
            .unwrap_or_default()
    }

    /// A condition of its status, if that has it.
    pub fn condition(&self, of: ConditionType) -> Option<&Condition> {
        self.status.as_ref()?.condition(of)
    }
}

fn ten() -> u32 {
    10
}

/// The keys are names of parameters.
fn parameter_names() -> Rule {
    Rule::new("self.all(name, name.matches('^[a-z][a-zA-Z0-9]{0,63}$'))").message(
        "the keys are parameter names: a small letter, then up to 63 letters and digits, as the blueprint spells them",
    )
}

/// The keys are names of nodes.
fn node_names() -> Rule {
    Rule::new("self.all(name, name.matches('^[a-z][a-z0-9-]{0,61}[a-z0-9]$'))").message(
        "the keys are node names: 2 to 63 small letters, digits and inner dashes, as the blueprint spells them",
    )
}

/// The keys are names of endpoints. A transform, because a transparent type takes no rule.
fn endpoint_names(schema: &mut schemars::Schema) {
    let rule = Rule::new("self.all(name, name.matches('^[a-z][a-z0-9]{0,19}$'))").message(
        "the keys are endpoint names: a small letter, then up to 19 small letters and digits, as the component spells them",
    );
    validate(schema, rule).expect("a rule is JSON");
}

/// The keys are paths inside the item.
fn file_paths() -> Rule {
    Rule::new("self.all(path, path.size() <= 253)")
        .message("the keys are paths inside the item, of at most 253 characters, for example components/web.yaml")
}

fn any_json(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "description": "The logical value. Not for a secret: a value for a sensitive parameter is refused here.",
        "x-kubernetes-preserve-unknown-fields": true,
        "nullable": true
    })
}

/// A value is written or referenced, never both.
pub(super) fn exactly_one_value(schema: &mut schemars::Schema) {
    schema.insert(
        "oneOf".into(),
        serde_json::json!([{"required": ["value"]}, {"required": ["secretKeyRef"]}]),
    );
}
