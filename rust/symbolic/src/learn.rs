//! What the constraints of a domain say: ranges narrowed, constraints reduced, merged and held against each other.
//!
//! Read [`learn`]. The laws are those of [`crate::rules::constraint`].

use std::sync::Arc;

use smallvec::SmallVec;

use crate::domain::{Constraint, Domain, Source};
use crate::error::Stop;
use crate::expr::{Expr, Kind, Op};
use crate::linear::{Linear, Work};
use crate::range::Range;
use crate::rewrite::rewrite;
use crate::rules::{constraint, write, Rule};

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
}

/// The domain with its ranges narrowed and its constraints held against each other; the workspace knows those that
/// stay. `None` where no point is left.
pub fn learn(domain: &Domain, work: &mut Work) -> Option<Domain> {
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
                        if work.vars[flat].kind != Kind::Runtime {
                            let before = ranges[flat];
                            ranges[flat] = before.intersect(range);
                            changed |= ranges[flat] != before;
                        }
                        keep(&mut known.kept, Linear::atom(flat as u32), range);
                    }
                    Ok(constraint::Reduced::Kept(form, range)) => match constraint::fixed_part(work, &form, range) {
                        Some(parts) => pending.extend(parts),
                        None => {
                            changed |= constraint::propagate(work, &form, range, &mut ranges);
                            keep(&mut known.kept, form, range);
                        }
                    },
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
    constraint::round_ends(work, &mut kept);
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
