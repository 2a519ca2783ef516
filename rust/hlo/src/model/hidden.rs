//! Hidden operands: values that an instruction may depend on although it does not name them.
//!
//! An instruction that cannot be read, or whose operands have no names, may depend on every value before it in its
//! computation. A receive depends on what is sent on its channel; a send that cannot be seen from there, in another
//! computation or in an earlier iteration, may have sent any value, and the result of a call that contains such a receive
//! may depend on every value before the call. The order of the text is one in which operands stand before their users,
//! as XLA requires; where a text breaks it, such an instruction may depend on every value that does not depend on it.

use quasiaffine::interrupt::{once, poll};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::attribute::Value;
use crate::model::module::{ComputationId, InstructionId, Inverse, Module};
use crate::Opcode;

/// The instructions of a module that have hidden operands.
#[derive(Debug)]
pub(crate) struct Hidden {
    operands: FxHashMap<InstructionId, (String, Vec<InstructionId>)>,
    users: Inverse,
}

impl Module {
    /// The values that an instruction may depend on without naming them, in its computation.
    pub fn hidden_operands(&self, id: InstructionId) -> &[InstructionId] {
        self.hidden().and_then(|all| all.operands.get(&id)).map_or(&[], |(_, operands)| operands)
    }

    /// Why an instruction may depend on values that it does not name, if it may.
    pub fn why_hidden(&self, id: InstructionId) -> Option<&str> {
        self.hidden()?.operands.get(&id).map(|(reason, _)| &**reason)
    }

    /// The instructions that have this one as a hidden operand.
    pub fn hidden_users(&self, id: InstructionId) -> &[InstructionId] {
        self.hidden().map_or(&[], |all| all.users.of(id))
    }

    /// Computed once; `None` where no instruction has any.
    fn hidden(&self) -> Option<&Hidden> {
        once(&self.hidden, || {
            let is_special = |id: InstructionId| {
                self.has_unnamed_operands(id) || self.instructions()[id as usize].opcode == Opcode::Recv
            };
            let special: Vec<InstructionId> =
                (0..self.instructions().len() as u32).filter(|&id| is_special(id)).collect();
            if special.is_empty() {
                return None;
            }
            let operands = Finder::new(self, &special).operands();
            let users = Inverse::new(self.instructions().len(), |pair| {
                let mut ids: Vec<&InstructionId> = operands.keys().collect();
                ids.sort_unstable();
                ids.into_iter().for_each(|id| operands[id].1.iter().for_each(|&operand| pair(operand, *id)));
            });
            Some(Hidden { operands, users })
        })
        .as_ref()
    }

    fn channel(&self, id: InstructionId) -> Option<i64> {
        match self.attribute_value(id, "channel_id") {
            Some(Value::Int(channel)) => Some(channel),
            _ => None,
        }
    }
}

struct Finder<'m> {
    m: &'m Module,
    /// The instructions that may depend on every value before them, with the reason.
    on_all: FxHashMap<InstructionId, String>,
    found: FxHashMap<InstructionId, (String, Vec<InstructionId>)>,
}

impl<'m> Finder<'m> {
    /// `special` are the receives and the instructions whose operands are not known, in text order.
    fn new(m: &'m Module, special: &[InstructionId]) -> Finder<'m> {
        let mut finder = Finder { m, on_all: FxHashMap::default(), found: FxHashMap::default() };
        let named = |id: InstructionId, reason: &str| format!("{}: {reason}", m.instruction_name(id));
        let mut lost: Vec<InstructionId> = Vec::new();
        let mut receives: Vec<InstructionId> = Vec::new();
        for &id in special {
            match m.unnamed_operands(id) {
                Some(reason) => {
                    lost.push(id);
                    finder.on_all.insert(id, named(id, reason));
                }
                None => receives.push(id),
            }
        }
        if receives.is_empty() {
            return finder;
        }
        let mut sends: FxHashMap<Option<i64>, Vec<InstructionId>> = FxHashMap::default();
        for (id, row) in (0..).zip(m.instructions()) {
            if row.opcode == Opcode::Send && !m.has_unnamed_operands(id) {
                sends.entry(m.channel(id)).or_default().push(id);
            }
        }
        let mut is_called_by: FxHashSet<ComputationId> = FxHashSet::default();
        for id in receives {
            poll();
            let own = m.computation_of(id);
            let on_channel = sends.get(&m.channel(id)).map_or(&[][..], |sends| sends);
            // What cannot be read may be a send.
            let is_near = |&other: &InstructionId| m.computation_of(other) == own && other < id;
            if on_channel.iter().all(is_near) && lost.iter().all(is_near) {
                let senders: Vec<InstructionId> = on_channel.iter().chain(&lost).copied().collect();
                if !senders.is_empty() {
                    let reason = named(id, "receives what is sent on its channel");
                    finder.found.insert(id, (reason, senders));
                }
                continue;
            }
            let reason = "the send on its channel is in another computation or iteration, or cannot be read";
            finder.on_all.insert(id, named(id, reason));
            is_called_by.insert(own);
        }
        finder.add_callers(is_called_by);
        finder
    }

    /// The result of a call may depend on every value before it where it depends on more than its operands.
    fn add_callers(&mut self, computations: FxHashSet<ComputationId>) {
        let mut pending: Vec<ComputationId> = computations.iter().copied().collect();
        let mut seen = computations;
        pending.sort_unstable();
        while let Some(computation) = pending.pop() {
            for &caller in self.m.callers(computation) {
                let reason = format!("{}: receives from another computation", self.m.instruction_name(caller));
                self.on_all.entry(caller).or_insert(reason);
                let outer = self.m.computation_of(caller);
                if seen.insert(outer) {
                    pending.push(outer);
                }
            }
        }
    }

    fn operands(mut self) -> FxHashMap<InstructionId, (String, Vec<InstructionId>)> {
        let mut all: Vec<(InstructionId, String)> = std::mem::take(&mut self.on_all).into_iter().collect();
        all.sort_unstable();
        let mut last: Option<(ComputationId, InstructionId)> = None;
        let mut is_ordered: FxHashMap<ComputationId, bool> = FxHashMap::default();
        for (id, reason) in all {
            poll();
            let computation = self.m.computation_of(id);
            let range = self.m.instructions_of(computation);
            let in_order = || range.clone().all(|i| self.m.operands(i).all(|operand| operand < i));
            let operands = match *is_ordered.entry(computation).or_insert_with(in_order) {
                // The one before has what is before it, so that the work is linear.
                true => last.filter(|(own, _)| *own == computation).map_or(range.start, |(_, before)| before)..id,
                false => range,
            };
            let after = if operands.end > id { self.after(id) } else { FxHashSet::default() };
            let is_own = |other: &InstructionId| *other != id && !after.contains(other);
            self.found.insert(id, (reason, operands.filter(is_own).collect()));
            last = Some((computation, id));
        }
        self.found
    }

    /// The instructions that depend on one, and, of those that may depend on everything, the later ones.
    fn after(&self, id: InstructionId) -> FxHashSet<InstructionId> {
        let later = self.m.instructions_of(self.m.computation_of(id)).filter(|&other| other > id);
        let mut pending: Vec<InstructionId> = later.filter(|&other| self.m.has_unnamed_operands(other)).collect();
        pending.push(id);
        let mut seen: FxHashSet<InstructionId> = pending.iter().copied().collect();
        while let Some(here) = pending.pop() {
            pending.extend(self.m.users(here).iter().copied().filter(|&user| seen.insert(user)));
        }
        seen
    }
}
