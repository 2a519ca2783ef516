//! Questions about all values of a region or computation at once: one pass over its schedule.

use std::cell::Cell;
use std::sync::Arc;

use hlo::{ComputationId, InstructionId};
use quasiaffine::Map;

use super::Questions;
use crate::indexing::{Direction, InstructionIndexing};
use crate::mode::Mode;
use crate::outputs::{self, Needed};
use crate::parameters::Parameters;
use crate::propagate::{Propagation, Setting};
use crate::provider::RuleProvider;
use crate::schedule::{Region, Schedule};
use crate::shapes::ShapeIndex;
use crate::state::State;

impl<'a, P: RuleProvider> Questions<'a, P> {
    /// The indexing of a computation, backward from an array of its root, with all its maps; `None` where that takes more
    /// maps than the limit, which then is 0 and otherwise less by those that it took.
    pub fn within(
        &self,
        computation: ComputationId,
        index: &ShapeIndex,
        limit: &Cell<usize>,
    ) -> Result<Option<Arc<InstructionIndexing>>, P::Error> {
        self.prepare(computation, Direction::Backward)?;
        let key = (computation, Direction::Backward, index.clone());
        let found = self.propagate_through(&key, false, Some(limit))?;
        Ok((limit.get() > 0).then(|| found.into()))
    }

    /// The elements of a computation's parameters that arrays of its root need, in one pass; with `as_one` all of them
    /// together.
    pub fn needed(
        &self,
        computation: ComputationId,
        indices: &[ShapeIndex],
        as_one: bool,
    ) -> Result<Vec<Needed>, P::Error> {
        let schedule = self.schedule_to_parameters(computation)?;
        let setting = self.setting(&schedule, self.mode_of(true));
        outputs::needed(setting, indices, as_one, self.m.parameters(computation), &mut self.rule(false))
    }

    /// The order of a propagation from the root of a computation to its parameters.
    pub fn schedule_to_parameters(&self, computation: ComputationId) -> Result<Arc<Schedule>, P::Error> {
        self.prepare(computation, Direction::Backward)?;
        self.schedule_of(computation, false)
    }

    /// The order of a propagation from `start` through a region.
    pub fn schedule(&self, region: Region, start: InstructionId) -> Result<Schedule, P::Error> {
        Schedule::new(self.m, start, region, &mut |id| Ok(self.signature(id)?.traits.inlines))
    }

    /// From arrays of the first value of a schedule to all values that it is made of; with `elements_alone` in [`Mode::Elements`].
    pub fn backward(
        &self,
        schedule: &'a Schedule,
        indices: &[ShapeIndex],
        elements_alone: bool,
    ) -> Result<Propagation<'a>, P::Error> {
        let setting = self.setting(schedule, self.mode_of(elements_alone));
        Propagation::backward(setting, indices.iter(), &mut self.rule(false))
    }

    /// The order of a propagation forward through a whole computation.
    pub fn schedule_of_all(&self, computation: ComputationId) -> Result<Schedule, P::Error> {
        Schedule::computation(self.m, computation, &mut |id| self.element_taken(id))
    }

    /// From arrays of `start` to all values of a schedule that are made of it; with `elements_alone` in [`Mode::Elements`].
    pub fn forward(
        &self,
        schedule: &'a Schedule,
        start: InstructionId,
        indices: &[ShapeIndex],
        elements_alone: bool,
    ) -> Result<Propagation<'a>, P::Error> {
        let setting = self.setting(schedule, self.mode_of(elements_alone));
        Propagation::forward(setting, start, indices.iter(), &mut self.rule(false))
    }

    /// From tiling parameters to all values that the first one of a schedule is made of; each of these arrays of it has a
    /// map from the parameters to its elements.
    pub fn from_parameters(
        &self,
        schedule: &'a Schedule,
        parameters: &'a Parameters,
        outputs: &[(ShapeIndex, Map)],
    ) -> Result<Propagation<'a>, P::Error> {
        let setting = self.setting(schedule, Mode::Tiles(parameters));
        Propagation::through(setting, State::of(outputs), &mut self.rule(false))
    }

    pub(crate) fn setting<'s>(&self, schedule: &'s Schedule, mode: Mode<'s>) -> Setting<'s>
    where
        'a: 's,
    {
        Setting { m: self.m, schedule, sources: self.propagator.sources(), mode, limit: None }
    }

    /// One run of a computation, or an iteration of one that repeats.
    pub(crate) fn mode_of_run(&self, repeats: bool) -> Mode<'a> {
        match (&self.propagator.devices, repeats) {
            (None, false) => Mode::Reads,
            (None, true) => Mode::Iteration,
            (Some(table), false) => Mode::Devices(table),
            (Some(table), true) => Mode::DeviceIteration(table),
        }
    }

    /// The reads of elements, or the elements alone. Between devices, reads in any case.
    fn mode_of(&self, elements_alone: bool) -> Mode<'a> {
        match &self.propagator.devices {
            None if elements_alone => Mode::Elements,
            None => Mode::Reads,
            Some(table) => Mode::Devices(table),
        }
    }
}
