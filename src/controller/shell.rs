//! The shell of one reconcile: the client and the settings. Small helpers for reading and
//! creating that several steps share; no decisions.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::backoff::Backoffs;
use super::failure::{Asked, Failure, exists_already, is_absent};
use super::lookout::Lookout;
use crate::acquire::interest::Interests;
use crate::acquire::registry::Registries;
use crate::api::names::FIELD_MANAGER;

/// What a running controller was told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Only Installations of this namespace, or of all.
    pub namespace: Option<String>,
    /// The name of the Platform object that holds for them.
    pub platform: String,
    /// The operator's own namespace: Secrets that objects of the cluster name are read there, and the claims of host names
    /// kept.
    pub operator_namespace: String,
    /// How often, at most, the tags of one Installation are looked at.
    pub tag_interval: Duration,
}

/// Everything that a reconcile needs from outside.
pub struct Shell {
    /// The Kubernetes client.
    pub client: Client,
    /// What the controller was told.
    pub settings: Settings,
    /// How long each failing Installation waits.
    pub backoffs: Backoffs,
    /// What each Installation reads or waits for.
    pub interests: Interests,
    /// The registries that images and artifacts come from.
    pub registries: Registries,
    /// Which of their tags have moved.
    pub lookout: Lookout,
}

/// What became of an atomic create.
pub enum Created<K> {
    /// It was made now.
    New(K),
    /// It was there before; nobody's content was changed.
    Found(K),
}

impl<K> Created<K> {
    /// The object, whoever made it.
    pub fn into_inner(self) -> K {
        match self {
            Self::New(object) | Self::Found(object) => object,
        }
    }
}

impl Shell {
    /// The API of a namespaced kind.
    pub fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Secrets of `namespace`.
    pub fn secrets(&self, namespace: &str) -> Api<Secret> {
        self.api(namespace)
    }

    /// One atomic create. On a conflict the object that stands there is read and returned untouched.
    ///
    /// # Errors
    /// [`Failure::Conflict`] when the object in the way vanished meanwhile; else as [`Asked::asked`] says.
    pub async fn create_or_read<K>(&self, api: &Api<K>, object: &K) -> Result<Created<K>, Failure>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
    {
        let name = object.meta().name.as_deref().unwrap_or_default();
        let what = || format!("{} {name}", K::kind(&()));
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match api.create(&params, object).await {
            Ok(created) => Ok(Created::New(created)),
            Err(error) if exists_already(&error) => match api.get(name).await {
                Ok(found) => Ok(Created::Found(found)),
                Err(error) if is_absent(&error) => Err(Failure::Conflict { object: what() }),
                Err(error) => Err(error).asked(|| format!("read {}", what())),
            },
            Err(error) => Err(error).asked(|| format!("create {}", what())),
        }
    }
}
