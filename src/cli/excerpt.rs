//! The part of a source line that a diagnostic shows. A line may hold a secret that an author should not have written
//! down, so an excerpt shows the token the diagnostic is about and what leads to it, and nothing behind it.

use std::ops::Range;

use crate::document::diagnostic::{Code, Location, Related};

/// What stands in place of text that is not shown.
const ELLIPSIS: &str = "…";
/// As many characters of a token as are shown.
const TOKEN: usize = 80;
/// As many characters in front of it.
const LEAD: usize = 60;

/// One line to show, and the bytes of it to mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) line: String,
    pub(super) mark: Range<usize>,
    /// Whether something in front of it is left out.
    pub(super) is_cut: bool,
}

/// Whether the text at the place of a diagnostic of `code` may be a secret.
pub(super) fn conceals(code: Code) -> bool {
    matches!(code, Code::SecretLiteral | Code::ValueConstraint)
}

/// Whether the text at the place that a diagnostic of `code` relates to may be a secret.
pub(super) fn conceals_related(code: Code, related: &Related) -> bool {
    conceals(code) || related.code.is_some_and(conceals)
}

/// The excerpt of `source` at `location`, if the source has that place.
pub(super) fn excerpt(source: &[u8], location: Location, conceal: bool) -> Option<Excerpt> {
    let source = String::from_utf8_lossy(source);
    let source = source.strip_prefix('\u{feff}').unwrap_or(&source);
    let line = source.lines().nth(location.line.checked_sub(1)?)?;
    let at = line
        .char_indices()
        .map(|(at, _)| at)
        .chain([line.len()])
        .nth(location.column.checked_sub(1)?)?;
    let (before, rest) = line.split_at(at);
    let lead = lead(before);
    let token = token(rest);
    let mut text = String::new();
    if lead.len() < before.len() {
        text.push_str(ELLIPSIS);
    }
    text.push_str(lead);
    let start = text.len();
    if conceal {
        text.push_str(ELLIPSIS);
    } else {
        text.extend(token.chars().take(TOKEN));
    }
    let end = text.len();
    if !conceal && token.len() < rest.trim_end().len() {
        text.push_str(if rest[token.len()..].starts_with(':') {
            ": …"
        } else {
            " …"
        });
    }
    Some(Excerpt {
        line: text.replace('\t', " "),
        mark: start..end,
        is_cut: lead.len() < before.len(),
    })
}

/// The excerpt of `source` at `location` where no document could be read, so that nobody knows which text is a secret:
/// the key that begins the line, and nothing that may be a value.
pub(super) fn syntax(source: &[u8], location: Location) -> Option<Excerpt> {
    let source = String::from_utf8_lossy(source);
    let source = source.strip_prefix('\u{feff}').unwrap_or(&source);
    let line = source.lines().nth(location.line.checked_sub(1)?)?;
    let indentation = line.len() - line.trim_start_matches([' ', '-', '?']).len();
    let rest = &line[indentation..];
    let key = rest
        .find(": ")
        .or_else(|| rest.ends_with(':').then(|| rest.len() - 1));
    let is_plain = |key: &str| {
        key.chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    let key = key.filter(|end| is_plain(&rest[..*end]));
    let shown = &line[..indentation + key.map_or(0, |end| end + 1)];
    let before_value = location.column.checked_sub(1)? < shown.chars().count();
    let mut text = shown.to_owned();
    if key.is_some() {
        text.push(' ');
    }
    let start = text.len();
    text.push_str(ELLIPSIS);
    let mark = if before_value && key.is_some() {
        indentation..shown.len() - 1
    } else {
        start..text.len()
    };
    Some(Excerpt {
        line: text.replace('\t', " "),
        mark,
        is_cut: true,
    })
}

/// The end of what stands in front of a token: its indentation, or the key that it is the value of.
fn lead(before: &str) -> &str {
    let start = before.rfind(['{', '[', ',']).map_or(0, |at| at + 1);
    let lead = &before[start..];
    match lead.char_indices().rev().nth(LEAD) {
        Some((at, c)) => &lead[at + c.len_utf8()..],
        None => lead,
    }
}

/// The scalar, key or bracket that `rest` begins with.
fn token(rest: &str) -> &str {
    let end = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let mut escaped = false;
            rest.char_indices()
                .skip(1)
                .find(|(_, c)| {
                    let closes = *c == quote && !escaped;
                    escaped = *c == '\\' && !escaped && quote == '"';
                    closes
                })
                .map_or(rest.len(), |(at, _)| at + 1)
        }
        Some('{' | '[' | '|' | '>') => 1,
        _ => {
            let key = rest
                .find(": ")
                .or_else(|| rest.ends_with(':').then(|| rest.len() - 1));
            let stop = [
                key,
                rest.find(" #"),
                rest.find(", "),
                rest.find(" }"),
                rest.find('}'),
            ];
            stop.into_iter().flatten().min().unwrap_or(rest.len())
        }
    };
    rest[..end].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_ends_where_its_token_ends() {
        for (source, column, conceal, line, marked) in [
            ("kind: LISTING", 7, false, "kind: LISTING", "LISTING"),
            ("  defualt: hunter2", 3, false, "  defualt: …", "defualt"),
            ("  default: hunter2", 12, true, "  default: …", "…"),
            (
                "{\"a\": \"hunter2\", \"b\": 1}",
                18,
                false,
                "… \"b\": …",
                "\"b\"",
            ),
            ("a: [1, 2]", 4, false, "a: [ …", "["),
            ("a: 'it''s'", 4, false, "a: 'it' …", "'it'"),
            ("a:", 1, false, "a: …", "a"),
            ("a: 1 # hunter2", 4, false, "a: 1 …", "1"),
        ] {
            let location = Location { line: 1, column };
            let excerpt = excerpt(source.as_bytes(), location, conceal).expect(source);
            assert_eq!(
                (excerpt.line.as_str(), &excerpt.line[excerpt.mark]),
                (line, marked),
                "{source}"
            );
        }
    }

    #[test]
    fn where_no_document_could_be_read_only_keys_are_shown() {
        for (source, column, line, marked) in [
            ("  default: &a hunter2", 12, "  default: …", "…"),
            ("  default: \"hunter2", 12, "  default: …", "…"),
            ("  default: 'hunter2' secret", 21, "  default: …", "…"),
            ("  hunter2 of a block", 3, "  …", "…"),
            ("  name: x", 3, "  name: …", "name"),
            ("- hunter2", 3, "- …", "…"),
            ("{hunter2: 1}", 2, "…", "…"),
        ] {
            let location = Location { line: 1, column };
            let excerpt = syntax(source.as_bytes(), location).expect(source);
            assert_eq!(
                (excerpt.line.as_str(), &excerpt.line[excerpt.mark]),
                (line, marked),
                "{source}"
            );
        }
    }

    #[test]
    fn a_place_that_is_not_there_has_no_excerpt() {
        for location in [
            Location { line: 2, column: 1 },
            Location { line: 1, column: 9 },
        ] {
            assert_eq!(excerpt(b"a: 1", location, false), None);
        }
    }
}
