//! Dimension numbers, indices and windows, beyond what shape inference checks.

use layout::{ElementKind, ElementType};

use super::rule::{broken, broken_by, Law, Rule};
use crate::attribute::Value;
use crate::infer::{are_mixable, Operation};
use crate::Opcode;

/// The rules on dimension numbers.
pub(super) fn check(op: &Operation, opcode: Opcode) -> Law {
    match opcode {
        Opcode::DynamicSlice => offsets(op, 1),
        Opcode::DynamicUpdateSlice => {
            if let (Some(operand), Some(update)) = (op.array_or_none(0), op.array_or_none(1)) {
                if !are_mixable(operand.element(), update.element()) {
                    let expected = format!("an update of type {}", operand.element().name());
                    return broken(Rule::ElementType, expected, update.element().name());
                }
            }
            offsets(op, 2)
        }
        Opcode::DynamicReshape => (1..op.operands.len()).try_for_each(|k| {
            let is_s32 = op.array_or_none(k).is_none_or(|a| a.element() == ElementType::S32);
            if is_s32 {
                return Ok(());
            }
            broken(Rule::IndexType, "s32[] as sizes", op.operands[k].to_string())
        }),
        Opcode::Gather => {
            integers(op, 1)?;
            ["collapsed_slice_dims", "operand_batching_dims", "offset_dims"]
                .into_iter()
                .try_for_each(|n| sorted(op, n))?;
            disjoint(op, "collapsed_slice_dims", "operand_batching_dims")?;
            disjoint(op, "start_index_map", "operand_batching_dims")
        }
        Opcode::Scatter => {
            integers(op, op.operands.len() / 2)?;
            ["update_window_dims", "inserted_window_dims", "input_batching_dims"]
                .into_iter()
                .try_for_each(|n| sorted(op, n))?;
            disjoint(op, "inserted_window_dims", "input_batching_dims")?;
            disjoint(op, "scatter_dims_to_operand_dims", "input_batching_dims")
        }
        Opcode::ReduceWindow | Opcode::SelectAndScatter if op.value("window").is_none() => match op.array_or_none(0) {
            Some(array) if array.rank() > 0 => {
                broken(Rule::WindowRank, format!("a window of {} dimensions", array.rank()), "none")
            }
            _ => Ok(()),
        },
        Opcode::Fft => match op.ints("fft_length").len() {
            1..=3 => Ok(()),
            n => broken_by("fft_length", Rule::FftRank, "one to three lengths", n.to_string()),
        },
        Opcode::Convolution => match (op.int("feature_group_count"), op.int("batch_group_count")) {
            (Some(features), Some(batches)) if features > 1 && batches > 1 => broken_by(
                "batch_group_count",
                Rule::ConvolutionGroups,
                "one kind of groups",
                format!("{features} feature groups and {batches} batch groups"),
            ),
            _ => Ok(()),
        },
        Opcode::TriangularSolve if op.value("transpose_a").is_none() => {
            broken(Rule::RequiredAttribute, "transpose_a=NO_TRANSPOSE, TRANSPOSE or ADJOINT", "none")
        }
        _ => Ok(()),
    }
}

/// The operands from `first` on are offsets: integers of one type.
fn offsets(op: &Operation, first: usize) -> Law {
    for k in first..op.operands.len() {
        integers(op, k)?;
        if op.operands[k] != op.operands[first] && !op.operands[k].same_dims(op.operands[first]) {
            let expected = format!("offsets of one type, {}", op.operands[first]);
            return broken(Rule::IndexType, expected, op.operands[k].to_string());
        }
    }
    Ok(())
}

fn integers(op: &Operation, k: usize) -> Law {
    match op.array_or_none(k) {
        Some(a) if !matches!(a.element().kind(), ElementKind::Signed | ElementKind::Unsigned) => {
            broken(Rule::IndexType, "integers as indices", op.operands[k].to_string())
        }
        _ => Ok(()),
    }
}

fn sorted(op: &Operation, name: &'static str) -> Law {
    let list = op.ints(name);
    if list.is_sorted() {
        return Ok(());
    }
    broken_by(name, Rule::DimensionOrder, format!("{name} in ascending order"), format!("{list:?}"))
}

fn disjoint(op: &Operation, name: &'static str, other: &str) -> Law {
    let others = op.ints(other);
    match op.ints(name).into_iter().find(|d| others.contains(d)) {
        Some(d) => broken_by(
            name,
            Rule::DimensionRole,
            format!("{name} without the dimensions of {other}"),
            format!("dimension {d} in both"),
        ),
        None => Ok(()),
    }
}

/// The number of flags of a list of them.
pub(super) fn n_flags(op: &Operation, name: &str) -> Option<usize> {
    match op.value(name) {
        Some(Value::Bools(flags)) => Some(flags.len()),
        _ => None,
    }
}
