//! Decompression of gzip, xz and zstd, recognized by their magic bytes.
//!
//! Memory is proportional to the input; a larger expansion is an error. All three decoders are written in Rust, so that
//! a wheel needs neither a C library nor a C compiler.

use std::borrow::Cow;
use std::io::{self, Read};

use crate::tuning::{MAX_EXPANSION, MIN_EXPANSION, XZ_KIB};

/// A decoder, which appends at most this many decompressed bytes.
type Decode = fn(&[u8], u64, &mut Vec<u8>) -> io::Result<usize>;

/// Magic bytes, name, and decoder.
const FORMATS: &[(&[u8], &str, Decode)] = &[
    (b"\x1f\x8b", "gzip", |bytes, n, out| flate2::bufread::MultiGzDecoder::new(bytes).take(n).read_to_end(out)),
    (b"\xfd7zXZ\0", "xz", |bytes, n, out| {
        lzma_rust2::XzReader::new_mem_limit(bytes, true, XZ_KIB).take(n).read_to_end(out)
    }),
    (b"\x28\xb5\x2f\xfd", "zstd", zstd),
];

/// An error of a decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressionError {
    /// The name of the format.
    pub format: &'static str,
    /// The reason.
    pub reason: String,
}

/// The compression format of bytes, by their magic bytes.
pub fn compression_format(bytes: &[u8]) -> Option<&'static str> {
    FORMATS.iter().find(|f| bytes.starts_with(f.0)).map(|f| f.1)
}

/// The decompressed bytes, or the input itself if it is not compressed. Only one layer of compression is removed.
pub fn decompress(bytes: &[u8]) -> Result<Cow<'_, [u8]>, CompressionError> {
    let Some(&(_, format, decode)) = FORMATS.iter().find(|f| bytes.starts_with(f.0)) else {
        return Ok(Cow::Borrowed(bytes));
    };
    let limit = bytes.len().saturating_mul(MAX_EXPANSION).max(MIN_EXPANSION);
    let mut out = Vec::new();
    let error = |reason: String| CompressionError { format, reason };
    match decode(bytes, limit as u64 + 1, &mut out) {
        Ok(_) if out.len() > limit => Err(error(format!("{} bytes that expand to more than {limit}", bytes.len()))),
        Ok(_) => Ok(Cow::Owned(out)),
        Err(e) => Err(error(e.to_string())),
    }
}

/// The first `n` decompressed bytes at most, from bytes that may be the head of a file.
pub fn decompress_head(bytes: &[u8], n: usize) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(&(_, _, decode)) = FORMATS.iter().find(|f| bytes.starts_with(f.0)) {
        // A head may end anywhere, so bytes decoded before an error are kept.
        let _ = decode(bytes, n as u64, &mut out);
    }
    out
}

/// Concatenated frames.
fn zstd(mut bytes: &[u8], n: u64, out: &mut Vec<u8>) -> io::Result<usize> {
    while !bytes.is_empty() && (out.len() as u64) < n {
        let decoder = ruzstd::decoding::StreamingDecoder::new(bytes);
        let mut decoder = decoder.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
        decoder.by_ref().take(n - out.len() as u64).read_to_end(out)?;
        bytes = decoder.get_ref();
    }
    Ok(out.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_bombs_and_cuts_are_errors() {
        let text = b"HloModule m".repeat(100);
        let packed = gzip(&text);
        assert_eq!(decompress(&packed).unwrap(), text);
        assert_eq!(decompress_head(&packed[..packed.len() - 9], 11), b"HloModule m");
        for end in 2..packed.len() {
            assert_eq!(decompress(&packed[..end]).unwrap_err().format, "gzip");
        }
        assert!(decompress(&gzip(&vec![0; MIN_EXPANSION + 1])).unwrap_err().reason.contains("more than"));
        assert_eq!(decompress(b"HloModule").unwrap(), &b"HloModule"[..]);
    }
}
