//! The custom resources of group `install.musher.dev`, their names, conditions and reasons: what users and tools see.
//!
//! Types and pure derivations only; nothing here talks to a cluster.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod condition;
pub mod crd;
pub mod installation;
pub mod names;
pub mod platform;
pub mod pods;
pub mod precious;
pub mod profile;
pub mod reason;
pub mod record;
pub mod reference;
pub mod status;

pub use installation::{Installation, InstallationSpec};
pub use platform::Platform;
pub use profile::ComputeProfile;
pub use record::ResolutionRecord;
pub use status::InstallationStatus;

/// The API group of every kind here.
pub const GROUP: &str = "install.musher.dev";
