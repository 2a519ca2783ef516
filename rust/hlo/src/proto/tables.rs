//! The stack-frame tables, in both directions: `StackFrameIndexProto` and the text behind the header.
//!
//! The parent of a frame is one larger in the text than in the proto, where 0 stands for none.

use std::fmt::Write;

use super::quote::quoted;
use super::wire::{Encoder, Message, Wire};
use crate::cursor::Cursor;

const LOCATION: &[(&str, u32)] =
    &[("file_name_id", 1), ("function_name_id", 2), ("line", 3), ("end_line", 5), ("column", 4), ("end_column", 6)];
const FRAME: &[(&str, u32)] = &[("file_location_id", 1), ("parent_frame_id", 2)];

/// The tables as text; empty if there are none.
pub(crate) fn read(m: Message<'_>) -> Wire<String> {
    let mut text = String::new();
    for (title, number) in [("FileNames", 1), ("FunctionNames", 2)] {
        let mut id = 0;
        for f in m.fields().filter(|f| f.number == number) {
            let super::wire::Payload::Bytes(bytes) = f.payload else { continue };
            if id == 0 {
                let _ = write!(text, "\n{title}\n");
            }
            id += 1;
            let _ = writeln!(text, "{id} {}", quoted(&String::from_utf8_lossy(bytes)));
        }
    }
    for (title, number, fields) in [("FileLocations", 3, LOCATION), ("StackFrames", 4, FRAME)] {
        for (k, row) in m.subs(number).enumerate() {
            let row = row?;
            if k == 0 {
                let _ = write!(text, "\n{title}\n");
            }
            let words = fields.iter().filter_map(|&(name, number)| {
                let value = row.int(number) + i64::from(name == "parent_frame_id");
                (value != 0).then(|| format!("{name}={value}"))
            });
            let _ = writeln!(text, "{} {{{}}}", k + 1, words.collect::<Vec<_>>().join(" "));
        }
    }
    Ok(text)
}

/// A `StackFrameIndexProto`; `None` if the ids of a table are not consecutive from 1, which the proto requires.
pub(crate) fn write(text: &str) -> Option<Encoder> {
    let mut c = Cursor::new(text);
    let mut d = Encoder::default();
    loop {
        c.space();
        if c.at_end() {
            return Some(d);
        }
        let (number, fields): (u32, &[(&str, u32)]) = match c.word() {
            "FileNames" => (1, &[]),
            "FunctionNames" => (2, &[]),
            "FileLocations" => (3, LOCATION),
            "StackFrames" => (4, FRAME),
            _ => return None,
        };
        let mut expected = 1;
        loop {
            c.space();
            if !c.peek().is_some_and(|b| b.is_ascii_digit()) {
                break;
            }
            (c.int().ok()? == expected).then_some(())?;
            expected += 1;
            if number <= 2 {
                let span = c.string().ok()?;
                d.data(number, crate::unescape(c.str(span)).as_bytes());
                continue;
            }
            let mut row = Encoder::default();
            c.accept_after_space(b'{').then_some(())?;
            while !c.accept_after_space(b'}') {
                c.space();
                let name = c.word();
                let &(_, number) = fields.iter().find(|f| f.0 == name)?;
                c.accept_after_space(b'=').then_some(())?;
                let value = c.int().ok()?;
                row.int_unless_zero(number, value.checked_sub(i64::from(name == "parent_frame_id"))?);
                c.accept_after_space(b',');
            }
            d.message(number, &row);
        }
    }
}
