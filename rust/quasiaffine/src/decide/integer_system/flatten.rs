//! Flattening: expressions over a domain as linear forms over the columns of a system.
//!
//! `y floordiv n` becomes a column `q` with the row `y - n*q in [0, n - 1]`, `y mod n` the form `y - n*q`. A nonlinear
//! operation becomes a column that is tied to its operands. The points of the system are those of the domain, each
//! once: the added columns are functions of the variables' columns.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::linear::{Column, Linear, Span};
use super::System;
use crate::arithmetic::binary;
use crate::arithmetic::Binary;
use crate::domain::Domain;
use crate::error::Stop;
use crate::expr::{Expr, Parts};
use crate::meter::Meter;
use crate::span::WideInterval;

/// Builds a system, a column for each variable and each quotient.
#[derive(Clone, Default)]
pub(crate) struct Flattener {
    /// The columns and rows so far.
    pub system: System,
    quotients: FxHashMap<(Linear, i128), Column>,
    operations: FxHashMap<(Binary, Linear, Linear), Linear>,
}

/// The variables of a domain as forms over columns.
pub(crate) struct Environment<'d> {
    pub domain: &'d Domain,
    /// By flat number.
    pub values: Vec<Linear>,
    /// The forms of shared nodes, by address.
    known: FxHashMap<usize, Linear>,
}

impl<'d> Environment<'d> {
    pub fn new(domain: &'d Domain, values: Vec<Linear>) -> Environment<'d> {
        Environment { domain, values, known: FxHashMap::default() }
    }
}

impl Flattener {
    /// An expression as a form.
    pub fn flatten(&mut self, env: &mut Environment<'_>, e: &Expr, meter: &mut Meter) -> Result<Linear, Stop> {
        let node = match e {
            Expr::Const(c) => return Ok(Linear::constant((*c).into())),
            Expr::Var(v) => {
                let flat = env.domain.flat(*v).filter(|flat| *flat < env.values.len());
                return flat.map(|flat| env.values[flat].clone()).ok_or(Stop::Overflow);
            }
            Expr::Node(node) => Arc::as_ptr(node) as usize,
        };
        if let Some(form) = env.known.get(&node) {
            return Ok(form.clone());
        }
        meter.spend(1)?;
        let Some(op) = e.op() else { return Err(Stop::Overflow) };
        let form = match op.parts() {
            Parts::Sum(sum) => {
                let mut form = Linear::constant(sum.constant.into());
                for t in &sum.terms {
                    form.add_scaled(t.coefficient.into(), &self.flatten(env, &t.atom, meter)?)?;
                }
                form
            }
            Parts::Binary(op, a, b) => self.binary(env, op, [a, b], meter)?,
        };
        meter.spend(form.terms.len())?;
        env.known.insert(node, form.clone());
        Ok(form)
    }

    /// Requires the constraints of the domain.
    pub fn add_constraints(&mut self, env: &mut Environment<'_>, meter: &mut Meter) -> Result<(), Stop> {
        let domain = env.domain;
        for c in &domain.constraints {
            let form = self.flatten(env, &c.expr, meter)?;
            self.system.add_row(&form, c.interval.into())?;
        }
        Ok(())
    }

    fn binary(
        &mut self,
        env: &mut Environment<'_>,
        op: Binary,
        operands: [&Expr; 2],
        meter: &mut Meter,
    ) -> Result<Linear, Stop> {
        let a = self.flatten(env, operands[0], meter)?;
        let b = self.flatten(env, operands[1], meter)?;
        match (op, a.as_const(), b.as_const()) {
            (Binary::Product, Some(k), _) => scaled(&b, k),
            (Binary::Product, _, Some(k)) => scaled(&a, k),
            (Binary::FloorDiv, _, Some(n)) if n >= 1 => self.quotient(&a, n),
            (Binary::Mod, _, Some(n)) if n >= 1 => {
                let mut rest = a.clone();
                rest.add_scaled(-n, &self.quotient(&a, n)?)?;
                Ok(rest)
            }
            _ => self.operation(op, a, b),
        }
    }

    /// `a floordiv n`, for `n >= 1`.
    fn quotient(&mut self, a: &Linear, n: i128) -> Result<Linear, Stop> {
        if let Some(value) = a.as_const() {
            return Ok(Linear::constant(value.div_euclid(n)));
        }
        if let Some(column) = self.quotients.get(&(a.clone(), n)) {
            return Ok(Linear::atom(*column));
        }
        let column = self.system.add_quotient(a, n)?;
        self.quotients.insert((a.clone(), n), column);
        Ok(Linear::atom(column))
    }

    fn operation(&mut self, op: Binary, a: Linear, b: Linear) -> Result<Linear, Stop> {
        if let Some(known) = self.operations.get(&(op, a.clone(), b.clone())) {
            return Ok(known.clone());
        }
        let span = span_of(op, self.system.span(&a)?, self.system.span(&b)?).ok_or(Stop::Overflow)?;
        let value = Linear::atom(self.system.add_column(span));
        if matches!(op, Binary::Min | Binary::Max) {
            for operand in [&a, &b] {
                let difference = if op == Binary::Min { operand.minus(&value)? } else { value.minus(operand)? };
                let upper = self.system.span(&difference)?.hi;
                self.system.add_row(&difference, Span { lo: 0, hi: upper.max(0) })?;
            }
        }
        self.system.add_nonlinear(op, value.clone(), a.clone(), b.clone());
        self.operations.insert((op, a, b), value.clone());
        Ok(value)
    }
}

fn scaled(form: &Linear, k: i128) -> Result<Linear, Stop> {
    let mut out = Linear::default();
    out.add_scaled(k, form)?;
    Ok(out)
}

impl System {
    /// A column that is `a floordiv n`, for `n >= 1`.
    pub(super) fn add_quotient(&mut self, a: &Linear, n: i128) -> Result<Column, Stop> {
        let of_a = self.span(a)?;
        let column = self.add_column(Span { lo: of_a.lo.div_euclid(n), hi: of_a.hi.div_euclid(n) });
        let mut rest = a.clone();
        rest.add_term(crate::int::neg(n)?, column)?;
        self.add_row(&rest, Span { lo: 0, hi: n - 1 })?;
        Ok(column)
    }
}

/// The values of an operation on such operands; `None` if an end has more than 125 bits.
pub(super) fn span_of(op: Binary, a: Span, b: Span) -> Option<Span> {
    let wide = |span: Span| WideInterval::between(span.lo, span.hi);
    let WideInterval { lo, hi } = binary(op, wide(a), wide(b));
    (lo != i128::MIN && hi != i128::MAX).then_some(Span { lo, hi })
}
