//! Hidden operands: values that an instruction may depend on although it does not name them.
//!
//! An instruction that cannot be read, or whose operands have no names, may depend on every value before it in its
//! computation. A receive depends on the sends on its channel, an infeed on the data fed to the host. A send that is
//! not certainly before the receive, in another computation, in an earlier iteration or on a device that is ahead, may
//! have sent any value: such a receive may depend on every value that does not depend on it, and so may a call that
//! contains one.
//!
//! The text lists operands before their users, as XLA requires. If it does not, or if there are such receives, the
//! order is computed: instructions with hidden operands come as late as their users allow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cancel::{once, poll};
use layout::Shape;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::attribute::Value;
use crate::model::module::{ComputationId, InstructionId, Module};
use crate::Opcode;

/// By instruction, the values that it may depend on without naming them, with the reason.
pub(crate) type Hidden = FxHashMap<InstructionId, (String, Vec<InstructionId>)>;

/// The connection between a receive and the sends whose values it may have.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Channel {
    /// The number of a channel between devices.
    Devices(Option<i64>),
    /// The host, which answers on any channel.
    Host,
    /// Infeed and outfeed.
    Feed,
}

impl Module {
    /// The values that an instruction may depend on without naming them, in its computation.
    pub fn hidden_operands(&self, id: InstructionId) -> &[InstructionId] {
        self.hidden().and_then(|all| all.get(&id)).map_or(&[], |(_, operands)| operands)
    }

    /// The reason why an instruction may depend on values that it does not name, if it may.
    pub fn why_hidden(&self, id: InstructionId) -> Option<&str> {
        self.hidden()?.get(&id).map(|(reason, _)| &**reason)
    }

    /// All hidden operands. Computed once; `None` if no instruction has any.
    fn hidden(&self) -> Option<&Hidden> {
        once(&self.hidden, || {
            let receives = |opcode| matches!(opcode, Opcode::Recv | Opcode::Infeed);
            let is_special = |&id: &InstructionId| {
                self.has_unnamed_operands(id) || receives(self.instructions()[id as usize].opcode)
            };
            let special: Vec<InstructionId> = (0..self.instructions().len() as u32).filter(is_special).collect();
            (!special.is_empty()).then(|| Finder::new(self, &special).operands())
        })
        .as_ref()
    }

    fn channel(&self, id: InstructionId) -> Channel {
        if matches!(self.instructions()[id as usize].opcode, Opcode::Infeed | Opcode::Outfeed) {
            return Channel::Feed;
        }
        if matches!(self.attribute_value(id, "is_host_transfer"), Some(Value::Bool(true))) {
            return Channel::Host;
        }
        match self.attribute_value(id, "channel_id") {
            Some(Value::Int(channel)) => Channel::Devices(Some(channel)),
            _ => Channel::Devices(None),
        }
    }
}

struct Finder<'m> {
    m: &'m Module,
    /// The instructions that may depend on every value before them, with the reason.
    on_all: FxHashMap<InstructionId, String>,
    /// The computations in which a value may depend on later ones.
    is_ahead: FxHashSet<ComputationId>,
    found: Hidden,
}

impl<'m> Finder<'m> {
    /// `special` are the receives and the instructions whose operands are not known, in text order.
    fn new(m: &'m Module, special: &[InstructionId]) -> Finder<'m> {
        let (on_all, is_ahead, found) = Default::default();
        let mut finder = Finder { m, on_all, is_ahead, found };
        let named = |id: InstructionId, reason: &str| format!("{}: {reason}", m.instruction_name(id));
        let mut receives: Vec<InstructionId> = Vec::new();
        for &id in special {
            match m.unnamed_operands(id) {
                // Its name is made up.
                Some(reason) if m.is_absent(id) => drop(finder.on_all.insert(id, reason.to_string())),
                Some(reason) => drop(finder.on_all.insert(id, named(id, reason))),
                None => receives.push(id),
            }
        }
        if receives.is_empty() {
            return finder;
        }
        // An instruction that cannot be read may be a send.
        let is_lost = !finder.on_all.is_empty();
        let mut sends: FxHashMap<Channel, Vec<InstructionId>> = FxHashMap::default();
        for (id, row) in (0..).zip(m.instructions()) {
            if matches!(row.opcode, Opcode::Send | Opcode::Outfeed) && !m.has_unnamed_operands(id) {
                sends.entry(m.channel(id)).or_default().push(id);
            }
        }
        let mut in_order: FxHashMap<ComputationId, bool> = FxHashMap::default();
        for id in receives {
            poll();
            let own = m.computation_of(id);
            let on_channel = sends.get(&m.channel(id)).map_or(&[][..], |sends| sends);
            let is_before = |&other: &InstructionId| m.computation_of(other) == own && other < id;
            let is_ordered = *in_order.entry(own).or_insert_with(|| is_in_order(m, own));
            if is_ordered && !is_lost && on_channel.iter().all(is_before) {
                if !on_channel.is_empty() {
                    let reason = named(id, "receives what is sent on its channel");
                    finder.found.insert(id, (reason, on_channel.to_vec()));
                }
                continue;
            }
            let reason = "the send on its channel is in another computation or iteration, or cannot be read";
            finder.on_all.insert(id, named(id, reason));
            finder.is_ahead.insert(own);
        }
        finder.add_callers();
        finder
    }

    /// Adds the calls whose results may depend on more than their operands, because an instruction inside does.
    fn add_callers(&mut self) {
        let mut pending: Vec<ComputationId> = self.is_ahead.iter().copied().collect();
        pending.sort_unstable();
        while let Some(computation) = pending.pop() {
            for &caller in self.m.callers(computation) {
                let reason = format!("{}: receives from another computation", self.m.instruction_name(caller));
                self.on_all.entry(caller).or_insert(reason);
                let outer = self.m.computation_of(caller);
                if self.is_ahead.insert(outer) {
                    pending.push(outer);
                }
            }
        }
    }

    fn operands(mut self) -> Hidden {
        let mut by_computation: FxHashMap<ComputationId, Vec<InstructionId>> = FxHashMap::default();
        for &id in self.on_all.keys() {
            by_computation.entry(self.m.computation_of(id)).or_default().push(id);
        }
        for (computation, mut special) in by_computation {
            special.sort_unstable();
            let order: Vec<InstructionId> =
                match !self.is_ahead.contains(&computation) && is_in_order(self.m, computation) {
                    true => self.m.instructions_of(computation).collect(),
                    false => self.late(computation, &special),
                };
            let mut start = 0;
            for (at, id) in order.iter().enumerate() {
                poll();
                // A value without leaves is never read.
                let reason = self.on_all.remove(id).filter(|_| has_leaves(self.m.shape(*id)));
                if let Some(reason) = reason {
                    // An earlier special instruction covers the values before it, so that the work is linear.
                    self.found.insert(*id, (reason, order[start..at].to_vec()));
                    start = at;
                }
            }
        }
        self.found
    }

    /// The instructions of a computation, operands before their users, the special ones as late as possible.
    fn late(&self, computation: ComputationId, special: &[InstructionId]) -> Vec<InstructionId> {
        let m = self.m;
        let range = m.instructions_of(computation);
        let special: FxHashSet<InstructionId> = special.iter().copied().collect();
        let place = |id: InstructionId| Reverse((special.contains(&id), id));
        let mut missing: Vec<usize> = range.clone().map(|id| m.operands(id).len()).collect();
        let ready = range.clone().filter(|id| missing[(id - range.start) as usize] == 0);
        let mut waiting: BinaryHeap<_> = ready.map(place).collect();
        let mut order = Vec::with_capacity(range.len());
        while let Some(Reverse((_, id))) = waiting.pop() {
            poll();
            order.push(id);
            for &user in m.users(id) {
                let left = &mut missing[(user - range.start) as usize];
                *left -= m.operands(user).filter(|&operand| operand == id).count();
                if *left == 0 {
                    waiting.push(place(user));
                }
            }
        }
        order
    }
}

fn is_in_order(m: &Module, computation: ComputationId) -> bool {
    m.instructions_of(computation).all(|id| m.operands(id).all(|operand| operand < id))
}

fn has_leaves(shape: &Shape) -> bool {
    shape.as_tuple().is_none_or(|parts| parts.iter().any(has_leaves))
}
