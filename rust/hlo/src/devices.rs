//! Groups of devices: lists, iotas, and forms over a mesh.
//!
//! Read [`DeviceGroups`]. An iota form stays as short as its text until it is expanded.

use crate::attribute::{int_lists, raw};
use crate::token::{Cursor, Read};

/// Groups of devices that work together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceGroups {
    /// `{{0,1},{2,3}}`
    Lists(Vec<Vec<i64>>),
    /// `[2,4]<=[4,2]T(1,0)`: an iota of `reshape` transposed by `transpose` and reshaped to `groups`.
    Iota {
        /// Number of groups and size of a group.
        groups: Vec<i64>,
        /// The shape of the iota.
        reshape: Vec<i64>,
        /// Its dimensions in the order of the transposed; empty = unchanged.
        transpose: Vec<i64>,
    },
    /// A form over a mesh, as text.
    Mesh,
}

impl DeviceGroups {
    /// The groups one by one; `None` for a form over a mesh, for an iota of sizes that do not fit together, and for
    /// more than `limit` devices.
    pub fn expand(&self, limit: usize) -> Option<Vec<Vec<i64>>> {
        let (groups, reshape, transpose) = match self {
            DeviceGroups::Lists(lists) => return Some(lists.clone()),
            DeviceGroups::Mesh => return None,
            DeviceGroups::Iota { groups, reshape, transpose } => (groups, reshape, transpose),
        };
        let count = |dims: &[i64]| {
            dims.iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok().filter(|&d| d > 0)?))
        };
        let n = count(reshape).filter(|&n| n <= limit)?;
        let [n_groups, size] = groups[..] else { return None };
        if count(groups) != Some(n) {
            return None;
        }
        let rank = reshape.len();
        let order: Vec<usize> = match transpose.is_empty() {
            true => (0..rank).collect(),
            false => transpose.iter().map(|&d| usize::try_from(d).ok().filter(|&d| d < rank)).collect::<Option<_>>()?,
        };
        let mut seen = vec![false; rank];
        if order.len() != rank || order.iter().any(|&d| std::mem::replace(&mut seen[d], true)) {
            return None;
        }
        let mut strides = vec![1i64; rank];
        for d in (1..rank).rev() {
            strides[d - 1] = strides[d] * reshape[d];
        }
        // Counts through the transposed dimensions; `device` follows the digits.
        let (mut digits, mut device) = (vec![0i64; rank], 0i64);
        let mut all = Vec::with_capacity(n);
        for _ in 0..n {
            all.push(device);
            for k in (0..rank).rev() {
                let d = order[k];
                digits[k] += 1;
                device += strides[d];
                if digits[k] < reshape[d] {
                    break;
                }
                device -= strides[d] * digits[k];
                digits[k] = 0;
            }
        }
        let groups: Vec<_> = all.chunks(size as usize).map(<[i64]>::to_vec).collect();
        debug_assert_eq!(groups.len() as i64, n_groups, "the sizes fit together");
        Some(groups)
    }
}

/// The groups at the cursor.
pub(crate) fn read(c: &mut Cursor<'_>) -> Read<DeviceGroups> {
    c.space();
    match c.peek() {
        Some(b'{') => int_lists(c).map(DeviceGroups::Lists),
        Some(b'[') => {
            let groups = bracketed(c, b'[', b']')?;
            c.space();
            if !c.rest().starts_with(b"<=") {
                return Err(c.expected("`<=`"));
            }
            c.pos += 2;
            let reshape = bracketed(c, b'[', b']')?;
            let transpose = if c.accept(b'T') { bracketed(c, b'(', b')')? } else { Vec::new() };
            Ok(DeviceGroups::Iota { groups, reshape, transpose })
        }
        _ => {
            // `mesh['a'=2,'b'=2], device_ids=(…) {'b'}`: the axes that make a group stand behind the mesh.
            raw(c)?;
            let mut after = *c;
            if after.accept_after_space(b',') {
                after.space();
                if after.accept_word("device_ids") && after.accept_after_space(b'=') && raw(&mut after).is_ok() {
                    *c = after;
                }
            }
            let end = c.pos;
            c.space();
            if c.peek() == Some(b'{') {
                c.braced()?;
            } else {
                c.pos = end;
            }
            Ok(DeviceGroups::Mesh)
        }
    }
}

fn bracketed(c: &mut Cursor<'_>, open: u8, close: u8) -> Read<Vec<i64>> {
    let (open_text, close_text) = if open == b'[' { ("`[`", "`,` or `]`") } else { ("`(`", "`,` or `)`") };
    c.expect(open, open_text)?;
    let mut all = Vec::new();
    if c.accept_after_space(close) {
        return Ok(all);
    }
    loop {
        all.push(c.int()?);
        if !c.accept_after_space(b',') {
            break;
        }
    }
    c.expect(close, close_text)?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iota_counts_through_its_transpose() {
        let groups = |text: &str| read(&mut Cursor::new(text)).unwrap().expand(100);
        assert_eq!(groups("[2,4]<=[8]"), Some(vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]]));
        assert_eq!(groups("[2,4]<=[4,2]T(1,0)"), Some(vec![vec![0, 2, 4, 6], vec![1, 3, 5, 7]]));
        assert_eq!(groups("{{0,1},{2}}"), Some(vec![vec![0, 1], vec![2]]));
        assert_eq!(groups("[2,4]<=[9]"), None);
        assert_eq!(groups("[1000,1]<=[1000]"), None);
        assert_eq!(groups("[2,4]<=[4,2]T(1,1)"), None);
    }
}
