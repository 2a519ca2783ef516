//! Presolving: an equivalent system with narrower spans, smaller rows and fewer columns, or a proof of infeasibility.
//!
//! Every step keeps the set of solutions, up to columns that become forms of others.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::flatten::span_of;
use super::linear::{ceil_div, floor_div, gcd, Column, Linear, Span, Term};
use super::{Nonlinear, Row, System};
use crate::arithmetic::Binary;
use crate::error::Stop;
use crate::int::{add, mul, neg, sub};
use crate::limits::{ROUNDS, VALUES};
use crate::meter::Meter;

/// The reason why presolving ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The system has no solution.
    Infeasible,
    /// A number or the effort is past its limit.
    Stop(Stop),
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Halt {
        Halt::Stop(stop)
    }
}

/// The number of passes between two combinations of rows; rows are also combined before presolving ends.
const COMBINE_EVERY: usize = 4;

/// A row cut in two if its strides leave gaps: the terms of large coefficients are `divisor * m` with `m` in
/// `quotients`.
pub(super) struct Split {
    prefix: Linear,
    suffix: Linear,
    divisor: i128,
    pub quotients: Span,
}

impl System {
    /// Narrows and shrinks the system until nothing changes. Spans that narrow in small steps are left to the search.
    pub(super) fn presolve(&mut self, meter: &mut Meter) -> Result<(), Halt> {
        for pass in 0..ROUNDS {
            let mut changed = self.normalize_rows(meter)?;
            changed |= self.tighten(meter)?;
            changed |= self.split_rows(meter)?;
            changed |= self.eliminate(meter)?;
            changed |= self.propagate_operations(meter)?;
            changed |= self.propagate_functions(meter)?;
            // Rows that contradict each other may narrow spans in small steps without end.
            if !changed || pass % COMBINE_EVERY == COMBINE_EVERY - 1 {
                changed |= self.combine_rows(meter)?;
            }
            if !changed {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Adds sums and differences of two rows that are tighter than the spans of their columns: those in which a column
    /// cancels and at most two are left, and those that are a multiple of another row. Returns whether there were any.
    fn combine_rows(&mut self, meter: &mut Meter) -> Result<bool, Halt> {
        if self.rows.len() > VALUES {
            return Ok(false);
        }
        let known: FxHashMap<Linear, Span> = self.rows.iter().map(|row| (row.form.clone(), row.span)).collect();
        let mut new: Vec<Row> = Vec::new();
        for (i, x) in self.rows.iter().enumerate() {
            for y in &self.rows[i + 1..] {
                if !x.form.terms.iter().any(|t| y.form.coefficient(t.atom) != 0) {
                    continue;
                }
                for sign in [-1, 1] {
                    meter.spend(x.form.terms.len() + y.form.terms.len())?;
                    let mut form = x.form.clone();
                    form.add_scaled(sign, &y.form)?;
                    let is_short = form.terms.len() <= 2;
                    if !is_short && content(&form)? == 1 {
                        continue;
                    }
                    let other = y.span.scaled(sign)?;
                    let span = Span { lo: add(x.span.lo, other.lo)?, hi: add(x.span.hi, other.hi)? };
                    if let Some(row) = normalize(Row { form, span }, &self.columns)? {
                        let is_new = known.get(&row.form).map_or(is_short, |span| !row.span.covers(*span));
                        new.extend(is_new.then_some(row));
                    }
                }
            }
        }
        let changed = !new.is_empty();
        self.rows.extend(new);
        Ok(changed)
    }

    /// Removes fixed columns and common factors from rows. A row of one column becomes its span, parallel rows become
    /// one, and rows that always hold are dropped. Returns whether that changed anything.
    fn normalize_rows(&mut self, meter: &mut Meter) -> Result<bool, Halt> {
        let mut changed = false;
        let mut kept: Vec<Row> = Vec::with_capacity(self.rows.len());
        let mut numbers: FxHashMap<Linear, usize> = FxHashMap::default();
        for row in std::mem::take(&mut self.rows) {
            meter.spend(row.form.terms.len())?;
            let Some(row) = normalize(row, &self.columns)? else {
                continue;
            };
            if let [Term { atom: column, .. }] = row.form.terms[..] {
                changed |= self.narrow(column, row.span)?;
                continue;
            }
            match numbers.get(&row.form) {
                Some(at) => {
                    let both: &mut Row = &mut kept[*at];
                    both.span = both.span.intersect(row.span);
                    if both.span.lo > both.span.hi {
                        return Err(Halt::Infeasible);
                    }
                }
                None => {
                    numbers.insert(row.form.clone(), kept.len());
                    kept.push(row);
                }
            }
        }
        self.rows = kept;
        Ok(changed)
    }

    /// Intersects the span of a column. Returns whether it became narrower.
    fn narrow(&mut self, column: Column, by: Span) -> Result<bool, Halt> {
        let own = &mut self.columns[column as usize];
        let both = own.intersect(by);
        if both.lo > both.hi {
            return Err(Halt::Infeasible);
        }
        let changed = both != *own;
        *own = both;
        Ok(changed)
    }

    /// Narrows the span of every column by every row.
    fn tighten(&mut self, meter: &mut Meter) -> Result<bool, Halt> {
        let rows = std::mem::take(&mut self.rows);
        let mut changed = false;
        for row in &rows {
            meter.spend(row.form.terms.len())?;
            changed |= self.tighten_by(&row.form, row.span)?;
        }
        self.rows = rows;
        Ok(changed)
    }

    fn tighten_by(&mut self, form: &Linear, span: Span) -> Result<bool, Halt> {
        let all = self.span(form)?;
        let mut changed = false;
        for t in &form.terms {
            let own = self.columns[t.atom as usize].scaled(t.coefficient)?;
            // The others lie in `[all.lo - own.lo, all.hi - own.hi]`, by the spans from before this row: wider is safe.
            let lo = sub(span.lo, sub(all.hi, own.hi)?)?;
            let hi = sub(span.hi, sub(all.lo, own.lo)?)?;
            changed |= self.narrow(t.atom, Span { lo, hi }.divided(t.coefficient)?)?;
        }
        Ok(changed)
    }

    /// Cuts rows in two at strides that allow a single quotient.
    fn split_rows(&mut self, meter: &mut Meter) -> Result<bool, Halt> {
        let mut changed = false;
        let mut at = 0;
        while at < self.rows.len() {
            meter.spend(self.rows[at].form.terms.len())?;
            match self.split(at)? {
                Some(split) if split.quotients.lo == split.quotients.hi => {
                    self.apply(at, &split, split.quotients.lo)?;
                    changed = true;
                }
                _ => at += 1,
            }
        }
        Ok(changed)
    }

    /// The split of a row with the fewest quotients.
    pub(super) fn split(&self, at: usize) -> Result<Option<Split>, Halt> {
        let row = &self.rows[at];
        if row.form.terms.len() < 2 {
            return Ok(None);
        }
        let mut terms = row.form.terms.clone();
        terms.sort_by_key(|t| std::cmp::Reverse(t.coefficient.unsigned_abs()));
        let mut ends: SmallVec<[Span; 6]> = SmallVec::new();
        let mut rest = Span::point(0);
        for t in terms.iter().rev() {
            ends.push(rest);
            let term = self.columns[t.atom as usize].scaled(t.coefficient)?;
            rest = Span { lo: add(rest.lo, term.lo)?, hi: add(rest.hi, term.hi)? };
        }
        let (mut best, mut divisor): (Option<(usize, i128, Span)>, i128) = (None, 0);
        for (i, t) in terms.iter().enumerate() {
            divisor = gcd(divisor, t.coefficient)?;
            if divisor == 1 || i + 1 == terms.len() {
                break;
            }
            let behind = ends[terms.len() - 1 - i];
            let front = Span { lo: sub(rest.lo, behind.lo)?, hi: sub(rest.hi, behind.hi)? };
            let wanted = Span { lo: sub(row.span.lo, behind.hi)?, hi: sub(row.span.hi, behind.lo)? }.intersect(front);
            let quotients = Span { lo: ceil_div(wanted.lo, divisor), hi: floor_div(wanted.hi, divisor) };
            if quotients.lo > quotients.hi {
                return Err(Halt::Infeasible);
            }
            let width = |s: Span| s.hi.saturating_sub(s.lo);
            if best.as_ref().is_none_or(|(_, _, fewest)| width(quotients) < width(*fewest)) {
                best = Some((i + 1, divisor, quotients));
            }
        }
        let Some((n, divisor, quotients)) = best else { return Ok(None) };
        let (mut prefix, mut suffix) = (Linear::default(), Linear::default());
        for (i, t) in terms.iter().enumerate() {
            if i < n {
                prefix.add_term(t.coefficient / divisor, t.atom)?;
            } else {
                suffix.add_term(t.coefficient, t.atom)?;
            }
        }
        Ok(Some(Split { prefix, suffix, divisor, quotients }))
    }

    /// Replaces a row by the two parts of its split, for one of the quotients.
    pub(super) fn apply(&mut self, at: usize, split: &Split, quotient: i128) -> Result<(), Stop> {
        let row = self.rows.swap_remove(at);
        self.add_row(&split.prefix, Span::point(quotient))?;
        self.add_row(&split.suffix, row.span.minus(mul(split.divisor, quotient)?)?)
    }

    /// Writes a column of each equality as a form of the others.
    fn eliminate(&mut self, meter: &mut Meter) -> Result<bool, Halt> {
        let is_equality = |row: &Row| row.span.as_point().is_some();
        let Some(mut first) = self.rows.iter().position(is_equality) else { return Ok(false) };
        let mut places = Places::default();
        for (at, row) in self.rows.iter().enumerate() {
            meter.spend(row.form.terms.len())?;
            places.add(at, &row.form);
        }
        let mut changed = false;
        // No step makes an earlier row an equality.
        while let Some(next) = self.rows[first..].iter().position(is_equality) {
            meter.spend(next)?;
            first += next;
            let row = self.rows.swap_remove(first);
            if let Some(moved) = self.rows.get(first) {
                meter.spend(moved.form.terms.len())?;
                places.add(first, &moved.form);
            }
            // Earlier substitutions may have left factors and fixed columns.
            let Some(mut row) = normalize(row, &self.columns)? else { continue };
            if let [Term { atom: column, .. }] = row.form.terms[..] {
                self.narrow(column, row.span)?;
                continue;
            }
            changed = true;
            let Some(value) = row.span.as_point() else {
                places.add(self.rows.len(), &row.form);
                self.rows.push(row);
                continue;
            };
            while !row.form.terms.is_empty() {
                if let Some(Term { coefficient: k, atom: column }) = self.pivot(&row.form, &mut places, meter)? {
                    // k * x + rest = value, with k = 1 or -1.
                    let mut rest = row.form.clone();
                    rest.add_term(neg(k)?, column)?;
                    let mut form = Linear::constant(mul(k, value)?);
                    form.add_scaled(neg(k)?, &rest)?;
                    self.substitute(column, form, &mut places, meter)?;
                    break;
                }
                self.reduce(&mut row.form, &mut places, meter)?;
            }
        }
        Ok(changed)
    }

    /// The column with a coefficient of 1 or -1 that occurs in the fewest rows.
    fn pivot(&self, form: &Linear, places: &mut Places, meter: &mut Meter) -> Result<Option<Term>, Stop> {
        let mut best: Option<(usize, Term)> = None;
        for t in form.terms.iter().filter(|t| t.coefficient == 1 || t.coefficient == -1) {
            let n = places.of(t.atom, &self.rows, meter)?.len();
            if best.is_none_or(|(fewest, _)| n < fewest) {
                best = Some((n, *t));
            }
        }
        Ok(best.map(|(_, one)| one))
    }

    /// One step of Euclid's algorithm on the coefficients of an equality: for the smallest one, `a`, the column is
    /// replaced by `t = x + sum of (a_j / a) * x_j`, which leaves the other coefficients smaller than `a`.
    fn reduce(&mut self, form: &mut Linear, places: &mut Places, meter: &mut Meter) -> Result<(), Halt> {
        meter.spend(form.terms.len())?;
        let smallest = form.terms.iter().min_by_key(|t| t.coefficient.unsigned_abs());
        let Term { coefficient: a, atom: column } = *smallest.ok_or(Stop::Overflow)?;
        let mut t = Linear::atom(column);
        for other in form.terms.iter().filter(|other| other.atom != column) {
            // The quotient with the remainder of the smallest size.
            let k = other.coefficient;
            let floor = if a > 0 { floor_div(k, a) } else { floor_div(neg(k)?, neg(a)?) };
            let remainder = k - floor * a;
            let nearest = if remainder.unsigned_abs() * 2 > a.unsigned_abs() { floor + 1 } else { floor };
            t.add_term(nearest, other.atom)?;
        }
        let span = self.span(&t)?;
        let new = self.add_column(span);
        // x = new - (t - x)
        let mut x = Linear::atom(new);
        x.add_scaled(-1, &t)?;
        x.add_term(1, column)?;
        form.replace(column, &x)?;
        self.substitute(column, x, places, meter)
    }

    /// Replaces a column by a form everywhere.
    fn substitute(&mut self, column: Column, by: Linear, places: &mut Places, meter: &mut Meter) -> Result<(), Halt> {
        for at in places.of(column, &self.rows, meter)? {
            let row = &mut self.rows[at as usize];
            row.form.replace(column, &by)?;
            meter.spend(row.form.terms.len() + by.terms.len())?;
            row.span = row.span.minus(row.form.constant)?;
            row.form.constant = 0;
            places.add(at as usize, &by);
        }
        meter.spend(self.nonlinear.len() + self.functions.len())?;
        for n in &mut self.nonlinear {
            for form in [&mut n.value, &mut n.a, &mut n.b] {
                form.replace(column, &by)?;
            }
        }
        for f in &mut self.functions {
            for form in f.differences.iter_mut().chain([&mut f.values]) {
                form.replace(column, &by)?;
            }
        }
        // A bound on a single column is not kept as a row: in a chain, each elimination would rewrite the earlier rows.
        let span = self.columns[column as usize].minus(by.constant)?;
        match normalize(Row { form: Linear { constant: 0, ..by.clone() }, span }, &self.columns)? {
            Some(Row { form, span }) if form.terms.len() == 1 => drop(self.narrow(form.terms[0].atom, span)?),
            Some(row) => {
                places.add(self.rows.len(), &row.form);
                self.rows.push(row);
            }
            None => {}
        }
        self.eliminated.push((column, by));
        Ok(())
    }

    /// Narrows values by their operands, and makes operations linear whose operands allow it.
    fn propagate_operations(&mut self, meter: &mut Meter) -> Result<bool, Halt> {
        let mut changed = false;
        for mut n in std::mem::take(&mut self.nonlinear) {
            for form in [&mut n.value, &mut n.a, &mut n.b] {
                meter.spend(form.terms.len())?;
                *form = without_fixed(form, &self.columns)?;
            }
            if self.linearize(&n)? {
                changed = true;
                continue;
            }
            if let Some(span) = span_of(n.op, self.span(&n.a)?, self.span(&n.b)?) {
                changed |= self.tighten_by(&n.value, span)?;
            }
            self.nonlinear.push(n);
        }
        Ok(changed)
    }

    fn linearize(&mut self, n: &Nonlinear) -> Result<bool, Halt> {
        let (a, b) = (self.span(&n.a)?, self.span(&n.b)?);
        let equal = |form: &Linear, k: i128| -> Result<Linear, Stop> {
            let mut difference = n.value.clone();
            difference.add_scaled(neg(k)?, form)?;
            Ok(difference)
        };
        let zero = match n.op {
            Binary::Product if a.as_point().is_some() => equal(&n.b, a.lo)?,
            Binary::Product if b.as_point().is_some() => equal(&n.a, b.lo)?,
            Binary::Min if a.hi <= b.lo => equal(&n.a, 1)?,
            Binary::Min if b.hi <= a.lo => equal(&n.b, 1)?,
            Binary::Max if a.hi <= b.lo => equal(&n.b, 1)?,
            Binary::Max if b.hi <= a.lo => equal(&n.a, 1)?,
            Binary::FloorDiv | Binary::Mod if b.hi < 1 => return Err(Halt::Infeasible),
            Binary::FloorDiv | Binary::Mod if b.as_point().is_some() => {
                let quotient = Linear::atom(self.add_quotient(&n.a, b.lo)?);
                let mut rest = n.a.clone();
                rest.add_scaled(neg(b.lo)?, &quotient)?;
                equal(if n.op == Binary::Mod { &rest } else { &quotient }, 1)?
            }
            _ => return Ok(false),
        };
        self.add_row(&zero, Span::point(0))?;
        Ok(true)
    }

    /// Equal arguments give equal values.
    fn propagate_functions(&mut self, meter: &mut Meter) -> Result<bool, Halt> {
        let mut changed = false;
        for f in std::mem::take(&mut self.functions) {
            let (mut open, mut differ) = (false, false);
            for difference in &f.differences {
                meter.spend(difference.terms.len())?;
                let span = self.span(difference)?;
                open |= span != Span::point(0);
                differ |= span.lo > 0 || span.hi < 0;
            }
            if open && !differ {
                self.functions.push(f);
            } else if !differ {
                changed = true;
                self.add_row(&f.values, Span::point(0))?;
            }
        }
        Ok(changed)
    }
}

/// The rows in which each column occurs, and some in which it occurs no more.
#[derive(Default)]
struct Places {
    of_column: Vec<SmallVec<[u32; 4]>>,
}

impl Places {
    fn add(&mut self, at: usize, form: &Linear) {
        let n_columns = form.terms.last().map_or(0, |t| t.atom as usize + 1);
        if self.of_column.len() < n_columns {
            self.of_column.resize_with(n_columns, SmallVec::new);
        }
        form.terms.iter().for_each(|t| self.of_column[t.atom as usize].push(at as u32));
    }

    /// The rows of a column, in order.
    fn of(&mut self, column: Column, rows: &[Row], meter: &mut Meter) -> Result<SmallVec<[u32; 4]>, Stop> {
        let Some(found) = self.of_column.get_mut(column as usize) else { return Ok(SmallVec::new()) };
        meter.spend(found.len())?;
        found.sort_unstable();
        found.dedup();
        found.retain(|at| rows.get(*at as usize).is_some_and(|row| row.form.coefficient(column) != 0));
        Ok(found.clone())
    }
}

/// The greatest common divisor of the coefficients.
fn content(form: &Linear) -> Result<i128, Stop> {
    form.terms.iter().try_fold(0, |g, t| gcd(g, t.coefficient))
}

/// A form with the values of fixed columns in its constant.
fn without_fixed(form: &Linear, columns: &[Span]) -> Result<Linear, Stop> {
    let mut out = Linear::constant(form.constant);
    for t in &form.terms {
        match columns[t.atom as usize].as_point() {
            Some(value) => out.add_constant(t.coefficient, value)?,
            None => out.terms.push(*t),
        }
    }
    Ok(out)
}

/// A row without fixed columns and common factors, its first coefficient positive, its span within what the columns
/// allow; `None` if it always holds.
fn normalize(row: Row, columns: &[Span]) -> Result<Option<Row>, Halt> {
    let mut form = without_fixed(&row.form, columns)?;
    let mut span = row.span.minus(form.constant)?;
    form.constant = 0;
    if span.lo > span.hi {
        return Err(Halt::Infeasible);
    }
    let Some(first) = form.terms.first() else {
        return if span.lo <= 0 && 0 <= span.hi { Ok(None) } else { Err(Halt::Infeasible) };
    };
    let factor = mul(content(&form)?, first.coefficient.signum())?;
    form.terms.iter_mut().for_each(|t| t.coefficient /= factor);
    span = span.divided(factor)?;
    let all = form.span(columns)?;
    if span.covers(all) {
        return Ok(None);
    }
    span = span.intersect(all);
    if span.lo > span.hi {
        return Err(Halt::Infeasible);
    }
    Ok(Some(Row { form, span }))
}
