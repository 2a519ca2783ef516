//! Two points that reach one element: of two maps, or of one map at different points.
//!
//! The points of both maps become the columns of one integer system, and the results are required to be equal. If that
//! exceeds the effort and the maps have few points, all points are evaluated. The answer "none" is a proof for all
//! values of the runtime variables; the points of a positive answer are checked by evaluating the maps, and reach one
//! element for every value of the runtime variables.
//!
//! A runtime variable is an element of an array that only the running program knows. Two of them are equal if source,
//! range and index are. One without a source, or with an index that moves, may have another value at every point.

mod for_all;

use rustc_hash::FxHashMap;

use crate::decide::integer_system::flatten::{Environment, Flattener};
use crate::decide::integer_system::linear::{Linear, Span};
use crate::decide::integer_system::System;
use crate::domain::{Domain, Source};
use crate::error::Stop;
use crate::eval::points::AllPoints;
use crate::eval::program::{Points, Program};
use crate::limits::POINTS;
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::simplify::simplify;
use crate::span::Interval;
use for_all::{candidate, checked};

/// A point of a map: values of its variables.
///
/// ```
/// use quasiaffine::{Answer, Map};
/// let window: Map = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 9], s0 in [0, 2]".parse()?;
/// let Answer::No(common) = window.is_injective() else { panic!("windows overlap") };
/// assert_eq!((common.first.dims.len(), common.first.ranges.len(), common.first.runtime.len()), (1, 1, 0));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Point {
    /// The values of the dims.
    pub dims: Vec<i64>,
    /// The values of the range variables.
    pub ranges: Vec<i64>,
    /// Values of the runtime variables at which the element is the one that is reached. With other values the two points of
    /// a [`CommonElement`] reach another common element.
    pub runtime: Vec<i64>,
}

/// An element that two points reach.
///
/// ```
/// use quasiaffine::{Answer, Map};
/// let halves: Map = "(d0) -> (d0 mod 4), domain: d0 in [0, 7]".parse()?;
/// let Answer::No(common) = halves.is_injective() else { panic!("0 and 4 have the remainder 0") };
/// assert_eq!((common.second.dims[0] - common.first.dims[0]) % 4, 0);
/// assert_eq!(common.element, [common.first.dims[0] % 4]);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommonElement {
    /// The element: a value for each result.
    pub element: Vec<i64>,
    /// A point that reaches it.
    pub first: Point,
    /// Another one, of the second map or of the same.
    pub second: Point,
}

pub(crate) const NOT_DECIDED: &str = "not decided within the effort for one question";
pub(crate) const UNDEFINED: &str = "nothing is known about an undefined map";
const TOO_WIDE: &str = "the numbers in the maps are too large to decide";
const RUNTIME: &str = "the answer may depend on the values of the runtime variables";

/// A map, and its simplified form with all variables as dims, which has the same points.
pub(crate) struct Side {
    map: Map,
    flat: Map,
}

impl Side {
    /// Prepares a map; `None` if it is known to have no point.
    ///
    /// # Errors
    /// The reason why nothing is known.
    pub fn new(map: &Map) -> Result<Option<Side>, &'static str> {
        match map.state() {
            State::Empty => Ok(None),
            State::Undefined => Err(UNDEFINED),
            State::Defined => {
                let flat = map.regrouped(map.domain().vars.len(), 0).map_err(|_| TOO_WIDE)?;
                let flat = simplify(&flat, Options { keep_point_dims: true, ..Options::default() });
                Ok((flat.state() == State::Defined).then(|| Side { map: map.clone(), flat }))
            }
        }
    }

    /// The map with all variables as dims.
    pub fn flat(&self) -> &Map {
        &self.flat
    }

    /// The number of dims and ranges.
    pub fn n_free(&self) -> usize {
        self.map.domain().n_dims + self.map.domain().n_ranges
    }

    fn has_runtime(&self) -> bool {
        self.map.domain().n_runtime() > 0
    }

    fn point(&self, free: &[i64], runtime: Vec<i64>) -> Point {
        let (dims, ranges) = free.split_at(self.map.domain().n_dims);
        Point { dims: dims.to_vec(), ranges: ranges.to_vec(), runtime }
    }
}

/// The pairs of points to search for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pairs {
    /// Any.
    All,
    /// Points of one map that agree in all variables before this one, with the first point smaller in this one.
    FirstDifference(usize),
}

/// Two points that reach one element, `None` if no two do.
///
/// # Errors
/// The reason why neither is known.
pub(crate) fn find(
    a: &Side,
    b: &Side,
    pairs: Pairs,
    meter: &mut Meter,
) -> Result<Option<Box<CommonElement>>, &'static str> {
    let found = |points: TwoPoints| checked(a, b, &points).map(Box::new);
    let relaxed = relaxed(a, b, pairs, meter).and_then(|problem| problem.solve(meter));
    if !a.has_runtime() && !b.has_runtime() {
        let points = match relaxed {
            Ok(points) => points,
            Err(Stop::Effort) => by_points(a, b, pairs).ok_or(NOT_DECIDED)?,
            Err(Stop::Cancelled) => return Err(NOT_DECIDED),
            Err(Stop::Overflow) => return Err(TOO_WIDE),
        };
        return points.map(|points| found(points).ok_or(TOO_WIDE)).transpose();
    }
    if relaxed == Ok(None) {
        return Ok(None);
    }
    let mut candidates =
        [false, true].into_iter().filter_map(|by_index| candidate(a, b, pairs, by_index, meter).ok()?);
    candidates.find_map(found).map(Some).ok_or(RUNTIME)
}

/// Finds two such points by evaluating all points of maps without runtime variables; `None` if these are too many or
/// do not fit.
fn by_points(a: &Side, b: &Side, pairs: Pairs) -> Option<Option<TwoPoints>> {
    let (of_a, of_b) = (AllPoints::of(&a.flat, POINTS)?, AllPoints::of(&b.flat, POINTS)?);
    let variable = if let Pairs::FirstDifference(variable) = pairs { Some(variable) } else { None };
    let n_alike = variable.unwrap_or(0);
    let mut first = FxHashMap::default();
    for (point, element) in of_a.iter() {
        // The points are in order, so that the first one has the smallest value of the variable.
        first.entry((&point[..n_alike], element)).or_insert(point);
    }
    let found = of_b.iter().find_map(|(point, element)| {
        let other = *first.get(&(&point[..n_alike], element))?;
        variable.is_none_or(|i| other[i] < point[i]).then(|| (other.to_vec(), point.to_vec()))
    });
    Some(found)
}

/// The values of the dims and ranges of both maps.
type TwoPoints = (Vec<i64>, Vec<i64>);

/// A system for the points of two maps.
struct Problem {
    system: System,
    first: Vec<Linear>,
    second: Vec<Linear>,
}

impl Problem {
    fn solve(self, meter: &mut Meter) -> Result<Option<TwoPoints>, Stop> {
        let Problem { system, first, second } = self;
        let Some(values) = system.solve(meter)? else { return Ok(None) };
        let point = |forms: &[Linear]| -> Result<Vec<i64>, Stop> {
            forms.iter().map(|form| i64::try_from(form.at(&values)?).map_err(|_| Stop::Overflow)).collect()
        };
        Ok(Some((point(&first)?, point(&second)?)))
    }
}

/// The columns of the dims and ranges of both maps.
fn add_points(f: &mut Flattener, a: &Side, b: &Side, pairs: Pairs) -> Result<(Vec<Linear>, Vec<Linear>), Stop> {
    let mut columns = |side: &Side, from: usize| -> Vec<Linear> {
        let free = side.flat.domain().vars[from..side.n_free()].iter();
        free.map(|v| Linear::atom(f.system.add_column(v.interval.into()))).collect()
    };
    let first = columns(a, 0);
    let Pairs::FirstDifference(at) = pairs else {
        let second = columns(b, 0);
        return Ok((first, second));
    };
    let mut second = first[..at].to_vec();
    second.extend(columns(b, at));
    let difference = second[at].minus(&first[at])?;
    let upper = f.system.span(&difference)?.hi;
    f.system.add_row(&difference, Span { lo: 1, hi: upper.max(1) })?;
    Ok((first, second))
}

/// A runtime variable that has been read.
struct Read {
    id: i64,
    interval: Interval,
    index: Vec<Linear>,
    value: Linear,
}

/// The system whose solutions are all pairs of points that reach one element for some values of the runtime variables.
fn relaxed(a: &Side, b: &Side, pairs: Pairs, meter: &mut Meter) -> Result<Problem, Stop> {
    let mut f = Flattener::default();
    let (first, second) = add_points(&mut f, a, b, pairs)?;
    let mut reads: Vec<Read> = Vec::new();
    let mut results_of = |side: &Side, points: &[Linear]| {
        let values = add_runtime(&mut f, side, points.to_vec(), &mut reads, meter)?;
        results(&mut f, side, values, meter)
    };
    let (x, y) = (results_of(a, &first)?, results_of(b, &second)?);
    require_equal(&mut f, &x, &y)?;
    Ok(Problem { system: f.system, first, second })
}

/// The results of a map for these values of its variables, which must lie in the domain.
fn results(f: &mut Flattener, side: &Side, values: Vec<Linear>, meter: &mut Meter) -> Result<Vec<Linear>, Stop> {
    let mut env = Environment::new(side.flat.domain(), values);
    f.add_constraints(&mut env, meter)?;
    side.flat.results().iter().map(|e| f.flatten(&mut env, e, meter)).collect()
}

fn require_equal(f: &mut Flattener, x: &[Linear], y: &[Linear]) -> Result<(), Stop> {
    x.iter().zip(y).try_for_each(|(x, y)| f.system.add_row(&x.minus(y)?, Span::point(0)))
}

/// The values of all variables of a map: those of the runtime variables are columns, equal if they are known to be.
fn add_runtime(
    f: &mut Flattener,
    side: &Side,
    mut values: Vec<Linear>,
    reads: &mut Vec<Read>,
    meter: &mut Meter,
) -> Result<Vec<Linear>, Stop> {
    let domain = side.map.domain();
    for (v, narrowed) in domain.runtime().iter().zip(side.flat.domain().vars.iter().skip(values.len())) {
        let span = Span::from(narrowed.interval);
        let Some(source) = &v.source else {
            values.push(Linear::atom(f.system.add_column(span)));
            continue;
        };
        let index = index_forms(f, domain, source, &values, meter)?;
        let mut equal = None;
        let mut maybe_equal: Vec<(Vec<Linear>, Linear)> = Vec::new();
        for read in reads.iter().filter(|r| (r.id, r.interval, r.index.len()) == (source.id, v.interval, index.len())) {
            let differences = index.iter().zip(&read.index).map(|(x, y)| x.minus(y)).collect::<Result<Vec<_>, _>>()?;
            if differences.iter().all(|d| d.as_const() == Some(0)) {
                equal = Some(read.value.clone());
            } else if differences.iter().all(|d| d.as_const().is_none_or(|c| c == 0)) {
                maybe_equal.push((differences, read.value.clone()));
            }
        }
        let value = match equal {
            Some(value) => {
                f.system.add_row(&value, span)?;
                value
            }
            None => {
                let value = Linear::atom(f.system.add_column(span));
                for (differences, other) in maybe_equal {
                    f.system.add_same_function(differences, &value, &other)?;
                }
                value
            }
        };
        reads.push(Read { id: source.id, interval: v.interval, index, value: value.clone() });
        values.push(value);
    }
    Ok(values)
}

fn index_forms(
    f: &mut Flattener,
    domain: &Domain,
    source: &Source,
    values: &[Linear],
    meter: &mut Meter,
) -> Result<Vec<Linear>, Stop> {
    let mut env = Environment::new(domain, values.to_vec());
    source.index.iter().map(|e| f.flatten(&mut env, e, meter)).collect()
}

/// The element that a point of the domain reaches.
fn evaluate(map: &Map, point: &Point) -> Option<Vec<i64>> {
    let program = Program::new(map).ok()?;
    let points = Points { n: 1, dims: &point.dims, ranges: &point.ranges, runtime: &point.runtime };
    let inside = program.in_domain(&points).ok()?;
    inside[0].then(|| program.run::<true>(&points).ok()).flatten()
}
