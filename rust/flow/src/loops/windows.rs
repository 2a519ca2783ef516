//! The windows of a loop's leaves that the body accesses: the one that it writes, and those with affine offsets.

use std::cell::RefCell;

use hlo::{ComputationId, InstructionId, Module, Opcode, Value as Attribute};
use quasiaffine::Expr;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::counter::{linear_in_iteration, CountedLoop};
use super::rotations::{slots, Rotation};
use super::scalars::values::{Scalar, Values};
use super::scalars::{body_of, is_made_of_kept, Place, Scope};
use super::Window;
use crate::shapes::ShapeIndex;
use crate::tuning::{MAX_NESTED, MAX_VALUES};

/// The offset and the sizes of a window.
type Offsets = (Vec<Expr>, Vec<i64>);

/// A slice, update, gather or scatter of a body whose offset is affine in the iterations of the loops around it.
#[derive(Clone, Debug)]
pub struct Access {
    /// The operation.
    pub instruction: InstructionId,
    /// The carried array that is accessed; `None` for a value that the body computes.
    pub leaf: Option<ShapeIndex>,
    /// An expression for each dimension: `d0` is the iteration of this loop, `d1` that of the loop around it, and so on.
    pub offset: Vec<Expr>,
    /// Those of the window.
    pub sizes: Vec<i64>,
    /// Whether iterations of this loop access different elements, where that is known.
    pub disjoint: Option<bool>,
}

/// The scalars of the body of a loop over the iterations of the loop, as `d0`, and of those around it.
pub struct Nest {
    values: Values,
    /// The loop, and those around it.
    pub loops: Vec<InstructionId>,
}

impl Nest {
    /// The scalars of the body of a loop.
    pub fn of(m: &Module, counted: &CountedLoop) -> Nest {
        Nest::within(m, counted, MAX_NESTED)
    }

    fn within(m: &Module, counted: &CountedLoop, depth: usize) -> Nest {
        let around = if depth > 0 { enclosing_loop(m, counted.id) } else { None };
        let outer = around.filter(|around| around.trip_count.is_ok()).map(|around| Nest::within(m, &around, depth - 1));
        let mut loops = vec![counted.id];
        let Nest { values: mut outer, loops: others } = outer.unwrap_or_else(|| Nest {
            values: Values::new(m.computation_of(counted.id), FxHashMap::default(), false),
            loops: Vec::new(),
        });
        loops.extend(others);
        let mut invariant = |leaf: &ShapeIndex, known: Option<i128>| {
            if let Some(known) = known {
                return Scalar::constant(known);
            }
            let Scalar { expr, lower, upper } =
                outer.scalar(m, Place::of(counted.supplier(m, leaf)?, ShapeIndex::new()))?;
            let expr = expr.substitute(&|v| Ok(Expr::dim(v.index + 1))).ok()?;
            Some(Scalar { expr, lower, upper })
        };
        let invariants = counted.invariants.iter();
        let others: Vec<_> =
            invariants.filter_map(|(leaf, known)| Some((leaf.clone(), invariant(leaf, *known)?))).collect();
        Nest { values: counted.values_of_body(others), loops }
    }

    /// A scalar of the body over the iterations.
    pub fn scalar(&mut self, m: &Module, at: InstructionId) -> Option<Scalar> {
        self.values.scalar(m, Place::of(at, ShapeIndex::new()))
    }
}

/// The loop in whose body an instruction is, where its computation is called in one place.
pub fn enclosing_loop(m: &Module, id: InstructionId) -> Option<CountedLoop> {
    let mut computation = m.computation_of(id);
    for _ in 0..MAX_NESTED {
        let [caller] = m.callers(computation) else { return None };
        if m.instructions()[*caller as usize].opcode == Opcode::While {
            let is_body = body_of(m, *caller) == Some(computation);
            return if is_body { CountedLoop::of(m, *caller).ok() } else { None };
        }
        computation = m.computation_of(*caller);
    }
    None
}

/// The accesses in the body of a loop that is counted, fusions, calls and branches in it included, in text order.
pub fn accesses(m: &Module, counted: &CountedLoop) -> (Vec<Access>, Vec<InstructionId>) {
    let (mut found, mut nest) = (Vec::new(), Nest::of(m, counted));
    let Ok(n) = counted.trip_count else { return (found, nest.loops) };
    let mut pending: Vec<(ComputationId, Option<u32>, usize)> = vec![(counted.body, None, 0)];
    while let Some((computation, call, depth)) = pending.pop() {
        for at in m.instructions_of(computation) {
            let enters =
                matches!(m.instructions()[at as usize].opcode, Opcode::Fusion | Opcode::Call | Opcode::Conditional);
            if enters && depth < MAX_NESTED {
                let inner = Some(nest.values.scope.call(at, call));
                pending.extend(m.called_computations(at).map(|called| (called, inner, depth + 1)));
            }
            let Some((offset, sizes)) = accessed_window(m, at, call, &mut nest.values) else { continue };
            let Some(array) = m.operand(at, 0) else { continue };
            let leaf =
                leaf_of(m, counted.body, &mut nest.values, Place { call, ..Place::all(array, ShapeIndex::new()) });
            let disjoint = is_disjoint(&offset, &sizes, n);
            found.push(Access { instruction: at, leaf, offset, sizes, disjoint });
        }
    }
    (found, nest.loops)
}

/// The leaf of the parameter of a loop's body that an instruction hands on as it is.
fn leaf_of(m: &Module, body: ComputationId, values: &mut Values, place: Place) -> Option<ShapeIndex> {
    let origin = values.scope.origin(m, place);
    (m.parameter_number(origin.at).is_some() && m.computation_of(origin.at) == body).then_some(origin.index)
}

/// Whether two iterations never share an element; `None` where an offset is not affine.
fn is_disjoint(offset: &[Expr], sizes: &[i64], n: i64) -> Option<bool> {
    if n <= 1 || sizes.contains(&0) {
        return Some(true);
    }
    let mut is_affine = true;
    for (e, &size) in offset.iter().zip(sizes) {
        // What is not of this loop is the same in two iterations of it.
        let step = e.substitute(&|v| Ok(if v.index == 0 { Expr::Const(1) } else { Expr::Var(v) })).and_then(|second| {
            let first = e.substitute(&|v| Ok(if v.index == 0 { Expr::Const(0) } else { Expr::Var(v) }))?;
            let step = second.sub(&first)?;
            let Some(by) = step.as_const() else { return Ok(None) };
            Ok((*e == first.add(&Expr::dim(0).scale(by)?)?).then_some(by))
        });
        match step.ok().flatten() {
            Some(step) if step.unsigned_abs() >= size.unsigned_abs() => return Some(true),
            Some(_) => {}
            None => is_affine = false,
        }
    }
    is_affine.then_some(false)
}

/// The window of a leaf of which each iteration writes another one, where the body ends with such an update: one offset is
/// affine in the iteration, and the others are constant.
pub(super) fn written_window(
    m: &Module,
    body: ComputationId,
    values: &mut Values,
    leaf: &ShapeIndex,
) -> Option<Window> {
    let update = values.scope.origin(m, Place::all(m.root(body), leaf.clone()));
    let is_update = matches!(m.instructions()[update.at as usize].opcode, Opcode::DynamicUpdateSlice | Opcode::Scatter);
    if !is_update || !update.index.is_empty() {
        return None;
    }
    let (offsets, widths) = accessed_window(m, update.at, update.call, values)?;
    let sizes = m.shape(update.at).as_array()?.dims();
    let (mut moving, mut fixed) = (None, Vec::new());
    for (dim, ((offset, &size), &width)) in offsets.iter().zip(sizes).zip(&widths).enumerate() {
        let (start, step) = if width < size { linear_in_iteration(offset)? } else { (0, 0) };
        if step != 0 && moving.replace((dim, start, step)).is_some() {
            return None;
        }
        if step == 0 && width < size {
            fixed.push((dim, start, start + width - 1));
        }
    }
    let (dim, start, step) = moving?;
    Some(Window { dim, start, step, size: widths[dim], fixed })
}

/// The slot of a leaf of which each iteration writes another one, as far as the body says so: one offset is a sum with the
/// iteration, modulo the number of slots, and the window fills the other dimensions.
pub(super) fn written_slot(
    m: &Module,
    body: ComputationId,
    values: &mut Values,
    leaf: &ShapeIndex,
) -> Option<Rotation> {
    let update = values.scope.origin(m, Place::all(m.root(body), leaf.clone()));
    if m.instructions()[update.at as usize].opcode != Opcode::DynamicUpdateSlice || !update.index.is_empty() {
        return None;
    }
    let (offsets, widths) = accessed_window(m, update.at, update.call, values)?;
    let sizes = m.shape(update.at).as_array()?.dims();
    let mut partial = (0..sizes.len()).filter(|&i| widths[i] < sizes[i]);
    let (dim, None) = (partial.next()?, partial.next()) else { return None };
    let (first, stride, count) = slots(&offsets[dim])?;
    Some(Rotation { dim, first, stride, count, size: widths[dim], offset: offsets[dim].clone(), symbols: Vec::new() })
}

/// A conditional in the body whose branch no data decides that the loop changes, but the iteration and what stays as it is.
/// Paths that take any branch in each iteration are too many then.
pub(super) fn known_branch(
    m: &Module,
    body: ComputationId,
    values: &mut Values,
    is_integer: &dyn Fn(&ShapeIndex) -> bool,
) -> Option<InstructionId> {
    let mut pending: Vec<(ComputationId, Option<u32>)> = vec![(body, None)];
    let mut seen: FxHashSet<(InstructionId, Option<u32>)> = FxHashSet::default();
    while let Some((computation, call)) = pending.pop() {
        for at in m.instructions_of(computation) {
            let opcode = m.instructions()[at as usize].opcode;
            if !matches!(opcode, Opcode::Call | Opcode::Conditional) || !seen.insert((at, call)) {
                continue;
            }
            // Calls of calls may be exponentially many: what the last ones run is not known.
            if seen.len() > MAX_VALUES {
                return Some(at);
            }
            if let Some(index) = m.operand(at, 0).filter(|_| opcode == Opcode::Conditional) {
                let place = Place { call, ..Place::of(index, ShapeIndex::new()) };
                if values.of(m, place.clone()).is_some() || !is_data(&mut values.scope, m, body, place, is_integer) {
                    return Some(at);
                }
            }
            let inner = Some(values.scope.call(at, call));
            pending.extend(m.called_computations(at).map(|called| (called, inner)));
        }
    }
    None
}

/// Whether a scalar in the body depends on data that the loop changes: on more than leaves that stay as they are, and those
/// that are an integer in each iteration and do not depend on such data themselves.
fn is_data(
    scope: &mut Scope,
    m: &Module,
    body: ComputationId,
    place: Place,
    is_integer: &dyn Fn(&ShapeIndex) -> bool,
) -> bool {
    let (mut pending, mut seen) = (vec![place], FxHashSet::default());
    while let Some(place) = pending.pop() {
        let read = RefCell::new(Vec::new());
        let is_read = |leaf: &ShapeIndex| {
            read.borrow_mut().push(leaf.clone());
            is_integer(leaf)
        };
        if !is_made_of_kept(scope, m, body, place, &is_read) {
            return true;
        }
        let new = read.into_inner().into_iter().filter(|leaf| is_integer(leaf) && seen.insert(leaf.clone()));
        pending.extend(new.map(|leaf| Place::of(m.root(body), leaf)));
    }
    false
}

/// The offset and the sizes of the window that an instruction accesses in its first operand; `None` for other operations
/// and inconsistent ones, and where an offset has no value or may be out of bounds.
fn accessed_window(m: &Module, at: InstructionId, call: Option<u32>, values: &mut Values) -> Option<Offsets> {
    let opcode = m.instructions()[at as usize].opcode;
    let is_access =
        matches!(opcode, Opcode::DynamicSlice | Opcode::DynamicUpdateSlice | Opcode::Gather | Opcode::Scatter);
    if !is_access || m.is_inconsistent(at) {
        return None;
    }
    let sizes_of = |id: InstructionId| Some(m.shape(id).as_array()?.dims());
    let array = sizes_of(m.operand(at, 0)?)?;
    let mut offset = |from: InstructionId, limit: i64, clamps: bool| {
        let value = values.scalar(m, Place { call, ..Place::of(from, ShapeIndex::new()) })?;
        if let Some(known) = value.known().filter(|_| clamps) {
            return Some(Expr::Const(known.clamp(0, limit.max(0).into()) as i64));
        }
        (value.lower >= 0 && value.upper <= limit.into()).then_some(value.expr)
    };
    let ints = |name| match m.attribute_value(at, name) {
        Some(Attribute::Ints(found)) => found,
        _ => Vec::new(),
    };
    let (indices, starts, window) = match opcode {
        Opcode::DynamicSlice | Opcode::DynamicUpdateSlice => {
            let first = if opcode == Opcode::DynamicSlice { 1 } else { 2 };
            let window = sizes_of(if first == 1 { at } else { m.operand(at, 1)? })?;
            if m.operands(at).len() - first != array.len() {
                return None;
            }
            let operands = m.operands(at).skip(first);
            let found = operands.zip(array.iter().zip(window)).map(|(from, (n, w))| offset(from, n - w, true));
            return Some((found.collect::<Option<_>>()?, window.to_vec()));
        }
        Opcode::Gather if ints("operand_batching_dims").is_empty() => {
            (m.operand(at, 1)?, ints("start_index_map"), ints("slice_sizes"))
        }
        Opcode::Scatter if m.operands(at).len() == 3 && ints("input_batching_dims").is_empty() => {
            let updates = sizes_of(m.operand(at, 2)?)?;
            let inserted = ints("inserted_window_dims");
            let mut kept = ints("update_window_dims").into_iter();
            let extent = |p: usize| match inserted.contains(&(p as i64)) {
                true => Some(1),
                false => updates.get(usize::try_from(kept.next()?).ok()?).copied(),
            };
            let window = (0..array.len()).map(extent).collect::<Option<_>>()?;
            (m.operand(at, 1)?, ints("scatter_dims_to_operand_dims"), window)
        }
        _ => return None,
    };
    // One window with one index.
    let ([p], Some(1)) = (&starts[..], m.shape(indices).as_array()?.n_elements()) else { return None };
    let p = usize::try_from(*p).ok()?;
    let start = offset(indices, array.get(p)? - window.get(p)?, opcode == Opcode::Gather)?;
    let offsets: SmallVec<[Expr; 4]> =
        (0..array.len()).map(|i| if i == p { start.clone() } else { Expr::Const(0) }).collect();
    Some((offsets.into_vec(), window))
}
