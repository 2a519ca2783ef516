//! No input panics: every function of one or two maps answers maps that are empty, undefined, of other sizes, or at the
//! ends of 64 bits, and options, bounds and sizes that do not fit them.

use std::panic::{catch_unwind, AssertUnwindSafe};

use quasiaffine::tile::{Memo, SymbolicTile, TiledMap};
use quasiaffine::{
    are_disjoint, coalesce, count_windows, covers, delinearize, fewest, merge, solve, Constraint, Counting, Domain,
    Expr, Interval, Map, Options, Points, Program, Style, Var, Variable,
};

const ENDS: [i64; 7] = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];

const TEXTS: [&str; 22] = [
    "() -> ()",
    "() -> (7)",
    "(d0) -> (), domain: d0 in [0, 3]",
    "(d0) -> (d0), domain: d0 in [0, 3]",
    "(d0) -> (d0), domain: d0 in [3, 0]",
    "(d0) -> (d0), domain: d0 in [9223372036854775807, -9223372036854775808]",
    "(d0) -> (d0), domain: d0 in [-9223372036854775808, 9223372036854775807]",
    "(d0) -> (d0 * 9223372036854775807), domain: d0 in [-9223372036854775808, 9223372036854775807]",
    "(d0) -> (d0 * -9223372036854775808 + 9223372036854775807), domain: d0 in [0, 9223372036854775807]",
    "(d0) -> (d0 floordiv 9223372036854775807, d0 mod 9223372036854775807), domain: d0 in [-9223372036854775808, 9223372036854775807]",
    "(d0, d1) -> (d1, d0), domain: d0 in [-9223372036854775808, -9223372036854775808], d1 in [9223372036854775807, 9223372036854775807]",
    "(d0, d1)[s0] -> (d0 + s0, d1), domain: d0 in [0, 9223372036854775807], d1 in [0, 3], s0 in [0, 9223372036854775807]",
    "(d0)[s0, s1] -> (d0 * 3 + s0, s1), domain: d0 in [0, 3], s0 in [0, 2], s1 in [-9223372036854775808, 9223372036854775807]",
    "(d0)[s0] -> (d0), domain: d0 in [0, 3], s0 in [0, 2], d0 + s0 in [-9223372036854775808, -9223372036854775808]",
    "(d0)[s0] -> (s0), domain: d0 in [0, 7], s0 in [2, 9], d0 + s0 in [9223372036854775807, 9223372036854775807]",
    "(d0)[s0] -> (s0), domain: d0 in [0, 7], s0 in [2, 9], s0 mod 2 in [-5, 1], d0 * 9223372036854775807 in [-1, 9223372036854775807]",
    "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 9], rt0 in [-9223372036854775808, 9223372036854775807]",
    "(d0){rt0} -> (d0), domain: d0 in [0, 9], rt0 in [0, 7], d0 - rt0 in [-7, -1], runtime: rt0 = #1()",
    "(d0){rt0, rt1} -> (rt1), domain: d0 in [0, 9], rt0 in [5, 0], rt1 in [0, 7], runtime: rt0 = #1(d0), rt1 = #-9223372036854775808(rt0)",
    "(d0, d1) -> (d0 * d1, d0 floordiv (d1 + 1), min(d0, d1) mod (d0 + 1)), domain: d0 in [0, 99], d1 in [0, 9223372036854775806]",
    "(d0, d1) -> (max(d0 * d0 * d0 * d0, d1)), domain: d0 in [0, 9223372036854775807], d1 in [0, 3]",
    "(d0, d1, d2) -> ((d0 * 6 + d1 * 2 + d2) floordiv 4, (d0 * 6 + d1 * 2 + d2) mod 4), domain: d0 in [0, 7], d1 in [0, 2], d2 in [0, 1]",
];

fn maps() -> Vec<Map> {
    let mut maps: Vec<Map> = TEXTS.iter().map(|text| text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))).collect();
    let sizes = [&[3, 0][..], &[i64::MIN], &[i64::MAX; 3], &[2; 70], &[]];
    for domain in sizes.map(Domain::of_sizes) {
        maps.extend([Map::undefined(&domain), Map::empty(&domain)]);
        maps.push(Map::identity(domain).unwrap());
    }
    let many = Domain { vars: vec![Variable::new(Interval::new(0, 1)); 70].into(), n_ranges: 70, ..Domain::default() };
    let sum = (0..70).map(Expr::range).try_fold(Expr::from(0), |sum, s| sum.add(&s)).unwrap();
    maps.push(Map::new(many, [sum]).unwrap());
    // Domains that count other variables than they have.
    for (n_dims, n_ranges) in [(5, 0), (0, 5), (usize::MAX, 1), (1, usize::MAX)] {
        let wrong = Domain { n_dims, n_ranges, ..Domain::of_sizes(&[2, 2]) };
        assert!(Map::new(wrong.clone(), [Expr::dim(0)]).is_err() && Map::identity(wrong.clone()).is_err());
        maps.extend([Map::undefined(&wrong), Map::empty(&wrong)]);
    }
    maps
}

/// Calls a function, which may return what it likes.
fn calm<T>(call: &str, of: &dyn std::fmt::Debug, work: impl FnOnce() -> T) {
    if catch_unwind(AssertUnwindSafe(|| drop(work()))).is_err() {
        panic!("{call} of {of:?}");
    }
}

#[test]
fn a_question_about_one_map_has_an_answer() {
    let all = Options::new().drop_unused(true).solve(true).rescale(true);
    for m in &maps() {
        calm("simplify", m, || (m.simplify(Options::new()), m.simplify(all), m.simplify_traced(all)));
        calm("text", m, || [Style::Line, Style::Xla, Style::Multiline].map(|style| m.to_text(style)));
        calm("ranges", m, || (m.eliminate_ranges(all), m.compact_ranges(all), m.compact_ranges(Options::new())));
        calm("runtime", m, || (m.for_any_runtime(), m.unconditional(all)));
        calm("counts", m, || (m.touched(), m.distinct(), count_windows(&[m])));
        calm("decisions", m, || (m.is_empty(), m.is_injective(), m.equivalent(m), m.contains(m)));
        calm("inverse", m, || m.inverse());
        calm("bounds", m, || (m.result_bounds().len(), m.bounds(&Expr::dim(9)), m.bounds(&Expr::from(i64::MIN))));
        calm("parts", m, || (m.cost(), m.expressions().count(), m.remap_sources(&|id| id.checked_sub(1))));
        calm("results", m, || (m.with_results([]), m.with_results([Expr::runtime(0)])));
        calm("solve", m, || solve([m, m].into_iter()));
        for bounds in [&[][..], &[Interval::ALL; 9], &[Interval::EMPTY], &[Interval::new(i64::MAX, i64::MIN)]] {
            calm("image", m, || m.image(bounds));
        }
        for sizes in [&[][..], &[i64::MIN], &[i64::MAX; 2], &[4, 4, 4]] {
            calm("converse", m, || m.converse(sizes));
            calm("substituted", m, || m.substituted(Domain::of_sizes(sizes), &|v| Expr::Var(v).scale(i64::MAX)));
            calm("symbolic tile", &(m, sizes), || SymbolicTile::of(m, sizes, sizes));
            for n_parallel in [0, 9] {
                calm("tile", &(m, sizes, n_parallel), || {
                    let tiled = TiledMap::new(m, sizes, n_parallel, TiledMap::FEW_POINTS);
                    let mut memo = Memo::default();
                    for n in [&[][..], &[0], &[i64::MIN, 3], &[i64::MAX; 9], &[2; 3]] {
                        tiled.count(n, &mut memo);
                        tiled.tile(n, n, n);
                        tiled.largest_tile(n, n);
                    }
                });
            }
        }
        let domain = m.domain();
        calm("domain", m, || (domain.check_names(), domain.without_constraints(), domain.var(usize::MAX)));
        for v in ["d0", "s0", "rt0", "d4294967295", "s4294967295", "rt4294967295"].map(Var::named) {
            let v = v.unwrap();
            calm("variable", &(m, v), || (domain.flat(v), domain.name(v), domain.range_of(&Expr::Var(v))));
        }
        calm("program", m, || -> quasiaffine::Result<()> {
            let program = Program::of(domain, m.results())?;
            for (n, table) in [(0, &[][..]), (1, &[]), (1, &ENDS[..1]), (7, &ENDS), (usize::MAX, &ENDS)] {
                let points = Points { n, dims: table, ranges: table, runtime: table };
                let _ = (program.run::<true>(&points), program.run_on::<false>(&points, 0), program.in_domain(&points));
                let points = Points { ranges: &[], runtime: &[], ..points };
                let _ = (program.run::<true>(&points), program.run_on::<false>(&points, 3), program.in_domain(&points));
            }
            Ok(())
        });
    }
}

#[test]
fn a_question_about_two_maps_has_an_answer() {
    let maps = maps();
    for a in &maps {
        for b in &maps {
            let both = &(a, b);
            let pair = [a.clone(), b.clone()];
            calm("then", both, || (a.then(b), a.compose(b, Options::new()), a.compose_elements(b, Options::new())));
            calm("compared", both, || (a.equivalent(b), a.contains(b), a.plainly_contains(b, Counting::Elements)));
            calm("disjoint", both, || are_disjoint(&pair[..1], &pair[1..]));
            calm("covers", both, || covers(&[(pair[..1].to_vec(), pair[1..].to_vec())]));
            calm("union", both, || (coalesce(&pair), fewest(&pair)));
            calm("merge", both, || [Counting::Elements, Counting::Pairs, Counting::Reads].map(|c| merge(&pair, c)));
            calm("windows", both, || count_windows(&[a, b]));
            calm("solve", both, || solve(pair.iter()));
        }
    }
}

#[test]
fn numbers_at_the_ends_of_64_bits_have_an_answer() {
    let exprs: Vec<Expr> = ENDS.iter().map(|n| Expr::from(*n)).chain(ENDS.iter().map(|n| scaled(*n))).collect();
    for a in &exprs {
        for b in &exprs {
            let both = &(a, b);
            calm("sum", both, || (a.add(b), a.sub(b), a.mul(b), Expr::sum([(i64::MIN, a), (i64::MAX, b)])));
            calm("division", both, || (a.floor_div(b), a.floor_mod(b), a.ceil_div(b), a.minimum(b), a.maximum(b)));
            calm("digits", both, || (a.digits(), a.floor_mod(b).map(|e| e.digits())));
            calm("map", both, || {
                let constraint = Constraint { expr: a.clone(), interval: Interval::new(i64::MAX, i64::MIN) };
                Map::new(Domain { constraints: vec![constraint], ..Domain::of_sizes(&[3]) }, [b.clone()])
            });
        }
    }
    for lo in ENDS {
        for hi in ENDS {
            let i = Interval::new(lo, hi);
            calm("interval", &i, || (i.size(), i.as_point(), i.negated(), i.hull(Interval::ALL), i.intersect(i)));
            ENDS.iter().for_each(|c| calm("moved", &(i, c), || (i.plus(*c), i.minus(*c), i.contains(*c))));
            for sizes in [&[lo][..], &[lo, hi], &[hi, lo, 0], &[]] {
                let variables: Vec<Expr> = (0..2).map(Expr::dim).collect();
                calm("delinearize", &sizes, || (delinearize(&variables, sizes, &[lo]), delinearize(&[], &[], sizes)));
                calm("domain", &sizes, || Map::identity(Domain::of_sizes(sizes)));
            }
        }
    }
}

fn scaled(factor: i64) -> Expr {
    Expr::dim(0).scale(factor).unwrap()
}
