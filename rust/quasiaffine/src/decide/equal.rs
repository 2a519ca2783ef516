//! Decides whether two maps are the same function: yes, no with a witness, or undecided within a budget; never wrong.
//!
//! Two maps are equivalent when every point of the dimensions has the same image under both, an image being the set of
//! elements over all values of the range variables, and a point outside a domain having none. First the normal forms
//! are compared, then values at a few points with the bounds of the other map. Equal maps contain each other
//! (`contains.rs`); if containment is undecided and the maps have few points, all of them are compared. Runtime
//! variables are inputs like dimensions, and must come from the same sources.

use crate::answer::Answer;
use crate::limits::{EFFORT, NODES, POINTS, TOTAL_EFFORT, VALUES};
use smallvec::SmallVec;

use crate::decide::contains::{containment, contains_within};
use crate::decide::count::{touched, Count};
use crate::domain::{Domain, Variable};
use crate::error::Error;
use crate::eval::points::{box_points, value_at, with_points};
use crate::eval::program::Program;
use crate::expr::intervals::{fits, interval};
use crate::expr::{Expr, Kind, Var};
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::simplify::{simplify, simplify_by};
use crate::span::Interval;

pub(crate) const UNDEFINED: &str = "nothing is known about an undefined map";
const UNKNOWN_EMPTINESS: &str = "it is unknown whether a domain is empty";
const READ_BY_RANGE: &str = "the index of a runtime variable depends on a range";
const NOT_EVALUATED: &str = "a map cannot be evaluated";

/// See [`Map::equivalent`](crate::Map::equivalent).
pub fn equivalent(a: &Map, b: &Map) -> Answer<Vec<i64>> {
    use Answer::{No, Unknown, Yes};
    if a.state() == State::Undefined || b.state() == State::Undefined {
        return Unknown(UNDEFINED);
    }
    if a == b {
        return Yes;
    }
    let (options, mut meter) = (Options { drop_unused: true, ..Options::default() }, Meter::new(TOTAL_EFFORT));
    let (a, b) = (simplify_by(a, options, &mut meter), simplify_by(b, options, &mut meter));
    if a == b {
        return Yes;
    }
    if a.domain().n_dims != b.domain().n_dims {
        return Unknown("the maps have different numbers of dimensions");
    }
    let differ_in = |m: &Map| first_point(m).map_or(Unknown(UNKNOWN_EMPTINESS), No);
    match (a.state(), b.state()) {
        (State::Empty, State::Empty) => return Yes,
        (State::Empty, _) => return differ_in(&b),
        (_, State::Empty) => return differ_in(&a),
        _ if a.results().len() != b.results().len() => return differ_in(&a),
        _ => {}
    }
    let Some(pair) = Pair::of(&a, &b) else {
        return Unknown("the runtime variables come from different sources");
    };
    pair.compare(&mut meter)
}

/// An input of a map that has an image.
fn first_point(m: &Map) -> Option<Vec<i64>> {
    let inputs = inputs(m.domain());
    let all: Vec<usize> = (0..m.domain().vars.len()).collect();
    let n_points = (POINTS as usize).min(EFFORT as usize / all.len().max(1));
    let tables = sample(m.domain(), &all, n_points);
    let program = Program::new(m).ok()?;
    let inside = with_points(m.domain(), &tables, |points| program.in_domain(points)).ok()?;
    let at = inside.iter().position(|x| *x)?;
    Some(inputs.iter().map(|flat| tables[*flat][at]).collect())
}

/// The variables that a point gives values to: dimensions and runtime variables.
fn inputs(domain: &Domain) -> Vec<usize> {
    (0..domain.vars.len()).filter(|i| domain.var(*i).kind != Kind::Range).collect()
}

/// Columns of at most `n` points: all points of the variables if there are no more, else corners and a fixed
/// pseudo-random sample.
fn sample(domain: &Domain, vars: &[usize], n: usize) -> Vec<Vec<i64>> {
    let size = vars.iter().fold(1u128, |n, i| n.saturating_mul(domain.vars[*i].interval.size()));
    let ranges: Vec<Interval> = (0..domain.vars.len()).map(|i| domain.vars[i].interval).collect();
    if size <= n as u128 {
        return box_points(&ranges, vars, size as usize);
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut columns: Vec<Vec<i64>> = ranges.iter().map(|r| vec![r.lo; n]).collect();
    for i in 0..n {
        for (bit, v) in vars.iter().enumerate() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let interval = ranges[*v];
            columns[*v][i] = if i < 32 && bit < 5 {
                // An odd factor: 32 points are all corners, and few already move each of the first five variables.
                [interval.lo, interval.hi][(i * 11 % 32) >> bit & 1]
            } else {
                let step = ((u128::from(state) * interval.size()) >> 64) as i128;
                (i128::from(interval.lo) + step) as i64
            };
        }
    }
    columns
}

/// Two simplified maps over the same dimensions and runtime variables.
struct Pair<'a> {
    a: &'a Map,
    b: Map,
}

impl<'a> Pair<'a> {
    /// Pairs the runtime variables of `b` with those of `a` that have an equal source, index and interval, each once.
    fn of(a: &'a Map, b: &Map) -> Option<Pair<'a>> {
        let (of_a, of_b) = (a.domain().runtime(), b.domain().runtime());
        if of_a.len() != of_b.len() {
            return None;
        }
        let (domain, n) = (b.domain(), b.domain().vars.len());
        let start = n - of_b.len();
        let mut order: Vec<usize> = (0..start).collect();
        for v in of_a {
            let same = |w: &Variable| w.interval == v.interval && w.source == v.source;
            order.push((start..n).find(|j| !order.contains(j) && same(&domain.vars[*j]))?);
        }
        if order.is_sorted() {
            return Some(Pair { a, b: b.clone() });
        }
        // A source index of `b` may name a runtime variable that moved; such maps are left alone.
        if of_b.iter().flat_map(Variable::index).any(|e| e.any_var(&|v| v.kind == Kind::Runtime)) {
            return None;
        }
        Some(Pair { a, b: b.reordered(&order, domain.n_dims, domain.n_ranges).ok()? })
    }

    fn compare(&self, meter: &mut Meter) -> Answer<Vec<i64>> {
        let (a, b) = (self.a, &self.b);
        if [a, b].into_iter().any(reads_by_range) {
            // Such a variable has a value for each value of a range, so it is not an input like the dimensions.
            let is_equal = contains_within(a, b, meter).is_yes() && contains_within(b, a, meter).is_yes();
            return if is_equal { Answer::Yes } else { Answer::Unknown(READ_BY_RANGE) };
        }
        if let Some(point) = self.differ_at_few_points(meter) {
            return Answer::No(point);
        }
        let Some(maps) = with_inputs_as_dims(a).zip(with_inputs_as_dims(b)) else {
            return Answer::Unknown(NOT_EVALUATED);
        };
        self.compare_by_containment(&maps, meter).unwrap_or_else(|| self.compare_sets(&maps, meter))
    }

    /// Whether the runtime variables may have these values together: one element has one value.
    fn is_possible(&self, point: &[i64]) -> bool {
        let domain = self.a.domain();
        let inputs = inputs(domain);
        let of_var = |v: Var| {
            let at = domain.flat(v).and_then(|flat| inputs.iter().position(|i| *i == flat));
            at.map_or(0, |at| point[at])
        };
        let n_dims = domain.n_dims;
        let read = |(i, v): (usize, &Variable)| {
            let source = v.source.as_ref()?;
            let index = source.index.iter().map(|e| value_at(e, &of_var)).collect::<Option<Vec<_>>>()?;
            // The values of the source element that the clamp maps to this value.
            let (x, Interval { lo, hi }) = (point[n_dims + i], v.interval);
            let element = Interval::new(if x == lo { i64::MIN } else { x }, if x == hi { i64::MAX } else { x });
            Some(((source.id, index), element))
        };
        let reads: Vec<_> = domain.runtime().iter().enumerate().filter_map(read).collect();
        let meet = |x: &Interval, y: &Interval| !x.intersect(*y).is_empty();
        reads.iter().all(|(at, x)| reads.iter().all(|(other, y)| at != other || meet(x, y)))
    }

    /// Tries very few points for one at which one map has an element that the bounds of the other one's results
    /// exclude. An image lies within the bounds over its point, whatever the constraints, and a point outside the box
    /// has none; so this proves a difference without enumerating the ranges of the other map.
    fn differ_at_few_points(&self, meter: &mut Meter) -> Option<Vec<i64>> {
        meter.spend(2 * VALUES * (self.a.n_nodes() + self.b.n_nodes())).ok()?;
        let excluded = |(one, other): (&Map, &Map)| self.excluded_at_few_points(one, other);
        [(self.a, &self.b), (&self.b, self.a)].into_iter().find_map(excluded)
    }

    fn excluded_at_few_points(&self, one: &Map, other: &Map) -> Option<Vec<i64>> {
        let (domain, of_other) = (one.domain(), other.domain());
        let all: Vec<usize> = (0..domain.vars.len()).collect();
        let columns = sample(domain, &all, VALUES);
        (0..columns.first().map_or(1, Vec::len)).find_map(|at| {
            // Maps have no other variables than their domains.
            let of_var = |v: Var| domain.flat(v).map_or(0, |flat| columns[flat][at]);
            let value = |e: &Expr| if e.nodes() > NODES { None } else { value_at(e, &of_var) };
            let around = |v: Var| match v.kind {
                Kind::Range => of_other.range_of(&Expr::Var(v)),
                _ => Interval::point(of_var(v)),
            };
            let in_box = |flat: usize| of_other.vars[flat].interval.contains(of_var(of_other.var(flat)));
            let is_excluded = |(x, y): (i64, &Expr)| {
                let bounds = interval(&around, y, NODES);
                i128::from(x) < bounds.lo || bounds.hi < i128::from(x)
            };
            if !domain.constraints.iter().all(|c| value(&c.expr).is_some_and(|x| c.interval.contains(x))) {
                return None;
            }
            let element: SmallVec<[i64; 4]> = one.results().iter().map(value).collect::<Option<_>>()?;
            let differs =
                !inputs(of_other).into_iter().all(in_box) || element.into_iter().zip(other.results()).any(is_excluded);
            let all_fit = || {
                let exprs = other.results().iter().chain(of_other.constraints.iter().map(|c| &c.expr));
                exprs.into_iter().all(|e| fits(&around, e))
            };
            let point = || inputs(domain).into_iter().map(|flat| columns[flat][at]).collect::<Vec<i64>>();
            (differs && all_fit()).then(point).filter(|point| self.is_possible(point))
        })
    }

    /// Equal maps contain each other.
    fn compare_by_containment(&self, (a, b): &(Map, Map), meter: &mut Meter) -> Option<Answer<Vec<i64>>> {
        let n_inputs = a.domain().n_dims;
        let mut answer = Some(Answer::Yes);
        for (outer, inner) in [(a, b), (b, a)] {
            match meter.part(EFFORT, |own| containment(outer, inner, own)) {
                Answer::Yes => {}
                Answer::No(point) if self.is_possible(&point[..n_inputs]) => {
                    return Some(Answer::No(point[..n_inputs].to_vec()));
                }
                _ => answer = None,
            }
        }
        answer
    }

    /// Compares images point by point: at all points if they are few, else at a sample, which can only show a
    /// difference.
    fn compare_sets(&self, (a, b): &(Map, Map), meter: &mut Meter) -> Answer<Vec<i64>> {
        let size = |vars: &[Variable]| vars.iter().fold(1u128, |n, v| n.saturating_mul(v.interval.size()));
        // The number of points that may be compared with all values of the ranges.
        let limit = POINTS / size(a.domain().ranges()).max(size(b.domain().ranges()));
        if limit == 0 {
            return Answer::Unknown("the range variables have too many values to compare");
        }
        // Over both boxes, so that a point in one domain alone is seen.
        let mut hull = a.domain().clone();
        for (v, w) in hull.vars.iter_mut().zip(b.domain().dims()) {
            v.interval = v.interval.hull(w.interval);
        }
        let columns = sample(&hull, &(0..hull.n_dims).collect::<Vec<_>>(), limit as usize);
        let (n, points) = (columns.first().map_or(1, Vec::len), &columns[..hull.n_dims]);
        let Some((x, y)) = images(a, points, n, meter).zip(images(b, points, n, meter)) else {
            return Answer::Unknown(NOT_EVALUATED);
        };
        let point = |at: usize| points.iter().map(|column| column[at]).collect::<Vec<i64>>();
        match (0..n).filter(|i| x[*i] != y[*i]).map(point).find(|point| self.is_possible(point)) {
            Some(point) => Answer::No(point),
            None if size(hull.dims()) <= limit => Answer::Yes,
            None => Answer::Unknown("too many points to compare, and a sample shows no difference"),
        }
    }
}

/// The map with its runtime variables as dimensions, after the others, if it is defined.
fn with_inputs_as_dims(m: &Map) -> Option<Map> {
    let domain = m.domain();
    let mut order = inputs(domain);
    let n_dims = order.len();
    order.extend(domain.n_dims..domain.n_dims + domain.n_ranges);
    m.reordered(&order, n_dims, domain.n_ranges).ok().filter(|m| m.state() == State::Defined)
}

/// Whether the index of a runtime variable depends on a range.
fn reads_by_range(m: &Map) -> bool {
    m.domain().runtime().iter().flat_map(Variable::index).any(|e| e.any_var(&|v| v.kind == Kind::Range))
}

/// The image of each of `n` points of the dims, given as columns: its elements in order, each once.
fn images(m: &Map, points: &[Vec<i64>], n: usize, meter: &mut Meter) -> Option<Vec<Vec<SmallVec<[i64; 4]>>>> {
    let domain = m.domain();
    let ranges: Vec<Interval> = domain.vars.iter().map(|v| v.interval).collect();
    let over: Vec<usize> = (domain.n_dims..domain.vars.len()).collect();
    let each = over.iter().map(|i| ranges[*i].size()).product::<u128>() as usize;
    // Each element is sorted.
    meter.spend(n * each * (1 + m.results().len())).ok()?;
    let mut columns = box_points(&ranges, &over, each);
    for (flat, column) in columns.iter_mut().enumerate() {
        *column = match points.get(flat) {
            Some(values) => values.iter().flat_map(|v| std::iter::repeat_n(*v, each)).collect(),
            None => column.repeat(n),
        };
    }
    let program = Program::new(m).ok()?;
    let width = m.results().len();
    let (inside, values) = with_points(domain, &columns, |points| {
        Ok::<_, Error>((program.in_domain(points)?, program.run::<false>(points)?))
    })
    .ok()?;
    let of_point = |at: usize| {
        let inside = (at * each..(at + 1) * each).filter(|i| inside[*i]);
        let mut image: Vec<SmallVec<[i64; 4]>> =
            inside.map(|i| SmallVec::from_slice(&values[i * width..][..width])).collect();
        image.sort_unstable();
        image.dedup();
        image
    };
    Some((0..n).map(of_point).collect())
}

/// See [`Map::is_empty`](crate::Map::is_empty).
pub fn is_empty(m: &Map) -> Answer {
    let m = simplify(m, Options { keep_point_dims: true, drop_unused: true, ..Options::default() });
    match m.state() {
        State::Empty => Answer::Yes,
        State::Undefined => Answer::Unknown(UNDEFINED),
        State::Defined if m.domain().constraints.is_empty() => Answer::No(()),
        State::Defined => match touched(&m) {
            Count { lower: 1.., .. } => Answer::No(()),
            Count { upper: 0, .. } => Answer::Yes,
            _ => first_point(&m).map_or(Answer::Unknown(UNKNOWN_EMPTINESS), |_| Answer::No(())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_map;

    fn compare(a: &str, b: &str) -> Answer<Vec<i64>> {
        equivalent(&parse_map(a).unwrap(), &parse_map(b).unwrap())
    }

    #[test]
    fn equal_functions_in_different_words() {
        for (a, b) in [
            ("(d0) -> ((d0 * 2) floordiv 3 + d0), domain: d0 in [0, 999999]", "(d0) -> ((d0 * 5) floordiv 3), domain: d0 in [0, 999999]"),
            ("(d0) -> (d0 floordiv 2 + (d0 + 1) floordiv 2), domain: d0 in [0, 999999999]", "(d0) -> (d0), domain: d0 in [0, 999999999]"),
            ("(d0) -> ((-d0) mod 3), domain: d0 in [0, 999999999]", "(d0) -> ((d0 * 2) mod 3), domain: d0 in [0, 999999999]"),
            ("(d0, d1) -> (((((d0 + d1 * 4) floordiv 12) * -7 + d1) floordiv 4) mod 2), domain: d0 in [0, 15], d1 in [0, 9500000]", "(d0, d1) -> ((d1 floordiv 3) mod 2), domain: d0 in [0, 15], d1 in [0, 9500000]"),
            ("(d0)[s0, s1] -> (d0, s0, s1), domain: d0 in [0, 9], s0 in [0, 3], s1 in [0, 5]", "(d0)[s0, s1] -> (d0, s1, s0), domain: d0 in [0, 9], s0 in [0, 5], s1 in [0, 3]"),
            ("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 9], s0 in [0, 7]", "(d0)[s0, s1] -> (d0 + s0 * 4 + s1), domain: d0 in [0, 9], s0 in [0, 1], s1 in [0, 3]"),
            ("(d0){rt0, rt1} -> (rt0 + rt1 * 2), domain: d0 in [0, 9], rt0 in [0, 7], rt1 in [0, 7], runtime: rt0 = #1(), rt1 = #2()", "(d0){rt0, rt1} -> (rt1 + rt0 * 2), domain: d0 in [0, 9], rt0 in [0, 7], rt1 in [0, 7], runtime: rt0 = #2(), rt1 = #1()"),
            ("(d0, d1) -> (d0 * d1), domain: d0 in [0, 9], d1 in [0, 9]", "(d0, d1) -> ((d0 + 1) * d1 - d1), domain: d0 in [0, 9], d1 in [0, 9]"),
        ] {
            assert_eq!(compare(a, b), Answer::Yes, "{a}\n{b}");
        }
    }

    #[test]
    fn different_functions_with_a_witness() {
        let witness = |a, b| match compare(a, b) {
            Answer::No(point) => point[0],
            other => panic!("{other:?}"),
        };
        assert!(witness("(d0) -> (d0 mod 8), domain: d0 in [0, 99]", "(d0) -> (d0), domain: d0 in [0, 99]") >= 8);
        assert_eq!(witness("(d0) -> (d0), domain: d0 in [0, 9]", "(d0) -> (d0), domain: d0 in [0, 8]"), 9);
        assert_eq!(witness("(d0) -> KNOWN EMPTY", "(d0) -> (d0), domain: d0 in [3, 3]"), 3);
        // Neither end of the interval lies in the domain.
        let odd = "(d0) -> (d0 * d0), domain: d0 in [0, 10], d0 floordiv 3 + d0 mod 3 in [3, 3]";
        let like = "(d0) -> (d0 * 4 - 3), domain: d0 in [0, 10], d0 floordiv 3 + d0 mod 3 in [3, 3]";
        assert!((2..10).contains(&witness(odd, like)));
        let rare = "(d0) -> (d0 floordiv 100000), domain: d0 in [0, 100000]";
        assert_eq!(witness(rare, "(d0) -> (0), domain: d0 in [0, 100000]"), 100_000);
    }

    #[test]
    fn what_cannot_be_known_is_unknown() {
        let a = "(d0){rt0} -> (rt0), domain: d0 in [0, 9], rt0 in [0, 7], runtime: rt0 = #1()";
        let b = "(d0){rt0} -> (rt0), domain: d0 in [0, 9], rt0 in [0, 7], runtime: rt0 = #2()";
        assert!(matches!(compare(a, b), Answer::Unknown(_)));
        let big = "(d0, d1) -> (d0 * d1), domain: d0 in [0, 99999], d1 in [0, 99999]";
        let same = "(d0, d1) -> ((d0 + 1) * d1 - d1), domain: d0 in [0, 99999], d1 in [0, 99999]";
        assert!(matches!(compare(big, same), Answer::Unknown(_)));
    }

    #[test]
    fn a_runtime_variable_read_by_a_range_is_no_input() {
        let read = |results: &str, upper: usize, index: &str| {
            format!("(d0)[s0, s1]{{rt0}} -> ({results}), domain: d0 in [0, 1], s0 in [0, {upper}], s1 in [0, 3], rt0 in [0, 9], runtime: rt0 = #1({index})")
        };
        let same = read("rt0 * 2 + s0", 3, "s0");
        assert_eq!(compare(&same, &read("rt0 + rt0 + s0", 3, "s0")), Answer::Yes);
        for other in [read("rt0 * 2 + s0", 2, "s0"), read("rt0 * 2 + s1", 3, "s0"), read("rt0 * 2 + s0", 3, "s1")] {
            assert!(matches!(compare(&same, &other), Answer::Unknown(_)), "{other}");
        }
        // If d0 and d1 are equal, so are the two elements.
        let pair = |result: &str, constraint: &str| {
            format!("(d0, d1){{rt0, rt1}} -> ({result}), domain: d0 in [0, 3], d1 in [0, 3], rt0 in [0, 9], rt1 in [0, 9]{constraint}, runtime: rt0 = #1(d0), rt1 = #1(d1)")
        };
        let equal = ", (d0 - d1) * (d0 - d1) in [0, 0]";
        assert_eq!(compare(&pair("rt0 * 2 + rt1", equal), &pair("rt0 + rt1 * 2", equal)), Answer::Yes);
        assert!(matches!(compare(&pair("rt0 * 2 + rt1", ""), &pair("rt0 + rt1 * 2", "")), Answer::No(_)));
    }

    #[test]
    fn emptiness() {
        let empty = |text| is_empty(&parse_map(text).unwrap());
        assert_eq!(empty("(d0) -> (d0), domain: d0 in [0, 9]"), Answer::No(()));
        assert_eq!(
            empty("(d0, d1) -> (d0), domain: d0 in [0, 9], d1 in [0, 9], d0 * 2 - d1 * 4 in [1, 1]"),
            Answer::Yes
        );
        assert_eq!(empty("(d0, d1) -> (d0), domain: d0 in [0, 9], d1 in [0, 9], d0 * d1 in [77, 77]"), Answer::Yes);
    }
}
