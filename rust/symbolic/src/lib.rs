//! Integer expressions and indexing maps: the algebra under hlomap, free of HLO and of Python.
//!
//! Read [`Expr`] first, then [`Map`], then [`rules`], which lists every law the simplifier knows.
//!
//! Laws that hold everywhere:
//! * division is floor division, the remainder lies in `[0, divisor)`, divisors are at least 1;
//! * arithmetic is 64-bit and checked: what does not fit is [`Error::Overflow`], never a wrap;
//! * output never depends on hashing, addresses or the order of insertion.

pub mod error;
pub mod int;

pub mod expr;
pub mod range;
pub mod text;

mod bounds;
mod interval;
mod learn;
pub mod linear;
mod narrow;
mod options;
mod reading;
mod rewrite;
pub mod rules;
mod sample;
mod settled;
pub mod simplify;
mod summand;
mod table;
mod variables;
pub mod work;
mod zero;

pub mod compose;
pub mod count;
pub mod domain;
pub mod equal;
pub mod evaluate;
mod exact;
pub mod inverse;
mod lane;
pub mod map;
mod parts;
mod points;

pub use compose::then;
pub use count::{distinct, touched, Count};

pub use domain::{Constraint, Domain, Source, Variable};
pub use equal::{equivalent, is_empty, Equivalence};
pub use error::{Error, Result, TextError};
pub use evaluate::{Points, Program};

pub use expr::{Expr, Kind, Op, Sum, Term, Var};
pub use inverse::inverse;
pub use map::{Cost, Map};
pub use options::Options;
pub use range::Range;
pub use simplify::{compose, simplify};
