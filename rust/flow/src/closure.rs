//! The reflexive transitive closure of maps: one iteration composed with itself until no new map is found.
//!
//! Read [`closure`]. Law: an array with too many maps, or with a map that depends on a runtime offset, is read as a
//! whole, so the closure terminates.

use layout::Shape;
use quasiaffine::map::State;
use quasiaffine::{compose, simplify, Domain, Map, Options};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::indexing::{is_identity_on, ShapeIndex};
use crate::shapes;
use crate::state::whole;

/// The maps of one iteration, each with the array that its results index.
pub type Step = Vec<(ShapeIndex, Map)>;

/// The maps from one array to each array that is reached, in the order in which they were reached.
pub type Found = Vec<(ShapeIndex, Vec<Map>)>;

/// The maps from one array of a value to all its arrays, after any number of iterations. `step` is called once for each
/// array. More than `max_maps` distinct maps to one array become one map of the whole array.
pub fn closure<E: From<quasiaffine::Error>>(
    shape: &Shape,
    start: &ShapeIndex,
    max_maps: usize,
    step: &mut dyn FnMut(&ShapeIndex) -> Result<Step, E>,
) -> Result<Found, E> {
    let sizes: SmallVec<[i64; 6]> = shapes::at(shape, start).into_iter().flat_map(shapes::sizes).collect();
    let mut found = Found::new();
    let mut positions: FxHashMap<ShapeIndex, usize> = FxHashMap::default();
    let mut is_whole: FxHashSet<ShapeIndex> = FxHashSet::default();
    let mut steps: FxHashMap<ShapeIndex, Step> = FxHashMap::default();
    let mut pending = Vec::new();
    positions.insert(start.clone(), 0);
    found.push((start.clone(), Vec::new()));
    let identity = Map::identity(Domain::of_sizes(&sizes))?;
    if !sizes.contains(&0) {
        found[0].1.push(identity.clone());
        pending.push((start.clone(), identity.clone()));
    }
    while let Some((here, m)) = pending.pop() {
        if is_whole.contains(&here) && !found[positions[&here]].1.contains(&m) {
            continue;
        }
        if !steps.contains_key(&here) {
            steps.insert(here.clone(), step(&here)?);
        }
        let from: SmallVec<[i64; 6]> = shapes::at(shape, &here).into_iter().flat_map(shapes::sizes).collect();
        for (index, second) in &steps[&here] {
            let at = *positions.entry(index.clone()).or_insert(found.len());
            if at == found.len() {
                found.push((index.clone(), Vec::new()));
            }
            let known = &mut found[at].1;
            if is_whole.contains(index) {
                continue;
            }
            // The value of an offset in another iteration is unknown.
            let composed = match second.domain().n_runtime() {
                0 if is_identity_on(second, &from) => Some(simplify(&m, Options::default())),
                0 => Some(compose(&m, second, Options::default())?),
                _ => None,
            };
            match composed {
                Some(map) if map.state() == State::Empty || known.contains(&map) => {}
                Some(map) if known.len() < max_maps => {
                    known.push(map.clone());
                    pending.push((index.clone(), map));
                }
                _ => {
                    is_whole.insert(index.clone());
                    *known = match shapes::at(shape, index).filter(|s| !shapes::is_empty(s)) {
                        Some(array) => whole(std::slice::from_ref(&identity), array, None),
                        None => Vec::new(),
                    };
                    pending.extend(known.iter().map(|map| (index.clone(), map.clone())));
                }
            }
        }
    }
    Ok(found)
}
