//! The table of a module as an Arrow record batch: one message of Arrow's IPC format, in one buffer.
//!
//! Readers of Arrow take such a message without copies, so that a table crosses into another library in one call,
//! however many columns it has. The message has no schema; that of the columns is known to both. Source: the Arrow
//! columnar format and its flatbuffers `Message.fbs` and `Schema.fbs`, metadata version 5.

use quasiaffine::interrupt::poll;

use crate::columns::{Kind, Value, View, COLUMNS};

/// A column has this many bytes of text, or list items: more than its 32-bit offsets can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong(pub u64);

/// The values that are written in one step.
const ROWS_OF_A_STEP: usize = 1 << 10;

/// Rows with all columns, in order, of any number of modules.
#[derive(Debug)]
pub struct Batch {
    columns: Vec<Array>,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch { columns: COLUMNS.iter().map(|c| Array::new(c.kind)).collect() }
    }
}

impl Batch {
    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.columns[0].n
    }

    /// The bytes of all columns.
    pub fn n_bytes(&self) -> usize {
        self.columns.iter().map(Array::n_bytes).sum()
    }

    /// Appends the rows of all views, or none where that fails or is interrupted.
    ///
    /// # Errors
    /// A column becomes too long.
    pub fn append(&mut self, views: &[View<'_>]) -> Result<(), TooLong> {
        let mut undo = Undo { n_rows: self.n_rows(), batch: self, is_done: false };
        for (column, array) in COLUMNS.iter().zip(&mut undo.batch.columns) {
            for view in views {
                let (values, keys) = (view.values(column), view.keys(column));
                array.expect_texts(&values, &keys)?;
                for step in keys.chunks(ROWS_OF_A_STEP) {
                    poll();
                    array.append(&values, step)?;
                }
            }
        }
        undo.is_done = true;
        Ok(())
    }

    /// The message: a mark, the size of the head, the head and the body. The head is the flatbuffer
    /// `Message { version, header: RecordBatch { length, nodes, buffers }, bodyLength }`; its numbers are little-endian.
    pub fn into_message(self) -> Vec<u8> {
        let mut body = Body::default();
        self.columns.iter().for_each(|array| body.measure(array));
        let (n_nodes, n_buffers) = (body.nodes.len() as u32, body.buffers.len() as u32);
        let mut head = Head::default();
        head.u32(16); // the position of the message
        head.u16s(&[12, 20, 16, 18, 4, 8]); // sizes of this list and of the message; version, type, header, body length
        head.u32(12); // back to the list
        head.u32(56 - head.at()); // to the record batch
        head.i64(body.n_bytes as i64);
        head.u16s(&[4, 3, 0, 0]); // version 5; a record batch
        head.u16s(&[10, 20, 8, 4, 16, 0, 0, 0]); // sizes of this list and of the record batch; length, nodes, buffers
        head.u32(16); // back to the list
        head.u32(76 - head.at()); // to the nodes
        head.i64(self.n_rows() as i64);
        head.u32(84 + 16 * n_nodes - head.at()); // to the buffers
        head.u32(n_nodes);
        body.nodes.iter().flatten().for_each(|&n| head.i64(n));
        head.u32(0);
        head.u32(n_buffers);
        body.buffers.iter().flatten().for_each(|&n| head.i64(n));
        let mut message = Vec::with_capacity(8 + head.0.len() + body.n_bytes);
        message.extend_from_slice(&u32::MAX.to_le_bytes());
        message.extend_from_slice(&head.at().to_le_bytes());
        message.extend_from_slice(&head.0);
        // Each column is freed when it is copied, so that the message alone takes memory in the end.
        for array in self.columns {
            array.for_each_buffer(&mut |bytes| {
                message.extend_from_slice(bytes);
                message.resize(message.len().next_multiple_of(8), 0);
            });
        }
        message
    }
}

/// Takes back what an append has added, unless it is done.
struct Undo<'b> {
    batch: &'b mut Batch,
    n_rows: usize,
    is_done: bool,
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.batch.columns.iter_mut().for_each(|array| array.truncate(self.n_rows));
        }
    }
}

/// The buffers of a column, or of the items of a list.
#[derive(Debug)]
struct Array {
    kind: Kind,
    n: usize,
    n_nulls: usize,
    /// A bit for each value, from the first null on; the first bit of a byte is the least significant.
    valid: Vec<u8>,
    /// The start of each text or list behind those before it, and the end of the last.
    offsets: Vec<u8>,
    /// Numbers of 64 bits, bits, or text.
    data: Vec<u8>,
    /// Those of lists.
    items: Option<Box<Array>>,
}

impl Array {
    fn new(kind: Kind) -> Array {
        let item = match kind {
            Kind::Texts => Some(Kind::Text),
            Kind::Ints => Some(Kind::Int),
            _ => None,
        };
        let has_offsets = item.is_some() || kind == Kind::Text;
        let offsets = if has_offsets { 0i32.to_ne_bytes().to_vec() } else { Vec::new() };
        let items = item.map(|kind| Box::new(Array::new(kind)));
        Array { kind, n: 0, n_nulls: 0, valid: Vec::new(), offsets, data: Vec::new(), items }
    }

    /// Appends the value of each key.
    fn append(&mut self, values: &[Value<'_>], keys: &[u32]) -> Result<(), TooLong> {
        self.append_validity(values, keys);
        let n = self.n;
        self.n += keys.len();
        let value = |&key: &u32| values[key as usize];
        match self.kind {
            Kind::Bool => append_bits(&mut self.data, n, keys, |key| matches!(value(key), Value::Bool(true))),
            Kind::Int | Kind::Float => append_words(&mut self.data, keys, |key| match value(key) {
                Value::Int(i) => i.to_ne_bytes(),
                Value::Float(x) => x.to_ne_bytes(),
                _ => [0; 8],
            }),
            Kind::Text => {
                for key in keys {
                    if let Value::Text(text) = value(key) {
                        self.data.extend_from_slice(text.as_bytes());
                    }
                    append_offset(&mut self.offsets, self.data.len())?;
                }
            }
            Kind::Ints | Kind::Texts => {
                let Some(items) = &mut self.items else { return Ok(()) };
                for key in keys {
                    match value(key) {
                        Value::Ints(list) => {
                            items.n += list.len();
                            append_words(&mut items.data, list, |&i| i64::from(i).to_ne_bytes());
                        }
                        Value::Texts(list) => {
                            items.n += list.len();
                            for text in list {
                                items.data.extend_from_slice(text.as_bytes());
                                append_offset(&mut items.offsets, items.data.len())?;
                            }
                        }
                        _ => {}
                    }
                    append_offset(&mut self.offsets, items.n)?;
                }
            }
        }
        Ok(())
    }

    /// Makes room for the texts of all keys before any of them is copied.
    fn expect_texts(&mut self, values: &[Value<'_>], keys: &[u32]) -> Result<(), TooLong> {
        let texts = match (self.kind, &mut self.items) {
            (Kind::Text, _) => &mut self.data,
            (Kind::Texts, Some(items)) => &mut items.data,
            _ => return Ok(()),
        };
        let length = |value: &Value<'_>| match value {
            Value::Text(text) => text.len(),
            Value::Texts(list) => list.iter().map(|text| text.len()).sum(),
            _ => 0,
        };
        let lengths: Vec<usize> = values.iter().map(length).collect();
        let n: usize = keys.iter().map(|&key| lengths[key as usize]).sum();
        let end = texts.len() as u64 + n as u64;
        if end > i32::MAX as u64 {
            return Err(TooLong(end));
        }
        texts.reserve(n);
        Ok(())
    }

    fn append_validity(&mut self, values: &[Value<'_>], keys: &[u32]) {
        let is_valid = |&key: &u32| !matches!(values[key as usize], Value::Null);
        let n_nulls = keys.iter().filter(|key| !is_valid(key)).count();
        if n_nulls > 0 && self.valid.is_empty() {
            self.valid = vec![u8::MAX; self.n.div_ceil(8)];
            truncate_bits(&mut self.valid, self.n);
        }
        if n_nulls > 0 || !self.valid.is_empty() {
            append_bits(&mut self.valid, self.n, keys, is_valid);
        }
        self.n_nulls += n_nulls;
    }

    fn truncate(&mut self, n: usize) {
        let valid = |i: usize| self.valid.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1);
        if !self.valid.is_empty() {
            self.n_nulls = (0..n).filter(|&i| !valid(i)).count();
            truncate_bits(&mut self.valid, if self.n_nulls == 0 { 0 } else { n });
        }
        self.n = n;
        if self.offsets.is_empty() {
            match self.kind {
                Kind::Bool => truncate_bits(&mut self.data, n),
                _ => self.data.truncate(8 * n),
            }
            return;
        }
        self.offsets.truncate(4 * (n + 1));
        let end = self.offsets.last_chunk().map_or(0, |end| i32::from_ne_bytes(*end)) as usize;
        match &mut self.items {
            None => self.data.truncate(end),
            Some(items) => items.truncate(end),
        }
    }

    fn n_bytes(&self) -> usize {
        let items = self.items.as_ref().map_or(0, |items| items.n_bytes());
        self.valid.len() + self.offsets.len() + self.data.len() + items
    }

    /// Calls `each` with the buffers, in the order of the message.
    fn for_each_buffer(&self, each: &mut impl FnMut(&[u8])) {
        each(&self.valid);
        if !self.offsets.is_empty() {
            each(&self.offsets);
        }
        match &self.items {
            Some(items) => items.for_each_buffer(each),
            None => each(&self.data),
        }
    }
}

fn append_bits<T>(bits: &mut Vec<u8>, n: usize, items: &[T], bit: impl Fn(&T) -> bool) {
    let mut byte = if n.is_multiple_of(8) { 0 } else { bits.pop().unwrap_or(0) };
    for (i, item) in (n..).zip(items) {
        byte |= u8::from(bit(item)) << (i % 8);
        if i % 8 == 7 {
            bits.push(std::mem::take(&mut byte));
        }
    }
    if !(n + items.len()).is_multiple_of(8) {
        bits.push(byte);
    }
}

/// Keeps the first `n` bits; those behind them are 0.
fn truncate_bits(bits: &mut Vec<u8>, n: usize) {
    bits.truncate(n.div_ceil(8));
    if let Some(last) = bits.last_mut().filter(|_| !n.is_multiple_of(8)) {
        *last &= (1 << (n % 8)) - 1;
    }
}

fn append_words<T>(data: &mut Vec<u8>, values: &[T], word: impl Fn(&T) -> [u8; 8]) {
    let start = data.len();
    data.resize(start + 8 * values.len(), 0);
    let places = data[start..].chunks_exact_mut(8);
    places.zip(values).for_each(|(place, value)| place.copy_from_slice(&word(value)));
}

fn append_offset(offsets: &mut Vec<u8>, end: usize) -> Result<(), TooLong> {
    let end = i32::try_from(end).map_err(|_| TooLong(end as u64))?;
    offsets.extend_from_slice(&end.to_ne_bytes());
    Ok(())
}

/// The head's description of the buffers, which lie one behind the other, each at a multiple of 8 bytes.
#[derive(Default)]
struct Body {
    /// Length and number of nulls of each array.
    nodes: Vec<[i64; 2]>,
    /// Start and length of each buffer.
    buffers: Vec<[i64; 2]>,
    n_bytes: usize,
}

impl Body {
    fn measure(&mut self, array: &Array) {
        let mut here = Some(array);
        while let Some(array) = here {
            self.nodes.push([array.n as i64, array.n_nulls as i64]);
            here = array.items.as_deref();
        }
        array.for_each_buffer(&mut |bytes| {
            self.buffers.push([self.n_bytes as i64, bytes.len() as i64]);
            self.n_bytes += bytes.len().next_multiple_of(8);
        });
    }
}

#[derive(Default)]
struct Head(Vec<u8>);

impl Head {
    fn at(&self) -> u32 {
        self.0.len() as u32
    }

    fn u16s(&mut self, numbers: &[u16]) {
        numbers.iter().for_each(|n| self.0.extend_from_slice(&n.to_le_bytes()));
    }

    fn u32(&mut self, n: u32) {
        self.0.extend_from_slice(&n.to_le_bytes());
    }

    fn i64(&mut self, n: i64) {
        self.0.extend_from_slice(&n.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexing::Text;

    /// Taking rows back leaves what was there before them, whatever the values are.
    #[test]
    fn truncate_takes_back_an_append() {
        let texts: Vec<Text> = ["", "a", "βγ"].into_iter().map(Text::from).collect();
        let cases: [(Kind, Vec<Value<'_>>); 6] = [
            (Kind::Bool, vec![Value::Bool(true), Value::Null, Value::Bool(false), Value::Bool(true)]),
            (Kind::Int, vec![Value::Int(-1), Value::Int(i64::MAX), Value::Null]),
            (Kind::Float, vec![Value::Float(0.5), Value::Null, Value::Null]),
            (Kind::Text, vec![Value::Text("a"), Value::Null, Value::Text(""), Value::Text("βγ")]),
            (Kind::Ints, vec![Value::Ints(&[1, 2]), Value::Null, Value::Ints(&[]), Value::Ints(&[3])]),
            (Kind::Texts, vec![Value::Texts(&texts), Value::Null, Value::Texts(&texts[1..])]),
        ];
        for (kind, values) in cases {
            for n_kept in 0..=2 * values.len() {
                let keys: Vec<u32> = (0..values.len() as u32).chain(0..values.len() as u32).collect();
                let (mut kept, mut other) = (Array::new(kind), Array::new(kind));
                kept.append(&values, &keys[..n_kept]).unwrap();
                other.append(&values, &keys[..n_kept]).unwrap();
                other.append(&values, &keys[n_kept..]).unwrap();
                other.append(&values, &keys).unwrap();
                other.truncate(n_kept);
                assert_eq!(format!("{other:?}"), format!("{kept:?}"), "{kind:?}, {n_kept} values");
            }
        }
    }
}
