//! The Python class that plans the shardings of a program.

use std::sync::Mutex;

use pyo3::prelude::*;
use shard::claims::Policy;
use shard::mesh::{Parts, Sharding};
use shard::plan::{evaluate, plan, Application, Plan, Program, Region, ValueId};
use shard::resolve::{Rules, Why};
use shard::rule::{Array, Combine, OperandMaps, Rule};

use crate::detach::{n_threads, unlocked};
use crate::map::PyMap;

/// The dimensions of an array, and the bits of an element.
type ArrayLike = (Vec<i64>, u32);
/// The maps to each operand, the operands, the outputs, and how partial results combine; without maps the first output
/// is the first operand.
type RuleLike = (Option<Vec<Option<Vec<Py<PyMap>>>>>, Vec<ArrayLike>, Vec<ArrayLike>, Option<bool>);
/// A rule as the crate reads it.
type ReadRule = (Option<Vec<OperandMaps>>, Vec<Array>, Vec<Array>, Combine);
/// Values with the parts of axes that split each dimension.
type Given = Vec<(ValueId, Vec<Vec<u8>>)>;
type MoveRow = (u32, ValueId, &'static str, &'static str, Vec<u8>, u32, u32, i64, i64);
type PlanRows = (Vec<u32>, Vec<Vec<Vec<u8>>>, Vec<MoveRow>);

fn array((dimensions, element_bits): ArrayLike) -> Array {
    Array { dimensions, element_bits }
}

fn stages(given: Vec<Given>) -> Vec<Vec<(ValueId, Sharding)>> {
    let sharding = |dims: Vec<Vec<u8>>| -> Sharding { dims.into_iter().map(Parts::from_vec).collect() };
    let stage = |given: Given| given.into_iter().map(|(v, dims)| (v, sharding(dims))).collect();
    given.into_iter().map(stage).collect()
}

fn why(why: Why) -> &'static str {
    match why {
        Why::Operand => "operand",
        Why::PartialResult => "partial result",
        Why::Halo => "halo",
        Why::Result => "result",
    }
}

/// A program on a mesh, with all answers of earlier plans.
#[pyclass(name = "_Sharder", module = "hlomap._core", frozen)]
pub struct PySharder {
    program: Program,
    closed: Vec<bool>,
    /// The rules before any plan.
    fresh: Rules,
    /// The rules with answers, while no plan uses them.
    known: Mutex<Option<Rules>>,
}

impl PySharder {
    /// Runs work with the answers of earlier plans; concurrent work begins without them.
    fn with_rules<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Rules) -> T + Send) -> PyResult<T> {
        unlocked(py, || {
            let taken = self.known.lock().map_or(None, |mut known| known.take());
            let mut rules = taken.unwrap_or_else(|| self.fresh.clone());
            let found = work(&mut rules);
            if let Ok(mut known) = self.known.lock() {
                let is_more = known.as_ref().is_none_or(|other| other.n_answers() < rules.n_answers());
                if is_more {
                    *known = Some(rules);
                }
            }
            found
        })
    }

    fn rows(&self, rules: &Rules, found: Plan) -> PlanRows {
        let of_moves = found.moves.iter().flat_map(|m| [m.source, m.target]);
        let n = found.shardings.iter().copied().chain(of_moves).max().map_or(0, |last| last + 1);
        let listed = |id| rules.mesh.sharding(id).iter().map(|parts| parts.to_vec()).collect();
        let row = |m: shard::plan::Move| {
            let parts = m.parts.to_vec();
            let (name, of) = (m.collective.name(), why(m.why));
            (m.application, m.value, of, name, parts, m.source, m.target, m.wire_bytes, m.times)
        };
        (found.shardings, (0..n).map(listed).collect(), found.moves.into_iter().map(row).collect())
    }
}

#[pymethods]
impl PySharder {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "a program as tables")]
    #[pyo3(signature = (part_sizes, is_least, rules, applications, regions, values, invariant, closed, /))]
    fn new(
        py: Python<'_>,
        part_sizes: Vec<i64>,
        is_least: bool,
        rules: Vec<RuleLike>,
        applications: Vec<(usize, Vec<ValueId>, u32)>,
        regions: Vec<(Option<u32>, Option<u32>, i64)>,
        values: Vec<ArrayLike>,
        invariant: Vec<(ValueId, u32)>,
        closed: Vec<ValueId>,
    ) -> PyResult<PySharder> {
        let read = |(maps, inputs, outputs, gathers): RuleLike| {
            let maps: Option<Vec<OperandMaps>> = maps.map(|maps| {
                maps.into_iter().map(|of| Some(of?.iter().map(|m| m.get().map.clone()).collect())).collect()
            });
            let combine = match gathers {
                None => Combine::Nothing,
                Some(false) => Combine::Reduce,
                Some(true) => Combine::Gather,
            };
            let (inputs, outputs): (Vec<Array>, Vec<Array>) =
                (inputs.into_iter().map(array).collect(), outputs.into_iter().map(array).collect());
            (maps, inputs, outputs, combine)
        };
        let rules: Vec<_> = rules.into_iter().map(read).collect();
        unlocked(py, || {
            let policy = if is_least { Policy::Least } else { Policy::Propagate };
            let mut fresh = Rules::new(part_sizes, policy);
            let number = |(maps, inputs, outputs, combine): &ReadRule| {
                fresh.add(match maps {
                    None => Rule::identity(&inputs[0], &outputs[0]),
                    Some(maps) => Rule::of_maps(maps, inputs, outputs, *combine),
                })
            };
            let numbers: Vec<u32> = rules.iter().map(number).collect();
            let applied = |(rule, values, region): (usize, Vec<ValueId>, u32)| Application {
                rule: numbers[rule],
                values: values.into(),
                region,
            };
            let n_values = values.len();
            let program = Program::new(
                applications.into_iter().map(applied).collect(),
                regions.into_iter().map(|(parent, conditional, times)| Region { parent, conditional, times }).collect(),
                values.into_iter().map(|(dims, bits)| (fresh.mesh.shape(&dims), bits)).collect(),
                invariant.into_iter().collect(),
            );
            let mut is_closed = vec![false; n_values];
            closed.into_iter().for_each(|v| is_closed[v as usize] = true);
            PySharder { program, closed: is_closed, fresh, known: Mutex::new(None) }
        })
    }

    /// The number of the sharding of each value, all shardings, and the moves.
    #[pyo3(signature = (given, /))]
    fn plan(&self, py: Python<'_>, given: Vec<Given>) -> PyResult<PlanRows> {
        let given = stages(given);
        self.with_rules(py, |rules| {
            let found = plan(&self.program, rules, &self.closed, &given);
            self.rows(rules, found)
        })
    }

    /// The bytes of the plan of each candidate.
    #[pyo3(signature = (candidates, threads, /))]
    fn evaluate(&self, py: Python<'_>, candidates: Vec<Vec<Given>>, threads: usize) -> PyResult<Vec<i64>> {
        let candidates: Vec<_> = candidates.into_iter().map(stages).collect();
        self.with_rules(py, |rules| evaluate(&self.program, rules, &self.closed, &candidates, n_threads(threads)))
    }
}
