//! `Installation.status`: derived, never a source of truth. Lists hold at most [`LIST_LIMIT`] entries.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::Display;

use super::condition::ConditionType;

/// The most entries that a list in status holds.
pub const LIST_LIMIT: usize = 100;

/// What the operator saw and did.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = {"observedGeneration": -1}))]
pub struct InstallationStatus {
    /// The `metadata.generation` that this status speaks of; -1 before the first.
    #[serde(default = "never")]
    pub observed_generation: i64,
    /// The effective identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Ready, Reconciling, Stalled, Resolved, Materialized, Available, UpdateAvailable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What the last resolution of this spec ended in: VALID, INVALID or INCOMPLETE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
    /// What is wrong with the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<StatusDiagnostic>,
    /// What is still missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<StatusDeferred>,
    /// The record that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordStatus>,
    /// The snapshot that the record stands on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotStatus>,
    /// The blueprint that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blueprint: Option<BlueprintStatus>,
    /// Each node, as observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeStatus>,
    /// Where each endpoint is reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointStatus>,
    /// Which generation of which credential is in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<CredentialStatus>,
    /// Which connection each connection parameter uses, and who pays for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<ConnectionStatus>,
    /// The last run of each JOB node that has no schedule, by node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub jobs: BTreeMap<String, JobStatus>,
    /// What was applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inventory: Vec<InventoryEntry>,
    /// The length of each list that was cut, and of those that were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
}

impl InstallationStatus {
    /// The condition `of`, if there is one.
    pub fn condition(&self, of: ConditionType) -> Option<&Condition> {
        let mut conditions = self.conditions.iter();
        conditions.find(|condition| condition.type_ == of.as_ref())
    }
}

/// One diagnostic.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusDiagnostic {
    /// The specification's code.
    pub code: String,
    /// JSON Pointer into the blueprint, or into the Installation where `document` says so.
    pub path: String,
    /// The phase that found it.
    pub phase: String,
    /// The stage of the resolution phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// What is wrong and what to do.
    pub message: String,
    /// `Installation` when the path leads into the Installation itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Places in component documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<StatusRelated>,
}

/// A place in a component document.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusRelated {
    /// The `componentRef` as authored.
    pub artifact: String,
    /// JSON Pointer into it.
    pub path: String,
}

/// One missing fact.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusDeferred {
    /// The rule that waits.
    pub rule: String,
    /// JSON Pointer into the blueprint, or into the Installation where `document` says so.
    pub path: String,
    /// What is missing, as `kind:name`.
    pub missing: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `Installation` when the path leads into the Installation itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

/// The record that runs.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordStatus {
    /// The ResolutionRecord's name.
    pub name: String,
    /// Its version.
    pub version: i64,
}

/// The snapshot that a record stands on.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotStatus {
    /// Opaque.
    pub identity: String,
    /// Opaque.
    pub version: String,
}

/// The blueprint that runs.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlueprintStatus {
    /// `metadata.slug`.
    pub slug: String,
    /// `metadata.revision`.
    pub revision: i64,
    /// SHA-256 of its bytes.
    pub digest: String,
    /// The OCI artifact that it came from, by digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
}

/// One node as observed.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// The node.
    pub name: String,
    /// The component's type.
    pub r#type: String,
    /// `Kind/name` of its workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Ready, Progressing or Failing.
    pub state: String,
    /// Why it is not ready, in one stable word: see docs/reference/reasons.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The run of a JOB node for a record.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobStatus {
    /// The Job's name.
    pub job: String,
    /// How it stands.
    pub outcome: JobOutcome,
    /// When it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Why it failed or waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How the run of a JOB node stands.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display)]
pub enum JobOutcome {
    /// A run for an earlier record has not ended.
    Waiting,
    /// It has been started.
    Running,
    /// It came to a good end.
    Succeeded,
    /// It failed, and is not tried again before the next rollout.
    Failed,
    /// It was started and its Job is gone; it is not run again.
    Lost,
}

impl JobOutcome {
    /// Whether nothing will change it any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Lost)
    }
}

/// Where one endpoint is reached.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointStatus {
    /// The node.
    pub node: String,
    /// The endpoint.
    pub endpoint: String,
    /// Its protocol.
    pub protocol: String,
    /// `host:port` inside the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_address: Option<String>,
    /// Where the public edge serves it: a URL, or `host:port` for TCP and UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_address: Option<String>,
}

/// Which generation of a credential is in use.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CredentialStatus {
    /// The generated parameter.
    pub parameter: String,
    /// The credential's identity.
    pub identity: String,
    /// Its rotation generation.
    pub generation: i64,
}

/// Which connection a connection parameter uses.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionStatus {
    /// The connection parameter.
    pub parameter: String,
    /// The selected connection.
    pub identity: String,
    /// The version of it that was selected.
    pub version: String,
    /// MANAGED by the organization, or the USER's own.
    pub kind: String,
    /// Who pays for its use.
    pub cost_owner: String,
}

/// One object that was applied.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InventoryEntry {
    /// `group/version`, or `v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The name, in the Installation's namespace.
    pub name: String,
}

/// How many entries each list would have without its limit.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each names its list")]
pub struct Totals {
    pub diagnostics: i64,
    pub deferred: i64,
    pub nodes: i64,
    pub endpoints: i64,
    pub credentials: i64,
    #[serde(default)]
    pub connections: i64,
    pub inventory: i64,
}

fn never() -> i64 {
    -1
}
