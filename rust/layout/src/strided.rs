//! Layouts as strides over mixed-radix digits of the index.
//!
//! With the index of every dimension written in the mixed radix of its digits' sizes, the position in the buffer is the
//! sum of `digit * stride`. Most layouts have this form (CuTe's nested shapes and strides); a layout in which a tile
//! splits a dimension unevenly does not.

use crate::tiling::{row_major_strides, Result, Stages, Tiling};
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

/// A digit of logical dimension `dim`; one unit of it advances the coordinate in a dimension of a stage by `unit`.
#[derive(Clone, Copy, Debug)]
struct StageDigit {
    dim: usize,
    size: i64,
    weight: i64,
    unit: i64,
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
    let stages = Stages::of(shape)?;
    let mut all = vec![Vec::new(); shape.rank()];
    // An empty array has no positions, so any strides are right.
    if shape.dims().contains(&0) {
        return Ok(Some(all));
    }
    let mut parts: Vec<Vec<StageDigit>> = stages
        .order
        .iter()
        .map(|&dim| match shape.dims()[dim] {
            1 => vec![],
            size => vec![StageDigit { dim, size, weight: 1, unit: 1 }],
        })
        .collect();
    for tiling in &stages.tilings {
        let Some(next) = tile_digits(tiling, parts) else { return Ok(None) };
        parts = next;
    }
    for (parts, stride) in parts.into_iter().zip(row_major_strides(&stages.sizes)?) {
        for p in parts {
            all[p.dim].push(Digit { size: p.size, weight: p.weight, stride: p.unit * stride });
        }
    }
    for digits in &mut all {
        digits.sort_by_key(|d| d.weight);
        *digits = merge_adjacent(digits.iter().copied());
    }
    Ok(Some(all))
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

/// The digits of every dimension after a tile; `None` where it splits one unevenly.
fn tile_digits(tiling: &Tiling, mut parts: Vec<Vec<StageDigit>>) -> Option<Vec<Vec<StageDigit>>> {
    parts.splice(0..0, std::iter::repeat_n(Vec::new(), tiling.n_leading));
    let mut at = 0;
    let mut combined: Vec<Vec<StageDigit>> = Vec::new();
    for &group in &tiling.groups {
        // One unit of a dimension is as many units of the combined dimension as the more minor dimensions have
        // elements.
        let mut below = 1i64;
        let mut whole = Vec::new();
        for i in (at..at + group).rev() {
            whole.extend(parts[i].iter().map(|p| StageDigit { unit: p.unit * below, ..*p }));
            below = below.saturating_mul(tiling.before[i]);
        }
        at += group;
        combined.push(whole);
    }
    let first = tiling.n_untiled();
    for (i, &tile) in tiling.tile.iter().enumerate() {
        let (mut count, mut within) = (Vec::new(), Vec::new());
        let mut rest = combined[first + i].clone();
        rest.sort_by_key(|p| p.unit);
        // The largest coordinate within the tile so far; it must be less than the tile size.
        let mut max = 0;
        for part in rest {
            let above = StageDigit { unit: part.unit / tile, ..part };
            if part.unit % tile == 0 {
                count.push(above);
            } else if max + (part.size - 1) * part.unit < tile {
                max += (part.size - 1) * part.unit;
                within.push(part);
            } else {
                let inside = tile / part.unit;
                if tile % part.unit != 0 || part.size % inside != 0 || max >= part.unit {
                    return None;
                }
                max += (inside - 1) * part.unit;
                within.push(StageDigit { size: inside, ..part });
                count.push(StageDigit { size: part.size / inside, weight: part.weight * inside, unit: 1, ..part });
            }
        }
        combined[first + i] = count;
        combined.push(within);
    }
    Some(combined)
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
            ("f32[2,8]{1,0:T(*,4)}", vec![vec![(2, 8)], vec![(8, 1)]]),
            ("f32[2,3,8]{2,1,0:T(*,3,4)}", vec![vec![(2, 24)], vec![(3, 4)], vec![(4, 1), (2, 12)]]),
        ] {
            assert_eq!(pairs(text), Some(expected), "{text}");
        }
        for uneven in ["f32[3,5]{1,0:T(2,2)}", "f32[2,3]{1,0:T(*,4)}", "f32[1,7]{1,0:T(4,2,2)}"] {
            assert_eq!(pairs(uneven), None, "{uneven}");
        }
    }
}
