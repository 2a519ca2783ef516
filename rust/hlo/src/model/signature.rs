//! Signatures: keys that are equal only for instructions whose rules must give equal results.
//!
//! A signature covers the opcode, the shapes of the result and of the operands with their layouts, every semantic
//! attribute, the fingerprints of called computations, and the earlier steps of an asynchronous one that binds more. It
//! excludes names, metadata, sharding, and backend hints; a [`Read`](crate::Read) names anything else that a rule
//! reads. Only the content counts: `slice={[1:2]}` and `slice={[1:2:1]}`, or 3.1415927 and 3.14159274, are equal. Equal
//! signatures of different instructions require a collision of two independent 64-bit hashes.

use cancel::{once, poll};
use std::fmt::Write;

use layout::{with_layout, Shape};
use smallvec::SmallVec;

use crate::attribute::schema::{self, Form};
use crate::attribute::Value;
use crate::model::canonical::{named, plain};
use crate::model::literal::{self, LiteralValue};
use crate::model::module::{Attribute, ComputationId, InstructionId, Module, UNKNOWN_KEY};
use crate::Opcode;

/// A signature, a fingerprint, or a key of reads.
pub type Key = [u8; 16];

impl Module {
    /// The signature of an instruction.
    pub fn signature(&self, id: InstructionId) -> Key {
        let mut h = Hash::default();
        self.hash_shape(&mut h, id);
        self.hash_operation(&mut h, id, &|c| self.fingerprint(c));
        for operand in self.operands(id) {
            self.hash_shape(&mut h, operand);
        }
        if self.binds_late(id) {
            // The start has the operation; all steps have operands.
            for step in self.async_steps(id) {
                self.hash_operation(&mut h, step, &|c| self.fingerprint(c));
                self.operands(step).for_each(|operand| self.hash_shape(&mut h, operand));
            }
        }
        h.finish()
    }

    /// Whether the signature covers the steps of an asynchronous operation before this one.
    pub fn signature_covers_steps(&self, id: InstructionId) -> bool {
        self.binds_late(id)
    }

    /// A hash of the signature and of the values of some operands, if they are constants or iotas.
    pub fn signature_with_values(&self, id: InstructionId, operands: &[usize]) -> Key {
        let mut h = Hash::default();
        h.bytes(&self.signature(id));
        for &k in operands {
            h.word(k as u64);
            match self.operand(id, k) {
                Some(operand) => self.hash_value(&mut h, operand),
                None => h.word(u64::MAX),
            }
        }
        h.finish()
    }

    /// A signature for operations whose rules depend on sizes alone: the name of the group of operations, and the sizes
    /// of the result and of the operands. `None` unless all of these are arrays.
    pub fn sizes_signature(&self, id: InstructionId, together: &str) -> Option<[u8; 16]> {
        let mut h = Hash::default();
        h.text(together);
        for value in std::iter::once(id).chain(self.operands(id)) {
            let dims = self.shape(value).as_array()?.dims();
            h.word(dims.len() as u64);
            dims.iter().for_each(|&n| h.word(n as u64));
        }
        Some(h.finish())
    }

    /// Whether an attribute of this name is a part of what an instruction computes, rather than an annotation or a hint.
    pub fn is_semantic(&self, id: InstructionId, name: &str) -> bool {
        let opcode = self.instructions()[id as usize].opcode;
        schema::key(name.as_bytes()).is_none_or(|key| schema::is_semantic(key, opcode))
    }

    /// Hashes everything but shapes and operands; `callee` gives the fingerprint of a called computation.
    fn hash_operation(&self, h: &mut Hash, id: InstructionId, callee: &dyn Fn(ComputationId) -> [u8; 16]) {
        let opcode = self.instructions()[id as usize].opcode;
        h.text(self.opcode_name(id));
        h.word(u64::from(self.has_unnamed_operands(id)));
        h.word(u64::from(self.parameter_number(id).unwrap_or(u32::MAX)));
        let semantic =
            self.attributes(id).iter().filter(|a| a.key >= UNKNOWN_KEY || schema::is_semantic(a.key, opcode));
        let mut attributes: SmallVec<[(&str, &Attribute, Value<'_>); 8]> = semantic
            .map(|a| {
                let (name, value) = named(self, a, Some(id));
                (name, a, value)
            })
            .collect();
        if attributes.len() > 1 {
            attributes.sort_by_key(|a| a.0);
        }
        for (name, a, value) in attributes {
            match (a.form, value) {
                (Form::Computation | Form::Computations, _) => {
                    h.text(name);
                    self.list(a.link).iter().for_each(|&c| h.bytes(&callee(c)));
                }
                // Text that hlomap does not decode may mean anything; even space counts.
                (_, Value::Raw(text)) => [name, text].iter().for_each(|text| h.text(text)),
                (_, Value::Text(text)) if !text.is_empty() => {
                    [name, text.as_ref()].iter().for_each(|text| h.text(text))
                }
                (_, value) => {
                    if let Some(text) = plain(name, Some(opcode), value) {
                        [name, text.as_str()].iter().for_each(|text| h.text(text));
                    }
                }
            }
        }
        h.word(u64::MAX);
    }

    /// Hashes the value of a constant or an iota; a fixed value for every other operation.
    pub(crate) fn hash_value(&self, h: &mut Hash, id: InstructionId) {
        match self.instructions()[id as usize].opcode {
            Opcode::Constant => {
                h.word(1);
                self.hash_literal(h, id);
            }
            Opcode::Iota => {
                h.word(2);
                self.hash_shape(h, id);
                self.hash_operation(h, id, &|c| self.fingerprint(c));
            }
            _ => h.word(0),
        }
    }

    /// Hashes an instruction: its shape, all of its operation, the number of operands, and the value of a constant.
    pub(crate) fn hash_content(&self, h: &mut Hash, id: InstructionId) {
        self.hash_shape(h, id);
        self.hash_operation(h, id, &|c| self.fingerprint(c));
        h.word(self.operands(id).len() as u64);
        self.hash_literal(h, id);
    }

    /// Hashes the value of a constant, however its numbers are spelled; its text if the value cannot be decoded.
    fn hash_literal(&self, h: &mut Hash, id: InstructionId) {
        let Some(text) = self.literal_text(id) else { return };
        let shape = self.shape(id);
        match literal::decode_written(text, shape) {
            Some(value) => hash_value(h, &value),
            None => h.text(text),
        }
        if shape.as_array().is_some_and(|a| (0..a.rank()).any(|dim| a.is_dynamic(dim))) {
            match literal::sizes(text, shape) {
                Some(sizes) => sizes.iter().for_each(|&n| h.word(n as u64)),
                None => h.text(text),
            }
        }
    }

    /// Hashes the shape of a value. Instructions share shapes, so each shape is printed once.
    fn hash_shape(&self, h: &mut Hash, id: InstructionId) {
        let row = &self.instructions()[id as usize];
        // XLA gives each constant a layout.
        if row.opcode == Opcode::Constant && self.shape(id).as_array().is_some_and(|a| a.layout().is_none()) {
            return shape_hash(&with_layout(self.shape(id))).iter().for_each(|&w| h.word(w));
        }
        let hashes = once(&self.shape_hashes, || self.shapes.iter().map(shape_hash).collect());
        hashes[self.instructions()[id as usize].shape as usize].iter().for_each(|&w| h.word(w));
    }

    /// The fingerprint of a computation, independent of names.
    pub fn fingerprint(&self, id: ComputationId) -> [u8; 16] {
        let fingerprints = once(&self.fingerprints, || {
            let mut all = vec![[0; 16]; self.computations().len()];
            for c in self.callees_first() {
                all[c as usize] = self.computation_fingerprint(c, &all);
            }
            all
        });
        fingerprints[id as usize]
    }

    fn computation_fingerprint(&self, id: ComputationId, known: &[[u8; 16]]) -> [u8; 16] {
        let mut h = Hash::default();
        let range = self.instructions_of(id);
        h.word(u64::from(self.root(id).wrapping_sub(range.start)));
        for i in range.clone() {
            poll();
            self.hash_shape(&mut h, i);
            self.hash_operation(&mut h, i, &|c| known[c as usize]);
            self.hash_literal(&mut h, i);
            for operand in self.operands(i) {
                h.word(u64::from(operand - range.start));
            }
            for operand in self.hidden_operands(i) {
                h.word(u64::from(operand - range.start));
            }
            h.word(u64::MAX);
        }
        h.finish()
    }
}

/// Hashes a value; zeros at the end of an array may be left out.
fn hash_value(h: &mut Hash, value: &LiteralValue) {
    match value {
        LiteralValue::Array(bytes) => {
            let n_zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
            h.bytes(&bytes[..bytes.len() - n_zeros]);
        }
        LiteralValue::Tuple(parts) => {
            h.word(parts.len() as u64);
            parts.iter().for_each(|part| hash_value(h, part));
        }
    }
}

/// The printed form of a shape is complete: it parses to an equal shape.
fn shape_hash(shape: &Shape) -> [u64; 2] {
    let mut h = Hash::default();
    if write!(h, "{shape}").is_err() {
        debug_assert!(false, "hashing text never fails");
    }
    h.words()
}

/// Two independent 64-bit hashes, each by folded multiplication.
pub(crate) struct Hash {
    a: u64,
    b: u64,
    length: u64,
}

impl Default for Hash {
    fn default() -> Hash {
        Hash { a: 0x243f_6a88_85a3_08d3, b: 0x1319_8a2e_0370_7344, length: 0 }
    }
}

impl Hash {
    pub(crate) fn word(&mut self, w: u64) {
        self.length += 1;
        self.a = fold(self.a ^ w, 0x9e37_79b9_7f4a_7c15).wrapping_add(w);
        self.b = fold(self.b.rotate_left(23) ^ w, 0xd6e8_feb8_6659_fd93).wrapping_sub(w.rotate_left(32));
    }

    /// Hashes bytes preceded by their length, so that the boundaries between consecutive texts count.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.word(chunk.try_into().map_or(0, u64::from_le_bytes));
        }
        if !chunks.remainder().is_empty() {
            let mut word = [0; 8];
            word[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
            self.word(u64::from_le_bytes(word));
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn words(mut self) -> [u64; 2] {
        let length = self.length;
        self.word(length);
        self.word(0x5851_f42d_4c95_7f2d);
        [self.a, self.b]
    }

    pub(crate) fn finish(self) -> [u8; 16] {
        let [a, b] = self.words();
        (u128::from(a) << 64 | u128::from(b)).to_le_bytes()
    }
}

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.text(text);
        Ok(())
    }
}

fn fold(a: u64, k: u64) -> u64 {
    let product = u128::from(a) * u128::from(k);
    (product as u64) ^ (product >> 64) as u64
}
