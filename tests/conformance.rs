//! The conformance corpora: our own always, the public one where it is present.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use installation_operator::conformance::{self, Corpus, Outcome};
use installation_operator::contract::rules;
use installation_operator::document::diagnostic::{Code, Stage};
use strum::IntoEnumIterator;

/// Where the public corpus is, if it is anywhere: named by the environment, or beside the repository.
fn public_corpus() -> Option<PathBuf> {
    let named = std::env::var_os("INSTALLATION_OPERATOR_PUBLIC_CORPUS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/conformance");
    named.or(Some(beside)).filter(|path| path.is_dir())
}

#[track_caller]
fn passes(path: &Path) {
    let corpora = Corpus::find(path).expect("a corpus");
    let mut failures = Vec::new();
    for corpus in corpora {
        let report = conformance::run(&corpus, "test", None);
        for run in report.cases {
            // A skipped case has never passed.
            if let Outcome::Failed { reason } | Outcome::Skipped { reason } = run.outcome {
                failures.push(format!("{} {}: {reason}", report.family, run.id));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} cases do not pass:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn the_public_corpus_passes() {
    if let Some(path) = public_corpus() {
        passes(&path);
    }
}

fn own_corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

#[test]
fn our_own_corpus_passes() {
    passes(&own_corpus());
}

/// The rules and codes that cases of our own corpus name.
#[derive(Default)]
struct Named {
    kept: BTreeSet<String>,
    broken: BTreeSet<String>,
    codes: BTreeSet<String>,
}

fn named() -> Named {
    let mut named = Named::default();
    for corpus in Corpus::find(&own_corpus()).expect("a corpus") {
        let documents = corpus
            .cases
            .iter()
            .map(|case| (&case.metadata.requirements, &case.diagnostics));
        let behaviors = corpus
            .behaviors
            .iter()
            .map(|case| (&case.requirements, &case.diagnostics));
        for (rules, diagnostics) in documents.chain(behaviors) {
            let codes = diagnostics
                .iter()
                .filter_map(|declared| declared["code"].as_str());
            named.codes.extend(codes.map(str::to_owned));
            let side = if diagnostics.is_empty() {
                &mut named.kept
            } else {
                &mut named.broken
            };
            side.extend(rules.iter().cloned());
        }
    }
    named
}

#[test]
fn every_rule_and_every_code_has_a_case() {
    let named = named();
    let mut lacking = Vec::new();
    for rule in rules::all() {
        if !named.kept.contains(rule.id) {
            lacking.push(format!("{} has no case that keeps it", rule.id));
        }
        if !rule.codes.is_empty() && !named.broken.contains(rule.id) {
            lacking.push(format!("{} has no case that breaks it", rule.id));
        }
    }
    for code in Code::iter() {
        if !named.codes.contains(code.as_ref()) {
            lacking.push(format!("{code} has no case"));
        }
    }
    let known: BTreeSet<_> = rules::all().map(|rule| rule.id).collect();
    let unknown = named
        .kept
        .union(&named.broken)
        .filter(|id| !known.contains(id.as_str()));
    lacking.extend(unknown.map(|id| format!("{id} is named by a case and by no rule")));
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
}

/// The codes that each stage of resolution reports.
const STAGES: [(Stage, &[Code]); 6] = [
    (
        Stage::Parameters,
        &[
            Code::UnknownParameter,
            Code::ParameterNotSubmittable,
            Code::VariableNotAuthorized,
            Code::InvalidResolutionContext,
        ],
    ),
    (Stage::Allocation, &[Code::InvalidResolutionContext]),
    (
        Stage::Connections,
        &[
            Code::ConnectionNotFound,
            Code::ConnectionDenied,
            Code::ConnectionIncompatible,
            Code::InvalidResolutionContext,
            Code::ValueConstraint,
        ],
    ),
    (
        Stage::Values,
        &[
            Code::MissingParameterValue,
            Code::ValueConstraint,
            Code::UnsatisfiedRequiredInput,
        ],
    ),
    (Stage::Environment, &[Code::EnvEncoding]),
    (Stage::Record, &[Code::InvalidResolutionContext]),
];

#[test]
fn every_operation_and_every_code_of_each_stage_has_a_case() {
    let cases: Vec<_> = Corpus::find(&own_corpus())
        .expect("a corpus")
        .into_iter()
        .flat_map(|corpus| corpus.behaviors)
        .collect();
    let mut lacking = Vec::new();
    for operation in [
        "normalize",
        "validate",
        "resolve",
        "record",
        "form",
        "revision",
        "credential",
        "connection",
    ] {
        if !cases.iter().any(|case| case.operation == operation) {
            lacking.push(format!("operation {operation}"));
        }
    }
    for (stage, code) in STAGES
        .into_iter()
        .flat_map(|(stage, codes)| codes.iter().map(move |code| (stage, code)))
    {
        let declares = |found: &serde_json::Value| {
            found["stage"] == stage.to_string() && found["code"] == code.as_ref()
        };
        if !cases
            .iter()
            .any(|case| case.diagnostics.iter().any(declares))
        {
            lacking.push(format!("{code} of stage {stage}"));
        }
    }
    assert!(lacking.is_empty(), "no case: {}", lacking.join(", "));
}
