//! Where the parts of a document stand in its source text.

use super::diagnostic::Location;
use super::pointer::Pointer;

/// Where one node of a document stands, and its children.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Where the value begins.
    pub value: Location,
    /// Where the key begins, for a member of a mapping.
    pub key: Option<Location>,
    /// The places of members or items.
    pub children: Children,
}

/// The places below a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Children {
    /// A scalar has none.
    None,
    /// The items of a sequence.
    Items(Vec<Place>),
    /// The members of a mapping, in the order of their names. Most mappings are small, and a tree would take ten times the
    /// memory for them.
    Members(Vec<(String, Place)>),
}

impl Place {
    /// The place of the node at `pointer`, if the document has one.
    pub fn at(&self, pointer: &Pointer) -> Option<&Self> {
        pointer
            .tokens()
            .try_fold(self, |place, token| place.child(&token))
    }

    /// The place of the member or item named `token`.
    pub fn child(&self, token: &str) -> Option<&Self> {
        match &self.children {
            Children::None => None,
            Children::Items(items) => items.get(token.parse::<usize>().ok()?),
            Children::Members(members) => {
                let at = members.binary_search_by(|(name, _)| name.as_str().cmp(token));
                at.ok().map(|at| &members[at].1)
            }
        }
    }

    /// What a person should be shown for this node: the key of a collection, which names it, or the scalar itself.
    pub fn location(&self) -> Location {
        match (&self.children, self.key) {
            (Children::Items(_) | Children::Members(_), Some(key)) => key,
            _ => self.value,
        }
    }

    /// The location of the node at `pointer`, or of the nearest enclosing node that exists.
    pub fn nearest(&self, pointer: &Pointer) -> Location {
        let mut place = self;
        for token in pointer.tokens() {
            match place.child(&token) {
                Some(child) => place = child,
                None => break,
            }
        }
        place.location()
    }
}
