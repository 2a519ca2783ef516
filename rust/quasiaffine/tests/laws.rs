//! Properties of random maps of three dimensions, against evaluation at every point. `wide.rs` has the other maps.

use crate::random::{self, config, Size, Tree};
use proptest::prelude::*;
use quasiaffine::{Constraint, Domain, Expr, Interval, Kind, Map, Options, Points, Program, Var, Variable};

const DIMS: u32 = 3;

fn tree() -> impl Strategy<Value = Tree> {
    random::tree(Size::Small)
}

fn build(t: &Tree) -> Expr {
    random::build(t, &[0, 1, 2].map(|index| Var { kind: Kind::Dim, index }))
}

fn interval() -> impl Strategy<Value = Interval> {
    (-6i64..7, 0i64..9).prop_map(|(lo, size)| Interval::new(lo, lo + size))
}

fn map_of(ranges: &[Interval], results: &[Tree], constraints: &[(Tree, Interval)]) -> Map {
    let domain = Domain {
        vars: ranges.iter().map(|r| Variable::new(*r)).collect(),
        n_dims: ranges.len(),
        n_ranges: 0,
        constraints: constraints
            .iter()
            .map(|(t, interval)| Constraint { expr: build(t), interval: *interval })
            .collect(),
    };
    Map::new(domain, results.iter().map(build)).unwrap()
}

fn maps() -> impl Strategy<Value = Map> {
    let wide = (-12i64..13, 0i64..12).prop_map(|(lo, size)| Interval::new(lo, lo + size));
    (
        prop::collection::vec(interval(), DIMS as usize),
        prop::collection::vec(tree(), 1..3),
        prop::collection::vec((tree(), wide), 0..3),
    )
        .prop_map(|(ranges, results, constraints)| map_of(&ranges, &results, &constraints))
}

/// Every point of a box around all ranges that [`interval`] makes, row by row.
fn all_points() -> (usize, Vec<i64>) {
    let side: Vec<i64> = (-7..=16).collect();
    let mut rows = Vec::new();
    for a in &side {
        for b in &side {
            for c in &side {
                rows.extend([*a, *b, *c]);
            }
        }
    }
    (rows.len() / 3, rows)
}

/// Whether each point lies in the domain, and the values there.
fn meaning(m: &Map, n: usize, rows: &[i64]) -> (Vec<bool>, Vec<i64>) {
    if m.state() == quasiaffine::State::Empty {
        return (vec![false; n], Vec::new());
    }
    let points = Points { n, dims: rows, ranges: &[], runtime: &[] };
    let program = Program::new(m).unwrap();
    (program.in_domain(&points).unwrap(), program.run::<false>(&points).unwrap())
}

fn check_equal(a: &Map, b: &Map) -> Result<(), TestCaseError> {
    let (n, rows) = all_points();
    let ((in_a, values_a), (in_b, values_b)) = (meaning(a, n, &rows), meaning(b, n, &rows));
    prop_assert_eq!(&in_a, &in_b, "domains differ:\n{}\n{}", a, b);
    let width = a.results().len();
    for i in (0..n).filter(|i| in_a[*i]) {
        let (x, y) = (&values_a[i * width..][..width], &values_b[i * width..][..width]);
        prop_assert_eq!(x, y, "values differ at {:?}:\n{}\n{}", &rows[i * 3..][..3], a, b);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn simplify_keeps_the_domain_and_every_value(m in maps()) {
        check_equal(&m, &m.simplify(Options::default()))?;
    }

    #[test]
    fn simplify_twice_is_simplify_once_and_never_costs_more(m in maps()) {
        let once = m.simplify(Options::default());
        let twice = once.simplify(Options::default());
        prop_assert_eq!(&twice, &once);
        prop_assert!(once.cost().divmods <= m.cost().divmods, "{} is no simpler than {}", once, m);
    }

    #[test]
    fn shortcuts_give_the_answers_of_the_rules(m in maps()) {
        let by_rules = m.simplify(Options::new().rules_only(true));
        prop_assert_eq!(m.simplify(Options::default()), by_rules, "of {}", m);
    }

    #[test]
    fn bounds_hold_every_value(m in maps()) {
        let (n, rows) = all_points();
        let (inside, values) = meaning(&m, n, &rows);
        let width = m.results().len();
        for (j, e) in m.results().iter().enumerate() {
            let interval = m.bounds(e).unwrap();
            for i in (0..n).filter(|i| inside[*i]) {
                prop_assert!(interval.contains(values[i * width + j]), "{} of {} is not in {:?}", values[i * width + j], m, interval);
            }
        }
    }

    #[test]
    fn counts_hold_the_true_numbers(m in maps()) {
        let (n, rows) = all_points();
        let (inside, values) = meaning(&m, n, &rows);
        let width = m.results().len();
        let points = inside.iter().filter(|i| **i).count() as u128;
        let images: std::collections::HashSet<&[i64]> =
            (0..n).filter(|i| inside[*i]).map(|i| &values[i * width..][..width]).collect();
        let (touched, distinct) = (m.touched(), m.distinct());
        prop_assert!(touched.lower <= points && points <= touched.upper, "{} points, {:?} of {}", points, touched, m);
        let images = images.len() as u128;
        prop_assert!(distinct.lower <= images && images <= distinct.upper, "{} images, {:?} of {}", images, distinct, m);
    }

    #[test]
    fn text_reads_back(m in maps()) {
        prop_assert_eq!(m.to_string().parse::<Map>().unwrap(), m.clone());
        let xla = m.to_text(quasiaffine::Style::Xla).unwrap();
        prop_assert_eq!(xla.parse::<Map>().unwrap(), m.clone());
        let multiline = m.to_text(quasiaffine::Style::Multiline).unwrap();
        prop_assert_eq!(multiline.parse::<Map>().unwrap(), m);
    }

    #[test]
    fn then_is_composition_of_functions(
        ranges in prop::collection::vec(interval(), DIMS as usize),
        limits in prop::collection::vec((-40i64..10, 10i64..80), 2 * DIMS as usize),
        results in prop::collection::vec(tree(), 3 * DIMS as usize),
    ) {
        let d = DIMS as usize;
        let limits: Vec<Interval> = limits.into_iter().map(|(lo, size)| Interval::new(lo, lo + size)).collect();
        let maps = [
            map_of(&ranges, &results[..d], &[]),
            map_of(&limits[..d], &results[d..2 * d], &[]),
            map_of(&limits[d..], &results[2 * d..], &[]),
        ];
        let (n, rows) = all_points();
        let (mut is_inside, mut expected) = meaning(&maps[0], n, &rows);
        // What one composition knows of its values goes into the next one.
        let (mut given, mut simple) = (maps[0].clone(), maps[0].clone());
        for next in &maps[1..] {
            given = given.then(next).unwrap();
            let composed = simple.compose(next, Options::default()).unwrap();
            // Neither what was made between, nor what was simplified before, nor what is shared shows in the result.
            let both = simple.then(next).unwrap();
            for map in [&both, &both].into_iter().chain(both.to_string().parse::<Map>().ok().as_ref()) {
                prop_assert_eq!(&composed, &map.simplify(Options::default()), "of {} and {}", simple, next);
            }
            simple = composed;
            let (in_next, values) = meaning(next, n, &expected);
            is_inside.iter_mut().zip(&in_next).for_each(|(inside, also)| *inside &= also);
            expected = values;
            for map in [&given, &simple] {
                let (inside, values) = meaning(map, n, &rows);
                for i in 0..n {
                    prop_assert_eq!(inside[i], is_inside[i], "{:?}: {}", maps, map);
                    if inside[i] {
                        prop_assert_eq!(&values[i * d..][..d], &expected[i * d..][..d], "{:?}: {}", maps, map);
                    }
                }
            }
        }
    }
}

#[test]
fn parser_reads_any_text_without_panic() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let text = "[a-z0-9 (){}\\[\\],:>*/+#-]{0,60}";
    runner
        .run(&text, |s| {
            let _ = s.parse::<Map>();
            Ok(())
        })
        .unwrap();
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn equivalence_is_never_wrong(a in maps(), b in maps()) {
        let same = a.simplify(Options::default());
        prop_assert_eq!(a.equivalent(&same), quasiaffine::Answer::Yes);
        let (n, rows) = all_points();
        let (in_a, values_a) = meaning(&a, n, &rows);
        let (in_b, values_b) = meaning(&b, n, &rows);
        let image = |inside: &[bool], values: &[i64], width: usize, i: usize| {
            inside[i].then(|| values[i * width..][..width].to_vec())
        };
        let (wide_a, wide_b) = (a.results().len(), b.results().len());
        let differ = (0..n).any(|i| image(&in_a, &values_a, wide_a, i) != image(&in_b, &values_b, wide_b, i));
        match a.equivalent(&b) {
            quasiaffine::Answer::Yes => prop_assert!(!differ, "{} is not {}", a, b),
            quasiaffine::Answer::No(point) => {
                let i = (0..n).find(|i| rows[i * 3..][..3] == point[..]).expect("a point of the box");
                let (x, y) = (image(&in_a, &values_a, wide_a, i), image(&in_b, &values_b, wide_b, i));
                prop_assert_ne!(x, y, "{:?} is no witness for {} and {}", point, a, b);
            }
            quasiaffine::Answer::Unknown(_) => {}
        }
    }

    #[test]
    fn an_inverse_leads_back(m in maps()) {
        let (n, rows) = all_points();
        let (inside, values) = meaning(&m, n, &rows);
        let width = m.results().len();
        if let Some(back) = m.inverse() {
            for i in (0..n).filter(|i| inside[*i]) {
                let image = &values[i * width..][..width];
                let (in_back, preimage) = meaning_at(&back, image);
                prop_assert!(in_back, "{:?} has a preimage under {} but not in {}", image, m, back);
                prop_assert_eq!(&preimage[..], &rows[i * 3..][..3], "{} back {}", m, back);
            }
            // A point that the inverse takes has a preimage.
            for i in 0..n {
                let candidate = &rows[i * 3..][..width];
                if meaning_at(&back, candidate).0 {
                    let found = (0..n).any(|j| inside[j] && values[j * width..][..width] == *candidate);
                    prop_assert!(found, "{:?} has no preimage under {}, but {} takes it", candidate, m, back);
                }
            }
        }
    }
}

/// Whether one point lies in the domain, and the value there.
fn meaning_at(m: &Map, point: &[i64]) -> (bool, Vec<i64>) {
    if m.state() == quasiaffine::State::Empty {
        return (false, Vec::new());
    }
    let points = Points { n: 1, dims: point, ranges: &[], runtime: &[] };
    let program = Program::new(m).unwrap();
    (program.in_domain(&points).unwrap()[0], program.run::<false>(&points).unwrap())
}
