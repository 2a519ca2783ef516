//! The budget of a simplification.

use crate::limits::EFFORT;
use crate::meter::Meter;
use crate::trace::Trace;

/// The meter of a simplification over all its contexts, and the trace of its rules.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The terms that may still be examined. With nothing left everything stays as it is.
    pub(crate) meter: Meter,
    /// The rules that fired, if a trace was requested.
    pub trace: Option<Trace>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { meter: Meter::new(EFFORT), trace: None }
    }
}
