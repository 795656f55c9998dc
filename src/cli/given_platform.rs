//! The Platform of a context file, held to what the API server holds it to; but for rules in CEL, which nothing here
//! evaluates.

use anyhow::{Context as _, bail};
use kube::Resource as _;
use serde_json::{Value, json};

use crate::api::platform::PlatformSpec;
use crate::api::{Platform, crd};

/// Reads the `spec` of a Platform.
///
/// # Errors
/// With the place, for anything that the API server would refuse.
pub(super) fn read(spec: Value) -> anyhow::Result<PlatformSpec> {
    let validator = jsonschema::validator_for(&schema()).context("the schema of Platform")?;
    if let Some(error) = validator.iter_errors(&spec).next() {
        bail!(
            "platform{} of the context file is malformed: {error}. Give the spec of a Platform, as docs/reference/api.md has it",
            error.instance_path()
        );
    }
    serde_json::from_value(spec).context("platform is malformed: give the spec of a Platform")
}

fn schema() -> Value {
    let kind = Platform::kind(&());
    let definitions = crd::all();
    let definition = definitions
        .iter()
        .find(|definition| definition.spec.names.kind == kind)
        .expect("Platform has a definition");
    let mut schema = json!(crd::schema(definition))["properties"]["spec"].take();
    close(&mut schema);
    schema
}

/// What the API server knows by itself: an object has no other members than those that are named.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            if members.get("properties").is_some_and(Value::is_object) {
                members
                    .entry("additionalProperties")
                    .or_insert(Value::Bool(false));
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(close),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_of_a_context_file_is_what_the_api_server_would_take() {
        let default = json!(PlatformSpec::default());
        assert_eq!(read(default).expect("VALID"), PlatformSpec::default());
        for (spec, told) in [
            (json!({"edge": {"domian": []}}), "platform/edge of"),
            (
                json!({"edge": {"domains": [{"domain": "Example.org"}]}}),
                "platform/edge/domains/0/domain of",
            ),
            (
                json!({"placement": {"networkClass": {"fast": {"a": 1}}}}),
                "platform/placement/networkClass/fast/a of",
            ),
            (json!([]), "platform of"),
        ] {
            let refusal = read(spec.clone()).expect_err("refused").to_string();
            assert!(refusal.starts_with(told), "{spec}: {refusal}");
        }
    }
}
