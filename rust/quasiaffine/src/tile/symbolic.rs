//! The tile of a map as expressions.
