//! The search: independent parts one by one, each by branching on a quotient of strides or on a column.

use super::linear::{Column, Linear, Span, Term};
use super::presolve::{Halt, Split};
use super::{Nonlinear, Row, SameFunction, System};
use crate::components::components;
use crate::error::Stop;
use crate::limits::{ALTERNATIVES, DEPTH};
use crate::meter::Meter;

/// Finds values of all columns that satisfy every condition.
pub(super) fn search(mut system: System, meter: &mut Meter, depth: usize) -> Result<Option<Vec<i128>>, Stop> {
    match system.presolve(meter) {
        Err(Halt::Infeasible) => return Ok(None),
        Err(Halt::Stop(stop)) => return Err(stop),
        Ok(()) => {}
    }
    if depth > usize::from(DEPTH) {
        return Err(Stop::Effort);
    }
    // Each level goes through all terms a few times: for its parts, for the column, and for the copy of its first child.
    meter.spend(system.n_terms())?;
    let parts = parts(&system);
    if parts.len() < 2 {
        return branch(system, meter, depth);
    }
    let mut values: Vec<i128> = system.columns.iter().map(|s| s.closest_to_0()).collect();
    let mut stopped = None;
    for (part, columns) in system.divided(&parts).into_iter().zip(&parts) {
        meter.spend(part.rows.len())?;
        match search(part, meter, depth + 1) {
            Ok(None) => return Ok(None),
            Ok(Some(found)) => columns.iter().zip(found).for_each(|(c, x)| values[*c as usize] = x),
            // Another part may have no solution.
            Err(stop) => stopped = stopped.or(Some(stop)),
        }
    }
    match stopped {
        Some(stop) => Err(stop),
        None => system.complete(values).map(Some),
    }
}

/// Tries the alternatives for one quotient or column.
fn branch(system: System, meter: &mut Meter, depth: usize) -> Result<Option<Vec<i128>>, Stop> {
    if let Some((at, split)) = system.fewest_quotients(meter)? {
        let quotients = split.quotients.lo..=split.quotients.hi;
        return first_solution(&system, quotients, meter, depth, |child, quotient| child.apply(at, &split, quotient));
    }
    if let Some(column) = system.narrowest() {
        let pieces = pieces(system.columns[column as usize]);
        return first_solution(&system, pieces, meter, depth, |child, span| {
            child.columns[column as usize] = span;
            Ok(())
        });
    }
    if system.is_solved() {
        let values = system.columns.iter().map(|s| s.closest_to_0()).collect();
        return system.complete(values).map(Some);
    }
    // Presolving ended before it examined the fixed columns.
    search(system, meter, depth + 1)
}

/// The first solution of the system with one of some changes.
fn first_solution<T>(
    system: &System,
    changes: impl Iterator<Item = T>,
    meter: &mut Meter,
    depth: usize,
    change: impl Fn(&mut System, T) -> Result<(), Stop>,
) -> Result<Option<Vec<i128>>, Stop> {
    let (size, mut stopped) = (system.n_terms(), None);
    for (i, choice) in changes.enumerate() {
        meter.spend(if i == 0 { 0 } else { size })?;
        let mut child = system.clone();
        change(&mut child, choice)?;
        match search(child, meter, depth + 1) {
            Ok(None) => {}
            Ok(Some(found)) => return Ok(Some(found)),
            Err(stop) => stopped = stopped.or(Some(stop)),
        }
    }
    stopped.map_or(Ok(None), Err)
}

/// Splits a span into the value closest to 0 and the others, halved if there are many.
fn pieces(span: Span) -> impl Iterator<Item = Span> {
    let first = span.closest_to_0();
    let (below, above) = (Span { hi: first - 1, ..span }, Span { lo: first + 1, ..span });
    let halves = |s: Span| {
        let middle = s.lo + (s.hi - s.lo) / 2;
        let cut = if s.hi - s.lo < 8 { s.hi } else { middle };
        [Span { hi: cut, ..s }, Span { lo: cut + 1, ..s }]
    };
    let [far, near] = halves(below);
    [Span::point(first)].into_iter().chain(halves(above)).chain([near, far]).filter(|s| s.lo <= s.hi)
}

/// The columns that occur in a condition, in groups that share none.
fn parts(system: &System) -> Vec<Vec<Column>> {
    let conditions: Vec<Vec<usize>> =
        system.conditions().map(|columns| columns.into_iter().map(|c| c as usize).collect()).collect();
    let mut occurs = vec![false; system.columns.len()];
    conditions.iter().flatten().for_each(|c| occurs[*c] = true);
    let roots = components(occurs.len(), conditions);
    let mut out: Vec<Vec<Column>> = vec![Vec::new(); roots.len()];
    for (column, root) in roots.iter().enumerate().filter(|(c, _)| occurs[*c]) {
        out[*root].push(column as Column);
    }
    out.retain(|part| !part.is_empty());
    out
}

impl System {
    /// The columns of each row and each operation.
    fn conditions(&self) -> impl Iterator<Item = Vec<Column>> + '_ {
        let rows = self.rows.iter().map(|row| row.form.terms.iter().map(|t| t.atom).collect());
        let operations = self.nonlinear.iter().map(|n| {
            let forms = [&n.value, &n.a, &n.b];
            forms.iter().flat_map(|form| form.terms.iter().map(|t| t.atom)).collect()
        });
        let functions = self.functions.iter().map(|f| {
            let forms = f.differences.iter().chain([&f.values]);
            forms.flat_map(|form| form.terms.iter().map(|t| t.atom)).collect()
        });
        rows.chain(operations).chain(functions)
    }

    /// The number of columns and of terms of all conditions: the effort of a copy.
    pub(crate) fn n_terms(&self) -> usize {
        let of_rows = self.rows.iter().map(|row| 1 + row.form.terms.len());
        let of_operations = self.nonlinear.iter().flat_map(|n| [&n.value, &n.a, &n.b]);
        let of_functions = self.functions.iter().flat_map(|f| f.differences.iter().chain([&f.values]));
        let of_forms = of_operations.chain(of_functions).map(|form| 1 + form.terms.len());
        self.columns.len() + self.eliminated.len() + of_rows.chain(of_forms).sum::<usize>()
    }

    /// Splits the system into independent parts, each with its own columns, renumbered.
    fn divided(&self, parts: &[Vec<Column>]) -> Vec<System> {
        // The part of each column, and its number there.
        let mut places: Vec<(usize, Column)> = vec![(0, 0); self.columns.len()];
        for (part, columns) in parts.iter().enumerate() {
            columns.iter().zip(0..).for_each(|(c, number)| places[*c as usize] = (part, number));
        }
        let own = |columns: &Vec<Column>| columns.iter().map(|c| self.columns[*c as usize]).collect();
        let mut systems: Vec<System> =
            parts.iter().map(|columns| System { columns: own(columns), ..System::default() }).collect();
        let place = |form: &Linear| form.terms.first().map(|t| places[t.atom as usize].0);
        let moved = |form: &Linear| {
            let terms = form.terms.iter().map(|t| Term { atom: places[t.atom as usize].1, ..*t }).collect();
            Linear { constant: form.constant, terms }
        };
        for row in &self.rows {
            if let Some(part) = place(&row.form) {
                systems[part].rows.push(Row { form: moved(&row.form), span: row.span });
            }
        }
        for n in &self.nonlinear {
            if let Some(part) = [&n.value, &n.a, &n.b].into_iter().find_map(place) {
                let (value, a, b) = (moved(&n.value), moved(&n.a), moved(&n.b));
                systems[part].nonlinear.push(Nonlinear { op: n.op, value, a, b });
            }
        }
        for f in &self.functions {
            if let Some(part) = f.differences.iter().chain([&f.values]).find_map(place) {
                let differences = f.differences.iter().map(moved).collect();
                systems[part].functions.push(SameFunction { differences, values: moved(&f.values) });
            }
        }
        systems
    }

    /// The row whose strides allow the fewest quotients, if that is only a few.
    fn fewest_quotients(&self, meter: &mut Meter) -> Result<Option<(usize, Split)>, Stop> {
        let mut best: Option<(usize, Split)> = None;
        let width = |split: &Split| split.quotients.hi - split.quotients.lo;
        for at in 0..self.rows.len() {
            meter.spend(self.rows[at].form.terms.len())?;
            // Presolving has seen that every row has a quotient.
            let Ok(Some(split)) = self.split(at) else { continue };
            if width(&split) < ALTERNATIVES as i128 && best.as_ref().is_none_or(|(_, b)| width(&split) < width(b)) {
                best = Some((at, split));
            }
        }
        Ok(best)
    }

    /// The column with the fewest values, of those that occur in a condition and have several.
    fn narrowest(&self) -> Option<Column> {
        let columns = self.conditions().flatten().filter(|c| self.columns[*c as usize].as_point().is_none());
        columns.min_by_key(|c| (self.columns[*c as usize].hi - self.columns[*c as usize].lo, *c))
    }

    /// Whether no condition is left, so that every column may take any of its values.
    fn is_solved(&self) -> bool {
        self.rows.is_empty() && self.nonlinear.is_empty() && self.functions.is_empty()
    }

    /// Adds the values of the eliminated columns.
    fn complete(&self, mut values: Vec<i128>) -> Result<Vec<i128>, Stop> {
        for (column, form) in self.eliminated.iter().rev() {
            values[*column as usize] = form.at(&values)?;
        }
        Ok(values)
    }
}
