//! The memory traffic of the warps of a grid: their requests, the sectors these move, the bytes they use.
//!
//! The map from threads to elements becomes one from the lane, the step and the coordinates of a request to an address;
//! `regions` totals such a grid. Runtime values are removed first; if they could change the totals, these are upper
//! bounds for that reason. Addresses count in units, bits if an element is not a whole number of bytes. The
//! totals are those of all requests, or upper bounds with a reason.

mod measure;
mod moves;
mod regions;

use layout::{address, ArrayShape, LinearError, Unit};
use quasiaffine::State;
use quasiaffine::{Constraint, Domain, Error, Expr, Interval, Kind, List, Map, Options, Variable};

use crate::tuning::{FEW_POINTS, MANY_POINTS, MAX_POINTS};
pub use measure::Counts;
use measure::Form;
use moves::{dims_of, moves};

/// The dims of a grid that are not coordinates of requests.
const LANE: usize = 0;
const STEP: usize = 1;

/// The dims of a thread map: those of a thread in its block, then those of the block.
const BLOCK: usize = 3;

/// The access of threads to memory.
#[derive(Clone, Copy, Debug)]
pub struct Warps {
    /// The threads of a request.
    pub warp: i64,
    /// The steps of the last range that one request may hold.
    pub vector: i64,
    /// Arrays begin at unknown multiples of this number of bytes.
    pub base_alignment: i64,
    /// The bytes of a sector.
    pub sector_bytes: i64,
}

/// The effort before totals become upper bounds.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// At most this many points are counted faster one by one than as a region.
    pub few_points: u128,
    /// From this many points on, cutting into regions is faster.
    pub many_points: u128,
    /// The limit on points that are counted one by one in all regions, for each offset of the array in a sector.
    pub max_points: u128,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { few_points: FEW_POINTS, many_points: MANY_POINTS, max_points: MAX_POINTS }
    }
}

/// The totals of a grid for the offset of the array in a sector at which they are largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// The totals.
    pub counts: Counts,
    /// The reason why they are upper bounds, if they are.
    pub reason: Option<&'static str>,
}

/// The analysis of a map from threads to the elements that they access.
pub struct Access {
    /// The map, simplified.
    pub map: Option<Map>,
    /// Its requests, or upper bounds of them.
    pub counts: Option<Counts>,
    /// The reason why there are no counts, or why they are only bounds.
    pub reason: Option<String>,
}

impl Access {
    /// Analyzes a map with [`count_requests`].
    pub fn new(elements: Map, shape: &ArrayShape, warps: Warps, effort: &Effort) -> Access {
        let unknown = |reason| Access { map: None, counts: None, reason: Some(reason) };
        if elements.state() == State::Undefined {
            return unknown("nothing is known about an undefined map".into());
        }
        let mut found = Requests::default();
        if !shape.dims().contains(&0) {
            found = match count_requests(&elements, shape, warps, effort) {
                Ok(found) => found,
                Err(error) => return unknown(error.to_string()),
            };
            if found.counts.requests != 0 || !elements.is_empty().is_yes() {
                let reason = found.reason.map(Into::into);
                return Access { map: Some(simplify(&elements)), counts: Some(found.counts), reason };
            }
        }
        Access { map: Some(elements), counts: Some(found.counts), reason: None }
    }
}

/// The requests of a grid that accesses the elements of `shape`; `elements` leads to them from (th_x, th_y, th_z, bl_x,
/// bl_y, bl_z) and ranges.
///
/// # Errors
/// As [`address`] and [`Map::then`]; [`Error::Arity`] for a map without six dimensions, and overflow.
///
/// ```
/// use cost::requests::{count_requests, Warps};
/// use layout::parse_shape;
///
/// let threads = "(x, y, z, b, c, d) -> (x + b * 64), domain: x in [0, 63], y in [0, 0], z in [0, 0],
///                b in [0, 9], c in [0, 0], d in [0, 0]".parse()?;
/// let shape = parse_shape("f32[640]")?;
/// let warps = Warps { warp: 32, vector: 1, base_alignment: 256, sector_bytes: 32 };
/// let found = count_requests(&threads, shape.as_array().expect("an array"), warps, &Default::default())?;
/// assert_eq!((found.counts.requests, found.counts.sectors, found.reason), (20, 80, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn count_requests(
    elements: &Map,
    shape: &ArrayShape,
    warps: Warps,
    effort: &Effort,
) -> Result<Requests, LinearError> {
    let bits = shape.element_width();
    if bits < 1 {
        return Err(LinearError::Invalid(format!("invalid layout: elements of {bits} bits")));
    }
    let (width, per_byte, unit) = if bits % 8 == 0 { (bits / 8, 1, Unit::Byte) } else { (bits, 8, Unit::Bit) };
    let Warps { warp, vector, base_alignment, sector_bytes } = warps;
    let map = elements.then(&address(shape, unit)?)?;
    let mut form = Form { width, per_byte, sector_bytes, vector, loosest_start: 0 };
    let Some((grid, values)) = by_lanes(&map, warp, vector)? else { return Ok(Requests::default()) };
    let taken = match take_runtime(&grid, &values, &form) {
        Err(Error::Overflow(_)) => apart(&grid, &values, &form, "a runtime value moves addresses beyond 64 bits")?,
        found => found?,
    };
    let base = lcm(fits(base_alignment.checked_mul(per_byte))?, width & -width)?;
    let common = gcd(base, taken.common_step)?;
    if taken.one_by_one || gcd(common, taken.varying_step)? % form.vector_units()? != 0 {
        form.vector = 1; // no request of several elements is known to be aligned and whole
    }
    form.loosest_start = gcd(taken.varying_step, form.sector())? % form.sector();
    let offsets = (0..form.sector()).step_by(gcd(common, form.sector())? as usize).collect();
    let (by_offset, exact) = regions::count_grid(taken.grid, form, offsets, effort)?;
    let counts = by_offset.iter().fold(Counts::default(), |most, counts| most.max(*counts));
    let reason = if taken.reason.is_some() {
        taken.reason
    } else if !exact {
        Some("too many different requests to count")
    } else if by_offset.windows(2).any(|pair| pair[0] != pair[1]) {
        Some("the sectors depend on where in a sector the array begins")
    } else {
        None
    };
    Ok(Requests { counts, reason })
}

/// A runtime value, as a dim of the grid.
struct Runtime {
    dim: usize,
    /// Whether the place of the value in memory is known.
    is_known: bool,
    /// The place in memory, over the other dims.
    index: Vec<Expr>,
}

/// The map over lane, step, warp, the blocks along x, y and z and the ranges, with the last range counted in groups of
/// steps; then the runtime values. `None` if no thread accesses anything.
fn by_lanes(m: &Map, n_lanes: i64, vector: i64) -> quasiaffine::Result<Option<(Map, Vec<Runtime>)>> {
    let domain = m.domain();
    if domain.n_dims != 2 * BLOCK {
        let what = "dims of a thread map";
        return Err(Error::Arity { what, expected: 2 * BLOCK, found: domain.n_dims });
    }
    let Some(address) = m.results().first() else { return Ok(None) };
    let size = |k: usize| fits(domain.vars[k].interval.hi.checked_add(1));
    let threads = fits(size(0)?.checked_mul(size(1)?))?;
    let threads = fits(threads.checked_mul(size(2)?))?;
    let last_warp = (threads - 1).div_euclid(n_lanes);
    let mut vars: Vec<Interval> = vec![Interval::new(0, n_lanes - 1), Interval::point(0), Interval::new(0, last_warp)];
    vars.extend(domain.dims()[BLOCK..].iter().map(|v| v.interval));
    let dim = |k: usize| Expr::dim(k as u32);

    // The number of a thread is below `threads`, so its outermost digit takes no remainder.
    let thread = dim(2).scale(n_lanes)?.add(&dim(LANE))?;
    let (mut places, mut below) = (Vec::with_capacity(2 * BLOCK), 1);
    for k in 0..BLOCK {
        let n = size(k)?;
        let from_here = thread.floor_div(&below.into())?;
        below = fits(below.checked_mul(n))?;
        places.push(if n == 1 {
            Expr::Const(0)
        } else if below == threads {
            from_here
        } else {
            from_here.floor_mod(&n.into())?
        });
    }
    let mut constraints: Vec<Constraint> = places
        .iter()
        .zip(domain.dims())
        .map(|(place, v)| Constraint { expr: place.clone(), interval: v.interval })
        .filter(|c| c.interval.lo != 0)
        .collect();
    constraints.push(Constraint { expr: thread, interval: Interval::new(0, threads - 1) });
    places.extend((BLOCK..2 * BLOCK).map(dim));

    let mut ranges = Vec::with_capacity(domain.n_ranges);
    let last = domain.ranges().iter().rposition(|v| v.interval.hi > v.interval.lo);
    for (k, v) in domain.ranges().iter().enumerate() {
        let here = dim(vars.len());
        if vector > 1 && Some(k) == last {
            let Interval { lo, hi } = v.interval;
            vars[STEP] = Interval::new(0, vector - 1);
            vars.push(Interval::new(0, fits(hi.checked_sub(lo))? / vector));
            ranges.push(here.scale(vector)?.add(&dim(STEP))?.add(&lo.into())?);
            constraints.push(Constraint { expr: ranges[k].clone(), interval: v.interval });
        } else {
            vars.push(v.interval);
            ranges.push(here);
        }
    }
    let n_coordinates = vars.len();
    vars.extend(domain.runtime().iter().map(|v| v.interval));

    let replace = |v: quasiaffine::Var| {
        Ok(match v.kind {
            Kind::Dim => places[v.index as usize].clone(),
            Kind::Range => ranges[v.index as usize].clone(),
            Kind::Runtime => dim(n_coordinates + v.index as usize),
        })
    };
    for c in &domain.constraints {
        constraints.push(Constraint { expr: c.expr.substitute(&replace)?, interval: c.interval });
    }
    let places_in_memory = domain.runtime().iter().flat_map(|v| v.source.iter()).flat_map(|s| &s.index);
    let found = std::iter::once(address).chain(places_in_memory).map(|e| e.substitute(&replace));
    let grid = simplify(&map_of(vars, constraints, found.collect::<quasiaffine::Result<Vec<_>>>()?)?);
    if grid.results().is_empty() {
        return Ok(None);
    }
    let mut rest = grid.results()[1..].iter().cloned();
    let value = |(k, v): (usize, &Variable)| {
        let n = v.source.as_ref().map_or(0, |s| s.index.len());
        Runtime { dim: n_coordinates + k, is_known: v.source.is_some(), index: rest.by_ref().take(n).collect() }
    };
    let values = domain.runtime().iter().enumerate().map(value).collect();
    Ok(Some((grid, values)))
}

/// A grid without runtime values, and their effect on its addresses.
struct Taken {
    grid: Map,
    reason: Option<&'static str>,
    /// The values that all requests share move addresses by multiples of this; 0 if they do not move them.
    common_step: i64,
    /// As `common_step`, for values that differ between requests.
    varying_step: i64,
    /// Whether no request of several elements may be assumed.
    one_by_one: bool,
}

/// The grid at the least runtime values, with lanes of different runtime values kept apart.
fn take_runtime(grid: &Map, values: &[Runtime], form: &Form) -> quasiaffine::Result<Taken> {
    if values.is_empty() {
        let grid = grid.clone();
        return Ok(Taken { grid, reason: None, common_step: 0, varying_step: 0, one_by_one: false });
    }
    let period = form.period()?;
    let is_runtime = |dim: &usize| values.iter().any(|value| value.dim == *dim);
    let one_by_one = grid.domain().constraints.iter().any(|c| dims_of(&c.expr).iter().any(is_runtime));
    let mut reason = one_by_one.then_some("a condition depends on a runtime value: its lanes count as active");
    let (mut common_step, mut varying_step) = (0, 0);
    let mut different: Vec<Expr> = Vec::new();
    let steps = moves(&grid.results()[0]);
    for value in values {
        let Some(step) = steps.get(&value.dim) else { continue };
        let Some(step) = *step else { return apart(grid, values, form, "addresses depend on a runtime value") };
        let read_at: Vec<usize> = value.index.iter().flat_map(dims_of).collect();
        if !value.is_known || read_at.iter().any(is_runtime) {
            return apart(grid, values, form, "each lane may have another runtime value");
        }
        if read_at.contains(&LANE) || read_at.contains(&STEP) {
            different.extend(value.index.iter().filter(|e| !different.contains(e)).cloned().collect::<Vec<_>>());
            reason = reason.or(Some("lanes may have different runtime values"));
        }
        if step % period != 0 {
            reason = reason.or(Some("runtime values move addresses within a sector"));
            let together = if read_at.is_empty() { &mut common_step } else { &mut varying_step };
            *together = gcd(*together, step)?;
        }
    }
    let grid = at_least_values(grid, values, &spread(grid, &different, period)?)?;
    Ok(Taken { grid, reason, common_step, varying_step, one_by_one })
}

/// Moves the addresses so far apart that lanes with different values of `different` share nothing.
fn spread(grid: &Map, different: &[Expr], period: i64) -> quasiaffine::Result<Expr> {
    let mut address = grid.results()[0].clone();
    let Interval { lo, hi } = grid.bounds(&address)?;
    let mut distance = ((i128::from(hi) - i128::from(lo)) / i128::from(period) + 2) * i128::from(period);
    for e in different.iter().filter(|e| e.as_const().is_none()) {
        let values = grid.bounds(e)?;
        let by = i64::try_from(distance).map_err(|_| Error::Overflow("a distance between addresses"))?;
        address = address.add(&e.sub(&values.lo.into())?.scale(by)?)?;
        distance = distance.saturating_mul(i128::from(values.hi) - i128::from(values.lo) + 1);
    }
    Ok(address)
}

/// The grid with a separate address for each lane and step.
fn apart(grid: &Map, values: &[Runtime], form: &Form, reason: &'static str) -> quasiaffine::Result<Taken> {
    let n_steps = grid.domain().vars[STEP].interval.hi + 1;
    let place = Expr::dim(LANE as u32).scale(n_steps)?.add(&Expr::dim(STEP as u32))?;
    let straddles = form.sector() % form.width != 0;
    let start = if straddles { form.sector() - 1 } else { 0 };
    let grid = at_least_values(grid, values, &place.scale(4 * form.sector())?.add(&start.into())?)?;
    Ok(Taken { grid, reason: Some(reason), common_step: 0, varying_step: 0, one_by_one: true })
}

/// The simplified grid with this address, without runtime values and conditions on them.
fn at_least_values(grid: &Map, values: &[Runtime], address: &Expr) -> quasiaffine::Result<Map> {
    let domain = grid.domain();
    let n = domain.n_dims - values.len();
    let least = |v: quasiaffine::Var| {
        let k = v.index as usize;
        Ok(if k < n { Expr::Var(v) } else { domain.vars[k].interval.lo.into() })
    };
    let kept = domain.constraints.iter().filter(|c| dims_of(&c.expr).iter().all(|k| *k < n));
    let dims = domain.vars[..n].iter().map(|v| v.interval);
    Ok(simplify(&map_of(dims, kept.cloned().collect(), [address.substitute(&least)?])?))
}

/// A map that has dims alone.
fn map_of(
    dims: impl IntoIterator<Item = Interval>,
    constraints: Vec<Constraint>,
    results: impl IntoIterator<Item = Expr>,
) -> quasiaffine::Result<Map> {
    let vars: List<Variable, 6> = dims.into_iter().map(Variable::new).collect();
    Map::new(Domain { n_dims: vars.len(), vars, n_ranges: 0, constraints }, results)
}

fn simplify(m: &Map) -> Map {
    m.simplify(Options::new().keep_point_dims(true))
}

/// A number, or an error if it does not have 64 bits.
fn fits(number: Option<i64>) -> quasiaffine::Result<i64> {
    number.ok_or(Error::Overflow("a number of addresses"))
}

/// The greatest common divisor of two numbers without their signs; `None` if it is 2^63.
pub(crate) fn common_divisor(a: i64, b: i64) -> Option<i64> {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).ok()
}

fn gcd(a: i64, b: i64) -> quasiaffine::Result<i64> {
    fits(common_divisor(a, b))
}

fn lcm(a: i64, b: i64) -> quasiaffine::Result<i64> {
    fits((a / gcd(a, b)?).checked_mul(b))
}
