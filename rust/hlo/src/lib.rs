//! HLO text and protos to modules and back.
//!
//! Read [`parse`] first, then [`Module`]. A text may hold several modules, one computation, or bare instructions; bytes
//! may also hold a proto, and either may be compressed.
//! Law: whatever the text, reading it gives modules or errors with their places, in time and memory in proportion
//! to its size. What does not fit but can be kept (an unknown attribute, a shape that disagrees) is a diagnostic.
//! Not here: what an operation reads or computes.

mod alias;
mod attach;
mod attribute;
mod check;
mod devices;
mod equal;
mod error;
mod float;
mod infer;
mod instruction;
mod known;
mod literal;
mod mesh;
mod module;
mod opcode;
mod packed;
mod parse;
mod print;
mod proto;
mod resolve;
mod sharding;
mod signature;
mod span_map;
mod token;
mod window;

pub use alias::{Accuracy, Alias, Donor, EntryLayout};
pub use attribute::{unescape, Value};
pub use devices::{parse_device_groups, DeviceGroups};
pub use equal::Names;
pub use error::{describe, Problem, ProblemKind, Source, Span, SyntaxErrors};
pub use known::{attributes_at, Form, Known, Place};
pub use literal::{LiteralError, LiteralValue};
pub use mesh::{DeviceOrder, Iota, Mesh, MeshAxis};
pub use module::{Attribute, Computation, ComputationId, Instruction, InstructionId, Metadata, Module};
pub use opcode::{Arity, Opcode};
pub use packed::{packed_format, unpack, unpack_head, PackedError};
pub use parse::{parse, parse_bytes, MAX_DIAGNOSTICS, MAX_PROBLEMS};
pub use print::{print_computation, print_instruction, print_module, PrintOptions};
pub use proto::{is_module_head, parse_proto};
pub use sharding::{parse_sharding, Named, Sharding, ShardingKind, SubgroupKind, Tiles, Whole};
pub use window::{parse_dim_labels, parse_window, DimLabels, Window, WindowDim};
