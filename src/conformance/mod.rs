//! Runs conformance corpora in the public format: document cases, and behavioural cases by operation. A case whose
//! operation this program does not offer is skipped, and a skipped case has never passed.
//!
//! This room reads corpora from disk; what it runs is pure.

pub mod behavior;
pub mod corpus;
mod document;
mod expectation;
mod lifecycle;
mod operation;
mod resolution;

use serde::Serialize;

pub use self::corpus::{Corpus, Error};

/// The release of the specifications that this program implements.
pub const RELEASE: &str = "1.0.0";

/// What became of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// Everything that it expects was observed.
    Passed,
    /// Something that it expects was not.
    Failed {
        /// What was expected and what was got.
        reason: String,
    },
    /// Its operation is not offered.
    Skipped {
        /// Why it was not run.
        reason: String,
    },
}

/// One case and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// The case's id.
    pub id: String,
    /// The profile of a behavioural case; document cases have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The outcome of one corpus, in the public report's shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// This program's name.
    pub implementation: &'static str,
    /// This program's version.
    pub implementation_version: &'static str,
    /// The corpus's family: core, component or blueprint.
    pub family: String,
    /// The release that the corpus is of.
    pub specification_release: &'static str,
    /// The edition of core that it is read with.
    pub core_edition: &'static str,
    /// The commit of the corpus, as the caller names it.
    pub suite_commit: String,
    /// The profile that was asked for.
    pub profile: String,
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed.
    pub failed: usize,
    /// Cases that were not run.
    pub skipped: usize,
    /// Every case that did not pass.
    pub cases: Vec<Run>,
}

impl Report {
    /// Whether the corpus is satisfied: nothing failed, and nothing was skipped that `profile` needs.
    pub fn is_satisfied(&self, profile: Option<&str>) -> bool {
        self.cases.iter().all(|run| match &run.outcome {
            Outcome::Passed => true,
            Outcome::Failed { .. } => false,
            Outcome::Skipped { .. } => profile.is_none() || run.profile.as_deref() != profile,
        })
    }
}

/// Runs every case of `corpus`.
pub fn run(corpus: &Corpus, suite_commit: &str, profile: Option<&str>) -> Report {
    let documents = corpus.documents().map(|case| Run {
        id: case.id.clone(),
        profile: None,
        outcome: document::run(corpus.family, &case),
    });
    let behaviors = corpus.behaviors.iter().map(|case| Run {
        id: case.id.clone(),
        profile: Some(case.profile.clone()),
        outcome: behavior::run(corpus.family, case),
    });
    let runs: Vec<_> = documents.chain(behaviors).collect();
    let count = |is: fn(&Outcome) -> bool| runs.iter().filter(|run| is(&run.outcome)).count();
    Report {
        implementation: env!("CARGO_PKG_NAME"),
        implementation_version: env!("CARGO_PKG_VERSION"),
        family: corpus.family.to_string(),
        specification_release: RELEASE,
        core_edition: RELEASE,
        suite_commit: suite_commit.to_owned(),
        profile: profile.unwrap_or("document").to_owned(),
        passed: count(|outcome| matches!(outcome, Outcome::Passed)),
        failed: count(|outcome| matches!(outcome, Outcome::Failed { .. })),
        skipped: count(|outcome| matches!(outcome, Outcome::Skipped { .. })),
        cases: runs
            .into_iter()
            .filter(|run| run.outcome != Outcome::Passed)
            .collect(),
    }
}
