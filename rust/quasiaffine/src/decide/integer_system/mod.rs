//! Integer systems: whether a box has an integer point at which linear forms lie in given intervals.
//!
//! A domain becomes a system by flattening (`flatten.rs`): each `y floordiv n` is a column `q` of its own with the row
//! `y - n*q in [0, n - 1]`, as in MLIR's `FlatLinearConstraints` and in isl. A system is decided by presolving
//! (`presolve.rs`: bounds, common divisors, strides that leave gaps, elimination of equalities as in the Omega test)
//! and by branching (`search.rs`).
//!
//! A solution satisfies every row and every operation, "none" is a proof, and anything else is [`Stop`]: a number does
//! not fit in 128 bits, or the effort is spent. Only the effort ends the search, so an answer never depends on the
//! machine.

pub(crate) mod flatten;
pub(crate) mod linear;
mod presolve;
mod search;

use crate::arithmetic::Binary;
use crate::error::Stop;
use crate::meter::Meter;
use linear::{Column, Linear, Span};

/// Columns with their spans, and conditions on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct System {
    /// The values of each column, meaningless for eliminated columns.
    columns: Vec<Span>,
    rows: Vec<Row>,
    nonlinear: Vec<Nonlinear>,
    functions: Vec<SameFunction>,
    /// Eliminated columns with their forms in later columns, in the order of elimination.
    eliminated: Vec<(Column, Linear)>,
}

/// `form in span`; the constant of the form is 0.
#[derive(Clone, Debug)]
struct Row {
    form: Linear,
    span: Span,
}

/// `value = a op b`; a divisor is at least 1 at every point of a domain.
#[derive(Clone, Debug)]
struct Nonlinear {
    op: Binary,
    value: Linear,
    a: Linear,
    b: Linear,
}

/// Two values of one unknown function: they are equal if all differences of the arguments are 0.
#[derive(Clone, Debug)]
struct SameFunction {
    differences: Vec<Linear>,
    values: Linear,
}

impl System {
    /// A new column with these values.
    pub fn add_column(&mut self, span: Span) -> Column {
        self.columns.push(span);
        (self.columns.len() - 1) as Column
    }

    /// Bounds on a form by the spans of its columns.
    pub fn span(&self, form: &Linear) -> Result<Span, Stop> {
        form.span(&self.columns)
    }

    /// Requires `form in span`.
    pub fn add_row(&mut self, form: &Linear, span: Span) -> Result<(), Stop> {
        let span = span.minus(form.constant)?;
        self.rows.push(Row { form: Linear { constant: 0, ..form.clone() }, span });
        Ok(())
    }

    /// Requires `value = a op b`.
    pub fn add_nonlinear(&mut self, op: Binary, value: Linear, a: Linear, b: Linear) {
        self.nonlinear.push(Nonlinear { op, value, a, b });
    }

    /// Requires that two values are equal if all differences of arguments are 0.
    pub fn add_same_function(&mut self, differences: Vec<Linear>, x: &Linear, y: &Linear) -> Result<(), Stop> {
        self.functions.push(SameFunction { differences, values: x.minus(y)? });
        Ok(())
    }

    /// Finds values of all columns that satisfy every condition; `None` if there are none.
    ///
    /// # Errors
    /// [`Stop`] if it is undecided.
    pub fn solve(self, meter: &mut Meter) -> Result<Option<Vec<i128>>, Stop> {
        let n = self.columns.len();
        let found = search::search(self, meter, 0)?;
        Ok(found.map(|mut values| {
            values.truncate(n);
            values
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::EFFORT;

    /// `sum of coefficients * columns in [lo, hi]`
    fn system(columns: &[(i128, i128)], rows: &[(&[i128], i128, i128)]) -> System {
        let mut system = System::default();
        columns.iter().for_each(|(lo, hi)| {
            system.add_column(Span { lo: *lo, hi: *hi });
        });
        for (coefficients, lo, hi) in rows {
            let mut form = Linear::default();
            for (column, k) in coefficients.iter().enumerate() {
                form.add_term(*k, column as Column).unwrap();
            }
            system.add_row(&form, Span { lo: *lo, hi: *hi }).unwrap();
        }
        system
    }

    fn solve(columns: &[(i128, i128)], rows: &[(&[i128], i128, i128)]) -> Option<Vec<i128>> {
        let found = system(columns, rows).solve(&mut Meter::new(1 << 20)).unwrap()?;
        let inside = columns.iter().zip(&found).all(|((lo, hi), x)| (lo..=hi).contains(&x));
        let holds = rows.iter().all(|(k, lo, hi)| {
            let sum: i128 = k.iter().zip(&found).map(|(k, x)| k * x).sum();
            (*lo..=*hi).contains(&sum)
        });
        assert!(inside && holds, "{columns:?} {rows:?} {found:?}");
        Some(found)
    }

    const BIG: i128 = 1 << 62;

    #[test]
    fn what_has_no_solution_is_proved_at_any_size() {
        for (columns, rows) in [
            // A common divisor.
            (&[(0, BIG), (0, BIG)][..], &[(&[2, -4][..], 1, 1)][..]),
            // Strides with gaps: 128 * (x - y) + z - w lies outside [100, 110].
            (&[(0, BIG), (0, BIG), (0, 9), (0, 9)], &[(&[128, -128, 1, -1], 100, 110)]),
            // A cyclic order.
            (&[(0, BIG), (0, BIG)], &[(&[1, -1], 1, BIG), (&[-1, 1], 0, BIG)]),
            // x = 2u + 1 = 4v + 2.
            (&[(0, BIG), (0, BIG), (0, BIG)], &[(&[1, -2, 0], 1, 1), (&[1, 0, -4], 2, 2)]),
            // 6x + 10y + 15z = 1 within a box that is too small.
            (&[(0, 3), (0, 3), (0, 3)], &[(&[6, 10, 15], 29, 29)]),
        ] {
            assert_eq!(solve(columns, rows), None, "{columns:?} {rows:?}");
        }
    }

    #[test]
    fn solutions_are_found() {
        for (columns, rows) in [
            (&[(0, BIG), (0, BIG)][..], &[(&[2, -4][..], 2, 2)][..]),
            (&[(0, BIG), (0, BIG), (0, 9), (0, 9)], &[(&[128, -128, 1, -1], 100, 119)]),
            (&[(0, BIG), (0, BIG)], &[(&[1, -1], 1, BIG), (&[-1, 1], -7, BIG)]),
            (&[(0, BIG), (0, BIG), (0, BIG)], &[(&[1, -2, 0], 1, 1), (&[1, 0, -3], 2, 2)]),
            (&[(-9, 9), (-9, 9), (-9, 9)], &[(&[6, 10, 15], 1, 1)]),
            (&[(0, 99), (0, 99), (0, 99)], &[(&[7, -5, 0], 3, 3), (&[0, 11, -13], 4, 4)]),
            (&[], &[]),
        ] {
            assert!(solve(columns, rows).is_some(), "{columns:?} {rows:?}");
        }
    }

    /// Random systems over small boxes, compared with enumeration.
    #[test]
    fn a_system_has_a_solution_where_a_point_satisfies_it() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % n) as i128
        };
        let (mut n_solved, n_cases) = (0, 6000);
        for _ in 0..n_cases {
            let columns: Vec<(i128, i128)> = (0..1 + below(4))
                .map(|_| {
                    let lo = below(9) - 5;
                    (lo, lo + below(7))
                })
                .collect();
            let rows: Vec<(Vec<i128>, i128, i128)> = (0..1 + below(3))
                .map(|_| {
                    let coefficients = columns.iter().map(|_| if below(4) == 0 { 0 } else { below(31) - 15 }).collect();
                    let lo = below(41) - 20;
                    (coefficients, lo, if below(3) == 0 { lo + below(9) } else { lo })
                })
                .collect();
            let mut points = vec![Vec::new()];
            for (lo, hi) in &columns {
                let longer = |p: Vec<i128>| (*lo..=*hi).map(move |x| p.iter().copied().chain([x]).collect());
                points = points.into_iter().flat_map(longer).collect();
            }
            let holds = |p: &&Vec<i128>| {
                let sum = |k: &[i128]| k.iter().zip(p.iter()).map(|(k, x)| k * x).sum::<i128>();
                rows.iter().all(|(k, lo, hi)| (*lo..=*hi).contains(&sum(k)))
            };
            let wanted = points.iter().find(holds);
            let rows: Vec<(&[i128], i128, i128)> = rows.iter().map(|(k, lo, hi)| (&k[..], *lo, *hi)).collect();
            assert_eq!(solve(&columns, &rows).is_some(), wanted.is_some(), "{columns:?} {rows:?} {wanted:?}");
            n_solved += usize::from(wanted.is_some());
        }
        assert!(n_cases / 20 < n_solved && n_solved < n_cases * 19 / 20, "{n_solved}");
    }

    #[test]
    fn operations_are_exact_at_a_solution() {
        for (op, a, b, value) in [
            (Binary::Product, 7, 6, 42),
            (Binary::FloorDiv, 7, 2, 3),
            (Binary::Mod, 7, 4, 3),
            (Binary::Min, 7, 4, 4),
            (Binary::Max, 7, 4, 7),
        ] {
            for wanted in [value, value + 40] {
                let mut s = system(&[(7, 8), (b, b + 1), (-99, 99)], &[(&[1, 0, 0], a, a), (&[0, 1, 0], b, b)]);
                s.add_row(&Linear::atom(2), Span::point(wanted)).unwrap();
                s.add_nonlinear(op, Linear::atom(2), Linear::atom(0), Linear::atom(1));
                let found = s.solve(&mut Meter::new(1 << 20)).unwrap();
                assert_eq!(found, (wanted == value).then(|| vec![a, b, value]), "{op:?}");
            }
        }
    }

    #[test]
    fn equal_arguments_have_equal_values() {
        let mut s = system(&[(0, 9), (0, 9), (0, 9), (0, 9)], &[(&[1, -1, 0, 0], 0, 0), (&[0, 0, 1, -1], 1, 9)]);
        let columns: Vec<Linear> = (0..4).map(Linear::atom).collect();
        assert!(s.clone().solve(&mut Meter::new(1 << 20)).unwrap().is_some());
        s.add_same_function(vec![columns[0].minus(&columns[1]).unwrap()], &columns[2], &columns[3]).unwrap();
        assert_eq!(s.solve(&mut Meter::new(1 << 20)), Ok(None));
    }

    #[test]
    fn what_takes_too_much_stops() {
        let columns = [(2, BIG); 6];
        let mut s = system(&columns, &[]);
        for (i, j) in [(0, 1), (2, 3), (4, 5)] {
            let product = s.add_column(Span { lo: 0, hi: BIG * BIG });
            s.add_nonlinear(Binary::Product, Linear::atom(product), Linear::atom(i), Linear::atom(j));
            s.add_row(&Linear::atom(product), Span::point((1 << 61) - 1)).unwrap();
        }
        assert_eq!(s.solve(&mut Meter::new(EFFORT)), Err(Stop::Effort));
        let huge = (&[i128::MAX / 2, i128::MAX / 2 - 1][..], 1, i128::MAX);
        assert_eq!(system(&columns[..2], &[huge]).solve(&mut Meter::new(1 << 14)), Err(Stop::Overflow));
    }

    /// The effort that a system takes.
    fn effort(system: System) -> u64 {
        let mut meter = Meter::new(u64::MAX);
        assert!(system.solve(&mut meter).is_ok());
        u64::MAX - meter.left()
    }

    #[test]
    fn the_effort_grows_with_the_conditions() {
        let columns = |n: usize| System { columns: vec![Span { lo: 0, hi: 9 }; n], ..System::default() };
        let form = |i: usize, step: usize, k: i128| {
            let mut form = Linear::atom((step * i) as Column);
            form.add_term(k, (step * i + 1) as Column).unwrap();
            form
        };
        // A chain of equalities, and separate pairs of columns. A chain of inequalities takes more: a branch for each
        // column, and each branch copies the others.
        for (step, k, span) in [(1, -1, Span::point(0)), (2, 3, Span { lo: 5, hi: 7 })] {
            let chain = |n: usize| {
                let mut system = columns(step * n + 1);
                (0..n).for_each(|i| system.add_row(&form(i, step, k), span).unwrap());
                effort(system)
            };
            let (few, many) = (chain(20), chain(80));
            assert!(many < 5 * few, "{span:?}: {few} and {many}");
        }
    }
}
