//! A leaf that keeps its elements but for windows that move from iteration to iteration, and that reads itself for them:
//! recurrences, cumulative sums, copies within an array.
//!
//! A path stays at an element until an iteration writes it, and hops from there to one that this iteration reads. Two
//! kinds have a closed form: hops by constant distances from a window of one element, or row, and those of which only a
//! few follow each other, since what is read was never, or not often, written before.

use cancel::poll;
use quasiaffine::State;
use quasiaffine::{Expr, Interval, Kind as VarKind, Map, Result, Var, Variable};

use super::build::{
    dim, dims, fits, map, substituted, sum, with_constraint, with_dim, with_results, Bounds, KEEP_POINTS,
};
use super::paths::simplest;
use super::stacked::{is_within, outside, unwritten};
use super::sums::{sums, Vector};
use super::unions::{covers, distinct, joined, same_elements};
use super::walks::{can_stay, fitting, nothing, Distances, Draft};
use super::{Edge, Group, Kind, Leaf, Piece, Timeline, Window};
use crate::reads::Text;
use crate::tuning::{MAX_HOPS, MAX_LOOP_MAPS, MAX_WINDOWS};

/// The relation of a leaf over any number of iterations.
pub(super) fn close_hops(
    time: &Timeline,
    group: &mut Group,
    edges: &[&Edge],
    kept: &[Map],
    window: Option<Window>,
) -> Result<bool> {
    let leaf = group.leaves[0];
    let (bounds, n) = (time.bounds_with(leaf, time.n), time.sizes[leaf].len());
    let identity = [map(&bounds, &[], dims(n + 1).collect(), Vec::new())];
    let is_stay = |m: &Map| m.results().iter().cloned().eq(dims(n + 1)) || covers(&identity, std::slice::from_ref(m));
    let (stays, hops): (Vec<usize>, Vec<usize>) = (0..kept.len()).partition(|&i| is_stay(&kept[i]));
    if hops.is_empty() {
        return Ok(false);
    }
    let of = |numbers: &[usize]| -> Vec<Map> { numbers.iter().map(|&i| kept[i].clone()).collect() };
    let (stays, maps) = (joined(distinct(of(&stays))), of(&hops));
    let may_stay = covers(&stays, &identity);
    let windows = match window {
        Some(window) if may_stay || same_elements(&stays, &outside(time, leaf, std::slice::from_ref(&window))?) => {
            vec![window]
        }
        _ => windows_of(time, leaf, &maps)?,
    };
    let is_known = may_stay || (!windows.is_empty() && same_elements(&stays, &outside(time, leaf, &windows)?));
    let staying = || if may_stay { Ok(vec![time.whole(leaf)?]) } else { unwritten(time, leaf, &windows) };
    let mut found = None;
    if let ([window], true) = (&windows[..], is_known) {
        found = fitting(by_distances(time, leaf, window, &maps, may_stay))?;
    }
    if found.is_none() && is_known {
        let clocked: Vec<&Map> = hops.iter().map(|&i| &edges[i].by_clock).collect();
        found = fitting(few_hops(time, leaf, &staying()?, &clocked))?;
    }
    let mut pieces = staying()?;
    if found.is_none() && time.n <= MAX_HOPS as i64 {
        // Every iteration is a hop.
        pieces = vec![time.none(leaf)?];
        let clocked: Vec<&Map> = edges.iter().map(|e| &e.by_clock).collect();
        found = fitting(few_hops(time, leaf, &pieces, &clocked))?;
    }
    let Some(hopping) = found else { return Ok(false) };
    pieces.extend(hopping);
    group.reason = pieces.iter().find_map(|piece| piece.reason.clone());
    group.kind = Kind::Recurrence;
    group.pieces.insert((leaf, leaf), pieces);
    Ok(true)
}

/// Windows of one element, or row, that hold the elements that the maps of one iteration write.
fn windows_of(time: &Timeline, leaf: Leaf, hops: &[Map]) -> Result<Vec<Window>> {
    let n = time.sizes[leaf].len();
    let mut found: Vec<Window> = Vec::new();
    for m in hops {
        for i in 0..n {
            let at = if time.backward { dim(i) } else { m.results()[i].clone() };
            if let Some((start, step)) = line(m, &at, n)? {
                let window = Window { dim: i, start, step, size: 1, fixed: Vec::new() };
                if step != 0 && !found.contains(&window) {
                    found.push(window);
                }
            }
        }
    }
    Ok(if found.len() <= MAX_WINDOWS { found } else { Vec::new() })
}

/// `(a, b)` where an expression is `a + b * t` by the constraints of a map over the iteration `t`.
pub(super) fn line(m: &Map, e: &Expr, t_dim: usize) -> Result<Option<Bounds>> {
    let first = m.domain().dims()[t_dim].interval.lo;
    let value = |t: i64| -> Result<Option<i64>> {
        let at = with_constraint(m, (dim(t_dim), t, t)).simplify(KEEP_POINTS);
        Ok(if at.state() == State::Defined { at.bounds(e)?.as_point() } else { None })
    };
    let (Some(from), Some(to)) = (value(first)?, value(first + 1)?) else { return Ok(None) };
    let step = fits(i128::from(to) - i128::from(from))?;
    let start = fits(i128::from(from) - i128::from(step) * i128::from(first))?;
    Ok((m.bounds(&sum(e, -step, &dim(t_dim), 0)?)?.as_point() == Some(start)).then_some((start, step)))
}

/// One or more hops by constant distances.
///
/// Backward, a path hops at the iterations that write the elements on it, from the last one, to elements that were
/// written before; there are as many as one likes, so that the sums of these distances, and of 0, are those of `n`. The
/// last hop leads to an element that no iteration before it writes, or where it may stay.
fn by_distances(
    time: &Timeline,
    leaf: Leaf,
    window: &Window,
    hops: &[Map],
    may_stay: bool,
) -> Result<Option<Vec<Piece>>> {
    let (sizes, n, w) = (&time.sizes[leaf], time.sizes[leaf].len(), window.dim);
    for hop in hops {
        if !is_within(time, hop, window)? {
            return Ok(None);
        }
    }
    let Some(distances) = Distances::new(time, leaf, hops)? else { return Ok(None) };
    let straight = vec![false; n];
    let vectors = distances.distinct(sizes, &straight);
    let is_apart = |v: &Vector| window.fixed.iter().all(|&(i, ..)| v[i] == 0);
    if window.size != 1 || !window.is_disjoint() || distances.goes_around() || !vectors.iter().all(is_apart) {
        return Ok(None);
    }
    // In how many iterations after this one the element that it reads is written.
    let later = |v: &Vector| (v[w] % window.step == 0).then_some(v[w] / window.step);
    let mut steps: Vec<Vector> = vectors.iter().filter(|v| later(v).is_some_and(|k| k < 0)).cloned().collect();
    steps.push(Vector::from_elem(0, n));
    let mut bounds: Vec<Bounds> = time.bounds(leaf);
    window.fixed.iter().for_each(|&(i, first, last)| bounds[i] = (first, last));
    let mut is_exact = can_stay(&steps, &bounds, &straight) && has_hops(time, leaf, window, &bounds, &vectors, hops)?;
    let sum_of = || sums(&steps, &Expr::Const(time.n), time.n, 0);
    is_exact &= sum_of()?.exact;
    let reason = (!is_exact).then(|| Text::from("not every element hops by the same distances"));
    let mut found = Vec::new();
    for last in &vectors {
        let draft = Draft::new(time, leaf, &straight, sum_of()?, Some(last))?.in_array();
        let draft = draft.from(&bounds).through(&bounds, last)?;
        let (high, low) = (draft.high.clone(), draft.low.clone());
        let iteration = |at: &Expr| -> Result<Expr> {
            let from_start = at.add(&Expr::Const(-window.start))?;
            from_start.scale(window.step.signum())?.floor_div(&Expr::Const(window.step.abs()))
        };
        let from_start = draft.source[w].add(&Expr::Const(-window.start))?;
        let first = iteration(&draft.source[w])?;
        let hop = iteration(&draft.target[w].add(&Expr::Const(-last[w]))?)?;
        let mut draft = draft
            .with((from_start.floor_mod(&Expr::Const(window.step.abs()))?, 0, 0))
            .with((first.clone(), 0, time.n - 1))
            .with((high.sub(&first)?, 1, time.n))
            .with((hop.sub(&low)?, 0, time.n));
        if let Some(later) = later(last).filter(|&later| later < 0 && !may_stay) {
            let far = i128::from(time.n) + i128::from(later.unsigned_abs());
            draft = draft.with((sum(&hop, -1, &low, later)?, fits(-far)?, -1));
        }
        found.push(draft.piece(reason.as_ref())?);
    }
    Ok(Some(found))
}

/// Whether the written elements hop by each of the vectors that stays in the array.
fn has_hops(
    time: &Timeline,
    leaf: Leaf,
    window: &Window,
    bounds: &[Bounds],
    vectors: &[Vector],
    hops: &[Map],
) -> Result<bool> {
    let (n, straight) = (bounds.len(), vec![false; bounds.len()]);
    for v in vectors {
        let draft = Draft::new(time, leaf, &straight, nothing(n), Some(v))?.from(bounds).in_array();
        let written = sum(&draft.source[window.dim], -window.step, &dim(n), 0)?;
        let draft = draft.with((written, window.start, window.start));
        let results = draft.results()?.into_iter().chain([dim(n)]).collect();
        let hop = map(&time.bounds_with(leaf, time.n), &[], results, draft.constraints).simplify(KEEP_POINTS);
        if !covers(hops, &[hop]) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// One or more hops, where few can follow each other.
fn few_hops(time: &Timeline, leaf: Leaf, staying: &[Piece], hops: &[&Map]) -> Result<Option<Vec<Piece>>> {
    let n = time.sizes[leaf].len();
    // From (element, clock, last clock) by staying to (element, any clock, last clock), and by a hop.
    let through = |m: &Map| -> Result<Map> {
        let any = m.domain().n_ranges as u32;
        let mut ranges: Vec<Variable> = m.domain().ranges().to_vec();
        ranges.push(Variable::new(Interval::new(0, time.n)));
        let is_last = |v: Var| v.kind == VarKind::Dim && v.index as usize == n + 1;
        let replace = |v: Var| Ok(if is_last(v) { Expr::range(any) } else { Expr::Var(v) });
        let moved = substituted(m, m.domain().dims(), &ranges, &replace)?;
        Ok(with_results(&moved, moved.results().iter().cloned().chain([dim(n + 1)]).collect()))
    };
    let hop = |m: &&Map| {
        let m = with_dim(m, time.n);
        with_results(&m, m.results().iter().cloned().chain([dim(n + 1)]).collect())
    };
    let through = staying.iter().map(|piece| through(&piece.map)).collect::<Result<Vec<_>>>()?;
    let hops: Vec<Map> = hops.iter().map(hop).collect();
    let staying: Vec<Map> = staying.iter().map(|piece| piece.map.clone()).collect();
    let (mut paths, mut found) = (through.clone(), Vec::new());
    for _ in 0..=MAX_HOPS {
        let hopped = composed(&paths, &hops)?;
        if hopped.is_empty() {
            return Ok(Some(found));
        }
        found.extend(composed(&hopped, &staying)?.into_iter().map(|map| Piece { map, reason: None }));
        paths = composed(&hopped, &through)?;
        if found.len().max(paths.len()) > MAX_LOOP_MAPS {
            break;
        }
    }
    Ok(None)
}

fn composed(first: &[Map], second: &[Map]) -> Result<Vec<Map>> {
    let mut found = Vec::new();
    for m in first {
        for k in second {
            poll();
            let both = simplest(&m.then(k)?);
            if both.state() != State::Empty && !both.is_empty().is_yes() {
                found.push(both);
            }
        }
    }
    Ok(distinct(found))
}
