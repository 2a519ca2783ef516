//! What rules answer: for each operand, or each output, maps or the reason why nothing is known.
//!
//! Read [`Answer`] first. The law: a map has a dimension for each size of what was asked about, and a result for each
//! dimension of the leaf that it indexes. A part that is left out reads nothing.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use symbolic::map::State;
use symbolic::{simplify, Expr, Map, Options};

use crate::reads::Union;

/// A shape index: the way from a value to one of the arrays in it.
pub type Leaf = SmallVec<[u32; 4]>;

/// A text that many share.
pub type Text = Arc<str>;

/// What belongs to one value: maps, each with the leaf that its results index.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// Distinct where they come from a walk; a rule may repeat itself.
    pub maps: Vec<(Leaf, Map)>,
    /// Whether the union is precisely what the operation mentions.
    pub exact: bool,
    /// Why it is not.
    pub reason: Option<Text>,
    /// The elements are on other devices, which the maps do not say.
    pub across: bool,
}

impl Footprint {
    /// Whether nothing is read, for certain.
    pub fn says_nothing(&self) -> bool {
        self.maps.is_empty() && self.exact && self.reason.is_none() && !self.across
    }
}

/// What is said of one operand or output.
#[derive(Clone, Debug)]
pub enum Part {
    /// Nothing is known, and why.
    Unknown(Text),
    /// These maps.
    Read(Footprint),
}

/// The parts that say something, by number.
#[derive(Debug, Default)]
pub struct Answer {
    /// The sizes of what was asked about.
    pub sizes: SmallVec<[i64; 4]>,
    /// In the order of the rule.
    pub parts: Vec<(u32, Part)>,
    /// Whether a map has a runtime variable.
    pub has_runtime: bool,
    unions: OnceLock<Vec<Vec<(Leaf, Union)>>>,
}

/// Compositions and merged offsets lose what nothing uses.
pub const TIDY: Options = Options { keep_point_dims: false, drop_unused: true, rescale: false };

impl Answer {
    /// An answer from its parts.
    pub fn new(sizes: &[i64], parts: Vec<(u32, Part)>) -> Answer {
        let has_runtime = footprints(&parts).any(|f| f.maps.iter().any(|(_, m)| m.domain().n_runtime() > 0));
        Answer { sizes: SmallVec::from_slice(sizes), parts, has_runtime, unions: OnceLock::new() }
    }

    /// Where the part of a number is.
    pub fn find(&self, number: u32) -> Option<usize> {
        // Mostly no part is left out.
        let at = number as usize;
        if self.parts.get(at).is_some_and(|(k, _)| *k == number) {
            return Some(at);
        }
        self.parts.iter().position(|(k, _)| *k == number)
    }

    /// The runtime sources in all maps.
    pub fn sources(&self) -> FxHashSet<i64> {
        let maps = footprints(&self.parts).flat_map(|f| &f.maps);
        maps.flat_map(|(_, m)| m.domain().runtime()).filter_map(|v| v.source.as_ref().map(|s| s.id)).collect()
    }

    /// The same with sources under other numbers, without what turns out empty.
    pub fn with_sources(&self, new: &dyn Fn(i64) -> Option<i64>) -> Answer {
        let moved = |f: &Footprint| {
            let maps = f.maps.iter().map(|(leaf, m)| (leaf.clone(), renumbered(m, new)));
            let maps = maps.filter(|(_, m)| m.state() != State::Empty).collect();
            Part::Read(Footprint { maps, exact: f.exact, reason: f.reason.clone(), across: f.across })
        };
        let parts = self.parts.iter().map(|(k, part)| match part {
            Part::Unknown(_) => (*k, part.clone()),
            Part::Read(f) => (*k, moved(f)),
        });
        Answer::new(&self.sizes, parts.collect())
    }

    /// For each part its maps leaf by leaf, with their texts and counts; found once.
    pub fn unions(&self) -> &[Vec<(Leaf, Union)>] {
        self.unions.get_or_init(|| self.parts.iter().map(|(_, part)| unions_of(part)).collect())
    }
}

fn footprints(parts: &[(u32, Part)]) -> impl Iterator<Item = &Footprint> {
    parts.iter().filter_map(|(_, part)| match part {
        Part::Read(f) => Some(f),
        Part::Unknown(_) => None,
    })
}

fn unions_of(part: &Part) -> Vec<(Leaf, Union)> {
    let Part::Read(f) = part else { return Vec::new() };
    let mut leaves: Vec<(&Leaf, Vec<&Map>)> = Vec::new();
    let mut sorted: Vec<&(Leaf, Map)> = f.maps.iter().collect();
    sorted.sort_by_key(|(leaf, _)| leaf);
    for (leaf, m) in sorted {
        match leaves.last_mut() {
            Some((last, maps)) if *last == leaf => {
                if !maps.contains(&m) {
                    maps.push(m);
                }
            }
            _ => leaves.push((leaf, vec![m])),
        }
    }
    leaves.into_iter().map(|(leaf, maps)| (leaf.clone(), Union::new(&maps))).collect()
}

/// A map with its sources under other numbers; those that become one make their variables one.
pub fn renumbered(m: &Map, new: &dyn Fn(i64) -> Option<i64>) -> Map {
    if m.domain().n_runtime() == 0 {
        return m.clone();
    }
    let moved = m.remap_sources(new);
    if n_sources(&moved) < n_sources(m) {
        return simplify(&moved, TIDY);
    }
    moved
}

fn n_sources(m: &Map) -> usize {
    let mut ids: SmallVec<[Option<i64>; 8]> =
        m.domain().runtime().iter().map(|v| v.source.as_ref().map(|s| s.id)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.len()
}

/// Whether a map takes every element of an array of these sizes to itself. An identity on a part of the elements only,
/// as of a concatenate's first operand, does restrict what follows.
pub fn moves_nothing(m: &Map, sizes: &[i64]) -> bool {
    let domain = m.domain();
    m.state() == State::Defined
        && domain.constraints.is_empty()
        && domain.n_dims == sizes.len()
        && domain.vars.len() == sizes.len()
        && m.results().len() == sizes.len()
        && domain.vars.iter().zip(sizes).all(|(v, &n)| v.range.lo == 0 && v.range.hi == n - 1)
        && m.results().iter().enumerate().all(|(i, e)| *e == Expr::dim(i as u32))
}
