//! The history of one identity, read from its shelf: snapshots with what was decided beside them, records, credentials,
//! sources. Checked as it is read: what is not as the operator left it becomes a [`Failure`], never a guess. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret as SecretObject;
use kube::ResourceExt;
use serde::Deserialize;

use super::failure::Failure;
use super::intent::Intent;
use super::precious::{self, annotation, describe, foreign, label};
use super::shelf::Shelf;
use super::sources::read_sources;
use crate::api::ResolutionRecord;
use crate::api::names::{
    self, CREDENTIAL_OF_ANNOTATION, GENERATION_LABEL, GENERATOR_ANNOTATION, PARAMETER_ANNOTATION,
    Precious, VERSION_LABEL,
};
use crate::contract::contracts::Contracts;
use crate::materialize::pins::Pins;
use crate::resolution::accept::{AcceptedRecord, Sources, accept};
use crate::resolution::record::{Record, SpecificationDependencies};
use crate::resolution::secret::Secret;
use crate::resolution::snapshot::{Snapshot, SnapshotError};

/// The keys of a snapshot's Secret.
pub mod key {
    /// The contract's snapshot, formatVersion 1.
    pub const SNAPSHOT: &str = "snapshot.json";
    /// What shapes workloads beyond it.
    pub const PINS: &str = "pins.json";
    /// The spec last acted on.
    pub const INTENT: &str = "intent.json";
    /// The record that follows from it, so that a crash before the record is written loses nothing.
    pub const RECORD: &str = "record.json";
    /// The value of a credential.
    pub const CREDENTIAL: &str = "value";
    /// The bytes of a source, or a chunk of them.
    pub const SOURCE: &str = "content";
}

/// One version of what an installation resolved to.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// From 1; gaps are possible.
    pub number: u64,
    /// The private selections.
    pub snapshot: Snapshot,
    /// What shapes workloads beyond them.
    pub pins: Pins,
    /// The spec that it was made from.
    pub intent: Intent,
    /// The record that follows.
    pub record: Record,
}

/// One generation of a generated credential, as it was found.
#[derive(Clone, Debug)]
pub struct Generation {
    /// The text.
    pub value: Secret<String>,
    /// Encoding and number of bytes it was made with, as [`GENERATOR_ANNOTATION`] has it.
    pub generator: String,
    /// The parameter whose credential it carries on.
    pub credential_of: Option<String>,
}

/// Everything that survives of one identity.
#[derive(Default)]
pub struct History {
    /// By ascending number.
    pub versions: Vec<Version>,
    /// The records that exist, by number.
    pub recorded: BTreeMap<u64, ResolutionRecord>,
    /// Credentials by parameter and generation.
    pub credentials: BTreeMap<(String, u64), Generation>,
    /// Accepted documents by digest.
    pub sources: Sources,
    /// Whose it is.
    pub identity: String,
    /// How many versions its claim counts.
    pub counted: u64,
}

impl History {
    /// Reads the shelf of `identity`, whose claim has `counted` versions.
    ///
    /// # Errors
    /// [`Failure::NewerState`], [`Failure::ForeignObject`], [`Failure::CredentialLost`], [`Failure::StateLost`].
    pub fn read(identity: &str, counted: u64, shelf: &Shelf) -> Result<Self, Failure> {
        let mut history = Self {
            identity: identity.to_owned(),
            counted,
            ..Self::default()
        };
        for secret in &shelf.credentials {
            let (at, generation) = read_credential(secret, identity)?;
            history.credentials.insert(at, generation);
        }
        history.sources = read_sources(&shelf.sources, identity)?;
        for secret in &shelf.snapshots {
            history.versions.push(read_snapshot(secret, identity)?);
        }
        history.versions.sort_by_key(|version| version.number);
        if history.latest().map_or(0, |version| version.number) < counted {
            return Err(history.snapshot_lost(counted));
        }
        for record in &shelf.records {
            let number = history.match_record(record)?;
            history.recorded.insert(number, record.clone());
        }
        history.nothing_lost()?;
        Ok(history)
    }

    /// The newest version, recorded or not.
    pub fn latest(&self) -> Option<&Version> {
        self.versions.last()
    }

    /// The newest version if its record has not been written: a version is counted once its record is.
    pub fn unrecorded(&self) -> Option<&Version> {
        self.latest().filter(|version| {
            version.number > self.counted && !self.recorded.contains_key(&version.number)
        })
    }

    /// The number that the next version gets.
    pub fn next(&self) -> u64 {
        self.latest().map_or(1, |version| version.number + 1)
    }

    /// Whether a snapshot names the generation `at` of a credential, that is, whether it may be in use.
    pub fn names(&self, (parameter, generation): &(String, u64)) -> bool {
        self.versions.iter().any(|version| {
            let named = version.snapshot.credentials().get(parameter);
            named.is_some_and(|reference| reference.rotation == *generation)
        })
    }

    /// Adds the documents of `contracts`, which have just been persisted.
    pub fn remember(&mut self, contracts: &Contracts) {
        let persisted = Sources::of(contracts);
        self.sources = self
            .sources
            .iter()
            .chain(persisted.iter())
            .map(|(_, bytes)| Arc::clone(bytes))
            .collect();
    }

    /// Accepts the record of `version` from what is persisted alone.
    ///
    /// # Errors
    /// [`Failure::StateLost`] when a document is gone, [`Failure::ForeignObject`] when what is persisted does not agree
    /// with itself.
    pub fn accept(&self, version: &Version) -> Result<AcceptedRecord, Failure> {
        self.sources_present(version)?;
        let credentials =
            version
                .snapshot
                .credentials()
                .iter()
                .filter_map(|(parameter, reference)| {
                    let generation = self
                        .credentials
                        .get(&(parameter.clone(), reference.rotation))?;
                    Some((parameter.clone(), generation.value.clone()))
                });
        let snapshot = version.snapshot.clone().join(credentials.collect());
        accept(
            version.record.clone(),
            snapshot,
            &self.sources,
            &SpecificationDependencies::of_this_edition(),
        )
        .map_err(|diagnostics| {
            let why: Vec<String> = diagnostics
                .into_iter()
                .map(|diagnostic| diagnostic.message)
                .collect();
            foreign(
                format!("the state behind record version {}", version.number),
                why.join("; "),
            )
        })
    }

    /// The version that `record` is the record of.
    fn match_record(&self, record: &ResolutionRecord) -> Result<u64, Failure> {
        let object = || format!("ResolutionRecord {}", record.name_any());
        precious::check_format(&record.metadata, object)?;
        let number = number(label(&record.metadata, VERSION_LABEL));
        let named =
            number.is_some_and(|number| record.name_any() == names::record(&self.identity, number));
        if !named {
            return Err(foreign(
                object(),
                "its name and its version label do not belong together",
            ));
        }
        match self
            .versions
            .iter()
            .find(|version| Some(version.number) == number)
        {
            None if number.is_some_and(|number| (1..=self.counted).contains(&number)) => {
                Err(self.snapshot_lost(number.unwrap_or_default()))
            }
            None => Err(foreign(object(), "no snapshot stands behind it")),
            Some(version) if version.record != record.spec.0 => Err(foreign(
                object(),
                "it is not the record that follows from its snapshot",
            )),
            Some(version) => Ok(version.number),
        }
    }

    fn snapshot_lost(&self, number: u64) -> Failure {
        Failure::StateLost {
            object: format!("Secret {}", names::snapshot(&self.identity, number)),
            needed_by: format!("record version {number}"),
        }
    }

    /// Every document that the record of `version` names is there, whole.
    fn sources_present(&self, version: &Version) -> Result<(), Failure> {
        let record = &version.record;
        let components = record.components.values();
        let digests = components.map(|component| &component.digest);
        match std::iter::once(&record.blueprint_digest)
            .chain(digests)
            .find(|digest| self.sources.get(digest).is_none())
        {
            None => Ok(()),
            Some(digest) => Err(Failure::StateLost {
                object: format!(
                    "Secret {}",
                    names::source(&self.identity, digest.as_str(), 0)
                ),
                needed_by: format!("record version {}", version.number),
            }),
        }
    }

    /// Every generation that a surviving snapshot names has its Secret.
    fn nothing_lost(&self) -> Result<(), Failure> {
        for version in &self.versions {
            for (parameter, reference) in version.snapshot.credentials() {
                if !self
                    .credentials
                    .contains_key(&(parameter.clone(), reference.rotation))
                {
                    return Err(Failure::CredentialLost {
                        secret: names::credential(&self.identity, parameter, reference.rotation),
                        parameter: parameter.clone(),
                        generation: reference.rotation,
                        named_by: format!("snapshot version {}", version.number),
                    });
                }
            }
        }
        Ok(())
    }
}

/// The identity that a snapshot's Secret names, if it can be read at all.
pub fn snapshot_identity(secret: &SecretObject) -> Option<String> {
    precious::bytes(secret, key::SNAPSHOT)
        .ok()
        .and_then(|bytes| Snapshot::parse(bytes).ok())
        .map(|found| found.identity)
}

/// The item that a snapshot's Secret is of, if it can be read at all.
pub fn snapshot_item(secret: &SecretObject) -> Option<String> {
    let intent: Intent = json(secret, key::INTENT).ok()?;
    match intent.blueprint.item() {
        Some(item) => Some(item.to_owned()),
        None => Some(json::<Pins>(secret, key::PINS).ok()?.artifact?.item),
    }
}

/// Reads one credential and where it belongs.
///
/// # Errors
/// [`Failure::NewerState`], [`Failure::ForeignObject`].
pub fn read_credential(
    secret: &SecretObject,
    identity: &str,
) -> Result<((String, u64), Generation), Failure> {
    let object = || describe(secret);
    let parameter = annotation(&secret.metadata, PARAMETER_ANNOTATION).unwrap_or_default();
    let Some(generation) = number(label(&secret.metadata, GENERATION_LABEL)) else {
        return Err(foreign(object(), "its generation differs"));
    };
    precious::check(
        secret,
        Precious::Credential,
        identity,
        &names::credential(identity, parameter, generation),
    )?;
    let generator = annotation(&secret.metadata, GENERATOR_ANNOTATION).unwrap_or_default();
    let value = String::from_utf8(precious::bytes(secret, key::CREDENTIAL)?.to_vec())
        .map_err(|_| foreign(object(), "its value is not text"))?;
    if !super::credentials::fits(generator, &value) {
        return Err(foreign(
            object(),
            "its value is not of the format that it names",
        ));
    }
    Ok((
        (parameter.to_owned(), generation),
        Generation {
            value: Secret::new(value),
            generator: generator.to_owned(),
            credential_of: annotation(&secret.metadata, CREDENTIAL_OF_ANNOTATION)
                .map(str::to_owned),
        },
    ))
}

/// The version that a snapshot's Secret is of.
///
/// # Errors
/// As [`precious::check`] says.
pub fn snapshot_number(secret: &SecretObject, identity: &str) -> Result<u64, Failure> {
    let Some(number) = number(label(&secret.metadata, VERSION_LABEL)) else {
        return Err(foreign(describe(secret), "its version label differs"));
    };
    let name = names::snapshot(identity, number);
    precious::check(secret, Precious::Snapshot, identity, &name)?;
    Ok(number)
}

fn read_snapshot(secret: &SecretObject, identity: &str) -> Result<Version, Failure> {
    let object = || describe(secret);
    let number = snapshot_number(secret, identity)?;
    let snapshot =
        Snapshot::parse(precious::bytes(secret, key::SNAPSHOT)?).map_err(|error| match error {
            SnapshotError::Newer { found } => Failure::NewerState {
                object: object(),
                found: found.to_string(),
                known: names::FORMAT_VERSION,
            },
            malformed @ SnapshotError::Malformed { .. } => foreign(object(), malformed.to_string()),
        })?;
    if snapshot.version != number.to_string() {
        return Err(foreign(object(), "its version differs from its label"));
    }
    Ok(Version {
        number,
        snapshot,
        pins: json(secret, key::PINS)?,
        intent: json(secret, key::INTENT)?,
        record: json(secret, key::RECORD)?,
    })
}

/// Strict JSON under `key`; the parser's words are dropped, since they may quote a value.
pub(super) fn json<T: for<'de> Deserialize<'de>>(
    secret: &SecretObject,
    key: &str,
) -> Result<T, Failure> {
    serde_json::from_slice(precious::bytes(secret, key)?)
        .map_err(|_| foreign(describe(secret), format!("its key {key} is malformed")))
}

/// A version or a generation, as labels have it.
pub fn number(label: Option<&str>) -> Option<u64> {
    label?.parse().ok()
}
