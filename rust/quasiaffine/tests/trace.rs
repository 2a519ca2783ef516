//! The trace of each case of `rules.txt` and `found.txt`: each step keeps the value of what it rewrites at every
//! point of the domain, and what it says of constraints holds there.

use quasiaffine::{Constraint, Expr, Interval, Map, Options, Points, Program, Variable};
use quasiaffine::{Statement, Step};

/// The most points of a case that are looked at.
const MAX_POINTS: u128 = 20_000;

/// Every point of the domain, as one row of all variables each; `None` if they are many.
fn points(map: &Map) -> Option<Vec<i64>> {
    let vars = &map.domain().vars;
    let n = vars.iter().try_fold(1u128, |n, v| n.checked_mul(v.interval.size())).filter(|n| *n <= MAX_POINTS)?;
    let mut rows = Vec::new();
    for i in 0..n {
        let mut left = i;
        for v in vars {
            rows.push(v.interval.lo + (left % v.interval.size()) as i64);
            left /= v.interval.size();
        }
    }
    let all = Points { n: n as usize, dims: &rows, ranges: &[], runtime: &[] };
    let domain = map.domain();
    if domain.n_dims < vars.len() {
        return None;
    }
    let inside = Program::of(domain, &[]).ok()?.in_domain(&all).ok()?;
    let kept = rows.chunks(vars.len().max(1)).zip(&inside).filter(|(_, inside)| **inside);
    Some(kept.flat_map(|(row, _)| row.to_vec()).collect())
}

/// The values of an expression at these points; `None` if one does not fit into 64 bits.
fn values(map: &Map, e: &Expr, points: &[i64]) -> Option<Vec<i64>> {
    let mut domain = map.domain().without_constraints();
    domain.vars.iter_mut().for_each(|v| *v = Variable::new(v.interval));
    let n = points.len() / domain.vars.len().max(1);
    let program = Program::of(&domain, std::slice::from_ref(e)).ok()?;
    program.run::<false>(&Points { n, dims: points, ranges: &[], runtime: &[] }).ok()
}

fn check(map: &Map, points: &[i64], step: &Step) -> Result<bool, String> {
    let fits = |e: &Expr| e.depth() < 64;
    if let ([Statement::Value(before)], [Statement::Value(after)]) = (&step.before[..], &step.after[..]) {
        if !fits(before) || !fits(after) {
            return Ok(false);
        }
        let (Some(before), Some(after)) = (values(map, before, points), values(map, after, points)) else {
            return Ok(false);
        };
        return if before == after { Ok(true) } else { Err(format!("{step}")) };
    }
    for statement in step.before.iter().chain(&step.after) {
        match statement {
            Statement::Constraint(e, Interval { lo, hi }) if fits(e) => {
                let Some(values) = values(map, e, points) else { return Ok(false) };
                if let Some(value) = values.iter().find(|x| *x < lo || hi < *x) {
                    return Err(format!("{step}, and {e} is {value}"));
                }
            }
            Statement::Contradiction if !points.is_empty() => return Err(format!("{step}, and there are points")),
            _ => return Ok(false),
        }
    }
    Ok(true)
}

#[test]
fn each_step_says_the_same_at_every_point() {
    let (mut n_checked, mut failures) = (0, Vec::new());
    for name in ["rules.txt", "found.txt"] {
        let path = format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines().filter(|line| line.contains("=>")) {
            let Some((_, map)) = line.split_once('(') else { continue };
            let Ok(map) = format!("({}", map.split_once("=>").unwrap().0).trim().parse::<Map>() else { continue };
            for step in map.simplify_traced(Options::default()).1 {
                let Ok(map) = Map::new((*step.domain).clone(), []) else { continue };
                let Some(points) = points(&map) else { continue };
                match check(&map, &points, &step) {
                    Ok(checked) => n_checked += usize::from(checked),
                    Err(failure) => failures.push(format!("{name}: {map}\n  {failure}")),
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(n_checked > 500, "only {n_checked} steps were checked");
}

#[test]
fn a_trace_names_rules_in_order() {
    let map = ("(d0, d1) -> ((d0 * 12 + d1) floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]").parse::<Map>().unwrap();
    let (simplified, steps) = map.simplify_traced(Options::default());
    assert_eq!(simplified.results()[0].to_string(), "d0 * 3 + d1 floordiv 4");
    let steps: Vec<String> = steps.iter().map(|step| step.to_string()).collect();
    assert_eq!(steps, ["multiples: (d0 * 12 + d1) floordiv 4 => d0 * 3 + d1 floordiv 4"]);
    let constraint = Constraint { expr: Expr::dim(0).scale(2).unwrap(), interval: Interval::new(0, 5) };
    let halved = Map::new(quasiaffine::Domain { constraints: vec![constraint], ..map.domain().clone() }, []).unwrap();
    let steps: Vec<String> = halved.simplify_traced(Options::default()).1.iter().map(|step| step.to_string()).collect();
    assert_eq!(steps, ["constraint-content: d0 * 2 in [0, 5] => d0 in [0, 2]"]);
}
