//! Reads input in any format: HLO text, protos in both formats, profiles, each of them possibly compressed.
//!
//! The content decides, not the name.

use std::borrow::Cow;
use std::sync::Arc;

use crate::compression;
use crate::error::{Diagnostic, Source, Span, SyntaxErrors};
use crate::model::module::Module;
use crate::parse::parse_source;
use crate::proto;
use crate::tuning::HEAD;

/// Parses all modules of a text, which is HLO or a proto in the text format. `name` names the source in messages;
/// `strict` turns every diagnostic into an error.
pub fn parse(text: &str, name: Option<&str>, strict: bool) -> Result<Vec<Module>, SyntaxErrors> {
    if proto::text_format::is_text_format(text) {
        return proto::parse_text_format(text, name, strict);
    }
    parse_source(Source::new(text, name), Vec::new(), strict)
}

/// Parses bytes: text, a proto that contains a module, or a profile that contains those of programs, all of them
/// possibly compressed. Bytes that are none of these give one error that describes them.
pub fn parse_bytes(bytes: &[u8], name: Option<&str>, strict: bool) -> Result<Vec<Module>, SyntaxErrors> {
    let decompressed = decompressed(bytes, name)?;
    let bytes = decompressed.as_ref();
    if proto::profile::is_profile(bytes) {
        return proto::parse_programs(bytes, None, name, strict);
    }
    if proto::may_be_module(bytes) {
        return proto::parse_proto(bytes, name, strict);
    }
    let (found, at) = match std::str::from_utf8(bytes) {
        Ok(text) => match memchr::memchr(0, bytes) {
            None => return parse(text, name, strict),
            Some(at) => (known_format(bytes).unwrap_or("binary data (a zero byte)").to_string(), at),
        },
        Err(e) => {
            let at = e.valid_up_to();
            let byte = bytes.get(at).copied().unwrap_or(0);
            (known_format(bytes).map_or_else(|| format!("a byte that is not UTF-8: 0x{byte:02x}"), str::to_string), at)
        }
    };
    let (before, behind) = (String::from_utf8_lossy(&bytes[..at]), &bytes[at..bytes.len().min(at + 40)]);
    let text = format!("{before}{}", String::from_utf8_lossy(behind).replace('\0', "\u{fffd}"));
    let span = Span::new(before.len(), before.len() + 1);
    let source = Arc::new(Source::new(text, name));
    Err(SyntaxErrors { source, problems: vec![Diagnostic::expected(span, "HLO text", found)] })
}

/// Parses the programs of these numbers of a profile, as [`programs`] counts them.
pub fn parse_programs(
    bytes: &[u8],
    numbers: &[usize],
    name: Option<&str>,
    strict: bool,
) -> Result<Vec<Module>, SyntaxErrors> {
    proto::parse_programs(&decompressed(bytes, name)?, Some(numbers), name, strict)
}

/// The name of the module and the id of each program in a profile.
pub type ProgramNames = Vec<(String, Option<u64>)>;

/// The name and the id of each program in a profile, possibly compressed; `None` for other bytes.
pub fn programs(bytes: &[u8], name: Option<&str>) -> Result<Option<ProgramNames>, SyntaxErrors> {
    // What tells a profile stands at its beginning; a compressed file that is none is not decompressed twice.
    let is_profile = match compression::compression_format(bytes) {
        Some(_) => proto::profile::is_profile(&compression::decompress_head(bytes, HEAD)),
        None => proto::profile::is_profile(bytes),
    };
    if !is_profile {
        return Ok(None);
    }
    let bytes = decompressed(bytes, name)?;
    let found = proto::profile::programs(&bytes).map_err(|e| SyntaxErrors::of_bytes(name, e.problem("a profile")))?;
    Ok(Some(found.iter().map(|program| (program.name.to_owned(), program.id)).collect()))
}

/// The bytes of a source without its compression.
pub fn decompressed<'a>(bytes: &'a [u8], name: Option<&str>) -> Result<Cow<'a, [u8]>, SyntaxErrors> {
    compression::decompress(bytes).map_err(|e| {
        SyntaxErrors::of_bytes(name, Diagnostic::expected(Span::default(), format!("{} data", e.format), e.reason))
    })
}

/// The format of bytes that are not text, by their magic bytes.
fn known_format(bytes: &[u8]) -> Option<&'static str> {
    const FORMATS: &[(&[u8], &str)] = &[
        (b"\x1f\x8b", "gzip-compressed data"),
        (b"\xfd7zXZ\0", "xz-compressed data"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x7fELF", "an ELF object file"),
        (b"ML\xefR", "MLIR bytecode"),
        (b"BC\xc0\xde", "LLVM bitcode"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
    ];
    FORMATS.iter().find(|(start, _)| bytes.starts_with(start)).map(|f| f.1)
}
