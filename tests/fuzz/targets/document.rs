#![no_main]

#[path = "../oracle.rs"]
#[allow(dead_code, reason = "the other target uses the rest")]
mod oracle;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracle::document(bytes));
