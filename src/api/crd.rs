//! The CustomResourceDefinitions, as the API server gets them.
//!
//! The types of this room say what a field is; this file makes their derived schemas what an API server takes without
//! a warning, and knows how to walk them.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::{CustomResourceExt as _, Resource as _};

use super::{
    ClusterConnection, ClusterVariable, ComponentRevision, ComputeProfile, Connection,
    Installation, Platform, ResolutionRecord, Variable,
};

/// The definition of every kind, in the order in which a reader meets them.
pub fn all() -> Vec<CustomResourceDefinition> {
    [
        Installation::crd(),
        ResolutionRecord::crd(),
        ComponentRevision::crd(),
        ClusterVariable::crd(),
        Variable::crd(),
        ClusterConnection::crd(),
        Connection::crd(),
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
    let is_record = definition.spec.names.kind == ResolutionRecord::kind(&());
    let validations = definition
        .spec
        .versions
        .iter_mut()
        .filter_map(|version| version.schema.as_mut());
    for root in validations.filter_map(|validation| validation.open_api_v3_schema.as_mut()) {
        let spec = root.properties.as_ref().and_then(|all| all.get("spec"));
        root.description = spec.and_then(|spec| spec.description.clone());
        visit(root, &mut tidy);
        if is_record {
            visit(root, &mut bound);
        }
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
}

/// The specification bounds few of a record's texts and none of its maps; an API server has to know what comparing
/// them costs at most. A record that fits into the API server at all stays within these bounds.
fn bound(schema: &mut JSONSchemaProps) {
    if schema.type_.as_deref() == Some("string") {
        schema.max_length.get_or_insert(512);
    }
    if schema.additional_properties.is_some() {
        schema.max_properties.get_or_insert(1024);
    }
}

/// Changes `schema` and every schema inside it.
fn visit(schema: &mut JSONSchemaProps, change: &mut impl FnMut(&mut JSONSchemaProps)) {
    change(schema);
    let properties = schema.properties.iter_mut().flat_map(BTreeMap::values_mut);
    let values = match &mut schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(values)) => Some(&mut **values),
        _ => None,
    };
    let entries = match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(entries)) => Some(&mut **entries),
        _ => None,
    };
    for inside in properties.chain(values).chain(entries) {
        visit(inside, change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_user_writes_is_bounded() {
        let mut unbounded = Vec::new();
        for definition in all() {
            let kind = &definition.spec.names.kind;
            let spec = &schema(&definition).properties.as_ref().expect("fields")["spec"];
            find_unbounded(&format!("{kind}.spec"), spec, &mut unbounded);
        }
        assert!(unbounded.is_empty(), "without a bound: {unbounded:#?}");
    }

    /// Keys of maps need a rule, for there is no keyword that bounds them. Records are the operator's own.
    fn find_unbounded(path: &str, schema: &JSONSchemaProps, unbounded: &mut Vec<String>) {
        let kind = schema.type_.as_deref();
        let text = kind == Some("string") && schema.enum_.is_none();
        if (text || schema.x_kubernetes_int_or_string == Some(true)) && schema.max_length.is_none()
        {
            unbounded.push(format!("{path}: maxLength"));
        }
        if kind == Some("array") && schema.max_items.is_none() {
            unbounded.push(format!("{path}: maxItems"));
        }
        if schema.additional_properties.is_some() {
            let rules = schema.x_kubernetes_validations.iter().flatten();
            if !path.starts_with("ResolutionRecord")
                && !rules.clone().any(|rule| rule.rule.starts_with("self.all("))
            {
                unbounded.push(format!("{path}: a rule on its keys"));
            }
            if schema.max_properties.is_none() {
                unbounded.push(format!("{path}: maxProperties"));
            }
        }
        for (step, child) in children(schema) {
            find_unbounded(&format!("{path}{step}"), child, unbounded);
        }
    }
}
