//! The table of a module as an Arrow record batch: one message of Arrow's IPC format, in one buffer.
//!
//! Read [`record_batch`]. Readers of Arrow take such a message without copies, so that a table crosses into another
//! library in one call, however many columns it has. The message has no schema; that of the columns is known to both.
//! Source: the Arrow columnar format and its flatbuffers `Message.fbs` and `Schema.fbs`, metadata version 5.

use quasiaffine::interrupt::poll;

use crate::columns::{Kind, Value, View, COLUMNS};

/// A column has this many bytes of text, or list items: more than its 32-bit offsets can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong(pub u64);

/// The values that are written between two [polls](poll): less than the work of one step.
const ROWS_OF_A_STEP: usize = 64;

/// The rows of a view with all columns, in order.
///
/// # Errors
/// A column is too long.
pub fn record_batch(view: &View<'_>) -> Result<Vec<u8>, TooLong> {
    let mut body = Body::new();
    let mut values = Vec::with_capacity(view.len());
    for column in &COLUMNS {
        values.clear();
        for start in (0..view.len()).step_by(ROWS_OF_A_STEP) {
            poll();
            view.for_each(column, start..view.len().min(start + ROWS_OF_A_STEP), |value| values.push(value));
        }
        body.column(column.kind, &values)?;
    }
    Ok(body.into_message(view.len()))
}

/// The buffers of a record batch, one behind the other, each at a multiple of 8 bytes.
struct Body {
    /// The message so far: room for the mark and the head, then the buffers.
    bytes: Vec<u8>,
    /// Where the buffers begin.
    start: usize,
    /// Length and number of nulls of each array: a column, or the items of a list.
    nodes: Vec<[i64; 2]>,
    /// Start and length of each buffer.
    buffers: Vec<[i64; 2]>,
}

impl Body {
    fn new() -> Body {
        let (n_nodes, n_buffers) =
            COLUMNS.iter().map(|c| arrays_and_buffers(c.kind)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let start = PREFIX + HEAD + 16 * (n_nodes + n_buffers);
        Body {
            bytes: vec![0; start],
            start,
            nodes: Vec::with_capacity(n_nodes),
            buffers: Vec::with_capacity(n_buffers),
        }
    }

    fn column(&mut self, kind: Kind, values: &[Value<'_>]) -> Result<(), TooLong> {
        self.node(values.iter().map(|value| !matches!(value, Value::Null)));
        match kind {
            Kind::Bool => self.bits(values.iter().map(|value| matches!(value, Value::Bool(true)))),
            Kind::Int => self.words(values, |value| if let Value::Int(n) = value { n.to_ne_bytes() } else { [0; 8] }),
            Kind::Float => {
                self.words(values, |value| if let Value::Float(x) = value { x.to_ne_bytes() } else { [0; 8] });
            }
            Kind::Text => self.texts(values, |value| if let Value::Text(text) = value { text } else { "" })?,
            Kind::Ints => {
                let ints = |value: &Value<'_>| if let Value::Ints(ints) = value { ints.len() } else { 0 };
                self.offsets(values.iter().map(ints))?;
                let items: Vec<u32> =
                    values.iter().flat_map(|v| if let Value::Ints(i) = v { i } else { &[][..] }).copied().collect();
                self.node(items.iter().map(|_| true));
                self.words(&items, |&i| i64::from(i).to_ne_bytes());
            }
            Kind::Texts => {
                let texts = |value: &Value<'_>| if let Value::Texts(texts) = value { texts.len() } else { 0 };
                self.offsets(values.iter().map(texts))?;
                let items: Vec<&str> = values
                    .iter()
                    .flat_map(|v| if let Value::Texts(t) = v { t } else { &[][..] })
                    .map(|t| &**t)
                    .collect();
                self.node(items.iter().map(|_| true));
                self.texts(&items, |text| text)?;
            }
        }
        Ok(())
    }

    /// The entry of an array, and the buffer that says which values are valid; it is empty if all are.
    fn node(&mut self, valid: impl ExactSizeIterator<Item = bool> + Clone) {
        let n = valid.len();
        let n_nulls = valid.clone().filter(|v| !v).count();
        self.nodes.push([n as i64, n_nulls as i64]);
        if n_nulls == 0 {
            self.buffers.push([(self.bytes.len() - self.start) as i64, 0]);
        } else {
            self.bits(valid);
        }
    }

    /// The first bit of a byte is the least significant.
    fn bits(&mut self, bits: impl ExactSizeIterator<Item = bool>) {
        let start = self.bytes.len();
        self.bytes.resize(start + bits.len().div_ceil(8), 0);
        for (i, bit) in bits.enumerate() {
            self.bytes[start + i / 8] |= u8::from(bit) << (i % 8);
        }
        self.end_buffer(start);
    }

    fn words<T>(&mut self, values: &[T], word: impl Fn(&T) -> [u8; 8]) {
        let start = self.bytes.len();
        self.bytes.resize(start + 8 * values.len(), 0);
        let places = self.bytes[start..].chunks_exact_mut(8);
        places.zip(values).for_each(|(place, value)| place.copy_from_slice(&word(value)));
        self.end_buffer(start);
    }

    /// The start of each value behind the values before it, and the end of the last.
    fn offsets(&mut self, lengths: impl ExactSizeIterator<Item = usize>) -> Result<(), TooLong> {
        let start = self.bytes.len();
        self.bytes.resize(start + 4 * (lengths.len() + 1), 0); // the first of them is 0
        let mut end = 0u64;
        for (place, length) in self.bytes[start + 4..].chunks_exact_mut(4).zip(lengths) {
            end += length as u64;
            place.copy_from_slice(&(end as i32).to_ne_bytes());
        }
        self.end_buffer(start);
        if end > i32::MAX as u64 {
            return Err(TooLong(end));
        }
        Ok(())
    }

    fn texts<T>(&mut self, values: &[T], text: impl Fn(&T) -> &str) -> Result<(), TooLong> {
        self.offsets(values.iter().map(|value| text(value).len()))?;
        let start = self.bytes.len();
        for some in values.chunks(ROWS_OF_A_STEP) {
            poll();
            some.iter().for_each(|value| self.bytes.extend_from_slice(text(value).as_bytes()));
        }
        self.end_buffer(start);
        Ok(())
    }

    fn end_buffer(&mut self, start: usize) {
        self.buffers.push([(start - self.start) as i64, (self.bytes.len() - start) as i64]);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }

    /// The message: a mark, the size of the head, the head and the body. The head is the flatbuffer
    /// `Message { version, header: RecordBatch { length, nodes, buffers }, bodyLength }`; its numbers are little-endian.
    fn into_message(mut self, n_rows: usize) -> Vec<u8> {
        let (n_nodes, n_buffers) = (self.nodes.len() as u32, self.buffers.len() as u32);
        let mut head = Head::default();
        head.u32(16); // the position of the message
        head.u16s(&[12, 20, 16, 18, 4, 8]); // sizes of this list and of the message; version, type, header, body length
        head.u32(12); // back to the list
        head.u32(56 - head.at()); // to the record batch
        head.i64((self.bytes.len() - self.start) as i64);
        head.u16s(&[4, 3, 0, 0]); // version 5; a record batch
        head.u16s(&[10, 20, 8, 4, 16, 0, 0, 0]); // sizes of this list and of the record batch; length, nodes, buffers
        head.u32(16); // back to the list
        head.u32(76 - head.at()); // to the nodes
        head.i64(n_rows as i64);
        head.u32(84 + 16 * n_nodes - head.at()); // to the buffers
        head.u32(n_nodes);
        self.nodes.iter().flatten().for_each(|&n| head.i64(n));
        head.u32(0);
        head.u32(n_buffers);
        self.buffers.iter().flatten().for_each(|&n| head.i64(n));
        debug_assert_eq!(PREFIX + head.0.len(), self.start, "the room for the head is that of the columns");
        self.bytes[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        self.bytes[4..PREFIX].copy_from_slice(&head.at().to_le_bytes());
        self.bytes[PREFIX..self.start].copy_from_slice(&head.0);
        self.bytes
    }
}

/// The bytes before the head, and those of a head without arrays and buffers.
const PREFIX: usize = 8;
const HEAD: usize = 88;

/// A list has its items as a second array. Every array has a buffer that says which values are valid.
fn arrays_and_buffers(kind: Kind) -> (usize, usize) {
    match kind {
        Kind::Bool | Kind::Int | Kind::Float => (1, 2),
        Kind::Text => (1, 3),
        Kind::Ints => (2, 4),
        Kind::Texts => (2, 5),
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
