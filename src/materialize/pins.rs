//! What shapes workloads beyond the contract's snapshot, pinned beside it so that nothing drifts in: compute profile
//! content, platform terms, image configurations, the versions of environments, the renderer's version.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::api::placement::NodeLabels;
use crate::api::platform::{AccessMode, Edge, NetworkPolicyMode};
use crate::api::pods::PodTerms;
use crate::api::profile::ProfileVersion;
use crate::contract::blueprint::compute::Placement;

/// Pinned beside one snapshot, in a key of the same Secret. Holds no secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pins {
    /// The rules that render this record, [`super::RENDERER_VERSION`] when it was made.
    pub renderer_version: u32,
    /// Content of the selected version of each compute profile, by slug.
    pub profiles: BTreeMap<String, ProfileVersion>,
    /// The snapshot version at which each running node's environment last changed: it names the node's Secret.
    pub environments: BTreeMap<String, u64>,
    /// What the platform offers to this installation.
    #[serde(default)]
    pub platform: PlatformPins,
    /// What is known of the image of each running node.
    #[serde(default)]
    pub images: BTreeMap<String, ImagePins>,
    /// The pull secrets of every pod; none where those of the default ServiceAccount serve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<String>,
    /// The OCI artifact that the item came from, if it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactPins>,
}

/// The OCI artifact that an item came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArtifactPins {
    /// The digest of its manifest, as `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// The slug of the item.
    pub item: String,
}

/// The part of the Platform that workloads are made with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlatformPins {
    /// The edge, where the installation has PUBLIC endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<Edge>,
    /// Whether network policies are made.
    #[serde(default)]
    pub network_policy: NetworkPolicyMode,
    /// What serves each volume, by node and volume.
    #[serde(default)]
    pub volumes: BTreeMap<String, BTreeMap<String, VolumePins>>,
    /// Where each node that has placement pins may run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub placement: BTreeMap<String, PlacementPins>,
    /// What holds for its pods.
    #[serde(default)]
    pub pods: PodTerms,
}

/// Where a node may run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlacementPins {
    /// The pins, as the blueprint has them.
    pub asked: Placement,
    /// Of these a host has one, where there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<NodeLabels>,
    /// All of these a host has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all_of: Vec<NodeLabels>,
    /// A label whose number is at least this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<LabelFloor>,
}

/// The least that the number in a label of a host may be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelFloor {
    /// The label's key.
    pub label: String,
    /// The number.
    pub number: u64,
}

/// What serves one volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VolumePins {
    /// The StorageClass; the cluster's default one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
    /// How it is mounted.
    pub access_mode: AccessMode,
}

/// What an image's own configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImagePins {
    /// The user that it runs as: `uid`, `uid:gid` or a name, as its configuration says. Unknown when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The numbers behind a user that is a name, as the image's own list of accounts has them. Unknown when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_as: Option<RunsAs>,
}

/// The numbers of a user and of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunsAs {
    /// The user's.
    pub uid: u32,
    /// Its group's.
    pub gid: u32,
}

impl ImagePins {
    /// The user, where it is known by name only.
    pub fn unknown_user(&self) -> Option<&str> {
        let user = self.user.as_deref()?;
        (names_somebody(user) && self.runs_as.is_none()).then_some(user)
    }
}

/// Whether `user`, as an image's configuration has it, is a name.
pub fn names_somebody(user: &str) -> bool {
    let name = user.split(':').next().unwrap_or_default();
    !name.is_empty() && name.parse::<u32>().is_err()
}
