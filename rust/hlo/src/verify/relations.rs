//! Instructions that belong together: asynchronous steps, halves of transfers, fusions and their bodies.
//!
//! [`check`] visits the instructions whose opcode is `RELATED`, and each computation at most twice.

use rustc_hash::FxHashSet;

use super::asynchronous::Chains;
use super::rule::{Law, Rule, Violation};
use crate::model::module::{ComputationId, InstructionId, Module};
use crate::Opcode;

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

fn fused(m: &Module, i: InstructionId, callers: &mut FxHashSet<ComputationId>) -> Law {
    if m.instructions()[i as usize].opcode != Opcode::Fusion {
        return Ok(());
    }
    let Some(c) = m.called_computations(i).next() else { return Ok(()) };
    let name = m.computation_name(c);
    let is_new = callers.insert(c);
    Rule::FusionCaller.of("calls").require(is_new, format_args!("one fusion that calls {name}"), "two")?;
    let all = m.instructions_of(c);
    let (first, root) = (all.start, m.root(c));
    let mut is_used = vec![false; all.len()];
    for k in all.clone().flat_map(|k| m.operands(k)) {
        is_used[(k - first) as usize] = true;
    }
    let is_used = |k: InstructionId| is_used[(k - first) as usize];
    let law = Rule::FusionUsers.of("calls");
    law.require(!is_used(root), "a root without users", m.instruction_name(root))?;
    let unused = all.clone().find(|&k| k != root && !is_used(k));
    let unused = unused.map(|k| format!("{} without users", m.instruction_name(k)));
    law.none(unused, format_args!("users of every instruction of {name} but its root"))
}
