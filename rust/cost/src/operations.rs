//! Numbers of arithmetic operations, which know whether they are exact.

use flow::Text;
use quasiaffine::Count;

/// A number of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operations {
    /// Additions, comparisons, conversions and the like.
    pub flops: u128,
    /// Functions such as `exp`.
    pub transcendentals: u128,
    /// Whether the counts are exact; otherwise they are upper bounds.
    pub exact: bool,
}

/// A value, or the reason why it is unknown.
pub type Known<T> = Result<T, Text>;

impl Operations {
    /// No operations.
    pub const NOTHING: Operations = Operations { flops: 0, transcendentals: 0, exact: true };

    /// One flop.
    pub const FLOP: Operations = Operations { flops: 1, ..Operations::NOTHING };

    pub(crate) fn sum(self) -> Option<u128> {
        self.flops.checked_add(self.transcendentals)
    }

    pub(crate) fn of(flops: Option<u128>, transcendentals: Option<u128>, exact: bool) -> Known<Operations> {
        let (flops, transcendentals) = flops.zip(transcendentals).ok_or("too many operations to count")?;
        Ok(Operations { flops, transcendentals, exact })
    }

    pub(crate) fn plus(self, other: Operations) -> Known<Operations> {
        let flops = self.flops.checked_add(other.flops);
        Operations::of(flops, self.transcendentals.checked_add(other.transcendentals), self.exact && other.exact)
    }

    pub(crate) fn times(self, n: Count) -> Known<Operations> {
        let times = |k: u128| k.checked_mul(n.upper);
        Operations::of(times(self.flops), times(self.transcendentals), self.exact && n.lower == n.upper)
    }

    /// The operations on some of the `n` elements, at most, if one element takes at most `most` and all take these.
    pub(crate) fn of_elements(self, some: Count, n: u128, most: Operations) -> Operations {
        if some.upper == n {
            return Operations { exact: self.exact && some.lower == n, ..self };
        }
        let is_even = most.times(Count::exact(n)) == Ok(self);
        let Ok(found) = most.times(some) else { return Operations { exact: false, ..self } };
        Operations {
            flops: found.flops.min(self.flops),
            transcendentals: found.transcendentals.min(self.transcendentals),
            exact: found.exact && is_even,
        }
    }
}
