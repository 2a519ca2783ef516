//! Python functions for positions in memory: maps, strides, bitcasts, and packing of whole buffers.

use ::layout::{ArrayShape, LinearError, Packing, SplitPart, To, Unit};
use cost::requests::{Access, Counts, Effort, Warps};
use numpy::{Complex64, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use quasiaffine::Map;

use crate::argument::{expect_many, Arg, Kind};
use crate::detach::unlocked;
use crate::error::{wrong_type, InCall, OrRaise};
use crate::expr::ExprLike;
use crate::layout::{linear, linear_error, shape_error, PyShape};
use crate::map::PyMap;
use crate::map_arguments::ConstraintLike;
use crate::map_values::Answer;

fn shape_argument<'a, 'py>(got: &'a Bound<'py, PyAny>, function: &str) -> PyResult<&'a Bound<'py, PyShape>> {
    got.cast::<PyShape>().map_err(|_| wrong_type(function, "a Shape", got, "read text with hm.Shape.parse(text)"))
}

fn unit_of(name: &str) -> PyResult<Unit> {
    match name {
        "element" => Ok(Unit::Element),
        "byte" => Ok(Unit::Byte),
        "bit" => Ok(Unit::Bit),
        _ => Err(PyValueError::new_err(format!(
            "hm.layouts.linear_index: expected element, byte or bit as `unit`, got {name:?}"
        ))),
    }
}

/// The map from the index of an element to its position in the buffer, with the layout's order, tiles and
/// padding.
///
/// ``unit`` is the unit of positions: ``"element"`` (the default); ``"byte"``, the byte of the element's first
/// bit; or ``"bit"``, where bit 0 is the lowest of byte 0.  For a tuple, ``shape_index`` is that of an array
/// in it. ``part`` is the number of a part if split configs cut the array (:attr:`Shape.parts`): positions are
/// then those in the buffer of the part.
///
/// Raises :class:`~hlomap.errors.ShapeError` for everything but an array with a valid layout and bounded
/// dimensions, :class:`~hlomap.errors.SizeError` for a buffer of more than 2**63 - 1 elements,
/// :class:`~hlomap.errors.UnsupportedError` for a sparse layout, and ``TypeError`` for anything but a
/// :class:`Shape`.
///
/// >>> import hlomap as hm
/// >>> m = hm.layouts.linear_index(hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"))
/// >>> m.evaluate([2, 3])
/// array([17])
/// >>> print(hm.layouts.linear_index(hm.Shape.parse("s4[3,5]{1,0:E(4)}"), unit="bit"))
/// (d0, d1) -> (d0 * 20 + d1 * 4), domain: d0 in [0, 2], d1 in [0, 4]
#[pyfunction]
#[pyo3(signature = (shape, /, *, shape_index=None, part=None, unit=None))]
pub fn linear_index(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    shape_index: Option<Arg<'_, Vec<i64>>>,
    part: Option<Arg<'_, usize>>,
    unit: Option<Arg<'_, &str>>,
) -> PyResult<PyMap> {
    named!("layouts.linear_index", shape_index, part, unit);
    let unit = unit.map_or(Ok(Unit::Element), unit_of)?;
    map_of(py, "layouts.linear_index", shape, shape_index, |a| match part {
        None => ::layout::address(a, unit),
        Some(part) => SplitPart::of(a, part)?.address(unit),
    })
}

/// The map from a position in the buffer, counted in elements, to the index of the element there.
///
/// Positions of padding lie outside its domain.  Arguments and errors as in :func:`linear_index`.
///
/// >>> import hlomap as hm
/// >>> m = hm.layouts.logical_index(hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"))
/// >>> m.evaluate([17]), m.in_domain([[17], [18], [19]])
/// (array([2, 3]), array([ True, False, False]))
#[pyfunction]
#[pyo3(signature = (shape, /, *, shape_index=None, part=None))]
pub fn logical_index(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    shape_index: Option<Arg<'_, Vec<i64>>>,
    part: Option<Arg<'_, usize>>,
) -> PyResult<PyMap> {
    named!("layouts.logical_index", shape_index, part);
    map_of(py, "layouts.logical_index", shape, shape_index, |a| match part {
        None => ::layout::logical_index(a),
        Some(part) => SplitPart::of(a, part)?.logical_index(),
    })
}

/// The answer of the core about the array in a shape.
fn map_of(
    py: Python<'_>,
    function: &str,
    shape: &Bound<'_, PyAny>,
    index: Option<Vec<i64>>,
    ask: impl FnOnce(&ArrayShape) -> Result<Map, LinearError>,
) -> PyResult<PyMap> {
    let shape = shape_argument(shape, function)?.get();
    let map = match index {
        None => linear(shape, ask),
        Some(index) => shape.at(py, Arg::from(index)).and_then(|part| linear(&part, ask)),
    };
    map.in_call(py, function).map(PyMap::from)
}

fn related(
    py: Python<'_>,
    function: &str,
    operand: &Bound<'_, PyAny>,
    output: &Bound<'_, PyAny>,
    ask: impl FnOnce(&ArrayShape, &ArrayShape) -> Result<quasiaffine::Answer<Vec<i64>>, LinearError> + Send,
) -> PyResult<Answer> {
    let (operand, output) = (shape_argument(operand, function)?, shape_argument(output, function)?);
    let arrays = || Ok((operand.get().array("positions")?, output.get().array("positions")?));
    let (operand, output) = arrays().in_call(py, function)?;
    unlocked(py, || ask(operand, output))?.map_err(linear_error).map(Answer::from).in_call(py, function)
}

/// Whether a reshape moves no bytes, tiles and padding taken into account.
///
/// It moves none if every element of the output has the position of the operand's element with the same
/// row-major number, in buffers of equal size.  The witness is the index of an output element that has another
/// position.  Raises :class:`~hlomap.errors.ShapeError` for everything but arrays with valid layouts and bounded
/// dimensions, and ``TypeError`` for anything but :class:`Shape`.
///
/// >>> import hlomap as hm
/// >>> a, b = hm.Shape.parse("f32[16,256]{1,0:T(8,128)}"), hm.Shape.parse("f32[2,8,256]{2,1,0:T(8,128)}")
/// >>> hm.layouts.reshape_is_bitcast(a, b)
/// Answer(True)
#[pyfunction]
#[pyo3(signature = (operand, output, /))]
pub fn reshape_is_bitcast(py: Python<'_>, operand: &Bound<'_, PyAny>, output: &Bound<'_, PyAny>) -> PyResult<Answer> {
    related(py, "layouts.reshape_is_bitcast", operand, output, ::layout::reshape_is_bitcast)
}

/// Whether a transpose moves no bytes: dimension i of the output is the operand's dimension ``dimensions[i]``.
///
/// A negative number counts from the end.  Witness and errors as in :func:`reshape_is_bitcast`;
/// :class:`~hlomap.errors.ShapeError` also if ``dimensions`` do not transpose one shape to the other.
///
/// >>> import hlomap as hm
/// >>> a, b = hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"), hm.Shape.parse("f32[5,3]{0,1:T(2,2)}")
/// >>> hm.layouts.transpose_is_bitcast(a, b, [1, 0])
/// Answer(True)
#[pyfunction]
#[pyo3(signature = (operand, output, dimensions, /))]
pub fn transpose_is_bitcast(
    py: Python<'_>,
    operand: &Bound<'_, PyAny>,
    output: &Bound<'_, PyAny>,
    dimensions: &Bound<'_, PyAny>,
) -> PyResult<Answer> {
    let name = "layouts.transpose_is_bitcast";
    let dimensions = expect_many(dimensions, name, "dimension numbers (int) as `dimensions`", |d| d.extract().ok())?;
    related(py, name, operand, output, |a, b| ::layout::transpose_is_bitcast(a, b, &dimensions))
}

/// Whether one buffer serves both shapes: the operand has an element at the position of every output element.
///
/// The buffers must have one size.  Witness and errors as in :func:`reshape_is_bitcast`.
///
/// >>> import hlomap as hm
/// >>> a, b = hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"), hm.Shape.parse("f32[15]")
/// >>> hm.layouts.is_valid_bitcast(a, b)
/// Answer(False, witness=(0,))
#[pyfunction]
#[pyo3(signature = (operand, output, /))]
pub fn is_valid_bitcast(py: Python<'_>, operand: &Bound<'_, PyAny>, output: &Bound<'_, PyAny>) -> PyResult<Answer> {
    related(py, "layouts.is_valid_bitcast", operand, output, ::layout::is_valid_bitcast)
}

/// Runs a statement with `$t` the element type of the arrays.
macro_rules! by_width {
    ($array:expr, $t:ident => $run:expr) => { by_width!($array, $t => $run; 1 u8, 2 u16, 4 u32, 8 u64, 16 Complex64) };
    ($array:expr, $t:ident => $run:expr; $($width:literal $kind:ty),*) => {
        match $array.getattr("itemsize")?.extract::<usize>()? {
            $($width => {
                type $t = $kind;
                $run
            })*
            width => return Err(PyTypeError::new_err(format!("elements of {width} bytes"))),
        }
    };
}

fn must_have(what: &str, expected: usize, found: usize) -> PyResult<()> {
    if expected == found {
        return Ok(());
    }
    Err(shape_error(format!("{what} of {found} elements: expected {expected}")))
}

/// Lays out a flat array of unsigned integers or complex numbers; ``fill`` has one element for the padding.
#[pyfunction]
#[pyo3(signature = (shape, array, buffer, fill, threads, /))]
pub fn pack_into(
    py: Python<'_>,
    shape: &Bound<'_, PyShape>,
    array: &Bound<'_, PyAny>,
    buffer: &Bound<'_, PyAny>,
    fill: &Bound<'_, PyAny>,
    threads: usize,
) -> PyResult<()> {
    let plan = linear(shape.get(), Packing::of)?;
    by_width!(array, T => {
        let array: PyReadonlyArray1<'_, T> = array.extract()?;
        let mut buffer: PyReadwriteArray1<'_, T> = buffer.extract()?;
        let fill: PyReadonlyArray1<'_, T> = fill.extract()?;
        let (array, buffer, fill) = (array.as_slice()?, buffer.as_slice_mut()?, fill.as_slice()?);
        must_have("array", plan.n_elements(), array.len())?;
        must_have("buffer", plan.n_buffer(), buffer.len())?;
        must_have("fill", 1, fill.len())?;
        let fill = fill[0];
        unlocked(py, || plan.pack(array, buffer, fill, threads))?;
    });
    Ok(())
}

/// Reads a flat buffer back into a flat array in row-major order.
#[pyfunction]
#[pyo3(signature = (shape, buffer, array, threads, /))]
pub fn unpack_into(
    py: Python<'_>,
    shape: &Bound<'_, PyShape>,
    buffer: &Bound<'_, PyAny>,
    array: &Bound<'_, PyAny>,
    threads: usize,
) -> PyResult<()> {
    let plan = linear(shape.get(), Packing::of)?;
    by_width!(buffer, T => {
        let buffer: PyReadonlyArray1<'_, T> = buffer.extract()?;
        let mut array: PyReadwriteArray1<'_, T> = array.extract()?;
        let (buffer, array) = (buffer.as_slice()?, array.as_slice_mut()?);
        must_have("buffer", plan.n_buffer(), buffer.len())?;
        must_have("array", plan.n_elements(), array.len())?;
        unlocked(py, || plan.unpack(buffer, array, threads))?;
    });
    Ok(())
}

/// Packs the low ``width`` bits of each element of ``n_bytes`` bytes, one after the other.
#[pyfunction]
#[pyo3(signature = (wide, n_bytes, width, narrow, /))]
pub fn squeeze_bits(
    py: Python<'_>,
    wide: PyReadonlyArray1<'_, u8>,
    n_bytes: usize,
    width: usize,
    mut narrow: PyReadwriteArray1<'_, u8>,
) -> PyResult<()> {
    let (wide, narrow) = (wide.as_slice()?, narrow.as_slice_mut()?);
    let n = wide.len().checked_div(n_bytes).unwrap_or(0);
    must_have("bits", n.saturating_mul(width).div_ceil(8), narrow.len())?;
    unlocked(py, || ::layout::pack_bits(wide, n_bytes, width, narrow))
}

/// Unpacks elements of ``width`` bits, with the value in the low ``value`` bits, to elements of ``n_bytes`` bytes.
#[pyfunction]
#[pyo3(signature = (narrow, width, value, is_signed, n_bytes, wide, /))]
pub fn spread_bits(
    py: Python<'_>,
    narrow: PyReadonlyArray1<'_, u8>,
    width: usize,
    value: usize,
    is_signed: bool,
    n_bytes: usize,
    mut wide: PyReadwriteArray1<'_, u8>,
) -> PyResult<()> {
    let (narrow, wide) = (narrow.as_slice()?, wide.as_slice_mut()?);
    let n = wide.len().checked_div(n_bytes).unwrap_or(0);
    must_have("bits", n.saturating_mul(width).div_ceil(8), narrow.len())?;
    unlocked(py, || ::layout::unpack_bits(narrow, width, value, is_signed, n_bytes, wide))
}

/// Requests, sectors, bytes used, bytes moved, longest run.
type Totals = (i128, i128, i128, i128, i128);

/// A simplified map from threads to the elements that they access, the totals (requests, sectors, bytes used, bytes
/// moved, longest run), and the reason why these are upper bounds or unknown.
///
/// ``threads`` leads from (th_x, th_y, th_z, bl_x, bl_y, bl_z) and ranges to the elements, or to intermediate elements
/// from which ``rest`` leads there; the totals are those of the worst place in a sector at which the array may begin.
/// ``effort`` has the fields of `Effort` in order.  Raises what :meth:`IndexingMap.then` raises.
///
/// >>> import hlomap as hm
/// >>> shape = hm.Shape("f32", [640])
/// >>> hm._core.count_requests(hm.layouts.thread_map(shape), None, shape, 32, 1, 256, 32)[1:]
/// ((20, 80, 2560, 2560, 128), None)
#[pyfunction]
#[pyo3(signature = (threads, rest, shape, warp, vector, base_alignment, sector_bytes, effort=None, /))]
#[allow(clippy::too_many_arguments)]
pub fn count_requests(
    py: Python<'_>,
    threads: &Bound<'_, PyMap>,
    rest: Option<&Bound<'_, PyMap>>,
    shape: &Bound<'_, PyShape>,
    warp: i64,
    vector: i64,
    base_alignment: i64,
    sector_bytes: i64,
    effort: Option<(u64, u64, u64)>,
) -> PyResult<(Option<PyMap>, Option<Totals>, Option<String>)> {
    let effort = effort.map_or_else(Effort::default, |(few, many, most)| Effort {
        few_points: few.into(),
        many_points: many.into(),
        max_points: most.into(),
    });
    let (threads, rest, array) = (threads.get(), rest.map(|m| &m.get().map), shape.get().array("positions")?);
    let warps = Warps { warp, vector, base_alignment, sector_bytes };
    let access = |elements| Access::new(elements, array, warps, &effort);
    let elements = || rest.map_or_else(|| Ok(threads.map.clone()), |rest| threads.map.then(rest));
    let found = unlocked(py, || elements().map(access))?.or_raise()?;
    let totals = |c: Counts| (c.requests, c.sectors, c.bytes_used, c.sectors * i128::from(sector_bytes), c.longest_run);
    Ok((
        found.map.map(|m| if rest.is_none() { threads.with(m) } else { m.into() }),
        found.counts.map(totals),
        found.reason,
    ))
}

/// The simplified maps from a grid of threads and blocks along x to indices; all of them stay within their sizes.
///
/// An index has its expressions, its sizes, and None or an array with the buffer of a row-major array of these sizes:
/// the map then leads to the elements of that array.
///
/// >>> import hlomap as hm
/// >>> th, bl = hm.Expr.dim(0), hm.Expr.dim(3)
/// >>> print(*hm._core.grid_maps(8, (3, 1, 1), [([th + bl * 8], [20], hm.Shape.parse("f32[4,5]"))], (), ()))
/// (th_x, th_y, th_z, bl_x, bl_y, bl_z) -> ((th_x + bl_x * 8) floordiv 5, (th_x + bl_x * 3) mod 5),
///   domain: th_x in [0, 7], th_y in [0, 0], th_z in [0, 0], bl_x in [0, 2], bl_y in [0, 0], bl_z in [0, 0],
///   th_x + bl_x * 8 in [0, 19]
#[pyfunction]
#[pyo3(signature = (threads, blocks, indices, ranges=Vec::new(), constraints=Vec::new(), /))]
#[allow(clippy::type_complexity, reason = "a record in Python")]
pub fn grid_maps(
    threads: i64,
    blocks: (i64, i64, i64),
    indices: Vec<(Vec<ExprLike>, Vec<i64>, Option<Bound<'_, PyShape>>)>,
    ranges: Vec<i64>,
    constraints: Vec<ConstraintLike>,
) -> PyResult<Vec<PyMap>> {
    let to = indices.iter().map(|(at, sizes, array)| {
        let array = array.as_ref().map(|shape| shape.get().array("positions")).transpose()?;
        Ok(To { at: at.iter().map(|e| e.0.clone()).collect(), sizes: sizes.clone(), array })
    });
    let (to, grid) = (to.collect::<PyResult<_>>()?, [threads, 1, 1, blocks.0, blocks.1, blocks.2]);
    let constraints = constraints.into_iter().map(|c| c.0).collect();
    let maps = ::layout::grid_maps(grid, to, &ranges, constraints).map_err(linear_error)?;
    Ok(maps.into_iter().map(PyMap::from).collect())
}

/// Sizes of a grid along x, y and z; missing ones are 1.
pub struct GridSizes([i64; 3]);

impl<'py> Kind<'_, 'py> for GridSizes {
    fn read(object: Borrowed<'_, 'py, PyAny>, left: &mut usize) -> PyResult<GridSizes> {
        let given = match object.is_instance_of::<PyInt>() {
            true => vec![object.extract()?],
            false => Vec::<i64>::read(object, left)?,
        };
        if given.is_empty() || given.len() > 3 || given.iter().any(|&size| size < 1) {
            let message = format!("expected at most 3 grid sizes, each at least 1, found {given:?}");
            return Err(shape_error(message)).in_call(object.py(), "layouts.thread_map");
        }
        let mut sizes = [1; 3];
        sizes[..given.len()].copy_from_slice(&given);
        Ok(GridSizes(sizes))
    }

    fn one() -> String {
        "an int, or up to three along x, y and z,".to_owned()
    }

    fn many() -> String {
        "sizes of a grid".to_owned()
    }

    fn wrong_item(got: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        Vec::<i64>::wrong_item(got)
    }
}

/// The map from a thread of a custom grid to the elements that it processes, in the order of memory.
///
/// ``threads`` (per block, 128 by default) and ``blocks`` are sizes along x, y and z; missing sizes are 1.  Without
/// ``blocks``, the blocks along x cover the array once.  Each thread processes ``per_thread`` neighbouring elements:
/// with n threads of v elements each, thread t has those at the positions ``(c * n + t) * v + j`` in memory, for every
/// chunk c and every j below v.  The chunk is the first range.  Padding and positions beyond the end of the buffer
/// belong to no thread, each element to exactly one.
///
/// Raises :class:`~hlomap.errors.ShapeError` for a shape that is not an array, and for sizes or ``per_thread`` below 1.
/// For the grids that XLA makes see :func:`hlomap.thread_map`.
///
/// >>> import hlomap as hm
/// >>> print(hm.layouts.thread_map(hm.Shape.parse("f32[10,30]"), threads=32, per_thread=2))
/// (th_x, th_y, th_z, bl_x, bl_y, bl_z)[s0] -> ((th_x + bl_x * 32) floordiv 15,
///   ((th_x + bl_x * 2) mod 15) * 2 + s0), domain: th_x in [0, 31], th_y in [0, 0], th_z in [0, 0], bl_x in [0, 4],
///   bl_y in [0, 0], bl_z in [0, 0], s0 in [0, 1], th_x * 2 + bl_x * 64 + s0 in [0, 299]
#[pyfunction]
#[pyo3(signature = (shape, /, *, threads=Arg::from(GridSizes([128, 1, 1])), blocks=Arg::from(None),
    per_thread=Arg::from(1)),
    text_signature = "(shape, /, *, threads=128, blocks=None, per_thread=1)")]
pub fn flat_thread_map(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    threads: Arg<'_, GridSizes>,
    blocks: Arg<'_, Option<GridSizes>>,
    per_thread: Arg<'_, i64>,
) -> PyResult<PyMap> {
    let name = "layouts.thread_map";
    let shape = shape_argument(shape, name)?.get();
    named!(name, threads, blocks, per_thread);
    let Some(array) = shape.0.as_array().filter(|_| per_thread >= 1) else {
        let found = format!("{} and {per_thread}", shape.0);
        let message = format!("expected an array and at least 1 element per thread, found {found}");
        return Err(shape_error(message)).in_call(py, name);
    };
    let found = ::layout::flat_thread_map(array, threads.0, blocks.map(|sizes| sizes.0), per_thread);
    found.map(PyMap::from).map_err(linear_error).in_call(py, name)
}
