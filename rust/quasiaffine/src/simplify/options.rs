//! What a caller may choose in a simplification.

/// What simplification may do beyond finding shorter forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep dimensions of one value as variables instead of writing the value.
    pub keep_point_dims: bool,
    /// Remove range and runtime variables that nothing uses, and renumber the others.
    pub drop_unused: bool,
    /// Count a range variable whose residue a constraint fixes in steps of the modulus: the map touches the same elements,
    /// and reaches them by other numbers of the variable.
    pub rescale: bool,
}
