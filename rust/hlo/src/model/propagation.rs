//! Decides whether the shardings of a module are propagated; if so, a value without a sharding is on every device.
//!
//! A program gives shardings to parameters, results and the calls that constrain a value; propagation adds them to the
//! instructions between, except to values that every device has. Not here: the meaning of a sharding.

use cancel::{once, poll};

use super::module::{InstructionId, Module};
use crate::attribute::sharding::{Sharding, ShardingKind};
use crate::attribute::Value;
use crate::opcode::Opcode;

/// The passes that give a sharding to every split value, and those that then split the module.
const PROPAGATE: [&str; 2] = ["sharding-propagation", "shardy-xla"];
const PARTITION: [&str; 1] = ["spmd-partitioning"];

const BEFORE: &str = "the shardings are not propagated yet, by the name of the file";
const PARTITIONED: &str = "the module is partitioned already, by the name of the file";
const SHARDY: &str = "the shardings are not propagated yet: propagation removes the attributes xla.sdy";
const CONSTRAINED: &str = "the shardings are not propagated yet: propagation removes the calls of Sharding";
const BARE: &str = "the shardings are not propagated yet: only parameters and results have any";

impl Module {
    /// The reason why a value without a sharding may be split; `None` if such values are on every device, since the
    /// shardings are propagated. The name of a file that XLA dumped decides, otherwise the instructions. Computed once.
    pub fn why_not_propagated(&self) -> Option<&'static str> {
        *once(&self.propagation, || {
            let by_name = self.source.name.as_deref().and_then(of_file);
            by_name.unwrap_or_else(|| self.of_instructions())
        })
    }

    fn of_instructions(&self) -> Option<&'static str> {
        let has_shardy = |value: Option<Value<'_>>| match value {
            Some(Value::Dictionary(pairs)) => pairs.iter().any(|(key, _)| key.starts_with("xla.sdy.")),
            _ => false,
        };
        if has_shardy(self.header_value("frontend_attributes")) {
            return Some(SHARDY);
        }
        let mut is_propagated = false;
        for i in 0..self.instructions.len() as InstructionId {
            poll();
            if has_shardy(self.attribute_value(i, "frontend_attributes")) {
                return Some(SHARDY);
            }
            match self.attribute_value(i, "custom_call_target") {
                Some(Value::Text(target)) if target == "Sharding" => return Some(CONSTRAINED),
                Some(Value::Text(target)) if target.starts_with("xla.sdy.") => return Some(SHARDY),
                _ => {}
            }
            is_propagated = is_propagated || self.is_propagated_to(i);
        }
        (!is_propagated).then_some(BARE)
    }

    /// Whether the sharding of an instruction must come from propagation. Programs themselves give one device to
    /// callbacks and transfers, and mark results by a reshape that changes nothing.
    fn is_propagated_to(&self, i: InstructionId) -> bool {
        let Some(Value::Sharding(sharding)) = self.attribute_value(i, "sharding") else { return false };
        let is_given = match &sharding {
            Sharding::Whole(whole) => matches!(whole.kind, ShardingKind::Maximal(_)),
            Sharding::Named(named) => named.mesh.single_device().is_some(),
            Sharding::Tuple(_) => false,
        };
        let sizes = |i| self.shape(i).as_array().map(|array| array.dims());
        let is_mark = || {
            self.instructions[i as usize].opcode == Opcode::Reshape
                && self.operand(i, 0).is_some_and(|operand| sizes(operand) == sizes(i))
        };
        let is_result = self.root(self.computation_of(i)) == i;
        !is_given && !is_result && self.parameter_number(i).is_none() && !is_mark()
    }
}

/// The verdict of the name of a dumped file: `Some(None)` for propagated shardings, `None` for no verdict.
fn of_file(path: &str) -> Option<Option<&'static str>> {
    let name = path.rsplit(['/', '\\']).next()?;
    let is_dump = name.split('.').any(|part| {
        part.strip_prefix("module_").is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
    });
    if !is_dump {
        return None;
    }
    // The name of the module comes first and may look like a stage.
    name.rsplit('.').find_map(|part| match (part.strip_prefix("before_"), part.strip_prefix("after_")) {
        (Some("optimizations"), _) => Some(Some(BEFORE)),
        (Some(next), _) if PROPAGATE.contains(&next) => Some(Some(BEFORE)),
        (Some(next), _) if PARTITION.contains(&next) => Some(None),
        (_, Some(last)) if PROPAGATE.contains(&last) => Some(None),
        (_, Some(last)) if PARTITION.contains(&last) => Some(Some(PARTITIONED)),
        _ if part.ends_with("after_optimizations") => Some(Some(PARTITIONED)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_of_dumped_files() {
        let pass = "module_0003.jit_f.0007.spmd-partitioner.after_";
        for (name, wanted) in [
            ("jit_f.before_optimizations.txt", None),
            ("module_x.jit_f.before_optimizations.txt", None),
            ("module_0003.jit_f.txt", None),
            (&format!("{pass}dce.before_cse.txt"), None),
            ("a/module_0003.jit_f.before_optimizations.txt", Some(Some(BEFORE))),
            ("run.module_0003.jit_f.before_optimizations.hlo.pb.gz", Some(Some(BEFORE))),
            (&format!("{pass}dce.before_shardy-xla.txt"), Some(Some(BEFORE))),
            (&format!("{pass}shardy-xla.before_spmd-partitioning.txt"), Some(None)),
            (&format!("{pass}sharding-propagation.before_dce.hlo.pb"), Some(None)),
            (&format!("C:\\{pass}dce.before_spmd-partitioning.txt"), Some(None)),
            (&format!("{pass}spmd-partitioning.before_dce.txt"), Some(Some(PARTITIONED))),
            ("module_0003.after_shardy-xla.cpu_after_optimizations.txt", Some(Some(PARTITIONED))),
        ] {
            assert_eq!(of_file(name), wanted, "{name}");
        }
    }
}
