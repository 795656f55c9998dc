//! The record's own shape, beyond what its types hold: formats, non-empty names, and which fields a source kind has.

use super::Breaches;
use crate::resolution::record::{Record, RecordedComponent, SourceKind, VersionedIdentity};

/// Checks `record` as it stands, without looking at anything that it names.
pub(super) fn check(record: &Record, breaches: &mut Breaches) {
    breaches.unless(record.version == 1, || {
        format!(
            "the record is of version {}; record it as version 1",
            record.version
        )
    });
    breaches.unless(!record.components.is_empty(), || {
        "the record has no components; record every node".to_owned()
    });
    for (node, component) in &record.components {
        for fault in faults(component) {
            breaches.add(format!("the record of node `{node}` {fault}"));
        }
    }
    for (path, variable) in &record.variables {
        breaches.unless(is_named(variable), || {
            format!("the record of variable `{path}` lacks an identity or version; record both")
        });
    }
    for (name, credential) in &record.credentials {
        breaches.unless(!credential.identity.is_empty(), || {
            format!("the record of credential `{name}` lacks an identity; record it")
        });
    }
    breaches.unless(is_named(&record.installation_snapshot), || {
        "the record's snapshot lacks an identity or version; record both".to_owned()
    });
}

fn faults(component: &RecordedComponent) -> Vec<&'static str> {
    let runs = component.source != SourceKind::External;
    let is_git = component.source == SourceKind::Git;
    let image = component.image_digest.as_deref();
    let commit = component.git_commit.as_deref();
    let compute = component.compute.as_ref();
    let is_placed = !component.volumes.is_empty() || !component.exposure.is_empty();
    [
        (
            component.identity.is_empty() || component.revision == 0,
            "lacks an identity or a revision from 1; record the component's own",
        ),
        (
            image.is_some() != runs,
            "needs an image digest exactly if it runs; record the image that was selected",
        ),
        (
            image.is_some_and(|digest| !is_image_digest(digest)),
            "has an image digest that is not `sha256:` and 64 hexadecimal digits; record the exact one",
        ),
        (
            commit.is_some() != is_git,
            "needs a Git commit exactly if it is built from Git; record the commit that was built",
        ),
        (
            commit.is_some_and(|commit| !is_commit(commit)),
            "has a Git commit that is no full object id; record all of it",
        ),
        (
            compute.is_some() != runs,
            "needs compute exactly if it runs; record the profile and the version that were selected",
        ),
        (
            compute.is_some_and(|compute| !is_named(compute)),
            "has compute without an identity or version; record both",
        ),
        (
            !runs && is_placed,
            "has volumes or exposure although nothing runs; leave them out",
        ),
    ]
    .into_iter()
    .filter_map(|(is_wrong, fault)| is_wrong.then_some(fault))
    .collect()
}

fn is_named(selected: &VersionedIdentity) -> bool {
    !selected.identity.is_empty() && !selected.version.is_empty()
}

fn is_image_digest(text: &str) -> bool {
    text.strip_prefix("sha256:")
        .is_some_and(|digits| digits.len() == 64 && is_lower_hex(digits))
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_lower_hex(text)
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::resolution::accept::testing::{COMMIT, each_refuses};

    #[test]
    fn a_record_of_the_wrong_shape_is_refused() {
        let digest = |digit: &str| json!(format!("sha256:{}", digit.repeat(64)));
        let compute = json!({"identity": "general.standard.small", "version": "3"});
        each_refuses(&[
            ("/record/version", json!(2), "of version 2"),
            ("/record/components", json!({}), "no components"),
            (
                "/record/components/web/identity",
                json!(""),
                "lacks an identity",
            ),
            (
                "/record/components/web/revision",
                json!(0),
                "revision from 1",
            ),
            (
                "/record/components/web/imageDigest",
                json!(null),
                "needs an image digest",
            ),
            (
                "/record/components/store/imageDigest",
                digest("a"),
                "needs an image digest",
            ),
            (
                "/record/components/builder/imageDigest",
                json!("sha256:ab"),
                "64 hexadecimal",
            ),
            (
                "/record/components/builder/imageDigest",
                digest("B"),
                "64 hexadecimal",
            ),
            (
                "/record/components/builder/imageDigest",
                json!("b".repeat(71)),
                "64 hexadecimal",
            ),
            (
                "/record/components/builder/gitCommit",
                json!(null),
                "needs a Git commit",
            ),
            (
                "/record/components/builder/gitCommit",
                json!(COMMIT[..8]),
                "full object id",
            ),
            (
                "/record/components/web/gitCommit",
                json!(COMMIT),
                "needs a Git commit",
            ),
            (
                "/record/components/web/compute",
                json!(null),
                "needs compute",
            ),
            (
                "/record/components/web/compute/version",
                json!(""),
                "compute without",
            ),
            ("/record/components/store/compute", compute, "needs compute"),
            (
                "/record/components/store/exposure",
                json!({"web": "PUBLIC"}),
                "although nothing runs",
            ),
            (
                "/record/components/store/volumes",
                json!({"data": {"sizeGiB": 1}}),
                "although nothing runs",
            ),
            (
                "/record/variables/cloud.region/version",
                json!(""),
                "of variable `cloud.region` lacks",
            ),
            (
                "/record/credentials/key/identity",
                json!(""),
                "of credential `key` lacks",
            ),
            (
                "/record/installationSnapshot/identity",
                json!(""),
                "snapshot lacks",
            ),
        ]);
    }
}
