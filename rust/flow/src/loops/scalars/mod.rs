//! Integer scalars of a program: where one comes from, and what operations make of it.
//!
//! A scalar is an element of a small array, or the size in use of a dynamic dimension. [`Scope::source`] leads from one to
//! those that it is made of: through tuples, moves, calls, branches and loops. [`operations`] has one table of operations
//! with two readings: on numbers, as [`super::running`] runs them, and on expressions ([`values`]).

pub(super) mod operations;
#[cfg(test)]
mod tests;
pub(super) mod values;

use hlo::{ComputationId, InstructionId, Module, Opcode, Trait, Value};
use layout::{ArrayShape, Shape};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{smallvec, SmallVec};

use crate::shapes::{self, ShapeIndex};
use crate::tuning::{MAX_ELEMENTS, MAX_VALUES};
use operations::{Integers, Operation};

/// What of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// The element of this number, in row-major order.
    Element(i64),
    /// The size in use of a dimension.
    Size(u32),
    /// Every element.
    All,
}

/// A part of an array in a value, where the computation is called by a chain of calls.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub at: InstructionId,
    pub index: ShapeIndex,
    pub part: Part,
    /// The innermost call, by number; a computation with one caller needs none.
    pub call: Option<u32>,
}

impl Place {
    /// A scalar.
    pub fn of(at: InstructionId, index: ShapeIndex) -> Place {
        Place { at, index, part: Part::Element(0), call: None }
    }

    /// All of an array.
    pub fn all(at: InstructionId, index: ShapeIndex) -> Place {
        Place { part: Part::All, ..Place::of(at, index) }
    }

    fn operand(&self, at: InstructionId) -> Place {
        Place { at, ..self.clone() }
    }
}

/// The source of a scalar.
pub(super) enum Source {
    /// The same as another one.
    Same(Place),
    /// Of a leaf of the parameter of the scope, a scalar or the size of a dimension. The first number is that of the
    /// parameter where there are several.
    Leaf(ShapeIndex, Option<u32>),
    Known(i128),
    Computed(Operation, Integers, SmallVec<[Place; 3]>),
}

impl Source {
    /// What it is made of.
    pub fn places(&self) -> &[Place] {
        match self {
            Source::Same(place) => std::slice::from_ref(place),
            Source::Computed(_, _, places) => places,
            Source::Leaf(..) | Source::Known(_) => &[],
        }
    }
}

/// A call, and the call around it.
type Call = (InstructionId, Option<u32>);

/// The computations whose parameters are where a search ends, and the calls that it goes through.
#[derive(Default)]
pub(super) struct Scope {
    own: SmallVec<[ComputationId; 2]>,
    calls: Vec<Call>,
    number_of_call: FxHashMap<Call, u32>,
}

impl Scope {
    pub fn new(own: &[ComputationId]) -> Scope {
        Scope { own: own.into(), ..Scope::default() }
    }

    /// The number of a call in another one.
    pub fn call(&mut self, call: InstructionId, around: Option<u32>) -> u32 {
        let next = self.calls.len() as u32;
        *self.number_of_call.entry((call, around)).or_insert_with(|| {
            self.calls.push((call, around));
            next
        })
    }

    /// The source of a scalar; `None` where it has none.
    pub fn source(&mut self, m: &Module, place: &Place) -> Option<Source> {
        let Place { at, index, part, .. } = place;
        if m.is_inconsistent(*at) {
            return None;
        }
        let first = || m.operand(*at, 0);
        let same = |at, index: &[u32]| Some(Source::Same(Place { index: index.into(), ..place.operand(at) }));
        match m.instructions()[*at as usize].opcode {
            Opcode::Parameter => return self.parameter(m, place),
            Opcode::GetTupleElement => {
                let Some(Value::Int(part)) = m.attribute_value(*at, "index") else { return None };
                let mut below: ShapeIndex = smallvec![u32::try_from(part).ok()?];
                below.extend_from_slice(index);
                return same(first()?, &below);
            }
            Opcode::Tuple => {
                let (part, rest) = index.split_first()?;
                return same(m.operand(*at, *part as usize)?, rest);
            }
            Opcode::Fusion | Opcode::Call => {
                let mut called = m.called_computations(*at);
                let (Some(callee), None) = (called.next(), called.next()) else { return None };
                let call = Some(self.call(*at, place.call));
                return Some(Source::Same(Place { call, ..place.operand(m.root(callee)) }));
            }
            Opcode::OptBarrier if m.operands(*at).len() == 1 => return same(first()?, index),
            Opcode::Copy | Opcode::Bitcast | Opcode::Reshape if keeps(m, *at, *part)? => return same(first()?, index),
            // Below.
            _ => {}
        }
        match *part {
            _ if !index.is_empty() => None,
            Part::Size(dim) => size(m, place, dim),
            Part::Element(element) => computed(m, place, element),
            Part::All => None,
        }
    }

    /// The value that a parameter stands for: a leaf of the scope, or one in the computation that calls it.
    fn parameter(&self, m: &Module, place: &Place) -> Option<Source> {
        let own = m.computation_of(place.at);
        if let Some((caller, around)) = place.call.map(|call| self.calls[call as usize]) {
            if m.called_computations(caller).any(|c| c == own) {
                return argument(m, place, own, caller, around);
            }
        }
        if !self.own.contains(&own) {
            let [caller] = m.callers(own) else { return None };
            return argument(m, place, own, *caller, place.call);
        }
        let mut index = place.index.clone();
        if m.parameters(own).len() != 1 {
            index.insert(0, m.parameter_number(place.at)?);
        }
        match place.part {
            Part::Element(0) | Part::All => Some(Source::Leaf(index, None)),
            Part::Element(_) => None,
            Part::Size(dim) => {
                let array = shapes::at(m.shape(place.at), &place.index)?.as_array()?;
                Some(static_size(array, dim)?.map_or_else(|| Source::Leaf(index, Some(dim)), Source::Known))
            }
        }
    }

    /// The instruction that another one in the computation of the scope hands on; with `index` the part of its value.
    pub fn origin(&mut self, m: &Module, mut place: Place) -> Place {
        for _ in 0..MAX_VALUES {
            match self.source(m, &place) {
                Some(Source::Same(before)) => place = before,
                _ => break,
            }
        }
        place
    }
}

/// The value of a parameter of `own`, where a call is known to pass it.
fn argument(
    m: &Module,
    place: &Place,
    own: ComputationId,
    caller: InstructionId,
    around: Option<u32>,
) -> Option<Source> {
    let operand = match m.instructions()[caller as usize].opcode {
        Opcode::Fusion | Opcode::Call => m.operand(caller, m.parameter_number(place.at)? as usize),
        Opcode::While if body_of(m, caller) == Some(own) && m.forwards(own, &shapes::path(&place.index)) => {
            m.operand(caller, 0)
        }
        Opcode::Conditional => {
            let mut branches = m.called_computations(caller);
            let branch = branches.position(|c| c == own)?;
            if branches.any(|c| c == own) {
                None
            } else {
                m.operand(caller, branch + 1)
            }
        }
        _ => None,
    };
    Some(Source::Same(Place { call: around, ..place.operand(operand?) }))
}

/// The body of a loop.
pub(super) fn body_of(m: &Module, at: InstructionId) -> Option<ComputationId> {
    match m.attribute_value(at, "body") {
        Some(Value::Computation(body)) => Some(body),
        _ => None,
    }
}

/// Whether an operation that keeps the order of elements has those of its operand at the same indices: a bitcast keeps
/// their order in memory, so between layouts it transposes.
fn keeps(m: &Module, at: InstructionId, part: Part) -> Option<bool> {
    let before = m.shape(m.operand(at, 0)?);
    let (Shape::Array(before), Shape::Array(after)) = (before, m.shape(at)) else {
        return Some(before.as_tuple().is_some());
    };
    let is_bitcast = m.instructions()[at as usize].opcode == Opcode::Bitcast;
    let same_places = before.dims() == after.dims() && !(is_bitcast && before.layout() != after.layout());
    Some(
        same_places
            && match part {
                Part::All => true,
                Part::Element(_) => before.element() == after.element(),
                Part::Size(_) => false,
            },
    )
}

/// The source of an element of an array that no other instruction hands on whole.
fn computed(m: &Module, place: &Place, element: i64) -> Option<Source> {
    let at = place.at;
    let (opcode, n) = (m.instructions()[at as usize].opcode, length(m, at)?);
    let same = |at, element| Source::Same(Place { part: Part::Element(element), ..place.operand(at) });
    match opcode {
        Opcode::Constant => m.integer(at, usize::try_from(element).ok()?).map(Source::Known),
        Opcode::GetDimensionSize => {
            Some(Source::Same(Place { part: Part::Size(dimension(m, at)?), ..place.operand(m.operand(at, 0)?) }))
        }
        Opcode::Concatenate => {
            let mut left = element;
            for k in m.operands(at) {
                let n = length(m, k)?;
                if left < n {
                    return Some(same(k, left));
                }
                left -= n;
            }
            None
        }
        _ if opcode.has(Trait::MOVES) => {
            let from = m.operand(at, 0)?;
            let (before, of_operand) = (array(m, from)?, length(m, from)?);
            let element = match opcode {
                _ if of_operand == 1 => 0,
                Opcode::Bitcast | Opcode::Copy | Opcode::Reshape | Opcode::Transpose if of_operand == n => element,
                Opcode::Slice => {
                    let Some(Value::Slices(slices)) = m.attribute_value(at, "slice") else { return None };
                    let dim = before.dims().iter().position(|size| *size == of_operand)?;
                    let (start, _, stride) = *slices.get(dim)?;
                    stride.checked_mul(element)?.checked_add(start)?
                }
                // Others may put the elements into another order.
                _ => return None,
            };
            (before.element() == array(m, at)?.element()).then(|| same(from, element))
        }
        _ => {
            let result = integers(m, at)?;
            let operation = Operation::of(m, at, result)?;
            if m.operands(at).len() != operation.n_operands() {
                return None;
            }
            let operand = |k: InstructionId| {
                let element = match length(m, k)? {
                    1 => 0,
                    of_operand => (of_operand == n).then_some(element)?,
                };
                Some(Place { part: Part::Element(element), ..place.operand(k) })
            };
            Some(Source::Computed(operation, result, m.operands(at).map(operand).collect::<Option<_>>()?))
        }
    }
}

/// The source of the size in use of a dimension of an array.
fn size(m: &Module, place: &Place, dim: u32) -> Option<Source> {
    if let Some(size) = static_size(array(m, place.at)?, dim)? {
        return Some(Source::Known(size));
    }
    let operand = |k: usize| m.operand(place.at, k);
    let from = |at, part| Some(Source::Same(Place { part, ..place.operand(at) }));
    match m.instructions()[place.at as usize].opcode {
        Opcode::SetDimensionSize if dimension(m, place.at)? == dim => from(operand(1)?, Part::Element(0)),
        Opcode::SetDimensionSize | Opcode::DynamicUpdateSlice | Opcode::Copy => from(operand(0)?, place.part),
        opcode if opcode.has(Trait::ELEMENTWISE) => {
            let same_rank = |&k: &InstructionId| array(m, k).is_some_and(|a| a.is_dynamic(dim as usize));
            from(m.operands(place.at).find(same_rank)?, place.part)
        }
        // It may be any size.
        _ => None,
    }
}

/// Whether a scalar in the body of a loop is made of leaves alone that the body hands on, so that it is the same in every
/// iteration, or of `others`.
pub(super) fn is_made_of_kept(
    scope: &mut Scope,
    m: &Module,
    body: ComputationId,
    place: Place,
    others: &dyn Fn(&ShapeIndex) -> bool,
) -> bool {
    let mut pending = vec![place];
    let mut seen = FxHashSet::default();
    while let Some(place) = pending.pop() {
        if !seen.insert(place.clone()) {
            continue;
        }
        let at = place.at;
        if seen.len() > MAX_VALUES {
            return false;
        }
        if m.parameter_number(at).is_some() && m.computation_of(at) == body {
            let index = &place.index;
            if others(index) || !index.is_empty() && m.forwards(body, &shapes::path(index)) {
                continue;
            }
            return false;
        }
        match scope.source(m, &place) {
            Some(source) => pending.extend_from_slice(source.places()),
            None if m.parameter_number(at).is_some()
                || m.called_computations(at).next().is_some()
                || m.has_trait(at, Trait::VARIES) =>
            {
                return false;
            }
            None => {
                pending.extend(m.operands(at).map(|k| Place { call: place.call, ..Place::all(k, ShapeIndex::new()) }))
            }
        }
    }
    true
}

fn array(m: &Module, at: InstructionId) -> Option<&ArrayShape> {
    m.shape(at).as_array()
}

/// The one dimension that an operation on a size is about.
fn dimension(m: &Module, at: InstructionId) -> Option<u32> {
    let Some(Value::Ints(dims)) = m.attribute_value(at, "dimensions") else { return None };
    let [dim] = dims[..] else { return None };
    u32::try_from(dim).ok()
}

/// The size of a dimension, `None` in it where that is dynamic; `None` for one that the array does not have.
fn static_size(shape: &ArrayShape, dim: u32) -> Option<Option<i128>> {
    let size = *shape.dims().get(dim as usize)?;
    Some((!shape.is_dynamic(dim as usize)).then_some(size.into()))
}

/// The number of elements of an array that has few of them along one dimension, so that their order is that of any layout.
fn length(m: &Module, at: InstructionId) -> Option<i64> {
    let shape = array(m, at)?;
    let n = shape.n_elements()?;
    let longest = shape.dims().iter().max().map_or(1, |size| *size);
    ((1..=MAX_ELEMENTS).contains(&n) && longest == n).then_some(n)
}

/// The numbers of an array of integers or truth values.
pub(super) fn integers(m: &Module, at: InstructionId) -> Option<Integers> {
    Integers::of(array(m, at)?.element())
}
