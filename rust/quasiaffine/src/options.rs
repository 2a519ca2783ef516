//! The choices of a caller in a simplification.

/// Options of simplification beyond finding shorter forms.
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

/// Whether the shortcuts of `fast_path` are taken. They give the answers of the rules, in less time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FastPath {
    /// Shortcuts are taken.
    #[default]
    On,
    /// Everything goes through the rules: for tests, and to trace which rules fire.
    Off,
}
