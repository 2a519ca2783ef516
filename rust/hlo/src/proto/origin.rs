//! `origin`: the value of the unoptimized program that each leaf of a value stems from.
//!
//! Read [`ORIGIN`]. The text is a tree of leaves, the proto a list of leaves with shape indices.

use super::irregular::{Irregular, ReadContext, WriteContext};
use super::original::{push_array, read_array};
use super::quote::push_quoted;
use super::wire::{Encoder, Message, Wire};
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
    let calls = m.text(3)?;
    if m.int(2) != 0 && calls.is_empty() {
        text.push_str("{[synthetic_call]}");
        return Ok(true);
    }
    let leaves = m.subs(1).map(|leaf| self::leaf(leaf?)).collect::<Wire<Vec<_>>>()?;
    text.push('{');
    // Indices with gaps do not form a tree, so the attribute is dropped.
    let is_tree = tree(&leaves, 0, text).is_some();
    if m.has(3) {
        text.push_str(",[");
        push_quoted(text, calls);
        text.push(']');
    }
    text.push('}');
    Ok(is_tree)
}

fn leaf(m: Message<'_>) -> Wire<Leaf> {
    let mut text = String::new();
    push_array(m.sub(2)?, &mut text)?;
    Ok(Leaf { index: m.ints(1)?, text })
}

fn tree(leaves: &[Leaf], depth: usize, out: &mut String) -> Option<()> {
    if leaves.iter().any(|leaf| leaf.index.iter().any(|&k| k < 0)) {
        return None;
    }
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
        m.data(3, b"");
    } else {
        node(&mut c, &mut Vec::new(), &mut m)?;
    }
    if c.accept_after_space(b',') {
        c.accept_after_space(b'[').then_some(())?;
        let calls = c.string().ok()?;
        c.accept_after_space(b']').then_some(())?;
        if m.0.is_empty() && calls.is_empty() {
            m.int(2, 1);
        }
        m.data(3, crate::unescape(c.str(calls)).as_bytes());
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
    if let Some(array) = read_array(c)? {
        leaf.message(2, &array);
    }
    m.message(1, &leaf);
    Some(())
}
