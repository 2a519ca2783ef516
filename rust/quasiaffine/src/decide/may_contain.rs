//! Which of many maps may contain which: pairs that a few values rule out are left out.
//!
//! Read [`may_contain`]. A map contains another one only if it has each pair of dims and element that the other one has, so
//! one pair decides most questions. Maps without ranges have one element at each point: those that differ at a common point
//! are told apart without being compared, so that many such maps cost little more than one.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::analysis::interval::Interval;
use crate::analysis::wide_interval::interval;
use crate::eval::points::value_at;
use crate::expr::{Kind, Var};
use crate::interrupt::{poll, steps};
use crate::map::{Map, State};

/// Larger expressions are not evaluated.
const MAX_NODES: u32 = 256;

type Values = SmallVec<[i64; 4]>;

/// For each map the numbers of the others that may contain it, in ascending order.
///
/// ```
/// use quasiaffine::{may_contain, Map};
/// let maps: Vec<Map> = ["(d0) -> (d0)", "(d0) -> (d0 + 1)", "(d0)[s0] -> (s0)"].map(|m| {
///     format!("{m}, domain: d0 in [0, 3]{}", if m.contains("s0") { ", s0 in [0, 3]" } else { "" }).parse().unwrap()
/// }).into();
/// // At both ends of its variables the third map has what the first one has.
/// assert_eq!(may_contain(&maps), [vec![2], vec![], vec![0]]);
/// ```
pub fn may_contain(maps: &[Map]) -> Vec<Vec<usize>> {
    let witnesses: Vec<SmallVec<[Pair; 2]>> = maps.iter().map(pairs_of).collect();
    let common = witnesses.iter().flatten().next().map(|pair| &pair.dims);
    let elements: Vec<Value> = maps.iter().map(|m| common.map_or(Value::Open, |at| value_of(m, at))).collect();
    let mut by_element: FxHashMap<&Values, Vec<usize>> = FxHashMap::default();
    let mut others: Vec<usize> = Vec::new();
    for (i, element) in elements.iter().enumerate() {
        match element {
            Value::Element(element) => by_element.entry(element).or_default().push(i),
            // It contains no map that has an element at the common point.
            Value::Outside => {}
            Value::Open => others.push(i),
        }
    }
    let all: Vec<usize> = (0..maps.len()).collect();
    let mut out = Vec::with_capacity(maps.len());
    for (inner, element) in elements.iter().enumerate() {
        poll();
        let (alike, rest): (&[usize], &[usize]) = match element {
            Value::Element(element) => (&by_element[element], &others),
            Value::Outside | Value::Open => (&all, &[]),
        };
        steps(alike.len() + rest.len());
        let may = |outer: &usize| {
            *outer != inner
                && is_alike(&maps[*outer], &maps[inner])
                && witnesses[inner].iter().all(|pair| may_have(&maps[*outer], pair))
        };
        let mut found: Vec<usize> = alike.iter().chain(rest).copied().filter(may).collect();
        found.sort_unstable();
        out.push(found);
    }
    out
}

/// A point of the dims and an element that the map has there.
struct Pair {
    dims: Values,
    element: Values,
}

fn is_alike(outer: &Map, inner: &Map) -> bool {
    let shape = |m: &Map| (m.domain().n_dims, m.results().len());
    outer.state() != State::Defined || inner.state() != State::Defined || shape(outer) == shape(inner)
}

/// Up to two pairs of a map, at the ends of its variables.
fn pairs_of(map: &Map) -> SmallVec<[Pair; 2]> {
    let domain = map.domain();
    let mut out = SmallVec::new();
    if map.state() != State::Defined || domain.n_runtime() > 0 {
        return out;
    }
    for end in [|v: Interval| v.lo, |v: Interval| v.hi] {
        let point: SmallVec<[i64; 8]> = domain.vars.iter().map(|v| end(v.interval)).collect();
        if let Value::Element(element) = element_of(map, &point) {
            out.push(Pair { dims: SmallVec::from_slice(&point[..domain.n_dims]), element });
        }
    }
    out
}

/// What a map is at a point.
enum Value {
    Element(Values),
    /// The point is not in the domain.
    Outside,
    /// It may have several elements, or is not evaluated.
    Open,
}

/// What a map is at a point of its dims.
fn value_of(map: &Map, dims: &Values) -> Value {
    let domain = map.domain();
    let is_function = map.state() == State::Defined && domain.vars.len() == domain.n_dims;
    if is_function && dims.len() == domain.n_dims {
        element_of(map, dims)
    } else {
        Value::Open
    }
}

/// What a map is at a point of all variables.
fn element_of(map: &Map, point: &[i64]) -> Value {
    let domain = map.domain();
    if !domain.vars.iter().zip(point).all(|(v, x)| v.interval.contains(*x)) {
        return Value::Outside;
    }
    if map.results().iter().chain(domain.constraints.iter().map(|c| &c.expr)).any(|e| e.nodes() > MAX_NODES) {
        return Value::Open;
    }
    let of_var = |v: Var| domain.flat(v).map_or(0, |flat| point[flat]);
    for c in &domain.constraints {
        match value_at(&c.expr, &of_var) {
            Some(value) if c.interval.contains(value) => {}
            Some(_) => return Value::Outside,
            None => return Value::Open,
        }
    }
    let element: Option<Values> = map.results().iter().map(|e| value_at(e, &of_var)).collect();
    element.map_or(Value::Open, Value::Element)
}

/// Whether a map with as many dims may have a pair: intervals rule it out.
fn may_have(map: &Map, pair: &Pair) -> bool {
    let domain = map.domain();
    if map.state() != State::Defined {
        return true;
    }
    let of_var = |v: Var| match v.kind {
        Kind::Dim => Interval::point(pair.dims[v.index as usize]),
        _ => domain.flat(v).map_or(Interval::ALL, |flat| domain.vars[flat].interval),
    };
    let may_be = |e: &crate::Expr, wanted: Interval| {
        let values = interval(&of_var, e, MAX_NODES);
        values.lo <= i128::from(wanted.hi) && i128::from(wanted.lo) <= values.hi
    };
    domain.dims().iter().zip(&pair.dims).all(|(v, x)| v.interval.contains(*x))
        && map.results().iter().zip(&pair.element).all(|(e, x)| may_be(e, Interval::point(*x)))
        && domain.constraints.iter().all(|c| may_be(&c.expr, c.interval))
}
