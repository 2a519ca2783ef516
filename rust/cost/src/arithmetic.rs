//! The arithmetic operations that instructions take, and how often a fusion evaluates them.
//!
//! [`Work`] tells how the operations of an opcode are counted, and a [`Counter`] counts them. A fusion evaluates an
//! element of an inner value once for each distinct path from an output element, that is, for each point of the maps to
//! the value.

use std::collections::hash_map::Entry;
use std::iter::once;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cancel::{look_back, poll};
use flow::indexing::{Direction, OperandIndexing};
use flow::propagate::Propagation;
use flow::query::Questions;
use flow::reads::{self, Text};
use flow::schedule::{only_callee, Region, Schedule, Step};
use flow::shapes::{self, ShapeIndex};
use flow::work::{Arithmetic, Work};
use hlo::{ComputationId, InstructionId};
use layout::ArrayShape;
use quasiaffine::{Count, Map};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::operations::{Known, Operations};
use crate::rules::CostRules;

/// The operations of an instruction that are needed, and the number that is evaluated, if known.
pub type Evaluated = (Operations, Option<u128>);

/// The operations of instructions inside a fusion, or the reason why they are unknown.
pub type Inside = Vec<(InstructionId, Known<Evaluated>)>;

/// Two operations for each read.
const MULTIPLY_ADD: Operations = Operations { flops: 2, ..Operations::NOTHING };

/// The arithmetic of all evaluated instructions.
fn total_of(all: impl IntoIterator<Item = Known<Evaluated>>) -> Arithmetic {
    let found = all.into_iter().try_fold((Operations::NOTHING, Some(0u128)), |(needed, evaluated), one| {
        let one = one?;
        Known::Ok((needed.plus(one.0)?, evaluated.zip(one.1).and_then(|(a, b)| a.checked_add(b))))
    });
    let Ok((needed, evaluated)) = found else { return Arithmetic::default() };
    let recomputed = needed.sum().zip(evaluated).map(|(n, all)| if n == 0 { 1.0 } else { all as f64 / n as f64 });
    let fitting = |n: u128| i64::try_from(n).ok();
    Arithmetic { flops: fitting(needed.flops), transcendentals: fitting(needed.transcendentals), recomputed }
}

/// The points and the reached elements of distinct maps. The key has the maps, whether they are exact, and the number
/// of elements of their array.
type Counts = FxHashMap<(SmallVec<[Map; 4]>, bool, u128), (Count, Count)>;

/// The operations of computations so far, all in one module.
#[derive(Default)]
pub struct Counted {
    once: Mutex<FxHashMap<ComputationId, Known<Operations>>>,
}

/// Counts the operations of a module.
pub struct Counter<'a, P> {
    /// The questions whose answers are counted.
    pub questions: &'a Questions<'a, P>,
    /// The counts so far, all by such rules.
    pub counted: &'a Counted,
}

impl<'a, P: CostRules> Counter<'a, P> {
    fn once_so_far(&self) -> MutexGuard<'a, FxHashMap<ComputationId, Known<Operations>>> {
        look_back();
        // Entries are complete when they are inserted, so a panic elsewhere leaves them valid.
        self.counted.once.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The arithmetic of an operation or a fusion; unknown for an instruction that runs computations.
    pub fn arithmetic(&self, id: InstructionId) -> Result<Arithmetic, P::Error> {
        let traits = self.questions.signature(id)?.traits;
        match only_callee(self.questions.m, id).filter(|&called| traits.inlines && self.questions.m.is_fusion(called)) {
            Some(fused) => self.of_fusion(fused),
            None if matches!(traits.work, Work::Once | Work::Loop | Work::Branch) => Ok(Arithmetic::default()),
            None => Ok(total_of(once(self.operations(id)?.map(|all| (all, all.sum()))))),
        }
    }

    /// The arithmetic of a fused computation. If only the elements of the root are needed, the propagation that gives
    /// the indexing also gives the counts.
    fn of_fusion(&self, computation: ComputationId) -> Result<Arithmetic, P::Error> {
        let m = self.questions.m;
        let root = m.root(computation);
        let index = self.first_array(root).map(|(index, _)| index).unwrap_or_default();
        if let Some(found) = self.questions.kept_arithmetic(computation, &index) {
            return Ok(found);
        }
        let [_, updates, _] = self.outputs(computation)?;
        let (inside, found) = if updates.is_empty() && m.shape(root).as_array().is_some() {
            let schedule = self.questions.schedule_to_parameters(computation)?;
            let pass = self.questions.backward(&schedule, std::slice::from_ref(&index), false)?;
            let sizes: SmallVec<[i64; 6]> = shapes::sizes(m.shape(root)).collect();
            let inside = self.evaluated(&[(&schedule, &pass)], &[])?;
            (inside, Some(pass.to_parameters(&sizes, m.parameters(computation))))
        } else {
            (self.fused(computation)?.2, None)
        };
        let arithmetic = total_of(inside.into_iter().map(|(_, one)| one));
        self.questions.keep_arithmetic(computation, &index, found, arithmetic)?;
        Ok(arithmetic)
    }

    /// The values inside a fused computation that have to be computed, values with the shapes of the written data, and
    /// the operations of the inner instructions that have any, or whose operations are unknown.
    pub fn fused(
        &self,
        computation: ComputationId,
    ) -> Result<(Vec<InstructionId>, Vec<InstructionId>, Inside), P::Error> {
        let m = self.questions.m;
        let [starts, updates, written] = self.outputs(computation)?;
        let mut schedules = Vec::new();
        for &start in &starts {
            let arrays: Vec<ShapeIndex> = shapes::array_indices(m.shape(start)).map(|(index, _)| index).collect();
            if !arrays.is_empty() {
                let region = Region::computation(m, computation, true);
                schedules.push((self.questions.schedule(region, start)?, arrays));
            }
        }
        let passes = schedules.iter().map(|(schedule, arrays)| self.questions.backward(schedule, arrays, false));
        let passes = passes.collect::<Result<Vec<_>, _>>()?;
        let passes: Vec<_> = schedules.iter().map(|(schedule, _)| schedule).zip(&passes).collect();
        let inside = self.evaluated(&passes, &updates)?;
        Ok((starts, written, inside))
    }

    /// The values inside a fused computation that have to be computed, for updates of parameters in place only the new
    /// elements; these updates; and the values with the shapes of the written data.
    fn outputs(&self, computation: ComputationId) -> Result<[Vec<InstructionId>; 3], P::Error> {
        let m = self.questions.m;
        let root = m.root(computation);
        let is_tuple = m.shape(root).as_tuple().is_some() && self.questions.signature(root)?.traits.structural;
        let outputs: Vec<InstructionId> = if is_tuple { m.operands(root).collect() } else { vec![root] };
        let (mut starts, mut updates, mut written) = (Vec::new(), Vec::new(), Vec::new());
        for output in outputs {
            let value = self.behind_bitcasts(output)?;
            let may_update = self.questions.signature(value)?.traits.updates;
            let new = if may_update { self.questions.rules.updated_operand(value)? } else { None };
            match new.and_then(|k| m.operand(value, k)).zip(m.operands(value).next()) {
                Some((new, old)) if m.parameter_number(self.behind_bitcasts(old)?).is_some() => {
                    starts.extend(m.operands(value).skip(1));
                    updates.push(value);
                    written.push(new);
                }
                _ => {
                    starts.push(output);
                    written.push(output);
                }
            }
        }
        let mut seen = FxHashSet::default();
        starts.retain(|&start| seen.insert(start));
        Ok([if updates.is_empty() { vec![root] } else { starts }, updates, written])
    }

    fn behind_bitcasts(&self, mut value: InstructionId) -> Result<InstructionId, P::Error> {
        let m = self.questions.m;
        while m.operands(value).len() == 1 && self.questions.signature(value)?.traits.moves_nothing {
            let Some(operand) = m.operands(value).find(|&k| m.shape(k).as_tuple().is_none()) else { break };
            value = operand;
        }
        Ok(value)
    }

    /// The operations of the values that the passes reach in a fused computation, and of updates in place.
    fn evaluated(
        &self,
        passes: &[(&Schedule, &Propagation<'_>)],
        updates: &[InstructionId],
    ) -> Result<Inside, P::Error> {
        let (mut found, mut seen) = (Inside::new(), FxHashSet::default());
        let mut known = Counts::default();
        for (schedule, _) in passes {
            for (&id, step) in schedule.order.iter().zip(&schedule.steps) {
                poll();
                let is_known = passes.len() > 1 && !seen.insert(id);
                if is_known || matches!(step, Step::Enter(_)) || self.questions.m.parameter_number(id).is_some() {
                    continue;
                }
                let work = self.questions.signature(id)?.traits.work;
                let whole = if work == Work::Moves { continue } else { self.operations_of(id, work)? };
                let (whole, n) = match whole.and_then(|whole| Ok((whole, self.n_elements(id)?))) {
                    Ok((_, 0)) => continue,
                    Ok(found) => found,
                    Err(reason) => {
                        found.push((id, Err(reason)));
                        continue;
                    }
                };
                let (paths, elements) = self.count(passes, id, n, &mut known)?;
                let of_paths = |all: u128| match paths == elements {
                    true => Some(all),
                    false => Some(all.checked_mul(paths.upper)? / elements.upper),
                };
                let is_exact = paths.is_exact() && elements.is_exact() && elements.upper > 0;
                let needed = self.most_of_one(id, work, whole, n)?.map(|most| whole.of_elements(elements, n, most));
                found.push((id, needed.map(|one| (one, one.sum().filter(|_| is_exact).and_then(of_paths)))));
            }
        }
        for &id in updates {
            found.push((id, self.operations(id)?.map(|all| (all, all.sum()))));
        }
        found.retain(|(_, one)| !matches!(one, Ok((Operations { flops: 0, transcendentals: 0, .. }, _))));
        Ok(found)
    }

    /// The points of all distinct maps to a value of `n` elements, and the elements that they reach.
    fn count(
        &self,
        passes: &[(&Schedule, &Propagation<'_>)],
        id: InstructionId,
        n: u128,
        known: &mut Counts,
    ) -> Result<(Count, Count), P::Error> {
        let (mut maps, mut indices) = (SmallVec::<[&Map; 4]>::new(), SmallVec::<[&ShapeIndex; 4]>::new());
        let mut exact = true;
        let unknown = (Count { lower: 0, upper: u128::MAX }, Count { lower: 0, upper: n });
        // The arrays of a value whose elements are computed together have the sizes of the first one.
        let shape = self.questions.m.shape(id);
        let first = self.first_array(id).map(|(index, _)| shapes::sizes_at(shape, &index));
        for (_, pass) in passes {
            let state = pass.state(id);
            if state.is_some_and(|state| state.unknown().is_some()) {
                return Ok(unknown);
            }
            let Some(state) = state else { continue };
            exact = exact && state.is_exact();
            for (index, entry) in state.entries() {
                if first.as_ref().is_some_and(|first| shapes::sizes_at(shape, index) != *first) {
                    return Ok(unknown);
                }
                if !maps.contains(&&entry.map) {
                    maps.push(&entry.map);
                    indices.push(index);
                }
            }
        }
        let key = (maps.iter().map(|&map| map.clone()).collect(), exact, n);
        if let Some(&counts) = known.get(&key) {
            return Ok(counts);
        }
        let (mut paths, mut elements) = match &maps[..] {
            [one] => (one.touched(), one.distinct()),
            _ => reads::count(&maps),
        };
        // If maps share elements, bounds on the reads of the union do not bound the reads of each map.
        if maps.len() > 1 {
            paths.lower = if maps.iter().all(|map| map.touched().is_exact()) { paths.upper } else { 0 };
        }
        if !exact {
            (paths.lower, elements.lower) = (0, 0);
        }
        elements.upper = elements.upper.min(n);
        let is_one_array = indices.windows(2).all(|pair| pair[0] == pair[1]);
        if exact && elements.lower < elements.upper && (2..=reads::MAX_PAIRWISE).contains(&maps.len()) && is_one_array {
            if let Some(found) = self.questions.rules.distinct(&maps)? {
                elements = Count { lower: elements.lower.max(found.lower), upper: elements.upper.min(found.upper) };
            }
        }
        elements.lower = elements.lower.min(elements.upper);
        known.insert(key, (paths, elements));
        Ok((paths, elements))
    }

    /// The operations of the whole output of an instruction.
    pub fn operations(&self, id: InstructionId) -> Result<Known<Operations>, P::Error> {
        let work = self.questions.signature(id)?.traits.work;
        self.operations_of(id, work)
    }

    fn operations_of(&self, id: InstructionId, work: Work) -> Result<Known<Operations>, P::Error> {
        let m = self.questions.m;
        let unknown = |reason: &str| Ok(Err(Text::from(format!("{}: {reason}", m.instruction_name(id)))));
        if m.is_inconsistent(id) || m.has_unnamed_operands(id) {
            return unknown(&m.inconsistency(id).unwrap_or_else(|| "the operands have no names".into()));
        }
        let n = || self.n_elements(id).map(Count::exact);
        let (each, n) = match work {
            Work::Moves => return Ok(Ok(Operations::NOTHING)),
            Work::Each => (Ok(Operations::FLOP), n()),
            Work::Transcendental => (Ok(Operations { transcendentals: 1, ..Operations::NOTHING }), n()),
            Work::MultiplyAdds => (Ok(MULTIPLY_ADD), self.reads(id)?.map(|(all, _)| all)),
            Work::Applied => (self.of_callee(id)?, n()),
            Work::Reduced => {
                let (reads, n) = (self.reads(id)?, self.n_elements(id));
                let less =
                    |a: Count, n: u128| Count { lower: a.lower.saturating_sub(n), upper: a.upper.saturating_sub(n) };
                (self.of_callee(id)?, reads.and_then(|(all, _)| Ok(less(all, n?))))
            }
            Work::Once => (self.of_callee(id)?, Ok(Count::exact(1))),
            Work::Counted => return self.counted(id),
            Work::Loop | Work::Branch => return unknown(&format!("{}: runs computations", m.opcode_name(id))),
            Work::Unknown => {
                return unknown(&format!("{}: the operations of this opcode are unknown", m.opcode_name(id)))
            }
        };
        Ok(each.and_then(|each| each.times(n?)))
    }

    /// The operations of an instruction for one element of the output, at most; `whole` are those of all `n`.
    fn most_of_one(
        &self,
        id: InstructionId,
        work: Work,
        whole: Operations,
        n: u128,
    ) -> Result<Known<Operations>, P::Error> {
        Ok(match work {
            Work::MultiplyAdds => self.reads(id)?.and_then(|(_, most)| MULTIPLY_ADD.times(Count::exact(most))),
            Work::Reduced => {
                let (applied, reads) = (self.of_callee(id)?, self.reads(id)?);
                reads.and_then(|(_, most)| applied?.times(Count::exact(most.saturating_sub(1))))
            }
            Work::Each | Work::Transcendental | Work::Applied => {
                Ok(Operations { flops: whole.flops / n, transcendentals: whole.transcendentals / n, ..whole })
            }
            // One element may take all of them.
            _ => Ok(whole),
        })
    }

    fn counted(&self, id: InstructionId) -> Result<Known<Operations>, P::Error> {
        let found = self.questions.rules.operations(id)?;
        self.questions.signature_again(id)?; // of what it read
        let (mut total, calls) = match found {
            Ok((own, calls)) => (Ok(own), calls),
            Err(reason) => return Ok(Err(reason)),
        };
        let called: SmallVec<[ComputationId; 2]> = self.questions.m.called_computations(id).collect();
        if called.len() < calls.len() {
            let message =
                format!("{}: expected {} called computations", self.questions.m.instruction_name(id), calls.len());
            return Ok(Err(message.into()));
        }
        for (called, n) in called.into_iter().zip(calls) {
            let one = self.once(called)?.and_then(|one| one.times(Count::exact(n)));
            total = total.and_then(|total| total.plus(one?));
        }
        Ok(total)
    }

    fn of_callee(&self, id: InstructionId) -> Result<Known<Operations>, P::Error> {
        match only_callee(self.questions.m, id) {
            Some(called) => self.once(called),
            None => {
                Ok(Err(format!("{}: expected one called computation", self.questions.m.instruction_name(id)).into()))
            }
        }
    }

    /// The number of reads of operand 0 by the whole output, and by one of its elements at most.
    fn reads(&self, id: InstructionId) -> Result<Known<(Count, u128)>, P::Error> {
        let index = self.first_array(id).map(|(index, _)| index).unwrap_or_default();
        let indexing = self.questions.unplaced(id, &index, Direction::Backward)?;
        let footprint = match indexing.find(0).map(|at| &indexing.parts[at].1) {
            None => return Ok(Ok((Count::default(), 0))),
            Some(OperandIndexing::Unknown(reason)) => return Ok(Err(reason.clone())),
            Some(OperandIndexing::Known(footprint)) => footprint,
        };
        let (mut all, mut most) = (Count::default(), 0u128);
        for (_, map) in &footprint.maps {
            let reads = map.touched();
            all.lower = all.lower.saturating_add(reads.lower);
            all.upper = all.upper.saturating_add(reads.upper);
            let points = map.domain().ranges().iter().map(|v| v.interval.size());
            most = most.saturating_add(points.fold(1, u128::saturating_mul));
        }
        Ok(match all.upper {
            u128::MAX => {
                Err(format!("the reads of {} cannot be counted", self.questions.m.instruction_name(id)).into())
            }
            upper => Ok((Count { lower: if footprint.exact { all.lower } else { 0 }, upper }, most.min(upper))),
        })
    }

    /// The operations of one call of a computation. The computations that it calls come first, so that nothing
    /// recurses.
    pub fn once(&self, computation: ComputationId) -> Result<Known<Operations>, P::Error> {
        let m = self.questions.m;
        let mut path = vec![(computation, false)];
        while let Some((here, is_last)) = path.pop() {
            if is_last {
                let mut total = Ok(Operations::NOTHING);
                for id in m.instructions_of(here) {
                    poll();
                    let one = self.operations(id)?;
                    total = total.and_then(|total| total.plus(one?));
                }
                self.once_so_far().insert(here, total);
            } else if let Entry::Vacant(new) = self.once_so_far().entry(here) {
                new.insert(Err(format!("{} calls itself", m.computation_name(here)).into()));
                path.push((here, true));
                path.extend(m.instructions_of(here).flat_map(|id| m.called_computations(id)).map(|c| (c, false)));
            }
        }
        Ok(self.once_so_far()[&computation].clone())
    }

    fn first_array(&self, id: InstructionId) -> Option<(ShapeIndex, &ArrayShape)> {
        let shape = self.questions.m.shape(id);
        match shapes::array_of(shape) {
            Some(array) => Some((ShapeIndex::new(), array)),
            None => shapes::array_indices(shape).next(),
        }
    }

    /// The number of elements of the output, or of the first array in it.
    fn n_elements(&self, id: InstructionId) -> Known<u128> {
        let n = self.first_array(id).map_or(Some(0), |(_, array)| array.n_elements());
        Ok(n.ok_or_else(|| format!("{}: the number of elements is unknown", self.questions.m.instruction_name(id)))?
            as u128)
    }
}
