//! Errors of the algebra. One enum; the variant is the kind, its fields are the data.

use std::fmt;

use crate::cancel::Cancelled;

/// The result of an operation that can fail.
///
/// ```
/// fn twice(e: &quasiaffine::Expr) -> quasiaffine::Result<quasiaffine::Expr> {
///     e.scale(2)
/// }
/// assert!(twice(&i64::MAX.into()).is_err());
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why an expression or a map could not be formed.
///
/// ```
/// use quasiaffine::{Error, Expr, Map};
/// assert!(matches!("(d0) -> (d0".parse::<Map>(), Err(Error::Text(_))));
/// let large = Expr::dim(0).scale(i64::MAX)?;
/// assert!(matches!(large.add(&large), Err(Error::Overflow(_))));
/// assert_eq!(large.floor_div(&Expr::from(0)), Err(Error::Divisor("0".to_owned())));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A value does not fit into 64 bits; the text says which operation.
    Overflow(&'static str),
    /// A divisor that may be below 1; the text shows it with its known values.
    Divisor(String),
    /// The name of a variable that the map does not have.
    UnknownVariable(String),
    /// Two lengths that must agree and do not.
    Arity {
        /// The objects that were counted.
        what: &'static str,
        /// The expected number.
        expected: usize,
        /// The given number.
        found: usize,
    },
    /// A name that is duplicate, reserved or not an identifier.
    Name(String),
    /// An expression that is nested too deep, or a text that is too long.
    TooLarge(&'static str),
    /// The operation needs a defined map.
    Undefined,
    /// A point outside the domain: its row.
    OutsideDomain(usize),
    /// A value at one point of the domain that does not fit into 64 bits, or into 128 bits on the way.
    PointOverflow {
        /// The row of the point.
        row: usize,
        /// The value: which result or constraint, and its expression.
        value: String,
        /// The point, as values of the variables.
        point: String,
        /// The number of bits that do not hold the value.
        bits: u32,
    },
    /// The call was cancelled, see [`crate::cancel`].
    Cancelled,
    /// Text that is not a map or an expression.
    Text(Box<TextError>),
}

/// A syntax error in the text of a map, with its place.
///
/// ```
/// use quasiaffine::{Error, Map};
/// let Err(Error::Text(error)) = "(d0) -> (d0 +), domain: d0 in [0, 1]".parse::<Map>() else { panic!("a summand is missing") };
/// assert_eq!((error.line, error.column, error.found.as_str()), (1, 14, "')'"));
/// assert_eq!(&error.snippet[..error.caret], "(d0) -> (d0 +");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The text at that place.
    pub found: String,
    /// A description of the expected text.
    pub expected: String,
    /// The line itself, shortened if it is long.
    pub snippet: String,
    /// The number of characters of `snippet` before the place.
    pub caret: usize,
}

/// The reason why an inner step gave up: small and without data, for code that runs a million times a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A value does not fit into 64 bits.
    Overflow,
    /// The effort of one question is spent.
    Effort,
    /// The work is cancelled.
    Cancelled,
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Error {
        match stop {
            Stop::Overflow => Error::Overflow("a value"),
            Stop::Effort => Error::TooLarge("the map is too large to be simplified"),
            Stop::Cancelled => Error::Cancelled,
        }
    }
}

/// Inside a simplification, an expression cannot be formed only because of overflow.
impl From<Error> for Stop {
    fn from(_: Error) -> Stop {
        Stop::Overflow
    }
}

impl From<Cancelled> for Stop {
    fn from(_: Cancelled) -> Stop {
        Stop::Cancelled
    }
}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Error {
        Error::Cancelled
    }
}

impl Error {
    /// The error with the row of its point moved by `rows`.
    pub(crate) fn shifted(self, rows: usize) -> Error {
        match self {
            Error::OutsideDomain(row) => Error::OutsideDomain(row + rows),
            Error::PointOverflow { row, value, point, bits } => {
                Error::PointOverflow { row: row + rows, value, point, bits }
            }
            other => other,
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "line {}, column {}: expected {}, found {}", self.line, self.column, self.expected, self.found)?;
        writeln!(f, "  {}", self.snippet)?;
        write!(f, "  {}^", " ".repeat(self.caret))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Overflow(what) => write!(f, "{what} does not fit into 64 bits"),
            Error::Divisor(text) => write!(f, "a divisor must be at least 1, found {text}"),
            Error::UnknownVariable(name) => write!(f, "the map has no variable {name}"),
            Error::Arity { what, expected, found } => write!(f, "expected {expected} {what}, found {found}"),
            Error::Name(text) => write!(f, "{text}"),
            Error::TooLarge(what) => write!(f, "{what}"),
            Error::Undefined => write!(f, "the map is undefined"),
            Error::OutsideDomain(row) => {
                write!(f, "point {row} lies outside the domain of the map")
            }
            Error::PointOverflow { row, value, point, bits } => {
                write!(f, "{value} does not fit into {bits} bits at point {row}: {point}")
            }
            Error::Cancelled => write!(f, "{Cancelled}"),
            Error::Text(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for Error {}
