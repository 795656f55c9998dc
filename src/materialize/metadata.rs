//! Metadata that every materialized object shares: labels, selectors and the owner.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;

use crate::api::Installation;
use crate::api::names::{FIELD_MANAGER, INSTALLATION_LABEL, NODE_LABEL};
use crate::api::pods::PodTerms;

/// The Installation that materialized objects belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its UID.
    pub uid: String,
    /// Its effective identity, which what outlives it belongs to.
    pub identity: String,
}

impl Owner {
    /// The owner that `installation` is, once the API server knows it.
    pub fn of(installation: &Installation) -> Self {
        let field = |field: &Option<String>| field.clone().unwrap_or_default();
        let metadata = &installation.metadata;
        Self {
            name: field(&metadata.name),
            namespace: field(&metadata.namespace),
            uid: field(&metadata.uid),
            identity: installation.identity().to_owned(),
        }
    }

    /// Metadata of the object `name` that belongs to `node` of the item `slug`.
    pub(super) fn metadata(&self, name: String, node: &str, slug: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name),
            namespace: Some(self.namespace.clone()),
            labels: Some(self.labels(node, slug)),
            owner_references: Some(vec![self.reference()]),
            ..ObjectMeta::default()
        }
    }

    /// The standard labels, and ours that selectors use.
    pub(super) fn labels(&self, node: &str, slug: &str) -> BTreeMap<String, String> {
        let mut labels = self.selector(node);
        for (key, value) in [
            ("app.kubernetes.io/name", slug),
            ("app.kubernetes.io/instance", &self.name),
            ("app.kubernetes.io/component", node),
            ("app.kubernetes.io/managed-by", FIELD_MANAGER),
        ] {
            labels.insert(key.to_owned(), value.to_owned());
        }
        labels
    }

    /// `metadata` with what the platform marks workloads and pods with. What is there already wins.
    pub(super) fn marked(mut metadata: ObjectMeta, terms: &PodTerms) -> ObjectMeta {
        let mark = |onto: &mut Option<BTreeMap<String, String>>, marks: &BTreeMap<_, _>| {
            if !marks.is_empty() {
                let own = onto.take().unwrap_or_default();
                *onto = Some(marks.clone().into_iter().chain(own).collect());
            }
        };
        mark(&mut metadata.labels, &terms.labels);
        mark(&mut metadata.annotations, &terms.annotations);
        metadata
    }

    /// What selects the pods of `node`; never changes, because selectors cannot.
    pub(super) fn selector(&self, node: &str) -> BTreeMap<String, String> {
        [(INSTALLATION_LABEL, self.name.as_str()), (NODE_LABEL, node)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }

    /// The controlling owner reference.
    pub(super) fn reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: Installation::api_version(&()).into_owned(),
            kind: Installation::kind(&()).into_owned(),
            name: self.name.clone(),
            uid: self.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }
}
