//! What the kinds of an organization's catalog share: the path that they are asked for by, and which namespaces may use
//! an object of the cluster.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::SelectorExt;
use kube::core::cel::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connection::ClusterConnection;
use super::variable::ClusterVariable;

/// The field that an object of the catalog is found by.
pub const PATH_FIELD: &str = "spec.path";

/// Which namespaces may use an object of the cluster: those that are named, and those that the selector matches. Neither
/// permits none.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedNamespaces {
    /// Namespaces by name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(schema_with = "names")]
    pub names: BTreeSet<String>,
    /// Namespaces by their labels; `{}` matches every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "selector")]
    pub selector: Option<LabelSelector>,
}

impl AllowedNamespaces {
    /// Whether the namespace of this name may use it, as far as its labels need not be known.
    pub fn by_name(&self, namespace: &str) -> bool {
        self.names.contains(namespace)
    }

    /// Whether a namespace with `labels` may use it. A selector that Kubernetes would not take matches none.
    pub fn by_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        let selector = self.selector.clone();
        let selector = selector.map(kube::core::Selector::try_from);
        selector.is_some_and(|selector| selector.is_ok_and(|selector| selector.matches(labels)))
    }
}

/// An object of the cluster that an organization's path names.
pub trait CatalogEntry {
    /// Which namespaces may use it.
    fn allowed_namespaces(&self) -> &AllowedNamespaces;
}

impl CatalogEntry for ClusterVariable {
    fn allowed_namespaces(&self) -> &AllowedNamespaces {
        &self.spec.allowed_namespaces
    }
}

impl CatalogEntry for ClusterConnection {
    fn allowed_namespaces(&self) -> &AllowedNamespaces {
        &self.spec.allowed_namespaces
    }
}

/// A path never changes: what was found by it stays what it is.
pub(super) fn immutable_path() -> Rule {
    Rule::new("self == oldSelf").message(
        "spec.path is immutable: create another object for another path, and delete this one",
    )
}

/// The grammar of a dotted path (core §5), for schemas.
pub(super) fn path(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "minLength": 1,
        "maxLength": 256,
        "pattern": r"^[a-z][a-zA-Z0-9]*([.][a-z][a-zA-Z0-9]*)*$"
    })
}

fn names(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "maxItems": 256,
        "x-kubernetes-list-type": "set",
        "items": {"type": "string", "minLength": 1, "maxLength": 63}
    })
}

/// A label selector as Kubernetes has it, bounded as everything else.
fn selector(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let label = serde_json::json!({"type": "string", "maxLength": 63});
    schemars::json_schema!({
        "type": "object",
        "properties": {
            "matchLabels": {
                "description": "Labels that a namespace has, all of them.",
                "type": "object",
                "maxProperties": 32,
                "additionalProperties": label,
                "x-kubernetes-validations": [{
                    "rule": "self.all(key, key.size() <= 317)",
                    "message": "a key is a label's name of at most 63 characters, after a DNS name and a slash where it has a prefix"
                }]
            },
            "matchExpressions": {
                "description": "Conditions that a namespace's labels meet, all of them.",
                "type": "array",
                "maxItems": 16,
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {"description": "The label's name.", "type": "string", "minLength": 1, "maxLength": 317},
                        "operator": {"description": "How it is compared.", "type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                        "values": {
                            "description": "What it is compared with, for In and NotIn.",
                            "type": "array",
                            "maxItems": 64,
                            "items": label
                        }
                    }
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_namespace_is_allowed_by_its_name_or_by_its_labels_and_else_not() {
        for (allowed, expected) in [
            (json!({}), [false, false]),
            (json!({"names": ["shop"]}), [true, false]),
            (json!({"names": ["other"]}), [false, false]),
            (json!({"selector": {}}), [false, true]),
            (
                json!({"selector": {"matchLabels": {"tier": "prod"}}}),
                [false, true],
            ),
            (
                json!({"selector": {"matchLabels": {"tier": "dev"}}}),
                [false, false],
            ),
            (
                json!({"selector": {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["dev"]}]}}),
                [false, true],
            ),
            (
                json!({"selector": {"matchExpressions": [{"key": "tier", "operator": "Near", "values": ["dev"]}]}}),
                [false, false],
            ),
        ] {
            let parsed: AllowedNamespaces =
                serde_json::from_value(allowed.clone()).expect("a shape");
            let labels = BTreeMap::from([("tier".to_owned(), "prod".to_owned())]);
            let found = [parsed.by_name("shop"), parsed.by_labels(&labels)];
            assert_eq!(found, expected, "{allowed}");
        }
    }
}
