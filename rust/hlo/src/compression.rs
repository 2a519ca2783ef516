//! Compressed bytes to what they hold: gzip, xz and zstd, told apart by their first bytes.
//!
//! Read [`decompress`]. Law: memory stays in proportion to the input; what would decompress to far more is an error.
//! All three readers are Rust alone, so that a wheel needs no library and no compiler of C.

use std::borrow::Cow;
use std::io::{self, Read};

/// A few bytes may decompress to this many.
const FLOOR: usize = 64 << 20;
/// Beyond the floor, how much longer than its input what is unpacked may be.
const GROWTH: usize = 100;
/// Memory for the dictionary of an xz stream; the largest level of its tool needs 65 MiB.
const XZ_KIB: u32 = 256 << 10;

type Open = for<'a> fn(&'a [u8]) -> Box<dyn Read + 'a>;

/// First bytes, name, and how to read what is inside.
const FORMATS: &[(&[u8], &str, Open)] = &[
    (b"\x1f\x8b", "gzip", |bytes| Box::new(flate2::bufread::MultiGzDecoder::new(bytes))),
    (b"\xfd7zXZ\0", "xz", |bytes| Box::new(lzma_rust2::XzReader::new_mem_limit(bytes, true, XZ_KIB))),
    (b"\x28\xb5\x2f\xfd", "zstd", |bytes| Box::new(Frames { rest: bytes, open: None })),
];

/// Why compressed bytes cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressionError {
    /// The name of the format.
    pub format: &'static str,
    /// What is wrong.
    pub reason: String,
}

/// The format that bytes are compressed in, by their first ones.
pub fn compression_format(bytes: &[u8]) -> Option<&'static str> {
    FORMATS.iter().find(|f| bytes.starts_with(f.0)).map(|f| f.1)
}

/// What compressed bytes hold; other bytes as they are. What is compressed twice is unpacked once.
pub fn decompress(bytes: &[u8]) -> Result<Cow<'_, [u8]>, CompressionError> {
    let Some(&(_, format, open)) = FORMATS.iter().find(|f| bytes.starts_with(f.0)) else {
        return Ok(Cow::Borrowed(bytes));
    };
    let limit = bytes.len().saturating_mul(GROWTH).max(FLOOR);
    let mut out = Vec::new();
    let error = |reason: String| CompressionError { format, reason };
    match open(bytes).take(limit as u64 + 1).read_to_end(&mut out) {
        Ok(_) if out.len() > limit => Err(error(format!("more than {limit} bytes inside {}", bytes.len()))),
        Ok(_) => Ok(Cow::Owned(out)),
        Err(e) => Err(error(e.to_string())),
    }
}

/// The beginning of what compressed bytes hold, at most `n` bytes, from what may be the beginning of a file.
pub fn decompress_head(bytes: &[u8], n: usize) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(&(_, _, open)) = FORMATS.iter().find(|f| bytes.starts_with(f.0)) {
        let mut reader = open(bytes);
        let mut chunk = [0; 4096];
        // A head is cut anywhere: what was read before the error counts.
        while let Ok(read @ 1..) = reader.read(&mut chunk) {
            out.extend_from_slice(&chunk[..read]);
            if out.len() >= n {
                break;
            }
        }
        out.truncate(n);
    }
    out
}

/// All frames of zstd data, one after another.
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
