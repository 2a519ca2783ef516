//! Questions about whole maps that have an answer, or a reason why not.

pub mod count;
pub mod equal;
pub mod inverse;
