//! Packs row-major arrays into buffers of any layout, and unpacks them.
//!
//! A tile splits dimensions and permutes the results, so a layout is a loop nest with strides on both sides; padding is
//! where a sum of loop variables reaches the size of a dimension. Only a tile that combines dimensions which are not
//! contiguous in the source needs another loop nest, over a buffer for the stage before it. `unpack(pack(a)) == a`. Not
//! here: the values of the elements, and elements narrower than a byte (`bit_packing.rs`).

use crate::loop_nest::{size, Bound, Loop, LoopNest};
use crate::tiling::{row_major_strides, Result, Stages, Tiling, TOO_LARGE};
use crate::ArrayShape;

/// The copies that pack arrays of one shape.
///
/// ```
/// use layout::{parse_shape, Packing};
///
/// let shape = parse_shape("s32[2,3]{0,1:T(4)}")?;
/// let packing = Packing::of(shape.as_array().expect("an array"))?;
/// let mut buffer = vec![0; packing.n_buffer()];
/// packing.pack(&[1, 2, 3, 4, 5, 6], &mut buffer, -1, 1);
/// assert_eq!(buffer, [1, 4, -1, -1, 2, 5, -1, -1, 3, 6, -1, -1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Packing {
    /// Consecutive copies, each with the size of its target; the first one reads the array.
    passes: Vec<(LoopNest, usize)>,
    n_elements: usize,
    n_buffer: usize,
}

impl Packing {
    /// The packing of a shape. Errors as for [`crate::linear_index`].
    pub fn of(shape: &ArrayShape) -> Result<Packing> {
        let stages = Stages::of(shape)?;
        let mut passes = Vec::new();
        let mut stage = Stage::of_array(shape, &stages)?;
        for tiling in &stages.tilings {
            stage.dims.splice(0..0, std::iter::repeat_n(Dim { n: 1, from: 0 }, tiling.n_leading));
            for b in &mut stage.bounds {
                b.factors.splice(0..0, std::iter::repeat_n(0, tiling.n_leading));
            }
            if !stage.can_combine(tiling) {
                passes.push(stage.nest()?);
                let sizes: Vec<i64> = stage.dims.iter().map(|d| d.n as i64).collect();
                stage = Stage::of_sizes(&sizes)?;
            }
            stage.combine(tiling);
            stage.split(tiling)?;
        }
        passes.push(stage.nest()?);
        let n_elements = size(shape.n_elements().unwrap_or(0))?;
        Ok(Packing { passes, n_elements, n_buffer: size(stages.n_buffer_elements()?)? })
    }

    /// The number of elements of the array.
    pub fn n_elements(&self) -> usize {
        self.n_elements
    }

    /// The size of the buffer in elements, padding included.
    pub fn n_buffer(&self) -> usize {
        self.n_buffer
    }

    /// Packs the elements of an array, given in row-major order, on up to `threads` threads; padding becomes `fill`.
    ///
    /// # Panics
    /// If `array` does not have [`Packing::n_elements`] elements or `buffer` not [`Packing::n_buffer`].
    pub fn pack<T: Copy + Send + Sync>(&self, array: &[T], buffer: &mut [T], fill: T, threads: usize) {
        assert!(array.len() == self.n_elements && buffer.len() == self.n_buffer, "sizes of array and buffer");
        let mut held: Vec<T> = Vec::new();
        for (i, (nest, n)) in self.passes.iter().enumerate() {
            let source = if i == 0 { array } else { &held };
            if i + 1 == self.passes.len() {
                nest.run(source, &mut buffer[..*n], Some(fill), threads);
                buffer[*n..].fill(fill);
            } else {
                let mut next = vec![fill; *n];
                nest.run(source, &mut next, Some(fill), threads);
                held = next;
            }
        }
    }

    /// Unpacks the elements into row-major order on up to `threads` threads; padding is ignored.
    ///
    /// # Panics
    /// If `array` does not have [`Packing::n_elements`] elements or `buffer` not [`Packing::n_buffer`].
    pub fn unpack<T: Copy + Send + Sync>(&self, buffer: &[T], array: &mut [T], threads: usize) {
        assert!(array.len() == self.n_elements && buffer.len() == self.n_buffer, "sizes of array and buffer");
        if array.is_empty() {
            return;
        }
        let mut held: Vec<T> = Vec::new();
        for (i, (nest, n)) in self.passes.iter().enumerate().rev() {
            let source = if i + 1 == self.passes.len() { &buffer[..*n] } else { &held };
            let back = nest.clone().reversed().canonical();
            if i == 0 {
                back.run(source, array, None, threads);
            } else {
                let mut next = vec![buffer[0]; self.passes[i - 1].1];
                back.run(source, &mut next, None, threads);
                held = next;
            }
        }
    }
}

/// The size of a dimension of a stage, and the stride of the dimension in the source.
#[derive(Clone, Copy)]
struct Dim {
    n: usize,
    from: usize,
}

/// A stage whose elements are strided in the source: the array, or the buffer of an earlier stage.
struct Stage {
    dims: Vec<Dim>,
    bounds: Vec<Bound>,
}

impl Stage {
    fn of_array(shape: &ArrayShape, stages: &Stages) -> Result<Stage> {
        let strides = row_major_strides(shape.dims())?;
        let mut stage = Stage { dims: Vec::new(), bounds: Vec::new() };
        for &d in &stages.order {
            stage.dims.push(Dim { n: size(stages.padded[d])?, from: size(strides[d])? });
        }
        for (i, &d) in stages.order.iter().enumerate() {
            if stages.padded[d] != shape.dims()[d] {
                stage.bound(&[(i, 1)], size(shape.dims()[d])?);
            }
        }
        Ok(stage)
    }

    fn of_sizes(sizes: &[i64]) -> Result<Stage> {
        let strides = row_major_strides(sizes)?;
        let dims = sizes.iter().zip(strides).map(|(&n, s)| Ok(Dim { n: size(n)?, from: size(s)? }));
        Ok(Stage { dims: dims.collect::<Result<_>>()?, bounds: Vec::new() })
    }

    fn bound(&mut self, factors: &[(usize, usize)], limit: usize) {
        let mut all = vec![0; self.dims.len()];
        factors.iter().for_each(|&(i, f)| all[i] = f);
        self.bounds.push(Bound { factors: all, limit });
    }

    /// Whether the dimensions of every group are contiguous, in the source and in every bound.
    fn can_combine(&self, tiling: &Tiling) -> bool {
        let mut at = 0;
        tiling.groups.iter().all(|&group| {
            let wide: Vec<usize> = (at..at + group).filter(|&i| self.dims[i].n != 1).collect();
            at += group;
            wide.windows(2).all(|w| {
                let joins = |outer: usize, inner: usize| inner.checked_mul(self.dims[w[1]].n) == Some(outer);
                joins(self.dims[w[0]].from, self.dims[w[1]].from)
                    && self.bounds.iter().all(|b| joins(b.factors[w[0]], b.factors[w[1]]))
            })
        })
    }

    fn combine(&mut self, tiling: &Tiling) {
        let mut dims = Vec::with_capacity(tiling.combined.len());
        let mut factors: Vec<Vec<usize>> = vec![Vec::new(); self.bounds.len()];
        let mut at = 0;
        for (&group, &n) in tiling.groups.iter().zip(&tiling.combined) {
            // The combined dimension has the stride of its most minor dimension of more than one element.
            let i = (at..at + group).rev().find(|&i| self.dims[i].n != 1).unwrap_or(at + group - 1);
            dims.push(Dim { n: n as usize, from: self.dims[i].from });
            for (f, b) in factors.iter_mut().zip(&self.bounds) {
                f.push(b.factors[i]);
            }
            at += group;
        }
        self.dims = dims;
        for (b, f) in self.bounds.iter_mut().zip(factors) {
            b.factors = f;
        }
    }

    fn split(&mut self, tiling: &Tiling) -> Result<()> {
        let first = tiling.n_untiled();
        let mut uneven = Vec::new();
        for (i, &t) in tiling.tile.iter().enumerate() {
            let (i, t) = (first + i, size(t)?);
            let Dim { n, from } = self.dims[i];
            let count = n.div_ceil(t);
            // A dimension of one element has stride 0, which also avoids overflow.
            let times = |stride: usize| if count > 1 { stride.checked_mul(t).ok_or(TOO_LARGE) } else { Ok(0) };
            self.dims[i] = Dim { n: count, from: times(from)? };
            self.dims.push(Dim { n: t, from });
            let outer = times(1)?;
            for b in &mut self.bounds {
                let f = b.factors[i];
                b.factors[i] = times(f)?;
                b.factors.push(f);
            }
            if n % t != 0 {
                uneven.push((i, outer, self.dims.len() - 1, n));
            }
        }
        for (count, outer, within, n) in uneven {
            self.bound(&[(count, outer), (within, 1)], n);
        }
        Ok(())
    }

    fn nest(&self) -> Result<(LoopNest, usize)> {
        let sizes: Vec<i64> = self.dims.iter().map(|d| d.n as i64).collect();
        let strides = row_major_strides(&sizes)?;
        let loops: Vec<Loop> =
            self.dims.iter().zip(&strides).map(|(d, &to)| Loop { n: d.n, from: d.from, to: to as usize }).collect();
        let n = size(crate::tiling::product(&sizes)?)?;
        Ok((LoopNest { loops, bounds: self.bounds.clone() }.canonical(), n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{buffer_elements, linear_index, parse_shape, Shape};
    use quasiaffine::{Points, Program};

    /// Elements have the positions of `linear_index`, all other positions hold the fill value, and unpacking restores
    /// the array, on any number of threads.
    #[test]
    fn agrees_with_linear_index() {
        for text in [
            "f32[]",
            "f32[]{:T(4)L(3)}",
            "f32[3,5]{0,1}",
            "f32[3,5]{1,0:T(2,2)}",
            "f32[17,9]{0,1:T(8,4)(2,1)L(7)}",
            "f32[3,7]{1,0:T(2,4)(3,2)}",
            "f32[40,33,3]{0,2,1}",
            "f32[3,5,2]{1,2,0:T(2)(3,3,3,3,2)}",
            "f32[2,3,5]{2,1,0:T(*,4)(2,1)}",
            "f32[5,3,4]{0,2,1:T(*,7)(*,3,2)}",
            "f32[0,5]{1,0:T(2,2)}",
        ] {
            let Shape::Array(shape) = parse_shape(text).unwrap() else { panic!("{text} is not an array") };
            let n = shape.n_elements().unwrap() as usize;
            let size = buffer_elements(&shape).unwrap() as usize;
            let array: Vec<i32> = (0..n as i32).collect();
            let mut expected = vec![-1; size];
            if n > 0 {
                let strides = row_major_strides(shape.dims()).unwrap();
                let index = |k: i64| shape.dims().iter().zip(&strides).map(move |(&d, &s)| k / s % d);
                let dims: Vec<i64> = (0..n as i64).flat_map(index).collect();
                let points = Points { n, dims: &dims, ranges: &[], runtime: &[] };
                let program = Program::new(&linear_index(&shape).unwrap()).unwrap();
                for (k, at) in program.run::<true>(&points).unwrap().into_iter().enumerate() {
                    expected[at as usize] = k as i32;
                }
            }
            let plan = Packing::of(&shape).unwrap();
            for threads in [1, 2, 5] {
                let (mut buffer, mut back) = (vec![7; size], vec![7; n]);
                plan.pack(&array, &mut buffer, -1, threads);
                assert_eq!(buffer, expected, "{text}");
                plan.unpack(&buffer, &mut back, threads);
                assert_eq!(back, array, "{text}");
            }
        }
    }
}
