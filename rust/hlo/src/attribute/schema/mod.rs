//! The schema of attributes, shared by the text and the proto readers and writers.
//!
//! [`table`] has one row per attribute; the lookups here are by name, by operation, by field.

mod table;

use std::sync::LazyLock;

pub use super::form::Form;
pub(crate) use table::{row, Codec, Row, ROTATE, TABLE};
use table::{Effect, Field};

use crate::error::{Diagnostic, Span};
use crate::opcode::{Opcode, Words};

const N: usize = TABLE.len();

/// Names by key, apart from the rows: the reader compares them for every attribute.
static NAMES: Words<N> = Words::new({
    let mut names = [""; N];
    let mut key = 0;
    while key < N {
        names[key] = TABLE[key].name;
        key += 1;
    }
    names
});

/// The owner of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A module, for attributes in its header.
    Module,
    /// A computation, for attributes behind its closing brace.
    Computation,
    /// An instruction of this operation.
    Instruction(Opcode),
}

impl Owner {
    /// The owner that a word of the schema names: `module`, `computation`, or an operation, known or not.
    pub fn from_name(word: &str) -> Owner {
        match word {
            "module" => Owner::Module,
            "computation" => Owner::Computation,
            word => Owner::Instruction(Opcode::from_name(word).unwrap_or(Opcode::Unknown)),
        }
    }

    fn index(self) -> usize {
        match self {
            Owner::Instruction(opcode) => opcode as usize,
            Owner::Module => Opcode::COUNT,
            Owner::Computation => Opcode::COUNT + 1,
        }
    }
}

pub(crate) struct OperationField {
    pub key: u16,
    pub row: &'static Row,
    pub field: &'static Field,
    /// The operation requires the attribute.
    pub is_required: bool,
    /// The operation may have the attribute; text of another operation has it with a diagnostic.
    pub is_allowed: bool,
    /// The value of an absent attribute, as in [`Row`].
    pub default: Option<i64>,
}

struct Index {
    /// Keys in the order of their names.
    sorted: Vec<u16>,
    /// Bit i of row k: owner i may have attribute k.
    allowed: Vec<[u64; 3]>,
    /// By opcode, in the order of names.
    required: Vec<Vec<u16>>,
    /// By opcode, in the order of rows.
    fields: Vec<Vec<OperationField>>,
    /// By opcode.
    held: Vec<Held>,
}

/// The attributes of an operation that fields of a message may hold, as bits in the order of [`fields_of`].
struct Held {
    /// Those that an instruction may have without any field: required ones, and those whose default is not 0.
    without: u64,
    /// By the number of a field.
    by: [u64; Held::NUMBERS],
}

impl Held {
    const NUMBERS: usize = 128;

    fn of(fields: &[OperationField]) -> Held {
        debug_assert!(fields.len() <= 64, "one bit for each attribute of an operation");
        let mut held = Held { without: 0, by: [0; Held::NUMBERS] };
        for (k, f) in fields.iter().enumerate() {
            let outermost = if f.field.codec.is_regular() { 1 } else { f.field.path.len() };
            f.field.path.iter().take(outermost).for_each(|&number| held.by[number as usize] |= 1 << k);
            if f.is_required || f.default.is_some_and(|default| default != 0) {
                held.without |= 1 << k;
            }
        }
        held
    }
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut sorted: Vec<u16> = (0..N as u16).collect();
    sorted.sort_by_key(|&key| NAMES.words[key as usize]);
    let (mut allowed, mut required) = (vec![[0; 3]; N], vec![Vec::new(); Opcode::COUNT]);
    for &key in &sorted {
        for word in TABLE[key as usize].operations.split(' ') {
            let (word, is_required) = word.strip_suffix('!').map_or((word, false), |word| (word, true));
            let owners = match Owner::from_name(word) {
                _ if word == "*" => 0..Opcode::COUNT,
                owner => owner.index()..owner.index() + 1,
            };
            for owner in owners {
                allowed[key as usize][owner / 64] |= 1 << (owner % 64);
                if is_required {
                    required[owner].push(key);
                }
            }
        }
        // An unknown operation may have any attribute.
        if TABLE[key as usize].operations != "module" {
            allowed[key as usize][Opcode::Unknown as usize / 64] |= 1 << (Opcode::Unknown as usize % 64);
        }
    }
    let fields: Vec<Vec<OperationField>> = Opcode::names()
        .chain([""])
        .zip(&required)
        .enumerate()
        .map(|(owner, (opcode, required))| {
            let is_allowed = |key: u16| allowed[key as usize][owner / 64] >> (owner % 64) & 1 == 1;
            fields(TABLE, opcode, required, &is_allowed)
        })
        .collect();
    let held = fields.iter().map(|fields| Held::of(fields)).collect();
    Index { sorted, allowed, required, fields, held }
});

/// The fields that an operation has in a table.
pub(crate) fn fields(
    table: &'static [Row],
    opcode: &str,
    required: &[u16],
    is_allowed: &dyn Fn(u16) -> bool,
) -> Vec<OperationField> {
    // An unknown operation has the fields that every operation has.
    let is_listed = |list: &str| list.split(' ').any(|op| op == "*" || op.trim_end_matches('!') == opcode);
    let all = (0u16..).zip(table).flat_map(|(key, row)| row.fields.iter().flatten().map(move |f| (key, row, f)));
    let own = all.filter(|(_, row, f)| is_listed(if f.operations.is_empty() { row.operations } else { f.operations }));
    let complete = |(key, row, field): (u16, &'static Row, &'static Field)| {
        let default = row.default_on(opcode);
        let (is_required, is_allowed) = (required.contains(&key), is_allowed(key));
        OperationField { key, row, field, is_required, is_allowed, default }
    };
    own.map(complete).collect()
}

/// The key of the attribute with this name, if it is known.
#[inline]
pub(crate) fn key(name: &[u8]) -> Option<u16> {
    NAMES.find(name)
}

#[inline]
pub(crate) fn name(key: u16) -> &'static str {
    NAMES.words[key as usize]
}

#[inline]
pub(crate) fn form(key: u16) -> Form {
    TABLE[key as usize].form
}

/// Whether XLA knows this attribute on this owner.
pub(crate) fn is_allowed(key: u16, owner: Owner) -> bool {
    let i = owner.index();
    INDEX.allowed[key as usize][i / 64] >> (i % 64) & 1 == 1
}

/// The problem of the first word in a value that the attribute of this owner cannot have. XLA ignores the letter case
/// of words in lists.
pub(crate) fn unknown_word(key: u16, owner: Owner, text: &str, span: Span) -> Option<Diagnostic> {
    let value = &text[span.range()];
    let operation = if let Owner::Instruction(opcode) = owner { opcode.name() } else { "" };
    if TABLE[key as usize].words_of(operation).contains(&value) {
        return None;
    }
    let words = words(key, owner);
    let is_list = form(key) == Form::Words;
    let is_known = |word: &str| {
        words.contains(&word) || is_list && (word.is_empty() || words.contains(&word.to_ascii_lowercase().as_str()))
    };
    let found = value.trim_matches(['{', '}']).split(',').map(str::trim).find(|word| !is_known(word))?;
    (!words.is_empty()).then(|| super::unknown_word(name(key), found, &words, span))
}

/// The words that an attribute of this owner may be; empty if the set is open.
pub(crate) fn words(key: u16, owner: Owner) -> Vec<&'static str> {
    let row = &TABLE[key as usize];
    let Owner::Instruction(opcode) = owner else { return row.words.to_vec() };
    let field = fields_of(opcode).iter().find(|field| field.key == key);
    match field.map(|field| &field.field.codec) {
        Some(Codec::Words(words)) => words.to_vec(),
        // Algorithms differ by operation.
        Some(Codec::Word(words)) if row.name == "algorithm" => {
            words.iter().map(|&word| if word.is_empty() { "unset" } else { word }).collect()
        }
        _ => row.words_of(opcode.name()).to_vec(),
    }
}

/// The attributes that an instruction of this opcode must have.
pub(crate) fn required(opcode: Opcode) -> &'static [u16] {
    &INDEX.required[opcode as usize]
}

/// Whether the attribute can change what an operation reads or computes.
pub(crate) fn is_semantic(key: u16, opcode: Opcode) -> bool {
    match TABLE[key as usize].effect {
        Effect::Semantic => true,
        Effect::Hint => matches!(opcode, Opcode::CustomCall | Opcode::While | Opcode::Unknown),
        Effect::Verified | Effect::Annotation => false,
    }
}

/// Whether shape inference or a rule of the verifier may read the attribute.
#[inline]
pub(crate) fn is_checked(key: u16) -> bool {
    matches!(TABLE[key as usize].effect, Effect::Semantic | Effect::Verified)
}

/// Whether rules of the verifier alone read the attribute, on any operation.
#[inline]
pub(crate) fn is_verified(key: u16) -> bool {
    TABLE[key as usize].effect == Effect::Verified
}

/// The fields of an instruction of this opcode that hold attributes, in the order in which they are printed.
pub(crate) fn fields_of(opcode: Opcode) -> &'static [OperationField] {
    &INDEX.fields[opcode as usize]
}

/// The attributes that an instruction with these fields may have, in the order of [`fields_of`].
pub(crate) fn held(
    opcode: Opcode,
    numbers: impl Iterator<Item = u32>,
) -> impl Iterator<Item = &'static OperationField> {
    let (fields, held) = (fields_of(opcode), &INDEX.held[opcode as usize]);
    let mut left = numbers.fold(held.without, |left, number| left | held.by.get(number as usize).unwrap_or(&0));
    std::iter::from_fn(move || {
        let k = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        fields.get(k)
    })
}

/// The field of an attribute in an instruction of this opcode, if there is one.
pub(crate) fn field_of(opcode: Opcode, key: u16) -> Option<&'static OperationField> {
    let all = fields_of(opcode);
    // In the order of rows, which is that of keys.
    all.binary_search_by_key(&key, |f| f.key).ok().map(|k| &all[k])
}

/// An attribute as the schema specifies it for one owner.
#[derive(Clone, Copy, Debug)]
pub struct AttributeSpec {
    /// The name in the text.
    pub name: &'static str,
    /// The form of its value.
    pub form: Form,
    /// Whether the owner must have it.
    pub is_required: bool,
    /// All words that its value may be; empty if the set is open.
    pub words: &'static [&'static str],
}

/// The attributes that are known on an owner, sorted by name.
pub fn attributes_of(owner: Owner) -> impl Iterator<Item = AttributeSpec> {
    let required = if let Owner::Instruction(opcode) = owner { required(opcode) } else { &[] };
    INDEX.sorted.iter().filter(move |&&key| is_allowed(key, owner)).map(move |&key| {
        let row = &TABLE[key as usize];
        let operation = if let Owner::Instruction(opcode) = owner { opcode.name() } else { "" };
        let words = row.words_of(operation);
        AttributeSpec { name: row.name, form: row.form, is_required: required.contains(&key), words }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        for (k, row) in TABLE.iter().enumerate() {
            assert_eq!(key(row.name.as_bytes()), Some(k as u16));
        }
        assert_eq!(key(b"windows"), None);
        assert_eq!(key(b"window").map(form), Some(Form::Window));
        assert!(is_allowed(key(b"metadata").unwrap(), Owner::Instruction(Opcode::Add)));
        assert!(!is_allowed(key(b"window").unwrap(), Owner::Instruction(Opcode::Add)));
        assert!(required(Opcode::Pad).contains(&key(b"padding").unwrap()));
        let all = |word| attributes_of(Owner::from_name(word)).filter(|row| row.is_required).map(|row| row.name);
        assert_eq!(all("pad").collect::<Vec<_>>(), ["padding"]);
        assert_eq!(all("module").chain(all("no-operation")).count(), 0);
    }

    /// Every operation that the schema names is known, and has at most one field for an attribute; fields of several
    /// attributes of one operation differ.
    #[test]
    fn operations_and_fields_are_consistent() {
        for row in TABLE {
            let words = row.operations.split(' ').map(|word| word.trim_end_matches('!'));
            for word in words.chain(row.fields.iter().flatten().flat_map(|f| f.operations.split(' '))) {
                let is_known = matches!(word, "" | "*" | "module" | "computation") || Opcode::from_name(word).is_some();
                assert!(is_known, "{}: {word}", row.name);
            }
        }
        for opcode in Opcode::names().filter_map(Opcode::from_name) {
            let fields = fields_of(opcode);
            for (k, a) in fields.iter().enumerate() {
                let shares =
                    |b: &&OperationField| a.key == b.key || (a.field.path == b.field.path && !a.field.path.is_empty());
                let other = fields[k + 1..].iter().find(shares).map(|b| b.row.name);
                assert_eq!(other, None, "{} of {}", a.row.name, opcode.name());
            }
        }
    }
}
