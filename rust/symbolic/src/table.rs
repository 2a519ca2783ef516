//! A map for a workspace: looked through while it is small, hashed beyond.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Keys and values. Nothing is allocated before the first insertion.
pub struct Table<K, V> {
    few: Vec<(K, V)>,
    many: FxHashMap<K, V>,
}

/// Up to so many keys are looked through one by one.
const FEW: usize = 16;

impl<K: Eq + Hash, V> Table<K, V> {
    pub fn get(&self, key: &K) -> Option<&V> {
        match self.few.iter().find(|(k, _)| k == key) {
            Some((_, value)) => Some(value),
            None if self.many.is_empty() => None,
            None => self.many.get(key),
        }
    }

    /// Adds a key that is not there.
    pub fn insert(&mut self, key: K, value: V) {
        if self.few.len() < FEW {
            if self.few.capacity() == 0 {
                // Small enough for the allocator's quick bins.
                self.few.reserve_exact(FEW / 4);
            }
            self.few.push((key, value));
        } else {
            self.many.insert(key, value);
        }
    }

    pub fn clear(&mut self) {
        self.few.clear();
        if !self.many.is_empty() {
            self.many.clear();
        }
    }
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Table<K, V> {
        Table { few: Vec::new(), many: FxHashMap::default() }
    }
}
