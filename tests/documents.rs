//! Whole validations: the inputs that fuzzing kept, and the promise that a document's spelling decides nothing.

#![allow(
    clippy::disallowed_methods,
    reason = "only pure rooms are without files and clocks"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use installation_operator::acquire::directory;
use installation_operator::contract::item::{BLUEPRINT, Item};
use installation_operator::contract::{Published, Validation, validate_document, validate_item};
use installation_operator::document::result::Profile;
use installation_operator::document::yaml;
use proptest::prelude::*;
use serde_json::{Value, json};
use spelling::{Choices, spelled};

#[path = "fuzz/oracle.rs"]
mod oracle;
#[path = "support/spelling.rs"]
mod spelling;

/// What one kept input may take, in a build without optimization on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

fn below(directory: &str) -> Vec<PathBuf> {
    let mut pending = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)];
    let mut files = Vec::new();
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let kept = if path.is_dir() {
                &mut pending
            } else {
                &mut files
            };
            kept.push(path);
        }
    }
    files.sort();
    files
}

#[track_caller]
fn keep(target: &str, holds: impl Fn(&[u8])) {
    let inputs = below(&format!("tests/fuzz/corpus/{target}"));
    assert!(!inputs.is_empty(), "no inputs are kept for {target}");
    for input in inputs {
        let bytes = fs::read(&input).expect("an input");
        let begun = Instant::now();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| holds(&bytes)));
        assert!(outcome.is_ok(), "{} breaks the oracle", input.display());
        assert!(begun.elapsed() < PATIENCE, "{} hangs", input.display());
    }
}

#[test]
fn every_document_that_fuzzing_kept_has_an_outcome() {
    keep("document", oracle::document);
}

#[test]
fn every_item_that_fuzzing_kept_has_an_outcome() {
    keep("item", oracle::item);
}

/// The values of all documents in our corpus and examples that can be read.
static DOCUMENTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let files = ["conformance/component", "conformance/blueprint", "examples"]
        .into_iter()
        .flat_map(below);
    files
        .filter(|path| directory::is_yaml(path))
        .filter_map(|path| yaml::parse(&fs::read(path).ok()?).ok())
        .map(|document| document.value)
        .filter(Value::is_object)
        .collect()
});

/// The path and the value of each document of an item.
type Files = Vec<(String, Value)>;

/// The items in our corpus and examples, by name.
static ITEMS: LazyLock<Vec<(String, Files)>> = LazyLock::new(|| {
    let files = ["conformance/blueprint", "examples"]
        .into_iter()
        .flat_map(below);
    let roots: BTreeSet<_> = files
        .filter(|path| path.file_name().is_some_and(|name| name == BLUEPRINT))
        .filter_map(|path| Some(path.parent()?.to_owned()))
        .collect();
    roots
        .iter()
        .filter_map(|root| {
            let item = directory::read(root).ok()?;
            let files = item.files().map(|(path, bytes)| {
                let document = yaml::parse(bytes).ok()?;
                Some((path.to_owned(), document.value))
            });
            Some((item.name().to_owned(), files.collect::<Option<_>>()?))
        })
        .collect()
});

/// What a spelling must not change.
fn outcome(validation: &Validation) -> Value {
    let result = &validation.result;
    let found = result.diagnostics.iter().map(|found| {
        let related = found.related.iter();
        let related: Vec<_> = related
            .map(|related| json!([related.artifact, related.path]))
            .collect();
        json!([found.code, found.path, related])
    });
    json!({
        "status": result.status,
        "phase": result.phase,
        "found": found.collect::<Vec<_>>(),
        "deferred": result.deferred,
        "typed": [validation.contracts.is_some(), validation.component.is_some()],
    })
}

fn alone(text: &str) -> Value {
    let published = Published::default();
    outcome(&validate_document(
        None,
        text.as_bytes(),
        &published,
        Profile::Document,
    ))
}

fn together(
    name: &str,
    files: &[(String, Value)],
    mut text: impl FnMut(&Value) -> String,
) -> Value {
    let files = files.iter().map(|(path, value)| {
        let bytes: Arc<[u8]> = Arc::from(text(value).as_bytes());
        (path.clone(), bytes)
    });
    let item = Item::from_files(name, files.collect::<Vec<_>>());
    outcome(&validate_item(
        &item,
        &Published::default(),
        Profile::Document,
    ))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_spelling_of_a_document_decides_nothing(
        index: prop::sample::Index,
        mutations in prop::collection::vec(any::<u8>(), 0..12),
        spelling in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut value = index.get(&DOCUMENTS).clone();
        spelling::mutate(&mut value, &mut Choices::new(&mutations));
        let text = spelled(&value, &mut Choices::new(&spelling));
        prop_assert_eq!(yaml::parse(text.as_bytes()).map(|document| document.value), Ok(value.clone()), "{}", text);
        prop_assert_eq!(alone(&text), alone(&value.to_string()), "{}", text);
    }

    #[test]
    fn the_spelling_of_an_item_s_documents_decides_nothing(
        index: prop::sample::Index,
        mutations in prop::collection::vec(any::<u8>(), 0..12),
        spelling in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let (name, mut files) = index.get(&ITEMS).clone();
        let mut choices = Choices::new(&mutations);
        let mutated = choices.below(files.len());
        spelling::mutate(&mut files[mutated].1, &mut choices);
        let mut choices = Choices::new(&spelling);
        let spelled = together(&name, &files, |value| spelled(value, &mut choices));
        prop_assert_eq!(spelled, together(&name, &files, Value::to_string));
    }
}
