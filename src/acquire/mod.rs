//! Fills the pure rooms with what lies outside: files, cluster objects, registries. Everything here does I/O.

pub mod directory;
