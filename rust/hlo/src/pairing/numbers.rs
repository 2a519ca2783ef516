//! Numbers for values: two instructions with one number compute the same array, in one module or in two.
//!
//! A value is numbered by what its operation computes and by the numbers of its operands. Fusions and calls are looked
//! through. An operation that only moves elements is numbered by the origin of its elements, so that a transpose of a
//! transpose is the value itself. Different numbers prove nothing. [`Numbers::number`] does it; what operations compute
//! is asked of [`Meanings`], once for all instructions with one signature.

use cancel::poll;
use layout::Shape;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::model::module::{ComputationId, InstructionId, Module};
use crate::model::signature::Key;
use crate::tuning::{MAX_NUMBERED, MAX_REPEATS};
use crate::Trait;

/// The number of a value; below 0 if it has none.
pub type Number = i64;

/// No number, as that of an operand that is defined after its user.
const NONE: Number = -1;

/// What counts of instructions with one signature, without operands and the values of constants.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// A number for the function that the operation computes.
    pub meaning: u32,
    /// Whether the value is that of the computation that the instruction calls.
    pub is_container: bool,
    /// Whether it runs the computations that it calls as they are: a call, a loop or a branch.
    pub runs_calls: bool,
    /// Whether it only rearranges the elements of tuples.
    pub is_structural: bool,
    /// The element of a tuple that it takes out.
    pub element: Option<i64>,
}

/// The elements of a value as those of another one.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// Equal for equal maps.
    pub map: u32,
    /// Whether the map is the identity.
    pub is_identity: bool,
    /// Whether the map is too long to go on with.
    pub is_long: bool,
}

/// What operations compute. Each question is about the first instruction with its signature.
pub trait Meanings {
    /// The error that ends the numbering.
    type Error;

    /// The facts about an instruction.
    fn facts(&mut self, m: &Module, id: InstructionId) -> Result<Facts, Self::Error>;

    /// The elements of an instruction with one operand, whose own elements are those of another value by a map with the
    /// number `before`; `None` if they are not those of one value.
    fn moved(&mut self, m: &Module, id: InstructionId, before: Option<u32>) -> Result<Option<Move>, Self::Error>;

    /// A number for the value of a constant; `None` if nothing tells what it is.
    fn literal(&mut self, m: &Module, id: InstructionId) -> Result<Option<u32>, Self::Error>;
}

/// An executed instruction and the number of its value.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The instruction.
    pub id: InstructionId,
    /// The fusion around it.
    pub fusion: Option<InstructionId>,
    /// The number.
    pub number: Number,
    /// Whether the value is that of the computation that the instruction calls.
    pub is_container: bool,
}

/// What is known of a signature.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub facts: Facts,
    /// A number for the opcode.
    pub opcode: u32,
    /// A number for the opcode and the shape without layouts.
    pub kind: u32,
    /// A number for the sizes of an array.
    sizes: Option<u32>,
    pub is_literal: bool,
    pub moves: bool,
    /// Whether every element is that of one operand at the same place.
    pub is_copy: bool,
    /// Whether its kind is too common to identify a value: constants, tuples, parameters, and moves of elements.
    pub is_common: bool,
    is_same: bool,
    varies: bool,
}

/// The values of a module.
#[derive(Debug, Default)]
pub struct Numbered {
    /// The instructions of the entry, and of the fusions, loops and branches below it, in the order in which they run.
    pub values: Vec<Value>,
    /// By instruction, its position in the values.
    positions: Vec<Option<u32>>,
    /// By instruction, the number of its signature where that was asked for.
    signatures: Vec<Option<u32>>,
}

impl Numbered {
    /// The value of an instruction.
    pub fn value(&self, id: InstructionId) -> Option<&Value> {
        self.positions[id as usize].map(|at| &self.values[at as usize])
    }

    /// What the numbering knows of each instruction, with the number of its signature.
    pub(super) fn known(&self, numbers: &Numbers) -> Vec<Option<(u32, Known)>> {
        let known = |&number: &Option<u32>| number.map(|number| (number, numbers.known[number as usize]));
        self.signatures.iter().map(known).collect()
    }

    fn add(&mut self, value: Value) {
        let position = &mut self.positions[value.id as usize];
        if position.is_none() {
            *position = Some(self.values.len() as u32);
            self.values.push(value);
        }
    }
}

/// Where instructions stand: their values, the fusion around them, and their depth in calls. Without values nothing is
/// noted.
struct Place<'a> {
    found: Option<&'a mut Numbered>,
    fusion: Option<InstructionId>,
    depth: u32,
}

type NumberKey = SmallVec<[i64; 8]>;

/// What a key begins with, so that keys of different kinds differ.
#[derive(Clone, Copy)]
enum Of {
    Parameter,
    Operation,
    Moved,
    Place,
    Calls,
    Inside,
}

/// Numbers the values of any number of modules.
#[derive(Debug, Default)]
pub struct Numbers {
    numbers: FxHashMap<NumberKey, Number>,
    signatures: FxHashMap<Key, u32>,
    known: Vec<Known>,
    opcodes: FxHashMap<String, u32>,
    kinds: FxHashMap<(u32, Shape), u32>,
    all_sizes: FxHashMap<Vec<i64>, u32>,
    /// By number, the value whose elements a value has, and the map.
    origins: FxHashMap<Number, (Number, Move)>,
    /// By number, the numbers of the elements of a tuple.
    elements: FxHashMap<Number, SmallVec<[Number; 4]>>,
    sizes: FxHashMap<Number, u32>,
    composed: FxHashMap<(u32, Option<u32>), Option<Move>>,
    n_modules: u32,
    /// The instructions that may still be numbered in this module.
    budget: i64,
}

/// A module that is numbered: what is the same at all depths of calls.
struct Walk<'a, M> {
    numbers: &'a mut Numbers,
    m: &'a Module,
    meanings: &'a mut M,
    module: u32,
}

impl Numbers {
    /// The values of a module: the instructions of its entry and of the fusions, loops and branches below it.
    ///
    /// # Errors
    /// Those of the meanings.
    pub fn number<M: Meanings>(&mut self, m: &Module, meanings: &mut M) -> Result<Numbered, M::Error> {
        self.n_modules += 1;
        let module = self.n_modules;
        let n = m.instructions().len();
        self.budget = n as i64 + MAX_REPEATS;
        let mut found = Numbered { values: Vec::new(), positions: vec![None; n], signatures: vec![None; n] };
        let mut place = Place { found: Some(&mut found), fusion: None, depth: 0 };
        Walk { numbers: self, m, meanings, module }.computation(m.entry(), None, &mut place)?;
        Ok(found)
    }

    /// An array of a value with this number: equal for equal arrays; `None` if nothing identifies it.
    pub fn array(&self, mut number: Number, index: &[usize]) -> Option<(Number, Vec<usize>)> {
        for (at, &k) in index.iter().enumerate() {
            match self.elements.get(&number).and_then(|elements| elements.get(k)) {
                Some(&element) => number = element,
                None => return (number >= 0).then(|| (number, index[at..].to_vec())),
            }
        }
        (number >= 0).then(|| (number, Vec::new()))
    }

    /// What is known of an instruction, with the number of its signature.
    pub(super) fn known<M: Meanings>(
        &mut self,
        m: &Module,
        id: InstructionId,
        meanings: &mut M,
    ) -> Result<(u32, Known), M::Error> {
        let signature = m.signature(id);
        if let Some(&number) = self.signatures.get(&signature) {
            return Ok((number, self.known[number as usize]));
        }
        let facts = meanings.facts(m, id)?;
        let next = self.opcodes.len() as u32;
        let opcode = *self.opcodes.entry(m.opcode_name(id).to_owned()).or_insert(next);
        let shape = m.shape(id);
        let next = self.kinds.len() as u32;
        let kind = *self.kinds.entry((opcode, shape.without_layout().into_owned())).or_insert(next);
        let next = self.all_sizes.len() as u32;
        let sizes = shape.as_array().map(|a| *self.all_sizes.entry(a.dims().to_vec()).or_insert(next));
        let (n_operands, has) = (m.operands(id).len(), |t| m.has_trait(id, t));
        let (moves, varies) = (has(Trait::MOVES), has(Trait::VARIES));
        let known = Known {
            facts,
            opcode,
            kind,
            sizes,
            is_literal: has(Trait::LITERAL),
            moves,
            is_copy: moves && has(Trait::ELEMENTWISE) && n_operands == 1,
            is_common: n_operands == 0 && !varies || moves || facts.is_structural,
            is_same: has(Trait::SAME) && n_operands == 1,
            varies: varies || m.has_unnamed_operands(id),
        };
        let number = self.known.len() as u32;
        self.known.push(known);
        self.signatures.insert(signature, number);
        Ok((number, known))
    }

    fn key(&mut self, of: Of, parts: impl IntoIterator<Item = i64>) -> Number {
        let key: NumberKey = std::iter::once(of as i64).chain(parts).collect();
        let next = self.numbers.len() as Number;
        *self.numbers.entry(key).or_insert(next)
    }
}

impl<M: Meanings> Walk<'_, M> {
    /// Numbers the instructions in the order of the text, and returns the number of the root.
    ///
    /// An instruction of a computation that is called again keeps the number of the first call.
    fn computation(
        &mut self,
        computation: ComputationId,
        arguments: Option<&[Number]>,
        place: &mut Place<'_>,
    ) -> Result<Number, M::Error> {
        let m = self.m;
        let ids = m.instructions_of(computation);
        self.numbers.budget -= ids.len() as i64;
        let first = ids.start;
        let mut numbers = vec![NONE; ids.len()];
        for id in ids {
            poll();
            let (signature, known) = self.numbers.known(m, id, self.meanings)?;
            if let Some(found) = &mut place.found {
                found.signatures[id as usize] = Some(signature);
            }
            let argument = |k: u32| arguments.and_then(|all| all.get(k as usize)).copied();
            let number = match m.parameter_number(id) {
                None => {
                    let operands: SmallVec<[Number; 4]> =
                        m.operands(id).map(|operand| numbers[(operand - first) as usize]).collect();
                    self.value(id, signature, &known, &operands, place)?
                }
                Some(k) => match argument(k) {
                    Some(number) => {
                        numbers[(id - first) as usize] = number;
                        continue;
                    }
                    None => self.numbers.key(Of::Parameter, [i64::from(k), i64::from(known.kind)]),
                },
            };
            if let Some(sizes) = known.sizes {
                self.numbers.sizes.entry(number).or_insert(sizes);
            }
            numbers[(id - first) as usize] = number;
            if let Some(found) = &mut place.found {
                found.add(Value { id, fusion: place.fusion, number, is_container: known.facts.is_container });
            }
        }
        Ok(numbers[(m.root(computation) - first) as usize])
    }

    fn value(
        &mut self,
        id: InstructionId,
        signature: u32,
        known: &Known,
        operands: &[Number],
        place: &mut Place<'_>,
    ) -> Result<Number, M::Error> {
        let (m, Facts { is_container, runs_calls, is_structural, element, .. }) = (self.m, known.facts);
        let called: SmallVec<[ComputationId; 2]> = m.called_computations(id).collect();
        let n_called: usize = called.iter().map(|&c| m.instructions_of(c).len()).sum();
        let enters = place.depth < MAX_NUMBERED && n_called as i64 <= self.numbers.budget;
        let depth = place.depth + 1;
        if let Some(&first) = called.first().filter(|_| is_container && enters) {
            let fusion = place.fusion.or(Some(id).filter(|_| m.is_fusion(first)));
            let found = place.found.as_deref_mut();
            return self.computation(first, Some(operands), &mut Place { found, fusion, depth });
        }
        if known.is_same {
            return Ok(operands[0]);
        }
        if !called.is_empty() && runs_calls {
            if enters {
                let found = place.found.as_deref_mut();
                let mut inner = Place { found, fusion: place.fusion, depth };
                return self.caller(known.opcode, &called, operands, &mut inner);
            }
            return self.operation(id, known, operands);
        }
        if let Some((element, &tuple)) = element.zip(operands.first()) {
            let elements = self.numbers.elements.get(&tuple);
            let taken = elements.and_then(|elements| elements.get(usize::try_from(element).ok()?));
            if let Some(&number) = taken {
                return Ok(number);
            }
        }
        let moved = if known.moves { self.moved(id, signature, known, operands)? } else { None };
        let number = match moved {
            Some(number) => number,
            None => self.operation(id, known, operands)?,
        };
        if is_structural && element.is_none() {
            self.numbers.elements.insert(number, operands.into());
        }
        Ok(number)
    }

    fn operation(&mut self, id: InstructionId, known: &Known, operands: &[Number]) -> Result<Number, M::Error> {
        let itself = [1, i64::from(self.module), i64::from(id)];
        let own = if known.varies || operands.contains(&NONE) {
            itself
        } else if known.is_literal {
            self.meanings.literal(self.m, id)?.map_or(itself, |literal| [2, i64::from(literal), 0])
        } else {
            [0; 3]
        };
        let meaning = i64::from(known.facts.meaning);
        let parts = std::iter::once(meaning).chain(own).chain(operands.iter().copied());
        Ok(self.numbers.key(Of::Operation, parts))
    }

    /// The number of a loop or branch, from its operation, its operands and the results of its computations.
    ///
    /// The parameters of the computations are numbered twice: first by position, which gives the numbers of the roots;
    /// then specifically for this loop, so that values of different loops differ.
    fn caller(
        &mut self,
        opcode: u32,
        called: &[ComputationId],
        operands: &[Number],
        inner: &mut Place<'_>,
    ) -> Result<Number, M::Error> {
        let m = self.m;
        let n_parameters = |c: ComputationId| 0..m.parameters(c).len() as i64;
        let mut parts: Vec<i64> = vec![i64::from(opcode), operands.len() as i64];
        parts.extend(operands);
        for &c in called {
            let places: Vec<Number> = n_parameters(c).map(|k| self.numbers.key(Of::Place, [k])).collect();
            let mut apart = Place { found: None, fusion: None, depth: inner.depth };
            parts.push(self.computation(c, Some(&places), &mut apart)?);
        }
        let own = self.numbers.key(Of::Calls, parts);
        for (position, &c) in (0..).zip(called) {
            let inside = |k| [own, position, k];
            let arguments: Vec<Number> = n_parameters(c).map(|k| self.numbers.key(Of::Inside, inside(k))).collect();
            self.computation(c, Some(&arguments), inner)?;
        }
        Ok(own)
    }

    /// The number of a value whose elements are those of another; `None` if it is not one exact map.
    fn moved(
        &mut self,
        id: InstructionId,
        signature: u32,
        known: &Known,
        operands: &[Number],
    ) -> Result<Option<Number>, M::Error> {
        let (&[operand], Some(sizes)) = (operands, known.sizes) else { return Ok(None) };
        let (base, before) = match self.numbers.origins.get(&operand) {
            Some((base, before)) => (*base, Some(before.map)),
            None => (operand, None),
        };
        let known_move = self.numbers.composed.get(&(signature, before)).copied();
        let found = match known_move {
            Some(found) => found,
            None => {
                let found = self.meanings.moved(self.m, id, before)?;
                self.numbers.composed.insert((signature, before), found);
                found
            }
        };
        let Some(found) = found else { return Ok(None) };
        if found.is_identity && self.numbers.sizes.get(&base) == Some(&sizes) {
            return Ok(Some(base));
        }
        if found.is_long {
            return Ok(None);
        }
        let number = self.numbers.key(Of::Moved, [base, i64::from(sizes), i64::from(found.map)]);
        self.numbers.origins.entry(number).or_insert((base, found));
        Ok(Some(number))
    }
}
