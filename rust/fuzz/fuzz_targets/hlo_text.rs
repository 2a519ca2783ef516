//! Parses arbitrary text: the result is modules or errors, and every query of a parsed module succeeds or returns an
//! error.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../hlo/tests/touch/mod.rs"]
mod touch;

fuzz_target!(|text: &str| touch::read(text.as_bytes()));
