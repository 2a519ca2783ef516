//! Decides whether different points of a map reach different elements.
//!
//! Points are values of the dims *and* the ranges, as in [`crate::touched`]: an injective map touches as many elements
//! as its domain has points. Two points differ first in some variable; for each variable a search looks for two such
//! points that reach one element (`common_element.rs`). If the search is undecided, a map whose results determine its
//! variables is still injective (`inverse.rs`).

use crate::answer::Answer;
use crate::decide::common_element::{find, CommonElement, Pairs, Side, NOT_DECIDED};
use crate::decide::inverse::is_invertible;
use crate::decide::overlap::{are_apart, Meeting};
use crate::domain::Domain;
use crate::error::Result;
use crate::limits::{EFFORT, TOTAL_EFFORT};
use crate::map::Map;
use crate::meter::Meter;

/// See [`Map::is_injective`](crate::Map::is_injective).
pub fn is_injective(map: &Map) -> Answer<Box<CommonElement>> {
    is_injective_within(map, &mut Meter::new(TOTAL_EFFORT))
}

/// Whether each element of an array is reached from at most one point of one of the maps to it; if not, two points that
/// reach one element. Each list has the maps to one array; a map is numbered among those of all lists. All maps share the
/// effort of one question.
///
/// # Errors
/// [`crate::Error::Arity`] if maps to one array have different numbers of results.
///
/// ```
/// use quasiaffine::{are_injective, Answer, Map};
/// let map = |values| format!("(d0) -> (d0), domain: d0 in {values}").parse::<Map>();
/// let (low, high) = (map("[0, 3]")?, map("[3, 5]")?);
/// assert_eq!(are_injective(&[vec![low.clone()], vec![high.clone()]])?, Answer::Yes);
/// let Answer::No(found) = are_injective(&[vec![low, high]])? else { panic!() };
/// assert_eq!((found.first, found.second, found.common.element), (0, 1, vec![3]));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
pub fn are_injective(arrays: &[Vec<Map>]) -> Result<Answer<Box<Meeting>>> {
    let (mut meter, mut unknown, mut before) = (Meter::new(TOTAL_EFFORT), None, 0);
    for maps in arrays {
        for (i, map) in maps.iter().enumerate() {
            if meter.left() == 0 {
                return Ok(Answer::Unknown(NOT_DECIDED));
            }
            match is_injective_within(map, &mut meter) {
                Answer::Yes => {}
                Answer::Unknown(reason) => unknown = unknown.or(Some(reason)),
                Answer::No(common) => {
                    let number = before + i;
                    return Ok(Answer::No(Box::new(Meeting { first: number, second: number, common: *common })));
                }
            }
        }
        match are_apart(maps, &mut meter)? {
            Answer::Yes => {}
            Answer::Unknown(reason) => unknown = unknown.or(Some(reason)),
            Answer::No(mut found) => {
                (found.first, found.second) = (before + found.first, before + found.second);
                return Ok(Answer::No(found));
            }
        }
        before += maps.len();
    }
    Ok(unknown.map_or(Answer::Yes, Answer::Unknown))
}

/// As [`is_injective`], within the effort of a meter.
pub(crate) fn is_injective_within(map: &Map, meter: &mut Meter) -> Answer<Box<CommonElement>> {
    match no_collision(map, meter) {
        // An inverse is a proof even if the search for two points was undecided.
        Answer::Unknown(_) if is_invertible(map) => Answer::Yes,
        found => found,
    }
}

fn no_collision(map: &Map, meter: &mut Meter) -> Answer<Box<CommonElement>> {
    let side = match Side::new(map) {
        Ok(None) => return Answer::Yes,
        Ok(Some(side)) => side,
        Err(reason) => return Answer::Unknown(reason),
    };
    let mut unknown = None;
    if meter.spend(side.flat().n_nodes()).is_err() {
        return Answer::Unknown(NOT_DECIDED);
    }
    let is_given = given_by_others(side.flat().domain());
    for variable in (0..side.n_free()).filter(|i| !is_given[*i]) {
        if meter.left() == 0 {
            return Answer::Unknown(NOT_DECIDED);
        }
        match meter.part(EFFORT, |own| find(&side, &side, Pairs::FirstDifference(variable), own)) {
            Ok(None) => {}
            Ok(Some(common)) => return Answer::No(common),
            Err(reason) => unknown = unknown.or(Some(reason)),
        }
    }
    unknown.map_or(Answer::Yes, Answer::Unknown)
}

/// By flat number, whether a variable has one value, or an equality gives its value by those of earlier variables: points
/// that agree in these agree in it, too.
fn given_by_others(domain: &Domain) -> Vec<bool> {
    let mut is_given: Vec<bool> = domain.vars.iter().map(|v| v.interval.as_point().is_some()).collect();
    for c in domain.constraints.iter().filter(|c| c.interval.as_point().is_some()) {
        let Some(last) = domain.vars_of(&c.expr).into_iter().max() else { continue };
        let v = domain.var(last);
        is_given[last] |= c.expr.split(v).is_some_and(|(k, rest)| k != 0 && !rest.has_var(v));
    }
    is_given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_of_constraints_are_decided_within_the_effort() {
        let list = |n: usize, of: &dyn Fn(usize) -> String| (0..n).map(of).collect::<Vec<_>>().join(", ");
        let chain = |n: usize, constraint: &dyn Fn(usize) -> String| {
            let (dims, sizes) = (list(n, &|i| format!("d{i}")), list(n, &|i| format!("d{i} in [0, 9]")));
            let text = format!("({dims}) -> (d0), domain: {sizes}, {}", list(n - 1, constraint));
            is_injective(&text.parse().unwrap())
        };
        let equal = |i: usize| format!("d{i} - d{} in [0, 0]", i + 1);
        let near = |i: usize| format!("d{i} + d{} in [1, 15]", i + 1);
        let even = |i: usize| format!("(d{i} + d{}) mod 2 in [0, 0]", i + 1);
        assert!(matches!(chain(300, &equal), Answer::Yes));
        assert!(matches!(chain(300, &near), Answer::No(_)));
        assert!(matches!(chain(100, &even), Answer::No(_)));
        assert!(matches!(chain(3000, &equal), Answer::Yes));
        assert!(matches!(chain(3000, &even), Answer::Unknown(_)));
    }
}
