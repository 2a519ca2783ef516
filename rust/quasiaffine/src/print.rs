//! The text of expressions and maps, which `text.rs` parses: `parse(print(m)) == m` for every map that is small enough
//! to print ([`EFFORT`]).
//!
//! `x in [a, b]` with a lone name is the interval of the variable; a constraint on a bare variable is `x * 1 in [a, b]`.
//! An affine map as MLIR writes it, `affine_map<(d0)[s0] -> (d0 floordiv 8 + s0)>`, reads with ranges from elsewhere.
//! `(d0, d1)[s0]{rt0} -> (d0 floordiv 2, s0 + rt0), domain: d0 in [0, 9], …, runtime: rt0 = #3(d0, 1)`

use crate::limits::EFFORT;
use std::fmt::{self, Write};

use crate::domain::{letter, Domain, Variable};
use crate::expr::{Expr, Op, Sum, Var};

/// Whether a character is invisible or controls the display: control characters, direction marks, and what Unicode
/// calls default ignorable. Messages replace such characters, since hidden text and names that look alike mislead.
///
/// ```
/// use quasiaffine::is_hidden;
/// assert!(is_hidden('\u{200b}') && is_hidden('\n') && !is_hidden('a'));
/// ```
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || c.is_control()
}

/// The style of a printed map.
///
/// ```
/// use quasiaffine::{Map, Style};
/// let map: Map = "(d0) -> (d0 floordiv 4), domain: d0 in [0, 7]".parse()?;
/// assert_eq!(map.to_text(Style::Multiline)?.lines().count(), 3);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Style {
    /// One line, `floordiv`.
    Line,
    /// One line, `/` for floor division.
    Xla,
    /// Each part of the domain on its own line.
    Multiline,
}

/// What a map says of its domain.
pub(crate) enum Body<'a> {
    /// It has these results.
    Results(&'a [Expr]),
    /// A word in place of results.
    Word(&'static str),
}

/// The text of a map.
pub(crate) fn map_text(domain: &Domain, body: Body<'_>, style: Style) -> String {
    let mut out = String::with_capacity(128);
    // Writing into a string cannot fail.
    let _ = Printer { domain: Some(domain), style, out: &mut out }.map(domain, body);
    out
}

impl Expr {
    /// The nodes of the largest expression that prints, and so of the largest one whose text can be read back.
    pub const MAX_NODES: u64 = EFFORT;

    /// The expression as text, with the names that a domain has for its variables. One with more than
    /// [`MAX_NODES`](Expr::MAX_NODES) nodes prints as a sentence that says so.
    ///
    /// ```
    /// use quasiaffine::{Expr, Map};
    /// let map: Map = "(row) -> (row mod 4), domain: row in [0, 7]".parse()?;
    /// assert_eq!(map.results()[0].to_text(Some(map.domain())), "row mod 4");
    /// assert_eq!(map.results()[0].to_text(None), "d0 mod 4");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn to_text(&self, domain: Option<&Domain>) -> String {
        if u64::from(self.nodes()) > EFFORT {
            return "<the expression has too many nodes to print>".to_owned();
        }
        let mut out = String::new();
        // Writing into a string cannot fail.
        let _ = Printer { domain, style: Style::Line, out: &mut out }.expr(self);
        out
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text(None))
    }
}

struct Printer<'a> {
    domain: Option<&'a Domain>,
    style: Style,
    out: &'a mut String,
}

impl Printer<'_> {
    fn map(&mut self, domain: &Domain, body: Body<'_>) -> fmt::Result {
        let (n_dims, n_free, n) = (domain.n_dims, domain.n_dims + domain.n_ranges, domain.vars.len());
        for (vars, open, close) in [(0..n_dims, "(", ")"), (n_dims..n_free, "[", "]"), (n_free..n, "{", "}")] {
            if !vars.is_empty() || open == "(" {
                self.out.push_str(open);
                self.separated(["", ", "], vars, |p, i| p.var(domain.var(i)))?;
                self.out.push_str(close);
            }
        }
        self.out.push_str(" -> ");
        let results = match body {
            Body::Word(word) => return self.out.write_str(word),
            Body::Results(results) => results,
        };
        self.out.push('(');
        self.list(results)?;
        self.out.push(')');
        self.domain(domain)?;
        self.sources(domain)
    }

    /// Writes items, with text before the first and before each other one.
    fn separated<T>(
        &mut self,
        [first, next]: [&str; 2],
        items: impl IntoIterator<Item = T>,
        one: impl Fn(&mut Self, T) -> fmt::Result,
    ) -> fmt::Result {
        let mut separator = first;
        for item in items {
            self.out.push_str(separator);
            one(self, item)?;
            separator = next;
        }
        Ok(())
    }

    fn list(&mut self, exprs: &[Expr]) -> fmt::Result {
        self.separated(["", ", "], exprs, Printer::expr)
    }

    fn domain(&mut self, domain: &Domain) -> fmt::Result {
        let separators = match self.style {
            Style::Multiline => [",\ndomain:\n", ",\n"],
            _ => [", domain: ", ", "],
        };
        self.separated(separators, domain.vars.iter().enumerate(), |p, (i, Variable { interval, .. })| {
            p.var(domain.var(i))?;
            write!(p.out, " in [{}, {}]", interval.lo, interval.hi)
        })?;
        let first = if domain.vars.is_empty() { separators[0] } else { separators[1] };
        self.separated([first, separators[1]], &domain.constraints, |p, c| {
            p.expr(&c.expr)?;
            // A lone name would parse as the interval of the variable.
            let factor = if matches!(c.expr, Expr::Var(_)) { " * 1" } else { "" };
            write!(p.out, "{factor} in [{}, {}]", c.interval.lo, c.interval.hi)
        })
    }

    fn sources(&mut self, domain: &Domain) -> fmt::Result {
        let separators = match self.style {
            Style::Multiline => [",\nruntime:\n", ",\n"],
            _ => [", runtime: ", ", "],
        };
        let sources = domain.vars.iter().enumerate().filter_map(|(i, v)| Some((i, v.source.as_ref()?)));
        self.separated(separators, sources, |p, (i, source)| {
            p.var(domain.var(i))?;
            write!(p.out, " = #{}(", source.id)?;
            p.list(&source.index)?;
            p.out.push(')');
            Ok(())
        })
    }

    fn var(&mut self, v: Var) -> fmt::Result {
        match self.domain.and_then(|d| d.flat(v).and_then(|i| d.vars[i].name.as_deref())) {
            Some(name) => self.out.write_str(name),
            None => write!(self.out, "{}{}", letter(v), v.index),
        }
    }

    fn expr(&mut self, e: &Expr) -> fmt::Result {
        match e {
            Expr::Const(c) => write!(self.out, "{c}"),
            Expr::Var(v) => self.var(*v),
            Expr::Node(_) => match e.op() {
                Some(Op::Sum(sum)) => self.sum(sum),
                Some(Op::Product(a, b)) => self.binary(a, " * ", b),
                Some(Op::FloorDiv(a, b)) if self.style == Style::Xla => self.binary(a, " / ", b),
                Some(Op::FloorDiv(a, b)) => self.binary(a, " floordiv ", b),
                Some(Op::Mod(a, b)) => self.binary(a, " mod ", b),
                Some(Op::Min(a, b)) => self.call("min(", a, b),
                Some(Op::Max(a, b)) => self.call("max(", a, b),
                None => Ok(()),
            },
        }
    }

    fn sum(&mut self, sum: &Sum) -> fmt::Result {
        for (i, term) in sum.terms.iter().enumerate() {
            let mut factor = term.coefficient;
            if i > 0 {
                self.out.push_str(if is_subtracted(factor) { " - " } else { " + " });
                factor = if is_subtracted(factor) { -factor } else { factor };
            } else if factor == -1 {
                self.out.push('-');
                factor = 1;
                if !is_tight(&term.atom) {
                    self.parenthesized(&term.atom)?;
                    continue;
                }
            }
            if factor == 1 {
                self.expr(&term.atom)?;
            } else {
                self.operand(&term.atom)?;
                write!(self.out, " * {factor}")?;
            }
        }
        match sum.constant {
            0 => Ok(()),
            c if is_subtracted(c) => write!(self.out, " - {}", -c),
            c => write!(self.out, " + {c}"),
        }
    }

    fn binary(&mut self, a: &Expr, operator: &str, b: &Expr) -> fmt::Result {
        self.operand(a)?;
        self.out.push_str(operator);
        self.operand(b)
    }

    fn call(&mut self, open: &str, a: &Expr, b: &Expr) -> fmt::Result {
        self.out.push_str(open);
        self.expr(a)?;
        self.out.push_str(", ");
        self.expr(b)?;
        self.out.push(')');
        Ok(())
    }

    fn operand(&mut self, e: &Expr) -> fmt::Result {
        if is_tight(e) {
            self.expr(e)
        } else {
            self.parenthesized(e)
        }
    }

    fn parenthesized(&mut self, e: &Expr) -> fmt::Result {
        self.out.push('(');
        self.expr(e)?;
        self.out.push(')');
        Ok(())
    }
}

/// Whether a summand prints with a minus before it. The smallest integer has no positive counterpart to print.
fn is_subtracted(factor: i64) -> bool {
    factor < 0 && factor != i64::MIN
}

/// Whether an expression needs no parentheses as an operand.
fn is_tight(e: &Expr) -> bool {
    !matches!(e.op(), Some(Op::Sum(_) | Op::Product(..) | Op::FloorDiv(..) | Op::Mod(..)))
}
