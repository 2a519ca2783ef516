//! `ShapeProto` and `LayoutProto`, in both directions.

use layout::{ArrayShape, ElementType, Layout, Shape, SplitConfig, Tile};

use super::wire::{Encoder, Message, Wire, WireError};

/// Numbers of `PrimitiveType` by element type.
const ELEMENTS: &[(i64, ElementType)] = &[
    (1, ElementType::Pred),
    (30, ElementType::S1),
    (26, ElementType::S2),
    (21, ElementType::S4),
    (2, ElementType::S8),
    (3, ElementType::S16),
    (4, ElementType::S32),
    (5, ElementType::S64),
    (31, ElementType::U1),
    (27, ElementType::U2),
    (22, ElementType::U4),
    (6, ElementType::U8),
    (7, ElementType::U16),
    (8, ElementType::U32),
    (9, ElementType::U64),
    (10, ElementType::F16),
    (11, ElementType::F32),
    (16, ElementType::Bf16),
    (12, ElementType::F64),
    (19, ElementType::F8E5M2),
    (28, ElementType::F8E4M3),
    (20, ElementType::F8E4M3Fn),
    (23, ElementType::F8E4M3B11Fnuz),
    (29, ElementType::F8E3M4),
    (24, ElementType::F8E5M2Fnuz),
    (25, ElementType::F8E4M3Fnuz),
    (32, ElementType::F4E2M1Fn),
    (33, ElementType::F8E8M0Fnu),
    (15, ElementType::C64),
    (18, ElementType::C128),
];
const TUPLE: i64 = 13;
const OPAQUE: i64 = 14;
const TOKEN: i64 = 17;
const BUFFER: i64 = 34;

/// The letters of `D(…)` by number of `DimLevelType`.
const LEVELS: &[u8] = b"DCSH";

fn element(number: i64) -> Option<ElementType> {
    ELEMENTS.iter().find(|row| row.0 == number).map(|row| row.1)
}

fn element_number(t: ElementType) -> i64 {
    ELEMENTS.iter().find(|row| row.1 == t).map_or(0, |row| row.0)
}

/// The shape of a `ShapeProto`.
pub(crate) fn read(m: Message<'_>, depth: usize) -> Wire<Shape> {
    let bad = |found: String| Err(WireError { at: m.at, found });
    if depth > layout::MAX_DEPTH {
        return bad(format!("shapes nested deeper than {} levels", layout::MAX_DEPTH));
    }
    Ok(match m.int(2) {
        TUPLE => Shape::Tuple(m.subs(4).map(|part| read(part?, depth + 1)).collect::<Wire<_>>()?),
        TOKEN => Shape::Token,
        OPAQUE => Shape::Opaque,
        BUFFER => match m.sub(4)? {
            Some(inner) => Shape::Buffer(Box::new(read(inner, depth + 1)?)),
            None => return bad("a buffer shape without an element shape".into()),
        },
        number => {
            let Some(element) = element(number) else { return bad(format!("element type {number}")) };
            let dims = m.ints(3)?;
            let mut dynamic: Vec<bool> = Vec::new();
            m.each_int(6, |v| dynamic.push(v != 0))?;
            if dynamic.len() != dims.len() {
                dynamic.clear();
            }
            let layout = m.sub(5)?.map(|l| read_layout(l, dims.len(), depth)).transpose()?;
            match ArrayShape::new(element, &dims, &dynamic, layout) {
                Ok(array) => Shape::Array(array),
                Err(e) => return bad(format!("an invalid shape: {e}")),
            }
        }
    })
}

fn read_layout(m: Message<'_>, rank: usize, depth: usize) -> Wire<Layout> {
    let mut layout = Layout::new(m.ints(1)?);
    if layout.minor_to_major.is_empty() {
        layout = Layout::row_major(rank);
    }
    for tile in m.subs(6) {
        layout.tiles.push(Tile(tile?.ints(1)?));
    }
    // 0 stands for an absent field, as in files that predate it.
    layout.tail_padding_alignment = m.int(16).max(1);
    layout.element_size_in_bits = m.int(7).max(0);
    layout.memory_space = m.int(8).max(0);
    layout.index_type = element(m.int(11));
    layout.pointer_type = element(m.int(12));
    layout.dynamic_shape_metadata_prefix_bytes = m.int(15).max(0);
    for config in m.subs(17) {
        let config = config?;
        layout.split_configs.push(SplitConfig { dimension: config.int(1), indices: config.ints(2)? });
    }
    if let Some(physical) = m.sub(10)? {
        layout.physical_shape = Some(Box::new(read(physical, depth + 1)?));
    }
    let levels = m.ints(9)?;
    if !levels.is_empty() {
        let letter = |&n: &i64| usize::try_from(n).ok().and_then(|n| LEVELS.get(n)).map_or('D', |&c| c as char);
        let words: Vec<String> = levels.iter().map(|n| letter(n).to_string()).collect();
        layout.dim_level_types = Some(words.join(",").into());
    }
    Ok(layout)
}

/// A `ShapeProto`.
pub(crate) fn write(shape: &Shape) -> Encoder {
    let mut d = Encoder::default();
    match shape {
        Shape::Array(a) => {
            d.int(2, element_number(a.element()));
            d.ints(3, a.dims());
            match a.layout() {
                Some(layout) => d.message(5, &write_layout(layout)),
                None if a.rank() == 0 => d.message(5, &write_layout(&Layout::row_major(0))),
                None => {}
            }
            d.ints(6, &(0..a.rank()).map(|i| i64::from(a.is_dynamic(i))).collect::<Vec<_>>());
        }
        Shape::Tuple(parts) => {
            d.int(2, TUPLE);
            parts.iter().for_each(|part| d.message(4, &write(part)));
        }
        Shape::Token => d.int(2, TOKEN),
        Shape::Opaque => d.int(2, OPAQUE),
        Shape::Buffer(inner) => {
            d.int(2, BUFFER);
            d.message(4, &write(inner));
        }
    }
    d
}

fn write_layout(layout: &Layout) -> Encoder {
    let mut d = Encoder::default();
    d.ints(1, &layout.minor_to_major);
    for tile in &layout.tiles {
        let mut t = Encoder::default();
        t.ints(1, &tile.0);
        d.message(6, &t);
    }
    d.int_unless_zero(7, layout.element_size_in_bits);
    d.int_unless_zero(8, layout.memory_space);
    if let Some(levels) = &layout.dim_level_types {
        let number = |c: u8| LEVELS.iter().position(|&l| l == c).map(|n| n as i64);
        d.ints(9, &levels.bytes().filter_map(number).collect::<Vec<_>>());
    }
    if let Some(physical) = &layout.physical_shape {
        d.message(10, &write(physical));
    }
    d.int_unless_zero(11, layout.index_type.map_or(0, element_number));
    d.int_unless_zero(12, layout.pointer_type.map_or(0, element_number));
    d.int_unless_zero(15, layout.dynamic_shape_metadata_prefix_bytes);
    d.int(16, layout.tail_padding_alignment);
    for config in &layout.split_configs {
        let mut c = Encoder::default();
        c.int_unless_zero(1, config.dimension);
        c.ints(2, &config.indices);
        d.message(17, &c);
    }
    d
}
