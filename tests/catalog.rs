//! Real items, where `../shared/catalog` lies beside the project: each that is VALID resolves and renders without a
//! cluster, with one small context file, and its environment is what its component declares.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read their expectations from files"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Every item directory of the catalog that its own notes call VALID.
fn items() -> Vec<PathBuf> {
    let shared = std::env::var_os("INSTALLATION_OPERATOR_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let catalog = shared.join("catalog");
    let directories = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut items = directories(&catalog);
    items.extend(directories(&catalog.join("fixed")));
    items.retain(|item| {
        let is_valid = Command::new(env!("CARGO_BIN_EXE_installation-operator"))
            .arg("validate")
            .arg(item)
            .output()
            .is_ok_and(|found| found.status.success());
        item.join("blueprint.yaml").is_file() && is_valid
    });
    items.sort();
    items
}

/// Every image that a component of the item names.
fn images(item: &Path) -> Vec<String> {
    let mut images = Vec::new();
    let mut pending = vec![item.to_owned()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            pending.extend(entries.map(|entry| entry.path()));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            let text = std::fs::read_to_string(&path).expect("a document");
            let named = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix("image: "));
            images.extend(named.map(|image| image.trim_matches(['"', '\'']).to_owned()));
        }
    }
    images
}

fn run(verb: &str, item: &Path, context: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_installation-operator"))
        .args([verb, "--context"])
        .arg(context)
        .arg(item)
        .output()
        .expect("the operator runs")
}

#[test]
fn every_valid_item_of_the_catalog_resolves_and_renders_offline() {
    let profiles = [
        "economy.nano",
        "standard.small",
        "standard.medium",
        "standard.large",
    ];
    let profile = |size: &str| {
        let content = json!({"version": "1", "resources": {"requests": {"cpu": "100m"}}});
        (format!("general.{size}"), content)
    };
    for item in items() {
        let facts = json!({"digest": format!("sha256:{}", "1".repeat(64)), "user": "1000"});
        let images: serde_json::Map<String, Value> = images(&item)
            .into_iter()
            .map(|image| (image, facts.clone()))
            .collect();
        let context = json!({
            "computeProfiles": profiles.into_iter().map(profile).collect::<serde_json::Map<_, _>>(),
            "images": images,
            "platform": {"edge": {
                "domains": [{"domain": "apps.example.org"}],
                "gateway": {"name": "edge", "namespace": "gateway-system"},
            }},
        });
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), context.to_string()).expect("it can be written");
        for verb in ["resolve", "render"] {
            let found = run(verb, &item, file.path());
            assert!(
                found.status.success(),
                "{verb} {}: {}{}",
                item.display(),
                String::from_utf8_lossy(&found.stdout),
                String::from_utf8_lossy(&found.stderr)
            );
        }
        let rendered = run("render", &item, file.path());
        let text = String::from_utf8_lossy(&rendered.stdout);
        for image in images.keys() {
            let name = image
                .rsplit_once(':')
                .map_or(image.as_str(), |(name, _)| name);
            assert!(text.contains(&format!("{name}@sha256:1")), "{image}");
        }
    }
}
