//! Devices as parts of axes, shardings as numbers, and the elements that a change of sharding moves.
//!
//! Each axis of the mesh consists of parts of prime size, the most significant first; devices are numbered in row-major
//! order of all parts. A sharding has, for each dimension of an array, the parts that split it, the most significant
//! first, and no part twice.

use cancel::poll;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The number of a part of an axis.
pub type Part = u8;
/// The parts that split a dimension.
pub type Parts = SmallVec<[Part; 6]>;
/// The parts of each dimension of an array.
pub type Sharding = SmallVec<[Parts; 4]>;
/// The number of a sharding in [`Mesh`].
pub type ShardingId = u32;
/// The number of the dimensions of an array in [`Mesh`].
pub type ShapeId = u32;

/// The communication of a move between devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Collective {
    /// The shardings are the same.
    Nothing,
    /// Each device keeps a part of what it has.
    Slice,
    /// Each device receives what others of its group have.
    AllGather,
    /// Each device sends each other one a part.
    AllToAll,
    /// Each device sends to one other.
    CollectivePermute,
    /// More than one collective.
    Several,
    /// Partial results are combined on every device.
    AllReduce,
    /// Partial results are combined, each block on one device.
    ReduceScatter,
}

impl Collective {
    /// The name, for people and for HLO.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Nothing => "nothing",
            Collective::Slice => "slice",
            Collective::AllGather => "all-gather",
            Collective::AllToAll => "all-to-all",
            Collective::CollectivePermute => "collective-permute",
            Collective::Several => "several",
            Collective::AllReduce => "all-reduce",
            Collective::ReduceScatter => "reduce-scatter",
        }
    }
}

/// The parts of a mesh, and the shardings and shapes seen so far.
#[derive(Clone, Default)]
pub struct Mesh {
    /// The size of each part.
    pub sizes: Vec<i64>,
    shardings: Vec<Sharding>,
    numbers: FxHashMap<Sharding, ShardingId>,
    shapes: Vec<Vec<i64>>,
    shape_numbers: FxHashMap<Vec<i64>, ShapeId>,
    changes: FxHashMap<(ShapeId, ShardingId, ShardingId), (Collective, i64)>,
    extensions: FxHashMap<(ShardingId, ShardingId), ShardingId>,
}

impl Mesh {
    /// A mesh of parts.
    pub fn new(sizes: Vec<i64>) -> Mesh {
        Mesh { sizes, ..Mesh::default() }
    }

    /// The number of blocks into which parts split.
    pub fn ways(&self, parts: &[Part]) -> i64 {
        parts.iter().map(|p| self.sizes[usize::from(*p)]).product()
    }

    /// The sharding with a number.
    pub fn sharding(&self, id: ShardingId) -> &Sharding {
        &self.shardings[id as usize]
    }

    /// The number of a sharding.
    pub fn number(&mut self, sharding: &Sharding) -> ShardingId {
        if let Some(known) = self.numbers.get(sharding) {
            return *known;
        }
        let id = self.shardings.len() as ShardingId;
        self.shardings.push(sharding.clone());
        self.numbers.insert(sharding.clone(), id);
        id
    }

    /// The number of an array's dimensions.
    pub fn shape(&mut self, sizes: &[i64]) -> ShapeId {
        if let Some(known) = self.shape_numbers.get(sizes) {
            return *known;
        }
        let id = self.shapes.len() as ShapeId;
        self.shapes.push(sizes.to_vec());
        self.shape_numbers.insert(sizes.to_vec(), id);
        id
    }

    /// The dimensions with a number.
    pub fn dimensions(&self, id: ShapeId) -> &[i64] {
        &self.shapes[id as usize]
    }

    /// The elements of the largest block.
    pub fn block_elements(&self, shape: &[i64], sharding: &Sharding) -> i64 {
        shape.iter().zip(sharding).fold(1, |all: i64, (n, parts)| all.saturating_mul(self.block_size(*n, parts)))
    }

    /// The size of all blocks of a dimension but the last ones: its parts, rounded up.
    fn block_size(&self, n: i64, parts: &[Part]) -> i64 {
        -(-n).div_euclid(self.ways(parts))
    }

    /// The first element of a device's block of a dimension, and the first after it.
    pub fn block(&self, n: i64, parts: &[Part], at: &[i64]) -> (i64, i64) {
        let number = parts.iter().fold(0, |c, p| c * self.sizes[usize::from(*p)] + at[usize::from(*p)]);
        let size = self.block_size(n, parts);
        let low = n.min(number.saturating_mul(size));
        (low, n.min(low + size))
    }

    /// Calls `each` with the position of one device for each position along `parts`; along others it is 0.
    pub fn for_each_device(&self, parts: &[Part], mut each: impl FnMut(&[i64])) {
        let mut at = vec![0; self.sizes.len()];
        loop {
            poll();
            each(&at);
            // The next position in mixed radix.
            let next = parts.iter().rev().find(|p| {
                let p = usize::from(**p);
                at[p] += 1;
                let fits = at[p] < self.sizes[p];
                if !fits {
                    at[p] = 0;
                }
                fits
            });
            if next.is_none() {
                return;
            }
        }
    }

    /// A sharding with its dimensions extended to those of another one, where they continue it and split by parts that
    /// are not in use.
    pub fn extended(&mut self, id: ShardingId, wanted: ShardingId) -> ShardingId {
        if let Some(known) = self.extensions.get(&(id, wanted)) {
            return *known;
        }
        let mut new = self.sharding(id).clone();
        let mut used: Parts = new.iter().flatten().copied().collect();
        for (parts, want) in new.iter_mut().zip(self.sharding(wanted)) {
            let is_longer = want.len() > parts.len() && want.starts_with(parts);
            if is_longer && !want[parts.len()..].iter().any(|p| used.contains(p)) {
                used.extend_from_slice(&want[parts.len()..]);
                parts.clone_from(want);
            }
        }
        let found = self.number(&new);
        self.extensions.insert((id, wanted), found);
        found
    }

    /// The collective that changes a sharding, and the elements that a device receives at most.
    pub fn change(&mut self, shape: ShapeId, from: ShardingId, to: ShardingId) -> (Collective, i64) {
        if from == to {
            return (Collective::Nothing, 0);
        }
        if let Some(known) = self.changes.get(&(shape, from, to)) {
            return *known;
        }
        let found = self.measured(self.dimensions(shape), self.sharding(from), self.sharding(to));
        self.changes.insert((shape, from, to), found);
        found
    }

    fn measured(&self, shape: &[i64], from: &Sharding, to: &Sharding) -> (Collective, i64) {
        let mut involved: Vec<Part> = from.iter().chain(to).flatten().copied().collect();
        involved.sort_unstable();
        involved.dedup();
        let mut most = 0;
        self.for_each_device(&involved, |at| {
            let (mut needed, mut held) = (1i64, 1i64);
            for ((n, f), t) in shape.iter().zip(from).zip(to) {
                let (low, high) = self.block(*n, t, at);
                let (own_low, own_high) = self.block(*n, f, at);
                needed = needed.saturating_mul(high - low);
                held = held.saturating_mul((high.min(own_high) - low.max(own_low)).max(0));
            }
            most = most.max(needed - held);
        });
        (if most == 0 { Collective::Slice } else { self.kind_of(shape, from, to) }, most)
    }

    /// Whether the blocks of a dimension by some parts consist of the blocks by a continuation of these parts: of a
    /// dimension that the parts do not divide, they may not.
    pub fn nests(&self, n: i64, outer: &[Part], inner: &[Part]) -> bool {
        let (few, many) = (self.ways(outer), self.ways(inner));
        inner.starts_with(outer)
            && (few == 1 || self.block_size(n, outer) == self.block_size(n, inner).saturating_mul(many / few))
    }

    /// The kind of a change that moves elements.
    fn kind_of(&self, shape: &[i64], from: &Sharding, to: &Sharding) -> Collective {
        let dims = || shape.iter().zip(from).zip(to);
        if dims().all(|((n, f), t)| self.nests(*n, t, f)) {
            return Collective::AllGather;
        }
        if !dims().all(|((n, f), t)| self.nests(*n, t, f) || self.nests(*n, f, t)) {
            // One device has all that another one needs if blocks of the target lie within those of the source.
            let is_within = dims().all(|((n, f), t)| self.block_size(*n, f) % self.block_size(*n, t).max(1) == 0);
            return if is_within { Collective::CollectivePermute } else { Collective::Several };
        }
        let sorted = |s: &Sharding| {
            let mut parts: Vec<Part> = s.iter().flatten().copied().collect();
            parts.sort_unstable();
            parts
        };
        let before = sorted(from);
        // A dimension may be split further by parts that split nothing before: each device then keeps a part.
        let takes_over = dims().any(|((_, f), t)| t.len() > f.len() && t.iter().any(|p| before.contains(p)));
        if takes_over || before == sorted(to) {
            Collective::AllToAll
        } else {
            Collective::AllGather
        }
    }
}
