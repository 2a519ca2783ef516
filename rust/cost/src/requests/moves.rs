//! The dependence of expressions on dims.

use std::collections::BTreeMap;

use quasiaffine::{Expr, Kind, Op, Var};

/// The change by one step of each dim; `None` if it varies or is unknown. Dims whose steps add nothing are omitted.
pub(super) type Moves = BTreeMap<usize, Option<i64>>;

/// The change of an expression by one step of each dim, everywhere.
pub(super) fn moves(e: &Expr) -> Moves {
    let mut found = Moves::new();
    match (e, e.op()) {
        (Expr::Var(Var { kind: Kind::Dim, index }), _) => drop(found.insert(*index as usize, Some(1))),
        (_, Some(Op::Sum(_))) => {
            for (factor, atom) in e.terms() {
                for (dim, step) in moves(atom) {
                    let step = step.and_then(|step| step.checked_mul(factor));
                    let all = found.entry(dim).or_insert(Some(0));
                    *all = all.zip(step).and_then(|(all, step)| all.checked_add(step));
                }
            }
        }
        (_, Some(Op::FloorDiv(a, Expr::Const(n)))) => {
            found = moves(a);
            found.values_mut().for_each(|step| *step = step.filter(|step| step % n == 0).map(|step| step / n));
        }
        (_, Some(Op::Mod(a, Expr::Const(n)))) => {
            found = moves(a);
            found.values_mut().for_each(|step| *step = step.filter(|step| step % n == 0).map(|_| 0));
        }
        (_, Some(Op::Min(a, b) | Op::Max(a, b))) => {
            let (a, b) = (moves(a), moves(b));
            for dim in a.keys().chain(b.keys()) {
                let of = |side: &Moves| side.get(dim).copied().unwrap_or(Some(0));
                found.insert(*dim, of(&a).filter(|_| of(&a) == of(&b)));
            }
        }
        _ => e.operands().for_each(|part| found.extend(moves(part).into_keys().map(|dim| (dim, None)))),
    }
    found.retain(|_, step| *step != Some(0));
    found
}

/// The dims that occur in an expression, perhaps several times.
pub(super) fn dims_of(e: &Expr) -> Vec<usize> {
    let mut found = Vec::new();
    e.for_each_var(&mut |v| found.extend((v.kind == Kind::Dim).then_some(v.index as usize)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_add_the_same_everywhere() {
        let of = |text: &str| {
            let map: quasiaffine::Map =
                format!("(d0, d1) -> ({text}), domain: d0 in [0, 9], d1 in [0, 9]").parse().unwrap();
            moves(&map.results()[0]).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of("(d0 + d1 * 6) mod 3 + d1 * 2"), [(0, None), (1, Some(2))]);
        assert_eq!(of("d1 floordiv 2"), [(1, None)]);
        assert_eq!(of("(d0 * 4) floordiv 2 + d1 - d1"), [(0, Some(2))]);
        assert_eq!(of("max(d0 + d1, d0 + d1 * 2)"), [(0, Some(1)), (1, None)]);
        assert_eq!(of("d0 * d1"), [(0, None), (1, None)]);
    }
}
