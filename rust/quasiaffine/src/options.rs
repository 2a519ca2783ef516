//! The choices of a caller in a simplification.

/// Options of simplification beyond finding shorter forms; all are off by default.
///
/// ```
/// use quasiaffine::{Map, Options};
/// const KEEP: Options = Options::new().keep_point_dims(true);
/// let map: Map = "(d0) -> (d0 * 2), domain: d0 in [3, 3]".parse()?;
/// assert_eq!(map.simplify(Options::default()).to_string(), "(d0) -> (6), domain: d0 in [3, 3]");
/// assert_eq!(map.simplify(KEEP), map);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep dimensions of one value as variables instead of writing the value.
    pub keep_point_dims: bool,
    /// Remove range and runtime variables that nothing uses, and renumber the others.
    pub drop_unused: bool,
    /// Solve equalities for range variables, and remove these. The last step, since maps join while their constraints
    /// are intervals.
    pub solve: bool,
    /// Rescale a range variable whose residue a constraint fixes, so that it counts in steps of the modulus. The map
    /// touches the same elements, by other values of the variable.
    pub rescale: bool,
    /// Let every change go through a rule, so that tests and traces see it: no shortcut is taken. The result is the same.
    pub rules_only: bool,
}

impl Options {
    /// No option.
    pub const fn new() -> Options {
        Options { keep_point_dims: false, drop_unused: false, solve: false, rescale: false, rules_only: false }
    }

    /// With [`Options::keep_point_dims`] as given.
    #[must_use]
    pub const fn keep_point_dims(self, keep_point_dims: bool) -> Options {
        Options { keep_point_dims, ..self }
    }

    /// With [`Options::drop_unused`] as given.
    #[must_use]
    pub const fn drop_unused(self, drop_unused: bool) -> Options {
        Options { drop_unused, ..self }
    }

    /// With [`Options::solve`] as given.
    #[must_use]
    pub const fn solve(self, solve: bool) -> Options {
        Options { solve, ..self }
    }

    /// With [`Options::rescale`] as given.
    #[must_use]
    pub const fn rescale(self, rescale: bool) -> Options {
        Options { rescale, ..self }
    }

    /// With [`Options::rules_only`] as given.
    #[must_use]
    pub const fn rules_only(self, rules_only: bool) -> Options {
        Options { rules_only, ..self }
    }
}
