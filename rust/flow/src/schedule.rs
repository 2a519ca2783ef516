//! The order of a walk: everything that can be reached from a value, users before what they use.
//!
//! Read [`Plan`]. A fusion or call among the instructions is entered where it is the only call of its computation, or
//! the one asked about; entered twice, a computation would mix the values of two calls, so others are asked as a whole.

use std::collections::hash_map::Entry::Vacant;
use std::ops::Range;

use hlo::{ComputationId, InstructionId, Module};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::shapes;

/// The instructions that a walk goes through; it stops at all others.
#[derive(Debug)]
pub struct Region {
    inside: Inside,
    /// The call that is entered though its computation has other callers.
    pub root: Option<InstructionId>,
    /// Whether calls are entered at all.
    pub enters: bool,
    callers: FxHashMap<ComputationId, InstructionId>,
}

#[derive(Debug)]
enum Inside {
    All(Range<InstructionId>),
    These(FxHashSet<InstructionId>),
}

/// Where the maps of a value go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nowhere.
    Stop,
    /// To the operands, by the rule.
    Rule,
    /// Unchanged to the root of the computation that it stands for.
    Enter(InstructionId),
    /// Unchanged from a parameter to this operand of the instruction that called.
    Leave {
        /// The instruction that called.
        caller: InstructionId,
        /// What the parameter stands for.
        operand: InstructionId,
    },
}

/// What can be reached from a value, and where each step leads; the same for all its leaves.
#[derive(Debug)]
pub struct Plan {
    /// The values, users first.
    pub order: Vec<InstructionId>,
    /// Their steps.
    pub steps: Vec<Step>,
    place: FxHashMap<InstructionId, u32>,
}

impl Region {
    /// All instructions of a computation.
    pub fn computation(m: &Module, id: ComputationId, enters: bool) -> Region {
        Region { inside: Inside::All(m.instructions_of(id)), root: None, enters, callers: FxHashMap::default() }
    }

    /// These instructions.
    pub fn of(ids: impl IntoIterator<Item = InstructionId>, root: Option<InstructionId>) -> Region {
        let inside = Inside::These(ids.into_iter().collect());
        Region { inside, root, enters: true, callers: FxHashMap::default() }
    }

    fn holds(&self, id: InstructionId) -> bool {
        match &self.inside {
            Inside::All(range) => range.contains(&id),
            Inside::These(ids) => ids.contains(&id),
        }
    }

    /// Asked once of each instruction, users first.
    fn step<E>(
        &mut self,
        m: &Module,
        id: InstructionId,
        inlines: &mut dyn FnMut(InstructionId) -> Result<bool, E>,
    ) -> Result<Step, E> {
        let caller = match self.callers.is_empty() {
            true => None,
            false => self.callers.get(&m.computation_of(id)).copied(),
        };
        match caller {
            None if !self.holds(id) => return Ok(Step::Stop),
            Some(caller) => {
                let operand = m.parameter_number(id).and_then(|k| m.operands(caller).nth(k as usize));
                if let Some(operand) = operand {
                    return Ok(Step::Leave { caller, operand });
                }
            }
            None => {}
        }
        if !self.enters {
            return Ok(Step::Rule);
        }
        let Some(computation) = stands_for(m, id) else { return Ok(Step::Rule) };
        let is_only = self.root == Some(id) || m.callers(computation).len() == 1;
        if !is_only || self.callers.contains_key(&computation) || !inlines(id)? || !fits(m, id, computation) {
            return Ok(Step::Rule);
        }
        self.callers.insert(computation, id);
        Ok(Step::Enter(m.root(computation)))
    }
}

/// The one computation that an instruction calls.
pub fn stands_for(m: &Module, id: InstructionId) -> Option<ComputationId> {
    let mut called = m.called(id);
    let first = called.next()?;
    called.next().is_none().then_some(first)
}

/// Whether a computation takes the operands and gives the output of an instruction that stands for it.
pub fn fits(m: &Module, id: InstructionId, computation: ComputationId) -> bool {
    let (operands, parameters) = (m.operands(id), m.parameters(computation));
    operands.len() == parameters.len()
        && shapes::same_arrays(m.shape(id), m.shape(m.root(computation)))
        && operands.zip(parameters).all(|(a, &b)| shapes::same_arrays(m.shape(a), m.shape(b)))
}

impl Plan {
    /// From a value through a region; `inlines` tells whether an instruction has the value of what it calls.
    pub fn new<E>(
        m: &Module,
        start: InstructionId,
        mut region: Region,
        inlines: &mut dyn FnMut(InstructionId) -> Result<bool, E>,
    ) -> Result<Plan, E> {
        let first = region.step(m, start, inlines)?;
        let mut steps: FxHashMap<InstructionId, Step> = FxHashMap::default();
        steps.insert(start, first);
        let mut order = Vec::new();
        let mut pending = vec![(start, first, 0usize)];
        while let Some((here, step, k)) = pending.last_mut() {
            match value(m, *here, *step, *k) {
                Some(value) => {
                    *k += 1;
                    if let Vacant(new) = steps.entry(value) {
                        let step = *new.insert(region.step(m, value, inlines)?);
                        pending.push((value, step, 0));
                    }
                }
                None => {
                    order.push(*here);
                    pending.pop();
                }
            }
        }
        order.reverse();
        let place = order.iter().enumerate().map(|(place, &id)| (id, place as u32)).collect();
        Ok(Plan { steps: order.iter().map(|id| steps[id]).collect(), order, place })
    }

    /// Everything that a value is made of inside its computation, itself first.
    pub fn operands(m: &Module, start: InstructionId) -> Plan {
        let region = Region::computation(m, m.computation_of(start), false);
        let never = &mut |_| Ok::<bool, std::convert::Infallible>(false);
        Plan::new(m, start, region, never).unwrap_or_else(|never| match never {})
    }

    /// Where in the order a value is.
    pub fn place(&self, id: InstructionId) -> Option<u32> {
        self.place.get(&id).copied()
    }
}

fn value(m: &Module, id: InstructionId, step: Step, k: usize) -> Option<InstructionId> {
    match step {
        Step::Stop => None,
        Step::Rule => m.operands(id).nth(k),
        Step::Enter(value) | Step::Leave { operand: value, .. } => (k == 0).then_some(value),
    }
}
