//! The edge of the local cluster: its registries, and requests through its gateway by host name.

use installation_operator::api::Platform;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::TestNamespace;
use super::install::{create, object};

impl TestNamespace {
    /// A Platform of this test's own with `spec`; an operator takes it by the namespace's name.
    pub async fn platform(&self, spec: Value) {
        let platform: Platform = object(json!({"metadata": {"name": self.name}, "spec": spec}));
        create(&Api::all(self.client()), &platform).await;
    }

    /// Gives the Platform of this test another `spec`.
    pub async fn change_platform(&self, spec: Value) {
        let platforms = Api::<Platform>::all(self.client());
        let change = Patch::Merge(json!({"spec": spec}));
        platforms
            .patch(&self.name, &PatchParams::default(), &change)
            .await
            .expect("a Platform to change");
    }

    /// A pull secret for `registry` with `password`.
    pub async fn pull_secret(&self, name: &str, registry: &str, user: &str, password: &str) {
        let config = json!({"auths": {registry: {"username": user, "password": password}}});
        let secret: k8s_openapi::api::core::v1::Secret = object(json!({
            "metadata": {"name": name},
            "type": "kubernetes.io/dockerconfigjson",
            "stringData": {".dockerconfigjson": config.to_string()},
        }));
        self.create(&secret).await;
    }

    /// Status and body of `GET path` for `host`, through the gateway.
    pub async fn fetch(&self, host: &str, path: &str) -> Option<(u16, String)> {
        fetch(&self.cluster.state.gateway, host, path).await
    }
}

/// Status and body of `GET path` for `host` at `address`.
pub async fn fetch(address: &str, host: &str, path: &str) -> Option<(u16, String)> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((status, body.to_owned()))
}
