//! Parses arbitrary text as a map: the result is an error or a map that round-trips through its text, and that
//! simplification, composition, elimination and counting accept.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quasiaffine::{Map, Style};

fuzz_target!(|text: &str| {
    let Ok(map) = text.parse::<Map>() else { return };
    if let Ok(printed) = map.to_text(Style::Line) {
        assert_eq!(printed.parse::<Map>().as_ref(), Ok(&map), "{printed}");
    }
    let simple = map.simplify(Default::default());
    assert_eq!(simple.simplify(Default::default()), simple, "{map}");
    let _ = map.then(&simple);
    let fewer = map.eliminate_ranges(Default::default());
    let _ = quasiaffine::coalesce(&[map.clone(), simple, fewer]);
    let _ = (map.touched(), map.distinct(), map.inverse());
});
