//! Counts of a loop: the trip count, the leaves that count, and the scalars of the body.
//!
//! Iteration `t` of `T` runs from 0; a leaf that counts is `start + step * t` at the beginning of iteration `t`. Only the
//! loop, its body and condition, and the computation around it are read.

use std::collections::BTreeMap;

use hlo::{ComputationId, InstructionId, Module, Opcode, Value as Attribute};
use layout::ElementKind;
use quasiaffine::{Expr, Kind, Var};
use rustc_hash::FxHashMap;

use super::build::linear;
use super::running::count_iterations;
use super::scalars::operations::{Direction, Integers};
use super::scalars::values::{Comparison, Scalar, Value, Values};
use super::scalars::{integers, Part, Place, Source};
use crate::shapes::{self, ShapeIndex};
use crate::tuning::MAX_TRIP_COUNT;

/// A leaf that counts: `start + step * t` at the beginning of iteration `t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Induction {
    /// Its value before the first iteration.
    pub start: i128,
    /// What each iteration adds.
    pub step: i128,
}

/// The counts that the backend configuration states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stated {
    trip_count: Option<i64>,
    induction: Option<i64>,
    init: Option<i64>,
}

/// What is known of a loop before its first iteration.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The integer scalars of the state.
    pub(super) integers: BTreeMap<ShapeIndex, Integers>,
    stated: Stated,
    /// The numbers with which integer scalars begin, where they are known, and the sizes of dynamic dimensions. A size has
    /// the index of its array, with the dimension behind it.
    pub numbers: BTreeMap<ShapeIndex, i128>,
    /// The values with which other integer scalars begin, where the computation of the loop makes the tuple.
    suppliers: BTreeMap<ShapeIndex, InstructionId>,
}

/// The facts about one loop that do not depend on its arrays.
pub struct CountedLoop {
    /// The loop.
    pub id: InstructionId,
    /// What decides whether there is another iteration.
    pub condition: ComputationId,
    /// What every iteration applies to the state.
    pub body: ComputationId,
    /// What the other facts rest on.
    pub start: Start,
    /// The number of iterations, or why it is not known.
    pub trip_count: Result<i64, String>,
    /// The leaf that counts and that the condition reads.
    pub counter: Option<ShapeIndex>,
    /// The leaves that count.
    pub inductions: BTreeMap<ShapeIndex, Induction>,
    /// Integer scalars that stay as they are, with the value where it is known.
    pub(super) invariants: BTreeMap<ShapeIndex, Option<i128>>,
}

impl Start {
    /// Finds what is known of a loop.
    pub fn find(m: &Module, id: InstructionId) -> Start {
        let shape = m.shape(id);
        let mut start = Start::default();
        for (leaf, array) in shapes::leaves(shape).into_iter().filter_map(|(leaf, s)| Some((leaf, s.as_array()?))) {
            if let Some(integers) = Integers::of(array.element()).filter(|_| array.n_elements() == Some(1)) {
                start.integers.insert(leaf, integers);
            }
        }
        let number = |field, inner| m.config_number(id, field, inner).filter(|n| n.unsigned_abs() < 1 << 62);
        start.stated = Stated {
            trip_count: number("known_trip_count", "n").filter(|n| *n >= 0),
            induction: number("known_induction_variable", "tuple_index"),
            init: number("known_init_step", "init"),
        };
        let (Some(operand), 1) = (m.operand(id, 0), m.operands(id).len()) else { return start };
        let mut values = Values::new(m.computation_of(id), FxHashMap::default(), false);
        for leaf in start.integers.keys() {
            if let Some(known) = values.number(m, Place::of(operand, leaf.clone())) {
                start.numbers.insert(leaf.clone(), known);
            }
        }
        for (leaf, array) in shapes::array_indices(shape) {
            for dim in (0..array.dims().len() as u32).filter(|dim| array.is_dynamic(*dim as usize)) {
                let place = Place { part: Part::Size(dim), ..Place::of(operand, leaf.clone()) };
                if let Some(size) = values.number(m, place) {
                    start.numbers.insert(leaf.iter().copied().chain([dim]).collect(), size);
                }
            }
        }
        if let (Some(leaf), Some(init)) = (start.stated_leaf(m, id), start.stated.init) {
            if start.integers.contains_key(&leaf) {
                start.numbers.entry(leaf).or_insert(init.into());
            }
        }
        for leaf in start.integers.keys().filter(|leaf| !start.numbers.contains_key(*leaf)) {
            if let Some(supplier) = initial(m, &mut values, operand, leaf) {
                start.suppliers.insert(leaf.clone(), supplier);
            }
        }
        start
    }

    /// What is known beside the shape; of suppliers which of them are one.
    pub fn text(&self) -> String {
        let mut first: FxHashMap<InstructionId, &ShapeIndex> = FxHashMap::default();
        let suppliers = self.suppliers.iter();
        let same: Vec<_> = suppliers.map(|(leaf, value)| (leaf, *first.entry(*value).or_insert(leaf))).collect();
        format!("{:?} {:?} {same:?}", self.stated, self.numbers)
    }

    /// Whether the program states a count, or where one begins.
    pub fn is_stated(&self) -> bool {
        self.stated != Stated::default()
    }

    fn stated_leaf(&self, m: &Module, id: InstructionId) -> Option<ShapeIndex> {
        let number = u32::try_from(self.stated.induction?).ok()?;
        Some(m.shape(id).as_tuple().map_or_else(ShapeIndex::new, |_| ShapeIndex::from_slice(&[number])))
    }
}

/// The array with which a leaf begins; `None` where the tuple is not made in the computation of the loop.
fn initial(m: &Module, values: &mut Values, operand: InstructionId, leaf: &ShapeIndex) -> Option<InstructionId> {
    let mut place = Place::all(operand, leaf.clone());
    loop {
        let hands_on = match m.instructions()[place.at as usize].opcode {
            Opcode::Tuple => !place.index.is_empty(),
            Opcode::GetTupleElement => true,
            Opcode::Copy | Opcode::OptBarrier => m.shape(place.at).as_tuple().is_some(),
            _ => false,
        };
        if !hands_on {
            return (place.index.is_empty() && m.shape(place.at).as_array().is_some()).then_some(place.at);
        }
        let Some(Source::Same(before)) = values.scope.source(m, &place) else { return None };
        place = before;
    }
}

/// The condition and the body of a loop, checked against the state.
///
/// # Errors
/// The reason why they do not fit.
pub fn condition_and_body(m: &Module, id: InstructionId) -> Result<(ComputationId, ComputationId), &'static str> {
    let called = |name| match m.attribute_value(id, name) {
        Some(Attribute::Computation(c)) => Ok(c),
        _ => Err("expected a condition and a body"),
    };
    let (condition, body) = (called("condition")?, called("body")?);
    if m.operands(id).len() != 1 {
        return Err("expected one operand");
    }
    for computation in [condition, body] {
        let [parameter] = m.parameters(computation) else { return Err("condition and body take one parameter") };
        if !shapes::same_arrays(m.shape(*parameter), m.shape(id)) {
            return Err("the parameter of condition or body differs in shape from the carried value");
        }
    }
    match shapes::same_arrays(m.shape(m.root(body)), m.shape(id)) {
        true => Ok((condition, body)),
        false => Err("the result of the body differs in shape from the carried value"),
    }
}

impl CountedLoop {
    /// The facts about a loop.
    ///
    /// # Errors
    /// The reason why condition and body do not fit the state.
    pub fn of(m: &Module, id: InstructionId) -> Result<CountedLoop, &'static str> {
        let (condition, body) = condition_and_body(m, id)?;
        let (start, trip_count) = (Start::find(m, id), Err(String::new()));
        let (inductions, invariants) = (BTreeMap::new(), BTreeMap::new());
        let mut found = CountedLoop { id, condition, body, start, trip_count, counter: None, inductions, invariants };
        found.find_steps(m);
        let (counter, by_condition) = found.count_by_condition(m);
        found.counter = counter;
        let stated = found.start.stated.trip_count.map(i128::from);
        if by_condition.is_none() && stated.is_some() && found.counter.is_none() {
            let leaf = found.start.stated_leaf(m, id);
            found.counter = leaf.filter(|leaf| found.inductions.contains_key(leaf));
        }
        let count = by_condition
            .or(stated)
            .map_or_else(|| count_iterations(m, condition, body, &found.start.numbers).map(i128::from), Ok);
        found.trip_count = count.and_then(|n| {
            let is_few = |n: &i64| i128::from(*n) <= MAX_TRIP_COUNT;
            let n_iterations = i64::try_from(n).ok().filter(is_few);
            n_iterations.ok_or_else(|| format!("{n} iterations are more than {MAX_TRIP_COUNT}"))
        });
        Ok(found)
    }

    /// Finds the leaves that stay as they are, and those to which every iteration adds the same number.
    fn find_steps(&mut self, m: &Module) {
        let symbol = |(k, (leaf, t)): (u32, (&ShapeIndex, &Integers))| {
            (leaf.clone(), Value::Scalar(Scalar::new(Expr::dim(k), t.interval())))
        };
        let mut parameter: FxHashMap<ShapeIndex, Value> = (0..).zip(&self.start.integers).map(symbol).collect();
        let root = m.root(self.body);
        let mut is_changed = true;
        while std::mem::take(&mut is_changed) {
            let mut values = Values::new(self.body, parameter, true);
            for (k, (leaf, t)) in (0..).zip(&self.start.integers) {
                if self.invariants.contains_key(leaf) || self.inductions.contains_key(leaf) {
                    continue;
                }
                let after = values.scalar(m, Place::of(root, leaf.clone()));
                let Some(Ok(step)) = after.map(|after| after.expr.sub(&Expr::dim(k))) else { continue };
                let start = self.start.numbers.get(leaf).copied();
                match (step.as_const(), start) {
                    (Some(0), _) => {
                        self.invariants.insert(leaf.clone(), start);
                        if let Some(known) = start.and_then(Scalar::constant) {
                            values.parameter.insert(leaf.clone(), Value::Scalar(known));
                            is_changed = true;
                        }
                    }
                    (Some(step), Some(start)) => {
                        let step = signed(step.into(), *t);
                        self.inductions.insert(leaf.clone(), Induction { start, step });
                    }
                    _ => {}
                }
            }
            parameter = values.parameter;
        }
    }

    /// The first leaf that counts and that the condition reads, and the number of iterations.
    fn count_by_condition(&self, m: &Module) -> (Option<ShapeIndex>, Option<i128>) {
        let parameter = |last: Option<i128>| {
            let counting = self.inductions.keys().filter_map(|leaf| Some((leaf.clone(), self.counting(leaf, last)?)));
            let known =
                |(leaf, value): (&ShapeIndex, &Option<i128>)| Some((leaf.clone(), Scalar::constant((*value)?)?));
            let all = counting.chain(self.invariants.iter().filter_map(known));
            all.map(|(leaf, value)| (leaf, Value::Scalar(value))).collect()
        };
        let root = Place::of(m.root(self.condition), ShapeIndex::new());
        let mut values = Values::new(self.condition, parameter(None), true);
        let test = values.of(m, root.clone());
        let read: Vec<&ShapeIndex> = values.read.iter().filter(|leaf| self.inductions.contains_key(*leaf)).collect();
        let counter = read.first().map(|leaf| ShapeIndex::clone(leaf));
        let test = match test {
            Some(Value::Scalar(value)) if value.known() == Some(0) => return (counter, Some(0)),
            Some(Value::Comparison(test)) => test,
            _ => return (counter, None),
        };
        let Some(n) = first_false(&test).filter(|n| *n <= MAX_TRIP_COUNT) else { return (counter, None) };
        // The counter and everything that is computed from it stay in their types up to the last test.
        let is_one_sided = test.left.known().is_some() || test.right.known().is_some();
        if let ([leaf], true) = (&read[..], is_one_sided && values.only_compares) {
            let fits = self.counting(leaf, Some(n)).is_some();
            return (counter, fits.then_some(n));
        }
        let is_same = match Values::new(self.condition, parameter(Some(n)), false).of(m, root) {
            Some(Value::Scalar(checked)) => n == 0 && checked.known() == Some(0),
            Some(Value::Comparison(checked)) => {
                let sides = |c: &Comparison| (c.direction, c.left.expr.clone(), c.right.expr.clone());
                sides(&checked) == sides(&test)
            }
            None => false,
        };
        (counter, is_same.then_some(n))
    }

    /// The value of a leaf that counts, in iterations 0 to `last`; `None` where it does not fit in its type.
    fn counting(&self, leaf: &ShapeIndex, last: Option<i128>) -> Option<Scalar> {
        let (Induction { start, step }, (lower, upper)) =
            (*self.inductions.get(leaf)?, self.start.integers[leaf].interval());
        let expr = Expr::dim(0).scale(i64::try_from(step).ok()?).ok()?;
        let expr = expr.add(&Expr::Const(i64::try_from(start).ok()?)).ok()?;
        let Some(last) = last else { return Some(Scalar::new(expr, (lower, upper))) };
        let end = start.checked_add(step.checked_mul(last)?)?;
        let ends = (start.min(end), start.max(end));
        (lower <= ends.0 && ends.1 <= upper).then(|| Scalar::new(expr, ends))
    }

    /// The scalars of the body as expressions over the iteration, `d0`, in the iterations before the last test.
    pub(super) fn values_of_body(&self, others: impl IntoIterator<Item = (ShapeIndex, Scalar)>) -> Values {
        let last = self.trip_count.as_ref().map_or(0, |n| (*n - 1).max(0));
        let counting =
            self.inductions.keys().filter_map(|leaf| Some((leaf.clone(), self.counting(leaf, Some(last.into()))?)));
        let parameter = others.into_iter().chain(counting).map(|(leaf, value)| (leaf, Value::Scalar(value))).collect();
        Values::new(self.body, parameter, false)
    }

    /// The scalars of the body over the iteration and over symbols: the initial values of scalars that stay as they are, and
    /// the number of the device.
    pub(super) fn values_over_symbols(&self, m: &Module) -> Values {
        let mut values = self.values_of_body([]);
        values.symbols = Some(Vec::new());
        for (leaf, known) in &self.invariants {
            if let Some(known) = known {
                let value = Scalar::constant(*known).map(|value| (leaf.clone(), Value::Scalar(value)));
                values.parameter.extend(value);
                continue;
            }
            let Some(&supplier) = self.start.suppliers.get(leaf) else { continue };
            let is_scalar = m.shape(supplier).as_array().is_some_and(|a| a.dims().is_empty());
            let Some(t) = integers(m, supplier).filter(|t| is_scalar && t.kind != ElementKind::Boolean) else {
                continue;
            };
            let symbol = values.symbol(supplier, t.interval());
            values.parameter.extend(symbol.map(|value| (leaf.clone(), Value::Scalar(value))));
        }
        values
    }

    /// The scalar with which a leaf begins, where the computation of the loop makes the tuple.
    pub(super) fn supplier(&self, m: &Module, leaf: &ShapeIndex) -> Option<InstructionId> {
        let mut values = Values::new(m.computation_of(self.id), FxHashMap::default(), false);
        initial(m, &mut values, m.operand(self.id, 0)?, leaf)
    }
}

/// The step of least size among those that are equal modulo the size of the type.
fn signed(step: i128, t: Integers) -> i128 {
    let (lower, upper) = t.interval();
    let size = upper - lower + 1;
    (step + size / 2).rem_euclid(size) - size / 2
}

/// `(a, b)` where an expression is `a + b * d0`; `None` where it is not, or has other variables.
pub(super) fn linear_in_iteration(e: &Expr) -> Option<(i64, i64)> {
    linear(e, Var { kind: Kind::Dim, index: 0 })
}

/// The first iteration in which a comparison of affine values is false; `None` where there is none.
fn first_false(test: &Comparison) -> Option<i128> {
    let (a, b) = linear_in_iteration(&test.left.expr.sub(&test.right.expr).ok()?)?;
    let (mut a, mut b) = (i128::from(a), i128::from(b));
    match test.direction {
        Direction::Ne if a == 0 => return Some(0),
        Direction::Ne => return (b != 0 && a % b == 0 && -a / b >= 0).then(|| -a / b),
        Direction::Eq => return if a != 0 { Some(0) } else { (b != 0).then_some(1) },
        Direction::Gt | Direction::Ge => (a, b) = (-a, -b),
        Direction::Lt | Direction::Le => {}
    }
    // a + b * t < 0, or <= 0.
    let end = i128::from(matches!(test.direction, Direction::Le | Direction::Ge));
    if a >= end {
        return Some(0);
    }
    (b > 0).then(|| -((a - end).div_euclid(b)))
}
