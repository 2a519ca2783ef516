//! Questions about whole maps, each with an answer or the reason why it is undecided.

pub mod count;
pub mod eliminate;
pub mod equal;
pub mod inverse;

pub(crate) mod boxes;
pub mod coalesce;
pub(crate) mod common_element;
pub mod contains;
pub mod image;
pub mod injective;
pub(crate) mod integer_system;
pub mod overlap;
mod points;
pub mod ranges;
mod separable;
pub mod windows;
