//! The two pure rooms that a document passes through, compiled without the rooms that need a cluster: fuzzing
//! instruments everything it links, and these need a tenth of the crates.

#![allow(dead_code, reason = "the other rooms use the rest")]

#[path = "../../src/contract/mod.rs"]
pub mod contract;
#[path = "../../src/document/mod.rs"]
pub mod document;
