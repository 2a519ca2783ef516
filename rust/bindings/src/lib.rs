//! The compiled module `hlomap._core`: Python classes and functions over the core crates.
//!
//! Each file wraps one part of the core crates: convert, release the interpreter lock, call, convert back.
#![allow(missing_docs, reason = "the Python API is documented on the classes and in the stub")]

mod argument;
mod detach;

mod error;
mod hooks;
mod pickle;
mod repr;

mod expr;
mod map;
mod map_arguments;
mod map_values;
mod set_questions;

mod alias;
mod attribute;
mod diagnostic;
mod footprint;
mod indexing;
mod instruction;
mod layout;
mod loops;
mod memory;
mod module;
mod parse;
mod propagation;
mod rows;
mod sharding;
mod tiling;

use pyo3::prelude::*;

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    detach::register(m)?;
    expr::register(m)?;
    map_values::register(m)?;
    map::register(m)?;
    set_questions::register(m)?;
    layout::register(m)?;
    memory::register(m)?;
    module::register(m)?;
    footprint::register(m)?;
    indexing::register(m)?;
    loops::register(m)?;
    propagation::register(m)?;
    rows::register(m)?;
    tiling::register(m)?;
    // The stub has no `__all__`, so neither has the module.
    m.delattr("__all__")
}
