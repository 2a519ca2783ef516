//! Names for what has none.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

/// The names in use.
#[derive(Default)]
pub(crate) struct Names<'m> {
    pub taken: FxHashSet<Cow<'m, str>>,
    /// Names that suffixes must not produce.
    pub reserved: FxHashSet<&'m str>,
    /// By name: the last suffix that was tried.
    pub suffixes: FxHashMap<Cow<'m, str>, u64>,
}

impl<'m> Names<'m> {
    /// Adds and returns a name that is not in use.
    pub fn fresh(&mut self, wish: Cow<'m, str>) -> Cow<'m, str> {
        if self.taken.insert(wish.clone()) {
            return wish;
        }
        let n = self.suffixes.entry(wish.clone()).or_insert(0);
        loop {
            *n += 1;
            let name: Cow<'m, str> = Cow::Owned(format!("{wish}.{n}"));
            if !self.reserved.contains(&*name) && self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
