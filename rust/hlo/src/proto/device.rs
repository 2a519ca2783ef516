//! Shardings and groups of devices, both ways.

use std::fmt::Write;

use super::special::{joined, metadata, quoted, Reading, Writing};
use super::wire::{Draft, Message, Wire, WireError};
use crate::attribute::Value;
use crate::devices::DeviceGroups;
use crate::token::Cursor;

/// Shardings in shardings are tuples in tuples; shapes nest no deeper.
const MAX_DEPTH: usize = 128;

const MANUAL_WORDS: &[(i64, &str)] = &[(0, "replicated"), (4, "manual"), (5, "unknown"), (6, "unreduced")];

/// The text of an `OpSharding`, with its braces.
pub(crate) fn sharding(m: Message<'_>, depth: usize) -> Wire<String> {
    let bad = |found: String| Err(WireError { at: m.at, found });
    if depth > MAX_DEPTH {
        return bad(format!("shardings nested deeper than {MAX_DEPTH} levels"));
    }
    let mut text = match m.int(1) {
        2 => {
            let parts = m.subs(5).map(|part| sharding(part?, depth + 1)).collect::<Wire<Vec<_>>>()?;
            return Ok(format!("{{{}}}", parts.join(", ")));
        }
        1 => format!("maximal device={}", m.ints(4)?.first().copied().unwrap_or(0)),
        3 => tiles(m)?,
        n => match MANUAL_WORDS.iter().find(|w| w.0 == n) {
            Some(word) => word.1.to_string(),
            None => return bad(format!("sharding type {n}")),
        },
    };
    if m.int(11) != 0 {
        let word = if m.int(13) == 1 { "shard_like" } else { "shard_as" };
        let _ = write!(text, " {word} {}", m.int(12));
    }
    let all = m.subs(7).map(|m| metadata(m?)).collect::<Wire<Vec<_>>>()?;
    match &all[..] {
        [] => {}
        [one] => text.push_str(&format!(" metadata={one}")),
        all => text.push_str(&format!(" metadata={{{}}}", all.join(", "))),
    }
    Ok(format!("{{{text}}}"))
}

/// `devices=[2,1]<=[2]` and what follows.
fn tiles(m: Message<'_>) -> Wire<String> {
    let mut text = format!("devices=[{}]", joined(&m.ints(3)?));
    let reshape = m.ints(9)?;
    if reshape.is_empty() {
        text.push_str(&joined(&m.ints(4)?));
    } else {
        let order = m.ints(10)?;
        let _ = write!(text, "<=[{}]", joined(&reshape));
        if !order.iter().copied().eq(0..order.len() as i64) {
            let _ = write!(text, "T({})", joined(&order));
        }
    }
    if m.int(6) != 0 {
        text.push_str(" last_tile_dim_replicate");
    }
    let mut last = Vec::new();
    for n in m.ints(8)? {
        match MANUAL_WORDS.iter().find(|w| w.0 == n) {
            Some(word) => last.push(word.1),
            None => return Err(WireError { at: m.at, found: format!("sharding type {n} of a dimension") }),
        }
    }
    if !last.is_empty() {
        let _ = write!(text, " last_tile_dims={{{}}}", last.join(", "));
    }
    Ok(text)
}

/// The sharding at the cursor as an `OpSharding`; `None` for a form without fields.
pub(crate) fn write_sharding(c: &mut Cursor<'_>, depth: usize) -> Option<Draft> {
    let mut d = Draft::default();
    (depth <= MAX_DEPTH && c.accept_after_space(b'{')).then_some(())?;
    c.space();
    if matches!(c.peek(), Some(b'{' | b'}')) {
        d.int(1, 2);
        while !c.accept_after_space(b'}') {
            d.message(5, &write_sharding(c, depth + 1)?);
            c.accept_after_space(b',');
        }
        return Some(d);
    }
    while !c.accept_after_space(b'}') {
        c.accept_after_space(b',');
        c.space();
        let word = c.word();
        match word {
            "maximal" => d.int(1, 1),
            "device" => {
                c.accept_after_space(b'=').then_some(())?;
                d.ints(4, &[c.int().ok()?]);
            }
            "devices" => {
                d.int(1, 3);
                c.accept_after_space(b'=').then_some(())?;
                write_tiles(c, &mut d)?;
            }
            "last_tile_dim_replicate" => d.int(6, 1),
            "last_tile_dims" => {
                c.accept_after_space(b'=').then_some(())?;
                c.accept_after_space(b'{').then_some(())?;
                let mut all = Vec::new();
                while !c.accept_after_space(b'}') {
                    c.space();
                    let word = c.word();
                    all.push(MANUAL_WORDS.iter().find(|w| w.1 == word)?.0);
                    c.accept_after_space(b',');
                }
                d.ints(8, &all);
            }
            "shard_as" | "shard_like" => {
                d.int(11, 1);
                d.int_unless_zero(12, c.int().ok()?);
                d.int_unless_zero(13, i64::from(word == "shard_like"));
            }
            "metadata" => {
                c.accept_after_space(b'=').then_some(())?;
                write_metadata(c, &mut d)?;
            }
            word => d.int_unless_zero(1, MANUAL_WORDS.iter().find(|w| w.1 == word)?.0),
        }
    }
    Some(d)
}

fn write_tiles(c: &mut Cursor<'_>, d: &mut Draft) -> Option<()> {
    d.ints(3, &bracketed(c, b'[', b']')?);
    c.space();
    if c.rest().starts_with(b"<=") {
        c.pos += 2;
        let reshape = bracketed(c, b'[', b']')?;
        let order = if c.accept(b'T') { bracketed(c, b'(', b')')? } else { (0..reshape.len() as i64).collect() };
        d.ints(9, &reshape);
        d.ints(10, &order);
        return Some(());
    }
    let mut devices = vec![c.int().ok()?];
    while c.accept_after_space(b',') {
        devices.push(c.int().ok()?);
    }
    d.ints(4, &devices);
    Some(())
}

/// `{op_name="x"}` alone; several stay text.
fn write_metadata(c: &mut Cursor<'_>, d: &mut Draft) -> Option<()> {
    let mut m = Draft::default();
    c.accept_after_space(b'{').then_some(())?;
    while !c.accept_after_space(b'}') {
        c.space();
        let number = match c.word() {
            "op_type" => 1,
            "op_name" => 2,
            "source_file" => 3,
            "source_line" => 4,
            _ => return None,
        };
        c.accept_after_space(b'=').then_some(())?;
        if number == 4 {
            m.int(4, c.int().ok()?);
        } else {
            let span = c.string().ok()?;
            m.data(number, crate::unescape(c.str(span)).as_bytes());
        }
    }
    d.message(7, &m);
    Some(())
}

fn bracketed(c: &mut Cursor<'_>, open: u8, close: u8) -> Option<Vec<i64>> {
    let mut all = Vec::new();
    c.accept_after_space(open).then_some(())?;
    while !c.accept_after_space(close) {
        all.push(c.int().ok()?);
        c.accept_after_space(b',');
    }
    Some(all)
}

/// `replica_groups` from whichever of its four fields is there.
pub(crate) fn read_groups(r: &Reading<'_, '_>) -> Wire<Option<String>> {
    if let Some(m) = r.m.sub(93)? {
        return mesh_groups(m).map(Some);
    }
    if let Some(m) = r.m.sub(92)? {
        let (reshape, order) = (m.ints(3)?, m.ints(4)?);
        let mut text = format!("[{},{}]<=[{}]", m.int(1), m.int(2), joined(&reshape));
        if !order.iter().copied().eq(0..order.len() as i64) {
            let _ = write!(text, "T({})", joined(&order));
        }
        return Ok(Some(text));
    }
    let (m, number) = match r.m.sub(87)? {
        Some(m) => (m, 1),
        None => (r.m, 49),
    };
    let groups = m.subs(number).map(|g| Ok(format!("{{{}}}", joined(&g?.ints(1)?)))).collect::<Wire<Vec<_>>>()?;
    Ok((!groups.is_empty() || number == 1).then(|| format!("{{{}}}", groups.join(","))))
}

/// `mesh['x'=2,'y'=2] {'y'}`
fn mesh_groups(m: Message<'_>) -> Wire<String> {
    let Some(mesh) = m.sub(1)? else { return Err(WireError { at: m.at, found: "groups over no mesh".into() }) };
    let mut names = Vec::new();
    for axis in mesh.subs(1) {
        let axis = axis?;
        names.push((axis.text(1)?, axis.int(2)));
    }
    let word = |name: &str| format!("'{}'", quoted(name).trim_matches('"').replace('\'', "\\'"));
    let axes: Vec<String> = names.iter().map(|(name, size)| format!("{}={size}", word(name))).collect();
    let mut text = format!("mesh[{}]", axes.join(","));
    let devices = mesh.ints(2)?;
    if !devices.is_empty() {
        let _ = write!(text, ", device_ids=({})", joined(&devices));
    }
    let mut chosen = Vec::new();
    for axis in m.subs(2) {
        let axis = axis?;
        let Some((name, _)) = usize::try_from(axis.int(1)).ok().and_then(|k| names.get(k)) else {
            return Err(WireError { at: axis.at, found: format!("axis {} of a mesh of {}", axis.int(1), names.len()) });
        };
        chosen.push(match axis.sub(2)? {
            Some(part) => format!("{}:({}){}", word(name), part.int(1), part.int(2)),
            None => word(name),
        });
    }
    let _ = write!(text, " {{{}}}", chosen.join(","));
    Ok(text)
}

pub(crate) fn write_groups(w: &Writing<'_>, d: &mut Draft) -> Option<()> {
    match w.module.value(w.attribute, None).ok()? {
        Value::DeviceGroups(DeviceGroups::Lists(groups)) => {
            let mut m = Draft::default();
            for group in groups {
                let mut g = Draft::default();
                g.ints(1, &group);
                m.message(1, &g);
            }
            d.message(87, &m);
        }
        Value::DeviceGroups(DeviceGroups::Iota { groups, reshape, transpose }) => {
            let [n, size] = groups[..] else { return None };
            let mut m = Draft::default();
            m.int(1, n);
            m.int(2, size);
            m.ints(3, &reshape);
            let order = if transpose.is_empty() { (0..reshape.len() as i64).collect() } else { transpose };
            m.ints(4, &order);
            d.message(92, &m);
        }
        _ => d.message(93, &write_mesh(w.module.attribute_text(w.attribute))?),
    }
    Some(())
}

fn write_mesh(text: &str) -> Option<Draft> {
    let mut c = Cursor::new(text);
    c.accept_word("mesh").then_some(())?;
    let (mut mesh, mut names) = (Draft::default(), Vec::new());
    c.accept_after_space(b'[').then_some(())?;
    while !c.accept_after_space(b']') {
        let name = single_quoted(&mut c)?;
        c.accept_after_space(b'=').then_some(())?;
        let mut axis = Draft::default();
        axis.data(1, name.as_bytes());
        axis.int_unless_zero(2, c.int().ok()?);
        mesh.message(1, &axis);
        names.push(name);
        c.accept_after_space(b',');
    }
    if c.accept_after_space(b',') {
        c.space();
        (c.accept_word("device_ids") && c.accept_after_space(b'=')).then_some(())?;
        mesh.ints(2, &bracketed(&mut c, b'(', b')')?);
    }
    let mut d = Draft::default();
    d.message(1, &mesh);
    c.accept_after_space(b'{').then_some(())?;
    while !c.accept_after_space(b'}') {
        let name = single_quoted(&mut c)?;
        let mut axis = Draft::default();
        axis.int_unless_zero(1, names.iter().position(|n| *n == name)? as i64);
        if c.accept_after_space(b':') {
            let mut part = Draft::default();
            c.accept_after_space(b'(').then_some(())?;
            part.int_unless_zero(1, c.int().ok()?);
            c.accept_after_space(b')').then_some(())?;
            part.int_unless_zero(2, c.int().ok()?);
            axis.message(2, &part);
        }
        d.message(2, &axis);
        c.accept_after_space(b',');
    }
    c.at_end().then_some(d)
}

fn single_quoted<'a>(c: &mut Cursor<'a>) -> Option<&'a str> {
    c.accept_after_space(b'\'').then_some(())?;
    let start = c.pos;
    c.pos += memchr::memchr(b'\'', c.rest())?;
    let name = &c.text[start..c.pos];
    c.pos += 1;
    (!name.contains('\\')).then_some(name)
}
