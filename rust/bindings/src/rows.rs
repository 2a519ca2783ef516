//! The rows of the table of a module, as Python values or as an Arrow record batch.

use std::collections::HashMap;

use cost::arrow::{message, TooLong};
use cost::columns::{find, Value, View, COLUMNS};
use cost::rows::Rows;
use flow::reads::Reads;
use numpy::PyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyString, PyTuple};

use crate::detach::{poll_locked, unlocked};
use crate::error::UnsupportedError;
use crate::view::{instruction, Handle, PyInstruction};

/// The rows of the table of a module.  Instructions share equal cells; a column is built on demand.
#[pyclass(name = "Rows", module = "hlomap._core", frozen)]
pub struct PyRows {
    pub module: Handle,
    pub found: Rows,
}

/// The number of a row, its instruction and its operand.
type Sharded = (usize, Py<PyInstruction>, Option<Py<PyInstruction>>);

#[pymethods]
impl PyRows {
    fn __len__(&self) -> usize {
        self.found.rows.len()
    }

    /// The values of a column.  Raises :class:`KeyError` for an unknown name.
    #[pyo3(signature = (name, /))]
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = find(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let view = unlocked(py, || View::new(&self.module, &self.found, std::slice::from_ref(column)))?;
        let values = view.values(column);
        let mut known: Vec<Option<Bound<'py, PyAny>>> = vec![None; values.len()];
        let mut found = Vec::with_capacity(view.n_rows());
        for (i, run) in view.runs(column).iter().enumerate() {
            poll_locked(py, i)?;
            let value = match &mut known[run.key as usize] {
                Some(value) => value.clone(),
                free => free.insert(into_python(py, values[run.key as usize])?).clone(),
            };
            found.extend(std::iter::repeat_n(value, run.n as usize));
        }
        PyList::new(py, found)
    }

    /// The rows about values with shardings.
    fn sharded(&self, py: Python<'_>) -> PyResult<Vec<Sharded>> {
        let mut found = Vec::new();
        if !self.module.has_attribute("sharding") {
            return Ok(found);
        }
        let is_propagated = unlocked(py, || self.module.why_not_propagated().is_none())?;
        let is_sharded = |id: u32| is_propagated || self.module.attribute(id, "sharding").is_some();
        for (i, row) in self.found.rows.iter().enumerate() {
            poll_locked(py, i)?;
            if is_sharded(row.instruction) || row.operand.is_some_and(is_sharded) {
                let operand = row.operand.map(|id| instruction(py, &self.module, id)).transpose()?;
                found.push((i, instruction(py, &self.module, row.instruction)?, operand));
            }
        }
        Ok(found)
    }

    /// An upper bound on the bytes of a column, found without reading the rows.
    fn most_bytes(&self) -> u64 {
        View::most_bytes(&self.module, &self.found)
    }

    /// The number of rows with an error, and the number of rows whose maps are unknown, by opcode and reason.
    fn problems(&self) -> (usize, HashMap<(&str, &str), usize>) {
        let (mut n_errors, mut unknown) = (0, HashMap::new());
        for row in &self.found.rows {
            match &self.found.answer(row).reads {
                Err(_) => n_errors += 1,
                Ok(Reads { unknown: Some(reason), .. }) => {
                    *unknown.entry((self.module.opcode_name(row.instruction), &**reason)).or_insert(0) += 1;
                }
                Ok(_) => {}
            }
        }
        (n_errors, unknown)
    }
}

/// All rows of some tables as one message of Arrow's IPC format, a record batch, in an array of bytes.
///
/// Raises :class:`~hlomap.errors.UnsupportedError` if the texts exceed the 32-bit offsets of a column.
#[pyfunction]
#[pyo3(signature = (tables, /))]
pub fn _rows_message<'py>(py: Python<'py>, tables: Vec<Bound<'py, PyRows>>) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let tables: Vec<&PyRows> = tables.iter().map(Bound::get).collect();
    let found = unlocked(py, || {
        let views: Vec<View<'_>> = tables.iter().map(|rows| View::new(&rows.module, &rows.found, COLUMNS)).collect();
        message(&views)
    })?;
    let found = found.map_err(|TooLong(n)| {
        let message =
            format!("the texts of the module take {n} bytes in one column, more than an Arrow column can hold");
        UnsupportedError::new_err(message)
    })?;
    Ok(PyArray1::from_vec(py, found))
}

fn into_python<'py>(py: Python<'py>, value: Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Text(text) => PyString::new(py, text).into_any(),
        Value::Texts(texts) => PyTuple::new(py, texts.iter().map(|text| &**text))?.into_any(),
        Value::Bool(b) => b.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(n) => n.into_pyobject(py)?.into_any(),
        Value::Ints(ints) => PyTuple::new(py, ints)?.into_any(),
        Value::Float(x) => PyFloat::new(py, x).into_any(),
    })
}

/// The name, the kind and the description of every column of a table, in order.
#[pyfunction]
pub fn _row_columns() -> Vec<(&'static str, &'static str, &'static str)> {
    COLUMNS.iter().map(|c| (c.name, c.kind.name(), c.description)).collect()
}
