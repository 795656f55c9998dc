//! JSON Pointers (RFC 6901) as the anchors of diagnostics; parsing and escaping are `jsonptr`'s.

use std::fmt;

use jsonptr::{PointerBuf, Token};
use serde::{Serialize, Serializer};

/// A JSON Pointer into one document. The root is the empty pointer, `""`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(PointerBuf);

impl Pointer {
    /// The pointer `""`: the whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// The pointer made of `tokens`, which are given unescaped.
    pub fn of<'a>(tokens: impl IntoIterator<Item = &'a str>) -> Self {
        Self(PointerBuf::from_tokens(tokens))
    }

    /// This pointer extended by one unescaped token: a mapping key, or an index as text.
    #[must_use]
    pub fn child(&self, token: &str) -> Self {
        Self(self.0.with_trailing_token(Token::new(token)))
    }

    /// This pointer extended by an array index.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(self.0.with_trailing_token(Token::from(index)))
    }

    /// The pointer to the enclosing collection, or the root of the root.
    #[must_use]
    pub fn parent(&self) -> Self {
        Self(
            self.0
                .parent()
                .map_or_else(PointerBuf::new, ToOwned::to_owned),
        )
    }

    /// Whether this pointer leads to something inside what `above` points to.
    pub fn is_below(&self, above: &Self) -> bool {
        self.as_str()
            .strip_prefix(above.as_str())
            .is_some_and(|rest| rest.starts_with('/'))
    }

    /// The unescaped tokens from the root on.
    pub fn tokens(&self) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        self.0.tokens().map(|token| match token.decoded() {
            std::borrow::Cow::Borrowed(text) => text.to_owned().into(),
            owned @ std::borrow::Cow::Owned(_) => owned.into_owned().into(),
        })
    }

    /// The escaped text, as it stands in a diagnostic.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl std::str::FromStr for Pointer {
    type Err = jsonptr::ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        PointerBuf::parse(text)
            .map(Self)
            .map_err(|report| report.decompose().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_escaped_and_the_root_is_empty() {
        assert_eq!(Pointer::root().as_str(), "");
        assert_eq!(
            Pointer::root().child("a/b").child("c~d").index(3).as_str(),
            "/a~1b/c~0d/3"
        );
        assert_eq!(
            Pointer::of(["spec", "components"]).parent().as_str(),
            "/spec"
        );
    }
}
