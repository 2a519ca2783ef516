//! Equal maps behave alike, whatever their history; and the number of chains for which two orders of composition give
//! two forms.
//!
//! Numbers that may only fall stand here. A long run, in which no map of 200,000 chains differs by its history, is
//! `HLOMAP_CASES=200000 cargo test --release -p quasiaffine canonical`.

use crate::ops::{mixed_chain, Step};
use quasiaffine::{Map, Options};

fn n_cases() -> u64 {
    std::env::var("HLOMAP_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000)
}

fn chain(seed: u64, n: usize) -> Vec<Map> {
    mixed_chain(seed, n).iter().rev().map(Step::map).collect()
}

fn composed(first: &Map, second: &Map) -> Map {
    first.compose(second, Options::default()).unwrap()
}

/// An equal map without a history.
fn read_again(map: &Map) -> Map {
    let again = map.to_string().parse().unwrap();
    assert_eq!(*map, again);
    again
}

#[test]
fn equal_maps_of_different_history_behave_alike() {
    let mut differ = 0;
    for seed in 0..n_cases() {
        let maps = chain(seed, 6);
        let mut map = maps[0].simplify(Options::default());
        for next in &maps[1..] {
            let again = read_again(&map);
            let by_text = composed(&again, next);
            let unsimplified = map.then(next).unwrap();
            let one = unsimplified == again.then(&read_again(next)).unwrap()
                && unsimplified.simplify(Options::default()) == by_text;
            map = composed(&map, next);
            if map != by_text || !one {
                differ += 1;
                break;
            }
        }
    }
    assert_eq!(differ, 0, "of {}", n_cases());
}

#[test]
fn composition_is_associative_but_for_a_few_forms() {
    let (mut results, mut domains) = (0, 0);
    for seed in 0..2_000 {
        let [a, b, c, ..] = &chain(seed, 6)[..] else { unreachable!() };
        let (left, right) = (composed(&composed(a, b), c), composed(a, &composed(b, c)));
        results += usize::from(left.results() != right.results());
        domains += usize::from(left.domain() != right.domain());
        for map in [left, right] {
            assert_eq!(map.simplify(Options::default()), map, "twice");
        }
    }
    assert!(results <= 115 && domains <= 23, "the results of {results} and the domains of {domains} differ");
}
