//! The bounds of the YAML profile (CORE-YAML-010, -011, -012). A document exactly at a bound is accepted.

/// Bytes in one document, measured before anything is parsed (CORE-YAML-010).
pub const DOCUMENT_BYTES: usize = 1_048_576;
/// Collections around one node; the root stands in none (CORE-YAML-011).
pub const DEPTH: usize = 64;
/// UTF-8 bytes in one decoded scalar, keys included (CORE-YAML-012).
pub const SCALAR_BYTES: usize = 65_536;
/// The largest magnitude of an integer: what a binary64 number holds without loss.
pub const SAFE_INTEGER: i64 = 9_007_199_254_740_991;
/// Structural or semantic diagnostics of one document that are reported; nobody reads more, and making them takes time.
pub const DIAGNOSTICS: usize = 1_000;
/// Parser diagnostics after which a document is given up.
pub const PARSER_DIAGNOSTICS: usize = 100;
