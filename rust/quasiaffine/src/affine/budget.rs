//! The budget of a simplification.

use crate::error::Stop;
use crate::interrupt::look;
use crate::simplify::trace::Trace;

/// The effort after which an interrupt is looked for, a power of two.
const LOOK_AFTER: u32 = 1 << 13;

/// The effort left to a simplification, over all its contexts, and the record of what it did.
#[derive(Clone, Debug)]
pub struct Budget {
    /// How many terms may still be looked at. Past that everything stays as it is.
    pub effort: u32,
    /// The rules that fired, where somebody asks.
    pub trace: Option<Trace>,
}

impl Budget {
    /// Some ten milliseconds, a thousand times what maps of programs take.
    pub const EFFORT: u32 = crate::limits::EFFORT as u32;

    /// Spends effort on looking at `n` terms.
    ///
    /// # Errors
    /// [`Stop::Effort`] where none is left.
    pub(crate) fn spend(&mut self, n: usize) -> Result<(), Stop> {
        match self.effort.checked_sub(u32::try_from(n + 1).unwrap_or(u32::MAX)) {
            Some(left) => {
                if (left ^ self.effort) >= LOOK_AFTER {
                    look();
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
