//! The iterations of a loop, counted by running the integer scalars that its condition depends on.
//!
//! The values that the condition depends on are listed once, each behind its operands, for an element of an array,
//! through tuples, calls and fusions; then the list is evaluated once an iteration. The size in use of a dynamic
//! dimension is such a value, too. A number that is known is that of the program; integers wrap, and a value is unknown
//! as soon as an operand is, but for the branch that a `select` does not take.

use hlo::{ComputationId, InstructionId, Module, Opcode, Trait, Value};
use layout::{ArrayShape, ElementKind, ElementType};
use quasiaffine::interrupt::poll;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::indexing::ShapeIndex;

/// The most iterations that are run.
const MAX_ITERATIONS: i64 = 1000;

/// The most values that the condition may depend on: calls of calls may have exponentially many.
const MAX_VALUES: usize = 4096;

/// The most elements of an array of which each may have a value.
const MAX_ELEMENTS: i64 = 64;

/// The number of iterations of a loop whose state begins with some known numbers, or why it is not known. The size of a
/// dimension of an array of the state has the index of the array, with the dimension behind it.
///
/// # Errors
/// The reason.
pub fn count_iterations(
    m: &Module,
    condition: ComputationId,
    body: ComputationId,
    initial: &FxHashMap<ShapeIndex, i64>,
) -> Result<i64, String> {
    let mut scalars = Scalars::new(m, [condition, body]);
    let test = scalars.slot(Place::of(m.root(condition), ShapeIndex::new()))?;
    let n_tested = scalars.steps.len();
    let mut next = Vec::new();
    while let Some((leaf, dim, _)) = scalars.leaves.get(next.len()) {
        let after = Place { dim: *dim, ..Place::of(m.root(body), leaf.clone()) };
        next.push(scalars.slot(after)?);
    }
    let mut values = scalars.values;
    let start = |leaf: &ShapeIndex, dim: &Option<u32>| {
        let index: ShapeIndex = leaf.iter().copied().chain(*dim).collect();
        initial.get(&index).map(|x| i128::from(*x))
    };
    for (leaf, dim, slot) in &scalars.leaves {
        values[*slot] = start(leaf, dim);
    }
    for n in 0..MAX_ITERATIONS {
        poll();
        run(&scalars.steps[..n_tested], &mut values);
        match values[test] {
            Some(0) => return Ok(n),
            Some(_) => {}
            None => {
                let missing = scalars.leaves.iter().find(|(leaf, dim, _)| start(leaf, dim).is_none());
                return Err(match missing {
                    Some((leaf, Some(dim), _)) => {
                        format!("the condition depends on the size of dimension {dim} of element {leaf:?} of the state, which is unknown")
                    }
                    Some((leaf, None, _)) => {
                        format!("the condition depends on element {leaf:?} of the state, which is unknown")
                    }
                    None => "the condition depends on data".to_owned(),
                });
            }
        }
        run(&scalars.steps[n_tested..], &mut values);
        let after: SmallVec<[Option<i128>; 8]> = next.iter().map(|slot| values[*slot]).collect();
        for ((.., slot), value) in scalars.leaves.iter().zip(after) {
            values[*slot] = value;
        }
    }
    Err(format!("the loop runs more than {MAX_ITERATIONS} iterations, and its condition is not affine in a counter"))
}

fn run(steps: &[Step], values: &mut [Option<i128>]) {
    for step in steps {
        values[step.to] = step.value(|k| values[*step.operands.get(k)?]);
    }
}

/// An element of an array in a value, or the size in use of one of its dimensions, where the computation is called by a
/// chain of calls.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    at: InstructionId,
    index: ShapeIndex,
    element: i64,
    dim: Option<u32>,
    /// The innermost call, by number; `None` in the loop's own computations.
    call: Option<usize>,
}

impl Place {
    fn of(at: InstructionId, index: ShapeIndex) -> Place {
        Place { at, index, element: 0, dim: None, call: None }
    }
}

/// A call, and the call around it.
type Call = (InstructionId, Option<usize>);

/// The source of a value.
enum Source {
    Same(Place),
    Leaf(ShapeIndex, Option<u32>),
    Known(i128),
    Computed(Operation, Integers, SmallVec<[Place; 3]>),
}

/// One operation on scalars.
struct Step {
    operation: Operation,
    integers: Integers,
    operands: SmallVec<[usize; 3]>,
    to: usize,
}

/// An operation on integers that can be run.
#[derive(Clone, Copy)]
enum Operation {
    Unary(Unary),
    Binary(Binary),
    Compare(Direction),
    Select,
    Clamp,
}

#[derive(Clone, Copy)]
enum Unary {
    Convert,
    Negate,
    Not,
}

#[derive(Clone, Copy)]
enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Minimum,
    Maximum,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRightArithmetic,
    ShiftRightLogical,
}

/// How a comparison compares.
#[derive(Clone, Copy)]
enum Direction {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

/// The numbers of an element type.
#[derive(Clone, Copy)]
struct Integers {
    kind: ElementKind,
    bits: u32,
}

/// The values that others are computed from, each once.
struct Scalars<'m> {
    m: &'m Module,
    own: [ComputationId; 2],
    calls: Vec<Call>,
    number_of_call: FxHashMap<Call, usize>,
    slots: FxHashMap<Place, usize>,
    steps: Vec<Step>,
    /// The values that are known before the loop, by slot.
    values: Vec<Option<i128>>,
    leaves: Vec<(ShapeIndex, Option<u32>, usize)>,
}

/// The slot of values that are not known.
const UNKNOWN: usize = 0;

impl<'m> Scalars<'m> {
    fn new(m: &'m Module, own: [ComputationId; 2]) -> Scalars<'m> {
        Scalars {
            m,
            own,
            calls: Vec::new(),
            number_of_call: FxHashMap::default(),
            slots: FxHashMap::default(),
            steps: Vec::new(),
            values: vec![None],
            leaves: Vec::new(),
        }
    }

    /// The slot of a value, behind those that it is computed from.
    fn slot(&mut self, place: Place) -> Result<usize, String> {
        let mut waiting = vec![place.clone()];
        while let Some(last) = waiting.last().cloned() {
            let source = if self.slots.contains_key(&last) { None } else { Some(self.source(&last)) };
            let operands: SmallVec<[Place; 3]> = match &source {
                Some(Some(Source::Same(from))) => SmallVec::from_iter([from.clone()]),
                Some(Some(Source::Computed(_, _, operands))) => operands.clone(),
                _ => SmallVec::new(),
            };
            let before = waiting.len();
            waiting.extend(operands.iter().filter(|o| !self.slots.contains_key(*o)).cloned());
            if waiting.len() + self.slots.len() > MAX_VALUES {
                return Err(format!("the condition depends on more than {MAX_VALUES} values"));
            }
            if waiting.len() > before {
                continue;
            }
            waiting.pop();
            let Some(source) = source else { continue };
            let slot = match source {
                None => UNKNOWN,
                Some(Source::Same(from)) => self.slots[&from],
                Some(Source::Leaf(leaf, dim)) => self.leaf(leaf, dim),
                Some(Source::Known(value)) => self.new_slot(Some(value)),
                Some(Source::Computed(operation, integers, _)) => {
                    let operands = operands.iter().map(|o| self.slots[o]).collect();
                    let to = self.new_slot(None);
                    self.steps.push(Step { operation, integers, operands, to });
                    to
                }
            };
            self.slots.insert(last, slot);
        }
        Ok(self.slots[&place])
    }

    fn new_slot(&mut self, value: Option<i128>) -> usize {
        self.values.push(value);
        self.values.len() - 1
    }

    fn leaf(&mut self, leaf: ShapeIndex, dim: Option<u32>) -> usize {
        if let Some((.., slot)) = self.leaves.iter().find(|(at, d, _)| *at == leaf && *d == dim) {
            return *slot;
        }
        let slot = self.new_slot(None);
        self.leaves.push((leaf, dim, slot));
        slot
    }

    /// The source of a value; `None` where it has none.
    fn source(&mut self, place: &Place) -> Option<Source> {
        let m = self.m;
        let Place { at, index, element, dim, call } = place;
        if m.is_inconsistent(*at) {
            return None;
        }
        let operand = |k: usize| m.operands(*at).nth(k);
        let same = |at, index: &[u32], element| {
            Source::Same(Place { at, index: index.into(), element, dim: *dim, call: *call })
        };
        match m.instructions()[*at as usize].opcode {
            Opcode::Parameter => return self.parameter(place),
            Opcode::GetTupleElement => {
                let Some(Value::Int(part)) = m.attribute_value(*at, "index") else { return None };
                let mut below = ShapeIndex::from_iter([u32::try_from(part).ok()?]);
                below.extend_from_slice(index);
                return Some(same(operand(0)?, &below, *element));
            }
            Opcode::Tuple => {
                let (first, rest) = index.split_first()?;
                return Some(same(operand(*first as usize)?, rest, *element));
            }
            Opcode::OptBarrier if m.operands(*at).len() == 1 => return Some(same(operand(0)?, index, *element)),
            Opcode::Fusion | Opcode::Call => {
                let mut called = m.called_computations(*at);
                let (Some(callee), None) = (called.next(), called.next()) else { return None };
                let next = self.calls.len();
                let number = *self.number_of_call.entry((*at, *call)).or_insert(next);
                if number == next {
                    self.calls.push((*at, *call));
                }
                let root = Place { at: m.root(callee), call: Some(number), ..place.clone() };
                return Some(Source::Same(root));
            }
            // Below.
            _ => {}
        }
        if let Some(dim) = dim {
            return if index.is_empty() { self.size(place, *dim) } else { None };
        }
        let n = if index.is_empty() { length(m, *at)? } else { return None };
        match m.instructions()[*at as usize].opcode {
            Opcode::Constant => m.integer(*at, usize::try_from(*element).ok()?).map(Source::Known),
            Opcode::GetDimensionSize => {
                let dim = dimension(m, *at)?;
                Some(Source::Same(Place { at: operand(0)?, dim: Some(dim), ..place.clone() }))
            }
            Opcode::Concatenate => {
                let mut left = *element;
                for k in m.operands(*at) {
                    let n = length(m, k)?;
                    if left < n {
                        return Some(same(k, &[], left));
                    }
                    left -= n;
                }
                None
            }
            opcode if opcode.has(Trait::MOVES) => {
                let from = operand(0)?;
                let of_operand = length(m, from)?;
                let element = match opcode {
                    _ if of_operand == 1 => 0,
                    Opcode::Bitcast | Opcode::Copy | Opcode::Reshape | Opcode::Transpose if of_operand == n => *element,
                    Opcode::Slice => {
                        let Some(Value::Slices(slices)) = m.attribute_value(*at, "slice") else { return None };
                        let dim = array(m, from)?.dims().iter().position(|size| *size == of_operand)?;
                        let (start, _, stride) = *slices.get(dim)?;
                        stride.checked_mul(*element)?.checked_add(start)?
                    }
                    // Others may put the elements into another order.
                    _ => return None,
                };
                let same_type = array(m, from)?.element() == array(m, *at)?.element();
                same_type.then(|| same(from, &[], element))
            }
            _ => {
                let t = integers(array(m, *at)?.element())?;
                let operation = Operation::of(m, *at, t)?;
                if m.operands(*at).len() != operation.n_operands() {
                    return None;
                }
                let part = |k: InstructionId| match length(m, k)? {
                    1 => Some(0),
                    of_operand => (of_operand == n).then_some(*element),
                };
                let place =
                    |at| Some(Place { at, index: ShapeIndex::new(), element: part(at)?, dim: None, call: *call });
                Some(Source::Computed(operation, t, m.operands(*at).map(place).collect::<Option<_>>()?))
            }
        }
    }

    /// The source of the size in use of a dimension of an array.
    fn size(&self, place: &Place, dim: u32) -> Option<Source> {
        let m = self.m;
        if let Some(size) = static_size(array(m, place.at)?, dim) {
            return Some(Source::Known(i128::from(size?)));
        }
        let operand = |k: usize| m.operands(place.at).nth(k);
        let from = |at, dim| Some(Source::Same(Place { at, dim, ..place.clone() }));
        match m.instructions()[place.at as usize].opcode {
            Opcode::SetDimensionSize if dimension(m, place.at)? == dim => from(operand(1)?, None),
            Opcode::SetDimensionSize | Opcode::DynamicUpdateSlice | Opcode::Copy => from(operand(0)?, Some(dim)),
            opcode if opcode.has(Trait::ELEMENTWISE) => {
                let same_rank = |&k: &InstructionId| array(m, k).is_some_and(|a| a.is_dynamic(dim as usize));
                from(m.operands(place.at).find(same_rank)?, Some(dim))
            }
            // It may be any size.
            _ => None,
        }
    }

    /// The value that a parameter stands for: a leaf of the state, or an operand of the call.
    fn parameter(&self, place: &Place) -> Option<Source> {
        let m = self.m;
        let Some(call) = place.call else {
            let own = m.computation_of(place.at);
            let is_state = self.own.contains(&own) && m.parameters(own).len() == 1 && place.element == 0;
            if let (true, Some(dim)) = (is_state, place.dim) {
                let parts =
                    place.index.iter().try_fold(m.shape(place.at), |shape, &k| shape.as_tuple()?.get(k as usize));
                if let Some(size) = static_size(parts?.as_array()?, dim) {
                    return Some(Source::Known(i128::from(size?)));
                }
            }
            return is_state.then(|| Source::Leaf(place.index.clone(), place.dim));
        };
        let (caller, around) = self.calls[call];
        let at = m.operand(caller, m.parameter_number(place.at)? as usize)?;
        Some(Source::Same(Place { at, call: around, ..place.clone() }))
    }
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

/// The size of a dimension that is not dynamic; `None` in it for one that the array does not have.
fn static_size(shape: &ArrayShape, dim: u32) -> Option<Option<i64>> {
    let size = shape.dims().get(dim as usize).copied();
    (!shape.is_dynamic(dim as usize)).then_some(size)
}

/// The number of elements of an array that has few of them along one dimension, so that their order is that of any layout.
fn length(m: &Module, at: InstructionId) -> Option<i64> {
    let shape = array(m, at)?;
    let n = shape.n_elements()?;
    let longest = shape.dims().iter().max().map_or(1, |size| *size);
    ((1..=MAX_ELEMENTS).contains(&n) && longest == n).then_some(n)
}

fn integers(t: ElementType) -> Option<Integers> {
    let is_integer = matches!(t.kind(), ElementKind::Boolean | ElementKind::Signed | ElementKind::Unsigned);
    is_integer.then(|| Integers { kind: t.kind(), bits: t.value_bits() })
}

impl Operation {
    /// The operation of an instruction with a result of these numbers; `None` for one that is not run, whose value is
    /// unknown.
    #[deny(clippy::wildcard_enum_match_arm)]
    fn of(m: &Module, at: InstructionId, result: Integers) -> Option<Operation> {
        use Opcode::*;
        let is_pred = result.kind == ElementKind::Boolean;
        let number = |operation| (!is_pred).then_some(operation);
        match m.instructions()[at as usize].opcode {
            Convert => Some(Operation::Unary(Unary::Convert)),
            Not => Some(Operation::Unary(Unary::Not)),
            And => Some(Operation::Binary(Binary::And)),
            Or => Some(Operation::Binary(Binary::Or)),
            Xor => Some(Operation::Binary(Binary::Xor)),
            Minimum => Some(Operation::Binary(Binary::Minimum)),
            Maximum => Some(Operation::Binary(Binary::Maximum)),
            Compare => Some(Operation::Compare(Direction::of(m, at)?)),
            Select => Some(Operation::Select),
            Clamp => Some(Operation::Clamp),
            // Of truth values these have a meaning of their own.
            Negate => number(Operation::Unary(Unary::Negate)),
            Add => number(Operation::Binary(Binary::Add)),
            Subtract => number(Operation::Binary(Binary::Subtract)),
            Multiply => number(Operation::Binary(Binary::Multiply)),
            Divide => number(Operation::Binary(Binary::Divide)),
            Remainder => number(Operation::Binary(Binary::Remainder)),
            ShiftLeft => number(Operation::Binary(Binary::ShiftLeft)),
            ShiftRightArithmetic => number(Operation::Binary(Binary::ShiftRightArithmetic)),
            ShiftRightLogical => number(Operation::Binary(Binary::ShiftRightLogical)),
            // They hand on values: `source`.
            Bitcast | Broadcast | Call | Concatenate | Constant | Copy | Fusion | GetDimensionSize
            | GetTupleElement | OptBarrier | Parameter | Reshape | Reverse | Slice | Transpose | Tuple => None,
            // No counter uses them.
            Abs | CountLeadingZeros | Mulhi | Popcnt | Power | Sign => None,
            // On floating-point numbers.
            Acos | Acosh | Asin | Asinh | Atan2 | Atanh | BatchNormGrad | BatchNormInference | BatchNormTraining
            | Cbrt | Ceil | Cholesky | Complex | Cosh | Cosine | Erf | Exp2 | Exponential | ExponentialMinusOne
            | Fft | Floor | Imag | IsFinite | Log | Log2 | LogPlusOne | Logistic | Real | ReducePrecision
            | RoundNearestAfz | RoundNearestEven | Rsqrt | Sine | Sinh | Sqrt | StochasticConvert | Tan | Tanh
            | TriangularSolve => None,
            // More than one element of an operand, a state, or a value from elsewhere.
            AddDependency | AfterAll | AllGather | AllGatherDone | AllGatherStart | AllReduce | AllReduceDone
            | AllReduceStart | AllToAll | AsyncDone | AsyncStart | AsyncUpdate | BitcastConvert
            | CollectiveBroadcast | CollectivePermute | CollectiveReduce | Conditional | Convolution | CopyDone
            | CopyStart | CustomCall | Domain | Dot | DynamicReshape | DynamicSlice | DynamicUpdateSlice | Gather
            | Infeed | Iota | Map | Outfeed | Pad | PartitionId | RaggedAllToAll | RaggedDot | Recv | RecvDone
            | Reduce | ReduceScatter | ReduceWindow | ReplicaId | Rng | RngBitGenerator | RngGetAndUpdateState
            | ScaledDot | Scan | Scatter | SelectAndScatter | Send | SendDone | SetDimensionSize | Shuffle | Sort
            | Topk | Unknown | While => None,
            CollectivePermuteDone | CollectivePermuteStart => None,
        }
    }

    fn n_operands(self) -> usize {
        match self {
            Operation::Unary(_) => 1,
            Operation::Binary(_) | Operation::Compare(_) => 2,
            Operation::Select | Operation::Clamp => 3,
        }
    }
}

impl Direction {
    fn of(m: &Module, at: InstructionId) -> Option<Direction> {
        Some(match m.attribute_text(m.attribute(at, "direction")?) {
            "LT" => Direction::Lt,
            "LE" => Direction::Le,
            "GT" => Direction::Gt,
            "GE" => Direction::Ge,
            "EQ" => Direction::Eq,
            "NE" => Direction::Ne,
            _ => return None,
        })
    }

    fn holds(self, a: i128, b: i128) -> bool {
        match self {
            Direction::Lt => a < b,
            Direction::Le => a <= b,
            Direction::Gt => a > b,
            Direction::Ge => a >= b,
            Direction::Eq => a == b,
            Direction::Ne => a != b,
        }
    }
}

impl Step {
    fn value(&self, operand: impl Fn(usize) -> Option<i128>) -> Option<i128> {
        let t = self.integers;
        match self.operation {
            Operation::Select => match operand(0) {
                Some(0) => operand(2),
                Some(_) => operand(1),
                // Either is the value where they are equal.
                None => operand(1).filter(|x| operand(2) == Some(*x)),
            },
            Operation::Unary(unary) => Some(t.unary(unary, operand(0)?)),
            Operation::Binary(binary) => Some(t.wrap(t.binary(binary, operand(0)?, operand(1)?))),
            Operation::Compare(direction) => Some(i128::from(direction.holds(operand(0)?, operand(1)?))),
            Operation::Clamp => Some(t.wrap(operand(0)?.max(operand(1)?).min(operand(2)?))),
        }
    }
}

impl Integers {
    fn unary(self, operation: Unary, a: i128) -> i128 {
        match operation {
            Unary::Convert if self.kind == ElementKind::Boolean => i128::from(a != 0),
            Unary::Convert => self.wrap(a),
            Unary::Negate => self.wrap(-a),
            Unary::Not => self.wrap(!a),
        }
    }

    /// The result of an operation on two numbers before it wraps.
    fn binary(self, operation: Binary, a: i128, b: i128) -> i128 {
        let shift = u32::try_from(b).ok().filter(|n| *n < self.bits);
        match operation {
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::Multiply => a.wrapping_mul(b),
            Binary::Minimum => a.min(b),
            Binary::Maximum => a.max(b),
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            // By zero, all bits of the quotient are set, and the remainder is the dividend.
            Binary::Divide => a.checked_div(b).unwrap_or(-1),
            Binary::Remainder => a.checked_rem(b).unwrap_or(a),
            // A shift by the width or more shifts out every bit.
            Binary::ShiftLeft => shift.map_or(0, |n| a << n),
            Binary::ShiftRightLogical => shift.map_or(0, |n| self.unsigned().wrap(a) >> n),
            Binary::ShiftRightArithmetic => self.signed().wrap(a) >> shift.unwrap_or(self.bits - 1),
        }
    }

    fn signed(self) -> Integers {
        Integers { kind: ElementKind::Signed, ..self }
    }

    fn unsigned(self) -> Integers {
        Integers { kind: ElementKind::Unsigned, ..self }
    }

    /// The number of the type that is equal modulo its size.
    fn wrap(self, x: i128) -> i128 {
        let unused = 128 - self.bits;
        match self.kind {
            ElementKind::Signed => x << unused >> unused,
            _ => ((x as u128) << unused >> unused) as i128,
        }
    }
}
