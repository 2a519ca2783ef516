//! Random maps over small domains: simplification preserves the domain and all values and is idempotent, and bounds
//! contain all values.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use quasiaffine::{Constraint, Domain, Expr, Interval, Map, Options, Points, Program, Variable};

const DIMS: usize = 3;

fn expr(u: &mut Unstructured<'_>, depth: u32) -> arbitrary::Result<Expr> {
    let choice = if depth == 0 { u.int_in_range(0..=1)? } else { u.int_in_range(0..=8)? };
    let small = |u: &mut Unstructured<'_>| u.int_in_range(-20i64..=20);
    let divisor = |u: &mut Unstructured<'_>| u.int_in_range(1i64..=17);
    let built = match choice {
        0 => Ok(Expr::Const(small(u)?)),
        1 | 2 => Ok(Expr::dim(u.int_in_range(0..=DIMS as u32 - 1)?)),
        3 | 4 => expr(u, depth - 1)?.add(&expr(u, depth - 1)?),
        5 => expr(u, depth - 1)?.scale(small(u)?),
        6 => expr(u, depth - 1)?.floor_div(&Expr::Const(divisor(u)?)),
        7 => expr(u, depth - 1)?.floor_mod(&Expr::Const(divisor(u)?)),
        _ => expr(u, depth - 1)?.minimum(&expr(u, depth - 1)?),
    };
    built.map_err(|_| arbitrary::Error::IncorrectFormat)
}

fn range(u: &mut Unstructured<'_>) -> arbitrary::Result<Interval> {
    let lo = u.int_in_range(-6i64..=6)?;
    Ok(Interval::new(lo, lo + u.int_in_range(0i64..=8)?))
}

#[derive(Debug)]
struct Case(Map);

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Case> {
        let vars = (0..DIMS).map(|_| Ok(Variable::new(range(u)?))).collect::<arbitrary::Result<_>>()?;
        let constraints = (0..u.int_in_range(0..=2)?)
            .map(|_| Ok(Constraint { expr: expr(u, 3)?, interval: range(u)? }))
            .collect::<arbitrary::Result<_>>()?;
        let results = (0..u.int_in_range(1..=2)?).map(|_| expr(u, 5)).collect::<arbitrary::Result<Vec<_>>>()?;
        let domain = Domain { vars, n_dims: DIMS, n_ranges: 0, constraints };
        Map::new(domain, results).map(Case).map_err(|_| arbitrary::Error::IncorrectFormat)
    }
}

fn evaluate(m: &Map, rows: &[i64]) -> (Vec<bool>, Vec<i64>) {
    let n = rows.len() / DIMS;
    if m.state() != quasiaffine::State::Defined {
        return (vec![false; n], Vec::new());
    }
    let points = Points { n, dims: rows, ranges: &[], runtime: &[] };
    let program = Program::new(m).expect("a defined map");
    (program.in_domain(&points).expect("small numbers"), program.run::<false>(&points).expect("small numbers"))
}

fuzz_target!(|case: Case| {
    let map = case.0;
    // Every point of the box of the variables and those one step outside it.
    let vars = &map.domain().vars;
    let side = |i: usize| vars[i].interval.lo - 1..=vars[i].interval.hi + 1;
    let points = side(0).flat_map(|a| side(1).flat_map(move |b| side(2).map(move |c| [a, b, c])));
    let rows: Vec<i64> = points.flatten().collect();
    let simple = map.simplify(Options::default());
    assert_eq!(simple.simplify(Options::default()), simple, "{map}");
    let ((in_map, values), (in_simple, found)) = (evaluate(&map, &rows), evaluate(&simple, &rows));
    assert_eq!(in_map, in_simple, "{map}\n{simple}");
    let width = map.results().len();
    let bounds: Vec<Interval> = map.results().iter().map(|e| map.bounds(e).expect("small numbers")).collect();
    for i in (0..in_map.len()).filter(|i| in_map[*i]) {
        let row = &values[i * width..][..width];
        assert_eq!(row, &found[i * width..][..width], "{map}\n{simple}");
        assert!(row.iter().zip(&bounds).all(|(v, r)| r.contains(*v)), "{map}");
    }
});
