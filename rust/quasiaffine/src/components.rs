//! Connected components.

/// Returns the least member of each number's component, for the numbers below `n`; each set connects its numbers.
pub(crate) fn components<S: AsRef<[usize]>>(n: usize, sets: impl IntoIterator<Item = S>) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..n).collect();
    fn root(parent: &mut [usize], mut i: usize) -> usize {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    }
    for set in sets {
        for pair in set.as_ref().windows(2) {
            let (a, b) = (root(&mut parent, pair[0]), root(&mut parent, pair[1]));
            parent[a.max(b)] = a.min(b);
        }
    }
    (0..n).map(|i| root(&mut parent, i)).collect()
}
