//! Boxes by their place along one axis, so that most pairs of boxes far from each other are never compared.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::span::Interval;

/// The sides of a box.
pub(crate) type Bounds = SmallVec<[Interval; 8]>;

/// Numbered boxes in the order of their lower ends along one axis.
#[derive(Default)]
pub(crate) struct Boxes {
    axis: usize,
    by_start: BTreeSet<(i64, u32)>,
    /// The size of the longest side along the axis, of all boxes so far.
    longest: u128,
}

impl Boxes {
    /// No boxes yet.
    pub fn along(axis: usize) -> Boxes {
        Boxes { axis, ..Boxes::default() }
    }

    /// The axis along which the boxes have the most lower ends.
    pub fn best_axis<B: Borrow<Bounds>>(all: impl Iterator<Item = B>) -> usize {
        let mut starts: SmallVec<[FxHashSet<i64>; 8]> = SmallVec::new();
        for bounds in all {
            let bounds = bounds.borrow();
            starts.resize_with(starts.len().max(bounds.len()), FxHashSet::default);
            starts.iter_mut().zip(bounds).for_each(|(starts, side)| _ = starts.insert(side.lo));
        }
        (0..starts.len()).max_by_key(|axis| starts[*axis].len()).unwrap_or(0)
    }

    fn side(&self, bounds: &Bounds) -> Interval {
        bounds.get(self.axis).copied().unwrap_or(Interval::ALL)
    }

    /// Adds a box that is not empty.
    pub fn insert(&mut self, number: u32, bounds: &Bounds) {
        let side = self.side(bounds);
        self.longest = self.longest.max(side.size());
        self.by_start.insert((side.lo, number));
    }

    /// Takes out a box.
    pub fn remove(&mut self, number: u32, bounds: &Bounds) {
        self.by_start.remove(&(self.side(bounds).lo, number));
    }

    /// The numbers of all boxes that may cover this one, and of some others.
    pub fn covering(&self, bounds: &Bounds) -> impl Iterator<Item = u32> + '_ {
        let side = self.side(bounds);
        self.starting(self.earliest(side.hi), side.lo)
    }

    /// The numbers of all boxes that this one may cover, and of some others.
    pub fn within(&self, bounds: &Bounds) -> impl Iterator<Item = u32> + '_ {
        let side = self.side(bounds);
        self.starting(side.lo, side.hi)
    }

    /// The numbers of all boxes that may meet this one, and of some others.
    pub fn meeting(&self, bounds: &Bounds) -> impl Iterator<Item = u32> + '_ {
        let side = self.side(bounds);
        self.starting(self.earliest(side.lo), side.hi)
    }

    /// The first place at which a box may start that reaches this place.
    fn earliest(&self, place: i64) -> i64 {
        let longest = i128::try_from(self.longest).unwrap_or(i128::MAX);
        i64::try_from((i128::from(place) + 1).saturating_sub(longest)).unwrap_or(i64::MIN)
    }

    fn starting(&self, lo: i64, hi: i64) -> impl Iterator<Item = u32> + '_ {
        // If no box is long enough, the ends are in the wrong order.
        self.by_start.range((lo.min(hi), 0)..=(hi, u32::MAX)).map(|(_, number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pair_is_missed_and_few_are_compared() {
        let mut state = 7u64;
        let mut small = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % n) as i64
        };
        let mut side = |most| {
            let lo = small(most) - 9;
            Interval::new(lo, lo + small(9))
        };
        let all: Vec<Bounds> = (0..400).map(|_| [side(3), side(2000)].into_iter().collect()).collect();
        assert_eq!(Boxes::best_axis(all.iter()), 1);
        for axis in [0, 1, 2] {
            let mut boxes = Boxes::along(axis);
            all.iter().enumerate().for_each(|(i, bounds)| boxes.insert(i as u32, bounds));
            for i in 390..400 {
                boxes.remove(i, &all[i as usize]);
            }
            let mut n_compared = 0;
            let mut check = |found: Vec<u32>, holds: &dyn Fn(&Bounds) -> bool| {
                n_compared += found.len();
                let expected = (0..390u32).filter(|i| holds(&all[*i as usize]));
                assert!(expected.into_iter().all(|i| found.contains(&i)), "{axis}");
            };
            for one in &all {
                let covers = |a: &Bounds, b: &Bounds| a.iter().zip(b).all(|(x, y)| x.covers(*y));
                let meets = |a: &Bounds| a.iter().zip(one).all(|(x, y)| !x.intersect(*y).is_empty());
                check(boxes.covering(one).collect(), &|a| covers(a, one));
                check(boxes.within(one).collect(), &|a| covers(one, a));
                check(boxes.meeting(one).collect(), &meets);
            }
            assert!(axis != 1 || n_compared < 400 * 30, "{n_compared}");
        }
    }
}
