//! The limits of the crate. Past one of them an input is an error, a question is unknown, and a map stays as it was:
//! a limit never makes an answer wrong. Constants that affect only speed are in `tuning`.

/// The depth to which expressions nest, in text and in memory, and branches of a search, so that no walk can exhaust
/// the stack: `tests::what_nests_too_deep_is_an_error`.
pub const DEPTH: u16 = 400;

/// The nodes of an expression that is walked as a tree; a small shared graph can represent a tree of any size:
/// `tests::a_shared_graph_is_not_walked_as_a_tree`.
pub const NODES: u32 = 512;

/// The effort for one question, in terms or coefficients examined, or nodes printed: some ten milliseconds, a thousand
/// times what maps of programs need. Chains of 64 operations in `tests/chains.rs` stay below it.
pub const EFFORT: u64 = 1 << 21;

/// The effort for a question that asks many others, such as one about all pairs of a set, so that a set of many maps has
/// an answer: `tests/sets.rs`.
pub const TOTAL_EFFORT: u64 = 16 * EFFORT;

/// The points or tiles that are enumerated if no formula is known:
/// `tests::what_has_more_points_is_bounded`.
pub const POINTS: u128 = 1 << 16;

/// The points of some results that are enumerated for each choice of tile sizes, since a caller compares many choices;
/// callers may give another number: `tests/tiles.rs`.
#[cfg(feature = "tile")]
pub const FEW_POINTS: i64 = 1 << 14;

/// The parts of a union or a case distinction, each of which is compared with others: `tests/sets.rs`.
pub const PIECES: usize = 1 << 12;

/// The rounds of improvement, or of vain attempts, before a result is left as it is: intervals may narrow by 1 each
/// time, `tests::what_narrows_slowly_stays`.
pub const ROUNDS: usize = 16;

/// The values of one variable, points of a sample or rows of a system that are compared one by one: small boxes in
/// `tests/rules.txt`.
pub const VALUES: usize = 16;

/// The most variables of equal weights: there is a term for each set of them.
pub const SUM_VARS: usize = 8;

/// The alternatives that are tried at one place; the shortest is taken: `tests/chains.rs`.
pub const ALTERNATIVES: usize = 8;

/// Results with at most this many divs are read with open remainders only. A larger limit takes apart values that do
/// not cancel, a smaller one misses values that would: `tests/rules.txt`, `tests/found.txt`.
pub const FEW_DIVS: u32 = 3;

/// The open form of a result is written if it has at most this many times the divs. `tests/chains.rs` needs 2; with
/// more, chains of 64 mixed operations take twice as long, for one div in a hundred.
pub const GROWTH: u64 = 2;

#[cfg(test)]
mod tests {
    use crate::{Count, Domain, Expr, Map, Options};

    fn map(text: &str) -> Map {
        text.parse().unwrap()
    }

    #[test]
    fn what_nests_too_deep_is_an_error() {
        let nested = |n| format!("(d0) -> ({}d0{}), domain: d0 in [0, 1]", "(".repeat(n), ")".repeat(n)).parse::<Map>();
        assert!(nested(300).is_ok() && nested(500).is_err());
    }

    #[test]
    fn a_shared_graph_is_not_walked_as_a_tree() {
        let e = (0..60).fold(Expr::dim(0), |e, _| e.mul(&e).unwrap());
        assert!(e.to_text(None).contains("too many nodes"));
        let squares = Map::new(Domain::of_sizes(&[2]), [e]).unwrap();
        assert_eq!(squares.simplify(Options::default()), squares);
    }

    #[test]
    fn what_has_more_points_is_bounded() {
        let few = map("(d0) -> ((d0 * d0) mod 7), domain: d0 in [0, 99]");
        let many = map("(d0) -> ((d0 * d0) mod 7), domain: d0 in [0, 999999]");
        assert!(few.distinct() == Count::exact(4) && many.distinct().lower < many.distinct().upper);
    }

    #[test]
    fn what_narrows_slowly_stays() {
        let slow = map("(d0, d1) -> (d0), domain: d0 in [0, 999999], d1 in [0, 999999], d0 * 2 - d1 in [1, 9999999], d0 * 2 - d1 * 3 in [-9999999, -1]");
        let once = slow.simplify(Options::default());
        assert_eq!(once.simplify(Options::default()), once);
    }
}
