//! The header of a module, from the fields of its proto.

use std::fmt::Write;

use super::irregular;
use super::original;
use super::quote::is_word;
use super::read::Reader;
use super::shape;
use super::wire::{Message, Wire};
use crate::attribute::mesh::joined;

pub(super) fn read<'a>(r: &mut Reader<'a>, m: Message<'a>) -> Wire<()> {
    r.out.push_str("HloModule");
    let name = match m.text(1)? {
        "" => "",
        name if is_word(name) => name,
        _ => "module",
    };
    if !name.is_empty() {
        r.out.push(' ');
        r.out.push_str(name);
    }
    attributes(&mut r.out, m)?;
    let nested = r.nested();
    if let Some(table) = m.sub(20)?.filter(|table| table.has(1)) {
        r.out.push_str(", origin_recovery_table=");
        original::read_recovery_table(table, nested, &mut r.out)?;
    }
    if m.has(25) {
        r.out.push_str(", backend_config=");
        irregular::push_config(&mut r.out, m.data(25));
    }
    if m.has(24) {
        r.out.push_str(",\ndebug_attributes=");
        original::read_debug_attributes(m, 24, &mut r.out)?;
    }
    r.out.push('\n');
    Ok(())
}

fn attributes(out: &mut String, m: Message<'_>) -> Wire<()> {
    if m.has(7) {
        out.push_str(", is_scheduled=true");
    }
    let mut aliases = Vec::new();
    if let Some(alias) = m.sub(8)? {
        for e in alias.subs(1) {
            let e = e?;
            let kind = if e.int(4) == 2 { "must-alias" } else { "may-alias" };
            let (output, index) = (joined(&e.ints(1)?), joined(&e.ints(3)?));
            aliases.push(format!("{{{output}}}: ({}, {{{index}}}, {kind})", e.int(2)));
        }
    }
    let mut donors = Vec::new();
    if let Some(donor) = m.sub(18)? {
        for e in donor.subs(1) {
            let e = e?;
            donors.push(format!("({}, {{{}}})", e.int(1), joined(&e.ints(2)?)));
        }
    }
    for (name, all) in [("input_output_alias", aliases), ("buffer_donor", donors)] {
        if !all.is_empty() {
            let _ = write!(out, ", {name}={{ {} }}", all.join(", "));
        }
    }
    if let Some(program) = m.sub(4)?.filter(|p| p.has(2)) {
        out.push_str(", entry_computation_layout={(");
        for (k, p) in program.subs(1).enumerate() {
            let _ = write!(out, "{}{}", if k > 0 { ", " } else { "" }, shape::read(p?, 0)?);
        }
        if let Some(result) = program.sub(2)? {
            let _ = write!(out, ")->{}}}", shape::read(result, 0)?);
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
