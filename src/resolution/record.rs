//! The resolution record, version 1: what an installation resolved to, without a single secret (blueprint §5.2).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contract::blueprint::compute::VolumeAllocation;
use crate::contract::blueprint::exposure::Exposure;
use crate::document::digest::Digest;

/// The release of this contract that this program implements, as records name it.
pub const EDITION: &str = "1.0.0";

/// A record, version 1. Unknown fields are refused; shape alone is not acceptance (see [`super::accept`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    /// The version of this shape: 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u64,
    /// SHA-256 of the blueprint's bytes.
    pub blueprint_digest: Digest,
    /// Exact specification releases.
    pub specifications: Specifications,
    /// What each node is, by node name.
    #[schemars(extend("minProperties" = 1))]
    pub components: BTreeMap<String, RecordedComponent>,
    /// Identity and version of each variable, by its dotted path.
    pub variables: BTreeMap<String, VersionedIdentity>,
    /// Identity and rotation of each generated credential, by parameter.
    pub credentials: BTreeMap<String, CredentialReference>,
    /// The private state behind this record.
    pub installation_snapshot: VersionedIdentity,
}

/// Exact releases of the specifications a record was made under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Specifications {
    /// The core specification.
    #[schemars(regex(pattern = r"^\d+\.\d+\.\d+$"))]
    pub core: String,
    /// The component specification.
    #[schemars(regex(pattern = r"^\d+\.\d+\.\d+$"))]
    pub component: String,
    /// The blueprint specification.
    #[schemars(regex(pattern = r"^\d+\.\d+\.\d+$"))]
    pub blueprint: String,
    /// The listing specification: fits the shape, and is refused by acceptance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^\d+\.\d+\.\d+$"))]
    pub listing: Option<String>,
}

/// What one node resolved to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedComponent {
    /// The authored `componentRef`.
    #[schemars(length(min = 1))]
    pub identity: String,
    /// The component document's revision.
    #[schemars(range(min = 1))]
    pub revision: u64,
    /// SHA-256 of the component document's bytes.
    pub digest: Digest,
    /// Where the workload comes from.
    pub source: SourceKind,
    /// The image that runs: required unless EXTERNAL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub image_digest: Option<String>,
    /// The commit that was built: required for GIT alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^([0-9a-f]{40}|[0-9a-f]{64})$"))]
    pub git_commit: Option<String>,
    /// The compute profile and its version: required unless EXTERNAL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute: Option<VersionedIdentity>,
    /// Volume allocations as authored.
    pub volumes: BTreeMap<String, VolumeAllocation>,
    /// Exposure choices as authored.
    pub exposure: BTreeMap<String, Exposure>,
}

/// Where a recorded workload comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum SourceKind {
    /// Nothing runs.
    External,
    /// An image that exists.
    Image,
    /// An image built from a Git commit.
    Git,
}

/// An opaque identity and an opaque version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionedIdentity {
    /// Opaque, non-empty.
    #[schemars(length(min = 1))]
    pub identity: String,
    /// Opaque, non-empty.
    #[schemars(length(min = 1))]
    pub version: String,
}

/// Which generation of which credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CredentialReference {
    /// Opaque, non-empty.
    #[schemars(length(min = 1))]
    pub identity: String,
    /// The rotation generation, from 0.
    pub rotation: u64,
}
