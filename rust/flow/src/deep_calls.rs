//! Calls that nest deeply: the innermost computations are computed first, so that no stack grows with a program.

use hlo::{ComputationId, Module};
use quasiaffine::interrupt::{once, poll};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::propagate::Direction;
use crate::query::{Questions, RuleProvider};
use crate::shapes;

/// Calls that nest less deeply are followed recursively.
const DEEP_CALLS: u32 = 16;

/// The computations that are known to call deeply or not to.
#[derive(Debug, Default)]
pub(crate) struct DeepCalls {
    /// Those whose deep calls are computed, and whether that was forward.
    prepared: FxHashSet<(ComputationId, bool)>,
    /// How deeply followed calls nest in a computation, itself included.
    depths: FxHashMap<ComputationId, u32>,
    deep: FxHashSet<ComputationId>,
}

impl DeepCalls {
    /// Whether calls in a computation are not entered, since they nest deeply.
    pub fn is_deep(&self, computation: ComputationId) -> bool {
        self.deep.contains(&computation)
    }
}

impl<P: RuleProvider> Questions<'_, P> {
    /// Where calls nest deeply, computes the innermost computations first.
    pub(crate) fn prepare(&self, computation: ComputationId, direction: Direction) -> Result<(), P::Error> {
        let (m, is_forward) = (self.m, direction != Direction::Backward);
        if *once(&self.propagator.depth, || depth_of_calls(m)) <= DEEP_CALLS
            || self.cache().deep_calls.prepared.contains(&(computation, is_forward))
        {
            return Ok(());
        }
        for here in self.call_order(computation, is_forward)? {
            {
                let known = &mut self.cache().deep_calls;
                known.prepared.insert((here, is_forward));
                if known.depths.get(&here).is_none_or(|&depth| depth <= DEEP_CALLS) {
                    continue;
                }
                known.deep.insert(here);
            }
            let unfinished = Unfinished { questions: self, computation: (here, is_forward) };
            // Its callers then find the results for all its arrays.
            let own = match is_forward {
                false => vec![(Direction::Backward, m.root(here))],
                true => m.parameters(here).iter().zip(0..).map(|(&p, k)| (Direction::Forward(k), p)).collect(),
            };
            for (direction, value) in own {
                for (index, _) in shapes::array_indices(m.shape(value)) {
                    self.through((here, direction, index), false)?;
                }
            }
            std::mem::forget(unfinished);
        }
        Ok(())
    }

    /// The unprepared computations that are reached from one by followed calls, innermost first.
    fn call_order(&self, computation: ComputationId, is_forward: bool) -> Result<Vec<ComputationId>, P::Error> {
        let m = self.m;
        let mut order = Vec::new();
        let mut seen: FxHashSet<ComputationId> = FxHashSet::default();
        let mut pending: Vec<(ComputationId, Option<Vec<ComputationId>>)> = vec![(computation, None)];
        while let Some((here, inner)) = pending.pop() {
            poll();
            if let Some(inner) = inner {
                let depths = &mut self.cache().deep_calls.depths;
                let below = inner.iter().filter_map(|c| depths.get(c)).max().copied().unwrap_or(0);
                depths.insert(here, below + 1);
                order.push(here);
            } else if !self.cache().deep_calls.prepared.contains(&(here, is_forward)) && seen.insert(here) {
                let mut inner = Vec::new();
                for id in m.instructions_of(here) {
                    if m.called_computations(id).next().is_some() && self.signature(id)?.traits.per_instruction {
                        inner.extend(m.called_computations(id));
                    }
                }
                pending.push((here, Some(inner.clone())));
                pending.extend(inner.into_iter().rev().map(|c| (c, None)));
            }
        }
        Ok(order)
    }
}

/// A computation under preparation. Dropped by an error or an interrupt, it is prepared again when it is asked for.
struct Unfinished<'a, P: RuleProvider> {
    questions: &'a Questions<'a, P>,
    computation: (ComputationId, bool),
}

impl<P: RuleProvider> Drop for Unfinished<'_, P> {
    fn drop(&mut self) {
        self.questions.cache().deep_calls.prepared.remove(&self.computation);
    }
}

/// How deeply calls of any kind nest in a module.
fn depth_of_calls(m: &Module) -> u32 {
    let mut depth = vec![1u32; m.computations().len()];
    for c in m.callees_first() {
        let inner =
            m.instructions_of(c).flat_map(|id| m.called_computations(id)).map(|inner| depth[inner as usize]).max();
        depth[c as usize] = 1 + inner.unwrap_or(0);
    }
    depth.into_iter().max().unwrap_or(0)
}
