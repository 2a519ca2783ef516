//! Propagations whose maps go from tiling parameters: the dimensions of an output, then every range that a rule adds on
//! the way.
//!
//! An instruction and the place among the ranges of its rule identify a range, so that both operands of a dot read
//! along one parameter. Before two maps are composed, the ranges of the second become dimensions (`Parameters::lift`),
//! which simplification neither merges nor drops. Ranges of an operand that only supplies runtime values, such as the
//! index vectors of a gather, are not parameters: there is nothing to tile.
//!
//! A program has as many parameters as contractions, and a map uses a few of them: its dimensions are those of the output
//! and the parameters that it uses, in the order of their numbers, and each has the name of its parameter. [`over`] adds
//! the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hlo::{InstructionId, Module};
use layout::Shape;
use quasiaffine::State;
use quasiaffine::{Domain, Expr, Interval, Kind, Map, Var, Variable};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::indexing::{Direction, InstructionIndexing};
use crate::maps::{is_whole, SIMPLIFY};
use crate::provider::Rule;
use crate::schedule::{Schedule, Step, Use};
use crate::shapes::ShapeIndex;

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

/// Numbers of parameters.
pub type Numbers = SmallVec<[u32; 4]>;

/// The tiling parameters of an output.
#[derive(Debug, Default)]
pub struct Parameters {
    /// The sizes of the output's dimensions, which are the first parameters.
    pub parallel: SmallVec<[i64; 6]>,
    /// The other parameters, in the order of the traversal, users first.
    pub sequential: Vec<Parameter>,
    numbers: FxHashMap<Parameter, u32>,
    loops: BTreeMap<InstructionId, BTreeSet<Numbers>>,
    names: Vec<Arc<str>>,
    /// The operands that supply runtime values.
    suppliers: FxHashSet<Use>,
}

impl Parameters {
    /// Collects the parameters of everything reached from some arrays of the first value of a schedule, for tiles of an
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
                            let Some(operand) = m.operand(id, *k as usize) else { continue };
                            part.footprint().into_iter().flat_map(|f| &f.maps).for_each(|(to, _)| reach(operand, to));
                        }
                    }
                }
            }
        }
        found.names = (0..found.len()).map(|k| format!("{NAME}{k}").into()).collect();
        Ok(found)
    }

    fn add(&mut self, m: &Module, id: InstructionId, indexing: &InstructionIndexing) {
        let suppliers = suppliers(indexing);
        for (k, part) in &indexing.parts {
            if m.operand(id, *k as usize).is_some_and(|operand| suppliers.contains(&i64::from(operand))) {
                self.suppliers.insert((id, *k));
                continue;
            }
            // A map without points has no range to step through: a parameter of it would leave no tile at all.
            let maps = part.footprint().into_iter().flat_map(|f| &f.maps).map(|(_, map)| map);
            for map in maps.filter(|map| map.state() == State::Defined && map.domain().n_ranges > 0) {
                let mut own = Numbers::new();
                for (position, range) in map.domain().ranges().iter().enumerate() {
                    let parameter = Parameter { instruction: id, position: position as u32, interval: range.interval };
                    let next = (self.parallel.len() + self.sequential.len()) as u32;
                    let number = *self.numbers.entry(parameter).or_insert(next);
                    if number == next {
                        self.sequential.push(parameter);
                    }
                    own.push(number);
                }
                own.sort_unstable();
                self.loops.entry(id).or_default().insert(own);
            }
        }
    }

    /// The number of parameters.
    pub fn len(&self) -> usize {
        self.parallel.len() + self.sequential.len()
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn size(&self, number: u32) -> i64 {
        match self.parallel.get(number as usize) {
            Some(&size) => size,
            None => {
                let interval = self.sequential[number as usize - self.parallel.len()].interval;
                i64::try_from(interval.size()).unwrap_or(i64::MAX)
            }
        }
    }

    /// The number of values of each parameter.
    pub fn sizes(&self) -> Vec<i64> {
        (0..self.len() as u32).map(|number| self.size(number)).collect()
    }

    fn variable(&self, number: u32) -> Variable {
        let name = self.names.get(number as usize).cloned();
        Variable { name, ..Variable::new(Interval::new(0, self.size(number).saturating_sub(1))) }
    }

    /// The map from the parameters to the output.
    pub fn identity(&self) -> Option<Map> {
        let n_dims = self.parallel.len();
        let vars = (0..n_dims as u32).map(|number| self.variable(number)).collect();
        let domain = Domain { vars, n_dims, n_ranges: 0, constraints: Vec::new() };
        Map::new(domain, (0..n_dims as u32).map(Expr::dim)).ok()
    }

    /// For each instruction with such parameters those of each map of its rule, in order: loops inside each other.
    pub fn loops(&self) -> &BTreeMap<InstructionId, BTreeSet<Numbers>> {
        &self.loops
    }

    /// Whether a map leads to all elements of an array, for all values of the parameters.
    pub(crate) fn has_all(&self, map: &Map, shape: &Shape) -> bool {
        let dims = map.domain().dims();
        let is_all = |(v, &n): (&Variable, &i64)| v.interval == Interval::new(0, n.saturating_sub(1));
        dims.len() == self.parallel.len() && dims.iter().zip(&self.parallel).all(is_all) && is_whole(map, shape)
    }

    /// The parameters that all of these maps use, each with its values in any of them.
    pub(crate) fn common(&self, maps: &[Map]) -> SmallVec<[Variable; 4]> {
        let mut found: Option<SmallVec<[Variable; 4]>> = None;
        for dims in maps.iter().map(|m| m.domain().dims()) {
            let Some(common) = &mut found else {
                found = Some(dims.into());
                continue;
            };
            common.retain(|v| {
                let other = dims.iter().find(|w| w.name == v.name).map(|w| w.interval);
                v.interval = other.map_or(v.interval, |r| v.interval.hull(r));
                other.is_some()
            });
        }
        found.unwrap_or_default()
    }

    /// The map of `first`, then a map of the rule of a user to its operand, with the ranges of the rule as parameters.
    pub fn compose(&self, usage: Use, first: &Map, second: &Map) -> quasiaffine::Result<Map> {
        let unnamed: Map;
        let second = match second.domain().vars.iter().any(|v| number_of(v).is_some()) {
            true => {
                unnamed = without_names(second);
                &unnamed
            }
            false => second,
        };
        let lifted = if self.suppliers.contains(&usage) { None } else { self.lift(usage.0, first, second)? };
        self.used_alone(&match lifted {
            Some((first, second)) => first.compose(&second, SIMPLIFY)?,
            None => first.compose(second, SIMPLIFY)?,
        })
    }

    /// A map without the sequential parameters that it does not use.
    pub(crate) fn used_alone(&self, map: &Map) -> quasiaffine::Result<Map> {
        let (domain, n_parallel) = (map.domain(), self.parallel.len());
        if domain.n_dims == n_parallel || map.state() != State::Defined {
            return Ok(map.clone());
        }
        let numbers = numbers_of(map)?;
        let mut used: SmallVec<[bool; 8]> = SmallVec::from_elem(false, domain.n_dims);
        let mut mark = |e: &Expr| {
            e.for_each_var(&mut |v| {
                if v.kind == Kind::Dim {
                    used[v.index as usize] = true;
                }
            });
        };
        map.expressions().for_each(&mut mark);
        let is_used = |k: usize| {
            let all = Interval::new(0, self.size(numbers[k]).saturating_sub(1));
            k < n_parallel || used[k] || domain.vars[k].interval != all
        };
        let kept: SmallVec<[u32; 8]> = (0..domain.n_dims).filter(|&k| is_used(k)).map(|k| numbers[k]).collect();
        over(map, &kept, &|number| self.variable(number))
    }

    /// Both maps with the ranges of the second as further results of the first and dimensions of the second.
    fn lift(&self, id: InstructionId, first: &Map, second: &Map) -> quasiaffine::Result<Option<(Map, Map)>> {
        let domain = second.domain();
        if domain.n_ranges == 0 || first.state() != State::Defined || second.state() != State::Defined {
            return Ok(None);
        }
        let number = |(position, range): (usize, &Variable)| {
            let parameter = Parameter { instruction: id, position: position as u32, interval: range.interval };
            self.numbers.get(&parameter).copied()
        };
        let own: Option<SmallVec<[u32; 4]>> = domain.ranges().iter().enumerate().map(number).collect();
        let Some(own) = own else { return Ok(None) };
        let mut numbers: SmallVec<[u32; 8]> = numbers_of(first)?.into_iter().chain(own.iter().copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let first = over(first, &numbers, &|number| self.variable(number))?;
        let mut results: SmallVec<[Expr; 4]> = first.results().into();
        for (range, number) in domain.ranges().iter().zip(own) {
            let at = numbers.binary_search(&number).unwrap_or_default() as u32;
            results.push(Expr::dim(at).add(&Expr::Const(range.interval.lo))?);
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
        Ok(Some((first.with_results_unchecked(results.into_vec()), second.substituted(lifted, &replace)?)))
    }
}

const NAME: &str = "parameter";

fn number_of(v: &Variable) -> Option<u32> {
    v.name.as_deref()?.strip_prefix(NAME)?.parse().ok()
}

/// The numbers of the parameters that are a map's dimensions.
///
/// # Errors
/// [`Error::Name`](quasiaffine::Error::Name) if a dimension is not a parameter.
pub fn numbers_of(map: &Map) -> quasiaffine::Result<SmallVec<[u32; 8]>> {
    let dims = map.domain().dims();
    let numbers: SmallVec<[u32; 8]> = dims.iter().filter_map(number_of).collect();
    match numbers.len() == dims.len() {
        true => Ok(numbers),
        false => Err(quasiaffine::Error::Name("expected the names of tiling parameters".into())),
    }
}

/// A map without names of parameters.
pub fn without_names(map: &Map) -> Map {
    let mut domain = map.domain().clone();
    domain.vars.iter_mut().filter(|v| number_of(v).is_some()).for_each(|v| v.name = None);
    match map.state() {
        State::Defined => Map::new_unchecked(domain, map.results().into()),
        State::Empty => Map::empty(&domain),
        State::Undefined => Map::undefined(&domain),
    }
}

/// A map over other parameters, which include all that it uses; `variable` makes the missing ones.
pub fn over(map: &Map, numbers: &[u32], variable: &dyn Fn(u32) -> Variable) -> quasiaffine::Result<Map> {
    let (domain, known) = (map.domain(), numbers_of(map)?);
    if known[..] == *numbers {
        return Ok(map.clone());
    }
    let replace = |v: Var| {
        let number = known.get(v.index as usize).filter(|_| v.kind == Kind::Dim);
        let at = number.and_then(|number| numbers.binary_search(number).ok());
        Ok(at.map_or(Expr::Var(v), |at| Expr::dim(at as u32)))
    };
    let dims = numbers.iter().map(|&number| match known.binary_search(&number) {
        Ok(at) => domain.vars[at].clone(),
        Err(_) => variable(number),
    });
    let vars = dims.chain(domain.vars[domain.n_dims..].iter().cloned()).collect();
    let own = Domain { vars, n_dims: numbers.len(), n_ranges: domain.n_ranges, constraints: Vec::new() };
    map.substituted(own, &replace)
}

fn suppliers(indexing: &InstructionIndexing) -> FxHashSet<i64> {
    if indexing.has_runtime {
        indexing.sources()
    } else {
        FxHashSet::default()
    }
}
