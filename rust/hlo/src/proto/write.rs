//! Writes a module as a serialized `HloModuleProto`.
//!
//! Read `Module::to_proto`. Ids are those of the proto that the module was read from, or else assigned as in XLA: the
//! number of the computation, and for an instruction that number in the upper half and its position in the lower. XLA
//! requires operands before their users, callees before their callers, and unique names, so computations and
//! instructions are reordered and instructions renamed where the text differs.

use quasiaffine::interrupt::poll;
use std::borrow::Cow;
use std::collections::BTreeMap;

use layout::Shape;
use rustc_hash::{FxHashMap, FxHashSet};

use super::irregular::{self, WriteContext};
use super::wire::{Encoder, Message};
use super::{literal, operation, regular, shape, tables, EXTRA, EXTRA_ASYNC, EXTRA_HEADER, EXTRA_SHAPE, EXTRA_TABLES};
use crate::attribute::alias::{Alias, Donor};
use crate::attribute::entry_layout::EntryLayout;
use crate::attribute::schema::{self, Codec, Form};
use crate::attribute::Value;
use crate::model::module::{Attribute, ComputationId, InstructionId, Module};
use crate::model::opcode::{async_form, AsyncPhase};
use crate::Opcode;

impl Module {
    /// The module as a serialized `HloModuleProto`; `Err` names an instruction with unnamed operands, which a proto
    /// cannot represent. What XLA's fields cannot represent (unknown attributes, the number of replicas) is written to
    /// fields that only hlomap reads.
    pub fn to_proto(&self) -> Result<Vec<u8>, String> {
        if let Some(i) = (0..self.instructions().len() as u32).find(|&i| self.has_unnamed_operands(i)) {
            return Err(self.instruction_name(i).to_string());
        }
        let mut w = Writer {
            m: self,
            names: self.unique_names(),
            positions: vec![0; self.instructions().len()],
            wrappers: FxHashMap::default(),
            first_free: self
                .ids
                .as_ref()
                .map_or(self.computations().len() as i64, |ids| ids.computations.iter().max().map_or(0, |id| id + 1)),
            taken: TakenNames::default(),
        };
        Ok(w.module().0)
    }

    /// The operation and phase of a short form such as `transpose-start`, if the shape is that of an asynchronous
    /// operation.
    fn short_async_form(&self, i: InstructionId) -> Option<(&'static str, AsyncPhase)> {
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

    fn list_of(&self, a: &Attribute) -> &[u32] {
        match a.form {
            Form::Computation | Form::Computations => self.list(a.link),
            _ => &[],
        }
    }

    /// All computations in text order if callees precede their callers there, or else in such an order.
    fn computation_order(&self) -> Vec<ComputationId> {
        let n = self.computations().len() as u32;
        let is_ordered =
            (0..n).all(|c| self.instructions_of(c).all(|i| self.called_computations(i).all(|callee| callee < c)));
        if is_ordered {
            (0..n).collect()
        } else {
            self.callees_first()
        }
    }

    /// The names of all instructions, with a suffix for duplicates.
    fn unique_names(&self) -> Vec<Cow<'_, str>> {
        let mut given: FxHashSet<Cow<'_, str>> = FxHashSet::default();
        let mut repeats: FxHashMap<&str, u32> = FxHashMap::default();
        let mut names = vec![Cow::Borrowed(""); self.instructions().len()];
        for i in self.computation_order().into_iter().flat_map(|c| self.instructions_of(c)) {
            poll();
            let name = self.instruction_name(i);
            let mut unique = Cow::Borrowed(name);
            while !given.insert(unique.clone()) {
                let n = repeats.entry(name).or_insert(0);
                *n += 1;
                unique = Cow::Owned(format!("{name}.{n}"));
            }
            names[i as usize] = unique;
        }
        names
    }

    /// The instructions of a computation in text order if operands precede their users there, or else in such an order.
    pub(crate) fn instruction_order(&self, c: ComputationId) -> Vec<InstructionId> {
        let range = self.instructions_of(c);
        let needs = |i: InstructionId| self.operands(i).chain(self.control_predecessors(i));
        if range.clone().all(|i| needs(i).all(|k| k < i)) {
            return range.collect();
        }
        let mut seen = vec![false; range.len()];
        let mut order = Vec::with_capacity(range.len());
        for start in range.clone() {
            let mut path = vec![(start, 0usize)];
            if std::mem::replace(&mut seen[(start - range.start) as usize], true) {
                continue;
            }
            while let Some((i, k)) = path.last_mut() {
                match needs(*i).nth(*k) {
                    None => {
                        order.push(*i);
                        path.pop();
                    }
                    Some(need) => {
                        *k += 1;
                        if !std::mem::replace(&mut seen[(need - range.start) as usize], true) {
                            path.push((need, 0));
                        }
                    }
                }
            }
        }
        order
    }

    fn control_predecessors(&self, i: InstructionId) -> impl Iterator<Item = InstructionId> + '_ {
        let start = self.instructions_of(self.computation_of(i)).start;
        let lists = self.attributes(i).iter().filter(|a| a.form == Form::Instructions);
        lists.flat_map(move |a| self.list(a.link).iter().map(move |&k| start + k))
    }
}

/// Messages inside an instruction, by the path of their field numbers.
type Inner = BTreeMap<Vec<u32>, Encoder>;

struct Writer<'m> {
    m: &'m Module,
    /// By instruction.
    names: Vec<Cow<'m, str>>,
    /// By instruction: its position in the order of its computation.
    positions: Vec<u32>,
    /// By start instruction of a short asynchronous form: the id of its wrapper computation, which XLA requires.
    wrappers: FxHashMap<InstructionId, i64>,
    /// Larger than the ids of all computations.
    first_free: i64,
    taken: TakenNames,
}

/// The names in use.
#[derive(Default)]
struct TakenNames {
    computations: FxHashSet<String>,
    instructions: FxHashSet<String>,
}

/// A name that is not in use, which it adds.
fn fresh(names: &mut FxHashSet<String>, wish: &str) -> String {
    let mut name = wish.to_string();
    let mut n = 0;
    while !names.insert(name.clone()) {
        n += 1;
        name = format!("{wish}.{n}");
    }
    name
}

impl<'m> Writer<'m> {
    fn module(&mut self) -> Encoder {
        let m = self.m;
        let mut d = Encoder::default();
        d.data(1, if m.name().is_empty() { b"module" } else { m.name().as_bytes() });
        let names: Vec<String> = (0..m.computations().len() as u32).map(|c| m.printed_name(c).into_owned()).collect();
        d.data(2, names[m.entry() as usize].as_bytes());
        let is_scheduled = m
            .header()
            .iter()
            .any(|a| m.attribute_name(a) == "is_scheduled" && matches!(m.value(a, None), Ok(Value::Bool(true))));
        let mut schedule = Encoder::default();
        for c in m.computation_order() {
            let order = m.instruction_order(c);
            for (position, &i) in order.iter().enumerate() {
                self.positions[i as usize] = position as u32;
                if matches!(m.short_async_form(i), Some((_, AsyncPhase::Start))) {
                    let (wrapper, id, n) = self.wrapper(i, &names);
                    d.message(3, &wrapper);
                    if is_scheduled {
                        let ids: Vec<i64> = (0..n).map(|position| id << 32 | position).collect();
                        schedule.message(1, &sequence_of(id, &ids));
                    }
                }
            }
            if is_scheduled && !m.is_fusion(c) {
                let ids: Vec<i64> = m.instructions_of(c).map(|i| self.id(i)).collect();
                schedule.message(1, &sequence_of(self.computation_id(c), &ids));
            }
            let computation = self.computation(c, &order, &names[c as usize]);
            d.message(3, &computation);
        }
        let layout = m.header().iter().find(|a| m.attribute_name(a) == "entry_computation_layout");
        let program = match layout.and_then(|a| m.value(a, None).ok()) {
            Some(Value::EntryLayout(layout)) => entry_layout(&layout, self.parameter_names(m.entry())),
            _ => None,
        };
        d.message(4, &program.unwrap_or_else(|| self.program(m.entry())));
        d.int_unless_zero(6, self.computation_id(m.entry()));
        if is_scheduled {
            d.message(7, &schedule);
        }
        for a in m.header() {
            if self.header_attribute(&mut d, a).is_none() {
                d.data(EXTRA_HEADER, format!("{}={}", m.attribute_name(a), m.attribute_text(a)).as_bytes());
            }
        }
        let text = m.text(m.frames.span);
        match tables::write(text) {
            _ if text.is_empty() => {}
            Some(index) => d.message(17, &index),
            None => d.data(EXTRA_TABLES, format!("\n{}\n", text.trim_end()).as_bytes()),
        }
        d
    }

    /// The wrapper computation that XLA requires around an asynchronous operation, its id, and its number of
    /// instructions.
    fn wrapper(&mut self, i: InstructionId, names: &[String]) -> (Encoder, i64, i64) {
        let m = self.m;
        if self.taken.computations.is_empty() {
            self.taken.computations = names.iter().cloned().collect();
            self.taken.instructions = self.names.iter().map(|n| n.to_string()).collect();
        }
        let id = self.first_free + self.wrappers.len() as i64;
        self.wrappers.insert(i, id);
        let opcode = m.short_async_form(i).map_or("", |s| s.0);
        let value = match m.shape(i).as_tuple() {
            Some([_, value, ..]) => value,
            _ => m.shape(i),
        };
        let (mut d, mut program) = (Encoder::default(), Encoder::default());
        d.data(1, fresh(&mut self.taken.computations, "async_wrapped").as_bytes());
        let mut parameters = Vec::new();
        for (position, operand) in (0i64..).zip(m.operands(i)) {
            let name = fresh(&mut self.taken.instructions, "async_param");
            let mut p = Encoder::default();
            p.data(1, name.as_bytes());
            p.data(2, b"parameter");
            p.message(3, &shape::write(m.shape(operand)));
            p.int_unless_zero(9, position);
            p.int_unless_zero(35, id << 32 | position);
            d.message(2, &p);
            program.message(1, &shape::write(m.shape(operand)));
            parameters.push(name);
        }
        let n = parameters.len() as i64;
        let mut root = Encoder::default();
        root.data(1, fresh(&mut self.taken.instructions, opcode).as_bytes());
        root.data(2, opcode.as_bytes());
        root.message(3, &shape::write(value));
        root.int(35, id << 32 | n);
        root.ints(36, &(0..n).map(|position| id << 32 | position).collect::<Vec<_>>());
        // The sharding belongs to the asynchronous pair.
        self.attributes(i, opcode, &|name| !matches!(name, "sharding" | "async_execution_thread"), &mut root);
        d.message(2, &root);
        program.message(2, &shape::write(value));
        parameters.iter().for_each(|name| program.data(3, name.as_bytes()));
        d.message(4, &program);
        d.int(5, id);
        d.int(6, id << 32 | n);
        if let Some(Ok(Value::Text(thread))) = m.attribute(i, "async_execution_thread").map(|a| m.value(a, None)) {
            d.data(8, thread.as_bytes());
        }
        d.int(EXTRA_ASYNC, 1);
        (d, id, n + 1)
    }

    fn header_attribute(&self, d: &mut Encoder, a: &Attribute) -> Option<()> {
        match (self.m.attribute_name(a), self.m.value(a, None).ok()?) {
            ("is_scheduled", _) => {}
            (_, Value::EntryLayout(layout)) => {
                entry_layout(&layout, self.parameter_names(self.m.entry()))?;
            }
            (_, Value::Aliases(all)) => d.message(8, &aliases(&all)),
            (_, Value::Donors(all)) => d.message(18, &donors(&all)),
            ("frontend_attributes", Value::Dictionary(pairs)) => d.message(19, &irregular::write_frontend(&pairs)),
            _ => return None,
        }
        Some(())
    }

    /// XLA's id of a computation.
    fn computation_id(&self, c: ComputationId) -> i64 {
        self.m.ids.as_ref().map_or(i64::from(c), |ids| ids.computations[c as usize])
    }

    /// XLA's id of an instruction.
    fn id(&self, i: InstructionId) -> i64 {
        if let Some(ids) = &self.m.ids {
            return ids.instructions[i as usize];
        }
        i64::from(self.m.computation_of(i)) << 32 | i64::from(self.positions[i as usize])
    }

    fn parameter_names(&self, c: ComputationId) -> Vec<&str> {
        self.m.parameters(c).iter().map(|&p| self.names[p as usize].as_ref()).collect()
    }

    /// A `ProgramShape`; XLA requires a name for each parameter.
    fn program(&self, c: ComputationId) -> Encoder {
        let m = self.m;
        let mut d = Encoder::default();
        for &p in m.parameters(c) {
            d.message(1, &shape::write(m.shape(p)));
        }
        d.message(2, &shape::write(m.shape(m.root(c))));
        self.parameter_names(c).iter().for_each(|name| d.data(3, name.as_bytes()));
        d
    }

    fn computation(&mut self, c: ComputationId, order: &[InstructionId], name: &str) -> Encoder {
        let m = self.m;
        let mut d = Encoder::default();
        d.data(1, name.as_bytes());
        let mut shapes: FxHashMap<u32, Encoder> = FxHashMap::default();
        for &i in order {
            poll();
            let row = self.instruction(i, &mut shapes);
            d.message(2, &row);
        }
        d.message(4, &self.program(c));
        d.int_unless_zero(5, self.computation_id(c));
        d.int(6, self.id(m.root(c)));
        d.int_unless_zero(7, i64::from(m.is_fusion(c)));
        for a in m.computation_attributes(c) {
            match (m.attribute_name(a), m.value(a, Some(c))) {
                ("execution_thread", Ok(Value::Text(thread))) => d.data(8, thread.as_bytes()),
                (name, _) => d.data(EXTRA, format!("{name}={}", m.attribute_text(a)).as_bytes()),
            }
        }
        d
    }

    fn instruction(&mut self, i: InstructionId, shapes: &mut FxHashMap<u32, Encoder>) -> Encoder {
        let m = self.m;
        let opcode = m.opcode_name(i);
        let Some((_, half)) = m.short_async_form(i) else {
            let mut d = self.head(i, opcode, shapes);
            self.attributes(i, opcode, &|_| true, &mut d);
            self.rest(i, opcode, &mut d);
            return d;
        };
        let long = match half {
            AsyncPhase::Start => "async-start",
            AsyncPhase::Update => "async-update",
            AsyncPhase::Done => "async-done",
        };
        let mut d = self.head(i, long, shapes);
        self.attributes(i, long, &|name| PAIR_ATTRIBUTES.contains(&name), &mut d);
        if let Some(&wrapper) = self.wrappers.get(&i) {
            d.ints(38, &[wrapper]);
        }
        // The instruction as in the text, in a field of our own.
        let mut text = self.head(i, opcode, shapes);
        self.attributes(i, opcode, &|_| true, &mut text);
        self.rest(i, opcode, &mut text);
        d.message(EXTRA_ASYNC, &text);
        d
    }

    /// Name, opcode, shape, ids and value.
    fn head(&self, i: InstructionId, opcode: &str, shapes: &mut FxHashMap<u32, Encoder>) -> Encoder {
        let m = self.m;
        let row = &m.instructions()[i as usize];
        let mut d = Encoder::default();
        d.data(1, self.names[i as usize].as_bytes());
        d.data(2, opcode.as_bytes());
        let own = shapes.entry(row.shape).or_insert_with(|| shape::write(m.shape(i)));
        let laid_out = (row.opcode == Opcode::Constant).then(|| literal::laid_out(m.shape(i)));
        match laid_out.filter(|shape| shape != m.shape(i)) {
            Some(shape) => {
                d.message(3, &shape::write(&shape));
                d.message(EXTRA_SHAPE, own);
            }
            None => d.message(3, own),
        }
        d.int_unless_zero(9, m.parameter_number(i).map_or(0, i64::from));
        d.int_unless_zero(35, self.id(i));
        d.ints(36, &m.operands(i).map(|k| self.id(k)).collect::<Vec<_>>());
        d.ints(37, &m.control_predecessors(i).map(|k| self.id(k)).collect::<Vec<_>>());
        // XLA accepts a constant without a value, but not a value without its elements.
        if row.opcode == Opcode::Constant && !m.is_elided(i) {
            let value = m.literal(i).and_then(Result::ok);
            d.message(8, &literal::write(value.as_ref(), m.shape(i)));
        }
        d
    }

    /// Writes attributes and called computations in the fields of operation `opcode`.
    fn attributes(&self, i: InstructionId, opcode: &str, keeps: &dyn Fn(&str) -> bool, d: &mut Encoder) {
        let m = self.m;
        let mut inner: Inner = BTreeMap::new();
        for &number in operation::required_messages(opcode) {
            inner.insert(vec![number], Encoder::default());
        }
        // XLA writes defaults other than 0, since an absent field stands for 0.
        for f in schema::fields_of(Opcode::from_name(opcode).unwrap_or(Opcode::Unknown)) {
            if let (Some(value @ 1..), &[number]) = (f.row.default, f.field.path) {
                if m.attributes(i).iter().all(|a| a.key != f.key) {
                    d.int(number, value);
                }
            }
        }
        let keys = self.callee_names(i, opcode);
        let mut called: Vec<(usize, &[u32])> = Vec::new();
        for a in m.attributes(i).iter().filter(|a| keeps(m.attribute_name(a))) {
            let name = m.attribute_name(a);
            if !matches!(a.form, Form::Computation | Form::Computations) {
                if a.form != Form::Instructions {
                    self.attribute(i, opcode, a, d, &mut inner);
                }
            } else if self.has_callees(i, opcode) {
                called.push((keys.iter().position(|k| *k == name).unwrap_or(keys.len()), m.list(a.link)));
            }
        }
        called.sort_by_key(|c| c.0);
        d.ints(38, &called.iter().flat_map(|c| c.1).map(|&c| self.computation_id(c)).collect::<Vec<_>>());
        // Innermost messages first: each goes into its parent.
        while let Some((mut path, sub)) = inner.pop_last() {
            let Some(number) = path.pop() else { break };
            if !path.is_empty() {
                inner.entry(path).or_default().message(number, &sub);
                continue;
            }
            // An irregular attribute may already have written a required message.
            let is_there = sub.0.is_empty() && Message::new(&d.0, 0).is_ok_and(|m| m.has(number));
            if !is_there {
                d.message(number, &sub);
            }
        }
    }

    /// XLA expects no computation on the update and done phases of an asynchronous pair.
    fn has_callees(&self, i: InstructionId, opcode: &str) -> bool {
        // The wrong number of computations could not be assigned to attributes when read back.
        let n = self.m.called_computations(i).count();
        let is_plain = n == 0 || operation::callee_names(opcode, self.has_predicate(i), n).is_some();
        is_plain && !matches!(opcode, "async-update" | "async-done")
    }

    fn has_predicate(&self, i: InstructionId) -> bool {
        self.m.operands(i).next().is_some_and(|k| is_predicate(self.m.shape(k)))
    }

    fn callee_names(&self, i: InstructionId, opcode: &str) -> &'static [&'static str] {
        operation::callees(opcode, self.has_predicate(i))
    }

    /// Writes attributes that no field can represent as text.
    fn rest(&self, i: InstructionId, opcode: &str, d: &mut Encoder) {
        let m = self.m;
        for a in m.attributes(i).iter().filter(|a| a.form != Form::Instructions) {
            let name = m.attribute_name(a);
            let is_written = match a.form {
                Form::Computation | Form::Computations => self.has_callees(i, opcode),
                _ => self.attribute(i, opcode, a, &mut Encoder::default(), &mut Inner::new()).is_some(),
            };
            if is_written {
                continue;
            }
            let text = match (a.form, m.list_of(a)) {
                (Form::Computation, [one]) => format!("%{}", m.printed_name(*one)),
                _ => m.attribute_text(a).to_string(),
            };
            d.data(EXTRA, format!("{name}={text}").as_bytes());
        }
    }

    /// Writes an attribute to its field; `None` where no field can hold it.
    fn attribute(
        &self,
        i: InstructionId,
        opcode: &str,
        a: &Attribute,
        d: &mut Encoder,
        inner: &mut Inner,
    ) -> Option<()> {
        let m = self.m;
        let fields = schema::fields_of(Opcode::from_name(opcode).unwrap_or(Opcode::Unknown));
        let f = fields.iter().find(|f| f.key == a.key)?;
        let own = match f.field.codec {
            Codec::Irregular(functions) => {
                let mut own = Encoder::default();
                (functions.write)(&WriteContext { module: m, id: i, attribute: a, path: f.field.path }, &mut own)?;
                d.0.extend_from_slice(&own.0);
                return Some(());
            }
            codec => regular::write(f, codec, m.value(a, None).ok()?)?,
        };
        match f.field.path {
            [_] | [] => d.0.extend_from_slice(&own.0),
            [outer @ .., _] => inner.entry(outer.to_vec()).or_default().0.extend_from_slice(&own.0),
        }
        Some(())
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

/// The instruction sequence of a computation in a schedule.
fn sequence_of(computation: i64, ids: &[i64]) -> Encoder {
    let (mut sequence, mut pair) = (Encoder::default(), Encoder::default());
    sequence.ints(1, ids);
    pair.int(1, computation);
    pair.message(2, &sequence);
    pair
}

fn is_predicate(shape: &Shape) -> bool {
    shape.as_array().is_some_and(|a| a.element() == layout::ElementType::Pred)
}

/// An entry layout as a `ProgramShape`; `None` if the number of parameters differs.
fn entry_layout(layout: &EntryLayout, names: Vec<&str>) -> Option<Encoder> {
    let mut d = Encoder::default();
    layout.parameters.iter().for_each(|p| d.message(1, &shape::write(p)));
    d.message(2, &shape::write(&layout.result));
    names.iter().for_each(|name| d.data(3, name.as_bytes()));
    (layout.parameters.len() == names.len()).then_some(d)
}

fn aliases(all: &[Alias]) -> Encoder {
    let mut d = Encoder::default();
    for alias in all {
        let mut e = Encoder::default();
        e.ints(1, &alias.output_index);
        e.int_unless_zero(2, alias.number);
        e.ints(3, &alias.index);
        e.int(4, if alias.must { 2 } else { 1 });
        d.message(1, &e);
    }
    d
}

fn donors(all: &[Donor]) -> Encoder {
    let mut d = Encoder::default();
    for donor in all {
        let mut e = Encoder::default();
        e.int_unless_zero(1, donor.number);
        e.ints(2, &donor.index);
        d.message(1, &e);
    }
    d
}
