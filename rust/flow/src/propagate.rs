//! Carries maps through a region: from a value to everything that it is made of, or that is made of it.
//!
//! Every value is visited once, after all values through which it is reached, and equal maps are merged, so work grows
//! with distinct maps and not with paths. An array costs only the values that reach it.

use cancel::{discard, poll};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::mem::take;

use hlo::{InstructionId, Module};
use layout::Shape;
use quasiaffine::{Counting, Map};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::indexing::{Direction, Footprint, InstructionIndexing, OperandIndexing};
use crate::maps::{is_identity_on, SIMPLIFY};
use crate::mode::Mode;
use crate::provider::Rule;
use crate::reads::Text;
use crate::schedule::{Schedule, Step, Use};
use crate::shapes::{self, ShapeIndex};
use crate::sources::Sources;
use crate::state::{Array, Merged};
use crate::tuning::MANY_STATES;

pub use crate::state::{Entry, State};

/// The fixed inputs of a propagation.
#[derive(Clone, Copy)]
pub struct Setting<'p> {
    /// The module.
    pub m: &'p Module,
    /// The values that the propagation goes through, in order.
    pub schedule: &'p Schedule,
    /// The numbers of runtime sources.
    pub sources: &'p Sources,
    /// What the maps tell.
    pub mode: Mode<'p>,
    /// The maps that may still be followed. At 0, also where maps are replaced by a box around them, the pass ends.
    pub limit: Option<&'p Cell<usize>>,
}

/// The maps from arrays of one value to the values of a schedule.
pub struct Propagation<'p> {
    setting: Setting<'p>,
    /// By position in the schedule; only a few values may be reached from one array.
    pub(crate) states: FxHashMap<u32, Box<State>>,
    pub(crate) waiting: BinaryHeap<Reverse<u32>>,
    merged: Merged,
    composed: Composed,
}

impl<'p> Propagation<'p> {
    pub(crate) fn new(setting: Setting<'p>) -> Propagation<'p> {
        let (states, waiting) = (FxHashMap::default(), BinaryHeap::new());
        let (merged, composed) = Default::default();
        Propagation { setting, states, waiting, merged, composed }
    }

    /// From arrays of the first value of a schedule to the values that it is made of.
    pub fn backward<'i, E>(
        setting: Setting<'p>,
        indices: impl Iterator<Item = &'i ShapeIndex>,
        rule: &mut Rule<'_, E>,
    ) -> Result<Propagation<'p>, E> {
        let start = setting.schedule.order.first();
        let begin = start.map(|&start| State::identity(setting.m.shape(start), indices, setting.mode.devices()));
        Propagation::through(setting, begin.unwrap_or_default(), rule)
    }

    /// From a state of the first value of a schedule to the values that it is made of.
    pub(crate) fn through<E>(setting: Setting<'p>, begin: State, rule: &mut Rule<'_, E>) -> Result<Propagation<'p>, E> {
        let mut propagation = Propagation::new(setting);
        if !setting.schedule.order.is_empty() {
            propagation.states.insert(0, Box::new(begin));
            propagation.waiting.push(Reverse(0));
        }
        while let Some(Reverse(position)) = propagation.waiting.pop() {
            if setting.limit.is_some_and(|limit| limit.get() == 0) {
                break;
            }
            propagation.visit(position, rule)?;
        }
        propagation.states.values_mut().for_each(|state| state.solve());
        Ok(propagation)
    }

    /// From arrays of `start` to the values of a schedule that are made of it. Calls are not entered.
    pub fn forward<'i, E>(
        setting: Setting<'p>,
        start: InstructionId,
        indices: impl Iterator<Item = &'i ShapeIndex>,
        rule: &mut Rule<'_, E>,
    ) -> Result<Propagation<'p>, E> {
        let Setting { m, schedule, .. } = setting;
        let mut propagation = Propagation::new(setting);
        let mut waiting: BinaryHeap<u32> = BinaryHeap::new();
        if let Some(position) = schedule.position(start) {
            let begin = State::identity(m.shape(start), indices, setting.mode.devices());
            propagation.states.insert(position, Box::new(begin));
            waiting.push(position);
        }
        let mut last = None;
        while let Some(position) = waiting.pop() {
            if last.replace(position) == Some(position) {
                continue;
            }
            propagation.visit_forward(position, rule)?;
            let Some(state) = propagation.states.get(&position) else { continue };
            // Users stand before what they use, but for those in a cycle.
            waiting.extend(schedule.users(position, &state.elements()).filter(|&user| user < position));
        }
        propagation.states.values_mut().for_each(|state| state.solve());
        Ok(propagation)
    }

    /// The maps to a value, where any way leads to it.
    pub fn state(&self, id: InstructionId) -> Option<&State> {
        self.states.get(&self.setting.schedule.position(id)?).map(|state| &**state)
    }

    /// Why any element of a value may be read, if so.
    pub fn unknown(&self, id: InstructionId) -> Option<&Text> {
        self.state(id)?.unknown()
    }

    /// The maps to the parameters of a computation.
    pub fn to_parameters(&self, sizes: &[i64], parameters: &[InstructionId]) -> InstructionIndexing {
        let mut parts = Vec::new();
        for (k, &parameter) in parameters.iter().enumerate() {
            if let Some(state) = self.state(parameter) {
                parts.push((k as u32, state.part()));
            }
        }
        parts.retain(|(_, part)| !part.reads_nothing());
        InstructionIndexing::new(sizes, parts)
    }

    /// The maps to the outputs of a computation: the elements of its root, where that is a tuple.
    pub fn to_outputs(&self, sizes: &[i64], root: InstructionId) -> InstructionIndexing {
        let shape = self.setting.m.shape(root);
        let parts = self.state(root).map_or_else(Vec::new, |state| by_output(state, shape));
        InstructionIndexing::new(sizes, parts)
    }

    fn target(&mut self, id: InstructionId) -> &mut State {
        let position = self.setting.schedule.position(id).unwrap_or(0);
        self.states.entry(position).or_insert_with(|| {
            self.waiting.push(Reverse(position));
            Box::default()
        })
    }

    pub(crate) fn visit<E>(&mut self, position: u32, rule: &mut Rule<'_, E>) -> Result<(), E> {
        poll();
        let Setting { m, schedule, .. } = self.setting;
        let (id, step) = (schedule.order[position as usize], schedule.steps[position as usize]);
        let Some(mut state) = self.states.remove(&position) else { return Ok(()) };
        let is_replaced = self.settle(id, &mut state);
        if let Some(limit) = self.setting.limit {
            limit.set(if is_replaced { 0 } else { limit.get().saturating_sub(state.entries().count()) });
        }
        match step {
            Step::Stop => {}
            Step::Enter(root) => self.hand_on(&state, root, None, &|_| None),
            Step::Leave { caller, operand } => self.leave(id, &state, caller, operand),
            Step::Rule => self.apply_rule(id, &state, rule)?,
        }
        if let Some(reason) = m.why_hidden(id).filter(|_| step != Step::Stop && state.is_reached()) {
            let reason = reason.into();
            for &operand in m.hidden_operands(id) {
                self.target(operand).mark_all(m.shape(operand), &reason);
            }
        }
        self.states.insert(position, state);
        Ok(())
    }

    /// Replaces the maps to a value by fewer; whether there are other points now. Those between devices, or from tiling
    /// parameters, stay apart.
    fn settle(&mut self, id: InstructionId, state: &mut State) -> bool {
        let Setting { m, mode, .. } = self.setting;
        let (shape, counts_reads) = (m.shape(id), mode.counts_reads());
        if !counts_reads {
            state.keep_whole(shape);
        }
        if !mode.keeps_apart() {
            state.merge(if counts_reads { Counting::Reads } else { Counting::Elements }, &mut self.merged);
        }
        let is_replaced = state.keep_budget(shape, m.instruction_name(id), mode);
        if is_replaced && !counts_reads {
            state.keep_whole(shape);
        }
        state.mark_wider();
        is_replaced
    }

    fn hand_on(&mut self, state: &State, to: InstructionId, usage: Option<Use>, new: &dyn Fn(i64) -> Option<i64>) {
        self.target(to).take(state, usage, new);
    }

    /// From a parameter of an entered computation to the operand of the caller.
    fn leave(&mut self, parameter: InstructionId, state: &State, caller: InstructionId, operand: InstructionId) {
        let Setting { m, sources, .. } = self.setting;
        let computation = m.computation_of(parameter);
        let number = m.parameter_number(parameter).unwrap_or(0);
        let new = |source| sources.in_caller(m, caller, computation, source);
        self.hand_on(state, operand, Some((caller, number)), &new);
    }

    fn apply_rule<E>(&mut self, id: InstructionId, state: &State, rule: &mut Rule<'_, E>) -> Result<(), E> {
        let setting = self.setting;
        if setting.m.operands(id).len() == 0 {
            return Ok(());
        }
        let mut composed = take(&mut self.composed);
        for (index, array) in state.arrays.iter().filter(|(_, array)| array.is_reached()) {
            let indexing = rule(id, index, Direction::Backward)?;
            for (n, (k, _)) in indexing.parts.iter().enumerate() {
                let Some(operand) = setting.m.operand(id, *k as usize) else { continue };
                let usage = (id, *k);
                let from = From { setting, state, array, usage };
                let shape = setting.m.shape(operand);
                follow(&from, &indexing, n, self.target(operand), shape, &ShapeIndex::new(), &mut composed);
            }
        }
        self.composed = composed;
        Ok(())
    }

    /// Collects the maps of all operands that were reached.
    fn visit_forward<E>(&mut self, position: u32, rule: &mut Rule<'_, E>) -> Result<(), E> {
        poll();
        let setting = self.setting;
        let Setting { m, schedule, .. } = setting;
        let user = schedule.order[position as usize];
        let mut state = self.states.remove(&position);
        let shape = m.shape(user);
        for (k, operand) in m.operands(user).enumerate() {
            let given = schedule.position(operand).filter(|&at| at != position);
            let Some(given) = given.and_then(|at| self.states.get(&at)) else { continue };
            let state = state.get_or_insert_with(Box::default);
            for (index, array) in given.arrays.iter().filter(|(_, array)| array.is_reached()) {
                let indexing = rule(user, index, Direction::Forward(k as u32))?;
                for (n, (i, _)) in indexing.parts.iter().enumerate() {
                    let (output, at) = match shape {
                        Shape::Tuple(parts) => (parts.get(*i as usize), ShapeIndex::from_slice(&[*i])),
                        whole => (Some(whole), ShapeIndex::new()),
                    };
                    let Some(output) = output else { continue };
                    let from = From { setting, state: given, array, usage: (user, k as u32) };
                    follow(&from, &indexing, n, state, output, &at, &mut self.composed);
                }
            }
        }
        let is_given = |&operand: &InstructionId| self.state(operand).is_some_and(State::is_reached);
        if let Some(reason) = m.why_hidden(user).filter(|_| m.hidden_operands(user).iter().any(is_given)) {
            state.get_or_insert_with(Box::default).mark_all(shape, &reason.into());
        }
        if let Some(mut state) = state {
            self.settle(user, &mut state);
            self.states.insert(position, state);
        }
        Ok(())
    }
}

impl Drop for Propagation<'_> {
    fn drop(&mut self) {
        if self.states.len() > MANY_STATES {
            discard((take(&mut self.states), take(&mut self.composed), take(&mut self.merged)));
        }
    }
}

/// Compositions of two maps, by whether the first is on another device and whether reads count: operands are often read
/// alike, and so are layers of a program.
type Composed = FxHashMap<(Map, Map, bool, bool), quasiaffine::Result<Map>>;

/// An array of a value and the maps to it.
struct From<'a> {
    setting: Setting<'a>,
    state: &'a State,
    array: &'a Array,
    usage: Use,
}

/// Why elements that cross devices twice may be too many: without devices the second step does not know where the first led.
pub(crate) const UNRELATED_DEVICES: &str = "which devices belong together is not known";

/// Adds to the target every map to an array followed by part `n` of its rule. `at` is where `shape` lies in the target.
fn follow(
    from: &From<'_>,
    indexing: &InstructionIndexing,
    n: usize,
    target: &mut State,
    shape: &Shape,
    at: &ShapeIndex,
    composed: &mut Composed,
) {
    let Setting { sources, mode, .. } = from.setting;
    let devices = mode.devices();
    let (part, sizes) = (&indexing.parts[n].1, &indexing.sizes);
    let crosses_again = |f: &Footprint| f.crosses_devices && from.state.crosses_devices;
    let footprint = match part {
        OperandIndexing::Known(f) if !crosses_again(f) || devices.is_none_or(|table| table.each_once) => f,
        OperandIndexing::Known(_) => {
            let reason = "a device in several groups".into();
            return leaves_below(shape, at).for_each(|to| target.mark_unknown(&to, &reason));
        }
        OperandIndexing::Unknown(reason) => {
            return leaves_below(shape, at).for_each(|to| target.mark_unknown(&to, reason));
        }
    };
    let indices = || footprint.maps.iter().map(|(to, _)| to);
    if !footprint.exact {
        let reason = footprint.reason.as_ref();
        indices().for_each(|to| target.mark_inexact(to, reason));
        if footprint.maps.is_empty() {
            leaves_below(shape, at).for_each(|to| target.mark_inexact(&to, reason));
        }
    }
    if let Some(reason) = &from.array.unknown {
        return indices().for_each(|to| target.mark_unknown(to, reason));
    }
    if let Some(reason) = &from.array.inexact {
        indices().for_each(|to| target.mark_inexact(to, reason.as_ref()));
    }
    let counts_reads = mode.counts_reads() && !from.array.is_uncounted;
    if from.array.is_uncounted {
        indices().for_each(|to| target.array(to).is_uncounted = true);
    }
    target.crosses_devices |= footprint.crosses_devices || from.state.crosses_devices;
    let mut firsts: SmallVec<[Map; 4]> = from.array.entries.iter().map(|e| e.map.clone()).collect();
    if footprint.crosses_devices && devices.is_none() {
        if from.state.crosses_devices {
            let reason = Text::from(UNRELATED_DEVICES);
            indices().for_each(|to| target.mark_inexact(to, Some(&reason)));
        }
        // A runtime value on another device is another value.
        let elsewhere = |m: &Map| m.remap_sources(&|source| Some(sources.on_another_device(source)));
        firsts.iter_mut().for_each(|m| *m = elsewhere(m));
    }
    for (to, second) in &footprint.maps {
        let is_identity = match devices {
            None => is_identity_on(second, sizes),
            Some(table) => table.is_identity_on(second, sizes),
        };
        for first in firsts.iter() {
            poll();
            if is_identity && !from.state.is_raw {
                target.array(to).add(first.clone(), Some(from.usage), false);
                continue;
            }
            if devices.is_some_and(|table| !table.share_group(first, second)) {
                continue;
            }
            let then = || match counts_reads {
                true => first.compose(second, SIMPLIFY),
                false => first.compose_elements(second, SIMPLIFY),
            };
            let found = match mode.parameters() {
                // Equality leaves out the names of parameters.
                Some(parameters) => parameters.compose(from.usage, first, second),
                None => {
                    let key = (first.clone(), second.clone(), footprint.crosses_devices, counts_reads);
                    composed.entry(key).or_insert_with(then).clone()
                }
            };
            match found {
                Err(e) => target.mark_unknown(to, &format!("composition: {e}").into()),
                Ok(map) if map.state() == quasiaffine::State::Empty => {}
                Ok(map) => {
                    let wider = if counts_reads { None } else { map.unconditional(SIMPLIFY) };
                    let is_wider = wider.is_some();
                    target.array(to).add(wider.unwrap_or(map), Some(from.usage), is_wider);
                }
            }
        }
    }
}

/// The leaves of a value that lies at a shape index.
fn leaves_below<'s>(shape: &'s Shape, at: &'s ShapeIndex) -> impl Iterator<Item = ShapeIndex> + 's {
    shapes::leaves(shape).into_iter().map(|(below, _)| at.iter().chain(&below).copied().collect())
}

/// The number of outputs of a value: the elements of a tuple, otherwise one.
pub fn n_outputs(shape: &Shape) -> u32 {
    shape.as_tuple().map_or(1, |parts| parts.len() as u32)
}

/// One part for each output, since an unknown output leaves the others known.
fn by_output(state: &State, shape: &Shape) -> Vec<(u32, OperandIndexing)> {
    if shape.as_tuple().is_none() {
        let part = state.part();
        return if part.reads_nothing() { Vec::new() } else { vec![(0, part)] };
    }
    let mut arrays: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for one in &state.arrays {
        one.0.first().into_iter().for_each(|&i| arrays.entry(i).or_default().push(one));
    }
    let parts = arrays.into_iter().map(|(i, arrays)| (i, state.part_of(&arrays)));
    parts.filter(|(_, part)| !part.footprint().is_some_and(|f| f.maps.is_empty() && f.exact)).collect()
}
