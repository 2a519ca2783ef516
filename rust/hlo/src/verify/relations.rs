//! Instructions that belong together: asynchronous steps, halves of transfers, fusions and their bodies.
//!
//! Read [`check`], which visits the instructions for which [`is_related`] holds, and each computation at most twice.

use layout::without_layout;
use rustc_hash::{FxHashMap, FxHashSet};

use super::rule::{broken, broken_by, Law, Rule, Violation};
use crate::attribute::schema::{self, Owner};
use crate::attribute::Value;
use crate::model::module::{ComputationId, InstructionId, Module};
use crate::model::opcode::{async_form, AsyncPhase};
use crate::Opcode;

/// Whether the rules of an instruction depend on its users, or on which instruction its operand is.
#[inline]
pub(crate) fn is_related(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(
        opcode,
        AsyncStart
            | AsyncUpdate
            | AsyncDone
            | CopyStart
            | CopyDone
            | Send
            | SendDone
            | Recv
            | RecvDone
            | AllReduceDone
            | AllGatherDone
            | CollectivePermuteDone
            | Fusion
            | Unknown
    )
}

/// Which computations a fusion may call: every instruction but the root has users. Noted when a computation ends, while
/// it is in the cache.
#[derive(Default)]
pub(crate) struct Users {
    /// The computations for which this does not hold, in order.
    others: Vec<ComputationId>,
    /// A buffer.
    is_used: Vec<bool>,
}

impl Users {
    /// Notes a computation, behind all noted so far.
    pub fn note(&mut self, m: &Module, c: ComputationId) {
        let all = m.instructions_of(c);
        self.is_used.clear();
        self.is_used.resize(all.len(), false);
        for k in all.clone().flat_map(|k| m.operands(k)) {
            self.is_used[(k - all.start) as usize] = true;
        }
        let n_unused = self.is_used.iter().filter(|&&is_used| !is_used).count();
        let is_root_used = self.is_used.get((m.root(c) - all.start) as usize).is_none_or(|&is_used| is_used);
        if is_root_used || n_unused > 1 {
            self.others.push(c);
        }
    }

    pub fn clear(&mut self) {
        self.others.clear();
    }
}

/// The violations among `related` instructions.
pub(crate) fn check(m: &Module, related: &[InstructionId], users: &Users) -> Vec<(InstructionId, Violation)> {
    let mut found = Vec::new();
    let consumers = Consumers::of(m, related);
    let (mut async_callers, mut fusion_callers) = (FxHashSet::default(), FxHashSet::default());
    for &i in related {
        let law = step(m, i)
            .and_then(|()| transfer(m, i))
            .and_then(|()| consumers.check(m, i))
            .and_then(|()| body(m, i, &mut async_callers))
            .and_then(|()| fused(m, i, &mut fusion_callers, users));
        found.extend(law.err().map(|violation| (i, violation)));
    }
    found
}

/// The wrapped operation of an asynchronous step in its short form, and the phase of any step.
fn async_step(m: &Module, i: InstructionId) -> Option<(Option<Opcode>, AsyncPhase)> {
    match m.instructions()[i as usize].opcode {
        Opcode::AsyncStart => Some((None, AsyncPhase::Start)),
        Opcode::AsyncUpdate => Some((None, AsyncPhase::Update)),
        Opcode::AsyncDone => Some((None, AsyncPhase::Done)),
        Opcode::Unknown => async_form(m.opcode_name(i)).map(|(inner, phase)| (Some(inner), phase)),
        _ => None,
    }
}

/// A short form has the attributes of its operation at the start and only those of any instruction later, which also has
/// a single operand.
fn short_form(m: &Module, i: InstructionId, inner: Opcode, phase: AsyncPhase) -> Law {
    let owner = Owner::Instruction(if phase == AsyncPhase::Start { inner } else { Opcode::AsyncDone });
    let is_foreign = |name: &str| {
        let is_common = matches!(name, "async_execution_thread" | "parameter_replication");
        let is_call = phase != AsyncPhase::Start && name == "calls";
        is_call || !is_common && schema::key(name.as_bytes()).is_some_and(|key| !schema::is_allowed(key, owner))
    };
    if let Some(foreign) = m.attributes(i).iter().map(|a| m.attribute_name(a)).find(|name| is_foreign(name)) {
        return broken(Rule::AsyncAttributes, format!("attributes of {}", m.opcode_name(i)), foreign);
    }
    match m.operands(i).len() {
        n if n != 1 && phase != AsyncPhase::Start => {
            broken(Rule::MatchingStart, format!("one operand of {}", m.opcode_name(i)), n.to_string())
        }
        _ => Ok(()),
    }
}

fn wrapped(m: &Module, i: InstructionId) -> Option<ComputationId> {
    m.called_computations(i).next()
}

fn text_of<'m>(m: &'m Module, i: InstructionId, name: &str) -> Option<Value<'m>> {
    m.attribute(i, name).and_then(|a| m.value(a, Some(m.computation_of(i))).ok())
}

fn async_thread(m: &Module, i: InstructionId) -> Option<String> {
    match text_of(m, i, "async_execution_thread") {
        Some(Value::Text(thread)) => Some(thread.into_owned()),
        _ => None,
    }
}

/// An update or the end continues the start of the same operation, computation and thread.
fn step(m: &Module, i: InstructionId) -> Law {
    let Some((inner, phase)) = async_step(m, i) else { return Ok(()) };
    if let Some(inner) = inner {
        short_form(m, i, inner, phase)?;
    }
    if phase == AsyncPhase::Start {
        let is_general = inner.is_none();
        return match wrapped(m, i) {
            None if is_general => broken(Rule::AsyncWrapped, "a computation in calls=", "none"),
            _ => Ok(()),
        };
    }
    let Some(mut start) = m.operands(i).next() else { return Ok(()) };
    // Each step is compared with the one before it.
    let before = match async_step(m, start) {
        Some((before, AsyncPhase::Start | AsyncPhase::Update)) => before,
        _ => {
            let found = m.opcode_name(start).to_string();
            return broken(Rule::MatchingStart, "an asynchronous operation in progress as the operand", found);
        }
    };
    let (own, other) = (m.shape(i), m.shape(start));
    if phase == AsyncPhase::Update && own.same_dims(other) && without_layout(own) != without_layout(other) {
        return broken(Rule::AsyncWrapped, format!("the shape of its operand, {other}"), own.to_string());
    }
    // The start holds the computation; the number of updates is small, and the chain has no cycle.
    let mut steps = 0;
    while let (Some((_, AsyncPhase::Update)), Some(previous)) = (async_step(m, start), m.operands(start).next()) {
        steps += 1;
        if steps > 64 {
            return Ok(());
        }
        start = previous;
    }
    let own = wrapped(m, i);
    let of_start = wrapped(m, start);
    match (own, of_start) {
        (Some(own), Some(of_start)) if own != of_start => {
            let expected = format!("calls={}", m.computation_name(of_start));
            return broken_by("calls", Rule::AsyncWrapped, expected, m.computation_name(own).to_string());
        }
        _ => {}
    }
    let opcode = |short: Option<Opcode>, at: InstructionId| match short {
        Some(opcode) => Some(opcode),
        None => wrapped(m, at).map(|c| m.instructions()[m.root(c) as usize].opcode),
    };
    if let (Some(own), Some(other)) = (inner, opcode(before, start)) {
        if own != other {
            return broken(Rule::AsyncWrapped, format!("a step of {}", other.name()), own.name());
        }
    }
    let thread = async_thread(m, start).unwrap_or_else(|| "main".into());
    match async_thread(m, i) {
        Some(own) if own != thread => {
            broken_by("async_execution_thread", Rule::AsyncThread, format!("thread `{thread}`"), format!("`{own}`"))
        }
        _ => Ok(()),
    }
}

/// Both halves of a transfer, and the end of an operation of a kind of its own.
fn transfer(m: &Module, i: InstructionId) -> Law {
    use Opcode::*;
    let opcode = m.instructions()[i as usize].opcode;
    let expected = match opcode {
        CopyDone => CopyStart,
        AllReduceDone => AllReduceStart,
        AllGatherDone => AllGatherStart,
        CollectivePermuteDone => CollectivePermuteStart,
        SendDone => Send,
        RecvDone => Recv,
        _ => return Ok(()),
    };
    let Some(start) = m.operands(i).next() else { return Ok(()) };
    let found = m.instructions()[start as usize].opcode;
    let is_transfer = matches!(opcode, SendDone | RecvDone);
    if found != expected {
        // A pipelined transfer ends in another iteration of a loop than it starts in.
        let is_carried = is_transfer && matches!(found, Parameter | GetTupleElement | While | Tuple);
        if is_carried || m.has_unnamed_operands(i) {
            return Ok(());
        }
        return broken(
            Rule::MatchingStart,
            format!("{} as the operand of {}", expected.name(), opcode.name()),
            m.opcode_name(start),
        );
    }
    if !is_transfer {
        return Ok(());
    }
    let channel = |i| match text_of(m, i, "channel_id") {
        Some(Value::Int(n)) => Some(n),
        _ => None,
    };
    if channel(i) != channel(start) {
        let shown = |channel: Option<i64>| channel.map_or_else(|| "no channel".into(), |n| format!("channel {n}"));
        return broken_by("channel_id", Rule::TransferHalves, shown(channel(start)), shown(channel(i)));
    }
    let is_host = |i| text_of(m, i, "is_host_transfer") == Some(Value::Bool(true));
    if is_host(i) != is_host(start) {
        let expected = format!("is_host_transfer={} as in {}", is_host(start), m.instruction_name(start));
        return broken(Rule::TransferHalves, expected, is_host(i).to_string());
    }
    Ok(())
}

/// The users of operations in progress.
struct Consumers(FxHashMap<InstructionId, Vec<InstructionId>>);

impl Consumers {
    fn of(m: &Module, related: &[InstructionId]) -> Consumers {
        let is_open = |&i: &InstructionId| {
            matches!(m.instructions()[i as usize].opcode, Opcode::CopyStart | Opcode::Send | Opcode::Recv)
                || matches!(async_step(m, i), Some((_, AsyncPhase::Start | AsyncPhase::Update)))
        };
        let mut users: FxHashMap<_, Vec<_>> = related.iter().copied().filter(is_open).map(|i| (i, vec![])).collect();
        let within: FxHashSet<ComputationId> = users.keys().map(|&i| m.computation_of(i)).collect();
        for c in within {
            for i in m.instructions_of(c) {
                for k in m.operands(i) {
                    if let Some(list) = users.get_mut(&k).filter(|list| list.last() != Some(&i)) {
                        list.push(i);
                    }
                }
            }
        }
        Consumers(users)
    }

    fn check(&self, m: &Module, i: InstructionId) -> Law {
        let Some(users) = self.0.get(&i) else { return Ok(()) };
        let name = m.opcode_name(i);
        let [user] = users[..] else {
            return broken(Rule::OneConsumer, format!("one user of {name}"), users.len().to_string());
        };
        let is_end = match m.instructions()[i as usize].opcode {
            Opcode::CopyStart => m.instructions()[user as usize].opcode == Opcode::CopyDone,
            Opcode::Send | Opcode::Recv => true,
            _ => matches!(async_step(m, user), Some((_, AsyncPhase::Update | AsyncPhase::Done))),
        };
        if is_end {
            return Ok(());
        }
        broken(Rule::OneConsumer, format!("a user that completes {name}"), m.opcode_name(user))
    }
}

/// The computation of an asynchronous operation.
fn body(m: &Module, i: InstructionId, callers: &mut FxHashSet<ComputationId>) -> Law {
    if m.instructions()[i as usize].opcode != Opcode::AsyncStart {
        return Ok(());
    }
    let Some(c) = wrapped(m, i) else { return Ok(()) };
    let name = m.computation_name(c);
    if !callers.insert(c) {
        return broken_by("calls", Rule::AsyncCaller, format!("one asynchronous operation that calls {name}"), "two");
    }
    let root = m.root(c);
    let other = m.instructions_of(c).find(|&k| k != root && m.parameter_number(k).is_none());
    match other {
        Some(other) => broken_by(
            "calls",
            Rule::AsyncBody,
            format!("only parameters and the root in {name}"),
            m.instruction_name(other),
        ),
        None => Ok(()),
    }
}

/// The computation of a fusion.
fn fused(m: &Module, i: InstructionId, callers: &mut FxHashSet<ComputationId>, users: &Users) -> Law {
    if m.instructions()[i as usize].opcode != Opcode::Fusion {
        return Ok(());
    }
    let Some(c) = wrapped(m, i) else { return Ok(()) };
    let name = m.computation_name(c);
    if !callers.insert(c) {
        return broken_by("calls", Rule::FusionCaller, format!("one fusion that calls {name}"), "two");
    }
    if users.others.binary_search(&c).is_err() {
        return Ok(());
    }
    let all = m.instructions_of(c);
    let (first, root) = (all.start, m.root(c));
    let mut is_used = vec![false; all.len()];
    for k in all.clone().flat_map(|k| m.operands(k)) {
        is_used[(k - first) as usize] = true;
    }
    if is_used[(root - first) as usize] {
        return broken_by("calls", Rule::FusionUsers, "a root without users", m.instruction_name(root));
    }
    match all.clone().find(|&k| k != root && !is_used[(k - first) as usize]) {
        Some(k) => broken_by(
            "calls",
            Rule::FusionUsers,
            format!("users of every instruction of {name} but its root"),
            format!("{} without users", m.instruction_name(k)),
        ),
        None => Ok(()),
    }
}
