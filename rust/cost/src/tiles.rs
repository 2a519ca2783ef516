//! The tiling parameters of an output, and the maps from them to the other outputs of a kernel.

use cancel::poll;
use flow::indexing::Direction;
use flow::maps::{is_identity_on, SIMPLIFY};
use flow::parameters::{numbers_of, Numbers, Parameters};
use flow::propagate::{Propagation, State};
use flow::provider::{Rule, RuleProvider};
use flow::query::Questions;
use flow::schedule::{Schedule, Step};
use flow::shapes::{self, ShapeIndex};
use hlo::{InstructionId, Module};
use layout::Shape;
use quasiaffine::{Expr, Kind, Map};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::tuning::MAX_TIED_OUTPUTS;

/// The tiling parameters of one of some arrays of the first value of a schedule, and for each of these arrays the
/// map from the parameters to it; `None` if the tiles of the tiled array do not determine it.
pub fn parameters<P: RuleProvider>(
    questions: &Questions<'_, P>,
    schedule: &Schedule,
    indices: &[ShapeIndex],
    tiled: usize,
) -> Result<(Parameters, Vec<Option<Map>>), P::Error> {
    let (m, mut rule) = (questions.m, questions.rule(false));
    let (Some(&start), Some(index)) = (schedule.order.first(), indices.get(tiled)) else {
        return Ok(Default::default());
    };
    let array = |index: &ShapeIndex| shapes::at(m.shape(start), index);
    let parallel = shapes::sizes_at(m.shape(start), index);
    let parameters = Parameters::collect(m, schedule, indices, parallel, &mut rule)?;
    let identity = parameters.identity();
    if indices.len() == 1 {
        return Ok((parameters, vec![identity]));
    }
    let from = identity.clone().map(|map| (index.clone(), map));
    let alone = questions.from_parameters(schedule, &parameters, from.as_slice())?;
    let mut maps = Vec::new();
    for (k, other) in indices.iter().enumerate() {
        let (value, at) = origin(m, schedule, start, other.clone(), &mut rule)?;
        let entries = alone.state(value).filter(|_| value != start).into_iter().flat_map(|state| state.entries());
        let mut reached = entries.filter(|(index, _)| **index == at).map(|(_, e)| &e.map);
        maps.push(match (reached.next(), reached.next()) {
            _ if k == tiled => identity.clone(),
            (Some(map), None) => Some(map.clone()),
            (Some(_), Some(_)) => None,
            (None, _) => match array(other) {
                None => None,
                Some(shape) if shapes::sizes(shape).eq(parameters.parallel.iter().copied()) => identity.clone(),
                Some(shape) if indices.len() > MAX_TIED_OUTPUTS => beside(&parameters, shape),
                Some(shape) => {
                    let own = questions.backward(schedule, std::slice::from_ref(other), false)?;
                    let sizes: SmallVec<[i64; 6]> = shapes::sizes(shape).collect();
                    let tied = |&value| tied(&parameters, alone.state(value)?, own.state(value)?, &sizes);
                    let found = schedule.order.iter().skip(1).find_map(tied);
                    found.or_else(|| beside(&parameters, shape))
                }
            },
        });
    }
    drop(alone);
    Ok((parameters, maps))
}

/// The parameters of loops inside each other, for every place where a tile runs a loop that has no others inside.
///
/// A loop is inside those on whose steps the elements depend that its instruction computes, by a map to it; each map is
/// a place of its own. Elements that depend on no step of a loop are computed before it.
pub fn nests(parameters: &Parameters, states: &Propagation<'_>) -> Vec<Numbers> {
    let n_parallel = parameters.parallel.len();
    let (mut found, mut around) = (Vec::new(), FxHashSet::default());
    for (&id, of_maps) in parameters.loops() {
        poll();
        let has_all_of = |other: &Numbers, own: &Numbers| own != other && own.iter().all(|k| other.contains(k));
        let own: Vec<&Numbers> =
            of_maps.iter().filter(|own| !of_maps.iter().any(|other| has_all_of(other, own))).collect();
        let state = states.state(id);
        let places: FxHashSet<&Map> = state.into_iter().flat_map(State::entries).map(|(_, e)| &e.map).collect();
        if state.is_some_and(|state| state.unknown().is_some()) {
            found.extend(own.iter().map(|&own| own.clone()));
        }
        for place in places {
            let is_step = |&number: &u32| number as usize >= n_parallel;
            let outer: Numbers = numbers_of(place).unwrap_or_default().into_iter().filter(is_step).collect();
            found.extend(own.iter().map(|own| {
                let mut nest: Numbers = outer.iter().chain(own.iter()).copied().collect();
                nest.sort_unstable();
                nest.dedup();
                nest
            }));
            around.insert(outer);
        }
    }
    // A nest within another one is all that is around some loop: the steps on which that loop's elements depend are
    // those of the last nest on the way to it, or fewer.
    found.retain(|nest| !around.contains(nest));
    found
}

/// The array from which the elements of an array come unchanged, through calls and tuples.
fn origin<E>(
    m: &Module,
    schedule: &Schedule,
    mut id: InstructionId,
    mut index: ShapeIndex,
    rule: &mut Rule<'_, E>,
) -> Result<(InstructionId, ShapeIndex), E> {
    while let Some(position) = schedule.position(id) {
        match schedule.steps[position as usize] {
            Step::Enter(value) | Step::Leave { operand: value, .. } => id = value,
            Step::Rule if !index.is_empty() && m.operands(id).len() > 0 => {
                let indexing = rule(id, &index, Direction::Backward)?;
                let [(k, part)] = &indexing.parts[..] else { break };
                let Some([(to, map)]) = part.footprint().filter(|f| f.exact).map(|f| &f.maps[..]) else { break };
                let Some(operand) = m.operand(id, *k as usize) else { break };
                if !is_identity_on(map, &indexing.sizes) {
                    break;
                }
                (id, index) = (operand, to.clone());
            }
            _ => break,
        }
    }
    Ok((id, index))
}

/// The map from the parameters to an output that is independent of the tiled one and has as many elements: it pairs
/// elements with equal row-major positions.
fn beside(parameters: &Parameters, shape: &Shape) -> Option<Map> {
    let identity = parameters.identity()?;
    let sizes: SmallVec<[i64; 6]> = shapes::sizes(shape).collect();
    let count = |sizes: &[i64]| sizes.iter().try_fold(1i64, |n, &size| n.checked_mul(size));
    if count(&sizes)? != count(&parameters.parallel)? {
        return None;
    }
    let mut position = Expr::Const(0);
    for (k, &n) in parameters.parallel.iter().enumerate() {
        position = position.scale(n).ok()?.add(&Expr::dim(k as u32)).ok()?;
    }
    let mut results: SmallVec<[Expr; 4]> = SmallVec::new();
    let mut stride = 1i64;
    for &n in sizes.iter().rev() {
        let quotient = position.floor_div(&Expr::Const(stride)).ok()?;
        results.push(quotient.floor_mod(&Expr::Const(n)).ok()?);
        stride = stride.checked_mul(n)?;
    }
    results.reverse();
    Some(identity.with_results_unchecked(results.into_vec()).simplify(SIMPLIFY))
}

/// The map to an output of these sizes whose dimensions correspond to dimensions of the tiled output: dimensions
/// that lead to the same elements of a value, given by the maps to it from the parameters and from the output.
fn tied(parameters: &Parameters, tiled: &State, own: &State, sizes: &[i64]) -> Option<Map> {
    let mut ties: SmallVec<[Option<u32>; 6]> = SmallVec::from_elem(None, sizes.len());
    for ((at, a), (index, b)) in tiled.entries().flat_map(|a| own.entries().map(move |b| (a, b))) {
        if at != index || a.map.results().len() != b.map.results().len() {
            continue;
        }
        for pair in a.map.results().iter().zip(b.map.results()) {
            let (Expr::Var(x), Expr::Var(y)) = pair else { continue };
            let size = parameters.parallel.get(x.index as usize);
            let tie = ties.get_mut(y.index as usize).filter(|_| x.kind == Kind::Dim && y.kind == Kind::Dim);
            if let Some(tie) = tie.filter(|_| size == sizes.get(y.index as usize)) {
                tie.get_or_insert(x.index);
            }
        }
    }
    let ties: SmallVec<[u32; 6]> = ties.into_iter().collect::<Option<_>>()?;
    if ties.iter().enumerate().any(|(k, tie)| ties[..k].contains(tie)) {
        return None;
    }
    Some(parameters.identity()?.with_results_unchecked(ties.into_iter().map(Expr::dim).collect()))
}
