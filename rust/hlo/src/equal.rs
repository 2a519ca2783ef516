//! Equality of modules up to spelling.
//!
//! The order of attributes, explicit defaults, the spelling of numbers and the tables of stack frames are ignored;
//! shapes with their layouts, operands, values and metadata are compared.

use cancel::poll;
use layout::{with_layout, Shape};
use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::attribute::entry_layout::EntryLayout;
use crate::attribute::fields;
use crate::attribute::metadata::is_number;
use crate::attribute::schema::Form;
use crate::attribute::Value;
use crate::cursor::Cursor;
use crate::error::Span;
use crate::model::canonical::{named, plain, squeezed};
use crate::model::literal::with_shape;
use crate::model::module::{Attribute, InstructionId, Module};
use crate::proto::literal::in_order;
use crate::proto::original::encoded;
use crate::Opcode;

/// Whether names are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Modules that differ in a name differ.
    Count,
    /// Names of modules, computations and instructions are ignored.
    Ignored,
}

impl Module {
    /// Whether two modules have the same computations of the same instructions in the same order.
    pub fn same_as(&self, other: &Module, names: Names) -> bool {
        self.difference(other, names).is_none()
    }

    /// The first difference of two modules, for a message.
    pub fn difference(&self, other: &Module, names: Names) -> Option<String> {
        if self.pieces.is_none() && other.pieces.is_none() && self.own_text() == other.own_text() {
            return None;
        }
        let count = names == Names::Count;
        if self.computations().len() != other.computations().len() || self.entry() != other.entry() {
            return Some("the computations".into());
        }
        if count && self.printed_module_name() != other.printed_module_name() {
            return Some("the names of the modules".into());
        }
        let same = |a: &[Attribute], b: &[Attribute]| canonical(self, a, None) == canonical(other, b, None);
        if !same(self.header(), other.header()) {
            return Some("the headers".into());
        }
        for c in 0..self.computations().len() as u32 {
            let what = |what: &str| Some(format!("{what} of computation {}", self.printed_name(c)));
            if count && self.printed_name(c) != other.printed_name(c) {
                return what("the name");
            }
            if self.instructions_of(c) != other.instructions_of(c)
                || self.root(c) != other.root(c)
                || self.parameters(c) != other.parameters(c)
            {
                return what("the instructions");
            }
            if !same(self.computation_attributes(c), other.computation_attributes(c)) {
                return what("the attributes");
            }
        }
        (0..self.instructions().len() as u32).find_map(|i| self.row_difference(other, i, count))
    }

    /// The shape as XLA stores it: a constant always has a layout.
    fn laid_out(&self, i: InstructionId) -> Cow<'_, Shape> {
        match self.instructions()[i as usize].opcode {
            Opcode::Constant => Cow::Owned(with_layout(self.shape(i))),
            _ => Cow::Borrowed(self.shape(i)),
        }
    }

    fn row_difference(&self, other: &Module, i: InstructionId, names: bool) -> Option<String> {
        poll();
        let what = if names && self.instruction_name(i) != other.instruction_name(i) {
            "the name"
        } else if self.laid_out(i) != other.laid_out(i) {
            "the shape"
        } else if self.opcode_name(i) != other.opcode_name(i) {
            "the opcode"
        } else if !self.operands(i).eq(other.operands(i))
            || self.has_unnamed_operands(i) != other.has_unnamed_operands(i)
            || self.parameter_number(i) != other.parameter_number(i)
        {
            "the operands"
        } else if self.literal(i) != other.literal(i) || self.is_elided(i) != other.is_elided(i) {
            "the value"
        } else if canonical(self, self.attributes(i), Some(i)) != canonical(other, other.attributes(i), Some(i)) {
            "the attributes"
        } else {
            return None;
        };
        Some(format!("{what} of {}", self.instruction_name(i)))
    }
}

/// Attributes by name in a canonical spelling, without those that are equal to their default.
fn canonical(m: &Module, attributes: &[Attribute], of: Option<InstructionId>) -> BTreeMap<String, String> {
    let opcode = of.map(|i| m.instructions()[i as usize].opcode);
    let mut all = BTreeMap::new();
    for a in attributes {
        let (name, value) = named(m, a, of);
        let text = match (a.form, value) {
            (Form::Computation | Form::Computations, _) => format!("{:?}", m.list(a.link)),
            (Form::Metadata, _) => metadata(m.attribute_text(a)),
            (Form::Literal, _) => literal(m.attribute_text(a)),
            (_, Value::EntryLayout(layout)) if layout == entry_layout(m) => continue,
            (_, value) => match decoded(name, &value).or_else(|| plain(name, opcode, value)) {
                Some(text) => text,
                None => continue,
            },
        };
        if text != "{}" || !matches!(a.form, Form::Metadata | Form::FrontendAttributes | Form::Braced) {
            all.insert(name.to_string(), text);
        }
    }
    all
}

/// The content of a text that is decoded for comparisons alone; `None` for any other value.
fn decoded(name: &str, value: &Value<'_>) -> Option<String> {
    let &Value::Raw(text) = value else { return None };
    match name {
        "domain" => fields::domain(&mut Cursor::new(text)).ok().map(|parts| format!("{parts:?}")),
        _ => encoded(name, text).map(|fields| format!("{fields:?}")),
    }
}

/// The shape and the value of a literal. Of its layout only the order of dimensions counts, as in a proto.
fn literal(text: &str) -> String {
    match with_shape(&mut Cursor::new(text), 0, &mut 0) {
        Ok((shape, Some(value))) => format!("{} {value:?}", in_order(&shape)),
        _ => squeezed(text),
    }
}

/// The entry layout that the entry computation implies.
fn entry_layout(m: &Module) -> EntryLayout {
    let parameters = m.parameters(m.entry()).iter().map(|&p| m.shape(p).clone()).collect();
    EntryLayout { parameters, result: m.shape(m.root(m.entry())).clone() }
}

/// The fields of metadata, sorted by name, without fields that are empty or 0, which mean absent, and without leading
/// zeros in numbers.
fn metadata(text: &str) -> String {
    let mut fields = fields::values(text, Span::new(0, text.len()));
    for (name, value) in &mut fields {
        if let (true, Ok(number)) = (is_number(name), value.parse::<i64>()) {
            *value = number.to_string().into();
        }
    }
    fields.retain(|(_, value)| !matches!(value.as_ref(), "" | "0" | "{}"));
    fields.sort_unstable();
    if fields.is_empty() {
        "{}".into()
    } else {
        format!("{fields:?}")
    }
}
