//! The required accuracy of a result: `result_accuracy`.

use std::fmt;

use crate::attribute::float;
use crate::cursor::{Cursor, Read};

/// `{tolerance={atol=0.1,rtol=0,ulps=2}}`: the required accuracy of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// `{mode=default}`
    Default,
    /// `{mode=highest}`
    Highest,
    /// Errors within these tolerances.
    Tolerance {
        /// The absolute tolerance.
        atol: f64,
        /// The relative tolerance.
        rtol: f64,
        /// The tolerance in units in the last place.
        ulps: i64,
    },
}

pub(crate) fn accuracy(c: &mut Cursor<'_>) -> Read<Accuracy> {
    c.expect(b'{', "`{`")?;
    c.space();
    let at = *c;
    let word = c.word();
    c.expect(b'=', "`=`")?;
    c.space();
    let found = match word {
        "mode" => {
            let at = *c;
            match c.word() {
                "default" => Accuracy::Default,
                "highest" => Accuracy::Highest,
                _ => return Err(at.expected("default or highest")),
            }
        }
        "tolerance" => {
            let (mut atol, mut rtol, mut ulps) = (0.0, 0.0, 0);
            c.expect(b'{', "`{`")?;
            loop {
                c.space();
                let at = *c;
                let word = c.word();
                c.expect(b'=', "`=`")?;
                match word {
                    "atol" => atol = float(c)?,
                    "rtol" => rtol = float(c)?,
                    "ulps" => ulps = c.int()?,
                    _ => return Err(at.expected("atol, rtol or ulps")),
                }
                if !c.accept_after_space(b',') {
                    break;
                }
            }
            c.expect(b'}', "`,` or `}`")?;
            Accuracy::Tolerance { atol, rtol, ulps }
        }
        _ => return Err(at.expected("mode or tolerance")),
    };
    c.expect(b'}', "`}`")?;
    Ok(found)
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Accuracy::Default => f.write_str("{mode=default}"),
            Accuracy::Highest => f.write_str("{mode=highest}"),
            Accuracy::Tolerance { atol, rtol, ulps } => {
                write!(f, "{{tolerance={{atol={atol},rtol={rtol},ulps={ulps}}}}}")
            }
        }
    }
}
