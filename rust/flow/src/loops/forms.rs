//! Closed forms of the relation of a group over any number of iterations; read [`close`].

use quasiaffine::State;
use quasiaffine::{Expr, Interval, Kind as VarKind, Map, Op, Result, Var};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::build::{bounds_of, dim, dims, linear, map, value_of, Bounded, Bounds, KEEP_POINTS};
use super::unions::{covers, drop_ranges, joined, keep_time, reduced, without_last_dim};
use super::walks::{around_walk, fitting, walk};
use super::{Edge, Group, Kind, Leaf, LoopMaps, Piece, Pieces, Timeline};
use crate::reads::Text;
use crate::tuning::{MAX_GROUP, MAX_LOOP_MAPS, MAX_NAMES, MAX_POWERS};

/// The variables of a piece: bounds of (element, p, q), p, q, and the number of iterations between the clocks.
#[derive(Clone)]
pub(super) struct Clocks {
    pub dims: Vec<Bounds>,
    pub rank: usize,
    pub p: Expr,
    pub q: Expr,
    pub passed: Expr,
}

impl Timeline {
    pub(super) fn clocks(&self, leaf: Leaf) -> Result<Clocks> {
        let rank = self.sizes[leaf].len();
        let (p, q) = (dim(rank), dim(rank + 1));
        let mut dims = self.bounds(leaf);
        dims.extend([(0, self.n), (0, self.n)]);
        let passed = if self.backward { p.sub(&q)? } else { q.sub(&p)? };
        Ok(Clocks { dims, rank, p, q, passed })
    }

    pub(super) fn bounds(&self, leaf: Leaf) -> Vec<Bounds> {
        self.sizes[leaf].iter().map(|n| (0, n - 1)).collect()
    }

    /// The bounds of (element, clock), or of (element, iteration), where there are `n` of them.
    pub(super) fn bounds_with(&self, leaf: Leaf, n: i64) -> Vec<Bounds> {
        self.sizes[leaf].iter().chain([&n]).map(|n| (0, n - 1)).collect()
    }

    /// Every element stays where it is, for at least `least` and at most `most` iterations.
    pub(super) fn stays(&self, leaf: Leaf, least: i64, most: i64) -> Result<Piece> {
        let clocks = self.clocks(leaf)?;
        let results = dims(clocks.rank).chain([clocks.q]).collect();
        Ok(Piece { map: map(&clocks.dims, &[], results, vec![(clocks.passed, least, most)]), reason: None })
    }

    /// Every element stays where it is, for any number of iterations.
    pub(super) fn whole(&self, leaf: Leaf) -> Result<Piece> {
        self.stays(leaf, 0, self.n)
    }

    /// No iteration passes.
    pub(super) fn none(&self, leaf: Leaf) -> Result<Piece> {
        self.stays(leaf, 0, 0)
    }
}

impl Edge {
    /// Whether each iteration reaches other elements.
    pub(super) fn is_at_iteration(&self) -> bool {
        let time = iteration(&self.map);
        self.map.results().iter().any(|e| e.any_var(&|v| v == time))
    }
}

/// The iteration of an edge.
fn iteration(m: &Map) -> Var {
    Var { kind: VarKind::Dim, index: m.domain().n_dims as u32 - 1 }
}

/// The edges from the leaves of a group to each other, with the leaf where each begins.
pub(super) fn inside<'a>(maps: &'a LoopMaps, leaves: &[Leaf]) -> Vec<(Leaf, &'a Edge)> {
    let edges = leaves.iter().flat_map(|&leaf| maps.edges[leaf].iter().flatten().map(move |e| (leaf, e)));
    edges.filter(|(_, e)| leaves.binary_search(&e.target).is_ok()).collect()
}

/// Finds the relation of a group over any number of iterations, where it does not depend on the iteration.
pub(super) fn close(time: &Timeline, group: &mut Group, edges: &[(Leaf, &Edge)]) -> Result<bool> {
    if edges.is_empty() {
        let leaf = group.leaves[0];
        group.kind = Kind::Forwarded;
        group.pieces.insert((leaf, leaf), vec![time.none(leaf)?]);
        return Ok(true);
    }
    Ok(close_identity(time, group, edges)? || close_timeless(time, group, edges)?)
}

/// The relation of a group, from one leaf to another.
pub(super) fn pieces_of(time: &Timeline, group: &Group, start: Leaf, leaf: Leaf) -> Result<Vec<Piece>> {
    let Some(common) = &group.common else {
        return Ok(group.pieces.get(&(start, leaf)).cloned().unwrap_or_default());
    };
    let kept = (0..time.sizes[leaf].len()).map(|i| common.contains(&i).then_some(i)).collect();
    dimwise(time, group, start, leaf, &kept)
}

fn close_identity(time: &Timeline, group: &mut Group, edges: &[(Leaf, &Edge)]) -> Result<bool> {
    let [leaf] = group.leaves[..] else { return Ok(false) };
    if edges.iter().any(|(_, e)| e.reason.is_some() || e.map.domain().n_ranges + e.map.domain().n_runtime() > 0) {
        return Ok(false);
    }
    let bounds = time.bounds_with(leaf, time.n.max(1));
    let n = bounds.len();
    let identity = map(&bounds, &[], dims(n).collect(), Vec::new());
    let (stays, others): (Vec<Map>, Vec<Map>) =
        edges.iter().map(|(_, e)| keep_time(&e.map)).partition(|m| m.results().iter().cloned().eq(dims(n)));
    let unchanged = joined(super::unions::distinct(stays));
    let [one] = &unchanged[..] else { return Ok(false) };
    if one.simplify(KEEP_POINTS) != identity.simplify(KEEP_POINTS) || !covers(&[identity], &others) {
        return Ok(false);
    }
    group.kind = Kind::Kept;
    group.pieces.insert((leaf, leaf), vec![time.whole(leaf)?]);
    Ok(true)
}

/// From pairs of leaves to maps of some number of iterations, in the order in which they are found.
type Relation = Vec<((Leaf, Leaf), Vec<Map>)>;

/// A relation that does not depend on the iteration: every element moves by the same distances, or its powers repeat.
fn close_timeless(time: &Timeline, group: &mut Group, edges: &[(Leaf, &Edge)]) -> Result<bool> {
    if group.leaves.len() > MAX_GROUP
        || edges.iter().any(|(_, e)| e.map.domain().n_runtime() > 0 || !is_timeless(time, &e.map))
    {
        return Ok(false);
    }
    let reason = edges.iter().find_map(|(_, e)| e.reason.clone());
    let mut once = Relation::new();
    for (leaf, e) in edges {
        value_of(&mut once, (*leaf, e.target)).push(without_last_dim(&e.map).simplify(KEEP_POINTS));
    }
    let few: Relation = once.iter().map(|(pair, maps)| (*pair, reduced(maps.iter().cloned()))).collect();
    let walked = || match (&group.leaves[..], &once[..]) {
        ([leaf], [(_, maps)]) => fitting(walk(time, *leaf, maps, reason.as_ref())),
        _ => Ok(None),
    };
    let is_one = matches!(&few[..], [(_, maps)] if maps.len() == 1 && maps[0].domain().n_ranges == 0);
    let mut pieces = if is_one { walked()? } else { None };
    if pieces.is_none() {
        let powers = powers_of(time, &few)?;
        if powers.as_ref().is_none_or(|powers| powers.repeats == 0 && time.n > 1) && !is_one {
            pieces = walked()?;
        }
        if let (None, Some(powers)) = (&pieces, powers) {
            close_powers(time, group, &powers, reason.as_ref())?;
            return Ok(true);
        }
    }
    let (Some(pieces), leaf) = (pieces, group.leaves[0]) else { return Ok(false) };
    group.pieces.insert((leaf, leaf), pieces);
    (group.kind, group.reason) = (Kind::Recurrence, reason);
    Ok(true)
}

/// The relations of 1, 2, … iterations.
struct Powers {
    powers: Vec<Relation>,
    /// The number of iterations to which the last one and one more lead back; 0 where the last one is that of all.
    repeats: usize,
}

/// The powers of a relation, where they repeat or iterations are few.
fn powers_of(time: &Timeline, once: &Relation) -> Result<Option<Powers>> {
    let (mut powers, mut repeats) = (vec![once.clone()], 0);
    while powers.len() < MAX_POWERS.min(usize::try_from(time.n.max(1)).unwrap_or(MAX_POWERS)) {
        let Some(following) = composed(&powers[powers.len() - 1], once)? else { return Ok(None) };
        repeats = powers.iter().position(|power| is_same(power, &following)).map_or(0, |k| k + 1);
        if repeats > 0 {
            break;
        }
        powers.push(following);
    }
    Ok((repeats > 0 || powers.len() as i64 >= time.n).then_some(Powers { powers, repeats }))
}

fn close_powers(time: &Timeline, group: &mut Group, found: &Powers, reason: Option<&Text>) -> Result<()> {
    let Powers { powers, repeats } = found;
    let repeats = *repeats;
    let period = if repeats > 0 { powers.len() + 1 - repeats } else { 0 };
    for &leaf in &group.leaves {
        group.pieces.entry((leaf, leaf)).or_default().push(time.none(leaf)?);
    }
    for (k, power) in (1..).zip(powers) {
        let again = if repeats > 0 && k >= repeats { period } else { 0 };
        for ((source, target), maps) in power {
            for m in maps {
                let map = after(time, *source, m, k as i64, again as i64)?;
                let pieces = group.pieces.entry((*source, *target)).or_default();
                pieces.push(Piece { map, reason: reason.cloned() });
            }
        }
    }
    (group.kind, group.reason) = (Kind::Recurrence, reason.cloned());
    Ok(())
}

/// The map of `k` iterations, or of `k + i * period` for all i, as one from (element, p, q).
fn after(time: &Timeline, source: Leaf, m: &Map, k: i64, period: i64) -> Result<Map> {
    let clocks = time.clocks(source)?;
    let domain = m.domain();
    let mut bounds = clocks.dims;
    for (own, bounds) in bounds.iter_mut().zip(bounds_of(domain.dims())) {
        *own = bounds;
    }
    let mut constraints: Vec<Bounded> =
        domain.constraints.iter().map(|c| (c.expr.clone(), c.interval.lo, c.interval.hi)).collect();
    constraints.push((clocks.passed.clone(), k, if period > 0 { time.n } else { k }));
    if period > 1 {
        constraints.push((clocks.passed.floor_mod(&Expr::Const(period))?, k % period, k % period));
    }
    let ranges: Vec<Bounds> = bounds_of(domain.ranges()).collect();
    Ok(map(&bounds, &ranges, m.results().iter().cloned().chain([clocks.q]).collect(), constraints))
}

fn is_timeless(time: &Timeline, m: &Map) -> bool {
    let t = iteration(m);
    let domain = m.domain();
    let own = domain.dims()[t.index as usize].interval;
    own == Interval::new(0, (time.n - 1).max(0))
        && !m.results().iter().chain(domain.constraints.iter().map(|c| &c.expr)).any(|e| e.any_var(&|v| v == t))
}

/// As far as the distances of all iterations lead, or dimension by dimension: one that every path keeps stays, any other
/// is the whole range.
pub(super) fn close_general(maps: &LoopMaps, group: &mut Group) -> Result<()> {
    let time = &maps.time;
    let edges = inside(maps, &group.leaves);
    let why = edges.iter().find_map(|(_, e)| e.reason.as_deref());
    let name = |&leaf: &Leaf| format!("{:?}", maps.indices[leaf].as_slice());
    let names = group.leaves.iter().take(MAX_NAMES).map(name).collect::<Vec<_>>().join(", ");
    let what = match group.leaves[..] {
        [_] => format!("leaf {names} of the loop"),
        _ => format!("leaves {names} of the loop depend on each other"),
    };
    let why = why.unwrap_or_else(|| {
        let is_any = |has: &dyn Fn(&Map) -> bool| edges.iter().any(|(_, e)| has(&e.map));
        if is_any(&|m| m.domain().n_runtime() > 0) {
            "an offset has one value in all iterations, which is not known"
        } else if is_any(&|m| !is_timeless(time, m)) {
            "its maps change from iteration to iteration"
        } else {
            "each number of iterations has other maps"
        }
    });
    group.reason = Some(Text::from(format!("{what}: {why}")));
    group.kind = Kind::General;
    if group.leaves.len() > MAX_GROUP {
        group.common = Some(common_dims(time, group, &edges));
        return Ok(());
    }
    if let Some(pieces) = fitting(nearby(time, group, &edges))? {
        group.pieces = pieces;
        return Ok(());
    }
    let mut kept: Vec<((Leaf, Leaf), Kept)> = Vec::new();
    for &leaf in &group.leaves {
        meet(&mut kept, (leaf, leaf), (0..time.sizes[leaf].len()).map(Some).collect());
        for (_, e) in edges.iter().filter(|(source, _)| *source == leaf) {
            meet(&mut kept, (leaf, e.target), kept_dims(&e.map, time.sizes[leaf].len()));
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for ((a, b), first) in kept.clone() {
            for &c in &group.leaves {
                let second = kept.iter().find(|(pair, _)| *pair == (b, c)).map(|(_, second)| second.clone());
                if let Some(second) = second {
                    let both = second.iter().map(|i| i.and_then(|i| first[i])).collect();
                    changed |= meet(&mut kept, (a, c), both);
                }
            }
        }
    }
    for ((a, b), dims) in kept {
        group.pieces.insert((a, b), dimwise(time, group, a, b, &dims)?);
    }
    Ok(())
}

/// The relation of leaves of equal sizes in which every iteration moves elements by constants.
fn nearby(time: &Timeline, group: &Group, edges: &[(Leaf, &Edge)]) -> Result<Option<Pieces>> {
    let (first, mut found) = (group.leaves[0], Pieces::default());
    if group.leaves.iter().any(|&leaf| time.sizes[leaf] != time.sizes[first]) {
        return Ok(None);
    }
    let maps: Vec<Map> = edges.iter().map(|(_, e)| e.map.clone()).collect();
    let Some(path) = around_walk(time, first, &maps)? else { return Ok(None) };
    for &a in &group.leaves {
        for &b in &group.leaves {
            let passed = (path.clocks.passed.clone(), i64::from(a != b), time.n);
            found.insert((a, b), vec![path.clone().with(passed).piece(group.reason.as_ref())?]);
        }
    }
    Ok(Some(found))
}

/// For each dimension of a leaf the dimension of another one with the same index.
type Kept = SmallVec<[Option<usize>; 4]>;

/// Keeps the dimensions on which both agree; whether that changes anything.
fn meet(kept: &mut Vec<((Leaf, Leaf), Kept)>, pair: (Leaf, Leaf), new: Kept) -> bool {
    let Some((_, own)) = kept.iter_mut().find(|(own, _)| *own == pair) else {
        kept.push((pair, new));
        return true;
    };
    let both: Kept = own.iter().zip(&new).map(|(a, b)| a.filter(|_| a == b)).collect();
    std::mem::replace(own, both) != *own
}

fn kept_dims(m: &Map, rank: usize) -> Kept {
    let kept = |e: &Expr| match e {
        Expr::Var(Var { kind: VarKind::Dim, index }) => Some(*index as usize).filter(|&i| i < rank),
        _ => None,
    };
    m.results().iter().map(kept).collect()
}

/// The dimensions that every edge inside a group keeps, where all leaves have the same sizes.
fn common_dims(time: &Timeline, group: &Group, edges: &[(Leaf, &Edge)]) -> SmallVec<[usize; 4]> {
    let sizes = &time.sizes[group.leaves[0]];
    if group.leaves.iter().any(|&leaf| time.sizes[leaf] != *sizes) {
        return SmallVec::new();
    }
    let kept: Vec<Kept> = edges.iter().map(|(_, e)| kept_dims(&e.map, sizes.len())).collect();
    (0..sizes.len()).filter(|&i| kept.iter().all(|kept| kept[i] == Some(i))).collect()
}

/// From a leaf to another, after any number of iterations; dimensions without a kept one are whole.
fn dimwise(time: &Timeline, group: &Group, a: Leaf, b: Leaf, kept: &Kept) -> Result<Vec<Piece>> {
    let clocks = time.clocks(a)?;
    let (mut ranges, mut results): (Vec<Bounds>, Vec<Expr>) = (Vec::new(), Vec::new());
    for (i, &size) in kept.iter().zip(&time.sizes[b]) {
        results.push(match i {
            Some(i) => dim(*i),
            None => {
                ranges.push((0, size - 1));
                Expr::range(ranges.len() as u32 - 1)
            }
        });
    }
    let least = i64::from(a != b);
    if least > time.n || time.sizes[b].contains(&0) {
        return Ok(Vec::new());
    }
    results.push(clocks.q);
    let map = map(&clocks.dims, &ranges, results, vec![(clocks.passed, least, time.n)]);
    Ok(vec![Piece { map, reason: group.reason.clone() }])
}

/// One relation after another; `None` where there are too many maps.
fn composed(first: &Relation, second: &Relation) -> Result<Option<Relation>> {
    let mut found = Relation::new();
    for ((a, b), maps) in first {
        for ((source, c), following) in second.iter().filter(|((source, _), _)| source == b) {
            debug_assert_eq!(source, b);
            for m in maps {
                for k in following {
                    let both = m.then(k)?.simplify(KEEP_POINTS);
                    if both.state() != State::Empty {
                        value_of(&mut found, (*a, *c)).push(drop_ranges(both));
                    }
                }
            }
        }
    }
    for (_, maps) in &mut found {
        *maps = reduced(std::mem::take(maps));
        if maps.len() > MAX_LOOP_MAPS {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

fn is_same(a: &Relation, b: &Relation) -> bool {
    let by_pair = |r: &Relation| -> FxHashMap<(Leaf, Leaf), Vec<Map>> {
        r.iter().filter(|(_, maps)| !maps.is_empty()).cloned().collect()
    };
    let (a, b) = (by_pair(a), by_pair(b));
    let same = |x: &Vec<Map>, y: &Vec<Map>| x.iter().all(|m| y.contains(m)) && y.iter().all(|m| x.contains(m));
    a.len() == b.len() && a.iter().all(|(pair, maps)| b.get(pair).is_some_and(|others| same(maps, others)))
}

/// The constant by which a result differs from a dimension, around the end of the dimension or not.
pub(super) fn moved_by(e: &Expr, i: usize, size: i64) -> Option<i64> {
    let e = match e.op() {
        Some(Op::Mod(inner, divisor)) if divisor.as_const() == Some(size) => inner,
        _ => e,
    };
    linear(e, Var { kind: VarKind::Dim, index: i as u32 }).filter(|(_, factor)| *factor == 1).map(|(by, _)| by)
}
