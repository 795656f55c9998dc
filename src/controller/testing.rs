//! Versions for the tests of this room: one that is whole, and others that differ from it.

use serde_json::{Value, json};

use super::history::Version;
use crate::resolution::snapshot::Snapshot;

/// A version with one of everything.
pub fn version(number: u64) -> Version {
    changed(number, |_| ())
}

/// [`version`] with one change made to its `snapshot`, `pins`, `intent` or `record`.
#[track_caller]
pub fn changed(number: u64, change: impl FnOnce(&mut Value)) -> Version {
    let digest = "a".repeat(64);
    let mut all = json!({
        "snapshot": {
            "formatVersion": 1, "identity": "s", "version": number.to_string(),
            "parameters": {"title": {"value": "t", "sensitive": false}},
            "variables": {"cloud.region": {
                "identity": "v", "version": "7", "value": "eu", "sensitive": false, "authorized": true
            }},
            "credentials": {"key": {"identity": "c", "rotation": 2}},
            "allocations": {"web": {"web": {"identity": "a", "version": "1", "privateHostname": "web.internal"}}},
            "connections": {"installation": "i", "parameters": {"llm": {"status": "NOT_ACQUIRED"}}},
        },
        "pins": {
            "rendererVersion": 1,
            "profiles": {"general.standard.small": {"version": "1", "resources": {}}},
            "environments": {"web": 1},
        },
        "intent": {
            "installation": "wiki",
            "blueprint": {"inline": {"item": "acme-wiki", "files": {}}},
        },
        "record": {
            "version": 1,
            "blueprintDigest": digest,
            "specifications": {"core": "1.0.0", "component": "1.0.0", "blueprint": "1.0.0"},
            "components": {"web": {
                "identity": "./web.yaml", "revision": 3, "digest": digest, "source": "IMAGE",
                "imageDigest": format!("sha256:{digest}"),
                "compute": {"identity": "general.standard.small", "version": "1"},
                "volumes": {"data": {"sizeGiB": 1}}, "exposure": {},
            }},
            "variables": {}, "credentials": {},
            "installationSnapshot": {"identity": "s", "version": number.to_string()},
        },
    });
    change(&mut all);
    let part = |name: &str| all[name].clone();
    Version {
        number,
        snapshot: Snapshot::parse(part("snapshot").to_string().as_bytes()).expect("a snapshot"),
        pins: serde_json::from_value(part("pins")).expect("pins"),
        intent: serde_json::from_value(part("intent")).expect("an intent"),
        record: serde_json::from_value(part("record")).expect("a record"),
    }
}
