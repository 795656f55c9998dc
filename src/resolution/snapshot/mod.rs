//! The installation snapshot, formatVersion 1: the private selections that a record stands on (blueprint §5.2).
//!
//! A snapshot names credentials and never holds them: each generation lives where it was persisted first, and its
//! value is joined again before a replay. Everything else that an installation took from outside is in here, so that
//! the same record identifies the same effective values for as long as it is kept.

mod format;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use self::format::{FORMAT_VERSION, SnapshotError};
use super::connection::{Answer, Selection};
use super::context::{Context, Credential, Variable};
use super::record::CredentialReference;
use super::secret::{Held, Secret, SecretJson};

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

    /// The selected variables, by exact dotted path.
    pub fn variables(&self) -> &BTreeMap<String, Variable> {
        &self.selections.variables
    }

    /// The credentials that were selected, by parameter.
    pub fn credentials(&self) -> &BTreeMap<String, CredentialReference> {
        &self.selections.credentials
    }

    /// The selected connections, by connection parameter.
    pub fn connections(&self) -> BTreeMap<String, Selection> {
        let answers = self.selections.connections.iter();
        answers
            .flat_map(|connections| &connections.parameters)
            .filter_map(|(name, evidence)| match Answer::read(evidence) {
                Ok(Answer::Selected { selection, .. }) => Some((name.clone(), *selection)),
                _ => None,
            })
            .collect()
    }

    /// The allocated routing facts as evidence, by node and endpoint.
    pub fn allocations(&self) -> &BTreeMap<String, BTreeMap<String, Value>> {
        &self.selections.allocations
    }
}

/// The map with the same keys and each value's image.
fn map_values<V, W>(map: &BTreeMap<String, V>, image: impl Fn(&V) -> W) -> BTreeMap<String, W> {
    map.iter()
        .map(|(key, value)| (key.clone(), image(value)))
        .collect()
}
