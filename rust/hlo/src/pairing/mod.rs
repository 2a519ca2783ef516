//! What two modules have in common: values that are the same by their numbers, and instructions that match.

mod matching;
mod numbers;

pub use matching::{match_modules, How, Pair, Pairs};
pub use numbers::{Facts, Meanings, Move, Number, Numbered, Numbers, Value};
