//! Whether an object still is what the operator applied: the live object covers what is wanted, and the operator owns
//! nothing beyond it. This is what lets an idle reconcile write nothing. Pure.

use std::cmp::Ordering;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::DynamicObject;
use kube_quantity::ParsedQuantity;
use serde_json::{Map, Value};

use crate::api::names::FIELD_MANAGER;

/// Whether applying `wanted` would leave `live` as it is.
///
/// Guarantees: a field of `wanted` that `live` lacks or has with another value, and a field that the operator owns and no
/// longer wants, are drift; fields of other managers and the server's defaults are not.
pub fn is_intact(wanted: &DynamicObject, live: &DynamicObject) -> bool {
    let Some(owned) = owned_fields(live) else {
        return false;
    };
    // An object out of a list does not say its kind; whoever compares has read the right one.
    let untyped = |object: &DynamicObject| {
        serde_json::to_value(DynamicObject {
            types: None,
            ..object.clone()
        })
    };
    let (Ok(wanted), Ok(live)) = (untyped(wanted), untyped(live)) else {
        return false;
    };
    covers(&live, &wanted, Some(&owned)) && wants_all(&wanted, &owned)
}

/// The fields that the operator applied, as the server accounts for them.
fn owned_fields(live: &DynamicObject) -> Option<Value> {
    live.metadata
        .managed_fields
        .iter()
        .flatten()
        .find(|entry| {
            entry.manager.as_deref() == Some(FIELD_MANAGER)
                && entry.operation.as_deref() == Some("Apply")
                && entry.subresource.is_none()
        })
        .and_then(|entry| entry.fields_v1.as_ref())
        .map(|fields| fields.0.clone())
}

/// Whether everything in `wanted` is in `live`. `owned` tells which lists are matched by key.
fn covers(live: &Value, wanted: &Value, owned: Option<&Value>) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => wanted.iter().all(|(name, wanted)| {
            let below = owned.and_then(|owned| owned.get(format!("f:{name}")));
            live.get(name)
                .map_or(is_zero(wanted), |live| match name.as_str() {
                    "requests" | "limits" => same_quantities(live, wanted),
                    _ => covers(live, wanted, below),
                })
        }),
        (Value::Array(live), Value::Array(wanted)) => {
            match owned.map(keyed).filter(|keyed| !keyed.is_empty()) {
                Some(keyed) => wanted.iter().all(|wanted| {
                    let element = keyed.iter().find(|(key, _)| has_key(wanted, key));
                    element.is_some_and(|(key, owned)| {
                        live.iter()
                            .any(|live| has_key(live, key) && covers(live, wanted, Some(owned)))
                    })
                }),
                None => {
                    live.len() == wanted.len()
                        && live
                            .iter()
                            .zip(wanted)
                            .all(|(live, wanted)| covers(live, wanted, None))
                }
            }
        }
        (live, wanted) => live == wanted,
    }
}

/// Whether the server leaves out a field of this value: for many fields it takes zero, false and empty text for absence.
/// Where it does not, it keeps the value that was applied or puts a default in its place, and so never leaves it out.
fn is_zero(wanted: &Value) -> bool {
    match wanted {
        Value::Bool(truth) => !truth,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether every field of `owned` is in `wanted`.
fn wants_all(wanted: &Value, owned: &Value) -> bool {
    let Value::Object(owned) = owned else {
        return true;
    };
    owned
        .iter()
        .all(|(part, below)| match part.split_at_checked(2) {
            Some(("f:", name)) => wanted
                .get(name)
                .is_some_and(|wanted| wants_all(wanted, below)),
            Some(("k:", _)) => match (wanted, key(part)) {
                (Value::Array(wanted), Some(key)) => wanted
                    .iter()
                    .any(|wanted| has_key(wanted, &key) && wants_all(wanted, below)),
                _ => false,
            },
            // Members of sets and the marker "." name nothing that `covers` has not compared.
            _ => true,
        })
}

/// The keyed elements of a list, as the server accounts for them.
fn keyed(owned: &Value) -> Vec<(Map<String, Value>, &Value)> {
    let parts = owned.as_object().into_iter().flatten();
    parts
        .filter_map(|(part, below)| key(part).map(|key| (key, below)))
        .collect()
}

/// The key of an element: `k:{"name":"web"}`.
fn key(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(part.strip_prefix("k:")?).ok()
}

fn has_key(element: &Value, key: &Map<String, Value>) -> bool {
    key.iter()
        .all(|(name, value)| element.get(name) == Some(value))
}

/// Whether two maps of quantities are the same amounts: the server writes quantities of its own kinds canonically.
fn same_quantities(live: &Value, wanted: &Value) -> bool {
    let amount =
        |value: &Value| ParsedQuantity::try_from(Quantity(value.as_str()?.to_owned())).ok();
    wanted
        .as_object()
        .into_iter()
        .flatten()
        .all(|(name, wanted)| {
            let (live, wanted) = (live.get(name).and_then(amount), amount(wanted));
            live.is_some() && live.partial_cmp(&wanted) == Some(Ordering::Equal)
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live(spec: Value, owned: Value) -> DynamicObject {
        serde_json::from_value(json!({
            "metadata": {"name": "web", "managedFields": [
                {"manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": {"f:spec": owned}}
            ]},
            "spec": spec,
        }))
        .expect("an object")
    }

    fn wanted(spec: Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec,
        }))
        .expect("an object")
    }

    #[test]
    fn an_object_is_intact_until_a_wanted_field_differs_or_an_owned_field_is_no_longer_wanted() {
        let containers = json!({"f:containers": {
            "k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}, "f:resources": {"f:requests": {"f:cpu": {}}}}
        }});
        let want = json!({"containers": [{"name": "web", "image": "a", "resources": {"requests": {"cpu": "0.5"}}}]});
        let container = |image: &str| json!({"name": "web", "image": image, "imagePullPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}});
        let injected = json!({"name": "sidecar", "image": "b"});
        for (name, spec, owned, expected) in [
            (
                "as applied, with defaults",
                json!({"containers": [container("a")]}),
                containers.clone(),
                true,
            ),
            (
                "with a sidecar of another manager",
                json!({"containers": [injected, container("a")]}),
                containers.clone(),
                true,
            ),
            (
                "with another image",
                json!({"containers": [container("b")]}),
                containers.clone(),
                false,
            ),
            (
                "without the container",
                json!({"containers": []}),
                containers.clone(),
                false,
            ),
            (
                "with an owned field too many",
                json!({"containers": [container("a")], "paused": true}),
                json!({"f:paused": {}, "f:containers": containers["f:containers"]}),
                false,
            ),
        ] {
            assert_eq!(
                is_intact(&wanted(want.clone()), &live(spec, owned)),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn a_zero_that_the_server_does_not_store_is_no_drift() {
        let want = json!({"delay": 0, "value": "", "paused": false, "replicas": 0});
        let owned = json!({"f:delay": {}, "f:value": {}, "f:paused": {}, "f:replicas": {}});
        for (name, spec, expected) in [
            ("left out", json!({"replicas": 0}), true),
            ("another value", json!({"replicas": 1}), false),
        ] {
            let live = live(spec, owned.clone());
            assert_eq!(is_intact(&wanted(want.clone()), &live), expected, "{name}");
        }
    }

    #[test]
    fn an_object_that_the_operator_never_applied_is_not_intact() {
        let mut stranger = live(json!({"replicas": 1}), json!({}));
        stranger.metadata.managed_fields = None;
        assert!(!is_intact(&wanted(json!({"replicas": 1})), &stranger));
    }
}
