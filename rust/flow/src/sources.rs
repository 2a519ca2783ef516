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

    /// A number for what `source` is in one call: the same whenever it is asked, as long as it fits.
    fn of_call(&self, m: &Module, caller: InstructionId, source: i64) -> i64 {
        let number = (i64::from(caller) + 1).checked_mul(m.instructions().len() as i64);
        if let Some(number) = number.and_then(|n| n.checked_add(source)).filter(|&n| n < LARGE) {
            return number;
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
