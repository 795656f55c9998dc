//! A namespace for each test, gone when the test is over.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use installation_operator::api::Installation;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, RoleBinding};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde_json::json;

use super::cluster::{Cluster, client_of};
use super::install::{create, object};
use super::principal::{self, Principal};
use super::wait::eventually;

/// A namespace of this test alone.
pub struct TestNamespace {
    /// The cluster, as its administrator.
    pub cluster: Cluster,
    /// The namespace.
    pub name: String,
    /// The namespace's UID, by which what belongs to it outside is collected with it.
    pub uid: String,
    /// Files of this test that outlive it: logs.
    pub directory: PathBuf,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl TestNamespace {
    /// A new namespace, named after `test`.
    pub async fn new(test: &str) -> Self {
        let cluster = Cluster::get().await;
        let name = unique(test);
        let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
        let namespace = object(
            json!({"metadata": {"name": name, "labels": {"install.musher.dev/test": "true"}}}),
        );
        let made = namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .expect("a namespace");
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&name);
        std::fs::create_dir_all(&directory).expect("a directory for logs");
        Self {
            cluster,
            name,
            uid: made.metadata.uid.expect("a UID"),
            directory,
        }
    }

    /// The administrator's client.
    pub fn client(&self) -> Client {
        self.cluster.client.clone()
    }

    /// The administrator's view of a kind in this namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client(), &self.name)
    }

    /// Lets in only pods that are `restricted`.
    pub async fn enforce_restricted(&self) {
        let level =
            json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
        Api::<Namespace>::all(self.client())
            .patch(&self.name, &PatchParams::default(), &Patch::Merge(level))
            .await
            .expect("a label");
    }

    /// Creates an object, with strict field validation.
    pub async fn create<K>(&self, object: &K) -> K
    where
        K: Resource<Scope = NamespaceResourceScope>
            + Clone
            + serde::Serialize
            + serde::de::DeserializeOwned
            + std::fmt::Debug,
        K::DynamicType: Default,
    {
        let created = self.api().create(&PostParams::default(), object).await;
        created.unwrap_or_else(|error| panic!("cannot create {object:?}: {error}"))
    }

    /// Changes an Installation as `kubectl patch --type=merge` does.
    pub async fn merge(&self, name: &str, change: serde_json::Value) -> Installation {
        let patched = self
            .api()
            .patch(name, &PatchParams::default(), &Patch::Merge(change))
            .await;
        patched.unwrap_or_else(|error| panic!("cannot change {name}: {error}"))
    }

    /// Deletes an Installation; waiting for it to be gone is another step.
    pub async fn delete(&self, name: &str) {
        let deleted = self
            .api::<Installation>()
            .delete(name, &DeleteParams::default())
            .await;
        deleted.unwrap_or_else(|error| panic!("cannot delete {name}: {error}"));
    }

    /// A ServiceAccount of this namespace with ClusterRoles that hold in it alone.
    pub async fn principal(&self, name: &str, roles: &[&str]) -> Principal {
        let principal = Principal::of(&self.cluster, &self.name, name).await;
        for role in roles {
            self.bind(&principal, role).await;
        }
        principal
    }

    /// Lets `principal` have a ClusterRole in this namespace.
    pub async fn bind(&self, principal: &Principal, role: &str) {
        let binding: RoleBinding = object(principal::binding(role, &principal.subject()));
        create(&self.api(), &binding).await;
        self.wait_for_role(principal, role).await;
    }

    /// Waits until the authorizer knows that `principal` has `role`: it learns of bindings by a watch.
    pub async fn wait_for_role(&self, principal: &Principal, role: &str) {
        let roles = Api::<ClusterRole>::all(self.client());
        let found = roles.get(role).await.expect("the ClusterRole");
        let granted = found.rules.into_iter().flatten().find_map(|rule| {
            let whole = |resource: &String| !resource.contains('/');
            let resource = rule.resources?.into_iter().find(whole)?;
            Some((
                rule.api_groups?.remove(0),
                resource,
                rule.verbs.first()?.clone(),
            ))
        });
        let (group, resource, verb) = granted.expect("a rule about a resource");
        let review: SelfSubjectAccessReview = object(json!({"spec": {"resourceAttributes": {
            "namespace": self.name, "group": group, "resource": resource, "verb": verb
        }}}));
        let reviews = Api::<SelfSubjectAccessReview>::all(principal.client.clone());
        eventually("the binding of a role to take effect", async || {
            let answer = reviews.create(&Default::default(), &review).await.ok()?;
            answer.status?.allowed.then_some(())
        })
        .await;
    }
}

impl Drop for TestNamespace {
    /// In a runtime of its own, because the test's is busy dropping. `KEEP_NAMESPACES` keeps it, to look around.
    fn drop(&mut self) {
        if std::env::var_os("KEEP_NAMESPACES").is_some() {
            eprintln!("namespace {} stays", self.name);
            return;
        }
        let (name, kubeconfig) = (self.name.clone(), self.cluster.state.kubeconfig.clone());
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig)?;
                let client = client_of(kubeconfig).await;
                tokio::time::timeout(Duration::from_secs(10), remove(client, &name)).await??;
                anyhow::Ok(())
            })
        });
        if let Ok(Err(error)) = cleaning.join() {
            eprintln!("namespace {} is left behind: {error:#}", self.name);
        }
    }
}

/// Deletes the namespace, and frees its Installations from a finalizer that no operator is left to answer.
async fn remove(client: Client, name: &str) -> kube::Result<()> {
    Api::<Namespace>::all(client.clone())
        .delete(name, &DeleteParams::default())
        .await?;
    let installations: Api<Installation> = Api::namespaced(client, name);
    for installation in installations.list(&ListParams::default()).await? {
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        let name = installation.metadata.name.unwrap_or_default();
        installations
            .patch(&name, &PatchParams::default(), &free)
            .await?;
    }
    Ok(())
}

/// A namespace name that no other test has, now or in an earlier run.
fn unique(test: &str) -> String {
    let mut readable: String = test
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    readable.truncate(35);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock")
        .as_millis()
        % 100_000_000;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!(
        "{}-{}-{now}-{count}",
        readable.trim_matches('-'),
        std::process::id()
    )
}
