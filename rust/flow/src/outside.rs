//! The points of a domain at which conditions do not all hold, in disjoint pieces.

use quasiaffine::{Constraint, Domain, Expr, Interval, Kind, Map, Result};

/// The condition that an expression lies in `inside`; it always lies in `all`.
pub struct Condition {
    /// The compared expression.
    pub expr: Expr,
    /// The values for which the condition holds.
    pub inside: Interval,
    /// All values of the expression.
    pub all: Interval,
}

/// For each condition, the points below and above it at which all earlier conditions hold, as maps to `results`.
///
/// The domain has no constraints. A piece has the runtime variables up to the last one that its conditions use.
///
/// # Errors
/// As [`Map::new`].
pub fn outside(domain: &Domain, results: &[Expr], conditions: Vec<Condition>) -> Result<Vec<Map>> {
    let n_free = domain.n_dims + domain.n_ranges;
    let (mut pieces, mut hold) = (Vec::new(), Vec::<Constraint>::new());
    let mut n_runtime = 0;
    for Condition { expr, inside, all } in conditions {
        expr.for_each_var(&mut |v| {
            if v.kind == Kind::Runtime {
                n_runtime = n_runtime.max(v.index as usize + 1);
            }
        });
        let beside = [
            Interval::new(all.lo, inside.lo.saturating_sub(1).min(all.hi)),
            Interval::new(inside.hi.saturating_add(1).max(all.lo), all.hi),
        ];
        for interval in beside.into_iter().filter(|interval| !interval.is_empty()) {
            let mut constraints = hold.clone();
            constraints.push(Constraint { expr: expr.clone(), interval });
            let vars = domain.vars.iter().take(n_free + n_runtime).cloned().collect();
            pieces.push(Map::new(Domain { vars, constraints, ..*domain }, results.iter().cloned())?);
        }
        if inside.is_empty() {
            break;
        }
        hold.push(Constraint { expr, interval: inside });
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::{outside, Condition};
    use quasiaffine::Style;
    use quasiaffine::{Domain, Expr, Interval};

    #[test]
    fn pieces_of_a_frame() {
        let side = |d: u32, lo: i64, hi: i64, n: i64| Condition {
            expr: Expr::dim(d),
            inside: Interval::new(lo, hi),
            all: Interval::new(0, n - 1),
        };
        let text = |conditions| {
            let pieces = outside(&Domain::of_sizes(&[7, 5]), &[], conditions).unwrap();
            pieces.iter().map(|m| m.to_text(Style::Line).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(
            text(vec![side(0, 2, 4, 7), side(1, 0, 3, 5)]),
            [
                "(d0, d1) -> (), domain: d0 in [0, 1], d1 in [0, 4]",
                "(d0, d1) -> (), domain: d0 in [5, 6], d1 in [0, 4]",
                "(d0, d1) -> (), domain: d0 in [2, 4], d1 in [4, 4]",
            ]
        );
        // A condition that never holds leaves no points for later ones.
        let all = ["(d0, d1) -> (), domain: d0 in [0, 6], d1 in [0, 4]"];
        assert_eq!(text(vec![side(0, 0, -1, 7), side(1, 0, 3, 5)]), all);
        assert!(text(vec![side(0, 0, 6, 7)]).is_empty());
    }
}
