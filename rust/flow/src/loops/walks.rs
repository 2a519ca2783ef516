//! A leaf of which every iteration reads each element at some of a few distances: stencils, shifts and rolls.
//!
//! A path through `n` iterations adds up `n` of these distances ([`sums`](super::sums)) on its way from the element that
//! is written last, the *source*, to the one that is read first, the *target*; backward from source to target, forward
//! the reverse. It has to stay in the array. So a sum of distances belongs to a path if their order can be chosen so
//! that it does ([`can_stay`]).

use std::collections::BTreeSet;

use quasiaffine::State;
use quasiaffine::{Error, Expr, Interval, Kind as VarKind, Map, Op, Result, Var, Variable};

use super::build::{dim, map, Bounded, Bounds, KEEP_POINTS};
use super::forms::Clocks;
use super::sums::{blocks, sums, Sums, Vector};
use super::unions::covers;
use super::{Leaf, Piece, Timeline};
use crate::reads::Text;
use crate::tuning::{MAX_LOOP_MAPS, MAX_VECTORS};

/// Inclusive bounds in each dimension.
type Part = Vec<Bounds>;

/// The distances between the ends of the maps of a leaf to itself.
pub(super) struct Distances {
    /// Those of each map.
    pub by_map: Vec<Vec<Vector>>,
    /// Dimensions in which a map goes around the end.
    around: Vec<bool>,
}

impl Distances {
    /// From source to target; `None` where they are not constant, too many, or all in some dimension.
    pub(super) fn new(time: &Timeline, leaf: Leaf, maps: &[Map]) -> Result<Option<Distances>> {
        let mut found = Distances { by_map: Vec::new(), around: vec![false; time.sizes[leaf].len()] };
        for m in maps {
            match found.of(time, leaf, m)? {
                Some(vectors) => found.by_map.push(vectors),
                None => return Ok(None),
            }
        }
        // Where all elements of a dimension read all, a range over the dimension says it.
        let is_mixed = |(i, &size): (usize, &i64)| {
            let all: BTreeSet<i64> = found.by_map.iter().flatten().map(|v| v[i]).collect();
            size > 1 && all.len() as i64 == 2 * size - 1
        };
        Ok((!time.sizes[leaf].iter().enumerate().any(is_mixed)).then_some(found))
    }

    fn of(&mut self, time: &Timeline, leaf: Leaf, m: &Map) -> Result<Option<Vec<Vector>>> {
        let domain = m.domain();
        if m.state() != State::Defined || domain.n_runtime() > 0 {
            return Ok(None);
        }
        let mut differences: Vec<Expr> = Vec::new();
        for (i, (e, &size)) in m.results().iter().zip(&time.sizes[leaf]).enumerate() {
            let inner = match e.op() {
                Some(Op::Mod(inner, divisor)) if divisor.as_const() == Some(size) => {
                    self.around[i] = true;
                    inner
                }
                _ => e,
            };
            differences.push(if time.backward { inner.sub(&dim(i))? } else { dim(i).sub(inner)? });
        }
        let is_range = |v: Var| v.kind == VarKind::Range;
        let used = |index: u32| differences.iter().any(|e| e.any_var(&|v| is_range(v) && v.index == index));
        let ranges: Vec<u32> = (0..domain.n_ranges as u32).filter(|&index| used(index)).collect();
        // A range that is a result as it is stands for a distance from the element, any other for itself.
        let mut values: Vec<Vec<Expr>> = vec![Vec::new()];
        for &index in &ranges {
            let at = m.results().iter().position(|e| *e == Expr::range(index));
            let (from, interval) = match at {
                Some(i) => (dim(i), m.bounds(&Expr::range(index).sub(&dim(i))?)?),
                None => (Expr::Const(0), domain.ranges()[index as usize].interval),
            };
            if interval.size().saturating_mul(values.len() as u128) > MAX_VECTORS as u128 {
                return Ok(None);
            }
            let mut longer = Vec::new();
            for by in interval.lo..=interval.hi {
                let e = from.add(&Expr::Const(by))?;
                longer.extend(values.iter().map(|v| [&v[..], std::slice::from_ref(&e)].concat()));
            }
            values = longer;
        }
        let mut found: Vec<Vector> = Vec::new();
        for value in values {
            let known = |v: Var| match ranges.iter().position(|&index| is_range(v) && v.index == index) {
                Some(i) => Ok(value[i].clone()),
                None => Ok(Expr::Var(v)),
            };
            let mut vector = Vector::new();
            for e in &differences {
                let e = e.substitute(&known)?;
                let by = e.as_const().or(m.bounds(&e)?.as_point());
                match by {
                    Some(by) => vector.push(by),
                    None => return Ok(None),
                }
            }
            let mut holds = true;
            for c in &domain.constraints {
                let e = c.expr.substitute(&known)?;
                holds &= e.as_const().is_none_or(|x| c.interval.lo <= x && x <= c.interval.hi);
            }
            if holds && !found.contains(&vector) {
                found.push(vector);
            }
        }
        Ok(Some(found))
    }

    /// Whether a map goes around the end of a dimension.
    pub(super) fn goes_around(&self) -> bool {
        self.around.contains(&true)
    }

    /// All of them, in order; those around the end of a dimension are those of the shorter way.
    pub(super) fn distinct(&self, sizes: &[i64], around: &[bool]) -> Vec<Vector> {
        let mut found: Vec<Vector> = self.by_map.iter().flatten().map(|v| shortest(v, sizes, around)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn shortest(v: &Vector, sizes: &[i64], around: &[bool]) -> Vector {
    let short = |((&x, &size), &around): ((&i64, &i64), &bool)| match (around, x.rem_euclid(size)) {
        (false, _) => x,
        (true, x) if x > size / 2 => x - size,
        (true, x) => x,
    };
    v.iter().zip(sizes).zip(around).map(short).collect()
}

fn is_zero(v: &Vector) -> bool {
    v.iter().all(|&x| x == 0)
}

/// Whether the order of any of the vectors can be chosen so that a path between two elements of a box stays in it.
///
/// In a dimension in which all go one way, any order stays between the ends. In one in which they go both ways, by at
/// most `a` up and at most `b` down, and that has at least `a + b` elements, go up as long as that stays inside: where
/// it does not, going down does. Dimensions have independent orders where the vectors are a product, or where each of
/// them moves in at most one dimension that they go in both ways.
pub(super) fn can_stay(vectors: &[Vector], bounds: &[Bounds], around: &[bool]) -> bool {
    let reach = |vectors: &[Vector], i: usize| {
        let ends = vectors.iter().map(|v| i128::from(v[i])).fold((0, 0), |(lo, hi), x| (x.min(lo), x.max(hi)));
        (ends.0 < 0 && ends.1 > 0).then_some(ends.1 - ends.0)
    };
    blocks(vectors).iter().all(|(dims, vectors)| {
        let both: Vec<(usize, i128)> =
            (0..dims.len()).filter(|&i| !around[dims[i]]).filter_map(|i| Some((i, reach(vectors, i)?))).collect();
        let has_room = |&(i, reach): &(usize, i128)| {
            let (lo, hi) = bounds[dims[i]];
            i128::from(hi) - i128::from(lo) + 1 >= reach
        };
        both.iter().all(has_room) && vectors.iter().all(|v| both.iter().filter(|(i, _)| v[*i] != 0).count() <= 1)
    })
}

/// A relation between source and target that are apart by a sum of vectors, in the making.
#[derive(Clone)]
pub(super) struct Draft<'a> {
    pub clocks: Clocks,
    pub source: Vec<Expr>,
    pub target: Vec<Expr>,
    /// The clocks of the source and of the target.
    pub high: Expr,
    pub low: Expr,
    pub ranges: Vec<Bounds>,
    pub constraints: Vec<Bounded>,
    time: &'a Timeline,
    leaf: Leaf,
    around: Vec<bool>,
}

impl<'a> Draft<'a> {
    /// The target is the source and a sum, and a last vector.
    pub(super) fn new(
        time: &'a Timeline,
        leaf: Leaf,
        around: &[bool],
        sum: Sums,
        last: Option<&Vector>,
    ) -> Result<Draft<'a>> {
        let clocks = time.clocks(leaf)?;
        let (mut source, mut target): (Vec<Expr>, Vec<Expr>) = (Vec::new(), Vec::new());
        for (i, offset) in sum.offset.iter().enumerate() {
            let offset = offset.add(&Expr::Const(last.map_or(0, |v| v[i])))?;
            let other = if time.backward { dim(i).add(&offset)? } else { dim(i).sub(&offset)? };
            let (s, t) = if time.backward { (dim(i), other) } else { (other, dim(i)) };
            source.push(s);
            target.push(t);
        }
        let (p, q) = (clocks.p.clone(), clocks.q.clone());
        let (high, low) = if time.backward { (p, q) } else { (q, p) };
        let (ranges, constraints) = (sum.ranges, sum.constraints);
        Ok(Draft { clocks, source, target, high, low, ranges, constraints, time, leaf, around: around.to_vec() })
    }

    /// Both ends lie in the array, but in dimensions in which paths go around its end.
    pub(super) fn in_array(mut self) -> Draft<'a> {
        let bounds = self.time.bounds(self.leaf);
        let far = if self.time.backward { &self.target } else { &self.source };
        self.constraints.extend(within(far, &bounds, &self.around));
        self
    }

    /// The source lies in a box.
    pub(super) fn from(mut self, bounds: &[Bounds]) -> Draft<'a> {
        self.constraints.extend(within(&self.source, bounds, &self.around));
        self
    }

    /// What is a vector before the target lies in a box.
    pub(super) fn through(mut self, bounds: &[Bounds], last: &Vector) -> Result<Draft<'a>> {
        let before = self.target.iter().zip(last).map(|(e, &x)| e.sub(&Expr::Const(x))).collect::<Result<Vec<_>>>()?;
        self.constraints.extend(within(&before, bounds, &self.around));
        Ok(self)
    }

    pub(super) fn with(mut self, constraint: Bounded) -> Draft<'a> {
        self.constraints.push(constraint);
        self
    }

    pub(super) fn results(&self) -> Result<Vec<Expr>> {
        let ends = if self.time.backward { &self.target } else { &self.source };
        let around = |(i, e): (usize, &Expr)| match self.around[i] {
            true => e.floor_mod(&Expr::Const(self.time.sizes[self.leaf][i])),
            false => Ok(e.clone()),
        };
        ends.iter().enumerate().map(around).collect()
    }

    pub(super) fn piece(self, reason: Option<&Text>) -> Result<Piece> {
        let results = self.results()?.into_iter().chain([self.clocks.q.clone()]).collect();
        let map = map(&self.clocks.dims, &self.ranges, results, self.constraints).simplify(KEEP_POINTS);
        Ok(Piece { map, reason: reason.cloned() })
    }

    /// From element to element.
    fn elements(self) -> Result<Map> {
        let results = self.results()?;
        Ok(map(&self.clocks.dims[..self.clocks.rank], &self.ranges, results, self.constraints).simplify(KEEP_POINTS))
    }
}

fn within<'e>(at: &'e [Expr], bounds: &'e [Bounds], around: &'e [bool]) -> impl Iterator<Item = Bounded> + 'e {
    let each = at.iter().zip(bounds).zip(around).filter(|(_, &around)| !around);
    each.map(|((e, &(lo, hi)), _)| (e.clone(), lo, hi))
}

/// The sum of no vectors.
pub(super) fn nothing(rank: usize) -> Sums {
    Sums { offset: vec![Expr::Const(0); rank], exact: true, ..Sums::default() }
}

/// One iteration: which elements move by which vectors.
struct Walk<'a> {
    time: &'a Timeline,
    leaf: Leaf,
    vectors: Vec<Vector>,
    around: Vec<bool>,
    /// The elements that move.
    inner: Part,
    /// Whether the others stay; else nothing is read for them.
    stays: bool,
}

/// The closed form of maps that move every element, or those of a box, by the same vectors.
pub(super) fn walk(time: &Timeline, leaf: Leaf, maps: &[Map], reason: Option<&Text>) -> Result<Option<Vec<Piece>>> {
    let Some(distances) = Distances::new(time, leaf, maps)?.filter(|_| maps.len() <= MAX_LOOP_MAPS) else {
        return Ok(None);
    };
    for walk in walks(time, leaf, maps, &distances)? {
        if can_stay(&walk.vectors, &walk.inner, &walk.around) && walk.is_in(maps, &distances)? {
            let pieces = walk.pieces(reason)?;
            if pieces.is_some() {
                return Ok(pieces);
            }
        }
    }
    Ok(None)
}

/// Sums that may leave 64 bits have no form.
pub(super) fn fitting<T>(found: Result<Option<T>>) -> Result<Option<T>> {
    match found {
        Err(Error::Overflow(_)) => Ok(None),
        found => found,
    }
}

/// What contains the paths of maps that move elements by constants, wherever these elements are.
pub(super) fn around_walk<'a>(time: &'a Timeline, leaf: Leaf, maps: &[Map]) -> Result<Option<Draft<'a>>> {
    let Some(distances) = Distances::new(time, leaf, maps)? else { return Ok(None) };
    let vectors = distances.distinct(&time.sizes[leaf], &distances.around);
    let sum = sums(&vectors, &time.clocks(leaf)?.passed, time.n, 0)?;
    Ok(Some(Draft::new(time, leaf, &distances.around, sum, None)?.in_array()))
}

/// The walks that may be the ones of some maps.
fn walks<'a>(time: &'a Timeline, leaf: Leaf, maps: &[Map], distances: &Distances) -> Result<Vec<Walk<'a>>> {
    let (sizes, whole) = (&time.sizes[leaf], time.bounds(leaf));
    let walk = |around: &[bool], inner: &Part| -> Result<Walk<'a>> {
        let mut vectors = distances.distinct(sizes, around);
        let mut staying = Vec::new();
        for (m, _) in maps.iter().zip(&distances.by_map).filter(|(_, own)| own.iter().any(is_zero)) {
            staying.push(sources(time, m)?);
        }
        let is_inside = |part: &Part| part.iter().zip(inner).all(|(a, b)| b.0 <= a.0 && a.1 <= b.1);
        let is_beside = |part: &Part| !part.iter().zip(inner).all(|(a, b)| meet(*a, *b));
        let stays = !staying.iter().all(is_inside);
        if stays && staying.iter().all(is_beside) {
            vectors.retain(|v| !is_zero(v));
        }
        Ok(Walk { time, leaf, vectors, around: around.to_vec(), inner: inner.clone(), stays })
    };
    let is_long = |i: usize| distances.by_map.iter().flatten().any(|v| v[i].unsigned_abs() > sizes[i] as u64 / 2);
    let around: Vec<bool> = (0..sizes.len()).map(|i| distances.around[i] || is_long(i)).collect();
    let mut found = vec![walk(&around, &whole)?];
    if around != distances.around {
        found.push(walk(&distances.around, &whole)?);
    }
    let mut inner: Option<Part> = None;
    for (m, vectors) in maps.iter().zip(&distances.by_map) {
        if !vectors.iter().all(is_zero) {
            let own = sources(time, m)?;
            inner = Some(match inner {
                None => own,
                Some(inner) => inner.iter().zip(&own).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect(),
            });
        }
    }
    if let Some(inner) = inner.filter(|inner| *inner != whole) {
        found.push(walk(&distances.around, &inner)?);
    }
    Ok(found)
}

fn meet(a: Bounds, b: Bounds) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// A box around the sources of a map.
fn sources(time: &Timeline, m: &Map) -> Result<Part> {
    let bounds = |v: Interval| (v.lo, v.hi);
    if time.backward {
        return Ok(m.domain().dims().iter().map(|v: &Variable| bounds(v.interval)).collect());
    }
    m.results().iter().map(|e| Ok(bounds(m.bounds(e)?))).collect()
}

impl Walk<'_> {
    fn is_whole(&self) -> bool {
        self.inner == self.time.bounds(self.leaf)
    }

    /// Whether the maps have all steps of the walk. The walk has all of theirs: it was made of their vectors.
    fn is_in(&self, maps: &[Map], distances: &Distances) -> Result<bool> {
        let rank = self.inner.len();
        if (0..rank).any(|i| self.around[i] && self.inner[i] != (0, self.time.sizes[self.leaf][i] - 1)) {
            return Ok(false);
        }
        let zeros: Vec<Part> = self.boxes(maps, distances, &Vector::from_elem(0, rank));
        let whole = self.time.bounds(self.leaf);
        if !self.is_whole() {
            let outer = outside(&whole, &self.inner);
            let has_others = !self.stays || outer.iter().all(|part| is_covered(part, &zeros));
            if !has_others {
                return Ok(false);
            }
        }
        if !self.around.contains(&true) {
            let sum = sums(&self.vectors, &Expr::Const(1), 1, 0)?;
            let once = Draft::new(self.time, self.leaf, &self.around, sum, None)?.from(&self.inner).in_array();
            if covers(maps, &[once.elements()?]) {
                return Ok(true);
            }
        }
        for v in &self.vectors {
            for v in self.ways(v) {
                let begin: Part = (0..rank).map(|i| self.begin(i, v[i], whole[i])).collect();
                if begin.iter().any(|(lo, hi)| lo > hi) || is_covered(&begin, &self.boxes(maps, distances, &v)) {
                    continue;
                }
                let straight = vec![false; rank];
                let one = Draft::new(self.time, self.leaf, &straight, nothing(rank), Some(&v))?;
                if !covers(maps, &[one.from(&self.inner).in_array().elements()?]) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Where a map of one vector begins, in one dimension.
    fn begin(&self, i: usize, by: i64, (first, last): Bounds) -> Bounds {
        let (lo, hi) = self.inner[i];
        let by = by.clamp(-last - 1, last + 1);
        match self.time.backward {
            true => (lo.max(first - by), hi.min(last - by)),
            false => ((lo + by).max(first), (hi + by).min(last)),
        }
    }

    /// Boxes in which elements move by a vector, by maps that have no other condition.
    fn boxes(&self, maps: &[Map], distances: &Distances, v: &Vector) -> Vec<Part> {
        let plain = maps.iter().zip(&distances.by_map).filter(|(m, vectors)| {
            let around = m.results().iter().any(|e| matches!(e.op(), Some(Op::Mod(..))));
            !around && m.domain().constraints.is_empty() && vectors[..] == [v.clone()]
        });
        let part = |m: &Map| m.domain().dims().iter().map(|v| (v.interval.lo, v.interval.hi)).collect();
        plain.map(|(m, _)| part(m)).collect()
    }

    /// The vector, on both ways around the end of a dimension.
    fn ways(&self, v: &Vector) -> Vec<Vector> {
        let mut found = vec![v.clone()];
        for i in (0..v.len()).filter(|&i| self.around[i] && v[i] != 0) {
            let size = self.time.sizes[self.leaf][i];
            for mut other in found.clone() {
                other[i] -= size * v[i].signum();
                found.push(other);
            }
        }
        found
    }

    /// The relation of any number of iterations; `None` where the sums have no form.
    fn pieces(&self, reason: Option<&Text>) -> Result<Option<Vec<Piece>>> {
        let (time, leaf, n) = (self.time, self.leaf, self.time.n);
        let clocks = time.clocks(leaf)?;
        let passed = &clocks.passed;
        let all = sums(&self.vectors, passed, n, 0)?;
        if !all.exact {
            return Ok(None);
        }
        let draft = |sum, last| Draft::new(time, leaf, &self.around, sum, last).map(Draft::in_array);
        if self.is_whole() {
            return Ok(Some(vec![draft(all, None)?.with((passed.clone(), 0, n)).piece(reason)?]));
        }
        let one_less = passed.sub(&Expr::Const(1))?;
        let mut found = Vec::new();
        if !self.stays || self.vectors.iter().any(is_zero) {
            // The last step may leave the box. An element outside, or one from which fewer steps lead out, stays first.
            found.push(time.none(leaf)?);
            if self.stays {
                found.push(Piece { reason: reason.cloned(), ..time.stays(leaf, i64::from(reason.is_some()), n)? });
            }
            for last in self.vectors.iter().filter(|v| !self.stays || !is_zero(v)) {
                let before = sums(&self.vectors, &one_less, n, 0)?;
                let path = draft(before, Some(last))?.from(&self.inner).through(&self.inner, last)?;
                found.push(path.with((passed.clone(), 1, n)).piece(reason)?);
            }
            return Ok(Some(found));
        }
        let whole = time.bounds(leaf);
        let staying = || draft(nothing(whole.len()), None);
        for part in outside(&whole, &self.inner) {
            found.push(staying()?.from(&part).with((passed.clone(), 0, n)).piece(reason)?);
        }
        let path = draft(all, None)?.from(&self.inner).through(&self.inner, &Vector::from_elem(0, whole.len()))?;
        found.push(path.with((passed.clone(), 0, n)).piece(reason)?);
        // A path leaves the box after some iterations, and stays outside.
        for last in &self.vectors {
            for (i, &(lo, hi)) in self.inner.iter().enumerate().filter(|(i, _)| last[*i] != 0) {
                let mut before = sums(&self.vectors, &Expr::range(0), n.max(1) - 1, 1)?;
                before.ranges.insert(0, (0, n.max(1) - 1));
                let path = draft(before, Some(last))?.from(&self.inner).through(&self.inner, last)?;
                let out = if last[i] < 0 { (whole[i].0, lo - 1) } else { (hi + 1, whole[i].1) };
                if out.0 <= out.1 {
                    let leaves = (path.target[i].clone(), out.0, out.1);
                    let early = (one_less.sub(&Expr::range(0))?, 0, n);
                    found.push(path.with(leaves).with(early).piece(reason)?);
                }
            }
        }
        Ok(Some(found))
    }
}

/// Boxes of the elements of a box that are not in another one inside it.
fn outside(whole: &Part, inner: &Part) -> Vec<Part> {
    let (mut found, mut rest) = (Vec::new(), whole.clone());
    for (i, &(lo, hi)) in inner.iter().enumerate() {
        let (first, last) = rest[i];
        for side in [(first, last.min(lo - 1)), (first.max(hi + 1), last)] {
            if side.0 <= side.1 {
                let mut part = rest.clone();
                part[i] = side;
                found.push(part);
            }
        }
        rest[i] = (first.max(lo), last.min(hi));
        if rest[i].0 > rest[i].1 {
            break;
        }
    }
    found
}

/// Whether some boxes have all elements of a box.
fn is_covered(part: &Part, boxes: &[Part]) -> bool {
    let meets = |own: &Part| own.iter().zip(part).all(|(a, b)| meet(*a, *b));
    let Some(at) = boxes.iter().position(meets) else { return false };
    outside(part, &boxes[at]).iter().all(|rest| is_covered(rest, &boxes[at + 1..]))
}
