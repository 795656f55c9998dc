//! `context`: from a cluster into a file that `resolve` takes, without a secret and without the right to read one.

mod support;

use std::process::{Command, Output};

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use serde_json::{Value, json};

use support::install::{create, object};
use support::{Item, Principal, TestNamespace, installation, principal};

const BLUEPRINT: &str = "\
specVersion: v1
kind: BLUEPRINT
metadata: { slug: acme-notes, revision: 1, description: A worker with a token. }
spec:
  parameters:
    title: {}
    token: {}
    key: { generator: {} }
  components:
    web:
      componentRef: ./web.yaml
      compute: { profile: general.standard.small }
      bindings: { title: { parameter: title }, token: { parameter: token }, key: { parameter: key } }
";

const WEB: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: The worker. }
spec:
  type: WORKER
  workload:
    source: { image: 'example/web@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }
  contract:
    inputs:
      title: { schema: { type: string }, description: A title., target: { envVarKey: TITLE } }
      token: { schema: { type: string, minLength: 20 }, sensitive: true, description: A token., target: { envVarKey: TOKEN } }
      key: { schema: { type: string }, sensitive: true, description: A key., target: { envVarKey: KEY } }
";

const SECRET: &str = "hunter2-hunter2-hunter2";

/// Somebody who may read Installations of the namespace and the catalog, and no Secret.
async fn reader(test: &TestNamespace) -> Principal {
    let reader = test.principal("reader", &[]).await;
    let role = format!("context-reader-{}", test.name);
    let owner =
        json!([{"apiVersion": "v1", "kind": "Namespace", "name": test.name, "uid": test.uid}]);
    let rules = json!([
        {
            "apiGroups": ["install.musher.dev"],
            "resources": ["installations", "computeprofiles", "platforms"],
            "verbs": ["get", "list"],
        },
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
    ]);
    let roles = Api::<ClusterRole>::all(test.client());
    let made = json!({"metadata": {"name": role, "ownerReferences": owner}, "rules": rules});
    create(&roles, &object(made)).await;
    let mut binding = principal::binding(&role, &reader.subject());
    binding["metadata"] = json!({"name": role, "ownerReferences": owner});
    create(
        &Api::<ClusterRoleBinding>::all(test.client()),
        &object(binding),
    )
    .await;
    reader
}

fn operator(test: &TestNamespace, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_installation-operator"))
        .env("KUBECONFIG", test.directory.join("reader.kubeconfig"))
        .args(arguments)
        .output()
        .expect("the operator runs")
}

#[tokio::test]
async fn a_context_from_a_cluster_holds_no_secret_and_resolves() {
    let test = TestNamespace::new("context").await;
    // The item of the other tests brings the profile.
    Item::new(&test.cluster).await;
    let secret = json!({"metadata": {"name": "notes"}, "stringData": {"token": SECRET}});
    test.create::<Secret>(&object(secret)).await;
    let files = [("blueprint.yaml", BLUEPRINT), ("web.yaml", WEB)];
    let notes = installation("notes")
        .inline("acme-notes", files)
        .parameter("title", "Notes")
        .parameter_from_secret("token", "notes", "token");
    test.create(&notes.build()).await;
    let reader = reader(&test).await;
    let kubeconfig = test.cluster.kubeconfig(&reader.token, None);
    let kubeconfig = serde_json::to_string(&kubeconfig).expect("a kubeconfig is JSON, and so YAML");
    std::fs::write(test.directory.join("reader.kubeconfig"), kubeconfig).expect("a file");

    let arguments = [
        "context",
        "--namespace",
        &test.name,
        "--installation",
        "notes",
    ];
    let written = support::wait::eventually("the reader's role to hold", || async {
        let output = operator(&test, &arguments);
        output.status.success().then_some(output)
    })
    .await;
    let text = String::from_utf8(written.stdout).expect("text");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        file["parameters"]["title"],
        json!({"value": "Notes", "sensitive": false})
    );
    assert_eq!(file["standIns"], json!(["token"]));
    assert_eq!(
        file["computeProfiles"]["general.standard.small"]["version"],
        "1"
    );
    assert!(
        !text.contains(SECRET) && !text.contains("hunter2"),
        "{text}"
    );

    let item = test.directory.join("acme-notes");
    std::fs::create_dir_all(&item).expect("a directory");
    for (name, content) in files {
        std::fs::write(item.join(name), content).expect("a file");
    }
    let context = test.directory.join("context.json");
    std::fs::write(&context, &text).expect("a file");
    let (item, context) = (
        item.to_str().expect("a path"),
        context.to_str().expect("a path"),
    );
    let resolved = operator(&test, &["resolve", item, "--context", context]);
    let shown = String::from_utf8(resolved.stdout).expect("text");
    assert!(resolved.status.success(), "{shown}");
    assert!(shown.contains("web:in:title = \"Notes\""), "{shown}");
    assert!(shown.contains("web:in:token = [redacted]"), "{shown}");
}
