//! Compiles the loops in C that `evaluate.rs` compares with.

fn main() {
    println!("cargo::rerun-if-changed=evaluate.c");
    cc::Build::new().file("evaluate.c").opt_level(3).compile("evaluate_c");
}
