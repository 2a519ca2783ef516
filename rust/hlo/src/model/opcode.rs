//! The known operations and their arities.
//!
//! Read [`Opcode`]. Invariant: the table is sorted by name, and row i is the variant with discriminant i. Any other
//! operation is [`Opcode::Unknown`], and the module keeps its word.

use crate::cursor::bytes_equal;

/// The number of operands that an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// Exactly this many.
    Fixed(u8),
    /// This many or more.
    AtLeast(u8),
    /// Any number.
    Any,
}

use Arity::{Any, AtLeast, Fixed};

macro_rules! opcodes {
    ($($variant:ident $name:literal $arity:expr,)*) => {
        /// An operation.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Opcode {
            $($variant,)*
            Unknown,
        }

        const TABLE: &[(Opcode, &str, Arity)] = &[$((Opcode::$variant, $name, $arity),)* (Opcode::Unknown, "", Any)];
    };
}

opcodes! {
    Abs "abs" Fixed(1),
    Acos "acos" Fixed(1),
    Acosh "acosh" Fixed(1),
    Add "add" Fixed(2),
    AddDependency "add-dependency" Fixed(2),
    AfterAll "after-all" Any,
    AllGather "all-gather" Any,
    AllGatherDone "all-gather-done" Fixed(1),
    AllGatherStart "all-gather-start" Any,
    AllReduce "all-reduce" Any,
    AllReduceDone "all-reduce-done" Fixed(1),
    AllReduceStart "all-reduce-start" Any,
    AllToAll "all-to-all" Any,
    And "and" Fixed(2),
    Asin "asin" Fixed(1),
    Asinh "asinh" Fixed(1),
    AsyncDone "async-done" Fixed(1),
    AsyncStart "async-start" Any,
    AsyncUpdate "async-update" Any,
    Atan2 "atan2" Fixed(2),
    Atanh "atanh" Fixed(1),
    BatchNormGrad "batch-norm-grad" Fixed(5),
    BatchNormInference "batch-norm-inference" Fixed(5),
    BatchNormTraining "batch-norm-training" Fixed(3),
    Bitcast "bitcast" Fixed(1),
    BitcastConvert "bitcast-convert" Fixed(1),
    Broadcast "broadcast" Fixed(1),
    Call "call" Any,
    Cbrt "cbrt" Fixed(1),
    Ceil "ceil" Fixed(1),
    Cholesky "cholesky" Fixed(1),
    Clamp "clamp" Fixed(3),
    CollectiveBroadcast "collective-broadcast" Any,
    CollectivePermute "collective-permute" Any,
    CollectivePermuteDone "collective-permute-done" Fixed(1),
    CollectivePermuteStart "collective-permute-start" Any,
    CollectiveReduce "collective-reduce" Any,
    Compare "compare" Fixed(2),
    Complex "complex" Fixed(2),
    Concatenate "concatenate" Any,
    Conditional "conditional" Any,
    Constant "constant" Fixed(0),
    Convert "convert" Fixed(1),
    Convolution "convolution" AtLeast(2),
    Copy "copy" Fixed(1),
    CopyDone "copy-done" Fixed(1),
    CopyStart "copy-start" Fixed(1),
    Cosh "cosh" Fixed(1),
    Cosine "cosine" Fixed(1),
    CountLeadingZeros "count-leading-zeros" Fixed(1),
    CustomCall "custom-call" Any,
    Divide "divide" Fixed(2),
    Domain "domain" Fixed(1),
    Dot "dot" AtLeast(2),
    DynamicReshape "dynamic-reshape" Any,
    DynamicSlice "dynamic-slice" Any,
    DynamicUpdateSlice "dynamic-update-slice" Any,
    Erf "erf" Fixed(1),
    Exp2 "exp2" Fixed(1),
    Exponential "exponential" Fixed(1),
    ExponentialMinusOne "exponential-minus-one" Fixed(1),
    Fft "fft" Fixed(1),
    Floor "floor" Fixed(1),
    Fusion "fusion" Any,
    Gather "gather" Fixed(2),
    GetDimensionSize "get-dimension-size" Fixed(1),
    GetTupleElement "get-tuple-element" Fixed(1),
    Imag "imag" Fixed(1),
    Infeed "infeed" Fixed(1),
    Iota "iota" Fixed(0),
    IsFinite "is-finite" Fixed(1),
    Log "log" Fixed(1),
    LogPlusOne "log-plus-one" Fixed(1),
    Log2 "log2" Fixed(1),
    Logistic "logistic" Fixed(1),
    Map "map" Any,
    Maximum "maximum" Fixed(2),
    Minimum "minimum" Fixed(2),
    Mulhi "mulhi" Fixed(2),
    Multiply "multiply" Fixed(2),
    Negate "negate" Fixed(1),
    Not "not" Fixed(1),
    OptBarrier "opt-barrier" Fixed(1),
    Or "or" Fixed(2),
    Outfeed "outfeed" Fixed(2),
    Pad "pad" Fixed(2),
    Parameter "parameter" Fixed(0),
    PartitionId "partition-id" Fixed(0),
    Popcnt "popcnt" Fixed(1),
    Power "power" Fixed(2),
    RaggedAllToAll "ragged-all-to-all" Fixed(6),
    RaggedDot "ragged-dot" Fixed(3),
    Real "real" Fixed(1),
    Recv "recv" Fixed(1),
    RecvDone "recv-done" Fixed(1),
    Reduce "reduce" Any,
    ReducePrecision "reduce-precision" Fixed(1),
    ReduceScatter "reduce-scatter" Any,
    ReduceWindow "reduce-window" Any,
    Remainder "remainder" Fixed(2),
    ReplicaId "replica-id" Fixed(0),
    Reshape "reshape" Fixed(1),
    Reverse "reverse" Fixed(1),
    Rng "rng" Any,
    RngBitGenerator "rng-bit-generator" Fixed(1),
    RngGetAndUpdateState "rng-get-and-update-state" Fixed(0),
    RoundNearestAfz "round-nearest-afz" Fixed(1),
    RoundNearestEven "round-nearest-even" Fixed(1),
    Rsqrt "rsqrt" Fixed(1),
    ScaledDot "scaled-dot" Fixed(4),
    Scan "scan" Any,
    Scatter "scatter" Any,
    Select "select" Fixed(3),
    SelectAndScatter "select-and-scatter" Fixed(3),
    Send "send" Fixed(2),
    SendDone "send-done" Fixed(1),
    SetDimensionSize "set-dimension-size" Fixed(2),
    ShiftLeft "shift-left" Fixed(2),
    ShiftRightArithmetic "shift-right-arithmetic" Fixed(2),
    ShiftRightLogical "shift-right-logical" Fixed(2),
    Shuffle "shuffle" Fixed(1),
    Sign "sign" Fixed(1),
    Sine "sine" Fixed(1),
    Sinh "sinh" Fixed(1),
    Slice "slice" Fixed(1),
    Sort "sort" Any,
    Sqrt "sqrt" Fixed(1),
    StochasticConvert "stochastic-convert" Fixed(2),
    Subtract "subtract" Fixed(2),
    Tan "tan" Fixed(1),
    Tanh "tanh" Fixed(1),
    Topk "topk" Fixed(1),
    Transpose "transpose" Fixed(1),
    TriangularSolve "triangular-solve" Fixed(2),
    Tuple "tuple" Any,
    While "while" Fixed(1),
    Xor "xor" Fixed(2),
}

impl Opcode {
    /// The number of opcodes, including [`Opcode::Unknown`].
    pub const COUNT: usize = TABLE.len();

    /// The word in HLO text; empty for [`Opcode::Unknown`].
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The number of operands that it takes.
    pub fn arity(self) -> Arity {
        TABLE[self as usize].2
    }

    /// How many operands it may have in words, unless it may have `n`.
    pub(crate) fn expected_operands(self, n: usize) -> Option<String> {
        match self.arity() {
            Fixed(expected) if usize::from(expected) != n => Some(expected.to_string()),
            AtLeast(expected) if usize::from(expected) > n => Some(format!("{expected} or more")),
            _ => None,
        }
    }

    /// The opcode with this name, if it is known.
    pub fn from_name(name: &str) -> Option<Opcode> {
        Some(Opcode::from_bytes(name.as_bytes())).filter(|&opcode| opcode != Opcode::Unknown)
    }

    /// As [`Opcode::from_name`], but [`Opcode::Unknown`] for an unknown name.
    #[inline]
    pub(crate) fn from_bytes(name: &[u8]) -> Opcode {
        let mut slot = hash(name) % SLOTS.len();
        loop {
            let opcode = SLOTS[slot];
            if opcode == Opcode::Unknown || bytes_equal(opcode.name().as_bytes(), name) {
                return opcode;
            }
            slot = (slot + 1) % SLOTS.len();
        }
    }

    /// All known names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLE[..TABLE.len() - 1].iter().map(|row| row.1)
    }
}

/// The phase of an asynchronous operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsyncPhase {
    Start,
    Update,
    Done,
}

/// The operation and phase of a short asynchronous form such as `transpose-start`, which XLA prints for an
/// `async-start` of one operation.
pub(crate) fn async_form(word: &str) -> Option<(Opcode, AsyncPhase)> {
    let halves = [("-start", AsyncPhase::Start), ("-update", AsyncPhase::Update), ("-done", AsyncPhase::Done)];
    let (inner, half) = halves.iter().find_map(|(end, half)| Some((word.strip_suffix(end)?, *half)))?;
    Some((Opcode::from_name(inner)?, half))
}

/// Opcodes by the hash of their names, with linear probing.
static SLOTS: [Opcode; 1024] = {
    let mut slots = [Opcode::Unknown; 1024];
    let mut i = 0;
    while i + 1 < TABLE.len() {
        let mut slot = hash(TABLE[i].1.as_bytes()) % slots.len();
        while !matches!(slots[slot], Opcode::Unknown) {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = TABLE[i].0;
        i += 1;
    }
    slots
};

/// A ten-bit hash of the length and the bytes at the start, the quarter, the middle and the end of a word, which
/// separates the words of a fixed table well.
pub(crate) const fn hash(name: &[u8]) -> usize {
    let n = name.len();
    if n == 0 {
        return 0;
    }
    let mut h = n as u32;
    h = h.wrapping_mul(0x9e37_79b1) ^ name[0] as u32;
    h = h.wrapping_mul(0x9e37_79b1) ^ name[n / 4] as u32;
    h = h.wrapping_mul(0x9e37_79b1) ^ name[n / 2] as u32;
    h = h.wrapping_mul(0x9e37_79b1) ^ name[n - 1] as u32;
    (h.wrapping_mul(0x9e37_79b1) >> 22) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_in_order() {
        for (i, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, i);
        }
        for name in Opcode::names() {
            assert_eq!(Opcode::from_name(name).unwrap().name(), name);
        }
        assert!(Opcode::names().is_sorted());
        assert_eq!(Opcode::from_name(""), None);
        assert_eq!(Opcode::from_name("ad"), None);
        assert_eq!(Opcode::from_name(&"a".repeat(1000)), None);
    }
}
