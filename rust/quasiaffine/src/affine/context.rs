//! The simplifier's context: every expression as an affine form over interned atoms.
//!
//! Read [`AffineContext`]. In an affine form a remainder does not exist: `x mod n` is `x - n * (x floordiv n)`. So divs and
//! remainders of one value cancel and combine by plain addition, and the number of floor divisions in a form is the smallest
//! that its terms allow. [`mod@crate::simplify`] writes forms back as expressions and brings the remainders back where they are
//! shorter. A context lives for one call; nothing global grows.
//!
//! Forms of large nodes are remembered by address; by what the nodes say, most sets take 1 % more, though trees that repeat
//! themselves take less. A context that its thread keeps for the next call saves 1 to 2 % of the instructions of hard maps,
//! and would leave room in use when all maps are gone; so none is kept. With mimalloc in place of the system's allocator, five
//! sets of simplifications and compositions took between 6 % less and 11 % more time, in two runs.

use crate::interrupt::look;
use rustc_hash::FxHashMap;

use crate::affine::form::{AffineForm, AtomId};
use crate::affine::stability::{Mark, Stability};
use crate::affine::table::Table;
use crate::analysis::interval::Interval;
use crate::analysis::samples::Sample;
use crate::analysis::wide_interval::{interval, WideInterval};
use crate::error::{Error, Stop};
use crate::expr::{Accumulator, Expr, Kind, Op, Var};
use crate::fast_path::div_of_div::nested;
use crate::fast_path::div_of_variables::{add_div_of_variables, no_rule_applies};
use crate::int;
use crate::map::domain::{Constraint, Domain, Variable};
use crate::rules::extraction::{Extracted, Notes};
use crate::rules::{self, Rule};
use crate::simplify::options::{FastPath, Options};
use crate::simplify::trace::{Statement, Trace};

/// What an atom stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AtomKind {
    /// A variable, by its flat number.
    Var(u32),
    /// `numerator floordiv divisor` with `divisor >= 2`.
    Div(AffineForm, i64),
    /// An operation on two forms of which nothing more is known.
    Other(NonlinearOp, Box<(AffineForm, AffineForm)>),
}

/// The operations that stay closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NonlinearOp {
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

impl NonlinearOp {
    /// The operation as an expression.
    pub(crate) fn of(self, a: &Expr, b: &Expr) -> Result<Expr, Error> {
        match self {
            NonlinearOp::Product => a.mul(b),
            NonlinearOp::FloorDiv => a.floor_div(b),
            NonlinearOp::Mod => a.floor_mod(b),
            NonlinearOp::Min => a.minimum(b),
            NonlinearOp::Max => a.maximum(b),
        }
    }
}

/// An atom with its interval.
#[derive(Clone, Debug)]
pub struct Atom {
    /// What it stands for.
    pub kind: AtomKind,
    /// Its values over the domain.
    pub interval: Interval,
    /// How many atoms stand in one another; 0 for a variable.
    pub depth: u32,
    /// The same number in every context, see [`crate::affine::order`].
    pub(crate) fingerprint: u64,
    /// The atom as an expression, once it has been written.
    pub(crate) extracted: Option<Expr>,
    /// Whether it was written under other facts, so that it could come out otherwise now.
    pub(crate) is_stale: bool,
}

/// A constraint of the domain as a fact: the form lies in the interval.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The form; its constant is 0.
    pub form: AffineForm,
    /// Its values.
    pub interval: Interval,
}

/// What only large expressions need: boxed, so that a context is quickly made and dropped.
#[derive(Default)]
pub(crate) struct Large {
    /// Numbers by kind, once there are more atoms than are quickly looked through.
    interned: FxHashMap<AtomKind, AtomId>,
    /// The forms of shared nodes, by address, with the nodes: no other one gets an address that is remembered. Apart for the
    /// two kinds of reading, see [`Stability`].
    shared: [Table<usize, (Expr, AffineForm)>; 2],
    /// Forms that have been written.
    pub(crate) extracted: Table<AffineForm, Extracted>,
}

/// The context of one simplification.
pub struct AffineContext {
    /// How many variables there are. They are the first atoms.
    pub(crate) n_vars: usize,
    pub(crate) atoms: Vec<Atom>,
    pub(crate) facts: Vec<Fact>,
    /// The number of the first atom that was made under these facts.
    first_under_facts: usize,
    /// What each variable is replaced by, an equal earlier one or itself, by flat number; nothing where none is replaced.
    pub(crate) alias: Vec<u32>,
    pub(crate) options: Options,
    pub(crate) budget: Budget,
    /// The samples of the first atoms, see [`crate::analysis::samples`]; nothing where a value does not fit.
    pub(crate) samples: Vec<Option<Sample>>,
    n_dims: u32,
    n_ranges: u32,
    /// Divisions that have been done.
    divs: Table<(i64, AffineForm), AffineForm>,
    pub(crate) large: Option<Box<Large>>,
    pub(crate) stability: Stability,
    /// Forms that are 0 by constraints with a single value: used in results, and not in the constraints themselves.
    pub(crate) equalities: Vec<AffineForm>,
    /// What is known of what was written since this was last cleared.
    pub(crate) notes: Notes,
    /// Remainders are read as atoms, see [`rules::remainder`].
    pub(crate) closes_remainders: bool,
}

/// The largest expression whose interval is worked out.
const INTERVAL_NODES: u32 = 4096;

/// Shared nodes that are smaller are read again: that is quicker than to remember them.
const SMALL: u32 = 16;

/// Up to so many divs are looked through one by one.
const FEW_ATOMS: usize = 24;

/// The effort after which an interrupt is looked for, a power of two.
const LOOK_AFTER: u32 = 1 << 13;

/// What a simplification may still spend, over all its contexts, and the record of what it did.
#[derive(Clone, Debug)]
pub struct Budget {
    /// How many terms may still be looked at. Past that everything stays as it is.
    pub effort: u32,
    /// The rules that fired, where somebody asks.
    pub trace: Option<Trace>,
}

impl Budget {
    /// Some ten milliseconds, a thousand times what maps of programs take.
    pub const EFFORT: u32 = 2_000_000;
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { effort: Budget::EFFORT, trace: None }
    }
}

impl AffineContext {
    /// The context for expressions over a domain, with its constraints as facts.
    pub fn new(domain: &Domain) -> AffineContext {
        let mut cx = AffineContext::without_facts(domain, Options::default(), Budget::default());
        for Constraint { expr, interval } in &domain.constraints {
            // A constraint that cannot be written in 64 bits is a fact that is not used.
            if let Ok(form) = cx.linear(expr) {
                cx.add_fact(form, *interval);
            }
        }
        cx
    }

    /// The context for expressions over a domain whose constraints do not count.
    pub(crate) fn without_facts(domain: &Domain, options: Options, budget: Budget) -> AffineContext {
        let mut cx = AffineContext::idle(domain.vars.len(), options, budget);
        cx.restart(domain);
        cx
    }

    /// A context that has yet to be started over some domain of so many variables.
    pub(crate) fn idle(n_vars: usize, options: Options, budget: Budget) -> AffineContext {
        AffineContext {
            n_vars: 0,
            // With few variables small enough for the allocator's quick bins: room for 16 costs hard expressions 2 %.
            atoms: Vec::with_capacity(n_vars + 3),
            facts: Vec::new(),
            first_under_facts: 0,
            alias: Vec::new(),
            options,
            budget,
            samples: Vec::new(),
            n_dims: 0,
            n_ranges: 0,
            divs: Table::default(),
            large: None,
            stability: Stability::default(),
            equalities: Vec::new(),
            notes: Notes::default(),
            closes_remainders: false,
        }
    }

    /// A context for the same variables, without facts, that reads remainders as atoms, see [`rules::remainder`].
    pub(crate) fn closing_remainders(&self) -> AffineContext {
        let mut cx = AffineContext::idle(self.n_vars, self.options, self.budget.clone());
        cx.n_vars = self.n_vars;
        cx.atoms.extend_from_slice(&self.atoms[..self.n_vars]);
        cx.alias.clone_from(&self.alias);
        cx.first_under_facts = self.n_vars;
        (cx.n_dims, cx.n_ranges) = (self.n_dims, self.n_ranges);
        cx.closes_remainders = true;
        cx
    }

    /// Starts anew over a domain, without facts. What it has spent stays spent.
    pub(crate) fn restart(&mut self, domain: &Domain) {
        let n = domain.vars.len();
        if !self.atoms.is_empty() {
            // Nothing is remembered where there was no atom.
            self.atoms.clear();
            self.samples.clear();
            self.facts.clear();
            self.divs.clear();
            self.large = None;
        }
        self.n_vars = n;
        self.alias.clear();
        self.atoms.extend((0..n as u32).zip(&domain.vars).map(|(flat, v)| Atom {
            kind: AtomKind::Var(flat),
            fingerprint: u64::from(flat) + 1,
            interval: v.interval,
            depth: 0,
            extracted: None,
            is_stale: false,
        }));
        self.first_under_facts = n;
        (self.n_dims, self.n_ranges) = (domain.n_dims as u32, domain.n_ranges as u32);
        self.stability = Stability::default();
    }

    /// The ranges of the variables, without anything that relates them.
    pub(crate) fn the_box(&self) -> Domain {
        let vars = self.atoms[..self.n_vars].iter().map(|atom| Variable::new(atom.interval)).collect();
        Domain { vars, n_dims: self.n_dims as usize, n_ranges: self.n_ranges as usize, constraints: Vec::new() }
    }

    /// Forgets what has been met. Forms that are remembered go with it: they would be found without meeting anything.
    pub(crate) fn read_anew(&mut self) {
        self.stability = Stability::default();
        if let Some(large) = &mut self.large {
            large.shared[usize::from(true)].clear();
        }
    }

    /// Forgets what has been met since then.
    pub(crate) fn unread(&mut self, to: Mark) {
        self.stability.back_to(to);
        if let Some(large) = &mut self.large {
            large.shared[usize::from(true)].clear();
        }
    }

    /// Whether every quotient has been met since expressions are read to be checked.
    pub(crate) fn has_met_all(&self) -> bool {
        self.stability.n_met() == self.atoms.len() - self.n_vars
    }

    pub(crate) fn add_fact(&mut self, mut form: AffineForm, interval: Interval) {
        let shift = -i128::from(form.constant);
        form.constant = 0;
        let interval = Interval::exact(i128::from(interval.lo) + shift, i128::from(interval.hi) + shift);
        if let (false, Some(interval)) = (form.terms.is_empty(), interval) {
            self.facts.push(Fact { form, interval });
            self.forget();
        }
    }

    /// The interval of an expression over the domain.
    pub(crate) fn interval(&mut self, e: &Expr) -> WideInterval {
        let by_nodes = interval(&|v| self.atoms[self.flat(v)].interval, e, INTERVAL_NODES);
        match self.linear(e) {
            Ok(form) => {
                let (lo, hi) = self.ends_of(&form);
                WideInterval { lo, hi }.intersect(by_nodes)
            }
            Err(_) => by_nodes,
        }
    }

    /// The interval of an expression over the domain; `None` where it is not known to have 64 bits.
    pub fn bounds(&mut self, e: &Expr) -> Option<Interval> {
        let WideInterval { lo, hi } = self.interval(e);
        // The ends of no value are in no order.
        if lo > hi {
            Some(Interval::EMPTY)
        } else {
            Interval::exact(lo, hi)
        }
    }

    /// An expression as an affine form, with every law for divs applied on the way up.
    ///
    /// # Errors
    /// [`Stop::Overflow`] where a coefficient does not fit; the expression then stays as it is.
    pub fn linear(&mut self, e: &Expr) -> Result<AffineForm, Stop> {
        let mut out = AffineForm::default();
        self.add_expr(1, e, &mut out)?;
        Ok(out)
    }

    /// `out += factor * e`
    fn add_expr(&mut self, factor: i64, e: &Expr, out: &mut AffineForm) -> Result<(), Stop> {
        let node = match e {
            Expr::Const(c) => return out.add_constant(factor, *c),
            Expr::Var(v) => return self.add_variable(factor, *v, out),
            Expr::Node(node) => node,
        };
        let Some(op) = e.op() else { return Ok(()) };
        if e.nodes() < SMALL {
            return self.add_op(factor, op, out);
        }
        let (is_shared, is_all) =
            (std::sync::Arc::strong_count(node) > 1, factor == 1 && *out == AffineForm::default());
        if is_all && !is_shared {
            return self.add_op(factor, op, out);
        }
        let (table, key) = (usize::from(self.stability.checks), std::sync::Arc::as_ptr(node) as usize);
        let known = self.large.as_ref().filter(|_| is_shared).and_then(|large| large.shared[table].get(&key));
        if let Some((_, form)) = known {
            return out.add_scaled(factor, form);
        }
        // Shared or not, the form is made by itself: what does not fit into 64 bits must not depend on who holds the node.
        let mut form = AffineForm::default();
        self.add_op(1, op, &mut form)?;
        out.add_scaled(factor, &form)?;
        if is_shared {
            self.large.get_or_insert_default().shared[table].insert(key, (e.clone(), form));
        }
        Ok(())
    }

    /// `out += factor * op`
    fn add_op(&mut self, factor: i64, op: &Op, out: &mut AffineForm) -> Result<(), Stop> {
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
                let mut a = AffineForm::default();
                self.add_expr(1, e, &mut a)?;
                if self.closes_remainders && !self.is_plain(&a) {
                    rules::remainder::cancel(self, &mut a)?;
                    let mut quotient = self.floor_div(a, *n)?;
                    rules::remainder::digits(self, &mut quotient)?;
                    return out.add_scaled(factor, &quotient);
                }
                return self.add_div(factor, a, *n, out);
            }
            Op::Mod(e, Expr::Const(n)) if *n >= 1 => {
                let mut a = AffineForm::default();
                self.add_expr(1, e, &mut a)?;
                if self.closes_remainders && *n >= 2 {
                    if !self.is_plain(&a) {
                        rules::remainder::cancel(self, &mut a)?;
                    }
                    let remainder = rules::remainder::floor_mod(self, a, *n)?;
                    return out.add_scaled(factor, &remainder);
                }
                out.add_scaled(factor, &a)?;
                self.fired(Rule::ExpandMod, |cx| {
                    let remainder = e.floor_mod(&Expr::Const(*n)).map_or(Statement::Unprintable, Statement::Value);
                    (vec![remainder], vec![cx.remainder(&a, *n)])
                });
                return self.add_div(int::mul(factor, -n)?, a, *n, out);
            }
            Op::FloorDiv(a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                match b.as_const() {
                    Some(n) if n >= 1 => self.floor_div(a, n)?,
                    _ => rules::nonlinear::floor_div(self, a, b)?,
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
                    _ => rules::nonlinear::floor_mod(self, a, b)?,
                }
            }
            Op::Product(a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                rules::nonlinear::product(self, a, b)?
            }
            Op::Min(a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                rules::nonlinear::min(self, a, b)?
            }
            Op::Max(a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                rules::nonlinear::max(self, a, b)?
            }
        };
        self.spend(form.terms.len())?;
        out.add_scaled(factor, &form)
    }

    pub(crate) fn add_variable(&mut self, factor: i64, v: Var, out: &mut AffineForm) -> Result<(), Stop> {
        let flat = self.stands_for(self.flat(v));
        match self.atoms[flat].interval.as_point() {
            Some(value) if !(self.options.keep_point_dims && v.kind == Kind::Dim) => {
                self.fired(Rule::PointVariable, |_| {
                    (vec![Statement::Value(Expr::Var(v))], vec![Statement::Value(Expr::Const(value))])
                });
                out.add_constant(factor, value)
            }
            _ => out.add_term(factor, flat as AtomId),
        }
    }

    /// `form floordiv n` for `n >= 1`, by the laws of [`rules::div`].
    pub fn floor_div(&mut self, form: AffineForm, n: i64) -> Result<AffineForm, Stop> {
        let mut out = AffineForm::default();
        self.add_div(1, form, n, &mut out)?;
        Ok(out)
    }

    /// `out += factor * (form floordiv n)` for `n >= 1`
    pub(crate) fn add_div(&mut self, factor: i64, form: AffineForm, n: i64, out: &mut AffineForm) -> Result<(), Stop> {
        if let Some(value) = form.as_const() {
            return out.add_constant(factor, int::floor_div(value, n));
        }
        if n == 1 {
            return out.add_scaled(factor, &form);
        }
        // No law changes the numerator of a quotient that was made under the same facts.
        if let Some(atom) = self.known_div(&form, n, self.first_under_facts) {
            if self.stability.checks {
                self.stability.meet(atom);
            }
            return out.add_term(factor, atom);
        }
        if self.takes_shortcuts() {
            if let Some(interval) = no_rule_applies(self, &form, n) {
                self.spend(form.terms.len())?;
                let atom = self.intern_div(form, interval, n);
                return out.add_term(factor, atom);
            }
            if add_div_of_variables(self, factor, &form, n, out)? {
                return Ok(());
            }
            if let Some((numerator, n)) = nested(self, &form, n) {
                return self.add_div(factor, numerator, n, out);
            }
        }
        let key = (n, form);
        if let Some(done) = self.divs.get(&key) {
            if self.stability.checks {
                done.terms.iter().filter(|t| t.atom as usize >= self.n_vars).for_each(|t| self.stability.meet(t.atom));
            }
            return out.add_scaled(factor, done);
        }
        let quotient = rules::div::floor_div(self, key.1.clone(), n)?;
        out.add_scaled(factor, &quotient)?;
        self.divs.insert(key, quotient);
        Ok(())
    }

    /// Starts anew with what is known beyond the ranges of the variables.
    pub(crate) fn clear_facts(&mut self) {
        self.facts.clear();
        self.forget();
    }

    /// What has been written with other equalities could come out otherwise.
    pub(crate) fn set_equalities(&mut self, equalities: Vec<AffineForm>) {
        self.equalities = equalities;
        self.forget_written();
    }

    fn forget_written(&mut self) {
        if let Some(large) = &mut self.large {
            large.extracted.clear();
        }
        self.atoms.iter_mut().for_each(|atom| atom.is_stale = true);
    }

    /// What has been read and divided under other facts could come out otherwise.
    fn forget(&mut self) {
        self.divs.clear();
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
        let interval = self.range_of_kind(&kind).ok_or(Stop::Overflow)?;
        Ok(self.add_atom(kind, interval))
    }

    /// An atom that is met again.
    fn met(&mut self, id: AtomId) -> AtomId {
        if self.stability.checks {
            self.stability.meet(id);
        }
        id
    }

    /// The quotient of a form with a known interval: an earlier one where it is known, a new one otherwise.
    pub(crate) fn intern_div(&mut self, num: AffineForm, of_num: Interval, n: i64) -> AtomId {
        if self.interned().is_some() {
            let kind = AtomKind::Div(num, n);
            return match self.known(&kind) {
                Some(id) => self.met(id),
                None => self.add_atom(kind, of_num.floor_div(n)),
            };
        }
        match self.known_div(&num, n, self.n_vars) {
            Some(id) => self.met(id),
            None => self.add_atom(AtomKind::Div(num, n), of_num.floor_div(n)),
        }
    }

    /// The remainder of a form as an atom.
    pub(crate) fn intern_mod(&mut self, form: AffineForm, n: i64) -> AtomId {
        let kind = AtomKind::Other(NonlinearOp::Mod, Box::new((form, AffineForm::constant(n))));
        match self.known(&kind) {
            Some(id) => self.met(id),
            None => self.add_atom(kind, Interval::new(0, n - 1)),
        }
    }

    /// The quotient among the first atoms from a number on.
    fn known_div(&self, num: &AffineForm, n: i64, from: usize) -> Option<AtomId> {
        let atoms = self.atoms.iter().enumerate().take(self.n_vars + FEW_ATOMS).skip(from);
        let mut equal = atoms.filter(|(_, atom)| matches!(&atom.kind, AtomKind::Div(y, m) if *m == n && y == num));
        equal.next().map(|(id, _)| id as AtomId)
    }

    fn add_atom(&mut self, kind: AtomKind, interval: Interval) -> AtomId {
        let id = self.atoms.len() as AtomId;
        if self.atoms.len() - self.n_vars >= FEW_ATOMS {
            let interned = &mut self.large.get_or_insert_default().interned;
            if interned.is_empty() {
                let earlier = self.atoms.iter().enumerate().skip(self.n_vars);
                interned.extend(earlier.map(|(id, atom)| (atom.kind.clone(), id as AtomId)));
            }
            interned.insert(kind.clone(), id);
        }
        let deepest =
            |form: &AffineForm| form.terms.iter().map(|t| self.atoms[t.atom as usize].depth).max().unwrap_or(0);
        let depth = match &kind {
            AtomKind::Var(_) => 0,
            AtomKind::Div(num, _) => 1 + deepest(num),
            AtomKind::Other(_, operands) => 1 + deepest(&operands.0).max(deepest(&operands.1)),
        };
        let fingerprint = self.fingerprint_of(&kind);
        self.atoms.push(Atom { kind, interval, depth, fingerprint, extracted: None, is_stale: false });
        if self.stability.checks {
            self.stability.meet(id);
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

    /// A form as an expression term by term, as it stands: nothing is folded. `None` where that does not fit.
    pub(crate) fn spelled_out(&self, form: &AffineForm) -> Option<Expr> {
        let mut done: FxHashMap<AtomId, Expr> = FxHashMap::default();
        self.spelled_out_once(form, &mut done)
    }

    fn spelled_out_once(&self, form: &AffineForm, done: &mut FxHashMap<AtomId, Expr>) -> Option<Expr> {
        let mut sum = Accumulator::default();
        sum.add(1, &Expr::Const(form.constant)).ok()?;
        for t in &form.terms {
            let expr = match done.get(&t.atom) {
                Some(expr) => expr.clone(),
                None => match &self.atoms[t.atom as usize].kind {
                    AtomKind::Var(flat) => Expr::Var(self.var(*flat as usize)),
                    AtomKind::Div(num, n) => self.spelled_out_once(num, done)?.floor_div(&Expr::Const(*n)).ok()?,
                    AtomKind::Other(op, operands) => {
                        let (a, b) = &**operands;
                        op.of(&self.spelled_out_once(a, done)?, &self.spelled_out_once(b, done)?).ok()?
                    }
                },
            };
            sum.add(t.coefficient, &expr).ok()?;
            done.insert(t.atom, expr);
        }
        sum.finish().ok()
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

    /// The interval of a value, where it is known to have 64 bits.
    fn range_of_kind(&mut self, kind: &AtomKind) -> Option<Interval> {
        let mut interval = |form: &AffineForm| {
            let (lo, hi) = self.ends_of(form);
            WideInterval::between(lo, hi)
        };
        match kind {
            AtomKind::Var(i) => Some(self.atoms[*i as usize].interval),
            AtomKind::Div(num, n) => interval(num).floor_div(Interval::point(*n).into()).interval(),
            AtomKind::Other(op, operands) => {
                let (a, b) = (interval(&operands.0), interval(&operands.1));
                let of_value = match op {
                    NonlinearOp::Product => a.times(b),
                    NonlinearOp::FloorDiv => a.floor_div(b),
                    NonlinearOp::Mod => a.floor_mod(b),
                    NonlinearOp::Min => a.min(b),
                    NonlinearOp::Max => a.max(b),
                };
                of_value.interval()
            }
        }
    }

    /// The numerator and the divisor of an atom that is a quotient.
    pub fn as_div(&self, atom: AtomId) -> Option<(&AffineForm, i64)> {
        match &self.atoms[atom as usize].kind {
            AtomKind::Div(num, n) => Some((num, *n)),
            _ => None,
        }
    }

    /// The dividend and the modulus of an atom that is a remainder by a constant.
    pub(crate) fn as_mod(&self, atom: AtomId) -> Option<(&AffineForm, i64)> {
        match &self.atoms[atom as usize].kind {
            AtomKind::Other(NonlinearOp::Mod, operands) => Some((&operands.0, operands.1.as_const()?)),
            _ => None,
        }
    }

    /// Whether a form is a sum of variables.
    pub(crate) fn is_plain(&self, form: &AffineForm) -> bool {
        form.terms.last().is_none_or(|t| (t.atom as usize) < self.n_vars)
    }

    /// Whether a form has a quotient among its terms.
    pub fn has_div(&self, form: &AffineForm) -> bool {
        // Variables have the smallest numbers, so that the last term decides most forms.
        !self.is_plain(form) && form.terms.iter().any(|t| self.as_div(t.atom).is_some())
    }

    /// Whether the shortcuts of [`crate::fast_path`] are taken.
    pub(crate) fn takes_shortcuts(&self) -> bool {
        self.options.fast_path == FastPath::On
    }

    /// Spends effort on looking at `n` terms.
    ///
    /// # Errors
    /// [`Stop::Effort`] where none is left.
    pub(crate) fn spend(&mut self, n: usize) -> Result<(), Stop> {
        match self.budget.effort.checked_sub(u32::try_from(n + 1).unwrap_or(u32::MAX)) {
            Some(left) => {
                if (left ^ self.budget.effort) >= LOOK_AFTER {
                    look();
                }
                self.budget.effort = left;
                Ok(())
            }
            None => {
                self.budget.effort = 0;
                Err(Stop::Effort)
            }
        }
    }
}
