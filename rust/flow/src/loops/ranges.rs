//! Range variables that maps through loops have: fewer of them, and fewer maps.
//!
//! A variable that only constraints use says that there is a number between some bounds; where it has the factors 1 and
//! -1 alone, there is one exactly if every lower bound is at most every upper bound.

use quasiaffine::map::State;
use quasiaffine::{contains, simplify, Constraint, Domain, Expr, Interval, Map, Op, Result, Var, Variable};
use smallvec::SmallVec;

use super::build::{
    bounds_of, constraints_of, fits, map, range, range_number, substituted, uses, Bounded, Bounds, DROP,
};
use super::unions::is_elsewhere;

const MAX_CONSTRAINTS: usize = 12;

/// The map without the range variables that can be eliminated exactly.
pub(super) fn drop_ranges(m: Map) -> Result<Map> {
    let mut m = m;
    'dropped: while m.state() == State::Defined && m.domain().n_ranges > 0 && !m.domain().constraints.is_empty() {
        let index = m.domain().runtime().iter().flat_map(Variable::index);
        let needed: Vec<&Expr> = m.results().iter().chain(index).collect();
        for number in (0..m.domain().n_ranges as u32).rev() {
            if needed.iter().any(|e| uses(e, range(number))) {
                continue;
            }
            if let Some(smaller) = without_range(&m, number)? {
                m = smaller;
                continue 'dropped;
            }
        }
        break;
    }
    Ok(m)
}

fn without_range(m: &Map, number: u32) -> Result<Option<Map>> {
    let domain = m.domain();
    let own = domain.ranges()[number as usize].interval;
    // low + bound <= variable, variable <= high + bound.
    let mut lower: SmallVec<[(Expr, i64); 8]> = SmallVec::from_iter([(Expr::Const(0), own.lo)]);
    let mut upper: SmallVec<[(Expr, i64); 8]> = SmallVec::from_iter([(Expr::Const(0), own.hi)]);
    let mut constraints: Vec<Bounded> = Vec::new();
    let variable = Expr::range(number);
    for Constraint { expr, interval } in &domain.constraints {
        if !uses(expr, range(number)) {
            constraints.push((expr.clone(), interval.lo, interval.hi));
            continue;
        }
        match factor(expr, number) {
            Some(1) => {
                let rest = variable.sub(expr)?;
                lower.push((rest.clone(), interval.lo));
                upper.push((rest, interval.hi));
            }
            Some(-1) => {
                let rest = expr.add(&variable)?;
                lower.push((rest.clone(), fits(-i128::from(interval.hi))?));
                upper.push((rest, fits(-i128::from(interval.lo))?));
            }
            _ => return Ok(None),
        }
    }
    if lower.len() > MAX_CONSTRAINTS {
        return Ok(None);
    }
    let free = Map::from_parts(domain.without_constraints(), SmallVec::new());
    for (i, (low, a)) in lower.iter().enumerate() {
        for (j, (high, b)) in upper.iter().enumerate() {
            if i != j {
                let difference = high.sub(low)?;
                let least = fits(i128::from(*a) - i128::from(*b))?;
                let largest = free.bounds(&difference)?.hi;
                constraints.push((difference, least, largest.max(least)));
            }
        }
    }
    let moved = |v: Var| {
        Ok(match v {
            v if v.kind == quasiaffine::Kind::Range && v.index > number => Expr::range(v.index - 1),
            v => Expr::Var(v),
        })
    };
    let mut ranges: SmallVec<[Variable; 6]> = domain.ranges().iter().cloned().collect();
    ranges.remove(number as usize);
    let cut = Domain { constraints: constraints_of(constraints), ..domain.clone() };
    let without = substituted(&Map::from_parts(cut, m.results().into()), domain.dims(), &ranges, &moved)?;
    Ok(Some(simplify(&without, DROP)))
}

/// The factor of a range variable in a sum; `None` where it occurs in another way.
fn factor(e: &Expr, number: u32) -> Option<i64> {
    if range_number(e) == Some(number) {
        return Some(1);
    }
    let Some(Op::Sum(sum)) = e.op() else { return (!uses(e, range(number))).then_some(0) };
    let mut found = 0;
    for term in &sum.terms {
        if range_number(&term.atom) == Some(number) {
            found = term.coefficient;
        } else if uses(&term.atom, range(number)) {
            return None;
        }
    }
    Some(found)
}

const MAX_JOINED: usize = 8;

/// The union in which a map with a constrained range and one at the end of that range become one.
///
/// The reads of an iteration itself and those through the state of earlier ones are such maps.
pub(super) fn join_ranges(mut maps: Vec<Map>) -> Result<Vec<Map>> {
    'joined: while (2..=MAX_JOINED).contains(&maps.len()) {
        for i in 0..maps.len() {
            for k in 0..maps.len() {
                if i == k {
                    continue;
                }
                let whole = match adjoined(&maps[i], &maps[k])? {
                    None => extended(&maps[i], &maps[k])?,
                    whole => whole,
                };
                if let Some(whole) = whole {
                    let others = maps.iter().enumerate().filter(|(j, _)| *j != i && *j != k).map(|(_, m)| m.clone());
                    maps = std::iter::once(whole).chain(others).collect();
                    continue 'joined;
                }
            }
        }
        break;
    }
    Ok(maps)
}

/// The first map with a range that is a result of its own and takes in a number beside it, which is that result of the
/// second map, if the maps agree in everything else.
fn adjoined(first: &Map, second: &Map) -> Result<Option<Map>> {
    let (a, b) = (first.domain(), second.domain());
    let is_candidate = first.state() == State::Defined
        && second.state() == State::Defined
        && a.n_runtime() + b.n_runtime() == 0
        && a.n_ranges == b.n_ranges + 1
        && first.results().len() == second.results().len()
        && bounds_of(a.dims()).eq(bounds_of(b.dims()));
    if !is_candidate {
        return Ok(None);
    }
    let ends = first.results().iter().zip(second.results());
    let Some((number, end)) = ends
        .filter_map(|(x, y)| Some((range_number(x)?, y.as_const()?)))
        .find(|(number, _)| !is_elsewhere(first, *number))
    else {
        return Ok(None);
    };
    let mut ranges: SmallVec<[Variable; 6]> = a.ranges().iter().cloned().collect();
    let own = ranges.remove(number as usize).interval;
    let is_beside = i128::from(end) == i128::from(own.lo) - 1 || i128::from(end) == i128::from(own.hi) + 1;
    if !is_beside || !bounds_of(&ranges).eq(bounds_of(b.ranges())) {
        return Ok(None);
    }
    let replace = |v: Var| match v.kind {
        quasiaffine::Kind::Range if v.index == number => Ok(Expr::Const(end)),
        quasiaffine::Kind::Range if v.index > number => Ok(Expr::range(v.index - 1)),
        _ => Ok(Expr::Var(v)),
    };
    let same = substituted(first, a.dims(), &ranges, &replace)?;
    if same.results() != second.results() || same.domain().constraints != b.constraints {
        return Ok(None);
    }
    let mut whole = a.clone();
    whole.vars[a.n_dims + number as usize].interval = Interval::new(own.lo.min(end), own.hi.max(end));
    Ok(Some(Map::from_parts(whole, first.results().iter().cloned().collect())))
}

/// The first map with a range extended so that it contains the second one, if it is then the union of both.
fn extended(first: &Map, second: &Map) -> Result<Option<Map>> {
    let (a, b) = (first.domain(), second.domain());
    let is_candidate = first.state() == State::Defined
        && second.state() == State::Defined
        && !a.constraints.is_empty()
        && a.n_runtime() == 0
        && b.n_runtime() == 0
        && b.n_ranges < a.n_ranges
        && a.n_dims == b.n_dims
        && first.results().len() == second.results().len();
    if !is_candidate {
        return Ok(None);
    }
    let named = named_alike(first, second)?;
    let mut different = (0..named.len()).filter(|&i| first.results()[i] != named[i]);
    let (Some(at), None) = (different.next(), different.next()) else { return Ok(None) };
    let Some(number) = range_number(&first.results()[at]) else { return Ok(None) };
    let end = &named[at];
    for c in &a.constraints {
        let Some(value) = at_end(&c.expr, number, end)?.as_const() else { continue };
        let (lo, hi) = (c.interval.lo, c.interval.hi);
        if i128::from(value) != i128::from(lo) - 1 && i128::from(value) != i128::from(hi) + 1 {
            continue;
        }
        let extended = (c.expr.clone(), lo.min(value), hi.max(value));
        let whole = with_hulls(first, second, number, at, extended)?;
        if is_union(&whole, c, end, number, first, second)? {
            return Ok(Some(whole));
        }
    }
    Ok(None)
}

/// An expression where a range variable has its last value.
fn at_end(e: &Expr, number: u32, end: &Expr) -> Result<Expr> {
    e.substitute(&|v| Ok(if v == range(number) { end.clone() } else { Expr::Var(v) }))
}

/// Whether the whole, cut where a constraint has the bounds of the first map, falls into the two maps.
///
/// Beyond these bounds range variable `number` is `end`.
fn is_union(whole: &Map, split: &Constraint, end: &Expr, number: u32, first: &Map, second: &Map) -> Result<bool> {
    if whole.state() != State::Defined || factor(&split.expr, number).is_none_or(|factor| factor == 0) {
        return Ok(false);
    }
    let domain = whole.domain();
    let others = || domain.constraints.iter().filter(|c| c.expr != split.expr);
    let mut within = domain.without_constraints();
    within.constraints = others().cloned().chain([split.clone()]).collect();
    let within = Map::from_parts(within, whole.results().iter().cloned().collect());
    if !reads_same(&within, first) {
        return Ok(false);
    }
    let mut beyond = domain.without_constraints();
    for c in others() {
        beyond.constraints.push(Constraint { expr: at_end(&c.expr, number, end)?, interval: c.interval });
    }
    let own = domain.ranges()[number as usize].interval;
    beyond.constraints.push(Constraint { expr: end.clone(), interval: own });
    let results = whole.results().iter().map(|e| at_end(e, number, end)).collect::<Result<_>>()?;
    Ok(reads_same(&Map::from_parts(beyond, results), second))
}

/// Whether two maps relate the same pairs.
fn reads_same(a: &Map, b: &Map) -> bool {
    simplify(a, DROP) == simplify(b, DROP) || (contains(a, b) == Some(true) && contains(b, a) == Some(true))
}

/// The results of the second map with its range variables numbered as those of the first in the same results.
fn named_alike(first: &Map, second: &Map) -> Result<Vec<Expr>> {
    let n = second.domain().n_ranges;
    let mut numbers: SmallVec<[Expr; 6]> = (0..n as u32).map(Expr::range).collect();
    for (a, b) in first.results().iter().zip(second.results()) {
        if let (Some(_), Some(number)) = (range_number(a), range_number(b)) {
            numbers[number as usize] = a.clone();
        }
    }
    let replace =
        |v: Var| Ok(if v.kind == quasiaffine::Kind::Range { numbers[v.index as usize].clone() } else { Expr::Var(v) });
    second.results().iter().map(|e| e.substitute(&replace)).collect()
}

/// The first map with bounds that contain both maps, and one constraint replaced.
fn with_hulls(first: &Map, second: &Map, number: u32, result: usize, extended: Bounded) -> Result<Map> {
    let hull = |(a, b): (Bounds, Bounds)| (a.0.min(b.0), a.1.max(b.1));
    let (a, b) = (first.domain(), second.domain());
    let dims: Vec<Bounds> = bounds_of(a.dims()).zip(bounds_of(b.dims())).map(hull).collect();
    let mut ranges: Vec<Bounds> = bounds_of(a.ranges()).collect();
    let values = second.bounds(&second.results()[result])?;
    ranges[number as usize] = hull(((values.lo, values.hi), ranges[number as usize]));
    let free = map(&dims, &ranges, Vec::new(), Vec::new()).bounds(&extended.0)?;
    let others = a.constraints.iter().filter(|c| c.expr != extended.0);
    let mut constraints: Vec<Bounded> = others.map(|c| (c.expr.clone(), c.interval.lo, c.interval.hi)).collect();
    constraints.push((extended.0, extended.1.max(free.lo), extended.2.min(free.hi)));
    Ok(map(&dims, &ranges, first.results().to_vec(), constraints))
}

/// The map with the bounds of its constraints narrowed to what the bounds of the variables allow.
pub(super) fn tighten(m: &Map) -> Result<Map> {
    let domain = m.domain();
    if m.state() != State::Defined || domain.constraints.is_empty() || domain.n_runtime() > 0 {
        return Ok(m.clone());
    }
    let free = Map::from_parts(domain.without_constraints(), SmallVec::new());
    let mut tight = domain.without_constraints();
    for c in &domain.constraints {
        let both = free.bounds(&c.expr)?.intersect(c.interval);
        let interval = if both.is_empty() { c.interval } else { both };
        tight.constraints.push(Constraint { expr: c.expr.clone(), interval });
    }
    Ok(Map::from_parts(tight, m.results().iter().cloned().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_beside_a_range_joins_it() {
        let one = |at: i64| format!("(d0)[s0] -> ({at}, s0), domain: d0 in [0, 4], s0 in [0, 2]").parse::<Map>();
        let range = |lo: i64, hi: i64| {
            format!("(d0)[s0, s1] -> (s0, s1), domain: d0 in [0, 4], s0 in [{lo}, {hi}], s1 in [0, 2]").parse::<Map>()
        };
        for (at, joined) in [(0, Some((0, 6))), (7, Some((1, 7))), (8, None)] {
            let found = adjoined(&range(1, 6).unwrap(), &one(at).unwrap()).unwrap();
            assert_eq!(found, joined.map(|(lo, hi)| range(lo, hi).unwrap()), "{at}");
        }
        // The other range is smaller.
        let narrow = "(d0)[s0] -> (0, s0), domain: d0 in [0, 4], s0 in [0, 1]".parse().unwrap();
        assert_eq!(adjoined(&range(1, 6).unwrap(), &narrow).unwrap(), None);
    }
}
