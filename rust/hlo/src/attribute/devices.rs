//! Groups of devices: lists, iotas, and axes of a mesh.
//!
//! Iotas and meshes stay symbolic until they are expanded.

use std::fmt;

use crate::attribute::int_lists;
use crate::attribute::mesh::{axes_text, bracketed, joined, product, read_axes, read_iota, read_mesh};
use crate::attribute::mesh::{Iota, Mesh, MeshAxis};
use crate::attribute::window::whole;
use crate::cursor::{Cursor, Read};

/// Groups of devices that take part in one collective.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceGroups {
    /// `{{0,1},{2,3}}`
    Lists(Vec<Vec<i64>>),
    /// `[2,4]<=[4,2]T(1,0)`: an iota split into groups.
    Iota {
        /// The number of groups and the size of each.
        groups: Vec<i64>,
        /// The order of the devices.
        iota: Iota,
    },
    /// `mesh['x'=2,'y'=2] {'y'}`: each group varies along these axes alone.
    Mesh {
        /// The devices.
        mesh: Mesh,
        /// The axes within a group, major to minor.
        axes: Vec<MeshAxis>,
    },
}

impl DeviceGroups {
    /// The groups as lists; `None` for inconsistent sizes, and for more than `limit` devices.
    pub fn expand(&self, limit: usize) -> Option<Vec<Vec<i64>>> {
        match self {
            DeviceGroups::Lists(lists) => Some(lists.clone()),
            DeviceGroups::Mesh { mesh, axes } => mesh.groups(axes, limit),
            DeviceGroups::Iota { groups, iota } => {
                let [_, size] = groups[..] else { return None };
                let all = iota.expand(limit)?;
                (product(groups) == Some(all.len())).then(|| all.chunks(size as usize).map(<[i64]>::to_vec).collect())
            }
        }
    }

    /// The number of devices per group, if it is uniform and known without expansion.
    pub fn group_size(&self) -> Option<i64> {
        match self {
            DeviceGroups::Lists(lists) => {
                let size = lists.first()?.len();
                lists.iter().all(|l| l.len() == size).then_some(size as i64)
            }
            DeviceGroups::Iota { groups, .. } => groups.get(1).copied(),
            DeviceGroups::Mesh { mesh, axes } => {
                axes.iter().try_fold(1i64, |n, a| n.checked_mul(mesh.axis_size(a)?)).filter(|&n| n > 0)
            }
        }
    }

    /// The number of groups, if it is known without expansion.
    pub fn n_groups(&self) -> Option<i64> {
        match self {
            DeviceGroups::Lists(lists) => Some(lists.len() as i64),
            DeviceGroups::Iota { groups, .. } => groups.first().copied(),
            DeviceGroups::Mesh { mesh, .. } => {
                let sizes: Vec<i64> = mesh.axes.iter().map(|a| a.1).collect();
                Some(i64::try_from(product(&sizes)?).ok()? / self.group_size()?)
            }
        }
    }
}

impl fmt::Display for DeviceGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceGroups::Lists(lists) => {
                let lists: Vec<String> = lists.iter().map(|l| format!("{{{}}}", joined(l))).collect();
                write!(f, "{{{}}}", lists.join(","))
            }
            DeviceGroups::Iota { groups, iota } => write!(f, "[{}]<={iota}", joined(groups)),
            DeviceGroups::Mesh { mesh, axes } => write!(f, "{mesh} {{{}}}", axes_text(mesh, axes)),
        }
    }
}

/// Parses groups from a whole text.
pub fn parse_device_groups(text: &str) -> Option<DeviceGroups> {
    whole(text, read)
}

pub(crate) fn read(c: &mut Cursor<'_>) -> Read<DeviceGroups> {
    c.space();
    match c.peek() {
        Some(b'{') => int_lists(c).map(DeviceGroups::Lists),
        Some(b'[') => {
            let groups = bracketed(c, b'[', b']')?;
            c.expect_pair(*b"<=", "`<=`")?;
            Ok(DeviceGroups::Iota { groups, iota: read_iota(c)? })
        }
        _ => {
            let mesh = read_mesh(c)?;
            let axes = read_axes(c, &mesh, |_| false)?;
            Ok(DeviceGroups::Mesh { mesh, axes })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_listed() {
        let groups = |text: &str| {
            let read = read(&mut Cursor::new(text)).unwrap();
            assert_eq!(read.to_string(), text);
            read.expand(100)
        };
        assert_eq!(groups("[2,4]<=[8]"), Some(vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]]));
        assert_eq!(groups("[2,4]<=[4,2]T(1,0)"), Some(vec![vec![0, 2, 4, 6], vec![1, 3, 5, 7]]));
        assert_eq!(groups("{{0,1},{2}}"), Some(vec![vec![0, 1], vec![2]]));
        assert_eq!(groups("[2,4]<=[9]"), None);
        assert_eq!(groups("[1000,1]<=[1000]"), None);
        assert_eq!(groups("[2,4]<=[4,2]T(1,1)"), None);
        assert_eq!(groups("[4,1]<=[4]"), Some(vec![vec![0], vec![1], vec![2], vec![3]]));
        let short = |text: &str| read(&mut Cursor::new(text)).unwrap().to_string();
        assert_eq!(short("[4,2]<=[2,1,4]T(0,1,2)"), "[4,2]<=[8]");
        assert_eq!(short("[4,6]<=[2,3,1,4]T(3,0,2,1)"), "[4,6]<=[6,4]T(1,0)");
        assert_eq!(short("[4,6]<=[4,2,3]T(1,0,2)"), "[4,6]<=[4,2,3]T(1,0,2)");
        assert_eq!(short("[1,1]<=[1,1]T(1,0)"), "[1,1]<=[1]");
        assert_eq!(groups("mesh['a'=2,'b'=2] {'b'}"), Some(vec![vec![0, 1], vec![2, 3]]));
        assert_eq!(groups("mesh['a'=2,'b'=2] {'a'}"), Some(vec![vec![0, 2], vec![1, 3]]));
        assert_eq!(groups("mesh['a'=2,'b'=2] {'b','a'}"), Some(vec![vec![0, 2, 1, 3]]));
        assert_eq!(groups("mesh['a'=2,'b'=2], device_ids=(3,2,1,0) {'b'}"), Some(vec![vec![3, 2], vec![1, 0]]));
        assert_eq!(groups("mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)) {'b'}"), Some(vec![vec![0, 2], vec![1, 3]]));
        assert_eq!(groups("mesh['a'=4] {'a':(1)2}"), Some(vec![vec![0, 2], vec![1, 3]]));
        assert_eq!(groups("mesh['a'=4] {'a':(2)2}"), Some(vec![vec![0, 1], vec![2, 3]]));
        assert_eq!(groups("mesh['a'=8,'b'=2] {'a':(2)2,'b'}").map(|g| g.len()), Some(4));
        assert_eq!(groups("mesh['a'=4] {'a':(3)2}"), None);
        assert_eq!(groups("mesh['a'=4611686018427387904,'b'=4] {'b'}"), None);
    }
}
