//! The table of a module as an Arrow record batch: one message of Arrow's IPC format, in one buffer.
//!
//! Readers of Arrow take such a message without copies, so that a table crosses into another library in one call,
//! however many columns it has. The message has no schema, since both sides know the columns. Source: the Arrow
//! columnar format and its flatbuffers `Message.fbs` and `Schema.fbs`, metadata version 5.

use std::borrow::Cow;
use std::iter::{once, repeat_n};

use cancel::poll;

use crate::columns::{Column, Kind, Run, Value, View, COLUMNS};
use crate::tuning::RUNS_OF_A_STEP;

/// A column has this many bytes of text, or list items: more than its 32-bit offsets can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong(pub u64);

/// All columns of the rows of some modules, in order: a mark, the size of the head, the head and the body. The head is the
/// flatbuffer `Message { version, header: RecordBatch { length, nodes, buffers }, bodyLength }`; its numbers are
/// little-endian.
///
/// # Errors
/// A column becomes too long.
pub fn message(views: &[View<'_>]) -> Result<Vec<u8>, TooLong> {
    let n: usize = views.iter().map(View::n_rows).sum();
    let (n_nodes, n_buffers) = COLUMNS.iter().fold((0, 0), |(nodes, buffers), column| match column.kind {
        Kind::Bool | Kind::Int | Kind::Float => (nodes + 1, buffers + 2),
        Kind::Text => (nodes + 1, buffers + 3),
        Kind::Ints => (nodes + 2, buffers + 4),
        Kind::Texts => (nodes + 2, buffers + 5),
    });
    let start = 96 + 16 * (n_nodes + n_buffers) as usize;
    let (nodes, buffers) = (Vec::new(), Vec::new());
    let mut body = Body { n, bytes: vec![0; start + n_zeros(n)], start, nodes, buffers };
    for column in COLUMNS {
        let (values, runs) = joined(views, column);
        body.column(column.kind, &values, &runs)?;
    }
    let mut message = body.bytes;
    let mut head = Head::default();
    head.u32(16); // the position of the message
    head.u16s(&[12, 20, 16, 18, 4, 8]); // sizes of this list and of the message; version, type, header, body length
    head.u32(12); // back to the list
    head.u32(56 - head.at()); // to the record batch
    head.i64((message.len() - start) as i64);
    head.u16s(&[4, 3, 0, 0]); // version 5; a record batch
    head.u16s(&[10, 20, 8, 4, 16, 0, 0, 0]); // sizes of this list and of the record batch; length, nodes, buffers
    head.u32(16); // back to the list
    head.u32(76 - head.at()); // to the nodes
    head.i64(n as i64);
    head.u32(84 + 16 * n_nodes - head.at()); // to the buffers
    head.u32(n_nodes);
    body.nodes.iter().flatten().for_each(|&n| head.i64(n));
    head.u32(0);
    head.u32(n_buffers);
    body.buffers.iter().flatten().for_each(|&n| head.i64(n));
    message[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    message[4..8].copy_from_slice(&head.at().to_le_bytes());
    message[8..start].copy_from_slice(&head.0);
    Ok(message)
}

/// The values of a column in all modules, and all rows by value.
fn joined<'v>(views: &'v [View<'_>], column: &Column) -> (Vec<Value<'v>>, Cow<'v, [Run]>) {
    if let [view] = views {
        return (view.values(column), Cow::Borrowed(view.runs(column)));
    }
    let (mut values, mut runs) = (Vec::new(), Vec::new());
    for view in views {
        let before = values.len() as u32;
        values.append(&mut view.values(column));
        runs.extend(view.runs(column).iter().map(|run| Run { key: run.key + before, n: run.n }));
    }
    (values, Cow::Owned(runs))
}

/// The bytes of the longest buffer of zeros for n rows.
fn n_zeros(n: usize) -> usize {
    8 * (n + 1)
}

/// The buffers of all columns, one behind the other, each at a multiple of 8 bytes.
struct Body {
    /// The rows.
    n: usize,
    /// Room for the head, zeros that many buffers share, such as those of nulls, and the other buffers.
    bytes: Vec<u8>,
    /// The start of the zeros, from which positions count.
    start: usize,
    /// Length and number of nulls of each array.
    nodes: Vec<[i64; 2]>,
    /// Position and length of each buffer.
    buffers: Vec<[i64; 2]>,
}

impl Body {
    fn column(&mut self, kind: Kind, values: &[Value<'_>], runs: &[Run]) -> Result<(), TooLong> {
        let n = self.n;
        let value = |run: &Run| values[run.key as usize];
        let is_null = |run: &Run| matches!(value(run), Value::Null);
        let word = |value: &Value<'_>| match value {
            Value::Int(i) => i.to_ne_bytes(),
            Value::Float(x) => x.to_ne_bytes(),
            _ => [0; 8],
        };
        let mut n_nulls = 0;
        if values.iter().any(|value| matches!(value, Value::Null)) {
            n_nulls = runs.iter().filter(|run| is_null(run)).map(|run| run.n as usize).sum();
        }
        self.nodes.push([n as i64, n_nulls as i64]);
        match n_nulls {
            0 => self.zeros(0),
            _ if n_nulls == n => self.zeros(n.div_ceil(8)),
            _ => self.bits(runs, |run| !is_null(run)),
        }
        match kind {
            Kind::Bool => self.bits(runs, |run| matches!(value(run), Value::Bool(true))),
            Kind::Int | Kind::Float if values.iter().all(|value| word(value) == [0; 8]) => self.zeros(8 * n),
            Kind::Int | Kind::Float => self.buffer(runs, 8 * n, |bytes, run| extend(bytes, &word(&value(run)), run.n)),
            Kind::Text => {
                let text = |run: &Run| if let Value::Text(text) = value(run) { text } else { "" };
                let n_bytes = self.offsets(runs, n, |run| once((text(run).len(), run.n)))?;
                self.buffer(runs, n_bytes, |bytes, run| extend(bytes, text(run).as_bytes(), run.n));
            }
            Kind::Ints => {
                let list = |run: &Run| if let Value::Ints(list) = value(run) { list } else { &[] };
                let n_items = self.items(runs, |run| (list(run).len(), run.n))?;
                self.buffer(runs, 8 * n_items, |bytes, run| {
                    let items = repeat_n(list(run), run.n as usize).flatten();
                    items.for_each(|&i| bytes.extend_from_slice(&i64::from(i).to_ne_bytes()));
                });
            }
            Kind::Texts => {
                let list = |run: &Run| if let Value::Texts(list) = value(run) { list } else { &[] };
                let items = |run: &Run| repeat_n(list(run), run.n as usize).flatten();
                let n_items = self.items(runs, |run| (list(run).len(), run.n))?;
                let n_bytes = self.offsets(runs, n_items, |run| items(run).map(|text| (text.len(), 1)))?;
                self.buffer(runs, n_bytes, |bytes, run| {
                    items(run).for_each(|text| bytes.extend_from_slice(text.as_bytes()));
                });
            }
        }
        Ok(())
    }

    /// Adds a buffer of zeros, which all share one place.
    fn zeros(&mut self, n_bytes: usize) {
        self.buffers.push([0, n_bytes as i64]);
    }

    /// Adds a buffer of `n_bytes` bytes, which `each` appends.
    fn buffer(&mut self, runs: &[Run], n_bytes: usize, mut each: impl FnMut(&mut Vec<u8>, &Run)) {
        let end = self.bytes.len() + n_bytes;
        self.buffers.push([(self.bytes.len() - self.start) as i64, n_bytes as i64]);
        self.bytes.reserve(n_bytes + 8);
        for step in runs.chunks(RUNS_OF_A_STEP) {
            poll();
            step.iter().for_each(|run| each(&mut self.bytes, run));
        }
        self.bytes.resize(end.next_multiple_of(8), 0);
    }

    /// A bit for each row; the first of a byte is the least significant.
    fn bits(&mut self, runs: &[Run], bit: impl Fn(&Run) -> bool) {
        let (at, mut byte, mut i) = (self.bytes.len(), 0, 0);
        self.buffer(runs, self.n.div_ceil(8), |bytes, run| {
            for _ in 0..run.n {
                byte |= u8::from(bit(run)) << (i % 8);
                i += 1;
                if i % 8 == 0 {
                    bytes.push(std::mem::take(&mut byte));
                }
            }
        });
        if i % 8 != 0 {
            self.bytes[at + i / 8] = byte;
        }
    }

    /// Adds the offset of each text or list, and the end of the last, which is returned. `lengths` gives the lengths in
    /// a run, each with a number of repetitions.
    fn offsets<L: Iterator<Item = (usize, u32)>>(
        &mut self,
        runs: &[Run],
        n: usize,
        lengths: impl Fn(&Run) -> L,
    ) -> Result<usize, TooLong> {
        let total = runs.iter().flat_map(&lengths).map(|(length, n)| length as u64 * u64::from(n)).sum();
        if total > i32::MAX as u64 {
            return Err(TooLong(total));
        }
        if total == 0 && 4 * (n + 1) <= n_zeros(self.n) {
            self.zeros(4 * (n + 1));
            return Ok(0);
        }
        let (at, mut end) = (self.bytes.len(), 0i32);
        self.buffer(runs, 4 * (n + 1), |bytes, run| {
            for (length, n) in lengths(run) {
                for _ in 0..n {
                    bytes.extend_from_slice(&end.to_ne_bytes());
                    end += length as i32;
                }
            }
        });
        self.bytes[at + 4 * n..][..4].copy_from_slice(&end.to_ne_bytes());
        Ok(total as usize)
    }

    /// The offsets of lists and the head of their items.
    fn items(&mut self, runs: &[Run], length: impl Fn(&Run) -> (usize, u32)) -> Result<usize, TooLong> {
        let n_items = self.offsets(runs, self.n, |run| once(length(run)))?;
        self.nodes.push([n_items as i64, 0]);
        self.zeros(0);
        Ok(n_items)
    }
}

/// Appends `n` copies of a text or word, at least one.
fn extend(bytes: &mut Vec<u8>, unit: &[u8], n: u32) {
    let (at, mut done) = (bytes.len(), 1);
    bytes.extend_from_slice(unit);
    while done < n as usize {
        let more = done.min(n as usize - done);
        bytes.extend_from_within(at..at + more * unit.len());
        done += more;
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
