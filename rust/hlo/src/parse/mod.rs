//! Parses text into modules.
//!
//! The parser makes one pass over the text. A name may be used before it is defined, so operands are resolved at the
//! end of their computation, and calls at the end of the module. After an error it resumes at the next line that looks
//! like an instruction; the one before becomes a lost one, which may read and give anything. So a cut or damaged text
//! gives a module with diagnostics, unless the reading is strict. Every step advances.

pub(crate) mod attribute;
pub(crate) mod instruction;
pub(crate) mod module;
mod operands;
mod partial;
mod resolve;
mod tables;

use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::check::{self, RestatedShape};
use crate::cursor::{Cursor, Read};
use crate::error::{Diagnostic, DiagnosticKind, Source, Span, SyntaxErrors};
use crate::model::module::Module;
use crate::parse::instruction::{Scope, Stem};
use crate::tuning::{MAX_DIAGNOSTICS, MAX_PROBLEMS};
use crate::verify;

/// Parses a part of a longer text, which begins there at this line and column, both from 1: problems have the same
/// positions as in the longer text. With the [`Module::own_text`] of a module and its position this gives the same
/// module.
pub fn parse_part(text: &str, start: (usize, usize), name: Option<&str>) -> Result<Vec<Module>, SyntaxErrors> {
    parse_source(Source::starting_at((start.0.max(1), start.1.max(1)), text, name), Vec::new(), false)
}

/// What a diagnostic from outside the text is about.
#[derive(Clone, Copy, Default)]
pub(crate) enum Place {
    #[default]
    Module,
    /// By number.
    Computation(u32),
    Instruction(u32),
}

/// Parses a text whose first module already has these diagnostics, which have no positions yet.
pub(crate) fn parse_source(
    source: Source,
    diagnostics: Vec<(Place, Diagnostic)>,
    strict: bool,
) -> Result<Vec<Module>, SyntaxErrors> {
    let source = Arc::new(source);
    let mut p = Parser::new(&source);
    (p.places, p.m.diagnostics) = diagnostics.into_iter().unzip();
    p.modules(strict).map_err(|problems| SyntaxErrors { source: source.clone(), problems })
}

/// The header of a module with its tables, which is all that the text has; `None` if there is anything to report.
pub(crate) fn parse_head(text: String, strict: bool) -> (String, Option<Module>) {
    let source = Arc::new(Source::new(text, None));
    let mut p = Parser::new(&source);
    p.is_strict = strict;
    let is_read =
        p.header_and_tables().is_ok() && p.problems.is_empty() && p.losses.is_empty() && p.refusals.is_empty();
    let mut m = std::mem::take(&mut p.m);
    drop(p);
    m.source = Arc::default();
    m.span = Span::new(0, source.text.len());
    let text = Arc::into_inner(source).map(|source| source.text).unwrap_or_default();
    (text, Some(m).filter(|m| is_read && m.diagnostics.is_empty()))
}

/// Names and texts of shapes by the text that they span, with their numbers.
pub(crate) type Numbers<'a> = FxHashMap<&'a [u8], u32>;

#[derive(Default)]
pub(crate) struct Parser<'a> {
    pub c: Cursor<'a>,
    pub m: Module,
    pub problems: Vec<Diagnostic>,
    pub is_strict: bool,
    /// Departures from XLA's grammar that a reading that is not strict accepts silently.
    refusals: Vec<Diagnostic>,
    /// Errors that lose an instruction or a computation, but not the module.
    losses: Vec<Diagnostic>,
    /// The number of lost lines that extend to the end of the text.
    n_unclosed: u32,
    /// The place of the last table of stack frames in the order of the tables, from 1; 0 if there are none.
    n_tables: usize,
    pub shape_texts: Numbers<'a>,
    /// Shapes by hash.
    pub shape_values: FxHashMap<u64, u32>,
    pub computation_names: Numbers<'a>,
    /// Entries of `links` that name computations: index, name.
    pub pending_calls: Vec<(usize, Span)>,
    /// Shapes restated for instructions whose own shape is omitted.
    pub restated_shapes: Vec<RestatedShape>,
    /// Instructions without a name, as in [`Scope::unnamed`] but by number.
    pub unnamed: Vec<(u32, Stem)>,
    pub spare: Vec<Scope<'a>>,
    pub findings: check::Findings,
    /// Bytes of constants that the text does not have, see [`literal::check`](crate::model::literal::check).
    pub zeros: u64,
    /// Of the first diagnostics, which have no positions yet.
    places: Vec<Place>,
    /// The number of errors before this module.
    first_problem: usize,
    pub has_broken_computation: bool,
    pub stop: bool,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(source: &'a Arc<Source>) -> Parser<'a> {
        Parser {
            c: Cursor::new(&source.text),
            m: Module { source: source.clone(), ..Module::default() },
            shape_values: FxHashMap::with_capacity_and_hasher(28, FxBuildHasher),
            findings: check::Findings::of_text(source.text.len()),
            ..Parser::default()
        }
    }

    fn modules(mut self, strict: bool) -> Result<Vec<Module>, Vec<Diagnostic>> {
        self.is_strict = strict;
        let source = self.m.source.clone();
        if source.text.len() >= u32::MAX as usize - 1 {
            return Err(vec![Diagnostic::limit(Span::default(), format!("more than {} bytes of text", u32::MAX - 2))]);
        }
        // A byte order mark is not part of the text.
        if self.c.text.starts_with('\u{feff}') {
            self.c.pos = 3;
        }
        self.make_room();
        let mut modules = Vec::new();
        loop {
            self.m.span = Span::new(self.c.pos, self.c.pos);
            self.module();
            self.m.span.end = self.c.pos as u32;
            let mut done = std::mem::take(&mut self.m);
            self.m.source = source.clone();
            Parser::return_room(&mut done);
            let mut found = self.problems.split_off(self.first_problem);
            verify::admit(&done, strict, &mut found);
            self.problems.append(&mut found);
            self.problems.append(&mut self.refusals);
            modules.push(done);
            self.c.space();
            if self.stop || self.c.at_end() {
                break;
            }
            self.shape_texts.clear();
            self.shape_values.clear();
            self.computation_names.clear();
            self.pending_calls.clear();
            self.restated_shapes.clear();
            self.unnamed.clear();
            self.findings.clear();
            self.has_broken_computation = false;
            self.n_tables = 0;
        }
        if self.problems.is_empty() {
            return Ok(modules);
        }
        self.problems.sort_by_key(|p| p.span.start);
        if self.problems.len() > MAX_PROBLEMS {
            self.problems.truncate(MAX_PROBLEMS);
            let span = self.problems.last().map_or(Span::default(), |p| p.span);
            self.problems.push(Diagnostic::limit(span, format!("more than {MAX_PROBLEMS} errors")));
        }
        Err(self.problems)
    }

    /// Reserves capacity for a module of typical density, so that the vectors of a large one are not reallocated as
    /// they grow. Unused capacity costs addresses but no memory; a failed reservation is repeated on demand.
    fn make_room(&mut self) {
        let n = self.c.rest().len() / 112;
        let _ = self.m.instructions.try_reserve(n);
        let _ = self.m.operands.try_reserve(n + n / 2);
        let _ = self.m.attributes.try_reserve(n + n / 2);
        let _ = self.m.links.try_reserve(n / 2);
        let _ = self.m.computations.try_reserve(n / 8);
        let _ = self.m.shapes.try_reserve((n / 8).min(1 << 9));
    }

    /// Releases unused capacity, unless the module is too small for it to matter.
    pub(crate) fn return_room(module: &mut Module) {
        if module.instructions.capacity() < 1 << 10 {
            return;
        }
        module.instructions.shrink_to_fit();
        module.operands.shrink_to_fit();
        module.attributes.shrink_to_fit();
        module.links.shrink_to_fit();
        module.computations.shrink_to_fit();
    }

    /// Whether this module has no errors so far.
    pub(crate) fn is_sound(&self) -> bool {
        self.problems.len() == self.first_problem
    }

    pub(crate) fn problem(&mut self, problem: Diagnostic) {
        self.stop |= self.problems.len() >= MAX_PROBLEMS;
        self.problems.push(problem);
    }

    /// Reports an error that the rest of the module survives, unless the reading is strict.
    pub(crate) fn lose(&mut self, problem: Diagnostic) {
        if self.is_strict || problem.kind == DiagnosticKind::Limit {
            self.problem(problem);
        } else if self.losses.len() < MAX_DIAGNOSTICS {
            self.losses.push(problem);
        }
    }

    /// Whether so many errors were found that suggestions of similar names, which are slow, are pointless.
    pub(crate) fn has_enough_problems(&self) -> bool {
        self.problems.len() + self.losses.len() >= MAX_PROBLEMS
    }

    /// Reports an error if the reading is strict.
    pub(crate) fn refuse(&mut self, problem: impl FnOnce(&Self) -> Diagnostic) {
        if self.is_strict && self.refusals.len() < MAX_PROBLEMS {
            let problem = problem(self);
            self.refusals.push(problem);
        }
    }

    /// Keeps a diagnostic unless the limit is reached; the message is not built beyond it, since finding the nearest
    /// word is slow.
    pub(crate) fn diagnose(&mut self, problem: impl FnOnce(&Self) -> Diagnostic) {
        if self.m.diagnostics.len() < MAX_DIAGNOSTICS {
            let problem = problem(self);
            self.m.diagnostics.push(problem);
        }
    }

    /// As [`Cursor::items`], where an item changes the module.
    pub(crate) fn items(
        &mut self,
        brackets: [u8; 2],
        expected: [&'static str; 2],
        mut one: impl FnMut(&mut Self) -> Read<()>,
    ) -> Read<()> {
        let mut c = self.c;
        let read = c.items(brackets, expected, |c| {
            self.c = *c;
            let read = one(self);
            *c = self.c;
            read
        });
        self.c = c;
        read
    }

    pub(crate) fn at_word(&self, word: &str) -> bool {
        let mut c = self.c;
        c.accept_word(word)
    }
}
