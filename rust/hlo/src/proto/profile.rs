//! Profiles of XLA's profiler: `XSpace` (tsl/profiler/protobuf/xplane.proto), with the times of HLO operations on each
//! plane and the modules.
//!
//! An event belongs to an operation if it, or its metadata, has the stat `hlo_op`. No event is lost: each is counted
//! under one operation or in [`Unmatched`]; any bytes give a profile or an error with its offset. An operation may run
//! as several kernels, which events name: it ran as often as the kernel with the fewest events. Not here: the
//! instruction that an operation is.

use cancel::poll;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::SyntaxErrors;
use crate::wire::{bad, each_field, first_field, Field, Message, Payload, Wire};

/// The planes of a profile, and the modules in it.
#[derive(Debug, Default)]
pub struct Profile<'a> {
    /// In the order of the file.
    pub planes: Vec<Plane<'a>>,
    /// In the order of the file.
    pub programs: Vec<Program<'a>>,
}

/// A program in a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program<'a> {
    /// The name of its module.
    pub name: &'a str,
    /// The id, which distinguishes programs with one name.
    pub id: Option<u64>,
    /// An `HloProto`.
    pub proto: &'a [u8],
    /// The offset of `proto` in the whole input.
    pub at: usize,
}

/// One device, or the threads of the host.
#[derive(Debug, Default)]
pub struct Plane<'a> {
    /// The name, such as `/device:GPU:0`.
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
    /// The number of events.
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
    pub program: Option<u64>,
    /// The name of the instruction.
    pub op: &'a str,
    /// The number of events.
    pub kernels: u64,
    /// The number of executions.
    pub calls: u64,
    /// The durations together, in picoseconds.
    pub ps: u128,
    /// The median of the times of the executions; `None` if the events of one execution cannot be identified.
    pub median_ps: Option<u64>,
}

/// Lines that XLA's tools derive from the others.
const DERIVED: [&str; 8] = [
    "XLA Ops",
    "Async XLA Ops",
    "XLA Modules",
    "Steps",
    "Framework Ops",
    "Framework Name Scope",
    "Source code",
    "XLA TraceMe",
];

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

/// The programs in an `XSpace`, without its events; equal ones once.
///
/// # Errors
/// Bytes that are not one, with the offset.
pub(crate) fn programs(bytes: &[u8]) -> Wire<Vec<Program<'_>>> {
    let mut found: Vec<Program<'_>> = Vec::new();
    each_field(bytes, 0, |field| match field.number {
        1 => Names::read(field.message()?, &mut found).map(|_| ()),
        _ => Ok(()),
    })?;
    let mut seen = FxHashSet::default();
    found.retain(|program| seen.insert((program.name, program.id, program.proto)));
    Ok(found)
}

/// Whether bytes, or the head of some, begin like an `XSpace`: with a plane, which has an id and a name. The messages
/// that hold a module begin with the name of one, or with a message that does.
pub fn is_profile(head: &[u8]) -> bool {
    let Some((plane, _, is_cut)) = first_field(head) else { return false };
    let mut fields = Vec::new();
    // The fields before an error, or before the end of the head, suffice.
    let whole = each_field(plane, 0, |field| {
        fields.push(field);
        if fields.len() < 3 {
            Ok(())
        } else {
            bad(0, "")
        }
    });
    let fields = match fields.as_slice() {
        [id, rest @ ..] if id.number == 1 && matches!(id.payload, Payload::Varint(_)) => rest,
        rest => rest,
    };
    let Some((name, rest)) = fields.split_first() else { return false };
    let is_name = |text: &str| !text.is_empty() && !text.contains(char::is_control);
    let has_name = name.number == 2 && name.text().is_ok_and(is_name);
    // The first field of a computation is its name; a line of a plane has a number there.
    let is_line = |bytes: &[u8]| bytes.first() != Some(&0x0a);
    let is_part = |next: &Field<'_>| match next.payload {
        Payload::Bytes(bytes) => (4..7).contains(&next.number) || next.number == 3 && is_line(bytes),
        _ => false,
    };
    has_name && rest.first().map_or(is_cut || whole.is_ok(), is_part)
}

/// The place of an operation, from the stats of its event or of the event's metadata.
#[derive(Clone, Copy, Default)]
struct Place<'a> {
    op: Option<&'a str>,
    module: Option<&'a str>,
    program: Option<u64>,
}

/// The names of a plane: those of its stats, and what the metadata of its events say.
#[derive(Default)]
struct Names<'a> {
    stats: FxHashMap<u64, &'a str>,
    /// By the number of the metadata: the place of its events, and the number of their name.
    events: FxHashMap<u64, (Place<'a>, u32)>,
}

impl<'a> Names<'a> {
    /// Reads the metadata of a plane; `programs` are those in it.
    fn read(plane: Message<'a>, programs: &mut Vec<Program<'a>>) -> Wire<Names<'a>> {
        let mut names = Names::default();
        let mut numbers: FxHashMap<&[u8], u32> = FxHashMap::default();
        for entry in plane.subs(5) {
            let entry = entry?;
            names.stats.insert(entry.int(1) as u64, entry.sub(2)?.map_or(Ok(""), |m| m.text(2))?);
        }
        for entry in plane.subs(4) {
            poll();
            let entry = entry?;
            let Some(value) = entry.sub(2)? else { continue };
            let (mut place, n_programs) = (Place::default(), programs.len());
            for stat in value.subs(5) {
                let stat = stat?;
                if names.stats.get(&(stat.int(1) as u64)) == Some(&"Hlo Proto") && !stat.data(6).is_empty() {
                    let (name, id) = split_title(value.text(2)?);
                    let at = stat.fields().filter(|f| f.number == 6).last().map_or(stat.at, |f| f.at);
                    programs.push(Program { name, id, proto: stat.data(6), at });
                }
                read_stat(stat, &names.stats, &mut place)?;
            }
            for program in &mut programs[n_programs..] {
                program.id = place.program.or(program.id);
            }
            let next = numbers.len() as u32 + 1;
            let number = *numbers.entry(value.data(2)).or_insert(next);
            names.events.insert(entry.int(1) as u64, (place, number));
        }
        Ok(names)
    }
}

/// The name of a module and the id of its program from `name(id)`.
fn split_title(title: &str) -> (&str, Option<u64>) {
    let parts = title.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    match parts.map(|(name, id)| (name, id.parse())) {
        Some((name, Ok(id))) => (name, Some(id)),
        _ => (title, None),
    }
}

fn plane<'a>(field: Field<'a>, found: &mut Profile<'a>) -> Wire<()> {
    let message = field.message()?;
    let names = Names::read(message, &mut found.programs)?;
    let mut groups: [Groups<'a>; 2] = Default::default();
    let (mut rest, mut epoch) = (Unmatched::default(), None);
    for line in message.subs(3) {
        let line = line?;
        let is_derived = [2, 11].into_iter().any(|n| line.text(n).is_ok_and(|name| DERIVED.contains(&name)));
        // Events begin picoseconds after their line, and lines nanoseconds after an epoch.
        let begin = line.int(3).wrapping_sub(*epoch.get_or_insert(line.int(3))).saturating_mul(1000);
        for event in line.fields().filter(|f| f.number == 4) {
            poll();
            read_event(event, begin, &names, &mut groups[usize::from(is_derived)], &mut rest)?;
        }
    }
    let [own, derived] = groups;
    let (kept, repeated) = if own.kernels.is_empty() { (derived, Groups::default()) } else { (own, derived) };
    let mut lost = Unmatched::default();
    repeated.kernels.iter().for_each(|kernel| lost.add(kernel.n, kernel.ps));
    found.planes.push(Plane { name: message.text(2)?, ops: kept.ops(), rest, repeated: lost });
    Ok(())
}

/// The module, the program and the name of an operation.
type OpKey<'a> = (&'a str, Option<u64>, &'a str);

/// The events of some lines, by operation and name.
#[derive(Default)]
struct Groups<'a> {
    numbers: FxHashMap<(OpKey<'a>, u32), usize>,
    kernels: Vec<Kernel<'a>>,
}

/// The events of one operation that have one name.
struct Kernel<'a> {
    of: OpKey<'a>,
    n: u64,
    ps: u128,
    /// Each begin and duration; an event may stand for several, which then have its duration together.
    events: Vec<(i64, u64)>,
}

impl<'a> Groups<'a> {
    /// The operations, by first event.
    fn ops(self) -> Vec<OpTime<'a>> {
        let mut numbers: FxHashMap<OpKey<'a>, usize> = FxHashMap::default();
        let mut ops: Vec<(OpKey<'a>, Vec<Kernel<'a>>)> = Vec::new();
        for kernel in self.kernels {
            let number = *numbers.entry(kernel.of).or_insert(ops.len());
            if number == ops.len() {
                ops.push((kernel.of, Vec::new()));
            }
            ops[number].1.push(kernel);
        }
        let times = ops.into_iter().map(|((module, program, op), mut kernels)| {
            let n = |sum: u64, kernel: &Kernel<'_>| sum.saturating_add(kernel.n);
            OpTime {
                module,
                program,
                op,
                kernels: kernels.iter().fold(0, n),
                calls: kernels.iter().map(|kernel| kernel.n).min().unwrap_or(0),
                ps: kernels.iter().fold(0, |sum: u128, kernel| sum.saturating_add(kernel.ps)),
                median_ps: median(&mut kernels),
            }
        });
        times.collect()
    }
}

/// The median of the times of the executions of an operation, if each has equally many events of every kernel: then the
/// first events form the first execution, and so on.
fn median(kernels: &mut [Kernel<'_>]) -> Option<u64> {
    let mut times: Vec<u64> = match kernels {
        [one] => one.events.iter().map(|event| event.1).collect(),
        _ => {
            let calls = kernels.iter().map(|kernel| kernel.events.len()).min()?;
            let is_even = |kernel: &Kernel<'_>| {
                kernel.events.len() as u64 == kernel.n && kernel.events.len().is_multiple_of(calls)
            };
            if !kernels.iter().all(is_even) {
                return None;
            }
            let mut times = vec![0u64; calls];
            for Kernel { events, .. } in kernels {
                events.sort_unstable();
                let n = events.len() / calls;
                for (time, own) in times.iter_mut().zip(events.chunks(n)) {
                    *time = own.iter().fold(*time, |sum, event| sum.saturating_add(event.1));
                }
            }
            times
        }
    };
    let middle = times.len() / 2;
    (!times.is_empty()).then(|| *times.select_nth_unstable(middle).1)
}

fn read_event<'a>(
    field: Field<'a>,
    begin: i64,
    names: &Names<'a>,
    groups: &mut Groups<'a>,
    rest: &mut Unmatched,
) -> Wire<()> {
    let Payload::Bytes(bytes) = field.payload else { return field.message().map(|_| ()) };
    let (mut n, mut ps, mut metadata, mut offset, mut place) = (1, 0, 0, 0, Place::default());
    each_field(bytes, field.at, |f| {
        match (f.number, f.payload) {
            (1, Payload::Varint(id)) => metadata = id,
            (2, Payload::Varint(ps)) => offset = ps as i64,
            (3, Payload::Varint(v)) => ps = v,
            (5, Payload::Varint(v)) => n = v.max(1),
            (4, _) => read_stat(f.message()?, &names.stats, &mut place)?,
            _ => {}
        }
        Ok(())
    })?;
    let (base, name) = names.events.get(&metadata).copied().unwrap_or_default();
    let Some(op) = place.op.or(base.op) else {
        rest.add(n, u128::from(ps));
        return Ok(());
    };
    let of = (place.module.or(base.module).unwrap_or(""), place.program.or(base.program), op);
    let Groups { numbers, kernels } = groups;
    let number = *numbers.entry((of, name)).or_insert_with(|| {
        kernels.push(Kernel { of, n: 0, ps: 0, events: Vec::new() });
        kernels.len() - 1
    });
    let kernel = &mut kernels[number];
    (kernel.n, kernel.ps) = (kernel.n.saturating_add(n), kernel.ps.saturating_add(u128::from(ps)));
    kernel.events.push((begin.saturating_add(offset), ps / n));
    Ok(())
}

fn read_stat<'a>(stat: Message<'a>, names: &FxHashMap<u64, &'a str>, place: &mut Place<'a>) -> Wire<()> {
    let name = names.get(&(stat.int(1) as u64)).copied().unwrap_or("");
    match name {
        "hlo_op" => place.op = text_of(stat, names)?,
        "hlo_module" => place.module = text_of(stat, names)?,
        "program_id" => place.program = [3, 4].into_iter().find(|&n| stat.has(n)).map(|n| stat.int(n) as u64),
        _ => {}
    }
    Ok(())
}

/// The text of a stat, or that of the stat metadata to which it refers.
fn text_of<'a>(stat: Message<'a>, names: &FxHashMap<u64, &'a str>) -> Wire<Option<&'a str>> {
    Ok(if stat.has(7) { names.get(&(stat.int(7) as u64)).copied() } else { Some(stat.text(5)?) }
        .filter(|t| !t.is_empty()))
}
