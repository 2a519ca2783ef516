//! Any text: reading it gives modules or errors, and a module answers every question.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../hlo/tests/touch/mod.rs"]
mod touch;

fuzz_target!(|text: &str| touch::read(text.as_bytes()));
