//! Any bytes as a proto or a compressed text: reading them gives modules or errors, as `hlo_text` says.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../hlo/tests/touch/mod.rs"]
mod touch;

fuzz_target!(|bytes: &[u8]| touch::read(bytes));
