//! Values of a map at many points at once: one pass over each node for a block of points, never one for each point.
//!
//! Read [`Program`]. Shared nodes are computed once. Unchecked evaluation wraps and never fails: points outside the
//! domain give unspecified values. Checked evaluation reports the first point outside the domain and every overflow.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::expr::{Expr, Node, Op};
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

/// A constant divisor; powers of two divide by shifting.
#[derive(Clone, Copy)]
struct Divisor {
    n: i64,
    shift: Option<u32>,
}

/// A map compiled for evaluation.
pub struct Program {
    steps: Vec<Step>,
    results: Vec<Register>,
    checks: Vec<(Register, Range)>,
    var_ranges: Vec<Range>,
    counts: [usize; 3],
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
        let mut compiler = Compiler { domain, steps: Vec::new(), done: FxHashMap::default() };
        // Variables take the first registers, so that a block loads them once.
        compiler.steps.extend((0..domain.vars.len()).map(|_| Step::Var));
        let results = exprs.iter().map(|e| compiler.expr(e)).collect::<Result<_>>()?;
        let checks =
            domain.constraints.iter().map(|c| Ok((compiler.expr(&c.expr)?, c.range))).collect::<Result<_>>()?;
        Ok(Program {
            steps: compiler.steps,
            results,
            checks,
            var_ranges: domain.vars.iter().map(|v| v.range).collect(),
            counts: [domain.n_dims, domain.n_ranges, domain.n_runtime()],
        })
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
        let width = self.results.len();
        let mut out = vec![0; points.n * width];
        self.blocks(points, |start, n, registers, block| {
            if CHECK {
                let mut inside = vec![true; n];
                self.inside(registers, block, &mut inside);
                if let Some(i) = inside.iter().position(|ok| !ok) {
                    return Err(Error::OutsideDomain(start + i));
                }
                self.check_overflow(registers, block, n)?;
            }
            for (j, register) in self.results.iter().enumerate() {
                let column = &registers[*register as usize * block..][..n];
                for (row, value) in out[start * width..].chunks_exact_mut(width).zip(column) {
                    row[j] = *value;
                }
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// Which points lie in the domain.
    pub fn in_domain(&self, points: &Points<'_>) -> Vec<bool> {
        let mut out = vec![true; points.n];
        // The closure never fails.
        let _ = self.blocks(points, |start, n, registers, block| {
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
    fn blocks(
        &self,
        points: &Points<'_>,
        mut each: impl FnMut(usize, usize, &[i64], usize) -> Result<()>,
    ) -> Result<()> {
        let block = (BLOCK_VALUES / self.steps.len().max(1)).clamp(16, 1024).min(points.n.max(1));
        let mut registers = vec![0i64; self.steps.len() * block];
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

    fn load(&self, points: &Points<'_>, start: usize, n: usize, registers: &mut [i64], block: usize) {
        let mut first = 0;
        for (table, width) in [points.dims, points.ranges, points.runtime].into_iter().zip(self.counts) {
            for j in 0..width {
                let column = &mut registers[(first + j) * block..][..n];
                for (value, row) in column.iter_mut().zip(table[start * width..].chunks_exact(width)) {
                    *value = row[j];
                }
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

impl Divisor {
    fn new(n: i64) -> Divisor {
        Divisor { n, shift: (n > 0 && n & (n - 1) == 0).then(|| n.trailing_zeros()) }
    }
}

impl Step {
    fn run(&self, known: &[i64], out: &mut [i64], block: usize) {
        let n = out.len();
        let column = |r: &Register| &known[*r as usize * block..][..n];
        let unary = |out: &mut [i64], a: &Register, f: &dyn Fn(&mut i64, i64)| {
            out.iter_mut().zip(column(a)).for_each(|(o, x)| f(o, *x));
        };
        match self {
            Step::Const(c) => out.fill(*c),
            Step::Var => {}
            Step::Sum(c, terms) => {
                out.fill(*c);
                for (k, r) in terms {
                    for (o, x) in out.iter_mut().zip(column(r)) {
                        *o = o.wrapping_add(k.wrapping_mul(*x));
                    }
                }
            }
            Step::DivConst(a, Divisor { shift: Some(s), .. }) => {
                out.iter_mut().zip(column(a)).for_each(|(o, x)| *o = x >> s);
            }
            Step::ModConst(a, Divisor { n, shift: Some(_) }) => {
                out.iter_mut().zip(column(a)).for_each(|(o, x)| *o = x & (n - 1));
            }
            Step::DivConst(a, Divisor { n, .. }) => unary(out, a, &|o, x| *o = x.div_euclid(*n)),
            Step::ModConst(a, Divisor { n, .. }) => unary(out, a, &|o, x| *o = x.rem_euclid(*n)),
            Step::Product(a, b) => binary(out, column(a), column(b), i64::wrapping_mul),
            Step::Div(a, b) => binary(out, column(a), column(b), |x, y| x.div_euclid(y.max(1))),
            Step::Mod(a, b) => binary(out, column(a), column(b), |x, y| x.rem_euclid(y.max(1))),
            Step::Min(a, b) => binary(out, column(a), column(b), i64::min),
            Step::Max(a, b) => binary(out, column(a), column(b), i64::max),
        }
    }
}

fn binary(out: &mut [i64], a: &[i64], b: &[i64], f: impl Fn(i64, i64) -> i64) {
    for ((o, x), y) in out.iter_mut().zip(a).zip(b) {
        *o = f(*x, *y);
    }
}

struct Compiler<'a> {
    domain: &'a Domain,
    steps: Vec<Step>,
    done: FxHashMap<*const Node, Register>,
}

impl Compiler<'_> {
    fn push(&mut self, step: Step) -> Register {
        self.steps.push(step);
        (self.steps.len() - 1) as Register
    }

    fn expr(&mut self, e: &Expr) -> Result<Register> {
        let node = match e {
            Expr::Const(c) => return Ok(self.push(Step::Const(*c))),
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
        let step = match e.op() {
            Some(Op::Sum(sum)) => {
                let terms = sum.terms.iter().map(|t| Ok((t.coefficient, self.expr(&t.atom)?)));
                Step::Sum(sum.constant, terms.collect::<Result<_>>()?)
            }
            Some(Op::FloorDiv(a, Expr::Const(n))) => Step::DivConst(self.expr(a)?, Divisor::new(*n)),
            Some(Op::Mod(a, Expr::Const(n))) => Step::ModConst(self.expr(a)?, Divisor::new(*n)),
            Some(Op::FloorDiv(a, b)) => Step::Div(self.expr(a)?, self.expr(b)?),
            Some(Op::Mod(a, b)) => Step::Mod(self.expr(a)?, self.expr(b)?),
            Some(Op::Product(a, b)) => Step::Product(self.expr(a)?, self.expr(b)?),
            Some(Op::Min(a, b)) => Step::Min(self.expr(a)?, self.expr(b)?),
            Some(Op::Max(a, b)) => Step::Max(self.expr(a)?, self.expr(b)?),
            None => return Err(Error::TooLarge("the expression")),
        };
        let register = self.push(step);
        self.done.insert(Arc::as_ptr(node), register);
        Ok(register)
    }
}
