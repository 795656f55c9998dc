//! Breaches of the profile, in words. Each names its place and ends with what to do.

use crate::document::diagnostic::{Code, Diagnostic, Location, Phase};
use crate::document::limits;
use crate::document::pointer::Pointer;

/// A diagnostic of the parser phase; its message names the place.
pub(super) fn breach(code: Code, location: Location, message: &str) -> Diagnostic {
    let Location { line, column } = location;
    Diagnostic::new(
        Phase::Parser,
        code,
        Pointer::root(),
        format!("line {line}, column {column}: {message}"),
    )
    .at(location)
}

/// The event parser itself refuses some things that the profile has a name for.
pub(super) fn scan_error(info: &str, place: Location) -> Diagnostic {
    if info.contains("unknown anchor") {
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
    }
}

pub(super) fn alias(place: Location) -> Diagnostic {
    breach(
        Code::AnchorOrAlias,
        place,
        "anchors (`&name`) and aliases (`*name`) are not allowed; write the value out",
    )
}

pub(super) fn too_deep(place: Location) -> Diagnostic {
    breach(
        Code::DepthExceeded,
        place,
        &format!(
            "values nest deeper than {} levels; flatten them",
            limits::DEPTH
        ),
    )
}

pub(super) fn tag(place: Location) -> Diagnostic {
    breach(
        Code::ExplicitTag,
        place,
        "explicit tags such as `!!str` are not allowed; remove the tag, and quote the value if it is meant as text",
    )
}

pub(super) fn not_a_string(place: Location) -> Diagnostic {
    breach(
        Code::NonStringKey,
        place,
        "a mapping key has to be a string; put it in quotes",
    )
}
