//! Evaluates a tiled position at many points, and finds the point back by the inverse.

use quasiaffine::{Error, Map, Points, Program};

fn main() -> Result<(), Error> {
    // An 8 x 128 tile of a [64, 512] array: the position in memory of element (d0, d1).
    let position: Map =
        "(d0, d1) -> ((d0 floordiv 8) * 4096 + (d1 floordiv 128) * 1024 + (d0 mod 8) * 128 + d1 mod 128), \
                         domain: d0 in [0, 63], d1 in [0, 511]"
            .parse()?;
    let points: Vec<i64> = (0..64).flat_map(|i| (0..512).flat_map(move |j| [i, j])).collect();
    let at = Points { n: points.len() / 2, dims: &points, ranges: &[], runtime: &[] };
    let positions = Program::new(&position)?.run::<false>(&at)?;
    println!("element (9, 130) is at position {}", positions[9 * 512 + 130]);
    match position.inverse() {
        Some(back) => println!("back: {back}"),
        None => println!("no inverse was found"),
    }
    Ok(())
}
