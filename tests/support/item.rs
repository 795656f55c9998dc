//! The item that the tests install: a web service and its database, one generated password that both share, one submitted
//! title, and the database's address bound to the web service.

use std::collections::BTreeMap;

use installation_operator::api::ComputeProfile;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::json;

use super::install::{create, object};
use super::installation::{Builder, installation};
use super::{Cluster, TestNamespace};

/// The item's name and its blueprint's slug.
pub const SLUG: &str = "acme-wiki";
/// The submitted title.
pub const TITLE: &str = "The wiki of the house";
/// The generated parameter.
pub const PASSWORD: &str = "dbPassword";

const BLUEPRINT: &str = "\
specVersion: v1
kind: BLUEPRINT
metadata:
  slug: acme-wiki
  revision: 1
  description: A web service and its database.
spec:
  parameters:
    siteTitle:
      ui: { label: Title }
    dbPassword:
      generator: { byteLength: 32, encoding: HEX }
      ui: { label: Database password }
  components:
    web:
      componentRef: ./web.yaml
      compute: { profile: general.standard.small }
      bindings:
        title: { parameter: siteTitle }
        dbAddress: { node: db, output: address }
        dbPassword: { parameter: dbPassword }
    db:
      componentRef: ./db.yaml
      compute: { profile: general.standard.small }
      bindings:
        password: { parameter: dbPassword }
";

const WEB: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: The web service. }
spec:
  type: SERVICE
  workload:
    source: { image: IMAGE }
    command: [serve]
    endpoints:
      http: { targetPort: 8080, protocol: HTTP }
  contract:
    inputs:
      title:
        schema: { type: string, maxLength: 40 }
        required: true
        target: { envVarKey: TITLE }
        description: The title of every page.
      dbAddress:
        schema: { type: string }
        required: true
        target: { envVarKey: DB_ADDRESS }
        description: Where the database is.
      dbPassword:
        schema: { type: string }
        required: true
        sensitive: true
        target: { envVarKey: DB_PASSWORD }
        description: The password of the database.
    outputs: {}
";

const DB: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: The database. }
spec:
  type: SERVICE
  workload:
    source: { image: IMAGE }
    command: [serve]
    endpoints:
      main: { targetPort: 8080, protocol: TCP }
  contract:
    inputs:
      password:
        schema: { type: string }
        required: true
        sensitive: true
        target: { envVarKey: PASSWORD }
        description: The password that clients log in with.
    outputs:
      address:
        schema: { type: string }
        description: Where clients find it.
        from: { endpoint: main, property: privateAddress }
";

/// An item directory, in memory.
#[derive(Clone, Debug)]
pub struct Item {
    /// Path → text.
    pub files: BTreeMap<String, String>,
    /// The image that its components name.
    pub image: String,
}

impl Item {
    /// The item, with an image that the cluster can run if it can run any.
    pub async fn new(cluster: &Cluster) -> Self {
        let profile: ComputeProfile = object(json!({
            "metadata": {"name": "general.standard.small"},
            "spec": {"currentVersion": "1", "versions": [
                {"version": "1", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
            ]}
        }));
        create(&Api::all(cluster.client.clone()), &profile).await;
        let nowhere = || format!("registry.test/probe@sha256:{}", "a".repeat(64));
        let image = cluster.state.images.get("probe").cloned();
        let image = image.unwrap_or_else(nowhere);
        let files = [
            ("blueprint.yaml", BLUEPRINT),
            ("web.yaml", WEB),
            ("db.yaml", DB),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.replace("IMAGE", &image)));
        Self {
            files: files.into(),
            image,
        }
    }

    /// With `old` replaced by `new` in the file at `path`.
    #[must_use]
    #[track_caller]
    pub fn edited(mut self, path: &str, old: &str, new: &str) -> Self {
        let text = self.files.get_mut(path).expect("a file of the item");
        assert!(text.contains(old), "{path} has no {old:?}");
        *text = text.replace(old, new);
        self
    }

    /// With the web service's endpoint PUBLIC, and the readiness probe that this takes.
    #[must_use]
    pub fn public(self) -> Self {
        self.edited(
            "blueprint.yaml",
            "componentRef: ./web.yaml\n",
            "componentRef: ./web.yaml\n      exposure: { http: PUBLIC }\n",
        )
        .edited(
            "web.yaml",
            "  contract:\n",
            "    health: { readiness: { http: { endpoint: http, path: /healthz }, initialDelaySeconds: 0, periodSeconds: 1 } }\n  contract:\n",
        )
    }

    /// With one more file.
    #[must_use]
    pub fn with(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Without the file at `path`.
    #[must_use]
    pub fn without(mut self, path: &str) -> Self {
        self.files.remove(path).expect("a file of the item");
        self
    }

    /// A ConfigMap that holds it.
    pub fn config_map(&self, name: &str) -> ConfigMap {
        object(json!({"metadata": {"name": name}, "data": self.files}))
    }

    /// An Installation that writes it out, without a title.
    pub fn untitled(&self, name: &str) -> Builder {
        installation(name).inline(SLUG, self.files.clone())
    }

    /// An Installation that writes it out.
    pub fn installation(&self, name: &str) -> Builder {
        self.untitled(name).parameter("siteTitle", TITLE)
    }
}

impl TestNamespace {
    /// The item of this test's cluster.
    pub async fn item(&self) -> Item {
        Item::new(&self.cluster).await
    }

    /// Creates the Installation `wiki` of the item, and waits until it is materialized.
    pub async fn install_wiki(&self) {
        let wiki = self.item().await.installation("wiki").build();
        self.create(&wiki).await;
        self.wait_until_materialized("wiki").await;
    }
}
