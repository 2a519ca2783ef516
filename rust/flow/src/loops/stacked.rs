//! Groups of one leaf of which every iteration writes another window: stacked arrays, and cumulative sums.

use quasiaffine::map::State;
use quasiaffine::{simplify, Expr, Map, Result};

use super::build::{dim, dims, fits, map, sum, with_constraint, Bounded, KEEP_POINTS};
use super::forms::inside;
use super::unions::{covers, keep_time, same_elements};
use super::{Edge, Group, Kind, Leaf, LoopMaps, Piece, Timeline, Window};

/// A leaf that keeps its elements but for a window, which is another one in every iteration.
pub(super) fn close_window(maps: &LoopMaps, group: &mut Group, window: Window) -> Result<bool> {
    let (time, leaf) = (&maps.time, group.leaves[0]);
    let edges: Vec<&Edge> = inside(maps, &group.leaves).into_iter().map(|(_, e)| e).collect();
    let is_plain = edges.iter().all(|e| e.reason.is_none() && e.map.domain().n_runtime() == 0);
    if !is_plain || !window.is_disjoint() || time.n < 1 {
        return Ok(false);
    }
    let outside = outside(time, leaf, &window)?;
    let kept: Vec<Map> = edges.iter().map(|e| keep_time(&e.map)).collect();
    if !same_elements(&kept, &outside) {
        return close_chain(time, group, &window, &kept, &outside);
    }
    group.pieces.insert((leaf, leaf), unwritten(time, leaf, &window)?);
    (group.kind, group.window) = (Kind::Stacked, Some(window));
    Ok(true)
}

/// A number that no distance between elements and windows exceeds.
fn far(time: &Timeline, leaf: Leaf, window: &Window, more: i64) -> Result<i64> {
    let size = i128::from(time.sizes[leaf][window.dim]);
    let moved = i128::from(window.step.unsigned_abs()) * i128::from(time.n);
    fits(size + moved + i128::from(window.start.unsigned_abs()) + i128::from(window.size) + i128::from(more))
}

/// The elements that no iteration between two clocks writes.
fn unwritten(time: &Timeline, leaf: Leaf, window: &Window) -> Result<Vec<Piece>> {
    let clocks = time.clocks(leaf)?;
    let at = dim(window.dim);
    let (a, b, w) = (window.step, window.start, window.size);
    let (low, high) = if time.backward { (&clocks.q, &clocks.p) } else { (&clocks.p, &clocks.q) };
    let far = far(time, leaf, window, 0)?;
    let (after, before) = (sum(&at, -a, high, 0)?, sum(&at, -a, low, 0)?);
    let mut choices: Vec<Bounded> = match a > 0 {
        true => vec![(after, b, far), (before, -far, b - 1)],
        false => vec![(after, -far, b + w - 1), (before, b + w, far)],
    };
    if w < a.abs() {
        choices.push((sum(&at, 0, &at, -b)?.floor_mod(&Expr::Const(a.abs()))?, w, a.abs() - 1));
    }
    for &(i, first, last) in &window.fixed {
        choices.extend([(dim(i), 0, first - 1), (dim(i), last + 1, time.sizes[leaf][i] - 1)]);
    }
    let piece = |choice: Bounded| {
        let results = dims(clocks.rank).chain([clocks.q.clone()]).collect();
        let constraints = vec![(clocks.passed.clone(), 0, time.n), choice];
        Piece { map: map(&clocks.dims, &[], results, constraints), reason: None }
    };
    Ok(choices.into_iter().filter(|(_, lo, hi)| lo <= hi).map(piece).collect())
}

/// A leaf of which every iteration writes one element from one at a constant distance, as a cumulative sum.
///
/// The written element may also read itself.
fn close_chain(time: &Timeline, group: &mut Group, window: &Window, kept: &[Map], outside: &[Map]) -> Result<bool> {
    let leaf = group.leaves[0];
    let (sizes, n) = (&time.sizes[leaf], time.sizes[leaf].len());
    let bounds = time.bounds_with(leaf, time.n);
    let identity = map(&bounds, &[], dims(n + 1).collect(), Vec::new());
    let (stays, others): (Vec<Map>, Vec<Map>) =
        kept.iter().cloned().partition(|m| m.results().iter().cloned().eq(dims(n + 1)));
    let hops: Vec<Map> =
        others.into_iter().filter(|m| !covers(std::slice::from_ref(&identity), std::slice::from_ref(m))).collect();
    let mut distances = hops.iter().map(|m| distance_of(time, m, window)).collect::<Result<Vec<_>>>()?;
    distances.dedup();
    let [Some(distance)] = distances[..] else { return Ok(false) };
    let has_ranges = kept.iter().any(|m| m.domain().n_ranges > 0);
    if window.size != 1 || !window.fixed.is_empty() || distance == 0 || has_ranges {
        return Ok(false);
    }
    let itself = covers(&stays, std::slice::from_ref(&identity));
    if !itself && !same_elements(&stays, outside) {
        return Ok(false);
    }
    // Backward the first element is the written one, forward the last.
    let at = dim(window.dim);
    let by = if time.backward { distance } else { -distance };
    let moved = at.add(&Expr::Const(by))?;
    let written = if time.backward { &at } else { &moved };
    let results = dims(n + 1).enumerate().map(|(i, e)| if i == window.dim { moved.clone() } else { e }).collect();
    let constraints = vec![
        (sum(written, -window.step, &dim(n), 0)?, window.start, window.start),
        (moved.clone(), 0, sizes[window.dim] - 1),
    ];
    let hop = [map(&bounds, &[], results, constraints)];
    if !same_elements(&hops, &hop) {
        return Ok(false);
    }
    let mut pieces = if itself { vec![time.whole(leaf)?] } else { unwritten(time, leaf, window)? };
    pieces.push(chain(time, leaf, window, distance, itself)?);
    group.kind = Kind::Recurrence;
    group.pieces.insert((leaf, leaf), pieces);
    Ok(true)
}

/// How far from the element that an iteration writes the one is that it reads.
fn distance_of(time: &Timeline, m: &Map, window: &Window) -> Result<Option<i64>> {
    let values = m.bounds(&m.results()[window.dim].sub(&dim(window.dim))?)?;
    Ok(values.as_point().map(|by| if time.backward { by } else { -by }))
}

/// One or more iterations that each read the element at a distance from the one that they write.
fn chain(time: &Timeline, leaf: Leaf, window: &Window, distance: i64, itself: bool) -> Result<Piece> {
    let clocks = time.clocks(leaf)?;
    let (a, b, size, k) = (window.step, window.start, time.sizes[leaf][window.dim], Expr::range(0));
    let is_on_lattice = distance % a == 0;
    // From one such iteration to the next one backward.
    let later = if is_on_lattice { distance / a } else { 0 };
    let several = is_on_lattice && later < 0;
    // Backward the first of them writes the element, forward it reads it.
    let own = dim(window.dim);
    let at = own.add(&Expr::Const(if time.backward { 0 } else { -distance }))?;
    let from_start = at.add(&Expr::Const(-b))?;
    let first = from_start.scale(a.signum())?.floor_div(&Expr::Const(a.abs()))?;
    let back = if time.backward { later } else { -later };
    let last = sum(&first, back, &k, -back)?;
    let moved = sum(&own, if time.backward { distance } else { -distance }, &k, 0)?;
    let twice = 2 * i128::from(time.n);
    let far = fits(twice + i128::from(size) + i128::from(distance.unsigned_abs()) + i128::from(b.unsigned_abs()))?;
    let (p, q) = (&clocks.p, &clocks.q);
    let mut constraints: Vec<Bounded> = vec![
        (from_start.floor_mod(&Expr::Const(a.abs()))?, 0, 0),
        (first.clone(), 0, time.n - 1),
        (moved.clone(), 0, size - 1),
    ];
    if time.backward {
        constraints.extend([(p.sub(&first)?, 1, time.n), (last.sub(q)?, 0, time.n)]);
    } else {
        constraints.extend([(first.sub(p)?, 0, time.n), (q.sub(&last)?, 1, time.n)]);
    }
    if several && !itself {
        // The element that is not followed further is not written between the clocks.
        let next = if time.backward { sum(&last, -1, q, later)? } else { sum(&first, -1, p, later)? };
        constraints.push((next, -far, -1));
    }
    let results = dims(clocks.rank).enumerate().map(|(i, e)| if i == window.dim { moved.clone() } else { e });
    let results = results.chain([q.clone()]).collect();
    let ranges = [(1, if several { time.n } else { 1 })];
    Ok(Piece { map: map(&clocks.dims, &ranges, results, constraints), reason: None })
}

/// The identity on the elements that iteration t does not write; the last dimension, and result, is t.
fn outside(time: &Timeline, leaf: Leaf, window: &Window) -> Result<Vec<Map>> {
    let n = time.sizes[leaf].len();
    let bounds = time.bounds_with(leaf, time.n);
    let far = far(time, leaf, window, 0)?;
    let mut found = Vec::new();
    for choice in choices_outside(window, &dims(n + 1).collect::<Vec<_>>(), n, far)? {
        if choice.1 <= choice.2 {
            let m = simplify(&map(&bounds, &[], dims(n + 1).collect(), vec![choice]), KEEP_POINTS);
            found.extend((m.state() == State::Defined).then_some(m));
        }
    }
    Ok(found)
}

/// The conditions of which one holds for an element that iteration `d{time}` does not write.
fn choices_outside(window: &Window, at: &[Expr], time: usize, far: i64) -> Result<Vec<Bounded>> {
    let distance = sum(&at[window.dim], -window.step, &dim(time), -window.start)?;
    let mut choices = vec![(distance.clone(), -far, -1), (distance, window.size, far)];
    for &(i, first, last) in &window.fixed {
        choices.extend([(at[i].clone(), -far, first - 1), (at[i].clone(), last + 1, far)]);
    }
    Ok(choices)
}

/// Whether an edge relates only elements of the window: backward its first elements, forward the last ones.
pub(super) fn is_within(time: &Timeline, m: &Map, window: &Window) -> Result<bool> {
    let t = m.domain().n_dims - 1;
    let at: Vec<Expr> = if time.backward { dims(t).collect() } else { m.results().to_vec() };
    for outside in choices_outside(window, &at, t, i64::MAX / 4)? {
        if quasiaffine::is_empty(&with_constraint(m, outside)) != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The one iteration in whose window an index may lie.
pub(super) fn iteration_of(window: &Window, at: &Expr) -> Result<Expr> {
    if window.step > 0 {
        return at.add(&Expr::Const(-window.start))?.floor_div(&Expr::Const(window.step));
    }
    let from_end = fits(i128::from(window.start) + i128::from(window.size) - 1)?;
    Expr::Const(from_end).sub(at)?.floor_div(&Expr::Const(-window.step))
}
