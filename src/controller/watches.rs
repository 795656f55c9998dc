//! What wakes an Installation: its own objects, its precious state, and whatever it reads or waits for. Secrets and
//! ConfigMaps are watched as metadata only. Each event costs a look into an index, never a walk over all Installations.

use kube::runtime::reflector::ObjectRef;
use kube::{Resource, ResourceExt};

use crate::acquire::interest::{Interest, Interests};
use crate::api::Installation;
use crate::api::names::{IDENTITY_LABEL, INSTALLATION_LABEL};

/// [`wake`] as the controller's watches take it.
pub fn waking<K>(
    interests: &Interests,
) -> impl Fn(K) -> Vec<ObjectRef<Installation>> + Send + Sync + use<K>
where
    K: Resource<DynamicType = ()>,
{
    let interests = interests.clone();
    move |object| wake(&interests, &object)
}

/// An object wakes those that read it or wait for it, those whose identity its label names, and the one that its label
/// names as its own.
fn wake<K>(interests: &Interests, object: &K) -> Vec<ObjectRef<Installation>>
where
    K: Resource<DynamicType = ()>,
{
    let namespace = object.namespace();
    let mut woken = interests.holders(&Interest::of::<K>(namespace.as_deref(), &object.name_any()));
    if let Some(namespace) = &namespace {
        if let Some(identity) = object.labels().get(IDENTITY_LABEL) {
            woken.extend(interests.holders(&Interest::identity(namespace, identity)));
        }
        if let Some(name) = object.labels().get(INSTALLATION_LABEL) {
            woken.push(ObjectRef::new(name).within(namespace));
        }
    }
    woken
}

/// An Installation wakes the others of its identity: they may have waited for it to go.
pub fn wake_rivals(interests: &Interests, rival: &Installation) -> Vec<ObjectRef<Installation>> {
    let namespace = rival.namespace().unwrap_or_default();
    let mut woken = interests.holders(&Interest::identity(&namespace, rival.identity()));
    woken.retain(|other| other.name != rival.name_any());
    woken
}
