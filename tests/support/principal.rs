//! Somebody with permissions of their own: a ServiceAccount and its token.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::cluster::{Cluster, client_of};
use super::install::{create, object};

/// A ServiceAccount of a namespace, without permissions until a role is bound to it.
#[derive(Clone)]
pub struct Principal {
    /// The namespace.
    pub namespace: String,
    /// The ServiceAccount.
    pub name: String,
    /// A client that acts as it.
    pub client: Client,
    /// Its token, good for an hour.
    pub token: String,
}

impl Principal {
    /// The ServiceAccount `name`, made unless it is there.
    pub async fn of(cluster: &Cluster, namespace: &str, name: &str) -> Self {
        let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client.clone(), namespace);
        create(&accounts, &object(json!({"metadata": {"name": name}}))).await;
        let request: TokenRequest =
            object(json!({"spec": {"audiences": [], "expirationSeconds": 3600}}));
        let issued = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await;
        let issued = issued.expect("a token request is answered");
        let token = issued
            .status
            .and_then(|status| status.token)
            .expect("a token");
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            client: client_of(cluster.kubeconfig(&token, None)).await,
            token,
        }
    }

    /// The name by which the API server and its audit log know it.
    pub fn username(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// It as the subject of a binding.
    pub fn subject(&self) -> Value {
        json!({"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace})
    }
}

/// A RoleBinding or ClusterRoleBinding of ClusterRole `role` to `subject`.
pub fn binding(role: &str, subject: &Value) -> Value {
    json!({
        "metadata": {"name": format!("{role}-{}", subject["name"].as_str().unwrap_or_default())},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject]
    })
}
