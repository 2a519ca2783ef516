//! Tiles of maps: boxes, columns and expressions.

use std::sync::{Arc, OnceLock};

use cost::tile_table::{Columns, DeviceCounts, Limits, Reason, Request, TilePlan, TiledArray, Wanted};
use flow::parameters::{numbers_of, over, without_names};
use numpy::ndarray::Array;
use numpy::{IntoPyArray, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quasiaffine::tile::{Clause, SymbolicTile, TileBox, TiledMap};
use quasiaffine::{Domain, Expr, Interval, Kind, Map, Var, Variable};

use crate::class::tuple_of;
use crate::detach::unlocked;
use crate::error::{OrRaise, ShapeError};
use crate::expr::PyExpr;
use crate::layout::PyShape;
use crate::map::PyMap;

/// Reads and writes of an output's tiles: ``sizes`` are those of the parameters, the first ``n_parallel`` of which are
/// the dimensions of array number ``tiled``; ``nests`` are those of loops inside each other.  An array is a map from some of the parameters, or None if unknown,
/// its shape, whether the map is exact, and the number of its value: reads with equal numbers read one array.  Those
/// from ``n_reads`` on are written.  If forms do not give the answer, up to ``few_points`` points are enumerated.
#[pyclass(name = "TilePlan", module = "hlomap._core", frozen)]
pub struct PyTilePlan {
    plan: TilePlan,
    n_reads: usize,
    names: OnceLock<Arc<Domain>>,
}

type ArrayArgument<'py> = (Option<PyRef<'py, PyMap>>, PyRef<'py, PyShape>, bool, usize);

/// Offset, size, stride, lower and upper bound of one dimension.
type Run = (i64, i64, i64, i64, i64);

fn run_of(b: TileBox) -> Run {
    (b.offset, b.size, b.stride, b.lower, b.upper)
}

#[pymethods]
impl PyTilePlan {
    #[new]
    #[pyo3(signature = (sizes, n_parallel, nests, arrays, n_reads, tiled, /, few_points=TiledMap::FEW_POINTS))]
    #[allow(clippy::too_many_arguments, reason = "a record in Python")]
    fn new(
        py: Python<'_>,
        sizes: Vec<i64>,
        n_parallel: usize,
        nests: Vec<Vec<u32>>,
        arrays: Vec<ArrayArgument<'_>>,
        n_reads: usize,
        tiled: usize,
        few_points: i64,
    ) -> PyResult<PyTilePlan> {
        if n_parallel > sizes.len() || nests.iter().flatten().any(|&k| k as usize >= sizes.len()) {
            return Err(ShapeError::new_err("a number is beyond the parameters"));
        }
        let mut given = Vec::new();
        let values: Vec<usize> = arrays.iter().map(|(.., value)| *value).collect();
        for (k, (map, shape, exact, _)) in arrays.iter().enumerate() {
            let Some(array) = shape.0.as_array() else {
                return Err(ShapeError::new_err(format!("expected the shape of an array, found {}", shape.0)));
            };
            let map: Option<Map> = map.as_ref().map(|m| m.map.clone());
            let fits = map.as_ref().is_none_or(|m| {
                let are_known = numbers_of(m).is_ok_and(|numbers| numbers.iter().all(|&k| (k as usize) < sizes.len()));
                are_known && (m.results().is_empty() || m.results().len() == array.rank())
            });
            if !fits {
                return Err(ShapeError::new_err("a map does not fit the parameters or the array"));
            }
            given.push((map, array.clone(), *exact, k >= n_reads));
        }
        let n_reads = n_reads.min(given.len());
        let nests = nests.into_iter().map(Into::into).collect();
        let plan = unlocked(py, || {
            let arrays = given.iter().map(|(map, shape, exact, is_write)| {
                TiledArray::new(map.as_ref(), shape, *exact, *is_write, &sizes, n_parallel, few_points)
            });
            let arrays = arrays.collect::<quasiaffine::Result<_>>()?;
            quasiaffine::Result::Ok(TilePlan::new(sizes, n_parallel, nests, arrays, tiled, values))
        })?
        .or_raise()?;
        Ok(PyTilePlan { plan, n_reads, names: OnceLock::new() })
    }

    /// The named columns of the rows of ``candidates``, or all; those of reads have one value for each read.
    ///
    /// ``limits`` and ``device`` have the fields of `Limits` and `DeviceCounts` in order.
    #[pyo3(signature = (candidates, limits, device, stages, columns, threads, /))]
    #[allow(clippy::too_many_arguments, reason = "a record in Python")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        candidates: PyReadonlyArray2<'py, i64>,
        limits: (i64, bool, i64, i64, i64, Vec<i64>, i64, bool),
        device: (i64, i64, i64, i64, i64),
        stages: i64,
        columns: Option<Vec<String>>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        if candidates.shape()[1] != self.plan.n_params() {
            let expected = format!("expected {} sizes for each candidate", self.plan.n_params());
            return Err(ShapeError::new_err(format!("{expected}, found {}", candidates.shape()[1])));
        }
        let (max_tile_elements, power_of_two, max_grid, max_shared_bytes, max_live_bytes, multiple_of, over, all) =
            limits;
        let (n_multiprocessors, shared_bytes, register_bytes, max_blocks, sector_bytes) = device;
        let request = Request {
            limits: Limits {
                max_tile_elements,
                power_of_two,
                max_grid,
                max_shared_bytes,
                max_live_bytes,
                multiple_of,
                max_overshoot_percent: over,
                buffers_all: all,
            },
            device: DeviceCounts { n_multiprocessors, shared_bytes, register_bytes, max_blocks, sector_bytes },
            stages,
            wanted: Wanted::of(columns.as_deref()),
        };
        let rows = candidates.as_slice()?;
        let n = candidates.shape()[0];
        let columns = unlocked(py, || self.plan.evaluate(rows, n, &request, threads))?;
        columns_of(py, columns, &request.wanted, [n, self.n_reads])
    }

    /// The box that one tile reads of array ``number``: offset, size, stride, lower and upper bound of every dimension,
    /// or None if it reads nothing or the reads are unknown.
    #[pyo3(signature = (number, candidate, tile, runtime, /))]
    fn tile(
        &self,
        py: Python<'_>,
        number: usize,
        candidate: Vec<i64>,
        tile: Vec<i64>,
        runtime: Vec<i64>,
    ) -> PyResult<Option<Vec<Run>>> {
        let n = self.plan.n_params();
        let Some(array) = self.plan.arrays().get(number).filter(|_| candidate.len() == n && tile.len() == n) else {
            return Err(ShapeError::new_err(format!("expected {n} sizes and {n} numbers of a tile")));
        };
        let found = unlocked(py, || array.tile(&candidate, &tile, &runtime))?;
        Ok(found.map(|runs| runs.into_iter().map(run_of).collect()))
    }

    /// The first tile of array ``number`` with the most elements, as its numbers and its box as in :meth:`tile`; None
    /// if unknown.
    #[pyo3(signature = (number, candidate, runtime, /))]
    fn largest_tile(
        &self,
        py: Python<'_>,
        number: usize,
        candidate: Vec<i64>,
        runtime: Vec<i64>,
    ) -> PyResult<Option<(Vec<i64>, Vec<Run>)>> {
        let n = self.plan.n_params();
        let Some(array) = self.plan.arrays().get(number).filter(|_| candidate.len() == n) else {
            return Err(ShapeError::new_err(format!("expected {n} sizes")));
        };
        let found = unlocked(py, || array.largest_tile(&candidate, &runtime))?;
        Ok(found.map(|(tile, runs)| (tile, runs.into_iter().map(run_of).collect())))
    }

    /// The tile of array ``number`` as expressions over the numbers of a tile and its sizes, which are called ``tid_tK``
    /// and ``ts_tK`` for parameter K: for every result offset, size, stride, lower and upper bound, whether it is reversed
    /// and whether it is exact; and the clauses: a reason and alternatives, each an expression with the least and greatest
    /// value it may have.
    #[pyo3(signature = (number, /))]
    fn symbolic<'py>(&self, py: Python<'py>, number: usize) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
        let (runs, clauses) = (PyList::empty(py), PyList::empty(py));
        let array = self.plan.arrays().get(number);
        let Some((array, (map, numbers))) = array.and_then(|array| Some((array, array.map()?))) else {
            return Ok((runs, clauses));
        };
        let sizes = self.plan.sizes();
        let own: Vec<i64> = numbers.iter().map(|&k| sizes[k as usize]).collect();
        let tile = unlocked(py, || SymbolicTile::of(map, &own, array.dims()))?;
        let names = self.names(map);
        let n = numbers.len() as u32;
        let everywhere = |v: Var| {
            Ok(match v.kind {
                Kind::Dim if v.index < n => Expr::dim(numbers[v.index as usize]),
                Kind::Dim => Expr::dim(sizes.len() as u32 + numbers[(v.index - n) as usize]),
                _ => Expr::Var(v),
            })
        };
        let e = |e: Expr| -> PyResult<PyExpr> { Ok(PyExpr::named(e.substitute(&everywhere).or_raise()?, &names)) };
        for run in tile.runs {
            let exprs = (e(run.offset)?, e(run.size)?, e(run.stride)?, e(run.lower)?, e(run.upper)?);
            runs.append((exprs, run.reversed, run.exact))?;
        }
        for Clause { any, reason } in tile.clauses {
            let any = any.into_iter().map(|(expr, Interval { lo, hi })| Ok((e(expr)?, lo, hi)));
            clauses.append((Reason::from(reason).name(), tuple_of(py, any)?))?;
        }
        Ok((runs, clauses))
    }
}

impl PyTilePlan {
    /// A domain with the names of tile numbers, tile sizes and runtime values.
    fn names(&self, map: &Map) -> Arc<Domain> {
        let of_all = self.names.get_or_init(|| {
            let n = self.plan.n_params();
            let name = |prefix: &'static str| {
                (0..n).map(move |k| Variable {
                    name: Some(format!("{prefix}_t{k}").into()),
                    ..Variable::new(Interval::new(0, i64::MAX))
                })
            };
            let vars = name("tid").chain(name("ts")).collect();
            Arc::new(Domain { vars, n_dims: 2 * n, n_ranges: 0, constraints: Vec::new() })
        });
        // Without a name a variable prints as its number, in any domain.
        if map.domain().runtime().iter().all(|v| v.name.is_none()) {
            return of_all.clone();
        }
        let mut with_runtime = Domain::clone(of_all);
        with_runtime.vars.extend(map.domain().runtime().iter().cloned());
        Arc::new(with_runtime)
    }
}

/// The wanted columns; those of reads have the given shape.
fn columns_of<'py>(
    py: Python<'py>,
    columns: Columns,
    wanted: &Wanted,
    of_reads: [usize; 2],
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    macro_rules! add {
        ($shape:expr; $($name:ident)*) => { $(if wanted.$name {
            let column = Array::from_shape_vec($shape, columns.$name);
            let column = column.map_err(|error| ShapeError::new_err(error.to_string()))?;
            all.set_item(intern!(py, stringify!($name)), column.into_pyarray(py))?;
        })* };
    }
    add!([of_reads[0]]; legal reason grid steps);
    add!(of_reads; tile_bytes tile_bytes_exact waste waste_exact read_bytes read_bytes_exact distinct_bytes distinct_bytes_exact);
    add!(of_reads; reread run_bytes run_bytes_exact sectors sectors_exact efficiency);
    add!([of_reads[0]]; write_bytes live_bytes smem_bytes dram_bytes_lower dram_bytes_upper waves tail occupancy);
    Ok(all)
}

/// The names of the reasons why a candidate is not legal.  The number of a reason is its place, plus 1, plus the number
/// of reasons for each array before the one it is about; the reasons of a whole candidate come first.
#[pyfunction]
pub fn _tile_reasons() -> Vec<&'static str> {
    Reason::ALL.iter().map(|reason| reason.name()).collect()
}

/// The map over all parameters, with these ``sizes``, instead of only those that it uses.
#[pyfunction]
#[pyo3(signature = (map, sizes, /))]
pub fn _over_all_parameters(py: Python<'_>, map: &PyMap, sizes: Vec<i64>) -> PyResult<PyMap> {
    let numbers: Vec<u32> = (0..sizes.len() as u32).collect();
    let variable = |k: u32| Variable::new(Interval::new(0, sizes[k as usize].saturating_sub(1)));
    let found = unlocked(py, || over(&map.map, &numbers, &variable))?.or_raise()?;
    Ok(map.with(without_names(&found)))
}
