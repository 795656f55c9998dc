//! The library behind the `installation-operator` and `kubectl-installation` binaries: a functional core (documents,
//! contracts, resolution, materialization) and the imperative shell around it (acquisition, the controller, the command
//! lines).
//!
//! Which room may open which door is written in `docs/architecture.md`; the pure rooms deny clients, clocks and
//! randomness by lint.

// The rooms that do I/O are allowed what the pure rooms deny for themselves.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod acquire;
pub mod api;
pub mod cli;
pub mod conformance;
pub mod contract;
pub mod controller;
pub mod document;
pub mod materialize;
pub mod plugin;
pub mod resolution;
