//! The columns of the table of a module, as Python values or as Arrow buffers.

use flow::rows::{Cells, Row, Rows};
use flow::Text;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use quasiaffine::interrupt::poll;
use rustc_hash::FxHashMap;

use crate::detach::unlocked;
use crate::error::raise;
use crate::instruction::instruction;
use crate::module::Handle;

/// The rows of the table of a module.  Instructions share equal cells; a column is built when it is asked for.
#[pyclass(name = "Rows", module = "hlomap._core", frozen)]
pub struct PyRows {
    pub module: Handle,
    pub found: Rows,
}

/// The value of a row in a column.
#[derive(Clone, Copy)]
enum Value<'r> {
    Null,
    Text(&'r str),
    Texts(&'r [Text]),
    Bool(bool),
    Int(i64),
    Ints(&'r [u32]),
}

impl<'r, T> From<Option<T>> for Value<'r>
where
    Value<'r>: From<T>,
{
    fn from(value: Option<T>) -> Value<'r> {
        value.map_or(Value::Null, Value::from)
    }
}

impl From<i64> for Value<'_> {
    fn from(n: i64) -> Self {
        Value::Int(n)
    }
}

impl<'r> From<&'r Text> for Value<'r> {
    fn from(text: &'r Text) -> Self {
        Value::Text(text)
    }
}

/// The part of a row that determines a column: rows with the same part share the value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Module,
    Computation,
    Instruction,
    Operand,
    Cells,
}

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Texts,
    Bool,
    Int,
    Ints,
}

/// A column of Python values is built with the interpreter lock; signals are looked for after so many rows.
const ROWS_BETWEEN_SIGNALS: usize = 1 << 12;

/// Stands for the lack of an operand.
const NO_OPERAND: u32 = u32::MAX;

type OfCells = for<'r> fn(&'r Cells) -> Value<'r>;

/// The columns that cells determine.
const CELLS: [(&str, Kind, OfCells); 17] = [
    ("opcode", Kind::Text, |_| Value::Null),
    ("output", Kind::Int, |c| Value::Int(c.output.first().map_or(0, |&i| i64::from(i)))),
    ("output_index", Kind::Ints, |c| Value::Ints(&c.output)),
    ("operand", Kind::Int, |c| c.operand.map(i64::from).into()),
    ("operand_index", Kind::Ints, |c| c.operand_leaf.as_ref().map_or(Value::Null, |(index, _)| Value::Ints(index))),
    ("operand_shape", Kind::Text, |c| c.operand_leaf.as_ref().map(|(_, text)| text).into()),
    ("n_maps", Kind::Int, |c| c.reads.as_ref().map(|r| r.maps.len() as i64).into()),
    ("maps", Kind::Texts, |c| c.reads.as_ref().map_or(Value::Null, |r| Value::Texts(&r.maps))),
    ("exact", Kind::Bool, |c| c.reads.as_ref().map_or(Value::Null, |r| Value::Bool(r.exact))),
    ("divmod", Kind::Int, |c| c.reads.as_ref().map(|r| r.divmod).into()),
    ("touched_lower", Kind::Int, |c| c.reads.as_ref().map(|r| r.touched.0).into()),
    ("touched_upper", Kind::Int, |c| c.reads.as_ref().and_then(|r| r.touched.1).into()),
    ("distinct_lower", Kind::Int, |c| c.reads.as_ref().map(|r| r.distinct.0).into()),
    ("distinct_upper", Kind::Int, |c| c.reads.as_ref().and_then(|r| r.distinct.1).into()),
    ("bytes", Kind::Int, |c| c.reads.as_ref().and_then(|r| r.bytes).into()),
    ("unknown", Kind::Text, |c| c.reads.as_ref().and_then(|r| r.unknown.as_ref()).into()),
    ("error", Kind::Text, |c| c.error.as_ref().into()),
];

struct Column {
    by: By,
    kind: Kind,
    of_cells: OfCells,
    is_opcode: bool,
}

fn column_of(name: &str) -> PyResult<Column> {
    let by = match name {
        "module" => By::Module,
        "computation" => By::Computation,
        "instruction" => By::Instruction,
        "operand_name" => By::Operand,
        _ => By::Cells,
    };
    if by != By::Cells {
        return Ok(Column { by, kind: Kind::Text, of_cells: |_| Value::Null, is_opcode: false });
    }
    let found = CELLS.iter().find(|(known, ..)| *known == name);
    let &(_, kind, of_cells) = found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
    Ok(Column { by, kind, of_cells, is_opcode: name == "opcode" })
}

impl PyRows {
    /// The number of the part of a row that determines a column.
    fn number(&self, column: &Column, row: &Row) -> u32 {
        match column.by {
            By::Module => 0,
            By::Computation => self.module.computation_of(row.instruction),
            By::Instruction => row.instruction,
            By::Operand => row.operand.unwrap_or(NO_OPERAND),
            By::Cells => row.cells,
        }
    }

    fn value(&self, column: &Column, number: u32) -> Value<'_> {
        match column.by {
            By::Module => Value::Text(self.module.name()),
            By::Computation => Value::Text(self.module.computation_name(number)),
            By::Operand if number == NO_OPERAND => Value::Null,
            By::Instruction | By::Operand => Value::Text(self.module.instruction_name(number)),
            By::Cells if column.is_opcode => {
                Value::Text(self.module.opcode_name(self.found.cells[number as usize].opcode_of))
            }
            By::Cells => (column.of_cells)(&self.found.cells[number as usize]),
        }
    }

    fn values<'r>(&'r self, column: &'r Column) -> impl Iterator<Item = Value<'r>> + 'r {
        self.found.rows.iter().map(|row| self.value(column, self.number(column, row)))
    }
}

#[pymethods]
impl PyRows {
    fn __len__(&self) -> usize {
        self.found.rows.len()
    }

    /// The values of a column.  Raises :class:`KeyError` for an unknown name.
    #[pyo3(signature = (name, /))]
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = column_of(name)?;
        let mut known: FxHashMap<u32, Bound<'py, PyAny>> = FxHashMap::default();
        let mut values = Vec::with_capacity(self.found.rows.len());
        for (i, row) in self.found.rows.iter().enumerate() {
            if i % ROWS_BETWEEN_SIGNALS == 0 {
                py.check_signals()?;
            }
            let number = self.number(&column, row);
            let value = match known.get(&number) {
                Some(value) => value.clone(),
                None => {
                    let value = into_python(py, self.value(&column, number))?;
                    known.insert(number, value.clone());
                    value
                }
            };
            values.push(value);
        }
        PyList::new(py, values)
    }

    /// The columns about shardings of a table that has these rows, by name; ``None`` where no row has a sharding.
    #[pyo3(signature = (table, /))]
    fn sharding_columns<'py>(&self, py: Python<'py>, table: Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let is_sharded = |id: u32| self.module.attribute(id, "sharding").is_some();
        let mut found = Vec::new();
        for (i, row) in self.found.rows.iter().enumerate() {
            if i % ROWS_BETWEEN_SIGNALS == 0 {
                py.check_signals()?;
            }
            if is_sharded(row.instruction) || row.operand.is_some_and(is_sharded) {
                let operand = row.operand.map(|id| instruction(py, &self.module, id)).transpose()?;
                found.push((i, instruction(py, &self.module, row.instruction)?, operand));
            }
        }
        if found.is_empty() {
            return Ok(None);
        }
        py.import("hlomap.shardings.columns")?.call_method1("sharding_columns", (table, found)).map(Some)
    }

    /// The Arrow buffers of a column; those of a list precede those of its items.
    ///
    /// Raises :class:`~hlomap.errors.UnsupportedError` where the texts exceed the 32-bit offsets of a column.
    #[pyo3(signature = (name, /))]
    fn buffers<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let column = column_of(name)?;
        let built = unlocked(py, || {
            let mut built = Buffers::default();
            self.values(&column).for_each(|value| {
                poll();
                built.add(column.kind, value);
            });
            built
        })?;
        if let Some(n) = built.too_long() {
            let message =
                format!("the texts of the module take {n} bytes in one column, more than an Arrow column can hold");
            return Err(raise(py, "UnsupportedError", message));
        }
        Ok(built.finish(column.kind).into_iter().map(|b| b.map(|b| PyBytes::new(py, &b))).collect())
    }
}

fn into_python<'py>(py: Python<'py>, value: Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Text(text) => PyString::new(py, text).into_any(),
        Value::Texts(texts) => PyTuple::new(py, texts.iter().map(|text| &**text))?.into_any(),
        Value::Bool(b) => b.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(n) => n.into_pyobject(py)?.into_any(),
        Value::Ints(ints) => PyTuple::new(py, ints)?.into_any(),
    })
}

/// The buffers of a column under construction; the kind decides which of them are used.
#[derive(Default)]
struct Buffers {
    n: usize,
    validity: Vec<u8>,
    has_nulls: bool,
    offsets: Offsets,
    items: Offsets,
    data: Vec<u8>,
}

/// The ends of values; the first value begins at 0.
#[derive(Default)]
struct Offsets {
    ends: Vec<u8>,
    end: u64,
}

impl Offsets {
    fn push(&mut self, length: usize) {
        self.end += length as u64;
        self.ends.extend_from_slice(&(self.end as i32).to_ne_bytes());
    }

    fn finish(self) -> Vec<u8> {
        [&0i32.to_ne_bytes()[..], &self.ends].concat()
    }

    fn is_too_long(&self) -> bool {
        self.end > i32::MAX as u64
    }
}

impl Buffers {
    fn add(&mut self, kind: Kind, value: Value<'_>) {
        let is_null = matches!(value, Value::Null);
        self.has_nulls |= is_null;
        push_bit(&mut self.validity, self.n, !is_null);
        match (kind, value) {
            (Kind::Text, Value::Text(text)) => {
                self.offsets.push(text.len());
                self.bytes(text);
            }
            (Kind::Texts, Value::Texts(texts)) => {
                self.offsets.push(texts.len());
                for text in texts {
                    self.items.push(text.len());
                    self.bytes(text);
                }
            }
            (Kind::Ints, Value::Ints(ints)) => {
                self.offsets.push(ints.len());
                ints.iter().for_each(|&i| self.data.extend_from_slice(&i64::from(i).to_ne_bytes()));
            }
            (Kind::Text | Kind::Texts | Kind::Ints, _) => self.offsets.push(0),
            (Kind::Bool, value) => push_bit(&mut self.data, self.n, matches!(value, Value::Bool(true))),
            (Kind::Int, value) => {
                let n = if let Value::Int(n) = value { n } else { 0 };
                self.data.extend_from_slice(&n.to_ne_bytes());
            }
        }
        self.n += 1;
    }

    /// Bytes beyond the limit are counted, but not stored.
    fn bytes(&mut self, text: &str) {
        if !self.offsets.is_too_long() && !self.items.is_too_long() {
            self.data.extend_from_slice(text.as_bytes());
        }
    }

    fn too_long(&self) -> Option<u64> {
        let end = self.offsets.end.max(self.items.end);
        (end > i32::MAX as u64).then_some(end)
    }

    fn finish(self, kind: Kind) -> Vec<Option<Vec<u8>>> {
        let validity = self.has_nulls.then_some(self.validity);
        let data = Some(self.data);
        match kind {
            Kind::Bool | Kind::Int => vec![validity, data],
            Kind::Text => vec![validity, Some(self.offsets.finish()), data],
            Kind::Ints => vec![validity, Some(self.offsets.finish()), None, data],
            Kind::Texts => vec![validity, Some(self.offsets.finish()), None, Some(self.items.finish()), data],
        }
    }
}

/// The first bit of a byte is the least significant.
fn push_bit(bits: &mut Vec<u8>, n: usize, bit: bool) {
    if n.is_multiple_of(8) {
        bits.push(0);
    }
    if let Some(last) = bits.last_mut() {
        *last |= u8::from(bit) << (n % 8);
    }
}
