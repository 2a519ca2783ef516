//! The indexing of computations, each found once and kept by its fingerprint.

use std::cell::Cell;
use std::iter::once;
use std::sync::Arc;

use hlo::{ComputationId, InstructionId};

use super::{Answer, Questions, Through};
use crate::closure::Reach;
use crate::indexing::{Direction, InstructionIndexing};
use crate::outputs;
use crate::propagate::{Propagation, Setting};
use crate::provider::RuleProvider;
use crate::schedule::{Region, Schedule};
use crate::shapes::{self, ShapeIndex};
use crate::work::Arithmetic;

impl<P: RuleProvider> Questions<'_, P> {
    /// The indexing of a computation as an instruction that calls it sees it: parameters are the caller's operands.
    pub fn call(
        &self,
        caller: InstructionId,
        computation: ComputationId,
        index: &ShapeIndex,
        direction: Direction,
    ) -> Answer<P> {
        let signature = self.signature(caller)?;
        if signature.traits.inlines && signature.inlined.is_none() {
            return Err(self.rules.mismatch("the called computation has other operands or another output"));
        }
        let value = match direction {
            Direction::Backward => Some(self.m.root(computation)),
            Direction::Forward(k) => self.m.parameters(computation).get(k as usize).copied(),
        };
        if value.and_then(|value| shapes::at(self.m.shape(value), index)).is_none() {
            return Err(self.rules.mismatch("the called computation has no such output or parameter"));
        }
        let found = self.through((computation, direction, index.clone()), false)?;
        if !found.has_runtime {
            return Ok(found);
        }
        let in_caller = |source| self.propagator.sources.in_caller(self.m, caller, computation, source);
        if found.sources().into_iter().any(|source| in_caller(source).is_none()) {
            return Err(self.rules.mismatch("the called computation has a parameter without an operand"));
        }
        Ok(Arc::new(found.remap_sources(&in_caller)))
    }

    /// The indexing of an iteration of a loop that runs any number of times, as in [`Mode::Iteration`](crate::mode::Mode::Iteration).
    pub fn iteration(&self, body: ComputationId, index: &ShapeIndex, direction: Direction) -> Answer<P> {
        self.through((body, direction, index.clone()), true)
    }

    /// The arrays to which iterations of a loop lead that runs any number of times, where all of them are asked for.
    pub fn reach(&self, body: ComputationId) -> Result<Arc<Reach>, P::Error> {
        if self.propagator.devices.is_some() || !self.propagator.asks_for_all {
            return Ok(Arc::default());
        }
        if let Some(known) = self.cache().reach.get(&body) {
            return Ok(known.clone());
        }
        let schedule = self.schedule_to_parameters(body)?;
        let parameter = self.m.parameters(body).first();
        let of =
            |&parameter| Reach::of(self.setting(&schedule, self.mode_of_run(false)), parameter, &mut self.rule(true));
        let found = Arc::new(parameter.map(of).transpose()?.unwrap_or_default());
        self.cache().reach.insert(body, found.clone());
        Ok(found)
    }

    /// The indexing of a computation, or [of an iteration](crate::mode::Mode::Iteration). Sources are numbers of its instructions.
    pub(crate) fn through(&self, key: Through, repeats: bool) -> Answer<P> {
        if let Some(found) = self.known(&key, repeats) {
            return Ok(found);
        }
        let (computation, direction, _) = key;
        let cached = || self.cache().computations[usize::from(repeats)].get(&key).cloned();
        // Only now, since it walks through all that the computation calls; it may compute this one, too.
        self.prepare(computation, direction)?;
        if let Some(found) = cached() {
            return Ok(found);
        }
        // Of one array, a condition often depends on, and through it on all others.
        let is_first = || repeats && !self.cache().computations[1].keys().any(|(own, ..)| *own == computation);
        if self.propagator.asks_for_all && direction == Direction::Backward && !is_first() {
            self.all_outputs(computation, repeats)?;
            if let Some(found) = cached() {
                return Ok(found);
            }
        }
        let found = Arc::new(self.propagate_through(&key, repeats, None)?);
        self.insert(key, repeats, found.clone());
        Ok(found)
    }

    /// Computes the indexing of a computation backward from each array of its root, in one pass where there are several;
    /// if it repeats, from each that changes.
    fn all_outputs(&self, computation: ComputationId, repeats: bool) -> Result<(), P::Error> {
        let m = self.m;
        let mut indices = Vec::new();
        for (index, leaf) in shapes::leaves(m.shape(m.root(computation))) {
            let key = (computation, Direction::Backward, index);
            let is_kept = repeats && m.forwards(computation, &shapes::path(&key.2));
            if !is_kept && self.known(&key, repeats).is_none() && !shapes::is_empty(leaf) {
                indices.push(key.2);
            }
        }
        if indices.len() < 2 {
            return Ok(());
        }
        let schedule = self.schedule_of(computation, false)?;
        let setting = self.setting(&schedule, self.mode_of_run(repeats));
        let together = outputs::to_parameters(setting, &indices, m.parameters(computation), &mut self.rule(repeats))?;
        for (i, index) in indices.into_iter().enumerate() {
            let key = (computation, Direction::Backward, index);
            self.insert(key, repeats, together[i].clone());
        }
        Ok(())
    }

    pub(crate) fn insert(&self, key: Through, repeats: bool, found: Arc<InstructionIndexing>) {
        if !repeats {
            self.keep(&key, &found);
        }
        self.cache().computations[usize::from(repeats)].insert(key, found);
    }

    /// The indexing of a computation where it is cached, here or by the fingerprint.
    pub(crate) fn known(&self, key: &Through, repeats: bool) -> Option<Arc<InstructionIndexing>> {
        if let Some(found) = self.cache().computations[usize::from(repeats)].get(key) {
            return Some(found.clone());
        }
        let found = if repeats { None } else { self.recall(key) }?;
        self.cache().computations[0].insert(key.clone(), found.clone());
        Some(found)
    }

    /// The arithmetic of a computation, if it is kept with the indexing backward from an array of its root.
    pub fn kept_arithmetic(&self, computation: ComputationId, index: &ShapeIndex) -> Option<Arithmetic> {
        self.known(&(computation, Direction::Backward, index.clone()), false)?.arithmetic
    }

    /// Keeps the arithmetic of a computation with the indexing backward from an array of its root, and by its fingerprint.
    /// Without that indexing, it is found here.
    pub fn keep_arithmetic(
        &self,
        computation: ComputationId,
        index: &ShapeIndex,
        found: Option<InstructionIndexing>,
        arithmetic: Arithmetic,
    ) -> Result<(), P::Error> {
        let key = (computation, Direction::Backward, index.clone());
        let mut found = match found {
            Some(found) => found,
            None => self.propagate_through(&key, false, None)?,
        };
        found.arithmetic = Some(arithmetic);
        self.insert(key, false, Arc::new(found));
        Ok(())
    }

    /// The indexing of a computation by a propagation of its own, which ends early at the limit.
    pub(crate) fn propagate_through(
        &self,
        (computation, direction, index): &Through,
        repeats: bool,
        limit: Option<&Cell<usize>>,
    ) -> Result<InstructionIndexing, P::Error> {
        let (root, parameters) = (self.m.root(*computation), self.m.parameters(*computation));
        let sizes = |id| shapes::sizes_at(self.m.shape(id), index);
        let schedule = self.schedule_of(*computation, *direction != Direction::Backward)?;
        let setting = Setting { limit, ..self.setting(&schedule, self.mode_of_run(repeats)) };
        let rule = &mut self.rule(repeats);
        match *direction {
            Direction::Backward => {
                Ok(Propagation::backward(setting, once(index), rule)?.to_parameters(&sizes(root), parameters))
            }
            Direction::Forward(k) => {
                let Some(&start) = parameters.get(k as usize) else { return Ok(InstructionIndexing::default()) };
                Ok(Propagation::forward(setting, start, once(index), rule)?.to_outputs(&sizes(start), root))
            }
        }
    }

    /// The order of a propagation from the root of a computation; forward of one to it.
    pub(crate) fn schedule_of(&self, computation: ComputationId, is_forward: bool) -> Result<Arc<Schedule>, P::Error> {
        if let Some(known) = self.cache().schedules.get(&(computation, is_forward)) {
            return Ok(known.clone());
        }
        let root = self.m.root(computation);
        let schedule = Arc::new(if is_forward {
            Schedule::operands(self.m, root, &mut |id| self.element_taken(id))?
        } else {
            let enters = !self.is_deep(computation);
            self.schedule(Region::computation(self.m, computation, enters), root)?
        });
        self.cache().schedules.insert((computation, is_forward), schedule.clone());
        Ok(schedule)
    }

    fn recall(&self, (computation, direction, index): &Through) -> Option<Arc<InstructionIndexing>> {
        let fingerprint = self.m.rule_fingerprint(*computation);
        let known = self.cache().fingerprints.get(&(fingerprint, *direction, index.clone())).cloned();
        let kept = known.or_else(|| self.rules.recall(&fingerprint, index, *direction))?;
        let start = i64::from(self.m.instructions_of(*computation).start);
        Some(match kept.has_runtime {
            true => Arc::new(kept.remap_sources(&|position| Some(start + position))),
            false => kept,
        })
    }

    /// Keeps the indexing of a computation by its fingerprint, unless it depends on a value of another computation:
    /// that one may be called elsewhere, too.
    fn keep(&self, (computation, direction, index): &Through, found: &Arc<InstructionIndexing>) {
        if self.cache().not_by_fingerprint.contains(computation) {
            return;
        }
        let range = self.m.instructions_of(*computation);
        let (start, end) = (i64::from(range.start), i64::from(range.end));
        let relative = match found.has_runtime {
            false => found.clone(),
            true if found.sources().iter().any(|s| !(start..end).contains(s)) => return,
            true => Arc::new(found.remap_sources(&|source| Some(source - start))),
        };
        let fingerprint = self.m.rule_fingerprint(*computation);
        if self.rules.keep(&fingerprint, index, *direction, &relative) {
            self.cache().fingerprints.insert((fingerprint, *direction, index.clone()), relative);
        }
    }
}
