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

use crate::decide::boxes::{Bounds, Boxes};
use crate::decide::contains::contains_within;
use crate::decide::ranges::compact_ranges_within;
use crate::limits::{EFFORT, ROUNDS, TOTAL_EFFORT};
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::simplify::simplify_by;
use crate::span::Interval;
use groups::{blocks_of, differ, fixed_dims, grouped, in_groups};

/// A map of the smaller set.
///
/// ```
/// use quasiaffine::{coalesce, Map};
/// let rows = ["(d0) -> (d0), domain: d0 in [0, 3]", "(d0) -> (5), domain: d0 in [0, 3]", "(d0) -> (d0), domain: d0 in [4, 7]"];
/// let maps = rows.map(|row| row.parse().unwrap());
/// let fewer = coalesce(&maps);
/// assert_eq!((fewer[0].parts.as_slice(), fewer[1].parts.as_slice()), (&[0, 2][..], &[1][..]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coalesced {
    /// The map.
    pub map: Map,
    /// The numbers of the maps that it stands for, in ascending order.
    pub parts: Vec<usize>,
}

/// The fewest maps that a greedy search finds for the pairs that these maps relate, in the order of their first parts.
///
/// Maps that are known to be empty are dropped, undefined ones are kept. All maps share the effort of one question, and
/// what it does not reach stays as it is.
///
/// ```
/// use quasiaffine::{coalesce, Map};
/// let inner: Map = "(d0) -> (d0 + 1), domain: d0 in [0, 3]".parse()?;
/// let window: Map = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 3], s0 in [0, 2]".parse()?;
/// let fewer = coalesce(&[inner, window.clone()]);
/// assert_eq!((fewer.len(), &fewer[0].map), (1, &window));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
pub fn coalesce(maps: &[Map]) -> Vec<Coalesced> {
    coalesce_by(maps, &mut Meter::new(TOTAL_EFFORT))
}

/// As [`coalesce`], within the effort of a meter.
fn coalesce_by(maps: &[Map], meter: &mut Meter) -> Vec<Coalesced> {
    let (mut items, mut kept): (Vec<Coalesced>, Vec<Coalesced>) = (Vec::new(), Vec::new());
    for (i, map) in maps.iter().enumerate() {
        let parts = vec![i];
        match map.state() {
            State::Undefined => kept.push(Coalesced { map: map.clone(), parts }),
            _ => items.push(Coalesced { map: compact_ranges_within(map, meter), parts }),
        }
    }
    items.retain(|item| item.map.state() == State::Defined);
    for _ in 0..ROUNDS {
        let n = items.len();
        items = without_duplicates(items);
        items = join_all(items, meter);
        if items.len() == n || meter.spend(n).is_err() {
            break;
        }
    }
    items = without_contained(items, meter);
    items = bands::join_bands(items, Options { drop_unused: true, ..Options::default() }, meter);
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
///
/// ```
/// use quasiaffine::{fewest, Map};
/// let taps: Vec<Map> = (0..3).map(|k| format!("(d0) -> (d0 + {k}), domain: d0 in [0, 3]").parse()).collect::<Result<_, _>>()?;
/// assert_eq!(fewest(&taps)[0].map.to_string(), "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 3], s0 in [0, 2]");
/// # Ok::<(), quasiaffine::Error>(())
/// ```
pub fn fewest(maps: &[Map]) -> Vec<Coalesced> {
    if maps.iter().any(|map| map.state() != State::Defined) {
        return coalesce(maps);
    }
    let mut meter = Meter::new(TOTAL_EFFORT);
    let merged = merge::merge_by(maps, Counting::Elements, &mut meter);
    let windows: Vec<Map> = merged.iter().map(|item| item.map.clone()).collect();
    let mut found = coalesce_by(&windows, &mut meter);
    for item in &mut found {
        let parts = std::mem::take(&mut item.parts);
        item.absorb(parts.iter().flat_map(|&i| merged[i].parts.iter().copied()).collect());
    }
    found.sort_by_key(|item| item.parts[0]);
    found
}

/// One round of all joins.
fn join_all(mut items: Vec<Coalesced>, meter: &mut Meter) -> Vec<Coalesced> {
    items = merge::join_intervals(items, Counting::Pairs, meter);
    items = progressions::join_progressions(items, meter);
    let n_dims = items.iter().map(|item| item.map.domain().n_dims).max().unwrap_or(0);
    for dim in 0..n_dims {
        if !differ(&items, dim) {
            continue;
        }
        items = in_groups(items, |map| blocks_of(map, dim), |group| blocks::join_blocks(group, dim, meter));
        items = in_groups(items, |map| fixed_dims(map, dim), |group| intervals::join_extensions(group, dim, meter));
    }
    items
}

/// Whether two maps have the same normal form.
fn is_same(a: &Map, b: &Map, meter: &mut Meter) -> bool {
    let options = Options { drop_unused: true, ..Options::default() };
    simplify_by(a, options, meter) == simplify_by(b, options, meter)
        || compact_ranges_within(a, meter) == compact_ranges_within(b, meter)
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
fn without_contained(items: Vec<Coalesced>, meter: &mut Meter) -> Vec<Coalesced> {
    // A map that stays makes the answer longer, not wrong: the effort of one map is enough.
    meter.part(EFFORT, |own| without_contained_by(items, own))
}

fn without_contained_by(mut items: Vec<Coalesced>, meter: &mut Meter) -> Vec<Coalesced> {
    let bounds: Vec<Bounds> = items.iter().map(|item| item.map.bounding_box(meter)).collect();
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
    // By rank, without the maps that others contain.
    let mut larger = Boxes::along(Boxes::best_axis(bounds.iter()));
    for (rank, inner) in order.iter().enumerate() {
        if meter.left() == 0 {
            break;
        }
        let mut covering: Vec<u32> = larger.covering(&bounds[*inner]).collect();
        covering.sort_unstable();
        let outer = covering.into_iter().map(|rank| order[rank as usize]).find(|outer| {
            let (of_outer, of_inner) = (&bounds[*outer], &bounds[*inner]);
            let covers = of_outer.len() == of_inner.len() && of_outer.iter().zip(of_inner).all(|(x, y)| x.covers(*y));
            // A map that takes a large part of the effort is hardly ever contained.
            let (outer, inner) = (&items[*outer].map, &items[*inner].map);
            let contains = |own: &mut Meter| contains_within(outer, inner, own).is_yes();
            meter.spend(of_inner.len()).is_ok() && covers && meter.part(EFFORT / ROUNDS as u64, contains)
        });
        match outer {
            Some(outer) => {
                let parts = std::mem::take(&mut items[*inner].parts);
                items[outer].absorb(parts);
            }
            None => larger.insert(rank as u32, &bounds[*inner]),
        }
    }
    items.retain(|item| !item.parts.is_empty());
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::n_steps;

    #[test]
    fn all_maps_share_one_effort() {
        // Making the ranges of one such map compact takes the effort of a question.
        let chain = |k: usize| -> Map {
            let list = |of: &dyn Fn(usize) -> String| (0..500).map(of).collect::<Vec<_>>().join(", ");
            let (ranges, intervals) = (list(&|i| format!("s{i}")), list(&|i| format!("s{i} in [0, 9]")));
            let pairs = (1..500).map(|i| format!("(s{} + s{i}) mod 2 in [0, 0]", i - 1)).collect::<Vec<_>>().join(", ");
            format!("()[{ranges}] -> (s0 * {k}), domain: {intervals}, {pairs}").parse().unwrap()
        };
        let maps = [2, 3, 5].map(chain);
        let steps = |effort: u64| {
            let before = n_steps();
            assert_eq!(coalesce_by(&maps, &mut Meter::new(effort)).len(), 3);
            n_steps() - before
        };
        let (few, many) = (steps(EFFORT), steps(9 * EFFORT));
        assert!(few * 2 < many, "{few} {many}");
    }
}
