//! Simplification of domains: ranges are narrowed, and constraints reduced, merged and compared with each other.
//!
//! The laws are those of [`crate::rules::constraint`].

use crate::limits::ROUNDS;
use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::facts::Fact;
use crate::affine::form::{AffineForm, AtomId};
use crate::affine::summands::summands;
use crate::domain::{Constraint, Domain, Source};
use crate::error::Stop;
use crate::expr::{Expr, Kind};
use crate::laws::Rule;
use crate::rules::extraction::is_sum;
use crate::rules::{constraint, extraction, residues};
use crate::simplify::rewrite::rewrite;
use crate::span::Interval;
use crate::trace::Statement;
use crate::tuning::FEW_KEYS;

/// Forms in their ranges.
type Kept = SmallVec<[(AffineForm, Interval); 2]>;

/// The constraints of a domain before they are reduced by each other.
#[derive(Default)]
struct PendingConstraints {
    /// The constraints as forms.
    kept: Kept,
    /// The position of each form, once there are many.
    at: FxHashMap<AffineForm, usize>,
    /// Those that do not fit into forms.
    untouched: Vec<Constraint>,
    /// The runtime sources, by flat number; `None` if there is none.
    sources: Vec<Option<Arc<Source>>>,
    /// Whether the ranges stayed because narrowing them reached no fixpoint.
    aborted: bool,
    /// Whether two ranges of one form intersected to a tighter one, which has not been examined.
    tighter: bool,
    /// Whether each constraint by itself is kept as it was read, and no range changes.
    stays: bool,
    /// The number of atoms after all constraints were read.
    n_atoms: usize,
}

/// The result of [`simplify_domain`].
pub struct SimplifiedDomain {
    /// The domain with its ranges narrowed and its constraints reduced by each other; `None` if that changes nothing.
    pub domain: Option<Domain>,
    /// Whether simplifying the result again would give an equal domain and equal facts.
    pub is_fixpoint: bool,
}

/// Normalizes a domain; the context keeps the remaining constraints. `None` if no point is left.
pub fn simplify_domain(domain: &Domain, cx: &mut AffineContext) -> Option<SimplifiedDomain> {
    let (mut domain, mut known, mut is_fixpoint) = (Cow::Borrowed(domain), PendingConstraints::default(), false);
    if !narrow(&mut domain, cx, &mut known) {
        return None;
    }
    match constraints(cx, &mut known, &domain.constraints) {
        Ok(Some(reduced)) if reduced.stays => {
            is_fixpoint = known.sources.is_empty() && !known.aborted;
            cx.add_facts(reduced.extracted.into_iter().map(|(_, form, interval)| (form, interval)));
        }
        Ok(Some(reduced)) => {
            is_fixpoint = reduced.is_fixpoint && known.sources.is_empty() && !known.aborted && !known.tighter;
            // Intermediate atoms are forgotten, so that numbers and ranges of atoms are those of a first reading.
            let restarts = !cx.has_visited_all();
            if restarts {
                let alias = std::mem::take(&mut cx.alias);
                cx.restart(&domain);
                cx.alias = alias;
            }
            domain.to_mut().constraints = assume_reduced(cx, reduced, restarts);
        }
        Ok(None) => return None,
        // On overflow the constraints stay as they were read.
        Err(_) => {}
    }
    if !known.sources.is_empty() {
        domain.to_mut().vars.iter_mut().zip(known.sources).for_each(|(v, source)| v.source = source);
    }
    let changed = match domain {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(changed),
    };
    Some(SimplifiedDomain { domain: changed, is_fixpoint })
}

/// Narrows the ranges of the variables by the constraints; `false` if no point is left.
///
/// Narrowing that reaches no fixpoint within [`ROUNDS`] is undone as a whole, so that the next simplification does not
/// continue it.
fn narrow(domain: &mut Cow<Domain>, cx: &mut AffineContext, known: &mut PendingConstraints) -> bool {
    let given: SmallVec<[Interval; 8]> = domain.vars.iter().map(|v| v.interval).collect();
    for round in 0..=ROUNDS {
        let aborted = round == ROUNDS;
        if aborted {
            domain.to_mut().vars.iter_mut().zip(&given).for_each(|(v, interval)| v.interval = *interval);
        }
        cx.restart(domain);
        for i in (0..domain.constraints.len()).filter(|_| round == 0) {
            if let Some(opened) = constraint::opened(cx, &domain.constraints[i]) {
                domain.to_mut().constraints[i] = opened;
            }
            let c = &domain.constraints[i];
            if c.interval.is_empty() {
                cx.fired(Rule::ConstraintContradicts, |_| (vec![c.into()], vec![Statement::Contradiction]));
                return false;
            }
        }
        known.sources = sources(cx, domain);
        known.replace(SmallVec::new());
        known.untouched.clear();
        (known.tighter, known.stays) = (false, matches!(domain, Cow::Borrowed(_)));
        let mut changed = false;
        let mut ranges: SmallVec<[Interval; 8]> = domain.vars.iter().map(|v| v.interval).collect();
        for c in &domain.constraints {
            let learned = cx.linear(&c.expr).and_then(|form| learn(cx, known, &mut ranges, form, c.interval));
            match learned {
                Ok(Some(narrows)) => changed |= narrows,
                Ok(None) => return false,
                Err(_) => {
                    known.untouched.push(c.clone());
                    known.stays = false;
                }
            }
        }
        known.n_atoms = cx.atoms.len();
        if known.kept.iter().any(|(form, _)| cx.has_div(form)) {
            let apart = known.kept.clone();
            match merge_residues(cx, known, &mut ranges) {
                Ok(Some(narrows)) => changed |= narrows,
                Ok(None) => return false,
                Err(_) => known.replace(apart),
            }
        }
        if let Some(flat) = ranges.iter().position(|r| r.is_empty()) {
            cx.fired(Rule::ConstraintContradicts, |cx| {
                let narrowed = cx.constraint(&AffineForm::atom(flat as u32), ranges[flat]);
                (vec![narrowed], vec![Statement::Contradiction])
            });
            return false;
        }
        known.aborted = aborted;
        if aborted || !changed {
            return true;
        }
        domain.to_mut().vars.iter_mut().zip(&ranges).for_each(|(v, interval)| v.interval = *interval);
    }
    true
}

/// Adds `form in interval` to the pending constraints. Returns whether that narrows a range; `None` on a contradiction.
fn learn(
    cx: &mut AffineContext,
    known: &mut PendingConstraints,
    ranges: &mut [Interval],
    form: AffineForm,
    interval: Interval,
) -> Result<Option<bool>, Stop> {
    let (mut narrows, mut stays) = (false, false);
    let (given, within) = (form.terms.clone(), interval.minus(form.constant));
    let mut pending: Kept = SmallVec::from_iter([(form, interval)]);
    while let Some((form, interval)) = pending.pop() {
        match constraint::reduce(cx, form, interval)? {
            constraint::Reduced::Contradiction => return Ok(None),
            constraint::Reduced::Variable(flat, interval) => {
                // The interval of a runtime variable is part of what it is.
                if cx.var(flat).kind != Kind::Runtime {
                    let before = ranges[flat];
                    ranges[flat] = before.intersect(interval);
                    narrows |= ranges[flat] != before;
                }
                known.keep(AffineForm::atom(flat as u32), interval);
            }
            constraint::Reduced::Kept(form, interval, parts) => {
                if let Some(split) = constraint::fixed_part(cx, &form, &parts, interval) {
                    pending.extend(split);
                    continue;
                }
                narrows |= constraint::propagate(cx, &form, &parts, interval, ranges);
                stays = form.terms == given && Some(interval) == within;
                known.keep(form, interval);
            }
            constraint::Reduced::Implied => {}
        }
    }
    known.stays &= stays;
    Ok(Some(narrows))
}

/// Merges constraints on one remainder; the result is that of [`learn`].
fn merge_residues(
    cx: &mut AffineContext,
    known: &mut PendingConstraints,
    ranges: &mut [Interval],
) -> Result<Option<bool>, Stop> {
    let mut narrows = false;
    let merged = residues::merge(cx, &mut known.kept)?;
    if !merged.is_empty() {
        known.stays = false;
        let left = std::mem::take(&mut known.kept);
        known.replace(left);
    }
    for (form, interval) in merged {
        known.tighter = true;
        match learn(cx, known, ranges, form, interval)? {
            Some(more) => narrows |= more,
            None => return Ok(None),
        }
    }
    Ok(Some(narrows))
}

/// Constraints that have been reduced by each other.
struct Reduced {
    /// Those that do not fit into forms.
    untouched: Vec<Constraint>,
    /// The other constraints, in order, each with its form.
    extracted: SmallVec<[(Constraint, AffineForm, Interval); 2]>,
    /// Whether they read back as their forms, and nothing else would change.
    is_fixpoint: bool,
    /// Whether they are the given constraints, and the context is as after reading these.
    stays: bool,
}

/// Reduces each constraint under the others. `None` if they contradict each other.
fn constraints(
    cx: &mut AffineContext,
    known: &mut PendingConstraints,
    given: &[Constraint],
) -> Result<Option<Reduced>, Stop> {
    let mut kept = std::mem::take(&mut known.kept);
    let untouched = std::mem::take(&mut known.untouched);
    let n_given = kept.len();
    let mut stays = known.stays && n_given == given.len() && cx.uses_fast_path() && are_apart(cx, &kept);
    let mut is_fixpoint = untouched.is_empty();
    if !stays {
        let ByEachOther { contradict, changed } = reduce_by_each_other(cx, &mut kept)?;
        if contradict {
            return Ok(None);
        }
        is_fixpoint &= kept.len() == n_given && !changed;
        cx.clear_facts();
    }
    let mut extracted: SmallVec<[(Constraint, AffineForm, Interval); 2]> = SmallVec::new();
    for (i, (form, interval)) in kept.into_iter().enumerate() {
        let is_given = stays && given[i].interval == interval && is_sum(cx, &given[i].expr, &form);
        let c = if is_given { given[i].clone() } else { as_constraint(cx, form.clone(), interval)? };
        stays = stays && (is_given || c == given[i]);
        extracted.push((c, form, interval));
    }
    stays &= cx.atoms.len() == known.n_atoms && !cx.stability.out_of_order;
    if stays {
        (cx.n_vars()..known.n_atoms).for_each(|atom| cx.stability.meet(atom as AtomId));
        return Ok(Some(Reduced { untouched, extracted, is_fixpoint, stays }));
    }
    extracted.sort_by(|a, b| a.0.cmp(&b.0));
    cx.stability.checks = true;
    is_fixpoint &=
        extracted.iter().all(|(c, form, interval)| reads_as(cx, c, form, *interval)) && !cx.stability.out_of_order;
    if is_fixpoint {
        cx.stability.checks = false;
    } else {
        cx.forget_visited();
    }
    Ok(Some(Reduced { untouched, extracted, is_fixpoint, stays }))
}

/// Whether no two forms share an atom. Then none says anything of another, see [`crate::affine::facts`].
fn are_apart(cx: &AffineContext, kept: &[(AffineForm, Interval)]) -> bool {
    let mut seen: SmallVec<[bool; 32]> = SmallVec::from_elem(false, cx.atoms.len());
    let mut atoms = kept.iter().flat_map(|(form, _)| &form.terms).map(|t| t.atom as usize);
    kept.len() < 2 || atoms.all(|atom| !std::mem::replace(&mut seen[atom], true))
}

/// Starts a context over a domain that stays as it is, with its constraints as facts; `false` if one does not fit.
pub fn assume(domain: &Domain, cx: &mut AffineContext) -> bool {
    cx.restart(domain);
    if domain.constraints.is_empty() {
        return true;
    }
    cx.stability.checks = true;
    let forms: Result<SmallVec<[AffineForm; 2]>, Stop> =
        domain.constraints.iter().map(|c| cx.linear(&c.expr)).collect();
    cx.stability.checks = false;
    let Ok(forms) = forms else { return false };
    cx.add_facts(forms.into_iter().zip(domain.constraints.iter().map(|c| c.interval)));
    true
}

/// Makes the constraints facts of the context; reads them again if the context has been restarted.
fn assume_reduced(cx: &mut AffineContext, reduced: Reduced, restarted: bool) -> Vec<Constraint> {
    let mut out = reduced.untouched;
    out.reserve_exact(reduced.extracted.len());
    let mut forms: Kept = SmallVec::new();
    cx.stability.checks = restarted;
    for (c, form, interval) in reduced.extracted {
        // An old form names other atoms; a constraint that can no longer be read is not used as a fact.
        let fact =
            if restarted { cx.linear(&c.expr).ok().map(|form| (form, c.interval)) } else { Some((form, interval)) };
        forms.extend(fact);
        out.push(c);
    }
    cx.stability.checks = false;
    cx.add_facts(forms);
    out
}

/// Whether a constraint reads as exactly `form in interval`.
fn reads_as(cx: &mut AffineContext, c: &Constraint, form: &AffineForm, interval: Interval) -> bool {
    cx.linear(&c.expr).is_ok_and(|read| read.terms == form.terms && c.interval.minus(read.constant) == Some(interval))
}

/// The outcome of [`reduce_by_each_other`].
struct ByEachOther {
    /// They contradict each other.
    contradict: bool,
    /// Some were merged or rounded.
    changed: bool,
}

/// Reduces the constraints by each other: constraints that others imply are removed.
fn reduce_by_each_other(cx: &mut AffineContext, kept: &mut Kept) -> Result<ByEachOther, Stop> {
    let mut changed = false;
    changed |= constraint::round_ends(cx, kept);
    // A single constraint has no others.
    if kept.len() > 1 {
        cx.set_facts(kept);
    }
    let mut is_implied: SmallVec<[bool; 8]> = SmallVec::from_elem(false, kept.len());
    for i in 0..cx.facts.len() {
        let Fact { form, interval } = cx.facts.take(i);
        if interval.is_empty() {
            return Ok(ByEachOther { contradict: true, changed });
        }
        cx.spend(form.terms.len())?;
        let parts = summands(cx, &form);
        match constraint::decide(cx, &form, &parts, interval) {
            constraint::Decided::Contradiction => return Ok(ByEachOther { contradict: true, changed }),
            constraint::Decided::Implied => is_implied[i] = true,
            constraint::Decided::Open(_) => cx.facts.put_back(i, Fact { form, interval }),
        }
    }
    let mut implied = is_implied.into_iter();
    kept.retain(|_| !implied.next().unwrap_or(false));
    Ok(ByEachOther { contradict: kept.iter().any(|(_, interval)| interval.is_empty()), changed })
}

impl PendingConstraints {
    /// Makes these the constraints that are kept.
    fn replace(&mut self, kept: Kept) {
        self.kept = kept;
        self.at.clear();
    }

    /// The position of a form among those that are kept.
    fn position(&mut self, form: &AffineForm) -> Option<usize> {
        if self.kept.len() <= FEW_KEYS {
            return self.kept.iter().position(|(kept, _)| kept == form);
        }
        for i in self.at.len()..self.kept.len() {
            self.at.insert(self.kept[i].0.clone(), i);
        }
        self.at.get(form).copied()
    }

    /// Keeps `form in interval`, with one interval for each form.
    fn keep(&mut self, form: AffineForm, interval: Interval) {
        match self.position(&form) {
            Some(at) => {
                let known = &mut self.kept[at].1;
                let both = known.intersect(interval);
                self.tighter |= both != *known && both != interval;
                *known = both;
            }
            None => self.kept.push((form, interval)),
        }
    }
}

/// Writes a constraint whose expression has no constant.
fn as_constraint(cx: &mut AffineContext, mut form: AffineForm, interval: Interval) -> Result<Constraint, Stop> {
    // `(x + c) mod n` is shorter with its constant, so the constant of a remainder is restored first.
    if let Some((num, _)) = constraint::as_residue(cx, &form) {
        form.constant = num.constant;
    }
    let expr = extraction::extract(cx, &form)?;
    let constant = expr.constant();
    let bare = if constant == 0 { expr } else { expr.sub(&Expr::Const(constant))? };
    let shift = i128::from(form.constant) - i128::from(constant);
    let shifted = Interval::exact(i128::from(interval.lo) + shift, i128::from(interval.hi) + shift);
    let interval = shifted.ok_or(Stop::Overflow)?;
    let written = Constraint { expr: bare, interval };
    Ok(constraint::opened(cx, &written).unwrap_or(written))
}

/// Rewrites the runtime sources under the facts, and replaces variables by equal earlier ones.
pub(crate) fn sources(cx: &mut AffineContext, domain: &Domain) -> Vec<Option<Arc<Source>>> {
    if domain.runtime().iter().all(|v| v.source.is_none()) {
        return Vec::new();
    }
    let mut out: Vec<Option<Arc<Source>>> = vec![None; domain.n_dims + domain.n_ranges];
    for i in domain.n_dims + domain.n_ranges..domain.vars.len() {
        let Some(source) = &domain.vars[i].source else {
            out.push(None);
            continue;
        };
        let index = source.index.iter().map(|e| rewrite(cx, e)).collect();
        let source = Arc::new(Source { id: source.id, index });
        let first = domain.n_dims + domain.n_ranges;
        let compared = if cx.spend(i - first).is_ok() { first..i } else { i..i };
        let equal = compared
            .into_iter()
            .find(|j| out[*j].as_deref() == Some(&source) && domain.vars[*j].interval == domain.vars[i].interval);
        if let Some(j) = equal {
            cx.replace(i, j);
            cx.fired(Rule::MergeRuntime, |cx| {
                let value = |flat| vec![Statement::Value(Expr::Var(cx.var(flat)))];
                (value(i), value(j))
            });
        }
        out.push(Some(source));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affine::context::Budget;
    use crate::map::Map;
    use crate::options::Options;

    #[test]
    fn constraints_in_normal_form_stay_as_they_were_read() {
        let of = |domain: &str, rules_only: bool| {
            let map: Map = format!("(d0, d1)[s0, s1] -> (d0), domain: {domain}").parse().unwrap();
            let options = Options::default().rules_only(rules_only);
            let mut cx = AffineContext::with_capacity(4, options, Budget::default());
            let SimplifiedDomain { domain, is_fixpoint } = simplify_domain(map.domain(), &mut cx).unwrap();
            let facts = cx.facts.all(&mut cx.budget.meter).unwrap().map(|fact| (fact.form.clone(), fact.interval));
            (domain.is_none_or(|changed| changed == *map.domain()), is_fixpoint, facts.collect::<Vec<_>>())
        };
        let sizes = "d0 in [0, 9], d1 in [0, 8], s0 in [0, 7], s1 in [0, 6]";
        for (constraints, stays) in [
            ("d0 + s0 in [1, 15]", true),
            ("d0 + s0 in [1, 15], d1 - s1 in [0, 7]", true),
            ("(d0 + s0) mod 3 in [0, 1], d1 + s1 in [1, 13]", true),
            ("(d0 + s0 * 2) mod 4 in [3, 3]", true),
            ("d0 + s0 in [1, 15], d0 + s0 + d1 in [9, 24]", true),
            // A constraint bounds a variable, is implied, or has a factor.
            ("d0 + s0 in [0, 5]", false),
            ("d0 + s0 in [0, 99]", false),
            ("d0 * 2 + s0 * 2 in [1, 30]", false),
        ] {
            let domain = format!("{sizes}, {constraints}");
            let (fast, slow) = (of(&domain, false), of(&domain, true));
            assert_eq!((fast.0, fast.1), (stays, stays || fast.1), "{constraints}");
            assert_eq!((fast.0, &fast.2), (slow.0, &slow.2), "{constraints}");
        }
    }
}
