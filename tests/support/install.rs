//! Installs what every test on a cluster shares. Server-side apply of the same content changes nothing, so that test
//! binaries may do it one after the other; a lock keeps them from doing it at once.

use std::fs::File;
use std::time::Duration;

use installation_operator::cli::crds;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::api::rbac::v1::RoleBinding;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::principal::{self, Principal};
use super::wait::eventually;

const MANAGER: &str = "installation-operator-tests";

/// Definitions, policy and roles, applied and in force.
pub async fn install(cluster: &Cluster) {
    let client = &cluster.client;
    let _lock = tokio::task::spawn_blocking(lock).await.expect("the lock");
    let mut changed = false;
    for document in documents() {
        changed |= apply(client, &document).await;
    }
    for definition in installation_operator::api::crd::all() {
        let name = definition.metadata.name.expect("a name");
        let api: Api<CustomResourceDefinition> = Api::all(client.clone());
        let established = await_condition(api, &name, conditions::is_crd_established());
        let patience = Duration::from_secs(30);
        tokio::time::timeout(patience, established)
            .await
            .expect("established in time")
            .expect("a watch");
    }
    policy_is_in_force(cluster).await;
    if changed {
        // An API server that already served an older definition or policy takes a moment for the new one.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

/// Every object that the verb `crds` prints.
pub fn documents() -> Vec<Value> {
    serde_saphyr::from_multiple(&crds::stream().expect("manifests")).expect("YAML")
}

fn lock() -> File {
    let path = std::env::temp_dir().join("installation-operator-tests.lock");
    let file = File::create(path).expect("a lock file");
    file.lock().expect("the lock");
    file
}

/// Applies one object and says whether that changed it.
async fn apply(client: &Client, document: &Value) -> bool {
    let object: DynamicObject = serde_json::from_value(document.clone()).expect("an object");
    let types = object.types.as_ref().expect("a kind");
    let kind = GroupVersionKind::try_from(types).expect("a kind");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let name = object.metadata.name.clone().expect("a name");
    let before = api.get_opt(&name).await.expect("the API server answers");
    let after = api
        .patch(
            &name,
            &PatchParams::apply(MANAGER).force(),
            &Patch::Apply(&object),
        )
        .await;
    let after = after.unwrap_or_else(|error| panic!("{} {name}: {error}", types.kind));
    before.is_none_or(|before| before.metadata.resource_version != after.metadata.resource_version)
}

/// The API server reads new policies about once a second: tries, as somebody who may write Secrets, what they forbid.
async fn policy_is_in_force(cluster: &Cluster) {
    let client = &cluster.client;
    let namespace: Namespace = object(json!({"metadata": {"name": MANAGER}}));
    create(&Api::all(client.clone()), &namespace).await;
    let tenant = Principal::of(cluster, MANAGER, "tenant").await;
    let binding: RoleBinding = object(principal::binding("edit", &tenant.subject()));
    create(&Api::namespaced(client.clone(), MANAGER), &binding).await;

    let secrets: Api<Secret> = Api::namespaced(tenant.client.clone(), MANAGER);
    let forged: Secret = object(json!({
        "metadata": {"name": "forged"}, "type": "install.musher.dev/credential"
    }));
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    eventually(
        "the policy of precious objects to be in force",
        async || {
            let refused = secrets.create(&dry_run, &forged).await.err()?;
            refused
                .to_string()
                .contains("precious-secrets.install.musher.dev")
                .then_some(())
        },
    )
    .await;
}

/// Creates `object` unless it is there.
pub async fn create<K>(api: &Api<K>, object: &K)
where
    K: Clone + serde::Serialize + serde::de::DeserializeOwned + std::fmt::Debug,
{
    match api.create(&PostParams::default(), object).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => panic!("cannot create {object:?}: {error}"),
    }
}

/// An object of type `K` from JSON.
pub fn object<K: serde::de::DeserializeOwned>(json: Value) -> K {
    serde_json::from_value(json).expect("an object of that kind")
}
