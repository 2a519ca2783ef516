//! Parses the tables of stack frames between the header of a module and its computations.
//!
//! XLA writes four tables in a fixed order and rows with fixed fields; only a strict reading refuses anything else.

use super::Parser;
use crate::attribute::fields;
use crate::attribute::unknown_word;
use crate::cursor::{Cursor, Read};
use crate::error::{Diagnostic, Span};
use crate::model::metadata::{FRAME, LOCATION};

/// The tables in their order.
const TABLES: [&str; 4] = ["FileNames", "FunctionNames", "FileLocations", "StackFrames"];

impl<'a> Parser<'a> {
    /// Parses a table, if one is next.
    pub(super) fn table(&mut self) -> Read<bool> {
        if !matches!(self.c.peek(), Some(b'F' | b'S')) {
            return Ok(false);
        }
        let Some(k) = TABLES.iter().position(|word| self.at_word(word)) else { return Ok(false) };
        let at = self.c;
        if self.m.name == Span::default() {
            self.refuse(|_| at.expected("`HloModule` before the tables of stack frames"));
        } else if k != self.n_tables {
            let expected = match TABLES.get(self.n_tables) {
                Some(table) => format!("the table `{table}`"),
                None => "a computation".into(),
            };
            self.refuse(|_| at.expected(expected));
        }
        self.n_tables = k + 1;
        let start = self.c.pos;
        self.c.word();
        while self.at_number() {
            let id = self.c.int()?;
            if k < 2 {
                let text = self.table_text()?;
                let table = if k == 0 { &mut self.m.frames.files } else { &mut self.m.frames.functions };
                table.insert(id, text);
            } else if k == 2 {
                let row = self.table_row(LOCATION)?;
                self.m.frames.locations.insert(id, row);
            } else {
                let row = self.table_row(FRAME)?;
                self.m.frames.frames.insert(id, row);
            }
        }
        let spans = &mut self.m.frames.spans;
        match spans.last_mut() {
            Some(last) if last.end as usize == start => last.end = self.c.pos as u32,
            _ => spans.push(Span::new(start, self.c.pos)),
        }
        Ok(true)
    }

    /// Reports that tables ended before the last.
    pub(super) fn missing_table(&mut self) {
        let n_tables = std::mem::replace(&mut self.n_tables, TABLES.len());
        let Some(first) = self.m.frames.spans.first().filter(|_| n_tables < TABLES.len()) else { return };
        let span = Cursor { pos: first.start as usize, ..self.c }.word_span();
        let found = format!("none behind `{}`", TABLES[n_tables - 1]);
        let expected = format!("`{}`", TABLES[n_tables]);
        self.refuse(|_| Diagnostic::disagrees(span, "tables of stack frames", expected, found));
    }

    /// The string in a row of `FileNames` or `FunctionNames`.
    fn table_text(&mut self) -> Read<Span> {
        let text = self.c.string()?;
        if let Some(problem) = self.is_strict.then(|| fields::invalid_escape(self.c.text, text)).flatten() {
            self.refuse(|_| problem);
        }
        Ok(text)
    }

    /// `{field=number …}` in a row of `FileLocations` or `StackFrames`.
    fn table_row<const N: usize>(&mut self, known: &[(&str, u32); N]) -> Read<[i64; N]> {
        let open = self.c;
        let (mut values, mut seen) = ([0; N], 0u8);
        self.c.expect(b'{', "`{`")?;
        while !self.c.accept_after_space(b'}') {
            self.c.accept(b',');
            self.c.space();
            let at = self.c;
            let field = self.c.word();
            if field.is_empty() {
                return Err(at.expected("a field or `}`"));
            }
            let span = Span::new(at.pos, self.c.pos);
            if self.c.peek() != Some(b'=') {
                self.refuse(|p| p.c.expected("`=` directly behind the name of a field"));
            }
            self.c.expect(b'=', "`=`")?;
            self.c.space();
            let start = self.c.pos;
            let value = self.c.int()?;
            let of_value = Span::new(start, self.c.pos);
            // Fields are mostly in their order.
            let n = seen.count_ones() as usize;
            let Some(k) = (n..N).chain(0..n).find(|&k| known[k].0 == field) else {
                self.refuse(|_| unknown_word("field of a stack frame", field, &known.map(|row| row.0), span));
                continue;
            };
            if seen >> k & 1 == 1 {
                self.refuse(|_| Diagnostic::duplicate(span, "field", field));
            } else if i32::try_from(value).is_err() {
                self.refuse(|p| Diagnostic::out_of_range(of_value, "s32", p.c.str(of_value)));
            }
            seen |= 1 << k;
            values[k] = value;
        }
        if let Some(missing) = (0..N).find(|k| seen >> k & 1 == 0) {
            self.refuse(|_| open.expected(format!("a row with `{}=`", known[missing].0)));
        }
        Ok(values)
    }

    fn at_number(&mut self) -> bool {
        self.c.space();
        self.c.peek().is_some_and(|c| c.is_ascii_digit() || c == b'-')
    }
}
