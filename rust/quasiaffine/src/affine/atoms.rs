//! The atoms of a context, of which forms are sums: variables, divs and closed operations, each with its interval.
//!
//! Equal atoms have one number; the variables come first, by their flat numbers.

use rustc_hash::FxHashMap;

use crate::affine::form::{AffineForm, AtomId};
use crate::arithmetic::Binary;
use crate::domain::Domain;
use crate::expr::{Expr, Kind, Var};
use crate::span::Interval;
use crate::tuning::FEW_ATOMS;

/// The value that an atom stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AtomKind {
    /// A variable, by its flat number.
    Var(u32),
    /// `numerator floordiv divisor` with `divisor >= 2`.
    Div(AffineForm, i64),
    /// An operation on two forms that stays closed: no law looks inside.
    Other(Binary, Box<(AffineForm, AffineForm)>),
}

/// An atom with its interval.
#[derive(Clone, Debug)]
pub struct Atom {
    /// The value that it stands for.
    pub kind: AtomKind,
    /// Its values over the domain.
    pub interval: Interval,
    /// The nesting depth of atoms; 0 for a variable.
    pub depth: u32,
    /// A number that does not depend on the context, see [`crate::affine::order`].
    pub(crate) fingerprint: u64,
    /// The atom as an expression, once it has been written.
    extracted: Option<Expr>,
    /// Whether the expression was written under other facts, so that extraction could give another one now.
    is_stale: bool,
}

impl Atom {
    /// The remembered expression, unless it is stale.
    pub(crate) fn written(&self) -> Option<&Expr> {
        self.extracted.as_ref().filter(|_| !self.is_stale)
    }
}

/// All atoms of a context.
#[derive(Default)]
pub(crate) struct Atoms {
    list: Vec<Atom>,
    n_vars: usize,
    n_dims: u32,
    n_ranges: u32,
    /// Numbers by kind, once a linear search would be slow. Boxed, so that a context is cheap to make.
    interned: Option<Box<FxHashMap<AtomKind, AtomId>>>,
}

impl Atoms {
    /// Allocates room for this many variables and a few divs.
    pub(crate) fn with_room(n_vars: usize) -> Atoms {
        // With few variables the list fits the allocator's fast bins: room for 16 costs hard expressions 2 %.
        Atoms { list: Vec::with_capacity(n_vars + 3), ..Atoms::default() }
    }

    /// Keeps nothing but the variables of a domain.
    pub(crate) fn restart(&mut self, domain: &Domain) {
        self.list.clear();
        self.interned = None;
        self.n_vars = domain.vars.len();
        (self.n_dims, self.n_ranges) = (domain.n_dims as u32, domain.n_ranges as u32);
        self.list.extend((0..self.n_vars as u32).zip(&domain.vars).map(|(flat, v)| Atom {
            kind: AtomKind::Var(flat),
            fingerprint: u64::from(flat) + 1,
            interval: v.interval,
            depth: 0,
            extracted: None,
            is_stale: false,
        }));
    }

    /// The variables without other atoms.
    pub(crate) fn variables(&self) -> Atoms {
        let mut atoms = Atoms::with_room(self.n_vars);
        (atoms.n_vars, atoms.n_dims, atoms.n_ranges) = (self.n_vars, self.n_dims, self.n_ranges);
        atoms.list.extend_from_slice(&self.list[..self.n_vars]);
        atoms
    }

    pub(crate) fn get(&self, id: AtomId) -> &Atom {
        &self.list[id as usize]
    }

    /// The number of atoms, variables included.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn n_vars(&self) -> usize {
        self.n_vars
    }

    /// Remembers the expression of an atom. Returns the earlier node if the expression is equal to it.
    pub(crate) fn remember(&mut self, id: AtomId, expr: Expr) -> Expr {
        let atom = &mut self.list[id as usize];
        let expr = atom.extracted.take().filter(|earlier| *earlier == expr).unwrap_or(expr);
        (atom.extracted, atom.is_stale) = (Some(expr.clone()), false);
        expr
    }

    /// Marks every remembered expression stale.
    pub(crate) fn forget_written(&mut self) {
        self.list.iter_mut().for_each(|atom| atom.is_stale = true);
    }

    /// Finds a quotient among the first atoms from number `from` on.
    pub(crate) fn known_div(&self, num: &AffineForm, n: i64, from: usize) -> Option<AtomId> {
        let atoms = self.list.iter().enumerate().take(self.n_vars + FEW_ATOMS).skip(from);
        let mut equal = atoms.filter(|(_, atom)| matches!(&atom.kind, AtomKind::Div(y, m) if *m == n && y == num));
        equal.next().map(|(id, _)| id as AtomId)
    }

    /// The number of an atom, if the context has it.
    pub(crate) fn known(&self, kind: &AtomKind) -> Option<AtomId> {
        if let Some(interned) = &self.interned {
            return interned.get(kind).copied();
        }
        let at = self.list.iter().skip(self.n_vars).position(|atom| atom.kind == *kind);
        at.map(|i| (i + self.n_vars) as AtomId)
    }

    /// Adds an atom that the context does not have.
    pub(crate) fn add(&mut self, kind: AtomKind, interval: Interval) -> AtomId {
        let id = self.list.len() as AtomId;
        if self.list.len() - self.n_vars >= FEW_ATOMS {
            let earlier = self.list.iter().enumerate().skip(self.n_vars);
            let all = || Box::new(earlier.map(|(id, atom)| (atom.kind.clone(), id as AtomId)).collect());
            self.interned.get_or_insert_with(all).insert(kind.clone(), id);
        }
        let deepest =
            |form: &AffineForm| form.terms.iter().map(|t| self.list[t.atom as usize].depth).max().unwrap_or(0);
        let depth = match &kind {
            AtomKind::Var(_) => 0,
            AtomKind::Div(num, _) => 1 + deepest(num),
            AtomKind::Other(_, operands) => 1 + deepest(&operands.0).max(deepest(&operands.1)),
        };
        let fingerprint = self.fingerprint_of(&kind);
        self.list.push(Atom { kind, interval, depth, fingerprint, extracted: None, is_stale: false });
        id
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

    /// The variable with a flat number.
    pub(crate) fn var(&self, flat: usize) -> Var {
        Var::at(flat as u32, self.n_dims, self.n_ranges)
    }
}
