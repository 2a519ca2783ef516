//! Groups of one leaf of which every iteration writes another slot, where one value that is not known, as the number of
//! the device, says with which slot the loop begins: all iterations together write each slot once.

use quasiaffine::State;
use quasiaffine::{Domain, Expr, Interval, Kind as VarKind, Map, Op, Result, Var, Variable};

use super::build::{dim, dims, fits, map, sum, with_constraint, KEEP_POINTS};
use super::unions::{keep_time, same_elements};
use super::{Edge, Group, Kind, Leaf, Piece, Timeline};
use crate::reads::Text;

/// The elements that an update writes in iteration `t`: a box, in one dimension from `offset`, which is `first` and a
/// multiple of `stride`: `first + stride * ((± t + …) mod count)`.
#[derive(Clone, Debug)]
pub struct Rotation {
    /// The dimension in which it moves.
    pub dim: usize,
    /// Where the first slot begins.
    pub first: i64,
    /// From one slot to the next.
    pub stride: i64,
    /// The number of slots.
    pub count: i64,
    /// Its size in that dimension.
    pub size: i64,
    /// Where it begins, over the iteration, `d0`, and [symbols](super::LoopBody::symbols).
    pub offset: Expr,
    /// The runtime variables that the symbols are.
    pub symbols: Vec<Variable>,
}

/// `(first, stride, count)` where an expression is `first + stride * ((± d0 + …) mod count)`.
pub(super) fn slots(offset: &Expr) -> Option<(i64, i64, i64)> {
    let mut terms = offset.terms();
    let (stride, atom) = terms.next().filter(|(stride, _)| *stride > 0)?;
    if terms.next().is_some() {
        return None;
    }
    let first = offset.sub(&atom.scale(stride).ok()?).ok()?.as_const()?;
    let Some(Op::Mod(inner, count)) = atom.op() else { return None };
    let count = count.as_const().filter(|count| *count > 0)?;
    let t = Expr::dim(0);
    let mut own = inner.terms().filter(|(_, atom)| atom.any_var(&|v| v.index == 0));
    let (factor, atom) = own.next()?;
    (own.next().is_none() && *atom == t && factor.abs() == 1).then_some((first, stride, count))
}

/// A leaf that keeps its elements but for such a slot.
pub(super) fn close_rotation(time: &Timeline, group: &mut Group, edges: &[&Edge], rotation: Rotation) -> Result<bool> {
    let leaf = group.leaves[0];
    if rotation.count != time.n || rotation.size > rotation.stride || edges.iter().any(|e| e.reason.is_some()) {
        return Ok(false);
    }
    let kept: Vec<Map> = edges.iter().map(|e| keep_time(&e.map)).collect();
    let bounds = time.bounds_with(leaf, time.n);
    let n = time.sizes[leaf].len();
    let identity = map(&bounds, &[], dims(n + 1).collect(), Vec::new());
    let mut outside = Vec::new();
    for side in sides(time, leaf, &rotation)? {
        outside.push(beside(&identity, &rotation, &dim(rotation.dim), side)?.simplify(KEEP_POINTS));
    }
    if !same_elements(&kept, &outside) {
        return Ok(false);
    }
    let at = dim(rotation.dim).add(&Expr::Const(-rotation.first))?;
    let end = fits(i128::from(rotation.stride) * i128::from(rotation.count))?;
    let far = time.sizes[leaf][rotation.dim];
    let between = at.floor_mod(&Expr::Const(rotation.stride))?;
    let unwritten = [(at.clone(), -far, -1), (at, end, far), (between, rotation.size, rotation.stride - 1)];
    let all = time.stays(leaf, time.n, time.n)?;
    let mut pieces = vec![time.none(leaf)?];
    for condition in unwritten.into_iter().filter(|(_, lo, hi)| lo <= hi) {
        let map = with_constraint(&all.map, condition).simplify(KEEP_POINTS);
        if map.state() == State::Defined {
            pieces.push(Piece { map, reason: None });
        }
    }
    if time.n > 1 {
        let reason = "some iterations write other elements for each value of an offset that is not known";
        let some = time.stays(leaf, 1, time.n - 1)?;
        pieces.push(Piece { reason: Some(Text::from(reason)), ..some });
    }
    group.pieces.insert((leaf, leaf), pieces);
    (group.kind, group.rotation) = (Kind::Recurrence, Some(rotation));
    Ok(true)
}

/// What the distance of an element from the offset is outside the slot.
fn sides(time: &Timeline, leaf: Leaf, rotation: &Rotation) -> Result<[(i64, i64); 2]> {
    let reach = i128::from(rotation.stride) * i128::from(rotation.count) + i128::from(rotation.first.unsigned_abs());
    let far = fits(i128::from(time.sizes[leaf][rotation.dim]) + reach)?;
    Ok([(-far, -1), (rotation.size, far)])
}

/// A map, whose last dimension is the iteration, where a place is so far from the offset of the slot.
fn beside(m: &Map, rotation: &Rotation, at: &Expr, (lo, hi): (i64, i64)) -> Result<Map> {
    let mut domain: Domain = m.domain().clone();
    let mut numbers: Vec<u32> = Vec::new();
    for symbol in &rotation.symbols {
        let known = domain.runtime().iter().position(|v| v.source.is_some() && v.source == symbol.source);
        numbers.push(known.unwrap_or(domain.n_runtime()) as u32);
        if known.is_none() {
            domain.vars.push(symbol.clone());
        }
    }
    let t = dim(domain.n_dims - 1);
    let of = |v: Var| match v.index.checked_sub(1) {
        Some(k) => Expr::runtime(numbers[k as usize]),
        None => t.clone(),
    };
    let offset = rotation.offset.substitute(&|v| Ok(of(v)))?;
    let wide = Map::new_unchecked(domain, m.results().to_vec());
    Ok(with_constraint(&wide, (sum(at, -1, &offset, 0)?, lo, hi)))
}

/// Whether an edge relates only elements of the slot: backward its first elements, forward the last ones.
pub(super) fn is_in_slot(time: &Timeline, leaf: Leaf, m: &Map, rotation: &Rotation) -> Result<bool> {
    if m.state() != State::Defined {
        return Ok(false);
    }
    let at = if time.backward { dim(rotation.dim) } else { m.results()[rotation.dim].clone() };
    for side in sides(time, leaf, rotation)? {
        if !beside(m, rotation, &at, side)?.is_empty().is_yes() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The map where a range of `n` values, which only counts modulo `n`, is counted from elsewhere: a sum of it and other
/// variables, modulo `n`, has all values from 0 to `n - 1`, whatever the others are.
pub(super) fn from_elsewhere(m: &Map) -> Result<Map> {
    let domain = m.domain();
    if m.state() != State::Defined || domain.n_runtime() == 0 {
        return Ok(m.clone());
    }
    for (index, v) in domain.ranges().iter().enumerate() {
        let n = i128::from(v.interval.hi) - i128::from(v.interval.lo) + 1;
        let Ok(n) = i64::try_from(n) else { continue };
        let own = Var { kind: VarKind::Range, index: index as u32 };
        let mut first: Option<(i64, Expr)> = None;
        let mut indices = domain.runtime().iter().flat_map(|v| v.source.iter().flat_map(|source| &source.index));
        let mut all = m.results().iter().chain(domain.constraints.iter().map(|c| &c.expr));
        if indices.any(|e| e.any_var(&|v| v == own)) || !all.all(|e| counts_modulo(e, own, n, &mut first)) {
            continue;
        }
        let Some((factor, inner)) = first else { continue };
        let mut vars = domain.vars.clone();
        vars[domain.n_dims + index].interval = Interval::new(0, n - 1);
        let free = Domain { vars, constraints: Vec::new(), ..domain.clone() };
        // The first sum, `± s + …`, is the range from here on.
        let rest = inner.sub(&Expr::Var(own).scale(factor)?)?;
        let moved = Expr::Var(own).sub(&rest)?.scale(factor)?;
        let replace = |v: Var| Ok(if v == own { moved.clone() } else { Expr::Var(v) });
        return Ok(m.substituted(free, &replace)?.simplify(KEEP_POINTS));
    }
    Ok(m.clone())
}

/// Whether a variable occurs only in sums with factor 1 or -1 that count modulo `n`; finds the first, with the factor.
fn counts_modulo(e: &Expr, own: Var, n: i64, first: &mut Option<(i64, Expr)>) -> bool {
    if !e.any_var(&|v| v == own) {
        return true;
    }
    match e.op() {
        Some(Op::Mod(inner, divisor)) if divisor.as_const() == Some(n) => {
            let mut terms = inner.terms().filter(|(_, atom)| atom.any_var(&|v| v == own));
            let (Some((factor, Expr::Var(_))), None) = (terms.next(), terms.next()) else { return false };
            first.get_or_insert_with(|| (factor, inner.clone()));
            factor.abs() == 1
        }
        Some(Op::Sum(_)) => e.terms().all(|(_, atom)| *atom != Expr::Var(own) && counts_modulo(atom, own, n, first)),
        _ => false,
    }
}
