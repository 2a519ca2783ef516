//! Shardings, the distribution of values over devices: `{replicated}`, `{devices=[2,2]<=[4]}`, `{mesh['x'=2],
//! [{'x'}]}`, and tuples of these.
//!
//! A sharding prints to text that parses to an equal sharding.

use std::fmt;

use crate::attribute::fields::values;
use crate::attribute::list;
use crate::attribute::mesh::{bracketed, joined, read_axes, read_iota, read_list, read_mesh};
use crate::attribute::mesh::{DeviceOrder, Mesh, MeshAxis, MESH_WORDS};
use crate::attribute::window::whole;
use crate::cursor::{Cursor, Read};
use crate::error::Span;

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
    /// How partial results are combined; the sum if there are none.
    pub reduction: Reduction,
    /// `shard_as 1`, `shard_like 1`: whether it is `shard_like`, and the id of the group.
    pub group: Option<(bool, i64)>,
    /// Metadata, each item as text in braces; `None` if it is absent.
    pub metadata: Option<Vec<String>>,
}

/// The kinds of distributions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ShardingKind {
    /// The devices are all alike.
    Uniform(Uniform),
    /// One device has the whole value.
    Maximal(i64),
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
    pub last_dims: Vec<Uniform>,
}

/// The content of devices that are all alike: of all devices of a value, or those along a subgroup dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uniform {
    /// Each has the whole value, or the same tile.
    Replicated,
    /// The program is partitioned by hand.
    Manual,
    /// Each has a partial result.
    Unreduced,
    /// Not yet decided.
    Unknown,
}

/// `{mesh['x'=2,'y'=2], [{'x'}, {?}], replicated={'y'}}`
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Named {
    /// The devices; a mesh without axes denotes every device, or the one that it lists.
    pub mesh: Mesh,
    /// By dimension: the axes it is sharded along, and whether further sharding is allowed (`?`).
    pub dims: Vec<(Vec<MeshAxis>, bool)>,
    /// Axes along which the value is replicated.
    pub replicated: Vec<MeshAxis>,
    /// Axes along which devices have partial results.
    pub unreduced: Vec<MeshAxis>,
    /// How partial results are combined; the sum if there are none.
    pub reduction: Reduction,
    /// Axes that the program partitions by hand.
    pub manual: Vec<MeshAxis>,
    /// Metadata, each item as text in braces; `None` if it is absent.
    pub metadata: Option<Vec<String>>,
}

/// How the partial results of an unreduced value are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The value is their sum.
    #[default]
    Sum,
    /// The value is the largest of them.
    Max,
    /// The value is the smallest of them.
    Min,
}

impl Reduction {
    /// In the order of their numbers in protos.
    pub(crate) const ALL: [Reduction; 3] = [Reduction::Sum, Reduction::Max, Reduction::Min];

    /// The word in text.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Max => "max",
            Reduction::Min => "min",
        }
    }

    fn from_name(word: &str) -> Option<Reduction> {
        Reduction::ALL.into_iter().find(|reduction| reduction.name() == word)
    }

    /// The item of metadata that carries the reduction in a sharding without a mesh.
    pub(crate) fn item(self) -> String {
        format!("{{op_type=\"{REDUCTION_TYPE}\" op_name=\"{}\"}}", self.name().to_ascii_uppercase())
    }

    fn of_item(item: &str) -> Option<Reduction> {
        let all = values(item, Span::new(0, item.len()));
        let value = |name: &str| all.iter().find(|field| field.0 == name).map(|field| field.1.as_ref());
        (value("op_type") == Some(REDUCTION_TYPE)).then_some(())?;
        Reduction::from_name(&value("op_name")?.to_ascii_lowercase())
    }
}

const REDUCTION_TYPE: &str = "sdy::reduction_op";

impl Sharding {
    /// How partial results are combined; `None` if no device has any.
    pub fn reduction(&self) -> Option<Reduction> {
        match self {
            Sharding::Tuple(_) => None,
            Sharding::Whole(whole) => whole.kind.is_unreduced().then_some(whole.reduction),
            Sharding::Named(named) => (!named.unreduced.is_empty()).then_some(named.reduction),
        }
    }
}

impl Whole {
    /// A sharding with the reduction that its metadata carries.
    pub(crate) fn new(kind: ShardingKind, group: Option<(bool, i64)>, metadata: Option<Vec<String>>) -> Whole {
        let mut whole = Whole { kind, reduction: Reduction::Sum, group, metadata };
        // XLA repeats the item in text. Elsewhere the item has no meaning.
        while let Some(reduction) = whole.metadata.as_ref().and_then(|all| Reduction::of_item(all.last()?)) {
            if !whole.kind.is_unreduced() {
                break;
            }
            whole.reduction = reduction;
            whole.metadata = whole.metadata.and_then(|mut all| all.pop().filter(|_| !all.is_empty()).map(|_| all));
        }
        whole
    }
}

impl Uniform {
    /// Each with its word in text and its number in protos.
    const ALL: [(Uniform, &'static str, i64); 4] = [
        (Uniform::Replicated, "replicated", 0),
        (Uniform::Manual, "manual", 4),
        (Uniform::Unknown, "unknown", 5),
        (Uniform::Unreduced, "unreduced", 6),
    ];

    /// The word in text.
    pub fn name(self) -> &'static str {
        Uniform::ALL.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    pub(crate) fn number(self) -> i64 {
        Uniform::ALL.iter().find(|row| row.0 == self).map_or(0, |row| row.2)
    }

    fn from_name(word: &str) -> Option<Uniform> {
        Uniform::ALL.iter().find(|row| row.1 == word).map(|row| row.0)
    }

    pub(crate) fn from_number(number: i64) -> Option<Uniform> {
        Uniform::ALL.iter().find(|row| row.2 == number).map(|row| row.0)
    }
}

impl ShardingKind {
    pub(crate) fn is_unreduced(&self) -> bool {
        match self {
            ShardingKind::Uniform(kind) => *kind == Uniform::Unreduced,
            ShardingKind::Maximal(_) => false,
            ShardingKind::Tiled(tiles) => tiles.last_dims.contains(&Uniform::Unreduced),
        }
    }

    /// The word in text; `tiled` for `devices=`.
    pub fn name(&self) -> &'static str {
        match self {
            ShardingKind::Uniform(kind) => kind.name(),
            ShardingKind::Maximal(_) => "maximal",
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
    c.list(*b"{}", ["`{`", "`,` or `}` of a tuple of shardings"], one).map(Sharding::Tuple)
}

fn one(c: &mut Cursor<'_>) -> Read<Sharding> {
    c.expect(b'{', "`{` of a sharding")?;
    c.space();
    let mut ahead = *c;
    if MESH_WORDS.contains(&ahead.word()) {
        return named(c).map(Sharding::Named);
    }
    let mut reduction = None;
    let (mut kind, mut device, mut tiles) = (None, None, None);
    let (mut replicate_last, mut last_dims, mut group, mut metadata) = (false, Vec::new(), None, None);
    while !c.accept_after_space(b'}') {
        let at = *c;
        let word = c.word();
        if let Some(uniform) = Uniform::from_name(word) {
            kind = kind.or(Some(ShardingKind::Uniform(uniform)));
            if uniform == Uniform::Unreduced && c.accept_after_space(b'=') {
                reduction = Some(read_reduction(c)?);
            }
            continue;
        }
        match word {
            "maximal" => kind = kind.or(Some(ShardingKind::Maximal(0))),
            "device" => {
                c.expect(b'=', "`=`")?;
                device = Some(c.int()?);
            }
            "devices" => {
                c.expect(b'=', "`=`")?;
                let dims = bracketed(c, b'[', b']')?;
                c.space();
                let devices = if c.accept_pair(*b"<=") {
                    DeviceOrder::Iota(read_iota(c)?)
                } else {
                    DeviceOrder::List(read_list(c)?)
                };
                tiles = Some((dims, devices));
            }
            "last_tile_dim_replicate" => replicate_last = true,
            "last_tile_dims" => {
                c.expect(b'=', "`=`")?;
                last_dims = subgroups(c)?;
            }
            "shard_as" | "shard_like" => group = Some((word == "shard_like", c.int()?)),
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
    let whole = Whole::new(kind, group, metadata);
    Ok(Sharding::Whole(Whole { reduction: reduction.unwrap_or(whole.reduction), ..whole }))
}

fn read_reduction(c: &mut Cursor<'_>) -> Read<Reduction> {
    c.space();
    let at = *c;
    Reduction::from_name(c.word()).ok_or_else(|| at.expected("sum, max or min"))
}

fn subgroups(c: &mut Cursor<'_>) -> Read<Vec<Uniform>> {
    let mut all = Vec::new();
    c.expect(b'{', "`{`")?;
    while !c.accept_after_space(b'}') {
        let at = *c;
        let kind = Uniform::from_name(c.word());
        all.push(kind.ok_or_else(|| at.expected("replicated, manual, unreduced or unknown"))?);
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
    list(c, one)
}

fn named(c: &mut Cursor<'_>) -> Read<Named> {
    let mut n = Named { mesh: read_mesh(c)?, ..Named::default() };
    loop {
        c.accept_after_space(b',');
        if c.accept_after_space(b'}') {
            return Ok(n);
        }
        if c.peek() == Some(b'[') {
            c.items(*b"[]", ["`[`", "`,` or `]`"], |c| {
                let mut is_open = false;
                let axes = read_axes(c, &n.mesh, |c| {
                    let found = c.accept(b'?');
                    is_open |= found;
                    found
                })?;
                n.dims.push((axes, is_open));
                Ok(())
            })?;
            continue;
        }
        let at = *c;
        let word = c.word();
        if word == "metadata" {
            n.metadata = Some(read_metadata(c)?);
            continue;
        }
        if !matches!(word, "replicated" | "unreduced" | "manual") {
            return Err(at.expected("`[`, replicated, unreduced, manual, metadata or `}`"));
        }
        let has_value = c.accept_after_space(b'=');
        c.space();
        if word == "unreduced" && has_value && c.peek() != Some(b'{') {
            n.reduction = read_reduction(c)?;
            c.space();
        }
        // Without axes and dimensions: all axes, along which the whole value is replicated anyway.
        let axes = match c.peek() {
            Some(b'{') if has_value => read_axes(c, &n.mesh, |_| false)?,
            _ if !n.dims.is_empty() => return Err(c.expected("`=`, `{` and axes")),
            _ if word == "replicated" => Vec::new(),
            // A manual value without axes would read as a replicated one.
            _ if word == "manual" && n.mesh.axes.is_empty() => return Err(at.expected("a mesh with axes")),
            _ => n.mesh.whole_axes().collect(),
        };
        match word {
            "replicated" => n.replicated = axes,
            "unreduced" => n.unreduced = axes,
            _ => n.manual = axes,
        }
        if n.unreduced.is_empty() {
            n.reduction = Reduction::Sum;
        }
    }
}

impl Named {
    /// The text after the mesh, apart from metadata.
    fn axes_text(&self) -> String {
        let lists = [("replicated", &self.replicated), ("unreduced", &self.unreduced), ("manual", &self.manual)];
        let lists: Vec<_> = lists.into_iter().filter(|list| !list.1.is_empty()).collect();
        let reduction = match self.reduction {
            Reduction::Sum => "",
            other => other.name(),
        };
        match lists[..] {
            _ if self.mesh.single_device().is_some() => return String::new(),
            [] if self.dims.is_empty() => return ", replicated".into(),
            [(word @ "manual", axes)] if self.dims.is_empty() && self.are_all(axes) => return format!(", {word}"),
            [(word @ "unreduced", axes)] if self.dims.is_empty() && self.are_all(axes) => {
                return format!(", {word}{}{reduction}", if reduction.is_empty() { "" } else { "=" });
            }
            _ => {}
        }
        let texts = |axes: &[MeshAxis]| axes.iter().map(|a| self.mesh.axis_text(a)).collect::<Vec<_>>();
        let dims = self.dims.iter().map(|(axes, is_open)| {
            let all: Vec<String> = texts(axes).into_iter().chain(is_open.then(|| "?".into())).collect();
            format!("{{{}}}", all.join(", "))
        });
        let mut text = format!(", [{}]", dims.collect::<Vec<_>>().join(", "));
        for (word, axes) in lists {
            let reduction = if word == "unreduced" { reduction } else { "" };
            text += &format!(", {word}={reduction}{{{}}}", texts(axes).join(", "));
        }
        text
    }

    fn are_all(&self, axes: &[MeshAxis]) -> bool {
        axes.iter().cloned().eq(self.mesh.whole_axes())
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
        // XLA reads an absent item as that of the sum.
        let item = (self.reduction != Reduction::Sum).then(|| self.reduction.item());
        let all: Option<Vec<&String>> =
            (self.metadata.is_some() || item.is_some()).then(|| self.metadata.iter().flatten().chain(&item).collect());
        match all.as_deref() {
            None => Ok(()),
            Some([one]) => write!(f, " metadata={one}"),
            Some(all) => write!(f, " metadata={{{}}}", all.iter().map(|s| s.as_str()).collect::<Vec<_>>().join(", ")),
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
        write!(f, "{}{}", self.mesh, self.axes_text())?;
        match &self.metadata {
            Some(all) => write!(f, ", metadata={{{}}}", all.join(", ")),
            None => Ok(()),
        }
    }
}
