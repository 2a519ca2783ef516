//! The iterations of a loop, counted by running the integer scalars that its condition depends on.
//!
//! The values that the condition depends on are listed once, each behind its operands; then the list is evaluated once an
//! iteration. The size in use of a dynamic dimension is such a value, too. A number that is known is that of the program.

use std::collections::BTreeMap;

use cancel::poll;
use hlo::{ComputationId, Module};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::scalars::operations::{Integers, Operation};
use super::scalars::{Part, Place, Scope, Source};
use crate::shapes::ShapeIndex;
use crate::tuning::{MAX_ITERATIONS, MAX_VALUES};

/// The number of iterations of a loop whose state begins with some known numbers, or why it is not known. The size of a
/// dimension of an array of the state has the index of the array, with the dimension behind it.
pub(super) fn count_iterations(
    m: &Module,
    condition: ComputationId,
    body: ComputationId,
    initial: &BTreeMap<ShapeIndex, i128>,
) -> Result<i64, String> {
    let mut scalars = Scalars::new(m, [condition, body]);
    let test = scalars.slot(Place::of(m.root(condition), ShapeIndex::new()))?;
    let n_tested = scalars.steps.len();
    let mut next = Vec::new();
    while let Some((leaf, dim, _)) = scalars.leaves.get(next.len()) {
        let part = dim.map_or(Part::Element(0), Part::Size);
        let after = Place { part, ..Place::of(m.root(body), leaf.clone()) };
        next.push(scalars.slot(after)?);
    }
    let mut values = scalars.values;
    let start = |leaf: &ShapeIndex, dim: &Option<u32>| {
        let index: ShapeIndex = leaf.iter().copied().chain(*dim).collect();
        initial.get(&index).copied()
    };
    for (leaf, dim, slot) in &scalars.leaves {
        values[*slot] = start(leaf, dim);
    }
    for n in 0..MAX_ITERATIONS {
        poll();
        run(&scalars.steps[..n_tested], &mut values);
        match values[test] {
            Some(0) => return Ok(n),
            Some(_) => {}
            None => {
                let missing = scalars.leaves.iter().find(|(leaf, dim, _)| start(leaf, dim).is_none());
                return Err(match missing {
                    Some((leaf, Some(dim), _)) => {
                        format!("the condition depends on the size of dimension {dim} of element {leaf:?} of the state, which is unknown")
                    }
                    Some((leaf, None, _)) => {
                        format!("the condition depends on element {leaf:?} of the state, which is unknown")
                    }
                    None => "the condition depends on data".to_owned(),
                });
            }
        }
        run(&scalars.steps[n_tested..], &mut values);
        let after: SmallVec<[Option<i128>; 8]> = next.iter().map(|slot| values[*slot]).collect();
        for ((.., slot), value) in scalars.leaves.iter().zip(after) {
            values[*slot] = value;
        }
    }
    Err(format!("the loop runs more than {MAX_ITERATIONS} iterations, and its condition is not affine in a counter"))
}

fn run(steps: &[Step], values: &mut [Option<i128>]) {
    for step in steps {
        values[step.to] = step.operation.run(step.integers, |k| values[*step.operands.get(k)?]);
    }
}

/// One operation on scalars.
struct Step {
    operation: Operation,
    integers: Integers,
    operands: SmallVec<[usize; 3]>,
    to: usize,
}

/// The values that others are computed from, each once.
struct Scalars<'m> {
    m: &'m Module,
    scope: Scope,
    slots: FxHashMap<Place, usize>,
    steps: Vec<Step>,
    /// The values that are known before the loop, by slot.
    values: Vec<Option<i128>>,
    leaves: Vec<(ShapeIndex, Option<u32>, usize)>,
}

/// The slot of values that are not known.
const UNKNOWN: usize = 0;

impl<'m> Scalars<'m> {
    fn new(m: &'m Module, own: [ComputationId; 2]) -> Scalars<'m> {
        let (scope, slots) = (Scope::new(&own), FxHashMap::default());
        Scalars { m, scope, slots, steps: Vec::new(), values: vec![None], leaves: Vec::new() }
    }

    /// The slot of a value, behind those that it is computed from.
    fn slot(&mut self, place: Place) -> Result<usize, String> {
        let mut waiting = vec![place.clone()];
        while let Some(last) = waiting.last().cloned() {
            let source = if self.slots.contains_key(&last) { None } else { Some(self.scope.source(self.m, &last)) };
            let before = waiting.len();
            let operands = source.iter().flatten().flat_map(Source::places);
            waiting.extend(operands.filter(|o| !self.slots.contains_key(*o)).cloned());
            if waiting.len() + self.slots.len() > MAX_VALUES {
                return Err(format!("the condition depends on more than {MAX_VALUES} values"));
            }
            if waiting.len() > before {
                continue;
            }
            waiting.pop();
            let Some(source) = source else { continue };
            let slot = match source {
                None => UNKNOWN,
                Some(Source::Same(from)) => self.slots[&from],
                Some(Source::Leaf(leaf, dim)) => self.leaf(leaf, dim),
                Some(Source::Known(value)) => self.new_slot(Some(value)),
                Some(Source::Computed(operation, integers, places)) => {
                    let operands = places.iter().map(|o| self.slots[o]).collect();
                    let to = self.new_slot(None);
                    self.steps.push(Step { operation, integers, operands, to });
                    to
                }
            };
            self.slots.insert(last, slot);
        }
        Ok(self.slots[&place])
    }

    fn new_slot(&mut self, value: Option<i128>) -> usize {
        self.values.push(value);
        self.values.len() - 1
    }

    fn leaf(&mut self, leaf: ShapeIndex, dim: Option<u32>) -> usize {
        if let Some((.., slot)) = self.leaves.iter().find(|(at, d, _)| *at == leaf && *d == dim) {
            return *slot;
        }
        let slot = self.new_slot(None);
        self.leaves.push((leaf, dim, slot));
        slot
    }
}
