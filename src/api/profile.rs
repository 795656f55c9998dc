//! `ComputeProfile`: what a node's compute profile gives it, in versions that never change.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placement::{NodeLabels, SupportedTerms, node_labels};

// Two rules say it, because one pattern with every word in it is over the cost that an API server estimates for a rule.
const SLUG: &str = "a ComputeProfile is named by its slug family.tier.size, for example general.standard.small: use a family, tier and size of the blueprint specification";

/// A compute profile of the catalog, named by its slug, for example `general.standard.small`.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "install.musher.dev",
    version = "v1alpha1",
    kind = "ComputeProfile",
    shortname = "cprof",
    category = "musher",
    derive = "PartialEq",
    printcolumn(name = "Current", type_ = "string", json_path = ".spec.currentVersion"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.matches('^(general|compute|memory|storage|gpu|accelerator)[.](economy|standard|performance|premium)[.][a-z]+$')")
        .message(SLUG),
    validation = Rule::new("self.metadata.name.matches('[.](nano|small|medium|large|xlarge)$')")
        .message(SLUG)
)]
#[x_kube(
    validation = Rule::new("self.versions.exists(v, v.version == self.currentVersion)")
        .message("currentVersion names none of the versions: add that version, or name one that is there")
)]
pub struct ComputeProfileSpec {
    /// The version that a first resolution or an explicit update selects.
    #[schemars(length(min = 1, max = 63))]
    pub current_version: String,
    /// Every version that may still be named.
    #[schemars(length(min = 1, max = 64), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["version"]))]
    pub versions: Vec<ProfileVersion>,
}

/// One version of a profile; immutable.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self == oldSelf").message("a profile version is immutable: add another version and make it current")
)]
pub struct ProfileVersion {
    /// Opaque.
    #[schemars(length(min = 1, max = 63))]
    pub version: String,
    /// What a workload gets.
    pub resources: Resources,
    /// Labels of the cluster nodes that it runs on.
    #[serde(default, skip_serializing_if = "NodeLabels::is_empty")]
    #[schemars(schema_with = "node_labels")]
    pub node_selector: NodeLabels,
    /// The placement terms that it supports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<SupportedTerms>,
}

/// Compute resources of one instance, by resource name.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// What is reserved.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantities")]
    pub requests: BTreeMap<String, Quantity>,
    /// What is never exceeded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantities")]
    pub limits: BTreeMap<String, Quantity>,
}

impl ComputeProfileSpec {
    /// The content of `version`.
    pub fn version(&self, version: &str) -> Option<&ProfileVersion> {
        self.versions
            .iter()
            .find(|candidate| candidate.version == version)
    }
}

/// Quantities by resource name, bounded as everything else; the derived schema would carry a page of prose.
fn quantities(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": {
            "description": "A quantity, for example 500m or 256Mi.",
            "x-kubernetes-int-or-string": true,
            "maxLength": 32,
            "pattern": r"^[0-9]+([.][0-9]+)?([EPTGMk]|[EPTGMK]i|m|[eE][0-9]+)?$"
        },
        "x-kubernetes-validations": [{
            "rule": "self.all(name, name.size() <= 317)",
            "message": "the keys are resource names of at most 317 characters, for example cpu or nvidia.com/gpu"
        }]
    })
}
