//! Points that reach one element for every value of the runtime variables.
//!
//! [`candidate`] finds two points that do so at the ends of the ranges of the runtime variables, one variable at a
//! time. If the results are linear in these variables, that covers all values; [`checked`] verifies it.

use crate::limits::ALTERNATIVES;
use smallvec::SmallVec;

use super::{
    add_points, evaluate, index_forms, require_equal, results, CommonElement, Pairs, Problem, Side, TwoPoints,
};
use crate::decide::integer_system::flatten::Flattener;
use crate::decide::integer_system::linear::Linear;
use crate::domain::{Domain, Variable};
use crate::error::Stop;
use crate::expr::{Expr, Kind, Var};
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::simplify::simplify;
use crate::span::Interval;

/// The runtime variables of two maps, with equal ones identified.
struct Matching<'s> {
    /// The variables of the first map, then the other variables of the second one.
    variables: Vec<&'s Variable>,
    /// For each variable of the second map its number among these.
    numbers: Vec<usize>,
    /// The pairs of variables that are one.
    pairs: Vec<(&'s Variable, &'s Variable)>,
}

impl<'s> Matching<'s> {
    /// Identifies variables with equal sources; with `by_index`, also variables that are equal whenever their indices
    /// are.
    fn new(first: &'s [Variable], second: &'s [Variable], by_index: bool) -> Matching<'s> {
        let mut found = Matching { variables: first.iter().collect(), numbers: Vec::new(), pairs: Vec::new() };
        for v in second {
            let same = first.iter().position(|w| may_be_equal(v, w, by_index));
            found.numbers.push(same.unwrap_or(found.variables.len()));
            match same {
                Some(i) => found.pairs.push((&first[i], v)),
                None => found.variables.push(v),
            }
        }
        found
    }

    /// Values for the variables: all at their lower ends, then each in turn at its upper one.
    fn scenarios(&self) -> Vec<Vec<i64>> {
        let lower: Vec<i64> = self.variables.iter().map(|v| v.interval.lo).collect();
        let mut out = vec![lower.clone()];
        for (i, v) in self.variables.iter().enumerate() {
            let mut scenario = lower.clone();
            scenario[i] = v.interval.hi;
            out.push(scenario);
        }
        out
    }
}

/// Whether two variables are equal, or with `by_index` may be equal at some points.
fn may_be_equal(v: &Variable, w: &Variable, by_index: bool) -> bool {
    let (Some(of_v), Some(of_w)) = (&v.source, &w.source) else { return false };
    let is_alike = v.interval == w.interval && of_v.id == of_w.id && of_v.index.len() == of_w.index.len();
    is_alike && if v.is_fixed() && w.is_fixed() { of_v == of_w } else { by_index }
}

/// Two points that reach one element at both ends of the range of each runtime variable. With `by_index`, variables of
/// one source are made equal by requiring equal indices.
pub(super) fn candidate(
    a: &Side,
    b: &Side,
    pairs: Pairs,
    by_index: bool,
    meter: &mut Meter,
) -> Result<Option<TwoPoints>, Stop> {
    let matching = Matching::new(a.map.domain().runtime(), b.map.domain().runtime(), by_index);
    let is_new = !by_index || matching.pairs.iter().any(|(v, w)| !v.is_fixed() || !w.is_fixed());
    if matching.variables.len() > ALTERNATIVES || !is_new {
        return Ok(None);
    }
    let mut f = Flattener::default();
    let (first, second) = add_points(&mut f, a, b, pairs)?;
    for scenario in matching.scenarios() {
        let of_second: Vec<i64> = matching.numbers.iter().map(|i| scenario[*i]).collect();
        let (x, at_first) = results_at(&mut f, a, &first, &scenario, meter)?;
        let (y, at_second) = results_at(&mut f, b, &second, &of_second, meter)?;
        require_equal(&mut f, &x, &y)?;
        for (v, w) in &matching.pairs {
            let (Some(v), Some(w)) = (&v.source, &w.source) else { continue };
            let x = index_forms(&mut f, a.map.domain(), v, &at_first, meter)?;
            let y = index_forms(&mut f, b.map.domain(), w, &at_second, meter)?;
            require_equal(&mut f, &x, &y)?;
        }
    }
    Problem { system: f.system, first, second }.solve(meter)
}

/// The results of a map with numbers for its runtime variables, and the values of all variables.
fn results_at(
    f: &mut Flattener,
    side: &Side,
    points: &[Linear],
    runtime: &[i64],
    meter: &mut Meter,
) -> Result<(Vec<Linear>, Vec<Linear>), Stop> {
    let mut values = points.to_vec();
    for (value, v) in runtime.iter().zip(side.flat.domain().vars.iter().skip(points.len())) {
        let value = Linear::constant((*value).into());
        // The simplified range of the variable is narrower if a constraint says so.
        f.system.add_row(&value, v.interval.into())?;
        values.push(value);
    }
    Ok((results(f, side, values.clone(), meter)?, values))
}

/// The element that two points share for all values of the runtime variables, if there is one.
pub(super) fn checked(a: &Side, b: &Side, points: &TwoPoints) -> Option<CommonElement> {
    let mut unknowns = Unknowns::default();
    let first = unknowns.add(&a.map, &points.0)?;
    let second = unknowns.add(&b.map, &points.1)?;
    if !unknowns.intervals.is_empty() && !unknowns.hold([(&a.map, &first), (&b.map, &second)])? {
        return None;
    }
    let at_lower_ends = |fixed: &Fixed| fixed.runtime.iter().map(|i| unknowns.intervals[*i].lo).collect::<Vec<i64>>();
    let (at_first, at_second) = (at_lower_ends(&first), at_lower_ends(&second));
    let (first, second) = (a.point(&points.0, at_first), b.point(&points.1, at_second));
    let element = evaluate(&a.map, &first)?;
    (evaluate(&b.map, &second)? == element).then_some(CommonElement { element, first, second })
}

/// The numbers that only the running program knows, behind the runtime variables of two points.
#[derive(Default)]
struct Unknowns {
    /// The ranges.
    intervals: Vec<Interval>,
    /// Source, index and number of those that have both.
    known: Vec<(i64, Vec<i64>, usize)>,
}

/// The variables of one map at a point: dims and ranges are numbers, runtime variables are unknowns.
struct Fixed {
    free: Vec<i64>,
    runtime: Vec<usize>,
}

impl Fixed {
    /// An expression with all variables replaced; unknowns become dims.
    fn apply(&self, domain: &Domain, e: &Expr) -> Option<Expr> {
        let replace = |v: Var| {
            let value = match v.kind {
                Kind::Runtime => self.runtime.get(v.index as usize).map(|i| Expr::dim(*i as u32)),
                _ => domain.flat(v).and_then(|flat| self.free.get(flat)).map(|x| Expr::Const(*x)),
            };
            value.ok_or_else(|| crate::Error::UnknownVariable(domain.name(v)))
        };
        e.substitute(&replace).ok()
    }
}

impl Unknowns {
    fn add(&mut self, map: &Map, free: &[i64]) -> Option<Fixed> {
        let domain = map.domain();
        let mut fixed = Fixed { free: free.to_vec(), runtime: Vec::new() };
        for v in domain.runtime() {
            let new = self.intervals.len();
            let read = v.source.as_ref().and_then(|source| {
                let index = source.index.iter().map(|e| fixed.apply(domain, e)?.as_const());
                Some((source.id, index.collect::<Option<Vec<_>>>()?))
            });
            let same = |(id, index): &(i64, Vec<i64>)| {
                let same =
                    |(a, b, i): &&(i64, Vec<i64>, usize)| a == id && b == index && self.intervals[*i] == v.interval;
                self.known.iter().find(same).map(|(_, _, i)| *i)
            };
            let number = read.as_ref().and_then(same).unwrap_or(new);
            if number == new {
                self.intervals.push(v.interval);
                self.known.extend(read.map(|(id, index)| (id, index, new)));
            }
            fixed.runtime.push(number);
        }
        Some(fixed)
    }

    /// Whether both points lie in their domains and reach one element for all values of the unknowns.
    fn hold(&self, [(a, first), (b, second)]: [(&Map, &Fixed); 2]) -> Option<bool> {
        let vars = self.intervals.iter().map(|interval| Variable::new(*interval)).collect();
        let domain = Domain { vars, n_dims: self.intervals.len(), ..Domain::default() };
        let mut differences: SmallVec<[Expr; 4]> = SmallVec::new();
        for (x, y) in a.results().iter().zip(b.results()) {
            let (x, y) = (first.apply(a.domain(), x)?, second.apply(b.domain(), y)?);
            differences.push(x.sub(&y).ok()?);
        }
        let map = Map::from_parts(domain, differences);
        for (side, fixed) in [(a, first), (b, second)] {
            for c in &side.domain().constraints {
                let e = fixed.apply(side.domain(), &c.expr)?;
                if !c.interval.covers(map.bounds(&e).ok()?) {
                    return Some(false);
                }
            }
        }
        let simplified = simplify(&map, Options::default());
        let is_zero = simplified.results().iter().all(|e| e.as_const() == Some(0));
        Some(is_zero && simplified.state() == State::Defined)
    }
}
