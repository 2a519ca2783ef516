//! The maps from each of several arrays of a value on its own, found in one pass.
//!
//! Arrays that have equal maps to a value have equal maps to all that it is made of, so they go on from there as one.
//! The maps are those of a [`Propagation`] from each array alone, in the same order.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use hlo::InstructionId;
use quasiaffine::interrupt::poll;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::indexing::{InstructionIndexing, ShapeIndex};
use crate::propagate::{Propagation, Rule, Setting};
use crate::shapes;
use crate::state::State;

/// The numbers of some starts, in order.
type Starts = Rc<[u32]>;

/// What arrives at a value before it is visited: the distinct additions to its maps, and in order the starts that each
/// comes from.
#[derive(Default)]
struct Arrivals {
    states: Vec<State>,
    by_hash: FxHashMap<u64, SmallVec<[u32; 1]>>,
    order: Vec<(Starts, u32)>,
}

impl Arrivals {
    fn add(&mut self, starts: Starts, mut state: State) {
        state.entries.iter_mut().for_each(|e| e.uses.clear());
        let mut hasher = FxHasher::default();
        state.entries.iter().for_each(|e| (&e.index, &e.map).hash(&mut hasher));
        let known = self.by_hash.entry(hasher.finish()).or_default();
        let at = known.iter().copied().find(|&at| self.states[at as usize] == state).unwrap_or_else(|| {
            self.states.push(state);
            known.push(self.states.len() as u32 - 1);
            self.states.len() as u32 - 1
        });
        self.order.push((starts, at));
    }

    /// The starts by what arrives from them, and that together.
    fn classes(mut self) -> Vec<(Starts, State)> {
        if let [(starts, _)] = &self.order[..] {
            return vec![(starts.clone(), self.states.swap_remove(0))];
        }
        let mut by_start: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut is_known = vec![false; self.states.len()];
        for (starts, at) in &self.order {
            poll();
            let again = std::mem::replace(&mut is_known[*at as usize], true);
            for &start in starts.iter() {
                let own = by_start.entry(start).or_default();
                if !again || !own.contains(at) {
                    own.push(*at);
                }
            }
        }
        let mut numbers: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
        let mut classes: Vec<(Vec<u32>, State)> = Vec::new();
        for (start, own) in by_start {
            let next = classes.len();
            let number = *numbers.entry(own).or_insert_with_key(|own| {
                let mut all = self.states[own[0] as usize].clone();
                own[1..].iter().for_each(|&at| all.take(&self.states[at as usize], None, &Some));
                classes.push((Vec::new(), all));
                next
            });
            classes[number].0.push(start);
        }
        classes.into_iter().map(|(starts, state)| (starts.into(), state)).collect()
    }
}

/// From each of these arrays of the first value of a schedule to the parameters of its computation; arrays with equal
/// results share them. `None` where operands have no names.
pub(crate) fn to_parameters<E>(
    setting: Setting<'_>,
    indices: &[ShapeIndex],
    parameters: &[InstructionId],
    rule: &mut Rule<'_, E>,
) -> Result<Option<Vec<Arc<InstructionIndexing>>>, E> {
    let Setting { m, schedule, .. } = setting;
    let Some(&root) = schedule.order.first() else { return Ok(None) };
    let numbers: FxHashMap<InstructionId, u32> = parameters.iter().copied().zip(0..).collect();
    let mut pass = Propagation::new(setting);
    let mut arrivals: FxHashMap<u32, Arrivals> = FxHashMap::default();
    let begin = arrivals.entry(0).or_default();
    for (start, index) in (0..).zip(indices) {
        begin.add([start].into(), State::identity(m.shape(root), std::iter::once(index), None));
    }
    let mut waiting = std::collections::BinaryHeap::from([Reverse(0)]);
    // The maps to parameters, and for each start which of them it has.
    let mut ends: Vec<(u32, State)> = Vec::new();
    let mut ends_of: Vec<Vec<usize>> = vec![Vec::new(); indices.len()];
    while let Some(Reverse(position)) = waiting.pop() {
        let Some(here) = arrivals.remove(&position) else { continue };
        for (starts, state) in here.classes() {
            pass.states.insert(position, Box::new(state));
            pass.visit(position, rule)?;
            if pass.unnamed_operands.is_some() {
                return Ok(None);
            }
            while let Some(Reverse(next)) = pass.waiting.pop() {
                let Some(state) = pass.states.remove(&next) else { continue };
                if !arrivals.contains_key(&next) {
                    waiting.push(Reverse(next));
                }
                arrivals.entry(next).or_default().add(starts.clone(), *state);
            }
            let state = pass.states.remove(&position);
            let number = numbers.get(&schedule.order[position as usize]);
            if let Some((&number, mut state)) = number.zip(state) {
                state.solve();
                starts.iter().for_each(|&start| ends_of[start as usize].push(ends.len()));
                ends.push((number, *state));
            }
        }
    }
    let mut known = FxHashMap::default();
    let of_start = |(index, mut own): (&ShapeIndex, Vec<usize>)| {
        own.sort_unstable_by_key(|&at| ends[at].0);
        let sizes = shapes::sizes_at(m.shape(root), index);
        let indexing: &mut Arc<InstructionIndexing> = known.entry((sizes, own)).or_insert_with_key(|(sizes, own)| {
            let parts = own.iter().map(|&at| (ends[at].0, ends[at].1.part()));
            Arc::new(InstructionIndexing::new(sizes, parts.filter(|(_, part)| !part.reads_nothing()).collect()))
        });
        indexing.clone()
    };
    Ok(Some(indices.iter().zip(ends_of).map(of_start).collect()))
}
