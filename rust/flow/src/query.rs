//! Asks pages once for a signature and follows what they say through called computations.
//!
//! Read [`Walker`]; it lives for one question about one module. [`Pages`] are the operations' own rules, which may ask
//! back for the maps through a computation that an instruction calls. Deep calls are answered from the inside out, so
//! that no stack grows with a program.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hlo::{ComputationId, InstructionId, Module};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::indexing::{Answer, Leaf, Part};
use crate::propagate::{self, Rules, Walk};
use crate::schedule::{fits, stands_for, Plan, Region};
use crate::shapes;
use crate::sources::Sources;

/// Computations that call each other so deeply are still asked by one another.
const DEEP_CALLS: u32 = 16;

/// An instruction's signature or a computation's content.
pub type Key = [u8; 16];

/// Which way a question goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the output to operands or parameters.
    Backward,
    /// From the operand or parameter of this number to outputs.
    Forward(u32),
}

/// What a page says of itself.
#[derive(Clone, Debug, Default)]
pub struct Kind {
    /// The value is that of the one called computation at the operands.
    pub inlines: bool,
    /// The answer names values inside called computations.
    pub per_instruction: bool,
    /// Values are put side by side or taken out, and none is computed.
    pub wiring: bool,
    /// The operands whose constant content counts.
    pub looked_at: SmallVec<[usize; 4]>,
    /// All instructions of the opcode have this kind.
    pub by_opcode: bool,
    /// Operations of this name answer alike where the sizes of their arrays agree.
    pub by_sizes: Option<String>,
}

/// The rules of operations, and what is kept of them between modules.
pub trait Pages {
    /// What ends a walk: no failure of a rule, which is an answer.
    type Error;

    /// The kind of an operation; the same for a signature.
    fn kind(&self, id: InstructionId) -> Result<Kind, Self::Error>;

    /// The answer of the rule; where it `is_shared` it serves every instruction with this key.
    fn ask(
        &self,
        id: InstructionId,
        key: &Key,
        leaf: &Leaf,
        way: Direction,
        repeats: bool,
    ) -> Result<Arc<Answer>, Self::Error>;

    /// The answer through a computation of this content, if it is known; sources are positions in it.
    fn recall(&self, content: &Key, leaf: &Leaf, way: Direction) -> Result<Option<Arc<Answer>>, Self::Error>;

    /// Keep such an answer.
    fn keep(&self, content: &Key, leaf: &Leaf, way: Direction, answer: &Arc<Answer>) -> Result<(), Self::Error>;

    /// The error of a caller that does not fit its computation.
    fn misfit(&self, what: &'static str) -> Self::Error;
}

/// What is known of a module while one question lasts.
#[derive(Debug, Default)]
pub struct Walker {
    known: Mutex<Known>,
    sources: Sources,
    depth: OnceLock<u32>,
}

#[derive(Debug, Default)]
struct Known {
    ids: FxHashMap<Key, u32>,
    keys: Vec<Key>,
    kinds: FxHashMap<u32, Arc<Kind>>,
    by_opcode: FxHashMap<String, Arc<Kind>>,
    of: FxHashMap<InstructionId, Named>,
    answers: FxHashMap<(u32, Direction, Leaf), Arc<Answer>>,
    through: FxHashMap<(ComputationId, Direction, Leaf), Arc<Answer>>,
    contents: FxHashMap<(Key, Direction, Leaf), Arc<Answer>>,
    plans: FxHashMap<ComputationId, Arc<Plan>>,
    /// What is prepared for questions, backward and forward.
    warm: FxHashSet<(ComputationId, bool)>,
    /// How deep followed calls nest in a computation, itself included.
    depths: FxHashMap<ComputationId, u32>,
    deep: FxHashSet<ComputationId>,
}

/// What an instruction is known by.
#[derive(Clone, Debug)]
pub struct Named {
    /// Equal for instructions of one signature, the operands that the rules look at included.
    pub number: u32,
    /// Equal for instructions whose rules answer equally.
    pub asked: u32,
    /// What the page says of itself.
    pub kind: Arc<Kind>,
    /// The computation whose value it has at its operands.
    pub stands_for: Option<ComputationId>,
}

impl Known {
    fn id(&mut self, key: Key) -> u32 {
        let next = self.keys.len() as u32;
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.keys.push(key);
        }
        id
    }
}

/// Rules as a walk through one module asks them.
struct Asked<'a, P> {
    walker: &'a Walker,
    m: &'a Module,
    pages: &'a P,
}

impl<P: Pages> Rules for Asked<'_, P> {
    type Error = P::Error;

    fn backward(&mut self, id: InstructionId, leaf: &Leaf) -> Result<Arc<Answer>, P::Error> {
        self.walker.ask(self.m, self.pages, id, leaf, Direction::Backward)
    }

    fn forward(&mut self, id: InstructionId, operand: u32, leaf: &Leaf) -> Result<Arc<Answer>, P::Error> {
        self.walker.ask(self.m, self.pages, id, leaf, Direction::Forward(operand))
    }
}

impl Walker {
    fn known(&self) -> MutexGuard<'_, Known> {
        // What is known stays right whatever became of its finder.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of values inside calls.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// What an instruction is known by.
    pub fn named<P: Pages>(&self, m: &Module, pages: &P, id: InstructionId) -> Result<Named, P::Error> {
        if let Some(found) = self.known().of.get(&id) {
            return Ok(found.clone());
        }
        let plain = m.signature(id, &[]);
        let (mut number, kind) = {
            let mut known = self.known();
            let number = known.id(plain);
            let kind = known.by_opcode.get(m.opcode_name(id)).or_else(|| known.kinds.get(&number));
            (number, kind.cloned())
        };
        let kind = match kind {
            Some(kind) => kind,
            None => {
                let kind = Arc::new(pages.kind(id)?);
                let mut known = self.known();
                if kind.by_opcode {
                    known.by_opcode.insert(m.opcode_name(id).to_owned(), kind.clone());
                } else {
                    known.kinds.insert(number, kind.clone());
                }
                kind
            }
        };
        if !kind.looked_at.is_empty() {
            number = self.known().id(m.signature(id, &kind.looked_at));
        }
        let sizes = kind.by_sizes.as_ref().filter(|_| !m.is_inconsistent(id) && !m.has_unnamed_operands(id));
        let asked = sizes.and_then(|together| m.sizes_signature(id, together));
        let stands_for = stands_for(m, id).filter(|&computation| kind.inlines && fits(m, id, computation));
        let mut known = self.known();
        let found = Named { number, asked: asked.map_or(number, |key| known.id(key)), kind, stands_for };
        known.of.insert(id, found.clone());
        Ok(found)
    }

    /// The rule of an instruction for a leaf of its output or of an operand, sources being instruction numbers.
    pub fn ask<P: Pages>(
        &self,
        m: &Module,
        pages: &P,
        id: InstructionId,
        leaf: &Leaf,
        way: Direction,
    ) -> Result<Arc<Answer>, P::Error> {
        let given = match way {
            Direction::Backward => Some(m.shape(id)),
            Direction::Forward(k) => m.operands(id).nth(k as usize).map(|operand| m.shape(operand)),
        };
        if given.and_then(|shape| shapes::at(shape, leaf)).is_some_and(shapes::is_empty) {
            return Ok(Arc::default());
        }
        let Named { asked: number, kind, stands_for, .. } = self.named(m, pages, id)?;
        let (found, key) = {
            let known = self.known();
            let found = known.answers.get(&(number, way, leaf.clone())).cloned();
            (found, known.keys[number as usize])
        };
        let found = match found {
            Some(found) => found,
            None => {
                let repeats = kind.per_instruction && repeats_operands(m, id);
                let found = match stands_for.filter(|_| !m.is_inconsistent(id)) {
                    Some(computation) => with_elements(m, id, way, self.outside(m, pages, id, computation, leaf, way)?),
                    None => pages.ask(id, &key, leaf, way, repeats)?,
                };
                if !(kind.per_instruction && (found.has_runtime || repeats)) {
                    self.known().answers.insert((number, way, leaf.clone()), found.clone());
                }
                found
            }
        };
        if !found.has_runtime || kind.per_instruction {
            return Ok(found);
        }
        // Source k of a rule is the value of operand k.
        let of_operand = |k: i64| m.operands(id).nth(usize::try_from(k).ok()?).map(i64::from);
        Ok(Arc::new(found.with_sources(&of_operand)))
    }

    /// Through a computation that an instruction calls: its parameters are the caller's operands.
    pub fn outside<P: Pages>(
        &self,
        m: &Module,
        pages: &P,
        caller: InstructionId,
        computation: ComputationId,
        leaf: &Leaf,
        way: Direction,
    ) -> Result<Arc<Answer>, P::Error> {
        let named = self.named(m, pages, caller)?;
        if named.kind.inlines && named.stands_for.is_none() {
            return Err(pages.misfit("a computation with other operands or output"));
        }
        let found = self.through(m, pages, computation, leaf, way)?;
        if !found.has_runtime {
            return Ok(found);
        }
        let outside = |source| self.sources.outside(m, caller, computation, source);
        if found.sources().into_iter().any(|source| outside(source).is_none()) {
            return Err(pages.misfit("a parameter without an operand"));
        }
        Ok(Arc::new(found.with_sources(&outside)))
    }

    /// Through a computation, sources being instruction numbers in it.
    pub fn through<P: Pages>(
        &self,
        m: &Module,
        pages: &P,
        computation: ComputationId,
        leaf: &Leaf,
        way: Direction,
    ) -> Result<Arc<Answer>, P::Error> {
        self.prepare(m, pages, computation, way)?;
        let key = (computation, way, leaf.clone());
        if let Some(found) = self.known().through.get(&key) {
            return Ok(found.clone());
        }
        let found = match self.recall(m, pages, &key)? {
            Some(found) => found,
            None => {
                let found = Arc::new(self.walk(m, pages, &key)?);
                self.keep(m, pages, &key, &found)?;
                found
            }
        };
        self.known().through.insert(key, found.clone());
        Ok(found)
    }

    fn walk<P: Pages>(
        &self,
        m: &Module,
        pages: &P,
        (computation, way, leaf): &(ComputationId, Direction, Leaf),
    ) -> Result<Answer, P::Error> {
        let mut asked = Asked { walker: self, m, pages };
        if let Direction::Forward(parameter) = *way {
            return propagate::forward(m, *computation, parameter, leaf, &self.sources, &mut asked);
        }
        let known = self.known().plans.get(computation).cloned();
        let plan = match known {
            Some(plan) => plan,
            None => {
                let enters = !self.known().deep.contains(computation);
                let region = Region::computation(m, *computation, enters);
                let plan = Arc::new(self.plan(m, pages, region, m.root(*computation))?);
                self.known().plans.insert(*computation, plan.clone());
                plan
            }
        };
        let root = m.shape(m.root(*computation));
        let sizes: SmallVec<[i64; 6]> = shapes::at(root, leaf).into_iter().flat_map(shapes::sizes).collect();
        let walk = Walk::new(m, &plan, std::iter::once(leaf), &self.sources, &mut asked)?;
        Ok(walk.at_ends(&sizes, m.parameters(*computation)))
    }

    /// The order of a walk through a region.
    pub fn plan<P: Pages>(
        &self,
        m: &Module,
        pages: &P,
        region: Region,
        start: InstructionId,
    ) -> Result<Plan, P::Error> {
        Plan::new(m, start, region, &mut |id| Ok(self.named(m, pages, id)?.kind.inlines))
    }

    /// A walk along a plan, from leaves of its first value.
    pub fn follow<'w, P: Pages>(
        &'w self,
        m: &'w Module,
        pages: &'w P,
        plan: &'w Plan,
        leaves: &[Leaf],
    ) -> Result<Walk<'w>, P::Error> {
        Walk::new(m, plan, leaves.iter(), &self.sources, &mut Asked { walker: self, m, pages })
    }

    // A computation of the same content has the same maps, its own values being in the same places.

    fn recall<P: Pages>(
        &self,
        m: &Module,
        pages: &P,
        (computation, way, leaf): &(ComputationId, Direction, Leaf),
    ) -> Result<Option<Arc<Answer>>, P::Error> {
        let content = m.content(*computation);
        let mut kept = self.known().contents.get(&(content, *way, leaf.clone())).cloned();
        if kept.is_none() {
            kept = pages.recall(&content, leaf, *way)?;
            if let Some(kept) = &kept {
                self.known().contents.insert((content, *way, leaf.clone()), kept.clone());
            }
        }
        let start = i64::from(m.instructions_of(*computation).start);
        Ok(kept.map(|kept| match kept.has_runtime {
            true => Arc::new(kept.with_sources(&|position| Some(start + position))),
            false => kept,
        }))
    }

    /// Not where a value of another computation has a say: that one may be called elsewhere, too.
    fn keep<P: Pages>(
        &self,
        m: &Module,
        pages: &P,
        (computation, way, leaf): &(ComputationId, Direction, Leaf),
        found: &Arc<Answer>,
    ) -> Result<(), P::Error> {
        let range = m.instructions_of(*computation);
        let (start, end) = (i64::from(range.start), i64::from(range.end));
        let relative = match found.has_runtime {
            false => found.clone(),
            true if found.sources().iter().any(|s| !(start..end).contains(s)) => return Ok(()),
            true => Arc::new(found.with_sources(&|source| Some(source - start))),
        };
        let content = m.content(*computation);
        pages.keep(&content, leaf, *way, &relative)?;
        self.known().contents.insert((content, *way, leaf.clone()), relative);
        Ok(())
    }

    /// Where calls nest deeply, answer for the innermost computations first, so that no stack grows.
    fn prepare<P: Pages>(
        &self,
        m: &Module,
        pages: &P,
        computation: ComputationId,
        way: Direction,
    ) -> Result<(), P::Error> {
        let is_forward = way != Direction::Backward;
        if *self.depth.get_or_init(|| depth_of_calls(m)) <= DEEP_CALLS
            || self.known().warm.contains(&(computation, is_forward))
        {
            return Ok(());
        }
        for here in self.call_order(m, pages, computation, is_forward)? {
            {
                let mut known = self.known();
                known.warm.insert((here, is_forward));
                if known.depths.get(&here).is_none_or(|&depth| depth <= DEEP_CALLS) {
                    continue;
                }
                known.deep.insert(here);
            }
            // What calls it finds all its leaves answered.
            if !is_forward {
                for (leaf, _) in shapes::array_leaves(m.shape(m.root(here))) {
                    self.through(m, pages, here, &leaf, way)?;
                }
                continue;
            }
            for (k, &parameter) in m.parameters(here).iter().enumerate() {
                for (leaf, _) in shapes::array_leaves(m.shape(parameter)) {
                    self.through(m, pages, here, &leaf, Direction::Forward(k as u32))?;
                }
            }
        }
        Ok(())
    }

    /// The computations that one reaches by calls that are followed and that are not prepared, innermost first.
    fn call_order<P: Pages>(
        &self,
        m: &Module,
        pages: &P,
        computation: ComputationId,
        is_forward: bool,
    ) -> Result<Vec<ComputationId>, P::Error> {
        let mut order = Vec::new();
        let mut seen: FxHashSet<ComputationId> = FxHashSet::default();
        let mut pending: Vec<(ComputationId, Option<Vec<ComputationId>>)> = vec![(computation, None)];
        while let Some((here, inner)) = pending.pop() {
            if let Some(inner) = inner {
                let mut known = self.known();
                let below = inner.iter().filter_map(|c| known.depths.get(c)).max().copied().unwrap_or(0);
                known.depths.insert(here, below + 1);
                order.push(here);
            } else if !self.known().warm.contains(&(here, is_forward)) && seen.insert(here) {
                let mut inner = Vec::new();
                for id in m.instructions_of(here) {
                    if m.called(id).next().is_some() && self.named(m, pages, id)?.kind.per_instruction {
                        inner.extend(m.called(id));
                    }
                }
                pending.push((here, Some(inner.clone())));
                pending.extend(inner.into_iter().rev().map(|c| (c, None)));
            }
        }
        Ok(order)
    }
}

/// How deep calls of any kind nest in a module.
fn depth_of_calls(m: &Module) -> u32 {
    let mut depth = vec![1u32; m.computations().len()];
    for c in m.callees_first() {
        let inner = m.instructions_of(c).flat_map(|id| m.called(id)).map(|inner| depth[inner as usize]).max();
        depth[c as usize] = 1 + inner.unwrap_or(0);
    }
    depth.into_iter().max().unwrap_or(0)
}

/// Whether one value is given twice: then two runtime sources may be one.
pub(crate) fn repeats_operands(m: &Module, id: InstructionId) -> bool {
    let mut operands: SmallVec<[InstructionId; 16]> = m.operands(id).collect();
    operands.sort_unstable();
    operands.windows(2).any(|pair| pair[0] == pair[1])
}

/// Without the parts of values that hold no arrays.
fn with_elements(m: &Module, id: InstructionId, way: Direction, found: Arc<Answer>) -> Arc<Answer> {
    let has = |k: u32| match (way, m.shape(id).as_tuple()) {
        (Direction::Backward, _) => m.operands(id).nth(k as usize).is_some_and(|o| shapes::has_elements(m.shape(o))),
        (Direction::Forward(_), Some(parts)) => parts.get(k as usize).is_some_and(shapes::has_elements),
        (Direction::Forward(_), None) => shapes::has_elements(m.shape(id)),
    };
    if found.parts.iter().all(|(k, _)| has(*k)) {
        return found;
    }
    let parts: Vec<(u32, Part)> = found.parts.iter().filter(|(k, _)| has(*k)).cloned().collect();
    Arc::new(Answer::new(&found.sizes, parts))
}
