//! The rows of the table of a module: the elements of each operand that every instruction outside fused computations
//! reads.
//!
//! Instructions with equal signatures share their cells, which are computed once; cells refer to parts, and few parts
//! are distinct, however many rows a wide tuple has. Cells that depend on a runtime source belong to one instruction.

use std::ops::Range;
use std::sync::Arc;

use cancel::poll;
use flow::indexing::{Direction, InstructionIndexing, OperandIndexing};
use flow::query::{Query, Questions, Signature, Subject};
use flow::reads::{self, Reads, Text, Union};
use flow::shapes::{self, ShapeIndex};
use flow::sources::repeats_operands;
use flow::work::Arithmetic;
use hlo::{ComputationId, InstructionId, Module};
use layout::Shape;
use rustc_hash::FxHashMap;

use crate::arithmetic::Counter;
use crate::bitcasts::is_bitcast;
use crate::rules::CostRules;
use crate::trip_counts;
use crate::tuning::{MAX_ROWS, MAX_SHAPE_TEXT};

/// A row: an instruction, one of its operands, and the number of the cells.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The instruction.
    pub instruction: InstructionId,
    /// The operand, if the text names its operands.
    pub operand: Option<InstructionId>,
    /// The position of the cells in [`Rows::cells`].
    pub cells: u32,
}

/// The columns of a row that do not depend on names: the positions of their parts in [`Rows`].
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    /// The position in [`Rows::outputs`].
    pub output: u32,
    /// The position in [`Rows::operands`].
    pub operand: u32,
    /// The position in [`Rows::answers`].
    pub answer: u32,
    /// The position in [`Rows::arithmetic`].
    pub arithmetic: u32,
}

/// An array or token in an output.
#[derive(Clone, Debug)]
pub struct Output {
    /// The shape index in the output.
    pub index: ShapeIndex,
    /// The text of its shape.
    pub shape: Text,
    /// The bytes that it takes in memory.
    pub bytes: Option<i64>,
}

/// An array or token in an operand, with the number of the operand.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The number of the operand.
    pub number: u32,
    /// The shape index in the operand.
    pub index: ShapeIndex,
    /// The text of its shape.
    pub shape: Text,
}

/// An output's reads of an operand.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The elements that are read, or the message of an error.
    pub reads: Result<Reads, Text>,
    /// Whether every element of the output has the position of the operand element that it reads.
    pub is_bitcast: Option<bool>,
}

/// The rows of a module, their cells, and the distinct parts of these.
#[derive(Debug, Default)]
pub struct Rows {
    /// In text order.
    pub rows: Vec<Row>,
    /// The cells, once for all instructions with equal signatures.
    pub cells: Vec<Cells>,
    /// The distinct outputs.
    pub outputs: Vec<Output>,
    /// The distinct operands; `None` if the text names none, and in a row about several.
    pub operands: Vec<Option<Operand>>,
    /// The distinct answers.
    pub answers: Vec<Answer>,
    /// By computation, the iterations of the loops around it.
    pub trip_counts: Vec<Option<i64>>,
    /// The arithmetic of the instructions with cells of their own.
    pub arithmetic: Vec<Arithmetic>,
}

/// The rows of a module; the propagator is one [of all outputs](flow::Propagator::of_all). `message` turns an error into the text of a row, or returns it to end the analysis.
pub fn analyze<P: CostRules>(
    counter: &Counter<'_, P>,
    message: &dyn Fn(P::Error) -> Result<String, P::Error>,
) -> Result<Rows, P::Error> {
    let questions = counter.questions;
    let m = questions.m;
    let mut known: FxHashMap<u32, (u32, u32)> = FxHashMap::default();
    debug_assert!(questions.propagator.asks_for_all(), "a propagator of all outputs");
    let mut builder = CellBuilder {
        counter,
        questions,
        message,
        found: Rows::default(),
        nothing: Arc::default(),
        shapes: Shapes::default(),
        outputs: FxHashMap::default(),
        operands: FxHashMap::default(),
        answers: FxHashMap::default(),
    };
    for computation in 0..m.computations().len() as ComputationId {
        if m.is_fusion(computation) {
            continue;
        }
        for id in m.instructions_of(computation) {
            poll();
            let start = builder.found.cells.len() as u32;
            let range = if m.operands(id).len() > 0 {
                let number = questions.signature(id)?.number;
                match known.get(&number) {
                    Some(&range) => range,
                    None => {
                        let is_shared = builder.instruction(id)?;
                        let range = (start, builder.found.cells.len() as u32);
                        if is_shared {
                            known.insert(questions.signature(id)?.number, range);
                        }
                        range
                    }
                }
            } else if let Some(reason) = m.unnamed_operands(id) {
                builder.count(id)?;
                builder.unnamed(id, reason);
                (start, start + 1)
            } else {
                continue;
            };
            builder.found.add_rows(m, id, range);
        }
    }
    let trip_counts = trip_counts::of_computations(questions);
    Ok(Rows { trip_counts, ..builder.found })
}

impl Rows {
    /// The answer in a row.
    pub fn answer(&self, row: &Row) -> &Answer {
        &self.answers[self.cells[row.cells as usize].answer as usize]
    }

    fn add_rows(&mut self, m: &Module, id: InstructionId, (start, end): (u32, u32)) {
        let number = |c: u32| self.operands[self.cells[c as usize].operand as usize].as_ref().map(|o| o.number);
        let operand = |cells: u32| m.operand(id, number(cells)? as usize);
        self.rows.extend((start..end).map(|cells| Row { instruction: id, operand: operand(cells), cells }));
    }
}

type ErrorText<'a, E> = dyn Fn(E) -> Result<String, E> + 'a;

/// The distinct shapes of a module, with their texts.
#[derive(Default)]
struct Shapes<'m> {
    texts: Vec<Text>,
    by_value: FxHashMap<&'m Shape, u32>,
    /// Numbers by address, since hashing a wide tuple at each use would take long.
    by_address: FxHashMap<*const Shape, u32>,
}

impl<'m> Shapes<'m> {
    fn number(&mut self, shape: &'m Shape) -> u32 {
        let Shapes { texts, by_value, by_address } = self;
        *by_address.entry(std::ptr::from_ref(shape)).or_insert_with(|| {
            *by_value.entry(shape).or_insert_with(|| {
                let text = shape.to_string();
                texts.push(match text.char_indices().nth(MAX_SHAPE_TEXT) {
                    Some((end, _)) => format!("{}...", &text[..end]).into(),
                    None => text.into(),
                });
                texts.len() as u32 - 1
            })
        })
    }
}

/// The origin of the reads of an answer: a union and whether it is exact, or the text of a reason or an error. The
/// answer keeps it alive, so that its address stays unique.
#[derive(PartialEq, Eq, Hash)]
enum Origin {
    Union(*const Union, bool),
    Text(*const u8),
}

/// An array or token in an operand, with the number of the operand.
type Place<'a> = (u32, ShapeIndex, &'a Shape);

struct CellBuilder<'a, P: CostRules> {
    counter: &'a Counter<'a, P>,
    questions: &'a Questions<'a, P>,
    message: &'a ErrorText<'a, P::Error>,
    found: Rows,
    /// The union of no maps.
    nothing: Arc<Union>,
    shapes: Shapes<'a>,
    outputs: FxHashMap<(ShapeIndex, u32), u32>,
    operands: FxHashMap<Option<(u32, ShapeIndex, u32)>, u32>,
    answers: FxHashMap<(Origin, Option<u32>, Option<bool>), u32>,
}

impl<'a, P: CostRules> CellBuilder<'a, P> {
    /// Builds the cells of an instruction. Returns whether all instructions with its signature share them.
    fn instruction(&mut self, id: InstructionId) -> Result<bool, P::Error> {
        let (m, n_before) = (self.questions.m, self.found.cells.len());
        let Signature { traits, inlined, .. } = self.questions.signature(id)?;
        self.count(id)?;
        let mut is_shared = true;
        // Each of n outputs may leave nearly all of n operands unread.
        let mut unread: Vec<Option<Cells>> = Vec::new();
        // Many outputs of a loop or a conditional may have the indexing of the one before.
        let mut last: Option<(Arc<InstructionIndexing>, Range<usize>)> = None;
        for (output, shape) in shapes::leaves(m.shape(id)) {
            poll();
            let number = self.output(&output, shape);
            if self.found.cells.len() - n_before > MAX_ROWS {
                let i = output.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
                let comma = if output.len() == 1 { "," } else { "" };
                let left_out = format!("outputs from ({i}{comma}) on are left out");
                let error = format!("UnsupportedError: too many outputs and operands, {left_out}");
                self.push_text(number, None, None, &error.into(), Err);
                return Ok(is_shared);
            }
            let (subject, direction) = (Subject::Instruction(id), Direction::Backward);
            let indexing = match self.questions.query(&Query { subject, direction, index: output.clone() }) {
                Ok(indexing) => indexing,
                Err(error) => {
                    let error = Text::from((self.message)(error)?);
                    is_shared = false;
                    for (k, operand) in m.operands(id).enumerate() {
                        let place = (k as u32, ShapeIndex::new(), m.shape(operand));
                        self.push_text(number, Some(place), None, &error, Err);
                    }
                    continue;
                }
            };
            is_shared = is_shared && !indexing.has_runtime;
            let start = self.found.cells.len();
            if let Some((_, same)) = last.as_ref().filter(|(before, _)| before.parts == indexing.parts) {
                self.found.cells.extend_from_within(same.clone());
                self.found.cells[start..].iter_mut().for_each(|cells| cells.output = number);
                continue;
            }
            // Each output of a tuple of N values reads one operand; the other N * N - N rows would be empty.
            if traits.structural && !output.is_empty() {
                for (at, &(k, _)) in indexing.parts.iter().enumerate() {
                    self.operand(id, number, None, k, &indexing, Some(at));
                }
            } else {
                let whole = Some(shape).filter(|_| output.is_empty());
                let mut places = vec![None; m.operands(id).len()];
                for (at, &(k, _)) in indexing.parts.iter().enumerate() {
                    if let Some(place) = places.get_mut(k as usize) {
                        *place = Some(at);
                    }
                }
                unread.resize(places.len(), None);
                for ((k, at), known) in (0..).zip(places).zip(&mut unread) {
                    match known.filter(|_| at.is_none()) {
                        Some(cells) => self.found.cells.push(Cells { output: number, ..cells }),
                        None => self.operand(id, number, whole, k, &indexing, at),
                    }
                    *known = known.or(self.found.cells.last().copied().filter(|_| at.is_none()));
                }
            }
            last = Some((indexing, start..self.found.cells.len()));
        }
        Ok(is_shared && !(inlined.is_some() && repeats_operands(m, id)))
    }

    /// Counts the arithmetic of an instruction, for its cells, which follow.
    fn count(&mut self, id: InstructionId) -> Result<(), P::Error> {
        let found = self.counter.arithmetic(id);
        let found = found.or_else(|error| (self.message)(error).map(|_| Arithmetic::default()))?;
        self.found.arithmetic.push(found);
        Ok(())
    }

    /// The rows of an output and operand k, which is part `at` of the indexing. `whole` is the shape of an output that
    /// is not a tuple.
    fn operand(
        &mut self,
        id: InstructionId,
        output: u32,
        whole: Option<&Shape>,
        k: u32,
        indexing: &InstructionIndexing,
        at: Option<usize>,
    ) {
        let Some(operand) = self.questions.m.operand(id, k as usize) else { return };
        let shape = self.questions.m.shape(operand);
        let stays = whole.and_then(|whole| is_bitcast(indexing, at, whole, shape));
        let place = (k, ShapeIndex::new(), shape);
        let (leaves, exact) = match at.map(|at| (at, &indexing.parts[at].1)) {
            Some((_, OperandIndexing::Unknown(reason))) => {
                let all = || reads::total(shapes::leaves(shape).into_iter().map(|(_, s)| s));
                return self.push_text(output, Some(place), stays, reason, |reason| Ok(reads::unknown(reason, all())));
            }
            Some((at, OperandIndexing::Known(footprint))) => (&indexing.unions()[at][..], footprint.exact),
            None => (&[][..], true),
        };
        let mut is_read = false;
        for (leaf, union) in leaves {
            poll();
            // A token has no elements to count.
            let Some(inner) = shapes::at(shape, leaf).filter(|inner| !shapes::is_indivisible(inner)) else { continue };
            is_read = true;
            self.push_union(output, (k, leaf.clone(), inner), stays, union, exact);
        }
        if !is_read {
            let nothing = self.nothing.clone();
            self.push_union(output, place, stays, &nothing, exact);
        }
    }

    fn unnamed(&mut self, id: InstructionId, reason: &str) {
        let output = self.output(&ShapeIndex::new(), self.questions.m.shape(id));
        let reads = |reason| Ok(reads::unknown(reason, (u128::MAX, u128::MAX)));
        self.push_text(output, None, None, &reason.into(), reads);
    }

    fn output(&mut self, index: &ShapeIndex, shape: &'a Shape) -> u32 {
        let (number, known) = (self.shapes.number(shape), &mut self.found.outputs);
        *self.outputs.entry((index.clone(), number)).or_insert_with(|| {
            let shape_text = self.shapes.texts[number as usize].clone();
            known.push(Output { index: index.clone(), shape: shape_text, bytes: reads::n_bytes(shape) });
            known.len() as u32 - 1
        })
    }

    fn push_union(&mut self, output: u32, place: Place<'a>, is_bitcast: Option<bool>, union: &Arc<Union>, exact: bool) {
        let shape = place.2;
        let origin = Origin::Union(Arc::as_ptr(union), exact);
        self.push(output, Some(place), is_bitcast, origin, || Ok(union.of(shape, exact)));
    }

    fn push_text(
        &mut self,
        output: u32,
        place: Option<Place<'a>>,
        is_bitcast: Option<bool>,
        text: &Text,
        reads: impl FnOnce(Text) -> Result<Reads, Text>,
    ) {
        self.push(output, place, is_bitcast, Origin::Text(text.as_ptr()), || reads(text.clone()));
    }

    fn push(
        &mut self,
        output: u32,
        place: Option<Place<'a>>,
        is_bitcast: Option<bool>,
        origin: Origin,
        reads: impl FnOnce() -> Result<Reads, Text>,
    ) {
        let Rows { cells, operands, answers, arithmetic, .. } = &mut self.found;
        let place = place.map(|(k, leaf, shape)| (k, leaf, self.shapes.number(shape)));
        let answer = *self.answers.entry((origin, place.as_ref().map(|p| p.2), is_bitcast)).or_insert_with(|| {
            answers.push(Answer { reads: reads(), is_bitcast });
            answers.len() as u32 - 1
        });
        let operand = *self.operands.entry(place).or_insert_with_key(|place| {
            operands.push(place.as_ref().map(|&(number, ref index, shape)| {
                let shape = self.shapes.texts[shape as usize].clone();
                Operand { number, index: index.clone(), shape }
            }));
            operands.len() as u32 - 1
        });
        cells.push(Cells { output, operand, answer, arithmetic: arithmetic.len() as u32 - 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::Counted;
    use flow::indexing::Footprint;
    use flow::provider::{Key, RuleProvider, RuleTraits};
    use flow::query::Propagator;
    use quasiaffine::{Domain, Map};

    /// Calls, and elementwise operations on vectors of three elements.
    struct Rules<'m>(&'m Module);

    impl RuleProvider for Rules<'_> {
        type Error = String;

        fn traits(&self, id: InstructionId) -> Result<Arc<RuleTraits>, String> {
            let inlines = self.0.opcode_name(id) == "call";
            Ok(Arc::new(RuleTraits { inlines, follows_tokens: inlines, ..RuleTraits::default() }))
        }

        fn rule(
            &self,
            id: InstructionId,
            _: Option<&Key>,
            index: &ShapeIndex,
            _: Direction,
        ) -> Result<Arc<InstructionIndexing>, String> {
            let map = Map::identity(Domain::of_sizes(&[3])).map_err(|e| e.to_string())?;
            let part = |k| {
                let maps = vec![(ShapeIndex::new(), map.clone())];
                (k, OperandIndexing::Known(Footprint { maps, ..Footprint::default() }))
            };
            // Each output of a tuple is one of its operands.
            let operands = index.first().map_or(0..self.0.operands(id).len() as u32, |&i| i..i + 1);
            Ok(Arc::new(InstructionIndexing::new(&[3], operands.map(part).collect())))
        }

        fn mismatch(&self, message: &'static str) -> String {
            message.into()
        }
    }

    impl CostRules for Rules<'_> {}

    /// A call with n outputs and n operands has n * n rows, but few parts.
    #[test]
    fn wide_calls_share_their_cells() {
        let n = 20;
        let list = |each: &dyn Fn(usize) -> String| (0..n).map(each).collect::<Vec<_>>().join(", ");
        let lines = |each: &dyn Fn(usize) -> String| (0..n).map(each).collect::<Vec<_>>().join("\n");
        let parameters = lines(&|k| format!("p{k} = f32[3] parameter({k})"));
        let text = format!(
            "HloModule m\nf {{ {parameters}\n{}\nROOT t = ({}) tuple({}) }}\nENTRY e {{ {parameters}\nROOT c = ({}) call({}), to_apply=f }}",
            lines(&|k| format!("a{k} = f32[3] add(p{k}, p{})", (k + 1) % n)),
            list(&|_| "f32[3]".into()),
            list(&|k| format!("a{k}")),
            list(&|_| "f32[3]".into()),
            list(&|k| format!("p{k}")),
        );
        let m = hlo::parse(&text, None, false).unwrap().swap_remove(0);
        let (propagator, counted) = (Propagator::of_all(), Counted::default());
        let questions = Questions { propagator: &propagator, m: &m, rules: &Rules(&m) };
        let counter = Counter { questions: &questions, counted: &counted };
        let found = analyze(&counter, &Ok).unwrap();
        let c = m.find_instruction("c", None).unwrap();
        assert_eq!(found.rows.iter().filter(|row| row.instruction == c).count(), n * n);
        let reads = found.rows.iter().filter(|row| matches!(&found.answer(row).reads, Ok(r) if r.touched.0 == 3));
        assert_eq!(reads.filter(|row| row.instruction == c).count(), 2 * n);
        assert!(found.outputs.len() <= n + 1 && found.operands.len() <= n && found.answers.len() <= 3 * n);
    }
}
