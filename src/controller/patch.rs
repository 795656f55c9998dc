//! The body of a server-side apply. An API server reads it as YAML 1.1, in which JSON is not what it is elsewhere: some
//! characters that JSON leaves as they are YAML refuses, and others it takes for the end of a line. Written as escapes they
//! arrive as they are.

use std::io;

use kube::api::Patch;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::value::RawValue;

/// The apply of `object`, a Kubernetes object, in which each text arrives as it is.
pub fn apply(object: &impl Serialize) -> Patch<Box<RawValue>> {
    let mut body = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut body, Escaping);
    let written = object.serialize(&mut serializer);
    written.expect("Kubernetes types serialize to JSON objects");
    Patch::Apply(serde_json::from_slice(&body).expect("what was serialized is JSON"))
}

/// Writes JSON that is YAML 1.1 with the same meaning.
struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((index, escaped)) = rest.char_indices().find(|(_, c)| is_other_in_yaml(*c)) {
            CompactFormatter.write_string_fragment(writer, &rest[..index])?;
            // None of them needs more than four digits.
            write!(writer, "\\u{:04x}", u32::from(escaped))?;
            rest = &rest[index + escaped.len_utf8()..];
        }
        CompactFormatter.write_string_fragment(writer, rest)
    }
}

/// Control characters and non-characters, which YAML refuses; line and paragraph ends, which it folds; the byte order mark.
/// JSON escapes the control characters below the space by itself.
fn is_other_in_yaml(c: char) -> bool {
    matches!(
        c,
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_yaml_reads_otherwise_is_escaped_and_nothing_else() {
        for (text, written) in [
            (
                "plain \"quoted\" \\ $ é 🐎",
                r#""plain \"quoted\" \\ $ é 🐎""#,
            ),
            ("\u{1}\n\t", r#""\u0001\n\t""#),
            ("a\u{7f}b\u{85}c\u{9f}", r#""a\u007fb\u0085c\u009f""#),
            ("\u{2028}\u{2029}", r#""\u2028\u2029""#),
            ("\u{feff}\u{fffe}\u{ffff}", r#""\ufeff\ufffe\uffff""#),
            ("\u{a0}\u{fffd}\u{10ffff}", "\"\u{a0}\u{fffd}\u{10ffff}\""),
        ] {
            let object = json!({"key": text});
            let Patch::Apply(body) = apply(&object) else {
                panic!("it is an apply");
            };
            assert_eq!(body.get(), format!("{{\"key\":{written}}}"));
            let read: serde_json::Value = serde_json::from_str(body.get()).expect("JSON");
            assert_eq!(read, object);
        }
    }
}
