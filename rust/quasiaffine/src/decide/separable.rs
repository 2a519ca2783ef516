//! Maps each of whose results lies in a window of its own.
//!
//! A result `y` of such a map is any integer with `step*y - base` in one interval and `y` in another, where `base` is
//! an expression of the dims: a window, a whole range, or one element, strided or not. In this form the composition of
//! two windows is a window, and so is the union of two windows if their intervals meet. At every point of the dims,
//! [`Separable::map`] has the image of the map that was [read](Separable::read).

use crate::limits::NODES;
use smallvec::SmallVec;

use crate::decide::ranges::{range, range_terms};
use crate::domain::{Constraint, Domain, Variable};
use crate::error::{Error, Result};
use crate::expr::intervals::interval;
use crate::expr::{Expr, Kind, Op, Var};
use crate::int::{ceil_div_wide, floor_div_wide, floor_mod, gcd};
use crate::list::List;
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::simplify::simplify_by;
use crate::span::Interval;
use crate::span::WideInterval;

/// A product of windows, one for each result.
pub(crate) struct Separable {
    dims: SmallVec<[Variable; 6]>,
    windows: SmallVec<[Window; 4]>,
    /// Constraints on the dims alone.
    constraints: Vec<Constraint>,
}

/// The integers `y` in `values` with `step*y - base` in `offsets`.
#[derive(Clone)]
struct Window {
    step: i64,
    /// Without a constant, and without a common factor with the step.
    base: Expr,
    offsets: Interval,
    values: Interval,
}

impl Separable {
    /// The form of a map, if it has one.
    pub fn read(map: &Map) -> Option<Separable> {
        let domain = map.domain();
        if map.state() != State::Defined || domain.n_runtime() > 0 {
            return None;
        }
        let mut lines: SmallVec<[Line; 4]> =
            map.results().iter().map(|e| Line::of(e, domain)).collect::<Option<_>>()?;
        let mut owners: SmallVec<[Option<usize>; 6]> = SmallVec::from_elem(None, domain.n_ranges);
        for (j, line) in lines.iter().enumerate() {
            for (s, _) in &line.ranges {
                if owners[*s as usize].replace(j).is_some() {
                    return None;
                }
            }
        }
        let mut constraints = Vec::new();
        for c in &domain.constraints {
            let mut ranges: SmallVec<[u32; 4]> = SmallVec::new();
            c.expr.for_each_var(&mut |v| ranges.extend((v.kind == Kind::Range).then_some(v.index)));
            let mut owner = ranges.iter().map(|s| owners[*s as usize]);
            match owner.next() {
                None if lines.iter_mut().any(|line| line.absorb_residues(c)) => {}
                None => constraints.push(c.clone()),
                Some(first) => {
                    owner.all(|other| other == first).then_some(())?;
                    lines[first?].absorb(c)?;
                }
            }
        }
        let dims = domain.dims().into();
        let windows = lines.into_iter().map(|line| line.window(&mut constraints, domain)).collect::<Option<_>>()?;
        Some(Separable { dims, windows, constraints })
    }

    /// The map with one range for each result that is not one element; `None` if that does not fit into 64 bits.
    pub fn map(&self, options: Options, meter: &mut Meter) -> Option<Map> {
        let mut vars: List<Variable, 6> = self.dims.iter().cloned().collect();
        let mut constraints = self.constraints.clone();
        let mut results: SmallVec<[Expr; 4]> = SmallVec::new();
        for w in &self.windows {
            if w.values.is_empty() {
                return None;
            }
            if w.offsets.size() <= w.step.unsigned_abs().into() {
                let e = w.only_value().ok()?;
                constraints.extend(w.gaps().ok()?);
                constraints.push(Constraint { expr: e.clone(), interval: w.values });
                results.push(e);
                continue;
            }
            let new = Expr::range((vars.len() - self.dims.len()) as u32);
            if w.base == Expr::Const(0) {
                vars.push(Variable::new(w.offsets.intersect(w.values)));
                results.push(new);
                continue;
            }
            let last = i64::try_from(w.offsets.size()).ok()?.checked_sub(w.step)?;
            if w.values.size() <= last.unsigned_abs().saturating_add(1).into() {
                // With no more values than offsets, the range is the element itself.
                vars.push(Variable::new(w.values));
                let turned = WideInterval::from(w.offsets).scale(-1).interval()?;
                let line = new.scale(w.step).ok()?;
                constraints.push(match w.base.op() {
                    Some(Op::Sum(sum)) if sum.terms.first().is_some_and(|t| t.coefficient < 0) => {
                        Constraint { expr: line.sub(&w.base).ok()?, interval: w.offsets }
                    }
                    _ => Constraint { expr: w.base.sub(&line).ok()?, interval: turned },
                });
                results.push(new);
                continue;
            }
            vars.push(Variable::new(Interval::new(0, last)));
            let (line, within) = match w.step {
                1 => (w.base.add(&Expr::Const(w.offsets.lo)).ok()?.add(&new).ok()?, w.values),
                n => {
                    let line = w.base.add(&Expr::Const(w.offsets.hi)).ok()?.sub(&new).ok()?;
                    let (lo, hi) = (i128::from(w.values.lo), i128::from(w.values.hi));
                    (line, Interval::exact(lo * i128::from(n), hi * i128::from(n) + i128::from(n) - 1)?)
                }
            };
            constraints.push(Constraint { expr: line.clone(), interval: within });
            results.push(line.floor_div(&Expr::Const(w.step)).ok()?);
        }
        let (n_dims, n_ranges) = (self.dims.len(), vars.len() - self.dims.len());
        let domain = Domain { vars, n_dims, n_ranges, constraints };
        Some(simplify_by(&Map::from_parts(domain, results), Options { drop_unused: true, ..options }, meter))
    }

    /// The form of doing the second map after this one, if it has one.
    pub fn then(&self, second: &Separable) -> Option<Separable> {
        if self.windows.len() != second.dims.len() {
            return None;
        }
        let mut constraints = self.constraints.clone();
        let mut between: SmallVec<[Window; 4]> = self.windows.clone();
        for (w, own) in between.iter_mut().zip(&second.dims) {
            w.values = w.values.intersect(own.interval);
            (!w.values.is_empty()).then_some(())?;
            constraints.extend(w.gaps().ok()?);
            // The window and the values share an element if neither lies beyond an end of the other.
            let ends = WideInterval::from(w.values).scale(w.step).plus(WideInterval::from(w.offsets).scale(-1));
            if !ends.interval()?.covers(bounds(&w.base, &self.dims)?) {
                constraints.push(Constraint { expr: w.base.clone(), interval: ends.interval()? });
            }
        }
        let mut uses: SmallVec<[u32; 4]> = SmallVec::from_elem(0, between.len());
        let apart = Error::Overflow("a result with several values");
        let one = |v: Var| between[v.index as usize].is_one().then(|| between[v.index as usize].only_value());
        let substituted = |e: &Expr| e.substitute(&|v| one(v).ok_or_else(|| apart.clone())?).ok();
        for c in &second.constraints {
            constraints.push(Constraint { expr: substituted(&c.expr)?, interval: c.interval });
        }
        let mut windows = SmallVec::new();
        for next in &second.windows {
            next.base.for_each_var(&mut |v| uses[v.index as usize] += 1);
            let along = multiple(&next.base).and_then(|(j, k)| between[j].then(k, next, &self.dims));
            windows.push(match along {
                Some(along) => along,
                None => Window { base: substituted(&next.base)?, ..next.clone() }.normal(&self.dims)?,
            });
        }
        let is_free = uses.iter().zip(&between).all(|(n, w)| *n < 2 || w.is_one());
        is_free.then_some(Separable { dims: self.dims.clone(), windows, constraints })
    }

    /// All intervals in which maps with one [key](Separable::key) may differ.
    pub fn intervals(&self) -> SmallVec<[Interval; 12]> {
        let of_windows = self.windows.iter().flat_map(|w| [w.offsets, w.values]);
        let of_constraints = self.constraints.iter().map(|c| c.interval);
        self.dims.iter().map(|v| v.interval).chain(of_windows).chain(of_constraints).collect()
    }

    /// The form with other intervals.
    pub fn with_intervals(&self, intervals: &[Interval]) -> Separable {
        let mut new = intervals.iter().copied();
        let mut next = move || new.next().unwrap_or(Interval::EMPTY);
        let mut dims = self.dims.clone();
        dims.iter_mut().for_each(|v| v.interval = next());
        let mut windows = self.windows.clone();
        windows.iter_mut().for_each(|w| (w.offsets, w.values) = (next(), next()));
        let mut constraints = self.constraints.clone();
        constraints.iter_mut().for_each(|c| c.interval = next());
        Separable { dims, windows, constraints }
    }

    /// Whether this form surely contains another one: each of its conditions is one of the other's, and each of its
    /// results is the other's window, or any integer among values that include the other's.
    pub fn plainly_contains(&self, other: &Separable) -> bool {
        let is_implied =
            |c: &Constraint| other.constraints.iter().any(|o| o.expr == c.expr && c.interval.covers(o.interval));
        let has_window = |(a, b): (&Window, &Window)| {
            let is_same = a.step == b.step && a.base == b.base && a.offsets.covers(b.offsets);
            let is_any = a.step == 1 && a.base == Expr::Const(0) && a.offsets.covers(b.values);
            (is_same || is_any) && a.values.covers(b.values)
        };
        self.dims.len() == other.dims.len()
            && self.windows.len() == other.windows.len()
            && self.dims.iter().zip(&other.dims).all(|(a, b)| a.interval.covers(b.interval))
            && self.constraints.iter().all(is_implied)
            && self.windows.iter().zip(&other.windows).all(has_window)
    }

    /// The step and the base of each window, whether it is an interval of integers, and its values. If the form
    /// [plainly contains](Separable::plainly_contains) another one, all other windows have equal steps and bases in that,
    /// and the values include those of the other form.
    pub fn parts(&self) -> impl Iterator<Item = (i64, &Expr, bool, Interval)> {
        self.windows.iter().map(|w| (w.step, &w.base, w.step == 1 && w.base == Expr::Const(0), w.values))
    }

    /// Everything but the intervals.
    pub fn key(&self) -> (Vec<i64>, Vec<Expr>) {
        let sizes = [self.dims.len() as i64, self.windows.len() as i64];
        let exprs = self.windows.iter().map(|w| &w.base).chain(self.constraints.iter().map(|c| &c.expr));
        (sizes.into_iter().chain(self.windows.iter().map(|w| w.step)).collect(), exprs.cloned().collect())
    }
}

impl Window {
    /// Whether each point has at most one element.
    fn is_one(&self) -> bool {
        self.offsets.size() <= self.step.unsigned_abs().into()
    }

    /// The only element of the window.
    fn only_value(&self) -> Result<Expr> {
        self.base.add(&Expr::Const(self.offsets.hi))?.floor_div(&Expr::Const(self.step))
    }

    /// The condition under which a window that is smaller than the step has an element.
    fn gaps(&self) -> Result<Option<Constraint>> {
        let size = self.offsets.size();
        if size >= self.step.unsigned_abs().into() {
            return Ok(None);
        }
        let expr = self.base.add(&Expr::Const(self.offsets.hi))?.floor_mod(&Expr::Const(self.step))?;
        Ok(Some(Constraint { expr, interval: Interval::new(0, size as i64 - 1) }))
    }

    /// The elements of a window around `factor` times an element of this one.
    ///
    /// An element `y` between the two is an integer in three intervals: by the base, by the element `z` of the second
    /// window, and by the values. It exists if each lower end is at most each upper one, rounded to integers; for the
    /// ends by base and by `z` together that is linear if one of the two is a whole number by itself.
    fn then(&self, factor: i64, second: &Window, dims: &[Variable]) -> Option<Window> {
        let wide = |i: Interval| WideInterval::from(i);
        let is_whole = factor.unsigned_abs() == 1
            || (self.step == 1
                && (self.offsets.as_point().is_some() || second.offsets.size() >= factor.unsigned_abs().into()));
        if !is_whole {
            return None;
        }
        let offsets = wide(second.offsets).scale(self.step).plus(wide(self.offsets).scale(factor)).interval()?;
        let values = multiples(wide(self.values).scale(factor).plus(wide(second.offsets)), second.step)?;
        let window = Window {
            step: self.step.checked_mul(second.step)?,
            base: self.base.scale(factor).ok()?,
            offsets,
            values: values.intersect(second.values),
        };
        window.normal(dims)
    }

    /// Removes the constant and the common factor from the base, and narrows the values to those that can occur.
    fn normal(mut self, dims: &[Variable]) -> Option<Window> {
        let constant = self.base.constant();
        self.base = self.base.sub(&Expr::Const(constant)).ok()?;
        let factor = gcd(self.step, content(&self.base)?)?;
        let offsets = WideInterval::from(self.offsets).plus(Interval::point(constant).into());
        self.offsets = multiples(offsets, factor)?;
        self.base = divided(&self.base, factor)?;
        self.step /= factor;
        let all = WideInterval::from(bounds(&self.base, dims)?).plus(self.offsets.into());
        self.values = self.values.intersect(multiples(all, self.step)?);
        (!self.offsets.is_empty() && !self.values.is_empty()).then_some(self)
    }
}

/// The integers `x` for which `n * x` lies in an interval.
fn multiples(all: WideInterval, n: i64) -> Option<Interval> {
    let n = u64::try_from(n).ok().filter(|&n| n > 0)?;
    (all.lo != i128::MIN && all.hi != i128::MAX).then_some(())?;
    let (lo, hi) = (ceil_div_wide(all.lo, n), floor_div_wide(all.hi, n));
    if lo > hi {
        return Some(Interval::EMPTY);
    }
    Interval::exact(lo, hi)
}

fn bounds(e: &Expr, dims: &[Variable]) -> Option<Interval> {
    let of_var = |v: Var| dims.get(v.index as usize).map_or(Interval::ALL, |v| v.interval);
    interval(&of_var, e, NODES).interval()
}

/// The common factor of the terms of an expression: 0 for none.
fn content(e: &Expr) -> Option<i64> {
    e.terms().try_fold(0, |g, (k, _)| gcd(g, k))
}

fn divided(e: &Expr, factor: i64) -> Option<Expr> {
    if factor == 1 {
        return Some(e.clone());
    }
    e.terms().try_fold(Expr::Const(0), |all, (k, atom)| all.add(&atom.scale(k / factor).ok()?).ok())
}

/// The dim in an expression that is a multiple of one.
fn multiple(e: &Expr) -> Option<(usize, i64)> {
    match e.as_line()? {
        (k, Expr::Var(v), 0) => Some((v.index as usize, k)),
        _ => None,
    }
}

/// A result `line floordiv step` while the constraints are read; the ranges in the line sum up to an interval.
struct Line {
    result: Expr,
    step: i64,
    line: Expr,
    base: Expr,
    ranges: SmallVec<[(u32, i64); 2]>,
    /// The values of the line minus the base.
    offsets: WideInterval,
    /// The remainders of the line.
    residues: Interval,
    /// The values of the line, and of the result.
    within: Interval,
    values: Interval,
}

impl Line {
    fn of(e: &Expr, domain: &Domain) -> Option<Line> {
        let as_quotient = quotient(e).and_then(|(step, line)| Line::over(e, step, line, domain));
        as_quotient.or_else(|| Line::over(e, 1, e.clone(), domain))
    }

    fn over(e: &Expr, step: i64, line: Expr, domain: &Domain) -> Option<Line> {
        let mut base = line.sub(&Expr::Const(line.constant())).ok()?;
        let mut ranges: SmallVec<[(u32, i64); 2]> = range_terms(&base).collect();
        ranges.sort_by_key(|(s, k)| (k.unsigned_abs(), *s));
        let mut offsets = WideInterval::from(Interval::point(line.constant()));
        for &(s, k) in &ranges {
            // The multiples of the next range leave no gap.
            if u128::from(k.unsigned_abs()) > offsets.interval()?.size() {
                return None;
            }
            offsets = offsets.plus(WideInterval::from(domain.ranges()[s as usize].interval).scale(k));
            base = base.sub(&Expr::range(s).scale(k).ok()?).ok()?;
        }
        let has_ranges = base.any_var(&|v| v.kind == Kind::Range);
        (!has_ranges).then(|| Line {
            result: e.clone(),
            step,
            line,
            base,
            ranges,
            offsets,
            residues: Interval::new(0, step - 1),
            within: Interval::ALL,
            values: Interval::ALL,
        })
    }

    /// Reads a constraint on the range of this line; `None` if the window cannot express it.
    fn absorb(&mut self, c: &Constraint) -> Option<()> {
        if self.absorb_residues(c) {
            return Some(());
        }
        if let Some(values) = c.on(&self.result) {
            self.values = self.values.intersect(values);
        } else if let Some(within) = c.on(&self.line) {
            self.within = self.within.intersect(within);
        } else {
            // A whole range with a multiple tied to the dims is a window around them.
            let ([(s, 1)], 1, Expr::Const(_)) = (&self.ranges[..], self.step, &self.base) else { return None };
            let (v, moved) = (range(*s), Interval::point(self.line.constant()));
            let (k, rest) = c.expr.split(v).filter(|(_, rest)| !rest.has_var(v))?;
            let sign = k.signum();
            self.step = k.checked_abs()?;
            self.line = self.result.scale(self.step).ok()?;
            self.residues = Interval::point(0);
            self.base = rest.scale(-sign).ok()?;
            self.values = self.values.intersect(self.offsets.interval()?);
            self.offsets = WideInterval::from(c.interval).scale(sign).plus(WideInterval::from(moved).scale(self.step));
        }
        Some(())
    }

    /// Reads a constraint on the remainder of the line, if it is one.
    fn absorb_residues(&mut self, c: &Constraint) -> bool {
        let (e, mut values) = match c.expr.as_line() {
            Some((1, e, 0)) => (e, c.interval),
            Some((-1, e, 0)) => (e, Interval::new(-c.interval.hi, -c.interval.lo)),
            _ => return false,
        };
        let Some(Op::Mod(x, Expr::Const(n))) = e.op() else { return false };
        if *n != self.step || self.step == 1 {
            return false;
        }
        values = values.intersect(Interval::new(0, n - 1));
        let shift = |rest: Result<Expr>| {
            let rest = rest.ok()?;
            (content(&rest)?.checked_rem(*n) == Some(0)).then(|| floor_mod(rest.constant(), *n))
        };
        // The line is `x - shift`, or `shift - x`, and a multiple of `n`.
        let (lo, hi) = match (shift(x.sub(&self.line)), shift(x.add(&self.line))) {
            (Some(by), _) => (values.lo - by, values.hi - by),
            (_, Some(by)) => (by - values.hi, by - values.lo),
            _ => return false,
        };
        let first = floor_mod(lo, *n);
        let last = first + (hi - lo);
        if values.is_empty() || last >= *n {
            return false;
        }
        self.residues = self.residues.intersect(Interval::new(first, last));
        true
    }

    fn window(self, constraints: &mut Vec<Constraint>, domain: &Domain) -> Option<Window> {
        let (n, r) = (self.step, self.residues);
        let of_line = self.offsets;
        let mut values = self.values;
        if self.within != Interval::ALL {
            let within = WideInterval::from(self.within);
            values = values.intersect(if let Some(r) = r.as_point() {
                multiples(within.plus(Interval::point(r.checked_neg()?).into()), n)?
            } else if r.size() == n.unsigned_abs().into() {
                // If the line meets these bounds, its quotients are those between the bounds.
                let somewhere = within.plus(of_line.scale(-1)).interval()?;
                if !somewhere.covers(bounds(&self.base, domain.dims())?) {
                    constraints.push(Constraint { expr: self.base.clone(), interval: somewhere });
                }
                self.within.floor_div(n)
            } else {
                return None;
            });
        }
        let offsets = of_line.plus(WideInterval::from(r).scale(-1)).interval()?;
        Window { step: n, base: self.base, offsets, values }.normal(domain.dims())
    }
}

/// An expression with one quotient as `line floordiv step`.
fn quotient(e: &Expr) -> Option<(i64, Expr)> {
    let of = |e: &Expr| match e.op() {
        Some(Op::FloorDiv(a, Expr::Const(n))) => Some((*n, a.clone())),
        _ => None,
    };
    let Some(Op::Sum(sum)) = e.op() else { return of(e) };
    let mut quotients = sum.terms.iter().filter(|t| t.coefficient == 1).filter_map(|t| Some((&t.atom, of(&t.atom)?)));
    match (quotients.next(), quotients.next()) {
        (Some((atom, (n, a))), None) => {
            let rest = e.sub(atom).ok()?;
            Some((n, a.add(&rest.scale(n).ok()?).ok()?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::EFFORT;

    fn read(text: &str) -> Option<String> {
        let map: Map = text.parse().unwrap();
        Some(Separable::read(&map)?.map(Options::default(), &mut Meter::new(EFFORT))?.to_string())
    }

    #[test]
    fn a_strided_window_is_an_interval_of_positions() {
        for (before, after) in [
            (
                "(d0)[s0] -> ((d0 - s0) floordiv 2), domain: d0 in [0, 63], s0 in [0, 2], d0 - s0 in [0, 62], (d0 + s0) mod 2 in [0, 0]",
                Some("(d0)[s0] -> ((d0 - s0) floordiv 2), domain: d0 in [0, 63], s0 in [0, 1], d0 - s0 in [0, 63]"),
            ),
            // A window smaller than the stride: one position, or none.
            (
                "(d0)[s0] -> ((d0 - s0) floordiv 3), domain: d0 in [0, 62], s0 in [0, 1], (d0 - s0) mod 3 in [0, 0]",
                Some("(d0) -> (d0 floordiv 3), domain: d0 in [0, 61], d0 mod 3 in [0, 1]"),
            ),
            // A range that two results use ties them together.
            ("(d0)[s0] -> (s0, s0), domain: d0 in [0, 3], s0 in [0, 3]", None),
            ("(d0)[s0] -> (d0 + s0 * 2), domain: d0 in [0, 3], s0 in [0, 3]", None),
            ("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 3], s0 in [0, 3], (d0 + s0) mod 2 in [0, 0]", None),
        ] {
            assert_eq!(read(before).as_deref(), after, "{before}");
        }
    }
}
