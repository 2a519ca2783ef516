//! Sums of vectors: where a path ends that moves by one vector of a set in every iteration.
//!
//! The sums of `n` vectors of a set are, by [`sums`],
//!
//! - of an arithmetic progression `v, v + g, …, v + c*g`: `n*v + s*g` with `s` from 0 to `c*n`;
//! - of all points of a lattice in a convex polygon: those in the polygon that is `n` times as large, since a polygon is
//!   made of triangles without further points, whose multiples have no other points than the sums of their corners;
//! - of a product of sets: the product of their sums;
//! - of any other set: `s_i` times the vector `v_i`, where the `s_i` add up to `n`.

use std::collections::BTreeSet;

use quasiaffine::{Expr, Result};
use smallvec::SmallVec;

use super::build::{fits, Bounded, Bounds};

use crate::tuning::MAX_TERMS;

/// By how much a path moves in every dimension.
pub(super) type Vector = SmallVec<[i64; 4]>;

/// The sums of a number of vectors: expressions over ranges, under constraints.
#[derive(Default)]
pub(super) struct Sums {
    pub ranges: Vec<Bounds>,
    pub constraints: Vec<Bounded>,
    /// In each dimension.
    pub offset: Vec<Expr>,
    /// Whether every value is a sum.
    pub exact: bool,
}

/// The sums of `count` vectors out of some, where `count` is from 0 to `most`; the ranges have the numbers from `first`.
pub(super) fn sums(vectors: &[Vector], count: &Expr, most: i64, first: usize) -> Result<Sums> {
    let rank = vectors.first().map_or(0, SmallVec::len);
    let mut found = Sums { offset: vec![Expr::Const(0); rank], exact: true, ..Sums::default() };
    for (dims, block) in blocks(vectors) {
        let part = Part::new(&block)?;
        let ranges: Vec<Expr> =
            (0..part.largest.len()).map(|i| Expr::range((first + found.ranges.len() + i) as u32)).collect();
        for (i, &d) in dims.iter().enumerate() {
            let mut e = count.scale(part.origin[i])?;
            for (s, row) in ranges.iter().zip(&part.basis) {
                e = e.add(&s.scale(row[i])?)?;
            }
            found.offset[d] = e;
        }
        for &largest in &part.largest {
            found.ranges.push((0, fits(i128::from(largest) * i128::from(most))?));
        }
        for (factors, limit) in &part.limits {
            let mut e = count.scale(-limit)?;
            let mut least = -i128::from(limit.unsigned_abs()) * i128::from(most);
            for ((s, &factor), &largest) in ranges.iter().zip(factors).zip(&part.largest) {
                e = e.add(&s.scale(factor)?)?;
                least -= i128::from(factor.unsigned_abs()) * i128::from(largest) * i128::from(most);
            }
            found.constraints.push((e, fits(least)?, 0));
        }
        found.exact &= part.exact;
    }
    Ok(found)
}

/// The factors of a set of vectors that is a product: some of the dimensions, and the vectors in these.
pub(super) fn blocks(vectors: &[Vector]) -> Vec<(Vec<usize>, Vec<Vector>)> {
    let (mut found, mut rest) = (Vec::new(), vectors.iter().cloned().collect::<BTreeSet<_>>());
    let mut dims: Vec<usize> = (0..vectors.first().map_or(0, SmallVec::len)).collect();
    for d in dims.clone() {
        let Some(at) = dims.iter().position(|&i| i == d) else { continue };
        let own: BTreeSet<Vector> = rest.iter().map(|v| SmallVec::from_slice(&v[at..=at])).collect();
        let others: BTreeSet<Vector> =
            rest.iter().map(|v| v.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, x)| *x).collect()).collect();
        if own.len() * others.len() == rest.len() {
            dims.remove(at);
            found.push((vec![d], own.into_iter().collect()));
            rest = others;
        }
    }
    if !dims.is_empty() {
        found.push((dims, rest.into_iter().collect()));
    }
    found
}

/// A set of vectors as points `origin + s_0 * basis_0 + s_1 * basis_1 …` with `s_i` from 0 to `largest_i`, and under
/// limits: `factors · s <= limit`. The sums of `n` have `n` times the origin and `n` times the limits.
struct Part {
    origin: Vec<i64>,
    basis: Vec<Vec<i64>>,
    largest: Vec<i64>,
    limits: Vec<(Vec<i64>, i64)>,
    exact: bool,
}

impl Part {
    fn new(vectors: &[Vector]) -> Result<Part> {
        let mut part = Part::of_lattice(vectors)?;
        if !part.exact && vectors.len() <= MAX_TERMS + 1 {
            part = Part::of_terms(vectors);
        }
        Ok(part)
    }

    /// The points of the convex hull, or of a box around it, on the lattice of the differences of the vectors.
    fn of_lattice(vectors: &[Vector]) -> Result<Part> {
        let (origin, others) = nearest_and_others(vectors);
        let from_origin = |v: &Vector| v.iter().zip(&origin).map(|(a, b)| i128::from(*a) - i128::from(*b)).collect();
        let differences: Vec<Vec<i128>> = others.iter().map(from_origin).collect();
        let mut basis = basis_of(differences.clone());
        let mut points: Vec<Vec<i128>> = differences.iter().map(|v| coordinates(v, &basis)).collect();
        points.push(vec![0; basis.len()]);
        let mut origin: Vec<i128> = origin.iter().map(|&x| i128::from(x)).collect();
        let mut largest = Vec::new();
        for (i, row) in basis.iter_mut().enumerate() {
            let (low, high) = points.iter().fold((0, 0), |(lo, hi), p| (lo.min(p[i]), hi.max(p[i])));
            // Count from the end that is nearer to the origin.
            let (sign, first) = if high < -low { (-1, high) } else { (1, low) };
            origin.iter_mut().zip(row.iter()).for_each(|(x, r)| *x += first * r);
            row.iter_mut().for_each(|r| *r *= sign);
            points.iter_mut().for_each(|p| p[i] = (p[i] - first) * sign);
            largest.push(high - low);
        }
        let mut limits: Vec<(Vec<i128>, i128)> = largest
            .iter()
            .enumerate()
            .map(|(i, &l)| ((0..largest.len()).map(|k| i128::from(k == i)).collect(), l))
            .collect();
        let exact = match largest[..] {
            [] => true,
            [largest] => points.len() as i128 == largest + 1,
            [_, _] => {
                let hull = hull(&points);
                limits.extend(edges(&hull).filter_map(|(a, b)| limit(a, b)));
                points.len() as i128 == n_points(&hull)
            }
            _ => false,
        };
        let all = |values: &[i128]| values.iter().map(|&x| fits(x)).collect::<Result<Vec<i64>>>();
        Ok(Part {
            origin: all(&origin)?,
            basis: basis.iter().map(|row| all(row)).collect::<Result<_>>()?,
            largest: all(&largest)?,
            limits: limits.iter().map(|(factors, limit)| Ok((all(factors)?, fits(*limit)?))).collect::<Result<_>>()?,
            exact,
        })
    }

    /// How often each vector is taken, but for one, which is taken the other times.
    fn of_terms(vectors: &[Vector]) -> Part {
        let (origin, others) = nearest_and_others(vectors);
        let basis: Vec<Vec<i64>> = others.iter().map(|v| v.iter().zip(&origin).map(|(a, b)| a - b).collect()).collect();
        let n = basis.len();
        Part { origin: origin.to_vec(), basis, largest: vec![1; n], limits: vec![(vec![1; n], 1)], exact: true }
    }
}

/// The vector of the smallest coordinates, and the others.
fn nearest_and_others(vectors: &[Vector]) -> (Vector, Vec<Vector>) {
    let far = |v: &&Vector| v.iter().map(|x| u128::from(x.unsigned_abs())).sum::<u128>();
    let nearest = vectors.iter().min_by_key(far).cloned().unwrap_or_default();
    let others = vectors.iter().filter(|v| **v != nearest).cloned().collect();
    (nearest, others)
}

/// A basis in echelon form of the lattice that some vectors span.
fn basis_of(mut rows: Vec<Vec<i128>>) -> Vec<Vec<i128>> {
    let mut basis = Vec::new();
    for column in 0..rows.first().map_or(0, Vec::len) {
        loop {
            rows.retain(|row| row.iter().any(|&x| x != 0));
            let with = |row: &&Vec<i128>| row[column] != 0;
            let Some(least) = rows.iter().filter(with).min_by_key(|row| row[column].abs()).cloned() else { break };
            if rows.iter().filter(with).all(|row| *row == least) {
                rows.retain(|row| row[column] == 0);
                let sign = least[column].signum();
                basis.push(least.iter().map(|x| x * sign).collect());
                break;
            }
            let mut is_kept = false;
            for row in &mut rows {
                // One row stays as it is; equal ones become 0.
                if row[column] == 0 || (*row == least && !std::mem::replace(&mut is_kept, true)) {
                    continue;
                }
                let factor = row[column].div_euclid(least[column]);
                row.iter_mut().zip(&least).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    basis
}

/// The factors of the rows of a basis in echelon form, of which a vector is the sum.
fn coordinates(v: &[i128], basis: &[Vec<i128>]) -> Vec<i128> {
    let mut rest = v.to_vec();
    let factor = |row: &Vec<i128>| {
        let pivot = row.iter().position(|&x| x != 0).unwrap_or_default();
        let factor = rest[pivot] / row[pivot];
        rest.iter_mut().zip(row).for_each(|(x, y)| *x -= factor * y);
        factor
    };
    basis.iter().map(factor).collect()
}

type Point = (i128, i128);

/// The corners of the convex hull of points of the plane, counterclockwise.
fn hull(points: &[Vec<i128>]) -> Vec<Point> {
    let sorted: BTreeSet<Point> = points.iter().map(|p| (p[0], p[1])).collect();
    let half = |points: &mut dyn Iterator<Item = &Point>| {
        let mut found: Vec<Point> = Vec::new();
        for &(x, y) in points {
            while let [.., a, b] = found[..] {
                if (b.0 - a.0) * (y - a.1) - (b.1 - a.1) * (x - a.0) > 0 {
                    break;
                }
                found.pop();
            }
            found.push((x, y));
        }
        found.pop();
        found
    };
    let mut found = half(&mut sorted.iter());
    found.extend(half(&mut sorted.iter().rev()));
    found
}

fn edges(hull: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    hull.iter().copied().zip(hull.iter().copied().cycle().skip(1))
}

/// What holds on the inner side of a slanted edge.
fn limit(a: Point, b: Point) -> Option<(Vec<i128>, i128)> {
    let (x, y) = (b.1 - a.1, a.0 - b.0);
    let common = gcd(x, y);
    (x != 0 && y != 0).then(|| (vec![x / common, y / common], (x * a.0 + y * a.1) / common))
}

/// The number of points with integer coordinates in a polygon with such corners, by Pick's theorem.
fn n_points(hull: &[Point]) -> i128 {
    let (twice_area, on_edges) =
        edges(hull).fold((0, 0), |(area, n), (a, b)| (area + a.0 * b.1 - b.0 * a.1, n + gcd(b.0 - a.0, b.1 - a.1)));
    (twice_area + on_edges + 2) / 2
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 {
        a.abs()
    } else {
        gcd(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All values of the expressions for a count, by enumeration of the ranges.
    fn values(found: &Sums) -> BTreeSet<Vec<i64>> {
        let mut points: Vec<Vec<i64>> = vec![Vec::new()];
        for &(lo, hi) in &found.ranges {
            points = points.iter().flat_map(|p| (lo..=hi).map(move |x| [&p[..], &[x]].concat())).collect();
        }
        let value =
            |e: &Expr, p: &[i64]| e.substitute(&|v| Ok(Expr::Const(p[v.index as usize]))).unwrap().as_const().unwrap();
        let holds = |p: &Vec<i64>| found.constraints.iter().all(|(e, lo, hi)| (*lo..=*hi).contains(&value(e, p)));
        points.iter().filter(|p| holds(p)).map(|p| found.offset.iter().map(|e| value(e, p)).collect()).collect()
    }

    fn by_adding(vectors: &[Vector], n: i64) -> BTreeSet<Vec<i64>> {
        let mut found = BTreeSet::from([vec![0; vectors[0].len()]]);
        for _ in 0..n {
            let add = |a: &Vec<i64>| {
                vectors.iter().map(|v| a.iter().zip(v).map(|(x, y)| x + y).collect()).collect::<Vec<_>>()
            };
            found = found.iter().flat_map(add).collect();
        }
        found
    }

    #[test]
    fn sums_are_those_of_adding() {
        let mut state = 7u64;
        let mut random = move |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let mut n_exact = 0;
        for _ in 0..400 {
            let (rank, n, span) = (1 + random(3), random(4) as i64, 2 + random(3));
            let n_vectors = 1 + random(if rank == 3 { 4 } else { 6 });
            let vector = |_| (0..rank).map(|_| random(span) as i64 - 1).collect::<Vector>();
            let vectors: Vec<Vector> = (0..n_vectors).map(vector).collect::<BTreeSet<_>>().into_iter().collect();
            let found = sums(&vectors, &Expr::Const(n), n, 0).unwrap();
            let (own, wanted) = (values(&found), by_adding(&vectors, n));
            assert!(own.is_superset(&wanted), "{vectors:?} {n}");
            assert!(!found.exact || own == wanted, "{vectors:?} {n}");
            n_exact += i32::from(found.exact);
        }
        for n_vectors in [MAX_TERMS + 1, MAX_TERMS + 2] {
            // Without form: as many as may have a range variable each but one, and one more.
            let without_form = (0..).filter(|x| x % 5 != 3).take(n_vectors);
            let vectors: Vec<Vector> = without_form.map(|x| Vector::from_slice(&[x])).collect();
            let found = sums(&vectors, &Expr::Const(3), 3, 0).unwrap();
            assert!(values(&found).is_superset(&by_adding(&vectors, 3)));
            assert_eq!(found.exact, n_vectors == MAX_TERMS + 1);
        }
        assert_eq!(n_exact, 400);
    }

    fn far(v: &[i64]) -> i64 {
        v.iter().map(|x| x.abs()).sum()
    }

    #[test]
    fn stencils_have_few_ranges() {
        let all = |rank: u32, keep: fn(&[i64]) -> bool| -> Vec<Vector> {
            let at = |i: i64| (0..rank).map(|d| i / 3i64.pow(d) % 3 - 1).collect::<Vector>();
            (0..3i64.pow(rank)).map(at).filter(|v| keep(v)).collect()
        };
        let n_ranges = |vectors: &[Vector]| sums(vectors, &Expr::Const(9), 9, 0).map(|s| (s.ranges.len(), s.exact));
        assert_eq!(n_ranges(&all(1, |_| true)).unwrap(), (1, true));
        assert_eq!(n_ranges(&all(2, |v| far(v) <= 1)).unwrap(), (2, true), "with the center");
        assert_eq!(n_ranges(&all(2, |v| far(v) == 1)).unwrap(), (2, true), "without it, on every second element");
        assert_eq!(n_ranges(&all(2, |_| true)).unwrap(), (2, true));
        assert_eq!(n_ranges(&all(3, |_| true)).unwrap(), (3, true));
        assert_eq!(n_ranges(&all(3, |v| far(v) <= 1)).unwrap(), (6, true));
    }
}
