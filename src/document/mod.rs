//! From bytes to a located value: the restricted YAML profile, JSON Pointers, references, diagnostics and results.
//!
//! Nothing here knows a document family, and nothing here does I/O.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod canonical;
pub mod diagnostic;
pub mod digest;
pub mod limits;
pub mod optional;
pub mod place;
pub mod pointer;
pub mod reference;
pub mod result;
pub mod scalar;
pub mod yaml;
