//! Interrupts long work: the caller of a long call installs a watch, and the loops of the work poll it now and then.
//!
//! An interrupt unwinds the stack from the loop to [`watched`], as a panic does, but without its message. So it is
//! never a value: no function can mistake it for "unknown", no cache can keep it, and infallible functions stay
//! infallible.
//! * Shared state is left as before the call, or complete: caches take finished values only.
//! * No loop that looks runs under a lock or inside the initializer of a [`OnceLock`], since the watch may wait for a
//!   thread that waits for that lock. [`once`] initializes without one.
//! * Without a watch, looking has no effect.
//!
//! Threads of the work are started by [`on_threads`], which ends them with their caller. Not here: the decision to
//! interrupt.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A call that was ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// The judge of whether this thread goes on.
#[derive(Clone, Default)]
enum Watch {
    #[default]
    Nobody,
    Caller(fn() -> bool),
    /// The thread that started this one, which then waits for it.
    Starter(Arc<AtomicBool>),
}

/// One of this many calls of [`poll`] looks.
const INTERVAL: u8 = 64;

/// The interval between looks of a thread that waits for others.
const NAP: Duration = Duration::from_millis(20);

thread_local! {
    static WATCH: RefCell<Watch> = const { RefCell::new(Watch::Nobody) };
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
    static STEPS: Cell<u64> = const { Cell::new(0) };
    static POLLS: Cell<u8> = const { Cell::new(0) };
}

/// Runs `work`; where it looks, `is_interrupted` tells whether it ends there.
///
/// ```
/// use quasiaffine::interrupt::{look, watched, Interrupted};
/// assert_eq!(watched(|| false, || { look(); 1 }), Ok(1));
/// assert_eq!(watched(|| true, || { look(); 1 }), Err(Interrupted));
/// ```
///
/// # Errors
/// [`Interrupted`] if the work was ended.
pub fn watched<T>(is_interrupted: fn() -> bool, work: impl FnOnce() -> T) -> Result<T, Interrupted> {
    let (mut work, mut value) = (Some(work), None);
    caught(is_interrupted, &mut || value = work.take().map(|work| work()))?;
    value.ok_or(Interrupted)
}

/// The part of [`watched`] that does not depend on a type, so that it is compiled once.
fn caught(is_interrupted: fn() -> bool, work: &mut dyn FnMut()) -> Result<(), Interrupted> {
    let _restored = set(Watch::Caller(is_interrupted));
    // Shared state is complete wherever the work looks: the first law of this module.
    catch_unwind(AssertUnwindSafe(work)).map_err(interrupted)
}

/// Runs `work` without a watch: it may then look under a lock, or be called by foreign code that must not unwind.
pub fn unwatched<T>(work: impl FnOnce() -> T) -> T {
    let _restored = set(Watch::Nobody);
    work()
}

/// Counts a step of work, of less than about 100 microseconds; one in 64 steps [looks](look).
#[inline]
pub fn poll() {
    steps(1);
    let n = POLLS.get().wrapping_add(1);
    POLLS.set(n);
    if n.is_multiple_of(INTERVAL) {
        look();
    }
}

/// Counts `n` steps that together take as long as one, or look by themselves.
#[inline]
pub fn steps(n: usize) {
    STEPS.set(STEPS.get().wrapping_add(n as u64));
}

/// The number of steps that this thread has taken: a measure of work that, unlike time, is always the same.
///
/// ```
/// use quasiaffine::interrupt::{n_steps, poll};
/// let before = n_steps();
/// poll();
/// assert_eq!(n_steps() - before, 1);
/// ```
pub fn n_steps() -> u64 {
    STEPS.get()
}

/// Ends the work here if it is interrupted, by unwinding.
#[inline]
pub fn look() {
    if IS_WATCHED.get() {
        look_now();
    }
}

#[cold]
#[inline(never)]
fn look_now() {
    let watch = WATCH.with_borrow(Watch::clone);
    let is_interrupted = match watch {
        Watch::Nobody => false,
        Watch::Caller(is_interrupted) => is_interrupted(),
        Watch::Starter(stop) => stop.load(Ordering::Relaxed),
    };
    // A second unwinding would end the process.
    if is_interrupted && !std::thread::panicking() {
        resume_unwind(Box::new(Interrupted));
    }
}

/// The value of a cell, computed by `value` if the cell is empty. Concurrent callers each compute it, and agree.
pub fn once<T>(cell: &OnceLock<T>, value: impl FnOnce() -> T) -> &T {
    if let Some(known) = cell.get() {
        return known;
    }
    let value = value();
    cell.get_or_init(|| value)
}

/// Frees a large value on another thread, since that takes long, also while an interrupt unwinds.
pub fn discard(value: impl Send + 'static) {
    // If no thread can be started, the value is freed here.
    let _ = std::thread::Builder::new().spawn(move || drop(value));
}

/// Runs each job on its own thread, and returns the results in order. An interrupt of the caller ends them.
pub fn on_threads<J: Send, T: Send>(jobs: impl Iterator<Item = J>, work: impl Fn(J) -> T + Sync) -> Vec<T> {
    let work = &work;
    let mut slots: Vec<(Option<J>, Option<T>)> = jobs.map(|job| (Some(job), None)).collect();
    let task = |(job, value): &mut (Option<J>, Option<T>)| *value = job.take().map(work);
    run_all(slots.iter_mut().map(|slot| Box::new(move || task(slot)) as Box<dyn FnOnce() + Send + '_>).collect());
    slots.into_iter().filter_map(|(_, value)| value).collect()
}

/// The part of [`on_threads`] that does not depend on a type, so that it is compiled once.
fn run_all(tasks: Vec<Box<dyn FnOnce() + Send + '_>>) {
    let stop = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (done, waiting) = channel::<()>();
        let threads: Vec<_> = tasks
            .into_iter()
            .map(|task| {
                let (stop, done) = (stop.clone(), done.clone());
                scope.spawn(move || {
                    let _done = done as Sender<()>;
                    let _restored = set(Watch::Starter(stop));
                    task();
                })
            })
            .collect();
        drop(done);
        let _stops = StopOnDrop(&stop);
        // The channel closes when the last thread ends, even by a panic.
        loop {
            look();
            if waiting.recv_timeout(NAP) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        for thread in threads {
            thread.join().unwrap_or_else(|payload| resume_unwind(payload));
        }
    });
}

/// Stops the threads of a caller that unwinds.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Resumes any panic that is not an interrupt.
fn interrupted(payload: Box<dyn Any + Send>) -> Interrupted {
    *payload.downcast::<Interrupted>().unwrap_or_else(|payload| resume_unwind(payload))
}

/// Installs a watch until the returned value is dropped.
fn set(watch: Watch) -> Restored {
    IS_WATCHED.set(!matches!(watch, Watch::Nobody));
    Restored(WATCH.replace(watch))
}

struct Restored(Watch);

impl Drop for Restored {
    fn drop(&mut self) {
        let before = std::mem::take(&mut self.0);
        IS_WATCHED.set(!matches!(before, Watch::Nobody));
        WATCH.set(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_map;
    use crate::{simplify, Map, Options, Points, Program};

    thread_local! {
        static LOOKS: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// Interrupts at a look that is chosen beforehand.
    fn at_chosen() -> bool {
        let left = LOOKS.get();
        LOOKS.set(left.wrapping_sub(1));
        left == 0
    }

    fn huge() -> Map {
        let results: Vec<String> =
            (0..400).map(|i| format!("((d0 * {} + d1 * 7 + {i}) mod {}) floordiv 5", i + 3, 11 * i + 90)).collect();
        parse_map(&format!("(d0, d1) -> ({}), domain: d0 in [0, 999], d1 in [0, 999]", results.join(", "))).unwrap()
    }

    #[test]
    fn a_watch_ends_with_its_call() {
        assert_eq!(watched(|| true, look), Err(Interrupted));
        look();
        let inner = watched(|| true, || unwatched(look));
        assert_eq!(inner, Ok(()));
        assert_eq!(watched(|| false, || watched(|| true, look)), Ok(Err(Interrupted)));
    }

    #[test]
    fn a_panic_is_none() {
        let panicked = catch_unwind(|| watched(|| false, || resume_unwind(Box::new(7))));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&7));
    }

    #[test]
    fn an_interrupt_at_any_look_leaves_the_map_as_it_was() {
        let (map, expected) = (huge(), simplify(&huge(), Options::default()));
        let mut n_interrupts = 0;
        for n in 0.. {
            LOOKS.set(n);
            match watched(at_chosen, || (simplify(&map, Options::default()), map.image().len())) {
                Err(Interrupted) => n_interrupts += 1,
                Ok((simplified, n_results)) => {
                    assert_eq!((simplified, n_results), (expected, 400));
                    break;
                }
            }
        }
        assert!(n_interrupts > 4, "{n_interrupts}");
    }

    #[test]
    fn threads_end_with_their_caller() {
        let found = watched(at_chosen_once(3), || {
            on_threads(0..3, |_| loop {
                poll();
            })
        });
        assert_eq!(found, Err::<Vec<()>, _>(Interrupted));
        assert_eq!(on_threads(0..5, |i| i * i), [0, 1, 4, 9, 16]);
    }

    fn at_chosen_once(n: usize) -> fn() -> bool {
        LOOKS.set(n);
        at_chosen
    }

    #[test]
    fn values_at_points_look() {
        let map = parse_map("(d0) -> (d0 mod 7), domain: d0 in [0, 4000000]").unwrap();
        let dims: Vec<i64> = (0..1 << 20).collect();
        let points = Points { n: dims.len(), dims: &dims, ranges: &[], runtime: &[] };
        let program = Program::new(&map).unwrap();
        for threads in [1, 2] {
            assert_eq!(watched(|| true, || program.run_on::<true>(&points, threads)), Err(Interrupted), "{threads}");
        }
        assert_eq!(program.run::<true>(&points).unwrap()[8], 1);
    }
}
