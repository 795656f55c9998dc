//! Accepted documents, read back from the Secrets that hold them in chunks. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret as SecretObject;

use super::failure::Failure;
use super::history::key;
use super::precious::{self, annotation, describe, foreign};
use crate::api::names::{self, CHUNK_ANNOTATION, DIGEST_ANNOTATION, Precious};
use crate::resolution::accept::Sources;

/// The digest of the document that a source is a chunk of, and which one.
///
/// # Errors
/// As [`precious::check`] says.
pub fn source_place(chunk: &SecretObject, identity: &str) -> Result<(String, usize), Failure> {
    let digest = annotation(&chunk.metadata, DIGEST_ANNOTATION).unwrap_or_default();
    let index = annotation(&chunk.metadata, CHUNK_ANNOTATION)
        .and_then(|chunk| chunk.split_once('/'))
        .and_then(|(index, _)| index.parse::<usize>().ok())
        .filter(|_| digest.len() == 64 && digest.is_ascii());
    let Some(index) = index else {
        let why = "its digest and chunk annotations differ";
        return Err(foreign(describe(chunk), why));
    };
    let name = names::source(identity, digest, index);
    precious::check(chunk, Precious::Source, identity, &name)?;
    Ok((digest.to_owned(), index))
}

/// Joins the chunks of every document and checks their digests.
///
/// # Errors
/// As [`source_place`] says.
pub fn read_sources(chunks: &[SecretObject], identity: &str) -> Result<Sources, Failure> {
    let mut documents: BTreeMap<String, BTreeMap<usize, &SecretObject>> = BTreeMap::new();
    for chunk in chunks {
        let (digest, index) = source_place(chunk, identity)?;
        documents.entry(digest).or_default().insert(index, chunk);
    }
    // A document with a chunk missing has another digest than it is asked for by, and is as good as absent.
    let join = |chunks: BTreeMap<usize, &SecretObject>| -> Result<Arc<[u8]>, Failure> {
        let mut bytes = Vec::new();
        for chunk in chunks.values() {
            bytes.extend_from_slice(precious::bytes(chunk, key::SOURCE)?);
        }
        Ok(bytes.into())
    };
    documents.into_values().map(join).collect()
}
