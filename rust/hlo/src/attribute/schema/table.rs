//! The table of attributes, one row each.
//!
//! A row has the name in text, the form of the value, the operations that have the attribute, and the field of
//! `HloInstructionProto` that holds it. To add an attribute, add a row; one whose wire form is new also needs an arm in
//! both functions of `proto::irregular`. Rows are in the order in which attributes are printed when a proto becomes
//! text; the number of a row is the attribute's key. Not here: the syntax of values, which depends on their [`Form`]
//! alone.

use crate::attribute::comparison::ORDERS;
use crate::attribute::form::Form;

/// The encoding of an attribute's value in its field.
#[derive(Clone, Copy)]
pub(crate) enum Codec {
    Int,
    /// An integer in a repeated field.
    FirstInt,
    Bool,
    /// A `float` of 32 bits.
    Float,
    /// A string, quoted in text.
    Text,
    /// A string, an identifier in text.
    Name,
    /// An enum: the word of each number, empty if a number has none and is not written in text.
    Word(&'static [&'static str]),
    /// Repeated integers.
    Ints,
    /// A repeated enum: the word of each number.
    Words(&'static [&'static str]),
    /// A wire form shared by all values of its form.
    Irregular,
    Domain,
    SliceRows,
    ComparisonType,
    ComparisonOrder,
    /// A flag whose default is true in text and false in a proto.
    TrueInText,
    /// As `convolution_kind`.
    OldConvolutionKind,
    ShuffleMode,
    Statistics,
    Origin,
}

impl Codec {
    /// Whether the value maps to one field, which need not be one of the instruction itself.
    pub fn is_regular(self) -> bool {
        use Codec::*;
        matches!(self, Int | FirstInt | Bool | Float | Text | Name | Word(_) | Ints | Words(_))
    }

    /// The codec of a form whose values have one encoding.
    const fn of(form: Form) -> Codec {
        match form {
            Form::Int => Codec::Int,
            Form::Float => Codec::Float,
            Form::Bool => Codec::Bool,
            Form::Word => Codec::Name,
            Form::Text => Codec::Text,
            Form::Ints => Codec::Ints,
            _ => Codec::Irregular,
        }
    }
}

/// The field of `HloInstructionProto` that holds an attribute.
pub(crate) struct Field {
    /// The operations that use this field; empty = all that the row lists.
    pub(super) operations: &'static str,
    /// Field numbers from the instruction inwards; for an irregular codec, all fields among which it chooses.
    pub path: &'static [u32],
    pub codec: Codec,
}

/// The effect of an attribute. Signatures, shape checks and rules ignore attributes without an effect on them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The attribute can change what an operation reads or computes.
    Semantic,
    /// Only the rules of the verifier depend on the attribute.
    Verified,
    /// The attribute can change what a custom call or an unknown operation does, or how often a loop runs.
    Hint,
    /// The attribute changes nothing.
    Annotation,
}

pub(crate) struct Row {
    pub name: &'static str,
    pub form: Form,
    /// The operations that have it, `*` for all; `!` behind an operation that requires it. `module` and `computation`
    /// stand for the header of a module and the text behind the brace of a computation.
    pub(super) operations: &'static str,
    /// All words that its value may be; empty if the set is open.
    pub words: &'static [&'static str],
    /// The value of an absent attribute, `false` as 0; `None` if an absent attribute differs from every value.
    pub default: Option<i64>,
    /// The operation that has another default, 1.
    true_on: Option<&'static str>,
    /// An operation with other words.
    other_words: Option<(&'static str, &'static [&'static str])>,
    pub(super) effect: Effect,
    pub(super) fields: [Option<Field>; 2],
}

pub(crate) const fn row(name: &'static str, form: Form, operations: &'static str) -> Row {
    Row {
        name,
        form,
        operations,
        words: &[],
        default: Some(0),
        true_on: None,
        other_words: None,
        effect: Effect::Semantic,
        fields: [None, None],
    }
}

impl Row {
    const fn words(self, words: &'static [&'static str]) -> Row {
        Row { words, ..self }
    }

    const fn default(self, default: i64) -> Row {
        Row { default: Some(default), ..self }
    }

    const fn words_on(self, operation: &'static str, words: &'static [&'static str]) -> Row {
        Row { other_words: Some((operation, words)), ..self }
    }

    /// The words of an operation.
    pub fn words_of(&self, operation: &str) -> &'static [&'static str] {
        self.other_words.filter(|other| other.0 == operation).map_or(self.words, |other| other.1)
    }

    const fn true_on(self, operation: &'static str) -> Row {
        Row { true_on: Some(operation), ..self }
    }

    /// The default on an operation.
    pub fn default_on(&self, operation: &str) -> Option<i64> {
        if self.true_on == Some(operation) {
            Some(1)
        } else {
            self.default
        }
    }

    const fn no_default(self) -> Row {
        Row { default: None, ..self }
    }

    const fn verified(self) -> Row {
        Row { effect: Effect::Verified, ..self }
    }

    const fn hint(self) -> Row {
        Row { effect: Effect::Hint, ..self }
    }

    const fn annotation(self) -> Row {
        Row { effect: Effect::Annotation, ..self }
    }

    /// Encoded as its form suggests.
    pub const fn field(self, path: &'static [u32]) -> Row {
        let codec = Codec::of(self.form);
        self.field_of("", path, codec)
    }

    pub const fn field_as(self, path: &'static [u32], codec: Codec) -> Row {
        self.field_of("", path, codec)
    }

    /// A field that only these operations use, or for `*` all operations, even if the row does not list them.
    const fn field_of(self, operations: &'static str, path: &'static [u32], codec: Codec) -> Row {
        let field = Some(Field { operations, path, codec });
        let fields = match self.fields {
            [None, _] => [field, None],
            [first, None] => [first, field],
            [Some(_), Some(_)] => panic!("attribute schema: at most two fields"),
        };
        Row { fields, ..self }
    }
}

use Form::{
    Accuracy, Aliases, BlockScaling, Bool, Bools, Braced, Computation, Computations, Config, DebugAttributes,
    DeviceGroups, DimLabels, Donors, EntryLayout, Float, FrontendAttributes, Instructions, Int, IntLists, Ints,
    Literal, Metadata, OperandAliases, Padding, RecoveryTable, Shape, Shapes, Sharding, Slices, Sparsity, Text, Window,
    Word, Words,
};

/// Words by number of `PrecisionConfig.Precision`.
const PRECISIONS: &[&str] = &["default", "high", "highest"];
/// Words by number of `PrecisionConfig.Algorithm`.
const DOT_ALGORITHMS: &[&str] = &[
    "",
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
    "dot_bf16_bf16_f32_x9",
    "dot_bf16_bf16_fp8x3",
    "dot_bf16_bf16_fp8x4",
];
/// Words by number of `RandomAlgorithm`.
const RANDOM_ALGORITHMS: &[&str] = &["rng_default", "rng_three_fry", "rng_philox"];
/// Words by number of `RandomDistribution`; the first is not valid.
const DISTRIBUTIONS: &[&str] = &["rng_invalid", "rng_uniform", "rng_normal"];
/// Words by number of `FftType`.
const FFT_TYPES: &[&str] = &["FFT", "IFFT", "RFFT", "IRFFT"];
/// Words by number of `TriangularSolveOptions.Transpose`; the first is not valid.
const TRANSPOSES: &[&str] = &["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
/// Words by number of `PaddingType`.
const PADDING_TYPES: &[&str] = &["PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"];
/// Words by number of `CustomCallSchedule`.
const SCHEDULES: &[&str] = &["SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"];
/// Words by number of `CustomCallApiVersion`; number 1 is the default.
const API_VERSIONS: &[&str] = &[
    "",
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
];
/// The only mode of a shuffle.
pub(crate) const ROTATE: &str = "rotate";
/// Words by number of `ConvolutionKind`.
const CONVOLUTION_KINDS: &[&str] = &["unset", "fprop", "dgrad", "wgrad"];
/// Words by number of `TriState`.
const TRI_STATES: &[&str] = &["", "true", "false"];

const DIRECTIONS: &[&str] = &["EQ", "NE", "GE", "GT", "LE", "LT"];
const COMPARISON_TYPES: &[&str] = &["FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"];
const FUSION_KINDS: &[&str] = &["kLoop", "kInput", "kOutput", "kCustom"];

const COLLECTIVE_MODES: &[&str] = &["cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id"];

/// Every known attribute.
#[rustfmt::skip]
pub(crate) const TABLE: &[Row] = &[
    // Of the header of a module and of computations: `proto::read::Reader::header` and `proto::write::Writer::module`
    // map some of them to fields of `HloModuleProto` and `HloComputationProto`.
    row("alias_passthrough_params", Bool, "module"),
    row("allow_spmd_sharding_propagation_to_output", Bools, "module"),
    row("allow_spmd_sharding_propagation_to_parameters", Bools, "module"),
    row("buffer_donor", Donors, "module"),
    row("entry_computation_layout", EntryLayout, "module"),
    row("debug_attributes", DebugAttributes, "module").annotation(),
    row("execution_thread", Text, "computation"),
    row("input_output_alias", Aliases, "module"),
    row("is_scheduled", Bool, "module"),
    row("num_partitions", Int, "module"),
    row("origin_recovery_table", RecoveryTable, "module").annotation(),
    row("replica_count", Int, "module"),

    // Called computations share field 38, in the order of `proto::operation::callees`.
    row("body", Computation, "while!"),
    row("condition", Computation, "while!"),
    row("branch_computations", Computations, "conditional"),
    row("true_computation", Computation, "conditional"),
    row("false_computation", Computation, "conditional"),
    row("called_computations", Computations, "custom-call"),
    row("calls", Computation, "async-done async-start async-update fusion!"),
    row("select", Computation, "select-and-scatter!"),
    row("scatter", Computation, "select-and-scatter!"),
    row(
        "to_apply",
        Computation,
        "all-reduce! all-reduce-start! call! collective-reduce! custom-call map! reduce! reduce-scatter! \
         reduce-window! scan! scatter! sort!",
    ),

    // Without a field of their own.
    row("async_group_id", Int, "async-start async-update async-done"),
    row("mode", Word, "all-reduce all-reduce-start reduce-scatter shuffle!")
        .words(COLLECTIVE_MODES)
        .words_on("shuffle", &[ROTATE])
        .field_of("shuffle", &[103], Codec::ShuffleMode),
    row("shifts", Ints, "shuffle!").field(&[103, 1, 1]),

    row("window", Window, "convolution custom-call reduce-window select-and-scatter").field(&[15]),
    row("dim_labels", DimLabels, "convolution! custom-call").field(&[16]),
    row("feature_group_count", Int, "convolution custom-call").default(1).field(&[50]),
    row("batch_group_count", Int, "convolution custom-call").default(1).field(&[58]),
    row("padding_type", Word, "custom-call").words(PADDING_TYPES).field_as(&[75], Codec::Word(PADDING_TYPES)),
    row("convolution_kind", Word, "convolution").field_as(&[97], Codec::Word(CONVOLUTION_KINDS)),
    // Its name before August 2026.
    row("conv_kind", Word, "convolution").field_as(&[], Codec::OldConvolutionKind),
    row(
        "channel_id",
        Int,
        "all-gather all-gather-start all-reduce all-reduce-start all-to-all collective-broadcast collective-permute \
         collective-permute-start collective-reduce ragged-all-to-all recv recv-done reduce-scatter send send-done",
    )
    .field_of("*", &[26], Codec::Int),
    row(
        "replica_groups",
        DeviceGroups,
        "all-gather all-gather-start all-reduce all-reduce-start all-to-all collective-broadcast collective-reduce \
         ragged-all-to-all reduce-scatter",
    )
    .field_of("*", &[49, 87, 92, 93], Codec::Irregular),
    row("source_target_pairs", IntLists, "collective-permute! collective-permute-start!").field(&[52]),
    row(
        "dimensions",
        Ints,
        "all-gather! all-gather-start! all-to-all broadcast! concatenate! get-dimension-size! map ragged-all-to-all \
         reduce! reduce-scatter! reverse! scan! set-dimension-size! shuffle! sort! transpose!",
    )
    .field(&[14]),
    row("iota_dimension", Int, "iota!").field_as(&[14], Codec::FirstInt),
    row("inferred_dimension", Int, "reshape").no_default().field_as(&[14], Codec::FirstInt),
    row(
        "constrain_layout",
        Bool,
        "all-gather all-gather-start all-reduce all-reduce-start all-to-all collective-reduce reduce-scatter",
    )
    .field(&[56]),
    row(
        "use_global_device_ids",
        Bool,
        "all-gather all-gather-start all-reduce all-reduce-start collective-reduce reduce-scatter",
    )
    .field_of("*", &[71], Codec::Bool),
    row("has_dynamic_root", Bool, "collective-broadcast collective-reduce").field(&[100]),
    row("is_host_transfer", Bool, "recv recv-done send send-done").field_of("*", &[47], Codec::Bool),
    row("is_stable", Bool, "sort topk")
        .true_on("topk")
        .field_of("sort", &[60], Codec::Bool)
        .field_of("topk", &[60], Codec::TrueInText),
    row("is_reverse", Bool, "scan").field(&[94]),
    row("num_carries", Int, "scan!").field(&[95]),
    row("is_associative", Bool, "scan").field_as(&[96], Codec::Word(TRI_STATES)),
    row("index", Int, "get-tuple-element!").field(&[13]),
    row("slice", Slices, "slice!").field(&[17]),
    row("dynamic_slice_sizes", Ints, "dynamic-slice!").field(&[20]),
    row("padding", Padding, "pad!").field(&[21]),
    row("kind", Word, "fusion!").words(FUSION_KINDS).field(&[11]),
    row("direction", Word, "compare!").words(DIRECTIONS).field(&[63]),
    row("type", Word, "compare").words(COMPARISON_TYPES).field_as(&[72, 102], Codec::ComparisonType),
    row("order", Word, "compare").words(ORDERS).no_default().field_as(&[102], Codec::ComparisonOrder),
    row("exponent_bits", Int, "reduce-precision!").field(&[18]),
    row("mantissa_bits", Int, "reduce-precision!").field(&[19]),
    row("distribution", Word, "rng!").words(DISTRIBUTIONS.split_at(1).1).field_as(&[23], Codec::Word(DISTRIBUTIONS)),
    row("epsilon", Float, "batch-norm-grad! batch-norm-inference! batch-norm-training!").field(&[24]),
    row("feature_index", Int, "batch-norm-grad! batch-norm-inference! batch-norm-training!").field(&[25]),
    row("fft_type", Word, "fft!").words(FFT_TYPES).field_as(&[31], Codec::Word(FFT_TYPES)),
    row("fft_length", Ints, "fft!").field(&[32]),
    row("lhs_batch_dims", Ints, "dot ragged-dot scaled-dot")
        .field_of("dot scaled-dot", &[30, 3], Codec::Ints)
        .field_of("ragged-dot", &[90, 1, 3], Codec::Ints),
    row("lhs_contracting_dims", Ints, "dot ragged-dot scaled-dot")
        .field_of("dot scaled-dot", &[30, 1], Codec::Ints)
        .field_of("ragged-dot", &[90, 1, 1], Codec::Ints),
    row("rhs_batch_dims", Ints, "dot ragged-dot scaled-dot")
        .field_of("dot scaled-dot", &[30, 4], Codec::Ints)
        .field_of("ragged-dot", &[90, 1, 4], Codec::Ints),
    row("rhs_contracting_dims", Ints, "dot ragged-dot scaled-dot")
        .field_of("dot scaled-dot", &[30, 2], Codec::Ints)
        .field_of("ragged-dot", &[90, 1, 2], Codec::Ints),
    row("lhs_ragged_dims", Ints, "ragged-dot").field(&[90, 2]),
    row("rhs_group_dims", Ints, "ragged-dot").field(&[90, 3]),
    row("offset_dims", Ints, "gather!").field(&[33, 1]),
    row("collapsed_slice_dims", Ints, "gather!").field(&[33, 2]),
    row("start_index_map", Ints, "gather!").field(&[33, 3]),
    row("operand_batching_dims", Ints, "gather").field(&[33, 5]),
    row("start_indices_batching_dims", Ints, "gather").field(&[33, 6]),
    row("update_window_dims", Ints, "scatter!").field(&[48, 1]),
    row("inserted_window_dims", Ints, "scatter!").field(&[48, 2]),
    row("scatter_dims_to_operand_dims", Ints, "scatter!").field(&[48, 3]),
    row("input_batching_dims", Ints, "scatter").field(&[48, 5]),
    row("scatter_indices_batching_dims", Ints, "scatter").field(&[48, 6]),
    row("index_vector_dim", Int, "gather! scatter!")
        .field_of("gather", &[33, 4], Codec::Int)
        .field_of("scatter", &[48, 4], Codec::Int),
    // Rows of integers on a collective permute.
    row("slice_sizes", Ints, "collective-permute collective-permute-start gather!")
        .field_of("gather", &[34], Codec::Ints)
        .field_of("collective-permute collective-permute-start", &[20], Codec::SliceRows),
    row("indices_are_sorted", Bool, "gather scatter").field(&[67]),
    row("unique_indices", Bool, "scatter").field(&[69]),
    row("operand_precision", Words, "convolution custom-call dot ragged-dot scaled-dot")
        .field_as(&[51, 1], Codec::Words(PRECISIONS)),
    row("algorithm", Word, "convolution dot rng-bit-generator! scaled-dot")
        .field_of("convolution dot scaled-dot", &[51, 2], Codec::Word(DOT_ALGORITHMS))
        .field_of("rng-bit-generator", &[70], Codec::Word(RANDOM_ALGORITHMS)),
    row("sparsity_config", Sparsity, "convolution dot").field(&[98]),
    row("block_scaling_config", BlockScaling, "convolution dot").field(&[101]),
    row("delta", Int, "rng-get-and-update-state!").field(&[66]),
    row("left_side", Bool, "triangular-solve").field(&[59, 1]),
    row("lower", Bool, "cholesky triangular-solve")
        .field_of("triangular-solve", &[59, 2], Codec::Bool)
        .field_of("cholesky", &[62, 1], Codec::Bool),
    row("unit_diagonal", Bool, "triangular-solve").field(&[59, 3]),
    row("transpose_a", Word, "triangular-solve")
        .words(TRANSPOSES.split_at(1).1)
        .field_as(&[59, 4], Codec::Word(TRANSPOSES)),
    row("k", Int, "topk!").field(&[81]),
    row("largest", Bool, "topk").default(1).field_as(&[85], Codec::TrueInText),
    row("cross_program_prefetch_index", Int, "copy-start").no_default().field(&[80]),
    row("infeed_config", Text, "infeed").field(&[27]),
    row("outfeed_shape", Shape, "outfeed").field(&[29]),
    row("outfeed_config", Text, "outfeed").field(&[22]),
    row("custom_call_target", Text, "custom-call!").field(&[28]),
    row("operand_layout_constraints", Shapes, "custom-call").field(&[57, 56]),
    row("custom_call_has_side_effect", Bool, "custom-call").field(&[65]),
    row("literal", Literal, "custom-call").field(&[8]),
    row("output_to_operand_aliasing", OperandAliases, "async-done async-start async-update custom-call fusion")
        .field(&[74]),
    row("schedule", Word, "custom-call").words(SCHEDULES).field_as(&[76], Codec::Word(SCHEDULES)),
    row("api_version", Word, "custom-call")
        .words(API_VERSIONS.split_at(1).1)
        .default(1)
        .field_as(&[77], Codec::Word(API_VERSIONS)),
    row("async_execution_thread", Text, "async-done async-start async-update").field(&[79]),
    row("is_composite", Bool, "call").field(&[89]),
    row("domain", Braced, "domain!").field_as(&[54, 55], Codec::Domain),
    row("parameter_replication", Bools, "parameter").verified().field(&[61]),
    row("sharding", Sharding, "*").verified().field(&[40]),
    row("result_accuracy", Accuracy, "*").field(&[91]),
    row("frontend_attributes", FrontendAttributes, "* module computation").hint().field(&[68]),
    row("statistics", Braced, "*").annotation().field_as(&[82], Codec::Statistics),
    row("origin", Braced, "*").annotation().field_as(&[88], Codec::Origin),
    row("metadata", Metadata, "*").annotation().field(&[7]),
    row("backend_config", Config, "* module computation").hint().field(&[43, 99]),
    // Field 37: ids, which `proto::read::Reader::instruction` and `proto::write::Writer::head` map to names.
    row("control-predecessors", Instructions, "*").annotation(),
];
