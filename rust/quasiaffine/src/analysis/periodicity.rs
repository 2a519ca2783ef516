//! Whether a form is 0 at every point of a box, by the points of one window.
//!
//! Read [`is_zero`]. The terms fall into groups that share no variable, and the form is 0 where each group has one value
//! and these add up to 0. Each group is quasi-periodic: moving a variable by the least common multiple of the divisors
//! above it changes the group by a constant. So a window of one period and one step beyond decides it.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::affine::context::{AffineContext, AtomKind};
use crate::affine::form::{AffineForm, AtomId};
use crate::analysis::interval::Interval;
use crate::analysis::wide_interval::fits;
use crate::eval::points::{box_points, with_points};
use crate::eval::program::Program;
use crate::int::gcd;

/// About as many values are computed in the time in which a simplification looks at one term: half a nanosecond each in
/// the bench of evaluation, and 5 nanoseconds by [`crate::affine::context::Tally::NEW`].
const VALUES_A_TERM: usize = 10;

/// Whether a form is 0 all over the box of the variables. `None` where that is not decided, or would take more points than
/// the limit for some group; a form that is not 0 somewhere in the box may still be 0 all over a domain with constraints.
pub(crate) fn is_zero(cx: &mut AffineContext, form: &AffineForm, limit: u128) -> Option<bool> {
    if form.terms.is_empty() {
        return Some(form.constant == 0);
    }
    let (lo, hi) = cx.ends_of(form);
    if lo > 0 || hi < 0 {
        return Some(false);
    }
    let mut total = i128::from(form.constant);
    for group in groups(cx, form) {
        match constant_value(cx, &group, limit)? {
            Some(value) => total += i128::from(value),
            None => return Some(false),
        }
    }
    Some(total == 0)
}

/// The terms of a form, apart where they share no variable.
fn groups(cx: &AffineContext, form: &AffineForm) -> Vec<AffineForm> {
    let mut out: Vec<(FxHashSet<usize>, AffineForm)> = Vec::new();
    for t in &form.terms {
        let mut group = AffineForm { constant: 0, terms: SmallVec::from_slice(&[*t]) };
        let mut vars = vars_of(cx, &group);
        let (touching, apart): (Vec<_>, Vec<_>) = out.into_iter().partition(|(v, _)| !v.is_disjoint(&vars));
        out = apart;
        for (v, f) in touching {
            vars.extend(v);
            group.terms.extend(f.terms);
        }
        group.terms.sort_by_key(|t| t.atom);
        out.push((vars, group));
    }
    out.into_iter().map(|(_, f)| f).collect()
}

/// The variables of a form, by flat number.
fn vars_of(cx: &AffineContext, form: &AffineForm) -> FxHashSet<usize> {
    let mut vars = FxHashSet::default();
    let mut seen: FxHashSet<AtomId> = FxHashSet::default();
    let mut open: Vec<AtomId> = form.terms.iter().map(|t| t.atom).collect();
    while let Some(atom) = open.pop() {
        if !seen.insert(atom) {
            continue;
        }
        match cx.kind(atom) {
            AtomKind::Var(flat) => drop(vars.insert(*flat as usize)),
            AtomKind::Div(num, _) => open.extend(num.terms.iter().map(|t| t.atom)),
            AtomKind::Other(_, operands) => {
                open.extend(operands.0.terms.iter().chain(&operands.1.terms).map(|t| t.atom));
            }
        }
    }
    vars
}

/// The value of a form that is constant over the box of its variables; `Some(None)` where it is not constant, `None`
/// where it is not decided.
fn constant_value(cx: &mut AffineContext, form: &AffineForm, limit: u128) -> Option<Option<i64>> {
    let mut vars: Vec<usize> = vars_of(cx, form).into_iter().collect();
    vars.sort_unstable();
    let expr = crate::rules::extraction::extract(cx, form).ok()?;
    let domain = cx.interval_domain();
    let mut ranges: Vec<Interval> = domain.vars.iter().map(|v| v.interval).collect();
    // Values that wrap around say nothing.
    if !fits(&|v| domain.flat(v).map_or(Interval::ALL, |flat| ranges[flat]), &expr) {
        return None;
    }
    let mut beyond: Vec<(usize, i64)> = Vec::new();
    for v in &vars {
        let Some(period) = Periods::of(cx, *v).of_form(form) else { continue };
        let interval = &mut ranges[*v];
        if interval.size() > period as u128 {
            beyond.push((*v, interval.lo.checked_add(period)?));
            *interval = Interval::new(interval.lo, interval.lo + (period - 1));
        }
    }
    let size = vars.iter().fold(1u128, |n, v| n.saturating_mul(ranges[*v].size()));
    if size > limit {
        return None;
    }
    // For the whole box: the steps beyond the window are evaluated as well.
    let program = Program::of(&domain, &[expr]).ok()?;
    cx.spend(size as usize * program.n_steps() / VALUES_A_TERM).ok()?;
    let mut columns = box_points(&ranges, &vars, size as usize);
    // One step of a whole period for each variable, from the lower corner.
    for (v, value) in beyond {
        for (i, column) in columns.iter_mut().enumerate() {
            column.push(if i == v { value } else { ranges[i].lo });
        }
    }
    let values = with_points(&domain, &columns, |points| program.run::<false>(points)).ok()?;
    let first = *values.first()?;
    Some(values.iter().all(|v| *v == first).then_some(first))
}

/// By how much one variable may move so that forms and atoms change by a constant. Atoms stand in many others, and each
/// is looked at once.
struct Periods<'a> {
    cx: &'a AffineContext,
    v: usize,
    of_atoms: FxHashMap<AtomId, Option<i64>>,
    steps: FxHashMap<(AtomId, i64), Option<i128>>,
}

impl<'a> Periods<'a> {
    fn of(cx: &'a AffineContext, v: usize) -> Periods<'a> {
        Periods { cx, v, of_atoms: FxHashMap::default(), steps: FxHashMap::default() }
    }

    /// A number `m` such that moving the variable by `m` changes the form by a constant; `None` where none is known.
    fn of_form(&mut self, form: &AffineForm) -> Option<i64> {
        form.terms.iter().try_fold(1i64, |m, t| lcm(m, self.of_atom(t.atom)?))
    }

    fn of_atom(&mut self, atom: AtomId) -> Option<i64> {
        if let Some(known) = self.of_atoms.get(&atom) {
            return *known;
        }
        let found = match &self.cx.kind(atom) {
            AtomKind::Var(_) => Some(1),
            AtomKind::Other(..) => (!vars_of(self.cx, &AffineForm::atom(atom)).contains(&self.v)).then_some(1),
            AtomKind::Div(num, n) => self.of_div(num, *n),
        };
        self.of_atoms.insert(atom, found);
        found
    }

    /// Over one period of the numerator it moves by some step; after `n / gcd(step, n)` of them by a multiple of `n`.
    fn of_div(&mut self, num: &AffineForm, n: i64) -> Option<i64> {
        let inner = self.of_form(num)?;
        let step = self.step(num, inner)?;
        let g = gcd(i64::try_from(step.rem_euclid(i128::from(n))).ok()?, n)?;
        inner.checked_mul(n / g)
    }

    /// By how much a form changes when the variable moves by `m`, a multiple of its period.
    fn step(&mut self, form: &AffineForm, m: i64) -> Option<i128> {
        form.terms.iter().try_fold(0i128, |sum, t| {
            sum.checked_add(self.step_of_atom(t.atom, m)?.checked_mul(i128::from(t.coefficient))?)
        })
    }

    fn step_of_atom(&mut self, atom: AtomId, m: i64) -> Option<i128> {
        if let Some(known) = self.steps.get(&(atom, m)) {
            return *known;
        }
        let found = match &self.cx.kind(atom) {
            AtomKind::Var(flat) => Some(i128::from(if *flat as usize == self.v { m } else { 0 })),
            AtomKind::Other(..) => Some(0),
            AtomKind::Div(num, n) => self.step(num, m).map(|step| step.div_euclid(i128::from(*n))),
        };
        self.steps.insert((atom, m), found);
        found
    }
}

fn lcm(a: i64, b: i64) -> Option<i64> {
    (a / gcd(a, b)?).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_map;

    /// Whether the first result less the second is 0.
    fn zero(text: &str, limit: u128) -> Option<bool> {
        let map = parse_map(text).unwrap();
        let mut cx = AffineContext::new(map.domain());
        let [a, b] = [0, 1].map(|i| cx.linear(&map.results()[i]).unwrap());
        is_zero(&mut cx, &a.minus(&b).unwrap(), limit)
    }

    #[test]
    fn a_window_decides_large_boxes() {
        let domain = "domain: d0 in [0, 15], d1 in [0, 9500000]";
        let digit = "((((d0 + d1 * 4) floordiv 12) * -7 + d1) floordiv 4) mod 2";
        let text = format!("(d0, d1) -> ({digit}, (d1 floordiv 3) mod 2), {domain}");
        assert_eq!(zero(&text, 1 << 12), Some(true));
        assert_eq!(zero(&text.replace("15]", "16]"), 1 << 12), Some(false));
        // 16 values of one variable, and a period of 6 of the other.
        assert_eq!(zero(&text, 16 * 6), Some(true));
        assert_eq!(zero(&text, 16 * 6 - 1), None);
    }

    #[test]
    fn values_that_do_not_fit_decide_nothing() {
        let text =
            "(d0, d1) -> (d0 * 4611686018427387904, d1 * 4611686018427387904), domain: d0 in [0, HI], d1 in [0, HI]";
        assert_eq!(zero(&text.replace("HI", "1"), 1 << 12), Some(false));
        assert_eq!(zero(&text.replace("HI", "4"), 1 << 12), None);
    }

    #[test]
    fn a_step_beyond_the_window_may_need_all_bits() {
        let text = "(d0) -> ((d0 floordiv 10) * 4294967296, 0), domain: d0 in [0, 99]";
        assert_eq!(zero(text, 1 << 12), Some(false));
    }

    #[test]
    fn quotients_that_stand_in_one_another_are_looked_at_once() {
        // Written out, the last remainder would have some 2^60 terms.
        let mut e = "d0".to_string();
        for k in 0..60 {
            e = format!("({e} + d1) mod {}", 5 + k % 2);
        }
        let text = format!("(d0, d1) -> ({e}, d0), domain: d0 in [0, 4], d1 in [0, 1]");
        assert!(zero(&text, 1 << 12).is_some());
    }
}
