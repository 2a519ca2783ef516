//! Releases the interpreter lock while the core crates work.

use pyo3::prelude::*;

/// Runs `work` without the interpreter lock, so that other Python threads run.
pub fn unlocked<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}

/// The upper limit of the number of threads.
const MAX_THREADS: usize = 256;

/// Runs `each` over all items on `threads` threads, in order.
pub fn unlocked_many<A: Sync, B: Send>(
    py: Python<'_>,
    items: &[A],
    threads: usize,
    each: impl Fn(&A) -> B + Send + Sync,
) -> Vec<B> {
    unlocked(py, || {
        let threads = threads.min(MAX_THREADS);
        if threads <= 1 || items.len() < 2 {
            return items.iter().map(each).collect();
        }
        let chunk = items.len().div_ceil(threads);
        let each = &each;
        std::thread::scope(|scope| {
            let workers: Vec<_> = items
                .chunks(chunk)
                .map(|part| scope.spawn(move || part.iter().map(each).collect::<Vec<B>>()))
                .collect();
            // A worker panics only on a bug of the core crates; Python then gets that panic as an exception.
            workers.into_iter().flat_map(|w| w.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
        })
    })
}
