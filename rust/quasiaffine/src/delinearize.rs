//! Row-major linear indices of one array as indices into another array with as many elements.
//!
//! Dimensions are grouped where the products of the sizes agree, so that no division spans more dimensions than
//! necessary. Within a group an index is a digit of a mixed-radix number, and a digit that divides evenly needs no sum.

use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::int::gcd;

/// A digit of a number: the variable, its number of values, and its weight.
type Digit = (Expr, i64, i64);

/// The index into an array of sizes `target` whose linear index is that of `variables` in an array of sizes `source`;
/// zeros for arrays without elements.
///
/// ```
/// use quasiaffine::{delinearize, Expr};
/// let index = delinearize(&[Expr::dim(0), Expr::dim(1)], &[8, 3], &[4, 6])?;
/// let expected: [Expr; 2] = ["d0 floordiv 2".parse()?, "(d0 mod 2) * 3 + d1".parse()?];
/// assert_eq!(index, expected);
/// assert!(delinearize(&[Expr::dim(0)], &[8], &[7]).is_err());
/// # Ok::<(), quasiaffine::Error>(())
/// ```
///
/// # Errors
/// [`Error::Overflow`] if the number of elements does not fit in 64 bits, [`Error::Arity`] if the numbers of elements
/// differ.
pub fn delinearize(variables: &[Expr], source: &[i64], target: &[i64]) -> Result<Vec<Expr>> {
    let n_elements = |sizes: &[i64]| {
        let product = sizes.iter().try_fold(1i64, |product, &n| product.checked_mul(n));
        product.ok_or(Error::Overflow("the number of elements"))
    };
    let (n, expected) = (n_elements(target)?, n_elements(source)?);
    if n != expected || source.iter().chain(target).any(|&n| n < 0) {
        return Err(Error::Arity { what: "elements", expected: expected as usize, found: n as usize });
    }
    if variables.len() != source.len() {
        return Err(Error::Arity { what: "variables", expected: source.len(), found: variables.len() });
    }
    let mut results = vec![Expr::Const(0); target.len()];
    if n == 0 {
        return Ok(results);
    }
    let long = |sizes: &[i64]| (0..sizes.len()).filter(|&i| sizes[i] != 1).collect::<Vec<_>>();
    let (left, right) = (long(source), long(target));
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        // A minimal group of consecutive dimensions with equal products.
        let (start_i, start_j) = (i, j);
        let (mut a, mut b) = (source[left[i]], target[right[j]]);
        while a != b {
            if a < b {
                i += 1;
                a *= source[left[i]];
            } else {
                j += 1;
                b *= target[right[j]];
            }
        }
        (i, j) = (i + 1, j + 1);
        let mut weight = a;
        let number: Vec<Digit> = left[start_i..i]
            .iter()
            .map(|&d| {
                weight /= source[d];
                (variables[d].clone(), source[d], weight)
            })
            .collect();
        let mut stride = b;
        for &d in &right[start_j..j] {
            stride /= target[d];
            results[d] = digit(&number, target[d], stride)?;
        }
    }
    Ok(results)
}

/// `(number floordiv stride) mod size`.
fn digit(number: &[Digit], size: i64, stride: i64) -> Result<Expr> {
    let above = size * stride;
    // A digit that is a multiple of `above` does not change this one.
    let number: Vec<&Digit> = number.iter().filter(|(_, _, weight)| weight % above != 0).collect();
    let mut sum = Expr::Const(0);
    for &&(ref variable, length, weight) in &number {
        let piece = if weight * length <= above && above % (weight * length) == 0 {
            variable.clone()
        } else if above % weight == 0 && (weight * length) % above == 0 {
            variable.floor_mod(&Expr::Const(above / weight))?
        } else {
            return digit_of_sum(&number, size, stride);
        };
        if weight % stride == 0 {
            sum = sum.add(&piece.scale(weight / stride)?)?;
        } else if stride % weight == 0 && (weight * length) % stride == 0 {
            sum = sum.add(&piece.floor_div(&Expr::Const(stride / weight))?)?;
        } else if stride % (weight * length) != 0 {
            return digit_of_sum(&number, size, stride);
        }
    }
    Ok(sum)
}

/// The digit by division of the sum itself, if the digits of both arrays straddle each other.
fn digit_of_sum(number: &[&Digit], size: i64, stride: i64) -> Result<Expr> {
    let above = size * stride;
    let common = number.iter().fold(stride, |common, (_, _, weight)| gcd(common, *weight).unwrap_or(1));
    let (mut sum, mut last) = (Expr::Const(0), 0);
    for (variable, length, weight) in number {
        sum = sum.add(&variable.scale(weight / common)?)?;
        last += (length - 1) * weight;
    }
    if last >= above {
        sum = sum.floor_mod(&Expr::Const(above / common))?;
    }
    sum.floor_div(&Expr::Const(stride / common))
}

#[cfg(test)]
mod tests {
    use super::delinearize;
    use crate::expr::Expr;

    /// Evaluates every index by the law itself and by the expressions.
    #[test]
    fn indices_have_the_same_linear_index() {
        for (source, target) in [
            (vec![4, 6], vec![8, 3]),
            (vec![4, 6], vec![2, 2, 6]),
            (vec![6, 10], vec![4, 15]),
            (vec![1, 12, 5], vec![3, 4, 1, 5]),
            (vec![9, 4, 5], vec![6, 6, 5]),
            (vec![], vec![1, 1]),
        ] {
            let dims: Vec<Expr> = (0..source.len() as u32).map(Expr::dim).collect();
            let found = delinearize(&dims, &source, &target).unwrap();
            for linear in 0..source.iter().product::<i64>() {
                let split = |sizes: &[i64]| {
                    let mut rest = linear;
                    let mut index: Vec<i64> = sizes.iter().rev().map(|n| (rest % n, rest /= n).0).collect();
                    index.reverse();
                    index
                };
                let at = split(&source);
                let value = |e: &Expr| e.substitute(&|v| Ok(Expr::Const(at[v.index as usize]))).unwrap().as_const();
                let values: Vec<Option<i64>> = found.iter().map(value).collect();
                assert_eq!(values, split(&target).into_iter().map(Some).collect::<Vec<_>>(), "{source:?} {target:?}");
            }
        }
    }

    #[test]
    fn arrays_without_elements_and_of_other_sizes() {
        assert_eq!(delinearize(&[Expr::dim(0)], &[0], &[5, 0]).unwrap(), [Expr::Const(0), Expr::Const(0)]);
        for (source, target) in [([4], [5]), ([-1], [-1]), ([i64::MIN], [0])] {
            assert!(delinearize(&[Expr::dim(0)], &source, &target).is_err());
        }
        assert!(delinearize(&[Expr::dim(0), Expr::dim(1)], &[1 << 40, 1 << 40], &[1]).is_err());
    }
}
