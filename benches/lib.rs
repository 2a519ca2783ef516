//! What the benches share: maps as operations make them, maps that take work, and pairs to compose.

pub mod ops;

use ops::{Op, Step};
use symbolic::text::parse_map;
use symbolic::Map;

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

/// The output-to-input map of a reshape.
pub fn reshape(operand: &[i64], output: &[i64]) -> Map {
    Step { op: Op::Reshape, operand: operand.to_vec(), output: output.to_vec() }.map()
}

/// A chain of reshapes of 720 elements: the output-to-input maps from the last output back.
pub fn reshape_chain(n: usize) -> Vec<Map> {
    let shapes: [&[i64]; 6] = [&[720], &[24, 30], &[6, 8, 15], &[10, 72], &[3, 4, 60], &[5, 9, 16]];
    (0..n).map(|i| reshape(shapes[i % 6], shapes[(i + 1) % 6])).rev().collect()
}
