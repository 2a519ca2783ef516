//! Integer expressions with floor division and remainder, and maps made of them: which elements of one array does an
//! element of another need?
//!
//! # The idea
//!
//! An operation that moves data is arithmetic on indices. Reshape `x[4,6]` to `y[8,3]`, and ask for the element of `x`
//! behind an element of `y`: its position in memory is `3*d0 + d1`, and position `p` of `x` is `(p floordiv 6, p mod 6)`.
//!
//! | `(d0, d1)` of `y` | position | element of `x` | |
//! |---|---|---|---|
//! | (0, 0), (0, 1), (0, 2) | 0, 1, 2 | (0, 0), (0, 1), (0, 2) | first half of row 0 |
//! | (1, 0), (1, 1), (1, 2) | 3, 4, 5 | (0, 3), (0, 4), (0, 5) | second half of row 0 |
//! | (2, 0), (2, 1), (2, 2) | 6, 7, 8 | (1, 0), (1, 1), (1, 2) | first half of row 1 |
//! | (7, 0), (7, 1), (7, 2) | 21, 22, 23 | (3, 3), (3, 4), (3, 5) | second half of row 3 |
//!
//! A person reads off the table what the formula hides: `d0 floordiv 2` is the row and `d0 mod 2` says which half of it. An
//! index is a number in mixed radix. Reshapes regroup its digits, transposes permute them, layouts of memory store them in
//! another order, slices and windows add to them. Simplifying a map means finding the digits again:
//!
//! ```
//! use quasiaffine::{Map, Options};
//! let map: Map = "(d0, d1) -> ((d0*3 + d1) floordiv 6, (d0*3 + d1) mod 6), domain: d0 in [0, 7], d1 in [0, 2]".parse()?;
//! let found = map.simplify(Options::default()).to_string();
//! assert_eq!(found, "(d0, d1) -> (d0 floordiv 2, (d0 mod 2) * 3 + d1), domain: d0 in [0, 7], d1 in [0, 2]");
//! # Ok::<(), quasiaffine::Error>(())
//! ```
//!
//! It takes one decision: **remainders do not exist.** `x mod n` is read as `x - n*(x floordiv n)`, and every value becomes an
//! *affine form*: a constant plus multiples of *atoms*, which are variables and divs, floor divisions of another form by a
//! constant. Equal divs are one atom. With `q = d0 floordiv 2`, which is `(3*d0 + d1) floordiv 6` since `d1 < 3` cannot carry,
//!
//! | expression | form |
//! |---|---|
//! | `(3*d0 + d1) floordiv 6` | `q` |
//! | `(3*d0 + d1) mod 6` | `3*d0 + d1 - 6*q` |
//! | `(d0 mod 2)*3 + d1` | `3*d0 + d1 - 6*q` |
//! | `d0 - d0 mod 2` | `2*q` |
//!
//! so that equal values look equal, and terms cancel by addition. When the form is written, a remainder comes back
//! wherever it is shorter: `3*d0 - 6*q` is `(d0 mod 2)*3`.
//!
//! # Examples
//!
//! 1. *A round trip is the identity.* Reshape back, and the divs of both maps cancel:
//! ```
//! # use quasiaffine::{Map, Options};
//! let there: Map = "(d0, d1) -> ((d0*3 + d1) floordiv 6, (d0*3 + d1) mod 6), domain: d0 in [0, 7], d1 in [0, 2]".parse()?;
//! let back: Map = "(d0, d1) -> ((d0*6 + d1) floordiv 3, (d0*6 + d1) mod 3), domain: d0 in [0, 3], d1 in [0, 5]".parse()?;
//! let both = there.compose(&back, Options::default())?;
//! assert_eq!(both.to_string(), "(d0, d1) -> (d0, d1), domain: d0 in [0, 7], d1 in [0, 2]");
//! # Ok::<(), quasiaffine::Error>(())
//! ```
//! 2. *A window reads many elements.* The range variable `s0` has every value at once. 8 windows of 3 make 24 reads, and
//!    since neighbours share an element these are 17 elements:
//! ```
//! # use quasiaffine::{Count, Map};
//! let window: Map = "(d0)[s0] -> (d0*2 + s0), domain: d0 in [0, 7], s0 in [0, 2]".parse()?;
//! assert_eq!((window.touched(), window.distinct()), (Count::exact(24), Count::exact(17)));
//! # Ok::<(), quasiaffine::Error>(())
//! ```
//! 3. *Padding reads nothing outside the array.* That is a constraint, and here a smaller domain:
//! ```
//! # use quasiaffine::{Map, Options};
//! let pad: Map = "(d0) -> (d0 - 1), domain: d0 in [0, 9], d0 - 1 in [0, 7]".parse()?;
//! assert_eq!(pad.simplify(Options::default()).to_string(), "(d0) -> (d0 - 1), domain: d0 in [1, 8]");
//! # Ok::<(), quasiaffine::Error>(())
//! ```
//! 4. *An offset is known only when the program runs.* The runtime variable `rt0` has one unknown value, with bounds and a
//!    source, `(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 2], rt0 in [0, 5], runtime: rt0 = #7()`: the question stays symbolic.
//! 5. *Normal forms differ and the maps do not.* Two texts of equal cost may both stay; [`Map::equivalent`] decides:
//! ```
//! # use quasiaffine::{Answer, Map};
//! let a: Map = "(d0) -> ((d0 + 1) mod 2), domain: d0 in [0, 99]".parse()?;
//! let b: Map = "(d0) -> (1 - d0 mod 2), domain: d0 in [0, 99]".parse()?;
//! let c: Map = "(d0) -> (d0 mod 2), domain: d0 in [0, 99]".parse()?;
//! assert_eq!((a.equivalent(&b), a.equivalent(&c)), (Answer::Yes, Answer::No(vec![0])));
//! # Ok::<(), quasiaffine::Error>(())
//! ```
//!
//! # Why this form and not another
//!
//! `SIMPLIFY.md` has a census of 2,114 programs. Nine results in ten need no division, and no result of two instructions in a
//! row has more than two before it is simplified. In 999 sums of 1,000 each factor divides the next: they are numbers in mixed
//! radix. A third of the divisors are not powers of two. Products of variables, divisors that vary, `min` and `max` never
//! occur. Symbolic tile sizes have them, so they are atoms that stay closed.
//!
//! | instead of this form | good for | not enough here |
//! |---|---|---|
//! | strides, nested or not (NumPy, CuTe) | views, transposes, tiles that divide | offsets and windows that carry, padding, reshapes across strides |
//! | matrices over bits (Triton's linear layouts) | swizzles, sizes that are powers of two | a size of 3, 10 or 300; sums that carry |
//! | integer sets (isl, MLIR's Presburger library) | any relation, exact projection | results become existential; longer to read, slower to compose |
//! | terms with both `floordiv` and `mod` (TVM, Halide, egg) | rewriting of any program | two spellings of each value, so each law twice, and cancelling needs a law |
//! | tables of elements | small arrays | 10^9 elements |
//!
//! The price: a map is a function with a box and constraints as its domain. There are no quantifiers and no disjunction, so a
//! union is a list of maps, and an answer may be "unknown". One case made us keep remainders after all: opening them takes a
//! quotient of a remainder apart into two divs, at every level of a chain. An expression of many divs is therefore also read
//! *closed*, with `x mod n` as an atom, and the shorter one is written.
//!
//! # What holds everywhere
//!
//! * Division is floor division, the remainder lies in `[0, divisor)`, divisors are at least 1; a constructor takes a negative
//!   constant divisor and writes it with a positive one.
//! * An expression has its value in the integers, whatever its parts come to. Then rules are identities, two maps are equal
//!   whatever they look like, and a constraint is true or false at every point. The price is 128-bit evaluation of those few
//!   maps of which intervals do not show that 64 bits are enough.
//! * Constants, factors and variables have 64 bits. One that does not fit is [`Error::Overflow`], a value that does not fit
//!   [`Error::PointOverflow`], which names the point; nothing wraps.
//! * Simplification keeps the value at every point of the domain. An operation whose value is not known to have 64 bits stays
//!   as it is, with its operands simplified; a result that is known to stay within 64 bits on the way still does afterwards.
//! * Output never depends on hashing, addresses or the order of insertion.
//!
//! # The mathematics
//!
//! The *quasi-affine* functions are the smallest class with the constants and the variables that is closed under sums, integer
//! multiples and `floor(x / n)`. Three identities carry most of it, for integers and `n, m > 0`:
//!
//! ```text
//! (n*k + r) floordiv n = k + r floordiv n          r floordiv n = 0  where 0 <= r < n
//! (x floordiv m) floordiv n = x floordiv (m*n)
//! ```
//!
//! *Digits.* Let `x = a1*x1 + … + ak*xk`, where `ai` divides `a(i+1)` and `0 <= ai*xi < a(i+1)`. By the first two,
//! `x floordiv ai` is the sum of the terms from `i` on, each divided by `ai`, and `x mod ai` the sum of those before. This is the
//! table above.
//!
//! *Periods.* Every quasi-affine `f` has a `p` with `f(x + p*e) = f(x) + c` for each unit vector `e`, with `c` depending on `e`
//! alone: true for variables, and kept by sums, by multiples and, with `p*n`, by `floordiv n`. So `f` has its smallest and its
//! largest value over a box in the first or the last period.
//!
//! *Systems.* `q = y floordiv n` says `0 <= y - n*q < n`. With a variable for each div, a domain is a system of linear
//! inequalities over the integers, and overlap, injectivity, containment and equality ask whether such a system has a solution:
//! elimination as in the Omega test, then branching, within a budget of effort.
//!
//! Sources: isl (S. Verdoolaege, 2010) and MLIR for forms with div variables; P. Granger (1989), Halide and TVM for
//! congruences beside intervals; egg (M. Willsey et al., 2021) for extraction by cost, here without an e-graph, since
//! alternatives are local to one form; XLA's `IndexingMap`.
//!
//! # Reading the code
//!
//! The types are [`Expr`] and [`Map`], whose methods are the questions; functions answer what concerns several maps.
//! [`Rule`] lists every law; `SIMPLIFY.md` describes the stages and why they
//! end.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

// In reading order: a module imports only modules above it, which `tests/test_layers.py` checks.
pub mod cancel;
pub(crate) mod error;

pub(crate) mod answer;
pub(crate) mod int;
pub(crate) mod limits;
pub(crate) mod list;

pub(crate) mod meter;
pub(crate) mod tuning;

pub(crate) mod components;
pub(crate) mod table;

pub(crate) mod arithmetic;
pub(crate) mod span;

pub(crate) mod expr;

pub(crate) mod delinearize;
pub(crate) mod domain;
pub(crate) mod print;

pub(crate) mod laws;
pub(crate) mod options;
pub(crate) mod trace;

pub(crate) mod affine;
pub(crate) mod rules;

pub(crate) mod eval;

pub(crate) mod map;

pub(crate) mod text;

mod fast_path;
pub(crate) mod simplify;

pub(crate) mod decide;
#[cfg(feature = "tile")]
pub mod tile;

mod questions;

pub use affine::mixed_radix::VarDigit;
pub use answer::Answer;
pub use decide::coalesce::{coalesce, fewest, merge, Coalesced, Counting};
pub use decide::common_element::{CommonElement, Point};
pub use decide::contains::{covers, Coverage};
pub use decide::count::Count;
pub use decide::injective::are_injective;
pub use decide::overlap::{are_disjoint, Meeting};
pub use decide::windows::count_windows;
pub use delinearize::delinearize;
pub use domain::{Constraint, Domain, Source, Variable};
pub use error::{Error, Result, TextError};
#[cfg(feature = "eval")]
pub use eval::program::{Points, Program};
pub use expr::{Expr, Kind, Op, Sum, Var};
pub use laws::Rule;
pub use list::List;
pub use map::{Cost, Map, State};
pub use options::Options;
pub use print::{is_hidden, Style};
pub use simplify::variables::solve;
pub use span::Interval;
pub use trace::{Statement, Step};
