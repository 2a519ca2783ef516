//! The inverse of a map that is injective on its domain.
//!
//! Each result is taken apart into digits (`mixed_radix.rs`), and the variables are linear combinations of digits, up
//! to multiples of a modulus: `a*x + n*y = value` determines an `x` of at most `n` values if `a` is a unit modulo
//! `n`, as in the rotation `(x + 3) mod 8`. The constraints of the inverse say which points have a preimage: those for
//! which the variables lie in the old domain and map to the point itself.

use crate::affine::context::{AffineContext, Budget};
use crate::affine::form::{AffineForm, AtomId};
use crate::affine::mixed_radix::{mixed_radix_digits, units_of};
use crate::domain::{Constraint, Domain, Variable};
use crate::error::Result;
use crate::expr::{Expr, Kind, Var};
use crate::int::gcd;
use crate::list::List;
use crate::map::{Map, State};
use crate::options::Options;
use crate::simplify::simplify;

/// See [`Map::inverse`](crate::Map::inverse).
pub fn inverse(map: &Map) -> Option<Map> {
    let domain = map.domain();
    if map.state() == State::Empty {
        return Some(Map::empty(&Domain::of_sizes(&vec![1; map.results().len()])));
    }
    if map.state() == State::Undefined || domain.n_ranges > 0 {
        return None;
    }
    let map = simplify(map, Options { keep_point_dims: true, ..Options::default() });
    if map.state() != State::Defined {
        return Some(map);
    }
    build(&map).ok().flatten()
}

/// Whether the results of a map, with its ranges as dimensions, determine them all.
pub(crate) fn is_invertible(map: &Map) -> bool {
    let domain = map.domain();
    // A runtime variable without a source may have another value at each point.
    if map.state() != State::Defined || domain.runtime().iter().any(|v| v.source.is_none()) {
        return false;
    }
    let alone = map.regrouped(domain.n_dims + domain.n_ranges, 0);
    alone.is_ok_and(|map| inverse(&map).is_some())
}

/// The dimensions of a map as expressions of its results.
fn dims_of_results(map: &Map) -> Result<Option<Vec<Expr>>> {
    let domain = map.domain();
    let options = Options { keep_point_dims: true, ..Options::default() };
    let mut cx = AffineContext::without_facts(domain, options, Budget::default());
    let mut equations = Vec::new();
    for (j, e) in map.results().iter().enumerate() {
        let form = cx.linear(e)?;
        equations.extend(equations_of(&mut cx, &form, &Expr::dim(j as u32))?);
    }
    Ok(solve(&cx, equations, domain)?.filter(|solved| is_known(domain, solved)))
}

/// Whether the index of each runtime variable that the dimensions use consists of dimensions solved before.
fn is_known(domain: &Domain, solved: &[Expr]) -> bool {
    let first = domain.vars.len() - domain.n_runtime();
    let mut known = vec![false; domain.vars.len()];
    loop {
        let n_before = known.iter().filter(|is| **is).count();
        for flat in 0..known.len() {
            let is_known = |e: &Expr| !e.any_var(&|v| domain.flat(v).is_none_or(|flat| !known[flat]));
            let runtime_known =
                |e: &Expr| !e.any_var(&|v| v.kind == Kind::Runtime && domain.flat(v).is_none_or(|flat| !known[flat]));
            known[flat] = if flat < first {
                runtime_known(&solved[flat])
            } else {
                domain.vars[flat].index().iter().all(is_known)
            };
        }
        match known.iter().filter(|is| **is).count() {
            n if n == known.len() => return true,
            n if n == n_before => return false,
            _ => {}
        }
    }
}

fn build(map: &Map) -> Result<Option<Map>> {
    let domain = map.domain();
    let Some(solved) = dims_of_results(map)? else { return Ok(None) };
    let replace = |v: Var| match v.kind {
        Kind::Dim => Ok(solved[v.index as usize].clone()),
        _ => Ok(Expr::Var(v)),
    };
    let mut constraints = Vec::new();
    for c in &domain.constraints {
        constraints.push(Constraint { expr: c.expr.substitute(&replace)?, interval: c.interval });
    }
    for (v, e) in domain.dims().iter().zip(&solved) {
        constraints.push(Constraint { expr: e.clone(), interval: v.interval });
    }
    let mut vars: List<Variable, 6> = List::new();
    for (j, e) in map.results().iter().enumerate() {
        let there = e.substitute(&replace)?.sub(&Expr::dim(j as u32))?;
        constraints.push(Constraint { expr: there, interval: crate::Interval::point(0) });
        vars.push(Variable::new(map.bounds(e)?));
    }
    vars.extend(domain.runtime().iter().cloned());
    vars.iter_mut().try_for_each(|v| v.change_index(&|e| e.substitute(&replace)))?;
    let inverse = Domain { vars, n_dims: map.results().len(), n_ranges: 0, constraints };
    let inverse = Map::from_parts(inverse, solved.into());
    Ok(Some(simplify(&inverse, Options { keep_point_dims: true, ..Options::default() })))
}

/// A form over the old variables, and its value as an expression of the results.
struct Equation {
    form: AffineForm,
    value: Expr,
}

/// The equations that one result gives: one for each of its digits.
fn equations_of(cx: &mut AffineContext, form: &AffineForm, result: &Expr) -> Result<Vec<Equation>> {
    let Some(digits) = mixed_radix_digits(cx, form) else {
        let value = result.sub(&Expr::Const(form.constant))?;
        return Ok(vec![Equation { form: AffineForm { constant: 0, ..form.clone() }, value }]);
    };
    let values = units_of(&digits, form.constant, result)?;
    // The largest first.
    Ok(digits.into_iter().zip(values).rev().map(|(d, value)| Equation { form: d.unit, value }).collect())
}

/// Every dimension as an expression, by elimination over the atoms; `None` if one is left open.
fn solve(cx: &AffineContext, mut open: Vec<Equation>, domain: &Domain) -> Result<Option<Vec<Expr>>> {
    // Runtime variables and their multiples are known.
    for e in &mut open {
        for flat in domain.vars.len() - domain.n_runtime()..domain.vars.len() {
            let k = e.form.coefficient(flat as AtomId);
            e.form.add_term(crate::int::mul(k, -1)?, flat as AtomId)?;
            e.value = e.value.sub(&Expr::Var(domain.var(flat)).scale(k)?)?;
        }
    }
    // Atoms other than dimensions are eliminated first; a pivot of 1 or -1 keeps all coefficients integers.
    let mut solved: Vec<Option<Expr>> = vec![None; domain.n_dims];
    loop {
        let Some((at, atom, pivot)) = pick(&open, domain.n_dims) else {
            let Some((at, atom, value)) = pick_residue(cx, &open)? else { break };
            if let Some(dim) = solved.get_mut(atom as usize) {
                *dim = Some(value.clone());
            }
            for e in &mut open {
                let k = e.form.coefficient(atom);
                e.form.add_term(crate::int::mul(k, -1)?, atom)?;
                e.value = e.value.sub(&value.scale(k)?)?;
            }
            // The rest is divisible.
            let e = &mut open[at];
            let content = e.form.content();
            if content > 1 {
                e.form.terms.iter_mut().for_each(|t| t.coefficient /= content);
                e.value = e.value.floor_div(&Expr::Const(content))?;
            }
            continue;
        };
        let e = open.swap_remove(at);
        for other in &mut open {
            let k = other.form.coefficient(atom);
            if k != 0 {
                let factor = crate::int::mul(k, -pivot)?;
                other.form.add_scaled(factor, &e.form)?;
                other.value = other.value.add(&e.value.scale(factor)?)?;
            }
        }
        if (atom as usize) < domain.n_dims {
            solved[atom as usize] = Some(e.value.scale(pivot)?);
        }
    }
    // A dimension of one value needs no equation.
    for (i, v) in domain.dims().iter().enumerate() {
        if solved[i].is_none() {
            solved[i] = v.interval.as_point().map(Expr::Const);
        }
    }
    Ok(solved.into_iter().collect())
}

/// The next equation and atom to eliminate with: quotients before dimensions, dimensions once they are alone.
fn pick(open: &[Equation], n_dims: usize) -> Option<(usize, AtomId, i64)> {
    let unit = |k: i64| k == 1 || k == -1;
    let other = open.iter().enumerate().find_map(|(i, e)| {
        let t = e.form.terms.iter().rev().find(|t| t.atom as usize >= n_dims && unit(t.coefficient))?;
        Some((i, t.atom, t.coefficient))
    });
    other.or_else(|| {
        open.iter().enumerate().find_map(|(i, e)| match e.form.terms[..] {
            [t] if unit(t.coefficient) => Some((i, t.atom, t.coefficient)),
            _ => None,
        })
    })
}

/// An equation and an atom that it determines modulo some `n`, with the atom's value, if the atom takes each residue
/// once: `a*x + n*y = value`, and `x` in `[lo, lo + n - 1]`. A common factor of `a` and `n` divides the value, too.
fn pick_residue(cx: &AffineContext, open: &[Equation]) -> Result<Option<(usize, AtomId, Expr)>> {
    for (at, e) in open.iter().enumerate() {
        for t in &e.form.terms {
            let others = e.form.terms.iter().filter(|other| other.atom != t.atom);
            let content = others.map(|other| other.coefficient).try_fold(0, gcd);
            let Some((n, g)) = content.and_then(|n| Some((n, gcd(n, t.coefficient)?))) else { continue };
            let (a, n) = (t.coefficient / g, n / g);
            let value = e.value.floor_div(&Expr::Const(g))?;
            if n == 0 {
                // The atom is now alone, with a coefficient of 1 or -1.
                return Ok(Some((at, t.atom, value.scale(a)?)));
            }
            let range = cx.atom_range(t.atom);
            let unit = unit_inverse(a, n).filter(|_| !range.is_empty() && range.size() <= n as u128);
            let Some(unit) = unit else { continue };
            let lo = Expr::Const(range.lo);
            let value = value.scale(unit)?.sub(&lo)?.floor_mod(&Expr::Const(n))?.add(&lo)?;
            return Ok(Some((at, t.atom, value)));
        }
    }
    Ok(None)
}

/// `b` with `a * b = 1` modulo `n`, for numbers without a common factor: -1, which reverses, or else not negative.
fn unit_inverse(a: i64, n: i64) -> Option<i64> {
    // Invariant of each pair (r, b): r = a * b modulo n.
    let (mut last, mut next) = ((i128::from(n), 0i128), (i128::from(a).rem_euclid(n.into()), 1i128));
    while next.0 != 0 {
        let q = last.0 / next.0;
        (last, next) = (next, (last.0 - q * next.0, last.1 - q * next.1));
    }
    let unit = i64::try_from(last.1.rem_euclid(n.into())).ok().filter(|_| last.0 == 1)?;
    Some(if unit == n - 1 { -1 } else { unit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_map;

    fn inverse_of(text: &str) -> String {
        inverse(&parse_map(text).unwrap()).map_or("none".to_owned(), |m| m.to_string())
    }

    #[test]
    fn slices_reshapes_and_reversals_have_one() {
        let cases = [
            (
                "(d0, d1) -> (d1 * 7 + 3, d0 + 5), domain: d0 in [0, 4], d1 in [0, 2]",
                "(d0, d1) -> (d1 - 5, d0 floordiv 7), domain: d0 in [3, 17], d1 in [5, 9], d0 mod 7 in [3, 3]",
            ),
            (
                "(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]",
                "(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]",
            ),
            (
                "(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]",
                "(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]",
            ),
            (
                "(d0, d1, d2) -> (d0 * 2 + d1 floordiv 2, (d1 mod 2) * 4 + d2), \
                 domain: d0 in [0, 1], d1 in [0, 3], d2 in [0, 3]",
                "(d0, d1) -> (d0 floordiv 2, (d0 mod 2) * 2 + d1 floordiv 4, d1 mod 4), domain: d0 in [0, 3], d1 in [0, 7]",
            ),
            ("(d0) -> (-d0 + 16), domain: d0 in [0, 16]", "(d0) -> (-d0 + 16), domain: d0 in [0, 16]"),
            // Rotations, skews and multiples by a unit of the modulus.
            ("(d0) -> ((d0 + 3) mod 8), domain: d0 in [0, 7]", "(d0) -> ((d0 + 5) mod 8), domain: d0 in [0, 7]"),
            ("(d0) -> ((d0 * 5) mod 8), domain: d0 in [0, 7]", "(d0) -> ((d0 * 5) mod 8), domain: d0 in [0, 7]"),
            (
                "(d0, d1) -> ((d0 + d1) mod 8, d1), domain: d0 in [0, 7], d1 in [0, 7]",
                "(d0, d1) -> ((d0 - d1) mod 8, d1), domain: d0 in [0, 7], d1 in [0, 7]",
            ),
            (
                "(d0) -> (((d0 + 3) mod 8) * 4 + 1), domain: d0 in [2, 5]",
                "(d0) -> ((d0 floordiv 4 + 3) mod 8 + 2), domain: d0 in [1, 29], d0 mod 4 in [1, 1], (d0 + 11) mod 32 in [0, 12]",
            ),
            (
                "(d0, d1){rt0} -> (d0, d1 + rt0), domain: d0 in [0, 2], d1 in [0, 3], rt0 in [0, 8], runtime: rt0 = #1(d0)",
                "(d0, d1){rt0} -> (d0, d1 - rt0), domain: d0 in [0, 2], d1 in [0, 11], rt0 in [0, 8], d1 - rt0 in [0, 3], runtime: rt0 = #1(d0)",
            ),
            (
                "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 2], rt0 in [0, 8]",
                "(d0){rt0} -> (d0 - rt0), domain: d0 in [0, 10], rt0 in [0, 8], d0 - rt0 in [0, 2]",
            ),
        ];
        for (map, expected) in cases {
            assert_eq!(inverse_of(map), expected, "{map}");
        }
    }

    #[test]
    fn what_is_not_injective_has_none() {
        for map in [
            "(d0, d1) -> (d0), domain: d0 in [0, 3], d1 in [0, 7]",
            "(d0) -> (d0 floordiv 2), domain: d0 in [0, 9]",
            "(d0, d1) -> (d0 * 7 + d1), domain: d0 in [0, 3], d1 in [0, 7]",
            "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 3], s0 in [0, 1]",
            "(d0) -> ((d0 * 2) mod 8), domain: d0 in [0, 7]",
            "(d0) -> ((d0 + 3) mod 8), domain: d0 in [0, 8]",
            // The runtime value that moves the element is itself read at the element.
            "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 2], rt0 in [0, 8], runtime: rt0 = #1(d0)",
        ] {
            assert_eq!(inverse_of(map), "none", "{map}");
        }
    }
}
