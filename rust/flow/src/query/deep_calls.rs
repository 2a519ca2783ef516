//! Deeply nested calls: the innermost computations are computed first, so that stack depth does not grow with a
//! program.

use cancel::{once, poll};
use hlo::{ComputationId, Module};
use rustc_hash::FxHashSet;

use super::Questions;
use crate::indexing::Direction;
use crate::provider::RuleProvider;
use crate::shapes;
use crate::tuning::DEEP_CALLS;

/// The computations whose deep calls are computed, with the direction: whether forward.
pub(super) type Prepared = FxHashSet<(ComputationId, bool)>;

impl<P: RuleProvider> Questions<'_, P> {
    /// Whether calls nest deeply in a computation, so that they are not entered.
    pub(crate) fn is_deep(&self, computation: ComputationId) -> bool {
        once(&self.propagator.depths, || depths_of_calls(self.m))[computation as usize] > DEEP_CALLS
    }

    /// If calls nest deeply, computes the innermost computations first.
    pub(crate) fn prepare(&self, computation: ComputationId, direction: Direction) -> Result<(), P::Error> {
        let (m, is_forward) = (self.m, direction != Direction::Backward);
        for here in self.call_order(computation, is_forward) {
            self.cache().prepared.insert((here, is_forward));
            let unfinished = Unfinished { questions: self, computation: (here, is_forward) };
            // Callers then find the results for all arrays.
            let own = match is_forward {
                false => vec![(Direction::Backward, m.root(here))],
                true => m.parameters(here).iter().zip(0..).map(|(&p, k)| (Direction::Forward(k), p)).collect(),
            };
            for (direction, value) in own {
                for (index, _) in shapes::leaves(m.shape(value)) {
                    self.through((here, direction, index), false)?;
                }
            }
            std::mem::forget(unfinished);
        }
        Ok(())
    }

    /// The unprepared computations with deep calls that a computation calls, directly or indirectly, innermost first.
    fn call_order(&self, computation: ComputationId, is_forward: bool) -> Vec<ComputationId> {
        let (mut order, mut seen) = (Vec::new(), Prepared::default());
        let mut pending = vec![(computation, false)];
        while let Some((here, is_last)) = pending.pop() {
            poll();
            let key = (here, is_forward);
            if is_last {
                order.push(here);
            } else if self.is_deep(here) && !self.cache().prepared.contains(&key) && seen.insert(key) {
                pending.push((here, true));
                let inner = self.m.instructions_of(here).rev().flat_map(|id| self.m.called_computations(id));
                pending.extend(inner.map(|c| (c, false)));
            }
        }
        order
    }
}

/// A computation under preparation. If an error or an interrupt drops this, the next question prepares it again.
struct Unfinished<'a, P: RuleProvider> {
    questions: &'a Questions<'a, P>,
    computation: (ComputationId, bool),
}

impl<P: RuleProvider> Drop for Unfinished<'_, P> {
    fn drop(&mut self) {
        self.questions.cache().prepared.remove(&self.computation);
    }
}

/// The nesting depth of calls of any kind in each computation, itself included.
fn depths_of_calls(m: &Module) -> Vec<u32> {
    let mut depths = vec![1u32; m.computations().len()];
    for c in m.callees_first() {
        let called = m.instructions_of(c).flat_map(|id| m.called_computations(id));
        depths[c as usize] = 1 + called.map(|inner| depths[inner as usize]).max().unwrap_or(0);
    }
    depths
}
