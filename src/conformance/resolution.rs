//! The operations `resolve` and `record`: what an installation resolves to, and whether a record of it is accepted.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::behavior::{Behavior, Observation, Subject};
use super::corpus::Suite;
use crate::contract::item::BLUEPRINT;
use crate::contract::{Item, Published, validate_item};
use crate::document::diagnostic::{Code, Diagnostic, Phase, Stage};
use crate::document::digest::Digest;
use crate::document::pointer::Pointer;
use crate::document::result::{Profile, Status, ValidationResult};
use crate::document::yaml;
use crate::resolution::accept::{Sources, accept};
use crate::resolution::context::Context;
use crate::resolution::record::{Record, SpecificationDependencies};
use crate::resolution::resolved::Resolved;
use crate::resolution::secret::Held;
use crate::resolution::snapshot::Snapshot;
use crate::resolution::{Resolution, resolve};

/// Resolves the case's blueprint with its context. A blueprint that is not VALID answers with that result.
pub(super) fn resolved(suite: Suite, case: &Behavior) -> Option<Observation> {
    let validation = case.validate(suite, Profile::Document)?;
    let resolution = match &validation.contracts {
        None => Resolution {
            result: validation.result,
            resolved: None,
        },
        Some(contracts) => match context(&case.context) {
            Ok(context) => resolve(contracts, &context),
            Err(diagnostic) => Resolution {
                result: ValidationResult::new(
                    Profile::Document,
                    Phase::Resolution,
                    vec![*diagnostic],
                    Vec::new(),
                ),
                resolved: None,
            },
        },
    };
    let mut value = serde_json::to_value(&resolution.result).unwrap_or_default();
    let members = resolution.resolved.map(exposed).unwrap_or_else(unreleased);
    value.as_object_mut()?.extend(members);
    Some(Observation {
        value,
        diagnostics: resolution.result.diagnostics,
    })
}

/// The part of a case's context that resolution reads.
fn context(value: &Value) -> Result<Context, Box<Diagnostic>> {
    let mut members = value.as_object().cloned().unwrap_or_default();
    members.remove("contracts");
    members.remove("validationProfile");
    Context::parse(Value::Object(members).to_string().as_bytes()).map_err(|malformed| {
        Box::new(Diagnostic::resolution(
            Stage::Parameters,
            Code::InvalidResolutionContext,
            Pointer::root(),
            format!("the context is {malformed}; supply the members that are defined"),
        ))
    })
}

/// What INVALID and INCOMPLETE release.
fn unreleased() -> Map<String, Value> {
    ["inputs", "outputs", "environment", "inspection"]
        .map(|member| (member.to_owned(), json!({})))
        .into_iter()
        .collect()
}

/// Every effective value. Only a corpus, whose secrets are synthetic, may be shown them.
fn exposed(resolved: Resolved) -> Map<String, Value> {
    let inspection = json!(resolved.inspection());
    let mut inputs = Map::new();
    for (node, supplied) in &resolved.inputs {
        for (name, supplied) in supplied {
            let mut entry = held(&supplied.held);
            if let Some(selected) = &supplied.selected {
                entry["identity"] = json!(selected.identity);
                entry["version"] = json!(selected.version);
            }
            inputs.insert(format!("{node}:in:{name}"), entry);
        }
    }
    let mut outputs = Map::new();
    for (node, values) in &resolved.outputs {
        for (name, value) in values {
            outputs.insert(format!("{node}:out:{name}"), held(value));
        }
    }
    let mut environment = Map::new();
    for (node, variables) in &resolved.environment {
        let entries: Map<_, _> = variables
            .iter()
            .map(|(key, value)| {
                let entry = json!({"value": value.text.expose(), "sensitive": value.sensitive});
                (key.clone(), entry)
            })
            .collect();
        environment.insert(node.clone(), Value::Object(entries));
    }
    [
        ("inputs", Value::Object(inputs)),
        ("outputs", Value::Object(outputs)),
        ("environment", Value::Object(environment)),
        ("inspection", inspection),
    ]
    .map(|(member, value)| (member.to_owned(), value))
    .into_iter()
    .collect()
}

fn held(held: &Held) -> Value {
    json!({"value": held.expose(), "sensitive": held.is_sensitive()})
}

/// Makes a record of what the case supplies and has it accepted.
pub(super) fn recorded(case: &Behavior) -> Option<Observation> {
    let input = case.input.as_ref()?;
    let blueprint: Arc<[u8]> = Arc::from(input.get("blueprint")?.as_str()?.as_bytes());
    let offer = offered(input, &blueprint).and_then(|offer| {
        let sources = sources(case, &offer.record, blueprint)?;
        Some((offer, sources))
    });
    let outcome = match offer {
        Some((offer, sources)) => {
            accept(offer.record, offer.snapshot, &sources, &offer.dependencies)
        }
        None => Err(vec![refusal()]),
    };
    Some(match outcome {
        Ok(accepted) => Observation {
            value: json!({"status": Status::Valid, "record": accepted.record()}),
            diagnostics: Vec::new(),
        },
        Err(diagnostics) => Observation {
            value: json!({
                "status": Status::Invalid,
                "phase": Phase::Resolution,
                "diagnostics": diagnostics,
            }),
            diagnostics,
        },
    })
}

/// A record and what it is offered with.
struct Offer {
    record: Record,
    snapshot: Snapshot,
    dependencies: SpecificationDependencies,
}

/// The record that the supplied parts make, if they have a record's shape. Only the record's own fields are copied.
fn offered(input: &Value, blueprint: &[u8]) -> Option<Offer> {
    const COMPONENT: &[&str] = &[
        "identity",
        "revision",
        "digest",
        "source",
        "imageDigest",
        "gitCommit",
        "compute",
        "volumes",
        "exposure",
    ];
    const VERSIONED: &[&str] = &["identity", "version"];
    let context = input.get("recordContext")?;
    let snapshot = context.get("snapshot")?;
    let mut components = only(input.get("components")?, COMPONENT)?;
    for component in components.values_mut() {
        if let Some(compute) = component.get_mut("compute") {
            *compute = fields(compute, VERSIONED)?;
        }
    }
    let record = json!({
        "version": 1,
        "blueprintDigest": Digest::of(blueprint),
        "specifications": input.get("specifications")?,
        "components": components,
        "variables": only(input.get("variables")?, VERSIONED)?,
        "credentials": only(input.get("credentials")?, &["identity", "rotation"])?,
        "installationSnapshot": fields(snapshot, VERSIONED)?,
    });
    let dependencies = context.get("specificationDependencies")?;
    Some(Offer {
        record: serde_json::from_value(record).ok()?,
        snapshot: Snapshot::parse(snapshot.to_string().as_bytes()).ok()?,
        dependencies: serde_json::from_value(dependencies.clone()).ok()?,
    })
}

/// Each member of `map` with only these fields.
fn only(map: &Value, names: &[&str]) -> Option<Map<String, Value>> {
    map.as_object()?
        .iter()
        .map(|(key, value)| Some((key.clone(), fields(value, names)?)))
        .collect()
}

/// `value` with only these fields.
fn fields(value: &Value, names: &[&str]) -> Option<Value> {
    let members = value.as_object()?.iter();
    let known = members.filter(|(name, _)| names.contains(&name.as_str()));
    Some(Value::Object(
        known
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    ))
}

/// The documents that the case supplies, as the record names them: the blueprint's text in place of the tree's.
///
/// An installation has each recorded document under its digest alone. A case also says which file stands where, so
/// that a record which names another file's digest is refused here.
fn sources(case: &Behavior, record: &Record, blueprint: Arc<[u8]>) -> Option<Sources> {
    let tree = match case.document.as_ref().and(case.subject()) {
        Some(Subject::Item(item)) => item,
        Some(Subject::Alone(_)) | None => Item::from_entries(slug(&blueprint)?, []),
    };
    let others = tree.files().filter(|(path, _)| *path != BLUEPRINT);
    let files = others
        .map(|(path, bytes)| (path, Arc::clone(bytes)))
        .chain([(BLUEPRINT, blueprint)]);
    let item = Item::from_files(tree.name(), files);
    // Published contracts stand in the context, be it the resolution's or the record's.
    let record_context = case
        .input
        .iter()
        .filter_map(|input| input.get("recordContext"));
    let supplied = record_context
        .chain([&case.context])
        .find(|context| context.get("contracts").is_some());
    let published = supplied.map(Published::from_context).unwrap_or_default();
    let contracts = validate_item(&item, &published, Profile::Document).contracts?;
    let stands_where_recorded = contracts.components.iter().all(|(node, contract)| {
        let recorded = record.components.get(node);
        recorded.is_none_or(|recorded| recorded.digest == contract.digest)
    });
    stands_where_recorded.then(|| Sources::of(&contracts))
}

fn slug(blueprint: &[u8]) -> Option<String> {
    let document = yaml::parse(blueprint).ok()?;
    Some(
        document
            .value
            .pointer("/metadata/slug")?
            .as_str()?
            .to_owned(),
    )
}

/// The refusal of what cannot even be offered to acceptance.
fn refusal() -> Diagnostic {
    Diagnostic::resolution(
        Stage::Record,
        Code::InvalidResolutionContext,
        Pointer::root(),
        "what is supplied makes no record, or its documents are not valid; supply every part as it was recorded",
    )
}
