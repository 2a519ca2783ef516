//! Cancels long work: a caller installs a watch, and the loops of the work poll it now and then.
//!
//! Cancellation is a value: a function that polls returns early, with an error or "unknown", and [`watched`] then
//! returns [`Cancelled`] instead of the value, whatever that is. Nothing unwinds, so it also works where a panic
//! aborts the process.
//! * Once a thread has heard it, it stays cancelled until the watch ends: all that follows returns early too.
//! * What a cancelled question returns is never kept: `once` leaves its cell empty.
//! * Without a watch, polling has no effect.
//!
//! Threads of the work are started by [`on_threads`], which ends them with their caller. Not here: the decision to
//! cancel.
//!
//! ```
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use quasiaffine::cancel::{watched, Cancelled};
//! use quasiaffine::{Map, Options};
//!
//! static STOP: AtomicBool = AtomicBool::new(false);
//! let map: Map = "(d0) -> (d0 mod 4), domain: d0 in [0, 3]".parse()?;
//! let work = || map.simplify(Options::default()).to_string();
//! assert_eq!(watched(|| STOP.load(Ordering::Relaxed), work)?, "(d0) -> (d0), domain: d0 in [0, 3]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A call that ended early.
///
/// ```
/// use quasiaffine::cancel::{watched, Cancelled};
/// assert_eq!(watched(|| true, quasiaffine::cancel::is_cancelled), Err(Cancelled));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call was cancelled")
    }
}

impl std::error::Error for Cancelled {}

/// Decides whether this thread goes on.
#[derive(Clone, Default)]
enum Watch {
    #[default]
    Nobody,
    Caller(fn() -> bool),
    /// The thread that started this one, which then waits for it.
    Starter(Arc<AtomicBool>),
}

/// One of this many calls of [`poll`] asks the watch.
const INTERVAL: u8 = 64;

/// The interval at which a thread that waits for others asks the watch.
const NAP: Duration = Duration::from_millis(20);

/// What a thread has heard of its watch.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Heard {
    /// No watch is installed.
    #[default]
    Unwatched,
    /// The watch lets the work go on.
    GoOn,
    /// The watch has cancelled the work.
    Cancelled,
}

thread_local! {
    static WATCH: RefCell<Watch> = const { RefCell::new(Watch::Nobody) };
    static HEARD: Cell<Heard> = const { Cell::new(Heard::Unwatched) };
    static STEPS: Cell<u64> = const { Cell::new(0) };
    static POLLS: Cell<u8> = const { Cell::new(0) };
}

/// Runs `work`, which ends early once `is_cancelled` returns true; it is called on this thread, at least every few
/// milliseconds.
///
/// ```
/// use quasiaffine::cancel::{poll, watched, Cancelled};
/// let sum = || (0..1000u64).take_while(|_| !poll()).sum::<u64>();
/// assert_eq!((watched(|| false, sum), watched(|| true, sum)), (Ok(499_500), Err(Cancelled)));
/// ```
///
/// # Errors
/// [`Cancelled`] if `is_cancelled` has returned true.
pub fn watched<T>(is_cancelled: fn() -> bool, work: impl FnOnce() -> T) -> Result<T, Cancelled> {
    let _restored = set(Watch::Caller(is_cancelled));
    let value = work();
    heard().map(|()| value)
}

/// Runs `work` without a watch.
///
/// ```
/// use quasiaffine::cancel::{is_cancelled, unwatched, watched};
/// // What must be completed, such as a file, is not ended.
/// assert_eq!(watched(|| true, || unwatched(is_cancelled)), Ok(false));
/// ```
pub fn unwatched<T>(work: impl FnOnce() -> T) -> T {
    let _restored = set(Watch::Nobody);
    work()
}

/// Asks the watch: whether the work of this thread is cancelled.
///
/// ```
/// use quasiaffine::cancel::{is_cancelled, watched};
/// assert!(!is_cancelled());
/// assert_eq!(watched(|| false, is_cancelled), Ok(false));
/// ```
#[inline]
pub fn is_cancelled() -> bool {
    match HEARD.get() {
        Heard::Unwatched => false,
        Heard::GoOn => ask(),
        Heard::Cancelled => true,
    }
}

#[cold]
#[inline(never)]
fn ask() -> bool {
    let watch = WATCH.with_borrow(Watch::clone);
    let is_cancelled = match watch {
        Watch::Nobody => false,
        Watch::Caller(is_cancelled) => is_cancelled(),
        Watch::Starter(stop) => stop.load(Ordering::Relaxed),
    };
    if is_cancelled {
        HEARD.set(Heard::Cancelled);
    }
    is_cancelled
}

/// Counts a step of work, of less than about 100 microseconds, and returns whether the work is cancelled; one call in
/// 64 asks the watch.
///
/// ```
/// use quasiaffine::cancel::{poll, watched};
/// assert!(watched(|| true, || while !poll() {}).is_err());
/// ```
#[inline]
pub fn poll() -> bool {
    steps(1);
    let n = POLLS.get().wrapping_add(1);
    POLLS.set(n);
    if n.is_multiple_of(INTERVAL) {
        is_cancelled()
    } else {
        heard().is_err()
    }
}

/// [`poll`] for functions that return errors.
///
/// # Errors
/// [`Cancelled`] if the work is cancelled.
#[inline]
pub(crate) fn go_on() -> Result<(), Cancelled> {
    poll();
    heard()
}

/// Whether the watch has cancelled the work, so that what it found is incomplete; does not ask.
///
/// ```
/// use quasiaffine::cancel::{heard, is_cancelled, watched};
/// let work = || {
///     let before = heard();
///     is_cancelled();
///     assert!(before.is_ok() && heard().is_err());
/// };
/// assert!(watched(|| true, work).is_err());
/// ```
///
/// # Errors
/// [`Cancelled`] if it has.
#[inline]
pub fn heard() -> Result<(), Cancelled> {
    match HEARD.get() {
        Heard::Unwatched | Heard::GoOn => Ok(()),
        Heard::Cancelled => Err(Cancelled),
    }
}

/// Counts `n` steps that together take as long as one, or poll by themselves.
///
/// ```
/// use quasiaffine::cancel::{n_steps, steps};
/// let before = n_steps();
/// steps(40);
/// assert_eq!(n_steps() - before, 40);
/// ```
#[inline]
pub fn steps(n: usize) {
    STEPS.set(STEPS.get().wrapping_add(n as u64));
}

/// The number of steps that this thread has taken: a measure of work that, unlike time, is always the same.
///
/// ```
/// use quasiaffine::cancel::{n_steps, poll};
/// let before = n_steps();
/// assert!(!poll());
/// assert_eq!(n_steps() - before, 1);
/// ```
pub fn n_steps() -> u64 {
    STEPS.get()
}

/// The value of a cell, computed by `value` if the cell is empty. Concurrent callers each compute it, and agree. No
/// lock is held meanwhile, since the watch may wait for a thread that waits for that lock.
///
/// # Errors
/// [`Cancelled`] if the work is cancelled; the cell then stays empty.
#[cfg_attr(not(feature = "tile"), allow(dead_code))]
pub(crate) fn once<T>(cell: &OnceLock<T>, value: impl FnOnce() -> T) -> Result<&T, Cancelled> {
    if let Some(known) = cell.get() {
        return Ok(known);
    }
    let value = value();
    if is_cancelled() {
        return Err(Cancelled);
    }
    Ok(cell.get_or_init(|| value))
}

/// Runs each job on its own thread, and returns the results in order. If this thread is cancelled, so are the others,
/// and the results are incomplete.
///
/// ```
/// use quasiaffine::cancel::on_threads;
/// assert_eq!(on_threads(0..4, |i| i * i), [0, 1, 4, 9]);
/// ```
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
        // The channel closes when the last thread ends, even by a panic.
        loop {
            if is_cancelled() {
                stop.store(true, Ordering::Relaxed);
            }
            if waiting.recv_timeout(NAP) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        for thread in threads {
            thread.join().unwrap_or_else(|payload| resume_unwind(payload));
        }
    });
}

/// Installs a watch until the returned value is dropped.
fn set(watch: Watch) -> Restored {
    let heard = if matches!(watch, Watch::Nobody) { Heard::Unwatched } else { Heard::GoOn };
    Restored(WATCH.replace(watch), HEARD.replace(heard))
}

struct Restored(Watch, Heard);

impl Drop for Restored {
    fn drop(&mut self) {
        WATCH.set(std::mem::take(&mut self.0));
        HEARD.set(self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_map;
    use crate::{Error, Map, Options, Points, Program};

    thread_local! {
        static ASKED: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// Cancels at a question that is chosen beforehand, and not at later ones: a thread stays cancelled by itself.
    fn at_chosen() -> bool {
        let left = ASKED.get();
        ASKED.set(left.wrapping_sub(1));
        left == 0
    }

    fn huge() -> Map {
        let results: Vec<String> =
            (0..400).map(|i| format!("((d0 * {} + d1 * 7 + {i}) mod {}) floordiv 5", i + 3, 11 * i + 90)).collect();
        parse_map(&format!("(d0, d1) -> ({}), domain: d0 in [0, 999], d1 in [0, 999]", results.join(", "))).unwrap()
    }

    #[test]
    fn a_watch_ends_with_its_call() {
        assert_eq!(watched(|| true, is_cancelled), Err(Cancelled));
        assert!(!is_cancelled());
        assert_eq!(watched(|| true, || unwatched(is_cancelled)), Ok(false));
        assert_eq!(watched(|| false, || watched(|| true, is_cancelled)), Ok(Err(Cancelled)));
        assert_eq!(watched(|| true, || 1), Ok(1));
    }

    #[test]
    fn a_cancelled_cell_stays_empty() {
        let cell = OnceLock::new();
        assert_eq!(watched(|| true, || once(&cell, || 1).copied()), Err(Cancelled));
        assert_eq!((cell.get(), once(&cell, || 2)), (None, Ok(&2)));
    }

    #[test]
    fn a_cancelled_map_is_as_it_was() {
        let (map, after, expected) = (huge(), huge_after(), huge().simplify(Options::default()));
        let mut n_cancelled = 0;
        for n in 0.. {
            ASKED.set(n);
            let work = || (map.simplify(Options::default()), map.compose(&after, Options::default()));
            match watched(at_chosen, work) {
                Err(Cancelled) => n_cancelled += 1,
                Ok((simplified, composed)) => {
                    assert!(simplified == expected && composed.is_ok());
                    break;
                }
            }
        }
        assert!(n_cancelled > 4, "{n_cancelled}");
    }

    fn huge_after() -> Map {
        let dims: Vec<String> = (0..400).map(|i| format!("d{i}")).collect();
        let sizes: Vec<String> = dims.iter().map(|d| format!("{d} in [0, 900]")).collect();
        let results: Vec<String> = dims.iter().map(|d| format!("{d} floordiv 3")).collect();
        let [dims, results, sizes] = [dims, results, sizes].map(|all| all.join(", "));
        parse_map(&format!("({dims}) -> ({results}), domain: {sizes}")).unwrap()
    }

    #[test]
    fn counting_ends_early() {
        let squares = parse_map("(d0, d1) -> (d0 * d0 + d1 * d1 * 3), domain: d0 in [0, 254], d1 in [0, 254]").unwrap();
        assert_eq!(watched(|| true, || squares.distinct()), Err(Cancelled));
    }

    #[test]
    fn threads_end_with_their_caller() {
        ASKED.set(3);
        let found = watched(at_chosen, || on_threads(0..3, |_| while !poll() {}));
        assert_eq!(found, Err::<Vec<()>, _>(Cancelled));
        assert_eq!(on_threads(0..5, |i| i * i), [0, 1, 4, 9, 16]);
    }

    #[test]
    fn values_at_points_are_cancelled() {
        let map = parse_map("(d0) -> (d0 mod 7), domain: d0 in [0, 4000000]").unwrap();
        let dims: Vec<i64> = (0..1 << 20).collect();
        let points = Points { n: dims.len(), dims: &dims, ranges: &[], runtime: &[] };
        let program = Program::new(&map).unwrap();
        for threads in [1, 2] {
            let mut inner = None;
            let outer = watched(|| true, || inner = Some(program.run_on::<true>(&points, threads)));
            assert_eq!((outer, inner), (Err(Cancelled), Some(Err(Error::Cancelled))), "{threads}");
        }
        assert_eq!(program.run::<true>(&points).unwrap()[8], 1);
    }
}
