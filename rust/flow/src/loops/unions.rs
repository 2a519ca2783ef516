//! Unions of maps in fewer maps, and maps with a dimension or a result more or less.

use quasiaffine::State;
use quasiaffine::{coalesce, Expr, Interval, Kind, Map, Result, Var};
use smallvec::SmallVec;

use super::build::{dim, substituted, with_results, KEEP_POINTS};
use crate::maps::SIMPLIFY;
use crate::tuning::MAX_LOOP_MAPS;

/// The union in fewer maps.
pub(super) fn reduced(maps: impl IntoIterator<Item = Map>) -> Vec<Map> {
    let simple = maps.into_iter().map(|m| m.simplify(KEEP_POINTS));
    joined(distinct(simple.filter(|m| m.state() != State::Empty)))
}

/// The union in fewer maps, where that is possible.
pub(super) fn joined(maps: Vec<Map>) -> Vec<Map> {
    if !(2..=MAX_LOOP_MAPS).contains(&maps.len()) {
        return maps;
    }
    coalesce(&maps).into_iter().map(|found| found.map).collect()
}

/// The maps without repetitions, in order.
pub(super) fn distinct(maps: impl IntoIterator<Item = Map>) -> Vec<Map> {
    let mut found: Vec<Map> = Vec::new();
    for m in maps {
        if !found.contains(&m) {
            found.push(m);
        }
    }
    found
}

/// Whether two unions are equal: each contains the maps of the other.
pub(super) fn same_elements(a: &[Map], b: &[Map]) -> bool {
    covers(a, b) && covers(b, a)
}

/// Whether a union surely contains another one.
pub(super) fn covers(larger: &[Map], smaller: &[Map]) -> bool {
    smaller.iter().all(|m| larger.iter().any(|k| k.contains(m).is_yes()))
}

/// The map of one iteration from (element, clock before) to (element, clock after); it counts down by `shift`.
pub(super) fn by_clock(m: &Map, shift: i64) -> Result<Map> {
    let domain = m.domain();
    let n = domain.n_dims - 1;
    let clock = dim(n);
    let t = clock.add(&Expr::Const(-shift))?;
    let after = clock.add(&Expr::Const(if shift != 0 { -shift } else { 1 }))?;
    let mut dims: SmallVec<[_; 6]> = domain.dims().iter().cloned().collect();
    let before = dims[n].interval;
    dims[n].interval = Interval::new(before.lo + shift, before.hi + shift);
    let replace = |v: Var| Ok(if v.kind == Kind::Dim && v.index as usize == n { t.clone() } else { Expr::Var(v) });
    let moved = substituted(m, &dims, domain.ranges(), &replace)?;
    let results = moved.results().iter().cloned().chain([after]).collect();
    Ok(with_results(&moved, results))
}

/// The map with the iteration as a result, too.
pub(super) fn keep_time(m: &Map) -> Map {
    let last = dim(m.domain().n_dims - 1);
    with_results(m, m.results().iter().cloned().chain([last]).collect())
}

/// A map that does not depend on its last dimension, without that dimension.
pub(super) fn without_last_dim(m: &Map) -> Map {
    let mut domain = m.domain().clone();
    domain.n_dims -= 1;
    domain.vars.remove(domain.n_dims);
    match m.state() {
        State::Defined => Map::new_unchecked(domain, m.results().to_vec()),
        _ => Map::empty(&domain),
    }
}

/// The map without its last result.
pub(super) fn without_last_result(m: &Map) -> Map {
    let n = m.results().len().saturating_sub(1);
    with_results(m, m.results()[..n].iter().cloned().collect())
}

/// The map without ranges that only constraints use, where these can be eliminated exactly.
pub(super) fn drop_ranges(m: Map) -> Map {
    let is_used = |index| m.results().iter().any(|e| e.any_var(&|v| v == Var { kind: Kind::Range, index }));
    match (0..m.domain().n_ranges as u32).all(is_used) {
        true => m,
        false => m.eliminate_ranges(SIMPLIFY),
    }
}
