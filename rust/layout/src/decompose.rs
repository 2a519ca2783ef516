//! Decomposition of a bitcast into transpose, reshape, transpose.
//!
//! Only untiled layouts with equal element widths decompose; a bitcast between other layouts is a composition of
//! position maps (`linear.rs`).

use crate::ArrayShape;

/// `output = inverse_transpose(reshape(transpose(operand)))`.
///
/// The operand element with logical index `i` has physical index `p[k] = i[operand_perm[k]]` in an array of
/// `operand_physical_dims`; the row-major index of `p` equals the row-major index of the output's physical index `q` in
/// `output_physical_dims`, and the output's logical index is `j[output_perm[k]] = q[k]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitcastDecomposition {
    /// The operand's dimension numbers, major to minor.
    pub operand_perm: Vec<i64>,
    /// The operand's sizes, major to minor.
    pub operand_physical_dims: Vec<i64>,
    /// The output's sizes, major to minor.
    pub output_physical_dims: Vec<i64>,
    /// The output's dimension numbers, major to minor.
    pub output_perm: Vec<i64>,
}

/// The transpose-reshape-transpose decomposition of a bitcast, the counterpart of XLA's
/// `ShapeUtil::DecomposeBitcastToTrt`; `None` if a layout is invalid or has tiles or padding, or if the element widths
/// or element counts differ.
///
/// Dimensions of size 1 do not affect positions, so each is placed by its dimension number, regardless of the layout's
/// order: if the other physical dimensions of operand and output agree, the reshape only drops and adds ones.
pub fn decompose_bitcast(operand: &ArrayShape, output: &ArrayShape) -> Option<BitcastDecomposition> {
    if operand.element_width() != output.element_width() || operand.n_elements()? != output.n_elements()? {
        return None;
    }
    let (operand_perm, operand_physical_dims) = major_to_minor(operand)?;
    let (output_perm, output_physical_dims) = major_to_minor(output)?;
    Some(BitcastDecomposition { operand_perm, operand_physical_dims, output_physical_dims, output_perm })
}

/// Dimension numbers and sizes, major to minor. A dimension of size 1 comes right before the next higher-numbered
/// dimension that is not of size 1, so that layouts that differ only in their ones agree.
fn major_to_minor(shape: &ArrayShape) -> Option<(Vec<i64>, Vec<i64>)> {
    let layout = shape.layout_or_default();
    if !layout.is_untiled() || layout.problem(shape.rank()).is_some() {
        return None;
    }
    let size = |d: i64| shape.dims()[d as usize];
    let order: Vec<i64> = layout.minor_to_major.iter().rev().copied().collect();
    let wide: Vec<i64> = order.iter().copied().filter(|&d| size(d) != 1).collect();
    let mut before: Vec<Vec<i64>> = vec![Vec::new(); shape.rank() + 1];
    let mut next = shape.rank();
    for d in (0..shape.rank()).rev() {
        if shape.dims()[d] == 1 {
            before[next].push(d as i64);
        } else {
            next = d;
        }
    }
    before.iter_mut().for_each(|ones| ones.reverse());
    let mut perm = Vec::with_capacity(shape.rank());
    for d in wide {
        perm.append(&mut before[d as usize]);
        perm.push(d);
    }
    perm.append(&mut before[shape.rank()]);
    let dims = perm.iter().map(|&d| size(d)).collect();
    Some((perm, dims))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse_shape, Shape};

    fn factors(operand: &str, output: &str) -> Option<BitcastDecomposition> {
        let array = |text: &str| match parse_shape(text).unwrap() {
            Shape::Array(a) => a,
            other => panic!("expected an array, found {other}"),
        };
        decompose_bitcast(&array(operand), &array(output))
    }

    #[test]
    fn transpose() {
        let f = factors("f32[2,3]{0,1}", "f32[3,2]{1,0}").unwrap();
        assert_eq!((f.operand_perm, f.operand_physical_dims), (vec![1, 0], vec![3, 2]));
        assert_eq!((f.output_physical_dims, f.output_perm), (vec![3, 2], vec![0, 1]));
    }

    #[test]
    fn ones_do_not_affect_positions() {
        let f = factors("f32[1,6,1]{0,2,1}", "f32[3,2]").unwrap();
        assert_eq!((f.operand_perm, f.operand_physical_dims), (vec![0, 1, 2], vec![1, 6, 1]));
        assert_eq!(f.output_physical_dims, vec![3, 2]);
    }

    #[test]
    fn undecomposable_pairs() {
        assert_eq!(factors("f32[8]{0:T(4)}", "f32[8]"), None);
        assert_eq!(factors("f32[8]", "bf16[16]"), None);
        assert_eq!(factors("f32[8]", "f32[9]"), None);
        assert_eq!(factors("s4[8]{0:E(4)}", "s4[8]"), None);
    }
}
