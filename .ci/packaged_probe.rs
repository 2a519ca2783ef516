//! A program outside the workspace that uses the packaged crate: it asks each kind of question once, and gives wrong
//! input, which must be an error and never a panic. `packaged_tests` runs it.

use quasiaffine::{Count, Domain, Error, Expr, Map, Options, Points, Program};

fn main() -> Result<(), Error> {
    let there: Map = "(d0, d1) -> ((d0*3 + d1) floordiv 6, (d0*3 + d1) mod 6), domain: d0 in [0, 7], d1 in [0, 2]".parse()?;
    let back: Map = "(d0, d1) -> ((d0*6 + d1) floordiv 3, (d0*6 + d1) mod 3), domain: d0 in [0, 3], d1 in [0, 5]".parse()?;
    let simple = there.simplify(Options::new().drop_unused(true)).to_string();
    assert_eq!(simple, "(d0, d1) -> (d0 floordiv 2, (d0 mod 2) * 3 + d1), domain: d0 in [0, 7], d1 in [0, 2]");
    let round = there.compose(&back, Options::default())?.to_string();
    assert_eq!(round, "(d0, d1) -> (d0, d1), domain: d0 in [0, 7], d1 in [0, 2]");
    assert_eq!(there.distinct(), Count::exact(24));
    assert!(there.inverse().is_some());
    let program = Program::new(&there)?;
    let points = Points { n: 2, dims: &[7, 2, 0, 1], ranges: &[], runtime: &[] };
    assert_eq!(program.run::<true>(&points)?, [3, 5, 0, 1]);

    assert!(matches!("(d0) -> (d0 +), domain: d0 in [0, 1]".parse::<Map>(), Err(Error::Text(_))));
    assert!(matches!(Expr::dim(0).scale(i64::MAX)?.scale(2), Err(Error::Overflow(_))));
    assert!(matches!(Map::new(Domain::of_sizes(&[2]), [Expr::dim(1)]), Err(Error::UnknownVariable(_))));
    assert!(matches!(there.with_results([Expr::range(0)]), Err(Error::UnknownVariable(_))));
    let counts = Domain { n_dims: 9, ..Domain::of_sizes(&[2]) };
    assert!(matches!(Map::new(counts, []), Err(Error::Arity { expected: 9, found: 1, .. })));
    assert!(matches!(program.run::<false>(&Points { dims: &[7], ..points }), Err(Error::Arity { .. })));
    assert!(matches!(program.run_to::<false>(&points, 1, &mut [0; 3]), Err(Error::Arity { .. })));
    assert!(matches!(program.run::<true>(&Points { n: 1, dims: &[8, 0], ..points }), Err(Error::OutsideDomain(0))));
    println!("the packaged crate answers");
    Ok(())
}
