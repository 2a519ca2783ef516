//! One application of a rule at given shardings: what it passes on, and what it sends if it must.
//!
//! An *assignment* gives parts of axes to factors; an operation computed by it needs its arrays in the shardings of
//! `needed`. Shardings of the arrays claim parts for factors. Where one part is claimed for two factors, the
//! candidates give it to one of them or to none, and the one that sends the fewest bytes wins.

use std::hash::Hash;

use cancel::poll;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::claims::{drop_minor, needed, passed_on, stuck_parts, Assignment, Claims, Known, Policy, Shardings};
use crate::halo::missing;
use crate::mesh::{Collective, Mesh, Parts, Sharding, ShardingId};
use crate::rule::{Combine, Factor, FactorKind, Halo, Rule};

/// The number of a rule in [`Rules`].
pub type RuleId = u32;
/// Why an instruction moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// An operand is needed in another sharding.
    Operand,
    /// Devices have partial results.
    PartialResult,
    /// Devices read beyond their blocks.
    Halo,
    /// The result is wanted in another sharding.
    Result,
}

/// A move of one application.
#[derive(Clone, Debug)]
pub struct Step {
    /// Why it moves.
    pub why: Why,
    /// The number of the array in the rule.
    pub tensor: usize,
    /// How it moves.
    pub collective: Collective,
    /// The bytes that the busiest device sends.
    pub bytes: f64,
    /// The sharding before.
    pub source: ShardingId,
    /// The sharding afterwards.
    pub target: ShardingId,
    /// The parts along which devices have partial results, or read from each other.
    pub parts: Parts,
}

/// What an application passes on: whether claims conflict, and the sharding that it wants of each array.
#[derive(Clone)]
pub struct Wanted {
    /// Whether claims conflict, or parts lie where every device needs all.
    pub conflicts: bool,
    /// The wanted sharding of each array.
    pub shardings: Shardings,
}

/// The resolution of an application.
#[derive(Clone)]
pub struct Resolved {
    /// The shardings that its assignment gives the arrays, without factors that every device needs whole.
    pub passed_on: Shardings,
    /// What it sends.
    pub steps: SmallVec<[Step; 2]>,
}

/// The rules of a program on a mesh, and all answers so far.
#[derive(Clone)]
pub struct Rules {
    /// The devices.
    pub mesh: Mesh,
    policy: Policy,
    rules: Vec<Known>,
    numbers: FxHashMap<Rule, RuleId>,
    wanted: Answers<(RuleId, Shardings), Wanted>,
    resolved: Answers<(RuleId, bool, Shardings), Resolved>,
}

/// Answers in the order in which they were found, and where each is.
#[derive(Clone)]
struct Answers<K, A> {
    at: FxHashMap<K, u32>,
    all: Vec<A>,
}

impl<K: Hash + Eq, A> Answers<K, A> {
    fn new() -> Answers<K, A> {
        Answers { at: FxHashMap::default(), all: Vec::new() }
    }

    fn add(&mut self, key: K, answer: A) -> usize {
        self.at.insert(key, self.all.len() as u32);
        self.all.push(answer);
        self.all.len() - 1
    }

    fn clear(&mut self) {
        self.at.clear();
        self.all.clear();
    }
}

impl Rules {
    /// No rules yet.
    pub fn new(part_sizes: Vec<i64>, policy: Policy) -> Rules {
        let (wanted, resolved) = (Answers::new(), Answers::new());
        let (mesh, rules, numbers) = (Mesh::new(part_sizes), Vec::new(), FxHashMap::default());
        Rules { mesh, policy, rules, numbers, wanted, resolved }
    }

    /// The number of a rule; equal rules have the same.
    pub fn add(&mut self, rule: Rule) -> RuleId {
        if let Some(known) = self.numbers.get(&rule) {
            return *known;
        }
        self.numbers.insert(rule.clone(), self.rules.len() as RuleId);
        let size = |t: &usize| {
            let array = &rule.arrays[*t];
            array.elements().saturating_mul(i64::from(array.element_bits))
        };
        let mut order: Vec<usize> = (0..rule.arrays.len()).collect();
        order.sort_by_key(|t| std::cmp::Reverse(size(t)));
        let mut has_halo = vec![false; rule.sizes.len()];
        for (f, _) in rule.halos.iter().flat_map(|halo| halo.factors.iter().flatten()) {
            has_halo[usize::from(*f)] = true;
        }
        let known = Known {
            shapes: rule.arrays.iter().map(|array| self.mesh.shape(&array.dimensions)).collect(),
            is_partial: (0..rule.sizes.len()).map(|f| rule.is_partial(f as Factor)).collect(),
            grows: rule.grows(),
            order,
            has_halo,
            rule,
        };
        self.rules.push(known);
        (self.rules.len() - 1) as RuleId
    }

    /// The number of operands.
    pub fn n_inputs(&self, id: RuleId) -> usize {
        self.rules[id as usize].rule.n_inputs
    }

    /// Whether the output takes its sharding from its users first.
    pub fn grows(&self, id: RuleId) -> bool {
        self.rules[id as usize].grows
    }

    /// Drops the answers if there are more than `most`.
    pub fn trim(&mut self, most: usize) {
        if self.n_answers() > most {
            self.wanted.clear();
            self.resolved.clear();
        }
    }

    /// The number of answers, for choosing the better informed of two.
    pub fn n_answers(&self) -> usize {
        self.wanted.all.len() + self.resolved.all.len()
    }

    /// What an application passes on.
    pub fn wanted(&mut self, id: RuleId, shardings: &Shardings) -> &Wanted {
        let key = (id, shardings.clone());
        let at = match self.wanted.at.get(&key) {
            Some(at) => *at as usize,
            None => {
                let found = self.find_wanted(id, shardings);
                self.wanted.add(key, found)
            }
        };
        &self.wanted.all[at]
    }

    fn find_wanted(&mut self, id: RuleId, shardings: &Shardings) -> Wanted {
        poll();
        let known = &self.rules[id as usize];
        let claims = Claims::of(known, &self.mesh, shardings);
        let is_contested = !claims.contested.is_empty();
        // Contested parts are passed on to nobody.
        let assignment = claims.assignment(known, &self.mesh, &[]);
        let conflicts = is_contested || !stuck_parts(known, &self.mesh, shardings, self.policy).is_empty();
        let wanted = passed_on(known, &self.mesh, &assignment);
        Wanted { conflicts, shardings: self.numbers(&wanted) }
    }

    fn numbers(&mut self, shardings: &[Sharding]) -> Shardings {
        shardings.iter().map(|s| self.mesh.number(s)).collect()
    }

    /// How an application computes, and what it sends; `is_open`: the shardings of its outputs are not decided yet.
    pub fn resolved(&mut self, id: RuleId, shardings: &Shardings, is_open: bool) -> &Resolved {
        let key = (id, is_open, shardings.clone());
        let at = match self.resolved.at.get(&key) {
            Some(at) => *at as usize,
            None => {
                let found = self.resolve(id, shardings, is_open);
                self.resolved.add(key, found)
            }
        };
        &self.resolved.all[at]
    }

    fn resolve(&mut self, id: RuleId, shardings: &Shardings, is_open: bool) -> Resolved {
        poll();
        let all = self.candidates(id, shardings, is_open);
        let mut best: Option<(f64, usize, usize, SmallVec<[Step; 2]>)> = None;
        for (k, assignment) in all.iter().enumerate() {
            let steps = self.steps(id, shardings, assignment, is_open);
            let bytes = steps.iter().map(|s| s.bytes).sum::<f64>();
            let split = assignment.iter().map(|parts| parts.len()).sum::<usize>();
            let is_better = best.as_ref().is_none_or(|(b, s, ..)| bytes < *b || (bytes == *b && split > *s));
            if is_better {
                best = Some((bytes, split, k, steps));
            }
        }
        let (.., k, steps) = best.expect("there is always a candidate");
        let passed_on = passed_on(&self.rules[id as usize], &self.mesh, &all[k]);
        Resolved { passed_on: self.numbers(&passed_on), steps }
    }

    /// The assignments that are tried, in the order in which ties are decided.
    fn candidates(&self, id: RuleId, shardings: &Shardings, is_open: bool) -> Vec<Assignment> {
        let (known, mesh) = (&self.rules[id as usize], &self.mesh);
        let rule = &known.rule;
        let claims = Claims::of(known, mesh, shardings);
        let mut all = claims.candidates(known, mesh);
        let n_claimed = all.len();
        // An operand is gathered along a factor instead of leaving partial results or reading from other devices.
        for k in 0..n_claimed {
            for f in 0..known.n_factors() {
                let kind = rule.kinds[f];
                let may_gather = matches!(kind, FactorKind::Reduced | FactorKind::Selected) || known.has_halo[f];
                if !all[k][f].is_empty() && may_gather && !self.stays_partial(known, &claims, f) {
                    let mut gathered = all[k].clone();
                    gathered[f].clear();
                    all.push(gathered);
                }
            }
        }
        let stuck = stuck_parts(known, mesh, shardings, self.policy);
        if !stuck.is_empty() && rule.arrays.len() > rule.n_inputs {
            for k in 0..n_claimed {
                let mut base = all[k].clone();
                for f in (0..known.n_factors()).filter(|f| rule.kinds[*f] == FactorKind::Selected) {
                    base[f].clear();
                }
                if base.iter().flatten().any(|p| stuck.contains(p)) {
                    continue;
                }
                for f in 0..known.n_factors() {
                    let ways = mesh.ways(&base[f]).saturating_mul(mesh.ways(&stuck));
                    let fits = rule.sizes[f] % ways == 0 && !known.is_partial[f];
                    if rule.kinds[f] == FactorKind::PassThrough && fits {
                        let mut moved = base.clone();
                        moved[f].extend_from_slice(&stuck);
                        all.push(moved);
                    }
                }
            }
        }
        if !is_open {
            // Exactly the part of the output that is wanted, where that is less.
            let n_free = all.len();
            let asked = claims.of_tensor.last().cloned().unwrap_or_default();
            for k in 0..n_free {
                let mut trimmed = all[k].clone();
                for f in (0..known.n_factors()).filter(|f| rule.kinds[*f] == FactorKind::PassThrough) {
                    let none = Parts::new();
                    let wanted = asked.get(f).unwrap_or(&none);
                    trimmed[f] = all[k][f].iter().zip(wanted).filter(|(a, b)| a == b).map(|(a, _)| *a).collect();
                }
                drop_minor(known, mesh, &mut trimmed);
                if trimmed != all[k] {
                    all.push(trimmed);
                }
            }
        }
        all
    }

    /// Whether XLA leaves partial results along a factor: always of a selected one, and of a reduced one if all its
    /// operands are split alike.
    fn stays_partial(&self, known: &Known, claims: &Claims, f: usize) -> bool {
        let reads = |t: &usize| known.rule.dims[*t].iter().flatten().any(|g| usize::from(*g) == f);
        let mut by = (0..known.rule.n_inputs).filter(reads).map(|t| &claims.of_tensor[t][f]);
        let is_alike = by.next().is_some_and(|first| by.all(|other| other == first));
        let kind = known.rule.kinds[f];
        self.policy == Policy::Propagate && (kind == FactorKind::Selected || kind == FactorKind::Reduced && is_alike)
    }

    /// The moves of an application that computes by an assignment.
    fn steps(
        &mut self,
        id: RuleId,
        shardings: &Shardings,
        assignment: &Assignment,
        is_open: bool,
    ) -> SmallVec<[Step; 2]> {
        let needed = needed(&self.rules[id as usize], &self.mesh, assignment);
        let numbers = self.numbers(&needed);
        let mut steps = SmallVec::new();
        let n_inputs = self.n_inputs(id);
        for t in 0..n_inputs {
            self.change(id, t, Why::Operand, shardings[t], numbers[t], &mut steps);
        }
        steps.extend(self.halo(id, assignment, &needed, &numbers));
        let rule = &self.rules[id as usize].rule;
        let is_summed = |f: &usize| matches!(rule.kinds[*f], FactorKind::Reduced | FactorKind::Selected);
        let partial: Parts = (0..rule.sizes.len()).filter(is_summed).flat_map(|f| assignment[f].clone()).collect();
        let gathers = rule.combine == Combine::Gather;
        for t in n_inputs..shardings.len() {
            let target = if is_open { numbers[t] } else { shardings[t] };
            let mut held = numbers[t];
            if !partial.is_empty() {
                held = self.combine(id, t, held, target, &partial, gathers, &mut steps);
            }
            self.change(id, t, Why::Result, held, target, &mut steps);
        }
        steps
    }

    fn change(
        &mut self,
        id: RuleId,
        tensor: usize,
        why: Why,
        source: ShardingId,
        target: ShardingId,
        steps: &mut SmallVec<[Step; 2]>,
    ) {
        let known = &self.rules[id as usize];
        let (bytes, shape) = (known.bytes(tensor), known.shapes[tensor]);
        let (collective, n) = self.mesh.change(shape, source, target);
        if n > 0 {
            let bytes = n as f64 * bytes;
            steps.push(Step { why, tensor, collective, bytes, source, target, parts: Parts::new() });
        }
    }

    /// Combines the partial results of an output, and returns its sharding afterwards.
    #[allow(clippy::too_many_arguments, reason = "one step of one array")]
    fn combine(
        &self,
        id: RuleId,
        tensor: usize,
        held: ShardingId,
        target: ShardingId,
        partial: &Parts,
        gathers: bool,
        steps: &mut SmallVec<[Step; 2]>,
    ) -> ShardingId {
        let (known, mesh) = (&self.rules[id as usize], &self.mesh);
        let (have, want) = (mesh.sharding(held), mesh.sharding(target));
        let size = mesh.block_elements(&known.rule.arrays[tensor].dimensions, have) as f64 * known.bytes(tensor);
        let n = mesh.ways(partial) as f64;
        let mut push = |collective, bytes, target, parts: Parts| {
            steps.push(Step { why: Why::PartialResult, tensor, collective, bytes, source: held, target, parts });
        };
        let dimensions = &known.rule.arrays[tensor].dimensions;
        let extends = dimensions.iter().zip(have).zip(want).all(|((n, h), w)| mesh.nests(*n, h, w));
        let scattered: Parts = if extends && !gathers {
            let further = want.iter().zip(have).flat_map(|(w, h)| &w[h.len()..]);
            further.filter(|p| partial.contains(p)).copied().collect()
        } else {
            Parts::new()
        };
        if gathers {
            push(Collective::AllGather, (n - 1.0) * size, held, partial.clone());
            return held;
        }
        if scattered.is_empty() {
            push(Collective::AllReduce, 2.0 * (n - 1.0) / n * size, held, partial.clone());
            return held;
        }
        let m = mesh.ways(&scattered) as f64;
        push(Collective::ReduceScatter, size * (m - 1.0) / m, target, scattered.clone());
        let rest: Parts = partial.iter().filter(|p| !scattered.contains(p)).copied().collect();
        if !rest.is_empty() {
            let r = n / m;
            push(Collective::AllReduce, 2.0 * (r - 1.0) / r * size / m, target, rest);
        }
        target
    }

    /// The elements that the busiest device reads beyond its blocks, over all operands.
    fn halo(&self, id: RuleId, assignment: &Assignment, needed: &[Sharding], numbers: &Shardings) -> Option<Step> {
        let (known, mesh) = (&self.rules[id as usize], &self.mesh);
        let (mut along, mut all) = (Parts::new(), Parts::new());
        let is_split =
            |halo: &&Halo| halo.factors.iter().flatten().any(|(f, _)| !assignment[usize::from(*f)].is_empty());
        let halos: SmallVec<[&Halo; 2]> = known.rule.halos.iter().filter(is_split).collect();
        for halo in &halos {
            along.extend(halo.factors.iter().flatten().flat_map(|(f, _)| assignment[usize::from(*f)].clone()));
            all.extend(needed[halo.tensor].iter().flatten().copied());
        }
        all.extend_from_slice(&along);
        for parts in [&mut along, &mut all] {
            parts.sort_unstable();
            parts.dedup();
        }
        let first = halos.first()?.tensor;
        let mut most = 0.0;
        mesh.for_each_device(&all, |at| {
            let read =
                |halo: &&Halo| known.bytes(halo.tensor) * missing(known, mesh, halo, assignment, needed, at) as f64;
            most = f64::max(most, halos.iter().map(read).sum());
        });
        let (collective, sharding) = (Collective::CollectivePermute, numbers[first]);
        let step = |bytes| Step {
            why: Why::Halo,
            tensor: first,
            collective,
            bytes,
            source: sharding,
            target: sharding,
            parts: along,
        };
        (most > 0.0).then(|| step(most))
    }
}
