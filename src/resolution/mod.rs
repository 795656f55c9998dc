//! Resolution: contracts and context in, a whole resolution or nothing out; snapshots, records and their acceptance.
//!
//! Nothing here does I/O, reads a clock or makes randomness.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod context;
pub mod record;
pub mod secret;
pub mod snapshot;
