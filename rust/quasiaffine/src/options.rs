//! The choices of a caller in a simplification.

/// Options of simplification beyond finding shorter forms; all are off by default.
///
/// ```
/// use quasiaffine::{simplify, Map, Options};
/// const KEEP: Options = Options::new().keep_point_dims(true);
/// let map: Map = "(d0) -> (d0 * 2), domain: d0 in [3, 3]".parse()?;
/// assert_eq!(simplify(&map, Options::default()).to_string(), "(d0) -> (6), domain: d0 in [3, 3]");
/// assert_eq!(simplify(&map, KEEP), map);
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
    /// Whether shortcuts may be taken. The result is the same.
    pub fast_path: FastPath,
}

impl Options {
    /// No option.
    pub const fn new() -> Options {
        Options { keep_point_dims: false, drop_unused: false, solve: false, rescale: false, fast_path: FastPath::On }
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

    /// With [`Options::fast_path`] as given.
    #[must_use]
    pub const fn fast_path(self, fast_path: FastPath) -> Options {
        Options { fast_path, ..self }
    }
}

/// Whether the shortcuts of `fast_path` are taken. They give the answers of the rules, in less time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FastPath {
    /// Shortcuts are taken.
    #[default]
    On,
    /// Everything goes through the rules: for tests, and to trace which rules fire.
    Off,
}
