//! The numbers of runtime sources: a value has the number of its instruction.
//!
//! A value in a computation with one caller keeps its number. A computation with several callers has different values
//! in each call, so each call renumbers them, and so does each crossing to another device.

use std::sync::Mutex;

use hlo::{ComputationId, InstructionId, Module};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Numbers from here on are assigned consecutively.
const LARGE: i64 = 1 << 62;

/// Assigns the numbers of values inside calls and on other devices.
#[derive(Debug, Default)]
pub struct Sources {
    assigned: Mutex<Assigned>,
}

#[derive(Debug, Default)]
struct Assigned {
    numbers: FxHashMap<(Option<InstructionId>, i64), i64>,
    originals: Vec<(Option<InstructionId>, i64)>,
}

impl Sources {
    /// The number in the caller of a source in the called computation; `None` for a parameter without an operand.
    pub fn in_caller(&self, m: &Module, caller: InstructionId, computation: ComputationId, source: i64) -> Option<i64> {
        let inside = u32::try_from(source).ok().filter(|&i| (i as usize) < m.instructions().len());
        let parameter = inside.filter(|&i| m.computation_of(i) == computation).and_then(|i| m.parameter_number(i));
        if let Some(k) = parameter {
            return m.operand(caller, k as usize).map(i64::from);
        }
        if m.callers(computation).len() <= 1 {
            return Some(source);
        }
        Some(self.in_call(m, caller, source))
    }

    /// The number of the same source on another device, where it has another value.
    pub fn on_another_device(&self, source: i64) -> i64 {
        self.assign(None, source)
    }

    /// The number of a source in one call; always the same one.
    fn in_call(&self, m: &Module, caller: InstructionId, source: i64) -> i64 {
        let n = m.instructions().len() as i64;
        // The sum of several callers' offsets could equal that of others.
        if (0..n).contains(&source) {
            if let Some(number) = (i64::from(caller) + 1).checked_mul(n).filter(|&k| k < LARGE - n) {
                return number + source;
            }
        }
        self.assign(Some(caller), source)
    }

    fn assign(&self, by: Option<InstructionId>, source: i64) -> i64 {
        let mut assigned = self.assigned.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let next = LARGE + assigned.originals.len() as i64;
        let number = *assigned.numbers.entry((by, source)).or_insert(next);
        if number == next {
            assigned.originals.push((by, source));
        }
        number
    }

    /// The instruction whose value a source is, in any call and on any device.
    pub fn supplier(&self, m: &Module, source: i64) -> Option<InstructionId> {
        self.origin(m, source).map(|(supplier, _)| supplier)
    }

    /// The instruction whose value a source is, and the calls that lead to it, outermost first. Only calls of
    /// computations with several callers count; `None` in their place is a crossing to another device.
    pub fn origin(&self, m: &Module, mut source: i64) -> Option<(InstructionId, Vec<Option<InstructionId>>)> {
        let mut calls = Vec::new();
        let assigned = self.assigned.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while let Ok(k) = usize::try_from(source.checked_sub(LARGE)?) {
            let (by, original) = *assigned.originals.get(k)?;
            calls.push(by);
            source = original;
        }
        // The number in a call is the instruction number plus a multiple of the number of instructions.
        let n = m.instructions().len() as i64;
        if source < 0 || n == 0 {
            return None;
        }
        if source >= n {
            calls.push(Some((source / n - 1) as InstructionId));
        }
        Some(((source % n) as InstructionId, calls))
    }
}

/// Whether an operand is given twice: two runtime sources may then be one.
pub fn repeats_operands(m: &Module, id: InstructionId) -> bool {
    let mut operands: SmallVec<[InstructionId; 16]> = m.operands(id).collect();
    operands.sort_unstable();
    operands.windows(2).any(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entry calls `f` twice, and `f` calls `g` twice.
    const NESTED: &str = "HloModule m
g { x = s32[] parameter(0)  ROOT n = s32[] negate(x) }
f { y = s32[] parameter(0)  a = s32[] call(y), to_apply=g  b = s32[] call(y), to_apply=g  ROOT s = s32[] add(a, b) }
ENTRY e { p = s32[] parameter(0)  c = s32[] call(p), to_apply=f  d = s32[] call(p), to_apply=f  ROOT r = s32[] add(c, d) }";

    #[test]
    fn a_value_has_a_number_for_each_path_of_calls() {
        let m = hlo::parse(NESTED, None, false).expect("a module").swap_remove(0);
        let find = |name: &str| m.find_instruction(name, None).expect("an instruction");
        let (f, g) = (m.computation_of(find("s")), m.computation_of(find("n")));
        let sources = Sources::default();
        let mut seen = Vec::new();
        for inner in ["a", "b"] {
            for outer in ["c", "d"] {
                let inside = sources.in_caller(&m, find(inner), g, i64::from(find("n"))).expect("a number");
                let outside = sources.in_caller(&m, find(outer), f, inside).expect("a number");
                assert_eq!(sources.in_caller(&m, find(outer), f, inside), Some(outside), "equal when asked for again");
                let calls = vec![Some(find(outer)), Some(find(inner))];
                assert_eq!(sources.origin(&m, outside), Some((find("n"), calls)));
                seen.push(outside);
            }
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 4, "four values");
    }

    #[test]
    fn a_parameter_is_the_operand_of_the_call() {
        let m = hlo::parse(NESTED, None, false).expect("a module").swap_remove(0);
        let find = |name: &str| m.find_instruction(name, None).expect("an instruction");
        let f = m.computation_of(find("s"));
        let sources = Sources::default();
        assert_eq!(sources.in_caller(&m, find("c"), f, i64::from(find("y"))), Some(i64::from(find("p"))));
    }

    #[test]
    fn numbers_past_the_range_are_assigned() {
        let m = hlo::parse(NESTED, None, false).expect("a module").swap_remove(0);
        let find = |name: &str| m.find_instruction(name, None).expect("an instruction");
        let f = m.computation_of(find("s"));
        let sources = Sources::default();
        let mut source = i64::from(find("n"));
        for _ in 0..40 {
            let outside = sources.in_caller(&m, find("d"), f, source).expect("a number");
            assert!(outside > source);
            source = outside;
        }
        assert!(source >= LARGE);
        assert_eq!(sources.supplier(&m, source), Some(find("n")));
        assert_ne!(sources.on_another_device(source), source);
        let elsewhere = sources.origin(&m, sources.on_another_device(i64::from(find("n"))));
        assert_eq!(elsewhere, Some((find("n"), vec![None])));
        assert_eq!(sources.supplier(&m, i64::MAX), None);
        assert_eq!(sources.supplier(&m, -1), None);
    }
}
