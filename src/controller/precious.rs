//! The common dress of precious Secrets: type, labels, annotations, immutability — how they are made and how one that was
//! found is told from a stranger.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::failure::Failure;
use crate::api::names::{FORMAT_ANNOTATION, FORMAT_VERSION, IDENTITY_LABEL, Precious};
pub use crate::api::precious::metadata;

/// A precious Secret with `data`.
pub fn secret(
    kind: Precious,
    metadata: ObjectMeta,
    data: BTreeMap<String, Vec<u8>>,
    immutable: bool,
) -> Secret {
    Secret {
        metadata,
        type_: Some(kind.secret_type()),
        immutable: immutable.then_some(true),
        data: Some(
            data.into_iter()
                .map(|(key, bytes)| (key, ByteString(bytes)))
                .collect(),
        ),
        ..Secret::default()
    }
}

/// The kind of a precious Secret, by its type.
pub fn kind(secret: &Secret) -> Option<Precious> {
    use strum::IntoEnumIterator;
    Precious::iter().find(|kind| secret.type_.as_deref() == Some(&kind.secret_type()))
}

/// Checks that `found` is dressed as a precious Secret of `kind` and `identity` under its own name.
///
/// # Errors
/// [`Failure::NewerState`] for a later format, [`Failure::ForeignObject`] for anything else that differs.
pub fn check(found: &Secret, kind: Precious, identity: &str, name: &str) -> Result<(), Failure> {
    let object = || format!("Secret {name}");
    let metadata = &found.metadata;
    check_format(metadata, object)?;
    let expectations = [
        (found.type_.as_deref() == Some(&kind.secret_type()), "type"),
        (metadata.name.as_deref() == Some(name), "name"),
        (
            label(metadata, IDENTITY_LABEL) == Some(identity),
            "identity",
        ),
        (
            kind == Precious::Claim || found.immutable == Some(true),
            "immutability",
        ),
        (metadata.owner_references.is_none(), "ownerReferences"),
    ];
    match expectations.iter().find(|(holds, _)| !holds) {
        None => Ok(()),
        Some((_, what)) => Err(foreign(object(), format!("its {what} differs"))),
    }
}

/// Checks the format annotation alone.
///
/// # Errors
/// [`Failure::NewerState`] for a later format, [`Failure::ForeignObject`] where there is none.
pub fn check_format(metadata: &ObjectMeta, object: impl Fn() -> String) -> Result<(), Failure> {
    let found = metadata
        .annotations
        .as_ref()
        .and_then(|all| all.get(FORMAT_ANNOTATION));
    match found.map(|text| (text, text.parse::<u32>())) {
        Some((_, Ok(version))) if (1..=FORMAT_VERSION).contains(&version) => Ok(()),
        Some((text, Ok(version))) if version > FORMAT_VERSION => Err(Failure::NewerState {
            object: object(),
            found: text.clone(),
            known: FORMAT_VERSION,
        }),
        _ => Err(foreign(
            object(),
            format!("it has no valid annotation {FORMAT_ANNOTATION}"),
        )),
    }
}

/// The value of a label.
pub fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// The value of an annotation.
pub fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// The bytes under `key`.
///
/// # Errors
/// [`Failure::ForeignObject`] where the key is absent.
pub fn bytes<'a>(secret: &'a Secret, key: &str) -> Result<&'a [u8], Failure> {
    secret
        .data
        .as_ref()
        .and_then(|data| data.get(key))
        .map(|bytes| bytes.0.as_slice())
        .ok_or_else(|| foreign(describe(secret), format!("its key {key} is absent")))
}

/// A [`Failure::ForeignObject`].
pub fn foreign(object: String, why: impl Into<String>) -> Failure {
    Failure::ForeignObject {
        object,
        why: why.into(),
    }
}

/// `Secret NAME`.
pub fn describe(secret: &Secret) -> String {
    format!(
        "Secret {}",
        secret.metadata.name.as_deref().unwrap_or_default()
    )
}
