//! A leaf of which the maps change their form at a few iterations: an index that wraps around, or that is clamped.
//!
//! The loop is then a few loops, one after the other, each with maps of one form. A path goes through some of them from
//! end to end, and through a part of the first and of the last one; so the relation over any number of iterations is made
//! of compositions.

use std::collections::BTreeSet;

use cancel::poll;
use quasiaffine::State;
use quasiaffine::{Expr, Interval, Kind as VarKind, Map, Op, Result, Var, Variable};

use super::build::{dim, linear, substituted, with_results, KEEP_POINTS};
use super::hops::line;
use super::paths::{simplest, without_contained};
use super::unions::by_clock;
use super::walks::fitting;
use super::{forms, stacked, Edge, Group, Kind, Leaf, Piece, Reached, Timeline};

use crate::tuning::{MAX_LOOP_MAPS, MAX_PHASES};

/// Iterations of a loop as a loop of its own.
struct Phase {
    /// Its first iteration.
    first: i64,
    time: Timeline,
    pieces: Vec<Piece>,
}

/// Finds the relation of a leaf over any number of iterations, where it has a closed form in each of a few phases.
pub(super) fn close_in_phases(time: &Timeline, group: &mut Group, edges: &[&Edge]) -> Result<bool> {
    if edges.iter().any(|e| e.map.domain().n_runtime() > 0) {
        return Ok(false);
    }
    let mut begins = BTreeSet::from([0]);
    for edge in edges {
        if !changes(&edge.map, time.n, &mut begins)? {
            return Ok(false);
        }
    }
    if begins.len() < 2 || begins.len() > MAX_PHASES {
        return Ok(false);
    }
    let leaf = group.leaves[0];
    let ends = begins.iter().copied().skip(1).chain([time.n]);
    let mut phases = Vec::new();
    for (&first, end) in begins.iter().zip(ends) {
        match phase(time, leaf, edges, (first, end))? {
            Some(phase) => phases.push(phase),
            None => return Ok(false),
        }
    }
    if time.backward {
        phases.reverse();
    }
    let Some(pieces) = fitting(joined(time, leaf, &phases))? else { return Ok(false) };
    group.reason = pieces.iter().find_map(|piece| piece.reason.clone());
    group.kind = Kind::Recurrence;
    group.pieces.insert((leaf, leaf), pieces);
    Ok(true)
}

/// The iterations from which on a map may have another form; false where there are too many.
fn changes(m: &Map, n: i64, found: &mut BTreeSet<i64>) -> Result<bool> {
    let domain = m.domain();
    let t_dim = domain.n_dims - 1;
    let t = Var { kind: VarKind::Dim, index: t_dim as u32 };
    let own = domain.dims()[t_dim].interval;
    let (lo, hi) = (own.lo.max(0), own.hi.min(n - 1));
    let mut add = |at: i128| {
        if let Some(at) = i64::try_from(at).ok().filter(|at| (1..n).contains(at)) {
            found.insert(at);
        }
    };
    add(lo.into());
    add(i128::from(hi) + 1);
    // The first iteration in which `a + b * t` is at least `x`, or less than it where `b` is negative.
    let crosses = |a: i64, b: i64, x: i128| {
        let (a, b) = (i128::from(a), i128::from(b));
        let (rest, by) = if b > 0 { (x - a, b) } else { (a - x + 1, -b) };
        -(-rest).div_euclid(by)
    };
    for c in &domain.constraints {
        if let Some((a, b)) = linear(&c.expr, t).filter(|(_, b)| *b != 0) {
            add(crosses(a, b, c.interval.lo.into()));
            add(crosses(a, b, i128::from(c.interval.hi) + 1));
        }
    }
    let mut rounded: Vec<(Expr, i64)> = Vec::new();
    let all = m.results().iter().chain(domain.constraints.iter().map(|c| &c.expr));
    all.for_each(|e| rounded_in(e, &mut rounded));
    for (inner, divisor) in rounded {
        if lo >= hi {
            continue;
        }
        let Some((a, b)) = line(m, &inner, t_dim)?.filter(|(_, b)| *b != 0) else { continue };
        let round = |t: i64| (i128::from(a) + i128::from(b) * i128::from(t)).div_euclid(divisor.into());
        let (least, most) = (round(lo).min(round(hi)), round(lo).max(round(hi)));
        if most - least > MAX_PHASES as i128 {
            return Ok(false);
        }
        (least + 1..=most).for_each(|k| add(crosses(a, b, k * i128::from(divisor))));
    }
    Ok(true)
}

/// What an expression divides by a positive number and rounds, and the number.
fn rounded_in(e: &Expr, found: &mut Vec<(Expr, i64)>) {
    match e.op() {
        Some(Op::Mod(inner, divisor) | Op::FloorDiv(inner, divisor)) => {
            rounded_in(inner, found);
            if let Some(divisor) = divisor.as_const().filter(|divisor| *divisor > 0) {
                found.push((inner.clone(), divisor));
            }
        }
        _ => e.terms().filter(|(_, atom)| *atom != e).for_each(|(_, atom)| rounded_in(atom, found)),
    }
}

/// The iterations from `first` to the one before `end`, where their relation has a closed form.
fn phase(time: &Timeline, leaf: Leaf, edges: &[&Edge], (first, end): (i64, i64)) -> Result<Option<Phase>> {
    let time = Timeline { n: end - first, backward: time.backward, sizes: time.sizes.clone() };
    let mut own: Vec<Edge> = Vec::new();
    for edge in edges {
        let mut dims: Vec<Variable> = edge.map.domain().dims().to_vec();
        let t_dim = dims.len() - 1;
        let t = dims[t_dim].interval;
        let (lo, hi) = (t.lo.max(first), t.hi.min(end - 1));
        if lo > hi {
            continue;
        }
        dims[t_dim].interval = Interval::new(lo - first, hi - first);
        let later = dim(t_dim).add(&Expr::Const(first))?;
        let is_t = |v: Var| v.kind == VarKind::Dim && v.index as usize == t_dim;
        let replace = |v: Var| Ok(if is_t(v) { later.clone() } else { Expr::Var(v) });
        let map = substituted(&edge.map, &dims, edge.map.domain().ranges(), &replace)?.simplify(KEEP_POINTS);
        if map.state() != State::Defined {
            continue;
        }
        let by_clock = by_clock(&map, i64::from(time.backward))?;
        own.push(Edge { target: edge.target, map, by_clock, reason: edge.reason.clone() });
    }
    let mut group = Group {
        leaves: vec![leaf],
        kind: Kind::General,
        reason: None,
        common: None,
        window: None,
        rotation: None,
        pieces: Default::default(),
    };
    let with_leaf: Vec<(Leaf, &Edge)> = own.iter().map(|e| (leaf, e)).collect();
    let own: Vec<&Edge> = own.iter().collect();
    if !forms::close(&time, &mut group, &with_leaf)? && !stacked::close_window(&time, &mut group, &own, None)? {
        return Ok(None);
    }
    Ok(group.pieces.remove(&(leaf, leaf)).map(|pieces| Phase { first, time, pieces }))
}

/// The clock at an end of a path in a phase.
#[derive(Clone, Copy)]
enum End {
    /// That of the whole path.
    Own,
    /// Where the phase begins, or ends.
    Fixed(i64),
}

impl Phase {
    /// The clocks at which a path enters the phase and leaves it.
    fn ends(&self) -> (i64, i64) {
        if self.time.backward {
            (self.time.n, 0)
        } else {
            (0, self.time.n)
        }
    }

    /// The relation from one clock to another, as maps from (element, p, q) if `p` is that of the whole path, else from
    /// (element, q), to (element, q). A path that enters or leaves the phase passes some of it.
    fn maps(&self, whole: &Timeline, leaf: Leaf, p: End, q: End) -> Result<Vec<Reached>> {
        let rank = whole.sizes[leaf].len();
        let (enters, leaves) = self.ends();
        let mut found = Vec::new();
        for piece in self.pieces.iter().filter(|piece| piece.map.state() == State::Defined) {
            let domain = piece.map.domain();
            let mut dims: Vec<Variable> = domain.dims()[..rank].to_vec();
            let of = |i: usize| domain.dims()[rank + i].interval;
            let is_in = |i: usize, end: End| match end {
                End::Fixed(at) => of(i).lo <= at && at <= of(i).hi,
                End::Own => true,
            };
            if !is_in(0, p) || !is_in(1, q) {
                continue;
            }
            // Nothing of the phase is passed at this clock.
            let without = |v: Interval, end: i64| {
                Interval::new(if v.lo == end { v.lo + 1 } else { v.lo }, if v.hi == end { v.hi - 1 } else { v.hi })
            };
            let later = |v: Interval| Variable::new(Interval::new(v.lo + self.first, v.hi + self.first));
            let before = match p {
                End::Fixed(at) => Expr::Const(at),
                End::Own => {
                    let own = if matches!(q, End::Fixed(_)) { without(of(0), leaves) } else { of(0) };
                    dims.push(later(own));
                    dim(rank).add(&Expr::Const(-self.first))?
                }
            };
            let after = match q {
                End::Fixed(at) => {
                    dims.push(Variable::new(Interval::new(0, whole.n)));
                    Expr::Const(at)
                }
                End::Own => {
                    let own = if matches!(p, End::Fixed(_)) { without(of(1), enters) } else { of(1) };
                    dims.push(later(own));
                    dim(dims.len() - 1).add(&Expr::Const(-self.first))?
                }
            };
            if dims.iter().any(|v| v.interval.lo > v.interval.hi) {
                continue;
            }
            let last = dim(dims.len() - 1);
            let replace = |v: Var| {
                Ok(match (v.kind, (v.index as usize).checked_sub(rank)) {
                    (VarKind::Dim, Some(0)) => before.clone(),
                    (VarKind::Dim, Some(_)) => after.clone(),
                    _ => Expr::Var(v),
                })
            };
            let map = substituted(&piece.map, &dims, domain.ranges(), &replace)?;
            let results = map.results()[..map.results().len().min(rank)].iter().cloned().chain([last]).collect();
            add(&mut found, with_results(&map, results), piece.reason.clone());
        }
        Ok(without_contained(found))
    }
}

fn add(found: &mut Vec<Reached>, map: Map, reason: Option<crate::reads::Text>) {
    let map = simplest(&map.simplify(KEEP_POINTS));
    if map.state() == State::Defined && !map.is_empty().is_yes() {
        found.push(Reached { map, reason });
    }
}

/// One relation after another; `None` where there are too many maps.
fn composed(first: &[Reached], second: &[Reached]) -> Result<Option<Vec<Reached>>> {
    if first.len() * second.len() > MAX_LOOP_MAPS {
        return Ok(None);
    }
    let mut found = Vec::new();
    for a in first {
        for b in second {
            poll();
            add(&mut found, a.map.then(&b.map)?, a.reason.clone().or_else(|| b.reason.clone()));
        }
    }
    Ok(Some(without_contained(found)))
}

/// The relation over any iterations of phases, in the order in which a path passes them.
fn joined(time: &Timeline, leaf: Leaf, phases: &[Phase]) -> Result<Option<Vec<Piece>>> {
    let mut found = Vec::new();
    for (i, first) in phases.iter().enumerate() {
        found.extend(first.maps(time, leaf, End::Own, End::Own)?);
        let mut along = first.maps(time, leaf, End::Own, End::Fixed(first.ends().1))?;
        for next in &phases[i + 1..] {
            let (enters, leaves) = next.ends();
            let end = composed(&along, &next.maps(time, leaf, End::Fixed(enters), End::Own)?)?;
            let through = composed(&along, &next.maps(time, leaf, End::Fixed(enters), End::Fixed(leaves))?)?;
            let (Some(end), Some(through)) = (end, through) else { return Ok(None) };
            found.extend(end);
            along = through;
        }
    }
    if found.len() > MAX_LOOP_MAPS {
        return Ok(None);
    }
    let pieces = without_contained(found).into_iter().map(|Reached { map, reason }| Piece { map, reason });
    Ok(Some(pieces.collect()))
}
