//! Composes two maps from the command line, or a reshape and a transpose, and prints what the result costs.
//!
//!     cargo run -p quasiaffine --example compose -- "(d0) -> (d0 * 4), domain: d0 in [0, 7]" "(d0) -> (d0 floordiv 2), domain: d0 in [0, 31]"

use quasiaffine::{Error, Map, Options};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let texts = match &arguments[..] {
        [first, second] => [first.as_str(), second.as_str()],
        _ => [
            "(d0, d1) -> ((d0 * 4 + d1) floordiv 12, (d0 * 4 + d1) mod 12), domain: d0 in [0, 95], d1 in [0, 3]",
            "(d0, d1) -> (d1, d0), domain: d0 in [0, 31], d1 in [0, 11]",
        ],
    };
    let (first, second): (Map, Map) = (texts[0].parse()?, texts[1].parse()?);
    let composed = first.then(&second)?;
    let simplified = first.compose(&second, Options::default())?;
    println!("{composed}\n  {:?}", composed.cost());
    println!("{simplified}\n  {:?}", simplified.cost());
    let reached = simplified.distinct();
    println!("reaches {} to {} elements", reached.lower, reached.upper);
    Ok(())
}
