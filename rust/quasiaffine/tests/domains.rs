//! Random domains whose constraints share variables, against evaluation at every point. `laws.rs` has the other small maps.
//!
//! Debug builds check of each map that is taken to be in normal form that the rules would leave it as it is.

use crate::random::{build, config, Tree};
use proptest::prelude::*;
use quasiaffine::State;
use quasiaffine::{
    Answer, Constraint, Count, Domain, Expr, Interval, Kind, Map, Options, Points, Program, Var, Variable,
};

/// The most variables. Each has up to [`SIZE`] values.
const VARS: usize = 4;
const SIZE: i64 = 6;

/// The first value of a variable, how many it has, and whether it is a dimension, a range or a runtime variable.
type Variables = Vec<(i64, i64, u8)>;

/// A sum of variables, or a quotient or a remainder of one.
fn term() -> impl Strategy<Value = Tree> {
    let factor = || prop_oneof![3 => Just(1i64), 2 => -4i64..5];
    let sum = || {
        let terms = prop::collection::vec((factor(), 0..VARS as u32), 1..4);
        (terms, prop_oneof![3 => Just(0i64), 1 => -5i64..9]).prop_map(|(terms, c)| Tree::Dot(terms, c))
    };
    let n = || prop_oneof![2 => 2i64..5, 1 => 5i64..13];
    prop_oneof![
        4 => sum(),
        3 => (sum(), n()).prop_map(|(x, n)| Tree::Mod(x.into(), n)),
        2 => (sum(), n()).prop_map(|(x, n)| Tree::Div(x.into(), n)),
        1 => (sum(), n(), n()).prop_map(|(x, m, n)| Tree::Mod(Tree::Div(x.into(), m).into(), n)),
    ]
}

/// A term, and an interval around its value at a point of the box: how far it reaches down and up.
fn constraint() -> impl Strategy<Value = (Tree, [i64; 2])> {
    let reach = || prop_oneof![2 => Just(0i64), 2 => 0i64..4, 2 => 4i64..24];
    (term(), [reach(), reach()])
}

fn maps() -> impl Strategy<Value = Map> {
    let result = prop_oneof![
        3 => term(),
        1 => (term(), 1i64..9, term()).prop_map(|(a, k, b)| Tree::Add(a.into(), Tree::Scale(k, b.into()).into())),
    ];
    let kind = prop_oneof![4 => Just(0u8), 1 => Just(1u8), 1 => Just(2u8)];
    (
        prop::collection::vec((-2i64..3, 2..=SIZE, kind), 2..=VARS),
        prop::collection::vec(result, 1..4),
        prop::collection::vec(constraint(), 1..5),
        prop::collection::vec(0i64..SIZE, VARS),
    )
        .prop_map(|(vars, results, constraints, at)| map_of(vars, &results, &constraints, &at))
}

fn map_of(mut vars: Variables, results: &[Tree], constraints: &[(Tree, [i64; 2])], at: &[i64]) -> Map {
    vars.sort_by_key(|(.., kind)| *kind);
    let kinds = [Kind::Dim, Kind::Range, Kind::Runtime];
    let count = |kind: u8| vars.iter().filter(|v| v.2 == kind).count();
    let all: Vec<Var> = kinds
        .iter()
        .enumerate()
        .flat_map(|(k, kind)| (0..count(k as u8) as u32).map(|index| Var { kind: *kind, index }))
        .collect();
    let point: Vec<i64> = vars.iter().zip(at).map(|((lo, size, _), at)| lo + at % size).collect();
    let anchored = |(tree, [down, up]): &(Tree, [i64; 2])| {
        let expr = build(tree, &all);
        let value = |v: Var| Ok(Expr::Const(point[all.iter().position(|w| *w == v).unwrap_or(0)]));
        let value = expr.substitute(&value).unwrap().as_const().unwrap();
        Constraint { expr, interval: Interval::new(value - down, value + up) }
    };
    let domain = Domain {
        vars: vars.iter().map(|(lo, size, _)| Variable::new(Interval::new(*lo, lo + size - 1))).collect(),
        n_dims: count(0),
        n_ranges: count(1),
        constraints: constraints.iter().map(anchored).collect(),
    };
    Map::new(domain, results.iter().map(|t| build(t, &all))).unwrap()
}

/// Every point of a box around all ranges that [`maps`] makes: in the domain or not, and the values there.
fn meaning(m: &Map) -> Vec<Option<Vec<i64>>> {
    let n = m.domain().vars.len();
    let side = SIZE + 4;
    let n_points = side.pow(n as u32) as usize;
    if m.state() == quasiaffine::State::Empty {
        return vec![None; n_points];
    }
    let coordinate = |point: usize, v: usize| point as i64 / side.pow(v as u32) % side - 2;
    let of = |vars: std::ops::Range<usize>| -> Vec<i64> {
        (0..n_points).flat_map(|p| vars.clone().map(move |v| coordinate(p, v))).collect()
    };
    let (n_dims, n_ranges) = (m.domain().n_dims, m.domain().n_ranges);
    let (dims, ranges, runtime) = (of(0..n_dims), of(n_dims..n_dims + n_ranges), of(n_dims + n_ranges..n));
    let points = Points { n: n_points, dims: &dims, ranges: &ranges, runtime: &runtime };
    let program = Program::new(m).unwrap();
    let (inside, values) = (program.in_domain(&points).unwrap(), program.run::<false>(&points).unwrap());
    let width = m.results().len();
    inside.iter().zip(values.chunks(width)).map(|(inside, values)| inside.then(|| values.to_vec())).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn simplify_keeps_the_domain_and_every_value(m in maps()) {
        let simplified = m.simplify(Options::default());
        for (point, (a, b)) in meaning(&m).iter().zip(&meaning(&simplified)).enumerate() {
            prop_assert_eq!(a, b, "point {} of {} and {}", point, m, simplified);
        }
    }

    #[test]
    fn simplify_twice_is_simplify_once_with_and_without_shortcuts(m in maps()) {
        for drop_unused in [false, true] {
            for keep_point_dims in [false, true] {
                let options = Options::new().drop_unused(drop_unused).keep_point_dims(keep_point_dims);
                let once = m.simplify(options);
                prop_assert_eq!(&once.simplify(options), &once);
                prop_assert_eq!(&m.simplify(options.rules_only(true)), &once);
            }
        }
    }
}

/// Sums whose factors reach the ends of 64 bits, by hand: what holds nowhere is no constraint that says nothing.
#[test]
fn a_sum_that_does_not_fit_is_not_implied() {
    for constraint in [
        "d0 * -4611686018427387904 + d0 mod 2 in [0, 0]",
        "d0 * -4611686018427387904 + d0 mod 2 in [-9, 9]",
        "d0 * -9223372036854775808 in [0, 9223372036854775807]",
        "d0 * 9223372036854775807 + (d0 floordiv 2) * 9223372036854775807 in [-9223372036854775808, 0]",
    ] {
        let map: Map = format!("(d0) -> (d0), domain: d0 in [3, 6], {constraint}").parse().unwrap();
        let free: Map = "(d0) -> (d0), domain: d0 in [3, 6]".parse().unwrap();
        let simple = map.simplify(Options::default());
        assert!(simple.state() == State::Empty || !simple.domain().constraints.is_empty(), "{map} becomes {simple}");
        assert_ne!(map.is_empty().known(), Some(false), "{map}");
        assert!(!matches!(map.equivalent(&free), Answer::Yes), "{map}");
        assert_ne!(map.contains(&free).known(), Some(true), "{map}");
        assert_eq!(map.touched(), Count::exact(0), "{map}");
    }
}
