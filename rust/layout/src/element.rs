//! Element types: their names in HLO text, their widths and the kind of number they hold.
//!
//! `ElementType::from_name(t.name()) == Some(t)`.

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

macro_rules! element_types {
    ($($variant:ident $name:literal $bits:literal $kind:ident $number:literal $field:literal,)*) => {
        /// The type of an array's elements; XLA's `PrimitiveType` restricted to arrays.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum ElementType {
            $($variant,)*
        }

        /// Row i describes the variant with discriminant i.
        static TABLE: &[(ElementType, &str, u32, ElementKind, i64, u32)] =
            &[$((ElementType::$variant, $name, $bits, ElementKind::$kind, $number, $field),)*];
    };
}

// The name, the bits that carry the value, the kind, the number in `PrimitiveType`, and the field of `LiteralProto`.
element_types! {
    Pred "pred" 8 Boolean 1 2,
    S1 "s1" 1 Signed 30 30,
    S2 "s2" 2 Signed 26 26,
    S4 "s4" 4 Signed 21 21,
    S8 "s8" 8 Signed 2 15,
    S16 "s16" 16 Signed 3 17,
    S32 "s32" 32 Signed 4 4,
    S64 "s64" 64 Signed 5 5,
    U1 "u1" 1 Unsigned 31 31,
    U2 "u2" 2 Unsigned 27 27,
    U4 "u4" 4 Unsigned 22 22,
    U8 "u8" 8 Unsigned 6 3,
    U16 "u16" 16 Unsigned 7 16,
    U32 "u32" 32 Unsigned 8 6,
    U64 "u64" 64 Unsigned 9 7,
    F16 "f16" 16 Float 10 11,
    Bf16 "bf16" 16 Float 16 13,
    F32 "f32" 32 Float 11 8,
    F64 "f64" 64 Float 12 9,
    F8E5M2 "f8e5m2" 8 Float 19 19,
    F8E4M3 "f8e4m3" 8 Float 28 28,
    F8E4M3Fn "f8e4m3fn" 8 Float 20 20,
    F8E4M3B11Fnuz "f8e4m3b11fnuz" 8 Float 23 23,
    F8E5M2Fnuz "f8e5m2fnuz" 8 Float 24 24,
    F8E4M3Fnuz "f8e4m3fnuz" 8 Float 25 25,
    F8E3M4 "f8e3m4" 8 Float 29 29,
    F8E8M0Fnu "f8e8m0fnu" 8 Float 33 33,
    F4E2M1Fn "f4e2m1fn" 4 Float 32 32,
    F6E2M3Fn "f6e2m3fn" 6 Float 36 0,
    F6E3M2Fn "f6e3m2fn" 6 Float 35 0,
    C64 "c64" 64 Complex 15 12,
    C128 "c128" 128 Complex 18 18,
}

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

    /// The number of `PrimitiveType` in protos.
    pub fn number(self) -> i64 {
        TABLE[self as usize].4
    }

    /// The type with this number in protos, or `None`.
    pub fn from_number(number: i64) -> Option<ElementType> {
        TABLE.iter().find(|row| row.4 == number).map(|row| row.0)
    }

    /// The field of `LiteralProto` with elements of this type; `None` if a literal cannot hold them.
    pub fn literal_field(self) -> Option<u32> {
        Some(TABLE[self as usize].5).filter(|&field| field > 0)
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
