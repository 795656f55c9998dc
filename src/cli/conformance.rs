//! `conformance DIR…`: runs corpora and reports what this program conforms to.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::conformance::{self, Corpus, Outcome, Report};

/// Run conformance corpora in the public format. Exit status: 0 satisfied, 1 not, 2 usage.
#[derive(Debug, Args)]
pub struct Conformance {
    /// Corpus directories, or directories of them.
    #[arg(required = true, value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// A profile that is claimed: skipping one of its cases is then a failure.
    #[arg(long)]
    profile: Option<String>,
    /// The commit of the corpus, for the report.
    #[arg(long, default_value = "unknown")]
    suite_commit: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Human,
    Json,
}

/// Runs the verb.
pub fn run(arguments: &Conformance) -> anyhow::Result<bool> {
    report(arguments, &mut io::stdout().lock())
}

fn report(arguments: &Conformance, out: &mut impl Write) -> anyhow::Result<bool> {
    let profile = arguments.profile.as_deref();
    let mut reports = Vec::new();
    for directory in &arguments.directories {
        for corpus in Corpus::find(directory)? {
            reports.push(conformance::run(&corpus, &arguments.suite_commit, profile));
        }
    }
    match arguments.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, &reports)?;
            writeln!(out)?;
        }
        Format::Human => reports.iter().try_for_each(|report| print(report, out))?,
    }
    Ok(reports.iter().all(|report| report.is_satisfied(profile)))
}

fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    for run in &report.cases {
        match &run.outcome {
            Outcome::Passed => {}
            Outcome::Failed { reason } => {
                writeln!(out, "FAIL {} {}: {reason}", report.family, run.id)?
            }
            Outcome::Skipped { reason } => {
                writeln!(out, "skip {} {}: {reason}", report.family, run.id)?
            }
        }
    }
    writeln!(
        out,
        "{}: {} passed, {} failed, {} skipped",
        report.family, report.passed, report.failed, report.skipped
    )
}
