//! Parses the attributes of an instruction, a computation or a module.
//!
//! The schema gives the form by which a value is checked; the value of an unknown attribute is kept as text with a
//! diagnostic. Values that name computations or instructions become lists of numbers, which are filled in when names
//! are resolved.

use cancel::poll;
use smallvec::SmallVec;

use crate::attribute;
use crate::attribute::entry_layout;
use crate::attribute::schema::{self, Form, Owner};
use crate::cursor::{Cursor, Read};
use crate::error::{Diagnostic, Span};
use crate::model::literal;
use crate::model::module::{Attribute, UNKNOWN_KEY, UNRESOLVED};
use crate::parse::instruction::Scope;
use crate::parse::module::Header;
use crate::parse::Parser;
use crate::tuning::MAX_UNKNOWN_KEYS;
use crate::Trait;

impl<'a> Parser<'a> {
    /// `key=value`
    pub(crate) fn attribute(
        &mut self,
        owner: Owner,
        all: &mut SmallVec<[Attribute; 8]>,
        scope: &mut Scope<'a>,
        depth: usize,
    ) -> Read<()> {
        // An instruction counts as a step itself, which covers the usual number of attributes.
        if all.len() >= 8 {
            poll();
        }
        self.c.space();
        let name_span = self.c.word_span();
        if name_span.is_empty() {
            return Err(self.c.expected("an attribute"));
        }
        if self.c.peek() != Some(b'=') {
            self.space_before_equals();
        }
        self.c.expect(b'=', "`=` after the name of an attribute")?;
        self.c.space();
        let start = self.c.pos;
        let known = schema::key(&self.c.bytes()[name_span.range()]);
        let mut form = known.map_or(Form::Raw, schema::form);
        let mut link = 0;
        match known {
            Some(key) if schema::is_allowed(key, owner) => {
                form = attribute::form_of(form, self.c.rest());
                self.value(form, scope, depth, &mut link)?;
                let span = Span::new(start, self.c.pos);
                let problem = match form {
                    Form::Word | Form::Words => schema::unknown_word(key, owner, self.c.text, span),
                    // A value that cannot be decoded is kept as text.
                    Form::EntryLayout => self.unreadable_entry(span),
                    form => attribute::unreadable(self.c.text, span, form),
                };
                if let Some(problem) = problem {
                    self.diagnose(|_| problem);
                }
                if matches!(owner, Owner::Instruction(opcode) if form == Form::Accuracy && !opcode.has(Trait::ACCURATE))
                {
                    self.misplaced(name_span, owner);
                }
            }
            Some(_) => {
                self.misplaced(name_span, owner);
                let before = self.c;
                // Only instructions refer to instructions and computations.
                let is_link = matches!(form, Form::Computation | Form::Computations | Form::Instructions);
                let is_kept = matches!(owner, Owner::Instruction(_)) || !is_link;
                if !is_kept || self.value(form, scope, depth, &mut link).is_err() {
                    self.c = before;
                    form = Form::Raw;
                    attribute::raw(&mut self.c)?;
                }
            }
            None => {
                attribute::raw(&mut self.c)?;
                let names = || schema::attributes_of(owner).map(|spec| spec.name).collect::<Vec<_>>();
                self.diagnose(|p| attribute::unknown_word("attribute", p.c.str(name_span), &names(), name_span));
            }
        }
        let key = match known {
            Some(key) => key,
            None => self.unknown_key(name_span)?,
        };
        if all.iter().any(|a| a.key == key) {
            return Err(Diagnostic::duplicate(name_span, "attribute", self.c.str(name_span)));
        }
        all.push(Attribute { key, form, value: Span::new(start, self.c.pos), link });
        Ok(())
    }

    fn misplaced(&mut self, name: Span, owner: Owner) {
        let text = |p: &Self| format!("attribute `{}` does not belong to {}", p.c.str(name), owner_name(owner));
        self.diagnose(|p| Diagnostic::new(name, text(p)));
    }

    /// Reports space between the name of an attribute and the `=` that follows.
    #[cold]
    fn space_before_equals(&mut self) {
        let mut c = self.c;
        if c.accept_after_space(b'=') {
            let span = Span::new(self.c.pos, c.pos);
            self.refuse(|_| Diagnostic::expected(span, "`=` directly behind the name of an attribute", "space"));
        }
    }

    pub(crate) fn unknown_key(&mut self, span: Span) -> Read<u16> {
        let text = self.c.str(span);
        let seen = self.m.unknown_keys.iter().position(|&k| self.c.str(k) == text);
        let n = seen.unwrap_or(self.m.unknown_keys.len());
        if n >= MAX_UNKNOWN_KEYS {
            return Err(Diagnostic::limit(span, format!("more than {MAX_UNKNOWN_KEYS} names of unknown attributes")));
        }
        if seen.is_none() {
            self.m.unknown_keys.push(span);
        }
        Ok(UNKNOWN_KEY + n as u16)
    }

    /// The error of an entry layout, if it has one. Its shapes recur in the instructions, so they are interned.
    fn unreadable_entry(&mut self, span: Span) -> Option<Diagnostic> {
        let behind = self.c;
        let mut c = Cursor { text: &behind.text[..span.end as usize], pos: span.start as usize };
        let shape = |c: &mut Cursor<'a>| {
            self.c = *c;
            let read = self.shape();
            *c = self.c;
            read
        };
        let read = entry_layout::entry_shapes(&mut c, shape, drop).and_then(|_| {
            c.space();
            c.at_end().then_some(()).ok_or_else(|| c.expected("the end of the value"))
        });
        self.c = behind;
        read.err()
    }

    pub(crate) fn value(&mut self, form: Form, scope: &mut Scope<'a>, depth: usize, link: &mut u32) -> Read<()> {
        match form {
            Form::Computation => {
                *link = self.m.links.len() as u32;
                let at = self.m.links.len();
                self.m.links.extend([1, UNRESOLVED]);
                let id = self.callee(depth, at + 1)?;
                self.m.links[at + 1] = id;
                Ok(())
            }
            Form::Computations => {
                let mut ids: SmallVec<[(u32, Option<Span>); 8]> = SmallVec::new();
                self.items(*b"{}", ["`{`", "`,` or `}` after a computation"], |p| {
                    ids.push(match p.c.peek() {
                        Some(b'{') => (p.callee(depth, 0)?, None),
                        _ => (UNRESOLVED, Some(p.c.name("a computation")?)),
                    });
                    Ok(())
                })?;
                *link = self.m.links.len() as u32;
                self.m.links.push(ids.len() as u32);
                for (id, name) in ids {
                    let at = self.m.links.len();
                    let id = name.map_or(id, |name| self.call_of(name, at));
                    self.m.links.push(id);
                }
                Ok(())
            }
            Form::Instructions => {
                *link = self.m.links.len() as u32;
                self.m.links.push(0);
                self.items(*b"{}", ["`{`", "`,` or `}` after an instruction"], |p| {
                    let name = p.c.name("an instruction")?;
                    let row = scope.names.get(p.c.slice(name)).copied();
                    let is_later = row.is_none_or(|k| k as usize >= scope.rows.len());
                    scope.pending_links.push((p.m.links.len(), name, is_later));
                    p.m.links.push(UNRESOLVED);
                    Ok(())
                })?;
                self.m.links[*link as usize] = self.m.links.len() as u32 - *link - 1;
                Ok(())
            }
            Form::Literal => literal::with_shape(&mut self.c, 0, &mut self.zeros).map(drop),
            Form::Config if !matches!(self.c.peek(), Some(b'{' | b'"' | b'\'')) => {
                Err(self.c.expected("a string or a dictionary"))
            }
            form => attribute::check(&mut self.c, form),
        }
    }

    /// The computation with this name, or a placeholder for `links[at]`, which is resolved when the module ends.
    fn call_of(&mut self, name: Span, at: usize) -> u32 {
        self.computation_names.get(self.c.slice(name)).copied().unwrap_or_else(|| {
            self.pending_calls.push((at, name));
            UNRESOLVED
        })
    }

    /// A computation by name or in braces. A name that is not yet defined is resolved later, into `links[at]`.
    pub(crate) fn callee(&mut self, depth: usize, at: usize) -> Read<u32> {
        self.c.space();
        if self.c.peek() == Some(b'{') {
            let name = Span::new(self.c.pos, self.c.pos);
            return self.computation(Header { name, signature: None }, depth + 1, true);
        }
        let name = self.c.name("a computation")?;
        Ok(self.call_of(name, at))
    }
}

fn owner_name(owner: Owner) -> String {
    match owner {
        Owner::Module => "a module".into(),
        Owner::Computation => "a computation".into(),
        Owner::Instruction(opcode) => opcode.name().into(),
    }
}
