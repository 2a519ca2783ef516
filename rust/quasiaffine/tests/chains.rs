//! Long chains and high ranks: results are small and right, measured without a clock.
//!
//! Sizes are counted as trees where they must be small, and as distinct expressions, which is what memory holds, where
//! operations mix the digits of an index again and again: there a tree grows with every step, in any form known.

use crate::ops::{composed, mixed_chain, random_reshape, random_transpose, source, Chance, Op, Step};
use quasiaffine::State;
use quasiaffine::{Map, Options, Points, Program};

/// Whether a map reads at each of these points what its operations do, and how many of the points it reads from.
fn check(map: &Map, steps: &[Step], points: &[Vec<i64>]) -> usize {
    let rows: Vec<i64> = points.iter().flatten().copied().collect();
    if map.state() == State::Empty {
        assert!(points.iter().all(|at| source(steps, at).is_none()), "{steps:?} is not empty");
        return 0;
    }
    let points_table = Points { n: points.len(), dims: &rows, ranges: &[], runtime: &[] };
    let program = Program::new(map).unwrap();
    let (inside, values) = (program.in_domain(&points_table).unwrap(), program.run::<false>(&points_table).unwrap());
    for (i, at) in points.iter().enumerate() {
        let found = inside[i].then(|| values[i * program.n_results()..][..program.n_results()].to_vec());
        assert_eq!(found, source(steps, at), "at {at:?} of {map}");
    }
    inside.iter().filter(|x| **x).count()
}

fn some_points(chance: &mut Chance, shape: &[i64], n: usize) -> Vec<Vec<i64>> {
    (0..n).map(|_| shape.iter().map(|size| chance.below(*size as usize) as i64).collect()).collect()
}

fn every_point(shape: &[i64]) -> Vec<Vec<i64>> {
    shape.iter().fold(vec![Vec::new()], |points, size| {
        let longer = |p: Vec<i64>| (0..*size).map(move |x| p.iter().copied().chain([x]).collect());
        points.into_iter().flat_map(longer).collect()
    })
}

fn last(steps: &[Step]) -> &Step {
    steps.last().unwrap()
}

/// The single reshape that equals a chain of reshapes.
fn direct(steps: &[Step]) -> Map {
    let output = last(steps).output.clone();
    let step = Step { op: Op::Reshape, operand: steps[0].operand.clone(), output };
    step.map().simplify(Options::default())
}

fn reshapes(chance: &mut Chance, mut shape: Vec<i64>, rank: usize, n: usize) -> Vec<Step> {
    let next = |_| {
        let step = random_reshape(chance, &shape, rank);
        shape.clone_from(&step.output);
        step
    };
    (0..n).map(next).collect()
}

/// A chain of reshapes is one reshape, and comes out no larger than that one written down directly.
fn check_reshapes(steps: &[Step], chance: &mut Chance) {
    let map = composed(steps);
    let (cost, wanted) = (map.cost(), direct(steps).cost());
    assert!(cost.divmods <= wanted.divmods && cost.nodes <= wanted.nodes, "{cost:?}, {wanted:?} would do: {map}");
    assert_eq!(check(&map, steps, &some_points(chance, &last(steps).output, 200)), 200);
}

#[test]
fn chains_of_64_reshapes_are_one_reshape() {
    for seed in 0..10 {
        let mut chance = Chance(seed);
        let steps = reshapes(&mut chance, vec![8, 9, 10, 7], 5, 64);
        check_reshapes(&steps, &mut chance);
    }
}

#[test]
fn reshapes_of_rank_30_are_one_reshape() {
    for seed in 0..10 {
        let mut chance = Chance(seed);
        let shape = rank_30(&mut chance);
        let steps = reshapes(&mut chance, shape, 60, 8);
        check_reshapes(&steps, &mut chance);
    }
}

/// The shape of 8,153,726,976 elements.
fn rank_30(chance: &mut Chance) -> Vec<i64> {
    let mut shape = [vec![2; 25], vec![3; 5]].concat();
    chance.shuffle(&mut shape);
    shape
}

#[test]
fn chains_of_mixed_operations_are_right() {
    for (seed, n) in [(0, 32), (2, 32), (3, 32), (7, 32), (4, 64), (7, 64)] {
        let steps = mixed_chain(seed, n);
        let map = composed(&steps);
        let points = every_point(&last(&steps).output);
        assert!(check(&map, &steps, &points) > points.len() / 8, "seed {seed} hardly reads");
        // Memory grows with the steps, not with the size of the trees. A result may be shorter under the
        // constraints than what a constraint is written as, and then shares nothing with it.
        assert!(distinct(&map) < 10 * n, "seed {seed}: {:?}, {} distinct", map.cost(), distinct(&map));
    }
}

/// Every reshape mixes the digits of the one before.
#[test]
fn transposes_and_reshapes_of_rank_30_are_right() {
    for seed in 0..4 {
        let mut chance = Chance(seed);
        let shape = rank_30(&mut chance);
        let mut steps = vec![random_transpose(&mut chance, &shape)];
        for _ in 0..2 {
            let next = random_reshape(&mut chance, &last(&steps).output, 60);
            steps.push(next);
            let next = random_transpose(&mut chance, &last(&steps).output);
            steps.push(next);
        }
        let map = composed(&steps);
        let points = some_points(&mut chance, &last(&steps).output, 200);
        assert_eq!(check(&map, &steps, &points), 200);
        assert!(distinct(&map) < 300, "seed {seed}: {:?}, {} distinct", map.cost(), distinct(&map));
        let one = composed(&steps[..3]);
        assert!(one.cost().nodes < 30 * 30, "seed {seed}: {:?}", one.cost());
    }
}

/// How many different expressions a map holds.
fn distinct(map: &Map) -> usize {
    let mut seen = std::collections::HashSet::new();
    let mut todo: Vec<_> = map.results().iter().chain(map.domain().constraints.iter().map(|c| &c.expr)).collect();
    while let Some(e) = todo.pop() {
        if seen.insert(e) {
            todo.extend(e.operands());
        }
    }
    seen.len()
}

#[test]
fn what_a_result_shares_with_a_constraint_is_read_under_all_constraints() {
    let shared = "((d0 * d0) * 2) floordiv max(d0 * -2 - d1 * 3 + 1, 1)";
    let domain = format!("d0 in [1, 4], d1 in [-2, 1], d0 + d1 in [2, 3], {shared} in [0, 1]");
    let apart = format!("(d0, d1) -> ({shared}), domain: {domain}").parse::<Map>().unwrap();
    let results = [apart.domain().constraints.iter().find(|c| c.expr == apart.results()[0]).unwrap().expr.clone()];
    let together = Map::new(apart.domain().clone(), results).unwrap();
    let simplified = together.simplify(Options::default());
    assert_eq!(simplified, apart.simplify(Options::default()));
    assert_eq!(simplified.results()[0].to_string(), "(d0 * d0) * 2");
}
