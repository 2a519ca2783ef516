//! Instructions that belong together: asynchronous steps, halves of transfers, fusions and their bodies.
//!
//! [`check`] visits the instructions whose opcode is `RELATED`, and each computation at most twice.

use rustc_hash::FxHashSet;

use super::asynchronous::Chains;
use super::rule::{broken_by, Law, Rule, Violation};
use crate::model::module::{ComputationId, InstructionId, Module};
use crate::Opcode;

/// The violations among `related` instructions.
pub(crate) fn check(m: &Module, related: &[InstructionId]) -> Vec<(InstructionId, Violation)> {
    let mut found = Vec::new();
    let chains = Chains::of(m, related);
    let mut fusion_callers = FxHashSet::default();
    for &i in related {
        let law = chains.check(m, i).and_then(|()| fused(m, i, &mut fusion_callers));
        found.extend(law.err().map(|violation| (i, violation)));
    }
    found
}

/// The computation of a fusion.
fn fused(m: &Module, i: InstructionId, callers: &mut FxHashSet<ComputationId>) -> Law {
    if m.instructions()[i as usize].opcode != Opcode::Fusion {
        return Ok(());
    }
    let Some(c) = m.called_computations(i).next() else { return Ok(()) };
    let name = m.computation_name(c);
    if !callers.insert(c) {
        return broken_by("calls", Rule::FusionCaller, format!("one fusion that calls {name}"), "two");
    }
    let all = m.instructions_of(c);
    let (first, root) = (all.start, m.root(c));
    let mut is_used = vec![false; all.len()];
    for k in all.clone().flat_map(|k| m.operands(k)) {
        is_used[(k - first) as usize] = true;
    }
    if is_used[(root - first) as usize] {
        return broken_by("calls", Rule::FusionUsers, "a root without users", m.instruction_name(root));
    }
    match all.clone().find(|&k| k != root && !is_used[(k - first) as usize]) {
        Some(k) => broken_by(
            "calls",
            Rule::FusionUsers,
            format!("users of every instruction of {name} but its root"),
            format!("{} without users", m.instruction_name(k)),
        ),
        None => Ok(()),
    }
}
