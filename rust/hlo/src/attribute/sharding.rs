//! Shardings, the distribution of values over devices: `{replicated}`, `{devices=[2,2]<=[4]}`, `{mesh['x'=2],
//! [{'x'}]}`, and tuples of these.
//!
//! Read [`Sharding`]. Invariant: a sharding prints to text that parses to an equal sharding.

use std::borrow::Cow;
use std::fmt;

use crate::attribute::devices::read_iota;
use crate::attribute::mesh::{axes_text, bracketed, joined, read_axes, read_mesh, DeviceOrder, Mesh, MeshAxis};
use crate::attribute::window::whole;
use crate::cursor::{Cursor, Read};
use crate::model::metadata::fields;
use crate::Span;

/// The distribution of a value over devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sharding {
    /// `{{…}, {…}}`: one sharding per leaf of a tuple.
    Tuple(Vec<Sharding>),
    /// One sharding for the whole value.
    Whole(Whole),
    /// A sharding in terms of the axes of a mesh.
    Named(Named),
}

/// A sharding that applies to a whole value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Whole {
    /// The distribution.
    pub kind: ShardingKind,
    /// `shard_as 1`, `shard_like 1`: whether it is `shard_like`, and the id of the group.
    pub group: Option<(bool, i64)>,
    /// How partial results are combined, where devices have such.
    pub reduction: Reduction,
    /// Metadata, each item as text in braces; `None` if it is absent.
    pub metadata: Option<Vec<String>>,
}

/// How the partial results of devices are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their sum.
    #[default]
    Sum,
    /// Their maximum.
    Max,
    /// Their minimum.
    Min,
}

/// The kinds of distributions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ShardingKind {
    /// Every device has the whole value.
    Replicated,
    /// One device has the whole value.
    Maximal(i64),
    /// The program is already partitioned by hand.
    Manual,
    /// Not yet decided.
    Unknown,
    /// Each device has a partial result.
    Unreduced,
    /// The value is split into tiles.
    Tiled(Tiles),
}

/// `devices=[2,2,2]<=[8] last_tile_dims={manual}`: the tiles along each dimension and their devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tiles {
    /// The number of tiles along each dimension, then the sizes of subgroup dimensions, which the value does not have.
    pub dims: Vec<i64>,
    /// The device of each tile in row-major order.
    pub devices: DeviceOrder,
    /// `last_tile_dim_replicate`: devices along the last tile dimension have the same tile.
    pub replicate_last: bool,
    /// `last_tile_dims`: the kinds of the subgroup dimensions.
    pub last_dims: Vec<SubgroupKind>,
}

/// The kind of a subgroup dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubgroupKind {
    /// Devices along it have the same tile.
    Replicated,
    /// The program is partitioned by hand along it.
    Manual,
    /// Devices along it have partial results.
    Unreduced,
    /// Not yet decided.
    Unknown,
}

/// `{mesh['x'=2,'y'=2], [{'x'}, {?}], replicated={'y'}}`
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Named {
    /// The devices; a mesh without axes and with one device denotes that device.
    pub mesh: Mesh,
    /// By dimension: the axes it is sharded along, and whether further sharding is allowed (`?`).
    pub dims: Vec<(Vec<MeshAxis>, bool)>,
    /// Axes along which the value is replicated.
    pub replicated: Vec<MeshAxis>,
    /// Axes along which devices have partial results.
    pub unreduced: Vec<MeshAxis>,
    /// How these are combined.
    pub reduction: Reduction,
    /// Axes that the program partitions by hand.
    pub manual: Vec<MeshAxis>,
    /// Metadata, each item as text in braces; `None` if it is absent.
    pub metadata: Option<Vec<String>>,
}

impl Reduction {
    /// The numbers of the proto are the indices.
    pub(crate) const ALL: [(Reduction, &'static str); 3] =
        [(Reduction::Sum, "sum"), (Reduction::Max, "max"), (Reduction::Min, "min")];

    /// The word in text.
    pub fn name(self) -> &'static str {
        Reduction::ALL.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// `=max`, if it is next.
    fn read(c: &mut Cursor<'_>) -> Read<Reduction> {
        if !c.accept(b'=') {
            return Ok(Reduction::Sum);
        }
        c.space();
        let at = *c;
        let word = c.word();
        match Reduction::ALL.iter().find(|row| row.1 == word) {
            Some(row) => Ok(row.0),
            None => Err(at.expected("sum, max or min")),
        }
    }
}

impl Whole {
    /// A distribution with its metadata. Without names of axes the reduction travels as an item of the metadata.
    pub(crate) fn new(kind: ShardingKind, group: Option<(bool, i64)>, metadata: Option<Vec<String>>) -> Whole {
        let mut whole = Whole { kind, group, reduction: Reduction::Sum, metadata };
        let items = whole.metadata.as_deref().unwrap_or_default();
        if let Some(reduction) = items.last().and_then(|item| reduction_of(item)).filter(|_| whole.is_unreduced()) {
            // XLA adds one each time that it reads text.
            let n = items.iter().rposition(|item| reduction_of(item).is_none()).map_or(0, |k| k + 1);
            whole.reduction = reduction;
            whole.metadata = whole.metadata.map(|mut all| {
                all.truncate(n);
                all
            });
        }
        whole.metadata = whole.metadata.filter(|all| !all.is_empty());
        whole
    }

    /// Whether devices have partial results.
    fn is_unreduced(&self) -> bool {
        match &self.kind {
            ShardingKind::Unreduced => true,
            ShardingKind::Tiled(tiles) => tiles.last_dims.contains(&SubgroupKind::Unreduced),
            _ => false,
        }
    }

    /// The metadata with the item for the reduction.
    pub(crate) fn written_metadata(&self) -> Vec<Cow<'_, str>> {
        let own = self.metadata.iter().flatten().map(|item| Cow::Borrowed(item.as_str()));
        let name = self.reduction.name().to_ascii_uppercase();
        let item = Cow::Owned(format!("{{op_type=\"{REDUCTION_OP}\" op_name=\"{name}\"}}"));
        own.chain(self.is_unreduced().then_some(item)).collect()
    }
}

/// The type of the item of metadata that holds a reduction.
const REDUCTION_OP: &str = "sdy::reduction_op";

/// The reduction in an item of metadata.
fn reduction_of(item: &str) -> Option<Reduction> {
    let all = fields(item, Span::new(0, item.len()));
    let value = |name: &str| all.iter().find(|field| field.0 == name).map(|field| field.1.as_ref());
    let name = value("op_name").filter(|_| value("op_type") == Some(REDUCTION_OP))?;
    Reduction::ALL.iter().find(|row| row.1.eq_ignore_ascii_case(name)).map(|row| row.0)
}

impl SubgroupKind {
    pub(crate) const ALL: [(SubgroupKind, &'static str); 4] = [
        (SubgroupKind::Replicated, "replicated"),
        (SubgroupKind::Manual, "manual"),
        (SubgroupKind::Unknown, "unknown"),
        (SubgroupKind::Unreduced, "unreduced"),
    ];

    /// The word in text.
    pub fn name(self) -> &'static str {
        SubgroupKind::ALL.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }
}

impl ShardingKind {
    /// The word in text; `tiled` for `devices=`.
    pub fn name(&self) -> &'static str {
        match self {
            ShardingKind::Replicated => "replicated",
            ShardingKind::Maximal(_) => "maximal",
            ShardingKind::Manual => "manual",
            ShardingKind::Unknown => "unknown",
            ShardingKind::Unreduced => "unreduced",
            ShardingKind::Tiled(_) => "tiled",
        }
    }
}

/// Parses a sharding from a whole text.
pub fn parse_sharding(text: &str) -> Option<Sharding> {
    whole(text, read)
}

/// Parses a sharding, including its braces.
pub(crate) fn read(c: &mut Cursor<'_>) -> Read<Sharding> {
    c.space();
    let mut inside = *c;
    inside.expect(b'{', "`{` of a sharding")?;
    inside.space();
    if !matches!(inside.peek(), Some(b'{' | b'}')) {
        return one(c);
    }
    *c = inside;
    let mut parts = Vec::new();
    if c.accept(b'}') {
        return Ok(Sharding::Tuple(parts));
    }
    loop {
        parts.push(one(c)?);
        if !c.accept_after_space(b',') {
            break;
        }
    }
    c.expect(b'}', "`,` or `}` of a tuple of shardings")?;
    Ok(Sharding::Tuple(parts))
}

fn one(c: &mut Cursor<'_>) -> Read<Sharding> {
    c.expect(b'{', "`{` of a sharding")?;
    c.space();
    let mut ahead = *c;
    match ahead.word() {
        "mesh" => return named(c).map(Sharding::Named),
        "maximal_mesh" | "single_device" => {
            *c = ahead;
            c.expect(b'[', "`[`")?;
            c.space();
            if !c.accept_word("device_id") {
                return Err(c.expected("`device_id`"));
            }
            c.expect(b'=', "`=`")?;
            let devices = Some(DeviceOrder::List(vec![c.int()?]));
            c.expect(b']', "`]`")?;
            c.expect(b'}', "`}` of a sharding")?;
            return Ok(Sharding::Named(empty_named(Mesh { axes: Vec::new(), devices })));
        }
        _ => {}
    }
    let (mut kind, mut device, mut tiles, mut reduction) = (None, None, None, Reduction::Sum);
    let (mut replicate_last, mut last_dims, mut group, mut metadata) = (false, Vec::new(), None, None);
    loop {
        c.space();
        if c.accept(b'}') {
            break;
        }
        let at = *c;
        match c.word() {
            "replicated" => kind = kind.or(Some(ShardingKind::Replicated)),
            "manual" => kind = kind.or(Some(ShardingKind::Manual)),
            "unknown" => kind = kind.or(Some(ShardingKind::Unknown)),
            "unreduced" => {
                kind = kind.or(Some(ShardingKind::Unreduced));
                reduction = Reduction::read(c)?;
            }
            "maximal" => kind = kind.or(Some(ShardingKind::Maximal(0))),
            "device" => {
                c.expect(b'=', "`=`")?;
                device = Some(c.int()?);
            }
            "devices" => {
                c.expect(b'=', "`=`")?;
                let dims = bracketed(c, b'[', b']')?;
                c.space();
                let devices = if c.rest().starts_with(b"<=") {
                    DeviceOrder::Iota(read_iota(c)?)
                } else {
                    let mut list = vec![c.int()?];
                    while c.accept_after_space(b',') {
                        list.push(c.int()?);
                    }
                    DeviceOrder::List(list)
                };
                tiles = Some((dims, devices));
            }
            "last_tile_dim_replicate" => replicate_last = true,
            "last_tile_dims" => {
                c.expect(b'=', "`=`")?;
                last_dims = subgroups(c)?;
            }
            word @ ("shard_as" | "shard_like") => group = Some((word == "shard_like", c.int()?)),
            "metadata" => metadata = Some(read_metadata(c)?),
            _ => {
                return Err(at.expected(
                    "replicated, maximal, manual, unknown, unreduced, device, devices, last_tile_dim_replicate, \
                     last_tile_dims, shard_as, shard_like, metadata or `}`",
                ))
            }
        }
    }
    let kind = match (kind, tiles) {
        (Some(ShardingKind::Maximal(_)), _) => match device {
            Some(device) => ShardingKind::Maximal(device),
            None => return Err(c.expected("the device of a maximal sharding")),
        },
        (Some(kind), _) => kind,
        (None, Some((dims, devices))) => ShardingKind::Tiled(Tiles { dims, devices, replicate_last, last_dims }),
        (None, None) => return Err(c.expected("the kind of the sharding")),
    };
    let mut whole = Whole::new(kind, group, metadata);
    if reduction != Reduction::Sum {
        whole.reduction = reduction;
    }
    Ok(Sharding::Whole(whole))
}

fn subgroups(c: &mut Cursor<'_>) -> Read<Vec<SubgroupKind>> {
    let mut all = Vec::new();
    c.expect(b'{', "`{`")?;
    while !c.accept_after_space(b'}') {
        c.space();
        let at = *c;
        let word = c.word();
        match SubgroupKind::ALL.iter().find(|row| row.1 == word) {
            Some(row) => all.push(row.0),
            None => return Err(at.expected("replicated, manual, unreduced or unknown")),
        }
        c.accept_after_space(b',');
    }
    Ok(all)
}

/// Parses `={op_name="x"}`, or a list of such items in braces.
fn read_metadata(c: &mut Cursor<'_>) -> Read<Vec<String>> {
    c.expect(b'=', "`=`")?;
    c.space();
    let mut inside = *c;
    inside.expect(b'{', "`{`")?;
    inside.space();
    let one = |c: &mut Cursor<'_>| {
        c.space();
        let start = c.pos;
        c.braced().map(|()| c.text[start..c.pos].to_string())
    };
    if inside.peek() != Some(b'{') {
        return Ok(vec![one(c)?]);
    }
    *c = inside;
    let mut all = vec![one(c)?];
    while c.accept_after_space(b',') {
        all.push(one(c)?);
    }
    c.expect(b'}', "`,` or `}`")?;
    Ok(all)
}

pub(crate) fn empty_named(mesh: Mesh) -> Named {
    let (dims, replicated, unreduced, manual) = Default::default();
    Named { mesh, dims, replicated, unreduced, reduction: Reduction::Sum, manual, metadata: None }
}

fn named(c: &mut Cursor<'_>) -> Read<Named> {
    let mut n = empty_named(read_mesh(c)?);
    loop {
        c.accept_after_space(b',');
        c.space();
        if c.accept(b'}') {
            return Ok(n);
        }
        if c.peek() == Some(b'[') {
            c.pos += 1;
            if !c.accept_after_space(b']') {
                loop {
                    let mut is_open = false;
                    let axes = read_axes(c, &n.mesh, |c| {
                        let found = c.accept(b'?');
                        is_open |= found;
                        found
                    })?;
                    n.dims.push((axes, is_open));
                    if !c.accept_after_space(b',') {
                        break;
                    }
                }
                c.expect(b']', "`,` or `]`")?;
            }
            continue;
        }
        let at = *c;
        let word = c.word();
        match word {
            "metadata" => {
                n.metadata = Some(read_metadata(c)?);
                continue;
            }
            "replicated" if c.peek() != Some(b'=') => continue,
            "replicated" | "manual" => {}
            // `=max{…}`, `=max`, `={…}` or nothing.
            "unreduced" => {
                let mut ahead = *c;
                if !(ahead.accept(b'=') && ahead.accept_after_space(b'{')) {
                    n.reduction = Reduction::read(c)?;
                }
            }
            _ => return Err(at.expected("`[`, replicated, unreduced, manual, metadata or `}`")),
        }
        c.accept(b'=');
        c.space();
        // Without axes all of them are meant.
        let axes = match c.peek() {
            Some(b'{') => read_axes(c, &n.mesh, |_| false)?,
            _ => (0..n.mesh.axes.len()).map(|axis| MeshAxis { axis, part: None }).collect(),
        };
        match word {
            "replicated" => n.replicated = axes,
            "unreduced" => n.unreduced = axes,
            _ => n.manual = axes,
        }
    }
}

impl fmt::Display for Sharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sharding::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(Sharding::to_string).collect();
                write!(f, "{{{}}}", parts.join(", "))
            }
            Sharding::Whole(whole) => write!(f, "{{{whole}}}"),
            Sharding::Named(named) => write!(f, "{{{named}}}"),
        }
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ShardingKind::Maximal(device) => write!(f, "maximal device={device}")?,
            ShardingKind::Tiled(tiles) => write!(f, "{tiles}")?,
            kind => f.write_str(kind.name())?,
        }
        if let Some((is_alike, id)) = self.group {
            write!(f, " {} {id}", if is_alike { "shard_like" } else { "shard_as" })?;
        }
        match &self.written_metadata()[..] {
            [] => Ok(()),
            [one] => write!(f, " metadata={one}"),
            all => write!(f, " metadata={{{}}}", all.join(", ")),
        }
    }
}

impl fmt::Display for Tiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "devices=[{}]", joined(&self.dims))?;
        match &self.devices {
            DeviceOrder::List(list) => f.write_str(&joined(list))?,
            DeviceOrder::Iota(iota) => write!(f, "<={iota}")?,
        }
        if self.replicate_last {
            f.write_str(" last_tile_dim_replicate")?;
        }
        if !self.last_dims.is_empty() {
            let words: Vec<&str> = self.last_dims.iter().map(|d| d.name()).collect();
            write!(f, " last_tile_dims={{{}}}", words.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (true, Some(DeviceOrder::List(list))) = (self.mesh.axes.is_empty(), &self.mesh.devices) {
            if let [device] = list[..] {
                return write!(f, "maximal_mesh[device_id={device}]");
            }
        }
        write!(f, "{}, ", self.mesh)?;
        let unreduced = match self.reduction {
            Reduction::Sum => "unreduced".to_string(),
            other => format!("unreduced={}", other.name()),
        };
        let lists = [("replicated", &self.replicated), (unreduced.as_str(), &self.unreduced), ("manual", &self.manual)];
        let is_empty = |list: &[MeshAxis]| list.is_empty();
        let others = |k: usize| (0..3).all(|other| other == k || is_empty(lists[other].1));
        if self.dims.is_empty() && lists.iter().all(|l| l.1.is_empty()) {
            f.write_str("replicated")?;
        } else if let Some(k) = (0..3).find(|&k| self.dims.is_empty() && others(k) && self.is_whole(lists[k].1)) {
            f.write_str(lists[k].0)?;
            return self.write_metadata(f);
        } else {
            let dims = self.dims.iter().map(|(axes, is_open)| {
                let open = if *is_open { Some("?".to_string()) } else { None };
                let axes: Vec<String> = axes.iter().map(|a| self.mesh.axis_text(a)).chain(open).collect();
                format!("{{{}}}", axes.join(", "))
            });
            write!(f, "[{}]", dims.collect::<Vec<_>>().join(", "))?;
        }
        for (word, axes) in lists.iter().filter(|l| !l.1.is_empty()) {
            let equals = if word.contains('=') { "" } else { "=" };
            write!(f, ", {word}{equals}{{{}}}", axes_text(&self.mesh, axes))?;
        }
        self.write_metadata(f)
    }
}

impl Named {
    /// Whether a list has all axes of the mesh but those of size 1.
    fn is_whole(&self, list: &[MeshAxis]) -> bool {
        let has = |k: usize| list.iter().any(|a| a.axis == k && a.part.is_none());
        !list.is_empty() && self.mesh.axes.iter().enumerate().all(|(k, axis)| axis.1 == 1 || has(k))
    }

    fn write_metadata(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.metadata {
            Some(all) => write!(f, ", metadata={{{}}}", all.join(", ")),
            None => Ok(()),
        }
    }
}
