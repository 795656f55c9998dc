//! `resolve ITEM`: what an item resolves to with a context file, without a cluster and without a secret on the screen.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::offline::Offline;
use crate::acquire::{Document, Findings};
use crate::document::result::Status;
use crate::resolution::resolved::Inspected;

/// Resolve an item offline and show its inputs, secrets redacted.
///
/// A generated credential that the context file does not hold is stood in for. Exit status: 0 VALID, 1 INVALID, 2 something cannot be read, 3 INCOMPLETE.
#[derive(Debug, Args)]
pub struct Resolve {
    #[command(flatten)]
    offline: Offline,
    /// How to report.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A line for each finding and each input.
    Human,
    /// One object: status, diagnostics, deferred, inspection.
    Json,
}

impl Resolve {
    /// Runs the verb.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub fn run(&self) -> anyhow::Result<Status> {
        self.report(&mut io::stdout().lock())
    }

    fn report(&self, out: &mut impl Write) -> anyhow::Result<Status> {
        let (selected, mut findings) = self.offline.select()?;
        // Nothing is released unless the whole is VALID.
        let accepted = selected.and_then(|selected| selected.accept(&mut findings));
        let inspection = accepted.map(|(accepted, _)| accepted.resolved().inspection());
        match self.format {
            Format::Json => {
                let report = json!({
                    "status": findings.status(),
                    "diagnostics": findings.diagnostics.iter().map(|(_, found)| found).collect::<Vec<_>>(),
                    "deferred": findings.missing.iter().map(|missing| &missing.deferred).collect::<Vec<_>>(),
                    "inspection": inspection.unwrap_or_default(),
                });
                writeln!(out, "{report:#}")?;
            }
            Format::Human => {
                explain(out, &findings)?;
                for (key, shown) in inspection.unwrap_or_default() {
                    match shown {
                        Inspected::Redacted { .. } => writeln!(out, "  {key} = [redacted]")?,
                        Inspected::Shown { value, .. } => writeln!(out, "  {key} = {value}")?,
                    }
                }
            }
        }
        Ok(findings.status())
    }
}

/// Writes the status and every finding, for a person.
pub(super) fn explain(out: &mut impl Write, findings: &Findings) -> io::Result<()> {
    writeln!(out, "{}", findings.status())?;
    for (document, found) in &findings.diagnostics {
        let stage = found
            .stage
            .map(|stage| format!(", stage {stage}"))
            .unwrap_or_default();
        let path = if found.path.as_str().is_empty() {
            "the document"
        } else {
            found.path.as_str()
        };
        writeln!(
            out,
            "  {} at {path} of {} ({}{stage}): {}",
            found.code,
            file(*document),
            found.phase,
            found.message
        )?;
    }
    for missing in &findings.missing {
        let deferred = &missing.deferred;
        writeln!(
            out,
            "  {} waits at {} for {}: {}",
            deferred.rule, deferred.path, deferred.missing, missing.remedy
        )?;
    }
    Ok(())
}

fn file(document: Document) -> &'static str {
    match document {
        Document::Blueprint => "blueprint.yaml",
        Document::Installation => "the Installation",
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        resolve: Resolve,
    }

    #[test]
    fn a_credential_that_no_context_holds_is_stood_in_for_and_never_shown() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("context.json");
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
        let text = std::fs::read(format!("{examples}/context.json")).expect("a context file");
        let mut context: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let members = context.as_object_mut().expect("an object");
        members.remove("credentials").expect("credentials");
        std::fs::write(&file, context.to_string()).expect("a context file");

        let item = format!("{examples}/wiki");
        let file = file.to_str().expect("a path");
        let line = Line::parse_from(["resolve", &item, "--context", file]);
        let mut out = Vec::new();
        let status = line.resolve.report(&mut out).expect("a report");
        let out = String::from_utf8(out).expect("text");
        assert_eq!(status, Status::Valid, "{out}");
        assert!(out.contains("web:in:siteTitle = \"My wiki\""), "{out}");
        assert!(out.contains("db:in:password = [redacted]"), "{out}");
        assert!(!out.contains("0000"), "{out}");
    }
}
