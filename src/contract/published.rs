//! Published contracts that the caller supplies: acquired and kept elsewhere, verified here (BP-REF-002).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::document::digest::Digest;

/// A published component document as it was supplied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The document's bytes.
    pub bytes: Arc<[u8]>,
    /// The digest it was published under; verified against the bytes, never trusted.
    pub digest: String,
}

impl Source {
    /// Whether the bytes have the digest they were published under.
    pub fn is_intact(&self) -> bool {
        Digest::of(&self.bytes).as_str() == self.digest
    }
}

/// Supplied published contracts by identity and revision. `Published::default()` supplies none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    sources: BTreeMap<(String, u64), Source>,
}

impl Published {
    /// The contract supplied for `identity` at `revision`; its absence is a deferred obligation, not an error.
    pub fn get(&self, identity: &str, revision: u64) -> Option<&Source> {
        self.sources.get(&(identity.to_owned(), revision))
    }

    /// The contracts of a resolution context as JSON: `contracts`, keyed `identity@revision`, each `{source, digest}`. An
    /// entry of another form supplies nothing, so the obligation that it might have met stays deferred.
    pub fn from_context(context: &Value) -> Self {
        let contracts = context.get("contracts").and_then(Value::as_object);
        contracts
            .into_iter()
            .flatten()
            .filter_map(|(key, contract)| {
                let (identity, revision) = key.rsplit_once('@')?;
                let source = Source {
                    bytes: Arc::from(contract.get("source")?.as_str()?.as_bytes()),
                    digest: contract.get("digest")?.as_str()?.to_owned(),
                };
                Some(((identity.to_owned(), revision.parse().ok()?), source))
            })
            .collect()
    }

    /// Supplies one contract, in place of an earlier one of the same identity and revision.
    pub fn insert(&mut self, identity: impl Into<String>, revision: u64, source: Source) {
        self.sources.insert((identity.into(), revision), source);
    }
}

impl FromIterator<((String, u64), Source)> for Published {
    fn from_iter<I: IntoIterator<Item = ((String, u64), Source)>>(sources: I) -> Self {
        Self {
            sources: sources.into_iter().collect(),
        }
    }
}
