//! Evaluation in 128 bits with checks, for programs of which no interval shows that 64 bits are enough.
//!
//! Read [`run`] and [`in_domain`]. A value that does not fit into 128 bits is [`LOST`], and so is what is made of it; a
//! result or a constraint that is lost is an error, unless another constraint shows that its point lies outside the
//! domain.

use crate::analysis::interval::Interval;
use crate::error::{Error, Result};
use crate::eval::program::{Points, Program, Register, Step};
use crate::expr::Expr;
use crate::int::floor_div_any;
use crate::map::domain::Domain;

/// What stands for a value that does not fit into 128 bits. The value with these bits counts as one.
const LOST: i128 = i128::MIN;

/// What errors name.
pub(crate) struct Names {
    pub domain: Domain,
    pub results: Vec<Expr>,
}

/// The results as rows.
pub(crate) fn run(program: &Program, points: &Points<'_>, out: &mut [i64]) -> Result<()> {
    let width = program.results.len();
    blocks(program, points, program.result_steps(), |start, n, registers, block| {
        let out = &mut out[start * width..][..n * width];
        let mut overflow = vec![None; n];
        for (j, register) in program.results.iter().enumerate() {
            let column = &registers[*register as usize * block..][..n];
            for (i, value) in column.iter().enumerate() {
                match i64::try_from(*value) {
                    Ok(value) => out[i * width + j] = value,
                    Err(_) => overflow[i] = overflow[i].or(Some((j, *value))),
                }
            }
        }
        if overflow.iter().all(Option::is_none) {
            return Ok(());
        }
        // At a point outside the domain nothing needs to fit. Where that is not decided, the point may lie inside.
        let inside = program.in_domain(&program.rows(points, start, n)).unwrap_or_else(|_| vec![true; n]);
        let first = overflow.iter().zip(&inside).position(|(found, inside)| found.is_some() && *inside);
        match first.and_then(|i| Some((i, overflow[i]?))) {
            Some((i, (j, value))) => Err(program.overflow(points, start + i, Value::Result(j), value)),
            None => Ok(()),
        }
    })
}

/// Which points lie in the domain; `out` holds `true` for each before.
pub(crate) fn in_domain(program: &Program, points: &Points<'_>, out: &mut [bool]) -> Result<()> {
    let steps = program.check_steps.iter().map(|i| *i as usize);
    blocks(program, points, steps, |start, n, registers, block| {
        let out = &mut out[start..start + n];
        let mut lost = vec![None; n];
        let of_vars = program.var_ranges.iter().enumerate().map(|(i, interval)| (i as Register, *interval, None));
        let checks = program.checks.iter().enumerate().map(|(i, (register, interval))| (*register, *interval, Some(i)));
        for (register, Interval { lo, hi }, check) in of_vars.chain(checks) {
            let column = &registers[register as usize * block..][..n];
            for ((ok, value), lost) in out.iter_mut().zip(column).zip(&mut lost) {
                if *value == LOST {
                    *lost = lost.or(check);
                } else {
                    *ok &= i128::from(lo) <= *value && *value <= i128::from(hi);
                }
            }
        }
        match out.iter().zip(&lost).position(|(ok, lost)| *ok && lost.is_some()) {
            Some(i) => Err(program.overflow(points, start + i, Value::Constraint(lost[i].unwrap_or(0)), LOST)),
            None => Ok(()),
        }
    })
}

/// A value that an error names.
enum Value {
    Result(usize),
    Constraint(usize),
}

/// The longest expression that an error shows, in characters.
const SHOWN: usize = 200;

impl Program {
    fn overflow(&self, points: &Points<'_>, row: usize, value: Value, found: i128) -> Error {
        let bits = if found == LOST { 128 } else { 64 };
        let Some(names) = &self.names else { return Error::Overflow("a value of the map") };
        let own = self.rows(points, row, 1);
        let values = own.dims.iter().chain(own.ranges).chain(own.runtime);
        let point = values.enumerate().map(|(i, x)| format!("{} = {x}", names.domain.name(names.domain.var(i))));
        let shown = |e: Option<&Expr>| e.map_or_else(String::new, |e| shorten(e.to_string()));
        let value = match value {
            Value::Result(j) => format!("result {j}, {},", shown(names.results.get(j))),
            Value::Constraint(i) => {
                format!("the constraint on {}", shown(names.domain.constraints.get(i).map(|c| &c.expr)))
            }
        };
        Error::PointOverflow { row, value, point: shorten(point.collect::<Vec<_>>().join(", ")), bits }
    }
}

fn shorten(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Runs some steps block by block and hands the registers of each block to `each`.
fn blocks(
    program: &Program,
    points: &Points<'_>,
    steps: impl Iterator<Item = usize> + Clone,
    mut each: impl FnMut(usize, usize, &[i128], usize) -> Result<()>,
) -> Result<()> {
    let block = program.block(points.n);
    let mut registers = vec![0; program.steps.len() * block];
    let mut start = 0;
    while start < points.n {
        let n = block.min(points.n - start);
        program.load_as(points, start, n, &mut registers, block, i128::from);
        for i in steps.clone() {
            let (known, rest) = registers.split_at_mut(i * block);
            run_step(&program.steps[i], known, &mut rest[..n], block);
        }
        each(start, n, &registers, block)?;
        start += n;
    }
    Ok(())
}

fn run_step(step: &Step, known: &[i128], out: &mut [i128], block: usize) {
    let n = out.len();
    let column = |r: &Register| &known[*r as usize * block..][..n];
    let pairs = |out: &mut [i128], a: &Register, b: &Register, f: fn(i128, i128) -> i128| {
        for ((o, x), y) in out.iter_mut().zip(column(a)).zip(column(b)) {
            *o = if *x == LOST || *y == LOST { LOST } else { f(*x, *y) };
        }
    };
    match step {
        Step::Const(c) => out.fill(i128::from(*c)),
        Step::Var => {}
        Step::Sum(c, terms) => {
            out.fill(i128::from(*c));
            for (k, r) in terms {
                for (o, x) in out.iter_mut().zip(column(r)) {
                    *o = sum(*o, product(i128::from(*k), *x));
                }
            }
        }
        Step::DivConst(a, divisor) => {
            let n = i128::from(divisor.n());
            out.iter_mut().zip(column(a)).for_each(|(o, x)| *o = quotient(*x, n));
        }
        Step::ModConst(a, divisor) => {
            let n = i128::from(divisor.n());
            out.iter_mut().zip(column(a)).for_each(|(o, x)| *o = remainder(*x, n));
        }
        Step::Product(a, b) => pairs(out, a, b, product),
        Step::Div(a, b) => pairs(out, a, b, quotient),
        Step::Mod(a, b) => pairs(out, a, b, remainder),
        Step::Min(a, b) => pairs(out, a, b, Ord::min),
        Step::Max(a, b) => pairs(out, a, b, Ord::max),
    }
}

fn sum(x: i128, y: i128) -> i128 {
    if x == LOST || y == LOST {
        return LOST;
    }
    x.checked_add(y).unwrap_or(LOST)
}

fn product(x: i128, y: i128) -> i128 {
    match (i64::try_from(x), i64::try_from(y)) {
        (Ok(x), Ok(y)) => i128::from(x) * i128::from(y),
        _ if x == LOST || y == LOST => LOST,
        _ => x.checked_mul(y).unwrap_or(LOST),
    }
}

/// Floor division, by 1 where the divisor is not positive.
fn quotient(x: i128, n: i128) -> i128 {
    if x == LOST {
        LOST
    } else {
        floor_div_any(x, n.max(1))
    }
}

/// The remainder of [`quotient`].
fn remainder(x: i128, n: i128) -> i128 {
    if x == LOST {
        LOST
    } else {
        x.rem_euclid(n.max(1))
    }
}

#[cfg(test)]
mod tests {
    use crate::error::Error;
    use crate::text::parse_map;
    use crate::{Points, Program};

    fn at(text: &str, rows: &[i64]) -> Result<Vec<i64>, String> {
        let map = parse_map(text).unwrap();
        let n = rows.len() / map.domain().n_dims;
        let points = Points { n, dims: rows, ranges: &[], runtime: &[] };
        Program::new(&map).unwrap().run::<false>(&points).map_err(|e| e.to_string())
    }

    fn inside(text: &str, rows: &[i64]) -> Result<Vec<bool>, String> {
        let map = parse_map(text).unwrap();
        let n = rows.len() / map.domain().n_dims;
        let points = Points { n, dims: rows, ranges: &[], runtime: &[] };
        Program::new(&map).unwrap().in_domain(&points).map_err(|e| e.to_string())
    }

    #[test]
    fn a_value_that_leaves_64_bits_on_the_way_is_right() {
        let squares = "(d0) -> ((d0 * d0) floordiv 4611686018427387904), domain: d0 in [4294967296, 17179869184]";
        assert_eq!(at(squares, &[1 << 32, 1 << 33, 1 << 34]), Ok(vec![4, 16, 64]));
        let cancels = "(d0) -> (d0 * d0 - (d0 * d0) mod 2 - d0 * d0), domain: d0 in [0, 9223372036854775807]";
        assert_eq!(at(cancels, &[i64::MAX, i64::MAX - 1]), Ok(vec![-1, 0]));
    }

    #[test]
    fn a_result_that_does_not_fit_names_its_point() {
        let bits = "(d0, d1) -> (d1, d0 * 64 + d1 * 32), domain: d0 in [0, 288230376151711743], d1 in [0, 1]";
        let last = 288_230_376_151_711_743;
        let found = at(bits, &[0, 1, last, 1]).unwrap_err();
        let wanted =
            "result 1, d0 * 64 + d1 * 32, does not fit into 64 bits at point 1: d0 = 288230376151711743, d1 = 1";
        assert_eq!(found, wanted);
        assert_eq!(at(bits, &[1 << 57, 0]).unwrap_err().split(" at ").next(), wanted.split(" at ").next());
        assert_eq!(at(bits, &[(1 << 57) - 1, 1]), Ok(vec![1, i64::MAX - 31]));
    }

    #[test]
    fn points_outside_the_domain_need_not_fit() {
        let text = "(d0, d1) -> (d0 * d1), domain: d0 in [0, 9223372036854775807], d1 in [0, 9], d0 * d1 in [0, 100]";
        assert_eq!(at(text, &[i64::MAX, 9, 10, 9]).map(|rows| rows[1]), Ok(90));
        assert_eq!(inside(text, &[i64::MAX, 9, 10, 9, 100, 2]), Ok(vec![false, true, false]));
        let map = parse_map(text).unwrap();
        let points = Points { n: 2, dims: &[10, 9, i64::MAX, 9], ranges: &[], runtime: &[] };
        assert_eq!(Program::new(&map).unwrap().run::<true>(&points), Err(Error::OutsideDomain(1)));
    }

    #[test]
    fn a_remainder_fits_where_the_multiple_below_it_does_not() {
        let text = "(d0, d1, d2) -> (((d0 * d1 - d0 * d0) mod (d2 * 4)) floordiv 4), \
            domain: d0 in [-9223372036854775808, 0], d1 in [0, 9223372036854775807], d2 in [1, 3000000000000000002]";
        assert_eq!(at(text, &[i64::MIN, i64::MAX, 3000000000000000002]), Ok(vec![2740880990320872790]));
    }

    #[test]
    fn what_does_not_fit_into_128_bits_is_an_error() {
        let cube = "(d0) -> ((d0 * d0 * d0) mod 7), domain: d0 in [0, 9223372036854775807]";
        assert_eq!(at(cube, &[100, 3_000_000_000]), Ok(vec![1, (3_000_000_000i128.pow(3) % 7) as i64]));
        let found = at(cube, &[i64::MAX]).unwrap_err();
        assert!(found.contains("(d0 * d0 * d0) mod 7") || found.contains("mod 7"), "{found}");
        assert!(found.ends_with("does not fit into 128 bits at point 0: d0 = 9223372036854775807"), "{found}");
        let constraint =
            "(d0, d1) -> (d0), domain: d0 in [0, 9223372036854775807], d1 in [0, 9], (d0 * d0 * d0) mod 7 in [1, 1]";
        assert_eq!(inside(constraint, &[100, 0, 101, 0]), Ok(vec![true, false]));
        assert!(inside(constraint, &[i64::MAX, 0]).unwrap_err().starts_with("the constraint on "));
        // The other variable decides.
        assert_eq!(inside(constraint, &[i64::MAX, 10]), Ok(vec![false]));
    }
}
