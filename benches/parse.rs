//! Parsing of maps, HLO text and HLO protos. The throughput is input bytes per second.

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use hlomap_benches::{hard_maps, op_maps};
use quasiaffine::Map;
use std::hint::black_box;

fn bench(c: &mut Criterion) {
    let texts: Vec<String> = op_maps().iter().chain(&hard_maps()).map(ToString::to_string).collect();
    let mut group = c.benchmark_group("parse");
    group.throughput(Throughput::Bytes(texts.iter().map(|t| t.len() as u64).sum()));
    group
        .bench_function("maps", |b| b.iter(|| texts.iter().for_each(|t| drop(black_box(black_box(t).parse::<Map>())))));
    group.finish();
}

/// Parsing of HLO modules: a set of small modules as XLA prints them, and large modules as text and as protos.
fn hlo_text(c: &mut Criterion) {
    const MODULES: [&str; 4] = [
        include_str!("../tests/cases/modules/attention_causal.hlo"),
        include_str!("../tests/cases/modules/rmsnorm_bf16.hlo"),
        include_str!("../tests/cases/modules/transpose_reshape_chain.hlo"),
        include_str!("../tests/cases/modules/while_simple.hlo"),
    ];
    let mut group = c.benchmark_group("hlo");
    group.throughput(Throughput::Bytes(MODULES.iter().map(|t| t.len() as u64).sum()));
    group.bench_function("modules", |b| {
        b.iter(|| MODULES.iter().for_each(|t| drop(black_box(hlo::parse(black_box(t), None, false)))));
    });
    group.sample_size(10);
    for (name, n_bytes) in [("0.1 MB", 100_000), ("1 MB", 1_000_000), ("10 MB", 10_000_000)] {
        let text = large_module(n_bytes);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| b.iter(|| black_box(hlo::parse(black_box(&text), None, false))));
        let modules = hlo::parse(&text, None, false).expect("a generated module");
        let proto = modules[0].to_proto().expect("a module that fits in a proto");
        group.throughput(Throughput::Bytes(proto.len() as u64));
        group.bench_function(format!("{name} of text as a proto"), |b| {
            b.iter(|| black_box(hlo::parse_proto(black_box(&proto), None, false)))
        });
    }
    group.finish();
}

/// A module of about `n_bytes` bytes of text: a chain of fusions.
fn large_module(n_bytes: usize) -> String {
    let (mut fused, mut entry) = (
        String::new(),
        String::from("ENTRY %main (x: f32[64,128]) -> f32[64,128] {\n  %v.0 = f32[64,128]{1,0} parameter(0)\n"),
    );
    let mut k = 0;
    while fused.len() + entry.len() < n_bytes {
        let shape = "f32[64,128]{1,0}";
        let metadata = "metadata={op_name=\"jit(step)/layer/add\" source_file=\"model.py\" source_line=12}";
        fused += &format!("%f.{k} (p.{k}: f32[64,128]) -> f32[64,128] {{\n  %p.{k} = {shape} parameter(0)\n");
        fused += &format!("  %c.{k} = f32[] constant({k})\n  %b.{k} = {shape} broadcast(%c.{k}), dimensions={{}}\n");
        fused += &format!("  ROOT %a.{k} = {shape} add(%p.{k}, %b.{k}), {metadata}\n}}\n\n");
        entry += &format!("  %v.{} = {shape} fusion(%v.{k}), kind=kLoop, calls=%f.{k}, {metadata}\n", k + 1);
        k += 1;
    }
    format!("HloModule large\n\n{fused}{entry}}}\n")
}

criterion_group!(benches, bench, hlo_text);
criterion_main!(benches);
