//! The effective document: every omitted field that has a default, filled in where the object around it was authored. No
//! object is invented, and a field that may not be there stays absent.

use serde_json::{Value, json};

use super::envelope::Family;

/// A field with a default: the path of the objects that may carry it (`*` is any member), its name and its default.
type Default = (&'static [&'static str], &'static str, fn() -> Value);

const INPUT: &[&str] = &["spec", "contract", "inputs", "*"];
const OUTPUT: &[&str] = &["spec", "contract", "outputs", "*"];
const VOLUME: &[&str] = &["spec", "workload", "volumes", "*"];
const PROBE: &[&str] = &["spec", "workload", "health", "*"];
const GENERATOR: &[&str] = &["spec", "parameters", "*", "generator"];
const UI: &[&str] = &["spec", "parameters", "*", "ui"];

const COMPONENT: &[Default] = &[
    (INPUT, "required", || json!(true)),
    (INPUT, "sensitive", || json!(false)),
    (OUTPUT, "sensitive", || json!(false)),
    (VOLUME, "readOnly", || json!(false)),
    (VOLUME, "shared", || json!(false)),
    (PROBE, "initialDelaySeconds", || json!(10)),
    (PROBE, "periodSeconds", || json!(10)),
    (PROBE, "timeoutSeconds", || json!(5)),
    (PROBE, "successThreshold", || json!(1)),
    (PROBE, "failureThreshold", || json!(3)),
];

const BLUEPRINT: &[Default] = &[
    (GENERATOR, "byteLength", || json!(32)),
    (GENERATOR, "encoding", || json!("HEX")),
    (UI, "prominence", || json!("PRIMARY")),
];

/// `document` with its defaults filled in. Doing it twice changes nothing more.
#[must_use]
pub fn normalize(family: Family, mut document: Value) -> Value {
    let defaults = match family {
        Family::Component => COMPONENT,
        Family::Blueprint => BLUEPRINT,
    };
    for (path, field, default) in defaults {
        for object in objects(&mut document, path) {
            if let Value::Object(members) = object {
                members.entry(*field).or_insert_with(default);
            }
        }
    }
    document
}

/// The values that `path` leads to.
fn objects<'a>(document: &'a mut Value, path: &[&str]) -> Vec<&'a mut Value> {
    path.iter().fold(vec![document], |values, step| {
        values
            .into_iter()
            .filter_map(Value::as_object_mut)
            .flat_map(|members| {
                members
                    .iter_mut()
                    .filter(move |(name, _)| *step == "*" || name == step)
                    .map(|(_, value)| value)
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::blueprint::Blueprint;
    use crate::contract::component::Component;
    use serde::de::DeserializeOwned;

    /// The typed model fills in the same defaults, so normalizing must not change what it reads.
    #[track_caller]
    fn agrees<T: DeserializeOwned + PartialEq + std::fmt::Debug>(family: Family, authored: Value) {
        let normalized = normalize(family, authored.clone());
        assert_ne!(normalized, authored, "something had a default");
        assert_eq!(normalize(family, normalized.clone()), normalized);
        let read = |value| serde_json::from_value::<T>(value).expect("a document");
        assert_eq!(read(authored), read(normalized));
    }

    #[test]
    fn the_typed_model_and_normalization_agree_on_every_default() {
        agrees::<Component>(
            Family::Component,
            json!({
                "metadata": {"revision": 1, "description": "x"},
                "spec": {
                    "type": "SERVICE",
                    "workload": {
                        "source": {"image": "a:1"},
                        "endpoints": {"web": {"targetPort": 80, "protocol": "HTTP"}},
                        "health": {"readiness": {"http": {"endpoint": "web", "path": "/"}}},
                        "volumes": {"data": {"mountPath": "/data", "minSizeGiB": 1}},
                    },
                    "contract": {
                        "inputs": {"a": {"schema": {"type": "string"}, "description": "a", "target": {"envVarKey": "A"}}},
                        "outputs": {"b": {"schema": {"type": "string"}, "description": "b", "from": {"input": "a"}}},
                    },
                },
            }),
        );
        agrees::<Blueprint>(
            Family::Blueprint,
            json!({
                "metadata": {"slug": "ab", "revision": 1, "description": "x"},
                "spec": {
                    "components": {"web": {"componentRef": "./web.yaml"}},
                    "parameters": {"a": {"generator": {}, "ui": {"label": "A"}}},
                },
            }),
        );
    }

    #[test]
    fn no_object_is_invented() {
        let bare = json!({"spec": {"type": "EXTERNAL", "contract": {}}});
        assert_eq!(normalize(Family::Component, bare.clone()), bare);
    }
}
