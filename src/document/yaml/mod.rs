//! Bytes to a located value: the restricted YAML 1.2.2 profile of core (CORE-YAML-001 to -012), in one pass over parser
//! events. Nesting is a stack with a bound, never recursion; a document that breaks the profile is reported with every
//! breach that can be seen, and yields no value.

mod breach;
mod builder;
mod decode;
mod json;
#[cfg(test)]
mod tests;

use saphyr_parser::{Marker, Parser};
use serde_json::Value;

use self::builder::Builder;
use super::diagnostic::{Diagnostic, Location};
use super::limits;
use super::place::Place;

/// A document that keeps the profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The value. An integral number of the safe range is an integer, however it was written.
    pub value: Value,
    /// Where each of its nodes stands.
    pub places: Place,
}

/// Reads one document.
///
/// # Errors
/// Every breach of the profile that can be told, in source order, each anchored at `""`; the place stands in the message
/// and in [`Diagnostic::location`]. Never empty.
pub fn parse(bytes: &[u8]) -> Result<Document, Vec<Diagnostic>> {
    let text = decode::text(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    match read(text) {
        // JSON writes a character beyond the basic plane as two escapes, which YAML does not know.
        Err(Failure {
            split_pair: true, ..
        }) if json::is_json(text) => {
            read(&json::joined_pairs(text)).map_err(|failure| failure.diagnostics)
        }
        other => other.map_err(|failure| failure.diagnostics),
    }
}

struct Failure {
    diagnostics: Vec<Diagnostic>,
    /// An escape named half of a surrogate pair.
    split_pair: bool,
}

fn read(text: &str) -> Result<Document, Failure> {
    let mut builder = Builder::default();
    let mut split_pair = false;
    let end = decode::end(text);
    for event in Parser::new_from_str(text) {
        let outcome = match event {
            Ok((event, span)) => builder.event(event, location(span.start).min(end)),
            Err(error) => {
                split_pair = error.info().contains("invalid Unicode character escape");
                Err(Box::new(breach::scan_error(
                    error.info(),
                    location(*error.marker()).min(end),
                )))
            }
        };
        match outcome {
            Ok(()) if builder.diagnostics.len() < limits::PARSER_DIAGNOSTICS => {}
            Ok(()) => break,
            Err(diagnostic) => {
                builder.diagnostics.push(*diagnostic);
                break;
            }
        }
    }
    builder.finish().map_err(|diagnostics| Failure {
        diagnostics,
        split_pair,
    })
}

/// As the event parser counts. At the end of a text it may be a line ahead, where nothing stands.
fn location(marker: Marker) -> Location {
    Location {
        line: marker.line(),
        column: marker.col() + 1,
    }
}
