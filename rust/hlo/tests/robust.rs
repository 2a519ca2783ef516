//! Robustness: truncated, corrupted, deeply nested, huge and cyclic inputs give modules or errors. A module that is
//! read can be printed, queried in full, and read again.

use std::fmt::Write;

use crate::touch::read;
use hlo::{parse, parse_bytes};

const SAMPLE: &str = include_str!("ok/attributes.hlo");
const SAMPLES: &[&str] = &[
    SAMPLE,
    include_str!("ok/shapes.hlo"),
    include_str!("ok/literals.hlo"),
    include_str!("ok/stack_frames.hlo"),
    include_str!("ok/inline_computations.hlo"),
    include_str!("ok/unnamed_operands.hlo"),
    include_str!("ok/diagnostics.hlo"),
    include_str!("ok/left_out.hlo"),
    include_str!("../../../tests/cases/modules/transpose_reshape_chain.hlo"),
];

/// The number of random changes of each sample; `HLOMAP_FLIPS` overrides it.
fn n_flips(usual: usize) -> usize {
    std::env::var("HLOMAP_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[test]
fn truncated_at_every_byte() {
    for sample in SAMPLES {
        for end in 0..sample.len() {
            read(&sample.as_bytes()[..end]);
        }
    }
}

/// The text of a lost instruction reaches the end of the text, and errors in it belong to the module.
#[test]
fn the_own_text_of_a_module_has_all_that_was_read() {
    let start =
        "ENTRY {\n  a = f32[4] parameter(0)\n  r = f32[] reduce(a, b), to_apply=\n  {\n    x = f32[] add(x, f32\n  t";
    let bare = start.strip_prefix("ENTRY {\n").expect("a computation");
    for text in [start, bare] {
        for rest in ["", "\n  y = f32[] z(", "\n}\nHloModule m\nENTRY {\n  ROOT p = f32[] parameter(0)\n}\n"] {
            read(format!("{text}{rest}").as_bytes());
        }
    }
}

/// A cheap pseudorandom sequence with a fixed seed.
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
        for _ in 0..n_flips(2000) {
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

fn protos() -> Vec<Vec<u8>> {
    let modules = SAMPLES.iter().flat_map(|sample| parse(sample, None, false).expect("a sample"));
    modules.filter_map(|m| m.to_proto().ok()).collect()
}

#[test]
fn truncated_protos() {
    for bytes in protos() {
        for end in 0..bytes.len() {
            read(&bytes[..end]);
        }
    }
}

#[test]
fn flipped_protos() {
    for (k, sample) in protos().iter().enumerate() {
        let mut next = numbers(99 + k as u64);
        for _ in 0..n_flips(800) {
            let mut bytes = sample.clone();
            for _ in 0..=next(3) {
                let at = next(bytes.len());
                match next(3) {
                    0 => bytes[at] ^= 1 << next(8),
                    1 => bytes[at] = next(256) as u8,
                    _ => {
                        let (from, n) = (next(sample.len()), next(20));
                        let piece = &sample[from..sample.len().min(from + n)];
                        let end = bytes.len().min(at + piece.len());
                        bytes.splice(at..end, piece.iter().copied());
                    }
                }
            }
            read(&bytes);
        }
    }
}

/// A message or a string in a field.
fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for mut n in [u64::from(number) << 3 | 2, bytes.len() as u64] {
        while n >= 128 {
            out.push(n as u8 | 128);
            n >>= 7;
        }
        out.push(n as u8);
    }
    out.extend_from_slice(bytes);
    out
}

/// Small inputs that could expand: an operand with a long name repeated, nested shapes, empty braces.
#[test]
fn protos_that_would_grow() {
    let module = |instructions: &[u8]| {
        let mut computation = field(1, b"e");
        computation.extend_from_slice(instructions);
        [field(1, b"m"), field(3, &computation)].concat()
    };
    let scalar = field(3, &[16, 11]);
    let name = "x".repeat(100_000);
    let p = field(2, &[field(1, name.as_bytes()), field(2, b"parameter"), scalar.clone()].concat());
    let t = field(
        2,
        &[field(1, b"t"), field(2, b"tuple"), scalar.clone(), field(36, &[0; 100_000]), vec![0x98, 2, 1]].concat(),
    );
    read(&module(&[p, t].concat()));
    let mut nested = vec![16, 11];
    for _ in 0..n_flips(2000) {
        nested = [vec![16, 13], field(4, &nested)].concat();
    }
    read(&module(&field(2, &[field(1, b"t"), field(2, b"tuple"), field(3, &nested)].concat())));
    let empty = [vec![16, 11], field(3, &[0xff, 0xff, 0xff, 0x7f, 0])].concat();
    let literal = field(8, &field(1, &empty));
    read(&module(&field(2, &[field(1, b"c"), field(2, b"constant"), field(3, &empty), literal].concat())));
    let mut shardings = vec![8, 4];
    for _ in 0..n_flips(2000) {
        shardings = [vec![8, 2], field(5, &shardings)].concat();
    }
    let parts = [field(1, b"c"), field(2, b"iota"), scalar, field(40, &shardings)];
    read(&module(&field(2, &parts.concat())));
}

/// Parts that many others refer to and that are read once: the wrapper of asynchronous operations, and the schedule of
/// computations with the same id.
#[test]
fn protos_that_refer_to_much_often() {
    const N: usize = 20_000;
    let scalar = field(3, &[16, 11]);
    let row = |name: &str, opcode: &str, rest: &[u8]| {
        field(2, &[&field(1, name.as_bytes()), &field(2, opcode.as_bytes()), &scalar[..], rest].concat())
    };
    let wrapper = [field(1, b"w"), row("r", "negate", &[8; 200_000]), vec![40, 1, 0xa0, 0xea, 0x30, 1]].concat();
    let starts: Vec<u8> = (0..N)
        .flat_map(|k| {
            row(&format!("s{k}"), "async-start", &[&field(38, &[1])[..], &field(100_004, b"negate")].concat())
        })
        .collect();
    let entry = [field(1, b"e"), starts].concat();
    read(&[field(1, b"m"), field(3, &wrapper), field(3, &entry)].concat());
    let computations: Vec<u8> = (0..N)
        .flat_map(|k| field(3, &[field(1, format!("f{k}").as_bytes()), row("p", "parameter", &[])].concat()))
        .collect();
    let sequence = field(7, &field(1, &field(2, &field(1, &[1; 500_000]))));
    read(&[field(1, b"m"), computations, sequence].concat());
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
    modules[0].fingerprint(N as u32 - 1);
    let mut text = String::from("ENTRY e {\n");
    for k in 0..N {
        let _ = writeln!(text, "a{k} = f32[] negate(a{})", k + 1);
    }
    let _ = writeln!(text, "a{N} = f32[] negate(a0)\n}}");
    let error = parse(&text, None, false).expect_err("a cycle").to_string();
    assert!(error.contains("depends on itself"), "{error}");
}

/// Shapes that few bytes ask for: tuples of tuples without a word of their shape, and a large one as every operand.
#[test]
fn shapes_that_would_grow() {
    let chain = |n: usize, line: &dyn Fn(usize) -> String| {
        let lines: String = (1..n).map(line).collect();
        format!("HloModule m\nENTRY e {{\n t0 = f32[] parameter(0)\n{lines}}}\n")
    };
    for (n, message, line) in [
        (60, "parts of inferred shapes", &|k| format!(" t{k} = tuple(t{}, t{})\n", k - 1, k - 1) as String),
        (1000, "inferred shapes nested deeper", &|k| format!(" t{k} = tuple(t{})\n", k - 1)),
    ] as [(usize, &str, &dyn Fn(usize) -> String); 2]
    {
        let error = parse(&chain(n, line), None, false).expect_err("too large").to_string();
        assert!(error.contains(message), "{error}");
    }
    let shape = format!("({})", ["f32[3,5]{1,0}"; 3000].join(", "));
    let lines: String = (0..300).map(|k| format!(" t{k} = f32[] tuple(p{})\n", ", p".repeat(200))).collect();
    let text = format!("HloModule m\nENTRY e {{\n p = {shape} parameter(0)\n{lines}}}\n");
    let modules = parse(&text, None, false).expect("shapes that disagree");
    let longest = modules[0].diagnostics().iter().map(|d| hlo::describe(modules[0].source(), d).len()).max();
    assert!(longest.is_some_and(|n| n < 3000), "{longest:?}");
}

/// A large computation does not leave a large table that every small one would have to clear.
#[test]
fn small_computations_behind_a_large_one() {
    let mut text = String::from("large {\n");
    text.extend((0..100_000).map(|k| format!("a{k} = f32[] parameter({k})\n")));
    text += "}\n";
    text.extend((0..100_000).map(|k| format!("f{k} {{ ROOT p = f32[] parameter(0) }}\n")));
    let modules = parse(&text, None, false).expect("many computations");
    assert_eq!(modules[0].computations().len(), 100_001);
    let proto = modules[0].to_proto().expect("names for all operands");
    assert_eq!(parse_bytes(&proto, None, false).expect("many computations")[0].computations().len(), 100_001);
}

/// Undefined names, each with a shape, and unknown attributes.
#[test]
fn many_names_that_are_not_known() {
    let lines: String = (0..50_000).map(|k| format!("a{k} = f32[] add(f32[] x{k}, f32[] y{k})\n")).collect();
    let modules = parse(&lines, None, false).expect("bare instructions");
    assert_eq!(modules[0].instructions().len(), 150_000);
    let lines: String =
        (0..50_000).map(|k| format!("a{k} = u32[] partition-id(), x{}=1, y{k}=2\n", k % 4000)).collect();
    let error = parse(&lines, None, false).expect_err("too many names").to_string();
    assert!(error.contains("names of unknown attributes"), "{error}");
}

/// Texts that are accepted although their protos were rejected, or the verifier failed on them.
#[test]
fn found_by_fuzzing() {
    for text in [
        "ENTRY e { ROOT a = pred[?] constant({true, 0}) }",
        "ENTRY e { p = f32[2] parameter(0) ROOT r = f32[2] domain(p), domain={kind=\"sharding\", entry={x}, exit={y}} }",
        "f { ROOT p = f32[] parameter(0) } ENTRY e { p = f32[] parameter(0) ROOT r = f32[] new(p), body=f, condition=f }",
        "HloModule m\nFileNames\n1 \"a\"\nFunctionNames\n1 \"f\"\nFileNames\n1 \"b\"\nENTRY e { ROOT p = f32[] parameter(0) }",
        "HloModule m\nFileNames\nFunctionNames\nFileLocations\n1 {file_name_id=2579410941}\nENTRY e { ROOT p = f32[] parameter(0) }",
        "HloModule m\nStackFrames\n1 {file_location_id=1 parent_frame_id=2147483648}\nENTRY e { ROOT p = f32[] parameter(0) }",
        "HloModule m\nStackFrames\n1 {parent_frame_id=-2147483648}\nENTRY e { ROOT p = f32[] parameter(0) }",
        "ENTRY e { ROOT i = ((f32[3]), token[]) infeed(), infeed_config=\"\" }",
        "ENTRY e { p = f32[2] parameter(0) ROOT r = f32[2] domain(p), domain={kind=\"sharding\", entry={replicated}, \
         exit={maximal maximal device=1}} }",
        "ENTRY e { ROOT p = f32[4]{0:L(-64)} parameter(0), statistics={visualizing_index=0,=1} }",
        "ENTRY e { p = f32[] parameter(0) ROOT c = f32[] custom-call(p), custom_call_target=\"t\", channel_id=1 }",
        "ENTRY e { ROOT p = f32[] parameter(0), metadata={op_name=\"007\" stack_frame_id=0015} }",
        "ENTRY e { ROOT p = f32[] parameter(0), metadata={op_name=\"a\" op_name=\"b\" op_type=\"\"} }",
        "f { ROOT p = f32[] parameter(0) } ENTRY e { ROOT c = () custom-call(), custom_call_target=\"\", window={} }",
        "ENTRY e { p = f32[2] parameter(0) ROOT r = f32[2] negate(p), sharding={devices=[2,1]<=[0]} }",
        "ENTRY e { p = f32[2] parameter(0) ROOT r = f32[2] negate(p), sharding={devices=[2,1]<=[0,1]T(0,1)} }",
        "ENTRY e { ROOT c = f32[] custom-call(), custom_call_target=\"t\", literal=(pred[]{:L(119)} true) }",
        "HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }\n\nHloModule n\nENTRY e {\n p = f32[3] parameter(0)\n \
         t = token[] after-all()\n ROOT r = (f32[3], u32[], token[]) send(p, t), channel_id=1\n}",
        "s { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE } \
         t { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) } \
         ENTRY e { p = f32[4] parameter(0) ROOT x = ((f32[4]), f32[4]) select-and-scatter-start(p), select=s, \
         scatter=t, window={size=2 stride=2} }",
        "t { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) } ENTRY e { \
         ROOT x = ((), ()) scatter-start(), to_apply=t, update_window_dims={}, inserted_window_dims={}, \
         scatter_dims_to_operand_dims={}, index_vector_dim=0 }",
    ] {
        assert!(parse(text, None, false).is_ok(), "{text}");
        read(text.as_bytes());
    }
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
        (&b"HloModule m\n\nENTRY e {\n\xff\xff"[..], "a byte that is not UTF-8: 0xff"),
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
    let of = |name: &str, looked_at: &[usize]| {
        m.signature_with_values(m.find_instruction(name, None).expect(name), looked_at)
    };
    assert_eq!(of("m0", &[]), of("m1", &[]));
    assert_ne!(of("m0", &[]), of("m2", &[]));
    assert_eq!(of("d0", &[]), of("d1", &[]));
    assert_eq!(of("d0", &[1]), of("d1", &[1]));
    assert_ne!(of("d0", &[1, 2]), of("d1", &[1, 2]));
    assert_ne!(of("t0", &[]), of("t1", &[]));
}

/// The own text of a module, parsed at its position, is the same module with problems at the same positions.
#[test]
fn a_part_keeps_its_position() {
    let text = "HloModule a\nENTRY e { p = f32[] parameter(0) }\n HloModule b, colour=red\nENTRY e {\n\
                p = f32[] parameter(0), size=2 }";
    let modules = parse(text, Some("all"), false).expect("two modules");
    let positions = |m: &hlo::Module| -> Vec<_> {
        m.diagnostics().iter().map(|d| m.source().line_column(d.span.start as usize)).collect()
    };
    let m = &modules[1];
    let again = hlo::parse_part(m.own_text(), m.position(), Some("all")).expect("one module").remove(0);
    assert!(again.same_as(m, hlo::Names::Count));
    assert_eq!((m.position(), positions(m)), ((3, 2), vec![(3, 15), (5, 25)]));
    assert_eq!((again.position(), positions(&again)), (m.position(), positions(m)));
}
