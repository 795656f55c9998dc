//! The metadata that all precious objects have in common: what outlives an Installation belongs to its identity alone.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::names::{FIELD_MANAGER, FORMAT_ANNOTATION, FORMAT_VERSION, IDENTITY_LABEL};

/// Metadata of the precious object `name` of `identity`: no owner, nothing copied from the Installation, and the
/// annotations that keep GitOps tools from pruning it.
pub fn metadata(namespace: &str, identity: &str, name: String) -> ObjectMeta {
    let text = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    ObjectMeta {
        name: Some(name),
        namespace: Some(namespace.to_owned()),
        labels: Some(
            [
                ("app.kubernetes.io/managed-by", FIELD_MANAGER),
                (IDENTITY_LABEL, identity),
            ]
            .map(text)
            .into(),
        ),
        annotations: Some(
            [
                (FORMAT_ANNOTATION, FORMAT_VERSION.to_string().as_str()),
                ("argocd.argoproj.io/sync-options", "Prune=false"),
                ("argocd.argoproj.io/compare-options", "IgnoreExtraneous"),
            ]
            .map(text)
            .into(),
        ),
        ..ObjectMeta::default()
    }
}
