//! `origin`: the value of the unoptimized program that each leaf of a value stems from.
//!
//! The text is a tree of leaves, the proto a list of leaves with shape indices; behind the tree may be the calls around
//! the value, `{{"a"},["call.1/call.2"]}`.

use layout::MAX_DEPTH;

use super::original::Array;
use super::quote::push_quoted;
use super::wire::{bad, Encoder, Message, Wire};
use crate::cursor::Cursor;

struct Leaf {
    index: Vec<i64>,
    array: Option<Array>,
}

/// Appends the text of an `OriginalValueProto`.
pub(super) fn read(m: Message<'_>, limit: usize, text: &mut String) -> Wire<bool> {
    let calls = m.text(3)?;
    let is_synthetic = m.int(2) != 0;
    text.push('{');
    if is_synthetic && calls.is_empty() {
        // Every version of XLA reads this form.
        text.push_str("[synthetic_call]}");
        return Ok(true);
    }
    let mut leaves = m.subs(1).map(|leaf| self::leaf(leaf?)).collect::<Wire<Vec<_>>>()?;
    // As in XLA, which finds nothing at a negative index.
    if leaves.iter().any(|leaf| leaf.index.iter().any(|&k| k < 0)) {
        return Ok(false);
    }
    leaves.sort_by(|a, b| a.index.cmp(&b.index));
    let leaves = if is_synthetic { &[] } else { &leaves[..] };
    if tree(leaves, 0, limit, text).is_none() {
        return bad(m.at, format!("an origin that is nested deeper than {MAX_DEPTH} levels, or too large"));
    }
    if m.has(3) {
        text.push_str(",[");
        push_quoted(text, calls);
        text.push(']');
    }
    text.push('}');
    Ok(true)
}

fn leaf(m: Message<'_>) -> Wire<Leaf> {
    Ok(Leaf { index: m.ints(1)?, array: m.sub(2)?.map(Array::read).transpose()? })
}

/// Appends the tree of these leaves, which are sorted. Parts without a leaf are empty tuples.
fn tree(leaves: &[Leaf], depth: usize, limit: usize, out: &mut String) -> Option<()> {
    // Of several leaves with one index the last counts.
    if let Some(leaf) = leaves.last().filter(|leaf| leaf.index.len() == depth) {
        Array::push(leaf.array.as_ref(), out);
        return Some(());
    }
    (depth <= MAX_DEPTH).then_some(())?;
    let leaves = &leaves[leaves.iter().take_while(|leaf| leaf.index.len() == depth).count()..];
    out.push('(');
    let mut next = 0;
    for part in leaves.chunk_by(|a, b| a.index[depth] == b.index[depth]) {
        while next < part[0].index[depth] {
            (out.len() <= limit).then_some(())?;
            out.push_str(if next > 0 { ", ()" } else { "()" });
            next += 1;
        }
        out.push_str(if next > 0 { ", " } else { "" });
        tree(part, depth + 1, limit, out)?;
        next += 1;
    }
    out.push(')');
    Some(())
}

pub(super) fn write(text: &str, d: &mut Encoder) -> Option<()> {
    let mut c = Cursor::new(text);
    let mut m = Encoder::default();
    c.accept_after_space(b'{').then_some(())?;
    c.space();
    if c.rest().starts_with(b"[synthetic_call]") {
        c.pos += b"[synthetic_call]".len();
        m.int(2, 1);
        m.data(3, b"");
    } else {
        node(&mut c, &mut Vec::new(), &mut m)?;
        if c.accept_after_space(b',') {
            c.accept_after_space(b'[').then_some(())?;
            let calls = c.string().ok()?;
            let calls = crate::unescape(c.str(calls));
            // A call of which nothing else is known.
            if calls.is_empty() && m.0.is_empty() {
                m.int(2, 1);
            }
            m.data(3, calls.as_bytes());
            c.accept_after_space(b']').then_some(())?;
        }
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
    if let Some(array) = Array::parse(c).ok()? {
        leaf.message(2, &array.write());
    }
    m.message(1, &leaf);
    Some(())
}
