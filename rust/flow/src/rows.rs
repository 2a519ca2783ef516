//! From a module to its rows: what every instruction outside fused computations reads of each operand.
//!
//! Read [`analyze`]. Instructions whose rules answer equally have equal cells, which are made once: a [`Row`] only says
//! whose cells it has. Cells that show a runtime source belong to one instruction.

use hlo::{ComputationId, InstructionId, Module};
use layout::Shape;
use rustc_hash::FxHashMap;

use crate::indexing::{Answer, Leaf, Part, Text};
use crate::query::{Direction, Pages, Walker};
use crate::reads::{self, Reads, Union};
use crate::shapes;

/// Rows of one instruction.
const MAX_ROWS: usize = 1 << 20;

/// Characters; only tuples get there.
const MAX_SHAPE_TEXT: usize = 1000;

/// A row: an instruction, the operand that it is about, and the number of its cells.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Whose row it is.
    pub instruction: InstructionId,
    /// The operand, where the text names one.
    pub operand: Option<InstructionId>,
    /// Where its cells are.
    pub cells: u32,
}

/// What a row says that does not depend on names.
#[derive(Clone, Debug)]
pub struct Cells {
    /// An instruction with the opcode.
    pub opcode_of: InstructionId,
    /// The leaf of the output.
    pub output: Leaf,
    /// The number of the operand.
    pub operand: Option<u32>,
    /// The leaf of the operand with its shape.
    pub leaf: Option<(Leaf, Text)>,
    /// What is read; nothing in a row that is an error.
    pub reads: Option<Reads>,
    /// What went wrong.
    pub error: Option<Text>,
}

/// The rows of a module, each with its cells.
#[derive(Debug, Default)]
pub struct Rows {
    /// In the order of the text, computation by computation.
    pub rows: Vec<Row>,
    /// Each at least once.
    pub cells: Vec<Cells>,
}

/// The rows of a module; `told` is the text of an error that is a row, and not the end.
pub fn analyze<P: Pages>(
    m: &Module,
    walker: &Walker,
    pages: &P,
    told: &dyn Fn(P::Error) -> Result<String, P::Error>,
) -> Result<Rows, P::Error> {
    let mut found = Rows::default();
    let mut known: FxHashMap<u32, (u32, u32)> = FxHashMap::default();
    let mut maker = Maker { m, walker, pages, told, texts: FxHashMap::default(), cells: Vec::new() };
    for computation in 0..m.computations().len() as ComputationId {
        if m.is_fusion(computation) {
            continue;
        }
        for id in m.instructions_of(computation) {
            let (start, end) = if m.operands(id).len() > 0 {
                let number = walker.named(m, pages, id)?.number;
                match known.get(&number) {
                    Some(&range) => range,
                    None => {
                        let start = maker.cells.len();
                        let is_shared = maker.instruction(id)?;
                        let range = (start as u32, maker.cells.len() as u32);
                        if is_shared {
                            known.insert(number, range);
                        }
                        range
                    }
                }
            } else if m.has_unnamed_operands(id) {
                maker.unnamed(id);
                (maker.cells.len() as u32 - 1, maker.cells.len() as u32)
            } else {
                continue;
            };
            let operand = |cells: u32| maker.cells[cells as usize].operand.and_then(|k| m.operands(id).nth(k as usize));
            found.rows.extend((start..end).map(|cells| Row { instruction: id, operand: operand(cells), cells }));
        }
    }
    found.cells = maker.cells;
    Ok(found)
}

type Told<'a, E> = dyn Fn(E) -> Result<String, E> + 'a;

struct Maker<'a, P: Pages> {
    m: &'a Module,
    walker: &'a Walker,
    pages: &'a P,
    told: &'a Told<'a, P::Error>,
    /// By the place of a shape of the module.
    texts: FxHashMap<*const Shape, Text>,
    cells: Vec<Cells>,
}

impl<P: Pages> Maker<'_, P> {
    /// The cells of an instruction, and whether they are those of all that are like it.
    fn instruction(&mut self, id: InstructionId) -> Result<bool, P::Error> {
        let (m, n_before) = (self.m, self.cells.len());
        let kind = self.walker.named(m, self.pages, id)?.kind;
        let mut is_shared = true;
        for (output, shape) in shapes::leaves(m.shape(id)) {
            if self.cells.len() - n_before > MAX_ROWS {
                let i = output.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
                let comma = if output.len() == 1 { "," } else { "" };
                let left_out = format!("those from output ({i}{comma}) on are left out");
                let error = format!("UnsupportedError: too many outputs and operands, {left_out}");
                self.push(id, output, None, None, None, Some(error.into()));
                return Ok(is_shared);
            }
            let answer = match shape.as_array() {
                None => Ok(Default::default()),
                Some(_) => self.walker.ask(m, self.pages, id, &output, Direction::Backward),
            };
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => {
                    let error = Text::from((self.told)(error)?);
                    is_shared = false;
                    for (k, operand) in m.operands(id).enumerate() {
                        let leaf = Some((Leaf::new(), self.text(m.shape(operand))));
                        self.push(id, output.clone(), Some(k as u32), leaf, None, Some(error.clone()));
                    }
                    continue;
                }
            };
            is_shared = is_shared && !answer.has_runtime;
            // Of N values side by side each output reads one operand; N * N rows would say nothing more.
            if kind.wiring && !output.is_empty() {
                for &(k, _) in &answer.parts {
                    self.operand(id, &output, k, &answer);
                }
            } else {
                (0..m.operands(id).len() as u32).for_each(|k| self.operand(id, &output, k, &answer));
            }
        }
        Ok(is_shared && !(kind.per_instruction && crate::query::repeats_operands(m, id)))
    }

    fn operand(&mut self, id: InstructionId, output: &Leaf, k: u32, answer: &Answer) {
        let Some(operand) = self.m.operands(id).nth(k as usize) else { return };
        let shape = self.m.shape(operand);
        let at = answer.find(k);
        let (leaves, exact) = match at.map(|at| (at, &answer.parts[at].1)) {
            Some((_, Part::Unknown(reason))) => {
                let all = shapes::leaves(shape);
                let reads = reads::unknown(reason.clone(), all.into_iter().map(|(_, s)| s));
                let leaf = Some((Leaf::new(), self.text(shape)));
                return self.push(id, output.clone(), Some(k), leaf, Some(reads), None);
            }
            Some((at, Part::Read(said))) => (&answer.unions()[at][..], said.exact),
            None => (&[][..], true),
        };
        if leaves.is_empty() {
            let leaf = Some((Leaf::new(), self.text(shape)));
            self.push(id, output.clone(), Some(k), leaf, Some(Union::new(&[]).of(shape, exact)), None);
        }
        for (leaf, union) in leaves {
            let Some(inner) = shapes::at(shape, leaf) else { continue };
            let text = self.text(inner);
            let reads = Some(union.of(inner, exact));
            self.push(id, output.clone(), Some(k), Some((leaf.clone(), text)), reads, None);
        }
    }

    fn unnamed(&mut self, id: InstructionId) {
        let nothing = Union::new(&[]).of(&Shape::Token, false);
        let reads = Reads {
            touched: (0, None),
            distinct: (0, None),
            bytes: None,
            unknown: Some("the text names no operands".into()),
            ..nothing
        };
        self.push(id, Leaf::new(), None, None, Some(reads), None);
    }

    fn push(
        &mut self,
        id: InstructionId,
        output: Leaf,
        operand: Option<u32>,
        leaf: Option<(Leaf, Text)>,
        reads: Option<Reads>,
        error: Option<Text>,
    ) {
        self.cells.push(Cells { opcode_of: id, output, operand, leaf, reads, error });
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
