//! Totals over a whole grid, from few of its requests.
//!
//! A grid is a box of coordinates, of which the first two are the lane and the step of a request. Coordinates that only
//! move the address are not enumerated with the lanes: the residues of their offsets modulo a sector are counted
//! instead. Other coordinates are written as digits where remainders wrap, and cut where conditions change, until few
//! requests are left. The totals are those of all requests, or upper bounds.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use cancel::poll;
use quasiaffine::{Constraint, Expr, Interval, Map, Op, Points, Program, Result};

use super::measure::{measure, Counts, Form, TOO_MANY};
use super::moves::{dims_of, moves, Moves};
use super::{fits, gcd, map_of, simplify, Effort, LANE, STEP};
use crate::tuning::{CHUNK, MAX_REGIONS};

/// The number of occurrences of each residue.
type Residues = BTreeMap<i64, i128>;

/// The totals of all requests of a grid, for each of the `offsets` of the base address; and whether they are exact.
/// `grid` maps the lane, the step and the coordinates of a request to an address in units; it has dims alone, and is
/// simplified.
pub(super) fn count_grid(grid: Map, form: Form, offsets: Vec<i64>, effort: &Effort) -> Result<(Vec<Counts>, bool)> {
    let found = vec![Counts::default(); offsets.len()];
    let period = form.period()?;
    let mut work =
        Work { form, period, offsets, effort, found, exact: true, regions: vec![grid], n_regions: 0, spent: 0 };
    while let Some(region) = work.regions.pop() {
        poll();
        work.n_regions += 1;
        if !region.results().is_empty() {
            work.count(&modulo_period(region, period)?)?;
        }
    }
    Ok((work.found, work.exact))
}

/// The work that is left, and the effort that was spent.
struct Work<'a> {
    form: Form,
    period: i64,
    offsets: Vec<i64>,
    effort: &'a Effort,
    found: Vec<Counts>,
    exact: bool,
    regions: Vec<Map>,
    n_regions: usize,
    /// Requests and residues that were counted, for each offset.
    spent: u128,
}

impl Work<'_> {
    /// Counts one region, or leaves smaller ones to do.
    fn count(&mut self, region: &Map) -> Result<()> {
        let Coordinates { strides, lanes, apart } = separated(region);
        let domain = region.domain();
        let size = |k: &usize| domain.vars[*k].interval.size();
        let product = |dims: &[usize]| dims.iter().map(size).fold(1u128, u128::saturating_mul);
        let of_lanes = product(&lanes).saturating_mul(product(&[LANE, STEP]));
        let n_points = apart.iter().fold(of_lanes, |n, group| n.saturating_add(product(group)));
        if n_points > self.effort.few_points && self.n_regions < MAX_REGIONS {
            let mut listed: Vec<usize> = lanes.iter().chain(apart.iter().flatten()).copied().collect();
            listed.sort_by_key(|k| Reverse(size(k)));
            let mut smaller = as_digits(region, &listed)?;
            if smaller.is_empty() && n_points > self.effort.many_points {
                smaller = cut(region, &listed)?;
            }
            if !smaller.is_empty() {
                self.regions.extend(smaller.iter().map(simplify));
                return Ok(());
            }
        }
        let Interval { lo, hi } = region.bounds(&region.results()[0])?;
        let is_wide = lo < -(1 << 61) || hi > 1 << 61; // addresses come close to the end of 64 bits
        let n_residues =
            strides.iter().map(|(k, _)| size(k)).fold(1u128, u128::saturating_mul).min(self.period as u128);
        let spent = n_points.max(n_residues).saturating_mul(self.offsets.len() as u128);
        if self.spent.saturating_add(spent) > self.effort.max_points || is_wide {
            self.exact = false;
            let most = most(region, &self.form)?;
            for found in &mut self.found {
                *found = found.plus(most, 1)?;
            }
            return Ok(());
        }
        self.spent += spent;
        let period = self.period;
        let mut residues = residues_of(strides.iter().map(|(k, stride)| (*stride, size(k))), period)?;
        for group in &apart {
            let mut found = Residues::new();
            let mut start = None;
            each_request(region, group, &[], |address, active| {
                let start = *start.get_or_insert(address[0]);
                if active[0] {
                    *found.entry((address[0] - start).rem_euclid(period)).or_default() += 1;
                }
                Ok(())
            })?;
            residues = sums(&residues, &found, period)?;
        }
        let at = |offset: i64, residue: i64| (offset + residue).rem_euclid(period);
        let mut by_offset: BTreeMap<i64, Counts> = BTreeMap::new();
        for offset in &self.offsets {
            by_offset.extend(residues.keys().map(|r| (at(*offset, *r), Counts::default())));
        }
        let n_steps = size(&STEP) as usize;
        let mut place = Vec::new();
        each_request(region, &lanes, &[LANE, STEP], |address, active| {
            for (offset, counts) in &mut by_offset {
                poll();
                *counts = counts.plus(measure(address, active, n_steps, &self.form, *offset, &mut place), 1)?;
            }
            Ok(())
        })?;
        for (offset, found) in self.offsets.iter().zip(&mut self.found) {
            for (r, times) in &residues {
                poll();
                *found = found.plus(by_offset[&at(*offset, *r)], *times)?;
            }
        }
        Ok(())
    }
}

// ------------------------------------------------------------------------------------------------ free coordinates

/// Coordinates by their effect. No summand of the address and no condition has coordinates of two groups, or of a group
/// and the lanes.
#[derive(Debug, PartialEq)]
struct Coordinates {
    /// The coordinates that add a multiple of themselves to the address, with the factor.
    strides: Vec<(usize, i64)>,
    /// The coordinates that change how the addresses of lanes differ, or which lanes are active.
    lanes: Vec<usize>,
    /// Groups of other coordinates.
    apart: Vec<Vec<usize>>,
}

/// The region with the summands that move all lanes of a request alike modulo the period: no count depends on the rest.
fn modulo_period(region: Map, period: i64) -> Result<Map> {
    let address = &region.results()[0];
    let Some(Op::Sum(_)) = address.op() else { return Ok(region) };
    let moves_alike = |atom| dims_of(atom).iter().all(|k| *k > STEP);
    let modulo = |(factor, atom)| (if moves_alike(atom) { factor % period } else { factor }, atom);
    let constant = Expr::from(address.constant());
    let address = Expr::sum(address.terms().map(modulo).chain([(1, &constant)]))?;
    region.with_results([address])
}

fn separated(region: &Map) -> Coordinates {
    let terms: Vec<Moves> = match &region.results()[0] {
        constant @ Expr::Const(_) => vec![moves(constant)],
        address => address.terms().map(|(_, atom)| moves(atom)).collect(),
    };
    let conditions: Vec<Moves> = region.domain().constraints.iter().map(|c| moves(&c.expr)).collect();
    let address = moves(&region.results()[0]);
    let mut strides = Vec::new();
    let mut groups = vec![BTreeSet::from([LANE, STEP])];
    for k in STEP + 1..region.domain().n_dims {
        match address.get(&k).copied().unwrap_or(Some(0)) {
            Some(stride) if !conditions.iter().any(|condition| condition.contains_key(&k)) => strides.push((k, stride)),
            _ => groups.push(BTreeSet::from([k])),
        }
    }
    for used in terms.iter().chain(&conditions) {
        let (together, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| used.keys().any(|k| group.contains(k)));
        let merged: BTreeSet<usize> = together.into_iter().flatten().collect();
        groups = (!merged.is_empty()).then_some(merged).into_iter().chain(others).collect();
    }
    let (lanes, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.contains(&LANE));
    let listed = |group: BTreeSet<usize>| group.into_iter().filter(|k| *k > STEP).collect::<Vec<_>>();
    Coordinates {
        strides,
        lanes: lanes.into_iter().flat_map(listed).collect(),
        apart: apart.into_iter().map(listed).collect(),
    }
}

/// Counts each residue modulo `period` among sums of multiples, given as (stride, number of values).
fn residues_of(strides: impl Iterator<Item = (i64, u128)>, period: i64) -> Result<Residues> {
    let mut found = Residues::from([(0, 1)]);
    for (stride, n) in strides {
        let n = i128::try_from(n).map_err(|_| TOO_MANY)?;
        let cycle = i128::from(period / gcd(stride, period)?);
        let times = (0..n.min(cycle)).map(|i| {
            let residue = (i128::from(stride) * i).rem_euclid(i128::from(period)) as i64;
            (residue, n / cycle + i128::from(i < n % cycle))
        });
        found = sums(&found, &times.collect(), period)?;
    }
    Ok(found)
}

/// Counts each residue among the sums of a residue of either side.
fn sums(first: &Residues, second: &Residues, period: i64) -> Result<Residues> {
    let mut found = Residues::new();
    for (a, n) in first {
        for (b, m) in second {
            poll();
            let total = found.entry((a + b).rem_euclid(period)).or_insert(0i128);
            *total = n.checked_mul(*m).and_then(|n| total.checked_add(n)).ok_or(TOO_MANY)?;
        }
    }
    Ok(found)
}

// ------------------------------------------------------------------------------------------------- smaller regions

/// The operations of a region other than sums, each before its operands.
fn operations(region: &Map) -> Vec<Expr> {
    fn walk(e: &Expr, seen: &mut HashSet<Expr>, found: &mut Vec<Expr>) {
        let Some(op) = e.op() else { return };
        if !matches!(op, Op::Sum(_)) {
            if !seen.insert(e.clone()) {
                return;
            }
            found.push(e.clone());
        }
        e.operands().for_each(|part| walk(part, seen, found));
    }
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    let constraints = region.domain().constraints.iter().map(|c| &c.expr);
    region.results()[..1].iter().chain(constraints).for_each(|e| walk(e, &mut seen, &mut found));
    found
}

/// The numerator and the divisor of a division by a constant.
fn division(e: &Expr) -> Option<(&Expr, i64)> {
    match e.op() {
        Some(Op::FloorDiv(a, Expr::Const(n)) | Op::Mod(a, Expr::Const(n))) => Some((a, *n)),
        _ => None,
    }
}

fn box_of(region: &Map) -> Vec<Interval> {
    region.domain().vars.iter().map(|v| v.interval).collect()
}

/// Splits a coordinate into two digits if a remainder wraps; returns no region otherwise.
fn as_digits(region: &Map, listed: &[usize]) -> Result<Vec<Map>> {
    let operations = operations(region);
    let divisions: Vec<(Moves, i64)> = operations.iter().filter_map(division).map(|(a, n)| (moves(a), n)).collect();
    for k in listed {
        let mut least = None;
        for (moves, divisor) in &divisions {
            if let Some(Some(step)) = moves.get(k) {
                let length = divisor / gcd(*step, *divisor)?;
                let fits = 1 < length && (length as u128) < region.domain().vars[*k].interval.size();
                least = least.into_iter().chain(fits.then_some(length)).min();
            }
        }
        if let Some(radix) = least {
            return Ok(vec![split_digit(region, *k, radix)?]);
        }
    }
    Ok(Vec::new())
}

/// Dim `k` as its lower bound plus `radix` times itself plus a new last dim.
fn split_digit(region: &Map, k: usize, radix: i64) -> Result<Map> {
    let domain = region.domain();
    let interval = domain.vars[k].interval;
    let last = fits(interval.hi.checked_sub(interval.lo))?;
    let value = Expr::dim(k as u32).scale(radix)?.add(&Expr::dim(domain.n_dims as u32))?.add(&interval.lo.into())?;
    let replace = |v: quasiaffine::Var| Ok(if v.index as usize == k { value.clone() } else { Expr::Var(v) });
    let mut dims = box_of(region);
    dims[k] = Interval::new(0, last / radix);
    dims.push(Interval::new(0, radix - 1));
    let constraint = |c: &Constraint| Ok(Constraint { expr: c.expr.substitute(&replace)?, interval: c.interval });
    let mut constraints = domain.constraints.iter().map(constraint).collect::<Result<Vec<_>>>()?;
    if last % radix != radix - 1 {
        constraints.push(Constraint { expr: value.clone(), interval });
    }
    map_of(dims, constraints, [region.results()[0].substitute(&replace)?])
}

/// Decides whether an operation has one form: an expression has one value, or lies within bounds or beyond them.
type Condition = (Expr, Option<Interval>);

fn is_decided((expr, bounds): &Condition, dims: &[Interval]) -> Result<bool> {
    let values = map_of(dims.iter().copied(), Vec::new(), [])?.bounds(expr)?;
    Ok(match bounds {
        None => values.lo == values.hi,
        Some(bounds) => bounds.intersect(values).is_empty() || bounds.covers(values),
    })
}

fn conditions(region: &Map) -> Result<Vec<Condition>> {
    let constraints = region.domain().constraints.iter();
    let mut found: Vec<Condition> = constraints.map(|c| (c.expr.clone(), Some(c.interval))).collect();
    for e in operations(region) {
        if let Some((a, n)) = division(&e) {
            found.push((a.floor_div(&n.into())?, None));
        } else if let Some(Op::Min(a, b) | Op::Max(a, b)) = e.op() {
            found.push((a.sub(b)?, Some(Interval::new(0, i64::MAX))));
        }
    }
    Ok(found)
}

/// Cuts the region in two: so that a condition does not change in one part, else at the middle of a coordinate on which
/// a condition depends. Returns no region if there is no such coordinate.
fn cut(region: &Map, listed: &[usize]) -> Result<Vec<Map>> {
    let dims = box_of(region);
    let mut halved = None;
    for condition in conditions(region)? {
        let used = dims_of(&condition.0);
        let cuttable: Vec<usize> = listed.iter().copied().filter(|k| used.contains(k) && dims[*k].size() > 1).collect();
        if cuttable.is_empty() || is_decided(&condition, &dims)? {
            continue;
        }
        for k in &cuttable {
            if let Some(at) = cut_point(&condition, &dims, *k)? {
                return parts(region, *k, at);
            }
        }
        halved = halved.or(cuttable.first().copied());
    }
    halved.map_or(Ok(Vec::new()), |k| parts(region, k, middle(dims[k].lo, dims[k].hi) + 1))
}

/// The region below a value of a dim, and from there on.
fn parts(region: &Map, k: usize, at: i64) -> Result<Vec<Map>> {
    let Interval { lo, hi } = region.domain().vars[k].interval;
    let part = |interval: Interval| {
        let mut dims = box_of(region);
        dims[k] = interval;
        map_of(dims, region.domain().constraints.clone(), region.results().iter().cloned())
    };
    Ok(vec![part(Interval::new(lo, at - 1))?, part(Interval::new(at, hi))?])
}

/// The value at which to cut a dim: after the longest prefix, or before the longest suffix, that decides a condition.
fn cut_point(condition: &Condition, dims: &[Interval], k: usize) -> Result<Option<i64>> {
    let Interval { lo, hi } = dims[k];
    let is_decided_in = |lo: i64, hi: i64| {
        let mut dims = dims.to_vec();
        dims[k] = Interval::new(lo, hi);
        is_decided(condition, &dims)
    };
    Ok(if is_decided_in(lo, lo)? {
        Some(last_good(lo, hi, |end| is_decided_in(lo, end))?.1)
    } else if is_decided_in(hi, hi)? {
        Some(last_good(hi, lo, |start| is_decided_in(start, hi))?.0)
    } else {
        None
    })
}

/// Finds neighbors between a good and a bad value by bisection: the last good one and the first bad one.
fn last_good(mut good: i64, mut bad: i64, holds: impl Fn(i64) -> Result<bool>) -> Result<(i64, i64)> {
    while good.abs_diff(bad) > 1 {
        let middle = middle(good, bad);
        if holds(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok((good, bad))
}

/// `(a + b) floordiv 2`
fn middle(a: i64, b: i64) -> i64 {
    ((i128::from(a) + i128::from(b)) >> 1) as i64
}

// -------------------------------------------------------------------------------------------------------- requests

/// Calls `visit` at all values of some dims, once for all values of the dims `together`, with the addresses there and
/// whether the conditions on the dims hold. Other dims stay at their lower bounds.
fn each_request(
    region: &Map,
    dims: &[usize],
    together: &[usize],
    mut visit: impl FnMut(&[i64], &[bool]) -> Result<()>,
) -> Result<()> {
    let domain = region.domain();
    let chosen: Vec<usize> = dims.iter().chain(together).copied().collect();
    let is_on_them = |c: &&Constraint| moves(&c.expr).keys().any(|k| chosen.contains(k));
    let constraints: Vec<Constraint> = domain.constraints.iter().filter(is_on_them).cloned().collect();
    let has_conditions = !constraints.is_empty();
    let program = Program::new(&map_of(box_of(region), constraints, region.results().iter().cloned())?)?;
    let size = |dims: &[usize]| dims.iter().map(|k| domain.vars[*k].interval.size() as usize).product::<usize>();
    let (mut left, inner) = (size(dims) * size(together), size(together));
    let per_chunk = (CHUNK / inner).max(1) * inner;
    let lower: Vec<i64> = domain.vars.iter().map(|v| v.interval.lo).collect();
    let mut point = lower.clone();
    while left > 0 {
        poll();
        let n = per_chunk.min(left);
        left -= n;
        let mut rows = Vec::with_capacity(n * point.len());
        for _ in 0..n {
            rows.extend_from_slice(&point);
            for k in chosen.iter().rev() {
                if point[*k] < domain.vars[*k].interval.hi {
                    point[*k] += 1;
                    break;
                }
                point[*k] = lower[*k];
            }
        }
        let points = Points { n, dims: &rows, ranges: &[], runtime: &[] };
        let addresses = program.run::<false>(&points)?;
        let active = if has_conditions { program.in_domain(&points)? } else { vec![true; n] };
        addresses.chunks(inner).zip(active.chunks(inner)).try_for_each(|(address, active)| visit(address, active))?;
    }
    Ok(())
}

/// Upper bounds of the totals of a region.
fn most(region: &Map, form: &Form) -> Result<Counts> {
    let sizes: Vec<i128> = region.domain().vars.iter().map(|v| v.interval.size() as i128).collect();
    let (n_lanes, n_steps) = (sizes[LANE], sizes[STEP]);
    let times = |a: i128, b: i128| a.checked_mul(b).ok_or(TOO_MANY);
    let n = sizes[STEP..].iter().try_fold(1, |n, size| times(n, *size))?;
    let [width, per_byte, sector_bytes, sector] =
        [form.width, form.per_byte, form.sector_bytes, form.sector()].map(i128::from);
    let bytes_each = (width + per_byte - 1) / per_byte + i128::from(width % per_byte > 0);
    let is_aligned = sector % width == 0 && per_byte == 1;
    let mut per_request = n_lanes * if is_aligned { 1 } else { 2 + bytes_each / sector_bytes };
    if let Some(stride) = moves(&region.results()[0]).get(&LANE).copied().unwrap_or(Some(0)) {
        let span = i128::from(stride).abs() * (n_lanes - 1) + width;
        per_request = per_request.min(span / sector + 2);
    }
    Ok(Counts {
        requests: n,
        sectors: times(n, per_request)?,
        bytes_used: times(n, n_lanes * bytes_each)?,
        longest_run: n_lanes * bytes_each * n_steps,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_that_move_all_lanes_alike_are_no_requests_of_their_own() {
        let region: Map = "(l, j, a, b, c, d) -> (l * 4 + a * 8 + ((b * 12) mod 20) * (c mod 3) + \
            (d floordiv 2) * (l mod 2) * 64), domain: l in [0, 7], j in [0, 0], a in [0, 2], b in [1, 6], \
            c in [0, 4], d in [0, 3], b + c in [2, 7]"
            .parse()
            .unwrap();
        let region = simplify(&region);
        let found = separated(&region);
        assert_eq!(found, Coordinates { strides: vec![(2, 8)], lanes: vec![5], apart: vec![vec![3, 4]] });

        let form = Form { width: 4, per_byte: 1, sector_bytes: 32, vector: 1, loosest_start: 0 };
        let (mut expected, mut place) = (Counts::default(), Vec::new());
        each_request(&region, &[2, 3, 4, 5], &[LANE, STEP], |address, active| {
            expected = expected.plus(measure(address, active, 1, &form, 0, &mut place), 1)?;
            Ok(())
        })
        .unwrap();
        assert_eq!(count_grid(region, form, vec![0], &Effort::default()), Ok((vec![expected], true)));
    }

    #[test]
    fn what_moves_all_lanes_alike_counts_modulo_the_period() {
        let region = |address: &str| -> Map {
            let domain = "l in [0, 7], j in [0, 0], a in [0, 9], b in [0, 3]";
            format!("(l, j, a, b) -> ({address}), domain: {domain}").parse().unwrap()
        };
        let all = region("l * 4 + a * 96 - (a floordiv 3) * 36 + b * 40 + ((l + a) floordiv 4) * 32 + 5");
        let rest = region("l * 4 - (a floordiv 3) * 4 + b * 8 + ((l + a) floordiv 4) * 32 + 5");
        assert_eq!(modulo_period(all, 32), Ok(rest));
    }

    #[test]
    fn residues_of_strides() {
        let found = residues_of([(4, 5), (8, 2)].into_iter(), 16).unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [(0, 3), (4, 2), (8, 3), (12, 2)]);
    }

    #[test]
    fn totals_beyond_128_bits_are_an_error() {
        let dims = (0..6).map(|k| format!("d{k} in [0, 9000000000000000000]")).collect::<Vec<_>>().join(", ");
        let grid: Map = format!("(d0, d1, d2, d3, d4, d5) -> (0), domain: {dims}").parse().unwrap();
        let form = Form { width: 4, per_byte: 1, sector_bytes: 32, vector: 1, loosest_start: 0 };
        assert_eq!(count_grid(grid, form, vec![0], &Effort::default()), Err(TOO_MANY));
    }
}
