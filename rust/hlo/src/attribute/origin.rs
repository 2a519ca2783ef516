//! `origin`: the value of the unoptimized program that each leaf of a value stems from.
//!
//! The text is a tree of leaves, behind which may be the calls around the value, `{{"a"},["call.1/call.2"]}`.

use layout::MAX_DEPTH;

use super::original::Array;
use super::unescape;
use crate::cursor::Cursor;

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
    pub array: Option<Array>,
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
            origin.calls = Some(unescape(c.str(calls)).into_owned());
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
