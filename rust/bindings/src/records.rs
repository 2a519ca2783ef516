//! Records for Python of the results of a propagation.

use cancel::{discard, poll};
use cost::operations::{Known, Operations};
use flow::propagate::Entry;
use flow::{Direction, InstructionIndexing, OperandIndexing, Propagation, Propagator, ShapeIndex, Subject};
use hlo::InstructionId;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use quasiaffine::Map;
use rustc_hash::FxHashMap;

use crate::class::index_tuple;
use crate::map::PyMap;
use crate::view::{instruction, Handle, PyInstruction};

/// The maps to one value, or to one operand, parameter or output, by its number.
///
/// Each map has its shape index, its first use and the suppliers of its runtime values.
#[pyclass(name = "_Record", module = "hlomap._core", frozen, get_all)]
pub struct Record {
    number: u32,
    /// The reason if the indexing is unknown; there are then no maps.
    unknown: Option<String>,
    exact: bool,
    /// The reason if the maps are over-approximate.
    reason: Option<String>,
    crosses_devices: bool,
    /// Whether any of the maps has a runtime variable.
    has_runtime: bool,
    maps: Py<PyList>,
    /// The uses of each map; None if each map has one use.
    uses: Option<Py<PyList>>,
}

/// A record, and the positions in the question of the arrays that need its elements.
#[pyclass(name = "_Needed", module = "hlomap._core", frozen, get_all)]
pub struct NeededRecord {
    pub starts: Vec<u32>,
    pub record: Py<Record>,
}

/// Numbers of operations; without ``exact`` they are upper bounds.
#[pyclass(name = "_Operations", module = "hlomap._core", frozen, get_all)]
pub struct OperationsRecord {
    flops: u128,
    transcendentals: u128,
    exact: bool,
}

/// An instruction inside a fusion that has operations: those on the elements that are needed, or the reason why they are
/// unknown, and the number of operations that are evaluated, if that is known.
#[pyclass(name = "_Evaluated", module = "hlomap._core", frozen, get_all)]
pub struct Evaluated {
    number: InstructionId,
    needed: Py<PyAny>,
    evaluated: Option<u128>,
}

impl Evaluated {
    pub fn new(
        py: Python<'_>,
        number: InstructionId,
        needed: Known<Operations>,
        evaluated: Option<u128>,
    ) -> PyResult<Py<Evaluated>> {
        let needed = in_python(needed).into_pyobject(py)?.unbind();
        Py::new(py, Evaluated { number, needed, evaluated })
    }
}

/// What a fused computation evaluates: the values inside that have to be computed, values with the shapes of what is
/// written, and the instructions inside that have operations.
#[pyclass(name = "_Fused", module = "hlomap._core", frozen, get_all)]
pub struct FusedRecord {
    pub starts: Vec<InstructionId>,
    pub written: Vec<InstructionId>,
    pub evaluated: Vec<Py<Evaluated>>,
}

/// The sizes of the tiling parameters; for each parameter after the array's dimensions the number of the instruction
/// whose rule has the range, and the position of the range there; the parameters of loops inside each other; a map or None for each array of the output; and a
/// record for each end.
#[pyclass(name = "_Tiles", module = "hlomap._core", frozen, get_all)]
pub struct TilesRecord {
    pub sizes: Vec<i64>,
    pub sequential: Vec<(InstructionId, u32)>,
    pub nests: Vec<Vec<u32>>,
    pub outputs: Vec<Option<Py<PyMap>>>,
    pub records: Vec<Py<Record>>,
}

#[derive(IntoPyObject)]
pub enum OperationsOrReason {
    Operations(OperationsRecord),
    Reason(String),
}

pub fn in_python(found: Known<Operations>) -> OperationsOrReason {
    match found {
        Ok(Operations { flops, transcendentals, exact }) => {
            OperationsOrReason::Operations(OperationsRecord { flops, transcendentals, exact })
        }
        Err(reason) => OperationsOrReason::Reason(reason.to_string()),
    }
}

/// The maps to one value.
pub struct Reached {
    id: InstructionId,
    part: OperandIndexing,
    entries: Vec<(ShapeIndex, Entry)>,
}

impl Reached {
    pub fn new(propagation: &Propagation<'_>, id: InstructionId) -> Reached {
        poll();
        let (part, entries) = match (propagation.unknown(id), propagation.state(id)) {
            (Some(reason), _) => (OperandIndexing::Unknown(reason.clone()), Vec::new()),
            (None, Some(state)) => {
                (state.part(), state.entries().map(|(index, e)| (index.clone(), e.clone())).collect())
            }
            (None, None) => (OperandIndexing::Known(flow::Footprint::default()), Vec::new()),
        };
        Reached { id, part, entries }
    }
}

/// Builds records.
pub struct Records<'a, 'py> {
    py: Python<'py>,
    module: &'a Handle,
    propagator: &'a Propagator,
    instructions: FxHashMap<InstructionId, Py<PyInstruction>>,
    no_suppliers: Py<PyDict>,
}

impl<'a, 'py> Records<'a, 'py> {
    pub fn new(py: Python<'py>, module: &'a Handle, propagator: &'a Propagator) -> Records<'a, 'py> {
        let no_suppliers = PyDict::new(py).unbind();
        Records { py, module, propagator, instructions: FxHashMap::default(), no_suppliers }
    }

    pub fn of_indexing(
        &mut self,
        indexing: &InstructionIndexing,
        subject: Subject,
        direction: Direction,
    ) -> PyResult<Vec<Bound<'py, Record>>> {
        let mut records = Vec::new();
        for (number, part) in &indexing.parts {
            let operand = if let Direction::Forward(k) = direction { k } else { *number };
            let usage = match subject {
                Subject::Instruction(id) => self.uses(&[(id, operand)])?.pop(),
                Subject::Computation(_) => None,
            };
            records.push(self.of_part(*number, part, usage)?);
        }
        Ok(records)
    }

    pub fn of_part(
        &mut self,
        number: u32,
        part: &OperandIndexing,
        usage: Option<Bound<'py, PyTuple>>,
    ) -> PyResult<Bound<'py, Record>> {
        let usage = usage.map_or_else(|| self.py.None(), |usage| usage.into_any().unbind());
        let mut maps = Vec::new();
        for (index, m) in part.footprint().into_iter().flat_map(|f| &f.maps) {
            maps.push(self.placed(m, index, usage.clone_ref(self.py))?);
        }
        self.record(number, part, maps, None)
    }

    pub fn of_values(&mut self, values: Vec<Reached>) -> PyResult<Vec<Bound<'py, Record>>> {
        let mut records = Vec::new();
        let mut values = values.into_iter();
        while let Some(mut value) = values.next() {
            if let Err(raised) = self.py.check_signals() {
                discard(values);
                return Err(raised);
            }
            let (mut maps, mut uses) = (Vec::new(), Vec::new());
            for (index, e) in &mut value.entries {
                e.uses.sort_unstable();
                let found = self.uses(&e.uses)?;
                let first = found.first().map_or_else(|| self.py.None(), |usage| usage.clone().into_any().unbind());
                maps.push(self.placed(&e.map, index, first)?);
                uses.push(found);
            }
            // A single use is that of the map itself.
            let uses = uses.iter().any(|found| found.len() > 1).then_some(uses);
            records.push(self.record(value.id, &value.part, maps, uses)?);
        }
        Ok(records)
    }

    fn record(
        &self,
        number: u32,
        part: &OperandIndexing,
        maps: Vec<PyMap>,
        uses: Option<Vec<Vec<Bound<'py, PyTuple>>>>,
    ) -> PyResult<Bound<'py, Record>> {
        let has_runtime = maps.iter().any(|m| m.map.domain().n_runtime() > 0);
        let maps = PyList::new(self.py, maps)?.unbind();
        let uses = uses.map(|uses| PyList::new(self.py, uses)).transpose()?.map(Bound::unbind);
        let (unknown, known) = match part {
            OperandIndexing::Unknown(reason) => (Some(reason.to_string()), None),
            OperandIndexing::Known(footprint) => (None, Some(footprint)),
        };
        let record = Record {
            number,
            unknown,
            exact: known.is_some_and(|f| f.exact),
            reason: known.and_then(|f| f.reason.as_deref()).map(str::to_owned),
            crosses_devices: known.is_some_and(|f| f.crosses_devices),
            has_runtime,
            maps,
            uses,
        };
        Bound::new(self.py, record)
    }

    fn placed(&mut self, m: &Map, index: &ShapeIndex, usage: Py<PyAny>) -> PyResult<PyMap> {
        let mut suppliers = None;
        for source in m.domain().runtime().iter().filter_map(|v| v.source.as_ref()) {
            if let Some(id) = self.propagator.sources().supplier(self.module, source.id) {
                let supplier = self.instruction(id)?;
                suppliers.get_or_insert_with(|| PyDict::new(self.py)).set_item(source.id, supplier)?;
            }
        }
        let suppliers = suppliers.map_or_else(|| self.no_suppliers.clone_ref(self.py), Bound::unbind);
        Ok(PyMap::placed(m.clone(), index_tuple(self.py, index)?.unbind(), usage, suppliers))
    }

    fn uses(&mut self, uses: &[(InstructionId, u32)]) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        uses.iter().map(|&(user, operand)| (self.instruction(user)?, operand).into_pyobject(self.py)).collect()
    }

    fn instruction(&mut self, id: InstructionId) -> PyResult<Py<PyInstruction>> {
        if let Some(known) = self.instructions.get(&id) {
            return Ok(known.clone_ref(self.py));
        }
        let found = instruction(self.py, self.module, id)?;
        self.instructions.insert(id, found.clone_ref(self.py));
        Ok(found)
    }
}
