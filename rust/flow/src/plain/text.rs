//! The text of a plain rule, read into its parts.

use std::fmt::{self, Display};

use super::{Array, Group, Index, Operands, Pattern, Picked, PlainRule};

/// Why a text is not a plain rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotPlain {
    /// What was expected.
    pub expected: &'static str,
    /// The text from where it was expected.
    pub rest: String,
}

impl Display for NotPlain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {:?}", self.expected, self.rest)
    }
}

impl std::error::Error for NotPlain {}

type Read<T> = Result<T, NotPlain>;

/// The rest of the text.
struct Reader<'t>(&'t str);

impl<'t> Reader<'t> {
    fn accepts(&mut self, word: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(word);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expects(&mut self, word: &'static str) -> Read<()> {
        if self.accepts(word) {
            return Ok(());
        }
        Err(self.error(word))
    }

    fn error(&self, expected: &'static str) -> NotPlain {
        NotPlain { expected, rest: self.0.trim_start().to_owned() }
    }

    /// The longest run of letters, digits and underscores.
    fn word(&mut self) -> Option<&'t str> {
        let rest = self.0.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.0 = if word.is_empty() { self.0 } else { rest };
        (!word.is_empty()).then_some(word)
    }

    fn array(&mut self) -> Read<Array> {
        self.expects("[")?;
        let mut groups = Vec::new();
        while !self.accepts("]") {
            if !groups.is_empty() {
                self.expects(",")?;
            }
            let mut group = None;
            let index = self.sum(&mut group)?;
            let (label, picked) = group.ok_or_else(|| self.error("the name of an index"))?;
            groups.push(Group { label, picked, index });
        }
        Ok(Array { groups })
    }

    fn sum(&mut self, group: &mut Option<(u8, Picked)>) -> Read<Index> {
        let mut found = self.product(group)?;
        loop {
            if self.accepts("+") {
                found = Index::Sum(Box::new(found), 1, Box::new(self.product(group)?));
            } else if self.accepts("-") {
                found = Index::Sum(Box::new(found), -1, Box::new(self.product(group)?));
            } else {
                return Ok(found);
            }
        }
    }

    fn product(&mut self, group: &mut Option<(u8, Picked)>) -> Read<Index> {
        let mut found = self.factor(group)?;
        while self.accepts("*") {
            found = Index::Product(Box::new(found), Box::new(self.factor(group)?));
        }
        Ok(found)
    }

    fn factor(&mut self, group: &mut Option<(u8, Picked)>) -> Read<Index> {
        if self.accepts("(") {
            let found = self.sum(group)?;
            self.expects(")")?;
            return Ok(found);
        }
        let word = self.word().ok_or_else(|| self.error("a number, a size, a field of an attribute or an index"))?;
        if let Ok(number) = word.parse() {
            return Ok(Index::Number(number));
        }
        match word {
            "size" => return Ok(Index::Size),
            "before" => return Ok(Index::Before),
            _ => {}
        }
        if self.accepts(".") {
            let field = self.word().and_then(|field| field.parse().ok()).filter(|field| *field < 3);
            return Ok(Index::Field(word.to_owned(), field.ok_or_else(|| self.error("the number of a field"))?));
        }
        let &[label] = word.as_bytes() else { return Err(self.error("an index of one letter")) };
        let picked = match self.accepts("=") {
            false => Picked::Rest,
            true if self.accepts("{") => {
                let name = self.word().ok_or_else(|| self.error("the name of an attribute"))?;
                self.expects("}")?;
                Picked::Set(name.to_owned())
            }
            true => Picked::List(self.word().ok_or_else(|| self.error("the name of an attribute"))?.to_owned()),
        };
        if group.replace((label, picked)).is_some() {
            return Err(self.error("one index"));
        }
        Ok(Index::Itself)
    }
}

/// Reads a plain rule.
pub(super) fn read(text: &str) -> Read<PlainRule> {
    let mut reader = Reader(text);
    let pattern = if reader.accepts("same linear index") {
        Pattern::LinearIndex
    } else if reader.accepts("same place in memory") {
        Pattern::Memory
    } else {
        let output = reader.array()?;
        reader.expects("<-")?;
        let first = reader.array()?;
        let operands = if reader.accepts("or [] ...") {
            Operands::Each { operand: first, or_scalar: true, second_half: None }
        } else if reader.accepts("...") {
            let second_half = reader.accepts(",").then(|| reader.array()).transpose()?;
            if second_half.is_some() {
                reader.expects("...")?;
            }
            Operands::Each { operand: first, or_scalar: false, second_half }
        } else {
            let mut listed = vec![first];
            let mut others = None;
            while reader.accepts(",") {
                if reader.accepts("else") {
                    others = Some(reader.array()?);
                    break;
                }
                listed.push(reader.array()?);
            }
            Operands::Listed { listed, others }
        };
        Pattern::Indices { output, operands }
    };
    let (mut if_static, mut if_combining, mut if_without) = (false, false, None);
    if reader.accepts("if static") {
        if_static = true;
    } else if reader.accepts("if combining") {
        (if_static, if_combining) = (true, true);
    } else if reader.accepts("if no ") {
        if_without = Some(reader.word().ok_or_else(|| reader.error("the name of an attribute"))?.to_owned());
    }
    if !reader.0.trim().is_empty() {
        return Err(reader.error("the end"));
    }
    Ok(PlainRule { pattern, if_static, if_without, if_combining })
}
