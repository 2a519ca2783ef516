//! The driver: brings a map to a fixpoint of all rules. No law lives here.
//!
//! Read [`simplify`]. What a glance shows to be done is done without a workspace. Otherwise one pass narrows the ranges of
//! variables by the constraints, then writes every constraint and every result anew under those facts. Passes repeat
//! until nothing changes, so that simplifying twice is simplifying once. What does not fit into 64 bits on the way stays
//! as it was.

use smallvec::SmallVec;

use crate::domain::Emptiness;
use crate::learn::{learn, Learnt};
use crate::linear::{Tally, Work};
use crate::map::{Map, State};
use crate::narrow::narrow;
use crate::options::Options;
use crate::rewrite::rewrite_all;
use crate::rules::Rule;
use crate::settled::{is_settled, is_settled_domain, Glance};
use crate::variables::{remove_variables, rescale, without_points};

/// The most passes over one map, and over its domain in one pass.
const MAX_PASSES: usize = 8;

/// An equal map: the same image at every point of the domain, with the fewest div/mod nodes that the rules find.
pub fn simplify(map: &Map, options: Options) -> Map {
    simplify_counting(map, options).0
}

/// [`simplify`], and one bit for each of [`crate::rules::NAMES`] that fired.
pub fn simplify_counting(map: &Map, options: Options) -> (Map, u64) {
    let mut tally = Tally::NEW;
    let mut simplified = fixpoint(map, options, &mut tally);
    while let Some(rescaled) = options.rescale.then(|| rescale(&simplified)).flatten() {
        tally.fired |= 1 << Rule::Rescale as u8;
        simplified = fixpoint(&rescaled, options, &mut tally);
    }
    simplified.inherit_image(map);
    (simplified, tally.fired)
}

fn fixpoint(map: &Map, options: Options, tally: &mut Tally) -> Map {
    let (start, is_settled) = begin(map, options, tally);
    if is_settled {
        debug_assert!(is_fixpoint(&start, options), "a settled map changes: {start}");
        return start;
    }
    let mut work = Work::idle(map.domain().vars.len(), options.keep_point_dims, *tally);
    let mut current = start.clone();
    let mut before: Option<Map> = None;
    for _ in 0..MAX_PASSES {
        let Pass { map: next, is_sure } = pass(&current, options, &mut work);
        *tally = work.tally;
        if tally.effort == 0 {
            // What is too large to be simplified in full stays whole, so that a second call does not go on.
            return remove_variables(&start, options, &[]);
        }
        if is_sure && next.domain().constraints.is_empty() {
            debug_assert!(is_fixpoint(&next, options), "a map that is sure changes: {next}");
            return next;
        }
        // A constraint may have been written as something that says more of a variable.
        let (begun, is_settled) = begin(&next, options, tally);
        work.tally = *tally;
        if is_settled || (begun.is_same(&next) && (is_sure || next == current)) {
            debug_assert!(!(is_settled || is_sure) || is_fixpoint(&begun, options), "it changes again: {begun}");
            return begun;
        }
        // Two forms of equal cost may lead to each other: the smaller in the order of expressions stands for both.
        if before.as_ref() == Some(&begun) {
            let first = begun.results().iter().cmp(current.results()).is_le();
            return if first { begun } else { current };
        }
        before = Some(std::mem::replace(&mut current, begun));
    }
    current
}

/// What is seen without a workspace: the map with narrower ranges and fewer constraints, and whether that is all.
fn begin(map: &Map, options: Options, tally: &mut Tally) -> (Map, bool) {
    if map.state() != State::Defined || is_settled(map, options) {
        return (map.clone(), true);
    }
    let map = match narrow(map, &mut tally.fired) {
        None => map.clone(),
        Some(narrowed) if narrowed.state() != State::Defined || is_settled(&narrowed, options) => {
            return (narrowed, true);
        }
        Some(narrowed) => narrowed,
    };
    match without_points(&map, options).filter(|written| is_settled(written, options)) {
        Some(written) => {
            tally.fired |= 1 << Rule::PointVariable as u8;
            (written, true)
        }
        None => (map, false),
    }
}

fn is_fixpoint(map: &Map, options: Options) -> bool {
    if map.state() != State::Defined {
        return true;
    }
    let mut work = Work::idle(map.domain().vars.len(), options.keep_point_dims, Tally::NEW);
    narrow(map, &mut 0).is_none() && pass(map, options, &mut work).map == *map
}

/// What one pass makes of a map.
struct Pass {
    map: Map,
    /// Whether another pass would change nothing.
    is_sure: bool,
}

/// Brings the domain to its fixpoint, then writes the results under what is known there.
fn pass(map: &Map, options: Options, work: &mut Work) -> Pass {
    let domain = map.domain();
    if domain.constraints.is_empty() && domain.runtime().iter().all(|v| v.source.is_none()) {
        work.restart(domain);
        let glance = Glance::new(domain, options);
        let (results, is_sure) = rewrite_all(work, map.results(), glance.as_ref());
        let map = if results[..] == *map.results() { map.clone() } else { map.with_results(results) };
        return Pass { map: remove_variables(&map, options, &[]), is_sure };
    }
    let mut current = domain.clone();
    for _ in 0..MAX_PASSES {
        let Some(Learnt { domain: mut next, comes_back }) = learn(&current, work) else {
            return Pass { map: Map::empty(domain), is_sure: true };
        };
        let aliased: SmallVec<[bool; 8]> = work.alias.iter().enumerate().map(|(i, a)| i as u32 != *a).collect();
        let is_last = aliased.contains(&true) || work.tally.effort == 0;
        if !is_last && next.normalize() == Emptiness::Empty {
            return Pass { map: Map::empty(domain), is_sure: true };
        }
        let is_stable = !is_last && (comes_back || next == current);
        // A domain at rest needs no second look, unless facts may decide a quotient: then the order of reading counts.
        let at_rest = map.results().iter().all(|e| e.divmods() == 0) && is_settled_domain(&next, options);
        if !is_stable && !is_last && !at_rest {
            current = next;
            continue;
        }
        let (results, is_sure) = rewrite_all(work, map.results(), None);
        let map = if is_last || next != *domain {
            Map::from_parts(next, results)
        } else if results[..] == *map.results() {
            map.clone()
        } else {
            map.with_results(results)
        };
        return Pass { map: remove_variables(&map, options, &aliased), is_sure: is_sure && is_stable };
    }
    // Domains that lead to each other: the results keep what they say without the constraints.
    work.restart(&current);
    let (results, _) = rewrite_all(work, map.results(), None);
    Pass { map: remove_variables(&Map::from_parts(current, results), options, &[]), is_sure: false }
}
