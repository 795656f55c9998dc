//! Volumes and where they are mounted (component §5.5).

use serde::Deserialize;

/// One volume that a workload declares.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Where it is mounted.
    pub mount_path: String,
    /// The least size in GiB that an allocation may give it.
    #[serde(rename = "minSizeGiB")]
    pub min_size_gib: u64,
    /// Whether the workload only reads it.
    #[serde(default)]
    pub read_only: bool,
    /// Whether every instance mounts it at once; else at most one running instance does.
    #[serde(default)]
    pub shared: bool,
}
