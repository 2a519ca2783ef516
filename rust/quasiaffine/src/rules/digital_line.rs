//! The law of stairs: a value of one variable that has few values is a line and steps, and one quotient makes all steps of
//! one height that are as even as those of a line with a smaller slope.
//!
//! Which steps a quotient makes is a question of digital lines: Rosenfeld, "Digital Straight Line Segments", IEEE
//! Transactions on Computers 23 (1974). There are so few points that divisors are tried one by one.

use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::form::AffineForm;
use crate::eval::points::value_at;
use crate::expr::{Accumulator, Expr, Op, Var};

/// The most values of the variable. All divisors and factors up to here are tried.
const MAX_VALUES: usize = 16;

/// The largest expression that is looked at.
const MAX_NODES: u32 = 512;

/// One number for each value of the variable, or for each step from one to the next.
type Numbers = SmallVec<[i64; MAX_VALUES]>;

/// An expression of one variable with fewer divs, which has the same value everywhere in the box.
pub fn as_digital_line(cx: &mut AffineContext, _: Option<&AffineForm>, e: &Expr) -> Option<Expr> {
    if e.divmods() < 2 || e.nodes() > MAX_NODES || is_of_digits(e) {
        return None;
    }
    let v = only_variable(e)?;
    let interval = cx.range_of_var(v);
    if !(3..=MAX_VALUES as u128).contains(&interval.size()) {
        return None;
    }
    let values: Option<Numbers> = (interval.lo..=interval.hi).map(|x| value_at(e, &|_| x)).collect();
    let values = values?;
    let rises: Option<Numbers> = values.windows(2).map(|pair| pair[1].checked_sub(pair[0])).collect();
    let rises = rises?;
    let mut slopes = rises.clone();
    slopes.sort_unstable_by_key(|slope| (slope.unsigned_abs(), *slope));
    slopes.dedup();
    let n_steps = slopes.len() - 1;
    if n_steps as u32 >= e.divmods() {
        return None;
    }
    let from_begin = Expr::Var(v).add(&Expr::Const(interval.lo.checked_neg()?)).ok()?;
    let candidates = slopes.iter().filter_map(|slope| with_slope(&from_begin, values[0], *slope, &rises, &slopes));
    candidates.min_by_key(|stairs| (stairs.divmods(), stairs.nodes()))
}

/// A line with this slope, and steps wherever the rise is another one. `x` is 0 at the first value.
fn with_slope(x: &Expr, first: i64, slope: i64, rises: &[i64], slopes: &[i64]) -> Option<Expr> {
    let mut out = Accumulator::default();
    out.add(1, &Expr::Const(first)).ok()?;
    out.add(slope, x).ok()?;
    for rise in slopes.iter().filter(|rise| **rise != slope) {
        let steps: SmallVec<[bool; MAX_VALUES]> = rises.iter().map(|r| r == rise).collect();
        let Line { factor, constant, divisor } = line(&steps)?;
        let numerator = x.mul(&Expr::Const(factor)).ok()?.add(&Expr::Const(constant)).ok()?;
        out.add(rise.checked_sub(slope)?, &numerator.floor_div(&Expr::Const(divisor)).ok()?).ok()?;
    }
    out.finish().ok()
}

/// Whether an expression is a sum of digits of a variable. That says more to a reader, and to what inverts or counts it, than
/// a quotient that happens to have its steps.
fn is_of_digits(e: &Expr) -> bool {
    let is_var = |e: &Expr| matches!(e, Expr::Var(_));
    match e.op() {
        None => true,
        Some(Op::Sum(sum)) => sum.terms.iter().all(|t| is_of_digits(&t.atom)),
        Some(Op::FloorDiv(a, _)) => is_var(a),
        Some(Op::Mod(a, _)) => is_var(a) || matches!(a.op(), Some(Op::FloorDiv(a, _)) if is_var(a)),
        Some(_) => false,
    }
}

/// The variable of an expression that has a single one.
fn only_variable(e: &Expr) -> Option<Var> {
    let (mut first, mut is_only) = (None, true);
    e.for_each_var(&mut |v| is_only &= *first.get_or_insert(v) == v);
    first.filter(|_| is_only)
}

/// `(factor * x + constant) floordiv divisor`, which is 0 at 0.
struct Line {
    factor: i64,
    constant: i64,
    divisor: i64,
}

/// The line that rises by 1 after `x` where `steps[x]` says so, and stays as it is elsewhere.
fn line(steps: &[bool]) -> Option<Line> {
    let n = steps.len() as i64 + 1;
    let candidates = (1..n).flat_map(|factor| (factor..=n).map(move |divisor| (factor, divisor)));
    candidates.into_iter().find_map(|(factor, divisor)| {
        // At each point `divisor * height <= factor * x + constant < divisor * (height + 1)`.
        let (mut least, mut most, mut at_0) = (0, divisor - 1, 0);
        for step in steps {
            at_0 += if *step { divisor } else { 0 } - factor;
            (least, most) = (least.max(at_0), most.min(at_0 + divisor - 1));
        }
        (least <= most).then_some(Line { factor, constant: least, divisor })
    })
}
