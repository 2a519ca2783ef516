//! The rows of a fusion without the fusions and calls in it, whose rows take their place.

use super::draft::{Body, Entry, Row};
use super::error::EditError;
use crate::tuning::{MAX_CALLS, MAX_ROWS};
use crate::Opcode;

/// The rows of a computation, and its root.
pub type Inside<'m> = (Vec<Row<'m>>, u32);

/// The flat rows of a computation, and its root; `inside` gives the rows of each one that is needed. Rows of fusions and
/// calls in it are between its own, without their parameters.
pub(super) fn flat<'m>(
    part: u32,
    inside: &mut dyn FnMut(u32) -> Result<Inside<'m>, EditError>,
) -> Result<Inside<'m>, EditError> {
    let mut rows = Vec::new();
    let root = add(part, None, inside, &mut rows, 0)?;
    Ok((rows, root))
}

/// The computation that a fusion or call stands for.
pub(super) fn inner(row: &Row<'_>) -> Option<u32> {
    let opens = matches!(row.code(), Opcode::Fusion | Opcode::Call);
    let mut called = row.callees();
    called.next().filter(|_| opens && called.next().is_none())
}

/// Adds the rows of a computation, whose parameters are the rows `arguments` if there are any; returns the row of the
/// root.
fn add<'m>(
    part: u32,
    arguments: Option<&[u32]>,
    inside: &mut dyn FnMut(u32) -> Result<Inside<'m>, EditError>,
    rows: &mut Vec<Row<'m>>,
    depth: usize,
) -> Result<u32, EditError> {
    if depth > MAX_CALLS {
        return Err(EditError::Invalid(format!("more than {MAX_CALLS} fusions or calls are inside each other")));
    }
    let (own, root) = inside(part)?;
    let mut own: Vec<Option<Row>> = own.into_iter().map(Some).collect();
    // Operands come first in the order of the text of most computations, but need not.
    let mut at: Vec<Option<u32>> = vec![None; own.len()];
    let mut pending: Vec<u32> = (0..own.len() as u32).rev().collect();
    while let Some(&k) = pending.last() {
        cancel::poll();
        let Some(row) = &own[k as usize] else {
            pending.pop();
            continue;
        };
        let open: Vec<u32> = row.operands().iter().copied().filter(|&o| at[o as usize].is_none()).collect();
        if !open.is_empty() {
            pending.extend(open);
            continue;
        }
        pending.pop();
        if rows.len() >= MAX_ROWS {
            return Err(EditError::Invalid(format!("more than {MAX_ROWS} instructions")));
        }
        let Some(mut row) = own[k as usize].take() else { continue };
        let place = |o: &u32| at[*o as usize];
        let new = if let (Body::Parameter(number), Some(arguments)) = (&row.body, arguments) {
            match arguments.get(*number as usize) {
                Some(&argument) => argument,
                None => return Err(EditError::Invalid(format!("{} has no operand", row.name))),
            }
        } else if let Some(called) = inner(&row) {
            let operands: Vec<u32> = row.operands().iter().filter_map(place).collect();
            add(called, Some(&operands), inside, rows, depth + 1)?
        } else {
            if let Body::Operands(operands) = &mut row.body {
                *operands = operands.iter().filter_map(place).collect();
            }
            for (_, entry) in &mut row.attributes {
                if let Entry::Rows(before) = entry {
                    *before = before.iter().filter_map(place).collect();
                }
            }
            rows.push(row);
            rows.len() as u32 - 1
        };
        at[k as usize] = Some(new);
    }
    at.get(root as usize).copied().flatten().ok_or_else(|| EditError::Invalid("a computation has no root".into()))
}
