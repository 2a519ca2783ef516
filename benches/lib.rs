//! Inputs that the benches share: maps of operations, maps that are hard to simplify, and chains to compose.

#[path = "../rust/quasiaffine/tests/random/ops.rs"]
pub mod ops;

use ops::{Op, Step};
use quasiaffine::Map;

fn maps(text: &str) -> Vec<Map> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.parse::<Map>().unwrap_or_else(|e| panic!("{e}"))).collect()
}

/// Indexing maps of typical operations.
pub fn op_maps() -> Vec<Map> {
    maps(include_str!("op_maps.txt"))
}

/// Maps that are hard to simplify.
pub fn hard_maps() -> Vec<Map> {
    maps(include_str!("hard_maps.txt"))
}

/// The output-to-input map of a reshape.
pub fn reshape(operand: &[i64], output: &[i64]) -> Map {
    Step { op: Op::Reshape, operand: operand.to_vec(), output: output.to_vec() }.map()
}

/// The output-to-input maps of a chain of reshapes of 720 elements, last reshape first.
pub fn reshape_chain(n: usize) -> Vec<Map> {
    let shapes: [&[i64]; 6] = [&[720], &[24, 30], &[6, 8, 15], &[10, 72], &[3, 4, 60], &[5, 9, 16]];
    (0..n).map(|i| reshape(shapes[i % 6], shapes[(i + 1) % 6])).rev().collect()
}
