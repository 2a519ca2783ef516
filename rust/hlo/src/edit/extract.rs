//! The module that computes just some instructions.

use rustc_hash::{FxHashMap, FxHashSet};

use super::draft::{Body, Called, Draft, Entry, Part, Row};
use super::error::EditError;
use crate::model::module::{InstructionId, Module};
use crate::Opcode;

/// The attributes that the parameter in the place of an instruction has from it.
pub(crate) const OF_VALUE: &[&str] = &["sharding", "metadata"];

/// The module whose entry computes instructions of one computation from its parameters, and from one new parameter for
/// each instruction of `stop`, or at a distance of `depth` operands. Several instructions become a tuple.
pub fn extract(
    m: &Module,
    instructions: &[InstructionId],
    stop: &[InstructionId],
    depth: Option<usize>,
) -> Result<Module, EditError> {
    let Some(&first) = instructions.first() else { return Err(EditError::Invalid("no instruction".into())) };
    let c = m.computation_of(first);
    let ends: FxHashSet<InstructionId> = stop.iter().copied().collect();
    let mut kept: FxHashSet<InstructionId> = FxHashSet::default();
    let mut cut: FxHashSet<InstructionId> = FxHashSet::default();
    let mut level: Vec<InstructionId> = instructions.to_vec();
    let mut distance = 0;
    while !level.is_empty() {
        let mut next = Vec::new();
        for i in level {
            if !kept.insert(i) {
                continue;
            }
            match ends.contains(&i) || depth.is_some_and(|depth| distance >= depth) {
                true => drop(cut.insert(i)),
                false => next.extend(m.operands(i)),
            }
        }
        (level, distance) = (next, distance + 1);
    }
    let mut ordered: Vec<InstructionId> = kept.into_iter().collect();
    ordered.sort_unstable();
    if let Some(half) = half_of(m, &ordered, &cut) {
        let name = m.instruction_name(half);
        return Err(EditError::Invalid(format!("{name} is one half of an asynchronous operation, without the other")));
    }
    // Parameters by their numbers, then the values in the place of which there is one.
    let mut parameters: Vec<(u32, InstructionId)> = Vec::new();
    for &i in &ordered {
        match m.parameter_number(i) {
            Some(number) => parameters.push((number, i)),
            None if cut.contains(&i) => parameters.push((u32::MAX, i)),
            None => {}
        }
    }
    parameters.sort_unstable();
    let numbers: FxHashMap<InstructionId, u32> = parameters.iter().zip(0..).map(|(p, number)| (p.1, number)).collect();
    let mut called = Called::new(m);
    let mut rows = Vec::with_capacity(ordered.len() + 1);
    for &i in &ordered {
        cancel::poll();
        let at = |k: InstructionId| ordered.binary_search(&k).ok().map(|at| at as u32);
        let row = match numbers.get(&i) {
            None => Row::of(m, i, at, |c| called.part(c))?,
            Some(&number) => {
                let of = Row::of(m, i, at, |_| 0)?;
                let is_cut = m.parameter_number(i).is_none();
                let mut row = Row::parameter(&of, of.name.clone(), number);
                row.attributes = of.attributes;
                row.attributes.retain(|a| matches!(a.1, Entry::Text(_)) && (!is_cut || OF_VALUE.contains(&&*a.0)));
                row
            }
        };
        rows.push(without_empty(row));
    }
    let at = |i: &InstructionId| ordered.binary_search(i).unwrap_or(0) as u32;
    let root = match instructions {
        [one] => at(one),
        several => {
            let operands: Vec<u32> = several.iter().map(at).collect();
            let shape = layout::Shape::Tuple(several.iter().map(|&i| m.shape(i).clone()).collect());
            let name = unused(m, "outputs");
            rows.push(Row {
                name: name.into(),
                shape: std::borrow::Cow::Owned(shape),
                opcode: Opcode::Tuple.name().into(),
                body: Body::Operands(operands),
                attributes: Vec::new(),
                number: None,
            });
            rows.len() as u32 - 1
        }
    };
    let name = m.legal_computation_name(c);
    let (mut parts, mut order) = called.parts()?;
    let entry = parts.len() as u32;
    parts.push(Part { name, rows, root, attributes: Vec::new(), number: None });
    order.push(entry);
    Draft::of_parts(m, parts, entry).write(&order, false)
}

/// The row without lists of instructions that have become empty.
fn without_empty(mut row: Row<'_>) -> Row<'_> {
    row.attributes.retain(|a| !matches!(&a.1, Entry::Rows(rows) if rows.is_empty()));
    row
}

/// The name, with a number if an instruction has it.
fn unused(m: &Module, name: &str) -> String {
    let mut names = std::iter::once(name.to_string()).chain((1..).map(|n| format!("{name}.{n}")));
    names.find(|name| m.find_instruction(name, None).is_none()).unwrap_or_default()
}

/// An instruction that is a step of an asynchronous operation of which the step before or the one behind is left out.
fn half_of(m: &Module, kept: &[InstructionId], cut: &FxHashSet<InstructionId>) -> Option<InstructionId> {
    let is_computed = |k: InstructionId| !cut.contains(&k) && kept.binary_search(&k).is_ok();
    let step = |&i: &InstructionId| m.async_neighbours(i).map(|(before, is_open)| (i, before, is_open));
    let steps: Vec<_> = kept.iter().filter(|i| !cut.contains(i)).filter_map(step).collect();
    let continued: FxHashSet<InstructionId> = steps.iter().filter_map(|step| step.1).collect();
    let is_half = |&&(i, before, is_open): &&(InstructionId, Option<InstructionId>, bool)| {
        before.is_some_and(|k| !is_computed(k)) || is_open && !continued.contains(&i)
    };
    steps.iter().find(is_half).map(|step| step.0)
}
