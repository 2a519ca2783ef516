//! Collectives: device groups, pairs of devices, exchanges.
//!
//! Sizes that grow or shrink by the number of devices are checked by shape inference.

use super::rule::{broken, broken_by, Law, Rule};
use super::sharding;
use super::types::arrays;
use crate::attribute::devices::DeviceGroups;
use crate::attribute::mesh::product;
use crate::attribute::Value;
use crate::infer::Operation;
use crate::Opcode;

/// Groups of more devices are not expanded.
const MAX_DEVICES: usize = 1 << 20;

/// The rules on collectives.
pub(super) fn check(op: &Operation, opcode: Opcode) -> Law {
    use Opcode::*;
    match opcode {
        AllReduce | AllReduceStart | AllGather | AllGatherStart | CollectiveReduce | ReduceScatter | AllToAll
        | RaggedAllToAll => {
            arrays(&op.operands, op.name())?;
            groups(op, matches!(opcode, AllGather | AllGatherStart | ReduceScatter | AllToAll))?;
            match opcode {
                AllToAll => exchange(op),
                RaggedAllToAll => ragged(op),
                _ => Ok(()),
            }
        }
        CollectivePermute | CollectivePermuteStart => {
            if op.value("slice_sizes").is_none() {
                arrays(&op.operands, op.name())?;
            }
            pairs(op)
        }
        _ => Ok(()),
    }
}

fn groups(op: &Operation, are_uniform: bool) -> Law {
    let is_global = op.flag("use_global_device_ids");
    if is_global && op.int("channel_id").is_none_or(|n| n <= 0) {
        let found = op.int("channel_id").map_or_else(|| "none".into(), |n| n.to_string());
        return broken_by("use_global_device_ids", Rule::GlobalDeviceIds, "a channel_id above 0", found);
    }
    let lists = match op.value("replica_groups") {
        Some(Value::DeviceGroups(DeviceGroups::Lists(lists))) => lists,
        Some(Value::DeviceGroups(DeviceGroups::Iota { groups, iota }))
            if product(&groups) != product(&iota.reshape) =>
        {
            let expected = format!("groups of the {:?} devices", iota.reshape);
            return broken_by("replica_groups", Rule::DeviceGroups, expected, format!("{groups:?}"));
        }
        Some(Value::DeviceGroups(DeviceGroups::Mesh { mesh, axes })) => {
            return sharding::mesh(&mesh, &axes.iter().collect::<Vec<_>>())
                .or_else(|(expected, found)| broken_by("replica_groups", Rule::DeviceGroups, expected, found));
        }
        // An iota has each device once.
        Some(_) => return Ok(()),
        None => Vec::new(),
    };
    if is_global && lists.is_empty() {
        return broken_by("use_global_device_ids", Rule::GlobalDeviceIds, "replica_groups", "none");
    }
    let fault = |expected: String, found: String| broken_by("replica_groups", Rule::DeviceGroups, expected, found);
    let n: usize = lists.iter().map(Vec::len).sum();
    if n > MAX_DEVICES {
        return Ok(());
    }
    let mut seen = vec![false; n];
    for list in &lists {
        if list.is_empty() {
            return fault("groups with devices".into(), "an empty group".into());
        }
        if are_uniform && list.len() != lists[0].len() {
            return fault(format!("groups of {} devices", lists[0].len()), format!("a group of {}", list.len()));
        }
        for &device in list {
            match usize::try_from(device).ok().and_then(|d| seen.get_mut(d)) {
                Some(s) if !*s => *s = true,
                Some(_) => return fault("each device once".into(), format!("device {device} twice")),
                None => return fault(format!("the devices 0 to {}", n - 1), format!("device {device}")),
            }
        }
    }
    Ok(())
}

fn pairs(op: &Operation) -> Law {
    let Some(Value::IntLists(pairs)) = op.value("source_target_pairs") else { return Ok(()) };
    let fault =
        |expected: &'static str, found: String| broken_by("source_target_pairs", Rule::DevicePairs, expected, found);
    let (mut sources, mut targets) = (Vec::with_capacity(pairs.len()), Vec::with_capacity(pairs.len()));
    for pair in &pairs {
        let [source, target] = pair[..] else { return fault("pairs of devices", format!("{} devices", pair.len())) };
        if source < 0 || target < 0 {
            return fault("devices from 0 on", format!("{{{source},{target}}}"));
        }
        sources.push(source);
        targets.push(target);
    }
    for (list, expected) in [(&mut sources, "each source once"), (&mut targets, "each target once")] {
        list.sort_unstable();
        if let Some(twice) = list.windows(2).find(|w| w[0] == w[1]) {
            return fault(expected, format!("device {} twice", twice[0]));
        }
    }
    Ok(())
}

/// The operand is split along a dimension. Without one, the operands are the pieces for the devices of a group.
fn exchange(op: &Operation) -> Law {
    if op.value("dimensions").is_some() && op.operands.len() <= 1 {
        return match op.ints("dimensions").len() {
            1 => Ok(()),
            n => broken_by("dimensions", Rule::Exchange, "one dimension to split", n.to_string()),
        };
    }
    if let Some(written) = op.written.filter(|s| s.as_tuple().is_none()) {
        return broken(Rule::Exchange, "a tuple of pieces without a dimension to split", written.to_string());
    }
    if let Some(other) = op.operands.iter().find(|s| !s.same_dims(op.operands[0])) {
        return broken(Rule::Exchange, format!("operands of one shape, {}", op.operands[0]), other.to_string());
    }
    let Some(Value::DeviceGroups(groups)) = op.value("replica_groups") else { return Ok(()) };
    match groups.group_size() {
        Some(n) if n != op.operands.len() as i64 => {
            broken(Rule::Exchange, format!("{n} operands, one per device of a group"), op.operands.len().to_string())
        }
        _ => Ok(()),
    }
}

/// Offsets and sizes are of one shape, with one or two dimensions.
fn ragged(op: &Operation) -> Law {
    let Some(first) = op.array_or_none(2) else { return Ok(()) };
    if !(1..=2).contains(&first.rank()) {
        return broken(Rule::Exchange, "offsets of one or two dimensions", op.operands[2].to_string());
    }
    match op.operands[3..].iter().find(|s| !s.same_dims(op.operands[2])) {
        Some(other) => {
            broken(Rule::Exchange, format!("offsets and sizes of one shape, {}", op.operands[2]), other.to_string())
        }
        None => Ok(()),
    }
}
