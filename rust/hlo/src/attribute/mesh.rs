//! Orders of devices: lists, iotas, and meshes with named axes.
//!
//! Iotas and meshes stay symbolic until they are expanded.

use std::fmt;

use crate::attribute::window::whole;
use crate::cursor::{Cursor, Read};

/// `[4,2]T(1,0)`: the numbers from 0 on, reshaped to these sizes and then transposed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Iota {
    /// The sizes before the transpose.
    pub reshape: Vec<i64>,
    /// The permutation; empty for the identity.
    pub transpose: Vec<i64>,
}

impl Iota {
    /// The shortest iota with the same sequence: without dimensions of size 1, and with dimensions that stay adjacent
    /// merged. An iota whose sizes and permutation are inconsistent keeps both, except that the identity is left out.
    pub fn new(reshape: Vec<i64>, transpose: Vec<i64>) -> Iota {
        let given = Iota { reshape, transpose };
        given.shortest().unwrap_or_else(|| {
            let is_identity = given.transpose.iter().copied().eq(0..given.reshape.len() as i64);
            Iota { transpose: if is_identity { Vec::new() } else { given.transpose }, reshape: given.reshape }
        })
    }

    fn shortest(&self) -> Option<Iota> {
        product(&self.reshape)?;
        let order = self.permutation_of_rank()?;
        // Merged dimensions in the transposed order: their last source dimension and their size.
        let mut merged: Vec<(usize, i64)> = Vec::new();
        for &d in order.iter().filter(|&&d| self.reshape[d] != 1) {
            match merged.last_mut() {
                Some((last, size)) if (*last + 1..d).all(|k| self.reshape[k] == 1) && *last < d => {
                    *size *= self.reshape[d];
                    *last = d;
                }
                _ => merged.push((d, self.reshape[d])),
            }
        }
        let mut sources: Vec<usize> = merged.iter().map(|m| m.0).collect();
        sources.sort_unstable();
        let transpose: Vec<i64> =
            merged.iter().filter_map(|m| sources.binary_search(&m.0).ok()).map(|k| k as i64).collect();
        let mut reshape = vec![1; merged.len()];
        for (m, &k) in merged.iter().zip(&transpose) {
            reshape[k as usize] = m.1;
        }
        let is_plain = transpose.iter().copied().eq(0..reshape.len() as i64);
        let reshape = if reshape.is_empty() { vec![1] } else { reshape };
        Some(Iota { reshape, transpose: if is_plain { Vec::new() } else { transpose } })
    }

    /// The permutation as indices, if it is valid.
    fn permutation_of_rank(&self) -> Option<Vec<usize>> {
        let rank = self.reshape.len();
        let order: Vec<usize> = self.permutation().iter().map(|&d| usize::try_from(d).ok()).collect::<Option<_>>()?;
        let mut seen = vec![false; rank];
        if order.len() != rank || order.iter().any(|&d| seen.get_mut(d).is_none_or(|s| std::mem::replace(s, true))) {
            return None;
        }
        Some(order)
    }

    /// The permutation, explicit also for the identity.
    pub fn permutation(&self) -> Vec<i64> {
        match self.transpose.is_empty() {
            true => (0..self.reshape.len() as i64).collect(),
            false => self.transpose.clone(),
        }
    }

    /// The numbers in order; `None` if sizes and permutation are inconsistent, and for more than `limit`.
    pub fn expand(&self, limit: usize) -> Option<Vec<i64>> {
        let n = product(&self.reshape).filter(|&n| n <= limit)?;
        let order = self.permutation_of_rank()?;
        let strides = strides(&self.reshape);
        let sizes: Vec<(i64, i64)> = order.iter().map(|&d| (self.reshape[d], strides[d])).collect();
        Some(count_through(&sizes, n))
    }
}

/// The strides of an array of these sizes in row-major order.
fn strides(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; sizes.len()];
    for d in (1..sizes.len()).rev() {
        strides[d - 1] = strides[d] * sizes[d];
    }
    strides
}

/// The offsets of an array with these sizes and strides, last dimension fastest.
pub(crate) fn count_through(dims: &[(i64, i64)], n: usize) -> Vec<i64> {
    let (mut index, mut offset) = (vec![0i64; dims.len()], 0i64);
    let mut all = Vec::with_capacity(n);
    for _ in 0..n {
        all.push(offset);
        for k in (0..dims.len()).rev() {
            index[k] += 1;
            offset += dims[k].1;
            if index[k] < dims[k].0 {
                break;
            }
            offset -= dims[k].1 * index[k];
            index[k] = 0;
        }
    }
    all
}

/// The product of positive sizes; `None` if a size is not positive or on overflow.
pub(crate) fn product(dims: &[i64]) -> Option<usize> {
    dims.iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok().filter(|&d| d > 0)?))
}

impl fmt::Display for Iota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", joined(&self.reshape))?;
        if !self.transpose.is_empty() {
            write!(f, "T({})", joined(&self.transpose))?;
        }
        Ok(())
    }
}

/// A sequence of devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceOrder {
    /// A list.
    List(Vec<i64>),
    /// An iota.
    Iota(Iota),
}

impl DeviceOrder {
    /// The devices in order; `None` for an inconsistent iota, and for more than `limit`.
    pub fn expand(&self, limit: usize) -> Option<Vec<i64>> {
        match self {
            DeviceOrder::List(list) => (list.len() <= limit).then(|| list.clone()),
            DeviceOrder::Iota(iota) => iota.expand(limit),
        }
    }
}

/// `mesh['x'=2,'y'=4], device_ids=(…)`: devices in an array with named axes; `maximal_mesh[device_id=3]`, a single
/// device, has no axes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mesh {
    /// Name and size of each axis, major to minor.
    pub axes: Vec<(String, i64)>,
    /// The devices in row-major order; `None` for the numbers from 0 on.
    pub devices: Option<DeviceOrder>,
}

/// An axis of a mesh, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MeshAxis {
    /// The index of the axis.
    pub axis: usize,
    /// For a part of an axis: the size of the part before it, and its own size.
    pub part: Option<(i64, i64)>,
}

/// The words that a mesh begins with; XLA renamed the second to the third.
pub(crate) const MESH_WORDS: [&str; 3] = ["mesh", "maximal_mesh", "single_device"];

impl Mesh {
    /// A mesh; devices in the order of their numbers are left out, as XLA requires.
    pub(crate) fn new(axes: Vec<(String, i64)>, devices: Option<DeviceOrder>) -> Mesh {
        let n = product(&axes.iter().map(|axis| axis.1).collect::<Vec<_>>());
        let is_plain = match &devices {
            _ if axes.is_empty() => false,
            Some(DeviceOrder::List(list)) => n == Some(list.len()) && list.iter().copied().eq(0..list.len() as i64),
            Some(DeviceOrder::Iota(iota)) => n.is_some() && n == product(&iota.reshape) && iota.transpose.is_empty(),
            None => true,
        };
        Mesh { axes, devices: devices.filter(|_| !is_plain) }
    }

    /// The device of a mesh of a single one.
    pub fn single_device(&self) -> Option<i64> {
        match (&self.axes[..], &self.devices) {
            ([], Some(order)) => order.expand(1)?.first().copied(),
            _ => None,
        }
    }

    /// All axes.
    pub fn whole_axes(&self) -> impl Iterator<Item = MeshAxis> {
        (0..self.axes.len()).map(|axis| MeshAxis { axis, part: None })
    }

    /// The text of an axis, with its name in the mesh.
    pub fn axis_text(&self, a: &MeshAxis) -> String {
        let name = self.axes.get(a.axis).map_or("", |axis| axis.0.as_str());
        match a.part {
            Some((before, size)) => format!("{}:({before}){size}", quoted(name)),
            None => quoted(name),
        }
    }

    /// The size of an axis or of a part.
    pub fn axis_size(&self, a: &MeshAxis) -> Option<i64> {
        match a.part {
            Some((_, size)) => Some(size),
            None => Some(self.axes.get(a.axis)?.1),
        }
    }

    /// The groups of devices that vary along `axes` alone; `None` if parts of axes are inconsistent, and for more than
    /// `limit` devices.
    pub fn groups(&self, axes: &[MeshAxis], limit: usize) -> Option<Vec<Vec<i64>>> {
        let sizes: Vec<i64> = self.axes.iter().map(|a| a.1).collect();
        let n = product(&sizes).filter(|&n| n <= limit)?;
        let devices = match &self.devices {
            Some(order) => order.expand(limit).filter(|all| all.len() == n)?,
            None => (0..n as i64).collect(),
        };
        let strides = strides(&sizes);
        // Each chosen axis as (size, stride), and the remainder of every axis around its parts.
        let mut chosen = Vec::with_capacity(axes.len());
        let mut taken: Vec<Vec<(i64, i64)>> = vec![Vec::new(); sizes.len()];
        for a in axes {
            let whole = *sizes.get(a.axis)?;
            let (before, size) = a.part.unwrap_or((1, whole));
            if before < 1 || size < 1 || whole % before.checked_mul(size)? != 0 {
                return None;
            }
            chosen.push((size, strides[a.axis] * (whole / (before * size))));
            taken[a.axis].push((before, size));
        }
        let mut others = Vec::new();
        for (d, parts) in taken.iter_mut().enumerate() {
            parts.sort_unstable();
            let mut done = 1;
            for &mut (before, size) in parts {
                if before % done != 0 {
                    return None;
                }
                others.push((before / done, strides[d] * (sizes[d] / before)));
                done = before * size;
            }
            others.push((sizes[d] / done, strides[d]));
        }
        let size = product(&chosen.iter().map(|c| c.0).collect::<Vec<_>>())?;
        let inside = count_through(&chosen, size);
        let starts = count_through(&others, n / size);
        Some(starts.iter().map(|s| inside.iter().map(|i| devices[(s + i) as usize]).collect()).collect())
    }
}

impl fmt::Display for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(device) = self.single_device() {
            // Every version of XLA reads this one of the two words.
            return write!(f, "maximal_mesh[device_id={device}]");
        }
        let axes: Vec<String> = self.axes.iter().map(|(name, size)| format!("{}={size}", quoted(name))).collect();
        write!(f, "mesh[{}]", axes.join(","))?;
        match &self.devices {
            None => Ok(()),
            Some(DeviceOrder::List(list)) => write!(f, ", device_ids=({})", joined(list)),
            Some(DeviceOrder::Iota(iota)) => write!(f, ", device_ids=({iota})"),
        }
    }
}

/// Parses a mesh from a whole text.
pub fn parse_mesh(text: &str) -> Option<Mesh> {
    whole(text, read_mesh)
}

/// Parses `mesh['x'=2], device_ids=(1,0)`, or a single device.
pub(crate) fn read_mesh(c: &mut Cursor<'_>) -> Read<Mesh> {
    c.space();
    let at = *c;
    let word = c.word();
    if !MESH_WORDS.contains(&word) {
        return Err(at.expected("`mesh`, `maximal_mesh` or `single_device`"));
    }
    if word != "mesh" {
        c.expect(b'[', "`[` of a mesh")?;
        if !is_word(c, "device_id") {
            return Err(c.expected("`device_id`"));
        }
        c.expect(b'=', "`=`")?;
        let devices = Some(DeviceOrder::List(vec![c.int()?]));
        c.expect(b']', "`]`")?;
        return Ok(Mesh { axes: Vec::new(), devices });
    }
    let axes = c.list(*b"[]", ["`[` of a mesh", "`,` or `]`"], |c| {
        let name = read_quoted(c)?;
        c.expect(b'=', "`=` and the size of an axis")?;
        Ok((name, c.int()?))
    })?;
    let mut after = *c;
    let mut devices = None;
    if after.accept_after_space(b',') && is_word(&mut after, "device_ids") {
        *c = after;
        c.expect(b'=', "`=`")?;
        c.expect(b'(', "`(`")?;
        c.space();
        devices = Some(match c.peek() {
            Some(b'[') => DeviceOrder::Iota(read_iota(c)?),
            _ => DeviceOrder::List(read_list(c)?),
        });
        c.expect(b')', "`)`")?;
    }
    Ok(Mesh::new(axes, devices))
}

fn is_word(c: &mut Cursor<'_>, word: &str) -> bool {
    c.space();
    c.accept_word(word)
}

/// Parses `{'x','y':(1)2}`; `extra` may consume something other than an axis.
pub(crate) fn read_axes(
    c: &mut Cursor<'_>,
    mesh: &Mesh,
    mut extra: impl FnMut(&mut Cursor<'_>) -> bool,
) -> Read<Vec<MeshAxis>> {
    let mut all = Vec::new();
    c.items(*b"{}", ["`{` and axes", "`,` or `}`"], |c| {
        if extra(c) {
            return Ok(());
        }
        let at = *c;
        let name = read_quoted(c)?;
        // An axis by its number, if none has this name.
        let number = || name.parse().ok().filter(|&axis| axis < mesh.axes.len());
        let Some(axis) = mesh.axes.iter().position(|a| a.0 == name).or_else(number) else {
            return Err(at.expected("an axis of the mesh"));
        };
        let mut part = None;
        if c.accept(b':') {
            c.expect(b'(', "`(`")?;
            let before = c.int()?;
            c.expect(b')', "`)`")?;
            part = Some((before, c.int()?));
        }
        all.push(MeshAxis { axis, part });
        Ok(())
    })?;
    Ok(all)
}

/// `[4,2]T(1,0)`
pub(crate) fn read_iota(c: &mut Cursor<'_>) -> Read<Iota> {
    let reshape = bracketed(c, b'[', b']')?;
    let transpose = if c.accept(b'T') { bracketed(c, b'(', b')')? } else { Vec::new() };
    Ok(Iota::new(reshape, transpose))
}

/// `1,2`
pub(crate) fn read_list(c: &mut Cursor<'_>) -> Read<Vec<i64>> {
    let mut list = vec![c.int()?];
    while c.accept_after_space(b',') {
        list.push(c.int()?);
    }
    Ok(list)
}

/// `[1,2]`
pub(crate) fn bracketed(c: &mut Cursor<'_>, open: u8, close: u8) -> Read<Vec<i64>> {
    let expected = if open == b'[' { ["`[`", "`,` or `]`"] } else { ["`(`", "`,` or `)`"] };
    c.list([open, close], expected, |c| c.int())
}

fn read_quoted(c: &mut Cursor<'_>) -> Read<String> {
    let name = c.string()?;
    Ok(crate::unescape(c.str(name)).into_owned())
}

fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\\', "\\\\").replace('\'', "\\'"))
}

pub(crate) fn joined(all: &[i64]) -> String {
    all.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

pub(crate) fn axes_text(mesh: &Mesh, axes: &[MeshAxis]) -> String {
    axes.iter().map(|a| mesh.axis_text(a)).collect::<Vec<_>>().join(",")
}
