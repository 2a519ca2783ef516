//! Wrong input at the face of the crate is an error, never a panic: text, numbers, shapes and tables.

use quasiaffine::{
    Constraint, Count, Domain, Error, Expr, Interval, Kind, Map, Options, Points, Program, Var, Variable,
};

fn map(text: &str) -> Map {
    text.parse().unwrap()
}

fn unknown(index: u32) -> Expr {
    Expr::Var(Var { kind: Kind::Range, index })
}

#[test]
fn text_that_is_no_map_is_an_error_with_its_place() {
    for text in [
        "",
        "(d0",
        "(d0) -> (d0)",
        "(d0) -> (d1), domain: d0 in [0, 1]",
        "(d0) -> (99999999999999999999), domain: d0 in [0, 1]",
        "é",
    ] {
        let Err(Error::Text(error)) = text.parse::<Map>() else { panic!("{text}") };
        assert!(error.line == 1 && !error.expected.is_empty(), "{text}");
    }
}

#[test]
fn numbers_that_do_not_fit_are_errors() {
    let large = Expr::dim(0).scale(i64::MAX).unwrap();
    assert!(matches!(large.scale(2), Err(Error::Overflow(_))));
    assert!(matches!(large.add(&large), Err(Error::Overflow(_))));
    assert!(matches!(Expr::dim(0).floor_div(&Expr::from(0)), Err(Error::Divisor(_))));
    let far = map("(d0) -> (d0 * 4611686018427387904), domain: d0 in [0, 9]");
    assert!(matches!(far.then(&far), Err(Error::Overflow(_))));
    let at = Program::new(&far).unwrap().run::<false>(&Points { n: 1, dims: &[9], ranges: &[], runtime: &[] });
    assert!(matches!(at, Err(Error::PointOverflow { row: 0, bits: 64, .. })));
}

#[test]
fn parts_that_do_not_fit_together_are_errors() {
    let domain = || Domain::of_sizes(&[2, 3]);
    assert!(matches!(Map::new(domain(), [unknown(0)]), Err(Error::UnknownVariable(_))));
    assert!(matches!(
        map("(d0) -> (d0), domain: d0 in [0, 1]").with_results([unknown(3)]),
        Err(Error::UnknownVariable(_))
    ));
    let constraint = Constraint { expr: unknown(1).scale(2).unwrap(), interval: Interval::new(0, 1) };
    let foreign = Domain { constraints: vec![constraint], ..domain() };
    assert!(matches!(Map::new(foreign, []), Err(Error::UnknownVariable(_))));
    let bare = Domain { constraints: vec![Constraint { expr: unknown(1), interval: Interval::new(0, 1) }], ..domain() };
    assert!(matches!(Map::new(bare, []), Err(Error::UnknownVariable(_))));
    for (n_dims, n_ranges) in [(3, 0), (1, 2), (usize::MAX, 1), (1, usize::MAX)] {
        let wrong = Domain { n_dims, n_ranges, ..domain() };
        assert!(wrong.dims().len() + wrong.ranges().len() + wrong.n_runtime() == 2, "{wrong:?}");
        assert!(matches!(Map::new(wrong.clone(), []), Err(Error::Arity { found: 2, .. })), "{wrong:?}");
        assert!(matches!(Program::of(&wrong, &[]), Err(Error::Arity { found: 2, .. })), "{wrong:?}");
    }
    let two = map("(d0) -> (d0, d0), domain: d0 in [0, 1]");
    assert!(matches!(two.compose(&two, Options::default()), Err(Error::Arity { expected: 1, found: 2, .. })));
    assert!(matches!(two.image(&[Interval::new(0, 1); 2]), Err(Error::Arity { expected: 1, found: 2, .. })));
    assert!(two.converse(&[2]).is_err());
    let unnamed = Variable { name: Some("a b".into()), ..Variable::new(Interval::new(0, 1)) };
    let named = Domain { vars: [unnamed].into_iter().collect(), n_dims: 1, ..Domain::default() };
    assert!(matches!(Map::new(named, []), Err(Error::Name(_))));
}

#[test]
fn tables_of_another_length_are_errors() {
    let sum = map("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 9], s0 in [0, 9]");
    let program = Program::new(&sum).unwrap();
    let right = Points { n: 2, dims: &[1, 2], ranges: &[3, 4], runtime: &[] };
    assert_eq!(program.run::<true>(&right), Ok(vec![4, 6]));
    for wrong in [
        Points { dims: &[1], ..right },
        Points { dims: &[1, 2, 3], ..right },
        Points { ranges: &[], ..right },
        Points { runtime: &[1], ..right },
        Points { n: 1, ..right },
        Points { n: usize::MAX, ..right },
    ] {
        assert!(matches!(program.run::<false>(&wrong), Err(Error::Arity { .. } | Error::TooLarge(_))), "{wrong:?}");
        assert!(
            matches!(program.run_on::<true>(&wrong, 2), Err(Error::Arity { .. } | Error::TooLarge(_))),
            "{wrong:?}"
        );
        assert!(matches!(program.in_domain(&wrong), Err(Error::Arity { .. } | Error::TooLarge(_))), "{wrong:?}");
    }
    assert!(matches!(program.run_to::<false>(&right, 1, &mut [0; 3]), Err(Error::Arity { expected: 2, found: 3, .. })));
    // Points without coordinates need no table: only their number says how many rows there are.
    let constant = Program::new(&map("() -> (7)")).unwrap();
    let many = |n| Points { n, dims: &[], ranges: &[], runtime: &[] };
    assert_eq!(constant.run::<false>(&many(2)), Ok(vec![7, 7]));
    assert!(matches!(constant.run::<false>(&many(usize::MAX)), Err(Error::TooLarge(_))));
    assert!(matches!(constant.in_domain(&many(usize::MAX)), Err(Error::TooLarge(_))));
}

#[test]
fn maps_without_points_or_meaning_have_answers() {
    let empty = map("(d0) -> (d0), domain: d0 in [3, 2]");
    let undefined = Map::undefined(empty.domain());
    assert_eq!((empty.touched(), empty.distinct()), (Count::exact(0), Count::exact(0)));
    for odd in [&empty, &undefined] {
        assert_eq!(odd.simplify(Options::default()), *odd);
        assert_eq!(odd.with_results([Expr::dim(0)]).as_ref(), Ok(odd));
        let _ = (odd.inverse(), odd.touched(), odd.bounds(&Expr::dim(7)), odd.converse(&[]));
    }
    assert!(matches!(Program::new(&undefined), Err(Error::Undefined)));
}

/// The names that a module declares for other crates: items, and what it passes on from its own modules.
fn declared(module: &str, text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let text = text.split("\n#[cfg(test)]").next().unwrap_or_default();
    for statement in text.split("\npub ").skip(1) {
        let words: Vec<&str> = statement.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        match words[..] {
            ["use", ..] => {
                let list = statement[..statement.find(';').unwrap()].rsplit("::").next().unwrap();
                names.extend(list.trim_matches(['{', '}']).split(',').map(|name| name.trim().to_owned()));
            }
            ["fn" | "struct" | "enum" | "trait" | "type" | "const", name, ..] => names.push(name.to_owned()),
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names.into_iter().map(|name| format!("{module}{name}")).collect()
}

/// A name is a promise. One more needs a question that no other name answers, and a line in `CHANGELOG.md`.
#[test]
fn the_public_names_are_those_of_the_list() {
    let read = |path: &str| std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR")));
    let lib = read("src/lib.rs").unwrap();
    let mut names = declared("", &lib);
    for module in lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')) {
        let text = read(&format!("src/{module}.rs")).or_else(|_| read(&format!("src/{module}/mod.rs"))).unwrap();
        names.extend(declared(&format!("{module}::"), &text));
    }
    names.sort();
    assert_eq!(names.join("\n"), include_str!("names.txt").trim_end());
}
