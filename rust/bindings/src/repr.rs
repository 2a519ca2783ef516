//! Text for `__repr__`: one line of bounded length for every value.

use std::fmt::{Display, Write};

use pyo3::prelude::*;

/// The limit of a part of variable length; a line with its fixed parts has at most about 200 characters.
const PART: usize = 140;

/// The limit of a field of a record, so that a record of several is a line that fits.
const FIELD: usize = 100;

/// The limit of a name; a line may hold several.
const NAME: usize = 40;

/// Keeps the characters up to a limit and stops formatting there, so that long values are not printed in full.
struct Head {
    text: String,
    left: usize,
}

impl Write for Head {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            if self.left == 0 {
                return Err(std::fmt::Error);
            }
            self.left -= 1;
            self.text.push(if quasiaffine::is_hidden(c) { ' ' } else { c });
        }
        Ok(())
    }
}

fn head(value: &impl Display, limit: usize) -> String {
    let mut head = Head { text: String::new(), left: limit };
    let is_whole = write!(head, "{value}").is_ok();
    if !is_whole {
        head.text.push('…');
    }
    head.text
}

/// A value in one line, cut if it is long.
pub fn line(value: &impl Display) -> String {
    head(value, PART)
}

/// A name in one line, cut if it is long.
pub fn name(value: &impl Display) -> String {
    head(value, NAME)
}

/// A number with its noun.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// A record with its fields: `Name(field=value, …)`.
pub fn record(value: &Bound<'_, PyAny>, fields: &[&str]) -> PyResult<String> {
    let field = |name: &&str| Ok(format!("{name}={}", head(&value.getattr(*name)?.repr()?, FIELD)));
    let shown = fields.iter().map(field).collect::<PyResult<Vec<_>>>()?;
    Ok(format!("{}({})", value.get_type().name()?, shown.join(", ")))
}
