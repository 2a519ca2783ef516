//! The reflexive transitive closure of maps: one iteration composed with itself until no new map is found.
//!
//! An array with more than [`MAX_MAPS`] maps is read as a whole, so the closure terminates.

use layout::Shape;
use quasiaffine::map::State;
use quasiaffine::{compose, simplify, Domain, Map, Options};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::indexing::{is_identity_on, ShapeIndex};
use crate::shapes;
use crate::state::whole;

/// The number of distinct maps to one array. More become one map of the whole array.
pub const MAX_MAPS: usize = 8;

/// The maps of one iteration, each with the array that its results index; without runtime variables, since an offset has
/// another value in another iteration.
pub type Step = Vec<(ShapeIndex, Map)>;

/// The maps from one array of a value to all its arrays, after any number of iterations, and to every element of the
/// arrays `all`; sorted by array. `step` is called once for each array.
pub fn closure<E: From<quasiaffine::Error>>(
    shape: &Shape,
    start: &ShapeIndex,
    all: impl Iterator<Item = ShapeIndex>,
    step: &mut dyn FnMut(&ShapeIndex) -> Result<Step, E>,
) -> Result<Vec<(ShapeIndex, Map)>, E> {
    let sizes: SmallVec<[i64; 6]> = shapes::at(shape, start).into_iter().flat_map(shapes::sizes).collect();
    let mut found: Vec<(ShapeIndex, Vec<Map>)> = Vec::new();
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
            let composed = match is_identity_on(second, &from) {
                true => simplify(&m, Options::default()),
                false => compose(&m, second, Options::default())?,
            };
            if composed.state() == State::Empty || known.contains(&composed) {
                continue;
            }
            let map = match known.len() < MAX_MAPS {
                true => composed,
                false => {
                    let Some(array) = shapes::at(shape, index) else { continue };
                    is_whole.insert(index.clone());
                    known.clear();
                    whole(&identity, array)
                }
            };
            known.push(map.clone());
            pending.push((index.clone(), map));
        }
    }
    for index in all {
        let Some(array) = shapes::at(shape, &index) else { continue };
        let at = *positions.entry(index.clone()).or_insert(found.len());
        if at == found.len() {
            found.push((index, Vec::new()));
        }
        found[at].1 = vec![whole(&identity, array)];
    }
    let mut maps: Vec<(ShapeIndex, Map)> = Vec::new();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (index, of_array) in found {
        maps.extend(of_array.into_iter().map(|map| (index.clone(), map)));
    }
    maps.retain(|(_, map)| map.state() != State::Empty);
    Ok(maps)
}
