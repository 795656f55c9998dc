//! Bytes to text: the size, the encoding, the byte order mark, and the characters that no document holds.

use super::breach::breach;
use crate::document::diagnostic::{Code, Diagnostic, Location, Phase};
use crate::document::limits;
use crate::document::pointer::Pointer;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of the document, measured, decoded and without its byte order mark.
pub(super) fn text(bytes: &[u8]) -> Result<&str, Box<Diagnostic>> {
    let refused = |code, message: String| {
        Box::new(Diagnostic::new(
            Phase::Parser,
            code,
            Pointer::root(),
            message,
        ))
    };
    if bytes.len() > limits::DOCUMENT_BYTES {
        return Err(refused(
            Code::DocumentTooLarge,
            format!(
                "the document has {} bytes and {} are allowed; make it smaller",
                bytes.len(),
                limits::DOCUMENT_BYTES
            ),
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        refused(
            Code::InvalidUtf8,
            format!(
                "the byte at offset {} is not UTF-8; save the file as UTF-8",
                error.valid_up_to()
            ),
        )
    })?;
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    // The event parser takes a NUL for the end of its input, so control characters have to be found before it runs.
    match text.find(|c: char| c < ' ' && !matches!(c, '\t' | '\n' | '\r')) {
        None => Ok(text),
        Some(at) => Err(Box::new(breach(
            Code::InvalidYaml,
            location_of(text, at),
            "a control character cannot stand in YAML; remove it, or write it as an escape in double quotes",
        ))),
    }
}

fn location_of(text: &str, at: usize) -> Location {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Location {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// Where `text` ends. A line ends in LF, CRLF or CR.
pub(super) fn end(text: &str) -> Location {
    let bytes = text.as_bytes();
    let is_break = |(at, byte): (usize, &u8)| match byte {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    };
    let breaks = bytes.iter().enumerate().filter(|byte| is_break(*byte));
    let last = text.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    Location {
        line: breaks.count() + 1,
        column: text[last..].chars().count() + 1,
    }
}
