//! The record against the documents and against the snapshot: each says the same of everything that both name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use super::Breaches;
use crate::contract::blueprint::node::Node;
use crate::contract::blueprint::parameter::Supply;
use crate::contract::component::source::{GitRef, ImageReference, Source};
use crate::contract::contracts::{ComponentContract, Contracts};
use crate::resolution::record::{Record, RecordedComponent, SourceKind, VersionedIdentity};
use crate::resolution::snapshot::Snapshot;

/// Checks that the record has exactly the blueprint's nodes, and of each what was authored.
pub(super) fn nodes(record: &Record, contracts: &Contracts, breaches: &mut Breaches) {
    same_names(
        "nodes",
        contracts.components.keys(),
        record.components.keys(),
        breaches,
    );
    for (node, recorded) in &record.components {
        let authored = contracts.blueprint.spec.components.get(node);
        if let (Some(authored), Some(contract)) = (authored, contracts.components.get(node)) {
            for field in disagreements(recorded, authored, contract) {
                breaches.add(format!(
                    "the record of node `{node}` disagrees with its documents about {field}; record what they say"
                ));
            }
        }
    }
}

fn disagreements(
    recorded: &RecordedComponent,
    authored: &Node,
    contract: &ComponentContract,
) -> Vec<&'static str> {
    let component = &contract.component;
    let source = component
        .spec
        .workload
        .as_ref()
        .map(|workload| &workload.source);
    let pinned_image = source.and_then(image_digest);
    let pinned_commit = source.and_then(commit);
    let profile = authored.compute.as_ref().map(|compute| &compute.profile);
    let recorded_profile = recorded.compute.as_ref().map(|compute| &compute.identity);
    let agrees = |pinned: Option<&str>, found: &Option<String>| {
        pinned.is_none_or(|pinned| found.as_deref() == Some(pinned))
    };
    [
        ("its identity", recorded.identity == authored.component_ref),
        (
            "its revision",
            recorded.revision == component.metadata.revision,
        ),
        ("its digest", recorded.digest == contract.digest),
        (
            "the kind of its source",
            recorded.source == SourceKind::of(component),
        ),
        ("its compute profile", recorded_profile == profile),
        ("its volumes", recorded.volumes == authored.volumes),
        ("its exposure", recorded.exposure == authored.exposure),
        (
            "its image digest",
            agrees(pinned_image, &recorded.image_digest),
        ),
        (
            "its Git commit",
            agrees(pinned_commit, &recorded.git_commit),
        ),
    ]
    .into_iter()
    .filter_map(|(field, agrees)| (!agrees).then_some(field))
    .collect()
}

/// The digest that an authored image reference pins.
fn image_digest(source: &Source) -> Option<&str> {
    match source {
        Source::Image(reference) => ImageReference::parse(reference).digest,
        Source::Git(_) => None,
    }
}

/// The commit that an authored Git source pins.
fn commit(source: &Source) -> Option<&str> {
    match source {
        Source::Git(git) => match &git.r#ref {
            Some(GitRef::Commit(commit)) => Some(commit),
            Some(GitRef::Branch(_)) | None => None,
        },
        Source::Image(_) => None,
    }
}

/// Checks that record and snapshot name each other's selections: exactly those that the blueprint asks for.
pub(super) fn selections(
    record: &Record,
    snapshot: &Snapshot,
    contracts: &Contracts,
    breaches: &mut Breaches,
) {
    let named = VersionedIdentity {
        identity: snapshot.identity.clone(),
        version: snapshot.version.clone(),
    };
    breaches.unless(record.installation_snapshot == named, || {
        "the record names another snapshot; accept it with its own".to_owned()
    });

    // Every parameter of a valid blueprint is bound (BP-PARAM-001), so what is declared is what is used.
    let mut paths = BTreeSet::new();
    let mut generated = BTreeSet::new();
    for (name, parameter) in &contracts.blueprint.spec.parameters {
        match parameter.supply() {
            Supply::Variable(path) => drop(paths.insert(path)),
            Supply::Generated(_) => drop(generated.insert(name)),
            Supply::Submitted { .. } | Supply::Connection(_) => {}
        }
    }
    same_names("variables", &paths, record.variables.keys(), breaches);
    same_names(
        "credentials",
        generated,
        record.credentials.keys(),
        breaches,
    );

    let variables: BTreeMap<_, _> = snapshot
        .variables()
        .iter()
        .map(|(path, variable)| {
            (
                path,
                (variable.identity.as_ref(), variable.version.as_ref()),
            )
        })
        .collect();
    let recorded: BTreeMap<_, _> = record
        .variables
        .iter()
        .map(|(path, selected)| (path, (Some(&selected.identity), Some(&selected.version))))
        .collect();
    breaches.unless(recorded == variables, || {
        "record and snapshot name different variables, or other versions of them; accept the record with its own snapshot".to_owned()
    });
    breaches.unless(record.credentials == *snapshot.credentials(), || {
        "record and snapshot name different credentials, or other rotations of them; accept the record with its own snapshot".to_owned()
    });
    allocations(snapshot, contracts, breaches);
}

/// Checks that every endpoint of every node has an allocation with a name.
fn allocations(snapshot: &Snapshot, contracts: &Contracts, breaches: &mut Breaches) {
    for (node, contract) in &contracts.components {
        let workload = contract.component.spec.workload.as_ref();
        for endpoint in workload
            .iter()
            .flat_map(|workload| workload.endpoints.keys())
        {
            let allocation = snapshot
                .allocations()
                .get(node)
                .and_then(|endpoints| endpoints.get(endpoint));
            let is_named = |member: &str| {
                let text = allocation.and_then(|allocation| allocation.get(member)?.as_str());
                text.is_some_and(|text| !text.is_empty())
            };
            breaches.unless(is_named("identity") && is_named("version"), || {
                format!(
                    "the snapshot holds no allocation of endpoint `{endpoint}` of node `{node}` with identity and version; allocate it before recording"
                )
            });
        }
    }
}

/// Checks that the record names exactly what is asked for.
fn same_names<T: Ord + Display>(
    what: &str,
    expected: impl IntoIterator<Item = T>,
    recorded: impl IntoIterator<Item = T>,
    breaches: &mut Breaches,
) {
    let expected: BTreeSet<T> = expected.into_iter().collect();
    let recorded: BTreeSet<T> = recorded.into_iter().collect();
    for name in expected.difference(&recorded) {
        breaches.add(format!(
            "the record lacks `{name}` among its {what}; record it"
        ));
    }
    for name in recorded.difference(&expected) {
        breaches.add(format!(
            "the record has `{name}` among its {what}, which the blueprint does not; leave it out"
        ));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::resolution::accept::testing::{COMMIT, each_refuses, given};

    #[test]
    fn every_node_is_recorded_as_authored() {
        let web = given().get("/record/components/web").clone();
        let image = format!("sha256:{}", "b".repeat(64));
        each_refuses(&[
            ("/record/components/extra", web, "`extra` among its nodes"),
            (
                "/record/components/web/revision",
                json!(2),
                "about its revision",
            ),
            (
                "/record/components/web/source",
                json!("GIT"),
                "about the kind of its source",
            ),
            (
                "/record/components/web/compute/identity",
                json!("general.standard.large"),
                "about its compute profile",
            ),
            (
                "/record/components/web/volumes/data/sizeGiB",
                json!(11),
                "about its volumes",
            ),
            (
                "/record/components/web/exposure",
                json!({}),
                "about its exposure",
            ),
            (
                "/record/components/web/imageDigest",
                json!(image),
                "about its image digest",
            ),
            (
                "/record/components/builder/gitCommit",
                json!(COMMIT.replace('0', "1")),
                "about its Git commit",
            ),
        ]);
    }

    #[test]
    fn record_and_snapshot_name_exactly_what_the_blueprint_asks_for() {
        let given = given();
        let variable = given.get("/record/variables/cloud.region").clone();
        let pinned = given.get("/snapshot/variables/cloud.region").clone();
        let credential = given.get("/snapshot/credentials/key").clone();
        each_refuses(&[
            (
                "/record/installationSnapshot/version",
                json!("2"),
                "another snapshot",
            ),
            (
                "/record/installationSnapshot/identity",
                json!("t"),
                "another snapshot",
            ),
            (
                "/record/variables",
                json!({}),
                "lacks `cloud.region` among its variables",
            ),
            (
                "/record/variables/other",
                variable,
                "`other` among its variables",
            ),
            (
                "/record/variables/cloud.region/identity",
                json!("w"),
                "different variables",
            ),
            (
                "/record/variables/cloud.region/version",
                json!("8"),
                "different variables",
            ),
            (
                "/record/credentials",
                json!({}),
                "lacks `key` among its credentials",
            ),
            (
                "/record/credentials/title",
                json!({"identity": "c", "rotation": 0}),
                "`title` among its credentials",
            ),
            (
                "/record/credentials/key/identity",
                json!("d"),
                "different credentials",
            ),
            (
                "/record/credentials/key/rotation",
                json!(3),
                "different credentials",
            ),
            ("/snapshot/variables/other", pinned, "different variables"),
            (
                "/snapshot/credentials/title",
                credential,
                "different credentials",
            ),
        ]);
    }

    #[test]
    fn every_endpoint_has_a_named_allocation() {
        for (pointer, value) in [
            ("/snapshot/allocations/web", json!(null)),
            ("/snapshot/allocations/web/web", json!(null)),
            ("/snapshot/allocations/web/web/identity", json!("")),
            ("/snapshot/allocations/web/web/version", json!(null)),
        ] {
            each_refuses(&[(
                pointer,
                value,
                "no allocation of endpoint `web` of node `web`",
            )]);
        }
    }
}
