//! The stack-frame tables, in both directions: `StackFrameIndexProto` and the text behind the header.

use cancel::poll;

use super::push_int;
use super::quote::push_quoted;
use crate::model::metadata::{Frames, FRAME, LOCATION, PARENT};
use crate::model::module::Module;
use crate::wire::{Encoder, Message, Payload, Wire};

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
    for (title, number, fields) in [("FileLocations", 3, &LOCATION[..]), ("StackFrames", 4, FRAME)] {
        begin(text, title);
        for (id, row) in (1i64..).zip(m.subs(number)) {
            poll();
            let row = row?;
            push_int(text, id);
            text.push_str(" {");
            let mut space = "";
            for &(name, number) in fields {
                // Of a number with more than 32 bits, the wire keeps the lower ones.
                let value = i64::from(row.int(number) as i32) + i64::from(name == PARENT);
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

/// A `StackFrameIndexProto`; `None` if the proto cannot have the tables: their ids are not consecutive from 1, or a
/// number has more than 32 bits.
pub(crate) fn write(m: &Module) -> Option<Encoder> {
    let Frames { files, functions, locations, frames, .. } = &m.frames;
    let mut d = Encoder::default();
    for (number, names) in [(1, files), (2, functions)] {
        for id in 1..=names.len() as i64 {
            d.data(number, crate::unescape(m.text(*names.get(&id)?)).as_bytes());
        }
    }
    (1..=locations.len() as i64).try_for_each(|id| write_row(3, LOCATION, locations.get(&id)?, &mut d))?;
    (1..=frames.len() as i64).try_for_each(|id| write_row(4, FRAME, frames.get(&id)?, &mut d))?;
    Some(d)
}

fn write_row(number: u32, fields: &[(&str, u32)], values: &[i64], d: &mut Encoder) -> Option<()> {
    d.nested(number, |d| {
        fields.iter().zip(values).try_for_each(|(&(name, number), &value)| {
            let value = i32::try_from(value).ok()?.checked_sub(i32::from(name == PARENT))?;
            d.int_unless_zero(number, value.into());
            Some(())
        })
    })
}
