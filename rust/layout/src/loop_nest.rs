//! A strided copy as a loop nest: each loop has a stride in the source and a stride in the target.
//!
//! At every point `c` that satisfies all bounds, `target[Σ c·to] = source[Σ c·from]`; the other points are padding of
//! the target and receive the fill value. No two points write the same target element, and the inner loops together
//! span less than the target stride of the first loop, so that threads can divide the first one. Not here: how a layout
//! becomes a loop nest (`pack.rs`).

use crate::tiling::{Result, TOO_LARGE};
use quasiaffine::interrupt::{on_threads, poll};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    /// The trip count.
    pub n: usize,
    /// The stride in the source.
    pub from: usize,
    /// The stride in the target.
    pub to: usize,
}

/// `Σ factor · c < limit`, with one factor per loop.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub factors: Vec<usize>,
    pub limit: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct LoopNest {
    pub loops: Vec<Loop>,
    pub bounds: Vec<Bound>,
}

/// The side length of the square blocks, in elements, in which transposing copies run.
const BLOCK: usize = 16;

impl LoopNest {
    /// The copy in the opposite direction, to be run without a fill value. Trip counts shrink to the iterations that
    /// can satisfy the bounds, since the strides are not injective in the new target beyond them.
    pub fn reversed(mut self) -> LoopNest {
        for (i, l) in self.loops.iter_mut().enumerate() {
            let reach = |b: &Bound| if b.factors[i] > 0 { b.limit.div_ceil(b.factors[i]) } else { usize::MAX };
            let most = self.bounds.iter().map(reach).min().unwrap_or(usize::MAX);
            *l = Loop { n: l.n.min(most), from: l.to, to: l.from };
        }
        self
    }

    /// An equivalent nest in canonical form: without single-iteration loops and redundant bounds, in descending order
    /// of target strides, with contiguous neighbors merged.
    pub fn canonical(mut self) -> LoopNest {
        self.bounds.retain(|b| {
            let most = self.loops.iter().zip(&b.factors).map(|(l, &f)| l.n.saturating_sub(1).saturating_mul(f));
            most.fold(0usize, usize::saturating_add) >= b.limit
        });
        let mut order: Vec<usize> = (0..self.loops.len()).filter(|&i| self.loops[i].n != 1).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(self.loops[i].to));
        let mut loops: Vec<Loop> = Vec::with_capacity(order.len());
        let mut factors: Vec<Vec<usize>> = vec![Vec::with_capacity(order.len()); self.bounds.len()];
        for i in order {
            let l = self.loops[i];
            if let Some(last) = loops.last_mut() {
                let joins = |outer: usize, inner: usize| inner.checked_mul(l.n) == Some(outer);
                let all = self.bounds.iter().zip(&factors).all(|(b, f)| joins(f[f.len() - 1], b.factors[i]));
                if joins(last.from, l.from) && joins(last.to, l.to) && all {
                    *last = Loop { n: last.n * l.n, ..l };
                    for (b, f) in self.bounds.iter().zip(&mut factors) {
                        *f.last_mut().expect("one factor per loop") = b.factors[i];
                    }
                    continue;
                }
            }
            loops.push(l);
            for (b, f) in self.bounds.iter().zip(&mut factors) {
                f.push(b.factors[i]);
            }
        }
        for (b, f) in self.bounds.iter_mut().zip(factors) {
            b.factors = f;
        }
        LoopNest { loops, bounds: self.bounds }
    }

    /// Runs the copy on up to `threads` threads; the nest must be in canonical form.
    pub fn run<T: Copy + Send + Sync>(&self, source: &[T], target: &mut [T], fill: Option<T>, threads: usize) {
        if self.loops.iter().any(|l| l.n == 0) {
            return;
        }
        let Some(&Loop { n, from, to }) = self.loops.first() else {
            let none = self.bounds.iter().any(|b| b.limit == 0);
            match (none, fill) {
                (false, _) => target[0] = source[0],
                (true, Some(fill)) => target[0] = fill,
                (true, None) => {}
            }
            return;
        };
        let rounds = n.div_ceil(threads.clamp(1, n));
        let work = |k: usize, part: &mut [T]| {
            let start = k * rounds;
            let mut nest = self.clone();
            nest.loops[0].n = rounds.min(n - start);
            let sums: Vec<usize> = self.bounds.iter().map(|b| b.factors[0] * start).collect();
            nest.move_source_loop_inward();
            Executor { nest: &nest, source, fill }.run(start * from, part, sums);
        };
        let parts = target.chunks_mut((rounds * to).max(1)).take(n.div_ceil(rounds)).enumerate();
        if threads <= 1 {
            parts.for_each(|(k, part)| work(k, part));
        } else {
            on_threads(parts, |(k, part)| work(k, part));
        }
    }

    /// Moves the loop with the smallest source stride next to the innermost one, which has the smallest target stride.
    fn move_source_loop_inward(&mut self) {
        let last = self.loops.len() - 1;
        let along = (0..=last).min_by_key(|&i| (self.loops[i].from, std::cmp::Reverse(i))).expect("there is a loop");
        if along != last && last > 0 {
            self.loops[along..last].rotate_left(1);
            self.bounds.iter_mut().for_each(|b| b.factors[along..last].rotate_left(1));
        }
    }
}

/// Runs the share of one thread.
struct Executor<'a, T> {
    nest: &'a LoopNest,
    source: &'a [T],
    fill: Option<T>,
}

impl<T: Copy> Executor<'_, T> {
    /// Visits all points: the outer loops count like an odometer, the two innermost loops form a rectangle.
    /// `sums` holds the value of every bound at the start.
    fn run(&self, mut from: usize, target: &mut [T], mut sums: Vec<usize>) {
        const ONE: Loop = Loop { n: 1, from: 0, to: 0 };
        let loops = &self.nest.loops;
        let n_outer = loops.len().saturating_sub(2);
        let (rows, columns) = match loops[n_outer..] {
            [a, b] => (a, b),
            [b] => (ONE, b),
            _ => (ONE, ONE),
        };
        let mut at = vec![0usize; n_outer];
        let mut to = 0usize;
        loop {
            poll();
            self.rectangle(rows, columns, from, target, to, &sums);
            let mut i = n_outer;
            loop {
                if i == 0 {
                    return;
                }
                i -= 1;
                let l = loops[i];
                at[i] += 1;
                if at[i] < l.n {
                    (from, to) = (from.wrapping_add(l.from), to + l.to);
                    for (s, b) in sums.iter_mut().zip(&self.nest.bounds) {
                        *s += b.factors[i];
                    }
                    break;
                }
                at[i] = 0;
                (from, to) = (from.wrapping_sub(l.from.wrapping_mul(l.n - 1)), to - l.to * (l.n - 1));
                for (s, b) in sums.iter_mut().zip(&self.nest.bounds) {
                    *s -= b.factors[i] * (l.n - 1);
                }
            }
        }
    }

    fn rectangle(&self, rows: Loop, columns: Loop, from: usize, target: &mut [T], to: usize, sums: &[usize]) {
        if sums.is_empty() {
            return self.copy(rows, columns, from, target, to);
        }
        let (mut n_rows, mut n_columns, mut slanted) = (rows.n, columns.n, false);
        for (&s, b) in sums.iter().zip(&self.nest.bounds) {
            let (row, column) = match b.factors[..] {
                [.., row, column] => (row, column),
                [column] => (0, column),
                [] => (0, 0),
            };
            let left = b.limit.saturating_sub(s);
            match (row, column) {
                (0, 0) if left == 0 => n_rows = 0,
                (0, 0) => {}
                (0, column) => n_columns = n_columns.min(left.div_ceil(column)),
                (row, 0) => n_rows = n_rows.min(left.div_ceil(row)),
                _ => slanted = true,
            }
        }
        if !slanted {
            if n_rows > 0 && n_columns > 0 {
                self.copy(Loop { n: n_rows, ..rows }, Loop { n: n_columns, ..columns }, from, target, to);
            } else {
                (n_rows, n_columns) = (0, columns.n);
            }
            return self.pad(rows, columns, n_rows, n_columns, target, to);
        }
        for r in 0..rows.n {
            poll();
            let mut n = if r < n_rows { n_columns } else { 0 };
            for (&s, b) in sums.iter().zip(&self.nest.bounds) {
                if let [.., row, column] = b.factors[..] {
                    let left = b.limit.saturating_sub(s).saturating_sub(row * r);
                    n = if column > 0 { n.min(left.div_ceil(column)) } else { n };
                }
            }
            let one = Loop { n: 1, ..rows };
            let start = to + r * rows.to;
            if n > 0 {
                self.copy(one, Loop { n, ..columns }, from + r * rows.from, target, start);
            }
            self.pad(one, columns, 1, n, target, start);
        }
    }

    /// Fills the rectangle outside its first `n_rows` rows and `n_columns` columns.
    fn pad(&self, rows: Loop, columns: Loop, n_rows: usize, n_columns: usize, target: &mut [T], to: usize) {
        let Some(fill) = self.fill else { return };
        for r in 0..rows.n {
            poll();
            let done = if r < n_rows { n_columns } else { 0 };
            let start = to + r * rows.to;
            if columns.to == 1 {
                target[start + done..start + columns.n].fill(fill);
            } else {
                (done..columns.n).for_each(|c| target[start + c * columns.to] = fill);
            }
        }
    }

    fn copy(&self, rows: Loop, columns: Loop, from: usize, target: &mut [T], to: usize) {
        let source = self.source;
        match (columns.from, columns.to) {
            (1, 1) => {
                for r in 0..rows.n {
                    let (a, b) = (from + r * rows.from, to + r * rows.to);
                    let (into, of) = (&mut target[b..b + columns.n], &source[a..a + columns.n]);
                    // For a handful of elements, the call to memcpy costs more than the copy.
                    if columns.n <= 8 {
                        into.iter_mut().zip(of).for_each(|(t, &s)| *t = s);
                    } else {
                        into.copy_from_slice(of);
                    }
                }
            }
            (step, 1) if rows.from == 1 && rows.to == columns.n && matches!(columns.n, 2 | 4 | 8) => {
                let into = &mut target[to..to + rows.n * rows.to];
                match columns.n {
                    2 => interleave::<T, 2>(source, from, step, into),
                    4 => interleave::<T, 4>(source, from, step, into),
                    _ => interleave::<T, 8>(source, from, step, into),
                }
            }
            _ => {
                for r in (0..rows.n).step_by(BLOCK) {
                    poll();
                    for c in (0..columns.n).step_by(BLOCK) {
                        let high = rows.n.min(r + BLOCK);
                        let n = (columns.n - c).min(BLOCK);
                        for r in r..high {
                            let (a, b) = (from + r * rows.from + c * columns.from, to + r * rows.to + c * columns.to);
                            if columns.to == 1 {
                                let into = &mut target[b..b + n];
                                into.iter_mut().enumerate().for_each(|(i, t)| *t = source[a + i * columns.from]);
                            } else {
                                (0..n).for_each(|i| target[b + i * columns.to] = source[a + i * columns.from]);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// `target[r * N + c] = source[from + r + c * step]`: interleaves N contiguous runs of the source.
fn interleave<T: Copy, const N: usize>(source: &[T], from: usize, step: usize, target: &mut [T]) {
    let n = target.len() / N;
    let runs: [&[T]; N] = std::array::from_fn(|c| &source[from + c * step..from + c * step + n]);
    for (r, into) in target.chunks_exact_mut(N).enumerate() {
        for c in 0..N {
            into[c] = runs[c][r];
        }
    }
}

pub(crate) fn size(n: i64) -> Result<usize> {
    usize::try_from(n).map_err(|_| TOO_LARGE)
}
