//! Called computations: reducers, comparators, mapped functions, steps of scans, branches.
//!
//! The number of their parameters, and the operands of calls, loops and branches are checked by shape inference.

use layout::{ArrayShape, ElementType, Shape};

use super::rule::{broken, broken_by, Law, Rule};
use crate::attribute::{fields, Value};
use crate::cursor::Cursor;
use crate::infer::{are_mixable, Operation};
use crate::model::module::ComputationId;
use crate::Opcode;

/// The rules on called computations.
pub(super) fn check(op: &Operation, opcode: Opcode) -> Law {
    match opcode {
        Opcode::Reduce | Opcode::ReduceWindow => {
            let (values, inits) = op.operands.split_at(op.operands.len() / 2);
            reducer(op, "to_apply", values, inits)
        }
        Opcode::Scatter => {
            let (inits, rest) = op.operands.split_at(op.operands.len() / 2);
            reducer(op, "to_apply", rest.get(1..).unwrap_or(&[]), inits)
        }
        Opcode::SelectAndScatter => {
            selection(op)?;
            // The start of an asynchronous one may bind fewer operands.
            match op.operands[..] {
                [_, value, init] => reducer(op, "scatter", &[value], &[init]),
                _ => Ok(()),
            }
        }
        Opcode::Sort => comparator(op),
        Opcode::Map => mapped(op),
        Opcode::Scan => step(op),
        Opcode::Conditional => selector(op),
        _ => Ok(()),
    }?;
    thread(op, opcode)
}

fn result<'m>(op: &Operation<'m>, c: ComputationId) -> &'m Shape {
    op.m.shape(op.m.root(c))
}

fn is_scalar(shape: &Shape, fits: impl Fn(ElementType) -> bool) -> bool {
    shape.as_array().is_some_and(|a| a.rank() == 0 && fits(a.element()))
}

/// A computation from n accumulators and n values to n accumulators. Accumulators have the type of the initial values;
/// floats of different precision may be mixed.
fn reducer(op: &Operation, name: &'static str, values: &[&Shape], inits: &[&Shape]) -> Law {
    let Some(c) = op.callee(name) else { return Ok(()) };
    let (n, root, parameters) = (values.len(), result(op, c), op.m.parameters(c));
    if parameters.len() != 2 * n || inits.len() != n {
        return Ok(());
    }
    let fault = |expected: String, found: &Shape| broken_by(name, Rule::Reducer, expected, found.to_string());
    let accumulators: &[Shape] = match root.as_tuple() {
        Some(parts) => parts,
        None => std::slice::from_ref(root),
    };
    if accumulators.len() != n || (n > 1 && root.as_tuple().is_none()) {
        return fault(format!("a result of {n} scalars{}", if n > 1 { " in a tuple" } else { "" }), root);
    }
    for k in 0..n {
        let Some(accumulator) = accumulators[k].as_array().filter(|a| a.rank() == 0) else {
            return fault("a result of scalars".into(), root);
        };
        let first = op.m.shape(parameters[k]);
        if !is_scalar(first, |t| are_mixable(t, accumulator.element())) {
            return fault(format!("parameter {k} of the type of its result, {}", accumulators[k]), first);
        }
        let init = inits[k].as_array().map(ArrayShape::element);
        if let Some(init) = init.filter(|&t| !are_mixable(t, accumulator.element())) {
            return fault(format!("a result of the type of the initial value, {}", init.name()), &accumulators[k]);
        }
        let second = op.m.shape(parameters[n + k]);
        let Some(value) = values[k].as_array().map(ArrayShape::element) else { continue };
        if !is_scalar(second, |t| are_mixable(value, t)) {
            return fault(format!("parameter {} of the type of the values, {}", n + k, value.name()), second);
        }
    }
    Ok(())
}

fn selection(op: &Operation) -> Law {
    let (Some(c), Some(operand)) = (op.callee("select"), op.array_or_none(0)) else { return Ok(()) };
    if !is_scalar(result(op, c), |t| t == ElementType::Pred) {
        return broken_by("select", Rule::Comparator, "a result of shape pred[]", result(op, c).to_string());
    }
    let wrong = op.m.parameters(c).iter().find(|&&p| !is_scalar(op.m.shape(p), |t| are_mixable(t, operand.element())));
    match wrong {
        Some(&p) => {
            let expected = format!("parameters of type {}", operand.element().name());
            broken_by("select", Rule::Comparator, expected, op.m.shape(p).to_string())
        }
        None => Ok(()),
    }
}

fn comparator(op: &Operation) -> Law {
    let Some(c) = op.callee("to_apply") else { return Ok(()) };
    if !is_scalar(result(op, c), |t| t == ElementType::Pred) {
        return broken_by("to_apply", Rule::Comparator, "a result of shape pred[]", result(op, c).to_string());
    }
    elements(op, c, 2, Rule::Comparator)
}

fn mapped(op: &Operation) -> Law {
    let Some(c) = op.callee("to_apply") else { return Ok(()) };
    elements(op, c, 1, Rule::CalledParameters)
}

/// The parameters are elements of the operands, so many of each.
fn elements(op: &Operation, c: ComputationId, n_of_each: usize, rule: Rule) -> Law {
    for (k, &p) in op.m.parameters(c).iter().enumerate() {
        let Some(operand) = op.array_or_none(k / n_of_each) else { continue };
        if !is_scalar(op.m.shape(p), |t| are_mixable(t, operand.element())) {
            let expected = format!("{}[] as parameter {k}", operand.element().name());
            return broken_by("to_apply", rule, expected, op.m.shape(p).to_string());
        }
    }
    Ok(())
}

/// A step of a scan maps slices of the inputs and carries to slices of the outputs and carries.
fn step(op: &Operation) -> Law {
    let Some(c) = op.callee("to_apply") else { return Ok(()) };
    let parameters = op.m.parameters(c);
    let n = op.operands.len();
    if parameters.len() != n {
        let expected = format!("{n} parameters, one per operand");
        return broken_by("to_apply", Rule::CalledParameters, expected, parameters.len().to_string());
    }
    let n_carries = op.int("num_carries").and_then(|k| usize::try_from(k).ok()).unwrap_or(0).min(n);
    let along = op.ints("dimensions").first().and_then(|&d| usize::try_from(d).ok()).unwrap_or(0);
    for (k, (&p, operand)) in parameters.iter().zip(&op.operands).enumerate() {
        let (found, is_carry) = (op.m.shape(p), k >= n - n_carries);
        let fits = match (found.as_array(), operand.as_array()) {
            (Some(slice), Some(whole)) if !is_carry => {
                let mut dims = whole.dims().to_vec();
                if along < dims.len() {
                    dims.remove(along);
                }
                slice.element() == whole.element() && slice.dims() == dims
            }
            _ => found.same_dims(operand),
        };
        if !fits {
            let what = if is_carry { "the shape of" } else { "a slice of" };
            let expected = format!("parameter {k} with {what} operand {k}, {operand}");
            return broken_by("to_apply", Rule::CalledParameters, expected, found.to_string());
        }
    }
    let carries = result(op, c).as_tuple().unwrap_or(&[]);
    let carries = &carries[carries.len().saturating_sub(n_carries)..];
    for (carry, &operand) in carries.iter().zip(&op.operands[n - n_carries..]) {
        if !carry.same_dims(operand) {
            let expected = format!("a carry of shape {operand}");
            return broken_by("to_apply", Rule::CalledParameters, expected, carry.to_string());
        }
    }
    Ok(())
}

fn selector(op: &Operation) -> Law {
    let Some(&chosen) = op.operands.first() else { return Ok(()) };
    let is_list = op.value("branch_computations").is_some();
    let is_pair = op.value("true_computation").is_some() || op.value("false_computation").is_some();
    let (is_pred, is_s32) =
        (is_scalar(chosen, |t| t == ElementType::Pred), is_scalar(chosen, |t| t == ElementType::S32));
    if !is_pred && !is_s32 {
        return broken(Rule::Selector, "pred[] or s32[] as the first operand", chosen.to_string());
    }
    if is_pred && is_list {
        let expected = "true_computation and false_computation for pred[]";
        return broken_by("branch_computations", Rule::Selector, expected, "branch_computations");
    }
    if is_s32 && is_pair {
        let expected = "branch_computations for s32[]";
        return broken_by("true_computation", Rule::Selector, expected, "true_computation");
    }
    Ok(())
}

/// Loops, branches and fusions call computations of their own thread.
fn thread(op: &Operation, opcode: Opcode) -> Law {
    if !matches!(opcode, Opcode::While | Opcode::Conditional | Opcode::Fusion) {
        return Ok(());
    }
    let own = super::thread_of(op.m, op.m.computation_of(op.id));
    match op.m.called_computations(op.id).map(|c| super::thread_of(op.m, c)).find(|other| *other != own) {
        Some(other) => broken(Rule::CalledThread, format!("computations of thread `{own}`"), format!("`{other}`")),
        None => Ok(()),
    }
}

/// A domain has a kind and two shardings.
pub(super) fn domain(op: &Operation) -> Law {
    const NAME: &str = "domain";
    let Some(Value::Raw(text)) = op.value(NAME) else { return Ok(()) };
    match fields::domain(&mut Cursor::new(text)) {
        Ok(("sharding", entry, exit)) => [entry, exit].iter().try_for_each(|s| super::sharding::sizes(s, NAME)),
        Ok((kind, ..)) => broken_by(NAME, Rule::Domain, "kind=\"sharding\"", format!("kind=\"{kind}\"")),
        Err(problem) => {
            let found = problem.found.clone().unwrap_or_else(|| problem.to_string());
            let expected = problem.expected.unwrap_or("shardings of the entry and the exit".into());
            broken_by(NAME, Rule::Domain, expected, found)
        }
    }
}
