//! New modules from the instructions of another.
//!
//! A [`Draft`](draft::Draft) holds computations of rows, which are copied from a module, changed or new. It is written as
//! text and read by the parser, so that an instruction that no edit touched keeps its name and its text, and the result
//! is what the text says. [`extract`] and [`fuse`] are two uses of it; a program that edits a module makes its own.

pub(crate) mod draft;
pub(crate) mod error;
pub(crate) mod extract;
pub(crate) mod flat;
pub(crate) mod fuse;
mod settle;
