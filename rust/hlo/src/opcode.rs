//! The known operations and their properties: arity, operand types, traits.
//!
//! The table is sorted by name, and row i is the variant with discriminant i. Any other operation is
//! [`Opcode::Unknown`], and the module keeps its word.

use layout::{ElementKind, ElementType};

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

/// The element types that the first operand may have; also those of the other operands, if the operation requires one
/// type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Types(pub u8, pub &'static str);

pub(crate) const BOOLEAN: u8 = 1;
pub(crate) const SIGNED: u8 = 2;
pub(crate) const UNSIGNED: u8 = 4;
pub(crate) const FLOAT: u8 = 8;
const COMPLEX: u8 = 16;

const ALL: Types = Types(u8::MAX, "any type");
pub(crate) const FLOATS: Types = Types(FLOAT, "floating-point numbers");
const FLOATS_OR_COMPLEX: Types = Types(FLOAT | COMPLEX, "floating-point or complex numbers");
const INTEGERS: Types = Types(SIGNED | UNSIGNED, "integers");
const BITS: Types = Types(BOOLEAN | SIGNED | UNSIGNED, "integers or pred");
const SIGNED_NUMBERS: Types = Types(SIGNED | FLOAT | COMPLEX, "signed, floating-point or complex numbers");
pub(crate) const NUMBERS: Types = Types(SIGNED | UNSIGNED | FLOAT | COMPLEX, "numbers");

impl Types {
    pub fn are_all(self) -> bool {
        self == ALL
    }

    pub fn has(self, t: ElementType) -> bool {
        self.has_kind(t.kind())
    }

    fn has_kind(self, kind: ElementKind) -> bool {
        let bit = match kind {
            ElementKind::Boolean => BOOLEAN,
            ElementKind::Signed => SIGNED,
            ElementKind::Unsigned => UNSIGNED,
            ElementKind::Float => FLOAT,
            ElementKind::Complex => COMPLEX,
        };
        self.0 & bit != 0
    }
}

/// A property of an operation, whatever its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trait(u16);

macro_rules! traits {
    ($($(#[$doc:meta])* $name:ident = $bits:expr;)*) => {
        impl Trait {
            $($(#[$doc])* pub const $name: Trait = Trait($bits);)*

            /// The trait with this name, in any case.
            pub fn from_name(name: &str) -> Option<Trait> {
                let rows = [$((stringify!($name), Trait::$name)),*];
                rows.into_iter().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| row.1)
            }
        }
    };
}

traits! {
    /// The operands have one floating-point type. Other operations carry values of several types, or accumulate in
    /// another type.
    ONE_FLOAT = 1;
    /// The result has the shape of every operand.
    ELEMENTWISE = 1 << 1 | Trait::ONE_FLOAT.0;
    /// XLA's parser takes `result_accuracy`.
    ACCURATE = 1 << 2;
    /// XLA's parser requires the shape in the text: nothing else determines the element type, the sizes, the number of
    /// devices in a group or the context values of the backend, or the parser could infer it but does not.
    WRITTEN = 1 << 3;
    /// The result has the inferred float type, since the operation names or transfers a value, or calls computations.
    /// Other operations may round the result, as the verifiers of some backends allow.
    KEEPS_TYPE = 1 << 4;
    /// The rules of the verifier depend on the users, or on the identity of the operand.
    RELATED = 1 << 5;
    /// Every element of the result is an element of the operand: they are moved, repeated or left out.
    MOVES = 1 << 6;
    /// Every element of the result is an element of an operand, or a truth value: a reduction with only such operations
    /// does not depend on the order.
    SELECTS = 1 << 7;
    /// Equal operands and attributes may give different values: these are random, or come from elsewhere.
    VARIES = 1 << 8;
    /// XLA does not launch a kernel for the instruction on a GPU.
    NO_KERNEL = 1 << 9;
    /// The device groups name replicas even with a channel, and then include all their partitions.
    REPLICA_GROUPS = 1 << 10;
    /// Operands that are known only modulo the size of their type still determine the result.
    MODULAR = 1 << 11;
    /// A sum, a difference or a product.
    LINEAR = 1 << 12 | Trait::MODULAR.0;
    /// The text has the value.
    LITERAL = 1 << 13;
    /// The value is that of the only operand.
    SAME = 1 << 14;
    /// The instruction may do more than give a value, which others see even if nothing uses the value: it exchanges data
    /// with other devices, the host or a library, or changes a state.
    ACTS = 1 << 15 | Trait::VARIES.0;
}

/// A column of the table for facts that answers depend on. Each row has one of these words, which represent traits; a
/// row without one does not compile.
macro_rules! column {
    ($(#[$doc:meta])* $name:ident { $($word:ident = $bits:expr),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(u16)]
        enum $name {
            $($word = $bits,)*
        }
    };
}

column! {
    /// Whether the result has the shape of every operand, or a rule of its own (`infer`).
    ShapeRule { Elementwise = Trait::ELEMENTWISE.0, Shaped = 0 }
}

column! {
    /// Whether equal operands and attributes give equal values, otherwise two random numbers would be equal; and whether
    /// the instruction acts, otherwise an unused one would be removed.
    Determinism { Pure = 0, Varies = Trait::VARIES.0, Acts = Trait::ACTS.0 }
}

column! {
    /// The origin of the elements of the result.
    Elements { Moves = Trait::MOVES.0, Selects = Trait::SELECTS.0, Computes = 0 }
}

column! {
    /// The arithmetic on integers: sums wrap, and sums of `pred` are not sums of 0 and 1; most results need the whole
    /// values of the operands.
    Arithmetic { Linear = Trait::LINEAR.0, Modular = Trait::MODULAR.0, Whole = 0 }
}

column! {
    /// Whether XLA launches a kernel for it on a GPU.
    Launch { Kernel = 0, NoKernel = Trait::NO_KERNEL.0 }
}

column! {
    /// Traits that a row may leave out. Each comment says what happens if one is forgotten.
    Also {
        // A strict reading accepts operands of several float types; no map depends on it.
        OneFloat = Trait::ONE_FLOAT.0,
        // `result_accuracy` is reported as an attribute that the operation does not have.
        Accurate = Trait::ACCURATE.0,
        // An omitted shape is inferred; it is an error if no rule infers it.
        Written = Trait::WRITTEN.0,
        // A result of another float type is accepted, though not by a strict reading.
        KeepsType = Trait::KEEPS_TYPE.0,
        // The rules among instructions skip it: the test case of the rule fails.
        Related = Trait::RELATED.0,
        // Listings and differences do not show the value.
        Literal = Trait::LITERAL.0,
        // Values on both sides count as different ones where two programs are compared.
        Same = Trait::SAME.0,
        // A test below fails: these are the operations that have `use_global_device_ids`.
        ReplicaGroups = Trait::REPLICA_GROUPS.0,
    }
}

/// The properties of an operation.
struct Row {
    opcode: Opcode,
    name: &'static str,
    arity: Arity,
    types: Types,
    traits: u16,
    /// From the number of operands to the number of parameters of each called computation; empty if it is not fixed.
    parameters: &'static [fn(usize) -> usize],
}

/// The pattern of an operation if it is elementwise, else of one that always is.
macro_rules! if_elementwise {
    (Elementwise $variant:ident) => {
        $crate::Opcode::$variant
    };
    (Shaped $variant:ident) => {
        $crate::Opcode::Add
    };
}

macro_rules! opcodes {
    ($(
        $(#[$default:meta])? $variant:ident $name:literal $arity:ident $(($n:literal))? $types:ident
        $shape_rule:ident $determinism:ident $elements:ident $arithmetic:ident $launch:ident [$($also:ident)*] $(calls $of:expr)?,
    )*) => {
        /// An operation.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Opcode {
            $($(#[$default])? $variant,)*
        }

        static TABLE: &[Row] = &[$(Row {
            opcode: Opcode::$variant,
            name: $name,
            arity: $arity $(($n))?,
            types: $types,
            traits: ShapeRule::$shape_rule as u16
                | Determinism::$determinism as u16
                | Elements::$elements as u16
                | Arithmetic::$arithmetic as u16
                | Launch::$launch as u16
                $(| Also::$also as u16)*,
            parameters: &[$($of)?],
        },)*];

        static WORDS: Words<{ TABLE.len() }> = Words::new([$($name),*]);

        /// The pattern of all elementwise operations, so that an exhaustive match lists only the others. Parts of it
        /// repeat.
        macro_rules! elementwise {
            () => { $($crate::opcode::if_elementwise!($shape_rule $variant))|* };
        }
        pub(crate) use {elementwise, if_elementwise};
    };
}

opcodes! {
    Abs "abs" Fixed(1) SIGNED_NUMBERS Shaped Pure Computes Whole Kernel [],
    Acos "acos" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Acosh "acosh" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Add "add" Fixed(2) ALL Elementwise Pure Computes Linear Kernel [],
    AddDependency "add-dependency" Fixed(2) ALL Shaped Pure Computes Whole NoKernel [],
    AfterAll "after-all" Any ALL Shaped Pure Computes Whole NoKernel [],
    AllGather "all-gather" Any ALL Shaped Acts Computes Whole NoKernel [Written ReplicaGroups],
    AllGatherDone "all-gather-done" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [Written KeepsType Related],
    AllGatherStart "all-gather-start" Any ALL Shaped Acts Computes Whole NoKernel [Written ReplicaGroups],
    AllReduce "all-reduce" Any ALL Shaped Acts Computes Whole NoKernel [Written ReplicaGroups] calls |_| 2,
    AllReduceDone "all-reduce-done" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [Written KeepsType Related],
    AllReduceStart "all-reduce-start" Any ALL Shaped Acts Computes Whole NoKernel [Written ReplicaGroups] calls |_| 2,
    AllToAll "all-to-all" Any ALL Shaped Acts Computes Whole NoKernel [Written],
    And "and" Fixed(2) BITS Elementwise Pure Selects Whole Kernel [],
    Asin "asin" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Asinh "asinh" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    AsyncDone "async-done" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [Written KeepsType Related],
    AsyncStart "async-start" Any ALL Shaped Pure Computes Whole NoKernel [Written KeepsType Related],
    AsyncUpdate "async-update" Any ALL Shaped Pure Computes Whole NoKernel [Written KeepsType Related],
    Atan2 "atan2" Fixed(2) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [],
    Atanh "atanh" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    BatchNormGrad "batch-norm-grad" Fixed(5) FLOATS Shaped Pure Computes Whole Kernel [OneFloat],
    BatchNormInference "batch-norm-inference" Fixed(5) FLOATS Shaped Pure Computes Whole Kernel [OneFloat],
    BatchNormTraining "batch-norm-training" Fixed(3) FLOATS Shaped Pure Computes Whole Kernel [OneFloat],
    Bitcast "bitcast" Fixed(1) ALL Shaped Pure Moves Whole NoKernel [Written],
    BitcastConvert "bitcast-convert" Fixed(1) ALL Shaped Pure Computes Whole Kernel [Written],
    Broadcast "broadcast" Fixed(1) ALL Shaped Pure Moves Whole Kernel [],
    Call "call" Any ALL Shaped Pure Computes Whole NoKernel [KeepsType] calls |n| n,
    Cbrt "cbrt" Fixed(1) FLOATS Elementwise Pure Computes Whole Kernel [Accurate],
    Ceil "ceil" Fixed(1) FLOATS Elementwise Pure Computes Whole Kernel [],
    Cholesky "cholesky" Fixed(1) FLOATS_OR_COMPLEX Shaped Pure Computes Whole NoKernel [],
    Clamp "clamp" Fixed(3) ALL Shaped Pure Computes Whole Kernel [OneFloat],
    CollectiveBroadcast "collective-broadcast" Any ALL Shaped Acts Computes Whole NoKernel [Written OneFloat],
    CollectivePermute "collective-permute" Any ALL Shaped Acts Computes Whole NoKernel [Written],
    CollectivePermuteDone "collective-permute-done" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [Written KeepsType Related],
    CollectivePermuteStart "collective-permute-start" Any ALL Shaped Acts Computes Whole NoKernel [Written],
    CollectiveReduce "collective-reduce" Any ALL Shaped Acts Computes Whole NoKernel [Written ReplicaGroups] calls |_| 2,
    Compare "compare" Fixed(2) ALL Shaped Pure Selects Modular Kernel [OneFloat],
    Complex "complex" Fixed(2) FLOATS Shaped Pure Computes Whole Kernel [],
    Concatenate "concatenate" Any ALL Shaped Pure Computes Whole Kernel [OneFloat],
    Conditional "conditional" Any ALL Shaped Pure Computes Whole NoKernel [KeepsType] calls |_| 1,
    Constant "constant" Fixed(0) ALL Shaped Pure Selects Whole NoKernel [Written Literal],
    Convert "convert" Fixed(1) ALL Shaped Pure Computes Whole Kernel [Written],
    Convolution "convolution" AtLeast(2) ALL Shaped Pure Computes Whole NoKernel [],
    Copy "copy" Fixed(1) ALL Elementwise Pure Moves Whole Kernel [],
    CopyDone "copy-done" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [Written KeepsType Related],
    CopyStart "copy-start" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [Written KeepsType Related],
    Cosh "cosh" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Cosine "cosine" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    CountLeadingZeros "count-leading-zeros" Fixed(1) INTEGERS Elementwise Pure Computes Whole Kernel [],
    CustomCall "custom-call" Any ALL Shaped Acts Computes Whole NoKernel [Written],
    Divide "divide" Fixed(2) NUMBERS Elementwise Pure Computes Whole Kernel [],
    Domain "domain" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [KeepsType Same],
    Dot "dot" AtLeast(2) ALL Shaped Pure Computes Whole Kernel [],
    DynamicReshape "dynamic-reshape" Any ALL Shaped Pure Computes Whole Kernel [Written],
    DynamicSlice "dynamic-slice" Any ALL Shaped Pure Computes Whole Kernel [Written],
    DynamicUpdateSlice "dynamic-update-slice" Any ALL Shaped Pure Computes Whole Kernel [Written OneFloat],
    Erf "erf" Fixed(1) FLOATS Elementwise Pure Computes Whole Kernel [Accurate],
    Exp2 "exp2" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Exponential "exponential" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    ExponentialMinusOne "exponential-minus-one" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Fft "fft" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [],
    Floor "floor" Fixed(1) FLOATS Elementwise Pure Computes Whole Kernel [],
    Fusion "fusion" Any ALL Shaped Pure Computes Whole Kernel [Written KeepsType Related] calls |n| n,
    Gather "gather" Fixed(2) ALL Shaped Pure Computes Whole Kernel [],
    GetDimensionSize "get-dimension-size" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [],
    GetTupleElement "get-tuple-element" Fixed(1) ALL Shaped Pure Selects Whole NoKernel [KeepsType],
    Imag "imag" Fixed(1) FLOATS_OR_COMPLEX Shaped Pure Computes Whole Kernel [],
    Infeed "infeed" Fixed(1) ALL Shaped Acts Computes Whole NoKernel [Written],
    Iota "iota" Fixed(0) ALL Shaped Pure Computes Whole Kernel [Written],
    IsFinite "is-finite" Fixed(1) FLOATS Shaped Pure Computes Whole Kernel [],
    Log "log" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    LogPlusOne "log-plus-one" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Log2 "log2" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Logistic "logistic" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Map "map" Any ALL Shaped Pure Computes Whole Kernel [OneFloat] calls |n| n,
    Maximum "maximum" Fixed(2) ALL Elementwise Pure Selects Whole Kernel [],
    Minimum "minimum" Fixed(2) ALL Elementwise Pure Selects Whole Kernel [],
    Mulhi "mulhi" Fixed(2) ALL Elementwise Pure Computes Whole Kernel [],
    Multiply "multiply" Fixed(2) ALL Elementwise Pure Computes Linear Kernel [],
    Negate "negate" Fixed(1) NUMBERS Elementwise Pure Computes Linear Kernel [],
    Not "not" Fixed(1) BITS Elementwise Pure Selects Modular Kernel [],
    OptBarrier "opt-barrier" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [Written KeepsType Same],
    Or "or" Fixed(2) BITS Elementwise Pure Selects Whole Kernel [],
    Outfeed "outfeed" Fixed(2) ALL Shaped Acts Computes Whole NoKernel [Written],
    Pad "pad" Fixed(2) ALL Shaped Pure Computes Whole Kernel [OneFloat],
    Parameter "parameter" Fixed(0) ALL Shaped Pure Selects Whole NoKernel [Written],
    PartitionId "partition-id" Fixed(0) ALL Shaped Varies Computes Whole NoKernel [],
    Popcnt "popcnt" Fixed(1) INTEGERS Elementwise Pure Computes Whole Kernel [],
    Power "power" Fixed(2) NUMBERS Elementwise Pure Computes Whole Kernel [],
    RaggedAllToAll "ragged-all-to-all" Fixed(6) ALL Shaped Acts Computes Whole NoKernel [Written OneFloat],
    RaggedDot "ragged-dot" Fixed(3) ALL Shaped Pure Computes Whole NoKernel [],
    Real "real" Fixed(1) FLOATS_OR_COMPLEX Shaped Pure Computes Whole Kernel [],
    Recv "recv" Fixed(1) ALL Shaped Acts Computes Whole NoKernel [Written Related],
    RecvDone "recv-done" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [Written KeepsType Related],
    Reduce "reduce" Any ALL Shaped Pure Computes Whole Kernel [OneFloat] calls |n| n,
    ReducePrecision "reduce-precision" Fixed(1) FLOATS Elementwise Pure Computes Whole Kernel [Written],
    ReduceScatter "reduce-scatter" Any ALL Shaped Acts Computes Whole NoKernel [Written OneFloat ReplicaGroups] calls |_| 2,
    ReduceWindow "reduce-window" Any ALL Shaped Pure Computes Whole Kernel [] calls |n| n,
    Remainder "remainder" Fixed(2) NUMBERS Elementwise Pure Computes Whole Kernel [],
    ReplicaId "replica-id" Fixed(0) ALL Shaped Varies Computes Whole NoKernel [],
    Reshape "reshape" Fixed(1) ALL Shaped Pure Moves Whole Kernel [Written],
    Reverse "reverse" Fixed(1) ALL Shaped Pure Moves Whole Kernel [],
    Rng "rng" Any ALL Shaped Varies Computes Whole Kernel [Written],
    RngBitGenerator "rng-bit-generator" Fixed(1) ALL Shaped Pure Computes Whole Kernel [Written],
    RngGetAndUpdateState "rng-get-and-update-state" Fixed(0) ALL Shaped Acts Computes Whole NoKernel [Written],
    RoundNearestAfz "round-nearest-afz" Fixed(1) FLOATS Elementwise Pure Computes Whole Kernel [],
    RoundNearestEven "round-nearest-even" Fixed(1) FLOATS Elementwise Pure Computes Whole Kernel [],
    Rsqrt "rsqrt" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    ScaledDot "scaled-dot" Fixed(4) ALL Shaped Pure Computes Whole Kernel [Written],
    Scan "scan" Any ALL Shaped Pure Computes Whole Kernel [] calls |n| n,
    Scatter "scatter" Any ALL Shaped Pure Computes Whole Kernel [OneFloat] calls |n| n.saturating_sub(1),
    Select "select" Fixed(3) ALL Shaped Pure Selects Whole Kernel [OneFloat],
    SelectAndScatter "select-and-scatter" Fixed(3) ALL Shaped Pure Computes Whole Kernel [OneFloat] calls |_| 2,
    Send "send" Fixed(2) ALL Shaped Acts Computes Whole NoKernel [Written KeepsType Related],
    SendDone "send-done" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [Written Related],
    SetDimensionSize "set-dimension-size" Fixed(2) ALL Shaped Pure Computes Whole NoKernel [],
    ShiftLeft "shift-left" Fixed(2) NUMBERS Elementwise Pure Computes Whole Kernel [],
    ShiftRightArithmetic "shift-right-arithmetic" Fixed(2) NUMBERS Elementwise Pure Computes Whole Kernel [],
    ShiftRightLogical "shift-right-logical" Fixed(2) NUMBERS Elementwise Pure Computes Whole Kernel [],
    Shuffle "shuffle" Fixed(1) ALL Shaped Pure Computes Whole Kernel [],
    Sign "sign" Fixed(1) SIGNED_NUMBERS Elementwise Pure Computes Whole Kernel [],
    Sine "sine" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Sinh "sinh" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Slice "slice" Fixed(1) ALL Shaped Pure Moves Whole Kernel [Written],
    Sort "sort" Any ALL Shaped Pure Computes Whole Kernel [] calls |n| 2 * n,
    Sqrt "sqrt" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    StochasticConvert "stochastic-convert" Fixed(2) FLOATS Shaped Pure Computes Whole Kernel [Written],
    Subtract "subtract" Fixed(2) NUMBERS Elementwise Pure Computes Linear Kernel [],
    Tan "tan" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Tanh "tanh" Fixed(1) FLOATS_OR_COMPLEX Elementwise Pure Computes Whole Kernel [Accurate],
    Topk "topk" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [],
    Transpose "transpose" Fixed(1) ALL Shaped Pure Moves Whole Kernel [],
    TriangularSolve "triangular-solve" Fixed(2) FLOATS_OR_COMPLEX Shaped Pure Computes Whole NoKernel [],
    Tuple "tuple" Any ALL Shaped Pure Selects Whole NoKernel [KeepsType],
    While "while" Fixed(1) ALL Shaped Pure Computes Whole NoKernel [KeepsType] calls |_| 1,
    Xor "xor" Fixed(2) BITS Elementwise Pure Selects Whole Kernel [],
    #[default]
    Unknown "" Any ALL Shaped Varies Computes Whole Kernel [Accurate Written KeepsType Related],
}

impl Opcode {
    /// The number of opcodes, including [`Opcode::Unknown`].
    pub const COUNT: usize = TABLE.len();

    /// The word in HLO text; empty for [`Opcode::Unknown`].
    pub fn name(self) -> &'static str {
        TABLE[self as usize].name
    }

    /// The number of operands that it takes.
    pub fn arity(self) -> Arity {
        TABLE[self as usize].arity
    }

    /// Whether the operation itself has a trait.
    pub fn has(self, t: Trait) -> bool {
        TABLE[self as usize].traits & t.0 == t.0
    }

    /// The phase of an operation that is one step of an asynchronous one; none for those that wrap any operation.
    pub(crate) fn phase(self) -> Option<AsyncPhase> {
        HALVES.iter().find_map(|&[start, done]| match self {
            opcode if opcode == start => Some(AsyncPhase::Start),
            opcode if opcode == done => Some(AsyncPhase::Done),
            _ => None,
        })
    }

    /// The phase of a step that wraps any operation.
    pub(crate) fn wrapping_phase(self) -> Option<AsyncPhase> {
        match self {
            Opcode::AsyncStart => Some(AsyncPhase::Start),
            Opcode::AsyncUpdate => Some(AsyncPhase::Update),
            Opcode::AsyncDone => Some(AsyncPhase::Done),
            _ => None,
        }
    }

    /// The operation that starts what this one completes.
    pub(crate) fn start(self) -> Option<Opcode> {
        HALVES.iter().find(|&&[_, done]| self == done).map(|&[start, _]| start)
    }

    /// The element types that its first operand may have.
    pub(crate) fn types(self) -> Types {
        TABLE[self as usize].types
    }

    /// The kinds of the element types that its first operand may have.
    pub fn kinds(self) -> impl Iterator<Item = ElementKind> {
        use ElementKind::{Boolean, Complex, Float, Signed, Unsigned};
        let types = self.types();
        [Boolean, Signed, Unsigned, Float, Complex].into_iter().filter(move |&kind| types.has_kind(kind))
    }

    /// The number of parameters of each computation that it calls with `n` operands; `None` if any number is valid.
    pub(crate) fn n_parameters(self, n: usize) -> Option<usize> {
        TABLE[self as usize].parameters.first().map(|of| of(n))
    }

    /// The allowed number of operands in words, unless `n` is allowed.
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
        WORDS.find(name).map_or(Opcode::Unknown, |number| TABLE[number as usize].opcode)
    }

    /// All known names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLE[..TABLE.len() - 1].iter().map(|row| row.name)
    }
}

/// Asynchronous operations with their own opcodes: the start and the end.
const HALVES: &[[Opcode; 2]] = &[
    [Opcode::AllGatherStart, Opcode::AllGatherDone],
    [Opcode::AllReduceStart, Opcode::AllReduceDone],
    [Opcode::CollectivePermuteStart, Opcode::CollectivePermuteDone],
    [Opcode::CopyStart, Opcode::CopyDone],
    [Opcode::Send, Opcode::SendDone],
    [Opcode::Recv, Opcode::RecvDone],
];

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

/// The words of a fixed table and their numbers by hash, with linear probing.
pub(crate) struct Words<const N: usize> {
    pub words: [&'static str; N],
    slots: [u16; 1024],
}

const FREE: u16 = u16::MAX;

impl<const N: usize> Words<N> {
    pub const fn new(words: [&'static str; N]) -> Words<N> {
        let mut slots = [FREE; 1024];
        let mut number = 0;
        while number < N {
            let mut slot = hash(words[number].as_bytes());
            while slots[slot] != FREE {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = number as u16;
            number += 1;
        }
        Words { words, slots }
    }

    /// The number of a word, if it is known.
    #[inline]
    pub fn find(&self, word: &[u8]) -> Option<u16> {
        let mut slot = hash(word);
        loop {
            let number = self.slots[slot % self.slots.len()];
            if number == FREE || bytes_equal(self.words[number as usize].as_bytes(), word) {
                return Some(number).filter(|&number| number != FREE);
            }
            slot += 1;
        }
    }
}

/// A ten-bit hash of the length and the bytes at the start, the quarter, the middle and the end of a word, which
/// separates the words of a fixed table well.
const fn hash(name: &[u8]) -> usize {
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
    use crate::attribute::schema::{self, Owner};

    #[test]
    fn the_table_is_sorted_and_in_order() {
        for (i, row) in TABLE.iter().enumerate() {
            assert_eq!(row.opcode as usize, i);
        }
        for name in Opcode::names() {
            assert_eq!(Opcode::from_name(name).unwrap().name(), name);
        }
        assert!(Opcode::names().is_sorted());
        assert_eq!(Opcode::from_name(""), None);
        assert_eq!(Opcode::from_name("ad"), None);
        assert_eq!(Opcode::from_name(&"a".repeat(1000)), None);
    }

    /// Only the steps that wrap any operation are of none of these pairs.
    #[test]
    fn starts_and_ends_are_pairs() {
        let is_step = |name: &str| ["-start", "-update", "-done"].iter().any(|end| name.ends_with(end));
        let single = |name: &&str| is_step(name) && Opcode::from_name(name).unwrap().phase().is_none();
        assert!(Opcode::names().filter(single).eq(["async-done", "async-start", "async-update"]));
    }

    /// Groups name replicas in the operations with a flag that makes them name devices.
    #[test]
    fn replica_groups_may_be_global() {
        let global = schema::key(b"use_global_device_ids").unwrap();
        for opcode in Opcode::names().filter_map(Opcode::from_name) {
            let is_global = schema::is_allowed(global, Owner::Instruction(opcode));
            assert_eq!(opcode.has(Trait::REPLICA_GROUPS), is_global, "{}", opcode.name());
        }
    }
}
