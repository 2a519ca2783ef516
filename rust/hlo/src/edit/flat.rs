//! The computation of a fusion without the fusions and calls in it, whose instructions take their place.

use super::draft::{Called, Row};
use super::error::EditError;
use crate::model::module::{ComputationId, InstructionId, Module};
use crate::Opcode;

/// The most rows of a flat computation: calls that share computations multiply.
const MAX_ROWS: usize = 1 << 17;
/// The most fusions and calls inside each other.
const MAX_DEPTH: usize = 100;

/// The rows of a computation, and its root. Those of the fusions and calls in it are between its own, without their
/// parameters.
pub(super) fn flat<'m>(
    m: &'m Module,
    c: ComputationId,
    called: &mut Called<'m>,
) -> Result<(Vec<Row<'m>>, u32), EditError> {
    let mut rows = Vec::new();
    let root = add(m, c, None, called, &mut rows, 0)?;
    Ok((rows, root))
}

/// Adds the rows of a computation, whose parameters are the rows `arguments` if there are any; returns the row of the
/// root.
fn add<'m>(
    m: &'m Module,
    c: ComputationId,
    arguments: Option<&[u32]>,
    called: &mut Called<'m>,
    rows: &mut Vec<Row<'m>>,
    depth: usize,
) -> Result<u32, EditError> {
    if depth > MAX_DEPTH {
        let name = m.computation_name(c);
        return Err(EditError::Invalid(format!("{name} is inside more than {MAX_DEPTH} fusions or calls")));
    }
    let within = m.instructions_of(c);
    // Operands come first in the order of the text of most computations, but need not.
    let mut at: Vec<Option<u32>> = vec![None; within.len()];
    let mut pending: Vec<InstructionId> = within.clone().rev().collect();
    while let Some(&i) = pending.last() {
        cancel::poll();
        let k = (i - within.start) as usize;
        let open: Vec<InstructionId> = m.operands(i).filter(|&o| at[k_of(o, within.start)].is_none()).collect();
        if at[k].is_none() && !open.is_empty() {
            pending.extend(open);
            continue;
        }
        pending.pop();
        if at[k].is_some() {
            continue;
        }
        if rows.len() >= MAX_ROWS {
            return Err(EditError::Invalid(format!("more than {MAX_ROWS} instructions")));
        }
        let place = |o: InstructionId| at[k_of(o, within.start)];
        at[k] = match (m.parameter_number(i), arguments, inner(m, i)) {
            (Some(number), Some(arguments), _) => arguments.get(usize::try_from(number).unwrap_or(usize::MAX)).copied(),
            (_, _, Some(inside)) => {
                let operands: Vec<u32> = m.operands(i).filter_map(place).collect();
                Some(add(m, inside, Some(&operands), called, rows, depth + 1)?)
            }
            _ => {
                rows.push(Row::of(m, i, place, |c| called.part(c))?);
                Some(rows.len() as u32 - 1)
            }
        };
        if at[k].is_none() {
            return Err(EditError::Invalid(format!("{} has no operand", m.instruction_name(i))));
        }
    }
    let root = at[k_of(m.root(c), within.start)];
    root.ok_or_else(|| EditError::Invalid(format!("{} has no root", m.computation_name(c))))
}

fn k_of(i: InstructionId, start: InstructionId) -> usize {
    (i - start) as usize
}

/// The computation that a fusion or call stands for.
fn inner(m: &Module, i: InstructionId) -> Option<ComputationId> {
    let opens = matches!(m.instructions()[i as usize].opcode, Opcode::Fusion | Opcode::Call);
    let mut called = m.called_computations(i);
    called.next().filter(|_| opens && called.next().is_none())
}
