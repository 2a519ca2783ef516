//! The compiled module `hlomap._core`: Python classes and functions over the core crates.
//!
//! Each file wraps one part of the core crates: convert, release the interpreter lock, call, convert back. A file imports
//! only those that are declared before it.
#![allow(missing_docs, reason = "the Python API is documented on the classes and in the stub")]

mod detach;
mod error;
mod repr;

#[macro_use]
mod argument;
mod pickle;

#[macro_use]
mod class;

mod expr;

mod map_values;

mod map_arguments;

mod map;

mod map_functions;
mod set_questions;

mod diagnostic;
mod layout;
mod sharding;

mod alias;
mod view;

mod attribute;

mod instruction;
mod memory;
mod module;
mod parse;

mod edit;
mod reads;
mod tiling;

mod footprint;
mod indexing;

mod loops;
mod plain;
mod records;
mod rows;
mod rule_cache;

mod rules;

mod propagation;

mod pairing;

mod sharder;

#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;
    use quasiaffine::Rule;

    #[pymodule_export]
    use crate::{
        alias::{PyBufferDonor, PyEntryLayout, PyInputOutputAlias, PyOperandAlias, PyResultAccuracy},
        attribute::{Attributes, PyDimLabels, PyWindow, PyWindowDim},
        detach::_n_steps,
        diagnostic::{_diagnostic, PyDiagnostic},
        edit::{_all_names, _assemble, _extract, _fuse, _merge, _rows},
        expr::{_set_traced, PyExpr},
        footprint::{_delinearize, _identity_map, _map_to_all, _outside, _reshape_map, _single_map, PyFootprint},
        indexing::{checked_rule, PyInstructionIndexing},
        instruction::{PyFrame, PyMetadata},
        layout::{PyLayout, PyShape},
        loops::{_arithmetic, _condition_and_body, PyCountedLoop, PyNest},
        map::{_map, PyMap},
        map_functions::{_count_windows, _simplify_traced, bounds_many, compose_many, count_many, simplify_many},
        map_values::{_variable, PyConstraint, PyCost, PyCount, PyVariable},
        memory::{
            count_requests, flat_thread_map, grid_maps, is_valid_bitcast, linear_index, logical_index, pack_into,
            reshape_is_bitcast, spread_bits, squeeze_bits, transpose_is_bitcast, unpack_into,
        },
        module::_module,
        pairing::{PyNumbered, PyNumbers},
        parse::{
            _operands_of, _read_profile, form_of_head, known_attributes, known_opcodes, parse_text, trace_programs,
            unpack_head,
        },
        plain::PyPlainRule,
        propagation::PyPropagation,
        reads::{_extent, _reads},
        records::{Evaluated, FusedRecord, NeededRecord, OperationsRecord, Record, TilesRecord},
        rows::{_row_columns, _rows_message, PyRows},
        rule_cache::PyRuleCache,
        set_questions::{_coalesce, _covers, _eliminate_ranges, _image_many, _is_injective, _overlap},
        sharder::PySharder,
        sharding::{PyMesh, PyReplicaGroups, PySharding},
        tiling::{_over_all_parameters, _tile_reasons, PyTilePlan},
        view::{PyComputation, PyInstruction, PyModule_},
    };

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("LAWS", Rule::ALL.iter().map(|rule| (rule.name(), rule.law())).collect::<Vec<_>>())?;
        m.add("_MAX_ITEMS", crate::argument::MAX_ITEMS)?;
        let mapping = m.py().import("collections.abc")?.getattr("Mapping")?;
        mapping.call_method1("register", (m.getattr("Attributes")?,))?;
        // The stub has no `__all__`, so neither has the module.
        m.delattr("__all__")
    }
}
