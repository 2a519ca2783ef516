//! The search: independent parts one by one, each by branching on a quotient of strides or on a column.

use super::linear::{Column, Span};
use super::presolve::{Halt, Split};
use super::System;
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
    let parts = parts(&system);
    if parts.len() < 2 {
        return branch(system, meter, depth);
    }
    let mut values: Vec<i128> = system.columns.iter().map(|s| s.closest_to_0()).collect();
    let mut stopped = None;
    for columns in parts {
        let part = system.part(&columns);
        meter.spend(part.rows.len())?;
        match search(part, meter, depth + 1) {
            Ok(None) => return Ok(None),
            Ok(Some(found)) => columns.iter().for_each(|c| values[*c as usize] = found[*c as usize]),
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
    let mut children: Vec<System> = Vec::new();
    if let Some((at, split)) = system.fewest_quotients()? {
        for quotient in split.quotients.lo..=split.quotients.hi {
            let mut child = system.clone();
            child.apply(at, &split, quotient)?;
            children.push(child);
        }
    } else if let Some(column) = system.narrowest() {
        for span in pieces(system.columns[column as usize]) {
            let mut child = system.clone();
            child.columns[column as usize] = span;
            children.push(child);
        }
    } else if system.is_solved() {
        let values = system.columns.iter().map(|s| s.closest_to_0()).collect();
        return system.complete(values).map(Some);
    } else {
        // Presolving ended before it examined the fixed columns.
        return search(system, meter, depth + 1);
    }
    let mut stopped = None;
    for child in children {
        meter.spend(child.columns.len())?;
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
        let rows = self.rows.iter().map(|row| row.form.terms.iter().map(|t| t.0).collect());
        let operations = self.nonlinear.iter().map(|n| {
            let forms = [&n.value, &n.a, &n.b];
            forms.iter().flat_map(|form| form.terms.iter().map(|t| t.0)).collect()
        });
        let functions = self.functions.iter().map(|f| {
            let forms = f.differences.iter().chain([&f.values]);
            forms.flat_map(|form| form.terms.iter().map(|t| t.0)).collect()
        });
        rows.chain(operations).chain(functions)
    }

    /// The subsystem of some columns that share no condition with the others.
    fn part(&self, columns: &[Column]) -> System {
        let own = |form: &super::Linear| form.terms.first().map(|t| columns.binary_search(&t.0).is_ok());
        System {
            columns: self.columns.clone(),
            rows: self.rows.iter().filter(|r| own(&r.form) == Some(true)).cloned().collect(),
            nonlinear: self
                .nonlinear
                .iter()
                .filter(|n| [&n.value, &n.a, &n.b].into_iter().find_map(own) == Some(true))
                .cloned()
                .collect(),
            functions: self
                .functions
                .iter()
                .filter(|f| f.differences.iter().chain([&f.values]).find_map(own) == Some(true))
                .cloned()
                .collect(),
            eliminated: Vec::new(),
        }
    }

    /// The row whose strides allow the fewest quotients, if that is only a few.
    fn fewest_quotients(&self) -> Result<Option<(usize, Split)>, Stop> {
        let mut best: Option<(usize, Split)> = None;
        let width = |split: &Split| split.quotients.hi - split.quotients.lo;
        for at in 0..self.rows.len() {
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
