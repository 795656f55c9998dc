//! What shapes workloads beyond the contract's snapshot, pinned beside it so that nothing drifts in: compute profile
//! content, the versions of environments, the renderer's version.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::api::profile::ProfileVersion;

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
}
