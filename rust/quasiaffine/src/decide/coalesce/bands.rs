//! Joining maps that fill a band: at each value of one dim, the numbers that one result runs over are an interval
//! between lines.
//!
//! The pieces of a triangle cut by powers of two, as in a parallel scan, do not join in pairs. Maps that agree in all
//! but one dim and one result, with these two independent of all else, are read row by row: at each value of the dim
//! the result runs over the steps of each piece. If these leave no gap, and their ends are those of lines within a box
//! in every row, the band is the union. Every row is checked, so this is a proof; it ends at the first row with a gap.

use smallvec::SmallVec;

use super::groups::{grouped, Shape};
use super::Coalesced;
use crate::domain::Constraint;
use crate::eval::points::value_at;
use crate::expr::{Expr, Kind, Var};
use crate::int::{ceil_div, floor_div, floor_mod, gcd};
use crate::limits::{EFFORT, VALUES};
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::simplify::simplify_by;
use crate::span::Interval;

/// The other joins handle unions of two maps.
const FEWEST: usize = 3;

/// A map, with one dim and one result taken out.
struct Piece {
    item: Coalesced,
    rest: Map,
    rows: Interval,
    /// The result is `factor * x + base` for the integers `x` in `values`.
    factor: i64,
    base: Expr,
    values: Interval,
    /// `k * x + e` lies in the interval.
    bounds: Vec<(i64, Expr, Interval)>,
    /// The cost of examining one row.
    nodes: usize,
}

/// The numbers `first + step * i` for `0 <= i < n`.
struct Steps {
    first: i64,
    step: i64,
    n: i64,
}

/// `factor * y <= slope * d + constant`
struct Line {
    factor: i64,
    slope: i64,
    constant: i64,
}

/// Joins maps that differ in one dim and one result and together form a band.
pub(super) fn join_bands(items: Vec<Coalesced>, options: Options, meter: &mut Meter) -> Vec<Coalesced> {
    meter.part(EFFORT, |own| join_bands_by(items, options, own))
}

fn join_bands_by(mut items: Vec<Coalesced>, options: Options, meter: &mut Meter) -> Vec<Coalesced> {
    let most = |of: fn(&Map) -> usize| items.iter().map(|item| of(&item.map)).max().unwrap_or(0);
    let (n_dims, n_results) = (most(|m| m.domain().n_dims), most(|m| m.results().len()));
    for (dim, result) in (0..n_results).flat_map(|result| (0..n_dims).map(move |dim| (dim, result))) {
        let is_one = |item: &Coalesced| own_range(&item.map, dim, result).is_some();
        if items.iter().filter(|item| is_one(item)).count() < FEWEST {
            continue;
        }
        let mut out = Vec::new();
        let mut pieces = Vec::new();
        for item in items {
            match Piece::of(&item, dim, result) {
                Some((key, piece)) => pieces.push((key, piece)),
                None => out.push(item),
            }
        }
        for group in grouped(pieces) {
            match band(&group, dim, result, meter).map(|map| simplify_by(&map, options, meter)) {
                Some(map) if map.state() == State::Defined => {
                    let mut whole = Coalesced { map, parts: Vec::new() };
                    group.into_iter().for_each(|piece| whole.absorb(piece.item.parts));
                    out.push(whole);
                }
                _ => out.extend(group.into_iter().map(|piece| piece.item)),
            }
        }
        items = out;
    }
    items.sort_by_key(|item| item.parts[0]);
    items
}

/// The range that only this result uses, if it has one. The outer `None`: dim and result are not independent of all
/// else.
fn own_range(map: &Map, dim: usize, result: usize) -> Option<Option<Var>> {
    let domain = map.domain();
    let (e, d) = (map.results().get(result)?, Expr::dim(dim as u32).first_var()?);
    if dim >= domain.n_dims || domain.n_runtime() > 0 || map.state() != State::Defined {
        return None;
    }
    let mut own = None;
    let mut is_one = true;
    e.for_each_var(&mut |v| match v.kind {
        Kind::Range => is_one &= *own.get_or_insert(v) == v,
        _ => is_one &= v == d,
    });
    let is_own = |v: Var| v == d || Some(v) == own;
    let is_apart = |e: &Expr| !e.any_var(&is_own);
    let is_alone = |e: &Expr| is_apart(e) || !e.any_var(&|v| !is_own(v));
    let others = map.results().iter().enumerate().filter(|(i, _)| *i != result);
    (is_one && domain.constraints.iter().all(|c| is_alone(&c.expr)) && others.into_iter().all(|(_, e)| is_apart(e)))
        .then_some(own)
}

impl Piece {
    fn of(item: &Coalesced, dim: usize, result: usize) -> Option<(Shape, Piece)> {
        let map = &item.map;
        let own = own_range(map, dim, result)?;
        let (e, d) = (&map.results()[result], Expr::dim(dim as u32).first_var()?);
        let (factor, base) = match own {
            Some(s) => e.split(s).filter(|(k, base)| *k != 0 && !base.has_var(s))?,
            None => (1, e.clone()),
        };
        let mut domain = map.domain().clone();
        let (mut bounds, mut others) = (Vec::new(), Vec::new());
        for c in std::mem::take(&mut domain.constraints) {
            match own.filter(|s| c.expr.has_var(*s)) {
                Some(s) => {
                    let (k, e) = c.expr.split(s).filter(|(k, e)| *k != 0 && !e.has_var(s))?;
                    bounds.push((k, e, c.interval));
                }
                None if c.expr.has_var(d) => bounds.push((0, c.expr, c.interval)),
                None => others.push(c),
            }
        }
        domain.constraints = others;
        let at = own.map(|s| domain.n_dims + s.index as usize);
        let values = at.map_or(Interval::point(0), |at| domain.vars[at].interval);
        let rows = domain.vars[dim].interval;
        let results = map.results().iter().enumerate().filter(|(i, _)| *i != result).map(|(_, e)| e.clone()).collect();
        let order: Vec<usize> = (0..domain.vars.len()).filter(|flat| Some(*flat) != at).collect();
        let (n_dims, n_ranges) = (domain.n_dims, domain.n_ranges - usize::from(at.is_some()));
        let rest = Map::from_parts(domain, results).reordered(&order, n_dims, n_ranges).ok()?;
        let nodes = bounds.iter().map(|(_, e, _)| e.nodes()).sum::<u32>() + base.nodes() + 1;
        let key = Shape::new(&rest, Some(dim), rest.results().into());
        let item = item.clone();
        Some((key, Piece { item, rest, rows, factor, base, values, bounds, nodes: nodes as usize }))
    }

    /// The numbers at one value of the dim, if there are any.
    fn at(&self, d: i64) -> Option<Option<Steps>> {
        let mut x = self.values;
        if !self.rows.contains(d) {
            return Some(None);
        }
        for (k, e, interval) in &self.bounds {
            let e = value_at(e, &|_| d)?;
            let (lo, hi) = (interval.lo.checked_sub(e), interval.hi.checked_sub(e));
            x = x.intersect(match k.signum() {
                0 if interval.contains(e) => continue,
                0 => return Some(None),
                1 => Interval::new(ceil_div(lo?, *k), floor_div(hi?, *k)),
                _ => Interval::new(ceil_div(hi?.checked_neg()?, k.checked_neg()?), floor_div(lo?.checked_neg()?, -k)),
            });
            if x.is_empty() {
                return Some(None);
            }
        }
        let end = if self.factor > 0 { x.lo } else { x.hi };
        let first = self.factor.checked_mul(end)?.checked_add(value_at(&self.base, &|_| d)?)?;
        Some(Some(Steps { first, step: self.factor.checked_abs()?, n: i64::try_from(x.size()).ok()? }))
    }
}

/// The band that the pieces form, if they form one.
fn band(pieces: &[Piece], dim: usize, result: usize, meter: &mut Meter) -> Option<Map> {
    if pieces.len() < FEWEST {
        return None;
    }
    let all = pieces.iter().map(|p| p.rows).reduce(Interval::hull)?;
    let at_each = pieces.iter().map(|p| p.nodes).sum::<usize>();
    if all.size().saturating_mul(at_each as u128) > u128::from(meter.left()) {
        return None;
    }
    let (mut first, mut rows) = (all.lo, Vec::new());
    for d in all.lo..=all.hi {
        let steps: Vec<Steps> =
            pieces.iter().map(|p| p.at(d)).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
        meter.spend(at_each).ok()?;
        match (without_gap(&steps, meter)?, rows.is_empty()) {
            (Some(row), _) => rows.push((d, row)),
            (None, true) => first = d.checked_add(1)?,
            (None, false) => {}
        }
    }
    let last = rows.last()?.0;
    // No row between is empty.
    if rows.len() as u128 != Interval::new(first, last).size() {
        return None;
    }
    let whole = rows.iter().map(|(_, row)| *row).reduce(Interval::hull)?;
    let ends = |of: fn(Interval) -> i64| rows.iter().map(|(d, row)| (*d, of(*row))).collect::<Vec<_>>();
    let upper = line(&ends(|row| row.hi))?;
    let lower = match whole.lo {
        i64::MIN => return None,
        _ => line(&ends(|row| -row.lo))?,
    };
    let one = &pieces[0].rest;
    let mut domain = one.domain().clone();
    domain.vars[dim].interval = Interval::new(first, last);
    let own = domain.push_range(whole);
    let d = Expr::dim(dim as u32);
    let of_dim = domain.vars[dim].interval;
    // `slope * d - factor * y` has the values from `-constant` on.
    let above = |slope: i64, factor: i64, constant: i64| {
        let expr = d.scale(slope).ok()?.sub(&own.scale(factor).ok()?).ok()?;
        let end = if slope > 0 { of_dim.hi } else { of_dim.lo };
        let turned = if factor > 0 { whole.lo } else { whole.hi };
        let hi = i128::from(slope) * i128::from(end) - i128::from(factor) * i128::from(turned);
        Some(Constraint { expr, interval: Interval::exact(-i128::from(constant), hi)? })
    };
    let mut constraints = Vec::new();
    match (upper, lower) {
        (Some(a), Some(b)) if a.factor == b.factor && a.slope == -b.slope => {
            let one = above(a.slope, a.factor, a.constant)?;
            constraints.push(Constraint { interval: Interval::new(one.interval.lo, b.constant), ..one });
        }
        (a, b) => {
            if let Some(a) = a {
                constraints.push(above(a.slope, a.factor, a.constant)?);
            }
            if let Some(b) = b {
                constraints.push(above(b.slope, -b.factor, b.constant)?);
            }
        }
    }
    domain.constraints.extend(constraints);
    // The range stands where it is first used.
    let mut results: SmallVec<[Expr; 4]> = one.results().into();
    let mut at = 0;
    results[..result].iter().for_each(|e| {
        e.for_each_var(&mut |v| at = at.max(if v.kind == Kind::Range { v.index as usize + 1 } else { 0 }));
    });
    results.insert(result, own);
    let (n_dims, n_ranges) = (domain.n_dims, domain.n_ranges);
    let mut order: Vec<usize> = (0..domain.vars.len()).collect();
    order[n_dims + at..n_dims + n_ranges].rotate_right(1);
    Map::from_parts(domain, results).reordered(&order, n_dims, n_ranges).ok()
}

/// The interval that the numbers fill, if there are any numbers; the outer `None`: they leave a gap.
fn without_gap(steps: &[Steps], meter: &mut Meter) -> Option<Option<Interval>> {
    // Numbers with one remainder are an interval of quotients.
    let mut n = 1i64;
    for s in steps.iter().filter(|s| s.n > 1) {
        n = (n / gcd(n, s.step)?).checked_mul(s.step).filter(|n| *n <= VALUES as i64)?;
    }
    let mut all: Option<Interval> = None;
    let mut classes: SmallVec<[(i64, i64, i64); 16]> = SmallVec::new();
    for s in steps {
        let last = s.step.checked_mul(s.n - 1)?.checked_add(s.first)?;
        let own = Interval::new(s.first, last);
        all = Some(all.map_or(own, |all| all.hull(own)));
        let n_classes = if s.n == 1 { 1 } else { (n / s.step).min(s.n) };
        meter.spend(n_classes as usize).ok()?;
        for i in 0..n_classes {
            let first = s.first + s.step * i;
            let more = if s.n == 1 { 0 } else { (s.n - 1 - i) / (n / s.step) };
            classes.push((floor_mod(first, n), floor_div(first, n), floor_div(first, n) + more));
        }
    }
    let Some(all) = all else { return Some(None) };
    classes.sort_unstable();
    let (mut total, mut before) = (0u128, None);
    for (class, lo, hi) in classes {
        let lo = match before {
            Some((other, end)) if other == class && lo <= end => end + 1,
            _ => lo,
        };
        total += Interval::new(lo, hi).size();
        before = Some((class, hi.max(lo - 1)));
    }
    (total == all.size()).then_some(Some(all))
}

/// The line under which the ends lie, and under their largest one, if they are as high as both allow; or no line if
/// they are all the same. `None` if there is none.
fn line(ends: &[(i64, i64)]) -> Option<Option<Line>> {
    let most = ends.iter().map(|(_, y)| *y).max()?;
    // Where the end differs from the next one.
    let mut turns = ends.windows(2).enumerate().filter(|(_, pair)| pair[0].1 != pair[1].1);
    let Some((at, one)) = turns.next() else { return Some(None) };
    let by = |pair: &[(i64, i64)]| pair[1].1.checked_sub(pair[0].1);
    let (gap, slope) = match turns.next() {
        // The largest end may cut off a part.
        Some((next, other)) => (next - at, [by(one)?, by(other)?].into_iter().max_by_key(|k| k.unsigned_abs())?),
        None if one[0].1 == most => (ends.len() - 1 - at, by(one)?),
        None => (at + 1, by(one)?),
    };
    let (factor, slope) = if gap == 1 { (1, slope) } else { (i64::try_from(gap).ok()?, slope.signum()) };
    let product = |k: i64, x: i64| i128::from(k) * i128::from(x);
    let constant = ends.iter().map(|(d, y)| product(factor, *y) - product(slope, *d)).max()?;
    let line = Line { factor, slope, constant: i64::try_from(constant).ok()? };
    let fits = |(d, y): &(i64, i64)| {
        let end = (product(slope, *d) + constant).div_euclid(i128::from(factor));
        end.min(most.into()) == i128::from(*y)
    };
    ends.iter().all(fits).then_some(Some(line))
}
