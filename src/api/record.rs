//! `ResolutionRecord`: one accepted record of one installation, immutable.

use kube::CustomResource;
use kube::core::cel::{Rule, validate};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::resolution::record::Record;

/// The resolution record that an installation's workloads come from. `spec` is exactly the record's shape.
#[derive(CustomResource, JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[schemars(transform = component_rules)]
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
    printcolumn(name = "State", type_ = "string", json_path = ".metadata.annotations.install\\.musher\\.dev/state"),
    printcolumn(name = "Changed", type_ = "string", json_path = ".metadata.annotations.install\\.musher\\.dev/changes"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.spec == oldSelf.spec").message("a ResolutionRecord is immutable: change its Installation instead")
)]
pub struct ResolutionRecordSpec(pub Record);

/// The rules that hold between the fields of a component. `resolution` checks them itself and knows nothing of CEL.
fn component_rules(schema: &mut Schema) {
    let rules = [
        Rule::new("self.source == 'EXTERNAL' || (has(self.imageDigest) && has(self.compute))")
            .message("a component that runs needs imageDigest and compute"),
        Rule::new("self.source != 'EXTERNAL' || (!has(self.imageDigest) && !has(self.compute))")
            .message("an EXTERNAL component runs nothing: leave out imageDigest and compute"),
        Rule::new(
            "self.source != 'EXTERNAL' || (self.volumes.size() == 0 && self.exposure.size() == 0)",
        )
        .message("an EXTERNAL component runs nothing: leave volumes and exposure empty"),
        Rule::new("(self.source == 'GIT') == has(self.gitCommit)")
            .message("a GIT component needs gitCommit: leave it out of every other"),
    ];
    let place = schema.pointer_mut("/properties/components/additionalProperties");
    let place = place.expect("a record has components");
    let mut component = Schema::try_from(place.take()).expect("a component has a schema");
    for rule in rules {
        validate(&mut component, rule).expect("a rule is JSON");
    }
    *place = component.to_value();
}
