//! The factors of an operation, read off its indexing maps.
//!
//! The maps lead from an element of output 0 to the elements of each operand. Each result of a map is a sum of digits of
//! the output's dimensions and of ranges. Where the digits of an operand's dimension follow each other from place value
//! 1 to its whole size, the dimension is a sequence of these digits, and the digits are factors. So the factors of a
//! transpose, a reshape or a product of matrices need no table.

use std::collections::{BTreeMap, BTreeSet};

use quasiaffine::{Expr, Kind, Map, Var};
use smallvec::SmallVec;

/// The number of a factor in its rule.
pub type Factor = u16;
/// The factors of a dimension, the most significant first; none for a dimension of size 1.
pub type Factors = SmallVec<[Factor; 2]>;

/// What an operation does along a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FactorKind {
    /// The factor is part of the output: each block is computed by itself.
    PassThrough,
    /// Elements along the factor are combined: a device with some of them has a partial result.
    Reduced,
    /// One element along the factor is read: its owner has the result, other devices have zeros.
    Selected,
    /// Every device needs all elements along the factor.
    Whole,
}

/// How partial results combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Not at all: no factor is reduced.
    Nothing,
    /// By an operation of an all-reduce.
    Reduce,
    /// By another computation: each device needs all partial results.
    Gather,
}

/// The part of an operand's dimension that an output block reads: `scale * v + [low, high]` for each `v` of the
/// output's dimension in `[first, last]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The distance between reads of neighbours.
    pub scale: i64,
    /// The first element read, relative to it.
    pub low: i64,
    /// The last one.
    pub high: i64,
    /// The first index of the output that reads.
    pub first: i64,
    /// The last one.
    pub last: i64,
}

/// The reads of an operand that go beyond the block of the same position: for each map, for each dimension a piece.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Halo {
    /// The number of the operand.
    pub tensor: usize,
    /// For each dimension with pieces: its factor, and the size of the output's dimension.
    pub factors: Vec<Option<(Factor, i64)>>,
    /// The pieces of each map.
    pub maps: Vec<Vec<Option<Piece>>>,
}

/// An array that an operation reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Array {
    /// Its sizes.
    pub dimensions: Vec<i64>,
    /// The bits of an element.
    pub element_bits: u32,
}

impl Array {
    /// The number of its elements; one that does not fit counts as the largest.
    pub fn elements(&self) -> i64 {
        self.dimensions.iter().fold(1, |n, size| n.saturating_mul(*size))
    }
}

/// What an operation reads of one operand; `None` if that is not known.
pub type OperandMaps = Option<Vec<Map>>;

/// The factors of an operation, and how its arrays consist of them: operands first, then outputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// The size of each factor.
    pub sizes: Vec<i64>,
    /// What the operation does along each.
    pub kinds: Vec<FactorKind>,
    /// Operands, then outputs.
    pub arrays: Vec<Array>,
    /// For each array the factors of each dimension.
    pub dims: Vec<Vec<Factors>>,
    /// The number of operands.
    pub n_inputs: usize,
    /// How partial results along reduced factors combine.
    pub combine: Combine,
    /// Operands read beyond the block of the same position.
    pub halos: Vec<Halo>,
}

impl Rule {
    /// The rule of an operation that passes its operand on.
    pub fn identity(from: &Array, to: &Array) -> Rule {
        let live: Vec<usize> = (0..from.dimensions.len()).filter(|k| from.dimensions[*k] > 1).collect();
        let factors = |k: usize| live.iter().position(|at| *at == k).map(|f| f as Factor).into_iter().collect();
        let dims: Vec<Factors> = (0..from.dimensions.len()).map(factors).collect();
        Rule {
            sizes: live.iter().map(|k| from.dimensions[*k]).collect(),
            kinds: vec![FactorKind::PassThrough; live.len()],
            arrays: vec![from.clone(), to.clone()],
            dims: vec![dims.clone(), dims],
            n_inputs: 1,
            combine: Combine::Nothing,
            halos: Vec::new(),
        }
    }

    /// The rule of an operation from the maps of output 0 to each operand.
    pub fn of_maps(maps: &[OperandMaps], inputs: &[Array], outputs: &[Array], combine: Combine) -> Rule {
        Reader::new(outputs.first().map_or(&[], |array| &array.dimensions)).rule(maps, inputs, outputs, combine)
    }

    /// Whether a factor is only a part of some dimension.
    pub fn is_partial(&self, factor: Factor) -> bool {
        self.dims.iter().flatten().any(|factors| factors.len() > 1 && factors.contains(&factor))
    }

    /// Whether an output is larger than each operand and has a factor that none has: a broadcast.
    pub fn grows(&self) -> bool {
        let (inputs, outputs) = self.arrays.split_at(self.n_inputs);
        let (most_in, most_out) = (inputs.iter().map(Array::elements).max(), outputs.iter().map(Array::elements).max());
        let is_read = |f: Factor| self.dims[..self.n_inputs].iter().flatten().any(|factors| factors.contains(&f));
        most_in.is_some()
            && most_in < most_out
            && (self.dims[self.n_inputs..].iter().flatten().flatten())
                .any(|f| self.kinds[usize::from(*f)] == FactorKind::PassThrough && !is_read(*f))
    }
}

/// What a dimension of an operand is, by one map.
#[derive(Clone, PartialEq, Eq)]
enum Link {
    /// Of size 1.
    One,
    /// Digits `(v floordiv lo) mod (hi / lo)` of variables, the most significant first.
    Digits(Vec<(Var, i64, i64)>),
    Halo(Var),
    Selected,
    Whole,
}

/// The factors of a variable, each with its cuts, and whether the cuts divide each other.
type OfVariable = (Vec<(i64, i64, Factor)>, bool);

struct Reader<'a> {
    out: &'a [i64],
    cuts: BTreeMap<Var, BTreeSet<i64>>,
    windows: BTreeSet<Var>,
    sizes: Vec<i64>,
    kinds: Vec<FactorKind>,
    /// The factors of a variable, the least significant first, each with its cuts; and whether the cuts divide each
    /// other.
    factors: BTreeMap<Var, OfVariable>,
}

impl<'a> Reader<'a> {
    fn new(out: &'a [i64]) -> Reader<'a> {
        let (cuts, windows, factors) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Reader { out, cuts, windows, sizes: Vec::new(), kinds: Vec::new(), factors }
    }

    fn rule(mut self, maps: &[OperandMaps], inputs: &[Array], outputs: &[Array], combine: Combine) -> Rule {
        let links: Vec<_> =
            maps.iter().zip(inputs).map(|(maps, array)| self.operand(maps, &array.dimensions)).collect();
        let is_reduced = combine != Combine::Nothing;
        let of_output: Vec<Factors> = (0..self.out.len())
            .map(|i| match self.out[i] {
                n if n > 1 => self.factors_of(dim(i), n, is_reduced).0.iter().rev().map(|(_, _, f)| *f).collect(),
                _ => Factors::new(),
            })
            .collect();
        let mut dims = Vec::new();
        let mut halos = Vec::new();
        for (t, ((links, pieces), array)) in links.into_iter().zip(inputs).enumerate() {
            let mut halo = vec![None; links.len()];
            let mut own = Vec::new();
            for (j, (link, n)) in links.into_iter().zip(&array.dimensions).enumerate() {
                own.push(match link {
                    Link::One => Factors::new(),
                    Link::Digits(digits) => self.sequence(&digits, *n, is_reduced),
                    Link::Selected => self.alone(FactorKind::Selected, *n),
                    Link::Whole => self.alone(FactorKind::Whole, *n),
                    Link::Halo(v) => {
                        let size = self.out[v.index as usize];
                        match *self.factors_of(v, size, is_reduced).0 {
                            [(_, _, f)] => {
                                halo[j] = Some((f, size));
                                Factors::from_elem(f, 1)
                            }
                            _ => self.alone(FactorKind::Whole, *n),
                        }
                    }
                });
            }
            if halo.iter().any(Option::is_some) {
                halos.push(Halo { tensor: t, factors: halo, maps: pieces });
            }
            dims.push(own);
        }
        for array in outputs {
            let same = array.dimensions == self.out;
            let whole = |n: &i64| if *n > 1 { self.alone(FactorKind::Whole, *n) } else { Factors::new() };
            dims.push(if same { of_output.clone() } else { array.dimensions.iter().map(whole).collect() });
        }
        let arrays = inputs.iter().chain(outputs).cloned().collect();
        Rule { sizes: self.sizes, kinds: self.kinds, arrays, dims, n_inputs: inputs.len(), combine, halos }
    }

    /// What each dimension of an operand is, and the pieces of each map.
    fn operand(&mut self, maps: &OperandMaps, shape: &[i64]) -> (Vec<Link>, Vec<Vec<Option<Piece>>>) {
        let unknown = |n: &i64| if *n > 1 { Link::Whole } else { Link::One };
        let Some(maps) = maps else { return (shape.iter().map(unknown).collect(), Vec::new()) };
        let mut links: Vec<Option<Link>> = vec![None; shape.len()];
        let mut pieces = Vec::new();
        for map in maps.iter().filter(|map| map.results().len() == shape.len()) {
            let mut of_map = vec![None; shape.len()];
            for (j, (e, n)) in map.results().iter().zip(shape).enumerate() {
                let (link, piece) = if *n > 1 { self.link(map, e, *n) } else { (Link::One, None) };
                of_map[j] = piece;
                links[j] = Some(match links[j].take() {
                    Some(before) if before != link => Link::Whole,
                    _ => link,
                });
            }
            pieces.push(of_map);
        }
        let links: Vec<Link> =
            links.into_iter().zip(shape).map(|(link, n)| link.unwrap_or_else(|| unknown(n))).collect();
        for link in &links {
            if let Link::Digits(digits) = link {
                for (v, lo, hi) in digits {
                    self.cuts.entry(*v).or_default().extend([*lo, *hi]);
                }
            }
        }
        (links, pieces)
    }

    /// What a dimension of size `n` is whose index is the result `e` of a map.
    fn link(&mut self, map: &Map, e: &Expr, n: i64) -> (Link, Option<Piece>) {
        let Some(terms) = e.digits() else { return (Link::Whole, None) };
        let domain = map.domain();
        let mut constant = e.constant();
        let (mut digits, mut runtime) = (Vec::new(), Vec::new());
        for (factor, digit) in terms {
            let (var, at) = (digit.var, digit.var.index as usize);
            let (size, first) = match var.kind {
                Kind::Runtime => {
                    runtime.push(var);
                    continue;
                }
                Kind::Dim => (self.out.get(at).copied().unwrap_or(1), 0),
                Kind::Range => {
                    let interval = domain.ranges()[at].interval;
                    (interval.hi.saturating_sub(interval.lo).saturating_add(1), interval.lo)
                }
            };
            if digit.modulus.is_none() && digit.low == 1 {
                constant = constant.saturating_add(factor.saturating_mul(first));
            }
            let hi = digit.modulus.map_or(size, |m| digit.low.saturating_mul(m));
            // The most significant digit may be incomplete.
            if size > 1 && (hi % digit.low != 0 || hi > size) {
                return (Link::Whole, None);
            }
            if size > 1 {
                digits.push((factor, var, digit.low, hi));
            }
        }
        let is_dim = |v: &Var| v.kind == Kind::Dim;
        if !runtime.is_empty() {
            let follows = |v: &Var| domain.runtime()[v.index as usize].index().iter().any(|e| e.as_const().is_none());
            let is_selected = digits.is_empty() && runtime.iter().any(follows);
            return (if is_selected { Link::Selected } else { Link::Whole }, None);
        }
        if digits.is_empty() {
            return (Link::Selected, None);
        }
        digits.sort_by_key(|d| std::cmp::Reverse(d.0));
        let interval = |v: &Var| domain.dims()[v.index as usize].interval;
        let covers = |v: &Var| (interval(v).lo, interval(v).hi) == (0, self.out[v.index as usize] - 1);
        let ends = digits
            .iter()
            .rev()
            .try_fold(1i64, |end, (factor, _, lo, hi)| (*factor == end).then(|| factor.checked_mul(hi / lo)).flatten());
        if constant == 0 && ends == Some(n) && digits.iter().filter(|d| is_dim(&d.1)).all(|d| covers(&d.1)) {
            return (Link::Digits(digits.into_iter().map(|(_, v, lo, hi)| (v, lo, hi)).collect()), None);
        }
        let mut of_dims = digits.iter().filter(|d| is_dim(&d.1));
        let (Some(&(scale, v, 1, hi)), None) = (of_dims.next(), of_dims.next()) else { return (Link::Whole, None) };
        if hi != self.out[v.index as usize] {
            return (Link::Whole, None);
        }
        let (mut low, mut high) = (constant, constant);
        for (factor, w, lo, hi) in digits.iter().filter(|d| !is_dim(&d.1)) {
            let reach = factor.saturating_mul(hi / lo - 1);
            low = low.saturating_add(reach.min(0));
            high = high.saturating_add(reach.max(0));
            self.windows.insert(*w);
        }
        (Link::Halo(v), Some(Piece { scale, low, high, first: interval(&v).lo, last: interval(&v).hi }))
    }

    /// The factors of a variable with `n` values; whether elements along a range are combined.
    fn factors_of(&mut self, v: Var, n: i64, is_reduced: bool) -> &OfVariable {
        if !self.factors.contains_key(&v) {
            let mut cuts = self.cuts.get(&v).cloned().unwrap_or_default();
            cuts.extend([1, n]);
            let mut cuts: Vec<i64> = cuts.into_iter().collect();
            let divide = cuts.windows(2).all(|w| w[1] % w[0] == 0);
            if !divide {
                cuts = vec![1, n];
            }
            let kind = match v.kind {
                Kind::Dim => FactorKind::PassThrough,
                _ if is_reduced && !self.windows.contains(&v) => FactorKind::Reduced,
                _ => FactorKind::Whole,
            };
            let found = cuts.windows(2).map(|w| (w[0], w[1], self.add(kind, w[1] / w[0]))).collect();
            self.factors.insert(v, (found, divide));
        }
        &self.factors[&v]
    }

    /// The factors of a dimension that consists of digits.
    fn sequence(&mut self, digits: &[(Var, i64, i64)], n: i64, is_reduced: bool) -> Factors {
        let mut found = Factors::new();
        for (v, lo, hi) in digits {
            let size = match v.kind {
                Kind::Dim => self.out[v.index as usize],
                _ => self.cuts[v].last().copied().unwrap_or(1),
            };
            let (factors, divide) = self.factors_of(*v, size, is_reduced);
            if !divide && (*lo, *hi) != (1, size) {
                return self.alone(FactorKind::Whole, n);
            }
            found.extend(factors.iter().rev().filter(|(a, b, _)| lo <= a && b <= hi).map(|(_, _, f)| *f));
        }
        found
    }

    fn alone(&mut self, kind: FactorKind, n: i64) -> Factors {
        Factors::from_elem(self.add(kind, n), 1)
    }

    fn add(&mut self, kind: FactorKind, size: i64) -> Factor {
        self.sizes.push(size);
        self.kinds.push(kind);
        (self.sizes.len() - 1) as Factor
    }
}

fn dim(i: usize) -> Var {
    Var { kind: Kind::Dim, index: i as u32 }
}
