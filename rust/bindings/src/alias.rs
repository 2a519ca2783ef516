//! Python classes for shared buffers, the accuracy of results and the layout of an entry.

use hlo::{Accuracy, Alias, Donor, EntryLayout};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::argument::Arg;
use crate::layout::PyShape;

type Index<'py> = Arg<'py, Vec<i64>>;

/// A part of a module's output that shares the buffer of a part of a parameter.
///
/// >>> import hlomap as hm
/// >>> text = "HloModule m, input_output_alias={ {}: (0, {}, must-alias) }\nENTRY e { ROOT p = f32[2] parameter(0) }"
/// >>> hm.parse(text).attributes["input_output_alias"]
/// (InputOutputAlias(output_index=(), parameter_number=0, parameter_index=(), kind='must-alias'),)
#[pyclass(name = "InputOutputAlias", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyInputOutputAlias(pub Alias);

getters! { PyInputOutputAlias, self, py;
    /// The shape index of the part of the output; ``()`` is all of it.
    output_index: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, &self.0.output_index);
    /// The number of the parameter.
    parameter_number: i64 = self.0.number;
    /// The shape index of the part of the parameter; ``()`` is all of it.
    parameter_index: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, &self.0.index);
    /// ``"may-alias"`` or ``"must-alias"``.
    kind: &'static str = if self.0.must { "must-alias" } else { "may-alias" };
}

record! {
    #[pyo3(signature = (output_index, parameter_number, parameter_index, kind=Arg::from("may-alias")),
        text_signature = "(output_index, parameter_number, parameter_index, kind='may-alias')")]
    PyInputOutputAlias = "hlo.InputOutputAlias"(
        output_index: Index<'_>, parameter_number: Arg<'_, i64>, parameter_index: Index<'_>, kind: Arg<'_, &str>
    ) {
        let must = match kind {
            "must-alias" => true,
            "may-alias" => false,
            other => {
                let message = format!("expected 'may-alias' or 'must-alias', found {other:?}");
                return Err(pyo3::exceptions::PyValueError::new_err(message));
            }
        };
        Ok(PyInputOutputAlias(Alias { output_index, number: parameter_number, index: parameter_index, must }))
    }
}

/// A part of a parameter whose buffer an output may use.
///
/// >>> import hlomap as hm
/// >>> text = "HloModule m, buffer_donor={ (0, {1}) }\nENTRY e { ROOT p = (s32[], f32[2]) parameter(0) }"
/// >>> hm.parse(text).attributes["buffer_donor"]
/// (BufferDonor(parameter_number=0, parameter_index=(1,)),)
#[pyclass(name = "BufferDonor", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyBufferDonor(pub Donor);

getters! { PyBufferDonor, self, py;
    /// The number of the parameter.
    parameter_number: i64 = self.0.number;
    /// The shape index of the part of the parameter; ``()`` is all of it.
    parameter_index: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, &self.0.index);
}

record! {
    PyBufferDonor = "hlo.BufferDonor"(parameter_number: Arg<'_, i64>, parameter_index: Index<'_>) {
        Ok(PyBufferDonor(Donor { number: parameter_number, index: parameter_index }))
    }
}

/// A part of an instruction's output that shares the buffer of a part of an operand.
///
/// >>> import hlomap as hm
/// >>> text = "c = f32[2] custom-call(f32[2] p), custom_call_target=\"t\", output_to_operand_aliasing={{}: (0, {})}"
/// >>> hm.parse(text)["c"].attributes["output_to_operand_aliasing"]
/// (OperandAlias(output_index=(), operand=0, operand_index=()),)
#[pyclass(name = "OperandAlias", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyOperandAlias(pub Alias);

getters! { PyOperandAlias, self, py;
    /// The shape index of the part of the output; ``()`` is all of it.
    output_index: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, &self.0.output_index);
    /// The number of the operand.
    operand: i64 = self.0.number;
    /// The shape index of the part of the operand; ``()`` is all of it.
    operand_index: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, &self.0.index);
}

record! {
    PyOperandAlias = "hlo.OperandAlias"(output_index: Index<'_>, operand: Arg<'_, i64>, operand_index: Index<'_>) {
        Ok(PyOperandAlias(Alias { output_index, number: operand, index: operand_index, must: false }))
    }
}

/// The accuracy that a result must have: a mode, or tolerances.
///
/// >>> import hlomap as hm
/// >>> text = "e = f32[2] exponential(f32[2] p), result_accuracy={tolerance={rtol=0.5,ulps=2}}"
/// >>> hm.parse(text)["e"].attributes["result_accuracy"]
/// ResultAccuracy(mode='tolerance', atol=0.0, rtol=0.5, ulps=2)
#[pyclass(name = "ResultAccuracy", module = "hlomap._core", frozen, eq)]
#[derive(PartialEq)]
pub struct PyResultAccuracy(pub Accuracy);

impl PyResultAccuracy {
    fn fields(&self) -> (&'static str, f64, f64, i64) {
        match self.0 {
            Accuracy::Default => ("default", 0.0, 0.0, 0),
            Accuracy::Highest => ("highest", 0.0, 0.0, 0),
            Accuracy::Tolerance { atol, rtol, ulps } => ("tolerance", atol, rtol, ulps),
        }
    }
}

getters! { PyResultAccuracy, self, py;
    /// ``"default"``, ``"highest"`` or ``"tolerance"``.
    mode: &'static str = self.fields().0;
    /// The absolute tolerance.
    atol: f64 = self.fields().1;
    /// The relative tolerance.
    rtol: f64 = self.fields().2;
    /// The tolerance in units in the last place.
    ulps: i64 = self.fields().3;
}

record! {
    #[pyo3(signature = (mode, atol=Arg::from(0.0), rtol=Arg::from(0.0), ulps=Arg::from(0)),
        text_signature = "(mode, atol=0.0, rtol=0.0, ulps=0)")]
    PyResultAccuracy = "hlo.ResultAccuracy"(
        mode: Arg<'_, &str>, atol: Arg<'_, f64>, rtol: Arg<'_, f64>, ulps: Arg<'_, i64>
    ) {
        Ok(PyResultAccuracy(match mode {
            "default" => Accuracy::Default,
            "highest" => Accuracy::Highest,
            "tolerance" => Accuracy::Tolerance { atol, rtol, ulps },
            other => {
                let message = format!("expected 'default', 'highest' or 'tolerance', found {other:?}");
                return Err(pyo3::exceptions::PyValueError::new_err(message));
            }
        }))
    }
    this => match this.get().fields() {
        ("tolerance", ..) => crate::repr::record(this.as_any(), &["mode", "atol", "rtol", "ulps"]),
        (mode, ..) => Ok(format!("ResultAccuracy(mode='{mode}')")),
    }
}

#[pymethods]
impl PyResultAccuracy {
    fn __hash__(&self) -> u64 {
        let (mode, atol, rtol, ulps) = self.fields();
        // Equal floats may differ in the sign of zero.
        let bits = |v: f64| if v == 0.0 { 0 } else { v.to_bits() };
        bits(atol).rotate_left(21) ^ bits(rtol).rotate_left(42) ^ ulps as u64 ^ mode.len() as u64
    }
}

/// The shapes of a module's parameters and result, with the layouts that its caller sees.
///
/// >>> import hlomap as hm
/// >>> head = "HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}"
/// >>> module = hm.parse(head + "\nENTRY e { ROOT p = f32[2] parameter(0) }")
/// >>> layout = module.attributes["entry_computation_layout"]
/// >>> str(layout), str(layout.result)
/// ('{(f32[2]{0})->f32[2]{0}}', 'f32[2]{0}')
#[pyclass(name = "EntryLayout", module = "hlomap._core", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyEntryLayout(pub EntryLayout);

getters! { PyEntryLayout, self, py;
    /// The shapes of the parameters, by number.
    parameters: PyResult<Bound<'py, PyTuple>> = PyTuple::new(py, self.0.parameters.iter().cloned().map(PyShape));
    /// The shape of the result.
    result: PyShape = PyShape(self.0.result.clone());
}

by_its_text! { PyEntryLayout, 0, "<EntryLayout {}>";
    /// Reads the layout of an entry with its braces.  Raises :class:`~hlomap.errors.HloSyntaxError` for any other
    /// text.
    ///
    /// >>> import hlomap as hm
    /// >>> hm.hlo.EntryLayout.parse("{(f32[2]{0}, s32[])->f32[2]{0}}").parameters
    /// (Shape('f32[2]{0}'), Shape('s32[]'))
    parse(text) = "hlo.EntryLayout.parse", "the layout of an entry", hlo::parse_entry_layout(text).map(PyEntryLayout);
}
