//! The envelope that every document has (core §1): its family, and which family a document says it is.

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use crate::document::diagnostic::{Code, Diagnostic, Phase};
use crate::document::pointer::Pointer;
use crate::document::yaml::Document;

/// A document family that this program implements. Spelled as a document's `kind` spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Family {
    /// One workload's definition.
    Component,
    /// A composition of components.
    Blueprint,
}

/// The family that a document claims by its `kind`, for callers that name none (CORE-ENV-002).
///
/// # Errors
/// A structural diagnostic when `kind` is absent or names no family of this program.
pub fn family(document: &Document) -> Result<Family, Box<Diagnostic>> {
    let kind = Pointer::of(["kind"]);
    let problem = match document.value.get("kind") {
        Some(value) => match value.as_str().and_then(|kind| kind.parse().ok()) {
            Some(family) => return Ok(family),
            None => Diagnostic::new(
                Phase::Structural,
                Code::WrongKind,
                kind,
                "`kind` names no document family of this program; write COMPONENT or BLUEPRINT",
            ),
        },
        None if document.value.is_object() => Diagnostic::new(
            Phase::Structural,
            Code::MissingField,
            Pointer::root(),
            "`kind` is missing; add `kind: COMPONENT` or `kind: BLUEPRINT`",
        ),
        None => Diagnostic::new(
            Phase::Structural,
            Code::InvalidType,
            Pointer::root(),
            "a document is a mapping; write `specVersion`, `kind`, `metadata` and `spec`",
        ),
    };
    let location = document.places.nearest(&problem.path);
    Err(Box::new(problem.at(location)))
}
