//! Shape rules of products, transforms, solvers, normalizations and random numbers.

use std::borrow::Cow;

use layout::{ElementType, Shape};

use super::elementwise::{complex_of, higher, real_part};
use super::{dim, require, sizes, Check, Dim, Inference, Operation};
use crate::attribute::sides::{Sides, SIDES};
use crate::attribute::window;
use crate::attribute::Value;

/// Dimension numbers of one side of a product.
struct Side {
    batch: Vec<usize>,
    contracting: Vec<usize>,
}

impl Side {
    /// The dimensions that are neither batch nor contracting.
    fn rest(&self, rank: usize) -> impl Iterator<Item = usize> + '_ {
        (0..rank).filter(|d| !self.batch.contains(d) && !self.contracting.contains(d))
    }
}

impl Operation<'_> {
    fn side(&self, side: &str, rank: usize) -> Check<Side> {
        let batch = self.dim_numbers(&format!("{side}_batch_dims"), rank)?;
        let contracting = self.dim_numbers(&format!("{side}_contracting_dims"), rank)?;
        for d in &batch {
            let is_one = !contracting.contains(d);
            require(is_one, format_args!("dimension {d} of the {side} operand is batch and contracting"))?;
        }
        Ok(Side { batch, contracting })
    }

    /// The dimension numbers of both sides of a product, whose sizes must agree; contracting dimensions have the `dense`
    /// sizes.
    fn sides(&self, dense: [Cow<'_, [i64]>; 2]) -> Check<(Side, Side)> {
        let (lhs, rhs) = (self.dims(0)?, self.dims(1)?);
        let (l, r) = (self.side("lhs", lhs.len())?, self.side("rhs", rhs.len())?);
        let [dense_l, dense_r] = dense;
        let all = [
            ("batch", &l.batch, &r.batch, lhs, rhs),
            ("contracting", &l.contracting, &r.contracting, &dense_l[..], &dense_r[..]),
        ];
        for (what, a, b, lhs, rhs) in all {
            let are_equal = a.iter().map(|&a| lhs[a]).eq(b.iter().map(|&b| rhs[b]));
            let [x, y] = [self.operands[0], self.operands[1]];
            require(are_equal, format_args!("{what} dimensions of {x} and {y} differ"))?;
        }
        Ok((l, r))
    }

    /// The sizes of both sides of a product.
    fn whole_sizes(&self) -> Check<[Cow<'_, [i64]>; 2]> {
        Ok([Cow::Borrowed(self.dims(0)?), Cow::Borrowed(self.dims(1)?)])
    }

    /// The sizes of both sides of a product; a sparse side counts the elements that it leaves out. The operands
    /// behind the first two must be those that the configurations name.
    fn dense_sizes(&self) -> Check<[Cow<'_, [i64]>; 2]> {
        let mut sizes = self.whole_sizes()?;
        let n = self.operands.len();
        if n == 2 && self.m.attribute(self.id, "sparsity_config").is_none() {
            return Ok(sizes);
        }
        let config = |name: &str| match self.value(name) {
            Some(Value::Sides(sides)) => sides,
            _ => Sides(Vec::new()),
        };
        let (sparsity, scaling) = (config("sparsity_config"), config("block_scaling_config"));
        let mut named: Vec<i64> = Vec::new();
        for (sizes, side) in sizes.iter_mut().zip(SIDES) {
            let Some(&[of, block]) = sparsity.numbers(side, "sparsity") else { continue };
            let (idx, d) = (sparsity.int(side, "idx").unwrap_or(0), sparsity.int(side, "dimension").unwrap_or(0));
            let is_valid = of >= 1 && block >= 1;
            require(is_valid, format_args!("sparsity={of}x{block} of {side}, expected positive numbers"))?;
            let is_free = (2..n as i64).contains(&idx) && self.array(idx as usize).is_ok() && !named.contains(&idx);
            let expected = "expected an array behind the first two";
            require(is_free, format_args!("idx={idx} of {side} for {n} operands, {expected}"))?;
            named.push(idx);
            let size = usize::try_from(d).ok().and_then(|d| sizes.to_mut().get_mut(d));
            let Some(size) = size else { return Err(format!("a sparse dimension {d} of {side}")) };
            *size = size.checked_mul(block).ok_or("a size that does not fit in 63 bits")? / of;
        }
        named.extend(scaling.operands());
        match (2..n).find(|&k| !named.contains(&(k as i64))) {
            Some(k) => Err(format!("operand {k}, which no configuration names")),
            None => Ok(sizes),
        }
    }

    /// The element type of a product; the text may choose any type for the accumulation.
    fn product_element(&self) -> Check<ElementType> {
        Ok(self.written_element().unwrap_or(higher(self.array(0)?.element(), self.array(1)?.element())))
    }

    pub(super) fn dot(&self) -> Inference {
        self.product(self.dense_sizes()?)
    }

    fn product(&self, dense: [Cow<'_, [i64]>; 2]) -> Inference {
        let (lhs, rhs) = (self.array(0)?, self.array(1)?);
        let (l, r) = self.sides(dense)?;
        let batch = l.batch.iter().map(|&d| dim(lhs, d));
        let rest = l.rest(lhs.rank()).map(|d| dim(lhs, d)).chain(r.rest(rhs.rank()).map(|d| dim(rhs, d)));
        self.result(self.product_element()?, batch.chain(rest))
    }

    /// A dot of block-scaled operands; the sizes of the scales divide those of the operands.
    pub(super) fn scaled_dot(&self) -> Inference {
        for (k, scale) in [(0, 2), (1, 3)] {
            let (array, scales) = (self.dims(k)?, self.dims(scale)?);
            let divides = |(&n, &s): (&i64, &i64)| n == s || (s > 0 && n % s == 0);
            let fits = scales.is_empty() || (array.len() == scales.len() && array.iter().zip(scales).all(divides));
            require(fits, format_args!("scales of shape {} for {}", self.operands[scale], self.operands[k]))?;
        }
        self.product(self.whole_sizes()?)
    }

    /// A dot whose left side is partitioned into groups, with the group sizes in operand 2. The role of the ragged
    /// dimension decides what a group selects: a slice of the right side, an output of its own, or nothing.
    pub(super) fn ragged_dot(&self) -> Inference {
        let (lhs, rhs, groups) = (self.array(0)?, self.array(1)?, self.array(2)?);
        let (l, r) = self.sides(self.whole_sizes()?)?;
        let [ragged] = self.dim_numbers("lhs_ragged_dims", lhs.rank())?[..] else {
            return Err("expected one dimension in lhs_ragged_dims".into());
        };
        let group = self.dim_numbers("rhs_group_dims", rhs.rank())?;
        let Some(&n_groups) = groups.dims().last() else {
            return Err("group sizes of shape s32[], expected one per group".into());
        };
        let is_batch = l.batch.contains(&ragged);
        let is_contracting = l.contracting.contains(&ragged);
        if is_batch || is_contracting {
            let reason = "expected none, since groups select nothing from the right side";
            require(group.is_empty(), format_args!("rhs_group_dims {group:?}, {reason}"))?;
        } else {
            let fits = matches!(group[..], [d] if rhs.dims()[d] == n_groups);
            require(fits, format_args!("rhs_group_dims {group:?} of {} for {n_groups} groups", self.operands[1]))?;
        }
        // Group sizes may have leading dimensions: those of the left side that are partitioned independently.
        let prefix: Vec<i64> = if groups.rank() > 1 {
            let outer = l.batch.iter().copied().filter(|&d| d != ragged || !is_batch);
            let rest = l.rest(lhs.rank()).filter(|&d| d < ragged || is_contracting);
            let all: Vec<usize> = match (is_batch, is_contracting) {
                (true, _) => l.batch.iter().copied().take_while(|&d| d != ragged).collect(),
                (_, true) => outer.chain(l.contracting.iter().copied().take_while(|&d| d != ragged)).collect(),
                _ => outer.chain(rest).collect(),
            };
            all.into_iter().map(|d| lhs.dims()[d]).collect()
        } else {
            Vec::new()
        };
        let fits = groups.dims()[..groups.rank() - 1] == prefix[..];
        require(fits, format_args!("group sizes of shape {} for {}", self.operands[2], self.operands[0]))?;
        let front = is_contracting.then(|| Dim::from(n_groups));
        let batch = l.batch.iter().map(|&d| dim(lhs, d));
        let of_lhs = l.rest(lhs.rank()).map(|d| dim(lhs, d));
        let of_rhs = r.rest(rhs.rank()).filter(|d| !group.contains(d)).map(|d| dim(rhs, d));
        self.result(self.product_element()?, front.into_iter().chain(batch).chain(of_lhs).chain(of_rhs))
    }

    pub(super) fn convolution(&self) -> Inference {
        let (Some(Value::DimLabels(labels)), input, kernel) =
            (self.value("dim_labels"), self.array(0)?, self.array(1)?)
        else {
            return Ok(None);
        };
        let window = match self.value("window") {
            Some(Value::Window(window)) => window.dims,
            _ => Vec::new(),
        };
        let groups = [self.int("feature_group_count"), self.int("batch_group_count")].map(|n| n.unwrap_or(1));
        // Only features count the elements that a sparse side leaves out.
        let [dense_input, dense_kernel] = self.dense_sizes()?;
        let features = |sizes: &[i64], dense: &[i64], d: i64| {
            let mut sizes = sizes.to_vec();
            let d = usize::try_from(d).ok().filter(|&d| d < sizes.len());
            d.inspect(|&d| sizes[d] = dense[d]);
            sizes
        };
        let input = features(input.dims(), &dense_input, labels.input.letters[1]);
        let kernel = features(kernel.dims(), &dense_kernel, labels.kernel.letters[0]);
        let dims = window::convolution_dims(&labels, &window, &input, &kernel, groups)?;
        self.result(self.product_element()?, dims)
    }

    /// Transforms the last dimensions; of the spectrum of a real signal only one half is kept.
    pub(super) fn fft(&self) -> Inference {
        let operand = self.array(0)?;
        let length = self.ints("fft_length");
        let Some(start) = operand.rank().checked_sub(length.len()).filter(|_| !length.is_empty()) else {
            return Err(format!("an fft_length of {} dimensions of {}", length.len(), self.operands[0]));
        };
        let element = operand.element();
        let mut dims: Vec<Dim> = sizes(operand).collect();
        let half = |n: i64| if n == 0 { 0 } else { i128::from(n) / 2 + 1 };
        let last = length[length.len() - 1];
        let fits = |holds| require(holds, format_args!("fft_length {length:?} of {}", self.operands[0]));
        let agree = |dims: &[Dim]| dims.iter().zip(&length).all(|(d, &n)| d.size == i128::from(n));
        let end = dims.len() - 1;
        match self.value("fft_type") {
            Some(Value::Word("FFT" | "IFFT")) => {
                fits(real_part(element) != element)?;
                self.like(element, 0)
            }
            Some(Value::Word("RFFT")) => {
                let to = complex_of(element);
                fits(to.is_some() && agree(&dims[start..]))?;
                dims[end].size = half(last);
                self.resized(operand, to.unwrap_or(element), dims).map(Some)
            }
            Some(Value::Word("IRFFT")) => {
                let to = real_part(element);
                fits(to != element && agree(&dims[start..end]) && dims[end].size == half(last))?;
                dims[end].size = i128::from(last);
                self.resized(operand, to, dims).map(Some)
            }
            _ => Ok(None),
        }
    }

    pub(super) fn cholesky(&self) -> Inference {
        let are_square = matches!(self.dims(0)?, [.., a, b] if a == b);
        require(are_square, format_args!("cholesky of {}, expected square matrices", self.operands[0]))?;
        self.like(self.array(0)?.element(), 0)
    }

    pub(super) fn triangular_solve(&self) -> Inference {
        let (a, b) = (self.array(0)?, self.array(1)?);
        let misfit = || Err(format!("triangular-solve of {} and {}", self.operands[0], self.operands[1]));
        let [batch_a @ .., n, m] = a.dims() else { return misfit() };
        let [batch_b @ .., rows, columns] = b.dims() else { return misfit() };
        let side = if self.flag("left_side") { rows } else { columns };
        if n != m || n != side || batch_a != batch_b || a.element() != b.element() {
            return misfit();
        }
        self.like(b.element(), 1)
    }

    /// The feature dimension of operand 0, which is the only dimension of operands 1 to `n`.
    fn features(&self, n: usize) -> Check<Dim> {
        let operand = self.array(0)?;
        let index = self.int("feature_index").and_then(|d| usize::try_from(d).ok());
        let Some(index) = index.filter(|&d| d < operand.rank()) else {
            return Err(format!("feature_index of an array of rank {}", operand.rank()));
        };
        let features = dim(operand, index);
        for k in 1..=n {
            let (fits, shape) = (self.dims(k)? == [operand.dims()[index]], self.operands[k]);
            require(fits, format_args!("an operand of shape {shape} for {} features", features.size))?;
        }
        Ok(features)
    }

    /// The normalized operand alone, or with mean and variance.
    pub(super) fn batch_norm(&self, n_values: usize) -> Inference {
        let features = self.features(if n_values == 3 { 2 } else { 4 })?;
        match n_values {
            1 => self.like(self.array(0)?.element(), 0),
            _ => self.with_statistics(features),
        }
    }

    pub(super) fn batch_norm_grad(&self) -> Inference {
        let features = self.features(3)?;
        self.agree(0, 4, self.dims(4)? == self.dims(0)?)?;
        self.with_statistics(features)
    }

    fn with_statistics(&self, features: Dim) -> Inference {
        let array = self.array(0)?;
        let first = self.resized(array, array.element(), sizes(array))?;
        let one = |k: usize| self.array_shape(self.array(k)?.element(), [features]);
        Ok(Some(Shape::Tuple(vec![first, one(1)?, one(2)?])))
    }

    /// The shape is left open; the parameters of the distribution must be scalars.
    pub(super) fn rng(&self) -> Inference {
        for (k, shape) in self.operands.iter().enumerate() {
            require(self.is_scalar(k), format_args!("a parameter of shape {shape}, expected a scalar"))?;
        }
        Ok(None)
    }

    /// The new state, with the shape of the old, and the numbers; or the numbers alone.
    pub(super) fn rng_bit_generator(&self) -> Inference {
        match self.written.and_then(Shape::as_tuple) {
            Some([_, numbers]) => Ok(Some(Shape::Tuple(vec![self.operand(0)?.clone(), numbers.clone()]))),
            Some(parts) => Err(format!("{} values, expected a state and numbers", parts.len())),
            None => Ok(None),
        }
    }
}
