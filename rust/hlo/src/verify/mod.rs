//! XLA's verifier: what a module must satisfy beyond shape inference.
//!
//! Both readers end with [`admit`]. [`instruction`] has the rules of an instruction with its operands and called
//! computations, [`relations`], the rules among several instructions, [`header`] and [`names`]. All rules are listed in
//! [`rule`]. A violation is a diagnostic and does not make an instruction inconsistent: its maps are as sound as its
//! shape. Instructions whose shape is inconsistent are not checked. Cost: linear in the size of the text.

mod aliasing;
mod asynchronous;
mod called;
mod collectives;
mod dimensions;
pub(crate) mod header;
pub(crate) mod names;
pub(crate) mod relations;
pub(crate) mod rule;
mod sharding;
mod strict;
mod types;
pub(crate) mod values;

use std::borrow::Cow;

use layout::{brief, Shape};

use crate::attribute::form::Form;
use crate::attribute::schema;
use crate::attribute::Value;
use crate::cursor::Cursor;
use crate::error::{Diagnostic, Span};
use crate::infer::Operation;
use crate::model::module::{ComputationId, InstructionId, Module, UNKNOWN_KEY};
use crate::opcode::{async_form, elementwise, AsyncPhase};
use crate::tuning::MAX_PROBLEMS;
use crate::Opcode;
use rule::{Law, Violation};

/// Completes the problems of a module that was read: a strict reading adds what it refuses. Both readers end with this,
/// so that a text and the proto of one module have the same verdict.
pub(crate) fn admit(m: &Module, strict: bool, problems: &mut Vec<Diagnostic>) {
    if !strict {
        return;
    }
    let is_sound = problems.is_empty();
    problems.extend(m.diagnostics().iter().cloned());
    problems.extend(values::check(m, MAX_PROBLEMS));
    if is_sound {
        problems.extend(strict::check(m, MAX_PROBLEMS));
    }
}

/// Checks the rules of an instruction with a consistent shape; returns the first violation.
pub(crate) fn instruction(m: &Module, i: InstructionId) -> Law {
    if m.has_unnamed_operands(i) {
        return Ok(());
    }
    let mut op = Operation::of(m, i);
    let mut opcode = m.instructions()[i as usize].opcode;
    if let (Opcode::Unknown, Some((inner, AsyncPhase::Start))) = (opcode, async_form(m.opcode_name(i))) {
        // The operation and its result, the second part of the shape.
        opcode = inner;
        op.written = op.written.and_then(Shape::as_tuple).and_then(|parts| parts.get(1));
    }
    types::operands(&op, opcode)?;
    own_rules(&op, opcode)?;
    match m.attributes(i).iter().any(|a| a.form == Form::Sharding) {
        true => sharding::check(&op),
        false => Ok(()),
    }
}

/// The rules of an operation beyond the types of its operands; a new one does not compile until it has an arm.
#[deny(clippy::wildcard_enum_match_arm)]
fn own_rules(op: &Operation, opcode: Opcode) -> Law {
    use Opcode::*;
    match opcode {
        ReducePrecision => types::reduce_precision(op),
        Compare => types::comparison(op),
        BitcastConvert => types::bitcast_convert(op),
        StochasticConvert => types::stochastic_convert(op),
        Select => types::select(op),
        Iota => types::iota(op),
        Rng => types::rng(op),
        Topk => types::topk(op),

        DynamicSlice => dimensions::offsets(op, 1),
        DynamicUpdateSlice => dimensions::dynamic_update_slice(op),
        DynamicReshape => dimensions::dynamic_reshape(op),
        Gather => dimensions::gather(op),
        Fft => dimensions::fft(op),
        Convolution => dimensions::convolution(op),
        TriangularSolve => dimensions::triangular_solve(op),

        Reduce => called::reduction(op),
        ReduceWindow => {
            dimensions::window(op)?;
            called::reduction(op)
        }
        SelectAndScatter => {
            dimensions::window(op)?;
            called::select_and_scatter(op)
        }
        Scatter => {
            dimensions::scatter(op)?;
            called::scatter(op)
        }
        Sort => called::comparator(op),
        Map => called::mapped(op),
        Scan => called::step(op),
        Conditional => {
            called::selector(op)?;
            called::thread(op)
        }
        While => called::thread(op),
        Fusion => {
            called::thread(op)?;
            aliasing::aliases(op)
        }
        Domain => called::domain(op),

        AllReduce | AllReduceStart | CollectiveReduce => collectives::grouped(op, false),
        AllGather | AllGatherStart | ReduceScatter => collectives::grouped(op, true),
        AllToAll => {
            collectives::grouped(op, true)?;
            collectives::exchange(op)
        }
        RaggedAllToAll => {
            collectives::grouped(op, false)?;
            collectives::ragged(op)
        }
        CollectivePermute | CollectivePermuteStart => collectives::permute(op),

        CustomCall => {
            aliasing::constraints(op)?;
            aliasing::aliases(op)
        }
        Parameter => aliasing::replication(op),
        Infeed => aliasing::token(op, 0),
        AddDependency | Outfeed => aliasing::token(op, 1),
        CopyStart => aliasing::copy_context(op),

        // The rules among instructions check the steps of asynchronous operations and transfers.
        CollectivePermuteDone => Ok(()),
        AllGatherDone | AllReduceDone | AsyncDone | AsyncStart | AsyncUpdate | CopyDone | Recv | RecvDone | Send
        | SendDone => Ok(()),
        // Types, arity and shape inference suffice.
        #[allow(unreachable_patterns)]
        elementwise!() => Ok(()),
        Abs | AfterAll | BatchNormGrad | BatchNormInference | BatchNormTraining | Bitcast | Broadcast | Call
        | Cholesky | Clamp | CollectiveBroadcast | Complex | Concatenate | Constant | Convert | Dot
        | GetDimensionSize | GetTupleElement | Imag | IsFinite | OptBarrier | Pad | PartitionId | RaggedDot | Real
        | ReplicaId | Reshape | Reverse | RngBitGenerator | RngGetAndUpdateState | ScaledDot | SetDimensionSize
        | Shuffle | Slice | Transpose | Tuple => Ok(()),
        // Nothing is known of it.
        Unknown => Ok(()),
    }
}

/// Whether an instruction without an inference rule, or an elementwise one of uniform shape, has no rule to check; true
/// for most.
#[inline]
pub(crate) fn is_plain(m: &Module, i: InstructionId) -> bool {
    let opcode = m.instructions()[i as usize].opcode;
    // Those two have rules of their own.
    !matches!(opcode, Opcode::CustomCall | Opcode::ReducePrecision)
        && types::fits(opcode, m.shape(i))
        && !m.attributes(i).iter().any(|a| a.key < UNKNOWN_KEY && schema::is_verified(a.key))
}

fn thread_of(m: &Module, c: ComputationId) -> Cow<'_, str> {
    let attribute = m.computation_attributes(c).iter().find(|a| m.attribute_name(a) == "execution_thread");
    match attribute.map(|a| m.value(a, Some(c))) {
        Some(Value::Text(thread)) => thread,
        _ => "main".into(),
    }
}

/// The diagnostic of a violation at `span`.
pub(crate) fn problem(violation: &Violation, span: Span) -> Diagnostic {
    let Violation { rule, expected, found, .. } = violation;
    Diagnostic::disagrees(span, format_args!("rule {}", rule.name()), brief(expected), brief(found))
}

/// The span of a violation by an instruction: that of the attribute, or of the shape.
pub(crate) fn violation_span(m: &Module, i: u32, violation: &Violation) -> Span {
    let named = violation.attribute.and_then(|name| m.attribute(i, name)).map(|a| a.value);
    named.filter(|span| !span.is_empty()).unwrap_or_else(|| shape_span(m, i))
}

/// The span of the shape of an instruction; of its name if it has none.
pub(crate) fn shape_span(m: &Module, i: u32) -> Span {
    let name = m.instructions[i as usize].name;
    let mut c = Cursor { text: &m.source.text, pos: name.end as usize };
    if !c.accept_after_space(b'=') {
        return name;
    }
    c.space();
    let start = c.pos;
    layout::read_shape(&mut c).map_or(name, |_| Span::new(start, c.pos))
}
