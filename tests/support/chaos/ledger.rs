//! A witness's memory: everything precious that was ever seen, as digests, and what must not have become of it. Pure; it
//! learns from the API server's watch alone, which leaves nothing out.

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::HEXLOWER;
use installation_operator::api::names::{
    DIGEST_ANNOTATION, IDENTITY_LABEL, Precious, VERSION_LABEL,
};
use installation_operator::controller::history::key;
use installation_operator::controller::precious;
use installation_operator::resolution::record::Record;
use installation_operator::resolution::snapshot::Snapshot;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt as _};
use sha2::{Digest as _, Sha256};

/// How many versions behind the newest every Installation of a run keeps.
pub const HISTORY_LIMIT: usize = 3;

/// What was seen so far.
#[derive(Default)]
pub struct Ledger {
    identities: BTreeMap<String, Identity>,
    jobs: BTreeMap<(String, String), BTreeSet<String>>,
    violations: Vec<String>,
}

#[derive(Default)]
struct Identity {
    /// Whether somebody asked for all of it to be deleted, since its claim was made.
    may_go: bool,
    claim: Option<String>,
    /// The digest of what each Secret holds or held, by name.
    digests: BTreeMap<String, String>,
    live: BTreeMap<String, Secret>,
}

impl Ledger {
    /// What was found wrong.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// How much it was, in words: a run that made nothing has shown nothing.
    pub fn summary(&self) -> String {
        let of = |kind: Precious| {
            let names = self.identities.values().flat_map(|of| of.digests.keys());
            let prefix = format!("{kind}-");
            names.filter(|name| name.starts_with(&prefix)).count()
        };
        format!(
            "{} credentials, {} snapshots, {} sources, {} Jobs",
            of(Precious::Credential),
            of(Precious::Snapshot),
            of(Precious::Source),
            self.jobs.len()
        )
    }

    /// From now on everything of `identity` may be deleted, until it is claimed anew.
    pub fn permit(&mut self, identity: &str) {
        self.identity(identity).may_go = true;
    }

    /// A Secret stands there as it is told.
    pub fn see(&mut self, secret: &Secret) {
        let (Some(kind), Some(of)) = (precious::kind(secret), owner(secret)) else {
            return;
        };
        let name = secret.name_any();
        let mut wrong = Vec::new();
        let identity = self.identity(&of);
        if kind == Precious::Claim {
            let id = claim_id(secret);
            let same = identity.claim.is_none() || identity.claim == id;
            if identity.claim != id {
                if !same && !identity.may_go {
                    wrong.push(format!("{of}: its claim has another id"));
                }
                if identity.may_go {
                    // What is left of the former life goes yet, by a watch that is in order.
                    let live: BTreeSet<String> = identity.live.keys().cloned().collect();
                    identity.digests.retain(|name, _| live.contains(name));
                }
                identity.may_go = false;
                identity.claim = id;
            }
        } else {
            if secret.immutable != Some(true) {
                wrong.push(format!("{name} is not immutable"));
            }
            let digest = digest(secret);
            let known = identity.digests.insert(name.clone(), digest.clone());
            if known.is_some_and(|known| known != digest) {
                wrong.push(format!("{name} holds something else than before"));
            }
        }
        if secret.meta().owner_references.is_some() {
            wrong.push(format!("{name} has an owner"));
        }
        identity.live.insert(name, secret.clone());
        self.violations.append(&mut wrong);
    }

    /// A Secret is gone.
    pub fn miss(&mut self, secret: &Secret) {
        let (Some(kind), Some(of)) = (precious::kind(secret), owner(secret)) else {
            return;
        };
        let name = secret.name_any();
        let identity = self.identity(&of);
        identity.live.remove(&name);
        if kind == Precious::Claim && identity.live.is_empty() {
            // It guarded nothing: whoever comes next begins anew.
            identity.claim = None;
        }
        if identity.may_go {
            identity.digests.remove(&name);
            return;
        }
        if let Some(wrong) = identity.missed(kind, secret) {
            self.violations
                .push(format!("{name} is gone, though {wrong}"));
        }
    }

    /// A Job stands there as it is told.
    pub fn see_job(&mut self, job: &Job) {
        let uid = job.uid().unwrap_or_default();
        let name = job.name_any();
        let owner = job.owner_references().first();
        let owner = owner.map_or_else(String::new, |owner| owner.uid.clone());
        let runs = self.jobs.entry((name.clone(), owner)).or_default();
        if runs.insert(uid) && runs.len() > 1 {
            self.violations
                .push(format!("Job {name} ran {} times", runs.len()));
        }
    }

    fn identity(&mut self, identity: &str) -> &mut Identity {
        self.identities.entry(identity.to_owned()).or_default()
    }
}

impl Identity {
    /// Why a Secret that went should have stayed.
    fn missed(&self, kind: Precious, secret: &Secret) -> Option<String> {
        let snapshots = self.live.values().filter_map(snapshot);
        match kind {
            Precious::Claim => {
                (!self.live.is_empty()).then(|| format!("{} objects stand on it", self.live.len()))
            }
            Precious::Snapshot => {
                let gone = version(secret)?;
                let newer = self.live.values().filter(|other| {
                    precious::kind(other) == Some(Precious::Snapshot)
                        && version(other).is_some_and(|version| version > gone)
                });
                let newer = newer.count();
                (newer <= HISTORY_LIMIT).then(|| format!("{newer} versions are newer"))
            }
            Precious::Credential => {
                let name = secret.name_any();
                snapshots
                    .filter(|(snapshot, _, of)| {
                        snapshot.credentials().iter().any(|(parameter, named)| {
                            name == installation_operator::api::names::credential(
                                of,
                                parameter,
                                named.rotation,
                            )
                        })
                    })
                    .map(|(snapshot, _, _)| format!("version {} names it", snapshot.version))
                    .next()
            }
            Precious::Source => {
                let digest = secret.annotations().get(DIGEST_ANNOTATION)?;
                let names = |record: &Record| {
                    let mut components = record.components.values();
                    record.blueprint_digest.as_str() == digest
                        || components.any(|component| component.digest.as_str() == digest)
                };
                snapshots
                    .filter(|(_, record, _)| names(record))
                    .map(|(snapshot, _, _)| format!("version {} names it", snapshot.version))
                    .next()
            }
            Precious::Record | Precious::Hostname => None,
        }
    }
}

fn owner(secret: &Secret) -> Option<String> {
    secret.labels().get(IDENTITY_LABEL).cloned()
}

fn version(secret: &Secret) -> Option<u64> {
    secret.labels().get(VERSION_LABEL)?.parse().ok()
}

/// The snapshot in a Secret, the record that follows and whose it is.
fn snapshot(secret: &Secret) -> Option<(Snapshot, Record, String)> {
    let found = Snapshot::parse(precious::bytes(secret, key::SNAPSHOT).ok()?).ok()?;
    let record = serde_json::from_slice(precious::bytes(secret, key::RECORD).ok()?).ok()?;
    Some((found, record, owner(secret)?))
}

fn claim_id(secret: &Secret) -> Option<String> {
    let data = secret.data.as_ref()?.values().next()?;
    let claim: serde_json::Value = serde_json::from_slice(&data.0).ok()?;
    Some(claim["id"].as_str()?.to_owned())
}

/// What a Secret holds, as a digest: a failed run prints no value.
fn digest(secret: &Secret) -> String {
    let mut hasher = Sha256::new();
    for (key, value) in secret.data.iter().flatten() {
        hasher.update(key.len().to_be_bytes());
        hasher.update(key);
        hasher.update(value.0.len().to_be_bytes());
        hasher.update(&value.0);
    }
    HEXLOWER.encode(&hasher.finalize())
}
