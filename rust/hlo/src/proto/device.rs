//! Shardings, meshes and device groups, in both directions.
//!
//! [`sharding`] and [`write_sharding`] convert between messages and values.

use layout::MAX_DEPTH;

use super::metadata::{self, metadata_text};
use super::payload::Payloads;
use crate::attribute::devices::DeviceGroups;
use crate::attribute::mesh::{DeviceOrder, Iota, Mesh, MeshAxis};
use crate::attribute::sharding::{Named, Reduction, Sharding, ShardingKind, Tiles, Uniform, Whole};
use crate::wire::{bad, Encoder, Message, Wire};

/// An `OpSharding`.
pub(crate) fn sharding<'a>(m: Message<'a>, payloads: &Payloads<'a>, depth: usize) -> Wire<Sharding> {
    if depth > MAX_DEPTH {
        return bad(m.at, format!("shardings nested deeper than {MAX_DEPTH} levels"));
    }
    if let Some(m) = m.sub(14)? {
        return named(m, payloads).map(Sharding::Named);
    }
    let kind = match m.int(1) {
        2 => {
            return m.subs(5).map(|part| sharding(part?, payloads, depth + 1)).collect::<Wire<_>>().map(Sharding::Tuple)
        }
        1 => ShardingKind::Maximal(m.ints(4)?.first().copied().unwrap_or(0)),
        3 => ShardingKind::Tiled(tiles(m)?),
        n => ShardingKind::Uniform(uniform(m, n, "")?),
    };
    let group = (m.int(11) != 0).then(|| (m.int(13) == 1, m.int(12)));
    Ok(Sharding::Whole(Whole::new(kind, group, all_metadata(m, 7, payloads)?)))
}

fn uniform(m: Message<'_>, number: i64, of: &str) -> Wire<Uniform> {
    Uniform::from_number(number).map_or_else(|| bad(m.at, format!("sharding type {number}{of}")), Ok)
}

fn all_metadata<'a>(m: Message<'a>, number: u32, payloads: &Payloads<'a>) -> Wire<Option<Vec<String>>> {
    let all = m.subs(number).map(|m| metadata_text(m?, payloads)).collect::<Wire<Vec<_>>>()?;
    Ok((!all.is_empty()).then_some(all))
}

/// Fields of a tiled `OpSharding`.
fn tiles(m: Message<'_>) -> Wire<Tiles> {
    let devices = match m.ints(9)?.is_empty() {
        true => DeviceOrder::List(m.ints(4)?),
        false => DeviceOrder::Iota(iota(m, 9)?),
    };
    let last_dims = m.ints(8)?.into_iter().map(|n| uniform(m, n, " of a dimension"));
    Ok(Tiles { dims: m.ints(3)?, devices, replicate_last: m.int(6) != 0, last_dims: last_dims.collect::<Wire<_>>()? })
}

/// An iota in two fields, of which this is the first.
fn iota(m: Message<'_>, number: u32) -> Wire<Iota> {
    Ok(Iota::new(m.ints(number)?, m.ints(number + 1)?))
}

fn write_iota(iota: &Iota, number: u32, d: &mut Encoder) {
    d.ints(number, &iota.reshape);
    d.ints(number + 1, &iota.permutation());
}

fn mesh(m: Message<'_>) -> Wire<Mesh> {
    let axis = |a: Message<'_>| match a.text(1)? {
        // The text around a name may be skipped by its brackets.
        name if name.contains(['{', '}', '[', ']', '(', ')', '"']) => {
            bad(a.at, format!("axis name {name:?} of a mesh"))
        }
        name => Ok((name.to_string(), a.int(2))),
    };
    let axes = m.subs(1).map(|a| axis(a?)).collect::<Wire<_>>()?;
    let list = m.ints(2)?;
    let devices = match m.sub(3)? {
        Some(m) => Some(DeviceOrder::Iota(iota(m, 1)?)),
        None => (!list.is_empty()).then_some(DeviceOrder::List(list)),
    };
    Ok(Mesh::new(axes, devices))
}

fn axes(m: Message<'_>, number: u32, mesh: &Mesh) -> Wire<Vec<MeshAxis>> {
    m.subs(number)
        .map(|axis| {
            let a = axis?;
            let Some(axis) = usize::try_from(a.int(1)).ok().filter(|&k| k < mesh.axes.len()) else {
                return bad(a.at, format!("axis {} of a mesh of {}", a.int(1), mesh.axes.len()));
            };
            Ok(MeshAxis { axis, part: a.sub(2)?.map(|part| (part.int(1), part.int(2))) })
        })
        .collect()
}

/// A `NamedShardingProto`.
fn named<'a>(m: Message<'a>, payloads: &Payloads<'a>) -> Wire<Named> {
    let Some(inner) = m.sub(2)? else { return bad(m.at, "a named sharding without a mesh") };
    let mut n = Named { mesh: mesh(inner)?, ..Named::default() };
    // A closed dimension must not be sharded further.
    n.dims = m.subs(3).map(|d| d.and_then(|d| Ok((axes(d, 1, &n.mesh)?, d.int(2) == 0)))).collect::<Wire<_>>()?;
    n.replicated = axes(m, 4, &n.mesh)?;
    n.unreduced = axes(m, 5, &n.mesh)?;
    n.manual = axes(m, 7, &n.mesh)?;
    n.metadata = all_metadata(m, 6, payloads)?;
    match usize::try_from(m.int(8)).ok().and_then(|number| Reduction::ALL.get(number)) {
        Some(&reduction) if !n.unreduced.is_empty() => n.reduction = reduction,
        Some(_) => {}
        None => return bad(m.at, format!("reduction {} of a sharding", m.int(8))),
    }
    Ok(n)
}

/// A sharding as an `OpSharding`; `None` if the message cannot represent it.
pub(crate) fn write_sharding(s: &Sharding) -> Option<Encoder> {
    let mut d = Encoder::default();
    match s {
        Sharding::Tuple(parts) => {
            d.int(1, 2);
            for part in parts {
                d.message(5, &write_sharding(part)?);
            }
        }
        Sharding::Named(n) => d.message(14, &write_named(n)?),
        Sharding::Whole(whole) => {
            match &whole.kind {
                ShardingKind::Uniform(kind) => d.int_unless_zero(1, kind.number()),
                ShardingKind::Maximal(device) => {
                    d.int(1, 1);
                    d.ints(4, &[*device]);
                }
                ShardingKind::Tiled(tiles) => write_tiles(tiles, &mut d),
            }
            if let Some((is_alike, id)) = whole.group {
                d.int(11, 1);
                d.int_unless_zero(12, id);
                d.int_unless_zero(13, i64::from(is_alike));
            }
            write_metadata(&mut d, 7, whole.metadata.as_deref())?;
            if whole.kind.is_unreduced() {
                write_metadata(&mut d, 7, Some(&[whole.reduction.item()]))?;
            }
        }
    }
    Some(d)
}

fn write_tiles(t: &Tiles, d: &mut Encoder) {
    d.int(1, 3);
    d.ints(3, &t.dims);
    match &t.devices {
        DeviceOrder::List(list) => d.ints(4, list),
        DeviceOrder::Iota(iota) => write_iota(iota, 9, d),
    }
    d.int_unless_zero(6, i64::from(t.replicate_last));
    d.each_int(8, t.last_dims.iter().map(|kind| kind.number()));
}

fn write_mesh(mesh: &Mesh, d: &mut Encoder) {
    for (name, size) in &mesh.axes {
        d.nested(1, |d| {
            d.data(1, name.as_bytes());
            d.int_unless_zero(2, *size);
        });
    }
    match &mesh.devices {
        None => {}
        Some(DeviceOrder::List(list)) => d.ints(2, list),
        Some(DeviceOrder::Iota(iota)) => d.nested(3, |d| write_iota(iota, 1, d)),
    }
}

fn write_axes(d: &mut Encoder, number: u32, axes: &[MeshAxis]) {
    for a in axes {
        d.nested(number, |d| {
            d.int_unless_zero(1, a.axis as i64);
            if let Some((before, size)) = a.part {
                d.row(2, &[before, size]);
            }
        });
    }
}

fn write_named(n: &Named) -> Option<Encoder> {
    let mut d = Encoder::default();
    d.nested(2, |d| write_mesh(&n.mesh, d));
    for (axes, is_open) in &n.dims {
        d.nested(3, |d| {
            write_axes(d, 1, axes);
            d.int_unless_zero(2, i64::from(!is_open));
        });
    }
    write_axes(&mut d, 4, &n.replicated);
    write_axes(&mut d, 5, &n.unreduced);
    write_axes(&mut d, 7, &n.manual);
    write_metadata(&mut d, 6, n.metadata.as_deref())?;
    d.int_unless_zero(8, n.reduction as i64);
    Some(d)
}

fn write_metadata(d: &mut Encoder, number: u32, all: Option<&[String]>) -> Option<()> {
    for text in all.unwrap_or_default() {
        d.nested(number, |d| metadata::write(text, None, d))?;
    }
    Some(())
}

/// `replica_groups`, from whichever of its four fields is present.
pub(crate) fn groups(r: Message<'_>) -> Wire<Option<DeviceGroups>> {
    if let Some(m) = r.sub(93)? {
        let Some(inner) = m.sub(1)? else { return bad(m.at, "device groups without a mesh") };
        let mesh = mesh(inner)?;
        let axes = axes(m, 2, &mesh)?;
        return Ok(Some(DeviceGroups::Mesh { mesh, axes }));
    }
    if let Some(m) = r.sub(92)? {
        return Ok(Some(DeviceGroups::Iota { groups: vec![m.int(1), m.int(2)], iota: iota(m, 3)? }));
    }
    let (m, number) = match r.sub(87)? {
        Some(m) => (m, 1),
        None => (r, 49),
    };
    let groups = m.subs(number).map(|g| g?.ints(1)).collect::<Wire<Vec<_>>>()?;
    Ok((!groups.is_empty() || number == 1).then_some(DeviceGroups::Lists(groups)))
}

pub(crate) fn write_groups(groups: &DeviceGroups, d: &mut Encoder) -> Option<()> {
    match groups {
        DeviceGroups::Lists(groups) => {
            d.nested(87, |d| groups.iter().for_each(|group| d.nested(1, |d| d.ints(1, group))));
        }
        DeviceGroups::Iota { groups, iota } => {
            let [n, size] = groups[..] else { return None };
            d.nested(92, |d| {
                d.int(1, n);
                d.int(2, size);
                write_iota(iota, 3, d);
            });
        }
        DeviceGroups::Mesh { mesh, axes } => d.nested(93, |d| {
            d.nested(1, |d| write_mesh(mesh, d));
            write_axes(d, 2, axes);
        }),
    }
    Some(())
}
