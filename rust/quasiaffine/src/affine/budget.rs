//! The budget of a simplification.

use crate::cancel::is_cancelled;
use crate::error::Stop;
use crate::trace::Trace;

/// The effort between two questions whether the work is cancelled, a power of two.
const LOOK_AFTER: u32 = 1 << 13;

/// The effort left to a simplification over all its contexts, and the trace of its rules.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The number of terms that may still be examined. At 0 everything stays as it is.
    pub effort: u32,
    /// The rules that fired, if a trace was requested.
    pub trace: Option<Trace>,
}

impl Budget {
    /// Some ten milliseconds, a thousand times what maps of programs take.
    pub const EFFORT: u32 = crate::limits::EFFORT as u32;

    /// Spends the effort of examining `n` terms.
    ///
    /// # Errors
    /// [`Stop::Effort`] if no effort is left, [`Stop::Cancelled`] if the work is cancelled.
    pub(crate) fn spend(&mut self, n: usize) -> Result<(), Stop> {
        match self.effort.checked_sub(u32::try_from(n + 1).unwrap_or(u32::MAX)) {
            Some(left) => {
                if (left ^ self.effort) >= LOOK_AFTER && is_cancelled() {
                    self.effort = 0;
                    return Err(Stop::Cancelled);
                }
                self.effort = left;
                Ok(())
            }
            None => {
                self.effort = 0;
                Err(Stop::Effort)
            }
        }
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { effort: Budget::EFFORT, trace: None }
    }
}
