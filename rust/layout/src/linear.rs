//! Maps between the logical index of an element and its position in the buffer.
//!
//! [`logical_index`] inverts its stages from last to first; a coordinate beyond the size of its stage is padding, which
//! the constraints exclude. A split array has a buffer per part, see [`SplitPart`]. `linear_index` followed by
//! `logical_index` is the identity on the array. Source: XLA's "Tiled layout" document.

use quasiaffine::{Constraint, Domain, Expr, Interval, Map};

use crate::tiling::{product, Result, Stages, Tiling, TOO_LARGE};
use crate::tuning::MAX_PARTS;
use crate::{ArrayShape, LinearError, Shape};

/// The unit of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Elements from the start of the buffer.
    Element,
    /// Bytes from the start of the buffer to the byte that holds the element's first bit.
    Byte,
    /// Bits from the start of the buffer to the element's first bit; bit 0 is the lowest bit of byte 0.
    Bit,
}

/// The map from the logical index of an element to its position in the buffer, in elements.
///
/// Errors: the layout is invalid or sparse, a dimension is unbounded, or a position does not fit in an i64.
///
/// ```
/// use layout::{linear_index, parse_shape};
///
/// let shape = parse_shape("f32[3,5]{0,1}")?;
/// let map = linear_index(shape.as_array().expect("an array"))?;
/// assert_eq!(map.to_string(), "(d0, d1) -> (d0 + d1 * 3), domain: d0 in [0, 2], d1 in [0, 4]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn linear_index(shape: &ArrayShape) -> Result<Map> {
    let e = (0..shape.rank() as u32).map(Expr::dim).collect();
    Ok(Map::new(Domain::of_sizes(shape.dims()), [position(&Stages::of(shape)?, e)?])?)
}

/// [`linear_index`] in the given unit.
pub fn address(shape: &ArrayShape, unit: Unit) -> Result<Map> {
    in_units(linear_index(shape)?, shape, unit)
}

fn in_units(map: Map, shape: &ArrayShape, unit: Unit) -> Result<Map> {
    let width = shape.element_width();
    let [position] = map.results() else { return Ok(map) };
    let at = match unit {
        Unit::Element => return Ok(map),
        Unit::Bit => position.scale(width)?,
        Unit::Byte if width % 8 == 0 => position.scale(width / 8)?,
        Unit::Byte => position.scale(width)?.floor_div(&Expr::from(8))?,
    };
    Ok(map.with_results([at])?)
}

/// The map from a position in the buffer, in elements, to the logical index of the element there. Its domain excludes
/// the positions of padding. Errors as for [`linear_index`].
pub fn logical_index(shape: &ArrayShape) -> Result<Map> {
    let stages = Stages::of(shape)?;
    let (n, padded) = (stages.n_tiled_elements()?, stages.n_buffer_elements()?);
    let mut domain = Domain::of_sizes(&[padded]);
    let mut within = |expr: &Expr, size: i64, is_whole: bool| {
        if !is_whole {
            domain.constraints.push(Constraint { expr: expr.clone(), interval: Interval::new(0, size - 1) });
        }
    };
    let position = Expr::dim(0);
    within(&position, n, n == padded);
    let mut e = delinearize(&position, &stages.sizes)?;
    for tiling in stages.tilings.iter().rev() {
        e = undo_tiling(tiling, &e, &mut within)?;
    }
    let mut results = vec![Expr::from(0); shape.rank()];
    for (&d, e) in stages.order.iter().zip(e) {
        within(&e, shape.dims()[d], shape.dims()[d] == stages.padded[d]);
        if shape.dims()[d] != 1 {
            results[d] = e;
        }
    }
    Ok(Map::new(domain, results)?)
}

/// The size of the buffer in elements, padding included.
pub fn buffer_elements(shape: &ArrayShape) -> Result<i64> {
    Stages::of(shape)?.n_buffer_elements()
}

/// The size of the buffer in bytes, padding included. The metadata that precedes an array of dynamic shape is not
/// counted.
pub fn buffer_bytes(shape: &ArrayShape) -> Result<i64> {
    let (n, width) = (buffer_elements(shape)?, shape.element_width());
    let bits = i128::from(n) * i128::from(width);
    i64::try_from((bits + 7) / 8).map_err(|_| TOO_LARGE)
}

/// [`buffer_bytes`] of an array or a buffer, and of a tuple the sum of its arrays: neither its table of pointers nor
/// tokens and opaque values count. The parser bounds how deeply shapes nest.
pub fn total_bytes(shape: &Shape) -> Result<i64> {
    match shape {
        Shape::Array(array) => buffer_bytes(array),
        Shape::Buffer(inner) => total_bytes(inner),
        Shape::Tuple(parts) => {
            parts.iter().try_fold(0i64, |sum, part| sum.checked_add(total_bytes(part)?).ok_or(TOO_LARGE))
        }
        Shape::Token | Shape::Opaque => Ok(0),
    }
}

/// The dimensions after all tiles, major to minor: without tail padding, the buffer is a row-major array of these
/// sizes.
pub fn tiled_dims(shape: &ArrayShape) -> Result<Vec<i64>> {
    Ok(Stages::of(shape)?.sizes)
}

/// One part of an array that is split by its split configs: an array with a buffer of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitPart {
    /// The first index that belongs to the part, by dimension number.
    pub start: Vec<i64>,
    /// The part as an array, with the layout of the whole array except for the split configs.
    pub shape: ArrayShape,
}

impl SplitPart {
    /// The number of parts of an array: 1 without split configs.
    pub fn count(shape: &ArrayShape) -> Result<usize> {
        Stages::of(shape)?;
        let configs = shape.layout().map_or(&[][..], |l| &l.split_configs);
        configs.iter().try_fold(1usize, |n, c| n.checked_mul(c.indices.len() + 1)).ok_or(TOO_LARGE)
    }

    /// All parts of an array, in the order of [`SplitPart::of`]. Arrays with more than 65,536 parts are an error.
    pub fn all(shape: &ArrayShape) -> Result<Vec<SplitPart>> {
        match SplitPart::count(shape)? {
            n if n > MAX_PARTS => {
                let found = format!("split_configs: expected at most {MAX_PARTS} parts, found {n}");
                Err(LinearError::Invalid(found))
            }
            n => (0..n).map(|number| SplitPart::of(shape, number)).collect(),
        }
    }

    /// The part with this number. Parts are numbered in row-major order; the first split config is the most major.
    pub fn of(shape: &ArrayShape, number: usize) -> Result<SplitPart> {
        let n_parts = SplitPart::count(shape)?;
        if number >= n_parts {
            return Err(LinearError::Invalid(format!("expected a part number below {n_parts}, found {number}")));
        }
        let Some(layout) = shape.layout() else {
            return Ok(SplitPart { start: vec![0; shape.rank()], shape: shape.clone() });
        };
        let (mut start, mut dims, mut layout) = (vec![0; shape.rank()], shape.dims().to_vec(), layout.clone());
        let mut rest = number;
        for config in std::mem::take(&mut layout.split_configs).iter().rev() {
            let d = layout.minor_to_major[dims.len() - 1 - config.dimension as usize] as usize;
            let k = rest % (config.indices.len() + 1);
            rest /= config.indices.len() + 1;
            start[d] = if k == 0 { 0 } else { config.indices[k - 1] };
            let end = config.indices.get(k).copied();
            dims[d] = end.unwrap_or(shape.dims()[d]) - start[d];
            if let Some(padded) = layout.padded_dimensions.get_mut(d) {
                *padded = end.unwrap_or(*padded) - start[d];
            }
        }
        Ok(SplitPart { start, shape: shape.with_dims(&dims, Some(layout)).map_err(LinearError::layout)? })
    }

    /// The map from a logical index of the whole array to the address in this part's buffer.
    pub fn address(&self, unit: Unit) -> Result<Map> {
        let shape = &self.shape;
        let mut domain = Domain::of_sizes(shape.dims());
        let mut e = Vec::with_capacity(shape.rank());
        for (d, (variable, &start)) in domain.vars.iter_mut().zip(&self.start).enumerate() {
            variable.interval = Interval::new(start, start + shape.dims()[d] - 1);
            e.push(Expr::dim(d as u32).sub(&Expr::from(start))?);
        }
        in_units(Map::new(domain, [position(&Stages::of(shape)?, e)?])?, shape, unit)
    }

    /// The map from a position in this part's buffer to the logical index in the whole array.
    pub fn logical_index(&self) -> Result<Map> {
        let map = logical_index(&self.shape)?;
        let moved = map.results().iter().zip(&self.start).map(|(e, &start)| e.add(&Expr::from(start)));
        Ok(map.with_results(moved.collect::<quasiaffine::Result<Vec<_>>>()?)?)
    }
}

/// The position of the element whose logical index is given by one expression per dimension.
fn position(stages: &Stages, logical: Vec<Expr>) -> Result<Expr> {
    let mut e: Vec<Expr> = stages.order.iter().map(|&d| logical[d].clone()).collect();
    for tiling in &stages.tilings {
        e = apply_tiling(tiling, e)?;
    }
    linearize(&e, &stages.sizes)
}

/// The index after a tile, from the index before it.
fn apply_tiling(tiling: &Tiling, e: Vec<Expr>) -> Result<Vec<Expr>> {
    let mut e = e;
    e.splice(0..0, std::iter::repeat_n(Expr::from(0), tiling.n_leading));
    let mut combined = Vec::with_capacity(tiling.combined.len() + tiling.tile.len());
    let mut at = 0;
    for &n in &tiling.groups {
        combined.push(if n == 1 { e[at].clone() } else { linearize(&e[at..at + n], &tiling.before[at..at + n])? });
        at += n;
    }
    let first = tiling.n_untiled();
    for (i, &t) in tiling.tile.iter().enumerate() {
        let whole = combined[first + i].clone();
        // An index is less than its size, so a dimension that fits in one tile needs no division.
        let (count, within) = if tiling.combined[first + i] <= t {
            (Expr::from(0), whole)
        } else if t == 1 {
            (whole, Expr::from(0))
        } else {
            (whole.floor_div(&Expr::from(t))?, whole.floor_mod(&Expr::from(t))?)
        };
        combined[first + i] = count;
        combined.push(within);
    }
    Ok(combined)
}

/// The index before a tile, from the index after it; `within` receives every coordinate, its size, and whether the size
/// is a multiple of the tile, so that no value is padding.
fn undo_tiling(tiling: &Tiling, e: &[Expr], within: &mut impl FnMut(&Expr, i64, bool)) -> Result<Vec<Expr>> {
    let (n, first) = (tiling.combined.len(), tiling.n_untiled());
    let mut before = Vec::with_capacity(tiling.before.len());
    let mut at = 0;
    for (i, &group) in tiling.groups.iter().enumerate() {
        let size = tiling.combined[i];
        let combined = if i < first {
            e[i].clone()
        } else {
            let t = tiling.tile[i - first];
            let coordinate = e[i].scale(t)?.add(&e[n + i - first])?;
            within(&coordinate, size, size % t == 0);
            // The constraint leaves a coordinate of size 1 a single value.
            if size == 1 {
                Expr::from(0)
            } else {
                coordinate
            }
        };
        if group == 1 {
            before.push(combined);
        } else {
            before.extend(delinearize(&combined, &tiling.before[at..at + group])?);
        }
        at += group;
    }
    before.drain(..tiling.n_leading);
    Ok(before)
}

/// `(…(e_n * d_{n-1} + e_{n-1}) * d_{n-2} + …) + e_1`
pub(crate) fn linearize(e: &[Expr], sizes: &[i64]) -> Result<Expr> {
    // An empty array has no positions.
    if product(sizes)? == 0 {
        return Ok(Expr::from(0));
    }
    let mut terms = Vec::with_capacity(e.len());
    let mut stride = 1i64;
    for (i, (e, &size)) in e.iter().zip(sizes).enumerate().rev() {
        terms.push((stride, e));
        if i > 0 {
            stride = stride.checked_mul(size).ok_or(TOO_LARGE)?;
        }
    }
    Ok(Expr::sum(terms)?)
}

/// The inverse of [`linearize`] for positions in range, which is why the most major coordinate needs no remainder.
fn delinearize(position: &Expr, sizes: &[i64]) -> Result<Vec<Expr>> {
    let mut all = Vec::with_capacity(sizes.len());
    let mut stride = 1i64;
    let most_major = sizes.iter().position(|&n| n != 1);
    for (i, &size) in sizes.iter().enumerate().rev() {
        // No position is in range of an empty array, so any divisor will do.
        let size = size.max(1);
        if size == 1 {
            all.push(Expr::from(0));
            continue;
        }
        let e = if stride == 1 { position.clone() } else { position.floor_div(&Expr::from(stride))? };
        all.push(if most_major == Some(i) { e } else { e.floor_mod(&Expr::from(size))? });
        stride = stride.checked_mul(size).ok_or(TOO_LARGE)?;
    }
    all.reverse();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse_shape, Layout, Shape};
    use quasiaffine::{Points, Program};

    fn array(text: &str) -> ArrayShape {
        match parse_shape(text).unwrap() {
            Shape::Array(a) => a,
            other => panic!("expected an array, found {other}"),
        }
    }

    /// All indices of an array, row by row.
    fn indices(dims: &[i64]) -> Vec<i64> {
        let n: i64 = dims.iter().product();
        (0..n)
            .flat_map(|mut k| {
                let mut row = vec![0; dims.len()];
                for (d, &size) in dims.iter().enumerate().rev() {
                    (row[d], k) = (k % size, k / size);
                }
                row
            })
            .collect()
    }

    fn run(map: &Map, dims: &[i64], n: usize) -> (Vec<i64>, Vec<bool>) {
        let points = Points { n, dims, ranges: &[], runtime: &[] };
        let program = Program::new(map).unwrap();
        (program.run::<false>(&points).unwrap(), program.in_domain(&points).unwrap())
    }

    #[test]
    fn the_example_of_a_tile() {
        let shape = array("f32[3,5]{1,0:T(2,2)}");
        let map = linear_index(&shape).unwrap();
        assert_eq!(run(&map, &[2, 3], 1).0, [17]);
        assert_eq!(buffer_elements(&shape), Ok(24));
    }

    #[test]
    fn combined_dimensions_are_one() {
        let combined = linear_index(&array("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}")).unwrap();
        let plain = linear_index(&array("f32[112,110]{1,0:T(2,3)}")).unwrap();
        let all = indices(&[2, 7, 8, 11, 10]);
        let flat: Vec<i64> = all.chunks(5).flat_map(|i| [(i[0] * 7 + i[1]) * 8 + i[2], i[3] * 10 + i[4]]).collect();
        assert_eq!(run(&combined, &all, all.len() / 5).0, run(&plain, &flat, flat.len() / 2).0);
    }

    /// Positions differ, lie in the buffer, and lead back; every other position is padding.
    #[test]
    fn round_trip() {
        for text in [
            "f32[]",
            "f32[3,5]",
            "f32[3,5]{0,1}",
            "f32[3,5]{1,0:T(2,2)}",
            "f32[3,5]{0,1:T(2,2)L(32)}",
            "f32[3,5]{1,0:L(16)}",
            "f32[4,8]{1,0:T(2,4)(2,1)}",
            "f32[3,7]{1,0:T(2,4)(3,2)}",
            "f32[5]{0:T(2,2)}",
            "f32[]{:T(4)}",
            "f32[3,1,5]{2,0,1:T(*,2,3)}",
            "f32[2,3,5]{2,1,0:T(*,4)(2,1)}",
            "f32[3,5,2]{1,2,0:T(2)(3,3,3,3,2)}",
            "f32[0,5]{1,0:T(2,2)}",
            "f32[3,5]{1,0:T()}",
        ] {
            let shape = array(text);
            let dims = shape.dims();
            let there = linear_index(&shape).unwrap();
            let back = logical_index(&shape).unwrap();
            let n = shape.n_elements().unwrap() as usize;
            let size = buffer_elements(&shape).unwrap();
            let all = indices(dims);
            let (positions, _) = run(&there, &all, n);
            let mut sorted = positions.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), n, "{text}: two elements at one position");
            assert!(sorted.iter().all(|&p| 0 <= p && p < size), "{text}: position outside the buffer");
            let (again, inside) = run(&back, &positions, n);
            assert_eq!(again, all, "{text}");
            assert!(inside.iter().all(|&i| i), "{text}: an element is taken for padding");
            let positions: Vec<i64> = (0..size).collect();
            let (_, inside) = run(&back, &positions, positions.len());
            assert_eq!(inside.iter().filter(|&&i| i).count(), n, "{text}: padding is taken for an element");
        }
    }

    #[test]
    fn padded_dimensions() {
        let layout = Layout { padded_dimensions: vec![3, 5], ..Layout::new(vec![0, 1]) };
        let shape = array("f32[2,3]").with_layout(Some(layout)).unwrap();
        let (positions, _) = run(&linear_index(&shape).unwrap(), &indices(&[2, 3]), 6);
        assert_eq!(positions, [0, 3, 6, 1, 4, 7]);
        assert_eq!(buffer_elements(&shape), Ok(15));
        let (_, inside) = run(&logical_index(&shape).unwrap(), &(0..15).collect::<Vec<_>>(), 15);
        assert_eq!(inside.iter().filter(|&&i| i).count(), 6);
    }

    #[test]
    fn packed_elements_end_in_a_whole_byte() {
        let bytes = |text| buffer_bytes(&array(text)).unwrap();
        assert_eq!(
            (bytes("s4[2]{0:E(4)}"), bytes("s4[3]{0:E(4)}"), bytes("s4[3]"), bytes("s4[0]{0:E(4)}")),
            (1, 2, 3, 0)
        );
    }

    #[test]
    fn errors() {
        assert_eq!(linear_index(&array("f32[?]")), Err(LinearError::unbounded()));
        assert!(matches!(linear_index(&array("f32[4]{0:T(0)}")), Err(LinearError::Invalid(_))));
        assert!(matches!(linear_index(&array("f32[4,4]{1,1}")), Err(LinearError::Invalid(_))));
        let wide = array("f32[9223372036854775807]{0:T(2)}");
        assert!(matches!(linear_index(&wide), Ok(_) | Err(LinearError::Algebra(_))));
        assert!(matches!(buffer_elements(&wide), Err(LinearError::Algebra(_))));
    }
}
