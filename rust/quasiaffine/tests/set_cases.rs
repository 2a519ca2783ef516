//! Runs `sets/*.txt`: `maps => answer`, one case a line. Maps of one side are separated by `|`, the two sides of a question
//! by `&`. `HLOMAP_BLESS=1` rewrites the answers; read the diff.

use std::fmt::Write;

use quasiaffine::{are_disjoint, coalesce, Answer, CommonElement, Interval, Map, Point};

fn check(name: &str, answer: impl Fn(&str) -> String) {
    let path = format!("{}/tests/sets/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let (mut blessed, mut failures) = (String::new(), String::new());
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            let _ = writeln!(blessed, "{line}");
            continue;
        }
        let (question, expected) = line.split_once("=>").unwrap_or((line, ""));
        let found = answer(question.trim());
        let _ = writeln!(blessed, "{} => {found}", question.trim());
        if found != expected.trim() {
            let _ = writeln!(
                failures,
                "{name}.txt:{}: {}\n  expected {}\n  found    {found}",
                i + 1,
                question.trim(),
                expected.trim()
            );
        }
    }
    if std::env::var("HLOMAP_BLESS").is_ok_and(|v| v == "1") {
        std::fs::write(&path, blessed).unwrap();
    } else {
        assert!(failures.is_empty(), "\n{failures}");
    }
}

fn maps(text: &str) -> Vec<Map> {
    text.split('|').map(|m| m.trim().parse::<Map>().unwrap_or_else(|e| panic!("{m}: {e}"))).collect()
}

fn sides(text: &str) -> [Vec<Map>; 2] {
    let (first, second) = text.split_once('&').unwrap_or_else(|| panic!("no '&' in {text}"));
    [maps(first), maps(second)]
}

fn tuple(values: &[i64]) -> String {
    values.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

fn point(p: &Point) -> String {
    let part = |open: &str, values: &[i64], close: &str| match values {
        [] => String::new(),
        values => format!("{open}{}{close}", tuple(values)),
    };
    format!("({}){}{}", tuple(&p.dims), part("[", &p.ranges, "]"), part("{", &p.runtime, "}"))
}

fn common(c: &CommonElement) -> String {
    format!("({}) from {} and {}", tuple(&c.element), point(&c.first), point(&c.second))
}

#[test]
fn overlaps() {
    check("overlap", |question| {
        let [first, second] = sides(question);
        match are_disjoint(&first, &second).unwrap() {
            Answer::Yes => "no".to_owned(),
            Answer::No(m) if first.len() + second.len() == 2 => format!("yes, {}", common(&m.common)),
            Answer::No(m) => format!("yes, maps {} and {}, {}", m.first, m.second, common(&m.common)),
            Answer::Unknown(reason) => format!("unknown: {reason}"),
        }
    });
}

#[test]
fn injectivity() {
    check("injective", |question| match question.parse::<Map>().unwrap().is_injective() {
        Answer::Yes => "yes".to_owned(),
        Answer::No(c) => format!("no, {}", common(&c)),
        Answer::Unknown(reason) => format!("unknown: {reason}"),
    });
}

#[test]
fn images() {
    check("image", |question| {
        // `[0, 3] x [1, 1] of MAP`; without bounds, over the whole domain.
        let (bounds, map) = question.split_once(" of ").unwrap_or(("", question));
        let map = map.parse::<Map>().unwrap();
        let bound = |text: &str| {
            let (lo, hi) = text.trim_matches(['[', ']', ' ']).split_once(',').unwrap();
            Interval::new(lo.trim().parse().unwrap(), hi.trim().parse().unwrap())
        };
        let bounds: Vec<Interval> = match bounds {
            "" => vec![Interval::ALL; map.domain().n_dims],
            bounds => bounds.split('x').map(bound).collect(),
        };
        map.image(&bounds).unwrap().to_string()
    });
}

#[test]
fn containments() {
    check("contains", |question| {
        let [outer, inner] = sides(question);
        match outer[0].contains(&inner[0]) {
            Answer::Yes => "yes".to_owned(),
            Answer::No(()) => "no".to_owned(),
            Answer::Unknown(_) => "unknown".to_owned(),
        }
    });
}

#[test]
fn equivalences() {
    check("equal", |question| {
        let [first, second] = sides(question);
        match first[0].equivalent(&second[0]) {
            Answer::Yes => "yes".to_owned(),
            Answer::No(at) => format!("no, at ({})", tuple(&at)),
            Answer::Unknown(reason) => format!("unknown: {reason}"),
        }
    });
}

#[test]
fn coalescing() {
    check("coalesce", |question| {
        let text = |m: &quasiaffine::Coalesced| m.map.to_string();
        coalesce(&maps(question)).iter().map(text).collect::<Vec<_>>().join(" | ")
    });
}
