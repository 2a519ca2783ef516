//! Prints a module in XLA's syntax, as text that parses to an equal module.
//!
//! Literals and attribute values are printed as they were written; names of operands and computations get a `%`; a name
//! that XLA does not read, such as that of a type, gets a `_`. A computation that was written inline is printed inline.
//! A module or computation without a name gets one: `module`, `main`, `computation_N`.

use cancel::poll;
use std::borrow::Cow;
use std::fmt::{self, Write};

use layout::{ArrayShape, ElementType, Shape};

use crate::attribute::form::Form;
use crate::attribute::Value;
use crate::model::literal::without_shapes;
use crate::model::module::{Attribute, ComputationId, InstructionId, Module};
use crate::verify::names::{legal, Named};
use crate::{Arity, Opcode};

/// Options for printing. By default everything is printed, and operands by name alone; with any options the text is
/// valid for XLA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// The shape before each operand.
    pub operand_shapes: bool,
    /// `metadata`, and the tables of stack frames.
    pub metadata: bool,
    /// Layouts of shapes; those that a custom call constrains are always printed.
    pub layouts: bool,
    /// `backend_config`
    pub backend_config: bool,
    /// `control-predecessors`
    pub control_predecessors: bool,
    /// Literals of more than ten elements; if not, they are printed as `{...}`.
    pub large_constants: bool,
    /// The parameters and the result of each computation before its brace.
    pub signatures: bool,
    /// Instructions are named `tmp_0`, `tmp_1`, … and computations `computation_0`, ….
    pub canonical_names: bool,
}

impl Default for PrintOptions {
    fn default() -> PrintOptions {
        PrintOptions {
            operand_shapes: false,
            metadata: true,
            layouts: true,
            backend_config: true,
            control_predecessors: true,
            large_constants: true,
            signatures: true,
            canonical_names: false,
        }
    }
}

/// Literals of more elements are large, as in XLA.
const LARGE: i64 = 10;

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { m: self, options: PrintOptions::default(), is_raw: false }.module(f)
    }
}

/// The whole module.
pub fn print_module(module: &Module, options: PrintOptions) -> String {
    printed(module, options, |printer, text| printer.module(text))
}

/// One computation alone.
pub fn print_computation(module: &Module, id: ComputationId, options: PrintOptions) -> String {
    printed(module, options, |printer, text| printer.computation(text, id))
}

/// One instruction in a line, without `ROOT`.
pub fn print_instruction(module: &Module, id: InstructionId, options: PrintOptions) -> String {
    printed(module, options, |printer, text| printer.row(text, id, 0))
}

fn printed(m: &Module, options: PrintOptions, print: impl FnOnce(&Printer, &mut String) -> fmt::Result) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = print(&Printer { m, options, is_raw: false }, &mut text);
    text
}

impl Module {
    /// The text that the module was read from, without other modules in it; for a module from a proto, the text with
    /// the same rows and the same diagnostics.
    pub fn own_text(&self) -> &str {
        match &self.pieces {
            None => self.text(self.span),
            Some(pieces) => pieces.text.get_or_init(|| self.joined()),
        }
    }

    /// The text of a module in pieces.
    fn joined(&self) -> String {
        let options = PrintOptions { signatures: false, ..PrintOptions::default() };
        let printer = Printer { m: self, options, is_raw: true };
        let mut text = format!("{}\n", self.text(self.span));
        for c in 0..self.computations().len() as u32 {
            text.push('\n');
            // Writing to a string does not fail.
            let _ = printer.computation(&mut text, c);
        }
        text
    }

    /// The name; in a text without a header that of the entry computation, as in XLA.
    pub(crate) fn printed_module_name(&self) -> Cow<'_, str> {
        match (self.name(), self.computation_name(self.entry())) {
            ("", "") => "module".into(),
            ("", entry) => format!("module_{entry}").into(),
            (name, _) => name.into(),
        }
    }

    pub(crate) fn printed_name(&self, id: ComputationId) -> Cow<'_, str> {
        match self.computation_name(id) {
            "" if id == self.entry() && self.find_computation("main").is_none() => "main".into(),
            "" => {
                let mut name = format!("computation_{id}");
                while self.find_computation(&name).is_some() {
                    name.push('_');
                }
                name.into()
            }
            name => name.into(),
        }
    }

    /// The name of an instruction in print.
    pub fn legal_name(&self, i: InstructionId) -> Cow<'_, str> {
        let is_taken = |name: &str| self.find_instruction(name, Some(self.computation_of(i))).is_some();
        legal(self.instruction_name(i).into(), Named::Instruction, is_taken)
    }

    /// The name of a computation in print.
    pub fn legal_computation_name(&self, c: ComputationId) -> Cow<'_, str> {
        legal(self.printed_name(c), Named::Computation, |name| self.find_computation(name).is_some())
    }
}

struct Printer<'m> {
    m: &'m Module,
    options: PrintOptions,
    /// Names are printed as they are.
    is_raw: bool,
}

impl<'m> Printer<'m> {
    fn module(&self, f: &mut dyn Write) -> fmt::Result {
        let m = self.m;
        write!(f, "HloModule {}", legal(m.printed_module_name(), Named::Module, |_| false))?;
        for attribute in m.header() {
            self.attribute(f, attribute, None, 0)?;
        }
        f.write_str("\n")?;
        if !m.frames.spans.is_empty() && self.options.metadata {
            write!(f, "\n{}\n", m.frames_text())?;
        }
        for c in 0..m.computations().len() as u32 {
            if !m.computations()[c as usize].is_inline {
                f.write_str("\n")?;
                self.computation(f, c)?;
            }
        }
        Ok(())
    }

    fn computation(&self, f: &mut dyn Write, id: ComputationId) -> fmt::Result {
        let m = self.m;
        if id == m.entry() {
            f.write_str("ENTRY ")?;
        }
        write!(f, "%{} ", self.computation_name(id))?;
        if self.options.signatures {
            f.write_str("(")?;
            for (k, &p) in m.parameters(id).iter().enumerate() {
                let comma = if k > 0 { ", " } else { "" };
                write!(f, "{comma}{}: {}", self.name(p), m.shape(p).without_layout())?;
            }
            write!(f, ") -> {} ", self.result(m.root(id)).without_layout())?;
        }
        self.body(f, id, 0)?;
        for attribute in m.computation_attributes(id) {
            self.attribute(f, attribute, Some(id), 0)?;
        }
        f.write_str("\n")
    }

    /// The shape that XLA gives a root: it ignores the written shape of some operations, and requires its own shape in
    /// the signature.
    fn result(&self, root: InstructionId) -> Cow<'m, Shape> {
        let m = self.m;
        let own = m.shape(root);
        let operand = m.operands(root).next().map(|k| m.shape(k));
        let part = |shape: Option<&Shape>| shape?.as_tuple()?.first().cloned();
        let context = || ArrayShape::new(ElementType::U32, &[], &[], None).ok().map(Shape::Array);
        let parts = match m.instructions()[root as usize].opcode {
            Opcode::AfterAll | Opcode::SendDone | Opcode::Outfeed => return Cow::Owned(Shape::Token),
            Opcode::RecvDone => part(operand).map(|data| vec![data, Shape::Token]),
            Opcode::Recv => part(Some(own)).and_then(|data| Some(vec![data, context()?, Shape::Token])),
            Opcode::Send => operand.and_then(|data| Some(vec![data.clone(), context()?, Shape::Token])),
            _ => None,
        };
        parts.map_or(Cow::Borrowed(own), |parts| Cow::Owned(Shape::Tuple(parts)))
    }

    fn name(&self, i: InstructionId) -> Cow<'m, str> {
        match self.options.canonical_names {
            true => format!("tmp_{i}").into(),
            false if self.is_raw => self.m.instruction_name(i).into(),
            false => self.m.legal_name(i),
        }
    }

    fn computation_name(&self, c: ComputationId) -> Cow<'m, str> {
        match self.options.canonical_names {
            true => format!("computation_{c}").into(),
            false if self.is_raw => self.m.computation_name(c).into(),
            false => self.m.legal_computation_name(c),
        }
    }

    fn shape(&self, shape: &'m Shape) -> Cow<'m, Shape> {
        match self.options.layouts {
            true => Cow::Borrowed(shape),
            false => shape.without_layout(),
        }
    }

    fn body(&self, f: &mut dyn Write, id: ComputationId, depth: usize) -> fmt::Result {
        f.write_str("{\n")?;
        for i in self.m.instructions_of(id) {
            let root = if i == self.m.root(id) { "ROOT " } else { "" };
            write!(f, "{:1$}{root}", "", 2 * depth + 2)?;
            self.row(f, i, depth)?;
            f.write_str("\n")?;
        }
        write!(f, "{:1$}}}", "", 2 * depth)
    }

    fn row(&self, f: &mut dyn Write, i: InstructionId, depth: usize) -> fmt::Result {
        poll();
        let m = self.m;
        write!(f, "%{} = {} {}(", self.name(i), self.shape(m.shape(i)), m.opcode_name(i))?;
        let row = &m.instructions()[i as usize];
        if let Some(number) = m.parameter_number(i) {
            write!(f, "{number}")?;
        } else if let Some(literal) = m.literal_text(i) {
            let is_large = m.shape(i).as_array().and_then(|a| a.n_elements()).is_some_and(|n| n > LARGE);
            match is_large && !self.options.large_constants {
                true => f.write_str("{...}")?,
                false => f.write_str(&without_shapes(literal, m.shape(i)))?,
            }
        } else if m.has_unnamed_operands(i) {
            let n = match row.opcode.arity() {
                Arity::Fixed(n) if !self.is_raw => usize::from(n),
                _ => row.body.start as usize,
            };
            f.write_str(&", ".repeat(n.saturating_sub(1)))?;
        } else {
            for (k, operand) in m.operands(i).enumerate() {
                f.write_str(if k > 0 { ", " } else { "" })?;
                if self.options.operand_shapes {
                    write!(f, "{} ", self.shape(m.shape(operand)))?;
                }
                write!(f, "%{}", self.name(operand))?;
            }
        }
        f.write_str(")")?;
        for attribute in m.attributes(i) {
            match m.comparison_type(i, attribute).filter(|_| m.attribute(i, "type").is_none()) {
                Some(word) => write!(f, ", type={word}")?,
                None => self.attribute(f, attribute, Some(m.computation_of(i)), depth)?,
            }
        }
        Ok(())
    }

    /// `, name=value`, unless the options exclude it.
    fn attribute(
        &self,
        f: &mut dyn Write,
        attribute: &Attribute,
        within: Option<ComputationId>,
        depth: usize,
    ) -> fmt::Result {
        let (m, name) = (self.m, self.m.attribute_name(attribute));
        let is_asked_for = match name {
            "metadata" => self.options.metadata,
            "backend_config" => self.options.backend_config,
            "control-predecessors" => self.options.control_predecessors,
            _ => true,
        };
        if !is_asked_for {
            return Ok(());
        }
        write!(f, ", {name}=")?;
        match attribute.form {
            Form::Computation => self.callee(f, m.list(attribute.link)[0], depth),
            Form::Computations => {
                f.write_str("{")?;
                for (k, &c) in m.list(attribute.link).iter().enumerate() {
                    f.write_str(if k > 0 { ", " } else { "" })?;
                    self.callee(f, c, depth)?;
                }
                f.write_str("}")
            }
            Form::Instructions => {
                f.write_str("{")?;
                let start = within.map_or(0, |c| m.instructions_of(c).start);
                for (k, &i) in m.list(attribute.link).iter().enumerate() {
                    let comma = if k > 0 { ", " } else { "" };
                    write!(f, "{comma}%{}", self.name(start + i))?;
                }
                f.write_str("}")
            }
            Form::Shape | Form::EntryLayout if !self.options.layouts => match m.value(attribute, within) {
                Value::Shape(shape) => write!(f, "{}", shape.without_layout()),
                Value::EntryLayout(mut layout) => {
                    layout.parameters.iter_mut().for_each(|p| *p = p.without_layout().into_owned());
                    layout.result = layout.result.without_layout().into_owned();
                    write!(f, "{layout}")
                }
                _ => f.write_str(m.attribute_text(attribute)),
            },
            _ => f.write_str(m.attribute_text(attribute)),
        }
    }

    fn callee(&self, f: &mut dyn Write, id: ComputationId, depth: usize) -> fmt::Result {
        if !self.m.computations()[id as usize].is_inline {
            return write!(f, "%{}", self.computation_name(id));
        }
        write!(f, "\n{:1$}", "", 2 * depth + 2)?;
        self.body(f, id, depth + 1)
    }
}
