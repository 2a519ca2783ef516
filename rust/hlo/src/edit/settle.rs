//! From edited rows to a program: their order, what is left of them, and the layouts on which they agree.
//!
//! Every step is linear. The order is stable: a row moves only if something that it needs came after it, and then what
//! it needs moves before it. So a schedule stays a schedule.

use std::borrow::Cow;

use cancel::poll;
use layout::{map_layouts, ArrayShape, Layout, Shape};

use super::draft::{Body, Draft, Entry, Part, Row, ENTRY_LAYOUT};
use super::error::EditError;
use crate::attribute::Value;
use crate::error::Source;
use crate::model::module::{InstructionId, Module};
use crate::opcode::AsyncPhase;
use crate::parse::parse_source;
use crate::Opcode;

impl<'m> Draft<'m> {
    /// The module of the program that the parts describe. It passes a strict reading, unless the module that was edited
    /// does not.
    ///
    /// Rows without users that had some before, and new ones, are dropped, unless they act; so are computations that
    /// nobody calls any more. `keeps_entry_layout` tells that the caller has set the layouts of the entry.
    pub fn build(mut self, keeps_entry_layout: bool) -> Result<Module, EditError> {
        let order = self.settle()?;
        if !keeps_entry_layout {
            self.update_entry_layout();
        }
        self.write(&order, true).or_else(|error| {
            let text = self.module.to_string();
            let is_strict = parse_source(Source::new(text, None), Vec::new(), true).is_ok();
            if is_strict {
                Err(error)
            } else {
                self.write(&order, false)
            }
        })
    }

    /// Orders and sweeps all parts, and lets layouts agree; returns the parts that are left, those that others call
    /// first.
    fn settle(&mut self) -> Result<Vec<u32>, EditError> {
        let callees = |p: u32| self.parts[p as usize].rows.iter().flat_map(Row::callees).collect::<Vec<_>>();
        let order = postorder(self.parts.len(), callees).map_err(|path| {
            let names = path.iter().map(|&p| self.parts[p as usize].name.to_string());
            EditError::Cycle("calls", names.collect())
        })?;
        let mut acts = vec![false; self.parts.len()];
        for &p in &order {
            acts[p as usize] = sweep(&mut self.parts[p as usize], self.module, &acts)?;
        }
        let mut is_left = vec![false; self.parts.len()];
        let was_uncalled = |part: &Part<'_>| part.number.is_some_and(|c| self.module.callers(c).is_empty());
        let mut pending: Vec<u32> = (0..self.parts.len() as u32)
            .filter(|&p| p == self.entry || was_uncalled(&self.parts[p as usize]))
            .collect();
        while let Some(p) = pending.pop() {
            if !std::mem::replace(&mut is_left[p as usize], true) {
                pending.extend(self.parts[p as usize].rows.iter().flat_map(Row::callees));
            }
        }
        let mut order: Vec<u32> = order.into_iter().filter(|&p| is_left[p as usize]).collect();
        if is_laid_out(self.module) {
            order.iter().for_each(|&p| self.fill_layouts(p));
        }
        order.iter().rev().for_each(|&p| self.hand_on_layouts(p));
        // A text may have a computation behind one that calls it, although XLA's may not: that is not for an edit to mend.
        let is_as_before = |p: u32, callee: u32| {
            let numbers = (self.parts[p as usize].number, self.parts[callee as usize].number);
            let (Some(p), Some(callee)) = numbers else { return false };
            callee > p && self.module.callers(callee).iter().any(|&i| self.module.computation_of(i) == p)
        };
        let callees = |p: u32| {
            let all = self.parts[p as usize].rows.iter().flat_map(Row::callees);
            all.filter(|&callee| !is_as_before(p, callee)).collect::<Vec<_>>()
        };
        if let Ok(printed) = postorder(self.parts.len(), callees) {
            order = printed.into_iter().filter(|&p| is_left[p as usize]).collect();
        }
        Ok(order)
    }

    /// Gives every array without a layout one: that of the same value elsewhere, of the first operand of the same sizes,
    /// or the descending one.
    fn fill_layouts(&mut self, p: u32) {
        for k in 0..self.parts[p as usize].rows.len() {
            let part = &self.parts[p as usize];
            let row = &part.rows[k];
            if row.number.is_some() && !self.is_changed(row) || !lacks_layout(&row.shape) {
                continue;
            }
            let operands: Vec<&Shape> = row.operands().iter().map(|&o| &*part.rows[o as usize].shape).collect();
            let index = || row.attribute_text("index")?.parse::<usize>().ok();
            let alike: Vec<Cow<'_, Shape>> = match row.code() {
                Opcode::Tuple => vec![Cow::Owned(Shape::Tuple(operands.iter().map(|&s| s.clone()).collect()))],
                Opcode::GetTupleElement => {
                    let element = operands.first().and_then(|s| s.as_tuple()?.get(index()?));
                    element.into_iter().map(Cow::Borrowed).collect()
                }
                _ => {
                    let roots = row.callees().map(|c| {
                        let callee = &self.parts[c as usize];
                        &*callee.rows[callee.root as usize].shape
                    });
                    roots.chain(operands.iter().copied()).map(Cow::Borrowed).collect()
                }
            };
            let whole = alike.iter().find(|s| s.same_dims(&row.shape)).map(|s| arrays(s));
            let near: Vec<ArrayShape> = operands.iter().flat_map(|s| arrays(s)).collect();
            let mut at = 0;
            let shape = map_layouts(&row.shape, &mut |a| {
                at += 1;
                let own = || a.layout().cloned();
                let same = || whole.as_ref()?.get(at - 1)?.layout().cloned();
                let first = || near.iter().find(|n| n.dims() == a.dims() && n.rank() > 0)?.layout().cloned();
                if a.rank() == 0 {
                    return own();
                }
                own().or_else(same).or_else(first).or_else(|| Some(Layout::row_major(a.rank())))
            });
            self.parts[p as usize].rows[k].shape = Cow::Owned(shape);
        }
    }

    /// The parameters of the fusions and calls of a part get the layouts of their operands, and the roots those of their
    /// values, where an edit changed them.
    fn hand_on_layouts(&mut self, p: u32) {
        for k in 0..self.parts[p as usize].rows.len() {
            let row = &self.parts[p as usize].rows[k];
            let Some(callee) = row.callees().next().filter(|_| matches!(row.code(), Opcode::Fusion | Opcode::Call))
            else {
                continue;
            };
            let mut parameters: Vec<(u32, Shape)> = Vec::new();
            for (number, &o) in (0..).zip(row.operands()) {
                let operand = &self.parts[p as usize].rows[o as usize];
                let before = row.number.and_then(|i| self.module.operand(i, number as usize));
                if before.is_none() || operand.number != before || self.is_changed(operand) {
                    parameters.push((number, (*operand.shape).clone()));
                }
            }
            let value = (row.number.is_none() || self.is_changed(row)).then(|| (*row.shape).clone());
            let body = &mut self.parts[callee as usize];
            for row in &mut body.rows {
                let Body::Parameter(number) = row.body else { continue };
                let Ok(at) = parameters.binary_search_by_key(&number, |p| p.0) else { continue };
                if *row.shape != parameters[at].1 && row.shape.same_dims(&parameters[at].1) {
                    row.shape = Cow::Owned(parameters[at].1.clone());
                }
            }
            let root = &self.parts[callee as usize].rows[self.parts[callee as usize].root as usize];
            match value {
                Some(shape) => {
                    let root = self.parts[callee as usize].root;
                    give_shape(&mut self.parts[callee as usize], root, &shape);
                }
                None if self.is_changed(root) => {
                    let shape = (*root.shape).clone();
                    let row = &mut self.parts[p as usize].rows[k];
                    if row.shape.same_dims(&shape) {
                        row.shape = Cow::Owned(shape);
                    }
                }
                None => {}
            }
        }
    }

    /// Whether the shape of a row is not that of its instruction.
    fn is_changed(&self, row: &Row<'m>) -> bool {
        match (&row.shape, row.number) {
            (_, None) => true,
            (Cow::Borrowed(shape), Some(i)) if std::ptr::eq(*shape, self.module.shape(i)) => false,
            (shape, Some(i)) => **shape != *self.module.shape(i),
        }
    }

    /// Writes the layouts of the entry anew, if the header has them: where a parameter or the root changed, its own.
    fn update_entry_layout(&mut self) {
        let m = self.module;
        let Some(Value::EntryLayout(mut layout)) = m.header_value(ENTRY_LAYOUT) else { return };
        let part = &self.parts[self.entry as usize];
        let mut is_new = false;
        let mut update = |known: &mut Shape, row: &Row<'m>, before: Option<InstructionId>| {
            if row.number.is_none() || row.number != before || self.is_changed(row) {
                is_new |= *known != *row.shape;
                *known = (*row.shape).clone();
            }
        };
        let before = m.parameters(m.entry());
        for (number, row) in part.parameters().into_iter().enumerate() {
            match layout.parameters.get_mut(number) {
                Some(known) => update(known, row, before.get(number).copied()),
                None => {
                    let mut known = (*row.shape).clone();
                    update(&mut known, row, None);
                    layout.parameters.push(known);
                }
            }
        }
        update(&mut layout.result, &part.rows[part.root as usize], Some(m.root(m.entry())));
        if is_new || before.len() != layout.parameters.len() {
            let text = layout.to_string();
            self.header.iter_mut().filter(|a| a.0 == ENTRY_LAYOUT).for_each(|a| a.1 = text.clone().into());
        }
    }
}

/// Sets the shape of a value, and of the values that it is a tuple of.
fn give_shape(part: &mut Part<'_>, k: u32, shape: &Shape) {
    let row = &mut part.rows[k as usize];
    if *row.shape == *shape || !row.shape.same_dims(shape) || matches!(row.body, Body::Parameter(_)) {
        return;
    }
    row.shape = Cow::Owned(shape.clone());
    if let (Opcode::Tuple, Some(shapes)) = (row.code(), shape.as_tuple()) {
        let operands = row.operands().to_vec();
        operands.iter().zip(shapes).for_each(|(&o, shape)| give_shape(part, o, shape));
    }
}

/// Orders the rows of a part and drops those that are not used any more. Returns whether one that is left acts; `acts`
/// tells it of the parts that it calls.
fn sweep(part: &mut Part<'_>, m: &Module, acts: &[bool]) -> Result<bool, EditError> {
    let rows = &part.rows;
    let row_acts = |row: &Row<'_>| row.acts() || row.callees().any(|c| acts[c as usize]);
    let was_unused =
        |row: &Row<'_>| row.number.is_some_and(|i| m.users(i).is_empty() && i != m.root(m.computation_of(i)));
    let mut any_acts = false;
    let mut pending = vec![part.root];
    let mut steps: Vec<(u32, AsyncPhase)> = Vec::new();
    for (k, row) in (0..).zip(rows) {
        poll();
        let row_acts = row_acts(row);
        any_acts |= row_acts;
        if row_acts || matches!(row.body, Body::Parameter(_)) || was_unused(row) {
            pending.push(k);
        }
        steps.extend(row.phase().map(|phase| (k, phase)));
    }
    // The ends of asynchronous operations by the steps before them.
    let mut ends: Vec<(u32, u32)> = Vec::new();
    for &(k, phase) in &steps {
        if phase != AsyncPhase::Start {
            ends.extend(rows[k as usize].operands().first().map(|&before| (before, k)));
        }
    }
    ends.sort_unstable();
    let mut is_left = vec![false; rows.len()];
    while let Some(k) = pending.pop() {
        if std::mem::replace(&mut is_left[k as usize], true) {
            continue;
        }
        pending.extend(rows[k as usize].before());
        let start = ends.partition_point(|end| end.0 < k);
        pending.extend(ends[start..].iter().take_while(|end| end.0 == k).map(|end| end.1));
    }
    let before = |k: u32| match is_left[k as usize] {
        true => rows[k as usize].before().collect(),
        false => Vec::new(),
    };
    let order = postorder(rows.len(), before)
        .map_err(|path| EditError::Cycle("reads", path.iter().map(|&k| rows[k as usize].name.to_string()).collect()))?;
    if is_left.iter().all(|&left| left) && order.iter().zip(0..).all(|(&k, at)| k == at) {
        return Ok(any_acts);
    }
    let mut at = vec![0; rows.len()];
    let order: Vec<u32> = order.into_iter().filter(|&k| is_left[k as usize]).collect();
    for (&k, new) in order.iter().zip(0..) {
        at[k as usize] = new;
    }
    let mut old: Vec<Option<Row>> = std::mem::take(&mut part.rows).into_iter().map(Some).collect();
    for k in order {
        let Some(mut row) = old[k as usize].take() else { continue };
        row.before_mut().for_each(|k| *k = at[*k as usize]);
        row.attributes.retain(|a| !matches!(&a.1, Entry::Rows(rows) if rows.is_empty()));
        part.rows.push(row);
    }
    part.root = at[part.root as usize];
    Ok(any_acts)
}

/// The numbers below `n`, each after those that must come before it, otherwise in order. A cycle is an error: each of the
/// path needs the one before, and the first is the last.
fn postorder<I>(n: usize, before: impl Fn(u32) -> I) -> Result<Vec<u32>, Vec<u32>>
where
    I: IntoIterator<Item = u32>,
    I::IntoIter: DoubleEndedIterator,
{
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; n];
    let mut order = Vec::with_capacity(n);
    let mut stack = Vec::new();
    for start in 0..n as u32 {
        stack.push(start);
        while let Some(&k) = stack.last() {
            poll();
            if state[k as usize] == State::Done {
                stack.pop();
                continue;
            }
            state[k as usize] = State::Open;
            let n_stacked = stack.len();
            for b in before(k).into_iter().rev() {
                match state[b as usize] {
                    State::New => stack.push(b),
                    State::Done => {}
                    State::Open => {
                        let open = stack[..n_stacked].iter().copied().filter(|&s| state[s as usize] == State::Open);
                        let path: Vec<u32> = open.skip_while(|&s| s != b).collect();
                        return Err(std::iter::once(b).chain(path.into_iter().rev()).collect());
                    }
                }
            }
            if stack.len() == n_stacked {
                state[k as usize] = State::Done;
                order.push(k);
                stack.pop();
            }
        }
    }
    Ok(order)
}

/// Whether all arrays of a module have layouts.
fn is_laid_out(m: &Module) -> bool {
    let mut shapes = (0..m.instructions().len() as u32).map(|i| m.shape(i)).peekable();
    shapes.peek().is_some() && shapes.all(|shape| !lacks_layout(shape))
}

/// Whether an array that is not a scalar has no layout.
fn lacks_layout(shape: &Shape) -> bool {
    match shape {
        Shape::Array(a) => a.rank() > 0 && a.layout().is_none(),
        Shape::Tuple(parts) => parts.iter().any(lacks_layout),
        Shape::Buffer(inner) => lacks_layout(inner),
        Shape::Token | Shape::Opaque => false,
    }
}

/// The arrays of a shape, in depth-first order.
fn arrays(shape: &Shape) -> Vec<ArrayShape> {
    let mut all = Vec::new();
    map_layouts(shape, &mut |a| {
        all.push(a.clone());
        None
    });
    all
}
