//! Runs `rules.txt` and `found.txt`: `map => simplified map`, the rules that must fire in `!name` marks before it.
//!
//! A line that names a rule with `!` fires it; a line that names it with `~` just misses it. Every rule of the simplifier
//! needs both. `HLOMAP_BLESS=1` rewrites the right sides; read the diff.

use std::collections::BTreeMap;
use std::fmt::Write;

use quasiaffine::Map;

use quasiaffine::Options;
use quasiaffine::Rule;

struct Case<'a> {
    line: usize,
    marks: Vec<&'a str>,
    options: Options,
    before: &'a str,
    after: &'a str,
}

fn parse_case(line: usize, text: &str) -> Case<'_> {
    let (left, after) = text.split_once("=>").unwrap_or_else(|| panic!("line {line}: no '=>'"));
    let mut before = left.trim();
    let mut marks = Vec::new();
    let mut options = Options::default();
    while let Some((mark, rest)) = before.split_once(' ').filter(|(m, _)| m.starts_with(['!', '~', '+'])) {
        match mark {
            "+drop-unused" => (options.drop_unused, options.solve) = (true, true),
            "+rescale" => options.rescale = true,
            "+keep-point-dims" => options.keep_point_dims = true,
            mark => marks.push(mark),
        }
        before = rest.trim_start();
    }
    Case { line, marks, options, before, after: after.trim() }
}

fn run(name: &str) -> BTreeMap<String, (usize, usize)> {
    let path = format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut seen: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let (mut failures, mut blessed) = (String::new(), String::new());
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            blessed.push_str(line);
            blessed.push('\n');
            continue;
        }
        let case = parse_case(i + 1, line);
        let map = case.before.parse::<Map>().unwrap_or_else(|e| panic!("{name}:{}: {e}", case.line));
        let simplified = map.simplify(case.options);
        let (traced, steps) = map.simplify_traced(case.options);
        let fired: Vec<&str> = steps.iter().map(|step| step.rule.name()).collect();
        let again = simplified.simplify(case.options);
        for mark in &case.marks {
            let rule = &mark[1..];
            assert!(
                Rule::ALL.iter().any(|known| known.name() == rule),
                "{name}:{}: no rule is called {rule}",
                case.line
            );
            let wanted = mark.starts_with('!');
            let entry = seen.entry(rule.to_owned()).or_default();
            *(if wanted { &mut entry.0 } else { &mut entry.1 }) += 1;
            if fired.contains(&rule) != wanted {
                let _ = writeln!(failures, "{name}:{}: {mark} but fired {fired:?}", case.line);
            }
        }
        if simplified.to_string() != case.after {
            let _ = writeln!(
                failures,
                "{name}:{}: {}\n  expected {}\n  found    {simplified}",
                case.line, case.before, case.after
            );
        }
        if traced != simplified {
            let _ = writeln!(failures, "{name}:{}: without shortcuts {traced}, with them {simplified}", case.line);
        }
        if again != simplified {
            let _ = writeln!(failures, "{name}:{}: simplified twice is {again}, once is {simplified}", case.line);
        }
        let _ = writeln!(blessed, "{} => {simplified}", line.split_once("=>").unwrap().0.trim_end());
    }
    if std::env::var_os("HLOMAP_BLESS").is_some() {
        std::fs::write(&path, blessed).unwrap();
    } else {
        assert!(failures.is_empty(), "{failures}");
    }
    seen
}

#[test]
fn rules_do_what_their_cases_say_and_none_is_dead() {
    let seen = run("rules.txt");
    for rule in Rule::ALL.iter().map(|rule| rule.name()) {
        let (fires, misses) = seen.get(rule).copied().unwrap_or_default();
        assert!(fires > 0, "no case fires {rule}");
        assert!(misses > 0, "no case just misses {rule}");
    }
}

#[test]
fn what_search_found_stays_fixed() {
    run("found.txt");
}
