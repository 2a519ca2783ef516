//! The indexing of instructions, by their rules or by the computation that they call.

use std::sync::Arc;

use hlo::{InstructionId, Module, Opcode};
use layout::Shape;
use quasiaffine::{Domain, Map};
use smallvec::SmallVec;

use super::{Answer, Questions, Signature};
use crate::indexing::{Direction, InstructionIndexing, OperandIndexing};
use crate::provider::{named, Rule, RuleProvider};
use crate::reads::{Counts, Union};
use crate::shapes::{self, ShapeIndex};
use crate::sources::repeats_operands;

impl<P: RuleProvider> Questions<'_, P> {
    /// The indexing of an instruction.
    pub(super) fn instruction(&self, id: InstructionId, index: &ShapeIndex, direction: Direction) -> Answer<P> {
        let found = self.unplaced(id, index, direction)?;
        if !found.has_runtime || self.signature(id)?.inlined.is_some() {
            return Ok(found);
        }
        let placed = |source: i64| match usize::try_from(source) {
            Ok(k) => self.m.operand(id, k).map(i64::from),
            Err(_) => Some(named(source)),
        };
        Ok(Arc::new(found.remap_sources(&placed)))
    }

    /// The indexing of an instruction as its rule gives it: sources are numbers of operands, or [`named()`]. Those of an
    /// inlined computation are values.
    pub fn unplaced(&self, id: InstructionId, index: &ShapeIndex, direction: Direction) -> Answer<P> {
        let m = self.m;
        let given = match direction {
            Direction::Backward => Some(m.shape(id)),
            Direction::Forward(k) => m.operand(id, k as usize).map(|operand| m.shape(operand)),
        };
        if given.and_then(|shape| shapes::at(shape, index)).is_some_and(shapes::is_empty) {
            return Ok(Arc::default());
        }
        let Signature { rule_number: number, is_shared, traits, inlined, .. } = self.signature(id)?;
        let (found, key) = {
            let cache = self.cache();
            let found = cache.rules.get(&(number, direction, index.clone())).cloned();
            (found, cache.keys[number as usize])
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let is_handed_on = traits.is_built_in && direction == Direction::Backward && self.propagator.devices.is_none();
        let handed_on = || if is_handed_on { self.handed_on(id, index) } else { None };
        let insert = |number, found: &Arc<InstructionIndexing>| {
            self.cache().rules.insert((number, direction, index.clone()), found.clone());
        };
        if let Some(computation) = inlined.filter(|_| !m.is_inconsistent(id)) {
            let found = with_leaves(m, id, direction, self.call(id, computation, index, direction)?);
            if !found.has_runtime && !repeats_operands(m, id) {
                let is_known = self.cache().not_by_fingerprint.is_empty();
                insert(if is_known { number } else { self.signature_again(id)?.rule_number }, &found);
            }
            return Ok(found);
        }
        let found = match handed_on() {
            Some(found) => Arc::new(found),
            None => match self.indivisible(id, index, direction, &traits)? {
                Some(found) => Arc::new(found),
                None => {
                    let found = self.rules.rule(id, Some(&key).filter(|_| is_shared), index, direction)?;
                    // What the rule has read decides who shares the result.
                    let Signature { rule_number, is_shared, .. } = self.signature_again(id)?;
                    let is_named = found.names_values();
                    if is_shared && !is_named {
                        let key = self.cache().keys[rule_number as usize];
                        self.rules.keep_result(&key, index, direction, &found);
                    }
                    let found = self.with_indivisible_outputs(id, index, direction, found)?;
                    if !is_named {
                        insert(rule_number, &found);
                    }
                    return Ok(found);
                }
            },
        };
        insert(number, &found);
        Ok(found)
    }

    /// The indexing of an array that is one of an operand as it is.
    pub(super) fn handed_on(&self, id: InstructionId, index: &ShapeIndex) -> Option<InstructionIndexing> {
        let m = self.m;
        let sizes = |shape: Option<&Shape>| -> Option<(bool, SmallVec<[i64; 6]>)> {
            let leaf = shape.filter(|s| s.as_tuple().is_none())?;
            Some((shapes::is_indivisible(leaf), shapes::sizes(leaf).collect()))
        };
        let (k, at) = m.handed_on(id, &shapes::path(index))?;
        let at: ShapeIndex = at.iter().map(|&i| i as u32).collect();
        let own = sizes(shapes::at(m.shape(id), index))?;
        if m.is_inconsistent(id) || m.has_unbounded() || sizes(shapes::at(m.shape(m.operand(id, k)?), &at))? != own {
            return None;
        }
        let (mut cache, own) = (self.cache(), own.1);
        let (map, union) = match cache.identities.get(&own) {
            Some(known) => known,
            None => {
                let map = Map::identity(Domain::of_sizes(&own)).ok()?;
                let union = Arc::new(Union::new(&[&map], Counts::new(&[&map])));
                cache.identities.entry(own).or_insert((map, union))
            }
        };
        Some(InstructionIndexing::handed_on(k as u32, at, map.clone(), union.clone()))
    }

    /// The element of its operand that an instruction takes, whatever else the operand holds.
    pub(crate) fn element_taken(&self, id: InstructionId) -> Result<Option<u32>, P::Error> {
        let m = self.m;
        let is_plain = m.instructions()[id as usize].opcode == Opcode::GetTupleElement
            && !m.is_inconsistent(id)
            && !m.has_unbounded();
        if !is_plain || self.propagator.devices.is_some() || !self.signature(id)?.traits.is_built_in {
            return Ok(None);
        }
        Ok(m.handed_on(id, &[]).and_then(|(_, path)| u32::try_from(*path.first()?).ok()))
    }

    /// The rules of instructions; those of an iteration that repeats for any values of runtime variables.
    pub fn rule(&self, repeats: bool) -> Box<Rule<'_, P::Error>> {
        Box::new(move |id, index, direction| match repeats {
            false => self.instruction(id, index, direction),
            true => Ok(self.unplaced(id, index, direction)?.free()),
        })
    }
}

/// Drops the parts of empty tuples.
fn with_leaves(
    m: &Module,
    id: InstructionId,
    direction: Direction,
    found: Arc<InstructionIndexing>,
) -> Arc<InstructionIndexing> {
    let has = |k: u32| match (direction, m.shape(id).as_tuple()) {
        (Direction::Backward, _) => m.operand(id, k as usize).is_some_and(|o| shapes::has_leaves(m.shape(o))),
        (Direction::Forward(_), Some(parts)) => parts.get(k as usize).is_some_and(shapes::has_leaves),
        (Direction::Forward(_), None) => shapes::has_leaves(m.shape(id)),
    };
    if found.parts.iter().all(|(k, _)| has(*k)) {
        return found;
    }
    let parts: Vec<(u32, OperandIndexing)> = found.parts.iter().filter(|(k, _)| has(*k)).cloned().collect();
    Arc::new(InstructionIndexing::new(&found.sizes, parts))
}
