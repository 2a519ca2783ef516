//! Python classes for attributes: a mapping that decodes values on access, and the classes of such values.

use flow::watch::{Watch, What};
use hlo::{Attribute, ComputationId, DimLabels, InstructionId, Value, Window, WindowDim};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyIterator, PyList, PyTuple};
use pyo3::IntoPyObjectExt;

use crate::alias::{PyBufferDonor, PyEntryLayout, PyInputOutputAlias, PyOperandAlias, PyResultAccuracy};
use crate::argument::Arg;
use crate::class::tuple_of;
use crate::error::NotFoundError;
use crate::layout::PyShape;
use crate::pickle::{by_attribute, Reduced};
use crate::repr;
use crate::sharding::{PyReplicaGroups, PySharding};
use crate::view::{computation, computations, instruction, instructions, Handle};

/// The owner of attributes.
#[derive(Clone, Copy, PartialEq)]
pub enum Owner {
    Module,
    Computation(ComputationId),
    Instruction(InstructionId),
}

/// The attributes of a module, a computation or an instruction: a mapping from their names in the text to values.
///
/// Braced lists of ints are tuples of ints, lists of lists tuples of tuples; keywords are ``str``; computations are
/// :class:`~hlomap.Computation`.  ``slice`` is a tuple of ``(start, limit, stride)``, ``padding`` a tuple of
/// ``(low, high, interior)``, ``window`` a :class:`Window`, ``dim_labels`` a
/// :class:`ConvolutionDimensionNumbers`, ``sharding`` a :class:`Sharding`, ``replica_groups``
/// :class:`ReplicaGroups`, ``frontend_attributes`` a dict, ``sparsity_config`` and ``block_scaling_config`` a dict of
/// the items of each side, ``result_accuracy`` a :class:`ResultAccuracy`, ``backend_config`` a :class:`JsonObject`,
/// or text if it is not JSON;
/// ``input_output_alias``, ``buffer_donor`` and ``output_to_operand_aliasing`` are tuples of
/// :class:`InputOutputAlias`, :class:`BufferDonor` and :class:`OperandAlias`.  An unknown attribute, or one whose
/// value cannot be decoded, is its text.  A missing name raises :class:`~hlomap.errors.NotFoundError`, a
/// ``KeyError``.
///
/// >>> import hlomap as hm
/// >>> text = "s = f32[2] slice(f32[5] p), slice={[1:5:2]}"
/// >>> dict(hm.parse(text)["s"].attributes)
/// {'slice': ((1, 5, 2),)}
#[pyclass(name = "Attributes", module = "hlomap._core", frozen, mapping)]
pub struct Attributes {
    module: Handle,
    owner: Owner,
    /// Records reads of an instruction's attributes on behalf of a rule.
    watch: Option<Box<Watch>>,
}

impl Attributes {
    pub fn new(module: Handle, owner: Owner, watch: Option<Box<Watch>>) -> Attributes {
        Attributes { module, owner, watch }
    }

    fn read(&self, what: What<'_>) {
        if let (Some(watch), Owner::Instruction(id)) = (&self.watch, self.owner) {
            watch.read(&self.module, id, what);
        }
    }

    fn all(&self) -> &[Attribute] {
        match self.owner {
            Owner::Module => self.module.header(),
            Owner::Computation(id) => self.module.computation_attributes(id),
            Owner::Instruction(id) => self.module.attributes(id),
        }
    }

    fn find(&self, name: &str) -> Option<&Attribute> {
        self.read(What::Attribute(name));
        self.all().iter().find(|a| self.module.attribute_name(a) == name)
    }

    fn value<'py>(&self, py: Python<'py>, attribute: &Attribute) -> PyResult<Bound<'py, PyAny>> {
        let within = match self.owner {
            Owner::Module => None,
            Owner::Computation(id) => Some(id),
            Owner::Instruction(id) => Some(self.module.computation_of(id)),
        };
        match self.module.value(attribute, within) {
            Value::Text(text) if attribute.is_config() => config(py, &text),
            Value::Raw(text) if attribute.is_config() => config(py, text),
            value => self.convert(py, value),
        }
    }

    fn convert<'py>(&self, py: Python<'py>, value: Value<'_>) -> PyResult<Bound<'py, PyAny>> {
        let tuple = |t: Bound<'py, PyTuple>| Ok(t.into_any());
        let inside = || self.watch.as_ref().map(|watch| watch.inside());
        match value {
            Value::Int(n) => n.into_bound_py_any(py),
            Value::Float(n) => n.into_bound_py_any(py),
            Value::Bool(b) => b.into_bound_py_any(py),
            Value::Word(text) | Value::Raw(text) => text.into_bound_py_any(py),
            Value::Text(text) => text.into_bound_py_any(py),
            Value::Ints(list) => tuple(PyTuple::new(py, list)?),
            Value::IntLists(lists) => tuple(tuple_of(py, lists.into_iter().map(|row| PyTuple::new(py, row)))?),
            Value::Words(list) => tuple(PyTuple::new(py, list)?),
            Value::Slices(list) | Value::Padding(list) => tuple(PyTuple::new(py, list)?),
            Value::Window(window) => PyWindow(window).into_bound_py_any(py),
            Value::DimLabels(labels) => PyDimLabels(labels).into_bound_py_any(py),
            Value::Computation(id) => Ok(computation(py, &self.module, id, inside())?.into_bound(py).into_any()),
            Value::Computations(ids) => tuple(computations(py, &self.module, ids.iter().copied(), inside())?),
            Value::Instructions(ids) => {
                self.read(What::Itself);
                tuple(instructions(py, &self.module, ids.into_iter())?)
            }
            Value::Shape(shape) => PyShape(shape).into_bound_py_any(py),
            Value::Shapes(shapes) => tuple(PyTuple::new(py, shapes.into_iter().map(PyShape))?),
            Value::DeviceGroups(groups) => PyReplicaGroups::new(groups).into_bound_py_any(py),
            Value::Sharding(sharding) => PySharding(sharding).into_bound_py_any(py),
            Value::Aliases(all) => tuple(PyTuple::new(py, all.into_iter().map(PyInputOutputAlias))?),
            Value::OperandAliases(all) => tuple(PyTuple::new(py, all.into_iter().map(PyOperandAlias))?),
            Value::Donors(all) => tuple(PyTuple::new(py, all.into_iter().map(PyBufferDonor))?),
            Value::Accuracy(accuracy) => PyResultAccuracy(accuracy).into_bound_py_any(py),
            Value::Sides(sides) => {
                let dict = PyDict::new(py);
                for (side, items) in sides.0 {
                    let one = PyDict::new(py);
                    for (item, numbers) in items {
                        match numbers[..] {
                            [n] if !item.is_list() => one.set_item(item.name(), n)?,
                            _ => one.set_item(item.name(), PyTuple::new(py, numbers)?)?,
                        }
                    }
                    dict.set_item(side, one)?;
                }
                Ok(dict.into_any())
            }
            Value::EntryLayout(layout) => PyEntryLayout(layout).into_bound_py_any(py),
            Value::Bools(list) => tuple(PyTuple::new(py, list)?),
            Value::Dictionary(pairs) => pairs.into_py_dict(py).map(Bound::into_any),
        }
    }
}

#[pymethods]
impl Attributes {
    /// The value of an attribute.
    ///
    /// Raises :class:`~hlomap.errors.NotFoundError`, a ``KeyError``, for a missing attribute; the message lists
    /// the names.
    fn __getitem__<'py>(&self, py: Python<'py>, name: Arg<'_, &str>) -> PyResult<Bound<'py, PyAny>> {
        named!("hlo.Attributes[]", name);
        match self.find(name) {
            Some(attribute) => self.value(py, attribute),
            None => {
                self.read(What::Itself);
                let known: Vec<_> = self.all().iter().map(|a| self.module.attribute_name(a)).collect();
                Err(NotFoundError::new_err(format!("no attribute `{name:.100}`, there are: {}", known.join(", "))))
            }
        }
    }

    /// The value of an attribute, or ``default`` for a missing one.
    #[pyo3(signature = (name, default=None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: Arg<'_, &str>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        named!("hlo.Attributes.get", name);
        match self.find(name) {
            Some(attribute) => self.value(py, attribute).map(Some),
            None => Ok(default),
        }
    }

    /// The value as written; ``None`` for a missing attribute.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.parse("s = f32[2] slice(f32[5] p), slice={[1:5:2]}")["s"].attributes.text("slice")
    /// '{[1:5:2]}'
    #[pyo3(signature = (name, /))]
    fn text(&self, name: Arg<'_, &str>) -> PyResult<Option<&str>> {
        named!("hlo.Attributes.text", name);
        self.read(What::AttributeText(name));
        Ok(self.find(name).map(|a| self.module.attribute_text(a)))
    }

    /// The names, in text order.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.read(What::Itself);
        PyList::new(py, self.all().iter().map(|a| self.module.attribute_name(a)))
    }

    /// The values, in text order.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.read(What::Itself);
        let values = self.all().iter().map(|a| self.value(py, a));
        PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }

    /// Pairs of name and value, in text order.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.read(What::Itself);
        let items = self.all().iter().map(|a| Ok((self.module.attribute_name(a), self.value(py, a)?)));
        PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
    }

    fn __len__(&self) -> usize {
        self.read(What::Itself);
        self.all().len()
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<String>().is_ok_and(|name| self.find(&name).is_some())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.keys(py)?.try_iter()
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.read(What::Itself);
        let dict = |attributes: &Attributes| py.get_type::<PyDict>().call1((attributes.items(py)?,));
        let is_equal = if let Ok(other) = other.cast::<Attributes>() {
            let other = other.get();
            other.read(What::Itself);
            let is_same = self.module.is(&other.module) && self.owner == other.owner;
            is_same || dict(self)?.eq(dict(other)?)?
        } else if other.is_instance_of::<PyDict>() {
            dict(self)?.eq(other)?
        } else {
            // Other mappings compare themselves with this one; any other object is not equal.
            return Ok(py.NotImplemented().into_bound(py));
        };
        is_equal.into_bound_py_any(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.read(What::Itself);
        match self.owner {
            Owner::Module => by_attribute(py, self.module.0.bind(py), "attributes"),
            Owner::Computation(id) => by_attribute(py, computation(py, &self.module, id, None)?.bind(py), "attributes"),
            Owner::Instruction(id) => by_attribute(py, instruction(py, &self.module, id)?.bind(py), "attributes"),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let all = py.get_type::<PyDict>().call1((self.items(py)?,))?.repr()?;
        Ok(format!("Attributes({})", repr::line(&all)))
    }
}

/// A configuration of a backend: a JSON object, or its text.
fn config<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "hlomap.base.json_object"))?.call_method1(intern!(py, "backend_config"), (text,))
}

/// The window of a convolution, a reduce-window or a select-and-scatter: one :class:`WindowDim` for each
/// dimension.
///
/// A window pickles through its text.
///
/// >>> import hlomap as hm
/// >>> window = hm.hlo.Window.parse("{size=3x1 stride=2x1 pad=1_1x0_0}")
/// >>> len(window), window.dims[0].stride, window.dims[0].pad_high
/// (2, 2, 1)
#[pyclass(name = "Window", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyWindow(Window);

getters! { PyWindow, self, py;
    /// The dimensions, in order.
    dims: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, self.0.dims.iter().copied().map(PyWindowDim));
}

#[pymethods]
impl PyWindow {
    fn __len__(&self) -> usize {
        self.0.dims.len()
    }
}

by_its_text! { PyWindow, 0, "Window('{}')";
    /// Reads a window with its braces.  Raises :class:`~hlomap.errors.HloSyntaxError` for text that is not a
    /// window.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.hlo.Window.parse("{size=3x1 pad=1_1x0_0}").dims[0].pad_low
    /// 1
    parse(text) = "hlo.Window.parse", "a window", hlo::parse_window(text).map(PyWindow);
}

/// One dimension of a window.
///
/// >>> import hlomap as hm
/// >>> hm.hlo.WindowDim(3, stride=2) == hm.hlo.Window.parse("{size=3 stride=2}").dims[0]
/// True
#[pyclass(name = "WindowDim", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyWindowDim(WindowDim);

getters! { PyWindowDim, self, py;
    /// The number of elements in the window.
    size: i64 = self.0.size;
    /// The distance between the windows of neighbouring output elements, in elements of the padded operand.
    stride: i64 = self.0.stride;
    /// The number of elements of padding before the first element; a negative number removes elements.
    pad_low: i64 = self.0.pad_low;
    /// The number of elements of padding after the last element; a negative number removes elements.
    pad_high: i64 = self.0.pad_high;
    /// The distance between neighbouring elements of the operand; 1 leaves no holes.
    base_dilation: i64 = self.0.base_dilation;
    /// The distance between neighbouring elements of the window; 1 leaves no holes.
    window_dilation: i64 = self.0.window_dilation;
    /// Whether the window is reversed.
    reversal: bool = self.0.reversal;
}

record! {
    #[pyo3(signature = (size, *, stride=Arg::from(1), pad_low=Arg::from(0), pad_high=Arg::from(0),
        base_dilation=Arg::from(1), window_dilation=Arg::from(1), reversal=Arg::from(false)),
        text_signature = "(size, *, stride=1, pad_low=0, pad_high=0, base_dilation=1, window_dilation=1, reversal=False)")]
    PyWindowDim = "hlo.WindowDim"(
        size: Arg<'_, i64>, stride: Arg<'_, i64>, pad_low: Arg<'_, i64>, pad_high: Arg<'_, i64>,
        base_dilation: Arg<'_, i64>, window_dilation: Arg<'_, i64>, reversal: Arg<'_, bool>
    ) {
        Ok(PyWindowDim(WindowDim { size, stride, pad_low, pad_high, base_dilation, window_dilation, reversal }))
    }
}

/// The roles of the dimensions of a convolution's operand, kernel and output: ``bf01_oi01->bf01``.
///
/// They pickle through their text.
///
/// >>> import hlomap as hm
/// >>> numbers = hm.hlo.ConvolutionDimensionNumbers.parse("b01f_01io->b01f")
/// >>> numbers.input_feature, numbers.kernel_spatial, numbers.output_batch
/// (3, (0, 1), 0)
#[pyclass(name = "ConvolutionDimensionNumbers", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyDimLabels(DimLabels);

getters! { PyDimLabels, self, py;
    /// The operand's batch dimension.
    input_batch: i64 = self.0.input.letters[0];
    /// The operand's feature dimension.
    input_feature: i64 = self.0.input.letters[1];
    /// The operand's spatial dimensions.
    input_spatial: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, &self.0.input.spatial);
    /// The kernel's input feature dimension.
    kernel_input_feature: i64 = self.0.kernel.letters[0];
    /// The kernel's output feature dimension.
    kernel_output_feature: i64 = self.0.kernel.letters[1];
    /// The kernel's spatial dimensions.
    kernel_spatial: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, &self.0.kernel.spatial);
    /// The output's batch dimension.
    output_batch: i64 = self.0.output.letters[0];
    /// The output's feature dimension.
    output_feature: i64 = self.0.output.letters[1];
    /// The output's spatial dimensions.
    output_spatial: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, &self.0.output.spatial);
}

by_its_text! { PyDimLabels, 0, "ConvolutionDimensionNumbers('{}')";
    /// Reads dimension numbers.  Raises :class:`~hlomap.errors.HloSyntaxError` for any other text.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.hlo.ConvolutionDimensionNumbers.parse("b0f_0io->b0f").input_feature
    /// 2
    parse(text) = "hlo.ConvolutionDimensionNumbers.parse", "dimension numbers", hlo::parse_dim_labels(text).map(PyDimLabels);
}
