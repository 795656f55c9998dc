//! Parser events to a located value, on a stack with a bound.

use std::borrow::Cow;

use saphyr_parser::{Event, ScalarStyle};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::Document;
use super::breach::{alias, breach, not_a_string, tag, too_deep};
use crate::document::diagnostic::{Code, Diagnostic, Location};
use crate::document::limits;
use crate::document::place::{Children, Place};
use crate::document::scalar::{self, Unrepresentable};

/// Why reading stops early.
pub(super) type GiveUp = Box<Diagnostic>;

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
        places: Vec<(String, Place)>,
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
pub(super) struct Builder {
    stack: Vec<Frame>,
    documents: usize,
    root: Option<Document>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Builder {
    pub(super) fn event(&mut self, event: Event<'_>, place: Location) -> Result<(), GiveUp> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => self.document(place),
            Event::Alias(_) => {
                self.diagnostics.push(alias(place));
                self.scalar(None, place)
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
                let value = self.resolve(text, style, place);
                self.scalar(Some(value), place)
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
                        places: Vec::new(),
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

    fn resolve(&mut self, text: Cow<'_, str>, style: ScalarStyle, place: Location) -> Value {
        if style != ScalarStyle::Plain {
            return Value::String(text.into_owned());
        }
        scalar::resolve(&text).unwrap_or_else(|problem| {
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

    /// A scalar: a key where a mapping waits for one, else a value. An alias, which has been refused, is none.
    fn scalar(&mut self, scalar: Option<Value>, place: Location) -> Result<(), GiveUp> {
        self.enter(place)?;
        if let Some(Frame::Mapping {
            next: next @ Next::Key,
            members,
            ..
        }) = self.stack.last_mut()
        {
            let key = match scalar {
                Some(Value::String(key)) if key == "<<" => {
                    self.diagnostics.push(breach(
                        Code::MergeKey,
                        place,
                        "merge keys (`<<`) are not allowed; write the members out",
                    ));
                    None
                }
                Some(Value::String(key)) if members.contains_key(&key) => {
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
                Some(Value::String(key)) => Some((key, place)),
                Some(_) => {
                    self.diagnostics.push(not_a_string(place));
                    None
                }
                None => None,
            };
            *next = Next::Value(key);
            return Ok(());
        }
        self.attach(
            scalar.unwrap_or_default(),
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
                mut places,
                ..
            }) => {
                places.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
                let place = Place {
                    value: start,
                    key: None,
                    children: Children::Members(places),
                };
                (Value::Object(members), place)
            }
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
                        if let Entry::Vacant(vacant) = members.entry(key.clone()) {
                            vacant.insert(value);
                            let place = Place {
                                key: Some(key_place),
                                ..place
                            };
                            places.push((key, place));
                        }
                    }
                }
            }
        }
    }

    pub(super) fn finish(self) -> Result<Document, Vec<Diagnostic>> {
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

/// A key as a message quotes it.
fn short(key: &str) -> String {
    const LONGEST: usize = 80;
    match key.char_indices().nth(LONGEST) {
        None => key.to_owned(),
        Some((end, _)) => format!("{}…", &key[..end]),
    }
}
