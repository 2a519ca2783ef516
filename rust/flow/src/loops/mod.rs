//! Maps through all iterations of a counted loop, without unrolling it.
//!
//! One iteration relates the leaves of the state after it to those before it: edges between leaves, whose maps may
//! depend on the iteration `t` (`offsets`). A path through the loop stays at a leaf, or in a group of leaves that
//! depend on each other, for some iterations, and leaves it in one iteration by an edge to another group. The groups
//! have no cycle (`groups`), and the relation of a group over any number of iterations has a closed form where it is
//! exact (`forms`, `walks`, `stacked`, `hops`, `rotations`), in all iterations or one after the other in parts of them
//! (`phases`); so paths are compositions of few maps, with the iterations in which they change groups as range
//! variables (`paths`).
//!
//! A clock counts the iterations that are done: backward a path begins at clock `T` and ends at 0, forward the reverse.
//!
//! [`CountedLoop`] has the number of iterations and the leaves that count, by an arithmetic on integer scalars
//! (`scalars`) with two readings: on expressions over the iteration, and on numbers, by which a loop is run (`running`).
//! `windows` has what the body accesses, and `body` what it makes of offsets. The maps of one iteration are those of the
//! questions above this module: a [`LoopBody`] asks for them.

mod body;
mod build;
mod counter;
mod forms;
mod groups;
mod hops;
mod offsets;
mod paths;
mod phases;
mod rotations;
mod running;
mod scalars;
mod stacked;
mod sums;
mod unions;
mod walks;
mod windows;

use layout::Shape;
use quasiaffine::{Error, Map, Result, Variable};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::indexing::Footprint;
use crate::reads::Text;
use crate::shapes::{self, ShapeIndex};
pub(crate) use body::held;
pub use body::{Loop, LOOP_START};
use build::value_of;
pub use counter::{condition_and_body, CountedLoop, Induction, Start};
pub use offsets::{Offset, OffsetKey};
pub use rotations::Rotation;
pub use scalars::operations::Direction;
pub use scalars::values::{arithmetic, Comparison, Scalar, Value};
use unions::by_clock;
pub use windows::{accesses, enclosing_loop, Access, Nest};

/// A leaf of the state: its number among the arrays, in order.
type Leaf = usize;

/// The source of the maps of one loop; an error ends a question without an answer.
pub trait LoopBody {
    /// Why there is no answer.
    type Error: From<Error>;

    /// The maps of one iteration from a leaf.
    fn step(&self, leaf: &ShapeIndex) -> std::result::Result<Step, Self::Error>;

    /// An offset of its maps in terms of the iteration.
    fn offset(&self, key: &OffsetKey) -> std::result::Result<Offset, Self::Error>;

    /// The runtime variables that stand for the dims of an offset but the iteration: `d1` and so on.
    fn symbols(&self) -> Vec<Variable>;

    /// The window of a leaf that the body writes with an update.
    fn window(&self, leaf: &ShapeIndex) -> std::result::Result<Option<Window>, Self::Error>;

    /// The slot of a leaf that the body writes with an update.
    fn rotation(&self, leaf: &ShapeIndex) -> std::result::Result<Option<Rotation>, Self::Error>;
}

/// The maps of one iteration from a leaf.
#[derive(Default)]
pub struct Step {
    /// The leaf that a map leads to, and the map, with offsets as runtime variables.
    pub maps: Vec<(ShapeIndex, Map)>,
    /// Why the maps may contain too much.
    pub reason: Option<Text>,
    /// Whether an iteration reaches elements on other devices.
    pub crosses_devices: bool,
}

/// The elements that an update writes in iteration `t`: a box, in one dimension from `start + step * t`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// The dimension in which it moves.
    pub dim: usize,
    /// Where it begins in iteration 0.
    pub start: i64,
    /// How far it moves from one iteration to the next.
    pub step: i64,
    /// Its size in that dimension.
    pub size: i64,
    /// The other dimensions that the box does not fill: (dimension, first, last).
    pub fixed: Vec<(usize, i64, i64)>,
}

impl Window {
    /// Whether iterations write different elements.
    fn is_disjoint(&self) -> bool {
        self.step != 0 && self.step.unsigned_abs() >= self.size.unsigned_abs()
    }
}

/// One iteration from a leaf to another.
struct Edge {
    target: Leaf,
    /// The last dimension is the iteration.
    map: Map,
    /// From (element, clock before) to (element, clock after).
    by_clock: Map,
    /// Why the map may contain too much.
    reason: Option<Text>,
}

/// A relation of elements of a leaf at clock `p` to elements at clock `q`: a map from (element, p, q).
#[derive(Clone)]
struct Piece {
    map: Map,
    reason: Option<Text>,
}

/// A map from the leaf of a question to a leaf.
#[derive(Clone)]
struct Reached {
    map: Map,
    reason: Option<Text>,
}

named! {
    /// The kind of a group's relation over many iterations.
    Kind {
        /// The body reads nothing of the leaf for the leaf itself.
        Forwarded = "forwarded";
        /// Every element stays.
        Kept = "kept";
        /// Its powers repeat, or one map moves every dimension.
        Recurrence = "recurrence";
        /// Every iteration writes another window.
        Stacked = "stacked";
        /// Over-approximate, dimension by dimension.
        General = "general";
    }
}

/// The relation from one leaf to another.
type Pieces = FxHashMap<(Leaf, Leaf), Vec<Piece>>;

/// Leaves that depend on each other over iterations.
struct Group {
    leaves: Vec<Leaf>,
    kind: Kind,
    reason: Option<Text>,
    /// Of a large group: the dimensions that every edge in it keeps; a path in it may reach the whole of the others.
    common: Option<SmallVec<[usize; 4]>>,
    window: Option<Window>,
    rotation: Option<Rotation>,
    pieces: Pieces,
}

/// A group of leaves, for a reader.
pub struct GroupFacts<'a> {
    /// The kind of its relation.
    pub kind: Kind,
    /// Why it is over-approximate.
    pub reason: Option<&'a Text>,
    /// The window that each iteration writes of a stacked leaf.
    pub window: Option<&'a Window>,
}

/// The number of iterations of a loop, the direction in which its maps go, and the sizes of its leaves.
struct Timeline {
    n: i64,
    backward: bool,
    sizes: Vec<SmallVec<[i64; 4]>>,
}

/// From a leaf to each leaf that a path reaches, in the order in which they are found.
type Through = Vec<(Leaf, Vec<Reached>)>;

/// The maps through all iterations of one loop in one direction. What is found is kept for the next question.
pub struct LoopMaps {
    time: Timeline,
    indices: Vec<ShapeIndex>,
    numbers: FxHashMap<ShapeIndex, Leaf>,
    edges: Vec<Option<Vec<Edge>>>,
    /// Leaves of which one iteration reaches elements on other devices.
    crossing: FxHashSet<Leaf>,
    /// The number of the group of each leaf.
    group_of: Vec<Option<usize>>,
    groups: Vec<Group>,
    n_waiting: usize,
    through: FxHashMap<(Leaf, bool), std::sync::Arc<Through>>,
    known_edges: offsets::Memo,
    memo: paths::Memo,
}

impl LoopMaps {
    /// The maps of a loop with a state of this shape that runs `n` iterations.
    pub fn new(shape: &Shape, n: i64, backward: bool) -> LoopMaps {
        let (mut indices, mut sizes) = (Vec::new(), Vec::new());
        for (index, leaf) in shapes::leaves(shape) {
            sizes.push(shapes::sizes(leaf).collect());
            indices.push(index);
        }
        let numbers = indices.iter().enumerate().map(|(i, index)| (index.clone(), i)).collect();
        let n_leaves = indices.len();
        LoopMaps {
            time: Timeline { n, backward, sizes },
            indices,
            numbers,
            edges: (0..n_leaves).map(|_| None).collect(),
            crossing: FxHashSet::default(),
            group_of: vec![None; n_leaves],
            groups: Vec::new(),
            n_waiting: 0,
            through: FxHashMap::default(),
            known_edges: offsets::Memo::default(),
            memo: paths::Memo::default(),
        }
    }

    /// The maps from a leaf to all leaves. Backward they begin at the leaf after all iterations, or with `anywhere`
    /// after any number of them.
    ///
    /// # Errors
    /// Those of the body, and overflow.
    pub fn maps<B: LoopBody>(
        &mut self,
        start: &ShapeIndex,
        anywhere: bool,
        body: &B,
    ) -> std::result::Result<Footprint, B::Error> {
        let start = self.leaf(start)?;
        if self.time.sizes[start].contains(&0) {
            return Ok(Footprint::default());
        }
        self.find_groups(start, body)?;
        Ok(self.footprint(start, anywhere)?)
    }

    /// The group of a leaf.
    ///
    /// # Errors
    /// Those of the body, and overflow.
    pub fn group<B: LoopBody>(&mut self, leaf: &ShapeIndex, body: &B) -> std::result::Result<GroupFacts<'_>, B::Error> {
        let leaf = self.leaf(leaf)?;
        self.find_groups(leaf, body)?;
        let group = &self.groups[self.group_of[leaf].unwrap_or_default()];
        Ok(GroupFacts { kind: group.kind, reason: group.reason.as_ref(), window: group.window.as_ref() })
    }

    /// By how much one iteration moves each dimension of a leaf whose group is known; `None` where that is not one
    /// number.
    ///
    /// # Errors
    /// A leaf that does not exist.
    pub fn moves(&self, leaf: &ShapeIndex) -> Result<Vec<Option<i64>>> {
        let leaf = self.leaf(leaf)?;
        let sizes = &self.time.sizes[leaf];
        let mut found: Option<Vec<Option<i64>>> = None;
        for edge in self.edges[leaf].iter().flatten().filter(|e| e.target == leaf) {
            let results = edge.map.results().iter().zip(sizes).enumerate();
            let own: Vec<_> = results.map(|(i, (e, &size))| forms::moved_by(e, i, size)).collect();
            found = Some(match found {
                None => own,
                Some(before) => before.iter().zip(&own).map(|(a, b)| a.filter(|_| a == b)).collect(),
            });
        }
        Ok(found.unwrap_or_else(|| vec![Some(0); sizes.len()]))
    }

    /// The edges from a leaf whose group is known: the leaf that one leads to, whether each iteration reaches other
    /// elements, and why it may contain too much.
    ///
    /// # Errors
    /// A leaf that does not exist.
    pub fn edges_of(&self, leaf: &ShapeIndex) -> Result<Vec<(&ShapeIndex, bool, Option<&Text>)>> {
        let edges = self.edges[self.leaf(leaf)?].iter().flatten();
        Ok(edges.map(|e| (&self.indices[e.target], e.is_at_iteration(), e.reason.as_ref())).collect())
    }

    fn leaf(&self, index: &ShapeIndex) -> Result<Leaf> {
        self.numbers.get(index).copied().ok_or(Error::Undefined)
    }

    /// The edges of a leaf, from the maps of one iteration.
    fn find_edges<B: LoopBody>(&mut self, leaf: Leaf, body: &B) -> std::result::Result<(), B::Error> {
        if self.edges[leaf].is_some() {
            return Ok(());
        }
        let step = body.step(&self.indices[leaf])?;
        let mut found: Vec<(Leaf, Vec<Reached>)> = Vec::new();
        for (target, map) in step.maps {
            let target = self.leaf(&target)?;
            let timed = self.known_edges.edges(map, self.time.n, body)?;
            let reason = step.reason.clone().or(timed.reason);
            let maps = timed.maps.into_iter().map(|map| Reached { map, reason: reason.clone() });
            value_of(&mut found, target).extend(maps);
        }
        let mut edges: Vec<Edge> = Vec::new();
        for (target, maps) in found {
            for Reached { map, reason } in self.memo.without_contained(maps) {
                let by_clock = by_clock(&map, i64::from(self.time.backward))?;
                edges.push(Edge { target, map, by_clock, reason });
            }
        }
        if step.crosses_devices {
            self.crossing.insert(leaf);
        }
        self.edges[leaf] = Some(edges);
        Ok(())
    }

    /// Whether an iteration exchanges elements of a leaf that is reached between devices.
    fn crosses(&self, start: Leaf) -> bool {
        if self.crossing.is_empty() {
            return false;
        }
        let (mut pending, mut seen) = (vec![start], FxHashSet::from_iter([start]));
        while let Some(leaf) = pending.pop() {
            if self.crossing.contains(&leaf) {
                return true;
            }
            let targets = self.edges[leaf].iter().flatten().map(|e| e.target);
            pending.extend(targets.filter(|&target| seen.insert(target)));
        }
        false
    }
}
