//! Dense packing of n-bit elements, as in `s4[8]{0:E(4)}`; the first element occupies the low bits of byte 0.
//!
//! `unpack_bits(pack_bits(a)) == a` for elements whose values fit in n bits; s4 [1, 2] packs to the byte 0x21.
//! An unpacked element has `n_bytes` bytes, little-endian. Not here: the order of the elements (`pack.rs`).

use cancel::poll;

use crate::tuning::BITS_STEP;

/// Packs the low `width` bits of every element of `wide`; an element with fewer bits is zero-extended.
pub fn pack_bits(wide: &[u8], n_bytes: usize, width: usize, narrow: &mut [u8]) {
    match (n_bytes, width) {
        (1, 4) => pack_small::<2>(wide, narrow),
        (1, 2) => pack_small::<4>(wide, narrow),
        (1, 1) => pack_small::<8>(wide, narrow),
        _ => {
            narrow.fill(0);
            for (i, element) in wide.chunks_exact(n_bytes).enumerate() {
                if i % BITS_STEP == 0 {
                    poll();
                }
                for bit in 0..width.min(n_bytes * 8) {
                    let at = i * width + bit;
                    narrow[at / 8] |= (element[bit / 8] >> (bit % 8) & 1) << (at % 8);
                }
            }
        }
    }
}

/// Unpacks elements of `width` bits, the low `value` of which carry the value; it is sign-extended if `is_signed`, and
/// zero-extended otherwise.
pub fn unpack_bits(narrow: &[u8], width: usize, value: usize, is_signed: bool, n_bytes: usize, wide: &mut [u8]) {
    match (n_bytes, width) {
        (1, 4) => unpack_small::<2>(narrow, wide),
        (1, 2) => unpack_small::<4>(narrow, wide),
        (1, 1) => unpack_small::<8>(narrow, wide),
        _ => {
            wide.fill(0);
            for (i, element) in wide.chunks_exact_mut(n_bytes).enumerate() {
                if i % BITS_STEP == 0 {
                    poll();
                }
                for bit in 0..width.min(n_bytes * 8) {
                    let at = i * width + bit;
                    element[bit / 8] |= (narrow[at / 8] >> (at % 8) & 1) << (bit % 8);
                }
            }
        }
    }
    if value < 8 {
        let shift = 8 - value as u32;
        for part in wide.chunks_mut(BITS_STEP) {
            poll();
            for b in part {
                let high = *b << shift;
                *b = if is_signed { ((high as i8) >> shift) as u8 } else { high >> shift };
            }
        }
    }
}

fn pack_small<const N: usize>(wide: &[u8], narrow: &mut [u8]) {
    let width = 8 / N;
    let mask = (1u16 << width) as u8 - 1;
    let join = |elements: &[u8]| elements.iter().enumerate().fold(0, |b, (i, e)| b | (e & mask) << (i * width));
    for (narrow, wide) in narrow.chunks_mut(BITS_STEP).zip(wide.chunks(BITS_STEP * N)) {
        poll();
        for (b, elements) in narrow.iter_mut().zip(wide.chunks(N)) {
            *b = join(elements);
        }
    }
}

fn unpack_small<const N: usize>(narrow: &[u8], wide: &mut [u8]) {
    let width = 8 / N;
    let mask = (1u16 << width) as u8 - 1;
    for (narrow, wide) in narrow.chunks(BITS_STEP).zip(wide.chunks_mut(BITS_STEP * N)) {
        poll();
        for (&b, elements) in narrow.iter().zip(wide.chunks_mut(N)) {
            elements.iter_mut().enumerate().for_each(|(i, e)| *e = b >> (i * width) & mask);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let values: Vec<u8> = vec![1, 2, 0xff, 0, 7, 0xf8, 3];
        let mut narrow = vec![0; 4];
        pack_bits(&values, 1, 4, &mut narrow);
        assert_eq!(narrow, [0x21, 0x0f, 0x87, 0x03]);
        let mut wide = vec![9; 7];
        unpack_bits(&narrow, 4, 4, true, 1, &mut wide);
        assert_eq!(wide, values);
        unpack_bits(&narrow, 4, 4, false, 1, &mut wide);
        assert_eq!(wide, [1, 2, 15, 0, 7, 8, 3]);
    }

    /// The fast paths agree with the definition bit by bit, also if `width` exceeds the bits of the value.
    #[test]
    fn every_width() {
        for width in 1..=12usize {
            let value = width.min(8);
            let mask = (1u16 << value) - 1;
            let values: Vec<u8> = (0..23u16).map(|i| ((i * 37) & mask) as u8).collect();
            let mut narrow = vec![0xaa; (23 * width).div_ceil(8)];
            pack_bits(&values, 1, width, &mut narrow);
            for (i, v) in values.iter().enumerate() {
                for bit in 0..width {
                    let at = i * width + bit;
                    let expected = if bit < 8 { v >> bit & 1 } else { 0 };
                    assert_eq!(narrow[at / 8] >> (at % 8) & 1, expected, "width {width}, element {i}, bit {bit}");
                }
            }
            let mut wide = vec![0x55; 23];
            unpack_bits(&narrow, width, value, false, 1, &mut wide);
            assert_eq!(wide, values);
        }
        let (words, mut narrow, mut wide) = ([0x34u8, 0x12, 0x78, 0x56], vec![0; 6], vec![0; 4]);
        pack_bits(&words, 2, 24, &mut narrow);
        assert_eq!(narrow, [0x34, 0x12, 0, 0x78, 0x56, 0]);
        unpack_bits(&narrow, 24, 16, false, 2, &mut wide);
        assert_eq!(wide, words);
    }
}
