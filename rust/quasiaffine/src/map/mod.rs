//! A map: a domain and one expression for each dimension of the target.
//!
//! A map is a value: cheap to clone, never changed. Equality and hash ignore variable names and the order of
//! constraints. A map whose domain has no point is *known empty* and keeps only its arity; of an *undefined* map
//! nothing is known.

pub(crate) mod compose;

use crate::limits::{EFFORT, NODES, POINTS};
use crate::list::List;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::domain::{Constraint, Domain, Emptiness, Source, Variable};
use crate::error::{Error, Result};
use crate::eval::periodicity::extremes;
use crate::eval::points::AllPoints;
use crate::eval::program::Program;
use crate::expr::intervals::interval;
use crate::expr::{Expr, Kind, Op, Var};
use crate::meter::Meter;
use crate::print::{map_text, Body, Style};
use crate::span::Interval;

/// An indexing map.
///
/// ```
/// use quasiaffine::{Domain, Expr, Map};
/// let transpose = Map::new(Domain::of_sizes(&[4, 6]), [Expr::dim(1), Expr::dim(0)])?;
/// assert_eq!(transpose, "(row, column) -> (column, row), domain: row in [0, 3], column in [0, 5]".parse()?);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone)]
pub struct Map(Arc<Inner>);

struct Inner {
    domain: Arc<Domain>,
    results: SmallVec<[Expr; 4]>,
    state: State,
    /// See [`Map::result_bounds`].
    result_bounds: OnceLock<Arc<[Option<Interval>]>>,
}

/// The kind of statement that a map makes.
///
/// ```
/// use quasiaffine::{Domain, Map, State};
/// let none: Map = "(d0) -> (d0), domain: d0 in [3, 2]".parse()?;
/// assert_eq!((none.state(), none.to_string().as_str()), (State::Empty, "(d0) -> KNOWN EMPTY"));
/// assert_eq!(Map::undefined(&Domain::of_sizes(&[2])).state(), State::Undefined);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// An ordinary map.
    Defined,
    /// No point of the domain exists.
    Empty,
    /// Nothing is known.
    Undefined,
}

/// The size of a map, counted as trees over all results. Both numbers saturate.
///
/// ```
/// use quasiaffine::{Cost, Map};
/// let map: Map = "(d0) -> (d0 floordiv 4, d0 mod 4), domain: d0 in [0, 7]".parse()?;
/// assert_eq!(map.cost(), Cost { divmods: 2, nodes: 6 });
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Floor divisions and remainders.
    pub divmods: u64,
    /// All nodes.
    pub nodes: u64,
}

impl Map {
    /// Makes a map from its parts. The constraints are put into normal form.
    ///
    /// ```
    /// use quasiaffine::{Domain, Error, Expr, Map};
    /// let map = Map::new(Domain::of_sizes(&[2, 3]), [Expr::dim(1), Expr::dim(0)])?;
    /// assert_eq!(map.to_string(), "(d0, d1) -> (d1, d0), domain: d0 in [0, 1], d1 in [0, 2]");
    /// assert!(matches!(Map::new(Domain::of_sizes(&[2]), [Expr::dim(1)]), Err(Error::UnknownVariable(_))));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fewer variables than the domain says, a variable that the domain lacks, a runtime index that uses a later runtime variable, a divisor that cannot be
    /// shown to be at least 1.
    pub fn new(domain: Domain, results: impl IntoIterator<Item = Expr>) -> Result<Map> {
        domain.check_counts()?;
        let map = Map::from_parts(domain, results.into_iter().collect());
        map.check()?;
        Ok(map)
    }

    /// Makes a map from parts that are known to fit together, such as those of another map: without the checks of
    /// [`Map::new`], for crates that make thousands of maps of checked ones. Parts that do not fit give a map whose
    /// questions panic.
    #[doc(hidden)]
    pub fn new_unchecked(domain: Domain, results: Vec<Expr>) -> Map {
        Map::from_parts(domain, results.into())
    }

    /// Makes a map from parts that are known to fit together, such as those of another map.
    pub(crate) fn from_parts(mut domain: Domain, results: SmallVec<[Expr; 4]>) -> Map {
        match domain.normalize() {
            Emptiness::Empty => Map::empty(&domain),
            Emptiness::Open => Map::of_normal(Arc::new(domain), results),
        }
    }

    /// Makes a map over a domain in normal form that is not known to be empty.
    pub(crate) fn of_normal(domain: Arc<Domain>, results: SmallVec<[Expr; 4]>) -> Map {
        Map::of(domain, results, State::Defined)
    }

    /// `(d0, d1, …) -> (d0, d1, …)` over `domain`.
    ///
    /// ```
    /// use quasiaffine::{Domain, Map};
    /// assert_eq!(Map::identity(Domain::of_sizes(&[2, 3]))?.to_string(), "(d0, d1) -> (d0, d1), domain: d0 in [0, 1], d1 in [0, 2]");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn identity(domain: Domain) -> Result<Map> {
        domain.check_counts()?;
        let results: Vec<Expr> = (0..domain.n_dims as u32).map(Expr::dim).collect();
        Map::new(domain, results)
    }

    /// The known empty map with the variables of `domain`.
    pub fn empty(domain: &Domain) -> Map {
        Map::without_results(domain, State::Empty)
    }

    /// The undefined map with the variables of `domain`.
    pub fn undefined(domain: &Domain) -> Map {
        Map::without_results(domain, State::Undefined)
    }

    fn without_results(domain: &Domain, state: State) -> Map {
        let vars = domain
            .vars
            .iter()
            .map(|v| Variable { name: v.name.clone(), interval: Interval::EMPTY, source: None })
            .collect();
        let (n_dims, n_ranges) = (domain.dims().len(), domain.ranges().len());
        let domain = Domain { vars, n_dims, n_ranges, constraints: Vec::new() };
        Map::of(Arc::new(domain), SmallVec::new(), state)
    }

    fn of(domain: Arc<Domain>, results: SmallVec<[Expr; 4]>, state: State) -> Map {
        Map(Arc::new(Inner { domain, results, state, result_bounds: OnceLock::new() }))
    }

    /// Variables and constraints.
    pub fn domain(&self) -> &Domain {
        &self.0.domain
    }

    /// The results: one for each dimension of the target.
    pub fn results(&self) -> &[Expr] {
        &self.0.results
    }

    /// The kind of statement that the map makes.
    pub fn state(&self) -> State {
        self.0.state
    }

    /// Whether two maps are the same object in memory.
    pub fn is_same(&self, other: &Map) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The size of the map.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost { divmods: 0, nodes: 0 };
        for e in self.results() {
            cost.divmods += u64::from(e.divmods());
            cost.nodes += u64::from(e.nodes());
        }
        cost
    }

    /// An interval with every value of an expression over the domain, tight if that is cheap.
    ///
    /// ```
    /// use quasiaffine::{Interval, Map};
    /// let map: Map = "(d0, d1) -> (d0 * 4 - d1), domain: d0 in [0, 7], d1 in [0, 3]".parse()?;
    /// assert_eq!(map.bounds(&map.results()[0])?, Interval::new(-3, 28));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Overflow`] if a value may overflow 64 bits.
    pub fn bounds(&self, e: &Expr) -> Result<Interval> {
        match self.state() {
            State::Undefined => Err(Error::Undefined),
            State::Empty => Ok(Interval::EMPTY),
            State::Defined => {
                self.domain().check_vars(e)?;
                AffineContext::new(self.domain()).bounds(e).ok_or(Error::Overflow("a bound of the expression"))
            }
        }
    }

    /// The map with runtime sources renumbered; sources that `new_id` does not know stay.
    ///
    /// ```
    /// use quasiaffine::Map;
    /// let text = "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 2], rt0 in [0, 5], runtime: rt0 = #7()";
    /// let map: Map = text.parse()?;
    /// assert_eq!(map.remap_sources(&|id| Some(id + 1)).to_string(), text.replace("#7", "#8"));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn remap_sources(&self, new_id: &dyn Fn(i64) -> Option<i64>) -> Map {
        if self.domain().n_runtime() == 0 {
            return self.clone();
        }
        let mut domain = self.domain().clone();
        for v in &mut domain.vars {
            if let Some(source) = &v.source {
                if let Some(id) = new_id(source.id) {
                    let index = source.index.clone();
                    v.source = Some(Arc::new(Source { id, index }));
                }
            }
        }
        Map::of(Arc::new(domain), self.0.results.clone(), self.0.state)
    }

    /// Every expression: the results, the constraints and the indices of runtime variables.
    ///
    /// ```
    /// use quasiaffine::Map;
    /// let map: Map = "(d0, d1) -> (d0), domain: d0 in [0, 7], d1 in [0, 7], d0 + d1 in [0, 7]".parse()?;
    /// assert_eq!(map.expressions().map(|e| e.to_string()).collect::<Vec<_>>(), ["d0", "d0 + d1"]);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let domain = self.domain();
        let indices = domain.runtime().iter().flat_map(Variable::index);
        self.results().iter().chain(domain.constraints.iter().map(|c| &c.expr)).chain(indices)
    }

    /// Bounds of the dims and of the results.
    pub(crate) fn bounding_box(&self, meter: &mut Meter) -> SmallVec<[Interval; 8]> {
        let mut bounds: SmallVec<[Interval; 8]> = self.domain().dims().iter().map(|v| v.interval).collect();
        let mut cx = AffineContext::within(self.domain(), meter.take());
        bounds.extend(self.results().iter().map(|e| cx.bounds(e).unwrap_or(Interval::ALL)));
        *meter = cx.budget.meter;
        bounds
    }

    /// The nodes of all expressions and the variables: the effort of looking at each.
    pub(crate) fn n_nodes(&self) -> usize {
        self.domain().vars.len() + self.expressions().map(|e| e.nodes() as usize).sum::<usize>()
    }

    /// Applies `change` to every expression: of results, constraints, and the indices of the given variables, which
    /// replace the old ones. The variables lose their names if two would be equal.
    ///
    /// ```
    /// use quasiaffine::{Expr, Map};
    /// let map: Map = "(d0) -> (d0 + 4), domain: d0 in [0, 7]".parse()?;
    /// let negative = map.rewritten(map.domain().clone(), &|e| e.scale(-1))?;
    /// assert_eq!(negative.to_string(), "(d0) -> (-d0 - 4), domain: d0 in [0, 7]");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `change` and of [`Map::new`].
    pub fn rewritten(&self, mut domain: Domain, change: &dyn Fn(&Expr) -> Result<Expr>) -> Result<Map> {
        match self.state() {
            State::Defined => {}
            State::Empty => return Ok(Map::empty(&domain)),
            State::Undefined => return Ok(Map::undefined(&domain)),
        }
        let of_constraint = |c: &Constraint| Ok(Constraint { expr: change(&c.expr)?, interval: c.interval });
        domain.constraints = self.domain().constraints.iter().map(of_constraint).collect::<Result<_>>()?;
        domain.vars.iter_mut().try_for_each(|v| v.change_index(change))?;
        if domain.check_names().is_err() {
            domain.vars.iter_mut().for_each(|v| v.name = None);
        }
        Map::new(domain, self.results().iter().map(change).collect::<Result<SmallVec<[Expr; 4]>>>()?)
    }

    /// Replaces every variable, for a map over other variables.
    ///
    /// ```
    /// use quasiaffine::{Domain, Expr, Map};
    /// let map: Map = "(d0) -> (d0 + 4), domain: d0 in [0, 7]".parse()?;
    /// let halves = map.substituted(Domain::of_sizes(&[4]), &|v| Expr::Var(v).scale(2))?;
    /// assert_eq!(halves.to_string(), "(d0) -> (d0 * 2 + 4), domain: d0 in [0, 3]");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `replace` and of [`Map::new`].
    pub fn substituted(&self, domain: Domain, replace: &dyn Fn(Var) -> Result<Expr>) -> Result<Map> {
        self.rewritten(domain, &|e| e.substitute(replace))
    }

    /// The map with its variables in another order, by flat number: the first are dims, the next ranges, the others
    /// runtime variables, which alone keep their sources. Unused variables may be left out.
    ///
    /// # Errors
    /// Those of [`Map::new`].
    pub(crate) fn reordered(&self, order: &[usize], n_dims: usize, n_ranges: usize) -> Result<Map> {
        let own = self.domain();
        let mut new_vars: SmallVec<[Var; 8]> = own.vars.iter().map(|_| Var::at(0, 0, 0)).collect();
        let mut vars: List<Variable, 6> = List::new();
        for (i, flat) in order.iter().enumerate() {
            new_vars[*flat] = Var::at(i as u32, n_dims as u32, n_ranges as u32);
            let v = own.vars[*flat].clone();
            vars.push(if i < n_dims + n_ranges { Variable { source: None, ..v } } else { v });
        }
        let rename = |v: Var| match own.flat(v) {
            Some(flat) => Ok(Expr::Var(new_vars[flat])),
            None => Err(Error::UnknownVariable(own.name(v))),
        };
        self.substituted(Domain { vars, n_dims, n_ranges, constraints: Vec::new() }, &rename)
    }

    /// The map with its variables in the same order, the first as dims and the next as ranges. See [`Map::reordered`].
    pub(crate) fn regrouped(&self, n_dims: usize, n_ranges: usize) -> Result<Map> {
        self.reordered(&(0..self.domain().vars.len()).collect::<SmallVec<[usize; 8]>>(), n_dims, n_ranges)
    }

    /// The converse relation: the results become dims of these sizes, the old dims and ranges become ranges, and the
    /// old dims are the results.
    ///
    /// ```
    /// use quasiaffine::Map;
    /// let map: Map = "(d0, d1) -> (d1), domain: d0 in [0, 2], d1 in [0, 4]".parse()?;
    /// let converse = "(d0)[s0, s1] -> (s0, s1), domain: d0 in [0, 4], s0 in [0, 2], s1 in [0, 4], -d0 + s1 in [0, 0]";
    /// assert_eq!(map.converse(&[5])?.to_string(), converse);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// An expression of the result leaves 64 bits.
    pub fn converse(&self, sizes: &[i64]) -> Result<Map> {
        let (own, mut domain) = (self.domain(), Domain::of_sizes(sizes));
        let n_points = own.vars.len() - own.n_runtime();
        domain.n_ranges = n_points;
        domain.vars.extend(own.vars[..n_points].iter().map(|v| Variable::new(v.interval)));
        domain.vars.extend(own.runtime().iter().cloned());
        let as_range = |v: Var| match v.kind {
            Kind::Dim => Expr::range(v.index),
            Kind::Range => Expr::range(own.n_dims as u32 + v.index),
            Kind::Runtime => Expr::Var(v),
        };
        let image = self.substituted(domain, &|v| Ok(as_range(v)))?;
        if image.state() != State::Defined {
            return Ok(image);
        }
        let mut domain = image.domain().clone();
        for (e, i) in image.results().iter().zip(0..) {
            domain.constraints.push(Constraint { expr: e.sub(&Expr::dim(i))?, interval: Interval::point(0) });
        }
        Map::new(domain, (0..own.n_dims as u32).map(Expr::range))
    }

    /// The map over the same variables, with a value in place of one of them.
    ///
    /// # Errors
    /// Those of [`Expr::substitute`] and of [`Map::new`].
    pub(crate) fn with_value(&self, domain: Domain, v: Var, value: &Expr) -> Result<Map> {
        self.substituted(domain, &|w| Ok(if w == v { value.clone() } else { Expr::Var(w) }))
    }

    /// A map of some constraints and results on some variables of a domain, by flat number, with dims and ranges as
    /// dims.
    pub(crate) fn part<'c>(
        domain: &Domain,
        vars: &[usize],
        constraints: impl Iterator<Item = &'c Constraint>,
        results: &[Expr],
    ) -> Result<Map> {
        let is_free = |flat: &&usize| domain.var(**flat).kind != Kind::Runtime;
        let n_dims = vars.iter().filter(is_free).count();
        let rename = |v: Var| {
            let at = domain.flat(v).and_then(|flat| vars.iter().position(|i| *i == flat));
            let at = at.ok_or_else(|| Error::UnknownVariable(domain.name(v)))?;
            Ok(Expr::Var(Var::at(at as u32, n_dims as u32, 0)))
        };
        let of_constraint = |c: &Constraint| Ok(Constraint { expr: c.expr.substitute(&rename)?, interval: c.interval });
        let constraints = constraints.map(of_constraint).collect::<Result<_>>()?;
        let vars = vars.iter().map(|i| Variable { name: None, ..domain.vars[*i].clone() }).collect();
        let results = results.iter().map(|e| e.substitute(&rename)).collect::<Result<Vec<_>>>()?;
        Map::new(Domain { vars, n_dims, n_ranges: 0, constraints }, results)
    }

    /// The map with other results. An empty or undefined map stays as it is.
    ///
    /// ```
    /// use quasiaffine::{Error, Expr, Map};
    /// let map: Map = "(d0) -> (d0), domain: d0 in [0, 4]".parse()?;
    /// let twice = map.with_results([Expr::dim(0).scale(2)?])?;
    /// assert_eq!(twice.to_string(), "(d0) -> (d0 * 2), domain: d0 in [0, 4]");
    /// assert!(matches!(map.with_results([Expr::dim(1)]), Err(Error::UnknownVariable(_))));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Map::new`].
    pub fn with_results(&self, results: impl IntoIterator<Item = Expr>) -> Result<Map> {
        if self.state() != State::Defined {
            return Ok(self.clone());
        }
        let map = self.with_known_results(results.into_iter().collect());
        map.check()?;
        Ok(map)
    }

    /// [`Map::with_results`] for results that are known to fit, see [`Map::new_unchecked`].
    #[doc(hidden)]
    pub fn with_results_unchecked(&self, results: Vec<Expr>) -> Map {
        self.with_known_results(results.into())
    }

    /// The map with other results, which are known to fit the domain.
    pub(crate) fn with_known_results(&self, results: SmallVec<[Expr; 4]>) -> Map {
        Map::of(self.0.domain.clone(), results, self.0.state)
    }

    /// An interval with every value for each result; `None` if a value may overflow 64 bits. Computed on first use: by
    /// intervals, by the constraints on whole results, and by evaluation if intervals cannot relate quotients.
    ///
    /// ```
    /// use quasiaffine::{Interval, Map};
    /// let map: Map = "(d0, d1) -> (d0 * 4 + d1, d0 * d1), domain: d0 in [0, 7], d1 in [0, 3]".parse()?;
    /// assert_eq!(map.result_bounds(), [Some(Interval::new(0, 31)), Some(Interval::new(0, 21))]);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn result_bounds(&self) -> &[Option<Interval>] {
        self.0
            .result_bounds
            .get_or_init(|| self.results().iter().map(|e| self.by_values(e).or_else(|| self.by_intervals(e))).collect())
    }

    /// Whether all values of a result are known to lie in an interval.
    pub(crate) fn lies_in(&self, e: &Expr, interval: Interval) -> bool {
        let covers = |values: Option<Interval>| values.is_some_and(|values| interval.covers(values));
        covers(self.by_intervals(e)) || covers(self.by_values(e))
    }

    fn by_intervals(&self, e: &Expr) -> Option<Interval> {
        let domain = self.domain();
        let of_var = |v: Var| domain.flat(v).map_or(Interval::ALL, |i| domain.vars[i].interval);
        let constraints = domain.constraints.iter().filter(|c| c.expr == *e);
        let all = interval(&of_var, e, NODES);
        constraints.fold(all, |values, c| values.intersect(c.interval.into())).interval()
    }

    fn by_values(&self, e: &Expr) -> Option<Interval> {
        if e.divmods() > 1 {
            extremes(self.domain(), e, POINTS)
        } else {
            None
        }
    }

    fn check(&self) -> Result<()> {
        let domain = self.domain();
        domain.check_names()?;
        self.expressions().try_for_each(|e| domain.check_vars(e))?;
        for (i, v) in domain.runtime().iter().enumerate() {
            for e in v.index() {
                let mut later = None;
                e.for_each_var(&mut |v| {
                    if v.kind == Kind::Runtime && v.index as usize >= i {
                        later = Some(v);
                    }
                });
                if let Some(v) = later {
                    return Err(Error::UnknownVariable(format!(
                        "{} before it is defined: the index of a runtime variable uses only earlier ones",
                        domain.name(v)
                    )));
                }
            }
        }
        self.check_divisors()
    }

    fn check_divisors(&self) -> Result<()> {
        let domain = self.domain();
        let mut divisors: Vec<Expr> = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        self.expressions().for_each(|e| collect_divisors(e, &mut divisors, &mut seen));
        if divisors.is_empty() {
            return Ok(());
        }
        let mut cx = AffineContext::new(domain);
        for d in divisors {
            let values = cx.interval(&d);
            if values.lo < 1 && values.lo <= values.hi {
                return Err(Error::Divisor(format!("{d} with values in {values}")));
            }
        }
        Ok(())
    }
}

fn collect_divisors(e: &Expr, out: &mut Vec<Expr>, seen: &mut rustc_hash::FxHashSet<usize>) {
    let Expr::Node(node) = e else { return };
    // Walking a small tree is faster than remembering it.
    if e.divmods() == 0 || (e.nodes() > 64 && !seen.insert(Arc::as_ptr(node) as usize)) {
        return;
    }
    if let Some(Op::FloorDiv(_, d) | Op::Mod(_, d)) = e.op() {
        if d.as_const().is_none() {
            out.push(d.clone());
        }
    }
    for operand in e.operands() {
        collect_divisors(operand, out, seen);
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Map) -> bool {
        self.is_same(other)
            || (self.state() == other.state() && self.results() == other.results() && self.domain() == other.domain())
    }
}

impl Eq for Map {}

impl Hash for Map {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.state.hash(state);
        self.0.results.hash(state);
        let domain = self.domain();
        (domain.n_dims, domain.n_ranges).hash(state);
        for v in &domain.vars {
            v.interval.hash(state);
            v.source.hash(state);
        }
        for Constraint { expr, interval } in &domain.constraints {
            expr.hash(state);
            interval.hash(state);
        }
    }
}

impl Map {
    /// The map as text.
    ///
    /// ```
    /// use quasiaffine::{Map, Style};
    /// let map: Map = "(d0) -> (d0 floordiv 4), domain: d0 in [0, 7]".parse()?;
    /// assert_eq!(map.to_text(Style::Xla)?, "(d0) -> (d0 / 4), domain: d0 in [0, 7]");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] for a map of very many nodes.
    pub fn to_text(&self, style: Style) -> Result<String> {
        if self.expressions().map(|e| u64::from(e.nodes())).sum::<u64>() > EFFORT {
            return Err(Error::TooLarge("the map has too many nodes to print"));
        }
        let body = match self.state() {
            State::Empty => Body::Word("KNOWN EMPTY"),
            State::Undefined => Body::Word("UNDEFINED"),
            State::Defined => Body::Results(self.results()),
        };
        Ok(map_text(self.domain(), body, style))
    }
}

impl std::fmt::Display for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.to_text(Style::Line) {
            Ok(text) => f.write_str(&text),
            Err(e) => write!(f, "<{e}>"),
        }
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl AllPoints {
    /// `None` for more points than `most`, or if a value does not fit.
    pub(crate) fn of(map: &Map, most: u128) -> Option<AllPoints> {
        AllPoints::over(map.domain(), map.results(), most)
    }
}

impl Program {
    /// Compiles the results and the constraints of a map.
    ///
    /// # Errors
    /// [`Error::Undefined`] for an undefined map.
    pub fn new(map: &Map) -> Result<Program> {
        if map.state() == State::Undefined {
            return Err(Error::Undefined);
        }
        Program::of(map.domain(), map.results())
    }
}
