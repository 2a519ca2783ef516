#![doc = include_str!("../README.md")]
//!
//! # Reading the code
//!
//! Read [`Expr`] first, then [`Map`], then [`rules`], which lists every law the simplifier knows.
//!
//! Laws that hold everywhere:
//! * division is floor division, the remainder lies in `[0, divisor)`, divisors are at least 1; a constructor takes a
//!   negative constant divisor and writes it with a positive one;
//! * an expression has its value in the integers, whatever its parts come to; variables, constants and factors have 64
//!   bits, and one that does not fit is [`Error::Overflow`], never a wrap;
//! * a value that is computed has 64 bits, and at most 128 on the way, or is an error that names the point
//!   ([`Error::PointOverflow`]);
//! * simplification keeps the value at every point of the domain. It uses bounds only where they are known to hold in the
//!   integers: an operation whose value is not known to have 64 bits stays as it is, with its operands simplified. Where
//!   a result is known to stay within 64 bits on the way to its value, so does what is written for it;
//! * output never depends on hashing, addresses or the order of insertion.
//!
//! Values in the integers, and not "every part must have 64 bits or the point is an error": then rules are identities,
//! two maps are equal whatever they look like, and a constraint is true or false at every point. The price is 128-bit
//! evaluation of those few maps of which intervals do not show that 64 bits are enough.

pub mod error;
pub mod int;
pub mod interrupt;

pub(crate) mod arithmetic;

pub mod expr;
pub mod text;

pub mod map;

pub mod affine;
pub mod analysis;
pub mod rules;

mod fast_path;
pub mod simplify;

pub mod decide;
pub mod delinearize;
pub mod eval;
pub mod tile;

pub use analysis::interval::Interval;
pub use decide::coalesce::{coalesce, fewest, merge, plainly_contains, Coalesced, Counting};
pub use decide::common_element::{CommonElement, Point};
pub use decide::contains::contains;
pub use decide::count::{distinct, touched, Count};
pub use decide::eliminate::{compose_elements, eliminate_ranges};
pub use decide::equal::{equivalent, is_empty, Equivalence};
pub use decide::image::{for_any_runtime, image};
pub use decide::injective::{is_injective, Injectivity};
pub use decide::inverse::inverse;
pub use decide::overlap::{overlap, Meeting, Overlap};
pub use decide::ranges::{compact_ranges, compact_ranges_of_points};
pub use decide::windows::count_windows;
pub use delinearize::delinearize;
pub use error::{Error, Result, TextError};
pub use eval::program::{Points, Program};
pub use expr::{Expr, Kind, Op, Sum, Term, Var};
pub use map::compose::then;
pub use map::domain::{Constraint, Domain, Source, Variable};
pub use map::{Cost, Map};
pub use simplify::options::{FastPath, Options};
pub use simplify::{compose, simplify};
