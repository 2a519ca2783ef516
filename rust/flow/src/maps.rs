//! Maps by themselves: whether one is the identity or has the whole of an array, boxes, sizes, other sources.

use layout::Shape;
use quasiaffine::{solve, Domain, Expr, Interval, Kind, Map, Options, State, Variable};
use smallvec::SmallVec;

use crate::shapes;

/// The options of compositions: they drop unused variables.
pub const SIMPLIFY: Options = Options::new().drop_unused(true);

/// Solves the equalities of one map for ranges.
pub(crate) fn solve_alone(map: &mut Map) {
    if let Some(solved) = solve(std::iter::once(&*map)) {
        *map = solved[0].simplify(SIMPLIFY.solve(true));
    }
}

/// A map with renumbered sources. Sources that become equal make their variables equal, which may simplify the map.
pub fn remap_sources(m: &Map, new: &dyn Fn(i64) -> Option<i64>) -> Map {
    if m.domain().n_runtime() == 0 {
        return m.clone();
    }
    let moved = m.remap_sources(new);
    if n_sources(&moved) < n_sources(m) {
        return moved.simplify(SIMPLIFY);
    }
    moved
}

fn n_sources(m: &Map) -> usize {
    let mut ids: SmallVec<[Option<i64>; 8]> =
        m.domain().runtime().iter().map(|v| v.source.as_ref().map(|s| s.id)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.len()
}

/// Whether a map is the identity on the whole of an array of these sizes.
///
/// The identity on only some elements, as for the first operand of a concatenate, restricts the maps before it.
pub fn is_identity_on(m: &Map, sizes: &[i64]) -> bool {
    let domain = m.domain();
    m.state() == State::Defined
        && domain.constraints.is_empty()
        && domain.n_dims == sizes.len()
        && domain.vars.len() == sizes.len()
        && m.results().len() == sizes.len()
        && domain.vars.iter().zip(sizes).all(|(v, &n)| v.interval.lo == 0 && v.interval.hi == n - 1)
        && m.results().iter().enumerate().all(|(i, e)| *e == Expr::dim(i as u32))
}

/// Every element of an array, for each point of the dimensions.
pub(crate) fn whole(dims: &[Variable], shape: &Shape) -> Map {
    let ranges: SmallVec<[Interval; 6]> = shapes::sizes(shape).map(|n| Interval::new(0, n.saturating_sub(1))).collect();
    box_of(dims.iter().map(|v| Variable::new(v.interval)).collect(), &ranges)
}

/// All elements in a box, for each point of the dimensions.
pub(crate) fn box_of(dims: SmallVec<[Variable; 4]>, ranges: &[Interval]) -> Map {
    let n_dims = dims.len();
    let vars = dims.into_iter().chain(ranges.iter().copied().map(Variable::new)).collect();
    let domain = Domain { vars, n_dims, n_ranges: ranges.len(), constraints: Vec::new() };
    Map::new_unchecked(domain, (0..ranges.len() as u32).map(Expr::range).collect())
}

/// Whether a map has all elements of an array at each point of its dims: each result runs over its dimension
/// independently.
pub(crate) fn is_whole(map: &Map, shape: &Shape) -> bool {
    let domain = map.domain();
    let runs_over = |(e, n): (&Expr, i64)| match e {
        Expr::Const(0) => n == 1,
        Expr::Var(v) if v.kind == Kind::Range => {
            let others = map.results().iter().filter(|other| *other == e).count();
            others == 1 && domain.flat(*v).is_some_and(|at| domain.vars[at].interval == Interval::new(0, n - 1))
        }
        _ => false,
    };
    let is_free = domain.constraints.is_empty() && domain.n_runtime() == 0;
    is_free && map.state() == State::Defined && map.results().iter().zip(shapes::sizes(shape)).all(runs_over)
}

/// The smallest boxes around the dimensions of maps, one for each number of dimensions.
pub(crate) fn hulls<'m>(maps: impl Iterator<Item = &'m Map>) -> Vec<SmallVec<[Interval; 4]>> {
    let mut hulls: Vec<SmallVec<[Interval; 4]>> = Vec::new();
    for m in maps {
        let dims = m.domain().dims();
        match hulls.iter_mut().find(|hull| hull.len() == dims.len()) {
            None => hulls.push(dims.iter().map(|v| v.interval).collect()),
            Some(hull) => hull.iter_mut().zip(dims).for_each(|(r, v)| *r = r.hull(v.interval)),
        }
    }
    hulls
}

/// The variables of a map, and the nodes in its results and constraints.
pub(crate) fn size_of(map: &Map) -> u64 {
    let (domain, cost) = (map.domain(), map.cost());
    let constraints = domain.constraints.iter().map(|c| u64::from(c.expr.nodes()));
    domain.vars.len() as u64 + cost.nodes + constraints.sum::<u64>()
}
