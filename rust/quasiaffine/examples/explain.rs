//! Prints which rules simplify a map, and what each of them does.
//!
//!     cargo run -p quasiaffine --example explain -- "(d0) -> ((d0 * 8 + 5) floordiv 8), domain: d0 in [0, 3]"

use quasiaffine::{Error, Map, Options};

fn main() -> Result<(), Error> {
    let text = std::env::args().nth(1);
    let default = "(d0, d1) -> ((d0 * 12 + d1) floordiv 4, (d0 * 12 + d1) mod 4), domain: d0 in [0, 7], d1 in [0, 11]";
    let map: Map = text.as_deref().unwrap_or(default).parse()?;
    let (simplified, steps) = map.simplify_traced(Options::default());
    println!("{map}");
    for step in &steps {
        let [before, after] = step.to_text();
        println!("  {}: {}", step.rule.name(), step.rule.law());
        println!("    {before}\n    => {after}");
    }
    println!("{simplified}");
    Ok(())
}
