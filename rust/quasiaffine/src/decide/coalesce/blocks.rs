//! Joining maps over neighbouring blocks of one dim, with a quotient of the dim.

use smallvec::SmallVec;

use super::groups::{bases, joined, with_interval};
use super::{is_same, Coalesced};
use crate::error::Result;
use crate::expr::Expr;
use crate::map::Map;
use crate::meter::Meter;
use crate::span::Interval;

/// Joins maps over neighbouring blocks of one dim whose results differ by constants: `base + step * (dim floordiv size)`.
pub(super) fn join_blocks(mut group: Vec<Coalesced>, dim: usize, meter: &mut Meter) -> Vec<Coalesced> {
    let of = |item: &Coalesced| item.map.domain().vars[dim].interval;
    group.sort_by_key(|item| (of(item).lo, item.parts[0]));
    let mut out: Vec<Coalesced> = Vec::new();
    let mut run: Vec<Coalesced> = Vec::new();
    let mut size: Option<u128> = None;
    for item in group {
        let fits = run.last().is_some_and(|last| {
            let (a, b) = (of(last), of(&item));
            let adjoins = a.hi.checked_add(1) == Some(b.lo);
            let is_step = run.len() < 2 || step_of(&run[run.len() - 2], last) == step_of(last, &item);
            // All blocks but the first and the last have the full size.
            let keeps_size = run.len() < 2 || size.is_none_or(|size| a.size() == size && b.size() <= size);
            adjoins && is_step && keeps_size && step_of(last, &item).is_some()
        });
        if !fits && !run.is_empty() {
            out.extend(join_run(std::mem::take(&mut run), dim, meter));
            size = None;
        }
        if let Some(last) = run.last() {
            size = size.or(Some(of(last).size().max(of(&item).size())));
        }
        run.push(item);
    }
    out.extend(join_run(run, dim, meter));
    out
}

/// The differences between the constants of the results of `a` and `b`.
fn step_of(a: &Coalesced, b: &Coalesced) -> Option<SmallVec<[i64; 4]>> {
    let (a, b) = (bases(&a.map)?.1, bases(&b.map)?.1);
    a.iter().zip(&b).map(|(x, y)| y.checked_sub(*x)).collect()
}

fn join_run(run: Vec<Coalesced>, dim: usize, meter: &mut Meter) -> Vec<Coalesced> {
    let [first, second, ..] = &run[..] else { return run };
    let of = |item: &Coalesced| item.map.domain().vars[dim].interval;
    let Some(step) = step_of(first, second) else { return run };
    let size = of(first).size().max(of(second).size());
    let make = |first_map: &Map| -> Result<Map> {
        let overflow = || crate::Error::Overflow("the size of a block");
        let size = i64::try_from(size).map_err(|_| overflow())?;
        let origin = of(second).lo.checked_sub(size).ok_or_else(overflow)?;
        let block = Expr::dim(dim as u32).sub(&Expr::Const(origin))?.floor_div(&Expr::Const(size))?;
        let mut domain = first_map.domain().clone();
        domain.vars[dim].interval = Interval::new(of(first).lo, run.last().map_or(of(second), of).hi);
        let moved = |(e, step): (&Expr, &i64)| e.add(&block.scale(*step)?);
        Map::new(domain, first_map.results().iter().zip(&step).map(moved).collect::<Result<Vec<_>>>()?)
    };
    let Ok(all) = make(&first.map) else { return run };
    let is_exact =
        run.iter().all(|item| with_interval(&all, dim, of(item)).is_ok_and(|m| is_same(&m, &item.map, meter)));
    if is_exact {
        joined(run, meter, |_| Ok(all))
    } else {
        run
    }
}
