//! The image of all tiles of one class at once.
//!
//! The entry point is `image`. In a tile every variable is a start plus a *digit* that counts from 0, and every
//! result becomes a base plus a sum of strides times digits. A floor division or remainder by `c` splits a digit if `c`
//! divides its strides evenly, into a low and a high digit: then both parts are sums of digits again, for every base
//! that can occur. Bases are known up to a gap: each tile has a number plus a multiple of the gap.
//!
//! If the results are sums of disjoint digits, the image is the product of the images of the results, and each is an
//! arithmetic progression if its strides fit (`progression`).

use smallvec::{smallvec, SmallVec};

use crate::expr::{Expr, Kind, Op, Var};
use crate::int;
use crate::tile::class::TileClass;

/// The reason why the image of some tile is not known to be a box.
///
/// ```
/// use quasiaffine::tile::{Memo, Refusal, TiledMap};
/// let diagonal = "(d0) -> (d0, d0), domain: d0 in [0, 63]".parse()?;
/// let count = TiledMap::new(&diagonal, &[64], 1, TiledMap::FEW_POINTS).count(&[8], &mut Memo::default());
/// assert_eq!(count.refusal, Some(Refusal::DependentResults));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// Remainders and quotients that change inside a tile, or constraints that cut pieces out of it.
    NotABox,
    /// The values of one result have gaps.
    Gap,
    /// Two results change together.
    DependentResults,
    /// A runtime value may differ between points of the tile.
    RuntimeVaries,
    /// A number does not fit into 64 bits.
    Overflow,
}

/// The index of a runtime value, and the value if there is only one.
pub(crate) type RuntimeValue = (SmallVec<[Expr; 2]>, Option<i64>);

type Result<T> = std::result::Result<T, Refusal>;

/// A number `value + gap * k` for an unknown integer `k`, and its line over the tiles if it is on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    /// The value at the first tile; only a residue if `gap` is not 0 and `ramp` is `None`.
    pub value: i64,
    /// A divisor of the difference of the values at any two tiles; 0 if all tiles have one value.
    pub gap: i64,
    /// The variable whose tile number determines the value, and the difference from one tile to the next.
    pub ramp: Option<(u32, i64)>,
}

#[derive(Clone, Copy, Debug)]
struct Term {
    stride: i64,
    digit: u32,
}

type Terms = SmallVec<[Term; 4]>;

#[derive(Clone, Debug)]
struct Value {
    base: Base,
    terms: Terms,
}

/// A number that counts from 0 to `len - 1` in every tile.
#[derive(Clone, Debug)]
struct Digit {
    len: i64,
    /// `q * high + low`.
    split: Option<(i64, u32, u32)>,
    /// The digits from which this one is computed, if the relation is not one to one.
    made_of: SmallVec<[u32; 4]>,
    /// The sum of all lengths over the tiles of the ramp's variable, if known. The outer `Some`: the length depends on
    /// the tile.
    sum_of_lens: Option<Option<(u32, i128)>>,
}

/// The values of one result in a tile: `stride * k + start` for `0 <= k < len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub base: Base,
    /// The least value minus the base.
    pub below: i64,
    /// At least 1.
    pub stride: i64,
    /// The greatest length of all tiles.
    pub len: i64,
    /// The sum of the lengths over the tiles of one variable, if known. The outer `Some`: the length depends on the
    /// tile.
    pub sum_of_lens: Option<Option<(u32, i128)>>,
}

impl Run {
    /// The difference of the greatest and the least value.
    pub fn span(&self) -> Option<i64> {
        (self.len - 1).checked_mul(self.stride)
    }
}

/// A class of tiles, given by a class for each variable, ranges after the dimensions.
pub(crate) struct Tiles<'a> {
    pub classes: &'a [TileClass],
    pub n_dims: usize,
    pub runtime: &'a [RuntimeValue],
    /// Quotients whose numerator has one remainder at every point of the domain, with that remainder.
    pub exact_quotients: &'a [(Expr, i64)],
}

/// The runs of results in the tiles of a class; their product is the image of each tile.
pub(crate) fn image(tiles: &Tiles<'_>, results: &[&Expr]) -> Result<SmallVec<[Run; 4]>> {
    let mut walk = Walk { tiles, digits: SmallVec::new(), of_var: smallvec![u32::MAX; tiles.classes.len()] };
    let values = results.iter().map(|e| walk.value(e)).collect::<Result<SmallVec<[Value; 4]>>>()?;
    walk.product(values)
}

struct Walk<'a> {
    tiles: &'a Tiles<'a>,
    digits: SmallVec<[Digit; 8]>,
    of_var: SmallVec<[u32; 8]>,
}

fn fits<T>(value: Option<T>) -> Result<T> {
    value.ok_or(Refusal::Overflow)
}

impl Walk<'_> {
    fn digit(&mut self, len: i64) -> u32 {
        self.digits.push(Digit { len, split: None, made_of: SmallVec::new(), sum_of_lens: None });
        self.digits.len() as u32 - 1
    }

    fn value(&mut self, e: &Expr) -> Result<Value> {
        match e {
            Expr::Const(c) => Ok(constant(*c)),
            Expr::Var(v) => self.variable(*v),
            Expr::Node(_) => match e.op() {
                Some(Op::Sum(sum)) => {
                    let mut total = constant(sum.constant);
                    for t in &sum.terms {
                        let value = self.value(&t.atom)?;
                        add_scaled(&mut total, t.coefficient, &value)?;
                    }
                    Ok(total)
                }
                Some(Op::FloorDiv(a, Expr::Const(c))) => {
                    let exact = self.tiles.exact_quotients.iter().find(|(quotient, _)| quotient == e);
                    self.divided(a, *c, true, exact.map(|(_, remainder)| *remainder))
                }
                Some(Op::Mod(a, Expr::Const(c))) => self.divided(a, *c, false, None),
                _ => {
                    // If no operand changes inside a tile, the result is one unknown number.
                    for operand in e.operands() {
                        if !self.value(operand)?.terms.is_empty() {
                            return Err(Refusal::NotABox);
                        }
                    }
                    Ok(Value { base: Base { value: 0, gap: 1, ramp: None }, terms: SmallVec::new() })
                }
            },
        }
    }

    fn variable(&mut self, v: Var) -> Result<Value> {
        if v.kind == Kind::Runtime {
            let (index, value) = &self.tiles.runtime[v.index as usize];
            if let Some(value) = value {
                return Ok(constant(*value));
            }
            for e in index {
                match self.value(e) {
                    Ok(value) if value.terms.is_empty() => {}
                    _ => return Err(Refusal::RuntimeVaries),
                }
            }
            return Ok(Value { base: Base { value: 0, gap: 1, ramp: None }, terms: SmallVec::new() });
        }
        let flat = if v.kind == Kind::Dim { v.index as usize } else { self.tiles.n_dims + v.index as usize };
        let class = self.tiles.classes[flat];
        let ramp = (class.step != 0).then_some((flat as u32, class.step));
        let mut terms = Terms::new();
        if class.len > 1 {
            if self.of_var[flat] == u32::MAX {
                self.of_var[flat] = self.digit(class.len);
            }
            terms.push(Term { stride: 1, digit: self.of_var[flat] });
        }
        Ok(Value { base: Base { value: class.start, gap: class.step, ramp }, terms })
    }

    /// `e floordiv c` or `e mod c`; for an `exact` quotient only the points at which the remainder is `exact`.
    fn divided(&mut self, e: &Expr, c: i64, is_quotient: bool, exact: Option<i64>) -> Result<Value> {
        if c < 1 {
            return Err(Refusal::NotABox);
        }
        let value = self.value(e)?;
        let terms = self.leaves(&value.terms)?;
        if terms.iter().any(|t| self.may_be_none(t)) {
            return Err(Refusal::NotABox);
        }
        let (mut multiples, mut rest) = (Terms::new(), Terms::new());
        for t in terms {
            if t.stride % c == 0 {
                multiples.push(t);
            } else {
                let digit = &self.digits[t.digit as usize];
                let is_whole = digit.made_of.is_empty() && digit.sum_of_lens.is_none();
                let steps = c / t.stride.unsigned_abs().min(c as u64) as i64;
                let crosses = c % t.stride == 0 && digit.len > steps;
                if crosses && is_whole && digit.len % steps == 0 {
                    let (high, low) = self.split(t.digit, steps)?;
                    rest.push(Term { stride: t.stride, digit: low });
                    multiples.push(Term { stride: fits(t.stride.checked_mul(steps))?, digit: high });
                } else {
                    rest.push(t);
                }
            }
        }
        let (low, high) = self.range(&rest)?;
        let gap = fits(int::gcd(value.base.gap, c))?;
        let first = if gap == 0 { int::floor_mod(value.base.value, c) } else { int::floor_mod(value.base.value, gap) };
        let last = if gap == 0 { first } else { c - gap + first };
        let stays = first.checked_add(low).is_some_and(|n| n >= 0) && last.checked_add(high).is_some_and(|n| n < c);
        if let Some(of_all) = exact {
            let base = Base { value: fits(value.base.value.checked_sub(of_all))?, ..value.base };
            return self.run_of_quotients(base, c, &multiples, &rest, c - 1);
        }
        if stays {
            let base = if is_quotient { quotient(value.base, c) } else { remainder(value.base, c, first, gap) };
            let mut terms = if is_quotient { multiples } else { rest };
            if is_quotient {
                terms.iter_mut().for_each(|t| t.stride /= c);
            }
            return Ok(Value { base, terms });
        }
        if is_quotient {
            self.run_of_quotients(value.base, c, &multiples, &rest, 0)
        } else {
            self.all_remainders(c, &rest)
        }
    }

    /// The quotients of numbers that lie no farther apart than `c` are a run. The `skipped` least numbers do not count:
    /// the multiples of c in a run are the quotients of the run without its first c - 1 numbers.
    fn run_of_quotients(&mut self, base: Base, c: i64, multiples: &Terms, rest: &Terms, skipped: i64) -> Result<Value> {
        let (stride, _) = self.progression(rest)?;
        if stride > if skipped > 0 { 1 } else { c }
            || rest.iter().any(|t| self.digits[t.digit as usize].sum_of_lens.is_some())
        {
            return Err(Refusal::Gap);
        }
        let (low, high) = self.range(rest)?;
        let low = fits(low.checked_add(skipped))?;
        let (bottom, top) = (fits(base.value.checked_add(low))?, fits(base.value.checked_add(high))?);
        let span = fits(high.checked_sub(low))?;
        let gap = fits(int::gcd(base.gap, c))?;
        let (len, sum) = if base.gap == 0 {
            (int::floor_div(top, c) - int::floor_div(bottom, c) + 1, None)
        } else {
            let worst = c - gap + int::floor_mod(bottom, gap);
            let len = fits(worst.checked_add(span))?.div_euclid(c) + 1;
            let tiles = |(v, slope): (u32, i64)| {
                let n = self.tiles.classes[v as usize].n_tiles;
                let of = |from: i64| sum_of_quotients(n, slope, from, c);
                Some((v, of(top)? - of(bottom)? + i128::from(n)))
            };
            // All tiles have the same length if their bases are congruent; else some tiles have one more value.
            let least = span.div_euclid(c) + 1;
            match base.ramp.and_then(tiles) {
                _ if gap == c => (len, None),
                Some((v, sum)) => {
                    let of_all = |len: i64| i128::from(self.tiles.classes[v as usize].n_tiles) * i128::from(len);
                    match sum {
                        _ if sum == of_all(least) => (least, None),
                        _ if sum == of_all(least + 1) => (least + 1, None),
                        _ => (least + 1, Some(Some((v, sum)))),
                    }
                }
                None => (len, Some(None)),
            }
        };
        let mut made_of: SmallVec<[u32; 4]> = rest.iter().map(|t| t.digit).collect();
        made_of.sort_unstable();
        let digit = self.digits.len() as u32;
        self.digits.push(Digit { len, split: None, made_of, sum_of_lens: sum });
        let below = Base { value: bottom, ..base };
        let mut terms: Terms = multiples.iter().map(|t| Term { stride: t.stride / c, ..*t }).collect();
        terms.push(Term { stride: 1, digit });
        Ok(Value { base: quotient(below, c), terms })
    }

    /// A run of at least `c` neighbours has all remainders by `c`.
    fn all_remainders(&mut self, c: i64, rest: &Terms) -> Result<Value> {
        let (stride, len) = self.progression(rest)?;
        if stride != 1 || len < c || rest.iter().any(|t| self.digits[t.digit as usize].sum_of_lens.is_some()) {
            return Err(Refusal::NotABox);
        }
        let made_of = rest.iter().map(|t| t.digit).collect();
        let digit = self.digits.len() as u32;
        self.digits.push(Digit { len: c, split: None, made_of, sum_of_lens: None });
        Ok(Value { base: Base { value: 0, gap: 0, ramp: None }, terms: smallvec![Term { stride: 1, digit }] })
    }

    /// Splits a digit into `q * high + low` for a `q` that divides its length.
    fn split(&mut self, digit: u32, q: i64) -> Result<(u32, u32)> {
        let len = self.digits[digit as usize].len;
        let (low, high) = (self.digit(q), self.digit(len / q));
        self.digits[digit as usize].split = Some((q, low, high));
        Ok((high, low))
    }

    /// The terms by digits that are not split, each digit once.
    fn leaves(&self, terms: &[Term]) -> Result<Terms> {
        let mut leaves = Terms::new();
        let mut open: SmallVec<[Term; 8]> = terms.iter().rev().copied().collect();
        while let Some(t) = open.pop() {
            match self.digits[t.digit as usize].split {
                Some((q, low, high)) => {
                    open.push(Term { stride: fits(t.stride.checked_mul(q))?, digit: high });
                    open.push(Term { stride: t.stride, digit: low });
                }
                None => match leaves.iter_mut().find(|l| l.digit == t.digit) {
                    Some(leaf) => leaf.stride = fits(leaf.stride.checked_add(t.stride))?,
                    None => leaves.push(t),
                },
            }
        }
        leaves.retain(|t| t.stride != 0 && (self.digits[t.digit as usize].len != 1 || self.may_be_none(t)));
        Ok(leaves)
    }

    /// Whether a term's digit may have no value in some tile, since lengths of quotients differ by one.
    fn may_be_none(&self, t: &Term) -> bool {
        let digit = &self.digits[t.digit as usize];
        digit.len < 1 || (digit.len == 1 && digit.sum_of_lens.is_some())
    }

    /// The least and the greatest sum of terms.
    fn range(&self, terms: &[Term]) -> Result<(i64, i64)> {
        let (mut low, mut high) = (0i64, 0i64);
        for t in terms {
            let end = fits(t.stride.checked_mul(self.digits[t.digit as usize].len - 1))?;
            if end < 0 {
                low = fits(low.checked_add(end))?;
            } else {
                high = fits(high.checked_add(end))?;
            }
        }
        Ok((low, high))
    }

    /// The stride and the length of the sums of terms, if they are an arithmetic progression.
    fn progression(&self, terms: &[Term]) -> Result<(i64, i64)> {
        let mut parts: SmallVec<[(u64, i64, bool); 4]> = terms
            .iter()
            .map(|t| {
                let digit = &self.digits[t.digit as usize];
                (t.stride.unsigned_abs(), digit.len, digit.sum_of_lens.is_some())
            })
            .collect();
        parts.sort_unstable();
        let Some(&(first, ..)) = parts.first() else { return Ok((1, 1)) };
        let stride = fits(i64::try_from(first).ok())?;
        if terms.iter().any(|t| self.may_be_none(t)) {
            return if parts.len() == 1 { Ok((stride, parts[0].1)) } else { Err(Refusal::Gap) };
        }
        let mut len = 1i64;
        for (k, &(s, n, varies)) in parts.iter().enumerate() {
            let ratio = fits(i64::try_from(s / first).ok())?;
            if s % first != 0 || ratio > len || (varies && k + 1 < parts.len()) {
                return Err(Refusal::Gap);
            }
            len = fits(ratio.checked_mul(n - 1).and_then(|more| len.checked_add(more)))?;
        }
        Ok((stride, len))
    }

    /// The runs of results that share no digit.
    fn product(&mut self, values: SmallVec<[Value; 4]>) -> Result<SmallVec<[Run; 4]>> {
        let mut used: SmallVec<[u32; 8]> = SmallVec::new();
        let mut runs = SmallVec::new();
        for value in values {
            let terms = self.leaves(&value.terms)?;
            for t in &terms {
                self.claim(t.digit, &mut used)?;
            }
            let (stride, len) = self.progression(&terms)?;
            let (below, _) = self.range(&terms)?;
            let varying = terms.iter().find(|t| self.digits[t.digit as usize].sum_of_lens.is_some());
            let sum_of_lens = varying.map(|t| {
                let digit = &self.digits[t.digit as usize];
                let (variable, sum) = digit.sum_of_lens??;
                let n = i128::from(self.tiles.classes[variable as usize].n_tiles);
                // The other terms give `rest` values; every further value of this term adds `ratio` values.
                let ratio = i128::from(t.stride / stride).abs();
                let rest = i128::from(len) - ratio * i128::from(digit.len - 1);
                Some((variable, (rest - ratio) * n + ratio * sum))
            });
            if varying.is_some_and(|t| t.stride < 0) {
                // The least value depends on a length that differs between tiles.
                return Err(Refusal::NotABox);
            }
            runs.push(Run { base: value.base, below, stride, len, sum_of_lens });
        }
        Ok(runs)
    }

    /// Marks all digits under a digit as used; fails if one is used already.
    fn claim(&self, digit: u32, used: &mut SmallVec<[u32; 8]>) -> Result<()> {
        let mut open: SmallVec<[u32; 8]> = smallvec![digit];
        while let Some(digit) = open.pop() {
            let d = &self.digits[digit as usize];
            if let Some((_, low, high)) = d.split {
                open.extend([low, high]);
            } else if !d.made_of.is_empty() {
                open.extend(d.made_of.iter().copied());
            } else if used.contains(&digit) {
                return Err(Refusal::DependentResults);
            } else {
                used.push(digit);
            }
        }
        Ok(())
    }
}

fn constant(c: i64) -> Value {
    Value { base: Base { value: c, gap: 0, ramp: None }, terms: SmallVec::new() }
}

fn add_scaled(total: &mut Value, factor: i64, value: &Value) -> Result<()> {
    let scaled = |n: i64| fits(n.checked_mul(factor));
    let (a, b) = (total.base, value.base);
    let ramp = match (a.ramp, b.ramp) {
        (None, Some((v, slope))) if a.gap == 0 => Some((v, scaled(slope)?)),
        (ramp, None) if b.gap == 0 => ramp,
        (Some((v, slope)), Some((w, other))) if v == w => Some((v, fits(slope.checked_add(scaled(other)?))?)),
        _ => None,
    };
    let gap = fits(int::gcd(a.gap, scaled(b.gap)?))?;
    total.base = Base { value: fits(a.value.checked_add(scaled(b.value)?))?, gap, ramp };
    for t in &value.terms {
        total.terms.push(Term { stride: scaled(t.stride)?, digit: t.digit });
    }
    Ok(())
}

/// The base of `value floordiv c`, if nothing carries into the quotient.
fn quotient(base: Base, c: i64) -> Base {
    let value = int::floor_div(base.value, c);
    match base.gap {
        0 => Base { value, gap: 0, ramp: None },
        gap if gap % c == 0 => Base { value, gap: gap / c, ramp: base.ramp.map(|(v, slope)| (v, slope / c)) },
        _ => Base { value, gap: 1, ramp: None },
    }
}

fn remainder(base: Base, c: i64, first: i64, gap: i64) -> Base {
    if base.gap % c == 0 {
        return Base { value: int::floor_mod(base.value, c), gap: 0, ramp: None };
    }
    Base { value: first, gap, ramp: None }
}

/// The sum of `(slope * t + from) floordiv c` over `0 <= t < n`.
pub(crate) fn sum_of_quotients(n: i64, slope: i64, from: i64, c: i64) -> Option<i128> {
    // Euclid's algorithm on the slope, which takes as many steps as a greatest common divisor.
    let (mut n, mut a, mut b, mut m) = (i128::from(n), i128::from(slope), i128::from(from), i128::from(c));
    let (mut sum, mut sign) = (0i128, 1i128);
    while n > 0 {
        let (qa, qb) = (a.div_euclid(m), b.div_euclid(m));
        let pairs = n.checked_mul(n - 1)? / 2;
        let part = pairs.checked_mul(qa)?.checked_add(n.checked_mul(qb)?)?;
        sum = sum.checked_add(sign * part)?;
        (a, b) = (a.rem_euclid(m), b.rem_euclid(m));
        let top = a.checked_mul(n)?.checked_add(b)?;
        // The points below the line, counted by rows: all points minus those above the line, with axes swapped.
        let rows = top / m;
        if rows == 0 {
            break;
        }
        sum = sum.checked_add(sign * (rows.checked_mul(n)?))?;
        // sum_{t<n} floor((a t + b)/m) = n*rows - sum_{j<rows} floor((m j + m - b + a - 1)/a)
        (n, b) = (rows, m - b + a - 1);
        (a, m) = (m, a);
        sign = -sign;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_quotients_are_those_of_the_loop() {
        for (n, slope, from, c) in
            [(0, 3, 4, 5), (1, 7, 3, 2), (10, 3, 4, 7), (9, -3, 2, 4), (50, 6, -11, 4), (7, 0, 9, 2)]
        {
            let expected: i64 = (0..n).map(|t: i64| (slope * t + from).div_euclid(c)).sum();
            assert_eq!(sum_of_quotients(n, slope, from, c), Some(i128::from(expected)), "{n} {slope} {from} {c}");
        }
    }
}
