//! The walks: rules' maps composed along the ways that data takes.
//!
//! Read [`Walk`]. Every value is visited once, after all its users; equal maps are one, so work grows with distinct
//! maps and not with ways, and a leaf costs only what can be reached from it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use hlo::{ComputationId, InstructionId, Module};
use layout::Shape;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use symbolic::{compose, Map};

use crate::indexing::{moves_nothing, renumbered, Answer, Leaf, Part, Text, TIDY};
use crate::schedule::{Plan, Step};
use crate::shapes;
use crate::sources::Sources;
use crate::state::{State, Use};

pub use crate::state::{Entry, MAX_MAPS, MAX_NODES};

/// What a walk asks on its way.
pub trait Rules {
    /// Why it ends before its time.
    type Error;

    /// From a leaf of the output to every operand.
    fn backward(&mut self, id: InstructionId, leaf: &Leaf) -> Result<Arc<Answer>, Self::Error>;

    /// From a leaf of an operand to every output.
    fn forward(&mut self, id: InstructionId, operand: u32, leaf: &Leaf) -> Result<Arc<Answer>, Self::Error>;
}

/// One walk from leaves of a value against the arrows of data, users before what they use.
pub struct Walk<'w> {
    m: &'w Module,
    plan: &'w Plan,
    sources: &'w Sources,
    /// By place; a walk from one leaf may reach few of them.
    states: FxHashMap<u32, Box<State>>,
    waiting: BinaryHeap<Reverse<u32>>,
    /// Why any value may be read.
    pub blind: Option<Text>,
}

impl<'w> Walk<'w> {
    /// Walks the whole plan.
    pub fn new<'l, R: Rules>(
        m: &'w Module,
        plan: &'w Plan,
        leaves: impl Iterator<Item = &'l Leaf>,
        sources: &'w Sources,
        rules: &mut R,
    ) -> Result<Walk<'w>, R::Error> {
        let mut walk = Walk { m, plan, sources, states: FxHashMap::default(), waiting: BinaryHeap::new(), blind: None };
        walk.states.insert(0, Box::new(State::begun(m.shape(plan.order[0]), leaves)));
        walk.waiting.push(Reverse(0));
        while let Some(Reverse(place)) = walk.waiting.pop() {
            walk.visit(place, rules)?;
        }
        Ok(walk)
    }

    /// What was found for a value of the plan.
    pub fn state(&self, id: InstructionId) -> Option<&State> {
        self.states.get(&self.plan.place(id)?).map(|state| &**state)
    }

    /// What was found for these values, by their numbers among them.
    pub fn at_ends(&self, sizes: &[i64], ends: &[InstructionId]) -> Answer {
        let mut parts = Vec::new();
        for (k, &end) in ends.iter().enumerate() {
            if let (Some(reason), Some(_)) = (&self.blind, self.plan.place(end)) {
                parts.push((k as u32, Part::Unknown(reason.clone())));
            } else if let Some(state) = self.state(end) {
                parts.push((k as u32, state.part()));
            }
        }
        parts.retain(|(_, part)| !matches!(part, Part::Read(said) if said.says_nothing()));
        Answer::new(sizes, parts)
    }

    fn target(&mut self, id: InstructionId) -> &mut State {
        let place = self.plan.place(id).unwrap_or(0);
        self.states.entry(place).or_insert_with(|| {
            self.waiting.push(Reverse(place));
            Box::default()
        })
    }

    fn visit<R: Rules>(&mut self, place: u32, rules: &mut R) -> Result<(), R::Error> {
        let (id, step) = (self.plan.order[place as usize], self.plan.steps[place as usize]);
        let Some(mut state) = self.states.remove(&place) else { return Ok(()) };
        state.keep_budget(self.m.shape(id), self.m.instruction_name(id));
        let is_reached = !state.entries.is_empty() || !state.unknown.is_empty();
        if is_reached && !matches!(step, Step::Enter(_)) && self.m.has_unnamed_operands(id) && self.blind.is_none() {
            // It reads values that the text does not name, so any value may be read.
            let name = self.m.instruction_name(id);
            self.blind = Some(format!("the operands of {name} have no names").into());
        }
        match step {
            Step::Stop => {}
            Step::Enter(root) => self.hand_on(&state, root, None, &|_| None),
            Step::Leave { caller, operand } => self.leave(id, &state, caller, operand),
            Step::Rule => self.apply_rule(id, &state, rules)?,
        }
        self.states.insert(place, state);
        Ok(())
    }

    fn hand_on(&mut self, state: &State, to: InstructionId, usage: Option<Use>, new: &dyn Fn(i64) -> Option<i64>) {
        let target = self.target(to);
        target.is_raw |= state.is_raw;
        for e in &state.entries {
            let map = renumbered(&e.map, new);
            if map.state() != symbolic::map::State::Empty {
                target.add(&e.leaf, map, usage);
            }
        }
        for (leaf, reason) in &state.unknown {
            target.forget(leaf.clone(), reason);
        }
        target.blur_alike(state);
        target.across |= state.across;
    }

    /// From a parameter of an entered computation to the operand that it stands for.
    fn leave(&mut self, parameter: InstructionId, state: &State, caller: InstructionId, operand: InstructionId) {
        let computation = self.m.computation_of(parameter);
        let number = self.m.parameter_number(parameter).unwrap_or(0);
        let (m, sources) = (self.m, self.sources);
        let new = |source| sources.outside(m, caller, computation, source);
        self.hand_on(state, operand, Some((caller, number)), &new);
    }

    fn apply_rule<R: Rules>(&mut self, id: InstructionId, state: &State, rules: &mut R) -> Result<(), R::Error> {
        let m = self.m;
        if m.operands(id).len() == 0 {
            return Ok(());
        }
        for (leaf, firsts) in state.by_leaf() {
            let answer = rules.backward(id, &leaf)?;
            let mut composed = Composed::default();
            for (k, part) in &answer.parts {
                let Some(operand) = m.operands(id).nth(*k as usize) else { continue };
                let from = From { state, leaf: &leaf, firsts: &firsts, usage: (id, *k), sources: self.sources };
                let target = self.target(operand);
                follow(&from, part, &answer.sizes, target, m.shape(operand), &Leaf::new(), &mut composed);
            }
        }
        Ok(())
    }
}

struct From<'a> {
    state: &'a State,
    leaf: &'a Leaf,
    firsts: &'a [Map],
    usage: Use,
    sources: &'a Sources,
}

/// Everything that reached a leaf, followed by what a rule says of one value.
fn follow(
    from: &From,
    part: &Part,
    sizes: &[i64],
    target: &mut State,
    shape: &Shape,
    below: &Leaf,
    composed: &mut Composed,
) {
    let said = match part {
        Part::Unknown(reason) => {
            for (leaf, _) in shapes::array_leaves(shape) {
                target.forget(below.iter().chain(&leaf).copied().collect(), reason);
            }
            return;
        }
        Part::Read(said) => said,
    };
    if !said.exact {
        said.maps.iter().for_each(|(to, _)| target.blur(Some(to), said.reason.as_ref()));
        if said.maps.is_empty() {
            target.blur(None, said.reason.as_ref());
        }
    }
    if let Some(reason) = from.state.unknown_at(from.leaf) {
        for (to, _) in &said.maps {
            target.forget(to.clone(), reason);
        }
        return;
    }
    target.blur_as(said.maps.iter().map(|(to, _)| to), from.state, from.leaf);
    if said.across || from.state.across {
        target.cross(said, from.state);
    }
    let elsewhere: Vec<Map>;
    let firsts = if said.across {
        elsewhere =
            from.firsts.iter().map(|m| m.remap_sources(&|source| Some(from.sources.elsewhere(source)))).collect();
        &elsewhere
    } else {
        from.firsts
    };
    for (to, second) in &said.maps {
        let is_kept = !from.state.is_raw && moves_nothing(second, sizes);
        for (i, first) in firsts.iter().enumerate() {
            if is_kept {
                target.add(to, first.clone(), Some(from.usage));
                continue;
            }
            match composed.of((i, said.across), first, second) {
                Err(e) => target.forget(to.clone(), &format!("composition: {e}").into()),
                Ok(map) if map.state() == symbolic::map::State::Empty => {}
                Ok(map) => target.add(to, map, Some(from.usage)),
            }
        }
    }
}

/// The number of a first map and whether it is on another device, the second map, and what they make.
type Pair = ((usize, bool), Map, symbolic::Result<Map>);

/// The latest compositions at one value: operands are often read alike.
#[derive(Default)]
struct Composed {
    known: SmallVec<[Pair; 4]>,
}

const REMEMBERED: usize = 16;

impl Composed {
    fn of(&mut self, i: (usize, bool), first: &Map, second: &Map) -> symbolic::Result<Map> {
        if let Some((.., map)) = self.known.iter().find(|(k, m, _)| *k == i && m.is_same(second)) {
            return map.clone();
        }
        let map = compose(first, second, TIDY);
        if self.known.len() < REMEMBERED {
            self.known.push((i, second.clone(), map.clone()));
        }
        map
    }
}

/// From a leaf of a parameter along the arrows of data to each output of the root.
pub fn forward<R: Rules>(
    m: &Module,
    computation: ComputationId,
    parameter: u32,
    leaf: &Leaf,
    sources: &Sources,
    rules: &mut R,
) -> Result<Answer, R::Error> {
    let root = m.root(computation);
    let Some(&start) = m.parameters(computation).get(parameter as usize) else { return Ok(Answer::default()) };
    let sizes: SmallVec<[i64; 6]> = shapes::at(m.shape(start), leaf).into_iter().flat_map(shapes::sizes).collect();
    if let Some(id) = m.instructions_of(computation).find(|&id| m.has_unnamed_operands(id)) {
        let reason: Text = format!("the operands of {} have no names", m.instruction_name(id)).into();
        let parts = (0..n_outputs(m.shape(root))).map(|i| (i, Part::Unknown(reason.clone())));
        return Ok(Answer::new(&sizes, parts.collect()));
    }
    let plan = Plan::operands(m, root);
    let mut states: Vec<Option<Box<State>>> = Vec::new();
    states.resize_with(plan.order.len(), || None);
    if let Some(place) = plan.place(start) {
        states[place as usize] = Some(Box::new(State::begun(m.shape(start), std::iter::once(leaf))));
    }
    for place in (0..plan.order.len()).rev() {
        let user = plan.order[place];
        let mut state = states[place].take();
        let shape = m.shape(user);
        for (k, operand) in m.operands(user).enumerate() {
            let given = plan.place(operand).filter(|&at| at as usize != place);
            let Some(given) = given.and_then(|at| states[at as usize].as_deref()) else { continue };
            let state = state.get_or_insert_with(Box::default);
            for (below, firsts) in given.by_leaf() {
                let answer = rules.forward(user, k as u32, &below)?;
                let mut composed = Composed::default();
                for (i, part) in &answer.parts {
                    let (output, at) = match shape {
                        Shape::Tuple(parts) => (parts.get(*i as usize), Leaf::from_slice(&[*i])),
                        whole => (Some(whole), Leaf::new()),
                    };
                    let Some(output) = output else { continue };
                    let from = From { state: given, leaf: &below, firsts: &firsts, usage: (user, k as u32), sources };
                    follow(&from, part, &answer.sizes, state, output, &at, &mut composed);
                }
            }
        }
        if let Some(state) = &mut state {
            state.keep_budget(shape, m.instruction_name(user));
        }
        states[place] = state;
    }
    let found = plan.place(root).and_then(|place| states[place as usize].take());
    Ok(Answer::new(&sizes, by_output(&found.unwrap_or_default(), m.shape(root))))
}

/// How many outputs a value has: the elements of a tuple, else one.
pub fn n_outputs(shape: &Shape) -> u32 {
    shape.as_tuple().map_or(1, |parts| parts.len() as u32)
}

/// What is unknown of one output says nothing of the others.
fn by_output(state: &State, shape: &Shape) -> Vec<(u32, Part)> {
    if shape.as_tuple().is_none() {
        let part = state.part();
        let is_nothing = matches!(&part, Part::Read(said) if said.says_nothing());
        return if is_nothing { Vec::new() } else { vec![(0, part)] };
    }
    let n = n_outputs(shape) as usize;
    let mut maps: Vec<Vec<(Leaf, Map)>> = vec![Vec::new(); n];
    let mut unknown: Vec<Option<Text>> = vec![None; n];
    let at = |leaf: &Leaf| leaf.first().map(|&i| i as usize).filter(|&i| i < n);
    for e in &state.entries {
        if let Some(i) = at(&e.leaf) {
            maps[i].push((e.leaf.clone(), e.map.clone()));
        }
    }
    for (leaf, reason) in &state.unknown {
        if let Some(i) = at(leaf) {
            unknown[i].get_or_insert_with(|| reason.clone());
        }
    }
    let mut parts = Vec::new();
    for (i, (maps, unknown)) in maps.into_iter().zip(unknown).enumerate() {
        match unknown {
            Some(reason) => parts.push((i as u32, Part::Unknown(reason))),
            None => {
                let said = state.read(maps, i as u32);
                if !(said.maps.is_empty() && said.exact) {
                    parts.push((i as u32, Part::Read(said)));
                }
            }
        }
    }
    parts
}
