//! Propagations whose maps have one dimension for each tiling parameter: the dimensions of an output, then every range
//! that a rule adds on the way.
//!
//! Read [`Parameters`]. A range belongs to the instruction whose rule has it and to its place among the rule's ranges, so
//! that both operands of a dot read along one parameter. Before two maps are composed the ranges of the second become
//! dimensions (`Parameters::lift`), which simplification neither merges nor drops. Ranges of an operand that only
//! supplies runtime values, such as the index vectors of a gather, are no parameters: there is nothing to tile.

use std::sync::Arc;

use hlo::{InstructionId, Module};
use layout::Shape;
use quasiaffine::map::State;
use quasiaffine::{compose, simplify, Domain, Expr, Interval, Kind, Map, Source, Var, Variable};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::indexing::{is_identity_on, InstructionIndexing, ShapeIndex, SIMPLIFY};
use crate::propagate::{Direction, Rule};
use crate::schedule::{Schedule, Step};
use crate::shapes;
use crate::state::Use;

/// A range of a rule as a tiling parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// The instruction whose rule has the range.
    pub instruction: InstructionId,
    /// The place of the range among those of the rule.
    pub position: u32,
    /// The values of the range.
    pub interval: Interval,
}

/// The tiling parameters of an output.
#[derive(Debug, Default)]
pub struct Parameters {
    /// The sizes of the output's dimensions, which are the first parameters.
    pub parallel: SmallVec<[i64; 6]>,
    /// The others, in the order in which they are met, users first.
    pub sequential: Vec<Parameter>,
    numbers: FxHashMap<Parameter, u32>,
    /// The operands that supply runtime values.
    suppliers: FxHashSet<Use>,
}

impl Parameters {
    /// The parameters of everything that is reached from some arrays of the first value of a schedule, for tiles of an
    /// array of the sizes `parallel`.
    pub fn collect<E>(
        m: &Module,
        schedule: &Schedule,
        indices: &[ShapeIndex],
        parallel: SmallVec<[i64; 6]>,
        rule: &mut Rule<'_, E>,
    ) -> Result<Parameters, E> {
        let mut found = Parameters { parallel, ..Parameters::default() };
        let mut reached: Vec<Vec<ShapeIndex>> = vec![Vec::new(); schedule.order.len()];
        if let Some(first) = reached.first_mut() {
            first.extend_from_slice(indices);
        }
        for (position, (&id, step)) in schedule.order.iter().zip(&schedule.steps).enumerate() {
            let here = std::mem::take(&mut reached[position]);
            let mut reach = |value: InstructionId, index: &ShapeIndex| {
                let Some(at) = schedule.position(value) else { return };
                let indices = &mut reached[at as usize];
                if !indices.contains(index) {
                    indices.push(index.clone());
                }
            };
            for index in &here {
                match *step {
                    Step::Stop => {}
                    Step::Enter(value) | Step::Leave { operand: value, .. } => reach(value, index),
                    Step::Rule if m.operands(id).len() == 0 => {}
                    Step::Rule => {
                        let indexing = rule(id, index, Direction::Backward)?;
                        found.add(m, id, &indexing);
                        for (k, part) in &indexing.parts {
                            let Some(operand) = m.operands(id).nth(*k as usize) else { continue };
                            part.footprint().into_iter().flat_map(|f| &f.maps).for_each(|(to, _)| reach(operand, to));
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    fn add(&mut self, m: &Module, id: InstructionId, indexing: &InstructionIndexing) {
        let suppliers = suppliers(indexing);
        for (k, part) in &indexing.parts {
            if m.operands(id).nth(*k as usize).is_some_and(|operand| suppliers.contains(&i64::from(operand))) {
                self.suppliers.insert((id, *k));
                continue;
            }
            for (_, map) in part.footprint().into_iter().flat_map(|f| &f.maps) {
                for (position, range) in map.domain().ranges().iter().enumerate() {
                    let parameter = Parameter { instruction: id, position: position as u32, interval: range.interval };
                    let next = (self.parallel.len() + self.sequential.len()) as u32;
                    if *self.numbers.entry(parameter).or_insert(next) == next {
                        self.sequential.push(parameter);
                    }
                }
            }
        }
    }

    /// How many parameters there are.
    pub fn len(&self) -> usize {
        self.parallel.len() + self.sequential.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many values each parameter has.
    pub fn sizes(&self) -> SmallVec<[i64; 8]> {
        let sequential = self.sequential.iter().map(|p| size_of(p.interval));
        self.parallel.iter().copied().chain(sequential).collect()
    }

    /// The map from all parameters to the output.
    pub fn identity(&self) -> Option<Map> {
        let vars = self.sizes().iter().map(|&n| Variable::new(Interval::new(0, n.saturating_sub(1)))).collect();
        let domain = Domain { vars, n_dims: self.len(), n_ranges: 0, constraints: Vec::new() };
        Map::new(domain, (0..self.parallel.len() as u32).map(Expr::dim)).ok()
    }

    /// The map of `first`, then a map of the rule of a user to its operand, with the ranges of the rule as parameters.
    pub fn compose(&self, usage: Use, first: &Map, second: &Map) -> quasiaffine::Result<Map> {
        let lifted = if self.suppliers.contains(&usage) { None } else { self.lift(usage.0, first, second)? };
        match lifted {
            Some((first, second)) => compose(&first, &second, SIMPLIFY),
            None => compose(first, second, SIMPLIFY),
        }
    }

    /// Both maps with the ranges of the second as further results of the first and dimensions of the second.
    fn lift(&self, id: InstructionId, first: &Map, second: &Map) -> quasiaffine::Result<Option<(Map, Map)>> {
        let domain = second.domain();
        if domain.n_ranges == 0 || first.state() != State::Defined || second.state() != State::Defined {
            return Ok(None);
        }
        let mut results: SmallVec<[Expr; 4]> = first.results().into();
        for (position, range) in domain.ranges().iter().enumerate() {
            let parameter = Parameter { instruction: id, position: position as u32, interval: range.interval };
            let Some(&number) = self.numbers.get(&parameter) else { return Ok(None) };
            results.push(Expr::dim(number).add(&Expr::Const(range.interval.lo))?);
        }
        let n_dims = domain.n_dims as u32;
        let replace = |v: Var| {
            Ok(match v.kind {
                Kind::Range => Expr::dim(n_dims + v.index),
                _ => Expr::Var(v),
            })
        };
        let mut lifted = domain.clone();
        (lifted.n_dims, lifted.n_ranges) = (domain.n_dims + domain.n_ranges, 0);
        for c in &mut lifted.constraints {
            c.expr = c.expr.substitute(&replace)?;
        }
        for v in &mut lifted.vars {
            if let Some(source) = &v.source {
                let index = source.index.iter().map(|e| e.substitute(&replace)).collect::<quasiaffine::Result<_>>()?;
                v.source = Some(Arc::new(Source { id: source.id, index }));
            }
        }
        let exprs = second.results().iter().map(|e| e.substitute(&replace)).collect::<quasiaffine::Result<_>>()?;
        Ok(Some((first.with_results(results), Map::from_parts(lifted, exprs))))
    }
}

fn size_of(interval: Interval) -> i64 {
    interval.hi.saturating_sub(interval.lo).saturating_add(1)
}

fn suppliers(indexing: &InstructionIndexing) -> FxHashSet<i64> {
    if indexing.has_runtime {
        indexing.sources()
    } else {
        FxHashSet::default()
    }
}

/// Where the elements of an array come from unchanged: through calls and tuples.
pub fn origin<E>(
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
                let Some(operand) = m.operands(id).nth(*k as usize) else { break };
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

/// The map from the parameters to an output that does not depend on the tiled one: the elements at the same place, where
/// both have the same sizes, or as many elements in the same order.
pub fn beside(parameters: &Parameters, shape: &Shape) -> Option<Map> {
    let identity = parameters.identity()?;
    let sizes: SmallVec<[i64; 6]> = shapes::sizes(shape).collect();
    if sizes == parameters.parallel {
        return Some(identity);
    }
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
    Some(simplify(&identity.with_results(results), SIMPLIFY))
}
