//! The face of shapes and layouts.

use ::layout::{
    bitcast_factors as factors, parse_layout, parse_shape, ArrayShape, ElementType, Layout, LinearError, Shape,
    TextError, TextErrorKind, Tile, COMBINED, UNBOUNDED,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::{of_symbolic, raise};
use crate::map::PyMap;

/// How the elements of an array lie in memory: ``{1,0:T(8,128)}``.
///
/// Equality is structural.  Dimensions are numbered as in the shape, the order is minor to major: the first number is
/// the dimension that changes fastest in memory.
///
/// >>> import hlomap as hm
/// >>> layout = hm.Layout.parse("{1,0:T(8,128)(2,1)S(5)}")
/// >>> layout.minor_to_major, layout.tiles, layout.memory_space
/// ((1, 0), ((8, 128), (2, 1)), 5)
#[pyclass(name = "Layout", module = "hlomap._core", frozen, eq, hash, from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyLayout(pub Layout);

/// An element type with dimensions, or a tuple of shapes, or token / opaque / a buffer.
///
/// ``dimensions`` may be 0 each; a dynamic one counts with its bound.  Equality is structural and takes the layout
/// into account.
///
/// Raises :class:`~hlomap.ShapeError` for an element type that does not exist, a negative size, and more than
/// 2**63 - 1 elements.
///
/// >>> import hlomap as hm
/// >>> shape = hm.Shape("bf16", [3, 5], hm.Layout.parse("{0,1}"))
/// >>> print(shape, shape.rank, shape.n_elements)
/// bf16[3,5]{0,1} 2 15
#[pyclass(name = "Shape", module = "hlomap._core", frozen, eq, hash, from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyShape(pub Shape);

fn shape_error(py: Python<'_>, error: impl ToString) -> PyErr {
    raise(py, "ShapeError", error.to_string())
}

fn text_error(py: Python<'_>, text: &str, error: &TextError) -> PyErr {
    let column = text.get(..error.start).map_or(error.start, |before| before.chars().count()) + 1;
    let shown: String = text.chars().take(200).collect();
    raise(py, "ShapeError", format!("{} at column {column} of `{shown}`", error.kind))
}

#[pymethods]
impl PyLayout {
    /// The layout that a text says, with its braces; :class:`~hlomap.ShapeError` when it says none.
    #[staticmethod]
    #[pyo3(signature = (text, /))]
    fn parse(py: Python<'_>, text: &str) -> PyResult<PyLayout> {
        parse_layout(text).map(PyLayout).map_err(|e| text_error(py, text, &e))
    }

    /// Dimension numbers, first = the one that changes fastest in memory.
    #[getter]
    fn minor_to_major<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.minor_to_major)
    }

    /// Tiles, applied left to right; sizes belong to the most minor dimensions, ``None`` stands for ``*``: this
    /// dimension is combined with the next more minor one.
    #[getter]
    fn tiles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let tile = |t: &Tile| PyTuple::new(py, t.0.iter().map(|&n| (n != COMBINED).then_some(n)));
        PyTuple::new(py, self.0.tiles.iter().map(tile).collect::<PyResult<Vec<_>>>()?)
    }

    /// ``E(n)``: bits that one element takes; 0 = whole bytes.
    #[getter]
    fn element_size_in_bits(&self) -> i64 {
        self.0.element_size_in_bits
    }

    /// ``S(n)``; 0 is the default memory.
    #[getter]
    fn memory_space(&self) -> i64 {
        self.0.memory_space
    }

    /// ``L(n)``: the buffer's size rounds up to a multiple of this number of elements.
    #[getter]
    fn tail_padding_alignment(&self) -> i64 {
        self.0.tail_padding_alignment
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Layout('{}')", self.0)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<PyLayout>().getattr("parse")?, (self.0.to_string(),)))
    }
}

impl PyShape {
    fn array(&self, py: Python<'_>, what: &str) -> PyResult<&ArrayShape> {
        let message = || format!("{what} of {}: expected an array", self.0);
        self.0.as_array().ok_or_else(|| raise(py, "ShapeError", message()))
    }
}

#[pymethods]
impl PyShape {
    #[new]
    #[pyo3(signature = (dtype, dimensions, layout=None))]
    fn new(py: Python<'_>, dtype: &str, dimensions: Vec<i64>, layout: Option<PyLayout>) -> PyResult<PyShape> {
        let Some(element) = ElementType::from_name(dtype) else {
            let nearest = ::layout::nearest(dtype, ElementType::all().map(ElementType::name));
            return Err(shape_error(py, TextErrorKind::UnknownElementType { found: dtype.into(), nearest }));
        };
        if dimensions.contains(&UNBOUNDED) {
            return Err(shape_error(py, ::layout::ShapeError::NegativeSize(UNBOUNDED)));
        }
        ArrayShape::new(element, &dimensions, &[], layout.map(|l| l.0))
            .map(|a| PyShape(Shape::Array(a)))
            .map_err(|e| shape_error(py, e))
    }

    /// The shape that a text says; :class:`~hlomap.ShapeError` when it says none.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.Shape.parse("(f32[2,3]{1,0}, s32[])").tuple_shapes[0].dimensions
    /// (2, 3)
    #[staticmethod]
    #[pyo3(signature = (text, /))]
    fn parse(py: Python<'_>, text: &str) -> PyResult<PyShape> {
        parse_shape(text).map(PyShape).map_err(|e| text_error(py, text, &e))
    }

    /// The tuple of these shapes.
    #[staticmethod]
    #[pyo3(name = "tuple", signature = (shapes, /))]
    fn of_tuple(py: Python<'_>, shapes: Vec<PyShape>) -> PyResult<PyShape> {
        let shape = Shape::Tuple(shapes.into_iter().map(|s| s.0).collect());
        // Built up step by step, a tuple could nest without bound.
        if depth(&shape) > ::layout::MAX_DEPTH {
            return Err(shape_error(py, TextErrorKind::TooDeep));
        }
        Ok(PyShape(shape))
    }

    /// The element type of an array, as HLO text names it; else ``"tuple"``, ``"token"``, ``"opaque"`` or ``"buffer"``.
    #[getter]
    fn dtype(&self) -> &'static str {
        match &self.0 {
            Shape::Array(a) => a.element().name(),
            Shape::Tuple(_) => "tuple",
            Shape::Token => "token",
            Shape::Opaque => "opaque",
            Shape::Buffer(_) => "buffer",
        }
    }

    /// Sizes by dimension number, the bound of a dynamic one, -1 for one without bound; ``()`` for everything but an
    /// array.
    #[getter]
    fn dimensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let dims = self.0.as_array().map_or(&[][..], ArrayShape::dims);
        PyTuple::new(py, dims.iter().map(|&n| if n == UNBOUNDED { -1 } else { n }))
    }

    /// By dimension: whether its size is known only when the program runs.
    #[getter]
    fn dynamic<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let array = self.0.as_array();
        PyTuple::new(py, (0..array.map_or(0, ArrayShape::rank)).map(|d| array.is_some_and(|a| a.is_dynamic(d))))
    }

    /// The number of dimensions.
    #[getter]
    fn rank(&self) -> usize {
        self.0.as_array().map_or(0, ArrayShape::rank)
    }

    /// The layout that is written, or ``None``: then it is row-major.
    #[getter]
    fn layout(&self) -> Option<PyLayout> {
        self.0.as_array()?.layout().cloned().map(PyLayout)
    }

    /// The parts of a tuple; ``()`` for everything else.
    #[getter]
    fn tuple_shapes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let parts = self.0.as_tuple().unwrap_or(&[]).iter().map(|s| Py::new(py, PyShape(s.clone())));
        PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)
    }

    /// The shape that a shape index leads to, the shape itself for ``()``; :class:`~hlomap.ShapeError` where there is
    /// none.  Costs the depth, however wide the tuples are.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Shape.parse("(f32[2,3], (s32[], bf16[5]))").at((1, 1)))
    /// bf16[5]
    #[pyo3(signature = (index, /))]
    fn at(&self, py: Python<'_>, index: Vec<i64>) -> PyResult<PyShape> {
        let mut here = &self.0;
        for (depth, &i) in index.iter().enumerate() {
            let part = usize::try_from(i).ok().and_then(|i| here.as_tuple()?.get(i));
            let message = || format!("shape index {index:?} leaves the shape at position {depth}: no element {i}");
            here = part.ok_or_else(|| shape_error(py, message()))?;
        }
        Ok(PyShape(here.clone()))
    }

    /// Whether this is a tuple.
    #[getter]
    fn is_tuple(&self) -> bool {
        self.0.as_tuple().is_some()
    }

    /// Whether this is an array; a scalar is one.
    #[getter]
    fn is_array(&self) -> bool {
        self.0.as_array().is_some()
    }

    /// The number of elements of an array, dynamic dimensions at their bounds; :class:`~hlomap.ShapeError` for
    /// everything else and for a dimension without bound.
    #[getter]
    fn n_elements(&self, py: Python<'_>) -> PyResult<i64> {
        let unbounded =
            || raise(py, "ShapeError", format!("number of elements of {}: a dimension has no bound", self.0));
        self.array(py, "number of elements")?.n_elements().ok_or_else(unbounded)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Shape('{}')", self.0)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<PyShape>().getattr("parse")?, (self.0.to_string(),)))
    }
}

fn depth(shape: &Shape) -> usize {
    match shape {
        Shape::Tuple(parts) => 1 + parts.iter().map(depth).max().unwrap_or(0),
        Shape::Buffer(inner) => 1 + depth(inner),
        Shape::Array(_) | Shape::Token | Shape::Opaque => 0,
    }
}

/// A bitcast between two untiled layouts as transpose, reshape, transpose:
/// ``(operand_perm, operand_physical_dims, output_physical_dims, output_perm)``.
///
/// Logical dimension ``operand_perm[k]`` of the operand is its k-th most major one and has the size
/// ``operand_physical_dims[k]``; likewise for the output.  The two physical index tuples have the same row-major
/// position.  ``None`` where a layout has tiles or padding or is invalid, where the widths or the numbers of elements
/// differ, and for everything but arrays.
///
/// >>> import hlomap as hm
/// >>> bitcast_factors = hm._core.bitcast_factors
/// >>> bitcast_factors(hm.Shape.parse("f32[2,3]{0,1}"), hm.Shape.parse("f32[6]{0}"))
/// ((1, 0), (3, 2), (6,), (0,))
#[pyfunction]
#[pyo3(signature = (operand, output, /))]
fn bitcast_factors<'py>(
    py: Python<'py>,
    operand: &Bound<'py, PyShape>,
    output: &Bound<'py, PyShape>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let (Some(operand), Some(output)) = (operand.get().0.as_array(), output.get().0.as_array()) else {
        return Ok(None);
    };
    let Some(f) = factors(operand, output) else {
        return Ok(None);
    };
    let parts = [f.operand_perm, f.operand_physical_dims, f.output_physical_dims, f.output_perm];
    let parts = parts.into_iter().map(|list| PyTuple::new(py, list)).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, parts).map(Some)
}

fn linear<T>(
    py: Python<'_>,
    shape: &Bound<'_, PyShape>,
    ask: impl FnOnce(&ArrayShape) -> Result<T, LinearError>,
) -> PyResult<T> {
    ask(shape.get().array(py, "positions")?).map_err(|e| match e {
        LinearError::Algebra(e) => of_symbolic(py, e),
        LinearError::InvalidLayout(_) | LinearError::Unbounded => shape_error(py, e),
    })
}

/// The map from the logical index of an element to its position in the buffer, counted in elements, as the layout
/// says: order, tiles of every level, padding.
///
/// Raises :class:`~hlomap.ShapeError` for everything but an array with a valid layout and bounded dimensions, and
/// :class:`~hlomap.IntegerOverflowError` where the buffer has more than 2**63 - 1 places.
///
/// >>> import hlomap as hm
/// >>> m = hm._core.linear_index(hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"))
/// >>> m.evaluate([2, 3])
/// array([17])
#[pyfunction]
#[pyo3(signature = (shape, /))]
fn linear_index(py: Python<'_>, shape: &Bound<'_, PyShape>) -> PyResult<PyMap> {
    linear(py, shape, ::layout::linear_index).map(PyMap::from)
}

/// The map from a position in the buffer to the logical index of the element there; positions of padding lie outside
/// its domain.  Errors as :func:`linear_index`.
///
/// >>> import hlomap as hm
/// >>> m = hm._core.logical_index(hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"))
/// >>> m.evaluate([17]), m.in_domain([[17], [18], [19]])
/// (array([2, 3]), array([ True, False, False]))
#[pyfunction]
#[pyo3(signature = (shape, /))]
fn logical_index(py: Python<'_>, shape: &Bound<'_, PyShape>) -> PyResult<PyMap> {
    linear(py, shape, ::layout::logical_index).map(PyMap::from)
}

/// The number of places in the buffer of an array, padding included.  Errors as :func:`linear_index`.
///
/// >>> import hlomap as hm
/// >>> hm._core.buffer_elements(hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"))
/// 24
#[pyfunction]
#[pyo3(signature = (shape, /))]
fn buffer_elements(py: Python<'_>, shape: &Bound<'_, PyShape>) -> PyResult<i64> {
    linear(py, shape, ::layout::buffer_elements)
}

/// Adds the classes and functions of this file to the compiled module.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyLayout>()?;
    m.add_class::<PyShape>()?;
    m.add_function(wrap_pyfunction!(bitcast_factors, m)?)?;
    m.add_function(wrap_pyfunction!(linear_index, m)?)?;
    m.add_function(wrap_pyfunction!(logical_index, m)?)?;
    m.add_function(wrap_pyfunction!(buffer_elements, m)?)
}
