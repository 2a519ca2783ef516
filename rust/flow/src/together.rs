//! The dependence of several arrays of one value, found in one pass: each map knows from which of them it comes.
//!
//! Only the elements count, not how often each is read. Two things make a question about all outputs of a program cost
//! little more than one about a single output: a map that is the same for all elements of an output is the same for all
//! outputs, and one that has all elements of an array stands for all others. For each array of the start the maps have
//! the same pairs as those of a [`Propagation`](crate::Propagation) from it alone, where both are exact.

use quasiaffine::expr::Kind;
use quasiaffine::interrupt::poll;
use quasiaffine::map::State as MapState;
use quasiaffine::{compose_elements, merge, simplify, unconditional, Counting, Domain, Expr, Interval, Map, Variable};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use hlo::InstructionId;
use layout::Shape;

use crate::indexing::{is_identity_on, remap_sources, OperandIndexing, ShapeIndex, Text, SIMPLIFY};
use crate::propagate::{unnamed_operands, Composed, Direction, Rule, Setting, CONDITIONAL, UNRELATED_DEVICES};
use crate::schedule::Step;
use crate::shapes;
use crate::state::{after_whole, is_whole, points_of_whole, size_of, MAX_MAPS, MAX_SIZE};

/// A set of starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Starts(SmallVec<[u64; 2]>);

impl Starts {
    pub(crate) fn one(k: usize) -> Starts {
        let mut words = SmallVec::from_elem(0, k / 64 + 1);
        words[k / 64] = 1 << (k % 64);
        Starts(words)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(crate) fn add(&mut self, other: &Starts) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    pub(crate) fn without(&self, other: &Starts) -> Starts {
        let mut rest = self.clone();
        rest.0.iter_mut().zip(&other.0).for_each(|(word, less)| *word &= !less);
        rest
    }

    fn and(&self, other: &Starts) -> Starts {
        Starts(self.0.iter().zip(&other.0).map(|(word, own)| word & own).collect())
    }

    pub(crate) fn list(&self) -> impl Iterator<Item = u32> + '_ {
        let bits = |(k, &word): (usize, &u64)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| (k * 64 + bit) as u32)
        };
        self.0.iter().enumerate().flat_map(bits)
    }
}

/// Reasons, each with the starts for which it is the first one.
type Reasons = Vec<(Option<Text>, Starts)>;

fn note(reasons: &mut Reasons, reason: Option<&Text>, starts: &Starts) {
    let mut new = starts.clone();
    for (_, known) in reasons.iter() {
        new = new.without(known);
    }
    if new.is_empty() {
        return;
    }
    match reasons.iter_mut().find(|(known, _)| known.as_ref() == reason) {
        Some((_, known)) => known.add(&new),
        None => reasons.push((reason.cloned(), new)),
    }
}

/// The sizes of an array in the start; the dims of a map are those of such an array. Maps of the first kind have no dims:
/// they are the same for all elements of any array.
type DimsOf = usize;

const NO_DIMS: DimsOf = 0;

/// The maps to an array.
#[derive(Debug, Default)]
struct Array {
    maps: Vec<(DimsOf, Map, Starts)>,
    known: FxHashMap<(DimsOf, Map), usize>,
    /// The starts that need all of the array.
    whole: Starts,
    /// How many times maps were added: those added at once do not merge further, as a rule.
    unions: usize,
    unknown: Reasons,
    inexact: Reasons,
}

impl Array {
    fn starts(&self) -> Starts {
        let mut all = self.whole.clone();
        self.maps.iter().for_each(|(.., starts)| all.add(starts));
        self.unknown.iter().for_each(|(_, starts)| all.add(starts));
        all
    }

    /// Adds a map from the dims of arrays of these sizes to this array of the given shape.
    fn add(&mut self, kind: DimsOf, sizes: &[i64], map: Map, starts: &Starts, shape: Option<&Shape>) {
        if map.state() == MapState::Empty {
            return;
        }
        let (kind, map) = match without_dims(&map, sizes) {
            Some(image) => (NO_DIMS, image),
            None => (kind, map),
        };
        if kind == NO_DIMS && shape.is_some_and(|shape| is_whole(&map, shape)) {
            self.whole.add(starts);
            return;
        }
        let next = self.maps.len();
        let at = *self.known.entry((kind, map.clone())).or_insert(next);
        match self.maps.get_mut(at) {
            Some((.., known)) => known.add(starts),
            None => self.maps.push((kind, map, starts.clone())),
        }
    }

    /// The starts whose maps are too many or too big.
    fn over_budget(&self) -> Starts {
        let mut over = Starts::default();
        let size = self.maps.iter().map(|(_, map, _)| size_of(map)).sum::<u64>();
        if self.maps.len() > MAX_MAPS || size > MAX_SIZE {
            let mut totals: FxHashMap<u32, (usize, u64)> = FxHashMap::default();
            for (_, map, starts) in &self.maps {
                for k in starts.list() {
                    let (n, size) = totals.entry(k).or_default();
                    (*n, *size) = (*n + 1, *size + size_of(map));
                }
            }
            let is_over = |(n, size): &(usize, u64)| *n > MAX_MAPS || *size > MAX_SIZE;
            let starts = totals.iter().filter(|(_, total)| is_over(total));
            starts.for_each(|(k, _)| over.add(&Starts::one(*k as usize)));
        }
        over
    }

    /// Leaves out the maps of the starts that need all of the array.
    fn keep_whole(&mut self) {
        self.maps.retain_mut(|(.., starts)| {
            *starts = starts.without(&self.whole);
            !starts.is_empty()
        });
    }
}

/// The maps to one value, by array.
#[derive(Debug, Default)]
struct Value {
    arrays: Vec<(ShapeIndex, Array)>,
    positions: FxHashMap<ShapeIndex, usize>,
    /// Why the maps to all of its arrays may have too much.
    inexact: Reasons,
    /// The starts whose elements may be on other devices.
    crossed: Starts,
}

impl Value {
    fn array(&mut self, index: &ShapeIndex) -> &mut Array {
        let at = match self.positions.get(index) {
            Some(&at) => at,
            None => {
                self.positions.insert(index.clone(), self.arrays.len());
                self.arrays.push((index.clone(), Array::default()));
                self.arrays.len() - 1
            }
        };
        &mut self.arrays[at].1
    }

    fn mark_all_unknown(&mut self, shape: &Shape, at: &ShapeIndex, reason: &Text, starts: &Starts) {
        for (below, _) in shapes::array_indices(shape) {
            note(&mut self.array(&at.iter().chain(&below).copied().collect()).unknown, Some(reason), starts);
        }
    }
}

/// The dependence of some arrays of a value on one value.
#[derive(Debug, Default)]
pub struct Dependence {
    /// The maps to its arrays, each with the numbers of the starts.
    pub maps: Vec<(ShapeIndex, Map, Vec<u32>)>,
    /// The starts that may need any of its elements, with the reason.
    pub unknown: Vec<(Option<Text>, Vec<u32>)>,
    /// The starts whose maps may have too much, with the reason.
    pub inexact: Vec<(Option<Text>, Vec<u32>)>,
    /// The starts whose elements may be on other devices.
    pub crossed: Vec<u32>,
}

/// A pass from arrays of the first value of a schedule to the values that it is made of.
pub struct Together<'p> {
    setting: Setting<'p>,
    values: FxHashMap<InstructionId, Value>,
    /// The sizes of the start's arrays, by kind.
    sizes: Vec<SmallVec<[i64; 6]>>,
    /// For each start its kind.
    kinds: Vec<DimsOf>,
    /// Unions that do not merge.
    apart: FxHashSet<Vec<Map>>,
}

impl<'p> Together<'p> {
    /// From each array of the first value on its own, or, with `as_one`, from all elements of all of them as one start.
    pub fn new(setting: Setting<'p>, indices: &[ShapeIndex], as_one: bool) -> Together<'p> {
        let mut this = Together {
            setting,
            values: FxHashMap::default(),
            sizes: vec![SmallVec::new()],
            kinds: Vec::new(),
            apart: FxHashSet::default(),
        };
        let Some(&start) = setting.schedule.order.first() else { return this };
        for (k, index) in indices.iter().enumerate() {
            let array = shapes::at(setting.m.shape(start), index).filter(|shape| !shapes::is_empty(shape));
            let sizes: SmallVec<[i64; 6]> = array.into_iter().flat_map(shapes::sizes).collect();
            let is_one = as_one || sizes.is_empty();
            let kind = match this.sizes.iter().position(|known| *known == sizes) {
                _ if is_one => NO_DIMS,
                Some(kind) => kind,
                None => {
                    this.sizes.push(sizes.clone());
                    this.sizes.len() - 1
                }
            };
            let starts = Starts::one(if as_one { 0 } else { k });
            if !as_one || k == 0 {
                this.kinds.push(kind);
            }
            if array.is_none() {
                continue;
            }
            let value = this.values.entry(start).or_default();
            if is_one {
                value.array(index).whole.add(&starts);
            } else if let Ok(identity) = Map::identity(Domain::of_sizes(&sizes)) {
                this.add(start, index, kind, simplify(&identity, SIMPLIFY), &starts);
            }
        }
        this
    }

    /// The dependence on each of `ends`, by its number among them; `None` where operands have no names.
    pub fn run<E>(
        mut self,
        ends: &[InstructionId],
        rule: &mut Rule<'_, E>,
    ) -> Result<Option<Vec<(u32, Dependence)>>, E> {
        let Setting { m, schedule, sources, .. } = self.setting;
        let numbers: FxHashMap<InstructionId, u32> = ends.iter().zip(0..).map(|(&id, k)| (id, k)).collect();
        let mut found = Vec::new();
        for (&id, &step) in schedule.order.iter().zip(&schedule.steps) {
            poll();
            let Some(mut value) = self.values.remove(&id) else { continue };
            self.settle(id, &mut value);
            if !matches!(step, Step::Enter(_)) && unnamed_operands(m, id).is_some() {
                return Ok(None);
            }
            match step {
                Step::Stop => {}
                Step::Enter(root) => self.hand_on(&value, root, &|_| None),
                Step::Leave { caller, operand } => {
                    let computation = m.computation_of(id);
                    self.hand_on(&value, operand, &|source| sources.in_caller(m, caller, computation, source));
                }
                Step::Rule => {
                    for (index, array) in &value.arrays {
                        if m.operands(id).len() > 0 {
                            self.follow(id, index, array, &value, rule)?;
                        }
                    }
                }
            }
            if let Some(&number) = numbers.get(&id) {
                found.push((number, self.dependence(id, value)));
            }
        }
        found.sort_unstable_by_key(|(number, _)| *number);
        Ok(Some(found))
    }

    /// Leaves out what all of an array stands for, merges maps, and replaces too many of them, or too big ones, by that.
    fn settle(&mut self, id: InstructionId, value: &mut Value) {
        let m = self.setting.m;
        for (index, array) in &mut value.arrays {
            let shape = shapes::at(m.shape(id), index);
            array.keep_whole();
            if array.unions > 1 {
                let mut seen = FxHashSet::default();
                let groups: Vec<(DimsOf, Starts)> =
                    array.maps.iter().map(|(kind, _, with)| (*kind, with.clone())).collect();
                for (kind, starts) in groups {
                    if !seen.insert((kind, starts.clone())) {
                        continue;
                    }
                    self.merge(array, shape, kind, &starts, |with| *with == starts);
                }
            }
            array.keep_whole();
            for k in array.over_budget().list() {
                let start = Starts::one(k as usize);
                for kind in [NO_DIMS, self.kinds[k as usize]] {
                    self.merge(array, shape, kind, &start, |with| !with.and(&start).is_empty());
                }
            }
            array.keep_whole();
            let over = array.over_budget();
            if !over.is_empty() {
                let reason = Text::from(format!("the maps of {} exceed the budget", m.instruction_name(id)));
                note(&mut array.inexact, Some(&reason), &over);
                array.whole.add(&over);
            }
            array.known.clear();
            array.keep_whole();
            // No elements are not too many.
            let reached = array.starts();
            array.inexact.retain_mut(|(_, starts)| {
                *starts = starts.and(&reached);
                !starts.is_empty()
            });
        }
    }

    /// Replaces, for these starts, the maps of a kind that `among` selects by fewer; each of the starts needs all of them.
    fn merge(
        &mut self,
        array: &mut Array,
        shape: Option<&Shape>,
        kind: DimsOf,
        starts: &Starts,
        among: impl Fn(&Starts) -> bool,
    ) {
        let is_one = |(own, _, with): &(DimsOf, Map, Starts)| *own == kind && among(with);
        let maps: Vec<Map> = array.maps.iter().filter(|one| is_one(one)).map(|(_, map, _)| map.clone()).collect();
        if maps.len() < 2 || self.apart.contains(&maps) {
            return;
        }
        let fewer = merge(&maps, Counting::Elements);
        if fewer.len() == maps.len() {
            self.apart.insert(maps);
            return;
        }
        for one in array.maps.iter_mut().filter(|one| is_one(one)) {
            one.2 = one.2.without(starts);
        }
        array.maps.retain(|(.., with)| !with.is_empty());
        array.known = array.maps.iter().enumerate().map(|(at, (own, map, _))| ((*own, map.clone()), at)).collect();
        for found in fewer {
            array.add(kind, &self.sizes[kind], found.map, starts, shape);
        }
    }

    fn add(&mut self, to: InstructionId, index: &ShapeIndex, kind: DimsOf, map: Map, starts: &Starts) {
        let shape = shapes::at(self.setting.m.shape(to), index);
        let array = self.values.entry(to).or_default().array(index);
        array.add(kind, &self.sizes[kind], map, starts, shape);
    }

    fn hand_on(&mut self, value: &Value, to: InstructionId, new: &dyn Fn(i64) -> Option<i64>) {
        for (index, array) in &value.arrays {
            for (kind, map, starts) in &array.maps {
                self.add(to, index, *kind, remap_sources(map, new), starts);
            }
            let target = self.values.entry(to).or_default().array(index);
            target.unions += 1;
            target.whole.add(&array.whole);
            array.unknown.iter().for_each(|(reason, starts)| note(&mut target.unknown, reason.as_ref(), starts));
            array.inexact.iter().for_each(|(reason, starts)| note(&mut target.inexact, reason.as_ref(), starts));
        }
        let target = self.values.entry(to).or_default();
        value.inexact.iter().for_each(|(reason, starts)| note(&mut target.inexact, reason.as_ref(), starts));
        target.crossed.add(&value.crossed);
    }

    /// From an array of a value to its operands, by the indexing rule.
    fn follow<E>(
        &mut self,
        id: InstructionId,
        index: &ShapeIndex,
        array: &Array,
        value: &Value,
        rule: &mut Rule<'_, E>,
    ) -> Result<(), E> {
        let Setting { m, sources, .. } = self.setting;
        let all = array.starts();
        if all.is_empty() {
            return Ok(());
        }
        let sizes = shapes::sizes_at(m.shape(id), index);
        let mut given = array.maps.clone();
        if !array.whole.is_empty() {
            given.push((NO_DIMS, whole_of(&sizes), array.whole.clone()));
        }
        for (_, starts) in &array.unknown {
            given.iter_mut().for_each(|(.., own)| *own = own.without(starts));
        }
        // A runtime value on another device is another value.
        let elsewhere = |m: &Map| m.remap_sources(&|source| Some(sources.on_another_device(source)));
        let mut crossing: Option<Vec<_>> = None;
        let crossed = all.and(&value.crossed);
        let indexing = rule(id, index, Direction::Backward)?;
        let mut composed = Composed::default();
        let array_shape = shapes::at(m.shape(id), index);
        let whole_at: Vec<Option<Map>> = given.iter().map(|(_, map, _)| points_of_whole(map, array_shape?)).collect();
        for (n, (k, part)) in indexing.parts.iter().enumerate() {
            let Some(operand) = m.operand(id, *k as usize) else { continue };
            let shape = m.shape(operand);
            let footprint = match part {
                OperandIndexing::Unknown(reason) => {
                    self.values.entry(operand).or_default().mark_all_unknown(shape, &ShapeIndex::new(), reason, &all);
                    continue;
                }
                OperandIndexing::Known(footprint) => footprint,
            };
            let target = self.values.entry(operand).or_default();
            if !footprint.exact && footprint.maps.is_empty() {
                note(&mut target.inexact, footprint.reason.as_ref(), &all);
            }
            for (to, _) in &footprint.maps {
                let target = target.array(to);
                target.unions += 1;
                if !footprint.exact {
                    note(&mut target.inexact, footprint.reason.as_ref(), &all);
                }
                for (reason, starts) in array.inexact.iter().chain(&value.inexact) {
                    note(&mut target.inexact, reason.as_ref(), starts);
                }
                if footprint.crosses_devices {
                    note(&mut target.inexact, Some(&Text::from(UNRELATED_DEVICES)), &crossed);
                }
                for (reason, starts) in &array.unknown {
                    note(&mut target.unknown, reason.as_ref(), starts);
                }
            }
            target.crossed.add(if footprint.crosses_devices { &all } else { &crossed });
            let given = match footprint.crosses_devices {
                false => &given,
                true => crossing.get_or_insert_with(|| {
                    given.iter().map(|(kind, map, starts)| (*kind, elsewhere(map), starts.clone())).collect()
                }),
            };
            for (at, (to, second)) in footprint.maps.iter().enumerate() {
                let is_identity = is_identity_on(second, &indexing.sizes);
                for (i, (kind, first, starts)) in given.iter().enumerate() {
                    poll();
                    let whole = self
                        .values
                        .get(&operand)
                        .and_then(|value| Some(&value.arrays[*value.positions.get(to)?].1.whole));
                    let rest = whole.map_or_else(|| starts.clone(), |whole| starts.without(whole));
                    if rest.is_empty() {
                        continue;
                    }
                    if is_identity {
                        self.add(operand, to, *kind, first.clone(), &rest);
                        continue;
                    }
                    let whole = whole_at[i].as_ref().filter(|_| !footprint.crosses_devices);
                    let then = || match whole.and_then(|points| Some((points, indexing.images()[n][at].as_ref()?))) {
                        Some((points, image)) => after_whole(points, image),
                        None => compose_elements(first, second, SIMPLIFY),
                    };
                    match composed.of((i, footprint.crosses_devices), second, then) {
                        Ok(map) => {
                            let wider = unconditional(&map, SIMPLIFY);
                            if wider.is_some() {
                                let target = self.values.entry(operand).or_default().array(to);
                                note(&mut target.inexact, Some(&Text::from(CONDITIONAL)), &rest);
                            }
                            self.add(operand, to, *kind, wider.unwrap_or(map), &rest);
                        }
                        Err(e) => {
                            let reason = Text::from(format!("composition: {e}"));
                            let target = self.values.entry(operand).or_default().array(to);
                            note(&mut target.unknown, Some(&reason), &rest);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The maps with the dims of the starts.
    fn dependence(&self, id: InstructionId, value: Value) -> Dependence {
        let mut found = Dependence { crossed: value.crossed.list().collect(), ..Dependence::default() };
        let (mut unknown, mut inexact) = (Reasons::new(), value.inexact);
        for (index, array) in value.arrays {
            array.unknown.iter().for_each(|(reason, starts)| note(&mut unknown, reason.as_ref(), starts));
            array.inexact.iter().for_each(|(reason, starts)| note(&mut inexact, reason.as_ref(), starts));
            let shape = shapes::at(self.setting.m.shape(id), &index);
            let whole = shape.filter(|_| !array.whole.is_empty()).map(|shape| {
                let sizes: SmallVec<[i64; 6]> = shapes::sizes(shape).collect();
                (NO_DIMS, whole_of(&sizes), array.whole.clone())
            });
            for (kind, map, starts) in array.maps.into_iter().chain(whole) {
                let mut by_kind: Vec<Vec<u32>> = vec![Vec::new(); self.sizes.len()];
                for k in starts.list() {
                    by_kind[self.kinds[k as usize]].push(k);
                }
                for (own, starts) in by_kind.into_iter().enumerate().filter(|(_, starts)| !starts.is_empty()) {
                    let map = if kind == NO_DIMS { with_dims(&map, &self.sizes[own]) } else { map.clone() };
                    found.maps.push((index.clone(), map, starts));
                }
            }
        }
        let listed = |reasons: Reasons| reasons.into_iter().map(|(reason, starts)| (reason, starts.list().collect()));
        found.unknown = listed(unknown).collect();
        found.inexact = listed(inexact).collect();
        found
    }
}

/// All elements of an array of these sizes, as simplified maps have them.
fn whole_of(sizes: &[i64]) -> Map {
    let vars = sizes.iter().map(|&n| Variable::new(Interval::new(0, n - 1))).collect();
    let domain = Domain { vars, n_dims: 0, n_ranges: sizes.len(), constraints: Vec::new() };
    simplify(&Map::from_parts(domain, (0..sizes.len() as u32).map(Expr::range).collect()), SIMPLIFY)
}

/// The map without dims, if it is the same at all points of an array of these sizes.
fn without_dims(map: &Map, sizes: &[i64]) -> Option<Map> {
    let domain = map.domain();
    let n = domain.n_dims;
    let same = map.state() == MapState::Defined
        && n == sizes.len()
        && domain.dims().iter().zip(sizes).all(|(v, &size)| v.interval == Interval::new(0, size - 1))
        && !map.expressions().any(|e| e.any_var(&|v| v.kind == Kind::Dim));
    same.then(|| {
        let vars = domain.vars[n..].iter().cloned().collect();
        let domain = Domain { vars, n_dims: 0, n_ranges: domain.n_ranges, constraints: domain.constraints.clone() };
        Map::from_parts(domain, map.results().iter().cloned().collect())
    })
}

/// The map at all points of an array of these sizes.
fn with_dims(map: &Map, sizes: &[i64]) -> Map {
    if sizes.is_empty() {
        return map.clone();
    }
    let domain = map.domain();
    let dims = sizes.iter().map(|&n| Variable::new(Interval::new(0, n - 1)));
    let vars = dims.chain(domain.vars.iter().cloned()).collect();
    let constraints = domain.constraints.clone();
    let domain = Domain { vars, n_dims: sizes.len(), n_ranges: domain.n_ranges, constraints };
    Map::from_parts(domain, map.results().iter().cloned().collect())
}
