//! Writes seeds for `hlo_text` and `hlo_proto` to `corpus/`, from the sample modules of the tests.
//!
//! Run it in this directory: `cargo run --bin seeds`. A seed is a whole sample or a single computation of it, as text
//! and as a proto.

use std::fs;
use std::path::Path;

const SAMPLES: [&str; 5] = [
    "../../tests/cases/modules",
    "../../tests/cases/ops",
    "../../tests/cases/dumps",
    "../hlo/tests/ok",
    "../hlo/tests/err",
];

/// The fuzzer's default limit for the length of an input, in bytes.
const MAX_LEN: usize = 4096;

fn main() -> std::io::Result<()> {
    for target in ["hlo_text", "hlo_proto"] {
        fs::create_dir_all(Path::new("corpus").join(target))?;
    }
    let mut n = 0;
    let mut seed = |target: &str, bytes: &[u8]| {
        n += 1;
        fs::write(format!("corpus/{target}/seed{n:05}"), bytes)
    };
    for folder in SAMPLES {
        for file in fs::read_dir(folder)? {
            let path = file?.path();
            if !path.extension().is_some_and(|e| e == "hlo" || e == "txt" || e == "pb") {
                continue;
            }
            let bytes = fs::read(&path)?;
            if bytes.len() <= MAX_LEN {
                let is_proto = path.extension().is_some_and(|e| e == "pb");
                seed(if is_proto { "hlo_proto" } else { "hlo_text" }, &bytes)?;
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            // A line that begins with a closing brace ends a computation.
            for part in text.split_inclusive("\n}").chain([text.as_str()]) {
                let Ok(modules) = hlo::parse(part.trim_start(), None, false) else { continue };
                if part.len() <= MAX_LEN {
                    seed("hlo_text", part.trim_start().as_bytes())?;
                }
                for proto in modules.iter().filter_map(|m| m.to_proto().ok()).filter(|p| p.len() <= MAX_LEN) {
                    seed("hlo_proto", &proto)?;
                }
            }
        }
    }
    println!("{n} seeds");
    Ok(())
}
