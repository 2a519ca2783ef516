//! The reflexive transitive closure of maps: one iteration composed with itself until no new map is found.
//!
//! An array with more than `MAX_ITERATION_MAPS` maps is read as a whole, so the closure terminates. Maps are followed only if
//! they may lead to an array that is not read as a whole anyway, as a [`Reach`] tells.

use std::collections::BTreeMap;

use cancel::poll;
use hlo::InstructionId;
use layout::Shape;
use quasiaffine::State;
use quasiaffine::{Domain, Map, Options};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::indexing::{Direction, OperandIndexing};
use crate::maps::{is_identity_on, whole};
use crate::propagate::Setting;
use crate::provider::Rule;
use crate::schedule::Step;
use crate::shapes::{self, ShapeIndex};
use crate::tuning::MAX_ITERATION_MAPS;

/// The maps of one iteration, each with the array that its results index; without runtime variables, since offsets may
/// change between iterations.
pub type Maps = Vec<(ShapeIndex, Map)>;

/// The maps from one array of a value to all its arrays after any number of iterations, and to every element of the
/// arrays `all`; sorted by array. If `all` is `None`, each reached array has a map, but not all its maps. `step` is
/// called at most once for each array.
pub fn closure<E: From<quasiaffine::Error>>(
    shape: &Shape,
    start: &ShapeIndex,
    all: Option<Vec<ShapeIndex>>,
    reach: &Reach,
    step: &mut dyn FnMut(&ShapeIndex) -> Result<Maps, E>,
) -> Result<Maps, E> {
    // The arrays that need no more maps.
    let mut known = Numbers::default();
    all.as_deref().unwrap_or(std::slice::from_ref(start)).iter().for_each(|index| known.add(&reach.set(index)));
    let sizes = shapes::sizes_at(shape, start);
    let mut found: BTreeMap<ShapeIndex, Vec<Map>> = BTreeMap::new();
    let mut is_whole: FxHashSet<ShapeIndex> = FxHashSet::default();
    let mut steps: FxHashMap<ShapeIndex, Maps> = FxHashMap::default();
    let mut pending = Vec::new();
    let identity = Map::identity(Domain::of_sizes(&sizes))?;
    if !sizes.contains(&0) {
        found.insert(start.clone(), vec![identity.clone()]);
        pending.push((start.clone(), identity.clone()));
    }
    while let Some((here, m)) = pending.pop() {
        let is_replaced = is_whole.contains(&here) && !found[&here].contains(&m);
        if is_replaced || reach.stays_within(&here, &known) {
            continue;
        }
        if !steps.contains_key(&here) {
            steps.insert(here.clone(), step(&here)?);
        }
        let from = shapes::sizes_at(shape, &here);
        for (index, second) in &steps[&here] {
            if is_whole.contains(index) {
                continue;
            }
            let maps = found.entry(index.clone()).or_default();
            let composed = match is_identity_on(second, &from) {
                true => m.simplify(Options::default()),
                false => m.compose(second, Options::default())?,
            };
            if composed.state() == State::Empty || maps.contains(&composed) {
                continue;
            }
            let map = match maps.len() < MAX_ITERATION_MAPS {
                true => composed,
                false => {
                    let Some(array) = shapes::at(shape, index) else { continue };
                    is_whole.insert(index.clone());
                    maps.clear();
                    whole(identity.domain().dims(), array)
                }
            };
            maps.push(map.clone());
            if all.is_none() {
                known.add(&reach.set(index));
            }
            pending.push((index.clone(), map));
        }
    }
    for index in all.into_iter().flatten() {
        let Some(array) = shapes::at(shape, &index) else { continue };
        found.insert(index, vec![whole(identity.domain().dims(), array)]);
    }
    let maps = found.into_iter().flat_map(|(index, maps)| maps.into_iter().map(move |map| (index.clone(), map)));
    Ok(maps.filter(|(_, map)| map.state() != State::Empty).collect())
}

/// The arrays that an iteration may lead to from each array of a loop's value: all arrays that rules mention, whether
/// or not elements meet. Nothing is known by default.
#[derive(Debug, Default)]
pub struct Reach {
    numbers: FxHashMap<ShapeIndex, usize>,
    /// By number; `None` if some reads are unknown.
    from: Vec<Option<Numbers>>,
}

impl Reach {
    /// Collects all arrays that the rules mention in one pass from the arrays that change.
    pub(crate) fn of<E>(setting: Setting<'_>, parameter: InstructionId, rule: &mut Rule<'_, E>) -> Result<Reach, E> {
        let Setting { m, schedule, .. } = setting;
        let Some(&root) = schedule.order.first() else { return Ok(Reach::default()) };
        let indices = shapes::leaves(m.shape(parameter)).into_iter().map(|(index, _)| index);
        let numbers: FxHashMap<ShapeIndex, usize> = indices.zip(0..).collect();
        let changes = |index: &ShapeIndex| !m.forwards(m.computation_of(root), &shapes::path(index));
        let begin =
            numbers.iter().filter(|(index, _)| changes(index)).map(|(index, &k)| (index.clone(), Numbers::one(k)));
        let begin = begin.collect();
        let mut values: FxHashMap<InstructionId, FxHashMap<ShapeIndex, Numbers>> = FxHashMap::default();
        values.insert(root, begin);
        let mut unknown = Numbers::default();
        for (&id, &step) in schedule.order.iter().zip(&schedule.steps) {
            poll();
            let Some(arrays) = values.remove(&id) else { continue };
            if !m.hidden_operands(id).is_empty() {
                arrays.values().for_each(|starts| unknown.add(starts));
            }
            match step {
                _ if id == parameter => {
                    values.insert(id, arrays);
                }
                Step::Stop => {}
                Step::Enter(to) | Step::Leave { operand: to, .. } => {
                    let target = values.entry(to).or_default();
                    arrays.into_iter().for_each(|(index, starts)| target.entry(index).or_default().add(&starts));
                }
                Step::Rule if m.operands(id).len() == 0 => {}
                Step::Rule => {
                    for (index, starts) in arrays {
                        let indexing = rule(id, &index, Direction::Backward)?;
                        for (k, part) in &indexing.parts {
                            let Some(operand) = m.operand(id, *k as usize) else { continue };
                            match part {
                                OperandIndexing::Known(f) if !f.crosses_devices => {
                                    let target = values.entry(operand).or_default();
                                    f.maps
                                        .iter()
                                        .for_each(|(to, _)| target.entry(to.clone()).or_default().add(&starts));
                                }
                                _ => unknown.add(&starts),
                            }
                        }
                    }
                }
            }
        }
        let mut from = vec![Some(Numbers::default()); numbers.len()];
        for (index, starts) in values.remove(&parameter).unwrap_or_default() {
            let Some(&to) = numbers.get(&index) else { continue };
            starts.list().for_each(|k| from[k as usize].iter_mut().for_each(|all| all.add(&Numbers::one(to))));
        }
        unknown.list().for_each(|k| from[k as usize] = None);
        Ok(Reach { numbers, from })
    }

    /// Whether any number of iterations leads from an array only to known arrays.
    fn stays_within(&self, index: &ShapeIndex, known: &Numbers) -> bool {
        let mut seen = self.set(index);
        let mut waiting: Vec<u32> = seen.list().collect();
        let is_numbered = !waiting.is_empty();
        while let Some(k) = waiting.pop() {
            let Some(next) = self.from[k as usize].as_ref().filter(|next| next.without(known).is_empty()) else {
                return false;
            };
            waiting.extend(next.without(&seen).list());
            seen.add(next);
        }
        is_numbered
    }

    fn set(&self, index: &ShapeIndex) -> Numbers {
        self.numbers.get(index).map(|&k| Numbers::one(k)).unwrap_or_default()
    }
}

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Numbers(SmallVec<[u64; 2]>);

impl Numbers {
    fn one(k: usize) -> Numbers {
        let mut words = SmallVec::from_elem(0, k / 64 + 1);
        words[k / 64] = 1 << (k % 64);
        Numbers(words)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    fn add(&mut self, other: &Numbers) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    fn without(&self, other: &Numbers) -> Numbers {
        let mut rest = self.clone();
        rest.0.iter_mut().zip(&other.0).for_each(|(word, less)| *word &= !less);
        rest
    }

    fn list(&self) -> impl Iterator<Item = u32> + '_ {
        let bits = |(k, &word): (usize, &u64)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| (k * 64 + bit) as u32)
        };
        self.0.iter().enumerate().flat_map(bits)
    }
}
