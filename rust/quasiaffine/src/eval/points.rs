//! Points of a domain as columns, one for each variable, and as the rows that a program takes; the value of an expression
//! at one point.

use smallvec::SmallVec;

use crate::domain::Domain;
use crate::eval::program::{Points, Program};
use crate::expr::evaluate::evaluate;
use crate::expr::{Expr, Var};
use crate::span::Interval;

/// Evaluates an expression as a tree; `None` if an intermediate value does not fit into 64 bits.
pub(crate) fn value_at(e: &Expr, of_var: &impl Fn(Var) -> i64) -> Option<i64> {
    evaluate(e, &|v| Some(of_var(v)))
}

/// All points of some variables in their ranges, the others at their lower ends, as columns.
pub(crate) fn box_points(ranges: &[Interval], vars: &[usize], n: usize) -> Vec<Vec<i64>> {
    let mut columns: Vec<Vec<i64>> = ranges.iter().map(|r| vec![r.lo; n]).collect();
    let mut period = 1usize;
    for v in vars {
        let (column, Interval { lo, hi }) = (&mut columns[*v], ranges[*v]);
        for (run, value) in column.chunks_mut(period).zip((lo..=hi).cycle()) {
            run.fill(value);
        }
        period *= ranges[*v].size() as usize;
    }
    columns
}

/// All `n` points of a box as rows, the last variable first to move.
pub(crate) fn box_rows(sides: &[Interval], n: usize) -> Vec<i64> {
    let mut rows = Vec::with_capacity(n * sides.len());
    let mut point: SmallVec<[i64; 8]> = sides.iter().map(|side| side.lo).collect();
    for _ in 0..n {
        rows.extend_from_slice(&point);
        for (x, side) in point.iter_mut().zip(sides).rev() {
            if *x < side.hi {
                *x += 1;
                break;
            }
            *x = side.lo;
        }
    }
    rows
}

/// All points of the box of a map over dims, and the elements that they reach.
#[derive(Debug)]
pub(crate) struct AllPoints {
    points: Vec<i64>,
    elements: Vec<i64>,
    inside: Vec<bool>,
}

impl AllPoints {
    /// `None` for more points than `most`, or if a value does not fit.
    pub fn over(domain: &Domain, results: &[Expr], most: u128) -> Option<AllPoints> {
        let sides: SmallVec<[Interval; 8]> = domain.vars.iter().map(|v| v.interval).collect();
        let n = sides.iter().try_fold(1u128, |n, side| n.checked_mul(side.size())).filter(|n| *n <= most)? as usize;
        let points = box_rows(&sides, n);
        let program = Program::of(domain, results).ok()?;
        let rows = Points { n, dims: &points, ranges: &[], runtime: &[] };
        let (inside, elements) = (program.in_domain(&rows).ok()?, program.run::<false>(&rows).ok()?);
        Some(AllPoints { points, elements, inside })
    }

    /// The points of the domain in order, each with its element.
    pub fn iter(&self) -> impl Iterator<Item = (&[i64], &[i64])> {
        let row = |rows: &'_ [i64], i: usize| {
            let width = rows.len() / self.inside.len();
            i * width..(i + 1) * width
        };
        let inside = (0..self.inside.len()).filter(|i| self.inside[*i]);
        inside.map(move |i| (&self.points[row(&self.points, i)], &self.elements[row(&self.elements, i)]))
    }

    /// The number of points of the domain.
    pub fn n_points(&self) -> usize {
        self.inside.iter().filter(|inside| **inside).count()
    }

    /// The number of distinct elements.
    pub fn n_elements(&self) -> usize {
        let Some(width) = self.elements.len().checked_div(self.inside.len()) else { return 0 };
        // The number of each element in the box of the results.
        let (mut numbers, mut n_numbers) = (vec![0u64; self.n_points()], 1u128);
        for column in 0..width {
            let rows = self.inside.iter().zip(self.elements.chunks_exact(width));
            let mut values: Vec<u64> = rows.filter(|(inside, _)| **inside).map(|(_, row)| row[column] as u64).collect();
            let ends = values.iter().map(|x| Interval::point(*x as i64)).reduce(Interval::hull);
            let Some(ends) = ends else { return 0 };
            values.iter_mut().for_each(|x| *x = x.wrapping_sub(ends.lo as u64));
            let mut n_values = ends.size();
            if n_numbers.saturating_mul(n_values) > u64::MAX.into() {
                (n_numbers, n_values) = (rank(&mut numbers), rank(&mut values));
            }
            numbers.iter_mut().zip(values).for_each(|(number, x)| *number = *number * n_values as u64 + x);
            n_numbers *= n_values;
        }
        n_distinct(&mut numbers, n_numbers)
    }
}

/// Replaces each number by its place among them, and returns how many there are.
fn rank(numbers: &mut [u64]) -> u128 {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    numbers.iter_mut().for_each(|x| *x = sorted.partition_point(|y| *y < *x) as u64);
    sorted.len() as u128
}

/// The number of distinct numbers below an end.
fn n_distinct(numbers: &mut [u64], end: u128) -> usize {
    const BITS: u128 = u64::BITS as u128;
    // A bitmap of more words than there are numbers takes longer than sorting.
    if end / BITS > numbers.len() as u128 {
        numbers.sort_unstable();
        return numbers.chunk_by(|x, y| x == y).count();
    }
    let mut seen = vec![0u64; end.div_ceil(BITS) as usize];
    numbers.iter().for_each(|x| seen[(x / BITS as u64) as usize] |= 1 << (x % BITS as u64));
    seen.iter().map(|word| word.count_ones() as usize).sum()
}

/// The rows of some columns, for evaluation.
fn rows(columns: &[Vec<i64>], n: usize) -> Vec<i64> {
    if let [column] = columns {
        return column.clone();
    }
    let mut out = vec![0; columns.len() * n];
    for (i, column) in columns.iter().enumerate() {
        out[i..].iter_mut().step_by(columns.len()).zip(column).for_each(|(row, x)| *row = *x);
    }
    out
}

pub(crate) fn with_points<T>(domain: &Domain, columns: &[Vec<i64>], run: impl FnOnce(&Points<'_>) -> T) -> T {
    let n = columns.first().map_or(1, Vec::len);
    let ranges = domain.n_dims + domain.n_ranges;
    let dims = rows(&columns[..domain.n_dims], n);
    let of_ranges = rows(&columns[domain.n_dims..ranges], n);
    let runtime = rows(&columns[ranges..], n);
    run(&Points { n, dims: &dims, ranges: &of_ranges, runtime: &runtime })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_box_reach_the_largest_integer() {
        let sides = [Interval::new(i64::MAX - 1, i64::MAX), Interval::new(3, 4)];
        let (a, b) = (i64::MAX - 1, i64::MAX);
        assert_eq!(box_rows(&sides, 4), [a, 3, a, 4, b, 3, b, 4]);
    }

    #[test]
    fn elements_are_counted_as_a_set_counts_them() {
        let results = [
            "d0 mod 3, (d0 * d1) mod 5",
            "d0 * 1000000007, d1 - d0",
            // Far apart, and in a box of more than 128 bits.
            "d0 * 922337203685477580, d1 * -922337203685477580, d0 * d1 * 100000000000000000",
            "d0 * 922337203685477580, (d0 * d1) mod 2, (d1 mod 2) * -922337203685477580, d1 * 922337203685477580",
            "7",
        ];
        for results in results {
            for constraint in ["", ", d0 + d1 in [3, 9]", ", d0 * d0 in [50, 60]"] {
                let text = format!("(d0, d1) -> ({results}), domain: d0 in [0, 8], d1 in [0, 8]{constraint}");
                let all = AllPoints::of(&text.parse().unwrap(), 81).unwrap();
                let set: std::collections::BTreeSet<&[i64]> = all.iter().map(|(_, element)| element).collect();
                assert_eq!((all.n_points(), all.n_elements()), (all.iter().count(), set.len()), "{text}");
            }
        }
    }
}
