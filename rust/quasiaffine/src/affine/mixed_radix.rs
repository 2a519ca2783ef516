//! The digits of a result: summands whose strides do not overlap, so that the result determines each of them.
//!
//! `r = base + s1*v1 + s2*v2 + …` with `0 <= vi` and each stride larger than what the smaller ones reach together is a
//! mixed-radix number; its digits are the `vi`. [`crate::decide::inverse`] reads variables off them, and
//! [`crate::decide::contains`] ranges.

use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::form::AffineForm;
use crate::affine::summands::summands;
use crate::error::{Error, Result};
use crate::expr::{Expr, Op, Var};
use crate::span::Interval;

/// A digit of a variable: `(var floordiv low) mod modulus`, or without a modulus all of `var floordiv low`.
///
/// ```
/// use quasiaffine::{Expr, Var, VarDigit};
/// let e: Expr = "((d0 floordiv 4) mod 8) * 3".parse()?;
/// let digit = VarDigit { var: Var::named("d0").unwrap(), low: 4, modulus: Some(8) };
/// assert_eq!(e.digits(), Some(vec![(3, digit)]));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarDigit {
    /// The variable.
    pub var: Var,
    /// The place value of the digit in the variable, at least 1.
    pub low: i64,
    /// The number of values of the digit; `None` for the most significant one.
    pub modulus: Option<i64>,
}

impl VarDigit {
    fn of(atom: &Expr) -> Option<VarDigit> {
        let (a, n, is_mod) = match (atom, atom.op()) {
            (Expr::Var(var), _) => return Some(VarDigit { var: *var, low: 1, modulus: None }),
            (_, Some(Op::FloorDiv(a, n))) => (a, n.as_const()?, false),
            (_, Some(Op::Mod(a, n))) => (a, n.as_const()?, true),
            _ => return None,
        };
        let digit = VarDigit::of(a)?;
        let divides = |m: &i64| m % n == 0;
        match (is_mod, digit.modulus) {
            // (x mod n*k) mod n = x mod n
            (true, None) => Some(VarDigit { modulus: Some(n), ..digit }),
            (true, Some(m)) => divides(&m).then_some(VarDigit { modulus: Some(n), ..digit }),
            // (x mod n*k) floordiv n = (x floordiv n) mod k
            (false, modulus) => {
                let modulus = modulus.map(|m| divides(&m).then_some(m / n)).map_or(Some(None), |m| m.map(Some))?;
                Some(VarDigit { low: digit.low.checked_mul(n)?, modulus, ..digit })
            }
        }
    }
}

impl Expr {
    /// The summands, besides the [constant](Expr::constant), as multiples of digits of variables; `None` if one of them
    /// is something else. In a simplified map, digits that a sum keeps apart are such summands already.
    ///
    /// ```
    /// use quasiaffine::Expr;
    /// let e: Expr = "(d0 mod 2) * 3 + d1 + 5".parse()?;
    /// let digits = e.digits().expect("a sum of digits");
    /// assert_eq!(digits.iter().map(|(factor, digit)| (*factor, digit.modulus)).collect::<Vec<_>>(), [(3, Some(2)), (1, None)]);
    /// assert_eq!("d0 * d1".parse::<Expr>()?.digits(), None);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn digits(&self) -> Option<Vec<(i64, VarDigit)>> {
        self.terms().map(|(factor, atom)| Some((factor, VarDigit::of(atom)?))).collect()
    }
}

/// A multiple `factor * unit` of a value in an interval.
#[derive(Clone)]
pub struct Digit<U> {
    pub unit: U,
    /// Negative if the digit counts down.
    pub factor: i64,
    pub interval: Interval,
}

/// Digits; a few are stored inline.
pub type Digits<U> = SmallVec<[Digit<U>; 4]>;

/// Whether each factor, the smallest first, is larger than the sum that the digits before it can reach.
pub fn are_apart<U>(digits: &[Digit<U>]) -> bool {
    let reach = digits.iter().try_fold(0i128, |reach, d| {
        let factor = i128::from(d.factor).abs();
        let values = i128::try_from(d.interval.size()).ok()?;
        reach.checked_add(factor.checked_mul(values - 1)?).filter(|_| factor > reach)
    });
    reach.is_some()
}

/// Solves `value = constant + sum of factor * unit` for the units of non-overlapping digits, the smallest factor first.
pub fn units_of<U>(digits: &[Digit<U>], constant: i64, value: &Expr) -> Result<SmallVec<[Expr; 4]>> {
    // The unit at which a digit is 0: an end of its interval.
    let at_zero = |d: &Digit<U>| if d.factor > 0 { d.interval.lo } else { d.interval.hi };
    let base = |sum: Expr, d: &Digit<U>| sum.add(&Expr::Const(at_zero(d)).scale(d.factor)?);
    let mut rest = value.sub(&digits.iter().try_fold(Expr::Const(constant), base)?)?;
    let mut units = SmallVec::new();
    for d in digits.iter().rev() {
        let size = Expr::Const(d.factor.checked_abs().ok_or(Error::Overflow("a stride"))?);
        let digit = rest.floor_div(&size)?.scale(d.factor.signum())?;
        rest = rest.floor_mod(&size)?;
        units.push(Expr::Const(at_zero(d)).add(&digit)?);
    }
    units.reverse();
    Ok(units)
}

/// The parts of a form as digits, the smallest factor first, if they do not overlap.
pub fn mixed_radix_digits(cx: &mut AffineContext, form: &AffineForm) -> Option<Digits<AffineForm>> {
    let mut digits = Digits::new();
    for summand in summands(cx, form) {
        let whole = summand.form(cx);
        // The first coefficient of a remainder is that of its numerator, so that its sign is the sign of the part.
        let (content, sign) = (whole.content(), whole.terms.first()?.coefficient.signum());
        let mut unit = whole.divided(content)?;
        if sign < 0 {
            unit = unit.scaled(-1).ok()?;
        }
        let interval = cx.range_of(&unit)?;
        digits.push(Digit { unit, factor: sign * content, interval });
    }
    digits.sort_by_key(|d| d.factor.abs());
    are_apart(&digits).then_some(digits)
}
