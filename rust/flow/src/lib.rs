//! Maps composed along the ways that data takes through an HLO module.
//!
//! Read [`Walker`] first. What an operation reads is asked of [`Pages`], once for each signature, and followed here
//! through all instructions; [`rows`] puts what was found into rows. Law: the maps to a value are the union, over
//! its uses, of the user's maps followed by the rule of the user; nothing recurses with the length of a program.
//! No operation is known here, and no attribute is read.

pub mod closure;
pub mod indexing;
pub mod propagate;
pub mod query;
pub mod reads;
pub mod rows;
pub mod schedule;
pub mod shapes;
pub mod sources;
mod state;

pub use indexing::{Answer, Footprint, Leaf, Part, Text};
pub use query::{Direction, Kind, Pages, Walker};
