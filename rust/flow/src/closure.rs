//! Maps of every number of iterations: those of one step composed with themselves until nothing new comes.
//!
//! Read [`closure`]. Law: what gets too many maps, or depends on an offset, is the whole array; so it ends.

use layout::Shape;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use symbolic::map::State;
use symbolic::{compose, simplify, Domain, Map, Options};

use crate::indexing::{moves_nothing, Leaf};
use crate::shapes;
use crate::state::whole;

/// One step: maps, each with the leaf that its results index.
pub type Step = Vec<(Leaf, Map)>;

/// The maps from one leaf to others, leaves in the order in which they were reached.
pub type Found = Vec<(Leaf, Vec<Map>)>;

/// From one leaf of a value to all its leaves, after any number of steps; a step is asked once for a leaf. More than
/// `max_maps` distinct maps to one leaf become one of the whole array.
pub fn closure<E: From<symbolic::Error>>(
    shape: &Shape,
    start: &Leaf,
    max_maps: usize,
    step: &mut dyn FnMut(&Leaf) -> Result<Step, E>,
) -> Result<Found, E> {
    let sizes: SmallVec<[i64; 6]> = shapes::at(shape, start).into_iter().flat_map(shapes::sizes).collect();
    let mut found = Found::new();
    let mut places: FxHashMap<Leaf, usize> = FxHashMap::default();
    let mut is_whole: FxHashSet<Leaf> = FxHashSet::default();
    let mut steps: FxHashMap<Leaf, Step> = FxHashMap::default();
    let mut pending = Vec::new();
    places.insert(start.clone(), 0);
    found.push((start.clone(), Vec::new()));
    let identity = Map::identity(Domain::of_sizes(&sizes))?;
    if !sizes.contains(&0) {
        found[0].1.push(identity.clone());
        pending.push((start.clone(), identity.clone()));
    }
    while let Some((here, m)) = pending.pop() {
        if is_whole.contains(&here) && !found[places[&here]].1.contains(&m) {
            continue;
        }
        if !steps.contains_key(&here) {
            steps.insert(here.clone(), step(&here)?);
        }
        let from: SmallVec<[i64; 6]> = shapes::at(shape, &here).into_iter().flat_map(shapes::sizes).collect();
        for (leaf, second) in &steps[&here] {
            let place = *places.entry(leaf.clone()).or_insert(found.len());
            if place == found.len() {
                found.push((leaf.clone(), Vec::new()));
            }
            let known = &mut found[place].1;
            if is_whole.contains(leaf) {
                continue;
            }
            // What an offset was in another iteration is not known.
            let composed = match second.domain().n_runtime() {
                0 if moves_nothing(second, &from) => Some(simplify(&m, Options::default())),
                0 => Some(compose(&m, second, Options::default())?),
                _ => None,
            };
            match composed {
                Some(map) if map.state() == State::Empty || known.contains(&map) => {}
                Some(map) if known.len() < max_maps => {
                    known.push(map.clone());
                    pending.push((leaf.clone(), map));
                }
                _ => {
                    is_whole.insert(leaf.clone());
                    *known = match shapes::at(shape, leaf).filter(|s| !shapes::is_empty(s)) {
                        Some(array) => whole(std::slice::from_ref(&identity), array),
                        None => Vec::new(),
                    };
                    pending.extend(known.iter().map(|map| (leaf.clone(), map.clone())));
                }
            }
        }
    }
    Ok(found)
}
