//! Module to text that reads back as an equal module, in XLA's syntax.
//!
//! Read `Display for Module`. Literals and attribute values are printed as they were written; names of operands and
//! computations carry `%`. A computation that was written in place of its name is printed in place again.
//! What must have a name and has none gets one: `module`, `main`, `computation_N`.

use std::borrow::Cow;
use std::fmt::{self, Write};

use layout::Shape;

use crate::attribute::{DimLabels, Window, WindowDim};
use crate::known::Form;
use crate::module::{Attribute, ComputationId, InstructionId, Module};
use crate::Arity;

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name().is_empty() { "module" } else { self.name() };
        write!(f, "HloModule {name}")?;
        for attribute in self.header() {
            write!(f, ", ")?;
            self.print_attribute(f, attribute, None, 0)?;
        }
        f.write_str("\n")?;
        if !self.frames.span.is_empty() {
            write!(f, "\n{}\n", self.text(self.frames.span).trim_end())?;
        }
        for c in 0..self.computations().len() as u32 {
            if !self.computations()[c as usize].is_inline() {
                f.write_str("\n")?;
                self.print_computation(f, c)?;
            }
        }
        Ok(())
    }
}

/// One instruction in a line, without `ROOT`.
pub fn print_instruction(module: &Module, id: InstructionId) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = module.print_row(&mut text, id, 0);
    text
}

impl Module {
    fn print_computation(&self, f: &mut dyn Write, id: ComputationId) -> fmt::Result {
        if id == self.entry() {
            f.write_str("ENTRY ")?;
        }
        write!(f, "%{} (", self.printed_name(id))?;
        for (k, &p) in self.parameters(id).iter().enumerate() {
            let comma = if k > 0 { ", " } else { "" };
            write!(f, "{comma}{}: {}", self.instruction_name(p), self.shape(p).without_layout())?;
        }
        write!(f, ") -> {} ", self.shape(self.root(id)).without_layout())?;
        self.print_body(f, id, 0)?;
        for attribute in self.computation_attributes(id) {
            f.write_str(", ")?;
            self.print_attribute(f, attribute, Some(id), 0)?;
        }
        f.write_str("\n")
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

    fn print_body(&self, f: &mut dyn Write, id: ComputationId, depth: usize) -> fmt::Result {
        f.write_str("{\n")?;
        for i in self.instructions_of(id) {
            let root = if i == self.root(id) { "ROOT " } else { "" };
            write!(f, "{:1$}{root}", "", 2 * depth + 2)?;
            self.print_row(f, i, depth)?;
            f.write_str("\n")?;
        }
        write!(f, "{:1$}}}", "", 2 * depth)
    }

    fn print_row(&self, f: &mut dyn Write, i: InstructionId, depth: usize) -> fmt::Result {
        write!(f, "%{} = {} {}(", self.instruction_name(i), self.shape(i), self.opcode_name(i))?;
        let row = &self.instructions()[i as usize];
        if let Some(number) = self.parameter_number(i) {
            write!(f, "{number}")?;
        } else if let Some(literal) = self.literal_text(i) {
            f.write_str(literal)?;
        } else if self.has_unnamed_operands(i) {
            let n = match row.opcode.arity() {
                Arity::Fixed(n) => usize::from(n),
                Arity::Any => row.body.start as usize,
            };
            f.write_str(&", ".repeat(n.saturating_sub(1)))?;
        } else {
            for (k, operand) in self.operands(i).enumerate() {
                let comma = if k > 0 { ", " } else { "" };
                write!(f, "{comma}%{}", self.instruction_name(operand))?;
            }
        }
        f.write_str(")")?;
        for attribute in self.attributes(i) {
            f.write_str(", ")?;
            self.print_attribute(f, attribute, Some(self.computation_of(i)), depth)?;
        }
        Ok(())
    }

    fn print_attribute(
        &self,
        f: &mut dyn Write,
        attribute: &Attribute,
        within: Option<ComputationId>,
        depth: usize,
    ) -> fmt::Result {
        write!(f, "{}=", self.attribute_name(attribute))?;
        match attribute.form {
            Form::Computation => self.print_called(f, self.list(attribute.link)[0], depth),
            Form::Computations => {
                f.write_str("{")?;
                for (k, &c) in self.list(attribute.link).iter().enumerate() {
                    f.write_str(if k > 0 { ", " } else { "" })?;
                    self.print_called(f, c, depth)?;
                }
                f.write_str("}")
            }
            Form::Instructions => {
                f.write_str("{")?;
                let start = within.map_or(0, |c| self.instructions_of(c).start);
                for (k, &i) in self.list(attribute.link).iter().enumerate() {
                    let comma = if k > 0 { ", " } else { "" };
                    write!(f, "{comma}%{}", self.instruction_name(start + i))?;
                }
                f.write_str("}")
            }
            _ => f.write_str(self.attribute_text(attribute)),
        }
    }

    fn print_called(&self, f: &mut dyn Write, id: ComputationId, depth: usize) -> fmt::Result {
        if !self.computations()[id as usize].is_inline() {
            return write!(f, "%{}", self.printed_name(id));
        }
        write!(f, "\n{:1$}", "", 2 * depth + 2)?;
        self.print_body(f, id, depth + 1)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by_dim = |one: &dyn Fn(&WindowDim) -> String| self.dims.iter().map(one).collect::<Vec<_>>().join("x");
        write!(f, "{{size={}", by_dim(&|d| d.size.to_string()))?;
        if self.dims.iter().any(|d| d.stride != 1) {
            write!(f, " stride={}", by_dim(&|d| d.stride.to_string()))?;
        }
        if self.dims.iter().any(|d| (d.pad_low, d.pad_high) != (0, 0)) {
            write!(f, " pad={}", by_dim(&|d| format!("{}_{}", d.pad_low, d.pad_high)))?;
        }
        if self.dims.iter().any(|d| d.base_dilation != 1) {
            write!(f, " lhs_dilate={}", by_dim(&|d| d.base_dilation.to_string()))?;
        }
        if self.dims.iter().any(|d| d.window_dilation != 1) {
            write!(f, " rhs_dilate={}", by_dim(&|d| d.window_dilation.to_string()))?;
        }
        if self.dims.iter().any(|d| d.reversal) {
            write!(f, " rhs_reversal={}", by_dim(&|d| i64::from(d.reversal).to_string()))?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for DimLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |first: (i64, char), second: (i64, char), spatial: &[i64]| {
            let digits = spatial.iter().zip('0'..).map(|(&d, c)| (d, c));
            let mut all: Vec<_> = digits.chain([first, second]).collect();
            all.sort_unstable();
            // A place without a label is a dimension without a part in the convolution.
            let mut text = String::new();
            for (d, c) in all {
                while (text.len() as i64) < d {
                    text.push('?');
                }
                text.push(c);
            }
            text
        };
        let input = word((self.input_batch, 'b'), (self.input_feature, 'f'), &self.input_spatial);
        let kernel = word((self.kernel_input_feature, 'i'), (self.kernel_output_feature, 'o'), &self.kernel_spatial);
        let output = word((self.output_batch, 'b'), (self.output_feature, 'f'), &self.output_spatial);
        write!(f, "{input}_{kernel}->{output}")
    }
}

/// A shape as a signature has it.
pub(crate) trait WithoutLayout {
    fn without_layout(&self) -> Cow<'_, Shape>;
}

impl WithoutLayout for Shape {
    fn without_layout(&self) -> Cow<'_, Shape> {
        match self {
            Shape::Array(a) if a.layout().is_some() => match a.with_layout(None) {
                Ok(array) => Cow::Owned(Shape::Array(array)),
                Err(_) => Cow::Borrowed(self),
            },
            Shape::Tuple(parts) => {
                Cow::Owned(Shape::Tuple(parts.iter().map(|p| p.without_layout().into_owned()).collect()))
            }
            Shape::Buffer(inner) => Cow::Owned(Shape::Buffer(Box::new(inner.without_layout().into_owned()))),
            other => Cow::Borrowed(other),
        }
    }
}
