//! Decides whether an instruction leaves the elements of an operand in place.
//!
//! The answer compares positions in memory: true exactly if both buffers have one size and every element of the output
//! has the position of the only operand element that it reads.

use flow::indexing::{InstructionIndexing, OperandIndexing};
use flow::maps::is_identity_on;
use layout::{buffer_bytes, buffer_elements, linear_index, transpose_is_bitcast, ArrayShape, Shape};
use quasiaffine::{Map, Points, Program};

/// Whether the output has every element of an operand, the part `at` of its indexing, at the same position in memory;
/// `None` if that is undecided, and for values that are not arrays.
pub fn is_bitcast(indexing: &InstructionIndexing, at: Option<usize>, output: &Shape, operand: &Shape) -> Option<bool> {
    let (output, operand) = (output.as_array()?, operand.as_array()?);
    let is_same = output == operand;
    if !is_same && buffer_bytes(output).ok()? != buffer_bytes(operand).ok()? {
        return Some(false);
    }
    let at = at?;
    let OperandIndexing::Known(footprint) = &indexing.parts[at].1 else { return None };
    let (_, m) = footprint.maps.first()?;
    if !footprint.exact || footprint.maps.iter().any(|(_, other)| other != m) {
        return None;
    }
    if is_same && is_identity_on(m, output.dims()) {
        return Some(true);
    }
    if output.element_width() != operand.element_width()
        || output.n_elements() != operand.n_elements()
        || buffer_elements(output).ok()? != buffer_elements(operand).ok()?
    {
        return None;
    }
    if is_identity_on(m, output.dims()) {
        let same: Vec<i64> = (0..output.rank() as i64).collect();
        return transpose_is_bitcast(operand, output, &same).ok()?.known();
    }
    by_positions(m, output, operand)
}

/// Compares the positions of an output element and of the operand element that it reads; first at some points, which
/// decides most cases.
fn by_positions(m: &Map, output: &ArrayShape, operand: &ArrayShape) -> Option<bool> {
    let (own, read) = (linear_index(output).ok()?, m.then(&linear_index(operand).ok()?).ok()?);
    let domain = read.domain();
    if domain.n_runtime() == 0 && domain.constraints.is_empty() {
        let (n, n_dims) = (domain.vars.len() + 1, domain.n_dims);
        let (mut dims, mut ranges) = (Vec::new(), Vec::new());
        for point in 0..n {
            let value = |i: usize| {
                let interval = domain.vars[i].interval;
                if i == point {
                    interval.hi
                } else {
                    interval.lo
                }
            };
            dims.extend((0..n_dims).map(value));
            ranges.extend((n_dims..n - 1).map(value));
        }
        let points = Points { n, dims: &dims, ranges: &ranges, runtime: &[] };
        let outputs = Points { ranges: &[], ..points };
        let found = Program::new(&read).ok()?.run::<false>(&points).ok()?;
        if found != Program::new(&own).ok()?.run::<false>(&outputs).ok()? {
            return Some(false);
        }
    }
    // With ranges an output element may read several elements, which may coincide at these points.
    if domain.vars.len() != domain.n_dims {
        return None;
    }
    own.equivalent(&read).known()
}
