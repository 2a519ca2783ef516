//! Random maps for the property tests, and what they mean in arithmetic without bounds.
//!
//! The trees come first so that proptest can shrink them. Constraints are anchored at a point of the box, so that most
//! domains have points; some contradict it. The value of an expression is the one in the integers: it is worked out
//! here in 128 bits, apart from the code under test, and is unknown if those are too few.

#![allow(dead_code, reason = "the fuzz targets use a part")]

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use quasiaffine::State;
use quasiaffine::{Constraint, Domain, Expr, Interval, Kind, Map, Op, Source, Var, Variable};
use std::sync::Arc;

/// How an expression is built. A variable is one of the map's, counted round.
#[derive(Clone, Debug)]
pub enum Tree {
    Const(i64),
    Var(u32),
    /// A sum of multiples of variables.
    Dot(Vec<(i64, u32)>, i64),
    Add(Box<Tree>, Box<Tree>),
    Scale(i64, Box<Tree>),
    Div(Box<Tree>, i64),
    Mod(Box<Tree>, i64),
    DivBy(Box<Tree>, Box<Tree>),
    ModBy(Box<Tree>, Box<Tree>),
    Mul(Box<Tree>, Box<Tree>),
    Min(Box<Tree>, Box<Tree>),
    Max(Box<Tree>, Box<Tree>),
}

/// Which numbers occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Up to 20.
    Small,
    /// Up to 2^24, and 2^32 for ranges, so that products of a few of them leave 64 bits.
    Large,
    /// Around 2^32, and divisors around 2^60: a product or a scaled sum leaves 64 bits and a quotient comes back.
    Products,
    /// Up to the ends of 64 bits.
    Ends,
}

impl Size {
    /// The largest power of two.
    const fn bits(self) -> u32 {
        match self {
            Size::Small => 4,
            Size::Large => 24,
            Size::Products => 40,
            Size::Ends => 62,
        }
    }
}

fn number(size: Size) -> BoxedStrategy<i64> {
    let small = || -20i64..21;
    let power = || (0..=size.bits(), -2i64..3);
    match size {
        Size::Small => small().boxed(),
        Size::Products => prop_oneof![
            2 => small(),
            2 => (28..=size.bits(), -2i64..3).prop_map(|(bit, near)| (1i64 << bit) + near),
            1 => (28..=size.bits(), -2i64..3).prop_map(|(bit, near)| near - (1i64 << bit)),
            1 => (58u32..63, -2i64..3).prop_map(|(bit, near)| (1i64 << bit) + near),
        ]
        .boxed(),
        Size::Large | Size::Ends => prop_oneof![
            small(),
            power().prop_map(|(bit, near)| (1i64 << bit) + near),
            power().prop_map(|(bit, near)| near - (1i64 << bit)),
            (-3i64..1).prop_map(move |near| if size == Size::Ends { i64::MAX + near } else { 1 - near }),
            (0i64..4).prop_map(move |near| if size == Size::Ends { i64::MIN + near } else { near - 1 }),
        ]
        .boxed(),
    }
}

fn divisor(size: Size) -> BoxedStrategy<i64> {
    let small = prop_oneof![1i64..17, prop::sample::select(vec![2i64, 3, 4, 8, 16, 128])];
    if size == Size::Small {
        small.boxed()
    } else {
        prop_oneof![small, number(size).prop_map(|n| n.checked_abs().map_or(7, |n| n.max(1)))].boxed()
    }
}

/// A position in tiles of `t0 x t1`, packed in pairs if `packed`.
fn tiled([a, b]: [u32; 2], [t0, t1, row]: [i64; 3], packed: bool) -> Tree {
    let div = |v, n| Tree::Div(Tree::Var(v).into(), n);
    let rem = |v, n| Tree::Mod(Tree::Var(v).into(), n);
    let scale = |k, t: Tree| Tree::Scale(k, t.into());
    let add = |x: Tree, y: Tree| Tree::Add(x.into(), y.into());
    let inner = if packed {
        let pair = scale(2 * t1, Tree::Div(rem(a, t0).into(), 2));
        add(pair, add(scale(2, rem(b, t1)), Tree::Mod(rem(a, t0).into(), 2)))
    } else {
        add(scale(t1, rem(a, t0)), rem(b, t1))
    };
    add(add(scale(t0 * t1 * row, div(a, t0)), scale(t0 * t1, div(b, t1))), inner)
}

/// One digit of the index that the variables have in an array of these sizes.
fn digit(sizes: &[i64], first: u32, below: i64, n: i64) -> Tree {
    let mut terms = Vec::new();
    let mut stride = 1;
    for (i, size) in sizes.iter().enumerate().rev() {
        terms.push((stride, first + i as u32));
        stride *= size;
    }
    Tree::Mod(Tree::Div(Tree::Dot(terms, 0).into(), below).into(), n)
}

/// A variable beside its own quotient.
fn with_quotient([k, c]: [i64; 2], v: u32, n: i64) -> Tree {
    let scaled = |k, t: Tree| Tree::Scale(k, t.into());
    Tree::Add(scaled(k, Tree::Var(v)).into(), scaled(c, Tree::Div(Tree::Var(v).into(), n)).into())
}

/// Expressions of every kind.
pub fn tree(size: Size) -> impl Strategy<Value = Tree> {
    let var = || 0u32..8;
    let leaf = prop_oneof![
        4 => var().prop_map(Tree::Var),
        1 => number(size).prop_map(Tree::Const),
        3 => (prop::collection::vec((number(size), var()), 1..5), number(size)).prop_map(|(t, c)| Tree::Dot(t, c)),
        1 => ([var(), var()], prop::sample::select(vec![[2, 4, 3], [8, 128, 2], [4, 2, 5], [2, 3, 4]]), any::<bool>())
            .prop_map(|(vars, tile, packed)| tiled(vars, tile, packed)),
        1 => (prop::collection::vec(2i64..9, 2..5), var(), 1i64..13, 1i64..13)
            .prop_map(|(sizes, first, below, n)| digit(&sizes, first, below, n)),
        1 => ([number(size), number(size)], var(), 1i64..17).prop_map(|(factors, v, n)| with_quotient(factors, v, n)),
    ];
    let more_products = if size == Size::Products { 5 } else { 1 };
    leaf.prop_recursive(5, 24, 2, move |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            4 => two.clone().prop_map(|(a, b)| Tree::Add(a.into(), b.into())),
            3 => (number(size), inner.clone()).prop_map(|(k, a)| Tree::Scale(k, a.into())),
            3 => (inner.clone(), divisor(size)).prop_map(|(a, n)| Tree::Div(a.into(), n)),
            3 => (inner.clone(), divisor(size)).prop_map(|(a, n)| Tree::Mod(a.into(), n)),
            1 => two.clone().prop_map(|(a, b)| Tree::DivBy(a.into(), b.into())),
            1 => two.clone().prop_map(|(a, b)| Tree::ModBy(a.into(), b.into())),
            more_products => two.clone().prop_map(|(a, b)| Tree::Mul(a.into(), b.into())),
            1 => two.clone().prop_map(|(a, b)| Tree::Min(a.into(), b.into())),
            1 => two.prop_map(|(a, b)| Tree::Max(a.into(), b.into())),
        ]
    })
}

/// The expression of a tree over these variables; 7 in place of what does not fit into 64 bits.
pub fn build(t: &Tree, vars: &[Var]) -> Expr {
    let of = |t: &Tree| build(t, vars);
    let var = |i: &u32| Expr::Var(vars[*i as usize % vars.len()]);
    // A divisor that is an expression is kept at least 1.
    let positive = |t: &Tree| of(t).maximum(&Expr::Const(1));
    let built = match t {
        Tree::Const(c) => Ok(Expr::Const(*c)),
        Tree::Var(i) => Ok(var(i)),
        Tree::Dot(terms, c) => {
            terms.iter().try_fold(Expr::Const(*c), |sum, (k, i)| var(i).scale(*k).and_then(|x| sum.add(&x)))
        }
        Tree::Add(a, b) => of(a).add(&of(b)),
        Tree::Scale(k, a) => of(a).scale(*k),
        Tree::Div(a, n) => of(a).floor_div(&Expr::Const(*n)),
        Tree::Mod(a, n) => of(a).floor_mod(&Expr::Const(*n)),
        Tree::DivBy(a, b) => positive(b).and_then(|b| of(a).floor_div(&b)),
        Tree::ModBy(a, b) => positive(b).and_then(|b| of(a).floor_mod(&b)),
        Tree::Mul(a, b) => of(a).mul(&of(b)),
        Tree::Min(a, b) => of(a).minimum(&of(b)),
        Tree::Max(a, b) => of(a).maximum(&of(b)),
    };
    built.unwrap_or(Expr::Const(7))
}

/// How a map is built.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which numbers occur.
    pub size: Size,
    /// Dimensions, ranges and runtime variables: how many of each.
    pub counts: [usize; 3],
    pub ranges: Vec<Interval>,
    pub results: Vec<Tree>,
    /// An expression, and how far its range reaches to both sides of its value at the anchor.
    pub constraints: Vec<(Tree, i64, i64)>,
    /// For runtime variables with sources: which value, and the index into it.
    pub sources: Option<Vec<(i64, Tree)>>,
    /// Chooses the anchor and the points that are looked at.
    pub seed: u64,
}

fn interval(size: Size) -> BoxedStrategy<Interval> {
    let small = (-9i64..10, 0i64..9).prop_map(|(lo, n)| Interval::new(lo, lo + n));
    let from_zero = prop::sample::select(vec![1i64, 2, 3, 4, 6, 8, 12]).prop_map(|n| Interval::new(0, n - 1));
    if size == Size::Small {
        prop_oneof![small, from_zero].boxed()
    } else {
        let far = if size == Size::Large { 1 << 8 } else { 1 };
        let end = move || number(size).prop_map(move |x| x.saturating_mul(far));
        let large = (end(), end()).prop_map(|(a, b)| Interval::new(a.min(b), a.max(b)));
        prop_oneof![2 => small, 1 => from_zero, 2 => large].boxed()
    }
}

/// Plans of maps with at most so many variables, and without runtime variables if `inputs_only`.
pub fn plans(size: Size, n_vars: usize, kinds: usize) -> impl Strategy<Value = Plan> {
    let counts = prop::collection::vec(0..kinds, 1..=n_vars).prop_map(|kinds| {
        let mut counts = [0; 3];
        kinds.iter().for_each(|k| counts[*k] += 1);
        counts
    });
    let parts = (
        prop::collection::vec(interval(size), n_vars),
        prop::collection::vec(tree(size), 1..4),
        prop::collection::vec((tree(size), -1i64..7, -1i64..7), 0..4),
        prop::option::of(prop::collection::vec((0i64..2, tree(Size::Small)), n_vars)),
        any::<u64>(),
    );
    (counts, parts).prop_map(move |(counts, (mut ranges, results, constraints, sources, seed))| {
        ranges.truncate(counts.iter().sum());
        Plan { size, counts, ranges, results, constraints, sources, seed }
    })
}

/// Plans with an equality that may leave a range one value, as a sum or as a digit.
pub fn equalities() -> impl Strategy<Value = Plan> {
    let (box_, results) =
        (prop::collection::vec(interval(Size::Small), 3), prop::collection::vec(tree(Size::Small), 1..3));
    let modulus = prop::sample::select(vec![1i64, 1, 1, 2, 3, 4, 8]);
    let parts = (box_, results, prop::sample::select(vec![1i64, -1]), [-4i64..5, -4i64..5], modulus, any::<u64>());
    parts.prop_map(|(ranges, results, k, [a, b], n, seed)| {
        let sum = Tree::Dot(vec![(k, 2), (a, 1), (b, 0)], 0);
        let constraints = vec![(if n > 1 { Tree::Mod(sum.into(), n) } else { sum }, 0, 0)];
        Plan { size: Size::Small, counts: [1, 2, 0], ranges, results, constraints, sources: None, seed }
    })
}

/// Plans of few points with constraints on sums whose factors reach the ends of 64 bits, so that sums of terms, their
/// remainders and their bounds do not fit.
pub fn sums_at_the_ends() -> impl Strategy<Value = Plan> {
    let part = prop_oneof![
        2 => (0u32..3).prop_map(Tree::Var),
        1 => (0u32..3, 2i64..6).prop_map(|(v, n)| Tree::Mod(Tree::Var(v).into(), n)),
        1 => (0u32..3, 2i64..6).prop_map(|(v, n)| Tree::Div(Tree::Var(v).into(), n)),
    ];
    let term = (number(Size::Ends), part).prop_map(|(k, part)| Tree::Scale(k, part.into()));
    let sum = prop::collection::vec(term, 1..4).prop_map(|terms| {
        let add = |a: Tree, b| Tree::Add(a.into(), Box::new(b));
        terms.into_iter().reduce(add).unwrap_or(Tree::Const(0))
    });
    let divided = (sum.clone(), divisor(Size::Ends), any::<bool>());
    let divided = divided.prop_map(|(a, n, rem)| if rem { Tree::Mod(a.into(), n) } else { Tree::Div(a.into(), n) });
    let expr = prop_oneof![4 => sum, 1 => divided, 1 => (number(Size::Ends), tree(Size::Ends)).prop_map(|(k, t)| Tree::Scale(k, t.into()))];
    let reach = || prop_oneof![3 => 0i64..7, 1 => number(Size::Ends)];
    let side = || {
        let few = (number(Size::Ends), 0i64..6).prop_map(|(lo, n)| Interval::new(lo, lo.saturating_add(n)));
        prop_oneof![3 => interval(Size::Small), 1 => few]
    };
    let parts = (
        prop::collection::vec(side(), 1..4),
        prop::collection::vec(prop_oneof![2 => tree(Size::Small), 1 => expr.clone()], 1..3),
        prop::collection::vec((expr, reach(), reach()), 1..4),
        any::<u64>(),
    );
    parts.prop_map(|(ranges, results, constraints, seed)| {
        let n_dims = 1 + seed as usize % ranges.len();
        let counts = [n_dims, ranges.len() - n_dims, 0];
        Plan { size: Size::Ends, counts, ranges, results, constraints, sources: None, seed }
    })
}

/// With numbers of every size, up to the ends of 64 bits.
pub fn any_plan() -> impl Strategy<Value = Plan> {
    prop_oneof![
        plans(Size::Small, 3, 3),
        plans(Size::Small, 8, 3),
        plans(Size::Large, 4, 3),
        plans(Size::Products, 3, 3),
        plans(Size::Small, 3, 1),
        plans(Size::Ends, 4, 3),
        sums_at_the_ends(),
        equalities(),
    ]
}

impl Plan {
    /// Whether [`Plan::points`] are all points there are.
    pub fn has_all_points(&self) -> bool {
        self.ranges.iter().fold(1, |n: u128, r| n.saturating_mul(r.size().saturating_add(2))) <= ALL_POINTS
    }

    fn vars(&self) -> Vec<Var> {
        let kinds = [Kind::Dim, Kind::Range, Kind::Runtime].into_iter().zip(self.counts);
        kinds.flat_map(|(kind, n)| (0..n as u32).map(move |index| Var { kind, index })).collect()
    }

    pub fn map(&self) -> Map {
        let vars = self.vars();
        let inputs = self.counts[0] + self.counts[1];
        let mut domain = Domain {
            vars: self.ranges.iter().map(|r| Variable::new(*r)).collect(),
            n_dims: self.counts[0],
            n_ranges: self.counts[1],
            constraints: Vec::new(),
        };
        for (i, (id, index)) in self.sources.iter().flatten().take(self.counts[2]).enumerate() {
            // The index uses earlier variables alone.
            let index = if inputs + i == 0 { Expr::Const(0) } else { build(index, &vars[..inputs + i]) };
            domain.vars[inputs + i].source = Some(Arc::new(Source { id: *id, index: [index].into_iter().collect() }));
        }
        let anchor = Chance(self.seed).point(&self.ranges, 0);
        for (t, below, above) in &self.constraints {
            let expr = build(t, &vars);
            let truth = Truth { domain: &domain, point: anchor.clone() };
            // A value that does not fit is no anchor; most points miss 0 as well.
            let at = truth.value(&expr).map_or(0, |x| i64::try_from(x).unwrap_or(0));
            let interval = Interval::new(at.saturating_sub(*below), at.saturating_add(*above));
            domain.constraints.push(Constraint { expr, interval });
        }
        // A divisor may have bounds that do not fit, which is an error.
        let map = Map::new(domain.clone(), self.results.iter().map(|t| build(t, &vars)));
        map.unwrap_or_else(|_| Map::empty(&domain))
    }

    /// Points of the box and just outside it, as values of dimensions and ranges and then runtime variables: all of
    /// them if they are few, else some hundreds.
    pub fn points(&self) -> Vec<Vec<i64>> {
        let sides: Vec<Interval> =
            self.ranges.iter().map(|r| Interval::new(r.lo.saturating_sub(1), r.hi.saturating_add(1))).collect();
        let n: u128 = sides.iter().fold(1, |n, r| n.saturating_mul(r.size()));
        if n <= ALL_POINTS {
            return boxed(&sides);
        }
        let mut chance = Chance(self.seed);
        let anchor = chance.point(&self.ranges, 0);
        let mut points = vec![anchor.clone()];
        for i in 0..300 {
            let mut point = chance.point(&self.ranges, i % 3);
            if i % 2 == 0 {
                // Near the anchor, so that constraints are often satisfied.
                for (x, (at, r)) in point.iter_mut().zip(anchor.iter().zip(&self.ranges)) {
                    if !chance.next().is_multiple_of(4) {
                        *x = at.saturating_add((chance.next() % 5) as i64 - 2).clamp(r.lo, r.hi);
                    }
                }
            }
            points.push(point);
        }
        points
    }
}

/// So many points are all looked at.
pub const ALL_POINTS: u128 = 1500;

/// Every point of a box.
pub fn boxed(sides: &[Interval]) -> Vec<Vec<i64>> {
    sides.iter().fold(vec![Vec::new()], |points, side| {
        let longer = |p: Vec<i64>| (side.lo..=side.hi).map(move |x| p.iter().copied().chain([x]).collect());
        points.into_iter().flat_map(longer).collect()
    })
}

/// A row of numbers that look random (xorshift).
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        let mut x = self.0 | 1;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0 = x;
        x >> 8
    }

    /// A point of a box; with `corners` 1 one that lies mostly on its ends.
    pub fn point(&mut self, sides: &[Interval], corners: usize) -> Vec<i64> {
        let one = |side: &Interval, chance: &mut Chance| {
            let within = (u128::from(chance.next()) << 20 | u128::from(chance.next())) % side.size();
            match (corners, chance.next() % 4) {
                (1, 0 | 1) => side.lo,
                (1, 2) => side.hi,
                _ => (i128::from(side.lo) + within as i128) as i64,
            }
        };
        sides.iter().map(|side| one(side, self)).collect()
    }
}

/// The meaning of a map at one point.
pub struct Truth<'a> {
    pub domain: &'a Domain,
    /// A value for every variable, flat.
    pub point: Vec<i64>,
}

impl<'a> Truth<'a> {
    /// The point with its inputs as given. Runtime variables with sources have the value that is found there: any
    /// function of source and index will do, here one that mixes them, within the range of the variable. `None` if
    /// an index does not fit into 64 bits.
    pub fn at(map: &'a Map, point: &[i64]) -> Option<Truth<'a>> {
        let domain = map.domain();
        let inputs = domain.n_dims + domain.n_ranges;
        let mut truth = Truth { domain, point: point[..inputs].to_vec() };
        for i in inputs..domain.vars.len() {
            let v = &domain.vars[i];
            let value = match &v.source {
                None => *point.get(i)?,
                Some(source) => {
                    truth.point.resize(domain.vars.len(), 0);
                    let mut mixed = Chance(source.id as u64 + 77);
                    for e in &source.index {
                        mixed.0 ^= truth.value(e)? as u64;
                        mixed.next();
                        mixed.next();
                    }
                    truth.point.truncate(i);
                    mixed.point(&[v.interval], 0)[0]
                }
            };
            truth.point.push(value);
        }
        Some(truth)
    }

    /// The value of an expression in the integers; `None` if it, or anything in it, does not fit into 128 bits. Nor
    /// does the least integer of 128 bits, which marks such a value in programs.
    pub fn value(&self, e: &Expr) -> Option<i128> {
        let fits = |x: Option<i128>| x.filter(|x| *x != i128::MIN);
        Some(match e {
            Expr::Const(c) => i128::from(*c),
            Expr::Var(v) => i128::from(self.point[self.domain.flat(*v)?]),
            Expr::Node(_) => match e.op()? {
                Op::Sum(_) => {
                    let mut total = i128::from(e.constant());
                    for (factor, atom) in e.terms() {
                        let term = fits(self.value(atom)?.checked_mul(i128::from(factor)))?;
                        total = fits(total.checked_add(term))?;
                    }
                    total
                }
                Op::Product(a, b) => fits(self.value(a)?.checked_mul(self.value(b)?))?,
                Op::FloorDiv(a, b) => self.value(a)?.div_euclid(self.divisor(b)?),
                Op::Mod(a, b) => self.value(a)?.rem_euclid(self.divisor(b)?),
                Op::Min(a, b) => self.value(a)?.min(self.value(b)?),
                Op::Max(a, b) => self.value(a)?.max(self.value(b)?),
            },
        })
    }

    /// A divisor is at least 1 inside the domain; outside it may be anything.
    fn divisor(&self, e: &Expr) -> Option<i128> {
        self.value(e).filter(|n| *n >= 1)
    }

    /// Whether the point lies in the domain; `None` if a constraint cannot be worked out.
    pub fn inside(&self) -> Option<bool> {
        let mut inside = self.domain.vars.iter().zip(&self.point).all(|(v, x)| v.interval.contains(*x));
        for c in &self.domain.constraints {
            let value = self.value(&c.expr)?;
            inside &= i128::from(c.interval.lo) <= value && value <= i128::from(c.interval.hi);
        }
        Some(inside)
    }

    /// The results, if each can be worked out.
    pub fn values(&self, map: &Map) -> Vec<Option<i128>> {
        map.results().iter().map(|e| self.value(e)).collect()
    }
}

/// The points in the domain, with the values there.
pub fn graph(map: &Map, points: &[Vec<i64>]) -> Vec<(Vec<i64>, Vec<Option<i128>>)> {
    if map.state() == State::Empty {
        return Vec::new();
    }
    let truths = points.iter().filter_map(|p| Truth::at(map, p).map(|t| (p.clone(), t)));
    truths.filter(|(_, t)| t.inside() == Some(true)).map(|(p, t)| (p, t.values(map))).collect()
}

/// Whether a point lies in a map, if that can be evaluated.
fn inside(map: &Map, point: &[i64]) -> Option<bool> {
    if map.state() == State::Empty {
        return Some(false);
    }
    Truth::at(map, point)?.inside()
}

/// Whether a result agrees with the expected value. A value that 128 bits cannot compute may still be found;
/// conversely, only a value that does not fit into 64 bits may be lost.
pub fn agrees(wanted: Option<i128>, found: Option<i128>) -> bool {
    wanted == found || wanted.is_none() || (found.is_none() && wanted.is_some_and(|x| i64::try_from(x).is_err()))
}

/// `b` has at every point the value of `a`, wherever that can be worked out.
pub fn check_same(a: &Map, b: &Map, points: &[Vec<i64>]) -> Result<(), TestCaseError> {
    for p in points {
        let (Some(inside_a), inside_b) = (inside(a, p), inside(b, p)) else { continue };
        // Outside the domain a divisor may be anything.
        if inside_b.is_none() && !inside_a {
            continue;
        }
        prop_assert_eq!(Some(inside_a), inside_b, "{:?} lies in one of\n{}\n{}", p, a, b);
        if let (true, Some(x), Some(y)) = (inside_a, Truth::at(a, p), Truth::at(b, p)) {
            for (x, y) in x.values(a).into_iter().zip(y.values(b)) {
                prop_assert!(agrees(x, y), "{:?} is {:?} at {:?}:\n{}\n{}", x, y, p, a, b);
            }
        }
    }
    Ok(())
}

/// A few fixed cases in every run of the suite; for a search, more of them (`HLOMAP_CASES`) from a seed
/// (`HLOMAP_SEED`).
pub fn config() -> ProptestConfig {
    let env = |name| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    ProptestConfig {
        cases: env("HLOMAP_CASES").and_then(|n| n.try_into().ok()).unwrap_or(200),
        rng_seed: RngSeed::Fixed(env("HLOMAP_SEED").unwrap_or(1)),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
