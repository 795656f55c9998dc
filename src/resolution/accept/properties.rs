//! That no single change of an accepted record is accepted.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

use super::testing::{Given, given};
use crate::document::pointer::Pointer;
use crate::resolution::record::Record;

/// Where a record is the only one to say what was selected, so that another selection of the right form makes another
/// record rather than a wrong one. That it is this installation's record is for whoever keeps it to know.
const SELECTED: [&str; 4] = [
    "/components/builder/compute/version",
    "/components/builder/imageDigest",
    "/components/web/compute/version",
    // Manifests name the editions of what blueprint depends on, and nothing depends on blueprint.
    "/specifications/blueprint",
];

/// One change at one place of a document.
#[derive(Clone, Debug)]
enum Change {
    Removed,
    Replaced(Value),
    /// A member more, if there is an object.
    Added(String, Value),
}

fn changes() -> impl Strategy<Value = Change> {
    let name = prop_oneof![
        prop::sample::select(vec![
            "listing",
            "gitCommit",
            "compute",
            "imageDigest",
            "storageClass"
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,8}",
    ];
    prop_oneof![
        Just(Change::Removed),
        replacements().prop_map(Change::Replaced),
        (name, replacements()).prop_map(|(name, value)| Change::Added(name, value)),
    ]
}

fn replacements() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_u64..4).prop_map(Value::from),
        Just(json!(1.5)),
        Just(json!("")),
        "[0-9a-f]{64}".prop_map(Value::from),
        "[0-9a-f]{64}".prop_map(|digits| json!(format!("sha256:{digits}"))),
        prop::sample::select(vec![
            "IMAGE",
            "EXTERNAL",
            "PUBLIC",
            "NONE",
            "1.0.0",
            "1.0.1",
            "./web.yaml"
        ])
        .prop_map(Value::from),
        "\\PC{1,9}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
    ]
}

/// Every place in `value`, the whole included.
fn places(value: &Value) -> Vec<Pointer> {
    let mut places = Vec::new();
    let mut pending = vec![(Pointer::root(), value)];
    while let Some((place, value)) = pending.pop() {
        if let Value::Object(members) = value {
            pending.extend(
                members
                    .iter()
                    .map(|(name, value)| (place.child(name), value)),
            );
        }
        places.push(place);
    }
    places
}

/// `record` with `change` made at `place`; nothing where it cannot be made.
fn changed(record: &Value, place: &Pointer, change: &Change) -> Option<Value> {
    let mut changed = record.clone();
    match change {
        Change::Replaced(value) => *changed.pointer_mut(place.as_str())? = value.clone(),
        Change::Added(name, value) => {
            let members: &mut Map<_, _> = changed.pointer_mut(place.as_str())?.as_object_mut()?;
            members.insert(name.clone(), value.clone());
        }
        Change::Removed => {
            let (parent, name) = place.as_str().rsplit_once('/')?;
            let name = name.replace("~1", "/").replace("~0", "~");
            changed
                .pointer_mut(parent)?
                .as_object_mut()?
                .remove(&name)?;
        }
    }
    (changed != *record).then_some(changed)
}

/// Whether the record that `value` is, if it is one, is accepted with everything else as it was.
fn is_accepted(given: &mut Given, value: Value) -> bool {
    if serde_json::from_value::<Record>(value.clone()).is_err() {
        return false;
    }
    given.set("/record", value);
    given.accept().is_ok()
}

/// Whether `change` is another selection of the right form at a place that nothing else speaks of.
fn selects(place: &Pointer, change: &Change) -> bool {
    let (place, text) = match change {
        Change::Replaced(Value::String(text)) => (place.clone(), text),
        // A member that is there already is replaced.
        Change::Added(name, Value::String(text)) => (place.child(name), text),
        _ => return false,
    };
    let digest = text.strip_prefix("sha256:");
    SELECTED.contains(&place.as_str())
        && match place.as_str().rsplit('/').next() {
            Some("imageDigest") => digest.is_some_and(|digits| digits.len() == 64),
            Some("blueprint") => text == "1.0.1",
            _ => !text.is_empty(),
        }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_record_with_anything_else_in_it_is_refused(place: Index, change in changes()) {
        let mut given = given();
        let record = given.get("/record").clone();
        let place = place.get(&places(&record)).clone();
        if let Some(changed) = changed(&record, &place, &change) {
            let accepted = is_accepted(&mut given, changed);
            prop_assert_eq!(accepted, selects(&place, &change), "{:?} at {}", change, place);
        }
    }
}

#[test]
fn a_record_without_any_one_of_its_members_is_refused() {
    let record = given().get("/record").clone();
    for place in places(&record) {
        if let Some(changed) = changed(&record, &place, &Change::Removed) {
            assert!(!is_accepted(&mut given(), changed), "without {place}");
        }
    }
}

/// What is optional is left out: a record has one spelling.
#[test]
fn a_record_with_a_member_that_is_null_is_refused() {
    for (place, member) in [
        ("/specifications", "listing"),
        ("/components/web", "gitCommit"),
        ("/components/store", "imageDigest"),
        ("/components/store", "compute"),
        ("/components/web/volumes/data", "minIOPS"),
    ] {
        let mut record = given().get("/record").clone();
        record.pointer_mut(place).expect(place)[member] = Value::Null;
        assert!(!is_accepted(&mut given(), record), "{place}/{member}");
    }
}
