//! What runtime sources are called: a value by the number of its instruction.
//!
//! Read [`Sources::outside`]. A value inside a computation that is called once keeps its number; called twice, the
//! computation has different values, and each call gives them numbers of its own, as other devices do.

use std::sync::Mutex;

use hlo::{ComputationId, InstructionId, Module};
use rustc_hash::FxHashMap;

/// Numbers from here on are handed out one after the other.
const LARGE: i64 = 1 << 62;

/// The numbers of values inside calls.
#[derive(Debug, Default)]
pub struct Sources {
    large: Mutex<Large>,
}

#[derive(Debug, Default)]
struct Large {
    numbers: FxHashMap<(Option<InstructionId>, i64), i64>,
    insides: Vec<i64>,
}

impl Sources {
    /// The number that a caller has for a source inside a computation; `None` for a parameter without an operand.
    pub fn outside(&self, m: &Module, caller: InstructionId, computation: ComputationId, source: i64) -> Option<i64> {
        let inside = u32::try_from(source).ok().filter(|&i| (i as usize) < m.instructions().len());
        let parameter = inside.filter(|&i| m.computation_of(i) == computation).and_then(|i| m.parameter_number(i));
        if let Some(k) = parameter {
            return m.operands(caller).nth(k as usize).map(i64::from);
        }
        if m.callers(computation).len() <= 1 {
            return Some(source);
        }
        Some(self.of_call(m, caller, source))
    }

    /// A number for what `source` is on another device, which is no value of this one.
    pub fn elsewhere(&self, source: i64) -> i64 {
        self.handed_out(None, source)
    }

    /// A number for what `source` is in one call: the same whenever it is asked.
    fn of_call(&self, m: &Module, caller: InstructionId, source: i64) -> i64 {
        let n = m.instructions().len() as i64;
        // Sums of the numbers of several callers would be those of others, too.
        if (0..n).contains(&source) {
            if let Some(number) = (i64::from(caller) + 1).checked_mul(n).filter(|&k| k < LARGE - n) {
                return number + source;
            }
        }
        self.handed_out(Some(caller), source)
    }

    fn handed_out(&self, by: Option<InstructionId>, source: i64) -> i64 {
        let mut large = self.large.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let next = LARGE + large.insides.len() as i64;
        let number = *large.numbers.entry((by, source)).or_insert(next);
        if number == next {
            large.insides.push(source);
        }
        number
    }

    /// The instruction whose value a source is, in whichever call.
    pub fn supplier(&self, m: &Module, mut source: i64) -> Option<InstructionId> {
        while let Ok(k) = usize::try_from(source.checked_sub(LARGE)?) {
            let large = self.large.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            source = *large.insides.get(k)?;
        }
        // A number of a call is a multiple of the number of instructions above the number inside.
        let n = m.instructions().len() as i64;
        (source >= 0 && n > 0).then(|| (source % n) as InstructionId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `f` is called twice by the entry and itself calls `g` twice.
    const NESTED: &str = "HloModule m
g { x = s32[] parameter(0)  ROOT n = s32[] negate(x) }
f { y = s32[] parameter(0)  a = s32[] call(y), to_apply=g  b = s32[] call(y), to_apply=g  ROOT s = s32[] add(a, b) }
ENTRY e { p = s32[] parameter(0)  c = s32[] call(p), to_apply=f  d = s32[] call(p), to_apply=f  ROOT r = s32[] add(c, d) }";

    #[test]
    fn a_value_has_a_number_for_each_way_to_it() {
        let m = hlo::parse(NESTED, None, false).expect("a module").swap_remove(0);
        let find = |name: &str| m.find_instruction(name, None).expect("an instruction");
        let (f, g) = (m.computation_of(find("s")), m.computation_of(find("n")));
        let sources = Sources::default();
        let mut seen = Vec::new();
        for inner in ["a", "b"] {
            for outer in ["c", "d"] {
                let inside = sources.outside(&m, find(inner), g, i64::from(find("n"))).expect("a number");
                let outside = sources.outside(&m, find(outer), f, inside).expect("a number");
                assert_eq!(sources.outside(&m, find(outer), f, inside), Some(outside), "the same when asked again");
                assert_eq!(sources.supplier(&m, outside), Some(find("n")));
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
        assert_eq!(sources.outside(&m, find("c"), f, i64::from(find("y"))), Some(i64::from(find("p"))));
    }

    #[test]
    fn numbers_past_the_range_are_handed_out() {
        let m = hlo::parse(NESTED, None, false).expect("a module").swap_remove(0);
        let find = |name: &str| m.find_instruction(name, None).expect("an instruction");
        let f = m.computation_of(find("s"));
        let sources = Sources::default();
        let mut source = i64::from(find("n"));
        for _ in 0..40 {
            let outside = sources.outside(&m, find("d"), f, source).expect("a number");
            assert!(outside > source);
            source = outside;
        }
        assert!(source >= LARGE);
        assert_eq!(sources.supplier(&m, source), Some(find("n")));
        assert_ne!(sources.elsewhere(source), source);
        assert_eq!(sources.supplier(&m, sources.elsewhere(source)), Some(find("n")));
        assert_eq!(sources.supplier(&m, i64::MAX), None);
        assert_eq!(sources.supplier(&m, -1), None);
    }
}
