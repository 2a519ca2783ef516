//! Rules from maps as text, and plans of programs of one application.

use quasiaffine::Map;
use rustc_hash::FxHashMap;
use shard::claims::Policy;
use shard::mesh::{Collective, Parts, Sharding};
use shard::plan::{evaluate, plan, Application, Plan, Program, Region};
use shard::resolve::{Rules, Why};
use shard::rule::{Array, Combine, FactorKind, Rule};

fn array(sizes: &[i64]) -> Array {
    Array { dimensions: sizes.to_vec(), element_bits: 32 }
}

fn rule(maps: &[&str], inputs: &[&[i64]], output: &[i64], combine: Combine) -> Rule {
    let maps: Vec<_> = maps.iter().map(|text| Some(vec![text.parse::<Map>().expect("a map")])).collect();
    let inputs: Vec<Array> = inputs.iter().map(|sizes| array(sizes)).collect();
    Rule::of_maps(&maps, &inputs, &[array(output)], combine)
}

fn sharding(dims: &[&[u8]]) -> Sharding {
    dims.iter().map(|parts| Parts::from_slice(parts)).collect()
}

/// The plan of one application on parts of size 2, with these shardings of the operands.
fn planned(rule: Rule, parts: usize, given: &[&[&[u8]]]) -> (Plan, Sharding) {
    let mut rules = Rules::new(vec![2; parts], Policy::Propagate);
    let arrays = rule.arrays.clone();
    let id = rules.add(rule);
    let values = arrays.iter().map(|a| (rules.mesh.shape(&a.dimensions), a.element_bits)).collect();
    let all = (0..arrays.len() as u32).collect::<Vec<_>>();
    let program = Program::new(
        vec![Application { rule: id, values: all.into(), region: 0 }],
        vec![Region { parent: None, conditional: None, times: 1 }],
        values,
        FxHashMap::default(),
    );
    let mut closed = vec![true; arrays.len()];
    closed[arrays.len() - 1] = false;
    let stage: Vec<_> = given.iter().enumerate().map(|(v, dims)| (v as u32, sharding(dims))).collect();
    let found = plan(&program, &mut rules, &closed, std::slice::from_ref(&stage));
    let candidates = vec![vec![stage]; 3];
    assert_eq!(evaluate(&program, &mut rules, &closed, &candidates, 2), [found.wire_bytes(); 3]);
    let output = rules.mesh.sharding(found.shardings[arrays.len() - 1]).clone();
    (found, output)
}

const LEFT: &str = "(d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 7], d1 in [0, 7], s0 in [0, 15]";
const RIGHT: &str = "(d0, d1)[s0] -> (s0, d1), domain: d0 in [0, 7], d1 in [0, 7], s0 in [0, 15]";

fn dot() -> Rule {
    rule(&[LEFT, RIGHT], &[&[8, 16], &[16, 8]], &[8, 8], Combine::Reduce)
}

#[test]
fn a_product_has_three_factors() {
    let found = dot();
    assert_eq!(found.sizes, [8, 8, 16]);
    assert_eq!(found.kinds, [FactorKind::PassThrough, FactorKind::PassThrough, FactorKind::Reduced]);
    let dims: Vec<Vec<&[u16]>> = found.dims.iter().map(|dims| dims.iter().map(|f| &f[..]).collect()).collect();
    assert_eq!(dims, [vec![&[0][..], &[2]], vec![&[2], &[1]], vec![&[0], &[1]]]);
}

#[test]
fn a_reshape_splits_a_dimension_into_factors() {
    let map = "(d0, d1) -> (d0 * 6 + d1), domain: d0 in [0, 3], d1 in [0, 5]";
    let found = rule(&[map], &[&[24]], &[4, 6], Combine::Nothing);
    assert_eq!((&found.sizes[..], &found.dims[0][0][..]), (&[4, 6][..], &[0, 1][..]));
    let back = rule(&["(d0) -> (d0 floordiv 6, d0 mod 6), domain: d0 in [0, 23]"], &[&[4, 6]], &[24], Combine::Nothing);
    // The minor factor is made first.
    assert_eq!((&back.sizes[..], &back.dims[1][0][..]), (&[6, 4][..], &[1, 0][..]));
}

#[test]
fn cuts_that_do_not_divide_each_other_leave_one_factor() {
    let found = rule(
        &[
            "(d0) -> (d0 floordiv 6, d0 mod 6), domain: d0 in [0, 23]",
            "(d0) -> (d0 floordiv 4, d0 mod 4), domain: d0 in [0, 23]",
        ],
        &[&[4, 6], &[6, 4]],
        &[24],
        Combine::Nothing,
    );
    assert_eq!(found.kinds.iter().filter(|k| **k == FactorKind::Whole).count(), 4);
    assert_eq!(found.dims[2][0].len(), 1);
}

#[test]
fn a_split_contraction_is_partial() {
    let (found, output) = planned(dot(), 2, &[&[&[0], &[1]], &[&[1], &[]]]);
    assert_eq!(output, sharding(&[&[0], &[]]));
    let [m] = &found.moves[..] else { panic!("{found:?}") };
    assert_eq!(
        (m.why, m.collective, m.wire_bytes, &m.parts[..]),
        (Why::PartialResult, Collective::AllReduce, 128, &[1][..])
    );
}

#[test]
fn an_operand_is_gathered_if_one_side_is_split() {
    let (found, output) = planned(dot(), 2, &[&[&[0], &[]], &[&[0], &[1]]]);
    assert_eq!(output, sharding(&[&[0], &[1]]));
    let [m] = &found.moves[..] else { panic!("{found:?}") };
    assert_eq!((m.why, m.collective, m.wire_bytes, &m.parts[..]), (Why::Operand, Collective::AllGather, 128, &[0][..]));
}

#[test]
fn a_window_reads_a_halo_with_corners() {
    let map = "(d0, d1)[s0, s1] -> (d0 + s0 - 1, d1 + s1 - 1), domain: d0 in [0, 7], d1 in [0, 7], s0 in [0, 2], s1 in [0, 2]";
    let window = rule(&[map], &[&[8, 8]], &[8, 8], Combine::Nothing);
    let (found, _) = planned(window, 2, &[&[&[0], &[1]]]);
    let [m] = &found.moves[..] else { panic!("{found:?}") };
    assert_eq!((m.why, m.wire_bytes), (Why::Halo, 4 * 9));
}

#[test]
fn windows_with_gaps_count_what_they_read() {
    let map = "(d0) -> (d0 * 3 + 1), domain: d0 in [0, 7]";
    let strided = rule(&[map], &[&[25]], &[8], Combine::Nothing);
    let (found, _) = planned(strided, 1, &[&[&[0]]]);
    // Device 0 holds 0 to 12 and reads 1, 4, 7, 10; device 1 holds 13 to 24 and reads 13, 16, 19, 22.
    assert!(found.moves.is_empty(), "{found:?}");
}

#[test]
fn changes_of_shardings_have_kinds() {
    let mut rules = Rules::new(vec![2, 2], Policy::Propagate);
    let mesh = &mut rules.mesh;
    let shape = mesh.shape(&[8, 8]);
    let mut change = |from: &[&[u8]], to: &[&[u8]]| {
        let (from, to) = (mesh.number(&sharding(from)), mesh.number(&sharding(to)));
        mesh.change(shape, from, to)
    };
    assert_eq!(change(&[&[0], &[]], &[&[0], &[]]), (Collective::Nothing, 0));
    assert_eq!(change(&[&[0], &[]], &[&[0], &[1]]), (Collective::Slice, 0));
    assert_eq!(change(&[&[0], &[1]], &[&[0], &[]]), (Collective::AllGather, 16));
    assert_eq!(change(&[&[0], &[]], &[&[], &[0]]), (Collective::AllToAll, 16));
    assert_eq!(change(&[&[0], &[1]], &[&[1], &[0]]), (Collective::CollectivePermute, 16));
}

#[test]
fn answers_that_are_dropped_are_found_again() {
    let mut rules = Rules::new(vec![2; 2], Policy::Propagate);
    let id = rules.add(dot());
    let given = [sharding(&[&[0], &[1]]), sharding(&[&[], &[]]), sharding(&[&[], &[]])];
    let shardings = given.iter().map(|s| rules.mesh.number(s)).collect();
    let wanted = rules.wanted(id, &shardings).shardings.clone();
    let n = rules.n_answers();
    rules.trim(n);
    assert_eq!(rules.n_answers(), n);
    rules.trim(n - 1);
    assert_eq!(rules.n_answers(), 0);
    assert_eq!(rules.wanted(id, &shardings).shardings, wanted);
}

#[test]
fn the_largest_dimension_has_blocks() {
    let rules = Rules::new(vec![2; 2], Policy::Propagate);
    let halves = sharding(&[&[0]]);
    assert_eq!(rules.mesh.block_elements(&[i64::MAX], &halves), 1 << 62);
}
