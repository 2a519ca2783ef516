//! Operations as output-to-operand maps and as plain arithmetic, and chains of operations generated from a seed.
//!
//! [`Step::map`] builds the indexing map of an operation; [`Step::source`] computes the operand element that one output
//! element reads, without maps, so that each verifies the other.

use quasiaffine::{Constraint, Domain, Expr, Interval, Map, Options};

/// An operation and its attributes.
#[derive(Clone, Debug)]
pub enum Op {
    /// Elements keep their row-major order.
    Reshape,
    /// Output dimension `i` is operand dimension `perm[i]`.
    Transpose(Vec<usize>),
    /// Every `stride`-th element from `start`: (start, stride) by dimension.
    Slice(Vec<(i64, i64)>),
    /// Low and interior padding: (low, interior) by dimension.
    Pad(Vec<(i64, i64)>),
    /// Whether each dimension is reversed.
    Reverse(Vec<bool>),
    /// Operand dimension `i` is output dimension `dims[i]`.
    Broadcast(Vec<usize>),
    /// A matrix, read from a buffer in which it is tiled by `[rows, columns]`.
    Tiled([i64; 2]),
}

/// An operation with its operand and output shapes.
#[derive(Clone, Debug)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// The operand shape.
    pub operand: Vec<i64>,
    /// The output shape.
    pub output: Vec<i64>,
}

const FITS: &str = "the sizes of benchmark shapes do not overflow";

fn scaled(e: &Expr, k: i64) -> Expr {
    e.scale(k).expect(FITS)
}

fn plus(a: &Expr, b: &Expr) -> Expr {
    a.add(b).expect(FITS)
}

fn quotient(e: &Expr, n: i64) -> Expr {
    e.floor_div(&Expr::Const(n)).expect("a divisor of at least 1")
}

fn remainder(e: &Expr, n: i64) -> Expr {
    e.floor_mod(&Expr::Const(n)).expect("a divisor of at least 1")
}

impl Step {
    /// The output-to-operand map; output elements that read no operand element are outside its domain.
    pub fn map(&self) -> Map {
        let d: Vec<Expr> = (0..self.output.len() as u32).map(Expr::dim).collect();
        let mut domain = Domain::of_sizes(&self.output);
        let results: Vec<Expr> = match &self.op {
            Op::Reshape => {
                let linear =
                    d.iter().zip(&self.output).fold(Expr::Const(0), |sum, (d, size)| plus(&scaled(&sum, *size), d));
                let mut below: i64 = self.operand.iter().product();
                let digit = |(i, size): (usize, &i64)| {
                    below /= size;
                    let q = quotient(&linear, below);
                    if i == 0 {
                        q
                    } else {
                        remainder(&q, *size)
                    }
                };
                self.operand.iter().enumerate().map(digit).collect()
            }
            Op::Transpose(perm) => {
                let mut results = d.clone();
                perm.iter().enumerate().for_each(|(i, p)| results[*p] = d[i].clone());
                results
            }
            Op::Slice(cuts) => {
                d.iter().zip(cuts).map(|(d, (start, by))| plus(&scaled(d, *by), &Expr::Const(*start))).collect()
            }
            Op::Pad(pads) => {
                let sources = d.iter().zip(pads).zip(&self.operand).map(|((d, (low, interior)), size)| {
                    let (from, by) = (plus(d, &Expr::Const(-low)), interior + 1);
                    let (at, rest) = (quotient(&from, by), remainder(&from, by));
                    domain.constraints.push(Constraint { expr: rest, interval: Interval::point(0) });
                    domain.constraints.push(Constraint { expr: at.clone(), interval: Interval::new(0, size - 1) });
                    at
                });
                sources.collect()
            }
            Op::Reverse(backwards) => {
                let turned = |(i, d): (usize, &Expr)| {
                    if backwards[i] {
                        plus(&scaled(d, -1), &Expr::Const(self.operand[i] - 1))
                    } else {
                        d.clone()
                    }
                };
                d.iter().enumerate().map(turned).collect()
            }
            Op::Broadcast(dims) => dims.iter().map(|i| d[*i].clone()).collect(),
            Op::Tiled([rows, columns]) => {
                let (i, j) = (&d[0], &d[1]);
                let tile = plus(&scaled(&quotient(i, *rows), self.output[1] / columns), &quotient(j, *columns));
                let inner = plus(&scaled(&remainder(i, *rows), *columns), &remainder(j, *columns));
                vec![plus(&scaled(&tile, rows * columns), &inner)]
            }
        };
        Map::new(domain, results).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The index of the operand element that the output element at index `at` reads, if any.
    pub fn source(&self, at: &[i64]) -> Option<Vec<i64>> {
        Some(match &self.op {
            Op::Reshape => {
                let mut linear = 0;
                for (x, size) in at.iter().zip(&self.output) {
                    linear = linear * size + x;
                }
                let mut index = vec![0; self.operand.len()];
                for (x, size) in index.iter_mut().zip(&self.operand).rev() {
                    *x = linear % size;
                    linear /= size;
                }
                index
            }
            Op::Transpose(perm) => {
                let mut index = vec![0; at.len()];
                for (x, p) in at.iter().zip(perm) {
                    index[*p] = *x;
                }
                index
            }
            Op::Slice(cuts) => at.iter().zip(cuts).map(|(x, (start, by))| start + x * by).collect(),
            Op::Pad(pads) => {
                let mut index = Vec::new();
                for ((x, (low, interior)), size) in at.iter().zip(pads).zip(&self.operand) {
                    let from = x - low;
                    if from < 0 || from % (interior + 1) != 0 || from / (interior + 1) >= *size {
                        return None;
                    }
                    index.push(from / (interior + 1));
                }
                index
            }
            Op::Reverse(backwards) => {
                let turned = |(i, x): (usize, &i64)| if backwards[i] { self.operand[i] - 1 - x } else { *x };
                at.iter().enumerate().map(turned).collect()
            }
            Op::Broadcast(dims) => dims.iter().map(|i| at[*i]).collect(),
            Op::Tiled([rows, columns]) => {
                let tile = at[0] / rows * (self.output[1] / columns) + at[1] / columns;
                vec![tile * rows * columns + at[0] % rows * columns + at[1] % columns]
            }
        })
    }
}

/// The map from the last output of a chain to its first operand; every composition is simplified.
pub fn composed(steps: &[Step]) -> Map {
    let maps: Vec<Map> = steps.iter().rev().map(Step::map).collect();
    fold(&maps)
}

/// The composition of maps, first map first; every composition is simplified.
pub fn fold(maps: &[Map]) -> Map {
    let mut map = maps[0].simplify(Options::default());
    for next in &maps[1..] {
        map = map.compose(next, Options::default()).unwrap_or_else(|e| panic!("{e}"));
    }
    map
}

/// The index of the first operand's element that the last output's element at index `at` reads, if any.
pub fn source(steps: &[Step], at: &[i64]) -> Option<Vec<i64>> {
    steps.iter().rev().try_fold(at.to_vec(), |at, step| step.source(&at))
}

/// A deterministic pseudorandom number generator.
#[derive(Clone, Debug)]
pub struct Chance(pub u64);

impl Chance {
    /// A number below `n`, from the upper bits of a linear congruential generator.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    /// A random element.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Shuffles the slice in place.
    pub fn shuffle<T>(&mut self, of: &mut [T]) {
        for i in (1..of.len()).rev() {
            of.swap(i, self.below(i + 1));
        }
    }

    /// A shape with `n` elements and at most `rank` dimensions.
    pub fn shape(&mut self, n: i64, rank: usize) -> Vec<i64> {
        let mut shape = vec![1; 1 + self.below(rank)];
        let (mut rest, mut prime) = (n, 2);
        while rest > 1 {
            if rest % prime == 0 {
                let i = self.below(shape.len());
                shape[i] *= prime;
                rest /= prime;
            } else {
                prime += 1;
            }
        }
        shape.retain(|size| *size > 1);
        shape
    }
}

/// A reshape of `operand` to another shape of at most `rank` dimensions.
pub fn random_reshape(chance: &mut Chance, operand: &[i64], rank: usize) -> Step {
    let output = chance.shape(operand.iter().product(), rank);
    Step { op: Op::Reshape, operand: operand.to_vec(), output }
}

/// A transpose of `operand`.
pub fn random_transpose(chance: &mut Chance, operand: &[i64]) -> Step {
    let mut perm: Vec<usize> = (0..operand.len()).collect();
    chance.shuffle(&mut perm);
    let output = perm.iter().map(|p| operand[*p]).collect();
    Step { op: Op::Transpose(perm), operand: operand.to_vec(), output }
}

/// A slice of `operand`; each dimension keeps about half of its elements or more.
pub fn random_slice(chance: &mut Chance, operand: &[i64]) -> Step {
    let (mut cuts, mut output) = (Vec::new(), Vec::new());
    for &size in operand {
        let by = if size >= 4 { chance.pick(&[1, 1, 1, 2]) } else { 1 };
        let start = if size >= 3 { chance.pick(&[0, 0, 1]) } else { 0 };
        cuts.push((start, by));
        output.push((size - start - 1) / by + 1);
    }
    Step { op: Op::Slice(cuts), operand: operand.to_vec(), output }
}

/// Two consecutive steps, each a reshape, a transpose or a slice; all output dimensions have sizes 2 to 12.
pub fn small_pair(chance: &mut Chance) -> [Step; 2] {
    loop {
        let rank = 2 + chance.below(3);
        let shape: Vec<i64> = (0..rank).map(|_| 2 + chance.below(11) as i64).collect();
        let step = |chance: &mut Chance, operand: &[i64]| match chance.below(3) {
            0 => random_reshape(chance, operand, 5),
            1 => random_transpose(chance, operand),
            _ => random_slice(chance, operand),
        };
        let first = step(chance, &shape);
        let second = step(chance, &first.output);
        if [&first, &second].iter().all(|s| s.output.iter().all(|size| (2..=12).contains(size))) {
            return [first, second];
        }
    }
}

/// A step of any kind; array sizes stay between about 200 and 5000 elements.
fn random_step(chance: &mut Chance, operand: &[i64]) -> Step {
    let n: i64 = operand.iter().product();
    let step = |op, output| Step { op, operand: operand.to_vec(), output };
    match chance.below(8) {
        0 | 1 => random_reshape(chance, operand, 4),
        2 => random_transpose(chance, operand),
        3 if n > 800 => random_slice(chance, operand),
        4 if n < 2000 => {
            let pads: Vec<(i64, i64)> = operand.iter().map(|_| (chance.pick(&[0, 0, 1]), 0)).collect();
            let output = operand.iter().zip(&pads).map(|(size, (low, _))| size + low + chance.pick(&[0, 1])).collect();
            step(Op::Pad(pads), output)
        }
        5 => step(Op::Reverse(operand.iter().map(|_| chance.below(2) == 0).collect()), operand.to_vec()),
        6 if n < 1500 && operand.len() < 5 => {
            let new = chance.below(operand.len() + 1);
            let mut output = operand.to_vec();
            output.insert(new, chance.pick(&[2, 3]));
            step(Op::Broadcast((0..output.len()).filter(|i| *i != new).collect()), output)
        }
        7 if operand.len() == 1 && n % 16 == 0 => step(Op::Tiled([2, 4]), vec![n / 8, 8]),
        _ => random_reshape(chance, operand, 4),
    }
}

/// A chain of `n` operations of all kinds that starts from an array of 720 elements.
pub fn mixed_chain(seed: u64, n: usize) -> Vec<Step> {
    let mut chance = Chance(seed);
    let mut steps: Vec<Step> = Vec::new();
    while steps.len() < n {
        let operand = steps.last().map_or_else(|| vec![8, 9, 10], |s| s.output.clone());
        steps.push(random_step(&mut chance, &operand));
    }
    steps
}

/// A chain of `n` operations of four kinds in turn: a broadcast that adds a minor dimension of size 2, a transpose that
/// rotates the dimensions by one, a reshape to two dimensions, and a slice with stride 2 in one dimension.
pub fn turning_chain(seed: u64, n: usize) -> Vec<Step> {
    let mut chance = Chance(seed);
    let mut steps: Vec<Step> = Vec::new();
    while steps.len() < n {
        let operand = steps.last().map_or_else(|| vec![8, 12, 16], |s| s.output.clone());
        let (rank, size) = (operand.len(), operand.iter().product::<i64>());
        let (op, output) = match steps.len() % 4 {
            0 => (Op::Broadcast((0..rank).collect()), operand.iter().copied().chain([2]).collect()),
            1 => {
                let perm: Vec<usize> = (0..rank).map(|i| (i + 1) % rank).collect();
                let output = perm.iter().map(|p| operand[*p]).collect();
                (Op::Transpose(perm), output)
            }
            2 => {
                let rows: Vec<i64> = (4..=size / 4).filter(|rows| size % rows == 0).take(8).collect();
                let rows = chance.pick(&rows);
                (Op::Reshape, vec![rows, size / rows])
            }
            _ => {
                let cut = steps.len() / 4 % rank;
                let strides = (0..rank).map(|i| (0, if i == cut { 2 } else { 1 })).collect();
                let output = operand.iter().enumerate().map(|(i, n)| if i == cut { (n + 1) / 2 } else { *n }).collect();
                (Op::Slice(strides), output)
            }
        };
        steps.push(Step { op, operand, output });
    }
    steps
}
