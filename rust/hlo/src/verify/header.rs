//! The header of a module: the layout of its entry, aliased and donated buffers.

use layout::Shape;
use rustc_hash::FxHashSet;

use super::aliasing::part;
use super::rule::{broken_by, Law, Rule, Violation};
use crate::attribute::alias::{Alias, Donor};
use crate::attribute::entry_layout::EntryLayout;
use crate::attribute::Value;
use crate::model::module::Module;

/// The violations in the header.
pub(crate) fn check(m: &Module) -> Vec<Violation> {
    let value = |name: &str| {
        let attribute = m.header().iter().find(|a| m.attribute_name(a) == name)?;
        m.value(attribute, None).ok()
    };
    let layout = match value("entry_computation_layout") {
        Some(Value::EntryLayout(layout)) => entry(m, &layout),
        _ => Ok(()),
    };
    let aliases = match value("input_output_alias") {
        Some(Value::Aliases(aliases)) => aliases,
        _ => Vec::new(),
    };
    let donors = match value("buffer_donor") {
        Some(Value::Donors(donors)) => donors,
        _ => Vec::new(),
    };
    [layout, aliased(m, &aliases), donated(m, &donors, &aliases)].into_iter().filter_map(Result::err).collect()
}

fn entry(m: &Module, layout: &EntryLayout) -> Law {
    const NAME: &str = "entry_computation_layout";
    let fault = |expected: String, found: String| broken_by(NAME, Rule::EntryLayout, expected, found);
    let parameters = m.parameters(m.entry());
    if layout.parameters.len() != parameters.len() {
        return fault(format!("{} parameters", parameters.len()), layout.parameters.len().to_string());
    }
    for (k, (&p, found)) in parameters.iter().zip(&layout.parameters).enumerate() {
        if !found.same_dims(m.shape(p)) {
            return fault(format!("{} as parameter {k}", m.shape(p)), found.to_string());
        }
    }
    let result = m.shape(m.root(m.entry()));
    if layout.result.same_dims(result) {
        return Ok(());
    }
    fault(format!("{result} as the result"), layout.result.to_string())
}

/// A part of a parameter of the entry.
fn parameter_part<'m>(m: &'m Module, name: &'static str, number: i64, index: &[i64]) -> Result<&'m Shape, Violation> {
    let parameters = m.parameters(m.entry());
    let Some(&p) = usize::try_from(number).ok().and_then(|k| parameters.get(k)) else {
        let expected = format!("one of {} parameters", parameters.len());
        return broken_by(name, Rule::Donation, expected, format!("parameter {number}"));
    };
    let Some(shape) = part(m.shape(p), index) else {
        let expected = format!("a part of parameter {number}, {}", m.shape(p));
        return broken_by(name, Rule::Donation, expected, format!("{index:?}"));
    };
    Ok(shape)
}

fn aliased(m: &Module, aliases: &[Alias]) -> Law {
    const NAME: &str = "input_output_alias";
    let result = m.shape(m.root(m.entry()));
    let mut seen = FxHashSet::default();
    for alias in aliases {
        let Some(output) = part(result, &alias.output_index) else {
            let found = format!("{:?}", alias.output_index);
            return broken_by(NAME, Rule::Donation, format!("a part of the result {result}"), found);
        };
        let input = parameter_part(m, NAME, alias.number, &alias.index)?;
        if let Some(tuple) = [output, input].into_iter().find(|s| s.as_tuple().is_some()) {
            return broken_by(NAME, Rule::Donation, "parts that are not tuples", tuple.to_string());
        }
        if !seen.insert((alias.number, &alias.index)) {
            let found = format!("parameter {} {:?} twice", alias.number, alias.index);
            return broken_by(NAME, Rule::Donation, "each part of a parameter once", found);
        }
    }
    Ok(())
}

fn donated(m: &Module, donors: &[Donor], aliases: &[Alias]) -> Law {
    const NAME: &str = "buffer_donor";
    let aliased: FxHashSet<_> = aliases.iter().map(|a| (a.number, &a.index)).collect();
    for donor in donors {
        parameter_part(m, NAME, donor.number, &donor.index)?;
        if aliased.contains(&(donor.number, &donor.index)) {
            let found = format!("parameter {} {:?} in both", donor.number, donor.index);
            return broken_by(NAME, Rule::Donation, "a part that no output aliases", found);
        }
    }
    Ok(())
}
