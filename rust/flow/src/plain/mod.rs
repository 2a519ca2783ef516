//! Plain rules: indexing rules that a line of text describes, evaluated for an instruction in both directions.
//!
//! [`PlainRule`] is one. Its text relates the index of an element of the output to the indices of the elements that it
//! depends on:
//!
//! ```text
//! [a] <- [a=dimensions]                             transpose
//! [a=dimensions, _] <- [a]                          broadcast
//! [a] <- [slice.0 + slice.2 * a]                    slice
//! [a, b, c] <- [a=lhs_batch_dims, k=lhs_contracting_dims, b], [a=rhs_batch_dims, k=rhs_contracting_dims, c]
//! ```
//!
//! Brackets are the index of an array, first of the output, then of each operand. A letter names the indices along some
//! dimensions, which are equal wherever the letter appears: those that an attribute lists in that order (`a=dimensions`),
//! those of a set (`a={dimensions}`, in their own order), or all others of the array (`a`). Of several letters without an
//! attribute each has as many dimensions as in the other arrays, or as both arrays have (`[a, _] <- [a, _]`), and `_` has
//! the rest. `_`, or an index that other arrays do not have, takes every value.
//! `...` after a bracket says that every operand is like this, or every one of a half of them, `or []` before it that it
//! may be a scalar. The array after `else` is read by the elements of the output that have no element of the first operand.
//!
//! An index may be scaled and shifted, in one of the two arrays: by numbers, by the `size` of the dimension, by field k
//! of its row of an attribute (`padding.0`), or by the size of all operands `before` this one.
//!
//! A rule holds for arrays alone. `if static`: only if no dimension is dynamic. `if combining`: only if, in addition, the
//! operation applies an elementwise operation to pairs of elements. `if no NAME`: only without that attribute. Where a
//! rule does not hold, it says nothing.

use hlo::{InstructionId, Module, Value};
use layout::{ArrayShape, Shape};
use quasiaffine::{delinearize, Constraint, Domain, Expr, Interval, Map, Options, Variable};
use smallvec::SmallVec;

use crate::indexing::{Direction, Footprint, InstructionIndexing, OperandIndexing};
use crate::outside::{outside, Condition};
use crate::shapes::{self, ShapeIndex};

mod text;

pub use text::NotPlain;

/// An indexing rule that a text describes.
#[derive(Debug)]
pub struct PlainRule {
    pattern: Pattern,
    if_static: bool,
    /// Only without this attribute.
    if_without: Option<String>,
    /// Only if the called computation is an elementwise operation on its two parameters.
    pub if_combining: bool,
}

#[derive(Debug)]
enum Pattern {
    /// Elements with equal row-major linear indices.
    LinearIndex,
    /// Elements at the same place in a buffer.
    Memory,
    Indices {
        output: Array,
        operands: Operands,
    },
}

#[derive(Debug)]
enum Operands {
    /// All alike, or each half; `or_scalar`: each has the dimensions of the output, or none.
    Each { operand: Array, or_scalar: bool, second_half: Option<Array> },
    /// One after the other; `others` is read where the first operand has no element.
    Listed { listed: Vec<Array>, others: Option<Array> },
}

/// The index of an array.
#[derive(Debug)]
struct Array {
    groups: Vec<Group>,
}

/// The index along some dimensions.
#[derive(Debug)]
struct Group {
    label: u8,
    picked: Picked,
    index: Index,
}

/// The dimensions of a group.
#[derive(Debug)]
enum Picked {
    /// All that no attribute lists.
    Rest,
    /// Those of an attribute, in its order.
    List(String),
    /// Those of an attribute, in their own order.
    Set(String),
}

/// An index along a dimension, in terms of the one that the letter names.
#[derive(Debug)]
enum Index {
    Itself,
    Number(i64),
    Size,
    Before,
    /// An attribute with a row for each dimension.
    Field(String, usize),
    /// The second one is added this many times.
    Sum(Box<Index>, i64, Box<Index>),
    Product(Box<Index>, Box<Index>),
}

/// `offset + factor * x`
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine {
    offset: i64,
    factor: i64,
}

impl Affine {
    const ITSELF: Affine = Affine { offset: 0, factor: 1 };

    fn of(self, x: i64) -> Option<i64> {
        self.factor.checked_mul(x)?.checked_add(self.offset)
    }
}

/// What a plain rule reads of an instruction.
pub struct Given<'a> {
    /// The array of the output.
    pub output: &'a Shape,
    /// The number of operands.
    pub n_operands: usize,
    /// The operands by number.
    pub operand: &'a dyn Fn(usize) -> Option<&'a Shape>,
    /// The value of an attribute.
    pub attribute: &'a dyn Fn(&str) -> Option<Value<'a>>,
}

/// An attribute with one number, or a row of three, for each dimension.
#[derive(Default)]
struct Attributes<'a>(SmallVec<[(&'a str, Rows); 3]>);

type Rows = SmallVec<[[i64; 3]; 4]>;

impl<'a> Attributes<'a> {
    fn rows(&mut self, given: &Given<'_>, name: &'a str) -> Option<&Rows> {
        let at = match self.0.iter().position(|(known, _)| *known == name) {
            Some(at) => at,
            None => {
                let rows = match (given.attribute)(name) {
                    None => Rows::new(),
                    Some(Value::Ints(list)) => list.into_iter().map(|n| [n, 0, 0]).collect(),
                    Some(Value::Slices(rows) | Value::Padding(rows)) => {
                        rows.into_iter().map(|(a, b, c)| [a, b, c]).collect()
                    }
                    Some(_) => return None,
                };
                self.0.push((name, rows));
                self.0.len() - 1
            }
        };
        Some(&self.0[at].1)
    }
}

/// A dimension of an array: its size, and which of the indices with a letter is shifted and scaled to its index.
#[derive(Clone, Copy)]
struct Placed {
    size: i64,
    label: u8,
    number: usize,
    index: Affine,
}

impl Placed {
    fn names(&self, other: &Placed) -> bool {
        self.label != b'_' && (self.label, self.number) == (other.label, other.number)
    }
}

type Dims = SmallVec<[Placed; 6]>;

/// The sizes of all operands before one, by dimension.
type Before = SmallVec<[i64; 6]>;

fn add_sizes(before: &mut Before, array: &ArrayShape) -> Option<()> {
    before.resize(array.rank(), 0);
    for (total, n) in before.iter_mut().zip(array.dims()) {
        *total = total.checked_add(*n)?;
    }
    Some(())
}

impl Index {
    fn at<'a>(
        &'a self,
        dim: usize,
        size: i64,
        before: &Before,
        given: &Given<'_>,
        attributes: &mut Attributes<'a>,
    ) -> Option<Affine> {
        let number = |offset| Some(Affine { offset, factor: 0 });
        match self {
            Index::Itself => Some(Affine::ITSELF),
            Index::Number(n) => number(*n),
            Index::Size => number(size),
            Index::Before => number(before.get(dim).copied().unwrap_or(0)),
            Index::Field(name, k) => number(attributes.rows(given, name)?.get(dim)?[*k]),
            Index::Sum(a, sign, b) => {
                let (a, b) = (a.at(dim, size, before, given, attributes)?, b.at(dim, size, before, given, attributes)?);
                let sum = |a: i64, b: i64| a.checked_add(b.checked_mul(*sign)?);
                Some(Affine { offset: sum(a.offset, b.offset)?, factor: sum(a.factor, b.factor)? })
            }
            Index::Product(a, b) => {
                let (a, b) = (a.at(dim, size, before, given, attributes)?, b.at(dim, size, before, given, attributes)?);
                let (n, x) = if a.factor == 0 { (a.offset, b) } else { (b.offset, a) };
                Some(Affine { offset: n.checked_mul(x.offset)?, factor: n.checked_mul(x.factor)? })
            }
        }
    }
}

impl Array {
    /// The dimensions of an array; `others` are those of arrays that have letters of several groups here.
    fn place<'a>(
        &'a self,
        array: &ArrayShape,
        before: &Before,
        others: &[&Dims],
        given: &Given<'_>,
        attributes: &mut Attributes<'a>,
    ) -> Option<Dims> {
        let sizes = array.dims();
        let mut found: SmallVec<[Option<Placed>; 6]> = SmallVec::from_elem(None, sizes.len());
        let mut put = |dim: usize, number: usize, group: &'a Group, attributes: &mut Attributes<'a>| {
            let place = found.get_mut(dim).filter(|place| place.is_none())?;
            let (size, label) = (sizes[dim], group.label);
            let index = group.index.at(dim, size, before, given, attributes)?;
            *place = Some(Placed { size, label, number, index });
            Some(())
        };
        for group in &self.groups {
            let (Picked::List(name) | Picked::Set(name)) = &group.picked else { continue };
            let mut dims: SmallVec<[i64; 6]> = attributes.rows(given, name)?.iter().map(|row| row[0]).collect();
            if matches!(group.picked, Picked::Set(_)) {
                dims.sort_unstable();
            }
            for (number, dim) in dims.into_iter().enumerate() {
                put(usize::try_from(dim).ok()?, number, group, attributes)?;
            }
        }
        let is_alone = self.groups.iter().filter(|group| matches!(group.picked, Picked::Rest)).count() == 1;
        let free: SmallVec<[usize; 6]> = (0..sizes.len()).filter(|&dim| found[dim].is_none()).collect();
        let mut free = free.into_iter();
        let mut put = |dim: usize, number: usize, group: &'a Group, attributes: &mut Attributes<'a>| {
            let (size, label) = (sizes[dim], group.label);
            let index = group.index.at(dim, size, before, given, attributes)?;
            found[dim] = Some(Placed { size, label, number, index });
            Some(())
        };
        for group in self.groups.iter().filter(|group| matches!(group.picked, Picked::Rest)) {
            let count = |dims: &&Dims| dims.iter().filter(|at| at.label == group.label).count();
            let n = match others.iter().map(count).max() {
                _ if is_alone || group.label == b'_' => free.len(),
                Some(n) => n,
                None => free.len().min(shapes::sizes(given.output).count()),
            };
            for number in 0..n {
                put(free.next()?, number, group, attributes)?;
            }
        }
        found.into_iter().collect()
    }
}

/// Variables and constraints of a map under construction, with the expression of each index that has a letter.
struct Source {
    domain: Domain,
    indices: SmallVec<[Expr; 6]>,
    is_empty: bool,
}

fn size_interval(n: i64) -> Interval {
    Interval::new(0, n - 1)
}

/// The indices with a letter for which both arrays have an element.
fn common(one: &Placed, other: &Placed) -> Option<Interval> {
    let (mut lo, mut hi) = (0, i64::MAX);
    for Placed { size, index: Affine { offset, factor }, .. } in [one, other] {
        let (first, last) = (offset.checked_neg()?, size.checked_sub(1)?.checked_sub(*offset)?);
        let (from, to) = match factor {
            1.. => (first.checked_add(factor - 1)?.div_euclid(*factor), last.div_euclid(*factor)),
            -1 => (last.checked_neg()?, *offset),
            _ => return None,
        };
        (lo, hi) = (lo.max(from), hi.min(to));
    }
    Some(Interval::new(lo, hi))
}

impl Source {
    /// The dimensions of the array that a map comes from.
    fn new(from: &Dims, to: &Dims) -> Option<Source> {
        let mut source = Source { domain: Domain::default(), indices: SmallVec::new(), is_empty: false };
        for (i, at) in from.iter().enumerate() {
            let dim = Expr::dim(i as u32);
            let Affine { offset, factor } = at.index;
            let partner = to.iter().find(|other| at.names(other));
            let is_same = |other: &Placed| other.index == Affine::ITSELF && other.size == at.size;
            let is_plain = at.index == Affine::ITSELF && partner.is_none_or(is_same);
            let (interval, index) = if is_plain {
                (size_interval(at.size), dim)
            } else {
                let xs = common(at, partner.unwrap_or(at))?;
                if xs.lo > xs.hi {
                    source.is_empty = true;
                    return Some(source);
                }
                let (a, b) = (at.index.of(xs.lo)?, at.index.of(xs.hi)?);
                let shifted = dim.sub(&Expr::Const(offset)).ok()?;
                let index = match factor {
                    1 => shifted,
                    -1 => Expr::Const(offset).sub(&dim).ok()?,
                    _ => {
                        let factor = Expr::Const(factor);
                        let expr = shifted.floor_mod(&factor).ok()?;
                        source.domain.constraints.push(Constraint { expr, interval: Interval::new(0, 0) });
                        shifted.floor_div(&factor).ok()?
                    }
                };
                (Interval::new(a.min(b), a.max(b)), index)
            };
            source.is_empty |= interval.is_empty();
            source.domain.vars.push(Variable::new(interval));
            source.indices.push(index);
        }
        source.domain.n_dims = from.len();
        Some(source)
    }
}

/// The map from the elements of one array to those of another with the same indices.
fn map_between(from: &Dims, to: &Dims) -> Option<Footprint> {
    let mut source = Source::new(from, to)?;
    let mut results: SmallVec<[Expr; 4]> = SmallVec::from_elem(Expr::Const(0), to.len());
    let mut free: SmallVec<[usize; 6]> = SmallVec::new();
    for (k, at) in to.iter().enumerate() {
        let Affine { offset, factor } = at.index;
        match from.iter().position(|other| at.names(other)) {
            None => free.push(k),
            Some(_) if source.is_empty => {}
            Some(i) => {
                let scaled = source.indices[i].scale(factor).ok()?;
                results[k] = scaled.add(&Expr::Const(offset)).ok()?;
            }
        }
    }
    // Ranges have the order of the list that names their dimensions.
    free.sort_by_key(|&k| if to[k].label == b'_' { k } else { to[k].number });
    for k in free {
        let interval = size_interval(to[k].size);
        source.is_empty |= interval.is_empty();
        results[k] = Expr::range(source.domain.n_ranges as u32);
        source.domain.vars.push(Variable::new(interval));
        source.domain.n_ranges += 1;
    }
    if source.is_empty {
        return Some(Footprint::default());
    }
    Some(footprint([Map::new(source.domain, results).ok()?]))
}

fn footprint(maps: impl IntoIterator<Item = Map>) -> Footprint {
    let maps = maps.into_iter().map(|map| (ShapeIndex::new(), map)).collect();
    Footprint { maps, ..Footprint::default() }
}

/// The elements of the output without an element of the operand, each related to the one element of a scalar.
fn others(output: &Dims, operand: &Dims, direction: Direction) -> Option<Footprint> {
    let is_backward = direction == Direction::Backward;
    let variables = output.iter().map(|at| Variable::new(size_interval(at.size))).collect();
    let mut domain = Domain { vars: variables, ..Domain::default() };
    *(if is_backward { &mut domain.n_dims } else { &mut domain.n_ranges }) = output.len();
    let index = |k: usize| if is_backward { Expr::dim(k as u32) } else { Expr::range(k as u32) };
    let mut conditions = Vec::new();
    for (k, at) in output.iter().enumerate() {
        let partner = operand.iter().find(|other| at.names(other))?;
        let (xs, all) = (common(at, partner)?, size_interval(at.size));
        let inside =
            if xs.lo <= xs.hi { Interval::new(at.index.of(xs.lo)?, at.index.of(xs.hi)?) } else { Interval::EMPTY };
        conditions.push(Condition { expr: index(k), inside, all });
        if at.index.factor > 1 {
            let shifted = index(k).sub(&Expr::Const(at.index.offset)).ok()?;
            let expr = shifted.floor_mod(&Expr::Const(at.index.factor)).ok()?;
            conditions.push(Condition {
                expr,
                inside: Interval::new(0, 0),
                all: Interval::new(0, at.index.factor - 1),
            });
        }
    }
    if domain.vars.iter().any(|v| v.interval.is_empty()) {
        return Some(Footprint::default());
    }
    let results: SmallVec<[Expr; 4]> =
        if is_backward { SmallVec::new() } else { (0..output.len()).map(index).collect() };
    Some(footprint(outside(&domain, &results, conditions).ok()?))
}

const SIMPLIFIED: Options = Options::new().keep_point_dims(true).drop_unused(true);

/// Elements with equal row-major linear indices.
fn by_linear_index(from: &ArrayShape, to: &ArrayShape) -> Option<Footprint> {
    let dims: SmallVec<[Expr; 6]> = (0..from.rank() as u32).map(Expr::dim).collect();
    let results = delinearize(&dims, from.dims(), to.dims()).ok()?;
    if from.dims().contains(&0) {
        return Some(Footprint::default());
    }
    let map = Map::new(Domain::of_sizes(from.dims()), results).ok()?;
    Some(footprint([map.simplify(SIMPLIFIED)]))
}

/// The dimensions of an array without tiles, the most major one first.
fn major_to_minor(array: &ArrayShape) -> Option<SmallVec<[usize; 6]>> {
    let Some(layout) = array.layout() else { return Some((0..array.rank()).collect()) };
    let order: SmallVec<[usize; 6]> = layout.minor_to_major.iter().rev().map(|&dim| dim as usize).collect();
    let is_whole = (0..array.rank()).all(|dim| order.contains(&dim));
    (layout.tiles.is_empty() && order.len() == array.rank() && is_whole).then_some(order)
}

/// Elements at the same place in a buffer without tiles; a wider element is a row of narrower ones.
fn by_memory(from: &ArrayShape, to: &ArrayShape) -> Option<Footprint> {
    let (order, to_order) = (major_to_minor(from)?, major_to_minor(to)?);
    let (width, to_width) = (from.element_width(), to.element_width());
    if width.max(to_width) % width.min(to_width) != 0 {
        return None;
    }
    let (n_inner, n_outer) = ((width / to_width).max(1), (to_width / width).max(1));
    let mut variables: SmallVec<[Expr; 6]> = order.iter().map(|&dim| Expr::dim(dim as u32)).collect();
    let mut sizes: SmallVec<[i64; 6]> = order.iter().map(|&dim| from.dims()[dim]).collect();
    let mut to_sizes: SmallVec<[i64; 6]> = to_order.iter().map(|&dim| to.dims()[dim]).collect();
    variables.push(Expr::range(0));
    sizes.push(n_inner);
    to_sizes.push(n_outer);
    let indices = delinearize(&variables, &sizes, &to_sizes).ok()?;
    let mut results: SmallVec<[Expr; 6]> = SmallVec::from_elem(Expr::Const(0), to.rank());
    for (&dim, index) in to_order.iter().zip(indices) {
        results[dim] = index;
    }
    let mut domain = Domain::of_sizes(from.dims());
    if n_inner > 1 {
        domain.vars.push(Variable::new(size_interval(n_inner)));
        domain.n_ranges = 1;
    }
    if domain.vars.iter().any(|v| v.interval.is_empty()) {
        return Some(Footprint::default());
    }
    Some(footprint([Map::new(domain, results).ok()?.simplify(SIMPLIFIED)]))
}

impl PlainRule {
    /// Reads the text of a rule.
    ///
    /// # Errors
    /// [`NotPlain`] says where it is not one.
    pub fn read(text: &str) -> Result<PlainRule, NotPlain> {
        text::read(text)
    }

    /// For each operand its elements (backward), or the elements of the output for those of an operand (forward); `None`
    /// if the rule says nothing about these arrays. Conditions of the rule `always` hold if the caller says so.
    pub fn parts(&self, given: &Given<'_>, direction: Direction, always: bool) -> Option<Vec<Footprint>> {
        let output = shapes::array_of(given.output)?;
        let has = |name: &String| (given.attribute)(name).is_some();
        let is_other = self.if_combining && given.n_operands != 2 || self.if_without.as_ref().is_some_and(has);
        if given.n_operands == 0 || (is_other && !always) {
            return None;
        }
        let array = |k: usize| shapes::array_of((given.operand)(k)?);
        let is_dynamic = |array: &ArrayShape| (0..array.rank()).any(|dim| array.is_dynamic(dim));
        if self.if_static && !always {
            let fits =
                |k: usize| array(k).is_some_and(|a| !is_dynamic(a) && (!self.if_combining || !a.dims().contains(&0)));
            if is_dynamic(output) || !(0..given.n_operands).all(fits) {
                return None;
            }
        }
        if let Pattern::LinearIndex | Pattern::Memory = self.pattern {
            let between = if matches!(self.pattern, Pattern::Memory) { by_memory } else { by_linear_index };
            let operand = array(0).filter(|_| given.n_operands == 1)?;
            let (from, to) = if direction == Direction::Backward { (output, operand) } else { (operand, output) };
            return Some(vec![between(from, to)?]);
        }
        self.by_indices(given, output, &array, direction)
    }

    fn by_indices<'a>(
        &self,
        given: &Given<'_>,
        output: &ArrayShape,
        array: &dyn Fn(usize) -> Option<&'a ArrayShape>,
        direction: Direction,
    ) -> Option<Vec<Footprint>> {
        let Pattern::Indices { output: of_output, operands } = &self.pattern else { return None };
        let scalar = Array { groups: Vec::new() };
        let (mut attributes, mut before) = (Attributes::default(), Before::new());
        let (listed, rest) = match operands {
            Operands::Listed { listed, others } => (listed, others),
            Operands::Each { operand, or_scalar, second_half } => {
                let mut part = |k: usize, before: &Before| {
                    let own = array(k)?;
                    if *or_scalar && own.rank() > 0 && own.dims() != output.dims() {
                        return None;
                    }
                    let at = match second_half {
                        Some(second) if k >= given.n_operands / 2 => second,
                        _ if *or_scalar && own.rank() == 0 => &scalar,
                        _ => operand,
                    };
                    let dims = at.place(own, before, &[], given, &mut attributes)?;
                    let out = of_output.place(output, before, &[&dims], given, &mut attributes)?;
                    match direction {
                        Direction::Backward => map_between(&out, &dims),
                        Direction::Forward(_) => map_between(&dims, &out),
                    }
                };
                let mut found = Vec::new();
                for k in 0..given.n_operands {
                    if let Direction::Backward = direction {
                        found.push(part(k, &before)?);
                    } else if direction == Direction::Forward(k as u32) {
                        return Some(vec![part(k, &before)?]);
                    }
                    add_sizes(&mut before, array(k)?)?;
                }
                return Some(found);
            }
        };
        if given.n_operands != listed.len() + usize::from(rest.is_some()) {
            return None;
        }
        let mut placed: SmallVec<[Dims; 3]> = SmallVec::new();
        for (k, at) in listed.iter().enumerate() {
            placed.push(at.place(array(k)?, &before, &[], given, &mut attributes)?);
        }
        let all: SmallVec<[&Dims; 3]> = placed.iter().collect();
        let out = of_output.place(output, &before, &all, given, &mut attributes)?;
        let others = || others(&out, &placed[0], direction);
        match direction {
            Direction::Backward => {
                let found = placed.iter().map(|dims| map_between(&out, dims));
                found.chain(rest.as_ref().map(|_| others())).collect()
            }
            Direction::Forward(k) => Some(vec![match placed.get(k as usize) {
                Some(dims) => map_between(dims, &out)?,
                None => others()?,
            }]),
        }
    }

    /// What the rule says of an instruction, for the array `index` of its output or of an operand. `is_elementwise` tells
    /// whether an instruction on scalars is an elementwise operation.
    pub fn indexing(
        &self,
        m: &Module,
        id: InstructionId,
        index: &ShapeIndex,
        direction: Direction,
        is_elementwise: impl FnOnce(InstructionId) -> bool,
    ) -> Option<InstructionIndexing> {
        if m.is_inconsistent(id) || m.has_unbounded() || (direction != Direction::Backward && !index.is_empty()) {
            return None;
        }
        let is_backward = direction == Direction::Backward;
        let output = shapes::at(m.shape(id), if is_backward { index } else { &[] })?;
        let given = Given {
            output,
            n_operands: m.operands(id).len(),
            operand: &|k| m.operand(id, k).map(|operand| m.shape(operand)),
            attribute: &|name| m.attribute_value(id, name),
        };
        if self.if_combining && !combines(m, id, is_elementwise) {
            return None;
        }
        let parts = self.parts(&given, direction, false)?;
        let sizes: SmallVec<[i64; 6]> = match direction {
            Direction::Backward => shapes::sizes(output).collect(),
            Direction::Forward(k) => shapes::sizes(m.shape(m.operand(id, k as usize)?)).collect(),
        };
        let parts = (0..).zip(parts).filter(|(_, part)| !part.reads_nothing());
        let parts = parts.map(|(k, part)| (k, OperandIndexing::Known(part))).collect();
        Some(InstructionIndexing::new(&sizes, parts))
    }

    /// Whether the rule relates elements with equal indices of each operand.
    pub fn is_elementwise(&self) -> bool {
        matches!(self.pattern, Pattern::Indices { operands: Operands::Each { or_scalar: true, .. }, .. })
    }
}

/// Whether the one computation that an instruction calls is an elementwise operation on its two parameters, scalars.
fn combines(m: &Module, id: InstructionId, is_elementwise: impl FnOnce(InstructionId) -> bool) -> bool {
    let mut called = m.called_computations(id);
    let (Some(computation), None) = (called.next(), called.next()) else { return false };
    let (root, &[a, b]) = (m.root(computation), m.parameters(computation)) else { return false };
    let operands: SmallVec<[InstructionId; 2]> = m.operands(root).collect();
    let is_scalar = |id: InstructionId| m.shape(id).as_array().is_some_and(|array| array.rank() == 0);
    (operands[..] == [a, b] || operands[..] == [b, a])
        && [a, b, root].into_iter().all(is_scalar)
        && !m.is_inconsistent(root)
        && is_elementwise(root)
}
