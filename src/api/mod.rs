//! The custom resources of group `install.musher.dev`, their names, conditions and reasons: what users and tools see.
//!
//! Types and pure derivations only; nothing here talks to a cluster.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod catalog;
pub mod component_revision;
pub mod condition;
pub mod connection;
pub mod crd;
pub mod installation;
pub mod names;
pub mod placement;
pub mod platform;
pub mod pods;
pub mod precious;
pub mod profile;
pub mod reason;
pub mod record;
pub mod reference;
pub mod status;
pub mod variable;

pub use component_revision::ComponentRevision;
pub use connection::{ClusterConnection, Connection};
pub use installation::{Installation, InstallationSpec};
pub use platform::Platform;
pub use profile::ComputeProfile;
pub use record::ResolutionRecord;
pub use status::InstallationStatus;
pub use variable::{ClusterVariable, Variable};

/// The API group of every kind here.
pub const GROUP: &str = "install.musher.dev";
