//! The number of elements, and of bytes, that a union of maps reads of an operand.
//!
//! `lower <= true number <= upper`. The maps of a union may overlap. Without a proof that they are disjoint, and unless
//! they are windows, the sum of their counts is an upper bound, and the largest count a lower bound. The lower bound is
//! 0 if the union is not exact. If the union is unknown, the number lies between 0 and the size of the operand.

use std::sync::Arc;

use layout::Shape;
use quasiaffine::Style;
use quasiaffine::{count_windows, Count, Expr, Interval, Map};

use crate::shapes;
pub use crate::tuning::MAX_PAIRWISE;

/// A text with shared ownership.
pub type Text = Arc<str>;

/// The elements of one operand that the whole of one output reads. An upper bound of `None` is an unknown bound.
#[derive(Clone, Debug)]
pub struct Reads {
    /// The maps.
    pub union: Arc<Union>,
    /// Whether the union is exact.
    pub exact: bool,
    /// The number of reads: lower and upper bound.
    pub touched: (i64, Option<i64>),
    /// The number of distinct elements: lower and upper bound.
    pub distinct: (i64, Option<i64>),
    /// The upper bound of the distinct elements, in bytes of memory.
    pub bytes: Option<i64>,
    /// The upper bound of the reads, in bytes.
    pub read_bytes: Option<i64>,
    /// The reason why any element may be read, if so.
    pub unknown: Option<Text>,
}

impl Reads {
    /// Reads per distinct element, if both counts are known and anything is read.
    pub fn reuse(&self) -> Option<f64> {
        let known = |(lower, upper): (i64, Option<i64>)| upper.filter(|&n| n == lower && n > 0);
        Some(known(self.touched)? as f64 / known(self.distinct)? as f64)
    }
}

/// The counts of a union of maps, for an array of any shape.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Floor divisions and remainders in all maps.
    pub divmod: i64,
    touched: Count,
    distinct: Count,
}

impl Counts {
    /// Counts distinct maps into one array.
    pub fn new(maps: &[&Map]) -> Counts {
        let divmod = maps.iter().map(|m| m.cost().divmods).fold(0, u64::saturating_add);
        let (touched, distinct) = count(maps);
        Counts { divmod: i64::try_from(divmod).unwrap_or(i64::MAX), touched, distinct }
    }
}

/// The texts and counts of a union of maps.
#[derive(Debug, Default)]
pub struct Union {
    /// The texts of the maps.
    pub texts: Vec<Text>,
    /// The counts of their reads.
    pub counts: Counts,
}

impl Union {
    /// The union of distinct maps into one array, with their counts.
    pub fn new(maps: &[&Map], counts: Counts) -> Union {
        let text = |m: &&Map| Text::from(m.to_text(Style::Line).unwrap_or_else(|e| format!("<{e}>")));
        Union { texts: maps.iter().map(text).collect(), counts }
    }

    /// The record of this union for an array of the given shape; `exact` tells whether the union is.
    pub fn of(self: &Arc<Union>, shape: &Shape, exact: bool) -> Reads {
        let (size, bits) = extent(shape);
        let Counts { touched, distinct, .. } = self.counts;
        let elements = distinct.upper.min(size.unwrap_or(u128::MAX));
        let lower = |n: u128| if exact { fitting(n).unwrap_or(0) } else { 0 };
        Reads {
            union: self.clone(),
            exact,
            touched: (lower(touched.lower), fitting(touched.upper)),
            // A token has no element to count.
            distinct: (lower(distinct.lower.min(elements)), fitting(elements)),
            bytes: fitting(bytes(elements, bits)),
            read_bytes: fitting(bytes(touched.upper, bits)),
            unknown: None,
        }
    }
}

/// The number of reads by distinct maps into one array, and the number of elements that they reach.
pub fn count(maps: &[&Map]) -> (Count, Count) {
    let parts: Vec<_> = maps.iter().map(|m| (m.touched(), m.distinct())).collect();
    let few = maps.len() <= MAX_PAIRWISE;
    let outputs_apart = few && disjoint(maps, |m| m.domain().dims().iter().map(|v| v.interval).collect());
    let elements_apart = few && disjoint(maps, |m| m.results().iter().map(|e| bounds(m, e)).collect());
    let total = |counts: &mut dyn Iterator<Item = u128>| counts.fold(0, u128::saturating_add);
    let lower = |counts: &mut dyn Iterator<Item = u128>, is_sum: bool| {
        if is_sum {
            total(counts)
        } else {
            counts.max().unwrap_or(0)
        }
    };
    // Reads by different output elements, or of different operand elements, are different reads.
    let mut touched = (
        lower(&mut parts.iter().map(|p| p.0.lower), outputs_apart || elements_apart),
        total(&mut parts.iter().map(|p| p.0.upper)),
    );
    let mut distinct =
        (lower(&mut parts.iter().map(|p| p.1.lower), elements_apart), total(&mut parts.iter().map(|p| p.1.upper)));
    if few && (touched.0 < touched.1 || distinct.0 < distinct.1) {
        if let Some((points, elements)) = count_windows(maps) {
            // With as many points as elements, no two maps share a read.
            let apart = points.is_exact() && points == elements;
            touched = (if apart { points.lower } else { touched.0 }, points.upper);
            distinct = (elements.lower, elements.upper);
        }
    }
    let bounds = |(lower, upper): (u128, u128)| Count { lower, upper };
    (bounds(touched), bounds(distinct))
}

/// The record of an unknown indexing: between no element and all elements of arrays of a [total] size are read.
pub fn unknown(reason: Text, (n_elements, n_bytes): (u128, u128)) -> Reads {
    Reads {
        union: Arc::default(),
        exact: false,
        touched: (0, None),
        distinct: (0, fitting(n_elements)),
        bytes: fitting(n_bytes),
        read_bytes: None,
        unknown: Some(reason),
    }
}

/// The elements of some arrays, and the bytes that these take in memory, without padding.
pub fn total<'s>(parts: impl Iterator<Item = &'s Shape>) -> (u128, u128) {
    parts.fold((0u128, 0u128), |(n_elements, n_bytes), part| {
        let (n, bits) = extent(part);
        let n = n.unwrap_or(u128::MAX);
        (n_elements.saturating_add(n), n_bytes.saturating_add(bytes(n, bits)))
    })
}

/// The bytes that all arrays in a value take in memory, without padding.
pub fn n_bytes(shape: &Shape) -> Option<i64> {
    fitting(total(shapes::leaves(shape).into_iter().map(|(_, part)| part)).1)
}

fn bounds(m: &Map, e: &Expr) -> Interval {
    m.bounds(e).unwrap_or(Interval::ALL)
}

/// Whether the boxes of maps, all of one rank, are pairwise disjoint.
fn disjoint(maps: &[&Map], of: impl Fn(&Map) -> Vec<Interval>) -> bool {
    if maps.len() < 2 {
        return true;
    }
    let boxes: Vec<_> = maps.iter().map(|m| of(m)).collect();
    let apart = |a: &[Interval], b: &[Interval]| a.iter().zip(b).any(|(a, b)| a.hi < b.lo || b.hi < a.lo);
    boxes.iter().enumerate().all(|(i, a)| boxes[i + 1..].iter().all(|b| apart(a, b)))
}

/// The number of elements of an array, if it is bounded, and the bits that each takes in memory.
fn extent(shape: &Shape) -> (Option<u128>, u128) {
    match shapes::array_of(shape) {
        None => (Some(0), 0),
        Some(a) => (a.n_elements().map(|n| n as u128), a.element_width() as u128),
    }
}

fn bytes(elements: u128, bits: u128) -> u128 {
    elements.checked_mul(bits).map_or(u128::MAX, |n| n.div_ceil(8))
}

/// The bound in 64 bits; a larger one is unknown, never saturated.
fn fitting(n: u128) -> Option<i64> {
    i64::try_from(n).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_elements_than_the_array_has() {
        // Each map reaches any of the elements: no formula is known for squares modulo a number.
        let map = |k: i64| -> Map {
            let text = format!("(d0) -> ((d0 * d0 * {k}) mod 1000003), domain: d0 in [0, 999999]");
            text.parse().unwrap()
        };
        let maps = [map(3), map(5)];
        let maps: Vec<&Map> = maps.iter().collect();
        let counts = Counts::new(&maps);
        let shape = layout::parse_shape("f32[1000003]").unwrap();
        let reads = Arc::new(Union::new(&maps, counts)).of(&shape, true);
        assert!(counts.distinct.upper > 1_000_003, "{:?}", counts.distinct);
        assert_eq!((reads.distinct.1, reads.bytes), (Some(1_000_003), Some(4_000_012)));
    }
}
