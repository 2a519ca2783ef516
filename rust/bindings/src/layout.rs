//! Python classes for shapes and layouts.

use ::layout::{
    parse_layout, parse_shape, ArrayShape, Diagnostic, ElementType, Layout, LinearError, Shape, Span, SplitConfig,
    Tile, COMBINED, UNBOUNDED,
};
use flow::{shapes, ShapeIndex};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::argument::{Arg, Named};
use crate::class::{index_tuple, tuple_of, Object};
use crate::error::{of_quasiaffine, InCall, ShapeError, UnsupportedError};
use crate::repr;

/// The order of an array's elements in memory: ``{1,0:T(8,128)}``.
///
/// Dimensions are numbered as in the shape and listed minor to major: the first changes fastest in memory.  A
/// negative dimension number counts from the end.  Equality is structural; a layout pickles through its text.
/// The constructor raises :class:`~hlomap.errors.ShapeError` for values that no array can have; :meth:`parse`
/// accepts them, and :attr:`problem` describes the first of them.  The text form is XLA's
/// (https://openxla.org/xla/tiled_layout).
///
/// >>> import hlomap as hm
/// >>> layout = hm.Layout.parse("{1,0:T(8,128)(2,1)S(5)}")
/// >>> layout.minor_to_major, layout.tiles, layout.memory_space
/// ((1, 0), ((8, 128), (2, 1)), 5)
/// >>> print(hm.Layout([1, 0], tiles=[(8, 128)]))
/// {1,0:T(8,128)}
#[pyclass(name = "Layout", module = "hlomap._core", frozen, eq, hash, from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyLayout(pub Layout);

/// The shape of a value: an array of an element type, a tuple of shapes, a token, an opaque value or a buffer.
///
/// ``Shape(dtype, dimensions, layout)`` is an array.  Sizes may be 0; a dynamic dimension counts with its bound.
/// Equality is structural and includes the layout; a shape pickles through its text.
///
/// Raises :class:`~hlomap.errors.ShapeError` for an unknown element type, a negative size, a layout of another
/// rank, and more than 2**63 - 1 elements.
///
/// >>> import hlomap as hm
/// >>> shape = hm.Shape("bf16", [3, 5], hm.Layout.parse("{0,1}"))
/// >>> print(shape, shape.rank, shape.n_elements)
/// bf16[3,5]{0,1} 2 15
#[pyclass(name = "Shape", module = "hlomap._core", frozen, eq, hash, from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyShape(pub Shape);

/// The pickled form of a value: a function, the text, and the fields that the text lacks.
type Pickled<'py, T> = (Bound<'py, PyAny>, (String, T));

fn element_type(name: &str) -> PyResult<ElementType> {
    ElementType::from_name(name).ok_or_else(|| {
        let nearest = ::layout::nearest(name, ElementType::all().map(ElementType::name));
        shape_error(Diagnostic::unknown_word(Span::default(), "element type", name, nearest))
    })
}

pub fn shape_error(error: impl ToString) -> PyErr {
    ShapeError::new_err(error.to_string())
}

/// The answer of the core about an array, or its exception.
pub fn linear<T>(shape: &PyShape, ask: impl FnOnce(&ArrayShape) -> Result<T, LinearError>) -> PyResult<T> {
    ask(shape.array("positions")?).map_err(linear_error)
}

/// An error of positions in memory as an exception.
pub fn linear_error(error: LinearError) -> PyErr {
    match error {
        LinearError::Algebra(e) => of_quasiaffine(e),
        LinearError::Sparse => UnsupportedError::new_err(error.to_string()),
        LinearError::Invalid(reason) => shape_error(reason),
    }
}

fn text_error(text: &str, error: &Diagnostic) -> PyErr {
    let column = text[..error.span.start as usize].chars().count() + 1;
    ShapeError::new_err(format!("{error} at column {column} of `{text:.200}`"))
}

getters! { PyLayout, self, py;
    /// Dimension numbers; the first is the dimension that changes fastest in memory.
    minor_to_major: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, &self.0.minor_to_major);
    /// ``T(…)``: the tiles, each applied to the result of the one before.
    ///
    /// Sizes are in elements and belong to the most minor dimensions.  ``None`` stands for ``*``: the dimension is
    /// combined with the next more minor one.
    tiles: PyResult<Bound<'py, PyTuple>> = {
        let tile = |t: &Tile| PyTuple::new(py, t.0.iter().map(|&n| (n != COMBINED).then_some(n)));
        tuple_of(py, self.0.tiles.iter().map(tile))
    };
    /// ``E(n)``: the number of bits of an element in memory; 0 stands for whole bytes.
    element_size_in_bits: i64 = self.0.element_size_in_bits;
    /// ``S(n)``: the memory space; 0 is the default memory.
    memory_space: i64 = self.0.memory_space;
    /// ``L(n)``: the size of the buffer is rounded up to a multiple of this number of elements.
    tail_padding_alignment: i64 = self.0.tail_padding_alignment;
    /// ``SC(d:i,j)``: pairs of a physical dimension (0 is the most major) and the indices at which a new part
    /// starts.
    split_configs: PyResult<Bound<'py, PyTuple>> = {
        let pair = |c: &SplitConfig| Ok((c.dimension, PyTuple::new(py, &c.indices)?));
        tuple_of(py, self.0.split_configs.iter().map(pair))
    };
    /// The size that each dimension is padded to before the array is laid out, or ``()``.  It has no text form.
    padded_dimensions: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, &self.0.padded_dimensions);
    /// ``D(…)`` as text, or ``None``.
    dim_level_types: Option<&str> = self.0.dim_level_types.as_deref();
    /// The type in ``#(u32)``, or ``None``.
    index_type: Option<&'static str> = self.0.index_type.map(ElementType::name);
    /// The type in ``*(u32)``, or ``None``.
    pointer_type: Option<&'static str> = self.0.pointer_type.map(ElementType::name);
    /// The shape in ``P(shape)``, or ``None``.
    physical_shape: Option<PyShape> = self.0.physical_shape.as_deref().cloned().map(PyShape);
    /// ``M(n)``: the number of bytes of metadata that a dynamic shape puts before the data.
    dynamic_shape_metadata_prefix_bytes: i64 = self.0.dynamic_shape_metadata_prefix_bytes;
    /// The reason why the layout is invalid for its rank, with the field and its value; ``None`` for a valid layout.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.Layout.parse("{1,0:T(0,2)}").problem
    /// 'tiles: expected positive sizes, found 0 in (0,2)'
    problem: Option<String> = self.0.problem(self.0.minor_to_major.len());
}

#[pymethods]
impl PyLayout {
    #[new]
    #[pyo3(signature = (minor_to_major, **fields),
        text_signature = "(minor_to_major, *, tiles=..., tail_padding_alignment=1, element_size_in_bits=0, \
            memory_space=0, split_configs=..., padded_dimensions=..., dim_level_types=None, index_type=None, \
            pointer_type=None, physical_shape=None, dynamic_shape_metadata_prefix_bytes=0)")]
    fn new(
        py: Python<'_>,
        minor_to_major: Arg<'_, Vec<i64>>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyLayout> {
        named!("Layout", minor_to_major);
        with_fields(py, Layout::new(minor_to_major), fields)
    }

    /// The layout with some fields replaced, named as in the constructor; errors as there.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Layout([1, 0]).replace(tiles=[(8, 128)], memory_space=5))
    /// {1,0:T(8,128)S(5)}
    #[pyo3(signature = (**changes))]
    fn replace(&self, py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<PyLayout> {
        with_fields(py, self.0.clone(), changes)
    }

    /// Reads a layout with its braces.  Raises :class:`~hlomap.errors.ShapeError` for text that is not a layout.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.Layout.parse("{0,1}").minor_to_major
    /// (0, 1)
    #[staticmethod]
    #[pyo3(signature = (text, /))]
    fn parse(py: Python<'_>, text: Arg<'_, &str>) -> PyResult<PyLayout> {
        named!("Layout.parse", text);
        parse_layout(text).map(PyLayout).map_err(|e| text_error(text, &e)).in_call(py, "Layout.parse")
    }

    /// The argument of `draw`.
    #[staticmethod]
    #[pyo3(signature = (dimensions, /))]
    fn _sizes(dimensions: Arg<'_, Vec<i64>>) -> PyResult<Vec<i64>> {
        named!("Layout.draw", dimensions);
        Ok(dimensions)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        match self.0.padded_dimensions[..] {
            [] => format!("Layout('{}')", repr::line(&self.0)),
            ref padded => {
                let padded = repr::name(&format_args!("{padded:?}"));
                format!("Layout('{}', padded_dimensions={padded})", repr::line(&self.0))
            }
        }
    }

    #[staticmethod]
    #[pyo3(signature = (text, padded, /))]
    fn _restored(py: Python<'_>, text: &str, padded: Vec<i64>) -> PyResult<PyLayout> {
        let layout = PyLayout::parse(py, Arg::from(text))?;
        Ok(PyLayout(Layout { padded_dimensions: padded, ..layout.0 }))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py, Vec<i64>>> {
        Ok((py.get_type::<PyLayout>().getattr("_restored")?, (self.0.to_string(), self.0.padded_dimensions.clone())))
    }
}

/// A layout with some fields replaced by arguments of their names.
fn with_fields(py: Python<'_>, mut layout: Layout, fields: Option<&Bound<'_, PyDict>>) -> PyResult<PyLayout> {
    for (name, given) in fields.into_iter().flatten() {
        let name: &str = name.extract()?;
        macro_rules! given {
            ($kind:ty) => {
                given.extract::<Arg<'_, $kind>>()?.of("Layout", name)?
            };
        }
        match name {
            "minor_to_major" => layout.minor_to_major = given!(Vec<i64>),
            "tiles" => {
                let tile = |t: Vec<Option<i64>>| Tile(t.into_iter().map(|n| n.unwrap_or(COMBINED)).collect());
                layout.tiles = given!(Vec<Vec<Option<i64>>>).into_iter().map(tile).collect();
            }
            "tail_padding_alignment" => layout.tail_padding_alignment = given!(i64),
            "element_size_in_bits" => layout.element_size_in_bits = given!(i64),
            "memory_space" => layout.memory_space = given!(i64),
            "split_configs" => {
                let config = |(dimension, indices)| SplitConfig { dimension, indices };
                layout.split_configs = given!(Vec<(i64, Vec<i64>)>).into_iter().map(config).collect();
            }
            "padded_dimensions" => layout.padded_dimensions = given!(Vec<i64>),
            "dim_level_types" => layout.dim_level_types = given!(Option<String>).map(String::into_boxed_str),
            "index_type" => {
                layout.index_type = given!(Option<&str>).map(element_type).transpose().in_call(py, "Layout")?
            }
            "pointer_type" => {
                layout.pointer_type = given!(Option<&str>).map(element_type).transpose().in_call(py, "Layout")?
            }
            "physical_shape" => layout.physical_shape = given!(Option<PyShape>).map(|s| Box::new(s.0)),
            "dynamic_shape_metadata_prefix_bytes" => layout.dynamic_shape_metadata_prefix_bytes = given!(i64),
            other => return Err(PyTypeError::new_err(format!("hm.Layout: expected a field of a layout, got {other}"))),
        }
    }
    let rank = layout.minor_to_major.len();
    let numbers = layout.split_configs.iter_mut().map(|config| &mut config.dimension);
    for d in numbers.chain(&mut layout.minor_to_major).filter(|d| **d < 0) {
        *d = d.saturating_add(rank as i64);
    }
    match layout.problem(rank) {
        Some(problem) => Err(shape_error(format!("invalid layout: {problem}"))).in_call(py, "Layout"),
        None => Ok(PyLayout(layout)),
    }
}

impl PyShape {
    pub fn array(&self, what: &str) -> PyResult<&ArrayShape> {
        let message = || format!("{what} of {}: expected an array", self.0);
        shapes::array_of(&self.0).ok_or_else(|| ShapeError::new_err(message()))
    }
}

getters! { PyShape, self, py;
    /// The element type of an array as HLO text names it; else ``"tuple"``, ``"token"``, ``"opaque"`` or
    /// ``"buffer"``.
    dtype: &'static str = match &self.0 {
        Shape::Array(a) => a.element().name(),
        Shape::Tuple(_) => "tuple",
        Shape::Token => "token",
        Shape::Opaque => "opaque",
        Shape::Buffer(_) => "buffer",
    };
    /// The NumPy dtype of an element, from ``ml_dtypes`` if NumPy has none: there a type narrower than a byte takes
    /// one byte per element.
    ///
    /// Raises :class:`~hlomap.errors.ShapeError` for everything but an array or a buffer, and
    /// :class:`~hlomap.errors.UnsupportedError` for an element type without a dtype.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.Shape.parse("f32[2,3]").numpy_dtype, hm.Shape.parse("s4[8]{0:E(4)}").numpy_dtype
    /// (dtype('float32'), dtype(int4))
    numpy_dtype: Object<'py> = {
        let name = self.array("element type")?.element().name();
        py.import("hlomap.base.dtypes")?.call_method1("numpy_dtype", (name,))
    };
    /// Sizes by dimension number, of a buffer those of its array; ``()`` for everything else.
    ///
    /// A dynamic dimension has its bound, or -1 without one.
    dimensions: PyResult<Bound<'py, PyTuple>> = {
        let dims = shapes::array_of(&self.0).map_or(&[][..], ArrayShape::dims);
        PyTuple::new(py, dims.iter().map(|&n| if n == UNBOUNDED { -1 } else { n }))
    };
    /// For each dimension whether its size is known only when the program runs.
    dynamic: PyResult<Bound<'py, PyTuple>> = {
        let array = shapes::array_of(&self.0);
        PyTuple::new(py, (0..array.map_or(0, ArrayShape::rank)).map(|d| array.is_some_and(|a| a.is_dynamic(d))))
    };
    /// The number of dimensions.
    rank: usize = shapes::array_of(&self.0).map_or(0, ArrayShape::rank);
    /// The layout as written; ``None`` for a shape without a layout, which is row-major.
    layout: Option<PyLayout> = shapes::array_of(&self.0)?.layout().cloned().map(PyLayout);
    /// The shapes of the elements of a tuple; ``()`` for everything else.
    tuple_shapes: PyResult<Bound<'py, PyTuple>> =
        PyTuple::new(py, self.0.as_tuple().unwrap_or(&[]).iter().cloned().map(PyShape));
    /// Whether this is a tuple.
    is_tuple: bool = self.0.as_tuple().is_some();
    /// Whether this is an array; a scalar is one.
    is_array: bool = self.0.as_array().is_some();
    /// The number of elements of an array or a buffer, dynamic dimensions at their bounds.
    ///
    /// Raises :class:`~hlomap.errors.ShapeError` for everything else, and for a dimension without bound.
    n_elements: PyResult<i64> = {
        let unbounded =
            || ShapeError::new_err(format!("number of elements of {}: a dimension has no bound", self.0));
        self.array("number of elements")?.n_elements().ok_or_else(unbounded)
    };
    /// The number of bits of an element in memory: whole bytes, or ``n`` of ``E(n)``.
    ///
    /// >>> import hlomap as hm
    /// >>> [hm.Shape.parse(text).element_bits for text in ("s4[8]", "s4[8]{0:E(4)}", "c64[8]")]
    /// [8, 4, 64]
    element_bits: PyResult<i64> = Ok(self.array("element size")?.element_width());
    /// The number of bits that carry the value of an element: 1 for ``pred``, 4 for ``s4``.
    value_bits: PyResult<u32> = Ok(self.array("element size")?.element().value_bits());
    /// The size of the buffer in elements, padding included.
    ///
    /// Raises :class:`~hlomap.errors.ShapeError` for everything but an array with a valid layout and bounded
    /// dimensions, and :class:`~hlomap.errors.SizeError` for more than 2**63 - 1.
    ///
    /// >>> import hlomap as hm
    /// >>> shape = hm.Shape.parse("f32[3,5]{1,0:T(2,2)}")
    /// >>> shape.n_elements, shape.buffer_elements, shape.buffer_bytes, shape.padding_percent
    /// (15, 24, 96, 60.0)
    buffer_elements: PyResult<i64> = linear(self, ::layout::buffer_elements);
    /// The size of the buffer in bytes, padding included, the metadata of ``M(n)`` not; of a tuple the sum of its arrays.
    ///
    /// The table of pointers that represents a tuple in memory does not count, nor do tokens and opaque values, which
    /// have 0 bytes.  Raises :class:`~hlomap.errors.ShapeError` for an array with an invalid layout or an unbounded
    /// dimension, and :class:`~hlomap.errors.SizeError` for more than 2**63 - 1.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.Shape.parse("(f32[3,5]{1,0:T(2,2)}, (bf16[8], token[]))").buffer_bytes
    /// 112
    buffer_bytes: PyResult<i64> = ::layout::total_bytes(&self.0).map_err(linear_error);
    /// The size of the padding, in per cent of the elements; infinite for a buffer of padding alone.
    padding_percent: PyResult<f64> = linear(self, ::layout::padding_percent);
    /// The array in memory order before tiling: dimensions major to minor, with the tiles kept.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Shape.parse("f32[3,5,7]{0,2,1:T(8,128)}").physical)
    /// f32[5,7,3]{2,1,0:T(8,128)}
    physical: PyResult<PyShape> = linear(self, ::layout::physical).map(|a| PyShape(Shape::Array(a)));
    /// The buffer as a row-major array: the number of tiles along each dimension, then the sizes of a tile.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Shape.parse("bf16[16,300]{1,0:T(8,128)(2,1)}").tiled)
    /// bf16[2,3,4,128,2,1]
    tiled: PyResult<PyShape> = linear(self, ::layout::tiled).map(|a| PyShape(Shape::Array(a)));
    /// The parts into which the split configs cut the array: the first index and the shape of each.
    ///
    /// They are in row-major order, with the first config as the most major.  An array without split configs is its
    /// only part.
    ///
    /// >>> import hlomap as hm
    /// >>> for start, part in hm.Shape.parse("f32[5,6]{1,0:SC(0:2)}").parts:
    /// ...     print(start, part)
    /// (0, 0) f32[2,6]{1,0}
    /// (2, 0) f32[3,6]{1,0}
    parts: PyResult<Bound<'py, PyTuple>> = {
        let parts = linear(self, ::layout::SplitPart::all)?.into_iter();
        tuple_of(py, parts.map(|p| Ok((PyTuple::new(py, p.start)?, PyShape(Shape::Array(p.shape))))))
    };
}

#[pymethods]
impl PyShape {
    #[new]
    #[pyo3(signature = (dtype, dimensions, layout=None))]
    fn new(
        py: Python<'_>,
        dtype: Arg<'_, &str>,
        dimensions: Arg<'_, Vec<i64>>,
        layout: Option<Arg<'_, PyLayout>>,
    ) -> PyResult<PyShape> {
        named!("Shape", dtype, dimensions, layout);
        let element = element_type(dtype).in_call(py, "Shape")?;
        if dimensions.contains(&UNBOUNDED) {
            return Err(shape_error(::layout::negative_size(UNBOUNDED))).in_call(py, "Shape");
        }
        ArrayShape::new(element, &dimensions, &[], layout.map(|l| l.0))
            .map(|a| PyShape(Shape::Array(a)))
            .map_err(shape_error)
            .in_call(py, "Shape")
    }

    /// Reads a shape as HLO text has it.  Raises :class:`~hlomap.errors.ShapeError` for text that is not a shape.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.Shape.parse("(f32[2,3]{1,0}, s32[])").tuple_shapes[0].dimensions
    /// (2, 3)
    #[staticmethod]
    #[pyo3(signature = (text, /))]
    fn parse(py: Python<'_>, text: Arg<'_, &str>) -> PyResult<PyShape> {
        named!("Shape.parse", text);
        parse_shape(text).map(PyShape).map_err(|e| text_error(text, &e)).in_call(py, "Shape.parse")
    }

    /// The tuple of these shapes.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Shape.tuple([hm.Shape("f32", [2]), hm.Shape("s32", [])]))
    /// (f32[2], s32[])
    #[staticmethod]
    #[pyo3(name = "tuple", signature = (shapes, /))]
    fn of_tuple(py: Python<'_>, shapes: Arg<'_, Vec<Py<PyShape>>>) -> PyResult<PyShape> {
        named!("Shape.tuple", shapes);
        // Shapes are copied, so that repeated doubling would exhaust the memory.
        let left = shapes.iter().try_fold(MAX_PARTS, |left, shape| left.checked_sub(shape.get().0.n_parts()));
        if left.is_none() {
            let message = format!("a tuple has at most {MAX_PARTS} shapes in all, nested ones included");
            return Err(shape_error(message)).in_call(py, "Shape.tuple");
        }
        let shape = Shape::Tuple(shapes.iter().map(|s| s.get().0.clone()).collect());
        // Built step by step, a tuple could nest without bound.
        if shape.depth() > ::layout::MAX_DEPTH {
            return Err(shape_error(::layout::too_deep(Span::default()))).in_call(py, "Shape.tuple");
        }
        Ok(PyShape(shape))
    }

    /// The shape at a shape index; the shape itself for ``()``.
    ///
    /// Raises :class:`~hlomap.errors.ShapeError` for an index that does not exist.  The cost depends on
    /// the depth of the index alone.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Shape.parse("(f32[2,3], (s32[], bf16[5]))").at((1, 1)))
    /// bf16[5]
    #[pyo3(signature = (index, /))]
    pub fn at(&self, py: Python<'_>, index: Arg<'_, Vec<i64>>) -> PyResult<PyShape> {
        named!("Shape.at", index);
        let mut here = &self.0;
        for (depth, &i) in index.iter().enumerate() {
            let part = usize::try_from(i).ok().and_then(|i| here.as_tuple()?.get(i));
            let message = || format!("shape index {index:?} leaves the shape at position {depth}: no element {i}");
            here = part.ok_or_else(|| shape_error(message())).in_call(py, "Shape.at")?;
        }
        Ok(PyShape(here.clone()))
    }

    /// The shape index and the shape of each leaf, in order: everything in the shape that is not a tuple.
    ///
    /// The leaves are the shape itself with the index ``()``, or each array, token, opaque value and buffer of a tuple,
    /// nested ones included.  An empty tuple has none.
    ///
    /// >>> import hlomap as hm
    /// >>> for shape_index, leaf in hm.Shape.parse("(f32[2,3], (s32[], token[]))").leaves():
    /// ...     print(shape_index, leaf)
    /// (0,) f32[2,3]
    /// (1, 0) s32[]
    /// (1, 1) token[]
    fn leaves<'py>(slf: &Bound<'py, PyShape>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, whole) = (slf.py(), &slf.get().0);
        let record = |(index, part): (ShapeIndex, &Shape)| {
            let part = if std::ptr::eq(part, whole) { slf.clone() } else { Bound::new(py, PyShape(part.clone()))? };
            Ok((index_tuple(py, &index)?, part))
        };
        tuple_of(py, shapes::leaves(whole).into_iter().map(record))
    }

    /// The size of a dimension; a negative number counts from the end.  -1 for a dimension without bound.
    ///
    /// Raises :class:`~hlomap.errors.ShapeError` for a dimension that does not exist.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.Shape.parse("f32[3,5]").size(-1)
    /// 5
    #[pyo3(signature = (dimension, /))]
    fn size(&self, py: Python<'_>, dimension: Arg<'_, i64>) -> PyResult<i64> {
        named!("Shape.size", dimension);
        let array = self.array("size").in_call(py, "Shape.size")?;
        let rank = array.rank();
        let d = if dimension < 0 { dimension.saturating_add(rank as i64) } else { dimension };
        let message = || shape_error(format!("dimension {dimension} of {array}: it has {rank}"));
        let &n =
            usize::try_from(d).ok().and_then(|d| array.dims().get(d)).ok_or_else(message).in_call(py, "Shape.size")?;
        Ok(if n == UNBOUNDED { -1 } else { n })
    }

    /// The array with another layout, or without one.
    ///
    /// Raises :class:`~hlomap.errors.ShapeError` for a layout that does not fit, and for everything but an array.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Shape("f32", [2, 3]).with_layout(hm.Layout([0, 1])))
    /// f32[2,3]{0,1}
    #[pyo3(signature = (layout, /))]
    fn with_layout(&self, py: Python<'_>, layout: Option<Arg<'_, PyLayout>>) -> PyResult<PyShape> {
        named!("Shape.with_layout", layout);
        let array = self.array("layout").in_call(py, "Shape.with_layout")?.with_layout(layout.map(|l| l.0));
        array.map(|a| PyShape(Shape::Array(a))).map_err(shape_error).in_call(py, "Shape.with_layout")
    }

    /// The shape without layouts, also in the elements of tuples.
    fn without_layout(&self) -> PyShape {
        PyShape(self.0.without_layout().into_owned())
    }

    /// Whether two shapes are equal, up to layouts.
    ///
    /// ``layout="written"`` compares layouts as ``==`` does, ``"meant"`` reads a shape without a layout as row-major,
    /// and ``"ignored"`` leaves out layouts, and with them whether a dimension is dynamic.
    ///
    /// >>> import hlomap as hm
    /// >>> a, b = hm.Shape.parse("f32[2,3]"), hm.Shape.parse("f32[2,3]{1,0}")
    /// >>> a == b, a.equals(b, layout="meant"), a.equals(hm.Shape.parse("f32[2,3]{0,1}"), layout="ignored")
    /// (False, True, True)
    #[pyo3(signature = (other, /, *, layout=Arg::from("written")),
        text_signature = "($self, other, /, *, layout='written')")]
    fn equals(&self, other: Arg<'_, PyShape>, layout: Arg<'_, &str>) -> PyResult<bool> {
        named!("Shape.equals", other, layout);
        match layout {
            "written" => Ok(*self == other),
            "meant" => Ok(::layout::with_layout(&self.0) == ::layout::with_layout(&other.0)),
            "ignored" => Ok(self.0.same_dims(&other.0)),
            _ => {
                let expected = "expected written, meant or ignored as `layout`";
                Err(PyValueError::new_err(format!("hm.Shape.equals: {expected}, got {layout:?}")))
            }
        }
    }

    /// The array whose :attr:`physical` this is, with its dimensions in this order, minor to major.
    ///
    /// >>> import hlomap as hm
    /// >>> print(hm.Shape.parse("f32[5,7,3]{2,1,0:T(8,128)}").logical([0, 2, 1]))
    /// f32[3,5,7]{0,2,1:T(8,128)}
    #[pyo3(signature = (minor_to_major, /))]
    fn logical(&self, py: Python<'_>, minor_to_major: Arg<'_, Vec<i64>>) -> PyResult<PyShape> {
        named!("Shape.logical", minor_to_major);
        let array = linear(self, |a| ::layout::logical(a, &minor_to_major)).in_call(py, "Shape.logical")?;
        Ok(PyShape(Shape::Array(array)))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Shape('{}')", repr::line(&self.0))
    }

    /// A pickled shape: text has no form for ``padded``, the padded dimensions of every array in order.
    #[staticmethod]
    #[pyo3(signature = (text, padded, /))]
    fn _restored(py: Python<'_>, text: &str, padded: Vec<Vec<i64>>) -> PyResult<PyShape> {
        let shape = PyShape::parse(py, Arg::from(text))?.0;
        Ok(PyShape(::layout::with_padded_dimensions(shape, &mut padded.into_iter())))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py, Vec<Vec<i64>>>> {
        let padded = ::layout::padded_dimensions(&self.0);
        Ok((py.get_type::<PyShape>().getattr("_restored")?, (self.0.to_string(), padded)))
    }
}

/// The limit on shapes in a tuple, nested ones included.
const MAX_PARTS: usize = 1 << 20;

kinds! {
    PyShape: "a Shape", "Shape";
    Py<PyShape>: "a Shape", "Shape";
    PyLayout: "a Layout", "Layout";
}
