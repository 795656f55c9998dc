//! What wakes an Installation: its own objects, its precious state, and whatever it reads or waits for. Secrets and
//! ConfigMaps are watched as metadata only. Each event costs a look into an index, never a walk over all Installations.

use std::fmt::Debug;

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Controller;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::Scope;
use super::shell::Settings;
use crate::acquire::interest::{Interest, Interests};
use crate::api::names::{IDENTITY_LABEL, INSTALLATION_LABEL};
use crate::api::{
    ClusterConnection, ClusterVariable, ComponentRevision, Connection, Installation, Variable,
    component_revision,
};

/// A controller of the Installations that `api` serves.
pub(super) fn controller(api: Api<Installation>) -> Controller<Installation> {
    let (reader, writer) = reflector::store();
    let installations = resumed(api, watcher::Config::default());
    Controller::for_stream(installations.reflect(writer).applied_objects(), reader)
}

/// What a watch of `api` tells of: every object that it finds, and every change and deletion.
pub(super) fn touched<K>(
    api: Api<K>,
    config: watcher::Config,
) -> impl Stream<Item = watcher::Result<K>> + Send
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    resumed(api, config).touched_objects()
}

/// A watch that goes on after every failure, after a pause that grows with its own failures in a row and with no other
/// watch's: a controller that saw the failures would let all its watches wait for each of them, one after the other.
fn resumed<K>(
    api: Api<K>,
    config: watcher::Config,
) -> impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let events = watcher(api, config).default_backoff();
    events.filter_map(|event| {
        let event = event.inspect_err(|error| {
            tracing::warn!(kind = %K::kind(&()), %error, "a watch was interrupted and starts again");
        });
        std::future::ready(event.ok().map(Ok))
    })
}

/// `controller`, watching the organization's catalog, too: what is found by a path wakes by it. Namespaces are watched for
/// the labels that may permit them something.
pub(super) fn catalog(
    controller: Controller<Installation>,
    scope: &Scope,
    settings: &Settings,
    interests: &Interests,
) -> Controller<Installation> {
    let any = watcher::Config::default;
    let client = &scope.client;
    let controller = controller
        .watches_stream(
            touched(scope.api::<Variable>(), any()),
            waking_by(interests, |variable: &Variable| variable.spec.path.clone()),
        )
        .watches_stream(
            touched(Api::<ClusterVariable>::all(client.clone()), any()),
            waking_by(interests, |variable: &ClusterVariable| {
                variable.spec.path.clone()
            }),
        )
        .watches_stream(touched(scope.api::<Connection>(), any()), waking(interests))
        .watches_stream(
            touched(Api::<ClusterConnection>::all(client.clone()), any()),
            waking_by(interests, |connection: &ClusterConnection| {
                connection.spec.path.clone()
            }),
        )
        .watches_stream(
            touched(Api::<ComponentRevision>::all(client.clone()), any()),
            waking_by(interests, |found: &ComponentRevision| {
                component_revision::named(&found.spec.identity, found.spec.revision)
            }),
        )
        .watches_stream(
            touched(
                Api::<PartialObjectMeta<Namespace>>::all(client.clone()),
                any(),
            ),
            waking(interests),
        );
    // Secrets that objects of the cluster name are the operator's, which an operator of one other namespace does not see.
    let is_elsewhere = |namespace: &String| *namespace != settings.operator_namespace;
    if scope.namespace.as_ref().is_some_and(is_elsewhere) {
        let secrets = Api::<PartialObjectMeta<Secret>>::namespaced(
            client.clone(),
            &settings.operator_namespace,
        );
        controller.watches_stream(touched(secrets, any()), waking(interests))
    } else {
        controller
    }
}

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

/// [`wake`] for a kind that is found by `key` and not by its name.
fn waking_by<K, F>(
    interests: &Interests,
    key: F,
) -> impl Fn(K) -> Vec<ObjectRef<Installation>> + Send + Sync + use<K, F>
where
    K: Resource<DynamicType = ()>,
    F: Fn(&K) -> String + Send + Sync,
{
    let interests = interests.clone();
    move |object| {
        let namespace = object.namespace();
        interests.holders(&Interest::of::<K>(namespace.as_deref(), &key(&object)))
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_found_by_its_path_wakes_those_that_asked_for_that_path_and_nobody_else() {
        let interests = Interests::default();
        let asking = |name: &str, path: &str| {
            let holder = ObjectRef::new(name).within("ns");
            let asked = Interest::of::<ClusterVariable>(None, path);
            interests.open(holder.clone()).note(asked);
            holder
        };
        let wiki = asking("wiki", "cloud.region");
        let desk = asking("desk", "cloud.zone");
        // Named like the path of another.
        asking("shop", "region");
        let wake = waking_by(&interests, |variable: &ClusterVariable| {
            variable.spec.path.clone()
        });
        for (path, expected) in [("cloud.region", vec![wiki]), ("cloud.zone", vec![desk])] {
            let spec = serde_json::from_value(json!({"path": path, "value": 1})).expect("a spec");
            assert_eq!(wake(ClusterVariable::new("region", spec)), expected);
        }
    }
}
