//! The structural phase: the schemas under `schema/` evaluated, and what they find told in core's six codes at core's
//! anchors. The schemas are the only place where a structural rule stands.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::envelope::Family;
use crate::document::diagnostic::{Code, Diagnostic, Phase};
use crate::document::limits;
use crate::document::place::Place;
use crate::document::pointer::Pointer;
use crate::document::yaml::Document;

/// As many names as a message lists.
const NAMES: usize = 8;

struct Shape {
    schema: Value,
    validator: Validator,
}

impl Shape {
    fn of(source: &str) -> Self {
        let schema = serde_json::from_str(source).expect("the schema is JSON");
        let validator = jsonschema::draft202012::options()
            .with_pattern_options(PatternOptions::regex())
            .should_validate_formats(false)
            .build(&schema)
            .expect("the schema compiles");
        Self { schema, validator }
    }

    fn get(family: Family) -> &'static Self {
        static COMPONENT: LazyLock<Shape> =
            LazyLock::new(|| Shape::of(include_str!("schema/component.schema.json")));
        static BLUEPRINT: LazyLock<Shape> =
            LazyLock::new(|| Shape::of(include_str!("schema/blueprint.schema.json")));
        match family {
            Family::Component => &COMPONENT,
            Family::Blueprint => &BLUEPRINT,
        }
    }
}

/// Everything about `document` that the shape of `family` forbids; empty when it fits.
pub fn check(family: Family, document: &Document) -> Vec<Diagnostic> {
    let shape = Shape::get(family);
    let mut findings = Findings::default();
    for error in shape
        .validator
        .iter_errors(&document.value)
        .take(limits::DIAGNOSTICS)
    {
        findings.add(&error, shape, family);
    }
    findings.diagnostics(&document.places)
}

/// What one finding says; findings of one place that say the same are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Problem {
    Forbidden,
    Type { expected: String },
    Unknown { known: String, owner: String },
    Missing,
    NoChoice { expected: String },
    Choices { expected: String },
    Kind { family: &'static str },
    SpecVersion,
    Key { expected: String },
    Value { expected: String },
}

impl Problem {
    fn code(&self) -> Code {
        match self {
            Self::Unknown { .. } => Code::UnknownField,
            Self::Missing | Self::NoChoice { .. } => Code::MissingField,
            Self::Type { .. } => Code::InvalidType,
            Self::Kind { .. } => Code::WrongKind,
            Self::SpecVersion => Code::UnsupportedSpecVersion,
            Self::Forbidden | Self::Choices { .. } | Self::Key { .. } | Self::Value { .. } => {
                Code::InvalidValue
            }
        }
    }
}

#[derive(Default)]
struct Findings(BTreeMap<Pointer, BTreeMap<Problem, Vec<String>>>);

impl Findings {
    fn add(&mut self, error: &ValidationError<'_>, shape: &Shape, family: Family) {
        let path: Pointer = error.instance_path().as_str().parse().unwrap_or_default();
        let (problem, names) = problem(error, &path, shape, family);
        self.0
            .entry(path)
            .or_default()
            .entry(problem)
            .or_default()
            .extend(names);
    }

    fn diagnostics(mut self, places: &Place) -> Vec<Diagnostic> {
        // A field that may not be there is not judged further, and a value of the wrong type is only that.
        let mut forbidden: Option<Pointer> = None;
        self.0.retain(|path, problems| {
            if forbidden.as_ref().is_some_and(|above| path.is_below(above)) {
                return false;
            }
            if problems.contains_key(&Problem::Forbidden) {
                problems.retain(|problem, _| *problem == Problem::Forbidden);
                forbidden = Some(path.clone());
            } else if problems
                .keys()
                .any(|problem| matches!(problem, Problem::Type { .. }))
            {
                problems.retain(|problem, _| matches!(problem, Problem::Type { .. }));
            }
            true
        });
        self.0
            .into_iter()
            .flat_map(|(path, problems)| {
                problems
                    .into_iter()
                    .map(move |(problem, names)| diagnostic(&path, &problem, &names, places))
            })
            .collect()
    }
}

/// What `error` means, and the names of the fields or keys that it is about.
fn problem(
    error: &ValidationError<'_>,
    path: &Pointer,
    shape: &Shape,
    family: Family,
) -> (Problem, Vec<String>) {
    let expected = |keyword_path: &str| described(&shape.schema, keyword_path);
    let here = error.schema_path().as_str();
    let problem = match error.kind() {
        ValidationErrorKind::FalseSchema => Problem::Forbidden,
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let known = schema_at(&shape.schema, here)
                .and_then(|schema| schema.get("properties")?.as_object())
                .map_or_else(String::new, |known| listed(known.keys()));
            let owner = expected(here);
            return (Problem::Unknown { known, owner }, unexpected.clone());
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default().to_owned();
            return (Problem::Missing, vec![name]);
        }
        ValidationErrorKind::OneOfNotValid { .. } => Problem::NoChoice {
            expected: expected(here),
        },
        ValidationErrorKind::OneOfMultipleValid { .. } => Problem::Choices {
            expected: expected(here),
        },
        ValidationErrorKind::Constant { .. } if path.as_str() == "/kind" => Problem::Kind {
            family: family.into(),
        },
        ValidationErrorKind::Constant { .. } if path.as_str() == "/specVersion" => {
            Problem::SpecVersion
        }
        ValidationErrorKind::Type { .. } => Problem::Type {
            expected: expected(here),
        },
        ValidationErrorKind::PropertyNames { error } => {
            let name = error.instance().as_str().unwrap_or_default().to_owned();
            let expected = expected(error.schema_path().as_str());
            return (Problem::Key { expected }, vec![name]);
        }
        _ => Problem::Value {
            expected: expected(here),
        },
    };
    (problem, Vec::new())
}

/// The schema whose keyword stands at `keyword_path`.
fn schema_at<'a>(schema: &'a Value, keyword_path: &str) -> Option<&'a Value> {
    let (parent, _) = keyword_path.rsplit_once('/')?;
    schema.pointer(parent)
}

/// What the schema around a keyword says of the value that is due.
fn described(schema: &Value, keyword_path: &str) -> String {
    schema_at(schema, keyword_path)
        .and_then(|schema| schema.get("description")?.as_str())
        .unwrap_or_default()
        .to_owned()
}

fn listed<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort();
    names.dedup();
    let more = names.len().saturating_sub(NAMES);
    let mut text = names
        .iter()
        .take(NAMES)
        .map(|name| format!("`{}`", short(name)))
        .collect::<Vec<_>>()
        .join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn short(name: &str) -> String {
    const LONGEST: usize = 80;
    match name.char_indices().nth(LONGEST) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}

fn diagnostic(path: &Pointer, problem: &Problem, names: &[String], places: &Place) -> Diagnostic {
    let field = path.tokens().last().unwrap_or_default().into_owned();
    let subject = if field.is_empty() {
        "the document".to_owned()
    } else {
        format!("`{}`", short(&field))
    };
    let fields = listed(names);
    let message = match problem {
        Problem::Forbidden => format!("{subject} is not allowed here; remove it"),
        Problem::Type { expected } => format!("{subject} is of the wrong type; write {expected}"),
        Problem::Unknown { known, owner } => {
            let owner = if owner.is_empty() { "this mapping" } else { owner };
            format!(
                "{fields}: no such field in {owner}; its fields are {known}. Correct the spelling or remove it; if a newer \
                 release of the specification defines it, update this tool"
            )
        }
        Problem::Missing => format!("{subject} lacks {fields}; add it"),
        Problem::NoChoice { expected } => format!("{subject} names none of its choices; write {expected}"),
        Problem::Choices { expected } => {
            format!("{subject} names more than one of its choices; keep one: {expected}")
        }
        Problem::Kind { family } => format!("the document is not of the family asked for; write `kind: {family}`"),
        Problem::SpecVersion => {
            "this tool reads `specVersion: v1` only; write v1, or update this tool for a newer version".to_owned()
        }
        Problem::Key { expected } => format!("{subject} has the key {fields}, which has to be {expected}; rename it"),
        Problem::Value { expected } => format!("{subject} has a value that is not allowed; write {expected}"),
    };
    let named = matches!(problem, Problem::Unknown { .. } | Problem::Key { .. })
        .then(|| {
            names
                .iter()
                .min()
                .and_then(|name| places.at(path)?.child(name)?.key)
        })
        .flatten();
    Diagnostic::new(Phase::Structural, problem.code(), path.clone(), message)
        .at(named.unwrap_or_else(|| places.nearest(path)))
}

#[cfg(test)]
mod tests;
