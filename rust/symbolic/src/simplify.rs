//! The driver: brings a map to a fixpoint of all rules. No law lives here.
//!
//! Read [`simplify`]. One pass narrows the ranges of variables by the constraints, then writes every constraint and
//! every result anew under those facts. Passes repeat until nothing changes, so that simplifying twice is simplifying
//! once. What does not fit into 64 bits on the way stays as it was.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::domain::{Constraint, Domain, Emptiness, Source};
use crate::error::Stop;
use crate::expr::{Expr, Kind, Op, Var};
use crate::int;
use crate::linear::{Linear, Tally, Work};
use crate::map::{Map, State};
use crate::range::Range;
use crate::rules::{constraint, write, Rule};
use crate::settled::{is_settled, is_settled_domain};

/// What simplification may do beyond finding shorter forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep dimensions of one value as variables instead of writing the value.
    pub keep_point_dims: bool,
    /// Remove range and runtime variables that nothing uses, and renumber the others.
    pub drop_unused: bool,
    /// Count a range variable whose residue a constraint fixes in steps of the modulus: the map touches the same elements,
    /// and reaches them by other numbers of the variable.
    pub rescale: bool,
}

/// The most passes over one map, and the most rounds in which ranges narrow within one pass.
const MAX_PASSES: usize = 8;
const MAX_ROUNDS: usize = 12;

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
    (simplified, tally.fired)
}

/// The map with `n*s + r` for a range variable `s` of which a constraint says that `s mod n = r`. What the map touches
/// stays; one number of the variable is another one.
fn rescale(map: &Map) -> Option<Map> {
    let domain = map.domain();
    let found = domain.constraints.iter().enumerate().find_map(|(i, c)| {
        let (Some(Op::Mod(Expr::Var(v), Expr::Const(n))), Some(r)) = (c.expr.op(), c.range.as_point()) else {
            return None;
        };
        (v.kind == Kind::Range && (0..*n).contains(&r)).then_some((i, *v, *n, r))
    });
    let (constraint, v, n, r) = found?;
    let replace = |w: Var| if w == v { Expr::Var(v).scale(n)?.add(&Expr::Const(r)) } else { Ok(Expr::Var(w)) };
    let mut domain = domain.clone();
    domain.constraints.remove(constraint);
    let flat = domain.flat(v)?;
    let Range { lo, hi } = domain.vars[flat].range;
    domain.vars[flat].range = Range::new(int::ceil_div(lo.checked_sub(r)?, n), int::floor_div(hi.checked_sub(r)?, n));
    for c in &mut domain.constraints {
        c.expr = c.expr.substitute(&replace).ok()?;
    }
    for w in &mut domain.vars {
        if let Some(source) = &w.source {
            let index =
                source.index.iter().map(|e| e.substitute(&replace)).collect::<crate::error::Result<_>>().ok()?;
            w.source = Some(Arc::new(Source { id: source.id, index }));
        }
    }
    let results = map.results().iter().map(|e| e.substitute(&replace)).collect::<crate::error::Result<_>>().ok()?;
    Some(Map::from_parts(domain, results))
}

fn fixpoint(map: &Map, options: Options, tally: &mut Tally) -> Map {
    if map.state() != State::Defined || is_settled(map, options) {
        debug_assert!(map.state() != State::Defined || is_fixpoint(map, options), "a settled map changes: {map}");
        return map.clone();
    }
    if let Some(written) = without_points(map, options) {
        debug_assert!(is_fixpoint(&written, options), "a settled map changes: {written}");
        tally.fired |= 1 << Rule::PointVariable as u8;
        return written;
    }
    let mut work = Work::without_facts(map.domain(), options.keep_point_dims, *tally);
    let mut current = map.clone();
    let mut before: Option<Map> = None;
    for _ in 0..MAX_PASSES {
        let Pass { map: next, is_sure } = pass(&current, options, &mut work);
        *tally = work.tally;
        if tally.effort == 0 {
            // What is too large to be simplified in full stays whole, so that a second call does not go on.
            return remove_variables(map, options, &[]);
        }
        debug_assert!(!is_sure || is_fixpoint(&next, options), "a map that is sure changes: {next}");
        if next.state() != State::Defined || is_sure || is_settled(&next, options) || next == current {
            return next;
        }
        // Two forms of equal cost may lead to each other: the smaller in the order of expressions stands for both.
        if before.as_ref() == Some(&next) {
            let first = next.results().iter().cmp(current.results()).is_le();
            return if first { next } else { current };
        }
        before = Some(std::mem::replace(&mut current, next));
    }
    current
}

/// A map without constraints with its point variables written as constants, where nothing else is to be done.
fn without_points(map: &Map, options: Options) -> Option<Map> {
    let domain = map.domain();
    let point = |v: Var| {
        let keeps = options.keep_point_dims && v.kind == Kind::Dim;
        domain.flat(v).and_then(|i| domain.vars[i].range.as_point()).filter(|_| !keeps)
    };
    let is_candidate = domain.constraints.is_empty()
        && domain.runtime().iter().all(|v| v.source.is_none())
        && (0..domain.vars.len()).any(|i| point(domain.var(i)).is_some());
    if !is_candidate {
        return None;
    }
    let replace = |v: Var| Ok(point(v).map_or(Expr::Var(v), Expr::Const));
    let results = map.results().iter().map(|e| e.substitute(&replace)).collect::<crate::error::Result<_>>().ok()?;
    let written = map.with_results(results);
    is_settled(&written, options).then_some(written)
}

fn is_fixpoint(map: &Map, options: Options) -> bool {
    let mut work = Work::without_facts(map.domain(), options.keep_point_dims, Tally::NEW);
    map.state() != State::Defined || pass(map, options, &mut work).map == *map
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
        let (results, is_sure) = rewrite_all(work, map.results());
        let map = if results[..] == *map.results() { map.clone() } else { map.with_results(results) };
        return Pass { map: remove_variables(&map, options, &[]), is_sure };
    }
    let (mut current, mut is_same) = (domain.clone(), true);
    for _ in 0..MAX_PASSES {
        let Some(mut next) = learn(&current, work) else {
            return Pass { map: Map::empty(domain), is_sure: true };
        };
        let aliased: SmallVec<[bool; 8]> = work.alias.iter().enumerate().map(|(i, a)| i as u32 != *a).collect();
        let is_last = aliased.contains(&true) || work.tally.effort == 0;
        if !is_last && next.normalize() == Emptiness::Empty {
            return Pass { map: Map::empty(domain), is_sure: true };
        }
        let is_stable = !is_last && next == current;
        // A domain at rest needs no second look, unless facts may decide a quotient: then the order of reading counts.
        let at_rest = map.results().iter().all(|e| e.divmods() == 0) && is_settled_domain(&next, options);
        if !is_stable && !is_last && !at_rest {
            (current, is_same) = (next, false);
            continue;
        }
        let (results, is_sure) = rewrite_all(work, map.results());
        let map = if !is_stable || !is_same {
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
    let (results, _) = rewrite_all(work, map.results());
    Pass { map: remove_variables(&Map::from_parts(current, results), options, &[]), is_sure: false }
}

/// The results under what is known, and whether they are certain to stay as they are.
fn rewrite_all(work: &mut Work, results: &[Expr]) -> (SmallVec<[Expr; 4]>, bool) {
    let mut is_sure = true;
    // Addresses of nodes stand for their forms, so what has been read lives as long as the workspace.
    let mut read: SmallVec<[Expr; 4]> = SmallVec::new();
    let mut out = SmallVec::with_capacity(results.len());
    for e in results {
        let mut form = work.linear(e);
        let mut written = write_back(work, &form, e);
        for _ in 0..MAX_ROUNDS {
            if form.as_ref().is_ok_and(|form| work.is_plain(form)) {
                break;
            }
            work.reading.checks = true;
            let again = work.linear(&written);
            work.reading.checks = false;
            if again.is_ok() && again == form {
                break;
            }
            is_sure = false;
            let Ok(again) = again else { break };
            let next = write_back(work, &Ok(again.clone()), &written);
            if next == written {
                break;
            }
            form = Ok(again);
            read.push(std::mem::replace(&mut written, next));
        }
        out.push(written);
    }
    (out, is_sure && !work.reading.out_of_order)
}

/// An expression under what is known; the expression itself where it does not fit.
fn rewrite(work: &mut Work, e: &Expr) -> Expr {
    let form = work.linear(e);
    write_back(work, &form, e)
}

/// A form as an expression; the one that it comes from where that is shorter or where the form does not fit.
fn write_back(work: &mut Work, form: &Result<Linear, Stop>, e: &Expr) -> Expr {
    let Ok(form) = form else { return e.clone() };
    match write::write(work, form) {
        Ok(written) if (written.divmods(), written.nodes()) <= (e.divmods(), e.nodes()) || has_point(work, e) => {
            written
        }
        _ => e.clone(),
    }
}

/// Whether an expression uses a variable that is written as something else.
fn has_point(work: &Work, e: &Expr) -> bool {
    let mut found = false;
    e.for_each_var(&mut |v| {
        let i = work.flat(v);
        found |= work.alias[i] != i as u32
            || (work.atoms[i].range.as_point().is_some() && !(work.keep_point_dims && v.kind == Kind::Dim));
    });
    found
}

/// Forms in their ranges.
type Kept = SmallVec<[(Linear, Range); 2]>;

/// What the constraints of a domain say before they are held against each other.
#[derive(Default)]
struct Known {
    /// The constraints as forms.
    kept: Kept,
    /// Those that do not fit into forms.
    untouched: Vec<Constraint>,
    /// The runtime sources, by flat number; nothing where there is none.
    sources: Vec<Option<Arc<Source>>>,
}

/// The domain with its ranges narrowed and its constraints held against each other; the workspace knows those that
/// stay. `None` where no point is left.
fn learn(domain: &Domain, work: &mut Work) -> Option<Domain> {
    let (mut learnt, mut known) = (domain.clone(), Known::default());
    if !narrow(&mut learnt, work, &mut known) {
        return None;
    }
    match constraints(work, known.kept, known.untouched) {
        Ok(Some(reduced)) => learnt.constraints = reduced,
        Ok(None) => return None,
        // What does not fit stays as it was read.
        Err(_) => {}
    }
    for (v, source) in learnt.vars.iter_mut().zip(known.sources) {
        v.source = source;
    }
    Some(learnt)
}

/// Narrows the ranges of the variables as far as the constraints say; `false` where no point is left.
///
/// Narrowing that does not come to rest within [`MAX_ROUNDS`] is given up whole, so that it does not go on in the next
/// simplification.
fn narrow(domain: &mut Domain, work: &mut Work, known: &mut Known) -> bool {
    let given: SmallVec<[Range; 8]> = domain.vars.iter().map(|v| v.range).collect();
    for round in 0..=MAX_ROUNDS {
        let given_up = round == MAX_ROUNDS;
        if given_up {
            domain.vars.iter_mut().zip(&given).for_each(|(v, range)| v.range = *range);
        }
        work.restart(domain);
        known.sources = sources(work, domain);
        known.kept.clear();
        known.untouched.clear();
        let mut changed = false;
        let mut ranges: SmallVec<[Range; 8]> = domain.vars.iter().map(|v| v.range).collect();
        for c in &domain.constraints {
            let reduced = work.linear(&c.expr).and_then(|form| constraint::reduce(work, form, c.range));
            match reduced {
                Ok(constraint::Reduced::Contradiction) => return false,
                Ok(constraint::Reduced::Variable(flat, range)) => {
                    // The range of a runtime variable is part of what it is.
                    if work.vars[flat].kind != Kind::Runtime {
                        let before = ranges[flat];
                        ranges[flat] = before.intersect(range);
                        changed |= ranges[flat] != before;
                    }
                    keep(&mut known.kept, Linear::atom(flat as u32), range);
                }
                Ok(constraint::Reduced::Kept(form, range)) => {
                    changed |= constraint::propagate(work, &form, range, &mut ranges);
                    keep(&mut known.kept, form, range);
                }
                Ok(constraint::Reduced::Implied) => {}
                Err(_) => known.untouched.push(c.clone()),
            }
        }
        if ranges.iter().any(|r| r.is_empty()) {
            return false;
        }
        if given_up || !changed {
            return true;
        }
        domain.vars.iter_mut().zip(&ranges).for_each(|(v, range)| v.range = *range);
    }
    true
}

/// The constraints, each reduced under the others; the workspace learns those that stay. Nothing where they contradict
/// each other.
fn constraints(
    work: &mut Work,
    mut kept: Kept,
    mut untouched: Vec<Constraint>,
) -> Result<Option<Vec<Constraint>>, Stop> {
    while constraint::merge_residues(work, &mut kept)? {}
    let mut i = 0;
    // One constraint has no other to be held against.
    while i < kept.len() && kept.len() > 1 {
        let (form, range) = kept[i].clone();
        if range.is_empty() {
            return Ok(None);
        }
        work.clear_facts();
        for (j, (f, r)) in kept.iter().enumerate() {
            if j != i {
                work.add_fact(f.clone(), *r);
            }
        }
        match constraint::decide(work, form, range) {
            constraint::Reduced::Contradiction => return Ok(None),
            constraint::Reduced::Implied => {
                kept.remove(i);
            }
            _ => i += 1,
        }
    }
    if kept.iter().any(|(_, range)| range.is_empty()) {
        return Ok(None);
    }
    work.clear_facts();
    for (f, r) in &kept {
        work.add_fact(f.clone(), *r);
    }
    untouched.reserve_exact(kept.len());
    for (form, range) in kept {
        untouched.push(written(work, form, range)?);
    }
    Ok(Some(untouched))
}

/// Adds `form in range` to what is kept: one range for each form.
fn keep(kept: &mut Kept, form: Linear, range: Range) {
    match kept.iter_mut().find(|(f, _)| *f == form) {
        Some((_, known)) => *known = known.intersect(range),
        None => kept.push((form, range)),
    }
}

/// A constraint as an expression without a constant of its own.
fn written(work: &mut Work, mut form: Linear, range: Range) -> Result<Constraint, Stop> {
    // `(x + c) mod n` is shorter than the same without its constant, so the constant of a remainder comes back first.
    if let Some((num, _)) = constraint::as_residue(work, &form) {
        form.constant = num.constant;
    }
    let expr = write::write(work, &form)?;
    let (bare, constant) = match expr.op() {
        Some(Op::Sum(sum)) => (expr.sub(&Expr::Const(sum.constant))?, sum.constant),
        _ => (expr, 0),
    };
    let shift = i128::from(form.constant) - i128::from(constant);
    let range = Range::from_wide(i128::from(range.lo) + shift, i128::from(range.hi) + shift);
    Ok(Constraint { expr: bare, range })
}

/// The runtime sources under what is known of the variables; variables that are equal to an earlier one become it.
fn sources(work: &mut Work, domain: &Domain) -> Vec<Option<Arc<Source>>> {
    if domain.runtime().iter().all(|v| v.source.is_none()) {
        return Vec::new();
    }
    let mut out: Vec<Option<Arc<Source>>> = vec![None; domain.n_dims + domain.n_ranges];
    for i in domain.n_dims + domain.n_ranges..domain.vars.len() {
        let Some(source) = &domain.vars[i].source else {
            out.push(None);
            continue;
        };
        let index = source.index.iter().map(|e| rewrite(work, e)).collect();
        let source = Arc::new(Source { id: source.id, index });
        let equal = (domain.n_dims + domain.n_ranges..i)
            .find(|j| out[*j].as_deref() == Some(&source) && domain.vars[*j].range == domain.vars[i].range);
        if let Some(j) = equal {
            work.alias[i] = j as u32;
            work.fire(Rule::MergeRuntime);
        }
        out.push(Some(source));
    }
    out
}

/// Without the runtime variables that became another one, and, where asked for, without those that nothing uses.
fn remove_variables(map: &Map, options: Options, aliased: &[bool]) -> Map {
    let domain = map.domain();
    if map.state() != State::Defined || (!options.drop_unused && !aliased.contains(&true)) {
        return map.clone();
    }
    let mut used = vec![false; domain.vars.len()];
    let mark = |e: &Expr, used: &mut Vec<bool>| {
        e.for_each_var(&mut |v| {
            if let Some(i) = domain.flat(v) {
                used[i] = true;
            }
        });
    };
    for e in map.results().iter().chain(domain.constraints.iter().map(|c| &c.expr)) {
        mark(e, &mut used);
    }
    // An index uses only earlier runtime variables, so one walk from the last to the first sees every use.
    for i in (0..domain.vars.len()).rev() {
        used[i] |= i < domain.n_dims || (!options.drop_unused && !aliased.get(i).copied().unwrap_or(false));
        if used[i] {
            for e in domain.vars[i].source.iter().flat_map(|s| &s.index) {
                mark(e, &mut used);
            }
        }
    }
    if used.iter().all(|u| *u) {
        return map.clone();
    }
    renumber(map, &used).unwrap_or_else(|_| map.clone())
}

fn renumber(map: &Map, used: &[bool]) -> crate::error::Result<Map> {
    let domain = map.domain();
    let mut next = [0u32; 3];
    let mut new_index = vec![0u32; used.len()];
    for (i, used) in used.iter().enumerate() {
        let slot = &mut next[domain.var(i).kind as usize];
        new_index[i] = *slot;
        *slot += u32::from(*used);
    }
    let rename = |v: Var| {
        let index = domain.flat(v).map_or(v.index, |i| new_index[i]);
        Ok(Expr::Var(Var { kind: v.kind, index }))
    };
    let mut vars = SmallVec::new();
    for (v, _) in domain.vars.iter().zip(used).filter(|(_, used)| **used) {
        let mut v = v.clone();
        if let Some(source) = &v.source {
            let index = source.index.iter().map(|e| e.substitute(&rename)).collect::<crate::error::Result<_>>()?;
            v.source = Some(Arc::new(Source { id: source.id, index }));
        }
        vars.push(v);
    }
    let constraints = domain
        .constraints
        .iter()
        .map(|c| Ok(Constraint { expr: c.expr.substitute(&rename)?, range: c.range }))
        .collect::<crate::error::Result<_>>()?;
    let results = map.results().iter().map(|e| e.substitute(&rename)).collect::<crate::error::Result<_>>()?;
    let domain = Domain { vars, n_dims: domain.n_dims, n_ranges: next[Kind::Range as usize] as usize, constraints };
    Ok(Map::from_parts(domain, results))
}
