//! The operations on integers: their table, and its reading on numbers.
//!
//! Integers wrap, and a value is unknown as soon as an operand is, but for the branch that a `select` does not take. The
//! reading on expressions, in [`super::values`], agrees with this one wherever it has a value.

use hlo::{InstructionId, Module, Opcode};
use layout::{ElementKind, ElementType};

/// An operation on integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    Unary(Unary),
    Binary(Binary),
    Compare(Direction),
    Select,
    Clamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    Convert,
    Negate,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
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
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

/// The numbers of an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integers {
    pub kind: ElementKind,
    pub bits: u32,
}

impl Operation {
    /// The operation of an instruction with a result of these numbers; `None` for one whose value is not known.
    #[deny(clippy::wildcard_enum_match_arm)]
    pub fn of(m: &Module, at: InstructionId, result: Integers) -> Option<Operation> {
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

    pub fn n_operands(self) -> usize {
        match self {
            Operation::Unary(_) => 1,
            Operation::Binary(_) | Operation::Compare(_) => 2,
            Operation::Select | Operation::Clamp => 3,
        }
    }

    /// The result, a number of type `t`, of numbers that are known.
    pub fn run(self, t: Integers, operand: impl Fn(usize) -> Option<i128>) -> Option<i128> {
        match self {
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

    /// The comparison that holds where this one does not.
    pub fn opposite(self) -> Direction {
        match self {
            Direction::Lt => Direction::Ge,
            Direction::Le => Direction::Gt,
            Direction::Gt => Direction::Le,
            Direction::Ge => Direction::Lt,
            Direction::Eq => Direction::Ne,
            Direction::Ne => Direction::Eq,
        }
    }

    /// Whether it holds for two numbers.
    pub fn holds(self, a: i128, b: i128) -> bool {
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

impl Integers {
    pub fn of(t: ElementType) -> Option<Integers> {
        let is_integer = matches!(t.kind(), ElementKind::Boolean | ElementKind::Signed | ElementKind::Unsigned);
        is_integer.then(|| Integers { kind: t.kind(), bits: t.value_bits() })
    }

    /// The smallest and the largest number.
    pub fn interval(self) -> (i128, i128) {
        match self.kind {
            ElementKind::Boolean => (0, 1),
            ElementKind::Signed => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            _ => (0, (1 << self.bits) - 1),
        }
    }

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
    pub fn wrap(self, x: i128) -> i128 {
        let unused = 128 - self.bits;
        match self.kind {
            ElementKind::Signed => x << unused >> unused,
            _ => ((x as u128) << unused >> unused) as i128,
        }
    }
}
