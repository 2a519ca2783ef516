//! The maps from each of several arrays of a value on its own, found in one pass.
//!
//! Arrays that have equal maps to a value have equal maps to all that it is made of, so they go on from there as one.
//! The maps are those of a [`Propagation`] from each array alone, in the same order. A map that is the same for all
//! elements of an array is the same for all arrays and goes on without dims, so a question about all outputs of a
//! program costs little more than one about a single output. Where reads count, maps of an array that differ in this
//! would not merge as they do in a propagation from it alone, so either all maps to a value are without dims or none.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::hash::{Hash, Hasher};
use std::iter::once;
use std::rc::Rc;
use std::sync::Arc;

use cancel::poll;
use hlo::InstructionId;
use quasiaffine::State as MapState;
use quasiaffine::{Domain, Kind, Map};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::indexing::{InstructionIndexing, OperandIndexing};
use crate::maps::whole;
use crate::propagate::{Propagation, Setting};
use crate::provider::Rule;
use crate::shapes::{self, ShapeIndex};
use crate::state::State;

/// The numbers of some starts, in order.
type Starts = Rc<[u32]>;

type Sizes = SmallVec<[i64; 6]>;

/// What arrives at a value before it is visited: the distinct additions to its maps, and in order the starts that each
/// comes from.
#[derive(Default)]
struct Arrivals {
    states: Vec<State>,
    by_hash: FxHashMap<u64, SmallVec<[u32; 1]>>,
    order: Vec<(Starts, u32)>,
}

impl Arrivals {
    fn add(&mut self, starts: Starts, mut state: State, sizes: Option<&Sizes>, together: bool) {
        state.arrays.iter_mut().flat_map(|(_, array)| &mut array.entries).for_each(|e| e.uses.clear());
        let is_same = |sizes: &Sizes| !together || state.entries().all(|(_, e)| is_without_dims(&e.map, sizes));
        if let Some(sizes) = sizes.filter(|sizes| is_same(sizes)) {
            state.rewrite(|map| drop_dims(map, sizes));
        }
        let mut hasher = FxHasher::default();
        state.entries().for_each(|(index, e)| (index, &e.map).hash(&mut hasher));
        let known = self.by_hash.entry(hasher.finish()).or_default();
        let at = known.iter().copied().find(|&at| self.states[at as usize] == state).unwrap_or_else(|| {
            self.states.push(state);
            known.push(self.states.len() as u32 - 1);
            self.states.len() as u32 - 1
        });
        self.order.push((starts, at));
    }

    /// The starts by what arrives from them, and that together. If `together`, maps without dims get those of a start, of
    /// these sizes, unless all are without.
    fn classes(mut self, sizes: &[Sizes], together: bool) -> Vec<(Starts, State)> {
        if let [(starts, _)] = &self.order[..] {
            return vec![(starts.clone(), self.states.swap_remove(0))];
        }
        // The last arrival of a class and the class of those before it; nothing arrives of the first class.
        let mut classes: Vec<(u32, usize)> = vec![(u32::MAX, 0)];
        let arrived = |classes: &[(u32, usize)], mut class: usize| {
            let mut own = Vec::new();
            while class > 0 {
                own.push(classes[class].0);
                class = classes[class].1;
            }
            own
        };
        let mut next: FxHashMap<(usize, u32), usize> = FxHashMap::default();
        let mut class_of: BTreeMap<u32, usize> = BTreeMap::new();
        let mut is_known = vec![false; self.states.len()];
        for (starts, at) in &self.order {
            poll();
            let again = std::mem::replace(&mut is_known[*at as usize], true);
            for &start in starts.iter() {
                let class = class_of.entry(start).or_default();
                *class = *next.entry((*class, *at)).or_insert_with(|| {
                    if again && arrived(&classes, *class).contains(at) {
                        return *class;
                    }
                    classes.push((*at, *class));
                    classes.len() - 1
                });
            }
        }
        let mut found: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        class_of.into_iter().for_each(|(start, class)| found.entry(class).or_default().push(start));
        let mut all_classes: Vec<(Starts, State)> = Vec::with_capacity(found.len());
        for (class, starts) in found {
            let mut own = arrived(&classes, class).into_iter().rev().map(|at| &self.states[at as usize]);
            let mut all = own.next().cloned().unwrap_or_default();
            own.for_each(|more| all.take(more, None, &Some));
            let mut without_dims = all.entries().map(|(_, e)| e.map.domain().n_dims == 0);
            let first = without_dims.next();
            if !together || without_dims.all(|one| Some(one) == first) {
                drop(without_dims);
                all_classes.push((starts.into(), all));
                continue;
            }
            drop(without_dims);
            for (sizes, starts) in by_sizes(&starts, sizes) {
                let mut own = all.clone();
                own.rewrite(|map| add_dims(map, sizes));
                all_classes.push((starts.into(), own));
            }
        }
        all_classes
    }
}

/// Some starts by the sizes of their dims.
fn by_sizes<'s>(starts: &[u32], sizes: &'s [Sizes]) -> BTreeMap<&'s Sizes, Vec<u32>> {
    let mut found: BTreeMap<&Sizes, Vec<u32>> = BTreeMap::new();
    starts.iter().for_each(|&start| found.entry(&sizes[start as usize]).or_default().push(start));
    found
}

/// The maps to one of the ends of a pass, and the starts that have them.
struct End {
    number: u32,
    starts: Vec<u32>,
    state: State,
}

/// From each of these states of the first value of a schedule to the values `ends`; `sizes` are those of the dims of each
/// start. Maps that are the same at all points of these have no dims.
fn run<E>(
    setting: Setting<'_>,
    begin: Vec<State>,
    sizes: &[Sizes],
    ends: &[InstructionId],
    rule: &mut Rule<'_, E>,
) -> Result<Vec<End>, E> {
    let numbers: FxHashMap<InstructionId, u32> = ends.iter().copied().zip(0..).collect();
    let together = setting.mode.counts_reads();
    let common = |starts: &[u32]| {
        let first = &sizes[starts[0] as usize];
        starts.iter().all(|&start| sizes[start as usize] == *first).then_some(first)
    };
    let mut pass = Propagation::new(setting);
    let mut arrivals: FxHashMap<u32, Arrivals> = FxHashMap::default();
    let first = arrivals.entry(0).or_default();
    (0..).zip(begin).for_each(|(start, state)| first.add([start].into(), state, common(&[start]), together));
    let mut waiting = BinaryHeap::from([Reverse(0)]);
    let mut found: Vec<End> = Vec::new();
    while let Some(Reverse(position)) = waiting.pop() {
        let Some(here) = arrivals.remove(&position) else { continue };
        let number = numbers.get(&setting.schedule.order[position as usize]);
        for (starts, state) in here.classes(sizes, together) {
            let sizes = common(&starts);
            pass.states.insert(position, Box::new(state));
            pass.visit(position, rule)?;
            while let Some(Reverse(next)) = pass.waiting.pop() {
                let Some(state) = pass.states.remove(&next) else { continue };
                if !arrivals.contains_key(&next) {
                    waiting.push(Reverse(next));
                }
                arrivals.entry(next).or_default().add(starts.clone(), *state, sizes, together);
            }
            let Some((&number, mut state)) = number.zip(pass.states.remove(&position)) else { continue };
            state.solve();
            match found.iter_mut().rev().take_while(|end| end.number == number).find(|end| end.state == *state) {
                Some(end) => end.starts.extend(&*starts),
                None => found.push(End { number, starts: starts.to_vec(), state: *state }),
            }
        }
    }
    found.sort_by_key(|end| end.number);
    Ok(found)
}

/// From each of these arrays of the first value of a schedule to the parameters of its computation; arrays with equal
/// results share them.
pub(crate) fn to_parameters<E>(
    setting: Setting<'_>,
    indices: &[ShapeIndex],
    parameters: &[InstructionId],
    rule: &mut Rule<'_, E>,
) -> Result<Vec<Arc<InstructionIndexing>>, E> {
    let Some(&root) = setting.schedule.order.first() else { return Ok(Vec::new()) };
    let shape = setting.m.shape(root);
    let begin = indices.iter().map(|index| State::identity(shape, once(index), None)).collect();
    let all_sizes: Vec<Sizes> = indices.iter().map(|index| shapes::sizes_at(shape, index)).collect();
    let ends = run(setting, begin, &all_sizes, parameters, rule)?;
    let mut ends_of: Vec<Vec<usize>> = vec![Vec::new(); indices.len()];
    for (at, end) in ends.iter().enumerate() {
        end.starts.iter().for_each(|&start| ends_of[start as usize].push(at));
    }
    let mut known = FxHashMap::default();
    let of_start = |(sizes, own): (Sizes, Vec<usize>)| {
        let indexing: &mut Arc<InstructionIndexing> = known.entry((sizes, own)).or_insert_with_key(|(sizes, own)| {
            let parts = own.iter().map(|&at| (ends[at].number, part_at(&ends[at].state, sizes)));
            Arc::new(InstructionIndexing::new(sizes, parts.filter(|(_, part)| !part.reads_nothing()).collect()))
        });
        indexing.clone()
    };
    Ok(all_sizes.into_iter().zip(ends_of).map(of_start).collect())
}

/// The elements of a value that some starts need: the number of the value, those of the starts, and the maps, which do not
/// tell how often an element is read.
pub type Needed = (u32, Vec<u32>, OperandIndexing);

/// The elements of `ends` that each of these arrays of the first value of a schedule needs, or, with `as_one`, that all of
/// them need as one start.
pub(crate) fn needed<E>(
    setting: Setting<'_>,
    indices: &[ShapeIndex],
    as_one: bool,
    ends: &[InstructionId],
    rule: &mut Rule<'_, E>,
) -> Result<Vec<Needed>, E> {
    let Some(&root) = setting.schedule.order.first() else { return Ok(Vec::new()) };
    let shape = setting.m.shape(root);
    let mut sizes: Vec<Sizes> = indices.iter().map(|index| shapes::sizes_at(shape, index)).collect();
    let mut begin: Vec<State> = indices.iter().map(|index| State::identity(shape, once(index), None)).collect();
    if as_one {
        let array = |index| shapes::at(shape, index).filter(|array| !shapes::is_empty(array));
        let all = indices.iter().filter_map(|index| Some((index.clone(), whole(&[], array(index)?))));
        (begin, sizes) = (vec![State::of(&all.collect::<Vec<_>>())], vec![Sizes::new()]);
    }
    let found = run(setting, begin, &sizes, ends, rule)?;
    let mut needed = Vec::new();
    for end in found {
        for (own, starts) in by_sizes(&end.starts, &sizes) {
            needed.push((end.number, starts, part_at(&end.state, own)));
        }
    }
    needed.retain(|(.., part)| !part.reads_nothing());
    Ok(needed)
}

/// The maps of a state from an array of these sizes.
fn part_at(state: &State, sizes: &[i64]) -> OperandIndexing {
    let mut part = state.part();
    if let OperandIndexing::Known(footprint) = &mut part {
        footprint.maps.iter_mut().for_each(|(_, map)| add_dims(map, sizes));
    }
    part
}

/// Whether a map has no dims, or is the same at all points of an array of these sizes.
fn is_without_dims(map: &Map, sizes: &[i64]) -> bool {
    let dims = map.domain().dims();
    dims.is_empty()
        || map.state() == MapState::Defined
            && dims.iter().map(|v| (v.interval.lo, v.interval.hi + 1)).eq(sizes.iter().map(|&n| (0, n)))
            && !map.expressions().any(|e| e.any_var(&|v| v.kind == Kind::Dim))
}

/// Leaves out the dims of a map that is the same at all points of an array of these sizes.
fn drop_dims(map: &mut Map, sizes: &[i64]) {
    if map.domain().n_dims > 0 && is_without_dims(map, sizes) {
        let domain = map.domain();
        let vars = domain.vars[domain.n_dims..].iter().cloned().collect();
        *map = Map::new_unchecked(Domain { vars, n_dims: 0, ..domain.clone() }, map.results().into());
    }
}

/// Gives a map without dims those of an array of these sizes.
fn add_dims(map: &mut Map, sizes: &[i64]) {
    if map.domain().n_dims == 0 && !sizes.is_empty() {
        let domain = map.domain();
        let vars = Domain::of_sizes(sizes).vars.into_iter().chain(domain.vars.iter().cloned()).collect();
        *map = Map::new_unchecked(Domain { vars, n_dims: sizes.len(), ..domain.clone() }, map.results().into());
    }
}
