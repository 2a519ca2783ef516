//! Matches the instructions of a module after a change with those before.
//!
//! [`match_modules`] is the entry point. Values with equal numbers are certainly the same. The rest is matched from the
//! outputs down, if matched users have operands of one kind; then by name, by the line of the program, and finally if
//! each side has only one value of its kind left. Each instruction is in one pair at most.

use std::borrow::Cow;
use std::hash::Hash;

use cancel::poll;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::numbers::{Known, Meanings, Number, Numbered, Numbers, Value};
use crate::model::module::{ComputationId, InstructionId, Module};
use crate::tuning::MAX_STEPS;

/// Why two instructions match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Proved to compute the same.
    Value,
    /// The same operation for the same user.
    Use,
    /// The same name, operation and sizes.
    Name,
    /// The same operation, sizes and line of the program.
    Origin,
    /// No other value of this operation, these sizes and this called computation was left.
    Elimination,
}

impl How {
    /// The reason as a word.
    pub fn name(self) -> &'static str {
        match self {
            How::Value => "value",
            How::Use => "use",
            How::Name => "name",
            How::Origin => "origin",
            How::Elimination => "elimination",
        }
    }
}

/// An instruction before and its counterpart after.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The instruction before.
    pub before: InstructionId,
    /// The one after.
    pub after: InstructionId,
    /// Why they match.
    pub how: How,
    /// Whether both have the same signature, and are not constants.
    pub has_same_operation: bool,
}

/// The instructions of two modules, fusions and calls themselves aside.
#[derive(Debug, Default)]
pub struct Pairs {
    /// The pairs, in the order of the values before.
    pub pairs: Vec<Pair>,
    /// Instructions after the change that compute a matched value again, as fusions do with shared operands.
    pub duplicates: Vec<Pair>,
    /// The other instructions before.
    pub removed: Vec<InstructionId>,
    /// The other instructions after.
    pub added: Vec<InstructionId>,
}

impl Pairs {
    /// The positions of the pairs of which an instruction has one of these attributes.
    pub fn with_attributes(&self, old: &Module, new: &Module, names: &[&str]) -> Vec<usize> {
        let has = |m: &Module, id| names.iter().any(|name| m.attribute(id, name).is_some());
        let is_one = |pair: &Pair| has(old, pair.before) || has(new, pair.after);
        self.pairs.iter().enumerate().filter(|(_, pair)| is_one(pair)).map(|(at, _)| at).collect()
    }
}

/// One of the modules.
struct Side<'a> {
    m: &'a Module,
    numbered: &'a Numbered,
    /// The values, without the fusions and calls around them.
    computed: Vec<Value>,
    /// Those that are not in a pair.
    left: Vec<Value>,
    /// By instruction, its place in the pairs.
    paired: Vec<Option<u32>>,
    /// By instruction, what is known of it where that was asked for, as for all values.
    known: Vec<Option<(u32, Known)>>,
    /// By parameter of a fusion or call, its operand at the first caller.
    callers: FxHashMap<InstructionId, InstructionId>,
    /// By instruction, the one that computes its value, followed into and out of fusions and through copies.
    sources: Vec<Option<InstructionId>>,
}

struct Matching<'a, M> {
    numbers: &'a mut Numbers,
    meanings: &'a mut M,
    sides: [Side<'a>; 2],
    found: Vec<(InstructionId, InstructionId, How)>,
}

const OLD: usize = 0;
const NEW: usize = 1;

/// Pairs the instructions of two modules by the numbers of their values.
///
/// # Errors
/// Those of the meanings.
pub fn match_modules<M: Meanings>(
    numbers: &mut Numbers,
    meanings: &mut M,
    (old, before): (&Module, &Numbered),
    (new, after): (&Module, &Numbered),
) -> Result<Pairs, M::Error> {
    let sides = [Side::new(old, before, numbers), Side::new(new, after, numbers)];
    let mut matching = Matching { numbers, meanings, sides, found: Vec::new() };
    matching.by_key(How::Value, |side, v| Some((v.number, side.of(v.id).opcode, side.m.instruction_name(v.id))));
    matching.by_key(How::Value, |side, v| Some((v.number, side.of(v.id).opcode)));
    matching.by_key(How::Value, |side, v| side.of(v.id).moves.then_some(v.number));
    matching.by_use()?;
    matching.by_key(How::Name, |side, v| Some((side.m.instruction_name(v.id), side.of(v.id).kind)));
    matching.by_key(How::Origin, origin);
    matching.by_elimination();
    matching.by_use()?;
    Ok(matching.pairs())
}

impl<'a> Side<'a> {
    fn new(m: &'a Module, numbered: &'a Numbered, numbers: &Numbers) -> Side<'a> {
        let mut callers = FxHashMap::default();
        for value in numbered.values.iter().filter(|value| value.is_container) {
            let Some(called) = m.called_computations(value.id).next() else { continue };
            for (&parameter, operand) in m.parameters(called).iter().zip(m.operands(value.id)) {
                callers.entry(parameter).or_insert(operand);
            }
        }
        let computed: Vec<Value> = numbered.values.iter().filter(|value| !value.is_container).copied().collect();
        let n = m.instructions().len();
        Side {
            m,
            numbered,
            left: computed.clone(),
            computed,
            paired: vec![None; n],
            known: numbered.known(numbers),
            callers,
            sources: vec![None; n],
        }
    }

    /// What is known of a value.
    fn of(&self, id: InstructionId) -> &Known {
        self.known[id as usize].as_ref().map(|(_, known)| known).expect("values are numbered by what is known")
    }

    fn is_paired(&self, id: InstructionId) -> bool {
        self.paired[id as usize].is_some()
    }
}

/// The operation with its sizes, and where the program has it: operation, file and line.
type Origin<'a> = (u32, Cow<'a, str>, Cow<'a, str>, Option<i64>);

/// The origin of a value; `None` if no line is recorded.
fn origin<'a>(side: &Side<'a>, value: &Value) -> Option<Origin<'a>> {
    let metadata = side.m.metadata(value.id);
    Some((side.of(value.id).kind, metadata.op_name?, metadata.source_file?, metadata.source_line))
}

impl<'a, M: Meanings> Matching<'a, M> {
    fn known(&mut self, side: usize, id: InstructionId) -> Result<Known, M::Error> {
        let Side { m, known, .. } = &mut self.sides[side];
        if let Some((_, known)) = known[id as usize] {
            return Ok(known);
        }
        poll();
        let found = self.numbers.known(m, id, self.meanings)?;
        known[id as usize] = Some(found);
        Ok(found.1)
    }

    fn pair(&mut self, before: InstructionId, after: InstructionId, how: How) {
        let place = Some(self.found.len() as u32);
        self.sides[OLD].paired[before as usize] = place;
        self.sides[NEW].paired[after as usize] = place;
        self.found.push((before, after, how));
    }

    fn drop_pairs(&mut self) {
        for side in &mut self.sides {
            let mut left = std::mem::take(&mut side.left);
            left.retain(|value| !side.is_paired(value.id));
            side.left = left;
        }
    }

    /// Pairs values with equal keys in the order of the text; a key of `None` matches nothing.
    fn by_key<K: Eq + Hash>(&mut self, how: How, key: impl Fn(&Side<'a>, &Value) -> Option<K>) {
        if self.sides.iter().any(|side| side.left.is_empty()) {
            return;
        }
        let [old, new] = &self.sides;
        let mut waiting: FxHashMap<K, SmallVec<[InstructionId; 2]>> = FxHashMap::default();
        for value in new.left.iter().rev() {
            poll();
            if let Some(key) = key(new, value) {
                waiting.entry(key).or_default().push(value.id);
            }
        }
        let counterpart = |value: &Value| Some((value.id, waiting.get_mut(&key(old, value)?)?.pop()?));
        let pairs: Vec<(InstructionId, InstructionId)> = old.left.iter().filter_map(counterpart).collect();
        pairs.into_iter().for_each(|(before, after)| self.pair(before, after, how));
        self.drop_pairs();
    }

    /// Pairs values that are the last of their kind; copies of one value count once.
    fn by_elimination(&mut self) {
        type Kind = (u32, SmallVec<[[u8; 16]; 1]>);
        let last_of_kinds = |side: &Side<'a>| {
            let mut order: Vec<Kind> = Vec::new();
            let mut left: FxHashMap<Kind, SmallVec<[(Number, InstructionId); 1]>> = FxHashMap::default();
            for value in side.left.iter().filter(|value| !side.of(value.id).is_common) {
                let called = side.m.called_computations(value.id).map(|c| side.m.fingerprint(c)).collect();
                let kind = (side.of(value.id).kind, called);
                let own = left.entry(kind).or_insert_with_key(|kind| {
                    order.push(kind.clone());
                    SmallVec::new()
                });
                // Two numbers are as many as any.
                if own.len() < 2 && own.iter().all(|(number, _)| *number != value.number) {
                    own.push((value.number, value.id));
                }
            }
            (order, left)
        };
        let ((order, old), (_, new)) = (last_of_kinds(&self.sides[OLD]), last_of_kinds(&self.sides[NEW]));
        for kind in order {
            if let (Some(&[(_, before)]), Some(&[(_, after)])) =
                (old.get(&kind).map(|own| &own[..]), new.get(&kind).map(|own| &own[..]))
            {
                self.pair(before, after, How::Elimination);
            }
        }
        self.drop_pairs();
    }

    /// Pairs the operands of pairs, from the roots down, while operation and sizes agree.
    fn by_use(&mut self) -> Result<(), M::Error> {
        if self.sides.iter().any(|side| side.left.is_empty()) {
            return Ok(());
        }
        let above = self.above_unmatched()?;
        let [old, new] = [OLD, NEW].map(|side| self.sides[side].m);
        let mut pending = vec![(old.root(old.entry()), new.root(new.entry()))];
        pending.extend(self.found.iter().map(|&(a, b, _)| (a, b)).filter(|&(a, _)| above[a as usize]));
        let mut seen: FxHashSet<(InstructionId, InstructionId)> = FxHashSet::default();
        while let Some((a, b)) = pending.pop() {
            poll();
            let (a, b) = (self.source(OLD, a)?, self.source(NEW, b)?);
            if !seen.insert((a, b)) {
                continue;
            }
            let is_free = |side: &Side<'_>, id| !side.is_paired(id) && side.numbered.value(id).is_some();
            if is_free(&self.sides[OLD], a)
                && is_free(&self.sides[NEW], b)
                && self.known(OLD, a)?.kind == self.known(NEW, b)?.kind
            {
                self.pair(a, b, How::Use);
            }
            let place = self.sides[OLD].paired[a as usize];
            let are_paired = place.is_some_and(|place| self.found[place as usize].1 == b);
            if above[a as usize] && are_paired && old.operands(a).len() == new.operands(b).len() {
                pending.extend(old.operands(a).zip(new.operands(b)));
                let root = |m: &Module, c: ComputationId| m.root(c);
                let called = old.called_computations(a).zip(new.called_computations(b));
                pending.extend(called.map(|(x, y)| (root(old, x), root(new, y))));
            }
        }
        self.drop_pairs();
        Ok(())
    }

    /// By instruction before the change, whether it is unmatched or depends on an unmatched one.
    fn above_unmatched(&mut self) -> Result<Vec<bool>, M::Error> {
        let m = self.sides[OLD].m;
        let mut uses: Vec<(InstructionId, InstructionId)> = Vec::new();
        for at in 0..self.sides[OLD].computed.len() {
            poll();
            let id = self.sides[OLD].computed[at].id;
            let roots = m.called_computations(id).map(|c| m.root(c));
            for below in m.operands(id).chain(roots) {
                uses.push((self.source(OLD, below)?, id));
            }
        }
        uses.sort_unstable();
        let mut above = vec![false; m.instructions().len()];
        let mut pending: Vec<InstructionId> = self.sides[OLD].left.iter().map(|value| value.id).collect();
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut above[id as usize], true) {
                continue;
            }
            let start = uses.partition_point(|&(of, _)| of < id);
            pending.extend(uses[start..].iter().take_while(|&&(of, _)| of == id).map(|&(_, user)| user));
        }
        Ok(above)
    }

    /// The instruction that computes a value.
    fn source(&mut self, side: usize, start: InstructionId) -> Result<InstructionId, M::Error> {
        if let Some(found) = self.sides[side].sources[start as usize] {
            return Ok(found);
        }
        let mut at = start;
        for _ in 0..MAX_STEPS {
            let known = self.known(side, at)?;
            let Side { m, callers, .. } = &self.sides[side];
            let called = m.called_computations(at).next().filter(|_| known.facts.is_container);
            at = match (called, m.parameter_number(at)) {
                (Some(called), _) => m.root(called),
                (None, Some(_)) => match callers.get(&at) {
                    Some(&operand) => operand,
                    None => break,
                },
                (None, None) => match m.operand(at, 0).filter(|_| known.is_copy) {
                    Some(operand) => operand,
                    None => break,
                },
            };
        }
        self.sides[side].sources[start as usize] = Some(at);
        Ok(at)
    }

    fn pairs(self) -> Pairs {
        let Matching { sides: [old, new], found, .. } = self;
        let operation = |side: &Side<'_>, id: InstructionId| side.known[id as usize].filter(|(_, k)| !k.is_literal);
        let pair = |before: InstructionId, after: InstructionId, how| {
            let signatures = [operation(&old, before), operation(&new, after)].map(|k| k.map(|(number, _)| number));
            Pair { before, after, how, has_same_operation: signatures[0].is_some() && signatures[0] == signatures[1] }
        };
        let of = |value: &Value| old.paired[value.id as usize].map(|place| found[place as usize]);
        let pairs: Vec<Pair> = old.computed.iter().filter_map(of).map(|(a, b, how)| pair(a, b, how)).collect();
        let mut first: FxHashMap<(Number, u32), Pair> = FxHashMap::default();
        for pair in &pairs {
            if let Some(value) = new.numbered.value(pair.after) {
                first.entry((value.number, new.of(pair.after).opcode)).or_insert(*pair);
            }
        }
        let (mut duplicates, mut added) = (Vec::new(), Vec::new());
        for value in new.computed.iter().filter(|value| !new.is_paired(value.id)) {
            let known = new.of(value.id);
            match first.get(&(value.number, known.opcode)).filter(|_| !known.is_copy) {
                Some(again) => duplicates.push(pair(again.before, value.id, again.how)),
                None => added.push(value.id),
            }
        }
        let removed = old.computed.iter().map(|value| value.id).filter(|&id| !old.is_paired(id)).collect();
        Pairs { pairs, duplicates, removed, added }
    }
}
