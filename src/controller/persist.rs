//! Create-only writes of what a record stands on, in their order: sources, snapshot, record. Each is one atomic create;
//! what is found in the way must be the same.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Resource, ResourceExt};

use super::failure::{Asked, Failure, exists_already};
use super::history::{Version, key};
use super::precious::{self, foreign};
use super::shell::{Created, Shell};
use crate::api::ResolutionRecord;
use crate::api::names::{
    self, CHUNK_ANNOTATION, DIGEST_ANNOTATION, FIELD_MANAGER, Precious, VERSION_LABEL,
};
use crate::api::record::ResolutionRecordSpec;
use crate::contract::contracts::Contracts;
use crate::document::digest::Digest;

/// The most bytes of a document in one Secret, which holds 1 MiB at most.
const CHUNK: usize = 512 * 1024;

impl Shell {
    /// Persists the bytes of the blueprint and of every component that `known` does not name yet.
    ///
    /// # Errors
    /// [`Failure::ForeignObject`] for other bytes under the same name, and what writing ends in.
    pub async fn persist_sources(
        &self,
        namespace: &str,
        identity: &str,
        contracts: &Contracts,
        known: impl Fn(&Digest) -> bool,
    ) -> Result<(), Failure> {
        let components = contracts
            .components
            .values()
            .map(|contract| (&contract.digest, &contract.source));
        for (digest, bytes) in
            std::iter::once((&contracts.digest, &contracts.source)).chain(components)
        {
            if known(digest) {
                continue;
            }
            for secret in source_secrets(namespace, identity, digest, bytes) {
                let name = secret.metadata.name.clone().unwrap_or_default();
                let found = self
                    .create_or_read(&self.secrets(namespace), &secret)
                    .await?
                    .into_inner();
                precious::check(&found, Precious::Source, identity, &name)?;
                if found.data != secret.data {
                    return Err(foreign(precious::describe(&found), "it holds other bytes"));
                }
            }
        }
        Ok(())
    }

    /// Persists the snapshot of `version`, and beside it what was decided with it.
    ///
    /// # Errors
    /// [`Failure::Conflict`] when another version of this number came first, and what writing ends in.
    pub async fn persist_snapshot(
        &self,
        namespace: &str,
        identity: &str,
        version: &Version,
    ) -> Result<(), Failure> {
        let secret = snapshot_secret(namespace, identity, version);
        let name = secret.metadata.name.clone().unwrap_or_default();
        let found = match self
            .create_or_read(&self.secrets(namespace), &secret)
            .await?
        {
            Created::New(_) => return Ok(()),
            Created::Found(found) => found,
        };
        precious::check(&found, Precious::Snapshot, identity, &name)?;
        // Two passes may race for one number. The other's snapshot is as good as this one: go on from it.
        if found.data == secret.data {
            Ok(())
        } else {
            Err(Failure::Conflict {
                object: precious::describe(&found),
            })
        }
    }

    /// Persists the record of `version` with strict field validation and `annotations`, and reads it back: it counts only
    /// if it is equal.
    ///
    /// # Errors
    /// [`Failure::ForeignObject`] when what stands there is not equal, and what writing ends in.
    pub async fn persist_record(
        &self,
        namespace: &str,
        identity: &str,
        version: &Version,
        annotations: BTreeMap<String, String>,
    ) -> Result<ResolutionRecord, Failure> {
        let api = self.api::<ResolutionRecord>(namespace);
        let name = names::record(identity, version.number);
        let mut record = ResolutionRecord::new(&name, ResolutionRecordSpec(version.record.clone()));
        record.metadata = precious::metadata(namespace, identity, name.clone());
        record
            .labels_mut()
            .insert(VERSION_LABEL.to_owned(), version.number.to_string());
        record.annotations_mut().extend(annotations);
        let object = || format!("ResolutionRecord {name}");
        match self
            .client
            .request::<ResolutionRecord>(strict_create(&record, namespace)?)
            .await
        {
            Err(error) if !exists_already(&error) => {
                return Err(error).asked(|| format!("create {}", object()));
            }
            _ => {}
        }
        let found = api
            .get(&name)
            .await
            .asked(|| format!("read {}", object()))?;
        let same = found.spec == record.spec
            && precious::label(&found.metadata, VERSION_LABEL) == Some(&version.number.to_string())
            && precious::label(&found.metadata, names::IDENTITY_LABEL) == Some(identity);
        if same {
            Ok(found)
        } else {
            Err(foreign(
                object(),
                "it is not the record that follows from its snapshot",
            ))
        }
    }
}

fn source_secrets(namespace: &str, identity: &str, digest: &Digest, bytes: &[u8]) -> Vec<Secret> {
    let chunks: Vec<&[u8]> = bytes.chunks(CHUNK).collect();
    let secret = |(index, chunk): (usize, &&[u8])| {
        let name = names::source(identity, digest.as_str(), index);
        let mut metadata = precious::metadata(namespace, identity, name);
        metadata.annotations.get_or_insert_default().extend([
            (DIGEST_ANNOTATION.to_owned(), digest.to_string()),
            (
                CHUNK_ANNOTATION.to_owned(),
                format!("{index}/{}", chunks.len()),
            ),
        ]);
        precious::secret(
            Precious::Source,
            metadata,
            [(key::SOURCE.to_owned(), chunk.to_vec())].into(),
            true,
        )
    };
    chunks.iter().enumerate().map(secret).collect()
}

fn snapshot_secret(namespace: &str, identity: &str, version: &Version) -> Secret {
    let mut metadata = precious::metadata(
        namespace,
        identity,
        names::snapshot(identity, version.number),
    );
    metadata
        .labels
        .get_or_insert_default()
        .insert(VERSION_LABEL.to_owned(), version.number.to_string());
    let plain = |value: serde_json::Result<Vec<u8>>| value.expect("plain data serializes");
    let data = [
        (
            key::SNAPSHOT.to_owned(),
            version.snapshot.to_secret_bytes().expose().clone(),
        ),
        (
            key::PINS.to_owned(),
            plain(serde_json::to_vec(&version.pins)),
        ),
        (
            key::INTENT.to_owned(),
            plain(serde_json::to_vec(&version.intent)),
        ),
        (
            key::RECORD.to_owned(),
            plain(serde_json::to_vec(&version.record)),
        ),
    ];
    precious::secret(Precious::Snapshot, metadata, data.into(), true)
}

/// A create request that refuses unknown and duplicate fields, which the client has no parameter for.
fn strict_create(
    record: &ResolutionRecord,
    namespace: &str,
) -> Result<http::Request<Vec<u8>>, Failure> {
    let action = || "build the request for a ResolutionRecord".to_owned();
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    let body = serde_json::to_vec(record)
        .map_err(kube::Error::SerdeError)
        .asked(action)?;
    let request = kube::core::Request::new(ResolutionRecord::url_path(&(), Some(namespace)))
        .create(&params, body)
        .map_err(kube::Error::BuildRequest)
        .asked(action)?;
    let (mut parts, body) = request.into_parts();
    parts.uri = format!("{}&fieldValidation=Strict", parts.uri)
        .parse()
        .map_err(|error: http::uri::InvalidUri| kube::Error::HttpError(error.into()))
        .asked(action)?;
    Ok(http::Request::from_parts(parts, body))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    #[test]
    fn a_large_document_is_persisted_in_chunks_that_join_to_it() {
        let bytes: Vec<u8> = (0..CHUNK + 1).map(|index| (index % 251) as u8).collect();
        let secrets = source_secrets("ns", "wiki", &Digest::of(&bytes), &bytes);
        let chunk = |secret: &Secret| {
            secret
                .data
                .as_ref()
                .and_then(|data| data.get(key::SOURCE))
                .cloned()
        };
        let joined: Vec<u8> = secrets
            .iter()
            .filter_map(chunk)
            .flat_map(|ByteString(bytes)| bytes)
            .collect();
        assert_eq!((secrets.len(), joined == bytes), (2, true));
    }
}
