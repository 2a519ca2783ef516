//! What the shardings of arrays claim for the factors of a rule, and the assignments that give parts to claimants.

use smallvec::{smallvec, SmallVec};

use crate::mesh::{Mesh, Part, Parts, ShapeId, Sharding, ShardingId};
use crate::rule::{Factor, FactorKind, Factors, Rule};
use crate::tuning::MAX_CANDIDATES;

/// The shardings of all arrays of a rule.
pub type Shardings = SmallVec<[ShardingId; 6]>;
/// The parts of axes that split each factor.
pub(crate) type Assignment = SmallVec<[Parts; 6]>;

/// How conflicts are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// As XLA does.
    Propagate,
    /// With the fewest bytes of each instruction.
    Least,
}

/// A rule with what follows from it alone.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) rule: Rule,
    pub(crate) shapes: Vec<ShapeId>,
    /// The arrays, the largest first.
    pub(crate) order: Vec<usize>,
    pub(crate) is_partial: Vec<bool>,
    pub(crate) has_halo: Vec<bool>,
    pub(crate) grows: bool,
}

impl Known {
    pub(crate) fn bytes(&self, tensor: usize) -> f64 {
        f64::from(self.rule.arrays[tensor].element_bits) / 8.0
    }

    pub(crate) fn n_factors(&self) -> usize {
        self.rule.sizes.len()
    }
}

/// The parts that the shardings of arrays claim for factors.
pub(crate) struct Claims {
    /// For each array the parts of each factor.
    pub(crate) of_tensor: Vec<Assignment>,
    /// For each factor the claimed parts, those of the largest array first.
    pub(crate) of_factor: Assignment,
    /// For each part its claimants, that of the largest array first.
    pub(crate) claimants: Vec<SmallVec<[Factor; 2]>>,
    /// The parts with several claimants, in the order of the claims.
    pub(crate) contested: Parts,
}

impl Claims {
    pub(crate) fn of(known: &Known, mesh: &Mesh, shardings: &Shardings) -> Claims {
        let rule = &known.rule;
        let none = || -> Assignment { smallvec![Parts::new(); known.n_factors()] };
        let mut of_factor = none();
        let mut claimants: Vec<SmallVec<[Factor; 2]>> = vec![SmallVec::new(); mesh.sizes.len()];
        let mut met = Parts::new();
        let mut of_tensor = vec![Assignment::new(); shardings.len()];
        for &t in &known.order {
            let mut own = none();
            let sharding = mesh.sharding(shardings[t]);
            for (factors, parts) in rule.dims[t].iter().zip(sharding) {
                match &factors[..] {
                    _ if parts.is_empty() => {}
                    [] => {}
                    [f] => own[usize::from(*f)] = parts.clone(),
                    _ => {
                        let mut left = parts.iter().copied().peekable();
                        for f in factors {
                            let mut size = rule.sizes[usize::from(*f)];
                            let mut got = Parts::new();
                            while let Some(p) = left.next_if(|p| size % mesh.sizes[usize::from(*p)] == 0) {
                                size /= mesh.sizes[usize::from(p)];
                                got.push(p);
                            }
                            if !got.is_empty() {
                                own[usize::from(*f)] = got;
                            }
                            if size > 1 {
                                break;
                            }
                        }
                    }
                }
            }
            for (f, parts) in own.iter().enumerate().filter(|(f, _)| rule.kinds[*f] != FactorKind::Whole) {
                for p in parts {
                    if !of_factor[f].contains(p) {
                        of_factor[f].push(*p);
                    }
                    let claimed = &mut claimants[usize::from(*p)];
                    if !claimed.contains(&(f as Factor)) {
                        claimed.push(f as Factor);
                    }
                    if !met.contains(p) {
                        met.push(*p);
                    }
                }
            }
            of_tensor[t] = own;
        }
        let contested = met.into_iter().filter(|p| claimants[usize::from(*p)].len() > 1).collect();
        Claims { of_tensor, of_factor, claimants, contested }
    }

    /// The assignment by claims that nobody contests, and by `chosen` for contested parts.
    pub(crate) fn assignment(&self, known: &Known, mesh: &Mesh, chosen: &[(Part, Factor)]) -> Assignment {
        let owns = |p: Part, f: Factor| match &self.claimants[usize::from(p)][..] {
            [only] => *only == f,
            _ => chosen.contains(&(p, f)),
        };
        let mut found: Assignment = smallvec![Parts::new(); known.n_factors()];
        for (f, parts) in self.of_factor.iter().enumerate() {
            for p in parts {
                let size = known.rule.sizes[f];
                let ways = mesh.ways(&found[f]) * mesh.sizes[usize::from(*p)];
                let fits = ways <= size && (size % ways == 0 || !known.is_partial[f]);
                if owns(*p, f as Factor) && fits {
                    found[f].push(*p);
                }
            }
        }
        drop_minor(known, mesh, &mut found);
        found
    }

    /// All ways to give contested parts to a claimant or to none; parts with the same claimants go together.
    pub(crate) fn candidates(&self, known: &Known, mesh: &Mesh) -> Vec<Assignment> {
        let mut groups: Vec<(SmallVec<[Factor; 2]>, Parts)> = Vec::new();
        for p in &self.contested {
            let mut claimants = self.claimants[usize::from(*p)].clone();
            claimants.sort_unstable();
            match groups.iter_mut().find(|(c, _)| *c == claimants) {
                Some((_, parts)) => parts.push(*p),
                None => groups.push((claimants, smallvec![*p])),
            }
        }
        let mut at = vec![0; groups.len()];
        let mut found = Vec::new();
        loop {
            let mut chosen: SmallVec<[(Part, Factor); 8]> = SmallVec::new();
            for ((claimants, parts), k) in groups.iter().zip(&at) {
                if let Some(f) = claimants.get(*k) {
                    chosen.extend(parts.iter().map(|p| (*p, *f)));
                }
            }
            found.push(self.assignment(known, mesh, &chosen));
            let next = (0..at.len()).rev().find(|g| {
                at[*g] = (at[*g] + 1) % (groups[*g].0.len() + 1);
                at[*g] > 0
            });
            if next.is_none() || found.len() == MAX_CANDIDATES {
                return found;
            }
        }
    }
}

/// Drops the parts of a minor factor of a dimension whose major factors are not split in full.
pub(crate) fn drop_minor(known: &Known, mesh: &Mesh, assignment: &mut Assignment) {
    let mut again = true;
    while again {
        again = false;
        for factors in known.rule.dims.iter().flatten().filter(|factors| factors.len() > 1) {
            let mut is_full = true;
            for f in factors.iter().map(|f| usize::from(*f)) {
                if !is_full && !assignment[f].is_empty() {
                    assignment[f].clear();
                    again = true;
                }
                is_full = is_full && mesh.ways(&assignment[f]) == known.rule.sizes[f];
            }
        }
    }
}

/// The parts on dimensions of operands that every device needs whole.
pub(crate) fn stuck_parts(known: &Known, mesh: &Mesh, shardings: &Shardings, policy: Policy) -> Parts {
    let rule = &known.rule;
    let is_stuck = |f: Factor| match rule.kinds[usize::from(f)] {
        FactorKind::Whole => true,
        FactorKind::Selected => policy == Policy::Least,
        _ => false,
    };
    let mut found = Parts::new();
    for (dims, id) in rule.dims[..rule.n_inputs].iter().zip(shardings) {
        for (factors, parts) in dims.iter().zip(mesh.sharding(*id)) {
            if factors.first().is_some_and(|f| is_stuck(*f)) {
                found.extend_from_slice(parts);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The sharding of each array that an assignment needs.
pub(crate) fn needed(known: &Known, mesh: &Mesh, assignment: &Assignment) -> Vec<Sharding> {
    let rule = &known.rule;
    let of_dims = |dims: &Vec<Factors>| {
        let mut used = Parts::new();
        let of_dim = |factors: &Factors| {
            let mut found = Parts::new();
            for f in factors.iter().map(|f| usize::from(*f)) {
                let parts: &[Part] = if rule.kinds[f] == FactorKind::Whole { &[] } else { &assignment[f] };
                // A factor may be two dimensions of one array, as in a diagonal: its blocks are split once.
                if parts.iter().any(|p| used.contains(p)) {
                    break;
                }
                found.extend_from_slice(parts);
                used.extend_from_slice(parts);
                if factors.len() > 1 && mesh.ways(parts) != rule.sizes[f] {
                    break;
                }
            }
            found
        };
        dims.iter().map(of_dim).collect()
    };
    rule.dims.iter().map(of_dims).collect()
}

/// `needed`, without factors that pass nothing on.
pub(crate) fn passed_on(known: &Known, mesh: &Mesh, assignment: &Assignment) -> Vec<Sharding> {
    let mut kept = assignment.clone();
    for (f, kind) in known.rule.kinds.iter().enumerate() {
        if !matches!(kind, FactorKind::PassThrough | FactorKind::Reduced) {
            kept[f].clear();
        }
    }
    needed(known, mesh, &kept)
}
