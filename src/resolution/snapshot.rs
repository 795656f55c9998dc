//! The installation snapshot, formatVersion 1: the private selections that a record stands on (blueprint §5.2).
//!
//! A snapshot names credentials and never holds them: each generation lives where it was persisted first, and its
//! value is joined again before a replay. Everything else that an installation took from outside is in here, so that
//! the same record identifies the same effective values for as long as it is kept.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::context::{Context, Credential, Variable};
use super::record::CredentialReference;
use super::secret::{Held, Secret, SecretJson};
use super::wire::{self, Malformed};
use crate::document::canonical;

/// The version of the persisted shape that this program writes and reads.
pub const FORMAT_VERSION: u64 = 1;

/// Every selection behind a record. Immutable once persisted: what changes is another version.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Opaque identity of the installation's snapshots.
    pub identity: String,
    /// Opaque version; never reused for other selections.
    pub version: String,
    selections: Selections,
    /// The values of credentials, where they have been joined. No part of what is selected.
    joined: BTreeMap<String, Secret<String>>,
}

/// What a snapshot pins, apart from its own name.
#[derive(Clone, Debug, PartialEq)]
struct Selections {
    parameters: BTreeMap<String, Held>,
    variables: BTreeMap<String, Variable>,
    credentials: BTreeMap<String, CredentialReference>,
    allocations: BTreeMap<String, BTreeMap<String, Value>>,
    connections: Option<Connections>,
}

/// Connection evidence, and the installation that it was acquired for.
#[derive(Clone, Debug, PartialEq)]
struct Connections {
    installation: String,
    parameters: BTreeMap<String, Secret<SecretJson>>,
}

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
    /// The snapshot of everything in `context`, credentials by reference alone.
    ///
    /// Assumes that `context` holds nothing but what the blueprint uses: acceptance refuses a snapshot with a variable
    /// or a credential too many.
    pub fn of(identity: impl Into<String>, version: impl Into<String>, context: &Context) -> Self {
        let reference = |credential: &Credential| CredentialReference {
            identity: credential.identity.clone(),
            rotation: credential.rotation,
        };
        Self {
            identity: identity.into(),
            version: version.into(),
            selections: Selections {
                parameters: context.parameters.clone(),
                variables: context.variables.clone(),
                credentials: map_values(&context.credentials, reference),
                allocations: context.allocations.clone(),
                connections: (!context.connections.is_empty()).then(|| Connections {
                    installation: context.installation.clone(),
                    parameters: context.connections.clone(),
                }),
            },
            joined: BTreeMap::new(),
        }
    }

    /// This snapshot with the values of its credentials, by parameter. A value for a credential that the snapshot does
    /// not name is kept out of every replay.
    #[must_use]
    pub fn join(mut self, credentials: BTreeMap<String, Secret<String>>) -> Self {
        self.joined.extend(credentials);
        self
    }

    /// The context of a replay: every selection, and each credential whose value has been joined. A credential without
    /// its value is absent, so that the replay is INCOMPLETE rather than wrong.
    pub fn context(&self) -> Context {
        let selections = &self.selections;
        let credentials = selections
            .credentials
            .iter()
            .filter_map(|(name, reference)| {
                let credential = Credential {
                    identity: reference.identity.clone(),
                    rotation: reference.rotation,
                    value: self.joined.get(name)?.clone(),
                };
                Some((name.clone(), credential))
            });
        let (installation, connections) = match &selections.connections {
            Some(connections) => (
                connections.installation.clone(),
                connections.parameters.clone(),
            ),
            None => Default::default(),
        };
        Context {
            installation,
            parameters: selections.parameters.clone(),
            withheld: BTreeSet::new(),
            variables: selections.variables.clone(),
            credentials: credentials.collect(),
            allocations: selections.allocations.clone(),
            connections,
        }
    }

    /// Whether both pin the same selections, whatever their identities and versions, and whichever credentials have
    /// been joined.
    pub fn same_selections(&self, other: &Self) -> bool {
        self.selections == other.selections
    }

    /// The selected variables, by exact dotted path.
    pub fn variables(&self) -> &BTreeMap<String, Variable> {
        &self.selections.variables
    }

    /// The credentials that were selected, by parameter.
    pub fn credentials(&self) -> &BTreeMap<String, CredentialReference> {
        &self.selections.credentials
    }

    /// The allocated routing facts as evidence, by node and endpoint.
    pub fn allocations(&self) -> &BTreeMap<String, BTreeMap<String, Value>> {
        &self.selections.allocations
    }

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

/// The map with the same keys and each value's image.
fn map_values<V, W>(map: &BTreeMap<String, V>, image: impl Fn(&V) -> W) -> BTreeMap<String, W> {
    map.iter()
        .map(|(key, value)| (key.clone(), image(value)))
        .collect()
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
    fn selections_are_compared_without_names_and_joined_values() {
        let other = |change: fn(&mut Value)| changed(change).expect("a snapshot");
        for (name, other, same) in [
            (
                "another version",
                other(|value| value["version"] = json!("2")),
                true,
            ),
            (
                "a joined credential",
                other(|value| value["credentials"]["key"]["value"] = json!("s3cret")),
                true,
            ),
            (
                "another value",
                other(|value| value["parameters"]["token"]["value"] = json!("other")),
                false,
            ),
            (
                "another sensitivity",
                other(|value| value["parameters"]["title"]["sensitive"] = json!(true)),
                false,
            ),
            (
                "another version of a variable",
                other(|value| value["variables"]["cloud.region"]["version"] = json!("8")),
                false,
            ),
            (
                "another rotation",
                other(|value| value["credentials"]["key"]["rotation"] = json!(3)),
                false,
            ),
            (
                "another allocation",
                other(|value| value["allocations"]["web"]["web"]["version"] = json!("2")),
                false,
            ),
            (
                "another installation",
                other(|value| value["connections"]["installation"] = json!("j")),
                false,
            ),
        ] {
            assert_eq!(snapshot().same_selections(&other), same, "{name}");
        }
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
