//! Called computations: one field of an instruction lists the ids of all of them.
//!
//! Read `Reader::callees`. Not here: writing, which `write` does, and the attributes of operations, in `operation`.

use super::read::{bad, path, Reader};
use super::row::{Row, Scope, REPEATED};
use super::wire::{Message, Wire};
use super::{operation, EXTRA_CALLS};
use crate::attribute::schema::{self, Form, Owner};
use crate::error::{Problem, ProblemKind, Span};
use crate::model::module::{Attribute, Instruction};
use crate::Opcode;

impl<'a> Reader<'a> {
    /// Called computations, which all have one field: the operation gives the attributes that name them, or else a
    /// private field.
    pub fn callees(
        &mut self,
        scope: &Scope<'a>,
        row: &Row<'a>,
        m: Message<'_>,
        opcode: &str,
        has_predicate: bool,
        i: &Instruction,
    ) -> Wire<()> {
        if !m.has(38) && !m.has(EXTRA_CALLS) {
            return Ok(());
        }
        let mut numbers: Vec<u32> = Vec::new();
        for id in m.ints(38)? {
            match self.computations.get(&id) {
                found @ (Some(&REPEATED) | None) => {
                    let which = if found.is_some() { "several computations have" } else { "no computation has" };
                    let path = path(scope.name, Some(row.name));
                    return bad(row.at, format!("computation id {id} of {path}, which {which}"));
                }
                Some(&number) => numbers.push(number),
            }
        }
        if m.has(EXTRA_CALLS) {
            let mut rest = &numbers[..];
            for f in m.fields().filter(|f| f.number == EXTRA_CALLS) {
                let text = f.text()?;
                let parsed = text.split_once('=').and_then(|(name, n)| {
                    let key = schema::key(name.as_bytes())?;
                    match (schema::form(key), n.strip_prefix('{').and_then(|n| n.strip_suffix('}'))) {
                        (Form::Computations, Some(n)) => Some((key, Form::Computations, n.parse::<usize>().ok()?)),
                        (Form::Computation, None) => Some((key, Form::Computation, usize::from(n == "1"))),
                        _ => None,
                    }
                });
                let Some((key, form, n)) = parsed.filter(|p| p.2 <= rest.len()) else {
                    return bad(f.at, format!("the private names {text:?} of {} called computations", numbers.len()));
                };
                let of_chain = self.chain_computation(scope, m);
                let of_chain = if form == Form::Computation && n == 0 { of_chain.as_slice() } else { &[] };
                let (own, others) = rest.split_at(n);
                rest = others;
                let own = if own.is_empty() { of_chain } else { own };
                if form == Form::Computation && own.len() != 1 {
                    return bad(f.at, format!("an asynchronous operation without a start, {}", path(scope.name, None)));
                }
                self.calls(row, key, form, own, i)?;
            }
            return match rest.is_empty() {
                true => Ok(()),
                false => bad(row.at, "more called computations than private names of them"),
            };
        }
        if numbers.is_empty() {
            return Ok(());
        }
        let Some(names) = operation::callee_names(opcode, has_predicate, numbers.len()) else {
            let path = path(scope.name, Some(row.name));
            return bad(row.at, format!("{} called computations of {opcode}, {path}", numbers.len()));
        };
        for (k, name) in names.iter().enumerate() {
            let Some(key) = schema::key(name.as_bytes()) else { continue };
            match schema::form(key) {
                Form::Computations => self.calls(row, key, Form::Computations, &numbers, i)?,
                form => self.calls(row, key, form, &numbers[k..k + 1], i)?,
            }
        }
        Ok(())
    }

    /// The computation that the start of an asynchronous chain calls; `m` is a later phase of it.
    fn chain_computation(&self, scope: &Scope<'_>, m: Message<'_>) -> Option<u32> {
        let mut first = None;
        m.each_int(36, |id| first = first.or(Some(id))).ok()?;
        let local = scope.find(first?).filter(|&k| k != REPEATED)?;
        // Only what was read before is known.
        let i = self.m.computations.last().map_or(0, |c| c.end) + local;
        self.m.instructions.get(i as usize)?;
        self.m.called_computations(i).next()
    }

    fn calls(&mut self, row: &Row<'a>, key: u16, form: Form, numbers: &[u32], i: &Instruction) -> Wire<()> {
        let name = self.begin_attribute(key);
        let start = self.out.len();
        if form == Form::Computations {
            self.out.push('{');
        }
        for (k, &number) in numbers.iter().enumerate() {
            self.out.push_str(if k > 0 { ", %" } else { "%" });
            self.out.push_str(self.computation_names[number as usize]);
            self.check_length(row.at)?;
        }
        if form == Form::Computations {
            self.out.push('}');
        }
        let link = self.m.links.len() as u32;
        self.m.links.push(numbers.len() as u32);
        self.m.links.extend_from_slice(numbers);
        if !schema::is_allowed(key, Owner::Instruction(i.opcode)) {
            self.misplaced(key, i.opcode, name);
        }
        self.m.attributes.push(Attribute { key, form, value: Span::new(start, self.out.len()), link });
        Ok(())
    }

    /// Reports an attribute that its operation does not have.
    pub fn misplaced(&mut self, key: u16, opcode: Opcode, span: Span) {
        let (name, owner) = (schema::name(key).into(), opcode.name().into());
        self.diagnose(|| Problem { kind: ProblemKind::MisplacedAttribute { name, owner }, span });
    }
}
