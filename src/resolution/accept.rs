//! Acceptance: whether a record, its snapshot and the documents it names stand together, and still resolve (blueprint
//! §5.2). It is the only way to an [`AcceptedRecord`], and an accepted record is all that a workload is made from.
//!
//! The documents come by digest from where they were persisted, so that a record can be accepted again years later,
//! whatever became of the place that the blueprint came from.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::record::{Record, SpecificationDependencies};
use super::resolved::Resolved;
use super::snapshot::Snapshot;
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::digest::Digest;
use crate::document::pointer::Pointer;

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
/// ```compile_fail
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
    // Until acceptance is in place every record is refused, so that nothing can be materialized from one.
    let _ = (record, snapshot, sources, dependencies);
    Err(vec![Diagnostic::resolution(
        Stage::Record,
        Code::InvalidResolutionContext,
        Pointer::root(),
        "records cannot be accepted by this build; use a later one",
    )])
}
