//! Does one map relate every pair that another one relates?
//!
//! The ranges of the outer map are written as expressions of the inner map's variables: since the results must be
//! equal, the digits of a result give the ranges in it; runtime variables of one source are read at one index, which
//! gives others. With this choice "the outer map has this pair" is a conjunction of constraints, each of which is
//! proved by showing that no point of the inner map violates it. `true` holds for all values of the runtime variables;
//! `false` is proved if the choice is the only one.

use crate::answer::Answer;
use crate::limits::{EFFORT, TOTAL_EFFORT};
use rustc_hash::FxHashSet;

use crate::affine::context::AffineContext;
use crate::affine::mixed_radix::{are_apart, units_of, Digit, Digits};
use crate::decide::boxes::{Bounds, Boxes};
use crate::decide::common_element::NOT_DECIDED;
use crate::decide::equal::{is_empty, UNDEFINED};
use crate::decide::integer_system::flatten::{Environment, Flattener};
use crate::decide::integer_system::linear::{Linear, Span};
use crate::decide::ranges::uses;
use crate::domain::{Domain, Variable};
use crate::error::{Result, Stop};
use crate::expr::{Expr, Kind, Var};
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::span::Interval;

const NOT_ALIKE: &str = "the maps have different numbers of dimensions or results";

/// See [`Map::contains`](crate::Map::contains).
pub fn contains(outer: &Map, inner: &Map) -> Answer {
    contains_within(outer, inner, &mut Meter::new(EFFORT))
}

/// As [`contains`]; also undecided once the effort is spent.
pub(crate) fn contains_within(outer: &Map, inner: &Map, meter: &mut Meter) -> Answer {
    match missing_within(outer, inner, meter) {
        Answer::No(_) => Answer::No(()),
        Answer::Yes => Answer::Yes,
        Answer::Unknown(reason) => Answer::Unknown(reason),
    }
}

/// As [`contains_within`], with the values of the inner map's variables at a point whose pair the outer map lacks, if
/// one is found.
fn missing_within(outer: &Map, inner: &Map, meter: &mut Meter) -> Answer<Option<Vec<i64>>> {
    if inner.state() == State::Empty || (outer == inner && outer.state() == State::Defined) {
        return Answer::Yes;
    }
    if outer.state() == State::Empty && inner.domain().n_runtime() == 0 {
        return match is_empty(inner) {
            Answer::No(()) => Answer::No(None),
            Answer::Yes => Answer::Yes,
            Answer::Unknown(reason) => Answer::Unknown(reason),
        };
    }
    let has_both = outer.state() == State::Defined && inner.state() == State::Defined;
    let alike = outer.domain().n_dims == inner.domain().n_dims && outer.results().len() == inner.results().len();
    if !has_both || !alike {
        return Answer::Unknown(if has_both { NOT_ALIKE } else { UNDEFINED });
    }
    match containment(outer, inner, meter) {
        Answer::No(point) => Answer::No(Some(point)),
        Answer::Yes => Answer::Yes,
        Answer::Unknown(reason) => Answer::Unknown(reason),
    }
}

/// The answer to "do these maps contain those?", map by map.
///
/// ```
/// use quasiaffine::{covers, Coverage, Map};
/// let map = |values| format!("(d0) -> (d0), domain: d0 in {values}").parse::<Map>();
/// let inside = covers(&[(vec![map("[0, 5]")?], vec![map("[2, 3]")?])]);
/// let outside = covers(&[(vec![map("[0, 5]")?], vec![map("[5, 6]")?])]);
/// assert_eq!((inside, outside), (Coverage::Open(vec![vec![]]), Coverage::Lacks(0, 0, Some(vec![6]))));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// An inner map has a pair that the only outer map of its group lacks: the numbers of the group and of the map, and
    /// the values of its variables at a point with such a pair, if one is found.
    Lacks(usize, usize, Option<Vec<i64>>),
    /// By group, the inner maps that no outer map by itself is known to contain, each with the outer maps that may: all
    /// by numbers. Several outer maps may contain a map together. No numbers: the outer maps contain all.
    Open(Vec<Vec<(usize, Vec<usize>)>>),
    /// Not decided, with the reason.
    Unknown(&'static str),
}

/// Whether in each group of outer and inner maps, an outer map [contains](Map::contains) each inner one. All maps share the
/// effort of one question.
///
/// ```
/// use quasiaffine::{covers, Coverage, Map};
/// let map = |values| format!("(d0) -> (d0), domain: d0 in {values}").parse::<Map>();
/// let (outer, inner) = (vec![map("[0, 5]")?, map("[6, 9]")?], vec![map("[2, 3]")?, map("[5, 6]")?]);
/// assert_eq!(covers(&[(outer, inner)]), Coverage::Open(vec![vec![(1, vec![])]]));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
pub fn covers(groups: &[(Vec<Map>, Vec<Map>)]) -> Coverage {
    covers_within(groups, &mut Meter::new(TOTAL_EFFORT))
}

/// As [`covers`], within the effort of a meter.
fn covers_within(groups: &[(Vec<Map>, Vec<Map>)], meter: &mut Meter) -> Coverage {
    let mut open = Vec::with_capacity(groups.len());
    for (group, (outer, inner)) in groups.iter().enumerate() {
        let equal: FxHashSet<&Map> = outer.iter().filter(|map| map.state() == State::Defined).collect();
        let boxes: Vec<Bounds> = outer.iter().map(|map| map.bounding_box(meter)).collect();
        let mut near = Boxes::along(Boxes::best_axis(boxes.iter()));
        boxes.iter().enumerate().for_each(|(at, bounds)| near.insert(at as u32, bounds));
        let mut own = Vec::new();
        for (number, map) in inner.iter().enumerate() {
            if map.state() == State::Empty || equal.contains(map) {
                continue;
            }
            let bounds = map.bounding_box(meter);
            let mut undecided = Vec::new();
            let mut contains = |at: usize, meter: &mut Meter| {
                let found = meter.part(EFFORT, |own| missing_within(&outer[at], map, own));
                undecided.extend(found.known().is_none().then_some(at));
                found
            };
            let is_contained = match outer[..] {
                [_] => match contains(0, meter) {
                    Answer::No(point) => return Coverage::Lacks(group, number, point),
                    found => found.is_yes(),
                },
                _ => near.meeting(&bounds).any(|at| {
                    let meets = boxes[at as usize].iter().zip(&bounds).all(|(x, y)| !x.intersect(*y).is_empty());
                    meter.spend(bounds.len()).is_ok() && meets && contains(at as usize, meter).is_yes()
                }),
            };
            if meter.left() == 0 {
                return Coverage::Unknown(NOT_DECIDED);
            }
            if !is_contained {
                own.push((number, undecided));
            }
        }
        open.push(own);
    }
    Coverage::Open(open)
}

/// [`contains`], for maps that are defined and have equally many dims and results.
pub(crate) fn containment(outer: &Map, inner: &Map, meter: &mut Meter) -> Answer<Vec<i64>> {
    let mut points = Points::new(inner, meter.take());
    let answer = points.containment(outer, inner);
    *meter = points.cx.budget.meter;
    answer
}

impl Points<'_> {
    fn containment(&mut self, outer: &Map, inner: &Map) -> Answer<Vec<i64>> {
        let meter = &mut self.cx.budget.meter;
        let Ok(Some(choice)) = Choice::new(outer, inner, meter) else { return Answer::Unknown(NOT_DECIDED) };
        let Ok(conditions) = choice.conditions(outer, inner, meter) else { return Answer::Unknown(NOT_DECIDED) };
        let violation_decides = choice.is_only && inner.domain().n_runtime() == 0;
        let mut all = Answer::Yes;
        for (e, interval) in &conditions {
            match self.violation(e, *interval) {
                Ok(None) => {}
                Ok(Some(point)) if violation_decides => return Answer::No(point),
                Err(_) if violation_decides => all = Answer::Unknown(NOT_DECIDED),
                _ => return Answer::Unknown(NOT_DECIDED),
            }
        }
        all
    }
}

/// The ranges and runtime variables of the outer map, as expressions of the inner map's variables.
struct Choice {
    ranges: Vec<Option<Expr>>,
    runtime: Vec<Expr>,
    /// No other ranges reach the same element.
    is_only: bool,
    /// Conditions under which the runtime variables are those of the inner map.
    conditions: Vec<(Expr, Interval)>,
}

impl Choice {
    fn new(outer: &Map, inner: &Map, meter: &mut Meter) -> Result<Option<Choice>> {
        let domain = outer.domain();
        let ranges = vec![None; domain.n_ranges];
        let mut choice = Choice { ranges, runtime: Vec::new(), is_only: true, conditions: Vec::new() };
        loop {
            loop {
                meter.spend(outer.n_nodes())?;
                if !choice.solve_one(outer, inner)? {
                    break;
                }
            }
            // A range that no result determines and nothing else uses may take any of its values. With this value, a
            // result may determine another range.
            let Some(s) = choice.ranges.iter().position(Option::is_none) else { break };
            let own = domain.ranges()[s].interval;
            let is_used = uses(outer, s as u32);
            choice.is_only &= !is_used;
            let same = inner.domain().ranges().get(s).filter(|v| is_used && own.covers(v.interval));
            choice.ranges[s] = Some(same.map_or(Expr::Const(own.lo), |_| Expr::range(s as u32)));
        }
        Ok(choice.match_runtime(outer, inner)?.then_some(choice))
    }

    /// Solves for the ranges in one more result, or in an element that decides a runtime variable. Returns whether
    /// there was one.
    fn solve_one(&mut self, outer: &Map, inner: &Map) -> Result<bool> {
        let of_results = outer.results().iter().zip(inner.results());
        let sources = outer.domain().runtime().iter().enumerate().filter_map(|(i, v)| {
            // Of several variables with one source, only equal ranks match.
            let same = |w: &&Variable| are_alike(v, w);
            let rank = outer.domain().runtime()[..i].iter().filter(same).count();
            inner.domain().runtime().iter().filter(same).nth(rank).map(|w| (v.index(), w.index()))
        });
        for (e, value) in of_results.chain(sources.flat_map(|(a, b)| a.iter().zip(b))) {
            let Some(digits) = self.digits(outer.domain(), e) else { continue };
            // The value minus all known terms.
            let ranges =
                digits.iter().try_fold(Expr::Const(0), |sum, d| sum.add(&Expr::range(d.unit).scale(d.factor)?))?;
            let known = self.translate(&e.sub(&ranges)?)?;
            for (d, range) in digits.iter().zip(units_of(&digits, 0, &value.sub(&known)?)?) {
                self.ranges[d.unit as usize] = Some(range);
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// The unknown ranges of a result as the digits of a mixed-radix number.
    fn digits(&self, domain: &Domain, e: &Expr) -> Option<Digits<u32>> {
        let is_open = |v: Var| v.kind == Kind::Range && self.ranges[v.index as usize].is_none();
        let mut digits = Digits::new();
        let mut add = |factor: i64, atom: &Expr| match atom {
            Expr::Var(v) if is_open(*v) => {
                digits.push(Digit { unit: v.index, factor, interval: domain.ranges()[v.index as usize].interval });
                true
            }
            other => !other.any_var(&|v| is_open(v) || v.kind == Kind::Runtime),
        };
        let all_known = e.terms().all(|(k, atom)| add(k, atom));
        // Of equal factors, the first is the more significant digit.
        digits.reverse();
        digits.sort_by_key(|d| d.factor.unsigned_abs());
        (all_known && !digits.is_empty() && are_apart(&digits)).then_some(digits)
    }

    /// An expression of the outer map, in the variables of the inner one.
    fn translate(&self, e: &Expr) -> Result<Expr> {
        e.substitute(&|v| match v.kind {
            Kind::Dim => Ok(Expr::Var(v)),
            Kind::Range => Ok(self.ranges[v.index as usize].clone().unwrap_or(Expr::Var(v))),
            Kind::Runtime => {
                let known = self.runtime.get(v.index as usize).cloned();
                known.ok_or_else(|| crate::Error::UnknownVariable(format!("rt{}", v.index)))
            }
        })
    }

    /// Finds the inner map's variable for each runtime variable of the outer one.
    fn match_runtime(&mut self, outer: &Map, inner: &Map) -> Result<bool> {
        for v in outer.domain().runtime() {
            if v.source.is_none() {
                return Ok(false);
            }
            let index = v.index().iter().map(|e| self.translate(e)).collect::<Result<Vec<_>>>()?;
            let of_inner = || inner.domain().runtime().iter().enumerate();
            let alike = |w: &&(usize, &Variable)| are_alike(v, w.1);
            let equal = of_inner().find(|w| alike(&w) && w.1.index() == index);
            let Some((i, w)) = equal.or_else(|| of_inner().find(|w| alike(&w))) else { return Ok(false) };
            for (x, y) in index.iter().zip(w.index()) {
                if x != y {
                    self.conditions.push((x.sub(y)?, Interval::point(0)));
                }
            }
            self.runtime.push(Expr::runtime(i as u32));
        }
        Ok(true)
    }

    /// The conditions that must hold at each point of the inner map.
    fn conditions(&self, outer: &Map, inner: &Map, meter: &mut Meter) -> Result<Vec<(Expr, Interval)>> {
        meter.spend(outer.n_nodes() + inner.n_nodes())?;
        let domain = outer.domain();
        let mut out = self.conditions.clone();
        out.extend(domain.dims().iter().enumerate().map(|(i, v)| (Expr::dim(i as u32), v.interval)));
        for (e, v) in self.ranges.iter().zip(domain.ranges()) {
            out.extend(e.iter().map(|e| (e.clone(), v.interval)));
        }
        for (e, value) in outer.results().iter().zip(inner.results()) {
            out.push((self.translate(e)?.sub(value)?, Interval::point(0)));
        }
        for c in &domain.constraints {
            out.push((self.translate(&c.expr)?, c.interval));
        }
        Ok(out)
    }
}

/// Whether runtime variables of two maps have the same source and the same values.
fn are_alike(v: &Variable, w: &Variable) -> bool {
    let ids = v.source.as_ref().zip(w.source.as_ref());
    ids.is_some_and(|(a, b)| a.id == b.id) && v.interval == w.interval && v.index().len() == w.index().len()
}

/// The points of a map, for conditions on them.
struct Points<'m> {
    domain: &'m Domain,
    cx: AffineContext,
    columns: Vec<Linear>,
    /// The points as an integer system; `None` before it is needed.
    system: Option<std::result::Result<Flattener, Stop>>,
}

impl<'m> Points<'m> {
    /// The points, for questions within the effort of a meter, which the context then holds.
    fn new(map: &'m Map, meter: Meter) -> Points<'m> {
        let domain = map.domain();
        Points { domain, cx: AffineContext::within(domain, meter), columns: Vec::new(), system: None }
    }

    /// A point at which the expression lies outside the interval.
    fn violation(&mut self, e: &Expr, interval: Interval) -> Result<Option<Vec<i64>>, Stop> {
        if self.cx.bounds(e).is_some_and(|values| interval.covers(values)) {
            return Ok(None);
        }
        let (domain, columns, meter) = (self.domain, &mut self.columns, &mut self.cx.budget.meter);
        let system = self.system.get_or_insert_with(|| {
            let mut f = Flattener::default();
            columns.extend(domain.vars.iter().map(|v| Linear::atom(f.system.add_column(v.interval.into()))));
            f.add_constraints(&mut Environment::new(domain, columns.clone()), meter)?;
            Ok(f)
        });
        let system = system.as_ref().map_err(|stop| *stop)?;
        meter.spend(system.system.n_terms())?;
        let mut f = system.clone();
        let form = f.flatten(&mut Environment::new(domain, columns.clone()), e, meter)?;
        let all = f.system.span(&form)?;
        let (below, above) = (i128::from(interval.lo) - 1, i128::from(interval.hi) + 1);
        for outside in [Span { lo: all.lo.min(below), hi: below }, Span { lo: above, hi: all.hi.max(above) }] {
            meter.spend(f.system.n_terms())?;
            let mut violated = f.system.clone();
            violated.add_row(&form, outside)?;
            if let Some(values) = violated.solve(meter)? {
                // The first columns are the variables.
                let values =
                    values.iter().take(domain.vars.len()).map(|x| i64::try_from(*x).map_err(|_| Stop::Overflow));
                return values.collect::<Result<_, _>>().map(Some);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_maps_share_one_effort() {
        let list = |n: usize, of: &dyn Fn(usize) -> String| (0..n).map(of).collect::<Vec<_>>().join(", ");
        let chain = |k: usize| -> Map {
            let (dims, sizes) = (list(40, &|i| format!("d{i}")), list(40, &|i| format!("d{i} in [0, 9]")));
            let residues = list(39, &|i| format!("(d{i} + d{} * 3) mod {} in [0, 2]", i + 1, 5 + k));
            format!("({dims}) -> (d0), domain: {sizes}, {residues}").parse().unwrap()
        };
        let groups = [((0..12).map(chain).collect::<Vec<_>>(), (12..24).map(chain).collect::<Vec<_>>())];
        let mut meter = Meter::new(EFFORT);
        assert_eq!(covers_within(&groups, &mut meter), Coverage::Unknown(NOT_DECIDED));
        assert_eq!(meter.left(), 0);
        // Equal maps are found without a search.
        let same = [(groups[0].0.clone(), groups[0].0.clone())];
        assert_eq!(covers_within(&same, &mut Meter::new(EFFORT)), Coverage::Open(vec![vec![]]));
    }

    #[test]
    fn the_only_outer_map_decides() {
        let map =
            |results: &str, domain: &str| -> Map { format!("(d0) -> ({results}), domain: {domain}").parse().unwrap() };
        let all = map("d0", "d0 in [0, 9]");
        for (inner, expected) in [
            (map("d0", "d0 in [2, 3]"), Coverage::Open(vec![vec![]])),
            (map("d0 + 1", "d0 in [2, 3]"), Coverage::Lacks(0, 0, Some(vec![2]))),
            (map("d0", "d0 in [20, 29]"), Coverage::Lacks(0, 0, Some(vec![20]))),
            // Without a point, though that is not known before the search.
            (map("d0 + 20", "d0 in [0, 9], d0 * d0 in [7, 8]"), Coverage::Open(vec![vec![]])),
        ] {
            assert_eq!(covers(&[(vec![all.clone()], vec![inner.clone()])]), expected, "{inner}");
        }
    }
}
