//! Groups of leaves that depend on each other: strongly connected components, the last ones first.

use super::{forms, phases, rotations, stacked, Edge, Group, Kind, Leaf, LoopBody, LoopMaps};
use rustc_hash::FxHashMap;

use crate::tuning::MAX_WAITING;

/// The search for components, without recursion.
#[derive(Default)]
struct Search {
    /// The leaves without a group so far.
    stack: Vec<Leaf>,
    /// Where each of them stands in the stack.
    number: FxHashMap<Leaf, usize>,
    /// Where the components of the stack begin, as far as edges are followed.
    begins: Vec<usize>,
    /// The leaves from the start to here, each with the leaves to which its edges lead and how many are done.
    path: Vec<(Leaf, Vec<Leaf>, usize)>,
}

impl Search {
    fn enter<B: LoopBody>(&mut self, maps: &mut LoopMaps, leaf: Leaf, body: &B) -> Result<(), B::Error> {
        maps.find_edges(leaf, body)?;
        let mut targets: Vec<Leaf> = Vec::new();
        for edge in maps.edges[leaf].iter().flatten() {
            if !targets.contains(&edge.target) {
                targets.push(edge.target);
            }
        }
        self.number.insert(leaf, self.stack.len());
        self.begins.push(self.stack.len());
        self.stack.push(leaf);
        self.path.push((leaf, targets, 0));
        Ok(())
    }
}

impl LoopMaps {
    /// Finds the groups that are reached from a leaf.
    pub(super) fn find_groups<B: LoopBody>(&mut self, start: Leaf, body: &B) -> Result<(), B::Error> {
        if self.group_of[start].is_some() {
            return Ok(());
        }
        let mut search = Search::default();
        search.enter(self, start, body)?;
        while let Some((leaf, targets, done)) = search.path.last_mut() {
            if let Some(&following) = targets.get(*done) {
                *done += 1;
                match search.number.get(&following) {
                    _ if self.group_of[following].is_some() => {}
                    None => search.enter(self, following, body)?,
                    // The edge closes a cycle through all leaves from there on.
                    Some(number) => search.begins.truncate(search.begins.partition_point(|begin| begin <= number)),
                }
                continue;
            }
            let number = search.number[leaf];
            search.path.pop();
            if search.begins.last() == Some(&number) {
                search.begins.pop();
                let mut leaves = search.stack.split_off(number);
                leaves.sort_unstable();
                self.close(leaves, body)?;
            }
        }
        Ok(())
    }

    /// Makes a group, with its relation over any number of iterations, and the paths from its leaves.
    fn close<B: LoopBody>(&mut self, leaves: Vec<Leaf>, body: &B) -> Result<(), B::Error> {
        let mut group = Group {
            leaves,
            kind: Kind::General,
            reason: None,
            common: None,
            window: None,
            rotation: None,
            pieces: FxHashMap::default(),
        };
        let edges = forms::inside(self, &group.leaves);
        if !forms::close(&self.time, &mut group, &edges)? {
            let mut is_closed = false;
            if let [leaf] = group.leaves[..] {
                let edges: Vec<&Edge> = edges.into_iter().map(|(_, e)| e).collect();
                let window = body.window(&self.indices[leaf])?;
                is_closed = stacked::close_window(&self.time, &mut group, &edges, window)?
                    || phases::close_in_phases(&self.time, &mut group, &edges)?;
                if !is_closed {
                    if let Some(rotation) = body.rotation(&self.indices[leaf])? {
                        is_closed = rotations::close_rotation(&self.time, &mut group, &edges, rotation)?;
                    }
                }
            }
            if !is_closed {
                forms::close_general(self, &mut group)?;
            }
        }
        // From here on the relation is complete: a question that is interrupted leaves only paths to be found.
        let is_large = group.common.is_some();
        let (leaves, has_window) = (group.leaves.clone(), group.window.is_some() || group.rotation.is_some());
        for &leaf in &leaves {
            self.group_of[leaf] = Some(self.groups.len());
        }
        self.groups.push(group);
        if is_large && self.n_waiting < MAX_WAITING {
            self.n_waiting += 1;
            return Ok(());
        }
        for leaf in leaves {
            self.paths_from(leaf, false)?;
            if has_window && !self.time.backward {
                self.paths_from(leaf, true)?;
            }
        }
        Ok(())
    }
}
