//! Shape rules of reductions, sorts and scans.

use layout::{ArrayShape, ElementType, Shape};

use super::{dim, part_of, require, sizes, Check, Dim, Inference, Operation};
use crate::attribute::window;
use crate::attribute::window::Window;
use crate::attribute::Value;

impl Operation<'_> {
    /// The number of inputs of a variadic reduction: arrays of equal sizes, followed by as many scalar initial values.
    fn reduced(&self) -> Check<usize> {
        let (n, found) = (self.operands.len() / 2, self.operands.len());
        let fits = n > 0 && found == 2 * n;
        require(fits, format_args!("{found} operands, expected arrays and as many initial values"))?;
        self.equal_sizes(n)?;
        (n..2 * n).try_for_each(|k| self.initial_value(k))?;
        Ok(n)
    }

    fn initial_value(&self, k: usize) -> Check<()> {
        let is_scalar = self.dims(k)?.is_empty();
        require(is_scalar, format_args!("an initial value of shape {}, expected a scalar", self.operands[k]))
    }

    /// Arrays of these sizes, one per input. Their element types are those of the computation's results, since a
    /// reduction may widen them.
    fn reductions(&self, n: usize, dims: &[Dim]) -> Inference {
        let callee = self.callee("to_apply");
        let parts = (0..n).map(|k| {
            let value = callee.and_then(|c| part_of(self.root(c), k, n)).and_then(Shape::as_array);
            self.array_shape(value.map_or_else(|| self.array(k), Ok)?.element(), dims.iter().copied())
        });
        self.one_or_tuple(parts.collect::<Check<_>>()?)
    }

    pub(super) fn reduce(&self) -> Inference {
        let n = self.reduced()?;
        let array = self.array(0)?;
        let gone = self.dim_numbers("dimensions", array.rank())?;
        let kept = (0..array.rank()).filter(|d| !gone.contains(d)).map(|d| dim(array, d));
        self.reductions(n, &kept.collect::<Vec<_>>())
    }

    fn window(&self, rank: usize) -> Check<Option<Window>> {
        let Some(Value::Window(window)) = self.value("window") else { return Ok(None) };
        let n = window.dims.len();
        require(n == rank, format_args!("a window of {n} dimensions on {}", self.operands[0]))?;
        Ok(Some(window))
    }

    pub(super) fn reduce_window(&self) -> Inference {
        let n = self.reduced()?;
        let array = self.array(0)?;
        let Some(window) = self.window(array.rank())? else { return Ok(None) };
        let dims = window.dims.iter().enumerate().map(|(d, w)| {
            let size = window::output_size(w, array.dims()[d])?;
            Ok(Dim { size, is_dynamic: array.is_dynamic(d) })
        });
        self.reductions(n, &dims.collect::<Check<Vec<_>>>()?)
    }

    pub(super) fn select_and_scatter(&self) -> Inference {
        let (operand, source) = (self.array(0)?, self.dims(1)?);
        self.initial_value(2)?;
        let Some(window) = self.window(operand.rank())? else { return Ok(None) };
        let windows = window.dims.iter().zip(operand.dims()).map(|(w, &n)| window::output_size(w, n));
        let windows = windows.collect::<Check<Vec<_>>>()?;
        let fits = windows.iter().copied().eq(source.iter().map(|&n| i128::from(n)));
        require(fits, format_args!("a source of shape {} for windows {windows:?}", self.operands[1]))?;
        self.like(operand.element(), 0)
    }

    pub(super) fn sort(&self) -> Inference {
        let rank = self.array(0)?.rank();
        self.one_dim("dimensions", rank)?;
        self.equal_sizes(self.operands.len())?;
        self.as_operands()
    }

    /// The k largest or smallest values along the last dimension, and their indices.
    pub(super) fn topk(&self) -> Inference {
        let operand = self.array(0)?;
        let k = self.int("k").unwrap_or(-1);
        let fits = operand.dims().last().is_some_and(|&last| 0 <= k && k <= last);
        require(fits, format_args!("k={k} of {}", self.operands[0]))?;
        let dims = || sizes(operand).take(operand.rank() - 1).chain([Dim::from(k)]);
        let indices = self.written_part(1, 2).and_then(Shape::as_array).map_or(ElementType::S32, ArrayShape::element);
        let parts = vec![self.array_shape(operand.element(), dims())?, self.array_shape(indices, dims())?];
        Ok(Some(Shape::Tuple(parts)))
    }

    /// The results of the computation: the last are carries and keep their shape, the others are stacked along the
    /// dimension of the scan.
    pub(super) fn scan(&self) -> Inference {
        let Some(callee) = self.callee("to_apply") else { return Ok(None) };
        let n_carries = self.int("num_carries").and_then(|n| usize::try_from(n).ok());
        let Some(n_carries) = n_carries.filter(|&n| n <= self.operands.len()) else {
            return Err(format!("{:?} carries for {} operands", self.int("num_carries"), self.operands.len()));
        };
        let [along] = self.ints("dimensions")[..] else { return Err("expected one dimension to scan along".into()) };
        let along = usize::try_from(along).map_err(|_| format!("a scan along dimension {along}"))?;
        let n_inputs = self.operands.len() - n_carries;
        let mut n_steps = None;
        for k in 0..n_inputs {
            let n = self.dims(k)?.get(along).copied();
            let n = n.ok_or_else(|| format!("a scan along dimension {along} of {}", self.operands[k]))?;
            let fits = n_steps.replace(n).is_none_or(|other| other == n);
            require(fits, format_args!("a scan along {n} elements of {}", self.operands[k]))?;
        }
        let root = self.root(callee);
        let Some(values) = root.as_tuple() else { return Err(format!("a step that returns {root}, expected a tuple")) };
        let Some(n_outputs) = values.len().checked_sub(n_carries) else {
            return Err(format!("a step that returns {} values, with {n_carries} carries", values.len()));
        };
        let Some(n_steps) = n_steps else { return Ok(None) };
        let parts = values.iter().enumerate().map(|(k, value)| {
            let array = value.as_array().ok_or_else(|| format!("a step that returns {value}, expected arrays"))?;
            if k >= n_outputs {
                return Ok(value.clone());
            }
            require(along <= array.rank(), format_args!("a scan along dimension {along} of {value}"))?;
            let mut dims: Vec<Dim> = sizes(array).collect();
            dims.insert(along, Dim::from(n_steps));
            self.array_shape(array.element(), dims)
        });
        Ok(Some(Shape::Tuple(parts.collect::<Check<_>>()?)))
    }
}
