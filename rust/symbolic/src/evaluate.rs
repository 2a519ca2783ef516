//! Values of a map at many points at once: one pass over each node for a block of points, never one for each point.
//!
//! Read [`Program`]. Shared nodes are computed once. Unchecked evaluation wraps and never fails: points outside the
//! domain give unspecified values. Where every value over the domain fits into 31 bits, it runs in 32-bit lanes and
//! divides by multiplying (`lane.rs`). Checked evaluation reports the first point outside the domain and every
//! overflow.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::expr::{Expr, Node, Op};
use crate::lane::{Divisor, Lane};
use crate::map::{Map, State};
use crate::range::Range;

/// Values for all variables at `n` points: three row-major tables with one row a point.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// How many points.
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
    fn part(&self, start: usize, n: usize, counts: [usize; 3]) -> Points<'a> {
        let rows = |table: &'a [i64], width: usize| &table[start * width..][..n * width];
        Points {
            n,
            dims: rows(self.dims, counts[0]),
            ranges: rows(self.ranges, counts[1]),
            runtime: rows(self.runtime, counts[2]),
        }
    }
}

type Register = u32;

enum Step {
    Const(i64),
    Var,
    Sum(i64, Vec<(i64, Register)>),
    Product(Register, Register),
    DivConst(Register, Divisor),
    ModConst(Register, Divisor),
    Div(Register, Register),
    Mod(Register, Register),
    Min(Register, Register),
    Max(Register, Register),
}

/// A map compiled for evaluation.
pub struct Program {
    steps: Vec<Step>,
    results: Vec<Register>,
    checks: Vec<(Register, Range)>,
    var_ranges: Vec<Range>,
    counts: [usize; 3],
    /// Whether no value, and no partial sum, leaves 31 bits anywhere in the domain.
    is_narrow: bool,
}

/// About how many values one block may hold in all registers together.
const BLOCK_VALUES: usize = 1 << 15;

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

    /// Compiles expressions over a domain.
    pub fn of(domain: &Domain, exprs: &[Expr]) -> Result<Program> {
        let mut compiler = Compiler { domain, steps: Vec::new(), ranges: Vec::new(), done: FxHashMap::default() };
        // Variables take the first registers, so that a block loads them once.
        for v in &domain.vars {
            compiler.push(Step::Var, v.range);
        }
        let results = exprs.iter().map(|e| compiler.expr(e)).collect::<Result<_>>()?;
        let checks =
            domain.constraints.iter().map(|c| Ok((compiler.expr(&c.expr)?, c.range))).collect::<Result<_>>()?;
        let is_narrow = compiler.ranges.iter().all(|r| NARROW.covers(*r));
        Ok(Program {
            is_narrow,
            steps: compiler.steps,
            results,
            checks,
            var_ranges: domain.vars.iter().map(|v| v.range).collect(),
            counts: [domain.n_dims, domain.n_ranges, domain.n_runtime()],
        })
    }

    /// How many values are computed for each point, shared nodes once.
    pub(crate) fn n_steps(&self) -> usize {
        self.steps.len()
    }

    /// How many values each point has.
    pub fn n_results(&self) -> usize {
        self.results.len()
    }

    /// The results, one row a point.
    ///
    /// # Errors
    /// With `CHECK`: [`Error::OutsideDomain`] and [`Error::Overflow`]. Without: none.
    pub fn run<const CHECK: bool>(&self, points: &Points<'_>) -> Result<Vec<i64>> {
        self.run_on::<CHECK>(points, 1)
    }

    /// [`Program::run`] on several threads.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run_on<const CHECK: bool>(&self, points: &Points<'_>, threads: usize) -> Result<Vec<i64>> {
        let mut out = vec![0; points.n * self.results.len()];
        self.run_to::<CHECK>(points, threads, &mut out)?;
        Ok(out)
    }

    /// [`Program::run_on`] to a place that the caller has: a new one costs as much as the values.
    ///
    /// # Errors
    /// As [`Program::run`].
    ///
    /// # Panics
    /// Where `out` has another length than the rows of all points.
    pub fn run_to<const CHECK: bool>(&self, points: &Points<'_>, threads: usize, out: &mut [i64]) -> Result<()> {
        let width = self.results.len();
        assert_eq!(out.len(), points.n * width, "one row a point");
        if threads < 2 || points.n < 2 * BLOCK_VALUES || width == 0 {
            return self.run_into::<CHECK>(points, out);
        }
        let each = points.n.div_ceil(threads);
        std::thread::scope(|scope| {
            let parts = out.chunks_mut(each * width).enumerate();
            let workers: Vec<_> = parts
                .map(|(i, part)| {
                    let points = points.part(i * each, part.len() / width, self.counts);
                    scope.spawn(move || self.run_into::<CHECK>(&points, part).map_err(|e| e.shifted(i * each)))
                })
                .collect();
            // A worker panics only on a broken promise of this crate, which then goes on to the caller.
            workers.into_iter().try_for_each(|w| w.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
        })
    }

    fn run_into<const CHECK: bool>(&self, points: &Points<'_>, out: &mut [i64]) -> Result<()> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions for which the function is compiled.
            #[allow(unsafe_code)]
            return unsafe { self.run_into_avx2::<CHECK>(points, out) };
        }
        self.run_into_any::<CHECK>(points, out)
    }

    /// [`Program::run_into_any`] for processors whose registers hold eight 32-bit lanes: the same code, compiled again.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_into_avx2<const CHECK: bool>(&self, points: &Points<'_>, out: &mut [i64]) -> Result<()> {
        self.run_into_any::<CHECK>(points, out)
    }

    // What a block goes through is inlined into the functions above, so that it is compiled for their processors.
    #[inline(always)]
    fn run_into_any<const CHECK: bool>(&self, points: &Points<'_>, out: &mut [i64]) -> Result<()> {
        if self.is_narrow && !CHECK {
            return self.blocks::<i32>(points, |start, n, registers, block| {
                self.store(registers, block, n, &mut out[start * self.results.len()..]);
                Ok(())
            });
        }
        self.blocks::<i64>(points, |start, n, registers, block| {
            if CHECK {
                let mut inside = vec![true; n];
                self.inside(registers, block, &mut inside);
                if let Some(i) = inside.iter().position(|ok| !ok) {
                    return Err(Error::OutsideDomain(start + i));
                }
                self.check_overflow(registers, block, n)?;
            }
            self.store(registers, block, n, &mut out[start * self.results.len()..]);
            Ok(())
        })
    }

    /// Writes the results of a block as rows.
    #[inline(always)]
    fn store<L: Lane>(&self, registers: &[L], block: usize, n: usize, out: &mut [i64]) {
        let columns: Vec<&[L]> = self.results.iter().map(|r| &registers[*r as usize * block..][..n]).collect();
        match columns[..] {
            [] => {}
            [a] => out.iter_mut().zip(a).for_each(|(o, a)| *o = a.wide()),
            [a, b] => rows(out, a.iter().zip(b).map(|(a, b)| [a.wide(), b.wide()])),
            [a, b, c] => {
                let columns = a.iter().zip(b).zip(c);
                rows(out, columns.map(|((a, b), c)| [a.wide(), b.wide(), c.wide()]));
            }
            [a, b, c, d] => {
                let columns = a.iter().zip(b).zip(c).zip(d);
                rows(out, columns.map(|(((a, b), c), d)| [a.wide(), b.wide(), c.wide(), d.wide()]));
            }
            _ => {
                let width = columns.len();
                for (j, column) in columns.iter().enumerate() {
                    for (row, value) in out.chunks_exact_mut(width).zip(*column) {
                        row[j] = value.wide();
                    }
                }
            }
        }
    }

    /// Which points lie in the domain.
    pub fn in_domain(&self, points: &Points<'_>) -> Vec<bool> {
        let mut out = vec![true; points.n];
        // The closure never fails.
        let _ = self.blocks::<i64>(points, |start, n, registers, block| {
            self.inside(registers, block, &mut out[start..start + n]);
            Ok(())
        });
        out
    }

    fn inside(&self, registers: &[i64], block: usize, out: &mut [bool]) {
        let of_vars = self.var_ranges.iter().enumerate().map(|(i, r)| (i as Register, *r));
        for (register, Range { lo, hi }) in of_vars.chain(self.checks.iter().copied()) {
            let column = &registers[register as usize * block..];
            for (ok, value) in out.iter_mut().zip(column) {
                *ok &= lo <= *value && *value <= hi;
            }
        }
    }

    /// Runs all steps block by block and hands the registers of each block to `each`.
    #[inline(always)]
    fn blocks<L: Lane>(
        &self,
        points: &Points<'_>,
        mut each: impl FnMut(usize, usize, &[L], usize) -> Result<()>,
    ) -> Result<()> {
        let block = (BLOCK_VALUES / self.steps.len().max(1)).clamp(16, 1024).min(points.n.max(1));
        let mut registers = vec![L::default(); self.steps.len() * block];
        let mut start = 0;
        while start < points.n {
            let n = block.min(points.n - start);
            self.load(points, start, n, &mut registers, block);
            for (i, step) in self.steps.iter().enumerate().skip(self.var_ranges.len()) {
                let (known, rest) = registers.split_at_mut(i * block);
                step.run(known, &mut rest[..n], block);
            }
            each(start, n, &registers, block)?;
            start += n;
        }
        Ok(())
    }

    #[inline(always)]
    fn load<L: Lane>(&self, points: &Points<'_>, start: usize, n: usize, registers: &mut [L], block: usize) {
        let mut first = 0;
        for (table, width) in [points.dims, points.ranges, points.runtime].into_iter().zip(self.counts) {
            for j in 0..width {
                let column = &mut registers[(first + j) * block..][..n];
                let rows = table[start * width + j..].iter().step_by(width);
                column.iter_mut().zip(rows).for_each(|(value, x)| *value = L::narrow(*x));
            }
            first += width;
        }
    }

    /// Whether any step of a block would not fit into 64 bits; the registers hold exact values up to that step.
    fn check_overflow(&self, registers: &[i64], block: usize, n: usize) -> Result<()> {
        let at = |r: Register, i: usize| i128::from(registers[r as usize * block + i]);
        for (index, step) in self.steps.iter().enumerate() {
            let exact = |i: usize| match step {
                Step::Sum(c, terms) => terms
                    .iter()
                    .try_fold(i128::from(*c), |sum, (k, r)| sum.checked_add(i128::from(*k) * at(*r, i)))
                    .unwrap_or(i128::MAX),
                Step::Product(a, b) => at(*a, i) * at(*b, i),
                _ => i128::from(registers[index * block + i]),
            };
            if matches!(step, Step::Sum(..) | Step::Product(..)) && (0..n).any(|i| i64::try_from(exact(i)).is_err()) {
                return Err(Error::Overflow("a value of the map"));
            }
        }
        Ok(())
    }
}

/// Writes rows of fixed width.
#[inline(always)]
fn rows<const W: usize>(out: &mut [i64], rows: impl Iterator<Item = [i64; W]>) {
    out.chunks_exact_mut(W).zip(rows).for_each(|(place, row)| place.copy_from_slice(&row));
}

impl Step {
    #[inline(always)]
    fn run<L: Lane>(&self, known: &[L], out: &mut [L], block: usize) {
        let n = out.len();
        let column = |r: &Register| &known[*r as usize * block..][..n];
        match self {
            Step::Const(c) => out.fill(L::narrow(*c)),
            Step::Var => {}
            Step::Sum(c, terms) => {
                // Two terms in one pass; the first pass writes, the others add.
                for (i, pair) in terms.chunks(2).enumerate() {
                    let base = L::narrow(if i == 0 { *c } else { 0 });
                    let added = |o: &L| if i == 0 { base } else { *o };
                    match pair {
                        [(k, r), (l, s)] => {
                            let (k, l) = (L::narrow(*k), L::narrow(*l));
                            for ((o, x), y) in out.iter_mut().zip(column(r)).zip(column(s)) {
                                *o = added(o).add(k.mul(*x)).add(l.mul(*y));
                            }
                        }
                        [(k, r)] => {
                            let k = L::narrow(*k);
                            out.iter_mut().zip(column(r)).for_each(|(o, x)| *o = added(o).add(k.mul(*x)));
                        }
                        _ => {}
                    }
                }
            }
            Step::DivConst(a, divisor) => L::div_all(divisor, column(a), out),
            Step::ModConst(a, divisor) => L::mod_all(divisor, column(a), out),
            Step::Product(a, b) => binary(out, column(a), column(b), L::mul),
            Step::Div(a, b) => binary(out, column(a), column(b), L::div),
            Step::Mod(a, b) => binary(out, column(a), column(b), L::rem),
            Step::Min(a, b) => binary(out, column(a), column(b), L::min),
            Step::Max(a, b) => binary(out, column(a), column(b), L::max),
        }
    }
}

#[inline(always)]
fn binary<L: Lane>(out: &mut [L], a: &[L], b: &[L], f: impl Fn(L, L) -> L) {
    for ((o, x), y) in out.iter_mut().zip(a).zip(b) {
        *o = f(*x, *y);
    }
}

/// What 32-bit lanes hold with room for one more addition.
const NARROW: Range = Range::new(-(1 << 30), 1 << 30);

struct Compiler<'a> {
    domain: &'a Domain,
    steps: Vec<Step>,
    /// The values of each step over the domain, with its partial sums.
    ranges: Vec<Range>,
    done: FxHashMap<*const Node, Register>,
}

impl Compiler<'_> {
    fn push(&mut self, step: Step, range: Range) -> Register {
        self.steps.push(step);
        self.ranges.push(range);
        (self.steps.len() - 1) as Register
    }

    fn range(&self, r: Register) -> Range {
        self.ranges[r as usize]
    }

    fn expr(&mut self, e: &Expr) -> Result<Register> {
        let node = match e {
            Expr::Const(c) => return Ok(self.push(Step::Const(*c), Range::point(*c))),
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
        let (step, range) = match e.op() {
            Some(Op::Sum(sum)) => {
                let mut terms = Vec::with_capacity(sum.terms.len());
                let mut total = Range::point(sum.constant);
                for t in &sum.terms {
                    let register = self.expr(&t.atom)?;
                    terms.push((t.coefficient, register));
                    let term = self.range(register).scale(t.coefficient);
                    // The hull with 0 of each term: a partial sum may lie anywhere between.
                    total = total.plus(Range::new(term.lo.min(0), term.hi.max(0)));
                }
                (Step::Sum(sum.constant, terms), total)
            }
            Some(Op::FloorDiv(a, Expr::Const(n))) => {
                let a = self.expr(a)?;
                let x = self.range(a);
                let divisor = Divisor::new(*n, x);
                // A divisor that 32-bit lanes cannot hold keeps the program wide.
                let range = if divisor.is_narrow() { x.floor_div(Range::point(*n)) } else { Range::ALL };
                (Step::DivConst(a, divisor), range)
            }
            Some(Op::Mod(a, Expr::Const(n))) => {
                let a = self.expr(a)?;
                let x = self.range(a);
                let divisor = Divisor::new(*n, x);
                let range = if divisor.is_narrow() { Range::new(0, n - 1) } else { Range::ALL };
                (Step::ModConst(a, divisor), range)
            }
            Some(Op::Product(a, b)) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                (Step::Product(a, b), self.range(a).times(self.range(b)))
            }
            Some(Op::FloorDiv(a, b)) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                (Step::Div(a, b), self.range(a).floor_div(self.range(b)))
            }
            Some(Op::Mod(a, b)) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                (Step::Mod(a, b), self.range(a).floor_mod(self.range(b)))
            }
            Some(Op::Min(a, b)) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                (Step::Min(a, b), self.range(a).min(self.range(b)))
            }
            Some(Op::Max(a, b)) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                (Step::Max(a, b), self.range(a).max(self.range(b)))
            }
            None => return Err(Error::TooLarge("the expression")),
        };
        let register = self.push(step, range);
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
        assert!(program.is_narrow);
        let rows: Vec<i64> = (-40..=99).flat_map(|x| (-9..=60).flat_map(move |y| [x, y])).collect();
        let points = Points { n: rows.len() / 2, dims: &rows, ranges: &[], runtime: &[] };
        let wide = Program { is_narrow: false, ..Program::new(&map).unwrap() };
        assert_eq!(program.run::<false>(&points), wide.run::<false>(&points));
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
