//! `Platform`: what the cluster offers to every installation.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// What the cluster offers. One object, named `default` unless the operator is told otherwise.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "install.musher.dev",
    version = "v1alpha1",
    kind = "Platform",
    category = "musher",
    derive = "PartialEq",
    printcolumn(
        name = "Cluster Domain",
        type_ = "string",
        json_path = ".spec.clusterDomain"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct PlatformSpec {
    /// The DNS domain of the cluster's Services.
    #[serde(default = "cluster_local")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
    )]
    pub cluster_domain: String,
}

impl Default for PlatformSpec {
    /// What holds when the cluster has no Platform object.
    fn default() -> Self {
        Self {
            cluster_domain: cluster_local(),
        }
    }
}

fn cluster_local() -> String {
    "cluster.local".to_owned()
}
