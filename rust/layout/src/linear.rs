//! Logical index to linear position and back, as maps.
//!
//! Read [`linear_index`]. An array goes through stages, each with sizes from major to minor: the dimensions in the
//! order of the layout, then for each tile the counts of tiles and the places in a tile. The position is the row-major
//! one of the last stage. [`logical_index`] walks the stages back; a coordinate outside the size of its stage is
//! padding, which its constraints leave out.
//! Law: `linear_index` followed by `logical_index` is the identity on the array.

use symbolic::{Constraint, Domain, Error, Expr, Map, Range};

use crate::layout::COMBINED;
use crate::{ArrayShape, Layout};

/// Why an array has no linear positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinearError {
    /// The layout is not valid for the array; the text says why.
    InvalidLayout(String),
    /// A dimension without bound.
    Unbounded,
    /// A size or a position that does not fit in 64 bits.
    Algebra(Error),
}

impl std::fmt::Display for LinearError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LinearError::InvalidLayout(reason) => write!(f, "invalid layout: {reason}"),
            LinearError::Unbounded => write!(f, "a dimension without bound has no linear positions"),
            LinearError::Algebra(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LinearError {}

impl From<Error> for LinearError {
    fn from(error: Error) -> LinearError {
        LinearError::Algebra(error)
    }
}

type Result<T> = std::result::Result<T, LinearError>;

/// The map from the logical index of an element to its position, in elements from the start of the buffer.
pub fn linear_index(shape: &ArrayShape) -> Result<Map> {
    let stages = Stages::of(shape)?;
    let mut e: Vec<Expr> = stages.order.iter().map(|&d| Expr::dim(d as u32)).collect();
    for tiling in &stages.tilings {
        e = tiling.forward(e)?;
    }
    let position = row_major(&e, &stages.sizes)?;
    Ok(Map::new(Domain::of_sizes(shape.dims()), [position])?)
}

/// The map from a position in the buffer to the logical index of the element there; the positions of padding are
/// outside its domain.
pub fn logical_index(shape: &ArrayShape) -> Result<Map> {
    let stages = Stages::of(shape)?;
    let (n, padded) = (product(&stages.sizes)?, stages.n_elements()?);
    let mut domain = Domain::of_sizes(&[padded]);
    let mut within = |expr: &Expr, size: i64, is_whole: bool| {
        if !is_whole {
            domain.constraints.push(Constraint { expr: expr.clone(), range: Range::new(0, size - 1) });
        }
    };
    let position = Expr::dim(0);
    within(&position, n, n == padded);
    let mut e = digits(&position, &stages.sizes)?;
    for tiling in stages.tilings.iter().rev() {
        e = tiling.backward(&e, &mut within)?;
    }
    let mut results = vec![Expr::from(0); shape.rank()];
    for (&d, e) in stages.order.iter().zip(e) {
        within(&e, shape.dims()[d], shape.dims()[d] == stages.padded[d]);
        results[d] = e;
    }
    Ok(Map::new(domain, results)?)
}

/// The number of places in the buffer, padding included.
pub fn buffer_elements(shape: &ArrayShape) -> Result<i64> {
    Stages::of(shape)?.n_elements()
}

/// The stages from the logical array to the buffer.
struct Stages {
    /// Dimension numbers, major to minor.
    order: Vec<usize>,
    /// Sizes by dimension number, padding of the dimensions included.
    padded: Vec<i64>,
    tilings: Vec<Tiling>,
    /// Sizes of the last stage, major to minor.
    sizes: Vec<i64>,
    alignment: i64,
}

impl Stages {
    fn of(shape: &ArrayShape) -> Result<Stages> {
        shape.n_elements().ok_or(LinearError::Unbounded)?;
        let layout: Layout = shape.layout_or_default();
        if let Some(reason) = layout.problem(shape.rank()) {
            return Err(LinearError::InvalidLayout(reason));
        }
        let mut padded = shape.dims().to_vec();
        for (n, &p) in padded.iter_mut().zip(&layout.padded_dimensions) {
            if p < *n {
                return Err(LinearError::InvalidLayout(format!("a dimension of size {n} padded to {p}")));
            }
            *n = p;
        }
        let order: Vec<usize> = layout.minor_to_major.iter().rev().map(|&d| d as usize).collect();
        let mut sizes: Vec<i64> = order.iter().map(|&d| padded[d]).collect();
        let mut tilings = Vec::new();
        for tile in &layout.tiles {
            let tiling = Tiling::new(&sizes, &tile.0)?;
            sizes = tiling.sizes.clone();
            tilings.push(tiling);
        }
        Ok(Stages { order, padded, tilings, sizes, alignment: layout.tail_padding_alignment })
    }

    fn n_elements(&self) -> Result<i64> {
        let n = product(&self.sizes)?;
        let rest = n % self.alignment;
        let tail = if rest == 0 { 0 } else { self.alignment - rest };
        n.checked_add(tail).ok_or(LinearError::Algebra(Error::Overflow("the size of a buffer")))
    }
}

/// One tile applied to one stage.
struct Tiling {
    /// How many dimensions of size 1 the tile puts before those of the stage.
    n_leading: usize,
    /// Sizes of the stage before, the leading ones included.
    before: Vec<i64>,
    /// For each dimension after combining: how many of those before it consists of.
    groups: Vec<usize>,
    /// Sizes after combining.
    combined: Vec<i64>,
    /// Sizes of the tile, for the last dimensions of `combined`.
    tile: Vec<i64>,
    /// Sizes of the stage after.
    sizes: Vec<i64>,
}

impl Tiling {
    fn new(sizes: &[i64], tile: &[i64]) -> Result<Tiling> {
        let n_leading = tile.len().saturating_sub(sizes.len());
        let before: Vec<i64> = std::iter::repeat_n(1, n_leading).chain(sizes.iter().copied()).collect();
        let first = before.len() - tile.len();
        let (mut groups, mut combined) = (Vec::new(), Vec::new());
        let mut open = 0;
        for (i, &n) in before.iter().enumerate() {
            open += 1;
            if i >= first && tile[i - first] == COMBINED {
                continue;
            }
            groups.push(open);
            combined.push(product(&before[i + 1 - open..i])?.checked_mul(n).ok_or(TOO_LARGE)?);
            open = 0;
        }
        let tile: Vec<i64> = tile.iter().copied().filter(|&t| t != COMBINED).collect();
        let first = combined.len() - tile.len();
        let mut sizes = combined[..first].to_vec();
        sizes.extend(combined[first..].iter().zip(&tile).map(|(&n, &t)| n / t + i64::from(n % t != 0)));
        sizes.extend(&tile);
        Ok(Tiling { n_leading, before, groups, combined, tile, sizes })
    }

    fn forward(&self, e: Vec<Expr>) -> Result<Vec<Expr>> {
        let e: Vec<Expr> = std::iter::repeat_n(Expr::from(0), self.n_leading).chain(e).collect();
        let mut combined = Vec::with_capacity(self.combined.len());
        let mut at = 0;
        for &n in &self.groups {
            combined.push(row_major(&e[at..at + n], &self.before[at..at + n])?);
            at += n;
        }
        let tiled = combined.split_off(combined.len() - self.tile.len());
        let mut after = combined;
        for (e, &t) in tiled.iter().zip(&self.tile) {
            after.push(e.floor_div(&Expr::from(t))?);
        }
        for (e, &t) in tiled.iter().zip(&self.tile) {
            after.push(e.floor_mod(&Expr::from(t))?);
        }
        Ok(after)
    }

    fn backward(&self, e: &[Expr], within: &mut impl FnMut(&Expr, i64, bool)) -> Result<Vec<Expr>> {
        let (n, k) = (self.combined.len(), self.tile.len());
        let mut before = Vec::with_capacity(self.before.len());
        let mut at = 0;
        for (i, &group) in self.groups.iter().enumerate() {
            let size = self.combined[i];
            let combined = match (i + k).checked_sub(n) {
                None => e[i].clone(),
                Some(j) => {
                    let place = e[i].scale(self.tile[j])?.add(&e[n + j])?;
                    within(&place, size, size % self.tile[j] == 0);
                    place
                }
            };
            before.extend(digits(&combined, &self.before[at..at + group])?);
            at += group;
        }
        before.drain(..self.n_leading);
        Ok(before)
    }
}

const TOO_LARGE: LinearError = LinearError::Algebra(Error::Overflow("the size of a buffer"));

fn product(sizes: &[i64]) -> Result<i64> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    sizes.iter().try_fold(1i64, |n, &size| n.checked_mul(size)).ok_or(TOO_LARGE)
}

/// `(…(e_n * d_{n-1} + e_{n-1}) * d_{n-2} + …) + e_1`
fn row_major(e: &[Expr], sizes: &[i64]) -> Result<Expr> {
    let mut position = Expr::from(0);
    for (e, &size) in e.iter().zip(sizes) {
        position = position.scale(size)?.add(e)?;
    }
    Ok(position)
}

/// The coordinates that [`row_major`] takes to `position`, where that is in range. The most major one needs no
/// remainder.
fn digits(position: &Expr, sizes: &[i64]) -> Result<Vec<Expr>> {
    let mut all = Vec::with_capacity(sizes.len());
    let mut stride = 1i64;
    for (i, &size) in sizes.iter().enumerate().rev() {
        // In an empty array no position is in range, and any divisor will do.
        let size = size.max(1);
        let e = position.floor_div(&Expr::from(stride))?;
        all.push(if i == 0 { e } else { e.floor_mod(&Expr::from(size))? });
        stride = stride.checked_mul(size).ok_or(TOO_LARGE)?;
    }
    all.reverse();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse_shape, Shape};
    use symbolic::{Points, Program};

    fn array(text: &str) -> ArrayShape {
        match parse_shape(text).unwrap() {
            Shape::Array(a) => a,
            other => panic!("{other} is no array"),
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
        (program.run::<false>(&points).unwrap(), program.in_domain(&points))
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
    fn there_and_back() {
        for text in [
            "f32[]",
            "f32[3,5]",
            "f32[3,5]{0,1}",
            "f32[3,5]{1,0:T(2,2)}",
            "f32[3,5]{0,1:T(2,2)L(32)}",
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
            assert_eq!(sorted.len(), n, "{text}: two elements in one place");
            assert!(sorted.iter().all(|&p| 0 <= p && p < size), "{text}: outside the buffer");
            let (again, inside) = run(&back, &positions, n);
            assert_eq!(again, all, "{text}");
            assert!(inside.iter().all(|&i| i), "{text}: an element is taken for padding");
            let places: Vec<i64> = (0..size).collect();
            let (_, inside) = run(&back, &places, places.len());
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
    fn errors() {
        assert_eq!(linear_index(&array("f32[?]")), Err(LinearError::Unbounded));
        assert!(matches!(linear_index(&array("f32[4]{0:T(0)}")), Err(LinearError::InvalidLayout(_))));
        assert!(matches!(linear_index(&array("f32[4,4]{1,1}")), Err(LinearError::InvalidLayout(_))));
        let wide = array("f32[9223372036854775807]{0:T(2)}");
        assert!(matches!(linear_index(&wide), Ok(_) | Err(LinearError::Algebra(_))));
        assert!(matches!(buffer_elements(&wide), Err(LinearError::Algebra(_))));
    }
}
