//! One flat fusion in the place of several instructions.
//!
//! [`merge`] works on rows, so that it serves a program that is being edited; [`fuse`] writes the fusion alone, as a
//! module.

use std::borrow::Cow;

use layout::Shape;
use rustc_hash::{FxHashMap, FxHashSet};

use super::draft::{Body, Called, Draft, Entry, Part, Row};
use super::error::EditError;
use super::extract::OF_VALUE;
use super::flat::{flat, inner, Inside};
use crate::attribute::schema;
use crate::model::module::{InstructionId, Module};
use crate::{Opcode, Trait};

/// An instruction that is merged, with the numbers that its operands have outside.
#[derive(Clone, Debug)]
pub struct Member<'m> {
    /// Its number.
    pub id: u32,
    /// The instruction.
    pub row: Row<'m>,
}

/// A fusion of several instructions.
#[derive(Clone, Debug)]
pub struct Fused<'m> {
    /// Its operands outside.
    pub operands: Vec<u32>,
    /// The rows of its computation, parameters first; the names are not unique.
    pub rows: Vec<Row<'m>>,
    /// The root of its computation.
    pub root: u32,
    /// The word of its `kind`; empty for a call.
    pub kind: String,
    /// The name, the shape and the attributes of the instruction, but for its operands and what it calls.
    pub row: Row<'m>,
}

/// Merges instructions, which are given in order, into the first of `outputs`. A fusion gives the first output, or a tuple
/// of several. Fusions among them, and what is inside, are opened. `operand` gives the row of a value outside, `inside`
/// the rows of a computation; called computations keep their numbers.
pub fn merge<'m>(
    members: Vec<Member<'m>>,
    outputs: &[u32],
    kind: Option<&str>,
    operand: impl Fn(u32) -> Option<Row<'m>>,
    mut inside: impl FnMut(u32) -> Result<Inside<'m>, EditError>,
) -> Result<Fused<'m>, EditError> {
    let is_call = kind == Some(Opcode::Call.name());
    let kinds: Vec<&str> = members.iter().filter_map(|m| m.row.attribute_text("kind")).collect();
    let kind = match kind {
        _ if is_call => "",
        Some(kind) => kind,
        None if kinds.contains(&INPUT) => INPUT,
        None => "kLoop",
    };
    let kind = kind.to_string();
    let row = head(&members, outputs)?;
    let mut merged = Merged { operand, operands: Vec::new(), rows: Vec::new(), of: FxHashMap::default() };
    let within: FxHashSet<u32> = members.iter().map(|m| m.id).collect();
    for member in sorted(members) {
        let read = member.row.operands().iter().map(|&o| merged.value(o, &within));
        let outside = read.collect::<Result<Vec<u32>, _>>()?;
        let value = match inner(&member.row).filter(|_| member.row.code() == Opcode::Fusion) {
            Some(called) => {
                let (rows, root) = flat(called, &mut inside)?;
                let mut at: Vec<u32> = Vec::with_capacity(rows.len());
                for row in rows {
                    let new = match row.body {
                        Body::Parameter(number) => outside.get(number as usize).copied().unwrap_or(0),
                        _ => merged.add(row, |k| at[k as usize]),
                    };
                    at.push(new);
                }
                at[root as usize]
            }
            None => {
                let mut row = member.row;
                let code = row.code();
                let is_stale =
                    |name: &str| schema::key(name.as_bytes()).is_some_and(|key| !schema::is_semantic(key, code));
                row.attributes.retain(|(name, entry)| {
                    !(matches!(entry, Entry::Rows(_)) || name == "backend_config" && is_stale(name))
                });
                let operands = outside;
                row.body = match row.body {
                    Body::Operands(_) => Body::Operands((0..operands.len() as u32).collect()),
                    body => body,
                };
                merged.add(row, |k| operands[k as usize])
            }
        };
        merged.of.insert(member.id, value);
    }
    merged.finish(outputs, kind, row)
}

const INPUT: &str = "kInput";

/// The members in an order in which each comes after those that it reads; in that of the argument if it is one.
fn sorted(members: Vec<Member<'_>>) -> Vec<Member<'_>> {
    let at: FxHashMap<u32, usize> = members.iter().enumerate().map(|(k, m)| (m.id, k)).collect();
    let mut left: Vec<Option<Member>> = members.into_iter().map(Some).collect();
    let mut order = Vec::with_capacity(left.len());
    for start in 0..left.len() {
        // Each entry is a member whose operands are pending or, the second time, done.
        let mut pending = vec![start];
        while let Some(&k) = pending.last() {
            let Some(member) = &left[k] else {
                pending.pop();
                continue;
            };
            let before = member.row.operands().iter().filter_map(|o| at.get(o).copied());
            let open: Vec<usize> = before.filter(|&b| left[b].is_some() && !pending.contains(&b)).collect();
            match open.is_empty() {
                true => order.extend(left[k].take()),
                false => pending.extend(open.into_iter().rev()),
            }
        }
    }
    order
}

/// The instruction in the place of the first output: its name and what it keeps of it.
fn head<'m>(members: &[Member<'m>], outputs: &[u32]) -> Result<Row<'m>, EditError> {
    let of = |id: u32| members.iter().find(|m| m.id == id).map(|m| &m.row);
    let rows: Option<Vec<&Row>> = outputs.iter().map(|&id| of(id)).collect();
    let Some([consumer, others @ ..]) = rows.as_deref() else {
        return Err(EditError::Invalid("an output is not among the instructions".into()));
    };
    if let Some(m) = members.iter().find(|m| matches!(m.row.body, Body::Parameter(_))) {
        return Err(EditError::Invalid(format!("{} is a parameter, which nothing computes", m.row.name)));
    }
    if let Some(m) = members.iter().find(|m| m.row.phase().is_some()) {
        return Err(EditError::Invalid(format!("{} is one step of an asynchronous operation", m.row.name)));
    }
    let is_fusion = consumer.code() == Opcode::Fusion;
    let name = if is_fusion { consumer.name.clone() } else { format!("{}_fusion", consumer.name).into() };
    let shape = match others {
        [] => consumer.shape.clone(),
        _ => {
            Cow::Owned(Shape::Tuple(outputs.iter().filter_map(|&id| of(id)).map(|row| (*row.shape).clone()).collect()))
        }
    };
    let mut row = Row { name, shape, body: Body::Operands(Vec::new()), ..(*consumer).clone() };
    row.number = None;
    row.attributes.retain(|(name, _)| OF_CONSUMER.contains(&&**name) && (others.is_empty() || name != "sharding"));
    Ok(row)
}

/// What a fusion keeps of the instruction in the place of which it is.
const OF_CONSUMER: &[&str] = &["sharding", "metadata", "frontend_attributes"];

struct Merged<'m, F> {
    operand: F,
    operands: Vec<u32>,
    rows: Vec<Row<'m>>,
    /// The rows of values outside, by their numbers.
    of: FxHashMap<u32, u32>,
}

impl<'m, F: Fn(u32) -> Option<Row<'m>>> Merged<'m, F> {
    /// The row of a value outside: that of a member, a scalar constant, or a parameter.
    fn value(&mut self, id: u32, within: &FxHashSet<u32>) -> Result<u32, EditError> {
        if let Some(&at) = self.of.get(&id) {
            return Ok(at);
        }
        let Some(row) = (self.operand)(id) else {
            return Err(EditError::Invalid(format!("no value has the number {id}")));
        };
        let is_scalar = row.shape.as_array().is_some_and(|a| a.rank() == 0);
        let at = match is_scalar && row.code().has(Trait::LITERAL) && !within.contains(&id) {
            true => self.add(Row { attributes: Vec::new(), ..row }, |k| k),
            false => {
                let number = self.operands.len() as u32;
                self.operands.push(id);
                self.rows.push(Row::parameter(&row, format!("param_{number}").into(), number));
                self.rows.len() as u32 - 1
            }
        };
        self.of.insert(id, at);
        Ok(at)
    }

    /// Adds a row; an element of a tuple that is there is what the tuple is made of.
    fn add(&mut self, mut row: Row<'m>, at: impl Fn(u32) -> u32) -> u32 {
        for (_, entry) in &mut row.attributes {
            if let Entry::Rows(rows) = entry {
                rows.iter_mut().for_each(|k| *k = at(*k));
            }
        }
        if let Body::Operands(operands) = &mut row.body {
            operands.iter_mut().for_each(|k| *k = at(*k));
            if let (Opcode::GetTupleElement, [tuple]) = (row.code(), row.operands()) {
                let tuple = &self.rows[*tuple as usize];
                let index = row.attribute_text("index").and_then(|text| text.parse::<usize>().ok());
                let part = index.filter(|_| tuple.code() == Opcode::Tuple).and_then(|k| tuple.operands().get(k));
                if let Some(&part) = part {
                    return part;
                }
            }
        }
        row.number = None;
        self.rows.push(row);
        self.rows.len() as u32 - 1
    }

    /// The fusion without the rows and operands that no output needs.
    fn finish(mut self, outputs: &[u32], kind: String, row: Row<'m>) -> Result<Fused<'m>, EditError> {
        let roots: Vec<u32> = outputs.iter().map(|id| self.of[id]).collect();
        let root = match roots[..] {
            [root] => {
                let own = &mut self.rows[root as usize];
                if own.shape.same_dims(&row.shape) && !matches!(own.body, Body::Parameter(_)) {
                    own.shape = row.shape.clone();
                }
                root
            }
            _ => {
                self.rows.push(Row {
                    name: Opcode::Tuple.name().into(),
                    shape: row.shape.clone(),
                    opcode: Opcode::Tuple.name().into(),
                    body: Body::Operands(roots),
                    attributes: Vec::new(),
                    number: None,
                });
                self.rows.len() as u32 - 1
            }
        };
        let mut is_needed = vec![false; self.rows.len()];
        let mut pending = vec![root];
        while let Some(k) = pending.pop() {
            if !std::mem::replace(&mut is_needed[k as usize], true) {
                pending.extend(self.rows[k as usize].before());
            }
        }
        // Parameters first, as they are found.
        let is_parameter = |k: &u32| matches!(self.rows[*k as usize].body, Body::Parameter(_));
        let needed: Vec<u32> = (0..self.rows.len() as u32).filter(|&k| is_needed[k as usize]).collect();
        let (parameters, others): (Vec<u32>, Vec<u32>) = needed.into_iter().partition(is_parameter);
        let mut at = vec![0; self.rows.len()];
        for (&k, new) in parameters.iter().chain(&others).zip(0..) {
            at[k as usize] = new;
        }
        let mut operands = Vec::with_capacity(parameters.len());
        let mut rows: Vec<Option<Row>> = self.rows.into_iter().map(Some).collect();
        let mut made = Vec::with_capacity(rows.len());
        for k in parameters.into_iter().chain(others) {
            let Some(mut row) = rows[k as usize].take() else { continue };
            if let Body::Parameter(number) = &mut row.body {
                let new = operands.len() as u32;
                operands.push(self.operands[*number as usize]);
                *number = new;
                row.name = format!("param_{new}").into();
            }
            row.before_mut().for_each(|k| *k = at[*k as usize]);
            made.push(row);
        }
        Ok(Fused { operands, rows: made, root: at[root as usize], kind, row })
    }
}

impl<'m> Fused<'m> {
    /// The instruction with these operands, which calls this part.
    pub fn instruction(&self, operands: Vec<u32>, part: u32) -> Row<'m> {
        let mut row = self.row.clone();
        row.body = Body::Operands(operands);
        let calls = match &self.kind[..] {
            "" => {
                row.opcode = Opcode::Call.name().into();
                vec![("to_apply".into(), Entry::Callee(part))]
            }
            kind => {
                row.opcode = Opcode::Fusion.name().into();
                vec![("kind".into(), Entry::Text(kind.to_string().into())), ("calls".into(), Entry::Callee(part))]
            }
        };
        row.attributes.splice(0..0, calls);
        row
    }
}

/// The fusion of instructions of one computation as the root of a module, whose parameters are its operands.
pub fn fuse(
    m: &Module,
    instructions: &[InstructionId],
    outputs: &[InstructionId],
    kind: Option<&str>,
) -> Result<Module, EditError> {
    let mut sorted = instructions.to_vec();
    sorted.sort_unstable();
    let members: Result<Vec<Member>, EditError> =
        sorted.into_iter().map(|i| Ok(Member { id: i, row: Row::of(m, i, Some, |c| c)? })).collect();
    let outside = |i: u32| Row {
        name: m.legal_name(i),
        shape: Cow::Borrowed(m.shape(i)),
        opcode: m.opcode_name(i).into(),
        body: m.literal_text(i).map_or(Body::Operands(Vec::new()), |text| Body::Literal(text.into())),
        attributes: Vec::new(),
        number: None,
    };
    let inside = |c: u32| Part::of(m, c, |c| c).map(|part| (part.rows, part.root));
    let mut fused = merge(members?, outputs, kind, |i| Some(outside(i)), inside)?;
    let mut called = Called::new(m);
    fused.rows.iter_mut().flat_map(Row::callees_mut).for_each(|c| *c = called.part(*c));
    let mut names = Taken::default();
    let mut rows: Vec<Row> = Vec::with_capacity(fused.operands.len() + 1);
    for (&i, number) in fused.operands.iter().zip(0..) {
        let of = outside(i);
        names.unique(of.name.clone());
        let mut row = Row::parameter(&of, of.name.clone(), number);
        let own = m.attributes(i).iter().filter(|a| OF_VALUE.contains(&m.attribute_name(a)));
        row.attributes = own.map(|a| (m.attribute_name(a).into(), Entry::Text(m.attribute_text(a).into()))).collect();
        rows.push(row);
    }
    fused.row.name = names.unique(std::mem::take(&mut fused.row.name));
    for row in &mut fused.rows {
        row.name = names.unique(std::mem::take(&mut row.name));
    }
    let (mut parts, mut order) = called.parts()?;
    let mut names = Taken::default();
    parts.iter().for_each(|p| drop(names.unique(p.name.clone())));
    let mut part = |name: &'static str, rows, root| Part {
        name: names.unique(name.into()),
        rows,
        root,
        attributes: Vec::new(),
        number: None,
    };
    let at = parts.len() as u32;
    let root = rows.len() as u32;
    rows.push(fused.instruction((0..root).collect(), at));
    parts.push(part("fused_computation", fused.rows, fused.root));
    parts.push(part("main", rows, root));
    order.extend([at, at + 1]);
    Draft::of_parts(m, parts, at + 1).write(&order, false)
}

/// Names that are taken, each with the last number that was tried behind it.
#[derive(Default)]
struct Taken(FxHashMap<String, u32>);

impl Taken {
    /// The name, with a number if it is taken.
    fn unique<'m>(&mut self, name: Cow<'m, str>) -> Cow<'m, str> {
        let Some(last) = self.0.get(&*name).copied() else {
            self.0.insert(name.to_string(), 0);
            return name;
        };
        let mut number = last + 1;
        while self.0.contains_key(&format!("{name}.{number}")) {
            number += 1;
        }
        let found = format!("{name}.{number}");
        self.0.insert(name.into_owned(), number);
        self.0.insert(found.clone(), 0);
        found.into()
    }
}
