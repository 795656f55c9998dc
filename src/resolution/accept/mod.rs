//! Acceptance: whether a record, its snapshot and the documents it names stand together, and still resolve (blueprint
//! §5.2). It is the only way to an [`AcceptedRecord`], and an accepted record is all that a workload is made from.
//!
//! The documents come by digest from where they were persisted, so that a record can be accepted again years later,
//! whatever became of the place that the blueprint came from.

#[cfg(test)]
mod properties;
mod reconcile;
mod shape;
mod specifications;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::record::{Record, SpecificationDependencies};
use super::resolve;
use super::resolved::Resolved;
use super::snapshot::Snapshot;
use crate::contract::contracts::Contracts;
use crate::contract::item::{BLUEPRINT, Item, slug};
use crate::contract::published::{Published, Source};
use crate::contract::validate::validate_item;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::digest::Digest;
use crate::document::pointer::Pointer;
use crate::document::result::{Profile, ValidationResult};

/// The bytes of accepted documents, by their digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(BTreeMap<Digest, Arc<[u8]>>);

impl Sources {
    /// The sources behind `contracts`: the blueprint's and every component's, each once.
    pub fn of(contracts: &Contracts) -> Self {
        let components = contracts
            .components
            .values()
            .map(|contract| Arc::clone(&contract.source));
        [Arc::clone(&contracts.source)]
            .into_iter()
            .chain(components)
            .collect()
    }

    /// The document with this digest.
    pub fn get(&self, digest: &Digest) -> Option<&Arc<[u8]>> {
        self.0.get(digest)
    }

    /// Every document, by digest.
    pub fn iter(&self) -> impl Iterator<Item = (&Digest, &Arc<[u8]>)> {
        self.0.iter()
    }
}

impl FromIterator<Arc<[u8]>> for Sources {
    /// Takes each document under the digest of its bytes, so that no source can claim another's.
    fn from_iter<I: IntoIterator<Item = Arc<[u8]>>>(documents: I) -> Self {
        Self(
            documents
                .into_iter()
                .map(|bytes| (Digest::of(&bytes), bytes))
                .collect(),
        )
    }
}

/// A record that was accepted, together with everything that it stands on. Only [`accept`] makes one:
///
/// ```compile_fail,E0451
/// use installation_operator::resolution::accept::AcceptedRecord;
/// fn forge(accepted: AcceptedRecord) -> AcceptedRecord {
///     AcceptedRecord { record: accepted.record().clone(), ..accepted }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptedRecord {
    record: Record,
    snapshot: Snapshot,
    contracts: Arc<Contracts>,
    resolved: Resolved,
}

impl AcceptedRecord {
    /// The record.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The private selections behind the record.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The blueprint and its components, as their persisted sources say.
    pub fn contracts(&self) -> &Arc<Contracts> {
        &self.contracts
    }

    /// The effective values that the snapshot resolves to.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }
}

/// Accepts `record` (BP-RESOLVE-001). `snapshot` has the values of its credentials joined; `sources` holds the
/// documents that the record names; `dependencies` are the manifests of the specifications that it was made under.
///
/// Accepting the same arguments again gives an equal accepted record.
///
/// # Errors
/// Every breach that was found, each as ERR_INVALID_RESOLUTION_CONTEXT at `""` in stage `record`. None quotes a value.
pub fn accept(
    record: Record,
    snapshot: Snapshot,
    sources: &Sources,
    dependencies: &SpecificationDependencies,
) -> Result<AcceptedRecord, Vec<Diagnostic>> {
    let mut breaches = Breaches::default();
    shape::check(&record, &mut breaches);
    specifications::check(&record.specifications, dependencies, &mut breaches);
    let contracts = rebuild(&record, sources, &mut breaches);
    let resolved = contracts.as_ref().and_then(|contracts| {
        reconcile::nodes(&record, contracts, &mut breaches);
        reconcile::selections(&record, &snapshot, contracts, &mut breaches);
        replay(&snapshot, contracts, &mut breaches)
    });
    match (contracts, resolved, breaches.0.is_empty()) {
        (Some(contracts), Some(resolved), true) => Ok(AcceptedRecord {
            record,
            snapshot,
            contracts,
            resolved,
        }),
        _ => Err(breaches.0),
    }
}

/// What keeps a record from being accepted.
#[derive(Default)]
struct Breaches(Vec<Diagnostic>);

impl Breaches {
    /// Adds a breach; `message` says what to do.
    fn add(&mut self, message: impl Into<String>) {
        self.0.push(Diagnostic::resolution(
            Stage::Record,
            Code::InvalidResolutionContext,
            Pointer::root(),
            message,
        ));
    }

    /// Adds a breach unless `holds`.
    fn unless(&mut self, holds: bool, message: impl FnOnce() -> String) {
        if !holds {
            self.add(message());
        }
    }

    /// Adds a breach for everything that `result` says.
    fn refuse(&mut self, what: &str, result: &ValidationResult) {
        for found in &result.diagnostics {
            self.add(format!(
                "{what}: {} at `{}`: {}",
                found.code, found.path, found.message
            ));
        }
        for deferred in &result.deferred {
            self.add(format!(
                "{what}: {} is missing; restore it as it was persisted",
                deferred.missing
            ));
        }
    }
}

/// The contracts that the recorded documents are. The item is laid out as it was authored: the blueprint at its root,
/// each local component where its reference says, and each published one under its identity and revision.
fn rebuild(record: &Record, sources: &Sources, breaches: &mut Breaches) -> Option<Arc<Contracts>> {
    let mut source = |what: &str, digest: &Digest| {
        let bytes = sources.get(digest).cloned();
        breaches.unless(bytes.is_some(), || {
            format!(
                "the document of {what}, digest {digest}, is not among the sources; restore it as it was persisted"
            )
        });
        bytes
    };
    let blueprint = source("the blueprint", &record.blueprint_digest)?;
    let slug = slug(&blueprint).unwrap_or_default();
    let mut files = vec![(BLUEPRINT.to_owned(), blueprint)];
    let mut published = Published::default();
    for (node, component) in &record.components {
        let Some(bytes) = source(&format!("node `{node}`"), &component.digest) else {
            continue;
        };
        match local_path(&component.identity, &slug) {
            Some(path) => files.push((path, bytes)),
            None => {
                let digest = component.digest.to_string();
                let source = Source { bytes, digest };
                published.insert(&component.identity, component.revision, source);
            }
        }
    }
    let validation = validate_item(
        &Item::from_files(slug, files),
        &published,
        Profile::Document,
    );
    breaches.refuse("the recorded documents", &validation.result);
    validation.contracts
}

/// The path from the item's root that a local reference leads to; nothing for a published one.
fn local_path(component_ref: &str, slug: &str) -> Option<String> {
    component_ref
        .strip_prefix("./")
        .or_else(|| {
            component_ref
                .strip_prefix("../")?
                .strip_prefix(slug)?
                .strip_prefix('/')
        })
        .map(str::to_owned)
}

/// The values that the snapshot alone resolves to.
fn replay(snapshot: &Snapshot, contracts: &Contracts, breaches: &mut Breaches) -> Option<Resolved> {
    let replay = resolve(contracts, &snapshot.context());
    breaches.refuse("replaying the snapshot", &replay.result);
    replay.resolved
}
