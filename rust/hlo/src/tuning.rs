//! The numbers of this crate that no law gives: limits on input, nesting and messages, so that no input takes time or
//! memory out of proportion. Facts of formats stay where these are read and written.

/// The errors of a text after which parsing stops.
pub const MAX_PROBLEMS: usize = 100;

/// The limit on diagnostics of a module: a text of a million lines may have one for each.
pub const MAX_DIAGNOSTICS: usize = 1000;

/// The characters of a line of text in an error: the width of a screen.
pub(crate) const SNIPPET_WIDTH: usize = 110;

/// The characters of such a line before the place of the error.
pub(crate) const SNIPPET_BEFORE: usize = 60;

/// The bytes to which any compressed input may expand.
pub(crate) const MIN_EXPANSION: usize = 64 << 20;

/// The largest ratio of expansion of compressed input beyond that.
pub(crate) const MAX_EXPANSION: usize = 100;

/// The memory in KiB for the dictionary of an xz stream; the largest level of its tool needs 65 MiB.
pub(crate) const XZ_KIB: u32 = 256 << 10;

/// The bytes at the beginning of a compressed file that tell whether it is a profile, so that one that is none is not
/// decompressed twice.
pub(crate) const HEAD: usize = 1 << 16;

/// The maximal nesting of inline computations, which bounds the recursion of the parser.
pub(crate) const MAX_INLINE: usize = 64;

/// The number of lines of a text that may have an unclosed brace or quote; past them the rest is lost, so that the time
/// stays linear.
pub(crate) const MAX_UNCLOSED: u32 = 16;

/// The bytes of a shape that is looked up by its text: most are short, and a longer one is parsed again.
pub(crate) const MAX_SHAPE_BYTES: usize = 4096;

/// The limit on distinct unknown attributes of a module.
pub(crate) const MAX_UNKNOWN_KEYS: usize = 4096;

/// The number of names that are compared with a misspelled one: edit distances to a million names take long.
pub(crate) const MAX_CANDIDATES: usize = 5000;

/// The limit on bytes of arrays that a text writes as one number: these take more memory than the text.
pub(crate) const MAX_ZEROS: u64 = 1 << 28;

/// The frames of one stack that are followed: as deep as Python calls functions by default.
pub(crate) const MAX_FRAMES: usize = 1000;

/// The ids of computations of a proto are kept below this, so that there is room for those of wrappers.
pub(crate) const MAX_ID: i64 = 1 << 30;

/// The number of tuples, barriers and copies that are followed from a step to the one before it.
pub(crate) const MAX_CARRIERS: usize = 64;

/// The largest ratio of the length of a text to the bytes of its proto; real modules grow less than tenfold.
pub(crate) const MAX_GROWTH: usize = 64;

/// The depth to which messages of a written proto nest modules.
pub(crate) const MAX_WRITTEN_MODULES: usize = 3;

/// The depth to which a proto that is read nests modules: each level escapes the text of the next.
pub(crate) const MAX_READ_MODULES: usize = 4;

/// The limit on unknown fields that an error of a text names.
pub(crate) const MAX_LOST: usize = 10;

/// The pairs of empty braces that an array without elements prints as; with more it prints as one number.
pub(crate) const MAX_EMPTY: i64 = 4096;

/// The depth to which messages in text format nest.
pub(crate) const MAX_MESSAGES: usize = 100;

/// The most rows of a flat computation: calls that share computations multiply.
pub(crate) const MAX_ROWS: usize = 1 << 17;

/// The most fusions and calls inside each other in a computation that is made flat.
pub(crate) const MAX_CALLS: usize = 100;

/// The steps that are followed from a value through fusions and copies to the instruction that computes it.
pub(crate) const MAX_STEPS: usize = 1000;

/// The depth of nested calls whose values are numbered.
pub(crate) const MAX_NUMBERED: u32 = 100;

/// The instructions that are numbered again, since their computation is called again.
pub(crate) const MAX_REPEATS: i64 = 20_000;
