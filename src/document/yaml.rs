//! Bytes to a located value: the restricted YAML 1.2.2 profile of core (CORE-YAML-001 to -012), in one pass over parser
//! events. Nesting is a stack with a bound, never recursion; a document that breaks the profile is reported with every
//! breach that can be seen, and yields no value.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError};
use serde_json::{Map, Value};

use super::diagnostic::{Code, Diagnostic, Location, Phase};
use super::limits;
use super::place::{Children, Place};
use super::pointer::Pointer;
use super::scalar::{self, Unrepresentable};

const BYTE_ORDER_MARK: char = '\u{feff}';

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
    let text = decode(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    match read(text) {
        // JSON writes a character beyond the basic plane as two escapes, which YAML does not know.
        Err(Failure {
            split_pair: true, ..
        }) if is_json(text) => read(&joined_pairs(text)).map_err(|failure| failure.diagnostics),
        other => other.map_err(|failure| failure.diagnostics),
    }
}

/// A diagnostic of the parser phase; its message names the place.
fn breach(code: Code, location: Location, message: &str) -> Diagnostic {
    let Location { line, column } = location;
    Diagnostic::new(
        Phase::Parser,
        code,
        Pointer::root(),
        format!("line {line}, column {column}: {message}"),
    )
    .at(location)
}

/// The text of the document, measured, decoded and without its byte order mark.
fn decode(bytes: &[u8]) -> Result<&str, Box<Diagnostic>> {
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

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// JSON text with each escaped surrogate pair as one YAML escape. In JSON a backslash stands in strings only.
fn joined_pairs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let unit = |from: usize| {
            let digits = rest.get(from..from + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        let pair = unit(0).zip(unit(6)).and_then(|(high, low)| {
            char::decode_utf16([high, low])
                .next()?
                .ok()
                .filter(|c| *c > '\u{ffff}')
        });
        let taken = if let Some(c) = pair {
            out.push_str(&format!("\\U{:08X}", u32::from(c)));
            12
        } else {
            let taken = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
            out.push_str(&rest[..taken]);
            taken
        };
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}

struct Failure {
    diagnostics: Vec<Diagnostic>,
    /// An escape named half of a surrogate pair.
    split_pair: bool,
}

fn read(text: &str) -> Result<Document, Failure> {
    let mut builder = Builder::default();
    let mut split_pair = false;
    for event in Parser::new_from_str(text) {
        let outcome = match event {
            Ok((event, span)) => builder.event(event, location(span.start)),
            Err(error) => {
                split_pair = error.info().contains("invalid Unicode character escape");
                Err(scan_error(&error))
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

fn location(marker: Marker) -> Location {
    Location {
        line: marker.line(),
        column: marker.col() + 1,
    }
}

/// The event parser itself refuses some things that the profile has a name for.
fn scan_error(error: &ScanError) -> GiveUp {
    let place = location(*error.marker());
    let info = error.info();
    Box::new(if info.contains("unknown anchor") {
        alias(place)
    } else if info.contains("recursion limit") {
        too_deep(place)
    } else if info.contains("handle wasn't declared") {
        tag(place)
    } else {
        breach(
            Code::InvalidYaml,
            place,
            &format!(
                "this is not well-formed YAML 1.2 ({info}); mend the syntax here or just before"
            ),
        )
    })
}

fn alias(place: Location) -> Diagnostic {
    breach(
        Code::AnchorOrAlias,
        place,
        "anchors (`&name`) and aliases (`*name`) are not allowed; write the value out",
    )
}

fn too_deep(place: Location) -> Diagnostic {
    breach(
        Code::DepthExceeded,
        place,
        &format!(
            "values nest deeper than {} levels; flatten them",
            limits::DEPTH
        ),
    )
}

fn tag(place: Location) -> Diagnostic {
    breach(
        Code::ExplicitTag,
        place,
        "explicit tags such as `!!str` are not allowed; remove the tag, and quote the value if it is meant as text",
    )
}

/// Why reading stops early.
type GiveUp = Box<Diagnostic>;

/// A collection that is being read.
enum Frame {
    Sequence {
        start: Location,
        items: Vec<Value>,
        places: Vec<Place>,
    },
    Mapping {
        start: Location,
        members: Map<String, Value>,
        places: BTreeMap<String, Place>,
        next: Next,
    },
}

/// What a mapping waits for.
enum Next {
    Key,
    /// The value of this key; `None` when the key was refused.
    Value(Option<(String, Location)>),
}

#[derive(Default)]
struct Builder {
    stack: Vec<Frame>,
    documents: usize,
    root: Option<Document>,
    diagnostics: Vec<Diagnostic>,
}

impl Builder {
    fn event(&mut self, event: Event<'_>, place: Location) -> Result<(), GiveUp> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => self.document(place),
            Event::Alias(_) => {
                self.diagnostics.push(alias(place));
                self.scalar(Value::Null, None, place)
            }
            Event::Scalar(text, style, anchor, explicit) => {
                self.properties(anchor, explicit.is_some(), place);
                if text.len() > limits::SCALAR_BYTES {
                    return Err(Box::new(breach(
                        Code::ScalarTooLong,
                        place,
                        &format!(
                            "a scalar has {} bytes and {} are allowed; shorten it",
                            text.len(),
                            limits::SCALAR_BYTES
                        ),
                    )));
                }
                self.printable(&text, style, place);
                let value = self.resolve(&text, style, place);
                self.scalar(value, Some(text.into_owned()), place)
            }
            Event::SequenceStart(anchor, explicit) => {
                self.properties(anchor, explicit.is_some(), place);
                self.open(
                    Frame::Sequence {
                        start: place,
                        items: Vec::new(),
                        places: Vec::new(),
                    },
                    place,
                )
            }
            Event::MappingStart(anchor, explicit) => {
                self.properties(anchor, explicit.is_some(), place);
                self.open(
                    Frame::Mapping {
                        start: place,
                        members: Map::new(),
                        places: BTreeMap::new(),
                        next: Next::Key,
                    },
                    place,
                )
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.close();
                Ok(())
            }
        }
    }

    fn document(&mut self, place: Location) -> Result<(), GiveUp> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        Err(Box::new(breach(
            Code::MultipleDocuments,
            place,
            "a second document begins here and a file holds exactly one; move it to a file of its own",
        )))
    }

    fn properties(&mut self, anchor: usize, tagged: bool, place: Location) {
        if anchor > 0 {
            self.diagnostics.push(alias(place));
        }
        if tagged {
            self.diagnostics.push(tag(place));
        }
    }

    /// Outside quotes YAML admits printable characters only; in quotes it admits what JSON does.
    fn printable(&mut self, text: &str, style: ScalarStyle, place: Location) {
        let unquoted = !matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
        let printable = |c: char| !matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
        if unquoted && !text.chars().all(printable) {
            self.diagnostics.push(breach(
                Code::InvalidYaml,
                place,
                "an unprintable character stands outside quotes; write it as an escape in double quotes",
            ));
        }
    }

    fn resolve(&mut self, text: &str, style: ScalarStyle, place: Location) -> Value {
        if style != ScalarStyle::Plain {
            return Value::from(text);
        }
        scalar::resolve(text).unwrap_or_else(|problem| {
            // As a key it is refused for being no string, which is all there is to say.
            if !matches!(self.stack.last(), Some(Frame::Mapping { next: Next::Key, .. })) {
                let message = match problem {
                    Unrepresentable::NotFinite => {
                        "a number has to be finite; write a number, or quote it if it is meant as text"
                    }
                    Unrepresentable::UnsafeInteger => {
                        "an integer has to lie within ±9007199254740991; quote it if it is meant as text"
                    }
                };
                self.diagnostics.push(breach(Code::InvalidNumber, place, message));
            }
            Value::Null
        })
    }

    fn open(&mut self, frame: Frame, place: Location) -> Result<(), GiveUp> {
        self.enter(place)?;
        if let Some(Frame::Mapping {
            next: Next::Key, ..
        }) = self.stack.last()
        {
            self.diagnostics.push(not_a_string(place));
        }
        self.stack.push(frame);
        Ok(())
    }

    /// A node is about to stand inside all the collections that are open.
    fn enter(&mut self, place: Location) -> Result<(), GiveUp> {
        if self.stack.len() > limits::DEPTH {
            return Err(Box::new(too_deep(place)));
        }
        Ok(())
    }

    /// A scalar: a key where a mapping waits for one, else a value. `text` is nothing for an alias.
    fn scalar(
        &mut self,
        value: Value,
        text: Option<String>,
        place: Location,
    ) -> Result<(), GiveUp> {
        self.enter(place)?;
        if let Some(Frame::Mapping {
            next: next @ Next::Key,
            places,
            ..
        }) = self.stack.last_mut()
        {
            let key = match (value, text) {
                (Value::String(key), _) if key == "<<" => {
                    self.diagnostics.push(breach(
                        Code::MergeKey,
                        place,
                        "merge keys (`<<`) are not allowed; write the members out",
                    ));
                    None
                }
                (Value::String(key), _) if places.contains_key(&key) => {
                    self.diagnostics.push(breach(
                        Code::DuplicateKey,
                        place,
                        &format!(
                            "the key `{}` stands twice in this mapping; keep one of the two",
                            short(&key)
                        ),
                    ));
                    None
                }
                (Value::String(key), _) => Some((key, place)),
                (_, Some(_)) => {
                    self.diagnostics.push(not_a_string(place));
                    None
                }
                (_, None) => None,
            };
            *next = Next::Value(key);
            return Ok(());
        }
        self.attach(
            value,
            Place {
                value: place,
                key: None,
                children: Children::None,
            },
        );
        Ok(())
    }

    fn close(&mut self) {
        let (value, place) = match self.stack.pop() {
            Some(Frame::Sequence {
                start,
                items,
                places,
            }) => (
                Value::Array(items),
                Place {
                    value: start,
                    key: None,
                    children: Children::Items(places),
                },
            ),
            Some(Frame::Mapping {
                start,
                members,
                places,
                ..
            }) => (
                Value::Object(members),
                Place {
                    value: start,
                    key: None,
                    children: Children::Members(places),
                },
            ),
            None => return,
        };
        self.attach(value, place);
    }

    fn attach(&mut self, value: Value, place: Place) {
        match self.stack.last_mut() {
            None => {
                self.root.get_or_insert(Document {
                    value,
                    places: place,
                });
            }
            Some(Frame::Sequence { items, places, .. }) => {
                items.push(value);
                places.push(place);
            }
            Some(Frame::Mapping {
                members,
                places,
                next,
                ..
            }) => {
                match std::mem::replace(next, Next::Key) {
                    // A collection where a key was due: refused when it was opened.
                    Next::Key => *next = Next::Value(None),
                    Next::Value(None) => {}
                    Next::Value(Some((key, key_place))) => {
                        if let Entry::Vacant(vacant) = places.entry(key.clone()) {
                            vacant.insert(Place {
                                key: Some(key_place),
                                ..place
                            });
                            members.insert(key, value);
                        }
                    }
                }
            }
        }
    }

    fn finish(self) -> Result<Document, Vec<Diagnostic>> {
        match self.root {
            _ if !self.diagnostics.is_empty() => Err(self.diagnostics),
            Some(document) => Ok(document),
            None => Err(vec![breach(
                Code::MultipleDocuments,
                Location { line: 1, column: 1 },
                "the file holds no document and has to hold exactly one; write the document",
            )]),
        }
    }
}

fn not_a_string(place: Location) -> Diagnostic {
    breach(
        Code::NonStringKey,
        place,
        "a mapping key has to be a string; put it in quotes",
    )
}

/// A key as a message quotes it.
fn short(key: &str) -> String {
    const LONGEST: usize = 80;
    match key.char_indices().nth(LONGEST) {
        None => key.to_owned(),
        Some((end, _)) => format!("{}…", &key[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn one_value_has_many_spellings() {
        let expected = json!({"a": [1, "x", null], "b": {"c": true}});
        for (name, text) in [
            ("block", "a:\n  - 1\n  - x\n  - ~\nb:\n  c: true\n"),
            ("flow", "{a: [1, x, null], b: {c: true}}"),
            (
                "JSON",
                "{\"a\": [1.0, \"x\", null],\n\t\"b\": {\"c\": true}}",
            ),
            ("another order", "b: {c: true}\na: [1, x, null]\n"),
            (
                "comments",
                "# one\na: # two\n- 1\n- 'x' # three\n-\nb:\n  ? c\n  : true\n",
            ),
            (
                "markers",
                "---\n{a: [0x1, \"\\x78\", ~], \"b\": {'c': True}}\n...\n",
            ),
        ] {
            let document = parse(text.as_bytes()).expect(name);
            assert_eq!(document.value, expected, "{name}");
        }
    }

    #[test]
    fn every_node_is_found_where_it_stands() {
        let document = parse("a:\n  - 1\n  - b: two\n".as_bytes()).expect("a document");
        for (pointer, line, column) in [
            ("", 1, 1),
            ("/a", 1, 1),
            ("/a/0", 2, 5),
            ("/a/1/b", 3, 8),
            ("/a/1/none", 3, 5),
        ] {
            let location = document
                .places
                .nearest(&pointer.parse().expect("a pointer"));
            assert_eq!(location, Location { line, column }, "{pointer}");
        }
    }

    #[test]
    fn every_breach_that_can_be_told_is_told() {
        let text = "a: &x 1\na: !y 2\n1: .inf\n<<: {}\n";
        let codes: Vec<_> = parse(text.as_bytes())
            .expect_err("breaches")
            .into_iter()
            .map(|diagnostic| diagnostic.code)
            .collect();
        assert_eq!(
            codes,
            [
                Code::AnchorOrAlias,
                Code::DuplicateKey,
                Code::ExplicitTag,
                Code::NonStringKey,
                Code::InvalidNumber,
                Code::MergeKey
            ]
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            let key = any::<String>().prop_filter("no merge key", |key| key != "<<");
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_json_document_is_a_document(value in any_json()) {
            for text in [value.to_string(), format!("{value:#}")] {
                let document = parse(text.as_bytes());
                prop_assert_eq!(document.map(|document| document.value), Ok(value.clone()));
            }
        }

        #[test]
        fn bytes_are_read_or_refused_and_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
