//! Groups of one leaf of which every iteration writes another window: stacked arrays.

use quasiaffine::State;
use quasiaffine::{Expr, Map, Result};

use super::build::{dim, dims, fits, map, sum, with_constraint, Bounded, KEEP_POINTS};
use super::hops::close_hops;
use super::unions::{keep_time, same_elements};
use super::{Edge, Group, Kind, Leaf, Piece, Timeline, Window};

/// A leaf that keeps its elements but for a window, which is another one in every iteration.
pub(super) fn close_window(
    time: &Timeline,
    group: &mut Group,
    edges: &[&Edge],
    window: Option<Window>,
) -> Result<bool> {
    let leaf = group.leaves[0];
    let is_plain = edges.iter().all(|e| e.reason.is_none() && e.map.domain().n_runtime() == 0);
    if !is_plain || time.n < 1 {
        return Ok(false);
    }
    let kept: Vec<Map> = edges.iter().map(|e| keep_time(&e.map)).collect();
    if let Some(window) = window.as_ref().filter(|window| window.is_disjoint()) {
        if same_elements(&kept, &outside(time, leaf, std::slice::from_ref(window))?) {
            group.pieces.insert((leaf, leaf), unwritten(time, leaf, std::slice::from_ref(window))?);
            (group.kind, group.window) = (Kind::Stacked, Some(window.clone()));
            return Ok(true);
        }
    }
    close_hops(time, group, edges, &kept, window)
}

/// A number that no distance between elements and windows exceeds.
fn far(time: &Timeline, leaf: Leaf, window: &Window, more: i64) -> Result<i64> {
    let size = i128::from(time.sizes[leaf][window.dim]);
    let moved = i128::from(window.step.unsigned_abs()) * i128::from(time.n);
    fits(size + moved + i128::from(window.start.unsigned_abs()) + i128::from(window.size) + i128::from(more))
}

/// The elements that no iteration between two clocks writes.
pub(super) fn unwritten(time: &Timeline, leaf: Leaf, windows: &[Window]) -> Result<Vec<Piece>> {
    let clocks = time.clocks(leaf)?;
    let (low, high) = if time.backward { (&clocks.q, &clocks.p) } else { (&clocks.p, &clocks.q) };
    let mut choices = Vec::new();
    for window in windows {
        let at = dim(window.dim);
        let (a, b, w) = (window.step, window.start, window.size);
        let far = far(time, leaf, window, 0)?;
        let (after, before) = (sum(&at, -a, high, 0)?, sum(&at, -a, low, 0)?);
        let mut own: Vec<Bounded> = match a > 0 {
            true => vec![(after, b + (w - a).max(0), far), (before, -far, b - 1)],
            false => vec![(after, -far, b + w - 1 - (w + a).max(0)), (before, b + w, far)],
        };
        if w < a.abs() {
            // Between the windows.
            own.push((sum(&at, 0, &at, -b)?.floor_mod(&Expr::Const(a.abs()))?, w, a.abs() - 1));
        }
        if w > a.abs() {
            // Before and after overlap else, so that one of them holds where no iteration passes.
            own.push((clocks.passed.clone(), 0, 0));
        }
        for &(i, first, last) in &window.fixed {
            own.extend([(dim(i), 0, first - 1), (dim(i), last + 1, time.sizes[leaf][i] - 1)]);
        }
        choices.push(own);
    }
    let piece = |conditions: Vec<Bounded>| {
        let results = dims(clocks.rank).chain([clocks.q.clone()]).collect();
        let constraints = [vec![(clocks.passed.clone(), 0, time.n)], conditions].concat();
        Piece { map: map(&clocks.dims, &[], results, constraints), reason: None }
    };
    Ok(one_of_each(choices).into_iter().map(piece).filter(|piece| piece.map.state() == State::Defined).collect())
}

/// The identity on the elements that iteration t does not write; the last dimension, and result, is t.
pub(super) fn outside(time: &Timeline, leaf: Leaf, windows: &[Window]) -> Result<Vec<Map>> {
    let n = time.sizes[leaf].len();
    let (bounds, at) = (time.bounds_with(leaf, time.n), dims(n + 1).collect::<Vec<_>>());
    let choices = |window| choices_outside(window, &at, n, far(time, leaf, window, 0)?);
    let choices = windows.iter().map(choices).collect::<Result<Vec<_>>>()?;
    let piece = |conditions| map(&bounds, &[], dims(n + 1).collect(), conditions).simplify(KEEP_POINTS);
    Ok(one_of_each(choices).into_iter().map(piece).filter(|m| m.state() == State::Defined).collect())
}

/// All ways to take one condition of each list, without those that never hold.
fn one_of_each(lists: Vec<Vec<Bounded>>) -> Vec<Vec<Bounded>> {
    let longer = |found: Vec<Vec<Bounded>>, list: Vec<Bounded>| {
        let with = |own: &Vec<Bounded>| {
            let holding = list.iter().filter(|(_, lo, hi)| lo <= hi);
            holding.map(|condition| [&own[..], std::slice::from_ref(condition)].concat()).collect::<Vec<_>>()
        };
        found.iter().flat_map(with).collect()
    };
    lists.into_iter().fold(vec![Vec::new()], longer)
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
        if !with_constraint(m, outside).is_empty().is_yes() {
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
