//! Whatever the text, reading it ends with modules or errors: truncated, flipped, nested, huge and circular texts.
//! What is read can be printed, asked for everything it has, and read again.

use std::fmt::Write;

use hlo::{parse, parse_bytes, LiteralError, Module};

const SAMPLE: &str = include_str!("ok/attributes.hlo");
const SAMPLES: &[&str] = &[
    SAMPLE,
    include_str!("ok/shapes.hlo"),
    include_str!("ok/literals.hlo"),
    include_str!("ok/stack_frames.hlo"),
    include_str!("ok/inline_computations.hlo"),
    include_str!("ok/unnamed_operands.hlo"),
    include_str!("ok/diagnostics.hlo"),
];

/// Asks a module for everything.
fn touch(m: &Module) {
    for d in m.diagnostics() {
        assert!(!hlo::describe(m.source(), d).is_empty());
    }
    for c in 0..m.computations().len() as u32 {
        m.callers(c);
        m.content(c);
        for a in m.computation_attributes(c) {
            m.value(a, Some(c)).expect("a value that was checked");
        }
    }
    for i in 0..m.instructions().len() as u32 {
        for a in m.attributes(i) {
            m.value(a, Some(m.computation_of(i))).expect("a value that was checked");
        }
        if let Some(Err(LiteralError::Text(e))) = m.literal(i) {
            panic!("a literal that was checked: {e:?}");
        }
        m.metadata(i);
        m.users(i);
        m.signature(i, &[0, 1, 9]);
    }
    let printed = m.to_string();
    if let Err(e) = parse(&printed, None, false) {
        panic!("printed text does not read back: {e}\n{printed}");
    }
}

fn read(bytes: &[u8]) {
    match parse_bytes(bytes, None, false) {
        Ok(modules) => modules.iter().for_each(touch),
        Err(errors) => {
            assert!(!errors.problems.is_empty() && errors.problems.len() <= hlo::MAX_PROBLEMS + 1);
            assert!(!errors.to_string().is_empty());
        }
    }
}

#[test]
fn truncated_at_every_byte() {
    for sample in SAMPLES {
        for end in 0..sample.len() {
            read(&sample.as_bytes()[..end]);
        }
    }
}

/// A cheap sequence of numbers that is the same in every run.
fn numbers(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    }
}

#[test]
fn flipped_bytes() {
    for (k, sample) in SAMPLES.iter().enumerate() {
        let mut next = numbers(77 + k as u64);
        for _ in 0..2000 {
            let mut bytes = sample.as_bytes().to_vec();
            for _ in 0..=next(3) {
                let at = next(bytes.len());
                match next(4) {
                    0 => bytes[at] ^= 1 << next(8),
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, sample.as_bytes()[next(sample.len())]),
                    _ => {
                        let from = next(sample.len());
                        let piece = &sample.as_bytes()[from..sample.len().min(from + next(40))];
                        bytes.splice(at..at, piece.iter().copied());
                    }
                }
            }
            read(&bytes);
        }
    }
}

#[test]
fn deep_nesting() {
    const N: usize = 1_000_000;
    for open in ["(", "{", "[", "b(", "{{", "a{", "a {b={", "/*", "\"", "\\"] {
        let deep = open.repeat(N);
        for start in
            ["", "HloModule m, x=", "HloModule m\nENTRY e {\n p = ", "HloModule m\nENTRY e {\n p = f32[] constant("]
        {
            read(format!("{start}{deep}").as_bytes());
        }
    }
    let nested = format!("ENTRY e {{ a = f32[] call(), to_apply={}", "{ a = f32[] call(), to_apply=".repeat(N / 10));
    read(nested.as_bytes());
    read(format!("ROOT p = {}f32[]{} parameter(0)", "(".repeat(100), ")".repeat(100)).as_bytes());
}

#[test]
fn long_chains_are_not_recursion() {
    const N: usize = 100_000;
    let mut text = String::from("HloModule m\n");
    let _ = writeln!(text, "f0 {{ ROOT p = f32[] parameter(0) }}");
    for k in 1..N {
        let _ = writeln!(text, "f{k} {{ p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f{} }}", k - 1);
    }
    let modules = parse(&text, None, false).expect("a chain of calls");
    modules[0].content(N as u32 - 1);
    let mut text = String::from("ENTRY e {\n");
    for k in 0..N {
        let _ = writeln!(text, "a{k} = f32[] negate(a{})", k + 1);
    }
    let _ = writeln!(text, "a{N} = f32[] negate(a0)\n}}");
    let error = parse(&text, None, false).expect_err("a cycle").to_string();
    assert!(error.contains("needs itself"), "{error}");
}

#[test]
fn many_errors_are_a_few() {
    let text = format!("ENTRY e {{\n{}}}", "x = f33[] parameter(0)\n".repeat(100_000));
    let errors = parse(&text, None, false).expect_err("an unknown type");
    assert_eq!(errors.problems.len(), hlo::MAX_PROBLEMS + 1);
}

#[test]
fn binary_is_one_error() {
    for (bytes, message) in [
        (&b"\x1f\x8b\x08\x00"[..], "gzip-compressed data"),
        (b"HloModule m\n\nENTRY e {\n\xff\xff", "a byte that is no UTF-8: 0xff"),
        (b"\x0a\x05hello\x00\x01", "binary data (a zero byte)"),
    ] {
        let errors = parse_bytes(bytes, Some("f"), false).expect_err("no text");
        assert_eq!(errors.problems.len(), 1);
        assert!(errors.to_string().contains(&format!("expected HLO text, found {message}")), "{errors}");
    }
}

#[test]
fn equal_signatures() {
    let text = "HloModule m
f { a = f32[] parameter(0) ROOT b = f32[] negate(a) }
g { x = f32[] parameter(0), metadata={op_name=\"x\"} ROOT y = f32[] negate(x) }
h { x = f32[] parameter(0) ROOT y = f32[] abs(x) }
ENTRY e {
  p = f32[4,4] parameter(0)
  i = s32[] constant(1)
  j = s32[] constant(2)
  m0 = f32[4,4] map(p), dimensions={0,1}, to_apply=f, metadata={op_name=\"q\"}
  m1 = f32[4,4] map(m0), to_apply=g, dimensions={0,1}, backend_config={\"x\":1}
  m2 = f32[4,4] map(p), dimensions={0,1}, to_apply=h
  d0 = f32[2,4] dynamic-slice(p, i, i), dynamic_slice_sizes={2,4}
  d1 = f32[2,4] dynamic-slice(m0, i, j), dynamic_slice_sizes={2,4}
  t0 = f32[4,4]{1,0} copy(p)
  t1 = f32[4,4]{0,1} copy(p)
  ROOT r = f32[4,4] negate(p)
}";
    let m = &parse(text, None, false).expect("a module")[0];
    let of = |name: &str, looked_at: &[usize]| m.signature(m.find_instruction(name, None).expect(name), looked_at);
    assert_eq!(of("m0", &[]), of("m1", &[]));
    assert_ne!(of("m0", &[]), of("m2", &[]));
    assert_eq!(of("d0", &[]), of("d1", &[]));
    assert_eq!(of("d0", &[1]), of("d1", &[1]));
    assert_ne!(of("d0", &[1, 2]), of("d1", &[1, 2]));
    assert_ne!(of("t0", &[]), of("t1", &[]));
}
