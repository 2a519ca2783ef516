//! Composition of maps.
//!
//! The points of `then(first, second)` are those of `first` whose image lies in the domain of `second`, and its
//! value there is `second(first(point))`. Variables are numbered `[first's, second's]` for ranges and for runtime
//! variables, and each runtime variable keeps its source, with its index rewritten into the new variables.

use crate::cancel::{go_on, steps};

use smallvec::SmallVec;

use crate::domain::{Constraint, Domain};
use crate::error::{Error, Result};
use crate::expr::{Expr, Kind, Substitution, Var};
use crate::map::{Map, State};

/// See [`Map::then`](crate::Map::then).
pub fn then(first: &Map, second: &Map) -> Result<Map> {
    if first.state() != State::Defined || second.state() != State::Defined {
        return unusual(first, second);
    }
    let mut domain = Domain::default();
    let results = parts(first, second, &mut domain)?;
    Ok(Map::from_parts(domain, results))
}

/// The results of the composition of two defined maps. Fills the empty `domain`, not yet in normal form: returning it
/// would copy it three times, 8 % of the instructions of an easy composition.
pub(crate) fn parts(first: &Map, second: &Map, domain: &mut Domain) -> Result<SmallVec<[Expr; 4]>> {
    let (a, b) = (first.domain(), second.domain());
    if first.results().len() != b.n_dims {
        let what = "results of the first map, one for each dimension of the second map";
        return Err(Error::Arity { what, expected: b.n_dims, found: first.results().len() });
    }
    // Variables and constraints are copied.
    steps(a.vars.len() + a.constraints.len() + b.constraints.len());
    let (n_ranges, n_runtime) = (a.n_ranges as u32, a.n_runtime() as u32);
    let replace = |v: Var| {
        Ok(match v.kind {
            Kind::Dim => first.results()[v.index as usize].clone(),
            Kind::Range => Expr::range(v.index + n_ranges),
            Kind::Runtime => Expr::runtime(v.index + n_runtime),
        })
    };
    let mut substitution = Substitution::new(&replace);
    let apply = |e| {
        go_on()?;
        substitution.apply(e)
    };
    let results = second.results().iter().map(apply).collect::<Result<_>>()?;
    join(a, b, &replace, domain)?;
    domain.constraints.clone_from(&a.constraints);
    for c in &b.constraints {
        domain.constraints.push(Constraint { expr: substitution.apply(&c.expr)?, interval: c.interval });
    }
    for (e, dim) in first.results().iter().zip(b.dims()) {
        // An implied bound does not become a constraint.
        if !first.lies_in(e, dim.interval) {
            domain.constraints.push(Constraint { expr: e.clone(), interval: dim.interval });
        }
    }
    Ok(results)
}

/// Empty maps compose to empty maps, undefined maps to undefined ones; empty wins, since it is known.
fn unusual(first: &Map, second: &Map) -> Result<Map> {
    let keep = |v: Var| Ok(Expr::Var(v));
    let mut domain = Domain::default();
    join(first.domain(), second.domain(), &keep, &mut domain)?;
    let is_empty = first.state() == State::Empty || second.state() == State::Empty;
    Ok(if is_empty { Map::empty(&domain) } else { Map::undefined(&domain) })
}

/// Adds the variables of a composition to an empty domain.
fn join(a: &Domain, b: &Domain, replace: &dyn Fn(Var) -> Result<Expr>, domain: &mut Domain) -> Result<()> {
    (domain.n_dims, domain.n_ranges) = (a.n_dims, a.n_ranges + b.n_ranges);
    let vars = &mut domain.vars;
    vars.reserve(a.vars.len() + b.vars.len() - b.n_dims);
    for group in [&a.vars[..a.n_dims + a.n_ranges], b.ranges(), a.runtime()] {
        vars.extend(group.iter().cloned());
    }
    let of_second = vars.len();
    vars.extend(b.runtime().iter().cloned());
    vars[of_second..].iter_mut().try_for_each(|v| v.change_index(&|e| e.substitute(replace)))?;
    if domain.check_names().is_err() {
        // The two maps may use one name for different variables: then the variables of the second map lose their names.
        let n_free = domain.n_dims + domain.n_ranges;
        for flat in (a.n_dims + a.n_ranges..n_free).chain(n_free + a.n_runtime()..domain.vars.len()) {
            domain.vars[flat].name = None;
        }
        if domain.check_names().is_err() {
            domain.vars.iter_mut().for_each(|v| v.name = None);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_map;
    use crate::Options;

    fn composed(maps: &[&str]) -> String {
        let maps: Vec<Map> = maps.iter().map(|text| parse_map(text).unwrap()).collect();
        let mut out = maps[0].clone();
        for next in &maps[1..] {
            out = then(&out, next).unwrap().simplify(Options::default());
        }
        out.to_string()
    }

    #[test]
    fn what_a_composition_reads_lies_where_its_second_map_says() {
        // The interval of what is composed is [-7, 15], that of the second map [0, 8].
        let second = "(d0) -> (d0 floordiv 4 + (d0 floordiv 2) mod 2), domain: d0 in [0, 31]";
        assert_eq!(
            composed(&["(d0) -> (d0 * 2), domain: d0 in [0, 15]", second, "(d0) -> (d0), domain: d0 in [0, 8]"]),
            "(d0) -> (d0 - d0 floordiv 2), domain: d0 in [0, 15]"
        );
        // With one value less, the dimension restricts the map.
        assert_eq!(
            composed(&["(d0) -> (d0 * 2), domain: d0 in [0, 15]", second, "(d0) -> (d0), domain: d0 in [0, 7]"]),
            "(d0) -> (d0 - d0 floordiv 2), domain: d0 in [0, 14]"
        );
    }

    #[test]
    fn what_the_first_map_reads_says_nothing_of_what_both_read() {
        assert_eq!(
            composed(&[
                "(d0) -> (d0), domain: d0 in [0, 9]",
                "(d0) -> (d0 * 3), domain: d0 in [0, 9]",
                "(d0) -> (d0), domain: d0 in [0, 9]",
            ]),
            "(d0) -> (d0 * 3), domain: d0 in [0, 3]"
        );
    }
}
