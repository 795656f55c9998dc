//! The only way to delete what is precious: the very object that was looked at, and with word of whether it is gone.

use std::fmt::Debug;

use kube::api::{DeleteParams, Preconditions};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::failure::{Asked, Failure, is_absent};

/// Finalizers that Kubernetes itself sets and answers.
const OF_KUBERNETES: [&str; 3] = [
    "foregroundDeletion",
    "orphan",
    "kubernetes.io/pvc-protection",
];

/// What became of a deletion.
pub enum Removal {
    /// The object is gone.
    Gone,
    /// It stays until its finalizers are answered: the names of those that are somebody else's, if any are.
    Held(Option<String>),
}

/// Deletes the very object that was looked at: one made meanwhile under the same name stays.
///
/// # Errors
/// As [`Asked::asked`] says.
pub async fn remove<K>(api: &Api<K>, object: &K) -> Result<Removal, Failure>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: object.uid(),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    delete(api, object, &params).await
}

/// [`remove`], as long as nobody has changed the object since it was looked at: for whoever decided on all that it says.
/// A dry run asks the API server and deletes nothing.
///
/// # Errors
/// [`Failure::Conflict`] when it has changed, and else as [`Asked::asked`] says.
pub async fn remove_unchanged<K>(
    api: &Api<K>,
    object: &K,
    dry_run: bool,
) -> Result<Removal, Failure>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: object.uid(),
            resource_version: object.resource_version(),
        }),
        dry_run,
        ..DeleteParams::default()
    };
    delete(api, object, &params).await
}

async fn delete<K>(api: &Api<K>, object: &K, params: &DeleteParams) -> Result<Removal, Failure>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let name = object.name_any();
    match api.delete(&name, params).await {
        Ok(answer) => Ok(answer.left().map_or(Removal::Gone, |left| {
            if left.finalizers().is_empty() {
                Removal::Gone
            } else {
                Removal::Held(finalizers_of_others(&left))
            }
        })),
        Err(error) if is_absent(&error) => Ok(Removal::Gone),
        Err(error) => Err(error).asked(|| format!("delete {} {name}", K::kind(&()))),
    }
}

/// The finalizers of `object` that are not Kubernetes's own.
pub fn finalizers_of_others<K: Resource>(object: &K) -> Option<String> {
    let others: Vec<&str> = object
        .meta()
        .finalizers
        .iter()
        .flatten()
        .map(String::as_str)
        .filter(|finalizer| !OF_KUBERNETES.contains(finalizer))
        .collect();
    (!others.is_empty()).then(|| others.join(", "))
}
