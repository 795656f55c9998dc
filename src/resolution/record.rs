//! The resolution record, version 1: what an installation resolved to, without a single secret (blueprint §5.2).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::snapshot::Snapshot;
use crate::contract::blueprint::compute::VolumeAllocation;
use crate::contract::blueprint::exposure::Exposure;
use crate::contract::component::Component;
use crate::contract::component::source::Source;
use crate::contract::contracts::Contracts;
use crate::document::digest::Digest;
use crate::document::optional;

/// The release of this contract that this program implements, as records name it.
pub const EDITION: &str = "1.0.0";

/// The specifications that a record names, each with the specifications that it depends on.
pub const SPECIFICATIONS: [(&str, &[&str]); 3] = [
    ("core", &[]),
    ("component", &["core"]),
    ("blueprint", &["core", "component"]),
];

/// The dependency manifest of each specification: specification → dependency → edition.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct SpecificationDependencies(pub BTreeMap<String, BTreeMap<String, String>>);

impl SpecificationDependencies {
    /// The manifests of the editions that this program implements.
    pub fn of_this_edition() -> Self {
        let manifest = |dependencies: &[&str]| {
            dependencies
                .iter()
                .map(|name| ((*name).to_owned(), EDITION.to_owned()))
                .collect()
        };
        Self(
            SPECIFICATIONS
                .iter()
                .map(|(name, dependencies)| ((*name).to_owned(), manifest(dependencies)))
                .collect(),
        )
    }
}

/// What was selected for one node that runs, beside what the documents say. All of it absent for an EXTERNAL node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The image that runs, as `sha256:` and 64 hexadecimal digits.
    pub image_digest: Option<String>,
    /// For a Git source: the full object id of the commit that was built.
    pub git_commit: Option<String>,
    /// The version of the authored compute profile.
    pub compute_version: Option<String>,
}

/// The record of what `contracts` resolved to with `selections`, by node, and the selections of `snapshot`. The same
/// arguments give an equal record.
///
/// It only copies: whether a needed selection is missing, or contradicts what is authored, is for
/// [`accept`](super::accept::accept) to say.
pub fn record(
    contracts: &Contracts,
    selections: &BTreeMap<String, Selection>,
    snapshot: &Snapshot,
) -> Record {
    let component = |node: &String| {
        let selection = selections.get(node).cloned().unwrap_or_default();
        (node.clone(), recorded(contracts, node, selection))
    };
    let variable = |(path, variable): (&String, &super::context::Variable)| {
        let selected = VersionedIdentity {
            identity: variable.identity.clone().unwrap_or_default(),
            version: variable.version.clone().unwrap_or_default(),
        };
        (path.clone(), selected)
    };
    Record {
        version: 1,
        blueprint_digest: contracts.digest.clone(),
        specifications: Specifications {
            core: EDITION.to_owned(),
            component: EDITION.to_owned(),
            blueprint: EDITION.to_owned(),
            listing: None,
        },
        components: contracts.components.keys().map(component).collect(),
        variables: snapshot.variables().iter().map(variable).collect(),
        credentials: snapshot.credentials().clone(),
        installation_snapshot: VersionedIdentity {
            identity: snapshot.identity.clone(),
            version: snapshot.version.clone(),
        },
    }
}

fn recorded(contracts: &Contracts, node: &str, selection: Selection) -> RecordedComponent {
    let authored = &contracts.blueprint.spec.components[node];
    let contract = &contracts.components[node];
    let compute = |version| {
        authored.compute.as_ref().map(|compute| VersionedIdentity {
            identity: compute.profile.clone(),
            version,
        })
    };
    RecordedComponent {
        identity: authored.component_ref.clone(),
        revision: contract.component.metadata.revision,
        digest: contract.digest.clone(),
        source: SourceKind::of(&contract.component),
        image_digest: selection.image_digest,
        git_commit: selection.git_commit,
        compute: selection.compute_version.and_then(compute),
        volumes: authored.volumes.clone(),
        exposure: authored.exposure.clone(),
    }
}

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
    #[serde(
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
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
    #[serde(
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub image_digest: Option<String>,
    /// The commit that was built: required for GIT alone.
    #[serde(
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(regex(pattern = "^([0-9a-f]{40}|[0-9a-f]{64})$"))]
    pub git_commit: Option<String>,
    /// The compute profile and its version: required unless EXTERNAL.
    #[serde(
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
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

impl SourceKind {
    /// Where the workload of `component` comes from.
    pub fn of(component: &Component) -> Self {
        match component
            .spec
            .workload
            .as_ref()
            .map(|workload| &workload.source)
        {
            None => Self::External,
            Some(Source::Image(_)) => Self::Image,
            Some(Source::Git(_)) => Self::Git,
        }
    }
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
