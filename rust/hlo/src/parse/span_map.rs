//! A map from spans of one text to numbers: names to rows, texts of shapes to shapes.
//!
//! Read [`SpanMap`]. Keys are compared by the text that they span, so a map owns no text. Invariant: clearing a map
//! costs time proportional to what was inserted since it was last empty, independent of its capacity.

use std::hash::Hasher;

use crate::cursor::bytes_equal;
use crate::error::Span;

/// A hash table with open addressing, at most half full.
#[derive(Default)]
pub(crate) struct SpanMap {
    slots: Vec<Slot>,
    /// Indices of the used slots, so that clearing touches no others.
    used: Vec<u32>,
}

/// Free if its hash is 0, which no key has.
#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u32,
    key: Span,
    value: u32,
}

impl SpanMap {
    /// The value of this text.
    #[inline]
    pub fn find(&self, text: &[u8], key: Span) -> Option<u32> {
        if self.used.is_empty() {
            return None;
        }
        let slot = &self.slots[self.slot(text, key, hash(&text[key.range()]))];
        (slot.hash != 0).then_some(slot.value)
    }

    /// Sets the value of a text; returns its previous value.
    #[inline]
    pub fn insert(&mut self, text: &[u8], key: Span, value: u32) -> Option<u32> {
        if self.used.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let hash = hash(&text[key.range()]);
        let at = self.slot(text, key, hash);
        let slot = &mut self.slots[at];
        if slot.hash != 0 {
            return Some(std::mem::replace(&mut slot.value, value));
        }
        *slot = Slot { hash, key, value };
        self.used.push(at as u32);
        None
    }

    /// The slot of this key, or the free slot where it would be inserted.
    #[inline]
    fn slot(&self, text: &[u8], key: Span, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.hash == 0 || (slot.hash == hash && bytes_equal(&text[slot.key.range()], &text[key.range()])) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let n = (self.slots.len() * 2).max(32);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); n]);
        for index in &mut self.used {
            let slot = old[*index as usize];
            let mut at = slot.hash as usize & (n - 1);
            while self.slots[at].hash != 0 {
                at = (at + 1) & (n - 1);
            }
            self.slots[at] = slot;
            *index = at as u32;
        }
    }

    pub fn clear(&mut self) {
        if self.used.len() * 8 > self.slots.len() {
            self.slots.fill(Slot::default());
        } else {
            self.used.iter().for_each(|&at| self.slots[at as usize] = Slot::default());
        }
        self.used.clear();
    }
}

#[inline]
fn hash(bytes: &[u8]) -> u32 {
    let mut h = rustc_hash::FxHasher::default();
    h.write(bytes);
    (h.finish() as u32).max(1)
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
        map.insert(text.as_bytes(), spans[0], 1);
        map.clear();
        assert!(map.slots.iter().all(|slot| slot.hash == 0));
    }
}
