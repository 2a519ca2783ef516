//! Orders of computations and of instructions in which what is used comes first.

use crate::attribute::schema::Form;
use crate::model::module::{ComputationId, InstructionId, Module};

impl Module {
    /// All computations, callees before their callers; in text order if that is such an order.
    pub fn callees_first(&self) -> Vec<ComputationId> {
        let n = self.computations().len();
        let called: Vec<Vec<u32>> = (0..n as u32)
            .map(|c| self.instructions_of(c).flat_map(|i| self.called_computations(i)).collect())
            .collect();
        depth_first(n, |c, i| called[c as usize].get(i).copied()).0
    }

    /// The instructions of a computation in text order if operands precede their users there, or else in such an order.
    pub(crate) fn instruction_order(&self, c: ComputationId) -> Vec<InstructionId> {
        let range = self.instructions_of(c);
        let needs = |i: InstructionId| self.operands(i).chain(self.control_predecessors(i));
        if range.clone().all(|i| needs(i).all(|k| k < i)) {
            return range.collect();
        }
        let start = range.start;
        let (order, _) = depth_first(range.len(), |i, k| Some(needs(start + i).nth(k)? - start));
        order.into_iter().map(|i| start + i).collect()
    }

    pub(crate) fn control_predecessors(&self, i: InstructionId) -> impl Iterator<Item = InstructionId> + '_ {
        let start = self.instructions_of(self.computation_of(i)).start;
        let lists = self.attributes(i).iter().filter(|a| a.form == Form::Instructions);
        lists.flat_map(move |a| self.list(a.link).iter().map(move |&k| start + k))
    }
}

/// The nodes of a graph, successors before their predecessors, and the first one found that lies on a cycle;
/// `next(n, i)` is the i-th successor of n. Iterative, so that long paths do not overflow the stack.
pub(crate) fn depth_first(n: usize, next: impl Fn(u32, usize) -> Option<u32>) -> (Vec<u32>, Option<u32>) {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Open,
        Done,
    }
    let mut seen = vec![Seen::No; n];
    let (mut order, mut on_cycle) = (Vec::with_capacity(n), None);
    let mut path: Vec<(u32, usize)> = Vec::new();
    for start in 0..n as u32 {
        if seen[start as usize] != Seen::No {
            continue;
        }
        seen[start as usize] = Seen::Open;
        path.push((start, 0));
        while let Some((node, i)) = path.last_mut() {
            let Some(to) = next(*node, *i) else {
                seen[*node as usize] = Seen::Done;
                order.push(*node);
                path.pop();
                continue;
            };
            *i += 1;
            match seen[to as usize] {
                Seen::Open => on_cycle = on_cycle.or(Some(to)),
                Seen::Done => {}
                Seen::No => {
                    seen[to as usize] = Seen::Open;
                    path.push((to, 0));
                }
            }
        }
    }
    (order, on_cycle)
}
