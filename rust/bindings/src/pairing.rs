//! The Python classes that number the values of modules and match their instructions.

use std::sync::{Mutex, PoisonError};

use hlo::{match_modules, Facts, InstructionId, Meanings, Module, Move, Number, Numbered, Numbers, Pair};
use pyo3::intern;
use pyo3::prelude::*;

use crate::detach::{locked, unlocked};
use crate::view::{instruction, Handle, PyInstruction, PyModule_};

/// The meaning of an operation, and whether it is a container, runs calls and is structural; the element that it takes.
type FactsRow = (u32, bool, bool, bool, Option<i64>);
/// The number of a map, and whether it is the identity or long.
type MoveRow = (u32, bool, bool);
/// An instruction, the fusion around it, the number of its value, and whether it is a fusion or a call.
type ValueRow = (InstructionId, Option<InstructionId>, Number, bool);
/// The instructions before and after, and why they match.
type PairRow = (InstructionId, InstructionId, &'static str);
/// The pairs; the duplicates; what is removed and what is added; the positions of the pairs whose operations may differ,
/// and of those with attributes to compare.
type PairsRow = (Vec<PairRow>, Vec<PairRow>, Vec<InstructionId>, Vec<InstructionId>, Vec<usize>, Vec<usize>);

/// The meanings of a Python object, which is asked about instructions of some modules.
struct PythonMeanings<'a> {
    meanings: &'a Py<PyAny>,
    modules: [&'a Handle; 2],
}

impl PythonMeanings<'_> {
    fn instruction(&self, py: Python<'_>, m: &Module, id: InstructionId) -> PyResult<Py<PyInstruction>> {
        let [first, second] = self.modules;
        instruction(py, if std::ptr::eq(m, &**first) { first } else { second }, id)
    }
}

impl Meanings for PythonMeanings<'_> {
    type Error = PyErr;

    fn facts(&mut self, m: &Module, id: InstructionId) -> PyResult<Facts> {
        locked(|py| {
            let arguments = (self.instruction(py, m, id)?,);
            let found = self.meanings.bind(py).call_method1(intern!(py, "facts"), arguments)?;
            let (meaning, is_container, runs_calls, is_structural, element): FactsRow = found.extract()?;
            Ok(Facts { meaning, is_container, runs_calls, is_structural, element })
        })
    }

    fn moved(&mut self, m: &Module, id: InstructionId, before: Option<u32>) -> PyResult<Option<Move>> {
        locked(|py| {
            let arguments = (self.instruction(py, m, id)?, before);
            let found = self.meanings.bind(py).call_method1(intern!(py, "moved"), arguments)?;
            let found: Option<MoveRow> = found.extract()?;
            Ok(found.map(|(map, is_identity, is_long)| Move { map, is_identity, is_long }))
        })
    }

    fn literal(&mut self, m: &Module, id: InstructionId) -> PyResult<Option<u32>> {
        locked(|py| {
            let arguments = (self.instruction(py, m, id)?,);
            self.meanings.bind(py).call_method1(intern!(py, "literal"), arguments)?.extract()
        })
    }
}

/// Numbers the values of modules by the meanings of operations, which are methods of an object: ``facts`` and ``literal``
/// of an instruction, and where its elements come from, ``moved``.
#[pyclass(name = "_Numbers", module = "hlomap._core", frozen)]
pub struct PyNumbers {
    numbers: Mutex<Numbers>,
    meanings: Py<PyAny>,
}

/// The values of a module: the instructions of its entry and of the fusions, loops and branches below it.
#[pyclass(name = "_Numbered", module = "hlomap._core", frozen)]
pub struct PyNumbered {
    module: Handle,
    numbered: Numbered,
}

impl PyNumbers {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Numbers) -> PyResult<T> + Send) -> PyResult<T> {
        unlocked(py, || work(&mut self.numbers.lock().unwrap_or_else(PoisonError::into_inner)))?
    }
}

#[pymethods]
impl PyNumbers {
    #[new]
    #[pyo3(signature = (meanings, /))]
    fn new(meanings: Py<PyAny>) -> PyNumbers {
        PyNumbers { numbers: Mutex::default(), meanings }
    }

    /// The values of a module.
    #[pyo3(signature = (module, /))]
    fn values(&self, module: &Bound<'_, PyModule_>) -> PyResult<PyNumbered> {
        let handle = Handle::from(module);
        let mut meanings = PythonMeanings { meanings: &self.meanings, modules: [&handle, &handle] };
        let numbered = self.with(module.py(), |numbers| numbers.number(&handle, &mut meanings))?;
        Ok(PyNumbered { module: handle, numbered })
    }

    /// An array of a value with this number: equal for equal arrays; None if nothing identifies it.
    #[pyo3(signature = (number, index, /))]
    fn array(&self, number: Number, index: Vec<usize>) -> Option<(Number, Vec<usize>)> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).array(number, &index)
    }

    /// The instructions of two modules by number: the pairs, each with the reason, and those that compute a matched
    /// value again; the others before and after; the positions of the pairs whose operations may differ, and of those
    /// with an attribute in ``attributes``.
    #[pyo3(name = "match_", signature = (before, after, attributes, /))]
    fn matched(
        &self,
        py: Python<'_>,
        before: &PyNumbered,
        after: &PyNumbered,
        attributes: Vec<String>,
    ) -> PyResult<PairsRow> {
        let (old, new) = (&before.module, &after.module);
        let mut meanings = PythonMeanings { meanings: &self.meanings, modules: [old, new] };
        let names: Vec<&str> = attributes.iter().map(String::as_str).collect();
        self.with(py, |numbers| {
            let found = match_modules(numbers, &mut meanings, (old, &before.numbered), (new, &after.numbered))?;
            let row = |pair: &Pair| (pair.before, pair.after, pair.how.name());
            let differing = found.pairs.iter().enumerate().filter(|(_, pair)| !pair.has_same_operation);
            let pairs = found.pairs.iter().map(row).collect();
            let duplicates = found.duplicates.iter().map(row).collect();
            let differing = differing.map(|(at, _)| at).collect();
            let annotated = found.with_attributes(old, new, &names);
            Ok((pairs, duplicates, found.removed, found.added, differing, annotated))
        })
    }
}

#[pymethods]
impl PyNumbered {
    /// The number of the value of an instruction; None if it does not run.
    #[pyo3(signature = (instruction, /))]
    fn number_of(&self, instruction: &PyInstruction) -> Option<Number> {
        let is_own = instruction.module.is(&self.module);
        self.numbered.value(instruction.id).filter(|_| is_own).map(|value| value.number)
    }

    /// For each value in the order in which they run: its instruction and the fusion around that, by number, the number
    /// of the value, and whether it is that of the computation that the instruction calls.
    fn rows(&self) -> Vec<ValueRow> {
        self.numbered.values.iter().map(|v| (v.id, v.fusion, v.number, v.is_container)).collect()
    }

    fn __len__(&self) -> usize {
        self.numbered.values.len()
    }
}
