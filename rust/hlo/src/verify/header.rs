//! The header of a module: the layout of its entry, aliased and donated buffers.

use layout::Shape;
use rustc_hash::FxHashSet;

use super::aliasing::part;
use super::rule::{About, Law, Rule, Violation};
use crate::attribute::alias::{Alias, Donor};
use crate::attribute::entry_layout::EntryLayout;
use crate::attribute::Value;
use crate::model::module::Module;

pub(crate) fn check(m: &Module) -> Vec<Violation> {
    let layout = match m.header_value("entry_computation_layout") {
        Some(Value::EntryLayout(layout)) => entry(m, &layout),
        _ => Ok(()),
    };
    let aliases = match m.header_value("input_output_alias") {
        Some(Value::Aliases(aliases)) => aliases,
        _ => Vec::new(),
    };
    let donors = match m.header_value("buffer_donor") {
        Some(Value::Donors(donors)) => donors,
        _ => Vec::new(),
    };
    [layout, aliased(m, &aliases), donated(m, &donors, &aliases)].into_iter().filter_map(Result::err).collect()
}

fn entry(m: &Module, layout: &EntryLayout) -> Law {
    let law = Rule::EntryLayout.of("entry_computation_layout");
    let (n, parameters) = (layout.parameters.len(), m.parameters(m.entry()));
    law.require(n == parameters.len(), format_args!("{} parameters", parameters.len()), n)?;
    for (k, (&p, found)) in parameters.iter().zip(&layout.parameters).enumerate() {
        let shape = m.shape(p);
        law.require(found.same_dims(shape), format_args!("{shape} as parameter {k}"), found)?;
    }
    let result = m.shape(m.root(m.entry()));
    law.require(layout.result.same_dims(result), format_args!("{result} as the result"), &layout.result)
}

fn parameter_part<'m>(m: &'m Module, law: About, number: i64, index: &[i64]) -> Result<&'m Shape, Violation> {
    let parameters = m.parameters(m.entry());
    let Some(&p) = usize::try_from(number).ok().and_then(|k| parameters.get(k)) else {
        return law.broken(format_args!("one of {} parameters", parameters.len()), format_args!("parameter {number}"));
    };
    match part(m.shape(p), index) {
        Some(shape) => Ok(shape),
        None => law.broken(format_args!("a part of parameter {number}, {}", m.shape(p)), format_args!("{index:?}")),
    }
}

fn aliased(m: &Module, aliases: &[Alias]) -> Law {
    let law = Rule::Donation.of("input_output_alias");
    let result = m.shape(m.root(m.entry()));
    let mut seen = FxHashSet::default();
    for Alias { output_index, number, index, .. } in aliases {
        let Some(output) = part(result, output_index) else {
            return law.broken(format_args!("a part of the result {result}"), format_args!("{output_index:?}"));
        };
        let input = parameter_part(m, law, *number, index)?;
        law.none([output, input].into_iter().find(|s| s.as_tuple().is_some()), "parts that are not tuples")?;
        let is_new = seen.insert((number, index));
        law.require(is_new, "each part of a parameter once", format_args!("parameter {number} {index:?} twice"))?;
    }
    Ok(())
}

fn donated(m: &Module, donors: &[Donor], aliases: &[Alias]) -> Law {
    let law = Rule::Donation.of("buffer_donor");
    let aliased: FxHashSet<_> = aliases.iter().map(|a| (&a.number, &a.index)).collect();
    for Donor { number, index } in donors {
        parameter_part(m, law, *number, index)?;
        let is_free = !aliased.contains(&(number, index));
        law.require(is_free, "a part that no output aliases", format_args!("parameter {number} {index:?} in both"))?;
    }
    Ok(())
}
