//! The number of elements that a map touches: points of its domain, and distinct images.
//!
//! Variables fall into independent groups (two are in one group if a constraint or a result uses both), and the counts
//! of groups multiply. Within a group the number is exact if the constraints are intervals, residues or one sum, and the
//! image is a chain of strides, or the quotients or remainders of one, or the map is injective; variables that only one
//! sum uses are eliminated from an image first. Else points are enumerated within [`POINTS`]; else the number is bounded.
//! `lower <= the true number <= upper`.

use crate::answer::Answer;
use crate::limits::{POINTS, ROUNDS, TOTAL_EFFORT};
use smallvec::{smallvec, SmallVec};

use crate::affine::context::{AffineContext, Budget};
use crate::affine::form::{AffineForm, AffineTerm};
use crate::components::components;
use crate::decide::injective::is_injective_within;
use crate::decide::points::points_between;
use crate::domain::{Constraint, Domain};
use crate::eval::points::AllPoints;
use crate::expr::{Expr, Kind};
use crate::int::gcd;
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::rules::constraint::as_residue;
use crate::simplify::simplify_by;
use crate::span::Interval;

/// The points for which a program computes a node in one instruction: an enumeration costs that many times less than a
/// search that examines as many terms.
const LANES: u64 = 8;

/// A number known to lie in `[lower, upper]`. An upper end of 2^128 - 1 means that no upper bound is known.
///
/// ```
/// use quasiaffine::{Count, Map};
/// let squares: Map = "(d0) -> ((d0 * d0) mod 7), domain: d0 in [0, 999999]".parse()?;
/// let bounded = squares.distinct();
/// assert!(!bounded.is_exact() && bounded.lower <= 4 && 4 <= bounded.upper);
/// assert!(Count::exact(4).is_exact());
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The lower bound.
    pub lower: u128,
    /// The upper bound; [`u128::MAX`] if no smaller bound is known.
    pub upper: u128,
}

impl Count {
    /// An exact number.
    pub const fn exact(n: u128) -> Count {
        Count { lower: n, upper: n }
    }

    /// Whether the number is exact.
    pub const fn is_exact(self) -> bool {
        self.lower == self.upper && self.upper != u128::MAX
    }

    fn times(self, other: Count) -> Count {
        Count { lower: self.lower.saturating_mul(other.lower), upper: self.upper.saturating_mul(other.upper) }
    }
}

/// See [`Map::touched`](crate::Map::touched).
pub fn touched(map: &Map) -> Count {
    match map.state() {
        State::Empty => Count::exact(0),
        State::Undefined => Count { lower: 0, upper: u128::MAX },
        State::Defined if map.domain().constraints.is_empty() => {
            Count::exact(box_size(map.domain(), 0..map.domain().vars.len()))
        }
        State::Defined => {
            let mut cx = context(map, Meter::new(TOTAL_EFFORT));
            groups(map, &[], &[]).iter().fold(Count::exact(1), |n, g| n.times(g.points(&mut cx, map.domain())))
        }
    }
}

/// See [`Map::distinct`](crate::Map::distinct).
pub fn distinct(map: &Map) -> Count {
    distinct_within(map, &mut Meter::new(TOTAL_EFFORT))
}

/// As [`distinct`], within the effort of a meter.
fn distinct_within(map: &Map, meter: &mut Meter) -> Count {
    match map.state() {
        State::Empty => Count::exact(0),
        State::Undefined => Count { lower: 0, upper: u128::MAX },
        State::Defined => {
            let mut cx = context(map, meter.take());
            let mut total = Count::exact(1);
            for g in &groups(map, map.results(), &moved_by(map.domain())) {
                total = total.times(if g.results.is_empty() {
                    // Of a group without results, only its emptiness matters.
                    let points = g.points(&mut cx, map.domain());
                    Count { lower: points.lower.min(1), upper: points.upper.min(1) }
                } else {
                    g.image(&mut cx, map.domain())
                });
            }
            *meter = cx.budget.meter;
            total
        }
    }
}

/// A context without facts that holds the meter of the question.
fn context(map: &Map, meter: Meter) -> AffineContext {
    AffineContext::without_facts(map.domain(), Options::default(), Budget { meter, trace: None })
}

/// Connected variables, with the constraints and results on them.
#[derive(Default)]
struct Group {
    vars: Vec<usize>,
    constraints: Vec<Constraint>,
    results: Vec<Expr>,
}

/// The groups of variables that the results and constraints use together, or that are `tied`.
fn groups(map: &Map, results: &[Expr], tied: &[SmallVec<[usize; 8]>]) -> Vec<Group> {
    let domain = map.domain();
    let vars_of = |e: &Expr| domain.vars_of(e);
    let used = results.iter().chain(domain.constraints.iter().map(|c| &c.expr)).map(vars_of);
    let roots = components(domain.vars.len(), used.chain(tied.iter().cloned()));
    let mut list: Vec<Group> = roots.iter().map(|_| Group::default()).collect();
    for (i, root) in roots.iter().enumerate() {
        list[*root].vars.push(i);
    }
    let place = |e: &Expr| vars_of(e).first().map(|v| roots[*v]);
    for e in results {
        if let Some(g) = place(e) {
            list[g].results.push(e.clone());
        }
    }
    for c in &domain.constraints {
        if let Some(g) = place(&c.expr) {
            list[g].constraints.push(c.clone());
        }
    }
    list.retain(|group| !group.vars.is_empty());
    list
}

/// The number of value combinations of variables, ignoring constraints. Runtime variables are not counted.
fn box_size(domain: &Domain, vars: impl Iterator<Item = usize>) -> u128 {
    let counted = vars.filter(|i| domain.var(*i).kind != Kind::Runtime);
    counted.fold(1u128, |n, i| n.saturating_mul(domain.vars[i].interval.size()))
}

impl Group {
    fn has_runtime(&self, domain: &Domain) -> bool {
        self.vars.iter().any(|i| domain.var(*i).kind == Kind::Runtime)
    }

    fn points(&self, cx: &mut AffineContext, domain: &Domain) -> Count {
        let all = box_size(domain, self.vars.iter().copied());
        if self.constraints.is_empty() {
            return Count::exact(all);
        }
        if self.has_runtime(domain) {
            return Count { lower: 0, upper: all };
        }
        if let Some(n) = self.residue_points(cx, domain).or_else(|| self.points_of_sum(cx, domain)) {
            return Count::exact(n);
        }
        match self.enumerate(domain, &[], &mut cx.budget.meter) {
            Some(all) => Count::exact(all.n_points() as u128),
            None => Count { lower: 0, upper: all },
        }
    }

    /// One variable `x` with `x mod n in [a, b]`.
    fn residue_points(&self, cx: &mut AffineContext, domain: &Domain) -> Option<u128> {
        let ([i], [c]) = (&self.vars[..], &self.constraints[..]) else {
            return None;
        };
        let form = cx.linear(&c.expr).ok()?;
        let (num, n) = as_residue(cx, &form)?;
        let single = matches!(num.terms[..], [t] if t.coefficient == 1 && t.atom as usize == *i);
        let single = single && form.constant == num.constant;
        let allowed = c.interval.intersect(Interval::new(0, n - 1));
        if !single {
            return None;
        }
        if allowed.is_empty() {
            return Some(0);
        }
        let Interval { lo, hi } = domain.vars[*i].interval;
        let shift = i128::from(num.constant);
        // How many integers from 0 on, below `end`, have an allowed residue.
        let below = |end: i128| {
            let (whole, part) = (end.div_euclid(i128::from(n)), end.rem_euclid(i128::from(n)));
            let size = allowed.size() as i128;
            whole * size + (part - i128::from(allowed.lo)).clamp(0, size)
        };
        Some((below(i128::from(hi) + shift + 1) - below(i128::from(lo) + shift)) as u128)
    }

    /// One constraint, on a sum of the variables.
    fn points_of_sum(&self, cx: &mut AffineContext, domain: &Domain) -> Option<u128> {
        let [c] = &self.constraints[..] else { return None };
        let form = cx.linear(&c.expr).ok()?;
        let is_var = |t: &AffineTerm| (t.atom as usize) < domain.vars.len();
        if form.terms.len() != self.vars.len() || !form.terms.iter().all(is_var) {
            return None;
        }
        let terms = form.terms.iter().map(|t| (t.coefficient, domain.vars[t.atom as usize].interval));
        let constant = i128::from(form.constant);
        let (lo, hi) = (i128::from(c.interval.lo) - constant, i128::from(c.interval.hi) - constant);
        points_between(&terms.collect::<SmallVec<[_; 4]>>(), lo, hi)
    }

    /// The map without a variable that only one sum uses: some value of it fits wherever those of the others leave one
    /// between its ends. A group of many variables stays as it is, since each step looks at all of them.
    fn without_unused(&self, cx: &mut AffineContext, domain: &Domain) -> Option<Map> {
        if self.vars.len() > ROUNDS {
            return None;
        }
        let uses = |e: &Expr, flat: usize| domain.vars_of(e).contains(&flat);
        for &flat in self.vars.iter().filter(|flat| domain.var(**flat).kind != Kind::Runtime) {
            let mut own = (0..self.constraints.len()).filter(|k| uses(&self.constraints[*k].expr, flat));
            let (Some(k), None) = (own.next(), own.next()) else { continue };
            if self.results.iter().any(|e| uses(e, flat)) {
                continue;
            }
            let (c, values) = (&self.constraints[k], domain.vars[flat].interval);
            let form = cx.linear(&c.expr).ok()?;
            let is_sum = form.terms.iter().all(|t| (t.atom as usize) < domain.vars.len());
            let weight = form.coefficient(flat as u32);
            // Between numbers that far apart there is a multiple of the weight.
            if !is_sum || u128::from(weight.unsigned_abs()) > c.interval.size() || weight == 0 {
                continue;
            }
            let (a, b) = (weight.checked_mul(values.lo)?, weight.checked_mul(values.hi)?);
            let interval = Interval::new(c.interval.lo.checked_sub(a.max(b))?, c.interval.hi.checked_sub(a.min(b))?);
            let expr = c.expr.sub(&Expr::Var(domain.var(flat)).scale(weight).ok()?).ok()?;
            let others: SmallVec<[usize; 8]> = self.vars.iter().copied().filter(|i| *i != flat).collect();
            let rest = self.constraints.iter().enumerate().filter(|(i, _)| *i != k).map(|(_, c)| c);
            let constraints = rest.cloned().chain([Constraint { expr, interval }]).collect::<Vec<_>>();
            let map = Map::part(domain, &others, constraints.iter(), &self.results).ok()?;
            return Some(simplify_by(&map, Options::default(), &mut cx.budget.meter));
        }
        None
    }

    /// All points of the group with their images, if they are few and the effort suffices.
    fn enumerate(&self, domain: &Domain, results: &[Expr], meter: &mut Meter) -> Option<AllPoints> {
        if !self.has_few_points(domain) {
            return None;
        }
        let map = self.alone(domain, results)?;
        meter.spend(self.enumeration(domain, &map) as usize).ok()?;
        AllPoints::of(&map, POINTS)
    }

    fn has_few_points(&self, domain: &Domain) -> bool {
        box_size(domain, self.vars.iter().copied()) <= POINTS && !self.has_runtime(domain)
    }

    /// The effort of an enumeration of few points.
    fn enumeration(&self, domain: &Domain, map: &Map) -> u64 {
        let nodes = map.cost().nodes + map.domain().constraints.iter().map(|c| u64::from(c.expr.nodes())).sum::<u64>();
        (box_size(domain, self.vars.iter().copied()) as u64).saturating_mul(1 + nodes / LANES)
    }

    /// The group alone: its dims and ranges as dims.
    fn alone(&self, domain: &Domain, results: &[Expr]) -> Option<Map> {
        let (vars, constraints) = (&self.vars, self.constraints.iter());
        Map::part(domain, vars, constraints, results).ok()
    }

    fn image(&self, cx: &mut AffineContext, domain: &Domain) -> Count {
        let moving = self.vars.iter().any(|i| domain.var(*i).kind == Kind::Runtime && !domain.vars[*i].is_fixed());
        if !moving {
            if let Some(exact) = self.exact_image(cx, domain) {
                return exact;
            }
        }
        if let Some(all) = self.enumerate(domain, &self.results, &mut cx.budget.meter) {
            return Count::exact(all.n_elements() as u128);
        }
        let points = self.points(cx, domain).upper;
        let bounding =
            self.results.iter().fold(1u128, |n, e| n.saturating_mul(cx.bounds(e).map_or(u128::MAX, Interval::size)));
        Count { lower: u128::from(self.constraints.is_empty()), upper: points.min(bounding) }
    }

    /// The number of images, if the form of the results determines it without enumeration.
    fn exact_image(&self, cx: &mut AffineContext, domain: &Domain) -> Option<Count> {
        let forms: Vec<AffineForm> = self.results.iter().map(|e| cx.linear(e)).collect::<Result<Vec<_>, _>>().ok()?;
        if let [form] = &forms[..] {
            if let Some(n) = residues(cx, domain, form).filter(|_| self.constraints.is_empty()) {
                return Some(Count::exact(n));
            }
            if let Some(chain) = chain(cx, domain, form) {
                match &self.constraints[..] {
                    [] => return Some(Count::exact(chain.n)),
                    // Runtime variables move the chain, which changes nothing without a constraint.
                    [c] if !self.has_runtime(domain) => {
                        if let Some(n) = chain.within(cx, form, c) {
                            return Some(Count::exact(n));
                        }
                    }
                    _ => {}
                }
            }
        }
        let fewer = self.without_unused(cx, domain).or_else(|| self.with_fewer_results(cx, domain, &forms));
        if let Some(n) = fewer.map(|map| distinct_within(&map, &mut cx.budget.meter)).filter(|n| n.is_exact()) {
            return Some(n);
        }
        let points = self.points(cx, domain);
        if !points.is_exact() {
            return None;
        }
        let map = self.alone(domain, &self.results)?;
        // Where an enumeration is possible, a proof takes no longer.
        let most = if self.has_few_points(domain) { self.enumeration(domain, &map) } else { TOTAL_EFFORT };
        let is_injective = cx.budget.meter.part(most, |own| is_injective_within(&map, own));
        matches!(is_injective, Answer::Yes).then_some(points)
    }

    /// The map with a quotient and its remainder joined into one result: `(a, b)` with `b` in `[0, n - 1]` has as many
    /// values as `a * n + b`.
    fn with_fewer_results(&self, cx: &mut AffineContext, domain: &Domain, forms: &[AffineForm]) -> Option<Map> {
        cx.spend(forms.len() * forms.len()).ok()?;
        let residue = |form: &AffineForm| as_residue(cx, form).filter(|(num, _)| num.constant == form.constant);
        let has_div = |form: &AffineForm, n: i64| {
            form.terms.iter().any(|t| cx.as_div(t.atom).is_some_and(|(_, divisor)| divisor == n))
        };
        let before: u32 = self.results.iter().map(Expr::divmods).sum();
        let of_residue = |(j, form): (usize, &AffineForm)| Some((j, residue(form)?.1));
        let mut pairs: Vec<(usize, usize, i64)> = Vec::new();
        for (j, n) in forms.iter().enumerate().filter_map(of_residue) {
            let quotients = forms.iter().enumerate().filter(|(i, form)| *i != j && has_div(form, n));
            pairs.extend(quotients.map(|(i, _)| (i, j, n)));
        }
        for (i, j, n) in pairs {
            let one = self.results[i].mul(&Expr::Const(n)).ok()?.add(&self.results[j]).ok()?;
            let others = self.results.iter().enumerate().filter(|(k, _)| *k != i && *k != j).map(|(_, e)| e.clone());
            let results: Vec<Expr> = [one].into_iter().chain(others).collect();
            let map = simplify_by(&self.alone(domain, &results)?, Options::default(), &mut cx.budget.meter);
            if map.cost().divmods < u64::from(before) {
                return Some(map);
            }
        }
        None
    }
}

/// Each runtime variable that moves, with the variables that move it: those of its index, or all without a source.
fn moved_by(domain: &Domain) -> Vec<SmallVec<[usize; 8]>> {
    let first = domain.vars.len() - domain.n_runtime();
    let moving = (first..domain.vars.len()).filter(|flat| !domain.vars[*flat].is_fixed());
    let mut tied = Vec::new();
    for flat in moving {
        let mut vars: SmallVec<[usize; 8]> = smallvec![flat];
        match &domain.vars[flat].source {
            Some(source) => source.index.iter().for_each(|e| vars.extend(domain.vars_of(e))),
            None => vars.extend(0..first),
        }
        tied.push(vars);
    }
    tied
}

/// `base + step * t` for `t` in `[0, n - 1]`, or, where `step` is `None`, `n` distinct values.
struct Chain {
    n: u128,
    step: Option<i128>,
    lo: i128,
}

impl Chain {
    /// The number of values that a constraint on the form leaves.
    fn within(&self, cx: &mut AffineContext, form: &AffineForm, c: &Constraint) -> Option<u128> {
        let step = self.step?;
        let constrained = cx.linear(&c.expr).ok()?;
        if constrained.terms != form.terms {
            return None;
        }
        let shift = i128::from(constrained.constant);
        let span = step.checked_mul(i128::try_from(self.n).ok()? - 1)?;
        let lo = (i128::from(c.interval.lo) - shift).checked_sub(self.lo)?.max(0);
        let hi = (i128::from(c.interval.hi) - shift).checked_sub(self.lo)?.min(span);
        let (first, last) = (lo.div_euclid(step) + i128::from(lo.rem_euclid(step) != 0), hi.div_euclid(step));
        Some((last - first + 1).max(0) as u128)
    }
}

/// The number of values of a form that is a multiple of one remainder: `(base + step*t) mod n` has a period of
/// `n / gcd(step, n)`.
fn residues(cx: &AffineContext, domain: &Domain, form: &AffineForm) -> Option<u128> {
    let (mut one, factor) = (form.clone(), form.content());
    one.terms.iter_mut().for_each(|t| t.coefficient /= factor.max(1));
    let (num, n) = as_residue(cx, &one)?;
    let chain = fixed_chain(cx, domain, &num)?;
    let step = i64::try_from(chain.step?.rem_euclid(i128::from(n))).ok()?;
    Some(chain.n.min((n / gcd(step, n)?) as u128))
}

/// The values of a form without runtime variables, whose place is known.
fn fixed_chain(cx: &AffineContext, domain: &Domain, form: &AffineForm) -> Option<Chain> {
    let moves =
        |t: &AffineTerm| (t.atom as usize) < domain.vars.len() && domain.var(t.atom as usize).kind == Kind::Runtime;
    if form.terms.iter().any(moves) {
        return None;
    }
    let mut chain = chain(cx, domain, form)?;
    chain.lo = chain.lo.checked_add(form.constant.into())?;
    Some(chain)
}

/// The values of `form floordiv n`: quotients of values that are at most `n` apart leave none out, those of values that
/// are further apart are all different.
fn quotients(cx: &AffineContext, domain: &Domain, num: &AffineForm, n: i64) -> Option<(i128, u128)> {
    let (values, n) = (fixed_chain(cx, domain, num)?, i128::from(n));
    let step = values.step.filter(|step| *step <= n)?;
    let last = values.lo.checked_add(step.checked_mul(i128::try_from(values.n).ok()? - 1)?)?;
    let (first, last) = (values.lo.div_euclid(n), last.div_euclid(n));
    Some((first, u128::try_from(last - first + 1).ok()?))
}

/// `k * (num floordiv n)` if a form is one up to its constant: `k*r + k*(x floordiv n)` is that of `n*r + x`.
fn one_quotient(cx: &AffineContext, domain: &Domain, form: &AffineForm) -> Option<(i64, AffineForm, i64)> {
    let is_div = |t: &&AffineTerm| t.atom as usize >= domain.vars.len();
    let mut divs = form.terms.iter().filter(is_div);
    let (t, None) = (divs.next()?, divs.next()) else { return None };
    let (num, n) = cx.as_div(t.atom)?;
    let mut whole = num.clone();
    for rest in form.terms.iter().filter(|rest| !is_div(rest)) {
        let factor = rest.coefficient.checked_div(t.coefficient).filter(|f| f * t.coefficient == rest.coefficient)?;
        whole.add_term(factor.checked_mul(n)?, rest.atom).ok()?;
    }
    Some((t.coefficient, whole, n))
}

/// The values of a form of independent variables, or of the quotient of one, in ascending order of their strides: each
/// either goes on where the smaller ones end, or is so large that nothing overlaps.
fn chain(cx: &AffineContext, domain: &Domain, form: &AffineForm) -> Option<Chain> {
    let mut parts: SmallVec<[(i128, u128); 6]> = SmallVec::new();
    let mut lo = 0i128;
    if form.terms.iter().any(|t| cx.atom_range(t.atom).is_empty()) {
        return None;
    }
    if let Some((k, num, n)) = one_quotient(cx, domain, form) {
        let (first, n) = quotients(cx, domain, &num, n)?;
        let (k, last) = (i128::from(k), first.checked_add(i128::try_from(n).ok()? - 1)?);
        let lo = k.checked_mul(first)?.min(k.checked_mul(last)?);
        return Some(Chain { n, step: Some(k.abs()), lo });
    }
    for t in &form.terms {
        let (k, flat) = (i128::from(t.coefficient), t.atom as usize);
        if flat >= domain.vars.len() {
            return None;
        }
        let interval = domain.vars[flat].interval;
        if domain.var(flat).kind == Kind::Runtime {
            continue;
        }
        lo = lo.checked_add((k * i128::from(interval.lo)).min(k * i128::from(interval.hi)))?;
        parts.push((k.abs(), interval.size()));
    }
    parts.sort_unstable();
    let mut chain = Chain { n: 1, step: None, lo };
    let mut span = 0i128;
    let mut contiguous = true;
    for (k, size) in parts {
        let size_less_one = i128::try_from(size).ok()? - 1;
        if size_less_one == 0 {
            continue;
        }
        match chain.step {
            None if contiguous => (chain.n, chain.step) = (size, Some(k)),
            Some(step) if k % step == 0 && k / step <= i128::try_from(chain.n).ok()? => {
                chain.n = chain.n.checked_add(u128::try_from(k / step * size_less_one).ok()?)?;
            }
            _ if k > span => {
                (chain.n, chain.step, contiguous) = (chain.n.checked_mul(size)?, None, false);
            }
            _ => return None,
        }
        span = span.checked_add(k.checked_mul(size_less_one)?)?;
    }
    chain.step = chain.step.or(contiguous.then_some(1));
    Some(chain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_map;

    fn counts(text: &str) -> (Count, Count) {
        let map = parse_map(text).unwrap();
        (touched(&map), distinct(&map))
    }

    #[test]
    fn an_enumeration_has_the_effort_of_its_instructions() {
        let sum =
            |from: usize| (from..from + 60).map(|k| format!("min(d0 mod {k}, d1)")).collect::<Vec<_>>().join(" + ");
        let all = [2, 62, 122, 182].map(sum).join(", ");
        let map = parse_map(&format!("(d0, d1) -> ({all}), domain: d0 in [0, 255], d1 in [0, 255]")).unwrap();
        let within = |effort: u64| distinct_within(&map, &mut Meter::new(effort));
        let n_terms = POINTS as u64 * map.cost().nodes;
        assert!(n_terms > TOTAL_EFFORT && within(TOTAL_EFFORT).is_exact());
        let bounded = within(n_terms / LANES - POINTS as u64);
        assert!(bounded.lower < distinct(&map).lower && distinct(&map).upper < bounded.upper);
    }

    #[test]
    fn a_group_of_any_size_is_counted_without_recursion() {
        let n = 20_000;
        let list = |of: &dyn Fn(usize) -> String, n: usize| (0..n).map(of).collect::<Vec<_>>().join(", ");
        let dims = list(&|i| format!("d{i}"), n);
        let ranges = list(&|i| format!("d{i} in [0, 9]"), n);
        let sums = list(&|i| format!("d{i} + d{} in [1, 15]", i + 1), n - 1);
        let (_, images) = counts(&format!("({dims}) -> (d0), domain: {ranges}, {sums}"));
        assert_eq!(images, Count { lower: 0, upper: 10 });
    }

    #[test]
    fn reshapes_recover_their_variables_at_any_size() {
        let big = "(d0, d1, d2) -> (d0 * 2 + d1 floordiv 2, (d1 mod 2) * 4 + d2), \
                   domain: d0 in [0, 999999], d1 in [0, 3], d2 in [0, 3]";
        assert_eq!(counts(big), (Count::exact(16_000_000), Count::exact(16_000_000)));
        let split = "(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 99999999]";
        assert_eq!(counts(split), (Count::exact(100_000_000), Count::exact(100_000_000)));
    }

    #[test]
    fn a_quotient_beside_its_remainder_counts_as_one_number() {
        let of = |quotient: &str, remainder: &str, n: i64| {
            let domain = format!("d0 in [0, {n}], d1 in [0, 12], d2 in [0, 12]");
            counts(&format!("(d0, d1, d2) -> ({quotient}, {remainder}), domain: {domain}")).1
        };
        // The remainder of d0*169 + d1*13 + d2 is written with the smallest coefficients.
        let position = "(d0 * 169 + d1 * 13 + d2) floordiv 4";
        assert_eq!(of(position, "(d0 + d1 + d2) mod 4", 511), Count::exact(512 * 169));
        assert_eq!(of(position, "(d0 + d1 + d2) mod 4", 1), Count::exact(2 * 169));
        // Another remainder, or one by another divisor, does not pair with the quotient.
        for remainder in ["(d0 + d1) mod 4", "(d0 + d1 + d2) mod 2"] {
            assert!(!of(position, remainder, 511).is_exact());
            assert!(of(position, remainder, 1).upper < 2 * 169);
        }
    }

    #[test]
    fn quotients_and_remainders_of_a_chain_have_no_gaps() {
        for (e, n) in [
            ("(d0 * 7 + d1) floordiv 2", 150_011),
            ("((d0 * 7 + d1) floordiv 2) * -3 + 8", 150_011),
            // Values 4 apart leave out no quotient by 4, and some by 3.
            ("(d0 * 1200004 + d1 * 4 + 1) floordiv 4", 4 * 300_001),
            ("(d0 * 7 + d1) mod 1000", 1000),
            ("(d0 * 1200004 + d1 * 4) mod 1000", 250),
            ("(d0 * 1200004 + d1 * 4) mod 3000000", 750_000),
            ("(d0 * 1200004 + d1 * 4) mod 30000000", 4 * 300_001),
        ] {
            let map = format!("(d0, d1) -> ({e}), domain: d0 in [0, 3], d1 in [0, 300000]");
            assert_eq!(counts(&map).1, Count::exact(n), "{e}");
        }
        let moved =
            "(d0){rt0} -> ((d0 + rt0) floordiv 2), domain: d0 in [0, 300000], rt0 in [0, 9], runtime: rt0 = #1()";
        assert!(!counts(moved).1.is_exact());
    }

    #[test]
    fn digits_that_a_search_does_not_separate_are_counted() {
        let digits = "(d0, d1) -> (d0 mod 2 + (d1 mod 3) * 2 + (d0 floordiv 2) * 6 + (d1 floordiv 3) * 3072), \
                      domain: d0 in [0, 1023], d1 in [0, 1022]";
        assert_eq!(counts(digits).1, Count::exact(1024 * 1023));
    }

    #[test]
    fn windows_overlap() {
        let window = "(d0)[s0] -> (d0 * 2 + s0), domain: d0 in [0, 999999], s0 in [0, 2]";
        assert_eq!(counts(window), (Count::exact(3_000_000), Count::exact(2_000_001)));
        let padded = "(d0)[s0] -> (d0 + s0 - 1), domain: d0 in [0, 999999], s0 in [0, 2], d0 + s0 in [1, 1000000]";
        assert_eq!(counts(padded).1, Count::exact(1_000_000));
    }

    #[test]
    fn a_fixed_offset_only_moves_the_image() {
        let fixed = "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 9], rt0 in [0, 90], runtime: rt0 = #1(0)";
        assert_eq!(counts(fixed).1, Count::exact(10));
        let moving = "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 9], rt0 in [0, 90], runtime: rt0 = #1(d0)";
        assert_eq!(counts(moving).1, Count { lower: 1, upper: 10 });
    }

    #[test]
    fn a_fixed_offset_moves_the_image_out_of_a_constraint() {
        let moved =
            "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 1], rt0 in [0, 2], d0 + rt0 in [2, 3], runtime: rt0 = #1()";
        assert_eq!(counts(moved).1, Count { lower: 0, upper: 2 });
    }

    #[test]
    fn a_value_read_at_each_point_takes_as_many_values_as_its_index() {
        let rows = "(d0, d1){rt0} -> (rt0, d1), domain: d0 in [0, 2], d1 in [0, 3], rt0 in [0, 9], runtime: rt0 = ";
        assert_eq!(counts(&format!("{rows}#1(d0)")).1, Count { lower: 4, upper: 12 });
        assert_eq!(counts(&format!("{rows}#1(0)")).1, Count::exact(4));
        let twice = "(d0, d1){rt0, rt1} -> (rt1), domain: d0 in [0, 2], d1 in [0, 3], rt0 in [0, 9], rt1 in [0, 9], \
                     runtime: rt0 = #1(d0), rt1 = #2(rt0)";
        assert_eq!(counts(twice).1, Count { lower: 1, upper: 3 });
        let anywhere = "(d0, d1){rt0} -> (rt0), domain: d0 in [0, 2], d1 in [0, 3], rt0 in [0, 99]";
        assert_eq!(counts(anywhere).1, Count { lower: 1, upper: 12 });
    }

    #[test]
    fn the_residue_of_something_else_than_the_variable_is_enumerated() {
        let nested = "(d0) -> (d0), domain: d0 in [1, 9], ((d0 mod 2) mod max(d0, 1)) mod 5 in [0, 0]";
        assert_eq!(counts(nested).0, Count::exact(5));
    }

    #[test]
    fn numbers_past_128_bits_are_not_exact() {
        let cube = "domain: d0 in [0, 9223372036854775807], d1 in [0, 9223372036854775807], d2 in [0, 3]";
        let (touched, _) = counts(&format!("(d0, d1, d2) -> (d0), {cube}"));
        assert_eq!(touched, Count { lower: u128::MAX, upper: u128::MAX });
        assert!(!touched.is_exact());
        let (touched, distinct) = counts(&format!("(d0, d1, d2) -> (d0 * 2, d1), {}", cube.replace("3]", "2]")));
        assert_eq!((touched, distinct), (Count::exact(3 << 126), Count::exact(1 << 126)));
        // Four strides whose sums leave 128 bits.
        let all = (0..4).map(|i| format!("d{i} in [-9223372036854775808, 9223372036854775807]"));
        let sum = (0..4).map(|i| format!("d{i} * -9223372036854775808"));
        let (all, sum) = (all.collect::<Vec<_>>().join(", "), sum.collect::<Vec<_>>().join(" + "));
        let (_, distinct) = counts(&format!("(d0, d1, d2, d3) -> ({sum}), domain: {all}"));
        assert!(distinct.lower <= 1 << 66 && 1 << 66 <= distinct.upper, "{distinct:?}");
    }

    #[test]
    fn a_value_past_64_bits_is_counted_like_any_other() {
        let squares = "(d0) -> ((d0 * d0) floordiv 4611686018427387904), domain: d0 in [4294967296, 17179869184]";
        assert_eq!(counts(squares), (Count::exact(12_884_901_889), Count { lower: 1, upper: 61 }));
        let few = "(d0) -> (d0), domain: d0 in [3037000498, 3037000503], d0 * d0 in [0, 9223372036854775807]";
        assert_eq!(counts(few), (Count::exact(2), Count::exact(2)));
    }

    #[test]
    fn points_and_images_under_one_sum_have_a_formula() {
        for n in [12, 126, 1_000_000] {
            let triangle = format!(
                "(d0)[s0, s1] -> (s0, s1), domain: d0 in [0, {n}], s0 in [0, {n}], s1 in [0, 4], d0 - s0 in [-{n}, 0]"
            );
            let m = n as u128 + 1;
            assert_eq!(counts(&triangle), (Count::exact(m * (m + 1) / 2 * 5), Count::exact(m * 5)));
            // No d0 is left for the first s0.
            let without = format!("(d0)[s0] -> (s0), domain: d0 in [1, {n}], s0 in [0, {n}], s0 - d0 in [2, {n}]");
            assert_eq!(counts(&without).1, Count::exact(m - 3));
            let strided = format!("(d0)[s0] -> (s0), domain: d0 in [0, {n}], s0 in [0, {n}], d0 * 3 - s0 in [0, 2]");
            assert_eq!(counts(&strided).1, Count::exact(m));
            let gaps = format!("(d0)[s0] -> (s0), domain: d0 in [0, 11], s0 in [0, {n}], d0 * 3 - s0 in [0, 1]");
            assert!(n > 1000 || counts(&gaps).1.is_exact());
        }
    }

    #[test]
    fn residues_count_in_closed_form() {
        let strided = "(d0) -> (d0 floordiv 7), domain: d0 in [3, 7000000], d0 mod 7 in [3, 3]";
        assert_eq!(counts(strided).0, Count::exact(1_000_000));
    }
}
