//! Writes a module as a serialized `HloModuleProto`.
//!
//! Ids are those of the proto that the module was read from, or else assigned as in XLA: the number of the computation,
//! and for an instruction that number in the upper half and its position in the lower. XLA requires operands before
//! their users, callees before their callers, and unique names, so computations and instructions are reordered and
//! instructions renamed where the text differs.

use cancel::poll;
use std::borrow::Cow;
use std::collections::BTreeMap;

use layout::{clip, ElementType, Shape};
use rustc_hash::FxHashMap;

use super::irregular::{self, WriteContext};
use super::original;
use super::payload::WrittenPayloads;
use super::write_calls::is_of_pair;
use super::{literal, operation, regular, shape, tables};
use crate::attribute::alias::Alias;
use crate::attribute::entry_layout::EntryLayout;
use crate::attribute::schema::{self, Form};
use crate::attribute::Value;
use crate::model::asynchronous::AsyncBindings;
use crate::model::fresh::Names;
use crate::model::module::{Attribute, ComputationId, InstructionId, Module};
use crate::opcode::{async_form, AsyncPhase};
use crate::wire::{Encoder, Message};
use crate::Opcode;

impl Module {
    /// Serializes the module as an `HloModuleProto`. Content without a field in XLA's messages (unknown attributes, the
    /// number of replicas) is left out. `Err` names content that its field cannot hold: unnamed operands, or a value
    /// that changes what an operation does.
    pub fn to_proto(&self) -> Result<Vec<u8>, String> {
        if let Some(i) = (0..self.instructions().len() as u32).find(|&i| self.has_unnamed_operands(i)) {
            let name = self.instruction_name(i);
            return Err(format!("the operands of `{name}` have no names in the text, a proto needs them"));
        }
        let order = self.callees_first();
        let mut computation_names = Names::default();
        (0..self.computations().len() as u32).for_each(|c| drop(computation_names.fresh(self.printed_name(c))));
        let (mut instruction_names, mut names) = (Names::default(), vec![Cow::default(); self.instructions().len()]);
        for i in order.iter().flat_map(|&c| self.instructions_of(c)) {
            poll();
            // XLA requires unique names.
            names[i as usize] = instruction_names.fresh(self.instruction_name(i).into());
        }
        let mut w = Writer {
            m: self,
            names,
            computation_names,
            instruction_names,
            positions: vec![0; self.instructions().len()],
            shapes: vec![Vec::new(); self.shapes.len()],
            constant: Vec::new(),
            wrappers: FxHashMap::default(),
            first_free: self
                .ids
                .as_ref()
                .and_then(|ids| ids.computations.iter().max())
                .map_or(self.computations().len() as i64, |id| id + 1),
            bindings: None,
            payloads: WrittenPayloads::default(),
            room: crate::tuning::MAX_ZEROS,
            unfit: None,
        };
        let proto = w.module(&order).0;
        w.unfit.map_or(Ok(proto), Err)
    }

    /// The operation and phase of a short form such as `transpose-start`, if the shape is that of an asynchronous
    /// operation.
    pub(super) fn short_async_form(&self, i: InstructionId) -> Option<(&'static str, AsyncPhase)> {
        if self.instructions()[i as usize].opcode != Opcode::Unknown {
            return None;
        }
        let (inner, half) = async_form(self.opcode_name(i))?;
        let is_pair = match half {
            AsyncPhase::Done => true,
            _ => matches!(self.shape(i).as_tuple(), Some([Shape::Tuple(_), _, ..])),
        };
        is_pair.then_some((inner.name(), half))
    }
}

/// Messages inside an instruction, by the path of their field numbers.
type Inner = BTreeMap<Vec<u32>, Encoder>;

pub(super) struct Writer<'m> {
    pub m: &'m Module,
    /// By instruction.
    pub names: Vec<Cow<'m, str>>,
    /// By instruction: its position in the order of its computation.
    positions: Vec<u32>,
    /// The encoded shapes, by number, as far as they were needed.
    shapes: Vec<Vec<u8>>,
    /// The encoded shape of the last constant.
    constant: Vec<u8>,
    /// By start instruction of a short asynchronous form: the id of its wrapper computation, which XLA requires.
    pub wrappers: FxHashMap<InstructionId, i64>,
    /// Larger than the ids of all computations.
    pub first_free: i64,
    /// The names in use.
    pub computation_names: Names<'m>,
    pub instruction_names: Names<'m>,
    /// The bindings of asynchronous operations, see [`Module::async_bindings`]; computed on first use.
    pub bindings: Option<AsyncBindings<'m>>,
    payloads: WrittenPayloads,
    /// The bytes that may still fill arrays up to the bounds of their dynamic dimensions.
    room: u64,
    /// The first value that its field cannot hold.
    unfit: Option<String>,
}

impl<'m> Writer<'m> {
    fn module(&mut self, all: &[ComputationId]) -> Encoder {
        let m = self.m;
        let mut d = Encoder(Vec::with_capacity(m.text_length()));
        d.data(1, m.printed_module_name().as_bytes());
        let names: Vec<String> = (0..m.computations().len() as u32).map(|c| m.printed_name(c).into_owned()).collect();
        d.data(2, names[m.entry() as usize].as_bytes());
        let is_scheduled = m.is_scheduled();
        let mut schedule = Encoder::default();
        for &c in all {
            let order = m.instruction_order(c);
            for (position, &i) in order.iter().enumerate() {
                self.positions[i as usize] = position as u32;
            }
            for &i in &order {
                if matches!(m.short_async_form(i), Some((_, AsyncPhase::Start))) {
                    let (id, n) = d.nested(3, |d| self.wrapper(i, d));
                    if is_scheduled {
                        sequence_of(id, (0..n).map(|position| id << 32 | position), &mut schedule);
                    }
                }
            }
            if is_scheduled && !m.is_fusion(c) {
                sequence_of(self.computation_id(c), m.instructions_of(c).map(|i| self.id(i)), &mut schedule);
            }
            d.nested(3, |d| self.computation(c, &order, &names[c as usize], d));
        }
        let layout = match m.header_value("entry_computation_layout") {
            Some(Value::EntryLayout(layout)) if layout.parameters.len() == m.parameters(m.entry()).len() => {
                Some(layout)
            }
            _ => None,
        };
        d.nested(4, |d| self.program(m.entry(), layout, d));
        d.int_unless_zero(6, self.computation_id(m.entry()));
        if is_scheduled {
            d.message(7, &schedule);
        }
        for a in m.header() {
            let before = d.0.len();
            if self.header_attribute(&mut d, a).is_none() {
                d.0.truncate(before);
            }
        }
        if let Some(index) = tables::write(m).filter(|index| !index.0.is_empty()) {
            d.message(17, &index);
        }
        self.payloads.write(&mut d);
        if let Some(ids) = &m.ids {
            d.0.extend_from_slice(&ids.wordless);
        }
        d
    }

    fn header_attribute(&self, d: &mut Encoder, a: &Attribute) -> Option<()> {
        let entry = |alias: &Alias, d: &mut Encoder| {
            d.nested(1, |d| {
                irregular::write_alias(alias, d);
                d.int(4, if alias.must { 2 } else { 1 });
            });
        };
        match (self.m.attribute_name(a), self.m.value(a, None)) {
            (_, Value::Aliases(all)) => d.nested(8, |d| all.iter().for_each(|alias| entry(alias, d))),
            (_, Value::Donors(all)) => d.nested(18, |d| {
                for donor in all {
                    d.nested(1, |d| {
                        d.int_unless_zero(1, donor.number);
                        d.ints(2, &donor.index);
                    });
                }
            }),
            ("backend_config", _) => d.data(25, &irregular::config_bytes(self.m.attribute_text(a))),
            ("origin_recovery_table", Value::Raw(text)) => original::write_recovery_table(text, 20, d)?,
            ("debug_attributes", Value::Raw(text)) => original::write_debug_attributes(text, 24, d)?,
            ("frontend_attributes", Value::Dictionary(pairs)) => d.nested(19, |d| irregular::write_frontend(&pairs, d)),
            _ => return None,
        }
        Some(())
    }

    /// XLA's id of a computation.
    pub fn computation_id(&self, c: ComputationId) -> i64 {
        self.m.ids.as_ref().and_then(|ids| ids.computations.get(c as usize)).map_or(i64::from(c), |&id| id)
    }

    /// XLA's id of an instruction.
    fn id(&self, i: InstructionId) -> i64 {
        if let Some(&id) = self.m.ids.as_ref().and_then(|ids| ids.instructions.get(i as usize)) {
            return id;
        }
        i64::from(self.m.computation_of(i)) << 32 | i64::from(self.positions[i as usize])
    }

    /// A `ProgramShape`, with the layout of an entry if there is one; XLA requires a name for each parameter.
    fn program(&mut self, c: ComputationId, layout: Option<EntryLayout>, d: &mut Encoder) {
        let m = self.m;
        if let Some(EntryLayout { parameters, result }) = layout {
            parameters.iter().for_each(|p| d.message(1, &shape::write(p)));
            d.message(2, &shape::write(&result));
        } else {
            for &p in m.parameters(c) {
                d.data(1, self.shape(p));
            }
            d.data(2, self.shape(m.root(c)));
        }
        for &p in m.parameters(c) {
            d.data(3, self.names[p as usize].as_bytes());
        }
    }

    /// The encoded shape of an instruction. XLA requires a layout of a constant.
    fn shape(&mut self, i: InstructionId) -> &[u8] {
        let row = &self.m.instructions()[i as usize];
        if row.opcode == Opcode::Constant {
            self.constant = shape::write(&layout::with_layout(self.m.shape(i))).0;
            return &self.constant;
        }
        let encoded = &mut self.shapes[row.shape as usize];
        if encoded.is_empty() {
            *encoded = shape::write(self.m.shape(i)).0;
        }
        encoded
    }

    fn computation(&mut self, c: ComputationId, order: &[InstructionId], name: &str, d: &mut Encoder) {
        let m = self.m;
        d.data(1, name.as_bytes());
        for &i in order {
            poll();
            d.nested(2, |d| self.instruction(i, d));
        }
        d.nested(4, |d| self.program(c, None, d));
        d.int_unless_zero(5, self.computation_id(c));
        d.int(6, self.id(m.root(c)));
        d.int_unless_zero(7, i64::from(m.is_fusion(c)));
        for a in m.computation_attributes(c) {
            match (m.attribute_name(a), m.value(a, Some(c))) {
                ("execution_thread", Value::Text(thread)) if !thread.is_empty() && thread != "main" => {
                    d.data(8, thread.as_bytes());
                }
                ("backend_config", _) => d.data(9, &irregular::config_bytes(m.attribute_text(a))),
                _ => {}
            }
        }
    }

    fn instruction(&mut self, i: InstructionId, d: &mut Encoder) {
        let m = self.m;
        let (opcode, inner) = match m.short_async_form(i) {
            None => (m.opcode_name(i), None),
            Some((inner, AsyncPhase::Start)) => ("async-start", Some(inner)),
            Some((inner, AsyncPhase::Update)) => ("async-update", Some(inner)),
            Some((inner, AsyncPhase::Done)) => ("async-done", Some(inner)),
        };
        self.head(i, opcode, d);
        match self.wrappers.get(&i) {
            Some(&wrapper) => d.ints(38, &[wrapper]),
            None => self.callees(i, opcode, d),
        }
        // Attributes of the wrapped operation are in its wrapper.
        self.attributes(i, opcode, &|name| inner.is_none_or(|inner| is_of_pair(name, inner)), d);
    }

    /// Name, opcode, shape, ids and value.
    fn head(&mut self, i: InstructionId, opcode: &str, d: &mut Encoder) {
        let m = self.m;
        let row = &m.instructions()[i as usize];
        d.data(1, self.names[i as usize].as_bytes());
        d.data(2, opcode.as_bytes());
        d.data(3, self.shape(i));
        d.int_unless_zero(9, m.parameter_number(i).map_or(0, i64::from));
        d.int_unless_zero(35, self.id(i));
        d.each_int(36, m.operands(i).map(|k| self.id(k)));
        d.each_int(37, m.control_predecessors(i).map(|k| self.id(k)));
        // XLA accepts a constant without a value, but not a value without its elements.
        if row.opcode == Opcode::Constant && !m.is_elided(i) {
            let value = m.literal(i);
            let encoded = value
                .and_then(|value| literal::write(Some(&value), m.shape(i), &|| m.literal_sizes(i), &mut self.room));
            if let Some(encoded) = encoded {
                d.message(8, &encoded);
            }
        }
    }

    pub fn has_predicate(&self, i: InstructionId) -> bool {
        let first = self.m.operands(i).next().and_then(|k| self.m.shape(k).as_array());
        first.is_some_and(|a| a.element() == ElementType::Pred)
    }

    /// Writes attributes in the fields of operation `opcode`, apart from those that no field can represent.
    pub fn attributes(&mut self, i: InstructionId, opcode: &str, keeps: &dyn Fn(&str) -> bool, d: &mut Encoder) {
        let m = self.m;
        let mut inner: Inner = BTreeMap::new();
        for &number in operation::required_messages(opcode) {
            inner.insert(vec![number], Encoder::default());
        }
        let code = Opcode::from_bytes(opcode.as_bytes());
        // XLA writes defaults other than 0, since an absent field stands for 0.
        for f in schema::fields_of(code) {
            if let (Some(value @ 1..), &[number]) = (f.default, f.field.path) {
                if m.attributes(i).iter().all(|a| a.key != f.key) {
                    d.int(number, value);
                }
            }
        }
        let start = d.0.len();
        for a in m.attributes(i) {
            // `head` writes control predecessors, if there are any.
            let is_in_head = a.form == Form::Instructions && !m.list(a.link).is_empty();
            if a.calls() || is_in_head || !keeps(m.attribute_name(a)) {
                continue;
            }
            let before = d.0.len();
            if self.attribute(i, code, a, d, &mut inner).is_none() {
                d.0.truncate(before);
                if schema::field_of(code, a.key).is_some() && schema::is_semantic(a.key, code) {
                    let (name, value, instruction) =
                        (m.attribute_name(a), m.attribute_text(a), &self.names[i as usize]);
                    let found = format!("a proto cannot hold {name}={} of `{instruction}`", clip(value));
                    self.unfit.get_or_insert(found);
                }
            }
        }
        // Innermost messages first: each goes into its parent.
        while let Some((mut path, sub)) = inner.pop_last() {
            let Some(number) = path.pop() else { break };
            if !path.is_empty() {
                inner.entry(path).or_default().message(number, &sub);
                continue;
            }
            // An irregular attribute may already have written a required message.
            let is_there = sub.0.is_empty() && Message::new(&d.0[start..], 0).is_ok_and(|m| m.has(number));
            if !is_there {
                d.message(number, &sub);
            }
        }
    }

    /// Writes an attribute to its field; `None` if no field can hold it.
    fn attribute(
        &self,
        i: InstructionId,
        opcode: Opcode,
        a: &Attribute,
        d: &mut Encoder,
        inner: &mut Inner,
    ) -> Option<()> {
        let m = self.m;
        let f = schema::field_of(opcode, a.key)?;
        if !f.field.codec.is_regular() {
            let w = WriteContext { module: m, id: i, attribute: a, payloads: &self.payloads };
            return irregular::write(f, &w, d);
        }
        let value = m.value(a, None);
        match f.field.path {
            [outer @ .., _] if !outer.is_empty() => {
                let mut own = Encoder::default();
                regular::write(f, value, &mut own)?;
                inner.entry(outer.to_vec()).or_default().0.extend_from_slice(&own.0);
                Some(())
            }
            _ => regular::write(f, value, d),
        }
    }
}

/// Adds the instruction sequence of a computation to a schedule.
fn sequence_of(computation: i64, ids: impl Iterator<Item = i64>, schedule: &mut Encoder) {
    schedule.nested(1, |pair| {
        pair.int(1, computation);
        pair.nested(2, |sequence| sequence.each_int(1, ids));
    });
}
