//! A vector whose first `N` elements need no allocation, as the fields of public types: the face of the crate shows no
//! type of another crate.

use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

/// A growing list that holds up to `N` elements without an allocation; otherwise a slice.
///
/// ```
/// use quasiaffine::List;
/// let mut sizes: List<i64, 4> = [3, 5].into_iter().collect();
/// sizes.insert(0, 1);
/// assert_eq!((sizes.len(), sizes.remove(2), sizes.remove(2)), (3, Some(5), None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct List<T, const N: usize>(SmallVec<[T; N]>);

impl<T, const N: usize> List<T, N> {
    /// A list without elements.
    pub fn new() -> List<T, N> {
        List(SmallVec::new())
    }

    /// Adds a last element.
    #[inline]
    pub fn push(&mut self, element: T) {
        self.0.push(element);
    }

    /// Adds an element before the one at `at`, or as the last one if `at` is the length or more.
    pub fn insert(&mut self, at: usize, element: T) {
        self.0.insert(at.min(self.0.len()), element);
    }

    /// Takes the element at `at` out, if there is one.
    pub fn remove(&mut self, at: usize) -> Option<T> {
        (at < self.0.len()).then(|| self.0.remove(at))
    }

    /// Makes place for more elements.
    pub(crate) fn reserve(&mut self, n: usize) {
        self.0.reserve(n);
    }
}

impl<T, const N: usize> Default for List<T, N> {
    fn default() -> List<T, N> {
        List::new()
    }
}

impl<T, const N: usize> Deref for List<T, N> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const N: usize> DerefMut for List<T, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T, const N: usize> FromIterator<T> for List<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> List<T, N> {
        List(elements.into_iter().collect())
    }
}

impl<T, const N: usize> From<Vec<T>> for List<T, N> {
    fn from(elements: Vec<T>) -> List<T, N> {
        List(elements.into())
    }
}

impl<T, const N: usize> Extend<T> for List<T, N> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        self.0.extend(elements);
    }
}

/// The elements of a [`List`], one after the other.
#[derive(Debug)]
pub struct Elements<T, const N: usize>(smallvec::IntoIter<[T; N]>);

impl<T, const N: usize> Iterator for Elements<T, N> {
    type Item = T;
    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.next()
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T, const N: usize> IntoIterator for List<T, N> {
    type Item = T;
    type IntoIter = Elements<T, N>;
    fn into_iter(self) -> Elements<T, N> {
        Elements(self.0.into_iter())
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a List<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a mut List<T, N> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}
