//! The stack-frame tables, in both directions: `StackFrameIndexProto` and the text behind the header.
//!
//! The parent of a frame is one larger in the text than in the proto, where 0 stands for none.

use quasiaffine::interrupt::poll;

use super::push_int;
use super::quote::push_quoted;
use super::wire::{Encoder, Message, Payload, Wire};
use crate::cursor::Cursor;

const LOCATION: &[(&str, u32)] =
    &[("file_name_id", 1), ("function_name_id", 2), ("line", 3), ("end_line", 5), ("column", 4), ("end_column", 6)];
const FRAME: &[(&str, u32)] = &[("file_location_id", 1), ("parent_frame_id", 2)];

/// Appends the tables. Text has all tables, and all fields in a row, or none.
pub(crate) fn read(m: Message<'_>, text: &mut String) -> Wire<()> {
    if !m.fields().any(|f| (1..=4).contains(&f.number) && matches!(f.payload, Payload::Bytes(_))) {
        return Ok(());
    }
    for (title, number) in [("FileNames", 1), ("FunctionNames", 2)] {
        begin(text, title);
        let mut id = 0;
        for f in m.fields().filter(|f| f.number == number) {
            poll();
            let Payload::Bytes(bytes) = f.payload else { continue };
            id += 1;
            push_int(text, id);
            text.push(' ');
            push_quoted(text, &String::from_utf8_lossy(bytes));
            text.push('\n');
        }
    }
    for (title, number, fields) in [("FileLocations", 3, LOCATION), ("StackFrames", 4, FRAME)] {
        begin(text, title);
        for (id, row) in (1i64..).zip(m.subs(number)) {
            poll();
            let row = row?;
            push_int(text, id);
            text.push_str(" {");
            let mut space = "";
            for &(name, number) in fields {
                // Of a number of more than 32 bits the wire keeps the lower.
                let value = i64::from(row.int(number) as i32) + i64::from(name == "parent_frame_id");
                text.push_str(space);
                text.push_str(name);
                text.push('=');
                push_int(text, value);
                space = " ";
            }
            text.push_str("}\n");
        }
    }
    Ok(())
}

fn begin(text: &mut String, title: &str) {
    text.push('\n');
    text.push_str(title);
    text.push('\n');
}

/// A `StackFrameIndexProto`; `None` if the proto cannot have the table: its ids are not consecutive from 1, or a number
/// has more than 32 bits.
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
                let name = c.word();
                let &(_, number) = fields.iter().find(|f| f.0 == name)?;
                c.accept_after_space(b'=').then_some(())?;
                let value = c.int().ok()?;
                let value = i32::try_from(value).ok()?.checked_sub(i32::from(name == "parent_frame_id"))?;
                row.int_unless_zero(number, value.into());
                c.accept_after_space(b',');
            }
            d.message(number, &row);
        }
    }
}
