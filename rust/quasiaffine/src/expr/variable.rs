//! Variables of expressions.

/// The kind of value that a variable stands for. It is part of the variable, never of its position.
///
/// ```
/// use quasiaffine::{Kind, Map};
/// let gather: Map = "(d0)[s0]{rt0} -> (d0 + rt0, s0), domain: d0 in [0, 3], s0 in [0, 7], rt0 in [0, 5], runtime: rt0 = #1()".parse()?;
/// let kinds: Vec<Kind> = (0..3).map(|flat| gather.domain().var(flat).kind).collect();
/// assert_eq!(kinds, [Kind::Dim, Kind::Range, Kind::Runtime]);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An index into the array that the map starts from.
    Dim,
    /// A variable that takes many values, each of which is touched.
    Range,
    /// A value known only when the program runs.
    Runtime,
}

/// A variable: its kind and its number among the variables of that kind.
///
/// ```
/// use quasiaffine::{Expr, Kind, Var};
/// assert_eq!(Expr::Var(Var { kind: Kind::Range, index: 2 }).to_string(), "s2");
/// assert_eq!(Expr::range(2), Expr::Var(Var::named("s2").unwrap()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var {
    /// The kind of value that it stands for.
    pub kind: Kind,
    /// Its number, from 0.
    pub index: u32,
}

impl Var {
    /// The variable with a flat number: dimensions come first, then ranges, then runtime variables.
    pub(crate) const fn at(flat: u32, n_dims: u32, n_ranges: u32) -> Var {
        let runtime = n_dims.saturating_add(n_ranges);
        if flat < n_dims {
            Var { kind: Kind::Dim, index: flat }
        } else if flat < runtime {
            Var { kind: Kind::Range, index: flat - n_dims }
        } else {
            Var { kind: Kind::Runtime, index: flat - runtime }
        }
    }
}
