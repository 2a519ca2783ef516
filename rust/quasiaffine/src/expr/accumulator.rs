//! Builder for linear sums.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::error::Result;
use crate::expr::{Expr, Op, Sum, Term};
use crate::int;

/// Collects terms and makes the normal form of their sum.
///
/// A few terms are kept sorted as they come; many are sorted once, at the end, so that a long sum in any order costs
/// `n log n`.
#[derive(Default)]
pub struct Accumulator {
    constant: i64,
    terms: SmallVec<[Term; 3]>,
    unordered: bool,
}

const INSERT_LIMIT: usize = 24;

impl Accumulator {
    /// Adds `factor * expr`.
    pub fn add(&mut self, factor: i64, expr: &Expr) -> Result<()> {
        if factor == 0 {
            return Ok(());
        }
        match expr {
            Expr::Const(c) => self.constant = int::add(self.constant, int::mul(factor, *c)?)?,
            Expr::Node(node) => match &node.op {
                Op::Sum(sum) => {
                    self.constant = int::add(self.constant, int::mul(factor, sum.constant)?)?;
                    for term in &sum.terms {
                        self.add_term(int::mul(factor, term.coefficient)?, &term.atom)?;
                    }
                }
                _ => self.add_term(factor, expr)?,
            },
            Expr::Var(_) => self.add_term(factor, expr)?,
        }
        Ok(())
    }

    fn add_term(&mut self, coefficient: i64, atom: &Expr) -> Result<()> {
        let mut at = self.terms.len();
        while at > 0 && !self.unordered {
            match self.terms[at - 1].atom.cmp(atom) {
                Ordering::Less => break,
                Ordering::Equal => {
                    let total = int::add(self.terms[at - 1].coefficient, coefficient)?;
                    if total == 0 {
                        self.terms.remove(at - 1);
                    } else {
                        self.terms[at - 1].coefficient = total;
                    }
                    return Ok(());
                }
                Ordering::Greater => at -= 1,
            }
            if self.terms.len() - at > INSERT_LIMIT {
                self.unordered = true;
            }
        }
        let at = if self.unordered { self.terms.len() } else { at };
        self.terms.insert(at, Term { coefficient, atom: atom.clone() });
        Ok(())
    }

    fn order(&mut self) -> Result<()> {
        self.terms.sort_by(|a, b| a.atom.cmp(&b.atom));
        let mut merged: SmallVec<[Term; 3]> = SmallVec::new();
        for term in self.terms.drain(..) {
            match merged.last_mut() {
                Some(last) if last.atom == term.atom => {
                    last.coefficient = int::add(last.coefficient, term.coefficient)?;
                }
                _ => merged.push(term),
            }
        }
        merged.retain(|t| t.coefficient != 0);
        self.terms = merged;
        Ok(())
    }

    /// The sum in normal form.
    pub fn finish(mut self) -> Result<Expr> {
        if self.unordered {
            self.order()?;
        }
        Sum { constant: self.constant, terms: self.terms }.finish()
    }
}
