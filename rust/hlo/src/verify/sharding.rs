//! Shardings: their ranks, and the numbers of their devices; meshes.
//!
//! [`mesh`] also checks the mesh of device groups, [`sizes`] the shardings of a domain.

use layout::Shape;

use super::rule::{broken_by, Law, Rule};
use crate::attribute::mesh::{product, DeviceOrder, Iota, Mesh, MeshAxis};
use crate::attribute::sharding::{Sharding, ShardingKind};
use crate::attribute::Value;
use crate::infer::Operation;

/// The rules on the sharding of an instruction.
pub(super) fn check(op: &Operation) -> Law {
    let (Some(Value::Sharding(sharding)), Some(shape)) = (op.value("sharding"), op.written) else { return Ok(()) };
    let mut leaves = Vec::new();
    collect_leaves(shape, &mut leaves);
    match (&sharding, shape) {
        (Sharding::Tuple(parts), Shape::Tuple(_)) => {
            let n = leaves.len();
            // A tuple without leaves has one sharding.
            if parts.len() != n.max(1) && !(n == 0 && parts.is_empty()) {
                return fault(format!("{n} shardings, one per leaf of {shape}"), parts.len().to_string());
            }
            leaves.into_iter().zip(parts).try_for_each(|(leaf, part)| one(part, leaf))
        }
        (Sharding::Tuple(parts), _) => fault(format!("one sharding of {shape}"), format!("a tuple of {}", parts.len())),
        (one_for_all, _) => leaves.into_iter().try_for_each(|leaf| one(one_for_all, leaf)),
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
    sizes(sharding, "sharding")?;
    match sharding {
        Sharding::Whole(whole) => match &whole.kind {
            ShardingKind::Tiled(tiles) => {
                let n_subgroups = tiles.last_dims.len() + usize::from(tiles.replicate_last);
                let n = tiles.dims.len().saturating_sub(n_subgroups);
                // One tile is the whole value, whatever its rank.
                if n_subgroups == 0 || tiles.dims[..n].iter().any(|&d| d != 1) {
                    rank(n, shape)?;
                }
                Ok(())
            }
            _ => Ok(()),
        },
        // A mesh without dimensions stands for whole values.
        Sharding::Named(named) if named.dims.is_empty() => Ok(()),
        Sharding::Named(named) => rank(named.dims.len(), shape),
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

/// The rules on a sharding that do not depend on the shape of the value.
pub(super) fn sizes(sharding: &Sharding, name: &'static str) -> Law {
    let broken = match sharding {
        Sharding::Tuple(parts) => return parts.iter().try_for_each(|part| sizes(part, name)),
        Sharding::Named(named) => {
            let dims = named.dims.iter().map(|dim| &dim.0);
            let lists = dims.chain([&named.replicated, &named.unreduced, &named.manual]);
            mesh(&named.mesh, &lists.flatten().collect::<Vec<_>>())
        }
        Sharding::Whole(whole) => match &whole.kind {
            ShardingKind::Maximal(device) if *device < 0 => Err(("a device from 0 on".to_string(), device.to_string())),
            ShardingKind::Tiled(tiles) => devices(&tiles.dims, &tiles.devices, "tiles"),
            _ => Ok(()),
        },
    };
    broken.or_else(|(expected, found)| broken_by(name, Rule::Sharding, expected, found))
}

/// Descriptions of the expected and the found value.
type Broken = (String, String);

/// The rules on a mesh and the axes of it that are used: as many devices as positions, and parts of axes that divide
/// them and do not overlap.
pub(super) fn mesh(mesh: &Mesh, used: &[&MeshAxis]) -> Result<(), Broken> {
    if let Some(device) = mesh.single_device() {
        return match device < 0 {
            true => Err(("a device from 0 on".into(), device.to_string())),
            false => Ok(()),
        };
    }
    let sizes: Vec<i64> = mesh.axes.iter().map(|axis| axis.1).collect();
    let plain = DeviceOrder::Iota(Iota { reshape: sizes.clone(), transpose: Vec::new() });
    devices(&sizes, mesh.devices.as_ref().unwrap_or(&plain), "positions in the mesh")?;
    let part = |a: &MeshAxis| a.part.unwrap_or((1, sizes[a.axis]));
    let mut used = used.to_vec();
    used.sort_by_key(|a| (a.axis, part(a)));
    let mut done = (usize::MAX, 1);
    for a in used {
        let (whole, (before, size)) = (sizes[a.axis], part(a));
        match before.checked_mul(size) {
            Some(n) if before > 0 && size > 0 && whole % n == 0 => {
                if done.0 == a.axis && before < done.1 {
                    return Err(("axes that do not overlap".into(), mesh.axis_text(a)));
                }
                done = (a.axis, n);
            }
            _ => return Err((format!("a part of an axis that divides its size {whole}"), mesh.axis_text(a))),
        }
    }
    Ok(())
}

/// As many devices as the sizes have positions, each once.
fn devices(sizes: &[i64], order: &DeviceOrder, what: &str) -> Result<(), Broken> {
    if let Some(size) = sizes.iter().find(|&&size| size < 1) {
        return Err(("sizes from 1 on".into(), size.to_string()));
    }
    let n = match order {
        DeviceOrder::List(list) => Some(list.len()),
        DeviceOrder::Iota(iota) => product(&iota.reshape),
    };
    if product(sizes) != n {
        let found = n.map_or_else(|| "an iota of no or too many devices".into(), |n| format!("{n} devices"));
        return Err((format!("a device for each of the {} {what}", sizes_text(sizes)), found));
    }
    let DeviceOrder::List(list) = order else { return Ok(()) };
    if let Some(device) = list.iter().find(|&&d| d < 0) {
        return Err(("devices from 0 on".into(), device.to_string()));
    }
    let mut sorted = list.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|w| w[0] == w[1]) {
        Some(twice) => Err(("each device once".into(), format!("device {} twice", twice[0]))),
        None => Ok(()),
    }
}

/// `2x4`
fn sizes_text(sizes: &[i64]) -> String {
    sizes.iter().map(i64::to_string).collect::<Vec<_>>().join("x")
}
