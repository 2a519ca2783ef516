//! The meter of a question: it counts the work, asks whether the work is cancelled, and stops it at a limit.
//!
//! Every loop over terms, pairs or maps spends on a meter before it examines them. A question has one meter; a question
//! that asks others gives each a [part](Meter::part) of it, so that it ends within its effort however many they are.
//! Only the effort and a cancellation end the work, so an answer never depends on the machine.

use crate::cancel::{is_cancelled, poll, steps};
use crate::error::Stop;

/// The effort between two questions whether the work is cancelled, one step of [`crate::cancel::n_steps`]; a power of two, some 50
/// microseconds.
const STEP: u64 = 1 << 13;

/// The effort left to a question, in terms or coefficients examined.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    left: u64,
}

impl Meter {
    /// A meter with this much effort, see [`crate::limits`].
    pub const fn new(effort: u64) -> Meter {
        Meter { left: effort }
    }

    /// Spends the effort of examining `n` terms.
    ///
    /// # Errors
    /// [`Stop::Effort`] if less effort is left, [`Stop::Cancelled`] if the work is cancelled; no effort is left then.
    #[inline]
    pub fn spend(&mut self, n: usize) -> Result<(), Stop> {
        match self.left.checked_sub(n as u64 + 1) {
            Some(left) => {
                if (left ^ self.left) >= STEP {
                    self.step(left)?;
                }
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(Stop::Effort)
            }
        }
    }

    #[cold]
    fn step(&mut self, left: u64) -> Result<(), Stop> {
        let n_steps = (self.left / STEP - left / STEP) as usize;
        // The first step of a question, which may be one of many short ones, is a poll; a long question asks at each step.
        let is_first = self.left.is_multiple_of(STEP);
        steps(n_steps - usize::from(is_first));
        if (is_first && poll()) || (!is_first && is_cancelled()) {
            self.left = 0;
            return Err(Stop::Cancelled);
        }
        Ok(())
    }

    /// The effort that is left.
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// All of the effort, for a context that holds it meanwhile.
    pub const fn take(&mut self) -> Meter {
        std::mem::replace(self, Meter::new(0))
    }

    /// Asks a question that may spend at most `most` of the remaining effort; the unspent part stays.
    pub fn part<T>(&mut self, most: u64, ask: impl FnOnce(&mut Meter) -> T) -> T {
        let given = self.left.min(most);
        let mut own = Meter::new(given);
        let answer = ask(&mut own);
        self.left -= given - own.left;
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::{n_steps, watched, Cancelled};

    #[test]
    fn a_meter_counts_and_stops() {
        let (mut meter, before) = (Meter::new(4 * STEP), n_steps());
        assert_eq!((meter.spend(STEP as usize - 1), meter.left()), (Ok(()), 3 * STEP));
        let of_part = meter.part(STEP, |own| own.spend(2 * STEP as usize));
        assert_eq!((of_part, meter.left()), (Err(Stop::Effort), 2 * STEP));
        assert_eq!(meter.part(9 * STEP, |own| own.spend(0)), Ok(()));
        assert_eq!((meter.spend(2 * STEP as usize), meter.left()), (Err(Stop::Effort), 0));
        assert_eq!(meter.spend(0), Err(Stop::Effort));
        assert_eq!(n_steps() - before, 2);
    }

    #[test]
    fn a_cancellation_is_heard() {
        let endless = || {
            let mut meter = Meter::new(u64::MAX);
            while meter.spend(9).is_ok() {}
        };
        assert_eq!(watched(|| true, endless), Err(Cancelled));
    }
}
