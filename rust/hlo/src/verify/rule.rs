//! The rules of XLA's verifier that are more than shape inference: one variant per rule.
//!
//! A broken rule is a diagnostic, and an error when a text is read strictly.

use std::fmt::Display;

macro_rules! rules {
    ($($(#[doc = $law:literal])+ $variant:ident $name:literal)*) => {
        /// A rule of XLA's verifier.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Rule {
            $($(#[doc = $law])+ $variant,)*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Rule] = &[$(Rule::$variant),*];

            /// The name in messages.
            pub fn name(self) -> &'static str {
                match self {
                    $(Rule::$variant => $name,)*
                }
            }

            /// The law in one sentence.
            pub fn law(self) -> &'static str {
                match self {
                    $(Rule::$variant => concat!($($law),+).trim_ascii(),)*
                }
            }
        }
    };
}

rules! {
    /// Operands have an element type that the operation is defined for.
    ElementType "element-type"
    /// Operands are arrays or tokens, as the operation takes them.
    OperandKind "operand-kind"
    /// A comparison has an order or, as of old, a type.
    ComparisonType "comparison-type"
    /// A conversion between complex and real numbers is not a bitcast.
    BitcastConvert "bitcast-convert"
    /// The formats of `reduce-precision` have exponents and no negative sizes.
    PrecisionBits "precision-bits"
    /// Indices are integers of one type.
    IndexType "index-type"
    /// Lists of dimension numbers are in ascending order.
    DimensionOrder "dimension-order"
    /// A dimension has one role.
    DimensionRole "dimension-role"
    /// A window has one dimension per dimension of its array.
    WindowRank "window-rank"
    /// A transform runs along one to three dimensions.
    FftRank "fft-rank"
    /// A convolution groups features or batches, not both.
    ConvolutionGroups "convolution-groups"
    /// A required attribute is present.
    RequiredAttribute "required-attribute"
    /// The parameters of a random distribution are two scalars of the type of its values.
    RandomParameters "random-parameters"
    /// A reduction computation maps accumulators and values to accumulators.
    Reducer "reducer"
    /// A comparator maps pairs of elements to pred[].
    Comparator "comparator"
    /// The parameters of a called computation have the types of the elements it is applied to.
    CalledParameters "called-parameters"
    /// A conditional chooses by a scalar of type pred, with two named computations, or s32, with a list of them.
    Selector "selector"
    /// Groups hold the devices 0 to n - 1, each once, and no group is empty.
    DeviceGroups "device-groups"
    /// Global device ids need a channel above 0 and groups.
    GlobalDeviceIds "global-device-ids"
    /// Source-target pairs have two devices, and no device sends or receives twice.
    DevicePairs "device-pairs"
    /// An exchange splits one dimension of an array, or has an array of the same shape for each device of a group.
    Exchange "exchange"
    /// An operation in progress is completed once, and only its next step uses it.
    OneConsumer "one-consumer"
    /// An operation completes one of its own kind.
    MatchingStart "matching-start"
    /// Both halves of a transfer agree on their channel and on whether it goes to the host.
    TransferHalves "transfer-halves"
    /// The steps of an asynchronous operation run the same computation or operation, and bind its operands and result.
    AsyncWrapped "async-wrapped"
    /// A short asynchronous form has the attributes of its operation at the start and none of them later.
    AsyncAttributes "async-attributes"
    /// The steps of an asynchronous operation run on the same thread.
    AsyncThread "async-thread"
    /// Only asynchronous operations call the computation of one.
    AsyncCaller "async-caller"
    /// An asynchronous computation of the main thread is a single operation on its parameters.
    AsyncBody "async-body"
    /// A called computation runs on the thread of its caller.
    CalledThread "called-thread"
    /// One fusion calls a computation.
    FusionCaller "fusion-caller"
    /// Every instruction of a fusion but its root has users, and the root has none.
    FusionUsers "fusion-users"
    /// Aliased parts exist and have the same shape.
    Aliasing "aliasing"
    /// Operand layout constraints are one shape per operand, of its sizes.
    LayoutConstraints "layout-constraints"
    /// Replication is one flag per leaf of a parameter.
    Replication "replication"
    /// A domain is of the kind sharding and has the shardings of its entry and its exit.
    Domain "domain"
    /// A sharding has one tile dimension per dimension of the value and one device per tile, each once; a mesh has one
    /// device per position.
    Sharding "sharding"
    /// A name begins with a letter or `_`; without `%` it is neither a type nor a word of the grammar, and that of an
    /// instruction is never a type.
    ReservedName "reserved-name"
    /// The layout of the entry computation has its shapes.
    EntryLayout "entry-layout"
    /// Outputs alias, and callers donate, parts of parameters that exist, each once.
    Donation "donation"
    /// Operands, parameters of reductions and maps, and results have one floating-point type.
    MixedPrecision "mixed-precision"
    /// Every operand that a collective gathers or scatters has the dimension along which it does.
    SplitDimension "split-dimension"
    /// The call of a seed has no operands and the result u64[].
    RngSeed "rng-seed"
    /// Every size is known or has a bound.
    UnboundedSize "unbounded-size"
    /// Only elements smaller than a byte have a size of their own in a layout.
    ElementSize "element-size"
    /// Parameters and root of a fusion or call have the layouts of its operands and result.
    CalledLayout "called-layout"
    /// An origin has the tuples of the shape.
    Origin "origin"
}

/// A rule that an instruction or a module breaks.
pub(crate) struct Violation {
    pub rule: Rule,
    pub expected: String,
    pub found: String,
    /// The attribute that breaks the rule; otherwise the instruction as a whole.
    pub attribute: Option<&'static str>,
}

pub(crate) type Law = Result<(), Violation>;

/// A rule, and the attribute that it is about, if it is about one.
#[derive(Clone, Copy)]
pub(crate) struct About(Rule, Option<&'static str>);

impl Rule {
    /// The rule about an attribute; otherwise it is about the instruction as a whole.
    pub(crate) fn of(self, attribute: &'static str) -> About {
        About(self, Some(attribute))
    }

    /// As [`About::require`].
    pub(crate) fn require(self, holds: bool, expected: impl Display, found: impl Display) -> Law {
        About(self, None).require(holds, expected, found)
    }

    /// As [`About::none`].
    pub(crate) fn none(self, other: Option<impl Display>, expected: impl Display) -> Law {
        About(self, None).none(other, expected)
    }

    /// As [`About::broken`].
    pub(crate) fn broken<T>(self, expected: impl Display, found: impl Display) -> Result<T, Violation> {
        About(self, None).broken(expected, found)
    }
}

impl About {
    /// Requires that a condition holds; the descriptions are formatted only if it does not.
    pub fn require(self, holds: bool, expected: impl Display, found: impl Display) -> Law {
        if holds {
            return Ok(());
        }
        self.broken(expected, found)
    }

    /// Requires that nothing was found that differs from what is expected.
    pub fn none(self, other: Option<impl Display>, expected: impl Display) -> Law {
        other.map_or(Ok(()), |found| self.broken(expected, found))
    }

    /// The violation.
    #[cold]
    pub fn broken<T>(self, expected: impl Display, found: impl Display) -> Result<T, Violation> {
        Err(Violation { rule: self.0, expected: expected.to_string(), found: found.to_string(), attribute: self.1 })
    }
}
