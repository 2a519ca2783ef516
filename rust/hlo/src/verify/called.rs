//! Called computations: reducers, comparators, mapped functions, steps of scans, branches.
//!
//! The number of their parameters, and the operands of calls, loops and branches are checked by shape inference.

use layout::{ArrayShape, ElementType, Shape};

use super::rule::{Law, Rule};
use crate::attribute::{fields, Value};
use crate::cursor::Cursor;
use crate::infer::{are_mixable, Operation};
use crate::model::module::ComputationId;

pub(super) fn reduction(op: &Operation) -> Law {
    let (values, inits) = op.operands.split_at(op.operands.len() / 2);
    reducer(op, "to_apply", values, inits)
}

pub(super) fn scatter(op: &Operation) -> Law {
    let (inits, rest) = op.operands.split_at(op.operands.len() / 2);
    reducer(op, "to_apply", rest.get(1..).unwrap_or(&[]), inits)
}

pub(super) fn select_and_scatter(op: &Operation) -> Law {
    selection(op)?;
    // The start of an asynchronous operation may bind fewer operands.
    match op.operands[..] {
        [_, value, init] => reducer(op, "scatter", &[value], &[init]),
        _ => Ok(()),
    }
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
    let law = Rule::Reducer.of(name);
    let accumulators: &[Shape] = match root.as_tuple() {
        Some(parts) => parts,
        None => std::slice::from_ref(root),
    };
    let is_whole = accumulators.len() == n && (n <= 1 || root.as_tuple().is_some());
    let tuple = if n > 1 { " in a tuple" } else { "" };
    law.require(is_whole, format_args!("a result of {n} scalars{tuple}"), root)?;
    for (k, shape) in accumulators.iter().enumerate() {
        let Some(accumulator) = shape.as_array().filter(|a| a.rank() == 0).map(ArrayShape::element) else {
            return law.broken("a result of scalars", root);
        };
        let (first, second) = (op.m.shape(parameters[k]), op.m.shape(parameters[n + k]));
        let fits = is_scalar(first, |t| are_mixable(t, accumulator));
        law.require(fits, format_args!("parameter {k} of the type of its result, {shape}"), first)?;
        let init = inits[k].as_array().map_or(accumulator, ArrayShape::element);
        let expected = "a result of the type of the initial value";
        law.require(are_mixable(init, accumulator), format_args!("{expected}, {}", init.name()), shape)?;
        let Some(value) = values[k].as_array().map(ArrayShape::element) else { continue };
        let fits = is_scalar(second, |t| are_mixable(value, t));
        let k = n + k;
        law.require(fits, format_args!("parameter {k} of the type of the values, {}", value.name()), second)?;
    }
    Ok(())
}

fn selection(op: &Operation) -> Law {
    let (Some(c), Some(operand)) = (op.callee("select"), op.array_or_none(0)) else { return Ok(()) };
    predicate(op, "select", c)?;
    let element = operand.element();
    let mut parameters = op.m.parameters(c).iter().map(|&p| op.m.shape(p));
    let wrong = parameters.find(|s| !is_scalar(s, |t| are_mixable(t, element)));
    Rule::Comparator.of("select").none(wrong, format_args!("parameters of type {}", element.name()))
}

pub(super) fn comparator(op: &Operation) -> Law {
    let Some(c) = op.callee("to_apply") else { return Ok(()) };
    predicate(op, "to_apply", c)?;
    elements(op, c, 2, Rule::Comparator)
}

fn predicate(op: &Operation, name: &'static str, c: ComputationId) -> Law {
    let is_pred = is_scalar(result(op, c), |t| t == ElementType::Pred);
    Rule::Comparator.of(name).require(is_pred, "a result of shape pred[]", result(op, c))
}

pub(super) fn mapped(op: &Operation) -> Law {
    let Some(c) = op.callee("to_apply") else { return Ok(()) };
    elements(op, c, 1, Rule::CalledParameters)
}

/// The parameters are elements of the operands, so many of each.
fn elements(op: &Operation, c: ComputationId, n_of_each: usize, rule: Rule) -> Law {
    for (k, &p) in op.m.parameters(c).iter().enumerate() {
        let Some(element) = op.array_or_none(k / n_of_each).map(ArrayShape::element) else { continue };
        let (found, name) = (op.m.shape(p), element.name());
        let fits = is_scalar(found, |t| are_mixable(t, element));
        rule.of("to_apply").require(fits, format_args!("{name}[] as parameter {k}"), found)?;
    }
    Ok(())
}

/// A step of a scan maps slices of the inputs and carries to slices of the outputs and carries.
pub(super) fn step(op: &Operation) -> Law {
    let Some(c) = op.callee("to_apply") else { return Ok(()) };
    let parameters = op.m.parameters(c);
    let n = op.operands.len();
    let law = Rule::CalledParameters.of("to_apply");
    law.require(parameters.len() == n, format_args!("{n} parameters, one per operand"), parameters.len())?;
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
        let what = if is_carry { "the shape of" } else { "a slice of" };
        law.require(fits, format_args!("parameter {k} with {what} operand {k}, {operand}"), found)?;
    }
    let carries = result(op, c).as_tuple().unwrap_or(&[]);
    let carries = &carries[carries.len().saturating_sub(n_carries)..];
    carries.iter().zip(&op.operands[n - n_carries..]).try_for_each(|(carry, &operand)| {
        law.require(carry.same_dims(operand), format_args!("a carry of shape {operand}"), carry)
    })
}

pub(super) fn selector(op: &Operation) -> Law {
    let Some(&chosen) = op.operands.first() else { return Ok(()) };
    let is_list = op.value("branch_computations").is_some();
    let is_pair = op.value("true_computation").is_some() || op.value("false_computation").is_some();
    let (is_pred, is_s32) =
        (is_scalar(chosen, |t| t == ElementType::Pred), is_scalar(chosen, |t| t == ElementType::S32));
    Rule::Selector.require(is_pred || is_s32, "pred[] or s32[] as the first operand", chosen)?;
    let (list, pair) = ("branch_computations", "true_computation");
    let expected = "true_computation and false_computation for pred[]";
    Rule::Selector.of(list).require(!is_pred || !is_list, expected, list)?;
    Rule::Selector.of(pair).require(!is_s32 || !is_pair, "branch_computations for s32[]", pair)
}

/// Loops, branches and fusions call computations of their own thread.
pub(super) fn thread(op: &Operation) -> Law {
    let own = super::thread_of(op.m, op.m.computation_of(op.id));
    let other = op.m.called_computations(op.id).map(|c| super::thread_of(op.m, c)).find(|other| *other != own);
    Rule::CalledThread.none(other.map(|t| format!("`{t}`")), format_args!("computations of thread `{own}`"))
}

/// A domain has a kind and two shardings.
pub(super) fn domain(op: &Operation) -> Law {
    const NAME: &str = "domain";
    let law = Rule::Domain.of(NAME);
    let Some(Value::Raw(text)) = op.value(NAME) else { return Ok(()) };
    match fields::domain(&mut Cursor::new(text)) {
        Ok(("sharding", entry, exit)) => [entry, exit].iter().try_for_each(|s| super::sharding::sizes(s, NAME)),
        Ok((kind, ..)) => law.broken("kind=\"sharding\"", format_args!("kind=\"{kind}\"")),
        Err(problem) => {
            let found = problem.found.clone().unwrap_or_else(|| problem.to_string());
            let expected = problem.expected.unwrap_or("shardings of the entry and the exit".into());
            law.broken(expected, found)
        }
    }
}
