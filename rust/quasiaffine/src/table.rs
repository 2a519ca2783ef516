//! A hash map for a context: a list with linear search while it is small.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::tuning::FEW_KEYS;

/// Keys and values. Nothing is allocated before the first insertion.
pub struct Table<K, V> {
    few: SmallVec<[(K, V); 3]>,
    /// Boxed, since most tables stay small and a context should be cheap to make and drop.
    many: Option<Box<FxHashMap<K, V>>>,
}

impl<K: Eq + Hash, V> Table<K, V> {
    pub fn get(&self, key: &K) -> Option<&V> {
        match self.few.iter().find(|(k, _)| k == key) {
            Some((_, value)) => Some(value),
            None => self.many.as_ref()?.get(key),
        }
    }

    /// Adds a key that the table does not have.
    pub fn insert(&mut self, key: K, value: V) {
        if self.few.len() < FEW_KEYS {
            self.few.push((key, value));
        } else {
            self.many.get_or_insert_default().insert(key, value);
        }
    }

    pub fn clear(&mut self) {
        self.few.clear();
        self.many = None;
    }
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Table<K, V> {
        Table { few: SmallVec::new(), many: None }
    }
}
