//! Strings of bytes that many messages share: `Payload` holds one, or its index in the list of the module.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::wire::{bad, Encoder, Field, Message, Payload, Wire};

/// The field of `HloModuleProto` that lists the payloads.
const LIST: u32 = 22;

/// The payloads of a module that is read.
#[derive(Default)]
pub(crate) struct Payloads<'a>(Vec<&'a [u8]>);

impl<'a> Payloads<'a> {
    pub fn new(module: Message<'a>) -> Payloads<'a> {
        let bytes = |f: Field<'a>| match f.payload {
            Payload::Bytes(bytes) => bytes,
            _ => &[],
        };
        Payloads(module.fields().filter(|f| f.number == LIST).map(bytes).collect())
    }

    /// The bytes of a `Payload`.
    pub fn of(&self, m: Message<'a>) -> Wire<&'a [u8]> {
        // The last of several alternatives counts.
        match m.fields().filter(|f| f.number <= 2).last().map(|f| (f.number, f.payload)) {
            Some((1, Payload::Bytes(bytes))) => Ok(bytes),
            Some((2, Payload::Varint(id))) => match usize::try_from(id).ok().and_then(|id| self.0.get(id)) {
                Some(bytes) => Ok(bytes),
                None => bad(m.at, format!("payload id {}, of {} payloads of the module", id as i64, self.0.len())),
            },
            _ => Ok(&[]),
        }
    }
}

/// The payloads of a module that is written, in the order of their first use.
#[derive(Default)]
pub(crate) struct WrittenPayloads(RefCell<FxHashMap<Vec<u8>, i64>>);

impl WrittenPayloads {
    /// The index of these bytes.
    pub fn id(&self, bytes: &[u8]) -> i64 {
        let mut ids = self.0.borrow_mut();
        let n = ids.len() as i64;
        *ids.entry(bytes.to_vec()).or_insert(n)
    }

    pub fn write(&self, d: &mut Encoder) {
        let ids = self.0.borrow();
        let mut all: Vec<(&Vec<u8>, i64)> = ids.iter().map(|(bytes, &id)| (bytes, id)).collect();
        all.sort_unstable_by_key(|row| row.1);
        all.iter().for_each(|(bytes, _)| d.data(LIST, bytes));
    }
}
