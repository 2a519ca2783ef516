//! The forms of values: the syntax of an attribute depends on nothing else.

/// The form of an attribute's value in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Form {
    /// `3`
    Int,
    /// `1e-05`
    Float,
    /// `true`
    Bool,
    /// `GE`: an identifier, often one of a fixed set
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
    /// `{%a, %b}`, instructions of the same computation
    Instructions,
    /// `f32[3]`
    Shape,
    /// `{f32[3], s32[]}`
    Shapes,
    /// `{op_name="…" source_line=1}`
    Metadata,
    /// `{{0,1},{2,3}}`, `[2,4]<=[4,2]T(1,0)`, or a mesh
    DeviceGroups,
    /// A constant with its shape: `f32[2] {1, 2}`
    Literal,
    /// `{key="value",…}`
    FrontendAttributes,
    /// A string or a JSON dictionary
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
    /// `{rhs={sparsity=1x4 dimension=0 stride=1 idx=2}}`
    Sparsity,
    /// `{lhs={scale_idx=2 zero_idx=3 strides=1x32 steps=1x1}}`
    BlockScaling,
    /// `{(f32[4]{0})->f32[]}`
    EntryLayout,
    /// `{ {"array"}:({callback_id=4},{op_id=3}) }`
    DebugAttributes,
    /// `{ {"old"} : {"new"}, "module" }`
    RecoveryTable,
    /// Any text in balanced braces
    Braced,
    /// The value of an unknown attribute
    Raw,
}
