//! The one doorway that lets go of the interpreter lock.

use pyo3::prelude::*;

/// Runs `work` while other Python threads go on.
pub fn unlocked<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}

/// More threads than this are not started, whatever number is asked for.
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
            // A worker panics only on a broken promise of the core, which then goes on to Python as its panic.
            workers.into_iter().flat_map(|w| w.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
        })
    })
}
