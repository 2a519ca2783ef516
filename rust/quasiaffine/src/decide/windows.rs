//! Counts the elements of a union of boxes whose edges move with runtime variables, like those of a window.
//!
//! Between neighbouring values of a runtime variable at which edges meet, the order of the edges is fixed, so that
//! every length is linear in the variable. A variable moves the edges of one coordinate alone; the number of points,
//! and the size of the union, are then linear in each variable, and take their extremes where edges meet.

use crate::affine::context::{AffineContext, Budget};
use crate::decide::count::Count;
use crate::domain::Source;
use crate::expr::Expr;
use crate::limits::{PIECES, TOTAL_EFFORT};
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::span::Interval;

/// `constant + factor * (value of a runtime variable)`
#[derive(Clone, Copy)]
struct Edge {
    constant: i128,
    moves: Option<(usize, i128)>,
}

impl Edge {
    const fn fixed(constant: i128) -> Edge {
        Edge { constant, moves: None }
    }

    /// The sum, if one runtime variable moves it.
    fn plus(self, other: Edge) -> Option<Edge> {
        let moves = match (self.moves, other.moves) {
            (Some((a, f)), Some((b, g))) if a == b => Some((a, f + g)).filter(|m| m.1 != 0),
            (Some(_), Some(_)) => return None,
            (a, b) => a.or(b),
        };
        Some(Edge { constant: self.constant + other.constant, moves })
    }

    fn negated(self) -> Edge {
        Edge { constant: -self.constant, moves: self.moves.map(|(r, f)| (r, -f)) }
    }

    fn at(self, values: &[i128]) -> i128 {
        self.constant + self.moves.map_or(0, |(r, f)| f * values[r])
    }
}

/// `max(lower) <= x <= min(upper)`
#[derive(Clone)]
struct Sides {
    lower: Vec<Edge>,
    upper: Vec<Edge>,
}

impl Sides {
    fn fixed(lower: i128, upper: i128) -> Sides {
        Sides { lower: vec![Edge::fixed(lower)], upper: vec![Edge::fixed(upper)] }
    }

    /// The edges at which the values begin and end.
    fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.lower.iter().copied().chain(self.upper.iter().map(|e| Edge { constant: e.constant + 1, ..*e }))
    }

    /// The first value, and one more than the last.
    fn at(&self, values: &[i128]) -> (i128, i128) {
        let lower = self.lower.iter().map(|e| e.at(values)).max().unwrap_or(0);
        let upper = self.upper.iter().map(|e| e.at(values)).min().unwrap_or(0);
        (lower, lower.max(upper + 1))
    }
}

/// A runtime variable that is one number: a value of the source, clamped to the interval.
struct Moving {
    source: Source,
    interval: Interval,
    /// Values at which the slope of a count may change.
    corners: Vec<i128>,
}

/// A map whose domain and image are boxes for all values of its runtime variables.
struct Window {
    domain: Vec<Sides>,
    image: Vec<Sides>,
    /// Values of runtime variables outside which the domain is empty.
    gates: Vec<(usize, i128, i128)>,
}

/// Bounds that are attained on the number of points of all maps together, and on the number of distinct elements of
/// their target, over all values of the runtime variables. `None` unless domains and images are boxes whose edges move
/// with one runtime variable each.
///
/// ```
/// use quasiaffine::{count_windows, Count, Map};
/// let map = |place| format!("(d0){{rt0}} -> (d0), domain: d0 in [0, 9], rt0 in [0, 7], {place}, runtime: rt0 = #1()");
/// let below: Map = map("d0 - rt0 in [-7, -1]").parse()?;
/// let above: Map = map("d0 - rt0 in [3, 9]").parse()?;
/// assert_eq!(count_windows(&[&below, &above]), Some((Count::exact(7), Count::exact(7))));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
pub fn count_windows(maps: &[&Map]) -> Option<(Count, Count)> {
    let mut meter = Meter::new(TOTAL_EFFORT);
    let mut moving: Vec<Moving> = Vec::new();
    let mut windows = Vec::new();
    for map in maps {
        match map.state() {
            State::Empty => {}
            State::Undefined => return None,
            State::Defined => windows.push(read(map, &mut moving, &mut meter)?),
        }
    }
    for window in &windows {
        for &(r, lo, hi) in &window.gates {
            moving[r].corners.extend([lo - 1, lo, hi, hi + 1]);
        }
        // A number of points is linear in a variable that moves one of its factors.
        meet(&window.domain.iter().map(|s| s.edges().collect()).collect::<Vec<_>>(), &mut moving, &mut meter)?;
    }
    let rank = windows.first().map_or(0, |w| w.image.len());
    if windows.iter().any(|w| w.image.len() != rank) {
        return None;
    }
    let coordinate = |j: usize| windows.iter().flat_map(|w| w.image[j].edges()).collect();
    meet(&(0..rank).map(coordinate).collect::<Vec<Vec<Edge>>>(), &mut moving, &mut meter)?;
    let mut n_corners = windows.len().max(1);
    for variable in &mut moving {
        let (lo, hi) = (i128::from(variable.interval.lo), i128::from(variable.interval.hi));
        variable.corners.extend([lo, hi]);
        variable.corners.retain(|v| (lo..=hi).contains(v));
        variable.corners.sort_unstable();
        variable.corners.dedup();
        n_corners = n_corners.checked_mul(variable.corners.len()).filter(|&n| n <= PIECES)?;
    }
    let mut found: Option<(Count, Count)> = None;
    let mut at = vec![0; moving.len()];
    loop {
        let values: Vec<i128> = at.iter().zip(&moving).map(|(&k, v)| v.corners[k]).collect();
        let (points, elements) = count_at(&windows, &values, &mut meter)?;
        let with = |c: Count, n| Count { lower: c.lower.min(n), upper: c.upper.max(n) };
        found = Some(match found {
            None => (Count::exact(points), Count::exact(elements)),
            Some((a, b)) => (with(a, points), with(b, elements)),
        });
        let Some(r) = (0..at.len()).find(|&r| at[r] + 1 < moving[r].corners.len()) else { return found };
        at[r] += 1;
        at[..r].fill(0);
    }
}

fn read(map: &Map, moving: &mut Vec<Moving>, meter: &mut Meter) -> Option<Window> {
    let budget = Budget { meter: meter.take(), trace: None };
    let mut cx = AffineContext::without_facts(map.domain(), Options::default(), budget);
    let window = read_with(&mut cx, map, moving);
    *meter = cx.budget.meter;
    window
}

fn read_with(cx: &mut AffineContext, map: &Map, moving: &mut Vec<Moving>) -> Option<Window> {
    let domain = map.domain();
    let n_points = domain.n_dims + domain.n_ranges;
    let mut runtime = Vec::new();
    for v in &domain.vars[n_points..] {
        let source = v.source.as_deref().filter(|_| v.is_fixed())?;
        let is_same = |m: &Moving| m.source == *source && m.interval == v.interval;
        runtime.push(moving.iter().position(is_same).unwrap_or_else(|| {
            moving.push(Moving { source: source.clone(), interval: v.interval, corners: Vec::new() });
            moving.len() - 1
        }));
    }
    // At most one point variable, with its sign, and the rest of the sum.
    let mut split = |e: &Expr| {
        let form = cx.linear(e).ok()?;
        let (mut point, mut rest) = (None, Edge::fixed(i128::from(form.constant)));
        for term in &form.terms {
            let (i, factor) = (term.atom as usize, i128::from(term.coefficient));
            if i < n_points {
                (point.is_none() && factor.abs() == 1).then(|| point = Some((i, factor)))?;
            } else {
                let r = *runtime.get(i - n_points)?;
                rest = rest.plus(Edge { constant: 0, moves: Some((r, factor)) })?;
            }
        }
        Some((point, rest))
    };
    let intervals = domain.vars[..n_points].iter().map(|v| v.interval);
    let mut sides: Vec<Sides> = intervals.map(|v| Sides::fixed(v.lo.into(), v.hi.into())).collect();
    let mut gates = Vec::new();
    for c in &domain.constraints {
        let (point, rest) = split(&c.expr)?;
        let (lo, hi) = (i128::from(c.interval.lo), i128::from(c.interval.hi));
        let Some((i, sign)) = point else {
            let (r, factor) = rest.moves?;
            let (lo, hi) = (lo - rest.constant, hi - rest.constant);
            // lo <= factor * value <= hi
            let (lo, hi, factor) = if factor > 0 { (lo, hi, factor) } else { (-hi, -lo, -factor) };
            gates.push((r, -(-lo).div_euclid(factor), hi.div_euclid(factor)));
            continue;
        };
        // lo - rest <= sign * x <= hi - rest
        let bound = |end: i128| Edge::fixed(end).plus(rest.negated());
        let (lower, upper) = (bound(lo)?, bound(hi)?);
        let (lower, upper) = if sign > 0 { (lower, upper) } else { (upper.negated(), lower.negated()) };
        sides[i].lower.push(lower);
        sides[i].upper.push(upper);
    }
    let mut is_used = vec![false; n_points];
    let mut image = Vec::new();
    for e in map.results() {
        let (point, rest) = split(e)?;
        let Some((i, sign)) = point else {
            image.push(Sides { lower: vec![rest], upper: vec![rest] });
            continue;
        };
        if std::mem::replace(&mut is_used[i], true) {
            return None;
        }
        let moved = |edges: &[Edge]| {
            edges.iter().map(|&e| if sign > 0 { e } else { e.negated() }.plus(rest)).collect::<Option<Vec<_>>>()
        };
        let (lower, upper) = (moved(&sides[i].lower)?, moved(&sides[i].upper)?);
        image.push(if sign > 0 { Sides { lower, upper } } else { Sides { lower: upper, upper: lower } });
    }
    Some(Window { domain: sides, image, gates })
}

/// Adds the values at which two edges of a coordinate meet. `None` if two variables move a coordinate, or one moves two.
fn meet(coordinates: &[Vec<Edge>], moving: &mut [Moving], meter: &mut Meter) -> Option<()> {
    let mut is_used = vec![false; moving.len()];
    for edges in coordinates {
        let Some((r, _)) = edges.iter().find_map(|e| e.moves) else { continue };
        if edges.iter().any(|e| e.moves.is_some_and(|m| m.0 != r)) || std::mem::replace(&mut is_used[r], true) {
            return None;
        }
        let factor = |e: &Edge| e.moves.map_or(0, |m| m.1);
        for (k, a) in edges.iter().enumerate() {
            meter.spend(edges.len()).ok()?;
            for b in &edges[k + 1..] {
                let slope = factor(a) - factor(b);
                if slope != 0 {
                    let value = (b.constant - a.constant).div_euclid(slope);
                    moving[r].corners.extend([value, value + 1, value - 1]);
                }
            }
        }
    }
    Some(())
}

/// The points of all windows, and the elements of the union of their images.
fn count_at(windows: &[Window], values: &[i128], meter: &mut Meter) -> Option<(u128, u128)> {
    let (mut points, mut boxes) = (0u128, Vec::new());
    for window in windows {
        meter.spend(window.domain.len() + window.image.len()).ok()?;
        if window.gates.iter().any(|&(r, lo, hi)| !(lo..=hi).contains(&values[r])) {
            continue;
        }
        let length = |sides: &Sides| {
            let (lower, upper) = sides.at(values);
            u128::try_from(upper - lower).ok()
        };
        let n = window.domain.iter().try_fold(1u128, |n, sides| n.checked_mul(length(sides)?))?;
        points = points.checked_add(n)?;
        if n > 0 {
            boxes.push(window.image.iter().map(|sides| sides.at(values)).collect());
        }
    }
    let boxes: Vec<&Vec<(i128, i128)>> = boxes.iter().collect();
    Some((points, union_size(&boxes, 0, meter)?))
}

/// The size of a union of boxes, in slabs between the ends along one dimension. `None` once the effort is spent.
fn union_size(boxes: &[&Vec<(i128, i128)>], dim: usize, meter: &mut Meter) -> Option<u128> {
    let Some(first) = boxes.first() else { return Some(0) };
    if dim == first.len() {
        return Some(1);
    }
    let mut cuts: Vec<i128> = boxes.iter().flat_map(|b| [b[dim].0, b[dim].1]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut total = 0u128;
    for slab in cuts.windows(2) {
        meter.spend(boxes.len()).ok()?;
        let inside: Vec<_> = boxes.iter().filter(|b| b[dim].0 <= slab[0] && slab[1] <= b[dim].1).copied().collect();
        let n = union_size(&inside, dim + 1, meter)?;
        total = total.checked_add(n.checked_mul(u128::try_from(slab[1] - slab[0]).ok()?)?)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::n_steps;

    /// Both counts of maps, one on each line, compared with those of each value of the runtime variable.
    fn counts(text: &str) -> Option<(Count, Count)> {
        let maps: Vec<Map> = text.lines().map(|line| line.trim().parse().unwrap()).collect();
        count_windows(&maps.iter().collect::<Vec<_>>())
    }

    fn between(lower: u128, upper: u128) -> Count {
        Count { lower, upper }
    }

    const OFFSET: &str = "rt0 in [0, 6], runtime: rt0 = #1()";

    #[test]
    fn a_window_inside_is_as_large_wherever_it_is() {
        let inside = format!(
            "(d0, d1){{rt0}} -> (d0 - rt0, d1), domain: d0 in [0, 9], d1 in [0, 4], d0 - rt0 in [0, 3], {OFFSET}"
        );
        assert_eq!(counts(&inside), Some((Count::exact(20), Count::exact(20))));
        // At 6 it has three rows.
        let outside = inside.replace("[0, 9]", "[0, 8]");
        assert_eq!(counts(&outside), Some((between(15, 20), between(15, 20))));
    }

    #[test]
    fn unions_are_counted_once() {
        let windows = format!(
            "(d0){{rt0}} -> (d0 + rt0), domain: d0 in [0, 3], {OFFSET}
             (d0) -> (d0), domain: d0 in [2, 4]"
        );
        // Apart at 6, where 7 elements are read; 5 where the fixed one lies inside.
        assert_eq!(counts(&windows), Some((Count::exact(7), between(4, 7))));
    }

    #[test]
    fn a_clamped_number_differs_by_its_interval() {
        let rows = "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 1], rt0 in [0, 2], runtime: rt0 = #1()";
        // The same value is at most 1 here: not the same number.
        assert_eq!(counts(&format!("{rows}\n{}", rows.replace("[0, 2]", "[0, 1]"))), None);
        let gated = "(d0){rt0} -> (d0), domain: d0 in [0, 4], rt0 in [0, 9], rt0 * 2 in [3, 7], runtime: rt0 = #1()";
        assert_eq!(counts(gated), Some((between(0, 5), between(0, 5))));
        let always = gated.replace("[3, 7]", "[0, 18]");
        assert_eq!(counts(&always), Some((Count::exact(5), Count::exact(5))));
    }

    #[test]
    fn a_reversed_window() {
        let reversed = format!("(d0){{rt0}} -> (7 - d0), domain: d0 in [0, 9], rt0 - d0 in [-2, 0], {OFFSET}");
        assert_eq!(counts(&reversed), Some((Count::exact(3), Count::exact(3))));
    }

    #[test]
    fn other_maps_have_no_count() {
        for text in [
            "(d0) -> (d0 floordiv 2), domain: d0 in [0, 9]",
            "(d0, d1) -> (d0 + d1), domain: d0 in [0, 9], d1 in [0, 3]",
            "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 9], rt0 in [0, 3], runtime: rt0 = #1(d0)",
            "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 9], rt0 in [0, 3]",
            // One variable moves two dimensions: the product has its extreme between the ends.
            "(d0, d1){rt0} -> (d0, d1), domain: d0 in [0, 9], d1 in [0, 9], rt0 in [0, 9], d0 - rt0 in [-9, 0], \
             d1 - rt0 in [0, 9], runtime: rt0 = #1()",
        ] {
            assert_eq!(counts(text), None, "{text}");
        }
    }

    #[test]
    fn many_windows_end_within_the_effort() {
        let maps: Vec<Map> = (0..4000)
            .map(|i| {
                let sides = format!("domain: d0 in [0, 9], d0 - rt0 in [0, {}]", 3 + i);
                format!("(d0){{rt0}} -> (d0 - rt0 * {}), {sides}, {OFFSET}", 1 + i).parse().unwrap()
            })
            .collect();
        let before = n_steps();
        assert_eq!(count_windows(&maps.iter().collect::<Vec<_>>()), None);
        assert!(n_steps() - before <= TOTAL_EFFORT >> 12);
    }
}
