//! Any text: reading it is an error or a map, and a map prints, reads back, simplifies, composes and counts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbolic::text::{parse_map, Style};

fuzz_target!(|text: &str| {
    let Ok(map) = parse_map(text) else { return };
    if let Ok(printed) = map.to_text(Style::Line) {
        assert_eq!(parse_map(&printed).as_ref(), Ok(&map), "{printed}");
    }
    let simple = symbolic::simplify(&map, Default::default());
    assert_eq!(symbolic::simplify(&simple, Default::default()), simple, "{map}");
    let _ = symbolic::then(&map, &simple);
    let _ = (symbolic::touched(&map), symbolic::distinct(&map), symbolic::inverse(&map));
});
