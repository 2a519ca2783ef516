//! Why a draft is not a module.

use std::fmt;

use crate::error::SyntaxErrors;

/// The reason why no module was written.
#[derive(Debug)]
pub enum EditError {
    /// Each of these instructions, or computations, reads or calls the one before, and the first is the last.
    Cycle(&'static str, Vec<String>),
    /// The text of the module leaves something out that the edit needs.
    Unreadable(String),
    /// The arguments cannot be right.
    Invalid(String),
    /// The reader refuses the text that was written.
    Refused(SyntaxErrors),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::Cycle(verb, path) => {
                let steps: Vec<String> = path.windows(2).map(|w| format!("{} {verb} {}", w[1], w[0])).collect();
                match steps.split_last() {
                    Some((last, rest)) if !rest.is_empty() => write!(f, "{} and {last}: a cycle", rest.join(", ")),
                    _ => write!(f, "{}: a cycle", steps.join("")),
                }
            }
            EditError::Unreadable(reason) | EditError::Invalid(reason) => f.write_str(reason),
            EditError::Refused(errors) => match errors.problems.first() {
                Some(first) => write!(f, "{first}"),
                None => write!(f, "{errors}"),
            },
        }
    }
}
