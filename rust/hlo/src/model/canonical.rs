//! The canonical name and spelling of an attribute, equal for attributes that mean the same.

use crate::attribute::accuracy::Accuracy;
use crate::attribute::comparison::type_word;
use crate::attribute::schema;
use crate::attribute::Value;
use crate::model::module::{Attribute, InstructionId, Module};
use crate::Opcode;

impl Module {
    /// The word of `type` for an attribute that is the order of a comparison; `None` for any other attribute, and for
    /// an order that `type` cannot express.
    pub(crate) fn comparison_type(&self, i: InstructionId, a: &Attribute) -> Option<&'static str> {
        let is_order = self.instructions()[i as usize].opcode == Opcode::Compare && self.attribute_name(a) == "order";
        if !is_order {
            return None;
        }
        type_word(self.attribute_text(a), self.operands(i).next().map(|k| self.shape(k)))
    }
}

/// An attribute by the canonical name and value of its meaning.
pub(crate) fn named<'m>(m: &'m Module, a: &Attribute, of: Option<InstructionId>) -> (&'m str, Value<'m>) {
    let name = match (m.attribute_name(a), of.map(|i| m.instructions()[i as usize].opcode)) {
        ("to_apply", Some(Opcode::CustomCall)) => "called_computations",
        ("conv_kind", _) => "convolution_kind",
        (name, _) => name,
    };
    match of.and_then(|i| m.comparison_type(i, a)) {
        Some(word) => ("type", Value::Word(word)),
        None => (name, m.value(a, of.map(|i| m.computation_of(i)))),
    }
}

/// The canonical spelling of a value; `None` for a default.
pub(crate) fn plain(name: &str, opcode: Option<Opcode>, value: Value<'_>) -> Option<String> {
    let key = schema::key(name.as_bytes());
    let opcode = opcode.map_or("", Opcode::name);
    let default = key.map_or(Some(0), |key| schema::TABLE[key as usize].default_on(opcode));
    match &value {
        Value::Bool(b) if default == Some(i64::from(*b)) => return None,
        // A group count of 0 stands for the default as well.
        Value::Int(n) if default.is_some_and(|default| *n == default || *n == 0) => return None,
        Value::Ints(list) if list.is_empty() => return None,
        Value::Words(list) if name == "operand_precision" && list.iter().all(|w| *w == "default") => return None,
        Value::Window(w) if w.dims.is_empty() => return None,
        Value::Word("FLOAT" | "SIGNED" | "UNSIGNED") if name == "type" => return None,
        Value::Word("API_VERSION_ORIGINAL") => return None,
        Value::Word("unset") if name == "convolution_kind" || name == "algorithm" => return None,
        Value::Sides(sides) if sides.0.is_empty() => return None,
        Value::Aliases(list) | Value::OperandAliases(list) if list.is_empty() => return None,
        Value::Donors(list) if list.is_empty() => return None,
        Value::Text(text) if text.is_empty() && key.is_some() => return None,
        Value::Accuracy(Accuracy::Default) => return None,
        _ => {}
    }
    Some(match value {
        Value::Float(v) => format!("{}", v as f32),
        Value::Dictionary(mut pairs) => {
            pairs.sort_unstable();
            format!("{pairs:?}")
        }
        // Space outside strings is not significant, in HLO nor in JSON.
        Value::Raw(text) => squeezed(text),
        Value::Text(text) => squeezed(&text),
        value => format!("{value:?}"),
    })
}

/// The text without space and index comments (`/*index=5*/`) outside strings.
pub(crate) fn squeezed(text: &str) -> String {
    let mut in_string = false;
    let mut last = ' ';
    let mut out = String::with_capacity(text.len());
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if !in_string && text[at..].starts_with("/*index=") {
            chars.by_ref().find(|&(at, _)| text[..at].ends_with("*/") || text[at..].starts_with("*/"));
            chars.next();
            continue;
        }
        in_string ^= c == '"' && last != '\\';
        last = if last == '\\' { ' ' } else { c };
        if in_string || !c.is_whitespace() {
            out.push(c);
        }
    }
    out
}
