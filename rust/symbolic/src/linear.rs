//! The simplifier's workspace: every expression as a linear form over interned atoms.
//!
//! Read [`Work`] and [`Linear`]. In a linear form a remainder does not exist: `x mod n` is `x - n * (x floordiv n)`.
//! So quotients and remainders of one value cancel and combine by plain addition, and the number of floor divisions in
//! a form is the smallest that its terms allow. [`crate::simplify`] writes forms back as expressions and brings the
//! remainders back where they are shorter. A workspace lives for one call; nothing global grows.

use smallvec::SmallVec;

use rustc_hash::FxHashMap;

use crate::domain::{Constraint, Domain};
use crate::error::Stop;
use crate::expr::{Expr, Kind, Op, Var};
use crate::int;
use crate::range::Range;
use crate::rules::{self, Rule};

/// The number of an atom in its workspace. Variables come first, in the order of the domain.
pub type AtomId = u32;

/// `coefficient * atom`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinearTerm {
    /// The factor, not 0.
    pub coefficient: i64,
    /// The atom.
    pub atom: AtomId,
}

/// `constant + sum of terms`, the terms in the order of their atoms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Linear {
    /// The constant.
    pub constant: i64,
    /// The terms.
    pub terms: SmallVec<[LinearTerm; 6]>,
}

impl Linear {
    /// A constant.
    pub fn constant(constant: i64) -> Linear {
        Linear { constant, terms: SmallVec::new() }
    }

    /// One atom.
    pub fn atom(atom: AtomId) -> Linear {
        Linear { constant: 0, terms: SmallVec::from_slice(&[LinearTerm { coefficient: 1, atom }]) }
    }

    /// The value, where there is no term.
    pub fn as_const(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The coefficient of an atom, 0 where it does not occur.
    pub fn coefficient(&self, atom: AtomId) -> i64 {
        self.terms.iter().find(|t| t.atom == atom).map_or(0, |t| t.coefficient)
    }

    /// `self += factor * other`.
    pub fn add_scaled(&mut self, factor: i64, other: &Linear) -> Result<(), Stop> {
        if factor == 0 {
            return Ok(());
        }
        self.constant = int::add(self.constant, int::mul(factor, other.constant)?)?;
        for t in &other.terms {
            self.add_term(int::mul(factor, t.coefficient)?, t.atom)?;
        }
        Ok(())
    }

    /// `self += coefficient * atom`.
    pub fn add_term(&mut self, coefficient: i64, atom: AtomId) -> Result<(), Stop> {
        let at = match self.terms.last() {
            Some(last) if last.atom >= atom => self.terms.partition_point(|t| t.atom < atom),
            _ => self.terms.len(),
        };
        match self.terms.get_mut(at) {
            Some(t) if t.atom == atom => {
                t.coefficient = int::add(t.coefficient, coefficient)?;
                if t.coefficient == 0 {
                    self.terms.remove(at);
                }
            }
            _ if coefficient == 0 => {}
            _ => self.terms.insert(at, LinearTerm { coefficient, atom }),
        }
        Ok(())
    }

    /// `factor * self`.
    pub fn scaled(&self, factor: i64) -> Result<Linear, Stop> {
        let mut out = Linear::default();
        out.add_scaled(factor, self)?;
        Ok(out)
    }

    /// `self - other`.
    pub fn minus(&self, other: &Linear) -> Result<Linear, Stop> {
        let mut out = self.clone();
        out.add_scaled(-1, other)?;
        Ok(out)
    }

    /// The greatest common divisor of the coefficients; 0 where there is none.
    pub fn content(&self) -> i64 {
        self.terms.iter().fold(0, |g, t| int::gcd(g, t.coefficient).unwrap_or(1))
    }
}

/// What an atom stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AtomKind {
    /// A variable, by its flat number.
    Var(u32),
    /// `numerator floordiv divisor` with `divisor >= 2`.
    Div(Linear, i64),
    /// An operation on two forms of which nothing more is known.
    Other(OtherOp, Linear, Linear),
}

/// The operations that stay closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OtherOp {
    /// A product of two forms.
    Product,
    /// Floor division by a form.
    FloorDiv,
    /// The remainder by a form.
    Mod,
    /// The smaller of two.
    Min,
    /// The larger of two.
    Max,
}

/// An atom with its range.
#[derive(Clone, Debug)]
pub struct Atom {
    /// What it stands for.
    pub kind: AtomKind,
    /// Its values over the domain.
    pub range: Range,
    /// The atom as an expression, once it has been written.
    pub(crate) written: Option<Expr>,
}

/// A constraint of the domain as a fact: the form lies in the range.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The form; its constant is 0.
    pub form: Linear,
    /// Its values.
    pub range: Range,
}

/// The workspace of one simplification.
pub struct Work {
    pub(crate) vars: SmallVec<[Var; 8]>,
    pub(crate) atoms: Vec<Atom>,
    pub(crate) facts: Vec<Fact>,
    /// Runtime variables that are replaced by an equal earlier one, by flat number.
    pub(crate) alias: SmallVec<[u32; 8]>,
    pub(crate) keep_point_dims: bool,
    pub(crate) tally: Tally,
    /// Numbers by kind, once there are more atoms than are quickly looked through.
    interned: FxHashMap<AtomKind, AtomId>,
    n_dims: u32,
    n_ranges: u32,
    shared: FxHashMap<usize, Linear>,
}

/// Up to so many quotients are looked through one by one.
const FEW_ATOMS: usize = 24;

/// What a simplification keeps count of, over all its workspaces.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// One bit for each of [`rules::NAMES`] that fired, for the coverage check of the rule tests.
    pub fired: u64,
    /// How many terms may still be looked at. Past that everything stays as it is.
    pub effort: u32,
}

impl Tally {
    /// Nothing fired yet. The effort is some ten milliseconds, a thousand times what maps of programs take.
    pub const NEW: Tally = Tally { fired: 0, effort: 2_000_000 };
}

impl Work {
    /// The workspace for expressions over a domain, with its constraints as facts.
    pub fn new(domain: &Domain) -> Work {
        let mut work = Work::without_facts(domain, false, Tally::NEW);
        for Constraint { expr, range } in &domain.constraints {
            // A constraint that cannot be written in 64 bits is a fact that is not used.
            if let Ok(form) = work.linear(expr) {
                work.add_fact(form, *range);
            }
        }
        work
    }

    pub(crate) fn without_facts(domain: &Domain, keep_point_dims: bool, tally: Tally) -> Work {
        let n = domain.vars.len();
        let atoms = domain.vars.iter().enumerate().map(|(i, v)| Atom {
            kind: AtomKind::Var(i as u32),
            range: v.range,
            written: None,
        });
        Work {
            vars: (0..n).map(|i| domain.var(i)).collect(),
            atoms: atoms.collect(),
            facts: Vec::new(),
            alias: (0..n as u32).collect(),
            keep_point_dims,
            tally,
            n_dims: domain.n_dims as u32,
            n_ranges: domain.n_ranges as u32,
            interned: FxHashMap::default(),
            shared: FxHashMap::default(),
        }
    }

    pub(crate) fn add_fact(&mut self, mut form: Linear, range: Range) {
        let shift = -i128::from(form.constant);
        form.constant = 0;
        let ends = (i64::try_from(i128::from(range.lo) + shift), i64::try_from(i128::from(range.hi) + shift));
        if let (false, (Ok(lo), Ok(hi))) = (form.terms.is_empty(), ends) {
            self.facts.push(Fact { form, range: Range::new(lo, hi) });
        }
    }

    /// The range of an expression over the domain.
    pub fn bounds(&mut self, e: &Expr) -> Range {
        match self.linear(e) {
            Ok(form) => self.range_of(&form),
            Err(_) => Range::ALL,
        }
    }

    /// An expression as a linear form, with every law for quotients applied on the way up.
    ///
    /// # Errors
    /// [`Stop::Overflow`] where a coefficient does not fit; the expression then stays as it is.
    pub fn linear(&mut self, e: &Expr) -> Result<Linear, Stop> {
        let node = match e {
            Expr::Const(c) => return Ok(Linear::constant(*c)),
            Expr::Var(v) => return Ok(self.variable(*v)),
            Expr::Node(node) => node,
        };
        let shared = std::sync::Arc::strong_count(node) > 1;
        let key = std::sync::Arc::as_ptr(node) as usize;
        if shared {
            if let Some(form) = self.shared.get(&key) {
                return Ok(form.clone());
            }
        }
        let form = match e.op() {
            None => return Err(Stop::Overflow),
            Some(Op::Sum(sum)) => {
                let mut form = Linear::constant(sum.constant);
                for t in &sum.terms {
                    match &t.atom {
                        Expr::Var(v) => {
                            let v = self.variable(*v);
                            form.add_scaled(t.coefficient, &v)?;
                        }
                        atom => form.add_scaled(t.coefficient, &self.linear(atom)?)?,
                    }
                }
                form
            }
            Some(Op::FloorDiv(a, b)) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                match b.as_const() {
                    Some(n) if n >= 1 => self.floor_div(a, n)?,
                    _ => rules::other::floor_div(self, a, b)?,
                }
            }
            Some(Op::Mod(a, b)) => {
                let (mut a, b) = (self.linear(a)?, self.linear(b)?);
                match b.as_const() {
                    Some(n) if n >= 1 => {
                        let quotient = self.floor_div(a.clone(), n)?;
                        a.add_scaled(-n, &quotient)?;
                        a
                    }
                    _ => rules::other::floor_mod(self, a, b)?,
                }
            }
            Some(Op::Product(a, b)) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                rules::other::product(self, a, b)?
            }
            Some(Op::Min(a, b)) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                rules::other::min(self, a, b)?
            }
            Some(Op::Max(a, b)) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                rules::other::max(self, a, b)?
            }
        };
        self.spend(form.terms.len())?;
        if shared {
            self.shared.insert(key, form.clone());
        }
        Ok(form)
    }

    fn variable(&mut self, v: Var) -> Linear {
        let flat = self.alias[self.flat(v)] as usize;
        match self.atoms[flat].range.as_point() {
            Some(value) if !(self.keep_point_dims && v.kind == Kind::Dim) => {
                self.fire(Rule::PointVariable);
                Linear::constant(value)
            }
            _ => Linear::atom(flat as AtomId),
        }
    }

    /// `form floordiv n` for `n >= 1`, by the laws of [`rules::div`].
    pub fn floor_div(&mut self, form: Linear, n: i64) -> Result<Linear, Stop> {
        rules::div::floor_div(self, form, n)
    }

    /// The atom of a kind: an earlier one where it is known, a new one otherwise.
    pub(crate) fn intern(&mut self, kind: AtomKind) -> AtomId {
        if let Some(id) = self.known(&kind) {
            return id;
        }
        let range = self.range_of_kind(&kind);
        let id = self.atoms.len() as AtomId;
        if self.atoms.len() - self.vars.len() >= FEW_ATOMS {
            if self.interned.is_empty() {
                let earlier = self.atoms.iter().enumerate().skip(self.vars.len());
                self.interned = earlier.map(|(id, atom)| (atom.kind.clone(), id as AtomId)).collect();
            }
            self.interned.insert(kind.clone(), id);
        }
        self.atoms.push(Atom { kind, range, written: None });
        id
    }

    fn known(&self, kind: &AtomKind) -> Option<AtomId> {
        if !self.interned.is_empty() {
            return self.interned.get(kind).copied();
        }
        let at = self.atoms.iter().skip(self.vars.len()).position(|atom| atom.kind == *kind);
        at.map(|i| (i + self.vars.len()) as AtomId)
    }

    /// The flat number of a variable.
    pub(crate) fn flat(&self, v: Var) -> usize {
        let start = match v.kind {
            Kind::Dim => 0,
            Kind::Range => self.n_dims,
            Kind::Runtime => self.n_dims + self.n_ranges,
        };
        (start + v.index) as usize
    }

    fn range_of_kind(&mut self, kind: &AtomKind) -> Range {
        match kind {
            AtomKind::Var(i) => self.atoms[*i as usize].range,
            AtomKind::Div(num, n) => self.range_of(num).floor_div(Range::point(*n)),
            AtomKind::Other(op, a, b) => {
                let (a, b) = (self.range_of(a), self.range_of(b));
                match op {
                    OtherOp::Product => a.times(b),
                    OtherOp::FloorDiv => a.floor_div(b),
                    OtherOp::Mod => a.floor_mod(b),
                    OtherOp::Min => a.min(b),
                    OtherOp::Max => a.max(b),
                }
            }
        }
    }

    /// The numerator and the divisor of an atom that is a quotient.
    pub fn as_div(&self, atom: AtomId) -> Option<(&Linear, i64)> {
        match &self.atoms[atom as usize].kind {
            AtomKind::Div(num, n) => Some((num, *n)),
            _ => None,
        }
    }

    /// Whether a form has a quotient among its terms.
    pub fn has_div(&self, form: &Linear) -> bool {
        // Variables have the smallest numbers, so that the last term decides most forms.
        form.terms.last().is_some_and(|t| t.atom as usize >= self.vars.len())
            && form.terms.iter().any(|t| self.as_div(t.atom).is_some())
    }

    /// Spends effort on looking at `n` terms.
    ///
    /// # Errors
    /// [`Stop::Effort`] where none is left.
    pub(crate) fn spend(&mut self, n: usize) -> Result<(), Stop> {
        match self.tally.effort.checked_sub(u32::try_from(n + 1).unwrap_or(u32::MAX)) {
            Some(left) => {
                self.tally.effort = left;
                Ok(())
            }
            None => {
                self.tally.effort = 0;
                Err(Stop::Effort)
            }
        }
    }
}
