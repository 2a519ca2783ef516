//! Shardings: their ranks and devices.
//!
//! Read [`check`].

use layout::Shape;

use super::aliasing::n_leaves;
use super::rule::{broken_by, Law, Rule};
use crate::attribute::mesh::{product, DeviceOrder, Mesh};
use crate::attribute::sharding::{Sharding, ShardingKind, Tiles};
use crate::attribute::Value;
use crate::infer::Operation;

/// The rules on the sharding of an instruction.
pub(super) fn check(op: &Operation) -> Law {
    let (Some(Value::Sharding(sharding)), Some(shape)) = (op.value("sharding"), op.written) else { return Ok(()) };
    match (&sharding, shape) {
        (Sharding::Tuple(parts), Shape::Tuple(_)) => {
            let n = n_leaves(shape);
            // A tuple without leaves has one sharding.
            if parts.len() != n.max(1) && !(n == 0 && parts.is_empty()) {
                return fault(format!("{n} shardings, one per leaf of {shape}"), parts.len().to_string());
            }
            let mut leaves = Vec::with_capacity(n);
            collect_leaves(shape, &mut leaves);
            leaves.into_iter().zip(parts).try_for_each(|(leaf, part)| one(part, leaf))
        }
        (Sharding::Tuple(parts), _) => fault(format!("one sharding of {shape}"), format!("a tuple of {}", parts.len())),
        (one_for_all, Shape::Tuple(_)) => {
            let mut leaves = Vec::new();
            collect_leaves(shape, &mut leaves);
            leaves.into_iter().try_for_each(|leaf| one(one_for_all, leaf))
        }
        _ => one(&sharding, shape),
    }
}

fn collect_leaves<'s>(shape: &'s Shape, leaves: &mut Vec<&'s Shape>) {
    match shape.as_tuple() {
        Some(parts) => parts.iter().for_each(|part| collect_leaves(part, leaves)),
        None => leaves.push(shape),
    }
}

fn fault(expected: impl Into<String>, found: impl Into<String>) -> Law {
    broken_by("sharding", Rule::Sharding, expected.into(), found)
}

fn one(sharding: &Sharding, shape: &Shape) -> Law {
    match sharding {
        Sharding::Whole(whole) => match &whole.kind {
            ShardingKind::Maximal(device) if *device < 0 => fault("a device from 0 on", device.to_string()),
            ShardingKind::Tiled(tiles) => {
                let n_subgroups = tiles.last_dims.len() + usize::from(tiles.replicate_last);
                let n = tiles.dims.len().saturating_sub(n_subgroups);
                // One tile is the whole value, whatever its rank.
                if n_subgroups == 0 || tiles.dims[..n].iter().any(|&d| d != 1) {
                    rank(n, shape)?;
                }
                devices(tiles)
            }
            _ => Ok(()),
        },
        Sharding::Named(named) => {
            mesh(&named.mesh)?;
            // A mesh without dimensions stands for whole values.
            if named.dims.is_empty() {
                Ok(())
            } else {
                rank(named.dims.len(), shape)
            }
        }
        Sharding::Tuple(_) => Ok(()),
    }
}

fn rank(n: usize, shape: &Shape) -> Law {
    match shape.as_array() {
        Some(array) if array.rank() != n => {
            fault(format!("{} tile dimensions for {shape}", array.rank()), n.to_string())
        }
        _ => Ok(()),
    }
}

/// The devices of a mesh are as many as its axes have.
pub(super) fn mesh(mesh: &Mesh) -> Law {
    let sizes: Vec<i64> = mesh.axes.iter().map(|axis| axis.1).collect();
    match &mesh.devices {
        Some(order) if product(&sizes) != order.count() => {
            let found = order.count().map_or_else(|| "sizes that are not positive".into(), |n| n.to_string());
            fault(format!("devices for the axes {sizes:?} of the mesh"), found)
        }
        _ => Ok(()),
    }
}

fn devices(tiles: &Tiles) -> Law {
    if let Some(size) = tiles.dims.iter().find(|&&n| n < 1) {
        return fault("positive numbers of tiles", size.to_string());
    }
    if product(&tiles.dims) != tiles.devices.count() {
        let found = tiles.devices.count().map_or_else(|| "sizes that are not positive".into(), |n| n.to_string());
        return fault(format!("devices for tiles {:?}", tiles.dims), found);
    }
    let DeviceOrder::List(list) = &tiles.devices else { return Ok(()) };
    if let Some(device) = list.iter().find(|&&d| d < 0) {
        return fault("devices from 0 on", device.to_string());
    }
    let mut sorted = list.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|w| w[0] == w[1]) {
        Some(twice) => fault("each device once", format!("device {} twice", twice[0])),
        None => Ok(()),
    }
}
