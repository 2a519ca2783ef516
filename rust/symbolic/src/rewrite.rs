//! Expressions under what a workspace knows: read as forms, written as the shortest expressions for them.
//!
//! Read [`rewrite_all`]. No law lives here.

use smallvec::SmallVec;

use crate::error::Stop;
use crate::expr::{Expr, Kind};
use crate::linear::{Linear, Work};
use crate::rules::write;

/// How often one expression may be written and read again.
const MAX_ROUNDS: usize = 12;

/// The results under what is known, and whether they are certain to stay as they are.
pub fn rewrite_all(work: &mut Work, results: &[Expr]) -> (SmallVec<[Expr; 4]>, bool) {
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
pub fn rewrite(work: &mut Work, e: &Expr) -> Expr {
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
