//! The domain of a map: its variables with their ranges, and constraints on expressions of them.
//!
//! Variables are numbered flat: dimensions, then ranges, then runtime variables. A constraint on a bare dimension or
//! range variable is part of that variable's interval, never of the list. The interval of a runtime variable is the
//! clamp of the operation that reads it, and so part of what it is: a constraint on it stays a constraint.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::expr::{Expr, Kind, Var};
use crate::list::List;
use crate::span::Interval;
use crate::span::WideInterval;

/// The source of a runtime variable's value: an opaque number, and the index into that value.
///
/// ```
/// use std::sync::Arc;
/// use quasiaffine::{Domain, Expr, Interval, Map, Source, Variable};
/// // Element d0 of value 7 is an offset between 0 and 5.
/// let source = Source { id: 7, index: [Expr::dim(0)].into_iter().collect() };
/// let offset = Variable { source: Some(Arc::new(source)), ..Variable::new(Interval::new(0, 5)) };
/// let mut domain = Domain::of_sizes(&[3]);
/// domain.vars.push(offset);
/// let map = Map::new(domain, [Expr::runtime(0)])?;
/// assert_eq!(map.to_string(), "(d0){rt0} -> (rt0), domain: d0 in [0, 2], rt0 in [0, 5], runtime: rt0 = #7(d0)");
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The number of the value; only the layer above knows its meaning.
    pub id: i64,
    /// The index into it: expressions of dimensions, ranges and earlier runtime variables.
    pub index: List<Expr, 2>,
}

/// A variable of a domain.
///
/// ```
/// use quasiaffine::{Domain, Expr, Interval, Map, Variable};
/// let row = Variable { name: Some("row".into()), ..Variable::new(Interval::new(0, 7)) };
/// let domain = Domain { vars: [row].into_iter().collect(), n_dims: 1, ..Domain::default() };
/// assert_eq!(Map::identity(domain)?.to_string(), "(row) -> (row), domain: row in [0, 7]");
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name; without one the variable prints as `d0`, `s0` or `rt0`.
    pub name: Option<Arc<str>>,
    /// Its values.
    pub interval: Interval,
    /// The source of a runtime variable; without one the variable equals no other.
    pub source: Option<Arc<Source>>,
}

impl Variable {
    /// A variable without a name or a source.
    pub const fn new(interval: Interval) -> Variable {
        Variable { name: None, interval, source: None }
    }

    /// The index into the source; empty without a source.
    pub fn index(&self) -> &[Expr] {
        self.source.as_ref().map_or(&[], |source| &source.index)
    }

    /// Whether a runtime variable is one number: its source is known and its index does not move.
    pub(crate) fn is_fixed(&self) -> bool {
        self.source.is_some() && self.index().iter().all(|e| e.as_const().is_some())
    }

    /// Makes a change to every expression of the index.
    pub(crate) fn change_index(&mut self, change: &dyn Fn(&Expr) -> Result<Expr>) -> Result<()> {
        if let Some(source) = &self.source {
            let index = source.index.iter().map(change).collect::<Result<_>>()?;
            self.source = Some(Arc::new(Source { id: source.id, index }));
        }
        Ok(())
    }
}

/// `expr in interval`.
///
/// ```
/// use quasiaffine::{Constraint, Domain, Expr, Interval, Map};
/// let mut domain = Domain::of_sizes(&[8, 8]);
/// let sum = Expr::dim(0).add(&Expr::dim(1))?;
/// domain.constraints.push(Constraint { expr: sum, interval: Interval::new(0, 7) });
/// assert_eq!(Map::identity(domain)?.to_string(), "(d0, d1) -> (d0, d1), domain: d0 in [0, 7], d1 in [0, 7], d0 + d1 in [0, 7]");
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Constraint {
    /// The constrained expression: not a constant, and not a bare dimension or range variable.
    pub expr: Expr,
    /// Its allowed values.
    pub interval: Interval,
}

impl Constraint {
    /// The values that the constraint leaves to an expression, if it constrains it or its negative, up to a constant.
    pub(crate) fn on(&self, e: &Expr) -> Option<Interval> {
        let of = |rest: Expr, sign: i64| {
            let moved =
                WideInterval::from(self.interval).plus(WideInterval::from(Interval::point(rest.as_const()?)).scale(-1));
            moved.scale(sign).interval()
        };
        of(self.expr.sub(e).ok()?, 1).or_else(|| of(self.expr.add(e).ok()?, -1))
    }
}

/// Variables and constraints.
///
/// ```
/// use quasiaffine::{Map, Var};
/// let map: Map = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 9], s0 in [0, 2]".parse()?;
/// let domain = map.domain();
/// assert_eq!((domain.n_dims, domain.n_ranges, domain.n_runtime()), (1, 1, 0));
/// assert_eq!((domain.flat(Var::named("s0").unwrap()), domain.flat(Var::named("s1").unwrap())), (Some(1), None));
/// assert_eq!(domain.ranges()[0].interval.size(), 3);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Domain {
    /// All variables, flat.
    pub vars: List<Variable, 6>,
    /// The number of dimensions.
    pub n_dims: usize,
    /// The number of ranges; the rest are runtime variables.
    pub n_ranges: usize,
    /// Constraints in [`Expr`] order, one for each expression.
    pub constraints: Vec<Constraint>,
}

/// The emptiness of a new domain, as far as each constraint shows it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emptiness {
    /// An interval is empty or a constant lies outside its bounds.
    Empty,
    /// Nothing is known without looking deeper.
    Open,
}

impl Domain {
    /// A domain of dimensions alone, each in `[0, size - 1]`.
    ///
    /// ```
    /// use quasiaffine::{Domain, Interval};
    /// let domain = Domain::of_sizes(&[8, 3]);
    /// assert_eq!((domain.n_dims, domain.dims()[1].interval), (2, Interval::new(0, 2)));
    /// ```
    pub fn of_sizes(sizes: &[i64]) -> Domain {
        Domain {
            vars: sizes.iter().map(|&n| Variable::new(Interval::new(0, n.saturating_sub(1)))).collect(),
            n_dims: sizes.len(),
            ..Domain::default()
        }
    }

    /// The domain without its constraints.
    ///
    /// ```
    /// use quasiaffine::Map;
    /// let band: Map = "(d0, d1) -> (d0), domain: d0 in [0, 7], d1 in [0, 7], d0 - d1 in [0, 1]".parse()?;
    /// assert!(band.domain().without_constraints().constraints.is_empty());
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn without_constraints(&self) -> Domain {
        Domain { vars: self.vars.clone(), constraints: Vec::new(), ..*self }
    }

    /// Adds a last range.
    pub(crate) fn push_range(&mut self, interval: Interval) -> Expr {
        self.vars.insert(self.n_dims + self.n_ranges, Variable::new(interval));
        self.n_ranges += 1;
        Expr::range(self.n_ranges as u32 - 1)
    }

    /// The dimensions.
    pub fn dims(&self) -> &[Variable] {
        &self.vars[..self.n_dims.min(self.vars.len())]
    }

    /// The range variables.
    pub fn ranges(&self) -> &[Variable] {
        &self.vars[self.n_dims.min(self.vars.len())..self.n_free()]
    }

    /// The runtime variables.
    pub fn runtime(&self) -> &[Variable] {
        &self.vars[self.n_free()..]
    }

    /// The number of runtime variables.
    pub fn n_runtime(&self) -> usize {
        self.vars.len() - self.n_free()
    }

    /// The number of dimensions and ranges.
    fn n_free(&self) -> usize {
        self.n_dims.saturating_add(self.n_ranges).min(self.vars.len())
    }

    /// Checks that there are as many variables as the counts say, or more.
    pub(crate) fn check_counts(&self) -> Result<()> {
        let expected = self.n_dims.saturating_add(self.n_ranges);
        if expected <= self.vars.len() {
            return Ok(());
        }
        Err(Error::Arity { what: "variables of the domain or more", expected, found: self.vars.len() })
    }

    /// The interval of a variable of the domain; of anything else, every integer.
    ///
    /// ```
    /// use quasiaffine::{Domain, Expr, Interval};
    /// let domain = Domain::of_sizes(&[8]);
    /// assert_eq!((domain.range_of(&Expr::dim(0)), domain.range_of(&Expr::dim(1))), (Interval::new(0, 7), Interval::ALL));
    /// ```
    pub fn range_of(&self, e: &Expr) -> Interval {
        match e {
            Expr::Var(v) => self.flat(*v).map_or(Interval::ALL, |flat| self.vars[flat].interval),
            _ => Interval::ALL,
        }
    }

    /// The flat number of a variable, if the domain has the variable.
    ///
    /// ```
    /// use quasiaffine::{Map, Var};
    /// let map: Map = "(d0)[s0]{rt0} -> (d0), domain: d0 in [0, 9], s0 in [0, 2], rt0 in [0, 1]".parse()?;
    /// let flat = |name| map.domain().flat(Var::named(name).unwrap());
    /// assert_eq!((flat("d0"), flat("s0"), flat("rt0"), flat("d1")), (Some(0), Some(1), Some(2), None));
    /// assert_eq!(map.domain().var(2), Var::named("rt0").unwrap());
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn flat(&self, v: Var) -> Option<usize> {
        let (start, n) = match v.kind {
            Kind::Dim => (0, self.n_dims),
            Kind::Range => (self.n_dims, self.n_ranges),
            Kind::Runtime => (self.n_dims.saturating_add(self.n_ranges), self.n_runtime()),
        };
        let flat = start.saturating_add(v.index as usize);
        ((v.index as usize) < n && flat < self.vars.len()).then_some(flat)
    }

    /// The flat numbers of the variables of an expression, with repetitions.
    pub(crate) fn vars_of(&self, e: &Expr) -> SmallVec<[usize; 8]> {
        let mut vars = SmallVec::new();
        e.for_each_var(&mut |v| vars.extend(self.flat(v)));
        vars
    }

    /// The variable with a flat number.
    pub fn var(&self, flat: usize) -> Var {
        Var::at(flat as u32, self.n_dims as u32, self.n_ranges as u32)
    }

    /// The name of a variable as it prints.
    ///
    /// ```
    /// use quasiaffine::{Map, Var};
    /// let map: Map = "(row)[s0] -> (row), domain: row in [0, 9], s0 in [0, 2]".parse()?;
    /// let name = |v| map.domain().name(Var::named(v).unwrap());
    /// assert_eq!((name("d0").as_str(), name("s0").as_str()), ("row", "s0"));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn name(&self, v: Var) -> String {
        match self.flat(v).and_then(|i| self.vars[i].name.as_deref()) {
            Some(name) => name.to_owned(),
            None => default_name(v),
        }
    }

    /// Checks that no two variables print alike and that every name can be read back.
    ///
    /// ```
    /// use quasiaffine::{Domain, Error};
    /// let mut domain = Domain::of_sizes(&[8, 3]);
    /// domain.vars[1].name = Some("d0".into());
    /// assert_eq!(domain.check_names(), Err(Error::Name("two variables are called d0".to_owned())));
    /// ```
    pub fn check_names(&self) -> Result<()> {
        let mut names: SmallVec<[&str; 8]> = self.vars.iter().filter_map(|v| v.name.as_deref()).collect();
        if let Some(name) = names.iter().find(|name| !is_name(name)) {
            return Err(Error::Name(format!("{name:?} cannot be the name of a variable")));
        }
        names.sort_unstable();
        let unnamed = (0..self.vars.len()).filter(|&i| !names.is_empty() && self.vars[i].name.is_none());
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_owned());
        let is_taken = |name: &String| names.binary_search(&name.as_str()).is_ok();
        let twice = twice.or_else(|| unnamed.map(|i| default_name(self.var(i))).find(is_taken));
        twice.map_or(Ok(()), |name| Err(Error::Name(format!("two variables are called {name}"))))
    }

    /// Checks that an expression has no other variables than the domain.
    ///
    /// ```
    /// use quasiaffine::{Domain, Error, Expr};
    /// let domain = Domain::of_sizes(&[8]);
    /// assert_eq!(domain.check_vars(&Expr::range(0)), Err(Error::UnknownVariable("s0".to_owned())));
    /// ```
    pub fn check_vars(&self, e: &Expr) -> Result<()> {
        let mut unknown = None;
        e.for_each_var(&mut |v| {
            if self.flat(v).is_none() {
                unknown = Some(v);
            }
        });
        unknown.map_or(Ok(()), |v| Err(Error::UnknownVariable(default_name(v))))
    }

    /// Puts the constraints into normal form: bare dimensions and ranges into their ranges, one constraint for each
    /// expression, in order. Returns whether that alone shows the domain to be empty.
    pub fn normalize(&mut self) -> Emptiness {
        let mut empty = false;
        let mut constraints = std::mem::take(&mut self.constraints);
        constraints.retain(|c| match &c.expr {
            Expr::Const(value) => {
                empty |= !c.interval.contains(*value);
                false
            }
            Expr::Var(v) => {
                // `Map::new` finds a variable that the domain lacks.
                let Some(i) = self.flat(*v) else { return true };
                let both = self.vars[i].interval.intersect(c.interval);
                if v.kind != Kind::Runtime {
                    self.vars[i].interval = both;
                    return false;
                }
                empty |= both.is_empty();
                both != self.vars[i].interval
            }
            Expr::Node(_) => true,
        });
        if constraints.len() > 1 {
            constraints.sort();
            constraints.dedup_by(|b, a| {
                let same = a.expr == b.expr;
                if same {
                    a.interval = a.interval.intersect(b.interval);
                }
                same
            });
        }
        empty |= constraints.iter().any(|c| c.interval.is_empty()) || self.vars.iter().any(|v| v.interval.is_empty());
        self.constraints = constraints;
        if empty {
            Emptiness::Empty
        } else {
            Emptiness::Open
        }
    }
}

/// The words of the language, which are not names.
pub(crate) const RESERVED: [&str; 9] = ["floordiv", "ceildiv", "mod", "min", "max", "in", "domain", "runtime", "KNOWN"];

/// Whether a text can be the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !RESERVED.contains(&text)
}

/// `d0`, `s0` or `rt0`.
pub(crate) fn default_name(v: Var) -> String {
    format!("{}{}", letter(v), v.index)
}

/// The prefix of the default name of a variable.
pub(crate) const fn letter(v: Var) -> &'static str {
    match v.kind {
        Kind::Dim => "d",
        Kind::Range => "s",
        Kind::Runtime => "rt",
    }
}

impl Var {
    /// The variable with a default name: `d0`, `s0`, `rt0` and so on.
    ///
    /// ```
    /// use quasiaffine::{Kind, Var};
    /// assert_eq!(Var::named("rt2"), Some(Var { kind: Kind::Runtime, index: 2 }));
    /// assert_eq!((Var::named("d02"), Var::named("row")), (None, None));
    /// ```
    pub fn named(name: &str) -> Option<Var> {
        let (kind, digits) = if let Some(digits) = name.strip_prefix("rt") {
            (Kind::Runtime, digits)
        } else if let Some(digits) = name.strip_prefix('d') {
            (Kind::Dim, digits)
        } else {
            (Kind::Range, name.strip_prefix('s')?)
        };
        let canonical = digits == "0" || (!digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()));
        let index = digits.parse().ok().filter(|_| canonical)?;
        Some(Var { kind, index })
    }
}

impl Eq for Domain {}

/// Equality ignores names.
impl PartialEq for Domain {
    fn eq(&self, other: &Domain) -> bool {
        self.n_dims == other.n_dims
            && self.n_ranges == other.n_ranges
            && self.vars.len() == other.vars.len()
            && self.vars.iter().zip(&other.vars).all(|(a, b)| a.interval == b.interval && a.source == b.source)
            && self.constraints == other.constraints
    }
}
