//! Releases the interpreter lock while the core crates work, and takes it now and then to look for signals.
//!
//! Python runs signal handlers, such as that of Ctrl-C, only on its main thread and only with the lock. So every
//! [`PERIOD`] a call on that thread takes the lock and lets Python run them; if one raises, the crate `cancel`
//! ends the work and the call raises the exception.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use cancel::{n_steps, on_threads, poll, unwatched, watched, Cancelled};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// The interval between checks for signals.
const PERIOD: Duration = Duration::from_millis(40);

/// The innermost call of this thread that runs without the lock.
#[derive(Default)]
struct Call {
    /// The time of the next check for signals; `None` before the first.
    next: Option<Instant>,
    /// A thread on which Python handles no signals.
    signals_disabled: bool,
    /// The exception that a handler raised.
    raised: Option<PyErr>,
}

thread_local! {
    static CALL: RefCell<Call> = RefCell::new(Call::default());
}

/// Runs `work` without the interpreter lock, so that other Python threads run.
///
/// # Errors
/// The exception that the handler of a signal raises: `KeyboardInterrupt` on Ctrl-C.
pub fn unlocked<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let (mut work, mut value) = (Some(work), None);
    detached(py, &mut || value = work.take().map(|work| work()))?;
    value.ok_or_else(|| PyKeyboardInterrupt::new_err(()))
}

/// The part of [`unlocked`] that does not depend on a type, so that it is compiled once.
fn detached(py: Python<'_>, work: &mut (dyn FnMut() + Send)) -> PyResult<()> {
    // A signal handler may itself make calls.
    let outer = CALL.take();
    let done = py.detach(|| watched(has_raised, work));
    let call = CALL.replace(outer);
    done.map_err(|Cancelled| call.raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())))
}

/// [`unlocked`] for long work; work of microseconds keeps the lock, since releasing and taking it takes as long.
///
/// # Errors
/// As [`unlocked`].
pub fn unlocked_if<T: Send>(py: Python<'_>, is_long: bool, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if is_long {
        unlocked(py, work)
    } else {
        Ok(work())
    }
}

/// Takes the interpreter lock within unlocked work. Unwinding never passes through Python callbacks.
pub fn locked<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    unwatched(|| Python::attach(work))
}

/// The number of objects made with the interpreter lock between two checks for signals.
const OBJECTS_BETWEEN_SIGNALS: usize = 1 << 12;

/// Looks for signals now and then in a loop that makes object `i` with the interpreter lock.
pub fn poll_locked(py: Python<'_>, i: usize) -> PyResult<()> {
    if i % OBJECTS_BETWEEN_SIGNALS == OBJECTS_BETWEEN_SIGNALS - 1 {
        // A thread that sends a signal may wait for the lock.
        py.detach(|| ());
        py.check_signals()?;
    }
    Ok(())
}

/// Whether a signal handler has raised. Called often; the clock decides whether it checks.
fn has_raised() -> bool {
    let now = Instant::now();
    let is_due = CALL.with_borrow_mut(|call| {
        let next = *call.next.get_or_insert(now + PERIOD);
        !call.signals_disabled && next <= now
    });
    if !is_due {
        return false;
    }
    // A handler runs any Python code, calls of this module included.
    let found = locked(|py| match is_main_thread(py) {
        Ok(true) => py.check_signals().map(|()| false),
        Ok(false) => Ok(true),
        Err(error) => Err(error),
    });
    CALL.with_borrow_mut(|call| {
        call.next = Some(Instant::now() + PERIOD);
        match found {
            Ok(signals_disabled) => call.signals_disabled = signals_disabled,
            Err(error) => call.raised = Some(error),
        }
        call.raised.is_some()
    })
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    threading.call_method0("get_ident")?.eq(main)
}

/// The number of threads to start if a caller asks for `threads`: no more than the machine runs at once.
///
/// Counting reads system files (27 us), so it happens once in a process, when a call first asks for two threads.
pub fn n_threads(threads: usize) -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    match threads {
        0 | 1 => threads,
        _ => threads.min(*PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))),
    }
}

/// Runs `each` over all items on `threads` threads, in order.
///
/// # Errors
/// As [`unlocked`].
pub fn unlocked_many<A: Sync, B: Send>(
    py: Python<'_>,
    items: &[A],
    threads: usize,
    each: impl Fn(&A) -> B + Send + Sync,
) -> PyResult<Vec<B>> {
    // One item may take long, or many take short.
    let each = |item: &A| {
        poll();
        each(item)
    };
    unlocked(py, || {
        let threads = n_threads(threads);
        if threads <= 1 || items.len() < 2 {
            return items.iter().map(each).collect();
        }
        let parts = items.chunks(items.len().div_ceil(threads));
        on_threads(parts, |part| part.iter().map(each).collect::<Vec<B>>()).into_iter().flatten().collect()
    })
}

/// The number of steps of long loops that this thread has taken: work, counted the same on every machine.
#[pyfunction]
pub fn _n_steps() -> u64 {
    n_steps()
}
