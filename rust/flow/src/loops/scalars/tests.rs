//! Both readings of the operations agree with each other, and that on numbers with the processor.

use layout::ElementKind::{self, Boolean, Signed, Unsigned};
use quasiaffine::Expr;

use super::operations::{Binary, Direction, Integers, Operation, Unary};
use super::values::{Comparison, Scalar, Value};

const DIRECTIONS: [Direction; 6] =
    [Direction::Lt, Direction::Le, Direction::Gt, Direction::Ge, Direction::Eq, Direction::Ne];

fn all_binary() -> impl Iterator<Item = Binary> {
    use Binary::*;
    let bits = [Minimum, Maximum, And, Or, Xor];
    let numbers = [Add, Subtract, Multiply, Divide, Remainder, ShiftLeft, ShiftRightArithmetic, ShiftRightLogical];
    bits.into_iter().chain(numbers)
}

/// The number that an expression has at one of the symbol.
fn at(e: &Expr, x: i128) -> i128 {
    e.substitute(&|_| Ok(Expr::Const(x as i64))).ok().and_then(|e| e.as_const()).map_or(i128::MIN, i128::from)
}

fn number(kind: ElementKind, bits: u32) -> Integers {
    Integers { kind, bits }
}

/// Checks the reading of an operation on expressions where the symbol is in an interval; whether it has a value.
fn check(operation: Operation, t: Integers, operands: &[Option<Value>], (lo, hi): (i128, i128), wraps: bool) -> bool {
    let operand = |k: usize, x: i128| match operands.get(k) {
        Some(Some(Value::Scalar(s))) => Some(at(&s.expr, x)),
        Some(Some(Value::Comparison(c))) => {
            Some(i128::from(c.direction.holds(at(&c.left.expr, x), at(&c.right.expr, x))))
        }
        _ => None,
    };
    let found = operation.apply(t, operands, wraps);
    for x in lo..=hi {
        let true_one = operation.run(t, |k| operand(k, x));
        let is_right = match &found {
            None => continue,
            Some(Value::Scalar(s)) if wraps => true_one == Some(t.wrap(at(&s.expr, x))),
            Some(Value::Scalar(s)) => {
                true_one == Some(at(&s.expr, x)) && true_one.is_some_and(|y| s.lower <= y && y <= s.upper)
            }
            Some(Value::Comparison(c)) => {
                let Comparison { direction, left, right } = &**c;
                true_one == Some(direction.holds(at(&left.expr, x), at(&right.expr, x)).into())
            }
        };
        assert!(is_right, "{operation:?} on {t:?}, {operands:?} at {x}: {found:?}, not {true_one:?}");
    }
    found.is_some()
}

fn symbol(interval: (i128, i128)) -> Option<Value> {
    Some(Value::Scalar(Scalar::new(Expr::dim(0), interval)))
}

fn constant(x: i128) -> Option<Value> {
    Scalar::constant(x).map(Value::Scalar)
}

/// All intervals of a type, with all numbers of it.
fn intervals(t: Integers) -> impl Iterator<Item = (i128, i128)> {
    let (lower, upper) = t.interval();
    (lower..=upper).flat_map(move |lo| (lo..=upper).map(move |hi| (lo, hi)))
}

#[test]
fn both_readings_agree_on_all_numbers_of_four_bits() {
    for t in [number(Signed, 4), number(Unsigned, 4)] {
        let (lower, upper) = t.interval();
        let mut n_known = [0; 13];
        for interval in intervals(t) {
            let x = symbol(interval);
            for unary in [Unary::Negate, Unary::Not] {
                check(Operation::Unary(unary), t, std::slice::from_ref(&x), interval, false);
            }
            for to in [t, number(Signed, 4), number(Unsigned, 4), number(Unsigned, 2), number(Boolean, 1)] {
                check(Operation::Unary(Unary::Convert), to, std::slice::from_ref(&x), interval, false);
            }
            for c in lower..=upper {
                for operands in [[x.clone(), constant(c)], [constant(c), x.clone()]] {
                    for (k, binary) in all_binary().enumerate() {
                        n_known[k] += usize::from(check(Operation::Binary(binary), t, &operands, interval, false));
                    }
                    for direction in DIRECTIONS {
                        assert!(check(Operation::Compare(direction), number(Boolean, 1), &operands, interval, false));
                    }
                }
                let clamp = [constant(c), x.clone(), constant(upper - 1)];
                check(Operation::Clamp, t, &clamp, interval, false);
                let less =
                    Operation::Compare(Direction::Lt).apply(number(Boolean, 1), &[x.clone(), constant(c)], false);
                let not = Operation::Unary(Unary::Not);
                assert!(check(not, number(Boolean, 1), std::slice::from_ref(&less), interval, false));
                check(Operation::Select, t, &[less, x.clone(), constant(c)], interval, false);
            }
        }
        assert!(n_known.iter().all(|n| *n > 0), "every operation has values: {n_known:?}");
    }
}

#[test]
fn a_choice_between_values_that_differ_by_a_constant_is_one_expression() {
    let t = number(Signed, 8);
    let (mut n, mut n_equal) = (0, 0);
    let line = |interval: (i128, i128), weight: i64, by: i64| {
        let expr = Expr::dim(0).scale(weight).and_then(|e| e.add(&Expr::Const(by))).expect("small numbers");
        let ends = [interval.0, interval.1].map(|x| x * i128::from(weight) + i128::from(by));
        Some(Value::Scalar(Scalar::new(expr, (ends[0].min(ends[1]), ends[0].max(ends[1])))))
    };
    for interval in (-5..6).flat_map(|lo| (lo..6).map(move |hi| (lo, hi))) {
        let x = symbol(interval);
        for (direction, c) in DIRECTIONS.into_iter().flat_map(|direction| (-4..5).map(move |c| (direction, c))) {
            let test = Operation::Compare(direction).apply(number(Boolean, 1), &[x.clone(), constant(c)], false);
            let is_open = matches!(test, Some(Value::Comparison(_)));
            for (weight, by) in [(1, 1), (1, -7), (-2, 3)] {
                for more in [-9, -1, 0, 3, 20] {
                    let operands = [test.clone(), line(interval, weight, by + more), line(interval, weight, by)];
                    let found = check(Operation::Select, t, &operands, interval, false);
                    let is_ordered = !matches!(direction, Direction::Eq | Direction::Ne);
                    assert!(found || is_open && !is_ordered, "{operands:?} in {interval:?}");
                    n += usize::from(is_open);
                }
                let operands = [test.clone(), constant(2), line(interval, weight, by)];
                n_equal += usize::from(check(Operation::Select, t, &operands, interval, false) && is_open);
            }
        }
        // An index that is wrapped around stays in the array.
        let below_zero = Operation::Compare(Direction::Lt).apply(number(Boolean, 1), &[x.clone(), constant(0)], false);
        let found = Operation::Select.apply(t, &[below_zero, line(interval, 1, 6), x.clone()], false);
        let Some(Value::Scalar(wrapped)) = found else { panic!("no value in {interval:?}") };
        assert!(interval.0 >= 0 || wrapped.lower >= 0 && wrapped.upper <= 5, "{wrapped:?}");
    }
    assert!(n > 1000 && n_equal > 20, "{n}, {n_equal}");
}

#[test]
fn sums_and_products_that_wrap_are_right_modulo_the_size_of_the_type() {
    for t in [number(Signed, 4), number(Unsigned, 4)] {
        let (lower, upper) = t.interval();
        let (interval, x) = (t.interval(), symbol(t.interval()));
        assert!(check(Operation::Unary(Unary::Negate), t, std::slice::from_ref(&x), interval, true));
        for c in lower..=upper {
            for binary in [Binary::Add, Binary::Subtract, Binary::Multiply] {
                assert!(check(Operation::Binary(binary), t, &[x.clone(), constant(c)], interval, true));
                assert!(check(Operation::Binary(binary), t, &[constant(c), x.clone()], interval, true));
            }
        }
    }
}

#[test]
fn numbers_at_the_ends_of_wide_types_fit_or_have_no_value() {
    for t in [number(Signed, 64), number(Unsigned, 64), number(Signed, 32)] {
        let (lower, upper) = t.interval();
        for (x, c) in [(lower, upper), (upper, upper), (upper, lower), (lower, lower), (upper, 2), (lower, -1)] {
            let operands = [symbol((x, x.max(upper))), constant(c)];
            for binary in all_binary() {
                for wraps in [false, true] {
                    Operation::Binary(binary).apply(t, &operands, wraps);
                }
            }
        }
    }
    let t = number(Unsigned, 64);
    assert_eq!(Operation::Binary(Binary::Add).apply(t, &[symbol(t.interval()), constant(1)], false), None);
}

macro_rules! processor {
    ($($name:ident $type:ident $kind:ident $bits:literal;)*) => {
        $(#[test]
        fn $name() {
            let t = number($kind, $bits);
            let all = [$type::MIN, $type::MAX, 0, 1, 2, 3, 7, $type::MAX / 3, $type::MAX - 1, $type::MIN + 1];
            let all = all.into_iter().chain((0..$bits).map(|k| 1 << k));
            for (a, b) in all.clone().flat_map(|a| all.clone().map(move |b| (a, b))) {
                let shift = u32::try_from(b).ok().filter(|b| *b < $bits);
                let expected = [
                    a.min(b), a.max(b), a & b, a | b, a ^ b,
                    a.wrapping_add(b), a.wrapping_sub(b), a.wrapping_mul(b),
                    if b == 0 { (-1i8) as $type } else { a.wrapping_div(b) },
                    if b == 0 { a } else { a.wrapping_rem(b) },
                    shift.map_or(0, |n| a << n),
                ];
                for (binary, expected) in all_binary().zip(expected) {
                    let given = [i128::from(a), i128::from(b)];
                    let found = Operation::Binary(binary).run(t, |k| Some(given[k]));
                    assert_eq!(found, Some(i128::from(expected)), "{binary:?} of {a} and {b}");
                }
            }
        })*
    };
}

processor! {
    numbers_of_s8_are_those_of_the_processor i8 Signed 8;
    numbers_of_u8_are_those_of_the_processor u8 Unsigned 8;
    numbers_of_s16_are_those_of_the_processor i16 Signed 16;
    numbers_of_u16_are_those_of_the_processor u16 Unsigned 16;
    numbers_of_s32_are_those_of_the_processor i32 Signed 32;
    numbers_of_u32_are_those_of_the_processor u32 Unsigned 32;
    numbers_of_s64_are_those_of_the_processor i64 Signed 64;
    numbers_of_u64_are_those_of_the_processor u64 Unsigned 64;
}
