//! The choices of a caller in a simplification.

/// Options of simplification beyond finding shorter forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep dimensions of one value as variables instead of writing the value.
    pub keep_point_dims: bool,
    /// Remove range and runtime variables that nothing uses, and renumber the others.
    pub drop_unused: bool,
    /// Write range variables that an equality leaves one value by the others, and remove them: the last step, since
    /// maps join while their constraints are intervals.
    pub solve: bool,
    /// Count a range variable whose residue a constraint fixes in steps of the modulus: the map touches the same elements,
    /// and reaches them by other numbers of the variable.
    pub rescale: bool,
    /// Whether shortcuts may be taken. The result is the same.
    pub fast_path: FastPath,
}

/// Whether the shortcuts of `fast_path` are taken. They give the answers of the rules, so only the time differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FastPath {
    /// They are.
    #[default]
    On,
    /// Everything goes through the rules: for tests, and where it is to be seen which rules fire.
    Off,
}
