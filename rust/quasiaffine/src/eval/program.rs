//! Values of a map at many points at once: one pass over each node for a block of points, never one for each point.
//!
//! Shared nodes are computed once. A value is the mathematical one, or an error ([`Error::PointOverflow`]) if it
//! does not fit into 64 bits; it never wraps. The ranges of the variables decide once how values are computed:
//! * if every value and partial sum fits into 31 bits, in 32-bit lanes;
//! * if every value fits into 64 bits, in 64-bit lanes without checks; a partial sum may wrap, and wraps back;
//! * else in 128 bits with checks (`exact.rs`).
//!
//! Steps run in blocks of points (`blocks.rs`), and lanes divide by multiplying (`simd.rs`). If all results are
//! variables, they are copied.
//!
//! At points outside the domain results are unspecified.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::arithmetic::Binary;
use crate::cancel::{heard, is_cancelled, on_threads};
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::eval::blocks::{self, Columns};
use crate::eval::exact::{self, Names};
use crate::eval::simd::{Divisor, Lane};
use crate::expr::intervals::step;
use crate::expr::{Expr, Node, Op, Parts};
use crate::span::Interval;
use crate::span::WideInterval;

/// Values for all variables at `n` points: three row-major tables with one row a point.
///
/// ```
/// use quasiaffine::{Map, Points, Program};
/// let window: Map = "(d0)[s0] -> (d0 * 2 + s0), domain: d0 in [0, 9], s0 in [0, 2]".parse()?;
/// let points = Points { n: 3, dims: &[0, 1, 9], ranges: &[0, 2, 1], runtime: &[] };
/// assert_eq!(Program::new(&window)?.run::<true>(&points)?, [0, 4, 19]);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// The number of points.
    pub n: usize,
    /// `n` rows of dimensions.
    pub dims: &'a [i64],
    /// `n` rows of range variables.
    pub ranges: &'a [i64],
    /// `n` rows of runtime variables.
    pub runtime: &'a [i64],
}

impl<'a> Points<'a> {
    /// Some rows of the tables, whose widths are `counts`.
    pub(crate) fn part(&self, start: usize, n: usize, counts: [usize; 3]) -> Points<'a> {
        let rows = |table: &'a [i64], width: usize| &table[start * width..][..n * width];
        Points {
            n,
            dims: rows(self.dims, counts[0]),
            ranges: rows(self.ranges, counts[1]),
            runtime: rows(self.runtime, counts[2]),
        }
    }

    /// The values of a variable, numbered across the tables, whose widths are `counts`.
    #[inline(always)]
    pub(crate) fn of_var(&self, mut i: usize, counts: [usize; 3]) -> impl Iterator<Item = &'a i64> {
        for (table, width) in [(self.dims, counts[0]), (self.ranges, counts[1])] {
            if i < width {
                return table[i.min(table.len())..].iter().step_by(width);
            }
            i -= width;
        }
        self.runtime[i.min(self.runtime.len())..].iter().step_by(counts[2])
    }
}

pub(crate) type Register = u32;

#[derive(PartialEq)]
pub(crate) enum Step {
    Const(i64),
    Var,
    Sum(i64, Vec<(i64, Register)>),
    DivConst(Register, Divisor),
    ModConst(Register, Divisor),
    /// The remainder that belongs to the quotient of an earlier step: a numerator, a divisor, and the quotient.
    Remainder(Register, i64, Register),
    Binary(Binary, Register, Register),
}

/// The width that holds every value of some steps while all variables lie in their ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    /// 31 bits, partial sums included.
    Narrow,
    /// 64 bits.
    Whole,
    /// No width is known to suffice.
    Open,
}

/// A map compiled for evaluation.
///
/// ```
/// use quasiaffine::{Map, Points, Program};
/// let map: Map = "(d0, d1) -> (d0 * 4 + d1), domain: d0 in [0, 2], d1 in [0, 3]".parse()?;
/// let points = Points { n: 2, dims: &[0, 3, 2, 1], ranges: &[], runtime: &[] };
/// assert_eq!(Program::new(&map)?.run::<false>(&points)?, [3, 9]);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
pub struct Program {
    pub(crate) steps: Vec<Step>,
    pub(crate) results: Vec<Register>,
    pub(crate) checks: Vec<(Register, Interval)>,
    pub(crate) var_ranges: Vec<Interval>,
    counts: [usize; 3],
    /// The steps of the results: those after the variables, up to here.
    n_result_steps: usize,
    /// The steps of the constraints, in order.
    pub(crate) check_steps: Vec<Register>,
    result_width: Width,
    check_width: Width,
    /// Names for errors, if evaluation can fail.
    pub(crate) names: Option<Box<Names>>,
}

/// The number of points that a worker takes at once. Chunks, and so the first error, do not depend on the number of
/// workers.
const CHUNK: usize = 1 << 14;

impl Program {
    /// Compiles expressions over a domain.
    ///
    /// ```
    /// use quasiaffine::{Domain, Expr, Points, Program};
    /// let program = Program::of(&Domain::of_sizes(&[8]), &["d0 mod 4".parse::<Expr>()?, "d0 floordiv 4".parse::<Expr>()?])?;
    /// assert_eq!(program.n_results(), 2);
    /// assert_eq!(program.run::<true>(&Points { n: 2, dims: &[3, 6], ranges: &[], runtime: &[] })?, [3, 0, 2, 1]);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownVariable`] if the domain lacks a variable, [`Error::Arity`] if it lacks some of those it counts.
    pub fn of(domain: &Domain, exprs: &[Expr]) -> Result<Program> {
        domain.check_counts()?;
        let mut compiler = Compiler { domain, steps: Vec::new(), values: Vec::new(), done: FxHashMap::default() };
        // Variables take the first registers, so that a block loads them once.
        for v in &domain.vars {
            compiler.push(Step::Var, v.interval.into(), Width::Narrow);
        }
        let results: Vec<Register> = exprs.iter().map(|e| compiler.expr(e)).collect::<Result<_>>()?;
        let n_result_steps = compiler.steps.len();
        let result_width = compiler.width(0..n_result_steps);
        let checks: Vec<(Register, Interval)> =
            domain.constraints.iter().map(|c| Ok((compiler.expr(&c.expr)?, c.interval))).collect::<Result<_>>()?;
        let check_steps = compiler.needed_by(&checks);
        let check_width = compiler.width(check_steps.iter().map(|i| *i as usize));
        let is_open = result_width == Width::Open || check_width == Width::Open;
        Ok(Program {
            names: is_open.then(|| Box::new(Names { domain: domain.clone(), results: exprs.to_vec() })),
            steps: compiler.steps,
            results,
            checks,
            var_ranges: domain.vars.iter().map(|v| v.interval).collect(),
            counts: [domain.n_dims, domain.n_ranges, domain.n_runtime()],
            n_result_steps,
            check_steps,
            result_width,
            check_width,
        })
    }

    /// The steps of the results, in order.
    pub(crate) fn result_steps(&self) -> std::ops::Range<usize> {
        self.var_ranges.len()..self.n_result_steps
    }

    /// The number of values of each point.
    #[cfg(feature = "eval")]
    pub fn n_results(&self) -> usize {
        self.results.len()
    }

    /// Evaluates the results, one row per point.
    ///
    /// ```
    /// use quasiaffine::{Error, Map, Points, Program};
    /// let map: Map = "(d0) -> (d0 * 2), domain: d0 in [0, 3]".parse()?;
    /// let points = Points { n: 2, dims: &[1, 7], ranges: &[], runtime: &[] };
    /// assert_eq!(Program::new(&map)?.run::<true>(&points), Err(Error::OutsideDomain(1)));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PointOverflow`] if a result at a point of the domain does not fit into 64 bits, [`Error::Arity`] if a
    /// table does not have one row for each point; with `CHECK` also [`Error::OutsideDomain`]. [`Error::Cancelled`] if the
    /// call is, see [`crate::cancel`].
    pub fn run<const CHECK: bool>(&self, points: &Points<'_>) -> Result<Vec<i64>> {
        self.run_on::<CHECK>(points, 1)
    }

    /// As [`Program::run`], on several threads.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run_on<const CHECK: bool>(&self, points: &Points<'_>, threads: usize) -> Result<Vec<i64>> {
        self.check_tables(points)?;
        let mut out = filled(0, points.n.checked_mul(self.results.len()))?;
        self.run_to::<CHECK>(points, threads, &mut out)?;
        Ok(out)
    }

    /// As [`Program::run_on`], into a buffer of the caller: allocating one costs as much as the evaluation.
    ///
    /// ```
    /// use quasiaffine::{Map, Points, Program};
    /// let map: Map = "(d0) -> (d0 * 2, d0), domain: d0 in [0, 3]".parse()?;
    /// let mut out = [0; 4];
    /// Program::new(&map)?.run_to::<true>(&Points { n: 2, dims: &[1, 3], ranges: &[], runtime: &[] }, 1, &mut out)?;
    /// assert_eq!(out, [2, 1, 6, 3]);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Program::run`], and [`Error::Arity`] if the length of `out` is not that of the rows of all points.
    pub fn run_to<const CHECK: bool>(&self, points: &Points<'_>, threads: usize, out: &mut [i64]) -> Result<()> {
        let width = self.results.len();
        self.check_tables(points)?;
        let expected = points.n.checked_mul(width).ok_or(TOO_MANY)?;
        if out.len() != expected {
            return Err(Error::Arity { what: "places for results", expected, found: out.len() });
        }
        if points.n <= CHUNK {
            return self.run_chunk::<CHECK>(points, out);
        }
        let chunks = Mutex::new(Chunks { start: 0, out, error: None });
        match threads.min(points.n.div_ceil(CHUNK)) {
            0 | 1 => self.run_chunks::<CHECK>(points, &chunks),
            n => drop(on_threads(0..n, |_| self.run_chunks::<CHECK>(points, &chunks))),
        }
        match chunks.into_inner().unwrap_or_else(PoisonError::into_inner).error {
            Some((_, error)) => Err(error),
            None => Ok(heard()?),
        }
    }

    /// Runs the remaining chunks, one after the other.
    fn run_chunks<const CHECK: bool>(&self, points: &Points<'_>, chunks: &Mutex<Chunks<'_>>) {
        let width = self.results.len();
        loop {
            if is_cancelled() {
                return;
            }
            // A worker panics only on a bug of this crate; the panic continues in the caller once all workers are
            // joined.
            let next = chunks.lock().unwrap_or_else(PoisonError::into_inner).next(points.n, width);
            let Some((start, out)) = next else { return };
            let n = CHUNK.min(points.n - start);
            if let Err(e) = self.run_chunk::<CHECK>(&self.rows(points, start, n), out) {
                chunks.lock().unwrap_or_else(PoisonError::into_inner).stop(start, e.shifted(start));
            }
        }
    }

    fn run_chunk<const CHECK: bool>(&self, points: &Points<'_>, out: &mut [i64]) -> Result<()> {
        if CHECK {
            if let Some(row) = self.in_domain(points)?.iter().position(|inside| !inside) {
                return Err(Error::OutsideDomain(row));
            }
        }
        if self.result_width == Width::Open {
            exact::run(self, points, out)?;
        } else {
            self.run_lanes(points, Wanted::Results(out));
        }
        Ok(heard()?)
    }

    /// Runs a program that needs no check.
    fn run_lanes(&self, points: &Points<'_>, wanted: Wanted<'_>) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions for which the function is compiled.
            #[allow(unsafe_code)]
            return unsafe { self.run_lanes_avx2(points, wanted) };
        }
        self.run_lanes_any(points, wanted);
    }

    /// [`Program::run_lanes_any`] for processors whose registers hold eight 32-bit lanes: the same code, compiled again.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_lanes_avx2(&self, points: &Points<'_>, wanted: Wanted<'_>) {
        self.run_lanes_any(points, wanted);
    }

    // The work on a block is inlined into the functions above, so that it is compiled for their processors.
    #[inline(always)]
    fn run_lanes_any(&self, points: &Points<'_>, wanted: Wanted<'_>) {
        match wanted {
            Wanted::Inside(out) => self.find_inside(points, out),
            // All results are variables: nothing is computed, and no columns are needed.
            Wanted::Results(out) if self.results.iter().all(|r| (*r as usize) < self.var_ranges.len()) => {
                blocks::copy(points, self.counts, &self.results, out);
            }
            Wanted::Results(out) if self.result_width == Width::Narrow => self.find_results::<i32>(points, out),
            Wanted::Results(out) => self.find_results::<i64>(points, out),
        }
    }

    #[inline(always)]
    fn find_results<L: Lane>(&self, points: &Points<'_>, out: &mut [i64]) {
        let width = self.results.len();
        let mut columns = Columns::<L>::new(self, points.n);
        while columns.next(self, points, self.result_steps()) {
            blocks::store(&columns, &self.results, &mut out[columns.points().start * width..]);
        }
    }

    /// Decides for each point whether it lies in the domain.
    ///
    /// ```
    /// use quasiaffine::{Map, Points, Program};
    /// let even: Map = "(d0) -> (d0), domain: d0 in [0, 9], d0 mod 2 in [0, 0]".parse()?;
    /// let points = Points { n: 3, dims: &[2, 3, 12], ranges: &[], runtime: &[] };
    /// assert_eq!(Program::new(&even)?.in_domain(&points)?, [true, false, false]);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PointOverflow`] if a constraint cannot be decided in 128 bits; [`Error::Cancelled`].
    pub fn in_domain(&self, points: &Points<'_>) -> Result<Vec<bool>> {
        self.check_tables(points)?;
        let mut out = filled(true, Some(points.n))?;
        if self.check_width == Width::Open {
            exact::in_domain(self, points, &mut out)?;
        } else {
            self.run_lanes(points, Wanted::Inside(&mut out));
        }
        heard()?;
        Ok(out)
    }

    #[inline(always)]
    fn find_inside(&self, points: &Points<'_>, out: &mut [bool]) {
        if self.checks.is_empty() {
            let points = self.rows(points, 0, out.len());
            for (i, Interval { lo, hi }) in self.var_ranges.iter().enumerate() {
                let values = points.of_var(i, self.counts);
                out.iter_mut().zip(values).for_each(|(ok, value)| *ok &= *lo <= *value && *value <= *hi);
            }
            return;
        }
        // A variable outside its interval decides, whatever the values of the constraints are.
        let of_vars = self.var_ranges.iter().enumerate().map(|(i, r)| (i as Register, *r));
        let mut columns = Columns::<i64>::new(self, points.n);
        while columns.next(self, points, self.check_steps.iter().map(|i| *i as usize)) {
            let out = &mut out[columns.points()];
            for (register, Interval { lo, hi }) in of_vars.clone().chain(self.checks.iter().copied()) {
                for (ok, value) in out.iter_mut().zip(columns.column(register)) {
                    *ok &= lo <= *value && *value <= hi;
                }
            }
        }
    }

    /// Checks that each table has a row for each point.
    fn check_tables(&self, points: &Points<'_>) -> Result<()> {
        let tables = [
            ("values of dimensions", points.dims),
            ("values of range variables", points.ranges),
            ("values of runtime variables", points.runtime),
        ];
        for ((what, table), width) in tables.into_iter().zip(self.counts) {
            let expected = points.n.checked_mul(width).ok_or(TOO_MANY)?;
            if table.len() != expected {
                return Err(Error::Arity { what, expected, found: table.len() });
            }
        }
        Ok(())
    }

    /// The number of variables of each kind.
    pub(crate) fn counts(&self) -> [usize; 3] {
        self.counts
    }

    /// Some rows of the points, with this program's tables.
    pub(crate) fn rows<'a>(&self, points: &Points<'a>, start: usize, n: usize) -> Points<'a> {
        points.part(start, n, self.counts)
    }
}

const TOO_MANY: Error = Error::TooLarge("there are too many points for memory");

/// So many values are allocated only after asking whether memory has room for them.
const MANY_VALUES: usize = 1 << 20;

/// A list of `n` equal values, if memory has room for it.
fn filled<T: Clone>(value: T, n: Option<usize>) -> Result<Vec<T>> {
    let n = n.ok_or(TOO_MANY)?;
    if n > MANY_VALUES {
        Vec::<T>::new().try_reserve_exact(n).map_err(|_| TOO_MANY)?;
    }
    Ok(vec![value; n])
}

/// The rows of results that no worker has taken yet.
struct Chunks<'a> {
    /// The first point that is not taken.
    start: usize,
    out: &'a mut [i64],
    /// The first error, and the point at which its chunk starts.
    error: Option<(usize, Error)>,
}

impl<'a> Chunks<'a> {
    fn next(&mut self, n: usize, width: usize) -> Option<(usize, &'a mut [i64])> {
        let start = self.start;
        if start >= n {
            return None;
        }
        self.start = n.min(start.saturating_add(CHUNK));
        let (chunk, rest) = std::mem::take(&mut self.out).split_at_mut((self.start - start) * width);
        self.out = rest;
        Some((start, chunk))
    }

    /// Hands out no further chunks. Earlier chunks are completed, so the remaining error is that of the first failing
    /// chunk, in whatever order the workers run.
    fn stop(&mut self, start: usize, error: Error) {
        self.start = usize::MAX;
        if self.error.as_ref().is_none_or(|(first, _)| start < *first) {
            self.error = Some((start, error));
        }
    }
}

/// The requested values, and their destination.
enum Wanted<'a> {
    /// Rows of results.
    Results(&'a mut [i64]),
    /// Whether points lie in the domain; holds `true` for each point before.
    Inside(&'a mut [bool]),
}

impl Step {
    fn for_each_operand(&self, mut visit: impl FnMut(Register)) {
        match self {
            Step::Const(_) | Step::Var => {}
            Step::Sum(_, terms) => terms.iter().for_each(|(_, register)| visit(*register)),
            Step::DivConst(a, _) | Step::ModConst(a, _) => visit(*a),
            Step::Remainder(a, _, b) | Step::Binary(_, a, b) => {
                visit(*a);
                visit(*b);
            }
        }
    }
}

/// The values that 32-bit lanes hold with room for one more addition.
const NARROW: Interval = Interval::new(-(1 << 30), 1 << 30);

/// The number of recent steps that are searched for an equal one.
const NEAR: usize = 16;

struct Compiler<'a> {
    domain: &'a Domain,
    steps: Vec<Step>,
    /// The values of each step over the ranges of the variables, and the width that holds them.
    values: Vec<(WideInterval, Width)>,
    done: FxHashMap<*const Node, Register>,
}

impl Compiler<'_> {
    fn push(&mut self, step: Step, values: WideInterval, parts: Width) -> Register {
        let width = match values.interval() {
            Some(interval) if NARROW.covers(interval) => Width::Narrow,
            Some(_) => Width::Whole,
            None => Width::Open,
        };
        self.steps.push(step);
        self.values.push((values, width.max(parts)));
        (self.steps.len() - 1) as Register
    }

    /// The width that holds the values of some steps.
    fn width(&self, steps: impl Iterator<Item = usize>) -> Width {
        steps.map(|i| self.values[i].1).max().unwrap_or(Width::Narrow)
    }

    /// The steps, other than variables, that the constraints need; some of them may belong to results.
    fn needed_by(&self, checks: &[(Register, Interval)]) -> Vec<Register> {
        if checks.is_empty() {
            return Vec::new();
        }
        let mut needed = vec![false; self.steps.len()];
        checks.iter().for_each(|(register, _)| needed[*register as usize] = true);
        for i in (0..self.steps.len()).rev() {
            if needed[i] {
                self.steps[i].for_each_operand(|register| needed[register as usize] = true);
            }
        }
        let after_variables = self.domain.vars.len()..self.steps.len();
        after_variables.filter(|i| needed[*i]).map(|i| i as Register).collect()
    }

    /// Finds a step that divides a register by `n`, if `n` times the quotient fits wherever the numerator does.
    fn quotient(&self, numerator: Register, n: i64) -> Option<Register> {
        // The remainder by a power of two is a mask, which is faster than a product.
        if n & (n - 1) == 0 || self.values[numerator as usize].1 == Width::Open {
            return None;
        }
        self.recent(|step| matches!(step, Step::DivConst(a, d) if *a == numerator && d.n() == n))
    }

    /// Finds one of the last steps.
    fn recent(&self, matches: impl Fn(&Step) -> bool) -> Option<Register> {
        let first = self.steps.len().saturating_sub(NEAR);
        self.steps[first..].iter().position(matches).map(|i| (first + i) as Register)
    }

    fn expr(&mut self, e: &Expr) -> Result<Register> {
        let node = match e {
            Expr::Const(c) => return Ok(self.push(Step::Const(*c), Interval::point(*c).into(), Width::Narrow)),
            Expr::Var(v) => {
                let flat = self.domain.flat(*v);
                return flat
                    .map(|i| i as Register)
                    .ok_or_else(|| Error::UnknownVariable(crate::domain::default_name(*v)));
            }
            Expr::Node(node) => node,
        };
        if let Some(register) = self.done.get(&Arc::as_ptr(node)) {
            return Ok(*register);
        }
        let Some(op) = e.op() else { return Err(Error::TooLarge("the expression")) };
        let mut operands: SmallVec<[Register; 4]> = SmallVec::new();
        for operand in e.operands() {
            match (op, operand) {
                // A constant divisor is part of the step.
                (Op::FloorDiv(_, n) | Op::Mod(_, n), Expr::Const(_)) if std::ptr::eq(n, operand) => {}
                _ => operands.push(self.expr(operand)?),
            }
        }
        let mut of_operand = operands.iter().map(|register| self.values[*register as usize].0);
        let (values, with_parts) = step(op, |operand| match (of_operand.next(), operand) {
            (Some(values), _) => values,
            (None, Expr::Const(n)) => Interval::point(*n).into(),
            (None, _) => WideInterval::ALL,
        });
        let mut parts = match with_parts.interval() {
            Some(interval) if NARROW.covers(interval) => Width::Narrow,
            _ => Width::Whole,
        };
        let divisor = |n: i64| Divisor::new(n, self.values[operands[0] as usize].0.interval().unwrap_or(Interval::ALL));
        let step = match (op.parts(), &operands[..]) {
            (Parts::Sum(sum), _) => {
                let terms = sum.terms.iter().zip(&operands).map(|(t, register)| (t.coefficient, *register));
                Step::Sum(sum.constant, terms.collect())
            }
            (Parts::Binary(Binary::FloorDiv, _, Expr::Const(n)), [a]) => Step::DivConst(*a, divisor(*n)),
            (Parts::Binary(Binary::Mod, _, Expr::Const(n)), [a]) => match self.quotient(*a, *n) {
                Some(q) => Step::Remainder(*a, *n, q),
                None => Step::ModConst(*a, divisor(*n)),
            },
            (Parts::Binary(op, ..), [a, b]) => Step::Binary(op, *a, *b),
            _ => return Err(Error::TooLarge("the expression")),
        };
        // An equal node may be there already.
        if let Some(register) = self.recent(|known| *known == step) {
            self.done.insert(Arc::as_ptr(node), register);
            return Ok(register);
        }
        // A divisor that 32-bit lanes cannot hold keeps the program wide.
        if matches!(&step, Step::DivConst(_, d) | Step::ModConst(_, d) if !d.is_narrow()) {
            parts = Width::Whole;
        }
        let register = self.push(step, values, parts);
        self.done.insert(Arc::as_ptr(node), register);
        Ok(register)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_map;

    #[test]
    fn narrow_and_wide_lanes_agree() {
        let text = "(d0, d1) -> ((d0 * 7 - d1 * 5) floordiv 13, (d0 - d1) mod 6, d0 floordiv 8 + d1 mod 16, \
                    min(d0, d1) * d1, (d0 * 3 + 100000000) floordiv 999999937, (d1 - 9) floordiv 1073741789), domain: d0 in [-40, 99], d1 in [-9, 60]";
        let map = parse_map(text).unwrap();
        let program = Program::new(&map).unwrap();
        assert_eq!(program.result_width, Width::Narrow);
        let rows: Vec<i64> = (-40..=99).flat_map(|x| (-9..=60).flat_map(move |y| [x, y])).collect();
        let points = Points { n: rows.len() / 2, dims: &rows, ranges: &[], runtime: &[] };
        let narrow = program.run::<false>(&points).unwrap();
        for width in [Width::Whole, Width::Open] {
            let mut wide = Program::new(&map).unwrap();
            wide.result_width = width;
            wide.check_width = width;
            assert_eq!(wide.run::<true>(&points).unwrap(), narrow);
        }
        assert_eq!(program.run::<false>(&points), program.run::<true>(&points));
        let huge = parse_map("(d0, d1) -> (d1 floordiv 2000000011), domain: d0 in [-40, 99], d1 in [-9, 60]").unwrap();
        let huge = Program::new(&huge).unwrap();
        assert_eq!(huge.run::<false>(&points), huge.run::<true>(&points));
    }

    #[test]
    fn divisions_at_the_ends_of_narrow_lanes_are_right() {
        let cases = [
            ("(d0) -> (max(((d0 - 1073741824) mod 7) mod 4, 0)), domain: d0 in [0, 0]", 0),
            (
                "(d0) -> (d0 floordiv 1073741823, d0 mod 1073741823), domain: d0 in [-1073741823, 1073741824]",
                1_073_741_824,
            ),
            ("(d0) -> (d0 floordiv 715827883), domain: d0 in [-1073741824, 1073741824]", 1_073_741_824),
        ];
        for (text, x) in cases {
            let program = Program::new(&parse_map(text).unwrap()).unwrap();
            let points = Points { n: 1, dims: &[x], ranges: &[], runtime: &[] };
            assert_eq!(program.run::<false>(&points), program.run::<true>(&points), "{text} at {x}");
        }
    }

    #[test]
    fn threads_give_the_same_rows_and_the_same_first_error() {
        let map = parse_map("(d0) -> (d0 mod 7, d0 floordiv 3), domain: d0 in [0, 199998]").unwrap();
        let program = Program::new(&map).unwrap();
        let rows: Vec<i64> = (0..200_000).collect();
        let points = Points { n: rows.len(), dims: &rows, ranges: &[], runtime: &[] };
        assert_eq!(program.run_on::<false>(&points, 3), program.run::<false>(&points));
        assert_eq!(program.run_on::<true>(&points, 3), Err(Error::OutsideDomain(199_999)));
    }
}
