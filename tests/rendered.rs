//! What `render` prints is what the operator applies: `kubectl diff` finds nothing between them, for an item with one node of
//! each kind and every feature that shapes an object.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read their expectations from files"
)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use installation_operator::api::Installation;
use kube::ResourceExt as _;
use serde_json::{Value, json};
use support::{Item, TestNamespace, installation};

const ITEM: &str = "acme-desk";

/// The item's files, with images that the cluster has, by path.
fn files(image: &str) -> BTreeMap<String, String> {
    let directory = golden(ITEM);
    let mut files = BTreeMap::new();
    for below in ["", "components"] {
        let entries = std::fs::read_dir(directory.join(below)).expect("a directory");
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if path.is_file() {
                let text = std::fs::read_to_string(&path).expect("a document");
                let lines = text.lines().map(|line| match line.split_once("{ image: ") {
                    Some((before, _)) => format!("{before}{{ image: {image} }}\n"),
                    None => format!("{line}\n"),
                });
                let name = path.strip_prefix(&directory).expect("a path below it");
                let name = name.to_str().expect("text").to_owned();
                files.insert(name, lines.collect());
            }
        }
    }
    files
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// What `render` prints for the Installation `desk` with this context, but the Secrets: their values are redacted.
fn rendered(test: &TestNamespace, files: &BTreeMap<String, String>, context: &Value) -> Vec<Value> {
    let directory = test.directory.join(ITEM);
    std::fs::create_dir_all(directory.join("components")).expect("a directory");
    for (path, text) in files {
        std::fs::write(directory.join(path), text).expect("a file");
    }
    let file = test.directory.join("context.json");
    std::fs::write(&file, context.to_string()).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_installation-operator"))
        .args(["render", "--name", "desk", "--namespace", &test.name])
        .arg("--context")
        .arg(file)
        .arg(directory)
        .output()
        .expect("the operator runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("YAML");
    objects.retain(|object| object["kind"] != "Secret");
    objects
}

impl TestNamespace {
    /// What kubectl says differs in the cluster from `objects`.
    async fn difference(&self, objects: &[Value], options: &[&str]) -> String {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let arguments = [&["diff", "-f", "-"], options].concat();
        let output = self.cluster.kubectl(&arguments, &list.to_string()).await;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

#[tokio::test]
async fn kubectl_finds_no_difference_between_what_is_rendered_and_what_is_applied() {
    let test = TestNamespace::new("rendered").await;
    let probe = Item::new(&test.cluster).await;
    let files = files(&probe.image);
    let text = std::fs::read_to_string(golden("acme-desk.context.json")).expect("a context");
    let mut context: Value = serde_json::from_str(&text).expect("JSON");
    let registry = &test.cluster.state.registry.address;
    if !registry.is_empty() {
        context["platform"]["registries"] =
            json!([{"host": registry, "plainHttp": true, "privateNetwork": true}]);
    }
    test.platform(context["platform"].clone()).await;
    let _operator = test.operator().await.platform(&test.name).start();
    let desk = installation("desk").inline(ITEM, files.clone()).build();
    test.create(&desk).await;
    let desk = test.wait_until_materialized("desk").await;

    // The profile of the tests, and the user of their image where its registry is there to say it.
    let small =
        json!({"version": "1", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}});
    context["computeProfiles"] = json!({"general.standard.small": small});
    if !registry.is_empty() {
        context["images"] = json!({&probe.image: {"user": "10001:10001"}});
    } else {
        context["images"] = json!({});
    }
    let objects = rendered(&test, &files, &context);
    let kinds: Vec<&str> = objects
        .iter()
        .filter_map(|object| object["kind"].as_str())
        .collect();
    for kind in [
        "CronJob",
        "Deployment",
        "GRPCRoute",
        "HTTPRoute",
        "Job",
        "NetworkPolicy",
        "PersistentVolumeClaim",
        "Service",
        "StatefulSet",
    ] {
        assert!(kinds.contains(&kind), "{kind} is among {kinds:?}");
    }
    assert_eq!(test.difference(&objects, &[]).await, "");

    // The other way round: nothing is applied that is not rendered, but whose it is.
    let owned: Vec<Value> = objects.iter().map(|object| owned(object, &desk)).collect();
    let as_operator = [
        "--server-side",
        "--force-conflicts",
        "--field-manager=installation-operator",
    ];
    assert_eq!(test.difference(&owned, &as_operator).await, "");
    let inventory = &desk.status.as_ref().expect("a status").inventory;
    let mut applied: Vec<(&str, &str)> = inventory
        .iter()
        .filter(|entry| entry.kind != "Secret")
        .map(|entry| (entry.kind.as_str(), entry.name.as_str()))
        .collect();
    let name = |object: &'_ Value| object["metadata"]["name"].as_str().map(str::to_owned);
    let names: Vec<String> = objects.iter().filter_map(name).collect();
    let mut shown: Vec<(&str, &str)> = kinds
        .into_iter()
        .zip(names.iter().map(String::as_str))
        .collect();
    applied.sort();
    shown.sort();
    assert_eq!(applied, shown);

    context["computeProfiles"]["general.standard.small"]["resources"]["requests"]["cpu"] =
        json!("20m");
    let mut another = rendered(&test, &files, &context);
    another.retain(|object| object["kind"] == "Deployment");
    let difference = test.difference(&another, &[]).await;
    assert!(difference.contains("+            cpu: 20m"), "{difference}");
}

/// `object` as belonging to `installation`, where the operator has it so.
fn owned(object: &Value, installation: &Installation) -> Value {
    let mut object = object.clone();
    if object["kind"] != "PersistentVolumeClaim" {
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "install.musher.dev/v1alpha1",
            "kind": "Installation",
            "name": installation.name_any(),
            "uid": installation.uid(),
            "controller": true,
            "blockOwnerDeletion": true,
        }]);
    }
    object
}
