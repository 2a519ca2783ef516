//! Shapes and layouts to text, in XLA's notation.
//!
//! `parse_shape(&shape.to_string()) == Ok(shape)` for every shape without `padded_dimensions`, which have no text
//! form.

use std::fmt;

use crate::shape::UNBOUNDED;
use crate::shape::{Tile, COMBINED};
use crate::{ArrayShape, Layout, Shape};

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Array(array) => array.fmt(f),
            Shape::Tuple(parts) => {
                f.write_str("(")?;
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    part.fmt(f)?;
                }
                f.write_str(")")
            }
            Shape::Token => f.write_str("token[]"),
            Shape::Opaque => f.write_str("opaque[]"),
            Shape::Buffer(inner) => write!(f, "b({inner})"),
        }
    }
}

impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.element().name())?;
        for (i, &n) in self.dims().iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            match (n, self.is_dynamic(i)) {
                (UNBOUNDED, _) => write!(f, "{comma}?")?,
                (n, true) => write!(f, "{comma}<={n}")?,
                (n, false) => write!(f, "{comma}{n}")?,
            }
        }
        f.write_str("]")?;
        self.layout().map_or(Ok(()), |layout| layout.fmt(f))
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        list(f, &self.minor_to_major)?;
        let mut colon = ":";
        let mut start = |f: &mut fmt::Formatter<'_>| f.write_str(std::mem::take(&mut colon));
        if let Some(types) = &self.dim_level_types {
            start(f)?;
            write!(f, "D({types})")?;
        }
        if !self.tiles.is_empty() {
            start(f)?;
            f.write_str("T")?;
            for tile in &self.tiles {
                tile.fmt(f)?;
            }
        }
        if self.tail_padding_alignment != 1 {
            start(f)?;
            write!(f, "L({})", self.tail_padding_alignment)?;
        }
        if let Some(t) = self.index_type {
            start(f)?;
            write!(f, "#({})", t.name())?;
        }
        if let Some(t) = self.pointer_type {
            start(f)?;
            write!(f, "*({})", t.name())?;
        }
        if self.element_size_in_bits != 0 {
            start(f)?;
            write!(f, "E({})", self.element_size_in_bits)?;
        }
        if self.memory_space != 0 {
            start(f)?;
            write!(f, "S({})", self.memory_space)?;
        }
        if !self.split_configs.is_empty() {
            start(f)?;
            f.write_str("SC")?;
            for config in &self.split_configs {
                write!(f, "({}:", config.dimension)?;
                list(f, &config.indices)?;
                f.write_str(")")?;
            }
        }
        if let Some(shape) = &self.physical_shape {
            start(f)?;
            write!(f, "P({shape})")?;
        }
        if self.dynamic_shape_metadata_prefix_bytes != 0 {
            start(f)?;
            write!(f, "M({})", self.dynamic_shape_metadata_prefix_bytes)?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, &n) in self.0.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            match n {
                COMBINED => write!(f, "{comma}*")?,
                n => write!(f, "{comma}{n}")?,
            }
        }
        f.write_str(")")
    }
}

fn list(f: &mut fmt::Formatter<'_>, numbers: &[i64]) -> fmt::Result {
    for (i, n) in numbers.iter().enumerate() {
        if i > 0 {
            f.write_str(",")?;
        }
        write!(f, "{n}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::parse_shape;

    #[test]
    fn printing_round_trips() {
        for text in [
            "f32[]",
            "f32[3,5]{1,0}",
            "pred[0]{0}",
            "f32[<=4,?,3]",
            "(f32[2]{0}, (), (s32[], token[]), opaque[])",
            "b(f32[3])",
            "s4[3,5]{1,0:T(2,2)(2,1)E(4)S(1)}",
            "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}",
            "bf16[8,16]{0,1:D(D,C)T(8,128)(2,1)L(1024)#(u32)*(u8)E(16)S(5)SC(0:1,2)(1:7)P(s8[64]{0})M(32)}",
            "f32[]{:T(256)}",
            "f32[1048576,8796093022207]",
        ] {
            assert_eq!(parse_shape(text).unwrap().to_string(), text);
        }
    }
}
