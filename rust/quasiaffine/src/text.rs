//! Parses expressions and maps, as `print.rs` writes them. Every error has its position, what was found and what was expected.

use crate::cancel::go_on;
use crate::limits::DEPTH;
use crate::list::List;
use std::sync::Arc;

use crate::domain::{Constraint, Domain, Source, Variable, RESERVED};
use crate::error::{Error, Result, TextError};
use crate::expr::{Accumulator, Expr, Kind, Var};
use crate::map::Map;
use crate::span::Interval;
use crate::table::Table;

use crate::print::is_hidden;

/// Reads an expression over the default names `d0…`, `s0…` and `rt0…`.
///
/// # Errors
/// [`Error::Text`] with the place.
pub(crate) fn parse_expr(text: &str) -> Result<Expr> {
    let mut p = Parser::new(text);
    p.default_names = true;
    let e = p.sum()?;
    p.end()?;
    Ok(e)
}

/// Reads a map.
///
/// # Errors
/// [`Error::Text`] with the place.
pub(crate) fn parse_map(text: &str) -> Result<Map> {
    Parser::new(text).map([None, None, None])
}

impl Map {
    /// Reads a map whose text leaves out the ranges of some kinds of variables, as MLIR writes affine maps: these are the
    /// dimensions, the ranges (MLIR's symbols) and the runtime variables (MLIR's last symbols), if they are given. Names
    /// are those of the text.
    ///
    /// ```
    /// use quasiaffine::{Interval, Map, Variable};
    /// let rows = vec![Variable::new(Interval::new(0, 7))];
    /// let map = Map::parse_over("affine_map<(row) -> (row floordiv 4)>", [Some(rows), None, None])?;
    /// assert_eq!(map.to_string(), "(row) -> (row floordiv 4), domain: row in [0, 7]");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Text`] with the place, [`Error::Arity`] if the text has a different number of variables.
    pub fn parse_over(text: &str, variables: [Option<Vec<Variable>>; 3]) -> Result<Map> {
        Parser::new(text).map(variables)
    }
}

/// Reads an expression over the variables `d0`, `s0`, `rt0` and so on.
///
/// ```
/// let e: quasiaffine::Expr = "(d0 * 8 + s0) floordiv 4".parse()?;
/// assert_eq!(e.to_string(), "(d0 * 8 + s0) floordiv 4");
/// # Ok::<(), quasiaffine::Error>(())
/// ```
impl std::str::FromStr for Expr {
    type Err = Error;

    fn from_str(text: &str) -> Result<Expr> {
        parse_expr(text)
    }
}

/// Reads a map with its domain.
///
/// ```
/// let map: quasiaffine::Map = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 9], s0 in [0, 2]".parse()?;
/// assert_eq!(map.domain().n_ranges, 1);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
impl std::str::FromStr for Map {
    type Err = Error;

    fn from_str(text: &str) -> Result<Map> {
        parse_map(text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    Int(&'a str),
    Symbol(char),
    Arrow,
    End,
}

/// The constructor of a map in a known state, from its variables.
type MapOfDomain = fn(&Domain) -> Map;

struct Parser<'a> {
    text: &'a str,
    /// The starts of the current token and of the text after it.
    at: usize,
    next: usize,
    token: Token<'a>,
    vars: Table<&'a str, Var>,
    default_names: bool,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parser<'a> {
        let mut p = Parser {
            text,
            at: 0,
            next: 0,
            token: Token::End,
            vars: Table::default(),
            default_names: false,
            nesting: 0,
        };
        p.advance();
        p
    }

    fn advance(&mut self) {
        let bytes = self.text.as_bytes();
        let mut i = self.next;
        while bytes.get(i).is_some_and(u8::is_ascii_whitespace) {
            i += 1;
        }
        self.at = i;
        let run = |from: usize, ok: fn(&u8) -> bool| {
            from + bytes[from..].iter().position(|b| !ok(b)).unwrap_or(bytes.len() - from)
        };
        (self.token, self.next) = match bytes.get(i) {
            None => (Token::End, i),
            Some(b) if b.is_ascii_alphabetic() || *b == b'_' => {
                let end = run(i, |b| b.is_ascii_alphanumeric() || *b == b'_');
                (Token::Name(&self.text[i..end]), end)
            }
            Some(b) if b.is_ascii_digit() => {
                let end = run(i, u8::is_ascii_digit);
                (Token::Int(&self.text[i..end]), end)
            }
            Some(b'-') if bytes.get(i + 1) == Some(&b'>') => (Token::Arrow, i + 2),
            Some(_) => {
                let c = self.text[i..].chars().next().unwrap_or('\0');
                (Token::Symbol(c), i + c.len_utf8())
            }
        };
    }

    fn fail<T>(&self, expected: impl Into<String>) -> Result<T> {
        let found = match self.token {
            Token::Name(s) | Token::Int(s) => format!("'{}'", shorten(s)),
            Token::Symbol(c) => format!("'{}'", c.escape_default()),
            Token::Arrow => "'->'".to_owned(),
            Token::End => "the end of the text".to_owned(),
        };
        self.fail_with(expected, found, self.at)
    }

    fn fail_with<T>(&self, expected: impl Into<String>, found: String, at: usize) -> Result<T> {
        let line_start = self.text[..at].rfind('\n').map_or(0, |i| i + 1);
        let line_end = self.text[at..].find('\n').map_or(self.text.len(), |i| at + i);
        let before: Vec<char> = self.text[line_start..at].chars().collect();
        let shown = &before[before.len().saturating_sub(60)..];
        let after: String = self.text[at..line_end].chars().take(40).collect();
        Err(Error::Text(Box::new(TextError {
            line: self.text[..at].matches('\n').count() + 1,
            column: before.len() + 1,
            found,
            expected: expected.into(),
            snippet: shown.iter().copied().chain(after.chars()).map(|c| if is_hidden(c) { ' ' } else { c }).collect(),
            caret: shown.len(),
        })))
    }

    /// Adds the start of the construct to a constructor's error.
    fn build<T>(&self, at: usize, value: Result<T>) -> Result<T> {
        match value {
            Err(Error::Text(e)) => Err(Error::Text(e)),
            Err(e) => self.fail_with("an expression that can be formed", e.to_string(), at),
            ok => ok,
        }
    }

    fn is(&self, symbol: char) -> bool {
        self.token == Token::Symbol(symbol)
    }

    fn take(&mut self, symbol: char) -> bool {
        let found = self.is(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: char) -> Result<()> {
        if self.take(symbol) {
            Ok(())
        } else {
            self.fail(format!("'{symbol}'"))
        }
    }

    fn end(&self) -> Result<()> {
        if self.token == Token::End {
            Ok(())
        } else {
            self.fail("the end of the text")
        }
    }

    // ------------------------------------------------------------------------------------------- expressions

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.nesting += 1;
        if self.nesting > DEPTH as usize {
            return self.fail_with("at most 400 levels of nesting", "one more".to_owned(), self.at);
        }
        let value = parse(self);
        self.nesting -= 1;
        value
    }

    fn sum(&mut self) -> Result<Expr> {
        let start = self.at;
        let first = self.product()?;
        if !self.is('+') && !self.is('-') {
            return Ok(first);
        }
        let mut total = Accumulator::default();
        self.build(start, total.add(1, &first))?;
        loop {
            let at = self.at;
            let sign = match self.token {
                Token::Symbol('+') => 1,
                Token::Symbol('-') => -1,
                _ => return self.build(start, total.finish()),
            };
            self.advance();
            let term = self.product()?;
            self.build(at, total.add(sign, &term))?;
        }
    }

    fn product(&mut self) -> Result<Expr> {
        go_on()?;
        let mut left = self.unary()?;
        loop {
            let at = self.at;
            let combine: fn(&Expr, &Expr) -> Result<Expr> = match self.token {
                Token::Symbol('*') => Expr::mul,
                Token::Symbol('/') | Token::Name("floordiv") => Expr::floor_div,
                Token::Name("ceildiv") => Expr::ceil_div,
                Token::Name("mod") => Expr::floor_mod,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.unary()?;
            left = self.build(at, combine(&left, &right))?;
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        let at = self.at;
        let mut negative = false;
        while self.is('-') {
            negative = !negative;
            self.advance();
            if let (true, Token::Int(digits)) = (negative, self.token) {
                let value = self.integer(digits, true)?;
                return Ok(Expr::Const(value));
            }
        }
        let e = self.primary()?;
        if negative {
            self.build(at, e.scale(-1))
        } else {
            Ok(e)
        }
    }

    fn primary(&mut self) -> Result<Expr> {
        match self.token {
            Token::Int(digits) => Ok(Expr::Const(self.integer(digits, false)?)),
            Token::Symbol('(') => {
                let e = self.nested(|p| {
                    p.advance();
                    p.sum()
                })?;
                self.expect(')')?;
                Ok(e)
            }
            Token::Name(word @ ("min" | "max")) => {
                let at = self.at;
                self.advance();
                self.expect('(')?;
                let a = self.nested(Parser::sum)?;
                self.expect(',')?;
                let b = self.nested(Parser::sum)?;
                self.take(',');
                self.expect(')')?;
                self.build(at, if word == "min" { a.minimum(&b) } else { a.maximum(&b) })
            }
            Token::Name(name) if !RESERVED.contains(&name) => {
                let known = self.vars.get(&name).copied().or_else(|| Var::named(name).filter(|_| self.default_names));
                match known {
                    Some(v) => {
                        self.advance();
                        Ok(Expr::Var(v))
                    }
                    None => self.fail("a variable of the map"),
                }
            }
            _ => self.fail("a number, a variable, '(', 'min' or 'max'"),
        }
    }

    fn integer(&mut self, digits: &'a str, negative: bool) -> Result<i64> {
        let value = if negative { format!("-{digits}").parse() } else { digits.parse() };
        match value {
            Ok(value) => {
                self.advance();
                Ok(value)
            }
            Err(_) => self.fail("an integer of 64 bits"),
        }
    }

    fn signed_integer(&mut self) -> Result<i64> {
        let negative = self.take('-');
        match self.token {
            Token::Int(digits) => self.integer(digits, negative),
            _ => self.fail("an integer"),
        }
    }

    // -------------------------------------------------------------------------------------------------- maps

    fn map(mut self, variables: [Option<Vec<Variable>>; 3]) -> Result<Map> {
        let is_wrapped = self.token == Token::Name("affine_map");
        if is_wrapped {
            self.advance();
            self.expect('<')?;
        }
        if let Some(state) = self.state()? {
            self.end()?;
            return Ok(state(&Domain::default()));
        }
        let mut names: Vec<(&'a str, Var)> = Vec::new();
        self.names('(', ')', Kind::Dim, &mut names)?;
        let n_dims = names.len();
        if self.is('[') {
            self.names('[', ']', Kind::Range, &mut names)?;
        }
        let mut n_ranges = names.len() - n_dims;
        if self.is('{') {
            self.names('{', '}', Kind::Runtime, &mut names)?;
        } else if let (true, Some(runtime)) = (is_wrapped, &variables[2]) {
            // MLIR has one kind of symbols; as in XLA, runtime variables come after ranges.
            n_ranges = n_ranges.saturating_sub(runtime.len());
            self.vars = Table::default();
            for (flat, (name, v)) in names.iter_mut().enumerate() {
                *v = Var::at(flat as u32, n_dims as u32, n_ranges as u32);
                self.vars.insert(*name, *v);
            }
        }
        if self.token != Token::Arrow {
            return self.fail("'->'");
        }
        self.advance();
        let vars = names
            .iter()
            .map(|(name, v)| Variable {
                name: (Var::named(name) != Some(*v)).then(|| Arc::from(*name)),
                ..Variable::new(Interval::EMPTY)
            })
            .collect();
        let mut domain = Domain { vars, n_dims, n_ranges, constraints: Vec::new() };
        if let Some(state) = self.state()? {
            self.end()?;
            return Ok(state(&domain));
        }
        self.expect('(')?;
        let results = self.list(')')?;
        if is_wrapped {
            self.expect('>')?;
        }
        let mut given = vec![false; domain.vars.len()];
        let mut start = 0;
        for (kind, n, what) in [
            (0, domain.n_dims, "dimensions, one for each of the text"),
            (1, domain.n_ranges, "range variables, one for each of the text"),
            (2, domain.n_runtime(), "runtime variables, one for each of the text"),
        ] {
            if let Some(variables) = &variables[kind] {
                if variables.len() != n {
                    return Err(Error::Arity { what, expected: n, found: variables.len() });
                }
                for (i, v) in variables.iter().enumerate() {
                    given[start + i] = true;
                    let of_text = &mut domain.vars[start + i];
                    (of_text.interval, of_text.source) = (v.interval, v.source.clone());
                }
            }
            start += n;
        }
        loop {
            self.take(',');
            match self.token {
                Token::Name("domain") => {
                    self.section()?;
                    self.domain(&mut domain, &mut given)?;
                }
                Token::Name("runtime") => {
                    self.section()?;
                    self.sources(&mut domain)?;
                }
                Token::End => break,
                _ => return self.fail("'domain:', 'runtime:' or the end of the text"),
            }
        }
        if let Some(i) = given.iter().position(|g| !g) {
            let name = domain.name(domain.var(i));
            let given = match i {
                i if i < domain.n_dims => "dims",
                i if i < domain.n_dims + domain.n_ranges => "ranges",
                _ => "runtime",
            };
            return self
                .fail(format!("a range for {name}, as in ', domain: {name} in [0, 7]', or `{given}` beside the text"));
        }
        let at = self.at;
        self.build(at, Map::new(domain, results))
    }

    /// `KNOWN EMPTY` or `UNDEFINED`.
    fn state(&mut self) -> Result<Option<MapOfDomain>> {
        match self.token {
            Token::Name("KNOWN") => {
                self.advance();
                if self.token != Token::Name("EMPTY") {
                    return self.fail("'EMPTY'");
                }
                self.advance();
                Ok(Some(Map::empty))
            }
            Token::Name("UNDEFINED") => {
                self.advance();
                Ok(Some(Map::undefined))
            }
            _ => Ok(None),
        }
    }

    fn names(&mut self, open: char, close: char, kind: Kind, out: &mut Vec<(&'a str, Var)>) -> Result<()> {
        self.expect(open)?;
        let mut index = 0;
        while !self.take(close) {
            let Token::Name(name) = self.token else {
                return self.fail(format!("a name or '{close}'"));
            };
            if RESERVED.contains(&name) {
                return self.fail("a name that is not a word of the language");
            }
            let v = Var { kind, index };
            if self.vars.get(&name).is_some() {
                return self.fail("a name that is not taken yet");
            }
            self.vars.insert(name, v);
            out.push((name, v));
            index += 1;
            self.advance();
            if !self.take(',') && !self.is(close) {
                return self.fail(format!("',' or '{close}'"));
            }
        }
        Ok(())
    }

    fn list(&mut self, close: char) -> Result<Vec<Expr>> {
        let mut out = Vec::new();
        while !self.take(close) {
            out.push(self.sum()?);
            if !self.take(',') && !self.is(close) {
                return self.fail(format!("an operator (+, -, *, floordiv, ceildiv, mod), ',' or '{close}'"));
            }
        }
        Ok(out)
    }

    fn section(&mut self) -> Result<()> {
        self.advance();
        self.expect(':')
    }

    fn section_ends(&self) -> bool {
        matches!(self.token, Token::End | Token::Name("domain" | "runtime"))
    }

    fn domain(&mut self, domain: &mut Domain, given: &mut [bool]) -> Result<()> {
        while !self.section_ends() {
            let (at, first_end) = (self.at, self.next);
            let expr = self.sum()?;
            let is_lone_name = self.text[first_end..self.at].trim().is_empty();
            if self.token != Token::Name("in") {
                return self.fail("an operator (+, -, *, floordiv, ceildiv, mod) or 'in'");
            }
            self.advance();
            self.expect('[')?;
            let lo = self.signed_integer()?;
            self.expect(',')?;
            let hi = self.signed_integer()?;
            self.expect(']')?;
            let interval = Interval::new(lo, hi);
            match (&expr, expr.first_var().and_then(|v| domain.flat(v))) {
                (Expr::Var(v), Some(i)) if is_lone_name => {
                    if std::mem::replace(&mut given[i], true) {
                        let name = domain.name(*v);
                        return self.fail_with("one range for each variable", format!("a second one for {name}"), at);
                    }
                    domain.vars[i].interval = interval;
                }
                _ => domain.constraints.push(Constraint { expr, interval }),
            }
            if !self.take(',') && !self.section_ends() {
                return self.fail("',' or the end of the domain");
            }
        }
        Ok(())
    }

    fn sources(&mut self, domain: &mut Domain) -> Result<()> {
        while !self.section_ends() {
            let at = self.at;
            let flat = match self.token {
                Token::Name(name) => {
                    self.vars.get(&name).filter(|v| v.kind == Kind::Runtime).and_then(|v| domain.flat(*v))
                }
                _ => None,
            };
            let Some(flat) = flat else {
                return self.fail("a runtime variable of the map");
            };
            self.advance();
            self.expect('=')?;
            self.expect('#')?;
            let id = self.signed_integer()?;
            self.expect('(')?;
            let index: List<Expr, 2> = self.list(')')?.into();
            if domain.vars[flat].source.replace(Arc::new(Source { id, index })).is_some() {
                return self.fail_with("one source for each runtime variable", "a second one".to_owned(), at);
            }
            if !self.take(',') && !self.section_ends() {
                return self.fail("',' or the end of the text");
            }
        }
        Ok(())
    }
}

fn shorten(s: &str) -> String {
    let mut out: String = s.chars().take(40).collect();
    if out.len() < s.len() {
        out.push('…');
    }
    out
}
