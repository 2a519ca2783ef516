//! Dimension numbers, indices and windows, beyond what shape inference checks.

use layout::{ElementKind, ElementType};

use super::rule::{Law, Rule};
use crate::attribute::Value;
use crate::infer::{are_mixable, Operation};

pub(super) fn dynamic_update_slice(op: &Operation) -> Law {
    if let (Some(operand), Some(update)) = (op.array_or_none(0), op.array_or_none(1)) {
        let (operand, update) = (operand.element(), update.element());
        let fits = are_mixable(operand, update);
        Rule::ElementType.require(fits, format_args!("an update of type {}", operand.name()), update.name())?;
    }
    offsets(op, 2)
}

pub(super) fn dynamic_reshape(op: &Operation) -> Law {
    (1..op.operands.len()).try_for_each(|k| {
        let is_s32 = op.array_or_none(k).is_none_or(|a| a.element() == ElementType::S32);
        Rule::IndexType.require(is_s32, "s32[] as sizes", op.operands[k])
    })
}

pub(super) fn gather(op: &Operation) -> Law {
    integers(op, 1)?;
    ["collapsed_slice_dims", "operand_batching_dims", "offset_dims"].into_iter().try_for_each(|n| sorted(op, n))?;
    disjoint(op, "collapsed_slice_dims", "operand_batching_dims")?;
    disjoint(op, "start_index_map", "operand_batching_dims")
}

pub(super) fn scatter(op: &Operation) -> Law {
    integers(op, op.operands.len() / 2)?;
    ["update_window_dims", "inserted_window_dims", "input_batching_dims"]
        .into_iter()
        .try_for_each(|n| sorted(op, n))?;
    disjoint(op, "inserted_window_dims", "input_batching_dims")?;
    disjoint(op, "scatter_dims_to_operand_dims", "input_batching_dims")
}

/// Without a window, the operand is a scalar.
pub(super) fn window(op: &Operation) -> Law {
    if op.value("window").is_some() {
        return Ok(());
    }
    let rank = op.array_or_none(0).map_or(0, |array| array.rank());
    Rule::WindowRank.require(rank == 0, format_args!("a window of {rank} dimensions"), "none")
}

pub(super) fn fft(op: &Operation) -> Law {
    let n = op.ints("fft_length").len();
    Rule::FftRank.of("fft_length").require((1..=3).contains(&n), "one to three lengths", n)
}

pub(super) fn convolution(op: &Operation) -> Law {
    let [features, batches] = ["feature_group_count", "batch_group_count"].map(|n| op.int(n).unwrap_or(1));
    Rule::ConvolutionGroups.of("batch_group_count").require(
        features <= 1 || batches <= 1,
        "one kind of groups",
        format_args!("{features} feature groups and {batches} batch groups"),
    )
}

pub(super) fn triangular_solve(op: &Operation) -> Law {
    let has_form = op.value("transpose_a").is_some();
    Rule::RequiredAttribute.require(has_form, "transpose_a=NO_TRANSPOSE, TRANSPOSE or ADJOINT", "none")
}

/// The operands from `first` on are offsets: integers of one type.
pub(super) fn offsets(op: &Operation, first: usize) -> Law {
    for k in first..op.operands.len() {
        integers(op, k)?;
        let (one, other) = (op.operands[first], op.operands[k]);
        Rule::IndexType.require(other.same_dims(one), format_args!("offsets of one type, {one}"), other)?;
    }
    Ok(())
}

fn integers(op: &Operation, k: usize) -> Law {
    let is_integer = |t: ElementType| matches!(t.kind(), ElementKind::Signed | ElementKind::Unsigned);
    let other = op.operands.get(k).filter(|s| s.as_array().is_some_and(|a| !is_integer(a.element())));
    Rule::IndexType.none(other, "integers as indices")
}

fn sorted(op: &Operation, name: &'static str) -> Law {
    let list = op.ints(name);
    let law = Rule::DimensionOrder.of(name);
    law.require(list.is_sorted(), format_args!("{name} in ascending order"), format_args!("{list:?}"))
}

fn disjoint(op: &Operation, name: &'static str, other: &str) -> Law {
    let others = op.ints(other);
    let shared = op.ints(name).into_iter().find(|d| others.contains(d)).map(|d| format!("dimension {d} in both"));
    Rule::DimensionRole.of(name).none(shared, format_args!("{name} without the dimensions of {other}"))
}

/// The number of flags in a list.
pub(super) fn n_flags(op: &Operation, name: &str) -> Option<usize> {
    match op.value(name) {
        Some(Value::Bools(flags)) => Some(flags.len()),
        _ => None,
    }
}
