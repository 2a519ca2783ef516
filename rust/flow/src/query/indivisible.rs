//! The indexing of tokens and opaque values, which rules leave out.

use std::collections::BTreeMap;
use std::sync::Arc;

use hlo::InstructionId;
use layout::Shape;
use quasiaffine::Domain;
use smallvec::SmallVec;

use super::{Answer, Questions};
use crate::indexing::{Direction, Footprint, InstructionIndexing, OperandIndexing};
use crate::maps::whole;
use crate::provider::{RuleProvider, RuleTraits};
use crate::reads::Text;
use crate::shapes::{self, ShapeIndex};

impl<P: RuleProvider> Questions<'_, P> {
    /// The indexing of a token or an opaque value. A token depends on every token operand; nothing else is known about a
    /// token or an opaque value, unless the instruction forwards it or calls computations. Forward, the same relation holds.
    pub(super) fn indivisible(
        &self,
        id: InstructionId,
        index: &ShapeIndex,
        direction: Direction,
        traits: &RuleTraits,
    ) -> Result<Option<InstructionIndexing>, P::Error> {
        let m = self.m;
        let given = match direction {
            Direction::Backward => Some(m.shape(id)),
            Direction::Forward(k) => m.operand(id, k as usize).map(|operand| m.shape(operand)),
        };
        let Some(leaf) = given.and_then(|shape| shapes::at(shape, index)).filter(|leaf| shapes::is_indivisible(leaf))
        else {
            return Ok(None);
        };
        if m.is_inconsistent(id) {
            return Ok(None);
        }
        if let Direction::Forward(k) = direction {
            let mut parts = BTreeMap::new();
            self.add_outputs(id, k, index, &|_| true, &mut parts)?;
            return Ok(Some(InstructionIndexing::new(&[], parts.into_iter().collect())));
        }
        if traits.follows_tokens || m.handed_on(id, &shapes::path(index)).is_some() {
            return Ok(None);
        }
        let what = if *leaf == Shape::Token { "a token" } else { "an opaque value" };
        let reason = Text::from(format!("{}: what {what} carries is not known", m.opcode_name(id)));
        let passes =
            |shape: &Shape| (leaf, shape) == (&Shape::Token, &Shape::Token) && self.propagator.devices.is_none();
        let part = |operand| match m.shape(operand) {
            shape if passes(shape) => OperandIndexing::Known(Footprint {
                maps: vec![(ShapeIndex::new(), whole(&[], shape))],
                ..Footprint::default()
            }),
            _ => OperandIndexing::Unknown(reason.clone()),
        };
        let operands = (0..).zip(m.operands(id)).filter(|&(_, operand)| shapes::has_leaves(m.shape(operand)));
        Ok(Some(InstructionIndexing::new(&[], operands.map(|(k, operand)| (k, part(operand))).collect())))
    }

    /// The indexing with the outputs that are tokens or opaque values, which rules leave out.
    pub(super) fn with_indivisible_outputs(
        &self,
        id: InstructionId,
        index: &ShapeIndex,
        direction: Direction,
        found: Arc<InstructionIndexing>,
    ) -> Answer<P> {
        let Direction::Forward(k) = direction else { return Ok(found) };
        if self.m.is_inconsistent(id) || !shapes::any_leaf(self.m.shape(id), &shapes::is_indivisible) {
            return Ok(found);
        }
        let mut parts: BTreeMap<u32, OperandIndexing> = found.parts.iter().cloned().collect();
        self.add_outputs(id, k, index, &shapes::is_indivisible, &mut parts)?;
        Ok(Arc::new(InstructionIndexing::new(&found.sizes, parts.into_iter().collect())))
    }

    /// Adds the outputs that depend on a leaf of operand k, as the indexing of each output tells.
    fn add_outputs(
        &self,
        id: InstructionId,
        k: u32,
        index: &ShapeIndex,
        is_asked: &dyn Fn(&Shape) -> bool,
        parts: &mut BTreeMap<u32, OperandIndexing>,
    ) -> Result<(), P::Error> {
        let m = self.m;
        let given = m.operand(id, k as usize).and_then(|operand| shapes::at(m.shape(operand), index));
        let sizes: SmallVec<[i64; 6]> = given.into_iter().flat_map(shapes::sizes).collect();
        let dims = Domain::of_sizes(&sizes).vars;
        for (output, leaf) in shapes::leaves(m.shape(id)).into_iter().filter(|(_, leaf)| is_asked(leaf)) {
            let back = self.unplaced(id, &output, Direction::Backward)?;
            let Some(at) = back.find(k) else { continue };
            let new = match &back.parts[at].1 {
                OperandIndexing::Unknown(reason) => OperandIndexing::Unknown(reason.clone()),
                OperandIndexing::Known(f) if f.maps.iter().all(|(to, _)| to != index) => continue,
                OperandIndexing::Known(_) if self.propagator.devices.is_some() => {
                    OperandIndexing::Unknown("which device a token comes from is not followed".into())
                }
                OperandIndexing::Known(f) => OperandIndexing::Known(Footprint {
                    maps: vec![(output.clone(), whole(&dims, leaf))],
                    exact: f.exact && f.maps.iter().all(|(_, map)| map.domain().constraints.is_empty()),
                    reason: f.reason.clone(),
                    crosses_devices: f.crosses_devices,
                }),
            };
            let number = output.first().copied().unwrap_or(0);
            let known = parts.entry(number).or_insert_with(|| OperandIndexing::Known(Footprint::default()));
            match (&mut *known, new) {
                (OperandIndexing::Unknown(_), _) => {}
                (known, new @ OperandIndexing::Unknown(_)) => *known = new,
                (OperandIndexing::Known(own), OperandIndexing::Known(more)) => {
                    own.maps.extend(more.maps);
                    own.exact &= more.exact;
                    own.reason = own.reason.take().or(more.reason);
                    own.crosses_devices |= more.crosses_devices;
                }
            }
        }
        Ok(())
    }
}
