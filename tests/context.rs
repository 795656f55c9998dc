//! `context`: from a cluster into a file that `resolve` takes, without a secret and without the right to read one.

mod support;

use std::process::{Command, Output};

use installation_operator::api::{ClusterConnection, ClusterVariable, Variable};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use serde_json::{Value, json};

use support::chat::{self, managed};
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
            "resources": [
                "installations", "computeprofiles", "platforms", "componentrevisions", "variables",
                "clustervariables", "connections", "clusterconnections",
            ],
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

fn write_kubeconfig(test: &TestNamespace, reader: &Principal) {
    let kubeconfig = test.cluster.kubeconfig(&reader.token, None);
    let kubeconfig = serde_json::to_string(&kubeconfig).expect("a kubeconfig is JSON, and so YAML");
    std::fs::write(test.directory.join("reader.kubeconfig"), kubeconfig).expect("a file");
}

fn operator(test: &TestNamespace, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_installation-operator"))
        .env("KUBECONFIG", test.directory.join("reader.kubeconfig"))
        .args(arguments)
        .output()
        .expect("the operator runs")
}

/// Writes an item and the context that the cluster has for `name`, and resolves the one with the other.
async fn resolved(
    test: &TestNamespace,
    name: &str,
    item: &str,
    files: &[(&str, String)],
) -> (Value, Output) {
    let arguments = ["context", "--namespace", &test.name, "--installation", name];
    let written = support::wait::eventually("the reader's role to hold", || async {
        let output = operator(test, &arguments);
        output.status.success().then_some(output)
    })
    .await;
    let item = test.directory.join(item);
    std::fs::create_dir_all(&item).expect("a directory");
    for (name, content) in files {
        std::fs::write(item.join(name), content).expect("a file");
    }
    let context = test.directory.join("context.json");
    std::fs::write(&context, &written.stdout).expect("a file");
    let [item, context] = [&item, &context].map(|path| path.to_str().expect("a path"));
    let file = serde_json::from_slice(&written.stdout).expect("JSON");
    (
        file,
        operator(test, &["resolve", item, "--context", context]),
    )
}

#[tokio::test]
async fn what_the_catalog_offers_comes_along_with_stand_ins_for_its_secrets() {
    let test = TestNamespace::new("offered").await;
    let path = test.path("default");
    test.offer::<ClusterConnection>("llm", managed(&path, "small", &[&test.name]))
        .await;
    let secret = json!({"metadata": {"name": "llm"}, "stringData": {"apiKey": SECRET}});
    test.create::<Secret>(&object(secret)).await;
    let (region, zone) = (test.path("region"), test.path("zone"));
    test.offer::<ClusterVariable>(
        "region",
        json!({"path": region, "value": "eu", "allowedNamespaces": {"names": [test.name]}}),
    )
    .await;
    let own = json!({"metadata": {"name": "zone"}, "spec": {
        "path": zone, "secretKeyRef": {"name": "llm", "key": "apiKey"}
    }});
    test.create::<Variable>(&object(own)).await;
    let mut files = chat::files(&test, &path).await;
    let greeting = "greeting: { default: hello }";
    assert!(files[0].1.contains(greeting));
    let from = format!("greeting: {{ from: \"${{{{ variables.{region} }}}}\" }}");
    files[0].1 = files[0].1.replace(greeting, &from);
    let chat = installation("chat").inline("acme-chat", files.clone());
    test.create(&chat.build()).await;
    let reader = reader(&test).await;
    write_kubeconfig(&test, &reader);

    let (file, output) = resolved(&test, "chat", "acme-chat", &files).await;
    let shown = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("chat:in:greeting = \"eu\""), "{shown}");
    assert!(shown.contains("chat:in:model = \"small\""), "{shown}");
    assert!(shown.contains("chat:in:key = [redacted]"), "{shown}");
    assert_eq!(file["standIns"], json!(["llm"]));
    assert_eq!(file["variables"][&region]["value"], "eu");
    assert!(!file.to_string().contains("hunter2"), "{file}");

    // Without an Installation: what every item would find.
    let whole = operator(&test, &["context", "--namespace", &test.name]);
    let text = String::from_utf8(whole.stdout).expect("text");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(file["variables"][&region]["value"], "eu");
    assert_eq!(file["variables"][&zone]["value"], "stand-in");
    let stand_ins = file["standIns"].as_array().expect("a list");
    assert!(stand_ins.contains(&json!(zone)), "{stand_ins:?}");
    assert!(!text.contains("hunter2"), "{text}");
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
    write_kubeconfig(&test, &reader);

    let files = files.map(|(name, content)| (name, content.to_owned()));
    let (file, resolved) = resolved(&test, "notes", "acme-notes", &files).await;
    let text = file.to_string();
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

    let shown = String::from_utf8(resolved.stdout).expect("text");
    assert!(resolved.status.success(), "{shown}");
    assert!(shown.contains("web:in:title = \"Notes\""), "{shown}");
    assert!(shown.contains("web:in:token = [redacted]"), "{shown}");
}

#[tokio::test]
async fn the_context_of_an_installation_renders_its_public_addresses() {
    let test = TestNamespace::new("context-public").await;
    let _operator = test.operator().await.platform(&test.name).start();
    test.platform(json!({"edge": {
        "domains": [{"domain": "example.org"}],
        "gateway": {"name": "edge", "namespace": "gateway-system"},
        "loadBalancer": {},
    }}))
    .await;
    let item = test.item().await.public().edited(
        "blueprint.yaml",
        "componentRef: ./db.yaml\n",
        "componentRef: ./db.yaml\n      exposure: { main: PUBLIC }\n",
    );
    let hostname = format!("wiki.{}.example.org", test.name);
    let wiki = item
        .installation("wiki")
        .with("hostnames", json!({"web": {"http": hostname}}));
    test.create(&wiki.build()).await;
    let wiki = test.wait_until_materialized("wiki").await;
    let endpoints = wiki.status.expect("a status").endpoints.into_iter();
    let mut told = endpoints.filter_map(|endpoint| endpoint.public_address);
    let (address, url) = (told.next().expect("of db"), told.next().expect("of web"));
    assert_eq!(url, format!("https://{hostname}"));

    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_installation-operator"))
            .env("KUBECONFIG", &test.cluster.state.kubeconfig)
            .args(arguments)
            .args(["--namespace", &test.name])
            .output()
            .expect("the operator runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
        String::from_utf8(output.stdout).expect("text")
    };
    let text = run(&[
        "context",
        "--platform",
        &test.name,
        "--installation",
        "wiki",
    ]);
    let (directory, context) = (
        test.directory.join("acme-wiki"),
        test.directory.join("wiki.json"),
    );
    std::fs::write(&context, &text).expect("a file");
    std::fs::create_dir_all(&directory).expect("a directory");
    for (path, text) in &item.files {
        std::fs::write(directory.join(path), text).expect("a file");
    }
    let path = |path: &std::path::Path| path.to_str().expect("a path").to_owned();
    let (directory, context) = (path(&directory), path(&context));
    let rendered = run(&[
        "render",
        &directory,
        "--context",
        &context,
        "--name",
        "wiki",
    ]);
    let objects: Vec<Value> = serde_saphyr::from_multiple(&rendered).expect("YAML");
    let of = |kind: &str, field: &str| {
        let all = objects.iter().filter(|object| object["kind"] == kind);
        all.map(|object| object["spec"][field].clone())
            .collect::<Vec<Value>>()
    };
    assert_eq!(of("HTTPRoute", "hostnames"), [json!([hostname])]);
    let types = of("Service", "type");
    assert!(types.contains(&json!("LoadBalancer")), "{types:?}");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    let given = &file["allocations"]["db"]["main"]["public"];
    let given = format!(
        "{}:{}",
        given["hostname"].as_str().expect("an address"),
        given["port"]
    );
    assert_eq!(given, address);
}
