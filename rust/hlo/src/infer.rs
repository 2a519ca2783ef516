//! The shape of an instruction's value from its operands and attributes, a rule per operation.
//!
//! Read [`shape`]. The reader compares it with the shape that is written. Element types follow only where an
//! operation keeps them; layouts never do. Operations without a rule here are [`Inferred::Unknown`], and so is
//! everything about a dimension without bound.
//! Law: sizes are computed in 128 bits, so no shape that can be written overflows here.

use layout::{ArrayShape, ElementKind, ElementType, Shape, UNBOUNDED};

use smallvec::SmallVec;

use crate::attribute::Value;
use crate::module::{InstructionId, Module};
use crate::window;
use crate::Opcode;

/// What is known of the shape of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inferred {
    /// The shape, without layout.
    Shape(Shape),
    /// No rule says.
    Unknown,
}

/// The inferred shape, or why operands and attributes do not fit together.
pub(crate) type Inference = Result<Inferred, String>;

/// The shape that the instruction must have.
pub(crate) fn shape(m: &Module, id: InstructionId) -> Inference {
    use Opcode::*;
    let row = &m.instructions()[id as usize];
    // Most instructions have no rule, or are elementwise on values of the very shape they give.
    if matches!(row.opcode, Parameter | Constant | Bitcast | CustomCall | While) {
        return Ok(Inferred::Unknown);
    }
    if row.n_operands > 0 && is_elementwise(row.opcode) && m.operands(id).all(|k| m.has_shape(k, row.shape)) {
        return Ok(Inferred::Unknown);
    }
    let op = Operation { m, id, operands: m.operands(id).map(|k| m.shape(k)).collect() };
    if m.has_unnamed_operands(id) || op.operands.iter().any(|s| is_unbounded(s)) || is_unbounded(m.shape(id)) {
        return Ok(Inferred::Unknown);
    }
    match row.opcode {
        Tuple => Ok(Inferred::Shape(Shape::Tuple(op.operands.iter().map(|&s| s.clone()).collect()))),
        GetTupleElement => op.get_tuple_element(),
        Select => op.select(),
        Clamp => op.clamp(),
        Compare | IsFinite => op.elementwise(Some(ElementType::Pred)),
        Convert | Real | Imag | Complex | StochasticConvert => op.elementwise(op.own_element()),
        Abs => match op.array(0)?.element().kind() {
            ElementKind::Complex => op.elementwise(op.own_element()),
            _ => op.elementwise(None),
        },
        opcode if is_elementwise(opcode) => op.elementwise(None),
        Broadcast => op.broadcast(),
        Transpose => op.transpose(),
        Reverse => op.reverse(),
        Reshape => op.reshape(),
        Slice => op.slice(),
        Concatenate => op.concatenate(),
        Pad => op.pad(),
        Reduce => op.reduce(),
        Dot => op.dot(),
        DynamicSlice => op.dynamic_slice(),
        DynamicUpdateSlice => op.dynamic_update_slice(),
        Iota => op.iota(),
        ReduceWindow => op.reduce_window(),
        Convolution => op.convolution(),
        Fusion | Call => op.called(),
        _ => Ok(Inferred::Unknown),
    }
}

fn is_unbounded(shape: &Shape) -> bool {
    match shape {
        Shape::Array(a) => a.dims().contains(&UNBOUNDED),
        Shape::Tuple(parts) => parts.iter().any(is_unbounded),
        _ => false,
    }
}

/// Operations whose value has the shape of every operand.
fn is_elementwise(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(
        opcode,
        Acos | Acosh
            | Asin
            | Asinh
            | Atanh
            | Cbrt
            | Ceil
            | Copy
            | Cosine
            | Cosh
            | CountLeadingZeros
            | Erf
            | Exponential
            | ExponentialMinusOne
            | Floor
            | Log
            | LogPlusOne
            | Logistic
            | Negate
            | Not
            | Popcnt
            | ReducePrecision
            | RoundNearestAfz
            | RoundNearestEven
            | Rsqrt
            | Sign
            | Sine
            | Sinh
            | Sqrt
            | Tan
            | Tanh
            | Add
            | And
            | Atan2
            | Divide
            | Maximum
            | Minimum
            | Mulhi
            | Multiply
            | Or
            | Power
            | Remainder
            | ShiftLeft
            | ShiftRightArithmetic
            | ShiftRightLogical
            | Subtract
            | Xor
    )
}

/// An instruction whose shape is asked for.
struct Operation<'m> {
    m: &'m Module,
    id: InstructionId,
    operands: SmallVec<[&'m Shape; 6]>,
}

type Check<T> = Result<T, String>;

impl<'m> Operation<'m> {
    fn array(&self, k: usize) -> Check<&'m ArrayShape> {
        match self.operands.get(k) {
            Some(shape) => shape.as_array().ok_or_else(|| format!("operand {k} is {shape}, expected an array")),
            None => Err(format!("no operand {k}")),
        }
    }

    fn dims(&self, k: usize) -> Check<&'m [i64]> {
        Ok(self.array(k)?.dims())
    }

    fn own_element(&self) -> Option<ElementType> {
        self.m.shape(self.id).as_array().map(ArrayShape::element)
    }

    fn value(&self, name: &str) -> Option<Value<'m>> {
        let attribute = self.m.attribute(self.id, name)?;
        self.m.value(attribute, Some(self.m.computation_of(self.id))).ok()
    }

    fn int(&self, name: &str) -> Option<i64> {
        match self.value(name) {
            Some(Value::Int(n)) => Some(n),
            _ => None,
        }
    }

    /// Dimension numbers below `rank`, none twice; none at all where the attribute is missing.
    fn dim_numbers(&self, name: &str, rank: usize) -> Check<Vec<usize>> {
        let Some(Value::Ints(list)) = self.value(name) else { return Ok(Vec::new()) };
        let mut seen = vec![false; rank];
        list.iter()
            .map(|&d| match usize::try_from(d).ok().filter(|&d| d < rank) {
                Some(d) if !std::mem::replace(&mut seen[d], true) => Ok(d),
                Some(_) => Err(format!("{name} has dimension {d} twice")),
                None => Err(format!("{name} has dimension {d} of an array of rank {rank}")),
            })
            .collect()
    }

    fn result(&self, element: ElementType, dims: impl IntoIterator<Item = i128>) -> Inference {
        let dims = dims.into_iter().map(i64::try_from).collect::<Result<Vec<_>, _>>();
        let dims = dims.map_err(|_| "a size that does not fit in 63 bits".to_string())?;
        ArrayShape::new(element, &dims, &[], None).map(|a| Inferred::Shape(Shape::Array(a))).map_err(|e| e.to_string())
    }

    fn like(&self, element: ElementType, dims: &[i64]) -> Inference {
        self.result(element, dims.iter().map(|&n| i128::from(n)))
    }

    /// The shape of every operand, with the element type `to` where the operation has one of its own.
    fn elementwise(&self, to: Option<ElementType>) -> Inference {
        // A copy moves tuples and tokens, too.
        let Some(first) = self.operands.first().and_then(|s| s.as_array()) else { return Ok(Inferred::Unknown) };
        for k in 1..self.operands.len() {
            let other = self.array(k)?;
            if other.dims() != first.dims() || (to.is_none() && !mix(first.element(), other.element())) {
                return Err(format!("operands of shapes {} and {}", self.operands[0], self.operands[k]));
            }
        }
        let own = self.own_element();
        let element = to.or(own.filter(|&e| mix(e, first.element()))).unwrap_or(first.element());
        self.like(element, first.dims())
    }

    fn get_tuple_element(&self) -> Inference {
        let parts = self.operands.first().and_then(|s| s.as_tuple());
        let index = self.int("index").and_then(|n| usize::try_from(n).ok());
        match (parts, index) {
            (Some(parts), Some(n)) if n < parts.len() => Ok(Inferred::Shape(parts[n].clone())),
            (Some(parts), _) => Err(format!("index {} of a tuple of {}", self.int("index").unwrap_or(-1), parts.len())),
            (None, _) => Err(format!("operand 0 is {}, expected a tuple", self.operands[0])),
        }
    }

    fn select(&self) -> Inference {
        let Some(on_true) = self.operands.get(1).and_then(|s| s.as_array()) else { return Ok(Inferred::Unknown) };
        let (predicate, on_false) = (self.array(0)?, self.array(2)?);
        if predicate.rank() > 0 && predicate.dims() != on_true.dims() {
            return Err(format!("a predicate of shape {} for {}", self.operands[0], self.operands[1]));
        }
        if on_false.dims() != on_true.dims() {
            return Err(format!("operands of shapes {} and {}", self.operands[1], self.operands[2]));
        }
        self.like(self.own_element().unwrap_or(on_true.element()), on_true.dims())
    }

    fn clamp(&self) -> Inference {
        let value = self.array(1)?;
        for k in [0, 2] {
            let bound = self.array(k)?;
            if bound.rank() > 0 && bound.dims() != value.dims() {
                return Err(format!("a bound of shape {} for {}", self.operands[k], self.operands[1]));
            }
        }
        self.like(value.element(), value.dims())
    }

    fn broadcast(&self) -> Inference {
        let operand = self.array(0)?;
        let Some(own) = self.m.shape(self.id).as_array() else { return Err("the value is no array".into()) };
        let to = self.dim_numbers("dimensions", own.rank())?;
        if to.len() != operand.rank() {
            return Err(format!("{} dimensions for an operand of rank {}", to.len(), operand.rank()));
        }
        let mut dims = own.dims().to_vec();
        for (k, d) in to.into_iter().enumerate() {
            dims[d] = operand.dims()[k];
        }
        self.like(operand.element(), &dims)
    }

    fn transpose(&self) -> Inference {
        let operand = self.array(0)?;
        let from = self.dim_numbers("dimensions", operand.rank())?;
        if from.len() != operand.rank() {
            return Err(format!("{} dimensions for an operand of rank {}", from.len(), operand.rank()));
        }
        self.result(operand.element(), from.iter().map(|&d| i128::from(operand.dims()[d])))
    }

    fn reverse(&self) -> Inference {
        let operand = self.array(0)?;
        self.dim_numbers("dimensions", operand.rank())?;
        self.like(operand.element(), operand.dims())
    }

    /// The sizes are the instruction's own; only their product is given.
    fn reshape(&self) -> Inference {
        let operand = self.array(0)?;
        match self.m.shape(self.id).as_array() {
            Some(own) if own.n_elements() == operand.n_elements() => self.like(operand.element(), own.dims()),
            _ => Err(format!("reshape of {} to {}", self.operands[0], self.m.shape(self.id))),
        }
    }

    fn slice(&self) -> Inference {
        let operand = self.array(0)?;
        let Some(Value::Slices(slices)) = self.value("slice") else { return Ok(Inferred::Unknown) };
        if slices.len() != operand.rank() {
            return Err(format!("{} slices for an operand of rank {}", slices.len(), operand.rank()));
        }
        let mut dims = Vec::with_capacity(slices.len());
        for (&(start, limit, stride), &n) in slices.iter().zip(operand.dims()) {
            if !(0 <= start && start <= limit && limit <= n && stride >= 1) {
                return Err(format!("slice [{start}:{limit}:{stride}] of a dimension of size {n}"));
            }
            dims.push((i128::from(limit) - i128::from(start) + i128::from(stride) - 1) / i128::from(stride));
        }
        self.result(operand.element(), dims)
    }

    fn concatenate(&self) -> Inference {
        let first = self.array(0)?;
        let [d] = self.dim_numbers("dimensions", first.rank())?[..] else {
            return Err("concatenate along other than one dimension".into());
        };
        let mut dims: Vec<i128> = first.dims().iter().map(|&n| i128::from(n)).collect();
        for k in 1..self.operands.len() {
            let other = self.dims(k)?;
            let fits = |(i, n): (usize, &i64)| i == d || *n == first.dims()[i];
            if other.len() != first.rank() || !other.iter().enumerate().all(fits) {
                return Err(format!("operands of shapes {} and {}", self.operands[0], self.operands[k]));
            }
            dims[d] += i128::from(other[d]);
        }
        self.result(first.element(), dims)
    }

    fn pad(&self) -> Inference {
        let operand = self.array(0)?;
        let Some(Value::Padding(padding)) = self.value("padding") else { return Ok(Inferred::Unknown) };
        if padding.len() != operand.rank() {
            return Err(format!("padding of {} dimensions for an operand of rank {}", padding.len(), operand.rank()));
        }
        if self.array(1)?.rank() != 0 {
            return Err(format!("a padding value of shape {}, expected a scalar", self.operands[1]));
        }
        let mut dims = Vec::with_capacity(padding.len());
        for (&(low, high, interior), &n) in padding.iter().zip(operand.dims()) {
            let inside = i128::from(n) + (i128::from(n) - 1).max(0) * i128::from(interior);
            let size = inside + i128::from(low) + i128::from(high);
            if interior < 0 || size < 0 {
                return Err(format!("padding {low}_{high}_{interior} of a dimension of size {n}"));
            }
            dims.push(size);
        }
        self.result(operand.element(), dims)
    }

    /// The first half of the operands of a variadic reduction: all of the same sizes, with a scalar each behind them.
    fn reduced(&self) -> Check<usize> {
        let n = self.operands.len() / 2;
        if n == 0 || self.operands.len() % 2 == 1 {
            return Err(format!("{} operands, expected arrays and as many initial values", self.operands.len()));
        }
        for k in 0..n {
            if self.dims(k)? != self.dims(0)? {
                return Err(format!("operands of shapes {} and {}", self.operands[0], self.operands[k]));
            }
            if self.array(n + k)?.rank() != 0 {
                return Err(format!("an initial value of shape {}, expected a scalar", self.operands[n + k]));
            }
        }
        Ok(n)
    }

    /// One array, or a tuple with one for each of the `n` operands, all of these sizes. The element types are the
    /// instruction's own, since a reduction may widen them.
    fn one_or_tuple(&self, n: usize, dims: &[i128]) -> Inference {
        let own = self.m.shape(self.id);
        let element = |k: usize| {
            let own = if n == 1 { Some(own) } else { own.as_tuple().and_then(|parts| parts.get(k)) };
            own.and_then(|s| s.as_array()).map(ArrayShape::element)
        };
        let mut parts = Vec::with_capacity(n);
        for k in 0..n {
            let element = element(k).unwrap_or(self.array(k)?.element());
            match self.result(element, dims.iter().copied())? {
                Inferred::Shape(shape) => parts.push(shape),
                Inferred::Unknown => return Ok(Inferred::Unknown),
            }
        }
        let is_tuple = n > 1 || own.as_tuple().is_some_and(|t| t.len() == 1);
        match parts.pop() {
            Some(one) if !is_tuple => Ok(Inferred::Shape(one)),
            last => Ok(Inferred::Shape(Shape::Tuple(parts.into_iter().chain(last).collect()))),
        }
    }

    fn reduce(&self) -> Inference {
        let n = self.reduced()?;
        let dims = self.dims(0)?;
        let gone = self.dim_numbers("dimensions", dims.len())?;
        let kept = (0..dims.len()).filter(|d| !gone.contains(d)).map(|d| i128::from(dims[d]));
        self.one_or_tuple(n, &kept.collect::<Vec<_>>())
    }

    fn dot(&self) -> Inference {
        let (lhs, rhs) = (self.dims(0)?, self.dims(1)?);
        let numbers = |side: &str, rank: usize| -> Check<(Vec<usize>, Vec<usize>)> {
            let batch = self.dim_numbers(&format!("{side}_batch_dims"), rank)?;
            let contracting = self.dim_numbers(&format!("{side}_contracting_dims"), rank)?;
            match batch.iter().find(|d| contracting.contains(d)) {
                Some(d) => Err(format!("dimension {d} of the {side} operand is batch and contracting")),
                None => Ok((batch, contracting)),
            }
        };
        let (lhs_batch, lhs_gone) = numbers("lhs", lhs.len())?;
        let (rhs_batch, rhs_gone) = numbers("rhs", rhs.len())?;
        for (what, a, b) in [("batch", &lhs_batch, &rhs_batch), ("contracting", &lhs_gone, &rhs_gone)] {
            if a.len() != b.len() || a.iter().zip(b).any(|(&a, &b)| lhs[a] != rhs[b]) {
                return Err(format!("{what} dimensions of {} and {} differ", self.operands[0], self.operands[1]));
            }
        }
        let rest = |dims: &[i64], batch: &[usize], gone: &[usize]| -> Vec<i64> {
            let is_kept = |d: &usize| !batch.contains(d) && !gone.contains(d);
            (0..dims.len()).filter(is_kept).map(|d| dims[d]).collect()
        };
        let mut dims: Vec<i64> = lhs_batch.iter().map(|&d| lhs[d]).collect();
        dims.extend(rest(lhs, &lhs_batch, &lhs_gone));
        dims.extend(rest(rhs, &rhs_batch, &rhs_gone));
        // Products may be accumulated in a wider type.
        self.like(self.own_element().unwrap_or(self.array(0)?.element()), &dims)
    }

    /// Scalar offsets, one per dimension, from operand `first` on; or one vector of them, as before 2019.
    fn offsets(&self, first: usize, rank: usize) -> Check<()> {
        let n = self.operands.len().saturating_sub(first);
        let is_vector = n == 1 && self.dims(first)? == [rank as i64];
        let is_scalars = n == rank && (first..first + n).all(|k| self.dims(k).is_ok_and(<[i64]>::is_empty));
        if is_vector || is_scalars {
            return Ok(());
        }
        Err(format!("{n} offsets for an operand of rank {rank}, expected a scalar per dimension"))
    }

    fn dynamic_slice(&self) -> Inference {
        let operand = self.array(0)?;
        let Some(Value::Ints(sizes)) = self.value("dynamic_slice_sizes") else { return Ok(Inferred::Unknown) };
        self.offsets(1, operand.rank())?;
        let fits = |(&size, &n): (&i64, &i64)| 0 <= size && size <= n;
        if sizes.len() != operand.rank() || !sizes.iter().zip(operand.dims()).all(fits) {
            return Err(format!("dynamic_slice_sizes {sizes:?} of {}", self.operands[0]));
        }
        self.like(operand.element(), &sizes)
    }

    fn dynamic_update_slice(&self) -> Inference {
        let (operand, update) = (self.array(0)?, self.array(1)?);
        self.offsets(2, operand.rank())?;
        let fits = update.rank() == operand.rank() && update.dims().iter().zip(operand.dims()).all(|(u, n)| u <= n);
        if !fits {
            return Err(format!("an update of shape {} in {}", self.operands[1], self.operands[0]));
        }
        self.like(operand.element(), operand.dims())
    }

    fn iota(&self) -> Inference {
        let rank = self.m.shape(self.id).as_array().map_or(0, ArrayShape::rank);
        match self.int("iota_dimension") {
            Some(d) if !(0 <= d && (d as usize) < rank) => {
                Err(format!("iota_dimension {d} of an array of rank {rank}"))
            }
            _ => Ok(Inferred::Unknown),
        }
    }

    fn reduce_window(&self) -> Inference {
        let n = self.reduced()?;
        let dims = self.dims(0)?;
        let window = match self.value("window") {
            Some(Value::Window(window)) => window,
            _ => return Ok(Inferred::Unknown),
        };
        if window.dims.len() != dims.len() && !(window.dims.is_empty() && dims.is_empty()) {
            return Err(format!("a window of {} dimensions on {}", window.dims.len(), self.operands[0]));
        }
        let dims: Check<Vec<i128>> = window.dims.iter().zip(dims).map(|(w, &n)| window::output_size(w, n)).collect();
        self.one_or_tuple(n, &dims?)
    }

    fn convolution(&self) -> Inference {
        let (Some(Value::DimLabels(labels)), input, kernel) =
            (self.value("dim_labels"), self.array(0)?, self.array(1)?)
        else {
            return Ok(Inferred::Unknown);
        };
        let window = match self.value("window") {
            Some(Value::Window(window)) => window.dims,
            _ => Vec::new(),
        };
        let groups = [self.int("feature_group_count"), self.int("batch_group_count")].map(|n| n.unwrap_or(1));
        let dims = window::convolution_dims(&labels, &window, input.dims(), kernel.dims(), groups)?;
        self.result(self.own_element().unwrap_or(input.element()), dims)
    }

    /// A fusion or a call: operands are the parameters, the value is the root's.
    fn called(&self) -> Inference {
        let Some(computation) = self.m.called(self.id).next() else { return Ok(Inferred::Unknown) };
        let parameters = self.m.parameters(computation);
        if parameters.len() != self.operands.len() {
            return Err(format!("{} operands for {} parameters", self.operands.len(), parameters.len()));
        }
        for (k, (&p, operand)) in parameters.iter().zip(&self.operands).enumerate() {
            if !self.m.shape(p).same_dims(operand) {
                return Err(format!("operand {k} of shape {operand} for a parameter of shape {}", self.m.shape(p)));
            }
        }
        Ok(Inferred::Shape(self.m.shape(self.m.root(computation)).clone()))
    }
}

/// Element types that an operation may mix: equal ones, or floats of different precision.
fn mix(a: ElementType, b: ElementType) -> bool {
    a == b || (a.kind() == ElementKind::Float && b.kind() == ElementKind::Float)
}
