//! The law of dependent divs: over a small box, a quotient that is a sum of multiples of variables and of other
//! divs at every point is written as that sum.
//!
//! A few points show that most divs are no such sum, or which one they could be: linear equations modulo a prime. That
//! it is the sum everywhere is shown by all points (`periodicity.rs`).

use smallvec::SmallVec;

use crate::affine::context::{AffineContext, AtomKind};
use crate::affine::form::{AffineForm, AtomId};
use crate::analysis::periodicity::is_zero;
use crate::expr::Expr;
use crate::int::{floor_div, floor_mod};
use crate::rules::extraction::extract;

/// The most points of the box.
const MAX_POINTS: u128 = 128;

/// The most variables and divs.
const MAX_PARTS: usize = 12;

/// At how many points more than there are unknowns a quotient is held against the others.
const SPARE: usize = 3;

/// As large as the sum of two products of remainders allows in 64 bits.
const PRIME: u64 = (1 << 31) - 1;

/// The most points that are looked at first.
const MAX_ROWS: usize = MAX_PARTS + 1 + SPARE;

/// The values of all parts at one point. The first is that of the constant.
type Row<T> = [T; MAX_PARTS + 1];

/// A form with divs as an expression with a sum in place of one of them.
pub fn without_dependent_divs(cx: &mut AffineContext, form: Option<&AffineForm>, e: &Expr) -> Option<Expr> {
    let form = form?;
    if e.divmods() < 2 {
        return None;
    }
    let parts = parts(cx, form)?;
    let mut found: Option<Expr> = None;
    for (quotient, sum) in sums(values(cx, &parts)?, &parts) {
        let k = form.coefficient(quotient);
        let Ok(difference) = sum.minus(&AffineForm::atom(quotient)) else { continue };
        if k == 0 || cx.as_div(quotient).is_none() || is_zero(cx, &difference, MAX_POINTS) != Some(true) {
            continue;
        }
        let mut extracted = form.clone();
        let Ok(()) = extracted.add_scaled(k, &difference) else { continue };
        let Ok(extracted) = extract(cx, &extracted) else { continue };
        let cost = |e: &Expr| (e.divmods(), e.nodes());
        if found.as_ref().is_none_or(|best| cost(&extracted) < cost(best)) {
            found = Some(extracted);
        }
    }
    found
}

/// The variables and divs of a form, each after those that it contains; nothing where they are many or their box is
/// large.
fn parts(cx: &AffineContext, form: &AffineForm) -> Option<SmallVec<[AtomId; MAX_PARTS]>> {
    let mut parts: SmallVec<[AtomId; MAX_PARTS]> = form.terms.iter().map(|t| t.atom).collect();
    let (mut open, mut points) = (0, 1u128);
    while open < parts.len() {
        if parts.len() > MAX_PARTS {
            return None;
        }
        let atom = cx.atoms().get(parts[open]);
        match &atom.kind {
            AtomKind::Var(_) => points = points.saturating_mul(atom.interval.size()),
            AtomKind::Div(num, _) => {
                let new: SmallVec<[AtomId; 8]> =
                    num.terms.iter().map(|t| t.atom).filter(|a| !parts.contains(a)).collect();
                parts.extend(new);
            }
            AtomKind::Other(..) => return None,
        }
        if !(1..=MAX_POINTS).contains(&points) {
            return None;
        }
        open += 1;
    }
    Some(cx.in_order(parts))
}

/// The values of all parts at some points of the box, spread over all of it, as residues.
fn values(cx: &AffineContext, parts: &[AtomId]) -> Option<SmallVec<[Row<u64>; MAX_ROWS]>> {
    let interval = |a: AtomId| Some(cx.atom_range(a)).filter(|_| cx.is_var(a));
    let size = parts.iter().map_while(|a| interval(*a)).map(|interval| interval.size() as usize).product::<usize>();
    let n = size.min(parts.len() + 1 + SPARE);
    let mut out = SmallVec::new();
    for i in 0..n {
        let (mut row, mut left): (Row<i64>, _) = ([1; MAX_PARTS + 1], point(i, n, size));
        for (at, part) in parts.iter().enumerate() {
            row[at + 1] = match (interval(*part), cx.as_div(*part)) {
                (Some(interval), _) => {
                    let own = interval.size() as usize;
                    let value = interval.lo + (left % own) as i64;
                    left /= own;
                    value
                }
                (None, Some((num, n))) => {
                    let value = num.terms.iter().try_fold(num.constant, |sum, t| {
                        let at = parts.iter().position(|part| *part == t.atom)?;
                        sum.checked_add(t.coefficient.checked_mul(row[at + 1])?)
                    });
                    floor_div(value?, n)
                }
                (None, None) => return None,
            };
        }
        out.push(row.map(|x| floor_mod(x, PRIME as i64) as u64));
    }
    Some(out)
}

/// The number of one of `n` points among all: somewhere in the `i`th of `n` equal parts.
fn point(i: usize, n: usize, size: usize) -> usize {
    let (first, next) = (i * size / n, (i + 1) * size / n);
    first + i * 7 % (next - first)
}

/// The divs that are a constant and multiples of parts before them at all these points. What comes before in their order does
/// not contain the quotient.
fn sums(mut rows: SmallVec<[Row<u64>; MAX_ROWS]>, parts: &[AtomId]) -> SmallVec<[(AtomId, AffineForm); 2]> {
    let mut out = SmallVec::new();
    let mut pivots: SmallVec<[usize; MAX_PARTS + 1]> = SmallVec::new();
    for at in 0..=parts.len() {
        let (rank, n) = (pivots.len(), rows.len());
        let Some(pivot) = (rank..n).find(|row| rows[*row][at] != 0) else {
            out.extend(solved(&rows, &pivots, at, parts).map(|sum| (parts[at - 1], sum)));
            continue;
        };
        rows.swap(rank, pivot);
        let (above, below) = rows.split_at_mut(rank + 1);
        let pivot = &above[rank];
        for row in below.iter_mut().filter(|row| row[at] != 0) {
            let (own, other) = (pivot[at], PRIME - row[at]);
            for (x, y) in row.iter_mut().zip(pivot).take(parts.len() + 1).skip(at) {
                *x = (*x * own + y * other) % PRIME;
            }
        }
        pivots.push(at);
    }
    out
}

/// The part before `at` whose multiples it is: the equations of the first rows, which are triangular.
fn solved(rows: &[Row<u64>], pivots: &[usize], at: usize, parts: &[AtomId]) -> Option<AffineForm> {
    let mut factors = [0; MAX_PARTS + 1];
    for (row, pivot) in rows.iter().zip(pivots).rev() {
        let known = (pivot + 1..at).fold(0, |sum, u| (sum + row[u] * factors[u]) % PRIME);
        factors[*pivot] = (row[at] + PRIME - known) * inverse(row[*pivot]) % PRIME;
    }
    let nearest_0 = |x: u64| if x > PRIME / 2 { x as i64 - PRIME as i64 } else { x as i64 };
    let mut sum = AffineForm::constant(nearest_0(factors[0]));
    for (factor, part) in factors[1..at].iter().zip(parts) {
        sum.add_term(nearest_0(*factor), *part).ok()?;
    }
    Some(sum)
}

/// `x^(p - 2)`, which is `1/x` modulo a prime `p`.
fn inverse(x: u64) -> u64 {
    let (mut power, mut square, mut exponent) = (1, x, PRIME - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power * square % PRIME;
        }
        square = square * square % PRIME;
        exponent >>= 1;
    }
    power
}
