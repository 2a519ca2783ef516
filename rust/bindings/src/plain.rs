//! Plain rules: texts that describe indexing rules, evaluated by the core.

use ::layout::Shape;
use flow::plain::Given;
use flow::watch::What;
use flow::{shapes, Direction, PlainRule, ShapeIndex};
use hlo::{Module, Value};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

use crate::footprint::PyFootprint;
use crate::indexing::direction_of;
use crate::layout::PyShape;
use crate::view::PyInstruction;

/// Reads the text of a plain rule.
pub fn read_plain(text: &str) -> PyResult<PlainRule> {
    PlainRule::read(text).map_err(|error| PyValueError::new_err(format!("the plain rule {text:?}: {error}")))
}

/// An indexing rule that a text describes; see ``rust/flow/src/plain``.
#[pyclass(name = "PlainRule", module = "hlomap._core", frozen)]
pub struct PyPlainRule {
    text: String,
    rule: PlainRule,
}

getters! { PyPlainRule, self, py;
    /// The text.
    text: &str = &self.text;
}

#[pymethods]
impl PyPlainRule {
    #[new]
    #[pyo3(signature = (text, /))]
    fn new(text: String) -> PyResult<PyPlainRule> {
        Ok(PyPlainRule { rule: read_plain(&text)?, text })
    }

    /// The footprint of each operand, for an array of the output (direction -1), or that of the output in a list, for
    /// operand ``direction``; None if the rule says nothing about these arrays.  ``always``: even if its conditions do
    /// not hold.  The instruction is an :class:`Instruction`, or an object with the same shape, operands and attributes.
    #[pyo3(signature = (instruction, index, direction, /, *, always=false))]
    fn parts(
        &self,
        instruction: &Bound<'_, PyAny>,
        index: ShapeIndex,
        direction: i64,
        always: bool,
    ) -> PyResult<Option<Vec<PyFootprint>>> {
        let direction = direction_of(direction);
        let found = match instruction.cast::<PyInstruction>() {
            Ok(instruction) => self.of_instruction(instruction.get(), &index, direction, always),
            Err(_) => self.of_object(instruction, &index, direction, always)?,
        };
        Ok(found.map(|parts| parts.into_iter().map(PyFootprint).collect()))
    }
}

/// The array of the output that a rule is about: that of the index (backward), or the whole.
fn output_of<'s>(shape: &'s Shape, index: &ShapeIndex, direction: Direction) -> Option<&'s Shape> {
    shapes::at(shape, if direction == Direction::Backward { index } else { &[] })
}

impl PyPlainRule {
    fn of_instruction(
        &self,
        instruction: &PyInstruction,
        index: &ShapeIndex,
        direction: Direction,
        always: bool,
    ) -> Option<Vec<flow::Footprint>> {
        let (m, id): (&Module, _) = (&instruction.module, instruction.id);
        if let Some(watch) = &instruction.watch {
            watch.read(m, id, What::Shape);
            if let Some(operand) = m.operand(id, 0) {
                watch.operand(0).read(m, operand, What::Shape); // the others are at the same kind of place
            }
        }
        let given = Given {
            output: output_of(m.shape(id), index, direction)?,
            n_operands: m.operands(id).len(),
            operand: &|k| m.operand(id, k).map(|operand| m.shape(operand)),
            attribute: &|name| {
                if let Some(watch) = &instruction.watch {
                    watch.read(m, id, What::Attribute(name));
                }
                m.attribute_value(id, name)
            },
        };
        if self.rule.if_combining && !always {
            return None;
        }
        self.rule.parts(&given, direction, always)
    }

    fn of_object(
        &self,
        object: &Bound<'_, PyAny>,
        index: &ShapeIndex,
        direction: Direction,
        always: bool,
    ) -> PyResult<Option<Vec<flow::Footprint>>> {
        let py = object.py();
        let shape = |of: &Bound<'_, PyAny>| -> PyResult<Shape> {
            Ok(of.getattr(intern!(py, "shape"))?.cast::<PyShape>()?.get().0.clone())
        };
        let (own, attributes) = (shape(object)?, object.getattr(intern!(py, "attributes"))?);
        let operands = object.getattr(intern!(py, "operands"))?.try_iter()?;
        let operands = operands.map(|operand| shape(&operand?)).collect::<PyResult<Vec<Shape>>>()?;
        let value = |name: &str| -> PyResult<Option<Value<'_>>> {
            let found = attributes.call_method1(intern!(py, "get"), (name,))?;
            if found.is_none() {
                return Ok(None);
            }
            if let Ok(rows) = found.extract::<Vec<(i64, i64, i64)>>() {
                return Ok(Some(Value::Slices(rows)));
            }
            Ok(Some(Value::Ints(found.extract()?)))
        };
        let Some(output) = output_of(&own, index, direction).filter(|_| always || !self.rule.if_combining) else {
            return Ok(None);
        };
        let given = Given {
            output,
            n_operands: operands.len(),
            operand: &|k| operands.get(k),
            attribute: &|name| value(name).ok().flatten(),
        };
        Ok(self.rule.parts(&given, direction, always))
    }
}
