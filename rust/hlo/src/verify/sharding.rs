//! Shardings: their ranks, and the numbers of their devices; meshes.
//!
//! [`mesh`] also checks the mesh of device groups, [`sizes`] the shardings of a domain.

use layout::Shape;

use super::aliasing::leaves;
use super::rule::{About, Law, Rule};
use crate::attribute::mesh::{product, DeviceOrder, Iota, Mesh, MeshAxis};
use crate::attribute::sharding::{Sharding, ShardingKind};
use crate::attribute::Value;
use crate::infer::Operation;

/// The rules on the sharding of an instruction.
pub(super) fn check(op: &Operation) -> Law {
    let (Some(Value::Sharding(sharding)), Some(shape)) = (op.value("sharding"), op.written) else { return Ok(()) };
    let leaves = leaves(shape);
    let law = Rule::Sharding.of("sharding");
    match (&sharding, shape) {
        (Sharding::Tuple(parts), Shape::Tuple(_)) => {
            let n = leaves.len();
            // A tuple without leaves has one sharding.
            let is_one_each = parts.len() == n.max(1) || (n == 0 && parts.is_empty());
            law.require(is_one_each, format_args!("{n} shardings, one per leaf of {shape}"), parts.len())?;
            leaves.into_iter().zip(parts).try_for_each(|(leaf, part)| one(part, leaf))
        }
        (Sharding::Tuple(parts), _) => {
            law.broken(format_args!("one sharding of {shape}"), format_args!("a tuple of {}", parts.len()))
        }
        (one_for_all, _) => leaves.into_iter().try_for_each(|leaf| one(one_for_all, leaf)),
    }
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
    let rank = shape.as_array().map_or(n, |array| array.rank());
    Rule::Sharding.of("sharding").require(rank == n, format_args!("{rank} tile dimensions for {shape}"), n)
}

/// The rules on a sharding that do not depend on the shape of the value.
pub(super) fn sizes(sharding: &Sharding, name: &'static str) -> Law {
    let law = Rule::Sharding.of(name);
    match sharding {
        Sharding::Tuple(parts) => parts.iter().try_for_each(|part| sizes(part, name)),
        Sharding::Named(named) => {
            let dims = named.dims.iter().map(|dim| &dim.0);
            let lists = dims.chain([&named.replicated, &named.unreduced, &named.manual]);
            mesh(&named.mesh, &lists.flatten().collect::<Vec<_>>(), law)
        }
        Sharding::Whole(whole) => match &whole.kind {
            ShardingKind::Maximal(device) => law.require(*device >= 0, "a device from 0 on", device),
            ShardingKind::Tiled(tiles) => devices(&tiles.dims, &tiles.devices, "tiles", law),
            _ => Ok(()),
        },
    }
}

/// The rules on a mesh and on its used axes: as many devices as positions, and parts of axes that divide the axes and
/// do not overlap.
pub(super) fn mesh(mesh: &Mesh, used: &[&MeshAxis], law: About) -> Law {
    if let Some(device) = mesh.single_device() {
        return law.require(device >= 0, "a device from 0 on", device);
    }
    let sizes: Vec<i64> = mesh.axes.iter().map(|axis| axis.1).collect();
    let plain = DeviceOrder::Iota(Iota { reshape: sizes.clone(), transpose: Vec::new() });
    let order = mesh.devices.as_ref().unwrap_or(&plain);
    devices(&sizes, order, "positions in the mesh", law)?;
    if let DeviceOrder::List(list) = order {
        law.none(list.iter().find(|&&d| d >= list.len() as i64), format_args!("devices below {}", list.len()))?;
    }
    let mut names: Vec<&str> = mesh.axes.iter().map(|axis| axis.0.as_str()).collect();
    names.sort_unstable();
    law.none(names.windows(2).find(|w| w[0] == w[1]).map(|w| w[0]), "each name of an axis once")?;
    let part = |a: &MeshAxis| a.part.unwrap_or((1, sizes[a.axis]));
    let mut used = used.to_vec();
    used.sort_by_key(|a| (a.axis, part(a)));
    let mut done = (usize::MAX, 1);
    for a in used {
        let (whole, (before, size)) = (sizes[a.axis], part(a));
        let n = before.checked_mul(size).filter(|n| before > 0 && size > 0 && whole % n == 0);
        let Some(n) = n else {
            return law.broken(format_args!("a part of an axis that divides its size {whole}"), mesh.axis_text(a));
        };
        let is_whole = a.part.is_some() && (size == 1 || size == whole);
        law.none(
            is_whole.then(|| mesh.axis_text(a)),
            "parts of axes with fewer devices than the axis and more than 1",
        )?;
        let overlaps = done.0 == a.axis && before < done.1;
        law.none(overlaps.then(|| mesh.axis_text(a)), "axes that do not overlap")?;
        done = (a.axis, n);
    }
    Ok(())
}

/// As many devices as the sizes have positions, each once.
fn devices(sizes: &[i64], order: &DeviceOrder, what: &str, law: About) -> Law {
    law.none(sizes.iter().find(|&&size| size < 1), "sizes from 1 on")?;
    let n = match order {
        DeviceOrder::List(list) => Some(list.len()),
        DeviceOrder::Iota(iota) => product(&iota.reshape),
    };
    if product(sizes) != n {
        let found = n.map_or_else(|| "an iota of no or too many devices".into(), |n| format!("{n} devices"));
        let sizes = sizes.iter().map(i64::to_string).collect::<Vec<_>>().join("x");
        return law.broken(format_args!("a device for each of the {sizes} {what}"), found);
    }
    let DeviceOrder::List(list) = order else { return Ok(()) };
    law.none(list.iter().find(|&&d| d < 0), "devices from 0 on")?;
    law.none(twice(&mut list.clone()), "each device once")
}

/// Sorts a list and returns the first duplicate device.
pub(super) fn twice(list: &mut [i64]) -> Option<String> {
    list.sort_unstable();
    list.windows(2).find(|w| w[0] == w[1]).map(|w| format!("device {} twice", w[0]))
}
