//! The tile of a map as expressions in tile numbers, tile sizes and runtime values, and when they hold.
//!
//! Of a map with `p` dimensions, variable `d0` to `d(p-1)` are the numbers of the tile and `dp` to `d(2p-1)` the sizes;
//! runtime variables stay. Each result is a least value plus multiples of independent counters; the clauses state for
//! which sizes quotients and remainders of a counter are independent, and for which the multiples leave no gap. A
//! clause lists alternatives and is never expanded into a normal form.
//!
//! [`crate::tile::TiledMap`] decides; the clauses explain its decisions to readers and to other programs.

use smallvec::SmallVec;

use crate::domain::Constraint;
use crate::error::Result;
use crate::expr::{Expr, Kind, Op, Var};
use crate::int::{add, ceil_div, mul, sub};
use crate::map::{Map, State};
use crate::span::Interval;
use crate::tile::class::extents_of;
use crate::tile::constraints::{exact_quotient, runtime_cut, var_of, without_runtime, Partner};
use crate::tile::image::Refusal;

/// The tile of one result.
///
/// ```
/// use quasiaffine::tile::SymbolicTile;
/// let strided = "(d0) -> (d0 * 3 + 1), domain: d0 in [0, 63]".parse()?;
/// let run = &SymbolicTile::of(&strided, &[64], &[192]).runs[0];
/// // d0 is the number of the tile, d1 its size.
/// assert_eq!([&run.offset, &run.size, &run.stride].map(|e| e.to_string()), ["(d0 * d1) * 3 + 1", "d1", "3"]);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SymbolicRun {
    /// The least element.
    pub offset: Expr,
    /// The number of elements.
    pub size: Expr,
    /// The distance from one element to the next.
    pub stride: Expr,
    /// No element below is read.
    pub lower: Expr,
    /// No element from here on is read.
    pub upper: Expr,
    /// Whether the elements come in reverse order.
    pub reversed: bool,
    /// Whether the expressions are exact when the clauses hold.
    pub exact: bool,
}

/// A condition: one of the expressions lies in its interval.
///
/// ```
/// use quasiaffine::tile::SymbolicTile;
/// let digits = "(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 63]".parse()?;
/// let tile = SymbolicTile::of(&digits, &[64], &[8, 8]);
/// let alternatives: Vec<String> = tile.clauses[0].any.iter().map(|(e, i)| format!("{e} in [{}, {}]", i.lo, i.hi)).collect();
/// assert!(alternatives.iter().any(|a| a == "d1 mod 8 in [0, 0]"), "{alternatives:?}");
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// The alternatives. An empty list: no sizes are known to satisfy the clause.
    pub any: Vec<(Expr, Interval)>,
    /// The reason for refusal if no alternative holds.
    pub reason: Refusal,
}

/// The tiles of all results.
///
/// ```
/// use quasiaffine::tile::SymbolicTile;
/// let reshape = "(d0, d1) -> (d0 * 4 + d1), domain: d0 in [0, 15], d1 in [0, 3]".parse()?;
/// let tile = SymbolicTile::of(&reshape, &[16, 4], &[64]);
/// assert_eq!((tile.runs.len(), tile.runs[0].offset.to_string()), (1, "(d0 * d2) * 4 + d1 * d3".to_owned()));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SymbolicTile {
    /// A run for each result.
    pub runs: Vec<SymbolicRun>,
    /// The conditions, all of which must hold.
    pub clauses: Vec<Clause>,
}

/// `factor` times a counter from 0 to `size - 1`.
#[derive(Clone)]
struct Part {
    factor: i64,
    size: Expr,
    /// The greatest size.
    most: i64,
}

/// `low` plus the parts, with the least and greatest value in the domain.
struct Sum {
    low: Expr,
    parts: Vec<Part>,
    first: Expr,
    last: Expr,
    reversed: bool,
}

impl Sum {
    fn constant(e: Expr) -> Sum {
        Sum { low: e.clone(), parts: Vec::new(), first: e.clone(), last: e, reversed: false }
    }

    /// The greatest value of a full tile.
    fn top(&self) -> Result<Expr> {
        self.low.add(&reach(&self.parts)?)
    }
}

/// The sum of the parts with all counters at their greatest values.
fn reach(parts: &[Part]) -> Result<Expr> {
    parts.iter().try_fold(Expr::Const(0), |sum, p| sum.add(&less_one(&p.size)?.scale(p.factor)?))
}

/// The factor of the least part with more than one value, for parts in ascending order.
fn stride_of(parts: &[Part]) -> Result<Expr> {
    let greatest = Expr::Const(parts.last().map_or(1, |p| p.factor));
    parts.iter().rev().skip(1).try_fold(greatest, |stride, p| {
        let more_than_one = less_one(&p.size)?.minimum(&Expr::Const(1))?;
        stride.add(&Expr::Const(p.factor).sub(&stride)?.mul(&more_than_one)?)
    })
}

fn less_one(e: &Expr) -> Result<Expr> {
    e.add(&Expr::Const(-1))
}

impl SymbolicTile {
    /// The tiles of all results of a map from dimensions of the sizes `extents` to an array of the sizes `target`.
    ///
    /// ```
    /// use quasiaffine::tile::SymbolicTile;
    /// let transpose = "(d0, d1) -> (d1, d0), domain: d0 in [0, 63], d1 in [0, 31]".parse()?;
    /// let tile = SymbolicTile::of(&transpose, &[64, 32], &[32, 64]);
    /// let run = &tile.runs[0];
    /// assert_eq!((run.offset.to_string(), run.stride.to_string()), ("d1 * d3".to_owned(), "1".to_owned()));
    /// assert!(tile.clauses.is_empty() && run.exact);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn of(map: &Map, extents: &[i64], target: &[i64]) -> SymbolicTile {
        let mut tile = SymbolicTile::default();
        if map.state() != State::Defined {
            return tile;
        }
        let (constraints, extents) = (&map.domain().constraints, &extents_of(map.domain(), extents));
        let mut is_cut = vec![true; constraints.len()];
        let exact_quotients: Vec<(Expr, i64)> =
            constraints.iter().filter_map(|c| exact_quotient(c, map.results())).collect();
        for (r, e) in map.results().iter().enumerate() {
            let fixed = without_runtime(e);
            let mut bounds = [(e, Interval::ALL), (&fixed, Interval::ALL)];
            for (c, is_cut) in constraints.iter().zip(&mut is_cut) {
                if let Some((bounds, interval)) = bounds.iter_mut().find_map(|(e, bounds)| Some((bounds, c.on(e)?))) {
                    *bounds = bounds.intersect(interval);
                    *is_cut = false;
                }
            }
            let mut writer = Writer { map, extents, result: r, clauses: Vec::new(), exact_quotients: &exact_quotients };
            let run = writer.run(e, &bounds).ok().flatten();
            let known = std::mem::take(&mut tile.clauses);
            writer.clauses.retain(|clause| !known.contains(clause));
            tile.clauses = known;
            tile.clauses.append(&mut writer.clauses);
            tile.runs.push(run.unwrap_or_else(|| {
                tile.clauses.push(Clause { any: Vec::new(), reason: Refusal::NotABox });
                let whole = target.get(r).map_or(Interval::ALL, |&n| Interval::new(0, n.saturating_sub(1)));
                let known = map.bounds(e).map_or(whole, |known| known.intersect(whole));
                let size = known.hi.saturating_sub(known.lo).saturating_add(1);
                SymbolicRun {
                    offset: Expr::Const(known.lo),
                    size: Expr::Const(size),
                    stride: Expr::Const(1),
                    lower: Expr::Const(known.lo),
                    upper: Expr::Const(known.hi.saturating_add(1)),
                    reversed: false,
                    exact: false,
                }
            }));
        }
        let cuts =
            constraints.iter().zip(is_cut).filter(|(c, is_cut)| *is_cut && exact_quotient(c, map.results()).is_none());
        for (c, _) in cuts {
            tile.runs.iter_mut().for_each(|run| run.exact = false);
            if !cuts_ends_off(c, map) && !tile.clauses.iter().any(|clause| clause.any.is_empty()) {
                tile.clauses.push(Clause { any: Vec::new(), reason: Refusal::NotABox });
            }
        }
        tile.clauses.extend(shared(map));
        tile
    }
}

/// Whether a constraint cuts a run to a run, for all sizes.
fn cuts_ends_off(c: &Constraint, map: &Map) -> bool {
    let domain = map.domain();
    let vars_of = |e: &Expr| {
        let mut found: SmallVec<[u32; 4]> = SmallVec::new();
        e.for_each_var(&mut |v| found.extend(domain.flat(v).filter(|_| v.kind != Kind::Runtime).map(|v| v as u32)));
        found
    };
    let vars = vars_of(&c.expr);
    let uses = |e: &&Expr| vars_of(e).iter().any(|v| vars.contains(v));
    let results: Vec<Expr> = map.results().iter().filter(uses).cloned().collect();
    let n_tied = domain.constraints.iter().map(|c| &c.expr).filter(uses).count();
    results.is_empty()
        || runtime_cut(c, &vars, &results, domain.n_dims).is_some()
        || (n_tied == 1 && Partner::of(c, &vars, &results, domain.n_dims).is_some())
}

/// Clauses for dimensions of which two results use the same digits: these must have one value in a tile.
fn shared(map: &Map) -> Vec<Clause> {
    let n = map.domain().n_dims;
    let one_value = |k: usize| {
        let any = vec![(Expr::dim((n + k) as u32), Interval::new(1, 1))];
        Clause { any, reason: Refusal::DependentResults }
    };
    (0..n).filter(|k| change_together(map.results(), *k)).map(one_value).collect()
}

/// Whether two terms of some expressions may use the same digit of dimension `k`. A term that is not a digit uses all
/// digits.
fn change_together(exprs: &[Expr], k: usize) -> bool {
    let terms = exprs.iter().flat_map(Expr::terms).map(|(_, term)| term);
    let with_dim = terms.filter(|term| term.has_var(Var { kind: Kind::Dim, index: k as u32 }));
    let mut digits: Vec<(i64, i64)> = with_dim.map(|term| digit_of(term).unwrap_or((1, i64::MAX))).collect();
    digits.sort_unstable();
    digits.windows(2).any(|pair| pair[0].1 > pair[1].0)
}

/// The term as a digit of its only dimension: `(a, b)` stands for `(d floordiv a) mod (b/a)`. Constants and
/// factors that the divisors divide make no difference; those that they do not divide are left to the clauses of the
/// division.
fn digit_of(e: &Expr) -> Option<(i64, i64)> {
    match e {
        Expr::Var(_) => Some((1, i64::MAX)),
        _ => match e.op()? {
            Op::Sum(sum) => match sum.terms.as_slice() {
                [t] if t.coefficient == 1 => digit_of(&t.atom),
                _ => None,
            },
            Op::FloorDiv(a, Expr::Const(c)) => {
                let (low, high) = digit_of(a)?;
                Some((low.checked_mul(*c)?, high))
            }
            Op::Mod(a, Expr::Const(c)) => {
                let (low, high) = digit_of(a)?;
                Some((low, low.checked_mul(*c)?.min(high)))
            }
            _ => None,
        },
    }
}

struct Writer<'a> {
    map: &'a Map,
    extents: &'a [i64],
    result: usize,
    clauses: Vec<Clause>,
    exact_quotients: &'a [(Expr, i64)],
}

impl Writer<'_> {
    fn clause(&mut self, any: Vec<(Expr, Interval)>, reason: Refusal) {
        let holds = |(e, interval): &(Expr, Interval)| e.as_const().is_some_and(|c| interval.contains(c));
        let clause = Clause { any, reason };
        if !clause.any.iter().any(holds) && !self.clauses.contains(&clause) {
            self.clauses.push(clause);
        }
    }

    /// The run of a result; `bounds` are those of expressions that differ from it by runtime values.
    fn run(&mut self, e: &Expr, bounds: &[(&Expr, Interval)]) -> Result<Option<SymbolicRun>> {
        let Some(sum) = self.sum(e)? else { return Ok(None) };
        let mut parts: Vec<Part> = sum.parts.iter().filter(|p| p.most > 1).cloned().collect();
        parts.sort_by_key(|p| p.factor);
        let stride = stride_of(&parts)?;
        for j in 1..parts.len() {
            self.chain(&parts[..j], &parts[j])?;
        }
        let size = match &parts[..] {
            [] => Expr::Const(1),
            [one] => one.size.clone(),
            [first, ..] => {
                let by = if stride.as_const().is_some() { Expr::Const(first.factor) } else { stride.clone() };
                reach(&parts)?.floor_div(&by)?.add(&Expr::Const(1))?
            }
        };
        let (mut lower, mut upper) = match self.line(e)? {
            Some(ends) => ends,
            None => (sum.first, sum.last.add(&Expr::Const(1))?),
        };
        for (fixed, bounds) in bounds {
            let added = e.sub(fixed)?;
            if bounds.lo != i64::MIN {
                lower = lower.maximum(&added.add(&Expr::Const(bounds.lo))?)?;
            }
            if bounds.hi < i64::MAX - 1 {
                upper = upper.minimum(&added.add(&Expr::Const(bounds.hi + 1))?)?;
            }
        }
        Ok(Some(SymbolicRun { offset: sum.low, size, stride, lower, upper, reversed: sum.reversed, exact: true }))
    }

    /// The bounds of a multiple of one dimension, from those of the whole dimension.
    fn line(&self, e: &Expr) -> Result<Option<(Expr, Expr)>> {
        let mut free = e.terms().filter(|(_, atom)| !matches!(atom, Expr::Var(v) if v.kind == Kind::Runtime));
        let (Some((coefficient, atom @ Expr::Var(Var { kind: Kind::Dim, index: dim }))), None) =
            (free.next(), free.next())
        else {
            return Ok(None);
        };
        let rest = e.sub(&atom.scale(coefficient)?)?;
        let Interval { lo, hi } = self.map.domain().vars[*dim as usize].interval;
        let at = |x: i64| rest.add(&Expr::Const(x).scale(coefficient)?);
        Ok(Some(if coefficient > 0 {
            (at(lo)?, at(add(hi, 1)?)?)
        } else {
            (at(hi)?, at(lo)?.sub(&Expr::Const(coefficient))?)
        }))
    }

    /// Adds the clause that a part continues where the parts below it end, or next to them.
    fn chain(&mut self, below: &[Part], part: &Part) -> Result<()> {
        let least = below[0].factor;
        if part.factor == least {
            return Ok(());
        }
        let more = below.iter().try_fold(Expr::Const(0), |n, p| n.add(&less_one(&p.size)?))?;
        let mut any = vec![(part.size.clone(), Interval::new(1, 1)), (more, Interval::new(0, 0))];
        if below.iter().chain([part]).all(|p| p.factor % least == 0) {
            // The parts below reach up to this one, by their greatest sum plus their least relevant factor.
            any.push((reach(below)?.add(&stride_of(below)?)?, Interval::new(part.factor, i64::MAX)));
        }
        self.clause(any, Refusal::Gap);
        Ok(())
    }

    fn sum(&mut self, e: &Expr) -> Result<Option<Sum>> {
        match e {
            Expr::Const(_) => Ok(Some(Sum::constant(e.clone()))),
            Expr::Var(v) => match v.kind {
                Kind::Runtime => {
                    self.fixed_index(v.index as usize)?;
                    Ok(Some(Sum::constant(e.clone())))
                }
                Kind::Dim => self.dim(v.index as usize).map(Some),
                Kind::Range => {
                    let domain = self.map.domain();
                    let Interval { lo, hi } = domain.vars[domain.n_dims + v.index as usize].interval;
                    let most = add(sub(hi, lo)?, 1)?;
                    let parts = vec![Part { factor: 1, size: Expr::Const(most), most }];
                    let (low, last) = (Expr::Const(lo), Expr::Const(hi));
                    Ok(Some(Sum { first: low.clone(), low, parts, last, reversed: false }))
                }
            },
            Expr::Node(_) => match e.op() {
                Some(Op::Sum(sum)) => {
                    if (0..self.extents.len()).any(|k| change_together(std::slice::from_ref(e), k)) {
                        return Ok(None);
                    }
                    let mut total = Sum::constant(Expr::Const(sum.constant));
                    for t in &sum.terms {
                        let Some(term) = self.sum(&t.atom)? else { return Ok(None) };
                        let c = t.coefficient;
                        let (low, first, last) = if c > 0 {
                            (term.low.clone(), term.first, term.last)
                        } else {
                            (term.top()?, term.last, term.first)
                        };
                        total.low = total.low.add(&low.scale(c)?)?;
                        total.first = total.first.add(&first.scale(c)?)?;
                        total.last = total.last.add(&last.scale(c)?)?;
                        for p in term.parts {
                            let factor = mul(p.factor, if c < 0 { sub(0, c)? } else { c })?;
                            total.parts.push(Part { factor, ..p });
                            total.reversed |= (c < 0) != term.reversed;
                        }
                    }
                    Ok(Some(total))
                }
                Some(Op::FloorDiv(a, Expr::Const(c))) => self.divided(e, a, *c, true),
                Some(Op::Mod(a, Expr::Const(c))) => self.divided(e, a, *c, false),
                _ => Ok(None),
            },
        }
    }

    /// Adds the clause that a runtime value has one index in the whole tile.
    fn fixed_index(&mut self, k: usize) -> Result<()> {
        let domain = self.map.domain();
        let mut dims: SmallVec<[u32; 4]> = SmallVec::new();
        for e in domain.runtime()[k].source.iter().flat_map(|s| &s.index) {
            e.for_each_var(&mut |v| dims.extend((v.kind == Kind::Dim).then_some(v.index)));
        }
        for dim in dims {
            let size = Expr::dim(domain.n_dims as u32 + dim);
            self.clause(vec![(size, Interval::new(1, 1))], Refusal::RuntimeVaries);
        }
        Ok(())
    }

    fn dim(&self, k: usize) -> Result<Sum> {
        let n = self.map.domain().n_dims;
        let (tile, size) = (Expr::dim(k as u32), Expr::dim((n + k) as u32));
        let low = tile.mul(&size)?;
        let Interval { lo, hi } = self.map.domain().vars[k].interval;
        let end = low.add(&size)?.minimum(&Expr::Const(add(hi, 1)?))?;
        let first = if lo > 0 { low.maximum(&Expr::Const(lo))? } else { low.clone() };
        let parts = vec![Part { factor: 1, size, most: self.extents[k] }];
        Ok(Sum { low, parts, first, last: less_one(&end)?, reversed: false })
    }

    /// Whether the variables of an expression occur in nothing but this one expression of this result.
    fn is_alone(&self, whole: &Expr, e: &Expr) -> bool {
        let n_dims = self.map.domain().n_dims;
        let mut own: SmallVec<[usize; 4]> = SmallVec::new();
        e.for_each_var(&mut |v| own.extend(self.map.domain().flat(v)));
        let count = |e: &Expr| {
            let mut n = 0usize;
            for &v in &own {
                e.for_each_var(&mut |w| n += usize::from(w == var_of(v, n_dims)));
            }
            n
        };
        let elsewhere: usize = self.map.results().iter().map(count).sum();
        elsewhere == count(whole) && self.map.results()[self.result].nodes() >= whole.nodes()
    }

    /// `e floordiv c` or `e mod c`, which is `whole`.
    fn divided(&mut self, whole: &Expr, e: &Expr, c: i64, is_quotient: bool) -> Result<Option<Sum>> {
        let Some(inner) = self.sum(e)? else { return Ok(None) };
        let by = Expr::Const(c);
        let (multiples, mut rest): (Vec<Part>, Vec<Part>) =
            inner.parts.iter().cloned().partition(|p| p.factor % c == 0);
        rest.retain(|p| p.most > 1);
        let (low, first, last) = if is_quotient {
            (inner.low.floor_div(&by)?, inner.first.floor_div(&by)?, inner.last.floor_div(&by)?)
        } else {
            (inner.low.floor_mod(&by)?, inner.first.floor_mod(&by)?, inner.last.floor_mod(&by)?)
        };
        let mut sum = Sum { low, parts: Vec::new(), first, last, reversed: inner.reversed };
        if is_quotient {
            sum.parts = multiples.iter().map(|p| Part { factor: p.factor / c, ..p.clone() }).collect();
        }
        let exact = self.exact_quotients.iter().find(|(quotient, _)| is_quotient && quotient == whole);
        if let Some((_, remainder)) = exact {
            // A run minus its remainder: the multiples of c in it, possibly none.
            let ([_], [], true) = (&rest[..], &multiples[..], self.is_alone(whole, e)) else { return Ok(None) };
            let up = |e: &Expr| e.add(&Expr::Const(c - 1 - remainder))?.floor_div(&by);
            let (low, first) = (up(&inner.low)?, up(&inner.first)?);
            let down = inner.top()?.sub(&Expr::Const(*remainder))?.floor_div(&by)?;
            let size = down.sub(&low)?.add(&Expr::Const(1))?;
            let parts = vec![Part { factor: 1, size, most: rest[0].most }];
            return Ok(Some(Sum { low, parts, first, ..sum }));
        }
        let one = match &rest[..] {
            [] => return Ok(Some(sum)),
            [one] if c % one.factor == 0 => one,
            _ => return Ok(None),
        };
        let steps = c / one.factor;
        let n = &one.size;
        let shift = inner.low.constant();
        let mut divides = Expr::Const(steps).floor_mod(n)?;
        if shift != 0 {
            divides = divides.add(&Expr::Const(shift).floor_mod(&n.scale(one.factor)?)?)?;
        }
        let multiple = n.floor_mod(&Expr::Const(steps))?.add(&Expr::Const(shift.rem_euclid(c)))?;
        let alone = self.is_alone(whole, e);
        if is_quotient {
            if alone {
                // The number of quotients depends on the tile.
                let top = inner.low.add(&reach(&rest)?)?;
                let size = top.floor_div(&by)?.sub(&inner.low.floor_div(&by)?)?.add(&Expr::Const(1))?;
                sum.parts.push(Part { factor: 1, size, most: one.most });
                return Ok(Some(sum));
            }
            let most = ceil_div(one.most, steps);
            let size = n.add(&Expr::Const(steps - 1))?.floor_div(&Expr::Const(steps))?;
            sum.parts.push(Part { factor: 1, size, most });
        } else {
            let size = n.minimum(&Expr::Const(steps))?;
            sum.parts.push(Part { factor: one.factor, size, most: one.most.min(steps) });
            if alone && one.factor == 1 {
                // A tile with all remainders begins at remainder 0.
                let is_less = Expr::Const(c).sub(n)?.maximum(&Expr::Const(0))?.minimum(&Expr::Const(1))?;
                sum.low = sum.low.mul(&is_less)?;
                sum.first = sum.first.mul(&is_less)?;
                let from_top = Expr::Const(c - 1).sub(&sum.last)?.mul(&is_less)?;
                sum.last = Expr::Const(c - 1).sub(&from_top)?;
                self.clause(
                    vec![(divides, Interval::new(0, 0)), (n.clone(), Interval::new(c, i64::MAX))],
                    Refusal::NotABox,
                );
                return Ok(Some(sum));
            }
        }
        self.clause(vec![(divides, Interval::new(0, 0)), (multiple, Interval::new(0, 0))], Refusal::NotABox);
        Ok(Some(sum))
    }
}
