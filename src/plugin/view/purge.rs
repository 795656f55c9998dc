//! What a purge would delete, and what each object holds.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use k8s_openapi::jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::age::age;
use super::plain;
use super::table::table;
use crate::api::ResolutionRecord;
use crate::api::names::{
    CHUNK_ANNOTATION, DIGEST_ANNOTATION, GENERATION_LABEL, NODE_LABEL, PARAMETER_ANNOTATION,
    Precious, VERSION_LABEL, VOLUME_ANNOTATION,
};
use crate::controller::dispose::Sorted;
use crate::controller::precious;

/// A line for each object, in the order in which they go; nothing where there is none.
pub fn list(sorted: &Sorted<'_>, now: Timestamp) -> String {
    let records = sorted.records.iter().map(|it| row(*it, record(it), now));
    let volumes = sorted.volumes.iter().map(|it| row(*it, volume(it), now));
    let secrets = sorted.secrets.iter().copied().chain(sorted.claim);
    let secrets = secrets.map(|it| row(it, secret(it), now));
    let rows: Vec<Vec<String>> = records.chain(volumes).chain(secrets).collect();
    match rows.is_empty() {
        true => String::new(),
        false => table(&["KIND", "NAME", "AGE", "HOLDS"], &rows),
    }
}

fn row<K: Resource<DynamicType = ()>>(object: &K, holds: String, now: Timestamp) -> Vec<String> {
    let made = object.creation_timestamp().map(|time| time.0);
    vec![
        K::kind(&()).into_owned(),
        object.name_any(),
        age(made, now),
        holds,
    ]
}

fn record(record: &ResolutionRecord) -> String {
    format!("record of version {}", label(record, VERSION_LABEL))
}

fn volume(claim: &PersistentVolumeClaim) -> String {
    let status = claim
        .status
        .as_ref()
        .and_then(|status| status.capacity.as_ref());
    let asked = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let asked = asked.and_then(|resources| resources.requests.as_ref());
    let size = status.or(asked).and_then(|sizes| sizes.get("storage"));
    let size = size.map_or(String::new(), |size| format!(", {}", plain(&size.0)));
    format!(
        "data: volume {} of node {}{size}",
        annotation(claim, VOLUME_ANNOTATION),
        label(claim, NODE_LABEL)
    )
}

fn secret(secret: &Secret) -> String {
    match precious::kind(secret) {
        Some(Precious::Credential) => format!(
            "credential {} generation {}",
            annotation(secret, PARAMETER_ANNOTATION),
            label(secret, GENERATION_LABEL)
        ),
        Some(Precious::Snapshot) => format!("snapshot of version {}", label(secret, VERSION_LABEL)),
        Some(Precious::Source) => {
            let digest: String = annotation(secret, DIGEST_ANNOTATION)
                .chars()
                .take(12)
                .collect();
            format!(
                "document {digest}…, part {}",
                annotation(secret, CHUNK_ANNOTATION)
            )
        }
        Some(Precious::Claim) => "claim of the identity".to_owned(),
        Some(Precious::Record | Precious::Hostname) | None => String::new(),
    }
}

fn label<K: Resource>(object: &K, key: &str) -> String {
    object
        .labels()
        .get(key)
        .map(|text| plain(text))
        .unwrap_or_default()
}

fn annotation<K: Resource>(object: &K, key: &str) -> String {
    object
        .annotations()
        .get(key)
        .map(|text| plain(text))
        .unwrap_or_default()
}
