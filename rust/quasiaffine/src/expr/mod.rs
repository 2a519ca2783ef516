//! Expressions: immutable values in normal form, compared and hashed by structure.
//!
//! The constructors of [`Expr`] keep a normal form: constants are folded; a sum is one flat list of distinct
//! terms `coefficient * atom` in a fixed order plus one constant, so that `x + x`, `2 * x` and `x * 2` are one value;
//! `a ceildiv b` is `(a + b - 1) floordiv b`. Nothing here looks deeper than one node and nothing needs an interval:
//! that is the simplifier's work. Nodes are shared, and expressions nest at most [`DEPTH`] deep.
//!
//! The node of a sum stores three terms inline. Measured in instructions on composed reshapes, room for one takes 3 %
//! more and two fifths more allocations; room for two or four is within 1 %, so nodes stay small.

mod accumulator;
pub(crate) mod evaluate;
pub(crate) mod intervals;
mod order;
mod substitution;
mod variable;

pub(crate) use accumulator::Accumulator;
pub(crate) use substitution::Substitution;
pub use variable::{Kind, Var};

use crate::limits::DEPTH;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::arithmetic::Binary;
use crate::error::{Error, Result};
use crate::int;

/// Trees with fewer nodes are walked whole, since a set of visited nodes costs more.
const SMALL: u32 = 32;

/// An integer expression.
///
/// ```
/// use quasiaffine::Expr;
/// // Equal sums are one value, whatever their text.
/// let (a, b): (Expr, Expr) = ("d0 + 2 * d1 + d0 + 3".parse()?, "(3 + d1 * 2) + d0 * 2".parse()?);
/// assert_eq!((a.to_string(), a == b), ("d0 * 2 + d1 * 2 + 3".to_owned(), true));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone)]
pub enum Expr {
    /// A constant.
    Const(i64),
    /// A variable.
    Var(Var),
    /// Anything else, shared.
    Node(Arc<Node>),
}

/// An operation with its operands, and cached facts about the whole tree.
pub struct Node {
    op: Op,
    hash: u64,
    nodes: u32,
    divmods: u32,
    depth: u16,
    first: Var,
}

/// The operations.
///
/// ```
/// use quasiaffine::{Expr, Op};
/// let e: Expr = "(d0 + 3) floordiv 4".parse()?;
/// let Some(Op::FloorDiv(a, n)) = e.op() else { panic!("a division") };
/// assert_eq!((a.to_string(), n.as_const()), ("d0 + 3".to_owned(), Some(4)));
/// assert!(Expr::dim(0).op().is_none());
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum Op {
    /// A constant plus multiples of distinct atoms.
    Sum(Sum),
    /// A product of two expressions, neither of them constant.
    Product(Expr, Expr),
    /// Floor division.
    FloorDiv(Expr, Expr),
    /// The remainder of floor division.
    Mod(Expr, Expr),
    /// The smaller of two.
    Min(Expr, Expr),
    /// The larger of two.
    Max(Expr, Expr),
}

/// An operation with its operands: a sum or a binary operation.
pub(crate) enum Parts<'a> {
    Sum(&'a Sum),
    Binary(Binary, &'a Expr, &'a Expr),
}

/// `constant + sum of coefficient * atom`; the terms are in [`Expr`] order, none is zero, none is itself a sum.
///
/// ```
/// use quasiaffine::{Expr, Op};
/// let e: Expr = "d0 * 8 + d1".parse()?;
/// let Some(Op::Sum(sum)) = e.op() else { panic!("a sum") };
/// let summands: Vec<String> = sum.summands()?.iter().map(Expr::to_string).collect();
/// assert_eq!((sum.is_multiple(), summands), (false, vec!["d0 * 8".to_owned(), "d1".to_owned()]));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Sum {
    pub(crate) constant: i64,
    pub(crate) terms: SmallVec<[Term; 3]>,
}

/// One term of a sum.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Term {
    /// Its factor, not 0.
    pub coefficient: i64,
    /// The other factor: a variable, or a node that is not a sum.
    pub atom: Expr,
}

impl Expr {
    /// The dimension variable `d{index}`.
    pub const fn dim(index: u32) -> Expr {
        Expr::Var(Var { kind: Kind::Dim, index })
    }

    /// The range variable `s{index}`.
    pub const fn range(index: u32) -> Expr {
        Expr::Var(Var { kind: Kind::Range, index })
    }

    /// The runtime variable `rt{index}`.
    pub const fn runtime(index: u32) -> Expr {
        Expr::Var(Var { kind: Kind::Runtime, index })
    }

    /// The value of a constant.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// assert_eq!((Expr::from(7).as_const(), Expr::dim(0).as_const()), (Some(7), None));
    /// ```
    pub const fn as_const(&self) -> Option<i64> {
        match self {
            Expr::Const(c) => Some(*c),
            _ => None,
        }
    }

    /// The operation at the root, if there is one.
    pub fn op(&self) -> Option<&Op> {
        match self {
            Expr::Node(node) => Some(&node.op),
            _ => None,
        }
    }

    /// The sum of multiples `factor * expr`.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// let (row, column) = (Expr::dim(0), Expr::dim(1));
    /// let position = Expr::sum([(12, &row), (1, &column), (1, &Expr::from(7)), (-1, &column)])?;
    /// assert_eq!(position.to_string(), "d0 * 12 + 7");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Overflow`] if a factor or the constant of the sum leaves 64 bits.
    pub fn sum<'a>(terms: impl IntoIterator<Item = (i64, &'a Expr)>) -> Result<Expr> {
        let mut sum = Accumulator::default();
        terms.into_iter().try_for_each(|(factor, expr)| sum.add(factor, expr))?;
        sum.finish()
    }

    /// `self + other`.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// assert_eq!(Expr::dim(0).add(&Expr::from(1))?.add(&Expr::from(-1))?, Expr::dim(0));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn add(&self, other: &Expr) -> Result<Expr> {
        Expr::sum([(1, self), (1, other)])
    }

    /// `self - other`.
    pub fn sub(&self, other: &Expr) -> Result<Expr> {
        Expr::sum([(1, self), (-1, other)])
    }

    /// `factor * self`.
    ///
    /// ```
    /// use quasiaffine::{Error, Expr};
    /// let twice = Expr::dim(0).scale(2)?;
    /// assert_eq!((twice.to_string(), twice.scale(i64::MAX)), ("d0 * 2".to_owned(), Err(Error::Overflow("a value"))));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn scale(&self, factor: i64) -> Result<Expr> {
        Expr::sum([(factor, self)])
    }

    /// `self * other`.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// let (rows, columns) = (Expr::dim(0), Expr::dim(1));
    /// assert_eq!(rows.mul(&columns)?, columns.mul(&rows)?);
    /// assert_eq!(rows.mul(&Expr::from(3))?.to_string(), "d0 * 3");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn mul(&self, other: &Expr) -> Result<Expr> {
        match (self, other) {
            (Expr::Const(c), x) | (x, Expr::Const(c)) => x.scale(*c),
            (a, b) if a <= b => Expr::node(Op::Product(a.clone(), b.clone())),
            (a, b) => Expr::node(Op::Product(b.clone(), a.clone())),
        }
    }

    /// `self floordiv divisor`. By a negative constant, `x floordiv -n = (-x) floordiv n`.
    ///
    /// ```
    /// use quasiaffine::{Error, Expr};
    /// assert_eq!(Expr::from(-7).floor_div(&Expr::from(2))?, Expr::from(-4));
    /// assert_eq!(Expr::dim(0).floor_div(&Expr::from(-2))?.to_string(), "(-d0) floordiv 2");
    /// assert!(matches!(Expr::dim(0).floor_div(&Expr::from(0)), Err(Error::Divisor(_))));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Divisor`] for 0, [`Error::Overflow`] for -2^63, whose negative does not fit.
    pub fn floor_div(&self, divisor: &Expr) -> Result<Expr> {
        match (self, divisor) {
            (_, Expr::Const(0)) => Err(Error::Divisor("0".to_owned())),
            (Expr::Const(c), Expr::Const(d)) => {
                let quotient = i64::try_from(floor_quotient(*c, *d));
                quotient.map(Expr::Const).map_err(|_| Error::Overflow("a quotient"))
            }
            (x, Expr::Const(d)) if *d < 0 => x.scale(-1)?.floor_div(&Expr::Const(negated(*d)?)),
            (x, Expr::Const(1)) => Ok(x.clone()),
            (x, d) => Expr::node(Op::FloorDiv(x.clone(), d.clone())),
        }
    }

    /// `self mod divisor = self - divisor * (self floordiv divisor)`, which has the sign of the divisor: by a negative
    /// constant, `x mod -n = -((-x) mod n)`.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// assert_eq!(Expr::from(-7).floor_mod(&Expr::from(2))?, Expr::from(1));
    /// assert_eq!(Expr::from(7).floor_mod(&Expr::from(-2))?, Expr::from(-1));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Expr::floor_div`].
    pub fn floor_mod(&self, divisor: &Expr) -> Result<Expr> {
        match (self, divisor) {
            (_, Expr::Const(0)) => Err(Error::Divisor("0".to_owned())),
            (Expr::Const(c), Expr::Const(d)) => {
                let remainder = i128::from(*c) - i128::from(*d) * floor_quotient(*c, *d);
                Ok(Expr::Const(i64::try_from(remainder).map_err(|_| Error::Overflow("a remainder"))?))
            }
            (x, Expr::Const(d)) if *d < 0 => x.scale(-1)?.floor_mod(&Expr::Const(negated(*d)?))?.scale(-1),
            (_, Expr::Const(1)) => Ok(Expr::Const(0)),
            (x, d) => Expr::node(Op::Mod(x.clone(), d.clone())),
        }
    }

    /// `self ceildiv divisor = (self + divisor - 1) floordiv divisor`. By a negative constant,
    /// `x ceildiv -n = (-x) ceildiv n`.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// assert_eq!(Expr::from(7).ceil_div(&Expr::from(2))?, Expr::from(4));
    /// assert_eq!(Expr::dim(0).ceil_div(&Expr::from(2))?.to_string(), "(d0 + 1) floordiv 2");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Expr::floor_div`].
    pub fn ceil_div(&self, divisor: &Expr) -> Result<Expr> {
        if let Some(d) = divisor.as_const().filter(|d| *d < 0) {
            return self.scale(-1)?.ceil_div(&Expr::Const(negated(d)?));
        }
        self.add(divisor)?.add(&Expr::Const(-1))?.floor_div(divisor)
    }

    /// The smaller of the two.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// assert_eq!(Expr::dim(0).minimum(&Expr::from(7))?.maximum(&Expr::from(0))?.to_string(), "max(min(d0, 7), 0)");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn minimum(&self, other: &Expr) -> Result<Expr> {
        match (self, other) {
            (a, b) if a == b => Ok(a.clone()),
            (Expr::Const(a), Expr::Const(b)) => Ok(Expr::Const(*a.min(b))),
            (a, b) if a <= b => Expr::node(Op::Min(a.clone(), b.clone())),
            (a, b) => Expr::node(Op::Min(b.clone(), a.clone())),
        }
    }

    /// The larger of the two.
    pub fn maximum(&self, other: &Expr) -> Result<Expr> {
        match (self, other) {
            (a, b) if a == b => Ok(a.clone()),
            (Expr::Const(a), Expr::Const(b)) => Ok(Expr::Const(*a.max(b))),
            (a, b) if a <= b => Expr::node(Op::Max(a.clone(), b.clone())),
            (a, b) => Expr::node(Op::Max(b.clone(), a.clone())),
        }
    }

    /// The number of nodes of the expression as a tree, as it prints: leaves, operators and signs. Saturates.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// let e: Expr = "(d0 * 3 + d1) floordiv 4".parse()?;
    /// assert_eq!((e.nodes(), e.divmods(), e.depth()), (7, 1, 2));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn nodes(&self) -> u32 {
        match self {
            Expr::Node(node) => node.nodes,
            _ => 1,
        }
    }

    /// The number of floor divisions and remainders in the tree. Saturates.
    pub fn divmods(&self) -> u32 {
        match self {
            Expr::Node(node) => node.divmods,
            _ => 0,
        }
    }

    /// The depth of the tree; 0 for a leaf.
    pub fn depth(&self) -> u16 {
        match self {
            Expr::Node(node) => node.depth,
            _ => 0,
        }
    }

    /// The smallest variable that occurs, if any does.
    pub fn first_var(&self) -> Option<Var> {
        match self {
            Expr::Const(_) => None,
            Expr::Var(v) => Some(*v),
            Expr::Node(node) => Some(node.first),
        }
    }

    /// The operands of the root, in order.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// let e: Expr = "d0 * 3 + d1 mod 4 + 5".parse()?;
    /// let operands: Vec<String> = e.operands().map(Expr::to_string).collect();
    /// assert_eq!(operands, ["d0", "d1 mod 4"]);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn operands(&self) -> impl Iterator<Item = &Expr> {
        let (terms, pair): (&[Term], _) = match self.op().map(Op::parts) {
            None => (&[], [None, None]),
            Some(Parts::Sum(sum)) => (&sum.terms, [None, None]),
            Some(Parts::Binary(_, a, b)) => (&[], [Some(a), Some(b)]),
        };
        terms.iter().map(|t| &t.atom).chain(pair.into_iter().flatten())
    }

    /// The constant of a sum; 0 if it has none.
    pub fn constant(&self) -> i64 {
        match (self, self.op()) {
            (Expr::Const(c), _) => *c,
            (_, Some(Op::Sum(sum))) => sum.constant,
            _ => 0,
        }
    }

    /// The factors and atoms of a sum. Any other expression but a constant counts as a sum with one atom.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// let e: Expr = "d0 * 3 - d1 mod 4 + 5".parse()?;
    /// let terms: Vec<(i64, String)> = e.terms().map(|(factor, atom)| (factor, atom.to_string())).collect();
    /// assert_eq!((terms, e.constant()), (vec![(3, "d0".to_owned()), (-1, "d1 mod 4".to_owned())], 5));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn terms(&self) -> impl Iterator<Item = (i64, &Expr)> {
        let (terms, own): (&[Term], _) = match (self, self.op()) {
            (Expr::Const(_), _) => (&[], None),
            (_, Some(Op::Sum(sum))) => (&sum.terms, None),
            _ => (&[], Some((1, self))),
        };
        terms.iter().map(|t| (t.coefficient, &t.atom)).chain(own)
    }

    /// `k`, `x` and `c` if the expression is `k*x + c` with one atom `x`.
    pub(crate) fn as_line(&self) -> Option<(i64, &Expr, i64)> {
        let mut terms = self.terms();
        let (k, x) = terms.next()?;
        terms.next().is_none().then(|| (k, x, self.constant()))
    }

    /// The factor of a variable among the terms.
    pub(crate) fn factor(&self, v: Var) -> Option<i64> {
        self.terms().find(|(_, atom)| **atom == Expr::Var(v)).map(|(k, _)| k)
    }

    /// `k` and `rest` if the expression is `k*v + rest`; other atoms of the rest may have the variable, too.
    pub(crate) fn split(&self, v: Var) -> Option<(i64, Expr)> {
        let k = self.factor(v)?;
        Some((k, self.sub(&Expr::Var(v).scale(k).ok()?).ok()?))
    }

    /// Changes each operand of the root; a leaf stays as it is.
    pub(crate) fn with_operands(&self, mut change: impl FnMut(&Expr) -> Result<Expr>) -> Result<Expr> {
        match self.op().map(Op::parts) {
            None => Ok(self.clone()),
            Some(Parts::Sum(sum)) => {
                let mut out = Accumulator::default();
                for term in &sum.terms {
                    out.add(term.coefficient, &change(&term.atom)?)?;
                }
                out.add(1, &Expr::Const(sum.constant))?;
                out.finish()
            }
            Some(Parts::Binary(op, a, b)) => op.of(&change(a)?, &change(b)?),
        }
    }

    /// The expression with every variable replaced. Shared nodes are replaced once.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// let e: Expr = "d0 floordiv 4 + d1".parse()?;
    /// let moved = e.substitute(&|v| Expr::Var(v).add(&Expr::from(4)))?;
    /// assert_eq!(moved.to_string(), "(d0 + 4) floordiv 4 + d1 + 4");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn substitute(&self, replace: &dyn Fn(Var) -> Result<Expr>) -> Result<Expr> {
        Substitution::new(replace).apply(self)
    }

    /// Calls `visit` with every variable that occurs. Shared nodes may be visited only once.
    pub fn for_each_var(&self, visit: &mut dyn FnMut(Var)) {
        let mut seen = rustc_hash::FxHashSet::default();
        self.walk_vars(visit, &mut seen);
    }

    /// Whether some variable satisfies `is_wanted`.
    ///
    /// ```
    /// use quasiaffine::{Expr, Kind};
    /// let e: Expr = "d0 + s0 mod 4".parse()?;
    /// assert!(e.any_var(&|v| v.kind == Kind::Range) && !e.any_var(&|v| v.kind == Kind::Runtime));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn any_var(&self, is_wanted: &dyn Fn(Var) -> bool) -> bool {
        let mut found = false;
        self.for_each_var(&mut |v| found |= is_wanted(v));
        found
    }

    /// Whether a variable occurs.
    pub(crate) fn has_var(&self, v: Var) -> bool {
        self.any_var(&|w| w == v)
    }

    fn walk_vars(&self, visit: &mut dyn FnMut(Var), seen: &mut rustc_hash::FxHashSet<*const Node>) {
        match self {
            Expr::Const(_) => {}
            Expr::Var(v) => visit(*v),
            Expr::Node(node) => {
                // Walking a small tree is faster than remembering it.
                if node.nodes < SMALL || Arc::strong_count(node) == 1 || seen.insert(Arc::as_ptr(node)) {
                    for operand in self.operands() {
                        operand.walk_vars(visit, seen);
                    }
                }
            }
        }
    }

    fn node(op: Op) -> Result<Expr> {
        let mut hasher = rustc_hash::FxHasher::default();
        let (mut nodes, mut divmods, mut depth) = (1u32, 0u32, 0u16);
        let mut first = Var { kind: Kind::Runtime, index: u32::MAX };
        let mut meet = |e: &Expr, nodes: &mut u32, hasher: &mut rustc_hash::FxHasher| {
            *nodes = nodes.saturating_add(e.nodes());
            divmods = divmods.saturating_add(e.divmods());
            depth = depth.max(e.depth() + 1);
            if let Some(v) = e.first_var() {
                first = first.min(v);
            }
            e.hash(hasher);
        };
        let own_divmods = u32::from(matches!(op, Op::FloorDiv(..) | Op::Mod(..)));
        hasher.write_u8(op.rank());
        match op.parts() {
            Parts::Sum(sum) => {
                hasher.write_i64(sum.constant);
                nodes = sum.own_nodes();
                for term in &sum.terms {
                    hasher.write_i64(term.coefficient);
                    meet(&term.atom, &mut nodes, &mut hasher);
                }
            }
            Parts::Binary(_, a, b) => {
                meet(a, &mut nodes, &mut hasher);
                meet(b, &mut nodes, &mut hasher);
            }
        }
        if depth > DEPTH {
            return Err(Error::TooLarge("the expression nests too deep (more than 400 levels)"));
        }
        let divmods = divmods.saturating_add(own_divmods);
        Ok(Expr::Node(Arc::new(Node { op, hash: hasher.finish(), nodes, divmods, depth, first })))
    }
}

/// The largest integer that is not above `a / b`, for any `b` but 0.
fn floor_quotient(a: i64, b: i64) -> i128 {
    let (a, b) = (i128::from(a), i128::from(b));
    int::floor_div_any(if b < 0 { -a } else { a }, b.abs())
}

/// The negated divisor.
fn negated(divisor: i64) -> Result<i64> {
    divisor.checked_neg().ok_or(Error::Overflow("the negative of the divisor -9223372036854775808"))
}

impl Op {
    /// Splits the operation by kind.
    #[inline(always)]
    pub(crate) const fn parts(&self) -> Parts<'_> {
        match self {
            Op::Sum(sum) => Parts::Sum(sum),
            Op::Product(a, b) => Parts::Binary(Binary::Product, a, b),
            Op::FloorDiv(a, b) => Parts::Binary(Binary::FloorDiv, a, b),
            Op::Mod(a, b) => Parts::Binary(Binary::Mod, a, b),
            Op::Min(a, b) => Parts::Binary(Binary::Min, a, b),
            Op::Max(a, b) => Parts::Binary(Binary::Max, a, b),
        }
    }

    const fn rank(&self) -> u8 {
        match self.parts() {
            Parts::Sum(_) => 0,
            Parts::Binary(op, ..) => op as u8 + 1,
        }
    }
}

impl Binary {
    /// The operation on two expressions.
    pub(crate) fn of(self, a: &Expr, b: &Expr) -> Result<Expr> {
        match self {
            Binary::Product => a.mul(b),
            Binary::FloorDiv => a.floor_div(b),
            Binary::Mod => a.floor_mod(b),
            Binary::Min => a.minimum(b),
            Binary::Max => a.maximum(b),
        }
    }
}

impl Sum {
    /// Whether the sum is a single multiple `coefficient * atom`.
    pub fn is_multiple(&self) -> bool {
        self.as_multiple().is_some()
    }

    /// The factor and the atom of a sum that is a multiple `coefficient * atom`.
    fn as_multiple(&self) -> Option<&Term> {
        match (self.constant, self.terms.as_slice()) {
            (0, [term]) => Some(term),
            _ => None,
        }
    }

    /// The summands: each term with its coefficient, then a constant other than 0. A single multiple is split into its
    /// atom and its factor instead.
    ///
    /// # Errors
    /// As [`Expr::scale`].
    pub fn summands(&self) -> Result<Vec<Expr>> {
        if let Some(Term { coefficient, atom }) = self.as_multiple() {
            return Ok(vec![atom.clone(), Expr::Const(*coefficient)]);
        }
        let terms = self.terms.iter().map(|t| t.atom.scale(t.coefficient));
        terms.chain((self.constant != 0).then_some(Ok(Expr::Const(self.constant)))).collect()
    }

    /// Makes the expression of sorted terms, each with its own atom and a factor other than 0.
    pub(crate) fn finish(self) -> Result<Expr> {
        match (self.constant, self.terms.as_slice()) {
            (c, []) => Ok(Expr::Const(c)),
            (0, [Term { coefficient: 1, atom }]) => Ok(atom.clone()),
            _ => Expr::node(Op::Sum(self)),
        }
    }

    /// The nodes that the sum itself adds to those of its atoms: factors, operators, signs and the constant.
    fn own_nodes(&self) -> u32 {
        let summands = self.terms.len() as u32 + u32::from(self.constant != 0);
        let factors: u32 = self.terms.iter().map(|t| if t.coefficient.unsigned_abs() == 1 { 0 } else { 2 }).sum();
        let sign = u32::from(self.terms.first().is_some_and(|t| t.coefficient == -1));
        (summands - 1) + factors + sign + u32::from(self.constant != 0)
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Expr {
        Expr::Const(value)
    }
}

impl std::fmt::Debug for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_expr;

    /// A sum of multiples of three variables, divided, as it prints.
    fn outcome(text: &str) -> String {
        parse_expr(text).map_or_else(|e| format!("{e:?}"), |e| e.to_string())
    }

    #[test]
    fn a_negative_constant_divisor_becomes_positive() {
        let cases = [
            ("d0 floordiv -3", "(-d0) floordiv 3"),
            ("(d0 * -2 + 5) floordiv -3", "(d0 * 2 - 5) floordiv 3"),
            ("d0 mod -3", "-((-d0) mod 3)"),
            ("d0 ceildiv -3", "(-d0 + 2) floordiv 3"),
            ("d0 floordiv -1", "-d0"),
            ("d0 mod -1", "0"),
        ];
        for (given, wanted) in cases {
            assert_eq!(outcome(given), wanted, "{given}");
        }
        for a in -20..=20 {
            for b in (-7i64..=7).filter(|b| *b != 0) {
                let real = (a as f64 / b as f64, Expr::Const(a), Expr::Const(b));
                let (quotient, a, b) = (real.0.floor() as i64, real.1, real.2);
                assert_eq!(a.floor_div(&b), Ok(Expr::Const(quotient)));
                assert_eq!(a.ceil_div(&b), Ok(Expr::Const(real.0.ceil() as i64)));
                let product = b.scale(quotient).unwrap();
                assert_eq!(a.floor_mod(&b), a.sub(&product));
            }
        }
    }

    #[test]
    fn divisors_without_a_negative_are_errors() {
        let min = Expr::Const(i64::MIN);
        assert!(matches!(Expr::dim(0).floor_div(&Expr::Const(0)), Err(Error::Divisor(_))));
        assert!(matches!(Expr::dim(0).floor_mod(&Expr::Const(0)), Err(Error::Divisor(_))));
        assert!(matches!(Expr::dim(0).ceil_div(&Expr::Const(0)), Err(Error::Divisor(_))));
        assert!(matches!(Expr::dim(0).floor_div(&min), Err(Error::Overflow(_))));
        assert!(matches!(Expr::dim(0).floor_mod(&min), Err(Error::Overflow(_))));
        assert!(matches!(min.floor_div(&Expr::Const(-1)), Err(Error::Overflow(_))));
        assert_eq!(min.floor_div(&Expr::Const(-3)), Ok(Expr::Const(3_074_457_345_618_258_602)));
        assert_eq!(min.floor_mod(&Expr::Const(-3)), Ok(Expr::Const(-2)));
        assert_eq!(Expr::Const(5).floor_div(&min), Ok(Expr::Const(-1)));
        assert_eq!(Expr::Const(5).floor_mod(&min), Ok(Expr::Const(i64::MIN + 5)));
    }
}
