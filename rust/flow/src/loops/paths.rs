//! Paths through a loop as compositions of few maps.
//!
//! A path stays in a group for some iterations, and then ends or leaves it along an edge; what follows is known, since
//! the groups to which edges lead come first. The leaves of a loop have few maps that differ, about one in eight, so
//! compositions are remembered.

use std::cell::RefCell;
use std::sync::Arc;

use cancel::poll;
use quasiaffine::{fewest, merge, Coalesced, Counting, Expr, Interval, Map, Result};
use quasiaffine::{Options, State};
use rustc_hash::FxHashMap;

use super::build::{dim, dims, map, value_of, Bounds};
use super::forms::pieces_of;
use super::rotations::{from_elsewhere, is_in_slot};
use super::stacked::{is_within, iteration_of};
use super::unions::{drop_ranges, without_last_result};
use super::{Edge, Leaf, LoopMaps, Piece, Reached, Through, Window};
use crate::indexing::Footprint;
use crate::maps::solve_alone;
use crate::reads::Text;
use crate::tuning::MAX_LOOP_MAPS;

/// Compositions, and unions in few maps, that were asked for before.
#[derive(Default)]
pub(super) struct Memo {
    then: FxHashMap<(Map, Map), Map>,
    fewest: FxHashMap<Vec<Map>, Vec<Map>>,
    merged: FxHashMap<Vec<Entry>, Vec<(usize, Map)>>,
    /// Whether an edge of this map relates only elements of a window.
    within: RefCell<FxHashMap<(Map, Window), bool>>,
}

impl Memo {
    fn then(&mut self, first: &Map, second: &Map) -> Result<Map> {
        let key = (first.clone(), second.clone());
        if let Some(found) = self.then.get(&key) {
            return Ok(found.clone());
        }
        poll();
        let found = simplest(&first.then(second)?);
        self.then.insert(key, found.clone());
        Ok(found)
    }

    /// As [`without_contained`].
    pub(super) fn without_contained(&mut self, entries: Vec<Reached>) -> Vec<Reached> {
        if entries.len() < 2 {
            return entries;
        }
        let merged = self.merged.entry(plain(&entries)).or_insert_with_key(|entries| merged(entries));
        merged.iter().map(|(first, map)| Reached { map: map.clone(), reason: entries[*first].reason.clone() }).collect()
    }

    /// The union in few maps, as one would write them.
    fn fewest(&mut self, maps: Vec<Map>) -> Vec<Map> {
        if maps.len() < 2 {
            return maps;
        }
        let few = |maps: &Vec<Map>| fewest(maps).into_iter().map(|found| found.map).collect();
        self.fewest.entry(maps).or_insert_with_key(few).clone()
    }
}

/// A map, and whether it is exact.
type Entry = (Map, bool);

fn plain(entries: &[Reached]) -> Vec<Entry> {
    entries.iter().map(|e| (e.map.clone(), e.reason.is_none())).collect()
}

pub(super) fn simplest(m: &Map) -> Map {
    let compact = m.compact_ranges(Options::default());
    let n = compact.domain().n_ranges;
    let fewer = drop_ranges(compact);
    if fewer.domain().n_ranges < n {
        fewer.compact_ranges(Options::default())
    } else {
        fewer
    }
}

fn reached(found: &mut Vec<Reached>, map: Map, reason: Option<&Text>) {
    if map.state() != State::Empty {
        found.push(Reached { map, reason: reason.cloned() });
    }
}

impl LoopMaps {
    /// The maps from (element, clock) of a leaf to the end of all paths. `written`, forward: the elements were written
    /// by the iteration before the clock, and are not written again.
    pub(super) fn paths_from(&mut self, leaf: Leaf, written: bool) -> Result<Arc<Through>> {
        if let Some(found) = self.through.get(&(leaf, written)) {
            return Ok(found.clone());
        }
        let found = Arc::new(self.paths(leaf, written)?);
        self.through.insert((leaf, written), found.clone());
        Ok(found)
    }

    fn paths(&mut self, start: Leaf, written: bool) -> Result<Through> {
        let number = self.group_of[start].unwrap_or_default();
        let leaves = self.groups[number].leaves.clone();
        let mut found = Through::new();
        let mut arrivals: Vec<((Leaf, bool), Vec<Reached>)> = Vec::new();
        for leaf in leaves {
            let pieces = match written {
                true => vec![self.time.whole(leaf)?],
                false => pieces_of(&self.time, &self.groups[number], start, leaf)?,
            };
            for piece in &pieces {
                let end = self.to_end(start, piece)?;
                reached(value_of(&mut found, leaf), end, piece.reason.as_ref());
                let mut before = None;
                for i in 0..self.edges[leaf].as_ref().map_or(0, Vec::len) {
                    let Some((edge, target)) = self.edge(leaf, i).map(|e| (e, e.target)) else { continue };
                    if self.group_of[target] == Some(number) {
                        continue;
                    }
                    let (clocked, reason) = (edge.by_clock.clone(), edge.reason.clone());
                    let along = match self.writes(number, leaf, i)? {
                        Some(first) => self.memo.then(&first, &self.time.whole(start)?.map)?,
                        None => match &before {
                            Some(before) => Map::clone(before),
                            None => {
                                let any = self.before_any(start)?;
                                before.insert(self.memo.then(&any, &piece.map)?).clone()
                            }
                        },
                    };
                    if self.is_end(target) {
                        let end = self.memo.then(&along, &without_last_result(&clocked))?;
                        reached(value_of(&mut found, target), end, piece.reason.as_ref().or(reason.as_ref()));
                        continue;
                    }
                    let along = self.memo.then(&along, &clocked)?;
                    let arrival = (target, self.arrives_written(leaf, i)?);
                    let target = value_of(&mut arrivals, arrival);
                    reached(target, along, piece.reason.as_ref().or(reason.as_ref()));
                }
            }
        }
        for ((target, is_written), firsts) in arrivals {
            let firsts = self.memo.without_contained(firsts);
            let following = self.paths_from(target, is_written)?;
            for (leaf, seconds) in following.iter() {
                let entries = value_of(&mut found, *leaf);
                for first in &firsts {
                    self.followed(entries, first, seconds)?;
                }
            }
        }
        let mut few = Through::new();
        for (leaf, entries) in found {
            if !entries.is_empty() {
                few.push((leaf, self.few(entries, leaf)));
            }
        }
        Ok(few)
    }

    /// Whether every path from a leaf stays where it is.
    fn is_end(&self, leaf: Leaf) -> bool {
        let is_kept = self.group_of[leaf].is_some_and(|number| self.groups[number].kind == super::Kind::Kept);
        is_kept && self.edges[leaf].iter().flatten().all(|e| e.target == leaf)
    }

    fn edge(&self, leaf: Leaf, i: usize) -> Option<&Edge> {
        self.edges[leaf].as_ref()?.get(i)
    }

    fn followed(&mut self, found: &mut Vec<Reached>, first: &Reached, following: &[Reached]) -> Result<()> {
        for second in following {
            let map = self.memo.then(&first.map, &second.map)?;
            reached(found, map, first.reason.as_ref().or(second.reason.as_ref()));
        }
        Ok(())
    }

    /// From (element, clock) by some iterations in a group to the end of the path.
    fn to_end(&self, start: Leaf, piece: &Piece) -> Result<Map> {
        let n = self.time.sizes[start].len();
        let end = if self.time.backward { 0 } else { self.time.n };
        let results = dims(n + 1).chain([Expr::Const(end)]).collect();
        let m = map(&self.with_clock(start), &[], results, Vec::new());
        Ok(simplest(&without_last_result(&m.then(&piece.map)?)))
    }

    fn with_clock(&self, leaf: Leaf) -> Vec<Bounds> {
        self.time.bounds_with(leaf, self.time.n + 1)
    }

    /// From (element, clock) to (element, clock, the clock before any iteration).
    fn before_any(&self, start: Leaf) -> Result<Map> {
        let n = self.time.sizes[start].len();
        let before = Expr::range(0).add(&Expr::Const(i64::from(self.time.backward)))?;
        let results = dims(n + 1).chain([before]).collect();
        Ok(map(&self.with_clock(start), &[(0, self.time.n - 1)], results, Vec::new()))
    }

    /// Backward, along an edge from the elements that an iteration writes: from (element, clock) to (element, clock,
    /// the clock after the one iteration that writes the element). Later ones do not write it.
    fn writes(&self, number: usize, leaf: Leaf, i: usize) -> Result<Option<Map>> {
        if let (Some(rotation), Some(edge), true) =
            (&self.groups[number].rotation, self.edge(leaf, i), self.time.backward)
        {
            // All iterations write other elements.
            if is_in_slot(&self.time, leaf, &edge.map, rotation)? {
                return Ok(Some(self.before_any(leaf)?));
            }
        }
        let (Some(window), Some(edge)) = (&self.groups[number].window, self.edge(leaf, i)) else { return Ok(None) };
        if !self.time.backward || !self.is_inside(edge, window)? {
            return Ok(None);
        }
        let n = self.time.sizes[leaf].len();
        let t = iteration_of(window, &dim(window.dim))?;
        let results = dims(n + 1).chain([t.add(&Expr::Const(1))?]).collect();
        let constraints = vec![(t.clone(), 0, self.time.n - 1), (dim(n).sub(&t)?, 1, self.time.n)];
        Ok(Some(map(&self.with_clock(leaf), &[], results, constraints)))
    }

    /// Whether an edge leads to elements that the same iteration writes, and no later one.
    fn arrives_written(&self, leaf: Leaf, i: usize) -> Result<bool> {
        let Some(edge) = self.edge(leaf, i).filter(|_| !self.time.backward) else { return Ok(false) };
        let Some(number) = self.group_of[edge.target] else { return Ok(false) };
        if let Some(rotation) = &self.groups[number].rotation {
            return is_in_slot(&self.time, edge.target, &edge.map, rotation);
        }
        let target = self.groups[number].window.as_ref();
        target.map_or(Ok(false), |window| self.is_inside(edge, window))
    }

    fn is_inside(&self, edge: &Edge, window: &Window) -> Result<bool> {
        let key = (edge.map.clone(), window.clone());
        if let Some(known) = self.memo.within.borrow().get(&key) {
            return Ok(*known);
        }
        let found = is_within(&self.time, &edge.map, window)?;
        self.memo.within.borrow_mut().insert(key, found);
        Ok(found)
    }

    /// Distinct entries; too many become one.
    fn few(&mut self, entries: Vec<Reached>, leaf: Leaf) -> Vec<Reached> {
        let distinct = self.memo.without_contained(entries);
        if distinct.len() <= MAX_LOOP_MAPS {
            return distinct;
        }
        let bounds = |i: usize| {
            let own = distinct.iter().map(|e| e.map.domain().dims()[i].interval);
            own.reduce(Interval::hull).map_or((0, -1), |v| (v.lo, v.hi))
        };
        let dims: Vec<Bounds> = (0..distinct[0].map.domain().n_dims).map(bounds).collect();
        let sizes = self.time.bounds(leaf);
        let whole = map(&dims, &sizes, (0..sizes.len() as u32).map(Expr::range).collect(), Vec::new());
        let name = format!("{:?}", self.indices[leaf].as_slice());
        vec![Reached { map: whole, reason: Some(Text::from(format!("more than {MAX_LOOP_MAPS} maps to leaf {name}"))) }]
    }

    /// The maps from a leaf whose group is known to all leaves.
    pub(super) fn footprint(&mut self, start: Leaf, anywhere: bool) -> Result<Footprint> {
        let sizes = self.time.bounds(start);
        let (clock, ranges) = match (anywhere, self.time.backward) {
            (true, _) => (Expr::range(0), vec![(0, self.time.n)]),
            (false, true) => (Expr::Const(self.time.n), vec![]),
            (false, false) => (Expr::Const(0), vec![]),
        };
        let begin = map(&sizes, &ranges, dims(sizes.len()).chain([clock]).collect(), Vec::new());
        let begin = Reached { map: begin, reason: None };
        let through = self.paths_from(start, false)?;
        let mut found: Vec<(Leaf, Vec<Reached>)> = Vec::with_capacity(through.len());
        for (leaf, following) in through.iter() {
            let mut entries = Vec::new();
            self.followed(&mut entries, &begin, following)?;
            found.push((*leaf, entries));
        }
        found.sort_by_key(|(leaf, _)| *leaf);
        let crosses_devices = self.crosses(start);
        let (mut maps, mut reason) = (Vec::new(), None);
        for (leaf, entries) in found {
            let entries = self.few(entries, leaf);
            reason = reason.or_else(|| entries.iter().find_map(|e| e.reason.clone()));
            let own = entries.into_iter().map(|e| from_elsewhere(&e.map)).collect::<Result<_>>()?;
            let mut few = self.memo.fewest(own);
            few.iter_mut().for_each(solve_alone);
            maps.extend(few.into_iter().map(|m| (self.indices[leaf].clone(), m)));
        }
        if crosses_devices {
            reason = reason.or_else(|| Some(Text::from("iterations exchange elements between devices")));
        }
        Ok(Footprint { maps, exact: reason.is_none(), reason, crosses_devices })
    }
}

/// The entries in fewer ones, as far as that is plain. An exact one stands for those that may contain too much.
pub(super) fn without_contained(entries: Vec<Reached>) -> Vec<Reached> {
    if entries.len() < 2 {
        return entries;
    }
    let merged = merged(&plain(&entries)).into_iter();
    merged.map(|(first, map)| Reached { map, reason: entries[first].reason.clone() }).collect()
}

/// Fewer maps, each with the number of the first entry that it stands for.
fn merged(entries: &[Entry]) -> Vec<(usize, Map)> {
    let (exact, inexact): (Vec<usize>, Vec<usize>) = (0..entries.len()).partition(|&i| entries[i].1);
    let mut found: Vec<(usize, Map)> = Vec::with_capacity(entries.len());
    for numbers in [exact, inexact] {
        let maps: Vec<Map> = numbers.iter().map(|&i| entries[i].0.clone()).collect();
        let n = found.len();
        for Coalesced { map, parts } in merge(&maps, Counting::Pairs) {
            if !found[..n].iter().any(|(_, outer)| outer.plainly_contains(&map, Counting::Pairs)) {
                found.push((numbers[parts[0]], map));
            }
        }
    }
    found.sort_by_key(|(first, _)| *first);
    found
}
