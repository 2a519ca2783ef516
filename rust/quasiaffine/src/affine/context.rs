//! The simplifier's context: every expression as an affine form over interned atoms.
//!
//! Extraction (`rules/extraction.rs`) writes forms back as expressions, with remainders if that is shorter. A context
//! lives for one call; nothing global grows.
//!
//! Forms of large nodes are remembered by address, since most trees do not repeat themselves. No context is kept for
//! the next call of a thread: its memory would stay in use after all maps are dropped.

use rustc_hash::FxHashMap;

pub use crate::affine::atoms::AtomKind;
use crate::affine::atoms::Atoms;
pub use crate::affine::budget::Budget;
use crate::affine::facts::{Fact, Facts, Residues};
use crate::affine::form::{AffineForm, AtomId};
use crate::affine::samples::Sample;
use crate::affine::stability::{Mark, Stability};
use crate::affine::written::{Extracted, Notes};
use crate::arithmetic::binary;
use crate::arithmetic::Binary;
use crate::domain::Domain;
use crate::error::Stop;
use crate::expr::{Accumulator, Expr, Kind, Var};
use crate::options::Options;
use crate::span::Interval;
use crate::table::Table;

/// The forms that large expressions share. Boxed, so that a context is cheap to make and drop.
#[derive(Default)]
pub(crate) struct SharedForms {
    /// The forms of shared nodes by address. The nodes are kept alive, so that no other node gets a remembered address.
    /// One table for each kind of reading, see [`Stability`].
    pub(crate) shared: [Table<usize, (Expr, AffineForm)>; 2],
    /// The expressions of extracted forms.
    extracted: Table<AffineForm, Extracted>,
}

/// The context of one simplification.
pub struct AffineContext {
    pub(crate) atoms: Atoms,
    /// The constraints of the domain.
    pub(crate) facts: Facts,
    /// The number of the first atom made under the current facts.
    pub(crate) first_under_facts: usize,
    /// The replacement of each variable, an equal earlier one or itself, by flat number; empty if none is replaced.
    pub(crate) alias: Vec<u32>,
    options: Options,
    /// The effort that is left, and the trace of the rules that fire, if one was requested.
    pub(crate) budget: Budget,
    /// The samples of the first atoms, see [`crate::affine::samples`]; `None` if a value does not fit.
    pub(crate) samples: Vec<Option<Sample>>,
    /// The results of earlier divisions.
    pub(crate) divs: Table<(i64, AffineForm), AffineForm>,
    pub(crate) shared_forms: Option<Box<SharedForms>>,
    pub(crate) stability: Stability,
    /// Forms that are 0 because a constraint has a single value: used in results, not in the constraints themselves.
    pub(crate) equalities: Vec<AffineForm>,
    /// The residues that constraints allow: used like equalities.
    pub(crate) residues: Vec<Residues>,
    /// Notes on everything written since this was last cleared.
    pub(crate) notes: Notes,
    /// Remainders are read as atoms, see [`crate::rules::remainder`].
    pub(crate) closes_remainders: bool,
}

impl AffineContext {
    /// Makes a context for expressions over a domain, ignoring its constraints.
    pub(crate) fn without_facts(domain: &Domain, options: Options, budget: Budget) -> AffineContext {
        let mut cx = AffineContext::with_capacity(domain.vars.len(), options, budget);
        cx.restart(domain);
        cx
    }

    /// Allocates a context for `n_vars` variables; [`AffineContext::restart`] gives it a domain.
    pub(crate) fn with_capacity(n_vars: usize, options: Options, budget: Budget) -> AffineContext {
        AffineContext {
            atoms: Atoms::with_room(n_vars),
            facts: Facts::default(),
            first_under_facts: 0,
            alias: Vec::new(),
            options,
            budget,
            samples: Vec::new(),
            divs: Table::default(),
            shared_forms: None,
            stability: Stability::default(),
            equalities: Vec::new(),
            residues: Vec::new(),
            notes: Notes::default(),
            closes_remainders: false,
        }
    }

    /// Makes a context for these variables, without facts, that reads remainders as atoms, see
    /// [`crate::rules::remainder`].
    pub(crate) fn closing_remainders(&self) -> AffineContext {
        let mut cx = AffineContext::with_capacity(0, self.options, self.budget.clone());
        cx.atoms = self.atoms.variables();
        cx.alias.clone_from(&self.alias);
        cx.first_under_facts = self.n_vars();
        cx.closes_remainders = true;
        cx
    }

    /// Restarts over a domain, without facts. The budget stays spent.
    pub(crate) fn restart(&mut self, domain: &Domain) {
        if self.atoms.len() > 0 {
            // Without atoms there is nothing to clear.
            self.samples.clear();
            self.facts.clear();
            self.divs.clear();
            self.shared_forms = None;
        }
        self.alias.clear();
        self.atoms.restart(domain);
        self.first_under_facts = self.n_vars();
        self.stability = Stability::default();
    }

    /// Forgets the visited atoms, and the remembered forms with them: those would be found without visiting any atom.
    pub(crate) fn forget_visited(&mut self) {
        self.stability = Stability::default();
        if let Some(forms) = &mut self.shared_forms {
            forms.shared[usize::from(true)].clear();
        }
    }

    /// Forgets the atoms visited since a mark, and the remembered forms.
    pub(crate) fn forget_visited_since(&mut self, to: Mark) {
        self.stability.truncate(to);
        if let Some(forms) = &mut self.shared_forms {
            forms.shared[usize::from(true)].clear();
        }
    }

    /// Whether every quotient has been visited since checking began.
    pub(crate) fn has_visited_all(&self) -> bool {
        self.stability.n_visited() == self.atoms.len() - self.n_vars()
    }

    /// Adds constraints to what is known beyond the ranges of the variables.
    pub(crate) fn add_facts(&mut self, known: impl IntoIterator<Item = (AffineForm, Interval)>) {
        let n = self.facts.len();
        self.facts.extend(known.into_iter().filter_map(|(mut form, interval)| {
            let interval = interval.minus(std::mem::take(&mut form.constant))?;
            (!form.terms.is_empty()).then_some(Fact { form, interval })
        }));
        if self.facts.len() > n {
            self.forget();
        }
    }

    /// Forgets all facts and what depended on them.
    pub(crate) fn clear_facts(&mut self) {
        self.facts.clear();
        self.forget();
    }

    /// Sets the equalities and the residues, and forgets the expressions written with others.
    pub(crate) fn set_equalities(&mut self, equalities: Vec<AffineForm>, residues: Vec<Residues>) {
        (self.equalities, self.residues) = (equalities, residues);
        self.forget_written();
    }

    fn forget_written(&mut self) {
        if let Some(forms) = &mut self.shared_forms {
            forms.extracted.clear();
        }
        self.atoms.forget_written();
    }

    /// Forgets forms, divisions and expressions from other facts: under the current ones they could differ.
    fn forget(&mut self) {
        self.divs.clear();
        self.forget_written();
        if let Some(forms) = &mut self.shared_forms {
            forms.shared.iter_mut().for_each(Table::clear);
        }
        self.first_under_facts = self.atoms.len();
    }

    /// Interns an atom: returns the earlier one of its kind, or adds one with the given or computed interval.
    ///
    /// # Errors
    /// [`Stop::Overflow`] if the value is not known to fit in 64 bits: such a value is not an atom, and no law sees it.
    pub(crate) fn intern(&mut self, kind: AtomKind, interval: Option<Interval>) -> Result<AtomId, Stop> {
        let id = match self.atoms.known(&kind) {
            Some(id) => id,
            None => {
                let interval = interval.or_else(|| self.range_of_kind(&kind)).ok_or(Stop::Overflow)?;
                self.atoms.add(kind, interval)
            }
        };
        if self.stability.checks {
            self.stability.meet(id);
        }
        Ok(id)
    }

    /// The value that an atom stands for.
    pub(crate) fn kind(&self, atom: AtomId) -> &AtomKind {
        &self.atoms.get(atom).kind
    }

    /// The values of an atom over the domain.
    pub(crate) fn atom_range(&self, atom: AtomId) -> Interval {
        self.atoms.get(atom).interval
    }

    /// The nesting depth of atoms; 0 for a variable.
    pub(crate) fn depth(&self, atom: AtomId) -> u32 {
        self.atoms.get(atom).depth
    }

    /// The number of variables, which are the first atoms.
    pub(crate) fn n_vars(&self) -> usize {
        self.atoms.n_vars()
    }

    pub(crate) fn is_var(&self, atom: AtomId) -> bool {
        (atom as usize) < self.n_vars()
    }

    /// The flat number of a variable.
    pub(crate) fn flat(&self, v: Var) -> usize {
        self.atoms.flat(v)
    }

    /// The variable with a flat number.
    pub(crate) fn var(&self, flat: usize) -> Var {
        self.atoms.var(flat)
    }

    /// The values of a variable over the domain.
    pub(crate) fn range_of_var(&self, v: Var) -> Interval {
        self.atom_range(self.flat(v) as AtomId)
    }

    /// The remembered extraction of a form; forms are remembered once there are many atoms.
    pub(crate) fn written(&self, form: &AffineForm) -> Option<&Extracted> {
        self.shared_forms.as_ref().and_then(|forms| forms.extracted.get(form))
    }

    /// Remembers the extraction of a form.
    pub(crate) fn remember_form(&mut self, form: &AffineForm, done: Extracted) {
        self.shared_forms.get_or_insert_default().extracted.insert(form.clone(), done);
    }

    /// Replaces the facts by these constraints.
    pub(crate) fn set_facts(&mut self, known: &[(AffineForm, Interval)]) {
        self.clear_facts();
        self.facts.extend(known.iter().map(|(form, interval)| Fact { form: form.clone(), interval: *interval }));
    }

    pub(crate) fn has_facts(&self) -> bool {
        !self.facts.is_empty()
    }

    pub(crate) fn has_equalities(&self) -> bool {
        !self.equalities.is_empty()
    }

    /// Whether a variable with a single value stays a variable.
    pub(crate) fn keeps(&self, v: Var) -> bool {
        self.options.keep_point_dims && v.kind == Kind::Dim
    }

    pub(crate) fn traces(&self) -> bool {
        self.budget.trace.is_some()
    }

    /// Writes a form as an expression term by term, without folding. `None` if a number does not fit.
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
                None => match self.kind(t.atom) {
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

    /// The variable that replaces this one, both by flat number.
    pub(crate) fn alias_of(&self, flat: usize) -> usize {
        self.alias.get(flat).map_or(flat, |by| *by as usize)
    }

    /// Replaces a variable by an equal earlier one.
    pub(crate) fn replace(&mut self, flat: usize, by: usize) {
        if self.alias.is_empty() {
            self.alias.extend(0..self.n_vars() as u32);
        }
        self.alias[flat] = by as u32;
    }

    /// The interval of a value, if it is known to have 64 bits.
    fn range_of_kind(&mut self, kind: &AtomKind) -> Option<Interval> {
        let mut interval = |form: &AffineForm| self.ends_of(form);
        match kind {
            AtomKind::Var(i) => Some(self.atom_range(*i)),
            AtomKind::Div(num, n) => binary(Binary::FloorDiv, interval(num), Interval::point(*n).into()).interval(),
            AtomKind::Other(op, operands) => {
                let (a, b) = (interval(&operands.0), interval(&operands.1));
                binary(*op, a, b).interval()
            }
        }
    }

    /// The numerator and the divisor of an atom that is a quotient.
    pub fn as_div(&self, atom: AtomId) -> Option<(&AffineForm, i64)> {
        match self.kind(atom) {
            AtomKind::Div(num, n) => Some((num, *n)),
            _ => None,
        }
    }

    /// The dividend and the modulus of an atom that is a remainder by a constant.
    pub(crate) fn as_mod(&self, atom: AtomId) -> Option<(&AffineForm, i64)> {
        match self.kind(atom) {
            AtomKind::Other(Binary::Mod, operands) => Some((&operands.0, operands.1.as_const()?)),
            _ => None,
        }
    }

    /// Whether a form is a sum of variables.
    pub(crate) fn is_plain(&self, form: &AffineForm) -> bool {
        form.terms.last().is_none_or(|t| self.is_var(t.atom))
    }

    /// Whether a form has a quotient among its terms.
    pub fn has_div(&self, form: &AffineForm) -> bool {
        // Variables have the smallest numbers, so that the last term decides most forms.
        !self.is_plain(form) && form.terms.iter().any(|t| self.as_div(t.atom).is_some())
    }

    /// Whether the shortcuts of [`crate::fast_path`] are taken.
    pub(crate) fn uses_fast_path(&self) -> bool {
        !self.options.rules_only
    }

    /// Spends the effort of examining `n` terms.
    ///
    /// # Errors
    /// [`Stop::Effort`] if no effort is left.
    pub(crate) fn spend(&mut self, n: usize) -> Result<(), Stop> {
        self.budget.meter.spend(n)
    }
}
