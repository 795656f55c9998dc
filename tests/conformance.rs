//! The conformance corpora: our own always, the public one where it is present.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use installation_operator::conformance::{self, Corpus, Outcome};
use installation_operator::contract::rules::RULES;
use installation_operator::document::diagnostic::Code;
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
            if let Outcome::Failed { reason } = run.outcome {
                failures.push(format!("{} {}: {reason}", report.family, run.id));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} cases fail:\n{}",
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

/// Why something has no case here.
const BY_RESOLUTION: &str = "reported by resolution, whose cases are behaviours of an installation";

/// Rules without a case that keeps them, or without one that breaks them.
const RULES_WITHOUT: &[(&str, &str)] = &[
    ("component §5.3", BY_RESOLUTION),
    ("BP-PARAM-005", BY_RESOLUTION),
    ("BP-PARAM-009", BY_RESOLUTION),
    ("BP-RESOLVE-001", BY_RESOLUTION),
    ("BP-CONNECTION-002", BY_RESOLUTION),
    ("BP-CONNECTION-003", BY_RESOLUTION),
];

/// Codes without a case that produces them.
const CODES_WITHOUT: &[(Code, &str)] = &[
    (Code::EnvEncoding, BY_RESOLUTION),
    (Code::ParameterNotSubmittable, BY_RESOLUTION),
    (Code::MissingParameterValue, BY_RESOLUTION),
    (Code::VariableNotAuthorized, BY_RESOLUTION),
    (Code::InvalidResolutionContext, BY_RESOLUTION),
    (Code::ConnectionNotFound, BY_RESOLUTION),
    (Code::ConnectionDenied, BY_RESOLUTION),
    (Code::ConnectionIncompatible, BY_RESOLUTION),
];

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
    for rule in RULES {
        let is_excepted = RULES_WITHOUT.iter().any(|(id, _)| *id == rule.id);
        let is_kept = named.kept.contains(rule.id);
        let is_broken = rule.codes.is_empty() || named.broken.contains(rule.id);
        match (is_excepted, is_kept && is_broken) {
            (false, false) if !is_kept => {
                lacking.push(format!("{} has no case that keeps it", rule.id))
            }
            (false, false) => lacking.push(format!("{} has no case that breaks it", rule.id)),
            (true, true) => lacking.push(format!("{} has its cases; drop the exception", rule.id)),
            _ => {}
        }
    }
    for code in Code::iter() {
        let is_excepted = CODES_WITHOUT.iter().any(|(excepted, _)| *excepted == code);
        match (is_excepted, named.codes.contains(code.as_ref())) {
            (false, false) => lacking.push(format!("{code} has no case")),
            (true, true) => lacking.push(format!("{code} has a case; drop the exception")),
            _ => {}
        }
    }
    let known: BTreeSet<_> = RULES.iter().map(|rule| rule.id).collect();
    let unknown = named
        .kept
        .union(&named.broken)
        .filter(|id| !known.contains(id.as_str()));
    lacking.extend(unknown.map(|id| format!("{id} is named by a case and by no rule")));
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
}
