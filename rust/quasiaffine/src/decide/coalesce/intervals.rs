//! Joining maps one of which, extended along a dim, equals the other.

use crate::limits::ALTERNATIVES;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::groups::with_interval;
use super::{is_same, Coalesced};
use crate::decide::ranges::compact_ranges_within;
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::span::Interval;

/// Joins neighbours along a dim if one of them, extended to the other's interval, equals the other.
pub(super) fn join_extensions(mut group: Vec<Coalesced>, dim: usize, meter: &mut Meter) -> Vec<Coalesced> {
    let of = |map: &Map| map.domain().vars[dim].interval;
    group.sort_by_key(|item| (of(&item.map).lo, item.parts[0]));
    let mut out: Vec<Coalesced> = Vec::new();
    let mut ending: FxHashMap<i64, SmallVec<[usize; 2]>> = FxHashMap::default();
    for item in group {
        let own = of(&item.map);
        let before = own.lo.checked_sub(1).and_then(|end| ending.get(&end)).cloned().unwrap_or_default();
        let mut neighbours = before.iter().rev().take(ALTERNATIVES);
        let joined = neighbours.find_map(|at| Some((*at, extended(&out[*at].map, &item.map, dim, meter)?)));
        let at = match joined {
            Some((at, map)) => {
                ending.entry(own.lo - 1).or_default().retain(|other| *other != at);
                out[at].map = map;
                out[at].absorb(item.parts);
                at
            }
            None => {
                out.push(item);
                out.len() - 1
            }
        };
        ending.entry(of(&out[at].map).hi).or_default().push(at);
    }
    out
}

/// Extends one of two neighbours along a dim to the box of both, if it then equals the other one.
fn extended(a: &Map, b: &Map, dim: usize, meter: &mut Meter) -> Option<Map> {
    let of = |map: &Map| map.domain().vars[dim].interval;
    let all = Interval::new(of(a).lo, of(b).hi);
    [(a, b), (b, a)].into_iter().find_map(|(own, other)| {
        let on_other = with_interval(own, dim, of(other)).ok()?;
        let both = is_same(&on_other, other, meter).then(|| with_interval(own, dim, all).ok()).flatten()?;
        Some(compact_ranges_within(&both, meter)).filter(|map| map.state() == State::Defined)
    })
}
