//! The operations `credential` and `connection`: what becomes of generated credentials and acquired connections over
//! retries, faults, rotations and revocations. The order of steps is the one that the shell keeps against a cluster;
//! here maps stand in for durable state, and a counter for randomness and for the issuer.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::behavior::{Behavior, Observation};

/// What one credential or connection belongs to: one generation of one parameter of one installation.
type Key = (String, String, u64);

#[derive(Deserialize)]
struct CredentialStep {
    installation: String,
    parameter: String,
    rotation: u64,
}

/// Generated credentials: made once for each key, and reused ever after (BP-RESOLVE-001).
pub(super) fn credentials(case: &Behavior) -> Option<Observation> {
    let mut persisted: BTreeMap<Key, String> = BTreeMap::new();
    let mut values = Vec::new();
    for step in steps::<CredentialStep>(case)? {
        let next = format!("synthetic-{}", persisted.len() + 1);
        let key = (step.installation, step.parameter, step.rotation);
        let value = persisted.entry(key).or_insert(next);
        values.push(json!({"value": value, "sensitive": true}));
    }
    Some(observed(
        json!({"generated": persisted.len(), "values": values}),
    ))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConnectionStep {
    installation: String,
    parameter: String,
    #[serde(default)]
    generation: u64,
    #[serde(default = "first")]
    default_version: String,
    #[serde(default)]
    revoked: bool,
    #[serde(default)]
    fault: Option<Fault>,
}

fn first() -> String {
    "1".to_owned()
}

/// Where a step dies, everything before it done.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Fault {
    BeforeAcquisition,
    AfterIssuance,
    BeforePersistence,
    AfterPersistence,
    BeforeMaterialization,
}

/// How a step ends without a selection.
enum End {
    Interrupted,
    Denied,
}

/// What the stand-in issuer made for one key.
#[derive(Clone)]
struct Issued {
    number: usize,
    version: String,
}

/// What outlives a step.
#[derive(Default)]
struct Durable {
    issued: BTreeMap<Key, Issued>,
    persisted: BTreeMap<Key, Issued>,
}

/// Acquired connections: issued once for each key, persisted before use, denied as soon as they are revoked
/// (BP-CONNECTION-003).
pub(super) fn connections(case: &Behavior) -> Option<Observation> {
    let mut durable = Durable::default();
    let mut observations = Vec::new();
    for step in steps::<ConnectionStep>(case)? {
        observations.push(match durable.select(&step) {
            Ok(Issued { number, version }) => json!({
                "status": "SELECTED",
                "identity": format!("connection-{number}"),
                "version": version,
                "credential": format!("credential-{number}"),
                "rotation": step.generation,
            }),
            Err(End::Denied) => json!({"status": "DENIED"}),
            Err(End::Interrupted) => json!({"status": "INTERRUPTED"}),
        });
    }
    Some(observed(json!({
        "issued": durable.issued.len(),
        "persisted": durable.persisted.len(),
        "observations": observations,
    })))
}

impl Durable {
    /// Reuses what is persisted, else issues, authorizes and persists; then authorizes the use of it.
    fn select(&mut self, step: &ConnectionStep) -> Result<Issued, End> {
        let key = (
            step.installation.clone(),
            step.parameter.clone(),
            step.generation,
        );
        let selection = match self.persisted.get(&key) {
            Some(selection) => selection.clone(),
            None => self.acquire(key, step)?,
        };
        // Revocation denies use at once, whatever is persisted; nothing persisted is removed.
        step.authorize()?;
        step.survive(Fault::BeforeMaterialization)?;
        Ok(selection)
    }

    fn acquire(&mut self, key: Key, step: &ConnectionStep) -> Result<Issued, End> {
        step.survive(Fault::BeforeAcquisition)?;
        let next = Issued {
            number: self.issued.len() + 1,
            version: step.default_version.clone(),
        };
        // Issuing is idempotent by key: a retry gets what was issued before, whatever the default has become.
        let issued = self.issued.entry(key.clone()).or_insert(next).clone();
        step.survive(Fault::AfterIssuance)?;
        step.authorize()?;
        step.survive(Fault::BeforePersistence)?;
        self.persisted.insert(key, issued.clone());
        step.survive(Fault::AfterPersistence)?;
        Ok(issued)
    }
}

impl ConnectionStep {
    fn survive(&self, point: Fault) -> Result<(), End> {
        if self.fault == Some(point) {
            return Err(End::Interrupted);
        }
        Ok(())
    }

    fn authorize(&self) -> Result<(), End> {
        if self.revoked {
            return Err(End::Denied);
        }
        Ok(())
    }
}

fn steps<T: serde::de::DeserializeOwned>(case: &Behavior) -> Option<Vec<T>> {
    serde_json::from_value(case.input.as_ref()?.get("steps")?.clone()).ok()
}

fn observed(value: Value) -> Observation {
    Observation {
        value,
        diagnostics: Vec::new(),
    }
}
