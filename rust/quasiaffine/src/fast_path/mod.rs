//! Shortcuts: the answers of the rules, without running them.

pub mod div_of_variables;
pub(crate) mod normal;
