//! The organization's catalog: objects of the cluster that are found by an exact dotted path, and whether a namespace may
//! use them. The API server selects by the path, so that no other object travels.

use std::fmt::Debug;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::ListParams;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::interest::Interest;
use super::{Reader, Reading, Unavailable};
use crate::api::catalog::{CatalogEntry, PATH_FIELD};

/// What the objects of one kind say of a path.
pub enum Claims<K> {
    /// None claims it.
    None,
    /// One claims it.
    One(K),
    /// More than one claims it; here they are by kind and name.
    Several(Vec<String>),
}

impl<K: Resource<DynamicType = ()>> Claims<K> {
    pub(super) fn of(mut found: Vec<K>) -> Self {
        match (found.pop(), found.is_empty()) {
            (None, _) => Self::None,
            (Some(only), true) => Self::One(only),
            (Some(last), false) => {
                found.push(last);
                let mut named: Vec<String> = found.iter().map(called).collect();
                named.sort();
                Self::Several(named)
            }
        }
    }
}

/// How an object is called in messages.
pub(super) fn called<K: Resource<DynamicType = ()>>(object: &K) -> String {
    format!("{} {}", K::kind(&()), object.name_any())
}

/// The names of a list, for a sentence.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

impl Reader {
    /// The objects of kind `K` in the Installation's namespace that claim `path`.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub(super) async fn claims_here<K>(&self, path: &str) -> Result<Claims<K>, Unavailable>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        self.note(Interest::of::<K>(Some(&self.namespace), path));
        let api = Api::<K>::namespaced(self.client.clone(), &self.namespace);
        let fields = format!("{PATH_FIELD}={path}");
        claims(&api, &fields, path).await
    }

    /// The objects of kind `K` of the cluster that claim `path`.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub(super) async fn claims<K>(&self, path: &str) -> Result<Claims<K>, Unavailable>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        self.claims_by(path, &format!("{PATH_FIELD}={path}")).await
    }

    /// The objects of kind `K` of the cluster that `fields` selects; whatever wakes for `name` wakes for them.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub(super) async fn claims_by<K>(
        &self,
        name: &str,
        fields: &str,
    ) -> Result<Claims<K>, Unavailable>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        self.note(Interest::of::<K>(None, name));
        claims(&Api::all(self.client.clone()), fields, name).await
    }

    /// Whether the Installation's namespace may use `entry`. Its labels are read only where they decide.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub(super) async fn may_use(&self, entry: &impl CatalogEntry) -> Result<bool, Unavailable> {
        let allowed = entry.allowed_namespaces();
        if allowed.by_name(&self.namespace) || allowed.selector.is_none() {
            return Ok(allowed.by_name(&self.namespace));
        }
        let namespace = self.read_cluster::<Namespace>(&self.namespace).await?;
        Ok(namespace.is_some_and(|namespace| allowed.by_labels(namespace.labels())))
    }
}

async fn claims<K>(api: &Api<K>, fields: &str, name: &str) -> Result<Claims<K>, Unavailable>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let selected = ListParams::default().fields(fields);
    let found = api
        .list(&selected)
        .await
        .reading(|| format!("{} of {name}", K::plural(&())))?;
    Ok(Claims::of(found.items))
}
