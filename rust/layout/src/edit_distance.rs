//! Suggestions for misspelled names.

use crate::tuning::MAX_NAME;

/// The candidate with the smallest edit distance from `word`, if that is small enough for a typo: at most a third of
/// the letters of `word`, rounded up, and never all of them. The first of several nearest candidates wins.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.is_empty() || word.len() > MAX_NAME {
        return None;
    }
    let mut limit = word.len().div_ceil(3).min(word.len() - 1);
    let mut best = None;
    for candidate in candidates {
        if candidate.len() > MAX_NAME || candidate.len().abs_diff(word.len()) > limit {
            continue;
        }
        let Some(d) = distance(word.as_bytes(), candidate.as_bytes(), limit) else { continue };
        best = Some(candidate);
        if d == 0 {
            break;
        }
        limit = d - 1;
    }
    best
}

/// The optimal string alignment distance: the Levenshtein distance with transposition of adjacent letters as one edit.
/// `None` if it exceeds `limit`. Neither word is longer than [`MAX_NAME`].
fn distance(a: &[u8], b: &[u8], limit: usize) -> Option<usize> {
    let mut before = [0; MAX_NAME + 1];
    let mut last: [usize; MAX_NAME + 1] = std::array::from_fn(|j| j);
    for i in 1..=a.len() {
        let mut row = [i; MAX_NAME + 1];
        for j in 1..=b.len() {
            let same = a[i - 1] == b[j - 1];
            let mut d = (last[j - 1] + usize::from(!same)).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d = d.min(before[j - 2] + 1);
            }
            row[j] = d;
        }
        // Every entry of a later row is at least the smallest entry of the two rows before it.
        let exceeds = |row: &[usize]| row[..=b.len()].iter().all(|&d| d > limit);
        if exceeds(&row) && exceeds(&last) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    Some(last[b.len()]).filter(|&d| d <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions() {
        let words = ["transpose", "reshape", "reverse", "add"];
        assert_eq!(nearest("tranpsose", words), Some("transpose"));
        assert_eq!(nearest("resape", words), Some("reshape"));
        assert_eq!(nearest("dad", words), Some("add"));
        assert_eq!(nearest("zzz", words), None);
        assert_eq!(nearest("rad", ["add", "bad", "red"]), Some("bad"));
        assert_eq!(nearest("revreshe", words), Some("reverse"));
        assert_eq!(nearest("revxeyse", ["revxeyse"]), Some("revxeyse"));
        assert_eq!(nearest("", words), None);
    }

    #[test]
    fn a_limit_changes_no_distance_within_it() {
        let words: Vec<Vec<u8>> = (0..6)
            .flat_map(|n| (0..1_u32 << n).map(move |bits| (0..n).map(|i| (bits >> i & 1) as u8).collect()))
            .collect();
        for a in &words {
            for b in &words {
                let d = distance(a, b, MAX_NAME).unwrap();
                assert!((0..6).all(|limit| distance(a, b, limit) == Some(d).filter(|&d| d <= limit)), "{a:?} {b:?}");
            }
        }
    }
}
