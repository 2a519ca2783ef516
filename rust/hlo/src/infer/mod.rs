//! Shape inference: the shape of an instruction from its operands and attributes, one rule per operation.
//!
//! The result of [`shape`] is compared with the written shape; `infer_omitted` supplies an omitted shape with the layout
//! that XLA gives it. Operations without a rule, and unbounded dimensions, give none. Sizes are computed in 128 bits,
//! which valid shapes do not overflow.

mod algebra;
mod asynchronous;
mod collective;
mod elementwise;
mod movement;
mod reduction;
mod structure;

use cancel::steps;
use layout::{require, ArrayShape, ElementKind, ElementType, Layout, Shape, UNBOUNDED};
use smallvec::{smallvec, SmallVec};

use crate::attribute::{schema, Value};
use crate::model::module::{ComputationId, InstructionId, Module};
use crate::opcode::{async_form, elementwise};
use crate::{Opcode, Trait};

/// The inferred shape, or the reason that operands and attributes are inconsistent. `None` if no rule determines the
/// shape; a written shape is compared by element types and sizes only.
pub(crate) type Inference = Result<Option<Shape>, String>;

type Check<T> = Result<T, String>;

impl Module {
    /// The shape that the operands and attributes imply, regardless of the shape that is written; `None` if they leave
    /// it open or are inconsistent.
    pub fn inferred_shape(&self, id: InstructionId) -> Option<Shape> {
        if self.operands(id).any(|k| is_unbounded(self.shape(k))) {
            return None;
        }
        infer_omitted(self, id).ok().flatten()
    }

    /// Whether any shape has an unbounded dimension. Computed once.
    pub fn has_unbounded(&self) -> bool {
        *self.has_unbounded.get_or_init(|| self.shapes.iter().any(is_unbounded))
    }
}

/// The shape that the instruction must have. Whatever operands and attributes leave open (the result type of a convert,
/// the sizes of a reshape) is taken from the written shape.
pub(crate) fn shape(m: &Module, id: InstructionId) -> Inference {
    if has_no_rule(m, id) {
        return Ok(None);
    }
    let row = &m.instructions()[id as usize];
    let op = Operation::of(m, id);
    if m.has_unnamed_operands(id) || op.operands.iter().any(|s| is_unbounded(s)) || is_unbounded(m.shape(id)) {
        return Ok(None);
    }
    op.shape(row.opcode)
}

/// Whether no rule applies, or the operands plainly have the required shape: the shape of an elementwise operation, or
/// of the part that is taken. True for most instructions.
pub(crate) fn has_no_rule(m: &Module, id: InstructionId) -> bool {
    use Opcode::*;
    let row = &m.instructions()[id as usize];
    match row.opcode {
        Parameter | Constant | Bitcast | CustomCall => true,
        Unknown => async_form(m.opcode_name(id)).is_none(),
        // Checking the other parts as well would be quadratic in their number.
        GetTupleElement => Operation::of(m, id).taken_part().is_some_and(|part| part.same_dims(m.shape(id))),
        opcode => {
            // Equal shapes have equal numbers.
            let is_alike = |k: InstructionId| m.instructions()[k as usize].shape == row.shape;
            row.n_operands > 0 && opcode.has(Trait::ELEMENTWISE) && m.operands(id).all(is_alike)
        }
    }
}

/// The omitted shape of an instruction. Implicit broadcasts of XLA's parser are followed here and reported when the
/// shape is checked.
pub(crate) fn infer_omitted(m: &Module, id: InstructionId) -> Inference {
    let row = &m.instructions()[id as usize];
    if m.has_unnamed_operands(id) {
        return Err("operands without names".into());
    }
    let op = Operation { m, id, written: None, operands: m.operands(id).map(|k| m.shape(k)).collect() };
    match row.opcode {
        Opcode::Broadcast => op.broadcast_in_front(),
        opcode => op.shape(opcode),
    }
}

pub(crate) fn is_unbounded(shape: &Shape) -> bool {
    match shape {
        Shape::Array(a) => a.dims().contains(&UNBOUNDED),
        Shape::Tuple(parts) => {
            steps(parts.len());
            parts.iter().any(is_unbounded)
        }
        _ => false,
    }
}

/// A size, and whether it is the bound of a dynamic size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dim {
    size: i128,
    is_dynamic: bool,
}

impl From<i64> for Dim {
    fn from(size: i64) -> Dim {
        Dim { size: i128::from(size), is_dynamic: false }
    }
}

impl From<i128> for Dim {
    fn from(size: i128) -> Dim {
        Dim { size, is_dynamic: false }
    }
}

/// An instruction whose shape is inferred.
pub(crate) struct Operation<'m> {
    pub m: &'m Module,
    pub id: InstructionId,
    /// The written shape; `None` if it is omitted.
    pub written: Option<&'m Shape>,
    pub operands: SmallVec<[&'m Shape; 6]>,
}

impl<'m> Operation<'m> {
    /// An instruction whose shape is written.
    pub fn of(m: &'m Module, id: InstructionId) -> Operation<'m> {
        Operation { m, id, written: Some(m.shape(id)), operands: m.operands(id).map(|k| m.shape(k)).collect() }
    }

    /// The operation as written.
    pub fn name(&self) -> &'m str {
        self.m.opcode_name(self.id)
    }

    /// Applies the rule of the operation; a new operation does not compile until it has an arm.
    #[deny(clippy::wildcard_enum_match_arm)]
    fn shape(&self, opcode: Opcode) -> Inference {
        use Opcode::*;
        match opcode {
            Tuple => Ok(Some(Shape::Tuple(self.all_operands()))),
            GetTupleElement => self.get_tuple_element(),
            Select => self.select(),
            Clamp => self.clamp(),
            Compare | IsFinite => self.elementwise(Some(ElementType::Pred)),
            Convert => self.elementwise(self.written_element()),
            StochasticConvert => self.stochastic_convert(),
            Real | Imag => self.part_of_complex(),
            Complex => self.complex(),
            Abs => self.absolute(),
            Copy if self.operands.first().is_some_and(|s| s.as_array().is_none()) => self.as_operand(0),
            #[allow(unreachable_patterns)]
            elementwise!() => self.elementwise(None),
            BitcastConvert => self.bitcast_convert(),
            Map => self.map(),

            Broadcast => self.broadcast(),
            Transpose => self.transpose(),
            Reverse => self.reverse(),
            Shuffle => self.shuffle(),
            Reshape => self.reshape(),
            DynamicReshape => self.dynamic_reshape(),
            Slice => self.slice(),
            Concatenate => self.concatenate(),
            Pad => self.pad(),
            DynamicSlice => self.dynamic_slice(),
            DynamicUpdateSlice => self.dynamic_update_slice(),
            Gather => self.gather(),
            Scatter => self.scatter(),
            GetDimensionSize => self.get_dimension_size(),
            SetDimensionSize => self.set_dimension_size(),
            Iota => self.iota(),

            Reduce => self.reduce(),
            ReduceWindow => self.reduce_window(),
            SelectAndScatter => self.select_and_scatter(),
            Sort => self.sort(),
            Topk => self.topk(),
            Scan => self.scan(),

            Dot => self.dot(),
            RaggedDot => self.ragged_dot(),
            ScaledDot => self.scaled_dot(),
            Convolution => self.convolution(),
            Fft => self.fft(),
            Cholesky => self.cholesky(),
            TriangularSolve => self.triangular_solve(),
            BatchNormTraining => self.batch_norm(3),
            BatchNormInference => self.batch_norm(1),
            BatchNormGrad => self.batch_norm_grad(),
            Rng => self.rng(),
            RngBitGenerator => self.rng_bit_generator(),
            RngGetAndUpdateState => self.fixed(ElementType::U64, &[2]),

            Fusion | Call => self.call(),
            While => self.while_loop(),
            Conditional => self.conditional(),
            Domain | OptBarrier | AddDependency => self.as_operand(0),
            AfterAll | SendDone => Ok(Some(Shape::Token)),
            AsyncStart => self.async_start(),
            AsyncUpdate => self.async_update(),
            AsyncDone => self.async_done(),
            CopyStart => self.copy_start(),
            CopyDone => self.part(0),
            Infeed => self.infeed(),
            Outfeed => self.outfeed(),
            Send => self.send(),
            RecvDone => self.recv_done(),
            PartitionId | ReplicaId => self.fixed(ElementType::U32, &[]),

            AllReduce | AllReduceStart => self.as_operands(),
            CollectiveBroadcast | CollectiveReduce => self.data_operands(),
            AllReduceDone => self.as_operand(0),
            AllGather => self.regrouped_values(true),
            AllGatherStart => self.all_gather_start(),
            AllGatherDone | CollectivePermuteDone => self.part(1),
            ReduceScatter => self.regrouped_values(false),
            AllToAll => self.all_to_all(),
            RaggedAllToAll => self.as_operand(1),
            CollectivePermute => self.collective_permute(),
            CollectivePermuteStart => self.collective_permute_start(),

            Unknown => self.short_async_form(),
            // Only the written shape determines the value.
            Parameter | Constant | Bitcast | CustomCall | Recv => Ok(None),
        }
    }

    fn array(&self, k: usize) -> Check<&'m ArrayShape> {
        match self.operands.get(k) {
            Some(shape) => shape.as_array().ok_or_else(|| format!("operand {k} is {shape}, expected an array")),
            None => Err(format!("no operand {k}")),
        }
    }

    pub fn array_or_none(&self, k: usize) -> Option<&'m ArrayShape> {
        self.operands.get(k).and_then(|shape| shape.as_array())
    }

    fn operand(&self, k: usize) -> Check<&'m Shape> {
        self.operands.get(k).copied().ok_or_else(|| format!("no operand {k}"))
    }

    fn dims(&self, k: usize) -> Check<&'m [i64]> {
        Ok(self.array(k)?.dims())
    }

    fn is_scalar(&self, k: usize) -> bool {
        self.dims(k).is_ok_and(<[i64]>::is_empty)
    }

    fn written_array(&self) -> Option<&'m ArrayShape> {
        self.written.and_then(Shape::as_array)
    }

    pub fn written_element(&self) -> Option<ElementType> {
        self.written_array().map(ArrayShape::element)
    }

    pub fn value(&self, name: &str) -> Option<Value<'m>> {
        // Equivalent instructions, of which one is checked, may differ in the others.
        debug_assert!(schema::key(name.as_bytes()).is_some_and(schema::is_checked), "{name} is not an input of rules");
        self.m.attribute_value(self.id, name)
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        match self.value(name) {
            Some(Value::Int(n)) => Some(n),
            _ => None,
        }
    }

    pub fn ints(&self, name: &str) -> Vec<i64> {
        match self.value(name) {
            Some(Value::Ints(list)) => list,
            _ => Vec::new(),
        }
    }

    pub fn flag(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Bool(true)))
    }

    pub fn callee(&self, name: &str) -> Option<ComputationId> {
        match self.value(name) {
            Some(Value::Computation(c)) => Some(c),
            _ => None,
        }
    }

    /// Distinct dimension numbers below `rank`; empty if the attribute is absent.
    fn dim_numbers(&self, name: &str, rank: usize) -> Check<Vec<usize>> {
        let Some(Value::Ints(list)) = self.value(name) else { return Ok(Vec::new()) };
        let mut seen: SmallVec<[bool; 16]> = smallvec![false; rank];
        // Collected into the same allocation.
        list.into_iter()
            .map(|d| match usize::try_from(d).ok().filter(|&d| d < rank) {
                Some(d) if !std::mem::replace(&mut seen[d], true) => Ok(d),
                Some(_) => Err(format!("{name} has dimension {d} twice")),
                None => Err(format!("{name} has dimension {d} of an array of rank {rank}")),
            })
            .collect()
    }

    /// The only dimension of a list.
    fn one_dim(&self, name: &str, rank: usize) -> Check<usize> {
        match self.dim_numbers(name, rank)?[..] {
            [d] => Ok(d),
            ref list => Err(format!("{} {name}, expected one", list.len())),
        }
    }

    /// An array without layout.
    fn array_shape(&self, element: ElementType, dims: impl IntoIterator<Item = impl Into<Dim>>) -> Check<Shape> {
        self.laid_out(element, dims, None)
    }

    fn laid_out(
        &self,
        element: ElementType,
        dims: impl IntoIterator<Item = impl Into<Dim>>,
        layout: Option<Layout>,
    ) -> Check<Shape> {
        let (mut sizes, mut dynamic) = (SmallVec::<[i64; 6]>::new(), SmallVec::<[bool; 8]>::new());
        for dim in dims {
            let dim = dim.into();
            let size = i64::try_from(dim.size).map_err(|_| "a size that does not fit in 63 bits".to_string())?;
            sizes.push(size);
            dynamic.push(dim.is_dynamic);
        }
        ArrayShape::new(element, &sizes, &dynamic, layout).map(Shape::Array)
    }

    fn result(&self, element: ElementType, dims: impl IntoIterator<Item = impl Into<Dim>>) -> Inference {
        self.array_shape(element, dims).map(Some)
    }

    fn fixed(&self, element: ElementType, dims: &[i64]) -> Inference {
        self.result(element, dims.iter().copied())
    }

    /// The sizes of an operand, and its layout if the shape is omitted.
    fn like(&self, element: ElementType, k: usize) -> Inference {
        let array = self.array(k)?;
        self.resized(array, element, sizes(array)).map(Some)
    }

    /// Other sizes of an array, with its layout if the shape is omitted.
    fn resized(&self, array: &ArrayShape, element: ElementType, dims: impl IntoIterator<Item = Dim>) -> Check<Shape> {
        self.laid_out(element, dims, array.layout().filter(|_| self.written.is_none()).cloned())
    }

    /// Checks that the first `n` operands are arrays of equal sizes.
    fn equal_sizes(&self, n: usize) -> Check<()> {
        (1..n).try_for_each(|k| self.agree(0, k, self.dims(k)? == self.dims(0)?))
    }

    /// Requires that two operands match.
    fn agree(&self, a: usize, b: usize, holds: bool) -> Check<()> {
        require(holds, format_args!("operands of shapes {} and {}", self.operands[a], self.operands[b]))
    }

    fn as_operand(&self, k: usize) -> Inference {
        self.operand(k).map(|s| Some(s.clone()))
    }

    /// The shape of the only operand, or a tuple of them all.
    fn as_operands(&self) -> Inference {
        self.one_or_tuple(self.all_operands())
    }

    /// An element of operand 0, a tuple.
    fn part(&self, k: usize) -> Inference {
        match self.operand(0)?.as_tuple().and_then(|parts| parts.get(k)) {
            Some(part) => Ok(Some(part.clone())),
            None => Err(format!("operand 0 is {}, expected a tuple with a part {k}", self.operands[0])),
        }
    }

    /// A single shape, or a tuple of several; a tuple of one if the written shape is one.
    fn one_or_tuple(&self, parts: Vec<Shape>) -> Inference {
        let of_one = self.written.and_then(Shape::as_tuple).is_some_and(|t| t.len() == 1);
        Ok(Some(together(parts, of_one)))
    }

    /// The k-th of `n` written results: the shape itself, or an element of a tuple.
    fn written_part(&self, k: usize, n: usize) -> Option<&'m Shape> {
        part_of(self.written?, k, n)
    }

    fn all_operands(&self) -> Vec<Shape> {
        self.operands.iter().map(|&s| s.clone()).collect()
    }
}

/// A single shape, or a tuple of several; `of_one` asks for a tuple in any case.
fn together(mut parts: Vec<Shape>, of_one: bool) -> Shape {
    match parts.pop() {
        Some(one) if parts.is_empty() && !of_one => one,
        last => Shape::Tuple(parts.into_iter().chain(last).collect()),
    }
}

/// The k-th of `n` values: the shape itself, or an element of a tuple.
fn part_of(shape: &Shape, k: usize, n: usize) -> Option<&Shape> {
    match shape.as_tuple() {
        Some(parts) => parts.get(k),
        None => (n == 1).then_some(shape),
    }
}

fn sizes(array: &ArrayShape) -> impl Iterator<Item = Dim> + '_ {
    array.dims().iter().enumerate().map(|(d, &n)| Dim { size: i128::from(n), is_dynamic: array.is_dynamic(d) })
}

fn dim(array: &ArrayShape, d: usize) -> Dim {
    Dim { size: i128::from(array.dims()[d]), is_dynamic: array.is_dynamic(d) }
}

pub(crate) fn fits(opcode: Opcode, written: &Shape, inferred: &Shape) -> bool {
    written.same_dims(inferred) || !opcode.has(Trait::KEEPS_TYPE) && fits_rounded(written, inferred)
}

fn fits_rounded(written: &Shape, inferred: &Shape) -> bool {
    match (written, inferred) {
        (Shape::Array(a), Shape::Array(b)) => are_mixable(a.element(), b.element()) && a.dims() == b.dims(),
        (Shape::Tuple(a), Shape::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| fits_rounded(a, b)),
        (Shape::Buffer(a), Shape::Buffer(b)) => fits_rounded(a, b),
        (a, b) => a.same_dims(b),
    }
}

/// Whether an operation may mix these element types: equal ones, or floats of different precision.
pub(crate) fn are_mixable(a: ElementType, b: ElementType) -> bool {
    a == b || (a.kind() == ElementKind::Float && b.kind() == ElementKind::Float)
}
