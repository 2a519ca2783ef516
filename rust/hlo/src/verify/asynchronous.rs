//! The steps of asynchronous operations, and the halves of copies and transfers.
//!
//! Each step is compared with the start of its chain, which is found once. A chain may pass through tuples, barriers,
//! copies and loops.

use rustc_hash::{FxHashMap, FxHashSet};

use super::rule::{Law, Rule};
use super::thread_of;
use crate::attribute::schema::{self, Owner};
use crate::attribute::Value;
use crate::model::asynchronous::{is_prefix, Source};
use crate::model::module::{ComputationId, InstructionId, Module};
use crate::opcode::AsyncPhase;
use crate::{Arity, Opcode};

pub(super) struct Chains {
    /// By step: the first known step, and the one before.
    of: FxHashMap<InstructionId, (InstructionId, Option<InstructionId>)>,
    /// By step: the number of steps that follow it directly.
    next: FxHashMap<InstructionId, u32>,
    /// Steps that continue in a loop or another computation.
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
            // A step that reaches the end of a computation or a loop through carriers continues there.
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
        let is_open = is_start && inner.is_none() && wrapped(m, i).is_none();
        Rule::AsyncWrapped.require(!is_open, "a computation in calls=", "none")?;
        if !is_start && before.is_none() {
            return match m.async_source(i) {
                Source::Elsewhere if is_called(m, i) => Ok(()),
                _ => {
                    let found = m.operands(i).next().map_or("none", |k| m.opcode_name(k));
                    Rule::MatchingStart.broken("an asynchronous operation in progress as the operand", found)
                }
            };
        }
        if let (Some(own), Some(of_start)) = (wrapped(m, i), wrapped(m, start)) {
            let [found, expected] = [own, of_start].map(|c| m.computation_name(c));
            Rule::AsyncWrapped.of("calls").require(own == of_start, format_args!("calls={expected}"), found)?;
        }
        self.bound(m, i, start, phase)?;
        let opcode = |at: InstructionId| match m.async_step(at)?.0 {
            Some(opcode) => Some(opcode),
            None => wrapped(m, at).map(|c| m.instructions()[m.root(c) as usize].opcode),
        };
        if let (Some(own), Some(other)) = (inner, opcode(start)) {
            Rule::AsyncWrapped.require(own == other, format_args!("a step of {}", other.name()), own.name())?;
        }
        let thread = async_thread(m, start).unwrap_or_else(|| "main".into());
        let other = async_thread(m, i).filter(|own| *own != thread).map(|own| format!("`{own}`"));
        Rule::AsyncThread.of("async_execution_thread").none(other, format_args!("thread `{thread}`"))
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
        let law = Rule::AsyncWrapped;
        let n = expected.unwrap_or(n_bound);
        let is_whole = n_bound == n || (n_bound < n && phase != AsyncPhase::Done);
        law.require(is_whole, format_args!("{n} bound operands"), n_bound)?;
        let Some(c) = m.async_computation(start) else { return Ok(()) };
        let (own, root) = (m.shape(i), m.shape(m.root(c)));
        if phase == AsyncPhase::Done {
            return law.require(own.same_dims(root), format_args!("the result {root}"), own);
        }
        let Some([bound, result, ..]) = own.as_tuple() else { return Ok(()) };
        for (&p, operand) in m.parameters(c).iter().zip(bound.as_tuple().unwrap_or(&[])) {
            let parameter = m.shape(p);
            law.require(
                operand.same_dims(parameter),
                format_args!("an operand like the parameter {parameter}"),
                operand,
            )?;
        }
        law.require(is_prefix(result, root), format_args!("a prefix of the result {root}"), result)
    }

    /// An operation in progress ends once, and only carriers use it otherwise.
    fn consumers(&self, m: &Module, i: InstructionId) -> Law {
        let Some(users) = self.users.get(&i) else { return Ok(()) };
        let (law, name) = (Rule::OneConsumer, m.opcode_name(i));
        if m.async_step(i).is_some() {
            let is_fit = |&user: &InstructionId| {
                let is_next = matches!(m.async_step(user), Some((_, AsyncPhase::Update | AsyncPhase::Done)));
                is_next && m.operands(user).skip(1).all(|k| k != i)
                    || m.is_carrier(user)
                    || is_control(m, user)
                    || m.is_call_of(user, "control_dep")
            };
            let other = users.iter().find(|user| !is_fit(user)).map(|&user| m.opcode_name(user));
            law.none(other, format_args!("a user that completes {name}"))?;
            let n = self.next.get(&i).copied().unwrap_or(0);
            let is_carried = || users.iter().chain([&i]).any(|k| self.carried.contains(k));
            let is_one = n == 1 || n == 0 && is_carried();
            return law.require(is_one, format_args!("one update or done of {name}"), n);
        }
        let [user] = users[..] else { return law.broken(format_args!("one user of {name}"), users.len()) };
        let opcode = |k: InstructionId| m.instructions()[k as usize].opcode;
        let is_complete = opcode(i) != Opcode::CopyStart || opcode(user) == Opcode::CopyDone;
        law.require(is_complete, format_args!("a user that completes {name}"), m.opcode_name(user))
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
    let name = m.opcode_name(i);
    let foreign = m.attributes(i).iter().map(|a| m.attribute_name(a)).find(|name| is_foreign(name));
    Rule::AsyncAttributes.none(foreign, format_args!("attributes of {name}"))?;
    let n = m.operands(i).len();
    Rule::MatchingStart.require(n == 1 || phase != AsyncPhase::Done, format_args!("one operand of {name}"), n)
}

fn wrapped(m: &Module, i: InstructionId) -> Option<ComputationId> {
    m.called_computations(i).next()
}

fn async_thread(m: &Module, i: InstructionId) -> Option<String> {
    match m.attribute_value(i, "async_execution_thread") {
        Some(Value::Text(thread)) => Some(thread.into_owned()),
        _ => None,
    }
}

/// Both halves of a transfer, and the end of an operation with its own opcodes.
fn transfer(m: &Module, i: InstructionId) -> Law {
    use Opcode::*;
    let opcode = m.instructions()[i as usize].opcode;
    let Some(expected) = opcode.start() else { return Ok(()) };
    let Some(start) = m.operands(i).next() else { return Ok(()) };
    let found = m.instructions()[start as usize].opcode;
    let is_transfer = matches!(opcode, SendDone | RecvDone);
    if found != expected {
        // A pipelined transfer ends in another iteration of a loop than it starts in.
        let is_carried = is_transfer && matches!(found, Parameter | GetTupleElement | While | Tuple);
        let (expected, opcode) = (expected.name(), opcode.name());
        let is_unknown = is_carried || m.has_unnamed_operands(i);
        let law = Rule::MatchingStart;
        return law.require(is_unknown, format_args!("{expected} as the operand of {opcode}"), m.opcode_name(start));
    }
    if !is_transfer {
        return Ok(());
    }
    let channel = |i| match m.attribute_value(i, "channel_id") {
        Some(Value::Int(n)) => format!("channel {n}"),
        _ => "no channel".into(),
    };
    Rule::TransferHalves.of("channel_id").require(channel(i) == channel(start), channel(start), channel(i))?;
    let is_host = |i| m.attribute_value(i, "is_host_transfer") == Some(Value::Bool(true));
    let (expected, found, name) = (is_host(start), is_host(i), m.instruction_name(start));
    let law = Rule::TransferHalves;
    law.require(found == expected, format_args!("is_host_transfer={expected} as in {name}"), found)
}

/// The computation of an asynchronous operation: on the main thread a single operation, and called by nothing else.
fn body(m: &Module, i: InstructionId) -> Law {
    if m.instructions()[i as usize].opcode != Opcode::AsyncStart {
        return Ok(());
    }
    let Some(c) = wrapped(m, i) else { return Ok(()) };
    let name = m.computation_name(c);
    let other = m.callers(c).iter().find(|&&k| m.async_step(k).is_none()).map(|&k| m.opcode_name(k));
    Rule::AsyncCaller.of("calls").none(other, format_args!("only asynchronous operations that call {name}"))?;
    let root = m.root(c);
    let other = m.instructions_of(c).find(|&k| k != root && m.parameter_number(k).is_none());
    let other = other.filter(|_| thread_of(m, c) == "main").map(|k| m.instruction_name(k));
    Rule::AsyncBody.of("calls").none(other, format_args!("only parameters and the root in {name}"))
}
