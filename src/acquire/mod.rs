//! Fills a resolution context from the cluster and from registries: sources, artifacts, Secrets, profiles, images, allocations.
//! Reads only. What is not there becomes a [`Missing`], what is wrong a diagnostic; only a cluster that cannot be asked is
//! an error.

pub mod address;
pub mod allocation;
pub mod artifact;
pub mod catalog;
pub mod connection;
pub mod directory;
pub mod findings;
pub mod hostname;
pub mod image;
pub mod interest;
pub mod offer;
pub mod parameter;
pub mod placement;
pub mod platform;
pub mod profile;
pub mod published;
pub mod registry;
pub mod secret;
pub mod selection;
pub mod source;
pub mod variable;

use std::fmt::Debug;

use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use thiserror::Error;

use self::interest::{Interest, Notebook};
pub use findings::{Document, Findings, Missing};

/// The cluster could not be asked for something that resolution needs.
#[derive(Debug, Error)]
#[error("read {what}")]
pub struct Unavailable {
    /// The object, as kind and name.
    pub what: String,
    /// The client's error.
    #[source]
    pub source: Box<kube::Error>,
}

/// Reads on behalf of one Installation.
pub struct Reader {
    /// The Kubernetes client.
    pub client: Client,
    /// The Installation's namespace. Nothing namespaced is read elsewhere, but Secrets that objects of the cluster name.
    pub namespace: String,
    /// The operator's own namespace, where those Secrets are.
    pub operator_namespace: String,
    /// Where it is noted what is read. `None` for a reader that nobody wakes.
    pub notebook: Option<Notebook>,
}

impl Reader {
    /// Reads an object of the Installation's namespace.
    async fn read<K>(&self, name: &str) -> Result<Option<K>, Unavailable>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        self.read_in(&self.namespace, name).await
    }

    /// Reads an object of `namespace`.
    async fn read_in<K>(&self, namespace: &str, name: &str) -> Result<Option<K>, Unavailable>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        self.note(Interest::of::<K>(Some(namespace), name));
        Api::namespaced(self.client.clone(), namespace)
            .get_opt(name)
            .await
            .reading(|| format!("{} {name}", K::kind(&())))
    }

    /// Reads an object of the cluster.
    async fn read_cluster<K>(&self, name: &str) -> Result<Option<K>, Unavailable>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        self.note(Interest::of::<K>(None, name));
        Api::all(self.client.clone())
            .get_opt(name)
            .await
            .reading(|| format!("{} {name}", K::kind(&())))
    }

    fn note(&self, interest: Interest) {
        if let Some(notebook) = &self.notebook {
            notebook.note(interest);
        }
    }
}

/// Says what was read when a read fails.
trait Reading<T> {
    fn reading(self, what: impl FnOnce() -> String) -> Result<T, Unavailable>;
}

impl<T> Reading<T> for Result<T, kube::Error> {
    fn reading(self, what: impl FnOnce() -> String) -> Result<T, Unavailable> {
        self.map_err(|source| Unavailable {
            what: what(),
            source: Box::new(source),
        })
    }
}
