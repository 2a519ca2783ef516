//! Fewer maps that relate the same pairs.
//!
//! The ranges of every map are made compact (`ranges.rs`); then maps that agree in all but one respect are joined until
//! nothing changes, and maps that another one contains are dropped.
//!
//! | maps that differ in | become | file |
//! |---|---|---|
//! | one interval, if the intervals meet: of a dim, a range, a constraint, or of a window (`separable.rs`) | one interval | `merge.rs` |
//! | intervals, if the hull of both, cut in two, is the two maps | the hull | `merge.rs` |
//! | nothing but intervals, with those of one map larger | the map with the larger intervals | `merge.rs`, `plain.rs` |
//! | the interval of one dim, if one map over the other's interval equals the other | one interval | `intervals.rs` |
//! | the constants of the results, which are an arithmetic progression | a new range | `progressions.rs` |
//! | the numbers that one result runs over on its own | their union | `steps.rs` |
//! | the interval of one dim, and the constants of the results by one step a block | a quotient of the dim | `blocks.rs` |
//! | one dim and one result, whose numbers fill an interval between lines at each value of the dim | a range between lines | `bands.rs` |
//!
//! Every join is an identity or is checked piece by piece; maps stay apart without a proof. The search is greedy: a
//! smaller set may exist. Its cost grows with the number of maps and of variables; only bounds are compared pair by
//! pair.

mod bands;
mod blocks;
mod groups;
mod intervals;
mod merge;
mod plain;
mod progressions;
mod steps;

pub use merge::{merge, Counting};
pub use plain::plainly_contains;

use crate::limits::{EFFORT, PIECES, ROUNDS, TOTAL_EFFORT};
use smallvec::SmallVec;

use crate::decide::contains::contains_within;
use crate::decide::ranges::compact_ranges;
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::simplify::simplify;
use crate::span::Interval;
use groups::{blocks_of, differ, fixed_dims, grouped, in_groups};

/// A map of the smaller set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coalesced {
    /// The map.
    pub map: Map,
    /// The numbers of the maps that it stands for, in ascending order.
    pub parts: Vec<usize>,
}

/// The fewest maps that a greedy search finds for the pairs that these maps relate, in the order of their first parts.
///
/// Maps that are known to be empty are dropped, undefined ones are kept.
pub fn coalesce(maps: &[Map]) -> Vec<Coalesced> {
    let (mut items, mut kept): (Vec<Coalesced>, Vec<Coalesced>) = (Vec::new(), Vec::new());
    for (i, map) in maps.iter().enumerate() {
        let parts = vec![i];
        match map.state() {
            State::Undefined => kept.push(Coalesced { map: map.clone(), parts }),
            _ => items.push(Coalesced { map: compact_ranges(map), parts }),
        }
    }
    items.retain(|item| item.map.state() == State::Defined);
    for _ in 0..ROUNDS {
        let n = items.len();
        items = without_duplicates(items);
        items = join_all(items);
        if items.len() == n {
            break;
        }
    }
    items = without_contained(items);
    items = bands::join_bands(items, Options { drop_unused: true, ..Options::default() });
    for item in &mut items {
        // A map that joined no other and did not get smaller stays as it was.
        if let [i] = item.parts[..] {
            if size(&maps[i]) <= size(&item.map) {
                item.map = maps[i].clone();
            }
        }
    }
    kept.extend(items);
    kept.sort_by_key(|item| item.parts[0]);
    kept
}

/// The fewest maps that [`coalesce`] finds once windows of elements are [merged](merge).
pub fn fewest(maps: &[Map]) -> Vec<Coalesced> {
    if maps.iter().any(|map| map.state() != State::Defined) {
        return coalesce(maps);
    }
    let merged = merge(maps, Counting::Elements);
    let windows: Vec<Map> = merged.iter().map(|item| item.map.clone()).collect();
    let mut found = coalesce(&windows);
    for item in &mut found {
        let parts = std::mem::take(&mut item.parts);
        item.absorb(parts.iter().flat_map(|&i| merged[i].parts.iter().copied()).collect());
    }
    found.sort_by_key(|item| item.parts[0]);
    found
}

/// One round of all joins.
fn join_all(mut items: Vec<Coalesced>) -> Vec<Coalesced> {
    items = merge::join_intervals(items, Counting::Pairs);
    items = progressions::join_progressions(items);
    let n_dims = items.iter().map(|item| item.map.domain().n_dims).max().unwrap_or(0);
    for dim in 0..n_dims {
        if !differ(&items, dim) {
            continue;
        }
        items = in_groups(items, |map| blocks_of(map, dim), |group| blocks::join_blocks(group, dim));
        items = in_groups(items, |map| fixed_dims(map, dim), |group| intervals::join_extensions(group, dim));
    }
    items
}

/// Whether two maps have the same normal form.
fn is_same(a: &Map, b: &Map) -> bool {
    let options = Options { drop_unused: true, ..Options::default() };
    simplify(a, options) == simplify(b, options) || compact_ranges(a) == compact_ranges(b)
}

/// The size of a map as a reader sees it.
fn size(map: &Map) -> (u64, usize, usize) {
    (map.cost().divmods, map.domain().n_ranges, map.domain().constraints.len())
}

fn without_duplicates(items: Vec<Coalesced>) -> Vec<Coalesced> {
    let groups = grouped(items.into_iter().map(|item| (item.map.clone(), item)));
    let one = |group: Vec<Coalesced>| {
        group.into_iter().reduce(|mut first, other| {
            first.absorb(other.parts);
            first
        })
    };
    groups.into_iter().filter_map(one).collect()
}

impl Coalesced {
    fn absorb(&mut self, parts: Vec<usize>) {
        self.parts.extend(parts);
        self.parts.sort_unstable();
        self.parts.dedup();
    }
}

/// Drops every map that another one contains. Bounds of dims and results rule out most pairs.
fn without_contained(mut items: Vec<Coalesced>) -> Vec<Coalesced> {
    let bounds: Vec<SmallVec<[Interval; 8]>> = items.iter().map(|item| bounds(&item.map)).collect();
    let mut order: Vec<usize> = (0..items.len()).collect();
    // The largest first: a map is contained in an earlier one, or in an equally large one. With equal bounds, fewer
    // constraints allow more.
    let volume = |bounds: &mut dyn Iterator<Item = Interval>| bounds.map(|b| (b.size() as f64).ln()).sum::<f64>();
    let sizes: Vec<(f64, usize, f64)> = (items.iter().zip(&bounds))
        .map(|(item, bounds)| {
            let domain = item.map.domain();
            let of_ranges = volume(&mut domain.ranges().iter().map(|v| v.interval));
            (volume(&mut bounds.iter().copied()), domain.constraints.len(), of_ranges)
        })
        .collect();
    order.sort_by(|i, j| {
        let ((all, n, ranges), (other, m, other_ranges)) = (sizes[*i], sizes[*j]);
        other.total_cmp(&all).then(n.cmp(&m)).then(other_ranges.total_cmp(&ranges))
    });
    let (mut asked, mut meter) = (0, Meter::new(TOTAL_EFFORT));
    for (at, inner) in order.iter().enumerate() {
        let covers = |outer: &&usize| {
            bounds[**outer].len() == bounds[*inner].len()
                && bounds[**outer].iter().zip(&bounds[*inner]).all(|(x, y)| x.covers(*y))
        };
        // Past the limit, maps are compared with the largest ones only.
        let n_compared = at.min(TOTAL_EFFORT as usize / items.len().max(1));
        for outer in order[..n_compared].iter().filter(covers) {
            // A map that another one contains has no parts left.
            if items[*outer].parts.is_empty() {
                continue;
            }
            asked += 1;
            if asked > PIECES {
                break;
            }
            // A map that takes a large part of the effort is hardly ever contained.
            let (outer_map, inner_map) = (&items[*outer].map, &items[*inner].map);
            if meter.part(EFFORT / ROUNDS as u64, |own| contains_within(outer_map, inner_map, own)) == Some(true) {
                let parts = std::mem::take(&mut items[*inner].parts);
                items[*outer].absorb(parts);
                break;
            }
        }
    }
    items.retain(|item| !item.parts.is_empty());
    items
}

/// Bounds of the dims and of the results.
fn bounds(map: &Map) -> SmallVec<[Interval; 8]> {
    let of_dims = map.domain().dims().iter().map(|v| v.interval);
    let of_results = map.results().iter().map(|e| map.bounds(e).unwrap_or(Interval::ALL));
    of_dims.chain(of_results).collect()
}
