//! Evaluation in 128 bits with checks, for programs whose intervals do not prove that 64 bits are enough.
//!
//! A value that does not fit into 128 bits is [`LOST`], and so is every value computed from it; a lost result or
//! constraint is an error, unless another constraint shows that its point lies outside the domain.

use crate::span::Interval;
use std::ops::Range;

use crate::arithmetic::Number;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::eval::blocks::Columns;
use crate::eval::program::{Points, Program, Register};
use crate::eval::simd::Lane;
use crate::expr::Expr;
use crate::int::floor_div_any;

/// An integer of 128 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Exact(i128);

/// The marker of a value that does not fit into 128 bits. The integer with these bits counts as lost.
const LOST: Exact = Exact(i128::MIN);

/// The domain and the results that errors name.
pub(crate) struct Names {
    pub domain: Domain,
    pub results: Vec<Expr>,
}

/// Writes the results as rows.
pub(crate) fn run(program: &Program, points: &Points<'_>, out: &mut [i64]) -> Result<()> {
    let width = program.results.len();
    let mut columns = Columns::<Exact>::new(program, points.n);
    while columns.next(program, points, program.result_steps()) {
        let Range { start, end } = columns.points();
        let (n, out) = (end - start, &mut out[start * width..end * width]);
        // Empty as long as everything fits.
        let mut overflow = Vec::new();
        for (j, register) in program.results.iter().enumerate() {
            for (i, value) in columns.column(*register).iter().enumerate() {
                match i64::try_from(value.0) {
                    Ok(value) => out[i * width + j] = value,
                    Err(_) => {
                        overflow.resize(n, None);
                        overflow[i] = overflow[i].or(Some((j, *value)));
                    }
                }
            }
        }
        if overflow.is_empty() {
            continue;
        }
        // At a point outside the domain nothing needs to fit. An undecided point may lie inside.
        let inside = program.in_domain(&program.rows(points, start, n)).unwrap_or_else(|_| vec![true; n]);
        let first = overflow.iter().zip(&inside).position(|(found, inside)| found.is_some() && *inside);
        if let Some((i, (j, value))) = first.and_then(|i| Some((i, overflow[i]?))) {
            return Err(program.overflow(points, start + i, Value::Result(j), value));
        }
    }
    Ok(())
}

/// Clears `out` for each point outside the domain; it holds `true` for every point before.
pub(crate) fn in_domain(program: &Program, points: &Points<'_>, out: &mut [bool]) -> Result<()> {
    let mut columns = Columns::<Exact>::new(program, points.n);
    while columns.next(program, points, program.check_steps.iter().map(|i| *i as usize)) {
        let Range { start, end } = columns.points();
        let out = &mut out[start..end];
        let mut lost = vec![None; end - start];
        let of_vars = program.var_ranges.iter().enumerate().map(|(i, interval)| (i as Register, *interval, None));
        let checks = program.checks.iter().enumerate().map(|(i, (register, interval))| (*register, *interval, Some(i)));
        for (register, Interval { lo, hi }, check) in of_vars.chain(checks) {
            for ((ok, value), lost) in out.iter_mut().zip(columns.column(register)).zip(&mut lost) {
                if *value == LOST {
                    *lost = lost.or(check);
                } else {
                    *ok &= i128::from(lo) <= value.0 && value.0 <= i128::from(hi);
                }
            }
        }
        if let Some(i) = out.iter().zip(&lost).position(|(ok, lost)| *ok && lost.is_some()) {
            return Err(program.overflow(points, start + i, Value::Constraint(lost[i].unwrap_or(0)), LOST));
        }
    }
    Ok(())
}

/// A value that an error names.
enum Value {
    Result(usize),
    Constraint(usize),
}

/// The longest expression that an error shows, in characters.
const SHOWN: usize = 200;

impl Program {
    fn overflow(&self, points: &Points<'_>, row: usize, value: Value, found: Exact) -> Error {
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

impl Number for Exact {
    fn constant(c: i64) -> Exact {
        Exact(i128::from(c))
    }

    fn add_scaled(self, k: i64, x: Exact) -> Exact {
        let product = x.times(Exact::constant(k));
        if self == LOST || product == LOST {
            return LOST;
        }
        self.0.checked_add(product.0).map_or(LOST, Exact)
    }

    fn times(self, other: Exact) -> Exact {
        match (i64::try_from(self.0), i64::try_from(other.0)) {
            (Ok(x), Ok(y)) => Exact(i128::from(x) * i128::from(y)),
            _ if self == LOST || other == LOST => LOST,
            _ => self.0.checked_mul(other.0).map_or(LOST, Exact),
        }
    }

    fn floor_div(self, divisor: Exact) -> Exact {
        if self == LOST || divisor == LOST {
            return LOST;
        }
        Exact(floor_div_any(self.0, divisor.0.max(1)))
    }

    fn floor_mod(self, divisor: Exact) -> Exact {
        if self == LOST || divisor == LOST {
            return LOST;
        }
        Exact(self.0.rem_euclid(divisor.0.max(1)))
    }

    fn minimum(self, other: Exact) -> Exact {
        // A lost value is the smallest.
        self.min(other)
    }

    fn maximum(self, other: Exact) -> Exact {
        if self == LOST || other == LOST {
            return LOST;
        }
        self.max(other)
    }
}

impl Lane for Exact {
    fn narrow(x: i64) -> Exact {
        Exact::constant(x)
    }

    fn wide(self) -> i64 {
        self.0 as i64
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
        // The other constraint decides.
        assert_eq!(inside(constraint, &[i64::MAX, 10]), Ok(vec![false]));
    }
}
