//! `ResolutionRecord`: one accepted record of one installation, immutable.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::resolution::record::Record;

/// The resolution record that an installation's workloads come from. `spec` is exactly the record's shape.
#[derive(CustomResource, JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[kube(
    group = "install.musher.dev",
    version = "v1alpha1",
    kind = "ResolutionRecord",
    namespaced,
    shortname = "rrec",
    category = "musher",
    derive = "PartialEq",
    printcolumn(name = "Identity", type_ = "string", json_path = ".metadata.labels.install\\.musher\\.dev/identity"),
    printcolumn(name = "Version", type_ = "string", json_path = ".metadata.labels.install\\.musher\\.dev/version"),
    printcolumn(name = "Snapshot", type_ = "string", json_path = ".spec.installationSnapshot.version"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.spec == oldSelf.spec").message("a ResolutionRecord is immutable: change its Installation instead")
)]
pub struct ResolutionRecordSpec(pub Record);
