//! Suggestions for misspelled names.

/// The candidate with the smallest edit distance from `word`, if that is small enough for a typo: at most a third of
/// the letters of `word`, rounded up, and never all of them. The first of several nearest candidates wins.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const MAX_LEN: usize = 64;
    if word.is_empty() || word.len() > MAX_LEN {
        return None;
    }
    let mut limit = word.len().div_ceil(3).min(word.len() - 1);
    let mut best = None;
    for candidate in candidates {
        if candidate.len() > MAX_LEN || candidate.len().abs_diff(word.len()) > limit {
            continue;
        }
        let d = distance(word.as_bytes(), candidate.as_bytes());
        if d <= limit {
            best = Some(candidate);
            if d == 0 {
                break;
            }
            limit = d - 1;
        }
    }
    best
}

/// The optimal string alignment distance: the Levenshtein distance with transposition of adjacent letters as one edit.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = a[i - 1] == b[j - 1];
            let mut d = (last[j - 1] + usize::from(!same)).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d = d.min(before[j - 2] + 1);
            }
            row[j] = d;
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
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
        assert_eq!(nearest("", words), None);
    }
}
