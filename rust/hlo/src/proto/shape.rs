//! `ShapeProto` and `LayoutProto`, in both directions.

use layout::{brief, ArrayShape, ElementType, Layout, Shape, SplitConfig, Tile};
use rustc_hash::FxHashMap;

use crate::check::invalid_layout;
use crate::verify::values::lacks_order;
use crate::wire::{bad, Encoder, Message, Payload, Wire};

const TUPLE: i64 = 13;
const OPAQUE: i64 = 14;
const TOKEN: i64 = 17;
const BUFFER: i64 = 34;

/// The letters of `D(…)` by number of `DimLevelType`.
const LEVELS: &[u8] = b"DCSH";

/// Shapes by encoded bytes, since most instructions share a shape.
#[derive(Default)]
pub(crate) struct Shapes<'a> {
    known: FxHashMap<&'a [u8], KnownShape>,
    /// Numbers by value: several encodings may stand for one shape.
    numbers: FxHashMap<Shape, u32>,
}

#[derive(Clone, Copy)]
pub(crate) struct KnownShape {
    /// Its number in the module.
    pub number: u32,
    /// The length of its text.
    pub length: u32,
    /// Whether a reader of its text has nothing to report; a strict one reports a layout without an order.
    pub is_regular: bool,
    pub has_order: bool,
}

impl<'a> Shapes<'a> {
    /// The shape in these bytes, if it was met before.
    #[inline]
    pub fn known(&self, bytes: &[u8]) -> Option<KnownShape> {
        self.known.get(bytes).copied()
    }

    /// Adds the shape in a message to the shapes of the module.
    pub fn add(&mut self, m: Message<'a>, all: &mut Vec<Shape>) -> Wire<KnownShape> {
        let shape = read(m, 0)?;
        // Some layouts, such as a split without indices, cannot be written as text.
        let text = shape.to_string();
        if !layout::parse_shape(&text).is_ok_and(|read| read == shape) {
            return bad(m.at, format!("a shape that text cannot express: {}", brief(&shape)));
        }
        let (is_regular, has_order) = (invalid_layout(&shape).is_none(), !lacks_order(text.as_bytes()));
        let number = *self.numbers.entry(shape).or_insert_with_key(|shape| {
            all.push(shape.clone());
            all.len() as u32 - 1
        });
        let known = KnownShape { number, length: text.len().min(u32::MAX as usize) as u32, is_regular, has_order };
        self.known.insert(m.bytes(), known);
        Ok(known)
    }
}

pub(crate) fn read(m: Message<'_>, depth: usize) -> Wire<Shape> {
    if depth > layout::MAX_DEPTH {
        return bad(m.at, format!("shapes nested deeper than {} levels", layout::MAX_DEPTH));
    }
    let (mut number, mut dims, mut dynamic, mut layout, mut parts) = (0, Vec::new(), Vec::new(), None, Vec::new());
    for f in m.fields() {
        match (f.number, f.payload) {
            (2, Payload::Varint(n)) => number = n as i64,
            (3, _) => f.each_int(|d| dims.push(d))?,
            (4, _) => parts.push(read(f.message()?, depth + 1)?),
            (5, _) => layout = Some(f.message()?),
            (6, _) => f.each_int(|v| dynamic.push(v != 0))?,
            _ => {}
        }
    }
    Ok(match number {
        TUPLE => Shape::Tuple(parts),
        TOKEN => Shape::Token,
        OPAQUE => Shape::Opaque,
        BUFFER => match parts.pop() {
            Some(inner) => Shape::Buffer(Box::new(inner)),
            None => return bad(m.at, "a buffer shape without an element shape"),
        },
        number => {
            let Some(element) = ElementType::from_number(number) else {
                return bad(m.at, format!("element type {number}"));
            };
            if dynamic.len() != dims.len() {
                dynamic.clear();
            }
            let layout = layout.map(|l| read_layout(l, dims.len(), depth)).transpose()?;
            match ArrayShape::new(element, &dims, &dynamic, layout) {
                Ok(array) => Shape::Array(array),
                Err(e) => return bad(m.at, format!("an invalid shape: {e}")),
            }
        }
    })
}

fn read_layout(m: Message<'_>, rank: usize, depth: usize) -> Wire<Layout> {
    let mut layout = Layout::new(Vec::new());
    // Files that predate the field have no alignment.
    layout.tail_padding_alignment = 1;
    let mut levels = String::new();
    for f in m.fields() {
        match (f.number, f.payload) {
            (1, _) => f.each_int(|d| layout.minor_to_major.push(d))?,
            (6, _) => layout.tiles.push(Tile(f.message()?.ints(1)?)),
            (7, Payload::Varint(n)) => layout.element_size_in_bits = n as i64,
            (8, Payload::Varint(n)) => layout.memory_space = n as i64,
            (9, _) => f.each_int(|n| {
                let letter = usize::try_from(n).ok().and_then(|n| LEVELS.get(n)).map_or('D', |&c| c as char);
                levels.extend((!levels.is_empty()).then_some(','));
                levels.push(letter);
            })?,
            (10, _) => layout.physical_shape = Some(Box::new(read(f.message()?, depth + 1)?)),
            (11, Payload::Varint(n)) => layout.index_type = ElementType::from_number(n as i64),
            (12, Payload::Varint(n)) => layout.pointer_type = ElementType::from_number(n as i64),
            (15, Payload::Varint(n)) => layout.dynamic_shape_metadata_prefix_bytes = n as i64,
            (16, Payload::Varint(n)) => layout.tail_padding_alignment = n as i64,
            (17, _) => {
                let config = f.message()?;
                layout.split_configs.push(SplitConfig { dimension: config.int(1), indices: config.ints(2)? });
            }
            _ => {}
        }
    }
    if layout.minor_to_major.is_empty() {
        layout.minor_to_major = Layout::row_major(rank).minor_to_major;
    }
    layout.dim_level_types = (!levels.is_empty()).then(|| levels.into());
    Ok(layout)
}

pub(crate) fn write(shape: &Shape) -> Encoder {
    let mut d = Encoder::default();
    write_to(shape, &mut d);
    d
}

/// The fields of a `ShapeProto`.
pub(crate) fn write_to(shape: &Shape, d: &mut Encoder) {
    match shape {
        Shape::Array(a) => {
            d.int(2, a.element().number());
            d.ints(3, a.dims());
            match a.layout() {
                Some(layout) => d.nested(5, |d| write_layout(layout, d)),
                None if a.rank() == 0 => d.nested(5, |d| write_layout(&Layout::row_major(0), d)),
                None => {}
            }
            d.each_int(6, (0..a.rank()).map(|i| i64::from(a.is_dynamic(i))));
        }
        Shape::Tuple(parts) => {
            d.int(2, TUPLE);
            parts.iter().for_each(|part| d.nested(4, |d| write_to(part, d)));
        }
        Shape::Token => d.int(2, TOKEN),
        Shape::Opaque => d.int(2, OPAQUE),
        Shape::Buffer(inner) => {
            d.int(2, BUFFER);
            d.nested(4, |d| write_to(inner, d));
        }
    }
}

fn write_layout(layout: &Layout, d: &mut Encoder) {
    d.ints(1, &layout.minor_to_major);
    for tile in &layout.tiles {
        d.nested(6, |d| d.ints(1, &tile.0));
    }
    d.int_unless_zero(7, layout.element_size_in_bits);
    d.int_unless_zero(8, layout.memory_space);
    if let Some(levels) = &layout.dim_level_types {
        let number = |c: u8| LEVELS.iter().position(|&l| l == c).map(|n| n as i64);
        d.each_int(9, levels.bytes().filter_map(number));
    }
    if let Some(physical) = &layout.physical_shape {
        d.nested(10, |d| write_to(physical, d));
    }
    d.int_unless_zero(11, layout.index_type.map_or(0, ElementType::number));
    d.int_unless_zero(12, layout.pointer_type.map_or(0, ElementType::number));
    d.int_unless_zero(15, layout.dynamic_shape_metadata_prefix_bytes);
    d.int(16, layout.tail_padding_alignment);
    for config in &layout.split_configs {
        d.nested(17, |d| {
            d.int_unless_zero(1, config.dimension);
            d.ints(2, &config.indices);
        });
    }
}
