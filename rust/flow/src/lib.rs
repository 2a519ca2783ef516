//! Indexing maps composed along the data flow of an HLO module.
//!
//! [`Questions::query`] answers every question: a [`Query`] asks which elements belong to the elements of one array,
//! backward or forward, for an instruction or a computation. The indexing rules of operations come from a
//! [`RuleProvider`], which is asked once for all instructions of which it reads the same; [`propagate`] composes them.
//!
//! The maps to a value are the union, over its uses, of the maps to the user followed by the user's rule. Between
//! [`devices`], maps have two more dimensions and results, and obey the same law. Nothing recurses with the length of
//! a program. Propagation knows no operation and reads no attribute; [`loops`] do.
//!
//! Not here: what the elements cost that are read, which the crate above counts.
//!
//! ```
//! use std::sync::Arc;
//!
//! use flow::{Direction, Footprint, InstructionIndexing, Key, OperandIndexing, Propagator, Query, Questions};
//! use flow::{RuleProvider, RuleTraits, ShapeIndex, Subject};
//! use quasiaffine::{Map, Style};
//!
//! /// Rules for one-dimensional reverse and for fusions.
//! struct Reverse<'m>(&'m hlo::Module);
//!
//! impl RuleProvider for Reverse<'_> {
//!     type Error = String;
//!
//!     fn traits(&self, id: hlo::InstructionId) -> Result<Arc<RuleTraits>, String> {
//!         let inlines = self.0.opcode_name(id) == "fusion";
//!         Ok(Arc::new(RuleTraits { inlines, ..RuleTraits::default() }))
//!     }
//!
//!     fn rule(
//!         &self,
//!         id: hlo::InstructionId,
//!         _key: Option<&Key>,
//!         _index: &ShapeIndex,
//!         _direction: Direction,
//!     ) -> Result<Arc<InstructionIndexing>, String> {
//!         if self.0.opcode_name(id) != "reverse" {
//!             return Err(format!("no rule for {}", self.0.opcode_name(id)));
//!         }
//!         let map = ("(d0) -> (-d0 + 4), domain: d0 in [0, 4]").parse::<Map>().map_err(|e| e.to_string())?;
//!         let maps = vec![(ShapeIndex::new(), map)];
//!         let part = Footprint { maps, exact: true, reason: None, crosses_devices: false };
//!         Ok(Arc::new(InstructionIndexing::new(&[5], vec![(0, OperandIndexing::Known(part))])))
//!     }
//!
//!     fn mismatch(&self, message: &'static str) -> String {
//!         message.into()
//!     }
//! }
//!
//! let text = "HloModule m
//! f { a = f32[5] parameter(0)  b = f32[5] reverse(a), dimensions={0}  ROOT c = f32[5] reverse(b), dimensions={0} }
//! ENTRY e { p = f32[5] parameter(0)  ROOT r = f32[5] fusion(p), kind=kLoop, calls=f }";
//! let m = hlo::parse(text, None, false).unwrap().swap_remove(0);
//! let subject = Subject::Instruction(m.find_instruction("r", None).unwrap());
//! let query = Query { subject, direction: Direction::Backward, index: ShapeIndex::new() };
//! let questions = Questions { propagator: &Propagator::default(), m: &m, rules: &Reverse(&m) };
//! let indexing = questions.query(&query)?;
//! let [(0, OperandIndexing::Known(operand))] = &indexing.parts[..] else { panic!("one operand") };
//! let (_, map) = &operand.maps[0];
//! assert_eq!(map.to_text(Style::Line).unwrap(), "(d0) -> (d0), domain: d0 in [0, 4]");
//! # Ok::<(), String>(())
//! ```
//!
//! Each module imports only modules that `lib.rs` declares before it: values and maps, the interface of rules, one
//! propagation, loops, then the questions.

#[macro_use]
mod named;

mod tuning;

pub mod shapes;

pub mod maps;
pub mod sources;

pub mod reads;

pub mod work;

pub mod indexing;

pub mod devices;

pub mod outside;

pub mod plain;

pub mod provider;
pub mod watch;

pub mod schedule;

pub mod parameters;

pub mod mode;

mod state;

pub mod propagate;

pub mod closure;
mod outputs;

pub mod loops;

pub mod query;

pub use indexing::{Direction, Footprint, InstructionIndexing, OperandIndexing};
pub use plain::PlainRule;
pub use propagate::Propagation;
pub use provider::{Key, RuleProvider, RuleTraits, Sharing};
pub use query::{Propagator, Query, Questions, Subject};
pub use reads::Text;
pub use shapes::ShapeIndex;
