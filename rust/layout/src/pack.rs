//! Packs row-major arrays into buffers of any layout, and unpacks them.
//!
//! The indices of a dimension below a multiple of the largest weight of its quotients have digits that run over all
//! their values; the remaining indices are handled in the same way with the next weight. So an array consists of a few
//! boxes, and each box is a strided copy. Elements move one by one only if a tile unevenly splits dimensions that it
//! combines. `unpack(pack(a)) == a`. Not here: the values of the elements, and elements narrower than a byte
//! (`bit_packing.rs`).

use cancel::{on_threads, poll};
use quasiaffine::{Points, Program};

use crate::linear::{buffer_elements, linear_index};
use crate::loop_nest::{copy, Loop};
use crate::strided::Positions;
use crate::tiling::{row_major_strides, Result, TOO_LARGE};
use crate::tuning::PACKED_STEP;
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
    copies: Copies,
    n_elements: usize,
    n_buffer: usize,
}

enum Copies {
    Parts(Vec<Part>),
    /// The program of the positions, and the sizes of the array.
    Points(Program, Vec<i64>),
}

/// Elements whose digits run over all their values: the positions of the first element in the array and in the buffer,
/// and a loop for each digit.
#[derive(Clone, Default)]
struct Part {
    from: usize,
    to: usize,
    loops: Vec<Loop>,
}

impl Part {
    fn and(&self, other: &Part) -> Part {
        let loops = self.loops.iter().chain(&other.loops).copied().collect();
        Part { from: self.from + other.from, to: self.to + other.to, loops }
    }
}

impl Packing {
    /// The packing of a shape. Errors as for [`crate::linear_index`].
    pub fn of(shape: &ArrayShape) -> Result<Packing> {
        let (n_elements, n_buffer) = (size(shape.n_elements().unwrap_or(0))?, size(buffer_elements(shape)?)?);
        let copies = match Positions::of(shape)? {
            _ if n_elements == 0 => Copies::Parts(Vec::new()),
            Some(positions) => {
                let mut parts = vec![Part::default()];
                for (d, (&n, stride)) in shape.dims().iter().zip(row_major_strides(shape.dims())?).enumerate() {
                    let of_dim = parts_of(&positions, d, n, stride)?;
                    parts = parts.iter().flat_map(|outer| of_dim.iter().map(|inner| outer.and(inner))).collect();
                }
                Copies::Parts(parts)
            }
            None => Copies::Points(Program::new(&linear_index(shape)?)?, shape.dims().to_vec()),
        };
        Ok(Packing { copies, n_elements, n_buffer })
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
        if self.n_elements < self.n_buffer {
            let parts = buffer.chunks_mut(self.n_buffer.div_ceil(threads.max(1)));
            let fill = |part: &mut [T]| {
                for step in part.chunks_mut(PACKED_STEP) {
                    poll();
                    step.fill(fill);
                }
            };
            if threads <= 1 {
                parts.for_each(fill);
            } else {
                on_threads(parts, fill);
            }
        }
        match &self.copies {
            Copies::Parts(parts) => {
                for part in parts {
                    copy(part.loops.clone(), &array[part.from..], &mut buffer[part.to..], threads);
                }
            }
            Copies::Points(program, dims) => each_position(program, dims, |k, at| buffer[at] = array[k]),
        }
    }

    /// Unpacks the elements into row-major order on up to `threads` threads; padding is ignored.
    ///
    /// # Panics
    /// If `array` does not have [`Packing::n_elements`] elements or `buffer` not [`Packing::n_buffer`].
    pub fn unpack<T: Copy + Send + Sync>(&self, buffer: &[T], array: &mut [T], threads: usize) {
        assert!(array.len() == self.n_elements && buffer.len() == self.n_buffer, "sizes of array and buffer");
        match &self.copies {
            Copies::Parts(parts) => {
                for part in parts {
                    let back = part.loops.iter().map(|l| Loop { n: l.n, from: l.to, to: l.from }).collect();
                    copy(back, &buffer[part.to..], &mut array[part.from..], threads);
                }
            }
            Copies::Points(program, dims) => each_position(program, dims, |k, at| array[k] = buffer[at]),
        }
    }
}

/// The parts of dimension `d` of size `n`, which has this stride in the array.
fn parts_of(positions: &Positions, d: usize, n: i64, stride: i64) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut start = 0;
    for &weight in positions.weights[d].iter().rev() {
        let end = (n - start) / weight * weight;
        if end > 0 {
            let mut loops = Vec::new();
            for digit in positions.digits(d, end)? {
                loops.push(Loop { n: size(digit.size)?, from: size(digit.weight * stride)?, to: size(digit.stride)? });
            }
            parts.push(Part { from: size(start * stride)?, to: size(positions.at(d, start)?)?, loops });
            start += end;
        }
    }
    Ok(parts)
}

/// Calls `visit` with the number and the position of each element.
fn each_position(program: &Program, dims: &[i64], mut visit: impl FnMut(usize, usize)) {
    let n: usize = dims.iter().map(|&n| n as usize).product();
    let mut index = vec![0i64; dims.len()];
    for start in (0..n).step_by(PACKED_STEP) {
        poll();
        let n = PACKED_STEP.min(n - start);
        let mut rows = Vec::with_capacity(n * dims.len());
        for _ in 0..n {
            rows.extend_from_slice(&index);
            for (i, &size) in index.iter_mut().zip(dims).rev() {
                *i = if *i + 1 < size { *i + 1 } else { 0 };
                if *i > 0 {
                    break;
                }
            }
        }
        let points = Points { n, dims: &rows, ranges: &[], runtime: &[] };
        let found = program.run::<false>(&points).expect("the positions of a buffer fit");
        found.iter().enumerate().for_each(|(k, &at)| visit(start + k, at as usize));
    }
}

fn size(n: i64) -> Result<usize> {
    usize::try_from(n).map_err(|_| TOO_LARGE)
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
