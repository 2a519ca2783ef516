//! The numbers of this crate that no law gives: limits on input and messages, and where one way becomes faster than
//! another.

/// The maximal nesting depth of tuples and buffers; the limit bounds the parser's recursion.
pub const MAX_DEPTH: usize = 128;

/// The maximal total number of dimensions of all tiles of a layout: the map of one has a result for each.
pub(crate) const MAX_DIMS: usize = 1 << 16;

/// The maximal number of parts of a split array that are listed, since a list takes memory for each.
pub(crate) const MAX_PARTS: usize = 1 << 16;

/// The length of the longest name that is compared or suggested: a comparison takes time as its square.
pub(crate) const MAX_NAME: usize = 64;

/// The characters of a word in a message, which is one line.
pub(crate) const MAX_WORD: usize = 60;

/// The bytes of a value in a message: enough for a shape or an attribute, and not for the data of a constant.
pub(crate) const MAX_BRIEF: usize = 1000;

// Numbers that affect only speed.

/// The number of parts of a value that count as one step of work; most values have fewer, and count no step.
pub const SHORT: u32 = 64;

/// The number of elements filled or moved between two checks for Ctrl-C.
pub(crate) const PACKED_STEP: usize = 1 << 14;

/// The number of bytes or elements that are packed as bits between two checks for Ctrl-C.
pub(crate) const BITS_STEP: usize = 1 << 12;

/// The side length of the square blocks, in elements, in which transposing copies run, so that the lines of both sides
/// stay in the cache.
pub(crate) const BLOCK: usize = 16;
