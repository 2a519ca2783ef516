//! A map from spans of one text to numbers: names to rows, texts of shapes to shapes.
//!
//! Keys are compared by the text that they span, so a map owns no text. Clearing a map costs the same however many keys
//! it has.

use std::hash::Hasher;

use crate::cursor::bytes_equal;
use crate::error::Span;

/// A hash table with open addressing, at most half full.
pub(crate) struct SpanMap {
    slots: Vec<Slot>,
    /// The number of keys.
    n: usize,
    /// One more than the number of times that the map was cleared; fits, since a text is shorter than 4 GiB.
    round: u32,
}

/// Used if it is of the round of its map; free otherwise, and at first.
#[derive(Clone, Copy, Default)]
struct Slot {
    round: u32,
    hash: u32,
    key: Span,
    value: u32,
}

impl Default for SpanMap {
    fn default() -> SpanMap {
        SpanMap { slots: Vec::new(), n: 0, round: 1 }
    }
}

impl SpanMap {
    /// The value of this text.
    #[inline]
    pub fn find(&self, text: &[u8], key: Span) -> Option<u32> {
        if self.n == 0 {
            return None;
        }
        let slot = &self.slots[self.slot(text, key, hash(&text[key.range()]))];
        (slot.round == self.round).then_some(slot.value)
    }

    /// Sets the value of a text; returns its previous value.
    #[inline]
    pub fn insert(&mut self, text: &[u8], key: Span, value: u32) -> Option<u32> {
        if self.n * 2 >= self.slots.len() {
            self.grow();
        }
        let hash = hash(&text[key.range()]);
        let at = self.slot(text, key, hash);
        let slot = &mut self.slots[at];
        if slot.round == self.round {
            return Some(std::mem::replace(&mut slot.value, value));
        }
        *slot = Slot { round: self.round, hash, key, value };
        self.n += 1;
        None
    }

    /// The slot of this key, or the free slot where it would be inserted.
    #[inline]
    fn slot(&self, text: &[u8], key: Span, hash: u32) -> usize {
        let name = &text[key.range()];
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.round != self.round || (slot.hash == hash && bytes_equal(&text[slot.key.range()], name)) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let n = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); n]);
        for slot in old.into_iter().filter(|slot| slot.round == self.round) {
            let mut at = slot.hash as usize & (n - 1);
            while self.slots[at].round == self.round {
                at = (at + 1) & (n - 1);
            }
            self.slots[at] = slot;
        }
    }

    pub fn clear(&mut self) {
        self.n = 0;
        self.round += 1;
    }
}

#[inline]
fn hash(bytes: &[u8]) -> u32 {
    let mut h = rustc_hash::FxHasher::default();
    h.write(bytes);
    h.finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_texts() {
        let text: String = (0..5000).map(|k| format!("name.{} ", k % 2500)).collect();
        let spans: Vec<Span> = text
            .split_inclusive(' ')
            .scan(0, |at, word| {
                *at += word.len();
                Some(Span::new(*at - word.len(), *at - 1))
            })
            .collect();
        let mut map = SpanMap::default();
        for round in 0..2 {
            for (k, &span) in spans.iter().enumerate() {
                let before = map.insert(text.as_bytes(), span, k as u32);
                assert_eq!(before, (k >= 2500).then(|| k as u32 - 2500), "{round}");
            }
            assert_eq!(map.find(text.as_bytes(), spans[7]), Some(2507));
            map.clear();
            assert_eq!(map.find(text.as_bytes(), spans[7]), None);
        }
    }
}
