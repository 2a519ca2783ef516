//! A loop of a program: its counts, and what its body makes of offsets and writes, over the iteration.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hlo::{InstructionId, Module};
use quasiaffine::{Expr, Interval, List, Source, Variable};

use super::build::Bounded;
use super::counter::CountedLoop;
use super::scalars::values::{Scalar, Symbol, Values};
use super::scalars::{is_made_of_kept, Part, Place};
use super::windows::{known_branch, written_slot, written_window};
use super::{LoopMaps, Offset, OffsetKey, Rotation, Window};
use crate::indexing::Direction;
use crate::provider::named;
use crate::reads::Text;
use crate::shapes::{self, ShapeIndex};

/// The question that rules of loops ask about the program around: what is known before the first iteration.
pub const LOOP_START: &str = "loop start";

/// A loop in a propagation. What is found is kept for the next question.
pub struct Loop {
    /// Its counts.
    pub facts: CountedLoop,
    /// Whether a reason has the name of an instruction, or a map the number of a device.
    names: AtomicBool,
    /// The scalars of the body over the iteration and symbols.
    values: Mutex<Values>,
    branch: OnceLock<Option<InstructionId>>,
    /// The maps backward, and forward.
    maps: [Mutex<LoopMaps>; 2],
    pub(crate) decisive: Mutex<Option<Decisive>>,
}

/// Some elements of each leaf on which the number of iterations depends: the leaves, and whether the elements may be on
/// other devices; or why they are unknown.
pub(crate) type Decisive = std::result::Result<(Vec<ShapeIndex>, bool), Text>;

/// Those of a panic elsewhere are valid: entries are complete when they are inserted.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Loop {
    /// A loop of a module.
    ///
    /// # Errors
    /// The reason why condition and body do not fit the state.
    pub fn of(m: &Module, id: InstructionId) -> std::result::Result<Loop, &'static str> {
        let facts = CountedLoop::of(m, id)?;
        let n = *facts.trip_count.as_ref().unwrap_or(&0);
        Ok(Loop {
            names: AtomicBool::new(false),
            values: Mutex::new(facts.values_over_symbols(m)),
            branch: OnceLock::new(),
            maps: [true, false].map(|backward| Mutex::new(LoopMaps::new(m.shape(id), n, backward))),
            decisive: Mutex::new(None),
            facts,
        })
    }

    /// Whether the results so far are those of this loop alone: a reason has a name, or a map the number of a device.
    pub fn has_names(&self) -> bool {
        self.names.load(Ordering::Relaxed)
    }

    pub(crate) fn name<'m>(&self, m: &'m Module, id: InstructionId) -> &'m str {
        self.names.store(true, Ordering::Relaxed);
        m.instruction_name(id)
    }

    pub(crate) fn forwards(&self, m: &Module, leaf: &ShapeIndex) -> bool {
        m.forwards(self.facts.body, &shapes::path(leaf))
    }

    fn on_data(&self, m: &Module, supplier: InstructionId) -> Offset {
        Offset::Data(format!("the offset {} depends on data", self.name(m, supplier)).into())
    }

    /// An element of the value of a source as an offset that is clamped; without an element, any of them.
    pub(crate) fn offset(&self, m: &Module, key: &OffsetKey) -> Offset {
        let values = &mut *held(&self.values);
        let supplier = key.source.map(named).and_then(|source| supplier(m, source));
        let Some((at, call)) = supplier else {
            return Offset::Data("the offset of a dynamic access depends on data".into());
        };
        let Some(element) = key.element else { return self.on_data(m, at) };
        let call = call.map(|call| values.scope.call(call, None));
        let place = Place { part: Part::Element(element), call, ..Place::of(at, ShapeIndex::new()) };
        let Some(value) = values.scalar(m, place.clone()) else {
            let (scope, body) = (&mut values.scope, self.facts.body);
            if is_made_of_kept(scope, m, body, place.clone(), &|_| false) {
                return Offset::Invariant;
            }
            let counts = |leaf: &ShapeIndex| self.facts.inductions.contains_key(leaf);
            if !is_made_of_kept(scope, m, body, place, &counts) {
                return self.on_data(m, at);
            }
            let name = self.name(m, at);
            return Offset::Data(format!("how the offset {name} depends on the iteration is not known").into());
        };
        if value.expr.any_var(&|v| v.index > 0) {
            let symbols = values.symbols.as_deref().unwrap_or_default();
            // How many devices there are is said of the module, which other loops like this one do not share.
            let has_devices = symbols.iter().any(|symbol| m.n_devices_of(symbol.0).is_some());
            self.names.fetch_or(has_devices, Ordering::Relaxed);
            if let Expr::Var(v) = value.expr {
                return Offset::Source(named(symbols[v.index as usize - 1].0.into()));
            }
        }
        Offset::Pieces(clamped(&value, key.lower, key.upper))
    }

    /// A conditional in the body whose branch no data decides that the loop changes.
    pub(crate) fn known_branch(&self, m: &Module) -> Option<InstructionId> {
        let is_integer = |leaf: &ShapeIndex| self.facts.start.integers.contains_key(leaf);
        *self.branch.get_or_init(|| known_branch(m, self.facts.body, &mut held(&self.values), &is_integer))
    }

    /// The window of a leaf that the body writes with an update.
    pub(crate) fn window(&self, m: &Module, leaf: &ShapeIndex) -> Option<Window> {
        written_window(m, self.facts.body, &mut held(&self.values), leaf)
    }

    /// The slot of a leaf that the body writes with an update.
    pub(crate) fn rotation(&self, m: &Module, leaf: &ShapeIndex) -> Option<Rotation> {
        let found = written_slot(m, self.facts.body, &mut held(&self.values), leaf);
        found.map(|rotation| Rotation { symbols: self.symbols(), ..rotation })
    }

    /// The maps through all iterations in a direction.
    pub(crate) fn maps(&self, direction: Direction) -> MutexGuard<'_, LoopMaps> {
        held(&self.maps[usize::from(direction != Direction::Backward)])
    }

    /// The runtime variables that the symbols of offsets are.
    pub(crate) fn symbols(&self) -> Vec<Variable> {
        let end = |x: i128| x.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let variable = |&(id, (lower, upper)): &Symbol| {
            let source = Some(Arc::new(Source { id: named(id.into()), index: List::new() }));
            Variable { source, ..Variable::new(Interval::new(end(lower), end(upper))) }
        };
        held(&self.values).symbols.iter().flatten().map(variable).collect()
    }
}

/// The instruction with the value of a source in the maps of a body, and the call that leads to it.
fn supplier(m: &Module, source: i64) -> Option<(InstructionId, Option<InstructionId>)> {
    let n = m.instructions().len() as i64;
    if source < 0 || n == 0 || source / n > n {
        return None;
    }
    Some(((source % n) as InstructionId, (source / n).checked_sub(1).filter(|k| *k >= 0).map(|k| k as InstructionId)))
}

/// An offset in pieces where it may be clamped.
fn clamped(value: &Scalar, lower: i64, upper: i64) -> Vec<(Expr, Option<Bounded>)> {
    let end = |x: i128| x.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    let (e, least, most) = (&value.expr, end(value.lower), end(value.upper));
    if lower <= least && most <= upper {
        return vec![(e.clone(), None)];
    }
    let mut pieces = vec![(e.clone(), Some((e.clone(), lower, upper)))];
    if least < lower {
        pieces.push((Expr::Const(lower), Some((e.clone(), least, lower - 1))));
    }
    if most > upper {
        pieces.push((Expr::Const(upper), Some((e.clone(), upper + 1, most))));
    }
    pieces
}
