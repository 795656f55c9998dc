//! The CustomResourceDefinitions, as the API server gets them.
//!
//! The types of this room say what a field is; this file makes their derived schemas what an API server takes without
//! a warning, and knows how to walk them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt as _;

use super::{ComputeProfile, Installation, Platform, ResolutionRecord};

/// The definition of every kind, in the order in which a reader meets them.
pub fn all() -> Vec<CustomResourceDefinition> {
    [
        Installation::crd(),
        ResolutionRecord::crd(),
        ComputeProfile::crd(),
        Platform::crd(),
    ]
    .map(finished)
    .into()
}

/// The schema of the one version of `definition`.
///
/// # Panics
/// When there is none; the definitions of [`all`] have one.
pub fn schema(definition: &CustomResourceDefinition) -> &JSONSchemaProps {
    definition.spec.versions[0]
        .schema
        .as_ref()
        .and_then(|validation| validation.open_api_v3_schema.as_ref())
        .expect("a derived definition has a schema")
}

/// The schemas directly inside `schema`, each with the step that leads to it: `.name` for a property, `.*` for the
/// values of a map, `[]` for the entries of a list.
pub fn children(schema: &JSONSchemaProps) -> Vec<(String, &JSONSchemaProps)> {
    let properties = schema.properties.iter().flatten();
    let mut all: Vec<_> = properties
        .map(|(name, schema)| (format!(".{name}"), schema))
        .collect();
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &schema.additional_properties {
        all.push((".*".to_owned(), values));
    }
    if let Some(JSONSchemaPropsOrArray::Schema(entries)) = &schema.items {
        all.push(("[]".to_owned(), entries));
    }
    all
}

fn finished(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    let validations = definition
        .spec
        .versions
        .iter_mut()
        .filter_map(|version| version.schema.as_mut());
    for root in validations.filter_map(|validation| validation.open_api_v3_schema.as_mut()) {
        let spec = root.properties.as_ref().and_then(|all| all.get("spec"));
        root.description = spec.and_then(|spec| spec.description.clone());
        tidy(root);
    }
    definition
}

/// Kubernetes knows no unsigned formats (it warns), and null for an absent field only blurs what `has()` says in a
/// rule; null stays a value where any JSON may stand.
fn tidy(schema: &mut JSONSchemaProps) {
    if schema
        .format
        .as_ref()
        .is_some_and(|format| format.starts_with("uint"))
    {
        schema.format = Some("int64".to_owned());
    }
    if schema.x_kubernetes_preserve_unknown_fields.is_none() {
        schema.nullable = None;
    }
    schema
        .properties
        .iter_mut()
        .flat_map(|all| all.values_mut())
        .for_each(tidy);
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        tidy(values);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(entries)) = &mut schema.items {
        tidy(entries);
    }
}
