//! The numbers of this crate that no law gives: limits on work and size, and where one way becomes faster than another.

/// Up to this many points, counting them one by one takes less time than writing the region as smaller ones.
pub(crate) const FEW_POINTS: u128 = 1 << 12;

/// From this many points on, cutting a grid into regions takes less time than counting them.
pub(crate) const MANY_POINTS: u128 = 1 << 15;

/// The limit on points that are counted one by one in all regions, for each offset of the array in a sector; the totals
/// of more are upper bounds.
pub(crate) const MAX_POINTS: u128 = 1 << 22;

/// The limit on regions that a grid becomes: after that many, none is made smaller, and its points are counted.
pub(crate) const MAX_REGIONS: usize = 1024;

/// The number of points that are evaluated at once, between two checks for Ctrl-C.
pub(crate) const CHUNK: usize = 1 << 14;

/// The most bytes of a sector: no memory moves more at once.
pub(crate) const MAX_SECTOR: i64 = 1 << 20;

/// The fewest candidates of a thread, so that starting it takes less time than its work.
pub(crate) const MIN_PART: usize = 1024;

/// The limit on outputs that are tied to a tiled output of another shape, since each takes a propagation: a kernel has
/// few outputs, a whole program a thousand.
pub(crate) const MAX_TIED_OUTPUTS: usize = 16;

/// The limit on rows of one instruction, which has one for each output and operand: a tuple of thousands has millions.
pub(crate) const MAX_ROWS: usize = 1 << 20;

/// The limit on characters in the text of a shape. Only tuples exceed it.
pub(crate) const MAX_SHAPE_TEXT: usize = 1000;

/// The frames of one stack in a cell: a recursion would put a thousand into the row of each of its instructions.
pub(crate) const MAX_FRAMES: usize = 100;

/// The number of items that are read in one step, between two checks for Ctrl-C.
pub(crate) const ITEMS_OF_A_STEP: usize = 1 << 10;

/// The number of runs of rows that are written in one step, between two checks for Ctrl-C.
pub(crate) const RUNS_OF_A_STEP: usize = 1 << 10;
