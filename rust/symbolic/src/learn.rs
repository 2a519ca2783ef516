//! What the constraints of a domain say: ranges narrowed, constraints reduced, merged and held against each other.
//!
//! Read [`learn`]. The laws are those of [`crate::rules::constraint`].

use std::sync::Arc;

use smallvec::SmallVec;

use crate::domain::{Constraint, Domain, Source};
use crate::error::Stop;
use crate::expr::{Expr, Kind, Op};
use crate::linear::Linear;
use crate::range::Range;
use crate::rewrite::rewrite;
use crate::rules::{constraint, write, Rule};
use crate::summand::summands;
use crate::work::{Fact, Work};

/// The most rounds in which ranges narrow.
const MAX_ROUNDS: usize = 12;

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
    /// Whether the ranges stayed because narrowing them did not come to rest.
    given_up: bool,
    /// Whether two ranges of one form came to one that says more than either, which has not been looked at.
    says_more: bool,
}

/// What [`learn`] makes of a domain.
pub struct Learnt {
    /// The domain with its ranges narrowed and its constraints held against each other.
    pub domain: Domain,
    /// Whether to learn from it again would give the same domain and the same facts.
    pub comes_back: bool,
}

/// What a domain comes to, of which the workspace knows the constraints that stay. `None` where no point is left.
pub fn learn(domain: &Domain, work: &mut Work) -> Option<Learnt> {
    let (mut domain, mut known, mut comes_back) = (domain.clone(), Known::default(), false);
    if !narrow(&mut domain, work, &mut known) {
        return None;
    }
    match constraints(work, &mut known) {
        Ok(Some(reduced)) => {
            comes_back = reduced.come_back && known.sources.is_empty() && !known.given_up && !known.says_more;
            // What came up on the way is forgotten: numbers and ranges of atoms are to be those of a first reading.
            let restarts = !work.has_met_all();
            if restarts {
                let alias = std::mem::take(&mut work.alias);
                work.restart(&domain);
                work.alias = alias;
            }
            domain.constraints = tell_reduced(work, reduced, restarts);
        }
        Ok(None) => return None,
        // What does not fit stays as it was read.
        Err(_) => {}
    }
    for (v, source) in domain.vars.iter_mut().zip(known.sources) {
        v.source = source;
    }
    Some(Learnt { domain, comes_back })
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
        known.says_more = false;
        let mut changed = false;
        let mut ranges: SmallVec<[Range; 8]> = domain.vars.iter().map(|v| v.range).collect();
        for c in &domain.constraints {
            let Ok(form) = work.linear(&c.expr) else {
                known.untouched.push(c.clone());
                continue;
            };
            let mut pending: Kept = SmallVec::from_iter([(form, c.range)]);
            while let Some((form, range)) = pending.pop() {
                match constraint::reduce(work, form, range) {
                    Ok(constraint::Reduced::Contradiction) => return false,
                    Ok(constraint::Reduced::Variable(flat, range)) => {
                        // The range of a runtime variable is part of what it is.
                        if work.var(flat).kind != Kind::Runtime {
                            let before = ranges[flat];
                            ranges[flat] = before.intersect(range);
                            changed |= ranges[flat] != before;
                        }
                        known.keep(Linear::atom(flat as u32), range);
                    }
                    Ok(constraint::Reduced::Kept(form, range, parts)) => {
                        if let Some(split) = constraint::fixed_part(work, &form, &parts, range) {
                            pending.extend(split);
                            continue;
                        }
                        changed |= constraint::propagate(work, &form, &parts, range, &mut ranges);
                        known.keep(form, range);
                    }
                    Ok(constraint::Reduced::Implied) => {}
                    Err(_) => {
                        known.untouched.push(c.clone());
                        break;
                    }
                }
            }
        }
        if ranges.iter().any(|r| r.is_empty()) {
            return false;
        }
        known.given_up = given_up;
        if given_up || !changed {
            return true;
        }
        domain.vars.iter_mut().zip(&ranges).for_each(|(v, range)| v.range = *range);
    }
    true
}

/// Constraints that have been held against each other.
struct Reduced {
    /// Those that do not fit into forms.
    untouched: Vec<Constraint>,
    /// Those that do, in order, each with its form.
    written: SmallVec<[(Constraint, Linear, Range); 2]>,
    /// Whether they read back as the forms that they come from, and nothing else would change.
    come_back: bool,
}

/// The constraints, each reduced under the others. Nothing where they contradict each other.
fn constraints(work: &mut Work, known: &mut Known) -> Result<Option<Reduced>, Stop> {
    let mut kept = std::mem::take(&mut known.kept);
    let untouched = std::mem::take(&mut known.untouched);
    let (before, n_given) = (work.tally.fired, kept.len());
    work.tally.fired = 0;
    let contradict = held_against_each_other(work, &mut kept);
    let mut come_back = kept.len() == n_given && untouched.is_empty() && work.tally.fired & CHANGES == 0;
    work.tally.fired |= before;
    if contradict? {
        return Ok(None);
    }
    work.clear_facts();
    let mut written: SmallVec<[(Constraint, Linear, Range); 2]> = SmallVec::new();
    for (form, range) in kept {
        written.push((as_constraint(work, form.clone(), range)?, form, range));
    }
    written.sort_by(|a, b| a.0.cmp(&b.0));
    work.reading.checks = true;
    come_back &= written.iter().all(|(c, form, range)| reads_as(work, c, form, *range)) && !work.reading.out_of_order;
    if come_back {
        work.reading.checks = false;
    } else {
        work.read_anew();
    }
    Ok(Some(Reduced { untouched, written, come_back }))
}

/// Starts a workspace over a domain that stays as it is, with its constraints as facts; `false` where one does not fit.
pub fn tell(domain: &Domain, work: &mut Work) -> bool {
    work.restart(domain);
    if domain.constraints.is_empty() {
        return true;
    }
    work.reading.checks = true;
    let forms: Result<SmallVec<[Linear; 2]>, Stop> = domain.constraints.iter().map(|c| work.linear(&c.expr)).collect();
    work.reading.checks = false;
    let Ok(forms) = forms else { return false };
    for (form, c) in forms.into_iter().zip(&domain.constraints) {
        work.add_fact(form, c.range);
    }
    true
}

/// Makes the constraints facts of the workspace, read anew where it has been started again.
fn tell_reduced(work: &mut Work, reduced: Reduced, restarted: bool) -> Vec<Constraint> {
    let mut out = reduced.untouched;
    out.reserve_exact(reduced.written.len());
    let mut forms: Kept = SmallVec::new();
    work.reading.checks = restarted;
    for (c, form, range) in reduced.written {
        // A form of before names other atoms; what cannot be read any more is a fact that is not used.
        let form = if restarted { work.linear(&c.expr).ok() } else { Some(form) };
        forms.extend(form.map(|form| (Linear { constant: 0, ..form }, range)));
        out.push(c);
    }
    work.reading.checks = false;
    for (form, range) in forms {
        work.add_fact(form, range);
    }
    out
}

/// The rules that change a constraint where it is held against another.
const CHANGES: u64 = 1 << Rule::MergeResidues as u8 | 1 << Rule::ResidueRounds as u8;

/// Whether a constraint reads as `form in range`, and as nothing that goes into the range of a variable.
fn reads_as(work: &mut Work, c: &Constraint, form: &Linear, range: Range) -> bool {
    work.linear(&c.expr).is_ok_and(|read| {
        let shift = |end: i64| end.checked_sub(read.constant);
        read.terms == form.terms && shift(c.range.lo) == Some(range.lo) && shift(c.range.hi) == Some(range.hi)
    })
}

/// Whether the constraints contradict each other; those that others imply go.
fn held_against_each_other(work: &mut Work, kept: &mut Kept) -> Result<bool, Stop> {
    while constraint::merge_residues(work, kept)? {}
    constraint::round_ends(work, kept);
    // One constraint has no other to be held against.
    if kept.len() > 1 {
        work.clear_facts();
        work.facts.extend(kept.iter().map(|(form, range)| Fact { form: form.clone(), range: *range }));
    }
    let mut i = 0;
    while i < work.facts.len() {
        // A fact without a form says nothing, least of all of itself.
        let nothing = Fact { form: Linear::default(), range: Range::ALL };
        let Fact { form, range } = std::mem::replace(&mut work.facts[i], nothing);
        if range.is_empty() {
            return Ok(true);
        }
        let parts = summands(work, &form);
        match constraint::decide(work, &form, &parts, range) {
            constraint::Decided::Contradiction => return Ok(true),
            constraint::Decided::Implied => {
                work.facts.remove(i);
                kept.remove(i);
            }
            constraint::Decided::Open => {
                work.facts[i] = Fact { form, range };
                i += 1;
            }
        }
    }
    Ok(kept.iter().any(|(_, range)| range.is_empty()))
}

impl Known {
    /// Adds `form in range` to what is kept: one range for each form.
    fn keep(&mut self, form: Linear, range: Range) {
        match self.kept.iter_mut().find(|(f, _)| *f == form) {
            Some((_, known)) => {
                let both = known.intersect(range);
                self.says_more |= both != *known && both != range;
                *known = both;
            }
            None => self.kept.push((form, range)),
        }
    }
}

/// A constraint as an expression without a constant of its own.
fn as_constraint(work: &mut Work, mut form: Linear, range: Range) -> Result<Constraint, Stop> {
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
    let shifted = Range::exact(i128::from(range.lo) + shift, i128::from(range.hi) + shift);
    let range = shifted.ok_or(Stop::Overflow)?;
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
            work.replace(i, j);
            work.fire(Rule::MergeRuntime);
        }
        out.push(Some(source));
    }
    out
}
