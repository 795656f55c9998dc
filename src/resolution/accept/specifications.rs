//! The specification releases that a record was made under: exactly blueprint and what it depends on, at editions that
//! agree with the dependency manifests.

use std::collections::{BTreeMap, BTreeSet};

use super::Breaches;
use crate::resolution::record::{SPECIFICATIONS, SpecificationDependencies, Specifications};

/// The line of the documents that this program reads: `specVersion: v1`.
const LINE: &str = "1";

/// Checks the recorded editions against the manifests.
pub(super) fn check(
    recorded: &Specifications,
    dependencies: &SpecificationDependencies,
    breaches: &mut Breaches,
) {
    breaches.unless(recorded.listing.is_none(), || {
        "the record names a listing specification, on which no blueprint depends; leave it out"
            .to_owned()
    });
    let editions = BTreeMap::from([
        ("core", &recorded.core),
        ("component", &recorded.component),
        ("blueprint", &recorded.blueprint),
    ]);
    for (name, edition) in &editions {
        breaches.unless(line(edition) == Some(LINE), || {
            format!("the record's {name} edition is no release {LINE}.N.N; record the exact one")
        });
    }
    for (name, needed) in SPECIFICATIONS {
        let expected: BTreeMap<&str, &String> =
            needed.iter().map(|name| (*name, editions[name])).collect();
        let found = dependencies.0.get(name).map(|manifest| {
            manifest
                .iter()
                .map(|(dependency, edition)| (dependency.as_str(), edition))
                .collect::<BTreeMap<_, _>>()
        });
        breaches.unless(found.as_ref() == Some(&expected), || {
            format!(
                "the dependency manifest of {name} does not name exactly its dependencies at the recorded editions; supply the one that was released with it"
            )
        });
    }
    let known = BTreeSet::from(SPECIFICATIONS.map(|(name, _)| name));
    for name in dependencies.0.keys() {
        breaches.unless(known.contains(name.as_str()), || {
            format!(
                "a dependency manifest is of {name}, which the record does not name; leave it out"
            )
        });
    }
}

/// The first number of a release `N.N.N`.
fn line(edition: &str) -> Option<&str> {
    let numbers: Vec<_> = edition.split('.').collect();
    let is_number =
        |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (numbers.len() == 3 && numbers.iter().all(is_number)).then(|| numbers[0])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::resolution::accept::testing::each_refuses;

    #[test]
    fn editions_and_manifests_have_to_agree_exactly() {
        each_refuses(&[
            ("/record/specifications/listing", json!("1.0.0"), "listing"),
            ("/record/specifications/core", json!("1.0"), "core edition"),
            (
                "/record/specifications/core",
                json!("1.0.x"),
                "core edition",
            ),
            ("/record/specifications/core", json!("1.0."), "core edition"),
            (
                "/record/specifications/blueprint",
                json!("2.0.0"),
                "blueprint edition",
            ),
            (
                "/record/specifications/core",
                json!("1.0.1"),
                "manifest of component",
            ),
            ("/dependencies/core", json!(null), "manifest of core"),
            (
                "/dependencies/core/listing",
                json!("1.0.0"),
                "manifest of core",
            ),
            (
                "/dependencies/blueprint/core",
                json!(null),
                "manifest of blueprint",
            ),
            (
                "/dependencies/blueprint/component",
                json!("1.0.1"),
                "manifest of blueprint",
            ),
            ("/dependencies/listing", json!({}), "manifest is of listing"),
        ]);
    }
}
