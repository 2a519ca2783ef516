//! Decompression of gzip, xz and zstd, recognized by their magic bytes.
//!
//! Memory is proportional to the input; a larger expansion is an error. All three decoders are written in Rust, so that
//! a wheel needs neither a C library nor a C compiler.

use std::borrow::Cow;
use std::io::{self, Read};

/// Any input may expand to this many bytes.
const FLOOR: usize = 64 << 20;
/// The largest ratio of expansion beyond the floor.
const GROWTH: usize = 100;
/// Memory for the dictionary of an xz stream; the largest level of its tool needs 65 MiB.
const XZ_KIB: u32 = 256 << 10;

type Open = for<'a> fn(&'a [u8]) -> Box<dyn Read + 'a>;

/// Magic bytes, name, and decoder.
const FORMATS: &[(&[u8], &str, Open)] = &[
    (b"\x1f\x8b", "gzip", |bytes| Box::new(flate2::bufread::MultiGzDecoder::new(bytes))),
    (b"\xfd7zXZ\0", "xz", |bytes| Box::new(lzma_rust2::XzReader::new_mem_limit(bytes, true, XZ_KIB))),
    (b"\x28\xb5\x2f\xfd", "zstd", |bytes| Box::new(Frames { rest: bytes, open: None })),
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
    let Some(&(_, format, open)) = FORMATS.iter().find(|f| bytes.starts_with(f.0)) else {
        return Ok(Cow::Borrowed(bytes));
    };
    let limit = bytes.len().saturating_mul(GROWTH).max(FLOOR);
    let mut out = Vec::new();
    let error = |reason: String| CompressionError { format, reason };
    match open(bytes).take(limit as u64 + 1).read_to_end(&mut out) {
        Ok(_) if out.len() > limit => Err(error(format!("{} bytes that expand to more than {limit}", bytes.len()))),
        Ok(_) => Ok(Cow::Owned(out)),
        Err(e) => Err(error(e.to_string())),
    }
}

/// The first `n` decompressed bytes at most, from bytes that may be the head of a file.
pub fn decompress_head(bytes: &[u8], n: usize) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(&(_, _, open)) = FORMATS.iter().find(|f| bytes.starts_with(f.0)) {
        // A head may end anywhere, so bytes decoded before an error are kept.
        let _ = open(bytes).take(n as u64).read_to_end(&mut out);
    }
    out
}

/// Concatenated zstd frames.
struct Frames<'a> {
    rest: &'a [u8],
    open: Option<ruzstd::decoding::StreamingDecoder<&'a [u8], ruzstd::decoding::FrameDecoder>>,
}

impl Read for Frames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.open.is_none() {
                if self.rest.is_empty() {
                    return Ok(0);
                }
                let decoder = ruzstd::decoding::StreamingDecoder::new(self.rest);
                self.open = Some(decoder.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?);
            }
            if let Some(decoder) = &mut self.open {
                match decoder.read(buffer)? {
                    0 => {
                        let rest = *decoder.get_ref();
                        debug_assert!(rest.len() < self.rest.len(), "a frame takes bytes");
                        self.rest = rest;
                        self.open = None;
                    }
                    n => return Ok(n),
                }
            }
        }
    }
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
        assert!(decompress(&gzip(&vec![0; FLOOR + 1])).unwrap_err().reason.contains("more than"));
        assert_eq!(decompress(b"HloModule").unwrap(), &b"HloModule"[..]);
    }
}
