//! Shortcuts: the answers of the rules, without running them.

pub(crate) mod normal;
