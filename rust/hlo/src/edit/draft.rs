//! Computations of rows, and how they become a module.
//!
//! Operands are indices of rows in the same [`Part`], called computations indices of parts. [`Draft::write`] prints the
//! rows as they are and reads the text; [`Draft::build`] makes them a program first: it orders them, drops what is not
//! used any more, and lets layouts agree.

use std::borrow::Cow;
use std::fmt::Write;

use cancel::poll;
use layout::Shape;
use rustc_hash::FxHashMap;

use super::error::EditError;
use crate::attribute::form::Form;
use crate::error::Source;
use crate::model::literal::without_shapes;
use crate::model::module::{Attribute, ComputationId, Ids, InstructionId, Module};
use crate::opcode::{async_form, AsyncPhase};
use crate::parse;
use crate::verify::names::{legal, Named};
use crate::{Opcode, Trait};

/// An instruction of a draft.
#[derive(Clone, Debug)]
pub struct Row<'m> {
    /// Unique in its computation.
    pub name: Cow<'m, str>,
    /// The shape of its value.
    pub shape: Cow<'m, Shape>,
    /// The operation as text has it.
    pub opcode: Cow<'m, str>,
    /// What is between the parentheses.
    pub body: Body<'m>,
    /// The attributes in the order in which they are printed.
    pub attributes: Vec<(Cow<'m, str>, Entry<'m>)>,
    /// The instruction of the module that this is, changed or not; `None` for one that is new.
    pub number: Option<InstructionId>,
}

/// What is between the parentheses of a row.
#[derive(Clone, Debug)]
pub enum Body<'m> {
    /// Rows of its computation.
    Operands(Vec<u32>),
    /// The number of a parameter.
    Parameter(u32),
    /// The value of a constant.
    Literal(Cow<'m, str>),
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub enum Entry<'m> {
    /// As it is printed.
    Text(Cow<'m, str>),
    /// A part.
    Callee(u32),
    /// A list of parts.
    Callees(Vec<u32>),
    /// A list of rows of the same computation.
    Rows(Vec<u32>),
}

/// A computation of a draft.
#[derive(Clone, Debug)]
pub struct Part<'m> {
    /// Unique in the module.
    pub name: Cow<'m, str>,
    /// Its rows in the order in which they are printed.
    pub rows: Vec<Row<'m>>,
    /// The row of the root.
    pub root: u32,
    /// The attributes behind its brace.
    pub attributes: Vec<(Cow<'m, str>, Cow<'m, str>)>,
    /// The computation of the module that this is, changed or not.
    pub number: Option<ComputationId>,
}

/// A module that is being written.
#[derive(Debug)]
pub struct Draft<'m> {
    /// Where names, the header and the tables of stack frames come from.
    pub module: &'m Module,
    /// The computations; those that others call may come after them until [`Draft::build`].
    pub parts: Vec<Part<'m>>,
    /// The part that runs.
    pub entry: u32,
    /// The attributes of the header.
    pub header: Vec<(Cow<'m, str>, Cow<'m, str>)>,
}

impl<'m> Row<'m> {
    /// The row of an instruction, whose operands and called computations get other numbers; a row that is `None` is left
    /// out.
    pub fn of(
        m: &'m Module,
        i: InstructionId,
        row: impl Fn(InstructionId) -> Option<u32>,
        mut part: impl FnMut(ComputationId) -> u32,
    ) -> Result<Row<'m>, EditError> {
        if let Some(reason) = m.unnamed_operands(i) {
            return Err(EditError::Unreadable(format!("{}: {reason}", m.instruction_name(i))));
        }
        let body = match (m.parameter_number(i), m.literal_text(i)) {
            (Some(number), _) => Body::Parameter(number),
            (_, Some(literal)) => Body::Literal(literal.into()),
            _ => Body::Operands(m.operands(i).filter_map(&row).collect()),
        };
        let start = m.instructions_of(m.computation_of(i)).start;
        let entry = |a: &Attribute| {
            if let Some(word) = m.comparison_type(i, a).filter(|_| m.attribute(i, "type").is_none()) {
                return ("type".into(), Entry::Text(word.into()));
            }
            let value = match a.form {
                Form::Computation => Entry::Callee(part(m.list(a.link)[0])),
                Form::Computations => Entry::Callees(m.list(a.link).iter().map(|&c| part(c)).collect()),
                Form::Instructions => Entry::Rows(m.list(a.link).iter().filter_map(|k| row(start + k)).collect()),
                _ => Entry::Text(m.attribute_text(a).into()),
            };
            (m.attribute_name(a).into(), value)
        };
        Ok(Row {
            name: m.legal_name(i),
            shape: Cow::Borrowed(m.shape(i)),
            opcode: m.opcode_name(i).into(),
            body,
            attributes: m.attributes(i).iter().map(entry).collect(),
            number: Some(i),
        })
    }

    /// A parameter in the place of another value.
    pub(crate) fn parameter(of: &Row<'m>, name: Cow<'m, str>, number: u32) -> Row<'m> {
        let (shape, opcode) = (of.shape.clone(), Opcode::Parameter.name().into());
        Row { name, shape, opcode, body: Body::Parameter(number), attributes: Vec::new(), number: None }
    }

    /// The operands; none of a parameter or constant.
    pub fn operands(&self) -> &[u32] {
        match &self.body {
            Body::Operands(operands) => operands,
            _ => &[],
        }
    }

    pub(crate) fn code(&self) -> Opcode {
        Opcode::from_name(&self.opcode).unwrap_or_default()
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&Entry<'m>> {
        self.attributes.iter().find(|a| a.0 == name).map(|a| &a.1)
    }

    /// The text of an attribute that names neither computations nor instructions.
    pub(crate) fn attribute_text(&self, name: &str) -> Option<&str> {
        match self.attribute(name)? {
            Entry::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The parts that it calls.
    pub fn callees(&self) -> impl Iterator<Item = u32> + '_ {
        self.attributes
            .iter()
            .flat_map(|(_, entry)| match entry {
                Entry::Callee(part) => std::slice::from_ref(part),
                Entry::Callees(parts) => parts,
                Entry::Text(_) | Entry::Rows(_) => &[],
            })
            .copied()
    }

    pub(crate) fn callees_mut(&mut self) -> impl Iterator<Item = &mut u32> + use<'_, 'm> {
        self.attributes.iter_mut().flat_map(|(_, entry)| match entry {
            Entry::Callee(part) => std::slice::from_mut(part),
            Entry::Callees(parts) => parts,
            Entry::Text(_) | Entry::Rows(_) => &mut [],
        })
    }

    /// The rows that must come before: operands and control predecessors.
    pub(crate) fn before(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let rows = self.attributes.iter().flat_map(|(_, entry)| match entry {
            Entry::Rows(rows) => rows.as_slice(),
            _ => &[],
        });
        self.operands().iter().chain(rows).copied()
    }

    pub(crate) fn before_mut(&mut self) -> impl Iterator<Item = &mut u32> + use<'_, 'm> {
        let operands = match &mut self.body {
            Body::Operands(operands) => operands.as_mut_slice(),
            _ => &mut [],
        };
        let rows = self.attributes.iter_mut().flat_map(|(_, entry)| match entry {
            Entry::Rows(rows) => rows.as_mut_slice(),
            _ => &mut [],
        });
        operands.iter_mut().chain(rows)
    }

    /// The step of an asynchronous operation that it is.
    pub(crate) fn phase(&self) -> Option<AsyncPhase> {
        let code = self.code();
        code.phase().or_else(|| code.wrapping_phase()).or_else(|| async_form(&self.opcode).map(|form| form.1))
    }

    /// Whether it may do more than give a value. The flag of an operation that has one decides.
    pub(crate) fn acts(&self) -> bool {
        let code = match (self.code(), async_form(&self.opcode)) {
            (Opcode::Unknown, Some((inner, AsyncPhase::Start))) => inner,
            (Opcode::Unknown, Some(_)) => return false,
            (code, _) => code,
        };
        let flag = self.attribute_text(ACTS_FLAG);
        match code {
            Opcode::Unknown => true,
            _ if flag_is_known(code) => flag == Some("true"),
            _ => code.has(Trait::ACTS),
        }
    }
}

const ACTS_FLAG: &str = "custom_call_has_side_effect";

fn flag_is_known(code: Opcode) -> bool {
    use crate::attribute::schema::{is_allowed, key, Owner};
    key(ACTS_FLAG.as_bytes()).is_some_and(|key| is_allowed(key, Owner::Instruction(code)))
}

impl<'m> Part<'m> {
    /// A computation as it is; `part` gives the numbers of those that it calls.
    pub fn of(
        m: &'m Module,
        c: ComputationId,
        mut part: impl FnMut(ComputationId) -> u32,
    ) -> Result<Part<'m>, EditError> {
        let within = m.instructions_of(c);
        let row = |i: InstructionId| {
            poll();
            Row::of(m, i, |k| Some(k - within.start), &mut part)
        };
        Ok(Part {
            name: m.legal_computation_name(c),
            rows: within.clone().map(row).collect::<Result<_, _>>()?,
            root: m.root(c) - within.start,
            attributes: part_attributes(m, c),
            number: Some(c),
        })
    }

    pub(crate) fn parameters(&self) -> Vec<&Row<'m>> {
        let mut numbered: Vec<(u32, &Row)> = Vec::new();
        for row in &self.rows {
            if let Body::Parameter(number) = row.body {
                numbered.push((number, row));
            }
        }
        numbered.sort_by_key(|p| p.0);
        numbered.into_iter().map(|p| p.1).collect()
    }

    fn print(&self, f: &mut String, parts: &[Part<'_>]) {
        let _ = writeln!(f, "%{} {{", self.name);
        for (k, row) in self.rows.iter().enumerate() {
            poll();
            let root = if k == self.root as usize { "ROOT " } else { "" };
            let _ = write!(f, "  {root}%{} = {} {}(", row.name, row.shape, row.opcode);
            match &row.body {
                Body::Parameter(number) => drop(write!(f, "{number}")),
                Body::Literal(literal) => f.push_str(&without_shapes(literal, &row.shape)),
                Body::Operands(operands) => self.names(f, operands),
            }
            f.push(')');
            for (name, entry) in &row.attributes {
                let _ = write!(f, ", {name}=");
                match entry {
                    Entry::Text(text) => f.push_str(text),
                    Entry::Callee(part) => drop(write!(f, "%{}", parts[*part as usize].name)),
                    Entry::Callees(called) => {
                        let names: Vec<String> =
                            called.iter().map(|&c| format!("%{}", parts[c as usize].name)).collect();
                        let _ = write!(f, "{{{}}}", names.join(", "));
                    }
                    Entry::Rows(rows) => {
                        f.push('{');
                        self.names(f, rows);
                        f.push('}');
                    }
                }
            }
            f.push('\n');
        }
        f.push('}');
        for (name, text) in &self.attributes {
            let _ = write!(f, ", {name}={text}");
        }
        f.push('\n');
    }

    fn names(&self, f: &mut String, rows: &[u32]) {
        for (k, &row) in rows.iter().enumerate() {
            let comma = if k > 0 { ", " } else { "" };
            let _ = write!(f, "{comma}%{}", self.rows[row as usize].name);
        }
    }
}

/// The attributes behind the brace of a computation.
pub fn part_attributes(m: &Module, c: ComputationId) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    let attributes = m.computation_attributes(c).iter();
    attributes.map(|a| (m.attribute_name(a).into(), m.attribute_text(a).into())).collect()
}

/// The computations that rows call, copied from a module with all that those call.
pub(crate) struct Called<'m> {
    m: &'m Module,
    of: FxHashMap<ComputationId, u32>,
    pending: Vec<ComputationId>,
}

impl<'m> Called<'m> {
    pub fn new(m: &'m Module) -> Called<'m> {
        Called { m, of: FxHashMap::default(), pending: Vec::new() }
    }

    /// The number of the part for a computation.
    pub fn part(&mut self, c: ComputationId) -> u32 {
        let n = self.of.len() as u32;
        *self.of.entry(c).or_insert_with(|| {
            self.pending.push(c);
            n
        })
    }

    /// The parts of all computations that were asked for, and of all that those call, in the order of their numbers; and
    /// the order of the module.
    pub fn parts(mut self) -> Result<(Vec<Part<'m>>, Vec<u32>), EditError> {
        let mut parts = Vec::new();
        while let Some(c) = self.pending.pop() {
            parts.push((self.of[&c], Part::of(self.m, c, |c| self.part(c))?));
        }
        parts.sort_by_key(|p| p.0);
        let mut order: Vec<(ComputationId, u32)> = self.of.into_iter().collect();
        order.sort_unstable();
        Ok((parts.into_iter().map(|p| p.1).collect(), order.into_iter().map(|p| p.1).collect()))
    }
}

/// Attributes of a header that depend on the number of parameters, or on their buffers.
const OF_PARAMETERS: &[&str] = &[
    "alias_passthrough_params",
    "allow_spmd_sharding_propagation_to_output",
    "allow_spmd_sharding_propagation_to_parameters",
    "buffer_donor",
    "input_output_alias",
    ENTRY_LAYOUT,
];

pub(crate) const ENTRY_LAYOUT: &str = "entry_computation_layout";

impl<'m> Draft<'m> {
    /// A draft of a changed module: the header with other attributes, in the place of those of the same name or behind.
    pub fn of_edited(
        module: &'m Module,
        parts: Vec<Part<'m>>,
        entry: u32,
        more: Vec<(Cow<'m, str>, Cow<'m, str>)>,
    ) -> Draft<'m> {
        let own = module.header().iter().map(|a| (module.attribute_name(a), module.attribute_text(a)));
        let mut header: Vec<(Cow<'m, str>, Cow<'m, str>)> =
            own.map(|(name, text)| (name.into(), text.into())).collect();
        for (name, text) in more {
            match header.iter_mut().find(|a| a.0 == name) {
                Some(at) => at.1 = text,
                None => header.push((name, text)),
            }
        }
        Draft { module, parts, entry, header }
    }

    /// A draft whose entry has other parameters than the module: the header without what belongs to them.
    pub(crate) fn of_parts(module: &'m Module, parts: Vec<Part<'m>>, entry: u32) -> Draft<'m> {
        let all = module.header().iter().map(|a| (module.attribute_name(a), module.attribute_text(a)));
        let kept = all.filter(|(name, _)| !OF_PARAMETERS.contains(name));
        let header = kept.map(|(name, text)| (name.into(), text.into())).collect();
        let mut draft = Draft { module, parts, entry, header };
        if module.header().iter().any(|a| module.attribute_name(a) == ENTRY_LAYOUT) {
            let text = draft.entry_layout();
            draft.header.push((ENTRY_LAYOUT.into(), text.into()));
        }
        draft
    }

    /// The layouts of the entry: those of its parameters and its root.
    fn entry_layout(&self) -> String {
        let entry = &self.parts[self.entry as usize];
        let shapes: Vec<String> = entry.parameters().iter().map(|p| p.shape.to_string()).collect();
        format!("{{({})->{}}}", shapes.join(", "), entry.rows[entry.root as usize].shape)
    }

    fn text(&self, order: &[u32]) -> String {
        let m = self.module;
        let mut f = format!("HloModule {}", legal(m.printed_module_name(), Named::Module, |_| false));
        for (name, text) in &self.header {
            let _ = write!(f, ", {name}={text}");
        }
        f.push('\n');
        let has_frames =
            |row: &Row<'_>| row.attribute_text("metadata").is_some_and(|text| text.contains("stack_frame_id"));
        if !m.frames.spans.is_empty() && self.parts.iter().any(|p| p.rows.iter().any(has_frames)) {
            let _ = write!(f, "\n{}\n", m.frames_text());
        }
        for &k in order {
            f.push_str(if k == self.entry { "\nENTRY " } else { "\n" });
            self.parts[k as usize].print(&mut f, &self.parts);
        }
        f
    }

    /// The module of the text of these parts, in this order.
    pub fn write(&self, order: &[u32], strict: bool) -> Result<Module, EditError> {
        let source = Source::new(self.text(order), None);
        let mut modules = parse::parse_source(source, Vec::new(), strict).map_err(EditError::Refused)?;
        let Some(module) = modules.pop() else { return Err(EditError::Invalid("no module".into())) };
        let ids =
            self.module.ids().map(|ids| Ids { wordless: ids.wordless.clone(), program: ids.program, ..Ids::default() });
        Ok(module.with_ids(ids))
    }
}
