//! `validate PATH…`: items and documents checked offline, several at a time, for a person or for a program.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::target::{self, Checked};
use super::{human, named, sarif};
use crate::contract::Published;
use crate::document::result::{Profile, Status, ValidationResult};

/// Check items, blueprints and components without a cluster.
///
/// Exit status: 0 when everything is VALID, 1 when something is INVALID, 2 when something cannot be read, 3 when nothing
/// is INVALID but something is INCOMPLETE.
#[derive(Debug, Args)]
pub struct Validate {
    /// Item directories, directories of items, or documents; `-` reads one document from standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How far to go.
    #[arg(long, default_value_t, value_parser = named::<Profile>())]
    profile: Profile,
    /// A JSON file with what the documents cannot say themselves: `contracts`, keyed `identity@revision`, each with
    /// `source` and `digest`.
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Source lines with carets, and what to do.
    #[default]
    Human,
    /// One array of results.
    Json,
    /// One SARIF 2.1.0 log, for code scanning.
    Sarif,
}

/// Runs the verb. Colours go to a terminal only, and not there when `NO_COLOR` is set.
pub fn run(arguments: &Validate) -> anyhow::Result<Status> {
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    let status = report(arguments, &mut out)?;
    out.flush()?;
    Ok(status)
}

/// A result beside the path that it is about.
#[derive(Serialize)]
struct Entry<'a> {
    path: &'a Path,
    #[serde(flatten)]
    result: &'a ValidationResult,
}

fn report(arguments: &Validate, out: &mut impl Write) -> anyhow::Result<Status> {
    let published = arguments
        .context
        .as_deref()
        .map_or_else(|| Ok(Published::default()), context)?;
    // What cannot be read takes nothing away from what can.
    let mut unread = Vec::new();
    let mut targets = Vec::new();
    for path in &arguments.paths {
        match target::find(path) {
            Ok(found) => targets.extend(found),
            Err(error) => unread.push(format!("{error:#}")),
        }
    }
    let mut checked = Vec::new();
    for outcome in in_parallel(&targets, |target| {
        target.check(&published, arguments.profile)
    }) {
        match outcome {
            Ok(outcome) => checked.push(outcome),
            Err(error) => unread.push(error.to_string()),
        }
    }
    match arguments.format {
        Format::Human => human::print(&checked, out)?,
        Format::Json => {
            let entries: Vec<_> = checked
                .iter()
                .map(|checked| Entry {
                    path: &checked.path,
                    result: &checked.validation.result,
                })
                .collect();
            serde_json::to_writer_pretty(&mut *out, &entries)?;
            writeln!(out)?;
        }
        Format::Sarif => {
            let directory = std::env::current_dir().context("there is no working directory")?;
            sarif::print(&checked, &directory, out)?;
        }
    }
    if unread.is_empty() {
        Ok(overall(&checked))
    } else {
        bail!("{}", unread.join("\nerror: "))
    }
}

/// A failure wins over incompleteness, as it does in one result.
fn overall(checked: &[Checked]) -> Status {
    let any = |status| {
        checked
            .iter()
            .any(|checked| checked.validation.result.status == status)
    };
    if any(Status::Invalid) {
        Status::Invalid
    } else if any(Status::Incomplete) {
        Status::Incomplete
    } else {
        Status::Valid
    }
}

pub(super) fn context(path: &Path) -> anyhow::Result<Published> {
    let text = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let context: serde_json::Value =
        serde_json::from_slice(&text).with_context(|| format!("{} is no JSON", path.display()))?;
    Ok(Published::from_context(&context))
}

/// The results of `work` over `targets`, in their order, computed on as many threads as there are processors.
fn in_parallel<T: Sync, R: Send>(targets: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism()
        .map_or(1, NonZeroUsize::get)
        .min(targets.len());
    // The memory of another thread grows in small steps, which costs a large document a third of its time.
    if threads < 2 {
        return targets.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        match targets.get(index) {
                            Some(target) => done.push((index, work(target))),
                            None => return done,
                        }
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        validate: Validate,
    }

    /// What the verb says of a component, and its text.
    #[track_caller]
    fn says(component: &str, flags: &[&str]) -> (Status, String) {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("web.yaml");
        std::fs::write(&file, component).expect("a file");
        let path = file.to_str().expect("a path");
        let line = Line::parse_from(["validate", path].iter().chain(flags));
        let mut out = anstream::StripStream::new(Vec::new());
        let status = report(&line.validate, &mut out).expect("a report");
        let text = String::from_utf8(out.into_inner()).expect("text");
        (
            status,
            text.replace(directory.path().to_str().expect("a path"), "DIR"),
        )
    }

    const COMPONENT: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: A worker. }
spec:
  type: WORKER
  workload:
    source:
      image: example/worker:latest
  contract:
    inputs:
      token:
        schema: { type: string }
        description: A token.
        sensitive: true
        default: hunter2
        target: { envVarKey: TOKEN }
";

    #[test]
    fn a_person_sees_the_line_and_what_to_do_and_never_a_secret() {
        let (status, text) = says(COMPONENT, &[]);
        assert_eq!(status, Status::Invalid);
        assert!(text.contains("error[ERR_UNPINNED_IMAGE]"), "{text}");
        assert!(text.contains("DIR/web.yaml:8:14"), "{text}");
        assert!(text.contains("image: example/worker:latest"), "{text}");
        assert!(text.contains("use a version's tag"), "{text}");
        assert!(text.contains("default: …"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_program_gets_one_array_without_a_secret() {
        let (_, text) = says(COMPONENT, &["--format", "json"]);
        let results: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(results[0]["status"], "INVALID");
        assert_eq!(results[0]["diagnostics"][0]["code"], "ERR_SECRET_LITERAL");
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[test]
    fn an_option_that_is_misspelled_lists_its_values() {
        for (option, value) in [("--profile", "publication"), ("--format", "sarif")] {
            let error = Line::try_parse_from(["validate", "x", option, "bogus"])
                .map(|_| ())
                .expect_err(option);
            let error = error.to_string();
            assert!(error.contains(option) && error.contains(value), "{error}");
        }
    }

    #[test]
    fn the_profile_decides_how_far_it_goes() {
        for (profile, status) in [
            ("structural", Status::Valid),
            ("document", Status::Invalid),
            ("publication", Status::Invalid),
        ] {
            assert_eq!(
                says(COMPONENT, &["--profile", profile]).0,
                status,
                "{profile}"
            );
        }
    }
}
