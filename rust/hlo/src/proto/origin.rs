//! `origin`, in both directions: a tree of leaves in text, a list of leaves with shape indices in a proto.

use layout::MAX_DEPTH;

use super::quote::push_quoted;
use crate::attribute::origin::{parse, Leaf, Origin};
use crate::attribute::original::Array;
use crate::wire::{bad, Encoder, Message, Wire};

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
