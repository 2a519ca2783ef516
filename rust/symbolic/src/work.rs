//! The simplifier's workspace: every expression as a linear form over interned atoms.
//!
//! Read [`Work`]. In a linear form a remainder does not exist: `x mod n` is `x - n * (x floordiv n)`. So quotients and
//! remainders of one value cancel and combine by plain addition, and the number of floor divisions in a form is the smallest
//! that its terms allow. [`mod@crate::simplify`] writes forms back as expressions and brings the remainders back where they are
//! shorter. A workspace lives for one call; nothing global grows.
//!
//! Forms of large nodes are remembered by address; by what the nodes say, most sets take 1 % more, though trees that repeat
//! themselves take less. A workspace that its thread keeps for the next call saves 1 to 2 % of the instructions of hard maps,
//! and would leave room in use when all maps are gone; so none is kept. With mimalloc in place of the system's allocator, five
//! sets of simplifications and compositions took between 6 % less and 11 % more time, in two runs.

use rustc_hash::FxHashMap;

use crate::domain::{Constraint, Domain, Variable};
use crate::error::Stop;
use crate::expr::{Expr, Kind, Op, Var};
use crate::int;
use crate::interval::{interval, Interval};
use crate::linear::{AtomId, Linear};
use crate::range::Range;
use crate::reading::{Met, Reading};
use crate::rules::write::{Notes, Written};
use crate::rules::{self, Rule};
use crate::sample::Sample;
use crate::table::Table;

/// What an atom stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AtomKind {
    /// A variable, by its flat number.
    Var(u32),
    /// `numerator floordiv divisor` with `divisor >= 2`.
    Div(Linear, i64),
    /// An operation on two forms of which nothing more is known.
    Other(OtherOp, Box<(Linear, Linear)>),
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
    /// How many atoms stand in one another; 0 for a variable.
    pub depth: u32,
    /// The atom as an expression, once it has been written.
    pub(crate) written: Option<Expr>,
    /// Whether it was written under other facts, so that it could come out otherwise now.
    pub(crate) is_stale: bool,
}

/// A constraint of the domain as a fact: the form lies in the range.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The form; its constant is 0.
    pub form: Linear,
    /// Its values.
    pub range: Range,
}

/// What only large expressions need: boxed, so that a workspace is quickly made and dropped.
#[derive(Default)]
pub(crate) struct Large {
    /// Numbers by kind, once there are more atoms than are quickly looked through.
    interned: FxHashMap<AtomKind, AtomId>,
    /// The forms of shared nodes, by address, with the nodes: no other one gets an address that is remembered. Apart for the
    /// two kinds of reading, see [`Reading`].
    shared: [Table<usize, (Expr, Linear)>; 2],
    /// Forms that have been written.
    pub(crate) written: Table<Linear, Written>,
}

/// The workspace of one simplification.
pub struct Work {
    /// How many variables there are. They are the first atoms.
    pub(crate) n_vars: usize,
    pub(crate) atoms: Vec<Atom>,
    pub(crate) facts: Vec<Fact>,
    /// The number of the first atom that was made under these facts.
    first_under_facts: usize,
    /// What each variable is replaced by, an equal earlier one or itself, by flat number; nothing where none is replaced.
    pub(crate) alias: Vec<u32>,
    pub(crate) keep_point_dims: bool,
    pub(crate) tally: Tally,
    /// The samples of the first atoms, see [`crate::sample`]; nothing where a value does not fit.
    pub(crate) samples: Vec<Option<Sample>>,
    n_dims: u32,
    n_ranges: u32,
    /// Divisions that have been done.
    quotients: Table<(i64, Linear), Linear>,
    pub(crate) large: Option<Box<Large>>,
    pub(crate) reading: Reading,
    /// Forms that are 0 by constraints with a single value: used in results, and not in the constraints themselves.
    pub(crate) equalities: Vec<Linear>,
    /// What is known of what was written since this was last cleared.
    pub(crate) notes: Notes,
}

/// The largest expression whose interval is worked out.
const INTERVAL_NODES: u32 = 4096;

/// Shared nodes that are smaller are read again: that is quicker than to remember them.
const SMALL: u32 = 16;

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

    /// The workspace for expressions over a domain whose constraints do not count.
    pub(crate) fn without_facts(domain: &Domain, keep_point_dims: bool, tally: Tally) -> Work {
        let mut work = Work::idle(domain.vars.len(), keep_point_dims, tally);
        work.restart(domain);
        work
    }

    /// A workspace that has yet to be started over some domain of so many variables.
    pub(crate) fn idle(n_vars: usize, keep_point_dims: bool, tally: Tally) -> Work {
        Work {
            n_vars: 0,
            // With few variables small enough for the allocator's quick bins: room for 16 costs hard expressions 2 %.
            atoms: Vec::with_capacity(n_vars + 3),
            facts: Vec::new(),
            first_under_facts: 0,
            alias: Vec::new(),
            keep_point_dims,
            tally,
            samples: Vec::new(),
            n_dims: 0,
            n_ranges: 0,
            quotients: Table::default(),
            large: None,
            reading: Reading::default(),
            equalities: Vec::new(),
            notes: Notes::default(),
        }
    }

    /// Starts anew over a domain, without facts. What it has spent stays spent.
    pub(crate) fn restart(&mut self, domain: &Domain) {
        let n = domain.vars.len();
        if !self.atoms.is_empty() {
            // Nothing is remembered where there was no atom.
            self.atoms.clear();
            self.samples.clear();
            self.facts.clear();
            self.quotients.clear();
            self.large = None;
        }
        self.n_vars = n;
        self.alias.clear();
        let kinds = (0..n as u32).map(AtomKind::Var);
        self.atoms.extend(kinds.zip(&domain.vars).map(|(kind, v)| Atom {
            kind,
            range: v.range,
            depth: 0,
            written: None,
            is_stale: false,
        }));
        self.first_under_facts = n;
        (self.n_dims, self.n_ranges) = (domain.n_dims as u32, domain.n_ranges as u32);
        self.reading = Reading::default();
    }

    /// The ranges of the variables, without anything that relates them.
    pub(crate) fn the_box(&self) -> Domain {
        let vars = self.atoms[..self.n_vars].iter().map(|atom| Variable::new(atom.range)).collect();
        Domain { vars, n_dims: self.n_dims as usize, n_ranges: self.n_ranges as usize, constraints: Vec::new() }
    }

    /// Forgets what has been met. Forms that are remembered go with it: they would be found without meeting anything.
    pub(crate) fn read_anew(&mut self) {
        self.reading = Reading::default();
        if let Some(large) = &mut self.large {
            large.shared[usize::from(true)].clear();
        }
    }

    /// Forgets what has been met since then.
    pub(crate) fn unread(&mut self, to: Met) {
        self.reading.back_to(to);
        if let Some(large) = &mut self.large {
            large.shared[usize::from(true)].clear();
        }
    }

    /// Whether every quotient has been met since expressions are read to be checked.
    pub(crate) fn has_met_all(&self) -> bool {
        self.reading.n_met() == self.atoms.len() - self.n_vars
    }

    pub(crate) fn add_fact(&mut self, mut form: Linear, range: Range) {
        let shift = -i128::from(form.constant);
        form.constant = 0;
        let range = Range::exact(i128::from(range.lo) + shift, i128::from(range.hi) + shift);
        if let (false, Some(range)) = (form.terms.is_empty(), range) {
            self.facts.push(Fact { form, range });
            self.forget();
        }
    }

    /// The interval of an expression over the domain.
    pub(crate) fn interval(&mut self, e: &Expr) -> Interval {
        let by_nodes = interval(&|v| self.atoms[self.flat(v)].range, e, INTERVAL_NODES);
        match self.linear(e) {
            Ok(form) => {
                let (lo, hi) = self.ends_of(&form);
                Interval { lo, hi }.intersect(by_nodes)
            }
            Err(_) => by_nodes,
        }
    }

    /// The range of an expression over the domain; `None` where it is not known to have 64 bits.
    pub fn bounds(&mut self, e: &Expr) -> Option<Range> {
        let Interval { lo, hi } = self.interval(e);
        // The ends of no value are in no order.
        if lo > hi {
            Some(Range::EMPTY)
        } else {
            Range::exact(lo, hi)
        }
    }

    /// An expression as a linear form, with every law for quotients applied on the way up.
    ///
    /// # Errors
    /// [`Stop::Overflow`] where a coefficient does not fit; the expression then stays as it is.
    pub fn linear(&mut self, e: &Expr) -> Result<Linear, Stop> {
        let mut out = Linear::default();
        self.add_expr(1, e, &mut out)?;
        Ok(out)
    }

    /// `out += factor * e`
    fn add_expr(&mut self, factor: i64, e: &Expr, out: &mut Linear) -> Result<(), Stop> {
        let node = match e {
            Expr::Const(c) => return out.add_constant(factor, *c),
            Expr::Var(v) => return self.add_variable(factor, *v, out),
            Expr::Node(node) => node,
        };
        let Some(op) = e.op() else { return Ok(()) };
        if e.nodes() < SMALL {
            return self.add_op(factor, op, out);
        }
        let (is_shared, is_all) = (std::sync::Arc::strong_count(node) > 1, factor == 1 && *out == Linear::default());
        if is_all && !is_shared {
            return self.add_op(factor, op, out);
        }
        let (table, key) = (usize::from(self.reading.checks), std::sync::Arc::as_ptr(node) as usize);
        let known = self.large.as_ref().filter(|_| is_shared).and_then(|large| large.shared[table].get(&key));
        if let Some((_, form)) = known {
            return out.add_scaled(factor, form);
        }
        // Shared or not, the form is made by itself: what does not fit into 64 bits must not depend on who holds the node.
        let mut form = Linear::default();
        self.add_op(1, op, &mut form)?;
        out.add_scaled(factor, &form)?;
        if is_shared {
            self.large.get_or_insert_default().shared[table].insert(key, (e.clone(), form));
        }
        Ok(())
    }

    /// `out += factor * op`
    fn add_op(&mut self, factor: i64, op: &Op, out: &mut Linear) -> Result<(), Stop> {
        let form = match op {
            Op::Sum(sum) => {
                self.spend(sum.terms.len())?;
                out.add_constant(factor, sum.constant)?;
                for t in &sum.terms {
                    self.add_expr(int::mul(factor, t.coefficient)?, &t.atom, out)?;
                }
                return Ok(());
            }
            // A form is too large to be moved from where it is made.
            Op::FloorDiv(e, Expr::Const(n)) if *n >= 1 => {
                let mut a = Linear::default();
                self.add_expr(1, e, &mut a)?;
                return self.add_quotient(factor, a, *n, out);
            }
            Op::Mod(e, Expr::Const(n)) if *n >= 1 => {
                let mut a = Linear::default();
                self.add_expr(1, e, &mut a)?;
                out.add_scaled(factor, &a)?;
                return self.add_quotient(int::mul(factor, -n)?, a, *n, out);
            }
            Op::FloorDiv(a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                match b.as_const() {
                    Some(n) if n >= 1 => self.floor_div(a, n)?,
                    _ => rules::other::floor_div(self, a, b)?,
                }
            }
            Op::Mod(a, b) => {
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
            Op::Product(a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                rules::other::product(self, a, b)?
            }
            Op::Min(a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                rules::other::min(self, a, b)?
            }
            Op::Max(a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                rules::other::max(self, a, b)?
            }
        };
        self.spend(form.terms.len())?;
        out.add_scaled(factor, &form)
    }

    fn add_variable(&mut self, factor: i64, v: Var, out: &mut Linear) -> Result<(), Stop> {
        let flat = self.stands_for(self.flat(v));
        match self.atoms[flat].range.as_point() {
            Some(value) if !(self.keep_point_dims && v.kind == Kind::Dim) => {
                self.fire(Rule::PointVariable);
                out.add_constant(factor, value)
            }
            _ => out.add_term(factor, flat as AtomId),
        }
    }

    /// `form floordiv n` for `n >= 1`, by the laws of [`rules::div`].
    pub fn floor_div(&mut self, form: Linear, n: i64) -> Result<Linear, Stop> {
        let mut out = Linear::default();
        self.add_quotient(1, form, n, &mut out)?;
        Ok(out)
    }

    /// `out += factor * (form floordiv n)` for `n >= 1`
    fn add_quotient(&mut self, factor: i64, form: Linear, n: i64, out: &mut Linear) -> Result<(), Stop> {
        if let Some(value) = form.as_const() {
            return out.add_constant(factor, int::floor_div(value, n));
        }
        // No law changes the numerator of a quotient that was made under the same facts.
        if let Some(atom) = self.known_quotient(&form, n, self.first_under_facts) {
            if self.reading.checks {
                self.reading.meet(atom);
            }
            return out.add_term(factor, atom);
        }
        if let Some(range) = rules::plain::no_rule_applies(self, &form, n) {
            self.spend(form.terms.len())?;
            let atom = self.intern_quotient(form, range, n);
            return out.add_term(factor, atom);
        }
        if rules::plain::add_plain_quotient(self, factor, &form, n, out)? {
            return Ok(());
        }
        let key = (n, form);
        if let Some(done) = self.quotients.get(&key) {
            if self.reading.checks {
                done.terms.iter().filter(|t| t.atom as usize >= self.n_vars).for_each(|t| self.reading.meet(t.atom));
            }
            return out.add_scaled(factor, done);
        }
        let quotient = rules::div::floor_div(self, key.1.clone(), n)?;
        out.add_scaled(factor, &quotient)?;
        self.quotients.insert(key, quotient);
        Ok(())
    }

    /// Starts anew with what is known beyond the ranges of the variables.
    pub(crate) fn clear_facts(&mut self) {
        self.facts.clear();
        self.forget();
    }

    /// What has been written with other equalities could come out otherwise.
    pub(crate) fn set_equalities(&mut self, equalities: Vec<Linear>) {
        self.equalities = equalities;
        self.forget_written();
    }

    fn forget_written(&mut self) {
        if let Some(large) = &mut self.large {
            large.written.clear();
        }
        self.atoms.iter_mut().for_each(|atom| atom.is_stale = true);
    }

    /// What has been read and divided under other facts could come out otherwise.
    fn forget(&mut self) {
        self.quotients.clear();
        self.forget_written();
        if let Some(large) = &mut self.large {
            large.shared.iter_mut().for_each(Table::clear);
        }
        self.first_under_facts = self.atoms.len();
    }

    /// The atom of a kind: an earlier one where it is known, a new one otherwise.
    ///
    /// # Errors
    /// [`Stop::Overflow`] where the value is not known to have 64 bits: then it is no atom, and no law sees it.
    pub(crate) fn intern(&mut self, kind: AtomKind) -> Result<AtomId, Stop> {
        if let Some(id) = self.known(&kind) {
            return Ok(self.met(id));
        }
        let range = self.range_of_kind(&kind).ok_or(Stop::Overflow)?;
        Ok(self.add_atom(kind, range))
    }

    /// An atom that is met again.
    fn met(&mut self, id: AtomId) -> AtomId {
        if self.reading.checks {
            self.reading.meet(id);
        }
        id
    }

    /// The quotient of a form with a known range: an earlier one where it is known, a new one otherwise.
    pub(crate) fn intern_quotient(&mut self, num: Linear, of_num: Range, n: i64) -> AtomId {
        if self.interned().is_some() {
            let kind = AtomKind::Div(num, n);
            return match self.known(&kind) {
                Some(id) => self.met(id),
                None => self.add_atom(kind, of_num.floor_div(n)),
            };
        }
        match self.known_quotient(&num, n, self.n_vars) {
            Some(id) => self.met(id),
            None => self.add_atom(AtomKind::Div(num, n), of_num.floor_div(n)),
        }
    }

    /// The quotient among the first atoms from a number on.
    fn known_quotient(&self, num: &Linear, n: i64, from: usize) -> Option<AtomId> {
        let atoms = self.atoms.iter().enumerate().take(self.n_vars + FEW_ATOMS).skip(from);
        let mut equal = atoms.filter(|(_, atom)| matches!(&atom.kind, AtomKind::Div(y, m) if *m == n && y == num));
        equal.next().map(|(id, _)| id as AtomId)
    }

    fn add_atom(&mut self, kind: AtomKind, range: Range) -> AtomId {
        let id = self.atoms.len() as AtomId;
        if self.atoms.len() - self.n_vars >= FEW_ATOMS {
            let interned = &mut self.large.get_or_insert_default().interned;
            if interned.is_empty() {
                let earlier = self.atoms.iter().enumerate().skip(self.n_vars);
                interned.extend(earlier.map(|(id, atom)| (atom.kind.clone(), id as AtomId)));
            }
            interned.insert(kind.clone(), id);
        }
        let deepest = |form: &Linear| form.terms.iter().map(|t| self.atoms[t.atom as usize].depth).max().unwrap_or(0);
        let depth = match &kind {
            AtomKind::Var(_) => 0,
            AtomKind::Div(num, _) => 1 + deepest(num),
            AtomKind::Other(_, operands) => 1 + deepest(&operands.0).max(deepest(&operands.1)),
        };
        self.atoms.push(Atom { kind, range, depth, written: None, is_stale: false });
        if self.reading.checks {
            self.reading.meet(id);
        }
        id
    }

    fn interned(&self) -> Option<&FxHashMap<AtomKind, AtomId>> {
        self.large.as_ref().map(|large| &large.interned).filter(|interned| !interned.is_empty())
    }

    fn known(&self, kind: &AtomKind) -> Option<AtomId> {
        if let Some(interned) = self.interned() {
            return interned.get(kind).copied();
        }
        let at = self.atoms.iter().skip(self.n_vars).position(|atom| atom.kind == *kind);
        at.map(|i| (i + self.n_vars) as AtomId)
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

    /// The variable that one is replaced by, both by flat number.
    pub(crate) fn stands_for(&self, flat: usize) -> usize {
        self.alias.get(flat).map_or(flat, |by| *by as usize)
    }

    /// Replaces a variable by an equal earlier one.
    pub(crate) fn replace(&mut self, flat: usize, by: usize) {
        if self.alias.is_empty() {
            self.alias.extend(0..self.n_vars as u32);
        }
        self.alias[flat] = by as u32;
    }

    /// The range of a value, where it is known to have 64 bits.
    fn range_of_kind(&mut self, kind: &AtomKind) -> Option<Range> {
        let mut interval = |form: &Linear| {
            let (lo, hi) = self.ends_of(form);
            Interval::between(lo, hi)
        };
        match kind {
            AtomKind::Var(i) => Some(self.atoms[*i as usize].range),
            AtomKind::Div(num, n) => interval(num).floor_div(Range::point(*n).into()).range(),
            AtomKind::Other(op, operands) => {
                let (a, b) = (interval(&operands.0), interval(&operands.1));
                let of_value = match op {
                    OtherOp::Product => a.times(b),
                    OtherOp::FloorDiv => a.floor_div(b),
                    OtherOp::Mod => a.floor_mod(b),
                    OtherOp::Min => a.min(b),
                    OtherOp::Max => a.max(b),
                };
                of_value.range()
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

    /// Whether a form is a sum of variables.
    pub(crate) fn is_plain(&self, form: &Linear) -> bool {
        form.terms.last().is_none_or(|t| (t.atom as usize) < self.n_vars)
    }

    /// Whether a form has a quotient among its terms.
    pub fn has_div(&self, form: &Linear) -> bool {
        // Variables have the smallest numbers, so that the last term decides most forms.
        !self.is_plain(form) && form.terms.iter().any(|t| self.as_div(t.atom).is_some())
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
