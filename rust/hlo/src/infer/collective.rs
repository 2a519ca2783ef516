//! Shape rules of collectives, whose sizes grow or shrink by the number of devices in a group.

use layout::{ArrayShape, ElementType, Shape};

use super::{part_of, require, sizes, together, Check, Dim, Inference, Operation};
use crate::attribute::in_place::slices;
use crate::attribute::Value;

impl<'m> Operation<'m> {
    /// The number of devices per group, if the text gives it and the members are devices rather than replicas with
    /// several partitions each.
    fn group_size(&self) -> Option<i64> {
        if self.value("channel_id").is_some() && !self.flag("use_global_device_ids") {
            return None;
        }
        let Value::DeviceGroups(groups) = self.value("replica_groups")? else { return None };
        let size = groups.group_size()?;
        // Groups of one device also stand for the absence of groups.
        (size > 1).then_some(size)
    }

    /// Checks the factor from `small` to `large`: the same for all operands and equal to the group size, if that is
    /// known.
    fn factor(&self, small: i64, large: i64, known: &mut Option<i64>) -> Check<()> {
        let factor = match small {
            0 => return if large == 0 { Ok(()) } else { Err(format!("a size of {large} in place of 0")) },
            small if large % small == 0 => large / small,
            small => return Err(format!("sizes {small} and {large}, which are not multiples of each other")),
        };
        let n = *known.get_or_insert(self.group_size().unwrap_or(factor));
        require(n == factor, format_args!("sizes {small} and {large} in groups of {n}"))
    }

    /// The operands with one size replaced by that of the written result, which must be a multiple of it or divide it.
    /// A scalar beside arrays, which orders collectives in PyTorch/XLA, passes unchanged.
    fn regrouped(&self, values: &dyn Fn(usize) -> Option<&'m Shape>, is_larger: bool) -> Check<Vec<Shape>> {
        let mut known = None;
        let has_arrays = !(0..self.operands.len()).all(|k| self.is_scalar(k));
        (0..self.operands.len())
            .map(|k| {
                let operand = self.array(k)?;
                if has_arrays && self.is_scalar(k) {
                    return Ok(self.operands[k].clone());
                }
                let d = self.one_dim("dimensions", operand.rank())?;
                let written = values(k).and_then(|s| s.as_array().and_then(|a| a.dims().get(d).copied()));
                let Some(written) = written else { return Err(format!("no result for operand {k}")) };
                let n = operand.dims()[d];
                let (small, large) = if is_larger { (n, written) } else { (written, n) };
                self.factor(small, large, &mut known)?;
                let mut dims: Vec<Dim> = sizes(operand).collect();
                dims[d].size = i128::from(written);
                self.array_shape(operand.element(), dims)
            })
            .collect()
    }

    /// The values of an all-gather, or the smaller ones of a reduce-scatter.
    pub(super) fn regrouped_values(&self, is_larger: bool) -> Inference {
        let n = self.operands.len();
        self.one_or_tuple(self.regrouped(&|k| self.written_part(k, n), is_larger)?)
    }

    /// `(operands, values)`, each alone or a tuple of several.
    pub(super) fn all_gather_start(&self) -> Inference {
        let n = self.operands.len();
        let value = self.written_part(1, 2);
        self.pair(self.regrouped(&|k| part_of(value?, k, n), true)?)
    }

    /// The operands and the values as the first two parts of a tuple.
    fn pair(&self, values: Vec<Shape>) -> Inference {
        let is_tuple = |k: usize| self.written_part(k, 2).is_some_and(|s| s.as_tuple().is_some());
        self.with_context(vec![together(self.all_operands(), is_tuple(0)), together(values, is_tuple(1))])
    }

    /// One array whose pieces are exchanged, or as many arrays as there are devices in a group.
    pub(super) fn all_to_all(&self) -> Inference {
        let is_tuple = self.written.is_some_and(|s| s.as_tuple().is_some());
        if !is_tuple && self.operands.len() == 1 {
            let operand = self.array(0)?;
            let dims = self.dim_numbers("dimensions", operand.rank())?;
            if let (Some(n), Some(&d)) = (self.group_size(), dims.first()) {
                let fits = operand.dims()[d] % n == 0;
                require(fits, format_args!("{} in {n} pieces along dimension {d}", self.operands[0]))?;
            }
        }
        self.as_operands()
    }

    /// The operands without the roots. The roots, if present, are the last operand, with the root position of each
    /// other one.
    pub(super) fn data_operands(&self) -> Inference {
        if !self.flag("has_dynamic_root") {
            return self.as_operands();
        }
        let Some((&roots, data)) = self.operands.split_last().filter(|(_, data)| !data.is_empty()) else {
            return Err("no operands before the roots".into());
        };
        let n = data.len() as i64;
        let fits = roots.as_array().is_some_and(|a| a.element() == ElementType::S32 && a.dims() == [n]);
        require(fits, format_args!("roots of shape {roots}, expected s32[{n}], one for each operand before them"))?;
        self.one_or_tuple(data.iter().map(|&s| s.clone()).collect())
    }

    /// The operands of other devices or, with `slice_sizes`, slices of them in the given buffers.
    pub(super) fn collective_permute(&self) -> Inference {
        match self.in_place()? {
            true => self.as_operand(1),
            false => self.as_operands(),
        }
    }

    pub(super) fn collective_permute_start(&self) -> Inference {
        match self.in_place()? {
            true => self.with_context(vec![self.operand(0)?.clone(), self.operand(1)?.clone()]),
            false => self.pair(self.all_operands()),
        }
    }

    /// Whether slices of an input replace slices of an output, which is the case if there are sizes of slices. Each
    /// slice has a row of sizes, and an offset in both.
    fn in_place(&self) -> Check<bool> {
        let Some(Value::IntLists(rows)) = self.value("slice_sizes") else { return Ok(false) };
        if rows.is_empty() {
            return Ok(false);
        }
        let [input, output, from, to] = self.operands[..] else {
            return Err(format!("{} operands, expected input, output and their offsets", self.operands.len()));
        };
        for (buffers, offsets) in [(input, from), (output, to)] {
            let fits = |(row, buffer): (&Vec<i64>, &&ArrayShape)| {
                row.len() == buffer.rank() && row.iter().zip(buffer.dims()).all(|(n, size)| n <= size)
            };
            let slices = slices(buffers, offsets, rows.len());
            let fit = slices.is_some_and(|all| all.len() == rows.len() && rows.iter().zip(&all).all(fits));
            require(fit, format_args!("{} slices at offsets {offsets} of {buffers}", rows.len()))?;
        }
        Ok(true)
    }
}
