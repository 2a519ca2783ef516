//! The answer to a question of yes or no that may stay open.

/// Yes or no, as proved, or neither.
///
/// ```
/// use quasiaffine::{Answer, Map};
/// let (a, b): (Map, Map) = ("(d0) -> (d0 mod 8), domain: d0 in [0, 99]".parse()?, "(d0) -> (d0), domain: d0 in [0, 99]".parse()?);
/// let Answer::No(point) = a.equivalent(&b) else { panic!("8 mod 8 is not 8") };
/// assert!(point[0] >= 8);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<No = ()> {
    /// Yes, at all points and for all values of the runtime variables.
    Yes,
    /// No, with what shows it.
    No(No),
    /// Not decided, with the reason.
    Unknown(&'static str),
}

impl<No> Answer<No> {
    /// Whether the answer is a proved yes.
    pub const fn is_yes(&self) -> bool {
        matches!(self, Answer::Yes)
    }

    /// Yes or no without what shows it; `None` if it is not decided.
    pub const fn known(&self) -> Option<bool> {
        match self {
            Answer::Yes => Some(true),
            Answer::No(_) => Some(false),
            Answer::Unknown(_) => None,
        }
    }
}
