//! Fills a resolution context from the cluster and from registries: sources, Secrets, profiles, images, allocations.
//! Reads only. What is not there becomes a [`Missing`], what is wrong a diagnostic; only a cluster that cannot be asked is
//! an error.

pub mod allocation;
pub mod directory;
pub mod findings;
pub mod image;
pub mod offer;
pub mod parameter;
pub mod platform;
pub mod profile;
pub mod registry;
pub mod selection;
pub mod source;
pub mod support;

use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use thiserror::Error;

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
    /// The Installation's namespace: nothing namespaced is read elsewhere.
    pub namespace: String,
}

impl Reader {
    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
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
