//! The conformance corpora: our own always, the public one where it is present.

use std::path::{Path, PathBuf};

use installation_operator::conformance::{self, Corpus, Outcome};

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
