//! The persisted shape of a snapshot: written as canonical JSON, read strictly. A changed shape is another format version.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Connections, Selections, Snapshot, map_values};
use crate::document::canonical;
use crate::resolution::record::CredentialReference;
use crate::resolution::secret::{Secret, SecretJson};
use crate::resolution::wire::{self, Malformed};

/// The version of the persisted shape that this program writes and reads.
pub const FORMAT_VERSION: u64 = 1;

/// Why bytes are no snapshot. Says where, never what: a snapshot's text is secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Written by a later release, whose meaning this program cannot know.
    #[error(
        "the snapshot has format version {found}, and this program reads {FORMAT_VERSION}; run the release that wrote it or a later one"
    )]
    Newer {
        /// The format version found.
        found: u64,
    },
    /// Not the shape of this format version.
    #[error("the snapshot is {0}; restore it as it was persisted")]
    Malformed(#[from] Malformed),
}

impl Snapshot {
    /// The bytes to persist: canonical JSON, byte-identical for the same selections under the same
    /// name, without a credential's value.
    pub fn to_secret_bytes(&self) -> Secret<Vec<u8>> {
        let selections = &self.selections;
        let mut snapshot = json!({
            "formatVersion": FORMAT_VERSION,
            "identity": self.identity,
            "version": self.version,
            "parameters": map_values(&selections.parameters, |held| {
                json!({"value": held.expose(), "sensitive": held.is_sensitive()})
            }),
            "variables": map_values(&selections.variables, |variable| {
                json!({
                    "identity": variable.identity,
                    "version": variable.version,
                    "value": variable.value.expose(),
                    "sensitive": variable.value.is_sensitive(),
                    "authorized": variable.authorized,
                })
            }),
            "credentials": selections.credentials,
            "allocations": selections.allocations,
        });
        if let Some(connections) = &selections.connections {
            snapshot["connections"] = json!({
                "installation": connections.installation,
                "parameters": map_values(&connections.parameters, |answer| answer.expose().0.clone()),
            });
        }
        // The tree is a copy of secrets: in custody, it is wiped as soon as its text is written.
        let snapshot = Secret::new(SecretJson(snapshot));
        Secret::new(canonical::text(&snapshot.expose().0).into_bytes())
    }

    /// Reads a persisted snapshot. Unknown members are refused. A credential may carry its value, which is then joined.
    ///
    /// # Errors
    /// [`SnapshotError::Newer`] for a later format version, [`SnapshotError::Malformed`] for anything else that is not
    /// the shape; neither quotes the text.
    pub fn parse(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let Versioned { format_version } =
            serde_json::from_slice(bytes).map_err(Malformed::from)?;
        if format_version > FORMAT_VERSION {
            return Err(SnapshotError::Newer {
                found: format_version,
            });
        }
        if format_version < FORMAT_VERSION {
            return Err(Malformed { line: 1, column: 1 }.into());
        }
        let wire: Wire = serde_json::from_slice(bytes).map_err(Malformed::from)?;
        Ok(wire.into())
    }
}

/// The one member that every format version has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Versioned {
    format_version: u64,
}

/// The persisted shape.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wire {
    #[serde(rename = "formatVersion")]
    _format_version: u64,
    identity: String,
    version: String,
    parameters: BTreeMap<String, wire::Supplied>,
    variables: BTreeMap<String, wire::Variable>,
    credentials: BTreeMap<String, WireCredential>,
    allocations: BTreeMap<String, BTreeMap<String, Value>>,
    connections: Option<wire::Connections>,
}

/// A credential by reference, with its value where it is supplied together with the snapshot.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCredential {
    identity: String,
    rotation: u64,
    value: Option<String>,
    /// Accepted and not needed: a generated value is always sensitive (BP-PARAM-004).
    #[serde(rename = "sensitive")]
    _sensitive: Option<bool>,
}

impl From<Wire> for Snapshot {
    fn from(wire: Wire) -> Self {
        let mut joined = BTreeMap::new();
        let mut credentials = BTreeMap::new();
        for (name, credential) in wire.credentials {
            if let Some(value) = credential.value {
                joined.insert(name.clone(), Secret::new(value));
            }
            let reference = CredentialReference {
                identity: credential.identity,
                rotation: credential.rotation,
            };
            credentials.insert(name, reference);
        }
        Self {
            identity: wire.identity,
            version: wire.version,
            selections: Selections {
                parameters: wire::held(wire.parameters),
                variables: wire::held(wire.variables),
                credentials,
                allocations: wire.allocations,
                connections: wire.connections.map(|connections| Connections {
                    installation: connections.installation.clone(),
                    parameters: connections.into_answers(),
                }),
            },
            joined,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resolution::testing::context;

    fn everything() -> Value {
        json!({
            "parameters": {"title": {"value": {"b": 1, "a": [null, 1.5]}, "sensitive": false}, "token": {"value": "t0ken", "sensitive": true}},
            "variables": {"cloud.region": {"identity": "v", "version": "7", "value": "eu", "sensitive": false, "authorized": true}},
            "credentials": {"key": {"identity": "c", "rotation": 2, "value": "s3cret"}},
            "allocations": {"web": {"web": {"identity": "a", "version": "1", "privateHostname": "web.internal"}}},
            "connections": {"installation": "i", "parameters": {"llm": {"status": "NOT_ACQUIRED"}}},
        })
    }

    fn snapshot() -> Snapshot {
        Snapshot::of("s", "1", &context(&everything()))
    }

    fn text(snapshot: &Snapshot) -> String {
        String::from_utf8(snapshot.to_secret_bytes().expose().clone()).expect("JSON is UTF-8")
    }

    /// The persisted snapshot with one change made to it.
    fn changed(change: impl FnOnce(&mut Value)) -> Result<Snapshot, SnapshotError> {
        let mut value: Value = serde_json::from_str(&text(&snapshot())).expect("JSON");
        change(&mut value);
        Snapshot::parse(value.to_string().as_bytes())
    }

    #[test]
    fn what_is_persisted_is_read_back() {
        let snapshot = snapshot();
        assert_eq!(Snapshot::parse(text(&snapshot).as_bytes()), Ok(snapshot));
    }

    #[test]
    fn the_persisted_shape_is_this_one() {
        assert_eq!(
            text(&snapshot()),
            concat!(
                r#"{"allocations":{"web":{"web":{"identity":"a","privateHostname":"web.internal","version":"1"}}},"#,
                r#""connections":{"installation":"i","parameters":{"llm":{"status":"NOT_ACQUIRED"}}},"#,
                r#""credentials":{"key":{"identity":"c","rotation":2}},"#,
                r#""formatVersion":1,"identity":"s","#,
                r#""parameters":{"title":{"sensitive":false,"value":{"a":[null,1.5],"b":1}},"token":{"sensitive":true,"value":"t0ken"}},"#,
                r#""variables":{"cloud.region":{"authorized":true,"identity":"v","sensitive":false,"value":"eu","version":"7"}},"#,
                r#""version":"1"}"#
            )
        );
    }

    #[test]
    fn a_replay_is_given_every_selection_and_the_credentials_that_were_joined() {
        let credentials = BTreeMap::from([
            ("key".to_owned(), Secret::new("s3cret".to_owned())),
            ("other".to_owned(), Secret::new("unasked".to_owned())),
        ]);
        let snapshot = snapshot();
        assert_eq!(snapshot.context().credentials, BTreeMap::new());
        assert_eq!(snapshot.join(credentials).context(), context(&everything()));
    }

    #[test]
    fn a_credential_may_bring_its_value_but_is_never_persisted_with_it() {
        let joined = changed(|value| {
            value["credentials"]["key"]["value"] = json!("s3cret");
            value["credentials"]["key"]["sensitive"] = json!(true);
        })
        .expect("a snapshot");
        assert_eq!(joined.context(), context(&everything()));
        assert_eq!(text(&joined), text(&snapshot()));
    }

    #[test]
    fn an_installation_without_connections_pins_none() {
        let mut context = context(&everything());
        context.connections.clear();
        let snapshot = Snapshot::of("s", "1", &context);
        assert!(!text(&snapshot).contains("connections"));
        assert_eq!(Snapshot::parse(text(&snapshot).as_bytes()), Ok(snapshot));
    }

    #[test]
    fn a_newer_snapshot_is_told_apart_whatever_it_holds() {
        for (name, change) in [
            (
                "the same members",
                (|value| value["formatVersion"] = json!(2)) as fn(&mut Value),
            ),
            ("other members", |value| {
                *value = json!({"formatVersion": 2, "selections": []})
            }),
        ] {
            assert_eq!(
                changed(change),
                Err(SnapshotError::Newer { found: 2 }),
                "{name}"
            );
        }
    }

    #[test]
    fn anything_else_is_malformed_and_never_quoted() {
        for (name, change) in [
            (
                "an older version",
                (|value| value["formatVersion"] = json!(0)) as fn(&mut Value),
            ),
            ("no version", |value| {
                drop(value.as_object_mut().unwrap().remove("formatVersion"))
            }),
            ("no identity", |value| {
                drop(value.as_object_mut().unwrap().remove("identity"))
            }),
            ("no allocations", |value| {
                drop(value.as_object_mut().unwrap().remove("allocations"))
            }),
            ("a member too many", |value| {
                value["hunter2"] = json!("hunter2")
            }),
            ("a member too many of a parameter", |value| {
                value["parameters"]["title"]["hunter2"] = json!("hunter2")
            }),
            ("a member too many of a variable", |value| {
                value["variables"]["cloud.region"]["hunter2"] = json!("hunter2")
            }),
            ("a member too many of a credential", |value| {
                value["credentials"]["key"]["hunter2"] = json!("hunter2")
            }),
            ("a sensitivity that is a value", |value| {
                value["parameters"]["title"]["sensitive"] = json!("hunter2")
            }),
            ("a rotation below zero", |value| {
                value["credentials"]["key"]["rotation"] = json!(-1)
            }),
            ("a credential that is no text", |value| {
                value["credentials"]["key"]["value"] = json!(["hunter2"])
            }),
            ("no object", |value| *value = json!("hunter2")),
        ] {
            let error = changed(change).expect_err(name);
            assert!(matches!(error, SnapshotError::Malformed(_)), "{name}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{name}");
        }
    }

    #[test]
    fn a_snapshot_prints_none_of_its_values() {
        let printed = format!(
            "{:?}",
            changed(|value| value["credentials"]["key"]["value"] = json!("s3cret"))
        );
        for secret in ["t0ken", "s3cret", "1.5"] {
            assert!(!printed.contains(secret), "{secret}");
        }
    }
}
