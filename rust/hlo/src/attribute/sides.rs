//! The configurations of the sides of a product: `{lhs={dimension=0 idx=2} rhs={…}}`.
//!
//! Items are separated by space, in any order; sizes by dimension are written `1x32`.

use std::fmt;

use super::by_dim;
use crate::cursor::{Cursor, Read};
use crate::wire::{Encoder, Message, Wire};

/// The values that an item holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A number, 0 if it is absent.
    Number,
    /// A number that may be absent.
    Optional,
    /// Two numbers, in fields of their own: `1x4`.
    Pair,
    /// One number per dimension; none if it is absent.
    Sizes,
}

/// An item of a configuration: its name, the kind of its value, and its first field in the proto.
#[derive(Debug, PartialEq, Eq)]
pub struct Item(&'static str, Kind, u32);

impl Item {
    /// The name in the text.
    pub fn name(&self) -> &'static str {
        self.0
    }

    /// Whether it may have several numbers.
    pub fn is_list(&self) -> bool {
        matches!(self.1, Kind::Pair | Kind::Sizes)
    }
}

/// The items of `sparsity_config`, which selects the elements that an operand holds.
pub(crate) const SPARSITY: &[Item] = &[
    Item("sparsity", Kind::Pair, 1),
    Item("dimension", Kind::Number, 3),
    Item("stride", Kind::Number, 4),
    Item("idx", Kind::Number, 5),
];

/// The items of `block_scaling_config`: the scales of the blocks of an operand.
pub(crate) const SCALING: &[Item] = &[
    Item("scale_idx", Kind::Number, 1),
    Item("zero_idx", Kind::Optional, 2),
    Item("strides", Kind::Sizes, 3),
    Item("steps", Kind::Sizes, 4),
];

/// The items of one side with their numbers.
type Side = Vec<(&'static Item, Vec<i64>)>;

/// The configurations of the sides that have one, in the order of the operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides(pub Vec<(&'static str, Side)>);

/// The sides in the order of the operands.
pub(crate) const SIDES: [&str; 2] = ["lhs", "rhs"];

impl Sides {
    pub(crate) fn numbers(&self, side: &str, name: &str) -> Option<&[i64]> {
        let (_, items) = self.0.iter().find(|(found, _)| *found == side)?;
        Some(&items.iter().find(|(item, _)| item.0 == name)?.1)
    }

    /// The only number of an item of one side.
    pub(crate) fn int(&self, side: &str, name: &str) -> Option<i64> {
        self.numbers(side, name)?.first().copied()
    }

    /// The numbers of all items that name operands.
    pub(crate) fn operands(&self) -> impl Iterator<Item = i64> + '_ {
        let items = self.0.iter().flat_map(|(_, items)| items);
        items.filter(|(item, _)| item.0.ends_with("idx")).flat_map(|(_, numbers)| numbers.iter().copied())
    }
}

/// Completes the items of one side: the numbers found for each, or the defaults of absent items.
fn completed(config: &'static [Item], found: Vec<Vec<i64>>) -> Side {
    let all = config.iter().zip(found).map(|(item, numbers)| match item.1 {
        Kind::Number if numbers.is_empty() => (item, vec![0]),
        Kind::Pair if numbers.is_empty() => (item, vec![0, 0]),
        _ => (item, numbers),
    });
    all.filter(|(_, numbers)| !numbers.is_empty()).collect()
}

/// `{lhs={…} rhs={…}}`
pub(crate) fn sides(c: &mut Cursor<'_>, config: &'static [Item]) -> Read<Sides> {
    let mut all: [Option<Side>; 2] = [None, None];
    each_item(c, |c, at, word| {
        let Some(side) = SIDES.iter().position(|&side| side == word).filter(|&side| all[side].is_none()) else {
            return Err(at.expected("lhs or rhs, each once"));
        };
        let mut found = vec![Vec::new(); config.len()];
        each_item(c, |c, at, word| {
            let Some(k) = config.iter().position(|item| item.0 == word).filter(|&k| found[k].is_empty()) else {
                let names: Vec<_> = config.iter().map(|item| item.0).collect();
                return Err(at.expected(format!("{}, each once", names.join(", "))));
            };
            c.space();
            let at = *c;
            found[k] = by_dim(c, |c| c.int())?;
            match (config[k].1, found[k].len()) {
                (Kind::Pair, 2) | (Kind::Number | Kind::Optional, 1) | (Kind::Sizes, _) => Ok(()),
                (Kind::Pair, _) => Err(at.expected("two numbers, as in 1x4")),
                _ => Err(at.expected("one number")),
            }
        })?;
        all[side] = Some(completed(config, found));
        Ok(())
    })?;
    let all = SIDES.into_iter().zip(all);
    Ok(Sides(all.filter_map(|(side, items)| Some((side, items?))).collect()))
}

/// `{name=… name=…}`, where `value` reads behind the `=`.
fn each_item<'a>(
    c: &mut Cursor<'a>,
    mut value: impl FnMut(&mut Cursor<'a>, Cursor<'a>, &'a str) -> Read<()>,
) -> Read<()> {
    c.expect(b'{', "`{`")?;
    while !c.accept_after_space(b'}') {
        let at = *c;
        let word = c.word();
        if word.is_empty() {
            return Err(at.expected("an item or `}`"));
        }
        c.expect(b'=', "`=`")?;
        value(c, at, word)?;
    }
    Ok(())
}

impl fmt::Display for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (k, (side, items)) in self.0.iter().enumerate() {
            write!(f, "{}{side}={{", if k > 0 { " " } else { "" })?;
            for (k, (item, numbers)) in items.iter().enumerate() {
                let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
                write!(f, "{}{}={}", if k > 0 { " " } else { "" }, item.0, numbers.join("x"))?;
            }
            f.write_str("}")?;
        }
        f.write_str("}")
    }
}

/// The configurations in a proto, whose sides are the fields 1 and 2.
pub(crate) fn read(m: Message<'_>, config: &'static [Item]) -> Wire<Sides> {
    let mut all = Vec::new();
    for (number, side) in (1..).zip(SIDES) {
        let Some(m) = m.sub(number)? else { continue };
        let found = config.iter().map(|&Item(_, kind, field)| match kind {
            Kind::Optional if !m.has(field) => Ok(Vec::new()),
            Kind::Number | Kind::Optional => Ok(vec![m.int(field)]),
            Kind::Pair => Ok(vec![m.int(field), m.int(field + 1)]),
            Kind::Sizes => m.ints(field),
        });
        all.push((side, completed(config, found.collect::<Wire<_>>()?)));
    }
    Ok(Sides(all))
}

/// The message of [`read`].
pub(crate) fn write(sides: &Sides, d: &mut Encoder) {
    for (side, items) in &sides.0 {
        d.nested(if *side == SIDES[0] { 1 } else { 2 }, |d| {
            for &(&Item(_, kind, field), ref numbers) in items {
                match (kind, &numbers[..]) {
                    (Kind::Sizes, sizes) => d.ints(field, sizes),
                    (Kind::Optional, &[n]) => d.int(field, n),
                    (_, numbers) => (field..).zip(numbers).for_each(|(field, &n)| d.int_unless_zero(field, n)),
                }
            }
        });
    }
}
