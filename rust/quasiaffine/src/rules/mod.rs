//! The rules that read, divide, merge and write affine forms, and reduce constraints; `laws.rs` lists their laws.

pub(crate) mod constraint;
pub(crate) mod div;
pub(crate) mod div_of_variables;
pub(crate) mod extraction;
pub(crate) mod nonlinear;
pub(crate) mod reading;
pub(crate) mod related_divs;
pub(crate) mod remainder;
pub(crate) mod residues;

use crate::laws::{laws, Rule};

/// Makes the list of the stage `Division`.
macro_rules! division {
    ($($stage:ident { $($rule:ident, $name:literal, $law:literal, $function:path;)* })*) => {
        $(division!(@list $stage { $($rule, $function;)* });)*
    };
    (@list Division { $($rule:ident, $function:path;)* }) => {
        /// The laws of division in the order in which they are tried.
        pub(crate) const DIV_RULES: &[(Rule, div::Law)] = &[$((Rule::$rule, $function),)*];
    };
    (@list $stage:ident $functions:tt) => {};
}

laws!(division);
