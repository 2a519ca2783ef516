//! Shortcuts: the answers of the rules, found without going through them.

pub mod div_of_variables;
pub(crate) mod normal;
mod related_constraints;
