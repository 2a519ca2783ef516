//! The maps of one iteration with the iteration in place of offsets that depend on it.
//!
//! The body tells what the offset of a runtime variable is; every map is rewritten once, and maps that are then equal
//! share what is made of them.

use quasiaffine::State;
use quasiaffine::{Domain, Expr, Kind, List, Map, Result, Source, Var, Variable};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

use super::build::{dim, with_constraint, with_dim, Bounded, KEEP_POINTS};
use super::LoopBody;
use crate::reads::Text;
use crate::tuning::MAX_LOOP_MAPS;

/// The offset of a runtime variable in terms of the iteration.
#[derive(Clone, Debug)]
pub enum Offset {
    /// Equal in every iteration.
    Invariant,
    /// The value of another source, which does not change.
    Source(i64),
    /// Any value; why it is not known.
    Data(Text),
    /// One of these expressions over the iteration, `d0`, and [symbols](LoopBody::symbols), each where its condition holds.
    Pieces(Vec<(Expr, Option<Bounded>)>),
}

/// Which offset: the source of a runtime variable, the element of its value where that is constant, and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OffsetKey {
    /// The source, where there is one.
    pub source: Option<i64>,
    /// The sum of the index, of which at most one number is not 0.
    pub element: Option<i64>,
    /// The smallest value.
    pub lower: i64,
    /// The largest value.
    pub upper: i64,
}

/// The maps of one iteration of an edge, and why they may contain too much.
#[derive(Clone, Default)]
pub(super) struct Timed {
    pub maps: SmallVec<[Map; 1]>,
    pub reason: Option<Text>,
}

/// Edges that were asked for before.
#[derive(Default)]
pub(super) struct Memo {
    offsets: FxHashMap<OffsetKey, Offset>,
    timed: FxHashMap<Map, Timed>,
    compact: FxHashMap<Map, Map>,
}

impl Memo {
    /// A map of the body, over the iteration too, of which there are `n`.
    pub(super) fn edges<B: LoopBody>(&mut self, m: Map, n: i64, body: &B) -> std::result::Result<Timed, B::Error> {
        if n == 0 || m.state() != State::Defined {
            return Ok(Timed::default());
        }
        if let Some(found) = self.timed.get(&m) {
            return Ok(found.clone());
        }
        let (mut offsets, mut n_choices): (SmallVec<[Offset; 4]>, usize) = (SmallVec::new(), 1);
        for v in m.domain().runtime() {
            let offset = match self.offset(v, body)? {
                Offset::Pieces(pieces) if n_choices * pieces.len() > MAX_LOOP_MAPS => {
                    Offset::Data(Text::from("too many offsets may be clamped"))
                }
                offset => offset,
            };
            if let Offset::Pieces(pieces) = &offset {
                n_choices *= pieces.len();
            }
            offsets.push(offset);
        }
        let mut timed = Timed::default();
        for map in rewritten(&with_dim(&m, n - 1), &offsets, &|| body.symbols())? {
            let compact = self.compact(map);
            timed.maps.extend((compact.state() == State::Defined).then_some(compact));
        }
        timed.reason = offsets.into_iter().find_map(|offset| match offset {
            Offset::Data(reason) => Some(reason),
            _ => None,
        });
        self.timed.insert(m, timed.clone());
        Ok(timed)
    }

    fn offset<B: LoopBody>(&mut self, v: &Variable, body: &B) -> std::result::Result<Offset, B::Error> {
        let element = |source: &Arc<Source>| {
            let constants = source.index.iter().map(Expr::as_const).collect::<Option<SmallVec<[i64; 2]>>>();
            constants.and_then(|own| own.iter().try_fold(0i64, |sum, &i| sum.checked_add(i)))
        };
        let key = OffsetKey {
            source: v.source.as_ref().map(|source| source.id),
            element: v.source.as_ref().and_then(element),
            lower: v.interval.lo,
            upper: v.interval.hi,
        };
        if let Some(known) = self.offsets.get(&key) {
            return Ok(known.clone());
        }
        let found = body.offset(&key)?;
        self.offsets.insert(key, found.clone());
        Ok(found)
    }

    fn compact(&mut self, m: Map) -> Map {
        self.compact.entry(m).or_insert_with_key(|m| m.compact_ranges(KEEP_POINTS)).clone()
    }
}

/// A map whose last dim is the iteration, with its offsets: one map for each choice of their pieces.
fn rewritten(m: &Map, offsets: &[Offset], symbols: &dyn Fn() -> Vec<Variable>) -> Result<Vec<Map>> {
    if offsets.is_empty() {
        return Ok(vec![m.clone()]);
    }
    let domain = m.domain();
    let time = dim(domain.n_dims - 1);
    let mut ranges: SmallVec<[Variable; 6]> = domain.ranges().iter().cloned().collect();
    let mut runtime: SmallVec<[Variable; 4]> = SmallVec::new();
    let mut choices: Vec<Vec<(Expr, Option<Bounded>)>> = Vec::with_capacity(offsets.len());
    // The runtime variable of each symbol.
    let mut used: FxHashMap<u32, u32> = FxHashMap::default();
    for (v, offset) in domain.runtime().iter().zip(offsets) {
        let own = match offset {
            Offset::Invariant => {
                runtime.push(v.clone());
                vec![(Expr::runtime(runtime.len() as u32 - 1), None)]
            }
            Offset::Source(id) => {
                let source = Some(Arc::new(Source { id: *id, index: List::new() }));
                runtime.push(Variable { source, ..Variable::new(v.interval) });
                vec![(Expr::runtime(runtime.len() as u32 - 1), None)]
            }
            Offset::Data(_) => {
                ranges.push(Variable::new(v.interval));
                vec![(Expr::range(ranges.len() as u32 - 1), None)]
            }
            Offset::Pieces(pieces) => {
                for (e, _) in pieces {
                    e.for_each_var(&mut |v| {
                        if let (Some(k), false) = (v.index.checked_sub(1), used.contains_key(&v.index)) {
                            used.insert(v.index, runtime.len() as u32);
                            runtime.push(symbols().swap_remove(k as usize));
                        }
                    });
                }
                let of = |v: Var| used.get(&v.index).map_or_else(|| time.clone(), |k| Expr::runtime(*k));
                let at_time = |e: &Expr| e.substitute(&|v| Ok(of(v)));
                let timed = |(e, condition): &(Expr, Option<Bounded>)| -> Result<(Expr, Option<Bounded>)> {
                    let of = |(e, lo, hi): &Bounded| at_time(e).map(|e| (e, *lo, *hi));
                    Ok((at_time(e)?, condition.as_ref().map(of).transpose()?))
                };
                pieces.iter().map(timed).collect::<Result<_>>()?
            }
        };
        choices.push(own);
    }
    let vars = domain.dims().iter().chain(&ranges).chain(&runtime).cloned().collect();
    let free = Domain { vars, n_dims: domain.n_dims, n_ranges: ranges.len(), constraints: Vec::new() };
    let n = choices.iter().map(Vec::len).product::<usize>();
    let chosen = |number: usize| -> Result<Map> {
        // The last offset changes first.
        let (mut rest, mut values, mut conditions) = (number, vec![Expr::Const(0); choices.len()], Vec::new());
        for (k, own) in choices.iter().enumerate().rev() {
            let (value, condition) = &own[rest % own.len()];
            rest /= own.len();
            values[k] = value.clone();
            conditions.extend(condition.clone());
        }
        let replace = |v: Var| match v.kind {
            Kind::Runtime => Ok(values[v.index as usize].clone()),
            _ => Ok(Expr::Var(v)),
        };
        let one = m.substituted(free.clone(), &replace)?;
        Ok(conditions.into_iter().fold(one, |m, condition| with_constraint(&m, condition)))
    };
    (0..n).map(chosen).collect()
}
