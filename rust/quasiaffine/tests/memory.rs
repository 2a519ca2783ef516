//! Maps made and dropped leave nothing behind: no table grows, here or in a thread.

use quasiaffine::{Map, Options, Points, Program};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

/// The system's allocator, with a count of the bytes in use.
struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

#[allow(unsafe_code, reason = "an allocator cannot be written otherwise; each call goes on to the system's unchanged")]
// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Everything that is done with maps, on one that no other `k` makes.
fn use_one(k: i64) {
    let n = k % 97 + 2;
    let text = format!(
        "(d0, d1)[s0]{{rt0}} -> ((d0 * {n} + d1) floordiv 4 + {k}, (d0 * {n} + d1) mod {n} + s0, rt0), \
         domain: d0 in [0, {k}], d1 in [0, {}], s0 in [0, 3], rt0 in [0, {n}], (d0 + {k}) mod {n} in [0, 1]",
        n + 4
    );
    let map = text.parse::<Map>().unwrap_or_else(|e| panic!("{e}"));
    let simple = map.simplify(Options::default());
    let identity = Map::identity(quasiaffine::Domain::of_sizes(&[k + 9, k + 5, n])).unwrap();
    let both = simple.then(&identity).unwrap().simplify(Options::default());
    assert!(both.to_string().contains("d0"));
    let flat = format!("(d0) -> (d0 floordiv {n}, d0 mod {n}), domain: d0 in [0, 99]").parse::<Map>().unwrap();
    let points = Points { n: 1, dims: &[k % 100], ranges: &[], runtime: &[] };
    let value = Program::new(&flat).unwrap().run::<true>(&points).unwrap();
    assert_eq!(value, [k % 100 / n, k % 100 % n]);
    if k % 64 == 0 {
        assert!(flat.distinct().is_exact() && flat.inverse().is_some());
        assert_eq!(flat.equivalent(&flat.simplify(Options::default())), quasiaffine::Answer::Yes);
    }
}

/// How many maps: some thousands here, a million on request.
fn n_maps() -> i64 {
    std::env::var("HLOMAP_MAPS").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000)
}

fn main() {
    // One-time setup by the first use may stay.
    use_one(64);
    std::thread::spawn(|| use_one(128)).join().unwrap();
    let before = LIVE.load(Ordering::Relaxed);
    (1..=n_maps()).for_each(use_one);
    std::thread::spawn(|| (1..=n_maps() / 4).for_each(use_one)).join().unwrap();
    let after = LIVE.load(Ordering::Relaxed);
    println!("{before} bytes before, {after} after {} maps", n_maps());
    assert_eq!(after, before);
    // The counter works: a map that is kept shows.
    let kept = ("(d0) -> (d0 floordiv 3), domain: d0 in [0, 9]").parse::<Map>().unwrap();
    assert!(LIVE.load(Ordering::Relaxed) > before, "{kept}");
}
