//! Propagation between devices: a group and a position in it are two more dimensions and results of every map.
//!
//! A map stays within a group, so maps over one table compose like any other maps. The rules of such a propagation give
//! maps with these dimensions; the rest of this crate treats both kinds alike.

use quasiaffine::{Domain, Expr, Interval, Map, Variable};
use smallvec::SmallVec;

use crate::maps::{hulls, is_identity_on};

/// The shape of a table of device groups. The device numbers are up to the caller.
#[derive(Clone, Debug)]
pub struct DeviceTable {
    /// Runs of neighbouring groups of equal size, with that size.
    pub runs: Vec<(Interval, i64)>,
    /// Whether each device has one group and position. A device with several is followed from one of them only, so
    /// maps may leave it only once.
    pub each_once: bool,
}

impl DeviceTable {
    /// The identity on an array of these sizes, on every device: a map for each run.
    pub(crate) fn identities(&self, sizes: &[i64]) -> impl Iterator<Item = Map> + '_ {
        let sizes: SmallVec<[i64; 6]> = SmallVec::from_slice(sizes);
        self.runs.iter().filter_map(move |&(groups, n)| {
            let mut domain = Domain::of_sizes(&sizes);
            domain.vars.extend(device_dims(groups, n));
            domain.n_dims += 2;
            Map::identity(domain).ok()
        })
    }

    /// Whether a map is the identity on the whole of an array of these sizes on all devices.
    pub(crate) fn is_identity_on(&self, m: &Map, sizes: &[i64]) -> bool {
        let [(groups, n)] = self.runs[..] else { return false };
        let mut sizes: SmallVec<[i64; 6]> = SmallVec::from_slice(sizes);
        sizes.extend([groups.hi.saturating_add(1), n]);
        groups.lo == 0 && is_identity_on(m, &sizes)
    }

    /// Whether two maps have a common group; otherwise their composition is empty.
    pub(crate) fn share_group(&self, first: &Map, second: &Map) -> bool {
        match (groups_of(first), groups_of(second)) {
            (Some(a), Some(b)) => a.lo <= b.hi && b.lo <= a.hi,
            _ => true,
        }
    }

    /// All elements of an array on the devices of the same group: one map for each run that these maps cover.
    pub(crate) fn whole(&self, maps: &[Map], sizes: &[i64]) -> Vec<Map> {
        let run = |&(groups, n): &(Interval, i64)| {
            let inside = |m: &&Map| groups_of(m).is_none_or(|g| g.lo <= groups.hi && groups.lo <= g.hi);
            let hulls = hulls(maps.iter().filter(inside));
            hulls.into_iter().filter(|hull| hull.len() >= 2).map(move |hull| {
                let rank = hull.len() - 2;
                let dims = hull[..rank].iter().map(|&r| Variable::new(r)).chain(device_dims(groups, n));
                let ranges = sizes.iter().chain([&n]).map(|&n| Variable::new(Interval::new(0, n.saturating_sub(1))));
                let vars = dims.chain(ranges).collect();
                let domain = Domain { vars, n_dims: rank + 2, n_ranges: sizes.len() + 1, constraints: Vec::new() };
                let n_sizes = sizes.len() as u32;
                let results = (0..n_sizes).map(Expr::range).chain([Expr::dim(rank as u32), Expr::range(n_sizes)]);
                Map::new_unchecked(domain, results.collect())
            })
        };
        self.runs.iter().flat_map(run).collect()
    }
}

fn device_dims(groups: Interval, n: i64) -> [Variable; 2] {
    let named = |name: &str, range| Variable { name: Some(name.into()), ..Variable::new(range) };
    [named("group", groups), named("position", Interval::new(0, n.saturating_sub(1)))]
}

fn groups_of(m: &Map) -> Option<Interval> {
    let dims = m.domain().dims();
    Some(dims.get(dims.len().checked_sub(2)?)?.interval)
}
