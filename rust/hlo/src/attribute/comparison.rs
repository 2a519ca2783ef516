//! The order of a comparison: the attribute `order` of XLA since August 2026, `type` before.
//!
//! Every version reads `type` in text, so text and protos get it wherever it can express the order.

use layout::{ElementKind, Shape};

pub(crate) const ORDERS: &[&str] = &["PARTIAL", "TOTAL"];

/// The word of `type` for the default order of operands of this shape, which XLA leaves out.
pub(crate) fn default_type(operand: Option<&Shape>) -> &'static str {
    match operand.and_then(Shape::as_array).map(|a| a.element().kind()) {
        Some(ElementKind::Signed) => "SIGNED",
        Some(ElementKind::Unsigned | ElementKind::Boolean) => "UNSIGNED",
        _ => "FLOAT",
    }
}

/// The word of `type` for an order; `None` for the partial order of integers, which `type` cannot express.
pub(crate) fn type_word(order: &str, operand: Option<&Shape>) -> Option<&'static str> {
    match (default_type(operand), order) {
        ("FLOAT", "PARTIAL") => Some("FLOAT"),
        ("FLOAT", "TOTAL") => Some("TOTALORDER"),
        (default, "TOTAL") => Some(default),
        _ => None,
    }
}

/// The order that a word of `type` stands for.
pub(crate) fn order_of(type_word: &str, operand: Option<&Shape>) -> Option<&'static str> {
    match type_word {
        "TOTALORDER" => Some("TOTAL"),
        "FLOAT" => Some("PARTIAL"),
        "SIGNED" | "UNSIGNED" if default_type(operand) == "FLOAT" => Some("PARTIAL"),
        "SIGNED" | "UNSIGNED" => Some("TOTAL"),
        _ => None,
    }
}
