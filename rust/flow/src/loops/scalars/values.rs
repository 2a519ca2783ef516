//! The reading of operations on expressions: integers over symbols, and comparisons of such.

use cancel::poll;
use hlo::{ComputationId, InstructionId, Module, Trait};
use layout::ElementKind;
use quasiaffine::Expr;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::operations::{Binary, Direction, Integers, Operation, Unary};
use super::{integers, Place, Scope, Source};
use crate::shapes::ShapeIndex;
use crate::tuning::MAX_VALUES;

/// An integer: an expression over symbols, which are dims by number, and an interval that contains its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// Its value.
    pub expr: Expr,
    /// The smallest number that it may be.
    pub lower: i128,
    /// The largest number that it may be.
    pub upper: i128,
}

/// A predicate that holds for some values of the symbols: `left direction right`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// How the sides compare.
    pub direction: Direction,
    /// The side before the direction.
    pub left: Scalar,
    /// The side behind it.
    pub right: Scalar,
}

/// What is known of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Scalar(Scalar),
    /// A truth value.
    Comparison(Box<Comparison>),
}

impl Scalar {
    /// The values of an expression.
    pub fn new(expr: Expr, (lower, upper): (i128, i128)) -> Scalar {
        Scalar { expr, lower, upper }
    }

    /// A known number, if it fits in 64 bits.
    pub fn constant(value: i128) -> Option<Scalar> {
        Some(Scalar::new(Expr::Const(i64::try_from(value).ok()?), (value, value)))
    }

    /// The number, where it is known.
    pub fn known(&self) -> Option<i128> {
        (self.lower == self.upper).then_some(self.lower)
    }

    fn sum(&self, other: &Scalar) -> Option<Scalar> {
        let ends = (self.lower.checked_add(other.lower)?, self.upper.checked_add(other.upper)?);
        Some(Scalar::new(self.expr.add(&other.expr).ok()?, ends))
    }

    fn difference(&self, other: &Scalar) -> Option<Scalar> {
        let ends = (self.lower.checked_sub(other.upper)?, self.upper.checked_sub(other.lower)?);
        Some(Scalar::new(self.expr.sub(&other.expr).ok()?, ends))
    }

    fn multiple(&self, factor: i128) -> Option<Scalar> {
        let ends = (self.lower.checked_mul(factor)?, self.upper.checked_mul(factor)?);
        let expr = self.expr.scale(i64::try_from(factor).ok()?).ok()?;
        Some(Scalar::new(expr, (ends.0.min(ends.1), ends.0.max(ends.1))))
    }

    /// A scalar that is this one where `d` is 0, and differs from another one by a constant, if there is one.
    fn at_zero_of(&self, d: &Scalar, other: &Scalar) -> Option<Scalar> {
        let rest = self.expr.sub(&other.expr).ok()?;
        let (weight, atom) = d.expr.terms().next()?;
        let own = rest.terms().find(|(_, e)| *e == atom).map_or(0, |(own, _)| own);
        let multiple = d.multiple((own % weight == 0).then_some(own / weight)?.into())?;
        let ends = (self.lower, self.upper);
        Some(Scalar::new(self.expr.sub(&multiple.expr).ok()?, ends))
    }

    /// The ends of its values where `d` is between two numbers.
    fn where_between(&self, d: &Scalar, lower: i128, upper: i128) -> (i128, i128) {
        let constant = |e: quasiaffine::Result<Expr>| e.ok()?.as_const().map(i128::from);
        let (lo, hi) = match (constant(self.expr.sub(&d.expr)), constant(self.expr.add(&d.expr))) {
            (Some(by), _) => (by + lower, by + upper),
            (_, Some(by)) => (by - upper, by - lower),
            _ => return (self.lower, self.upper),
        };
        (lo.max(self.lower), hi.min(self.upper))
    }

    fn minimum<'a>(&'a self, other: &'a Scalar) -> Option<&'a Scalar> {
        let first = (self.upper <= other.lower).then_some(self);
        first.or((other.upper <= self.lower).then_some(other))
    }

    fn maximum<'a>(&'a self, other: &'a Scalar) -> Option<&'a Scalar> {
        let first = (self.lower >= other.upper).then_some(self);
        first.or((other.lower >= self.upper).then_some(other))
    }

    /// Rounded toward zero, which is the floor where nothing is negative.
    fn quotient(&self, divisor: i128) -> Option<Scalar> {
        if divisor <= 0 || self.lower < 0 {
            return None;
        }
        let expr = self.expr.floor_div(&Expr::Const(i64::try_from(divisor).ok()?)).ok()?;
        Some(Scalar::new(expr, (self.lower / divisor, self.upper / divisor)))
    }

    fn remainder(&self, divisor: i128) -> Option<Scalar> {
        if divisor <= 0 || self.lower < 0 {
            return None;
        }
        if self.upper < divisor {
            return Some(self.clone());
        }
        let expr = self.expr.floor_mod(&Expr::Const(i64::try_from(divisor).ok()?)).ok()?;
        Some(Scalar::new(expr, (0, divisor - 1)))
    }
}

fn binary(operation: Binary, t: Integers, a: &Scalar, b: &Scalar) -> Option<Scalar> {
    let power = || b.known().filter(|n| (0..62).contains(n)).map(|n| 1 << n);
    match operation {
        Binary::Add => a.sum(b),
        Binary::Subtract => a.difference(b),
        Binary::Multiply => match (a.known(), b.known()) {
            (Some(factor), _) => b.multiple(factor),
            (_, Some(factor)) => a.multiple(factor),
            (None, None) => None,
        },
        Binary::Minimum => a.minimum(b).cloned(),
        Binary::Maximum => a.maximum(b).cloned(),
        Binary::Divide => a.quotient(b.known()?),
        Binary::Remainder => a.remainder(b.known()?),
        Binary::ShiftLeft => a.multiple(power()?),
        // The highest bit counts as a sign, also of a number without.
        Binary::ShiftRightArithmetic if a.upper >= 1 << (t.bits - 1) => None,
        Binary::ShiftRightArithmetic | Binary::ShiftRightLogical => a.quotient(power()?),
        Binary::And => {
            let (a, mask) = match (a.known(), b.known()) {
                (Some(mask), _) => (b, mask),
                (_, mask) => (a, mask?),
            };
            match mask {
                0 => Scalar::constant(0),
                _ if mask > 0 && mask & (mask + 1) == 0 => a.remainder(mask + 1),
                _ => None,
            }
        }
        Binary::Or | Binary::Xor => None,
    }
}

fn compare(direction: Direction, a: &Scalar, b: &Scalar) -> Option<Value> {
    let difference = a.difference(b)?;
    let (lower, upper) = (difference.lower, difference.upper);
    let is_equality = matches!(direction, Direction::Eq | Direction::Ne);
    let holds = direction.holds(lower, 0);
    if holds == direction.holds(upper, 0) && !(is_equality && lower < 0 && 0 < upper) {
        return Scalar::constant(holds.into()).map(Value::Scalar);
    }
    Some(Value::Comparison(Box::new(Comparison { direction, left: a.clone(), right: b.clone() })))
}

/// The first scalar where a comparison holds, else the second one, if they differ by a constant `n` on either side of it, as
/// an index that is wrapped around does: `b + n * [d < 0]` is `b - n * (d floordiv k)` where `d` is in `[-k, k - 1]`.
fn selected(test: &Comparison, a: &Scalar, b: &Scalar) -> Option<Scalar> {
    let one = Scalar::constant(1)?;
    let (left, right) = (&test.left, &test.right);
    let mut d = left.difference(right)?;
    // An equality at one end of the values is an inequality.
    let direction = match test.direction {
        Direction::Eq if d.lower == 0 => Direction::Le,
        Direction::Eq if d.upper == 0 => Direction::Ge,
        Direction::Ne if d.lower == 0 => Direction::Gt,
        Direction::Ne if d.upper == 0 => Direction::Lt,
        other => other,
    };
    let (mut a, mut b) = match test.direction {
        Direction::Eq => (a.at_zero_of(&d, b)?, b.clone()),
        Direction::Ne => (a.clone(), b.at_zero_of(&d, a)?),
        _ => (a.clone(), b.clone()),
    };
    match direction {
        Direction::Lt => {}
        Direction::Le => d = d.difference(&one)?,
        Direction::Ge => std::mem::swap(&mut a, &mut b),
        Direction::Gt => {
            d = d.difference(&one)?;
            std::mem::swap(&mut a, &mut b);
        }
        Direction::Eq | Direction::Ne => return None,
    }
    let n = i128::from(a.expr.sub(&b.expr).ok()?.as_const()?);
    let least = (-d.lower).max(d.upper.checked_add(1)?);
    let k = Expr::Const(i64::try_from(if n.abs() >= least { n.abs() } else { least }).ok()?);
    let offset = b.expr.sub(&d.expr).ok()?;
    let expr = match (offset.as_const(), &k) {
        (Some(_), Expr::Const(k)) if i128::from(*k) == n => {
            d.expr.floor_mod(&Expr::Const(*k)).ok()?.add(&offset).ok()?
        }
        _ => b.expr.sub(&d.expr.floor_div(&k).ok()?.scale(i64::try_from(n).ok()?).ok()?).ok()?,
    };
    let (below, above) = (a.where_between(&d, d.lower, -1), b.where_between(&d, 0, d.upper));
    Some(Scalar::new(expr, (below.0.min(above.0), below.1.max(above.1))))
}

impl Operation {
    /// The result, of type `t`, on values that are known; with `wraps`, they count modulo the size of their type.
    pub fn apply(self, t: Integers, operands: &[Option<Value>], wraps: bool) -> Option<Value> {
        fitted(self.on_values(t, operands)?, t, wraps)
    }

    fn on_values(self, t: Integers, operands: &[Option<Value>]) -> Option<Value> {
        let scalar = |k: usize| match operands.get(k) {
            Some(Some(Value::Scalar(scalar))) => Some(scalar),
            _ => None,
        };
        let known = |k: usize| scalar(k)?.known();
        if (0..operands.len()).all(|k| known(k).is_some()) {
            return Some(Value::Scalar(Scalar::constant(self.run(t, known)?)?));
        }
        match self {
            Operation::Select => match (known(0), &operands[0]) {
                (Some(which), _) => operands.get(if which == 0 { 2 } else { 1 })?.clone(),
                (None, _) if operands.get(1)? == operands.get(2)? => operands[1].clone(),
                (None, Some(Value::Comparison(test))) => selected(test, scalar(1)?, scalar(2)?).map(Value::Scalar),
                (None, _) => None,
            },
            Operation::Unary(Unary::Not) => match operands.first()? {
                Some(Value::Comparison(found)) => {
                    let direction = found.direction.opposite();
                    Some(Value::Comparison(Box::new(Comparison { direction, ..Comparison::clone(found) })))
                }
                _ => None,
            },
            Operation::Compare(direction) => compare(direction, scalar(0)?, scalar(1)?),
            Operation::Unary(Unary::Convert) => scalar(0).cloned().map(Value::Scalar),
            Operation::Unary(Unary::Negate) => scalar(0)?.multiple(-1).map(Value::Scalar),
            Operation::Binary(operation) => binary(operation, t, scalar(0)?, scalar(1)?).map(Value::Scalar),
            Operation::Clamp => {
                let above = scalar(0)?.maximum(scalar(1)?)?;
                above.minimum(scalar(2)?).cloned().map(Value::Scalar)
            }
        }
    }
}

/// The value if it fits its type; a known number wraps.
fn fitted(value: Value, t: Integers, wraps: bool) -> Option<Value> {
    let (lower, upper) = t.interval();
    match value {
        Value::Scalar(value) if value.lower < lower || upper < value.upper => match value.known() {
            Some(_) if t.kind == ElementKind::Boolean => None,
            Some(known) => Scalar::constant(t.wrap(known)),
            None => wraps.then(|| Scalar::new(value.expr, (lower, upper))),
        }
        .map(Value::Scalar),
        value => Some(value),
    }
}

/// The result of an operation on integers that have these values.
pub fn arithmetic(m: &Module, at: InstructionId, operands: Vec<Value>) -> Option<Value> {
    let t = integers(m, at)?;
    let operation = Operation::of(m, at, t).filter(|operation| operation.n_operands() == operands.len())?;
    let are_integers = m.operands(at).all(|k| integers(m, k).is_some());
    let operands: Vec<_> = operands.into_iter().map(Some).collect();
    operation.apply(t, &operands, false).filter(|_| are_integers)
}

/// The values of the integer scalars of a computation and of those that it calls.
pub(in crate::loops) struct Values {
    pub scope: Scope,
    /// Those of its parameter, by leaf.
    pub parameter: FxHashMap<ShapeIndex, Value>,
    /// Values count modulo the size of their type; only sums, differences, multiples and comparisons of these have one.
    wraps: bool,
    known: FxHashMap<Place, Option<Value>>,
    /// The leaves of the parameter that were read, in order.
    pub read: Vec<ShapeIndex>,
    /// Whether nothing was computed from scalars so far but comparisons.
    pub only_compares: bool,
    /// The values that are symbols of their own, where there may be some: number `k` is `d(k + 1)`.
    pub symbols: Option<Vec<Symbol>>,
}

/// An instruction whose value is a symbol, and its bounds.
pub(in crate::loops) type Symbol = (InstructionId, (i128, i128));

impl Values {
    pub fn new(computation: ComputationId, parameter: FxHashMap<ShapeIndex, Value>, wraps: bool) -> Values {
        let (scope, known) = (Scope::new(&[computation]), FxHashMap::default());
        Values { scope, parameter, wraps, known, read: Vec::new(), only_compares: true, symbols: None }
    }

    /// The value of a scalar.
    pub fn of(&mut self, m: &Module, place: Place) -> Option<Value> {
        let n_before = self.known.len();
        let mut waiting = vec![place.clone()];
        while let Some(last) = waiting.last() {
            if self.known.contains_key(last) {
                waiting.pop();
                continue;
            }
            let last = last.clone();
            let source = self.scope.source(m, &last);
            let n = waiting.len();
            // The first operand first: what is read is noted in order.
            let operands = source.iter().flat_map(|source| source.places().iter().rev());
            waiting.extend(operands.filter(|place| !self.known.contains_key(place)).cloned());
            if waiting.len() + self.known.len() - n_before > MAX_VALUES {
                self.known.insert(place, None);
                return None;
            }
            if waiting.len() == n {
                poll();
                waiting.pop();
                let value = match source {
                    Some(source) => self.value(m, &last, source),
                    None => self.device(m, &last),
                };
                self.known.insert(last, value);
            }
        }
        self.known[&place].clone()
    }

    /// The number of a scalar, where it is known.
    pub fn number(&mut self, m: &Module, place: Place) -> Option<i128> {
        self.scalar(m, place)?.known()
    }

    /// The value of a scalar that is a number.
    pub fn scalar(&mut self, m: &Module, place: Place) -> Option<Scalar> {
        match self.of(m, place)? {
            Value::Scalar(scalar) => Some(scalar),
            Value::Comparison(_) => None,
        }
    }

    /// The symbol of an instruction, whose value has these bounds.
    pub fn symbol(&mut self, id: InstructionId, interval: (i128, i128)) -> Option<Scalar> {
        let symbols = self.symbols.as_mut()?;
        let k = symbols.iter().position(|symbol| symbol.0 == id).unwrap_or_else(|| {
            symbols.push((id, interval));
            symbols.len() - 1
        });
        Some(Scalar::new(Expr::dim(k as u32 + 1), interval))
    }

    /// The number of the device that runs the program, which no iteration changes.
    fn device(&mut self, m: &Module, place: &Place) -> Option<Value> {
        let last = m.n_devices_of(place.at)? - 1;
        self.symbol(place.at, (0, last.into())).map(Value::Scalar)
    }

    fn value(&mut self, m: &Module, place: &Place, source: Source) -> Option<Value> {
        match source {
            Source::Same(from) => self.known[&from].clone(),
            Source::Known(number) => Some(Value::Scalar(Scalar::constant(number)?)),
            Source::Leaf(_, Some(_)) => None,
            Source::Leaf(leaf, None) => {
                let value = self.parameter.get(&leaf).cloned();
                self.read.push(leaf);
                value
            }
            Source::Computed(operation, t, places) => {
                let is_compare = matches!(operation, Operation::Compare(_));
                self.only_compares &= is_compare;
                let operands: SmallVec<[Option<Value>; 3]> = places.iter().map(|k| self.known[k].clone()).collect();
                if self.wraps && !m.instructions()[place.at as usize].opcode.has(Trait::MODULAR) {
                    // A number that is known is not only known modulo the size of its type.
                    let is_known =
                        |value: &Option<Value>| matches!(value, Some(Value::Scalar(s)) if s.known().is_some());
                    if !operands.iter().all(is_known) {
                        return None;
                    }
                }
                operation.apply(t, &operands, self.wraps)
            }
        }
    }
}
