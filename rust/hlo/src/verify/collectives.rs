//! Collectives: device groups, pairs of devices, exchanges.
//!
//! Sizes that grow or shrink by the number of devices are checked by shape inference.

use layout::Shape;

use super::rule::{Law, Rule};
use super::sharding;
use super::types::arrays;
use crate::attribute::devices::DeviceGroups;
use crate::attribute::mesh::{product, Iota};
use crate::attribute::Value;
use crate::infer::Operation;

/// An operation on the arrays of a group of devices; `are_uniform` if all groups must have equally many.
pub(super) fn grouped(op: &Operation, are_uniform: bool) -> Law {
    arrays(&op.operands, op.name())?;
    groups(op, are_uniform)
}

pub(super) fn permute(op: &Operation) -> Law {
    if op.value("slice_sizes").is_none() {
        arrays(&op.operands, op.name())?;
    }
    pairs(op)
}

fn groups(op: &Operation, are_uniform: bool) -> Law {
    let is_global = op.flag("use_global_device_ids");
    let global = Rule::GlobalDeviceIds.of("use_global_device_ids");
    if is_global && op.int("channel_id").is_none_or(|n| n <= 0) {
        let found = op.int("channel_id").map_or_else(|| "none".into(), |n| n.to_string());
        return global.broken("a channel_id above 0", found);
    }
    let law = Rule::DeviceGroups.of("replica_groups");
    let lists = match op.value("replica_groups") {
        Some(Value::DeviceGroups(DeviceGroups::Lists(lists))) => lists,
        // An iota has each device once.
        Some(Value::DeviceGroups(DeviceGroups::Iota { groups, iota })) => {
            let Iota { reshape, .. } = iota;
            let fits = product(&groups) == product(&reshape);
            return law.require(fits, format_args!("groups of the {reshape:?} devices"), format_args!("{groups:?}"));
        }
        Some(Value::DeviceGroups(DeviceGroups::Mesh { mesh, axes })) => {
            return sharding::mesh(&mesh, &axes.iter().collect::<Vec<_>>(), law);
        }
        Some(_) => return Ok(()),
        None => Vec::new(),
    };
    global.require(!is_global || !lists.is_empty(), "replica_groups", "none")?;
    for list in &lists {
        law.require(!list.is_empty(), "groups with devices", "an empty group")?;
        let (size, found) = (lists[0].len(), list.len());
        let fits = !are_uniform || found == size;
        law.require(fits, format_args!("groups of {size} devices"), format_args!("a group of {found}"))?;
    }
    let mut all = lists.concat();
    let n = all.len() as i64;
    let other = all.iter().find(|device| !(0..n).contains(*device)).map(|device| format!("device {device}"));
    law.none(other, format_args!("the devices 0 to {}", n - 1))?;
    law.none(sharding::twice(&mut all), "each device once")
}

fn pairs(op: &Operation) -> Law {
    let Some(Value::IntLists(pairs)) = op.value("source_target_pairs") else { return Ok(()) };
    let law = Rule::DevicePairs.of("source_target_pairs");
    for pair in &pairs {
        let [source, target] = pair[..] else {
            return law.broken("pairs of devices", format_args!("{} devices", pair.len()));
        };
        let are_devices = source >= 0 && target >= 0;
        law.require(are_devices, "devices from 0 on", format_args!("{{{source},{target}}}"))?;
    }
    for (k, expected) in ["each source once", "each target once"].into_iter().enumerate() {
        law.none(sharding::twice(&mut pairs.iter().map(|pair| pair[k]).collect::<Vec<_>>()), expected)?;
    }
    Ok(())
}

/// The operand is split along a dimension. Without one, the operands are the pieces for the devices of a group.
pub(super) fn exchange(op: &Operation) -> Law {
    if op.value("dimensions").is_some() && op.operands.len() <= 1 {
        let n = op.ints("dimensions").len();
        return Rule::Exchange.of("dimensions").require(n == 1, "one dimension to split", n);
    }
    let array = op.written.filter(|s| s.as_tuple().is_none());
    Rule::Exchange.none(array, "a tuple of pieces without a dimension to split")?;
    same_dims(&op.operands, "operands of one shape")?;
    let Some(Value::DeviceGroups(groups)) = op.value("replica_groups") else { return Ok(()) };
    let found = op.operands.len();
    let n = groups.group_size().unwrap_or(found as i64);
    Rule::Exchange.require(n == found as i64, format_args!("{n} operands, one per device of a group"), found)
}

/// Offsets and sizes are of one shape, with one or two dimensions.
pub(super) fn ragged(op: &Operation) -> Law {
    let Some(first) = op.array_or_none(2) else { return Ok(()) };
    let has_rank = (1..=2).contains(&first.rank());
    Rule::Exchange.require(has_rank, "offsets of one or two dimensions", op.operands[2])?;
    same_dims(&op.operands[2..], "offsets and sizes of one shape")
}

fn same_dims(all: &[&Shape], expected: &str) -> Law {
    let Some(first) = all.first() else { return Ok(()) };
    Rule::Exchange.none(all.iter().find(|s| !s.same_dims(first)), format_args!("{expected}, {first}"))
}
