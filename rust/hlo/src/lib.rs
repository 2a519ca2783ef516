//! HLO text and protos to modules and back.
//!
//! Read [`parse`] first, then [`Module`]. A text may hold several modules, one computation, or bare instructions; bytes
//! may also hold a proto, and either may be compressed.
//! Law: whatever the text, reading it gives modules or errors with their places, in time and memory in proportion
//! to its size. What does not fit but can be kept (an unknown attribute, a shape that disagrees) is a diagnostic.
//! Not here: what an operation reads or computes.

mod attribute;
mod check;
mod cursor;
mod error;
mod infer;
mod model;
mod packed;
mod parse;
mod print;
mod proto;

pub use attribute::accuracy::Accuracy;
pub use attribute::alias::{Alias, Donor};
pub use attribute::devices::{parse_device_groups, DeviceGroups};
pub use attribute::entry_layout::EntryLayout;
pub use attribute::mesh::{DeviceOrder, Iota, Mesh, MeshAxis};
pub use attribute::schema::{attributes_of, AttributeSpec, Form, Owner};
pub use attribute::sharding::{parse_sharding, Named, Sharding, ShardingKind, SubgroupKind, Tiles, Whole};
pub use attribute::window::{parse_dim_labels, parse_window, DimLabels, Window, WindowDim};
pub use attribute::{unescape, Value};
pub use error::{describe, Problem, ProblemKind, Source, Span, SyntaxErrors};
pub use model::equal::Names;
pub use model::literal::{LiteralError, LiteralValue};
pub use model::metadata::Metadata;
pub use model::module::{Attribute, Computation, ComputationId, Instruction, InstructionId, Module};
pub use model::opcode::{Arity, Opcode};
pub use packed::{packed_format, unpack, unpack_head, PackedError};
pub use parse::{parse, parse_bytes, MAX_DIAGNOSTICS, MAX_PROBLEMS};
pub use print::{print_computation, print_instruction, print_module, PrintOptions};
pub use proto::{is_module_head, parse_proto};
