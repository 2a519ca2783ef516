//! The number of times that the computations of a module run, by the trip counts of the loops around them.
//!
//! A body runs once per iteration of its `while`, a condition once more, and any other called computation as often as
//! its caller.

use cancel::poll;
use flow::provider::RuleProvider;
use flow::query::Questions;
use hlo::{ComputationId, InstructionId, Module, Opcode, Value};

/// By computation, the product of the trip counts of the loops around it; `None` if one is unknown, the product
/// exceeds 64 bits, or callers differ.
pub fn of_computations<P: RuleProvider>(questions: &Questions<'_, P>) -> Vec<Option<i64>> {
    let m = questions.m;
    let n = m.computations().len();
    if !m.instructions().iter().any(|i| i.opcode == Opcode::While) {
        return vec![Some(1); n];
    }
    // The outer `None`: no caller so far.
    let mut found: Vec<Option<Option<i64>>> = vec![None; n];
    let mut is_done = vec![false; n];
    for c in m.callees_first().into_iter().rev() {
        is_done[c as usize] = true;
        let own = *found[c as usize].get_or_insert(Some(1));
        for id in m.instructions_of(c) {
            poll();
            let is_loop = m.instructions()[id as usize].opcode == Opcode::While;
            let trips = if is_loop { questions.trip_count(id) } else { Some(1) };
            let condition = if is_loop { computation(m, id, "condition") } else { None };
            for callee in m.called_computations(id) {
                if is_done[callee as usize] {
                    // The computations call each other in a cycle.
                    return vec![None; n];
                }
                let factor = if condition == Some(callee) { trips.and_then(|t| t.checked_add(1)) } else { trips };
                let count = own.zip(factor).and_then(|(own, factor)| own.checked_mul(factor));
                let known = found[callee as usize].get_or_insert(count);
                if *known != count {
                    *known = None;
                }
            }
        }
    }
    found.into_iter().map(Option::flatten).collect()
}

fn computation(m: &Module, id: InstructionId, name: &str) -> Option<ComputationId> {
    match m.attribute_value(id, name)? {
        Value::Computation(c) => Some(c),
        _ => None,
    }
}
