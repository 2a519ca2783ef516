//! Element types: their names in HLO text, their widths and the kind of number they hold.
//!
//! `ElementType::from_name(t.name()) == Some(t)`.

/// The type of an array's elements; XLA's `PrimitiveType` restricted to arrays.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ElementType {
    Pred,
    S1,
    S2,
    S4,
    S8,
    S16,
    S32,
    S64,
    U1,
    U2,
    U4,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
    F8E5M2,
    F8E4M3,
    F8E4M3Fn,
    F8E4M3B11Fnuz,
    F8E5M2Fnuz,
    F8E4M3Fnuz,
    F8E3M4,
    F8E8M0Fnu,
    F4E2M1Fn,
    F6E2M3Fn,
    F6E3M2Fn,
    C64,
    C128,
}

/// The kind of number an element type holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementKind {
    /// `pred`.
    Boolean,
    /// Two's complement integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// Floating-point numbers of any format.
    Float,
    /// Pairs of floating-point numbers.
    Complex,
}

use ElementKind::{Boolean, Complex, Float, Signed, Unsigned};

/// Row i describes the variant with discriminant i.
const TABLE: [(ElementType, &str, u32, ElementKind); 32] = [
    (ElementType::Pred, "pred", 8, Boolean),
    (ElementType::S1, "s1", 1, Signed),
    (ElementType::S2, "s2", 2, Signed),
    (ElementType::S4, "s4", 4, Signed),
    (ElementType::S8, "s8", 8, Signed),
    (ElementType::S16, "s16", 16, Signed),
    (ElementType::S32, "s32", 32, Signed),
    (ElementType::S64, "s64", 64, Signed),
    (ElementType::U1, "u1", 1, Unsigned),
    (ElementType::U2, "u2", 2, Unsigned),
    (ElementType::U4, "u4", 4, Unsigned),
    (ElementType::U8, "u8", 8, Unsigned),
    (ElementType::U16, "u16", 16, Unsigned),
    (ElementType::U32, "u32", 32, Unsigned),
    (ElementType::U64, "u64", 64, Unsigned),
    (ElementType::F16, "f16", 16, Float),
    (ElementType::Bf16, "bf16", 16, Float),
    (ElementType::F32, "f32", 32, Float),
    (ElementType::F64, "f64", 64, Float),
    (ElementType::F8E5M2, "f8e5m2", 8, Float),
    (ElementType::F8E4M3, "f8e4m3", 8, Float),
    (ElementType::F8E4M3Fn, "f8e4m3fn", 8, Float),
    (ElementType::F8E4M3B11Fnuz, "f8e4m3b11fnuz", 8, Float),
    (ElementType::F8E5M2Fnuz, "f8e5m2fnuz", 8, Float),
    (ElementType::F8E4M3Fnuz, "f8e4m3fnuz", 8, Float),
    (ElementType::F8E3M4, "f8e3m4", 8, Float),
    (ElementType::F8E8M0Fnu, "f8e8m0fnu", 8, Float),
    (ElementType::F4E2M1Fn, "f4e2m1fn", 4, Float),
    (ElementType::F6E2M3Fn, "f6e2m3fn", 6, Float),
    (ElementType::F6E3M2Fn, "f6e3m2fn", 6, Float),
    (ElementType::C64, "c64", 64, Complex),
    (ElementType::C128, "c128", 128, Complex),
];

impl ElementType {
    /// The name in HLO text, such as `f32`.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The number of bits that carry the value; `pred` counts as 8.
    pub fn bits(self) -> u32 {
        TABLE[self as usize].2
    }

    /// The number of bits needed to represent every value: one for `pred`.
    pub fn value_bits(self) -> u32 {
        if self == ElementType::Pred {
            1
        } else {
            self.bits()
        }
    }

    /// The kind of number.
    pub fn kind(self) -> ElementKind {
        TABLE[self as usize].3
    }

    /// The number of bytes of an unpacked element: at least one.
    pub fn n_bytes(self) -> usize {
        (self.bits() as usize).div_ceil(8)
    }

    /// The type with this name in HLO text, or `None`.
    pub fn from_name(name: &str) -> Option<ElementType> {
        let found = match name {
            "f32" => ElementType::F32,
            "pred" => ElementType::Pred,
            "s32" => ElementType::S32,
            _ => TABLE.iter().find(|row| row.1 == name)?.0,
        };
        Some(found)
    }

    /// All element types, in the order of the enum.
    pub fn all() -> impl Iterator<Item = ElementType> {
        TABLE.iter().map(|row| row.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_rows_are_in_order() {
        for (i, t) in ElementType::all().enumerate() {
            assert_eq!(t as usize, i);
            assert_eq!(ElementType::from_name(t.name()), Some(t));
        }
        assert_eq!(ElementType::from_name("f33"), None);
    }
}
