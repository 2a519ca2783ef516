//! Layouts as strides over mixed-radix digits of the index.
//!
//! With the index of every dimension written in the mixed radix of its digits' sizes, the position in the buffer is the
//! sum of `digit * stride`. Most layouts have this form (CuTe's nested shapes and strides); a layout in which a tile
//! splits a dimension unevenly does not.

use std::collections::BTreeSet;

use quasiaffine::{Expr, Map, Op, Options, Var};

use crate::linear::linear_index;
use crate::tiling::Result;
use crate::ArrayShape;

/// One mixed-radix digit of the index of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digit {
    /// The number of values of the digit.
    pub size: i64,
    /// The increment of the index per unit of the digit.
    pub weight: i64,
    /// The increment of the position per unit of the digit.
    pub stride: i64,
}

/// The digits of every dimension, minor first, with contiguous digits merged; a dimension of size 1 has none. `None`
/// for a layout that is not strided.
///
/// ```
/// use layout::{parse_shape, strides};
///
/// let shape = parse_shape("f32[4,6]{1,0:T(2,2)}")?;
/// let digits = strides(shape.as_array().expect("an array"))?.expect("a strided layout");
/// let rows: Vec<_> = digits[0].iter().map(|d| (d.size, d.stride)).collect();
/// assert_eq!(rows, [(2, 2), (2, 12)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn strides(shape: &ArrayShape) -> Result<Option<Vec<Vec<Digit>>>> {
    let Some(positions) = Positions::of(shape)? else { return Ok(None) };
    let mut all = Vec::with_capacity(shape.rank());
    for (d, &size) in shape.dims().iter().enumerate() {
        if size % positions.weights[d].last().unwrap_or(&1) != 0 {
            return Ok(None);
        }
        // An empty array has no positions, so any strides are right.
        let end = if shape.dims().contains(&0) { 0 } else { size };
        all.push(merge_adjacent(positions.digits(d, end)?.into_iter()));
    }
    Ok(Some(all))
}

/// The position of an element as a sum over the dimensions: each summand depends on the quotients of the index by
/// weights, each a divisor of the next.
pub(crate) struct Positions {
    position: Expr,
    /// For each dimension, ascending, from 1.
    pub weights: Vec<Vec<i64>>,
}

impl Positions {
    /// `None` if some quotient depends on several dimensions, or a weight does not divide the next one.
    pub fn of(shape: &ArrayShape) -> Result<Option<Positions>> {
        let map = linear_index(shape)?;
        // Combined dimensions come apart in the simplified map.
        let map = if weights_of(&map).is_some() { map } else { map.simplify(Options::default()) };
        let Some(weights) = weights_of(&map) else { return Ok(None) };
        let weights: Vec<Vec<i64>> = weights.into_iter().map(|weights| weights.into_iter().collect()).collect();
        let is_chain = weights.iter().all(|weights| weights.windows(2).all(|pair| pair[1] % pair[0] == 0));
        // The map of an array without elements has no results.
        let position = map.results().first().cloned().unwrap_or(Expr::Const(0));
        Ok(is_chain.then_some(Positions { position, weights }))
    }

    /// The position of an element with this index in dimension `d`, and 0 in the others.
    pub fn at(&self, d: usize, index: i64) -> Result<i64> {
        let at = |v: Var| Ok(Expr::Const(if v.index as usize == d { index } else { 0 }));
        Ok(self.position.substitute(&at)?.as_const().unwrap_or_default())
    }

    /// The digits, minor first, of the indices of dimension `d` below a multiple of the weights up to it.
    pub fn digits(&self, d: usize, end: i64) -> Result<Vec<Digit>> {
        let below = self.weights[d].iter().copied().filter(|&weight| weight < end);
        let ends = below.clone().skip(1).chain([end]);
        let digit = |(weight, end)| Ok(Digit { size: end / weight, weight, stride: self.at(d, weight)? });
        below.zip(ends).map(digit).collect()
    }
}

/// For each dimension the indices at which the quotients and remainders in a map first change; `None` if one has a
/// numerator of several dimensions.
fn weights_of(map: &Map) -> Option<Vec<BTreeSet<i64>>> {
    let mut weights = vec![BTreeSet::from([1]); map.domain().n_dims];
    map.results().iter().all(|e| collect_weights(e, &mut weights)).then_some(weights)
}

fn collect_weights(e: &Expr, weights: &mut [BTreeSet<i64>]) -> bool {
    if let Some(Op::FloorDiv(numerator, divisor) | Op::Mod(numerator, divisor)) = e.op() {
        let mut inner = numerator;
        let Some(mut weight) = divisor.as_const() else { return false };
        while let Some(Op::FloorDiv(numerator, divisor) | Op::Mod(numerator, divisor)) = inner.op() {
            let is_quotient = matches!(inner.op(), Some(Op::FloorDiv(..)));
            weight *= if is_quotient { divisor.as_const().unwrap_or(1) } else { 1 };
            inner = numerator;
        }
        let Expr::Var(v) = inner else { return false };
        weights[v.index as usize].insert(weight);
    }
    e.operands().all(|part| collect_weights(part, weights))
}

/// Merges adjacent digits, minor first, where the second continues at the stride of the first.
pub(crate) fn merge_adjacent(digits: impl Iterator<Item = Digit>) -> Vec<Digit> {
    let mut all: Vec<Digit> = Vec::new();
    for d in digits {
        match all.last_mut() {
            Some(last) if last.stride.checked_mul(last.size) == Some(d.stride) => last.size *= d.size,
            _ => all.push(d),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse_shape, Shape};

    fn pairs(text: &str) -> Option<Vec<Vec<(i64, i64)>>> {
        let Shape::Array(shape) = parse_shape(text).unwrap() else { panic!("{text} is not an array") };
        let digits = strides(&shape).unwrap()?;
        Some(digits.iter().map(|d| d.iter().map(|d| (d.size, d.stride)).collect()).collect())
    }

    #[test]
    fn cases() {
        for (text, expected) in [
            ("f32[3,5]", vec![vec![(3, 5)], vec![(5, 1)]]),
            ("f32[3,5]{0,1}", vec![vec![(3, 1)], vec![(5, 3)]]),
            ("f32[]", vec![]),
            ("f32[0,5]{1,0:T(2,2)}", vec![vec![], vec![]]),
            ("f32[4,6]{1,0:T(2,2)}", vec![vec![(2, 2), (2, 12)], vec![(2, 1), (3, 4)]]),
            ("f32[3,5]{1,0:T(8,128)}", vec![vec![(3, 128)], vec![(5, 1)]]),
            ("f32[4,8]{1,0:T(2,4)(2,1)}", vec![vec![(2, 1), (2, 16)], vec![(8, 2)]]),
            ("f32[2,3]{1,0:T(*,4)}", vec![vec![(2, 3)], vec![(3, 1)]]),
            ("f32[2,8]{1,0:T(*,4)}", vec![vec![(2, 8)], vec![(8, 1)]]),
            ("f32[2,3,8]{2,1,0:T(*,3,4)}", vec![vec![(2, 24)], vec![(3, 4)], vec![(4, 1), (2, 12)]]),
        ] {
            assert_eq!(pairs(text), Some(expected), "{text}");
        }
        for uneven in ["f32[3,5]{1,0:T(2,2)}", "f32[1,7]{1,0:T(4,2,2)}"] {
            assert_eq!(pairs(uneven), None, "{uneven}");
        }
    }
}
