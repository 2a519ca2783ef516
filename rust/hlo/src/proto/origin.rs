//! `origin`: the value of the unoptimized program that each leaf of a value stems from.
//!
//! The text is a tree of leaves, the proto a list of leaves with shape indices; behind the tree may be the calls around
//! the value, `{{"a"},["call.1/call.2"]}`.

use layout::MAX_DEPTH;

use super::original::Array;
use super::quote::push_quoted;
use crate::cursor::Cursor;
use crate::wire::{bad, Encoder, Message, Wire};

/// The origin of a value as its text has it.
#[derive(Default)]
pub(crate) struct Origin {
    pub leaves: Vec<Leaf>,
    /// The indices of tuples without parts, which a proto does not list.
    pub empty: Vec<Vec<i64>>,
    /// The calls around the value.
    pub calls: Option<String>,
}

pub(crate) struct Leaf {
    pub index: Vec<i64>,
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
    let Origin { leaves, calls, .. } = parse(text)?;
    // A call of which nothing else is known.
    let is_synthetic = leaves.is_empty() && calls.as_ref().is_some_and(String::is_empty);
    d.nested(88, |d| {
        for Leaf { index, array } in leaves {
            d.nested(1, |d| {
                d.ints(1, &index);
                array.iter().for_each(|array| d.message(2, &array.write()));
            });
        }
        d.int_unless_zero(2, i64::from(is_synthetic));
        calls.iter().for_each(|calls| d.data(3, calls.as_bytes()));
    });
    Some(())
}

/// The origin in a text; `None` for a text that is not one.
pub(crate) fn parse(text: &str) -> Option<Origin> {
    let mut c = Cursor::new(text);
    let mut origin = Origin::default();
    c.accept_after_space(b'{').then_some(())?;
    c.space();
    if c.rest().starts_with(b"[synthetic_call]") {
        c.pos += b"[synthetic_call]".len();
        origin.calls = Some(String::new());
    } else {
        node(&mut c, &mut Vec::new(), &mut origin)?;
        if c.accept_after_space(b',') {
            c.accept_after_space(b'[').then_some(())?;
            let calls = c.string().ok()?;
            origin.calls = Some(crate::unescape(c.str(calls)).into_owned());
            c.accept_after_space(b']').then_some(())?;
        }
    }
    (c.accept_after_space(b'}') && c.at_end()).then_some(origin)
}

fn node(c: &mut Cursor<'_>, index: &mut Vec<i64>, origin: &mut Origin) -> Option<()> {
    if index.len() > MAX_DEPTH {
        return None;
    }
    if !c.accept_after_space(b'(') {
        origin.leaves.push(Leaf { index: index.clone(), array: Array::parse(c).ok()? });
        return Some(());
    }
    if c.accept_after_space(b')') {
        origin.empty.push(index.clone());
        return Some(());
    }
    for k in 0.. {
        index.push(k);
        node(c, index, origin)?;
        index.pop();
        if !c.accept_after_space(b',') {
            break;
        }
    }
    c.accept_after_space(b')').then_some(())
}
