//! The columns of the table of a module: the one definition of their names, types and meanings, and their values.
//!
//! A [`View`] gives the values of a column, each once, and the rows that have them; [`crate::arrow`] writes all
//! columns. Columns computed elsewhere (`Source::Elsewhere`) are null here.

use std::borrow::Cow;
use std::cell::OnceCell;

use cancel::poll;
use flow::reads::{Reads, Text};
use flow::work::Arithmetic;
use hlo::{InstructionId, Metadata, Module, Opcode};
use rustc_hash::FxHashMap;

use crate::rows::{Answer, Operand, Output, Row, Rows};
use crate::tuning::{ITEMS_OF_A_STEP, MAX_FRAMES};

flow::named! {
    /// The type of a column.
    Kind {
        /// UTF-8.
        Text = "text";
        /// A list of [`Kind::Text`].
        Texts = "texts";
        /// A truth value.
        Bool = "bool";
        /// 64 bits, signed.
        Int = "int";
        /// A list of [`Kind::Int`].
        Ints = "ints";
        /// A double.
        Float = "float";
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
    /// The meaning of the values, their unit, and when they are null.
    pub description: &'static str,
    source: Source,
}

/// Rows that follow each other and have the same value.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The position of the value in [`View::values`].
    pub key: u32,
    /// The number of rows, at least 1.
    pub n: u32,
}

/// The part of a row that determines a column: rows with the same part share the value.
#[derive(Clone, Copy, Debug)]
enum Source {
    Module,
    Instruction(for<'v> fn(&'v View<'_>, InstructionId) -> Value<'v>),
    Origin(for<'v> fn(&'v View<'_>, &'v Label<'_>) -> Value<'v>),
    OperandName,
    Output(for<'v> fn(&'v Output) -> Value<'v>),
    Operand(for<'v> fn(&'v Operand) -> Value<'v>),
    Answer(for<'v> fn(&'v Answer) -> Value<'v>),
    Reads(for<'v> fn(&'v Reads) -> Value<'v>),
    Arithmetic(for<'v> fn(&'v Arithmetic) -> Value<'v>),
    Elsewhere,
}

/// The columns as a table: for each its meaning, then its name, type and the part of a row with the value.
macro_rules! columns {
    ($($(#[doc = $line:literal])+ $name:ident: $kind:ident = $source:ident $(($value:expr))?;)*) => {
        /// All columns, in order.
        pub const COLUMNS: &[Column] = &[$(Column {
            name: stringify!($name),
            kind: Kind::$kind,
            description: concat!($($line),+).trim_ascii_start(),
            source: Source::$source $(($value))?,
        }),*];
    };
}

columns! {
    /// Name of the module.
    module: Text = Module;
    /// Name and id of the program in a trace, such as `jit_f(17)`; null for a module of another file.
    program: Text = Instruction(|view, _| text(view.m.program_title()));
    /// Name of the computation that contains the instruction.
    computation: Text = Instruction(|view, id| Value::Text(view.m.computation_name(view.m.computation_of(id))));
    /// Iterations of the `while` loops around the instruction, multiplied; 1 outside loops. A condition runs once more
    /// than its body; a branch of a conditional counts as taken. Null if a count is unknown or exceeds 64 bits, or if
    /// the callers of the computation differ in it.
    trip_count: Int = Instruction(|view, id| int(view.rows.trip_counts[view.m.computation_of(id) as usize]));
    /// Name of the instruction that the row describes.
    instruction: Text = Instruction(|view, id| Value::Text(view.m.instruction_name(id)));
    /// Opcode of the instruction.
    opcode: Text = Instruction(|view, id| Value::Text(view.m.opcode_name(id)));
    /// `kind` of a fusion; null for other opcodes.
    fusion_kind: Text = Origin(|_, l| text(l.fusion_kind));
    /// Target of a custom call; null for other opcodes.
    custom_call_target: Text = Origin(|_, l| text(l.custom_call_target.as_deref()));
    /// Operation of the source program, from the instruction's metadata; null without one.
    op_name: Text = Origin(|_, l| text(l.origin.op_name.as_deref()));
    /// Source file of that operation, inline or from the innermost stack frame; null without one.
    source_file: Text = Origin(|_, l| text(l.origin.source_file.as_deref()));
    /// Line in the source file, counted from 1; null without one.
    source_line: Int = Origin(|_, l| int(l.origin.source_line));
    /// Stack frames of the operation, innermost first, as `file:line:column in function`; at most 100. Null if the
    /// module has no frame for it.
    stack: Texts = Origin(|view, l| {
        l.origin.stack_frame_id.and_then(|id| view.stacks.get(&id)).map_or(Value::Null, |s| Value::Texts(s))
    });
    /// Number of the output, as `hm.output_to_input` takes it; for a tuple-shaped output, the first entry of the shape
    /// index.
    output: Int = Output(|o| Value::Int(o.index.first().map_or(0, |&i| i64::from(i))));
    /// Shape index of the array within the output; empty if the output is not a tuple.
    output_index: Ints = Output(|o| Value::Ints(&o.index));
    /// Shape of that array, with its layout.
    output_shape: Text = Output(|o| Value::Text(&o.shape));
    /// Size in bytes of that array as it is stored, without padding; null if it is unbounded or exceeds 64 bits.
    output_bytes: Int = Output(|o| int(o.bytes));
    /// Number of the operand; null if the text names no operands.
    operand: Int = Operand(|o| Value::Int(i64::from(o.number)));
    /// Shape index of the array within the operand; empty if the operand is not a tuple.
    operand_index: Ints = Operand(|o| Value::Ints(&o.index));
    /// Name of the operand; null if the text names no operands.
    operand_name: Text = OperandName;
    /// Shape of the array within the operand, with its layout.
    operand_shape: Text = Operand(|o| Value::Text(&o.shape));
    /// Number of maps.
    n_maps: Int = Reads(|r| Value::Int(r.union.texts.len() as i64));
    /// Indexing maps whose union is the set of operand elements that an output element reads.
    maps: Texts = Reads(|r| Value::Texts(&r.union.texts));
    /// True if this union contains exactly the elements that the operation reads by definition; false if it may contain
    /// more.
    exact: Bool = Reads(|r| Value::Bool(r.exact));
    /// True if each output element has the position in memory of the operand element that it reads, so that no byte
    /// moves, as `hm.is_bitcast` decides; null if that is undecided or a value is not an array.
    is_bitcast: Bool = Answer(|a| a.is_bitcast.map_or(Value::Null, Value::Bool));
    /// Number of `floordiv` and `mod` nodes in all maps, a measure of the cost of the index arithmetic.
    divmod: Int = Reads(|r| Value::Int(r.union.counts.divmod));
    /// Lower bound on the number of reads needed to compute the whole output; an element read twice counts twice.
    reads_lower: Int = Reads(|r| Value::Int(r.touched.0));
    /// Upper bound on the number of reads; null if unknown.
    reads_upper: Int = Reads(|r| int(r.touched.1));
    /// Lower bound on the number of distinct operand elements read.
    distinct_elements_lower: Int = Reads(|r| Value::Int(r.distinct.0));
    /// Upper bound on the number of distinct operand elements read; null if unknown.
    distinct_elements_upper: Int = Reads(|r| int(r.distinct.1));
    /// Reads per distinct element, `reads / distinct_elements`; null unless both are known exactly, and if nothing is read.
    reuse: Float = Reads(|r| r.reuse().map_or(Value::Null, Value::Float));
    /// Size in bytes of `distinct_elements_upper` elements as they are stored; sub-byte elements count as packed if the
    /// layout packs them. Null if unknown.
    distinct_bytes: Int = Reads(|r| int(r.bytes));
    /// Size in bytes of `reads_upper` elements: what moves if no cache keeps an element after its first read. Null if
    /// unknown.
    read_bytes: Int = Reads(|r| int(r.read_bytes));
    /// Arithmetic operations of the instruction, as `hm.cost` counts them, on each of its rows; null if unknown, and
    /// for calls, loops and conditionals.
    flops: Int = Arithmetic(|a| int(a.flops));
    /// Functions such as exp that the instruction evaluates, on each of its rows; null as for `flops`.
    transcendentals: Int = Arithmetic(|a| int(a.transcendentals));
    /// Operations that the instruction evaluates for each one that is needed, above 1 if a fusion computes an element
    /// for each of its uses; null if unknown.
    recomputed: Float = Arithmetic(|a| a.recomputed.map_or(Value::Null, Value::Float));
    /// Sharding that the module gives to the output; null without one.
    sharding: Text = Elsewhere;
    /// Sharding that the module gives to the operand; null without one.
    operand_sharding: Text = Elsewhere;
    /// Bytes of the operand that devices read and do not hold, at most, all outputs together; null if the output has
    /// no sharding, unless the module is after propagation.
    remote_bytes: Int = Elsewhere;
    /// Reason why the maps of this pair are unknown; null if they are known.
    unknown: Text = Reads(|r| text(r.unknown.as_deref()));
    /// Error message; null without an error. A file that cannot be read yields one row with its error.
    error: Text = Answer(|a| text(a.reads.as_ref().err().map(|message| &**message)));
}

fn text(text: Option<&str>) -> Value<'_> {
    text.map_or(Value::Null, Value::Text)
}

fn int<'v>(n: Option<i64>) -> Value<'v> {
    n.map_or(Value::Null, Value::Int)
}

/// Facts about an instruction from its text.
struct Label<'m> {
    origin: Metadata<'m>,
    fusion_kind: Option<&'m str>,
    custom_call_target: Option<Cow<'m, str>>,
}

impl<'m> Label<'m> {
    fn of(m: &'m Module, id: InstructionId) -> Label<'m> {
        let opcode = m.instructions()[id as usize].opcode;
        let of = |owner: Opcode, name: &str| if opcode == owner { m.attribute(id, name) } else { None };
        let target = of(Opcode::CustomCall, "custom_call_target").and_then(|a| match m.value(a, None) {
            hlo::Value::Text(text) => Some(text),
            _ => None,
        });
        let kind = of(Opcode::Fusion, "kind");
        let fusion_kind = kind.map(|a| m.attribute_text(a));
        Label { origin: m.metadata(id), fusion_kind, custom_call_target: target }
    }
}

/// The rows of a module, seen by column.
pub struct View<'m> {
    m: &'m Module,
    rows: &'m Rows,
    /// By part of a row, its runs.
    runs: [OnceCell<Vec<Run>>; 7],
    instructions: Vec<InstructionId>,
    /// The labels of `instructions`, if a column needs them.
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
        let mut instructions = in_steps(&rows.rows, |row| row.instruction);
        instructions.dedup();
        let (runs, labels, stacks) = Default::default();
        let mut view = View { m, rows, runs, instructions, labels, stacks };
        if columns.iter().any(|c| matches!(c.source, Source::Origin(_))) {
            view.read_labels();
        }
        view
    }

    fn read_labels(&mut self) {
        for &id in &self.instructions {
            poll();
            let label = Label::of(self.m, id);
            if let Some(id) = label.origin.stack_frame_id {
                if let std::collections::hash_map::Entry::Vacant(free) = self.stacks.entry(id) {
                    let frames: Vec<Text> =
                        self.m.stack(id).take(MAX_FRAMES).map(|f| Text::from(f.to_string())).collect();
                    if !frames.is_empty() {
                        free.insert(frames);
                    }
                }
            }
            self.labels.push(label);
        }
    }

    /// An upper bound on the bytes of a column, found without reading the rows.
    pub fn most_bytes(m: &Module, rows: &Rows) -> u64 {
        // Names, origins and frames are parts of the text; a frame also has two numbers.
        let label = (m.text_length() as u64 + 64) * if m.has_stacks() { MAX_FRAMES as u64 } else { 1 };
        let answer = |answer: &Answer| match &answer.reads {
            Ok(reads) => {
                let maps: u64 = reads.union.texts.iter().map(|text| text.len() as u64 + 8).sum();
                maps.max(reads.unknown.as_ref().map_or(0, |reason| reason.len() as u64))
            }
            Err(message) => message.len() as u64,
        };
        let longest = rows.answers.iter().map(answer).max().unwrap_or(0);
        let shapes = rows.outputs.iter().map(|o| 8 * o.index.len() + o.shape.len());
        let shapes = shapes.chain(rows.operands.iter().flatten().map(|o| 8 * o.index.len() + o.shape.len()));
        let longest = longest.max(shapes.max().unwrap_or(0) as u64).max(label);
        longest.saturating_mul(rows.rows.len() as u64)
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.rows.rows.len()
    }

    /// All rows, by value.
    pub fn runs(&self, column: &Column) -> &[Run] {
        let cells = |row: &Row| &self.rows.cells[row.cells as usize];
        match column.source {
            Source::Module | Source::Elsewhere => self.runs_of(0, |_| 0),
            Source::Instruction(_) | Source::Origin(_) => {
                let (mut last, mut number) = (self.instructions.first(), 0);
                self.runs_of(1, |row| {
                    if last != Some(&row.instruction) {
                        (last, number) = (Some(&row.instruction), number + 1);
                    }
                    number
                })
            }
            Source::OperandName => {
                let none = self.m.instructions().len() as u32;
                self.runs_of(2, |row| row.operand.unwrap_or(none))
            }
            Source::Output(_) => self.runs_of(3, |row| cells(row).output),
            Source::Operand(_) => self.runs_of(4, |row| cells(row).operand),
            Source::Answer(_) | Source::Reads(_) => self.runs_of(5, |row| cells(row).answer),
            Source::Arithmetic(_) => self.runs_of(6, |row| cells(row).arithmetic),
        }
    }

    fn runs_of<'v>(&'v self, part: usize, mut key: impl FnMut(&'v Row) -> u32) -> &'v [Run] {
        self.runs[part].get_or_init(|| {
            let mut runs: Vec<Run> = Vec::new();
            for step in self.rows.rows.chunks(ITEMS_OF_A_STEP) {
                poll();
                for key in step.iter().map(&mut key) {
                    match runs.last_mut() {
                        Some(run) if run.key == key => run.n += 1,
                        _ => runs.push(Run { key, n: 1 }),
                    }
                }
            }
            runs
        })
    }

    /// The values of a column.
    pub fn values(&self, column: &Column) -> Vec<Value<'_>> {
        match column.source {
            Source::Elsewhere => vec![Value::Null],
            Source::Module => vec![Value::Text(self.m.name())],
            Source::Instruction(value) => in_steps(&self.instructions, |&id| value(self, id)),
            Source::Origin(value) => in_steps(&self.labels, |label| value(self, label)),
            Source::OperandName => {
                let names = (0..self.m.instructions().len() as InstructionId)
                    .map(|id| Value::Text(self.m.instruction_name(id)));
                names.chain([Value::Null]).collect()
            }
            Source::Output(value) => in_steps(&self.rows.outputs, value),
            Source::Operand(value) => {
                in_steps(&self.rows.operands, |operand| operand.as_ref().map_or(Value::Null, value))
            }
            Source::Answer(value) => in_steps(&self.rows.answers, value),
            Source::Arithmetic(value) => in_steps(&self.rows.arithmetic, value),
            Source::Reads(value) => {
                in_steps(&self.rows.answers, |answer| answer.reads.as_ref().map_or(Value::Null, value))
            }
        }
    }
}

fn in_steps<'v, T, U>(items: &'v [T], mut each: impl FnMut(&'v T) -> U) -> Vec<U> {
    let mut found = Vec::with_capacity(items.len());
    for step in items.chunks(ITEMS_OF_A_STEP) {
        poll();
        found.extend(step.iter().map(&mut each));
    }
    found
}
