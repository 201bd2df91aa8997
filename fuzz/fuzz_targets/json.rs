//! Fuzzes the reading of input of this kind; see `../README.md`.

#![no_main]

#[path = "../entries.rs"]
#[allow(dead_code, reason = "each target calls one of the entries")]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entries::json(bytes));
