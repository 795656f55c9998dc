//! `resolve ITEM`: what an item resolves to with a context file, without a cluster and without a secret on the screen.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::offline::Offline;
use crate::acquire::{Document, Findings};
use crate::document::result::Status;
use crate::resolution::resolve;
use crate::resolution::resolved::{Inspected, Resolved};

/// Resolve an item offline and show its inputs, secrets redacted.
///
/// Exit status: 0 VALID, 1 INVALID, 2 something cannot be read, 3 INCOMPLETE.
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
        let resolved = selected.and_then(|selected| {
            let resolution = resolve(&selected.contracts, &selected.context);
            findings.absorb(resolution.result);
            resolution.resolved
        });
        // Nothing is released unless the whole is VALID.
        let inspection = resolved
            .filter(|_| findings.status() == Status::Valid)
            .map(|resolved| Resolved::inspection(&resolved));
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
