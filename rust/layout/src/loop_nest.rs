//! A strided copy: nested loops, each with a stride in the source and a stride in the target.
//!
//! `target[Σ c·to] = source[Σ c·from]` at every point `c`. No two points write the same target element, and the inner
//! loops together span less than the target stride of the first loop, so that threads can divide the first one. Not
//! here: the conversion of layouts into such copies (`pack.rs`).

use cancel::{on_threads, poll};

use crate::tuning::BLOCK;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    /// The trip count.
    pub n: usize,
    /// The stride in the source.
    pub from: usize,
    /// The stride in the target.
    pub to: usize,
}

/// Runs these loops, in any order, on up to `threads` threads.
pub(crate) fn copy<T: Copy + Send + Sync>(loops: Vec<Loop>, source: &[T], target: &mut [T], threads: usize) {
    let loops = canonical(loops);
    let Some(&Loop { n, from, to }) = loops.first() else {
        target[0] = source[0];
        return;
    };
    let rounds = n.div_ceil(threads.clamp(1, n));
    let work = |k: usize, part: &mut [T]| {
        let mut own = loops.clone();
        own[0].n = rounds.min(n - k * rounds);
        move_source_loop_inward(&mut own);
        run(&own, &source[k * rounds * from..], part);
    };
    let parts = target.chunks_mut((rounds * to).max(1)).take(n.div_ceil(rounds)).enumerate();
    if threads <= 1 {
        parts.for_each(|(k, part)| work(k, part));
    } else {
        on_threads(parts, |(k, part)| work(k, part));
    }
}

/// Equivalent loops: without single iterations, in descending order of target strides, contiguous neighbors merged.
fn canonical(mut loops: Vec<Loop>) -> Vec<Loop> {
    loops.retain(|l| l.n != 1);
    loops.sort_by_key(|l| std::cmp::Reverse(l.to));
    let mut merged: Vec<Loop> = Vec::with_capacity(loops.len());
    for l in loops {
        match merged.last_mut() {
            Some(last) if last.from == l.from * l.n && last.to == l.to * l.n => *last = Loop { n: last.n * l.n, ..l },
            _ => merged.push(l),
        }
    }
    merged
}

/// Moves the loop with the smallest source stride next to the innermost one, which has the smallest target stride.
fn move_source_loop_inward(loops: &mut [Loop]) {
    let last = loops.len() - 1;
    let along = (0..=last).min_by_key(|&i| (loops[i].from, std::cmp::Reverse(i))).expect("there is a loop");
    if along != last && last > 0 {
        loops[along..last].rotate_left(1);
    }
}

/// Visits all points: the outer loops count like an odometer, the two innermost loops form a rectangle.
fn run<T: Copy>(loops: &[Loop], source: &[T], target: &mut [T]) {
    const ONE: Loop = Loop { n: 1, from: 0, to: 0 };
    let (outer, inner) = loops.split_at(loops.len().saturating_sub(2));
    let (rows, columns) = match *inner {
        [a, b] => (a, b),
        [b] => (ONE, b),
        _ => (ONE, ONE),
    };
    let mut at = vec![0usize; outer.len()];
    let (mut from, mut to) = (0, 0);
    loop {
        poll();
        rectangle(rows, columns, &source[from..], &mut target[to..]);
        let Some(i) = (0..outer.len()).rev().find(|&i| {
            at[i] += 1;
            let goes_on = at[i] < outer[i].n;
            if !goes_on {
                at[i] = 0;
                (from, to) = (from - outer[i].from * (outer[i].n - 1), to - outer[i].to * (outer[i].n - 1));
            }
            goes_on
        }) else {
            return;
        };
        (from, to) = (from + outer[i].from, to + outer[i].to);
    }
}

fn rectangle<T: Copy>(rows: Loop, columns: Loop, source: &[T], target: &mut [T]) {
    match (columns.from, columns.to) {
        (1, 1) => {
            for r in 0..rows.n {
                let (a, b) = (r * rows.from, r * rows.to);
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
            let into = &mut target[..rows.n * rows.to];
            match columns.n {
                2 => interleave::<T, 2>(source, step, into),
                4 => interleave::<T, 4>(source, step, into),
                _ => interleave::<T, 8>(source, step, into),
            }
        }
        _ => {
            for r in (0..rows.n).step_by(BLOCK) {
                poll();
                for c in (0..columns.n).step_by(BLOCK) {
                    let n = (columns.n - c).min(BLOCK);
                    for r in r..rows.n.min(r + BLOCK) {
                        let (a, b) = (r * rows.from + c * columns.from, r * rows.to + c * columns.to);
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

/// `target[r * N + c] = source[r + c * step]`: interleaves N contiguous runs of the source.
fn interleave<T: Copy, const N: usize>(source: &[T], step: usize, target: &mut [T]) {
    let n = target.len() / N;
    let runs: [&[T]; N] = std::array::from_fn(|c| &source[c * step..c * step + n]);
    for (r, into) in target.chunks_exact_mut(N).enumerate() {
        for c in 0..N {
            into[c] = runs[c][r];
        }
    }
}
