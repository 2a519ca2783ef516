//! The numbers of this crate that no law gives: limits on work, and where one way becomes faster than another.
//!
//! Past a limit of maps or loops an answer is over-approximate or unknown, and says so; the others change no answer.

// Maps of a propagation.

/// The limit on distinct maps to one array, since each value that it is computed from takes a composition with each of
/// them. More become one map of the whole array, which is not exact.
pub(crate) const MAX_MAPS: usize = 128;

/// The limit on variables and nodes of all maps to one array, enough for [`MAX_MAPS`] shifted windows in four
/// dimensions. Each value that the array is computed from takes a composition with each map, so larger maps also become
/// one map of the whole array. If a single map is so large, its ranges are eliminated first, which keeps its elements
/// but not the number of reads.
pub(crate) const MAX_SIZE: u64 = 2000;

/// The largest useful result of a search: with more maps, the next value would need a search again.
pub(crate) const FEW_MAPS: usize = MAX_MAPS / 8;

/// The limit on maps for a search, which takes more than linear time. A value with more maps is put together from very
/// many parts, which stay apart.
pub(crate) const MANY_MAPS: usize = 4 * MAX_MAPS;

/// The limit on distinct maps to one array in a loop that runs any number of times: every map that is found is composed
/// with all maps of an iteration until no new one appears. More become one map of the whole array.
pub(crate) const MAX_ITERATION_MAPS: usize = 8;

/// The depth up to which calls are followed recursively, which takes stack; deeper ones are computed innermost first.
pub(crate) const DEEP_CALLS: u32 = 16;

/// The number of maps up to which a union is searched for a proof of disjointness, which compares all pairs.
pub const MAX_PAIRWISE: usize = 16;

/// The reads of instructions with one signature: as many as a rule of a custom call may look at attributes. The key of
/// each instruction covers all of them, so more make each instruction one of its own.
pub(crate) const MAX_READS: usize = 256;

/// Operands from an instruction to a value that it is made of. A rule that follows a chain notes each of its values, by
/// a path as long, so that the work grows as the square.
pub(crate) const MAX_PATH: usize = 32;

/// The signatures whose reads are kept, unless a rule is still asked: a process that analyzes programs for days meets
/// any number. A rule is asked again about those that are forgotten.
pub(crate) const MAX_SIGNATURES: usize = 1 << 15;

// Loops.

/// Maps to one leaf, and pairs of them: a union is compared with each map of another. More become one map of the whole
/// array.
pub(crate) const MAX_LOOP_MAPS: usize = 64;

/// A loop with more iterations is not counted: its offsets might not fit in 64 bits.
pub(crate) const MAX_TRIP_COUNT: i128 = 1 << 40;

/// The most iterations that are run, if no formula counts them: each evaluates the scalars of the body.
pub(crate) const MAX_ITERATIONS: i64 = 1000;

/// The most elements of an array that are followed one by one: counters and offsets have few, data has many.
pub(crate) const MAX_ELEMENTS: i64 = 64;

/// The most values that a value may depend on: calls of calls may have exponentially many.
pub(crate) const MAX_VALUES: usize = 4096;

/// How deeply calls nest inside a body, and loops around it, which bounds the walk through them.
pub(crate) const MAX_NESTED: usize = 64;

/// How many large groups wait until a question passes through them. It follows paths from group to group recursively, as
/// deep as groups that wait: the paths from all others are found with the group.
pub(crate) const MAX_WAITING: usize = 50;

/// Leaves of a group whose relation is computed: it has a union of maps for each pair of leaves.
pub(crate) const MAX_GROUP: usize = 12;

/// Iterations after which the relation of a group has to repeat: leaves that change places have a short cycle.
pub(crate) const MAX_POWERS: usize = 8;

/// Names of leaves in a reason, which a user reads in one line.
pub(crate) const MAX_NAMES: usize = 4;

/// Vectors of a set without form that have a range variable each; of more, the sums are those of their convex hull.
pub(crate) const MAX_TERMS: usize = 8;

/// Distances of one leaf: as many as a window of 64 by 64 has.
pub(crate) const MAX_VECTORS: usize = 4096;

/// Hops that follow each other: reversing an array in place has two.
pub(crate) const MAX_HOPS: usize = 4;

/// Windows of one leaf: an exchange of elements writes two.
pub(crate) const MAX_WINDOWS: usize = 3;

/// Phases of one loop: the compositions grow with their square, and their maps with each.
pub(crate) const MAX_PHASES: usize = 4;

// Numbers that affect only speed.

/// Up to this number of maps a linear search is faster than hashing.
pub(crate) const FEW_ENTRIES: usize = 6;

/// From this many states on, they are freed elsewhere: that takes some milliseconds.
pub(crate) const MANY_STATES: usize = 1 << 14;
