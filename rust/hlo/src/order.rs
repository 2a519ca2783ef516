//! Orders of graphs whose nodes are numbers.

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
