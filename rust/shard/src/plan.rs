//! A program as applications of rules to values, and its plans.
//!
//! [`plan`] first propagates: from the values whose shardings are given, in program order, forward and backward through
//! factors, until nothing changes. A sharding that is not given is only ever extended, so this ends. Then each
//! application is resolved at the shardings found, which lists the moves.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cancel::{on_threads, poll};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::claims::Shardings;
use crate::mesh::{Collective, Mesh, Parts, ShapeId, Sharding, ShardingId};
use crate::resolve::{RuleId, Rules, Why};
use crate::tuning::MAX_ANSWERS;

/// The number of a value: one array of an instruction.
pub type ValueId = u32;
/// The number of a region: a part of the program that runs together.
pub type RegionId = u32;

/// An application of a rule.
#[derive(Clone, Debug)]
pub struct Application {
    /// The rule.
    pub rule: RuleId,
    /// Operands, then outputs.
    pub values: SmallVec<[ValueId; 4]>,
    /// The region in which it runs.
    pub region: RegionId,
}

/// The entry, the computations of a loop, or a branch.
#[derive(Clone, Debug)]
pub struct Region {
    /// The region around it; the entry has none.
    pub parent: Option<RegionId>,
    /// The number of the conditional of which this is a branch.
    pub conditional: Option<u32>,
    /// The runs in one run of the program.
    pub times: i64,
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// In the order of execution.
    pub applications: Vec<Application>,
    /// Each after the region around it.
    pub regions: Vec<Region>,
    /// The shape of each value, and the bits of an element.
    pub values: Vec<(ShapeId, u32)>,
    /// Values that a loop passes on unchanged, each with the region around the loop.
    pub invariant: FxHashMap<ValueId, RegionId>,
    users: Vec<SmallVec<[u32; 4]>>,
}

impl Program {
    /// A program whose applications are in the order of execution.
    pub fn new(
        applications: Vec<Application>,
        regions: Vec<Region>,
        values: Vec<(ShapeId, u32)>,
        invariant: FxHashMap<ValueId, RegionId>,
    ) -> Program {
        let mut users = vec![SmallVec::new(); values.len()];
        for (k, application) in applications.iter().enumerate() {
            for v in &application.values {
                let own: &mut SmallVec<[u32; 4]> = &mut users[*v as usize];
                if own.last() != Some(&(k as u32)) {
                    own.push(k as u32);
                }
            }
        }
        Program { applications, regions, values, invariant, users }
    }

    /// Whether a region is another one, or lies in it.
    fn is_within(&self, mut region: RegionId, outer: RegionId) -> bool {
        while region > outer {
            match self.regions[region as usize].parent {
                Some(parent) => region = parent,
                None => return false,
            }
        }
        region == outer
    }
}

/// The given shardings: in each stage those that are propagated next.
pub type Stages = [Vec<(ValueId, Sharding)>];

/// A move of a plan.
#[derive(Clone, Debug)]
pub struct Move {
    /// The number of the application.
    pub application: u32,
    /// What moves.
    pub value: ValueId,
    /// Why it moves.
    pub why: Why,
    /// How it moves.
    pub collective: Collective,
    /// The parts of axes along which devices send.
    pub parts: Parts,
    /// The sharding before.
    pub source: ShardingId,
    /// The sharding afterwards.
    pub target: ShardingId,
    /// The bytes that the busiest device sends in one run.
    pub wire_bytes: i64,
    /// The runs; 0 in a branch of which another one sends more.
    pub times: i64,
}

impl Move {
    fn total(&self) -> i64 {
        self.wire_bytes.saturating_mul(self.times)
    }
}

/// The shardings of all values, and the moves.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The sharding of each value.
    pub shardings: Vec<ShardingId>,
    /// In the order of execution.
    pub moves: Vec<Move>,
}

impl Plan {
    /// The bytes of all moves.
    pub fn wire_bytes(&self) -> i64 {
        self.moves.iter().fold(0, |sum: i64, m| sum.saturating_add(m.total()))
    }
}

/// The plan for some given shardings; `closed` values keep what they are given, and are whole without.
pub fn plan(program: &Program, rules: &mut Rules, closed: &[bool], stages: &Stages) -> Plan {
    rules.trim(MAX_ANSWERS);
    let shardings = propagate(program, rules, closed, stages);
    let moves = moves(program, rules, &shardings);
    Plan { shardings, moves }
}

/// The bytes of the plan of each candidate, on up to `threads` threads.
pub fn evaluate(
    program: &Program,
    rules: &mut Rules,
    closed: &[bool],
    candidates: &[Vec<Vec<(ValueId, Sharding)>>],
    threads: usize,
) -> Vec<i64> {
    let bytes = |rules: &mut Rules, part: &[Vec<Vec<(ValueId, Sharding)>>]| -> Vec<i64> {
        part.iter().map(|stages| plan(program, rules, closed, stages).wire_bytes()).collect()
    };
    if threads <= 1 || candidates.len() < 2 {
        return bytes(rules, candidates);
    }
    // Each thread has its own answers, and starts with those of earlier calls; the most are kept.
    let parts = candidates.chunks(candidates.len().div_ceil(threads));
    let shared = &*rules;
    let work = |part| {
        let mut own = shared.clone();
        (bytes(&mut own, part), own)
    };
    let found = on_threads(parts, work);
    let mut all = Vec::with_capacity(candidates.len());
    for (of_part, own) in found {
        all.extend(of_part);
        if own.n_answers() > rules.n_answers() {
            *rules = own;
        }
    }
    all
}

/// The state of a propagation.
struct Propagation<'a> {
    program: &'a Program,
    rules: &'a mut Rules,
    is_fixed: Vec<bool>,
    current: Vec<ShardingId>,
    /// The applications whose conflict is decided.
    decided: FxHashSet<u32>,
    queue: BinaryHeap<Reverse<u32>>,
    is_queued: Vec<bool>,
}

fn propagate(program: &Program, rules: &mut Rules, closed: &[bool], stages: &Stages) -> Vec<ShardingId> {
    let mut whole: FxHashMap<usize, ShardingId> = FxHashMap::default();
    let mut current = Vec::with_capacity(program.values.len());
    for (shape, _) in &program.values {
        let rank = rules.mesh.dimensions(*shape).len();
        current.push(*whole.entry(rank).or_insert_with(|| rules.mesh.number(&Sharding::from_elem(Parts::new(), rank))));
    }
    let mut is_fixed = closed.to_vec();
    for (v, _) in stages.iter().flatten() {
        is_fixed[*v as usize] = true;
    }
    let is_queued = vec![false; program.applications.len()];
    let (decided, queue) = (FxHashSet::default(), BinaryHeap::new());
    let mut state = Propagation { program, rules, is_fixed, current, decided, queue, is_queued };
    for stage in stages {
        for (v, sharding) in stage {
            state.current[*v as usize] = state.rules.mesh.number(sharding);
            state.enqueue_users(*v);
        }
        // What is larger than its operands follows its users first.
        state.settle(false);
        for (k, application) in program.applications.iter().enumerate() {
            if state.rules.grows(application.rule) {
                state.enqueue(k as u32);
            }
        }
        state.settle(true);
    }
    state.current
}

impl Propagation<'_> {
    fn enqueue(&mut self, application: u32) {
        if !std::mem::replace(&mut self.is_queued[application as usize], true) {
            self.queue.push(Reverse(application));
        }
    }

    fn enqueue_users(&mut self, value: ValueId) {
        let program = self.program;
        for k in &program.users[value as usize] {
            self.enqueue(*k);
        }
    }

    /// Propagates until nothing changes; `forward`: also to outputs that follow their users first.
    fn settle(&mut self, forward: bool) {
        while let Some(Reverse(k)) = self.queue.pop() {
            poll();
            self.is_queued[k as usize] = false;
            let application = &self.program.applications[k as usize];
            let rule = application.rule;
            let here: Shardings = application.values.iter().map(|v| self.current[*v as usize]).collect();
            let n_inputs = self.rules.n_inputs(rule);
            let gives_outputs = forward || !self.rules.grows(rule);
            let wanted = self.rules.wanted(rule, &here);
            let (conflicts, mut shardings) = (wanted.conflicts, wanted.shardings.clone());
            if conflicts && gives_outputs && !self.decided.contains(&k) {
                let is_split = |id: &ShardingId| self.rules.mesh.sharding(*id).iter().any(|parts| !parts.is_empty());
                if here[..n_inputs].iter().any(is_split) {
                    self.decided.insert(k);
                    let resolved = self.rules.resolved(rule, &here, true);
                    shardings.truncate(n_inputs);
                    shardings.extend_from_slice(&resolved.passed_on[n_inputs..]);
                }
            }
            let n_given = if gives_outputs { shardings.len() } else { n_inputs };
            for (v, wanted) in application.values.iter().zip(&shardings).take(n_given) {
                if self.extend(*v, *wanted) {
                    self.enqueue_users(*v);
                }
            }
        }
    }

    /// Extends the sharding of a value to the wanted one where that continues it; says whether it changed.
    fn extend(&mut self, value: ValueId, wanted: ShardingId) -> bool {
        let v = value as usize;
        if self.is_fixed[v] || self.current[v] == wanted {
            return false;
        }
        let extended = self.rules.mesh.extended(self.current[v], wanted);
        std::mem::replace(&mut self.current[v], extended) != extended
    }
}

fn moves(program: &Program, rules: &mut Rules, shardings: &[ShardingId]) -> Vec<Move> {
    let mut found: Vec<(Move, RegionId)> = Vec::new();
    // The copies of a value in other shardings, each with the region that has it.
    let mut copies: FxHashMap<ValueId, SmallVec<[(ShardingId, RegionId); 2]>> = FxHashMap::default();
    for (k, application) in program.applications.iter().enumerate() {
        poll();
        let here: Shardings = application.values.iter().map(|v| shardings[*v as usize]).collect();
        let steps = &rules.resolved(application.rule, &here, false).steps;
        if steps.is_empty() {
            continue;
        }
        let steps = steps.clone();
        for step in steps {
            let value = application.values[step.tensor];
            let (mut collective, mut bytes, mut source) = (step.collective, step.bytes, step.source);
            let mut region = application.region;
            if step.why == Why::Operand {
                region = program.invariant.get(&value).copied().unwrap_or(region);
                let known = copies.entry(value).or_default();
                let is_here = |(_, of): &&(ShardingId, RegionId)| program.is_within(region, *of);
                if known.iter().filter(is_here).any(|(copy, _)| *copy == step.target) {
                    continue;
                }
                let (shape, bits) = program.values[value as usize];
                let mut least = rules.mesh.change(shape, source, step.target).1;
                for (copy, _) in known.iter().filter(is_here) {
                    let (kind, n) = rules.mesh.change(shape, *copy, step.target);
                    if n < least {
                        (least, collective, source) = (n, kind, *copy);
                        bytes = n as f64 * f64::from(bits) / 8.0;
                    }
                }
                known.push((step.target, region));
                if least == 0 {
                    continue;
                }
            }
            let (from, to) = (rules.mesh.sharding(source), rules.mesh.sharding(step.target));
            let parts = if step.parts.is_empty() {
                let shape = rules.mesh.dimensions(program.values[value as usize].0);
                changed_parts(&rules.mesh, collective, shape, from, to)
            } else {
                step.parts
            };
            let (why, target) = (step.why, step.target);
            let wire_bytes = bytes.ceil() as i64;
            let times = program.regions[region as usize].times;
            let found_move =
                Move { application: k as u32, value, why, collective, parts, source, target, wire_bytes, times };
            found.push((found_move, region));
        }
    }
    let runs = heaviest(program, &found);
    for (m, region) in &mut found {
        if !runs[*region as usize] {
            m.times = 0;
        }
    }
    found.into_iter().map(|(m, _)| m).collect()
}

/// Which regions count: of the branches of a conditional the one that sends most.
fn heaviest(program: &Program, moves: &[(Move, RegionId)]) -> Vec<bool> {
    let mut bytes = vec![0i64; program.regions.len()];
    for (m, region) in moves {
        bytes[*region as usize] = bytes[*region as usize].saturating_add(m.total());
    }
    // Regions follow those around them. The branches of a conditional are siblings, so they are complete together.
    let mut best: FxHashMap<u32, RegionId> = FxHashMap::default();
    let mut pending: Vec<i64> = bytes;
    for r in (0..program.regions.len()).rev() {
        let region = &program.regions[r];
        let Some(parent) = region.parent else { continue };
        match region.conditional {
            None => pending[parent as usize] = pending[parent as usize].saturating_add(pending[r]),
            Some(c) => {
                let before = best.get(&c).map_or(0, |b| pending[*b as usize]);
                // Of equal branches the first counts.
                if !best.contains_key(&c) || pending[r] >= before {
                    best.insert(c, r as RegionId);
                    let gain = pending[r].saturating_sub(before);
                    pending[parent as usize] = pending[parent as usize].saturating_add(gain);
                }
            }
        }
    }
    let mut runs = vec![true; program.regions.len()];
    for (r, region) in program.regions.iter().enumerate() {
        let is_chosen = region.conditional.is_none_or(|c| best.get(&c) == Some(&(r as RegionId)));
        runs[r] = is_chosen && region.parent.is_none_or(|parent| runs[parent as usize]);
    }
    runs
}

/// The parts along which devices send each other elements for a change.
fn changed_parts(mesh: &Mesh, collective: Collective, shape: &[i64], from: &Sharding, to: &Sharding) -> Parts {
    let mut found = Parts::new();
    for ((n, f), t) in shape.iter().zip(from).zip(to) {
        let mut same = f.iter().zip(t).take_while(|(a, b)| a == b).count();
        if !mesh.nests(*n, &f[..same], f) || !mesh.nests(*n, &f[..same], t) {
            same = 0;
        }
        found.extend_from_slice(&f[same..]);
        // A part that splits nothing before only selects among elements that a device has or receives.
        if matches!(collective, Collective::CollectivePermute | Collective::Several) {
            found.extend_from_slice(&t[same..]);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
