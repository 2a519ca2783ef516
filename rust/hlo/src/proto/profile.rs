//! Profiles of XLA's profiler: `XSpace` (tsl/profiler/protobuf/xplane.proto), the times of HLO operations on each plane
//! and the modules that lie beside them.
//!
//! An event belongs to an operation if it, or its metadata, has the stat `hlo_op`. No event is lost: each is counted
//! under one operation or in [`Unmatched`]; any bytes give a profile or an error with its offset. Not here: which
//! instruction an operation is.

use quasiaffine::interrupt::poll;
use rustc_hash::FxHashMap;

use super::wire::{bad, each_field, Field, Message, Payload, Wire};
use crate::error::SyntaxErrors;

/// The planes of a profile, and the modules in it.
#[derive(Debug, Default)]
pub struct Profile<'a> {
    /// In the order of the file.
    pub planes: Vec<Plane<'a>>,
    /// Each name with the id of the program, if there is one, and the bytes of an `HloProto`.
    pub modules: Vec<(&'a str, Option<i64>, &'a [u8])>,
}

/// One device, or the threads of the host.
#[derive(Debug, Default)]
pub struct Plane<'a> {
    /// Such as `/device:GPU:0`.
    pub name: &'a str,
    /// By first event.
    pub ops: Vec<OpTime<'a>>,
    /// Events of no operation.
    pub rest: Unmatched,
    /// Events of operations on lines that repeat what other lines of the plane have, such as `XLA Ops` beside streams.
    pub repeated: Unmatched,
}

/// Events that belong to no operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmatched {
    /// How many.
    pub n: u64,
    /// Their durations in picoseconds, which may overlap.
    pub ps: u128,
}

impl Unmatched {
    fn add(&mut self, n: u64, ps: u128) {
        (self.n, self.ps) = (self.n.saturating_add(n), self.ps.saturating_add(ps));
    }
}

/// The events of one operation on one plane.
#[derive(Debug)]
pub struct OpTime<'a> {
    /// The name of the module, empty if the events have none.
    pub module: &'a str,
    /// The id of the program.
    pub program: Option<i64>,
    /// The name of the instruction.
    pub op: &'a str,
    /// The number of runs.
    pub calls: u64,
    /// The durations together, in picoseconds.
    pub ps: u128,
    /// The middle one of the durations.
    pub median_ps: u64,
}

/// Lines that XLA's tools derive from the others.
const DERIVED: [&str; 7] =
    ["XLA Ops", "XLA Modules", "Steps", "Framework Ops", "Framework Name Scope", "Source code", "XLA TraceMe"];

/// Reads an `XSpace`.
///
/// # Errors
/// Bytes that are not one, with the offset.
pub fn parse_profile<'a>(bytes: &'a [u8], name: Option<&str>) -> Result<Profile<'a>, SyntaxErrors> {
    space(bytes).map_err(|e| SyntaxErrors::of_bytes(name, e.problem("a profile of XLA")))
}

fn space(bytes: &[u8]) -> Wire<Profile<'_>> {
    let mut found = Profile::default();
    each_field(bytes, 0, |field| {
        if field.number == 1 {
            plane(field, &mut found)?;
        }
        Ok(())
    })?;
    if found.planes.is_empty() && !bytes.is_empty() {
        return bad(0, "a message without planes of a profile");
    }
    Ok(found)
}

/// The place of an operation, from the stats of its event or of the event's metadata.
#[derive(Clone, Copy, Default)]
struct Place<'a> {
    op: Option<&'a str>,
    module: Option<&'a str>,
    program: Option<i64>,
}

/// The names of a plane: those of its stats, and what the metadata of its events say.
#[derive(Default)]
struct Names<'a> {
    stats: FxHashMap<u64, &'a str>,
    events: FxHashMap<u64, Place<'a>>,
}

fn plane<'a>(field: Field<'a>, found: &mut Profile<'a>) -> Wire<()> {
    let message = field.message()?;
    let mut names = Names::default();
    for entry in message.subs(5) {
        let entry = entry?;
        names.stats.insert(entry.int(1) as u64, entry.sub(2)?.map_or(Ok(""), |m| m.text(2))?);
    }
    for entry in message.subs(4) {
        let entry = entry?;
        let Some(value) = entry.sub(2)? else { continue };
        let (mut place, n_modules) = (Place::default(), found.modules.len());
        for stat in value.subs(5) {
            let stat = stat?;
            if names.stats.get(&(stat.int(1) as u64)) == Some(&"Hlo Proto") && !stat.data(6).is_empty() {
                found.modules.push((value.text(2)?, None, stat.data(6)));
            }
            read_stat(stat, &names.stats, &mut place)?;
        }
        for module in &mut found.modules[n_modules..] {
            module.1 = place.program;
        }
        names.events.insert(entry.int(1) as u64, place);
    }
    let mut groups: [Groups<'a>; 2] = Default::default();
    let mut rest = Unmatched::default();
    for line in message.subs(3) {
        let line = line?;
        let is_derived = [2, 11].into_iter().any(|n| line.text(n).is_ok_and(|name| DERIVED.contains(&name)));
        for event in line.fields().filter(|f| f.number == 4) {
            poll();
            read_event(event, &names, &mut groups[usize::from(is_derived)], &mut rest)?;
        }
    }
    let [own, derived] = groups;
    let (kept, repeated) = if own.ops.is_empty() { (derived, Groups::default()) } else { (own, derived) };
    let mut lost = Unmatched::default();
    repeated.ops.iter().for_each(|events| lost.add(events.calls, events.ps));
    let ops = kept.ops.into_iter().zip(kept.durations).map(|(mut op, mut durations)| {
        let middle = durations.len() / 2;
        op.median_ps = *durations.select_nth_unstable(middle).1;
        op
    });
    found.planes.push(Plane { name: message.text(2)?, ops: ops.collect(), rest, repeated: lost });
    Ok(())
}

/// The operations of some lines, each with its durations.
#[derive(Default)]
struct Groups<'a> {
    numbers: FxHashMap<(&'a str, Option<i64>, &'a str), usize>,
    ops: Vec<OpTime<'a>>,
    durations: Vec<Vec<u64>>,
}

fn read_event<'a>(field: Field<'a>, names: &Names<'a>, groups: &mut Groups<'a>, rest: &mut Unmatched) -> Wire<()> {
    let Payload::Bytes(bytes) = field.payload else { return field.message().map(|_| ()) };
    let (mut calls, mut ps, mut metadata, mut place) = (1, 0, 0, Place::default());
    each_field(bytes, field.at, |f| {
        match (f.number, f.payload) {
            (1, Payload::Varint(id)) => metadata = id,
            (3, Payload::Varint(n)) => ps = n,
            (5, Payload::Varint(n)) => calls = n.max(1),
            (4, _) => read_stat(f.message()?, &names.stats, &mut place)?,
            _ => {}
        }
        Ok(())
    })?;
    let base = names.events.get(&metadata).copied().unwrap_or_default();
    let Some(op) = place.op.or(base.op) else {
        rest.add(calls, u128::from(ps));
        return Ok(());
    };
    let module = place.module.or(base.module).unwrap_or("");
    let program = place.program.or(base.program);
    let Groups { numbers, ops, durations } = groups;
    let number = *numbers.entry((module, program, op)).or_insert_with(|| {
        ops.push(OpTime { module, program, op, calls: 0, ps: 0, median_ps: 0 });
        durations.push(Vec::new());
        ops.len() - 1
    });
    ops[number].calls = ops[number].calls.saturating_add(calls);
    ops[number].ps = ops[number].ps.saturating_add(u128::from(ps));
    durations[number].push(ps / calls);
    Ok(())
}

fn read_stat<'a>(stat: Message<'a>, names: &FxHashMap<u64, &'a str>, place: &mut Place<'a>) -> Wire<()> {
    let name = names.get(&(stat.int(1) as u64)).copied().unwrap_or("");
    match name {
        "hlo_op" => place.op = text_of(stat, names)?,
        "hlo_module" => place.module = text_of(stat, names)?,
        "program_id" => place.program = [3, 4].into_iter().find(|&n| stat.has(n)).map(|n| stat.int(n)),
        _ => {}
    }
    Ok(())
}

/// The text of a stat, or that of the stat metadata to which it refers.
fn text_of<'a>(stat: Message<'a>, names: &FxHashMap<u64, &'a str>) -> Wire<Option<&'a str>> {
    Ok(if stat.has(7) { names.get(&(stat.int(7) as u64)).copied() } else { Some(stat.text(5)?) }
        .filter(|t| !t.is_empty()))
}
