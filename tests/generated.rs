//! Generated files are what the program generates, and what is kept by hand agrees with the names in the code.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what the pure rooms do without"
)]

use std::path::Path;

use installation_operator::api::names::{FIELD_MANAGER, IDENTITY_LABEL, Precious};
use installation_operator::api::reason::{self, Reason};
use installation_operator::api::{GROUP, crd, reference};
use installation_operator::cli::crds;
use installation_operator::plugin::man;
use strum::{EnumMessage as _, IntoEnumIterator as _};

/// Fails when the file in the repository is not `text`.
#[track_caller]
fn assert_current(path: &str, text: &str) {
    let found = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
    assert!(
        found.is_ok_and(|found| found == text),
        "{path} is not what the program generates: run `./dev generate` and commit what it changes"
    );
}

#[test]
fn the_manifests_are_current() {
    for (name, text) in crds::files().unwrap() {
        assert_current(&format!("crds/{name}"), &text);
    }
}

#[test]
fn the_api_reference_is_current() {
    assert_current("docs/reference/api.md", &reference::page());
}

#[test]
fn the_table_of_reasons_is_current_and_explains_each() {
    assert_current("docs/reference/reasons.md", &reason::page());
    for reason in Reason::iter() {
        assert!(
            reason
                .get_documentation()
                .is_some_and(|text| !text.is_empty()),
            "{reason}"
        );
    }
}

#[test]
fn crds_holds_nothing_that_is_not_printed() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let mut found: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut printed: Vec<String> = crds::files()
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    found.sort();
    printed.sort();
    assert_eq!(
        found, printed,
        "remove the file from crds/, or print it in src/cli/crds.rs"
    );
}

#[test]
fn the_manual_pages_are_current_and_no_other_is_kept() {
    let pages = man::pages().unwrap();
    for (name, text) in &pages {
        assert_current(&format!("docs/man/{name}"), text);
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/man");
    let mut found: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut printed: Vec<String> = pages.into_iter().map(|(name, _)| name).collect();
    found.sort();
    printed.sort();
    assert_eq!(
        found, printed,
        "remove the page from docs/man/, or make it in src/plugin/man.rs"
    );
}

#[test]
fn the_policy_and_the_roles_use_the_names_of_the_code() {
    let files = crds::files().unwrap();
    let text = |wanted: &str| &files.iter().find(|(name, _)| name == wanted).unwrap().1;
    let (policy, roles) = (
        text("precious-objects-policy.yaml"),
        text("cluster-roles.yaml"),
    );
    for precious in Precious::iter() {
        assert!(precious.secret_type().starts_with(&format!("{GROUP}/")));
    }
    let mut expected = vec![
        (policy, format!("secret.type.startsWith('{GROUP}/')")),
        (
            policy,
            format!("'{IDENTITY_LABEL}' in claim.metadata.labels"),
        ),
        (
            policy,
            format!("authorizer.group('{GROUP}').resource('preciousobjects')"),
        ),
        (roles, format!("name: {FIELD_MANAGER}\n")),
        (roles, format!("name: {FIELD_MANAGER}-home\n")),
        (roles, format!("name: {FIELD_MANAGER}-restore\n")),
    ];
    for definition in crd::all() {
        expected.push((roles, definition.spec.names.plural));
    }
    for (text, part) in expected {
        assert!(
            text.contains(&part),
            "{part:?} is missing: mend the file in src/api/manifests/"
        );
    }
}
