//! `ComponentRevision`: a published component contract, as it was published.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// One revision of a published component: what a node with this identity for its `componentRef` deploys. Immutable.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(clippy::duplicated_attributes, reason = "each column has a type")]
#[kube(
    group = "install.musher.dev",
    version = "v1alpha1",
    kind = "ComponentRevision",
    shortname = "crev",
    category = "musher",
    derive = "PartialEq",
    selectable = ".spec.identity",
    selectable = ".spec.revision",
    printcolumn(name = "Identity", type_ = "string", json_path = ".spec.identity"),
    printcolumn(name = "Revision", type_ = "integer", json_path = ".spec.revision"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[x_kube(
    validation = Rule::new("self == oldSelf").message("a ComponentRevision is immutable: publish another revision")
)]
pub struct ComponentRevisionSpec {
    /// The component's identity, a UUID in small letters.
    #[schemars(
        length(min = 36, max = 36),
        regex(pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
    )]
    pub identity: String,
    /// The revision that it was published as; equals the document's `metadata.revision`.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub revision: u64,
    /// SHA-256 of the document's bytes, 64 hexadecimal digits in small letters. A document of another digest is refused.
    #[schemars(length(min = 64, max = 64), regex(pattern = "^[0-9a-f]{64}$"))]
    pub digest: String,
    /// The component document, byte for byte as it was published.
    #[schemars(length(min = 1, max = 1_048_576))]
    pub document: String,
}

/// How a ComponentRevision is called in messages and found by those that wait for it: `identity@revision`.
pub fn named(identity: &str, revision: u64) -> String {
    format!("{identity}@{revision}")
}
