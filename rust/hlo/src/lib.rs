//! Reads, checks and prints HLO: modules from text or from serialized protos, and back.
//!
//! [`parse`] reads text, [`parse_bytes`] text or a proto, either of them also compressed. Both give [`Module`]s:
//! computations of instructions, linked by numbers, whose names, attributes and literals are decoded on request.
//!
//! ```
//! let text = r#"
//! HloModule example
//! ENTRY main {
//!   x = f32[2,3] parameter(0)
//!   y = f32[3,2] transpose(x), dimensions={1,0}
//!   ROOT z = f32[3,2] negate(y)
//! }
//! "#;
//! let modules = hlo::parse(text, Some("example.hlo"), false)?;
//! let module = &modules[0];
//! for id in module.instructions_of(module.entry()) {
//!     let operands: Vec<_> = module.operands(id).map(|operand| module.instruction_name(operand)).collect();
//!     println!("{} = {}({})", module.instruction_name(id), module.opcode_name(id), operands.join(", "));
//! }
//! let y = module.find_instruction("y", None).expect("an instruction of the text");
//! let dimensions = module.attribute(y, "dimensions").expect("a required attribute");
//! assert_eq!(module.shape(y).to_string(), "f32[3,2]");
//! assert_eq!(module.value(dimensions, None), hlo::Value::Ints(vec![1, 0]));
//! # Ok::<(), hlo::SyntaxErrors>(())
//! ```
//!
//! Each module imports only those that are declared before it. From the inside out: `opcode` lists the operations,
//! `attribute` holds the values of attributes and their schema, `model` a module and what is derived from it; `infer`
//! derives shapes from operands and attributes, `verify` holds the other rules of XLA's verifier, and `check` applies
//! both to a module that is read; `parse` reads text and `print` writes it; `proto` reads serialized protos into
//! the same rows and writes them, in the format of `wire`; `equal` compares modules, `input` chooses the reader,
//! `edit` writes new modules from the instructions of another, and `pairing` finds what two modules have in common.
//!
//! Any input gives modules or errors with positions, in time and memory proportional to its size. Input
//! that is inconsistent but can be represented (an unknown attribute, a shape that disagrees with the operands) gives a
//! diagnostic. Not here: what an operation reads or computes.

mod tuning;

mod compression;
mod error;

mod opcode;
mod wire;

mod attribute;

mod model;

mod infer;

mod verify;

mod check;

mod parse;
mod print;

mod proto;

mod equal;
mod input;

mod edit;

mod pairing;

use layout::text as cursor;

pub use attribute::accuracy::Accuracy;
pub use attribute::alias::{Alias, Donor};
pub use attribute::devices::{parse_device_groups, DeviceGroups};
pub use attribute::entry_layout::{parse_entry_layout, EntryLayout};
pub use attribute::mesh::{parse_mesh, DeviceOrder, Iota, Mesh, MeshAxis};
pub use attribute::schema::{attributes_of, AttributeSpec, Form, Owner};
pub use attribute::sharding::{parse_sharding, Named, Reduction, Sharding, ShardingKind, Tiles, Uniform, Whole};
pub use attribute::sides::{Item, Sides};
pub use attribute::window::{parse_dim_labels, parse_window, DimLabels, Labels, Window, WindowDim};
pub use attribute::{unescape, Value};
pub use compression::{compression_format, decompress, decompress_head, CompressionError};
pub use edit::draft::{part_attributes, Body, Draft, Entry, Part, Row};
pub use edit::error::EditError;
pub use edit::extract::extract;
pub use edit::flat::Inside;
pub use edit::fuse::{fuse, merge, Fused, Member};
pub use equal::Names;
pub use error::{describe, Diagnostic, DiagnosticKind, Source, Span, SyntaxErrors};
pub use input::{decompressed, parse, parse_bytes, parse_programs, programs, ProgramNames};
pub use model::literal::LiteralValue;
pub use model::metadata::{Frame, Metadata};
pub use model::module::{Attribute, Computation, ComputationId, Ids, Instruction, InstructionId, Module};
pub use model::reads::{Path, Read};
pub use model::signature::Key;
pub use opcode::{Arity, Opcode, Trait};
pub use pairing::{
    match_modules, Facts, How, Meanings, Move, Number, Numbered, Numbers, Pair, Pairs, Value as NumberedValue,
};
pub use parse::parse_part;
pub use print::{print_computation, print_instruction, print_module, PrintOptions};
pub use proto::profile::{is_profile, parse_profile, OpTime, Plane, Profile, Program, Unmatched};
pub use proto::{is_module_head, parse_proto};
pub use tuning::{MAX_DIAGNOSTICS, MAX_PROBLEMS};
pub use verify::rule::Rule;
