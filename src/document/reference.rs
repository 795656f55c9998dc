//! References `${{ namespace.path }}` and the texts that hold them (core §5). `$${{` is a literal `${{`; every other
//! `$` stands for itself; what a reference yields is never scanned again.

use std::borrow::Cow;

use strum::{Display, EnumString, IntoStaticStr};

use super::diagnostic::Code;

const OPEN: &str = "${{";
const ESCAPED: &str = "$${{";
const CLOSE: &str = "}}";

/// The namespaces that core reserves: a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[allow(missing_docs, reason = "the specification's own names")]
pub enum Namespace {
    #[strum(serialize = "self")]
    OwnComponent,
    Parameters,
    Variables,
    Connections,
    Deployment,
    Environment,
    Organization,
    Output,
}

/// One well-formed reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The namespace as written; reserved or not.
    pub namespace: String,
    /// The segments behind the namespace; at least one.
    pub path: Vec<String>,
    /// The whole reference as written, which is what diagnostics quote.
    pub text: String,
}

impl Reference {
    /// The reserved namespace, if it is one.
    pub fn reserved(&self) -> Option<Namespace> {
        self.namespace.parse().ok()
    }

    /// The path as an exact dotted key, the namespace left out.
    pub fn dotted(&self) -> String {
        self.path.join(".")
    }

    /// Whether the namespace is one of `admitted` (CORE-REF-002, CORE-REF-003).
    ///
    /// # Errors
    /// [`Code::UnknownReferenceNamespace`] when core does not reserve it, [`Code::ReferenceNotInScope`] when it does but
    /// this position does not admit it.
    pub fn admitted(&self, admitted: &[Namespace]) -> Result<Namespace, Code> {
        match self.reserved() {
            None => Err(Code::UnknownReferenceNamespace),
            Some(namespace) if admitted.contains(&namespace) => Ok(namespace),
            Some(_) => Err(Code::ReferenceNotInScope),
        }
    }
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Text as it will stand, escapes already undone.
    Literal(String),
    /// A reference.
    Reference(Reference),
}

/// A text taken apart into literals and references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
}

/// An unescaped `${{` that begins no well-formed reference (CORE-REF-001).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// As much of it as can be a reference, as written.
    pub text: String,
}

impl Template {
    /// Takes `text` apart in one pass, from left to right.
    ///
    /// # Errors
    /// Every `${{` that begins no well-formed reference.
    pub fn parse(text: &str) -> Result<Self, Vec<Malformed>> {
        let mut segments = Vec::new();
        let mut malformed = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            literal.push_str(&rest[..dollar]);
            rest = &rest[dollar..];
            if let Some(after) = rest.strip_prefix(ESCAPED) {
                literal.push_str(OPEN);
                rest = after;
            } else if rest.starts_with(OPEN) {
                if let Some((reference, after)) = reference(rest) {
                    if !literal.is_empty() {
                        segments.push(Segment::Literal(std::mem::take(&mut literal)));
                    }
                    segments.push(Segment::Reference(reference));
                    rest = after;
                } else {
                    malformed.push(Malformed { text: quoted(rest) });
                    rest = &rest[OPEN.len()..];
                }
            } else {
                literal.push('$');
                rest = &rest[1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            segments.push(Segment::Literal(literal));
        }
        if malformed.is_empty() {
            Ok(Self { segments })
        } else {
            Err(malformed)
        }
    }

    /// The pieces in order; no two literals stand side by side, and none is empty.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The references in order.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Reference(reference) => Some(reference),
            Segment::Literal(_) => None,
        })
    }

    /// The text after escapes, when there is no reference in it.
    pub fn literal(&self) -> Option<Cow<'_, str>> {
        match self.segments.as_slice() {
            [] => Some(Cow::Borrowed("")),
            [Segment::Literal(text)] => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    /// The reference, when the text is exactly one and nothing else.
    pub fn whole(&self) -> Option<&Reference> {
        match self.segments.as_slice() {
            [Segment::Reference(reference)] => Some(reference),
            _ => None,
        }
    }
}

/// The reference that `text` begins with, and what follows it.
fn reference(text: &str) -> Option<(Reference, &str)> {
    let inner = text.strip_prefix(OPEN)?.trim_start_matches(is_space);
    let end = inner
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '.')
        .unwrap_or(inner.len());
    let (path, after) = inner.split_at(end);
    let after = after.trim_start_matches(is_space).strip_prefix(CLOSE)?;
    let mut segments = path.split('.');
    let namespace = segments.next().filter(|name| is_segment(name))?;
    let path: Vec<_> = segments.map(str::to_owned).collect();
    (!path.is_empty() && path.iter().all(|segment| is_segment(segment))).then(|| {
        let reference = Reference {
            namespace: namespace.to_owned(),
            path,
            text: text[..text.len() - after.len()].to_owned(),
        };
        (reference, after)
    })
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

fn is_segment(segment: &str) -> bool {
    segment.starts_with(|c: char| c.is_ascii_lowercase())
        && segment.chars().all(|c| c.is_ascii_alphanumeric())
}

/// What may be quoted of a malformed reference: up to its end, and nothing past what a reference could hold, because
/// the text behind it may be a secret that an author wrote down.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 80;
    let body = &text[OPEN.len()..];
    let end = body
        .char_indices()
        .take(LONGEST)
        .find(|(_, c)| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ' ')))
        .map_or_else(
            || {
                body.char_indices()
                    .nth(LONGEST)
                    .map_or(body.len(), |(at, _)| at)
            },
            |(at, _)| at,
        );
    let close = if body[end..].starts_with(CLOSE) {
        CLOSE
    } else {
        ""
    };
    format!("{OPEN}{}{close}", &body[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn whole(text: &str) -> Option<String> {
        let template = Template::parse(text).ok()?;
        let reference = template.whole()?;
        Some(format!("{}|{}", reference.namespace, reference.dotted()))
    }

    #[test]
    fn a_whole_reference_is_one_reference_and_nothing_else() {
        for (text, expected) in [
            (
                "${{ variables.cloud.region }}",
                Some("variables|cloud.region"),
            ),
            ("${{variables.a}}", Some("variables|a")),
            (
                "${{\tself.endpoints.web.publicURL\n}}",
                Some("self|endpoints.web.publicURL"),
            ),
            (" ${{ variables.a }}", None),
            ("${{ variables.a }}${{ variables.b }}", None),
            ("$${{ variables.a }}", None),
            ("$${{ variables.a }}${{ variables.a }}", None),
            ("plain", None),
        ] {
            assert_eq!(whole(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_unescaped_opening_that_begins_no_reference_is_malformed() {
        for (text, quoted) in [
            ("${{ variables.a", "${{ variables.a"),
            ("${{ variables }}", "${{ variables }}"),
            ("${{ Variables.a }}", "${{ Variables.a }}"),
            ("${{ variables.a-b }}", "${{ variables.a-b }}"),
            ("${{ variables..a }}", "${{ variables..a }}"),
            ("${{ variables.a.}}", "${{ variables.a.}}"),
            ("${{}}", "${{}}"),
            ("${{ a.b | upper }}", "${{ a.b "),
        ] {
            let malformed = Template::parse(text).expect_err(text);
            assert_eq!(malformed[0].text, quoted, "{text}");
        }
    }

    #[test]
    fn only_the_doubled_dollar_escapes() {
        for (text, expected) in [
            ("a $${{ b }}", "a ${{ b }}"),
            ("$$$${{", "$$${{"),
            ("$5 $(x) ${y} $", "$5 $(x) ${y} $"),
            ("", ""),
        ] {
            let template = Template::parse(text).expect(text);
            assert_eq!(template.literal().as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn references_stand_between_literals() {
        let template =
            Template::parse("http://${{ self.endpoints.web.privateAddress }}/x").unwrap();
        assert_eq!(template.segments().len(), 3);
        assert_eq!(template.references().count(), 1);
        assert_eq!(template.literal(), None);
    }
}
