//! The object model: modules, computations, instructions and literals, and what is derived from them.
//!
//! Not here: text, protos, opcodes, and the values of attributes.

pub(crate) mod asynchronous;
pub(crate) mod backend;
pub(crate) mod canonical;
pub(crate) mod float;
pub(crate) mod fresh;
pub(crate) mod hidden;
pub(crate) mod literal;
pub(crate) mod metadata;
pub(crate) mod module;
pub(crate) mod order;
pub(crate) mod propagation;
pub(crate) mod reads;
pub(crate) mod signature;
