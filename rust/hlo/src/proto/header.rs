//! The header of a module, from the fields of its proto.

use std::fmt::Write;

use super::irregular;
use super::original;
use super::quote::is_word;
use super::read::Reader;
use crate::attribute::alias::{Alias, Donor};
use crate::attribute::entry_layout::EntryLayout;
use crate::wire::{Message, Wire};

pub(super) fn read<'a>(r: &mut Reader<'a>, m: Message<'a>) -> Wire<()> {
    r.text.push_str("HloModule");
    let name = m.text(1)?;
    if !name.is_empty() {
        r.text.push(' ');
        r.text.push_str(if is_word(name) { name } else { "module" });
    }
    attributes(r, m)?;
    if let Some(table) = m.sub(20)?.filter(|table| table.has(1)) {
        r.text.push_str(", origin_recovery_table=");
        original::read_recovery_table(table, r)?;
    }
    if m.has(25) {
        r.text.push_str(", backend_config=");
        irregular::push_config(&mut r.text, m.data(25));
    }
    if m.has(24) {
        r.text.push_str(",\ndebug_attributes=");
        original::read_debug_attributes(m, 24, &mut r.text)?;
    }
    r.text.push('\n');
    Ok(())
}

fn attributes<'a>(r: &mut Reader<'a>, m: Message<'a>) -> Wire<()> {
    let out = &mut r.text;
    if m.has(7) {
        out.push_str(", is_scheduled=true");
    }
    list(out, "input_output_alias", m.sub(8)?, |e| {
        let (output_index, number, index, must) = (e.ints(1)?, e.int(2), e.ints(3)?, e.int(4) == 2);
        Ok(Alias { output_index, number, index, must })
    })?;
    list(out, "buffer_donor", m.sub(18)?, |e| Ok(Donor { number: e.int(1), index: e.ints(2)? }))?;
    if let Some(program) = m.sub(4)? {
        // Most are the shapes of parameters.
        let mut shape = |m: Message<'a>| {
            let known = r.shapes.known(m.bytes()).map_or_else(|| r.shapes.add(m, &mut r.m.shapes), Ok)?;
            Ok(r.m.shapes[known.number as usize].clone())
        };
        if let Some(result) = program.sub(2)? {
            let parameters = program.subs(1).map(|p| shape(p?)).collect::<Wire<_>>()?;
            let layout = EntryLayout { parameters, result: shape(result)? };
            let _ = write!(out, ", entry_computation_layout={layout}");
        }
    }
    if let Some(frontend) = m.sub(19)? {
        let start = out.len();
        out.push_str(", frontend_attributes=");
        if !irregular::frontend(frontend, out)? {
            out.truncate(start);
        }
    }
    Ok(())
}

/// Appends the entries of a list, if there are any.
fn list<'a, T: ToString>(
    out: &mut String,
    name: &str,
    list: Option<Message<'a>>,
    one: impl Fn(Message<'a>) -> Wire<T>,
) -> Wire<()> {
    let entries = list.into_iter().flat_map(|list| list.subs(1));
    let all = entries.map(|e| Ok(one(e?)?.to_string())).collect::<Wire<Vec<_>>>()?;
    if !all.is_empty() {
        let _ = write!(out, ", {name}={{ {} }}", all.join(", "));
    }
    Ok(())
}
