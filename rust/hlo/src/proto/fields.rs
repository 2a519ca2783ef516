//! Which attribute of which operation is which field of `HloInstructionProto`.
//!
//! Read [`TABLE`]: both directions follow it, in this order. Attributes whose text is not a plain image of one field
//! are read and written by `special`. Not here: operands, called computations, literals.

use std::sync::LazyLock;

use super::origin;
use super::special::{self, Special};
use crate::attribute::schema;
use crate::Opcode;

/// How the value of an attribute stands in its field.
#[derive(Clone, Copy)]
pub(crate) enum Codec {
    /// `3`
    Int,
    /// An int that is 0 or 1 when it is not written.
    Count,
    /// `3`, in a repeated field
    FirstInt,
    /// `true`
    Bool,
    /// A float of 32 bits.
    Float,
    /// `"text"`
    Text,
    /// A word, as a string.
    Name,
    /// A word, by number; number 0 is not written.
    Word(&'static [(i64, &'static str)]),
    /// `{1,2}`
    Ints,
    /// `{highest,default}`
    Words(&'static [(i64, &'static str)]),
    /// Everything else.
    Special(Special),
}

pub(crate) struct Row {
    pub name: &'static str,
    ops: &'static str,
    pub path: &'static [u32],
    pub codec: Codec,
}

const fn row(name: &'static str, ops: &'static str, path: &'static [u32], codec: Codec) -> Row {
    Row { name, ops, path, codec }
}

use Codec::{Bool, Count, FirstInt, Float, Int, Ints, Name, Text, Word, Words};

const PRECISIONS: &[(i64, &str)] = &[(0, "default"), (1, "high"), (2, "highest")];
const ALGORITHMS: &[(i64, &str)] = &[
    (1, "dot_any_f8_any_f8_f32"),
    (2, "dot_any_f8_any_f8_f32_fast_accum"),
    (3, "dot_f16_f16_f16"),
    (4, "dot_f16_f16_f32"),
    (5, "dot_bf16_bf16_bf16"),
    (6, "dot_bf16_bf16_f32"),
    (7, "dot_bf16_bf16_f32_x3"),
    (8, "dot_bf16_bf16_f32_x6"),
    (9, "dot_tf32_tf32_f32"),
    (10, "dot_tf32_tf32_f32_x3"),
    (11, "dot_f32_f32_f32"),
    (12, "dot_f64_f64_f64"),
    (13, "dot_bf16_bf16_f32_x9"),
];
const RANDOM: &[(i64, &str)] = &[(0, "rng_default"), (1, "rng_three_fry"), (2, "rng_philox")];
const DISTRIBUTIONS: &[(i64, &str)] = &[(0, "rng_invalid"), (1, "rng_uniform"), (2, "rng_normal")];
const FFTS: &[(i64, &str)] = &[(0, "FFT"), (1, "IFFT"), (2, "RFFT"), (3, "IRFFT")];
const TRANSPOSES: &[(i64, &str)] = &[(0, "TRANSPOSE_INVALID"), (1, "NO_TRANSPOSE"), (2, "TRANSPOSE"), (3, "ADJOINT")];
const PADDINGS: &[(i64, &str)] = &[(1, "PADDING_VALID"), (2, "PADDING_SAME")];
const SCHEDULES: &[(i64, &str)] = &[(1, "SCHEDULE_LATEST"), (2, "SCHEDULE_EARLIEST")];
const API_VERSIONS: &[(i64, &str)] =
    &[(2, "API_VERSION_STATUS_RETURNING"), (3, "API_VERSION_STATUS_RETURNING_UNIFIED"), (4, "API_VERSION_TYPED_FFI")];
const CONV_KINDS: &[(i64, &str)] = &[(1, "fprop"), (2, "dgrad"), (3, "wgrad")];
const TRI_STATES: &[(i64, &str)] = &[(1, "true"), (2, "false")];

/// Attribute, operations (`*` = all), path of field numbers, form.
pub(crate) static TABLE: &[Row] = &[
    row("window", "convolution custom-call reduce-window select-and-scatter", &[15], Codec::Special(special::WINDOW)),
    row("dim_labels", "convolution custom-call", &[16], Codec::Special(special::DIM_LABELS)),
    row("feature_group_count", "convolution custom-call", &[50], Count),
    row("batch_group_count", "convolution custom-call", &[58], Count),
    row("padding_type", "custom-call", &[75], Word(PADDINGS)),
    row("conv_kind", "convolution", &[97], Word(CONV_KINDS)),
    row("channel_id", "*", &[26], Int),
    row("replica_groups", "*", &[], Codec::Special(special::REPLICA_GROUPS)),
    row("source_target_pairs", "collective-permute collective-permute-start", &[52], Codec::Special(special::PAIRS)),
    row(
        "dimensions",
        "all-gather all-gather-start all-to-all broadcast concatenate get-dimension-size map ragged-all-to-all reduce \
         reduce-scatter reverse scan set-dimension-size sort transpose",
        &[14],
        Ints,
    ),
    row("iota_dimension", "iota", &[14], FirstInt),
    row("inferred_dimension", "reshape", &[14], FirstInt),
    row(
        "constrain_layout",
        "all-gather all-gather-start all-reduce all-reduce-start all-to-all reduce-scatter",
        &[56],
        Bool,
    ),
    row("use_global_device_ids", "*", &[71], Bool),
    row("is_host_transfer", "*", &[47], Bool),
    row("is_stable", "sort", &[60], Bool),
    row("is_reverse", "scan", &[94], Bool),
    row("num_carries", "scan", &[95], Int),
    row("is_associative", "scan", &[96], Word(TRI_STATES)),
    row("index", "get-tuple-element", &[13], Int),
    row("slice", "slice", &[17], Codec::Special(special::SLICE)),
    row("dynamic_slice_sizes", "dynamic-slice", &[20], Ints),
    row("padding", "pad", &[21], Codec::Special(special::PADDING)),
    row("kind", "fusion", &[11], Name),
    row("direction", "compare", &[63], Name),
    row("type", "compare", &[72], Codec::Special(special::COMPARISON_TYPE)),
    row("exponent_bits", "reduce-precision", &[18], Int),
    row("mantissa_bits", "reduce-precision", &[19], Int),
    row("distribution", "rng", &[23], Word(DISTRIBUTIONS)),
    row("epsilon", "batch-norm-grad batch-norm-inference batch-norm-training", &[24], Float),
    row("feature_index", "batch-norm-grad batch-norm-inference batch-norm-training", &[25], Int),
    row("fft_type", "fft", &[31], Word(FFTS)),
    row("fft_length", "fft", &[32], Ints),
    row("lhs_batch_dims", "dot scaled-dot", &[30, 3], Ints),
    row("lhs_contracting_dims", "dot scaled-dot", &[30, 1], Ints),
    row("rhs_batch_dims", "dot scaled-dot", &[30, 4], Ints),
    row("rhs_contracting_dims", "dot scaled-dot", &[30, 2], Ints),
    row("lhs_batch_dims", "ragged-dot", &[90, 1, 3], Ints),
    row("lhs_contracting_dims", "ragged-dot", &[90, 1, 1], Ints),
    row("rhs_batch_dims", "ragged-dot", &[90, 1, 4], Ints),
    row("rhs_contracting_dims", "ragged-dot", &[90, 1, 2], Ints),
    row("lhs_ragged_dims", "ragged-dot", &[90, 2], Ints),
    row("rhs_group_dims", "ragged-dot", &[90, 3], Ints),
    row("offset_dims", "gather", &[33, 1], Ints),
    row("collapsed_slice_dims", "gather", &[33, 2], Ints),
    row("start_index_map", "gather", &[33, 3], Ints),
    row("operand_batching_dims", "gather", &[33, 5], Ints),
    row("start_indices_batching_dims", "gather", &[33, 6], Ints),
    row("index_vector_dim", "gather", &[33, 4], Int),
    row("slice_sizes", "gather", &[34], Ints),
    row("update_window_dims", "scatter", &[48, 1], Ints),
    row("inserted_window_dims", "scatter", &[48, 2], Ints),
    row("scatter_dims_to_operand_dims", "scatter", &[48, 3], Ints),
    row("input_batching_dims", "scatter", &[48, 5], Ints),
    row("scatter_indices_batching_dims", "scatter", &[48, 6], Ints),
    row("index_vector_dim", "scatter", &[48, 4], Int),
    row("indices_are_sorted", "gather scatter", &[67], Bool),
    row("unique_indices", "scatter", &[69], Bool),
    row("operand_precision", "convolution custom-call dot ragged-dot scaled-dot", &[51, 1], Words(PRECISIONS)),
    row("algorithm", "dot scaled-dot", &[51, 2], Word(ALGORITHMS)),
    row("algorithm", "rng-bit-generator", &[70], Word(RANDOM)),
    row("delta", "rng-get-and-update-state", &[66], Int),
    row("left_side", "triangular-solve", &[59, 1], Bool),
    row("lower", "triangular-solve", &[59, 2], Bool),
    row("unit_diagonal", "triangular-solve", &[59, 3], Bool),
    row("transpose_a", "triangular-solve", &[59, 4], Word(TRANSPOSES)),
    row("lower", "cholesky", &[62, 1], Bool),
    row("k", "topk", &[81], Int),
    row("largest", "topk", &[85], Codec::Special(special::LARGEST)),
    row("cross_program_prefetch_index", "copy-start", &[80], Codec::Special(special::PRESENT_INT)),
    row("infeed_config", "infeed", &[27], Text),
    row("outfeed_shape", "outfeed", &[29], Codec::Special(special::SHAPE)),
    row("outfeed_config", "outfeed", &[22], Text),
    row("custom_call_target", "custom-call", &[28], Text),
    row("operand_layout_constraints", "custom-call", &[57], Codec::Special(special::LAYOUT_CONSTRAINTS)),
    row("custom_call_has_side_effect", "custom-call", &[65], Bool),
    row("literal", "custom-call", &[8], Codec::Special(special::LITERAL)),
    row(
        "output_to_operand_aliasing",
        "async-done async-start async-update custom-call fusion",
        &[74],
        Codec::Special(special::ALIASING),
    ),
    row("schedule", "custom-call", &[76], Word(SCHEDULES)),
    row("api_version", "custom-call", &[77], Word(API_VERSIONS)),
    row("async_execution_thread", "async-done async-start async-update", &[79], Text),
    row("is_composite", "call", &[89], Bool),
    row("domain", "domain", &[], Codec::Special(special::DOMAIN)),
    row("parameter_replication", "*", &[61], Codec::Special(special::REPLICATION)),
    row("sharding", "*", &[40], Codec::Special(special::SHARDING)),
    row("result_accuracy", "*", &[91], Codec::Special(special::ACCURACY)),
    row("frontend_attributes", "*", &[68], Codec::Special(special::FRONTEND)),
    row("statistics", "*", &[82], Codec::Special(special::STATISTICS)),
    row("origin", "*", &[88], Codec::Special(origin::ORIGIN)),
    row("metadata", "*", &[7], Codec::Special(special::METADATA)),
    row("backend_config", "*", &[43], Codec::Special(special::CONFIG)),
];

/// By opcode: the rows of its attributes, and whether it must have each.
static BY_OPCODE: LazyLock<Vec<Vec<(&'static Row, bool)>>> = LazyLock::new(|| {
    let rows = |opcode: &str| {
        let required = Opcode::from_name(opcode).map_or(&[][..], schema::required);
        let own = TABLE.iter().filter(|row| row.ops == "*" || row.ops.split(' ').any(|op| op == opcode));
        own.map(|row| (row, required.iter().any(|&key| schema::TABLE[key as usize].0 == row.name))).collect()
    };
    Opcode::names().chain([""]).map(rows).collect()
});

/// The rows of an operation; of one that is not known, those that every operation has.
pub(crate) fn rows(opcode: Opcode) -> &'static [(&'static Row, bool)] {
    &BY_OPCODE[opcode as usize]
}

/// Messages that an operation must have, also when nothing stands in them.
pub(crate) fn required_messages(opcode: &str) -> &'static [u32] {
    match opcode {
        "dot" | "scaled-dot" => &[30],
        "ragged-dot" => &[90],
        "convolution" => &[15, 16],
        "reduce-window" | "select-and-scatter" => &[15],
        "pad" => &[21],
        "gather" => &[33],
        "scatter" => &[48],
        "triangular-solve" => &[59],
        "cholesky" => &[62],
        _ => &[],
    }
}

/// How an operation names the computations it calls, in the order of their ids; a name of many takes them all.
pub(crate) fn callees(opcode: &str, has_predicate: bool) -> &'static [&'static str] {
    match opcode {
        "fusion" | "async-start" | "async-update" | "async-done" => &["calls"],
        "while" => &["body", "condition"],
        "select-and-scatter" => &["select", "scatter"],
        "conditional" if has_predicate => &["true_computation", "false_computation"],
        "conditional" => &["branch_computations"],
        "custom-call" => &["called_computations"],
        _ => &["to_apply"],
    }
}

/// As [`callees`], for `n` computations; nothing where the operation calls another number of them.
pub(crate) fn callee_names(opcode: &str, has_predicate: bool, n: usize) -> Option<&'static [&'static str]> {
    let names = callees(opcode, has_predicate && n == 2);
    (names.len() == n || matches!(names, ["branch_computations" | "called_computations"])).then_some(names)
}
