//! Cancels long work of the crates between the algebra and Python, whose functions do not return that they are
//! cancelled.
//!
//! The watch is that of [`quasiaffine::cancel`]. There, cancellation is a value; here, [`look`] unwinds the stack from
//! the loop to [`watched`], as a panic does, but without its message. So no function can mistake it for "unknown",
//! and infallible functions stay infallible.
//! * Shared state is left as before the call, or complete. Cancelled work keeps nothing: [`look_back`] stands before an
//!   answer of the algebra goes into a cache, also in [`once`].
//! * No loop that looks runs under a lock or inside the initializer of a [`OnceLock`], since the watch may wait for a
//!   thread that waits for that lock. [`once`] initializes without one.
//! * Without a watch, looking has no effect.

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::OnceLock;

use quasiaffine::cancel::{heard, is_cancelled};
pub use quasiaffine::cancel::{n_steps, steps, unwatched, Cancelled};

/// Runs `work`; `should_cancel` decides, where the work looks, whether it ends there.
///
/// ```
/// use cancel::{look, watched, Cancelled};
/// assert_eq!(watched(|| false, || { look(); 1 }), Ok(1));
/// assert_eq!(watched(|| true, || { look(); 1 }), Err(Cancelled));
/// ```
///
/// # Errors
/// [`Cancelled`] if the work was ended.
pub fn watched<T>(should_cancel: fn() -> bool, work: impl FnOnce() -> T) -> Result<T, Cancelled> {
    let (mut work, mut value) = (Some(work), None);
    caught(should_cancel, &mut || value = work.take().map(|work| work()))?;
    value.ok_or(Cancelled)
}

/// The part of [`watched`] that does not depend on a type, so that it is compiled once.
fn caught(should_cancel: fn() -> bool, work: &mut dyn FnMut()) -> Result<(), Cancelled> {
    // Shared state is complete wherever the work looks: the first law of this crate.
    let caught = || catch_unwind(AssertUnwindSafe(work));
    // Any panic that is not a cancellation goes on.
    quasiaffine::cancel::watched(should_cancel, caught)?.map_err(|payload| match payload.downcast() {
        Ok(cancelled) => *cancelled,
        Err(payload) => resume_unwind(payload),
    })
}

/// Ends the work here if it is cancelled, by unwinding.
#[inline]
pub fn look() {
    if is_cancelled() {
        unwind();
    }
}

/// Ends the work here if it has heard that it is cancelled: before an answer of the algebra is kept.
#[inline]
pub fn look_back() {
    if heard().is_err() {
        unwind();
    }
}

/// Counts a step of work, of less than about 100 microseconds; one in 64 steps [looks](look).
#[inline]
pub fn poll() {
    if quasiaffine::cancel::poll() {
        unwind();
    }
}

#[cold]
#[inline(never)]
fn unwind() {
    // A second unwinding would end the process.
    if !std::thread::panicking() {
        resume_unwind(Box::new(Cancelled));
    }
}

/// The value of a cell, computed by `value` if the cell is empty. Concurrent callers each compute it, and agree.
pub fn once<T>(cell: &OnceLock<T>, value: impl FnOnce() -> T) -> &T {
    if let Some(known) = cell.get() {
        return known;
    }
    let value = value();
    look_back();
    cell.get_or_init(|| value)
}

/// Frees a large value on another thread, since that takes long, also while a cancellation unwinds.
pub fn discard(value: impl Send + 'static) {
    // If no thread can be started, the value is freed here.
    let _ = std::thread::Builder::new().spawn(move || drop(value));
}

/// Runs each job on its own thread, and returns the results in order. If this thread is cancelled, so are the others.
pub fn on_threads<J: Send, T: Send>(jobs: impl Iterator<Item = J>, work: impl Fn(J) -> T + Sync) -> Vec<T> {
    let found = quasiaffine::cancel::on_threads(jobs, work);
    // A thread that is cancelled may return what it has.
    look_back();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static LOOKS: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    fn at_third_look() -> bool {
        LOOKS.set(LOOKS.get() - 1);
        LOOKS.get() == 0
    }

    #[test]
    fn a_watch_ends_with_its_call() {
        assert_eq!(watched(|| true, look), Err(Cancelled));
        look();
        assert_eq!(watched(|| true, || unwatched(look)), Ok(()));
        assert_eq!(watched(|| false, || watched(|| true, look)), Ok(Err(Cancelled)));
    }

    #[test]
    fn a_panic_goes_on() {
        let panicked = catch_unwind(|| watched(|| false, || resume_unwind(Box::new(7))));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&7));
    }

    #[test]
    fn an_answer_of_cancelled_work_is_not_kept() {
        let cell = OnceLock::new();
        let found = watched(|| true, || *once(&cell, || if is_cancelled() { "unknown" } else { "known" }));
        assert_eq!((found, cell.get()), (Err(Cancelled), None));
        assert_eq!(*once(&cell, || "known"), "known");
    }

    #[test]
    fn threads_end_with_their_caller() {
        LOOKS.set(3);
        let endless = || {
            on_threads(0..3, |_| loop {
                poll();
            })
        };
        assert_eq!(watched(at_third_look, endless), Err::<Vec<()>, _>(Cancelled));
        assert_eq!(on_threads(0..5, |i| i * i), [0, 1, 4, 9, 16]);
    }
}
