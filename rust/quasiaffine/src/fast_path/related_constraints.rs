//! Decides whether constraints that share variables imply anything for each other, or for a quotient.
//!
//! `Related` asks what the rules ask: a fact `f in [l, u]` bounds a sum `x` if `x - q*f` has fewer terms
//! ([`crate::analysis::bounds`]), and `x mod n = r` rounds the ends of another constraint
//! ([`crate::rules::constraint::round_ends`]). Facts are found by their first variable, so that constraints without
//! common variables cost no more than they have terms. If the check cannot tell, it answers that something may follow.

use smallvec::SmallVec;

use crate::analysis::bounds::of_multiple;
use crate::analysis::congruence::Congruence;
use crate::analysis::interval::Interval;
use crate::analysis::wide_interval::WideInterval;
use crate::arithmetic::Number;
use crate::expr::{Expr, Op};
use crate::int::{common_quotient, gcd};
use crate::map::domain::{Constraint, Domain};
use crate::rules::div::{balanced, nearest_to_0};

/// A variable with its factor, by flat number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FlatTerm {
    factor: i64,
    flat: usize,
}

type FlatTerms = SmallVec<[FlatTerm; 6]>;

/// A constraint in normal form: a sum of variables, or its remainder.
struct Fact {
    terms: FlatTerms,
    /// The divisor of the remainder.
    modulus: Option<i64>,
    interval: Interval,
    /// The next fact with the same first variable.
    next: Option<usize>,
}

/// The constraints of a domain, each in normal form by itself.
pub struct Related<'a> {
    domain: &'a Domain,
    facts: SmallVec<[Fact; 6]>,
    /// The first of the facts that begin with a variable, by flat number.
    first: SmallVec<[Option<usize>; 12]>,
}

impl<'a> Related<'a> {
    /// The constraints of a domain; nothing if one is neither a sum of variables nor a remainder of one.
    pub fn new(domain: &'a Domain) -> Option<Related<'a>> {
        let mut first: SmallVec<[Option<usize>; 12]> = SmallVec::from_elem(None, domain.vars.len());
        let mut facts: SmallVec<[Fact; 6]> = SmallVec::new();
        for (i, Constraint { expr, interval }) in domain.constraints.iter().enumerate() {
            let (sum, modulus) = match expr.op() {
                Some(Op::Mod(a, Expr::Const(n))) => (a, Some(*n)),
                _ => (expr, None),
            };
            let terms = flat_terms(domain, sum)?;
            let next = first[terms.first()?.flat].replace(i);
            facts.push(Fact { terms, modulus, interval: *interval, next });
        }
        Some(Related { domain, facts, first })
    }

    /// Whether each constraint stays as it is next to the others.
    pub fn implies_nothing_for_each_other(&self) -> bool {
        (0..self.facts.len()).all(|i| self.stays(i).is_some())
    }

    /// Whether no constraint implies anything for a variable by itself.
    pub fn implies_nothing_for(&self, flat: usize) -> bool {
        self.beginning_with(flat).all(|fact| self.facts[fact].terms.len() > 1 || self.facts[fact].modulus.is_some())
    }

    /// Whether no constraint implies anything for the quotient of a sum of variables by `n`, to which no rule applies
    /// otherwise. The constant is that of the sum, or differs by a multiple of `n`.
    pub fn implies_nothing_for_quotient(&self, sum: &Expr, constant: i64, n: i64) -> bool {
        let Some(terms) = flat_terms(self.domain, sum) else { return false };
        if terms.iter().all(|t| self.first[t.flat].is_none()) {
            return true;
        }
        // A variable of fewer values may have a quotient that is affine in them.
        if !terms.iter().all(|t| self.implies_nothing_for(t.flat)) {
            return false;
        }
        let common = terms.iter().filter_map(|t| gcd(t.factor, n)).find(|g| *g > 1);
        let crosses = |factor: &dyn Fn(i64) -> i64, n: i64| {
            let form: FlatTerms = terms.iter().map(|t| FlatTerm { factor: factor(t.factor), ..*t }).collect();
            self.crosses(form, constant, n)
        };
        // The laws for quotients ask for the intervals of three sums, see `div_of_variables::stays`.
        crosses(&|k| k, n)
            && crosses(&|k| nearest_to_0(k, n), n)
            && common.is_none_or(|g| crosses(&|k| balanced(k, g), g))
    }

    /// Whether a sum may have several quotients by `n` under the constraints; false if that is not certain.
    fn crosses(&self, mut form: FlatTerms, constant: i64, n: i64) -> bool {
        form.retain(|t| t.factor != 0);
        let Some(sum) = self.narrowed(&form, None, self.ends(&form)) else { return false };
        let Some(Interval { lo, hi }) = sum.plus(Interval::point(constant).into()).interval() else { return false };
        lo <= hi && common_quotient(lo, hi, n).is_none()
    }

    /// The facts that begin with this variable.
    fn beginning_with(&self, flat: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.first[flat], |fact| self.facts[*fact].next)
    }

    fn stays(&self, i: usize) -> Option<()> {
        let fact = &self.facts[i];
        for t in &fact.terms {
            for other in self.beginning_with(t.flat).filter(|other| *other != i) {
                self.keeps_ends(fact, *t, &self.facts[other])?;
                stay_apart(fact, &self.facts[other]).then_some(())?;
            }
        }
        let all = fact.modulus.map_or_else(|| self.ends(&fact.terms), |n| Interval::new(0, n - 1).into());
        let all = self.narrowed(&fact.terms, Some(i), all)?;
        let given = WideInterval::from(fact.interval);
        (!given.covers(all) && !given.intersect(all).is_empty()).then_some(())
    }

    /// `Some` if `x mod n = r` leaves the ends of a constraint alone, where `x` begins with a variable of it.
    fn keeps_ends(&self, fact: &Fact, t: FlatTerm, other: &Fact) -> Option<()> {
        let (Some(n), Some(r)) = (other.modulus, other.interval.as_point()) else { return Some(()) };
        let Some(q) = exact_quotient(t, other)? else { return Some(()) };
        let rest = minus(&fact.terms, q, &other.terms)?;
        let content = rest.iter().try_fold(fact.modulus.unwrap_or(0), |g, t| gcd(g, t.factor))?;
        let multiple = Congruence::new(n, r)?.scaled_plus_multiple(q, content)?;
        (multiple.tighten(fact.interval) == fact.interval).then_some(())
    }

    /// The ends of a sum by the ranges of its variables.
    fn ends(&self, form: &[FlatTerm]) -> WideInterval {
        let of_term = |t: &FlatTerm| of_multiple(t.factor, self.domain.vars[t.flat].interval);
        form.iter().fold(WideInterval::point(0), |total, t| total.plus(of_term(t)))
    }

    /// The ends of a sum of variables, or of its remainder, under all facts but `own`; `None` if a fact would need a
    /// quotient.
    fn narrowed(&self, form: &[FlatTerm], own: Option<usize>, mut ends: WideInterval) -> Option<WideInterval> {
        for t in form {
            for i in self.beginning_with(t.flat).filter(|i| Some(*i) != own) {
                let fact = &self.facts[i];
                let Some(q) = exact_quotient(*t, fact)? else { continue };
                let rest = minus(form, q, &fact.terms)?;
                if rest.len() + usize::from(fact.modulus.is_some()) >= form.len() {
                    continue;
                }
                // `x mod n = x - n*(x floordiv n)`, where the div may cancel against the rest of `x`.
                let mut ends_of_all = self.ends(&rest).plus(of_multiple(q, fact.interval));
                for (factor, part) in own.into_iter().map(|own| (-1, &self.facts[own])).chain([(q, fact)]) {
                    if let Some(n) = part.modulus {
                        if rest.iter().any(|t| part.terms.iter().any(|of_x| of_x.flat == t.flat)) {
                            return None;
                        }
                        let of_div = Number::floor_div(self.ends(&part.terms), Interval::point(n).into());
                        ends_of_all = ends_of_all.plus(of_div.scale(n).scale(factor));
                    }
                }
                ends = ends.intersect(ends_of_all);
            }
        }
        Some(ends)
    }
}

/// Whether two constraints stay apart: `x mod n` and `x mod (k*n)` may merge, see [`crate::rules::residues::merge`].
fn stay_apart(a: &Fact, b: &Fact) -> bool {
    let (Some(m), Some(n)) = (a.modulus, b.modulus) else { return true };
    a.terms != b.terms || (m % n != 0 && n % m != 0)
}

/// The factor by which a fact cancels a term; the inner `None`: it is not an integer, the outer one: it does not fit.
fn exact_quotient(t: FlatTerm, fact: &Fact) -> Option<Option<i64>> {
    let lead = fact.terms.first()?.factor;
    let (q, left) = (t.factor.checked_div(lead)?, t.factor.checked_rem(lead)?);
    Some((left == 0).then_some(q))
}

/// `form - q * other`
fn minus(form: &[FlatTerm], q: i64, other: &[FlatTerm]) -> Option<FlatTerms> {
    let (mut out, mut i) = (FlatTerms::new(), 0);
    for t in other {
        while i < form.len() && form[i].flat < t.flat {
            out.push(form[i]);
            i += 1;
        }
        let mut factor = q.checked_mul(t.factor)?.checked_neg()?;
        if i < form.len() && form[i].flat == t.flat {
            factor = factor.checked_add(form[i].factor)?;
            i += 1;
        }
        if factor != 0 {
            out.push(FlatTerm { factor, flat: t.flat });
        }
    }
    out.extend_from_slice(&form[i..]);
    Some(out)
}

/// The terms of a sum of variables, in the order of their flat numbers.
fn flat_terms(domain: &Domain, sum: &Expr) -> Option<FlatTerms> {
    let of_term = |(factor, atom): (i64, &Expr)| match atom {
        Expr::Var(v) => Some(FlatTerm { factor, flat: domain.flat(*v)? }),
        _ => None,
    };
    sum.terms().map(of_term).collect()
}

#[cfg(test)]
mod tests {
    use crate::fast_path::normal::is_normal;
    use crate::text::parse_map;
    use crate::{simplify, Options};

    /// Maps that the check accepts as normal, and maps that it does not, whatever the rules make of them.
    #[test]
    fn constraints_that_share_variables_may_say_nothing_of_each_other() {
        let cases = [
            // Sums that share one variable of two.
            ("d0", "d0 + d1 in [1, 15], d1 + d2 in [1, 15]", true),
            // The difference of both has no fewer terms.
            ("d0", "d0 + d1 in [1, 15], d0 - d1 in [-7, 7]", true),
            // The difference of both is `d2`: if the first holds, so may the second, or an end of it.
            ("d0", "d0 + d1 in [3, 15], d0 + d1 + d2 in [3, 23]", false),
            ("d0", "d0 + d1 in [3, 15], d0 + d1 + d2 in [3, 22]", true),
            // A remainder of a sum, and a sum of other variables or of the same.
            ("d0", "(d0 + d1) mod 3 in [0, 1], d1 + d2 in [1, 15]", true),
            ("d0", "(d0 + d1) mod 3 in [0, 1], d0 + d1 in [1, 15]", true),
            ("d0", "(d0 + d1) mod 3 in [0, 1], d0 + d1 in [4, 15]", true),
            ("d0", "(d0 + d1) mod 9 in [0, 6], d0 + d1 in [1, 15]", true),
            ("d0", "(d0 + d1) mod 3 in [0, 0], d0 + d1 in [3, 15]", true),
            ("d0", "(d0 + d1) mod 3 in [0, 0], d0 + d1 in [2, 15]", false),
            ("d0", "(d0 + d1) mod 3 in [0, 0], (d0 + d1) * 2 + d2 in [2, 35]", true),
            ("d0", "(d0 + d1 * 2) mod 3 in [0, 0], (d0 + d1) * 2 + d2 in [2, 35]", true),
            ("(d0 + d1) floordiv 3", "(d0 + d1) mod 3 in [0, 0]", true),
            ("d2 + (d0 + d1) floordiv 3", "(d0 + d1) mod 3 in [0, 0]", false),
            ("d0", "(d0 + d1) mod 3 in [0, 0], (d0 + d1) mod 2 in [0, 0]", true),
            ("d0", "(d0 + d1) mod 3 in [0, 0], (d0 + d2) mod 2 in [0, 0]", true),
            ("d0", "(d0 + d1) mod 3 in [0, 0], (d0 + d1) mod 6 in [0, 3]", false),
            ("d0", "d0 mod 2 in [0, 0], d0 mod 4 in [0, 0]", false),
            // With an even `d0` the sum is even.
            ("d0", "d0 mod 2 in [0, 0], d0 + d1 * 2 in [2, 20]", true),
            ("d0", "d0 mod 2 in [0, 0], d0 + d1 * 2 in [1, 20]", false),
            // A div of a sum that shares one variable with a constraint, or both.
            ("(d0 * 3 + d1) floordiv 7", "d1 + d2 in [1, 15]", true),
            ("(d0 * 3 + d1) floordiv 7", "d0 + d1 in [1, 15]", true),
            ("(d0 * 3 + d1) mod 7", "d0 * 3 + d1 in [8, 24]", true),
            ("(d0 + d1 + d2) floordiv 16", "d0 + d1 + d2 in [8, 15]", false),
            ("(d0 + d1 + d2) floordiv 16", "d0 + d1 + d2 in [8, 16]", true),
            // The numerator is `-d0 + d1 + 3` and a multiple of 4.
            ("(d0 * 3 + d1 + 3) floordiv 4", "d0 - d1 in [0, 3]", false),
            ("(d0 * 3 + d1 + 3) floordiv 4", "d0 - d1 in [0, 4]", true),
            ("d2 + (d0 floordiv 2) mod 2", "d0 + d1 in [1, 15]", true),
            // An equality could give another form of the numerator.
            ("(d0 * 3 + d1) floordiv 7", "d0 + d2 in [8, 8]", false),
            ("d1 * 3 + d2", "d0 + d2 in [8, 8]", true),
        ];
        for (result, constraints, expected) in cases {
            let bounds = "d0 in [0, 8], d1 in [0, 8], d2 in [0, 8]";
            let map = parse_map(&format!("(d0, d1, d2) -> ({result}), domain: {bounds}, {constraints}")).unwrap();
            let options = Options::default();
            assert_eq!(is_normal(&map, options), expected, "{map}");
            // Debug builds verify that a normal map stays as it is.
            let simplified = simplify(&map, options);
            assert!(!expected || simplified == map, "{map} becomes {simplified}");
        }
    }
}
