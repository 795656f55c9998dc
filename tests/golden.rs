//! What whole items become, as `render` shows it: read the expectations beside the items as documentation.
//! `UPDATE_GOLDEN=1 cargo test --test golden` writes them anew; read the difference before you commit it.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read their expectations from files"
)]

use std::path::Path;
use std::process::Command;

#[test]
fn an_item_with_one_node_of_each_kind_becomes_these_objects() {
    compare("acme-desk");
}

#[test]
fn a_proxy_with_its_database_and_cache_becomes_these_objects() {
    compare("acme-stack");
}

#[test]
fn an_environment_is_shown_with_its_values_where_that_is_asked_for_and_not_otherwise() {
    let (redacted, shown) = (
        render("acme-desk", &[]),
        render("acme-desk", &["--show-secrets"]),
    );
    let is_value = |line: &&str| line.contains(": ") && !redacted.contains(*line);
    let values: Vec<&str> = shown.lines().filter(is_value).collect();
    assert!(
        !values.is_empty() && !shown.contains("[redacted]"),
        "{shown}"
    );
    assert!(redacted.contains("[redacted]"));
}

/// What `render` prints for an item with the context file beside it.
fn render(item: &str, options: &[&str]) -> String {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let rendered = Command::new(env!("CARGO_BIN_EXE_installation-operator"))
        .args(["render", "--namespace", "demo"])
        .args(options)
        .arg("--context")
        .arg(golden.join(format!("{item}.context.json")))
        .arg(golden.join(item))
        .output()
        .expect("the operator runs");
    let errors = String::from_utf8_lossy(&rendered.stderr);
    assert!(rendered.status.success(), "{errors}");
    String::from_utf8(rendered.stdout).expect("it prints text")
}

fn compare(item: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let found = render(item, &[]);
    let path = golden.join(format!("{item}.yaml"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).expect("the expectation can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    similar_asserts::assert_eq!(expected, found);
}
