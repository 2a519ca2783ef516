//! A block of points: its values as columns, one for each step, in lanes of one width.
//!
//! A block is small enough for its columns to stay in the nearest cache.

use std::num::NonZeroUsize;
use std::ops::Range;

use crate::arithmetic::Binary;
use crate::cancel::poll;
use crate::eval::program::{Points, Program, Register, Step};
use crate::eval::simd::Lane;

/// About how many bytes the columns of a block take.
const BLOCK_BYTES: usize = 1 << 15;

/// The columns of one block at a time.
pub(crate) struct Columns<L> {
    values: Vec<L>,
    /// The distance between the starts of two columns.
    stride: usize,
    /// The first point of the block.
    start: usize,
    /// The number of points in the block.
    n: usize,
}

impl<L: Lane> Columns<L> {
    /// Allocates columns for the blocks of `n` points.
    #[inline(always)]
    pub fn new(program: &Program, n: usize) -> Columns<L> {
        let all = BLOCK_BYTES / size_of::<L>() / program.steps.len().max(1);
        let stride = all.next_multiple_of(32).clamp(32, 1024).min(n.max(1));
        Columns { values: vec![L::default(); program.steps.len() * stride], stride, start: 0, n: 0 }
    }

    /// Runs some steps on the next block; `false` when all points are done, or the work is cancelled.
    #[inline(always)]
    pub fn next(&mut self, program: &Program, points: &Points<'_>, steps: impl Iterator<Item = usize>) -> bool {
        self.start += self.n;
        self.n = self.stride.min(points.n - self.start);
        if self.n == 0 || poll() {
            return false;
        }
        load(&program.rows(points, self.start, self.n), program.counts(), self);
        for i in steps {
            let (known, out) = self.before(i);
            run_step(&program.steps[i], known, out);
        }
        true
    }

    /// The points of the block.
    #[inline(always)]
    pub fn points(&self) -> Range<usize> {
        self.start..self.start + self.n
    }

    /// The values of a step.
    #[inline(always)]
    pub fn column(&self, register: Register) -> &[L] {
        &self.values[register as usize * self.stride..][..self.n]
    }

    /// The columns before column `i`, and that column.
    #[inline(always)]
    fn before(&mut self, i: usize) -> (PriorColumns<'_, L>, &mut [L]) {
        let (known, rest) = self.values.split_at_mut(i * self.stride);
        (PriorColumns { values: known, stride: self.stride, n: self.n }, &mut rest[..self.n])
    }
}

/// The columns of the steps before one.
struct PriorColumns<'a, L> {
    values: &'a [L],
    stride: usize,
    n: usize,
}

impl<L> PriorColumns<'_, L> {
    #[inline(always)]
    fn column(&self, register: Register) -> &[L] {
        &self.values[register as usize * self.stride..][..self.n]
    }
}

/// Loads the values of the variables into the first columns.
#[inline(always)]
fn load<L: Lane>(points: &Points<'_>, counts: [usize; 3], columns: &mut Columns<L>) {
    let Columns { values, stride, .. } = columns;
    let mut places = values.chunks_exact_mut(*stride);
    for (table, width) in [points.dims, points.ranges, points.runtime].into_iter().zip(counts) {
        match width {
            0 => {}
            1 => load_rows::<L, 1>(table, &mut places),
            2 => load_rows::<L, 2>(table, &mut places),
            3 => load_rows::<L, 3>(table, &mut places),
            4 => load_rows::<L, 4>(table, &mut places),
            _ => {
                for (j, column) in places.by_ref().take(width).enumerate() {
                    column.iter_mut().zip(table[j..].iter().step_by(width)).for_each(|(o, x)| *o = L::narrow(*x));
                }
            }
        }
    }
}

/// Turns rows of a fixed width into columns, all at once.
#[inline(always)]
fn load_rows<'a, L: Lane + 'a, const W: usize>(table: &[i64], places: &mut impl Iterator<Item = &'a mut [L]>) {
    let n = table.len() / W;
    let columns: [&mut [L]; W] = std::array::from_fn(|_| match places.next() {
        Some(place) => &mut place[..n],
        None => &mut [],
    });
    // With equal lengths, the loop needs no bounds checks.
    if columns.iter().any(|column| column.len() != n) {
        return;
    }
    for (i, row) in table.chunks_exact(W).enumerate() {
        for j in 0..W {
            columns[j][i] = L::narrow(row[j]);
        }
    }
}

#[inline(always)]
fn run_step<L: Lane>(step: &Step, known: PriorColumns<'_, L>, out: &mut [L]) {
    match step {
        Step::Const(c) => out.fill(L::constant(*c)),
        Step::Var => {}
        Step::Sum(c, terms) => sum(*c, terms, known, out),
        Step::Remainder(a, n, q) => {
            let n = n.wrapping_neg();
            zip(out, known.column(*a), known.column(*q), |a, q| a.add_scaled(n, q));
        }
        Step::DivConst(a, divisor) => L::div_all(divisor, known.column(*a), out),
        Step::ModConst(a, divisor) => L::mod_all(divisor, known.column(*a), out),
        Step::Binary(op, a, b) => {
            let (a, b) = (known.column(*a), known.column(*b));
            match op {
                Binary::Product => zip(out, a, b, L::times),
                Binary::FloorDiv => zip(out, a, b, L::floor_div),
                Binary::Mod => zip(out, a, b, L::floor_mod),
                Binary::Min => zip(out, a, b, L::minimum),
                Binary::Max => zip(out, a, b, L::maximum),
            }
        }
    }
}

/// A constant and multiples of columns, two in one pass: the first pass writes, the others add.
#[inline(always)]
fn sum<L: Lane>(constant: i64, terms: &[(i64, Register)], known: PriorColumns<'_, L>, out: &mut [L]) {
    let constant = L::constant(constant);
    let mut pairs = terms.chunks(2);
    // Patterns copy the factors; through a reference, each value would load them again.
    match pairs.next() {
        // A factor of 1 is frequent, and a product of 64-bit lanes is not cheap.
        Some(&([(1, r), (k, s)] | [(k, s), (1, r)])) => {
            zip(out, known.column(r), known.column(s), |x, y| constant.add_scaled(1, x).add_scaled(k, y));
        }
        Some(&[(k, r), (l, s)]) => {
            zip(out, known.column(r), known.column(s), |x, y| constant.add_scaled(k, x).add_scaled(l, y));
        }
        Some(&[(k, r)]) => out.iter_mut().zip(known.column(r)).for_each(|(o, x)| *o = constant.add_scaled(k, *x)),
        _ => out.fill(constant),
    }
    for pair in pairs {
        match *pair {
            [(k, r), (l, s)] => {
                for ((o, x), y) in out.iter_mut().zip(known.column(r)).zip(known.column(s)) {
                    *o = o.add_scaled(k, *x).add_scaled(l, *y);
                }
            }
            [(k, r)] => out.iter_mut().zip(known.column(r)).for_each(|(o, x)| *o = o.add_scaled(k, *x)),
            _ => {}
        }
    }
}

#[inline(always)]
fn zip<L: Lane>(out: &mut [L], a: &[L], b: &[L], f: impl Fn(L, L) -> L) {
    for ((o, x), y) in out.iter_mut().zip(a).zip(b) {
        *o = f(*x, *y);
    }
}

/// Writes some columns as rows.
#[inline(always)]
pub(crate) fn store<L: Lane>(columns: &Columns<L>, results: &[Register], out: &mut [i64]) {
    let column = |r: Register| columns.column(r);
    match *results {
        [] => {}
        [a] => out.iter_mut().zip(column(a)).for_each(|(o, a)| *o = a.wide()),
        [a, b] => rows(out, column(a).iter().zip(column(b)).map(|(a, b)| [a.wide(), b.wide()])),
        [a, b, c] => {
            let columns = column(a).iter().zip(column(b)).zip(column(c));
            rows(out, columns.map(|((a, b), c)| [a.wide(), b.wide(), c.wide()]));
        }
        [a, b, c, d] => {
            let columns = column(a).iter().zip(column(b)).zip(column(c)).zip(column(d));
            rows(out, columns.map(|(((a, b), c), d)| [a.wide(), b.wide(), c.wide(), d.wide()]));
        }
        _ => {
            for (j, result) in results.iter().enumerate() {
                let places = out[j..].iter_mut().step_by(results.len());
                places.zip(column(*result)).for_each(|(o, x)| *o = x.wide());
            }
        }
    }
}

/// Writes rows of a fixed width.
#[inline(always)]
fn rows<const W: usize>(out: &mut [i64], rows: impl Iterator<Item = [i64; W]>) {
    out.chunks_exact_mut(W).zip(rows).for_each(|(place, row)| place.copy_from_slice(&row));
}

/// The number of points copied at once when each variable takes a pass over them: what the nearest cache holds.
const COPIED: usize = 256;

/// Copies results that are variables from rows to rows. `variables` are numbered across the tables, whose widths are
/// `counts`.
#[inline(always)]
pub(crate) fn copy(points: &Points<'_>, counts: [usize; 3], variables: &[Register], out: &mut [i64]) {
    let width = variables.len();
    if let (Some(dims), true) = (NonZeroUsize::new(counts[0]), variables.iter().all(|v| (*v as usize) < counts[0])) {
        let rows = points.dims.chunks_exact(dims.get());
        match *variables {
            [a] => return copy_rows(rows, [a], out),
            [a, b] => return copy_rows(rows, [a, b], out),
            [a, b, c] => return copy_rows(rows, [a, b, c], out),
            [a, b, c, d] => return copy_rows(rows, [a, b, c, d], out),
            _ => {}
        }
    }
    for start in (0..points.n).step_by(COPIED) {
        let n = COPIED.min(points.n - start);
        let part = points.part(start, n, counts);
        let out = &mut out[start * width..][..n * width];
        for (j, variable) in variables.iter().enumerate() {
            let places = out[j..].iter_mut().step_by(width);
            places.zip(part.of_var(*variable as usize, counts)).for_each(|(o, x)| *o = *x);
        }
    }
}

#[inline(always)]
fn copy_rows<'a, const W: usize>(from: impl Iterator<Item = &'a [i64]>, at: [Register; W], out: &mut [i64]) {
    rows(out, from.map(|row| at.map(|i| row[i as usize])));
}
