//! Writes called computations, and the wrappers that XLA requires around asynchronous operations.

use layout::Shape;

use super::write::Writer;
use super::{operation, shape};
use crate::attribute::Value;
use crate::model::module::{Attribute, InstructionId};
use crate::wire::Encoder;
use crate::{Arity, Opcode};

impl Writer<'_> {
    /// Writes the called computations of operation `opcode`, in its order. XLA expects none on the later phases of an
    /// asynchronous operation.
    pub fn callees(&self, i: InstructionId, opcode: &str, d: &mut Encoder) {
        let m = self.m;
        let calls = || m.attributes(i).iter().filter(|a| a.calls());
        if calls().next().is_none() || matches!(opcode, "async-update" | "async-done") {
            return;
        }
        let has_predicate = self.has_predicate(i);
        let keys = operation::callees(opcode, has_predicate && m.called_computations(i).count() == 2);
        let mut called: Vec<&Attribute> =
            keys.iter().filter_map(|key| calls().find(|a| m.attribute_name(a) == *key)).collect();
        // A conditional and a custom call have two ways to name them.
        if called.is_empty() {
            called = calls().collect();
        }
        let ids: Vec<i64> = called.iter().flat_map(|a| m.list(a.link)).map(|&c| self.computation_id(c)).collect();
        if operation::callee_names(opcode, has_predicate, ids.len()).is_some() {
            d.ints(38, &ids);
        }
    }

    /// Writes the wrapper computation that XLA requires around an asynchronous operation; returns its id and its number
    /// of instructions.
    pub fn wrapper(&mut self, i: InstructionId, d: &mut Encoder) -> (i64, i64) {
        let m = self.m;
        let id = self.first_free + self.wrappers.len() as i64;
        self.wrappers.insert(i, id);
        let opcode = m.short_async_form(i).map_or("", |s| s.0);
        let (operands, value) = self.wrapped_shapes(i, opcode);
        let mut program = Encoder::default();
        d.data(1, self.computation_names.fresh("async_wrapped".into()).as_bytes());
        let mut parameters = Vec::new();
        for (position, operand) in (0i64..).zip(&operands) {
            let name = self.instruction_names.fresh("async_param".into());
            d.nested(2, |p| {
                p.data(1, name.as_bytes());
                p.data(2, b"parameter");
                p.message(3, &shape::write(operand));
                p.int_unless_zero(9, position);
                p.int_unless_zero(35, id << 32 | position);
            });
            program.message(1, &shape::write(operand));
            parameters.push(name);
        }
        let n = parameters.len() as i64;
        let root = self.instruction_names.fresh(opcode.into());
        d.nested(2, |d| {
            d.data(1, root.as_bytes());
            d.data(2, opcode.as_bytes());
            d.message(3, &shape::write(&value));
            d.int(35, id << 32 | n);
            d.each_int(36, (0..n).map(|position| id << 32 | position));
            self.callees(i, opcode, d);
            let is_own = |name: &str| !matches!(name, "sharding" | "origin" | "async_execution_thread");
            self.attributes(i, opcode, &is_own, d);
        });
        program.message(2, &shape::write(&value));
        parameters.iter().for_each(|name| program.data(3, name.as_bytes()));
        d.message(4, &program);
        d.int(5, id);
        d.int(6, id << 32 | n);
        if let Some(Value::Text(thread)) = m.attribute_value(i, "async_execution_thread") {
            d.data(8, thread.as_bytes());
        }
        (id, n + 1)
    }

    /// The shapes of all operands and of the result of the operation that a short start wraps, of which later steps may
    /// bind some. As in XLA, shapes that no step binds are placeholders.
    fn wrapped_shapes(&mut self, i: InstructionId, opcode: &str) -> (Vec<Shape>, Shape) {
        let m = self.m;
        let bindings = self.bindings.get_or_insert_with(|| m.async_bindings());
        let (bound, result) = bindings.get(&i).map_or((&[][..], None), |(bound, result)| (&bound[..], *result));
        let mut operands: Vec<Shape> = bound.iter().map(|&k| m.shape(k).clone()).collect();
        let callee = m.async_computation(i);
        match (callee, Opcode::from_bytes(opcode.as_bytes()).arity()) {
            (Some(c), _) => operands.extend(m.parameters(c).iter().skip(operands.len()).map(|&p| m.shape(p).clone())),
            (None, Arity::Fixed(n) | Arity::AtLeast(n)) => {
                operands.resize(operands.len().max(usize::from(n)), Shape::Token);
            }
            (None, Arity::Any) => {}
        }
        let own = m.shape(i).as_tuple().and_then(|parts| parts.get(1));
        let value = callee.map(|c| m.shape(m.root(c))).or(result).or(own).unwrap_or(m.shape(i));
        (operands, value.clone())
    }
}

/// Attributes of an asynchronous pair itself; all others belong to the wrapped operation.
const PAIR_ATTRIBUTES: &[&str] = &[
    "async_execution_thread",
    "backend_config",
    "frontend_attributes",
    "metadata",
    "origin",
    "output_to_operand_aliasing",
    "sharding",
    "statistics",
];

/// Whether an attribute of a short form belongs to the asynchronous pair; all others are those of the operation.
pub(super) fn is_of_pair(name: &str, opcode: &str) -> bool {
    match name {
        "output_to_operand_aliasing" => !matches!(opcode, "custom-call" | "fusion"),
        name => PAIR_ATTRIBUTES.contains(&name),
    }
}
