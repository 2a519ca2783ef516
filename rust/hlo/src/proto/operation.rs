//! Parts of an operation in a proto beyond the fields of its attributes: messages that are always present, and the
//! order of its called computations.
//!
//! Not here: the fields of attributes, which `attribute::schema` lists.

/// Messages that XLA requires on an operation even if they are empty, by field number.
pub(crate) fn required_messages(opcode: &str) -> &'static [u32] {
    match opcode {
        "dot" | "scaled-dot" => &[30],
        "ragged-dot" => &[90],
        "convolution" => &[15, 16],
        "reduce-window" | "select-and-scatter" => &[15],
        "pad" => &[21],
        "gather" => &[33],
        "scatter" => &[48],
        "triangular-solve" => &[59],
        "cholesky" => &[62],
        _ => &[],
    }
}

/// The attributes that name the called computations of an operation, in the order of their ids. `branch_computations`
/// and `called_computations` take all of them.
pub(crate) fn callees(opcode: &str, has_predicate: bool) -> &'static [&'static str] {
    match opcode {
        "fusion" | "async-start" | "async-update" | "async-done" => &["calls"],
        "while" => &["body", "condition"],
        "select-and-scatter" => &["select", "scatter"],
        "conditional" if has_predicate => &["true_computation", "false_computation"],
        "conditional" => &["branch_computations"],
        "custom-call" => &["called_computations"],
        _ => &["to_apply"],
    }
}

/// As [`callees`], for `n` computations; `None` if the operation calls a different number of them.
pub(crate) fn callee_names(opcode: &str, has_predicate: bool, n: usize) -> Option<&'static [&'static str]> {
    let names = callees(opcode, has_predicate && n == 2);
    (names.len() == n || matches!(names, ["branch_computations" | "called_computations"])).then_some(names)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::callees;
    use crate::{attributes_of, Form, Opcode, Owner};

    /// The schema has these attributes, too. A custom call may have one computation under either name.
    #[test]
    fn called_computations_have_the_attributes_of_the_schema() {
        for opcode in Opcode::names() {
            let owner = Owner::from_name(opcode);
            let calls = attributes_of(owner).filter(|a| matches!(a.form, Form::Computation | Form::Computations));
            let expected: BTreeSet<&str> = calls.map(|a| a.name).collect();
            if !expected.is_empty() {
                let mut found: BTreeSet<&str> =
                    [false, true].into_iter().flat_map(|p| callees(opcode, p)).copied().collect();
                found.extend((opcode == "custom-call").then_some("to_apply"));
                assert_eq!(found, expected, "{opcode}");
            }
        }
    }
}
