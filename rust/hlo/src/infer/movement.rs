//! Shape rules of operations that move elements.

use layout::{ArrayShape, ElementType, Layout, Shape, UNBOUNDED};

use super::{are_mixable, dim, require, sizes, Check, Dim, Inference, Operation};
use crate::attribute::Value;

impl Operation<'_> {
    pub(super) fn broadcast(&self) -> Inference {
        let operand = self.array(0)?;
        let Some(written) = self.written_array() else { return Err("the result is not an array".into()) };
        let to = self.dim_numbers("dimensions", written.rank())?;
        one_per_dim("dimensions", to.len(), operand)?;
        let mut dims = written.dims().to_vec();
        for (k, d) in to.into_iter().enumerate() {
            dims[d] = operand.dims()[k];
        }
        self.result(operand.element(), dims)
    }

    /// If the shape is omitted, XLA's parser takes the dimension numbers for leading sizes.
    pub(super) fn broadcast_in_front(&self) -> Inference {
        let operand = self.array(0)?;
        let Some(Value::Ints(front)) = self.value("dimensions") else { return Ok(None) };
        self.result(operand.element(), front.into_iter().map(Dim::from).chain(sizes(operand)))
    }

    pub(super) fn transpose(&self) -> Inference {
        let operand = self.array(0)?;
        let from = self.dim_numbers("dimensions", operand.rank())?;
        one_per_dim("dimensions", from.len(), operand)?;
        let layout = if self.written.is_none() { transposed(operand, &from) } else { None };
        self.laid_out(operand.element(), from.iter().map(|&d| dim(operand, d)), layout).map(Some)
    }

    pub(super) fn reverse(&self) -> Inference {
        let operand = self.array(0)?;
        self.dim_numbers("dimensions", operand.rank())?;
        self.like(operand.element(), 0)
    }

    pub(super) fn shuffle(&self) -> Inference {
        let operand = self.array(0)?;
        let (dims, shifts) = (self.dim_numbers("dimensions", operand.rank())?, self.ints("shifts"));
        let (n, n_shifts) = (dims.len(), shifts.len());
        let fits = n > 0 && n == n_shifts;
        require(fits, format_args!("{n} dimensions and {n_shifts} shifts, expected one or more of both"))?;
        self.like(operand.element(), 0)
    }

    /// The written sizes, whose product must be that of the operand.
    pub(super) fn reshape(&self) -> Inference {
        let operand = self.array(0)?;
        match self.written_array() {
            Some(written) if written.n_elements() == operand.n_elements() => {
                self.fixed(operand.element(), written.dims())
            }
            _ => Err(format!("reshape of {} to {}", self.operands[0], self.written.unwrap_or(&Shape::Opaque))),
        }
    }

    /// A reshape with a scalar for the size of each dimension; the written sizes are bounds.
    pub(super) fn dynamic_reshape(&self) -> Inference {
        let rank = self.written_array().map_or(0, ArrayShape::rank);
        let n = self.operands.len().saturating_sub(1);
        let fits = n == rank && (1..=n).all(|k| self.is_scalar(k));
        require(fits, format_args!("{n} sizes for a value of rank {rank}, expected a scalar per dimension"))?;
        self.reshape()
    }

    pub(super) fn slice(&self) -> Inference {
        let operand = self.array(0)?;
        let Some(Value::Slices(slices)) = self.value("slice") else { return Ok(None) };
        one_per_dim("slices", slices.len(), operand)?;
        let mut dims = Vec::with_capacity(slices.len());
        for (&(start, limit, stride), &n) in slices.iter().zip(operand.dims()) {
            let fits = 0 <= start && start <= limit && limit <= n && stride >= 1;
            require(fits, format_args!("slice [{start}:{limit}:{stride}] of a dimension of size {n}"))?;
            dims.push((i128::from(limit) - i128::from(start) + i128::from(stride) - 1) / i128::from(stride));
        }
        self.result(operand.element(), dims)
    }

    pub(super) fn concatenate(&self) -> Inference {
        let first = self.array(0)?;
        let [d] = self.dim_numbers("dimensions", first.rank())?[..] else {
            return Err("expected one dimension to concatenate along".into());
        };
        let mut dims: Vec<Dim> = sizes(first).collect();
        let mut element = first.element();
        for k in 1..self.operands.len() {
            let other = self.array(k)?;
            let fits = |(i, n): (usize, &i64)| i == d || *n == first.dims()[i];
            let are_equal = other.rank() == first.rank() && other.dims().iter().enumerate().all(fits);
            self.agree(0, k, are_equal && are_mixable(element, other.element()))?;
            for (i, known) in dims.iter_mut().enumerate() {
                known.is_dynamic |= other.is_dynamic(i);
            }
            dims[d].size += i128::from(other.dims()[d]);
            element = super::elementwise::higher(element, other.element());
        }
        self.result(element, dims)
    }

    pub(super) fn pad(&self) -> Inference {
        let operand = self.array(0)?;
        let Some(Value::Padding(padding)) = self.value("padding") else { return Ok(None) };
        let (n, rank) = (padding.len(), operand.rank());
        require(n == rank, format_args!("padding of {n} dimensions for an operand of rank {rank}"))?;
        let value = self.array(1)?;
        let fits = value.rank() == 0 && are_mixable(operand.element(), value.element());
        require(fits, format_args!("a padding value of shape {} for {}", self.operands[1], self.operands[0]))?;
        let mut dims = Vec::with_capacity(padding.len());
        for (&(low, high, interior), n) in padding.iter().zip(sizes(operand)) {
            let inside = n.size + (n.size - 1).max(0) * i128::from(interior);
            let size = inside + i128::from(low) + i128::from(high);
            let is_valid = interior >= 0 && size >= 0;
            require(is_valid, format_args!("padding {low}_{high}_{interior} of a dimension of size {}", n.size))?;
            dims.push(Dim { size, is_dynamic: n.is_dynamic });
        }
        self.result(operand.element(), dims)
    }

    /// Checks scalar offsets, one per dimension, from operand `first` on, or a single vector of them, the form before
    /// 2019.
    fn offsets(&self, first: usize, rank: usize) -> Check<()> {
        let n = self.operands.len().saturating_sub(first);
        let is_vector = n == 1 && self.dims(first)? == [rank as i64];
        let fits = is_vector || n == rank && (first..first + n).all(|k| self.is_scalar(k));
        require(fits, format_args!("{n} offsets for an operand of rank {rank}, expected a scalar per dimension"))
    }

    pub(super) fn dynamic_slice(&self) -> Inference {
        let operand = self.array(0)?;
        let Some(Value::Ints(sizes)) = self.value("dynamic_slice_sizes") else { return Ok(None) };
        self.offsets(1, operand.rank())?;
        self.fit("dynamic_slice_sizes", &sizes)?;
        self.fixed(operand.element(), &sizes)
    }

    /// Requires that the sizes of a slice fit into operand 0.
    fn fit(&self, name: &str, slice: &[i64]) -> Check<()> {
        let dims = self.dims(0)?;
        let fits = slice.len() == dims.len() && slice.iter().zip(dims).all(|(&size, &n)| 0 <= size && size <= n);
        require(fits, format_args!("{name} {slice:?} of {}", self.operands[0]))
    }

    pub(super) fn dynamic_update_slice(&self) -> Inference {
        // A buffer is updated in place, and the result is the buffer.
        let buffer = match self.operand(0)? {
            Shape::Buffer(inner) => inner.as_array(),
            _ => None,
        };
        let (operand, update) = (buffer.map_or_else(|| self.array(0), Ok)?, self.array(1)?);
        self.offsets(2, operand.rank())?;
        let fits = update.rank() == operand.rank() && update.dims().iter().zip(operand.dims()).all(|(u, n)| u <= n);
        require(fits, format_args!("an update of shape {} in {}", self.operands[1], self.operands[0]))?;
        if buffer.is_some() {
            return self.as_operand(0);
        }
        self.like(operand.element(), 0)
    }

    pub(super) fn iota(&self) -> Inference {
        let rank = self.written_array().map_or(0, ArrayShape::rank);
        if let Some(d) = self.int("iota_dimension") {
            let is_there = 0 <= d && (d as usize) < rank;
            require(is_there, format_args!("iota_dimension {d} of an array of rank {rank}"))?;
        }
        Ok(None)
    }

    pub(super) fn get_dimension_size(&self) -> Inference {
        self.one_dim("dimensions", self.array(0)?.rank())?;
        self.fixed(ElementType::S32, &[])
    }

    /// The operand with one dimension made dynamic.
    pub(super) fn set_dimension_size(&self) -> Inference {
        let operand = self.array(0)?;
        let d = self.one_dim("dimensions", operand.rank())?;
        let size = self.array(1)?;
        let is_size = size.rank() == 0 && size.element() == ElementType::S32;
        require(is_size, format_args!("a size of shape {}, expected s32[]", self.operands[1]))?;
        let mut dims: Vec<Dim> = sizes(operand).collect();
        dims[d].is_dynamic = true;
        self.resized(operand, operand.element(), dims).map(Some)
    }

    /// The sizes of an index array without the index vector dimension, and the size of that dimension, which may be an
    /// implicit last dimension of size 1.
    fn index_dims(&self, k: usize) -> Check<(Vec<Dim>, i128)> {
        let indices = self.array(k)?;
        let Some(along) = self.int("index_vector_dim") else { return Err("no index_vector_dim".into()) };
        let along = usize::try_from(along).ok().filter(|&d| d <= indices.rank());
        let along = along.ok_or_else(|| format!("index_vector_dim of an array of rank {}", indices.rank()))?;
        let length = indices.dims().get(along).map_or(1, |&n| i128::from(n));
        Ok((sizes(indices).enumerate().filter(|(d, _)| *d != along).map(|(_, n)| n).collect(), length))
    }

    pub(super) fn gather(&self) -> Inference {
        let operand = self.array(0)?;
        let (batch, index_length) = self.index_dims(1)?;
        let Some(Value::Ints(window)) = self.value("slice_sizes") else { return Ok(None) };
        self.fit("slice_sizes", &window)?;
        let n = self.dim_numbers("start_index_map", operand.rank())?.len() as i128;
        require(n == index_length, format_args!("a start_index_map of {n} for indices of {index_length}"))?;
        let mut gone = self.dim_numbers("collapsed_slice_dims", operand.rank())?;
        gone.extend(self.dim_numbers("operand_batching_dims", operand.rank())?);
        if let Some(d) = gone.iter().find(|&&d| window[d] > 1) {
            return Err(format!("dimension {d} of a window of {window:?} is collapsed or a batch"));
        }
        self.batches("operand_batching_dims", "start_indices_batching_dims", 1)?;
        let kept: Vec<i64> = (0..window.len()).filter(|d| !gone.contains(d)).map(|d| window[d]).collect();
        let rank = kept.len() + batch.len();
        let offsets = self.dim_numbers("offset_dims", rank)?;
        let fits = offsets.len() == kept.len() && offsets.is_sorted();
        require(fits, format_args!("offset_dims {offsets:?} for a window of {} dimensions", kept.len()))?;
        let (mut kept, mut batch) = (kept.into_iter(), batch.into_iter());
        let dims = (0..rank).filter_map(|d| match offsets.contains(&d) {
            true => kept.next().map(Dim::from),
            false => batch.next(),
        });
        self.result(operand.element(), dims)
    }

    /// Checks that the batch dimensions of operand and indices have pairwise equal sizes.
    fn batches(&self, of_operand: &str, of_indices: &str, indices: usize) -> Check<()> {
        let (operand, indices) = (self.dims(0)?, self.dims(indices)?);
        let (a, b) = (self.dim_numbers(of_operand, operand.len())?, self.dim_numbers(of_indices, indices.len())?);
        let are_equal = a.iter().map(|&a| operand[a]).eq(b.iter().map(|&b| indices[b]));
        require(are_equal, format_args!("{of_operand} {a:?} of {} and {of_indices} {b:?} differ", self.operands[0]))
    }

    pub(super) fn scatter(&self) -> Inference {
        let n = self.operands.len() / 2;
        let found = self.operands.len();
        let fits = n > 0 && !found.is_multiple_of(2);
        require(fits, format_args!("{found} operands, expected arrays, indices, and as many updates"))?;
        let operand = self.dims(0)?;
        let (batch, index_length) = self.index_dims(n)?;
        let n_indices = self.dim_numbers("scatter_dims_to_operand_dims", operand.len())?.len() as i128;
        let fits = n_indices == index_length;
        require(fits, format_args!("scatter_dims_to_operand_dims of {n_indices} for indices of {index_length}"))?;
        let mut gone = self.dim_numbers("inserted_window_dims", operand.len())?;
        gone.extend(self.dim_numbers("input_batching_dims", operand.len())?);
        self.batches("input_batching_dims", "scatter_indices_batching_dims", n)?;
        let window: Vec<i64> = (0..operand.len()).filter(|d| !gone.contains(d)).map(|d| operand[d]).collect();
        for k in 0..n {
            let (other, updates) = (self.dims(k)?, self.dims(n + 1 + k)?);
            let offsets = self.dim_numbers("update_window_dims", updates.len())?;
            let have_rank = offsets.len() == window.len() && updates.len() == window.len() + batch.len();
            let (mut window, mut batch) = (window.iter(), batch.iter());
            let fits = |(d, &size): (usize, &i64)| match offsets.contains(&d) {
                true => window.next().is_some_and(|&n| size <= n),
                false => batch.next().is_some_and(|n| i128::from(size) == n.size),
            };
            let fit = other == operand && have_rank && updates.iter().enumerate().all(fits);
            require(fit, format_args!("updates of shape {} for {}", self.operands[n + 1 + k], self.operands[k]))?;
        }
        let all = (0..n).map(|k| self.array(k).and_then(|a| self.resized(a, a.element(), sizes(a))));
        self.one_or_tuple(all.collect::<Check<_>>()?)
    }
}

fn one_per_dim(what: &str, n: usize, operand: &ArrayShape) -> Check<()> {
    require(n == operand.rank(), format_args!("{n} {what} for an operand of rank {}", operand.rank()))
}

/// The layout for which a transpose does not move elements in memory.
fn transposed(operand: &ArrayShape, from: &[usize]) -> Option<Layout> {
    if operand.dims().contains(&UNBOUNDED) || operand.rank() == 0 {
        return None;
    }
    let mut layout = operand.layout_or_default();
    let mut to = vec![0; from.len()];
    for (d, &source) in from.iter().enumerate() {
        to[source] = d as i64;
    }
    for d in &mut layout.minor_to_major {
        *d = *usize::try_from(*d).ok().and_then(|d| to.get(d))?;
    }
    Some(layout)
}
