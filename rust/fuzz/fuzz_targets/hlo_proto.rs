//! Parses arbitrary bytes as a proto or as compressed text, with the same expectations as `hlo_text`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../hlo/tests/touch/mod.rs"]
mod touch;

fuzz_target!(|bytes: &[u8]| touch::read(bytes));
