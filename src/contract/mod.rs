//! The document families: the shape of components and blueprints, the items that hold them, and every rule that can be
//! decided before installation.
//!
//! Nothing here does I/O: the bytes of an item are handed in, and what is not handed in is deferred, never fetched.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod blueprint;
pub mod component;
pub mod contracts;
