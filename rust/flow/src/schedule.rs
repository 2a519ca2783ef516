//! The order in which a propagation visits values: each after all values through which it is reached.
//!
//! A fusion or call is entered if it is the only caller of its computation, or the subject of the question. Entering a
//! computation for two callers would mix their values, so the indexing of other calls is computed as a whole.

use cancel::poll;
use std::collections::hash_map::Entry::Vacant;
use std::ops::Range;

use hlo::{ComputationId, InstructionId, Module};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::shapes;

/// A user and the number of the operand by which it uses a value.
pub type Use = (InstructionId, u32);

/// The instructions that a propagation visits. It stops at all others.
#[derive(Debug)]
pub struct Region {
    inside: Inside,
    /// A call that is entered although its computation may have other callers.
    pub root: Option<InstructionId>,
    /// Whether calls are entered at all.
    pub enters: bool,
    callers: FxHashMap<ComputationId, InstructionId>,
}

#[derive(Debug)]
enum Inside {
    Range(Range<InstructionId>),
    Set(FxHashSet<InstructionId>),
}

/// The step by which the maps to a value continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nowhere: the value is outside the region.
    Stop,
    /// To the operands, by the indexing rule.
    Rule,
    /// Unchanged to the root of the called computation.
    Enter(InstructionId),
    /// Unchanged from a parameter to an operand of the instruction whose call was entered.
    Leave {
        /// The instruction whose call was entered.
        caller: InstructionId,
        /// Its operand for the parameter.
        operand: InstructionId,
    },
}

/// The values that can be reached from a value, and the step from each. It is the same for all arrays in the value.
#[derive(Debug)]
pub struct Schedule {
    /// The values, users first.
    pub order: Vec<InstructionId>,
    /// The steps of the values.
    pub steps: Vec<Step>,
    positions: FxHashMap<InstructionId, u32>,
    /// The users of the values, by position; a user that takes one element of a tuple is listed under that element.
    users: FxHashMap<(u32, Option<u32>), SmallVec<[u32; 2]>>,
}

/// Tells which element of its operand an instruction takes, whatever else the operand holds.
pub type Takes<'t, E> = dyn FnMut(InstructionId) -> Result<Option<u32>, E> + 't;

impl Region {
    /// All instructions of a computation.
    pub fn computation(m: &Module, id: ComputationId, enters: bool) -> Region {
        Region { inside: Inside::Range(m.instructions_of(id)), root: None, enters, callers: FxHashMap::default() }
    }

    /// The given instructions.
    pub fn of(ids: impl IntoIterator<Item = InstructionId>, root: Option<InstructionId>) -> Region {
        let inside = Inside::Set(ids.into_iter().collect());
        Region { inside, root, enters: true, callers: FxHashMap::default() }
    }

    fn contains(&self, id: InstructionId) -> bool {
        match &self.inside {
            Inside::Range(range) => range.contains(&id),
            Inside::Set(ids) => ids.contains(&id),
        }
    }

    /// The step from an instruction. Must be called once for each, users first.
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
            None if !self.contains(id) => return Ok(Step::Stop),
            Some(caller) => {
                let operand = m.parameter_number(id).and_then(|k| m.operand(caller, k as usize));
                if let Some(operand) = operand {
                    return Ok(Step::Leave { caller, operand });
                }
            }
            None => {}
        }
        if !self.enters {
            return Ok(Step::Rule);
        }
        let Some(computation) = only_callee(m, id) else { return Ok(Step::Rule) };
        let is_only = self.root == Some(id) || m.callers(computation).len() == 1;
        if !is_only || self.callers.contains_key(&computation) || !inlines(id)? || !fits(m, id, computation) {
            return Ok(Step::Rule);
        }
        self.callers.insert(computation, id);
        Ok(Step::Enter(m.root(computation)))
    }
}

/// The called computation, if an instruction calls exactly one.
pub fn only_callee(m: &Module, id: InstructionId) -> Option<ComputationId> {
    let mut called = m.called_computations(id);
    let first = called.next()?;
    called.next().is_none().then_some(first)
}

/// Whether the parameters and the root of a computation have the shapes of an instruction's operands and output.
pub fn fits(m: &Module, id: InstructionId, computation: ComputationId) -> bool {
    let (operands, parameters) = (m.operands(id), m.parameters(computation));
    operands.len() == parameters.len()
        && shapes::same_arrays(m.shape(id), m.shape(m.root(computation)))
        && operands.zip(parameters).all(|(a, &b)| shapes::same_arrays(m.shape(a), m.shape(b)))
}

impl Schedule {
    /// The schedule from `start` through a region; `inlines` tells whether an instruction has the value of its callee.
    pub fn new<E>(
        m: &Module,
        start: InstructionId,
        mut region: Region,
        inlines: &mut dyn FnMut(InstructionId) -> Result<bool, E>,
    ) -> Result<Schedule, E> {
        let mut steps = FxHashMap::default();
        let mut postorder = Vec::new();
        visit(m, start, &mut region, inlines, &mut steps, &mut postorder)?;
        Ok(Schedule::of(postorder, &steps))
    }

    /// Everything in a computation that `start` depends on, `start` first, with users. Calls are not entered.
    pub fn operands<E>(m: &Module, start: InstructionId, takes: &mut Takes<'_, E>) -> Result<Schedule, E> {
        Schedule::without_calls(m, m.computation_of(start), std::iter::once(start), takes)
    }

    /// All instructions of a computation, with users. Calls are not entered.
    pub fn computation<E>(m: &Module, id: ComputationId, takes: &mut Takes<'_, E>) -> Result<Schedule, E> {
        Schedule::without_calls(m, id, m.instructions_of(id), takes)
    }

    fn without_calls<E>(
        m: &Module,
        id: ComputationId,
        starts: impl Iterator<Item = InstructionId>,
        takes: &mut Takes<'_, E>,
    ) -> Result<Schedule, E> {
        let mut region = Region::computation(m, id, false);
        let (mut steps, mut postorder) = (FxHashMap::default(), Vec::new());
        for start in starts {
            visit(m, start, &mut region, &mut |_| Ok(false), &mut steps, &mut postorder)?;
        }
        let mut schedule = Schedule::of(postorder, &steps);
        for (at, &user) in (0..).zip(&schedule.order) {
            let element = takes(user)?;
            for operand in m.operands(user).filter_map(|operand| schedule.positions.get(&operand)) {
                let users = schedule.users.entry((*operand, element)).or_default();
                if users.last() != Some(&at) {
                    users.push(at);
                }
            }
            for operand in m.hidden_operands(user).iter().filter_map(|operand| schedule.positions.get(operand)) {
                schedule.users.entry((*operand, None)).or_default().push(at);
            }
        }
        Ok(schedule)
    }

    fn of(mut order: Vec<InstructionId>, steps: &FxHashMap<InstructionId, Step>) -> Schedule {
        order.reverse();
        let positions = order.iter().enumerate().map(|(at, &id)| (id, at as u32)).collect();
        let steps = order.iter().map(|id| steps[id]).collect();
        Schedule { order, steps, positions, users: FxHashMap::default() }
    }

    /// The positions of the users of these elements of a value.
    pub(crate) fn users<'s>(&'s self, value: u32, elements: &'s [u32]) -> impl Iterator<Item = u32> + 's {
        let keys = elements.iter().copied().map(Some).chain([None]);
        keys.filter_map(move |element| self.users.get(&(value, element))).flatten().copied()
    }

    /// The position of a value in the order.
    pub fn position(&self, id: InstructionId) -> Option<u32> {
        self.positions.get(&id).copied()
    }
}

/// Depth-first search with a stack of its own: programs are longer than the thread's stack is deep.
fn visit<E>(
    m: &Module,
    start: InstructionId,
    region: &mut Region,
    inlines: &mut dyn FnMut(InstructionId) -> Result<bool, E>,
    steps: &mut FxHashMap<InstructionId, Step>,
    postorder: &mut Vec<InstructionId>,
) -> Result<(), E> {
    let mut pending = Vec::new();
    if let Vacant(new) = steps.entry(start) {
        pending.push((start, *new.insert(region.step(m, start, inlines)?), 0usize));
    }
    while let Some((here, step, k)) = pending.last_mut() {
        poll();
        match successor(m, *here, *step, *k) {
            Some(value) => {
                *k += 1;
                if let Vacant(new) = steps.entry(value) {
                    let step = *new.insert(region.step(m, value, inlines)?);
                    pending.push((value, step, 0));
                }
            }
            None => {
                postorder.push(*here);
                pending.pop();
            }
        }
    }
    Ok(())
}

fn successor(m: &Module, id: InstructionId, step: Step, k: usize) -> Option<InstructionId> {
    let (named, n) = match step {
        Step::Stop => return None,
        Step::Rule => (m.operand(id, k), m.operands(id).len()),
        Step::Enter(value) | Step::Leave { operand: value, .. } => ((k == 0).then_some(value), 1),
    };
    named.or_else(|| m.hidden_operands(id).get(k.checked_sub(n)?).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_lists_users_before_operands_once() {
        let text = "ENTRY e { p = f32[3] parameter(0)  a = f32[3] add(p, p)  d = f32[3] negate(p)  ROOT b = f32[3] add(a, p) }";
        let m = hlo::parse(text, None, false).expect("a module").swap_remove(0);
        let names = |s: &Schedule| s.order.iter().map(|&id| m.instruction_name(id).to_owned()).collect::<Vec<_>>();
        let root = m.find_instruction("b", None).expect("an instruction");
        let takes: &mut Takes<'_, ()> = &mut |_| Ok(None);
        assert_eq!(names(&Schedule::operands(&m, root, takes).unwrap()), ["b", "a", "p"]);
        let all = Schedule::computation(&m, m.computation_of(root), takes).unwrap();
        assert_eq!(all.order.len(), 4);
        let at = |name: &str| all.position(m.find_instruction(name, None).expect("an instruction"));
        assert!(at("b") < at("a") && at("a") < at("p") && at("d") < at("p"));
    }
}
