//! The steps of asynchronous operations, and the halves of copies and transfers.
//!
//! Each step is compared with the start of its chain, which is found once. A chain may pass through tuples, barriers,
//! copies and loops.

use rustc_hash::{FxHashMap, FxHashSet};

use super::rule::{broken, broken_by, Law, Rule};
use super::thread_of;
use crate::attribute::schema::{self, Owner};
use crate::attribute::Value;
use crate::model::asynchronous::{is_prefix, Source};
use crate::model::module::{ComputationId, InstructionId, Module};
use crate::model::opcode::AsyncPhase;
use crate::{Arity, Opcode};

/// The chains of a module.
pub(super) struct Chains {
    /// By step: the first step that is known, and the one before.
    of: FxHashMap<InstructionId, (InstructionId, Option<InstructionId>)>,
    /// By step: how many steps come next.
    next: FxHashMap<InstructionId, u32>,
    /// Steps that a loop or another computation carries on.
    carried: FxHashSet<InstructionId>,
    users: FxHashMap<InstructionId, Vec<InstructionId>>,
}

impl Chains {
    /// The chains of these instructions, in ascending order.
    pub fn of(m: &Module, related: &[InstructionId]) -> Chains {
        let (mut of, mut next) = (FxHashMap::default(), FxHashMap::default());
        for &i in related {
            match m.async_step(i) {
                None => {}
                Some((_, AsyncPhase::Start)) => drop(of.insert(i, (i, None))),
                Some(_) => {
                    let before = match m.async_source(i) {
                        Source::Step(before) => Some(before),
                        _ => None,
                    };
                    let first = before.and_then(|b| of.get(&b)).map_or(i, |chain: &(InstructionId, _)| chain.0);
                    of.insert(i, (first, before));
                    before.into_iter().for_each(|b| *next.entry(b).or_insert(0) += 1);
                }
            }
        }
        let is_open = |i: InstructionId| {
            matches!(m.instructions()[i as usize].opcode, Opcode::CopyStart | Opcode::Send | Opcode::Recv)
                || matches!(m.async_step(i), Some((_, AsyncPhase::Start | AsyncPhase::Update)))
        };
        let mut users: FxHashMap<InstructionId, Vec<InstructionId>> =
            related.iter().copied().filter(|&i| is_open(i)).map(|i| (i, vec![])).collect();
        let within: FxHashSet<ComputationId> = users.keys().map(|&i| m.computation_of(i)).collect();
        let mut carried = FxHashSet::default();
        let mut is_seen = FxHashSet::default();
        for c in within {
            let mut ends = if c == m.entry() { vec![] } else { vec![m.root(c)] };
            for i in m.instructions_of(c) {
                for k in m.operands(i) {
                    if let Some(list) = users.get_mut(&k).filter(|list| list.last() != Some(&i)) {
                        list.push(i);
                    }
                }
                if is_control(m, i) {
                    ends.extend(m.operands(i));
                }
            }
            // What reaches the end of a computation or a loop through carriers goes on there.
            while let Some(i) = ends.pop() {
                if !is_seen.insert(i) {
                    continue;
                }
                carried.insert(i);
                if m.is_carrier(i) {
                    ends.extend(m.operands(i));
                }
            }
        }
        Chains { of, next, carried, users }
    }

    pub fn check(&self, m: &Module, i: InstructionId) -> Law {
        self.step(m, i)?;
        transfer(m, i)?;
        self.consumers(m, i)?;
        body(m, i)
    }

    /// An update or the done continues the start of the same operation, computation and thread.
    fn step(&self, m: &Module, i: InstructionId) -> Law {
        let Some((inner, phase)) = m.async_step(i) else { return Ok(()) };
        if let Some(inner) = inner {
            short_form(m, i, inner, phase)?;
        }
        let &(start, before) = self.of.get(&i).unwrap_or(&(i, None));
        let is_start = phase == AsyncPhase::Start;
        if is_start && inner.is_none() && wrapped(m, i).is_none() {
            return broken(Rule::AsyncWrapped, "a computation in calls=", "none");
        }
        if !is_start && before.is_none() {
            return match m.async_source(i) {
                Source::Elsewhere if is_called(m, i) => Ok(()),
                _ => {
                    let found = m.operands(i).next().map_or("none", |k| m.opcode_name(k));
                    broken(Rule::MatchingStart, "an asynchronous operation in progress as the operand", found)
                }
            };
        }
        match (wrapped(m, i), wrapped(m, start)) {
            (Some(own), Some(of_start)) if own != of_start => {
                let expected = format!("calls={}", m.computation_name(of_start));
                return broken_by("calls", Rule::AsyncWrapped, expected, m.computation_name(own).to_string());
            }
            _ => {}
        }
        self.bound(m, i, start, phase)?;
        let opcode = |at: InstructionId| match m.async_step(at)?.0 {
            Some(opcode) => Some(opcode),
            None => wrapped(m, at).map(|c| m.instructions()[m.root(c) as usize].opcode),
        };
        if let (Some(own), Some(other)) = (inner, opcode(start)) {
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

    /// The bound operands and the result are prefixes of what the wrapped operation has, and whole at the done.
    fn bound(&self, m: &Module, i: InstructionId, start: InstructionId, phase: AsyncPhase) -> Law {
        let holder = if phase == AsyncPhase::Done { m.operands(i).next().unwrap_or(i) } else { i };
        let n_bound = m.shape(holder).as_tuple().and_then(|parts| parts.first()?.as_tuple()).map_or(0, <[_]>::len);
        let expected = match (m.async_computation(start), m.async_step(start)) {
            (Some(c), _) => Some(m.parameters(c).len()),
            (None, Some((Some(inner), AsyncPhase::Start))) => match inner.arity() {
                Arity::Fixed(n) => Some(usize::from(n)),
                Arity::Any | Arity::AtLeast(_) => None,
            },
            _ => None,
        };
        if let Some(n) = expected.filter(|&n| n_bound > n || (phase == AsyncPhase::Done && n_bound < n)) {
            return broken(Rule::AsyncWrapped, format!("{n} bound operands"), n_bound.to_string());
        }
        let Some(c) = m.async_computation(start) else { return Ok(()) };
        let root = m.shape(m.root(c));
        if phase == AsyncPhase::Done {
            return match m.shape(i).same_dims(root) {
                true => Ok(()),
                false => broken(Rule::AsyncWrapped, format!("the result {root}"), m.shape(i).to_string()),
            };
        }
        let Some([bound, result, ..]) = m.shape(i).as_tuple() else { return Ok(()) };
        for (&p, operand) in m.parameters(c).iter().zip(bound.as_tuple().unwrap_or(&[])) {
            if !operand.same_dims(m.shape(p)) {
                let expected = format!("an operand like the parameter {}", m.shape(p));
                return broken(Rule::AsyncWrapped, expected, operand.to_string());
            }
        }
        match is_prefix(result, root) {
            true => Ok(()),
            false => broken(Rule::AsyncWrapped, format!("a prefix of the result {root}"), result.to_string()),
        }
    }

    /// An operation in progress ends once, and nothing else uses it but what carries it.
    fn consumers(&self, m: &Module, i: InstructionId) -> Law {
        let Some(users) = self.users.get(&i) else { return Ok(()) };
        let name = m.opcode_name(i);
        if m.async_step(i).is_some() {
            let is_fit = |&user: &InstructionId| {
                let is_next = matches!(m.async_step(user), Some((_, AsyncPhase::Update | AsyncPhase::Done)));
                is_next && m.operands(user).skip(1).all(|k| k != i)
                    || m.is_carrier(user)
                    || is_control(m, user)
                    || m.is_call_of(user, "control_dep")
            };
            if let Some(&user) = users.iter().find(|user| !is_fit(user)) {
                return broken(Rule::OneConsumer, format!("a user that completes {name}"), m.opcode_name(user));
            }
            return match self.next.get(&i) {
                Some(1) => Ok(()),
                None if self.carried.contains(&i) || users.iter().any(|&user| self.carried.contains(&user)) => Ok(()),
                n => broken(Rule::OneConsumer, format!("one update or done of {name}"), n.unwrap_or(&0).to_string()),
            };
        }
        let [user] = users[..] else {
            return broken(Rule::OneConsumer, format!("one user of {name}"), users.len().to_string());
        };
        let is_copy = m.instructions()[i as usize].opcode == Opcode::CopyStart;
        if !is_copy || m.instructions()[user as usize].opcode == Opcode::CopyDone {
            return Ok(());
        }
        broken(Rule::OneConsumer, format!("a user that completes {name}"), m.opcode_name(user))
    }
}

/// Whether an instruction hands its operands to computations.
fn is_control(m: &Module, i: InstructionId) -> bool {
    matches!(m.instructions()[i as usize].opcode, Opcode::While | Opcode::Conditional | Opcode::Call)
}

/// Whether an instruction is in a computation that others call.
fn is_called(m: &Module, i: InstructionId) -> bool {
    m.computation_of(i) != m.entry() || m.instructions_of(m.computation_of(i)).any(|k| is_control(m, k))
}

/// A short form has the attributes of its operation at the start and only those of any instruction later.
fn short_form(m: &Module, i: InstructionId, inner: Opcode, phase: AsyncPhase) -> Law {
    let owner = Owner::Instruction(match phase {
        AsyncPhase::Start => inner,
        AsyncPhase::Update => Opcode::AsyncUpdate,
        AsyncPhase::Done => Opcode::AsyncDone,
    });
    let is_foreign = |name: &str| {
        let is_common = matches!(name, "async_execution_thread" | "parameter_replication");
        let is_call = phase != AsyncPhase::Start && name == "calls";
        is_call || !is_common && schema::key(name.as_bytes()).is_some_and(|key| !schema::is_allowed(key, owner))
    };
    if let Some(foreign) = m.attributes(i).iter().map(|a| m.attribute_name(a)).find(|name| is_foreign(name)) {
        return broken(Rule::AsyncAttributes, format!("attributes of {}", m.opcode_name(i)), foreign);
    }
    match m.operands(i).len() {
        n if n != 1 && phase == AsyncPhase::Done => {
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

/// The computation of an asynchronous operation: on the main thread a single operation, and called by nothing else.
fn body(m: &Module, i: InstructionId) -> Law {
    if m.instructions()[i as usize].opcode != Opcode::AsyncStart {
        return Ok(());
    }
    let Some(c) = wrapped(m, i) else { return Ok(()) };
    let name = m.computation_name(c);
    if let Some(&other) = m.callers(c).iter().find(|&&k| m.async_step(k).is_none()) {
        let expected = format!("only asynchronous operations that call {name}");
        return broken_by("calls", Rule::AsyncCaller, expected, m.opcode_name(other));
    }
    let root = m.root(c);
    let other = m.instructions_of(c).find(|&k| k != root && m.parameter_number(k).is_none());
    match other.filter(|_| thread_of(m, c) == "main") {
        Some(other) => broken_by(
            "calls",
            Rule::AsyncBody,
            format!("only parameters and the root in {name}"),
            m.instruction_name(other),
        ),
        None => Ok(()),
    }
}
