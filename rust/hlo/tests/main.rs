//! The tests of the crate in one binary.

mod files;
mod robust;
mod rules;
mod schema;
mod signatures;
mod touch;
