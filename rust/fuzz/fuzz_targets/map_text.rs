//! Parses arbitrary text as a map: the result is an error or a map that round-trips through its text, and that
//! simplification, composition, elimination and counting accept.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quasiaffine::{parse_map, Style};

fuzz_target!(|text: &str| {
    let Ok(map) = parse_map(text) else { return };
    if let Ok(printed) = map.to_text(Style::Line) {
        assert_eq!(parse_map(&printed).as_ref(), Ok(&map), "{printed}");
    }
    let simple = quasiaffine::simplify(&map, Default::default());
    assert_eq!(quasiaffine::simplify(&simple, Default::default()), simple, "{map}");
    let _ = quasiaffine::then(&map, &simple);
    let fewer = quasiaffine::eliminate_ranges(&map, Default::default());
    let _ = quasiaffine::coalesce(&[map.clone(), simple, fewer]);
    let _ = (quasiaffine::touched(&map), quasiaffine::distinct(&map), quasiaffine::inverse(&map));
});
