#![doc = include_str!("../../SIMPLIFY.md")]
//!
//! # The driver
//!
//! Brings a map to a fixpoint of all rules. No law lives here.
//!
//! [`compose`] is [`simplify`] for two maps. Cases that need no context come first. Otherwise one pass narrows the
//! ranges of variables by the constraints, then rewrites every constraint and every result under those facts. Passes
//! repeat until nothing changes, so that simplifying twice is simplifying once. An expression whose form does not fit
//! into 64 bits stays as it was.

pub(crate) mod constraints;
pub(crate) mod many_divs;
pub(crate) mod rewrite;
pub(crate) mod variables;

use crate::limits::{EFFORT, ROUNDS};
use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::affine::context::{AffineContext, Budget};
use crate::domain::{Domain, Emptiness};
use crate::error::Result;
use crate::fast_path::normal::{is_normal, is_normal_domain, NormalCheck};
use crate::laws::{laws, Rule};
use crate::map::compose::{parts, then};
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::rules::{constraint, extraction, nonlinear, related_divs, remainder, residues};
use crate::simplify::constraints::{assume, simplify_domain, SimplifiedDomain};
use crate::simplify::rewrite::rewrite_all;
use crate::simplify::variables::{remove_variables, rescale, solve, without_points};
use crate::trace::{Statement, Step, Trace};

/// Makes sure that the functions exist that the list of laws names.
macro_rules! exist {
    ($($stage:ident { $($rule:ident, $name:literal, $law:literal, $function:path;)* })*) => {
        $(exist!(@stage $stage { $($function;)* });)*
    };
    // A list in `rules/mod.rs` names these.
    (@stage Division $functions:tt) => {};
    (@stage $stage:ident { $($function:path;)* }) => {
        const _: () = { $(let _ = $function;)* };
    };
}

laws!(exist);

/// See [`Map::simplify`](crate::Map::simplify).
pub fn simplify(map: &Map, options: Options) -> Map {
    simplify_by(map, options, &mut Meter::new(EFFORT))
}

/// As [`simplify`], for a question that simplifies several maps within the effort of a meter.
pub(crate) fn simplify_by(map: &Map, options: Options, meter: &mut Meter) -> Map {
    meter.part(EFFORT, |own| {
        let mut budget = Budget { meter: own.take(), trace: None };
        let simplified = simplify_within(map, options, &mut budget);
        *own = budget.meter;
        simplified
    })
}

/// See [`Map::compose`](crate::Map::compose).
pub fn compose(first: &Map, second: &Map, options: Options) -> Result<Map> {
    if first.state() != State::Defined || second.state() != State::Defined {
        return then(first, second).map(|map| simplify(&map, options));
    }
    let mut domain = Domain::default();
    let results = parts(first, second, &mut domain)?;
    let composed = match domain.normalize() {
        Emptiness::Empty => return Ok(Map::empty(&domain)),
        Emptiness::Open => Map::of_normal(Arc::new(domain), results),
    };
    Ok(simplify(&composed, options))
}

/// See [`Map::simplify_traced`](crate::Map::simplify_traced).
pub fn simplify_traced(map: &Map, options: Options) -> (Map, Vec<Step>) {
    let trace = Trace::default();
    let mut budget = Budget { trace: Some(trace.clone()), ..Budget::default() };
    let simplified = simplify_within(map, Options { rules_only: true, ..options }, &mut budget);
    drop(budget);
    (simplified, trace.into_steps())
}

/// As [`simplify`], within the effort of a budget that several questions share.
pub(crate) fn simplify_within(map: &Map, options: Options, budget: &mut Budget) -> Map {
    with_fewer_values(fixpoint(map, options, budget), options, budget)
}

/// Solves range variables by equalities and rescales them in a map at its fixpoint, as the options say.
fn with_fewer_values(mut simplified: Map, options: Options, budget: &mut Budget) -> Map {
    while simplified.domain().n_ranges > 0 && !simplified.domain().constraints.is_empty() {
        let solved = options.solve.then(|| solve(std::iter::once(&simplified))?.pop()).flatten();
        let rescaled = || Some((Rule::Rescale, options.rescale.then(|| rescale(&simplified)).flatten()?));
        let Some((rule, next)) = solved.map(|map| (Rule::Solve, map)).or_else(rescaled) else { break };
        if let Some(trace) = &budget.trace {
            let whole = |map: &Map| vec![Statement::Map(Arc::new(map.domain().clone()), map.results().to_vec())];
            trace.push(rule, whole(&simplified), whole(&next));
        }
        simplified = fixpoint(&next, options, budget);
    }
    simplified
}

fn fixpoint(map: &Map, options: Options, budget: &mut Budget) -> Map {
    passes(begin(map, options), options, budget)
}

/// Repeats passes over a map after [`begin`], until nothing changes.
fn passes((start, is_normal): (Map, bool), options: Options, budget: &mut Budget) -> Map {
    if is_normal {
        debug_assert!(is_fixpoint(&start, options), "a normal map changes: {start}");
        return start;
    }
    // Reading the constraints takes a small part.
    let is_fresh = budget.meter.left() > EFFORT / 2;
    let mut cx = AffineContext::with_capacity(start.domain().vars.len(), options, budget.clone());
    let mut current = start.clone();
    let mut before: Option<Map> = None;
    for _ in 0..ROUNDS {
        let n_steps = budget.trace.as_ref().map(Trace::len);
        let Pass { map: next, is_final } = pass(&current, options, &mut cx);
        if let (Some(trace), Some(n_steps)) = (budget.trace.as_ref().filter(|_| next == current), n_steps) {
            // A pass that only confirms a map repeats the steps that led to it.
            trace.truncate(n_steps);
        }
        budget.meter = cx.budget.meter.clone();
        if budget.meter.left() == 0 {
            // A map that is too large to be simplified in full stays whole, so that a second call does not continue.
            debug_assert!(!(is_fresh && is_small(&start)), "laws undo each other's steps: {start}");
            return remove_variables(&start, options, &[]);
        }
        if is_final && next.domain().constraints.is_empty() {
            debug_assert!(is_fixpoint(&next, options), "a final map changes: {next}");
            return next;
        }
        // A constraint may have been rewritten into one that narrows a variable.
        let (begun, is_normal) = begin(&next, options);
        if is_normal || (begun.is_same(&next) && (is_final || next == current)) {
            debug_assert!(
                !(is_normal || is_final) || is_fixpoint(&begun, options),
                "{begun} changes again, of {start}"
            );
            return begun;
        }
        // Two forms of equal cost may lead to each other: the one that is smaller in the order of expressions is kept.
        if before.as_ref() == Some(&begun) {
            let first = begun.results().iter().cmp(current.results()).is_le();
            return if first { begun } else { current };
        }
        before = Some(std::mem::replace(&mut current, begun));
    }
    current
}

/// Simplifies a map without a context: writes point variables as constants, if that makes it normal. Returns whether it is
/// normal.
fn begin(map: &Map, options: Options) -> (Map, bool) {
    if map.state() != State::Defined || is_normal(map, options) {
        return (map.clone(), true);
    }
    match without_points(map, options).filter(|extracted| is_normal(extracted, options)) {
        Some(extracted) => (extracted, true),
        None => (map.clone(), false),
    }
}

/// Whether the map is so small that the effort suffices, unless laws undo each other's steps.
fn is_small(map: &Map) -> bool {
    map.expressions().map(|e| e.nodes()).fold(0, u32::saturating_add) < 200
}

fn is_fixpoint(map: &Map, options: Options) -> bool {
    if map.state() != State::Defined {
        return true;
    }
    let mut cx = AffineContext::with_capacity(map.domain().vars.len(), options, Budget::default());
    pass(map, options, &mut cx).map == *map
}

/// Whether simplifying a domain by its constraints changes nothing.
fn is_simplified(domain: &Domain, options: Options) -> bool {
    let mut cx = AffineContext::with_capacity(domain.vars.len(), options, Budget::default());
    simplify_domain(domain, &mut cx).is_some_and(|simplified| simplified.domain.is_none_or(|d| d == *domain))
}

/// The result of one pass over a map.
struct Pass {
    map: Map,
    /// Whether another pass would change nothing.
    is_final: bool,
}

/// Brings the domain to its fixpoint, then rewrites the results under its facts.
fn pass(map: &Map, options: Options, cx: &mut AffineContext) -> Pass {
    let domain = map.domain();
    if let Some(trace) = &cx.budget.trace {
        trace.enter(domain);
    }
    let is_free = domain.constraints.is_empty() && domain.runtime().iter().all(|v| v.source.is_none());
    if (is_free || is_normal_domain(domain, options)) && assume(domain, cx) {
        debug_assert!(
            map.state() != State::Defined || is_simplified(domain, options),
            "a normal domain changes: {map}"
        );
        let check = if is_free { NormalCheck::new(domain, options) } else { None };
        let (results, is_final) = rewrite_all(cx, map.results(), check.as_ref());
        let map = if results[..] == *map.results() { map.clone() } else { map.with_known_results(results) };
        return Pass { map: remove_variables(&map, options, &[]), is_final };
    }
    let mut current = Cow::Borrowed(domain);
    for _ in 0..ROUNDS {
        let Some(SimplifiedDomain { domain: changed, is_fixpoint }) = simplify_domain(&current, cx) else {
            return Pass { map: Map::empty(domain), is_final: true };
        };
        let aliased: SmallVec<[bool; 8]> = cx.alias.iter().enumerate().map(|(i, a)| i as u32 != *a).collect();
        let is_last = aliased.contains(&true) || cx.budget.meter.left() == 0;
        let mut is_same = true;
        if let Some(mut next) = changed {
            if !is_last && next.normalize() == Emptiness::Empty {
                return Pass { map: Map::empty(domain), is_final: true };
            }
            is_same = next == *current;
            if !is_same {
                current = Cow::Owned(next);
            }
        }
        let is_stable = !is_last && (is_fixpoint || is_same);
        // Skip the second pass once the domain is at a fixpoint, unless facts may decide a quotient: then the order of
        // reading counts.
        let is_settled = map.results().iter().all(|e| e.divmods() == 0) && is_normal_domain(&current, options);
        if !is_stable && !is_last && !is_settled {
            continue;
        }
        let (results, is_final) = rewrite_all(cx, map.results(), None);
        let map = if matches!(current, Cow::Owned(_)) && *current != *domain {
            Map::from_parts(current.into_owned(), results)
        } else if results[..] == *map.results() {
            map.clone()
        } else {
            map.with_known_results(results)
        };
        let used = remove_variables(&map, options, &aliased);
        // The index of a removed source was read first.
        let reads_alike = used.is_same(&map) || domain.runtime().iter().all(|v| v.source.is_none());
        return Pass { map: used, is_final: is_final && is_stable && reads_alike };
    }
    // The domains lead to each other: the results are rewritten without the constraints.
    cx.restart(&current);
    let (results, _) = rewrite_all(cx, map.results(), None);
    Pass { map: remove_variables(&Map::from_parts(current.into_owned(), results), options, &[]), is_final: false }
}
