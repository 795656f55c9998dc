//! What holds of every input, however it came about. The fuzz targets ask it under coverage guidance, `tests/documents.rs`
//! asks it of the inputs that were kept.

use std::sync::Arc;

use installation_operator::contract::item::{BLUEPRINT, Item};
use installation_operator::contract::normalize::normalize;
use installation_operator::contract::{
    Family, Published, Validation, envelope, validate_document, validate_item,
};
use installation_operator::document::diagnostic::Phase;
use installation_operator::document::limits;
use installation_operator::document::result::{Profile, Status, status};
use installation_operator::document::yaml;

/// Where an input of the target `item` ends to be the blueprint: YAML's own mark for the end of a document.
const SEPARATOR: &[u8] = b"\n...\n";

/// One document, under every family and profile.
pub fn document(bytes: &[u8]) {
    let published = Published::default();
    for family in [None, Some(Family::Component), Some(Family::Blueprint)] {
        let validation = validate_document(family, bytes, &published, Profile::Document);
        holds(bytes, &validation);
    }
    let deployed = validate_document(None, bytes, &published, Profile::Deployment);
    assert_ne!(
        deployed.result.status,
        Status::Valid,
        "never approved offline"
    );
    if let Ok(document) = yaml::parse(bytes) {
        survives(document);
    }
}

/// A blueprint and the component of all its local nodes, in an item of the blueprint's own name.
pub fn item(bytes: &[u8]) {
    let (blueprint, component) = split(bytes);
    let (name, references) = named(blueprint);
    let mut files = vec![(BLUEPRINT.to_owned(), Arc::<[u8]>::from(blueprint))];
    for reference in references {
        files.push((reference, Arc::from(component)));
    }
    let item = Item::from_files(name, files);
    let validation = validate_item(&item, &Published::default(), Profile::Document);
    holds(blueprint, &validation);
    assert!(
        validation.component.is_none(),
        "an item is no component, whatever its document says"
    );
}

fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let at = bytes
        .windows(SEPARATOR.len())
        .position(|window| window == SEPARATOR);
    match at {
        Some(at) => (&bytes[..=at], &bytes[at + SEPARATOR.len()..]),
        None => (bytes, &[]),
    }
}

/// The slug of a blueprint and the paths of its local components, as far as they can be read.
fn named(blueprint: &[u8]) -> (String, Vec<String>) {
    let Ok(document) = yaml::parse(blueprint) else {
        return ("wiki".to_owned(), Vec::new());
    };
    let slug = document.value["metadata"]["slug"].as_str();
    let nodes = document.value["spec"]["components"].as_object();
    let paths = nodes.into_iter().flatten().filter_map(|(_, node)| {
        let path = node["componentRef"].as_str()?.strip_prefix("./")?;
        Some(path.to_owned())
    });
    (slug.unwrap_or("wiki").to_owned(), paths.collect())
}

/// A result is one of the outcomes and says nothing impossible.
fn holds(bytes: &[u8], validation: &Validation) {
    let result = &validation.result;
    assert_eq!(result.status, status(&result.diagnostics, &result.deferred));
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    for found in &result.diagnostics {
        assert!(found.phase <= result.phase, "{found:?}");
        assert!(!found.message.is_empty(), "{found:?}");
        if found.phase == Phase::Parser {
            assert_eq!(found.path.as_str(), "");
        }
        if let Some(place) = found.location {
            // A line may end in a lone carriage return.
            let returns = bytes.iter().filter(|byte| **byte == b'\r').count();
            assert!((1..=lines + returns).contains(&place.line), "{found:?}");
            assert!((1..=bytes.len() + 1).contains(&place.column), "{found:?}");
        }
    }
    if result.phase == Phase::Parser {
        assert!(result.diagnostics.len() <= limits::PARSER_DIAGNOSTICS + 2);
    }
    let valid = result.status == Status::Valid;
    let typed = validation.contracts.is_some() || validation.component.is_some();
    assert_eq!(
        valid, typed,
        "what is VALID has a contract, and nothing else has"
    );
}

/// A document that was read is the same document when it is written as JSON, and normalizing it is done at once.
fn survives(document: yaml::Document) {
    let text = document.value.to_string();
    if text.len() <= limits::DOCUMENT_BYTES {
        let again = yaml::parse(text.as_bytes()).expect("JSON is YAML");
        assert_eq!(again.value, document.value);
    }
    if let Ok(family) = envelope::family(&document) {
        let once = normalize(family, document.value);
        assert_eq!(normalize(family, once.clone()), once);
    }
}
