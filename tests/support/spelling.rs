//! One value in many spellings: the order of keys, the style of quotes, comments, flow or block. What is chosen comes from
//! a tape of bytes, so that a property that fails shrinks to the plainest text that still does.

use installation_operator::document::scalar;
use serde_json::{Map, Value, json};

/// A tape of choices that begins again at its end. The empty one always takes the first.
pub struct Choices<'a> {
    tape: &'a [u8],
    taken: usize,
}

impl<'a> Choices<'a> {
    pub fn new(tape: &'a [u8]) -> Self {
        Self { tape, taken: 0 }
    }

    /// A number less than `bound`, or 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if self.tape.is_empty() || bound == 0 {
            return 0;
        }
        // A second round is not the first again.
        let (round, at) = (self.taken / self.tape.len(), self.taken % self.tape.len());
        self.taken += 1;
        (usize::from(self.tape[at]) + round * 7) % bound
    }

    fn one<'b, T: ?Sized>(&mut self, of: &[&'b T]) -> &'b T {
        of[self.below(of.len())]
    }
}

/// Changes up to three places of a document: what real mistakes look like.
pub fn mutate(value: &mut Value, choices: &mut Choices<'_>) {
    for _ in 0..choices.below(4) {
        let mut pointers = Vec::new();
        collect(value, String::new(), &mut pointers);
        let pointer = &pointers[choices.below(pointers.len())];
        let Some(place) = value.pointer_mut(pointer) else {
            continue;
        };
        match (choices.below(4), &mut *place) {
            (0, Value::Object(members)) => drop_one(members, choices),
            (1, Value::Object(members)) => {
                members.insert("unknown".to_owned(), json!("a: b # c"));
            }
            (2, Value::Object(members)) => {
                if let Some((_, member)) = members.iter().next_back() {
                    members.insert("Twin 2".to_owned(), member.clone());
                }
            }
            (0, Value::Array(items)) => {
                items.pop();
            }
            _ => {
                let others = [
                    &Value::Null,
                    &json!(7),
                    &json!("${{ self.x"),
                    &json!([]),
                    &json!({}),
                    &json!(true),
                    &json!("no"),
                    &json!(1.5),
                    &json!(" leading"),
                    &json!("line\nbreak"),
                ]
                .map(Clone::clone);
                *place = others[choices.below(others.len())].clone();
            }
        }
    }
}

fn drop_one(members: &mut Map<String, Value>, choices: &mut Choices<'_>) {
    let name = members.keys().nth(choices.below(members.len())).cloned();
    if let Some(name) = name {
        members.remove(&name);
    }
}

/// The pointers of all places below and including the root.
fn collect(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                collect(member, format!("{pointer}/{name}"), pointers);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{pointer}/{index}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push(pointer);
}

/// A document that says `value`.
pub fn spelled(value: &Value, choices: &mut Choices<'_>) -> String {
    let mut text = String::from(choices.one(&["", "---\n", "# a comment\n\n", "\u{feff}"]));
    block(value, 0, &mut text, choices);
    text.push_str(choices.one(&["", "# the end\n", "...\n"]));
    text
}

/// The lines of a value, each indented, each ended.
fn block(value: &Value, indent: usize, text: &mut String, choices: &mut Choices<'_>) {
    let pad = " ".repeat(indent);
    let step = indent + 1 + choices.below(3);
    match value {
        Value::Object(members) if !members.is_empty() && choices.below(4) < 3 => {
            for (name, member) in shuffled(members, choices) {
                comment(&pad, text, choices);
                text.push_str(&pad);
                if choices.below(6) == 5 {
                    text.push_str(&format!("? {}\n{pad}:", scalar_text(name, choices)));
                } else {
                    text.push_str(&format!("{}:", scalar_text(name, choices)));
                }
                below_a_mark(member, step, text, choices);
            }
        }
        Value::Array(items) if !items.is_empty() && choices.below(4) < 3 => {
            for item in items {
                comment(&pad, text, choices);
                text.push_str(&format!("{pad}-"));
                below_a_mark(item, step, text, choices);
            }
        }
        other => {
            text.push_str(&pad);
            flow(other, text, choices);
            text.push('\n');
        }
    }
}

/// A value behind a `:` or a `-`: on the same line in flow, or on lines of its own.
fn below_a_mark(value: &Value, step: usize, text: &mut String, choices: &mut Choices<'_>) {
    let is_empty = match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    if is_empty || choices.below(3) == 2 {
        text.push(' ');
        flow(value, text, choices);
        text.push_str(choices.one(&["\n", " # said\n", "\r\n"]));
    } else {
        text.push('\n');
        block(value, step, text, choices);
    }
}

fn comment(pad: &str, text: &mut String, choices: &mut Choices<'_>) {
    match choices.below(8) {
        6 => text.push_str(&format!("{pad}# key: {{ not: a, key }}\n")),
        7 => text.push('\n'),
        _ => {}
    }
}

fn flow(value: &Value, text: &mut String, choices: &mut Choices<'_>) {
    match value {
        Value::Null => text.push_str(choices.one(&["null", "~", "Null"])),
        Value::Bool(true) => text.push_str(choices.one(&["true", "True", "TRUE"])),
        Value::Bool(false) => text.push_str(choices.one(&["false", "False", "FALSE"])),
        Value::Number(number) => text.push_str(&number.to_string()),
        Value::String(string) => text.push_str(&scalar_text(string, choices)),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                flow(item, text, choices);
            }
            text.push(']');
        }
        Value::Object(members) => {
            text.push('{');
            for (index, (name, member)) in shuffled(members, choices).into_iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                text.push_str(&scalar_text(name, choices));
                text.push_str(": ");
                flow(member, text, choices);
            }
            text.push('}');
        }
    }
}

fn shuffled<'a>(
    members: &'a Map<String, Value>,
    choices: &mut Choices<'_>,
) -> Vec<(&'a String, &'a Value)> {
    let mut rest: Vec<_> = members.iter().collect();
    let mut order = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        order.push(rest.remove(choices.below(rest.len())));
    }
    order
}

/// A string in double quotes, and where it can be in single quotes or in none.
fn scalar_text(string: &str, choices: &mut Choices<'_>) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
    let plain = string.starts_with(|c: char| c.is_ascii_alphabetic())
        && string.chars().all(is_word)
        && scalar::resolve(string) == Ok(Value::from(string));
    let single = string.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    let double = Value::from(string).to_string();
    match choices.below(3) {
        1 if single => format!("'{}'", string.replace('\'', "''")),
        2 if plain => string.to_owned(),
        // The same, with an escape that JSON has no need of.
        2 if !string.is_empty() && string.is_ascii() => {
            let first = string.as_bytes()[0];
            format!(
                "\"\\x{first:02x}{}",
                &Value::from(&string[1..]).to_string()[1..]
            )
        }
        _ => double,
    }
}
