//! `origin`: the value of the unoptimized program that each leaf of a value stems from.
//!
//! Read [`ORIGIN`]. The text is a tree of leaves, the proto a list of leaves with shape indices.

use super::irregular::{Irregular, ReadContext, WriteContext};
use super::quote::quoted;
use super::wire::{Encoder, Message, Wire};
use crate::attribute::mesh::joined;
use crate::cursor::Cursor;

/// Origins nest at most this deep, as shapes do.
const MAX_DEPTH: usize = 128;

pub(crate) const ORIGIN: Irregular = Irregular { read, write, numbers: &[] };

struct Leaf {
    index: Vec<i64>,
    /// With braces.
    text: String,
}

fn read(r: &ReadContext<'_, '_>, text: &mut String) -> Wire<bool> {
    let Some(m) = r.m.sub(88)? else { return Ok(false) };
    if m.int(2) != 0 {
        text.push_str("{[synthetic_call]}");
        return Ok(true);
    }
    let leaves = m.subs(1).map(|leaf| self::leaf(leaf?)).collect::<Wire<Vec<_>>>()?;
    text.push('{');
    // Indices with gaps do not form a tree, so the attribute is dropped.
    let is_tree = tree(&leaves, 0, text).is_some();
    text.push('}');
    Ok(is_tree)
}

fn leaf(m: Message<'_>) -> Wire<Leaf> {
    let mut text = String::from("{");
    if let Some(array) = m.sub(2)? {
        text.push_str(&quoted(array.text(1)?));
        let index = array.ints(2)?;
        if !index.is_empty() {
            text.push_str(&format!(" {{{}}}", joined(&index)));
        }
    }
    text.push('}');
    Ok(Leaf { index: m.ints(1)?, text })
}

fn tree(leaves: &[Leaf], depth: usize, out: &mut String) -> Option<()> {
    if let [leaf] = leaves {
        if leaf.index.len() == depth {
            out.push_str(&leaf.text);
            return Some(());
        }
    }
    if depth > MAX_DEPTH || leaves.iter().any(|l| l.index.len() <= depth) {
        return None;
    }
    out.push('(');
    let parts = leaves.chunk_by(|a, b| a.index[depth] == b.index[depth]);
    for (k, part) in parts.enumerate() {
        if part[0].index[depth] != k as i64 {
            return None;
        }
        out.push_str(if k > 0 { ", " } else { "" });
        tree(part, depth + 1, out)?;
    }
    out.push(')');
    Some(())
}

fn write(w: &WriteContext<'_>, d: &mut Encoder) -> Option<()> {
    let mut c = Cursor::new(w.text());
    let mut m = Encoder::default();
    c.accept_after_space(b'{').then_some(())?;
    c.space();
    if c.rest().starts_with(b"[synthetic_call]") {
        c.pos += b"[synthetic_call]".len();
        m.int(2, 1);
    } else {
        node(&mut c, &mut Vec::new(), &mut m)?;
    }
    (c.accept_after_space(b'}') && c.at_end()).then_some(())?;
    d.message(88, &m);
    Some(())
}

fn node(c: &mut Cursor<'_>, index: &mut Vec<i64>, m: &mut Encoder) -> Option<()> {
    if index.len() > MAX_DEPTH {
        return None;
    }
    if c.accept_after_space(b'(') {
        if c.accept_after_space(b')') {
            return Some(());
        }
        for k in 0.. {
            index.push(k);
            node(c, index, m)?;
            index.pop();
            if !c.accept_after_space(b',') {
                break;
            }
        }
        return c.accept_after_space(b')').then_some(());
    }
    let mut leaf = Encoder::default();
    leaf.ints(1, index);
    c.accept_after_space(b'{').then_some(())?;
    if !c.accept_after_space(b'}') {
        let mut array = Encoder::default();
        let name = c.string().ok()?;
        array.data(1, crate::unescape(c.str(name)).as_bytes());
        if c.accept_after_space(b'{') {
            let mut at = Vec::new();
            while !c.accept_after_space(b'}') {
                at.push(c.int().ok()?);
                c.accept_after_space(b',');
            }
            array.ints(2, &at);
        }
        leaf.message(2, &array);
        c.accept_after_space(b'}').then_some(())?;
    }
    m.message(1, &leaf);
    Some(())
}
