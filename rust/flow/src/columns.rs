//! The columns of the table of a module: the one definition of their names, types and meanings, and their values.
//!
//! Read [`COLUMNS`]. A [`View`] gives the value of a column in a row; [`crate::arrow`] writes all of them. Columns computed
//! elsewhere (`Source::Elsewhere`) are null here.

use std::borrow::Cow;
use std::ops::Range;

use hlo::{ComputationId, InstructionId, Module, Opcode, Origin};
use quasiaffine::interrupt::poll;
use rustc_hash::FxHashMap;

use crate::indexing::Text;
use crate::rows::{Cells, Row, Rows};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// A list of [`Kind::Text`].
    Texts,
    /// A truth value.
    Bool,
    /// 64 bits, signed.
    Int,
    /// A list of [`Kind::Int`].
    Ints,
    /// A double.
    Float,
}

impl Kind {
    /// The name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Texts => "texts",
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Ints => "ints",
            Kind::Float => "float",
        }
    }
}

/// The value of a column in a row.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "named like the kinds")]
pub enum Value<'v> {
    Null,
    Text(&'v str),
    Texts(&'v [Text]),
    Bool(bool),
    Int(i64),
    Ints(&'v [u32]),
    Float(f64),
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// What the values mean, their unit, and when they are null.
    pub description: &'static str,
    source: Source,
}

/// The part of a row that determines a column: rows with the same part share the value.
#[derive(Clone, Copy, Debug)]
enum Source {
    Module,
    Computation,
    TripCount,
    Instruction,
    OperandName,
    Opcode,
    Origin(for<'v> fn(&'v View<'_>, &'v Label<'_>) -> Value<'v>),
    Cells(for<'v> fn(&'v Cells) -> Value<'v>),
    Elsewhere,
}

const fn column(name: &'static str, kind: Kind, source: Source, description: &'static str) -> Column {
    Column { name, kind, description, source }
}

/// All columns, in order.
pub const COLUMNS: [Column; 35] = {
    use Kind::{Bool, Float, Int, Ints, Text, Texts};
    use Source::{Cells as C, Origin as O};
    [
        column("module", Text, Source::Module, "Name of the module."),
        column("computation", Text, Source::Computation, "Name of the computation that contains the instruction."),
        column(
            "trip_count",
            Int,
            Source::TripCount,
            "Iterations of the `while` loops around the instruction, multiplied; 1 outside loops. A condition runs once \
             more than its body; a branch of a conditional counts as taken. Null if a count is unknown or exceeds 64 \
             bits, or if the callers of the computation differ in it.",
        ),
        column("instruction", Text, Source::Instruction, "Name of the instruction that the row describes."),
        column("opcode", Text, Source::Opcode, "Opcode of the instruction."),
        column("fusion_kind", Text, O(|_, l| text(l.fusion_kind)), "`kind` of a fusion; null for other opcodes."),
        column(
            "custom_call_target",
            Text,
            O(|_, l| text(l.custom_call_target.as_deref())),
            "Target of a custom call; null for other opcodes.",
        ),
        column(
            "op_name",
            Text,
            O(|_, l| text(l.origin.op_name.as_deref())),
            "Operation of the source program, from the instruction's metadata; null without one.",
        ),
        column(
            "source_file",
            Text,
            O(|_, l| text(l.origin.source_file.as_deref())),
            "Source file of that operation, inline or from the innermost stack frame; null without one.",
        ),
        column(
            "source_line",
            Int,
            O(|_, l| int(l.origin.source_line)),
            "Line in the source file, counted from 1; null without one.",
        ),
        column(
            "stack",
            Texts,
            O(|view, l| l.origin.stack_frame_id.and_then(|id| view.stacks.get(&id)).map_or(Value::Null, |s| Value::Texts(s))),
            "Stack frames of the operation, innermost first, as `file:line:column in function`; at most 100. Null if \
             the module has no frame for it.",
        ),
        column(
            "output",
            Int,
            C(|c| Value::Int(c.output.first().map_or(0, |&i| i64::from(i)))),
            "Number of the output, as `hm.output_to_input` takes it; for a tuple-shaped output, the first entry of the \
             shape index.",
        ),
        column(
            "output_index",
            Ints,
            C(|c| Value::Ints(&c.output)),
            "Shape index of the array within the output; empty where the output is not a tuple.",
        ),
        column(
            "output_shape",
            Text,
            C(|c| c.output_shape.as_ref().map_or(Value::Null, |shape| Value::Text(shape))),
            "Shape of that array, with its layout.",
        ),
        column(
            "output_bytes",
            Int,
            C(|c| int(c.output_bytes)),
            "Size in bytes of that array as it is stored, without padding; null if it is unbounded or exceeds 64 bits.",
        ),
        column(
            "operand",
            Int,
            C(|c| int(c.operand.map(i64::from))),
            "Number of the operand; null if the text names no operands.",
        ),
        column(
            "operand_index",
            Ints,
            C(|c| c.operand_leaf.as_ref().map_or(Value::Null, |(index, _)| Value::Ints(index))),
            "Shape index of the array within the operand; empty where the operand is not a tuple.",
        ),
        column("operand_name", Text, Source::OperandName, "Name of the operand; null if the text names no operands."),
        column(
            "operand_shape",
            Text,
            C(|c| c.operand_leaf.as_ref().map_or(Value::Null, |(_, shape)| Value::Text(shape))),
            "Shape of the array within the operand, with its layout.",
        ),
        column("n_maps", Int, C(|c| int(c.reads.as_ref().map(|r| r.maps.len() as i64))), "Number of maps."),
        column(
            "maps",
            Texts,
            C(|c| c.reads.as_ref().map_or(Value::Null, |r| Value::Texts(&r.maps))),
            "Indexing maps whose union is the set of operand elements that an output element reads.",
        ),
        column(
            "exact",
            Bool,
            C(|c| c.reads.as_ref().map_or(Value::Null, |r| Value::Bool(r.exact))),
            "True if this union contains exactly the elements that the operation reads by definition; false if it may \
             contain more.",
        ),
        column(
            "is_bitcast",
            Bool,
            C(|c| c.is_bitcast.map_or(Value::Null, Value::Bool)),
            "True if each output element has the position in memory of the operand element that it reads, so that no \
             byte moves, as `hm.is_bitcast` decides; null if that is undecided or a value is not an array.",
        ),
        column(
            "divmod",
            Int,
            C(|c| int(c.reads.as_ref().map(|r| r.divmod))),
            "Number of `floordiv` and `mod` nodes in all maps, a measure of the cost of the index arithmetic.",
        ),
        column(
            "touched_lower",
            Int,
            C(|c| int(c.reads.as_ref().map(|r| r.touched.0))),
            "Lower bound on the number of reads needed to compute the whole output; an element read twice counts twice.",
        ),
        column(
            "touched_upper",
            Int,
            C(|c| int(c.reads.as_ref().and_then(|r| r.touched.1))),
            "Upper bound on the number of reads; null if unknown.",
        ),
        column(
            "distinct_lower",
            Int,
            C(|c| int(c.reads.as_ref().map(|r| r.distinct.0))),
            "Lower bound on the number of distinct operand elements read.",
        ),
        column(
            "distinct_upper",
            Int,
            C(|c| int(c.reads.as_ref().and_then(|r| r.distinct.1))),
            "Upper bound on the number of distinct operand elements read; null if unknown.",
        ),
        column(
            "reuse",
            Float,
            C(|c| c.reads.as_ref().and_then(|r| r.reuse()).map_or(Value::Null, Value::Float)),
            "Reads per distinct element, `touched / distinct`; null unless both are known exactly, and if nothing is \
             read.",
        ),
        column(
            "bytes",
            Int,
            C(|c| int(c.reads.as_ref().and_then(|r| r.bytes))),
            "Size in bytes of `distinct_upper` elements as they are stored; sub-byte elements count as packed if the \
             layout packs them. Null if unknown.",
        ),
        column("sharding", Text, Source::Elsewhere, "Sharding that the module gives to the output; null without one."),
        column(
            "operand_sharding",
            Text,
            Source::Elsewhere,
            "Sharding that the module gives to the operand; null without one.",
        ),
        column(
            "remote_bytes",
            Int,
            Source::Elsewhere,
            "Bytes of the operand that devices read and do not hold, at most, all outputs together; null without a \
             sharding of the output.",
        ),
        column(
            "unknown",
            Text,
            C(|c| c.reads.as_ref().and_then(|r| r.unknown.as_ref()).map_or(Value::Null, |reason| Value::Text(reason))),
            "Reason why the maps of this pair are unknown; null where they are known.",
        ),
        column(
            "error",
            Text,
            C(|c| c.error.as_ref().map_or(Value::Null, |message| Value::Text(message))),
            "Error message; null without an error. A file that cannot be read yields one row with its error.",
        ),
    ]
};

fn text(text: Option<&str>) -> Value<'_> {
    text.map_or(Value::Null, Value::Text)
}

fn int<'v>(n: Option<i64>) -> Value<'v> {
    n.map_or(Value::Null, Value::Int)
}

/// What the text of an instruction tells about it.
struct Label<'m> {
    origin: Origin<'m>,
    fusion_kind: Option<&'m str>,
    custom_call_target: Option<Cow<'m, str>>,
}

impl<'m> Label<'m> {
    fn of(m: &'m Module, id: InstructionId) -> Label<'m> {
        let opcode = m.instructions()[id as usize].opcode;
        let of = |owner: Opcode, name: &str| if opcode == owner { m.attribute(id, name) } else { None };
        let target = of(Opcode::CustomCall, "custom_call_target").and_then(|a| match m.value(a, None) {
            Ok(hlo::Value::Text(text)) => Some(text),
            _ => None,
        });
        let kind = of(Opcode::Fusion, "kind");
        let fusion_kind = kind.map(|a| m.attribute_text(a));
        Label { origin: m.origin(id), fusion_kind, custom_call_target: target }
    }
}

/// The rows of a module, seen by column.
pub struct View<'m> {
    m: &'m Module,
    rows: &'m Rows,
    /// By row, the position in `labels`.
    label_of: Vec<u32>,
    labels: Vec<Label<'m>>,
    stacks: FxHashMap<i64, Vec<Text>>,
}

/// The column with this name.
pub fn find(name: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|c| c.name == name)
}

impl<'m> View<'m> {
    /// A view for these columns.
    pub fn new(m: &'m Module, rows: &'m Rows, columns: &[Column]) -> View<'m> {
        let mut view = View { m, rows, label_of: Vec::new(), labels: Vec::new(), stacks: FxHashMap::default() };
        if columns.iter().any(|c| matches!(c.source, Source::Origin(_))) {
            view.read_labels();
        }
        view
    }

    fn read_labels(&mut self) {
        let mut last = None;
        for row in &self.rows.rows {
            if last != Some(row.instruction) {
                poll();
                last = Some(row.instruction);
                let label = Label::of(self.m, row.instruction);
                if let Some(id) = label.origin.stack_frame_id {
                    if let std::collections::hash_map::Entry::Vacant(free) = self.stacks.entry(id) {
                        let frames: Vec<Text> = self.m.stack(id).map(|f| Text::from(f.to_string())).collect();
                        if !frames.is_empty() {
                            free.insert(frames);
                        }
                    }
                }
                self.labels.push(label);
            }
            self.label_of.push(self.labels.len() as u32 - 1);
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.rows.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.rows.rows.is_empty()
    }

    /// A number that rows with the same value in a column may share; rows with one number have one value.
    pub fn key(&self, column: &Column, row: usize) -> u32 {
        let Row { instruction, operand, cells } = self.rows.rows[row];
        match column.source {
            Source::Module | Source::Elsewhere => 0,
            Source::Computation | Source::TripCount => self.m.computation_of(instruction),
            Source::Instruction => instruction,
            Source::OperandName => operand.unwrap_or(u32::MAX),
            Source::Origin(_) => self.label_of[row],
            Source::Opcode | Source::Cells(_) => cells,
        }
    }

    /// The value of a column in a row.
    pub fn value(&self, column: &Column, row: usize) -> Value<'_> {
        let mut found = Value::Null;
        self.for_each(column, row..row + 1, |value| found = value);
        found
    }

    /// Calls `each` with the values of a column in some rows.
    pub fn for_each<'v>(&'v self, column: &Column, rows: Range<usize>, mut each: impl FnMut(Value<'v>)) {
        let (m, labels) = (self.m, self.label_of.get(rows.clone()).unwrap_or(&[]));
        let cells = |row: &Row| &self.rows.cells[row.cells as usize];
        let rows = self.rows.rows[rows].iter();
        let computation = |row: &Row| -> ComputationId { m.computation_of(row.instruction) };
        match column.source {
            Source::Elsewhere => rows.for_each(|_| each(Value::Null)),
            Source::Module => rows.for_each(|_| each(Value::Text(m.name()))),
            Source::Computation => rows.for_each(|row| each(Value::Text(m.computation_name(computation(row))))),
            Source::TripCount => rows.for_each(|row| each(int(self.rows.trip_counts[computation(row) as usize]))),
            Source::Instruction => rows.for_each(|row| each(Value::Text(m.instruction_name(row.instruction)))),
            Source::OperandName => {
                rows.for_each(|row| each(row.operand.map_or(Value::Null, |id| Value::Text(m.instruction_name(id)))))
            }
            Source::Opcode => rows.for_each(|row| each(Value::Text(m.opcode_name(cells(row).opcode_of)))),
            Source::Origin(value) => labels.iter().for_each(|&label| each(value(self, &self.labels[label as usize]))),
            Source::Cells(value) => rows.for_each(|row| each(value(cells(row)))),
        }
    }
}
