//! The elements that the tiles of a map's dimensions reach.

use crate::limits::{FEW_POINTS, POINTS};
use rustc_hash::FxHashMap;
use smallvec::{smallvec, SmallVec};

use crate::components::components;
use crate::domain::Constraint;
use crate::expr::{Expr, Kind};
use crate::map::{Map, State};
use crate::span::Interval;
use crate::tile::class::extents_of;
use crate::tile::group::{Common, Group};
use crate::tile::image::Refusal;
use crate::tile::runs::{BoxRun, TightRun, TileCount};

/// The sums and products of numbers of tiles have 64 bits for intervals within this number and its negative.
const NARROW: i64 = 1 << 62;

/// A map whose dimensions are cut into tiles; its ranges stay whole.
///
/// ```
/// use quasiaffine::tile::{Memo, TiledMap};
/// // A window of 3 over 64 elements, in tiles of 8: each tile reads 10 elements, and the tiles read 80 in all.
/// let window = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 63], s0 in [0, 2]".parse()?;
/// let tiled = TiledMap::new(&window, &[64], 1, TiledMap::FEW_POINTS);
/// let count = tiled.count(&[8], &mut Memo::default());
/// assert_eq!((count.refusal, count.elements, count.elements_exact, count.largest), (None, 80, true, 10));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
pub struct TiledMap {
    map: Map,
    common: Common,
    groups: Vec<Group>,
    /// Whether no tile reaches anything.
    is_empty: bool,
    /// Whether numbers of tiles and their ends may leave 64 bits: then nothing is known.
    is_wide: bool,
}

impl TileCount {
    fn multiply(&mut self, group: &Group, answer: &TileCount) {
        self.refusal = self.refusal.or(answer.refusal);
        self.elements_exact &= answer.elements_exact;
        self.boxes_exact &= answer.boxes_exact;
        self.largest_exact &= answer.largest_exact;
        self.scale(answer.elements, answer.boxes, answer.largest);
        for (&r, &run) in group.results.iter().zip(&answer.runs) {
            self.runs[r] = run;
        }
    }

    /// Multiplies the elements; a number past 128 bits is not exact.
    fn scale(&mut self, elements: u128, boxes: u128, largest: u128) {
        let times = |n: &mut u128, factor: u128, is_exact: &mut bool| {
            *n = n.checked_mul(factor).unwrap_or_else(|| {
                *is_exact = false;
                u128::MAX
            });
        };
        times(&mut self.elements, elements, &mut self.elements_exact);
        times(&mut self.boxes, boxes, &mut self.boxes_exact);
        times(&mut self.largest, largest, &mut self.largest_exact);
    }

    /// Whether one tile has the sizes of all runs, and the runs of every other tile are translated parts of them.
    pub fn is_of_one_tile(&self) -> bool {
        let sizes = self.runs.iter().fold(1u128, |n, run| n.saturating_mul(run.size as u128));
        self.largest_exact && sizes == self.largest
    }
}

/// One result in one tile: the elements `offset + stride * i` for `0 <= i < size` that lie in `[lower, upper)`.
///
/// ```
/// use quasiaffine::tile::{TileBox, TiledMap};
/// let window = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 63], s0 in [0, 2]".parse()?;
/// let tiled = TiledMap::new(&window, &[64], 1, TiledMap::FEW_POINTS);
/// let third = tiled.tile(&[8], &[2], &[]).expect("a tile that reads");
/// assert_eq!((third[0].offset, third[0].size, third[0].stride), (16, 10, 1));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileBox {
    /// The least element.
    pub offset: i64,
    /// The number of elements.
    pub size: i64,
    /// The distance from one element to the next, at least 1.
    pub stride: i64,
    /// No element below this is reached.
    pub lower: i64,
    /// No element from here on is reached.
    pub upper: i64,
}

/// Answers to earlier questions, by sizes.
///
/// ```
/// use quasiaffine::tile::{Memo, TiledMap};
/// let map = "(d0, d1) -> (d1, d0), domain: d0 in [0, 63], d1 in [0, 31]".parse()?;
/// let (tiled, mut memo) = (TiledMap::new(&map, &[64, 32], 2, TiledMap::FEW_POINTS), Memo::default());
/// let sizes = [[8, 8], [8, 16], [16, 16]];
/// assert!(sizes.iter().all(|n| tiled.count(n, &mut memo).elements == 64 * 32));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Default)]
pub struct Memo {
    groups: Vec<FxHashMap<SmallVec<[i64; 4]>, TileCount>>,
}

impl TiledMap {
    /// The points to enumerate of a group of results, for callers that compare many choices of sizes.
    pub const FEW_POINTS: i64 = FEW_POINTS;

    /// Tiles a map over dimensions of the sizes `extents`, or those of its domain where one is missing. Each of the first
    /// `n_parallel` has tiles even if the map
    /// does not depend on it. The map's ranges may be parts of the extents. The points of groups with at most
    /// `few_points`, such as [`FEW_POINTS`](TiledMap::FEW_POINTS), are enumerated if their form does not determine the
    /// answer.
    pub fn new(map: &Map, extents: &[i64], n_parallel: usize, few_points: i64) -> TiledMap {
        let domain = map.domain();
        let (n_dims, n_vars) = (domain.n_dims, domain.n_dims + domain.n_ranges);
        let intervals: SmallVec<[Interval; 8]> = domain.vars[..n_vars].iter().map(|v| v.interval).collect();
        let of_ranges = intervals[n_dims..].iter().map(|i| i.hi.saturating_add(1));
        let extents: SmallVec<[i64; 8]> = extents_of(domain, extents).into_iter().chain(of_ranges).collect();
        let runtime = domain
            .runtime()
            .iter()
            .map(|v| {
                let index = v.source.iter().flat_map(|s| s.index.iter().cloned()).collect();
                (index, v.interval.as_point())
            })
            .collect();
        let is_empty = map.state() == State::Empty;
        let narrow = Interval::new(-NARROW, NARROW - 1);
        let is_wide = !intervals.iter().all(|i| narrow.covers(*i)) || extents.iter().any(|n| *n > NARROW);
        let is_read = map.state() == State::Defined && !is_wide;
        let common = Common { n_dims, intervals, extents, runtime, few_points };
        let groups = if is_read { groups(map, &common, n_parallel) } else { Vec::new() };
        TiledMap { map: map.clone(), common, groups, is_empty, is_wide }
    }

    /// The map.
    pub fn map(&self) -> &Map {
        &self.map
    }

    fn sizes(&self, n: &[i64]) -> SmallVec<[i64; 8]> {
        let size = |(k, &extent): (usize, &i64)| match n.get(k).filter(|_| k < self.common.n_dims) {
            Some(n) => (*n).clamp(1, extent.max(1)),
            None => extent.max(1),
        };
        self.common.extents.iter().enumerate().map(size).collect()
    }

    /// Counts the elements that all tiles of the sizes `n` reach. A dimension without a size is one tile.
    pub fn count(&self, n: &[i64], memo: &mut Memo) -> TileCount {
        let none = smallvec![BoxRun::NONE; self.map.results().len()];
        let some = u128::from(!self.is_empty);
        let mut total = TileCount { largest: some, ..TileCount::exact(none, some) };
        if self.is_wide && !self.is_empty {
            (total.refusal, total.elements_exact, total.boxes_exact, total.largest_exact) =
                (Some(Refusal::Overflow), false, false, false);
            (total.elements, total.boxes, total.largest) = (u128::MAX, u128::MAX, u128::MAX);
            return total;
        }
        if memo.groups.len() < self.groups.len() {
            memo.groups.resize_with(self.groups.len(), FxHashMap::default);
        }
        let n = self.sizes(n);
        for (group, known) in self.groups.iter().zip(&mut memo.groups) {
            if let Some((elements, run)) = group.partition(&self.common, &n) {
                total.scale(elements, elements, run.map_or(1, |run| run.size as u128));
                if let Some(run) = run {
                    total.runs[group.results[0]] = run;
                }
                continue;
            }
            let key: SmallVec<[i64; 4]> = group.vars.iter().map(|&v| n[v as usize]).collect();
            if known.len() > POINTS as usize {
                known.clear();
            }
            let answer = known.entry(key).or_insert_with(|| group.answer(&self.common, &n));
            total.multiply(group, answer);
        }
        total
    }

    /// The elements that one tile reads, for each result; `None` if it reads nothing. `runtime` are the values of
    /// the runtime variables. A dimension without a size is one tile, and a missing number is that of the first.
    pub fn tile(&self, n: &[i64], tile: &[i64], runtime: &[i64]) -> Option<Vec<TileBox>> {
        if self.is_empty || self.is_wide {
            return None;
        }
        let (n, common) = (self.sizes(n), self.common_of(runtime));
        let number = |k: usize| tile.get(k).filter(|_| k < self.common.n_dims).copied().unwrap_or(0);
        let tile: SmallVec<[i64; 8]> = (0..self.common.extents.len()).map(number).collect();
        let mut found: Vec<Option<TileBox>> = vec![None; self.map.results().len()];
        for group in &self.groups {
            for (&r, (whole, inside)) in group.results.iter().zip(group.tile(&common, &n, &tile)?) {
                found[r] = Some(tile_box(whole, inside));
            }
        }
        found.into_iter().collect()
    }

    fn common_of(&self, runtime: &[i64]) -> Common {
        let mut common = self.common.clone();
        common.runtime.iter_mut().zip(runtime).for_each(|((_, known), value)| *known = Some(*value));
        common
    }

    /// The first tile with the most elements, as its numbers and the elements that it reads; `None` if unknown.
    pub fn largest_tile(&self, n: &[i64], runtime: &[i64]) -> Option<(Vec<i64>, Vec<TileBox>)> {
        if self.is_wide {
            return None;
        }
        let (n, common) = (self.sizes(n), self.common_of(runtime));
        let mut tile = vec![0; self.common.n_dims];
        let mut found: Vec<Option<TileBox>> = vec![None; self.map.results().len()];
        for group in &self.groups {
            let largest = match group.partition(&self.common, &n) {
                Some((_, run)) => run.map_or(1, |run| run.size as u128),
                None => Some(group.answer(&self.common, &n)).filter(|answer| answer.largest_exact)?.largest,
            };
            let (own, runs) = group.largest_tile(&common, &n, largest)?;
            tile.iter_mut().zip(&own).for_each(|(at, own)| *at += own);
            group.results.iter().zip(runs).for_each(|(&r, run)| found[r] = Some(tile_box(run, run)));
        }
        Some((tile, found.into_iter().collect::<Option<_>>()?))
    }
}

fn tile_box(whole: TightRun, inside: TightRun) -> TileBox {
    TileBox {
        offset: whole.first,
        // No array dimension is larger.
        size: i64::try_from(whole.len()).unwrap_or(i64::MAX),
        stride: whole.stride,
        lower: inside.first,
        upper: inside.last.saturating_add(1),
    }
}

/// The groups of a map's results, and a group for each other variable whose tiles matter.
fn groups(map: &Map, common: &Common, n_parallel: usize) -> Vec<Group> {
    let domain = map.domain();
    let n_vars = common.intervals.len();
    // For every variable by flat number: itself, or the variables in the index of a runtime variable. An index uses
    // only earlier runtime variables.
    let mut known: Vec<SmallVec<[usize; 8]>> = (0..n_vars).map(|v| smallvec![v]).collect();
    let vars_of = |known: &[SmallVec<[usize; 8]>], exprs: &mut dyn Iterator<Item = &Expr>| {
        let mut found: SmallVec<[usize; 8]> = SmallVec::new();
        exprs.flat_map(|e| domain.vars_of(e)).for_each(|v| found.extend_from_slice(&known[v]));
        found.sort_unstable();
        found.dedup();
        found
    };
    for (index, _) in &common.runtime {
        let vars = vars_of(&known, &mut index.iter());
        known.push(vars);
    }
    let of = |e: &Expr| vars_of(&known, &mut std::iter::once(e));
    let of_results: Vec<_> = map.results().iter().map(of).collect();
    let of_constraints: Vec<_> = domain.constraints.iter().map(|c| of(&c.expr)).collect();
    let roots = components(n_vars, of_results.iter().chain(&of_constraints));
    let mut found = Vec::new();
    // The last group has no variables: constants, and runtime values with a constant index.
    for leader in (0..n_vars).filter(|&v| roots[v] == v).map(Some).chain([None]) {
        let vars: SmallVec<[u32; 4]> = (0..n_vars).filter(|&v| Some(roots[v]) == leader).map(|v| v as u32).collect();
        let is_own = |vars: &SmallVec<[usize; 8]>| vars.first().map(|&v| roots[v]) == leader;
        let results: SmallVec<[usize; 4]> = (0..of_results.len()).filter(|&r| is_own(&of_results[r])).collect();
        let own = domain.constraints.iter().zip(&of_constraints).filter(|(_, vars)| is_own(vars));
        let constraints: Vec<&Constraint> = own.map(|(c, _)| c).collect();
        let exprs = results.iter().map(|&r| &map.results()[r]).chain(constraints.iter().map(|c| &c.expr));
        let has_runtime = exprs.into_iter().any(|e| e.any_var(&|v| v.kind == Kind::Runtime));
        let matters = !results.is_empty()
            || !constraints.is_empty()
            || vars.iter().any(|&v| {
                let v = v as usize;
                let is_narrow = common.intervals[v] != Interval::new(0, common.extents[v] - 1);
                v < common.n_dims && (v < n_parallel || is_narrow)
            });
        if matters {
            found.push(Group::new(map, vars, results, constraints, has_runtime));
        }
    }
    found
}
