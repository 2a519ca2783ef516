//! The attributes that are known by name: the form of their values and the operations that may or must have them.
//!
//! Read [`TABLE`]. A `!` behind an operation: it must have this attribute. `*` = every operation. `module` and
//! `computation` stand for the header of a module and the text behind the brace of a computation.
//! Law: the table is sorted by name; the number of a row is the attribute's key.

use std::sync::LazyLock;

use crate::cursor::same;
use crate::model::opcode::{self, Opcode};

/// The form of an attribute's value in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// `3`
    Int,
    /// `1e-05`
    Float,
    /// `true`
    Bool,
    /// `GE`: one word of a set
    Word,
    /// `"text"`
    Text,
    /// `{1,2}`
    Ints,
    /// `{{0,1},{2,3}}`
    IntLists,
    /// `{highest,default}`
    Words,
    /// `{[0:5:1], [2:3]}`
    Slices,
    /// `0_1_2x3_4_5`
    Padding,
    /// `{size=3x3 pad=1_1x1_1}`
    Window,
    /// `bf01_oi01->bf01`
    DimLabels,
    /// `%name`, or a computation in braces
    Computation,
    /// `{%a, %b}`
    Computations,
    /// `{%a, %b}` of the same computation
    Instructions,
    /// `f32[3]`
    Shape,
    /// `{f32[3], s32[]}`
    Shapes,
    /// `{op_name="…" source_line=1}`
    Metadata,
    /// `{{0,1},{2,3}}`, `[2,4]<=[4,2]T(1,0)`, or a mesh
    DeviceGroups,
    /// a constant
    Literal,
    /// `{key="value",…}`
    FrontendAttributes,
    /// a string or a JSON dictionary
    Config,
    /// `{true,false}`, or one word
    Bools,
    /// `{devices=[2,2]<=[4]}`
    Sharding,
    /// `{ {0}: (1, {}, may-alias) }`
    Aliases,
    /// `{{0}: (1, {})}`
    OperandAliases,
    /// `{ (1, {}) }`
    Donors,
    /// `{mode=highest}`
    Accuracy,
    /// `{(f32[4]{0})->f32[]}`
    EntryLayout,
    /// anything in balanced braces
    Braced,
    /// the value of an unknown attribute
    Raw,
}

use Form::{
    Accuracy, Aliases, Bool, Bools, Braced, Computation, Computations, Config, DeviceGroups, DimLabels, Donors,
    EntryLayout, Float, FrontendAttributes, Instructions, Int, IntLists, Ints, Literal, Metadata, OperandAliases,
    Padding, Shape, Shapes, Sharding, Slices, Text, Window, Word, Words,
};

/// Name, form of the value, operations.
pub(crate) const TABLE: &[(&str, Form, &str)] = &[
    ("algorithm", Word, "dot rng-bit-generator! scaled-dot"),
    ("alias_passthrough_params", Bool, "module"),
    ("allow_spmd_sharding_propagation_to_output", Bools, "module"),
    ("allow_spmd_sharding_propagation_to_parameters", Bools, "module"),
    ("api_version", Word, "custom-call"),
    ("async_execution_thread", Text, "async-done async-start async-update"),
    ("async_group_id", Int, "async-start async-update async-done"),
    ("backend_config", Config, "*"),
    ("batch_group_count", Int, "convolution custom-call"),
    ("body", Computation, "while!"),
    ("branch_computations", Computations, "conditional"),
    ("buffer_donor", Donors, "module"),
    ("called_computations", Computations, "custom-call"),
    ("calls", Computation, "async-done async-start async-update fusion!"),
    (
        "channel_id",
        Int,
        "all-gather all-gather-start all-reduce all-reduce-start all-to-all collective-broadcast collective-permute collective-permute-start ragged-all-to-all recv recv-done reduce-scatter send send-done",
    ),
    ("collapsed_slice_dims", Ints, "gather!"),
    ("condition", Computation, "while!"),
    ("constrain_layout", Bool, "all-gather all-gather-start all-reduce all-reduce-start all-to-all reduce-scatter"),
    ("control-predecessors", Instructions, "*"),
    ("conv_kind", Word, "convolution"),
    ("cross_program_prefetch_index", Int, "copy-start"),
    ("custom_call_has_side_effect", Bool, "custom-call"),
    ("custom_call_target", Text, "custom-call!"),
    ("delta", Int, "rng-get-and-update-state!"),
    ("dim_labels", DimLabels, "convolution! custom-call"),
    (
        "dimensions",
        Ints,
        "all-gather! all-gather-start! all-to-all broadcast! concatenate! get-dimension-size! map ragged-all-to-all reduce! reduce-scatter! reverse! scan! set-dimension-size! sort! transpose!",
    ),
    ("direction", Word, "compare!"),
    ("distribution", Word, "rng!"),
    ("domain", Braced, "domain!"),
    ("dynamic_slice_sizes", Ints, "dynamic-slice!"),
    ("entry_computation_layout", EntryLayout, "module"),
    ("epsilon", Float, "batch-norm-grad! batch-norm-inference! batch-norm-training!"),
    ("execution_thread", Text, "computation"),
    ("exponent_bits", Int, "reduce-precision!"),
    ("false_computation", Computation, "conditional"),
    ("feature_group_count", Int, "convolution custom-call"),
    ("feature_index", Int, "batch-norm-grad! batch-norm-inference! batch-norm-training!"),
    ("fft_length", Ints, "fft!"),
    ("fft_type", Word, "fft!"),
    ("frontend_attributes", FrontendAttributes, "* module computation"),
    ("index", Int, "get-tuple-element!"),
    ("index_vector_dim", Int, "gather! scatter!"),
    ("indices_are_sorted", Bool, "gather scatter"),
    ("infeed_config", Text, "infeed"),
    ("inferred_dimension", Int, "reshape"),
    ("input_batching_dims", Ints, "scatter"),
    ("input_output_alias", Aliases, "module"),
    ("inserted_window_dims", Ints, "scatter!"),
    ("iota_dimension", Int, "iota!"),
    ("is_associative", Bool, "scan"),
    ("is_composite", Bool, "call"),
    ("is_host_transfer", Bool, "recv recv-done send send-done"),
    ("is_reverse", Bool, "scan"),
    ("is_scheduled", Bool, "module"),
    ("is_stable", Bool, "sort"),
    ("k", Int, "topk!"),
    ("kind", Word, "fusion!"),
    ("largest", Bool, "topk"),
    ("left_side", Bool, "triangular-solve"),
    ("lhs_batch_dims", Ints, "dot ragged-dot scaled-dot"),
    ("lhs_contracting_dims", Ints, "dot ragged-dot scaled-dot"),
    ("lhs_ragged_dims", Ints, "ragged-dot"),
    ("literal", Literal, "custom-call"),
    ("lower", Bool, "cholesky triangular-solve"),
    ("mantissa_bits", Int, "reduce-precision!"),
    ("metadata", Metadata, "*"),
    ("mode", Word, "all-reduce all-reduce-start reduce-scatter"),
    ("num_carries", Int, "scan!"),
    ("num_partitions", Int, "module"),
    ("offset_dims", Ints, "gather!"),
    ("operand_batching_dims", Ints, "gather"),
    ("operand_layout_constraints", Shapes, "custom-call"),
    ("operand_precision", Words, "convolution custom-call dot ragged-dot scaled-dot"),
    ("origin", Braced, "*"),
    ("outfeed_config", Text, "outfeed"),
    ("outfeed_shape", Shape, "outfeed"),
    ("output_to_operand_aliasing", OperandAliases, "async-done async-start async-update custom-call fusion"),
    ("padding", Padding, "pad!"),
    ("padding_type", Word, "custom-call"),
    ("parameter_replication", Bools, "*"),
    ("replica_count", Int, "module"),
    (
        "replica_groups",
        DeviceGroups,
        "all-gather all-gather-start all-reduce all-reduce-start all-to-all collective-broadcast ragged-all-to-all reduce-scatter",
    ),
    ("result_accuracy", Accuracy, "*"),
    ("rhs_batch_dims", Ints, "dot ragged-dot scaled-dot"),
    ("rhs_contracting_dims", Ints, "dot ragged-dot scaled-dot"),
    ("rhs_group_dims", Ints, "ragged-dot"),
    ("scatter", Computation, "select-and-scatter!"),
    ("scatter_dims_to_operand_dims", Ints, "scatter!"),
    ("scatter_indices_batching_dims", Ints, "scatter"),
    ("schedule", Word, "custom-call"),
    ("select", Computation, "select-and-scatter!"),
    ("sharding", Sharding, "*"),
    ("slice", Slices, "slice!"),
    ("slice_sizes", Ints, "collective-permute collective-permute-start gather!"),
    ("source_target_pairs", IntLists, "collective-permute! collective-permute-start!"),
    ("start_index_map", Ints, "gather!"),
    ("start_indices_batching_dims", Ints, "gather"),
    ("statistics", Braced, "*"),
    (
        "to_apply",
        Computation,
        "all-reduce! all-reduce-start! call! custom-call map! reduce! reduce-scatter! reduce-window! scan! \
         scatter! sort!",
    ),
    ("transpose_a", Word, "triangular-solve"),
    ("true_computation", Computation, "conditional"),
    ("type", Word, "compare"),
    ("unique_indices", Bool, "scatter"),
    ("unit_diagonal", Bool, "triangular-solve"),
    ("update_window_dims", Ints, "scatter!"),
    ("use_global_device_ids", Bool, "all-gather all-gather-start all-reduce all-reduce-start reduce-scatter"),
    ("window", Window, "convolution custom-call reduce-window select-and-scatter"),
];

/// The words that values of form [`Form::Word`] are known to take.
const WORDS: &[(&str, &[&str])] = &[
    ("direction", &["EQ", "NE", "GE", "GT", "LE", "LT"]),
    ("type", &["FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"]),
    ("kind", &["kLoop", "kInput", "kOutput", "kCustom"]),
    ("fft_type", &["FFT", "IFFT", "RFFT", "IRFFT"]),
    ("distribution", &["rng_uniform", "rng_normal"]),
    ("transpose_a", &["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]),
];

/// Where an attribute stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the header of a module.
    Module,
    /// Behind the closing brace of a computation.
    Computation,
    /// On an instruction.
    Instruction(Opcode),
}

impl Place {
    /// The place that a word of the table names: `module`, `computation`, or an operation, also one that is not known.
    pub fn from_name(word: &str) -> Place {
        match word {
            "module" => Place::Module,
            "computation" => Place::Computation,
            word => Place::Instruction(Opcode::from_name(word).unwrap_or(Opcode::Unknown)),
        }
    }

    fn number(self) -> usize {
        match self {
            Place::Instruction(opcode) => opcode as usize,
            Place::Module => Opcode::COUNT,
            Place::Computation => Opcode::COUNT + 1,
        }
    }
}

struct Index {
    /// Bit p of row k: attribute k may stand at place p.
    allowed: Vec<[u64; 3]>,
    /// By opcode.
    required: Vec<Vec<u16>>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { allowed: vec![[0; 3]; TABLE.len()], required: vec![Vec::new(); Opcode::COUNT] };
    for (key, &(_, _, places)) in TABLE.iter().enumerate() {
        for word in places.split(' ') {
            let (word, required) = word.strip_suffix('!').map_or((word, false), |word| (word, true));
            let places = match word {
                "*" => 0..Opcode::COUNT,
                "module" => Opcode::COUNT..Opcode::COUNT + 1,
                "computation" => Opcode::COUNT + 1..Opcode::COUNT + 2,
                word => {
                    let opcode = Opcode::from_name(word).expect("attribute table: every operation is known") as usize;
                    if required {
                        index.required[opcode].push(key as u16);
                    }
                    opcode..opcode + 1
                }
            };
            for place in places {
                index.allowed[key][place / 64] |= 1 << (place % 64);
            }
        }
    }
    // An operation that is not known may have any attribute.
    for (key, bits) in index.allowed.iter_mut().enumerate() {
        if TABLE[key].2 != "module" {
            bits[Opcode::Unknown as usize / 64] |= 1 << (Opcode::Unknown as usize % 64);
        }
    }
    index
});

/// Keys by the hash of their names; a name whose place is taken stands in the next free one.
static SLOTS: [u16; 1024] = {
    let mut slots = [FREE; 1024];
    let mut key = 0;
    while key < TABLE.len() {
        let mut slot = opcode::hash(TABLE[key].0.as_bytes()) % slots.len();
        while slots[slot] != FREE {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = key as u16;
        key += 1;
    }
    slots
};
const FREE: u16 = u16::MAX;

/// The key of this name, if it is known.
#[inline]
pub(crate) fn key(name: &[u8]) -> Option<u16> {
    let mut slot = opcode::hash(name) % SLOTS.len();
    loop {
        let key = SLOTS[slot];
        if key == FREE || same(TABLE[key as usize].0.as_bytes(), name) {
            return Some(key).filter(|&key| key != FREE);
        }
        slot = (slot + 1) % SLOTS.len();
    }
}

/// Whether XLA knows this attribute at this place.
pub(crate) fn is_allowed(key: u16, place: Place) -> bool {
    let p = place.number();
    INDEX.allowed[key as usize][p / 64] >> (p % 64) & 1 == 1
}

/// The attributes that an instruction of this opcode must have.
pub(crate) fn required(opcode: Opcode) -> &'static [u16] {
    &INDEX.required[opcode as usize]
}

/// The names that are known at a place.
pub(crate) fn names(place: Place) -> impl Iterator<Item = &'static str> {
    let known = move |key: &usize| is_allowed(*key as u16, place);
    (0..TABLE.len()).filter(known).map(|key| TABLE[key].0)
}

/// A row of the table as one place sees it.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The name in the text.
    pub name: &'static str,
    /// The form of its value.
    pub form: Form,
    /// Whether it must be there.
    pub is_required: bool,
    /// The words that its value can be, where they are few, else none.
    pub words: &'static [&'static str],
}

/// The attributes that are known at a place, sorted by name.
pub fn attributes_at(place: Place) -> impl Iterator<Item = Known> {
    let required = if let Place::Instruction(opcode) = place { required(opcode) } else { &[] };
    (0..TABLE.len() as u16).filter(move |&key| is_allowed(key, place)).map(move |key| {
        let (name, form, _) = TABLE[key as usize];
        Known { name, form, is_required: required.contains(&key), words: words(key).unwrap_or(&[]) }
    })
}

/// The words that the value of this attribute can be, where they are few.
pub(crate) fn words(key: u16) -> Option<&'static [&'static str]> {
    let name = TABLE[key as usize].0;
    WORDS.iter().find(|row| row.0 == name).map(|row| row.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.is_sorted_by_key(|row| row.0));
        for (k, row) in TABLE.iter().enumerate() {
            assert_eq!(key(row.0.as_bytes()), Some(k as u16));
        }
        assert_eq!(key(b"windows"), None);
        assert_eq!(key(b"window").map(|k| TABLE[k as usize].1), Some(Form::Window));
        assert!(is_allowed(key(b"metadata").unwrap(), Place::Instruction(Opcode::Add)));
        assert!(!is_allowed(key(b"window").unwrap(), Place::Instruction(Opcode::Add)));
        assert!(required(Opcode::Pad).contains(&key(b"padding").unwrap()));
        let at = |word| attributes_at(Place::from_name(word)).filter(|row| row.is_required).map(|row| row.name);
        assert_eq!(at("pad").collect::<Vec<_>>(), ["padding"]);
        assert_eq!(at("module").chain(at("no-operation")).count(), 0);
    }
}
