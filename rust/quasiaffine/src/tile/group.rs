//! Results that share variables, and the elements that they reach together in tiles of given sizes.
//!
//! `Group::answer` enumerates the products of the classes of all variables. If the image of a product is not known to
//! be a box, points are enumerated if there are few; else the numbers are bounds.

use crate::answer::Answer;
use crate::expr::intervals::interval;
use crate::limits::{EFFORT, NODES, PIECES};
use crate::span::WideInterval;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use smallvec::{smallvec, SmallVec};

use crate::cancel::once;
use crate::decide::injective::is_injective;
use crate::domain::Constraint;
use crate::eval::points::AllPoints;
use crate::expr::{Expr, Kind, Op, Var};
use crate::int;
use crate::map::Map;
use crate::meter::Meter;
use crate::span::Interval;
use crate::tile::class::{classes, TileClass};
use crate::tile::constraints::{exact_quotient, line, runtime_cut, var_of, without_runtime, Partner, RuntimeCut};
use crate::tile::cut_runs::sum_of_cut_runs;
use crate::tile::image::{image, Base, Refusal, Run, RuntimeValue, Tiles};
use crate::tile::runs::{tight_runs, BoxRun, TightRun, TileCount};

/// Results on common variables, with the constraints on these.
#[derive(Debug)]
pub(crate) struct Group {
    /// Flat numbers of the dimensions and ranges, in order.
    pub vars: SmallVec<[u32; 4]>,
    /// The numbers of the results.
    pub results: SmallVec<[usize; 4]>,
    exprs: SmallVec<[Expr; 4]>,
    /// For each result the values that a constraint allows.
    bounds: SmallVec<[Interval; 4]>,
    /// The results without their runtime summands.
    fixed: SmallVec<[Expr; 4]>,
    /// For each of these results the values that constraints allow.
    fixed_bounds: SmallVec<[Interval; 4]>,
    /// For each result the values that it has in the box of the domain.
    reach: SmallVec<[Interval; 4]>,
    /// The constraints on one variable and runtime values, which cut the ends of runs off.
    runtime_cuts: Vec<RuntimeCut>,
    /// Quotients without a remainder because of a constraint.
    exact_quotients: SmallVec<[(Expr, i64); 1]>,
    /// The only constraint, if it ties the variable of the only result, which is a line, to a variable of no result.
    partner: Option<Partner>,
    /// The other constraints.
    cuts: Vec<Constraint>,
    has_runtime: bool,
    /// The slope and shift of the only result, if the group is one variable and at most one result on a line.
    line: Option<Option<(i64, i64)>>,
    /// The group as a map over its variables as dimensions.
    alone: Option<Map>,
    points: OnceLock<Option<AllPoints>>,
    is_injective: OnceLock<bool>,
}

/// Data that all groups share.
#[derive(Clone)]
pub(crate) struct Common {
    pub n_dims: usize,
    /// The ranges of dimensions and ranges.
    pub intervals: SmallVec<[Interval; 8]>,
    /// The sizes of dimensions and ranges; the intervals may be parts of them.
    pub extents: SmallVec<[i64; 8]>,
    pub runtime: SmallVec<[RuntimeValue; 2]>,
    /// See [`FEW_POINTS`](crate::limits::FEW_POINTS).
    pub few_points: i64,
}

type Classes = SmallVec<[TileClass; 8]>;

/// The distinct values of each tile, by the numbers of the tile.
type ValuesByTile<'a> = FxHashMap<SmallVec<[i64; 4]>, Vec<&'a [i64]>>;

impl Group {
    pub fn new(
        map: &Map,
        vars: SmallVec<[u32; 4]>,
        results: SmallVec<[usize; 4]>,
        constraints: Vec<&Constraint>,
        has_runtime: bool,
    ) -> Group {
        let exprs: SmallVec<[Expr; 4]> = results.iter().map(|&r| map.results()[r].clone()).collect();
        let fixed: SmallVec<[Expr; 4]> = exprs.iter().map(without_runtime).collect();
        let of_var = |v: Var| map.domain().range_of(&Expr::Var(v));
        // An element has 64 bits.
        let reach = exprs.iter().map(|e| interval(&of_var, e, NODES).in_64_bits()).collect();
        let mut bounds: SmallVec<[Interval; 4]> = smallvec![Interval::ALL; exprs.len()];
        let mut fixed_bounds = bounds.clone();
        let (mut cuts, mut runtime_cuts) = (Vec::new(), Vec::new());
        let mut exact_quotients = SmallVec::new();
        for &c in &constraints {
            let on = |exprs: &[Expr]| exprs.iter().enumerate().find_map(|(i, e)| Some((i, c.on(e)?)));
            if let Some((i, interval)) = on(&fixed) {
                fixed_bounds[i] = fixed_bounds[i].intersect(interval);
            } else if let Some((i, interval)) = on(&exprs) {
                bounds[i] = bounds[i].intersect(interval);
            } else if let Some(cut) = runtime_cut(c, &vars, &exprs, map.domain().n_dims) {
                runtime_cuts.push(cut);
            } else if let Some(quotient) = exact_quotient(c, &exprs) {
                exact_quotients.push(quotient);
            } else {
                cuts.push(c.clone());
            }
        }
        let partner = match &constraints[..] {
            [c] if cuts.len() == 1 && !has_runtime => Partner::of(c, &vars, &exprs, map.domain().n_dims),
            _ => None,
        };
        let alone = if has_runtime {
            None
        } else {
            let flat: SmallVec<[usize; 4]> = vars.iter().map(|&v| v as usize).collect();
            Map::part(map.domain(), &flat, constraints.iter().copied(), &exprs).ok()
        };
        let (points, is_injective) = (OnceLock::new(), OnceLock::new());
        let is_plain = constraints.is_empty() && !has_runtime;
        let line = match (vars.as_slice(), exprs.as_slice()) {
            ([_], []) if is_plain => Some(None),
            ([v], [e]) if is_plain => {
                line(e, var_of(*v as usize, map.domain().n_dims)).filter(|(slope, _)| *slope != i64::MIN).map(Some)
            }
            _ => None,
        };
        Group {
            vars,
            results,
            exprs,
            bounds,
            fixed,
            fixed_bounds,
            reach,
            runtime_cuts,
            exact_quotients,
            partner,
            cuts,
            has_runtime,
            line,
            alone,
            points,
            is_injective,
        }
    }

    /// The elements that the group reaches in tiles of the sizes `n`, given for all variables by flat number.
    pub fn answer(&self, common: &Common, n: &[i64]) -> TileCount {
        let found = self.partnered(common, n).map_or_else(|| self.classified(common, n), Ok);
        match found {
            Ok(answer) if answer.largest_exact && answer.elements_exact => answer,
            Ok(answer) => self.enumerated(common, n, Refusal::NotABox).unwrap_or(answer),
            Err(refusal) => self.enumerated(common, n, refusal).unwrap_or_else(|| self.bounded(common, n, refusal)),
        }
    }

    /// The answer of the most frequent group: one variable, at most one result that is a multiple of it, and no constraint.
    /// Its elements, and the run of the result; without a result the number of tiles.
    #[inline]
    pub fn partition(&self, common: &Common, n: &[i64]) -> Option<(u128, Option<BoxRun>)> {
        let line = self.line?;
        let v = self.vars[0] as usize;
        let (n, interval) = (n[v], common.intervals[v]);
        let Some((slope, shift)) = line else {
            let tiles = interval.hi.div_euclid(n) - interval.lo.div_euclid(n) + 1;
            return Some((tiles as u128, None));
        };
        let points = i128::from(interval.hi) - i128::from(interval.lo) + 1;
        if slope > 0 && interval.lo == 0 && interval.hi >= n {
            // Every tile begins at a multiple of its size, and only the last one may be cut off.
            let gap = slope.checked_mul(n)?;
            let (stride, is_uniform) = (if n > 1 { slope } else { 1 }, interval.hi % n == n - 1);
            return Some((points as u128, Some(BoxRun { size: n, stride, first: shift, gap, is_uniform })));
        }
        let mut run = BoxRun::NONE;
        for class in classes(interval, n) {
            let least = if slope > 0 { class.start } else { class.start.checked_add(class.len - 1)? };
            let first = slope.checked_mul(least)?.checked_add(shift)?;
            let gap = slope.checked_mul(class.step)?.abs();
            let stride = if class.len > 1 { slope.abs() } else { 1 };
            run = run.or(BoxRun { size: class.len, stride, first, gap, is_uniform: true });
        }
        Some((points as u128, Some(run)))
    }

    /// The answer if a constraint ties the only variable of the only result to a variable of no result.
    fn partnered(&self, common: &Common, n: &[i64]) -> Option<TileCount> {
        let partner = self.partner?;
        let (free, bound) = (partner.free as usize, partner.bound as usize);
        let (mut elements, mut longest) = (0u128, 0u128);
        for class in classes(common.intervals[free], n[free]) {
            let (start, len) = partner.left(class.start, class.start.checked_add(class.len - 1)?)?;
            let base = Base { value: start, gap: 0, ramp: None };
            let run = Run { base, below: 0, stride: 1, len, sum_of_lens: None };
            let slope = partner.factor.checked_mul(-partner.sign)?.checked_mul(class.step)?;
            let ramps = [(partner.free, slope, class.n_tiles)];
            let of_class = sum_of_cut_runs(&run, common.intervals[bound], &ramps)?;
            (elements, longest) = (elements.checked_add(of_class.elements)?, longest.max(of_class.longest));
        }
        // A run that is long enough has a whole tile of the bound variable.
        let size = longest.min(n[bound] as u128);
        let interval = common.intervals[bound];
        let is_known = n[bound] == 1
            || longest.saturating_add(1) >= 2 * n[bound] as u128
            || interval.lo.div_euclid(n[bound]) == interval.hi.div_euclid(n[bound]);
        let mut full = self.full(common, n);
        full[free] = TileClass { start: 0, step: 0, n_tiles: 1, len: 1 };
        let [run] = self.image(common, &full).ok()?[..] else { return None };
        let (size, stride) = (i64::try_from(size).ok()?, if size > 1 { run.stride } else { 1 });
        let first = run.base.value.checked_add(run.below)?;
        let runs = smallvec![BoxRun { first, gap: run.stride, ..BoxRun::anywhere(size, stride) }];
        Some(TileCount { largest: size as u128, largest_exact: is_known, ..TileCount::exact(runs, elements) })
    }

    fn full(&self, common: &Common, n: &[i64]) -> Classes {
        let class = |v: usize| {
            let n_tiles = (common.extents[v] - 1) / n[v] + 1;
            TileClass { start: 0, step: if n_tiles > 1 { n[v] } else { 0 }, n_tiles, len: n[v] }
        };
        (0..common.intervals.len()).map(class).collect()
    }

    fn tiles<'a>(&'a self, common: &'a Common, classes: &'a [TileClass]) -> Tiles<'a> {
        let (n_dims, runtime) = (common.n_dims, &common.runtime[..]);
        Tiles { classes, n_dims, runtime, exact_quotients: &self.exact_quotients }
    }

    fn image(&self, common: &Common, classes: &[TileClass]) -> Result<SmallVec<[Run; 4]>, Refusal> {
        let tiles = self.tiles(common, classes);
        let exprs: SmallVec<[&Expr; 4]> = self.exprs.iter().collect();
        image(&tiles, &exprs)
    }

    fn classified(&self, common: &Common, n: &[i64]) -> Result<TileCount, Refusal> {
        let lists: SmallVec<[SmallVec<[TileClass; 3]>; 4]> =
            self.vars.iter().map(|&v| classes(common.intervals[v as usize], n[v as usize])).collect();
        if lists.iter().try_fold(1usize, |n, list| n.checked_mul(list.len())).is_none_or(|n| n > PIECES) {
            return Err(Refusal::NotABox);
        }
        let mut current = self.full(common, n);
        let mut answer = TileCount::exact(smallvec![BoxRun::NONE; self.exprs.len()], 0);
        let mut at: SmallVec<[usize; 4]> = smallvec![0; lists.len()];
        let mut meter = Meter::new(EFFORT);
        while lists.iter().all(|list| !list.is_empty()) {
            meter.spend(self.n_nodes()).map_err(|_| Refusal::NotABox)?;
            for ((&v, list), &k) in self.vars.iter().zip(&lists).zip(&at) {
                current[v as usize] = list[k];
            }
            self.check_runtime_cuts(common, &current)?;
            let runs = self.image(common, &current)?;
            if !self.cuts.is_empty() && !self.is_all_or_none(common, &current) {
                return Err(Refusal::NotABox);
            }
            let (elements, sizes) = self.elements(common, &current, &runs)?;
            let (mut largest, mut is_apart) = (1u128, false);
            for (((run, size), bounds), whole) in runs.iter().zip(sizes).zip(&self.fixed_bounds).zip(&mut answer.runs) {
                let own = BoxRun::of(run, size, *bounds).ok_or(Refusal::Overflow)?;
                is_apart |= own.size > 1 && whole.size > 1 && own.stride != whole.stride;
                *whole = whole.or(own);
                largest = largest.checked_mul(size as u128).ok_or(Refusal::Overflow)?;
            }
            if is_apart {
                return Err(Refusal::NotABox);
            }
            answer.largest = answer.largest.max(largest);
            answer.elements = answer.elements.checked_add(elements).ok_or(Refusal::Overflow)?;
            // The next product.
            let Some(k) = (0..at.len()).find(|&k| at[k] + 1 < lists[k].len()) else { break };
            at[k] += 1;
            at[..k].fill(0);
        }
        answer.boxes = answer.elements;
        // The part that a runtime value cuts off is unknown.
        let is_known = self.runtime_cuts.is_empty() && self.cuts.is_empty() && !self.has_bounds_on_runtime();
        if !is_known {
            (answer.largest_exact, answer.elements_exact, answer.boxes_exact) = (false, false, false);
            answer.runs.iter_mut().for_each(|run| run.is_uniform = false);
        }
        Ok(answer)
    }

    /// Whether the constraints keep the image of each tile as a whole or not at all: each tile is one point, or the
    /// group has no results, so that all points reach one element, and the values of the only constraint are known.
    fn is_all_or_none(&self, common: &Common, classes: &[TileClass]) -> bool {
        let is_one_element = |c: &Constraint| {
            let is_alone = self.exprs.is_empty() && self.runtime_cuts.is_empty();
            is_alone && image(&self.tiles(common, classes), &[&c.expr]).is_ok()
        };
        self.vars.iter().all(|&v| classes[v as usize].len == 1)
            || matches!(&self.cuts[..], [only] if is_one_element(only))
    }

    /// Whether a constraint bounds a result with a runtime summand.
    fn has_bounds_on_runtime(&self) -> bool {
        self.bounds.iter().any(|b| *b != Interval::ALL)
    }

    /// Fails if a runtime value of a cut may differ inside a tile.
    fn check_runtime_cuts(&self, common: &Common, classes: &[TileClass]) -> Result<(), Refusal> {
        let tiles = self.tiles(common, classes);
        for cut in &self.runtime_cuts {
            image(&tiles, &[&cut.rest])?;
        }
        Ok(())
    }

    /// The values of a variable that constraints with known runtime values leave; empty if no point is left at all.
    fn left_by_runtime(&self, common: &Common, v: usize, mut all: Interval) -> Option<Interval> {
        let value = |v: Var| Ok(common.runtime[v.index as usize].1.map_or(Expr::Var(v), Expr::Const));
        for cut in &self.runtime_cuts {
            let Some(rest) = cut.rest.substitute(&value).ok().and_then(|e| e.as_const()) else { continue };
            match cut.variable {
                None if !cut.interval.contains(rest) => return None,
                Some((w, sign)) if w as usize == v => {
                    let multiple = WideInterval::from(cut.interval).minus(WideInterval::point(rest.into()));
                    all = all.intersect(multiple.scale(sign).in_64_bits());
                }
                _ => {}
            }
        }
        (all.lo <= all.hi).then_some(all)
    }

    /// The elements that all tiles of a class reach, each counted in every tile; and for each result the largest number
    /// of values of any tile, which one tile attains in all results.
    fn elements(
        &self,
        common: &Common,
        classes: &[TileClass],
        runs: &[Run],
    ) -> Result<(u128, SmallVec<[i64; 4]>), Refusal> {
        let tiles = |skip: &dyn Fn(u32) -> bool| {
            let mut counts = self.vars.iter().filter(|&&v| !skip(v)).map(|&v| classes[v as usize].n_tiles as u128);
            counts.try_fold(1u128, u128::checked_mul).ok_or(Refusal::Overflow)
        };
        let mut sizes: SmallVec<[i64; 4]> = runs.iter().map(|run| run.len).collect();
        let mut special = None;
        let mut product = 1u128;
        for (i, run) in runs.iter().enumerate() {
            if run.sum_of_lens.is_some() || self.fixed_bounds[i] != Interval::ALL {
                if special.replace(i).is_some() {
                    return Err(Refusal::NotABox);
                }
            } else {
                product = product.checked_mul(run.len as u128).ok_or(Refusal::Overflow)?;
            }
        }
        let times = |n: u128| product.checked_mul(n).ok_or(Refusal::Overflow);
        let Some(i) = special else { return Ok((times(tiles(&|_| false)?)?, sizes)) };
        let of_special = || {
            let run = &runs[i];
            if self.fixed_bounds[i] == Interval::ALL {
                let (v, sum) = run.sum_of_lens??;
                return Some((u128::try_from(sum).ok()?, run.len, tiles(&|w| w == v)));
            }
            if run.sum_of_lens.is_some() {
                return None;
            }
            // Runtime values move the run and its bounds alike.
            let fixed = image(&self.tiles(common, classes), &[&self.fixed[i]]).ok()?;
            let ramps = self.ramps(common, classes, i, &fixed[0])?;
            let cut = sum_of_cut_runs(&fixed[0], self.fixed_bounds[i], &ramps)?;
            let longest = i64::try_from(cut.longest).ok()?;
            Some((cut.elements, longest, tiles(&|w| ramps.iter().any(|(v, ..)| *v == w))))
        };
        let (sum, longest, others) = of_special().ok_or(Refusal::NotABox)?;
        sizes[i] = longest;
        Ok((times(sum.checked_mul(others?).ok_or(Refusal::Overflow)?)?, sizes))
    }

    /// The variables whose tiles decide where a run starts: slope and number of tiles.
    fn ramps(
        &self,
        common: &Common,
        classes: &[TileClass],
        i: usize,
        run: &Run,
    ) -> Option<SmallVec<[(u32, i64, i64); 4]>> {
        if run.base.gap == 0 {
            return Some(SmallVec::new());
        }
        if let Some((v, slope)) = run.base.ramp {
            return Some(smallvec![(v, slope, classes[v as usize].n_tiles)]);
        }
        let mut ramps = SmallVec::new();
        let mut rest = self.fixed[i].clone();
        for &v in &self.vars {
            let var = var_of(v as usize, common.n_dims);
            let Some(a) = rest.factor(var) else { continue };
            rest = rest.sub(&Expr::Var(var).scale(a).ok()?).ok()?;
            let class = classes[v as usize];
            if class.n_tiles > 1 {
                ramps.push((v, a.checked_mul(class.step)?, class.n_tiles));
            }
        }
        rest.as_const()?;
        Some(ramps)
    }

    /// Enumerates all points, if there are few.
    fn enumerated(&self, common: &Common, n: &[i64], refusal: Refusal) -> Option<TileCount> {
        let tiles = self.enumerated_tiles(common, n)?;
        let mut answer = TileCount::exact(smallvec![BoxRun::NONE; self.exprs.len()], 0);
        let mut meter = Meter::new(EFFORT);
        for distinct in tiles.into_values() {
            meter.spend(distinct.len() * self.exprs.len()).ok()?;
            let runs = tight_runs(&distinct, self.exprs.len());
            let size = runs.iter().try_fold(1u128, |n, run| n.checked_mul(run.len()))?;
            answer.elements += distinct.len() as u128;
            answer.boxes = answer.boxes.checked_add(size)?;
            answer.largest = answer.largest.max(size);
            for (run, whole) in runs.iter().zip(&mut answer.runs) {
                *whole = whole.or(BoxRun {
                    size: i64::try_from(run.len()).ok()?,
                    stride: run.stride,
                    first: run.first,
                    gap: 0,
                    is_uniform: true,
                });
            }
        }
        answer.refusal = (answer.boxes != answer.elements).then_some(refusal);
        Some(answer)
    }

    /// The distinct values of each tile that reaches any.
    fn enumerated_tiles(&self, common: &Common, n: &[i64]) -> Option<ValuesByTile<'_>> {
        let all = once(&self.points, || self.all_points(common)).ok()?.as_ref()?;
        let mut tiles = ValuesByTile::default();
        for (point, values) in all.iter() {
            tiles.entry(self.tile_of(point, n).collect()).or_default().push(values);
        }
        for distinct in tiles.values_mut() {
            distinct.sort_unstable();
            distinct.dedup();
        }
        Some(tiles)
    }

    fn all_points(&self, common: &Common) -> Option<AllPoints> {
        AllPoints::of(self.alone.as_ref()?, u128::try_from(common.few_points).ok()?)
    }

    /// The tile that a point lies in, by the variables of the group.
    fn tile_of<'a>(&'a self, point: &'a [i64], n: &'a [i64]) -> impl Iterator<Item = i64> + 'a {
        self.vars.iter().zip(point).map(|(&v, x)| x.div_euclid(n[v as usize]))
    }

    /// Upper bounds, if neither classes nor points give the answer.
    fn bounded(&self, common: &Common, n: &[i64], refusal: Refusal) -> TileCount {
        let full = self.full(common, n);
        let mut runs: SmallVec<[BoxRun; 6]> = SmallVec::new();
        let mut of_tile = 1u128;
        for (i, e) in self.exprs.iter().enumerate() {
            let bounds = if self.has_fixed(i) { self.fixed_bounds[i] } else { self.bounds[i] };
            // The values of a tile are among those of the whole domain.
            let own = span(e, &full, common).and_then(|span| span.checked_add(1)).map_or(u128::MAX, |n| n as u128);
            let size = own.min(bounds.intersect(self.reach[i]).size()).max(1);
            // No more values can be numbered.
            runs.push(BoxRun::anywhere(i64::try_from(size).unwrap_or(i64::MAX), 1));
            of_tile = of_tile.saturating_mul(size);
        }
        // Upper bounds; the greatest number means unknown.
        let (mut n_tiles, mut points) = (1u128, 1u128);
        for &v in &self.vars {
            let (interval, n) = (common.intervals[v as usize], n[v as usize]);
            n_tiles = n_tiles.saturating_mul(interval.floor_div(n).size());
            points = points.saturating_mul(interval.size());
        }
        // A tile reaches as many elements as it has points if different points reach different elements.
        let has_cuts = !self.cuts.is_empty() || !self.exact_quotients.is_empty();
        let is_cut = has_cuts || self.bounds.iter().chain(&self.fixed_bounds).any(|b| *b != Interval::ALL);
        let exact = !is_cut && !self.has_runtime && self.is_injective();
        let boxes = of_tile.saturating_mul(n_tiles);
        let elements = if exact { points } else { points.min(boxes) };
        let refusal = Some(refusal);
        let (largest, largest_exact, boxes_exact) = (of_tile, false, false);
        TileCount { refusal, runs, largest, largest_exact, elements, elements_exact: exact, boxes, boxes_exact }
    }

    /// Whether a result has no runtime summand.
    fn has_fixed(&self, i: usize) -> bool {
        self.fixed[i] == self.exprs[i]
    }

    /// The values that constraints leave to a result, for known runtime values.
    fn bounds_of(&self, common: &Common, i: usize) -> Interval {
        let value = |v: Var| Ok(common.runtime[v.index as usize].1.map_or(Expr::Var(v), Expr::Const));
        let added = self.exprs[i].sub(&self.fixed[i]).and_then(|e| e.substitute(&value)).ok();
        let moved = added.and_then(|e| self.fixed_bounds[i].minus(e.as_const()?.checked_neg()?));
        self.bounds[i].intersect(moved.unwrap_or(Interval::ALL))
    }

    fn is_injective(&self) -> bool {
        let decide = || self.alone.as_ref().is_some_and(|m| matches!(is_injective(m), Answer::Yes));
        once(&self.is_injective, decide).is_ok_and(|known| *known)
    }

    /// The values of each result in one tile: those of the tile at full length, and those that lie in the domain, the
    /// least and greatest of which are exact if the tile is a box. `None` if the tile reaches nothing.
    pub fn tile(&self, common: &Common, n: &[i64], tile: &[i64]) -> Option<SmallVec<[(TightRun, TightRun); 4]>> {
        self.left_by_runtime(common, usize::MAX, Interval::ALL)?;
        let mut full = Classes::new();
        let mut cut = Classes::new();
        for v in 0..common.intervals.len() {
            // A tile that begins past 64 bits has no point.
            let start = tile[v].checked_mul(n[v])?;
            let interval = common.intervals[v];
            let is_own = self.vars.contains(&(v as u32));
            let Interval { lo, hi } = if is_own { self.left_by_runtime(common, v, interval)? } else { interval };
            let (first, last) = (lo.max(start), hi.min(start.saturating_add(n[v] - 1)));
            let one = |start, len| TileClass { start, step: 0, n_tiles: 1, len };
            full.push(one(start, n[v]));
            if is_own && first > last {
                return None;
            }
            cut.push(one(first, (last - first + 1).max(1)));
        }
        // An interval of the domain, whose ends have 64 bits.
        let last = |class: &TileClass| class.start + (class.len - 1);
        let left = self.partner.and_then(|partner| {
            let free = &cut[partner.free as usize];
            Some((partner.bound as usize, partner.left(free.start, last(free))?))
        });
        if let Some((bound, (start, len))) = left {
            let (lo, hi) = (cut[bound].start.max(start), last(&cut[bound]).min(start.saturating_add(len - 1)));
            if lo > hi {
                return None;
            }
            cut[bound] = TileClass { start: lo, len: hi - lo + 1, ..cut[bound] };
        }
        let is_cut = !self.cuts.is_empty() && left.is_none();
        let tight = |run: &Run| {
            let first = run.base.value.checked_add(run.below)?;
            Some(TightRun { first, last: first.checked_add(run.span()?)?, stride: run.stride })
        };
        let all_tight = |runs: SmallVec<[Run; 4]>| -> Option<SmallVec<[TightRun; 4]>> {
            runs.iter().map(|run| tight(run).filter(|_| run.base.gap == 0)).collect()
        };
        // The least and the greatest value of a run that lie between bounds.
        let within = |run: TightRun, bounds: Interval| {
            let (first, last) = (i128::from(run.first), i128::from(run.last));
            let stride = run.stride.unsigned_abs();
            let steps = |beyond: i128| int::ceil_div_wide(beyond.max(0), stride) * i128::from(stride);
            let first = first + steps(i128::from(bounds.lo) - first);
            // The remaining values lie between the old ends.
            Interval::exact(first, last - steps(last - i128::from(bounds.hi))).filter(|left| !left.is_empty())
        };
        let is_left = |c: &Constraint| {
            let runs = image(&self.tiles(common, &cut), &[&c.expr]).ok().and_then(all_tight);
            within(runs.map_or_else(|| hull(&c.expr, &cut, common), |runs| runs[0]), c.interval).is_some()
        };
        if is_cut && !self.cuts.iter().all(is_left) {
            return None;
        }
        let whole = match self.image(common, &full).ok().and_then(all_tight) {
            Some(runs) => runs,
            None => self.exprs.iter().map(|e| hull(e, &full, common)).collect(),
        };
        let inside = match self.image(common, &cut).ok().and_then(all_tight).filter(|_| !is_cut) {
            Some(runs) => runs,
            None => match once(&self.points, || self.all_points(common)).ok()? {
                Some(all) => self.enumerated_tile(all, n, tile)?,
                None => self.exprs.iter().map(|e| hull(e, &cut, common)).collect::<SmallVec<[TightRun; 4]>>(),
            },
        };
        let mut found = SmallVec::new();
        for (i, (whole, mut inside)) in whole.into_iter().zip(inside).enumerate() {
            let left = within(inside, self.bounds_of(common, i))?;
            (inside.first, inside.last) = (left.lo, left.hi);
            // If the classes do not show a run of the full tile, the values inside the domain give the box.
            let fits = (i128::from(left.lo) - i128::from(whole.first)).rem_euclid(whole.stride.into()) == 0
                && (inside.len() == 1 || inside.stride == whole.stride);
            found.push((if fits { whole } else { inside }, inside));
        }
        Some(found)
    }

    /// The first tile that reaches as many elements as `largest`, as its numbers for all variables, and its runs;
    /// `None` if none is found.
    pub fn largest_tile(
        &self,
        common: &Common,
        n: &[i64],
        largest: u128,
    ) -> Option<(Vec<i64>, SmallVec<[TightRun; 4]>)> {
        let size = |runs: &[TightRun]| runs.iter().try_fold(1u128, |n, run| n.checked_mul(run.len()));
        let mut tile = vec![0; common.intervals.len()];
        if self.partnered(common, n).is_none() && self.classified(common, n).is_err() {
            let tiles = self.enumerated_tiles(common, n)?.into_iter();
            let of = |(at, distinct): (SmallVec<[i64; 4]>, Vec<&[i64]>)| (at, tight_runs(&distinct, self.exprs.len()));
            let (at, runs) =
                tiles.map(of).filter(|(_, runs)| size(runs) == Some(largest)).min_by(|a, b| a.0.cmp(&b.0))?;
            self.vars.iter().zip(at).for_each(|(&v, at)| tile[v as usize] = at);
            return Some((tile, runs));
        }
        let ends = |v: u32| {
            let (v, Interval { lo, hi }) = (v as usize, common.intervals[v as usize]);
            (v, lo.div_euclid(n[v]), hi.div_euclid(n[v]))
        };
        let ends: SmallVec<[(usize, i64, i64); 4]> = self.vars.iter().map(|&v| ends(v)).collect();
        ends.iter().for_each(|&(v, first, _)| tile[v] = first);
        let mut meter = Meter::new(EFFORT);
        loop {
            meter.spend(self.n_nodes()).ok()?;
            let runs = self.tile(common, n, &tile).map(|runs| runs.iter().map(|(_, inside)| *inside).collect());
            if let Some(runs) = runs.filter(|runs: &SmallVec<[TightRun; 4]>| size(runs) == Some(largest)) {
                return Some((tile, runs));
            }
            let &(v, ..) = ends.iter().rev().find(|(v, _, last)| tile[*v] < *last)?;
            tile[v] += 1;
            ends.iter().rev().take_while(|(w, ..)| *w != v).for_each(|&(w, first, _)| tile[w] = first);
        }
    }

    /// The nodes of all expressions: the effort of looking at one tile.
    fn n_nodes(&self) -> usize {
        let constraints = self.cuts.iter().map(|c| &c.expr);
        self.vars.len() + self.exprs.iter().chain(constraints).map(|e| e.nodes() as usize).sum::<usize>()
    }

    fn enumerated_tile(&self, all: &AllPoints, n: &[i64], tile: &[i64]) -> Option<SmallVec<[TightRun; 4]>> {
        let is_in = |point: &[i64]| self.tile_of(point, n).eq(self.vars.iter().map(|&v| tile[v as usize]));
        let values: Vec<&[i64]> = all.iter().filter(|(point, _)| is_in(point)).map(|(_, values)| values).collect();
        (!values.is_empty()).then(|| tight_runs(&values, self.exprs.len()))
    }
}

/// A bound of the difference between two values of an expression in one tile; `None` if no bound of 64 bits is known.
fn span(e: &Expr, classes: &[TileClass], common: &Common) -> Option<i64> {
    let of = |e: &Expr| span(e, classes, common);
    match e {
        Expr::Const(_) => Some(0),
        Expr::Var(v) => match v.kind {
            Kind::Dim => Some(classes[v.index as usize].len - 1),
            Kind::Range => Some(classes[common.n_dims + v.index as usize].len - 1),
            Kind::Runtime => {
                // Each element of the source has one value.
                let (index, value) = &common.runtime[v.index as usize];
                let is_one = value.is_some() || (!index.is_empty() && index.iter().all(|e| of(e) == Some(0)));
                is_one.then_some(0)
            }
        },
        Expr::Node(_) => match e.op() {
            Some(Op::Sum(sum)) => sum
                .terms
                .iter()
                .try_fold(0i64, |total, t| total.checked_add(of(&t.atom)?.checked_mul(t.coefficient.checked_abs()?)?)),
            Some(Op::FloorDiv(a, Expr::Const(c))) => Some(of(a)?.checked_add(c - 1)? / c),
            // Neighbours may have the least and the greatest remainder.
            Some(Op::Mod(a, Expr::Const(c))) => Some(if of(a) == Some(0) { 0 } else { c - 1 }),
            Some(Op::Min(a, b) | Op::Max(a, b)) => Some(of(a)?.max(of(b)?)),
            _ => e.operands().all(|e| of(e) == Some(0)).then_some(0),
        },
    }
}

/// Bounds of an expression over one tile.
fn hull(e: &Expr, classes: &[TileClass], common: &Common) -> TightRun {
    let of_var = |v: Var| match v.kind {
        Kind::Runtime => common.runtime[v.index as usize].1.map_or(Interval::ALL, |value| Interval::new(value, value)),
        kind => {
            let class = classes[if kind == Kind::Dim { v.index as usize } else { common.n_dims + v.index as usize }];
            WideInterval::between(class.start.into(), i128::from(class.start) + i128::from(class.len) - 1).in_64_bits()
        }
    };
    // An element has 64 bits.
    let bounds = interval(&of_var, e, u32::MAX).in_64_bits();
    TightRun { first: bounds.lo, last: bounds.hi, stride: 1 }
}
