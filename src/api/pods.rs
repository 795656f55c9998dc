//! What a Platform says of the pods of every installation: how hardened they are, where they are let, and what else they
//! are marked with.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use super::platform::texts;

/// What holds for the pods of every installation.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodTerms {
    /// The pod security level that pods are made for. Left out, it is Restricted in a namespace that enforces it, and
    /// else Baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_level: Option<SecurityLevel>,
    /// Taints that the pods tolerate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub tolerations: Vec<Toleration>,
    /// Labels of every workload and its pods. Those that the operator gives itself win.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "labels")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of every workload and its pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "texts")]
    pub annotations: BTreeMap<String, String>,
}

impl PodTerms {
    /// Whether pods have to fit the level Restricted.
    pub fn is_restricted(&self) -> bool {
        self.security_level == Some(SecurityLevel::Restricted)
    }
}

/// A level of Kubernetes's pod security standards.
#[derive(
    JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display, IntoStaticStr,
)]
pub enum SecurityLevel {
    /// What most images run under.
    Baseline,
    /// No root, no capabilities, no more privileges than at the start: the image has to name its user by number.
    Restricted,
}

/// A taint that pods tolerate.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Toleration {
    /// The taint's key; every taint when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 317))]
    pub key: Option<String>,
    /// The taint's value; any when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub value: Option<String>,
    /// The taint's effect; all of them when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
}

/// What a taint does to pods that do not tolerate it.
#[derive(
    JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display, IntoStaticStr,
)]
pub enum Effect {
    /// They are not scheduled there.
    NoSchedule,
    /// They are scheduled there last.
    PreferNoSchedule,
    /// They have to leave, too.
    NoExecute,
}

/// Labels, whose values are narrower than those of annotations.
fn labels(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 32,
        "additionalProperties": {
            "type": "string",
            "maxLength": 63,
            "pattern": "^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$"
        },
        "x-kubernetes-validations": [{
            "rule": "self.all(key, key.size() <= 317)",
            "message": "a key is a name of at most 63 characters, after a DNS name and a slash where it has a prefix"
        }]
    })
}
