//! Decides whether a reshape, transpose or bitcast between two layouts moves no bytes.
//!
//! An operation is a bitcast exactly if both buffers have the same size, both element types the same width, and every
//! output element has the same position as the operand element that it equals. If both layouts are strided, the
//! answer is exact at any size; otherwise the two maps are compared and the answer may be [`Answer::Unknown`].

use quasiaffine::{Answer, Domain, Expr, Map};

use crate::derived_shapes::permutation;
use crate::linear::{buffer_bytes, linear_index, logical_index};
use crate::strided::{merge_adjacent, strides, Digit};
use crate::tiling::{row_major_strides, Result};
use crate::{ArrayShape, LinearError};

/// Whether a reshape from `operand` to `output` is a bitcast. The witness is an index of the output that would move.
pub fn reshape_is_bitcast(operand: &ArrayShape, output: &ArrayShape) -> Result<Answer<Vec<i64>>> {
    if let Some(answer) = decide_by_size(operand, output)? {
        return Ok(answer);
    }
    if let (Some(a), Some(b)) = (strides(operand)?, strides(output)?) {
        return match first_difference(&row_major_digits(operand, &a)?, &row_major_digits(output, &b)?) {
            None => Ok(Answer::Yes),
            Some(number) => Ok(Answer::No(unravel_index(output, number)?)),
        };
    }
    let through = reshape_map(output, operand)?.then(&linear_index(operand)?)?;
    Ok(linear_index(output)?.equivalent(&through))
}

/// Whether the transpose whose output dimension i is operand dimension `dimensions[i]` is a bitcast. Negative dimension
/// numbers count from the end. The witness is an index of the output that would move.
pub fn transpose_is_bitcast(operand: &ArrayShape, output: &ArrayShape, dimensions: &[i64]) -> Result<Answer<Vec<i64>>> {
    let order = permutation(dimensions, operand.rank());
    let order = order.map_err(|problem| LinearError::layout(problem.replace("minor_to_major", "dimensions")))?;
    let dimensions: Vec<usize> = order.iter().map(|&d| d as usize).collect();
    if !output.dims().iter().copied().eq(dimensions.iter().map(|&d| operand.dims()[d])) {
        let found = format!("dimensions: {dimensions:?} does not transpose {operand} to {output}");
        return Err(LinearError::layout(found));
    }
    if let Some(answer) = decide_by_size(operand, output)? {
        return Ok(answer);
    }
    if let (Some(a), Some(b)) = (strides(operand)?, strides(output)?) {
        for (i, &d) in dimensions.iter().enumerate() {
            if let Some(number) = first_difference(&b[i], &a[d]) {
                let mut witness = vec![0; output.rank()];
                witness[i] = number;
                return Ok(Answer::No(witness));
            }
        }
        return Ok(Answer::Yes);
    }
    let mut back = vec![Expr::from(0); operand.rank()];
    for (i, &d) in dimensions.iter().enumerate() {
        back[d] = Expr::dim(i as u32);
    }
    let there = Map::new(Domain::of_sizes(output.dims()), back)?;
    Ok(linear_index(output)?.equivalent(&there.then(&linear_index(operand)?)?))
}

/// Whether a bitcast from `operand` to `output` is valid: both buffers have the same size, and no element of the output
/// has the position of padding in the operand.
pub fn is_valid_bitcast(operand: &ArrayShape, output: &ArrayShape) -> Result<Answer<Vec<i64>>> {
    if let Some(answer) = decide_by_size(operand, output)? {
        return Ok(answer);
    }
    let there = linear_index(output)?;
    // Without padding, every position holds an element.
    if operand.n_elements() == Some(crate::buffer_elements(operand)?) {
        return Ok(Answer::Yes);
    }
    let round = there.then(&logical_index(operand)?)?.then(&linear_index(operand)?)?;
    Ok(there.equivalent(&round))
}

/// The answer if the element counts, element widths or buffer sizes differ, and for arrays without elements.
fn decide_by_size(operand: &ArrayShape, output: &ArrayShape) -> Result<Option<Answer<Vec<i64>>>> {
    let first = vec![0; output.rank()];
    if operand.n_elements() != output.n_elements()
        || operand.element_width() != output.element_width()
        || buffer_bytes(operand)? != buffer_bytes(output)?
    {
        return Ok(Some(Answer::No(first)));
    }
    Ok((output.n_elements() == Some(0)).then_some(Answer::Yes))
}

/// The mixed-radix digits of the row-major index of an element, minor first.
fn row_major_digits(shape: &ArrayShape, digits: &[Vec<Digit>]) -> Result<Vec<Digit>> {
    let weights = row_major_strides(shape.dims())?;
    let all = digits.iter().zip(weights).rev();
    Ok(merge_adjacent(all.flat_map(|(d, w)| d.iter().map(move |d| Digit { weight: d.weight * w, ..*d }))))
}

/// The smallest row-major index for which two lists of digits give different positions. Where the lists first differ,
/// both positions advance by one stride each until the shorter digit ends, and [`merge_adjacent`] has merged digits
/// that continue at the same stride; a difference therefore shows at the weight of some digit.
fn first_difference(a: &[Digit], b: &[Digit]) -> Option<i64> {
    let position = |digits: &[Digit], n: i64| -> i128 {
        digits.iter().map(|d| i128::from(n / d.weight % d.size) * i128::from(d.stride)).sum()
    };
    let mut steps: Vec<i64> = a.iter().chain(b).map(|d| d.weight).collect();
    steps.sort_unstable();
    steps.into_iter().find(|&n| position(a, n) != position(b, n))
}

/// The map from an index of one array to the index of the other that has the same row-major index.
fn reshape_map(from: &ArrayShape, to: &ArrayShape) -> Result<Map> {
    let plain = |shape: &ArrayShape| shape.with_layout(None).map_err(LinearError::layout);
    Ok(linear_index(&plain(from)?)?.then(&logical_index(&plain(to)?)?)?)
}

fn unravel_index(shape: &ArrayShape, number: i64) -> Result<Vec<i64>> {
    let strides = row_major_strides(shape.dims())?;
    Ok(shape.dims().iter().zip(strides).map(|(&n, s)| number / s % n).collect())
}
