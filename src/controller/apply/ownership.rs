//! Whose an object is, and the only way to delete one: nothing of a stranger is ever written or removed.

use std::collections::BTreeMap;

use kube::api::{DeleteParams, ListParams, Preconditions, PropagationPolicy};
use kube::{Api, Resource, ResourceExt};

use crate::api::names::INSTALLATION_LABEL;
use crate::api::{GROUP, Installation};
use crate::controller::failure::{Asked, Failure, is_absent};
use crate::controller::precious::foreign;
use crate::materialize::metadata::Owner;

/// Everything labelled as the owner's, by name. A kind that the cluster does not serve has no objects.
pub(super) async fn labelled<K>(api: &Api<K>, owner: &Owner) -> Result<BTreeMap<String, K>, Failure>
where
    K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let labelled = ListParams::default().labels(&format!("{INSTALLATION_LABEL}={}", owner.name));
    let list = match api.list(&labelled).await {
        Err(error) if is_absent(&error) => return Ok(BTreeMap::new()),
        outcome => outcome.asked(|| format!("list objects of {}", owner.name))?,
    };
    Ok(list
        .into_iter()
        .map(|object| (object.name_any(), object))
        .collect())
}

/// Deletes the very object that was looked at: one made meanwhile under the same name stays.
pub(super) async fn delete_one<K>(
    api: &Api<K>,
    object: &K,
    kind: &str,
    propagation: PropagationPolicy,
) -> Result<(), Failure>
where
    K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let name = object.name_any();
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: object.uid(),
            resource_version: None,
        }),
        propagation_policy: Some(propagation),
        ..DeleteParams::default()
    };
    match api.delete(&name, &params).await {
        Err(error) if !is_absent(&error) => Err(error).asked(|| format!("delete {kind} {name}")),
        _ => Ok(()),
    }
}

/// Whether `object` belongs to this very Installation.
pub(super) fn is_owned<K: Resource>(object: &K, owner: &Owner) -> bool {
    object
        .meta()
        .owner_references
        .iter()
        .flatten()
        .any(|reference| reference.uid == owner.uid)
}

/// Refuses to write an object that is controlled by anybody but an Installation of this name.
///
/// # Errors
/// [`Failure::ForeignObject`].
pub(super) fn refuse_strangers<K: Resource>(
    standing: &K,
    owner: &Owner,
    object: &str,
) -> Result<(), Failure> {
    let ours = standing
        .meta()
        .owner_references
        .iter()
        .flatten()
        .any(|reference| {
            reference.kind == Installation::kind(&())
                && reference.api_version.starts_with(GROUP)
                && reference.name == owner.name
        });
    if ours {
        Ok(())
    } else {
        Err(foreign(
            object.to_owned(),
            "no Installation of this name owns it",
        ))
    }
}
