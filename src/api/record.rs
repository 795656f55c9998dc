//! `ResolutionRecord`: one accepted record of one installation, immutable.

use kube::CustomResource;
use kube::core::cel::{Rule, validate};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::resolution::record::Record;

/// The resolution record that an installation's workloads come from. `spec` is exactly the record's shape.
#[derive(CustomResource, JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[schemars(transform = bounded)]
#[kube(
    group = "install.musher.dev",
    version = "v1alpha1",
    kind = "ResolutionRecord",
    namespaced,
    shortname = "rrec",
    category = "musher",
    derive = "PartialEq",
    printcolumn(name = "Identity", type_ = "string", json_path = ".metadata.labels.install\\.musher\\.dev/identity"),
    printcolumn(name = "Version", type_ = "string", json_path = ".metadata.labels.install\\.musher\\.dev/version"),
    printcolumn(name = "Snapshot", type_ = "string", json_path = ".spec.installationSnapshot.version"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.spec == oldSelf.spec").message("a ResolutionRecord is immutable: change its Installation instead")
)]
pub struct ResolutionRecordSpec(pub Record);

/// What an API server needs beside the record's own shape: bounds, without which it could not tell what a rule costs,
/// and the rules that hold between fields. `resolution` knows nothing of either.
fn bounded(schema: &mut Schema) {
    const VERSIONED: [(&str, u64); 2] = [("identity", 512), ("version", 512)];
    let component = "/properties/components/additionalProperties";
    let volume = format!("{component}/properties/volumes/additionalProperties");
    let texts = [
        ("", &[("blueprintDigest", 64)][..]),
        (
            "/properties/specifications",
            &[
                ("core", 32),
                ("component", 32),
                ("blueprint", 32),
                ("listing", 32),
            ],
        ),
        (
            component,
            &[
                ("identity", 512),
                ("digest", 64),
                ("imageDigest", 71),
                ("gitCommit", 64),
            ],
        ),
        (&format!("{component}/properties/compute"), &VERSIONED),
        (&volume, &[("storageClass", 64)]),
        ("/properties/variables/additionalProperties", &VERSIONED),
        (
            "/properties/credentials/additionalProperties",
            &VERSIONED[..1],
        ),
        ("/properties/installationSnapshot", &VERSIONED),
    ];
    for (place, lengths) in texts {
        for (name, length) in lengths {
            set(
                schema,
                &format!("{place}/properties/{name}"),
                "maxLength",
                *length,
            );
        }
    }
    for (name, entries) in [
        ("components", 1024),
        ("variables", 1024),
        ("credentials", 1024),
    ] {
        set(
            schema,
            &format!("/properties/{name}"),
            "maxProperties",
            entries,
        );
    }
    for name in ["volumes", "exposure"] {
        set(
            schema,
            &format!("{component}/properties/{name}"),
            "maxProperties",
            64,
        );
    }
    for rule in component_rules() {
        let mut part: Schema = at(schema, component).clone().try_into().expect("a schema");
        validate(&mut part, rule).expect("a rule is JSON");
        *at(schema, component) = part.to_value();
    }
}

fn component_rules() -> [Rule; 4] {
    [
        Rule::new("self.source == 'EXTERNAL' || (has(self.imageDigest) && has(self.compute))")
            .message("a component that runs has imageDigest and compute"),
        Rule::new("self.source != 'EXTERNAL' || (!has(self.imageDigest) && !has(self.compute))")
            .message("an EXTERNAL component has neither imageDigest nor compute"),
        Rule::new(
            "self.source != 'EXTERNAL' || (self.volumes.size() == 0 && self.exposure.size() == 0)",
        )
        .message("an EXTERNAL component has no volumes and no exposure"),
        Rule::new("(self.source == 'GIT') == has(self.gitCommit)")
            .message("a GIT component has gitCommit, and no other has"),
    ]
}

fn set(schema: &mut Schema, place: &str, key: &str, value: u64) {
    at(schema, place)[key] = json!(value);
}

fn at<'a>(schema: &'a mut Schema, place: &str) -> &'a mut serde_json::Value {
    schema
        .pointer_mut(place)
        .unwrap_or_else(|| panic!("a record's schema has {place}"))
}
