//! Objects of the organization's catalog, of one test alone, and how long an Installation takes to heal by them.

use std::time::Duration;

use installation_operator::api::Installation;
use installation_operator::api::condition::ConditionType;
use k8s_openapi::ClusterResourceScope;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::TestNamespace;
use super::install::object;
use super::wait::{condition, conditions};

/// How long healing may take: through watches alone, without a periodic look.
pub const HEALING: Duration = Duration::from_secs(30);

impl TestNamespace {
    /// A dotted path that no other test uses.
    pub fn path(&self, name: &str) -> String {
        let mut unique = self.name.clone();
        unique.retain(|c| c.is_ascii_alphanumeric());
        format!("{unique}.{name}")
    }

    /// The name of an object of the cluster that no other test uses.
    pub fn own(&self, name: &str) -> String {
        format!("{name}-{}", self.name)
    }

    /// An object of the cluster, as JSON, that goes with this namespace. Its name is [`TestNamespace::own`].
    pub fn of_cluster(&self, kind: &str, name: &str, spec: Value) -> Value {
        json!({
            "apiVersion": "install.musher.dev/v1alpha1",
            "kind": kind,
            "metadata": {
                "name": self.own(name),
                "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": self.name, "uid": self.uid}]
            },
            "spec": spec
        })
    }

    /// Creates an object of the cluster that goes with this namespace.
    pub async fn offer<K>(&self, name: &str, spec: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + Serialize
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let kind = K::kind(&());
        let made: K = object(self.of_cluster(&kind, name, spec));
        let api = Api::<K>::all(self.client());
        let created = api.create(&PostParams::default(), &made).await;
        created.unwrap_or_else(|error| panic!("cannot create {kind} {name}: {error}"))
    }

    /// Changes such an object as `kubectl patch --type=merge` does.
    pub async fn reoffer<K>(&self, name: &str, change: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let api = Api::<K>::all(self.client());
        let name = self.own(name);
        let patched = api
            .patch(&name, &PatchParams::default(), &Patch::Merge(change))
            .await;
        patched.unwrap_or_else(|error| panic!("cannot change {name}: {error}"))
    }

    /// Deletes such an object.
    pub async fn withdraw<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let api = Api::<K>::all(self.client());
        let name = self.own(name);
        let deleted = api.delete(&name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("cannot delete {name}: {error}"));
    }

    /// Waits until the Installation is materialized, and fails when that took longer than healing may.
    #[track_caller]
    pub fn heals(&self, name: &str) -> impl Future<Output = Installation> {
        let caller = std::panic::Location::caller();
        async move {
            let begin = Instant::now();
            let healed = self.wait_until_materialized(name).await;
            let took = begin.elapsed();
            assert!(took < HEALING, "{caller}: {name} healed after {took:?}");
            eprintln!("{name} healed after {took:?}");
            healed
        }
    }

    /// Waits until the Installation waits for `missing` and everybody can see so; says what it tells to do.
    pub async fn waits_for(&self, name: &str, missing: &str) -> String {
        let seen = self
            .wait_for(name, missing, |seen| deferred(seen, missing).map(drop))
            .await;
        assert_eq!(resolution(&seen), Some("INCOMPLETE"), "{name}");
        assert_eq!(condition(&seen, ConditionType::Ready).1, "Incomplete");
        assert_eq!(
            conditions(&seen),
            ["Ready=Unknown", "Reconciling=True", "Stalled=False"],
            "{name} waits for {missing}"
        );
        self.wait_for_event(name, "Incomplete").await;
        deferred(&seen, missing).unwrap_or_default()
    }

    /// Waits until the Installation is stalled by a diagnostic of `code` and everybody can see so; says its message.
    pub async fn is_refused(&self, name: &str, code: &str) -> String {
        let diagnosed = |seen: &Installation| {
            let mut found = seen.status.as_ref()?.diagnostics.iter();
            let found = found.find(|found| found.code == code)?;
            Some(found.message.clone())
        };
        self.wait_for(name, code, |seen| diagnosed(seen).map(drop))
            .await;
        let stalled = self.wait_until_stalled(name, "Invalid").await;
        assert_eq!(resolution(&stalled), Some("INVALID"), "{name}");
        self.wait_for_event(name, "Invalid").await;
        diagnosed(&stalled).unwrap_or_default()
    }
}

fn resolution(seen: &Installation) -> Option<&str> {
    seen.status.as_ref()?.resolution.as_deref()
}

fn deferred(seen: &Installation, missing: &str) -> Option<String> {
    let mut deferred = seen.status.as_ref()?.deferred.iter();
    let found = deferred.find(|found| found.missing == missing)?;
    Some(found.message.clone().unwrap_or_default())
}
