//! The document families: the shape of components and blueprints, the items that hold them, and every rule that can be
//! decided before installation.
//!
//! Nothing here does I/O: the bytes of an item are handed in, and what is not handed in is deferred, never fetched.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod blueprint;
pub mod component;
pub mod contracts;
pub mod envelope;
mod findings;
pub mod item;
pub mod normalize;
pub mod published;
pub mod rules;
mod structure;
pub mod validate;

pub use self::envelope::Family;
pub use self::item::Item;
pub use self::published::Published;
pub use self::validate::{Validation, validate_document, validate_item};

use serde::Deserialize;

use crate::document::diagnostic::{Code, Diagnostic};
use crate::document::pointer::Pointer;
use crate::document::yaml::Document;

/// The typed form of a document that passed the structural phase.
///
/// # Errors
/// A diagnostic, where a panic would be the alternative: the schema admitted what the type cannot hold.
fn typed<'de, T: Deserialize<'de>>(document: &'de Document) -> Result<T, Vec<Diagnostic>> {
    T::deserialize(&document.value).map_err(|_| {
        vec![Diagnostic::semantic(
            Code::InvalidValue,
            Pointer::root(),
            "this tool cannot hold a value of this document that its schema admits; please report it",
        )]
    })
}
