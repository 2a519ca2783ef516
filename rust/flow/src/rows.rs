//! The rows of the table of a module: the elements of each operand that every instruction outside fused computations
//! reads.
//!
//! Read [`analyze`]. Instructions with equal signatures share their cells, which are computed once; a [`Row`] refers to
//! them. Cells that depend on a runtime source belong to one instruction.

use hlo::{ComputationId, InstructionId, Module};
use layout::Shape;
use quasiaffine::interrupt::poll;
use rustc_hash::FxHashMap;

use crate::bitcasts::is_bitcast;
use crate::indexing::{InstructionIndexing, OperandIndexing, ShapeIndex, Text};
use crate::query::{repeats_operands, Direction, Propagator, Query, RuleProvider, Subject};
use crate::reads::{self, Reads, Union};
use crate::shapes;
use crate::trip_counts;

/// The number of rows of one instruction.
const MAX_ROWS: usize = 1 << 20;

/// The number of characters in the text of a shape. Only tuples exceed it.
const MAX_SHAPE_TEXT: usize = 1000;

/// A row: an instruction, one of its operands, and the number of the cells.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The instruction.
    pub instruction: InstructionId,
    /// The operand, where the text names its operands.
    pub operand: Option<InstructionId>,
    /// The position of the cells in [`Rows::cells`].
    pub cells: u32,
}

/// The columns of a row that do not depend on names.
#[derive(Clone, Debug)]
pub struct Cells {
    /// An instruction that has the opcode.
    pub opcode_of: InstructionId,
    /// The array or token in the output.
    pub output: ShapeIndex,
    /// The text of the shape of that array.
    pub output_shape: Option<Text>,
    /// The bytes that it takes in memory.
    pub output_bytes: Option<i64>,
    /// The number of the operand.
    pub operand: Option<u32>,
    /// The array or token in the operand, with its shape.
    pub operand_leaf: Option<(ShapeIndex, Text)>,
    /// The elements that are read; `None` in a row that is an error.
    pub reads: Option<Reads>,
    /// Whether every element of the output has the position of the operand element that it reads.
    pub is_bitcast: Option<bool>,
    /// The message of the error.
    pub error: Option<Text>,
}

/// The rows of a module and their cells.
#[derive(Debug, Default)]
pub struct Rows {
    /// In text order.
    pub rows: Vec<Row>,
    /// The distinct cells.
    pub cells: Vec<Cells>,
    /// By computation, the iterations of the loops around it.
    pub trip_counts: Vec<Option<i64>>,
}

/// The rows of a module. `message` turns an error into the text of a row, or returns it to end the analysis.
pub fn analyze<P: RuleProvider>(
    m: &Module,
    propagator: &Propagator,
    rules: &P,
    message: &dyn Fn(P::Error) -> Result<String, P::Error>,
) -> Result<Rows, P::Error> {
    let mut found = Rows::default();
    let mut known: FxHashMap<u32, (u32, u32)> = FxHashMap::default();
    let mut builder = CellBuilder { m, propagator, rules, message, texts: FxHashMap::default(), cells: Vec::new() };
    for computation in 0..m.computations().len() as ComputationId {
        if m.is_fusion(computation) {
            continue;
        }
        for id in m.instructions_of(computation) {
            poll();
            let (start, end) = if m.operands(id).len() > 0 {
                let number = propagator.signature(m, rules, id)?.number;
                match known.get(&number) {
                    Some(&range) => range,
                    None => {
                        let start = builder.cells.len();
                        let is_shared = builder.instruction(id)?;
                        let range = (start as u32, builder.cells.len() as u32);
                        if is_shared {
                            known.insert(number, range);
                        }
                        range
                    }
                }
            } else if let Some(reason) = m.unnamed_operands(id) {
                builder.unnamed(id, reason);
                (builder.cells.len() as u32 - 1, builder.cells.len() as u32)
            } else {
                continue;
            };
            let operand =
                |cells: u32| builder.cells[cells as usize].operand.and_then(|k| m.operands(id).nth(k as usize));
            found.rows.extend((start..end).map(|cells| Row { instruction: id, operand: operand(cells), cells }));
        }
    }
    found.cells = builder.cells;
    found.trip_counts = trip_counts::of_computations(m, rules)?;
    Ok(found)
}

type ErrorText<'a, E> = dyn Fn(E) -> Result<String, E> + 'a;

struct CellBuilder<'a, P: RuleProvider> {
    m: &'a Module,
    propagator: &'a Propagator,
    rules: &'a P,
    message: &'a ErrorText<'a, P::Error>,
    /// By the address of a shape of the module.
    texts: FxHashMap<*const Shape, Text>,
    cells: Vec<Cells>,
}

impl<P: RuleProvider> CellBuilder<'_, P> {
    /// Builds the cells of an instruction; whether all instructions with its signature share them.
    fn instruction(&mut self, id: InstructionId) -> Result<bool, P::Error> {
        let (m, n_before) = (self.m, self.cells.len());
        let traits = self.propagator.signature(m, self.rules, id)?.traits;
        let mut is_shared = true;
        for (output, shape) in shapes::leaves(m.shape(id)) {
            poll();
            if self.cells.len() - n_before > MAX_ROWS {
                let i = output.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
                let comma = if output.len() == 1 { "," } else { "" };
                let left_out = format!("those from output ({i}{comma}) on are left out");
                let error = format!("UnsupportedError: too many outputs and operands, {left_out}");
                self.push(id, output, None, None, Err(error.into()), None);
                return Ok(is_shared);
            }
            let indexing = match shapes::array_of(shape) {
                None => Ok(Default::default()),
                Some(_) => {
                    let (subject, direction) = (Subject::Instruction(id), Direction::Backward);
                    self.propagator.query(m, self.rules, &Query { subject, direction, index: output.clone() })
                }
            };
            let indexing = match indexing {
                Ok(indexing) => indexing,
                Err(error) => {
                    let error = Text::from((self.message)(error)?);
                    is_shared = false;
                    for (k, operand) in m.operands(id).enumerate() {
                        let leaf = Some((ShapeIndex::new(), self.text(m.shape(operand))));
                        self.push(id, output.clone(), Some(k as u32), leaf, Err(error.clone()), None);
                    }
                    continue;
                }
            };
            is_shared = is_shared && !indexing.has_runtime;
            // Each output of a tuple of N values reads one operand; the other N * N - N rows would be empty.
            if traits.structural && !output.is_empty() {
                for &(k, _) in &indexing.parts {
                    self.operand(id, &output, k, &indexing);
                }
            } else {
                (0..m.operands(id).len() as u32).for_each(|k| self.operand(id, &output, k, &indexing));
            }
        }
        Ok(is_shared && !(traits.per_instruction && repeats_operands(m, id)))
    }

    fn operand(&mut self, id: InstructionId, output: &ShapeIndex, k: u32, indexing: &InstructionIndexing) {
        let Some(operand) = self.m.operands(id).nth(k as usize) else { return };
        let shape = self.m.shape(operand);
        let at = indexing.find(k);
        let stays = if output.is_empty() { is_bitcast(indexing, at, self.m.shape(id), shape) } else { None };
        let (leaves, exact) = match at.map(|at| (at, &indexing.parts[at].1)) {
            Some((_, OperandIndexing::Unknown(reason))) => {
                let all = shapes::leaves(shape);
                let reads = reads::unknown(reason.clone(), all.into_iter().map(|(_, s)| s));
                let leaf = Some((ShapeIndex::new(), self.text(shape)));
                return self.push(id, output.clone(), Some(k), leaf, Ok(reads), stays);
            }
            Some((at, OperandIndexing::Known(footprint))) => (&indexing.unions()[at][..], footprint.exact),
            None => (&[][..], true),
        };
        if leaves.is_empty() {
            let leaf = Some((ShapeIndex::new(), self.text(shape)));
            self.push(id, output.clone(), Some(k), leaf, Ok(Union::new(&[]).of(shape, exact)), stays);
        }
        for (leaf, union) in leaves {
            poll();
            let Some(inner) = shapes::at(shape, leaf) else { continue };
            let text = self.text(inner);
            let reads = Ok(union.of(inner, exact));
            self.push(id, output.clone(), Some(k), Some((leaf.clone(), text)), reads, stays);
        }
    }

    fn unnamed(&mut self, id: InstructionId, reason: &str) {
        let nothing = Union::new(&[]).of(&Shape::Token, false);
        let reads =
            Reads { touched: (0, None), distinct: (0, None), bytes: None, unknown: Some(reason.into()), ..nothing };
        self.push(id, ShapeIndex::new(), None, None, Ok(reads), None);
    }

    fn push(
        &mut self,
        id: InstructionId,
        output: ShapeIndex,
        operand: Option<u32>,
        operand_leaf: Option<(ShapeIndex, Text)>,
        reads: Result<Reads, Text>,
        is_bitcast: Option<bool>,
    ) {
        let shape = shapes::at(self.m.shape(id), &output);
        let (output_shape, output_bytes) = (shape.map(|s| self.text(s)), shape.and_then(reads::n_bytes));
        let (reads, error) = match reads {
            Ok(reads) => (Some(reads), None),
            Err(error) => (None, Some(error)),
        };
        self.cells.push(Cells {
            opcode_of: id,
            output,
            output_shape,
            output_bytes,
            operand,
            operand_leaf,
            reads,
            is_bitcast,
            error,
        });
    }

    fn text(&mut self, shape: &Shape) -> Text {
        let text = self.texts.entry(std::ptr::from_ref(shape)).or_insert_with(|| {
            let text = shape.to_string();
            match text.char_indices().nth(MAX_SHAPE_TEXT) {
                Some((end, _)) => format!("{}...", &text[..end]).into(),
                None => text.into(),
            }
        });
        text.clone()
    }
}
