//! What the benches share: maps as operations make them, maps that take work, and pairs to compose.

pub mod ops;

use symbolic::text::parse_map;
use symbolic::{Domain, Expr, Map};

fn maps(text: &str) -> Vec<Map> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| parse_map(line).unwrap_or_else(|e| panic!("{e}"))).collect()
}

/// Maps as operations make them.
pub fn op_maps() -> Vec<Map> {
    maps(include_str!("op_maps.txt"))
}

/// Maps that take the simplifier some work.
pub fn hard_maps() -> Vec<Map> {
    maps(include_str!("hard_maps.txt"))
}

/// The output-to-input map of a reshape, by linearising and splitting the linear index.
pub fn reshape(operand: &[i64], output: &[i64]) -> Map {
    let mut linear = Expr::Const(0);
    for (i, size) in output.iter().enumerate() {
        linear = linear.scale(*size).and_then(|e| e.add(&Expr::dim(i as u32))).unwrap_or(linear);
    }
    let mut results = Vec::new();
    let mut stride: i64 = operand.iter().product();
    for (i, size) in operand.iter().enumerate() {
        stride /= size;
        let quotient = linear.floor_div(&Expr::Const(stride));
        let digit = if i == 0 { quotient } else { quotient.and_then(|q| q.floor_mod(&Expr::Const(*size))) };
        results.push(digit.unwrap_or(Expr::Const(0)));
    }
    Map::new(Domain::of_sizes(output), results).unwrap_or_else(|e| panic!("{e}"))
}

/// A chain of reshapes of 720 elements: the output-to-input maps from the last output back.
pub fn reshape_chain(n: usize) -> Vec<Map> {
    let shapes: [&[i64]; 6] = [&[720], &[24, 30], &[6, 8, 15], &[10, 72], &[3, 4, 60], &[5, 9, 16]];
    (0..n).map(|i| reshape(shapes[i % 6], shapes[(i + 1) % 6])).rev().collect()
}
