//! Modules, computations and instructions: immutable data linked by numbers.
//!
//! A module owns its text, or pieces of it; names, literals and attribute values are spans of it and are decoded on
//! request. The instructions of all computations form one vector in text order, in which those of a computation are
//! contiguous; the numbers of instructions and computations are indices, unique in the module. Every number refers to an
//! element of the same module.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use cancel::{once, poll};
use layout::{ElementKind, Shape};
use rustc_hash::FxHashMap;

use crate::attribute::schema::{self, Form};
use crate::attribute::{self, Value};
use crate::error::{Diagnostic, Source, Span};
use crate::model::hidden::Hidden;
use crate::model::literal::{self, LiteralValue};
use crate::model::metadata::Frames;
use crate::tuning::MAX_ID;
use crate::Opcode;

/// The number of an instruction, an index into the module's instructions.
pub type InstructionId = u32;
/// The number of a computation, an index into the module's computations.
pub type ComputationId = u32;

/// A parsed module.
#[derive(Debug, Default)]
pub struct Module {
    pub(crate) source: Arc<Source>,
    /// The part of the text that belongs to this module; the header with its tables, if the source is in `pieces`.
    pub(crate) span: Span,
    /// Of a module whose source is not HLO text, but the pieces of text that the rows refer to.
    pub(crate) pieces: Option<Pieces>,
    pub(crate) name: Span,
    pub(crate) header: Vec<Attribute>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) computations: Vec<Computation>,
    pub(crate) instructions: Vec<Instruction>,
    /// Operands as indices into the computation of their user.
    pub(crate) operands: Vec<u32>,
    pub(crate) attributes: Vec<Attribute>,
    /// Lists of numbers: parameters, and the numbers in attribute values preceded by their count.
    pub(crate) links: Vec<u32>,
    pub(crate) unknown_keys: Vec<Span>,
    pub(crate) unknown_opcodes: FxHashMap<InstructionId, Span>,
    pub(crate) made_up_names: FxHashMap<InstructionId, Box<str>>,
    pub(crate) frames: Frames,
    pub(crate) entry: ComputationId,
    /// The ids of a module from a proto.
    pub(crate) ids: Option<Ids>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether text outside of instructions was skipped, since it cannot be read.
    pub(crate) skipped_text: bool,
    pub(crate) users: OnceLock<Inverse>,
    pub(crate) hidden: OnceLock<Option<Hidden>>,
    pub(crate) callers: OnceLock<Inverse>,
    pub(crate) names: OnceLock<Vec<(u64, u32)>>,
    pub(crate) computation_names: OnceLock<Vec<(u64, u32)>>,
    pub(crate) fingerprints: OnceLock<Vec<[u8; 16]>>,
    pub(crate) called_once: OnceLock<Vec<bool>>,
    pub(crate) shape_hashes: OnceLock<Vec<[u64; 2]>>,
    pub(crate) has_unbounded: OnceLock<bool>,
    pub(crate) program_title: OnceLock<Option<String>>,
    pub(crate) backend: OnceLock<Option<&'static str>>,
    pub(crate) propagation: OnceLock<Option<&'static str>>,
}

/// The text that a module in pieces stands for.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// About its length.
    pub length: usize,
    /// Printed when it is asked for.
    pub text: OnceLock<String>,
}

/// The ids of a proto, by number. Text has no ids, but XLA orders what it reads by them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// The id of each computation; none if the proto repeats ids.
    pub computations: Vec<i64>,
    /// The id of each instruction; none if the proto repeats ids.
    pub instructions: Vec<i64>,
    /// The encoded fields of the module that text cannot express, such as the kind of device.
    pub wordless: Vec<u8>,
    /// The id of the program in the profile that the module was read from.
    pub program: Option<u64>,
}

impl Ids {
    /// Whether there is an id for each computation and instruction, and room for the ids of wrappers.
    fn fit(&self, m: &Module) -> bool {
        self.computations.len() == m.computations().len()
            && self.instructions.len() == m.instructions().len()
            && self.computations.iter().all(|id| (0..MAX_ID).contains(id))
    }
}

/// A sequence of instructions with a root.
#[derive(Clone, Debug)]
pub struct Computation {
    pub(crate) name: Span,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) root: InstructionId,
    /// Its parameters by parameter number, as a range of `links`.
    pub(crate) parameters: (u32, u32),
    pub(crate) attributes: Vec<Attribute>,
    /// Whether it is written inline, in the instruction that calls it.
    pub is_inline: bool,
}

/// An instruction.
#[derive(Clone, Debug, Default)]
pub struct Instruction {
    pub(crate) name: Span,
    /// The literal of a constant. In a parameter, `start` is the parameter number; in an instruction with unnamed
    /// operands, the number of operands.
    pub(crate) body: Span,
    pub(crate) shape: u32,
    pub(crate) computation: ComputationId,
    pub(crate) operands: u32,
    pub(crate) n_operands: u32,
    pub(crate) attributes: u32,
    pub(crate) n_attributes: u16,
    /// The operation; the word of [`Opcode::Unknown`] is in `unknown_opcodes`.
    pub opcode: Opcode,
    pub(crate) flags: u8,
}

/// The literal is `{...}`.
pub(crate) const ELIDED: u8 = 1;
/// The operands have no names in the text.
pub(crate) const UNNAMED_OPERANDS: u8 = 2;
/// The shape, the operands and the attributes are inconsistent.
pub(crate) const INCONSISTENT: u8 = 4;
/// The text omits the shape, which is inferred.
pub(crate) const SHAPE_OMITTED: u8 = 8;

/// The instruction calls computations.
pub(crate) const CALLS: u8 = 16;
/// The text gives no name; the span of the name is that of the opcode, and the name is in `made_up_names`.
pub(crate) const UNNAMED: u8 = 32;
/// The text of the instruction cannot be read, so its operation and operands are unknown.
pub(crate) const LOST: u8 = 64;
/// In addition to [`LOST`]: the root of a computation that the text does not have.
pub(crate) const ABSENT: u8 = 128;

/// An attribute: a name and the span of its value.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// A row of the attribute schema, or `UNKNOWN_KEY` plus an index into `unknown_keys`.
    pub(crate) key: u16,
    pub(crate) form: Form,
    pub(crate) value: Span,
    /// The start of its list in `links`, for forms that name computations or instructions.
    pub(crate) link: u32,
}

pub(crate) const UNKNOWN_KEY: u16 = 0x8000;

/// In place of a number whose name is not resolved.
pub(crate) const UNRESOLVED: u32 = u32::MAX;

/// The inverse of a relation: for each number, the numbers that refer to it, ascending and without duplicates.
#[derive(Debug)]
pub(crate) struct Inverse {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Inverse {
    /// Inverts pairs (to, from); `each` must list the same pairs both times.
    fn new(n: usize, each: impl Fn(&mut dyn FnMut(u32, u32))) -> Inverse {
        let mut starts = vec![0u32; n + 1];
        let mut last = vec![u32::MAX; n];
        let mut each_new = |found: &mut dyn FnMut(usize, u32)| {
            last.fill(u32::MAX);
            each(&mut |to, from| {
                if std::mem::replace(&mut last[to as usize], from) != from {
                    found(to as usize, from);
                }
            });
        };
        each_new(&mut |to, _| starts[to + 1] += 1);
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let mut items = vec![0; starts[n] as usize];
        let mut next = starts.clone();
        each_new(&mut |to, from| {
            items[next[to] as usize] = from;
            next[to] += 1;
        });
        Inverse { starts, items }
    }

    fn of(&self, to: u32) -> &[u32] {
        &self.items[self.starts[to as usize] as usize..self.starts[to as usize + 1] as usize]
    }
}

impl Instruction {
    /// An instruction without operands and attributes.
    pub(crate) fn new(name: Span, opcode: Opcode, shape: u32) -> Instruction {
        Instruction { name, opcode, shape, ..Instruction::default() }
    }

    /// Marks the instruction as one whose text cannot be read.
    pub(crate) fn lose(&mut self) {
        self.opcode = Opcode::Unknown;
        self.flags = self.flags & UNNAMED | LOST;
        // Printed as `(, )`, which reads back as operands without names.
        self.body = Span { start: 2, end: 2 };
        self.n_operands = 0;
        self.n_attributes = 0;
    }
}

impl Module {
    /// The text that the module was read from, which may contain other modules.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// About the length of [`Module::own_text`], in bytes.
    pub fn text_length(&self) -> usize {
        self.pieces.as_ref().map_or(self.span.len(), |pieces| pieces.length)
    }

    /// Line and column of [`Module::own_text`] in the text that it was read from, both from 1.
    pub fn position(&self) -> (usize, usize) {
        self.source.line_column(self.span.start as usize)
    }

    /// The ids of a module from a proto.
    pub fn ids(&self) -> Option<&Ids> {
        self.ids.as_ref()
    }

    /// The module with the ids of a proto; those of computations and instructions are dropped if they do not fit it.
    pub fn with_ids(mut self, ids: Option<Ids>) -> Module {
        self.ids = ids.map(|ids| match ids.fit(&self) {
            true => ids,
            false => Ids { wordless: ids.wordless, program: ids.program, ..Ids::default() },
        });
        self
    }

    /// The name with the id of the program in the profile that the module was read from, as in `jit_f(17)`; `None` for
    /// other modules.
    pub fn program_title(&self) -> Option<&str> {
        let title = || self.ids.as_ref().and_then(|ids| ids.program).map(|id| format!("{}({id})", self.name()));
        self.program_title.get_or_init(title).as_deref()
    }

    /// The name; empty if it has none.
    pub fn name(&self) -> &str {
        self.text(self.name)
    }

    /// The entry computation.
    pub fn entry(&self) -> ComputationId {
        self.entry
    }

    /// All computations; inline ones precede their callers.
    pub fn computations(&self) -> &[Computation] {
        &self.computations
    }

    /// All instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The diagnostics, in the order of the text.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The attributes of the header.
    pub fn header(&self) -> &[Attribute] {
        &self.header
    }

    pub(crate) fn text(&self, span: Span) -> &str {
        &self.source.text[span.range()]
    }

    /// The name of a computation; empty if it has none.
    pub fn computation_name(&self, id: ComputationId) -> &str {
        self.text(self.computations[id as usize].name)
    }

    /// The numbers of a computation's instructions, in text order.
    pub fn instructions_of(&self, id: ComputationId) -> Range<InstructionId> {
        let c = &self.computations[id as usize];
        c.start..c.end
    }

    /// The root of a computation.
    pub fn root(&self, id: ComputationId) -> InstructionId {
        self.computations[id as usize].root
    }

    /// The parameters of a computation, by parameter number.
    pub fn parameters(&self, id: ComputationId) -> &[InstructionId] {
        let (start, n) = self.computations[id as usize].parameters;
        &self.links[start as usize..(start + n) as usize]
    }

    /// The attributes of a computation.
    pub fn computation_attributes(&self, id: ComputationId) -> &[Attribute] {
        &self.computations[id as usize].attributes
    }

    /// The instructions that call a computation.
    pub fn callers(&self, id: ComputationId) -> &[InstructionId] {
        let callers = self.callers.get_or_init(|| {
            Inverse::new(self.computations.len(), |pair| {
                for i in 0..self.instructions.len() as u32 {
                    for c in self.called_computations(i) {
                        pair(c, i);
                    }
                }
            })
        });
        callers.of(id)
    }

    /// Whether a fusion calls this computation.
    pub fn is_fusion(&self, id: ComputationId) -> bool {
        self.callers(id).iter().any(|&i| match self.instructions[i as usize].opcode {
            Opcode::Unknown => matches!(self.async_step(i), Some((Some(Opcode::Fusion), _))),
            opcode => opcode == Opcode::Fusion,
        })
    }

    /// The name of an instruction.
    pub fn instruction_name(&self, id: InstructionId) -> &str {
        let row = &self.instructions[id as usize];
        match row.flags & UNNAMED {
            0 => self.text(row.name),
            _ => self.made_up_names.get(&id).map_or("", |name| name),
        }
    }

    /// The opcode as written.
    pub fn opcode_name(&self, id: InstructionId) -> &str {
        match self.instructions[id as usize].opcode {
            Opcode::Unknown => self.unknown_opcodes.get(&id).map_or("unreadable", |&span| self.text(span)),
            opcode => opcode.name(),
        }
    }

    /// The shape of an instruction.
    pub fn shape(&self, id: InstructionId) -> &Shape {
        &self.shapes[self.instructions[id as usize].shape as usize]
    }

    /// The operands of an instruction; empty if [`Module::has_unnamed_operands`].
    pub fn operands(&self, id: InstructionId) -> impl ExactSizeIterator<Item = InstructionId> + '_ {
        let i = &self.instructions[id as usize];
        let start = self.computations[i.computation as usize].start;
        let range = i.operands as usize..(i.operands + i.n_operands) as usize;
        self.operands[range].iter().map(move |k| k + start)
    }

    /// Operand `k` of an instruction.
    pub fn operand(&self, id: InstructionId, k: usize) -> Option<InstructionId> {
        let i = &self.instructions[id as usize];
        let at = (k < i.n_operands as usize).then_some(i.operands as usize + k)?;
        Some(self.operands[at] + self.computations[i.computation as usize].start)
    }

    /// Whether the text does not name the operands: it gives their number only, or [`Module::is_lost`].
    pub fn has_unnamed_operands(&self, id: InstructionId) -> bool {
        self.instructions[id as usize].flags & (UNNAMED_OPERANDS | LOST) != 0
    }

    /// Whether it is the placeholder root of a computation that the text does not have.
    pub(crate) fn is_absent(&self, id: InstructionId) -> bool {
        self.instructions[id as usize].flags & ABSENT != 0
    }

    /// The reason why any value may be an operand, if [`Module::has_unnamed_operands`].
    pub fn unnamed_operands(&self, id: InstructionId) -> Option<&'static str> {
        match self.instructions[id as usize].flags {
            flags if flags & ABSENT != 0 => Some("a called computation is not in the text"),
            flags if flags & LOST != 0 => Some("the text cannot be read"),
            flags if flags & UNNAMED_OPERANDS != 0 => Some("the text names no operands"),
            _ => None,
        }
    }

    /// Whether the text of the instruction cannot be read. A diagnostic says why.
    pub fn is_lost(&self, id: InstructionId) -> bool {
        self.instructions[id as usize].flags & LOST != 0
    }

    /// The instructions that could not be read ([`Module::is_lost`]), in the order of the text. Conclusions from the
    /// instructions of a module are proved only if there are none, and if not [`Module::has_skipped_text`].
    pub fn unread(&self) -> impl Iterator<Item = InstructionId> + '_ {
        (0..self.instructions.len() as u32).filter(|&id| self.is_lost(id))
    }

    /// Whether a part of the header, or a computation, was skipped since its text cannot be read.
    pub fn has_skipped_text(&self) -> bool {
        self.skipped_text
    }

    /// Whether the instruction has an [`Module::inconsistency`].
    pub fn is_inconsistent(&self, id: InstructionId) -> bool {
        self.instructions[id as usize].flags & (INCONSISTENT | LOST) != 0
    }

    /// The instructions that have this one as an operand, in text order.
    pub fn users(&self, id: InstructionId) -> &[InstructionId] {
        let users = self.users.get_or_init(|| {
            Inverse::new(self.instructions.len(), |pair| {
                for i in 0..self.instructions.len() as u32 {
                    for k in self.operands(i) {
                        pair(k, i);
                    }
                }
            })
        });
        users.of(id)
    }

    /// The attributes of an instruction, in text order.
    pub fn attributes(&self, id: InstructionId) -> &[Attribute] {
        let i = &self.instructions[id as usize];
        &self.attributes[i.attributes as usize..i.attributes as usize + i.n_attributes as usize]
    }

    /// The computations that an instruction calls, in text order.
    pub fn called_computations(&self, id: InstructionId) -> impl Iterator<Item = ComputationId> + '_ {
        let calls = self.instructions[id as usize].flags & CALLS != 0;
        let attributes = if calls { self.attributes(id) } else { &[] };
        attributes.iter().filter(|a| a.calls()).flat_map(|a| self.list(a.link).iter().copied())
    }

    /// The computation that an instruction belongs to.
    pub fn computation_of(&self, id: InstructionId) -> ComputationId {
        self.instructions[id as usize].computation
    }

    /// The parameter number; `None` for other operations.
    pub fn parameter_number(&self, id: InstructionId) -> Option<u32> {
        let i = &self.instructions[id as usize];
        (i.opcode == Opcode::Parameter).then_some(i.body.start)
    }

    /// Whether this is a constant whose value is elided (`{...}`).
    pub fn is_elided(&self, id: InstructionId) -> bool {
        self.instructions[id as usize].flags & ELIDED != 0
    }

    /// The text of a constant's value; `None` for other operations.
    pub fn literal_text(&self, id: InstructionId) -> Option<&str> {
        let i = &self.instructions[id as usize];
        (i.opcode == Opcode::Constant).then(|| self.text(i.body))
    }

    /// The value of a constant, unless it [is elided](Module::is_elided); `None` for other operations.
    pub fn literal(&self, id: InstructionId) -> Option<LiteralValue> {
        let i = &self.instructions[id as usize];
        let has_value = i.opcode == Opcode::Constant && !self.is_elided(id);
        has_value.then(|| literal::decode(&self.source.text, i.body, self.shape(id))).flatten()
    }

    /// The number at an element, in row-major order, of a constant array of integers or truth values; `None` for
    /// anything else.
    pub fn integer(&self, id: InstructionId, element: usize) -> Option<i128> {
        let t = self.shape(id).as_array()?.element();
        let Some(LiteralValue::Array(bytes)) = self.literal(id) else { return None };
        let start = element.checked_mul(t.n_bytes())?;
        let bits =
            bytes.get(start..start + t.n_bytes())?.iter().rev().fold(0, |bits, byte| bits << 8 | u128::from(*byte));
        let unused = 128 - t.value_bits();
        match t.kind() {
            ElementKind::Signed => Some((bits << unused) as i128 >> unused),
            ElementKind::Unsigned | ElementKind::Boolean => Some((bits << unused >> unused) as i128),
            ElementKind::Float | ElementKind::Complex => None,
        }
    }

    /// The sizes of a constant array, whose dynamic dimensions may be smaller than their bounds; `None` if it has rows of
    /// different lengths, and for other operations and shapes.
    pub fn literal_sizes(&self, id: InstructionId) -> Option<Vec<i64>> {
        literal::sizes(self.literal_text(id)?, self.shape(id))
    }

    pub(crate) fn list(&self, link: u32) -> &[u32] {
        let n = self.links[link as usize];
        &self.links[link as usize + 1..(link + 1 + n) as usize]
    }

    /// The name of an attribute.
    pub fn attribute_name(&self, attribute: &Attribute) -> &str {
        match attribute.key.checked_sub(UNKNOWN_KEY) {
            None => schema::name(attribute.key),
            Some(n) => self.text(self.unknown_keys[n as usize]),
        }
    }

    /// The text of an attribute's value.
    pub fn attribute_text(&self, attribute: &Attribute) -> &str {
        match attribute.is_implied() {
            true => "{}",
            false => self.text(attribute.value),
        }
    }

    /// The attribute of an instruction with this name.
    pub fn attribute(&self, id: InstructionId, name: &str) -> Option<&Attribute> {
        match schema::key(name.as_bytes()) {
            Some(key) => self.attributes(id).iter().find(|a| a.key == key),
            None => self.attributes(id).iter().find(|a| self.attribute_name(a) == name),
        }
    }

    /// The value of the attribute of an instruction with this name.
    pub fn attribute_value(&self, id: InstructionId, name: &str) -> Option<Value<'_>> {
        Some(self.value(self.attribute(id, name)?, Some(self.computation_of(id))))
    }

    /// As [`Module::attribute_value`], of the header.
    pub(crate) fn header_value(&self, name: &str) -> Option<Value<'_>> {
        Some(self.value(self.header.iter().find(|a| self.attribute_name(a) == name)?, None))
    }

    /// Whether any instruction has an attribute with this name.
    pub fn has_attribute(&self, name: &str) -> bool {
        match schema::key(name.as_bytes()) {
            Some(key) => self.attributes.iter().any(|a| a.key == key),
            None => self.attributes.iter().any(|a| self.attribute_name(a) == name),
        }
    }

    /// The value of an attribute that belongs to computation `within` or to one of its instructions.
    pub fn value(&self, attribute: &Attribute, within: Option<ComputationId>) -> Value<'_> {
        match attribute.form {
            Form::Computation => match self.list(attribute.link) {
                [one] => Value::Computation(*one),
                _ => Value::Raw(self.attribute_text(attribute)),
            },
            Form::Computations => Value::Computations(self.list(attribute.link)),
            Form::Instructions => {
                let start = within.map_or(0, |c| self.computations[c as usize].start);
                Value::Instructions(self.list(attribute.link).iter().map(|k| k + start).collect())
            }
            Form::Ints if attribute.is_implied() => Value::Ints(Vec::new()),
            form => attribute::decode(&self.source.text, attribute.value, form),
        }
    }

    /// The computation with this name, without `%`.
    pub fn find_computation(&self, name: &str) -> Option<ComputationId> {
        let name_of = |c| self.computation_name(c);
        let names = once(&self.computation_names, || by_hash(self.computations.len(), name_of));
        with_hash(names, hash(name)).iter().map(|entry| entry.1).find(|&c| self.computation_name(c) == name)
    }

    /// The first instruction with this name, without `%`: in a computation, or in the whole module, where the entry
    /// computation comes first.
    pub fn find_instruction(&self, name: &str, within: Option<ComputationId>) -> Option<InstructionId> {
        let names = once(&self.names, || by_hash(self.instructions.len(), |i| self.instruction_name(i)));
        let same = with_hash(names, hash(name));
        let is_named = |i: &InstructionId| self.instruction_name(*i) == name;
        // The numbers are sorted, and those of a computation form a range.
        let of = |c: ComputationId| {
            let range = self.instructions_of(c);
            let start = same.partition_point(|entry| entry.1 < range.start);
            same[start..].iter().map(|entry| entry.1).take_while(|&i| i < range.end).find(is_named)
        };
        match within {
            Some(c) => of(c),
            None => of(self.entry).or_else(|| same.iter().map(|entry| entry.1).find(is_named)),
        }
    }
}

/// The numbers below `n` with the hashes of their names, sorted by hash and number.
fn by_hash<'m>(n: usize, name: impl Fn(u32) -> &'m str) -> Vec<(u64, u32)> {
    let mut names = Vec::with_capacity(n);
    for i in 0..n as u32 {
        poll();
        names.push((hash(name(i)), i));
    }
    names.sort_unstable();
    names
}

fn with_hash(names: &[(u64, u32)], hash: u64) -> &[(u64, u32)] {
    let start = names.partition_point(|entry| entry.0 < hash);
    let n = names[start..].partition_point(|entry| entry.0 == hash);
    &names[start..start + n]
}

impl Attribute {
    /// Whether its value names computations.
    pub(crate) fn calls(&self) -> bool {
        matches!(self.form, Form::Computation | Form::Computations)
    }

    /// Whether the value is the configuration of a backend: JSON, or any other text.
    pub fn is_config(&self) -> bool {
        self.form == Form::Config
    }

    /// Whether the text omits it and an empty list is meant: `dimensions` of a broadcast of a scalar.
    pub(crate) fn is_implied(&self) -> bool {
        self.form == Form::Ints && self.value.is_empty()
    }
}

fn hash(name: &str) -> u64 {
    use std::hash::Hasher;
    let mut h = rustc_hash::FxHasher::default();
    h.write(name.as_bytes());
    h.finish()
}
